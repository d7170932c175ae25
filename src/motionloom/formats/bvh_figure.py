"""One figure of a BVH file: its tree and its columns of the table, in file units.

Here channels become rotations, and position channels find their meaning: they replace
OFFSET, on every joint.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.bvh_hierarchy import Node
from motionloom.formats.bvh_layout import Layout
from motionloom.formats.repairs import Repairs
from motionloom.motion import Skeleton


class Figure:
    """A figure's layout with its table of channel values (T, C).

    Attributes
    ----------
    root : ndarray, shape (T, 3)
        Path of the root.
    moved : ndarray, shape (T, J, 3), or None
        Offsets in every frame, where bones change their length.
    warnings : list of str
        What a user should know about the position channels.
    """

    def __init__(
        self, layout: Layout, table: NDArray[np.float64], path: Path, repairs: Repairs
    ) -> None:
        self.layout, self.path, self.repairs, self.table = layout, path, repairs, table
        self.warnings: list[str] = []
        self.offsets = layout.offsets
        self._refuse_scales()
        self.root = self._positions(0).astype(np.float32)
        self.moved = self._translations()

    def skeleton(self) -> Skeleton:
        """Joints and end sites with unique names, offsets in file units."""
        for sentence, line in self.layout.names[2]:
            self.repairs.add(sentence, line=line)
        if self.offsets is self.layout.offsets:
            return self.layout.skeleton
        return self.layout.skeleton_with(self.offsets)

    def rotations(self) -> NDArray[np.float32]:
        """Local rotations ``wxyz``, shape (T, J, 4)."""
        layout, table = self.layout, np.ascontiguousarray(self.table)
        out = np.empty((len(table), len(layout.joints), 4), np.float32)
        _rotations(table, layout.turn_columns, layout.turn_axes, out)
        return out

    def _positions(self, joint: int) -> NDArray[np.float64]:
        """Place of a joint in its parent's frame in every frame, shape (T, 3)."""
        place = np.tile(self.offsets[joint], (len(self.table), 1))
        for axis, letter in enumerate("XYZ"):
            column = self.layout.columns[joint].get(f"{letter}position")
            if column is not None:
                place[:, axis] = self.table[:, column]
        return place

    def _translations(self) -> NDArray[np.float32] | None:
        """Where position channels below the root say something: new offsets, or (T, J, 3)."""
        moving = self.layout.moving
        if not moving:
            return None
        places = {joint: self._positions(joint) for joint in moving}
        size = max(float(np.abs(p[0]).max()) for p in places.values()) or 1.0
        steady = {j: float(np.ptp(p, axis=0).max()) < 1e-5 * size for j, p in places.items()}
        told = [joint for joint in moving if steady[joint] and self.offsets[joint].any()]
        if told and not any(places[joint].any() for joint in told):
            # Taken at their word, these bones would have no length at all.
            self.repairs.add(
                "position channels below the root are all zero though the OFFSETs are not: "
                "read as additions to OFFSET"
            )
            for joint in told:
                places[joint] = places[joint] + self.offsets[joint]
        travellers = [joint for joint in moving if not steady[joint]]
        carrier = travellers[0] if travellers and not np.ptp(self.root, axis=0).any() else None
        differ = [
            joint
            for joint in moving
            if np.abs(places[joint][0] - self.offsets[joint]).max() > 1e-3 * size
            and joint != carrier  # what carries the motion is not where OFFSET says, of course
        ]
        if differ:
            self.warnings.append(
                f"position channels replace the OFFSET of {self._counted(differ)}: they differ"
            )
        self.offsets = self.offsets.copy()
        for joint in moving:
            self.offsets[joint] = np.median(places[joint], axis=0)
        if not travellers:
            return None
        if carrier is not None:
            name = self._node(carrier).name
            self.warnings.append(f"the root stands still; {name!r} carries the motion")
        else:
            self.warnings.append(f"bones change length: {self._counted(travellers)}")
        moved = np.tile(self.offsets, (len(self.table), 1, 1))
        for joint in moving:
            moved[:, joint] = places[joint]
        moved[:, 0] = 0.0
        return moved.astype(np.float32)

    def _refuse_scales(self) -> None:
        for joint, columns in enumerate(self.layout.columns):
            scales = [column for name, column in columns.items() if name.endswith("scale")]
            if not scales:
                continue
            node = self._node(joint)
            if np.abs(self.table[:, scales] - 1.0).max() > 1e-3:
                raise MotionFormatError(
                    f"{node.name!r} changes its scale; motionloom has no such thing. Bake the "
                    "scale in the program that wrote the file",
                    path=self.path,
                    line=node.line,
                )
            self.repairs.add("scale channels, all 1, ignored", line=node.line)

    def _counted(self, joints: list[int]) -> str:
        name = repr(self._node(joints[0]).name)
        return name if len(joints) == 1 else f"{len(joints)} joints, {name} the first"

    def _node(self, joint: int) -> Node:
        return self.layout.nodes[self.layout.joints[joint]]


@njit(cache=True, nogil=True, error_model="numpy")
def _rotations(table, columns, axes, out):
    """Products of up to three turns about axes; degrees (T, C) in, quaternions (T, J, 4) out."""
    sines = np.empty(table.shape[1], np.float32)
    cosines = np.empty(table.shape[1], np.float32)
    for t in range(out.shape[0]):
        _half_angles(table[t], sines, cosines)
        for j in range(out.shape[1]):
            w, x, y, z = np.float32(1.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for k in range(3):
                column = columns[j, k]
                if column < 0:
                    break
                c, s = cosines[column], sines[column]
                if axes[j, k] == 0:
                    w, x, y, z = w * c - x * s, x * c + w * s, y * c + z * s, z * c - y * s
                elif axes[j, k] == 1:
                    w, x, y, z = w * c - y * s, x * c - z * s, y * c + w * s, z * c + x * s
                else:
                    w, x, y, z = w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s
            out[t, j, 0], out[t, j, 1], out[t, j, 2], out[t, j, 3] = w, x, y, z


@njit(cache=True, nogil=True, error_model="numpy")
def _half_angles(degrees, sines, cosines):
    """Sines and cosines of half the angles, within 1e-7; vector code, unlike the library's.

    The nearest quarter turn is taken off in double precision, so angles of many turns are
    as good as small ones. What is left, at most an eighth of a turn, goes through the
    polynomials of the Cephes library (sinf, cosf).
    """
    f = np.float32
    for c in range(degrees.shape[0]):
        half = degrees[c] * (np.pi / 360.0)
        # Adding and taking off 1.5 * 2**52 rounds to the nearest whole number.
        quarters = (half * (2.0 / np.pi) + 6755399441055744.0) - 6755399441055744.0
        x = f(half - quarters * (np.pi / 2.0))
        q = np.int32(quarters)
        xx = x * x
        tail = f(-1.6666654611e-1) + xx * (f(8.3321608736e-3) - xx * f(1.9515295891e-4))
        sine = x + x * xx * tail
        tail = f(-1.388731625493765e-3) + xx * f(2.443315711809948e-5)
        cosine = f(1.0) - f(0.5) * xx + xx * xx * (f(4.166664568298827e-2) + xx * tail)
        first, second = (cosine, sine) if q & 1 else (sine, cosine)
        sines[c] = -first if q & 2 else first
        cosines[c] = -second if (q + 1) & 2 else second
