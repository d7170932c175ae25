"""Server limits on concurrent work, idle connections and slow headers.

`WorkLimiter` lets only a few requests compute at a time, after they have been received completely.
The others wait, and a request whose client has disconnected is dropped. Requests that only read use
a separate queue and are therefore answered even under load.

`TimedConnection` closes connections that do not send complete request headers within a few seconds,
and the oldest of them if there are too many.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections import OrderedDict
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

AT_ONCE = 4  # requests that compute at a time
READ_AT_ONCE = 16  # requests for frames, strips, beats ... of motions; there are 40 threads
WAITING = 64  # requests that may wait for their turn
RECEIVED = 512 << 20  # total bytes of bodies being received, waiting or computing
BODY_SECONDS = 120.0  # time for a computing request to arrive completely
LIVE_AT_ONCE = 8  # websocket messages of all windows processed at a time
HEAD_SECONDS = 15.0  # time for a connection to send the headers of a request
_ATTEMPTS = 4  # at an answer, while other processes change the library
_REST_SECONDS = 3.0  # without requests, after which unused memory is returned to the system
SILENT = 100  # connections that have not sent a request; the oldest are closed first ...
_YOUNG = 1.0  # ... but not within these seconds, because their request may not be read yet ...
_CROWDED = 4 * SILENT  # ... unless there are this many

_LIGHT = (
    "/api/uploads",
    "/api/jobs",
)  # bodies are written directly to disk, or only a status is read
_COMPUTED = ("/api/crowds", "/api/grid", "/api/families", "/api/dance/music")
_STATUS = ("/api/library", "/api/library/history")  # small responses, which never wait


class WorkLimiter:
    """Middleware that runs only a few computing requests at a time.

    Parameters
    ----------
    app : ASGI application
    limiter : Limiter
    """

    def __init__(self, app: ASGIApp, *, limiter: Limiter) -> None:
        self.app, self.limiter = app, limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request to the application when its turn comes."""
        limiter, body = self.limiter, _Body()
        queue = limiter.queue(scope)
        if queue is None:
            await self.app(scope, receive, send)
            return
        try:
            # Received before waiting for a turn, so that slow clients do not block others.
            await body.receive(receive, limiter)
            if limiter.waiting >= WAITING:
                raise HTTPException(503, "too many requests are waiting; try again later")
            limiter.waiting += 1
            try:
                ours = await _turn(queue, receive)
            finally:
                limiter.waiting -= 1
        except HTTPException as refusal:
            limiter.received -= body.size
            await _answer(refusal, send)
            return
        try:
            if ours:  # otherwise the client has left
                await self._answer(scope, body, receive, send)
        finally:
            limiter.received -= body.size
            if ours:
                queue.release()
            limiter.rest()

    async def _answer(self, scope: Scope, body: _Body, receive: Receive, send: Send) -> None:
        """Compute the answer, again if it failed while the library was being changed.

        A motion that a search has just found may be removed by another process.
        """
        for _ in range(_ATTEMPTS):
            state = scope["app"].state.studio
            before = state.stamp()
            if before != state.followed:
                await run_in_threadpool(state.follow)
            attempt = _Attempt(send)
            try:
                await self.app(dict(scope), _after(body.messages, receive), attempt.send)
            except Exception:
                if attempt.sent or before == state.stamp():
                    raise
                continue
            if not attempt.held or before == state.stamp():
                await attempt.release()
                return
        busy = HTTPException(503, "other processes keep changing the library; try again later")
        await _answer(busy, send)


class _Attempt:
    """An answer that is held back if it says that something does not exist."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.held: list[Message] = []
        self.sent = False

    async def send(self, message: Message) -> None:
        """Send or hold back one message."""
        if self.held or (message["type"] == "http.response.start" and message["status"] == 404):
            self.held.append(message)
        else:
            self.sent = True
            await self._send(message)

    async def release(self) -> None:
        """Send the messages that were held back."""
        for message in self.held:
            await self._send(message)


class _Body:
    """A request body, which is received completely before the request takes its turn."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.size = 0

    async def receive(self, receive: Receive, limiter: Limiter) -> None:
        """Receive the whole body; raise `HTTPException` if it takes too long or is too large."""
        try:
            async with asyncio.timeout(BODY_SECONDS):
                more = True
                while more:
                    message = await receive()
                    self.messages.append(message)
                    self.size += (part := len(message.get("body", b"")))
                    limiter.received += part
                    if limiter.received > RECEIVED:
                        raise HTTPException(
                            503, "the server is receiving too much data at once; try again later"
                        )
                    more = message.get("more_body", False)
        except TimeoutError:
            raise HTTPException(
                408, f"a request must arrive completely within {BODY_SECONDS:g} s"
            ) from None


class Limiter:
    """Requests that one server is computing, reading or playing, with their limits."""

    def __init__(self) -> None:
        self.work = asyncio.Semaphore(AT_ONCE)
        self.reading = asyncio.Semaphore(READ_AT_ONCE)
        self.live = asyncio.Semaphore(LIVE_AT_ONCE)
        self.waiting = 0
        self.received = 0  # bytes of requests being received, waiting or computing
        self._resting: asyncio.TimerHandle | None = None

    def rest(self) -> None:
        """Return unused memory to the system once no request has come for a few seconds."""
        if self._resting is not None:
            self._resting.cancel()
        loop = asyncio.get_running_loop()
        self._resting = loop.call_later(_REST_SECONDS, loop.run_in_executor, None, _release_memory)

    def queue(self, scope: Scope) -> asyncio.Semaphore | None:
        """Return the queue for a request, or None; requests with a body count as computation."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith("/api/") or path.startswith(_LIGHT):
            return None
        if scope["method"] in ("POST", "PUT", "PATCH") or path.startswith(_COMPUTED):
            return self.work
        return None if path in _STATUS else self.reading


def _release_memory() -> None:
    """Return memory that was freed to the system; glibc otherwise keeps it for each thread."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


async def _answer(refusal: HTTPException, send: Send) -> None:
    headers = {"Retry-After": "5"} if refusal.status_code == 503 else None
    response = JSONResponse({"error": refusal.detail}, refusal.status_code, headers)
    await send({"type": "http.response.start", "status": response.status_code,
                "headers": response.raw_headers})  # fmt: skip
    await send({"type": "http.response.body", "body": response.body})


async def _turn(work: asyncio.Semaphore, receive: Receive) -> bool:
    """Wait for a turn; return False if the client disconnects first."""
    if not work.locked():
        await work.acquire()
        return True
    turn, leaving = asyncio.ensure_future(work.acquire()), asyncio.ensure_future(receive())
    ours = False
    try:
        await asyncio.wait({turn, leaving}, return_when=asyncio.FIRST_COMPLETED)
        ours = not leaving.done()
        return ours
    finally:
        leaving.cancel()
        if not turn.done():
            turn.cancel()
        elif not ours:
            work.release()


def _after(first: list[Message], receive: Receive) -> Receive:
    """Return a `receive` function that first replays messages received earlier."""
    pending = list(first)

    async def received() -> Message:
        return pending.pop(0) if pending else await receive()

    return received


def timed_protocol() -> type:
    """Return a uvicorn HTTP protocol that closes connections without requests."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    silent: OrderedDict[Any, None] = OrderedDict()

    class TimedConnection(AutoHTTPProtocol):  # type: ignore[valid-type, misc]
        _alarm: Any = None
        _since = 0.0  # time from which the head of a request is expected

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_head()
            self._close_oldest()

        def _close_oldest(self) -> None:
            while len(silent) > SILENT:
                oldest = next(iter(silent))
                left = oldest._since + _YOUNG - self.loop.time()
                if left > 0.0 and len(silent) <= _CROWDED:
                    self.loop.call_later(left, oldest._close_oldest)
                    return
                oldest._give_up()

        def data_received(self, data: bytes) -> None:
            if self.cycle is None or self.cycle.response_complete:
                self._expect_head()  # for the next request of this connection
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
                self._since = self.loop.time()
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
