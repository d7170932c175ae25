"""Coverage: which controls the takes of a database support, and which takes are never needed.

Coverage has three views of a database. *Seconds* counts how long the takes travel at each speed
and turn rate. *Gap* requests each of them as a player would, for a second, and measures how far
the nearest trajectory of the takes is from it, in meters. A *session* plays all courses and two
minutes of random steering, and records which takes were played, where seams were roughest, and
where feet slid. A take is spare if no session plays it and it is not the nearest to any trajectory
that can be requested.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import FrameBlock
from motionloom.motion import Motion
from motionloom.motion.feet.gait import GAITS
from motionloom.motion_matching.features import TRAJECTORY, xz
from motionloom.motion_matching.settings import HORIZONS
from motionloom.motion_matching.steering_courses import COURSES, CourseResult, run_course

if TYPE_CHECKING:
    from motionloom.motion_matching.database import MatchingDatabase

Array = NDArray[np.float64]

SPEEDS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0])  # m/s
TURNS = np.radians([-180.0, -120.0, -90.0, -60.0, -30.0, 0.0, 30.0, 60.0, 90.0, 120.0, 180.0])
_COVERED = 0.25  # m: a trajectory is covered if a take is nearer than this
_STANDING, _MOVING = 0.2, 0.6  # m/s: a start or a stop passes between these speeds
_CHANGE_SECONDS = 2.0  # within which
_SESSION_SECONDS, _CHANGE_EVERY = 120.0, 2.0
_SPIN = np.radians(45.0)  # rad/s: a turn on the spot


@dataclass(frozen=True, eq=False)
class Coverage:
    """Coverage of a database; see the module docstring.

    Attributes
    ----------
    database : MatchingDatabase
    seconds : ndarray, shape (S, T)
        Seconds of the takes near each of `SPEEDS` and `TURNS`.
    gaps : ndarray, shape (S, T)
        Distance from a trajectory with that speed and turn to the nearest one of the takes, in
        meters.
    gaits : dict of str to float
        Seconds of each gait, without mirrored copies.
    starts, stops : int
    spins : float
        Seconds of turning on the spot.
    played : dict of str to float
        Seconds of each take in the session.
    courses : tuple of CourseResult
    session : Motion
        Motion of the random steering, with its quality.
    spare : tuple of str
        Takes that are never needed.
    """

    database: MatchingDatabase
    seconds: Array
    gaps: Array
    gaits: dict[str, float]
    starts: int
    stops: int
    spins: float
    played: dict[str, float]
    courses: tuple[CourseResult, ...]
    session: Motion
    spare: tuple[str, ...]

    @cached_property
    def reach(self) -> NDArray[np.bool_]:
        """Mask (S, T) of the speeds and turns that can be requested, no faster than the takes.

        People do not turn sharply at high speed: turns that need a sideways acceleration of more
        than half of gravity are excluded.
        """
        fastest = self.database.speed_range[1] + 0.3
        sideways = SPEEDS[:, None] * np.abs(TURNS)
        return (SPEEDS[:, None] <= fastest) & (sideways <= 5.0)

    @property
    def share(self) -> float:
        """Covered share of the speeds and turns in `reach`."""
        return float(np.mean(self.gaps[self.reach] < _COVERED))

    def wanted(self, count: int = 3) -> list[tuple[float, float, float]]:
        """Return speed, turn rate and gap of the largest gaps, the largest first."""
        asked = np.where(self.reach, self.gaps, 0.0)
        asked[:, TURNS < 0] = 0.0  # mirrored copies cover both sides
        wanted = []
        for _ in range(count):
            s, t = np.unravel_index(int(np.argmax(asked)), asked.shape)
            if asked[s, t] < _COVERED:
                break
            wanted.append((float(SPEEDS[s]), float(TURNS[t]), float(asked[s, t])))
            asked[max(s - 1, 0) : s + 2, max(t - 1, 0) : t + 2] = 0.0
        return wanted

    def sentences(self) -> list[str]:
        """Return the report as a list of sentences."""
        slow, fast = self.database.speed_range
        lines = [
            f"the takes travel at {slow:.1f} to {fast:.1f} m/s; {self.share:.0%} of the speeds and "
            f"turns that can be requested are within {_COVERED} m of a take",
            "gaits: " + ", ".join(f"{name} {time:.0f} s" for name, time in self.gaits.items()),
            f"{self.starts} starts, {self.stops} stops, {self.spins:.1f} s of turns on the spot",
        ]
        for speed, turn, gap in self.wanted():
            lines.append(
                f"would help: {capture_text(speed, turn)} (now {gap:.2f} m from the nearest take)"
            )
        if self.starts == 0 or self.stops == 0:
            lines.append("would help: takes that start from standing and stop")
        if self.spins < 1.0:
            lines.append("would help: turns on the spot, by 90 and 180 degrees")
        quality = self.session.quality
        if quality is not None:
            lines.append(f"random steering: {quality.line()}")
        spare = f": {', '.join(self.spare)}" if self.spare else ""
        count = f"{len(self.spare)} of {len(self.database.takes)}"
        lines.append(f"{count} takes are never needed{spare}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        quality = self.session.quality
        return {
            "speeds_m_s": SPEEDS.tolist(),
            "turns_degrees_s": np.degrees(TURNS).round(6).tolist(),
            "seconds": self.seconds.tolist(),
            "gaps_m": self.gaps.tolist(),
            "covered": self.share,
            "gaits": self.gaits,
            "starts": self.starts,
            "stops": self.stops,
            "turns_on_the_spot_s": self.spins,
            "would_help": [
                {"speed_m_s": speed, "turn_degrees_s": float(np.degrees(turn)), "gap_m": gap}
                for speed, turn, gap in self.wanted()
            ],
            "played_s": self.played,
            "spare": list(self.spare),
            "courses": [course.to_dict() for course in self.courses],
            "session": None if quality is None else quality.to_json(),
        }


def capture_text(speed: float, turn: float) -> str:
    """Describe a motion to capture.

    Examples
    --------
    >>> capture_text(1.5, 1.0472)
    'moving at 1.5 m/s while turning 60 degrees per second'
    """
    way = "standing" if speed < 0.1 else f"moving at {speed:.1f} m/s"
    angle = abs(float(np.degrees(turn)))
    return (
        f"{way} straight on"
        if angle < 1.0
        else f"{way} while turning {angle:.0f} degrees per second"
    )


def coverage(database: MatchingDatabase, *, seed: int = 0) -> Coverage:
    """Measure the coverage of a database; plays several minutes of motion."""
    own = np.zeros(len(database), bool)
    for part in database.ranges:
        own[part.start : part.stop] = not part.mirrored and part.take in database.takes
    turns = _turn_rates(database)
    moves = database.gaits > 0
    gaps, nearest = _gaps(database)
    courses = tuple(run_course(database, name) for name in COURSES)
    session = _session(database, seed)
    played: dict[str, float] = {}
    for motion in (*(course.motion for course in courses), session):
        for source in motion.sources:
            name = source.motion.removesuffix("_mirrored")
            played[name] = played.get(name, 0.0) + (source.end - source.start) / database.fps
    needed = {database.range_of(frame).take for frame in nearest} | set(played)
    starts, stops = _changes(database)
    return Coverage(
        database,
        _seconds(database.speeds[moves], turns[moves], database.fps),
        gaps,
        {
            gait: float(np.count_nonzero(own & (database.gaits == k + 1))) / database.fps
            for k, gait in enumerate(GAITS)
        },
        starts,
        stops,
        float(np.count_nonzero(own & (database.speeds < _STANDING) & (np.abs(turns) > _SPIN)))
        / database.fps,
        dict(sorted(played.items(), key=lambda item: -item[1])),
        courses,
        session,
        tuple(name for name in database.takes if name not in needed),
    )


def _turn_rates(database: MatchingDatabase) -> Array:
    """Return the turn rate (N,) of the root motion, in rad/s."""
    rates = np.zeros(len(database))
    for part in database.ranges:
        rows = slice(part.start, part.stop)
        rates[rows] = np.gradient(np.asarray(database.places[rows, 2])) * database.fps
    return rates


def _seconds(speeds: Array, turns: Array, fps: float) -> Array:
    """Return the number of seconds spent near each speed and turn."""
    near_speed = np.argmin(np.abs(speeds[:, None] - SPEEDS), axis=1)
    near_turn = np.argmin(np.abs(turns[:, None] - TURNS), axis=1)
    counts = np.zeros((len(SPEEDS), len(TURNS)))
    np.add.at(counts, (near_speed, near_turn), 1.0)
    return counts / fps


def _gaps(database: MatchingDatabase) -> tuple[Array, list[int]]:
    """Return the distance from each requested trajectory to the nearest one, and its frames."""
    rows = np.asarray(database.features)[:, TRAJECTORY]
    allowed = np.flatnonzero(database.allowed())
    times, gaps, nearest = np.array(HORIZONS), np.zeros((len(SPEEDS), len(TURNS))), []
    for s, speed in enumerate(SPEEDS):
        for t, turn in enumerate(TURNS):
            angle = turn * times
            way = (
                times.astype(np.complex128)
                if turn == 0.0
                else (np.exp(1j * angle) - 1) / (1j * turn)
            )
            asked = np.concatenate([xz(speed * way).ravel(), xz(np.exp(1j * angle)).ravel()])
            off = np.linalg.norm(rows[allowed] - asked, axis=1) / np.sqrt(len(times))
            best = int(np.argmin(off))
            gaps[s, t] = off[best]
            nearest.append(int(allowed[best]))
    return gaps, nearest


def _changes(database: MatchingDatabase) -> tuple[int, int]:
    """Count the starts and stops of the takes: changes of speed within two seconds."""
    starts = stops = 0
    for part in database.ranges:
        if part.mirrored or part.take not in database.takes:
            continue
        speeds = database.speeds[part.start : part.stop]
        still, moving = np.flatnonzero(speeds < _STANDING), np.flatnonzero(speeds > _MOVING)
        reach = _CHANGE_SECONDS * database.fps
        for frame in still[np.flatnonzero(np.diff(still, append=len(speeds) + 2) > 1)]:
            starts += bool(np.any((moving > frame) & (moving <= frame + reach)))
        for frame in still[np.flatnonzero(np.diff(still, prepend=-2) > 1)]:
            stops += bool(np.any((moving < frame) & (moving >= frame - reach)))
    return starts, stops


def _session(database: MatchingDatabase, seed: int) -> Motion:
    """Play random steering: a new velocity every two seconds, sometimes zero."""
    rng = np.random.default_rng(seed)
    player = database.player()
    slow, fast = database.speed_range
    blocks = []
    for _ in range(int(_SESSION_SECONDS / _CHANGE_EVERY)):
        speed = 0.0 if rng.random() < 0.2 else rng.uniform(slow, fast)
        angle = rng.uniform(-np.pi, np.pi)
        player.steer(velocity=(speed * np.sin(angle), speed * np.cos(angle)))
        blocks.append(player.read(round(_CHANGE_EVERY * player.fps)))
    played = FrameBlock.joined(blocks)
    return played.to_motion(player.skeleton, player.fps, "session").with_quality(player.quality)
