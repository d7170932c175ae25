"""``motionloom verify`` and ``motionloom trust``: what a library holds, and whom it may ask."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from motionloom.cli.options import JSON, LIB
from motionloom.cli.terminal import counted, print_json, remark
from motionloom.configuration import FILE, trust_settings
from motionloom.errors import InvalidInput


def verify(
    library: Annotated[Path, LIB],
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Mend what can be mended; what is of no use goes to LIB/trash."
        ),
    ] = False,
    empty_trash: Annotated[
        bool, typer.Option("--empty-trash", help="Then delete what is in LIB/trash.")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Read all of a library and compare it with its checksums.

    Prints one line for each problem, and what to do about it. The exit code is 1 if problems
    remain.
    """
    from motionloom.library import Library

    recovered = Library.recover(library) if repair else 0
    lib = Library(library)
    report = lib.verify(repair=repair)
    repaired = list(report.repaired)
    if recovered:
        lost = "labels were in it, and are lost"
        repaired.insert(
            0, f"the catalogue was made again: {counted(recovered, 'motion')} listed; {lost}"
        )
    deleted = lib.store.empty_trash() if empty_trash else 0
    if json:
        print_json(
            {
                "motions": report.motions,
                "artifacts": report.artifacts,
                "problems": list(report.problems),
                "repaired": repaired,
                "notes": list(report.notes),
                "deleted": deleted,
            }
        )
    else:
        for head, lines in (
            ("problem", report.problems), ("repaired", repaired), ("note", report.notes)
        ):  # fmt: skip
            for line in lines:
                remark(f"{head:<9}{line}")
        if deleted:
            remark(f"deleted  {counted(deleted, 'file')} from the trash")
        state = f"{counted(len(report.problems), 'problem')}" if report.problems else "no problems"
        read = f"{counted(report.motions, 'motion')}, {counted(report.artifacts, 'artifact')}"
        remark(f"library  {library}: {read}: {state}")
    if report.problems:
        raise typer.Exit(1)


def trust(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER|LIB",
            help=f"A folder with a {FILE}, or a library that names an object store, functions "
            "or characters.",
        ),
    ] = Path(),
    json: Annotated[bool, JSON] = False,
) -> None:
    """Trust the settings of a folder, or what a library names outside of its folder.

    A folder's motionloom.toml can name a cluster, which may run any code here; a library can name
    an object store, functions of parametric motions and files of characters. They are ignored or
    refused until they are trusted, and after every change.
    """
    from motionloom.library import is_library, trust_library

    if is_library(place):
        what, value = "addresses, functions and characters", "\n".join(trust_library(place))
    elif (place / FILE).exists():
        what, value = "settings", trust_settings(place / FILE)
    else:
        raise InvalidInput(f"{place}: neither a library nor a folder with a {FILE}")
    if json:
        print_json({"trusted": what, "value": value})
    else:
        remark(f"trusted  the {what} of {place}:")
        for line in value.splitlines():
            remark(f"         {line}")
