# SPDX-License-Identifier: GPL-3.0-or-later
"""Armatures of Blender: their rest pose, their poses over time, and actions with new motion."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Euler, Matrix, Quaternion

from .poses import (
    Placement,
    RestPose,
    UnusableArmature,
    inverse,
    pose_bases,
    quaternion,
    rotate,
)

_FEWEST = 10  # deforming bones: with fewer, all bones are joints
_MOST = 1000  # joints that a studio takes
_TOUCH = 1e-3  # units of the armature
ORIGINAL = "ORG-"  # prefix of the bones of the metarig in a rig that Rigify has generated


def rest_pose(figure: bpy.types.Object) -> RestPose:
    """Joints of an armature object at rest: its largest tree of deforming bones."""
    parents = joint_parents(figure)
    bones = list(parents)
    armature = figure.data.bones
    return RestPose(
        tuple(bones),
        np.array([bones.index(above) if above else -1 for above in parents.values()]),
        np.array([armature[name].head_local for name in bones], np.float64),
        np.array([armature[name].tail_local for name in bones], np.float64),
        np.array([quaternion(np.array(armature[name].matrix_local)[:3, :3]) for name in bones]),
        Placement.from_matrix(np.array(figure.matrix_world), figure.name),
    )


def joint_parents(figure: bpy.types.Object) -> dict[str, str]:
    """The bones that are joints, each with the joint above it ("" for the root), parents first."""
    bones = figure.data.bones
    deforming = {bone.name for bone in bones if bone.use_deform}
    if is_rigify(figure):
        chosen = {bone.name for bone in bones if bone.name.startswith(ORIGINAL)}
    else:
        chosen = deforming if len(deforming) >= _FEWEST else {bone.name for bone in bones}
    above = {name: _joint_above(bones[name], chosen) for name in chosen}
    if is_rigify(figure):  # its mechanism separates the spine
        for name in [name for name, parent in above.items() if not parent]:
            above[name] = _touching(bones, name, chosen)
    trees: dict[str, list[tuple[int, str]]] = {}
    for name in (bone.name for bone in bones if bone.name in chosen):
        depth, top = 0, name
        while above[top] and depth <= len(chosen):
            depth, top = depth + 1, above[top]
        trees.setdefault(top, []).append((depth, name))
    if not trees:
        raise UnusableArmature(f"{figure.name} has no bones")
    largest = sorted(max(trees.values(), key=len))
    if len(largest) > _MOST:
        raise UnusableArmature(
            f"{figure.name} has {len(largest)} deforming bones; at most {_MOST} are sent"
        )
    return {name: above[name] for _, name in largest}


def is_rigify(figure: bpy.types.Object) -> bool:
    """Whether an armature is a control rig that Rigify has generated."""
    bones = figure.data.bones
    return all(name in bones for name in ("torso", "ORG-spine", "thigh_fk.L", "upper_arm_fk.L"))


def _touching(bones, name: str, chosen: set[str]) -> str:
    """The joint at whose tail another one begins, or an empty name."""
    head = bones[name].head_local
    near = min(
        (other for other in chosen if other != name),
        key=lambda other: (bones[other].tail_local - head).length,
        default="",
    )
    return near if near and (bones[near].tail_local - head).length < _TOUCH else ""


def sampled(
    context: bpy.types.Context, figure: bpy.types.Object, rest: RestPose, frames: range
) -> tuple[np.ndarray, np.ndarray]:
    """Local rotations (T, J, 4) and root (T, 3) of an armature, as the studio has them.

    Poses are those that Blender shows: constraints, drivers and modifiers of curves count.
    """
    scene = context.scene
    before, fraction = scene.frame_current, scene.frame_subframe
    turns = np.empty((len(frames), len(rest.names), 4))
    heads = np.empty((len(frames), 3))
    start = Placement.from_matrix(np.array(figure.matrix_world), figure.name)
    try:
        for number, frame in enumerate(frames):
            scene.frame_set(frame)
            shown = figure.evaluated_get(context.evaluated_depsgraph_get())
            # An object that moves itself carries its bones along.
            carried = Matrix(start_matrix(start)).inverted() @ shown.matrix_world
            bones = shown.pose.bones
            for joint, name in enumerate(rest.names):
                turns[number, joint] = (carried @ bones[name].matrix).to_quaternion()
            heads[number] = (carried @ bones[rest.names[0]].matrix).translation
    finally:
        scene.frame_set(before, subframe=fraction)
    return rest.studio_poses(turns, heads)


def start_matrix(placement: Placement) -> list[list[float]]:
    """The world matrix of a placement."""
    made = Matrix.LocRotScale(
        placement.position, Quaternion(placement.rotation), [placement.scale] * 3
    )
    return [list(row) for row in made]


# --- actions --------------------------------------------------------------------------------


def new_action(figure: bpy.types.Object, name: str, previous: str = "") -> bpy.types.Action:
    """A new action of an armature; one called `previous` is emptied and used again.

    The action that the armature had stays in the file.
    """
    animated = figure.animation_data or figure.animation_data_create()
    action = bpy.data.actions.get(previous) if previous else None
    if action is None:
        if animated.action is not None:
            animated.action.use_fake_user = True
        action = bpy.data.actions.new(name)
    else:
        _clear(action)
    animated.action = action
    return action


def curves_of(figure: bpy.types.Object, action: bpy.types.Action):
    """The F-curves of an action: a channel bag since Blender 4.4, the action itself before."""
    if not hasattr(action, "slots"):
        return action
    animated = figure.animation_data
    slot = animated.action_slot
    if slot is None or slot not in list(action.slots):
        slot = action.slots[0] if action.slots else action.slots.new("OBJECT", figure.name)
        animated.action_slot = slot
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)


def _clear(action: bpy.types.Action) -> None:
    if hasattr(action, "slots"):
        for layer in action.layers:
            for strip in layer.strips:
                for bag in strip.channelbags:
                    bag.fcurves.clear()
    else:
        action.fcurves.clear()


def write_curve(
    curves, path: str, index: int, frames: np.ndarray, values: np.ndarray, group: str
) -> None:
    """One F-curve with linear keys; `curves` as `curves_of` gives them."""
    try:
        curve = curves.fcurves.new(path, index=index, group_name=group)
    except TypeError:  # before Blender 5.0, or of an action itself
        try:
            curve = curves.fcurves.new(path, index=index, action_group=group)
        except TypeError:
            curve = curves.fcurves.new(path, index=index)
    keys = curve.keyframe_points
    keys.add(len(frames))
    keys.foreach_set("co", np.stack([frames, values], axis=1).astype(np.float32).ravel())
    linear = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items["LINEAR"].value
    keys.foreach_set("interpolation", np.full(len(frames), linear, np.int32))
    curve.update()


def write_rotations(curves, bone: bpy.types.PoseBone, frames: np.ndarray, turns: np.ndarray):
    """Rotations (T, 4) of a pose bone, in its own rotation mode."""
    base = bone.path_from_id()
    if bone.rotation_mode == "QUATERNION":
        values, path = turns, f"{base}.rotation_quaternion"
    elif bone.rotation_mode == "AXIS_ANGLE":
        pairs = [Quaternion(turn).to_axis_angle() for turn in turns]
        values = np.array([[angle, *axis] for axis, angle in pairs])
        path = f"{base}.rotation_axis_angle"
    else:
        found, last = [], Euler((0.0, 0.0, 0.0), bone.rotation_mode)
        for turn in turns:
            last = Quaternion(turn).to_euler(bone.rotation_mode, last)
            found.append(tuple(last))
        values, path = np.array(found), f"{base}.rotation_euler"
    for index in range(values.shape[1]):
        write_curve(curves, path, index, frames, values[:, index], bone.name)


def write_locations(curves, bone: bpy.types.PoseBone, frames: np.ndarray, places: np.ndarray):
    """Locations (T, 3) of a pose bone."""
    path = f"{bone.path_from_id()}.location"
    for index in range(3):
        write_curve(curves, path, index, frames, places[:, index], bone.name)


def write_poses(
    figure: bpy.types.Object,
    curves,
    rest: RestPose,
    answer: dict,
    turns: np.ndarray,
    root: np.ndarray,
    first: int,
) -> None:
    """Keys of every joint of an answer in every frame, beginning with frame `first`."""
    names, parents = answer["joints"], answer["parents"]
    orientations, heads = rest.bone_poses(names, parents, turns, root)
    armature = figure.data.bones
    hips = armature[names[0]]
    local = rest.rotations[[rest.names.index(name) for name in names]]
    hinges = [not armature[name].use_inherit_rotation for name in names]
    bases = pose_bases(orientations, local, parents, hinges)
    frames = first + np.arange(len(bases), dtype=np.float64)
    for bone in _above(hips):
        write_rest(figure, curves, bone.name, first)
    for number, name in enumerate(names):
        write_rotations(curves, figure.pose.bones[name], frames, bases[:, number])
    write_locations(curves, figure.pose.bones[hips.name], frames, _locations(hips, local[0], heads))
    for name in names[1:]:
        if not armature[name].use_connect:  # an earlier pose may have moved it
            write_locations(curves, figure.pose.bones[name], frames[:1], np.zeros((1, 3)))


def check_travels(figure: bpy.types.Object, hips: str) -> None:
    """Raise if the hips cannot be moved."""
    bone = figure.data.bones[hips]
    if bone.use_connect and not is_rigify(figure):
        raise UnusableArmature(
            f"bone {bone.name} is connected to {bone.parent.name} and cannot travel: "
            "switch off Connected in edit mode"
        )


def write_rest(figure: bpy.types.Object, curves, name: str, frame: int) -> None:
    """One key of a bone at rest."""
    bone, frames = figure.pose.bones[name], np.array([float(frame)])
    write_rotations(curves, bone, frames, np.array([[1.0, 0.0, 0.0, 0.0]]))
    write_locations(curves, bone, frames, np.zeros((1, 3)))


def _locations(hips: bpy.types.Bone, rest: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Locations (T, 3) of the hips, whose heads are given, below bones at rest."""
    moved = heads - np.array(hips.head_local, np.float64)
    return rotate(inverse(rest), moved) if hips.use_local_location else moved


def _above(bone: bpy.types.Bone) -> list[bpy.types.Bone]:
    found = []
    while bone.parent is not None:
        bone = bone.parent
        found.append(bone)
    return found


def _joint_above(bone: bpy.types.Bone, chosen) -> str:
    """The nearest joint above a bone, or an empty name."""
    while bone.parent is not None:
        bone = bone.parent
        if bone.name in chosen:
            return bone.name
    return ""
