"""``motionloom web``: match webs for all pairs of motions, for interactive searches."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, LIB, WORKERS, check_picture, open_library
from motionloom.cli.terminal import counted, print_json, progress, remark, spelled_seconds
from motionloom.cli.tools.cluster import on_clusters
from motionloom.errors import InvalidInput
from motionloom.search.settings import FAMILY_DISTANCE, WebSettings

if TYPE_CHECKING:
    from motionloom.library import LeftToBuild, Library

_WORTH_TELLING = 5.0  # seconds; no estimate is printed for shorter builds


@on_clusters
def web(
    library: Annotated[Path, LIB],
    what: Annotated[
        list[str],
        Argument("Build all webs, or draw the web of two motions with -o.", metavar="build | A B"),
    ],
    settings: WebSettings,
    *,
    output: Annotated[
        Path | None,
        Option("Picture (.png, .svg, .pdf).", "-o --output", metavar="FILE", check=check_picture),
    ] = None,
    query: Annotated[
        str | None,
        Option("Also draw the matches in B for these frames of A.", metavar="START-END"),
    ] = None,
    max_distance: Annotated[
        float,
        Option("With --query: maximum mean distance per cell of a match, in meters."),
    ] = FAMILY_DISTANCE,
    workers: Annotated[int | None, WORKERS] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Build the match webs for a library, or draw the web for two motions.

    Each pair of motions is compared once, and the web of their similar segments is stored in the
    library, so that searches become interactive. Existing webs are skipped: run the same command to
    continue after an interruption, or after adding motions.
    """
    if len(what) == 2:
        _draw(open_library(library), what[0], what[1], settings, output, query, max_distance, json)
        return
    if what != ["build"]:
        raise InvalidInput(
            f"web expects the word build or the names of two motions; got {' '.join(what)!r}"
        )
    if output is not None or query is not None:
        raise InvalidInput(
            "--output and --query are for the web of two motions: web LIB A B -o FILE"
        )
    lib = open_library(library)
    left = lib.webs.missing(settings)
    if not json:
        _announce(left, workers)
    with progress("pairs", left.pairs, quiet=json) as advance:
        report = lib.webs.build(settings, workers=workers, progress=advance)
    if json:
        print_json(asdict(report))
        return
    for name, reason in report.left_out.items():
        remark(f"skipped {name}: {reason}")
    print(
        f"{report.motions} motions, {report.pairs} pairs, {report.built} of them built in "
        f"{report.seconds:.1f} s; {report.bytes / 1e6:.1f} MB"
    )


def _announce(left: LeftToBuild, workers: int | None) -> None:
    from motionloom.parallel import available_workers

    cores = min(available_workers(), workers or left.pairs)
    seconds = left.core_seconds / max(1, cores)
    if seconds > _WORTH_TELLING:
        remark(
            f"{counted(left.pairs, 'pair')} to compare: about {spelled_seconds(seconds)} on "
            f"{counted(cores, 'core')}; after an interruption, run the same command to continue"
        )


def _draw(
    lib: Library,
    a: str,
    b: str,
    settings: WebSettings,
    output: Path | None,
    query: str | None,
    max_distance: float,
    json: bool,
) -> None:
    from motionloom.plots.distance_matrix import write_match_web

    if output is None:
        raise InvalidInput("a picture of two motions needs an output file, such as -o web.png")
    pair = lib.compare(a, b, settings.web)
    web, rows, sequences = pair.web(), None, []
    if query is not None:
        part = lib.compare(f"{a}:{query}", b, settings.web)
        rows, sequences = part.rows, part.sequences(web, max_distance=max_distance)
    write_match_web(
        pair.matrix(), web, output, names=(a, b), query=rows, matches=sequences, alpha=pair.alpha
    )
    if json:
        matches = [
            {"start": each.start / web.rate, "end": each.end / web.rate, "distance": each.distance}
            for each in sequences
        ]
        print_json(
            {
                "file": str(output),
                "chains": web.chain_count,
                "bridges": web.bridge_count,
                "cells": len(web.cells),
                "matches": matches,
            }
        )
    else:
        remark(f"saved a picture of {web!r} to {output}")
