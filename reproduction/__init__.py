"""The papers, reproduced: their tables and figures made again on open data.

``python -m reproduction kg04`` runs one paper, ``make papers`` all of them. Each paper is a module
with ``PAPER`` (a `Paper`) and ``PARTS``, functions that measure and yield a `Claim` each. A claim
holds what the paper says, the figures measured here and a rule; its outcome is computed from them.
Results are kept in ``reproduction/results`` as JSON; docs/papers.md is written from those files and
by nothing else. The folder is not part of the wheel; run it from a clone of the repository.
"""

from __future__ import annotations

import importlib
from typing import Any

# Name on the command line -> module: initials of the first two authors, and the year.
PAPERS = {
    "kg04": "reproduction.kg04",
    "kt10": "reproduction.kt10",
    "kp03": "reproduction.kp03",
    "tz07": "reproduction.tz07",
    "kr14": "reproduction.kr14",
}


def run(name: str, only: str, write: bool) -> dict[str, Any]:
    """Report of one paper; kept in ``reproduction/results`` if `write`.

    It is here, because processes that are started for it do not import ``__main__`` of a package.
    """
    import matplotlib

    from motionloom.parallel.threads import use_one_thread
    from reproduction.claims import report
    from reproduction.data import Data
    from reproduction.page import keep

    matplotlib.use("Agg")
    use_one_thread()  # papers run side by side
    found = report(importlib.import_module(PAPERS[name]), Data(write=write), only=only)
    if write:
        keep(found)
    return found
