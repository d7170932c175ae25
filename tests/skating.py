"""Skating takes made from clean ones: what bad retargeting, networks and drifting systems do.

Each function returns the motion with its feet sliding; frames stay the same, so that the contacts
of the clean source are the true ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motionloom.motion.motion import Motion
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import gaussian_smooth

LEGS = [f"{side}_{joint}" for side in ("left", "right") for joint in ("hip", "knee", "ankle")]


def scaled_travel(motion: Motion, factor: float) -> Motion:
    """The root travels `factor` times as far on the floor, as after retargeting without scale."""
    root = motion.root.astype(np.float64)
    root[:, [0, 2]] = root[0, [0, 2]] + factor * (root[:, [0, 2]] - root[0, [0, 2]])
    return replace(motion, root=root)


def drifting(motion: Motion, speed: float, *, degrees: float = 0.0, turn: float = 0.0) -> Motion:
    """The whole body drifts at `speed` m/s, in a direction that turns by `turn` degrees/s."""
    times = np.arange(len(motion)) / motion.fps
    angle = np.radians(degrees + turn * times)
    way = np.cumsum(np.stack([np.sin(angle), np.zeros_like(angle), np.cos(angle)], 1), axis=0)
    return replace(motion, root=motion.root + speed / motion.fps * way)


def swaying(motion: Motion, speed: float, *, period: float) -> Motion:
    """The whole body sways on an ellipse, at most at `speed` m/s, once per `period` seconds."""
    phase = 2.0 * np.pi * np.arange(len(motion)) / motion.fps / period
    size = speed * period / (2.0 * np.pi)
    sway = size * np.stack([np.sin(phase), np.zeros_like(phase), 0.6 * np.sin(phase + 1.0)], 1)
    return replace(motion, root=motion.root + sway)


def other_legs(motion: Motion, factor: float) -> Motion:
    """The same joint angles and the same travel on legs `factor` times as long."""
    skeleton = motion.skeleton
    joints = skeleton.points(
        [f"{side}_{joint}" for side in ("left", "right") for joint in ("knee", "ankle")]
    )
    offsets = np.array(skeleton.offsets, np.float64)
    hip, ankle = motion.role_positions(["left_hip", "left_ankle"])[:, :, 1].mean(axis=0)
    offsets[joints] *= factor
    root = motion.root.astype(np.float64)
    root[:, 1] += (factor - 1.0) * (hip - ankle)
    return replace(motion, skeleton=replace(skeleton, offsets=offsets), root=root)


def shaken(motion: Motion, *, degrees: float, meters: float, seconds: float, seed: int) -> Motion:
    """Smooth random errors of the legs' angles and of the root, as networks make them.

    `degrees` and `meters` are standard deviations, `seconds` the width of the smoothing.
    """
    rng = np.random.default_rng(seed)

    def noise(shape: tuple[int, ...], size: float) -> np.ndarray:
        rough = gaussian_smooth(rng.normal(size=(len(motion), *shape)), seconds * motion.fps)
        return size * rough / rough.std()

    joints = motion.skeleton.points(LEGS)
    q = motion.rotations.astype(np.float64)
    q[:, joints] = rot.multiply(q[:, joints], rot.exp(noise((len(joints), 3), np.radians(degrees))))
    return replace(motion, rotations=q, root=motion.root + noise((3,), meters) * [1.0, 0.3, 1.0])


def leg_swings(motion: Motion, degrees: float, *, period: float) -> Motion:
    """Each thigh swings to and fro by `degrees` about its hip, out of step with the other."""
    phase = 2.0 * np.pi * np.arange(len(motion)) / motion.fps / period
    q = motion.rotations.astype(np.float64)
    for side, late in (("left", 0.0), ("right", 2.0)):
        joint = motion.skeleton.point(f"{side}_hip")
        turn = np.radians(degrees) * np.sin(phase + late)
        q[:, joint] = rot.multiply(q[:, joint], rot.exp(turn[:, None] * [0.8, 0.0, 0.6]))
    return replace(motion, rotations=q)
