"""Layout of a BVH file: the tree, columns and skeleton that its hierarchy defines.

All takes of a performer usually have the same hierarchy. The most recent layouts are cached with
their skeletons and roles, so that motions of one performer share them.

Programs write nearly every file in a regular form. This module parses a regular hierarchy block by
block with one regular expression, ten times faster than word by word. All other hierarchies are
handled by `motionloom.formats.bvh.hierarchy`, which repairs or reports irregularities.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from motionloom.formats.bvh.hierarchy import MAX_JOINTS, MAX_NAME, BvhNode
from motionloom.formats.conventions import unique_names
from motionloom.motion import Skeleton

_NUMBER = r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_OFFSET = rf"\s*\{{\s*OFFSET\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}"
_HEAD = re.compile(r"\s*HIERARCHY(?=\s)")
_BLOCK = re.compile(
    rf"\s*(?:(ROOT|JOINT)[ \t]+([^\s{{}}]{{1,{MAX_NAME}}}){_OFFSET}"
    r"\s+CHANNELS\s+([0-9])((?:\s+[XYZ](?:position|rotation)){1,6})(?=\s)"
    rf"|(End)[ \t]+Site{_OFFSET}\s*\}}|\}})"
)


def plain_nodes(text: str, first_line: int) -> list[BvhNode] | None:
    r"""Return the nodes of a hierarchy in regular form, or None for any other form.

    Parameters
    ----------
    text : str
        Everything before the word MOTION, with ``\n`` as line end.
    first_line : int
        Line number in the file of the first line of the text.

    Examples
    --------
    >>> head = '''HIERARCHY
    ... ROOT Hips
    ... {
    ...   OFFSET 0 0 0
    ...   CHANNELS 3 Zrotation Xrotation Yrotation
    ... }
    ... '''
    >>> plain_nodes(head, 1)[0].channels
    ['Zrotation', 'Xrotation', 'Yrotation']
    >>> plain_nodes(head.replace("ROOT", "Root"), 1) is None
    True
    """
    match = _HEAD.match(text)
    if match is None:
        return None
    nodes: list[BvhNode] = []
    open_nodes: list[int] = []  # nodes whose brace is open, outermost first
    counted, line, tail = 0, first_line, 0
    while match := _BLOCK.match(text, match.end()):
        keyword, name, x, y, z, count, listed, end, *tip = match.groups()
        if not (keyword or end):
            if not open_nodes:
                return None
            open_nodes.pop()
            continue
        # The first block is the only ROOT, and all other blocks are within its braces.
        if (keyword == "ROOT") == bool(nodes) or bool(nodes) != bool(open_nodes):
            return None
        start, tail = match.start(1 if keyword else 8), match.end()
        line += text.count("\n", counted, start)
        counted = start
        parent = open_nodes[-1] if nodes else -1
        if keyword:
            channels = listed.split()
            if len(channels) != int(count) or len(set(channels)) != len(channels):
                return None
            place = (float(x), float(y), float(z))
            kind = "joint" if nodes else "root"
            open_nodes.append(len(nodes))
            nodes.append(BvhNode(kind, name, parent, line, place, channels, True))
        else:
            place = (float(tip[0]), float(tip[1]), float(tip[2]))
            nodes.append(BvhNode("end", "", parent, line, place))
        if not max(map(abs, place)) < 1e9:
            return None
    if open_nodes or not 0 < len(nodes) <= MAX_JOINTS:
        return None
    return nodes if _only_closes(text, tail) else None


def _only_closes(text: str, start: int) -> bool:
    """Return whether only closing braces follow the last block."""
    return not text[start:].replace("}", "").strip()


_KEPT = 64  # number of cached layouts, of about 50 kB each


@lru_cache(maxsize=_KEPT)
def plain_layout(hierarchy: str) -> Layout | None:
    """Return the layout of a hierarchy in regular form, or None for any other form."""
    nodes = plain_nodes(hierarchy, 1)
    return None if nodes is None else Layout(nodes)


class _Channels(NamedTuple):
    """Places of the channels of one joint: rotations with their axes, positions and scales."""

    rotations: list[int]
    axes: list[int]
    order: str
    positions: bool
    scales: list[int]


@lru_cache(maxsize=_KEPT)
def _channels(names: tuple[str, ...]) -> _Channels:
    """Return the places of channels. Nearly all joints of a file have the same ones."""
    rotations = [k for k, name in enumerate(names) if "rot" in name]
    order = "".join(names[k][0] for k in rotations)
    return _Channels(
        rotations,
        ["XYZ".index(letter) for letter in order],
        order,
        any("position" in name for name in names),
        [k for k, name in enumerate(names) if name.endswith("scale")],
    )


class Layout:
    """A figure's tree and the columns of its channel table. Layouts are immutable.

    Attributes
    ----------
    joints, ends : list of int
        Indices of joints and end sites among the nodes.
    parents, end_parents : list of int
        Parent joint of each joint or end site; -1 for the root.
    offsets, end_offsets : ndarray, shapes (J, 3), (E, 3)
        OFFSET of each joint or end site, in file units.
    columns : list of dict, length J
        Table column of each channel of a joint, by channel name.
    rotation_columns, rotation_axes : ndarray of int, shape (J, 3)
        Table column and axis of each rotation of a joint, from left to right. Unused columns are
        -1.
    order : str or None
        Euler order, if all joints share one.
    moving : list of int
        Joints below the root that have position channels.
    scales : list of (int, list of int)
        Joints that have scale channels, with the columns of these channels.
    channel_names : list of str, length C
        Description of each column, for messages.
    """

    def __init__(self, nodes: Sequence[BvhNode]) -> None:
        self.nodes = nodes
        self.joints = [index for index, node in enumerate(nodes) if node.kind != "end"]
        self.ends = [index for index, node in enumerate(nodes) if node.kind == "end"]
        number = {index: joint for joint, index in enumerate(self.joints)}
        self.parents = [number.get(nodes[index].parent, -1) for index in self.joints]
        self.end_parents = [number[nodes[index].parent] for index in self.ends]
        self.offsets = _places(nodes, self.joints)
        self.end_offsets = _places(nodes, self.ends)
        self.channel_names = channel_names(nodes)
        self.columns: list[dict[str, int]] = []
        self.rotation_columns = np.full((len(self.joints), 3), -1)
        self.rotation_axes = np.zeros((len(self.joints), 3), np.int64)
        self.moving: list[int] = []
        self.scales: list[tuple[int, list[int]]] = []
        orders = set()
        column = 0
        for joint, index in enumerate(self.joints):
            names = nodes[index].channels
            kind = _channels(tuple(names))
            self.columns.append({name: column + k for k, name in enumerate(names)})
            count = len(kind.rotations)
            if count:
                self.rotation_columns[joint, :count] = [column + k for k in kind.rotations]
                self.rotation_axes[joint, :count] = kind.axes
                orders.add(kind.order)
            if joint and kind.positions:
                self.moving.append(joint)
            if kind.scales:
                self.scales.append((joint, [column + k for k in kind.scales]))
            column += len(names)
        order = orders.pop() if len(orders) == 1 else ""
        self.order = order if len(set(order)) == 3 else None

    @cached_property
    def names(self) -> tuple[list[str], list[str], list[tuple[str, int]]]:
        """Return unique names for joints and end sites, and the repairs with their line numbers."""
        nodes = [self.nodes[index] for index in self.joints]
        joint_names = unique_names(node.name for node in nodes)
        repairs = [
            (f"the duplicate joint {node.name!r} was renamed {name!r}", node.line)
            for node, name in zip(nodes, joint_names, strict=True)
            if name != node.name
        ]
        ends = zip(self.end_parents, self.ends, strict=True)
        wanted = [self.nodes[end].name or f"{joint_names[parent]}_End" for parent, end in ends]
        end_names = unique_names(wanted, taken=joint_names)
        leaves = set(range(len(self.joints))) - set(self.parents) - set(self.end_parents)
        repairs += [
            (f"{nodes[joint].name!r} ends without an End Site", nodes[joint].line)
            for joint in sorted(leaves)
        ]
        return joint_names, end_names, repairs

    @cached_property
    def skeleton(self) -> Skeleton:
        """Return the skeleton with the OFFSETs of the file, in file units."""
        return self.skeleton_with(self.offsets)

    def skeleton_with(self, offsets: np.ndarray) -> Skeleton:
        """Return the skeleton with other offsets (J, 3), in file units."""
        names, end_names, _ = self.names
        offsets = offsets.copy()
        offsets[0] = 0.0  # the root path contains the position of the root
        return Skeleton(
            tuple(names),
            np.array(self.parents),
            offsets,
            tuple(end_names),
            np.array(self.end_parents, np.int32),
            self.end_offsets,
        )


def channel_names(nodes: Sequence[BvhNode]) -> list[str]:
    """Describe each column for messages, as in ``"Zrotation of LeftArm"``."""
    return [f"{channel} of {node.name}" for node in nodes for channel in node.channels]


def _places(nodes: Sequence[BvhNode], chosen: list[int]) -> np.ndarray:
    return np.array([nodes[index].offset for index in chosen], dtype=np.float64).reshape(-1, 3)
