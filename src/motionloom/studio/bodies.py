"""Bodies of the skeletons that were sent to the page, by their keys."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from motionloom.character import body_mesh, has_body
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.motion import Motion, Skeleton

_REMEMBERED = 256  # skeletons


class Bodies:
    """Skeletons by key: the page asks for the body of one when it draws it for the first time."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Skeleton, Motion | None]] = OrderedDict()
        self._lock = threading.Lock()

    def key(self, skeleton: Skeleton, example: Motion | None = None) -> str | None:
        """Key of a skeleton's body, for `arrays`; None if it has too few roles for a body.

        `example` shows how its bones are twisted, if its rest pose does not.
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
        """The mesh: vertices, normals, triangles, joints and weights, inverse bind matrices.

        Raises
        ------
        InvalidInput
            If no skeleton of that key was sent since the server started.
        """
        with self._lock:
            found = self._known.get(key)
        if found is None:
            raise InvalidInput("this skeleton is not known; load its motion again")
        skeleton, example = found
        mesh = body_mesh(skeleton, detail=detail, example=example)
        return {
            "vertices": mesh.vertices,
            "normals": mesh.normals,
            "triangles": mesh.triangles.astype(np.int32),
            "joints": mesh.joints.astype(np.int32),
            "weights": mesh.weights,
            "unbind": np.linalg.inv(mesh.bind)[:, :3].astype(np.float32),
        }


BODIES = Bodies()  # one per process: bodies depend on the skeleton alone
