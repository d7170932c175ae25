"""Matching database, with the poses, root motion and features of all frames, and an exact index.

A *range* contains the frames of one take or of its mirrored copy. The player never jumps into the
last third of a second of a range, because too few frames follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.player import FrameBlock
from motionloom.errors import InvalidInput
from motionloom.formats.settings import GameSettings
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import SourceStatistics
from motionloom.motion.feet.gait import GAITS
from motionloom.motion_matching.features import COUNT, Normalization
from motionloom.motion_matching.generated_takes import is_made
from motionloom.motion_matching.matching_player import WALKING_SPEED, MatchingPlayer
from motionloom.motion_matching.settings import MatchingSettings, MatchingWalkSettings
from motionloom.search.index.bucket_index import BucketIndex, Finder
from motionloom.settings import takes

if TYPE_CHECKING:
    from motionloom.formats.game_assets import AssetReport
    from motionloom.motion_matching.coverage import Coverage
    from motionloom.motion_matching.steering_courses import CourseResult

MIRRORED = "_mirrored"
_END_SECONDS = 1.0 / 3.0  # seconds at the end of each range that are never jumped to
_ROUGH_SECONDS = 0.27  # seconds around rough frames that are never jumped to
_END_ROUGH_SECONDS = 0.6  # seconds at the end of a range in which rough frames are not played
_MOVING = 0.3  # m/s
ARRAYS = {
    "rotations": (np.float32, ("joints", 4)),
    "root": (np.float32, (3,)),
    "contacts": (np.bool_, (4,)),
    "gaits": (np.int8, ()),
    "rough": (np.bool_, ()),
    "places": (np.float64, (3,)),
    "features": (np.float32, (COUNT,)),
}


@dataclass(frozen=True)
class Range:
    """Frames ``[start, stop)`` of a database: one take or its mirrored copy."""

    name: str
    start: int
    stop: int
    mirrored: bool = False

    @property
    def take(self) -> str:
        """Name of the take in the library."""
        return self.name.removesuffix(MIRRORED) if self.mirrored else self.name


@dataclass(frozen=True, eq=False)
class MatchingDatabase:
    """Database of the N frames from which a motion matching player chooses.

    Built by `motionloom.motion_matching.matching_database`.

    Attributes
    ----------
    skeleton : Skeleton
    fps : float
    ranges : tuple of Range
    rotations, root : ndarray, shapes (N, J, 4) and (N, 3)
    contacts : ndarray of bool, shape (N, 4)
        Contacts of the heel and ball of both feet.
    gaits : ndarray of int8, shape (N,)
        0 for no gait, otherwise 1 + index into `motionloom.motion.feet.gait.GAITS`.
    rough : ndarray of bool, shape (N,)
        True where a take is rough because a joint accelerates more than in 99.9 % of all frames.
    places : ndarray, shape (N, 3)
        Root motion of each frame: x, z, facing.
    features : ndarray of float32, shape (N, 27)
        Features of each frame, not normalized.
    index : BucketIndex
        Index of the normalized features of all frames that may be jumped to.
    settings : MatchingSettings
    labels : mapping of str to tuple of (int, int)
        Frame ranges of each label in the library.
    skipped : mapping of str to str
        Reason why each skipped take was skipped.
    acceleration : float
        99.9th percentile of the accelerations of all joints, in m/s^2.

    Examples
    --------
    >>> import motionloom as ml
    >>> walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
    >>> from motionloom.motion_matching import matching_database
    >>> database = matching_database(walks, MatchingSettings())
    >>> database.takes, database.features.shape[1]
    (('walk_p0', 'walk_left_p0', 'walk_right_p0'), 27)
    """

    skeleton: Skeleton
    fps: float
    ranges: tuple[Range, ...]
    rotations: NDArray[np.float32]
    root: NDArray[np.float32]
    contacts: NDArray[np.bool_]
    gaits: NDArray[np.int8]
    rough: NDArray[np.bool_]
    places: NDArray[np.float64]
    features: NDArray[np.float32]
    index: BucketIndex
    settings: MatchingSettings
    labels: Mapping[str, tuple[tuple[int, int], ...]]
    skipped: Mapping[str, str]
    acceleration: float

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        return f"MatchingDatabase({len(self)} frames of {len(self.ranges)} ranges)"

    @cached_property
    def normalization(self) -> Normalization:
        """Offset and scale of the features."""
        return Normalization.of(self.features, self.settings)

    @cached_property
    def rows(self) -> NDArray[np.float32]:
        """Normalized features (N, 27)."""
        return self.normalization.apply(self.features)

    @cached_property
    def _find(self) -> Finder:
        return self.index.finder(self.rows)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First frame of each range, followed by the total number of frames."""
        return np.array([*(part.start for part in self.ranges), len(self)], np.int64)

    def range_of(self, frame: int) -> Range:
        """Return the range that a frame belongs to."""
        return self.ranges[int(np.searchsorted(self.starts, frame, side="right")) - 1]

    def last_frame(self, frame: int) -> int:
        """Return the last playable frame in the range of a frame, before any rough end."""
        number = int(np.searchsorted(self.starts, frame, side="right")) - 1
        last = int(self._lasts[number])
        return last if frame <= last else self.ranges[number].stop - 1

    @cached_property
    def _lasts(self) -> NDArray[np.int64]:
        """Last playable frame of each range, before any rough end; the player must then jump."""
        lasts = []
        near, reach = round(_END_ROUGH_SECONDS * self.fps), round(_ROUGH_SECONDS * self.fps)
        for part in self.ranges:
            last, first = part.stop - 1, part.stop - near
            while True:
                rough = np.flatnonzero(self.rough[max(first, part.start) : last + 1])
                if not len(rough):
                    break
                before = max(first, part.start) + int(rough[0]) - reach
                if before <= part.start + near:  # too few frames would remain
                    last = part.stop - 1
                    break
                last, first = before, before - reach
            lasts.append(last)
        return np.array(lasts, np.int64)

    @cached_property
    def searchable(self) -> NDArray[np.bool_]:
        """Mask (N,) of the frames that are allowed as jump targets."""
        return searchable_frames(self.ranges, self.rough, self.fps)

    @cached_property
    def speeds(self) -> NDArray[np.float64]:
        """Speed of the root motion in each frame (N,), in m/s."""
        out = np.zeros(len(self))
        for part in self.ranges:
            floor = self.places[part.start : part.stop, :2]
            velocity = np.gradient(floor, axis=0) * self.fps
            out[part.start : part.stop] = np.hypot(velocity[:, 0], velocity[:, 1])
        return out

    @cached_property
    def speed_range(self) -> tuple[float, float]:
        """Lowest and highest travel speed in the takes, in m/s, excluding extreme percentiles.

        Generated motions are excluded, because a start from standing passes through all speeds
        without staying at any of them.
        """
        captured = np.zeros(len(self), bool)
        for part in self.ranges:
            captured[part.start : part.stop] = not is_made(part.take)
        moving = self.speeds[captured & (self.gaits > 1) & (self.speeds > _MOVING)]
        if not len(moving):
            return 0.0, float(self.speeds.max())
        slow, fast = np.percentile(moving, (2.0, 97.0))
        return float(slow), float(fast)

    @cached_property
    def standing_frame(self) -> int:
        """Standing frame in which the body moves least; 0 if there are no standing frames."""
        standing = np.flatnonzero((self.gaits == 1) & self.searchable)
        if not len(standing):
            return 0
        still = np.linalg.norm(self.features[standing, 6:15], axis=1)
        return int(standing[np.argmin(still)])

    def tag(self, name: str) -> NDArray[np.bool_]:
        """Return the mask (N,) of the frames with a tag, which is a gait or a library label.

        Raises
        ------
        InvalidInput
            If no frame has the tag; the message lists the available tags.
        """
        mask = np.zeros(len(self), bool)
        if name in GAITS:
            mask |= self.gaits == 1 + GAITS.index(name)
        for start, stop in self.labels.get(name, ()):
            mask[start:stop] = True
        if not mask.any():
            tags = ", ".join(self.tags) or "none"
            raise InvalidInput(f"no frame has the tag {name!r}; available tags: {tags}")
        return mask

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Tags to select: the gaits that occur, and the labels that not every take has."""
        there = [gait for k, gait in enumerate(GAITS) if np.any(self.gaits == k + 1)]
        captured = sum(part.stop - part.start for part in self.ranges if not is_made(part.take))
        some = [
            name
            for name, ranges in self.labels.items()
            if name not in there and sum(stop - start for start, stop in ranges) < captured
        ]
        return (*there, *some)

    def allowed(self, tags: Sequence[str] = ()) -> NDArray[np.bool_]:
        """Return the mask (N,) of frames that are allowed as jump targets.

        If tags are set, these are the frames with any of the tags and standing frames. Otherwise,
        they are the frames of any gait.
        """
        mask = self.gaits > 0
        if tags:
            mask = np.any([self.tag(name) for name in tags], axis=0)
            mask = mask | (self.gaits == 1)
        mask = mask & self.searchable
        return mask if mask.any() else self.searchable.copy()

    def nearest(
        self,
        query: NDArray,
        *,
        k: int = 1,
        radius: float = np.inf,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the `k` frames exactly nearest to unnormalized features (27,), and their costs.

        Examples
        --------
        >>> import motionloom as ml
        >>> from motionloom.motion_matching import matching_database
        >>> database = matching_database([ml.demo.clip("walk")], MatchingSettings())
        >>> database.nearest(database.features[80])[0]
        array([80])
        """
        point = self.normalization.apply(np.asarray(query, np.float64))[None]
        return self.nearest_row(point, k=k, radius=radius, allowed=allowed)

    def nearest_row(
        self,
        point: NDArray[np.float32],
        *,
        k: int = 1,
        radius: float = np.inf,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Find the nearest frames to normalized features (1, 27); see `nearest`."""
        return self._find(point[0], k, radius, allowed)

    def player(self, **controls: Any) -> MatchingPlayer:
        """Return a player of this database; see `MatchingPlayer`."""
        return MatchingPlayer(self, **controls)

    @takes(MatchingWalkSettings)
    def walk(self, settings: MatchingWalkSettings | None = None, **options: Any) -> Motion:
        """Generate a walk, and return it with its provenance and quality.

        Parameters
        ----------
        settings : MatchingWalkSettings, optional

        Examples
        --------
        >>> import motionloom as ml
        >>> walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
        >>> from motionloom.motion_matching import matching_database
        >>> database = matching_database(walks, MatchingSettings())
        >>> database.walk(seconds=3, steer=("1:90",)).duration
        3.0
        """
        return _walk(self, MatchingWalkSettings.given(settings, options))

    def fill_gaps(self, motion: Motion, known_frames: ArrayLike) -> Motion:
        """Fill the unknown frames of a motion; see `motionloom.motion_matching.keyframes`."""
        from motionloom.motion_matching.keyframes import fill_gaps

        return fill_gaps(self, motion, known_frames)

    def through_poses(self, keys: Sequence[tuple[float, Motion]]) -> Motion:
        """Generate a motion that passes through timed poses; see `motion_matching.keyframes`."""
        from motionloom.motion_matching.keyframes import through_poses

        return through_poses(self, keys)

    def coverage(self, *, seed: int = 0) -> Coverage:
        """Measure which controls the takes cover; see `motionloom.motion_matching.coverage`."""
        from motionloom.motion_matching.coverage import coverage

        return coverage(self, seed=seed)

    @takes(GameSettings)
    def export(
        self,
        folder: str | Path,
        format: str,
        settings: GameSettings | None = None,
        *,
        beats: Mapping[str, Sequence[float]] | None = None,
        **options: Any,
    ) -> AssetReport:
        """Write the database for a game engine or another program, and return a summary.

        Parameters
        ----------
        folder : str or Path
            Output folder; it is created if necessary.
        format : {"godot", "unity", "unreal", "web", "glb", "fbx", "orangeduck"}
            Engines get one file with all takes on one skeleton with a root bone on the floor, a
            manifest of labels, gaits, contacts and events, and instructions. ``"godot"`` writes a
            project with a motion matching player. ``"unity"`` also writes the three files of
            JLPM22's MotionMatching. ``"web"`` writes a page that plays without a server, and a
            run-time for games in JavaScript. ``"orangeduck"`` writes ``database.bin`` and
            ``features.bin`` and needs a database built with ``fps=60``.
        settings : GameSettings, optional
        beats : mapping of str to sequence of float, optional
            Times of the beats of takes, in seconds, for the manifest.
        """
        from motionloom.motion_matching.exports import export_database

        chosen = GameSettings.given(settings, options)
        return export_database(self, folder, format, chosen, beats=beats)

    def courses(self, names: Sequence[str] | None = None) -> list[CourseResult]:
        """Run steering courses; see `motionloom.motion_matching.steering_courses`."""
        from motionloom.motion_matching.steering_courses import COURSES, course_path, run_course

        chosen = COURSES if names is None else tuple(names)
        for name in chosen:
            course_path(name)  # an unknown course raises an error before any course is run
        return [run_course(self, name) for name in chosen]

    def motion(self, part: Range) -> Motion:
        """Return the frames of a range as a motion."""
        rows = slice(part.start, part.stop)
        return Motion(
            self.skeleton, self.rotations[rows], self.root[rows], self.fps, name=part.name
        )

    @cached_property
    def statistics(self) -> SourceStatistics:
        """Statistics of the takes, excluding mirrored copies, for quality reports."""
        parts = [part for part in self.ranges if not part.mirrored]
        usual = SourceStatistics.of([self.motion(part) for part in parts])
        steps, takes = dict(usual.repeated_steps), dict(usual.takes)
        for part in self.ranges:
            if part.mirrored and part.take in takes:
                takes[part.name] = takes[part.take]
                if part.take in steps:
                    steps[part.name] = steps[part.take]
        return replace(usual, repeated_steps=steps, takes=takes)

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of the takes in the library, in order."""
        names = dict.fromkeys(part.take for part in self.ranges)
        return tuple(name for name in names if not is_made(name))

    def info(self) -> dict[str, Any]:
        """Return the main figures of the database as plain data."""
        return {
            "takes": len(self.takes),
            "ranges": len(self.ranges),
            "frames": len(self),
            "fps": self.fps,
            "seconds": len(self) / self.fps,
            "features": COUNT,
            "tags": {name: int(np.count_nonzero(self.tag(name))) for name in self.tags},
            "speeds_m_s": list(self.speed_range),
            "made": [part.name for part in self.ranges if is_made(part.take)],
            "bytes": int(sum(getattr(self, name).nbytes for name in ARRAYS)),
            "skipped": dict(self.skipped),
        }


def searchable_frames(
    ranges: Sequence[Range], rough: NDArray[np.bool_], fps: float
) -> NDArray[np.bool_]:
    """Return the mask (N,) of frames that are far from rough frames and the end of their range."""
    mask = np.ones(len(rough), bool)
    reach = round(_ROUGH_SECONDS * fps)
    for part in ranges:
        for frame in np.flatnonzero(rough[part.start : part.stop]) + part.start:
            mask[max(frame - reach, part.start) : min(frame + reach + 1, part.stop)] = False
        mask[max(part.stop - round(_END_SECONDS * fps), part.start + 1) : part.stop] = False
    return mask if mask.any() else ~mask


def _walk(database: MatchingDatabase, settings: MatchingWalkSettings) -> Motion:
    """Generate a walk with provenance and quality; see `MatchingDatabase.walk`."""
    speed = WALKING_SPEED if settings.speed is None else settings.speed
    facing = None if settings.facing is None else float(np.radians(settings.facing))
    path = settings.floor_path()
    player = MatchingPlayer(
        database,
        velocity=_desired(speed, float(np.radians(settings.direction)))
        if path is None
        else (0.0, 0.0),
        facing=facing,
        gait=settings.gait or None,
        path=path,
        speed=speed,
        dynamics=settings.dynamics,
    )
    seconds = settings.seconds
    if path is not None:
        length = float(np.linalg.norm(np.diff(np.asarray(path, np.float64), axis=0), axis=1).sum())
        most = seconds or 2.0 * length / max(speed, 0.1) + 6.0
        blocks, left = [], max(round(most * player.fps), 1)
        while left > 0 and not (player.done and seconds is None):
            blocks.append(player.read(1))
            left -= 1
        if seconds is None:
            blocks.append(player.read(round(0.5 * player.fps)))
    else:
        blocks = []
        until = round((seconds or 10.0) * player.fps)
        for second, direction, new_speed in [*settings.changes(), (np.inf, 0.0, None)]:
            frames = int(min(round(second * player.fps) if np.isfinite(second) else until, until))
            blocks.append(player.read(max(frames - player.played, 0)))
            speed = speed if new_speed is None else new_speed
            player.steer(velocity=_desired(speed, direction))
    played = FrameBlock.joined(blocks)
    return played.to_motion(player.skeleton, player.fps, "walk").with_quality(player.quality)


def _desired(speed: float, direction: float) -> tuple[float, float]:
    return speed * float(np.sin(direction)), speed * float(np.cos(direction))
