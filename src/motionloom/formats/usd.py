"""USD files (``.usd``, ``.usda``, ``.usdc``) with UsdSkel skeletons, animations and figures.

USD files need the extra ``usd`` (usd-core). They are read in a separate process; see
`motionloom.formats.child_process.usd`. Characters with the same skeleton share it. The file then
contains the skeleton and the figure (see `motionloom.character`) only once, as a class that each
character references. The references are not instanceable, because Blender does not animate
instances of a skeleton.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.character import SkinnedMesh, figure_mesh, rest_pose, transform_matrices
from motionloom.errors import InvalidInput, MissingExtra, MotionFormatError
from motionloom.files import atomic_write
from motionloom.formats.child_process import child_result
from motionloom.formats.child_process import usd as script
from motionloom.formats.conventions import (
    Repairs,
    characters,
    nominal_rate,
    refuse_folder,
    scaled_to_meters,
    started,
    to_y_up,
    unique_names,
    with_user_roles,
)
from motionloom.formats.inference import Unit, unit_from
from motionloom.formats.scene_nodes import (
    COLORS,
    NodeTrajectory,
    figure_kind,
    motion_from_nodes,
    uniform_scale,
)
from motionloom.formats.takes import FileTake, named_takes
from motionloom.motion import Motion, Scene, Skeleton
from motionloom.motion.rotations import quaternions as rot

FIGURE = "Figure"  # name of the mesh of a character


def read(
    path: str | Path,
    *,
    skeleton: str | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Motion:
    """Read one motion from a USD file; see `motionloom.load` for the options.

    `skeleton` is the name or path of a Skeleton, or the name of its SkelRoot. By default, the frame
    rate is that of the samples, and unit and up axis are those of the stage.
    """
    path = Path(path)
    facts, arrays = _scene(path, {"skeleton": skeleton, "fps": fps})
    others, warnings = facts["skeletons"], []
    if skeleton is None and len(others) > 1:
        warnings.append(
            f"the first of {len(others)} skeletons was read; they are {', '.join(others[:8])}. "
            f"Choose one with the option skeleton"
        )
    return _finished(
        facts, arrays, path, skeleton, warnings, fps=fps, unit=unit, up=up, roles=roles,
        strict=strict,
    )  # fmt: skip


def takes(path: str | Path) -> list[FileTake]:
    """List the skeletons of a USD file."""
    return _takes(_scene(Path(path), {"takes": "list"})[0])


def read_takes(
    path: str | Path, *, fps: float | None = None, **options: Any
) -> Iterator[tuple[FileTake, Motion | MotionFormatError]]:
    """Read all skeletons of a USD file in one process."""
    path = Path(path)
    facts, arrays = _scene(path, {"takes": "all", "fps": fps})
    listed = _takes(facts)
    for number, (take, about) in enumerate(zip(listed, facts["takes"], strict=True)):
        start = f"{number} "
        own = {key[len(start) :]: value for key, value in arrays.items() if key.startswith(start)}
        try:
            if "refused" in about:
                raise MotionFormatError(about["refused"], path=path)
            yield take, _finished(about, own, path, take.skeleton, [], fps=fps, **options)
        except MotionFormatError as error:
            if len(listed) == 1:
                raise
            yield take, error


def _scene(path: Path, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray]]:
    require_extra()
    refuse_folder(path, "a USD file")
    usual = {"skeleton": None, "fps": None, "takes": ""}
    return child_result(script.__file__, path, usual | request, library="USD")


def _takes(facts: dict[str, Any]) -> list[FileTake]:
    paths = facts["skeletons"]
    ends = [place.rpartition("/")[2] for place in paths]
    # The skeletons of a scene often have the same name, so name the prims that hold them.
    names = ends if len(set(ends)) == len(ends) else [p.split("/")[-2] for p in paths]
    listed = [FileTake(skeleton=place if len(paths) > 1 else None) for place in paths]
    return named_takes(listed, [""] * len(paths), names)


def _finished(
    facts: dict[str, Any],
    arrays: dict[str, NDArray],
    path: Path,
    skeleton: str | int | None,
    warnings: list[str],
    *,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Motion:
    """Return the motion in meters with y up, with its name, roles and origin."""
    repairs = started(path, up=up, fps=fps, strict=strict)
    motion = _motion(facts, arrays, path, repairs)
    if not facts["animated"]:
        warnings.append("no animation moves this skeleton, so one frame in its rest pose was read")
    name = path.stem if skeleton is None else facts["name"] or path.stem
    motion = replace(motion, skeleton=with_user_roles(motion.skeleton, roles), name=name)
    meters = facts["unit"] if unit is None else unit_from(unit)
    if not 1e-6 <= meters <= 1e6:
        raise MotionFormatError(
            f"metersPerUnit is {meters:g}, which is not valid; set the option unit", path=path
        )
    up = up or facts["up"]
    scale = Unit(meters, "stated by metersPerUnit" if unit is None else "given")
    origin = repairs.origin("usd", scale, up=up, frame_time=1.0 / motion.fps, warnings=warnings)
    return replace(scaled_to_meters(to_y_up(motion, up), meters), origin=origin)


def _motion(facts: dict[str, Any], arrays: dict[str, NDArray], path: Path, repairs) -> Motion:
    def refuse(problem: str) -> NoReturn:
        raise MotionFormatError(problem, path=path)

    parents = arrays["parents"].tolist()
    count = len(parents)
    if parents[0] != -1 or any(not 0 <= parents[k] < k for k in range(1, count)):
        refuse("the joints must have one root, and parents must come before their children")
    rests = _parts(arrays["rest"][None, :, :3, :3], refuse, repairs)[0][0]
    turns, scales = _parts(arrays["turns"], refuse, repairs)
    world, steps = arrays["world"], arrays["steps"]
    world_turn, world_scale = _parts(world[:, None, :3, :3], refuse, repairs)
    frame = NodeTrajectory(world[:, 3, :3], world_turn[:, 0], world_scale[:, 0], world_turn[0, 0])
    leaves = set(range(count)) - set(parents)
    ends = [k for k in range(count - facts["ends"], count) if k in leaves and k > 0]
    tips = set(ends)
    joints = [k for k in range(count) if k not in tips]
    number = {k: place for place, k in enumerate(joints)}
    names = _names(facts)
    return motion_from_nodes(
        [frame],
        (NodeTrajectory(steps[:, k], turns[:, k], scales[:, k], rests[k]) for k in joints),
        names=[names[k] for k in joints],
        parents=[-1, *(number[parents[k]] for k in joints[1:])],
        end_names=[names[k] for k in ends],
        end_parents=[number[parents[k]] for k in ends],
        end_offsets=[steps[0, k] for k in ends],
        frames=len(turns),
        fps=nominal_rate(facts["fps"]),
        refuse=refuse,
    )


def _parts(matrices: NDArray, refuse, repairs: Repairs) -> tuple[NDArray, NDArray]:
    """Return rotations (..., 4) and scales (...) of matrices (..., 3, 3) for row vectors."""
    rows = matrices.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=-1)
    if not np.all(np.isfinite(rows)) or np.any(lengths < 1e-9) or np.any(np.linalg.det(rows) <= 0):
        refuse("a joint is mirrored, flattened or not finite")
    turns = rot.from_matrix(np.swapaxes(rows / lengths[..., None], -1, -2))
    return turns, uniform_scale(lengths, repairs)


def _names(facts: dict[str, Any]) -> list[str]:
    """Return the original joint names, or the last parts of the joint paths if there are none."""
    wanted = facts["names"] or [joint.rpartition("/")[2] for joint in facts["joints"]]
    return unique_names(wanted)


def write(
    motion: Motion | Scene | Sequence[Motion], path: str | Path, *, mesh: bool | str = "body"
) -> None:
    """Write one motion, or several characters with the same rate, as USD; see `motionloom.save`.

    ``.usd`` and ``.usdc`` files are binary, and ``.usda`` files are text. Frame k is at time code
    k. Joint names that are not valid in USD are changed, and the skeleton's ``jointNames``
    attribute contains the original names.
    """
    pxr = require_extra()
    cast = characters(motion)
    motions = [each for _, each in cast]
    if not motions or any(len(each) == 0 for each in motions):
        raise InvalidInput(
            "a USD file needs at least one motion, and each motion at least one frame"
        )
    rates = {each.fps for each in motions}
    if len(rates) > 1:
        raise InvalidInput(
            f"motions in one USD file must have the same rate; got {sorted(rates)}. Resample "
            "them first"
        )
    stage = pxr.Usd.Stage.CreateInMemory()
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.y)
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(motions[0].fps)
    stage.SetFramesPerSecond(motions[0].fps)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(max(len(each) for each in motions) - 1)
    top = pxr.UsdGeom.Xform.Define(stage, "/Characters")
    stage.SetDefaultPrim(top.GetPrim())
    kind = figure_kind(mesh)
    shared = _shared_figures(pxr, stage, motions, kind)
    shown = [name or "Character" for name, _ in cast]
    names = unique_names((_identifier(pxr, name) for name in shown), taken=["Looks"])
    for number, each in enumerate(motions):
        place = f"/Characters/{names[number]}"
        figure = shared.get(each.skeleton.key)
        _add_character(pxr, stage, shown[number], each, place, figure, kind)
        if kind != "none":
            _paint(pxr, stage, f"{place}/{FIGURE}", number % len(COLORS))
    with atomic_write(path) as scratch:
        if not stage.GetRootLayer().Export(str(scratch)):
            raise InvalidInput(f"USD could not write {path}")


def require_extra():
    """Return pxr with its modules. Raise `MissingExtra` if usd-core is not installed."""
    try:
        import pxr
        from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdShade, UsdSkel, Vt  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "USD files need usd-core. Install it with: pip install 'motionloom[usd]'"
        ) from None
    return pxr


def _shared_figures(pxr, stage, motions: Sequence[Motion], kind: str) -> dict[str, str]:
    """Map skeleton keys to the paths of figures that several characters share."""
    places: dict[str, str] = {}
    for key, count in Counter(each.skeleton.key for each in motions).items():
        if count > 1:
            places[key] = f"/Figures/Figure_{len(places) + 1}"
            stage.CreateClassPrim("/Figures")
            example = next(each for each in motions if each.skeleton.key == key)
            _add_figure(pxr, stage, example, places[key], kind)
    return places


def _add_character(
    pxr, stage, name: str, motion: Motion, place: str, shared: str | None, kind: str
) -> None:
    holder = pxr.UsdSkel.Root.Define(stage, place)
    holder.GetPrim().SetDisplayName(name)
    points = motion.positions(end_sites=True).reshape(-1, 3)
    extent = np.stack([points.min(axis=0), points.max(axis=0)]).astype(np.float32)
    holder.CreateExtentAttr(pxr.Vt.Vec3fArray.FromNumpy(extent))
    if shared is None:
        _add_figure(pxr, stage, motion, place, kind)
    else:
        holder.GetPrim().GetReferences().AddInternalReference(shared)
    _add_animation(pxr, stage, motion, f"{place}/Animation")
    binding = pxr.UsdSkel.BindingAPI.Apply(stage.OverridePrim(f"{place}/Skeleton"))
    binding.CreateAnimationSourceRel().SetTargets([f"{place}/Animation"])


def _add_figure(pxr, stage, motion: Motion, place: str, kind: str) -> None:
    """Add a skeleton and its figure."""
    skeleton = motion.skeleton
    figure = figure_mesh(skeleton, kind=kind, example=motion)
    bones = pxr.UsdSkel.Skeleton.Define(stage, f"{place}/Skeleton")
    paths = _joint_paths(pxr, skeleton)
    frames = rest_pose(skeleton)
    unturned = np.tile(rot.IDENTITY, (len(skeleton.end_names), 1))
    rest_turns = np.concatenate([skeleton.rest_rotations, unturned])
    rest_places = np.concatenate([frames.positions[:1], skeleton.point_offsets[1:]])
    local = transform_matrices(rest_places, rest_turns)
    # USD uses row vectors, so its matrices are transposed.
    row_vectors = lambda m: pxr.Vt.Matrix4dArray.FromNumpy(  # noqa: E731
        np.ascontiguousarray(np.swapaxes(m, 1, 2))
    )
    bones.CreateJointsAttr(paths)
    bones.CreateJointNamesAttr(list(skeleton.point_names))
    bind = frames.matrices() if figure is None else figure.bind
    bones.CreateBindTransformsAttr(row_vectors(bind))
    bones.CreateRestTransformsAttr(row_vectors(local))
    bones.GetPrim().SetCustomDataByKey(script.END_SITES, len(skeleton.end_names))
    if figure is not None:
        _add_mesh(pxr, stage, figure, place)


def _add_animation(pxr, stage, motion: Motion, place: str) -> None:
    skeleton = motion.skeleton
    joints = len(skeleton)
    animation = pxr.UsdSkel.Animation.Define(stage, place)
    animation.CreateJointsAttr(_joint_paths(pxr, skeleton)[:joints])
    scales = animation.CreateScalesAttr()
    scales.Set(pxr.Vt.Vec3hArray.FromNumpy(np.ones((joints, 3), np.float16)))
    turns = animation.CreateRotationsAttr()
    places = animation.CreateTranslationsAttr()
    quaternions = np.ascontiguousarray(rot.unroll(motion.rotations)[..., [1, 2, 3, 0]])
    steps = skeleton.offsets.astype(np.float32)
    for frame in range(len(motion)):
        turns.Set(pxr.Vt.QuatfArray.FromNumpy(quaternions[frame]), frame)
        if motion.translations is not None:
            steps = np.array(motion.translations[frame])
        steps[0] = motion.root[frame]
        places.Set(pxr.Vt.Vec3fArray.FromNumpy(steps), frame)


def _add_mesh(pxr, stage, figure: SkinnedMesh, place: str) -> None:
    mesh = pxr.UsdGeom.Mesh.Define(stage, f"{place}/{FIGURE}")
    mesh.CreatePointsAttr(pxr.Vt.Vec3fArray.FromNumpy(figure.vertices))
    mesh.CreateNormalsAttr(pxr.Vt.Vec3fArray.FromNumpy(figure.normals))
    mesh.SetNormalsInterpolation(pxr.UsdGeom.Tokens.vertex)
    mesh.CreateFaceVertexCountsAttr([3] * len(figure.triangles))
    corners = np.ascontiguousarray(figure.triangles.reshape(-1), np.int32)
    mesh.CreateFaceVertexIndicesAttr(pxr.Vt.IntArray.FromNumpy(corners))
    mesh.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)
    bounds = np.stack([figure.vertices.min(axis=0), figure.vertices.max(axis=0)])
    mesh.CreateExtentAttr(pxr.Vt.Vec3fArray.FromNumpy(bounds))
    binding = pxr.UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([f"{place}/Skeleton"])
    count = figure.joints.shape[1]
    joints = np.ascontiguousarray(figure.joints.reshape(-1), np.int32)
    binding.CreateJointIndicesPrimvar(False, count).Set(pxr.Vt.IntArray.FromNumpy(joints))
    weights = np.ascontiguousarray(figure.weights.reshape(-1), np.float32)
    binding.CreateJointWeightsPrimvar(False, count).Set(pxr.Vt.FloatArray.FromNumpy(weights))
    binding.CreateGeomBindTransformAttr(pxr.Gf.Matrix4d(1.0))


def _paint(pxr, stage, place: str, number: int) -> None:
    """Set the color of a figure, as a material and as a display color."""
    color = pxr.Gf.Vec3f(*COLORS[number])
    figure = stage.OverridePrim(place)
    pxr.UsdGeom.Mesh(figure).CreateDisplayColorAttr([color])
    look = f"/Characters/Looks/Figure_{number + 1}"
    if not stage.GetPrimAtPath(look):
        stage.DefinePrim("/Characters/Looks", "Scope")
        material = pxr.UsdShade.Material.Define(stage, look)
        surface = pxr.UsdShade.Shader.Define(stage, f"{look}/Surface")
        surface.CreateIdAttr("UsdPreviewSurface")
        surface.CreateInput("diffuseColor", pxr.Sdf.ValueTypeNames.Color3f).Set(color)
        surface.CreateInput("roughness", pxr.Sdf.ValueTypeNames.Float).Set(0.8)
        material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
    material = pxr.UsdShade.Material(stage.GetPrimAtPath(look))
    pxr.UsdShade.MaterialBindingAPI.Apply(figure).Bind(material)


def _joint_paths(pxr, skeleton: Skeleton) -> list[str]:
    """Return paths of joints and end sites with valid USD names, as in ``Hips/Spine/Head``."""
    names = unique_names(_identifier(pxr, name) for name in skeleton.point_names)
    paths: list[str] = []
    for plain, parent in zip(names, skeleton.point_parents, strict=True):
        paths.append(plain if parent < 0 else f"{paths[parent]}/{plain}")
    return paths


def _identifier(pxr, name: str) -> str:
    """Return a valid USD name: letters, digits and underscores, not starting with a digit."""
    return pxr.Tf.MakeValidIdentifier(f"_{name}" if name[:1].isdigit() else name)
