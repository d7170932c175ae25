"""Starting the studio's server."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from pathlib import Path

from motionloom.errors import InvalidInput
from motionloom.studio.security import LOCAL_NAMES

_LOCAL_ADDRESSES = ("127.0.0.1", "localhost", "::1")


def serve(
    library: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    names: tuple[str, ...] = (),
    open_browser: bool = True,
    told=print,
) -> None:
    """Serve the studio of a library until Ctrl-C.

    Parameters
    ----------
    library : str or Path
    host : str
        Address to listen on. Anything but this machine's own needs a token; one is made if
        none is given.
    port : int
        0: any free one.
    token : str, optional
    names : tuple of str
        Further host names to answer to, as when a proxy stands in front.
    open_browser : bool
    told : callable
        Gets the line with the address.
    """
    import uvicorn

    from motionloom.loom import Library
    from motionloom.studio.app import create_app

    local = host in _LOCAL_ADDRESSES
    if not local and token is None:
        token = secrets.token_urlsafe(24)
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    shown = "127.0.0.1" if host in _LOCAL_ADDRESSES else _reachable_name(host)
    answered = frozenset({*LOCAL_NAMES, shown.lower(), host.lower(), *map(str.lower, names)})
    app = create_app(Library(library), names=answered, token=token)
    address = f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
    told(f"motionloom studio: {address}")
    if open_browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws_max_size=1 << 20))
    server.run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket; taken before anything is told, so that the address told is true."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise InvalidInput(
            f"cannot listen on {host}:{port}: {error}; choose another with --host and --port"
        ) from None
    listening.listen(128)
    return listening


def _reachable_name(host: str) -> str:
    return socket.gethostname() if host in ("0.0.0.0", "::") else host
