"""Scenes in files: TOML or JSON, a few lines by hand."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from motionloom.crowd.settings import BallroomSettings, MarchSettings
from motionloom.errors import InvalidInput
from motionloom.rhythm.music.tunes import TUNE

KINDS: dict[str, type[BallroomSettings] | type[MarchSettings]] = {
    "ballroom": BallroomSettings,
    "march": MarchSettings,
}
OPEN = "open"  # a room without walls


def load_crowd_settings(path: str | Path) -> BallroomSettings | MarchSettings:
    """Read a scene; ``kind`` in the file says which: "ballroom" or "march".

    Raises
    ------
    InvalidInput
        If the file cannot be read, names something unknown, or is impossible.

    Examples
    --------
    >>> import tempfile
    >>> from motionloom.crowd import load_crowd_settings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ball.json"
    ...     _ = file.write_text('{"kind": "ballroom", "couples": 6, "tempo_bpm": 90}')
    ...     load_crowd_settings(file).couples
    6
    """
    given = file_values(path)
    kind = given.pop("kind", None)
    if kind not in KINDS:
        raise InvalidInput(f"{path}: kind must be one of {', '.join(KINDS)}; got {kind!r}")
    return settings_from(kind, given, path)


def file_values(path: str | Path) -> dict[str, Any]:
    """What a scene file says, files in it found beside it; nothing is checked yet."""
    path = Path(path)
    if path.suffix.lower() not in (".toml", ".json"):
        raise InvalidInput(f"{path}: a scene is a .toml or .json file")
    try:
        text = path.read_text(encoding="utf-8-sig")
        given: Any = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(f"{path}: cannot be read as a scene: {reason}") from None
    if not isinstance(given, dict):
        raise InvalidInput(f"{path}: a scene is a table of names and values")
    for name in ("music", "library"):
        told = given.get(name)
        if isinstance(told, str) and told and not (name == "music" and told == TUNE):
            given[name] = str(path.parent / told)
    if isinstance(given.get("takes"), list | str) and "library" not in given:
        takes = [given["takes"]] if isinstance(given["takes"], str) else given["takes"]
        given["takes"] = [_beside(path, one) if isinstance(one, str) else one for one in takes]
    return given


def settings_from(
    kind: str, given: Mapping[str, Any], path: str | Path | None = None
) -> BallroomSettings | MarchSettings:
    """The scene of plain values; `path` is named in errors."""
    made = KINDS[kind]
    known = {field.name for field in fields(made)}
    strange = sorted(set(given) - known)
    told = "" if path is None else f"{path}: "
    if strange:
        raise InvalidInput(
            f"{told}a {kind} has no {', '.join(strange)}; it has {', '.join(sorted(known))}"
        )
    values = {name: _frozen(value) for name, value in given.items()}
    if values.get("room") == OPEN:
        values["room"] = None
    for name in ("takes", "within"):
        if isinstance(values.get(name), str):
            values[name] = (values[name],)
    try:
        return made(**values)
    except InvalidInput as error:
        raise InvalidInput(f"{told}{error}") from None


def _beside(path: Path, take: str) -> str:
    """Files of a take (``LEADER+FOLLOWER``), looked for beside the scene."""
    return "+".join(str(path.parent / name) for name in take.split("+"))


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value
