"""Learned words: words that are predicted for a motion from descriptions of similar motions.

The model is a ridge regression from motion statistics to the words of descriptions. It is exact,
has no random initialization, and trains in less than a second. It learns from the described takes
that come with motionloom (`motionloom.text.described_takes`) and from the library's own labels,
which count more. A description that many motions share, such as a session name, counts less for
each of them. The confidence of a word is the fraction of equally strong predictions that are
correct. It is measured by cross-validation, with the takes of one performer or a single label
excluded at a time, for which ridge regression has a closed formula.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.text.described_takes import (
    STEPS,
    DescribedTakes,
    knot_scores,
    quantile_knots,
)

Array = NDArray[np.float64]

FEWEST = 20  # minimum number of descriptions for learning
_MOST = 4000  # maximum number of labels that are used
_RIDGE = 6.0  # per statistic
_SHARED = 10.0  # a description shared by more motions counts as if this many shared it
_OWN = 2.0  # weight of a library's own labels
_RARE, _RARE_OWN = 3, 2  # minimum number of descriptions, or of own labels, with a word
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
        return [(self.vocabulary[v], self.sure(float(column[v]))) for v in best if column[v] > 0.0]

    def sure(self, prediction: float) -> float:
        """Return the fraction of predictions with this strength that are correct."""
        b = int(np.searchsorted(self.limits, prediction, side="right")) - 1
        return float(self.confidence[b]) if b >= 0 else 0.0


def learn_words(
    statistics: NDArray,
    descriptions: Sequence[tuple[int, Sequence[str]]],
    takes: DescribedTakes | None = None,
    words: Callable[[str], Sequence[str]] = str.split,
) -> LearnedWords | None:
    """Learn description words from motion statistics, and predict words for all motions.

    Parameters
    ----------
    statistics : ndarray, shape (M, D)
        Statistics of all motions, with or without a description. Rows of zeros get no words.
    descriptions : sequence of (int, words)
        Index of a motion, and the words of its description. A motion may have several descriptions.
    takes : DescribedTakes, optional
        Other takes to learn from, and a function that returns the `words` of their descriptions.

    Returns
    -------
    learned : LearnedWords or None
        None if fewer than `FEWEST` descriptions have words that occur several times.
    """
    values = np.asarray(statistics, np.float64)
    if not values.size:  # no takes, or none that captions can describe
        return None
    knots = quantile_knots(values) if takes is None else takes.knots
    scores = knot_scores(knots, values)
    examples = _own_examples(scores, descriptions)
    if takes is not None:
        examples = _taken_examples(takes, words).joined(examples)
    count = Counter(word for said in examples.words for word in said)
    own = Counter(word for said, w in examples.weighted_words() if w == _OWN for word in said)
    vocabulary = tuple(sorted(w for w, n in count.items() if n >= _RARE or own[w] >= _RARE_OWN))
    if len(examples.words) < FEWEST or not vocabulary:
        return None
    place = {word: v for v, word in enumerate(vocabulary)}
    idf = np.log(1.0 + len(examples.words) / np.array([count[word] for word in vocabulary]))
    has = np.zeros((len(examples.words), len(vocabulary)))
    for row, said in enumerate(examples.words):
        has[row, [place[word] for word in said if word in place]] = 1.0
    weights = examples.shared_weights()
    target = _unit(has * idf)
    target -= weights @ target / weights.sum()
    predict, left_out = ridge_regression(examples.rows, target, weights, examples.groups)
    predicted = _normalized(scores @ predict) * np.any(values != 0.0, axis=1, keepdims=True)
    limits, confidence = _confidence(_normalized(left_out), has)
    return LearnedWords(
        vocabulary, idf, predicted.T.astype(np.float32), limits, confidence, len(examples.words)
    )


@dataclass(frozen=True, eq=False)
class _Examples:
    """Normal scores, words and weights of examples, and groups for cross-validation."""

    rows: Array
    words: list[frozenset[str]]
    weights: list[float]
    groups: list[str]

    def joined(self, other: _Examples) -> _Examples:
        return _Examples(
            np.vstack([self.rows, other.rows]),
            self.words + other.words,
            self.weights + other.weights,
            self.groups + other.groups,
        )

    def weighted_words(self) -> zip[tuple[frozenset[str], float]]:
        return zip(self.words, self.weights, strict=True)

    def shared_weights(self) -> Array:
        shared = Counter(self.words)
        return np.array([w * min(1.0, _SHARED / shared[said]) for said, w in self.weighted_words()])


def _own_examples(scores: Array, descriptions: Sequence[tuple[int, Sequence[str]]]) -> _Examples:
    own = [(m, frozenset(said)) for m, said in descriptions if said]
    own = own[:: max(1, -(-len(own) // _MOST))]
    return _Examples(
        scores[[m for m, _ in own]],
        [said for _, said in own],
        [_OWN] * len(own),
        [f"motion {m}" for m, _ in own],
    )


def _taken_examples(takes: DescribedTakes, words: Callable[[str], Sequence[str]]) -> _Examples:
    said = [(n, frozenset(words(text))) for n, text in enumerate(takes.descriptions)]
    said = [(n, each) for n, each in said if each]
    return _Examples(
        takes.scores[[n for n, _ in said]] / STEPS,
        [each for _, each in said],
        [1.0] * len(said),
        [takes.performer(n) for n, _ in said],
    )


def ridge_regression(
    rows: Array, target: Array, weights: Array, groups: Sequence[str]
) -> tuple[Array, Array]:
    """Fit a weighted ridge regression; return it and cross-validated predictions.

    Parameters
    ----------
    rows : ndarray, shape (N, D)
    target : ndarray, shape (N, V)
    weights : ndarray, shape (N,)
    groups : sequence of str, length N
        Rows of one group are excluded together.

    Returns
    -------
    coefficients : ndarray, shape (D, V)
    left_out : ndarray, shape (N, V)
        Predictions for each row, without the rows of its group.
    """
    width = rows.shape[1]
    weighted = rows * weights[:, None]
    inverse = np.linalg.inv(weighted.T @ rows + _RIDGE * width * np.eye(width))
    coefficients = inverse @ (weighted.T @ target)
    left_out = rows @ coefficients
    members: dict[str, list[int]] = {}
    for n, group in enumerate(groups):
        members.setdefault(group, []).append(n)
    for chosen in members.values():
        # Without a group, the residuals r of its rows are (I - H)^-1 r, H the hat matrix.
        hat = rows[chosen] @ inverse @ weighted[chosen].T
        residuals = np.linalg.solve(np.eye(len(chosen)) - hat, target[chosen] - left_out[chosen])
        left_out[chosen] = target[chosen] - residuals
    return coefficients, left_out


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
