"""Rankings of whole clips by motionloom, with settings chosen without the ranked set.

    python methods/motionloom_clips.py DATA KEEP RANKINGS [METHOD ...]

DATA is the folder that ``motionloom evaluate --data`` reads, and KEEP the folder of its libraries.
Every method is scored with all its candidate settings on all sets, as by ``motionloom evaluate``.
The setting for a set is the best one on the sets that share no clips with it.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path

import numpy as np

from motionloom.evaluation.labeled_sets import CLIP_SETS, DataFolder, clip_set
from motionloom.evaluation.protocol import (
    CLIP_CANDIDATES,
    both_ways,
    chosen_elsewhere,
    score_clips,
    shown,
)
from motionloom.search.clips.hubs import corrected


def main(data: str, keep: str, rankings: str, *methods: str) -> None:
    """Write ``RANKINGS/METHOD/SET.csv``, and ``settings.json`` with the chosen settings."""
    folder = DataFolder(data, keep)
    candidates = both_ways(CLIP_CANDIDATES)
    for method in methods or tuple(CLIP_CANDIDATES):
        begun = time.process_time()
        cache: dict = {}
        sets = [clip_set(name, folder) for name in CLIP_SETS]
        scored = [
            score_clips(each, {method: candidates[method]}, cache=cache, workers=1) for each in sets
        ]
        place = Path(rankings) / method.replace(" (plain)", "-plain")
        place.mkdir(parents=True, exist_ok=True)
        chosen = {}
        for each in sets:
            setting = chosen_elsewhere(scored, method, each.name)
            option = next(o for o in candidates[method] if shown(o) == setting)
            distances = cache[str(each.library.path), option.NAME, setting]
            distances = corrected(distances) if option.hub_correction else distances
            chosen[each.name] = setting
            with (place / f"{each.name}.csv").open("w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(["query", "item"])
                for q, query in enumerate(each.clips):
                    order = np.argsort(distances[q], kind="stable")
                    rows.writerows([query, each.clips[c]] for c in order if c != q)
        seconds = time.process_time() - begun
        report = {"settings": chosen, "seconds": seconds}
        (place / "settings.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
        print(method, f"{seconds:.0f} s", chosen, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
