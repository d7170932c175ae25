"""Routes that upload motion files: a single file, or many files in a job with progress.

Only file contents are accepted, never paths on the server.
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from motionloom.errors import InvalidInput
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus
from motionloom.studio.state.uploads import LARGEST_FILE, MOST_FILES, UploadBatch

router = APIRouter(prefix="/uploads", tags=["uploads"])

_BODY = {
    "requestBody": {
        "description": "The bytes of the file.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "required": True,
    }
}
_BUFFER = 1 << 20  # bytes collected before each write


class BatchInfo(BaseModel):
    """A new batch and its limits."""

    id: str
    most_files: int = MOST_FILES
    largest_file: int = LARGEST_FILE


class BatchStatus(BaseModel):
    """A batch that is not imported yet; `idle` is the time without data, in seconds."""

    id: str
    files: int
    bytes: int
    idle: float


class FailedFile(BaseModel):
    """A file that could not be imported."""

    file: str
    reason: str


class ImportResult(BaseModel):
    """The report of ``motionloom import --json``, and the names of the imported motions."""

    added: int
    replaced: int
    skipped: int
    failed: list[FailedFile]
    frames: int
    seconds: float
    names: list[str]


class ImportOptions(BaseModel):
    """Options for importing a batch."""

    label_by_folder: bool = False


class ReceivedBytes(BaseModel):
    """Size of a received file."""

    bytes: int


@router.put("/{filename}", openapi_extra=_BODY)
async def upload(filename: str, request: Request, state: State) -> ImportResult:
    """Import a single file from the request body; its file name extension determines the format."""
    batch = await run_in_threadpool(state.uploads.begin)
    try:
        with batch.in_use():
            await _receive(batch, filename, request)
            if not batch.motions:
                raise InvalidInput(f"{filename} is not a complete motion; upload its whole folder")
            result = await run_in_threadpool(
                _import, state, batch, ImportOptions(), lambda steps: None
            )
    finally:
        state.uploads.finish(batch.key).remove()
    if result.failed:
        raise InvalidInput(f"{filename}: {result.failed[0].reason}")
    return result


@router.get("")
def batches(state: State) -> list[BatchStatus]:
    """List the batches that are not imported yet."""
    return [
        BatchStatus(id=batch.key, files=batch.files, bytes=batch.size, idle=batch.idle)
        for batch in state.uploads.batches()
    ]


@router.post("")
def begin(state: State) -> BatchInfo:
    """Begin a batch of several files, such as a dropped folder."""
    return BatchInfo(id=state.uploads.begin().key)


@router.put("/{id}/files/{name:path}", openapi_extra=_BODY)
async def send(id: str, name: str, request: Request, state: State) -> ReceivedBytes:
    """Receive one file of a batch as the request body; its name may include folders."""
    return ReceivedBytes(bytes=await _receive(state.uploads[id], name, request))


@router.post("/{id}/import")
def import_batch(id: str, options: ImportOptions, state: State) -> JobStatus[ImportResult]:
    """Start a job that imports the batch file by file; its result is an `ImportResult`."""
    if not state.uploads[id].motions:
        raise InvalidInput("the batch does not contain any motion files")
    batch = state.uploads.finish(id)

    def work(job: Job) -> ImportResult:
        try:
            return _import(state, batch, options, job.advance)
        finally:
            batch.remove()

    return state.jobs.start("importing", work, total=batch.motions).status()


@router.delete("/{id}")
def discard(id: str, state: State) -> dict[str, None]:
    """Discard a batch and its files."""
    state.uploads.finish(id).remove()
    return {}


def _import(
    state: AppState, batch: UploadBatch, options: ImportOptions, progress: Callable[[int], None]
) -> ImportResult:
    by_folder = options.label_by_folder
    try:
        return ImportResult(**batch.add_to(state.library, by_folder=by_folder, progress=progress))
    finally:
        state.notify("motions")  # also after a stop, because earlier files are already imported


async def _receive(batch: UploadBatch, name: str, request: Request) -> int:
    """Write the request body to a file in the batch, and return the file's size."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > LARGEST_FILE:
        raise InvalidInput(
            f"{name}: an uploaded file may have at most {LARGEST_FILE >> 20} MB; use "
            f"motionloom import for larger files"
        )
    with batch.open(name) as file:
        buffer = bytearray()
        async for part in request.stream():
            buffer += part
            if len(buffer) >= _BUFFER:
                await run_in_threadpool(file.write, bytes(buffer))
                buffer.clear()
        file.write(bytes(buffer))
        return file.done()
