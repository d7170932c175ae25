"""User configuration: ``motionloom.toml`` in the current folder, and the cache folder."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from motionloom.errors import InvalidInput

FILE = "motionloom.toml"


def user_cache() -> Path:
    """The user's cache folder: ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def section(name: str, settings: Path | None = None) -> dict[str, Any]:
    """One table of the settings file; empty if there is none.

    Parameters
    ----------
    name : str
        ``engine`` or ``store``.
    settings : Path, optional
        Default: ``motionloom.toml`` in this folder.

    Raises
    ------
    InvalidInput
        If the file is not valid TOML, or `name` is not a table.

    Examples
    --------
    >>> section("engine", Path("no such folder/motionloom.toml"))
    {}
    """
    settings = settings or Path(FILE)
    try:
        table = tomllib.loads(settings.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{settings}: cannot be read as TOML: {error}") from None
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise InvalidInput(f"{settings}: {name} must be a table, [{name}]; got {found!r}")
    return found
