"""Characters in glTF files: reading meshes, and writing a character with a new animation.

Writing back to glTF preserves the whole file (meshes, materials, textures, morph targets,
extensions) and replaces its animations. To write other formats, the meshes are read with positions,
normals, texture coordinates, triangles, weights, and base color with its image.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character import Material, SkinnedMesh, bound_mesh
from motionloom.errors import InvalidInput
from motionloom.formats.conventions import Repairs
from motionloom.formats.gltf.container import GltfFile, write_document
from motionloom.formats.gltf.joint_tree import (
    joint_tree,
    node_depths,
    node_parents,
    node_transform,
    skin_members,
)
from motionloom.formats.gltf.reader import joint_names, read_curves
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_TRIANGLES = 4
_MOST_BINDS = 1_000_000  # bind matrices of all primitives, one per joint each
_ON_THE_FLOOR = 0.05  # meters: a bone above the hips that is this low is a root bone


def write(motion: Motion, source: str | Path, path: str | Path) -> None:
    """Write a copy of a character file in which a motion on its skeleton is the only animation."""
    file = GltfFile(Path(source))
    nodes = _nodes_by_name(file)
    missing = [name for name in motion.skeleton.names if name not in nodes]
    if missing:
        raise InvalidInput(
            f"the motion has joints that are missing in the character {source}: "
            f"{', '.join(missing[:5])}"
        )
    document, binary = _in_one_buffer(file)
    draft = _Animation(document, binary)
    times = (np.arange(len(motion)) / motion.fps)[:, None]
    clock = draft.accessor(times, "SCALAR")
    root = nodes[motion.skeleton.names[0]]
    world = _rest_world(file)
    parent = node_parents(file)[root]
    above = world[parent] if parent >= 0 else np.eye(4)
    size = np.cbrt(np.linalg.det(above[:3, :3]))
    if not size > 1e-9:
        file.refuse("the nodes above the skeleton mirror or flatten it")
    turn = rot.inverse(rot.from_matrix(above[:3, :3] / size))
    places = rot.rotate(turn, motion.root.astype(np.float64) - above[:3, 3]) / size
    rotations = motion.rotations.astype(np.float64)
    first = rot.multiply(turn, rotations[:, 0])
    draft.channel(root, "translation", clock, places, "VEC3")
    detached = _detached_joints(file, motion, nodes)
    for joint, name in enumerate(motion.skeleton.names):
        if joint in detached:
            turns, steps = detached[joint]
            draft.channel(nodes[name], "translation", clock, steps, "VEC3")
        else:
            turns = first if joint == 0 else rotations[:, joint]
        values = rot.unroll(turns)[:, [1, 2, 3, 0]]
        draft.channel(nodes[name], "rotation", clock, values, "VEC4")
        _as_components(document["nodes"][nodes[name]])
    document["animations"] = [{**draft.animation, "name": motion.name or "motion"}]
    for skin in document["skins"]:
        extras = skin.get("extras")
        skin["extras"] = {**(extras if isinstance(extras, dict) else {}), "fps": motion.fps}
    document["buffers"] = [{"byteLength": len(draft.binary)}]
    write_document(Path(path), document, bytes(draft.binary))


@dataclass(frozen=True, eq=False)
class RootPlacement:
    """Axes and scale of the nodes above the hips, which animations of a character depend on.

    Attributes
    ----------
    turn, place, size : ndarray (4,), ndarray (3,), float
        World rotation ``wxyz``, position and scale of the node above the root bone.
    bone_turn, bone_size : ndarray (4,), float
        World rotation and scale of the root bone at rest.
    """

    turn: Array
    place: Array
    size: float
    bone_turn: Array
    bone_size: float

    def turns(self, joint: int, rotations: Array) -> Array:
        """Convert rotations (T, 4) of a joint to the axes of the file."""
        if joint == 0:
            own = rot.multiply(rotations, self.bone_turn)
            return rot.multiply(rot.inverse(self.turn), own)
        return rot.multiply(rot.inverse(self.bone_turn), rotations) if joint == 1 else rotations

    def steps(self, joint: int, places: Array) -> Array:
        """Convert translations (T, 3) of a joint to the axes and unit of the file."""
        if joint == 0:
            return rot.rotate(rot.inverse(self.turn), places - self.place) / self.size
        moved = rot.rotate(rot.inverse(self.bone_turn), places) if joint == 1 else places
        return moved / self.bone_size


def with_root_bone(
    source: str | Path, motion: Motion
) -> tuple[dict[str, Any], bytearray, list[int], RootPlacement]:
    """Return a character file without animations, with a root bone on the floor above its hips.

    A bone of the character that is directly above the hips, on the floor, becomes the root bone.
    Otherwise, one is inserted.

    Parameters
    ----------
    source : str or Path
    motion : Motion
        Motion on the skeleton of the character, with the root bone as its first joint.

    Returns
    -------
    document, binary : dict, bytearray
    nodes : list of int
        Node of each joint of the motion.
    placement : RootPlacement
    """
    file = GltfFile(Path(source))
    nodes = _nodes_by_name(file)
    names = motion.skeleton.names
    missing = [name for name in names[1:] if name not in nodes]
    if missing:
        raise InvalidInput(
            f"the motion has joints that are missing in the character {source}: "
            f"{', '.join(missing[:5])}"
        )
    document, binary = _in_one_buffer(file)
    world, parents = _rest_world(file), node_parents(file)
    hips = nodes[names[1]]
    members = {n for skin in document["skins"] for n in skin["joints"]}
    root = parents[hips]
    low = root >= 0 and abs(world[root][1, 3]) < _ON_THE_FLOOR
    above = parents[root] if root in members and low else root
    base = world[above] if above >= 0 else np.eye(4)
    turn, size = _turn_and_size(file, base)
    if root in members and low:
        _as_components(document["nodes"][root])
        bone_turn, bone_size = _turn_and_size(file, world[root])
    else:
        root = _insert_root(file, document, binary, names[0], hips, base, world)
        bone_turn, bone_size = turn, size
    for name in names[1:]:
        _as_components(document["nodes"][nodes[name]])
    placement = RootPlacement(turn, base[:3, 3], size, bone_turn, bone_size)
    return document, binary, [root, *(nodes[name] for name in names[1:])], placement


def is_detached(source: str | Path, skeleton: Skeleton) -> bool:
    """Return whether joints of a skeleton have another parent in the file it was read from."""
    file = GltfFile(Path(source))
    nodes, parents = _nodes_by_name(file), node_parents(file)
    names = skeleton.names
    return any(
        parents[nodes[names[joint]]] != nodes[names[skeleton.parents[joint]]]
        for joint in range(1, len(names))
        if names[joint] in nodes and names[skeleton.parents[joint]] in nodes
    )


def _turn_and_size(file: GltfFile, matrix: Array) -> tuple[Array, float]:
    """Return the rotation and scale of a world matrix."""
    size = float(np.cbrt(np.linalg.det(matrix[:3, :3])))
    if not size > 1e-9:
        file.refuse("the nodes above the skeleton mirror or flatten it")
    return rot.from_matrix(matrix[:3, :3] / size), size


def _insert_root(
    file: GltfFile,
    document: dict[str, Any],
    binary: bytearray,
    name: str,
    hips: int,
    base: Array,
    world: Array,
) -> int:
    """Insert a bone at the origin between the hips and their parent, and return its node."""
    listed = document["nodes"]
    _as_components(listed[hips])
    place = np.linalg.inv(base) @ np.array([0.0, 0.0, 0.0, 1.0])
    number = len(listed)
    listed.append({"name": name, "translation": place[:3].tolist(), "children": [hips]})
    for owner in [*listed[:number], *document.get("scenes", [])]:
        key = "children" if "nodes" not in owner else "nodes"
        if hips in owner.get(key, []):
            owner[key] = [number if child == hips else child for child in owner[key]]
    own = listed[hips].get("translation", [0.0, 0.0, 0.0])
    listed[hips]["translation"] = (np.array(own, np.float64) - place[:3]).tolist()
    lifted = base.copy()
    lifted[:3, 3] = 0.0
    for skin in document["skins"]:
        if hips not in skin["joints"]:
            continue
        members = [file.index("nodes", n, number) for n in skin["joints"]]
        binds = _binds(file, skin, members)
        # The root bone keeps its place relative to the hips, also in the bind pose.
        inverse = np.linalg.inv(lifted) @ world[hips] @ binds[members.index(hips)]
        columns = np.swapaxes(np.concatenate([binds, inverse[None]]), 1, 2).reshape(-1, 16)
        skin["joints"] = [*members, number]
        skin["inverseBindMatrices"] = _Animation(document, binary).accessor(columns, "MAT4")
    return number


def _detached_joints(
    file: GltfFile, motion: Motion, nodes: dict[str, int]
) -> dict[int, tuple[Array, Array]]:
    """Return rotations and translations, in the file's axes, of joints with another parent there.

    These are feet that `motionloom.motion.kinematics.missing_feet` attached to the shins.
    """
    parents, names = node_parents(file), motion.skeleton.names
    joint_of = {nodes[name]: joint for joint, name in enumerate(names)}
    places = motion.positions().astype(np.float64)
    world, rest = motion.global_rotations().astype(np.float64), _rest_world(file)
    detached = {}
    for joint in range(1, len(names)):
        node = parents[nodes[names[joint]]]
        if node == nodes[names[motion.skeleton.parents[joint]]]:
            continue
        size = np.cbrt(np.linalg.det(rest[node, :3, :3])) if node >= 0 else 1.0
        place, turn = np.zeros(3), rot.IDENTITY
        if node in joint_of:
            place, turn = places[:, joint_of[node]], world[:, joint_of[node]]
        elif node >= 0:
            place, turn = rest[node, :3, 3], rot.from_matrix(rest[node, :3, :3] / size)
        back = rot.inverse(turn)
        step = rot.rotate(back, places[:, joint] - place) / size
        detached[joint] = (rot.multiply(back, world[:, joint]), step)
    return detached


def meshes(
    source: str | Path, skeleton: Skeleton, *, max_vertices: int | None = None
) -> list[SkinnedMesh]:
    """Return a character's skinned meshes, bound to a skeleton that was read from its file.

    If the skeleton lacks a joint of the skin, the nearest joint above it is used. A file with more
    than `max_vertices` vertices, or twelve times as many corners of triangles, is refused before
    its numbers are read.
    """
    file = GltfFile(Path(source))
    parts: list[tuple[dict[str, Any], dict[str, Any], str]] = []
    for number, node in enumerate(file.items("nodes")):
        if "skin" in node and "mesh" in node:
            skin, mesh = file.item("skins", node["skin"]), file.item("meshes", node["mesh"])
            name = str(node.get("name") or mesh.get("name") or f"mesh {number}")
            primitives = mesh.get("primitives", [])
            if not isinstance(primitives, list) or not all(map(_is_primitive, primitives)):
                file.refuse(f"the primitives of mesh {name[:40]!r} must be a list of objects")
            for part, primitive in enumerate(primitives):
                if _is_skinned(primitive):
                    title = name if part == 0 else f"{name} {part + 1}"
                    parts.append((skin, primitive, title))
    _check_sizes(file, [primitive for _, primitive, _ in parts], skeleton, max_vertices)
    skins = _Skins(file, skeleton)
    kept = [skins.mesh(skin, primitive, title) for skin, primitive, title in parts]
    if not kept:
        file.refuse("the character has no skinned mesh of triangles")
    return kept


def _is_skinned(primitive: dict[str, Any]) -> bool:
    """Return whether a primitive has triangles and weights."""
    needed = ("POSITION", "JOINTS_0", "WEIGHTS_0")
    plain = primitive.get("mode", _TRIANGLES) == _TRIANGLES
    return plain and all(key in primitive.get("attributes", {}) for key in needed)


def _check_sizes(
    file: GltfFile, primitives: list[dict[str, Any]], skeleton: Skeleton, most: int | None
) -> None:
    """Raise an error if all primitives together are too large; several may share their numbers."""
    joints = len(skeleton.point_names)
    if len(primitives) * joints > _MOST_BINDS:
        file.refuse(f"the character has too many meshes: {len(primitives)} for {joints} joints")
    if most is None:
        return
    vertices = corners = 0
    for primitive in primitives:
        own = file.item("accessors", primitive["attributes"]["POSITION"])
        vertices += file.size(own, "count", None)
        if "indices" in primitive:
            corners += file.size(file.item("accessors", primitive["indices"]), "count", None)
    if vertices > most or corners > 12 * most:
        file.refuse(
            f"a character may have at most {most:,} vertices; got {vertices:,} vertices and "
            f"{corners // 3:,} triangles"
        )


def _is_primitive(given: object) -> bool:
    if not isinstance(given, dict):
        return False
    return all(isinstance(given.get(key, {}), dict) for key in ("attributes", "extensions"))


def _nodes_by_name(file: GltfFile) -> dict[str, int]:
    """Return the joint nodes, keyed by the names that the reader gives them."""
    skins, animations = file.items("skins"), file.items("animations")
    if not skins:
        file.refuse("a character needs a skinned mesh, but the file has no skin")
    everything = set(range(len(file.items("nodes"))))
    curves = read_curves(file, animations[0], everything) if animations else {}
    tree = joint_tree(file, skin_members(file, skins[0]), {node for node, _ in curves})
    names, end_names = joint_names(file, tree, Repairs(file.path))
    return dict(zip([*names, *end_names], [*tree.joints, *tree.ends], strict=True))


def _rest_world(file: GltfFile) -> Array:
    """Return the world matrices (N, 4, 4) of all nodes at rest."""
    parents, repairs = node_parents(file), Repairs(file.path)
    depths = node_depths(file, parents)
    world = np.tile(np.eye(4), (len(parents), 1, 1))
    for node in sorted(range(len(parents)), key=depths.__getitem__):  # parents first
        local = np.eye(4)
        at = node_transform(file, node, repairs)
        local[:3, :3] = at.scale * rot.to_matrix(at.rotation)
        local[:3, 3] = at.translation
        world[node] = local if parents[node] < 0 else world[parents[node]] @ local
    return world


def _as_components(node: dict[str, Any]) -> None:
    """Replace the matrix of a node with components, because only components can be animated."""
    if "matrix" in node:
        columns = np.array(node.pop("matrix"), np.float64).reshape(4, 4)
        scales = np.linalg.norm(columns[:3, :3], axis=1)
        turn = rot.from_matrix((columns[:3, :3] / scales[:, None]).T)
        node["translation"] = columns[3, :3].tolist()
        node["rotation"] = turn[[1, 2, 3, 0]].tolist()
        node["scale"] = scales.tolist()


def _in_one_buffer(file: GltfFile) -> tuple[dict[str, Any], bytearray]:
    """Merge all buffers and images of the document into one buffer, and drop its animations."""
    import copy

    for kind in ("accessors", "bufferViews", "images"):
        file.items(kind)  # raises an error unless these are lists of objects
    document = copy.deepcopy(file.document)
    binary, starts = bytearray(), []
    for number in range(len(file.items("buffers"))):
        binary += b"\0" * (-len(binary) % 4)
        starts.append(len(binary))
        binary += file.buffer(number)
    for view in document.get("bufferViews", []):
        buffer = file.index("buffers", view.get("buffer", 0), len(starts))
        view["byteOffset"] = file.size(view, "byteOffset", 0) + starts[buffer]
        view["buffer"] = 0
    for image in document.get("images", []):
        uri = image.get("uri")
        if isinstance(uri, str) and not uri.startswith("data:"):
            data = file.sibling(uri)
            binary += b"\0" * (-len(binary) % 4)
            view = {"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)}
            document.setdefault("bufferViews", []).append(view)
            del image["uri"]
            image["bufferView"] = len(document["bufferViews"]) - 1
            image["mimeType"] = "image/png" if data[:4] == b"\x89PNG" else "image/jpeg"
            binary += data
    document.pop("animations", None)
    return document, binary


class _Animation:
    """An animation under construction, at the end of a buffer."""

    def __init__(self, document: dict[str, Any], binary: bytearray) -> None:
        self.document, self.binary = document, binary
        self.animation: dict[str, Any] = {"channels": [], "samplers": []}

    def accessor(self, values: Array, kind: str) -> int:
        data = np.ascontiguousarray(values, "<f4")
        self.binary += b"\0" * (-len(self.binary) % 4)
        views = self.document.setdefault("bufferViews", [])
        views.append({"buffer": 0, "byteOffset": len(self.binary), "byteLength": data.nbytes})
        self.binary += data.tobytes()
        accessors = self.document.setdefault("accessors", [])
        item = {
            "bufferView": len(views) - 1,
            "componentType": 5126,
            "count": len(data),
            "type": kind,
        }
        if kind == "SCALAR":
            item["min"], item["max"] = [float(data.min())], [float(data.max())]
        accessors.append(item)
        return len(accessors) - 1

    def channel(self, node: int, way: str, clock: int, values: Array, kind: str) -> None:
        sampler = {"input": clock, "output": self.accessor(values, kind), "interpolation": "LINEAR"}
        self.animation["samplers"].append(sampler)
        number = len(self.animation["samplers"]) - 1
        target = {"node": node, "path": way}
        self.animation["channels"].append({"sampler": number, "target": target})


def _binds(file: GltfFile, skin: dict[str, Any], members: list[int]) -> Array:
    """Return the inverse bind matrices (N, 4, 4) for column vectors."""
    if "inverseBindMatrices" not in skin:
        return np.tile(np.eye(4), (len(members), 1, 1))
    columns = file.accessor(skin["inverseBindMatrices"], "MAT4")
    if len(columns) < len(members):
        file.refuse(
            f"a skin must have one bind matrix per joint; found {len(members)} joints and "
            f"{len(columns)} matrices"
        )
    return np.swapaxes(columns[: len(members)].reshape(-1, 4, 4), 1, 2)


class _Skins:
    """Mapping from skin joints to skeleton points."""

    def __init__(self, file: GltfFile, skeleton: Skeleton) -> None:
        self.file, self.skeleton = file, skeleton
        points = {name: number for number, name in enumerate(skeleton.point_names)}
        named = _nodes_by_name(file)
        self.points = {node: points[name] for name, node in named.items() if name in points}
        self.world, self.parents = _rest_world(file), node_parents(file)
        self.images: dict[int, bytes | None] = {}  # by index, shared by all materials

    def point(self, node: int) -> int:
        """Return the skeleton point for a node, for its nearest ancestor, or for the root."""
        while node >= 0 and node not in self.points:
            node = self.parents[node]
        return self.points.get(node, 0)

    def mesh(self, skin: dict[str, Any], primitive: dict[str, Any], name: str) -> SkinnedMesh:
        """Convert a primitive with weights to a mesh."""
        file, attributes = self.file, primitive["attributes"]
        if "KHR_draco_mesh_compression" in primitive.get("extensions", {}):
            file.refuse(
                "the meshes are compressed (KHR_draco_mesh_compression); save the file "
                "without compression"
            )
        members = [file.index("nodes", n, len(self.parents)) for n in skin["joints"]]
        vertices = file.accessor(attributes["POSITION"], "VEC3")
        joints = file.accessor(attributes["JOINTS_0"], "VEC4").astype(np.int64)
        weights = file.accessor(attributes["WEIGHTS_0"], "VEC4")
        corners = np.arange(len(vertices))
        if "indices" in primitive:
            corners = file.accessor(primitive["indices"], "SCALAR")[:, 0].astype(np.int64)
        if len(corners) % 3 or np.any(corners >= len(vertices)):
            file.refuse(f"the triangles of mesh {name[:40]!r} refer to vertices that do not exist")
        if not len(joints) == len(weights) == len(vertices) or np.any(joints >= len(members)):
            file.refuse(f"the weights of mesh {name[:40]!r} do not match its vertices and joints")
        normal, uv = attributes.get("NORMAL"), attributes.get("TEXCOORD_0")
        return bound_mesh(
            self.skeleton,
            vertices,
            corners.reshape(-1, 3),
            joints,
            weights,
            inverse_binds=_binds(file, skin, members),
            sizes=np.cbrt(np.linalg.det(self.world[members, :3, :3])),
            points=np.array([self.point(node) for node in members]),
            exact=np.array([node in self.points for node in members]),
            normals=None if normal is None else file.accessor(normal, "VEC3"),
            uvs=None if uv is None else file.accessor(uv, "VEC2"),
            name=name,
            material=_material(file, primitive, self.images),
        )


def _material(
    file: GltfFile, primitive: dict[str, Any], images: dict[int, bytes | None]
) -> Material:
    """Return the base color of a material and its image; `images` has those read before."""
    if "material" not in primitive:
        return Material()
    item = file.item("materials", primitive["material"])
    look = item.get("pbrMetallicRoughness", {})
    color = file.numbers(look.get("baseColorFactor", [1, 1, 1, 1]), 4, "baseColorFactor")[:3]
    name = str(item.get("name") or f"material {primitive['material']}")
    texture = None
    if isinstance(look.get("baseColorTexture"), dict):
        index = file.item("textures", look["baseColorTexture"].get("index")).get("source")
        if index is not None:
            number = file.index("images", index, len(file.items("images")))
            if number not in images:
                images[number] = _image(file, file.item("images", number))
            texture = images[number]
    red, green, blue = (float(value) for value in color)
    return Material(name, (red, green, blue), texture)


def _image(file: GltfFile, image: dict[str, Any]) -> bytes | None:
    """Return the bytes of an image file, or None for formats that other programs cannot read."""
    if "bufferView" in image:
        data = file.view_bytes(image["bufferView"])
    elif str(image.get("uri", "")).startswith("data:"):
        data = base64.b64decode(str(image["uri"]).partition(",")[2])
    else:
        data = file.sibling(str(image.get("uri", "")))
    return data if data[:4] == b"\x89PNG" or data[:2] == b"\xff\xd8" else None
