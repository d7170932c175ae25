"""``motionloom graph``: where motions of a library may be left for one another.

Which motion graph of a library is meant: the options that say so, and that graph.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.options import JSON, LIB, ONLY, PICTURES, WITHIN, WITHOUT, listed, open_library
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.errors import InvalidInput, MotionFormatError

if TYPE_CHECKING:
    from motionloom.library import Library
    from motionloom.motion_graph import MotionGraph


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
    from motionloom.motion_graph.artifact import graph_settings

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
    return said or graph_settings(lib) or {}


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
    from motionloom.motion_graph.artifact import is_built

    names, distance = chosen_names(lib, settings), chosen_distance(settings)
    return is_built(lib, names=names, distance=distance, **_finding(settings))


def chosen_graph(lib: Library, settings: Settings) -> MotionGraph:
    """The graph: kept with the library, or built now."""
    from motionloom.motion_graph.artifact import library_graph

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


_EDITS = ("remove", "lock", "restore")
_ACTIONS = ("build", "info", "picture", "export", "learn", *_EDITS)
_PAIRS_SHOWN = 20  # rows of the table of pairs; a library of 200 takes has 20,000
_WEIGHTS = typer.Option(metavar="FILE", help="Weights of joint pairs, as `learn` writes them.")


def graph(
    library: Annotated[Path, LIB],
    action: Annotated[str, typer.Argument(metavar="|".join(_ACTIONS))],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="picture: .png, .svg, .pdf; export: .mogra, .json."),
    ] = None,
    distance: Annotated[str | None, DISTANCE] = None,
    method: Annotated[str | None, METHOD] = None,
    threshold: Annotated[float | None, THRESHOLD] = None,
    per_minute: Annotated[float | None, PER_MINUTE] = None,
    blend: Annotated[float | None, BLEND] = None,
    within: Annotated[list[str] | None, WITHIN] = None,
    only: Annotated[str | None, ONLY] = None,
    without: Annotated[str | None, WITHOUT] = None,
    any_footing: Annotated[
        bool, typer.Option("--any-footing", help="Let the feet disagree at transitions.")
    ] = False,
    weights: Annotated[Path | None, _WEIGHTS] = None,
    pair: Annotated[
        str | None, typer.Option(metavar="TAKE,TAKE", help="picture: of these two motions.")
    ] = None,
    tags: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="learn: rows of NAME:FRAME, NAME:FRAME, similar."),
    ] = None,
    top: Annotated[int | None, typer.Option(help="learn: keep the largest weights.")] = None,
    transition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:FRAME,NAME:FRAME", help="remove, lock, restore: this one. Repeatable."
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find where motions may be left for one another, and keep it with the library.

    `build` finds the transitions; `info` tells what there is and builds nothing, `picture`
    draws it, `export` writes the transitions to a file. Without options they speak of the
    graph built last.
    `learn` makes weights for the distance from pairs of poses tagged similar or not.
    `remove` rules transitions out of all graphs of the library, `lock` has them in, `restore`
    leaves it to the distance again.
    """
    if action not in _ACTIONS:
        raise InvalidInput(f"graph does {', '.join(_ACTIONS)}; got {action!r}")
    lib = open_library(library)
    if action == "learn":
        _learn(lib, tags, output, top, json)
        return
    _check_output(action, output)
    two = _pair(pair)
    if action in _EDITS:
        _edit(lib, action, transition)
    settings = graph_settings(
        lib,
        distance=distance,
        method=method,
        threshold=threshold,
        per_minute=per_minute,
        blend=blend,
        within=within,
        only=only,
        without=without,
        any_footing=any_footing,
        weights=weights,
    )
    if action in ("info", *_EDITS) and not is_built(lib, settings):
        _tell_what_is_not_built(lib, settings, json)
        return
    made = chosen_graph(lib, settings)
    if action == "build":
        _remember(lib, settings)
    elif action == "picture" and output is not None:
        _draw(made, output, two, settings)
    elif action == "export" and output is not None:
        _export(made, output)
    if json:
        print_json({**made.info(), **({"file": str(output)} if output else {})})
    elif action in ("build", "info", *_EDITS):
        _print_info(made)


def _remember(lib: Library, settings: Settings) -> None:
    from motionloom.motion_graph.artifact import save_graph_settings

    save_graph_settings(lib, settings)


def _draw(made: MotionGraph, output: Path, two: tuple[str, str] | None, settings: Settings) -> None:
    from motionloom.plots.distance_matrix import write_error_function

    write_error_function(made, output, names=two, distance=chosen_distance(settings))
    remark(f"drawn to {output}")


def _tell_what_is_not_built(lib: Library, settings: Settings, json: bool) -> None:
    """What there is to build a graph of; figures that only the graph has are null."""
    from motionloom.motion_graph.edits import library_edits

    names, edits = chosen_names(lib, settings), library_edits(lib)
    frames = sum(lib.entry(name).frames for name in names)
    if json:
        figures = ("transitions", "nodes", "edges", "removed", "transitions_per_minute")
        print_json({"motions": len(names), "frames": frames, **dict.fromkeys(figures)})
        return
    print(
        f"{counted(len(names), 'motion')}, {counted(frames, 'frame')}; no graph of them is built. "
        f"Build it with the same options, which compares {counted(pairs_of(names), 'pair')} of "
        f"motions: motionloom graph {lib.path} build"
    )
    if edits:
        removed = counted(len(edits.removed), "transition")
        print(f"by hand: {removed} removed, {len(edits.locked)} locked")


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = listed(text) or []
    if len(names) != 2:
        raise InvalidInput(f"--pair must name two motions, TAKE,TAKE; got {text}")
    return names[0], names[1]


def _check_output(action: str, output: Path | None) -> None:
    suffixes = {"picture": PICTURES, "export": (".mogra", ".json")}.get(action)
    if suffixes is None:
        return
    if output is None:
        raise InvalidInput(f"graph {action} needs -o FILE, ending in {', '.join(suffixes)}")
    if output.suffix.lower() not in suffixes:
        raise InvalidInput(
            f"{output}: graph {action} writes {', '.join(suffixes)}; the name must end so"
        )


def _export(made: MotionGraph, output: Path) -> None:
    from motionloom.atomic_write import atomic_write
    from motionloom.motion_graph.mogra import write_mogra

    if output.suffix.lower() == ".mogra":
        write_mogra(made, output)
        for number, name in enumerate(made.names):
            remark(f"{number}: {name}")
        return
    import json

    transitions = made.transitions
    rows = [
        {
            "source": made.names[transitions.source[k, 0]],
            "source_frame": int(transitions.source[k, 1]),
            "target": made.names[transitions.target[k, 0]],
            "target_frame": int(transitions.target[k, 1]),
            "error": float(transitions.errors[k]),
            "move": transitions.transforms[k].tolist(),
        }
        for k in range(len(made))
    ]
    with atomic_write(output) as scratch:
        text = json.dumps({**made.info(), "list": rows}, indent=1)
        scratch.write_text(text, encoding="utf-8")


def _print_info(made: MotionGraph) -> None:
    info, removed = made.info(), made.removed
    print(
        f"{info['motions']} motions, {info['frames']} frames, {info['transitions']} transitions "
        f"({info['transitions_per_minute']:.0f} a minute) by {info['distance']} below "
        f"{info['threshold']:.4g}"
    )
    print(
        f"left out: {removed.transitions} transitions that lead nowhere, {removed.footing} on the "
        f"wrong foot, {removed.abrupt} too abrupt; {removed.frames} frames are never played"
    )
    if removed.by_hand:
        print(f"removed by hand: {removed.by_hand} transitions")
    if removed.motions:
        print(f"cut off: {', '.join(removed.motions)}")
    from rich.console import Console
    from rich.table import Table

    table = Table(title="spots left after each condition, pairs with most of them first")
    for name in ("motions", "", "sectors", "below threshold", "not doubled", "alike around"):
        table.add_column(name, justify="left" if name in ("motions", "") else "right")
    counted = [(pair, tuple(counts.__dict__.values())) for pair, counts in made.prunings.items()]
    counted.sort(key=lambda row: row[1][::-1], reverse=True)
    for (a, b), counts in counted[:_PAIRS_SHOWN]:
        table.add_row(a, b, *map(str, counts))
    Console().print(table)
    if len(counted) > _PAIRS_SHOWN:
        left = len(counted) - _PAIRS_SHOWN
        remark(f"and {left} more {'pair' if left == 1 else 'pairs'}")


def _edit(lib: Library, action: str, texts: list[str] | None) -> None:
    from motionloom.motion_graph.edits import TransitionKey, edit

    spots = [TransitionKey.of(text) for text in texts or []]
    if not spots:
        raise InvalidInput(f"graph {action} needs --transition NAME:FRAME,NAME:FRAME")
    for spot in spots:
        for name, frame in ((spot.source, spot.source_frame), (spot.target, spot.target_frame)):
            frames = lib.entry(name).frames
            if frame >= frames:
                raise InvalidInput(f"{name} has frames 0 to {frames - 1}; got {frame}")
    for spot in spots:
        edit(lib, action, spot)


def _learn(lib: Library, tags: Path | None, output: Path | None, top: int | None, json: bool):
    from motionloom.distance.joint_weights import learn_weights, save_weights

    if tags is None or output is None:
        raise InvalidInput("graph learn needs --tags FILE and -o FILE")
    poses, similar = [], []
    with tags.open(newline="", encoding="utf-8") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            if not row or (number == 1 and row[-1].strip().lower() == "similar"):
                continue
            if len(row) != 3 or row[2].strip() not in ("0", "1"):
                raise MotionFormatError(
                    f"expected NAME:FRAME, NAME:FRAME, 1 or 0; got {','.join(row)[:60]!r}",
                    path=tags,
                    line=number,
                )
            poses.append((_pose(lib, row[0], tags, number), _pose(lib, row[1], tags, number)))
            similar.append(row[2].strip() == "1")
    weights = learn_weights(poses, similar, top=top)
    save_weights(weights, output)
    rows = [{"joints": list(pair), "weight": weight} for pair, weight in weights.items()]
    if json:
        print_json({"file": str(output), "tagged": len(poses), "weights": rows})
    else:
        remark(f"{len(weights)} weights from {len(poses)} tagged pairs written to {output}")


def _pose(lib: Library, text: str, file: Path, line: int):
    name, _, frame = text.strip().rpartition(":")
    if not frame.isdecimal() or len(frame) > 15:
        raise MotionFormatError(f"expected NAME:FRAME; got {text!r}", path=file, line=line)
    motion = lib[name]
    if int(frame) >= len(motion):
        raise MotionFormatError(
            f"{name} has {len(motion)} frames; got frame {frame}", path=file, line=line
        )
    return motion[int(frame)]
