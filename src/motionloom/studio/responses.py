"""Responses with arrays, motions and files, and the types of their heads.

Heads and results of jobs are typed dictionaries: plain JSON where they are made, checked by mypy,
and described in the OpenAPI document, from which the page's TypeScript types are generated.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from numpy.typing import ArrayLike
from pydantic import ConfigDict
from typing_extensions import TypedDict

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


class NoHead(TypedDict):
    """Arrays alone, or nothing."""


class Bones(TypedDict):
    """Points of a skeleton: joints, then end sites.

    `body` is the key of its body, null if it has too few roles for one; `size` the scale at which
    it is shown, 1 by default: a user's own character has the size of the performer.
    """

    joints: list[str]
    parents: list[int]
    roles: dict[str, int]
    body: NotRequired[str | None]
    size: NotRequired[float]


class NamedBones(Bones):
    """A character of a scene."""

    name: str


class MotionHead(NamedBones):
    """Head of a motion; `seam` and `blend` are frames of a transition."""

    fps: float
    frames: int
    seam: NotRequired[int]
    blend: NotRequired[int]


class SceneHead(TypedDict):
    """Head of several characters."""

    fps: float
    frames: int
    characters: list[NamedBones]


class Quality(TypedDict):
    """Quality of a synthesized motion: one line, a sentence for each limit passed, all figures."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    line: str
    warnings: list[str]


class MatchRow(TypedDict):
    """A match, as ``motionloom search --json`` prints it; `start` and `end` are seconds."""

    motion: str
    start_frame: int
    end_frame: int
    start: float
    end: float
    distance: float
    tier: int
    label: str | None
    mirrored: bool


class SourceRow(TypedDict):
    """Frames of a take in a synthesized motion: frames ``[start, end)`` of the result."""

    motion: str
    start_frame: float
    end_frame: float
    start: int
    end: int
    weight: float
    part: NotRequired[str]
    mirrored: NotRequired[bool]


class ResultId(TypedDict):
    """Result of a job that is requested by its id."""

    id: str


class FrameCount(TypedDict):
    """Result of a job that computes a motion."""

    frames: int


class ArrayResponse(JSONResponse):
    """Packed arrays; the response model of a route is the head of its message."""

    media_type = "application/octet-stream"

    def render(self, content: bytes) -> bytes:
        """The message as it is."""
        return content


def array_response(meta: Mapping[str, Any], **arrays: ArrayLike) -> Response:
    """A response with the message of `pack`."""
    return ArrayResponse(pack(meta, **arrays))


def quality_head(report: QualityReport | None) -> Quality | None:
    """The quality of a synthesized motion: its line, its warnings, and all figures."""
    if report is None:
        return None
    head: Any = {"line": report.line(), **report.to_json()}
    return head


def motion_response(motion: Motion, **meta: Any) -> Response:
    """A whole motion, as `motion_message` packs it."""
    return ArrayResponse(motion_message(motion, **meta))


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
