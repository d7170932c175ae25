"""Principal components of poses, fitted to a library.

Poses with 17 joints have 51 coordinates, but joint movements are correlated, so a few principal
directions explain most of the variance. The first `n` coordinates along these directions form a
feature set. Distances between these features are never larger than distances between the whole
poses, and approach them as `n` grows.

Fitting only needs sums over all frames (of coordinates and of their products), so it can run motion
by motion and in parallel with the same result.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Basis:
    """Principal components of poses.

    Attributes
    ----------
    mean : ndarray, shape (D,)
    directions : ndarray, shape (D, D)
        One direction per row, orthonormal, largest variance first.
    variances : ndarray, shape (D,)
        Variance along each direction.

    Examples
    --------
    >>> from motionloom.features.feature_table import principal_components
    >>> basis = principal_components(lib.store, "pca8")
    >>> basis.project(basis.mean[None], 8).shape
    (1, 8)
    """

    mean: NDArray[Any]
    directions: NDArray[Any]
    variances: NDArray[Any]

    def project(self, rows: ArrayLike, components: int) -> NDArray[np.float64]:
        """Project poses (T, D) onto the first `components` directions, shape (T, components)."""
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.mean):
            raise InvalidInput(
                f"rows must have shape (frames, {len(self.mean)}), the width of the poses to which "
                f"the basis was fitted; got {rows.shape}"
            )
        return (rows - self.mean) @ self.directions[:components].T

    def explained(self, components: int) -> float:
        """Return the fraction of variance explained by the first `components` directions."""
        total = float(self.variances.sum())
        return float(self.variances[:components].sum()) / total if total > 0.0 else 1.0

    @property
    def digest(self) -> str:
        """Hash that identifies the mean and the directions."""
        digest = hashlib.blake2b(digest_size=12)
        for array in (self.mean, self.directions):
            digest.update(np.ascontiguousarray(array, dtype="<f8").data)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, sum, and sum of products of vectors (T, D), skipping vectors with NaN."""

    count: int
    total: NDArray[Any]
    products: NDArray[Any]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Moments:
        """Return the moments of one motion's vectors."""
        rows = rows[np.isfinite(rows).all(axis=1)]
        return cls(len(rows), rows.sum(axis=0), rows.T @ rows)

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.count + other.count, self.total + other.total, self.products + other.products
        )


def fit_basis(moments: Moments) -> Basis:
    """Compute principal components from moments.

    Raises
    ------
    InvalidInput
        If there are fewer than two frames.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> basis = fit_basis(Moments.of(rows))
    >>> basis.mean, basis.directions[0], basis.explained(1)
    (array([1. , 0.5]), array([1., 0.]), 0.8)
    """
    if moments.count < 2:
        raise InvalidInput(f"principal components need at least 2 frames; got {moments.count}")
    mean = moments.total / moments.count
    covariance = moments.products / moments.count - np.outer(mean, mean)
    variances, directions = np.linalg.eigh(covariance)
    order = np.argsort(-variances, kind="stable")
    directions = directions.T[order]
    # The sign is chosen to make the largest entry positive, which makes the result reproducible.
    largest = np.argmax(np.abs(directions).round(9), axis=1)
    directions *= np.sign(np.take_along_axis(directions, largest[:, None], axis=1))
    return Basis(mean, directions + 0.0, np.maximum(variances[order], 0.0))
