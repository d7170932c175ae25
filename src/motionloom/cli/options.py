"""Arguments and options that several commands share, and how they are read.

An option means the same wherever it appears; defaults that Typer cannot show stand in brackets.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

import typer

from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.library import Library

LIB = typer.Argument(metavar="LIB", help="The library.")
WITHIN = typer.Option(metavar="LABEL", help="Only motions with this label. May be repeated.")
ONLY = typer.Option(metavar="TAKE,...", help="Only these motions.")
WITHOUT = typer.Option(metavar="TAKE,...", help="Not these motions.")
JSON = typer.Option("--json", help="Machine-readable output.")
WORKERS = typer.Option(help="Processes to use. [one per core]", min=1)

PICTURES = (".png", ".svg", ".pdf")


def open_library(path: Path) -> Library:
    """The library at a path; imported here, for a command's help needs none."""
    from motionloom.library import Library

    return Library(path)


@overload
def listed(text: str) -> list[str]: ...
@overload
def listed(text: None) -> None: ...
def listed(text: str | None) -> list[str] | None:
    """Names of ``TAKE,TAKE,...``; None if nothing was said."""
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]


def check_picture(path: Path) -> None:
    """Complain about a name that no picture can have, before the work."""
    if path.suffix.lower() not in PICTURES:
        known = ", ".join(PICTURES)
        raise InvalidInput(f"cannot draw to {path}: the suffix must be one of {known}")
