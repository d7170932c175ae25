"""Examples on pages of the documentation that readers play with: a hook of MkDocs.

Each example is a page that a command of motionloom writes from the built-in corpus; it runs in the
reader's browser without a server. ``python docs/live_examples.py FOLDER`` writes them to a folder,
without MkDocs.
"""

import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.demo.tunes import write_tune
from motionloom.plots import Budget
from motionloom.plots.pages.html_pages import write_clip_page
from motionloom.plots.pages.player import packed_motion

WALKS = ("walk_p0", "walk_slow_p0", "walk_left_p0", "walk_right_p0", "walk_left_tight_p0",
         "walk_right_tight_p0")  # fmt: skip
PLAYED = ("walk_p0", "walk_slow_p0", "walk_left_p0", "walk_right_tight_p0")  # as in the tutorial
KICK = "take_strikes_p0:225-300"
FOLDER = "live"


def find(place: Path, page: Path) -> None:
    """Write a contact sheet of the matches of a kick, with their distances."""
    _run("search", place, KICK, "--label", "take", "--max", "30", "--sheet", page)


def aim(place: Path, page: Path) -> None:
    """Write a kick that is aimed by dragging its target."""
    family = ("--label", "take", "--by", "right_ankle@260", "--join-distance", "0.12")
    _run("parametrize", place, KICK, *family, "--drop-unmatched", "--name", "front kick",
         "--picture", page)  # fmt: skip


def walk(place: Path, page: Path) -> None:
    """Write walks along three paths, of which a menu chooses one."""
    graph = ml.Library(place).motion_graph(only=list(WALKS))
    clips = []
    for name, path in paths().items():
        motion = graph.walk(path=path, seed=1)
        title = f"walk along {name}"
        clips.append(packed_motion(motion, Budget(fps=20.0, points=40), name=title, line=path))
    write_clip_page(" ".join(clips), "Walks along paths", page)


def paths() -> dict[str, np.ndarray]:
    """Return paths in meters, (S, 2): x and z, starting at the origin along z."""
    s = np.linspace(0.0, 1.0, 100)
    turn = 2.0 * np.pi * s
    return {
        "an S-curve": np.column_stack([2.0 * np.sin(turn), 10.0 * s]),
        "a circle": np.column_stack([3.0 - 3.0 * np.cos(turn), 3.0 * np.sin(turn)]),
        "a wave": np.column_stack([0.6 - 0.6 * np.cos(2.0 * turn), 12.0 * s]),
    }


def play(place: Path, page: Path) -> None:
    """Write a character that is steered with keys, a finger or a gamepad."""
    with tempfile.TemporaryDirectory() as folder:
        _run("match", place, "export", "--only", ",".join(PLAYED), "--to", "web", "-o", folder)
        page.write_bytes((Path(folder) / "index.html").read_bytes())


def dance(place: Path, page: Path) -> None:
    """Write a dance whose music is synthesized by the page."""
    with tempfile.TemporaryDirectory() as folder:
        song = write_tune(Path(folder) / "song.mid", bars=12, tempo_bpm=112, seed=3)
        _run("dance", place, song, "--label", "dance_groove", "--meter", "4", "--seconds", "20",
             "-o", page)  # fmt: skip


EXAMPLES = {make.__name__: make for make in (find, aim, walk, play, dance)}


@cache
def pages() -> dict[str, str]:
    """Path of each example below docs, with its page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = library(folder)
        made = {}
        for job, write in EXAMPLES.items():
            page = folder / f"{job}.html"
            write(place, page)
            made[f"{FOLDER}/{job}.html"] = page.read_text(encoding="utf-8")
        return made


def library(folder: Path) -> Path:
    """Write the motions of the examples to a library in a folder."""
    only = [name for name in ml.demo.names() if name.startswith(("take_", "dance_groove_"))]
    takes = ml.demo.write(folder / "takes", only=[*only, *WALKS])
    place = folder / "demo.loom"
    ml.Library.create(place).add(takes, labels=takes / "labels.csv")
    return place


def on_files(files, config):
    """Add the examples to the site: a hook of MkDocs."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def _run(*words: object) -> None:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exit_code:
        command = " ".join(map(str, words))
        raise RuntimeError(f"motionloom {command}: {result.output}") from result.exception


if __name__ == "__main__":
    for path, text in pages().items():
        target = Path(sys.argv[1]) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
