"""Catalogue records: motion entries, and skeletons and origins as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from types import NoneType
from typing import Any

from motionloom.configuration import is_trusted
from motionloom.errors import LibraryError
from motionloom.files import parse_json
from motionloom.motion import Skeleton
from motionloom.motion.kinematics.root_carrier import Carrier
from motionloom.motion.motion import Origin

# Types of the fields of `Origin` in JSON.
_ORIGIN: dict[str, Any] = {
    "path": str, "format": str, "unit_m": (int, float), "unit_reason": str, "up": str,
    "frame_time": (int, float, NoneType), "tpose_frame": (int, NoneType),
    "euler_order": (str, NoneType), "repairs": list, "warnings": list,
    "carrier": (dict, NoneType), "character": (str, NoneType), "layout": str, "scene": str,
    "expected_error": list,
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A motion in the catalogue.

    Examples
    --------
    >>> lib.store.entry("walk").seconds == lib["walk"].duration
    True
    """

    name: str
    file: str
    digest: str  # digest of the frames
    source: str  # path of the source file; empty for a motion added from memory
    source_hash: str  # digest of the bytes of that file
    options: str  # import options, as JSON
    frames: int
    fps: float
    skeleton: str  # key of the skeleton
    origin: str  # inferences and repairs of the reader, as JSON

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.frames / self.fps

    @property
    def key(self) -> str:
        """Digest of the motion's frames, skeleton and frame rate."""
        return text_digest(self.digest, self.skeleton, repr(self.fps))


COLUMNS = ", ".join(field.name for field in fields(Entry))  # of the table of motions
MARKS = ", ".join("?" for _ in fields(Entry))  # a placeholder for each of them


def text_digest(*texts: str, size: int = 8) -> str:
    """Return a digest of strings, as `2 * size` hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=size)
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def skeleton_json(skeleton: Skeleton) -> str:
    """Return a skeleton as JSON, with floats that can be restored exactly."""
    rest = skeleton.rest
    return json.dumps(
        {
            "names": list(skeleton.names),
            "parents": skeleton.parents.tolist(),
            "offsets": skeleton.offsets.tolist(),
            "end_names": list(skeleton.end_names),
            "end_parents": skeleton.end_parents.tolist(),
            "end_offsets": skeleton.end_offsets.tolist(),
            "rest": None if rest is None else rest.tolist(),
            "role_map": None if skeleton.role_map is None else dict(skeleton.role_map),
        },
        sort_keys=True,
    )


def skeleton_from(data: str) -> Skeleton | None:
    """Parse a skeleton from JSON. Return None if it is damaged."""
    try:
        return Skeleton(**parse_json(data))
    except (KeyError, TypeError, ValueError):
        return None


def origin_json(origin: Origin) -> str:
    """Return the origin of a motion as JSON, without the path, which is in the entry."""
    carrier = origin.carrier
    values = {**asdict(replace(origin, carrier=None)), "path": ""}
    return json.dumps(
        {**values, "carrier": None if carrier is None else carrier.to_json()}, sort_keys=True
    )


def origin_from(entry: Entry) -> Origin:
    """Return the `Origin` of a stored motion.

    Its character is None unless that file is trusted on this machine. Raises `LibraryError` if the
    stored origin is damaged.
    """
    try:
        values = parse_json(entry.origin)
        values = {key: value for key, value in values.items() if key in _ORIGIN}
        for key, value in values.items():
            if not isinstance(value, _ORIGIN[key]) or isinstance(value, bool):
                raise ValueError(f"{key} {str(value)[:80]}")
        for key in ("repairs", "warnings"):
            values[key] = tuple(map(str, values.get(key, ())))
        values["expected_error"] = tuple(map(float, values.get("expected_error", ())))
        if values.get("carrier") is not None:
            values["carrier"] = Carrier.from_json(values["carrier"])
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise LibraryError(
            f"the origin of {entry.name!r} is damaged: {error}. Run motionloom verify"
        ) from None
    character = values.get("character")
    if character is not None and not is_trusted(character_key(character)):
        values["character"] = None
    return Origin(**{**values, "path": entry.source})


def named_characters(entries: Iterable[Entry]) -> list[str]:
    """Return the character files to which motions refer."""
    characters = set()
    for entry in entries:
        try:
            values = parse_json(entry.origin)
        except (ValueError, TypeError):
            continue
        if isinstance(values, dict) and isinstance(values.get("character"), str):
            characters.add(values["character"])
    return sorted(characters)


def character_key(path: str) -> str:
    """Return the key under which the user trusts a character file."""
    return f"character {path}"
