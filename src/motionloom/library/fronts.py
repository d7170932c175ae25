"""Functions, in addition to `Library`, that the command line and the studio share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.errors import LibraryError

if TYPE_CHECKING:
    from motionloom.evaluation.captions import SentenceScores
    from motionloom.evaluation.settings import SentenceSettings
    from motionloom.library.library import Library
    from motionloom.parallel import Progress
    from motionloom.search.match_graph.sweep import LimitSweep
    from motionloom.search.query import Query
    from motionloom.search.settings import FamilySettings
    from motionloom.text.scripts.candidates import PhraseOptions


def segment_query(library: Library, text: str) -> Query:
    """Return a library segment, ``NAME`` or ``NAME:START-END``, as a query; files are rejected.

    Examples
    --------
    >>> segment_query(lib, "walk:10-40").end_frame
    40
    """
    from motionloom.search.query import library_query

    return library_query(library.store, text)


def family_sweep(library: Library, query: str | Query, settings: FamilySettings) -> LimitSweep:
    """Return the family size for every join distance, and the proposed join distance.

    Examples
    --------
    >>> sweep = family_sweep(lib, "kick_front_mid_right:5-40", ml.FamilySettings(max=5))
    >>> sweep.plateau[0] <= sweep.proposed <= sweep.plateau[1]
    True
    """
    from motionloom.search.match_graph.growth import family_sweep

    return family_sweep(library.store, query, settings)


def prepare_search(
    library: Library, settings: FamilySettings, *, progress: Progress | None = None
) -> None:
    """Compute and save the features, index or clip table that a search method needs.

    A search also does this if necessary. To report progress, call this function first; `progress`
    is called with 1 after each motion.
    """
    from motionloom.features import FEATURES
    from motionloom.search.clips.hubs import FEWEST
    from motionloom.search.clips.retrieval import clip_scales, clip_table
    from motionloom.search.index.neighbors import open_index
    from motionloom.search.methods import ClipMethod, Dtw, LazyGraph

    method = settings.method
    if not len(library):
        raise LibraryError(f"{library.path}: the library is empty; import motions first")
    if isinstance(method, ClipMethod):
        table = clip_table(library.store, method.measure(), progress=progress)
        if method.hub_correction and len(table.names) >= FEWEST:
            clip_scales(library.store, table)
    elif isinstance(method, Dtw | LazyGraph) and method.features in FEATURES:
        rows = library.features(method.features, progress=progress)
        if isinstance(method, LazyGraph):
            open_index(library.store, rows, "bucket")


def prepare_film_search(library: Library, *, progress: Progress | None = None) -> None:
    """Compute and save what a search with a film needs; see `prepare_search`."""
    from motionloom.search.subsequence.filmed import prepare

    if not len(library):
        raise LibraryError(f"{library.path}: the library is empty; import motions first")
    prepare(library.store, progress=progress)


def phrase_options(
    library: Library, script: str, *, workers: int | None = None, progress: Progress | None = None
) -> list[PhraseOptions]:
    """Return the candidate segments for each phrase of a script.

    Returns
    -------
    options : list of PhraseOptions
        ``phrase`` as written, its ``candidates``, best first, and similar phrases (``near``) if
        there are none. The text of a candidate, ``take:30-90``, can replace the phrase.

    Examples
    --------
    >>> fly, kick = phrase_options(lib, "fly, kick high")
    >>> len(fly.candidates), kick.candidates[0].motion
    (0, 'kick_front_high_right')
    """
    from motionloom.text.scripts.candidates import phrase_options
    from motionloom.text.text_index import open_index

    index = open_index(library.store, workers=workers, progress=progress)
    return phrase_options(index, library.store, script)


def evaluate_sentences(
    library: Library,
    sentences: str | Path,
    settings: SentenceSettings,
    *,
    progress: Progress | None = None,
) -> SentenceScores:
    """Measure how often text search returns the described take among its first ten results.

    Parameters
    ----------
    library : Library
    sentences : str or Path
        CSV file with the columns ``take`` and ``sentence``.
    settings : SentenceSettings
    progress : callable, optional
        Called with the number of motions captioned since the last call.

    Returns
    -------
    scores : SentenceScores
        Recall using captions and learned words (``motion``), using labels as well
        (``with_labels``), and with a random ranking (``chance``).
    """
    from motionloom.evaluation.captions import score_sentences

    return score_sentences(library.store, sentences, settings, progress)
