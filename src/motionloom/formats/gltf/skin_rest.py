"""The rest pose of a glTF skeleton according to its skin.

The nodes of a file may be in any pose, often the first frame of an animation. The inverse bind
matrices say in which pose the mesh was modeled, and a viewer moves the vertices relative to it.
Where both disagree, the skin is right.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.formats.gltf.container import GltfFile
from motionloom.formats.gltf.joint_tree import JointTree
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_AGREE = np.radians(5.0)  # smaller differences are rounding and scaling
_SHEAR = 0.02  # matrices that are not rotations within this are ignored


def rest_of_skin(
    file: GltfFile, tree: JointTree, skin: dict[str, Any] | None, nodes: Array
) -> Array | None:
    """Return the local rest rotations (J, 4) of a skin, or None if the nodes agree with it.

    Parameters
    ----------
    file : GltfFile
        File that contains the skin.
    tree : JointTree
        The J joints.
    skin : dict or None
        The skin; without one, or without bind matrices, the nodes are right.
    nodes : ndarray, shape (J, 4)
        World rotations of the joints according to the nodes.
    """
    if skin is None or "inverseBindMatrices" not in skin or _is_ours(file):
        return None
    binds = file.accessor(skin["inverseBindMatrices"], "MAT4")
    place = {node: joint for joint, node in enumerate(tree.joints)}
    world: dict[int, Array] = {}
    for node, columns in zip(skin["joints"], binds, strict=False):
        turn = _rotation(columns.reshape(4, 4).T[:3, :3])
        if node in place and turn is not None:
            world.setdefault(place[node], rot.inverse(turn))
    if not world:
        return None
    joints = np.array(sorted(world))
    bound = np.array([world[joint] for joint in joints])
    # Meshes are modeled in axes of their own, often rotated by right angles.
    options = np.concatenate([_RIGHT_ANGLES, rot.multiply(nodes[joints], rot.inverse(bound))[:1]])
    apart = np.array(
        [np.median(_angles(nodes[joints], rot.multiply(option, bound))) for option in options]
    )
    axes = options[int(np.argmin(apart))]
    if _angles(nodes[joints], rot.multiply(axes, bound)).max() < _AGREE:
        return None
    return _local(tree, nodes, dict(zip(joints.tolist(), rot.multiply(axes, bound), strict=True)))


def _local(tree: JointTree, nodes: Array, world: dict[int, Array]) -> Array:
    """Return local rotations; joints that are not in `world` keep their rotation to the parent."""
    local = np.empty((len(tree.joints), 4))
    turns = np.empty_like(local)
    for joint, parent in enumerate(tree.parents):
        above = rot.IDENTITY if parent < 0 else turns[parent]
        before = rot.IDENTITY if parent < 0 else nodes[parent]
        own = rot.multiply(rot.inverse(before), nodes[joint])
        turns[joint] = world[joint] if joint in world else rot.multiply(above, own)
        local[joint] = rot.multiply(rot.inverse(above), turns[joint])
    return rot.normalize(local)


def _rotation(matrix: Array) -> Array | None:
    """Return the rotation of a matrix that rotates and scales, or None for any other matrix."""
    scales = np.linalg.norm(matrix, axis=0)
    if not np.all(np.isfinite(matrix)) or np.any(scales < 1e-9) or np.linalg.det(matrix) <= 0.0:
        return None
    plain = matrix / scales
    if np.abs(plain.T @ plain - np.eye(3)).max() > _SHEAR:
        return None
    return rot.from_matrix(plain)


def _angles(a: Array, b: Array) -> Array:
    cosines = np.clip(np.abs(np.sum(a * b, axis=-1)), 0.0, 1.0)
    return 2.0 * np.arccos(cosines)


def _is_ours(file: GltfFile) -> bool:
    asset = file.document.get("asset")
    return isinstance(asset, dict) and str(asset.get("generator", "")).startswith("motionloom")


def _right_angles() -> Array:
    """Return the 24 rotations between axes, shape (24, 4)."""
    turns = []
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[range(3), order] = signs
            if np.linalg.det(matrix) > 0:
                turns.append(rot.from_matrix(matrix))
    return np.array(turns)


_RIGHT_ANGLES = _right_angles()
