"""Files dropped on the page: one at once, or many together as a job with progress.

Only bytes are taken, never a path of the server's machine.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from motionloom.errors import InvalidInput
from motionloom.studio.dependencies import Shop
from motionloom.studio.jobs import Job
from motionloom.studio.uploads import LARGEST_FILE, MOST_FILES, Batch

router = APIRouter(prefix="/uploads", tags=["uploads"])

_BODY = {
    "requestBody": {
        "description": "The bytes of the file.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "required": True,
    }
}
_WRITTEN_AT_ONCE = 1 << 20  # bytes gathered before the disk is asked


class Begun(BaseModel):
    """A batch that files can be sent to, and its bounds."""

    id: str
    most_files: int = MOST_FILES
    largest_file: int = LARGEST_FILE


class Imported(BaseModel):
    """What was imported; the same as ``motionloom import --json``, and the motions' names."""

    added: int
    replaced: int
    skipped: int
    failed: list[dict[str, str]]
    frames: int
    seconds: float
    names: list[str]


class Import(BaseModel):
    """How the files of a batch are imported."""

    label_by_folder: bool = False


@router.put("/{filename}", openapi_extra=_BODY)
async def upload(filename: str, request: Request, shop: Shop) -> Imported:
    """Import one file, sent as the body; its name ends in the suffix of its format."""
    batch = await run_in_threadpool(shop.incoming.begin)
    try:
        await _arrived(batch, filename, request)
        if not batch.motions:
            raise InvalidInput(f"{filename} gives no motion by itself; send its folder")
        told = await run_in_threadpool(_imported, shop, batch, Import(), lambda steps: None)
    finally:
        shop.incoming.take(batch.key).remove()
    if told["failed"]:
        raise InvalidInput(f"{filename}: {told['failed'][0]['reason']}")
    return Imported(**told)


@router.post("")
def begin(shop: Shop) -> Begun:
    """Begin a batch of several files, as of a dropped folder."""
    return Begun(id=shop.incoming.begin().key)


@router.put("/{id}/files/{name:path}", openapi_extra=_BODY)
async def send(id: str, name: str, request: Request, shop: Shop) -> dict[str, int]:
    """One file of a batch, sent as the body; its name may have folders. How many bytes came."""
    return {"bytes": await _arrived(shop.incoming[id], name, request)}


@router.post("/{id}/import")
def import_batch(id: str, how: Import, shop: Shop) -> dict[str, Any]:
    """Import the batch as a job: ``done`` of ``total`` files; its result is `Imported`."""
    if not shop.incoming[id].motions:
        raise InvalidInput("no motion file was sent; there is nothing to import")
    batch = shop.incoming.take(id)

    def work(job: Job) -> dict[str, Any]:
        try:
            return _imported(shop, batch, how, job.advance)
        finally:
            batch.remove()

    return shop.jobs.start("importing", work, total=batch.motions).told()


@router.delete("/{id}")
def give_up(id: str, shop: Shop) -> dict[str, Any]:
    """Forget a batch; its files are removed."""
    shop.incoming.take(id).remove()
    return {}


def _imported(shop, batch: Batch, how: Import, progress) -> dict[str, Any]:
    try:
        return batch.add_to(shop.library, by_folder=how.label_by_folder, progress=progress)
    finally:
        shop.changed("motions")  # also if it was stopped: what came before is in the library


async def _arrived(batch: Batch, name: str, request: Request) -> int:
    """Write the body to a file of the batch as it comes; how long it is."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > LARGEST_FILE:
        raise InvalidInput(
            f"{name}: a file may have {LARGEST_FILE >> 20} MB here; "
            "use motionloom import for larger ones"
        )
    with batch.open(name) as file:
        held = bytearray()
        async for part in request.stream():
            held += part
            if len(held) >= _WRITTEN_AT_ONCE:
                await run_in_threadpool(file.write, bytes(held))
                held.clear()
        file.write(bytes(held))
        return file.done()
