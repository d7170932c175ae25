"""`motionloom studio`: the library in a browser."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from motionloom.cli.options import LIB
from motionloom.errors import InvalidInput


def studio(
    lib: Annotated[Path, LIB],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0: any free port.")] = 8765,
    token: Annotated[
        str | None, typer.Option(help="Token of every request. Default: generated if needed.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="Further host name of the server; may be repeated.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open the library in a browser."""
    try:
        from motionloom.studio import serve
    except ModuleNotFoundError as missing:
        raise InvalidInput(
            f"the studio needs {missing.name}; install it with: pip install 'motionloom[studio]'"
        ) from None
    serve(
        lib,
        host=host,
        port=port,
        token=token,
        names=tuple(name or ()),
        open_browser=browser,
        report=lambda line: print(line, flush=True),
    )
    if any(not one.daemon for one in threading.enumerate() if one is not threading.main_thread()):
        # A response without a client is still being computed; files are written atomically.
        sys.stdout.flush()
        os._exit(0)
