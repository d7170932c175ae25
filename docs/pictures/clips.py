"""Draw clips.png: ``python docs/pictures/clips.py LIBRARY LABELS.csv``."""

import sys
from pathlib import Path

from matplotlib.figure import Figure

import motionloom as ml
from motionloom.plots.pages.evaluation_report import draw_precision_recall, draw_similarity

METHODS = ["dtw-clip", "emd", "dtw", "scaling", "dtw-e15", "dtw-pc11", "dtw-jrd"]


def main(library: str, labels: str) -> None:
    scores = ml.Library(library).evaluate(labels=labels, methods=METHODS)
    figure = Figure(figsize=(13.2, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    draw_similarity(left, scores, "emd")
    draw_similarity(middle, scores, "dtw-clip")
    draw_precision_recall(right, scores)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=80)


if __name__ == "__main__":
    main(*sys.argv[1:])
