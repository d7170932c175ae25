"""``motionloom studio``: the page that shows a library and does all jobs."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Annotated

from motionloom.cli.command import Argument, Option
from motionloom.cli.terminal import remark
from motionloom.errors import InvalidInput


def studio(
    lib: Annotated[
        Path | None,
        Argument(
            "The library; a new name.loom is created. Without it the page begins with a "
            "choice: recent libraries, those of this folder, a new one.",
            metavar="LIB",
        ),
    ] = None,
    host: Annotated[str, Option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option("Port; 0: any free port.")] = 8765,
    token: Annotated[
        str | None,
        Option("Token of every request. [generated]", envvar="MOTIONLOOM_TOKEN"),
    ] = None,
    no_token: Annotated[
        bool,
        Option("Without a token: for every user of this machine.", "--no-token"),
    ] = False,
    name: Annotated[
        list[str] | None, Option("Further host name of the server; may be repeated.")
    ] = None,
    browser: Annotated[bool, Option("Open the page in a browser.")] = True,
) -> None:
    """Open the studio in a browser.

    On this machine, the page can also open your recent libraries and those of the current folder,
    and make new ones there. The printed address contains a token, without which no request is
    answered: other users of this machine can connect, too.
    """
    if no_token and token is not None:
        raise InvalidInput("--token and --no-token exclude each other")
    try:
        from motionloom.studio import serve
    except ModuleNotFoundError as missing:
        raise InvalidInput(
            f"the studio needs {missing.name}; install it with: pip install 'motionloom[studio]'"
        ) from None
    if lib is not None and lib.suffix == ".loom" and not lib.exists():
        from motionloom.library import Library

        Library.create(lib).close()
        remark(f"library  {lib}: created; drop takes on the page to import them")
    serve(
        lib,
        host=host,
        port=port,
        token=False if no_token else token,
        names=tuple(name or ()),
        open_browser=browser,
        report=lambda line: print(line, flush=True),
    )
    if any(not one.daemon for one in threading.enumerate() if one is not threading.main_thread()):
        # A response without a client is still being computed; files are written atomically.
        sys.stdout.flush()
        os._exit(0)
