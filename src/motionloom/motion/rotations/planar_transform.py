"""Planar rigid transforms, SE(2): a rotation about the vertical and a translation on the floor.

The position and direction in which a motion was captured have no meaning, so motions may be moved
and rotated on the floor before they are compared or blended. `PlanarTransform` is the only type for
this. It rotates by `yaw` radians about the vertical through the origin, then translates by `x` and
`z` meters.

A floor position is written as the complex number ``z + ix``. A rotation by `yaw` is then a
multiplication by ``exp(i yaw)``, and the direction +Z is the number 1.

References
----------
.. [1] L. Kovar, M. Gleicher, F. Pighin. Motion graphs. SIGGRAPH 2002, section 3.1: the
   transform that brings two point clouds closest, in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PlanarTransform:
    """A planar transform or an array of transforms; all methods broadcast.

    Parameters
    ----------
    x, z : array_like, shape (...)
        Translation in meters.
    yaw : array_like, shape (...)
        Rotation about +Y in radians, applied before the translation.

    Examples
    --------
    >>> quarter = PlanarTransform(1.0, 0.0, np.pi / 2)
    >>> quarter.apply([0.0, 1.0, 2.0]).round(6)
    array([3., 1., 0.])
    >>> (quarter.inverse() @ quarter).to_array().round(6) + 0.0
    array([0., 0., 0.])
    """

    x: Array
    z: Array
    yaw: Array

    def __init__(self, x: ArrayLike, z: ArrayLike, yaw: ArrayLike) -> None:
        parts = [np.asarray(part, np.float64) for part in (x, z, yaw)]
        if not parts[0].shape == parts[1].shape == parts[2].shape:
            parts = list(np.broadcast_arrays(*parts))
        for name, part in zip(("x", "z", "yaw"), parts, strict=True):
            object.__setattr__(self, name, part)

    # --- construction -------------------------------------------------------------------

    @classmethod
    def identity(cls, *shape: int) -> PlanarTransform:
        """Return an array of identity transforms of the given `shape`."""
        return cls.from_array(np.zeros((*shape, 3)))

    @classmethod
    def from_array(cls, values: ArrayLike) -> PlanarTransform:
        """Create transforms from an array (..., 3) of ``x, z, yaw``, the form used in kernels."""
        values = np.asarray(values, np.float64)
        if values.shape[-1:] != (3,):
            raise InvalidInput(
                f"values must have shape (..., 3) for x, z and yaw; got {values.shape}"
            )
        return cls(values[..., 0], values[..., 1], values[..., 2])

    @classmethod
    def from_complex(cls, floor: ArrayLike, yaw: ArrayLike) -> PlanarTransform:
        """Create transforms from translations ``z + ix`` and rotations, both (...)."""
        floor = np.asarray(floor)
        return cls(floor.imag, floor.real, np.asarray(yaw, np.float64))

    @classmethod
    def stack(cls, transforms: Sequence[PlanarTransform], axis: int = 0) -> PlanarTransform:
        """Stack transforms of the same shape into an array with one more axis."""
        return cls(
            *(np.stack([getattr(t, part) for t in transforms], axis) for part in ("x", "z", "yaw"))
        )

    @classmethod
    def aligning(
        cls, onto: ArrayLike, clouds: ArrayLike, weights: ArrayLike | None = None
    ) -> PlanarTransform:
        """Return the transforms that best align each of `clouds` with its counterpart in `onto`.

        Parameters
        ----------
        onto, clouds : array_like, shape (..., P, 3)
            Corresponding points of two motions, taken from a short window.
        weights : array_like, shape (P,) or (..., P), optional
            Weight of each point. Default: equal weights.

        Returns
        -------
        transforms : PlanarTransform, shape (...)
            Transforms that minimize the weighted sum of squared distances.

        Examples
        --------
        >>> pose = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.5]])
        >>> elsewhere = PlanarTransform(1.0, -2.0, 0.7).apply(pose)
        >>> PlanarTransform.aligning(elsewhere, pose).to_array().round(6)
        array([ 1. , -2. ,  0.7])
        """
        a, b = np.asarray(onto, np.float64), np.asarray(clouds, np.float64)
        if a.shape != b.shape or a.ndim < 2 or a.shape[-1] != 3 or a.shape[-2] == 0:
            raise InvalidInput(
                f"onto and clouds must have the same shape (..., P, 3); got {a.shape} and {b.shape}"
            )
        w = np.ones(a.shape[-2]) if weights is None else np.asarray(weights, np.float64)
        if w.shape not in (a.shape[-2:-1], a.shape[:-1]):
            raise InvalidInput(
                f"weights must be {a.shape[-2]} numbers, one per point; got {w.shape}"
            )
        total = w.sum(axis=-1, keepdims=True)
        if not (np.all(w >= 0.0) and np.all(total > 0.0) and np.all(np.isfinite(total))):
            raise InvalidInput(
                "weights must be finite and non-negative, and at least one must be positive"
            )
        w = w / total
        floor_a, floor_b = floor_complex(a), floor_complex(b)
        mean_a, mean_b = np.sum(w * floor_a, axis=-1), np.sum(w * floor_b, axis=-1)
        spread = (floor_a - mean_a[..., None]) * np.conj(floor_b - mean_b[..., None])
        yaw = np.angle(np.sum(w * spread, axis=-1))
        return cls.from_complex(mean_a - np.exp(1j * yaw) * mean_b, yaw)

    @classmethod
    def to_origin(cls, motion: Motion) -> PlanarTransform:
        """Return the transform that moves a motion's first frame over the origin, facing +Z.

        Examples
        --------
        >>> import motionloom as ml
        >>> walk = ml.demo.clip("walk").transform(yaw=0.5, shift=(3.0, 0.0, 1.0))
        >>> PlanarTransform.to_origin(walk).apply(walk.root[0])[[0, 2]].round(6) + 0.0
        array([0., 0.])
        """
        from motionloom.motion.kinematics.body import hips_path

        first = motion[:1]
        yaw = -float(first.headings()[0])
        x, _, z = cls(0.0, 0.0, yaw).apply(hips_path(first)[0])
        return cls(-x, -z, yaw)

    @classmethod
    def between(cls, a: PlanarTransform, b: PlanarTransform) -> PlanarTransform:
        """Return `b` relative to `a`, so that ``a @ between(a, b)`` equals `b`."""
        return a.inverse() @ b

    @classmethod
    def from_twist(cls, twists: ArrayLike) -> PlanarTransform:
        """Return the transforms that twists (..., 3) produce in one unit of time; see `twist`."""
        steady = cls.from_array(twists)
        return cls.from_complex(steady.floor * _arc(steady.yaw), steady.yaw)

    # --- as arrays ----------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of transforms, or ``()`` for a single transform."""
        return self.x.shape

    @property
    def floor(self) -> Complex:
        """Translations as complex numbers ``z + ix``, shape (...)."""
        return self.z + 1j * self.x

    @property
    def rotation(self) -> Complex:
        """Rotations as unit complex numbers ``exp(i yaw)``, shape (...)."""
        return np.exp(1j * self.yaw)

    def to_array(self) -> Array:
        """Return ``x, z, yaw`` in an array (..., 3), the form used in kernels and files."""
        values = np.empty((*self.shape, 3))
        values[..., 0], values[..., 1], values[..., 2] = self.x, self.z, self.yaw
        return values

    def twist(self) -> Array:
        """Return the constant velocity (..., 3) that produces this transform in one unit of time.

        Twists can be averaged: the mean of walking straight and walking a curve is walking a wider
        curve.

        Examples
        --------
        >>> quarter = PlanarTransform(1.0, 1.0, np.pi / 2)
        >>> quarter.twist().round(6)
        array([0.      , 1.570796, 1.570796])
        >>> PlanarTransform.from_twist(quarter.twist()).to_array().round(6)
        array([1.      , 1.      , 1.570796])
        """
        floor = self.floor / _arc(self.yaw)
        return np.stack([floor.imag, floor.real, self.yaw], axis=-1)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Any) -> PlanarTransform:
        """Select from an array of transforms, indexed like a NumPy array."""
        return PlanarTransform(self.x[index], self.z[index], self.yaw[index])

    def __repr__(self) -> str:
        if self.shape:
            return f"<{self.shape} planar transforms>"
        return f"PlanarTransform(x={self.x:g}, z={self.z:g}, yaw={self.yaw:g})"

    # --- the group ----------------------------------------------------------------------

    def __matmul__(self, first: PlanarTransform) -> PlanarTransform:
        """Compose two transforms: `first`, then this one.

        Examples
        --------
        >>> both = PlanarTransform(1.0, 0.0, np.pi / 2) @ PlanarTransform(0.0, 2.0, 0.0)
        >>> both.to_array().round(6) + 0.0
        array([3.      , 0.      , 1.570796])
        """
        if not isinstance(first, PlanarTransform):
            return NotImplemented
        return PlanarTransform.from_complex(
            self.floor + self.rotation * first.floor, self.yaw + first.yaw
        )

    def inverse(self) -> PlanarTransform:
        """Return the inverse transform."""
        return PlanarTransform.from_complex(-np.exp(-1j * self.yaw) * self.floor, -self.yaw)

    # --- application --------------------------------------------------------------------

    def apply(self, points: ArrayLike) -> Array:
        """Transform points (..., 3); heights do not change."""
        points = np.asarray(points, np.float64)
        floor = self.floor + self.rotation * floor_complex(points)
        moved = np.empty((*floor.shape, 3))
        moved[..., 0], moved[..., 1], moved[..., 2] = floor.imag, points[..., 1], floor.real
        return moved

    def apply_to_poses(
        self, rotations: ArrayLike, root: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Transform rotations (T, J, 4) and root (T, 3) with one transform, or one per frame."""
        turned = np.array(rotations, np.float32)
        turned[:, 0] = rot.multiply(rot.yaw(self.yaw), turned[:, 0].astype(np.float64))
        return turned, self.apply(root).astype(np.float32)

    def apply_to_motion(self, motion: Motion) -> Motion:
        """Transform a whole motion; see `Motion.transform`."""
        return motion.transform(yaw=float(self.yaw), shift=(float(self.x), 0.0, float(self.z)))


def floor_complex(points: ArrayLike) -> Complex:
    """Floor positions of points (..., 3) as complex numbers ``z + ix``, shape (...)."""
    points = np.asarray(points)
    return points[..., 2] + 1j * points[..., 0]


def _arc(yaw: Array) -> Complex:
    """Return the end of a unit-length arc that turns by `yaw`: (exp(i yaw) - 1) / (i yaw)."""
    half = 0.5 * yaw
    return np.sinc(half / np.pi) * np.exp(1j * half)
