"""What every request is given: the workshop, and bytes as an answer.

Motions and music as files for whoever downloads or hears them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Depends, Request, Response
from numpy.typing import ArrayLike

from motionloom.errors import InvalidInput
from motionloom.formats import save
from motionloom.motion import Motion, Scene
from motionloom.studio import wire
from motionloom.studio.app_state import Workshop

if TYPE_CHECKING:
    from motionloom.rhythm.music.music import Music


def _workshop(request: Request) -> Workshop:
    return request.app.state.workshop


Shop = Annotated[Workshop, Depends(_workshop)]


def arrays(meta: dict[str, Any], **values: ArrayLike) -> Response:
    """An answer of arrays, packed by `wire.pack`."""
    return Response(wire.pack(meta, **values), media_type=wire.MEDIA_TYPE)


async def body_of(request: Request, largest: int, what: str) -> bytes:
    """The body of a request, read only as far as it is allowed to be long.

    Raises
    ------
    InvalidInput
        If it is longer than `largest` bytes, whatever its header says.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > largest:
            raise InvalidInput(f"{what} may have {largest >> 20} MB; this one has more")
        parts.append(part)
    return b"".join(parts)


Suffix = Literal["bvh", "glb"]
_MEDIA = {"bvh": "text/plain", "glb": "model/gltf-binary"}


def file_answer(motion: Motion, suffix: Suffix) -> Response:
    """The motion in a format that other programs read, as `Motion.save` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = motion.save(Path(folder) / f"motion.{suffix}")
        return Response(Path(path).read_bytes(), media_type=_MEDIA[suffix])


def scene_answer(motions: Sequence[Motion], *, compact: bool = False) -> Response:
    """Several characters in one GLB file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motions.glb"
        save(Scene(motions), path, compact=compact)
        return Response(path.read_bytes(), media_type=_MEDIA["glb"])


def sound_of(music: Music) -> bytes:
    """The notes and beats of a piece of music as a WAV file."""
    from motionloom.rhythm.music.audio import write_sound

    with tempfile.TemporaryDirectory() as folder:
        return write_sound(music, Path(folder) / "sound.wav").read_bytes()
