"""Messages in the words of the command line.

Messages of the library name a setting as Python does: ``partial=True``, ``unit=``, ``up='z'``.
A command shows them with its own options: ``--partial``, ``--unit``, ``--up z``. All messages pass
through `worded`, so nothing else needs to know where a message will be read.

How a file is read can be set in ``motionloom doctor``, which writes the motion anew. Other commands
lack some of these options, or use their names for what is written (``convert --fps``): their
messages point to ``doctor``.
"""

from __future__ import annotations

import re
from typing import Any

from motionloom.formats.settings import LoadSettings
from motionloom.settings import described

# A setting and its value, if any; not a part of a longer word, a path or an option.
_SETTING = re.compile(
    r"(?<![\w\-./=?&])([a-z][a-z_]*)="
    r"(True|False|None|'[^'\n]*'|\"[^\"\n]*\"|\{[^{}\n]*\}|\d[\w.]*|(?=[\s,.;:)]|$))"
)
# How their help begins where they are about the file that is read.
_OF_FILES = {
    name: re.split("[:.]", described(LoadSettings)[name][1].help)[0]
    for name in ("fps", "unit", "up")
}
_options: dict[str, tuple[str, str]] = {}  # of the running command: setting to option, its opposite

_pairs: dict[str, bool] = {}  # whether an option takes KEY=VALUE,..., not a file


def use_options(parameters: list[Any]) -> None:
    """Word messages by the options of the running command, a list of Click's parameters."""
    _options.clear()
    _pairs.clear()
    for parameter in parameters:
        names = [name for name in parameter.opts if name.startswith("--")]
        help = getattr(parameter, "help", None) or ""
        if parameter.name in _OF_FILES and not help.startswith(_OF_FILES[parameter.name]):
            continue  # of what is written, not of the file that is read
        if names and not getattr(parameter, "hidden", False):
            off = [name for name in parameter.secondary_opts if name.startswith("--")]
            _options[parameter.name] = (names[0], off[0] if off else "")
            _pairs[names[0]] = "=" in str(getattr(parameter, "metavar", ""))


def worded(text: str) -> str:
    """A message with settings named as options of the running command, where it has them.

    Examples
    --------
    >>> from types import SimpleNamespace as Option
    >>> use_options([
    ...     Option(name="squares", opts=["--squares"], secondary_opts=[]),
    ...     Option(name="rank", opts=["--rank"], secondary_opts=[]),
    ... ])
    >>> worded("use squares=True, or pass rank='sum'; with basis=")
    'use --squares, or pass --rank sum; with basis= (in Python)'
    >>> worded("use partial=True")
    'use --partial (motionloom doctor FILE --partial --fix OUT.bvh)'
    >>> use_options([])
    """
    return _SETTING.sub(_option, text)


def _option(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    if name not in _options:
        if name in described(LoadSettings):
            option = _spoken(f"--{name.replace('_', '-')}", "", value)
            return f"{option} (motionloom doctor FILE {option} --fix OUT.bvh)"
        # Settings that the command lacks; with a value that is part of a sentence, no setting.
        return f"{match[0]} (in Python)" if value in ("", "True", "False") else match[0]
    return _spoken(*_options[name], value)


def _spoken(on: str, off: str, value: str) -> str:
    """An option with a value as Python writes it."""
    if value == "True":
        return on
    if value in ("False", "None"):
        return off or f"no {on}"
    if value.startswith("{") and _pairs.get(on):
        return f"{on} " + re.sub(r"'([^']*)': '([^']*)'", r"\1=\2", value[1:-1]).replace(", ", ",")
    if value.startswith("{"):
        return f"{on} FILE, a file with {value}"
    plain = value.strip("'\"")
    return f"{on} {plain}" if plain else on
