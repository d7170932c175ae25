"""``motionloom graph``: build, draw, export and edit motion graphs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from motionloom.cli.command import Argument, Fields, Option, settings_of
from motionloom.cli.options import (
    JSON,
    LIB,
    PICTURES,
    listed,
    open_library,
)
from motionloom.cli.terminal import (
    counted,
    print_json,
    print_table,
    progress,
    remark,
)
from motionloom.cli.tools.cluster import on_clusters
from motionloom.errors import InvalidInput
from motionloom.motion_graph.settings import GraphSettings

if TYPE_CHECKING:
    from motionloom.library import Library, MotionGraph


_EDITS = ("remove", "lock", "restore")
_ACTIONS = ("build", "info", "picture", "export", "import", "learn", *_EDITS)
_PAIRS_SHOWN = 20  # maximum rows of the pair table; 200 takes have 20,000 pairs


@on_clusters
def graph(
    library: Annotated[Path, LIB],
    action: Annotated[str, Argument(", ".join(_ACTIONS) + ".", metavar="ACTION")],
    given: Annotated[dict[str, Any], GraphSettings, Fields(hide=("transitions",))],
    file: Annotated[Path | None, Argument("import: the .mogra file.", metavar="FILE")] = None,
    output: Annotated[
        Path | None,
        Option(
            "Output file. picture: .png, .svg, .pdf; export: .mogra, .json.",
            "-o --output",
            metavar="FILE",
        ),
    ] = None,
    pair: Annotated[
        str | None, Option("picture: the two motions to draw.", metavar="NAME,NAME", expert=True)
    ] = None,
    tags: Annotated[
        Path | None,
        Option(
            "learn: CSV file with rows NAME:FRAME, NAME:FRAME, similar (1 or 0).",
            metavar="FILE",
            expert=True,
        ),
    ] = None,
    learn_method: Annotated[
        str, Option("learn: method that computes the weights.", metavar="nnls|tang", expert=True)
    ] = "nnls",
    max_weights: Annotated[
        int | None, Option("learn: number of weights to keep, largest first.", expert=True)
    ] = None,
    transition: Annotated[
        list[str] | None,
        Option(
            "remove, lock, restore: the transition; may be repeated.",
            metavar="NAME:FRAME,NAME:FRAME",
            expert=True,
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build a motion graph, and draw, export or edit it.

    `build` finds transitions between motions and stores the graph in the library, `info` prints
    statistics, `picture` draws the error function, `export` writes a file. Without graph options,
    they use the most recently built graph.

    `import` reads the transitions of a .mogra file, whose motions are numbered in the order of
    --only, or in the order of the library. `learn` computes weights of joint pairs for the distance
    jrd from tagged pose pairs. `remove` excludes transitions from all graphs of the library,
    `lock` includes them, `restore` undoes both.
    """
    if action not in _ACTIONS:
        raise InvalidInput(f"action must be one of {', '.join(_ACTIONS)}; got {action!r}")
    lib = open_library(library)
    if action == "learn":
        _learn(lib, tags, output, learn_method, max_weights, json)
        return
    _check_output(action, output)
    if (action == "import") != (file is not None):
        raise InvalidInput("graph import needs a FILE; other actions do not accept one")
    two = _pair(pair)
    for name in two or ():
        lib.store.entry(name)  # raises if the library has no such motion
    if action in _EDITS:
        if not transition:
            raise InvalidInput(f"graph {action} needs --transition NAME:FRAME,NAME:FRAME")
        for text in transition:
            lib.graphs.edit(action, text)  # type: ignore[arg-type]
    settings = used_settings(lib, given)
    if file is not None:
        settings = replace(settings, transitions=str(file.absolute()))
    if action in ("info", *_EDITS) and not lib.graphs.is_built(settings):
        _print_unbuilt(lib, settings, json)
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        made = built_graph(lib, settings)
    for each in said:
        remark(str(each.message))
    if action in ("build", "import"):
        lib.graphs.keep(settings)
    elif action == "picture" and output is not None:
        from motionloom.plots.distance_matrix import write_error_function

        write_error_function(made, output, names=two, distance=settings.frame_distance())
        remark(f"drawn to {output}")
    elif action == "export" and output is not None:
        made.save(output)
        if output.suffix.lower() == ".mogra":
            _print_numbers(made.names)
    if action == "import":
        _print_numbers(lib.graphs.motions(settings))
    if json:
        print_json({**made.info(), **({"file": str(output)} if output else {})})
    elif action in ("build", "import", "info", *_EDITS):
        _print_info(made)


def _print_numbers(names: Sequence[str]) -> None:
    """Print the motion that each number in a .mogra file refers to."""
    for number, name in enumerate(names):
        remark(f"{number}: {name}")


def used_settings(lib: Library, given: Mapping[str, Any]) -> GraphSettings:
    """Return the settings given as options or, without options, those of the last graph built."""
    if not given:
        return lib.graphs.settings or GraphSettings()
    settings = settings_of(GraphSettings, given)
    settings.frame_distance()  # raises if there is none, before takes are read
    if str(settings.distance).endswith(".json"):
        return replace(settings, distance=str(Path(settings.distance).absolute()))
    return settings


def built_graph(lib: Library, settings: GraphSettings) -> MotionGraph:
    """Return the graph stored in the library, or build it."""
    pairs = _pair_count(len(lib.graphs.motions(settings)))
    with progress("pairs of motions", pairs) as advance:
        return lib.graphs.edited(settings, progress=advance).graph


def _pair_count(motions: int) -> int:
    """Return the number of motion pairs to compare, including each motion with itself."""
    return motions * (motions + 1) // 2


def _print_unbuilt(lib: Library, settings: GraphSettings, json: bool) -> None:
    """Print the motions of a graph that is not built yet; values that need the graph are null."""
    names, edits = lib.graphs.motions(settings, examine=False), lib.graphs.edits
    frames = sum(entry.frames for entry in lib.store.entries(names))
    if json:
        figures = ("transitions", "nodes", "edges", "removed", "transitions_per_minute")
        print_json({"motions": len(names), "frames": frames, **dict.fromkeys(figures)})
        return
    print(
        f"{counted(len(names), 'motion')}, {counted(frames, 'frame')}; their graph is not built "
        f"yet. Building it compares {counted(_pair_count(len(names)), 'pair')}"
        f" of motions. Run, with the same options: motionloom graph {lib.path} build"
    )
    if edits:
        removed = counted(len(edits.removed), "transition")
        print(f"by hand: {removed} removed, {len(edits.locked)} locked")


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = listed(text) or []
    if len(names) != 2:
        raise InvalidInput(f"--pair must name two motions, NAME,NAME; got {text}")
    return names[0], names[1]


def _check_output(action: str, output: Path | None) -> None:
    suffixes = {"picture": PICTURES, "export": (".mogra", ".json")}.get(action)
    if suffixes is None:
        return
    if output is None:
        raise InvalidInput(f"graph {action} needs -o FILE, ending in {', '.join(suffixes)}")
    if output.suffix.lower() not in suffixes:
        raise InvalidInput(f"{output}: graph {action} writes files ending in {', '.join(suffixes)}")


def _print_info(made: MotionGraph) -> None:
    info, removed = made.info(), made.removed
    print(
        f"{info['motions']} motions, {info['frames']} frames, {info['transitions']} transitions "
        f"({info['transitions_per_minute']:.0f} per minute) with a distance {info['distance']} "
        f"below {info['threshold']:.4g}"
    )
    print(
        f"removed: {removed.transitions} transitions at dead ends, {removed.foot_support} with "
        f"different feet in contact, {removed.abrupt} too abrupt; {removed.frames} frames can no "
        f"longer be reached"
    )
    if removed.by_hand:
        print(f"removed by hand: {removed.by_hand} transitions")
    if removed.motions:
        print(f"not connected to the rest of the graph: {', '.join(removed.motions)}")
    from rich.table import Table

    table = Table(
        title="candidates remaining after each condition; pairs with the most candidates first"
    )
    for name in ("motions", "", "sectors", "below threshold", "not redundant", "similar around"):
        table.add_column(name, justify="left" if name in ("motions", "") else "right")
    rows = [(pair, tuple(counts.__dict__.values())) for pair, counts in made.prunings.items()]
    rows.sort(key=lambda row: row[1][::-1], reverse=True)
    for (a, b), counts in rows[:_PAIRS_SHOWN]:
        table.add_row(a, b, *map(str, counts))
    print_table(table)
    if len(rows) > _PAIRS_SHOWN:
        left = len(rows) - _PAIRS_SHOWN
        remark(f"and {left} more {'pair' if left == 1 else 'pairs'}")


def _learn(
    lib: Library,
    tags: Path | None,
    output: Path | None,
    method: str,
    max_weights: int | None,
    json: bool,
) -> None:
    if tags is None or output is None:
        raise InvalidInput("graph learn needs --tags FILE and -o FILE")
    learned = lib.graphs.learn_weights(
        tags,
        method=method,  # type: ignore[arg-type]
        max_weights=max_weights,
        output=output,
    )
    if json:
        rows = [{"joints": list(pair), "weight": w} for pair, w in learned.weights.items()]
        figures = {"auc": learned.auc, "equal_auc": learned.equal_auc}
        print_json({"file": str(output), "tagged": learned.tagged, **figures, "weights": rows})
        return
    remark(f"{len(learned.weights)} weights from {learned.tagged} tagged pairs written to {output}")
    if learned.auc is None or learned.equal_auc is None:
        remark("too few motions have tagged poses to test the weights on held-out motions")
    else:
        remark(
            f"on held-out motions, similar poses are nearer than others {learned.auc:.1%} of the "
            f"time (AUC {learned.auc:.3f}; equal weights {learned.equal_auc:.3f})"
        )
