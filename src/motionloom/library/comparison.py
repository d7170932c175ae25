"""Frame-by-frame comparison of two segments: distance matrix, minima, match web, DTW paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import matrix_minima, valid_region
from motionloom.errors import InvalidInput, LibraryError
from motionloom.features.feature_table import at_rate
from motionloom.features.matrix import DistanceMatrix, PreparedFrames, prepared_frames
from motionloom.search import Dtw, SearchSettings, search
from motionloom.search.candidates import Candidate, Limits
from motionloom.search.match_web.build import motion_web
from motionloom.search.match_web.networks import web_index
from motionloom.search.match_web.sequences import web_matches
from motionloom.search.match_web.store import WebStore
from motionloom.search.match_web.web import Web
from motionloom.search.methods import WebOptions
from motionloom.search.methods.segments import WEB_DURATIONS
from motionloom.search.query import Query, library_query

if TYPE_CHECKING:
    from motionloom.search import Match
    from motionloom.store import Store


class Comparison:
    """Frame-by-frame comparison of a row segment and a column segment; see `Library.compare`.

    Attributes
    ----------
    a, b : Query
        Segments whose frames correspond to the rows and the columns.
    distance : FrameDistance
    rate : float
        Rows or columns per second, which is the library's frame rate.
    shape : (int, int)
        Number of rows and columns.
    first_row, first_column : int
        Positions of the first row and column in their takes, at `rate`.
    """

    def __init__(
        self,
        library: Store,
        a: str,
        b: str,
        options: WebOptions,
    ) -> None:
        self._library = library
        self._store = WebStore.of(library, options)
        self.distance, self.rate = self._store.distance, self._store.rate
        self.a, self.b = library_query(library, a), library_query(library, b)
        self._whole_rows, self._whole_columns = self._frames(self.a), self._frames(self.b)
        self._rows, self.first_row = _part(self.a, self._whole_rows, self.rate)
        self._columns, self.first_column = _part(self.b, self._whole_columns, self.rate)
        self.shape = (len(self._rows), len(self._columns))
        self._matrix = DistanceMatrix(self._rows, [self._columns])

    @property
    def rows(self) -> tuple[int, int]:
        """Start and end of the row segment in its take, at `rate`."""
        return self.first_row, self.first_row + self.shape[0]

    @property
    def alpha(self) -> float:
        """Margin of the valid region around the minima."""
        return self._store.limits.alpha

    def matrix(self, rows: slice = slice(None)) -> NDArray[np.float64]:
        """Return the distances between the selected rows and all columns, shape (M, N)."""
        return self._matrix.block(rows)

    def minima(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return masks (M, N) of the one-dimensional minima and of the valid region around them."""
        matrix = self.matrix()
        minima = matrix_minima(matrix, edges=self._store.limits.edge_minima)
        return minima > 0, valid_region(matrix, alpha=self.alpha, minima=minima)

    def web(self, *, max_cells: int | None = None) -> Web:
        """Return the match web of the two whole takes, building it if it is not saved.

        Parameters
        ----------
        max_cells : int, optional
            Maximum number of matrix cells. For a larger matrix, raise `InvalidInput` instead of
            building the web.
        """
        a, b = str(self.a.name), str(self.b.name)
        try:
            return self._store.web(a, b)
        except LibraryError:
            if (
                max_cells is not None
                and len(self._whole_rows) * len(self._whole_columns) > max_cells
            ):
                raise InvalidInput(
                    f"the match web of {a} and {b} is too large to build on request. Build it "
                    f"in advance with motionloom web {self._library.path} build"
                ) from None
            return motion_web(
                self._whole_rows,
                [self._whole_columns],
                rate=self.rate,
                itself=0 if a == b else None,
                limits=self._store.limits,
            )

    def sequences(self, web: Web, *, max_distance: float) -> list[Candidate]:
        """Find the sequences in `web` that match the row segment with parts of the take.

        Rows are counted from the start of the row segment, columns from the start of the take.
        """
        start, end = self.rows
        rules = self._store.limits
        index = web_index(
            [(0, 0, web)],
            np.array([0, web.shape[1]]),
            directions=1,
            max_slope=rules.max_slope,
            squares=rules.squares,
        )
        limits = Limits(
            max_distance=max_distance,
            durations=WEB_DURATIONS,
            occupied=[(start, end)] if self.a.name == self.b.name else [],
        )
        low, high = self.first_column, self.first_column + self.shape[1]
        matches = web_matches(index, start, end, limits)
        return [match for match in matches if low <= match.start and match.end <= high]

    def dtw_matches(self, *, max: int = 20) -> list[Match]:
        """Find matches of the row segment among the columns by DTW, nearest first."""
        dtw = Dtw(features=self.distance.name, rank="distance", speed_seconds=0.0, weights="equal")
        settings = SearchSettings(method=dtw, only=str(self.b.name), max=max)
        return [
            match
            for match in search(self._library, self.a, settings)
            if self.b.start_frame <= match.start_frame and match.end_frame <= self.b.end_frame
        ]

    def _frames(self, query: Query) -> PreparedFrames:
        return prepared_frames(at_rate(query.motion, self.rate), self.distance)


def _part(query: Query, whole: PreparedFrames, rate: float) -> tuple[PreparedFrames, int]:
    first, last = query.row_span(rate, len(whole))
    return whole.part(first, last), first
