"""``motionloom movements``: movement transition graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Option
from motionloom.cli.options import JSON, LIB, PICTURES, listed, open_library, writes
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.dance.settings import ChoreographySettings
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.library import Choreography

Takes = Annotated[
    str | None,
    Option(
        "Takes to use. NAME+NAME joins takes that were danced together, and * stands for any text "
        "(60_*+61_*).",
        metavar="NAME,...",
    ),
]

_ADDED, _WEIGHED, _REMOVED = "FROM:TO:LIKELIHOOD", "FROM:TO:FACTOR", "FROM:TO"
_SHOWN = 5  # maximum number of skipped takes listed by name


def movements(
    library: Annotated[Path, LIB],
    *,
    takes: Takes = None,
    graph: Annotated[Path | None, Option("Edit this choreography (.json).", metavar="FILE")] = None,
    saved: Annotated[
        str | None, Option("Edit this choreography of the library.", metavar="NAME")
    ] = None,
    settings: ChoreographySettings,
    name: Annotated[
        str | None,
        Option(
            "Save the choreography in the library, for motionloom dance --kind.", metavar="NAME"
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        Option("Add a transition, or set its likelihood.", metavar=_ADDED),
    ] = None,
    remove: Annotated[list[str] | None, Option("Remove a transition.", metavar=_REMOVED)] = None,
    weigh: Annotated[
        list[str] | None,
        Option("Multiply the likelihood of a transition.", metavar=_WEIGHED),
    ] = None,
    rules: Annotated[
        Path | None, Option("Apply choreographic rules (.json).", metavar="FILE")
    ] = None,
    output: Annotated[
        list[Path] | None,
        Option(
            "Output file: .json, .graphml, or a picture. May be repeated.",
            "-o --output",
            metavar="FILE",
            check=writes(".json", ".graphml", *PICTURES),
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Cut takes into movements at their beats, and learn which movements can follow each other.

    Writes the movement transition graph; with --graph or --saved, edits one.
    """
    for texts, shape in ((add, _ADDED), (weigh, _WEIGHED), (remove, _REMOVED)):
        for text in texts or []:
            _edge(text, shape)
    lib = open_library(library)
    if graph is not None:
        made = lib.choreographies.load(graph)
    elif saved is not None:
        made = lib.choreographies[saved]
    else:
        with progress("analyzing takes", len(lib), quiet=json) as advance:
            made = lib.choreography(settings, takes=listed(takes), progress=advance)
    made = _edited(made, add or [], remove or [], weigh or [], rules)
    for path in output or []:
        _write(made, path)
    if name is not None:
        lib.choreographies[name] = made
    facts = {
        "movements": len(made.movements),
        "nodes": len(made.graph),
        "movements_per_node": made.graph.movements_per_node,
        "transitions": len(made.graph.edges),
        "dead_ends": list(made.graph.dead_ends),
        "left_out": dict(made.left_out),
    }
    if json:
        print_json({**facts, **made.as_dict(), "files": [str(p) for p in output or []]})
        return
    remark(
        f"{facts['movements']} movements of {made.meter} beats in "
        f"{counted(len(made.graph), 'node')} "
        f"({facts['movements_per_node']:.1f} each), {facts['transitions']} transitions"
    )
    print_left_out(made)
    for path in output or []:
        print(path)


def print_left_out(made: Choreography) -> None:
    """Print why takes were skipped, with a few names per reason."""
    from motionloom.motion.diagnostics.quality import grouped_reasons

    for why, names in grouped_reasons(made.left_out).items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        remark(f"  skipped {', '.join(names[:_SHOWN])}{more}: {why}")


def _edited(made: Choreography, add, remove, weigh, rules: Path | None) -> Choreography:
    graph = made.graph
    for text in add:
        source, target, number = _edge(text, _ADDED)
        graph = graph.with_edge(source, target, float(number))
    for text in weigh:
        source, target, number = _edge(text, _WEIGHED)
        graph = graph.reweighted(source, target, float(number))
    for text in remove:
        source, target = _edge(text, _REMOVED)
        graph = graph.without_edge(source, target)
    made = made.with_graph(graph)
    return made.with_rules(rules) if rules is not None else made


def _edge(text: str, shape: str) -> list[str]:
    words = text.split(":")
    try:
        if len(words) != len(shape.split(":")):
            raise ValueError
        for number in words[2:]:
            float(number)
    except ValueError:
        raise InvalidInput(f"a transition must be written as {shape}; got {text!r}") from None
    return words


def _write(made: Choreography, path: Path) -> None:
    if path.suffix.lower() in (".json", ".graphml"):
        made.save(path)
        return
    from motionloom.plots.rhythm import write_transition_graph

    write_transition_graph(made.graph, path, title=made.kind)
