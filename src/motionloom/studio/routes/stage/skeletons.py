"""Skeletons and poses in requests: an armature from another program, and motion on it.

Joints are given in the rest pose of the armature with world axes (meters, y up), as in a BVH file;
every rotation is relative to that pose. The bone axes and rolls of the other program do not matter.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.root_carrier import body_skeleton
from motionloom.studio.requests import Name
from motionloom.studio.state.app_state import AppState

MAX_JOINTS = 1_000
_UNIT = 0.01  # maximum error of a quaternion's length that rounding can explain

Joint = Annotated[int, Field(ge=-1, lt=MAX_JOINTS)]
Meters = Annotated[float, Field(ge=-1e4, le=1e4, allow_inf_nan=False)]
Place = tuple[Meters, Meters, Meters]
Rate = Annotated[float, Field(ge=1.0, le=1000.0, allow_inf_nan=False)]


class SkeletonModel(BaseModel):
    """An armature in its rest pose, in meters, y up; see `motionloom.Skeleton`.

    ``offsets`` are the joints' world positions relative to their parents; for the root, its
    position.
    """

    model_config = ConfigDict(extra="forbid")

    names: list[Name] = Field(min_length=1, max_length=MAX_JOINTS)
    parents: list[Joint] = Field(max_length=MAX_JOINTS)
    offsets: list[Place] = Field(max_length=MAX_JOINTS)
    end_names: list[Name] = Field([], max_length=MAX_JOINTS)
    end_parents: list[Joint] = Field([], max_length=MAX_JOINTS)
    end_offsets: list[Place] = Field([], max_length=MAX_JOINTS)
    roles: dict[Name, Name] = Field({}, max_length=100, description="Joint of each role, if known.")

    def skeleton(self) -> Skeleton:
        """Return the skeleton with its roles."""
        made = Skeleton(
            tuple(self.names),
            np.array(self.parents, np.int32),
            np.array(self.offsets, np.float64),
            tuple(self.end_names),
            np.array(self.end_parents, np.int32),
            np.array(self.end_offsets, np.float64).reshape(-1, 3),
        )
        return made.with_roles(self.roles) if self.roles else made

    def body(self) -> Skeleton:
        """Return the skeleton at and below the hips, to which motions are retargeted."""
        return body_skeleton(self.skeleton())


class PosesSubject(BaseModel):
    """Motion on an armature from another program.

    ``rotations`` (T, J, 4) are local, ``wxyz``, relative to the rest pose; ``root`` (T, 3) is the
    position of the first joint. Both are float32, little-endian, in base64.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["poses"]
    skeleton: SkeletonModel
    fps: Rate
    rotations: str
    root: str
    name: Name = "poses"

    def motions(self, state: AppState) -> Sequence[Motion]:
        """Return the motion on the armature."""
        skeleton = self.skeleton.skeleton()
        root = _decoded("root", self.root, (3,))
        rotations = _decoded("rotations", self.rotations, (len(skeleton), 4))
        if len(root) != len(rotations) or not len(root):
            raise InvalidInput(
                f"rotations and root must have the same number of frames, at least one; rotations "
                f"has {len(rotations)}, root has {len(root)}"
            )
        lengths = np.linalg.norm(rotations, axis=-1, keepdims=True)
        if np.abs(lengths - 1.0).max() > _UNIT:
            raise InvalidInput("rotations must be unit quaternions (w, x, y, z)")
        return [Motion(skeleton, rotations / lengths, root, self.fps, name=self.name)]


def _decoded(name: str, text: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Decode an array (T, *shape) from base64."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{name} must be float32 numbers in base64") from None
    size = 4 * int(np.prod(shape))
    if len(data) % size:
        raise InvalidInput(
            f"{name} must have {size} bytes per frame; got {len(data)} bytes, which is not a "
            f"multiple of {size}"
        )
    values = np.frombuffer(data, "<f4").reshape(-1, *shape)
    if not np.isfinite(values).all():
        raise InvalidInput(f"{name} must contain only finite numbers")
    return values
