"""One take of a game: a motion below a root bone on the floor, with its events and tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character import rest_pose
from motionloom.motion import Motion, Skeleton
from motionloom.motion.feet.contacts import FOOT_PARTS
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import intervals

Array = NDArray[np.float64]

ROOT = "root"
# A loop lasts at least half a second and at most two strides of a slow walk.
_SHORTEST_LOOP, _LONGEST_LOOP = 0.5, 3.0
# Mean distance of the joints at both ends, in meters. Engines blend a loop over some frames, and
# two strides of one walk differ by 2 to 4 cm (measured on the walks of the CMU database).
_LOOP_GAP = 0.05
_AS_GOOD, _EQUAL = 1.3, 0.003  # a shorter loop may be 30 % and 3 mm worse
# If the hips were exactly above the root bone, Blender's FBX importers would connect both bones.
# Connected bones ignore their translation.
BEHIND = np.array([0.0, 0.0, -0.001])  # meters
_VELOCITY_SECONDS = 0.1  # a difference of 1 m/s between the ends counts as 10 cm


@dataclass(frozen=True, eq=False)
class GameTake:
    """A take to export.

    Attributes
    ----------
    name : str
        Name of the animation, valid on every system.
    motion : Motion
        The motion with the root bone as its first joint; see `on_root_bone`.
    source : str
        Name of the take in the library.
    contacts : ndarray of bool, shape (T, 4)
        Contacts of the left heel and ball, and of the right heel and ball.
    gaits : ndarray of str, shape (T,)
    tags : sequence of (int, int, str)
        Labeled frames ``[start, end)``.
    beats : sequence of float
        Times of beats in seconds.
    mirrored, generated : bool
        True for a mirrored copy, and for a motion that was not captured.
    """

    name: str
    motion: Motion
    source: str
    contacts: NDArray[np.bool_]
    gaits: NDArray[np.str_]
    tags: Sequence[tuple[int, int, str]] = ()
    beats: Sequence[float] = ()
    mirrored: bool = False
    generated: bool = False
    extras: dict[str, Any] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """Return the row of the manifest: ranges in frames ``[start, end)``, events in seconds."""
        motion, fps = self.motion, self.motion.fps
        floor = motion.root[:, [0, 2]].astype(np.float64)
        speeds = np.linalg.norm(np.diff(floor, axis=0), axis=1) * fps
        facing = np.unwrap(rot.yaw_angle(motion.rotations[:, 0].astype(np.float64)))
        usual = np.percentile(speeds, (5.0, 95.0)) if len(speeds) else (0.0, 0.0)
        return {
            "name": self.name,
            "source": self.source,
            "frames": len(motion),
            "seconds": _rounded((len(motion) - 1) / fps),
            "mirrored": self.mirrored,
            "generated": self.generated,
            "tags": [{"name": t, "start": int(a), "end": int(b)} for a, b, t in self.tags],
            "gaits": [
                {"name": gait, "start": start, "end": end} for start, end, gait in self._gaits()
            ],
            "speed_m_s": {
                "mean": _rounded(speeds.mean() if len(speeds) else 0.0),
                "slow": _rounded(usual[0]),
                "fast": _rounded(usual[1]),
            },
            "travel_m": _rounded(speeds.sum() / fps),
            "turn_degrees": _rounded(np.degrees(facing[-1] - facing[0]), 1),
            "contacts": {
                part: [[int(a), int(b)] for a, b in intervals(self.contacts[:, k])]
                for k, part in enumerate(FOOT_PARTS)
            },
            "footsteps": self._footsteps(),
            "beats": [_rounded(time) for time in self.beats],
            "loop": loop_points(motion),
            **self.extras,
        }

    def _gaits(self) -> list[tuple[int, int, str]]:
        parts = []
        for gait in sorted(set(self.gaits.tolist()) - {""}):
            parts += [(int(a), int(b), gait) for a, b in intervals(self.gaits == gait)]
        return sorted(parts)

    def _footsteps(self) -> list[dict[str, Any]]:
        """Return the moments at which a foot lands; contacts from frame 0 on have no landing."""
        steps = []
        for side, part in (("left", slice(0, 2)), ("right", slice(2, 4))):
            for start, _ in intervals(np.logical_or(*self.contacts[:, part].T)):
                if start > 0:
                    steps.append({"time": _rounded(start / self.motion.fps), "foot": side})
        return sorted(steps, key=lambda step: step["time"])


def on_root_bone(motion: Motion, floor: Array, facing: Array) -> Motion:
    """Return a motion whose first joint is a root bone on the floor that carries the travel.

    All motions on one skeleton get the same skeleton, in which the hips are above the root bone at
    the height of the rest pose.

    Parameters
    ----------
    motion : Motion
        Motion whose root is the hips.
    floor : ndarray, shape (T, 2)
        Positions x and z of the root bone in meters.
    facing : ndarray, shape (T,)
        Facing of the root bone, in radians from +Z toward +X.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> rooted = on_root_bone(walk, walk.root[:, [0, 2]], walk.headings())
    >>> rooted.skeleton.names[0], bool(abs(rooted.positions()[:, 1] - walk.root).max() < 1e-5)
    ('root', True)
    """
    places = np.column_stack([floor[:, 0], np.zeros(len(floor)), floor[:, 1]])
    turns = rot.yaw(facing)
    back = rot.inverse(turns)
    hips = rot.rotate(back, motion.root.astype(np.float64) - places)
    local = motion.rotations.astype(np.float64)
    local[:, 0] = rot.multiply(back, local[:, 0])
    grown = rooted_skeleton(motion.skeleton)
    moved = np.broadcast_to(grown.offsets, (len(motion), len(grown), 3)).astype(np.float64)
    if motion.translations is not None:
        moved[:, 2:] = motion.translations[:, 1:]
    moved[:, 1] = hips
    return replace(
        motion,
        skeleton=grown,
        rotations=np.concatenate([turns[:, None], local], axis=1),
        root=places,
        translations=moved,
        origin=replace(motion.origin, carrier=None),
    )


def rooted_skeleton(skeleton: Skeleton) -> Skeleton:
    """Return a skeleton with a root bone on the floor below its first joint."""
    name = ROOT
    while name in skeleton.point_names:
        name += "_"
    offsets = skeleton.offsets.copy()
    offsets[0] = rest_pose(skeleton).positions[0] * [0.0, 1.0, 0.0] + BEHIND
    rest = skeleton.rest
    return Skeleton(
        (name, *skeleton.names),
        np.concatenate([[-1], skeleton.parents + 1]),
        np.concatenate([np.zeros((1, 3)), offsets]),
        skeleton.end_names,
        skeleton.end_parents + 1,
        skeleton.end_offsets,
        None if rest is None else np.concatenate([[[1.0, 0.0, 0.0, 0.0]], rest]),
        dict(skeleton.roles),
    )


def loop_points(motion: Motion) -> dict[str, Any] | None:
    """Return the frames between which a take repeats best, or None if it does not repeat.

    Poses are compared in the frame of the root bone, with their velocities. The pose of frame
    ``end`` continues at frame ``start``.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> loop = loop_points(on_root_bone(walk, walk.root[:, [0, 2]], walk.headings()))
    >>> 0.9 < (loop["end"] - loop["start"]) / walk.fps < 1.3
    True
    """
    shortest = max(round(_SHORTEST_LOOP * motion.fps), 2)
    longest = min(round(_LONGEST_LOOP * motion.fps), len(motion) - 2)
    if longest < shortest:
        return None
    places = motion.positions()[:, 1:].astype(np.float64) - motion.root[:, None]
    local = rot.rotate(rot.inverse(motion.rotations[:, :1].astype(np.float64)), places)
    speeds = np.gradient(local, axis=0) * motion.fps * _VELOCITY_SECONDS
    rows = np.concatenate([local, speeds], axis=1)
    travel = np.linalg.norm(np.gradient(motion.root, axis=0), axis=1) * motion.fps
    moves = np.linalg.norm(speeds, axis=2).mean(axis=1) / _VELOCITY_SECONDS + travel > 0.1
    loops = []
    for lag in range(shortest, longest + 1):
        gaps = np.linalg.norm(rows[lag:] - rows[:-lag], axis=2).mean(axis=1)
        gaps[~moves[:-lag]] = np.inf
        start = int(np.argmin(gaps))
        loops.append((float(gaps[start]), start, start + lag))
    least = min(loops)[0]
    if not least <= _LOOP_GAP:
        return None
    # Two strides often fit a little better than one, but a short loop is more useful.
    first = next(k for k, loop in enumerate(loops) if loop[0] <= _AS_GOOD * least + _EQUAL)
    lag = loops[first][2] - loops[first][1]
    gap, start, end = min(loops[first : first + lag // 4 + 1])
    return {"start": start, "end": end, "gap_m": _rounded(gap, 4)}


def _rounded(value: float, digits: int = 3) -> float:
    return round(float(value), digits) + 0.0
