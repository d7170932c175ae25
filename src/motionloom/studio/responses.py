"""Responses with arrays, motions and files, and the types of their headers.

Headers and job results are typed dictionaries: plain JSON, checked by mypy, and described in the
OpenAPI document, from which the page's TypeScript types are generated.
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
    """Empty header for a message that has only arrays."""


class Bones(TypedDict):
    """Points of a skeleton, joints first and then end sites.

    `body` is the key of its body, or null if there are too few roles. `size` is the display scale,
    1 by default; a user's character is scaled to the size of the performer.
    """

    joints: list[str]
    parents: list[int]
    roles: dict[str, int]
    body: NotRequired[str | None]
    size: NotRequired[float]


class NamedBones(Bones):
    """The bones of one character in a scene."""

    name: str


class MotionHead(NamedBones):
    """Message header of a motion; for a transition, `seam` is its frame and `blend` its length."""

    fps: float
    frames: int
    seam: NotRequired[int]
    blend: NotRequired[int]


class SceneHead(TypedDict):
    """Message header of several characters."""

    fps: float
    frames: int
    characters: list[NamedBones]


class WorstRow(TypedDict):
    """The worst frame of a measure; the value is beyond its limit if it is greater."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    measure: str
    value: float
    limit: float
    second: float


class SeamRow(TypedDict):
    """A seam between the takes `before` and `after`."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    second: float
    before: str
    after: str
    ratio: float


class Quality(TypedDict):
    """Quality of a synthesized motion: summary, warnings about exceeded limits, measurements."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    line: str
    warnings: list[str]
    worst: list[WorstRow]
    rough_seams: list[SeamRow]


class MatchRow(TypedDict):
    """A match, as printed by ``motionloom search --json``; `start` and `end` are in seconds."""

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
    """The take and frames from which frames ``[start, end)`` of a synthesized motion come."""

    motion: str
    start_frame: float
    end_frame: float
    start: int
    end: int
    weight: float
    part: NotRequired[str]
    mirrored: NotRequired[bool]


class ResultId(TypedDict):
    """Id for requesting the result of a job."""

    id: str


class FrameCount(TypedDict):
    """Number of frames of a motion that a job has computed."""

    frames: int


class ArrayResponse(JSONResponse):
    """Response with packed arrays; the response model of a route is the message header."""

    media_type = "application/octet-stream"

    def render(self, content: bytes) -> bytes:
        """Return the message unchanged."""
        return content


def array_response(meta: Mapping[str, Any], **arrays: ArrayLike) -> Response:
    """Return a response whose body is packed by `pack`."""
    return ArrayResponse(pack(meta, **arrays))


def quality_head(report: QualityReport | None) -> Quality | None:
    """Return the quality of a synthesized motion: a summary, warnings, and all measurements."""
    if report is None:
        return None
    head: Any = {"line": report.line(), **report.to_json()}
    return head


def motion_response(motion: Motion, **meta: Any) -> Response:
    """Return a whole motion, packed by `motion_message`."""
    return ArrayResponse(motion_message(motion, **meta))


def file_response(motion: Motion, suffix: FileFormat) -> Response:
    """Return the motion as a file, written by `Motion.save`."""
    with tempfile.TemporaryDirectory() as folder:
        path = motion.save(Path(folder) / f"motion.{suffix}")
        return Response(Path(path).read_bytes(), media_type=_MEDIA[suffix])


def scene_file_response(
    motions: Sequence[Motion], suffix: FileFormat = "glb", *, compact: bool = False
) -> Response:
    """Return several characters in one GLB, FBX or USD file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"motions.{suffix}"
        save(Scene(motions), path, compact=compact and suffix == "glb")
        return Response(path.read_bytes(), media_type=_MEDIA[suffix])


async def request_body(request: Request, limit: int, what: str) -> bytes:
    """Read the body of a request, up to a limit.

    Raises
    ------
    InvalidInput
        If the body is longer than `limit` bytes, even if its header states a smaller size.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise InvalidInput(f"{what} may have at most {limit >> 20} MB; this one is larger")
        parts.append(part)
    return b"".join(parts)
