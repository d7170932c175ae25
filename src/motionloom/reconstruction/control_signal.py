"""Control signal: the joint, positions and gaps of each marker."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.markers import Markers
from motionloom.motion.roles.assignment import ROLES

Array = NDArray[np.float64]

SIX = ("hips", "left_wrist", "right_wrist", "left_ankle", "right_ankle", "head")
"""Roles of the six points of Krüger et al. 2010, section 5.2."""

LEAST_MARKERS = 3

_SHORT = 0.14  # seconds; a spline fills shorter gaps to within millimeters
_LEAST_SEEN = 8  # minimum number of samples for a spline
# Common marker names in addition to the role names, without side prefixes, letters only.
_ALIASES = {
    "hips": ("hips", "hip", "root", "pelvis", "waist", "sacrum", "sacr"),
    "head": ("head", "hmd", "headset"),
    "wrist": ("wrist", "wri", "wr"),
    "ankle": ("ankle", "ank"),
    "hand": ("hand", "controller"),
    "foot": ("foot", "toe", "toebase"),
    "knee": ("knee", "kne"),
    "elbow": ("elbow", "elb"),
    "shoulder": ("shoulder", "sho"),
    "chest": ("chest", "sternum", "thorax"),
}
# Minimum and maximum of half the extent of a person's markers, in meters.
_LEAST_SIZE, _MOST_SIZE = 0.15, 3.0


@dataclass(frozen=True, eq=False)
class ControlSignal:
    """Positions of M tracked joints in T frames.

    Attributes
    ----------
    roles : tuple of str, length M
        Roles of the joints; the hips come first if they are tracked.
    labels : tuple of str, length M
        Labels of the markers.
    points : ndarray, shape (T, M, 3)
        Positions in meters; NaN if a marker is missing.
    fps : float
    lost : tuple of str
        Roles whose markers never appear.
    name : str
    """

    roles: tuple[str, ...]
    labels: tuple[str, ...]
    points: Array
    fps: float
    lost: tuple[str, ...]
    name: str

    def filled(self) -> Array:
        """Return `points` with short gaps filled by a spline and longer gaps filled linearly."""
        frames = np.arange(len(self.points))
        out = self.points.copy()
        for m in range(len(self.roles)):
            seen = np.isfinite(self.points[:, m, 0])
            for c in range(3):
                out[:, m, c] = np.interp(frames, frames[seen], self.points[seen, m, c])
        short = self.short_gaps
        if short.any():
            from scipy.interpolate import CubicSpline

            for m in np.flatnonzero(short.any(axis=0)).tolist():
                seen = np.isfinite(self.points[:, m, 0])
                curve = CubicSpline(frames[seen], self.points[seen, m])
                out[short[:, m], m] = curve(frames[short[:, m]])
        return out

    @property
    def short_gaps(self) -> NDArray[np.bool_]:
        """Mask (T, M) of the short gaps, which lie between two samples of a marker."""
        out = np.zeros((len(self.points), len(self.roles)), bool)
        for m in range(len(self.roles)):
            seen = np.flatnonzero(np.isfinite(self.points[:, m, 0]))
            if len(seen) < _LEAST_SEEN:
                continue
            ends = np.flatnonzero((np.diff(seen) > 1) & (np.diff(seen) - 1 <= _SHORT * self.fps))
            for k in ends:
                out[seen[k] + 1 : seen[k + 1], m] = True
        return out

    @property
    def steady(self) -> tuple[str, ...]:
        """Roles that are present in at least half of the frames."""
        share = np.isfinite(self.points[..., 0]).mean(axis=0)
        return tuple(role for role, part in zip(self.roles, share, strict=True) if part >= 0.5)


def control_signal(
    markers: Markers | Motion, roles: Mapping[str, str] | str | None = None
) -> ControlSignal:
    """Assign the markers to roles.

    Parameters
    ----------
    markers : Markers or Motion
        Markers, or a motion whose joints in `SIX` are used as markers.
    roles : mapping or str, optional
        Mapping of roles to labels, or a string ``ROLE=LABEL,...``. By default, labels are
        recognized if they are role names or common marker names, such as ``left_wrist``,
        ``LeftWrist``, ``LWRI`` or ``pelvis``.

    Raises
    ------
    InvalidInput
        If there are fewer than three markers, a name is unknown, or the positions are not in
        meters or do not fit a person.

    Examples
    --------
    >>> import motionloom as ml
    >>> signal = control_signal(ml.demo.clip("walk"))
    >>> signal.roles
    ('hips', 'left_wrist', 'right_wrist', 'left_ankle', 'right_ankle', 'head')
    """
    if isinstance(markers, Motion):
        markers = tracked(markers)
    if isinstance(roles, str):
        roles = _role_pairs(roles)
    if not isinstance(markers, Markers):
        raise InvalidInput(
            f"markers must be Markers or a Motion; got {type(markers).__name__}. "
            "To read a .c3d, .csv or .parquet file, use ml.load_markers"
        )
    if not len(markers):
        raise InvalidInput("markers must have at least one frame; got none")
    chosen = _by_name(markers.labels) if roles is None else _as_given(roles, markers)
    seen = {
        r: label for r, label in chosen.items() if markers.present[:, _at(markers, label)].any()
    }
    lost = tuple(role for role in chosen if role not in seen)
    if len(seen) < LEAST_MARKERS:
        raise InvalidInput(_too_few(markers, chosen, seen))
    others = sorted((role for role in seen if role not in SIX), key=ROLES.index)
    order = [*(role for role in SIX if role in seen), *others]
    columns = [_at(markers, seen[role]) for role in order]
    points = np.where(np.isfinite(markers.positions[:, columns]).all(axis=-1, keepdims=True),
                      markers.positions[:, columns], np.nan)  # fmt: skip
    _check_size(points)
    return ControlSignal(
        tuple(order), tuple(seen[r] for r in order), points, markers.fps, lost, markers.name
    )


def tracked(motion: Motion, roles: tuple[str, ...] = SIX, *, noise: float = 0.0, seed=0) -> Markers:
    """Simulate markers at some of a motion's joints.

    Parameters
    ----------
    motion : Motion
        Motion with T frames.
    roles : tuple of str
    noise : float
        Amplitude of uniform noise on every coordinate, in meters.
    seed : int or Generator

    Examples
    --------
    >>> import motionloom as ml
    >>> tracked(ml.demo.clip("walk"), ("head", "hips"), noise=0.001).labels
    ('head', 'hips')
    """
    places = motion.role_positions(roles).astype(np.float64)
    if noise:
        places += np.random.default_rng(seed).uniform(-noise, noise, places.shape)
    return Markers(tuple(roles), places, motion.fps, name=motion.name)


def _role_pairs(text: str) -> dict[str, str]:
    """Parse ``ROLE=LABEL,...`` to a mapping of roles to labels."""
    labels = {}
    for part in text.split(","):
        role, equals, label = part.partition("=")
        if not equals or not label.strip():
            raise InvalidInput(
                f"roles must look like ROLE=LABEL,..., such as head=HEAD; got {part!r}"
            )
        labels[role.strip()] = label.strip()
    return labels


def _by_name(labels: tuple[str, ...]) -> dict[str, str]:
    by_role: dict[str, str] = {}
    for label in labels:
        role = _meaning(label)
        if role is not None:
            if role in by_role:
                raise InvalidInput(
                    f"markers {by_role[role]!r} and {label!r} both look like {role}; choose one "
                    f"of them with roles, as {role}=LABEL"
                )
            by_role[role] = label
    return by_role


def _meaning(label: str) -> str | None:
    """Return the role that a label names, or None."""
    bare = label.rpartition(":")[2]
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", bare).lower()
    snake = re.sub(r"[^a-z]+", "_", snake).strip("_")
    if snake in ROLES:
        return snake
    letters = snake.replace("_", "")
    for part, names in _ALIASES.items():
        if part in ROLES:
            if letters in names:
                return part
            continue
        for side in ("left", "right"):
            if any(letters in (side + n, side[0] + n, n + side, n + side[0]) for n in names):
                return f"{side}_{part}"
    return None


def _as_given(roles: Mapping[str, str], markers: Markers) -> dict[str, str]:
    for role, label in roles.items():
        if role not in ROLES:
            near = difflib.get_close_matches(role, ROLES, n=1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise InvalidInput(f"there is no role {role!r}{hint} Usual roles are {', '.join(SIX)}")
        _at(markers, label)
    return dict(roles)


def _at(markers: Markers, label: str) -> int:
    if label in markers.labels:
        return markers.labels.index(label)
    ends = [k for k, full in enumerate(markers.labels) if full.rpartition(":")[2] == label]
    if len(ends) == 1:
        return ends[0]
    near = difflib.get_close_matches(label, markers.labels, n=3)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else f"the markers are {_some(markers.labels)}"
    )
    raise InvalidInput(f"roles contains an unknown marker {label!r}; {hint}")


def _too_few(markers: Markers, chosen: dict[str, str], seen: dict[str, str]) -> str:
    unseen = [f"{role} ({chosen[role]})" for role in chosen if role not in seen]
    if len(chosen) >= LEAST_MARKERS:
        return (
            f"a body needs at least {LEAST_MARKERS} markers, but only {len(seen)} of the assigned "
            f"markers ever appear. Missing in all frames: {', '.join(unseen)}"
        )
    named = f"only {', '.join(chosen.values())} name joints" if chosen else "no label names a joint"
    return (
        f"a body needs at least {LEAST_MARKERS} markers, but {named}. The labels are "
        f"{_some(markers.labels)}. Assign them with roles, as hips=LABEL,left_wrist=LABEL,... "
        f"The usual roles are {', '.join(SIX)}"
    )


def _some(labels: tuple[str, ...]) -> str:
    return ", ".join(labels[:12]) + (", ..." if len(labels) > 12 else "")


def _check_size(points: Array) -> None:
    with np.errstate(invalid="ignore"):
        counted = np.isfinite(points[..., 0]).sum(axis=1) >= LEAST_MARKERS
    if not counted.any():
        raise InvalidInput(f"at least one frame must have {LEAST_MARKERS} markers; none has")
    some = points[counted]
    low, high = np.nanmin(some, axis=1), np.nanmax(some, axis=1)
    size = 0.5 * float(np.median(np.linalg.norm(high - low, axis=-1)))
    if _LEAST_SIZE <= size <= _MOST_SIZE:
        return
    for unit, factor in (("mm", 1e-3), ("cm", 1e-2), ("in", 0.0254)):
        if 0.5 <= size * factor <= 1.5:
            raise InvalidInput(
                f"the markers extend over {2 * size:.0f} m, which is too large for a person. Are "
                f"they in {unit}? Read the file with unit {unit}, or multiply positions by "
                f"{factor:g}"
            )
    raise InvalidInput(
        f"the markers extend over {2 * size:.3g} m, but those of a person extend over "
        f"{2 * _LEAST_SIZE:g} to {2 * _MOST_SIZE:g} m. "
        "Are they in meters, and do they belong to one person?"
    )
