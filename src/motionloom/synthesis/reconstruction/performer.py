"""The performer's skeleton, where none is given: one of the library's, scaled to the markers.

How far two tracked points ever get apart says how long the body is between them: stretched
legs are as long as hip to ankle along the bones. Every skeleton of the library is measured in
its motions in the same way; the one whose proportions fit best is scaled to size.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.library.shelf import Shelf
from motionloom.motion import Skeleton
from motionloom.synthesis.reconstruction.control_signal import ControlSignal

_STRETCH = 90.0  # percentile of a distance over time that counts as stretched
_MOTIONS_EACH = 3  # motions of each skeleton to measure it in
_LEAST_SCALE, _MOST_SCALE = 0.4, 2.0  # a child of 70 cm to a giant, against a grown-up
_MOST_MISFIT = 0.35  # how unlike in proportion markers and a body may be (logarithm)


def fitted_skeleton(library: Shelf, signal: ControlSignal) -> Skeleton:
    """A skeleton of the library, scaled by the markers' extents.

    Raises
    ------
    InvalidInput
        If no skeleton of the library comes near the markers' proportions.
    """
    wanted = _extents(signal.points)
    best, least, scale = None, np.inf, 1.0
    seen: dict[str, list[str]] = {}
    for entry in library.entries():
        seen.setdefault(entry.skeleton, []).append(entry.name)
    for key, names in seen.items():
        skeleton = library.skeleton(key)
        if any(role not in skeleton.roles for role in signal.roles):
            continue
        places = [library[name].role_positions(signal.roles)[::4] for name in
                  names[:: max(1, len(names) // _MOTIONS_EACH)][:_MOTIONS_EACH]]  # fmt: skip
        ratios = np.log(wanted / _extents(np.concatenate(places).astype(np.float64)))
        ratios = ratios[np.isfinite(ratios)]
        if not len(ratios):
            continue
        middle = float(np.median(ratios))
        misfit = float(np.median(np.abs(ratios - middle)))
        if misfit < least:
            best, least, scale = skeleton, misfit, float(np.exp(middle))
    if best is None:
        raise RoleError(
            f"no skeleton of the library has joints for {', '.join(signal.roles)}; "
            "give the performer's: skeleton="
        )
    if not _LEAST_SCALE <= scale <= _MOST_SCALE or least > _MOST_MISFIT:
        raise InvalidInput(
            f"the markers do not fit a body of the library: the nearest would have to be scaled "
            f"by {scale:.2f}, and proportions would still be off by {np.expm1(least):.0%}. "
            "Check units and which marker is which, or give the performer's skeleton="
        )
    return best.scaled(scale)


def check_skeleton(skeleton: Skeleton, signal: ControlSignal) -> None:
    """Complain if markers get much further apart than the skeleton's bones reach."""
    skeleton.role_assignment.require(signal.roles)
    from motionloom.motion.body_tree import BodyTree

    tree = BodyTree(skeleton)
    points = skeleton.points(signal.roles)
    pairs = list(combinations(range(len(points)), 2))
    reach = np.array([tree.length(int(points[a]), int(points[b])) for a, b in pairs])
    ratios = _extents(signal.points) / np.where(reach > 0.0, reach, np.nan)
    if not np.isfinite(ratios).any():
        return
    widest = float(np.nanmax(ratios))
    typical = float(np.nanmedian(ratios))
    if widest > 1.25 or typical < 0.3:
        a, b = pairs[int(np.nanargmax(ratios))]
        raise InvalidInput(
            f"the skeleton does not fit the markers: {signal.roles[a]} and {signal.roles[b]} are "
            f"seen {widest:.2f} times as far apart as its bones reach (all pairs: "
            f"{typical:.2f} times). Another person's, or another unit?"
        )


def _extents(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each pair of points gets apart, stretched but not by outliers."""
    pairs = combinations(range(points.shape[1]), 2)
    gaps = [np.linalg.norm(points[:, a] - points[:, b], axis=-1) for a, b in pairs]
    with np.errstate(all="ignore"):
        return np.array(
            [np.nanpercentile(gap, _STRETCH) if np.isfinite(gap).any() else np.nan for gap in gaps]
        )
