"""Messages in the words of the page.

Messages of the library name arguments as Python does (``max_distance must be positive``, ``use
mirror=True``) and files where the server keeps them for a moment. On the page there are fields and
files with the names that the user gave: all errors that reach it pass through `worded`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from typing import Any

from motionloom.studio.state.uploads import FOLDER

# A file in the temporary folder or among uploads; folders in between are left out as well.
_TEMPORARY = re.compile(
    rf"(?:{re.escape(tempfile.gettempdir())}|[^\s'\"]*[/\\]{FOLDER})"
    r"[/\\](?:[^\s'\":/\\]+[/\\])*(?=[^\s'\":/\\])"
)
_ARGUMENT = re.compile(r"\b([a-z]+(?:_[a-z]+)+)(?= (?:must|may|needs?|cannot|has to)\b)")
_SETTING = re.compile(r"(?<![\w\-./=?&])([a-z][a-z_]*)=(True|False|'[^'\n]*'|(?=[\s,.;:)]|$))")


def worded(text: str) -> str:
    """A message without temporary paths and with arguments as words.

    Examples
    --------
    >>> worded("max_distance must be above 0; got -1")
    'max distance must be above 0; got -1'
    >>> worded("give up='z', or use partial=True")
    'give up z, or use “partial”'
    """
    text = _TEMPORARY.sub("", text)
    text = _ARGUMENT.sub(lambda found: found[1].replace("_", " "), text)
    return _SETTING.sub(_setting, text)


def validation_message(errors: Sequence[Any]) -> str:
    """What is wrong with the values of a request, one sentence each.

    Examples
    --------
    >>> validation_message([{"loc": ("body", "max_matches"), "msg": "Input should be above 0"}])
    'max matches: should be above 0'
    """
    said = []
    for error in errors[:4]:
        place = [part for part in error["loc"] if isinstance(part, str)]
        field = place[-1].replace("_", " ") if len(place) > 1 else "the request"
        what = error["msg"].removeprefix("Input ").removeprefix("Value error, ")
        said.append(f"{field}: {what}")
    return "; ".join(said)


def _setting(found: re.Match[str]) -> str:
    name, value = found[1].replace("_", " "), found[2]
    if value in ("True", ""):
        return f"“{name}”"
    return f"“{name}” off" if value == "False" else f"{name} {value[1:-1]}"
