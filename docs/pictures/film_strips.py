"""Draw walk.png, kick.png, bodies.png and kick.gif: ``python docs/pictures/film_strips.py``."""

from pathlib import Path

from PIL import Image

import motionloom as ml
from motionloom.plots import write_gif, write_strip

HERE = Path(__file__).parent


def main():
    write_strip(ml.demo.clip("walk"), HERE / "walk.png", frames=8)
    write_strip(ml.demo.clip("kick_side_high_right"), HERE / "kick.png", frames=7)
    write_strip(ml.demo.clip("kick_front_high_right"), HERE / "bodies.png", frames=7, body=True)
    for name, colors in (("walk.png", 96), ("kick.png", 96), ("bodies.png", 200)):
        with Image.open(HERE / name) as drawn:
            small = drawn.convert("RGB").quantize(colors)
        small.save(HERE / name, optimize=True)
    write_gif(ml.demo.clip("kick_front_high_right"), HERE / "kick.gif", width=260)


if __name__ == "__main__":
    main()
