"""Websocket for interactive requests, such as those sent while the mouse moves.

The page sends ``{"id", "kind", ...}`` as JSON text and receives one packed message
(`motionloom.studio.messages.pack`) with the same ``id`` in its header. If the request failed, the
header also has ``error``. The page sends the next request of a kind only after it has received the
previous response, so that requests do not queue up. When a window changes the library, all windows
receive a message with ``changed`` in its header.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any, get_type_hints

import numpy as np
from fastapi import WebSocket, WebSocketDisconnect
from pydantic import TypeAdapter, create_model
from starlette.concurrency import run_in_threadpool
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.files import parse_json
from motionloom.library import DancePlayer, FrameBlock, Player, TempoClock
from motionloom.library.requests import from_network
from motionloom.library.settings import GraphSettings, MatchingSettings
from motionloom.motion import Skeleton
from motionloom.motion.retargeting.retarget import StreamRetargeter
from motionloom.studio.messages import pack, pose_arrays
from motionloom.studio.responses import Bones, NoHead, SourceRow
from motionloom.studio.routes.dancing.dance import choreography_of
from motionloom.studio.routes.stage.characters import OwnCharacter, character_of, shown_head
from motionloom.studio.routes.synthesis.graph import graph_of
from motionloom.studio.routes.synthesis.matching import Recording, matching_of, record
from motionloom.studio.routes.synthesis.parametric import parametric_of
from motionloom.studio.state.app_state import AppState, Change

_LOG = logging.getLogger(__name__)
_MAX_CHARACTERS = 1 << 20  # per message; the longest messages are paths drawn on the floor
_MAX_PLAYERS = 64  # per window
_MAX_FRAMES = 600  # per response
_MAX_WINDOWS = 64  # per server
_EXAMPLE_SECONDS = 4.0  # of motion, to calibrate retargeting to the performer's posture
_WALK = (0.0, 1.3)  # m/s; the character walks during calibration

Message = dict[str, Any]
Arrays = dict[str, Any]


class PlayerHead(Bones):
    """Response to a request for a new player."""

    player: int
    fps: float


class MatchPlayerHead(PlayerHead):
    """A motion matching character; `recording` is the subject id of its recorded frames."""

    recording: str


class DancePlayerHead(TypedDict):
    """Response to a request for a new dance."""

    player: int
    fps: float
    meter: int
    characters: list[Bones]


class FramesHead(TypedDict):
    """Frames from `start` on, with their seams and sources."""

    start: int
    frames: int
    seams: list[int]
    sources: list[SourceRow]


class MatchFramesHead(FramesHead):
    """Frames of a motion matching character, and its state in the last frame.

    `place` and `trajectory` contain x, z and facing; velocities contain x and z; costs are in
    meters.
    """

    take: str
    frame: int
    mirrored: bool
    cost: float
    going_on: float
    place: tuple[float, float, float]
    velocity: tuple[float, float]
    desired: tuple[float, float]
    trajectory: list[tuple[float, float, float]]
    tag: str
    jumps: int
    milliseconds: float


class DanceFramesHead(TypedDict):
    """Frames of a dance from `start` on, and the nodes danced most recently."""

    start: int
    frames: int
    nodes: list[str]


class ReachHead(TypedDict):
    """A motion synthesized for a target: the point reached, the error, and the key frames."""

    frames: int
    reached: list[float]
    off: float
    outside: bool
    keys: list[int | None]
    milliseconds: float


class BrowserWindow:
    """A browser window and its players.

    Parameters
    ----------
    state : AppState
    """

    def __init__(self, state: AppState) -> None:
        self.state = state
        self._players: dict[int, Player] = {}
        self._worn: dict[Player, StreamRetargeter] = {}
        self._numbers = itertools.count(1)

    def add(self, player: Player, worn: StreamRetargeter | None = None) -> int:
        """Add a player and return its number; `worn` retargets its frames to a character."""
        if len(self._players) >= _MAX_PLAYERS:
            raise InvalidInput(
                f"this window already runs {_MAX_PLAYERS} players, the maximum; close some of them"
            )
        number = next(self._numbers)
        self._players[number] = player
        if worn is not None:
            self._worn[player] = worn
        return number

    def poses(self, player: Player, block: FrameBlock) -> dict[str, np.ndarray]:
        """Return the positions and orientations of a player's frames, on its character, if any."""
        worn = self._worn.get(player)
        skeleton, frames = player.skeleton, (block.rotations, block.root)
        if worn is not None:
            skeleton, frames = worn.skeleton, worn.frames(block.rotations, block.root)
        if self.state.stream is not None:
            self.state.stream.play(skeleton, *frames, player.fps)
        return pose_arrays(skeleton, *frames)

    def player(self, number: Any) -> Player:
        """Return the player with a number from `add`."""
        if not isinstance(number, int) or number not in self._players:
            raise InvalidInput(
                f"there is no player {str(number)[:80]} in this window; start one first"
            )
        return self._players[number]

    def remove(self, number: Any) -> None:
        """Close the player with a number from `add`."""
        player = self._players.pop(number, None) if isinstance(number, int) else None
        if player is not None:
            self._worn.pop(player, None)

    def close(self) -> None:
        """Close all players of the window."""
        self._players.clear()
        self._worn.clear()


async def live_socket(socket: WebSocket) -> None:
    """Answer requests from one window until it closes."""
    state = socket.app.state.studio
    if state.listener_count >= _MAX_WINDOWS:
        await socket.close(
            1013, f"{_MAX_WINDOWS} windows, the maximum, are already open; close some of them"
        )
        return
    await socket.accept()
    window, changes = BrowserWindow(state), asyncio.Queue[Change]()
    loop = asyncio.get_running_loop()

    def listener(change: Change) -> None:  # called in the thread that made the change
        with suppress(RuntimeError):  # the server is stopping
            loop.call_soon_threadsafe(changes.put_nowait, change)

    sender = asyncio.create_task(_send_changes(socket, changes))
    try:
        with state.listening(listener):
            while True:
                text = await _received(socket)
                async with state.limiter.live:
                    packed = await run_in_threadpool(answer, window, text)
                await socket.send_bytes(packed)
    except WebSocketDisconnect:
        pass
    finally:
        sender.cancel()
        window.close()


async def _received(socket: WebSocket) -> str:
    """Return the next message as text; a binary message yields text that is not valid JSON."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005), message.get("reason"))
    text = message.get("text")
    return text if text is not None else "bytes"


async def _send_changes(socket: WebSocket, changes: asyncio.Queue[Change]) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        change: Change | None = None
        while change != "library":
            change = await changes.get()
            await socket.send_bytes(pack({"changed": change}))
        await socket.close(1012, "another library was opened")


def answer(window: BrowserWindow, text: str) -> bytes:
    """Return the packed response to a message from a window."""
    number: Any = None
    try:
        if len(text) > _MAX_CHARACTERS:
            raise InvalidInput(
                f"a message may have at most {_MAX_CHARACTERS} characters; got {len(text)}"
            )
        message = _parsed(text)
        number = message.pop("id", None)
        if not isinstance(number, int | str | None):
            number, invalid = None, number
            raise InvalidInput(f"id must be a number or a string; got {str(invalid)[:80]}")
        kind = message.pop("kind", None)
        if not isinstance(kind, str) or kind not in REQUESTS:
            kinds = ", ".join(sorted(REQUESTS))
            raise InvalidInput(
                f"there is no live request {str(kind)[:80]!r}; choose one of {kinds}"
            )
        head, arrays = REQUESTS[kind](window, message)
        return pack({**head, "id": number}, **arrays)
    except MotionloomError as error:
        return pack({"id": number, "error": str(error)})
    except Exception as error:  # a bug; report it to the window, which stays usable
        _LOG.exception("live request failed")
        return pack({"id": number, "error": f"{type(error).__name__}: {error}"})


def _parsed(text: str) -> Message:
    try:
        message = parse_json(text, finite=True)
    except ValueError as error:
        raise InvalidInput(f"a live request must be JSON: {error}") from None
    if not isinstance(message, dict):
        raise InvalidInput("a live request must be a JSON object")
    return message


# --- requests -------------------------------------------------------------------------------


def ping(window: BrowserWindow, message: Message) -> tuple[NoHead, Arrays]:
    """Return an empty response, to measure the round-trip time."""
    return {}, {}


def read_player(window: BrowserWindow, message: Message) -> tuple[FramesHead, Arrays]:
    """Steer a player and return its next frames. Request: ``player, count, controls``."""
    player = window.player(message.get("player"))
    return _frames(window, player, message, player)


def _frames(
    window: BrowserWindow, player: Player, message: Message, steered: Player
) -> tuple[FramesHead, Arrays]:
    """Steer a player and return its next frames."""
    count = _frame_count(message)
    controls = message.get("controls") or {}
    if not isinstance(controls, dict):
        raise InvalidInput(f"controls must be an object; got {str(controls)[:80]}")
    if controls:
        steered.steer(**controls)
    block = player.read(count)
    sources: Any = [source.as_dict() for source in block.sources]
    head: FramesHead = {
        "start": block.start,
        "frames": len(block),
        "seams": list(block.seams),
        "sources": sources,
    }
    return head, {**window.poses(player, block), "contacts": np.asarray(block.contacts)}


def close_player(window: BrowserWindow, message: Message) -> tuple[NoHead, Arrays]:
    """Close a player. Request: ``player``."""
    window.remove(message.get("player"))
    return {}, {}


def start_walk(window: BrowserWindow, message: Message) -> tuple[PlayerHead, Arrays]:
    """Start an endless walk. Request: ``graph`` (its settings), ``seed``, ``start``, ``character``.

    ``start`` is NAME:FRAME or null. ``character`` is the id of the character that shows the walk,
    or null. The header has ``player``, for ``player/read`` with the controls ``transition`` and
    ``automatic``, and the skeleton: ``fps``, joints, parents, roles.
    """
    own, start = _own(window, message), message.get("start")
    if start is not None and not isinstance(start, str):
        raise InvalidInput(f"start must be NAME:FRAME; got {start!r}")
    settings = from_network(GraphSettings, message.get("graph") or {})
    graph = graph_of(window.state, settings).graph
    player = graph.player(_seed(message), start=start)
    worn = None if own is None else _worn(own, graph.player(0, start=start))
    return {
        "player": window.add(player, worn),
        "fps": graph.fps,
        **shown_head(graph.skeleton, own),
    }, {}


def reach(window: BrowserWindow, message: Message) -> tuple[ReachHead, Arrays]:
    """Synthesize a parametric motion for a target. Request: ``name, target, character``.

    The header has ``reached`` (d,), ``off`` (distance to the target), ``outside`` (true if the
    target is out of reach and the nearest motion is sent instead), ``keys`` (frame at which each
    parameter is measured, or null) and ``milliseconds``, the computation time. The arrays are
    ``positions`` (T, P, 3), ``orientations`` (T, J, 4), ``contacts`` (T, 4) and ``weights`` (N,).
    """
    began = time.perf_counter()
    name, target = message.get("name"), message.get("target")
    if not isinstance(name, str):
        raise InvalidInput(f"name must be the name of a parametric motion; got {name!r}")
    if not isinstance(target, list) or any(type(x) not in (int, float) for x in target):
        raise InvalidInput(f"target must be a list of numbers; got {target!r}")
    shared = parametric_of(window.state, name)
    result = shared.reach(target)
    motion = result.motion
    with shared.lock:
        contacts = shared.motion.contacts(result.weights).standing_parts()
    own = _own(window, message)
    if own is None:
        poses = pose_arrays(motion.skeleton, motion.rotations, motion.root)
    else:
        stream = window.state.cached(
            ("stream", name, own.info.id), lambda: StreamRetargeter(motion, own.motion)
        )
        poses = pose_arrays(stream.skeleton, *stream.frames(motion.rotations, motion.root))
    head: ReachHead = {
        "frames": len(motion),
        "reached": result.reached.tolist(),
        "off": result.error,
        "outside": not result.within_tolerance,
        "keys": list(result.frames),
        "milliseconds": round(1e3 * (time.perf_counter() - began), 2),
    }
    return head, {**poses, "contacts": contacts, "weights": result.weights}


class RecordingClock(TempoClock):
    """Tempo clock that records the latest beat positions for display on the page."""

    positions = np.empty(0)

    def beats_at(self, first_frame: int, count: int, fps: float):
        """Return the position of each frame in beats, and record it; see `TempoClock`."""
        self.positions = super().beats_at(first_frame, count, fps)
        return self.positions


def start_dance(window: BrowserWindow, message: Message) -> tuple[DancePlayerHead, Arrays]:
    """Start an endless dance. Request: ``choreography, tempo_bpm, seed, character``.

    The header has ``player``. Only a solo dance can be shown on a character.
    """
    choreography = choreography_of(window.state, str(message.get("choreography")))
    clock = RecordingClock(_number(message, "tempo_bpm", 60.0 / choreography.period))
    player = choreography.player(clock, seed=_seed(message))
    own = _own(window, message) if len(player.skeletons) == 1 else None
    worn = None if own is None else _worn(own, choreography.player(seed=0))
    return {
        "player": window.add(player, worn),
        "fps": player.fps,
        "meter": choreography.meter,
        "characters": [shown_head(skeleton, own) for skeleton in player.skeletons],
    }, {}


def read_dance(window: BrowserWindow, message: Message) -> tuple[DanceFramesHead, Arrays]:
    """Return the next frames of a dance. Request: ``player, count, target, tempo_bpm``.

    The arrays are ``positions_K``, ``orientations_K`` and ``contacts_K`` for each character K, and
    ``beats`` (n,), the position of each frame in beats.
    """
    player = window.player(message.get("player"))
    if not isinstance(player, DancePlayer):
        raise InvalidInput(f"player {message.get('player')!r} is not a dance")
    count = _frame_count(message)
    if "target" in message:
        player.steer(target=message["target"])
    if "tempo_bpm" in message:
        player.steer(tempo=_number(message, "tempo_bpm", 120.0))
    blocks = player.read_all(count)
    arrays: dict[str, Any] = {}
    for body, (block, skeleton) in enumerate(zip(blocks, player.skeletons, strict=True)):
        alone = len(blocks) == 1
        poses = window.poses(player, block) if alone else _posed(skeleton, block)
        arrays |= {f"{name}_{body}": values for name, values in poses.items()}
        arrays[f"contacts_{body}"] = block.contacts
    if isinstance(player.clock, RecordingClock):
        arrays["beats"] = player.clock.positions
    nodes = [player.choreography.graph.names[k] for k in player.path[-3:]]
    return {"start": blocks[0].start, "frames": count, "nodes": nodes}, arrays


class RecordedPlayer(Player):
    """A motion matching character whose frames are recorded."""

    def __init__(self, player: Player, recording: Recording) -> None:
        self.player, self.recording = player, recording
        self.skeleton, self.fps = player.skeleton, player.fps
        self.controls = player.controls  # type: ignore[misc]  # those of the recorded player

    def _steer(self, **controls: Any) -> None:
        self.player.steer(**controls)

    def _read(self, count: int) -> FrameBlock:
        block = self.player.read(count)
        self.recording.add(block)
        return block


def start_match(window: BrowserWindow, message: Message) -> tuple[MatchPlayerHead, Arrays]:
    """Start a motion matching character. Request: ``settings, character``.

    The settings are the same as for ``POST /api/matching``. The header has ``player``, for
    ``match/read``, ``recording`` (a subject id), ``fps`` and the skeleton.
    """
    database = matching_of(
        window.state, from_network(MatchingSettings, message.get("settings") or {})
    )
    key, recording = record(window.state, database)
    player = RecordedPlayer(database.player(), recording)
    own = _own(window, message)
    worn = None if own is None else _worn(own, database.player(), velocity=_WALK)
    return {
        "player": window.add(player, worn),
        "recording": key,
        "fps": database.fps,
        **shown_head(database.skeleton, own),
    }, {}


def read_match(window: BrowserWindow, message: Message) -> tuple[MatchFramesHead, Arrays]:
    """Steer a character and return its next frames. Request: ``player, count, controls``.

    The header describes the last frame: ``take``, ``frame``, ``mirrored``, ``cost``, ``going_on``,
    ``place``, ``velocity``, ``desired``, ``trajectory``, ``tag`` and ``jumps``. It also has
    ``milliseconds``, the computation time.
    """
    began = time.perf_counter()
    player = window.player(message.get("player"))
    if not isinstance(player, RecordedPlayer):
        raise InvalidInput(f"player {message.get('player')!r} is not a motion matching character")
    head, arrays = _frames(window, player, message, player.player)
    state = asdict(player.player.state())  # type: ignore[attr-defined]
    milliseconds = round(1e3 * (time.perf_counter() - began), 2)
    whole: Any = {**head, **state, "milliseconds": milliseconds}
    return whole, arrays


REQUESTS: dict[str, Callable[[BrowserWindow, Message], tuple[Any, Arrays]]] = {
    "ping": ping,
    "player/read": read_player,
    "player/close": close_player,
    "dance/start": start_dance,
    "dance/read": read_dance,
    "graph/start": start_walk,
    "match/start": start_match,
    "match/read": read_match,
    "parametric/reach": reach,
}


def live_schemas(ref_template: str) -> dict[str, Any]:
    """Return named JSON schemas: ``LiveHeads``, with a response header per kind, and its parts."""
    heads = {kind: get_type_hints(request)["return"] for kind, request in REQUESTS.items()}
    fields: dict[str, Any] = {kind: (answer.__args__[0], ...) for kind, answer in heads.items()}
    schema = TypeAdapter(create_model("LiveHeads", **fields)).json_schema(ref_template=ref_template)
    parts = schema.pop("$defs")
    return {**parts, "LiveHeads": schema}


def _own(window: BrowserWindow, message: Message) -> OwnCharacter | None:
    """Return the character that a message refers to, or None."""
    key = message.get("character")
    if key is not None and not isinstance(key, str):
        raise InvalidInput(f"character must be the id of a character; got {str(key)[:80]}")
    return character_of(window.state, key) if key else None


def _worn(own: OwnCharacter, player: Player, **controls: Any) -> StreamRetargeter:
    """Return a retargeter for a character, calibrated with the first frames of `player`."""
    if controls:
        player.steer(**controls)
    example = player.read(round(_EXAMPLE_SECONDS * player.fps))
    return StreamRetargeter(example.to_motion(player.skeleton, player.fps), own.motion)


def _posed(skeleton: Skeleton, block: FrameBlock) -> dict[str, np.ndarray]:
    return pose_arrays(skeleton, block.rotations, block.root)


def _number(message: Message, name: str, default: float) -> float:
    value = message.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise InvalidInput(f"{name} must be a number; got {value!r}")
    return float(value)


def _seed(message: Message) -> int:
    value = message.get("seed", 0)
    if type(value) is not int or value < 0:
        raise InvalidInput(f"seed must be a non-negative integer; got {value!r}")
    return value


def _frame_count(message: Message) -> int:
    count = _number(message, "count", 30)
    if count != round(count) or not 1 <= count <= _MAX_FRAMES:
        raise InvalidInput(f"count must be 1 to {_MAX_FRAMES}; got {message.get('count')!r}")
    return round(count)
