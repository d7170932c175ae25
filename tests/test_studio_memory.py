"""The server's memory does not grow with the number of searches, nor with requests of all kinds."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from studio_takes import TAKES, corpus_library, studio_client

pytest.importorskip("fastapi")


_STATUS = Path("/proc/self/statm")
_PAGE = 4096
_ROOM = 30 << 20  # bytes; a thousand kept answers of this library would take ten times that


def resident() -> int:
    gc.collect()
    return int(_STATUS.read_text().split()[1]) * _PAGE


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not _STATUS.exists(), reason="memory is read from /proc")
def test_a_thousand_searches_leave_no_more_memory_than_a_hundred(tmp_path):
    """All different, and some that are refused: nothing of them is kept without bound."""
    library = corpus_library(tmp_path / "small.loom", TAKES[:16])
    lengths = {name: library.store.entry(name).frames for name in library.names}
    measured = []
    with studio_client(library) as client:
        for number in range(1100):
            name = library.names[number % len(lengths)]
            start = number % (lengths[name] - 30)
            query = f"{name}:{start}-{start + 25 + number % 5}"
            answer = client.post("/api/search", json={"query": query})
            assert answer.status_code == 200, answer.text
            assert client.get(f"/api/motions/none-{number}/frames").status_code == 404
            assert client.get(f"/api/families/none-{number}").status_code >= 400
            if number in (99, 599, 1099):
                measured.append(resident())
    assert measured[2] - measured[0] < _ROOM, [size >> 20 for size in measured]
    assert measured[2] - measured[1] < _ROOM / 2, [size >> 20 for size in measured]


def mixed_request(client, names: list[str], number: int) -> None:
    """One of eleven kinds of requests, each time with other values."""
    name = names[number % len(names)]
    start = number % 20
    segment = {"kind": "segment", "motion": name, "start_frame": start, "end_frame": start + 30}
    clip = {"motion": name, "start_frame": start, "end_frame": start + 12}
    kinds = [
        lambda: client.get("/api/library"),
        lambda: client.get(f"/api/motions/{name}/frames"),
        lambda: client.get(f"/api/motions/{name}/strips"),
        lambda: client.get("/api/thumbnails", params={"names": names[:4]}),
        lambda: client.get(f"/api/motions/{name}/words"),
        lambda: client.post("/api/search", json={"query": f"{name}:{start}-{start + 30}"}),
        lambda: client.put(f"/api/library/labels/{name}", json={"labels": [f"l{number}"]}),
        lambda: client.post("/api/library/undo"),
        lambda: client.post("/api/export", json={"clips": [clip]}),
        lambda: client.post("/api/subjects/file", json={"subject": segment, "suffix": "glb"}),
        lambda: client.post("/api/search", json={"query": f"none_{number}:0-9"}),
    ]
    answer = kinds[number % len(kinds)]()
    refused = number % len(kinds) == len(kinds) - 1
    assert (answer.status_code == 200) != refused, answer.text


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not _STATUS.exists(), reason="memory is read from /proc")
def test_a_thousand_mixed_requests_leave_no_more_memory_than_a_few_hundred(tmp_path):
    library = corpus_library(tmp_path / "small.loom", TAKES[:16])
    names = [name for name in library.names if library.store.entry(name).frames > 60]
    measured = []
    with studio_client(library) as client:
        for number in range(1300):
            mixed_request(client, names, number)
            if number in (299, 799, 1299):
                measured.append(resident())
    print("resident memory, MB:", [size >> 20 for size in measured])
    assert measured[2] - measured[0] < _ROOM, [size >> 20 for size in measured]
    assert measured[2] - measured[1] < _ROOM / 2, [size >> 20 for size in measured]
