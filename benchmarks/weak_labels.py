"""Retrieval on the whole CMU data set, judged by the descriptions of the takes.

    python benchmarks/weak_labels.py cmu.loom cmu30-metadata.csv

Descriptions are weak labels: they are one line for a whole take, most of which may show something
else, and a take may show an action that its description does not mention. Therefore:

- The query is the two seconds of a take in which wrists, ankles and head move most, because the
  action is most likely there.
- A take is relevant if a word of its description starts with one of the words of the action
  (`ACTIONS`; "kick" also matches "kicking").
- Duplicate takes and the take of the query are excluded. Each take counts once, with its best
  match.
- The result is the precision among the first 20 takes, also relative to the best possible value,
  since most actions have fewer than 20 relevant takes. The chance level is the share of relevant
  takes.
"""

from __future__ import annotations

import argparse
import csv
import re
import time

import numpy as np

import motionloom as ml
from motionloom.features import frame_features

ACTIONS = {
    "kick": ("kick",), "punch": ("punch", "box", "jab"), "cartwheel": ("cartwheel", "flip"),
    "jump": ("jump", "hop", "leap"), "dribble": ("dribbl", "basketball"), "salsa": ("salsa",),
    "stairs": ("stair", "step stool", "stepstool"), "run": ("run", "jog"), "walk": ("walk",),
    "sit": ("sit", "stool", "chair"), "swim": ("swim", "stroke", "breast"),
    "climb": ("climb", "ladder"), "throw": ("throw", "toss", "football"), "march": ("march",),
    "dance": ("danc", "salsa", "arabesque", "jete", "pirouette"),
    "swing": ("swing", "golf", "putt"),
    "reach": ("reach", "pick", "place"), "stretch": ("stretch", "bend"), "jacks": ("jumping jack",),
    "monkey": ("monkey", "chicken", "animal"),
}  # fmt: skip
SECONDS, FIRST = 2.0, 20
METHODS = {
    "`dtw`, `e15`": {},
    "`dtw`, `e30`": {"features": "e30"},
    "`dtw`, `e15x3`": {"features": "e15x3"},
    "`dtw`, `pca16`": {"features": "pca16"},
    "`dtw`, `e15`, scale free": {"scale_free": True},
    '`dtw`, `e15`, `rank="distance"`': {"rank": "distance"},
    '`dtw`, `e15`, `rank="distance"`, equal weights': {"rank": "distance", "weights": "equal"},
    "`lazy`, `e15`": {"method": "lazy"},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("library")
    parser.add_argument("descriptions", help="CSV with columns file, description, duplicate_of")
    parser.add_argument("--each", type=int, default=1, help="queries per action")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    lib = ml.Library(given.library)
    with open(given.descriptions, newline="", encoding="utf-8") as file:
        rows = {row["file"]: row for row in csv.DictReader(file) if row["file"] in lib}
    once = [name for name in lib.names if name in rows and not rows[name]["duplicate_of"]]
    words = {name: rows[name]["description"].lower() for name in once}
    queries = _queries(lib, words, given.each, np.random.default_rng(given.seed))
    without = [name for name in lib.names if name not in words]
    chance = np.mean([(len(right) - 1) / (len(once) - 1) for *_, right in queries])
    print(f"{len(queries)} queries, {len(once)} takes; chance {chance:.3f}\n")
    print(
        f"| | precision at {FIRST} | relative to the best possible | CPU s per query "
        "|\n|---|---:|---:|---:|"
    )
    for method, options in METHODS.items():
        began = time.process_time()
        scores = [_precision(lib, query, without, options) for query in queries]
        spent = (time.process_time() - began) / len(queries)
        mean, share = np.mean(scores, axis=0)
        print(f"| {method} | {mean:.2f} | {share:.2f} | {spent:.2f} |", flush=True)
        each: dict[str, list[float]] = {}
        for (action, *_), (_, part) in zip(queries, scores, strict=True):
            each.setdefault(action, []).append(part)
        shares = ", ".join(f"{action} {np.mean(parts):.2f}" for action, parts in each.items())
        print(f"<!-- {shares} -->", flush=True)


def _queries(lib, words, each, rng):
    """Action, take, start frame, end frame and relevant takes of each query."""
    queries = []
    for action, its_words in ACTIONS.items():
        pattern = re.compile("|".join(rf"\b{re.escape(word)}" for word in its_words))
        right = [name for name, text in words.items() if pattern.search(text)]
        long = [name for name in right if lib[name].duration >= 1.25 * SECONDS]
        for name in rng.choice(long, min(each, len(long)), replace=False).tolist():
            queries.append((action, name, *_liveliest(lib, name), right))
    return queries


def _liveliest(lib, name):
    motion = lib[name]
    places = frame_features(motion, "e15")
    paces = np.linalg.norm(np.diff(places, axis=0), axis=1)
    length = round(SECONDS * motion.fps)
    start = int(np.argmax(np.convolve(paces, np.ones(length - 1), mode="valid")))
    return start, start + length


def _precision(lib, query, without, options):
    _, name, start, end, right = query
    hits = lib.search(f"{name}:{start}-{end}", max=150, exclude=[*without, name], **options)
    takes = list(dict.fromkeys(hit.motion for hit in hits))[:FIRST]
    share = sum(take in right for take in takes) / FIRST
    return share, share / (min(FIRST, len(right) - 1) / FIRST)


if __name__ == "__main__":
    main()
