"""Export of matching databases to game engines: takes with a root bone, and the features.

The root bone is the simulation bone of the database and carries the root motion. ``matching.bin``
contains the features, little-endian: ``MLMM`` and four uint32 (version, rows, columns, and bytes of
a number: 2), then the offset and the scale of each column as float32, then one byte per row (1 if
playback may jump to it), padded to a multiple of four, then the normalized features as 16-bit
floats. Rows follow the order of the takes in the manifest, whose entry ``first_row`` is the row of
their first frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from motionloom.files import unique_stem
from motionloom.formats.game_assets import AssetReport, GameTake, on_root_bone, write_assets
from motionloom.formats.own_character import load_character
from motionloom.formats.settings import GameSettings
from motionloom.motion.feet.gait import GAITS
from motionloom.motion_matching.database import MatchingDatabase, Range
from motionloom.motion_matching.exports.databases import LARGEST_SCALE
from motionloom.motion_matching.features import GROUPS
from motionloom.motion_matching.generated_takes import is_made
from motionloom.motion_matching.settings import HORIZONS

MATCHING = "matching.bin"
_MAGIC, _VERSION = b"MLMM", 1
_READERS = ("godot", "glb")  # exports that contain the features


def write_engine(
    database: MatchingDatabase,
    folder: Path,
    engine: str,
    settings: GameSettings,
    *,
    beats: Mapping[str, Sequence[float]] | None = None,
) -> AssetReport:
    """Write the takes of a database and its features for a game engine.

    Parameters
    ----------
    database : MatchingDatabase
    folder : Path
    engine : str
        One of `motionloom.formats.game_assets.ENGINES`.
    settings : GameSettings
    beats : mapping of str to sequence of float, optional
        Times of the beats of takes, in seconds.
    """
    if settings.character is not None:
        database = on_character(database, settings.character)
    parts = [part for part in database.ranges if settings.mirrored or not part.mirrored]
    names: set[str] = set()
    takes, rows = [], []
    first = 0
    for part in parts:
        name = unique_stem(part.name.replace(" (made)", "_generated"), names)
        extras = {"first_row": first}
        takes.append(_take(database, part, name, extras, (beats or {}).get(part.take, ())))
        rows.append(np.arange(part.start, part.stop))
        first += part.stop - part.start
    chosen = np.concatenate(rows)
    if engine not in _READERS:
        return write_assets(takes, database.skeleton, folder, engine, settings)
    about = {
        "matching": {
            "file": MATCHING,
            "rows": len(chosen),
            "columns": int(database.features.shape[1]),
            "horizons": [round(horizon, 6) for horizon in HORIZONS],
            "groups": {name: [part.start, part.stop] for name, (part, _) in GROUPS.items()},
            "speeds_m_s": [round(speed, 3) for speed in database.speed_range],
        }
    }
    data = {MATCHING: matching_table(database, chosen)}
    return write_assets(takes, database.skeleton, folder, engine, settings, about=about, data=data)


def matching_table(database: MatchingDatabase, rows: np.ndarray) -> bytes:
    """Encode features, normalization and allowed jump targets of the chosen rows."""
    normal = database.normalization
    features = database.rows[rows]
    head = np.array([_VERSION, *features.shape, 2], "<u4").tobytes()
    allowed = (database.searchable & (database.gaits > 0))[rows]
    allowed = allowed if allowed.any() else database.searchable[rows]
    flags = allowed.astype(np.uint8).tobytes()
    return b"".join(
        [
            _MAGIC,
            head,
            normal.offset.astype("<f4").tobytes(),
            np.minimum(normal.scale, LARGEST_SCALE).astype("<f4").tobytes(),
            flags + b"\0" * (-len(flags) % 4),
            features.astype("<f2").tobytes(),
        ]
    )


def on_character(database: MatchingDatabase, character: str) -> MatchingDatabase:
    """Return the database of the same takes, retargeted onto the character in a file."""
    from motionloom.motion_matching.build import matching_database

    hero = load_character(character)
    parts = [part for part in database.ranges if not part.mirrored and not is_made(part.take)]
    motions = [replace(database.motion(part).retarget(hero), name=part.name) for part in parts]
    labels = {
        part.name: [(a - part.start, b - part.start, text) for a, b, text in _tags(database, part)]
        for part in parts
    }
    settings = replace(database.settings, fps=database.fps)
    return matching_database(motions, settings, labels=labels)


def _take(
    database: MatchingDatabase, part: Range, name: str, extras: dict[str, Any], beats: Any
) -> GameTake:
    rows = slice(part.start, part.stop)
    x, z, facing = np.asarray(database.places[rows]).T
    motion = database.motion(part)
    return GameTake(
        name,
        on_root_bone(motion, np.column_stack([x, z]), facing),
        part.take,
        np.asarray(database.contacts[rows]),
        np.array(["", *GAITS])[database.gaits[rows]],
        [(a - part.start, b - part.start, text) for a, b, text in _tags(database, part)],
        beats,
        part.mirrored,
        is_made(part.take),
        extras,
    )


def _tags(database: MatchingDatabase, part: Range) -> list[tuple[int, int, str]]:
    """Return the labeled frames of a range, counted from the start of the database."""
    return sorted(
        (max(start, part.start), min(stop, part.stop), label)
        for label, ranges in database.labels.items()
        for start, stop in ranges
        if start < part.stop and stop > part.start
    )
