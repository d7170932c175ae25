"""User characters: skinned meshes in glTF or FBX files, and robots, as retargeting targets.

``motion.origin.character`` names the file of a motion's character, and `motionloom.save` then
writes the meshes from that file instead of the neutral body. When a glTF character is saved as
glTF, the whole file is preserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from motionloom.character import SkinnedMesh
from motionloom.errors import InvalidInput
from motionloom.formats.registry import load
from motionloom.formats.robot import MODEL_SUFFIXES, is_robot_model, load_robot
from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot

_GLTF = (".glb", ".gltf", ".vrm")
SUFFIXES = (*_GLTF, ".fbx")
ALL_SUFFIXES = (*SUFFIXES, *MODEL_SUFFIXES)


def load_character(
    path: str | Path, *, roles: str | Path | Mapping[str, str] | None = None
) -> Motion:
    """Load a character file as a motion on its skeleton, for `Motion.retarget`.

    `roles` is a mapping from roles to joints, or a file with one, as in `motionloom.load`.

    Raises
    ------
    InvalidInput
        If the file is neither glTF nor FBX nor a robot model.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hero = ml.demo.clip("walk", performer=2).save(f"{folder}/hero.glb")
    ...     load_character(hero).origin.character == str(hero)
    True
    """
    path = Path(path)
    if is_robot_model(path):
        robot = load_robot(path, roles=roles)
        base = np.tile(rot.IDENTITY, (1, 1))
        pose = robot.motion(np.zeros((1, 3)), base, np.zeros((1, len(robot.joint_names))), 30.0)
        return replace(pose.rest_pose(), origin=pose.origin)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(
            f"the suffix of a character file must be one of {', '.join(ALL_SUFFIXES)}; got {path}"
        )
    target = load(path, roles=roles)
    return replace(target, origin=replace(target.origin, character=str(path)))


def write(motion: Motion, path: Path, **options: Any) -> bool:
    """Write a motion with its character. Return False if the file format cannot hold meshes.

    `options` are the options of the FBX writer, unit and up.
    """
    source = motion.origin.character
    if source is None or path.suffix.lower() not in SUFFIXES:
        return False
    if not Path(source).is_file():
        raise InvalidInput(
            f"the character file {source} no longer exists; to write the neutral body instead, use "
            "replace(motion, origin=replace(motion.origin, character=None))"
        )
    from motionloom.formats import fbx, gltf

    if is_robot_model(source):
        meshes = character_meshes(motion)
        if path.suffix.lower() in _GLTF:
            gltf.writer.write_meshes(motion, path, meshes)
        else:
            fbx.writer.write_meshes(motion, path, meshes, **options)
        return True
    from_gltf = Path(source).suffix.lower() in _GLTF
    if from_gltf and path.suffix.lower() in _GLTF:
        gltf.character.write(motion, source, path)
        return True
    meshes = (gltf.character if from_gltf else fbx.reader).meshes(source, motion.skeleton)
    if path.suffix.lower() in _GLTF:
        gltf.writer.write_meshes(motion, path, meshes)
    else:
        fbx.writer.write_meshes(motion, path, meshes, **options)
    return True


def character_meshes(motion: Motion) -> list[SkinnedMesh]:
    """Return the meshes of the robot that performs a motion; empty for other motions."""
    source = motion.origin.character
    if source is None or not is_robot_model(source) or not Path(source).is_file():
        return []
    from motionloom.formats.robot.stage import robot_meshes

    robot = load_robot(source)
    return robot_meshes(robot) if robot.names == motion.skeleton.names else []
