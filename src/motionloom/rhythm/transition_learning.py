"""Which group of movements follows which: how smoothly, and how often dancers do it.

*Kinematic continuity*: the nearer the last posture of one group is to the first of another, the
likelier the transition, equations (21) and (22). *Behavioural continuity*: the transitions of
the examples, learnt by Baum and Welch's method, equations (23) to (26). A movement shows the
group it is in, surely or by how near it is to the centres; where it shows it surely, the
method ends after one round, with what counting gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput

Array = NDArray[np.float64]


def kinematic_continuity(
    gaps: ArrayLike, labels: ArrayLike, *, sigma: float | None = None
) -> Array:
    """Likelihoods of transitions by smoothness, shape (K, K); rows sum to 1.

    Parameters
    ----------
    gaps : array_like, shape (N, N)
        ``gaps[a, b]``: difference, equation (12), of the last posture of movement `a` from
        the first of `b`.
    labels : array_like of int, shape (N,)
        Group of each movement.
    sigma : float, optional
        How fast likelihood falls with the difference. Default: the median over all pairs of
        groups of how far each lies beyond its nearest.

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
    likely = np.exp(-beyond / sigma)  # (22); what is common to a row cancels
    return likely / likely.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Behaviour:
    """A Markov chain over groups.

    Attributes
    ----------
    start : ndarray, shape (K,)
        Probability to begin in each group, pi.
    transitions : ndarray, shape (K, K)
        Probability of the next group; a row of a group that is never left is zero.
    rounds : int
        Rounds the method took.
    """

    start: Array
    transitions: Array
    rounds: int


def baum_welch(
    sequences: Sequence[Array], *, rounds: int = 200, tolerance: float = 1e-10
) -> Behaviour:
    """Start and transition probabilities from sequences of uncertain groups.

    Parameters
    ----------
    sequences : sequence of array_like, each shape (L, K)
        One example motion each: how likely each of its L movements would be in each of the K
        groups. Rows with a single entry are groups observed surely.
    rounds : int
        At most so many rounds of re-estimation.
    tolerance : float
        Stop when no probability changes by more.

    Returns
    -------
    behaviour : Behaviour

    Examples
    --------
    Observed surely, it counts:

    >>> found = baum_welch([np.eye(2)[[0, 1, 0, 0]]])
    >>> found.transitions, found.start
    (array([[0.5, 0.5],
           [1. , 0. ]]), array([1., 0.]))
    """
    seen = [np.asarray(one, np.float64) for one in sequences if len(one)]
    if not seen:
        raise InvalidInput("there are no movements to learn transitions from")
    groups = seen[0].shape[1]
    start = np.full(groups, 1.0 / groups)
    step = np.full((groups, groups), 1.0 / groups)
    done = 0
    for _ in range(rounds):
        done += 1
        first, moves = np.zeros(groups), np.zeros((groups, groups))
        for likely in seen:
            states, pairs = _expected(likely, start, step)
            first += states[0]
            moves += pairs
        left = moves.sum(axis=1, keepdims=True)
        better = np.divide(moves, left, out=np.zeros_like(moves), where=left > 0.0)
        begin = first / first.sum()
        change = max(np.abs(better - step).max(), np.abs(begin - start).max())
        start, step = begin, better
        if change <= tolerance:
            break
    return Behaviour(start, step, done)


def _expected(likely: Array, start: Array, step: Array) -> tuple[Array, Array]:
    """Expected states (L, K) and transitions (K, K) of one sequence: forward and backward."""
    length, groups = likely.shape
    forward, backward = np.zeros((length, groups)), np.ones((length, groups))
    scale = np.ones(length)
    for t in range(length):
        ahead = start if t == 0 else forward[t - 1] @ step
        row = ahead * likely[t]
        if row.sum() <= 0.0:  # never seen so far: take the observation's word
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
