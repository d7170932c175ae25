"""Draw agents.png, a script acted with takes of two performers."""

import tempfile
from pathlib import Path

import motionloom as ml
from motionloom.plots.figures.filmstrip import write_strip

HERE = Path(__file__).parent
KINDS = ("walk", "walk_left", "kick_front_high_right", "kick_front_mid_right", "jog")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        library = ml.Library.create(f"{scratch}/takes.loom")
        for kind in KINDS:
            for performer in (0, 1):
                library.add_motion(ml.demo.clip(kind, performer=performer))
        acted = library.act("walk 2 s, kick high with the right foot, walk 2 s")
        write_strip(acted.motion, HERE / "agents.png", body=True)
