"""Motions with known beats for `reproduction.kp03`, and the errors of beats found in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from motionloom import demo
from motionloom.dance.motion_beats.beats import beats
from motionloom.dance.movements import sampled
from motionloom.dance.settings import (
    BeatSettings,
)
from motionloom.demo.dances import beat_study
from motionloom.motion import Motion
from motionloom.motion.feet.contacts import landings
from motionloom.motion.rotations import quaternions as rot
from reproduction.claims import Data

Array = NDArray[np.float64]

WAYS: Mapping[str, tuple[str, BeatSettings]] = {
    "paper": ("the method of the paper", BeatSettings.kp03()),
    "literal": ("equation 2, literally", BeatSettings.kp03(candidates="acceleration")),
    "ours": ("the defaults", BeatSettings()),
}


RATE = 30.0


KINDS = ("regular", "perturbed", "dance")


@cache
def study(kind: str, performer: int, seed: int = 0) -> tuple[Motion, tuple[float, ...]]:
    """Return a built-in dance of a performer and its beats."""
    seconds = 23.8 if kind == "dance" else 30.0
    return beat_study(kind, performer=performer, seed=seed, seconds=seconds)


def figure_6_motions(data: Data) -> dict[str, list[tuple[Motion, Array, bool]]]:
    """Return motions, their beats, and whether a constant phase is removed, by name."""
    walks = [demo.clip("walk", performer=who) for who in (0, 2)]
    if data.cmu is not None:
        walks += [data.cmu[name] for name in ("35_01", "39_01", "16_15")]
    out: dict[str, list[tuple[Motion, Array, bool]]] = {
        "walk": [(*walk_study(walk), True) for walk in walks]
    }
    for name, jitter in (("perturbed walk", 0.075), ("walk, 15 % either way", 0.15)):
        out[name] = [
            (*walk_study(walk, jitter=jitter, seed=s), True) for walk in walks for s in range(4)
        ]
    for kind in KINDS:
        made = [study(kind, who, seed) for who in range(4) for seed in (0, 1)]
        name = kind if kind == "dance" else f"{kind} dance"
        out[name] = [(motion, np.array(truth), False) for motion, truth in made]
    return out


def walk_study(
    walk: Motion, *, jitter: float = 0.0, seed: int = 0, beats: int = 60, period: float = 0.5
) -> tuple[Motion, Array]:
    """Repeat one cycle of a walk with changes of direction on the beats; return it and its beats.

    Every beat is displaced by up to `jitter` times the period.
    """
    start, cycle, change = changes_of_direction(walk)
    rng = np.random.default_rng(seed)
    truth = period * (0.5 + np.arange(beats))
    truth = truth + period * rng.uniform(-jitter, jitter, beats)
    marks = np.arange(beats, dtype=float)
    at = np.arange(int(beats * period * RATE)) / RATE
    gaps = np.diff(truth)
    phase = np.interp(at, truth, marks)
    phase = np.where(at < truth[0], (at - truth[0]) / gaps[0], phase)
    phase = np.where(at > truth[-1], marks[-1] + (at - truth[-1]) / gaps[-1], phase)
    motion = sampled(walk, start + (change + 0.5 * phase * cycle) % cycle)
    still = np.tile(motion.root.mean(axis=0), (len(motion), 1))
    return replace(motion, root=still, fps=RATE, name="walk cycle"), truth


def changes_of_direction(walk: Motion) -> tuple[int, int, float]:
    """Start and length of a cycle of a walk, and the mean phase of its changes of direction.

    All are in frames. The phase is that of two changes per cycle, by the circular mean of the zero
    crossings of all angular velocities.
    """
    down = landings(walk.contacts().standing("left"))
    number = max(int(np.abs(down - 0.5 * len(walk)).argmin()) - 1, 0)
    start, cycle = int(down[number]), int(down[number + 1] - down[number])
    repeated = sampled(walk, start + (np.arange(20 * cycle) % cycle).astype(float))
    frames = beats(repeated, WAYS["paper"][1]).candidates.times * walk.fps
    turn = np.angle(np.mean(np.exp(4j * np.pi * frames / cycle))) / (4.0 * np.pi)
    return start, cycle, float(turn * cycle % (0.5 * cycle))


def barred(meter: int, *, bars: int = 8, seed: int = 0) -> Motion:
    """A bar of random poses, one per beat, repeated with small variations."""
    rng = np.random.default_rng(seed)
    return _posed(_bar(meter, rng)[np.arange(bars * meter + 1) % meter], rng)


def phrased(*, seed: int, phrases: int = 8, meter: int = 4) -> Motion:
    """Phrases of four bars, A B A C: the bar after A depends on the bar before it."""
    shared = np.random.default_rng(0)
    a, b, c = (_bar(meter, shared, _SPREADS) for _ in range(3))
    phrase = np.concatenate([a, b, a, c] * phrases)
    start = 2 * meter * (seed % 2)  # half of the takes start in the middle of a phrase
    return replace(_posed(phrase[start:], np.random.default_rng(seed)), name=f"phrases {seed}")


_BAR_ROLES = ("left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "chest", "left_hip")
_SPREADS = np.array([[0.5, 0.5, 0.2, 0.2, 0.5, 0.5]]).T  # radians; elbows stay within their range


def _bar(meter: int, rng: np.random.Generator, spreads: Array | float = 0.5) -> Array:
    return spreads * rng.normal(size=(meter, len(_BAR_ROLES), 3))


def _posed(poses: Array, rng: np.random.Generator, period: float = 0.5) -> Motion:
    """A motion through poses (B, 6, 3), one per beat, with small variations."""
    body = demo.clip("walk").skeleton
    joints = [body.joint(body.roles[role]) for role in _BAR_ROLES]
    poses = poses + 0.08 * rng.normal(size=poses.shape)
    at = np.arange(int((len(poses) - 1) * period * RATE) + 1) / RATE / period
    k = np.minimum(at.astype(int), len(poses) - 2)
    share = (at - k)[:, None, None]
    turn = poses[k] + share**2 * (3.0 - 2.0 * share) * (poses[k + 1] - poses[k])
    rotations = np.tile(rot.IDENTITY, (len(at), len(body), 1))
    rotations[:, joints] = rot.exp(turn)
    return Motion(body, rotations, np.tile([0.0, 0.95, 0.0], (len(at), 1)), RATE)


def measured_steps(data: Data) -> dict[str, float]:
    """Seconds per step by take, measured from the feet."""
    import csv

    assert data.folder is not None
    with open(data.folder / "beats" / "dev.csv", encoding="utf-8") as file:
        return {row["file"]: float(row["step_s"]) for row in csv.DictReader(file)}


def beat_errors(detected: Array, truth: Array) -> Array:
    """Signed error of the beat nearest to each known beat, in frames."""
    truth = np.asarray(truth)
    return RATE * (detected[np.abs(detected[None] - truth[:, None]).argmin(axis=1)] - truth)


def extra_beats(detected: Array, truth: Array) -> int:
    """Number of beats, from half a period before the first to after the last, beyond the known."""
    half = 0.5 * float(np.median(np.diff(truth)))
    inside = (detected > truth[0] - half) & (detected < truth[-1] + half)
    return max(int(np.sum(inside)) - len(truth), 0)


def constant_phase(detected: Array, truth: Array) -> float:
    """Constant phase of beats relative to known beats, in seconds, by the circular mean."""
    gap = float(np.median(np.diff(truth)))
    off = detected[np.abs(detected[None] - truth[:, None]).argmin(axis=1)] - truth
    return float(np.angle(np.mean(np.exp(2j * np.pi * off / gap))) * gap / (2.0 * np.pi))
