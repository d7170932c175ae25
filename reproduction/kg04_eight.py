"""The eight parameterized motions of Kovar & Gleicher 2004, built once for all parts.

The paper's data has one performer. With four, the nearest examples of a point are the same action
by different people, and their blends span hardly any space. Each motion is therefore built from
recordings of one performer: the members of a family that are nearest to the query in the match
graph, as many as in Table 1 of the paper.

The method of the paper is ``ParametrizeSettings.kg04``: it blends the examples nearest to a random
point and interpolates the weights. Ours also blends the examples around a point, and refines the
weights.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import motionloom as ml
from motionloom import demo
from motionloom.blending import Registration, register
from motionloom.demo.body import solve_motion
from motionloom.demo.gait import walk
from motionloom.demo.performers import performer
from motionloom.demo.plan import MotionPlan
from motionloom.library import Library, ParametricMotion
from motionloom.motion import Motion
from motionloom.parametric.parametric_motion import parametrize
from motionloom.parametric.settings import ParametrizeSettings

Array = NDArray[np.float64]
PERFORMER, RATE = 2, 60.0  # the parts about searching use the same performer; the paper's rate
CORPUS = "built-in performer 2 at 60 Hz"
_JOIN = 0.2  # meters: the examples are given, so every recording should become a member
_WALK_JOIN = 0.12
_WINDING_WALKS = 24  # of four or five cycles each


@dataclass(frozen=True)
class Row:
    """A row of Table 1: actions, recordings of each, parameter and the paper's examples.

    The query is the first recording of the first action. ``@hit`` is the frame at which it reaches
    its target.
    """

    name: str
    actions: str
    recordings: int
    by: str
    examples: int


ROWS = (
    Row("reach", "reach_front_mid_right reach_*_right", 2, "right_wrist@hit", 6),
    Row("walk", "", 1, "final_root_position", 96),
    Row("kick", "kick_front_mid_right kick_*_right", 2, "right_ankle@hit", 4),
    Row("sit", "sit_stand sit_stand_low", 1, "lowest(hips)", 2),
    Row("step up", "step_up_left", 4, "height(left_ankle)@150", 4),
    Row("punch", "punch_mid_right punch_*_right", 2, "right_wrist@hit", 7),
    Row("hop", "hop_left", 4, "final_root_position", 4),
    Row("cartwheel", "cartwheel_left", 11, "final_root_position", 11),
)


@dataclass(frozen=True)
class Made:
    """A parametric motion built by the method of the paper and by ours, and the sampling time."""

    row: Row
    paper: ParametricMotion
    ours: ParametricMotion
    alone: ParametricMotion
    seconds: float


@cache
def eight_motions() -> tuple[Made, ...]:
    """The eight motions of Table 1, built once for all parts."""
    return tuple(_made(row) for row in ROWS)


@cache
def registered(name: str) -> tuple[Registration, str]:
    """Registered examples of a motion, and its parameter."""
    row = next(row for row in ROWS if row.name == name)
    with tempfile.TemporaryDirectory() as folder:
        if name == "walk":
            takes, query, by, join = _walks(), ":80-142", row.by, _WALK_JOIN
        else:
            takes, hit = _recordings(row)
            query, by, join = f":0-{len(takes[0])}", row.by.replace("hit", str(hit)), _JOIN
        if name != "walk" and len(takes) <= row.examples:  # all are examples
            return register(takes, drop_unmatched=True, align_squares=True), by
        library = Library.create(Path(folder) / "takes.loom")
        for take in takes:
            library.add_motion(take)
        family = library.family(
            takes[0].name + query, max=None, expansion=ml.Expansion(join_distance=join)
        )
        nearest = np.argsort(family.distance_to_query(), kind="stable")[: row.examples]
        chosen = family.only(nearest.tolist())
        return register(library.store, chosen, drop_unmatched=True, align_squares=True), by


def _recordings(row: Row) -> tuple[list[Motion], int]:
    """Recordings of the actions of a row, and the frame at which the first one hits its target."""
    from fnmatch import fnmatch

    patterns = row.actions.split()
    bases = [name.removesuffix("_p0") for name in demo.names() if name.endswith("_p0")]
    actions = list(dict.fromkeys(b for p in patterns for b in bases if fnmatch(b, p)))
    made = [
        demo.annotated(action, performer=PERFORMER, seed=seed, fps=RATE)
        for action in actions
        for seed in range(row.recordings)
    ]
    takes = [replace(m.motion, name=f"{m.motion.name}_{k}") for k, m in enumerate(made)]
    return takes, int(made[0].truth.actions[0].parameters.get("hit_frame", 0))


def _walks() -> list[Motion]:
    """Walks at random speeds along winding paths, so that all their cycles differ."""
    takes = []
    for k in range(_WINDING_WALKS):
        random = np.random.default_rng([1, k])
        speed, bend = random.uniform(0.8, 1.65), random.uniform(0.3, 1.1)
        length, phase = random.uniform(6.0, 12.0), random.uniform(0.0, 2.0 * np.pi)
        if k == 0:
            speed, bend = 1.25, 0.0

        def curvature(at, bend=bend, length=length, phase=phase):
            return bend * np.sin(2.0 * np.pi * at / length + phase)

        plan = MotionPlan(performer(PERFORMER), random)
        walk(plan, speed=speed, curvature=curvature, steps=12)
        takes.append(solve_motion(plan, RATE, start=0.0, end=plan.time, name=f"walk_{k}"))
    return takes


def _made(row: Row) -> Made:
    registration, by = registered(row.name)
    start = time.process_time()
    paper = parametrize(registration, by, ParametrizeSettings.kg04(seed=1), name=row.name)
    seconds = time.process_time() - start
    ours = parametrize(registration, by, settings(), name=row.name)
    alone = parametrize(
        registration, by, ParametrizeSettings.kg04(seed=1, samples=0), name=row.name
    )
    return Made(row, paper, ours, alone, seconds)


def settings(**options) -> ParametrizeSettings:
    """Settings with the random seed that all parts share."""
    return ParametrizeSettings.of({"seed": 1, **options})


def kept(motion: ParametricMotion) -> int:
    """Number of samples, without the examples."""
    return len(motion.accessible) - len(motion.examples)


def valid(row: Array, delta: float) -> bool:
    """Return whether the weights sum to 1 and lie between -delta and 1 + delta."""
    inside = np.all((row >= -delta - 1e-9) & (row <= 1.0 + delta + 1e-9))
    return bool(inside and abs(row.sum() - 1.0) < 1e-9)


def percentiles(errors: Array) -> str:
    """Median and 95th percentile, in centimeters."""
    return f"{100 * np.median(errors):.2f} / {100 * np.percentile(errors, 95):.2f}"
