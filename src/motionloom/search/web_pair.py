"""The grid and the web of two motions of a library, to be looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import FrameDistance
from motionloom.distance.feature_store import at_rate
from motionloom.distance.grid import DistanceGrid, grid_frames
from motionloom.errors import LibraryError
from motionloom.library.shelf import Shelf
from motionloom.search.library_web import WEB_DISTANCE, WEB_DURATIONS
from motionloom.search.limits import Limits
from motionloom.search.minima import Found
from motionloom.search.web import Web
from motionloom.search.web_building import motion_web
from motionloom.search.web_index import web_index
from motionloom.search.web_search import web_matches
from motionloom.search.web_store import WebStore


@dataclass(frozen=True, eq=False)
class WebPair:
    """Two motions compared: distances (M, N) at the web's rate, and the web.

    `alpha` is that of the valid region, `is_same` tells whether it is one motion.
    """

    grid: NDArray[np.float64]
    web: Web
    alpha: float
    is_same: bool

    def search(self, start: int, end: int, *, threshold: float = WEB_DISTANCE) -> list[Found]:
        """Match sequences of rows `start` to `end`."""
        index = web_index([(0, 0, self.web)], np.array([0, self.web.shape[1]]), ways=1)
        limits = Limits(
            max_distance=threshold,
            durations=WEB_DURATIONS,
            occupied=[(start, end)] if self.is_same else [],
        )
        return web_matches(index, start, end, limits)


def web_pair(library: Shelf, a: str, b: str, *, distance: str | FrameDistance = "pc11") -> WebPair:
    """Grid and web of two motions; the web as it was built, or built now.

    Parameters
    ----------
    library : Shelf
    a, b : str
        Names of the motions of rows and columns.
    distance : str or FrameDistance
    """
    store = WebStore(library, distance)
    rows, columns = (
        grid_frames(at_rate(library[name], store.rate), store.distance) for name in (a, b)
    )
    try:
        web = store.web(a, b)
    except LibraryError:
        web = motion_web(
            rows, [columns], rate=store.rate, itself=0 if a == b else None, options=store.options
        )
    return WebPair(DistanceGrid(rows, [columns]).block(), web, store.options.alpha, a == b)
