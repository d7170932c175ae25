"""Draw scale.png: ``python docs/pictures/scale.py RESULTS``.

RESULTS is a folder of reports of ``python -m benchmarks scale`` for several numbers of frames,
``scale*.json``. Left: processor time of exact searches; every dot is a query. Right: the share of
the frames that remain to be aligned after pruning.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.cost_model import reports

FULL, BOUNDED, NEAREST = "#8d6b94", "#30638e", "#edae49"


def main(folder):
    measured = reports(Path(folder))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    sizes = sorted(measured)
    for name, label, color in (
        ("subsequence_cpu_s", "20 best subsequences of 3 s", BOUNDED),
        ("nearest_cpu_s", "16 nearest of 90 frames", NEAREST),
    ):
        left.plot(sizes, [np.median(measured[n][name]) for n in sizes], color=color, label=label)
        for n in sizes:
            left.plot([n] * len(measured[n][name]), measured[n][name], "o", ms=3, color=color)
    # The full pass was measured on a tenth of the largest library.
    largest = measured[sizes[-1]]
    each = largest["stages"]["subsequences, full pass"]["cpu_s"] / largest["checks"]["tenth"]
    line = np.array([sizes[0], sizes[-1]])
    left.plot(line, each * line, "--", color=FULL, label="the same, full pass")
    left.set(xscale="log", yscale="log", xlabel="frames", ylabel="processor seconds per query")
    left.legend(frameon=False)
    for n in sizes:
        right.plot([n] * len(measured[n]["aligned_part"]), measured[n]["aligned_part"], "o", ms=3,
                   color=BOUNDED)  # fmt: skip
    right.plot(sizes, [np.median(measured[n]["aligned_part"]) for n in sizes], color=BOUNDED)
    right.set(xscale="log", yscale="log", xlabel="frames", ylabel="share of aligned frames")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
