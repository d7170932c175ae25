"""``motionloom studio``: the web interface to a library."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Annotated

from motionloom.cli.command import Argument, Option
from motionloom.errors import InvalidInput


def studio(
    lib: Annotated[
        Path | None,
        Argument(
            "Library to open; a .loom folder that does not exist is created. A folder or file with "
            "takes is imported into FOLDER.loom next to it. Without LIB, the start page lists "
            "recent libraries and those in this folder, and can create one.",
            metavar="LIB",
        ),
    ] = None,
    host: Annotated[str, Option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option("Port; 0 selects a free port.", min=0, max=65535)] = 8765,
    token: Annotated[
        str | None,
        Option(
            "Access token that every request must contain; other users can see it on the command "
            "line, but not in MOTIONLOOM_TOKEN. [generated]",
            envvar="MOTIONLOOM_TOKEN",
        ),
    ] = None,
    no_token: Annotated[
        bool,
        Option("Do not require a token: every user of this machine gets access.", "--no-token"),
    ] = False,
    name: Annotated[
        list[str] | None, Option("Additional host name of the server; may be repeated.")
    ] = None,
    browser: Annotated[bool, Option("Open the page in a browser.")] = True,
    stream: Annotated[
        str | None,
        Option(
            "Also send played characters to a program that receives VMC, vmc://HOST:PORT.",
            metavar="ADDRESS",
        ),
    ] = None,
) -> None:
    """Open the studio in a browser.

    In a browser on this machine, the page can also open your recent libraries and those in the
    current folder, and create new ones there. The printed address contains an access token, because
    other users of this machine can also connect.
    """
    if no_token and token is not None:
        raise InvalidInput("--token and --no-token cannot be combined")
    try:
        from motionloom.studio import serve
    except ModuleNotFoundError as missing:
        raise InvalidInput(
            f"the studio needs {missing.name}; install it with: pip install 'motionloom[studio]'"
        ) from None
    lib, takes = _library_of(lib)
    serve(
        lib,
        takes=takes,
        host=host,
        port=port,
        token=False if no_token else token,
        names=tuple(name or ()),
        open_browser=browser,
        stream=stream,
        report=lambda line: print(line, flush=True),
    )
    if any(
        not thread.daemon
        for thread in threading.enumerate()
        if thread is not threading.main_thread()
    ):
        # A response may still be computed for a client that has left; files are written atomically.
        sys.stdout.flush()
        os._exit(0)


def _library_of(lib: Path | None) -> tuple[Path | None, Path | None]:
    """Return the library to open, which need not exist, and takes to import into it."""
    if lib is None:
        return None, None
    from motionloom.library import find_sources, is_library

    if is_library(lib) or not (lib.exists() or lib.suffix == ".loom"):
        return lib, None
    takes = lib if lib.exists() else None
    if takes is not None:
        find_sources([takes])  # raises if there are no motion files
        whole = takes.resolve()
        lib = whole.with_name(f"{whole.stem if whole.is_file() else whole.name}.loom")
    return lib, takes
