"""Search by whole clips: which motions of a library, from start to end, are like this one.

Every measure of `motionloom.search.clips.measures` is a search method of the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import LibraryError
from motionloom.search.candidates import Candidate
from motionloom.search.clips.clip import ClipMeasure
from motionloom.search.clips.clip_table import ClipTable, clip_table
from motionloom.search.match import Match
from motionloom.search.query import Query
from motionloom.search.settings import Options
from motionloom.store.store import Store


@dataclass(frozen=True, eq=False)
class WholeClips:
    """Clips as they are found: from the first frame to the last, told by their numbers."""

    table: ClipTable

    def match(
        self, found: Candidate, query: Query, labels: Callable[[str], tuple[str, ...]]
    ) -> Match:
        """Clip number ``found.start``, with frames of the query and of the clip as its path."""
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


def clip_matches(
    library: Store, query: Query, options: Options, measure: ClipMeasure
) -> tuple[list[Candidate], WholeClips]:
    """The clips nearest to a query: `options.k` of them, or `options.max_matches`."""
    table = clip_table(library, measure)
    allowed = options.allowed(library, table.names)
    if allowed is not None and not allowed.all():
        if not allowed.any():
            raise LibraryError(
                f"{library.path}: of the motions chosen, none can be compared by {measure.name}"
            )
        table = table.some(np.flatnonzero(allowed))
    rows, joints = table.query_rows(query.clip)
    clips = table.restricted(joints)
    own = query.name if options.exclude_query and query.name in table.names else None
    wanted = options.k or options.max_matches or len(clips)
    nearest = measure.nearest(rows, clips, k=min(wanted + (own is not None), len(clips)))
    limit = np.inf if options.max_distance is None else options.max_distance
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
    """Pairs of rows as pairs of frames, of two clips with so many of each."""
    per_row = (np.array(frames) - 1) / np.maximum(1, np.array(rows) - 1)
    pairs = np.rint(path * per_row).astype(np.int64)
    return pairs[np.concatenate([[True], np.any(np.diff(pairs, axis=0) != 0, axis=1)])]
