"""Draws study.png for the docs: ``python docs/pictures/study.py LIBRARY``.

The picture in the docs is of hand-cut clips of the CMU database.
"""

import sys
from pathlib import Path

import motionloom as ml
from motionloom.plots.rank_correlations import write_rank_correlations
from motionloom.search.study import study


def main(library: str) -> None:
    write_rank_correlations(study(ml.Library(library)), Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main(*sys.argv[1:])
