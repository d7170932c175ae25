"""Routes that export segments and their provenance as a zip archive."""

from __future__ import annotations

import json
import secrets
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from motionloom import __version__
from motionloom.errors import InvalidInput
from motionloom.files import file_stem, unique_stem
from motionloom.formats.presets import convert
from motionloom.library import Match
from motionloom.motion import Motion
from motionloom.studio.responses import FileFormat, ResultId
from motionloom.studio.routes.search.queries import FamilyRequest, SearchRequest
from motionloom.studio.routes.stage.characters import character_of
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import Library

router = APIRouter(tags=["export"])

LIST = "matches.json"
_MAX_FRAMES = 400_000  # per zip archive
_MOST_CLIPS = 5000
_IN_MEMORY = 16 << 20  # bytes; larger archives are spooled to disk
_CHUNK = 1 << 18


class ExportClip(BaseModel):
    """A segment to export, and the search result it came from."""

    model_config = ConfigDict(extra="forbid")
    motion: str = Field(max_length=300)
    start_frame: int = Field(ge=0)
    end_frame: int = Field(ge=1)
    distance: float | None = None
    tier: int | None = None
    label: str | None = None


Naming = Literal["numbered", "take", "label"]


class ExportRequest(BaseModel):
    """Segments to export, how their files are written, and the search that found them."""

    model_config = ConfigDict(extra="forbid")
    clips: list[ExportClip] = Field(min_length=1, max_length=_MOST_CLIPS)
    format: FileFormat = "bvh"
    unit: str = "m"
    padding: float = Field(0.0, ge=0.0, le=60.0, description="Seconds before and after a segment.")
    naming: Naming = Field(
        "numbered",
        description="File names: 001_TAKE_START-END, TAKE_START-END or LABEL_001.",
    )
    fps: float | None = Field(None, ge=1.0, le=480.0, description="Resample to this frame rate.")
    root: Literal["bone", "in-place"] | None = Field(
        None, description="Put the travel over the floor into a root bone, or remove it."
    )
    character: str | None = Field(
        None, max_length=64, description="Id of an uploaded character to retarget onto."
    )
    search: SearchRequest | None = None
    family: FamilyRequest | None = None

    @property
    def origin(self) -> SearchRequest | FamilyRequest | None:
        """Request that found the segments."""
        return self.search or self.family


@router.post("/export", response_class=StreamingResponse)
def export(request: ExportRequest, state: State) -> StreamingResponse:
    """Return a zip archive with one numbered file per segment and a ``matches.json``."""
    own = _checked(request, state)
    archive: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (read later)
    try:
        _write(archive, request, state.library, own)
    except BaseException:
        archive.close()
        raise
    size = archive.tell()
    archive.seek(0)
    return StreamingResponse(
        _chunks(archive),
        media_type="application/zip",
        headers={
            "Content-Disposition": f'attachment; filename="{_title(request)}.zip"',
            "Content-Length": str(size),
        },
    )


@router.post("/exports")
def export_job(request: ExportRequest, state: State) -> JobStatus[ResultId]:
    """Start a job that packs the archive; its result has the ``id`` for downloading it."""
    library = state.library
    own = _checked(request, state)

    def work(job: Job) -> ResultId:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as archive:
            _write(archive, request, library, own, job.advance)
            archive.seek(0)
            content = archive.read()
        key = secrets.token_urlsafe(9)
        state.cached(("export", key), lambda: content)
        return {"id": key}

    return state.jobs.start("packing takes", work, total=len(request.clips)).status()


@router.get("/exports/{id}", response_class=Response)
def packed(id: str, state: State) -> Response:
    """Return an archive packed by a job; only the latest few are kept."""

    def missing() -> bytes:
        raise InvalidInput("this zip archive is no longer available; pack it again")

    return Response(state.cached(("export", id), missing), media_type="application/zip")


def _checked(request: ExportRequest, state: AppState) -> Motion | None:
    """Return the character to retarget onto.

    Raise an error if a segment or the character does not exist, or there are too many frames.
    """
    library = state.library
    total = sum(max(clip.end_frame - clip.start_frame, 0) for clip in request.clips)
    if total > _MAX_FRAMES:
        raise InvalidInput(f"a zip archive may have at most {_MAX_FRAMES:,} frames; got {total:,}")
    for clip in request.clips:
        frames = library.store.entry(clip.motion).frames
        if not clip.start_frame < clip.end_frame <= frames:
            raise InvalidInput(
                f"{clip.motion}: the range must be within the motion's {frames} frames; "
                f"got {clip.start_frame} to {clip.end_frame}"
            )
    return None if request.character is None else character_of(state, request.character).motion


def _write(
    file: IO[bytes],
    request: ExportRequest,
    library: Library,
    character: Motion | None,
    progress: Callable[[], None] = lambda: None,
) -> None:
    taken: set[str] = set()
    rows: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for rank, clip in enumerate(request.clips, start=1):
            take = library[clip.motion]
            pad = round(request.padding * take.fps)
            start = max(clip.start_frame - pad, 0)
            end = min(clip.end_frame + pad, len(take))
            part = convert(take[start:end], onto=character, fps=request.fps, root=request.root)
            assert isinstance(part, Motion)  # markers are not in a library
            name = f"{_file_name(request.naming, clip, rank, taken)}.{request.format}"
            written = part.save(Path(folder) / name)
            archive.write(written, name)
            Path(written).unlink()
            row = {**clip.model_dump(), "start_frame": start, "end_frame": end, "fps": take.fps}
            rows.append({"file": name, **row})
            progress()
        archive.writestr(LIST, json.dumps(_provenance(request, rows, library), indent=2))


def _file_name(naming: Naming, clip: ExportClip, rank: int, taken: set[str]) -> str:
    """Return the name of a file without its suffix; names in `taken` are numbered."""
    if naming == "label":
        return f"{file_stem(clip.label or clip.motion)}_{rank:03d}"
    if naming == "take":
        place = f"{clip.motion}_{clip.start_frame}-{clip.end_frame}"
        return unique_stem(place, taken)
    return Match(clip.motion, clip.start_frame, clip.end_frame, 0.0, 0.0, 0.0).file_name(rank)


def _provenance(
    request: ExportRequest, rows: list[dict[str, Any]], library: Library
) -> dict[str, Any]:
    origin = request.origin
    return {
        "motionloom": __version__,
        "library": library.path.name,
        "unit": request.unit,
        "search": origin.model_dump(mode="json", exclude_defaults=True) if origin else None,
        "command": origin.lines(library.path).cli if origin else None,
        "matches": rows,
    }


def _title(request: ExportRequest) -> str:
    """Return a file name derived from the query or the first motion, valid on every system."""
    text = request.origin.query if request.origin else request.clips[0].motion
    return "like_" + file_stem(text.encode("ascii", "replace").decode())


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk
