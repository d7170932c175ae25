"""Ask the built-in corpus for actions with a side, and count wrong sides among the first results.

    python benchmarks/sides.py [--first 5]

The corpus is searched twice: with the names of its motions, and with numbers instead of names. A
result is wrong if its frames show the action with the other side only.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import motionloom as ml
from motionloom import demo
from motionloom.text.text_search import TextMatch

# Beginnings of the names of actions -> queries; {} is a side.
QUERIES: dict[tuple[str, ...], Sequence[str]] = {
    ("kick",): (
        "kicks with the {} foot", "kicks high with the {} foot", "{} foot kicks high",
        "a person kicks with his {} leg", "{} leg kick", "kick {}", "low kick, {} leg",
        "kicks sideways with the {} foot", "kicks forward with the {} foot twice",
        "high kick with {} foot", "somebody is kicking something with the {} foot",
        "roundhouse kick with the {} leg", "kick_{}", "{} kick", "kicks a ball with the {} foot",
        "The person kicks once using their {} leg.", "kicks high with the {} foot, then punches",
        "leaps and kicks with the {} foot",
        "he kicks to the front with his {} foot at medium height",
    ),
    ("punch",): (
        "punches with the {} hand", "{} punch", "{} hand punches", "boxing with the {} fist",
        "throws a {} punch", "punches low with the {} hand", "jabs with the {} arm", "{} hook",
        "strikes with the {} fist",
    ),
    ("reach",): (
        "reaches with the {} hand", "reaches up with the {} arm", "reaches behind with the {} hand",
        "{} hand reaches forward", "grabs something high with the {} hand",
        "reaches low with the {} hand", "reaches across with the {} arm",
        "stretches out the {} arm", "raises the {} hand", "raises the {} hand above the head",
        "lifts the {} arm", "{} arm up",
    ),
    ("hop",): (
        "hops on the {} foot", "hops on {} leg", "jumps on the {} foot", "{} foot hop",
    ),
    ("step_up",): ("steps up with the {} foot", "climbs a step with the {} foot first"),
    ("cartwheel",): ("cartwheel to the {}", "does a {} cartwheel"),
    ("walk", "jog", "jump_turn", "spiral"): (
        "walks and turns {}", "walks in a circle to the {}", "turns {}", "turns to the {}",
        "walks a {} curve", "jogs to the {}", "jogs in a {} curve", "jumps and turns {}",
        "jumps with a turn to the {}", "{} turn", "walks {}",
    ),
}  # fmt: skip
SIDES = ("left", "right")
_SHOWN = 0.3  # minimum share of an action or of a result that must overlap


def main() -> None:
    """Print the queries with wrong sides, and their number."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=5, help="number of results to look at [5]")
    first = parser.parse_args().first
    with tempfile.TemporaryDirectory() as scratch:
        files = Path(scratch) / "corpus"
        demo.write(files)
        for unnamed in (False, True):
            library = ml.Library.create(Path(scratch) / f"{unnamed}.loom")
            originals = {}
            for number, path in enumerate(sorted(files.glob("*.bvh"))):
                name = f"take_{number:03d}" if unnamed else path.stem
                library.add_motion(ml.load(path), name=name)
                originals[name] = path.stem
            wrong, count = _ask(library, originals, _truth(files / "truth.csv"), first)
            what = "without names" if unnamed else "with names"
            print(f"{what}: wrong sides among the first {first} for {wrong} of {count} queries")


def _truth(path: Path) -> dict[str, list[tuple[str, int, int, str]]]:
    """Return the actions of every motion: action, frames and side."""
    actions: dict[str, list[tuple[str, int, int, str]]] = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            named = set(SIDES) & set(row["action"].split("_"))
            side = next(iter(named), str(json.loads(row["parameters"]).get("side", "")))
            frames = int(row["start_frame"]), int(row["end_frame"])
            actions.setdefault(Path(row["file"]).stem, []).append((row["action"], *frames, side))
    return actions


def _ask(library: ml.Library, originals, truth, first: int) -> tuple[int, int]:
    wrong = count = 0
    for actions, queries in QUERIES.items():
        for text in (query.format(side) for query in queries for side in SIDES):
            side, other = SIDES if "left" in text else SIDES[::-1]
            shown = [
                _sides(match, truth[originals[match.motion]], actions)
                for match in library.find(text, max=first)
            ]
            bad = [n + 1 for n, sides in enumerate(shown) if other in sides and side not in sides]
            count += 1
            if bad:
                wrong += 1
                print(f"  {text}: wrong at {bad}")
    return wrong, count


def _sides(match: TextMatch, truth, actions: tuple[str, ...]) -> set[str]:
    """Return the sides of the actions that a result shows."""
    sides = set()
    for action, start, end, side in truth:
        both = min(end, match.end_frame) - max(start, match.start_frame)
        shorter = min(end - start, match.end_frame - match.start_frame)
        if action.startswith(actions) and both > _SHOWN * shorter:
            sides.add(side)
    return sides


if __name__ == "__main__":
    main()
