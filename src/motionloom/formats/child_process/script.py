"""Main script of the separate process, which runs a reader script; see `child_process`.

Neither script imports motionloom. The other script has a function ``read``, which takes a request
and returns metadata, and an exception ``REFUSED``, which says why a file cannot be read.
"""

from __future__ import annotations

import json
import os
import runpy
import sys


def main(request: dict) -> None:
    """Run the requested script's ``read`` function, and print its result as one line of JSON."""
    script = runpy.run_path(request["script"])
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    except (ImportError, ValueError, OSError):
        pass  # not supported on this system
    try:
        answer = script["read"](request)
    except script["REFUSED"] as refusal:
        answer = {"refused": str(refusal)}
    except MemoryError:
        answer = {"refused": "reading this file needs too much memory for its size"}
    except Exception as error:  # damaged data can cause any exception
        kind, text = type(error).__name__, str(error)[:120]
        answer = {"refused": f"{request['library']} cannot read this file ({kind}: {text})"}
    print("\n" + json.dumps(answer), flush=True)
    os._exit(0)  # exit at once, because ufbx objects are not destroyed in order


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
