"""Reader for glTF files, ``.glb`` and ``.gltf``.

The reader reads the nodes of one skin and one animation. Meshes and materials are ignored. The
rest pose is that of the nodes, or of the skin where both disagree. By definition, glTF is in meters
with y up. Animation curves have keys at arbitrary times and are sampled at a constant rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import (
    Repairs,
    nominal_rate,
    scaled_to_meters,
    started,
    to_y_up,
    unique_names,
    with_user_roles,
)
from motionloom.formats.gltf.container import GltfFile
from motionloom.formats.gltf.joint_tree import (
    JointTree,
    joint_tree,
    node_depths,
    node_parents,
    node_scale,
    node_transform,
    skin_members,
)
from motionloom.formats.gltf.skin_rest import rest_of_skin
from motionloom.formats.inference import Unit, unit_from
from motionloom.formats.scene_nodes import NodeTrajectory, motion_from_nodes
from motionloom.formats.takes import FileTake, check_takes, choices, named_takes
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.kinematics.forward import global_rotations
from motionloom.motion.rotations import quaternions as rot

_USUAL_RATE = 30.0
_SLOWEST, _FASTEST = 10.0, 1000.0  # plausible frame rates; other key spacings are ignored
_LATE = 0.5  # if the first key is later than this many seconds, a warning is added
_STEADY = 0.02  # tolerance of key times in single precision, as a fraction of a frame
_TRUNK = {"hips": "hips", "spine": "spine", "chest": "chest", "neck": "neck", "head": "head"}
_LIMBS = {
    "collar": "Shoulder", "shoulder": "UpperArm", "elbow": "LowerArm", "wrist": "Hand",
    "hip": "UpperLeg", "knee": "LowerLeg", "ankle": "Foot", "foot": "Toes",
}  # fmt: skip
# Role to human bone of VRM.
HUMAN_BONES = _TRUNK | {
    f"{side}_{part}": f"{side}{name}" for side in ("left", "right") for part, name in _LIMBS.items()
}
_KINDS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}


@dataclass(frozen=True)
class AnimationCurve:
    """Keys of one node's translation, rotation (``wxyz``) or scale.

    Attributes
    ----------
    times : ndarray, shape (K,)
        Times of the keys in seconds, increasing.
    values : ndarray, shape (K, 3) or (K, 4)
        Values at the keys.
    tangents : ndarray, shape (K, 2, 3) or (K, 2, 4), or None
        In-tangents and out-tangents of a cubic spline.
    step : bool
        True if values are constant between keys.
    """

    times: NDArray[np.float64]
    values: NDArray[np.float64]
    tangents: NDArray[np.float64] | None
    step: bool

    def at(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at times (T,), shape (T, 3) or (T, 4), constant outside the keys."""
        keys = self.times
        if len(keys) == 1:
            return np.repeat(self.values, len(times), axis=0)
        before = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, len(keys) - 2)
        span = keys[before + 1] - keys[before]
        share = np.clip((times - keys[before]) / span, 0.0, 1.0)
        if self.step:
            return self.values[np.where(share >= 1.0, before + 1, before)]
        a, b = self.values[before], self.values[before + 1]
        if self.tangents is not None:
            out = self.tangents[before, 1] * span[:, None]
            into = self.tangents[before + 1, 0] * span[:, None]
            return self._hermite(a, out, b, into, share[:, None])
        if self.values.shape[1] == 4:
            return rot.slerp(a, b, share)
        return a + share[:, None] * (b - a)

    def _hermite(self, a, out, b, into, s) -> NDArray[np.float64]:
        values = (
            (2 * s**3 - 3 * s**2 + 1) * a
            + (s**3 - 2 * s**2 + s) * out
            + (3 * s**2 - 2 * s**3) * b
            + (s**3 - s**2) * into
        )
        return rot.normalize(values) if values.shape[1] == 4 else values


Curves = dict[tuple[int, str], AnimationCurve]  # by node and property


def read_curves(file: GltfFile, animation: dict, wanted: set[int]) -> Curves:
    """Read the curves of the `wanted` nodes, by (node, "translation" | "rotation" | "scale")."""
    channels, samplers = animation.get("channels"), animation.get("samplers")
    if not isinstance(channels, list) or not isinstance(samplers, list):
        file.refuse("an animation must have channels and samplers")
    curves: Curves = {}
    for channel in channels:
        target = channel.get("target") if isinstance(channel, dict) else None
        if not isinstance(target, dict):
            file.refuse("a channel of the animation has no target")
        node, way = target.get("node"), target.get("path")
        if not isinstance(way, str):
            file.refuse(f"the path of an animation channel must be a string; found {str(way)[:20]}")
        if way not in _KINDS or not isinstance(node, int) or node not in wanted:
            continue
        sampler = samplers[file.index("samplers", channel.get("sampler"), len(samplers))]
        if not isinstance(sampler, dict):
            file.refuse("a sampler of the animation is not an object")
        if (node, way) in curves:
            file.refuse(f"the animation has two channels for the {way} of node {node}")
        if not sampler.keys() - {"interpolation"}:
            continue  # some exporters of VRM Animation write empty samplers for unmoved bones
        curves[node, way] = _curve(file, sampler, way)
    return curves


def steady_times(
    curves: Curves, fps: float | None, stated: float | None
) -> tuple[NDArray[np.float64], float]:
    """Return the times of all frames from 0 to the last key, and the frame rate.

    An animation begins at time 0. Before its first key, a curve has the value of that key, as in
    the glTF 2.0 specification, three.js and Blender. Exporters often put the first key at frame 1.

    Parameters
    ----------
    curves : dict
        Curves by node and property.
    fps : float or None
        Rate set by the user.
    stated : float or None
        Rate in the extras of the skin, where motionloom's writer puts it. It is needed for motions
        of one frame.
    """
    if not curves:
        return np.zeros(1), fps or stated or _USUAL_RATE
    start, end, finest = _extent(curves)
    if fps is None:
        fps = _key_rate(finest) or stated or _USUAL_RATE
    count = int(np.floor((end - start) * fps + _STEADY)) + 1
    times = start + np.arange(count) / fps
    # Frames that coincide with a key, up to rounding, use the exact time of the key.
    nearest = np.clip(np.searchsorted(finest, times - 0.5 / fps), 0, len(finest) - 1)
    close = np.abs(finest[nearest] - times) * fps < _STEADY
    return np.where(close, finest[nearest], times), fps


def frame_count(curves: Curves, fps: float | None) -> float:
    """Return the approximate number of frames in `steady_times`."""
    if not curves:
        return 1.0
    start, end, finest = _extent(curves)
    return (end - start) * (fps or _key_rate(finest) or _USUAL_RATE) + 1.0


def _extent(
    curves: Curves,
) -> tuple[float, float, NDArray[np.float64]]:
    """Return the first and last time of the animation, and the times of the densest curve."""
    times = [curve.times for curve in curves.values()]
    start = min(0.0, *(float(t[0]) for t in times))
    return start, max(float(t[-1]) for t in times), max(times, key=len)


def _key_rate(times: NDArray[np.float64]) -> float | None:
    """Return the frame rate of the keys, based on the median spacing if some keys are missing."""
    if len(times) < 2:
        return None
    spacing = float(np.median(np.diff(times)))
    even = (times[-1] - times[0]) / (len(times) - 1)
    if np.abs(np.diff(times) - even).max() < _STEADY * even + 1e-4 * spacing:
        spacing = even
    rate = nominal_rate(1.0 / spacing)
    return rate if _SLOWEST <= rate <= _FASTEST else None


def _curve(file: GltfFile, sampler: dict, way: str) -> AnimationCurve:
    times = file.accessor(sampler.get("input"), "SCALAR")[:, 0]
    values = file.accessor(sampler.get("output"), _KINDS[way])
    how = sampler.get("interpolation", "LINEAR")
    if how not in ("LINEAR", "STEP", "CUBICSPLINE"):
        file.refuse(f"interpolation must be LINEAR, STEP or CUBICSPLINE, found {str(how)[:20]!r}")
    keys = 3 if how == "CUBICSPLINE" else 1
    if len(values) != keys * len(times):
        file.refuse(
            f"a {way} curve with {len(times)} keys needs {keys * len(times)} values; found "
            f"{len(values)}"
        )
    if np.any(np.diff(times) <= 0.0):
        file.refuse(f"the times of a {way} curve do not increase")
    if way == "rotation":
        values = values[:, [3, 0, 1, 2]]
    tangents = None
    if how == "CUBICSPLINE":
        triples = values.reshape(len(times), 3, values.shape[1])
        tangents, values = triples[:, [0, 2]], triples[:, 1]
    if way == "rotation":
        length = np.linalg.norm(values, axis=1, keepdims=True)
        if np.any(length < 1e-6):
            file.refuse("a rotation is the zero quaternion")
        if tangents is None:
            values = values / length
    return AnimationCurve(times, values, tangents, how == "STEP")


_ROOM = 4_000_000  # joints times frames that any file may have
_GROWTH = 64  # the same limit for files with many keys, per key
_MOST_POSED = 5_000_000  # nodes times animations


def read(
    path: str | Path,
    *,
    skeleton: str | int | None = None,
    animation: str | int | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Motion:
    """Read one motion from a glTF file; see `motionloom.load` for the options.

    In a file without a skin, the animated nodes are read. The default frame rate is that of the
    keys, or 30 fps if there are no keys. The root path includes the motion of the nodes above the
    root.
    """
    file = GltfFile(Path(path))
    return _read(file, skeleton, animation, fps=fps, unit=unit, up=up, roles=roles, strict=strict)


def _read(
    file: GltfFile,
    skeleton: str | int | None,
    animation: str | int | None,
    *,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Motion:
    repairs = started(file.path, up=up, fps=fps, strict=strict)
    path = repairs.path
    warnings: list[str] = []
    chosen_skin = _chosen(file, "skins", skeleton, warnings)
    chosen = _chosen(file, "animations", animation, warnings)
    human = human_bones(file)
    if chosen_skin is not None:
        members = skin_members(file, chosen_skin)
        # The human bones of a VRM file are part of its body even if they move no vertex.
        if set(members) & set(human.values()):
            members = list(dict.fromkeys([*members, *human.values()]))
    elif human:
        members = list(dict.fromkeys(human.values()))
    else:
        members = _animated(file, chosen)
        repairs.add(
            "the file has no skin, so the nodes that the animation moves were read as the skeleton"
        )
    everything = set(range(len(file.items("nodes"))))
    curves = {} if chosen is None else read_curves(file, chosen, everything)
    tree = joint_tree(file, members, {node for node, _ in curves})
    used = set(tree.joints) | set(tree.above) | set(tree.ends)
    curves = {key: curve for key, curve in curves.items() if key[0] in used}
    if not curves:
        warnings.append("no animation moves this skeleton, so one frame in its rest pose was read")
    _check_room(file, curves, fps, len(tree.joints))
    late = min((float(curve.times[0]) for curve in curves.values()), default=0.0)
    if late > _LATE:
        warnings.append(
            f"the first key is at {late:.2f} s; the frames before it hold its pose, as the glTF "
            f"specification requires"
        )
    times, rate = steady_times(curves, fps, _stated_rate(chosen_skin))
    motion = _motion(file, tree, curves, times, rate, repairs)
    motion = _rest_of_skin(file, tree, chosen_skin, motion, warnings)
    name = path.stem if skeleton is None else str((chosen_skin or {}).get("name") or path.stem)
    if roles is None and human:
        roles = _human_roles(human, tree, motion.skeleton)
    motion = replace(motion, skeleton=with_user_roles(motion.skeleton, roles), name=name)
    meters = 1.0 if unit is None else unit_from(unit)
    motion = scaled_to_meters(to_y_up(motion, up or "y"), meters)
    height = body_height(motion.skeleton)
    if height is not None and not 0.5 <= height <= 4.0:
        warnings.append(f"the figure is {height:.3g} m tall. If that is wrong, set the option unit")
    scale = Unit(meters, "glTF files are in meters" if unit is None else "given")
    origin = repairs.origin("gltf", scale, up=up or "y", frame_time=1.0 / rate, warnings=warnings)
    return replace(motion, origin=origin)


def takes(path: str | Path) -> list[FileTake]:
    """List the takes of a glTF file, one for each animation and skeleton that it moves."""
    return _takes(GltfFile(Path(path)))


def read_takes(
    path: str | Path, **options: Any
) -> Iterator[tuple[FileTake, Motion | MotionFormatError]]:
    """Read all takes of a glTF file, which is parsed once."""
    file = GltfFile(Path(path))
    listed = _takes(file)
    for take in listed:
        which = (take.skeleton, take.animation) if len(listed) > 1 else (None, None)
        try:
            yield take, _read(file, *which, **options)
        except MotionFormatError as error:
            if len(listed) == 1:
                raise
            yield take, error


def _takes(file: GltfFile) -> list[FileTake]:
    animations = file.items("animations")
    check_takes(len(animations), file.path)
    if len(animations) * len(file.items("nodes")) > _MOST_POSED:
        file.refuse(
            f"the file has {len(animations)} animations of {len(file.items('nodes'))} nodes, which "
            "is too many; save them in several files"
        )
    names = [str(item.get("name", number)) for number, item in enumerate(animations)]
    moved = [_moved_nodes(item) for item in animations]
    figures = _figures(file)
    skins = [str(item.get("name", number)) for number, item in enumerate(file.items("skins"))]
    by_name, skins_by_name = choices(names), choices(skins)
    listed: list[FileTake] = []
    of_animations, of_skins = [], []
    for number, nodes in enumerate(moved):
        for skin, tree in figures or [(-1, nodes)]:
            if nodes & tree:
                check_takes(len(listed) + 1, file.path)
                listed.append(
                    FileTake(
                        animation=by_name[number],
                        skeleton=skins_by_name[skin] if len(figures) > 1 else None,
                        joints=len(nodes if skin < 0 else set(_members(file, skin))),
                        seconds=_stated_end(file, animations[number]),
                    )
                )
                of_animations.append(names[number])
                of_skins.append("" if skin < 0 else skins[skin])
    return named_takes(listed or [FileTake()], of_animations or [""], of_skins or [""])


def _members(file: GltfFile, skin: int) -> list[int]:
    return skin_members(file, file.item("skins", skin))


def _figures(file: GltfFile) -> list[tuple[int, set[int]]]:
    """Return one skin for each skeleton, and the nodes of the skeleton and above it.

    Skins belong to the same skeleton if they share joints, or if the joints of one are below those
    of the other, as with separate meshes for hair and clothes.
    """
    parents = node_parents(file)
    node_depths(file, parents)  # raises an error for cycles
    listed: list[tuple[int, set[int], set[int]]] = []
    for skin in range(len(file.items("skins"))):
        joints = set(_members(file, skin))
        above: set[int] = set()
        for joint in joints:
            node = joint
            while node >= 0 and node not in above:
                above.add(node)
                node = parents[node]
        for number, (first, others, over) in enumerate(listed):
            if joints & over or others & above:
                listed[number] = (first, others | joints, over | above)
                break
        else:
            listed.append((skin, joints, above))
    return [(skin, above) for skin, _, above in listed]


def _moved_nodes(animation: dict[str, Any]) -> set[int]:
    """Return the nodes that an animation moves, without reading its curves."""
    channels = animation.get("channels")
    targets = [
        channel["target"]
        for channel in (channels if isinstance(channels, list) else [])
        if isinstance(channel, dict) and isinstance(channel.get("target"), dict)
    ]
    return {
        target["node"]
        for target in targets
        if isinstance(target.get("node"), int) and target.get("path") in ("translation", "rotation")
    }


def _stated_end(file: GltfFile, animation: dict[str, Any]) -> float | None:
    """Return the time of the last key, as stated by the accessors."""
    accessors, ends = file.items("accessors"), []
    samplers = animation.get("samplers")
    for sampler in samplers if isinstance(samplers, list) else []:
        index = sampler.get("input") if isinstance(sampler, dict) else None
        if isinstance(index, int) and 0 <= index < len(accessors):
            last = accessors[index].get("max")
            if isinstance(last, list) and last and isinstance(last[0], (int, float)):
                ends.append(float(last[0]))
    return max(ends, default=None)


def human_bones(file: GltfFile) -> dict[str, int]:
    """Return the node of each human bone of a VRM model or a VRM Animation, by bone name."""
    extensions = file.document.get("extensions")
    nodes = len(file.items("nodes"))
    bones: dict[str, int] = {}
    for name in ("VRMC_vrm", "VRMC_vrm_animation", "VRM"):
        extension = extensions.get(name) if isinstance(extensions, dict) else None
        humanoid = extension.get("humanoid") if isinstance(extension, dict) else None
        listed = humanoid.get("humanBones") if isinstance(humanoid, dict) else None
        if isinstance(listed, list):  # VRM 0
            listed = {item.get("bone"): item for item in listed if isinstance(item, dict)}
        for bone, item in (listed if isinstance(listed, dict) else {}).items():
            node = item.get("node") if isinstance(item, dict) else None
            if isinstance(bone, str) and type(node) is int and 0 <= node < nodes:
                bones.setdefault(bone, node)
    return bones


def _human_roles(human: Mapping[str, int], tree: JointTree, skeleton: Skeleton) -> dict[str, str]:
    """Return the roles of joints that are human bones."""
    number = {node: joint for joint, node in enumerate(tree.joints)}
    return {
        role: skeleton.names[number[human[bone]]]
        for role, bone in HUMAN_BONES.items()
        if human.get(bone) in number
    }


def _motion(
    file: GltfFile,
    tree: JointTree,
    curves: Curves,
    times: NDArray[np.float64],
    rate: float,
    repairs: Repairs,
) -> Motion:
    def moving(node: int) -> NodeTrajectory:
        rest = node_transform(file, node, repairs)
        parts = {
            "translation": rest.translation[None],
            "rotation": rest.rotation[None],
            "scale": np.array([rest.scale]),
        }
        for way in parts:
            if (node, way) in curves:
                parts[way] = curves[node, way].at(times)
                if way == "scale":
                    parts[way] = node_scale(file, parts[way], node, repairs)
        return NodeTrajectory(
            parts["translation"], parts["rotation"], parts["scale"], rest.rotation
        )

    names, end_names = joint_names(file, tree, repairs)
    return motion_from_nodes(
        [moving(node) for node in tree.above],
        (moving(node) for node in tree.joints),
        names=names,
        parents=tree.parents,
        end_names=end_names,
        end_parents=tree.end_parents,
        end_offsets=[node_transform(file, node, repairs).translation for node in tree.ends],
        frames=len(times),
        fps=rate,
        refuse=file.refuse,
    )


def _rest_of_skin(
    file: GltfFile, tree: JointTree, skin: dict[str, Any] | None, motion: Motion, warnings: list
) -> Motion:
    """Return the motion with the rest pose in which the mesh was modeled."""
    nodes = global_rotations(motion.skeleton.rest_rotations[None], motion.skeleton.parents)[0]
    rest = rest_of_skin(file, tree, skin, nodes.astype(np.float64))
    if rest is None:
        return motion
    warnings.append("the nodes are not in the pose of the mesh; the rest pose is that of the mesh")
    return replace(motion, skeleton=replace(motion.skeleton, rest=rest))


def joint_names(file: GltfFile, tree: JointTree, repairs: Repairs) -> tuple[list[str], list[str]]:
    """Return unique names for the joints and the end sites."""
    nodes = [*tree.joints, *tree.ends]
    given = [str(file.item("nodes", node).get("name") or f"node_{node}") for node in nodes]
    names = unique_names(given)
    for old, new in zip(given, names, strict=True):
        if old != new:
            repairs.add(f"the duplicate joint {old[:40]!r} was renamed {new[:40]!r}")
    return names[: len(tree.joints)], names[len(tree.joints) :]


def _chosen(
    file: GltfFile, kind: str, which: str | int | None, warnings: list[str]
) -> dict[str, Any] | None:
    """Find a skin or animation by name or index. The default is the first one, or None."""
    items = file.items(kind)
    names = [str(item.get("name", number)) for number, item in enumerate(items)]
    if which is None:
        if len(items) > 1 and not (kind == "skins" and _same_joints(items)):
            others = ", ".join(names[1:9])
            option = "skeleton" if kind == "skins" else "animation"
            warnings.append(
                f"the first of {len(items)} {kind}, {names[0]!r}, was read; the others are "
                f"{others}. Choose one with the option {option}"
            )
        return items[0] if items else None
    number = -1
    if which in names:
        number = names.index(str(which))
    elif isinstance(which, int) or which.isdecimal():  # a number typed on the command line
        number = int(which)
    if not 0 <= number < len(items):
        shown = ", ".join(names[:20]) or "none"
        raise MotionFormatError(
            f"there is no {kind[:-1]} {which!r}. The file has {shown}", path=file.path
        )
    return items[number]


def _same_joints(skins: list[dict[str, Any]]) -> bool:
    """Return whether all skins share a skeleton, as with separate meshes for hair and clothes."""
    first = skins[0].get("joints")
    base = set(map(str, first)) if isinstance(first, list) else set()
    return all(
        isinstance(skin.get("joints"), list) and base & set(map(str, skin["joints"]))
        for skin in skins
    )


def _animated(file: GltfFile, animation: dict[str, Any] | None) -> list[int]:
    """Return the animated nodes, for files without a skin."""
    if animation is None:
        file.refuse("the file has neither a skin nor an animation")
    everything = set(range(len(file.items("nodes"))))
    nodes = [node for node, _ in read_curves(file, animation, everything)]
    if not nodes:
        file.refuse("the file has no skin, and its animation moves no node")
    return list(dict.fromkeys(nodes))


def _stated_rate(skin: dict[str, Any] | None) -> float | None:
    extras = (skin or {}).get("extras")
    rate = extras.get("fps") if isinstance(extras, dict) else None
    if isinstance(rate, (int, float)) and not isinstance(rate, bool) and 1e-3 <= rate <= 1e6:
        return float(rate)
    return None


def _check_room(file: GltfFile, curves, fps: float | None, joints: int) -> None:
    """Raise an error if widely spaced keys would require too many frames."""
    keys = sum(len(curve.times) for curve in curves.values())
    frames = frame_count(curves, fps)
    if frames * joints > max(_ROOM, _GROWTH * keys):
        file.refuse(
            f"the animation would have {frames:.3g} frames, which is too many; set a lower fps"
        )
