"""Mappings from parameters to blend weights, by sampling or with cardinal basis functions.

A blend is defined by weights, but users think in terms of parameters. The map from parameters to
weights is known only at the examples and is not linear between them. Kovar & Gleicher (2004,
sections 4.2 and 4.3) sample it: they fill the gaps with random blends of examples that are
neighbors in parameter space. If several performers did the same motion, the nearest examples are
nearly identical and do not span the space. Every other sample therefore uses the examples *around*
a point instead of the nearest ones (the paper's rule is ``sampling="nearest"``). The weights for a
target are interpolated from the samples around it. A convex combination of valid weights is also
valid, so a target that is out of reach is replaced by a reachable one. Weights are valid if they
sum to 1 and each lies in ``[-delta, 1 + delta]``.

`CardinalBasis` has one function per example, which is 1 at the parameters of this example and 0 at
the parameters of all others. Each function is a linear part fitted by least squares plus radial
parts (Rose, Cohen & Bodenheimer 1998; Sloan, Rose & Cohen 2001; used online by Park, Shin & Shin
2002). The basis is smooth and does not require samples. However, its weights are not bounded,
targets between examples are reached exactly only if blends are linear, and every example
contributes to every blend. Sampling is therefore the default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.checked_arrays import largest_value
from motionloom.errors import InvalidInput
from motionloom.parallel import Progress

Array = NDArray[np.float64]
Measure = Callable[[Array], Array]
"""Function that maps weights (N,) to the parameters (d,) of the blend."""

EXPANDED = 0.2  # Kovar & Gleicher 2004: enlargement of the bounding box of the examples
NEIGHBORS = 12  # from section 4.4 of the same paper
SPACING = 0.0127  # from section 4.2 of the same paper: half an inch
DELTA = 0.1  # weights lie between -DELTA and 1 + DELTA
_APART = 0.7  # relative distance between two neighbors on different sides of a point
_FULL = 100  # the space is full after this many consecutive blends too close to others


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The K samples nearest to a target.

    Attributes
    ----------
    shares : ndarray, shape (K,)
        Share of each sample in the interpolated weights. Shares are non-negative and sum to 1.
    weights : ndarray, shape (K, N)
        Blend weights of the samples.
    parameters : ndarray, shape (K, d)
        Parameters of the samples.
    """

    shares: Array
    weights: Array
    parameters: Array


@dataclass(frozen=True, eq=False)
class ParameterSpace:
    """Sampled blends of N examples, with their parameters and weights.

    Attributes
    ----------
    examples : ndarray, shape (N, d)
        Parameters of the examples.
    parameters : ndarray, shape (S, d)
        Parameters of the samples; the examples are the first N.
    members : ndarray of int32, shape (S, m)
        Examples that each sample blends, of which at most d + 1 have a nonzero weight.
    weights : ndarray, shape (S, m)
        Blend weights of these examples.
    delta : float
    tried : int
        Number of blends computed to find the samples.
    shortfall : str
        Reason why there are fewer samples than requested; empty if there are enough.
    """

    examples: Array
    parameters: Array
    members: NDArray[np.int32]
    weights: Array
    delta: float = DELTA
    tried: int = 0
    shortfall: str = ""

    def __len__(self) -> int:
        return len(self.parameters)

    @cached_property
    def _tree(self):
        from scipy.spatial import cKDTree

        return cKDTree(self.parameters)

    def dense(self, samples: ArrayLike) -> Array:
        """Return the weights of `samples` over all examples, shape (len(samples), N)."""
        rows = np.atleast_1d(np.asarray(samples, np.intp))
        out = np.zeros((len(rows), len(self.examples)))
        np.add.at(out, (np.arange(len(rows))[:, None], self.members[rows]), self.weights[rows])
        return out

    def nearest(self, target: ArrayLike) -> int:
        """Return the index of the sample nearest to a target (d,)."""
        return int(self._tree.query(self._checked(target))[1])

    def weights_for(self, target: ArrayLike, *, k: int = NEIGHBORS) -> Array:
        """Interpolate valid blend weights (N,) for a target from the nearest samples.

        Parameters
        ----------
        target : array_like, shape (d,)
        k : int
            Number of samples to interpolate.

        Notes
        -----
        The share of sample i at distance ``D_i`` is proportional to ``1/D_i - 1/D_k`` (equations 2
        and 3 of Kovar & Gleicher 2004).
        """
        around = self.around(target, k=k, samples=k)
        return around.shares @ around.weights

    def around(
        self, target: ArrayLike, *, k: int = NEIGHBORS, samples: int = NEIGHBORS
    ) -> Neighborhood:
        """Return the samples nearest to a target; the first `k` have nonzero shares.

        Examples
        --------
        >>> line = np.array([[0.0], [1.0], [3.0]])
        >>> space = sampled_space(line, lambda weights: weights @ line, samples=0)
        >>> space.around([0.5], k=3).shares.tolist()
        [0.5, 0.5, 0.0]
        """
        wanted = self._checked(target)
        gaps, near = self._tree.query(wanted, k=min(max(k, samples, 2), len(self)))
        gaps, near = np.atleast_1d(gaps), np.atleast_1d(near)
        shares = np.zeros(len(gaps))
        first = shares_of(gaps[: max(k, 2)])
        shares[: len(first)] = first
        return Neighborhood(shares, self.dense(near), self.parameters[near])

    def _checked(self, target: ArrayLike) -> Array:
        return checked_target(target, self.examples.shape[1])


def shares_of(gaps: Array) -> Array:
    """Return the normalized interpolation shares of samples at increasing distances (k,)."""
    if gaps[0] < 1e-12 or len(gaps) == 1:
        return np.eye(1, len(gaps))[0]
    shares = 1.0 / gaps - 1.0 / gaps[-1]
    total = shares.sum()
    if total <= 1e-12 / gaps[0]:  # all samples are at the same distance
        return np.full(len(gaps), 1.0 / len(gaps))
    return shares / total


def checked_target(target: ArrayLike, size: int) -> Array:
    """Check a target and return it as an array (size,).

    Raises
    ------
    InvalidInput
        If it does not have `size` finite numbers, or the square of a number is not finite.
    """
    try:
        wanted = np.asarray(target, np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"a target must be {size} finite numbers; got {target!r}") from None
    if wanted.shape != (size,) or not np.all(np.abs(wanted) < largest_value(wanted.dtype)):
        raise InvalidInput(
            f"a target must be {size} finite numbers whose squares are also finite; got "
            f"{np.array2string(wanted)}"
        )
    return wanted


def sampled_space(
    examples: ArrayLike,
    measure: Measure,
    *,
    samples: int = 1000,
    delta: float = DELTA,
    spacing: float = SPACING,
    expanded: float = EXPANDED,
    sampling: Literal["mixed", "nearest"] = "mixed",
    counted: Literal["kept", "generated"] = "kept",
    seed: int | np.random.Generator = 0,
    progress: Progress | None = None,
) -> ParameterSpace:
    """Fill the parameter space between examples with random blends.

    Parameters
    ----------
    examples : array_like, shape (N, d)
        Parameters of the examples.
    measure : callable
        Function that maps weights (N,) to the parameters (d,) of the blend.
    samples : int
        Number of samples. With *kept*, the result has fewer if the space is full earlier;
        `ParameterSpace.shortfall` gives the reason.
    delta : float
        Weights lie between ``-delta`` and ``1 + delta``.
    spacing : float
        Minimum distance between two samples, in the unit of the parameters.
    expanded : float
        Fraction by which the bounding box of the examples is enlarged.
    sampling : {"mixed", "nearest"}
        *nearest* blends the examples nearest to a random point, as in the paper; *mixed* uses the
        examples around the point for every other sample.
    counted : {"kept", "generated"}
        Blends that count as `samples`. *kept* counts those that are far enough from all others and
        stops after 100 others in a row; *generated* counts all, as in the paper.
    seed : int or Generator
    progress : callable, optional
        Called with the number of new samples since the last call.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> space = sampled_space(corners, lambda weights: weights @ corners, samples=200, seed=1)
    >>> (space.weights_for([0.3, 0.3]) @ corners).round(1)
    array([0.3, 0.3])
    """
    examples = np.atleast_2d(np.asarray(examples, np.float64))
    count, size = examples.shape
    if not 0.0 <= delta <= 1.0:
        raise InvalidInput(f"delta must be between 0 and 1; got {delta}")
    if samples < 0 or not spacing >= 0.0:
        raise InvalidInput(
            f"samples and spacing must not be negative; got samples {samples} and spacing {spacing}"
        )
    random = np.random.default_rng(seed)
    few = min(size + 1, count)
    low, high = examples.min(axis=0), examples.max(axis=0)
    low, high = low - expanded / 2 * (high - low), high + expanded / 2 * (high - low)
    parameters, members, weights = [*examples], [], []
    for n in range(count):
        members.append(np.full(few, n))
        weights.append(np.eye(1, few)[0])
    sparse = _Spaced(examples, spacing)
    tried = misses = 0
    generates = counted == "generated"
    while count > 1:
        if tried >= samples if generates else _is_full(len(parameters) - count, samples, misses):
            break
        point = random.uniform(low, high)
        spread = sampling == "mixed" and bool(random.integers(2))
        near = _neighbors(examples, point, few, spread=spread)
        shares = valid_weights(few, delta, random)
        row = np.zeros(count)
        row[near] = shares
        reached = measure(row)
        tried += 1
        misses += 1
        is_new = sparse.add(reached)
        if is_new:
            misses = 0
            parameters.append(reached)
            members.append(near)
            weights.append(shares)
        if progress is not None and (is_new or generates):
            progress(1)
    kept = len(parameters) - count
    is_enough = kept == samples or (generates and tried == samples)
    return ParameterSpace(
        examples,
        np.array(parameters),
        np.array(members, np.int32),
        np.array(weights),
        delta,
        tried,
        "" if is_enough else _shortfall(kept, samples, tried, spacing, count),
    )


def _is_full(kept: int, samples: int, misses: int) -> bool:
    return kept >= samples or misses >= _FULL


def _shortfall(kept: int, samples: int, tried: int, spacing: float, count: int) -> str:
    if count < 2:
        return f"0 of {samples:,} samples: there is only one example, and blends need at least two"
    return (
        f"{kept:,} of {samples:,} samples: the space is full. The last {_FULL} of {tried:,} blends "
        f"were within {spacing:g} (spacing) of another sample"
    )


def _neighbors(examples: Array, point: Array, few: int, *, spread: bool) -> NDArray[np.intp]:
    """Return the `few` examples nearest to a point, or the nearest on each side of it."""
    gaps = np.linalg.norm(examples - point, axis=1)
    order = np.argsort(gaps, kind="stable")
    if not spread:
        return order[:few]
    chosen: list[int] = []
    for n in order:
        apart = [float(np.linalg.norm(examples[n] - examples[m])) for m in chosen]
        if not apart or min(apart) > _APART * gaps[n]:
            chosen.append(int(n))
            if len(chosen) == few:
                break
    rest = [int(n) for n in order if int(n) not in chosen]
    return np.array([*chosen, *rest[: few - len(chosen)]], np.intp)


def valid_weights(count: int, delta: float, random: np.random.Generator) -> Array:
    """Draw random valid weights (count,) by the rule of Kovar & Gleicher 2004, section 4.2.

    Examples
    --------
    >>> weights = valid_weights(4, 0.1, np.random.default_rng(1))
    >>> bool(abs(weights.sum() - 1.0) < 1e-12 and np.all((weights > -0.1) & (weights < 1.1)))
    True
    """
    weights = np.empty(count)
    total = 0.0
    order = random.permutation(count)
    for n in order[:-1]:
        weights[n] = random.uniform(
            max(-delta, -delta - total), min(1.0 + delta, 1.0 + delta - total)
        )
        total += weights[n]
    weights[order[-1]] = 1.0 - total
    return weights


class _Spaced:
    """Points that are at least `spacing` apart, stored in a grid of cells of that size."""

    def __init__(self, points: Array, spacing: float) -> None:
        self.spacing = spacing
        self.cells: dict[tuple[int, ...], list[Array]] = {}
        self.around = list(np.ndindex(*[3] * points.shape[1])) if points.shape[1] <= 4 else None
        self.all: list[Array] = []
        for point in points:
            self._put(point)

    def add(self, point: Array) -> bool:
        """Add a point if it is far enough from all others, and return whether it was added."""
        if self.spacing > 0.0 and any(
            np.linalg.norm(point - other) < self.spacing for other in self._near(point)
        ):
            return False
        self._put(point)
        return True

    def _near(self, point: Array) -> list[Array]:
        if self.around is None:
            return self.all
        cell = self._cell(point)
        near: list[Array] = []
        for step in self.around:
            near += self.cells.get(tuple(c + s - 1 for c, s in zip(cell, step, strict=True)), [])
        return near

    def _put(self, point: Array) -> None:
        self.all.append(point)
        if self.spacing > 0.0:
            self.cells.setdefault(self._cell(point), []).append(point)

    def _cell(self, point: Array) -> tuple[int, ...]:
        return tuple(int(c) for c in np.floor(point / self.spacing))


_SUPPORT = 2.0  # radius of a radial part, as a multiple of the distance to the nearest example


@dataclass(frozen=True, eq=False)
class CardinalBasis:
    """Cardinal basis, which gives the weights of N examples as functions of d parameters.

    Attributes
    ----------
    examples : ndarray, shape (N, d)
    linear : ndarray, shape (d + 1, N)
        Coefficients of the constant and of each parameter.
    radial : ndarray, shape (N, N)
        Coefficients of the radial functions around each example.
    radii : ndarray, shape (N,)
    """

    examples: Array
    linear: Array
    radial: Array
    radii: Array

    @classmethod
    def of(cls, examples: ArrayLike) -> CardinalBasis:
        """Fit the basis to examples with parameters (N, d).

        Raises
        ------
        InvalidInput
            If two examples have the same parameters.

        Examples
        --------
        >>> basis = CardinalBasis.of([[0.0], [1.0], [3.0]])
        >>> basis.weights_for([1.0]).round(9) + 0.0
        array([0., 1., 0.])
        >>> float(basis.weights_for([9.0]).max()) > 1.5
        True
        """
        places = np.atleast_2d(np.asarray(examples, np.float64))
        count = len(places)
        gaps = np.linalg.norm(places[:, None] - places[None], axis=-1)
        if count > 1:
            nearest = (gaps + np.where(np.eye(count, dtype=bool), np.inf, 0.0)).min(axis=1)
            if nearest.min() < 1e-9:
                n = int(nearest.argmin())
                raise InvalidInput(
                    f"examples must differ in their parameters; example {n} and another one both "
                    f"have {places[n].tolist()}. Remove one of them"
                )
            radii = _SUPPORT * nearest
        else:
            radii = np.ones(1)
        flat = np.column_stack([np.ones(count), places])
        linear = np.asarray(np.linalg.lstsq(flat, np.eye(count), rcond=None)[0], np.float64)
        rest = np.eye(count) - flat @ linear
        radial = np.asarray(np.linalg.lstsq(_bumps(gaps / radii), rest, rcond=None)[0], np.float64)
        return cls(places, linear, radial, radii)

    def weights_for(self, target: ArrayLike) -> Array:
        """Return weights (N,) for parameters (d,), which sum to 1 but are not bounded."""
        wanted = checked_target(target, self.examples.shape[1])
        gaps = np.linalg.norm(self.examples - wanted, axis=1) / self.radii
        weights = np.concatenate([[1.0], wanted]) @ self.linear + _bumps(gaps) @ self.radial
        return weights / weights.sum() if abs(weights.sum()) > 1e-9 else weights


def _bumps(gaps: Array) -> Array:
    """Evaluate a cubic B-spline at distances in units of the radius; 0 beyond the radius."""
    x = 2.0 * np.abs(gaps)
    near = 1.0 - 1.5 * x**2 + 0.75 * x**3
    far = 0.25 * np.maximum(2.0 - x, 0.0) ** 3
    return np.where(x < 1.0, near, far)
