"""The studio's distance grids: bytes, minima, webs and paths."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.alignment import matrix_minima, valid_region
from motionloom.cli import app as cli
from motionloom.features import distance_matrix

pytest.importorskip("fastapi")

from studio_takes import corpus_library, studio_client

from motionloom.studio import messages
from motionloom.studio.routes.search import grid

KICK, OTHER = "kick_front_high_right_p0", "kick_front_mid_right_p0"
TAKES = (KICK, OTHER, "walk_p0", "march_p0")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    with corpus_library(tmp_path_factory.mktemp("grid") / "takes.loom", TAKES) as takes:
        yield takes


@pytest.fixture(scope="module")
def client(library):
    with studio_client(library) as connected:
        yield connected


def _request(client, path="", **query):
    answer = client.get(f"/api/grid{path}", params=query)
    assert answer.status_code == 200, answer.text
    return messages.unpack(answer.content)


@pytest.mark.parametrize("distance", ["pc11", "e15", "jrd"])
def test_bytes_are_distances(client, library, distance):
    head, arrays = _request(client, a=KICK, b=OTHER, distance=distance)
    exact = distance_matrix(library[KICK], library[OTHER], distance)
    cells = arrays["cells"]
    assert cells.shape == exact.shape
    shown = cells < 255
    received = cells * (head["high"] / 254)
    assert np.abs(received - exact)[shown].max() <= 0.51 * head["high"] / 254
    assert (exact[~shown] > head["high"]).all()
    assert 0.85 < shown.mean() < 0.97  # colors end where nine of ten cells are nearer
    assert head["low"] == pytest.approx(exact.min(), abs=1e-9)


def test_a_segment_is_a_part_of_the_whole(client):
    whole, all_cells = _request(client, a=KICK, b=OTHER)
    part, some = _request(client, a=f"{KICK}:10-40", b=f"{OTHER}:5-65")
    assert some["cells"].shape == (30, 60)
    assert (part["rows"]["first"], part["columns"]["first"]) == (10, 5)
    ours = some["cells"] * (part["high"] / 254)
    theirs = all_cells["cells"][10:40, 5:65] * (whole["high"] / 254)
    near = (some["cells"] < 255) & (all_cells["cells"][10:40, 5:65] < 255)
    assert np.abs(ours - theirs)[near].max() < 1.1 * max(part["high"], whole["high"]) / 254


def test_marks_are_minima_and_the_valid_region(client, library):
    _, arrays = _request(client, "/marks", a=KICK, b=OTHER)
    matrix = distance_matrix(library[KICK], library[OTHER], "pc11")
    assert ((arrays["marks"] & 1) > 0).tolist() == (matrix_minima(matrix) > 0).tolist()
    region = valid_region(matrix, alpha=library.compare(KICK, OTHER).alpha)
    assert ((arrays["marks"] & 2) > 0).tolist() == region.tolist()


def _lines(head, arrays, kind):
    kinds = ("chains", "bridges", "matches")
    first = sum(head[name] for name in kinds[: kinds.index(kind)])
    offsets = arrays["offsets"][first : first + head[kind] + 1]
    return [arrays["cells"][a:b] for a, b in zip(offsets, offsets[1:], strict=False)]


def test_chains_and_bridges_are_those_of_the_web(client, library):
    head, arrays = _request(client, "/web", a=KICK, b=OTHER)
    web = library.compare(KICK, OTHER).web()
    assert head["whole"] == {
        "chains": web.chain_count, "bridges": web.bridge_count, "cells": len(web.cells),
    }  # fmt: skip
    chains = _lines(head, arrays, "chains")
    assert [line.tolist() for line in chains] == [
        web.path(number).tolist() for number in range(web.chain_count)
    ]
    for line in [*chains, *_lines(head, arrays, "bridges")]:
        assert (np.diff(line, axis=0) >= 0).all()  # neither runs backwards


def test_web_matches_are_those_of_the_command(client, library, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    query = f"{KICK}:10-60"
    head, arrays = _request(client, "/web", a=query, b=OTHER)
    line = client.get("/api/grid/lines", params={"a": query, "b": OTHER, "threshold": 0.15})
    words = shlex.split(line.json()["cli"])
    done = CliRunner().invoke(cli, [*words[1:], "--json"])
    assert done.exit_code == 0, done.output
    received = json.loads(done.stdout)
    assert (tmp_path / "grid.png").is_file()
    assert (received["chains"], received["bridges"]) == (
        head["whole"]["chains"],
        head["whole"]["bridges"],
    )
    near = [float(d) for d in arrays["distances"] if d <= 0.15]
    assert near and [each["distance"] for each in received["matches"]] == pytest.approx(
        near, abs=1e-6
    )
    for match, path in zip(received["matches"], _lines(head, arrays, "matches"), strict=False):
        assert (path[0, 0], path[-1, 0]) == (0, 49)
        assert (path[0, 1], path[-1, 1] + 1) == pytest.approx(
            (match["start"] * 30, match["end"] * 30)
        )


@pytest.mark.parametrize(("a", "b"), [(KICK, OTHER), (f"{KICK}:10-40", f"{OTHER}:5-65")])
def test_the_line_of_python_gives_the_cells(client, a, b):
    head, arrays = _request(client, a=a, b=b)
    names: dict = {}
    exec(head["lines"]["python"], names)  # the studio's own line, as somebody would paste it
    shown = arrays["cells"] < 255
    assert names["grid"].shape == shown.shape
    received = arrays["cells"] * (head["high"] / 254)
    assert np.abs(received - names["grid"])[shown].max() < head["high"] / 254


def test_paths_run_through_the_grid_and_have_the_stated_costs(client, library):
    query = f"{KICK}:10-60"
    head, arrays = _request(client, "/paths", a=query, b=OTHER)
    exact = distance_matrix(library[KICK], library[OTHER], "pc11")[10:60]
    offsets = arrays["offsets"]
    assert len(head["matches"]) == len(offsets) - 1 > 0
    first = arrays["cells"][offsets[0] : offsets[1]].astype(int)
    assert (first[0, 0], first[-1, 0]) == (0, 49)
    assert (np.diff(first, axis=0) >= 0).all()
    mean = exact[first[:, 0], first[:, 1]].mean()
    assert arrays["distances"][0] == pytest.approx(mean, abs=0.01)
    assert head["matches"][0]["start_frame"] == first[0, 1]


def test_long_takes_are_shown_by_every_second_frame(client, library, monkeypatch):
    monkeypatch.setattr(grid, "MAX_SIDE", 50)
    head, arrays = _request(client, a=KICK, b="walk_p0")
    assert head["step"] > 1 and max(arrays["cells"].shape) <= 50
    exact = distance_matrix(library[KICK], library["walk_p0"], "pc11")[
        :: head["step"], :: head["step"]
    ]
    assert arrays["cells"].shape == exact.shape
    near = arrays["cells"] < 255
    assert np.abs(arrays["cells"] * head["high"] / 254 - exact)[near].max() < head["high"] / 254
    _, marked = _request(client, "/marks", a=KICK, b="walk_p0")
    assert marked["marks"].shape == exact.shape and (marked["marks"] & 1).any()


def test_takes_of_other_rates_keep_their_frame_numbers(tmp_path):
    with ml.Library.create(tmp_path / "mixed.loom", fps=30.0) as mixed:
        pass
    with ml.Library.create(tmp_path / "rates.loom") as mixed:
        mixed.add_motion(ml.demo.clip("walk"), name="slow")
        mixed.add_motion(ml.demo.clip("walk").resample(60.0), name="fast")
        with studio_client(mixed) as client:
            head, arrays = _request(client, a="slow:10-40", b="fast:20-80")
            assert (head["columns"]["fps"], head["rate"], head["columns"]["first"]) == (
                60.0,
                30.0,
                10,
            )
            assert np.argmin(arrays["cells"][5]) == 5  # the same moment of the same walk


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"a": "nobody", "b": KICK}, "no motion 'nobody'"),
        ({"a": f"{KICK}:50-10", "b": KICK}, "the range must lie within"),
        ({"a": KICK, "b": KICK, "distance": "pc12"}, "no distance is called 'pc12'"),
    ],
)
def test_mistakes_are_named(client, query, words):
    answer = client.get("/api/grid", params=query)
    assert answer.status_code in (404, 422) and words in answer.json()["error"]


def test_a_file_of_the_server_is_not_a_take(client, tmp_path):
    path = ml.demo.clip("walk").save(tmp_path / "walk.bvh")
    answer = client.get("/api/grid", params={"a": str(path), "b": KICK})
    assert answer.status_code == 404


def test_a_web_too_large_to_wait_for_is_refused_with_the_command(client, monkeypatch):
    monkeypatch.setattr(grid, "MAX_CELLS", 100)
    answer = client.get("/api/grid/web", params={"a": KICK, "b": "march_p0"})
    assert answer.status_code == 422 and "motionloom web" in answer.json()["error"]
    answer = client.get("/api/grid/marks", params={"a": KICK, "b": "march_p0"})
    assert answer.status_code == 422 and "shorter segments" in answer.json()["error"]
