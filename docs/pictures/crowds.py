"""Draw crowds.png: ``python docs/pictures/crowds.py``."""

import tempfile
from pathlib import Path

from click.testing import CliRunner
from PIL import Image

from motionloom.cli import app

PICTURE = Path(__file__).with_suffix(".png")


def main():
    with tempfile.TemporaryDirectory() as folder:
        words = ["ballroom", "--couples", "20", "--seconds", "30", "-o", f"{folder}/ball.glb"]
        done = CliRunner().invoke(app, [*words, "--top-view", str(PICTURE)])
        assert done.exit_code == 0, done.output
    with Image.open(PICTURE) as drawn:
        small = drawn.convert("RGB").quantize(128)
    small.save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
