"""``motionloom web``: all potentially similar stretches of a library, found beforehand."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput


def web(
    library: Annotated[Path, typer.Argument(metavar="LIB", help="The library.")],
    what: Annotated[list[str], typer.Argument(metavar="build", help="What to do.")],
    within: Annotated[
        list[str] | None,
        typer.Option(help="Only pairs of motions with this label. May be repeated."),
    ] = None,
    distance: Annotated[str, typer.Option(help="What frames are compared by.")] = "pc11",
    workers: Annotated[
        int | None, typer.Option(help="Processes to use. Default: one per core.", min=1)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Build the match webs of a library.

    Each pair of motions is compared once and what may be alike is kept with the library, for
    searches at the speed of a slider. Pairs that are there already are not built again: run
    the same command to go on after an interruption, or when motions have been added.
    """
    if what != ["build"]:
        raise InvalidInput(f"web takes the word build; got {' '.join(what)!r}")
    from motionloom.loom import Library
    from motionloom.search.web_store import WebStore

    store = WebStore(Library(library), distance)
    with progress("pairs", store.missing(within=within), quiet=json) as advance:
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
