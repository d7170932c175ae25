"""Export of matching databases to other programs and game engines."""

from __future__ import annotations

from pathlib import Path

from motionloom.errors import InvalidInput
from motionloom.motion_matching.database import MatchingDatabase
from motionloom.motion_matching.exports.databases import write_orangeduck, write_unity
from motionloom.motion_matching.exports.engines import write_engine

FORMATS = {
    "orangeduck": "database.bin and features.bin for orangeduck's Motion-Matching",
    "unity": ".mmskeleton, .mmpose and .mmfeatures for JLPM22's MotionMatching in Unity",
    "glb": "one GLB file per take with a root bone, and a script for Unreal",
    "fbx": "one FBX file per take with a root bone, and a script for Unreal",
}


def export_database(database: MatchingDatabase, folder: str | Path, format: str) -> list[Path]:
    """Write a database to a folder, which is created if necessary, and return the file paths.

    Parameters
    ----------
    database : MatchingDatabase
    folder : str or Path
    format : {"orangeduck", "unity", "glb", "fbx"}
    """
    place = Path(folder)
    check_format(place, format)
    place.mkdir(parents=True, exist_ok=True)
    if format == "orangeduck":
        return write_orangeduck(database, place)
    if format == "unity":
        return write_unity(database, place)
    return write_engine(database, place, suffix=f".{format}")


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
