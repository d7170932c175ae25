"""Command output: data on standard output, progress and remarks on standard error."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TextIO

if TYPE_CHECKING:
    from pathlib import Path

    from motionloom.motion import Motion
    from motionloom.motion.diagnostics.quality import QualityReport

_FIRST_LINE_SECONDS = 10.0
_LINE_SECONDS = 300.0
_SHORT = 14  # maximum length of table cells that are not folded, such as numbers


class Advance(Protocol):
    """Function to call with the number of completed steps."""

    def __call__(self, steps: int = 1) -> None:  # noqa: D102
        ...


def print_json(value: Any) -> None:
    """Print one JSON document on standard output; NaN and infinity become null."""
    print(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


_STYLES = {"bold": "1", "dim": "2", "green": "32"}
# Marks color codes of `styled` until they are written: those in names of motions lack it.
_OWN = 1_000_000 + secrets.randbelow(1_000_000_000)


def styled(text: str, style: str) -> str:
    """Style text as bold, dim or green on a terminal, unless NO_COLOR is set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_OWN};{_STYLES[style]}m{text}\x1b[{_OWN};0m"


def print_table(table: Any) -> None:
    """Print a Rich table on standard output. Long cells are folded, never cut off.

    If standard output is not a terminal, rows are as wide as necessary.
    """
    from rich.console import Console

    stream = sys.stdout
    if isinstance(stream, PlainOutput):  # Rich writes color codes; the cells must have none
        stream = stream.stream
    if isinstance(table.title, str):
        table.title = plain_text(table.title)
    for column in table.columns:
        column._cells = [
            plain_text(cell) if isinstance(cell, str) else cell for cell in column.cells
        ]
        column.overflow = "fold"
        column.no_wrap = max((len(str(cell)) for cell in column.cells), default=0) <= _SHORT
    console = Console(file=stream)
    if not console.is_terminal:
        console = Console(file=stream, width=max(Console(width=10_000).measure(table).maximum, 80))
    console.print(table)


def print_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> None:
    """Print a table without lines on standard output; columns in `right` are right-aligned.

    This avoids Rich, which takes longer to import than it takes to read a small file.
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            " " * (width - _width(cell)) + cell
            if column in right
            else cell + " " * (width - _width(cell))
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def _width(text: str) -> int:
    """Return the width of a string on a terminal; color codes have no width."""
    return len(re.sub(r"\x1b\[\d+m", "", plain_text(text)))


def remark(text: str) -> None:
    """Print a remark on standard error, so that standard output contains only data."""
    print(plain_text(text), file=sys.stderr)


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return the end of an error message that suggests similar words, if there are any.

    Examples
    --------
    >>> did_you_mean("wlak.bvh", ["walk.bvh", "kick.bvh"])
    '; did you mean walk.bvh?'
    """
    import difflib

    near = difflib.get_close_matches(word, list(words), n=3, cutoff=0.7)
    return f"; did you mean {', '.join(near)}?" if near else ""


def plain_text(text: str) -> str:
    """Escape control characters, which a terminal would interpret, except for styles of `styled`.

    Names of files and motions may contain such characters.

    Examples
    --------
    >>> len(plain_text("walk" + chr(27) + "]0;title" + chr(7)))
    20
    """
    return _CONTROL.sub(lambda match: f"\x1b[{match[1]}m" if match[1] else _escaped(match[0]), text)


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"


class PlainOutput:
    """A text stream that writes control characters as escapes.

    Parameters
    ----------
    stream : TextIO
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a string with control characters escaped."""
        self.stream.write(plain_text(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several strings with control characters escaped."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


_CONTROL = re.compile(
    f"\x1b\\[{_OWN};(\\d+)m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)


def print_quality(
    report: QualityReport | None, *, details: bool = False, seed: bool = True
) -> None:
    """Print the quality report of a synthesized motion: a summary and one line per warning.

    With `details`, print every measurement on additional lines. Without `seed`, the advice does not
    mention seeds, because the command makes no random choices.
    """
    if report is None:
        return
    remark(f"quality: {report.line()}")
    for text in report.details() if details else ():
        remark(f"  {text}")
    for warning in report.warnings:
        remark(f"warning: {warning if seed else _without_seed(warning)}")


def _without_seed(advice: str) -> str:
    """Return advice without the suggestion to try another seed.

    Examples
    --------
    >>> _without_seed("try a longer blend, more takes, or another seed")
    'try a longer blend or more takes'
    >>> _without_seed("try another seed, or exclude the take")
    'exclude the take'
    """
    advice = advice.replace(", more takes, or another seed", " or more takes")
    advice = advice.replace("try another seed, or exclude", "exclude")
    return advice.replace("another seed, or ", "").replace("another seed or target, or ", "")


def draw_worst(motions: Sequence[Motion], file: Path | None) -> None:
    """Draw the worst second of the motion that exceeds its quality limits the most."""
    if file is None:
        return
    from motionloom.plots.figures.filmstrip import write_worst_second

    measured = [motion for motion in motions if motion.quality and motion.quality.worst]
    worst = max(measured, key=_severity, default=motions[0])
    remark(f"worst second drawn to {write_worst_second(worst, file)}")


def _severity(motion: Motion) -> float:
    return motion.quality.worst[0].severity if motion.quality is not None else 0.0


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Format a count with its noun.

    Examples
    --------
    >>> counted(1, "match", "matches"), counted(2, "match", "matches"), counted(0, "clip")
    ('1 match', '2 matches', '0 clips')
    """
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


@contextmanager
def progress(what: str, total: int, *, quiet: bool = False) -> Iterator[Advance]:
    """Show a progress bar on standard error; yield a function that advances it.

    If standard error is a file or a pipe, print occasional lines instead: the first after ten
    seconds, then at doubling intervals of up to five minutes.
    """
    if quiet:
        yield lambda steps=1: None
        return
    if not sys.stderr.isatty():
        yield _Lines(what, total)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TimeRemainingColumn,
    )

    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps=1: bar.advance(task, steps)


class _Lines:
    """Progress as a few lines in a log, each with an estimate of the remaining time."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self.begun = time.monotonic()
        self.due = _FIRST_LINE_SECONDS
        self.first: tuple[float, int] | None = None  # time after the first steps, and their number

    def __call__(self, steps: int = 1) -> None:
        self.done += steps
        passed = time.monotonic() - self.begun
        if (
            self.first is None
        ):  # the first steps include start-up and compilation; later ones do not
            self.first = (passed, self.done)
        if passed < self.due or self.done <= 0:
            return
        self.due = passed + min(passed, _LINE_SECONDS)
        share = f" ({100 * self.done // self.total} %)" if 0 < self.done <= self.total else ""
        text = f"{self.what}: {self.done} of {self.total}{share}, {spelled_seconds(passed)} so far"
        since, already = self.first
        if already < self.done < self.total:
            pace = (passed - since) / (self.done - already)
            text += f", about {spelled_seconds(pace * (self.total - self.done))} left"
        remark(text)
        sys.stderr.flush()


def spelled_seconds(seconds: float) -> str:
    """Format a duration with sensible precision.

    Examples
    --------
    >>> [spelled_seconds(s) for s in (0.4, 42, 95, 660, 4000, 100_000)]
    ['1 s', '42 s', '1 min 35 s', '11 min', '1 h 7 min', '28 h']
    """
    whole = max(1, round(seconds))
    minutes, hours = round(whole / 60), whole / 3600
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    if minutes < 60:
        return f"{minutes} min"
    if hours < 10:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{hours:.0f} h"


def _plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays to Python objects, and non-finite numbers to None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
