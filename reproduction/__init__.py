"""Reproduction of the papers: their tables and figures, recomputed on open data.

``python -m reproduction kg04`` runs one paper, ``make papers`` runs all of them. Each paper is a
module with ``PAPER`` (a `Paper`) and ``PARTS``, functions that measure and yield claims. A `Claim`
combines a statement of the paper, the figures measured here and a rule, from which its outcome is
computed. Results are stored in ``reproduction/results`` as JSON, and the pages in
``docs/evidence/papers`` are generated from those files. The folder is not part of the wheel; run it
from a clone of the repository.
"""

from __future__ import annotations

import importlib
from typing import Any

# Name on the command line -> module. A name is the initials of two authors (or of a single author)
# and the year.
PAPERS = {
    "kg04": "reproduction.kg04",
    "kt10": "reproduction.kt10",
    "kp03": "reproduction.kp03",
    "tz07": "reproduction.tz07",
    "kr14": "reproduction.kr14",
}


def run(name: str, only: str, write: bool) -> dict[str, Any]:
    """Return the report of one paper; if `write`, also store it in ``reproduction/results``.

    The function is defined here because worker processes do not import ``__main__`` of a package.
    """
    import matplotlib

    from motionloom.parallel.threads import use_one_thread
    from reproduction.claims import report
    from reproduction.data import Data
    from reproduction.page import keep

    matplotlib.use("Agg")
    use_one_thread()  # papers run in parallel
    result = report(importlib.import_module(PAPERS[name]), Data(write=write), only=only)
    if write:
        keep(result)
    return result
