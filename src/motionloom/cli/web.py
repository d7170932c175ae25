"""``motionloom web``: all potentially similar stretches of a library, found beforehand."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motionloom.cli.options import JSON, LIB, WITHIN, WORKERS, check_picture, open_library
from motionloom.cli.terminal import counted, print_json, progress, remark, spelt_seconds
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.library import Library
    from motionloom.search.match_web.web_store import LeftToBuild

_WORTH_TELLING = 5.0  # seconds; for less, nobody asks how long


def web(
    library: Annotated[Path, LIB],
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="build | A B", help="Build all webs; or draw that of two motions, with -o."
        ),
    ],
    within: Annotated[list[str] | None, WITHIN] = None,
    distance: Annotated[str, typer.Option(help="What frames are compared by.")] = "pc11",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to draw (.png, .svg, .pdf)."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(metavar="START-END", help="Draw what these frames of A find in B, too."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="For --query: no matches beyond so many metres per cell.")
    ] = 0.08,
    workers: Annotated[int | None, WORKERS] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build the match webs of a library, or draw that of two motions.

    Each pair of motions is compared once and what may be alike is kept with the library, for
    searches at the speed of a slider. Pairs that are there already are not built again: run
    the same command to go on after an interruption, or when motions have been added.
    """
    from motionloom.search.match_web.web_store import WebStore

    if len(what) == 2:
        _draw(open_library(library), what[0], what[1], distance, output, query, threshold, json)
        return
    if what != ["build"]:
        raise InvalidInput(
            f"web takes the word build, or the names of two motions; got {' '.join(what)!r}"
        )
    if output is not None or query is not None:
        raise InvalidInput(
            "--output and --query are for the web of two motions: web LIB A B -o FILE"
        )
    store = WebStore(open_library(library), distance)
    left = store.left_to_build(within=within)
    if not json:
        _tell_work(left, workers)
    with progress("pairs", left.pairs, quiet=json) as advance:
        report = store.build(within=within, workers=workers, progress=advance)
    if json:
        print_json(asdict(report))
        return
    for name, reason in report.left_out.items():
        remark(f"{name} was left out: {reason}")
    print(
        f"{report.motions} motions, {report.pairs} pairs, {report.built} of them built in "
        f"{report.seconds:.1f} s; {report.bytes / 1e6:.1f} MB"
    )


def _tell_work(left: LeftToBuild, workers: int | None) -> None:
    from motionloom.parallel import available_workers

    cores = min(available_workers(), workers or left.pairs)
    seconds = left.core_seconds / max(1, cores)
    if seconds > _WORTH_TELLING:
        remark(
            f"{counted(left.pairs, 'pair')} to compare: about {spelt_seconds(seconds)} on "
            f"{counted(cores, 'core')}; stop when you like, the same command goes on"
        )


def _draw(
    lib: Library,
    a: str,
    b: str,
    distance: str,
    output: Path | None,
    query: str | None,
    threshold: float,
    json: bool,
) -> None:
    from motionloom.plots.distance_matrix import write_match_web
    from motionloom.search.match_web.library_web import web_pair
    from motionloom.search.query import as_query

    if output is None:
        raise InvalidInput("say where to draw the web of two motions: -o web.png")
    check_picture(output)
    pair = web_pair(lib, a, b, distance=distance)
    rate = pair.web.rate
    rows, found = None, []
    if query is not None:
        asked = as_query(lib, f"{a}:{query}")
        rows = asked.row_span(rate, len(pair.matrix))
        found = pair.search(*rows, threshold=threshold)
    write_match_web(
        pair.matrix, pair.web, output, names=(a, b), query=rows, found=found, alpha=pair.alpha
    )
    if json:
        matches = [
            {"start": one.start / rate, "end": one.end / rate, "distance": one.distance}
            for one in found
        ]
        print_json(
            {
                "file": str(output),
                "chains": pair.web.chain_count,
                "bridges": pair.web.bridge_count,
                "cells": len(pair.web.cells),
                "matches": matches,
            }
        )
    else:
        remark(f"{pair.web!r} drawn to {output}")
