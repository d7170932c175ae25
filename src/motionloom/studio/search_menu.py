"""The ways to search, as data for a menu: what each is, what it takes, what it must have."""

from __future__ import annotations

from typing import Any

from motionloom.distance import DISTANCES, FEATURES, library_features
from motionloom.errors import LibraryError
from motionloom.search import METHODS, open_index
from motionloom.search.clips.clip_table import clip_table
from motionloom.search.clips.measures import CLIP_MEASURES
from motionloom.search.filters import chosen_names
from motionloom.search.lazy_graph import LAZY_K
from motionloom.search.match_web.web_store import WebStore
from motionloom.studio.jobs import Job
from motionloom.studio.search_settings import Looking

# Of methods that find stretches: what they are, and the settings that mean something to them.
_STRETCHES: dict[str, tuple[str, tuple[str, ...]]] = {
    "dtw": ("Subsequence DTW: exact, misses nothing", ("features", "rank", "steps", "weights")),
    "lazy": ("Lazy neighbourhood graph: near neighbours only", ("features", "k", "radius")),
    "web": ("Match web, built beforehand: the quickest", ("distance",)),
}
_LITTLE = 150_000  # frames whose features take a second or two
_ALWAYS = ("max", "max_distance", "within", "only", "without", "exclude_query")


def menu(library) -> dict[str, Any]:
    """Methods, features and distances with their units, labels, and what is taken if unsaid."""
    labels = library.label_counts()
    return {
        "methods": [_entry(name) for name in METHODS],
        "features": [{"name": name, "unit": one.unit} for name, one in FEATURES.items()],
        "distances": [{"name": name, "unit": one.unit} for name, one in DISTANCES.items()],
        "ranks": ["movement", "distance"],
        "labels": [{"name": name, "count": count} for name, count in labels.items()],
        "defaults": {"k": LAZY_K},
    }


def _entry(name: str) -> dict[str, Any]:
    if name in CLIP_MEASURES:
        measure = CLIP_MEASURES[name]
        return {
            "name": name,
            "about": f"Whole clips: {measure.about}",
            "unit": measure.unit,
            "whole_clips": True,
            "options": list(_ALWAYS),
            "threshold_filters": True,
        }
    about, options = _STRETCHES.get(name, ("", ()))
    return {
        "name": name,
        "about": about,
        "unit": None,  # that of the features
        "whole_clips": False,
        "options": [*options, *_ALWAYS],
        # By movement all distances are looked at, and what is too far is left out at the end.
        "threshold_filters": name == "dtw",
    }


def lacking(library, settings: Looking) -> dict[str, Any] | None:
    """What must be built, and is too much to be built unasked: webs. None if nothing is."""
    if settings.method != "web":
        return None
    store = WebStore(library, settings.distance)
    chosen = {"label": settings.within or None, "only": settings.only or None}
    if store.files.state() is None:  # none at all: counted, not looked for one by one
        count = len(chosen_names(library, **chosen))
        pairs = count * (count + 1) // 2
    else:
        pairs = store.missing(**chosen)
    if not pairs:
        return None
    return {
        "what": "web",
        "pairs": pairs,
        "words": f"{pairs:,} pairs of takes have no match web yet",
    }


def build_web(library, settings: Looking, job: Job) -> dict[str, Any]:
    """Build the webs that `lacking` told of; one process, so that it can be stopped."""
    report = WebStore(library, settings.distance).build(
        label=settings.within or None,
        only=settings.only or None,
        workers=1,
        progress=job.advance,
    )
    return {"pairs": report.pairs, "built": report.built, "seconds": report.seconds}


def prepare(library, settings: Looking, job: Job) -> dict[str, Any]:
    """Make what a method reads and the library keeps: features, an index, rows of clips."""
    if not len(library):
        raise LibraryError(f"{library.path}: the library is empty; import motions first")
    if settings.method in CLIP_MEASURES:
        clip_table(library, CLIP_MEASURES[settings.method], progress=job.advance)
    elif settings.method in ("dtw", "lazy") and settings.features in FEATURES:
        features = library_features(library, settings.features, progress=job.advance)
        if settings.method == "lazy":
            open_index(library, features, "bucket")
    return {}


def is_quick(shop, settings: Looking) -> bool:
    """Whether this was prepared since the studio was started, or is little work anyway."""
    frames = sum(entry.frames for entry in shop.library.entries())
    made = shop.once(("prepared",), set)
    return frames < _LITTLE or _what(settings) in made


def was_prepared(shop, settings: Looking) -> None:
    """Remember it."""
    shop.once(("prepared",), set).add(_what(settings))


def _what(settings: Looking) -> tuple[str, str]:
    return (settings.method, settings.features)
