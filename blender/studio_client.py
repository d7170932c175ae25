# SPDX-License-Identifier: GPL-3.0-or-later
"""Client of the studio's HTTP interface, with the standard library and NumPy only."""

from __future__ import annotations

import base64
import http.client
import ipaddress
import json
import os
import re
import stat
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np

EXAMPLE_ADDRESS = "http://127.0.0.1:8765"
LARGEST_BODY = 8 << 20  # maximum bytes of JSON that the studio accepts
LARGEST_ANSWER = 512 << 20  # bytes
_TYPES = {"float32": "<f4", "int32": "<i4", "uint8": "|u1"}
_SECONDS = 600.0  # without data from the studio, which may first load packages for sound
_POLL_SECONDS = 0.2


class StudioError(Exception):
    """Error with a one-line message for the user."""


class Studio:
    """A studio at an address.

    Parameters
    ----------
    address : str
        ``http://HOST:PORT``, optionally with a token, as printed by ``motionloom studio``. If
        empty: the studio that the user started last on this machine.
    token : str
        Token of every request. Default: the token in the address or, if the user runs a studio at
        this address, its token.
    """

    def __init__(self, address: str = "", token: str = "") -> None:
        running = running_studios()
        address = address.strip()
        if not address:
            if not running:
                raise StudioError(
                    "no studio is running on this machine; start one with: "
                    "motionloom studio LIBRARY"
                )
            address = running[0][0]
        parts = urllib.parse.urlsplit(address if "://" in address else f"http://{address}")
        try:
            named = re.fullmatch(r"[\w.:-]+", parts.hostname or "") and (parts.port or True)
        except ValueError:
            named = False
        if not named or parts.scheme not in ("http", "https"):
            raise StudioError(
                f"{address} is not the address of a studio, such as {EXAMPLE_ADDRESS}"
            )
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.is_local = _is_local(parts.hostname or "")
        given = urllib.parse.parse_qs(parts.query).get("token", [""])[0]
        # A token is sent only to the studio that it belongs to.
        own = dict(reversed(running)).get(_canonical(self.address), "")
        self._token = token.strip() or given or own
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if self.is_local:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path: str, **query: object) -> object:
        """Send a GET request and return the JSON response."""
        words = urllib.parse.urlencode(query, doseq=True)
        return _json(self._ask("GET", path + (f"?{words}" if words else "")))

    def post(self, path: str, body: object = None) -> object:
        """Send a POST request and return the JSON response."""
        return _json(self._ask("POST", path, _encoded(body)))

    def put(self, path: str, data: bytes) -> object:
        """Upload a file and return the JSON response."""
        return _json(self._ask("PUT", path, data, kind="application/octet-stream"))

    def arrays(
        self, method: str, path: str, body: object = None
    ) -> tuple[dict, dict[str, np.ndarray]]:
        """Request a packed response and return its head and arrays."""
        return unpack(self._ask(method, path, None if body is None else _encoded(body)))

    def finished(self, job: dict, *, stop: threading.Event | None = None) -> dict:
        """Wait for a job and return its result; `stop` ends the job."""
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
            if isinstance(why, TimeoutError):
                raise StudioError(
                    f"the studio at {self.address} did not answer within {_SECONDS:.0f} s"
                ) from None
            raise StudioError(
                f"no studio is running at {self.address} ({why}); start one with: motionloom "
                f"studio LIBRARY"
            ) from None
        if len(content) > LARGEST_ANSWER:
            raise StudioError(
                f"the response is larger than {LARGEST_ANSWER >> 20} MB; choose fewer frames"
            )
        return content


class Call:
    """Work in a thread that the user interface polls.

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
        except Exception as error:  # nothing else watches this thread
            self._error = StudioError(f"{type(error).__name__}: {error}")

    @property
    def done(self) -> bool:
        """True if the work has ended."""
        return not self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the work ends, for at most `timeout` seconds; return whether it has ended."""
        self._thread.join(timeout)
        return self.done

    def outcome(self):
        """Return the result of the work, or raise its exception."""
        if self._error is not None:
            raise self._error
        return self._answer


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Reject redirects, which would send the token elsewhere."""

    def redirect_request(self, *_: object) -> None:
        return None


def running_studios(home: Path | None = None) -> list[tuple[str, str]]:
    """Address and token of the user's running studios on this machine, the latest first.

    Each has a private folder, which it locks while it runs. After a crash, another user's program
    may listen on its port.
    """
    studios = []
    try:
        root = settings_folder(home) / "studios"
        folders = list(root.iterdir()) if _is_private(root) else []
        for folder in folders:
            if _is_private(folder) and (entry := _running(folder)) is not None:
                studios.append(entry)
    except OSError:
        pass
    return [(address, token) for _, address, token in sorted(studios, reverse=True)]


def _running(folder: Path) -> tuple[float, str, str] | None:
    try:
        with open(folder / "studio.json", encoding="utf-8") as file:
            said = json.loads(file.read(10_000))
        started, address, token = float(said["started"]), said["address"], said["token"]
        with open(folder / "lock", "r+b") as lock:
            locked = _is_locked(lock.fileno())
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    plain = isinstance(token, str) and re.fullmatch(r"[A-Za-z0-9._~-]{0,200}", token)
    return (started, address, token) if locked and plain and isinstance(address, str) else None


def _is_private(folder: Path) -> bool:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    return os.name != "posix" or (status.st_uid == os.getuid() and not status.st_mode & 0o77)


if sys.platform == "win32":
    import msvcrt

    def _is_locked(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return True
        return False

else:
    import fcntl

    def _is_locked(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _canonical(address: str) -> str:
    """The address as a studio writes it: localhost is 127.0.0.1."""
    return address.replace("://localhost:", "://127.0.0.1:")


def settings_folder(home: Path | None = None) -> Path:
    """Folder of the user's motionloom settings."""
    home = Path.home() if home is None else home
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "motionloom"


def unpack(message: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """Unpack a response into head and arrays: a length, a JSON head, raw bytes."""
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
        raise StudioError(
            "the response is not from a studio; is another program using this port?"
        ) from None


def base64_floats(values: np.ndarray) -> str:
    """Encode an array as float32 in base64, for requests."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


def _encoded(body: object) -> bytes:
    data = json.dumps({} if body is None else body, allow_nan=False).encode()
    if len(data) > LARGEST_BODY:
        raise StudioError(
            f"{len(data) >> 20} MB exceed the limit of the studio ({LARGEST_BODY >> 20} MB); "
            f"choose fewer frames"
        )
    return data


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise StudioError(
            "the response is not from a studio; is another program using this port?"
        ) from None


def _refusal(error: urllib.error.HTTPError) -> str:
    """Message of a rejected request."""
    with error:
        text = error.read(100_000).decode("utf-8", "replace")
    if error.code == 403 and "token" in text:
        return "the studio rejected this token; copy the address that motionloom studio printed"
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
        return f"the studio does not support {path}; is it older than this extension?"
    line = " ".join(text.split())[:200]
    return f"the studio answered {error.code}: {line or error.reason}"


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


__all__ = ["Call", "Studio", "StudioError", "base64_floats", "running_studios", "unpack"]
