"""Loops: clips that end where they begin, such as one cycle of a walk in a game.

The last frame of a loop has the pose of the first one, or the pose just before it, and continues
its movement. `unrolled` plays a short loop several times in a row, so that methods that need
context around a frame (motion graphs, motion matching, scripts) can use it. The body travels on
with each cycle. Loops of clips that stay in place stay in place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion.kinematics.body import facing, hips_path, leg_length
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.planar_transform import PlanarTransform, floor_complex

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]

SHORT = 2.5  # seconds: longer clips are used as they are
LEAST = 3.0  # minimum duration of an unrolled clip, in seconds
# Thresholds relative to the typical movement per frame. In 14 takes of a robot and 118 of a pack of
# animations, the distance between the ends is at most 0.4 for loops and at least 0.9 for others,
# and the change of velocity at most 1.1 for loops.
_SAME = 0.5  # distance between two frames that show the same pose
_NEXT = 0.8  # distance between a frame and its predicted successor
_TURN = 1.2  # change of velocity from the end to the beginning
_JUMP = 2.0  # a first frame is not part of the clip if the step after it is this much larger
_NOISE = 0.002  # meters
_ACTION = 0.15  # m/s: mean speed of the joints in an action ...
_REST = 0.35  # ... and the speed at its ends, relative to the typical speed
_ON_FLOOR, _STEP = 0.06, 0.6  # leg lengths: height of a standing ankle, and length of a step
_FEWEST = 8  # frames


def unrolled(motion: Motion, *, seconds: float = LEAST, short: float = SHORT) -> Motion:
    """Return a short loop, repeated until it lasts `seconds`; other motions are returned unchanged.

    Parameters
    ----------
    motion : Motion
        T frames.
    seconds : float
        Minimum duration of the result.
    short : float
        Clips of at least this duration, in seconds, are not loops.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> unrolled(walk) is walk
    True
    """
    if motion.duration >= short:
        return motion
    cycle_range = loop_range(motion)
    if cycle_range is None:
        return motion
    start, loop = cycle_range
    played = replace(motion, provenance=None)[start:]
    count = int(np.ceil(seconds * motion.fps / loop)) + 1
    cycle = _closed(played, loop)
    step = _step(_frames(played), loop)
    rotations, roots = [], []
    place = PlanarTransform.identity()
    for _ in range(count):
        q, p = place.apply_to_poses(cycle.rotations, cycle.root)
        rotations.append(q)
        roots.append(p)
        place = place @ step
    bends = cycle.translations
    return replace(
        motion,
        rotations=rot.unroll(np.concatenate(rotations)),
        root=np.concatenate(roots),
        translations=None if bends is None else np.tile(bends, (count, 1, 1)),
        provenance=None,
        origin=replace(motion.origin, carrier=None),
    )


def loop_range(motion: Motion) -> tuple[int, int] | None:
    """Return the first frame of a loop and its number of frames, or None if it is not a loop.

    A first frame in another pose, such as a T-pose, is not part of the loop. An action that begins
    and ends at rest, such as a kick, is not a loop; a person who stands and breathes is one.
    """
    if len(motion) < _FEWEST:
        return None
    try:
        poses = _poses(motion)
    except RoleError:
        return None
    steps = np.diff(poses, axis=0)
    usual = max(float(np.median(_size(steps))), _NOISE)
    start = int(_size(steps[0]) > _JUMP * max(usual, float(_size(steps[1:]).max())))
    poses, steps = poses[start:], steps[start:]
    turn = _size(steps[0] - steps[-1])
    at_ends = max(_size(steps[0]), _size(steps[-1]))
    if usual * motion.fps > _ACTION and at_ends < _REST * usual and _stands(motion, start):
        return None
    if _size(poses[-1] - poses[0]) < _SAME * usual:
        return (start, len(poses) - 1) if turn < _TURN * usual else None
    ahead = 0.5 * (steps[0] + steps[-1])
    if _size(poses[0] - poses[-1] - ahead) < _NEXT * usual:
        return (start, len(poses)) if turn < _TURN * usual else None
    return None


def _stands(motion: Motion, frame: int) -> bool:
    """Return whether both feet are on the floor, less than a step apart."""
    ankles = motion.role_positions(["left_ankle", "right_ankle"]).astype(np.float64)
    leg = leg_length(motion.skeleton)
    low = ankles[frame, :, 1].max() - ankles[:, :, 1].min() < _ON_FLOOR * leg
    gap = ankles[frame, 0] - ankles[frame, 1]
    return bool(low and np.hypot(gap[0], gap[2]) < _STEP * leg)


def _poses(motion: Motion) -> Array:
    """Return joint positions (T, J, 3) relative to the hips on the floor and their heading."""
    points = motion.positions().astype(np.float64)
    hips = hips_path(motion).astype(np.float64)
    away = points - hips[:, None] * [1.0, 0.0, 1.0]
    turned = floor_complex(away) * np.conj(facing(motion))[:, None]
    return np.stack([turned.imag, away[..., 1], turned.real], axis=-1)


def _size(poses: Array) -> Array:
    """Return the root mean square distance of the joints."""
    return np.sqrt(np.mean(np.sum(poses**2, axis=-1), axis=-1))


def _frames(motion: Motion) -> PlanarTransform:
    """Return the position and heading of the hips in every frame."""
    heading = np.unwrap(np.angle(facing(motion)))
    return PlanarTransform.from_complex(floor_complex(hips_path(motion)), heading)


def _step(frames: PlanarTransform, loop: int) -> PlanarTransform:
    """Return the transform from one cycle to the next."""
    if loop < len(frames):
        return frames[loop] @ frames[0].inverse()
    first = PlanarTransform.between(frames[0], frames[1])
    last = PlanarTransform.between(frames[-2], frames[-1])
    ahead = PlanarTransform.from_twist(0.5 * (first.twist() + last.twist()))
    return frames[-1] @ ahead @ frames[0].inverse()


def _closed(motion: Motion, loop: int) -> Motion:
    """Return one cycle. If its end is in the motion, the small gap is spread over the cycle."""
    cycle = motion[:loop]
    if loop == len(motion):
        return cycle
    share = np.arange(loop) / loop
    rotations = motion.rotations.astype(np.float64)
    turn = PlanarTransform.to_origin(motion[loop:]).apply_to_poses(
        rotations[loop : loop + 1], motion.root[loop : loop + 1]
    )[0][0]
    start = PlanarTransform.to_origin(motion).apply_to_poses(rotations[:1], motion.root[:1])[0][0]
    gap = rot.log(rot.multiply(rot.inverse(turn), start))  # (J, 3), in the axes of each joint
    fixed = rot.multiply(rotations[:loop], rot.exp(share[:, None, None] * gap))
    root = cycle.root.astype(np.float64).copy()
    root[:, 1] += share * (float(motion.root[0, 1]) - float(motion.root[loop, 1]))
    return replace(cycle, rotations=fixed, root=root)
