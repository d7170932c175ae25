"""What the corpus holds: one recipe per clip, by name.

A recipe writes one action to a score that stands at the origin and faces +Z. Every seed is
another try: speeds and targets differ a little, and the truth says by how much.
"""

from __future__ import annotations

from collections.abc import Callable

from motionloom.demo.gait import walk
from motionloom.demo.kicks_and_punches import kick, punch
from motionloom.demo.score import SIGN, Score

Recipe = Callable[[Score], object]


def _walks() -> dict[str, Recipe]:
    def recipe(speed: float, curvature: float = 0.0, march: bool = False) -> Recipe:
        def write(score: Score) -> object:
            pace = speed * (1.0 + 0.03 * score.rng.uniform(-1, 1))
            bend = curvature * (1.0 + 0.08 * score.rng.uniform(-1, 1))
            lead = ("left", "right")[int(score.rng.integers(2))]
            return walk(
                score, speed=pace, curvature=bend, steps=10, lead=lead, march=march,
                action="march" if march else "walk", turn=bend * pace,
            )  # fmt: skip

        return write

    return {
        "walk": recipe(1.25),
        "walk_slow": recipe(0.8),
        "walk_fast": recipe(1.65),
        "walk_left": recipe(1.15, 0.45),
        "walk_right": recipe(1.15, -0.45),
        "walk_left_tight": recipe(0.9, 1.1),
        "walk_right_tight": recipe(0.9, -1.1),
        "march": recipe(1.1, march=True),
    }


# Name -> where the ankle goes from the hip: outward azimuth and elevation in radians, and
# the height of the leap in metres.
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

# Name -> where the hand goes from the shoulder: inward azimuth and elevation.
_PUNCHES = {
    "low": (0.1, -0.5),
    "mid": (0.12, -0.12),
    "high": (0.1, 0.25),
    "cross": (0.5, 0.0),
    "outside": (-0.55, -0.05),
}


def _kicks() -> dict[str, Recipe]:
    def recipe(side: str, outward: float, elevation: float, leap: float) -> Recipe:
        def write(score: Score) -> object:
            jitter = score.rng.uniform(-1, 1, size=4)
            return kick(
                score,
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
        for side in ("left", "right")
    }


def _punches() -> dict[str, Recipe]:
    def recipe(side: str, inward: float, elevation: float) -> Recipe:
        def write(score: Score) -> object:
            jitter = score.rng.uniform(-1, 1, size=3)
            return punch(
                score,
                side=side,
                azimuth=-SIGN[side] * inward + 0.06 * jitter[0],
                elevation=elevation + 0.06 * jitter[1],
                extension=0.94 + 0.02 * jitter[2],
            )

        return write

    return {
        f"punch_{name}_{side}": recipe(side, *where)
        for name, where in _PUNCHES.items()
        for side in ("left", "right")
    }


CLIPS: dict[str, Recipe] = {**_walks(), **_kicks(), **_punches()}
