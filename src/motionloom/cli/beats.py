"""``motionloom beats`` and ``motionloom movements``: rhythm, and graphs of what follows what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motionloom.cli.arguments import motion_from
from motionloom.cli.options import JSON, LIB, WITHIN
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.rhythm import Beats, Choreography

Takes = Annotated[
    str | None,
    typer.Option(help="Names, with commas; NAME+NAME dance together.", metavar="NAME,..."),
]
Meter = Annotated[int | None, typer.Option(min=1, help="Beats per movement. [estimated]")]

_TOLD = 5  # takes that were left out, told by name


def beats(
    motions: Annotated[
        list[str],
        typer.Argument(metavar="FILE|LIB:NAME...", help="One motion; several dance together."),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw them: .png, .svg or .pdf.")
    ] = None,
    slowest: Annotated[float, typer.Option(help="Least plausible tempo, beats a minute.")] = 40.0,
    fastest: Annotated[float, typer.Option(help="Greatest plausible tempo.")] = 214.0,
    steady: Annotated[
        bool, typer.Option("--steady", help="One tempo throughout, as in the paper.")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find the beats of a motion: when it keeps time, and how surely.

    With several motions of one rate and length (a couple), they are analysed together.
    """
    from motionloom.rhythm import beats as beats_of

    loaded = [motion_from(text) for text in motions]
    found = beats_of(loaded, tempo_bpm=(slowest, fastest), steady=steady)
    if output is not None:
        from motionloom.plots.rhythm import write_beats

        write_beats(loaded, found, output)
    if json:
        print_json({**found.as_dict(), "picture": str(output) if output else None})
        return
    _print_beats(found)
    if output is not None:
        print(output)


def _print_beats(found: Beats) -> None:
    from motionloom.rhythm.beats.motion_beats import RHYTHMIC

    sure = f"confidence {found.confidence:.2f}"
    if not found.rhythmic:
        print(f"no rhythm to speak of: {sure}, and {RHYTHMIC:g} would be the least that counts")
    if not len(found):
        return
    counted = (
        f"{len(found)} beats, one every {found.period:.3f} s ({found.bpm:.1f} a minute), "
        f"the first at {found.times[0]:.2f} s"
    )
    if found.rhythmic:
        print(f"{counted}; {sure}")
    else:
        remark(f"if it is counted all the same: {counted}")
    for other in found.alternatives[:3]:
        ratio = f", {other.ratio} of it" if other.ratio else ""
        remark(
            f"  or one every {other.seconds:.3f} s ({60 / other.seconds:.1f} a minute{ratio}), "
            f"{other.strength:.2f} times as strong"
        )


def movements(
    library: Annotated[Path, LIB],
    takes: Takes = None,
    within: Annotated[list[str] | None, WITHIN] = None,
    graph: Annotated[
        Path | None, typer.Option(help="Start from this choreography (.json) instead.")
    ] = None,
    kept: Annotated[
        str | None, typer.Option(metavar="NAME", help="Start from one that the library keeps.")
    ] = None,
    meter: Meter = None,
    groups: Annotated[int | None, typer.Option(help="Groups of movements. [found]")] = None,
    mirror: Annotated[bool, typer.Option("--mirror", help="Use every take mirrored too.")] = False,
    behaviour: Annotated[
        float, typer.Option(help="0: what goes smoothly; 1: what the takes show.")
    ] = 0.5,
    threshold: Annotated[float, typer.Option(help="Least likelihood of a transition.")] = 0.05,
    kind: Annotated[str, typer.Option(help="What is danced: waltz, salsa, ...")] = "",
    keep: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Keep it in the library, for motionloom dance --kind."),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(help="Add or set a transition.", metavar="FROM:TO:LIKELIHOOD"),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="Remove a transition.", metavar="FROM:TO")
    ] = None,
    weigh: Annotated[
        list[str] | None, typer.Option(help="Make one likelier or less.", metavar="FROM:TO:FACTOR")
    ] = None,
    rules: Annotated[Path | None, typer.Option(help="Apply a file of rules (.json).")] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option("-o", "--output", help=".json, .graphml, or a picture; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the grouping.")] = 0,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Cut takes into movements at their beats, and learn which may follow which.

    Writes the movement transition graph; edits an existing one with --graph or --kept.
    """
    from motionloom.library import Library
    from motionloom.rhythm import load_choreography

    lib = Library(library)
    if graph is not None:
        made = load_choreography(graph, lambda name: lib[name])
    elif kept is not None:
        from motionloom.rhythm.choreography_file import open_choreography

        made = open_choreography(lib, kept, lambda name: lib[name])
    else:
        with progress("listening", len(lib), quiet=json) as advance:
            made = lib.choreography(
                meter=meter, takes=takes_from(takes), within=within, groups=groups, mirror=mirror,
                behaviour=behaviour, threshold=threshold, kind=kind, seed=seed, progress=advance,
            )  # fmt: skip
    made = _edited(made, add or [], remove or [], weigh or [], rules)
    for path in output or []:
        _write(made, path)
    if keep is not None:
        from motionloom.rhythm.choreography_file import save_choreography

        save_choreography(lib, made, keep)
    if json:
        print_json({**_facts(made), **made.as_dict(), "files": [str(p) for p in output or []]})
        return
    facts = _facts(made)
    remark(
        f"{facts['movements']} movements of {made.meter} beats in {facts['nodes']} nodes "
        f"({facts['movements_per_node']:.1f} each), {facts['transitions']} transitions"
    )
    tell_left_out(made)
    for path in output or []:
        print(path)


def tell_left_out(made: Choreography) -> None:
    """Say which takes gave no movements, and why; of many, the first few."""
    reasons = list(made.left_out.items())
    for name, why in reasons[:_TOLD]:
        remark(f"  left out {name}: {why}")
    if len(reasons) > _TOLD:
        remark(f"  and {len(reasons) - _TOLD} more")


def takes_from(text: str | None) -> list[str | list[str]] | None:
    """Names of takes as they are written: commas between them, ``+`` for a couple."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",") if word.strip()]
    return [word.split("+") if "+" in word else word for word in words]


def _edited(made: Choreography, add, remove, weigh, rules: Path | None) -> Choreography:
    graph = made.graph
    for text in add:
        source, target, number = _edge(text, "FROM:TO:LIKELIHOOD", 3)
        graph = graph.with_edge(source, target, float(number))
    for text in weigh:
        source, target, number = _edge(text, "FROM:TO:FACTOR", 3)
        graph = graph.reweighted(source, target, float(number))
    for text in remove:
        source, target = _edge(text, "FROM:TO", 2)
        graph = graph.without_edge(source, target)
    made = made.with_graph(graph)
    return made.with_rules(rules) if rules is not None else made


def _edge(text: str, shape: str, parts: int) -> list[str]:
    words = text.split(":")
    try:
        if len(words) != parts:
            raise ValueError
        if parts == 3:
            float(words[2])
    except ValueError:
        raise InvalidInput(f"a transition is written {shape}; got {text!r}") from None
    return words


def _write(made: Choreography, path: Path) -> None:
    if path.suffix.lower() in (".json", ".graphml"):
        made.save(path)
        return
    from motionloom.plots.rhythm import write_transition_graph

    write_transition_graph(made.graph, path, title=made.kind)


def _facts(made: Choreography) -> dict:
    return {
        "movements": len(made.movements),
        "nodes": len(made.graph),
        "movements_per_node": made.graph.movements_per_node,
        "transitions": len(made.graph.edges),
        "dead_ends": list(made.graph.dead_ends),
        "left_out": dict(made.left_out),
    }
