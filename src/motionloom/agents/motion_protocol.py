"""A library as a motion model of MMCP, the Motion Model Context Protocol.

MMCP is an HTTP protocol between programs that need motion, such as Blender, and models that
generate it from text. Here the "model" is a library: prompts are acted as a script
(`Library.act`), a path on the floor is walked (`MotionGraph.walk`), and the result is retargeted to
the skeleton in the request.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import numpy as np
from motionmcp import Backbone, GenerateRequest, ModelSpec, MotionResult, ProtocolError
from motionmcp.backbone import Limits
from motionmcp.schemas import Joint, RootPathConstraint, TextSegment
from motionmcp.schemas import Skeleton as RequestSkeleton
from motionmcp.server import build_app

from motionloom.agents.tool import checked_points
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.library import Library
from motionloom.motion import Motion, Skeleton
from motionloom.motion_graph.settings import WalkSettings

_MOST_SECONDS = 60.0
_MOST_FPS = 240.0
_MOST_JOINTS = 400
_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_PAUSE = "stand"  # phrase for a segment without a prompt

Scope = MutableMapping[str, Any]


class LibraryModel(Backbone):
    """A library that answers requests for motion."""

    def __init__(self, library: Library) -> None:
        if not len(library):
            raise InvalidInput(f"{library.path}: the library is empty; import motions first")
        self._library = library
        self._body = library[library.names[0]]
        self._lock = threading.Lock()

    def capabilities(self) -> ModelSpec:
        """Describe the library: its skeleton, rate and limits."""
        skeleton = self._body.skeleton
        joints = []
        for name, parent, offset, turn in zip(
            skeleton.names,
            skeleton.parents,
            skeleton.offsets,
            skeleton.rest_rotations,
            strict=True,
        ):
            w, x, y, z = (float(value) for value in turn)
            above = skeleton.names[parent] if parent >= 0 else None
            place = tuple(float(value) for value in offset)
            joints.append(
                Joint(name=name, parent=above, rest_translation=place, rest_rotation=(x, y, z, w))
            )
        return ModelSpec(
            id="motionloom",
            fps=self._body.fps,
            canonical_skeleton=RequestSkeleton(joints=joints),
            supports_retargeting=True,
            supported_constraints=["root_path"],
            supported_segments=["text", "unconditioned"],
            recommended_max_duration_seconds=30.0,
            limits=Limits(
                max_duration_seconds=_MOST_SECONDS, max_num_samples=1, max_prompt_length=300
            ),
        )

    def generate(self, request: GenerateRequest) -> MotionResult:
        """Act the prompts, or walk along the path, on the skeleton of the request."""
        fps = request.fps(self._body.fps)
        if not 1.0 <= fps <= _MOST_FPS:
            raise ProtocolError("invalid_request", f"the rate must be 1 to {_MOST_FPS:g} fps")
        if request.total_frames > fps * _MOST_SECONDS:
            raise ProtocolError("invalid_request", f"at most {_MOST_SECONDS:g} s of motion")
        try:
            with self._lock:
                motion = self._motion(request, fps)
            target = _skeleton(request.skeleton)
            if target.names != motion.skeleton.names:
                motion = motion.retarget(target)
            motion = _of_length(motion.resample(fps), request.total_frames)
        except MotionloomError as error:
            raise ProtocolError("invalid_request", str(error)) from None
        return MotionResult(
            rotations=motion.rotations[None][..., [1, 2, 3, 0]],
            root_translations=np.asarray(motion.root[None]),
        )

    def _motion(self, request: GenerateRequest, fps: float) -> Motion:
        paths = [each for each in request.constraints if isinstance(each, RootPathConstraint)]
        if paths:
            path = checked_points("root_path", [list(each) for each in paths[0].positions_xz])
            return self._library.motion_graph().walk(WalkSettings(path=path))
        phrases = []
        for segment in request.segments:
            phrase = segment.prompt if isinstance(segment, TextSegment) else _PAUSE
            plain = " ".join(phrase.replace(",", " ").replace(";", " ").rstrip(". ").split())
            phrases.append(f"{plain} {segment.duration_frames / fps:.2f} s")
        return self._library.act(", ".join(phrases)).motion


def motion_app(library: Library, token: str) -> Callable[..., Awaitable[None]]:
    """Return the ASGI application of a library; every request must contain the token."""
    app: Any = build_app(LibraryModel(library), title="motionloom")
    app.openapi_url = None

    async def guarded(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        if scope["type"] == "http" and not _is_allowed(dict(scope["headers"]), token):
            start = {"type": "http.response.start", "status": 401, "headers": []}
            await send(start)
            await send({"type": "http.response.body", "body": b"a valid token is required"})
            return
        await app(scope, receive, send)

    return guarded


def serve_motion(library: Library, port: int, *, report: Callable[[str], None]) -> None:
    """Serve a library on 127.0.0.1 until Ctrl-C; report the address and the token."""
    import uvicorn

    token = secrets.token_urlsafe(24)
    app: Any = motion_app(library, token)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            raise InvalidInput(f"port {port} cannot be used: {error.strerror}") from None
        report(f"motionloom: http://127.0.0.1:{listening.getsockname()[1]}, access token {token}")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


def _is_allowed(headers: dict[bytes, bytes], token: str) -> bool:
    """Return whether a request comes from a program of this computer that knows the token."""
    host = headers.get(b"host", b"").decode("latin-1").rpartition(":")[0]
    given = headers.get(b"authorization", b"")
    right = hmac.compare_digest(given, f"Bearer {token}".encode())
    return right and host in _LOCAL and b"origin" not in headers


def _skeleton(given: RequestSkeleton) -> Skeleton:
    """Return the skeleton of a request."""
    joints = given.joints
    if len(joints) > _MOST_JOINTS:
        raise InvalidInput(f"a skeleton may have at most {_MOST_JOINTS} joints; got {len(joints)}")
    number = {joint.name: row for row, joint in enumerate(joints)}
    turns = np.array([joint.rest_rotation for joint in joints], float)
    lengths = np.linalg.norm(turns, axis=1)
    offsets = np.array([joint.rest_translation for joint in joints], float)
    if not (np.isfinite(offsets).all() and np.isfinite(lengths).all() and (lengths > 0.1).all()):
        raise InvalidInput("the rest pose of the skeleton must consist of finite numbers")
    return Skeleton(
        tuple(joint.name for joint in joints),
        np.array([-1 if joint.parent is None else number[joint.parent] for joint in joints]),
        offsets,
        rest=(turns / lengths[:, None])[:, [3, 0, 1, 2]],
    )


def _of_length(motion: Motion, frames: int) -> Motion:
    """Cut a motion to a number of frames, or hold its last frame."""
    if len(motion) >= frames:
        return motion[:frames]
    rows = np.minimum(np.arange(frames), len(motion) - 1)
    return Motion(motion.skeleton, motion.rotations[rows], motion.root[rows], motion.fps)
