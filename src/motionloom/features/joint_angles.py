"""Frame distances based on joint angles: quaternions, Euler angles and transition costs.

Joints are identified by roles, and the rotation of a joint is relative to the body part above it
and to a common standing posture. Files with more spine joints, other joint axes or another rest
pose therefore give the same rotations. The heading is removed from the rotation of the pelvis.

``quat`` and ``euler`` measure angle differences by their chord, ``2 sin(angle / 2)``. The chord is
periodic, and it is close to the angle if the angle is small. It can also be computed from an inner
product, so a distance matrix requires only a single matrix product. For quaternions, it is the
inner product of the matrices ``q q^T``, which are the same for `q` and ``-q``; for Euler angles, it
is the inner product of points on the circle.

``lee`` and ``wb`` are the costs of a transition between two frames. Lee et al. (2002) search for
frames at which one motion can continue as another, using weighted joint angles and velocities:

    ``|p - p'|^2 + sum_k w_k angle(q_k, q'_k)^2 + v (|dp - dp'|^2 + sum_k w_k |dq_k - dq'_k|^2)``

with the root's position `p`, joint rotations `q` and the velocities of both. Their weights are one
for shoulders, elbows, hips, knees, pelvis and spine, and zero for all others. Wang and Bodenheimer
(2003) fit the weights to transitions that people accept as good.

Only the height of the root position counts, and velocities are relative to the heading. The result
does not depend on where the body is and which way it faces.

References
----------
.. [1] J. Lee, J. Chai, P. Reitsma, J. Hodgins, N. Pollard. Interactive control of avatars
   animated with human motion data. SIGGRAPH 2002, section 4.1.
.. [2] J. Wang, B. Bodenheimer. An evaluation of a cost metric for selecting transitions
   between motion segments. SCA 2003, table 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.features.body_frame import body_rotations
from motionloom.features.euclidean import euclidean_matrix, squared_matrix
from motionloom.kernels import kernel
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import facing
from motionloom.motion.rotations import quaternions as rot

_SIDES = ("left", "right")

JOINT_PARENTS: dict[str, str] = {
    "spine": "hips",
    "chest": "spine",
    "head": "chest",
    **{
        f"{side}_{part}": parent if parent in ("hips", "chest") else f"{side}_{parent}"
        for side in _SIDES
        for part, parent in (
            ("shoulder", "chest"), ("elbow", "shoulder"), ("wrist", "elbow"),
            ("hip", "hips"), ("knee", "hip"), ("ankle", "knee"),
        )
    },
}  # fmt: skip
"""Joints whose rotation is compared, each with its parent."""

JOINTS: tuple[str, ...] = ("hips", *JOINT_PARENTS)
"""The pelvis, and the joints of `JOINT_PARENTS`."""

# The squared angle between two rotations whose quaternions have the inner product c, divided by s
# = 1 - |c|, as a polynomial in s, highest power first. It is smooth between 0 and 1 (the square
# removes the root at c = 1), and 17 coefficients are accurate to 1e-11.
_SQUARED_ANGLE = np.ascontiguousarray(
    np.polynomial.Chebyshev.interpolate(
        lambda s: np.square(2.0 * np.arccos(1.0 - s)) / s, 16, domain=[0.0, 1.0]
    )
    .convert(kind=np.polynomial.Polynomial)
    .coef[::-1]
)
_LANES = 256  # columns at a time, to keep the data in the cache


def joint_rotations(
    motion: Motion,
    joints: tuple[str, ...] = JOINTS,
    *,
    parents: Mapping[str, str] = JOINT_PARENTS,
) -> NDArray[np.float64]:
    """Return each joint's rotation relative to the body part above it, ``wxyz``, (T, R, 4).

    Parameters
    ----------
    motion : Motion
    joints : tuple of str, length R
        A selection of `JOINTS`.
    parents : mapping of str to str
        Parent of each joint. The rotation of a joint without one, such as the pelvis (``hips``),
        is relative to the world, rotated so that the body faces +Z.

    Raises
    ------
    RoleError
        If the skeleton lacks one of the joints.

    Examples
    --------
    >>> import motionloom as ml
    >>> rest = ml.demo.clip("walk").rest_pose()
    >>> bool(abs(joint_rotations(rest) - [1, 0, 0, 0]).max() < 1e-6)
    True
    """
    above = [parents.get(joint, "") for joint in joints]
    needed = tuple(dict.fromkeys([*joints, *filter(None, above)]))
    world = dict(zip(needed, np.moveaxis(body_rotations(motion, needed), 1, 0), strict=True))
    if "" in above:
        world[""] = rot.yaw(np.angle(facing(motion)))
    out = np.empty((len(motion), len(joints), 4))
    for k, joint in enumerate(joints):
        out[:, k] = rot.multiply(rot.inverse(world[above[k]]), world[joint])
    return out


@dataclass(frozen=True)
class QuaternionDistance:
    """Root mean square, over joints, of the chord of the angle between rotations, in radians."""

    name: str = "quat"
    joints: tuple[str, ...] = JOINTS
    unit: str = "rad"

    def prepare(self, motion: Motion) -> NDArray[np.float64]:
        """Return rows (T, 10 * R): the product ``q q^T`` of each joint's quaternion."""
        q = joint_rotations(motion, self.joints)
        # |qq^T - pp^T|^2 = 2 - 2 (q.p)^2 = 2 sin^2(angle / 2): half the chord squared.
        i, j = np.triu_indices(4)
        twice = np.where(i == j, np.sqrt(2.0), 2.0)  # for the symmetric half
        products = q[..., i] * q[..., j] * (twice / np.sqrt(len(self.joints)))
        return products.reshape(len(q), len(i) * len(self.joints))

    def matrix(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return the distances (M, N) between the frames of two motions."""
        return euclidean_matrix(a, b)


@dataclass(frozen=True)
class EulerDistance:
    """Root mean square, over joints, of the chords of three Euler angle differences, in radians."""

    name: str = "euler"
    joints: tuple[str, ...] = JOINTS
    order: str = "ZYX"
    unit: str = "rad"

    def prepare(self, motion: Motion) -> NDArray[np.float64]:
        """Return rows (T, 6 * R): cosine and sine of each angle."""
        angles = rot.to_euler(joint_rotations(motion, self.joints), self.order)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        return circle.reshape(len(circle), 6 * len(self.joints)) / np.sqrt(len(self.joints))

    def matrix(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return the distances (M, N) between the frames of two motions."""
        return euclidean_matrix(a, b)


def _both_sides(**weights: float) -> dict[str, float]:
    return {f"{side}_{part}": weight for part, weight in weights.items() for side in _SIDES}


LEE_WEIGHTS: Mapping[str, float] = {
    "hips": 1.0,
    "spine": 1.0,
    **_both_sides(shoulder=1.0, elbow=1.0, hip=1.0, knee=1.0),
}
WANG_WEIGHTS: Mapping[str, float] = _both_sides(hip=1.0, knee=0.0901, shoulder=0.7884, elbow=0.0247)


@dataclass(frozen=True)
class TransitionCost:
    """Weighted squared differences of joint angles and velocities.

    Parameters
    ----------
    name : str
    weights : mapping of str to float
        Weight of each joint's rotation, by role (see `motionloom.features.joint_angles`).
    velocity_seconds : float
        A velocity difference counts as much as the displacement that it causes in this time. The
        square of this time is the weight `v` of the velocities, which the papers do not state.
    """

    name: str
    weights: Mapping[str, float] = field(hash=False)
    velocity_seconds: float = 0.1
    unit: str = "rad^2"

    def __post_init__(self) -> None:
        if not self.weights or not all(w > 0.0 for w in self.weights.values()):
            raise InvalidInput(
                f"weights must contain at least one joint, and all weights must be positive; got "
                f"{dict(self.weights)}"
            )

    def prepare(self, motion: Motion) -> NDArray[np.float64]:
        """Return rows (T, 7 R + 4): quaternions, then weighted root height and velocities."""
        joints = tuple(self.weights)
        roots = np.sqrt(np.array([self.weights[joint] for joint in joints]))
        turns = joint_rotations(motion, joints)
        spins = _angular_velocities(turns, motion.fps)
        back = rot.yaw(-np.angle(facing(motion)))
        if "hips" in joints:  # the pelvis also rotates with the body
            world = body_rotations(motion, ["hips"])
            spins[:, joints.index("hips")] = rot.rotate(
                back, _angular_velocities(world, motion.fps)[:, 0]
            )
        hips = motion.role_positions(["hips"])[:, 0].astype(np.float64)
        speed = rot.rotate(back, _velocities(hips, motion.fps))
        spins = (spins * roots[:, None]).reshape(len(motion), 3 * len(joints))
        return np.concatenate(
            [
                turns.reshape(len(motion), 4 * len(joints)),
                hips[:, 1:2],
                self.velocity_seconds * speed,
                self.velocity_seconds * spins,
            ],
            axis=1,
        )

    def matrix(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return the costs (M, N) between the frames of two motions."""
        rows_a, rows_b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        end = 4 * len(self.weights)
        cost = squared_matrix(rows_a[:, end:], rows_b[:, end:])
        weights = np.array(list(self.weights.values()))
        turns_a = np.ascontiguousarray(rows_a[:, :end])
        turns_b = np.ascontiguousarray(rows_b[:, :end].T)
        _add_squared_angles(turns_a, turns_b, weights, _SQUARED_ANGLE, cost)
        return cost


def _angular_velocities(q: NDArray[np.float64], fps: float) -> NDArray[np.float64]:
    """Return angular velocities (T, R, 3) of rotations (T, R, 4) in rad/s, in parent axes."""
    out = np.zeros((*q.shape[:-1], 3))
    if len(q) > 1:
        between = rot.log(rot.multiply(q[1:], rot.inverse(q[:-1]))) * fps
        out[0], out[-1] = between[0], between[-1]
        out[1:-1] = 0.5 * (between[1:] + between[:-1])
    return out


def _velocities(path: NDArray[np.float64], fps: float) -> NDArray[np.float64]:
    return np.gradient(path, 1.0 / fps, axis=0) if len(path) > 1 else np.zeros_like(path)


@kernel(error_model="numpy")
def _add_squared_angles(a, b, weights, polynomial, out):
    """Add the weighted squared angles between joint quaternions to `out` (M, N).

    The shapes are `a` (M, 4 R) and `b` (4 R, N). The innermost loops run along the columns of `b`
    and are vectorized; they take 79 ns per cell for ten joints, compared with 364 ns for a matrix
    product and arccos per joint.
    """
    rows, columns = out.shape
    s = np.empty(_LANES)
    value = np.empty(_LANES)
    for start in range(0, columns, _LANES):
        size = min(_LANES, columns - start)
        for i in range(rows):
            for k in range(len(weights)):
                w, x, y, z = a[i, 4 * k], a[i, 4 * k + 1], a[i, 4 * k + 2], a[i, 4 * k + 3]
                bw, bx = b[4 * k, start:], b[4 * k + 1, start:]
                by, bz = b[4 * k + 2, start:], b[4 * k + 3, start:]
                for j in range(size):
                    c = abs(w * bw[j] + x * bx[j] + y * by[j] + z * bz[j])
                    s[j] = 1.0 - c
                    value[j] = polynomial[0]
                for n in range(1, len(polynomial)):
                    factor = polynomial[n]
                    for j in range(size):
                        value[j] = value[j] * s[j] + factor
                weight = weights[k]
                for j in range(size):
                    # Rounding can make the inner product of equal rotations greater than one.
                    out[i, start + j] += weight * value[j] * (s[j] if not s[j] < 0.0 else 0.0)
