"""``motionloom find`` and ``motionloom label``: motions by name and label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from motionloom.cli.options import JSON, LIB, open_library
from motionloom.cli.terminal import counted, print_json, remark


def find(
    library: Annotated[Path, LIB],
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="Words to look for.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """List the motions whose name or labels contain all of the words."""
    lib = open_library(library)
    names = lib.find(" ".join(words))
    if json:
        print_json([{"motion": name, "labels": list(lib.labels(name))} for name in names])
        return
    for name in names:
        print("  ".join([name, *lib.labels(name)]))
    remark(f"{counted(len(names), 'motion')} of {len(lib)}")


def label(
    library: Annotated[Path, LIB],
    motion: Annotated[str, typer.Argument(metavar="MOTION", help="Name of a motion.")],
    labels: Annotated[
        list[str] | None, typer.Argument(metavar="[LABEL]...", help="Labels to add.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the labels instead of adding them.")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Add labels to a motion of a library, or remove them; without labels, print those it has."""
    lib = open_library(library)
    name = lib.entry(motion).name
    if labels:
        kept = [each for each in lib.labels(name) if each not in labels]
        lib.set_labels(name, kept if remove else [*kept, *labels])
    if json:
        print_json({"motion": name, "labels": list(lib.labels(name))})
    else:
        print("  ".join([name, *lib.labels(name)]))
