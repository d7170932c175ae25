"""Long takes: many actions in a row, unsegmented, as a capture day would leave them."""

from __future__ import annotations

from collections.abc import Sequence

from motionloom.demo.catalogue import CLIPS, Recipe
from motionloom.demo.gait import walk
from motionloom.demo.score import Score

_LOCOMOTION = (
    "walk", "jog_left", "step_up_left", "walk_right", "jump_forward", "march", "walk_left_tight",
    "hop_right", "spiral_walk", "jog_right", "jump_turn_left", "walk_fast", "cartwheel_left",
    "sit_stand", "walk_slow",
)  # fmt: skip


def _locomotion(score: Score) -> None:
    _in_a_row(score, _LOCOMOTION)


def _strikes(score: Score) -> None:
    kicks = _some(score, "kick_", 12)
    punches = _some(score, "punch_", 6)
    for k, name in enumerate(kicks):
        _in_a_row(score, [name])
        if k % 2 == 1:
            _in_a_row(score, punches[k // 2 : k // 2 + 1])
        if k % 4 == 3:
            _stroll(score)


def _reaches(score: Score) -> None:
    names = _some(score, "reach_", 16)
    for k in range(0, len(names), 4):
        _stroll(score)
        _in_a_row(score, names[k : k + 4])
    _in_a_row(score, ["sit_stand_low"])


def _dances(score: Score) -> None:
    _stroll(score)
    _in_a_row(score, ["dance_groove"])
    _stroll(score)
    _in_a_row(score, ["dance_sway", "jump_up", "walk_left_tight"])


def _in_a_row(score: Score, names: Sequence[str]) -> None:
    for name in names:
        CLIPS[name](score)
        score.time += score.rng.uniform(0.0, 0.35)


def _some(score: Score, prefix: str, count: int) -> list[str]:
    """`count` different clips whose names start with `prefix`."""
    names = [name for name in CLIPS if name.startswith(prefix)]
    return [names[k] for k in score.rng.permutation(len(names))[:count]]


def _stroll(score: Score) -> None:
    """A few steps along a bend, to the next spot."""
    rng = score.rng
    speed, curvature = rng.uniform(0.9, 1.3), rng.uniform(0.5, 1.0) * rng.choice([-1.0, 1.0])
    walk(
        score, speed=speed, steps=int(rng.integers(4, 8)), curvature=curvature,
        turn=speed * curvature,
    )  # fmt: skip
    score.time += rng.uniform(0.0, 0.3)


TAKES: dict[str, Recipe] = {
    "take_locomotion": _locomotion,
    "take_strikes": _strikes,
    "take_reaches": _reaches,
    "take_dances": _dances,
}
