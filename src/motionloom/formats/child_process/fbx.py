"""Script that reads an FBX file with ufbx in a separate process, without importing motionloom.

See `motionloom.formats.child_process`. ufbx evaluates whole nodes and handles pre- and
post-rotations, pivots, rotation orders, inherit types and animation layers.
"""

from __future__ import annotations

import os

import numpy as np

END_SITE = "motionloomEndSite"  # property of limb nodes that are end sites
TIP = "motionloomTip"  # property of limb nodes that only make bones visible in other programs
OURS = "motionloom"  # creator name in files written by motionloom
_ROOM = 4_000_000  # joints times frames that any file may have
_GROWTH = 64  # the same limit for files with many keys, per key
_MOST_NODES = 10_000
_MOST_TAKES = 1000
_ROOM_OF_TAKES, _GROWTH_OF_TAKES = 8_000_000, 16  # the limit of all takes; per byte of the file
_NO_SKELETON = "the file has no skeleton, because it has no limb node, no skin and no animated node"
_FIGURE = 4  # least number of joints of another figure; smaller trees are controls and props
_SLOWEST, _FASTEST = 10.0, 1000.0  # plausible key rates, in keys per second
_AGREE = np.radians(5.0)  # rest poses that differ by less are the same
_EVEN = 0.02  # tolerance of key times, as a fraction of a frame


_KEPT: list = []


def _kept(value):
    """Keep `value` alive, because ufbx 0.0.5 may return an object that was already destroyed."""
    _KEPT.append(value)
    return value


def _items(values) -> list:
    """Return the items of a ufbx list and keep them alive."""
    _kept(values)
    return [_kept(values[number]) for number in range(len(values))]


class UnreadableFbx(Exception):
    """Error that states why an FBX file cannot be read."""


REFUSED = UnreadableFbx


def read(request: dict) -> dict:
    """Read a file. The request has the keys path, skeleton, animation, fps, takes, meshes, output.

    With takes ``"list"``, list all takes instead of reading one; with ``"all"``, also read them.
    """
    import ufbx

    file = _File(ufbx, request)
    if not request.get("takes"):
        arrays: dict = {}
        facts = file.take(
            _stack(file.stacks, request["animation"]), request["skeleton"], request["fps"], arrays
        )
        if request["meshes"]:
            facts["meshes"] = _meshes(
                file.scene, file.place, facts.pop("nodes"), file.parents, arrays
            )
        facts.pop("nodes", None)
        np.savez(request["output"], **arrays)
        return facts
    arrays, takes = {}, []
    listed = file.takes()
    if not listed:
        raise UnreadableFbx(_NO_SKELETON)
    if len(listed) > _MOST_TAKES:
        raise UnreadableFbx(f"the file has more than {_MOST_TAKES} takes; save several files")
    left = max(_ROOM_OF_TAKES, _GROWTH_OF_TAKES * os.path.getsize(request["path"]))
    for number, (stack, group) in enumerate(listed):
        about: dict = {
            "animation": -1 if stack is None else file.stacks.index(stack),
            "skeleton": file.groups.index(group) if group in file.groups else 0,
            "joints": len(group),
            "seconds": 0.0 if stack is None else float(stack.time_end - stack.time_begin),
        }
        if request["takes"] == "all":
            own: dict = {}
            try:
                about["facts"] = file.take(stack, about["skeleton"], request["fps"], own, left)
                about["facts"].pop("nodes")
                left -= len(own["places"]) * len(group)
            except UnreadableFbx as refusal:
                about["refused"] = str(refusal)
            arrays |= {f"{number} {name}": array for name, array in own.items()}
        takes.append(about)
    np.savez(request["output"], **arrays)
    return {
        "takes": takes,
        "animations": [stack.name for stack in file.stacks],
        "skeletons": [file.nodes[group[0]].name for group in file.groups],
    }


class _File:
    """An open scene: its nodes, animation stacks and skeletons."""

    def __init__(self, ufbx, request: dict) -> None:
        self.ufbx = ufbx
        self.scene = _kept(
            ufbx.load_file(
                request["path"],
                target_axes=ufbx.axes_right_handed_y_up,
                target_unit_meters=1.0,
                inherit_mode_handling=ufbx.InheritModeHandling.COMPENSATE,
                ignore_geometry=not request["meshes"],
                ignore_embedded=not request["meshes"],
                load_external_files=False,
                generate_missing_normals=True,
            )
        )
        nodes = self.nodes = _items(self.scene.nodes)
        if len(nodes) > _MOST_NODES:
            raise UnreadableFbx(f"the file has {len(nodes)} nodes; the limit is {_MOST_NODES}")
        self.place = {node.element_id: number for number, node in enumerate(nodes)}
        owners = [_kept(node.parent) for node in nodes]
        self.parents = [-1 if owner is None else self.place[owner.element_id] for owner in owners]
        self.stacks = _items(self.scene.anim_stacks)
        self.moved = [_animated(stack, self.place) for stack in self.stacks]
        self.helpers = {number for number, node in enumerate(nodes) if node.is_scale_helper}
        bones = _bones(self.scene, nodes, self.place)
        self.skinned = bool(bones)
        self.groups = self._trees(bones)

    def _trees(self, bones: set[int]) -> list[list[int]]:
        parents = self.parents
        bones = {parents[node] if node in self.helpers else node for node in bones} - {0}
        return _groups(sorted(bones), parents, [node.element_id for node in self.nodes])

    def takes(self) -> list:
        """Return the pairs of a stack and a skeleton that it moves, or the default pair."""
        takes = []
        for number, stack in enumerate(self.stacks):
            for group in self.groups or self._trees(self.moved[number]):
                if self.is_figure(group) and self.moved[number] & set(
                    _with_ancestors(group, self.parents)
                ):
                    takes.append((stack, group))
        if takes:
            return takes
        stack = _stack(self.stacks, None)
        self.groups = self.groups or self._trees(set() if stack is None else self._moved(stack))
        return [(stack, max(self.groups, key=len))] if self.groups else []

    def is_figure(self, group: list[int]) -> bool:
        """Return whether bones form a figure of their own, not a control of another one."""
        largest = max(map(len, self.groups), default=0)
        return len(group) >= min(_FIGURE, largest)

    def _moved(self, stack) -> set[int]:
        return self.moved[self.stacks.index(stack)]

    def take(
        self, stack, skeleton, fps: float | None, arrays: dict, left: float = float("inf")
    ) -> dict:
        """Evaluate one skeleton in one animation, and add its arrays to `arrays`.

        Joints times frames must not exceed `left`.
        """
        nodes, parents, scene = self.nodes, self.parents, self.scene
        animated = set() if stack is None else self._moved(stack)
        groups = self.groups if self.skinned else self._trees(animated)
        if not groups:
            raise UnreadableFbx(_NO_SKELETON)
        joints, others = _chosen(groups, nodes, skeleton)
        joints = [node for node in joints if node not in self.helpers]
        chain = _with_ancestors(joints, parents)
        moves = bool(animated & set(chain))
        declared = float(_kept(scene.settings).frames_per_second)
        keys = _longest_keys(stack) if moves else np.zeros(0)
        times, fps = _times(stack, keys, declared, fps, len(chain))
        if len(times) * len(joints) > left:
            raise UnreadableFbx("all takes together have too many frames for the file's size")
        places, turns = _evaluated(
            self.ufbx, stack if moves else None, nodes, chain, joints, parents, times
        )
        ours = str(_kept(scene.metadata).creator).startswith(OURS)
        above = [_joint_above(node, joints, parents) for node in joints]
        ends = [
            number
            for number, node in enumerate(joints)
            if number and number not in above and _marked(nodes[node])
        ]
        rest, of_skin = _rest(scene, nodes, joints, above, ours)
        arrays |= {"places": places, "turns": turns, "rest": rest}
        return {
            "nodes": joints,
            "names": [nodes[node].name for node in joints],
            "parents": above,
            "ends": ends,
            "fps": fps,
            "start": float(times[0]),
            "unit": float(_kept(scene.settings).original_unit_meters),
            "up": _up(scene),
            "animated": moves,
            "rest_of_skin": of_skin,
            "animations": [stack.name for stack in self.stacks],
            "animation": "" if stack is None else stack.name,
            "skeletons": others,
            "version": int(_kept(scene.metadata).version),
        }


def _up(scene) -> str:
    axis = _kept(_kept(scene.settings).props).find_int("UpAxis", 1)
    return "xyz"[axis] if axis in (0, 1, 2) else "y"


def _stack(stacks: list, wanted):
    """Find an animation stack by name or index. The default is the first with a duration."""
    if not stacks:
        if wanted is not None:
            raise UnreadableFbx(f"there is no animation {wanted!r}; the file has no animations")
        return None
    names = [stack.name for stack in stacks]
    if wanted is None:
        lasting = [s for s in stacks if s.time_end > s.time_begin and any(_has_keys(s))]
        return lasting[0] if lasting else stacks[0]
    if wanted in names:
        return stacks[names.index(wanted)]
    number = int(wanted) if str(wanted).isdecimal() else -1
    if not 0 <= number < len(stacks):
        shown = ", ".join(names[:20])
        raise UnreadableFbx(f"there is no animation {wanted!r}. Animations in the file: {shown}")
    return stacks[number]


def _has_keys(stack):
    for layer in _items(stack.layers):
        yield len(_kept(layer.anim_props)) > 0


def _animated(stack, place: dict[int, int]) -> set[int]:
    """Return the nodes whose transforms are animated."""
    nodes = set()
    for layer in _items(stack.layers):
        for prop in _items(layer.anim_props):
            node = place.get(_kept(prop.element).element_id)
            if node is not None and str(prop.prop_name).startswith("Lcl"):
                nodes.add(node)
    return nodes


def _longest_keys(stack) -> np.ndarray:
    """Return the key times of the stack's curve with the most keys."""
    curves = []
    for layer in _items(stack.layers):
        for prop in _items(layer.anim_props):
            present = [c for c in _items(_kept(prop.anim_value).curves) if c is not None]
            curves += [_kept(curve.keyframes) for curve in present]
    longest = max(curves, key=len, default=())
    return np.array([longest[number].time for number in range(len(longest))])


def _bones(scene, nodes, place) -> set[int]:
    """Return the nodes that are limbs or that deform a skin."""
    bones = {number for number, node in enumerate(nodes) if _kept(node.bone) is not None}
    for cluster in _items(scene.skin_clusters):
        bone = _kept(cluster.bone_node)
        if bone is not None:
            bones.add(place[bone.element_id])
    return {bone for bone in bones - {0} if not _marked(nodes[bone], TIP)}


def _groups(bones: list[int], parents: list[int], in_file: list[int]) -> list[list[int]]:
    """Group bones and the nodes between them into trees.

    Parents come first, and the order of the file is kept if possible.
    """
    wanted = set(bones)
    groups: dict[int, set[int]] = {}
    for bone in bones:
        path = [bone]
        while parents[path[-1]] >= 0:
            path.append(parents[path[-1]])
        last = max(number for number, node in enumerate(path) if node in wanted)
        groups.setdefault(path[last], set()).update(path[: last + 1])
    ordered = []
    for top, members in groups.items():
        order = sorted(members, key=lambda node: in_file[node])
        place = {node: number for number, node in enumerate(order)}
        if any(node != top and place[parents[node]] > place[node] for node in order):
            order = sorted(members)  # ufbx lists parents first
        ordered.append(order)
    return ordered


def _chosen(groups: list[list[int]], nodes, wanted) -> tuple[list[int], list[str]]:
    """Return the joints of the skeleton with this root, namespace or number, or of the largest."""
    names = [nodes[group[0]].name for group in groups]
    if wanted is not None:
        spaces = [name.rpartition(":")[0] for name in names]
        if wanted not in names and wanted in spaces:
            wanted = names[spaces.index(wanted)]
        if wanted in names:
            return groups[names.index(wanted)], names
        number = int(wanted) if str(wanted).isdecimal() else -1
        if not 0 <= number < len(groups):
            raise UnreadableFbx(
                f"no skeleton is called {wanted!r}. Skeletons in the file: {', '.join(names[:20])}"
            )
        return groups[number], names
    largest = max(range(len(groups)), key=lambda number: len(groups[number]))
    order = [names[largest], *(name for n, name in enumerate(names) if n != largest)]
    return groups[largest], order


def _times(stack, keys: np.ndarray, declared: float, fps: float | None, nodes: int):
    """Return the frame times in seconds, and the frame rate."""
    if not len(keys) or stack is None:
        return np.zeros(1), fps or (declared if _SLOWEST <= declared <= _FASTEST else 30.0)
    rate = fps or _key_rate(keys) or declared
    if not (np.isfinite(rate) and 1e-3 <= rate <= 1e6):
        raise UnreadableFbx(f"the frame rate must be from 0.001 to 1e6 fps; found {rate:g}")
    begin, end = float(stack.time_begin), float(stack.time_end)
    if not end > begin:  # an empty time span
        begin, end = float(keys[0]), float(keys[-1])
    frames = (end - begin) * rate + 1.0
    if not frames * nodes <= max(_ROOM, _GROWTH * nodes * len(keys)):
        raise UnreadableFbx(
            f"the animation would have {frames:.3g} frames, which is too many; set a lower fps"
        )
    return begin + np.arange(int(np.floor(frames + _EVEN))) / rate, rate


def _key_rate(times: np.ndarray) -> float | None:
    """Return the frame rate implied by evenly spaced keys."""
    if len(times) < 3:
        return None
    gaps = np.diff(times)
    even = float(times[-1] - times[0]) / len(gaps)
    if even <= 0.0 or np.abs(gaps - even).max() > _EVEN * even:
        return None
    rate = round(1.0 / even, 3)
    return rate if _SLOWEST <= rate <= _FASTEST else None


def _with_ancestors(joints: list[int], parents: list[int]) -> list[int]:
    """Return the joints and all nodes above them, parents first."""
    chain = set()
    for node in joints:
        while node >= 0 and node not in chain:
            chain.add(node)
            node = parents[node]
    return sorted(chain)  # ufbx lists parents first


def _joint_above(node: int, joints: list[int], parents: list[int]) -> int:
    """Return the index of the nearest joint above a joint, or -1 for the root."""
    place = {joint: number for number, joint in enumerate(joints)}
    node = parents[node]
    while node >= 0 and node not in place:
        node = parents[node]
    return place.get(node, -1)


def _marked(node, mark: str = END_SITE) -> bool:
    return _kept(_kept(node.props).find_prop(mark)) is not None


def _evaluated(ufbx, stack, nodes, chain, joints, parents, times):
    """Return the world positions (T, J, 3) and world matrices (T, J, 3, 3) of the joints.

    Full matrices are multiplied, because scales may differ between axes and between nodes.
    """
    anim = None if stack is None else _kept(stack.anim)
    world: dict[int, np.ndarray] = {}
    places = np.empty((len(times), len(joints), 3))
    turns = np.empty((len(times), len(joints), 3, 3), np.float32)
    number = {joint: place for place, joint in enumerate(joints)}
    left = {node: sum(parents[other] == node for other in chain) for node in chain}
    for node in chain:
        local = np.zeros((len(times), 4, 4))
        local[:, 3, 3] = 1.0
        for frame, time in enumerate(times):
            if anim is not None:
                at = ufbx.evaluate_transform(anim, nodes[node], float(time))
            else:
                at = nodes[node].local_transform
            local[frame, :3] = _transform(at)
        above = parents[node]
        world[node] = local if above < 0 else world[above] @ local
        if node in number:
            places[:, number[node]] = world[node][:, :3, 3]
            turns[:, number[node]] = world[node][:, :3, :3]
        if above >= 0:
            left[above] -= 1
            if not left[above]:
                del world[above]  # no longer needed
    return places, turns


def _transform(at) -> np.ndarray:
    """Combine translation, rotation and scale into a matrix, shape (3, 4)."""
    w, x, y, z = at.rotation.w, at.rotation.x, at.rotation.y, at.rotation.z
    a, b, c = at.scale.x, at.scale.y, at.scale.z
    return np.array(
        [
            [(1 - 2 * (y * y + z * z)) * a, 2 * (x * y - w * z) * b, 2 * (x * z + w * y) * c,
             at.translation.x],
            [2 * (x * y + w * z) * a, (1 - 2 * (x * x + z * z)) * b, 2 * (y * z - w * x) * c,
             at.translation.y],
            [2 * (x * z - w * y) * a, 2 * (y * z + w * x) * b, (1 - 2 * (x * x + y * y)) * c,
             at.translation.z],
        ]
    )  # fmt: skip


def _rest(scene, nodes, joints: list[int], parents: list[int], ours: bool):
    """Return world matrices (J, 3, 3) at rest, and whether they are not those of the bind pose.

    The bind pose is used if all joints have one. A few files have a wrong bind pose, and others
    have none and keep their nodes in some frame of the animation. If a skin disagrees, its bones
    are as in the skin, because vertices move relative to it, and others follow their parents.
    """
    static = np.array([_matrix(nodes[node].node_to_world)[:3, :3] for node in joints])
    if ours:
        return static, False
    stored = _bind_pose(nodes, joints)
    rest = static if stored is None else stored
    skin = _skin_pose(scene, nodes, joints)
    if not skin or all(_apart(rest[joint], matrix) < _AGREE for joint, matrix in skin.items()):
        return rest, False
    if all(_apart(static[joint], matrix) < _AGREE for joint, matrix in skin.items()):
        return static, True
    mixed = static.copy()
    for joint, parent in enumerate(parents):
        if joint in skin:
            mixed[joint] = skin[joint]
        elif parent >= 0:
            mixed[joint] = mixed[parent] @ np.linalg.inv(static[parent]) @ static[joint]
    return mixed, True


def _bind_pose(nodes, joints: list[int]):
    """Return the world matrices of the bind pose, or None unless all joints have one."""
    bind = np.empty((len(joints), 3, 3))
    for number, index in enumerate(joints):
        pose = _kept(nodes[index].bind_pose)
        bones = [] if pose is None else _items(pose.bone_poses)
        mine = [b for b in bones if _kept(b.bone_node).element_id == nodes[index].element_id]
        if not mine:
            return None
        bind[number] = _matrix(mine[0].bone_to_world)[:3, :3]
    return bind


def _skin_pose(scene, nodes, joints: list[int]) -> dict[int, np.ndarray]:
    """Return the world matrices of the joints that deform a mesh, as they were bound to it."""
    number = {nodes[node].element_id: place for place, node in enumerate(joints)}
    pose: dict[int, np.ndarray] = {}
    for cluster in _items(scene.skin_clusters):
        bone = _kept(cluster.bone_node)
        joint = None if bone is None else number.get(bone.element_id)
        matrix = _matrix(cluster.bind_to_world)[:3, :3]
        if joint is not None and np.all(np.isfinite(matrix)) and np.linalg.det(matrix) > 1e-12:
            pose.setdefault(joint, matrix)
    return pose


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    """Return the angle in radians between the axes of two matrices, whatever their scales."""
    if np.linalg.det(a) <= 0.0 or np.linalg.det(b) <= 0.0:
        return np.pi
    axes = [matrix / np.linalg.norm(matrix, axis=0) for matrix in (a, b)]
    return float(np.arccos(np.clip((np.trace(axes[0].T @ axes[1]) - 1.0) / 2.0, -1.0, 1.0)))


def _meshes(scene, place, joints, parents, arrays) -> list[dict]:
    """Return the skinned meshes, one per material, and add their arrays to `arrays`."""
    meshes: list[dict] = []
    point = {joint: number for number, joint in enumerate(joints)}
    for mesh in _items(scene.meshes):
        skins, owners = _items(mesh.skin_deformers), _items(mesh.instances)
        if not skins or not owners or not mesh.num_faces:
            continue
        corners, of_face, materials = _corners(mesh)
        clusters = [(c, _kept(c.bone_node)) for c in _items(skins[0].clusters)]
        clusters = [(cluster, bone) for cluster, bone in clusters if bone is not None]
        if not clusters:
            continue
        bones = [place[bone.element_id] for _, bone in clusters]
        joint, weight = _top_weights([cluster for cluster, _ in clusters], mesh.num_vertices)
        skin = {
            "inverse_binds": np.array([_matrix(c.geometry_to_bone) for c, _ in clusters]),
            "sizes": np.array(
                [np.cbrt(abs(np.linalg.det(_matrix(b.node_to_world)[:3, :3]))) for _, b in clusters]
            ),
            "points": np.array([_point_of(bone, point, parents) for bone in bones]),
            "exact": np.array([bone in point for bone in bones]),
        }
        vertices = _vectors(mesh.vertices)
        for number in np.unique(of_face):
            mine = np.repeat(of_face == number, 3)
            _, first, triangles = np.unique(
                corners[mine].round(5), axis=0, return_index=True, return_inverse=True
            )
            kept = corners[mine][first]
            row = kept[:, 0].astype(np.intp)
            part = {
                "vertices": vertices[row],
                "triangles": triangles.reshape(-1, 3),
                "joints": joint[row],
                "weights": weight[row],
                **skin,
            }
            if mesh.vertex_normal.exists:
                part["normals"] = kept[:, 1:4]
            if mesh.vertex_uv.exists:
                part["uvs"] = kept[:, 4:6]
            look = materials[number] if number < len(materials) else None
            arrays.update({f"mesh{len(meshes)}_{key}": value for key, value in part.items()})
            meshes.append({"name": owners[0].name or mesh.name, **_look(look, len(meshes), arrays)})
    return meshes


def _corners(mesh):
    """Return the corners (3 F, 6) and the materials (F,) of the triangles.

    A corner consists of the index of a vertex, its normal and its texture coordinates.
    """
    table = np.zeros((mesh.num_indices, 6))
    table[:, 0] = list(mesh.vertex_indices)
    if mesh.vertex_normal.exists:
        normals = _kept(mesh.vertex_normal)
        table[:, 1:4] = _vectors(normals.values)[list(normals.indices)]
    if mesh.vertex_uv.exists:
        uvs = _kept(mesh.vertex_uv)
        pairs = np.array([(uvs.values[k].x, 1.0 - uvs.values[k].y) for k in range(len(uvs.values))])
        table[:, 4:6] = pairs[list(uvs.indices)]
    painted = np.array(list(mesh.face_material))
    rows, of_face = [], []
    faces = _kept(mesh.faces)
    for number in range(mesh.num_faces):
        face = faces[number]
        for corner in range(1, face.num_indices - 1):
            start = face.index_begin
            rows += [start, start + corner, start + corner + 1]
            of_face.append(painted[number] if len(painted) else 0)
    return table[np.array(rows, np.intp)], np.array(of_face, np.intp), _items(mesh.materials)


def _top_weights(clusters, vertices: int):
    """Return the four strongest clusters (V, 4) of each vertex, and their weights (V, 4)."""
    rows = [np.array(list(cluster.vertices), np.intp) for cluster in clusters]
    shares = [np.array(list(cluster.weights)) for cluster in clusters]
    of = np.repeat(np.arange(len(clusters)), [len(row) for row in rows])
    row, share = np.concatenate(rows), np.concatenate(shares)
    order = np.lexsort((-share, row))
    row, share, of = row[order], share[order], of[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    joint, weight = np.zeros((vertices, 4), np.intp), np.zeros((vertices, 4))
    kept = (rank < 4) & (row < vertices)
    joint[row[kept], rank[kept]], weight[row[kept], rank[kept]] = of[kept], share[kept]
    return joint, weight


def _point_of(node: int, point: dict[int, int], parents: list[int]) -> int:
    """Return the joint for a node, which is the node, the nearest joint above it, or the root."""
    while node >= 0 and node not in point:
        node = parents[node]
    return point.get(node, 0)


def _vectors(values) -> np.ndarray:
    return np.array([(values[k].x, values[k].y, values[k].z) for k in range(len(values))])


def _look(material, number: int, arrays: dict) -> dict:
    """Return the name and color of a material, and add its embedded image to `arrays`."""
    if material is None:
        return {"material": "", "color": [0.8, 0.8, 0.8]}
    shade = _kept(_kept(material.fbx).diffuse_color)
    value = shade.value_vec4
    texture = _kept(shade.texture)
    content = b"" if texture is None else bytes(texture.content or b"")
    if content:
        arrays[f"mesh{number}_texture"] = np.frombuffer(content, np.uint8)
    color = [1.0, 1.0, 1.0] if content else [value.x, value.y, value.z]
    return {"material": material.name, "color": [float(min(max(c, 0.0), 1.0)) for c in color]}


def _matrix(value) -> np.ndarray:
    columns = [[c.x, c.y, c.z] for c in (value.c0, value.c1, value.c2, value.c3)]
    matrix = np.eye(4)
    matrix[:3] = np.array(columns).T
    return matrix
