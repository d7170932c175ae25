"""Inertialization, which fades out the offset at a seam between two motions.

The next motion starts immediately at the seam. The differences in pose and velocity between the
previous motion and the next are added as offsets, which decay like a critically damped spring.
Neither the next motion nor the time of the seam needs to be known in advance, and the state is one
pair of numbers per coordinate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.kernels import kernel
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import critically_damped_spring

Array = NDArray[np.float64]

FADE = 11.0  # 1/s: a tenth of the offset remains after 0.35 s


class Inertializer:
    """Offsets that are added to the poses of a character after a seam and fade out.

    Parameters
    ----------
    joints : int
        Number of joints, J. If several characters are handled together, J counts the joints of all
        characters, and the root array holds their root positions.
    fps : float
    fade : float
        Decay rate, in 1/s.

    Examples
    --------
    >>> inertializer = Inertializer(1, 30.0)
    >>> still = np.tile(np.float32([1, 0, 0, 0]), (3, 1, 1))
    >>> _ = inertializer.apply(still, np.zeros((3, 3), np.float32))
    >>> raised = np.float32([[0, 1, 0], [0, 1, 0], [0, 1, 0]])
    >>> inertializer.seam(still, raised)
    >>> inertializer.apply(still, raised)[1][:, 1].round(2)
    array([0.  , 0.05, 0.17], dtype=float32)
    """

    def __init__(self, joints: int, fps: float, *, fade: float = FADE) -> None:
        self._dt, self._fades = 1.0 / float(fps), np.array([float(fade)])
        self._turns, self._spins = np.zeros((joints, 3)), np.zeros((joints, 3))
        self._shift, self._drift = np.zeros(3), np.zeros(3)
        self._age: int | None = None
        self._last: tuple[Array, Array] | None = None

    def seam(
        self,
        rotations: NDArray[np.float32],
        root: NDArray[np.float32],
        *,
        fade: ArrayLike | None = None,
    ) -> None:
        """Switch to another motion at the next frame.

        Parameters
        ----------
        rotations : ndarray, shape (3, J, 4)
            First three frames of the new motion, as they will be passed to `apply`.
        root : ndarray, shape (3, 3), or (3, 3 C) for C characters
        fade : float, or array_like of shape (C,), optional
            New decay rate in 1/s, or one rate per character. Default: the rate does not change.
        """
        if fade is not None:
            self._fades = np.atleast_1d(np.asarray(fade, np.float64))
        if self._last is None:
            return
        before, places = self._last
        new, path = rotations.astype(np.float64), root.astype(np.float64)
        # Steps across the seam, extrapolated forward from the last motion and back from the next.
        step, own = led_on(*turning(before)), led_on(*turning(new)[::-1])
        self._turns = rot.log(
            rot.multiply(rot.multiply(rot.exp(step), before[-1]), rot.inverse(new[0]))
        )
        self._spins = (step - own) / self._dt
        step, coming = led_on(*np.diff(places, axis=0)), led_on(*np.diff(path, axis=0)[::-1])
        self._shift = places[-1] + step - path[0]
        self._drift = (step - coming) / self._dt
        self._age = 0

    def rebase(self, shift: ArrayLike) -> None:
        """Shift the remembered frames by `shift` (3,), as the caller shifts all later frames."""
        if self._last is not None:
            self._last = (self._last[0], self._last[1] + np.asarray(shift, np.float64))

    def apply(
        self, rotations: NDArray[np.float32], root: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the next frames (n, J, 4) and (n, 3) with the remaining offsets added."""
        turned = np.array(rotations, np.float32, order="C")
        moved = np.array(root, np.float32, order="C")
        if not len(turned):
            return turned, moved
        if self._age is not None:
            _fade_out(
                turned, moved, self._turns, self._spins, self._shift, self._drift,
                float(self._age) * self._dt, self._dt, self._fades,
            )  # fmt: skip
            self._age += len(turned)
            if self._age * self._dt * self._fades.min() > 20.0:  # 2e-9 of the offset remains
                self._age = None
        self._remember(turned, moved)
        return turned, moved

    def _remember(self, rotations: NDArray[np.float32], root: NDArray[np.float32]) -> None:
        """Remember the last three frames, which the next seam needs."""
        if self._last is None:
            first = np.repeat(rotations[:1], 3, axis=0), np.repeat(root[:1], 3, axis=0)
            self._last = (first[0].astype(np.float64), first[1].astype(np.float64))
        self._last = (
            np.concatenate([self._last[0], rotations[-3:].astype(np.float64)])[-3:],
            np.concatenate([self._last[1], root[-3:].astype(np.float64)])[-3:],
        )


def turning(rotations: Array) -> Array:
    """Return the rotation vectors (n - 1, J, 3) between consecutive frames."""
    return rot.log(rot.multiply(rotations[1:], rot.inverse(rotations[:-1])))


def led_on(before: Array, last: Array) -> Array:
    """Extrapolate the next step from the last two, continuing half of the change between them."""
    return last + 0.5 * (last - before)


@kernel
def _fade_out(q, root, turns, spins, shift, drift, start, dt, fades):
    """Add the remaining offsets at times start, start + dt, ..., in place.

    `q` (n, J, 4) and `root` (n, 3 C) hold the rotations and roots of C characters side by side.
    `turns` and `spins` (J, 3) are the offsets of the rotations and their velocities; `shift` and
    `drift` (3 C,) are those of the root; `fades` has shape (C,).
    """
    # The offset at every time is computed in closed form from the state at the seam, not from the
    # previous frame, so that blocks of any size give the same frames.
    characters = len(fades)
    for n in range(q.shape[0]):
        t = start + n * dt
        for c in range(root.shape[1]):
            fade = fades[c * characters // root.shape[1]]
            root[n, c] += critically_damped_spring(shift[c], drift[c], fade, t)[0]
        for j in range(q.shape[1]):
            fade = fades[j * characters // q.shape[1]]
            x = critically_damped_spring(turns[j, 0], spins[j, 0], fade, t)[0]
            y = critically_damped_spring(turns[j, 1], spins[j, 1], fade, t)[0]
            z = critically_damped_spring(turns[j, 2], spins[j, 2], fade, t)[0]
            angle = np.sqrt(x * x + y * y + z * z)
            if angle < 1e-9:  # smaller than float32 can represent
                continue
            # Multiply q from the left by the quaternion of the rotation vector.
            s = np.sin(0.5 * angle) / angle
            w, x, y, z = np.cos(0.5 * angle), s * x, s * y, s * z
            a, b, c, d = q[n, j, 0], q[n, j, 1], q[n, j, 2], q[n, j, 3]
            q[n, j, 0] = w * a - x * b - y * c - z * d
            q[n, j, 1] = w * b + x * a + y * d - z * c
            q[n, j, 2] = w * c - x * d + y * a + z * b
            q[n, j, 3] = w * d + x * c - y * b + z * a
