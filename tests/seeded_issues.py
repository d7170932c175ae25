"""Typical issues of files, inserted into regular motions."""

import re
from dataclasses import replace

import numpy as np

from motionloom.motion.mirroring import twin_joints
from motionloom.motion.rotations import quaternions as rot

QUARTER_TURN = rot.from_axis_angle([1.0, 0.0, 0.0], np.pi / 2)  # y up becomes z up


def raised(motion, meters):
    return motion.transform(shift=(0.0, meters, 0.0))


def twice_as_fast(motion):
    return replace(motion, fps=2.0 * motion.fps)


def flipped(motion, start, end, *, role="hips", axis=(0.0, 1.0, 0.0)):
    rotations = motion.rotations.astype(np.float64)
    joint = motion.skeleton.joint(motion.skeleton.roles[role])
    half_turn = rot.from_axis_angle(np.asarray(axis, np.float64), np.pi)
    rotations[start:end, joint] = rot.multiply(half_turn, rotations[start:end, joint])
    return replace(motion, rotations=rotations)


def with_swapped_names(motion):
    """Names of left and right joints swapped; the motion is unchanged."""
    skeleton = motion.skeleton
    order = list(twin_joints(skeleton))
    names = tuple(skeleton.names[k] for k in order)
    twin = dict(zip(skeleton.names, names, strict=True))
    ends = tuple(_end_of(twin, name) for name in skeleton.end_names)
    return replace(motion, skeleton=replace(skeleton, names=names, end_names=ends, role_map={}))


def _end_of(twin, name):
    for joint in sorted(twin, key=len, reverse=True):
        if name.startswith(joint):
            return twin[joint] + name.removeprefix(joint)
    return name


def with_swapped_channels(motion):
    """Rotations of left and right joints swapped."""
    return replace(motion, rotations=motion.rotations[:, twin_joints(motion.skeleton)])


def with_turned_root(motion):
    """Z up in the motion only: hierarchy and rest pose are y up."""
    rotations = motion.rotations.astype(np.float64)
    rotations[:, 0] = rot.multiply(QUARTER_TURN, rotations[:, 0])
    root = rot.rotate(QUARTER_TURN, motion.root.astype(np.float64))
    return replace(motion, rotations=rotations, root=root)


def scaled_text(bvh, factor):
    """The text of a BVH file with all lengths multiplied."""
    hierarchy, rows = bvh.split("MOTION", 1)

    def longer(match):
        return "OFFSET " + " ".join(f"{float(word) * factor:.8f}" for word in match.groups())

    hierarchy = re.sub(r"OFFSET\s+(\S+)\s+(\S+)\s+(\S+)", longer, hierarchy)
    lines = rows.strip().splitlines()
    out = lines[:2]
    for line in lines[2:]:
        words = line.split()
        out.append(" ".join([f"{float(word) * factor:.8f}" for word in words[:3]] + words[3:]))
    return hierarchy + "MOTION\n" + "\n".join(out) + "\n"
