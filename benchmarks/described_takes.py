"""Write the described takes that come with motionloom, from the CMU database.

::

    python -m benchmarks.described_takes LIB metadata.csv

LIB is a library with the takes, named as in the column ``file`` of the table; ``description`` is
CMU's own description of each take, and ``duplicate_of`` the take that it repeats. Run it again when
motion statistics change (`motionloom.text.caption_table.motion_statistics`).
"""

from __future__ import annotations

import csv
import hashlib
import re
import sys
from pathlib import Path

import numpy as np

from motionloom.files import atomic_write
from motionloom.library import Library
from motionloom.text.caption_table import caption_table
from motionloom.text.described_takes import FILE, LARGEST, STEPS, knot_scores, quantile_knots
from motionloom.text.vocabulary import words

_SILENT = {"clean", "unknown", "story"}  # descriptions that say nothing about the motion


def write(library: Library, metadata: Path, path: Path = FILE) -> int:
    """Write the file and its checksum, and return the number of takes."""
    table = caption_table(library.store)
    place = {name: m for m, name in enumerate(table.names) if name not in table.left_out}
    with open(metadata, encoding="utf-8", newline="") as file:
        takes = [row for row in csv.DictReader(file) if row["file"] in place]
    single = [row["file"] for row in takes if row["duplicate_of"] not in place]
    knots = quantile_knots(table.statistics[[place[name] for name in single]])
    texts = dict.fromkeys(single, "")
    for row in takes:  # take the description of a repetition if the take itself has none
        name = row["duplicate_of"] if row["duplicate_of"] in place else row["file"]
        text = " ".join(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", row["description"]).split())
        if name in texts and not texts[name] and set(words(text)) - _SILENT:
            texts[name] = text
    said = [(name, text) for name, text in texts.items() if text]
    scores = knot_scores(knots, table.statistics[[place[name] for name, _ in said]])
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(
            file,
            names=np.frombuffer("\n".join(name for name, _ in said).encode(), np.uint8),
            descriptions=np.frombuffer("\n".join(text for _, text in said).encode(), np.uint8),
            knots=knots,
            scores=np.round(STEPS * scores).astype(np.int8),
        )
    data = path.read_bytes()
    if len(data) > LARGEST:
        sys.exit(f"{path} has {len(data)} bytes; at most {LARGEST} are allowed")
    path.with_suffix(".sha256").write_text(f"{hashlib.sha256(data).hexdigest()}\n", "ascii")
    return len(said)


if __name__ == "__main__":
    count = write(Library(sys.argv[1]), Path(sys.argv[2]))
    print(f"{FILE}: {count} takes, {FILE.stat().st_size} bytes")
