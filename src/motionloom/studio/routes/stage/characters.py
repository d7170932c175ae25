"""The user's characters: skinned meshes from GLB files and robots, on which motions are shown.

`motionloom.formats.gltf` reads the file, motions are retargeted by joint role, and the page draws
the mesh in the same way as the neutral body. Characters are kept until the server stops.

Takes and matches are shown at the character's size. Synthesized motions (walks, dances, blends,
controllers) are shown at the size of their performer, so that they still follow their path or reach
their target; the page scales the character by ``size`` in the header.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.formats import gltf
from motionloom.formats.own_character import character_meshes, load_character
from motionloom.formats.robot import is_robot_model
from motionloom.motion.kinematics.body import leg_length
from motionloom.studio.messages import skeleton_head
from motionloom.studio.responses import Bones, motion_response, request_body
from motionloom.studio.state.app_state import AppState, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from motionloom.character import SkinnedMesh
    from motionloom.motion import Motion, Skeleton

router = APIRouter(prefix="/characters", tags=["characters"])

BODY = "character-"  # prefix of the body key of a character
_MAX_BYTES = 64 << 20
_MAX_VERTICES = 300_000
_MAX_PIXELS = 1 << 26  # per texture
_MAX_ALL_PIXELS = 1 << 28  # of all textures of a character, which are decoded one at a time
_TEXTURE_SIDE = 4096  # pixels; larger textures are reduced
_decoding = threading.Lock()  # one texture at a time: the largest takes 400 MB
_PAINT = (0.62, 0.66, 0.72)  # used if the file does not define a color


class CharacterInfo(BaseModel):
    """An uploaded character."""

    id: str
    name: str
    vertices: int
    joints: int


@dataclass(frozen=True, eq=False)
class OwnCharacter:
    """A character: its file, its skeleton with a pose, and its mesh for the page."""

    info: CharacterInfo
    motion: Motion
    mesh: dict[str, Any]
    folder: tempfile.TemporaryDirectory[str]  # deleted with this object

    @property
    def body(self) -> str:
        """Key of the mesh, for ``GET /api/bodies/KEY``."""
        return f"{BODY}{self.info.id}"

    def size_on(self, skeleton: Skeleton) -> float:
        """Return the scale at which the character's legs are as long as a performer's."""
        return leg_length(skeleton) / leg_length(self.motion.skeleton)

    def head(self, performer: Skeleton) -> Bones:
        """Return the message header of the skeleton, with its body, scaled to a performer."""
        bones = skeleton_head(self.motion.skeleton, self.motion)
        return {**bones, "body": self.body, "size": self.size_on(performer)}


@router.put("/{filename}")
async def send_character(filename: str, request: Request, state: State) -> CharacterInfo:
    """Upload a character on which to show takes, as the body.

    A character is a GLB file with a skinned mesh, or a robot model (``.xml``, ``.urdf``), which is
    shown with its plain shapes.
    """
    data = await request_body(request, _MAX_BYTES, "a character")
    if Path(filename).suffix.lower() != ".glb" and not is_robot_model(filename):
        raise InvalidInput(f"a character must be a GLB file or a robot; got {filename[:100]}")
    key = hashlib.sha256(data).hexdigest()[:16]
    made = await run_in_threadpool(
        state.cached, ("character", key), lambda: _read(data, filename, key, state)
    )
    return made.info


@router.get("/{key}")
def character(key: str, state: State) -> CharacterInfo:
    """Return an uploaded character."""
    return character_of(state, key).info


def character_of(state: AppState, key: str) -> OwnCharacter:
    """Return the character with an id; only the latest few are kept."""

    def missing() -> OwnCharacter:
        raise InvalidInput("this character is no longer available; drop its file again")

    return state.cached(("character", key), missing)


def on_character(
    state: AppState, own: OwnCharacter, name: str, start: int = 0, end: int | None = None
) -> Motion:
    """Retarget frames ``[start, end)`` of a take to a character."""
    key = ("on-character", own.info.id, name, state.library.store.entry(name).digest, start, end)
    return state.cached(key, lambda: state.library[name][start:end].retarget(own.motion))


def worn(
    state: State,
    character: Annotated[
        str | None, Query(description="Id of the character that shows the motion.")
    ] = None,
) -> OwnCharacter | None:
    """Return the character that a request refers to, or None."""
    return character_of(state, character) if character else None


Worn = Annotated[OwnCharacter | None, Depends(worn)]


def shown_head(skeleton: Skeleton, own: OwnCharacter | None) -> Bones:
    """Return the message header of the skeleton that shows a motion: performer or character."""
    return skeleton_head(skeleton) if own is None else own.head(skeleton)


def made_response(motion: Motion, own: OwnCharacter | None, **meta: Any) -> Response:
    """Return a synthesized motion, retargeted to the selected character, if any."""
    if own is None:
        return motion_response(motion, **meta)
    moved = motion.retarget(own.motion)
    size = own.size_on(motion.skeleton)
    return motion_response(moved, name=motion.name, body=own.body, size=size, **meta)


def _read(data: bytes, filename: str, key: str, state: AppState) -> OwnCharacter:
    folder = tempfile.TemporaryDirectory(prefix="motionloom-")
    path = Path(folder.name) / f"character{Path(filename).suffix.lower()}"
    path.write_bytes(data)
    try:
        motion = load_character(path)
        if is_robot_model(path):
            parts = character_meshes(motion)
            if not parts:
                raise InvalidInput("the robot has no plain shapes to show; convert it to GLB")
        else:
            parts = gltf.character.meshes(path, motion.skeleton, max_vertices=_MAX_VERTICES)
        mesh = _merged(parts)
        if state.library.names:  # raises if takes cannot be retargeted to it
            state.library[state.library.names[0]][:2].retarget(motion)
    except MotionloomError as error:  # hide the path of the temporary file
        raise InvalidInput(str(error).replace(str(path), filename)) from None
    info = CharacterInfo(
        id=key,
        name=Path(filename).stem,
        vertices=len(mesh["vertices"]),
        joints=len(motion.skeleton),
    )
    return OwnCharacter(info, motion, mesh, folder)


def _merged(meshes: Sequence[SkinnedMesh]) -> dict[str, Any]:
    """Merge all meshes into one, in the first mesh's bind pose, with a color per vertex."""
    bind = meshes[0].bind
    first = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    bound = [_bound(mesh, bind) for mesh in meshes]
    colors = _all_colors(meshes)
    return {
        "vertices": np.concatenate([vertices for vertices, _ in bound]),
        "normals": np.concatenate([normals for _, normals in bound]),
        "triangles": np.concatenate(
            [
                mesh.triangles.astype(np.int32) + start
                for mesh, start in zip(meshes, first, strict=False)
            ]
        ),
        "joints": np.concatenate([mesh.joints for mesh in meshes]).astype(np.int32),
        "weights": np.concatenate([mesh.weights for mesh in meshes]),
        "unbind": np.linalg.inv(bind)[:, :3].astype(np.float32),
        "colors": np.concatenate(colors),
    }


def _bound(mesh: SkinnedMesh, bind: NDArray) -> tuple[NDArray, NDArray]:
    """Return the vertices and normals of a mesh in the common bind pose."""
    if np.allclose(mesh.bind, bind, atol=1e-6):
        return mesh.vertices, mesh.normals
    moves = bind @ np.linalg.inv(mesh.bind)
    vertices, normals = np.zeros_like(mesh.vertices), np.zeros_like(mesh.normals)
    for column in range(mesh.joints.shape[1]):
        move, share = moves[mesh.joints[:, column]], mesh.weights[:, column, None]
        turned = np.einsum("vij,vj->vi", move[:, :3, :3], mesh.vertices) + move[:, :3, 3]
        vertices += (share * turned).astype(np.float32)
        normals += (share * np.einsum("vij,vj->vi", move[:, :3, :3], mesh.normals)).astype(
            np.float32
        )
    return vertices, normals


def _all_colors(meshes: Sequence[SkinnedMesh]) -> list[NDArray[np.float32]]:
    """Return the linear colors (V, 3) of each mesh: material color times texture at each vertex."""
    colors: list[NDArray[np.float32]] = []
    textured: dict[bytes, list[tuple[int, NDArray]]] = defaultdict(list)
    for number, mesh in enumerate(meshes):
        look = mesh.material
        paint = np.array(_PAINT if look is None else look.color, np.float32)
        colors.append(np.tile(paint, (len(mesh.vertices), 1)))
        if look is not None and look.texture is not None and mesh.uvs is not None:
            textured[look.texture].append((number, mesh.uvs))
    left = _MAX_ALL_PIXELS
    for texture, users in textured.items():  # each is decoded once, for all of its meshes
        pixels, count = _image(texture, min(_MAX_PIXELS, left))
        left -= count
        if pixels is not None:
            for number, uvs in users:
                colors[number] *= _at_vertices(pixels, uvs)
    return colors


def _at_vertices(pixels: NDArray[np.uint8], uvs: NDArray) -> NDArray[np.float32]:
    """Return the linear color (V, 3) of a texture at each vertex."""
    height, width = pixels.shape[:2]
    u, v = np.mod(np.nan_to_num(uvs), 1.0).T
    rows = np.minimum((v * height).astype(int), height - 1)
    columns = np.minimum((u * width).astype(int), width - 1)
    srgb = pixels[rows, columns].astype(np.float32) / np.float32(255.0)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def _image(data: bytes, most: int) -> tuple[NDArray[np.uint8] | None, int]:
    """Return the pixels (H, W, 3) of a PNG or JPEG file, or None, and how many were decoded.

    Files that are damaged or have more than `most` pixels give None.
    """
    from PIL import Image

    count = 0
    try:
        with _decoding, Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as image:
            if image.width * image.height > most:
                return None, 0
            count = image.width * image.height
            side = _TEXTURE_SIDE
            image.draft("RGB", (side, side))  # decodes large JPEG files at a smaller size
            reduced = (min(image.width, side), min(image.height, side))
            if image.size == reduced:
                return np.asarray(image.convert("RGB")), count
            smaller = image.resize(reduced, Image.Resampling.NEAREST)
            return np.asarray(smaller.convert("RGB")), count
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None, count
