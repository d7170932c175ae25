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
    mmcp: Annotated[
        int | None,
        Option(
            "Serve prompts of other programs in the Motion Model Context Protocol (MMCP) on this "
            "port of 127.0.0.1 instead; 0 selects a free port.",
            metavar="PORT",
            min=0,
            max=65535,
        ),
    ] = None,
) -> None:
    """Let an AI agent use a library, through the Model Context Protocol.

    An agent starts this command and talks to it on standard input and output. It can find, show and
    synthesize motions, and label them; every change to the library can be undone. It names motions,
    never files, and writes only to the library and to new files in DIR.
    """
    if mmcp is not None and output is not None:
        raise InvalidInput("--mmcp sends motions to its clients, so --output cannot be used")
    try:
        from motionloom.agents.server import serve_agent

        if mmcp is not None:
            from motionloom.agents.motion_protocol import serve_motion
    except ModuleNotFoundError as missing:
        raise InvalidInput(
            f"agents need {missing.name}; install it with: pip install 'motionloom[agents]'"
        ) from None
    from motionloom.agents.workspace import Workspace

    lib = open_library(library)
    if mmcp is not None:
        serve_motion(lib, mmcp, report=lambda line: print(line, file=sys.stderr, flush=True))
        return
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    print(f"motionloom: serving {library} to an agent; stop with Ctrl-C", file=sys.stderr)
    serve_agent(Workspace(lib, output))
