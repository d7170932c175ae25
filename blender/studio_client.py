# SPDX-License-Identifier: GPL-3.0-or-later
"""Client of the studio's HTTP interface: the standard library and NumPy alone, no Blender."""

from __future__ import annotations

import base64
import http.client
import ipaddress
import json
import os
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np

DEFAULT_ADDRESS = "http://127.0.0.1:8765"
LARGEST_BODY = 8 << 20  # bytes of JSON that the studio takes
LARGEST_ANSWER = 512 << 20  # bytes
_TYPES = {"float32": "<f4", "int32": "<i4", "uint8": "|u1"}
_SECONDS = 120.0  # without a byte from the studio
_POLL_SECONDS = 0.2


class StudioError(Exception):
    """What went wrong, in one line for people."""


class Studio:
    """A studio at an address.

    Parameters
    ----------
    address : str
        ``http://HOST:PORT``; a token in it, as ``motionloom studio`` prints it, is used.
    token : str
        Token of every request. Default: that of the address, or on this machine the user's own.
    """

    def __init__(self, address: str = DEFAULT_ADDRESS, token: str = "") -> None:
        address = address.strip() or DEFAULT_ADDRESS
        parts = urllib.parse.urlsplit(address if "://" in address else f"http://{address}")
        try:
            named = re.fullmatch(r"[\w.:-]+", parts.hostname or "") and (parts.port or True)
        except ValueError:
            named = False
        if not named or parts.scheme not in ("http", "https"):
            raise StudioError(
                f"{address} is not the address of a studio, such as {DEFAULT_ADDRESS}"
            )
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.is_local = _is_local(parts.hostname or "")
        given = urllib.parse.parse_qs(parts.query).get("token", [""])[0]
        # The user's token is for this machine: it is never sent to another.
        self._token = token.strip() or given or (own_token() if self.is_local else "")
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if self.is_local:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path: str, **query: object) -> object:
        """The answer to a GET request, as JSON."""
        words = urllib.parse.urlencode(query, doseq=True)
        return _json(self._ask("GET", path + (f"?{words}" if words else "")))

    def post(self, path: str, body: object = None) -> object:
        """The answer to a POST request, as JSON."""
        return _json(self._ask("POST", path, _encoded(body)))

    def put(self, path: str, data: bytes) -> object:
        """The answer to a file that was sent, as JSON."""
        return _json(self._ask("PUT", path, data, kind="application/octet-stream"))

    def arrays(
        self, method: str, path: str, body: object = None
    ) -> tuple[dict, dict[str, np.ndarray]]:
        """Head and arrays of a packed answer."""
        return unpack(self._ask(method, path, None if body is None else _encoded(body)))

    def finished(self, job: dict, *, stop: threading.Event | None = None) -> dict:
        """The result of a job, waited for; `stop` ends the job."""
        while job["state"] == "running":
            if stop is not None and stop.wait(_POLL_SECONDS):
                self._ask("DELETE", f"/api/jobs/{job['id']}")
                raise StudioError("stopped")
            if stop is None:
                time.sleep(_POLL_SECONDS)
            job = self.get(f"/api/jobs/{job['id']}")  # type: ignore[assignment]
        if job["state"] != "done":
            raise StudioError(job["error"] or f"{job['title']} was stopped")
        return job["result"]

    def _ask(
        self, method: str, path: str, data: bytes | None = None, kind: str = "application/json"
    ) -> bytes:
        request = urllib.request.Request(self.address + path, data=data, method=method)
        if data is not None:
            request.add_header("Content-Type", kind)
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                content = answer.read(LARGEST_ANSWER + 1)
        except urllib.error.HTTPError as error:
            raise StudioError(_refusal(error)) from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            why = getattr(error, "reason", None) or error
            raise StudioError(
                f"no studio answers at {self.address} ({why}); start one: motionloom studio LIBRARY"
            ) from None
        if len(content) > LARGEST_ANSWER:
            raise StudioError(f"the answer is larger than {LARGEST_ANSWER >> 20} MB; choose less")
        return content


class Call:
    """Work in a thread, whose outcome the user interface asks for now and then.

    Examples
    --------
    >>> call = Call(lambda stop: 6 * 7)
    >>> call.wait(), call.outcome()
    (True, 42)
    """

    def __init__(self, work) -> None:
        self.stop = threading.Event()
        self._work, self._answer, self._error = work, None, None
        self._thread = threading.Thread(target=self._run, name="motionloom", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._work(self.stop)
        except StudioError as error:
            self._error = error
        except Exception as error:  # nobody else watches this thread
            self._error = StudioError(f"{type(error).__name__}: {error}")

    @property
    def done(self) -> bool:
        """Whether the work has ended."""
        return not self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the work has ended, or for `timeout` seconds; whether it has ended."""
        self._thread.join(timeout)
        return self.done

    def outcome(self):
        """What the work returned; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._answer


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirection would send the token elsewhere."""

    def redirect_request(self, *_: object) -> None:
        return None


def own_token(home: Path | None = None) -> str:
    """The user's token of studios on this machine; empty if there is none."""
    place = settings_folder(home) / "studio-token"
    try:
        with open(place, encoding="ascii") as file:
            text = file.read(1000).strip()
    except (OSError, ValueError):
        return ""
    return text if re.fullmatch(r"[A-Za-z0-9._~-]{1,200}", text) else ""


def settings_folder(home: Path | None = None) -> Path:
    """Where motionloom keeps the settings of a user."""
    home = Path.home() if home is None else home
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "motionloom"


def unpack(message: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """Head and arrays of a packed answer: a length, a JSON head, the raw bytes."""
    try:
        start = 4 + int.from_bytes(message[:4], "little")
        head = json.loads(message[4:start])
        arrays = {}
        for name, entry in head["arrays"].items():
            count = int(np.prod(entry["shape"], dtype=np.int64))
            values = np.frombuffer(message, _TYPES[entry["type"]], count, start + entry["at"])
            arrays[name] = values.reshape(entry["shape"])
        return head["meta"], arrays
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise StudioError("the answer is not that of a studio; is another program there?") from None


def base64_floats(values: np.ndarray) -> str:
    """An array as float32 in base64, as requests have it."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


def _encoded(body: object) -> bytes:
    data = json.dumps({} if body is None else body, allow_nan=False).encode()
    if len(data) > LARGEST_BODY:
        raise StudioError(
            f"{len(data) >> 20} MB are more than a studio takes at once "
            f"({LARGEST_BODY >> 20} MB); choose fewer frames"
        )
    return data


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise StudioError("the answer is not that of a studio; is another program there?") from None


def _refusal(error: urllib.error.HTTPError) -> str:
    """The message of a refused request."""
    with error:
        text = error.read(100_000).decode("utf-8", "replace")
    if error.code == 403 and "token" in text:
        return (
            "the studio does not take this token; copy the address that motionloom studio printed"
        )
    try:
        said = json.loads(text)
        if "error" in said:
            return str(said["error"])
        first = said["detail"][0] if isinstance(said["detail"], list) else said["detail"]
        if isinstance(first, dict):
            where = ".".join(str(part) for part in first.get("loc", ())[1:])
            return f"{where}: {first.get('msg', 'wrong')}"
        text = str(first)
    except (ValueError, KeyError, IndexError, TypeError):
        pass
    if error.code == 404:
        path = urllib.parse.urlsplit(error.url).path
        return f"the studio does not know {path}; is it older than this extension?"
    line = " ".join(text.split())[:200]
    return f"the studio answered {error.code}: {line or error.reason}"


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


__all__ = ["Call", "Studio", "StudioError", "base64_floats", "own_token", "unpack"]
