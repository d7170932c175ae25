"""Weighted averages of poses from N motions, at frames and at times between frames.

An averaged rotation is the normalized weighted sum of unit quaternions, which is the point on the
sphere with the smallest weighted squared distance to all of them. For two rotations, it lies on the
great arc between them. For nearby rotations, it differs from other common averages (the eigenvector
average of Markley et al. 2007, the iterated logarithms of Buss & Fillmore 2001) only in the third
order. Unlike those averages, it takes almost no time to compute, accepts slightly negative weights
for extrapolation, and depends smoothly on the weights.

A quaternion and its negative are the same rotation. Signs are therefore chosen first, once for each
clip: consecutive frames of a clip lie in one hemisphere, and each joint of a clip is flipped in all
frames at once to match the first clip. The average is then smooth in time and in the weights.

Between frames, clips are interpolated by cubic curves (Catmull & Rom 1974), so that slow playback
does not jerk at every frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.kernels import kernel
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.quaternions import rotate_floor
from motionloom.ragged import offsets_of


@dataclass(frozen=True, eq=False)
class ClipPoses:
    """Motions that share a skeleton and a frame rate, stored in arrays for averaging.

    Attributes
    ----------
    skeleton : Skeleton
    fps : float
    rotations : ndarray of float32, shape (F, J, 4)
        Frames of all clips, concatenated, with consistent signs.
    root : ndarray of float32, shape (F, 3)
    offsets : ndarray of int64, shape (N + 1,)
        Clip n has rows ``offsets[n]`` to ``offsets[n + 1]``.

    Examples
    --------
    >>> import motionloom as ml
    >>> clips = ClipPoses.of([ml.demo.clip("walk"), ml.demo.clip("walk_fast")])
    >>> len(clips), bool(clips.lengths[0] == len(ml.demo.clip("walk")))
    (2, True)
    """

    skeleton: Skeleton
    fps: float
    rotations: NDArray[np.float32]
    root: NDArray[np.float32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, motions: Sequence[Motion]) -> ClipPoses:
        """Build from motions that share a skeleton and a frame rate.

        Raises
        ------
        InvalidInput
            If there are no motions, a motion has no frames, or skeletons or frame rates differ.
        """
        if not motions:
            raise InvalidInput("motions must contain at least one motion; got none")
        first = motions[0]
        for n, motion in enumerate(motions):
            if not len(motion):
                raise InvalidInput(f"motion {n} ({motion.name!r}) has no frames")
            if not motion.skeleton.is_same_body(first.skeleton):
                raise InvalidInput(
                    f"motions to blend must share one skeleton; {motion.name!r} and "
                    f"{first.name!r} differ. Retarget first: motion.retarget(skeleton)"
                )
            if abs(motion.fps - first.fps) > 1e-6 * first.fps:
                raise InvalidInput(
                    f"motions to blend must share one rate; got {first.fps:g} and "
                    f"{motion.fps:g} fps. Resample first: motion.resample({first.fps:g})"
                )
        return cls(
            first.skeleton,
            first.fps,
            np.concatenate([rot.unroll(motion.rotations) for motion in motions]),
            np.concatenate([motion.root for motion in motions]),
            offsets_of([len(motion) for motion in motions]),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of frames in each clip, shape (N,)."""
        return np.diff(self.offsets)

    def only(self, numbers: Sequence[int]) -> ClipPoses:
        """Return only the clips in `numbers`, in this order."""
        rows = [np.arange(self.offsets[n], self.offsets[n + 1]) for n in numbers]
        every = np.concatenate(rows)
        return ClipPoses(
            self.skeleton,
            self.fps,
            self.rotations[every],
            self.root[every],
            offsets_of([len(clip_rows) for clip_rows in rows]),
        )

    def in_one_hemisphere(self, times: ArrayLike, turns: ArrayLike | None = None) -> ClipPoses:
        """Flip quaternion signs in every clip so that each joint is close to the first clip.

        Parameters
        ----------
        times : array_like, shape (T, N)
            Corresponding frames of the N clips.
        turns : array_like, shape (T, N), optional
            Yaw in radians by which each clip will be rotated at these frames.
        """
        times = np.asarray(times, np.float64)
        turns = np.zeros_like(times) if turns is None else np.asarray(turns, np.float64)
        turned = []
        for n in range(len(self)):
            rows = self.offsets[n] + np.rint(times[:, n]).astype(np.int64)
            here = self.rotations[np.clip(rows, self.offsets[n], self.offsets[n + 1] - 1)]
            here[:, 0] = rot.multiply(rot.yaw(turns[:, n]), here[:, 0])
            turned.append(here)
        signed = self.rotations.copy()
        for n in range(1, len(self)):
            side = np.einsum("tjc,tjc->j", turned[0], turned[n])
            flips = np.where(side < 0.0, -1, 1).astype(np.float32)
            signed[self.offsets[n] : self.offsets[n + 1]] *= flips[:, None]
        return ClipPoses(self.skeleton, self.fps, signed, self.root, self.offsets)


def blend_poses(
    clips: ClipPoses,
    active: ArrayLike,
    weights: ArrayLike,
    times: ArrayLike,
    *,
    transforms: ArrayLike | None = None,
    place: ArrayLike | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return weighted averages of poses from several clips.

    Parameters
    ----------
    clips : ClipPoses
    active : array_like of int, shape (n,)
        Indices of the clips to average; other clips cost no computation time.
    weights : array_like, shape (n,) or (T, n)
        Weights that sum to 1.
    times : array_like, shape (T, n)
        Frame of each clip, which may be fractional and is clamped to the ends of the clip.
    transforms : array_like, shape (T, n, 3), optional
        Planar transforms ``x, z, yaw`` that are undone before averaging. Default: no transforms.
    place : array_like, shape (T, 3), optional
        Planar transform of the result.

    Returns
    -------
    rotations : ndarray of float32, shape (T, J, 4)
    root : ndarray of float32, shape (T, 3)

    Examples
    --------
    >>> import motionloom as ml
    >>> clips = ClipPoses.of([ml.demo.clip("walk"), ml.demo.clip("walk_fast")])
    >>> rotations, root = blend_poses(clips, [0, 1], [0.5, 0.5], [[10.0, 8.5]])
    >>> rotations.shape, root.shape
    ((1, 21, 4), (1, 3))
    """
    times = np.ascontiguousarray(times, np.float64)
    frames, count = times.shape
    active = np.ascontiguousarray(active, np.int64)
    shares = np.empty(times.shape)
    shares[...] = weights
    stands = np.zeros((frames, count, 3)) if transforms is None else transforms
    puts = np.zeros((frames, 3)) if place is None else place
    rotations = np.empty((frames, *clips.rotations.shape[1:]), np.float32)
    root = np.empty((frames, 3), np.float32)
    blend_kernel(
        clips.rotations,
        clips.root,
        clips.offsets,
        active,
        shares,
        times,
        np.ascontiguousarray(stands, np.float64),
        np.ascontiguousarray(puts, np.float64),
        rotations,
        root,
    )
    return rotations, root


@kernel(error_model="numpy")
def blend_kernel(rotations, root, offsets, active, weights, times, transforms, place, out_q, out_p):
    """Kernel of `blend_poses`: fill `out_q` (T, J, 4) and `out_p` (T, 3) without checking inputs.

    Rotations (F, J, 4) and root (F, 3) hold all clips one after another in float32; clip n has
    rows ``offsets[n]`` to ``offsets[n + 1]``. The other shapes: active (n,), weights and times
    (T, n), transforms (T, n, 3), place (T, 3).
    """
    # The inner loop runs over all joints of one row, which are contiguous and in float32. It is
    # almost the whole cost of a blend, and compilers turn it into vector instructions. Only the
    # root, whose transform is undone, is summed in float64.
    joints = rotations.shape[1]
    width = 4 * joints
    flat = rotations.reshape(rotations.shape[0], width)
    out = out_q.reshape(out_q.shape[0], width)
    rows = np.empty(4, np.int64)
    taps = np.empty(4)
    for t in range(times.shape[0]):
        total = out[t]
        total[:] = 0.0
        w0, w1, w2, w3 = 0.0, 0.0, 0.0, 0.0
        px, py, pz = 0.0, 0.0, 0.0
        for i in range(len(active)):
            weight = weights[t, i]
            if weight == 0.0:
                continue
            clip = active[i]
            _cubic(times[t, i], offsets[clip], offsets[clip + 1], rows, taps)
            # The root is handled separately, because its planar transform is undone.
            q0, q1, q2, q3 = 0.0, 0.0, 0.0, 0.0
            x, y, z = 0.0, 0.0, 0.0
            for k in range(4):
                tap, row = taps[k], rows[k]
                if tap == 0.0:
                    continue
                share = np.float32(tap * weight)
                source = flat[row]
                for c in range(4, width):
                    total[c] += share * source[c]
                q0 += tap * source[0]
                q1 += tap * source[1]
                q2 += tap * source[2]
                q3 += tap * source[3]
                x += tap * root[row, 0]
                y += tap * root[row, 1]
                z += tap * root[row, 2]
            yaw = -transforms[t, i, 2]
            c, s = np.cos(0.5 * yaw), np.sin(0.5 * yaw)
            w0 += weight * (c * q0 - s * q2)
            w1 += weight * (c * q1 + s * q3)
            w2 += weight * (c * q2 + s * q0)
            w3 += weight * (c * q3 - s * q1)
            x -= transforms[t, i, 0]
            z -= transforms[t, i, 1]
            c, s = c * c - s * s, 2.0 * c * s
            x, z = rotate_floor(c, s, x, z)
            px += weight * x
            py += weight * y
            pz += weight * z
        c, s = np.cos(0.5 * place[t, 2]), np.sin(0.5 * place[t, 2])
        total[0] = c * w0 - s * w2
        total[1] = c * w1 + s * w3
        total[2] = c * w2 + s * w0
        total[3] = c * w3 - s * w1
        c, s = c * c - s * s, 2.0 * c * s
        out_p[t, 0] = place[t, 0] + c * px + s * pz
        out_p[t, 1] = py
        out_p[t, 2] = place[t, 1] + c * pz - s * px
        for j in range(joints):
            a = 4 * j
            size = total[a] ** 2 + total[a + 1] ** 2 + total[a + 2] ** 2 + total[a + 3] ** 2
            if size > 1e-12:
                scale = np.float32(1.0 / np.sqrt(size))
                for k in range(4):
                    total[a + k] *= scale
            else:  # opposite rotations of equal weight cancel: take the first frame
                for k in range(4):
                    total[a + k] = flat[offsets[active[0]], a + k]


@kernel
def _cubic(time, start, end, rows, taps):
    """Compute the four rows around a time in clip [start, end) and their cubic weights (4,)."""
    time = min(max(time, 0.0), end - start - 1.0)
    whole = int(time)
    f = time - whole
    row = start + whole
    if f < 1e-9:  # on a frame: use exactly its pose, for a quarter of the work
        rows[:] = row
        taps[:] = 0.0
        taps[0] = 1.0
        return
    rows[0], rows[1] = max(row - 1, start), row
    rows[2], rows[3] = row + 1, min(row + 2, end - 1)
    taps[0] = f * (-0.5 + f * (1.0 - 0.5 * f))
    taps[1] = 1.0 + f * f * (-2.5 + 1.5 * f)
    taps[2] = f * (0.5 + f * (2.0 - 1.5 * f))
    taps[3] = f * f * (-0.5 + 0.5 * f)


@kernel(error_model="numpy")
def slerp_poses(a, b, shares):
    """Interpolate rotations (T, J, 4) from `a` to `b` along great arcs, at `shares` (T,)."""
    out = np.empty(a.shape, np.float32)
    for t in range(a.shape[0]):
        share = shares[t]
        for j in range(a.shape[1]):
            dot = 0.0
            for c in range(4):
                dot += a[t, j, c] * b[t, j, c]
            sign = 1.0 if dot >= 0.0 else -1.0  # q and -q are one rotation: shorter arc
            angle = np.arccos(min(abs(dot), 1.0))
            sine = np.sin(angle)
            if sine < 1e-4:  # chord and arc differ by less than rounding
                part_a, part_b = 1.0 - share, sign * share
            else:
                part_a = np.sin((1.0 - share) * angle) / sine
                part_b = sign * np.sin(share * angle) / sine
            size = 0.0
            for c in range(4):
                value = part_a * a[t, j, c] + part_b * b[t, j, c]
                out[t, j, c] = value
                size += value * value
            scale = np.float32(1.0 / np.sqrt(size))
            for c in range(4):
                out[t, j, c] *= scale
    return out
