"""Draw web.png: ``python docs/pictures/web.py``."""

import tempfile
from pathlib import Path

from click.testing import CliRunner
from PIL import Image

import motionloom as ml
from motionloom.cli import app

HERE = Path(__file__).parent


def main():
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/takes.loom")
        for performer in (0, 1):
            clip = ml.demo.clip("take_strikes", performer=performer)[:480]
            lib.add_motion(clip, name=f"strikes_{performer}")
        actions = ml.demo.annotated("take_strikes").truth.actions
        kick = [action for action in actions if action.action == "kick"][3]
        where = [f"{folder}/takes.loom", "strikes_0", "strikes_1"]
        query = ["--query", f"{kick.start_frame}-{kick.end_frame}", "--max-distance", "0.12"]
        done = CliRunner().invoke(app, ["web", *where, "-o", str(HERE / "web.png"), *query])
        assert done.exit_code == 0, done.output
    with Image.open(HERE / "web.png") as drawn:
        small = drawn.convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE)
    small.save(HERE / "web.png", optimize=True)


if __name__ == "__main__":
    main()
