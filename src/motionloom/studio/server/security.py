"""Access control: only the studio's own page, with the token, may send requests.

A browser that shows a malicious page can send requests to any address it can reach, including this
server. These checks reject such requests:

- *Host* must be one of the server's names; otherwise a foreign name could resolve to 127.0.0.1
  (DNS rebinding);
- *Origin* and *Sec-Fetch-Site*, if present, must be those of the server, and a body must have a
  type that a plain form cannot send (cross-site requests);
- every request needs the token, first in the address and then in a cookie, because other users of
  this machine can also connect.

Response headers forbid other pages to frame, read or embed the responses.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
COOKIE = "motionloom_token"
LARGEST_JSON = 8 << 20  # bytes of a request body; uploaded files have other limits
BODY_SECONDS = 30  # maximum time between two parts of a body

# Uploaded files, which have other limits.
_FILES = ("/api/uploads/", "/api/dance/music/", "/api/characters/")
# A host and a port, and nothing else: it becomes part of the Content-Security-Policy.
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
_OWN_SITES = ("same-origin", "none")  # the page itself, or an address typed by the user


class AccessControl:
    """Middleware that rejects requests from other sites and requests without the token.

    Parameters
    ----------
    app : ASGI application
    names : set of str
        Host names, without port, that the server accepts. With a token, it also accepts all numeric
        addresses, which DNS rebinding cannot use.
    token : str, optional
        Token that every request must contain, as ``?token=``, as ``Authorization: Bearer``, or in
        the cookie that the first response sets. None: no token is required.
    """

    def __init__(
        self, app: ASGIApp, *, names: frozenset[str] = LOCAL_NAMES, token: str | None = None
    ) -> None:
        self.app = app
        self.names = names
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward allowed requests and reject all others."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if scope["type"] == "http":
            send = _guarded(send, scope["path"], headers["host"] if refusal is None else "")
            receive = _bounded(receive, scope["path"])
        if refusal is not None:
            await _refuse(scope, receive, send, refusal)
        elif scope["type"] == "http" and self._token_in_address(scope):
            # The redirect removes the token from the address bar, history and screenshots.
            response = RedirectResponse(scope.get("root_path", "") + scope["path"], 303)
            # Lax: the cookie is also sent when a link from another site is followed.
            response.set_cookie(
                _cookie_name(headers), self.token or "", httponly=True, samesite="lax"
            )
            await response(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> str | None:
        host = headers.get("host", "")
        valid = len(headers.getlist("host")) == 1 and _HOST.fullmatch(host)
        if not valid or not self._answers_to(_name(host)):
            return f"this server does not accept the host name {host[:80]!r}"
        for origin in headers.getlist("origin"):
            if _place(origin) != host:
                return f"requests from {origin[:80]} are not allowed"
        site = headers.get("sec-fetch-site", "none")
        if site not in _OWN_SITES and not _is_navigation(scope, headers):
            return "requests from other sites are not allowed"
        if scope["type"] == "http" and scope["method"] == "POST" and _is_form(headers):
            return "forms are not accepted; send application/json"
        if self.token is not None and not self._has_token(scope, headers):
            return "a token is required; open the address that motionloom studio printed"
        return None

    def _answers_to(self, name: str) -> bool:
        return name in self.names or (self.token is not None and _is_ip_address(name))

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        authorization = headers.get("authorization", "")
        given = [
            *_query(scope).get("token", []),
            authorization.removeprefix("Bearer ") if authorization else "",
            _cookie(headers.get("cookie", ""), _cookie_name(headers)),
        ]
        expected = (self.token or "").encode()
        return any(
            secrets.compare_digest(candidate.encode(), expected) for candidate in given if candidate
        )

    def _token_in_address(self, scope: Scope) -> bool:
        return self.token is not None and scope["path"] == "/" and "token" in _query(scope)


def _place(origin: str) -> str | None:
    """Return the host and port of an origin, or None if it is invalid."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _name(host: str) -> str:
    """Return the host without its port: ``[::1]:8000`` -> ``[::1]``."""
    return host[: host.rfind("]") + 1] if host.startswith("[") else host.split(":")[0].lower()


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_navigation(scope: Scope, headers: Headers) -> bool:
    """Return whether the user follows a link from another site to the page."""
    mode = headers.get("sec-fetch-mode", "navigate")
    return scope["type"] == "http" and scope["path"] == "/" and mode == "navigate"


def _is_form(headers: Headers) -> bool:
    """Return whether any page could send this type of body without a preflight request."""
    kind = headers.get("content-type", "").split(";")[0].strip().lower()
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return kind in _FORM_TYPES or (not kind and has_body)


def _query(scope: Scope) -> dict[str, list[str]]:
    return parse_qs(scope["query_string"].decode("latin-1"))


def _cookie_name(headers: Headers) -> str:
    """Return the cookie name, which contains the port because all ports of a host share cookies."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdigit() else COOKIE


def _cookie(text: str, name: str) -> str:
    try:
        cookie = SimpleCookie(text).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


def _guarded(send: Send, path: str, host: str) -> Send:
    """Return a `send` function that adds the security headers."""
    lines = f"ws://{host} wss://{host}" if host else ""
    # The page compiles WebAssembly, served by the studio, to estimate poses in "Show it".
    scripts = "script-src 'self' 'wasm-unsafe-eval'; " if path == "/" else ""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Content-Security-Policy"] = (
                "default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
                f"{scripts}style-src 'self' 'unsafe-inline'; connect-src 'self' {lines}; "
                "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            )
            headers["X-Content-Type-Options"] = "nosniff"
            headers["Referrer-Policy"] = "no-referrer"
            headers["Cross-Origin-Opener-Policy"] = "same-origin"
            headers["Cross-Origin-Resource-Policy"] = "same-origin"
            # Built assets have a hash in their names; everything else can change at any time.
            built = path.startswith("/assets/")
            headers.setdefault(
                "Cache-Control", "max-age=31536000, immutable" if built else "no-cache"
            )
        await send(message)

    return guarded


def _bounded(receive: Receive, path: str) -> Receive:
    """Return a `receive` function that limits a body's size and the time between its parts."""
    size, whole = 0, False

    async def bounded() -> Message:
        nonlocal size, whole
        if whole:  # only the end of the connection can follow
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), BODY_SECONDS)
        except TimeoutError:
            raise HTTPException(
                408, f"the request body stalled: no data arrived for {BODY_SECONDS} s"
            ) from None
        whole = not message.get("more_body", False)
        size += len(message.get("body", b""))
        if size > LARGEST_JSON and not path.startswith(_FILES):
            raise HTTPException(413, f"a request body may have at most {LARGEST_JSON >> 20} MB")
        return message

    return bounded


async def _refuse(scope: Scope, receive: Receive, send: Send, why: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403, "reason": why[:120]})
    else:
        await PlainTextResponse(why, status_code=403)(scope, receive, send)
