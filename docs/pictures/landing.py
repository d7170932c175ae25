"""Makes landing.gif, the animation of the first page: ``python docs/pictures/landing.py``.

One parametric kick with four targets in turn. A green ball is the target.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import motionloom as ml
from motionloom.plots.figures.animation import film_for

HERE = Path(__file__).parent
KINDS = ("front_low", "front_mid", "front_high", "inside_mid", "outside_mid", "outside_high",
         "side_low", "side_mid")  # fmt: skip
TARGETS = [(0.1, 0.45, 0.85), (-0.05, 1.15, 0.75), (-0.6, 0.7, 0.4), (0.1, 0.85, 0.8)]
FPS, BALL, SMOOTH = 12.5, "#0b8a4a", 3


def main():
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/kicks.loom")
        for kind in KINDS:
            for performer in (0, 1):
                lib.add_motion(ml.demo.clip(f"kick_{kind}_right", performer=performer))
        family = lib.family("kick_front_mid_right_p0:0-70", max_distance=0.2)
        kick = lib.parametrize(family, by=ml.at("right_ankle", frame=33), samples=400)
        found = [kick.reach(nearest(kick.accessible, target)) for target in TARGETS]
    # Standing still before and after each kick is cut.
    shown = [one.motion[6:58] for one in found]
    whole = replace(ml.concatenate(shown), name="a kick that lands here, and here, and here")
    film = film_for(whole, 320, FPS, None, "three-quarter")
    ends = np.cumsum([one.duration for one in shown])
    hits = [end - part.duration + (one.frames[0] - 6) / part.fps
            for one, part, end in zip(found, shown, ends, strict=True)]  # fmt: skip
    pictures = []
    for frame in range(len(film.motion)):
        now = min(int(np.searchsorted(ends, frame / FPS, side="right")), len(found) - 1)
        met = frame / FPS >= hits[now] - 0.5 / FPS
        pictures.append(with_ball(film, frame, found[now].target, met=met))
    some = pictures[::6]
    together = Image.new("RGB", (some[0].width, len(some) * some[0].height))
    for n, picture in enumerate(some):
        together.paste(picture, (0, n * picture.height))
    colours = together.quantize(112, method=Image.Quantize.MAXCOVERAGE)
    shots = [one.quantize(palette=colours, dither=Image.Dither.NONE) for one in pictures]
    shots[0].save(
        HERE / "landing.gif", save_all=True, append_images=shots[1:],
        duration=round(1000 / FPS), loop=0, optimize=True,
    )  # fmt: skip
    for target, one in zip(TARGETS, found, strict=True):
        print(target, f"{100 * one.error:.1f} cm off")


def nearest(places, target):
    """Nearest of `places` (N, 3) to `target`."""
    return places[np.argmin(np.linalg.norm(places - np.array(target), axis=1))]


def with_ball(film, frame, place, *, met):
    """A frame with a ball at `place` (3,), filled once it has been hit."""
    picture = film.picture(frame).convert("RGB")
    origin = film.camera.project(film.centres[frame])[:2] + film.middle
    at = np.array(picture.size) / 2.0
    at = at + (film.camera.project(place)[:2] - origin) * [film.scale, -film.scale]
    large = picture.resize((SMOOTH * picture.width, SMOOTH * picture.height))
    box = [*(SMOOTH * (at - 7)), *(SMOOTH * (at + 7))]
    ImageDraw.Draw(large).ellipse(box, fill=BALL if met else None, outline=BALL, width=2 * SMOOTH)
    return large.reduce(SMOOTH)


if __name__ == "__main__":
    main()
