"""Command help: the most common options on one screen, and all options on request.

``motionloom search --help`` shows the most common options, ``--method lazy --help`` adds the
options of a method, and ``--help-all`` shows all options by group and method.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

import click

from motionloom.settings import name_of

if TYPE_CHECKING:
    from motionloom.cli.command import Command, Row

WIDTH = 80
_COLUMN = 27  # maximum column where descriptions begin
_LEAST, _LONG = (
    40,
    104,
)  # length from which the short help cuts a sentence, and minimum length of the rest


def command_help(
    command: Command, path: str, chosen: Mapping[str, str | None], *, complete: bool
) -> str:
    """Return the help text of a command.

    Parameters
    ----------
    path : str
        The command as entered on the command line.
    chosen : mapping
        For each option that selects a method, the method given on the command line, or None.
    complete : bool
        Show all options.
    """
    arguments = [row for row in command.rows if isinstance(row.parameter, click.Argument)]
    options = [row for row in command.rows if isinstance(row.parameter, click.Option)]
    words = [path, "[OPTIONS]", *(_word(row.parameter) for row in arguments)]
    parts = [_wrapped(f"Usage: {' '.join(words)}", "", " " * 8)]
    parts += [_wrapped(text, "  ", "  ") for text in _paragraphs(command.help or "", complete)]
    if arguments:
        parts.append(_columns([(str(row.parameter.metavar), row.help) for row in arguments]))
    sections: dict[str, list[tuple[str, str]]] = {"Options": []}
    for row in options:
        heading = (complete and row.section) or "Options"
        if row.method is not None:
            if not complete and chosen.get(row.method[0]) != row.method[1]:
                continue
            heading = f"With {' '.join(row.method)}"
        elif not (complete or row.short):
            continue
        sections.setdefault(heading, []).append((_names(row), _sentence(row, complete)))
    more = [] if complete else _more(options)
    sections |= {"More help": more} if more else {}
    parts += [f"{heading}:\n{_columns(rows)}" for heading, rows in sections.items() if rows]
    return "\n\n".join(parts)


def _more(options: Iterable[Row]) -> list[tuple[str, str]]:
    """Return help rows that explain how to list the remaining options."""
    methods: dict[str, dict[str, None]] = {}
    shown = {name for row in options if row.short for name in row.parameter.opts}
    for row in options:
        if row.method and row.method[0] in shown:
            methods.setdefault(row.method[0], {})[row.method[1]] = None
    rows = [
        (f"{option} NAME --help", f"Also show the options of {', '.join(names)}.")
        for option, names in methods.items()
    ]
    hidden = any(not row.short for row in options)
    return [*rows, ("--help-all", "Show every option.")] if hidden else rows


def _paragraphs(text: str, complete: bool) -> list[str]:
    """Return the paragraphs of a docstring; the short help shows the first two."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return paragraphs if complete else paragraphs[:2]


def _word(argument: click.Parameter) -> str:
    """Return an argument as shown in the usage line."""
    return str(argument.metavar) if argument.required else f"[{argument.metavar}]"


def _names(row: Row) -> str:
    """Return the names of an option and its placeholder."""
    option = row.parameter
    names = ", ".join(sorted(option.opts, key=len))
    if getattr(option, "is_flag", False):
        return names if row.default is False else f"{names}/{option.secondary_opts[0]}"
    return f"{names} {option.metavar}"


def _sentence(row: Row, complete: bool) -> str:
    """Return the help text of an option and its default, shortened in the short help."""
    sentence, _, given = row.help.partition(" [")
    if not complete:
        sentence = re.split(r"(?<=\.) (?=[A-Z])", sentence)[0]
        if len(sentence) > _LONG:
            sentence = _cut(sentence)
    default = "required" if row.parameter.required else given.rstrip("]") or _shown(row.default)
    return f"{sentence} [{default}]" if default else sentence


def _cut(sentence: str) -> str:
    """Return the first clause of a long sentence if it makes sense alone."""
    for separators in (":;", ":;,"):
        ends = [separator.start() for separator in re.finditer(f"[{separators}] ", sentence)]
        worth = [end for end in ends if _LEAST <= end <= _LONG]
        if worth:
            return f"{sentence[: worth[0]]}."
    return sentence


def _shown(value: Any) -> str:
    """Format a default for the help; empty for None, False and empty values."""
    if value is None or value is False or value == ():
        return ""
    if value is True:
        return "on"
    if isinstance(value, tuple):
        return ",".join(_shown(each) or "0" for each in value)
    if name_of(value):
        return name_of(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _columns(rows: list[tuple[str, str]]) -> str:
    """Format rows of a name and a sentence; a long name gets a separate line."""
    width = 2 + max((len(name) for name, _ in rows if len(name) <= _COLUMN - 4), default=0) + 2
    lines = []
    for name, text in rows:
        begin = f"  {name}".ljust(width)
        if len(name) + 4 > width or not text:
            lines.append(begin.rstrip())
            begin = " " * width
        if text:
            lines.append(_wrapped(text, begin, " " * width))
    return "\n".join(lines)


def _wrapped(text: str, first: str, later: str) -> str:
    wrapper = TextWrapper(
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return wrapper.fill(text)
