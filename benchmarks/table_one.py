"""The eight parametric motions of Kovar & Gleicher 2004, table 1, from the built-in corpus."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import motionloom as ml
from motionloom import demo
from motionloom.blending import register
from motionloom.errors import InvalidInput
from motionloom.library import Library
from motionloom.parametric.parametric_motion import ParametricMotion, parametrize
from motionloom.parametric.settings import ParametrizeSettings

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One row of the table: query, label, parameter, and radius of the family search."""

    name: str
    query: str
    label: str
    by: str
    max_distance: float


ROWS = (
    Row("reach", "reach_front_mid_right_p0:0-75", "reach", "right_wrist@33", 0.12),
    Row("walk", "walk_p0:9-40", "walk", "final_root_position", 0.08),
    Row("kick", "kick_front_mid_right_p0:0-73", "kick", "right_ankle@33", 0.12),
    Row("sit", "sit_stand_p0:0-118", "sit_stand", "lowest(hips)", 0.12),
    Row("step up", "step_up_left_p0:0-147", "step_up", "height(left_ankle)@75", 0.12),  # the heel
    Row("punch", "punch_mid_right_p0:0-56", "punch", "right_wrist@28", 0.08),
    Row("hop", "hop_left_p0:0-121", "hop", "final_root_position", 0.12),
    Row("cartwheel", "cartwheel_left_p0:0-135", "cartwheel", "final_root_position", 0.15),
)


@contextmanager
def corpus_library(labels: tuple[str, ...] | None = None) -> Iterator[Library]:
    """A temporary library of the single actions of the corpus, labeled by action."""
    with tempfile.TemporaryDirectory() as folder:
        library = Library.create(Path(folder) / "corpus.loom")
        for name in demo.names():
            if name.startswith("take_"):
                continue
            made = demo.annotated(name)
            action = made.truth.actions[0].action
            if labels is None or action in labels:
                library.add_motion(made.motion, labels=[action])
        yield library


def parametric_row(library: Library, row: Row, *, samples: int = 1000) -> ParametricMotion:
    """The parametric motion of one row."""
    family = library.family(
        row.query, label=row.label, max=100, expansion=ml.Expansion(join_distance=row.max_distance)
    )
    registration = register(library, family, drop_unmatched=True)
    return parametrize(
        registration, row.by, ParametrizeSettings(samples=samples, seed=1), name=row.name
    )


def random_targets(motion: ParametricMotion, count: int, seed: int) -> Array:
    """Targets (count, d) inside the accessible region: blends with random weights.

    Each target is reached by random weights of the examples of one sample, so it is accessible but
    not itself a sample. Samples that are examples, in which one member has all the weight, are not
    used, because their parameters are known exactly.
    """
    random = np.random.default_rng(seed)
    space = motion.space
    blended = np.flatnonzero(np.count_nonzero(space.weights, axis=1) > 1)
    if not len(blended):
        raise InvalidInput(f"{motion.name} has no samples between its examples")
    targets = []
    for _ in range(count):
        members = space.members[blended[random.integers(len(blended))]]
        weights = np.zeros(len(space.examples))
        weights[members] = random.dirichlet(np.ones(len(members)))
        targets.append(motion.measure(weights))
    return np.array(targets)
