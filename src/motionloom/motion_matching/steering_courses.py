"""Steering courses: standard tasks that measure how well a character follows controls.

==================  ====================================================================
``circle``          twice around a circle of 3 m radius
``figure-eight``    two circles of 2.5 m radius, one to each side
``zigzag``          six legs of 3 m with turns of 90 degrees, alternately left and right
``stop-and-go``     12 m straight on; stand for 1.5 s after every 4 m
``sprint-to-stop``  15 m as fast as the takes run, then stop
``turn``            walk, then turn 90 degrees to the left and to the right, by velocity
==================  ====================================================================

The first five courses follow a path, and the error is the distance from the hips to the path. The
last course has no path. For each turn, two times are measured: until the character travels more in
the new direction than in the old one (45 of the 90 degrees), and until it is within 20 degrees of
the new direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import FrameBlock
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion_matching.features import RootMotion

if TYPE_CHECKING:
    from motionloom.motion_matching.database import MatchingDatabase
    from motionloom.motion_matching.matching_player import MatchingPlayer

Array = NDArray[np.float64]

COURSES = ("circle", "figure-eight", "zigzag", "stop-and-go", "sprint-to-stop", "turn")
_WALK = 1.3  # m/s
_STAND_SECONDS = 1.5
_LEG = 4.0  # meters between stops
TURNS = ((0.0, 0.0), (2.5, 90.0), (5.0, 0.0), (7.5, -90.0), (10.0, 0.0))  # second, degrees
TURN_SECONDS = 12.5
_HALF, _REACHED = np.radians(45.0), np.radians(20.0)


@dataclass(frozen=True, eq=False)
class CourseResult:
    """Result of running a course.

    Attributes
    ----------
    course : str
    motion : Motion
        Motion with its quality; the path error is ``motion.quality.path.mean_m``.
    path : ndarray, shape (n, 2), or None
    response_s, reached_s : float or None
        For ``turn``: mean time to complete half of a 90-degree turn, and to come within 20 degrees
        of its end, in seconds.
    finished : bool
        True if the end of the path was reached.
    """

    course: str
    motion: Motion
    path: Array | None
    response_s: float | None = None
    reached_s: float | None = None
    finished: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        quality = self.motion.quality
        assert quality is not None
        fit = quality.path
        return {
            "course": self.course,
            "seconds": self.motion.duration,
            "path_error_m": None if fit is None else fit.mean_m,
            "worst_path_error_m": None if fit is None else fit.worst_m,
            "end_error_m": None if fit is None else fit.goal_m,
            "response_s": self.response_s,
            "reached_s": self.reached_s,
            "finished": self.finished,
            "foot_slide_m": quality.foot_slide_m,
            "floor_penetration_m": quality.floor_penetration_m,
            "seam_acceleration_ratio": quality.seam_acceleration_ratio,
            "jumps": len(self.motion.provenance.seams) if self.motion.provenance else 0,
        }


def course_path(name: str) -> Array | None:
    """Return the path of a course as rows x, z (n, 2), or None for ``turn``.

    Examples
    --------
    >>> course_path("zigzag").shape
    (7, 2)
    """
    if name not in COURSES:
        raise InvalidInput(f"course must be one of {', '.join(COURSES)}; got {name!r}")
    if name == "circle":
        angle = np.linspace(0.0, 4.0 * np.pi, 200)
        return 3.0 * np.column_stack([1.0 - np.cos(angle), np.sin(angle)])
    if name == "figure-eight":
        angle = np.linspace(0.0, 2.0 * np.pi, 100)
        circle = 2.5 * np.column_stack([1.0 - np.cos(angle), np.sin(angle)])
        return np.concatenate([circle, circle[1:] * [-1.0, 1.0]])
    if name == "zigzag":
        legs = [np.array([1.0, 1.0]), np.array([-1.0, 1.0])] * 3
        return np.concatenate(
            [[[0.0, 0.0]], np.cumsum(3.0 / np.sqrt(2.0) * np.array(legs), axis=0)]
        )
    if name == "turn":
        return None
    return np.array([[0.0, 0.0], [0.0, 12.0 if name == "stop-and-go" else 15.0]])


def run_course(
    database: MatchingDatabase, name: str, *, speed: float | None = None
) -> CourseResult:
    """Run a steering course with a matching database.

    Parameters
    ----------
    database : MatchingDatabase
    name : str
        One of `COURSES`.
    speed : float, optional
        Speed in m/s. Default: the speed nearest to 1.3 that occurs in the takes or, for a sprint,
        their highest speed.
    """
    path = course_path(name)
    if name == "turn":
        return _turns(database, _WALK if speed is None else speed)
    if speed is None:
        speed = database.speed_range[1] if name == "sprint-to-stop" else _WALK
    speed = float(np.clip(speed, *database.speed_range))
    player = database.player(path=path, speed=speed, start=_start(database, name))
    assert path is not None
    length = float(np.abs(np.diff(path @ [1j, 1.0])).sum())
    most = int((2.0 * length / speed + 6.0) * player.fps)
    blocks = _stops(player, most, speed) if name == "stop-and-go" else _along(player, most)
    played = FrameBlock.joined(blocks)
    motion = played.to_motion(player.skeleton, player.fps, name).with_quality(player.quality)
    return CourseResult(name, motion, path, finished=player.done)


def _start(database: MatchingDatabase, name: str) -> int | None:
    """Return the first frame: standing for courses that include starts, otherwise moving."""
    return database.standing_frame if name in ("stop-and-go", "sprint-to-stop") else None


def _along(player: MatchingPlayer, most: int) -> list[FrameBlock]:
    blocks, left = [], most
    while left > 0 and not player.done:
        blocks.append(player.read(1))
        left -= 1
    blocks.append(player.read(round(player.fps)))
    return blocks


def _stops(player: MatchingPlayer, most: int, speed: float) -> list[FrameBlock]:
    """Follow the path, and stand for a while after each leg."""
    blocks, next_stop = [], _LEG
    while most > 0 and not player.done:
        blocks.append(player.read(1))
        most -= 1
        if player.along >= next_stop and not player.done:
            player.steer(speed=0.0)
            blocks.append(player.read(round(_STAND_SECONDS * player.fps)))
            player.steer(speed=speed)
            next_stop += _LEG
    blocks.append(player.read(round(player.fps)))
    return blocks


def _turns(database: MatchingDatabase, speed: float) -> CourseResult:
    speed = float(np.clip(speed, *database.speed_range))
    player, blocks = database.player(velocity=(0.0, speed)), []
    times = [*(second for second, _ in TURNS[1:]), TURN_SECONDS]
    for (second, degrees), until in zip(TURNS, times, strict=True):
        angle = np.radians(degrees)
        player.steer(velocity=(speed * np.sin(angle), speed * np.cos(angle)))
        blocks.append(player.read(round(until * player.fps) - round(second * player.fps)))
    played = FrameBlock.joined(blocks)
    motion = played.to_motion(player.skeleton, player.fps, "turn").with_quality(player.quality)
    half, reached = response_times(motion, TURNS)
    return CourseResult("turn", motion, None, half, reached)


def response_times(
    motion: Motion, controls: tuple[tuple[float, float], ...]
) -> tuple[float | None, float | None]:
    """Return the mean times to complete half of a turn and to come within 20 degrees of its end.

    Parameters
    ----------
    motion : Motion
    controls : tuple of (second, degrees)
        Times and directions of travel that were requested. The first applies from the start and
        does not count as a turn.

    Returns
    -------
    half, reached : float or None
        Times in seconds; None if a turn was not completed before the next change.
    """
    way = RootMotion.of(motion).floor
    direction = np.unwrap(np.angle(np.gradient(way)))
    ends = [*(second for second, _ in controls[1:]), motion.duration]
    half: list[float] = []
    reached: list[float] = []
    for (second, degrees), end in zip(controls[1:], ends[1:], strict=True):
        frames = slice(round(second * motion.fps), round(end * motion.fps))
        off = np.abs(np.angle(np.exp(1j * (direction[frames] - np.radians(degrees)))))
        for limit, times in ((_HALF, half), (_REACHED, reached)):
            first = np.flatnonzero(off < limit)
            times.append(first[0] / motion.fps if len(first) else np.nan)
    figures = [float(np.mean(times)) for times in (half, reached)]
    return tuple(None if np.isnan(time) else time for time in figures)  # type: ignore[return-value]
