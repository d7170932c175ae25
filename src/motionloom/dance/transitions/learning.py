"""Learn movement transition graphs: cluster movements and estimate transition probabilities.

`grouped_movements` and `learned_graph` turn the movements of takes into a graph, after Kim, Park
and Shin (2003), section 4. The other functions implement the single steps.

*Clustering*: k-medoids or subtractive clustering. Both need only the differences between movements,
equation (15), so the center of a group is one of its movements (section 4.1; Chiu 1994).

*Kinematic continuity*: the more similar the last posture of one group is to the first posture of
another, the more likely is the transition, equations (21) and (22). *Behavioral continuity*: the
Baum-Welch algorithm, equations (23) to (26), estimates how often each group follows another in the
takes. Equation (20) assigns every movement to one group, so the groups are observed, and the
algorithm converges in one iteration to relative frequencies. (Uncertain observations were tried and
rejected: the more uncertain the groups are, the more the algorithm invents regular sequences that
do not occur in the takes; see the evidence page of the paper.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.dance.movements import (
    Movement,
    MovementComparison,
    movement_differences,
    transition_differences,
)
from motionloom.dance.settings import ChoreographySettings
from motionloom.dance.transitions.movement_graph import TransitionGraph, combined_graph
from motionloom.errors import InvalidInput
from motionloom.ragged import Ragged

Array = NDArray[np.float64]


def kinematic_continuity(
    gaps: ArrayLike, labels: ArrayLike, *, sigma: float | None = None
) -> Array:
    """Return transition probabilities (K, K) based on smoothness; rows sum to 1.

    Parameters
    ----------
    gaps : array_like, shape (N, N)
        ``gaps[a, b]`` is the difference of the last posture of movement `a` from the first of `b`,
        equation (12).
    labels : array_like of int, shape (N,)
        Group of each movement.
    sigma : float, optional
        Difference at which a transition becomes unlikely. Default: the median amount by which
        differences exceed the smallest one of the same group.

    Examples
    --------
    >>> kinematic_continuity([[0.0, 2.0], [2.0, 0.0]], [0, 1], sigma=1.0).round(3)
    array([[0.881, 0.119],
           [0.119, 0.881]])
    """
    gaps, labels = np.asarray(gaps, np.float64), np.asarray(labels)
    count = int(labels.max()) + 1
    member = np.zeros((len(labels), count))
    member[np.arange(len(labels)), labels] = 1.0
    sizes = member.sum(axis=0)
    between = np.sqrt(member.T @ gaps**2 @ member / np.outer(sizes, sizes))  # (21)
    beyond = between - between.min(axis=1, keepdims=True)
    if sigma is None:
        sigma = float(np.median(beyond[beyond > 0.0])) if np.any(beyond > 0.0) else 1.0
    if not sigma > 0.0:
        raise InvalidInput(f"sigma must be positive; got {sigma:g}")
    likely = np.exp(-beyond / sigma)  # equation (22); a common factor of a row cancels out
    return likely / likely.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Behavior:
    """Markov chain over groups.

    Attributes
    ----------
    start : ndarray, shape (K,)
        Start probabilities, pi.
    transitions : ndarray, shape (K, K)
        Transition probabilities. The row of a group that is never left is zero.
    rounds : int
        Number of iterations.
    """

    start: Array
    transitions: Array
    rounds: int


def baum_welch(
    sequences: Sequence[Array],
    *,
    starts: Sequence[bool] | None = None,
    rounds: int = 200,
    tolerance: float = 1e-10,
) -> Behavior:
    """Estimate start and transition probabilities from sequences of observed groups.

    Parameters
    ----------
    sequences : sequence of array_like, each shape (L, K)
        One array per take, with the likelihood that each of its L movements belongs to each of the
        K groups. A row with a single nonzero entry is a certain observation.
    starts : sequence of bool, optional
        True for a sequence that begins at the start of its take. Other sequences continue after a
        dropped movement, so their first group does not count as a start. Default: all True.
    rounds : int
        Maximum number of iterations.
    tolerance : float
        Stop when no probability changes by more than this.

    Returns
    -------
    behavior : Behavior

    Examples
    --------
    Certain observations give relative frequencies:

    >>> learned = baum_welch([np.eye(2)[[0, 1, 0, 0]]])
    >>> learned.transitions, learned.start
    (array([[0.5, 0.5],
           [1. , 0. ]]), array([1., 0.]))
    """
    given = [True] * len(sequences) if starts is None else list(starts)
    kept = [
        (np.asarray(sequence, np.float64), begins)
        for sequence, begins in zip(sequences, given, strict=True)
        if len(sequence)
    ]
    if not kept:
        raise InvalidInput("sequences must contain at least one movement")
    if not any(begins for _, begins in kept):
        kept = [(sequence, True) for sequence, _ in kept]
    groups = kept[0][0].shape[1]
    anywhere = np.full(groups, 1.0 / groups)
    start = np.full(groups, 1.0 / groups)
    step = np.full((groups, groups), 1.0 / groups)
    done = 0
    for _ in range(rounds):
        done += 1
        first, moves = np.zeros(groups), np.zeros((groups, groups))
        for likely, begins in kept:
            states, pairs = _expected(likely, start if begins else anywhere, step)
            if begins:
                first += states[0]
            moves += pairs
        left = moves.sum(axis=1, keepdims=True)
        better = np.divide(moves, left, out=np.zeros_like(moves), where=left > 0.0)
        begin = first / first.sum()
        change = max(np.abs(better - step).max(), np.abs(begin - start).max())
        start, step = begin, better
        if change <= tolerance:
            break
    return Behavior(start, step, done)


def _expected(likely: Array, start: Array, step: Array) -> tuple[Array, Array]:
    """Compute expected states (L, K) and transitions (K, K) by the forward-backward algorithm."""
    length, groups = likely.shape
    forward, backward = np.zeros((length, groups)), np.ones((length, groups))
    scale = np.ones(length)
    for t in range(length):
        ahead = start if t == 0 else forward[t - 1] @ step
        row = ahead * likely[t]
        if row.sum() <= 0.0:  # the sequence is impossible so far, so only the observation counts
            row = likely[t] / likely[t].sum()
        scale[t] = row.sum()
        forward[t] = row / scale[t]
    for t in range(length - 2, -1, -1):
        back = step @ (likely[t + 1] * backward[t + 1])
        backward[t] = back / back.sum() if back.sum() > 0.0 else 1.0 / groups
    states = forward * backward
    states /= states.sum(axis=1, keepdims=True)
    pairs = np.zeros((groups, groups))
    for t in range(length - 1):
        joint = np.outer(forward[t], likely[t + 1] * backward[t + 1]) * step
        if joint.sum() > 0.0:
            pairs += joint / joint.sum()
    return states, pairs


_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Groups:
    """Partition of N movements into K groups.

    Attributes
    ----------
    labels : ndarray of int, shape (N,)
        Group of each movement, 0 to K - 1.
    centers : ndarray of int, shape (K,)
        Index of the center of each group.
    cost : float
        Sum of the differences between movements and the centers of their groups, equation (16).
    """

    labels: NDArray[np.int64]
    centers: NDArray[np.int64]
    cost: float

    def __len__(self) -> int:
        return len(self.centers)

    def members(self, group: int) -> NDArray[np.int64]:
        """Return the movements of a group."""
        return np.flatnonzero(self.labels == group)


def k_medoids(
    differences: ArrayLike,
    groups: int,
    *,
    restarts: int = 20,
    seed: int | np.random.Generator = 0,
) -> Groups:
    """Cluster with k-medoids and random restarts, equations (16) and (17).

    Parameters
    ----------
    differences : array_like, shape (N, N)
        Differences between movements, symmetric and non-negative.
    groups : int
        Number of groups K, 1 to N.
    restarts : int
        Number of random initial assignments.
    seed : int or numpy.random.Generator

    Examples
    --------
    >>> apart = np.abs(np.subtract.outer([0.0, 0.1, 5.0, 5.2], [0.0, 0.1, 5.0, 5.2]))
    >>> k_medoids(apart, 2).labels
    array([0, 0, 1, 1])
    """
    apart = _checked(differences)
    if not 1 <= groups <= len(apart):
        raise InvalidInput(
            f"groups must be between 1 and the number of movements, {len(apart)}; got {groups}"
        )
    if restarts < 1:
        raise InvalidInput(f"restarts must be at least 1; got {restarts}")
    rng = np.random.default_rng(seed)
    tries = [_converged(apart, _start(len(apart), groups, rng)) for _ in range(restarts)]
    return _ordered(min(tries, key=lambda groups: groups.cost))


def _start(count: int, groups: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random assignment in which every group has a member."""
    labels = rng.integers(groups, size=count)
    labels[rng.permutation(count)[:groups]] = np.arange(groups)
    return labels


def _converged(apart: Array, labels: NDArray[np.int64]) -> Groups:
    """Alternate centers and assignments until convergence."""
    groups = int(labels.max()) + 1
    centers = np.zeros(groups, dtype=np.int64)
    for _ in range(_ROUNDS):
        for group in range(groups):
            members = np.flatnonzero(labels == group)
            if len(members):
                inner = apart[np.ix_(members, members)].sum(axis=0)
                centers[group] = members[np.argmin(inner)]
            else:  # an empty group restarts at the movement farthest from its center
                far = apart[np.arange(len(apart)), centers[labels]]
                centers[group] = int(np.argmax(far))
        nearest = np.argmin(apart[:, centers], axis=1)
        nearest[centers] = np.arange(groups)  # a center stays in its group
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    return Groups(labels, centers, float(apart[np.arange(len(apart)), centers[labels]].sum()))


def usual_radius(apart: Array) -> float:
    """Return the median distance to the nearest neighbor. Distances are roots of differences."""
    nearest = np.sort(apart, axis=1)[:, min(1, len(apart) - 1)]
    return max(float(np.sqrt(np.median(nearest))), 1e-9)


def subtractive(
    differences: ArrayLike, *, radius: float | None = None, squash: float = 1.5,
    threshold: float = 0.15,
) -> Groups:  # fmt: skip
    """Find groups and their number by subtractive clustering, equations (18) to (20).

    Parameters
    ----------
    differences : array_like, shape (N, N)
        Differences between movements, symmetric and non-negative, in squared units as in equation
        (15).
    radius : float, optional
        Radius of influence of a movement, r in the paper, in units of the root of `differences`.
        Default: the median distance to the nearest neighbor.
    squash : float
        Radius around a center in which other centers are discouraged, as a multiple of `radius`; s
        in the paper. It must be greater than 1.
    threshold : float
        Stop when the highest remaining potential falls below this fraction of the first.

    Examples
    --------
    >>> places = np.array([0.0, 0.1, 0.2, 5.0, 5.1])
    >>> groups = subtractive(np.subtract.outer(places, places) ** 2, radius=1.0)
    >>> len(groups), groups.labels
    (2, array([0, 0, 0, 1, 1]))
    """
    apart = _checked(differences)
    if radius is None:
        radius = usual_radius(apart)
    if not (radius > 0.0 and squash > 1.0 and 0.0 < threshold < 1.0):
        raise InvalidInput(
            "radius must be positive, squash greater than 1 and threshold between 0 and 1; got "
            f"{radius:g}, {squash:g} and {threshold:g}"
        )
    potential = np.exp(-apart / radius**2).sum(axis=1)
    least = threshold * float(potential.max())
    centers: list[int] = []
    while len(centers) < len(apart):
        best = int(np.argmax(potential))
        if potential[best] <= least or best in centers:
            break
        centers.append(best)
        potential = potential - potential[best] * np.exp(-apart[:, best] / (squash * radius**2))
    chosen = np.array(centers, dtype=np.int64)
    labels = np.argmin(apart[:, chosen], axis=1)
    cost = float(apart[np.arange(len(apart)), chosen[labels]].sum())
    return _ordered(Groups(labels, chosen, cost))


def silhouette(differences: ArrayLike, groups: Groups) -> float:
    """Return the mean silhouette of movements, -1 to 1 (Rousseeuw 1987).

    It compares the mean distance of a movement from its own group with that from the nearest other
    group: 1 means clearly separate groups and 0 no separation. A movement that is alone in its
    group counts as 0.

    Examples
    --------
    >>> places = np.array([0.0, 0.1, 5.0, 5.1])
    >>> apart = np.subtract.outer(places, places) ** 2
    >>> round(silhouette(apart, k_medoids(apart, 2)), 2)
    0.98
    """
    distances = np.sqrt(_checked(differences))
    if len(groups) < 2:
        return 0.0
    member = np.eye(len(groups))[groups.labels]
    sizes = member.sum(axis=0)
    every, own = np.arange(len(distances)), sizes[groups.labels]
    totals = distances @ member
    within = totals[every, groups.labels] / np.maximum(own - 1.0, 1.0)
    means = totals / sizes
    means[every, groups.labels] = np.inf
    nearest = means.min(axis=1)
    larger = np.maximum(np.maximum(within, nearest), 1e-300)
    return float(np.mean(np.where(own > 1.0, (nearest - within) / larger, 0.0)))


def _ordered(groups: Groups) -> Groups:
    """Sort groups by their first members, so that labels are reproducible."""
    first = [int(np.flatnonzero(groups.labels == k)[0]) for k in range(len(groups))]
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Groups(rank[groups.labels], groups.centers[order], groups.cost)


def _checked(differences: ArrayLike) -> Array:
    apart = np.asarray(differences, dtype=np.float64)
    if apart.ndim != 2 or apart.shape[0] != apart.shape[1] or not len(apart):
        raise InvalidInput(f"differences must be a square array; got shape {apart.shape}")
    if not np.all(np.isfinite(apart)) or apart.min() < 0.0:
        raise InvalidInput("differences must be finite and not negative")
    return apart


def grouped_movements(
    movements: Sequence[Movement], settings: ChoreographySettings
) -> tuple[Array, Groups]:
    """Group movements, section 4.1; return their differences (N, N), equation (15), and groups."""
    how = MovementComparison.of(
        movements, settings.grouping.joint_weights, settings.grouping.velocity_weight
    )
    apart = movement_differences(movements, how)
    if settings.grouping.groups is not None:
        return apart, k_medoids(apart, settings.grouping.groups, seed=settings.grouping.seed)
    radius = settings.grouping.radius * usual_radius(apart)
    return apart, subtractive(apart, radius=radius)


def learned_graph(
    movements: Sequence[Movement],
    lengths: Sequence[int],
    apart: Array,
    groups: Groups,
    settings: ChoreographySettings,
    *,
    starts: Sequence[bool] | None = None,
) -> TransitionGraph:
    """Learn the transition graph between groups of movements, section 4.2.

    Parameters
    ----------
    movements : sequence of Movement
        Movements in the order of the takes.
    lengths : sequence of int
        Number of movements in each run of consecutive movements. The sum must be N.
    apart : ndarray, shape (N, N)
        Differences of the movements.
    groups : Groups
    settings : ChoreographySettings
    starts : sequence of bool, optional
        True for a run that begins at the start of its take. Default: all True.
    """
    how = MovementComparison.of(
        movements, settings.grouping.joint_weights, settings.grouping.velocity_weight
    )
    gaps = transition_differences(movements, how)
    smooth = kinematic_continuity(gaps, groups.labels, sigma=settings.transitions.sigma)
    observed = np.eye(len(groups))[groups.labels]
    learned = baum_welch(Ragged.from_lengths(observed, list(lengths)).rows, starts=starts)
    members = []
    for group, center in enumerate(groups.centers):
        others = [k for k in groups.members(group) if k != center]
        nearest = sorted(others, key=lambda k: apart[center, k])
        members.append([int(center), *map(int, nearest)])
    return combined_graph(
        smooth, learned.transitions, learned.start, members,
        behavior=settings.transitions.behavior,
        min_likelihood=settings.transitions.min_likelihood,
    )  # fmt: skip
