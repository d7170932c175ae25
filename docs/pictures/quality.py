"""Draw quality.png: ``python docs/pictures/quality.py``.

It shows the worst second of a walk followed by a kick without a transition, and that of a walk on a
motion graph.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image

import motionloom as ml
from motionloom.motion import Provenance, Source
from motionloom.motion.diagnostics.quality import quality_report
from motionloom.motion_graph import motion_graph
from motionloom.plots import write_worst_second

HERE = Path(__file__).parent
WALKS = ("walk", "walk_fast", "walk_left", "walk_right")


def joined():
    """A walk of 2 s, followed by the rest of a kick at the same place."""
    walk, kick = ml.demo.clip("walk")[:60], ml.demo.clip("kick_front_high_right")[25:]
    there = walk.root[-1] - kick.starting_at_origin().root[0]
    kick = kick.starting_at_origin().transform(shift=(there[0], 0.0, there[2]))
    made = replace(walk + kick, name="joined")
    sources = (
        Source("walk", 0, 60, 0, 60),
        Source("kick", 25, 25 + len(kick), 60, len(made)),
    )
    made = replace(made, provenance=Provenance(sources, (60,)))
    return made.with_quality(quality_report(made, sources=[walk, kick]))


def main():
    walked = motion_graph([ml.demo.clip(kind) for kind in WALKS]).walk(seconds=20, seed=4)
    strips = []
    with tempfile.TemporaryDirectory() as folder:
        for number, made in enumerate((joined(), walked)):
            print(made.quality.line(), *made.quality.warnings, sep="\n")
            file = write_worst_second(made, f"{folder}/{number}.png")
            strips.append(Image.open(file).convert("RGB"))
    wide = max(strip.width for strip in strips)
    sheet = Image.new("RGB", (wide, sum(strip.height for strip in strips)), "white")
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    sheet = sheet.resize((wide * 6 // 10, top * 6 // 10), Image.Resampling.LANCZOS)
    sheet.quantize(64).save(HERE / "quality.png", optimize=True)


if __name__ == "__main__":
    main()
