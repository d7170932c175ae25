"""Motions and music as files for whoever downloads or hears them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fastapi import Response

from motionloom.motion import Motion

if TYPE_CHECKING:
    from motionloom.synthesis.rhythm.music import Music

Suffix = Literal["bvh", "glb"]
_MEDIA = {"bvh": "text/plain", "glb": "model/gltf-binary"}


def file_answer(motion: Motion, suffix: Suffix) -> Response:
    """The motion in a format that other programs read, as `Motion.save` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = motion.save(Path(folder) / f"motion.{suffix}")
        return Response(Path(path).read_bytes(), media_type=_MEDIA[suffix])


def troupe_answer(motions: Sequence[Motion], *, compact: bool = False) -> Response:
    """Several characters in one GLB file."""
    from motionloom.formats.gltf import write

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motions.glb"
        write(list(motions), path, compact=compact)
        return Response(path.read_bytes(), media_type=_MEDIA["glb"])


def sound_of(music: Music) -> bytes:
    """The notes and beats of a piece of music as a WAV file."""
    from motionloom.synthesis.rhythm.sound import write_sound

    with tempfile.TemporaryDirectory() as folder:
        return write_sound(music, Path(folder) / "sound.wav").read_bytes()
