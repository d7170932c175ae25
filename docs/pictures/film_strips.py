"""Draws walk.png, kick.png and kick.gif for the docs: ``python docs/pictures/film_strips.py``."""

from pathlib import Path

from PIL import Image

import motionloom as ml
from motionloom.plots import write_gif, write_strip

HERE = Path(__file__).parent


def main():
    write_strip(ml.demo.clip("walk"), HERE / "walk.png", frames=8)
    write_strip(ml.demo.clip("kick_side_high_right"), HERE / "kick.png", frames=7)
    for name in ("walk.png", "kick.png"):
        with Image.open(HERE / name) as drawn:
            small = drawn.convert("RGB").quantize(96)
        small.save(HERE / name, optimize=True)
    write_gif(ml.demo.clip("kick_front_high_right"), HERE / "kick.gif", width=260)


if __name__ == "__main__":
    main()
