"""User configuration: ``motionloom.toml``, trusted files and stores, and the cache folder.

Settings are read from the user's file, ``~/.config/motionloom/motionloom.toml``, and from
``motionloom.toml`` in the current folder. A folder may come from somebody else, and its settings
can name a cluster, which runs code on this machine, or a cache folder, in which files are deleted.
Settings in a folder are therefore used only after the user has trusted them with
``motionloom trust``, and must be trusted again after each change. The same applies to the object
store that a library names.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tomllib
from pathlib import Path
from typing import Any

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import atomic_write, parse_json, read_regular

FILE = "motionloom.toml"
_TRUSTED = "trusted.json"
_LARGEST = 1 << 20  # maximum size of a settings file, in bytes
_log = logging.getLogger("motionloom")
_reported: set[str] = set()  # untrusted files for which a warning has been logged
_trusted_here: set[str] = (
    set()
)  # trusted by this process only, if the configuration cannot be written


def user_cache() -> Path:
    """Return the user's cache folder: ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def user_settings() -> Path:
    """Return the path of the user's settings file, in ``$XDG_CONFIG_HOME`` or ``~/.config``."""
    place = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return place / "motionloom" / FILE


def section(name: str, settings: Path | None = None) -> dict[str, Any]:
    """Return one table of the settings. Settings in a trusted folder override the user's settings.

    Parameters
    ----------
    name : str
        Name of the table, ``engine`` or ``store``.
    settings : Path, optional
        Settings file in a folder. Default: ``motionloom.toml`` in the current folder.

    Raises
    ------
    InvalidInput
        If a file is not valid TOML, or `name` is not a table.

    Examples
    --------
    >>> section("engine", Path("no such folder/motionloom.toml"))
    {}
    """
    settings = settings or Path(FILE)
    own = _table(user_settings(), name, _content(user_settings()))
    content = _content(settings)
    if content is None:
        return own
    if not is_trusted(_file_key(settings, content)):
        if str(settings.absolute()) not in _reported:
            _reported.add(str(settings.absolute()))
            _log.warning(
                "%s is ignored because you have not trusted it. Review it, then run motionloom "
                "trust %s",
                settings,
                settings.parent,
            )
        return own
    return {**own, **_table(settings, name, content)}


def trust_settings(settings: Path) -> str:
    """Trust the current content of a settings file, and return that content.

    Raises
    ------
    InvalidInput
        If the file does not exist, or is not valid TOML.
    """
    content = _content(settings)
    if content is None:
        raise InvalidInput(f"{settings}: this settings file does not exist")
    _table(settings, "engine", content)
    trust(_file_key(settings, content))
    return content.decode()


def trust(key: str) -> None:
    """Record that the user trusts a file or an object store, identified by its key."""
    _trusted_here.add(key)
    place = user_settings().with_name(_TRUSTED)
    keys = {*_trusted(), key}
    try:
        with atomic_write(place) as scratch:
            scratch.write_text(json.dumps(sorted(keys), indent=1), encoding="utf-8")
    except OSError as error:
        _log.warning(
            "%s cannot be written (%s), so the trust ends with this process", place, error.strerror
        )


def is_trusted(key: str) -> bool:
    """Return whether the user trusts the file or object store with this key."""
    return key in _trusted_here or key in _trusted()


def _trusted() -> set[str]:
    content = _content(user_settings().with_name(_TRUSTED))
    try:
        keys = parse_json(content or b"[]")
    except ValueError:
        return set()
    return {key for key in keys if isinstance(key, str)} if isinstance(keys, list) else set()


def _file_key(path: Path, content: bytes) -> str:
    return f"file {hashlib.blake2b(content, digest_size=16).hexdigest()} {path.resolve()}"


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path, largest=_LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except MotionFormatError as error:
        raise InvalidInput(str(error)) from None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror or error}") from None


def _table(path: Path, name: str, content: bytes | None) -> dict[str, Any]:
    try:
        table = tomllib.loads((content or b"").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path}: cannot be read as TOML: {error}") from None
    section = table.get(name, {})
    if not isinstance(section, dict):
        raise InvalidInput(
            f"{path}: {name} must be a table that starts with [{name}]; got {section!r}"
        )
    return section
