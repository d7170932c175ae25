"""Responses with arrays, motions and files."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from fastapi import Request, Response
from numpy.typing import ArrayLike

from motionloom.errors import InvalidInput
from motionloom.formats import save
from motionloom.motion import Motion, Scene
from motionloom.motion.diagnostics.quality import QualityReport
from motionloom.studio.messages import motion_message, pack

FileFormat = Literal["bvh", "glb", "fbx", "usd"]

_MEDIA = {
    "bvh": "text/plain",
    "glb": "model/gltf-binary",
    "fbx": "application/octet-stream",
    "usd": "model/vnd.usd",
}


def array_response(meta: dict[str, Any], **arrays: ArrayLike) -> Response:
    """A response with the message of `pack`."""
    return Response(pack(meta, **arrays), media_type="application/octet-stream")


def quality_head(report: QualityReport | None) -> dict[str, Any] | None:
    """The quality of a synthesized motion: its line, its warnings, and all figures."""
    return None if report is None else {"line": report.line(), **report.to_json()}


def motion_response(motion: Motion, **meta: Any) -> Response:
    """A whole motion, as `motion_message` packs it."""
    return Response(motion_message(motion, **meta), media_type="application/octet-stream")


def file_response(motion: Motion, suffix: FileFormat) -> Response:
    """The motion as a file, written by `Motion.save`."""
    with tempfile.TemporaryDirectory() as folder:
        path = motion.save(Path(folder) / f"motion.{suffix}")
        return Response(Path(path).read_bytes(), media_type=_MEDIA[suffix])


def scene_file_response(
    motions: Sequence[Motion], suffix: FileFormat = "glb", *, compact: bool = False
) -> Response:
    """Several characters in one file: GLB, FBX or USD."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"motions.{suffix}"
        save(Scene(motions), path, compact=compact and suffix == "glb")
        return Response(path.read_bytes(), media_type=_MEDIA[suffix])


async def request_body(request: Request, limit: int, what: str) -> bytes:
    """Body of a request, read up to a limit.

    Raises
    ------
    InvalidInput
        If it is longer than `limit` bytes, whatever its header says.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise InvalidInput(f"{what} may have at most {limit >> 20} MB; this one has more")
        parts.append(part)
    return b"".join(parts)
