"""``motionloom demo``: a guided tour with the built-in corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from typing import Annotated, Any

from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.cli.tools.demo.steps import STEPS
from motionloom.cli.tools.demo.tour import Tour, compiled_ahead
from motionloom.errors import InvalidInput


def demo(
    folder: Annotated[
        Path, Argument("Folder for the results; created if missing.", metavar="DIR")
    ] = Path("motionloom-demo"),
    seed: Annotated[int, Option("Random seed for the corpus.", min=0)] = 0,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Take a tour with the built-in corpus: import, draw, search and synthesize motions.

    Writes a page with all results and suggests next steps. Run it again to continue after an
    interruption.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file; the tour needs a folder")
    folder.mkdir(parents=True, exist_ok=True)
    tour = Tour(folder, seed, quiet=json)
    left: dict[str, Any] = {"folder": str(folder)}
    with compiled_ahead():
        for number, (title, step) in enumerate(STEPS, 1):
            remark(f"{number}. {title}")
            tour.page.begin(title)
            left |= step(tour)
    left["index"] = str(tour.page.write(folder / "index.html"))
    if json:
        print_json(left)
        return
    ours = _command()
    print(f"\nOpen {left['index']} in a browser, or browse the library interactively:\n")
    print(f"  {ours} studio {tour.place}")
    print("\nThen try, with your own files:\n")
    print(f"  {ours} info {tour.takes / 'walk_p0.bvh'}")
    print(f"  {ours} import takes.loom PATH/TO/YOUR/TAKES --labels folder")
    print(f"  {ours} sheet takes.loom -o takes.html")
    print(f"  {ours} search takes.loom NAME:1.5s-3s --sheet found.html")
    print("\nor in Python:\n")
    print("  import motionloom as ml")
    print(f"  lib = ml.Library({str(tour.place)!r})")
    print("  lib['walk_p0']          # a walking figure, in a notebook")


def warm_up(
    jobs: Annotated[int | None, Option("Number of processes. [number of cores]", min=1)] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compile and cache the kernels in parallel, so that the first commands start quickly.

    Kernels that are already cached are skipped. When you build a container image, set
    NUMBA_CACHE_DIR to a folder that its users can read.
    """
    from motionloom.kernels import cache_folder, compile_listed, listed
    from motionloom.parallel import completed, executor

    lines = listed()
    with (
        executor(jobs) as pool,
        progress("compiling", len(lines), quiet=json) as advance,
    ):
        for done in completed(compile_listed, lines, pool):
            if done.error is not None:
                raise done.error
            advance()
    if json:
        print_json({"kernels": len(lines), "folder": str(cache_folder())})
    else:
        remark(f"{counted(len(lines), 'kernel')} in {cache_folder()}")


def _command() -> str:
    """Return the command to type: its path if it is not on the search path, as in make demo."""
    started = Path(sys.argv[0])
    if which("motionloom") is None and started.stem == "motionloom" and started.is_file():
        return str(started)
    return "motionloom"
