"""``motionloom graph`` and ``motionloom walk``: endless motion from a few clips."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.options import JSON, LIB, ONLY, PICTURES, WITHIN, WITHOUT, listed, open_library
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput, MotionFormatError

if TYPE_CHECKING:
    from motionloom.loom import Library
    from motionloom.synthesis.motiongraph import MotionGraph

_EDITS = ("remove", "lock", "restore")
_ACTIONS = ("build", "info", "picture", "export", "learn", *_EDITS)
_PAIRS_SHOWN = 20  # rows of the table of pairs; a library of 200 takes has 20,000
_DISTANCE = typer.Option(help="How frames are compared: jrd, pc11 ... [jrd]")
_METHOD = typer.Option(help="sectors (three prunings) or minima (local minima). [sectors]")
_THRESHOLD = typer.Option(help="How alike frames must be, in the distance's unit.")
_PER_MINUTE = typer.Option(help="Choose the threshold so that there are so many. [60]")
_BLEND = typer.Option(help="Seconds that a transition takes. [0.4]")
_WEIGHTS = typer.Option(metavar="FILE", help="Weights of joint pairs, as `learn` writes them.")


def graph(
    library: Annotated[Path, LIB],
    action: Annotated[str, typer.Argument(metavar="|".join(_ACTIONS))],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="picture: .png, .svg, .pdf; export: .mogra, .json."),
    ] = None,
    distance: Annotated[str | None, _DISTANCE] = None,
    method: Annotated[str | None, _METHOD] = None,
    threshold: Annotated[float | None, _THRESHOLD] = None,
    per_minute: Annotated[float | None, _PER_MINUTE] = None,
    blend: Annotated[float | None, _BLEND] = None,
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

    `build` finds the transitions; `info` tells what there is, `picture` draws it, `export`
    writes the transitions to a file. Without options they speak of the graph built last.
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
    if action in _EDITS:
        _edit(lib, action, transition)
    settings = _settings(
        distance, method, threshold, per_minute, blend, within, only, without, any_footing, weights
    )
    made = library_graph(lib, settings, keep=action == "build")
    if action == "picture":
        from motionloom.plots.error_function import write_error_function

        assert output is not None
        two = _pair(pair)
        write_error_function(made, output, names=two, distance=_distance(settings or _last(lib)))
        remark(f"drawn to {output}")
    elif action == "export":
        assert output is not None
        _export(made, output)
    if json:
        print_json({**made.info(), **({"file": str(output)} if output else {})})
    elif action in ("build", "info", *_EDITS):
        _print_info(made)


def walk(
    library: Annotated[Path, LIB],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Any format that can be written; .bvh streams.")
    ],
    seconds: Annotated[float | None, typer.Option(help="How long.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed makes another walk.")] = 0,
    path: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Walk along x, z rows of a CSV file.")
    ] = None,
    goal: Annotated[
        str | None, typer.Option(metavar="X,Z[,DEGREES]", help="Where to be at the end.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL[:SECONDS]", help="What to do, one after the other."),
    ] = None,
    start: Annotated[str | None, typer.Option(metavar="NAME:FRAME", help="First pose.")] = None,
    end: Annotated[str | None, typer.Option(metavar="NAME:FRAME", help="Last pose.")] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the transitions taken, as CSV.")
    ] = None,
    distance: Annotated[str | None, _DISTANCE] = None,
    method: Annotated[str | None, _METHOD] = None,
    threshold: Annotated[float | None, _THRESHOLD] = None,
    per_minute: Annotated[float | None, _PER_MINUTE] = None,
    blend: Annotated[float | None, _BLEND] = None,
    within: Annotated[list[str] | None, WITHIN] = None,
    only: Annotated[str | None, ONLY] = None,
    without: Annotated[str | None, WITHOUT] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Make new motion from a library's motion graph.

    At random, or along a path, to a place, as labels say, from pose to pose. Without options
    of the graph it is the one built last.
    """
    from motionloom.formats import writer_options

    writer_options(output)  # complains before the work
    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise InvalidInput(f"--seconds must be more than nothing; got {seconds:g}")
    lib = open_library(library)
    settings = _settings(
        distance, method, threshold, per_minute, blend, within, only, without, False, None
    )
    made = library_graph(lib, settings, keep=False)
    wishes = {
        "start": start,
        "end": end,
        "path": None if path is None else _path(path),
        "goal": None if goal is None else _goal(goal),
        "labels": _timeline(label, seconds),
    }
    free = not any(wishes[name] is not None for name in ("end", "path", "goal", "labels"))
    if free and seconds is None:
        raise InvalidInput("say how long: --seconds 60")
    result = _walked(made, seconds, seed, wishes, output, log, free, quiet=json)
    if json:
        print_json(result)
        return
    quality = result["quality"]
    remark(f"{result['frames']} frames at {result['fps']:g} fps written to {output}")
    remark(
        f"feet slide {100 * quality['foot_slide_m']:.1f} cm per contact; "
        f"{result['transitions']} transitions"
    )


def library_graph(lib: Library, settings: dict[str, Any] | None, *, keep: bool) -> MotionGraph:
    """The graph with these settings; without any, the one built last, or that of all motions."""
    from motionloom.synthesis.motiongraph.store import remember

    chosen = settings if settings is not None else _last(lib)
    options = {name: value for name, value in chosen.items() if name != "weights"}
    pairs = len(lib) * (len(lib) + 1) // 2
    with progress("pairs of motions", pairs) as advance:
        made = lib.motion_graph(**{**options, "distance": _distance(chosen), "progress": advance})
    if keep:
        remember(lib, chosen)
    return made


def _last(lib: Library) -> dict[str, Any]:
    from motionloom.synthesis.motiongraph.store import remembered

    return remembered(lib) or {}


def _settings(
    distance, method, threshold, per_minute, blend, within, only, without, any_footing, weights
) -> dict[str, Any] | None:
    """What was said about the graph; None if nothing was."""
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
    return said or None


def _distance(settings: dict[str, Any]):
    name, weights = settings.get("distance", "jrd"), settings.get("weights")
    if weights is None:
        return name
    from motionloom.distance.joint_weights import load_weights

    if name != "jrd":
        raise InvalidInput(f"--weights are those of jrd; got the distance {name}")
    return load_weights(weights)


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
    from motionloom.synthesis.motiongraph.mogra import write_mogra
    from motionloom.whole_file import whole_file

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
            "move": transitions.moves[k].tolist(),
        }
        for k in range(len(made))
    ]
    with whole_file(output) as scratch:
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
        remark(f"and {len(counted) - _PAIRS_SHOWN} pairs more")


def _walked(made, seconds, seed, wishes, output: Path, log, free: bool, *, quiet: bool):
    from motionloom.blend.player import frame_count
    from motionloom.synthesis.motiongraph.player import GraphPlayer
    from motionloom.synthesis.motiongraph.routes import plan
    from motionloom.synthesis.motiongraph.streaming import write_walk

    if free:
        player = made.player(seed, start=wishes["start"])
        frames = frame_count(seconds, None, made.fps)
    else:
        route = plan(made, seconds, seed, **wishes)
        player, frames = GraphPlayer(made, seed, route=route), route.frames
    if output.suffix.lower() == ".bvh":
        with progress("walking", frames, quiet=quiet) as advance:
            written = write_walk(player, output, frames, progress=advance)
        quality, sources = written.quality, written.sources
    else:
        motion = player.record(frames=frames, name=output.stem)
        motion.save(output)
        quality = made.quality(motion)
        sources = () if motion.provenance is None else motion.provenance.sources
    if log is not None:
        _write_log(player.log, log)
    return {
        "file": str(output),
        "frames": frames,
        "fps": made.fps,
        "quality": dict(quality.__dict__),
        "sources": [source.as_dict() for source in sources],
        "transitions": int(player.taken),
    }


def _write_log(rows, path: Path) -> None:
    from motionloom.whole_file import whole_file

    with whole_file(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["frame", "source", "source_frame", "target", "target_frame", "error"])
        out.writerows(row.as_dict().values() for row in rows)


def _path(file: Path) -> list[tuple[float, float]]:
    """Rows of x and z; a head line and further columns are passed over."""
    rows: list[tuple[float, float]] = []
    with file.open(newline="", encoding="utf-8") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            if not row:
                continue
            try:
                rows.append((float(row[0]), float(row[1])))
            except (ValueError, IndexError):
                if number == 1:
                    continue
                raise MotionFormatError(
                    f"expected x, z in metres; got {','.join(row)[:40]!r}", path=file, line=number
                ) from None
    return rows


def _goal(text: str) -> tuple[float, ...]:
    from math import radians

    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in (2, 3):
        raise InvalidInput(f"--goal must be X,Z or X,Z,DEGREES; got {text}")
    return (values[0], values[1], *(radians(value) for value in values[2:]))


def _timeline(texts: list[str] | None, seconds: float | None) -> list[tuple[str, float]] | None:
    if not texts:
        return None
    found = []
    for text in texts:
        name, colon, length = text.rpartition(":")
        if not colon:
            if len(texts) > 1 or seconds is None:
                raise InvalidInput(f"--label must be LABEL:SECONDS; got {text}")
            name, length = text, str(seconds)
        try:
            found.append((name, float(length.removesuffix("s"))))
        except ValueError:
            raise InvalidInput(f"--label must be LABEL:SECONDS; got {text}") from None
    return found


def _edit(lib: Library, action: str, texts: list[str] | None) -> None:
    from motionloom.synthesis.motiongraph.edits import Spot, edit

    spots = [Spot.of(text) for text in texts or []]
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
    if not frame.isdigit():
        raise MotionFormatError(f"expected NAME:FRAME; got {text!r}", path=file, line=line)
    motion = lib[name]
    if int(frame) >= len(motion):
        raise MotionFormatError(
            f"{name} has {len(motion)} frames; got frame {frame}", path=file, line=line
        )
    return motion[int(frame)]
