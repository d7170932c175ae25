"""Faults inserted into clean takes: what noisy captures, generators and bad retargeting do.

Each function takes a motion and a random generator. It returns the motion with one fault; frames
and bones stay the same, so that a repaired motion can be compared with the original joint by joint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from motionloom.motion import Motion
from motionloom.motion.feet.contacts import SIDES, foot_contacts
from motionloom.motion.kinematics.two_bone import limb_of, reach_target, with_global_rotations
from motionloom.motion.mirroring import twin_joints
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import ease_corrections

Random = np.random.Generator
_SHAKE, _ROOT_SHAKE = np.radians(1.5), 0.004  # per joint and frame; meters
_HEIGHT = 0.03  # meters
_RISE = (0.15, 0.25)  # meters over the whole take
_DRIFT_SPEED = (0.05, 0.15)  # m/s
_SLIDE = (0.08, 0.16)  # meters per contact


def jitter(motion: Motion, rng: Random) -> Motion:
    """Every joint shakes by 1.5 degrees and the root by 4 mm, independently in every frame."""
    noise = rot.exp(_SHAKE / np.sqrt(3.0) * rng.normal(size=(*motion.rotations.shape[:2], 3)))
    root = motion.root + _ROOT_SHAKE * rng.normal(size=motion.root.shape)
    return replace(motion, rotations=rot.multiply(motion.rotations, noise), root=root)


def float_(motion: Motion, rng: Random) -> Motion:
    """The body floats 3 cm above its floor."""
    return motion.transform(shift=(0.0, _HEIGHT, 0.0))


def sink(motion: Motion, rng: Random) -> Motion:
    """The body sinks 3 cm into its floor."""
    return motion.transform(shift=(0.0, -_HEIGHT, 0.0))


def rise(motion: Motion, rng: Random) -> Motion:
    """The ground rises or sinks steadily, by 15 to 25 cm over the take."""
    height = rng.uniform(*_RISE) * rng.choice([-1.0, 1.0])
    path = motion.root.astype(np.float64)
    path[:, 1] += height * np.linspace(0.0, 1.0, len(motion))
    return replace(motion, root=path)


def drift(motion: Motion, rng: Random) -> Motion:
    """The body drifts over the floor at a constant velocity of 5 to 15 cm/s."""
    angle, speed = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(*_DRIFT_SPEED)
    times = np.arange(len(motion))[:, None] / motion.fps
    velocity = speed * np.array([np.sin(angle), 0.0, np.cos(angle)])
    return replace(motion, root=motion.root + times * velocity)


def skate(motion: Motion, rng: Random) -> Motion:
    """Each foot slides 8 to 16 cm during each contact; legs follow by inverse kinematics."""
    contacts = foot_contacts(motion)
    q = motion.rotations.astype(np.float64)
    for side in SIDES:
        joints, limb = limb_of(motion, (f"{side}_hip", f"{side}_knee", f"{side}_ankle"))
        slides = np.full((len(motion), 3), np.nan)
        for start, end in contacts.intervals(f"{side}_ball"):
            angle, way = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(*_SLIDE)
            share = np.linspace(-0.5, 0.5, end - start)[:, None]
            slides[start:end] = share * way * np.array([np.sin(angle), 0.0, np.cos(angle)])
        foot = motion.global_rotations()[:, joints[2]].astype(np.float64)
        leg = reach_target(limb, limb.start, limb.end + ease_corrections(slides, motion.fps))
        turned = dict(zip(joints, (leg.upper, leg.lower, foot), strict=True))
        q = with_global_rotations(q, motion.skeleton, turned)
    return replace(motion, rotations=q)


def swapped_names(motion: Motion, rng: Random) -> Motion:
    """Left and right joints have each other's names."""
    skeleton = motion.skeleton
    names = tuple(skeleton.names[k] for k in twin_joints(skeleton))
    ends = dict(zip(skeleton.end_parents, skeleton.end_names, strict=True))
    there = {k: ends.get(int(twin), ends[k]) for k, twin in
             zip(ends, twin_joints(skeleton)[list(ends)], strict=True)}  # fmt: skip
    changed = replace(skeleton, names=names, end_names=tuple(there.values()), role_map={})
    return replace(motion, skeleton=changed)


def swapped_channels(motion: Motion, rng: Random) -> Motion:
    """Left and right joints have each other's rotations."""
    return replace(motion, rotations=motion.rotations[:, twin_joints(motion.skeleton)])


def flipped_head(motion: Motion, rng: Random) -> Motion:
    """The head is upside down, in all frames or in a part of at least a quarter of them."""
    joint = motion.skeleton.joint(motion.skeleton.roles["head"])
    q = motion.rotations.astype(np.float64)
    start, end = 0, len(motion)
    if rng.random() < 0.5:
        length = int(rng.uniform(0.25, 0.75) * len(motion))
        start = int(rng.integers(0, len(motion) - length))
        end = start + length
    # Upside down in the world: about an axis in the horizontal plane of the upright head.
    axis = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]][int(rng.integers(2))])
    from motionloom.motion.diagnostics.anatomy import body_turns

    head = body_turns(motion)["head"][start:end]
    world = motion.global_rotations()[start:end, joint].astype(np.float64)
    turn = rot.from_axis_angle(rot.rotate(head, axis), np.pi)
    parent = motion.skeleton.parents[joint]
    above = motion.global_rotations()[start:end, parent].astype(np.float64)
    q[start:end, joint] = rot.multiply(rot.inverse(above), rot.multiply(turn, world))
    return replace(motion, rotations=q)


# Name of the fault -> function, and the codes under which `doctor` may report it.
CORRUPTIONS: dict[str, tuple[Callable[[Motion, Random], Motion], frozenset[str]]] = {
    "jitter": (jitter, frozenset({"jitter"})),
    "float 3 cm": (float_, frozenset({"floor"})),
    "sink 3 cm": (sink, frozenset({"floor"})),
    "rising ground": (rise, frozenset({"drift"})),
    "drift": (drift, frozenset({"drift", "slide"})),
    "skate": (skate, frozenset({"slide"})),
    "swapped names": (swapped_names, frozenset({"sides"})),
    "swapped channels": (swapped_channels, frozenset({"sides"})),
    "flipped head": (flipped_head, frozenset({"range"})),
}
