"""Methods of a user: a function of two motions, a frame distance, or a file that contains one.

A *clip distance* is a function ``distance(a, b)`` of two motions that returns a number. It may have
the attributes ``name``, ``unit`` and ``symmetric`` (default: False), and ``prepare(motion)``: then
``distance`` receives the prepared values, and each motion is prepared only once.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, nan
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from motionloom.errors import InvalidInput
from motionloom.search.methods.clips import ClipMethod
from motionloom.search.methods.method import METHODS, Method
from motionloom.settings import motion_choice, setting

if TYPE_CHECKING:
    from motionloom.motion import Motion
    from motionloom.search.candidates import Candidate
    from motionloom.search.clips.measures import ClipMeasure
    from motionloom.search.clips.retrieval import WholeClips
    from motionloom.search.query import Query
    from motionloom.search.settings import SearchSettings
    from motionloom.store.store import Store

_FRAME_DISTANCE = ("prepare", "matrix")


@dataclass(frozen=True, kw_only=True)
class OwnDistance(ClipMethod):
    """Whole clips: a function of two motions."""

    NAME, OWN = "own", True

    hub_correction: bool = setting(False, "Correct the distances for hubs in evaluations.")
    distance: Any = setting(None, "Function of two motions that returns a number.", command=False)

    @property
    def title(self) -> str:
        """Name of the distance."""
        return str(getattr(self.distance, "name", "") or _function_name(self.distance))

    @property
    def symmetric(self) -> bool:
        """Whether the distance declares that it is symmetric."""
        return bool(getattr(self.distance, "symmetric", False))

    def unit(self) -> str:
        """Unit of the distances."""
        return str(getattr(self.distance, "unit", ""))

    def prepared(self, motion: Motion) -> Any:
        """Return the value of a motion that `between` receives."""
        prepare = getattr(self.distance, "prepare", None)
        return motion if prepare is None else prepare(motion)

    def between(self, a: Any, b: Any) -> float:
        """Return the distance of two prepared motions.

        Raises
        ------
        InvalidInput
            If the function does not return a number.
        """
        value = self.distance(a, b)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = nan
        if not isfinite(number):
            raise InvalidInput(
                f"the method {self.title!r} must return a finite number for each pair of motions; "
                f"got {value!r}"
            )
        return number

    def measure(self) -> ClipMeasure:
        """Raise an error: a function of motions has no table of features."""
        raise InvalidInput(f"the method {self.title!r} compares motions, not features")

    def candidates(
        self, library: Store, query: Query, settings: SearchSettings
    ) -> tuple[list[Candidate], WholeClips]:
        """Compare the query with all chosen motions, and return the nearest."""
        import numpy as np

        from motionloom.search.candidates import Candidate
        from motionloom.search.clips.retrieval import ClipNames, WholeClips
        from motionloom.search.filters import chosen_names

        names = chosen_names(library, **motion_choice(settings))
        own = query.name if settings.exclude_query else None
        mine = self.prepared(query.clip)
        rows, gaps = [], []
        for number, name in enumerate(names):
            if name != own:
                rows.append(number)
                gaps.append(self.between(mine, self.prepared(library[name])))
        table = ClipNames.of(library, names)
        limit = inf if settings.max_distance is None else settings.max_distance
        most = self.k or settings.max or len(rows)
        matches = []
        for k in np.argsort(gaps, kind="stable")[:most]:
            if gaps[k] <= limit:
                lengths = (query.end_frame - query.start_frame, int(table.frames[rows[k]]))
                count = max(lengths)
                path = np.column_stack(
                    [np.rint(np.linspace(0, length - 1, count)) for length in lengths]
                ).astype(np.int64)
                matches.append(Candidate(rows[k], rows[k] + 1, gaps[k], path))
        return matches, WholeClips(table)


def as_method(given: Any) -> Any:
    """Return the search method for an object of a user; other values are returned unchanged.

    A function of two motions compares whole clips. A frame distance, or the name of a registered
    one, is searched with ``dtw``.

    Examples
    --------
    >>> as_method(lambda a, b: abs(a.duration - b.duration)).title
    'lambda'
    >>> as_method("pc11").features
    'pc11'
    """
    from motionloom.search.methods.segments import Dtw

    if isinstance(given, Method) or (isinstance(given, str) and given in METHODS):
        return given
    name = _registered(given)
    if name is not None:
        return Dtw(features=name)
    return OwnDistance(distance=given) if _is_function(given) else given


def as_clip_method(given: Any) -> Any:
    """Return the method that compares whole clips, for an evaluation; see `as_method`.

    Frame distances are compared with banded DTW. ``FILE.py:NAME`` is read from a file.
    """
    text = given if isinstance(given, str) and ".py:" in given else None
    if text is not None:
        given = from_file(text)
    if isinstance(given, type) and issubclass(given, ClipMethod):
        return given()
    if isinstance(given, Method):
        return given
    name = _registered(given)
    if name is not None:
        return FrameClips(distance=name)
    if text is not None and not _is_function(given):
        raise InvalidInput(
            f"{text} must be a function of two motions, a frame distance or a clip measure; got "
            f"{type(given).__name__}"
        )
    return OwnDistance(distance=given) if _is_function(given) else given


@dataclass(frozen=True, kw_only=True)
class FrameClips(ClipMethod):
    """Whole clips: banded DTW of a registered frame distance."""

    NAME, OWN = "dtw-frames", True

    distance: str = setting("pc11", "Name of a frame distance.")

    @property
    def title(self) -> str:
        """Name of the distance."""
        return self.distance

    def measure(self) -> ClipMeasure:
        """Return the distance measure."""
        from motionloom.search.clips.measures import FrameDistanceMeasure

        return FrameDistanceMeasure(self.distance, self.distance, f"banded DTW of {self.distance}")


def from_file(text: str) -> Any:
    """Return the object ``NAME`` of the Python file in ``FILE.py:NAME``, which is run.

    Raises
    ------
    InvalidInput
        If the file or the name does not exist, or the file raises an error.
    """
    file, _, name = text.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise InvalidInput(f"there is no file {file}; a method in a file is FILE.py:NAME")
    spec = importlib.util.spec_from_file_location(f"motionloom_own_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InvalidInput(f"{file}: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        public = {each: value for each, value in vars(module).items() if each[0] != "_"}
        names = [each for each, value in public.items() if not isinstance(value, ModuleType)]
        raise InvalidInput(f"{file} has no {name!r}; it has {', '.join(names[:10]) or 'no names'}")
    return getattr(module, name)


def _registered(given: Any) -> str | None:
    """Return the name of a frame distance, which is registered if it is an object."""
    from motionloom.features.feature_sets import FEATURES
    from motionloom.features.frame_distances import DISTANCES, register_distance

    if isinstance(given, str):
        return given if given in DISTANCES or given in FEATURES else None
    if isinstance(given, type) and all(hasattr(given, part) for part in _FRAME_DISTANCE):
        given = given()
    if isinstance(given, type) or not all(hasattr(given, part) for part in _FRAME_DISTANCE):
        return None
    return register_distance(given).name


def _is_function(given: Any) -> bool:
    return callable(given) and not isinstance(given, type | str)


def _function_name(function: Callable[..., Any]) -> str:
    own = function if inspect.isfunction(function) else type(function)
    return getattr(own, "__name__", "own").strip("<>")
