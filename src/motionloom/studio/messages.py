"""Binary messages that carry motions to the page and to the notebook widget.

A message is a short JSON header followed by the raw bytes of the arrays::

    uint32 header length | header, JSON, padded with spaces | array | array | ...

The header is ``{"meta": {...}, "arrays": {name: {"type", "shape", "at"}}}``. ``at`` is a byte
offset from the end of the header and a multiple of eight, so that the page can create typed arrays
on the buffer without copying. All numbers are little-endian.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from motionloom.character import body_mesh, has_body
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.forward import global_rotations, joint_positions

if TYPE_CHECKING:
    from motionloom.studio.responses import Bones, NamedBones

_TYPES = {"float32": "<f4", "int32": "<i4", "uint8": "|u1"}
_ALIGNMENT = 8


def pack(meta: Mapping[str, Any], **arrays: ArrayLike) -> bytes:
    """Pack `meta` and arrays of any shape into a message; `meta` may contain pydantic models.

    Floating-point numbers are sent as float32, integers as int32, booleans and bytes as uint8.

    Examples
    --------
    >>> message = pack({"name": "walk"}, root=np.zeros((2, 3)))
    >>> meta, arrays = unpack(message)
    >>> meta["name"], arrays["root"].shape
    ('walk', (2, 3))
    """
    entries, parts, at = {}, [], 0
    for name, values in arrays.items():
        given = np.asarray(values)
        kind = _array_type(given.dtype)
        data = np.ascontiguousarray(given, dtype=_TYPES[kind]).tobytes()
        entries[name] = {"type": kind, "shape": list(given.shape), "at": at}
        padding = -len(data) % _ALIGNMENT
        parts.append(data + b"\0" * padding)
        at += len(data) + padding
    head = json.dumps(
        {"meta": meta, "arrays": entries},
        separators=(",", ":"),
        allow_nan=False,
        default=lambda model: model.model_dump(mode="json"),
    )
    encoded = head.encode()
    encoded += b" " * (-(len(encoded) + 4) % _ALIGNMENT)
    return b"".join([len(encoded).to_bytes(4, "little"), encoded, *parts])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Unpack a message from `pack` into its header and arrays, as the page does in TypeScript."""
    start = 4 + int.from_bytes(message[:4], "little")
    head = json.loads(message[4:start])
    arrays = {}
    for name, entry in head["arrays"].items():
        count = int(np.prod(entry["shape"], dtype=np.int64))
        values = np.frombuffer(message, _TYPES[entry["type"]], count, start + entry["at"])
        arrays[name] = values.reshape(entry["shape"])
    return head["meta"], arrays


def _array_type(dtype: np.dtype) -> str:
    if dtype.kind == "f":
        return "float32"
    if dtype.kind == "b" or dtype == np.uint8:
        return "uint8"
    if dtype.kind in "iu":
        return "int32"
    raise TypeError(f"cannot send an array of {dtype}")


def motion_message(motion: Motion, **meta: Any) -> bytes:
    """Pack a whole motion into a message.

    The arrays are ``positions`` (T, P, 3), ``orientations`` (T, J, 4), which are world rotations
    ``wxyz`` of the joints, and ``contacts`` (T, 4) in the order of `FOOT_PARTS`.
    """
    head = {
        "name": motion.name,
        "fps": motion.fps,
        "frames": len(motion),
        **skeleton_head(motion.skeleton, motion),
        **meta,
    }
    return pack(
        head,
        positions=motion.positions(end_sites=True),
        orientations=motion.global_rotations(),
        contacts=foot_contacts(motion),
    )


def scene_arrays(motions: Sequence[Motion]) -> tuple[list[NamedBones], dict[str, np.ndarray]]:
    """Return the headers and arrays of several characters.

    ``positions_K`` (T, P, 3), ``orientations_K`` (T, J, 4) and ``contacts_K`` (T, 4) belong to
    character K.
    """
    characters: list[NamedBones] = [
        {"name": motion.name, **skeleton_head(motion.skeleton, motion)} for motion in motions
    ]
    arrays: dict[str, np.ndarray] = {}
    for number, motion in enumerate(motions):
        arrays[f"positions_{number}"] = motion.positions(end_sites=True)
        arrays[f"orientations_{number}"] = motion.global_rotations()
        arrays[f"contacts_{number}"] = foot_contacts(motion)
    return characters, arrays


def skeleton_head(skeleton: Skeleton, example: Motion | None = None) -> Bones:
    """Return a skeleton's message header: names, parents and roles of joints and end sites.

    ``body`` in the header is the key of the skeleton's body, or None. `example` is a motion on the
    skeleton.
    """
    names = [*skeleton.names, *skeleton.end_names]
    parents = [*skeleton.parents.tolist(), *skeleton.end_parents.tolist()]
    roles = {role: int(skeleton.points([role])[0]) for role in skeleton.roles}
    body = BODIES.key(skeleton, example)
    return {"joints": names, "parents": parents, "roles": roles, "body": body}


def point_positions(skeleton: Skeleton, rotations: ArrayLike, root: ArrayLike) -> np.ndarray:
    """Return the world positions (T, P, 3) of joints and end sites, in header order."""
    return joint_positions(
        rotations,
        root,
        skeleton.parents,
        skeleton.offsets,
        end_parents=skeleton.end_parents,
        end_offsets=skeleton.end_offsets,
    )


def pose_arrays(
    skeleton: Skeleton, rotations: ArrayLike, root: ArrayLike, suffix: str = ""
) -> dict[str, np.ndarray]:
    """Return the message arrays of poses: ``positions`` (T, P, 3), ``orientations`` (T, J, 4)."""
    return {
        f"positions{suffix}": point_positions(skeleton, rotations, root),
        f"orientations{suffix}": global_rotations(rotations, skeleton.parents),
    }


def foot_contacts(motion: Motion) -> np.ndarray:
    """Return the ground contacts (T, 4) of the foot parts; all False if there are no feet."""
    try:
        return motion.contacts().standing_parts()
    except MotionloomError:
        return np.zeros((len(motion), 4), dtype=bool)


# --- bodies ---------------------------------------------------------------------------------

_REMEMBERED = 256  # skeletons


class Bodies:
    """Skeletons by key, whose body meshes the page requests when it first draws them."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Skeleton, Motion | None]] = OrderedDict()
        self._lock = threading.Lock()

    def key(self, skeleton: Skeleton, example: Motion | None = None) -> str | None:
        """Return the key under which `arrays` finds a skeleton's body; None if roles are missing.

        `example` is a motion that shows how the bones are twisted, if the rest pose does not.
        """
        if not has_body(skeleton):
            return None
        with self._lock:
            if skeleton.key not in self._known:
                self._known[skeleton.key] = (skeleton, None if example is None else example[:1])
            self._known.move_to_end(skeleton.key)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return skeleton.key

    def arrays(self, key: str, detail: str) -> dict[str, Any]:
        """Return the mesh of a body: geometry, joints, weights and inverse bind matrices.

        Raises
        ------
        InvalidInput
            If no skeleton with this key was sent since the server started.
        """
        with self._lock:
            entry = self._known.get(key)
        if entry is None:
            raise InvalidInput("this skeleton is no longer available; load its motion again")
        skeleton, example = entry
        mesh = body_mesh(skeleton, detail=detail, example=example)
        return {
            "vertices": mesh.vertices,
            "normals": mesh.normals,
            "triangles": mesh.triangles.astype(np.int32),
            "joints": mesh.joints.astype(np.int32),
            "weights": mesh.weights,
            "unbind": np.linalg.inv(mesh.bind)[:, :3].astype(np.float32),
        }


BODIES = Bodies()  # one per process, because a body depends only on its skeleton
