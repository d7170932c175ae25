"""Phrases: model sequences of movements with variable-order Markov chains.

In the paper, the next movement depends only on the current one, and phrases of several movements
are left to future work. Here, the next node depends on up to `order` previous nodes, if that
sequence occurs in the takes (Galata, Johnson and Hogg 2001). The likelihood for a longer context is
interpolated with that for the next shorter one; the number of different successors seen determines
the weights (Witten and Bell 1991). The shortest context is the transition graph itself, so dropped
or removed edges are never used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Context = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Phrases:
    """Model of the likelihood of each node after a sequence of nodes.

    Attributes
    ----------
    counts : dict
        Maps a sequence of nodes, the oldest first, to the number of times that each node followed
        it.
    transitions : ndarray, shape (K, K)
        Probabilities of the transition graph.
    order : int
        Length of the longest context.
    """

    counts: dict[Context, dict[int, int]]
    transitions: Array
    order: int

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], transitions: Array, order: int) -> Phrases:
        """Learn phrases from sequences of nodes.

        Examples
        --------
        >>> steps = np.full((3, 3), 1 / 3)
        >>> learned = Phrases.of([[0, 1, 0, 2] * 4], steps, order=2)
        >>> learned.likelihoods([1, 0]).round(2), learned.likelihoods([0]).round(2)
        (array([0.07, 0.07, 0.87]), array([0.33, 0.33, 0.33]))
        """
        counts: dict[Context, dict[int, int]] = {}
        for sequence in sequences:
            for at in range(2, len(sequence)):
                for length in range(2, min(order, at) + 1):
                    context = tuple(sequence[at - length : at])
                    after = counts.setdefault(context, {})
                    after[sequence[at]] = after.get(sequence[at], 0) + 1
        return cls(counts, transitions, order)

    def likelihoods(self, path: Sequence[int]) -> Array:
        """Return the likelihood (K,) that each node follows a path of nodes."""
        likely = self.transitions[path[-1]]
        allowed = likely > 0.0
        for length in range(2, min(self.order, len(path)) + 1):
            after = self.counts.get(tuple(path[-length:]))
            if after is None:
                break
            seen = np.zeros(len(likely))
            seen[list(after)] = list(after.values())
            seen[~allowed] = 0.0
            kinds = np.count_nonzero(seen)
            likely = (seen + kinds * likely) / max(seen.sum() + kinds, 1) if kinds else likely
        return likely / likely.sum() if likely.any() else likely

    def cost(self, sequences: Sequence[Sequence[int]]) -> float:
        """Return the mean number of bits needed to predict each movement from the previous ones.

        A movement that the graph does not allow has a likelihood of one in a thousand.
        """
        bits = [
            -np.log2(max(self.likelihoods(sequence[max(at - self.order, 0) : at])[sequence[at]],
                         1e-3))
            for sequence in sequences
            for at in range(1, len(sequence))
        ]  # fmt: skip
        return float(np.mean(bits)) if bits else 0.0
