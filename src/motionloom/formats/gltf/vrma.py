"""VRM Animation files (``.vrma``): glTF files with a human bone map, for VRM avatars.

Players apply rotations relative to the rest pose, so the specification requires that the nodes rest
in a T-pose that faces +Z. The writer converts any other rest pose of the skeleton.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from motionloom.character import t_pose
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import atomic_write
from motionloom.formats.gltf.container import glb_bytes
from motionloom.formats.gltf.reader import HUMAN_BONES as BONES
from motionloom.formats.gltf.reader import read as read_gltf
from motionloom.formats.gltf.reader import read_takes as read_gltf_takes
from motionloom.formats.gltf.reader import takes
from motionloom.formats.gltf.writer import gltf_document
from motionloom.formats.takes import FileTake
from motionloom.motion import Motion

__all__ = ["read", "read_takes", "takes", "write"]

_EXTENSION = "VRMC_vrm_animation"
_OPTIONAL = {"chest", "neck", *(f"{s}_{p}" for s in ("left", "right") for p in ("collar", "foot"))}


def read(
    path: str | Path,
    *,
    animation: str | int | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Motion:
    """Read one motion from a VRM Animation file; see `motionloom.load` for the options."""
    motion = read_gltf(
        path, animation=animation, fps=fps, unit=unit, up=up, roles=roles, strict=strict
    )
    return replace(motion, origin=replace(motion.origin, format="vrma"))


def read_takes(
    path: str | Path, **options: Any
) -> Iterator[tuple[FileTake, Motion | MotionFormatError]]:
    """Read all takes of a VRM Animation file."""
    for take, motion in read_gltf_takes(path, **options):
        if isinstance(motion, Motion):
            motion = replace(motion, origin=replace(motion.origin, format="vrma"))
        yield take, motion


def write(motion: Motion, path: str | Path, *, compact: bool = False) -> None:
    """Write one motion as VRM Animation; see `motionloom.save`.

    Joints with a role become human bones. VRM requires roles for the spine, head, arms and legs.
    """
    skeleton = motion.skeleton
    joints = {role: name for role, name in skeleton.roles.items() if name in skeleton.names}
    missing = [role for role in BONES if role not in joints and role not in _OPTIONAL]
    if missing:
        raise InvalidInput(
            f"a VRM Animation needs joints for roles that are missing: {', '.join(missing)}"
        )
    posed = replace(skeleton, rest=t_pose(skeleton, motion), role_map=dict(skeleton.roles))
    cast = [(motion.name, replace(motion, skeleton=posed))]
    document, binary = gltf_document(cast, kind="none", compact=compact)
    bones: dict[str, dict[str, int]] = {}
    for role, bone in BONES.items():
        node = skeleton.names.index(joints[role]) if role in joints else -1
        if node >= 0 and all(taken["node"] != node for taken in bones.values()):
            bones[bone] = {"node": node}
    document["extensionsUsed"] = [_EXTENSION]
    document["extensions"] = {_EXTENSION: {"specVersion": "1.0", "humanoid": {"humanBones": bones}}}
    with atomic_write(path) as scratch:
        scratch.write_bytes(glb_bytes(document, binary))
