"""The live line: one websocket per window, for what must answer while the mouse moves.

The page sends ``{"id", "kind", ...}`` as text and gets one packed message (`wire.pack`) back,
with the same ``id`` in its meta, or ``error`` in words. It sends the next request of a kind
only when the last was answered, and then the latest: nothing queues up. When any window has
changed the library, all get a message of its own, with ``changed`` in its meta.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any

from fastapi import WebSocket, WebSocketDisconnect
from starlette.concurrency import run_in_threadpool

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.studio import wire
from motionloom.studio.app_state import Change
from motionloom.studio.live.requests import KINDS
from motionloom.studio.live.window import Window

_LOG = logging.getLogger(__name__)
_LARGEST = 1 << 20  # characters of one message; paths drawn on the floor are the longest


async def live(socket: WebSocket) -> None:
    """Answer one window until it closes."""
    await socket.accept()
    workshop = socket.app.state.workshop
    window, news = Window(workshop), asyncio.Queue[Change]()
    loop = asyncio.get_running_loop()

    def hear(what: Change) -> None:  # in the thread of whoever has changed something
        with suppress(RuntimeError):  # the server is ending
            loop.call_soon_threadsafe(news.put_nowait, what)

    teller = asyncio.create_task(_tell(socket, news))
    try:
        with workshop.listened(hear):
            while True:
                text = await socket.receive_text()
                await socket.send_bytes(await run_in_threadpool(_answer, window, text))
    except WebSocketDisconnect:
        pass
    finally:
        teller.cancel()
        window.close()


async def _tell(socket: WebSocket, news: asyncio.Queue[Change]) -> None:
    """Pass on what has changed until the window closes."""
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.send_bytes(wire.pack({"changed": await news.get()}))


def _answer(window: Window, text: str) -> bytes:
    number: Any = None
    try:
        if len(text) > _LARGEST:
            raise InvalidInput(f"a message of {len(text)} characters; at most {_LARGEST}")
        message = _read(text)
        number = message.pop("id", None)
        kind = message.pop("kind", None)
        if kind not in KINDS:
            raise InvalidInput(f"no live request {kind!r}; known: {', '.join(sorted(KINDS))}")
        meta, arrays = KINDS[kind](window, message)
        return wire.pack({**meta, "id": number}, **arrays)
    except MotionloomError as error:
        return wire.pack({"id": number, "error": str(error)})
    except Exception as error:  # our mistake; the window must hear of it and live on
        _LOG.exception("live request failed")
        return wire.pack({"id": number, "error": f"{type(error).__name__}: {error}"})


def _read(text: str) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"a live request must be JSON: {error}") from None
    if not isinstance(message, dict):
        raise InvalidInput("a live request must be a JSON object")
    return message
