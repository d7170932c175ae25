"""Learned words: words that are predicted for a motion from the labels of similar motions.

The model is a kernel ridge regression from motion statistics to the words of the labels. It is
exact, has no random initialization, and trains in seconds. Statistics are replaced by the normal
scores of their ranks, so that neither units nor outliers matter. A label that many motions share,
such as a session name, counts less for each of them. The confidence of a word is measured by
leave-one-out cross-validation, for which ridge regression has a closed formula: it is the fraction
of equally strong predictions that are correct.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEWEST = 20  # minimum number of descriptions for learning
_MOST = 4000  # maximum number of descriptions; time grows with their cube
_GAMMA = 0.3  # width of the kernel, per statistic
_RIDGE = 6.0
_SHARED = 5.0  # a description shared by more motions counts as if this many shared it
_RARE = 2  # minimum number of descriptions with a word
_BINS = 24  # number of bins for the confidence of predictions


@dataclass(frozen=True, eq=False)
class LearnedWords:
    """Predicted words for M motions.

    Attributes
    ----------
    vocabulary : tuple of str
        V words.
    idf : ndarray, shape (V,)
        Rarity of each word (inverse document frequency).
    predicted : ndarray of float32, shape (V, M)
        Strength of the prediction of each word, normalized over words.
    limits, confidence : ndarray, shape (B,)
        A prediction of at least ``limits[b]`` is correct in a fraction ``confidence[b]`` of cases.
    descriptions : int
        Number of descriptions used for learning.
    """

    vocabulary: tuple[str, ...]
    idf: Array
    predicted: NDArray[np.float32]
    limits: Array
    confidence: Array
    descriptions: int

    def scores(self, query: Sequence[str]) -> Array:
        """Return how well each motion matches a query, shape (M,); 0 if no word was learned."""
        place = {word: v for v, word in enumerate(self.vocabulary)}
        asked = [place[word] for word in dict.fromkeys(query) if word in place]
        if not asked:
            return np.zeros(self.predicted.shape[1])
        weights = self.idf[asked] / np.linalg.norm(self.idf[asked])
        return weights @ self.predicted[asked].astype(np.float64)

    def words_of(self, m: int, most: int = 5) -> list[tuple[str, float]]:
        """Return the most strongly predicted words for motion `m`, with their confidence."""
        column = np.asarray(self.predicted[:, m], np.float64)
        best = np.argsort(-column)[:most]
        return [(self.vocabulary[v], self.sure(float(column[v]))) for v in best]

    def sure(self, prediction: float) -> float:
        """Return the fraction of predictions with this strength that are correct."""
        b = int(np.searchsorted(self.limits, prediction, side="right")) - 1
        return float(self.confidence[b]) if b >= 0 else 0.0


def learn_words(
    statistics: NDArray, descriptions: Sequence[tuple[int, Sequence[str]]]
) -> LearnedWords | None:
    """Learn description words from motion statistics, and predict words for all motions.

    Parameters
    ----------
    statistics : ndarray, shape (M, D)
        Statistics of all motions, with or without a description.
    descriptions : sequence of (int, words)
        Index of a motion, and the words of its description. A motion may have several descriptions.

    Returns
    -------
    learned : LearnedWords or None
        None if fewer than `FEWEST` descriptions have words that occur at least twice.
    """
    said = [(m, set(words)) for m, words in descriptions if words]
    said = said[:: max(1, -(-len(said) // _MOST))]
    count = Counter(word for _, words in said for word in words)
    vocabulary = tuple(sorted(word for word, n in count.items() if n >= _RARE))
    if len(said) < FEWEST or not vocabulary:
        return None
    place = {word: v for v, word in enumerate(vocabulary)}
    idf = np.log(1.0 + len(said) / np.array([count[word] for word in vocabulary]))
    has = np.zeros((len(said), len(vocabulary)))
    for row, (_, words) in enumerate(said):
        has[row, [place[word] for word in words if word in place]] = 1.0
    target = _unit(has * idf)
    members = np.array([m for m, _ in said])
    scores = normal_scores(np.asarray(statistics, np.float64), np.unique(members))
    shared = Counter(frozenset(words) for _, words in said)
    counts = np.array([min(1.0, _SHARED / shared[frozenset(words)]) for _, words in said])
    mean = counts @ target / counts.sum()
    kernel = _kernel(scores[members], scores[members])
    inverse = np.linalg.inv(kernel + np.diag(_RIDGE / counts))
    weights = inverse @ (target - mean)
    predicted = _normalized(_kernel(scores, scores[members]) @ weights)
    # Ridge regression without one row has an exact solution: the residual grows by 1 / (1 -
    # leverage).
    left_out = (target - mean) - weights / np.diag(inverse)[:, None]
    limits, confidence = _confidence(_normalized(left_out), has)
    return LearnedWords(
        vocabulary, idf, predicted.T.astype(np.float32), limits, confidence, len(said)
    )


def normal_scores(values: Array, members: NDArray) -> Array:
    """Replace each value with the normal score of its rank in its column, among rows `members`."""
    from scipy.special import ndtri

    out = np.empty_like(values)
    for d in range(values.shape[1]):
        ranked = np.sort(values[members, d])
        low, high = (np.searchsorted(ranked, values[:, d], side) for side in ("left", "right"))
        share = (0.5 * (low + high) + 0.5) / (len(ranked) + 1.0)
        out[:, d] = ndtri(np.clip(share, 1e-3, 1.0 - 1e-3))
    return out


def _kernel(a: Array, b: Array) -> Array:
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2.0 * a @ b.T
    return np.exp(-_GAMMA / a.shape[1] * np.maximum(squares, 0.0))


def _unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _normalized(rows: Array) -> Array:
    """Normalize predictions to unit length while keeping weak predictions weak."""
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 0.05)


def _confidence(predicted: Array, has: Array) -> tuple[Array, Array]:
    """Return bin limits for predictions, and the non-decreasing fraction correct in each bin."""
    positive = predicted > 0.02
    strength, right = predicted[positive], has[positive]
    if len(strength) < _BINS:  # too few to distinguish strong from weak predictions
        return np.array([0.02]), np.array([right.mean() if len(right) else 0.0])
    order = np.argsort(strength)
    strength, right = strength[order], right[order]
    # The strongest tenth gets as many bins as the rest.
    shares = np.concatenate([np.linspace(0.0, 0.9, _BINS // 2), 1.0 - 0.1 * 0.6 ** np.arange(
        1, _BINS // 2)])  # fmt: skip
    starts = np.unique((shares * len(strength)).astype(np.int64))
    ends = np.append(starts[1:], len(strength))
    share = np.array([right[a:b].mean() for a, b in zip(starts, ends, strict=True)])
    return strength[starts], np.maximum.accumulate(share)
