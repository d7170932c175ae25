"""`studio`: a library in the browser."""

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
    port: Annotated[int, typer.Option(help="Port; 0: any free one.")] = 8765,
    token: Annotated[
        str | None, typer.Option(help="What every request must carry. Default: made if needed.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="Another host name to answer to. May be repeated.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """See it, select it, drag it, dance it: the library in your browser."""
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
        told=lambda line: print(line, flush=True),
    )
    if any(not one.daemon for one in threading.enumerate() if one is not threading.main_thread()):
        # An answer nobody waits for is still being computed; what is written is whole anyway.
        sys.stdout.flush()
        os._exit(0)
