"""The nodes of a glTF file that are joints of a skeleton, and their hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.formats.conventions import Repairs
from motionloom.formats.gltf.container import GltfFile
from motionloom.formats.scene_nodes import uniform_scale
from motionloom.motion.rotations import quaternions as rot

_MOST_JOINTS = 10_000
_MOST_ROOTS = 100
_MOST_ABOVE = 1_000


@dataclass(frozen=True)
class JointTree:
    """Nodes of a glTF file that form a skeleton.

    Attributes
    ----------
    joints : list of int
        Nodes of the joints, parents first. The first is the root.
    parents : list of int
        Index in `joints` of each joint's parent; -1 for the root.
    above : list of int
        Nodes above the root, topmost first.
    ends : list of int
        Nodes that are end sites.
    """

    joints: list[int]
    parents: list[int]
    above: list[int]
    ends: list[int]
    end_parents: list[int]


@dataclass(frozen=True)
class NodeTransform:
    """Local translation (3,), rotation (4,) ``wxyz`` and scale of a node at rest."""

    translation: NDArray[np.float64]
    rotation: NDArray[np.float64]
    scale: float


def joint_tree(file: GltfFile, members: list[int], moved: set[int]) -> JointTree:
    """Return the tree that contains all `members`. Nodes between them also become joints.

    Parameters
    ----------
    file : GltfFile
        File that contains the nodes.
    members : list of int
        Joints of a skin, or all animated nodes.
    moved : set of int
        Nodes with animation curves. They cannot be end sites.
    """
    nodes = file.items("nodes")
    parents = node_parents(file)
    chosen = set(members)
    depths = node_depths(file, parents)
    if len(chosen) > _MOST_JOINTS:
        file.refuse(f"the skeleton has {len(chosen)} joints; the limit is {_MOST_JOINTS}")
    tops = _topmost(chosen, parents, depths)
    root = tops[0] if len(tops) == 1 else _meeting(file, tops, parents, depths)
    inside = {root}
    for node in chosen:
        while node not in inside:  # go up to the root, or to a branch that was visited before
            inside.add(node)
            node = parents[node]
    if len(inside) > _MOST_JOINTS:
        file.refuse(f"the skeleton has {len(inside)} joints; the limit is {_MOST_JOINTS}")
    place = {node: number for number, node in enumerate(members)}
    order = sorted(inside, key=lambda node: (depths[node], place.get(node, -1)))
    if len(inside) == len(members) and all(
        node == root or place[parents[node]] < place[node] for node in members
    ):
        order = members  # parents already come first, so keep the order of the file
    has_children = {parents[node] for node in inside}
    ends = [
        node
        for node in order
        if node not in has_children and node not in moved and node != root and _is_end(nodes[node])
    ]
    tips = set(ends)
    joints = [node for node in order if node not in tips]
    number = {node: k for k, node in enumerate(joints)}
    if depths[root] > _MOST_ABOVE:
        file.refuse(f"the root has {depths[root]} nodes above it; the limit is {_MOST_ABOVE}")
    above: list[int] = []
    node = parents[root]
    while node >= 0:
        above.append(node)
        node = parents[node]
    return JointTree(
        joints,
        [-1, *(number[parents[node]] for node in joints[1:])],
        above[::-1],
        ends,
        [number[parents[node]] for node in ends],
    )


def node_transform(file: GltfFile, index: int, repairs: Repairs) -> NodeTransform:
    """Return the local transform of a node, from its components or its matrix."""
    node = file.item("nodes", index)
    if "matrix" in node:
        columns = file.numbers(node["matrix"], 16, "matrix").reshape(4, 4)
        matrix, translation = columns[:3, :3].T, columns[3, :3]
        scales = np.linalg.norm(matrix, axis=0)
        if np.any(scales < 1e-9) or np.linalg.det(matrix) < 0.0:
            file.refuse(f"node {index} is mirrored or flattened by its matrix")
        rotation = rot.from_matrix(matrix / scales)
    else:
        translation = file.numbers(node.get("translation", [0, 0, 0]), 3, "translation")
        rotation = file.numbers(node.get("rotation", [0, 0, 0, 1]), 4, "rotation")[[3, 0, 1, 2]]
        scales = file.numbers(node.get("scale", [1, 1, 1]), 3, "scale")
        if np.linalg.norm(rotation) < 1e-6:
            file.refuse(f"the rotation of node {index} is the zero quaternion")
    scale = node_scale(file, scales[None], index, repairs)[0]
    return NodeTransform(translation, rot.normalize(rotation), float(scale))


def node_scale(
    file: GltfFile, scales: NDArray[np.float64], node: int, repairs: Repairs
) -> NDArray[np.float64]:
    """Return uniform scales (T,) from per-axis scales (T, 3). Raise an error for mirrored nodes."""
    if np.any(scales <= 1e-9):
        file.refuse(f"node {node} is mirrored or flattened by its scale")
    return uniform_scale(scales, repairs)


def skin_members(file: GltfFile, skin: dict[str, Any]) -> list[int]:
    """Return the nodes of a skin, without duplicates."""
    joints = skin.get("joints")
    nodes = file.items("nodes")
    if not isinstance(joints, list) or not joints:
        file.refuse("a skin must have at least one joint")
    members = [file.index("nodes", joint, len(nodes)) for joint in joints]
    return list(dict.fromkeys(members))


def _is_end(node: dict[str, Any]) -> bool:
    extras = node.get("extras")
    return isinstance(extras, dict) and extras.get("end_site") is True


def node_parents(file: GltfFile) -> list[int]:
    """Return the parent of each node, or -1. Raise an error if a node has two parents."""
    nodes = file.items("nodes")
    parents = [-1] * len(nodes)
    for index, node in enumerate(nodes):
        children = node.get("children", [])
        if not isinstance(children, list):
            file.refuse(f"the children of node {index} must be a list")
        for child in children:
            child = file.index("nodes", child, len(nodes))
            if parents[child] >= 0:
                file.refuse(f"node {child} has two parents")
            parents[child] = index
    return parents


def node_depths(file: GltfFile, parents: list[int]) -> list[int]:
    """Return the depth of each node in its tree. Raise an error for cycles."""
    depths = [-1] * len(parents)
    for start in range(len(parents)):
        path = []
        node = start
        while node >= 0 and depths[node] < 0:
            depths[node] = -2  # being visited
            path.append(node)
            node = parents[node]
            if node >= 0 and depths[node] == -2:
                file.refuse(f"node {node} is its own ancestor")
        depth = depths[node] if node >= 0 else -1
        for node in reversed(path):
            depth += 1
            depths[node] = depth
    return depths


def _topmost(chosen: set[int], parents: list[int], depths: list[int]) -> list[int]:
    """Return the chosen nodes without a chosen ancestor."""
    covered = [False] * len(parents)
    for node in sorted(
        range(len(parents)), key=depths.__getitem__
    ):  # visit nodes from the top down
        parent = parents[node]
        covered[node] = parent >= 0 and (covered[parent] or parent in chosen)
    return sorted(node for node in chosen if not covered[node])


def _meeting(file: GltfFile, tops: list[int], parents: list[int], depths: list[int]) -> int:
    """Return the nearest common ancestor of several roots."""
    if len(tops) > _MOST_ROOTS:
        file.refuse(f"the skeleton has {len(tops)} roots; it must have one")
    meet = tops[0]
    for other in tops[1:]:
        while meet != other and meet >= 0 and other >= 0:
            if depths[meet] >= depths[other]:
                meet = parents[meet]
            else:
                other = parents[other]
        if meet != other or meet < 0:
            file.refuse("the joints of the skeleton have no common root")
    return meet
