"""Robot models (MuJoCo's MJCF and URDF) and robot files (CSV, NPZ, pickle).

A robot model is a character: a target of retargeting, and the body of the motions in robot files.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from motionloom.character.robot.model import Robot
from motionloom.character.robot.retarget import retarget_to_robot
from motionloom.errors import MotionFormatError, MotionloomError
from motionloom.files import check_regular
from motionloom.formats.robot.draft import Draft

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


def load_robot(path: str | Path) -> Robot:
    """Read a robot model, and check that it is a humanoid.

    A file with the same name and the suffix ``.roles.json`` or ``.roles.toml`` beside the model
    overrides the roles that are found from the tree.

    Raises
    ------
    MotionFormatError
        If the file is not a model, or the robot has no two legs and two arms.
    """
    path = Path(path)
    info = check_regular(path)
    return _loaded(str(path.resolve()), str(path), info.st_mtime_ns, info.st_size)


@lru_cache(maxsize=8)
def _loaded(resolved: str, given: str, changed: int, size: int) -> Robot:
    from motionloom.formats.robot import mjcf, urdf
    from motionloom.motion.roles.assignment import load_role_map

    draft = Draft(Path(given))
    root = draft.parsed(draft.path)
    readers = {"mujoco": mjcf.read, "robot": urdf.read}
    if root.tag not in readers:
        draft.refuse(f"a robot model starts with <mujoco> or <robot>; got <{root.tag[:40]}>")
    try:
        readers[root.tag](draft, root)
        robot = draft.finished()
    except (MotionloomError, OSError):
        raise
    except Exception as error:  # a model is not trusted
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise MotionFormatError(f"the model cannot be read: {reason}", path=draft.path) from error
    for suffix in (".roles.json", ".roles.toml"):
        file = draft.path.with_suffix(suffix)
        if file.is_file():
            roles = {role: name for role, name in load_role_map(file).items() if name}
            robot = replace(robot, role_map=roles)
    _ = robot.anatomy  # raises if the robot is not a humanoid
    return robot
