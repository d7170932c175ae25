"""Crowds over HTTP: the same as the command line and Python make."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from studio_takes import corpus_library, studio_client

pytest.importorskip("fastapi")

from click.testing import CliRunner  # noqa: E402

from motionloom.cli import app as commands  # noqa: E402
from motionloom.studio.messages import unpack  # noqa: E402

BALL = {
    "couples": 3, "floor": {"room": [8, 7]}, "music": "tune", "tempo_bpm": 96, "seconds": 4,
}  # fmt: skip
PARADE = {
    "formation": {"ranks": 2, "files": 2}, "music": "tune", "tempo_bpm": 100, "seconds": 4,
}  # fmt: skip
BALLROOM = {"kind": "ballroom", "settings": BALL}
MARCH = {"kind": "march", "settings": PARADE}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    library = corpus_library(tmp_path_factory.mktemp("crowd") / "small.loom", ["jog_p0"])
    with studio_client(library) as asking:
        yield asking


def made(client, body) -> dict:
    begun = client.post("/api/crowds", json=body).json()
    client.app.state.studio.jobs.wait(begun["id"])
    received = client.get(f"/api/jobs/{begun['id']}").json()
    assert received["state"] == "done", received["error"]
    assert received["done"] == received["total"]  # the percentage ends at 100
    return received["result"]


@pytest.fixture(scope="module", params=[BALLROOM, MARCH], ids=["ballroom", "march"])
def crowd(request, client):
    return made(client, request.param)


def test_everybody_is_sent(client, crowd):
    meta, values = unpack(client.get(f"/api/crowds/{crowd['id']}").content)
    assert len(meta["characters"]) == crowd["characters"]
    assert meta["frames"] == pytest.approx(4 * 30, abs=2)
    for number, body in enumerate(meta["characters"]):
        assert values[f"positions_{number}"].shape == (meta["frames"], len(body["joints"]), 3)
        assert values[f"contacts_{number}"].shape == (meta["frames"], 4)
    places = np.stack([values[f"positions_{k}"][0, 0, [0, 2]] for k in range(crowd["characters"])])
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    assert apart[~np.eye(len(places), dtype=bool)].min() > 0.15
    assert ("street" in values) == (meta["room"] is None)


def test_they_keep_the_beat_and_their_distance(crowd):
    assert crowd["beats_within_one_frame"] >= 0.9 * crowd["beats_total"] > 0
    assert crowd["quality"]["jumps"] == 0 and "slide" in crowd["quality"]["line"]
    assert crowd.get("clearance_m", 0.0) >= 0.0
    assert crowd.get("left_feet_in_step", 1.0) > 0.95


def test_the_line_for_the_terminal_makes_the_same_file(client, crowd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(crowd["lines"]["cli"])
    assert CliRunner().invoke(commands, words[1:]).exit_code == 0
    there = (tmp_path / words[-1]).read_bytes()
    assert (
        there
        == client.post(
            "/api/subjects/file",
            json={"subject": {"kind": "crowd", "id": crowd["id"]}, "suffix": "glb"},
        ).content
    )


def test_the_lines_of_python_make_the_same_motions(client, crowd):
    names: dict = {}
    exec(crowd["lines"]["python"], names)
    _, values = unpack(client.get(f"/api/crowds/{crowd['id']}").content)
    for number, motion in enumerate(names["crowd"].scene):
        assert np.array_equal(values[f"positions_{number}"], motion.positions(end_sites=True))


def test_the_music_is_as_long_as_the_crowd_moves(client, crowd):
    sound = client.get(f"/api/crowds/{crowd['id']}/sound")
    assert sound.headers["content-type"] == "audio/wav"
    assert sound.content[:4] == b"RIFF"


def test_another_seed_is_another_crowd(client):
    crowd, other = (
        made(client, {**BALLROOM, "settings": {**BALL, "seed": seed}}) for seed in (0, 1)
    )
    assert crowd["id"] != other["id"]
    first, second = (
        unpack(client.get(f"/api/crowds/{each['id']}").content)[1]["positions_0"]
        for each in (crowd, other)
    )
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"couples": 40, "floor": {"room": [5, 5]}}, "do not fit into the room"),
        ({"music": "/etc/passwd.mid"}, "music in a request must be tune or null"),
        ({"movements": {"library": "/etc"}}, "library cannot be set in a request"),
        ({"movements": {"takes": ["/etc/a.bvh"]}}, "takes cannot be set in a request"),
    ],
)
def test_settings_that_cannot_be_are_refused(client, settings, words):
    body = {"kind": "ballroom", "settings": {**BALL, **settings}}
    answer = client.post("/api/crowds", json=body)
    assert answer.status_code == 422 and words in answer.json()["error"]


def test_what_cannot_be_is_reported(client):
    answer = client.post("/api/crowds", json={**BALLROOM, "label": "no such label"})
    assert 400 <= answer.status_code < 500 and "no such label" in answer.json()["error"]
    begun = client.post("/api/crowds", json={**BALLROOM, "label": "jog"}).json()
    client.app.state.studio.jobs.wait(begun["id"])
    received = client.get(f"/api/jobs/{begun['id']}").json()
    assert received["state"] == "failed"
    assert "no couple was detected among 1 take" in received["error"]


def test_a_crowd_too_large_for_the_page_has_a_line_for_the_terminal(client):
    settings = {"couples": 40, "floor": {"room": [24, 20]}, "seconds": 120}
    answer = client.post("/api/crowds", json={"kind": "ballroom", "settings": settings})
    assert answer.status_code == 422
    assert "--seconds 120 --couples 40 --room 24x20" in answer.json()["error"]


def test_a_crowd_that_is_not_open_is_reported(client):
    answer = client.get("/api/crowds/0123")
    assert answer.json()["error"] == "this crowd is no longer available; create it again"
