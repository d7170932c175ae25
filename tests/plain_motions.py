"""Motions made of a few sines, for tests of plots: a walker, a quadruped, a snake, a ball."""

from __future__ import annotations

import numpy as np

from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

FPS = 30.0


def walker(speed: float = 1.2, frames: int = 90) -> Motion:
    """A person of 1.7 m who swings arms and legs and goes along +Z at `speed` m/s."""
    names, parents, offsets = ["hips", "chest", "neck", "head"], [-1, 0, 1, 2], []
    offsets += [[0, 0, 0], [0, 0.3, 0], [0, 0.22, 0], [0, 0.08, 0]]
    ends = [("head_top", 3, [0, 0.2, 0])]
    for side, sign in (("left", 1), ("right", -1)):
        hip = len(names)
        names += [f"{side}_{part}" for part in ("hip", "knee", "ankle")]
        parents += [0, hip, hip + 1]
        offsets += [[0.1 * sign, -0.04, 0], [0, -0.43, 0], [0, -0.4, 0]]
        ends.append((f"{side}_toe", hip + 2, [0, -0.05, 0.18]))
        names += [f"{side}_{part}" for part in ("shoulder", "elbow", "wrist")]
        parents += [1, hip + 3, hip + 4]
        offsets += [[0.18 * sign, 0.18, 0], [0.02 * sign, -0.3, 0], [0, -0.26, 0]]
        ends.append((f"{side}_hand", hip + 5, [0, -0.12, 0]))
    end_names, end_parents, end_offsets = zip(*ends, strict=True)
    roles = {name: name for name in (*names, *end_names)}
    tree = Skeleton(names, parents, offsets, end_names, end_parents, end_offsets, role_map=roles)
    time = np.arange(frames) / FPS
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (frames, len(names), 1))
    for side, phase in (("left", 0.0), ("right", np.pi)):
        swing = np.sin(2 * np.pi * 0.9 * time + phase)
        turns[:, names.index(f"{side}_hip")] = _pitch(-0.45 * swing)
        turns[:, names.index(f"{side}_knee")] = _pitch(0.3 + 0.3 * np.cos(np.pi * time + phase))
        turns[:, names.index(f"{side}_shoulder")] = _pitch(0.4 * swing)
        turns[:, names.index(f"{side}_elbow")] = _pitch(-0.3 + 0.1 * swing)
    root = np.stack([0.0 * time, 0.9 + 0.02 * np.sin(11 * time), speed * time], axis=1)
    return Motion(tree, turns, root, FPS, name="walker")


def beast(frames: int = 60) -> Motion:
    """A quadruped with a tail: no roles, but names with L and R."""
    names = ["body", "neck", "skull", "tail", "tail_tip"]
    parents = [-1, 0, 1, 0, 3]
    offsets = [[0, 0, 0], [0, 0.1, 0.4], [0, 0.15, 0.15], [0, 0.05, -0.3], [0, -0.1, -0.25]]
    ends = [("nose", 2, [0, -0.03, 0.2])]
    turns = {3: (0.5, 3.0, "yaw")}
    for side, sign in (("L", 1), ("R", -1)):
        for leg, z in (("fore", 0.35), ("hind", -0.28)):
            upper = len(names)
            names += [f"{side}_{leg}_upper", f"{side}_{leg}_lower"]
            parents += [0, upper]
            offsets += [[0.12 * sign, -0.05, z], [0, -0.35, 0]]
            ends.append((f"{side}_{leg}_paw", upper + 1, [0, -0.3, 0.02]))
            turns[upper] = (0.4 * sign * (1 if z > 0 else -1), 9.0, "pitch")
    end_names, end_parents, end_offsets = zip(*ends, strict=True)
    tree = Skeleton(names, parents, offsets, end_names, end_parents, end_offsets)
    time = np.arange(frames) / FPS
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (frames, len(names), 1))
    for joint, (angle, rate, axis) in turns.items():
        turn = rot.yaw if axis == "yaw" else _pitch
        rotations[:, joint] = turn(angle * np.sin(rate * time))
    root = np.stack([0.0 * time, 0.7 + 0.0 * time, 1.0 * time], axis=1)
    return Motion(tree, rotations, root, FPS, name="beast")


def snake(scale: float = 1.0, joints: int = 12, frames: int = 60) -> Motion:
    """A winding chain, about `scale` meters long."""
    offsets = np.tile([0.0, 0.0, 0.1 * scale], (joints, 1))
    offsets[0] = 0.0
    names = [f"segment_{k}" for k in range(joints)]
    tree = Skeleton(names, np.arange(joints) - 1, offsets, ["tip"], [joints - 1], offsets[-1:])
    time = np.arange(frames)[:, None] / FPS
    rotations = rot.yaw(0.35 * np.sin(5.0 * time - 0.8 * np.arange(joints)))
    still = np.zeros(frames)
    root = np.stack([still, still + 0.02 * scale, 0.2 * scale * time[:, 0]], axis=1)
    return Motion(tree, rotations, root, FPS, name="snake")


def ball(frames: int = 60) -> Motion:
    """One hopping joint."""
    time = np.arange(frames) / FPS
    root = np.stack([1.5 * time, np.abs(np.sin(4.0 * time)), 0.0 * time], axis=1)
    tree = Skeleton(["ball"], [-1], [[0, 0, 0]])
    return Motion(tree, np.tile([1.0, 0, 0, 0], (frames, 1, 1)), root, FPS, name="ball")


def _pitch(angle):
    return rot.from_axis_angle([1.0, 0.0, 0.0], angle)
