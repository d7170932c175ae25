"""Messages on the page: no temporary paths, no arguments of Python, no JSON."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from studio_takes import corpus_library, studio_client  # noqa: E402


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    library = corpus_library(tmp_path_factory.mktemp("wording") / "a.loom", ["walk_p0"])
    with studio_client(library) as it:
        yield it


@pytest.mark.parametrize(
    ("path", "body", "part"),
    [
        (
            "search",
            {"query": "walk_p0:0-20", "settings": {"max": -3}},
            "max must be at least 1; got -3",
        ),
        (
            "search",
            {"query": "walk_p0:0-20", "settings": {"max_distance": -1}},
            "max_distance must be",
        ),
        ("search", {"query": "walk_p0:5-2"}, "5"),
        ("crowds", {"kind": "nothing"}, "kind: "),
        ("export", {"clips": []}, "clips: "),
        ("library/labels", {"places": ["walk_p0"], "label": ""}, "label: "),
    ],
)
def test_a_refused_request_is_explained_in_a_sentence(client, path, body, part):
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code in (404, 422)
    said = answer.json()["error"]
    assert part in said and "{" not in said and "Value error" not in said, said


def test_a_song_that_cannot_be_read_is_named_as_the_user_named_it(client):
    answer = client.put("/api/dance/music/my song.mid", content=b"not music")
    said = answer.json()["error"]
    assert "my song.mid" in said and str(Path(tempfile.gettempdir())) not in said
