"""Stretches of takes as one file to take away: a zip of BVH or GLB, and where each is from."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from motionloom import __version__
from motionloom.errors import InvalidInput
from motionloom.search import Match
from motionloom.studio.dependencies import Shop, Suffix
from motionloom.studio.search_settings import FamilySettings, SearchSettings

router = APIRouter(tags=["export"])

LIST = "matches.json"
_MOST_FRAMES = 400_000  # of one zip
_IN_MEMORY = 16 << 20  # bytes; what is larger waits on disk
_PIECE = 1 << 18


class Clip(BaseModel):
    """A stretch of a take, and what was found out about it."""

    model_config = ConfigDict(extra="forbid")
    motion: str = Field(max_length=300)
    start_frame: int = Field(ge=0)
    end_frame: int = Field(ge=1)
    distance: float | None = None
    tier: int | None = None
    label: str | None = None


class Export(BaseModel):
    """What to pack, and the search that found it."""

    model_config = ConfigDict(extra="forbid")
    clips: list[Clip] = Field(min_length=1, max_length=1000)
    format: Suffix = "bvh"
    unit: str = "m"
    search: SearchSettings | None = None
    family: FamilySettings | None = None


@router.post("/export", response_class=StreamingResponse)
def export(asked: Export, shop: Shop) -> StreamingResponse:
    """A zip: one file per stretch, numbered in the given order, and ``matches.json``."""
    frames = sum(max(clip.end_frame - clip.start_frame, 0) for clip in asked.clips)
    if frames > _MOST_FRAMES:
        raise InvalidInput(f"{frames:,} frames in one zip; at most {_MOST_FRAMES:,}: export fewer")
    packed: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (read later)
    try:
        _pack(packed, asked, shop.library)
    except BaseException:
        packed.close()
        raise
    size = packed.tell()
    packed.seek(0)
    return StreamingResponse(
        _pieces(packed),
        media_type="application/zip",
        headers={
            "Content-Disposition": f'attachment; filename="{_title(asked)}.zip"',
            "Content-Length": str(size),
        },
    )


def _pack(packed: IO[bytes], asked: Export, library) -> None:
    told: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for rank, clip in enumerate(asked.clips, start=1):
            take = library[clip.motion]
            if not clip.start_frame < clip.end_frame <= len(take):
                raise InvalidInput(
                    f"{clip.motion}: the range must lie within the motion's {len(take)} frames; "
                    f"got {clip.start_frame} to {clip.end_frame}"
                )
            match = Match(clip.motion, clip.start_frame, clip.end_frame, 0.0, 0.0, 0.0)
            name = f"{match.file_name(rank)}.{asked.format}"
            written = take[clip.start_frame : clip.end_frame].save(Path(folder) / name)
            archive.write(written, name)
            Path(written).unlink()
            told.append({"file": name, **clip.model_dump(), "fps": take.fps})
        archive.writestr(LIST, json.dumps(_provenance(asked, told, library), indent=2))


def _provenance(asked: Export, told: list[dict[str, Any]], library) -> dict[str, Any]:
    """Which library, which search, which frames."""
    by = asked.search or asked.family
    return {
        "motionloom": __version__,
        "library": library.path.name,
        "unit": asked.unit,
        "search": by.model_dump(mode="json", exclude_defaults=True) if by else None,
        "command": by.lines(library.path)["cli"] if by else None,
        "matches": told,
    }


def _title(asked: Export) -> str:
    """As the query is called, or what is in it; what no system minds in a name."""
    by = asked.search or asked.family
    text = by.query if by else asked.clips[0].motion
    return "like_" + "".join(
        c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in text
    )


def _pieces(packed: IO[bytes]) -> Iterator[bytes]:
    with packed:
        while piece := packed.read(_PIECE):
            yield piece
