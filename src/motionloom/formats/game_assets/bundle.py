"""Folders for game engines: one character, all takes, a manifest, instructions and import scripts.

The manifest, ``takes.json``, lists for each take its animation, labels, gaits, speeds, foot
contacts, footsteps, beats and loop points. Templates of projects and scripts are in ``templates``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character import SkinnedMesh, figure_mesh
from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.formats import fbx, gltf
from motionloom.formats.fbx.writer import euler_curves
from motionloom.formats.game_assets.gltf_file import write_gltf
from motionloom.formats.game_assets.key_reduction import ReducedKeys, reduce_keys
from motionloom.formats.game_assets.take import BEHIND, GameTake
from motionloom.formats.scene_nodes import figure_kind
from motionloom.formats.settings import GameSettings
from motionloom.motion import Motion, Skeleton

VERSION = 1
MANIFEST = "takes.json"
# For each engine, the format of its animations, and the folder for them.
ENGINES = {
    "glb": ("glb", ""),
    "fbx": ("fbx", ""),
    "godot": ("glb", "motion"),
    "unity": ("fbx", "Assets/Motionloom"),
    "unreal": ("fbx", ""),
}
# The measured error may use this share of the limit. The rest is for the rounding of programs.
_MARGIN = 0.9


@dataclass(frozen=True)
class AssetReport:
    """Summary of an export to a game engine.

    Attributes
    ----------
    files : tuple of Path
    takes, frames, bones, keys : int
        Numbers of takes, frames, bones, and keys of all tracks.
    fps : float
    size : int
        Total size of the files in bytes.
    error : float
        Greatest distance of any joint from its place in any frame, in meters.
    """

    files: tuple[Path, ...]
    takes: int
    frames: int
    bones: int
    keys: int
    fps: float
    size: int
    error: float

    def sentence(self) -> str:
        """Return the summary in one line."""
        return (
            f"{self.takes} takes, {self.frames} frames at {self.fps:g} fps, {self.bones} bones; "
            f"{self.size / 1e6:.2f} MB; all joints within {1000.0 * self.error:.3f} mm"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return {
            "files": [str(file) for file in self.files],
            "takes": self.takes,
            "frames": self.frames,
            "bones": self.bones,
            "keys": self.keys,
            "fps": self.fps,
            "bytes": self.size,
            "error_mm": round(1000.0 * self.error, 4),
        }


def write_assets(
    takes: Sequence[GameTake],
    body: Skeleton,
    folder: Path,
    engine: str,
    settings: GameSettings,
    *,
    title: str = "motionloom takes",
    about: Mapping[str, Any] | None = None,
    data: Mapping[str, bytes] | None = None,
) -> AssetReport:
    """Write a folder for a game engine.

    Parameters
    ----------
    takes : sequence of GameTake
        Takes on one skeleton with one frame rate.
    body : Skeleton
        That skeleton, without the root bone.
    folder : Path
        Output folder; it is created if necessary.
    engine : {"glb", "fbx", "godot", "unity", "unreal"}
    settings : GameSettings
    title : str
        Name of the export, shown in its instructions.
    about : mapping, optional
        Additional entries of the manifest.
    data : mapping of str to bytes, optional
        Additional files next to the manifest.
    """
    if not takes:
        raise InvalidInput("an export for a game engine needs at least one take")
    suffix, below = ENGINES[engine]
    place = folder / below
    place.mkdir(parents=True, exist_ok=True)
    writer = _Writer(takes, body, suffix, settings)
    written, owners = writer.write(place)
    manifest = place / MANIFEST
    root = takes[0].motion.skeleton
    content = {
        "format": "motionloom takes",
        "version": VERSION,
        "fps": takes[0].motion.fps,
        "unit": "m",
        "up": "y",
        "error_mm": round(1000.0 * writer.error, 4),
        "skeleton": {
            "root": root.names[0],
            "bones": list(root.names),
            "parents": root.parents.tolist(),
            "roles": dict(root.roles),
        },
        "takes": [
            {**take.described(), "file": file} for take, file in zip(takes, owners, strict=True)
        ],
        **(about or {}),
    }
    with atomic_write(manifest) as scratch:
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        scratch.write_text(text.replace('{"name":', '\n{"name":'), encoding="utf-8")
    written.append(manifest)
    for name, raw in (data or {}).items():
        with atomic_write(place / name) as scratch:
            scratch.write_bytes(raw)
        written.append(place / name)
    facts = {
        "title": title,
        "takes": len(takes),
        "fps": f"{takes[0].motion.fps:g}",
        "error": f"{1000.0 * writer.error:.3f}",
        "first": takes[0].name,
        "root": root.names[0],
        "file": owners[0],
        "matching": "yes" if data else "no",
    }
    written += _templates(engine, folder, facts)
    return AssetReport(
        tuple(written),
        len(takes),
        sum(len(take.motion) for take in takes),
        len(root),
        writer.keys,
        takes[0].motion.fps,
        sum(file.stat().st_size for file in written),
        writer.error,
    )


class _Writer:
    """Writer of the animation files of one export."""

    def __init__(
        self, takes: Sequence[GameTake], body: Skeleton, suffix: str, settings: GameSettings
    ) -> None:
        self.takes, self.suffix, self.settings = takes, suffix, settings
        self.error, self.keys = 0.0, 0
        self.character: str | None = None
        self.meshes: list[SkinnedMesh] = []
        source = settings.character
        first = takes[0].motion
        if source is not None:
            from_gltf = Path(source).suffix.lower() != ".fbx"
            if from_gltf and suffix == "glb" and not gltf.character.is_detached(source, body):
                self.character = source
            else:
                own = (gltf.character if from_gltf else fbx.reader).meshes(source, body)
                self.meshes = [_rooted(mesh) for mesh in own]
        elif suffix == "fbx":
            figure = figure_mesh(first.skeleton, kind=figure_kind(settings.mesh), example=first)
            self.meshes = [] if figure is None else [_on_floor(figure)]

    def write(self, place: Path) -> tuple[list[Path], list[str]]:
        """Write the files; return their paths, and the file name of each take."""
        named = [(take.name, self._reduced(take.motion)) for take in self.takes]
        if not self.settings.separate:
            file = place / f"takes.{self.suffix}"
            self._file(named, file, bare=False)
            return [file], [file.name] * len(named)
        body = place / f"character.{self.suffix}"
        self._file(named[:1], body, bare=False)
        owners = []
        for name, keys in named:
            self._file([(name, keys)], place / f"{name}.{self.suffix}", bare=True)
            owners.append(f"{name}.{self.suffix}")
        return [body, *(place / owner for owner in owners)], owners

    def _reduced(self, motion: Motion) -> ReducedKeys:
        euler = euler_curves(motion.rotations) if self.suffix == "fbx" else None
        limit = _MARGIN * self.settings.max_error / 1000.0
        # The axes of a character's file may differ above the hips, so these are not rounded here.
        exact = 0 if self.character is None else 2
        keys = reduce_keys(motion, limit, euler=euler, short=euler is None, unrounded=exact)
        self.error = max(self.error, keys.error)
        self.keys += keys.keys
        return keys

    def _file(self, named: Sequence[tuple[str, ReducedKeys]], path: Path, *, bare: bool) -> None:
        if self.suffix == "glb":
            write_gltf(
                named,
                path,
                character=None if bare else self.character,
                meshes=() if bare else self.meshes,
                mesh="none" if bare else str(self.settings.mesh),
            )
            return
        rows = [(name, keys.motion, keys.turns, keys.steps) for name, keys in named]
        fbx.writer.write_takes(rows, path, () if bare else self.meshes)


def _root_bind() -> NDArray[np.float64]:
    """Return the matrix (1, 4, 4) of the root bone in the bind pose; it moves no vertices."""
    bind = np.eye(4)[None]
    bind[0, :3, 3] = -BEHIND
    return bind


def _on_floor(figure: SkinnedMesh) -> SkinnedMesh:
    """Return a figure whose root bone is on the floor in the bind pose."""
    return replace(figure, bind=np.concatenate([_root_bind(), figure.bind[1:]]))


def _rooted(mesh: SkinnedMesh) -> SkinnedMesh:
    """Return a mesh for the skeleton with a root bone in front of its joints."""
    bind = np.concatenate([_root_bind(), mesh.bind])
    return replace(mesh, joints=(mesh.joints + 1).astype(mesh.joints.dtype), bind=bind)


def _templates(engine: str, folder: Path, facts: Mapping[str, Any]) -> list[Path]:
    """Copy the files of an engine; in README.md and project files, facts replace ``$name``."""
    written = []
    root = files("motionloom.formats.game_assets").joinpath("templates", engine)
    for name, file in sorted(_walk(root)):
        path = folder / name.removesuffix(".template")  # no tool takes it for a module of ours
        path.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8")
        if Path(name).suffix in (".md", ".godot", ".import"):
            plain = {key: plain_text(str(value)) for key, value in facts.items()}
            text = Template(text).safe_substitute(plain)
        with atomic_write(path) as scratch:
            scratch.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def plain_text(text: str) -> str:
    """Return a name for the templates, without characters that end a string or a line there."""
    return "".join(c if c.isprintable() and c not in '"`\\|<>' else "_" for c in text)


def _walk(root: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    for item in root.iterdir():
        if item.is_dir():
            yield from _walk(item, f"{above}{item.name}/")
        else:
            yield above + item.name, item
