"""Scenes as commands make them: a file or the usual one, and what is said besides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.synthesis.rhythm import Choreography


def scene_from(
    kind: str, path: Path | None, options: dict[str, Any], usual: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The scene of a file, or the usual one, with what the command line says; what was said."""
    from motionloom.cli.beats import takes_from
    from motionloom.synthesis.crowd.scene_file import made_scene, scene_values
    from motionloom.synthesis.rhythm.tunes import TUNE

    given = {} if path is None else scene_values(path)
    if given.pop("kind", kind) != kind:
        raise InvalidInput(f"{path}: holds another kind of scene than motionloom {kind} makes")
    said = {name: value for name, value in options.items() if value is not None}
    if said.get("library") is not None:
        said["library"] = str(said["library"])
        given.pop("takes", None)
    if isinstance(said.get("takes"), str):
        listed_takes = takes_from(said["takes"]) or []
        said["takes"] = ["+".join(one) if isinstance(one, list) else one for one in listed_takes]
    if "music" in said and "tempo_bpm" not in said:
        given.pop("tempo_bpm", None)
    if "tempo_bpm" in said and "music" not in said and given.get("music") != TUNE:
        given.pop("music", None)
    given |= said
    rest = usual if path is None else {}
    if "music" in given:
        rest = {name: value for name, value in rest.items() if name != "tempo_bpm"}
    return made_scene(kind, rest | given, path), given


def room_from(text: str) -> Any:
    """A room as it is written: 14x10 metres, or open."""
    from motionloom.synthesis.crowd.scene_file import OPEN

    if text == OPEN:
        return text
    try:
        wide, deep = (float(part) for part in text.lower().split("x"))
    except ValueError:
        raise InvalidInput(
            f"a room is written WIDTHxDEPTH in metres, or {OPEN}; got {text!r}"
        ) from None
    return [wide, deep]


def own_tempo(steps: Choreography, given: dict[str, Any], scene: Path | None) -> dict[str, Any]:
    """The takes' own tempo, where nobody said one."""
    if scene is not None or "music" in given or "tempo_bpm" in given:
        return {}
    return {"tempo_bpm": min(max(float(round(60.0 / steps.period)), 40.0), 240.0)}
