"""Described takes: motion statistics and descriptions of CMU takes, which come with motionloom.

Words are learned from them (`motionloom.text.learned_words`), so that a library without labels can
be searched for "golf" or "climbs a ladder". ``benchmarks/described_takes.py`` writes the file from
the takes and descriptions of the CMU database::

    described_takes.npz       at most 2 MB
      names, descriptions     UTF-8 text as bytes, one line per take
      knots                   quantiles of every statistic over all takes, float32 (Q, D)
      scores                  normal scores of the statistics, int8 (N, D), in steps of 1 / STEPS
    described_takes.sha256    checksum of the file

Statistics are replaced by the normal scores of their ranks among all takes of the database, so that
neither units nor outliers matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import check_shapes, open_arrays
from motionloom.errors import LibraryError
from motionloom.files import read_regular

Array = NDArray[np.float64]

FILE = Path(__file__).with_name("described_takes.npz")
LARGEST = 2_000_000  # bytes
STEPS = 32  # a normal score of 1 is stored as this number
KNOTS = 65  # number of quantiles per statistic
_EXTREME = 3.0  # maximum absolute normal score


@dataclass(frozen=True, eq=False)
class DescribedTakes:
    """N takes with D statistics each.

    Attributes
    ----------
    names, descriptions : tuple of str
    knots : ndarray of float32, shape (Q, D)
        Quantiles of each statistic, in ascending order.
    scores : ndarray of int8, shape (N, D)
        Normal scores of the takes, times `STEPS`.
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    knots: NDArray[np.float32]
    scores: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.names)

    def without(self, excluded: Callable[[str], bool]) -> DescribedTakes:
        """Return all takes except some, for example those of certain performers."""
        kept = [n for n, name in enumerate(self.names) if not excluded(name)]
        return replace(
            self,
            names=tuple(self.names[n] for n in kept),
            descriptions=tuple(self.descriptions[n] for n in kept),
            scores=self.scores[kept],
        )

    def performer(self, n: int) -> str:
        """Return the performer of take `n`, which is the first part of its name."""
        return self.names[n].partition("_")[0]


def quantile_knots(statistics: NDArray) -> NDArray[np.float32]:
    """Return `KNOTS` quantiles of each statistic, shape (Q, D)."""
    shares = np.linspace(0.0, 1.0, KNOTS)
    return np.quantile(np.asarray(statistics, np.float64), shares, axis=0).astype(np.float32)


def knot_scores(knots: NDArray, statistics: NDArray) -> Array:
    """Return the normal scores of statistics (M, D), given quantiles of each statistic (Q, D).

    Examples
    --------
    >>> knots = np.array([[0.0], [1.0], [2.0]])
    >>> knot_scores(knots, np.array([[1.0], [0.0], [99.0]])).round(2).tolist()
    [[0.0], [-3.0], [3.0]]
    """
    from scipy.special import ndtri

    values = np.asarray(statistics, np.float64)
    shares = np.linspace(0.0, 1.0, len(knots))
    out = np.empty_like(values)
    for d in range(values.shape[1]):
        own = np.asarray(knots[:, d], np.float64)
        # Equal quantiles: take the middle of the ranks that a value shares.
        low = np.interp(values[:, d], own, shares)
        high = 1.0 - np.interp(-values[:, d], -own[::-1], shares)
        out[:, d] = 0.5 * (low + high)
    return np.clip(ndtri(np.clip(out, 1e-4, 1.0 - 1e-4)), -_EXTREME, _EXTREME)


@cache
def described_takes_digest() -> str:
    """Return the checksum of the described takes that come with motionloom."""
    return (
        read_regular(FILE.with_suffix(".sha256"), largest=1000).decode("ascii", "replace").strip()
    )


@cache
def described_takes() -> DescribedTakes:
    """Return the described takes that come with motionloom."""
    return read_described_takes(FILE)


def read_described_takes(path: Path) -> DescribedTakes:
    """Read a file of described takes.

    Raises
    ------
    LibraryError
        If its checksum, its arrays or its text are not as expected.
    """
    try:
        expected = read_regular(path.with_suffix(".sha256")).decode("ascii").split()[:1]
        if [hashlib.sha256(read_regular(path, largest=LARGEST)).hexdigest()] != expected:
            raise ValueError("its checksum differs")
        arrays = open_arrays(path, largest=8 * LARGEST)
        names, descriptions = (
            tuple(arrays[key].tobytes().decode("utf-8").split("\n"))
            for key in ("names", "descriptions")
        )
        check_shapes(
            {key: arrays[key] for key in ("knots", "scores")},
            {"knots": ("float", ("Q", "D")), "scores": ("int", ("N", "D"))},
            N=len(names),
            Q=KNOTS,
        )
        if len(descriptions) != len(names) or arrays["scores"].dtype != np.int8:
            raise ValueError("the numbers of names and descriptions differ")
        if not np.isfinite(arrays["knots"]).all() or (np.diff(arrays["knots"], axis=0) < 0.0).any():
            raise ValueError("its quantiles are not in ascending order")
        return DescribedTakes(names, descriptions, arrays["knots"], arrays["scores"])
    except (OSError, ValueError, KeyError, IndexError, LibraryError) as error:
        raise LibraryError(
            f"{path}: the described takes are damaged: {error}; install motionloom again"
        ) from None
