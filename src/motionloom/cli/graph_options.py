"""Which motion graph of a library is meant: the options that say so, and that graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from motionloom.cli.options import listed
from motionloom.cli.terminal import progress
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.loom import Library
    from motionloom.synthesis.motiongraph import MotionGraph

DISTANCE = typer.Option(help="How frames are compared: jrd, pc11 ... [jrd]")
METHOD = typer.Option(help="sectors (three prunings) or minima (local minima). [sectors]")
THRESHOLD = typer.Option(help="How alike frames must be, in the distance's unit.")
PER_MINUTE = typer.Option(help="Choose the threshold so that there are so many. [60]")
BLEND = typer.Option(help="Seconds that a transition takes. [0.4]")

Settings = dict[str, Any]
"""What was said about a graph: arguments of `Library.motion_graph`, and ``weights``, a file."""


def graph_settings(
    lib: Library,
    *,
    distance: str | None,
    method: str | None,
    threshold: float | None,
    per_minute: float | None,
    blend: float | None,
    within: list[str] | None,
    only: str | None,
    without: str | None,
    any_footing: bool = False,
    weights: Path | None = None,
) -> Settings:
    """What was said about the graph; if nothing was, what was said of the one built last."""
    from motionloom.synthesis.motiongraph.store import remembered

    given = {
        "distance": distance,
        "method": method,
        "threshold": threshold,
        "per_minute": per_minute,
        "blend_seconds": blend,
        "within": within or None,
        "only": listed(only),
        "without": listed(without),
        "footing": False if any_footing else None,
        "weights": None if weights is None else str(weights.absolute()),
    }
    said = {name: value for name, value in given.items() if value is not None}
    return said or remembered(lib) or {}


def chosen_names(lib: Library, settings: Settings) -> list[str]:
    """Names of the motions that the graph is made of."""
    from motionloom.search import filters

    chosen = {name: settings.get(name) for name in ("within", "only", "without")}
    return filters.chosen_names(lib, **chosen)


def chosen_distance(settings: Settings):
    """How frames of the graph are compared: a name, or a distance with learned weights."""
    name, weights = settings.get("distance", "jrd"), settings.get("weights")
    if weights is None:
        return name
    from motionloom.distance.joint_weights import load_weights

    if name != "jrd":
        raise InvalidInput(f"--weights are those of jrd; got the distance {name}")
    return load_weights(weights)


def is_built(lib: Library, settings: Settings) -> bool:
    """Whether the library keeps the graph, so that nothing needs to be compared."""
    from motionloom.synthesis.motiongraph.store import is_kept

    names, distance = chosen_names(lib, settings), chosen_distance(settings)
    return is_kept(lib, names=names, distance=distance, **_finding(settings))


def chosen_graph(lib: Library, settings: Settings) -> MotionGraph:
    """The graph: kept with the library, or built now."""
    from motionloom.synthesis.motiongraph.store import library_graph

    names, distance = chosen_names(lib, settings), chosen_distance(settings)
    with progress("pairs of motions", pairs_of(names)) as advance:
        return library_graph(
            lib, names=names, distance=distance, progress=advance, **_finding(settings)
        )


def pairs_of(names: list[str]) -> int:
    """How many pairs of motions are compared, each with itself included."""
    return len(names) * (len(names) + 1) // 2


def _finding(settings: Settings) -> dict[str, Any]:
    """What says how transitions are found."""
    others = ("distance", "weights", "within", "only", "without")
    return {name: value for name, value in settings.items() if name not in others}
