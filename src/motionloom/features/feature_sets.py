"""Feature sets: feature vectors of frames, compared by Euclidean distance.

The sets follow Krüger, Tautges, Weber and Zinke (2010). Features are positions of a few joints in
the body frame (see `motionloom.features.body_frame`):

======== ===================================================================== =========
``e15``  wrists, ankles, head                                                  15
``e30``  and elbows, knees, chest                                              30
``e39``  and shoulders, lower back                                             39
``e15x3  three or five poses spread over 0.3 s, so that forward and backward   45, 75,
e15x5    differ                                                                90, 117
e30x3
e39x3``
``pca8   principal components of 17 joints, fitted on a library (see           8, 16, 25
pca16    `motionloom.features.principal_components`)
pca25``
======== ===================================================================== =========

Distances are root mean squares over the points, in meters. They are computed as the norm of the
difference between two feature vectors, times the `scale` of the set. `register_features` adds
another set.

References
----------
.. [1] B. Krüger, J. Tautges, A. Weber, A. Zinke. Fast local and global similarity searches
   in large motion capture databases. SCA 2010, section 3.2.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.features.body_frame import Normalize, body_positions, check_normalize
from motionloom.features.euclidean import euclidean_matrix
from motionloom.motion import Motion

if TYPE_CHECKING:
    from motionloom.features.principal_components import Basis


def window_samples(
    values: NDArray[np.float64], seconds: ArrayLike, fps: float
) -> NDArray[np.float64]:
    """Sample values at fixed times before and after every frame.

    Parameters
    ----------
    values : ndarray, shape (T, ...)
        One entry per frame.
    seconds : array_like, shape (S,)
        Times relative to the frame; negative times are before the frame.
    fps : float

    Returns
    -------
    samples : ndarray, shape (T, S, ...)
        Samples, linearly interpolated between frames. Times outside the motion use its first or
        last frame. A missing (NaN) value affects only the samples that depend on it.

    Examples
    --------
    >>> window_samples(np.array([0.0, 1.0, 2.0]), [-0.05, 0.0, 0.1], fps=10.0)
    array([[0. , 0. , 1. ],
           [0.5, 1. , 2. ],
           [1.5, 2. , 2. ]])
    """
    count = len(values)
    offsets = np.atleast_1d(np.asarray(seconds, dtype=np.float64)) * fps
    out = np.empty((count, len(offsets), *values.shape[1:]))
    frames = np.arange(count)
    for k, offset in enumerate(offsets):
        whole = round(offset)
        if abs(offset - whole) < 1e-6:  # exactly on a frame: no interpolation
            out[:, k] = values[np.clip(frames + whole, 0, count - 1)]
            continue
        before = int(np.floor(offset))
        share = offset - before
        early = values[np.clip(frames + before, 0, count - 1)]
        late = values[np.clip(frames + before + 1, 0, count - 1)]
        out[:, k] = (1.0 - share) * early + share * late
    return out


@dataclass(frozen=True)
class FeatureSet:
    """Definition of a feature set; also a frame distance.

    Parameters
    ----------
    name : str
        Name of the set; it may contain letters, digits, ``-`` and ``_``.
    roles : tuple of str, length P
        Joints whose positions are the features.
    samples : int
        Number of poses per frame, evenly spaced over the window.
    window_seconds : float
        Length of the window, centered on the frame.
    components : int, optional
        Use this many principal components instead of the positions.
    frame_rows : callable, optional
        Function that computes the features instead of joint positions. It takes a motion and
        returns `size` features for each frame, shape (T, size). The features must not depend on
        location and heading, and the options below do not apply to them. `roles` then lists the
        joints that the function needs.
    size : int
        Number of features per frame that `frame_rows` returns.
    normalize : {"heading", "full"}
        See `motionloom.features.body_frame.body_positions`.
    scale_free : bool
        Scale performers of all sizes to one size.
    basis : Basis, optional
        Principal components, for sets that use them.

    Examples
    --------
    >>> hands = FeatureSet("hands", roles=("left_wrist", "right_wrist"), samples=2,
    ...                    window_seconds=0.2)
    >>> hands.dimension, hands.scale
    (12, 0.5)
    """

    name: str
    roles: tuple[str, ...]
    samples: int = 1
    window_seconds: float = 0.0
    components: int | None = None
    frame_rows: Callable[[Motion], ArrayLike] | None = None
    size: int = 0
    normalize: Normalize = "heading"
    scale_free: bool = False
    basis: Basis | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", self.name):
            raise InvalidInput(f"name may only contain letters, digits, - and _; got {self.name!r}")
        object.__setattr__(self, "roles", tuple(self.roles))
        check_normalize(self.normalize)
        if self.frame_rows is None and not self.roles:
            raise InvalidInput(
                f"feature set {self.name!r} must have roles or frame_rows; got neither"
            )
        if self.frame_rows is not None and self.size < 1:
            raise InvalidInput(
                f"feature set {self.name!r}: size must be set to the number of columns that "
                f"frame_rows returns; got {self.size}"
            )
        if self.samples < 1 or (self.samples > 1 and not self.window_seconds > 0.0):
            raise InvalidInput(
                f"feature set {self.name!r}: samples must be at least 1, and more than one sample "
                f"requires a window; got {self.samples} samples and a window of "
                f"{self.window_seconds} s"
            )
        if self.components is not None and not 0 < self.components <= self._frame_size:
            raise InvalidInput(
                f"feature set {self.name!r}: components must be between 1 and {self._frame_size}; "
                f"got {self.components}"
            )

    # --- sizes --------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """Number of features per frame, D."""
        return (self.components or self._frame_size) * self.samples

    @property
    def points(self) -> float:
        """Number of points (or feature triples) over which a distance is averaged."""
        return self._frame_size * self.samples / 3.0

    @property
    def scale(self) -> float:
        """Factor that converts Euclidean feature distances to meters (root mean square)."""
        return float(1.0 / np.sqrt(self.points))

    @property
    def _frame_size(self) -> int:
        return self.size if self.frame_rows is not None else 3 * len(self.roles)

    # --- the frame distance -------------------------------------------------------------

    @property
    def unit(self) -> str:
        """Unit of the distances."""
        return "m"

    def prepare(self, motion: Motion) -> NDArray[np.float32]:
        """Return the feature vectors of a motion; see `frame_features`."""
        rows = self.pose_rows(motion)
        if self.components is not None:
            if self.basis is None:
                raise InvalidInput(
                    f"{self.name} requires principal components fitted to a library; use "
                    f"lib.features({self.name!r}) or pass a basis"
                )
            rows = self.basis.project(rows, self.components)
        if self.samples > 1:
            half = 0.5 * self.window_seconds
            times = np.linspace(-half, half, self.samples)
            rows = window_samples(rows, times, motion.fps).reshape(len(rows), self.dimension)
        return rows.astype(np.float32)

    def matrix(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return the distances in meters (M, N) between feature vectors (M, D) and (N, D)."""
        return self.scale * euclidean_matrix(a, b)

    def pose_rows(self, motion: Motion) -> NDArray[np.float64]:
        """Return one pose per frame, before principal components and windows, shape (T, 3 P)."""
        if self.frame_rows is None:
            places = body_positions(
                motion, self.roles, normalize=self.normalize, scale_free=self.scale_free
            )
            return places.reshape(len(places), self._frame_size)
        motion.skeleton.role_assignment.require(self.roles)
        rows = np.asarray(self.frame_rows(motion), dtype=np.float64)
        if rows.shape != (len(motion), self.size):
            raise InvalidInput(
                f"feature set {self.name!r}: frame_rows must return shape "
                f"{(len(motion), self.size)}; got {rows.shape}"
            )
        return rows


_SIDES = ("left", "right")
_E15 = (*(f"{side}_{part}" for part in ("wrist", "ankle") for side in _SIDES), "head")
_E30 = (*_E15, *(f"{side}_{part}" for part in ("elbow", "knee") for side in _SIDES), "chest")
_E39 = (*_E30, *(f"{side}_shoulder" for side in _SIDES), "spine")

BODY_ROLES: tuple[str, ...] = (
    *_E39,
    *(f"{side}_{part}" for part in ("hip", "foot") for side in _SIDES),
)
"""The 17 joints that represent the whole body: `e39`, the hip joints, and the balls of the feet."""

_WINDOW = 0.3  # seconds; Krüger et al. 2010, section 3.2

FEATURES: dict[str, FeatureSet] = {
    features.name: features
    for features in (
        FeatureSet("e15", _E15),
        FeatureSet("e30", _E30),
        FeatureSet("e39", _E39),
        FeatureSet("e15x3", _E15, samples=3, window_seconds=_WINDOW),
        FeatureSet("e15x5", _E15, samples=5, window_seconds=_WINDOW),
        FeatureSet("e30x3", _E30, samples=3, window_seconds=_WINDOW),
        FeatureSet("e39x3", _E39, samples=3, window_seconds=_WINDOW),
        FeatureSet("pca8", BODY_ROLES, components=8),
        FeatureSet("pca16", BODY_ROLES, components=16),
        FeatureSet("pca25", BODY_ROLES, components=25),
    )
}
"""Feature sets by name."""


def register_features(features: FeatureSet, *, replace: bool = False) -> FeatureSet:
    """Register a feature set, so that it can be used by name everywhere.

    Parameters
    ----------
    features : FeatureSet
    replace : bool
        Replace an existing set with the same name.

    Examples
    --------
    >>> legs = FeatureSet("legs", roles=("left_knee", "right_knee", "left_ankle", "right_ankle"))
    >>> register_features(legs).dimension
    12
    >>> del FEATURES["legs"]
    """
    registered = FEATURES.get(features.name)
    if registered is not None and registered != features and not replace:
        raise InvalidInput(
            f"there is already a different feature set called {features.name!r}; choose another "
            f"name, or set replace=True"
        )
    FEATURES[features.name] = features
    return features


def feature_set(
    features: str | FeatureSet,
    *,
    normalize: Normalize | None = None,
    scale_free: bool | None = None,
    basis: Basis | None = None,
) -> FeatureSet:
    """Return a feature set by name, with options.

    Parameters
    ----------
    features : str or FeatureSet
    normalize, scale_free, basis : optional
        As in `FeatureSet`. Default: the options of the registered set.

    Raises
    ------
    InvalidInput
        If no set has this name. The message lists the available sets.

    Examples
    --------
    >>> feature_set("e15", scale_free=True).scale_free
    True
    """
    if isinstance(features, str):
        if features not in FEATURES:
            raise not_registered("feature set", features, FEATURES)
        features = FEATURES[features]
    return replace(
        features,
        normalize=features.normalize if normalize is None else normalize,
        scale_free=features.scale_free if scale_free is None else scale_free,
        basis=features.basis if basis is None else basis,
    )


def not_registered(what: str, name: str, registered: Iterable[str]) -> InvalidInput:
    """Return the exception to raise for an unregistered name.

    Examples
    --------
    >>> print(not_registered("feature set", "e51", ["e15", "pca8"]))
    no feature set is called 'e51'; did you mean e15? Available: e15, pca8
    """
    names = list(registered)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}? Available:" if near else "available:"
    return InvalidInput(f"no {what} is called {name!r}; {hint} {', '.join(names)}")


def frame_features(
    motion: Motion,
    features: str | FeatureSet,
    *,
    normalize: Normalize | None = None,
    scale_free: bool | None = None,
    basis: Basis | None = None,
) -> NDArray[np.float32]:
    """Compute the features of every frame of a motion.

    Parameters
    ----------
    motion : Motion
        T frames.
    features : str or FeatureSet
        A name in `FEATURES`, or a set.
    normalize : {"heading", "full"}, optional
        ``"heading"`` (the default) removes heading and floor position. ``"full"``
        removes the whole rotation and position of the pelvis.
    scale_free : bool, optional
        Scale all performers to the same size. Default: False.
    basis : Basis, optional
        Principal components, for the sets that use them.

    Returns
    -------
    rows : ndarray of float32, shape (T, D)
        Features in meters, computed in double precision. A frame with missing values gives a vector
        of NaN, as do frames whose window contains it.

    Raises
    ------
    RoleError
        If the skeleton lacks a joint that the set needs.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_high_right")
    >>> rows = frame_features(kick, "e15")
    >>> rows.shape == (len(kick), 15)
    True
    >>> elsewhere = frame_features(kick.transform(yaw=2.0, shift=(5, 0, 1)), "e15")
    >>> bool(abs(rows - elsewhere).max() < 1e-5)
    True
    """
    chosen = feature_set(features, normalize=normalize, scale_free=scale_free, basis=basis)
    return chosen.prepare(motion)
