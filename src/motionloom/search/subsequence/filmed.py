"""Search with a motion that was estimated from a film.

A film shows where joints are in the picture, to a few centimeters, and says much less about their
distance from the camera. Which way the body faces in a frame follows mostly from that distance. The
search therefore never turns single frames. It looks for one direction of the camera for the whole
match, and compares positions to the right, up, and toward the camera with different weights.

With joints relative to the hips, in meters, the squared distance of a film and a segment, seen from
the angle a, is a sum over frames and joints,

    w_r |cos(a) x - sin(a) z - r|^2 + w_u |y - u|^2 + w_d |sin(a) x + cos(a) z - d|^2.

It depends on the angle through five numbers for each segment, which are sliding products of the
film with the library. All segments and all angles are compared, without an index. As in the second
pass of other searches, a constant difference of a joint counts less than a varying one: it is a
matter of build, of stance, and of the points that a network takes for joints.

Segments may be faster or slower than the film (`TEMPI`), at a constant tempo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.features import FeatureSet, LibraryFeatures, library_features
from motionloom.features.body_frame import REFERENCE_LEG
from motionloom.features.feature_table import motion_features
from motionloom.motion import Motion
from motionloom.parallel import one_thread
from motionloom.search.candidates import Candidate, Limits, local_minima
from motionloom.search.filters import chosen_mask
from motionloom.search.match import Timeline
from motionloom.search.methods import Dtw
from motionloom.search.query import Query
from motionloom.search.settings import SearchSettings
from motionloom.settings import motion_choice
from motionloom.store.store import Store

Rows = NDArray[np.float32]

RATE = 10.0  # frames per second that are compared
LONGEST = 20.0  # seconds of film that are compared in this way
TEMPI = (1.0, 0.84, 1.19, 0.71, 1.41, 0.5)  # length of a segment, relative to the film
_ANGLES = 36
# Chosen on films of other performers and from other cameras than those of the benchmark.
_RIGHT, _UP, _DEEP = 1.0, 1.0, 0.2  # weights of the axes
_STANCE = 0.3  # weight of a constant difference
_TEMPO = 0.15  # relative cost of a match that is half or twice as long as the film
_HIP = 0.5  # weight of a hip joint; other joints have 1
_CHUNK = 8192  # segments compared at a time
_TURNS = 2.0 * np.pi * np.arange(_ANGLES) / _ANGLES
_WAVES = np.stack(
    [np.ones(_ANGLES), np.cos(2.0 * _TURNS), np.sin(2.0 * _TURNS), np.cos(_TURNS), np.sin(_TURNS)],
    axis=1,
).astype(np.float32)

_SIDES = ("left", "right")
_JOINTS = tuple(
    f"{side}_{part}"
    for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")
    for side in _SIDES
)
_ROLES = (*_JOINTS, "head")
_POINTS = len(_ROLES) + 1  # and the path of the hips
_WEIGHTS = np.array([_HIP if role.endswith("_hip") else 1.0 for role in _ROLES] + [1.0])
# Share of a constant difference that is ignored; the path of the hips has no origin.
_OFF = _WEIGHTS * ([1.0 - _STANCE] * len(_ROLES) + [1.0])


def seen_rows(motion: Motion) -> NDArray[np.float64]:
    """Return joints relative to the hips, and the path of the hips, at one body size (T, D)."""
    places = motion.role_positions(_ROLES).astype(np.float64)
    hips = places[:, :2].mean(axis=1, keepdims=True)
    bones = [places[:, a : a + 2] - places[:, a + 2 : a + 4] for a in (0, 2)]  # thighs and shins
    leg = sum(np.linalg.norm(bone, axis=2) for bone in bones)
    size = REFERENCE_LEG / max(float(np.median(leg)), 1e-3)
    rows = np.concatenate([places - hips, hips - hips.mean(axis=0)], axis=1) * size
    return rows.reshape(len(rows), -1)


SEEN = FeatureSet("seen", roles=_ROLES, frame_rows=seen_rows, size=3 * _POINTS)


def applies(query: Query, method: Dtw) -> bool:
    """Return whether the query comes from a film, and the method has no options of its own."""
    seconds = (query.end_frame - query.start_frame) / query.motion.fps
    plain = Dtw(max_overlap=method.max_overlap, durations=method.durations)
    return (
        bool(query.motion.origin.expected_error)
        and method == plain
        and 2.0 / RATE < seconds <= LONGEST
    )


def prepare(library: Store, **options: Any) -> LibraryFeatures:
    """Return the rows of a library, which are computed once."""
    return library_features(library, SEEN, fps=RATE, **options)


def film_search(
    library: Store, query: Query, settings: SearchSettings
) -> tuple[list[Candidate], Timeline]:
    """Search for the segments that look like a film from one direction."""
    table = prepare(library)
    allowed = chosen_mask(library, table.names, **motion_choice(settings))
    limits = Limits.of(settings, query.span(table))
    segments: list[tuple[float, int, int]] = []
    low, high = limits.durations
    tempi = [tempo for tempo in TEMPI if low <= tempo <= high]
    films = [
        query.cut(motion_features(query.motion, SEEN, RATE * tempo), RATE * tempo)
        for tempo in tempi
    ]
    with one_thread():  # the products are too small for several threads
        distance = distances(table.rows, films)
    for tempo, film, costs in zip(tempi, films, distance, strict=True):
        costs *= 1.0 + _TEMPO * abs(np.log2(tempo))
        _clip(costs, table.starts, len(film), allowed)
        ends = local_minima(costs, table.starts, limits.reach(len(film)))
        ends = ends[costs[ends] <= limits.max_distance]
        segments += [(float(costs[s]), int(s), len(film)) for s in ends]
    suppression = limits.suppression()
    count = round((query.end_frame - query.start_frame) / query.motion.fps * RATE)
    candidates: list[Candidate] = []
    for cost, start, length in sorted(segments):
        if limits.reached(len(candidates)):
            break
        if suppression.keep(start, start + length):
            path = _path(count, start, length)
            candidates.append(Candidate(start, start + length, cost, path))
    return candidates, Timeline.of(table)


def distances(rows: Rows, films: Sequence[Rows]) -> list[NDArray[np.float64]]:
    """Return the distance of each film from the segment that starts at each row, in meters (N,).

    Rows at which no whole segment starts have the distance infinity.
    """
    out = [np.full(len(rows), np.inf) for _ in films]
    chosen = [_Film(film) for film in films]
    longest = max((len(film) for film in films), default=0)
    for first in range(0, len(rows), _CHUNK):
        part = _Part(np.asarray(rows[first : first + _CHUNK + longest - 1]))
        for values, film in zip(out, chosen, strict=True):
            squares = part.least(film)[:_CHUNK]
            values[first : first + len(squares)] = np.sqrt(np.maximum(squares, 0.0))
    return out


class _Film:
    """A film, weighted for products with a library."""

    def __init__(self, rows: Rows) -> None:
        self.length = len(rows)
        columns = np.moveaxis(rows.reshape(self.length, _POINTS, 3).astype(np.float64), 2, 0)
        sums = columns.sum(axis=1)
        self.norms = ((columns**2).sum(axis=1) @ _WEIGHTS) - sums**2 @ _OFF / self.length
        weighted = columns * _WEIGHTS - (_OFF * sums / self.length)[:, None]
        self.right, self.up, self.deep = weighted.astype(np.float32)


class _Part:
    """Rows of a library with their running sums."""

    def __init__(self, rows: Rows) -> None:
        self.axes = np.ascontiguousarray(rows.reshape(-1, _POINTS, 3).transpose(2, 1, 0))
        x, y, z = self.axes
        weights = _WEIGHTS.astype(np.float32)
        squares = np.stack([weights @ (a * b) for a, b in ((x, x), (y, y), (z, z), (x, z))])
        self.squares = _running(squares)
        self.sums = _running(self.axes * np.sqrt(_OFF)[:, None].astype(np.float32))

    def least(self, film: _Film) -> NDArray[np.float64]:
        """Return the least mean squared distance over all angles of each segment (N,)."""
        length = film.length
        if self.axes.shape[2] < length:
            return np.empty(0)
        x, y, z = self.axes
        sums = (self.sums[..., length:] - self.sums[..., :-length]).astype(np.float32)
        squares = self.squares[:, length:] - self.squares[:, :-length]
        pairs = ((0, 0), (1, 1), (2, 2), (0, 2))
        constant = [np.einsum("ij,ij->j", sums[a], sums[b]) for a, b in pairs]
        xx, yy, zz, xz = squares - np.array(constant) / length
        xr, zr = _along(film.right, x), _along(film.right, z)
        xd, zd = _along(film.deep, x), _along(film.deep, z)
        right, up, deep = film.norms
        height = yy - 2.0 * _along(film.up, y) + up
        # The rest is a + b cos(2t) + c sin(2t) + d cos(t) + e sin(t).
        numbers = np.stack(
            [
                0.5 * (_RIGHT + _DEEP) * (xx + zz) + _RIGHT * right + _DEEP * deep,
                0.5 * (_RIGHT - _DEEP) * (xx - zz),
                (_DEEP - _RIGHT) * xz,
                -2.0 * (_RIGHT * xr + _DEEP * zd),
                2.0 * (_RIGHT * zr - _DEEP * xd),
            ]
        )
        total = (_WAVES @ numbers.astype(np.float32)).min(axis=0) + _UP * height
        return total / (length * _WEIGHTS.sum())


def _running(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return sums from the start along the last axis, beginning with zero."""
    out = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, dtype=np.float64, out=out[..., 1:])
    return out


def _along(film: Rows, rows: Rows) -> NDArray[np.float32]:
    """Return the sums of products (M, P) x (P, N) over frames that run together (N - M + 1,)."""
    products = film @ rows
    count = rows.shape[1] - len(film) + 1
    total = products[0, :count].copy()
    for frame in range(1, len(film)):
        total += products[frame, frame : frame + count]
    return total


def _clip(
    costs: NDArray[np.float64],
    starts: NDArray[np.int64],
    length: int,
    allowed: NDArray[np.bool_] | None,
) -> None:
    """Make segments infinitely far that leave their motion, or whose motion is not allowed."""
    for motion, (first, last) in enumerate(zip(starts, starts[1:], strict=False)):
        if allowed is not None and not allowed[motion]:
            costs[first:last] = np.inf
        else:
            costs[max(first, last - length + 1) : last] = np.inf


def _path(count: int, start: int, length: int) -> NDArray[np.int64]:
    """Return pairs of a frame of the film, and one of the library, at a constant tempo."""
    steps = np.linspace(0.0, 1.0, max(count, length))
    return np.stack(
        [np.rint(steps * (count - 1)), start + np.rint(steps * (length - 1))], axis=1
    ).astype(np.int64)
