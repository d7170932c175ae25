"""``motionloom undo``, ``verify`` and ``trust``: undo, integrity checks, and trusted code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from click.exceptions import Exit

from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, LIB, open_library
from motionloom.cli.terminal import counted, print_json, remark
from motionloom.configuration import FILE, trust_settings
from motionloom.errors import InvalidInput


def undo(
    library: Annotated[Path, LIB],
    redo: Annotated[bool, Option("Redo the change that was undone last.", "--redo")] = False,
    listed: Annotated[
        bool,
        Option(
            "List the changes that can be undone or redone, without changing anything.", "--list"
        ),
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Undo the latest change to a library: an import, labels, removed or renamed takes, beats.

    Run it again to undo the change before that. The latest 100 changes can be undone, including
    those made in the studio or in Python, until the trash of the library is emptied.
    """
    lib = open_library(library)
    if not listed:
        change = lib.redo() if redo else lib.undo()
        if json:
            print_json({"what": change.what, "names": list(change.names), "undone": change.undone})
        else:
            remark(f"{'redone' if redo else 'undone'}   {change}")
        return
    changes = lib.history()
    if json:
        print_json(
            [
                {"what": change.what, "names": list(change.names), "undone": change.undone}
                for change in changes
            ]
        )
    for change in () if json else changes:
        print(f"{'redo' if change.undone else 'undo'}  {change}")


def verify(
    library: Annotated[Path, LIB],
    repair: Annotated[
        bool,
        Option("Repair what can be repaired, and move unusable files to LIB/trash.", "--repair"),
    ] = False,
    empty_trash: Annotated[
        bool, Option("Delete the contents of LIB/trash afterwards.", "--empty-trash")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Read a whole library and compare it with its checksums.

    Prints one line per problem with a remedy. The exit code is 1 if problems remain.
    """
    from motionloom.library import Library

    recovered = Library.recover(library) if repair else 0
    lib = Library(library)
    report = lib.verify(repair=repair)
    repaired = list(report.repaired)
    if recovered:
        lost = "its labels are lost"
        repaired.insert(
            0, f"the catalogue was rebuilt: {counted(recovered, 'motion')} listed; {lost}"
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
        raise Exit(1)


def trust(
    place: Annotated[
        Path,
        Argument(
            f"A folder with a {FILE}, or a library that refers to an object store, functions or "
            f"characters.",
            metavar="FOLDER|LIB",
        ),
    ] = Path(),
    json: Annotated[bool, JSON] = False,
) -> None:
    """Trust the settings of a folder, or everything a library refers to outside its folder.

    A folder's motionloom.toml can name a cluster, which can run any code on this machine. A library
    can refer to an object store, to functions of parametric motions and to character files. All of
    these are ignored or refused until you trust them, and again after every change.
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
