"""Who may ask: only this page, on this machine, or whoever has the token.

A browser that shows a hostile page can send requests to any address it can reach, this
server's too. These checks keep that page out:

- *Host* must be a name the server was told to answer to, or a foreign name could be pointed at
  127.0.0.1 (DNS rebinding);
- *Origin* and *Sec-Fetch-Site*, where a browser sends them, must be the server's own, and a
  body must be of a kind that a plain form cannot send (cross-site requests);
- where the server listens beyond this machine, every request needs the token, once in the
  address and then in a cookie.

What goes out says that no other page may frame it, read it, or be loaded into it.
"""

from __future__ import annotations

import ipaddress
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
COOKIE = "motionloom_token"
LARGEST_JSON = 8 << 20  # bytes of a JSON body; files have bounds of their own

_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
_OWN = ("same-origin", "none")  # asked by the page itself, or by a person


class Doorkeeper:
    """Middleware that lets in only those who may ask.

    Parameters
    ----------
    app : ASGI application
    names : set of str
        Host names, without port, that the server answers to. With a token, all addresses in
        numbers too: a foreign page cannot make those its own.
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
        if scope["type"] == "http":
            send = _guarded(send, scope["path"], headers["host"] if refusal is None else "")
            receive = _bounded(receive, headers)
        if refusal is not None:
            await _refuse(scope, receive, send, refusal)
        elif scope["type"] == "http" and self._token_in_address(scope):
            # The token leaves the address bar, and with it history and screenshots.
            response = RedirectResponse(scope.get("root_path", "") + scope["path"], 303)
            # Lax: whoever follows a link to this page from elsewhere keeps the cookie.
            response.set_cookie(
                _cookie_name(headers), self.token or "", httponly=True, samesite="lax"
            )
            await response(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._answers_to(_name(host)):
            return f"this server does not answer to the name {host[:80]!r}"
        for origin in headers.getlist("origin"):
            if urlsplit(origin).netloc != host:
                return f"requests from {origin[:80]} are not answered"
        asker = headers.get("sec-fetch-site", "none")
        if asker not in _OWN and not _is_visit(scope, headers):
            return "requests from other sites are not answered"
        if scope["type"] == "http" and scope["method"] == "POST" and _is_form(headers):
            return "forms are not answered; send application/json"
        if self.token is not None and not self._has_token(scope, headers):
            return "a token is needed: open the address that motionloom studio printed"
        return None

    def _answers_to(self, name: str) -> bool:
        return name in self.names or (self.token is not None and _is_number(name))

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        authorization = headers.get("authorization", "")
        given = [
            *_asked(scope).get("token", []),
            authorization.removeprefix("Bearer ") if authorization else "",
            _cookie(headers.get("cookie", ""), _cookie_name(headers)),
        ]
        expected = (self.token or "").encode()
        return any(secrets.compare_digest(one.encode(), expected) for one in given if one)

    def _token_in_address(self, scope: Scope) -> bool:
        return self.token is not None and scope["path"] == "/" and "token" in _asked(scope)


def _name(host: str) -> str:
    """A host without its port: ``[::1]:8000`` -> ``[::1]``."""
    return host[: host.rfind("]") + 1] if host.startswith("[") else host.split(":")[0].lower()


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether a person follows a link to the page from elsewhere."""
    mode = headers.get("sec-fetch-mode", "navigate")
    return scope["type"] == "http" and scope["path"] == "/" and mode == "navigate"


def _is_form(headers: Headers) -> bool:
    """Whether a body is of a kind that any page may send anywhere without asking first."""
    kind = headers.get("content-type", "").split(";")[0].strip().lower()
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return kind in _FORM_TYPES or (not kind and has_body)


def _asked(scope: Scope) -> dict[str, list[str]]:
    return parse_qs(scope["query_string"].decode("latin-1"))


def _cookie_name(headers: Headers) -> str:
    """Cookies are shared by all ports of a machine: two studios need two names."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdigit() else COOKIE


def _cookie(text: str, name: str) -> str:
    try:
        found = SimpleCookie(text).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _guarded(send: Send, path: str, host: str) -> Send:
    """A `send` that adds what a browser must know to keep other pages away."""
    lines = f"ws://{host} wss://{host}" if host else ""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Content-Security-Policy"] = (
                "default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
                f"style-src 'self' 'unsafe-inline'; connect-src 'self' {lines}; "
                "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            )
            headers["X-Content-Type-Options"] = "nosniff"
            headers["Referrer-Policy"] = "no-referrer"
            headers["Cross-Origin-Opener-Policy"] = "same-origin"
            headers["Cross-Origin-Resource-Policy"] = "same-origin"
            # What is built carries a hash in its name; all else may change at any time.
            built = path.startswith("/assets/")
            headers.setdefault(
                "Cache-Control", "max-age=31536000, immutable" if built else "no-cache"
            )
        await send(message)

    return guarded


def _bounded(receive: Receive, headers: Headers) -> Receive:
    """A `receive` that ends a JSON body which has no end."""
    if not headers.get("content-type", "").startswith("application/json"):
        return receive
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_JSON:
            raise HTTPException(413, f"a request may have {LARGEST_JSON >> 20} MB of JSON")
        return message

    return bounded


async def _refuse(scope: Scope, receive: Receive, send: Send, why: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403, "reason": why[:120]})
    else:
        await PlainTextResponse(why, status_code=403)(scope, receive, send)
