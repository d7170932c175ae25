"""Twelve kinds of libraries, made by code: files as other programs write them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from game_rigs import KAYKIT, QUATERNIUS, rerigged
from rigs import rig
from synthetic_markers import markers
from test_mvnx import subject
from test_mvnx import written as write_mvnx

import motionloom as ml
from motionloom.formats.amass import PELVIS, smpl_skeleton
from motionloom.formats.gltf.container import glb_bytes
from motionloom.formats.gltf.writer import gltf_document
from motionloom.motion.rotations import quaternions as rot

TAKES = ("walk", "walk_left", "walk_right", "march", "jog", "dance_groove")


def originals():
    return [ml.demo.clip(name) for name in TAKES]


def on_rig(name):
    """The takes on the rig of another program."""
    skeleton, _ = rig(name)
    return [take.retarget(skeleton).with_quality(None) for take in originals()]


def bvh(name):
    def write(folder):
        for take in on_rig(name):
            take.save(folder / f"{take.name}.bvh")

    return write


def fbx(name):
    def write(folder):
        for take in on_rig(name):
            bare = replace(
                take.skeleton, end_names=(), end_parents=np.zeros(0, np.int32),
                end_offsets=np.zeros((0, 3)),
            )  # fmt: skip
            path = replace(take, skeleton=bare).save(folder / f"{take.name}.fbx", mesh="none")
            path.write_bytes(path.read_bytes().replace(b"motionloom", b"othertools"))

    return write


def many_takes(path, motions):
    """One GLB file with an animation for each motion, as game packs have them."""
    document, binary = gltf_document([(motions[0].name, motions[0])], kind="none")
    document["animations"][0]["name"] = motions[0].name
    for motion in motions[1:]:
        more, data = gltf_document([(motion.name, motion)], kind="none")
        views, accessors = len(document["bufferViews"]), len(document["accessors"])
        binary += b"\0" * (-len(binary) % 4)
        for view in more["bufferViews"]:
            document["bufferViews"].append(
                view | {"byteOffset": view.get("byteOffset", 0) + len(binary)}
            )
        for item in more["accessors"]:
            document["accessors"].append(item | {"bufferView": item["bufferView"] + views})
        for animation in more["animations"]:
            for sampler in animation["samplers"]:
                sampler["input"] += accessors
                sampler["output"] += accessors
            document["animations"].append(animation | {"name": motion.name})
        binary += data
    document["buffers"] = [{"byteLength": len(binary)}]
    document["asset"]["generator"] = "another program"
    path.write_bytes(glb_bytes(document, bytes(binary)))
    return path


def glb(rows):
    def write(folder):
        many_takes(folder / "pack.glb", [rerigged(take, rows) for take in originals()])

    return write


def vrm(folder):
    for take in originals():
        take.save(folder / f"{take.name}.vrma")


def xsens(folder):
    for take in on_rig("xsens mvn"):
        write_mvnx(folder / f"{take.name}.mvnx", subject(take, rate=f"{take.fps:g}"))


def amass(folder):
    """Axis-angle poses of SMPL-H, z up."""
    upright = rot.from_axis_angle([1.0, 0.0, 0.0], np.pi / 2)
    for take in originals():
        moved = take.retarget(smpl_skeleton(52))
        turns = moved.rotations.astype(np.float64)
        turns[:, 0] = rot.multiply(upright, turns[:, 0])
        place = rot.rotate(upright, moved.root.astype(np.float64)) - PELVIS
        np.savez(
            folder / f"{take.name}_poses.npz",
            poses=rot.log(turns).reshape(len(take), -1), trans=place,
            mocap_framerate=take.fps, gender="neutral", betas=np.zeros(16),
        )  # fmt: skip


def c3d(folder):
    """Markers of Plug-in Gait on the skin."""
    for take in originals():
        markers(take, "Plug-in Gait").save(folder / f"{take.name}.c3d")


def corpus(folder):
    for take in originals():
        take.save(folder / f"{take.name}.bvh")


KINDS = {
    "CMU (BVH)": bvh("cmu"),
    "Bandai-Namco (BVH)": bvh("bandai-namco"),
    "LAFAN1 (BVH)": bvh("lafan1"),
    "Mixamo (FBX)": fbx("mixamo"),
    "Unity (FBX)": fbx("humanik"),
    "Quaternius (GLB)": glb(QUATERNIUS),
    "KayKit (GLB)": glb(KAYKIT),
    "VRM Animation": vrm,
    "Xsens (MVNX)": xsens,
    "AMASS (NPZ)": amass,
    "C3D": c3d,
    "built-in corpus": corpus,
}
