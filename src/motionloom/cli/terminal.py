"""What commands share: JSON on standard output, progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Advance(Protocol):
    """Call it with the number of steps done."""

    def __call__(self, steps: int = 1) -> None:  # noqa: D102
        ...


def print_json(value: Any) -> None:
    """One JSON document on standard output; NaN and infinity become null."""
    print(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def remark(text: str) -> None:
    """A line for people, on standard error, so that standard output stays data."""
    print(text, file=sys.stderr)


def counted(number: int, one: str, many: str | None = None) -> str:
    """So many things, in words.

    Examples
    --------
    >>> counted(1, "match", "matches"), counted(2, "match", "matches"), counted(0, "clip")
    ('1 match', '2 matches', '0 clips')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


@contextmanager
def progress(what: str, total: int, *, quiet: bool = False) -> Iterator[Advance]:
    """A progress bar on standard error; yields a function that moves it on."""
    if quiet or not sys.stderr.isatty():
        yield lambda steps=1: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps=1: bar.advance(task, steps)


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays to Python's own; non-finite numbers to None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
