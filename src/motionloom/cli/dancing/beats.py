"""``motionloom beats`` and ``movements``: motion beats, and movement transition graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.arguments import is_library, motion_from
from motionloom.cli.options import JSON, LIB, listed, open_library
from motionloom.cli.settings_options import settings_options
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.errors import InvalidInput
from motionloom.library.settings import RHYTHMIC, BeatSettings, ChoreographySettings

if TYPE_CHECKING:
    from motionloom.library import Beats, Choreography
    from motionloom.motion import Motion

Takes = Annotated[
    str | None,
    typer.Option(help="Names of takes; NAME+NAME were danced together.", metavar="NAME,..."),
]

Slowest = Annotated[float, typer.Option(help="Slowest plausible tempo (beats per minute).")]
Fastest = Annotated[float, typer.Option(help="Fastest plausible tempo (beats per minute).")]

_SHOWN = 5  # takes without movements that are listed by name
_OFF_TEMPO = 0.1  # of beats found, from a tempo by hand


@settings_options
def beats(
    motions: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|LIB:NAME...",
            help="One motion, or several that were danced together, also as LIB:NAME+NAME.",
        ),
    ],
    *,
    save: Annotated[
        bool,
        typer.Option(
            "--save",
            help="Keep --bpm, --first-beat and who danced together with the library, for all "
            "commands; LIB:60_*+61_* pairs many takes. With neither: forget them.",
        ),
    ] = False,
    move: Annotated[
        list[str] | None,
        typer.Option(
            metavar="K:SECONDS",
            help="Move beat K of LIB:NAME, counted from 0, and keep it; may be repeated.",
        ),
    ] = None,
    add: Annotated[
        list[float] | None,
        typer.Option(metavar="SECONDS", help="Add a beat to LIB:NAME and keep it."),
    ] = None,
    remove: Annotated[
        list[int] | None,
        typer.Option(metavar="K", help="Remove beat K of LIB:NAME, counted from 0, for good."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Draw the beats: .png, .svg or .pdf."),
    ] = None,
    slowest: Slowest = 40.0,
    fastest: Fastest = 214.0,
    settings: BeatSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find the beats of a motion, with a confidence.

    Several motions of one frame rate and length (a couple) are analysed together.
    """
    if save:
        _save_beats(motions, settings, json=json)
        return
    if move or add or remove:
        _edit_beats(motions, move or [], add or [], remove or [])
    loaded, found = _analysed(motions, settings.arguments() | {"tempo_bpm": (slowest, fastest)})
    if output is not None:
        from motionloom.plots.rhythm import write_beats

        write_beats(loaded, found, output)
    if json:
        print_json({**found.as_dict(), "picture": str(output) if output else None})
        return
    _print_beats(found)
    if output is not None:
        print(output)


def _analysed(texts: list[str], options: dict[str, Any]) -> tuple[list[Motion], Beats]:
    """Motions and their beats; those of a library as it knows them."""
    from motionloom.library import beats as beats_of

    place, names = _in_library(texts)
    if place is not None and not any(":" in name for name in names):
        lib = open_library(place)
        return [lib[name] for name in names], lib.beats.of(names, **options)
    loaded = [motion_from(text) for text in texts]
    return loaded, beats_of(loaded, **options)


def _in_library(texts: list[str]) -> tuple[Path | None, list[str]]:
    """The library and the names, if all texts are ``LIB:NAME`` or ``LIB:NAME+NAME`` of one."""
    parts = [text.partition(":") for text in texts if not Path(text).exists()]
    places = {place for place, _, _ in parts}
    if len(parts) != len(texts) or len(places) != 1 or not is_library(place := places.pop()):
        return None, []
    names = [name for _, _, rest in parts for name in rest.split("+")]
    return Path(place), names


def _save_beats(texts: list[str], settings: BeatSettings, *, json: bool) -> None:
    place, names = _in_library(texts)
    if place is None:
        raise InvalidInput(
            f"--save keeps beats with a library; name takes as LIB:NAME, got {' '.join(texts)}"
        )
    changed = open_library(place).beats.set(
        "+".join(names), bpm=settings.bpm, first_beat=settings.first_beat
    )
    if json:
        print_json({"takes": list(changed), "bpm": settings.bpm, "first_beat": settings.first_beat})
    else:
        remark(f"beats of {len(changed)} takes kept with {place}: {', '.join(changed[:8])}")


def _edit_beats(texts: list[str], move: list[str], add: list[float], remove: list[int]) -> None:
    place, names = _in_library(texts)
    if place is None or len(names) != 1:
        raise InvalidInput(
            "--move, --add and --remove change the beats of one take of a library, LIB:NAME; "
            f"got {' '.join(texts)}"
        )
    moved = {}
    for text in move:
        number, _, seconds = text.partition(":")
        try:
            moved[int(number)] = float(seconds)
        except ValueError:
            raise InvalidInput(f"--move must be K:SECONDS, as in 3:1.25; got {text}") from None
    open_library(place).beats.edit(names[0], move=moved, add=add, remove=remove)


def _print_beats(found: Beats) -> None:
    sure = "as given" if found.given else f"confidence {found.confidence:.2f}"
    if not found.rhythmic:
        print(f"no rhythm: {sure}, below {RHYTHMIC:g}")
    if not len(found):
        return
    counted = (
        f"{len(found)} beats, one every {found.period:.3f} s ({found.bpm:.1f} per minute), "
        f"the first at {found.times[0]:.2f} s"
    )
    if found.rhythmic:
        print(f"{counted}; {sure}")
    else:
        remark(f"best estimate: {counted}")
    remark(f"  {found.landings.text}")
    if found.given:
        _check_given(found)
    for other in found.alternatives[:3]:
        ratio = f", {other.ratio} of the period" if other.ratio else ""
        remark(
            f"  or one every {other.seconds:.3f} s ({60 / other.seconds:.1f} per minute{ratio}), "
            f"relative strength {other.strength:.2f}"
        )


def _check_given(found: Beats) -> None:
    """Tell where the motion does not agree with a tempo or first beat by hand."""
    import numpy as np

    apart = float(np.median(np.diff(found.times))) if len(found) > 1 else found.period
    if abs(apart / found.period - 1.0) > _OFF_TEMPO:
        remark(
            f"warning: the motion does not keep this tempo: its beats, near a grid of "
            f"{found.period:.3f} s, are {apart:.3f} s apart. Check --bpm, or give --first-beat, too"
        )
    elif found.landings.total and found.landings.coherence < found.landings.noise:
        remark("warning: feet do not land on these beats: check --bpm and --first-beat")


@settings_options
def movements(
    library: Annotated[Path, LIB],
    *,
    takes: Takes = None,
    graph: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Edit this choreography (.json).")
    ] = None,
    saved: Annotated[
        str | None, typer.Option(metavar="NAME", help="Edit a choreography of the library.")
    ] = None,
    kept: Annotated[str | None, typer.Option(hidden=True)] = None,
    slowest: Slowest = 40.0,
    fastest: Fastest = 214.0,
    settings: ChoreographySettings,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Save it with the library, for motionloom dance --kind."),
    ] = None,
    keep: Annotated[str | None, typer.Option(hidden=True)] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(help="Add or set a transition.", metavar="FROM:TO:LIKELIHOOD"),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="Remove a transition.", metavar="FROM:TO")
    ] = None,
    weigh: Annotated[
        list[str] | None,
        typer.Option(help="Multiply the likelihood of a transition.", metavar="FROM:TO:FACTOR"),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Apply choreographic rules (.json).")
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help=".json, .graphml, or a picture. May be repeated."
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Cut takes into movements at their beats, and learn which may follow which.

    Writes the movement transition graph; with --graph or --saved, edits one.
    """
    lib = open_library(library)
    if graph is not None:
        made = lib.choreographies.load(graph)
    elif source := saved or kept:
        made = lib.choreographies[source]
    else:
        with progress("analysing takes", len(lib), quiet=json) as advance:
            made = lib.choreography(
                **settings.arguments() | {"tempo_bpm": (slowest, fastest)},
                takes=takes_from(takes),
                progress=advance,
            )
    made = _edited(made, add or [], remove or [], weigh or [], rules)
    for path in output or []:
        _write(made, path)
    if target := name or keep:
        lib.choreographies[target] = made
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
    """List the takes without movements by reason; of many, the first few names."""
    from motionloom.motion.diagnostics.quality import grouped_reasons

    for why, names in grouped_reasons(made.left_out).items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        remark(f"  left out {', '.join(names[:_SHOWN])}{more}: {why}")


def takes_from(text: str | None) -> list[str | list[str]] | None:
    """Names of takes: separated by commas, ``+`` between those danced together."""
    if text is None:
        return None
    return [word.split("+") if "+" in word else word for word in listed(text)]


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
