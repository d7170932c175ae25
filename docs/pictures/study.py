"""Draw study.png: ``python docs/pictures/study.py LIBRARY``.

The picture in the documentation shows hand-cut clips of the CMU database.
"""

import sys
from pathlib import Path

import motionloom as ml
from motionloom.plots.pages.evaluation_report import write_rank_correlations


def main(library: str) -> None:
    write_rank_correlations(ml.Library(library).study(), Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main(*sys.argv[1:])
