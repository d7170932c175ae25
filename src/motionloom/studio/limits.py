"""Limits of the server: work at a time, connections without a request, slow headers.

`WorkLimiter` lets a few requests compute at a time; the others wait, and one whose client has left
is not computed at all. So requests that only read are answered whatever the others cost.

`TimedConnection` closes a connection that sends no complete request head within some seconds, and
the oldest such connection if there are many.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

AT_ONCE = 4  # requests that compute at a time
WAITING = 64  # requests that wait for their turn
LIVE_AT_ONCE = 8  # messages of all windows that are answered at a time
HEAD_SECONDS = 15.0  # for a connection to send the head of a request
SILENT = 100  # connections that have sent no request yet

_LIGHT = ("/api/uploads", "/api/jobs")  # written to disk as it comes; status of jobs


class WorkLimiter:
    """Middleware: requests that compute run a few at a time.

    Parameters
    ----------
    app : ASGI application
    limiter : Limiter
    """

    def __init__(self, app: ASGIApp, *, limiter: Limiter) -> None:
        self.app, self.limiter = app, limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request when it is its turn."""
        if scope["type"] != "http" or not _is_work(scope):
            await self.app(scope, receive, send)
            return
        limiter = self.limiter
        if limiter.waiting >= WAITING:
            busy = JSONResponse(
                {"error": "too many requests are waiting; try again when some have ended"},
                status_code=503,
                headers={"Retry-After": "5"},
            )
            await busy(scope, receive, send)
            return
        limiter.waiting += 1
        try:
            first = await _turn(limiter.work, receive)
        finally:
            limiter.waiting -= 1
        if first is None:
            return  # the client has left
        try:
            await self.app(scope, _after(first, receive), send)
        finally:
            limiter.work.release()


class Limiter:
    """What is under way in one server."""

    def __init__(self) -> None:
        self.work = asyncio.Semaphore(AT_ONCE)
        self.live = asyncio.Semaphore(LIVE_AT_ONCE)
        self.waiting = 0


async def _turn(work: asyncio.Semaphore, receive: Receive) -> list[Message] | None:
    """Wait for a turn; returns what was received meanwhile, or None if the client has left."""
    if not work.locked():
        await work.acquire()
        return []
    turn = asyncio.ensure_future(work.acquire())
    received: list[Message] = []
    whole = False
    try:
        while True:
            # The body is not collected: one part at most, then only the end is listened for.
            if received and not whole:
                await turn
                return received
            listening = asyncio.ensure_future(receive())
            await asyncio.wait({turn, listening}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                message = listening.result()
                if message["type"] == "http.disconnect":
                    if turn.done():
                        work.release()
                    return None
                received.append(message)
                whole = not message.get("more_body", False)
                if not turn.done():
                    continue
            else:
                listening.cancel()
            return received
    finally:
        if not turn.done():
            turn.cancel()


def _after(first: list[Message], receive: Receive) -> Receive:
    """A `receive` that begins with messages that were received before."""
    pending = list(first)

    async def received() -> Message:
        return pending.pop(0) if pending else await receive()

    return received


def _is_work(scope: Scope) -> bool:
    """Whether a request computes: those that are sent something do, and pictures of motions."""
    path = scope["path"]
    if not path.startswith("/api/") or path.startswith(_LIGHT):
        return False
    return scope["method"] in ("POST", "PUT", "PATCH") or path.startswith(
        ("/api/crowds", "/api/grid", "/api/families", "/api/dance/music")
    )


def timed_protocol() -> type:
    """HTTP protocol of uvicorn that closes connections which send no request."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    silent: OrderedDict[Any, None] = OrderedDict()

    class TimedConnection(AutoHTTPProtocol):  # type: ignore[valid-type, misc]
        _alarm: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_head()
            while len(silent) > SILENT:
                next(iter(silent))._give_up()

        def data_received(self, data: bytes) -> None:
            if self.cycle is None or self.cycle.response_complete:
                self._expect_head()  # of the next request of this connection
            super().data_received(data)
            upgraded = self.transport.get_protocol() is not self
            if upgraded or (self.cycle is not None and not self.cycle.response_complete):
                self._heard()

        def connection_lost(self, exc: Exception | None) -> None:
            self._heard()
            super().connection_lost(exc)

        def _expect_head(self) -> None:
            if self._alarm is None:
                silent[self] = None
                self._alarm = self.loop.call_later(HEAD_SECONDS, self._give_up)

        def _heard(self) -> None:
            silent.pop(self, None)
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None

        def _give_up(self) -> None:
            self._heard()
            if self.transport is not None and not self.transport.is_closing():
                self.transport.abort()

    return TimedConnection
