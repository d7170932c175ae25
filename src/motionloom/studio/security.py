"""Who may ask: only this page, on this machine, or whoever has the token.

A browser that shows a hostile page can send requests to any address it can reach, this
server's too. Three checks keep that page out: *Host* must be a name the server was told to
answer to, or a foreign name could be pointed at 127.0.0.1 (DNS rebinding); *Origin*, where a
browser sends one, must be the server's own; and where the server listens beyond this machine,
every request needs the token, once in the address and then in a cookie.
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
COOKIE = "motionloom_token"


class Doorkeeper:
    """Middleware that lets in only those who may ask.

    Parameters
    ----------
    app : ASGI application
    names : set of str
        Host names, without port, that the server answers to.
    token : str, optional
        What every request must carry, as ``?token=``, as ``Authorization: Bearer`` or as the
        cookie that the first of them sets. None: no token is needed.
    """

    def __init__(
        self, app: ASGIApp, *, names: frozenset[str] = LOCAL_NAMES, token: str | None = None
    ) -> None:
        self.app = app
        self.names = names
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that may be answered; refuse any other."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, receive, send, refusal)
        elif scope["type"] == "http" and self._token_in_address(scope):
            # The token leaves the address bar, and with it history and screenshots.
            response = RedirectResponse(scope.get("root_path", "") + scope["path"], 303)
            response.set_cookie(COOKIE, self.token or "", httponly=True, samesite="strict")
            await response(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if _name(host) not in self.names:
            return f"this server does not answer to the name {host!r}"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return f"requests from {origin} are not answered"
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"] != "/":
            return "requests from other sites are not answered"
        if self.token is not None and not self._has_token(scope, headers):
            return "a token is needed: open the address that motionloom studio printed"
        return None

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        authorization = headers.get("authorization", "")
        given = [
            *parse_qs(scope["query_string"].decode("latin-1")).get("token", []),
            authorization.removeprefix("Bearer ") if authorization else "",
            _cookie(headers.get("cookie", "")),
        ]
        expected = (self.token or "").encode()
        return any(secrets.compare_digest(one.encode(), expected) for one in given if one)

    def _token_in_address(self, scope: Scope) -> bool:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        return self.token is not None and scope["path"] == "/" and "token" in query


def _name(host: str) -> str:
    """A host without its port: ``[::1]:8000`` -> ``[::1]``."""
    return host[: host.rfind("]") + 1] if host.startswith("[") else host.split(":")[0].lower()


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


async def _refuse(scope: Scope, receive: Receive, send: Send, why: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403, "reason": why[:120]})
    else:
        await PlainTextResponse(why, status_code=403)(scope, receive, send)
