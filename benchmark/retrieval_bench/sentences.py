"""The sentences of the KIT Motion-Language Dataset, found by their hashes in its archive.

The benchmark does not contain them. They are stored in ``kit/sentences.csv`` of the data folder,
with the columns ``sha256,sentence``.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

from retrieval_bench.data import sha256
from retrieval_bench.sets import benchmark_set
from retrieval_bench.tables import BenchmarkError, read_bytes, read_rows

FILE = Path("kit/sentences.csv")
_LARGEST = 2**20  # bytes of an annotation file


def find_sentences(data: Path, archive: Path) -> tuple[int, int]:
    """Find the sentences in the unpacked archive; return how many, and how many are asked."""
    asked = {str(query.shown["sha256"]) for query in benchmark_set("kit-cmu").queries}
    texts: dict[str, str] = {}
    for path in sorted(archive.rglob("*_annotations.json")):
        try:
            listed = json.loads(read_bytes(path, _LARGEST))
        except ValueError as error:
            raise BenchmarkError(f"{path}: {error}") from None
        for text in listed if isinstance(listed, list) else ():
            key = sha256(str(text).strip().encode())
            if key in asked:
                texts[key] = str(text).strip()
    target = data / FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.writing")
    with scratch.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows([("sha256", "sentence"), *sorted(texts.items())])
    scratch.replace(target)
    return len(texts), len(asked)


def sentences(data: Path) -> dict[str, str]:
    """Return the sentences by hash. Sentences with another hash than theirs are refused."""
    texts = {row["sha256"]: row["sentence"] for _, row in read_rows(data / FILE, ("sentence",))}
    for key, text in texts.items():
        if sha256(text.encode()) != key:
            raise BenchmarkError(f"{data / FILE}: the sentence {key[:8]} has another hash")
    return texts
