"""``motionloom demo``: a tour of the product on the built-in corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from motionloom.cli.demo import steps as finding
from motionloom.cli.demo import steps as gathering
from motionloom.cli.demo import steps as spreading
from motionloom.cli.demo import steps as weaving
from motionloom.cli.demo.tour import Tour, compiled_ahead
from motionloom.cli.options import JSON
from motionloom.cli.terminal import print_json, remark
from motionloom.errors import InvalidInput

STEPS = (
    ("Making motions from code: walks, kicks, reaches, dances ...", gathering.corpus),
    ("Importing them into a library, as you would your own takes:", gathering.library),
    ("Drawing film strips:", gathering.film_strips),
    ("A contact sheet with live figures, one file for any browser:", gathering.contact_sheet),
    ("Everything in the library that looks like this kick, nearest first:", finding.search),
    ("The doctor looks at a take whose file claims twice its rate:", gathering.doctor),
    ("The walk of one performer on the body of another, for Blender:", gathering.other_body),
    ("All kicks compared beforehand, so that a search is a look-up:", finding.match_web),
    ("All kicks like this one, as one that lands where it is asked to:", weaving.parametric_kick),
    ("Half a minute of walking that nobody walked, from a few walks:", weaving.endless_walk),
    ("Whole clips: which jumps are like this one, from start to end?", finding.whole_clips),
    ("When a dance keeps time, and what may follow what in it:", weaving.dance),
    ("Five characters on one floor, each with a dance of its own:", weaving.dance_floor),
    ("Twelve couples waltz around a ballroom and never bump:", weaving.ballroom),
    ("A whole body from wrists, ankles, head and hips of a walk:", weaving.whole_body),
    ("The same answers from a cluster: two workers, half of the library each:", spreading.cluster),
)


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to put it; made if missing.")
    ] = Path("motionloom-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Another seed makes another corpus.")] = 0,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Make the built-in corpus, import it, draw it, search it, make new motion of it.

    Ends with what to try next; run it again and it goes on where it was.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder}: a folder is wanted for the tour, and this is a file")
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
    print(f"\nOpen {left['index']} in a browser. To see, select and drag all of it there:\n")
    print(f"  motionloom studio {tour.place}")
    print("\nThen try, with your own files:\n")
    print(f"  motionloom info {tour.takes / 'walk_p0.bvh'}")
    print("  motionloom import takes.loom PATH/TO/YOUR/TAKES --labels folder")
    print("  motionloom sheet takes.loom -o takes.html")
    print("  motionloom search takes.loom NAME:1.5s-3s --sheet found.html")
    print("\nor in Python:\n")
    print("  import motionloom as ml")
    print(f"  lib = ml.Library({str(tour.place)!r})")
    print("  lib['walk_p0']          # a figure that walks, in a notebook")


def warm_up() -> None:
    """Compile and cache the kernels, so that the first real command is quick."""
    import tempfile

    from motionloom.demo import clip
    from motionloom.formats import load

    with tempfile.TemporaryDirectory() as scratch:
        motion = load(clip("walk").save(Path(scratch) / "walk.bvh"))
    motion.positions(end_sites=True)
    motion.global_rotations()
    remark("ready")
