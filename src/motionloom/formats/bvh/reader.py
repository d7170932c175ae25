"""Reader for BVH files.

Deviations from the specification that can be read in only one way are repaired and recorded. All
others raise an error that names the file and line. Position channels replace OFFSET on every joint,
as in Blender.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.bvh.hierarchy import BvhNode, read_hierarchy
from motionloom.formats.bvh.layout import Layout, channel_names, plain_layout
from motionloom.formats.bvh.text import BvhText, read_rows, split_bvh
from motionloom.formats.conventions import (
    Repairs,
    file_bytes,
    nominal_rate,
    scaled_to_meters,
    started,
    to_y_up,
    with_user_roles,
)
from motionloom.formats.inference import Unit, infer_unit, infer_up, is_tpose_frame, unit_from
from motionloom.formats.takes import FileTake, check_takes, choices, named_takes
from motionloom.kernels import kernel
from motionloom.motion import Motion, Skeleton
from motionloom.motion.segment import FASTEST, SLOWEST

_ROOM = 8_000_000  # joints times frames that any file may have
_GROWTH = 4  # the same limit for larger files, per byte; rows have at least 6 bytes per joint


class Figure:
    """Layout and channel values (T, C) of one figure, in file units.

    Attributes
    ----------
    root : ndarray, shape (T, 3)
        Path of the root, in file units.
    moved : ndarray, shape (T, J, 3), or None
        Offset of every joint in every frame, if bones change length.
    warnings : list of str
        Warnings about the position channels.
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
        """Skeleton with unique names and with offsets in file units."""
        for sentence, line in self.layout.names[2]:
            self.repairs.add(sentence, line=line)
        if self.offsets is self.layout.offsets:
            return self.layout.skeleton
        return self.layout.skeleton_with(self.offsets)

    def rotations(self) -> NDArray[np.float32]:
        """Local rotations ``wxyz``, shape (T, J, 4)."""
        layout, table = self.layout, np.ascontiguousarray(self.table)
        out = np.empty((len(table), len(layout.joints), 4), np.float32)
        _rotations(table, layout.rotation_columns, layout.rotation_axes, out)
        return out

    def _positions(self, joint: int) -> NDArray[np.float64]:
        """Return the position of a joint in its parent's frame, shape (T, 3)."""
        place = np.tile(self.offsets[joint], (len(self.table), 1))
        for axis, letter in enumerate("XYZ"):
            column = self.layout.columns[joint].get(f"{letter}position")
            if column is not None:
                place[:, axis] = self.table[:, column]
        return place

    def _translations(self) -> NDArray[np.float32] | None:
        """Apply position channels below the root to the offsets. Return (T, J, 3) if they vary."""
        moving = self.layout.moving
        if not moving:
            return None
        places = {joint: self._positions(joint) for joint in moving}
        size = max(float(np.abs(p[0]).max()) for p in places.values()) or 1.0
        steady = {j: float(np.ptp(p, axis=0).max()) < 1e-5 * size for j, p in places.items()}
        constant = [joint for joint in moving if steady[joint] and self.offsets[joint].any()]
        longest = float(np.abs(self.offsets[1:]).max())
        if constant and all(np.abs(places[joint]).max() <= 1e-3 * longest for joint in constant):
            # Taken literally, these bones would have zero length. MakeHuman's poses contain such
            # channels with rounding errors.
            self.repairs.add(
                "position channels below the root are all zero although the OFFSETs are not, "
                "so they were added to OFFSET"
            )
            size = longest
            for joint in constant:
                places[joint] = places[joint] + self.offsets[joint]
        travelers = [joint for joint in moving if not steady[joint]]
        carrier = travelers[0] if travelers and not np.ptp(self.root, axis=0).any() else None
        differ = [
            joint
            for joint in moving
            if np.abs(places[joint][0] - self.offsets[joint]).max() > 1e-3 * size
            and joint != carrier  # the joint that carries the motion always differs from OFFSET
        ]
        if differ:
            self.warnings.append(
                f"position channels differ from OFFSET and replace it: {self._counted(differ)}"
            )
        self.offsets = self.offsets.copy()
        for joint in moving:
            self.offsets[joint] = np.median(places[joint], axis=0)
        if not travelers:
            return None
        if carrier is None:
            self.warnings.append(f"bones change length: {self._counted(travelers)}")
        moved = np.tile(self.offsets, (len(self.table), 1, 1))
        for joint in moving:
            moved[:, joint] = places[joint]
        moved[:, 0] = 0.0
        return moved.astype(np.float32)

    def _refuse_scales(self) -> None:
        for joint, scales in self.layout.scales:
            node = self._node(joint)
            if np.abs(self.table[:, scales] - 1.0).max() > 1e-3:
                raise MotionFormatError(
                    f"the scale of {node.name!r} changes, which is not supported. Bake the "
                    "scale in the program that wrote the file",
                    path=self.path,
                    line=node.line,
                )
            self.repairs.add(
                "scale channels were ignored, because all scales are 1", line=node.line
            )

    def _counted(self, joints: list[int]) -> str:
        name = repr(self._node(joints[0]).name)
        return name if len(joints) == 1 else f"{len(joints)} joints, starting with {name}"

    def _node(self, joint: int) -> BvhNode:
        return self.layout.nodes[self.layout.joints[joint]]


def _rotations_plain(table, columns, axes, out):
    """Compute the result of `_rotations` without Numba, in groups of joints with equal axes."""
    sines, cosines = np.empty(table.shape, np.float32), np.empty(table.shape, np.float32)
    _half_angles_plain(table, sines, cosines)
    used = np.where(columns >= 0, axes, -1)
    for order in sorted(set(map(tuple, used.tolist()))):
        joints = np.flatnonzero((used == order).all(axis=1))
        w, x, y, z = (np.full((len(out), len(joints)), start, np.float32) for start in (1, 0, 0, 0))
        for k, axis in enumerate(order):
            if axis < 0:
                break
            c, s = cosines[:, columns[joints, k]], sines[:, columns[joints, k]]
            if axis == 0:
                w, x, y, z = w * c - x * s, x * c + w * s, y * c + z * s, z * c - y * s
            elif axis == 1:
                w, x, y, z = w * c - y * s, x * c - z * s, y * c + w * s, z * c + x * s
            else:
                w, x, y, z = w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s
        out[:, joints] = np.stack([w, x, y, z], axis=-1)


def _half_angles_plain(degrees, sines, cosines):
    f = np.float32
    half = degrees * (np.pi / 360.0)
    quarters = (half * (2.0 / np.pi) + 6755399441055744.0) - 6755399441055744.0
    x = (half - quarters * (np.pi / 2.0)).astype(f)
    with np.errstate(invalid="ignore"):
        q = quarters.astype(np.int32)
    xx = x * x
    tail = f(-1.6666654611e-1) + xx * (f(8.3321608736e-3) - xx * f(1.9515295891e-4))
    sine = x + x * xx * tail
    tail = f(-1.388731625493765e-3) + xx * f(2.443315711809948e-5)
    cosine = f(1.0) - f(0.5) * xx + xx * xx * (f(4.166664568298827e-2) + xx * tail)
    odd = (q & 1) != 0
    first, second = np.where(odd, cosine, sine), np.where(odd, sine, cosine)
    sines[:] = np.where(q & 2, -first, first)
    cosines[:] = np.where((q + 1) & 2, -second, second)


@kernel(numpy=_rotations_plain, nanoseconds=30, error_model="numpy")
def _rotations(table, columns, axes, out):
    """Multiply up to three axis rotations: degrees (T, C) to quaternions (T, J, 4).

    columns (J, 3) contains the channels of each joint from left to right, with -1 after the last.
    axes (J, 3) contains 0, 1 or 2 for x, y or z. Channels that are not finite yield NaN.
    """
    # The outer loop runs over frames: a row of the table is contiguous, and its sines and cosines
    # stay in the cache for all joints.
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
                # Product with (c, s, 0, 0), (c, 0, s, 0) or (c, 0, 0, s): half of the terms are 0.
                if axes[j, k] == 0:
                    w, x, y, z = w * c - x * s, x * c + w * s, y * c + z * s, z * c - y * s
                elif axes[j, k] == 1:
                    w, x, y, z = w * c - y * s, x * c - z * s, y * c + w * s, z * c + x * s
                else:
                    w, x, y, z = w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s
            out[t, j, 0], out[t, j, 1], out[t, j, 2], out[t, j, 3] = w, x, y, z


@kernel(error_model="numpy")
def _half_angles(degrees, sines, cosines):
    """Return sines and cosines of half angles, accurate to 1e-7. Unlike libm, this is vectorized.

    The nearest quarter turn is subtracted in double precision, so that large angles are as
    accurate as small ones. The remainder, at most an eighth of a turn, is evaluated with the
    polynomials of the Cephes library (sinf, cosf).
    """
    f = np.float32
    for c in range(degrees.shape[0]):
        half = degrees[c] * (np.pi / 360.0)
        # Adding and subtracting 1.5 * 2**52 rounds to the nearest integer.
        quarters = (half * (2.0 / np.pi) + 6755399441055744.0) - 6755399441055744.0
        x = f(half - quarters * (np.pi / 2.0))
        q = np.int32(quarters)  # its last two bits give the quarter, even if it is negative
        xx = x * x
        tail = f(-1.6666654611e-1) + xx * (f(8.3321608736e-3) - xx * f(1.9515295891e-4))
        sine = x + x * xx * tail
        tail = f(-1.388731625493765e-3) + xx * f(2.443315711809948e-5)
        cosine = f(1.0) - f(0.5) * xx + xx * xx * (f(4.166664568298827e-2) + xx * tail)
        # sin(x + q pi/2): odd quarters swap sine and cosine, half turns change the sign.
        first, second = (cosine, sine) if q & 1 else (sine, cosine)
        sines[c] = -first if q & 2 else first
        cosines[c] = -second if (q + 1) & 2 else second


def read(
    path: str | Path,
    *,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    skeleton: str | int | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    tpose: bool | None = None,
    partial: bool = False,
    strict: bool = False,
) -> Motion:
    """Read one motion from a BVH file; see `motionloom.load` for the options."""
    repairs = started(path, up=up, fps=fps, strict=strict)
    path = repairs.path
    plain, nodes, table, frame_time = _parsed(path, repairs, fps, partial)
    nodes, table = _one_figure(nodes, table, skeleton, path)
    layout = plain or Layout(nodes)
    return _motion(layout, table, frame_time, path, repairs, unit, up, roles, tpose)


def _parsed(path: Path, repairs: Repairs, fps: float | None, partial: bool):
    """Return the layout of a plain file or None, the nodes, all rows, and the frame time."""
    text = split_bvh(file_bytes(path, "a BVH file"), path, repairs)
    plain = plain_layout(text.hierarchy)
    nodes = plain.nodes if plain else read_hierarchy(text.hierarchy, 1, path, repairs)
    columns = plain.channel_names if plain else channel_names(nodes)
    table = read_rows(text, columns or ["nothing"], path, repairs, partial=partial)
    return plain, nodes, table, _frame_time(text, fps, path, repairs)


def takes(path: str | Path) -> list[FileTake]:
    """List the figures of a BVH file."""
    path = Path(path)
    repairs = started(path, up=None, fps=None, strict=False)
    text = split_bvh(file_bytes(path, "a BVH file"), path, repairs)
    return _takes(read_hierarchy(text.hierarchy, 1, path, repairs), path)


def _takes(nodes, path: Path) -> list[FileTake]:
    roots = [index for index, node in enumerate(nodes) if node.kind == "root"]
    check_takes(len(roots), path)
    names = [nodes[index].name for index in roots]
    listed = [
        FileTake(skeleton=which, joints=sum(node.kind != "end" for node in nodes[first:last]))
        for which, first, last in zip(choices(names), roots, [*roots[1:], len(nodes)], strict=True)
    ]
    return named_takes(listed, [""] * len(roots), names)


def read_takes(
    path: str | Path,
    *,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    tpose: bool | None = None,
    partial: bool = False,
    strict: bool = False,
) -> Iterator[tuple[FileTake, Motion | MotionFormatError]]:
    """Read all figures of a BVH file, which is parsed once."""
    repairs = started(path, up=up, fps=fps, strict=strict)
    path = repairs.path
    plain, nodes, table, frame_time = _parsed(path, repairs, fps, partial)
    rest = (unit, up, roles, tpose)
    if plain or sum(node.kind == "root" for node in nodes) < 2:
        layout = plain or Layout(nodes)
        yield FileTake(), _motion(layout, table, frame_time, path, repairs, *rest)
        return
    for take in _takes(nodes, path):
        own = copy.deepcopy(repairs)
        try:
            part, rows = _one_figure(nodes, table, take.skeleton, path)
            yield take, _motion(Layout(part), rows, frame_time, path, own, *rest)
        except MotionFormatError as error:
            yield take, error


def _motion(layout, table, frame_time, path, repairs, unit, up, roles, tpose) -> Motion:
    figure = Figure(layout, table, path, repairs)
    skeleton = figure.skeleton()
    if len(skeleton) * len(table) > max(_ROOM, _GROWTH * path.stat().st_size):
        raise MotionFormatError(
            f"almost none of the {len(skeleton)} joints have channels, which is too few for "
            f"{len(table)} frames",
            path=path,
        )
    skeleton = with_user_roles(skeleton, roles)
    warnings = list(figure.warnings)
    motion = Motion(
        skeleton, figure.rotations(), figure.root, 1.0 / frame_time, path.stem, figure.moved
    )
    if up is None:
        up, warning = infer_up(motion)
        warnings += [warning] if warning else []
    motion = to_y_up(motion, up)
    is_tpose = is_tpose_frame(motion) if tpose is None else tpose
    if is_tpose and len(motion) > 1:
        rest = motion.rotations[0].astype(np.float64)
        motion = replace(motion[1:], skeleton=replace(motion.skeleton, rest=rest))
    scale = infer_unit(motion.skeleton) if unit is None else Unit(unit_from(unit), "given")
    warnings += [scale.warning] if scale.warning else []
    origin = replace(
        repairs.origin("bvh", scale, up=up, frame_time=frame_time, warnings=warnings),
        tpose_frame=0 if is_tpose else None,
        euler_order=layout.order,
    )
    return scaled_to_meters(motion, scale.meters, fps=nominal_rate(1.0 / frame_time), origin=origin)


def _one_figure(nodes, table, root, path):
    """Select the nodes and columns of one ROOT if a file has several."""
    roots = [index for index, node in enumerate(nodes) if node.kind == "root"]
    names = [nodes[index].name for index in roots]
    shown = ", ".join(map(repr, names[:20]))
    if root is None and len(roots) > 1:
        raise MotionFormatError(
            f"the file contains {len(roots)} figures, with roots {shown}; "
            f"choose one with the option skeleton",
            path=path,
            line=nodes[roots[1]].line,
        )
    number = names.index(root) if root in names else 0
    if root is not None and root not in names:
        number = int(root) if str(root).isdecimal() else -1
        if not 0 <= number < len(roots):
            raise MotionFormatError(
                f"no ROOT is called {root!r}. Roots in the file: {shown}", path=path
            )
    if len(roots) == 1:
        return nodes, table
    first = roots[number]
    last = min([index for index in roots if index > first], default=len(nodes))
    skipped = sum(len(node.channels) for node in nodes[:first])
    width = sum(len(node.channels) for node in nodes[first:last])
    chosen = [
        replace(node, parent=node.parent - first if node.parent >= 0 else -1)
        for node in nodes[first:last]
    ]
    return chosen, table[:, skipped : skipped + width]


def _frame_time(text: BvhText, fps: float | None, path, repairs) -> float:
    if fps is not None:
        return 1.0 / float(fps)
    word = text.frame_time
    if word is None:
        raise MotionFormatError(
            "Frame Time is missing; set the rate with fps",
            path=path,
            line=text.frame_time_line,
        )
    number = word
    if "," in word and "." not in word:
        repairs.add("decimal commas were read as decimal points", line=text.frame_time_line)
        number = word.replace(",", ".")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not 1.0 / FASTEST <= value <= 1.0 / SLOWEST:
        raise MotionFormatError(
            f"Frame Time must be seconds per frame, at most {1.0 / SLOWEST:g}; found "
            f"{word[:40]!r}. If the file means milliseconds or frames per second, set the rate "
            f"with fps",
            path=path,
            line=text.frame_time_line,
        )
    return value
