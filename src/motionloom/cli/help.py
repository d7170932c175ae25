"""The help of commands: what most people need on one screen, everything on request.

``motionloom search --help`` has the usual options, ``--method lazy --help`` adds those of a method,
and ``--help-all`` shows all, by group and method.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from motionloom.settings import name_of

if TYPE_CHECKING:
    from motionloom.cli.command import Command, Row

WIDTH = 80
_COLUMN = 27  # where the sentences begin, at most


def command_help(
    command: Command, ctx: click.Context, chosen: Mapping[str, str | None], *, complete: bool
) -> str:
    """The help of a command.

    Parameters
    ----------
    chosen : mapping
        The method that was typed for each option that chooses one; None for none.
    complete : bool
        Whether all options are shown.
    """
    formatter = click.HelpFormatter(width=WIDTH)
    formatter.write_usage(ctx.command_path, " ".join(command.collect_usage_pieces(ctx)))
    for paragraph in _paragraphs(command.help or "", complete):
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(paragraph)
    arguments = [row for row in command.rows if isinstance(row.parameter, click.Argument)]
    options = [row for row in command.rows if isinstance(row.parameter, click.Option)]
    if arguments:
        formatter.write_paragraph()
        with formatter.indentation():
            rows = [(str(row.parameter.metavar), row.help) for row in arguments]
            formatter.write_dl(rows, col_max=_COLUMN)
    plain = [row for row in options if row.method is None]
    sections: dict[str, list[Row]] = {}
    for row in plain:
        if complete or row.short:
            sections.setdefault((complete and row.section) or "Options", []).append(row)
    for row in options:
        if row.method and (complete or chosen.get(row.method[0]) == row.method[1]):
            sections.setdefault(f"With {' '.join(row.method)}", []).append(row)
    for heading, rows in sections.items():
        with formatter.section(heading):
            shown = [(_left(row), _right(row, complete)) for row in rows]
            shown += [("--help", "Show this help.")] if complete and heading == "Options" else []
            formatter.write_dl(shown, col_max=_COLUMN)
    if not complete:
        _write_more(formatter, options)
    return formatter.getvalue().rstrip("\n")


def overview(groups: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]]) -> str:
    """The commands of each job, one line each."""
    lines = []
    for job, (said, commands) in groups.items():
        lines.append(f"{job}: {said}")
        lines += [f"  {name:<22}{summary}" for name, (_, summary) in commands.items()]
    return "\n".join(lines)


def _write_more(formatter: click.HelpFormatter, options: Iterable[Row]) -> None:
    """Lines that say how to see the other options."""
    methods: dict[str, dict[str, None]] = {}
    for row in options:
        if row.method:
            methods.setdefault(row.method[0], {})[row.method[1]] = None
    hidden = any(not row.short for row in options)
    rows = [
        (f"{option} NAME --help", f"Also the options of {', '.join(names)}.")
        for option, names in methods.items()
    ]
    rows += [("--help-all", "Show every option.")] if hidden else []
    if rows:
        with formatter.section("More help"):
            formatter.write_dl(rows, col_max=_COLUMN)


def _paragraphs(text: str, complete: bool) -> list[str]:
    """Paragraphs of a docstring; those after a form feed are for the complete help."""
    shown = text.replace("\f", "") if complete else text.partition("\f")[0]
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", shown) if part.strip()]


def _left(row: Row) -> str:
    option = row.parameter
    names = ", ".join(sorted(option.opts, key=len))
    if getattr(option, "is_flag", False):
        return f"{names}/{option.secondary_opts[0]}" if row.default is not False else names
    return f"{names} {option.metavar}"


def _right(row: Row, complete: bool) -> str:
    sentence, _, given = row.help.partition(" [")
    if not complete:
        sentence = re.split(r"(?<=[.]) (?=[A-Z])", sentence)[0]
    default = given.rstrip("]") if given else _shown(row.default)
    if row.parameter.required:
        default = "required"
    return f"{sentence} [{default}]" if default else sentence


def _shown(value: Any) -> str:
    """A default as the help shows it; nothing for None, False and no values."""
    if value is None or value is False or value == ():
        return ""
    if value is True:
        return "on"
    if isinstance(value, tuple):
        return ",".join(_shown(each) or "0" for each in value)
    if name_of(value):
        return name_of(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
