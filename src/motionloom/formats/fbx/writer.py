"""Writer for binary FBX 7400 files with skeletons, skinned figures, and one or more takes.

Every joint is a limb node whose local transform is that of the rest pose. Rotations are XYZ Euler
angles, in degrees, with a linear key in every frame. The figure has a different bind pose, which is
stored in the skin clusters and in the bind pose of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.character import Material, SkinnedMesh, figure_mesh, rest_pose
from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.formats.child_process.fbx import END_SITE, TIP
from motionloom.formats.conventions import characters, from_y_up, scaled_to_meters, unique_names
from motionloom.formats.fbx.objects import (
    TICKS,
    Int32,
    Objects,
    Record,
    curve,
    file_bytes,
    global_settings,
    properties,
)
from motionloom.formats.inference import rotation_to_y_up, unit_from
from motionloom.formats.scene_nodes import COLORS, figure_kind
from motionloom.motion import Motion, Scene, Skeleton
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

# Joints whose children are all at the same position (CMU's wrists) become bones of 0.1 mm in
# Blender. They are too short to store their direction in single precision, which caused errors of
# up to 0.02 degrees. A tip below them makes the bones a few centimeters long, so that they can also
# be seen and selected in Blender.
_NO_LENGTH, _TIP_LENGTH = 0.002, 0.06  # meters
_STILL = 1e-9  # degrees or units; curves that change less than this get a single key


def write(
    motion: Motion | Scene | Sequence[Motion],
    path: str | Path,
    *,
    unit: str | float = "cm",
    up: str = "y",
    mesh: bool | str = "body",
    takes: Sequence[Motion] = (),
) -> None:
    """Write one motion, or several characters in one scene, as FBX; see `motionloom.save`.

    `takes` are further motions with the same skeleton as a single motion. Each becomes an animation
    stack with the name of the motion.
    """
    cast = characters(motion)
    if not cast or any(len(each) == 0 for each in [*(each for _, each in cast), *takes]):
        raise InvalidInput(
            "an FBX file needs at least one motion, and each motion at least one frame"
        )
    if up not in ("y", "z"):
        raise InvalidInput(f"the up axis of an FBX file must be y or z; got {up!r}")
    if takes and len(cast) > 1:
        raise InvalidInput(
            "several takes can be written only for one character; this scene has several characters"
        )
    for take in takes:
        if take.skeleton.key != cast[0][1].skeleton.key:
            raise InvalidInput(f"take {take.name!r} has a different skeleton; retarget it first")
    rates = {each.fps for each in [*(each for _, each in cast), *takes]}
    if len(rates) > 1:
        raise InvalidInput(
            f"motions in one FBX file must have the same rate; got {sorted(rates)}. Resample "
            "them first"
        )
    draft = _Draft(meters=unit_from(unit), up=up)
    kind = figure_kind(mesh)
    figures = [figure_mesh(each.skeleton, kind=kind, example=each) for _, each in cast]
    joints = []
    for number, ((name, each), figure) in enumerate(zip(cast, figures, strict=True)):
        prefix = "" if len(cast) == 1 else f"{name or f'character {number + 1}'}:"
        shown = [] if figure is None else [figure]
        color = COLORS[number % len(COLORS)]
        joints.append(draft.add_character(prefix, each, shown, Material("body", color)))
    if takes:
        names = unique_names(each.name or "take" for each in [cast[0][1], *takes])
        for name, each in zip(names, [cast[0][1], *takes], strict=True):
            draft.add_take(name, [(joints[0], each)])
    else:
        name = motion.name if isinstance(motion, Motion) and motion.name else "motion"
        pairs = zip(joints, (each for _, each in cast), strict=True)
        draft.add_take(name, list(pairs))
    with atomic_write(path) as scratch:
        scratch.write_bytes(draft.finished(rates.pop()))


def write_meshes(
    motion: Motion,
    path: str | Path,
    meshes: Sequence[SkinnedMesh],
    *,
    unit: str | float = "cm",
    up: str = "y",
    mesh: bool | str = "body",
) -> None:
    """Write a motion with meshes bound to its skeleton. The option `mesh` is ignored."""
    draft = _Draft(meters=unit_from(unit), up=up)
    joints = draft.add_character("", motion, meshes, Material())
    draft.add_take(motion.name or "motion", [(joints, motion)])
    with atomic_write(path) as scratch:
        scratch.write_bytes(draft.finished(motion.fps))


def write_takes(
    takes: Sequence[tuple[str, Motion, Sequence[NDArray], Sequence[NDArray]]],
    path: str | Path,
    meshes: Sequence[SkinnedMesh],
    *,
    unit: str | float = "cm",
) -> None:
    """Write takes on one skeleton with one character, each with the keys that are needed.

    Parameters
    ----------
    takes : sequence of (str, Motion, list of ndarray, list of ndarray)
        Name, motion, and for each joint the frames with a key of its rotation and translation
        (empty for joints that keep their offset).
    meshes : sequence of SkinnedMesh
        Meshes bound to the skeleton; may be empty.
    """
    draft = _Draft(meters=unit_from(unit), up="y")
    motion = takes[0][1]
    joints = draft.add_character("", motion, meshes, Material("body", COLORS[0]))
    for name, each, turns, steps in takes:
        draft.add_take(name, [(joints, each)], [(turns, steps)])
    with atomic_write(path) as scratch:
        scratch.write_bytes(draft.finished(motion.fps))


class _Draft:
    """An FBX file under construction, with its unit and up axis."""

    def __init__(self, *, meters: float, up: str) -> None:
        self.objects = Objects()
        self.meters, self.up = meters, up
        self.turn = rot.inverse(rotation_to_y_up(up))
        self.takes: list[tuple[str, int]] = []

    def in_file(self, motion: Motion) -> Motion:
        """Convert a motion to the file's unit and axes."""
        return scaled_to_meters(from_y_up(motion, self.up), 1.0 / self.meters)

    def add_character(
        self, prefix: str, motion: Motion, meshes: Sequence[SkinnedMesh], material: Material
    ) -> list[int]:
        """Add joints, end sites and meshes, and return the object numbers of the joints."""
        skeleton = self.in_file(motion).skeleton
        offsets = skeleton.point_offsets.copy()
        offsets[0] = rest_pose(skeleton).positions[0]
        if (
            self.up != "y"
        ):  # the rest pose stands on the floor in world axes, not in the axes of the file
            stands = rest_pose(motion.skeleton).positions[0] / self.meters
            offsets[0] = rot.rotate(self.turn, stands)
        turns = np.zeros((len(offsets), 3))
        turns[: len(skeleton)] = _euler_degrees(skeleton.rest_rotations)
        models: list[int] = []
        for point, name in enumerate(skeleton.point_names):
            parent = int(skeleton.point_parents[point])
            mark = END_SITE if point >= len(skeleton) else ""
            model = self._joint(prefix + name, offsets[point], turns[point], mark=mark)
            self.objects.connect(model, models[parent] if parent >= 0 else 0)
            models.append(model)
        for joint, place in _tips(skeleton, self.meters):
            tip = self._joint(f"{prefix}{skeleton.names[joint]}_tip", place, np.zeros(3), mark=TIP)
            self.objects.connect(tip, models[joint])
        for mesh in meshes:
            self._mesh(prefix, mesh, models, mesh.material or material)
        if not meshes:
            binds = rest_pose(motion.skeleton).matrices()
            self._bind_pose(prefix, list(zip(models, self._matrices(binds), strict=True)))
        return models[: len(skeleton)]

    def _matrices(self, matrices: Array) -> Array:
        """Convert world matrices (N, 4, 4) from meters, y up, to the file's unit and axes."""
        change = np.eye(4)
        change[:3, :3] = rot.to_matrix(self.turn)
        turned = change @ matrices @ change.T
        turned[:, :3, 3] /= self.meters
        return turned

    def _joint(self, name: str, place: Array, turn: Array, *, mark: str) -> int:
        model, record = self.objects.add("Model", name, "Model", "LimbNode")
        record.add("Version", Int32(232))
        rows = [
            ("RotationActive", "bool", 1),
            ("InheritType", "enum", 1),
            ("ScalingMax", "vector", 0.0, 0.0, 0.0),
            ("DefaultAttributeIndex", "int", 0),
            ("Lcl Translation", "move", *place),
            ("Lcl Rotation", "turn", *turn),
            ("Lcl Scaling", "scale", 1.0, 1.0, 1.0),
        ]
        properties(record, [*rows, (mark, "mark", 1)] if mark else rows)
        record.add("Shading", True)
        record.add("Culling", "CullingOff")
        attribute, record = self.objects.add("NodeAttribute", name, "NodeAttribute", "LimbNode")
        properties(record, [("Size", "double", 0.03 / self.meters)])
        record.add("TypeFlags", "Skeleton")
        self.objects.connect(attribute, model)
        return model

    def _mesh(self, prefix: str, mesh: SkinnedMesh, models: list[int], material: Material) -> None:
        name = prefix + mesh.name
        vertices = rot.rotate(self.turn, mesh.vertices.astype(np.float64)) / self.meters
        model, record = self.objects.add("Model", name, "Model", "Mesh")
        record.add("Version", Int32(232))
        properties(record, [("InheritType", "enum", 1), ("DefaultAttributeIndex", "int", 0)])
        record.add("Shading", True)
        record.add("Culling", "CullingOff")
        self.objects.connect(model, 0)
        geometry = self._geometry(name, mesh, vertices)
        self.objects.connect(geometry, model)
        self.objects.connect(self._material(material), model)
        binds = self._matrices(mesh.bind)
        self._skin(name, mesh, models, binds, geometry)
        poses = [(model, np.eye(4)), *zip(models, binds, strict=True)]
        self._bind_pose(name, poses)

    def _geometry(self, name: str, mesh: SkinnedMesh, vertices: Array) -> int:
        geometry, record = self.objects.add("Geometry", name, "Geometry", "Mesh")
        record.add("GeometryVersion", Int32(124))
        record.add("Vertices", vertices.reshape(-1))
        corners = mesh.triangles.astype(np.int32)
        indices = corners.copy()
        indices[:, 2] = -indices[:, 2] - 1  # the last corner of a polygon is negative
        record.add("PolygonVertexIndex", indices.reshape(-1))
        normals = rot.rotate(self.turn, mesh.normals.astype(np.float64))
        layer = _layer_element(record, "LayerElementNormal", "ByPolygonVertex", "Direct")
        layer.add("Normals", normals[corners.reshape(-1)].reshape(-1))
        elements = ["LayerElementNormal", "LayerElementMaterial"]
        if mesh.uvs is not None:
            layer = _layer_element(record, "LayerElementUV", "ByPolygonVertex", "IndexToDirect")
            upward = mesh.uvs.astype(np.float64) * [1.0, -1.0] + [0.0, 1.0]
            layer.add("UV", upward.reshape(-1))
            layer.add("UVIndex", corners.reshape(-1))
            elements.append("LayerElementUV")
        layer = _layer_element(record, "LayerElementMaterial", "AllSame", "IndexToDirect")
        layer.add("Materials", np.zeros(1, np.int32))
        table = record.add("Layer", Int32(0))
        table.add("Version", Int32(100))
        for kind in elements:
            element = table.add("LayerElement")
            element.add("Type", kind)
            element.add("TypedIndex", Int32(0))
        return geometry

    def _material(self, material: Material) -> int:
        number, record = self.objects.add("Material", material.name, "Material", "")
        record.add("Version", Int32(102))
        record.add("ShadingModel", "lambert")
        record.add("MultiLayer", Int32(0))
        properties(
            record,
            [
                ("DiffuseColor", "color", *map(float, material.color)),
                ("DiffuseFactor", "number", 1.0),
            ],
        )
        if material.texture is not None:
            self._texture(material, number)
        return number

    def _texture(self, material: Material, owner: int) -> None:
        assert material.texture is not None
        suffix = "png" if material.texture[:4] == b"\x89PNG" else "jpg"
        file = f"{material.name}.{suffix}"
        video, record = self.objects.add("Video", material.name, "Video", "Clip")
        record.add("Type", "Clip")
        record.add("UseMipMap", Int32(0))
        record.add("Filename", file)
        record.add("RelativeFilename", file)
        record.add("Content", material.texture)
        texture, record = self.objects.add("Texture", material.name, "Texture", "")
        record.add("Type", "TextureVideoClip")
        record.add("Version", Int32(202))
        record.add("TextureName", f"{material.name}\0\1Texture")
        record.add("FileName", file)
        record.add("RelativeFilename", file)
        self.objects.connect(texture, owner, "DiffuseColor")
        self.objects.connect(video, texture)

    def _skin(
        self, name: str, mesh: SkinnedMesh, models: list[int], binds: Array, geometry: int
    ) -> None:
        skin, record = self.objects.add("Deformer", name, "Deformer", "Skin")
        record.add("Version", Int32(101))
        record.add("Link_DeformAcuracy", 50.0)
        self.objects.connect(skin, geometry)
        rows = np.repeat(np.arange(len(mesh.joints)), mesh.joints.shape[1])
        joints, weights = mesh.joints.reshape(-1), mesh.weights.reshape(-1).astype(np.float64)
        for joint in np.unique(joints[weights > 0.0]).tolist():
            mine = (joints == joint) & (weights > 0.0)
            cluster, record = self.objects.add("Deformer", name, "SubDeformer", "Cluster")
            record.add("Version", Int32(100))
            record.add("UserData", "", "")
            record.add("Indexes", rows[mine].astype(np.int32))
            record.add("Weights", weights[mine])
            record.add("Transform", _flat(np.linalg.inv(binds[joint])))
            record.add("TransformLink", _flat(binds[joint]))
            self.objects.connect(cluster, skin)
            self.objects.connect(models[joint], cluster)

    def _bind_pose(self, name: str, poses: Sequence[tuple[int, Array]]) -> None:
        _, record = self.objects.add("Pose", name, "Pose", "BindPose")
        record.add("Type", "BindPose")
        record.add("Version", Int32(100))
        record.add("NbPoseNodes", Int32(len(poses)))
        for model, matrix in poses:
            node = record.add("PoseNode")
            node.add("Node", model)
            node.add("Matrix", _flat(matrix))

    def add_take(
        self,
        name: str,
        parts: Sequence[tuple[list[int], Motion]],
        kept: Sequence[tuple[Sequence[NDArray], Sequence[NDArray]]] | None = None,
    ) -> None:
        """Add an animation stack with one layer.

        `kept` are the frames with keys, for the rotations and the translations of each joint of
        each part. By default, every frame has a key.
        """
        stop = max(round((len(take) - 1) / take.fps * TICKS) for _, take in parts)
        stack, record = self.objects.add("AnimationStack", name, "AnimStack", "")
        span = [
            ("LocalStart", 0),
            ("LocalStop", stop),
            ("ReferenceStart", 0),
            ("ReferenceStop", stop),
        ]
        properties(record, [(key, "time", value) for key, value in span])
        layer, record = self.objects.add("AnimationLayer", name, "AnimLayer", "")
        properties(record, [])  # assimp does not read a layer without a table
        self.objects.connect(layer, stack)
        self.takes.append((name, stop))
        for number, (models, take) in enumerate(parts):
            motion = self.in_file(take)
            times = np.rint(np.arange(len(motion)) / motion.fps * TICKS).astype(np.int64)
            turns = euler_curves(motion.rotations)
            every = np.arange(len(motion))
            turned = [every] * len(models)
            moved = turned if motion.translations is not None else [every]
            if kept is not None:
                turned, moved = list(kept[number][0]), list(kept[number][1])
            for model, frames, values in zip(models, turned, np.swapaxes(turns, 0, 1), strict=True):
                self._channel(layer, model, "R", "Lcl Rotation", times[frames], values[frames])
            for joint, frames in enumerate(moved):
                if len(frames):
                    steps = motion.root if joint == 0 else local_steps(motion, joint)
                    place = "Lcl Translation"
                    self._channel(layer, models[joint], "T", place, times[frames], steps[frames])

    def _channel(
        self, layer: int, model: int, name: str, attribute: str, times: NDArray, values: NDArray
    ) -> None:
        values = values.astype(np.float64)
        node, record = self.objects.add("AnimationCurveNode", name, "AnimCurveNode", "")
        axes = ("d|X", "d|Y", "d|Z")
        properties(
            record, [(axis, "number", float(v)) for axis, v in zip(axes, values[0], strict=True)]
        )
        self.objects.connect(node, layer)
        self.objects.connect(node, model, attribute)
        for axis, column in zip(axes, values.T, strict=True):
            kept = slice(None) if np.ptp(column) > _STILL else slice(1)
            number = curve(self.objects, times[kept], column[kept])
            self.objects.connect(number, node, axis)

    def finished(self, fps: float) -> bytes:
        stop = max(stop for _, stop in self.takes)
        settings = global_settings(up=self.up, meters=self.meters, fps=fps, stop=stop)
        return file_bytes(self.objects.document(settings, self.takes))


def euler_curves(rotations: NDArray) -> Array:
    """Convert rotations (T, J, 4) to continuous XYZ Euler angles in degrees, shape (T, J, 3).

    Two angle triples describe each rotation. The one closer to the previous frame is used.
    """
    angles = _euler_degrees(rotations.astype(np.float64))
    other = np.stack([angles[..., 0] + 180.0, 180.0 - angles[..., 1], angles[..., 2] + 180.0], -1)
    out = angles.copy()
    for frame in range(1, len(angles)):
        before = out[frame - 1]
        best, gap = None, None
        for choice in (angles[frame], other[frame]):
            near = choice + 360.0 * np.rint((before - choice) / 360.0)
            away = np.abs(near - before).sum(axis=-1, keepdims=True)
            best = near if best is None else np.where(away < gap, near, best)
            gap = away if gap is None else np.minimum(away, gap)
        out[frame] = best
    return out


def local_steps(motion: Motion, joint: int) -> NDArray:
    """Return the local translations (T, 3) of a joint, which is its offset if it never moves."""
    if motion.translations is None:
        return np.broadcast_to(motion.skeleton.offsets[joint], (len(motion), 3))
    return motion.translations[:, joint]


def _tips(skeleton: Skeleton, meters: float) -> list[tuple[int, Array]]:
    """Return the joints of zero length, and a tip for each, in local axes and file units."""
    tips = []
    offsets, parents = skeleton.point_offsets, skeleton.point_parents
    lengths = np.linalg.norm(offsets, axis=1) * meters
    for joint in range(1, len(skeleton)):
        below = np.flatnonzero(parents == joint)
        if len(below) and lengths[below].max() < _NO_LENGTH < lengths[joint]:
            ahead = rot.rotate(rot.inverse(skeleton.rest_rotations[joint]), offsets[joint])
            tips.append((joint, ahead * (_TIP_LENGTH / meters) / np.linalg.norm(offsets[joint])))
    return tips


def _euler_degrees(rotations: Array) -> Array:
    """Return angles (..., 3) about x, y and z. FBX rotates about x first, as in Rz Ry Rx."""
    return np.degrees(rot.to_euler(rotations, "ZYX"))[..., ::-1]


def _layer_element(record: Record, kind: str, mapping: str, reference: str) -> Record:
    layer = record.add(kind, Int32(0))
    layer.add("Version", Int32(101))
    layer.add("Name", "")
    layer.add("MappingInformationType", mapping)
    layer.add("ReferenceInformationType", reference)
    return layer


def _flat(matrix: Array) -> Array:
    """Flatten a matrix for column vectors to 16 numbers, column by column."""
    return np.ascontiguousarray(matrix.T).reshape(-1)
