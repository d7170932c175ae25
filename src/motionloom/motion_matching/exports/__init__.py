"""Export of matching databases to other programs and game engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from motionloom.errors import InvalidInput
from motionloom.formats.game_assets import ENGINES, AssetReport
from motionloom.formats.settings import GameSettings
from motionloom.motion_matching.database import MatchingDatabase
from motionloom.motion_matching.exports.databases import write_orangeduck, write_unity
from motionloom.motion_matching.exports.engines import write_engine
from motionloom.motion_matching.exports.web import write_web

FORMATS = {
    "godot": "a Godot 4 project with a motion matching player",
    "unity": "one FBX file, an import script, and files for JLPM22's MotionMatching",
    "unreal": "one FBX file, and a script that imports it and fills a PoseSearch database",
    "web": "a page that plays without a server, and a run-time for games in JavaScript",
    "glb": "one GLB file with all takes",
    "fbx": "one FBX file with all takes",
    "orangeduck": "database.bin and features.bin for orangeduck's Motion-Matching",
}


def export_database(
    database: MatchingDatabase,
    folder: str | Path,
    format: str,
    settings: GameSettings | None = None,
    *,
    beats: Mapping[str, Sequence[float]] | None = None,
) -> AssetReport:
    """Write a database to a folder, which is created if necessary.

    Parameters
    ----------
    database : MatchingDatabase
    folder : str or Path
    format : {"godot", "unity", "unreal", "web", "glb", "fbx", "orangeduck"}
    settings : GameSettings, optional
        Character, figure and exactness of exports to engines.
    beats : mapping of str to sequence of float, optional
        Times of the beats of takes, in seconds, for the manifest.

    Returns
    -------
    report : AssetReport
    """
    place = Path(folder)
    check_format(place, format)
    settings = settings or GameSettings()
    if format == "orangeduck":
        if settings.changed():
            raise InvalidInput(
                f"orangeduck's files contain no meshes, so they have no option "
                f"{next(iter(settings.changed()))}"
            )
        place.mkdir(parents=True, exist_ok=True)
        files = tuple(write_orangeduck(database, place))
        size = sum(file.stat().st_size for file in files)
        return AssetReport(
            files, len(database.ranges), len(database), 23, 0, database.fps, size, 0.0
        )
    if format == "web":
        return write_web(database, place, settings)
    place.mkdir(parents=True, exist_ok=True)
    report = write_engine(database, place, format, settings, beats=beats)
    if format == "unity" and settings.character is None:
        assets = place / ENGINES["unity"][1]
        more = write_unity(database, assets)
        size = report.size + sum(file.stat().st_size for file in more)
        report = replace(report, files=(*report.files, *more), size=size)
    return report


def check_format(folder: Path, format: str) -> None:
    """Raise an error if a database cannot be exported in this format to this folder."""
    if format not in FORMATS:
        raise InvalidInput(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(
            f"{folder} is not a folder. Choose a folder, because a database is exported as several "
            "files"
        )


__all__ = ["FORMATS", "check_format", "export_database"]
