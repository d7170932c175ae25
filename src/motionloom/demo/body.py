"""From a score to a motion.

Pelvis, torso and head come first, then arms and legs onto them by inverse kinematics: a
foot that the plan holds still is still to the last bit, whatever the rest of the body
does. Everything is sampled from continuous time; only the balance has a grid of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.limbs import arm, leg, shoulder
from motionloom.demo.performers import SIDES
from motionloom.demo.score import SIGN, Score
from motionloom.demo.torso import Balance, Torso
from motionloom.motion import Motion
from motionloom.motion import rotations as rot

Array = NDArray[np.float64]


def perform(
    score: Score,
    fps: float,
    *,
    start: float,
    end: float,
    name: str = "",
) -> Motion:
    """The motion of a score between two moments, frame k at ``start + k / fps`` seconds.

    Targets of the score's aims are filled in on the way.
    """
    balance = Balance(score)
    resolve_aims(score, balance)
    body = balance.torso(score, frame_times(start, end, fps))
    return assemble(score, body, fps, name)


def frame_times(start: float, end: float, fps: float) -> Array:
    """Moments of the frames in [start, end], seconds."""
    return start + np.arange(int(np.floor((end - start) * fps + 1e-6)) + 1) / fps


def resolve_aims(score: Score, balance: Balance) -> None:
    """Turn every aim's direction into a target in the world, to the millimetre."""
    waiting = [aim for aim in score.aims if aim.target is None]
    if not waiting:
        return
    body = balance.torso(score, np.array([aim.hit for aim in waiting]))
    who = score.performer
    starts = {f"{side}_hand": shoulder(body, side, body.chest) for side in SIDES}
    for side in SIDES:
        starts[f"{side}_foot"] = body.on_pelvis(
            [SIGN[side] * who.hip_width / 2, -who.hip_drop, 0.0]
        )
    for k, aim in enumerate(waiting):
        length = who.leg
        if aim.limb.endswith("hand"):
            length = who.upper_arm + who.forearm + who.hand
        ray = rot.rotate(rot.yaw(body.heading[k]), aim.direction)
        ray = ray / np.linalg.norm(ray)
        aim.target = (starts[aim.limb][k] + aim.extension * length * ray).round(3)
        aim.parameters["target"] = [float(x) for x in aim.target]


def assemble(
    score: Score, body: Torso, fps: float, name: str, held: dict[str, Array] | None = None
) -> Motion:
    """A motion from a torso: limbs added, world rotations made local ones.

    `held` gives the points (T, 3) of hands, ``"left"`` or ``"right"``, that hold something.
    """
    skeleton = score.performer.skeleton
    world = {
        "Hips": body.pelvis,
        "Spine": body.spine,
        "Spine1": body.chest,
        "Neck": body.neck,
        "Head": body.head,
    }
    for side, label in (("left", "Left"), ("right", "Right")):
        a = arm(score, body, side, (held or {}).get(side))
        world[f"{label}Shoulder"], world[f"{label}Arm"] = a.collar, a.upper
        world[f"{label}ForeArm"], world[f"{label}Hand"] = a.lower, a.hand
        b = leg(score, body, side)
        world[f"{label}UpLeg"], world[f"{label}Leg"] = b.upper, b.lower
        world[f"{label}Foot"], world[f"{label}ToeBase"] = b.foot, b.toes
    turned = np.stack([world[joint] for joint in skeleton.names], axis=1)
    local = turned.copy()
    local[:, 1:] = rot.multiply(rot.inverse(turned[:, skeleton.parents[1:]]), turned[:, 1:])
    local = rot.unroll(rot.normalize(local))
    return Motion(skeleton, local, body.root, fps, name=name)
