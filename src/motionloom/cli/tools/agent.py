"""``motionloom agent``: a library as tools for AI agents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from motionloom.cli.command import Option
from motionloom.cli.options import LIB, open_library
from motionloom.errors import InvalidInput


def agent(
    library: Annotated[Path, LIB],
    output: Annotated[
        Path | None,
        Option(
            "Folder for files that the agent writes; without it, it writes none.",
            "-o --output",
            metavar="DIR",
        ),
    ] = None,
) -> None:
    """Let an AI agent use a library, through the Model Context Protocol.

    An agent starts this command and talks to it on standard input and output. It can find, show and
    synthesize motions, and label them; every change to the library can be undone. It names motions,
    never files, and writes only to the library and to new files in DIR.
    """
    try:
        from motionloom.agents.server import serve_agent
    except ModuleNotFoundError as missing:
        raise InvalidInput(
            f"agents need {missing.name}; install it with: pip install 'motionloom[agents]'"
        ) from None
    from motionloom.agents.workspace import Workspace

    lib = open_library(library)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    print(f"motionloom: serving {library} to an agent; stop with Ctrl-C", file=sys.stderr)
    serve_agent(Workspace(lib, output))
