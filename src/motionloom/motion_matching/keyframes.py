"""Filling of frames between known poses with takes from a matching database.

For each gap between two known frames, a search finds the segment of the takes whose ends are most
similar to these frames. It compares the positions of the main joints at both ends, relative to the
first end, and their velocities if the adjacent frames are also known. Segments may be up to a
quarter longer or shorter than the gap. The best one is moved to the first key and stretched to the
length of the gap. The remaining offsets at both keys are spread over the adjacent frames, so that
the motion passes through all keys exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Provenance, Source
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion.retargeting.retarget import on_skeleton
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.planar_transform import PlanarTransform, floor_complex
from motionloom.motion.smoothing import smooth_step
from motionloom.motion_matching.database import MIRRORED
from motionloom.motion_matching.generated_takes import is_made

if TYPE_CHECKING:
    from motionloom.motion_matching.database import MatchingDatabase

Array = NDArray[np.float64]

_ROLES = (
    "hips", "chest", "head", "left_knee", "right_knee", "left_ankle", "right_ankle", "left_foot",
    "right_foot", "left_elbow", "right_elbow", "left_wrist", "right_wrist",
)  # fmt: skip
_STRETCH = (1.0, 0.9, 1.1, 0.8, 1.25)  # lengths of segments, as multiples of the gap
_STRETCH_COST = 0.1  # m: cost of a segment that is twice or half as long as the gap
_VELOCITY = 0.1  # seconds: weight of velocities relative to positions
_FADE_SECONDS = 0.5  # seconds in which the offset at a key fades


@dataclass(frozen=True, eq=False)
class _Seen:
    """Positions of R main joints in N frames, and the root position and facing of each frame.

    Attributes
    ----------
    floor : ndarray of complex, shape (N, R)
    height : ndarray, shape (N, R)
    place : ndarray of complex, shape (N,)
    facing : ndarray, shape (N,)
    """

    floor: NDArray[np.complex128]
    height: Array
    place: NDArray[np.complex128]
    facing: Array

    @classmethod
    def of(cls, motion: Motion) -> _Seen:
        roles = [role for role in _ROLES if role in motion.skeleton.roles]
        points = motion.role_positions(roles).astype(np.float64)
        hips = floor_complex(motion.role_positions(["hips"])[:, 0].astype(np.float64))
        return cls(floor_complex(points), points[..., 1], hips, motion.headings())

    def rows(self, frames: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
        """Return the joint positions (n, 3 R) of frames `others` relative to `frames`."""
        turned = (self.floor[others] - self.place[frames, None]) * np.exp(
            -1j * self.facing[frames, None]
        )
        return np.concatenate([turned.real, turned.imag, self.height[others]], axis=1)


def fill_gaps(database: MatchingDatabase, motion: Motion, known_frames: ArrayLike) -> Motion:
    """Fill the unknown frames of a motion with takes from a database.

    Parameters
    ----------
    database : MatchingDatabase
        Database that contains the takes to use.
    motion : Motion
        Motion at the frame rate of the database. Unknown frames may contain any values.
    known_frames : array_like of bool, shape (T,)
        True for known frames. The first and the last frame must be known.

    Returns
    -------
    motion : Motion
        Motion with the skeleton of the database, and the provenance of the filled frames.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.motion_matching import MatchingSettings, matching_database
    >>> walks = [ml.demo.clip(kind) for kind in ("walk_left", "walk_right")]
    >>> database = matching_database(walks, MatchingSettings())
    >>> walk, known = ml.demo.clip("walk"), np.ones(138, bool)
    >>> known[40:70] = False
    >>> len(fill_gaps(database, walk, known))
    138
    """
    given = on_skeleton(hips_as_root(motion), database.skeleton)
    mask = np.asarray(known_frames, bool)
    _check(database, given, mask)
    seen = _Seen.of(given)
    parts = [_Seen.of(database.motion(part)) for part in database.ranges]
    whole = _Seen(
        *(np.concatenate([getattr(part, name) for part in parts])
          for name in ("floor", "height", "place", "facing"))
    )  # fmt: skip
    rotations, root = given.rotations.astype(np.float64), given.root.astype(np.float64)
    rotations, root = rotations.copy(), root.copy()
    sources, seams = [], []
    keys = np.flatnonzero(mask)
    for first, last in zip(keys[:-1], keys[1:], strict=True):
        if last == first + 1:
            continue
        start, length = _segment(database, whole, seen, mask, int(first), int(last))
        _play(database, rotations, root, given, start, length, int(first), int(last))
        part = database.range_of(start)
        low = start - part.start
        sources.append(Source(part.name, low + 1, low + length, int(first) + 1, int(last)))
        seams += [int(first) + 1, int(last)]
    return Motion(
        given.skeleton,
        rot.unroll(rotations),
        root,
        given.fps,
        name=motion.name,
        provenance=Provenance(tuple(sources), tuple(seams)) if sources else None,
    )


def through_poses(
    database: MatchingDatabase, keys: Sequence[tuple[float, Motion]], *, name: str = "keys"
) -> Motion:
    """Generate a motion that passes through specified poses at specified times.

    Parameters
    ----------
    database : MatchingDatabase
        Database that contains the takes to use.
    keys : sequence of (float, Motion)
        At least two pairs of a time in seconds and a motion whose first frame is the pose. The
        motions may have any skeleton. The pose with the earliest time becomes the first frame of
        the result.
    name : str

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.motion_matching import MatchingSettings, matching_database
    >>> walks = [ml.demo.clip(kind) for kind in ("walk_left", "walk_right")]
    >>> database = matching_database(walks, MatchingSettings())
    >>> walk = ml.demo.clip("walk")
    >>> len(through_poses(database, [(0.0, walk[30:31]), (1.0, walk[60:61])]))
    31
    """
    if len(keys) < 2:
        raise InvalidInput(f"keys must contain at least two poses; got {len(keys)}")
    ordered = sorted(keys, key=lambda key: key[0])
    first = ordered[0][0]
    frames = [round((second - first) * database.fps) for second, _ in ordered]
    if len(set(frames)) < len(frames):
        raise InvalidInput(
            f"poses must be at least one frame ({1.0 / database.fps:.3f} s) apart; got poses at "
            f"{', '.join(f'{second:g}' for second, _ in ordered)} s"
        )
    poses = [on_skeleton(hips_as_root(pose[:1]), database.skeleton) for _, pose in ordered]
    count = frames[-1] + 1
    rotations = np.zeros((count, len(database.skeleton), 4))
    rotations[..., 0] = 1.0
    root = np.zeros((count, 3))
    is_key = np.zeros(count, bool)
    for frame, pose in zip(frames, poses, strict=True):
        rotations[frame], root[frame], is_key[frame] = pose.rotations[0], pose.root[0], True
    return fill_gaps(
        database, Motion(database.skeleton, rotations, root, database.fps, name=name), is_key
    )


def _check(database: MatchingDatabase, motion: Motion, mask: NDArray[np.bool_]) -> None:
    if mask.shape != (len(motion),):
        raise InvalidInput(
            f"known_frames must have shape ({len(motion)},), one flag per frame; got {mask.shape}"
        )
    if len(mask) < 2 or not (mask[0] and mask[-1]):
        raise InvalidInput(
            "the first and the last frame must be known; set them to True in known_frames"
        )
    if abs(motion.fps - database.fps) > 1e-6 * database.fps:
        raise InvalidInput(
            f"the motion must have the frame rate of the database, {database.fps:g} fps; got "
            f"{motion.fps:g}. Resample it, or build the database at {motion.fps:g} fps"
        )
    longest = max(part.stop - part.start for part in database.ranges)
    gaps = np.diff(np.flatnonzero(mask))
    if gaps.max() > 1.25 * longest:
        raise InvalidInput(
            f"a gap of {gaps.max() - 1} frames is too long, because the longest take has {longest} "
            "frames. Add keys within the gap"
        )


def _segment(
    database: MatchingDatabase,
    whole: _Seen,
    seen: _Seen,
    mask: NDArray[np.bool_],
    first: int,
    last: int,
) -> tuple[int, int]:
    """Return the first frame and length of the segment that fits best between two keys."""
    before = first > 0 and bool(mask[first - 1])
    after = last + 1 < len(mask) and bool(mask[last + 1])
    wanted = _pair_rows(seen, np.array([first]), last - first, before, after, database.fps, 1.0)
    best = (np.inf, 0, last - first)
    for stretch in _STRETCH:
        length = max(round(stretch * (last - first)), 1)
        starts = [
            np.arange(part.start + before, part.stop - length - after)
            for part in database.ranges
            if part.stop - length - after > part.start + before and not _changes_gait(part.name)
        ]
        if not starts:
            continue
        frames = np.concatenate(starts)
        pace = length / (last - first)
        rows = _pair_rows(whole, frames, length, before, after, database.fps, pace)
        costs = np.sqrt(np.mean((rows - wanted) ** 2, axis=1) * 3.0)
        costs += _STRETCH_COST * abs(np.log2(pace))
        k = int(np.argmin(costs))
        if costs[k] < best[0]:
            best = (float(costs[k]), int(frames[k]), length)
    return best[1], best[2]


def _changes_gait(name: str) -> bool:
    """Return whether a range is a generated gait change, which is neither a walk nor a run."""
    return is_made(name.removesuffix(MIRRORED)) and " to " in name


def _pair_rows(
    seen: _Seen,
    frames: NDArray[np.int64],
    length: int,
    before: bool,
    after: bool,
    fps: float,
    pace: float,
) -> Array:
    """Return features of both ends: joint positions relative to the first end, and velocities."""
    ends = seen.rows(frames, frames), seen.rows(frames, frames + length)
    parts = list(ends)
    if before:
        parts.append(_VELOCITY * fps * pace * (ends[0] - seen.rows(frames, frames - 1)))
    if after:
        parts.append(_VELOCITY * fps * pace * (seen.rows(frames, frames + length + 1) - ends[1]))
    return np.concatenate(parts, axis=1)


def _play(
    database: MatchingDatabase,
    rotations: Array,
    root: Array,
    given: Motion,
    start: int,
    length: int,
    first: int,
    last: int,
) -> None:
    """Fill the frames between two keys with a segment from the database."""
    count = last - first
    times = start + np.arange(count + 1) * (length / count)
    low = np.minimum(np.floor(times).astype(np.int64), start + length - 1)
    share = (times - low)[:, None]
    poses = np.asarray(database.rotations[start : start + length + 1], np.float64)
    places = np.asarray(database.root[start : start + length + 1], np.float64)
    low = low - start
    turned = rot.slerp(poses[low], poses[low + 1], share)
    moved = (1.0 - share) * places[low] + share * places[low + 1]
    onto = _Seen.of(given[first : first + 1])
    own = _Seen.of(Motion(database.skeleton, turned[:1], moved[:1], database.fps))
    yaw = float(onto.facing[0] - own.facing[0])
    transform = PlanarTransform.from_complex(onto.place[0] - np.exp(1j * yaw) * own.place[0], yaw)
    turned, moved = (
        np.asarray(part, np.float64) for part in transform.apply_to_poses(turned, moved)
    )
    turned, moved = _bent(database, turned, moved, given[last : last + 1])
    # At the keys, rotation offsets fade over the adjacent frames, and the whole path is bent.
    t = np.arange(count + 1)
    fade = min(count, max(round(_FADE_SECONDS * database.fps), 1))
    left = 1.0 - smooth_step(np.clip(t / fade, 0.0, 1.0))
    right = smooth_step(np.clip((t - (count - fade)) / fade, 0.0, 1.0))
    off = [
        rot.log(rot.multiply(rotations[key], rot.inverse(turned[k])))
        for key, k in ((first, 0), (last, count))
    ]
    turns = left[:, None, None] * off[0] + right[:, None, None] * off[1]
    bend = smooth_step(t / count)[:, None]
    shift = (1.0 - bend) * (root[first] - moved[0]) + bend * (root[last] - moved[count])
    inner = slice(first + 1, last)
    rotations[inner] = rot.multiply(rot.exp(turns), turned)[1:count]
    root[inner] = (moved + shift)[1:count]


def _bent(
    database: MatchingDatabase, turned: Array, moved: Array, key: Motion
) -> tuple[Array, Array]:
    """Bend a segment gradually, so that it ends with the facing of a key."""
    end = Motion(database.skeleton, turned[-1:], moved[-1:], database.fps)
    missing = float(np.angle(np.exp(1j * (key.headings()[0] - end.headings()[0]))))
    turn = missing * np.arange(len(turned)) / (len(turned) - 1)
    floor = moved[:, 2] + 1j * moved[:, 0]
    middle = 0.5 * (turn[1:] + turn[:-1])
    way = floor[0] + np.concatenate([[0.0], np.cumsum(np.diff(floor) * np.exp(1j * middle))])
    rotations = turned.copy()
    rotations[:, 0] = rot.multiply(rot.yaw(turn), turned[:, 0])
    return rotations, np.column_stack([way.imag, moved[:, 1], way.real])
