"""Whole-clip search: motions of a library that resemble the query from start to end.

Every measure of `motionloom.search.clips.measures` is a search method of the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import LibraryError
from motionloom.search.candidates import Candidate
from motionloom.search.clips.table import ClipTable, clip_table
from motionloom.search.filters import chosen_mask
from motionloom.search.match import Match
from motionloom.search.methods import ClipMethod
from motionloom.search.query import Query
from motionloom.search.settings import SearchSettings
from motionloom.settings import motion_choice
from motionloom.store.store import Store


@dataclass(frozen=True, eq=False)
class WholeClips:
    """The clips that candidates of a whole-clip search count."""

    table: ClipTable

    def match(
        self, found: Candidate, query: Query, labels: Callable[[str], tuple[str, ...]]
    ) -> Match:
        """Clip number ``found.start`` as a match, from its first frame to its last."""
        clip = found.start
        name, fps = self.table.names[clip], float(self.table.fps[clip])
        frames = int(self.table.frames[clip])
        return Match(
            motion=name,
            start_frame=0,
            end_frame=frames,
            start=0.0,
            end=frames / fps,
            distance=found.distance,
            alignment=found.path,
            label=", ".join(labels(name)) or None,
        )


def clip_search(
    library: Store, query: Query, settings: SearchSettings
) -> tuple[list[Candidate], WholeClips]:
    """The clips nearest to a query: `k` of them, or `settings.max`."""
    method = settings.method
    assert isinstance(method, ClipMethod)
    measure = method.measure()
    table = clip_table(library, measure)
    allowed = chosen_mask(library, table.names, **motion_choice(settings))
    if allowed is not None and not allowed.all():
        if not allowed.any():
            raise LibraryError(
                f"{library.path}: of the motions chosen, none can be compared by {measure.name}"
            )
        table = table.some(np.flatnonzero(allowed))
    rows, joints = table.query_rows(query.clip)
    clips = table.restricted(joints)
    own = query.name if settings.exclude_query and query.name in table.names else None
    wanted = method.k or settings.max or len(clips)
    nearest = measure.nearest(rows, clips, k=min(wanted + (own is not None), len(clips)))
    limit = np.inf if settings.max_distance is None else settings.max_distance
    found = []
    for c, gap in zip(nearest.clips.tolist(), nearest.distances.tolist(), strict=True):
        if gap <= limit and table.names[c] != own:
            other = clips.rows[clips.starts[c] : clips.starts[c + 1]]
            lengths = (query.end_frame - query.start_frame, int(table.frames[c]))
            path = _in_frames(measure.path(rows, other), (len(rows), len(other)), lengths)
            found.append(Candidate(c, c + 1, gap, path))
    return found[:wanted], WholeClips(table)


def _in_frames(
    path: NDArray[np.int64], rows: tuple[int, int], frames: tuple[int, int]
) -> NDArray[np.int64]:
    """Pairs of resampled frames of two clips as pairs of their own frames."""
    per_row = (np.array(frames) - 1) / np.maximum(1, np.array(rows) - 1)
    pairs = np.rint(path * per_row).astype(np.int64)
    return pairs[np.concatenate([[True], np.any(np.diff(pairs, axis=0) != 0, axis=1)])]
