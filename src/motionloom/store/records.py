"""Records of the catalogue: entries of motions; skeletons and origins as JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace

import numpy as np

from motionloom.checked_files import parse_json
from motionloom.motion import Skeleton
from motionloom.motion.carrier import Carrier
from motionloom.motion.motion import Origin


@dataclass(frozen=True)
class Entry:
    """One motion in the catalogue.

    Examples
    --------
    >>> lib.entry("walk").seconds == lib["walk"].duration
    True
    """

    name: str
    file: str
    digest: str  # of the frames
    source: str  # path of the source file; empty for a motion added from memory
    source_hash: str  # of that file's bytes
    options: str  # of the import, as JSON
    frames: int
    fps: float
    skeleton: str  # the skeleton's key
    origin: str  # what the reader inferred and repaired, as JSON

    @property
    def seconds(self) -> float:
        """Duration: frames divided by frame rate."""
        return self.frames / self.fps

    @property
    def key(self) -> str:
        """Digest of the motion: its frames, its skeleton and its rate."""
        return text_digest(self.digest, self.skeleton, repr(self.fps))


def text_digest(*texts: str, size: int = 8) -> str:
    """Digest of several texts, as `2 * size` hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=size)
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def skeleton_json(skeleton: Skeleton) -> str:
    """A skeleton as JSON; floats are restored exactly."""
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
    """The skeleton in that JSON, or None if it is damaged."""
    try:
        values = parse_json(data)
        for key in ("offsets", "end_offsets"):  # JSON loses the width of an empty table
            values[key] = np.array(values[key], dtype=np.float64).reshape(-1, 3)
        return Skeleton(**values)
    except (KeyError, TypeError, ValueError):
        return None


def origin_json(origin: Origin) -> str:
    """The origin of a motion as JSON, without the path, which is in the entry."""
    carrier = origin.carrier
    values = {**asdict(replace(origin, carrier=None)), "path": ""}
    return json.dumps(
        {**values, "carrier": None if carrier is None else carrier.to_json()}, sort_keys=True
    )


def origin_from(entry: Entry) -> Origin:
    """The `Origin` of a stored motion."""
    values = parse_json(entry.origin)
    known = {field.name for field in fields(Origin)}
    values = {key: value for key, value in values.items() if key in known}
    for key in ("repairs", "warnings"):
        values[key] = tuple(values.get(key, ()))
    if values.get("carrier") is not None:
        values["carrier"] = Carrier.from_json(values["carrier"])
    return Origin(**{**values, "path": entry.source})
