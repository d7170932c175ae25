"""Corpus clips, defined by one recipe per name.

A recipe appends one action to a plan. Seeds vary speeds and targets slightly; the ground truth
contains the exact values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from motionloom.demo.dances import groove, sway
from motionloom.demo.gait import jog, step_up, walk
from motionloom.demo.jumps import cartwheel, hop, jump
from motionloom.demo.performers import SIDES
from motionloom.demo.plan import SIGN, MotionPlan
from motionloom.demo.targets import kick, punch, reach, sit_and_stand

Recipe = Callable[[MotionPlan], object]


# Name -> speed in m/s and curvature in 1/m (to the left).
_WALKS = {
    "walk": (1.25, 0.0),
    "walk_slow": (0.8, 0.0),
    "walk_fast": (1.65, 0.0),
    "walk_left": (1.15, 0.45),
    "walk_right": (1.15, -0.45),
    "walk_left_tight": (0.9, 1.1),
    "walk_right_tight": (0.9, -1.1),
}
_JOGS = {
    "jog": (2.4, 0.0),
    "jog_fast": (3.0, 0.0),
    "jog_left": (2.2, 0.30),
    "jog_right": (2.2, -0.30),
}


def _gaits() -> dict[str, Recipe]:
    def recipe(gait: Callable, speed: float, curvature: float, steps: int, **kind) -> Recipe:
        def write(plan: MotionPlan) -> object:
            # Equal Froude numbers make longer legs walk faster.
            brisk = speed * np.sqrt(plan.performer.leg / 0.85)
            pace = float(brisk * (1.0 + 0.03 * plan.rng.uniform(-1, 1)))
            bend = curvature * (1.0 + 0.08 * plan.rng.uniform(-1, 1))
            lead = SIDES[int(plan.rng.integers(2))]
            return gait(
                plan, speed=pace, curvature=bend, steps=steps, lead=lead,
                turn=bend * pace, **kind,
            )  # fmt: skip

        return write

    def spiral(plan: MotionPlan) -> object:
        inward = 0.075 * (1.0 + 0.1 * plan.rng.uniform(-1, 1))
        return walk(
            plan, speed=1.1, steps=18, curvature=lambda s: 0.12 + inward * s,
            action="spiral_walk", curvature_start=0.12, curvature_per_meter=inward,
        )  # fmt: skip

    return {
        **{name: recipe(walk, *how, steps=12) for name, how in _WALKS.items()},
        "march": recipe(walk, 0.95, 0.0, steps=9, march=True, action="march"),
        "spiral_walk": spiral,
        **{name: recipe(jog, *how, steps=14) for name, how in _JOGS.items()},
        **{f"step_up_{side}": _step_up(side) for side in SIDES},
    }


def _step_up(side: str) -> Recipe:
    def write(plan: MotionPlan) -> object:
        return step_up(plan, lead=side, height=round(plan.rng.uniform(0.14, 0.22), 3))

    return write


# Name -> target of the ankle from the hip: outward azimuth and elevation in radians; height
# of the leap in meters.
_KICKS = {
    "front_low": (0.05, -0.75, 0.0),
    "front_mid": (0.0, -0.25, 0.0),
    "front_high": (0.0, 0.22, 0.0),
    "inside_low": (-0.35, -0.65, 0.0),
    "inside_mid": (-0.35, -0.2, 0.0),
    "inside_high": (-0.28, 0.12, 0.0),
    "outside_low": (0.55, -0.7, 0.0),
    "outside_mid": (0.55, -0.22, 0.0),
    "outside_high": (0.5, 0.15, 0.0),
    "side_low": (1.25, -0.65, 0.0),
    "side_mid": (1.25, -0.25, 0.0),
    "side_high": (1.2, 0.05, 0.0),
    "leap_front": (0.0, 0.0, 0.22),
    "leap_outside": (0.5, -0.1, 0.18),
}

# Name -> target of the hand from the shoulder: inward azimuth and elevation, in radians.
_PUNCHES = {
    "low": (0.1, -0.5),
    "mid": (0.12, -0.12),
    "high": (0.1, 0.25),
    "cross": (0.5, 0.0),
    "outside": (-0.55, -0.05),
}


def _kicks() -> dict[str, Recipe]:
    def recipe(side: str, outward: float, elevation: float, leap: float) -> Recipe:
        def write(plan: MotionPlan) -> object:
            jitter = plan.rng.uniform(-1, 1, size=4)
            return kick(
                plan,
                side=side,
                azimuth=SIGN[side] * outward + 0.05 * jitter[0],
                elevation=elevation + 0.05 * jitter[1],
                extension=0.94 + 0.02 * jitter[2],
                leap=leap * (1.0 + 0.1 * jitter[3]),
            )

        return write

    return {
        f"kick_{name}_{side}": recipe(side, *where)
        for name, where in _KICKS.items()
        for side in SIDES
    }


def _punches() -> dict[str, Recipe]:
    def recipe(side: str, inward: float, elevation: float) -> Recipe:
        def write(plan: MotionPlan) -> object:
            jitter = plan.rng.uniform(-1, 1, size=3)
            return punch(
                plan,
                side=side,
                azimuth=-SIGN[side] * inward + 0.06 * jitter[0],
                elevation=elevation + 0.06 * jitter[1],
                extension=0.94 + 0.02 * jitter[2],
            )

        return write

    return {
        f"punch_{name}_{side}": recipe(side, *where)
        for name, where in _PUNCHES.items()
        for side in SIDES
    }


# Height -> elevation of the hand from the shoulder; direction -> outward azimuth, in radians.
_REACH_HEIGHTS = {"low": -0.85, "mid": -0.05, "high": 0.8}
_REACH_DIRECTIONS = {"front": 0.05, "across": -0.55, "diagonal": 0.8, "side": 1.5, "behind": 2.2}


def _reaches() -> dict[str, Recipe]:
    def recipe(side: str, outward: float, elevation: float) -> Recipe:
        def write(plan: MotionPlan) -> object:
            jitter = plan.rng.uniform(-1, 1, size=3)
            return reach(
                plan,
                side=side,
                azimuth=SIGN[side] * outward + 0.12 * jitter[0],
                elevation=elevation + 0.1 * jitter[1],
                extension=0.9 + 0.04 * jitter[2],
            )

        return write

    return {
        f"reach_{way}_{height}_{side}": recipe(side, outward, elevation)
        for way, outward in _REACH_DIRECTIONS.items()
        for height, elevation in _REACH_HEIGHTS.items()
        for side in SIDES
    }


# Height of a shelf -> elevation of the hand from the shoulder, in radians.
_SHELVES = {"low": -0.5, "mid": -0.1, "high": 0.45}


def _shelves() -> dict[str, Recipe]:
    """Return recipes for two actions with equal reach: picking up an object, putting it back."""

    def recipe(action: str, carried: Literal["away", "back"], elevation: float) -> Recipe:
        def write(plan: MotionPlan) -> object:
            jitter = plan.rng.uniform(-1, 1, size=3)
            return reach(
                plan,
                side="right",
                azimuth=-0.15 + 0.08 * jitter[0],
                elevation=elevation + 0.06 * jitter[1],
                extension=0.9 + 0.03 * jitter[2],
                carried=carried,
                action=action,
            )

        return write

    carrying: dict[str, Literal["away", "back"]] = {"pick_up": "away", "put_back": "back"}
    return {
        f"{action}_{height}": recipe(action, carried, elevation)
        for action, carried in carrying.items()
        for height, elevation in _SHELVES.items()
    }


def _jumps() -> dict[str, Recipe]:
    def jumping(height: float, forward: float, turn: float) -> Recipe:
        def write(plan: MotionPlan) -> object:
            jitter = 1.0 + 0.08 * plan.rng.uniform(-1, 1, size=3)
            return jump(
                plan, height=height * jitter[0],
                forward=forward * jitter[1] * plan.performer.leg / 0.85,
                turn=turn * jitter[2],
            )  # fmt: skip

        return write

    def hopping(side: str) -> Recipe:
        def write(plan: MotionPlan) -> object:
            jitter = 1.0 + 0.15 * plan.rng.uniform(-1, 1, size=2)
            return hop(plan, side=side, height=0.09 * jitter[0], forward=0.22 * jitter[1])

        return write

    def wheeling(side: str) -> Recipe:
        return lambda plan: cartwheel(plan, side=side)

    return {
        "jump_up": jumping(0.28, 0.0, 0.0),
        "jump_forward": jumping(0.20, 0.45, 0.0),
        "jump_far": jumping(0.26, 0.65, 0.0),
        "jump_turn_left": jumping(0.25, 0.0, 2.6),
        "jump_turn_right": jumping(0.25, 0.0, -2.6),
        **{f"hop_{side}": hopping(side) for side in SIDES},
        **{f"cartwheel_{side}": wheeling(side) for side in SIDES},
    }


def _others() -> dict[str, Recipe]:
    def sitting(seat: float) -> Recipe:
        def write(plan: MotionPlan) -> object:
            height = round(seat + 0.015 * plan.rng.uniform(-1, 1), 3)
            return sit_and_stand(plan, seat=height, wait=plan.rng.uniform(0.8, 1.4))

        return write

    return {
        "sit_stand": sitting(0.46),
        "sit_stand_low": sitting(0.38),
        "dance_groove": lambda plan: groove(plan, tempo_bpm=_tempo(plan, 108.0)),
        "dance_sway": lambda plan: sway(plan, tempo_bpm=_tempo(plan, 96.0)),
    }


def _tempo(plan: MotionPlan, tempo_bpm: float) -> float:
    """Return a random tempo within 10 % of `tempo_bpm`, in whole beats per minute."""
    return float(round(tempo_bpm * plan.rng.uniform(0.9, 1.1)))


CLIPS: dict[str, Recipe] = {
    **_gaits(),
    **_kicks(),
    **_punches(),
    **_reaches(),
    **_jumps(),
    **_others(),
    **_shelves(),
}
