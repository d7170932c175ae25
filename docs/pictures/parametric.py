"""Draw parametric.png and table_one.png: ``python docs/pictures/parametric.py``."""

from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.table_one import ROWS, corpus_library, parametric_row, random_targets
from motionloom.plots.figures.filmstrip import write_match_strip
from motionloom.plots.parametric import write_parameter_space

HERE = Path(__file__).parent


def main():
    strips = []
    with corpus_library(tuple({row.label for row in ROWS})) as library:
        for row in ROWS:
            motion = parametric_row(library, row, samples=600)
            if row.name == "kick":
                region(motion)
            target = random_targets(motion, 1, seed=4)[0]
            result = motion.reach(target)
            values = ", ".join(f"{value:.2f}" for value in target)
            title = f"{row.name}, {row.by}: target {values}, error {1000 * result.error:.0f} mm"
            strips.append((title, result.motion))
    path = write_match_strip(strips, HERE / "table_one.png", frames=9)
    Image.open(path).quantize(48).save(path, optimize=True)


def region(kick):
    targets = random_targets(kick, 3, seed=7)
    results = [kick.reach(target) for target in targets]
    write_parameter_space(
        HERE / "parametric.png",
        axes=kick.axes,
        examples=kick.space.examples,
        samples=kick.accessible,
        targets=targets,
        reached=np.array([result.reached for result in results]),
        poses=[result.motion[result.frames[0]] for result in results],
        dpi=90,
    )


if __name__ == "__main__":
    main()
