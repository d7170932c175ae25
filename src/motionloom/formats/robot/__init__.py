"""Robot models (MuJoCo's MJCF and URDF) and robot files (CSV, NPZ, pickle).

A robot model is a character: a target of retargeting, and the body of the motions in robot files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.character.robot.model import Robot
from motionloom.errors import MotionFormatError, MotionloomError
from motionloom.files import check_regular
from motionloom.formats.robot.draft import Draft
from motionloom.motion.roles.assignment import load_role_map

if TYPE_CHECKING:
    from motionloom.motion import Motion
    from motionloom.motion.feet.contacts import FootContacts

MODEL_SUFFIXES = (".xml", ".mjcf", ".urdf")

__all__ = ["MODEL_SUFFIXES", "is_robot_model", "load_robot", "retarget_to_robot"]


def is_robot_model(path: str | Path) -> bool:
    """Return whether a file name has a suffix of robot models.

    Examples
    --------
    >>> is_robot_model("g1.xml"), is_robot_model("hero.glb")
    (True, False)
    """
    return Path(path).suffix.lower() in MODEL_SUFFIXES


def retarget_to_robot(
    motion: Motion, robot: Robot, *, contacts: FootContacts | None = None
) -> Motion:
    """Retarget a motion to a robot; see `motionloom.character.robot.retarget`."""
    from motionloom.character.robot import retarget  # needs SciPy and Numba

    return retarget.retarget_to_robot(motion, robot, contacts=contacts)


def load_robot(
    path: str | Path, *, roles: str | Path | Mapping[str, str | None] | None = None
) -> Robot:
    """Read a robot model, and check that it is a humanoid.

    `roles` maps roles to bodies, or names a file with such a map, and overrides the roles that are
    found from the tree. By default, a file next to the model with the same name and the suffix
    ``.roles.json`` or ``.roles.toml`` is used.

    Raises
    ------
    MotionFormatError
        If the file is not a model, or the robot has no two legs and two arms.
    """
    path = Path(path)
    info = check_regular(path)
    robot = _loaded(str(path.resolve()), str(path), info.st_mtime_ns, info.st_size)
    nearby = [path.with_suffix(f".roles.{kind}") for kind in ("json", "toml")]
    file = next((file for file in nearby if file.is_file()), None) if roles is None else roles
    if file is None:
        _ = robot.anatomy  # raises if the robot is not a humanoid
        return robot
    given = file if isinstance(file, Mapping) else load_role_map(file)
    return _with_roles(robot, tuple(sorted((role, name or "") for role, name in given.items())))


@lru_cache(maxsize=8)
def _with_roles(robot: Robot, roles: tuple[tuple[str, str], ...]) -> Robot:
    robot = replace(robot, role_map=dict(roles))
    _ = robot.anatomy, robot.skeleton.roles  # raises if a role or body does not exist
    return robot


@lru_cache(maxsize=8)
def _loaded(resolved: str, given: str, changed: int, size: int) -> Robot:
    from motionloom.formats.robot import mjcf, urdf

    draft = Draft(Path(given))
    root = draft.parsed(draft.path)
    readers = {"mujoco": mjcf.read, "robot": urdf.read}
    if root.tag not in readers:
        draft.refuse(f"a robot model starts with <mujoco> or <robot>; got <{root.tag[:40]}>")
    try:
        readers[root.tag](draft, root)
        return draft.finished()
    except (MotionloomError, OSError):
        raise
    except Exception as error:  # a model is not trusted
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise MotionFormatError(f"the model cannot be read: {reason}", path=draft.path) from error
