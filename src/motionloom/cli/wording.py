"""Messages in the words of the command line.

Messages of the library name a setting as Python does: ``partial=True``, ``unit=``, ``up='z'``.
A command shows them with its own options: ``--partial``, ``--unit``, ``--up z``. All messages pass
through `worded`, so nothing else needs to know where a message will be read.
"""

from __future__ import annotations

import re
from typing import Any

# A setting and its value, if any; not a part of a longer word, a path or an option.
_SETTING = re.compile(
    r"(?<![\w\-./=?&])([a-z][a-z_]*)="
    r"(True|False|None|'[^'\n]*'|\"[^\"\n]*\"|\{[^{}\n]*\}|\d[\w.]*|(?=[\s,.;:)]|$))"
)
_options: dict[str, tuple[str, str]] = {}  # of the running command: setting to option, its opposite


def use_options(parameters: list[Any]) -> None:
    """Word messages by the options of the running command, a list of Click's parameters."""
    _options.clear()
    for parameter in parameters:
        names = [name for name in parameter.opts if name.startswith("--")]
        if names and not getattr(parameter, "hidden", False):
            off = [name for name in parameter.secondary_opts if name.startswith("--")]
            _options[parameter.name] = (names[0], off[0] if off else "")


def worded(text: str) -> str:
    """A message with settings named as options of the running command, where it has them.

    Examples
    --------
    >>> from types import SimpleNamespace as Option
    >>> use_options([
    ...     Option(name="partial", opts=["--partial"], secondary_opts=[]),
    ...     Option(name="up", opts=["--up"], secondary_opts=[]),
    ... ])
    >>> worded("use partial=True, or pass up='z'; with skin=")
    'use --partial, or pass --up z; with skin= (in Python)'
    >>> use_options([])
    """
    return _SETTING.sub(_option, text)


def _option(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    if name not in _options:
        # Settings that the command lacks; with a value that is part of a sentence, no setting.
        return f"{match[0]} (in Python)" if value in ("", "True", "False") else match[0]
    on, off = _options[name]
    if value == "True":
        return on
    if value in ("False", "None"):
        return off or f"no {on}"
    if value.startswith("{"):
        return f"{on} FILE, a file with {value}"
    plain = value.strip("'\"")
    return f"{on} {plain}" if plain else on
