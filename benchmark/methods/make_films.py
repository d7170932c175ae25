"""Render the films of the benchmark from its manifest. Needs motionloom with the extra ``video``.

PYTHONPATH=.. python methods/make_films.py DATA
"""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import fields
from pathlib import Path

from retrieval_bench.data import MANIFESTS, inside

from benchmarks.films import Shot, write_film
from motionloom.formats import load


def main(data: str) -> None:
    """Write ``DATA/films/NAME.mp4`` for every film that does not exist."""
    options = {field.name for field in fields(Shot)} - {"detail"}
    (Path(data) / "films").mkdir(exist_ok=True)
    with (MANIFESTS / "video" / "films.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            path = Path(data) / "films" / f"{row['name']}.mp4"
            if not path.exists():
                shot = {key: json.loads(row[key]) for key in options}
                motion = load(inside(Path(data), row["file"]))
                motion = motion.resample(30.0) if abs(motion.fps - 30.0) > 0.1 else motion
                part = motion[int(row["start_frame"]) : int(row["end_frame"])]
                write_film(part, Shot(**{**shot, "size": tuple(shot["size"])}), path)
                print(path)


if __name__ == "__main__":
    main(sys.argv[1])
