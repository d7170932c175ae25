"""BVH, as found in the wild.

Reading repairs what has one sensible reading and records each repair; it refuses, with
file and line, what has none. Position channels replace OFFSET, on every joint, as in
Blender. Writing uses the dialect all readers agree on: root OFFSET zero, root with six
channels, positions first, every other joint three rotations in one order, End Site on
every leaf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.bvh_hierarchy import Node, read_hierarchy
from motionloom.formats.bvh_rows import read_rows
from motionloom.formats.bvh_text import BvhText, split_bvh
from motionloom.formats.bvh_writer import write
from motionloom.formats.frame_rate import nominal_rate
from motionloom.formats.posture import UP_AXES, infer_up, is_tpose_frame, turn_upright
from motionloom.formats.repairs import Repairs
from motionloom.formats.units import Unit, infer_unit, unit_from
from motionloom.motion import Motion, Origin, Skeleton, rotations as rot

__all__ = ["read", "write"]


def read(
    path: str | Path,
    *,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    root: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    tpose: bool | None = None,
    partial: bool = False,
    strict: bool = False,
) -> Motion:
    """Read one motion from a BVH file.

    Parameters
    ----------
    path : str or Path
    unit : str or float, optional
        ``"m"``, ``"cm"``, ``"mm"``, ``"inch"``, ``"foot"``, ``"cmu"``, or metres per
        unit. Default: inferred from the size of the skeleton.
    fps : float, optional
        Overrules the file's Frame Time.
    up : {"y", "z", "x", "-y", "-z", "-x"}, optional
        Up axis of the file. Default: inferred; y unless rest pose and motion both say
        otherwise.
    root : str, optional
        Which ROOT to read, where a file holds several figures.
    roles : mapping or path of a mapping file, optional
        Role to joint name, on top of what the names tell.
    tpose : bool, optional
        Whether frame 0 is a T-pose to be kept as the rest pose and not as motion.
        Default: recognised.
    partial : bool
        Read the whole rows of a file that was cut off, instead of refusing it.
    strict : bool
        Refuse everything off the specification.

    Returns
    -------
    motion : Motion
        T frames, J joints, metres, y up. ``motion.origin`` says what was inferred.

    Raises
    ------
    MotionFormatError
        With file and line, if the file has no one sensible reading.
    """
    path = Path(path)
    if up is not None and up not in UP_AXES:
        raise InvalidInput(f"up must be one of {', '.join(UP_AXES)}; got {up!r}")
    if path.is_dir():
        raise MotionFormatError("this is a folder, not a BVH file", path=path)
    repairs = Repairs(path, strict=strict)
    text = split_bvh(path.read_bytes(), path, repairs)
    nodes = read_hierarchy(text.hierarchy, 1, path, repairs)
    table = read_rows(text, _column_names(nodes), path, repairs, partial=partial)
    frame_time = _frame_time(text, fps, path, repairs)
    nodes, table = _one_figure(nodes, table, root, path)
    return _motion(nodes, table, frame_time, path, repairs, unit, up, roles, tpose)


# --- from nodes and table to a motion ----------------------------------------------------


def _motion(nodes, table, frame_time, path, repairs, unit, up, roles, tpose) -> Motion:
    figure = _Figure(nodes, table, path, repairs)
    skeleton = figure.skeleton()
    if roles is not None:
        skeleton = _with_roles(skeleton, roles)
    warnings = list(figure.warnings)
    motion = Motion(
        skeleton, figure.rotations(), figure.root, 1.0 / frame_time, path.stem, figure.moved
    )
    if up is None:
        up, doubt = infer_up(motion)
        warnings += [doubt] if doubt else []
    motion = _upright(motion, up)
    is_tpose = is_tpose_frame(motion) if tpose is None else tpose
    if is_tpose and len(motion) > 1:
        rest = motion.rotations[0].astype(np.float64)
        motion = replace(motion[1:], skeleton=replace(motion.skeleton, rest=rest))
    scale = infer_unit(motion.skeleton) if unit is None else Unit(unit_from(unit), "given")
    warnings += [scale.warning] if scale.warning else []
    warnings += _doubts(table, figure.order, frame_time)
    origin = Origin(
        path=str(path),
        format="bvh",
        unit_m=scale.metres,
        unit_reason=scale.reason,
        up=up,
        frame_time=frame_time,
        tpose_frame=0 if is_tpose else None,
        euler_order=figure.order,
        repairs=repairs.sentences(),
        warnings=tuple(warnings),
    )
    return replace(
        motion,
        skeleton=motion.skeleton.scaled(scale.metres),
        root=motion.root * scale.metres,
        translations=None if motion.translations is None else motion.translations * scale.metres,
        fps=nominal_rate(1.0 / frame_time),
        origin=origin,
    )


class _Figure:
    """One tree of nodes with its columns of the table, in file units."""

    def __init__(self, nodes: list[Node], table: NDArray[np.float64], path, repairs) -> None:
        self.path, self.repairs, self.table = path, repairs, table
        self.warnings: list[str] = []
        self.joints = [index for index, node in enumerate(nodes) if node.kind != "end"]
        self.ends = [index for index, node in enumerate(nodes) if node.kind == "end"]
        self.nodes = nodes
        number = {index: joint for joint, index in enumerate(self.joints)}
        self.parents = [number.get(nodes[index].parent, -1) for index in self.joints]
        self.end_parents = [number[nodes[index].parent] for index in self.ends]
        self.offsets = np.array([nodes[index].offset for index in self.joints], dtype=np.float64)
        self.columns: list[dict[str, int]] = []
        self.turns: list[list[tuple[int, int]]] = []  # per joint: (column, axis), left to right
        column = 0
        for index in self.joints:
            names = nodes[index].channels
            self.columns.append({name: column + k for k, name in enumerate(names)})
            self.turns.append(
                [(column + k, "XYZ".index(n[0])) for k, n in enumerate(names) if "rot" in n]
            )
            column += len(names)
        orders = {"".join("XYZ"[axis] for _, axis in turns) for turns in self.turns if turns}
        self.order = orders.pop() if len(orders) == 1 else None
        if self.order is not None and len(set(self.order)) != 3:
            self.order = None
        self._refuse_scales()
        self.root = self._positions(0).astype(np.float32)
        self.moved = self._translations()

    def skeleton(self) -> Skeleton:
        names, end_names = self._names()
        end_offsets = np.array([self.nodes[i].offset for i in self.ends]).reshape(-1, 3)
        offsets = self.offsets.copy()
        offsets[0] = 0.0  # the root's place is the motion's root path
        return Skeleton(names, self.parents, offsets, end_names, self.end_parents, end_offsets)

    def rotations(self) -> NDArray[np.float32]:
        joints = len(self.joints)
        columns, axes = np.full((joints, 3), -1), np.zeros((joints, 3), np.int64)
        for joint, turns in enumerate(self.turns):
            for place, (column, axis) in enumerate(turns):
                columns[joint, place], axes[joint, place] = column, axis
        half = self.table * (np.pi / 360.0)
        if np.abs(self.table).max(initial=0.0) > 720.0:
            half = np.remainder(half, 2.0 * np.pi)  # single precision follows: keep it small
        half = half.astype(np.float32)  # sines in single precision are vectorised, 10 times faster
        out = np.empty((len(self.table), joints, 4), np.float32)
        _compose(np.cos(half), np.sin(half), columns, axes, out)
        return out

    def _names(self) -> tuple[list[str], list[str]]:
        """Unique names for joints and end sites; a repeated joint name gets a number."""
        taken: set[str] = set()
        joint_names = []
        for index in self.joints:
            node = self.nodes[index]
            name = _free_name(node.name, taken)
            if name != node.name:
                self.repairs.add(
                    f"a second joint called {node.name!r}, renamed {name!r}", line=node.line
                )
            taken.add(name)
            joint_names.append(name)
        end_names = []
        for parent, index in zip(self.end_parents, self.ends, strict=True):
            name = self.nodes[index].name or f"{joint_names[parent]}_End"
            end_names.append(_free_name(name, taken))
            taken.add(end_names[-1])
        leaves = set(range(len(self.joints))) - set(self.parents) - set(self.end_parents)
        for joint in sorted(leaves):
            node = self.nodes[self.joints[joint]]
            self.repairs.add(f"{node.name!r} ends without an End Site", line=node.line)
        return joint_names, end_names

    def _positions(self, joint: int) -> NDArray[np.float64]:
        """Place of a joint in its parent's frame in every frame, shape (T, 3)."""
        place = np.tile(self.offsets[joint], (len(self.table), 1))
        for axis, letter in enumerate("XYZ"):
            column = self.columns[joint].get(f"{letter}position")
            if column is not None:
                place[:, axis] = self.table[:, column]
        return place

    def _translations(self) -> NDArray[np.float64] | None:
        """Where position channels below the root say something: new offsets, or (T, J, 3)."""
        moving = [
            joint
            for joint in range(1, len(self.joints))
            if any("position" in name for name in self.columns[joint])
        ]
        if not moving:
            return None
        places = {joint: self._positions(joint) for joint in moving}
        told = np.abs(self.offsets[moving]).sum()
        if told > 0.0 and all(not place.any() for place in places.values()):
            self.repairs.add(
                "position channels below the root are all zero though the OFFSETs are not: "
                "read as additions to OFFSET"
            )
            return None
        size = max(float(np.abs(p[0]).max()) for p in places.values()) or 1.0
        steady = {j: float(np.ptp(p, axis=0).max()) < 1e-4 * size for j, p in places.items()}
        differ = [
            joint
            for joint in moving
            if np.abs(places[joint][0] - self.offsets[joint]).max() > 1e-3 * size
        ]
        if differ:
            name = self.nodes[self.joints[differ[0]]].name
            self.warnings.append(
                f"position channels replace the OFFSET of {len(differ)} joints, {name!r} "
                "the first: they differ"
            )
        for joint in moving:
            self.offsets[joint] = np.median(places[joint], axis=0)
        if all(steady.values()):
            return None
        travellers = [self.nodes[self.joints[j]].name for j in moving if not steady[j]]
        if self.parents[self.joints.index(self.joints[0])] == -1 and not np.ptp(self.root, axis=0).any():
            self.warnings.append(f"the root stands still; {travellers[0]!r} carries the motion")
        else:
            self.warnings.append(
                f"bones change length: {len(travellers)} joints, {travellers[0]!r} the first"
            )
        moved = np.tile(self.offsets, (len(self.table), 1, 1))
        for joint in moving:
            moved[:, joint] = places[joint]
        moved[:, 0] = 0.0
        return moved

    def _refuse_scales(self) -> None:
        for joint, columns in enumerate(self.columns):
            scales = [column for name, column in columns.items() if name.endswith("scale")]
            if not scales:
                continue
            node = self.nodes[self.joints[joint]]
            if np.abs(self.table[:, scales] - 1.0).max() > 1e-3:
                raise MotionFormatError(
                    f"{node.name!r} changes its scale; motionloom has no such thing. Bake the "
                    "scale in the program that wrote the file",
                    path=self.path,
                    line=node.line,
                )
            self.repairs.add("scale channels, all 1, ignored", line=node.line)


@njit(cache=True, nogil=True)
def _compose(cosines, sines, columns, axes, out):
    """Products of up to three turns about axes; half angles in, quaternions (T, J, 4) out."""
    for t in range(out.shape[0]):
        for j in range(out.shape[1]):
            w, x, y, z = np.float32(1.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for k in range(3):
                column = columns[j, k]
                if column < 0:
                    break
                c, s = cosines[t, column], sines[t, column]
                if axes[j, k] == 0:
                    w, x, y, z = w * c - x * s, x * c + w * s, y * c + z * s, z * c - y * s
                elif axes[j, k] == 1:
                    w, x, y, z = w * c - y * s, x * c - z * s, y * c + w * s, z * c + x * s
                else:
                    w, x, y, z = w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s
            out[t, j, 0], out[t, j, 1], out[t, j, 2], out[t, j, 3] = w, x, y, z


# --- small decisions ----------------------------------------------------------------------


def _one_figure(nodes, table, root, path):
    """The nodes and columns of one ROOT, when a file holds several."""
    roots = [index for index, node in enumerate(nodes) if node.kind == "root"]
    names = [nodes[index].name for index in roots]
    if root is None and len(roots) > 1:
        raise MotionFormatError(
            f"the file holds {len(roots)} figures, with roots {', '.join(map(repr, names))}; "
            "say which with root=",
            path=path,
            line=nodes[roots[1]].line,
        )
    if root is not None and root not in names:
        raise MotionFormatError(
            f"no ROOT is called {root!r}; there is {', '.join(map(repr, names))}", path=path
        )
    if len(roots) == 1:
        return nodes, table
    first = roots[names.index(root)]
    last = min([index for index in roots if index > first], default=len(nodes))
    skipped = sum(len(node.channels) for node in nodes[:first])
    width = sum(len(node.channels) for node in nodes[first:last])
    chosen = [
        replace(node, parent=node.parent - first if node.parent >= 0 else -1)
        for node in nodes[first:last]
    ]
    return chosen, table[:, skipped : skipped + width]


def _column_names(nodes: list[Node]) -> list[str]:
    names = [f"{channel} of {node.name}" for node in nodes for channel in node.channels]
    return names or ["nothing"]


def _frame_time(text: BvhText, fps: float | None, path, repairs) -> float:
    if fps is not None:
        if not (np.isfinite(fps) and fps > 0.0):
            raise InvalidInput(f"fps must be positive; got {fps}")
        return 1.0 / float(fps)
    word = text.frame_time
    if word is None:
        raise MotionFormatError(
            "Frame Time is missing; give the rate with fps=", path=path, line=text.frame_time_line
        )
    number = word
    if "," in word and "." not in word:
        repairs.add("decimal commas read as points", line=text.frame_time_line)
        number = word.replace(",", ".")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not (1e-5 <= value <= 1e5):
        raise MotionFormatError(
            f"Frame Time must be seconds per frame, found {word[:40]!r}; give the rate with fps=",
            path=path,
            line=text.frame_time_line,
        )
    return value


def _doubts(table: NDArray[np.float64], order: str | None, frame_time: float) -> list[str]:
    doubts = []
    if frame_time >= 1.0:
        doubts.append(
            f"Frame Time is {frame_time:g} s: if these are milliseconds or frames per second, "
            "give the rate with fps="
        )
    return doubts


def _upright(motion: Motion, up: str) -> Motion:
    """The same motion with +Y up; the rest pose turns with it."""
    if up == "y":
        return motion
    turn = turn_upright(up)
    # Turning every offset and conjugating every rotation keeps all local frames upright, so
    # that the rest pose of the turned skeleton stands, too.
    conjugate = lambda q: rot.multiply(rot.multiply(turn, q), rot.inverse(turn))  # noqa: E731
    skeleton = motion.skeleton
    moved = motion.translations
    return replace(
        motion,
        skeleton=replace(
            skeleton,
            offsets=rot.rotate(turn, skeleton.offsets),
            end_offsets=rot.rotate(turn, skeleton.end_offsets),
        ),
        rotations=conjugate(motion.rotations.astype(np.float64)),
        root=rot.rotate(turn, motion.root.astype(np.float64)),
        translations=None if moved is None else rot.rotate(turn, moved.astype(np.float64)),
    )


def _with_roles(skeleton: Skeleton, roles: str | Path | Mapping[str, str]) -> Skeleton:
    from motionloom.motion.roles import load_role_map

    return skeleton.with_roles(roles if isinstance(roles, Mapping) else load_role_map(roles))


def _free_name(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
