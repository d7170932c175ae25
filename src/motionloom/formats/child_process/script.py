"""Script of a separate process that reads one file by another script; see `child_process`.

It imports nothing of motionloom, and neither does the other one: that has a function ``read``, from
a request to facts, and names as ``REFUSED`` the exception that says why it does not read a file.
"""

from __future__ import annotations

import json
import os
import runpy
import sys


def main(request: dict) -> None:
    """Run ``read`` of the script in the request and print its answer as one line of JSON."""
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
        answer = {"refused": "it needs memory out of proportion to its size"}
    except Exception as error:  # damaged data may raise anything
        kind, text = type(error).__name__, str(error)[:120]
        answer = {"refused": f"{request['library']} cannot read it ({kind}: {text})"}
    print("\n" + json.dumps(answer), flush=True)
    os._exit(0)  # at once: objects of ufbx are not destroyed in order


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
