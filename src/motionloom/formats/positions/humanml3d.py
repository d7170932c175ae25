"""HumanML3D: 22 joint positions at 20 fps, and 263 features per frame.

The data set and the generators trained on it (MDM, T2M-GPT, MoMask ...) describe a frame by 263
numbers: rotation of the root about the vertical (1), velocity of the root on the floor (2), height
of the root (1), positions of the other joints relative to the root (63), their rotations as two
columns of a matrix (126), velocities of all joints (66), and contacts of both feet (4). Positions,
velocities and contacts follow from the positions; see Guo et al. [1]_ and the script
``motion_representation`` of the data set. Its conventions are kept, including that the facing for
rotations is the difference of the shoulder line and the hip line, because the script exchanges the
hips there.

References
----------
.. [1] C. Guo et al. Generating diverse and natural 3D human motions from text. CVPR 2022.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import gaussian_smooth

Array = NDArray[np.float64]

FPS = 20.0
JOINTS = 22
FEATURES = 263
_LEFT_HIP, _RIGHT_HIP, _LEFT_SHOULDER, _RIGHT_SHOULDER = 1, 2, 16, 17
_FEET = (7, 10), (8, 11)  # ankle and ball of the left and the right foot
_STILL = 0.002  # squared meters per frame; a slower foot is in contact
_FACING_WIDTH = 20.0  # frames over which the facing is smoothed
_CHAINS = (
    (0, 2, 5, 8, 11), (0, 1, 4, 7, 10), (0, 3, 6, 9, 12, 15), (9, 14, 17, 19, 21),
    (9, 13, 16, 18, 20),
)  # fmt: skip
# Direction of each bone at rest, in the axes of the data set.
_REST = np.array([
    [0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, -1, 0], [0, 1, 0], [0, -1, 0],
    [0, -1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0], [1, 0, 0], [-1, 0, 0], [0, 0, 1],
    [0, -1, 0], [0, -1, 0], [0, -1, 0], [0, -1, 0], [0, -1, 0], [0, -1, 0],
], dtype=np.float64)  # fmt: skip


def humanml3d_positions(motion: Motion) -> Array:
    """Return a motion as positions (T, 22, 3) in the conventions of the data set.

    The motion is resampled to 20 fps and retargeted to a neutral SMPL skeleton, as all motions of
    the data set share one skeleton. The lowest joint touches the floor, the first frame is over the
    origin, and it faces +Z.
    """
    from motionloom.formats.amass import smpl_skeleton

    body = smpl_skeleton(JOINTS)
    if motion.skeleton.names != body.names:
        motion = motion.retarget(body)
    return placed(motion.resample(FPS).positions().astype(np.float64))


def placed(positions: Array) -> Array:
    """Return positions (T, 22, 3) on the floor, with the first frame over the origin, facing +Z."""
    result = positions - [0.0, positions[:, :, 1].min(), 0.0]
    first = result[0]
    result = result - first[0] * [1.0, 0.0, 1.0]
    across = first[_RIGHT_HIP] - first[_LEFT_HIP] + first[_RIGHT_SHOULDER] - first[_LEFT_SHOULDER]
    return rot.rotate(_turn_to_z(rot.cross([0.0, 1.0, 0.0], across)), result)


def features(positions: Array) -> Array:
    """Return the features (T - 1, 263) of positions (T, 22, 3) that `placed` has placed.

    Examples
    --------
    >>> import motionloom as ml
    >>> features(humanml3d_positions(ml.demo.clip("walk"))).shape
    (91, 263)
    """
    turns, rotations = _rotations(positions)
    steps = positions[1:] - positions[:-1]
    velocity = rot.rotate(turns[1:], steps[:, 0])
    spin = np.arcsin(rot.multiply(turns[1:], rot.inverse(turns[:-1]))[:, 2].clip(-1.0, 1.0))
    local = positions - positions[:, :1] * [1.0, 0.0, 1.0]
    local = rot.rotate(turns[:, None], local)
    root = np.column_stack([spin, velocity[:, 0], velocity[:, 2], local[:-1, 0, 1]])
    contacts = [((steps[:, feet] ** 2).sum(axis=2) < _STILL).astype(np.float64) for feet in _FEET]
    count = len(steps)
    return np.concatenate(
        [
            root,
            local[:-1, 1:].reshape(count, -1),
            rotations[:-1, 1:].reshape(count, -1),
            rot.rotate(turns[:-1, None], steps).reshape(count, -1),
            *contacts,
        ],
        axis=1,
    )


def positions_from(values: Array) -> Array:
    """Return the positions (T, 22, 3) that features (T, 263) describe.

    The first frame is turned by its smoothed facing, which the features do not contain. The data
    set stores these positions next to the features.

    Examples
    --------
    >>> import motionloom as ml
    >>> positions = humanml3d_positions(ml.demo.clip("walk"))
    >>> again = positions_from(features(positions))
    >>> bool(np.abs(again[..., 1] - positions[:-1, :, 1]).max() < 1e-9)  # equal heights
    True
    """
    half = np.concatenate([[0.0], np.cumsum(values[:-1, 0])])  # half of the angle
    back = np.stack([np.cos(half), 0.0 * half, -np.sin(half), 0.0 * half], axis=1)
    steps = np.zeros((len(values), 3))
    steps[1:, [0, 2]] = values[:-1, 1:3]
    root = np.cumsum(rot.rotate(back, steps), axis=0)
    root[:, 1] = values[:, 3]
    others = values[:, 4 : 4 + 3 * (JOINTS - 1)].reshape(len(values), -1, 3)
    others = rot.rotate(back[:, None], others) + root[:, None] * [1.0, 0.0, 1.0]
    return np.concatenate([root[:, None], others], axis=1)


def _rotations(positions: Array) -> tuple[Array, Array]:
    """Return rotations (T, 4) that turn the body to +Z, and columns (T, 22, 6) of joint rotations.

    A joint's rotation is the shortest one from its rest direction to that of its bone, relative to
    the joint before it in the chain. Every chain starts at the root's rotation.
    """
    across = positions[:, _LEFT_HIP] - positions[:, _RIGHT_HIP]
    across = across + positions[:, _RIGHT_SHOULDER] - positions[:, _LEFT_SHOULDER]
    facing = rot.cross([0.0, 1.0, 0.0], across / np.linalg.norm(across, axis=1, keepdims=True))
    turns = _turn_to_z(gaussian_smooth(facing, _FACING_WIDTH))
    local = np.zeros((len(positions), JOINTS, 4))
    local[:, 0] = turns
    for chain in _CHAINS:
        parent = turns
        for joint, child in zip(chain[:-1], chain[1:], strict=True):
            bone = positions[:, child] - positions[:, joint]
            bone = bone / np.linalg.norm(bone, axis=1, keepdims=True)
            world = _between(_REST[child], bone)
            local[:, child] = rot.multiply(rot.inverse(parent), world)
            parent = world
    matrices = rot.to_matrix(local)
    return turns, np.concatenate([matrices[..., 0], matrices[..., 1]], axis=-1)


def _turn_to_z(facing: Array) -> Array:
    facing = facing / np.linalg.norm(facing, axis=-1, keepdims=True)
    return _between(facing, np.array([0.0, 0.0, 1.0]))


def _between(first: Array, second: Array) -> Array:
    """Return the shortest rotations between unit vectors."""
    first, second = np.broadcast_arrays(first, second)
    axis = rot.cross(first, second)
    turn = np.concatenate([1.0 + (first * second).sum(axis=-1, keepdims=True), axis], axis=-1)
    length = np.linalg.norm(turn, axis=-1, keepdims=True)
    return np.where(length > 1e-9, turn / np.maximum(length, 1e-9), [0.0, 0.0, 1.0, 0.0])
