"""The eight parameterized motions of Kovar & Gleicher 2004, built once for all parts.

The method of the paper is ``ParametrizeSettings.kg04``: it blends the examples nearest to a random
point and interpolates the weights. Ours also blends the examples around a point, and refines the
weights.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import motionloom as ml
from benchmarks.table_one import ROWS, Row
from motionloom.blending import register
from motionloom.library import Library, ParametricMotion
from motionloom.parametric.parametric_motion import parametrize
from motionloom.parametric.settings import ParametrizeSettings

Array = NDArray[np.float64]
CORPUS = "built-in corpus"


@dataclass(frozen=True)
class Made:
    """A parametric motion built by the method of the paper and by ours, and the sampling time."""

    row: Row
    paper: ParametricMotion
    ours: ParametricMotion
    alone: ParametricMotion
    seconds: float


@cache
def eight_motions(corpus: Path) -> tuple[Made, ...]:
    """The eight motions of table 1, built once for all parts."""
    library = Library(corpus)
    return tuple(_made(library, row) for row in ROWS)


def _made(library: Library, row: Row) -> Made:
    family = library.family(
        row.query, label=row.label, max=100, expansion=ml.Expansion(join_distance=row.max_distance)
    )
    registration = register(library.store, family, drop_unmatched=True)
    start = time.process_time()
    paper = parametrize(registration, row.by, ParametrizeSettings.kg04(seed=1), name=row.name)
    seconds = time.process_time() - start
    ours = parametrize(registration, row.by, settings(), name=row.name)
    alone = parametrize(registration, row.by, settings(samples=0), name=row.name)
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
