"""Draw family.png: ``python docs/pictures/family.py``."""

import tempfile
from pathlib import Path

from click.testing import CliRunner
from PIL import Image

import motionloom as ml
from motionloom.cli import app

HERE = Path(__file__).parent
KINDS = ("front_low", "front_mid", "front_high", "outside_mid", "side_low", "side_mid", "side_high",
         "leap_front", "leap_outside")  # fmt: skip


def main():
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/kicks.loom")
        for kind in KINDS:
            lib.add_motion(ml.demo.clip(f"kick_{kind}_right"), name=kind)
        for words in (
            ["web", str(lib.path), "build"],
            ["family", str(lib.path), "front_low:10-60", "--method", "web",
             "--join-distance", "0.1", "-o", str(HERE / "family.png")],
        ):  # fmt: skip
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, done.output
    with Image.open(HERE / "family.png") as drawn:
        size = (drawn.width * 2 // 3, drawn.height * 2 // 3)
        small = drawn.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    small.save(HERE / "family.png", optimize=True)


if __name__ == "__main__":
    main()
