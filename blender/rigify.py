# SPDX-License-Identifier: GPL-3.0-or-later
"""Control rigs that Rigify has generated: motion for their FK controls.

The joints of such a rig are the bones of its metarig (`ORG-...`), which follow the controls through
Rigify's mechanism. So each control is told by a constraint how its joint is turned, Blender
evaluates the rig frame by frame, and what the control does relative to its parent becomes keys.
"""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from mathutils import Quaternion, Vector

from .armatures import ORIGINAL, write_curve, write_locations, write_rest, write_rotations
from .poses import RestPose, continuous, inverse, multiply, quaternion, rotate

_LIMBS = ("upper_arm", "forearm", "hand", "thigh", "shin", "foot", "toe")
_SAME_PLACE = 1e-3  # units of the armature


def as_studio(skeleton: dict) -> dict:
    """A skeleton without Rigify's prefix of names."""
    return {
        **skeleton,
        "names": [name.removeprefix(ORIGINAL) for name in skeleton["names"]],
        "end_names": [name.removeprefix(ORIGINAL) for name in skeleton["end_names"]],
    }


def as_blender(joints: Sequence[str], bones: Sequence[str]) -> list[str]:
    """Names of the bones of the studio's joints."""
    known = {name.removeprefix(ORIGINAL): name for name in bones}
    return [known[name] for name in joints]


def write_controls(
    context: bpy.types.Context,
    figure: bpy.types.Object,
    curves,
    rest: RestPose,
    answer: dict,
    turns: np.ndarray,
    root: np.ndarray,
    first: int,
) -> None:
    """Keys of the FK controls of a rig in every frame, beginning with frame `first`."""
    joints = answer["joints"]
    orientations, heads = rest.bone_poses(joints, answer["parents"], turns, root)
    controls = controls_of(figure, joints)
    frames = first + np.arange(len(heads), dtype=np.float64)
    for bone in figure.pose.bones:
        if "IK_FK" in bone.keys():
            bone["IK_FK"] = 1.0
            path = f'{bone.path_from_id()}["IK_FK"]'
            write_curve(curves, path, 0, frames[:1], np.ones(1), bone.name)
    for name in ("root", "hips", "chest"):
        if name in figure.pose.bones:
            write_rest(figure, curves, name, first)
    wanted = {
        control: multiply(
            orientations[:, joints.index(joint)],
            multiply(inverse(_rest(figure, joint)), _rest(figure, control)),
        )
        for control, joint in controls.items()
    }
    places = _torso_heads(figure, rest, answer, orientations, heads, wanted["torso"])
    found = _evaluated(context, figure, wanted, places, frames)
    for control, (spins, moves) in found.items():
        bone = figure.pose.bones[control]
        write_rotations(curves, bone, frames, continuous(spins))
        if control == "torso":
            write_locations(curves, bone, frames, moves)


def controls_of(figure: bpy.types.Object, joints: Sequence[str]) -> dict[str, str]:
    """The FK controls of a rig, each with the joint whose orientation it has; parents first."""
    bones, found = figure.data.bones, {"torso": joints[0]}
    for joint in joints:
        name = joint.removeprefix(ORIGINAL)
        part, dot, side = name.partition(".")
        for control in (f"{part}_fk{dot}{side}", name if part in (*_LIMBS, "shoulder") else ""):
            if control in bones and control not in found:
                found[control] = joint
                break
    taken = set(found.values()) - {joints[0]}
    for control in ("neck", "head"):  # their joints have other names
        if control in bones:
            place = bones[control].head_local
            free = [joint for joint in joints if joint not in taken]
            near = min(free, key=lambda joint: (bones[joint].head_local - place).length)
            if (bones[near].head_local - place).length < _SAME_PLACE:
                found[control] = near
    return found


def _torso_heads(figure, rest: RestPose, answer, orientations, heads, turned) -> np.ndarray:
    """Positions (T, 3) of the torso control, in the armature's space.

    The spine bends about a pivot, the head of the controls of hips and chest, which is a joint.
    """
    bones = figure.data.bones
    pivot = np.array(bones["chest" if "chest" in bones else "torso"].head_local, np.float64)
    joints = answer["joints"]
    starts = np.array([bones[joint].head_local for joint in joints], np.float64)
    at = int(np.argmin(np.linalg.norm(starts - pivot, axis=1)))
    chain = []
    while at >= 0:
        chain.insert(0, at)
        at = answer["parents"][at]
    place = heads
    for above, below in zip(chain, chain[1:], strict=False):
        step = rotate(inverse(_rest(figure, joints[above])), starts[below] - starts[above])
        place = place + rotate(orientations[:, above], step)
    last = chain[-1]
    step = rotate(inverse(_rest(figure, joints[last])), pivot - starts[last])
    place = place + rotate(orientations[:, last], step)
    arm = rotate(
        inverse(_rest(figure, "torso")),
        pivot - np.array(bones["torso"].head_local, np.float64),
    )
    return place - rotate(turned, arm)


def _evaluated(context, figure, wanted: dict, places: np.ndarray, frames: np.ndarray) -> dict:
    """Rotations (T, 4) and locations (T, 3) of controls relative to their parents.

    They follow empties that are turned as `wanted`, for as long as this takes.
    """
    scene, guides, followed = context.scene, {}, []
    before, fraction = scene.frame_current, scene.frame_subframe
    placed = np.array(figure.matrix_world.to_quaternion())
    found = {name: (np.empty((len(frames), 4)), np.empty((len(frames), 3))) for name in wanted}
    try:
        for name in wanted:
            guide = bpy.data.objects.new(f"motionloom {name}", None)
            guide.rotation_mode = "QUATERNION"
            scene.collection.objects.link(guide)
            guides[name] = guide
            kinds = ("COPY_ROTATION", "COPY_LOCATION") if name == "torso" else ("COPY_ROTATION",)
            for kind in kinds:
                constraint = figure.pose.bones[name].constraints.new(kind)
                constraint.target = guide
                followed.append((name, constraint))
        for number, frame in enumerate(frames):
            for name, guide in guides.items():
                guide.rotation_quaternion = Quaternion(multiply(placed, wanted[name][number]))
            guides["torso"].location = figure.matrix_world @ Vector(places[number])
            scene.frame_set(int(frame))
            for name in wanted:
                bone = figure.pose.bones[name]
                local = figure.convert_space(
                    pose_bone=bone, matrix=bone.matrix, from_space="POSE", to_space="LOCAL"
                )
                found[name][0][number] = local.to_quaternion()
                found[name][1][number] = local.translation
    finally:
        for name, constraint in followed:
            figure.pose.bones[name].constraints.remove(constraint)
        for guide in guides.values():
            bpy.data.objects.remove(guide)
        scene.frame_set(before, subframe=fraction)
    return found


def _rest(figure: bpy.types.Object, bone: str) -> np.ndarray:
    """Orientation (4,) of a bone at rest, in the armature's space."""
    return quaternion(np.array(figure.data.bones[bone].matrix_local)[:3, :3])
