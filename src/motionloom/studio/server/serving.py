"""Start-up of the studio's server."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from motionloom.errors import InvalidInput, MissingExtra
from motionloom.library import find_sources
from motionloom.studio.server.announcement import announced
from motionloom.studio.server.limits import timed_protocol
from motionloom.studio.server.security import LOCAL_NAMES
from motionloom.studio.state.app_state import AppState
from motionloom.studio.state.jobs import Job
from motionloom.studio.state.library_choice import LibraryChoice, remember
from motionloom.studio.state.uploads import labels_of_folders

_TOKEN = re.compile(r"[A-Za-z0-9._~-]{1,200}")
_ANYWHERE = ("0.0.0.0", "::", "")
_PING_SECONDS = 600  # time for a browser to answer a ping; long enough for a loaded machine
_IMPORT_SHOWN = 2.0  # seconds after which windows show the takes imported so far
_FAILURES = 20  # files that are reported
_SHUTDOWN_SECONDS = 1  # allowed for responses in progress when the server stops


def serve(
    library: str | Path | None = None,
    *,
    takes: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | bool | None = None,
    names: tuple[str, ...] = (),
    open_browser: bool = True,
    stream: str | None = None,
    report: Callable[[str], None] = print,
) -> None:
    """Serve the studio until Ctrl-C.

    Parameters
    ----------
    library : str or Path, optional
        Library to show; a ``.loom`` folder that does not exist is created. Default: the page starts
        with a list of libraries. On this machine and with a token, the page can open the user's
        recent libraries and those in the current folder, and create new ones there.
    takes : str or Path, optional
        Motion file or folder to import into the library as a job, while the page is open already.
        Names of its folders become labels.
    host : str
        Address to listen on.
    port : int
        Port; 0 selects a free port.
    token : str or False, optional
        Token that every request must contain; the printed address includes it. Default: a new
        token at each start. False: no token is required, so every user of this machine can read and
        change the library; allowed only on loopback addresses.
    names : tuple of str
        Additional host names to accept, for example behind a proxy.
    open_browser : bool
    stream : str, optional
        Also send the frames that characters play to this address, ``vmc://HOST:PORT``, in the VMC
        protocol.
    report : callable
        Called with the line that shows the address, and with remarks.

    Raises
    ------
    InvalidInput
        If the server cannot listen on the address, or the token has invalid characters.

    Examples
    --------
    >>> serve("takes.loom", port=0, open_browser=False)    # doctest: +SKIP
    motionloom studio: http://127.0.0.1:40631/?token=...
    """
    from motionloom.formats.vmc import LiveStream
    from motionloom.library import Library

    try:
        import uvicorn

        from motionloom.studio.server.app import create_app, missing_page
    except ModuleNotFoundError as missing:
        raise MissingExtra(
            f"the studio needs {missing.name}; install it with: pip install 'motionloom[studio]'"
        ) from None

    live = LiveStream(stream) if stream is not None else None
    token = _checked_token(token, local=_is_local(host))
    # If others can use the server, it shows only the library that it was started with.
    ours = token is not None and _is_local(host) and not names
    choice = LibraryChoice(Path.cwd()) if ours else None
    if library is None and choice is None:
        raise InvalidInput(
            "LIB is required if others can connect, because the page lists libraries only on "
            "this machine and with a token"
        )
    listening = _listen(host, port)
    new = library is not None and Path(library).suffix == ".loom" and not Path(library).exists()
    try:
        opened = None if library is None else (Library.create if new else Library)(library)
    except BaseException:
        listening.close()
        raise
    if opened is not None and choice is not None:
        remember(opened.path)
    port = listening.getsockname()[1]
    shown = _shown_name(host)
    answered = frozenset(map(str.lower, (*LOCAL_NAMES, shown, *names)))
    app = create_app(opened, names=answered, token=token, choice=choice, stream=live)
    address = f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
    config = uvicorn.Config(
        app,
        log_level="warning",
        ws_max_size=1 << 20,
        ws_ping_timeout=_PING_SECONDS,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        http=timed_protocol(),
    )
    server = uvicorn.Server(config)
    if takes is not None:
        _import(app.state.studio, Path(takes), report)
    close = server.shutdown

    async def shutdown(sockets: list[socket.socket] | None = None) -> None:
        # Responses cut short during shutdown are not errors.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await close(sockets)
        private.close()  # here, because uvicorn ends the process with the signal it received

    server.shutdown = shutdown  # type: ignore[method-assign]
    with ExitStack() as private:
        page = private.enter_context(announced(f"http://{_own_name(host)}:{port}", token))
        report(f"motionloom studio: {address}")
        if new:
            hint = "" if takes is not None else "; drop takes on the page to import them"
            report(f"library  {library}: created{hint}")
        if missing_page():
            report(missing_page())
        if open_browser and (page or token is None):
            # The browser's command line is public, so it has no token.
            place = page.as_uri() if page else address
            threading.Timer(0.5, webbrowser.open, [place]).start()
        elif open_browser:
            report("copy this address to a browser; the settings folder is not private")
        with suppress(KeyboardInterrupt):  # uvicorn re-raises Ctrl-C after closing
            server.run(sockets=[listening])


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _import(state: AppState, takes: Path, report: Callable[[str], None]) -> None:
    """Import a file or folder in a job; windows show its takes while it runs."""
    sources, _ = find_sources([takes])

    def work(job: Job) -> dict[str, int]:
        notified = time.monotonic()

        def progress(steps: int) -> None:
            nonlocal notified
            job.advance(steps)
            if time.monotonic() - notified > _IMPORT_SHOWN:
                state.notify("motions")
                notified = time.monotonic()

        labels = labels_of_folders(takes) if takes.is_dir() else None
        try:
            # Processes forked from a server with threads may hang.
            done = state.library.add(takes, labels=labels, workers=1, progress=progress)
        finally:
            state.notify("motions")
        for bad in done.failed[:_FAILURES]:
            report(f"not imported: {bad.file}: {bad.reason}")
        return {"added": done.added, "skipped": done.skipped, "failed": len(done.failed)}

    title = f"importing {takes.name or takes}"
    state.jobs.start(title, work, total=len(sources), view="library")


def _checked_token(token: str | bool | None, *, local: bool) -> str | None:
    if token is False:
        if not local:
            raise InvalidInput(
                "a token is required, because other machines can connect to this address"
            )
        return None
    if token is None or token is True:
        return secrets.token_urlsafe(24)
    if not _TOKEN.fullmatch(token):
        raise InvalidInput(
            "token must consist of letters, digits and - . _ ~, and must not be empty"
        )
    return token


def _listen(host: str, port: int) -> socket.socket:
    """Open a listening socket before the address is reported, so that the port is correct."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":  # on Windows it would let two servers share a port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    elif hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # nobody else may take over the port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        why = (isinstance(error, OSError) and error.strerror) or error
        raise InvalidInput(
            f"cannot listen on {host}:{port}: {why}; choose another address with --host and --port"
        ) from None
    return listening


def _shown_name(host: str) -> str:
    """Return the host name to open in a browser for a server that listens on `host`."""
    if host in _ANYWHERE:
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _own_name(host: str) -> str:
    """Return the host name under which programs on this machine connect."""
    if host in _ANYWHERE:
        return "[::1]" if ":" in host else "127.0.0.1"
    return _shown_name(host)
