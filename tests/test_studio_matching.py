"""The controller of the studio: databases, steering over the websocket, recordings."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("fastapi")

from studio_takes import corpus_library, studio_client
from test_own_character import HERO, hero_mesh

import motionloom as ml
from motionloom.formats import gltf
from motionloom.studio import messages
from motionloom.studio.routes.synthesis import matching
from motionloom.studio.state.jobs import Job

WALKS = ("walk_p0", "walk_left_p0", "walk_right_p0")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("studio") / "takes.loom"
    with (
        corpus_library(path, (*WALKS, "kick_front_mid_right_p0")) as library,
        studio_client(library) as connected,
    ):
        yield connected


def built(client, **settings) -> dict:
    started = client.post("/api/matching", json={"settings": settings})
    assert started.status_code == 200, started.text
    return client.app.state.studio.jobs.wait(started.json()["id"]).model_dump()


class Window:
    """A window that sends live requests."""

    def __init__(self, socket) -> None:
        self.socket = socket

    def ask(self, kind: str, **message):
        self.socket.send_text(json.dumps({"id": 1, "kind": kind, **message}))
        return messages.unpack(self.socket.receive_bytes())


@pytest.fixture
def window(client):
    with client.websocket_connect("ws://localhost/api/live") as socket:
        yield Window(socket)


def test_a_database_is_built_from_a_label_or_names(client):
    job = built(client, only=list(WALKS))
    assert job["state"] == "done", job["error"]
    info = job["result"]
    assert info["takes"] == 3 and info["fps"] == 30.0 and info["tags"]["walk"] > 1.0
    assert 0.3 < info["speeds"][0] < info["speeds"][1] < 3.0
    assert "--only walk_p0,walk_left_p0,walk_right_p0" in info["lines"]["cli"]
    assert built(client, label=["walk"])["state"] == "done"


def test_a_build_advances_take_by_take_and_stops_between_two(client, monkeypatch):
    state = client.app.state.studio
    steps = []
    advance = Job.advance

    def stopping(self, count=1):
        steps.append(count)
        if len([step for step in steps if step]) == 2:  # as a press of "stop" would
            self.stop()
        advance(self, count)

    monkeypatch.setattr(Job, "advance", stopping)
    takes = {"only": list(WALKS), "mirror": False}
    started = client.post("/api/matching", json={"settings": takes}).json()
    assert started["total"] == 3
    ended = state.jobs.wait(started["id"])
    assert (ended.state, ended.done) == ("stopped", 1)
    monkeypatch.undo()
    ended = built(client, **takes)  # nothing of the first stands in its way
    assert (ended["state"], ended["done"]) == ("done", 3)


def test_takes_in_which_nobody_travels_are_refused_with_the_reason(client):
    job = built(client, only=["kick_front_mid_right_p0"])
    assert job["state"] == "failed" and "the take stays in place" in job["error"]


def test_too_many_frames_are_refused(client, monkeypatch):
    monkeypatch.setattr(matching, "_MAX_FRAMES", 100)
    answer = client.post("/api/matching", json={"settings": {"only": list(WALKS)}})
    assert answer.status_code == 422 and "at most 100 frames" in answer.json()["error"]


def test_a_character_is_steered_and_reports_its_state(client, window):
    started, _ = window.ask("match/start", settings={"only": list(WALKS)})
    assert started["fps"] == 30.0 and "hips" in started["roles"]
    number = started["player"]
    window.ask("match/read", player=number, count=30, controls={"velocity": [0.0, 1.3]})
    head, arrays = window.ask("match/read", player=number, count=45, controls={})
    assert arrays["positions"].shape[0] == 45 and arrays["contacts"].shape == (45, 4)
    assert head["start"] == 30 and head["milliseconds"] > 0.0
    assert head["take"] in WALKS or head["take"].endswith("(made)")
    assert head["desired"] == [0.0, 1.3] and len(head["trajectory"]) == 3
    assert head["velocity"][1] > 0.6  # it walks along +Z

    hips = arrays["positions"][:, started["roles"]["hips"]]
    assert hips[-1, 2] - hips[0, 2] > 0.8

    # A recording is one motion: the frames that were read.
    subject = {"kind": "played", "id": started["recording"]}
    kept = client.post("/api/subjects/keep", json={"subject": subject, "name": "steered"})
    assert kept.json() == {"names": ["steered"]}
    library = client.app.state.studio.library
    assert len(library["steered"]) == 75
    again = library["steered"].positions()[30:, library["steered"].skeleton.points(["hips"])[0]]
    np.testing.assert_allclose(again, hips, atol=1e-3)


def test_the_character_of_the_user_walks_where_the_performer_walks(client, window, tmp_path):
    gltf.writer.write_meshes(HERO, tmp_path / "hero.glb", [hero_mesh()])
    info = client.put(
        "/api/characters/hero.glb", content=(tmp_path / "hero.glb").read_bytes()
    ).json()
    heads, hips = [], []
    for worn in ({}, {"character": info["id"]}):
        head, _ = window.ask("match/start", settings={"only": list(WALKS)}, **worn)
        controls = {"velocity": [0.0, 1.2]}
        _, arrays = window.ask("match/read", player=head["player"], count=30, controls=controls)
        heads.append(head)
        hips.append(head.get("size", 1.0) * arrays["positions"][:, head["roles"]["hips"]])
    assert heads[1]["body"] == f"character-{info['id']}" and "size" not in heads[0]
    np.testing.assert_allclose(hips[1][:, [0, 2]], hips[0][:, [0, 2]], atol=0.06)
    assert hips[1][-1, 2] - hips[1][0, 2] > 0.2


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("match/start", {"settings": {"only": ["nobody"]}}, "nobody"),
        ("match/start", {"settings": {"only": 3}}, "only must be one or several names; got 3"),
        ("match/read", {"player": 99}, "no player 99"),
    ],
)
def test_invalid_requests_are_explained(window, kind, message, said):
    head, _ = window.ask(kind, **message)
    assert said in head["error"]


def test_controls_are_checked_and_the_character_goes_on(window):
    number = window.ask("match/start", settings={"only": list(WALKS)})[0]["player"]
    for controls, said in (
        ({"gait": "fly"}, "no frame has the tag 'fly'"),
        ({"velocity": [1.0]}, "velocity"),
        ({"jump": True}, "no control 'jump'"),
        ([1], "controls must be an object"),
    ):
        head, _ = window.ask("match/read", player=number, count=2, controls=controls)
        assert said in head["error"]
    head, _ = window.ask("match/read", player=number, count=2, controls={"gait": "walk"})
    assert head["frames"] == 2


def test_recordings_are_kept_for_a_limited_time(monkeypatch):
    monkeypatch.setattr(matching, "_RECORDED_SECONDS", 2.0)
    walk = ml.demo.clip("walk")
    recording = matching.Recording(walk.skeleton, walk.fps)
    with pytest.raises(ml.errors.InvalidInput, match="there are no recorded frames yet"):
        recording.motion()
    for start in range(0, 100, 10):
        rows = slice(start, start + 10)
        recording.add(
            ml.library.FrameBlock(
                walk.rotations[rows], walk.root[rows], np.zeros((10, 4), bool), start
            )
        )
    np.testing.assert_array_equal(recording.motion().root, walk.root[40:100])


def test_a_recording_that_is_gone_is_named(client):
    subject = {"kind": "played", "id": "gone"}
    answer = client.post("/api/subjects/file", json={"subject": subject, "suffix": "bvh"})
    assert answer.status_code == 422 and "record it again" in answer.json()["error"]


@pytest.mark.slow
def test_the_coverage_report_is_a_page(client):
    started = client.post("/api/matching/coverage", json={"settings": {"only": list(WALKS)}}).json()
    job = client.app.state.studio.jobs.wait(started["id"])
    assert job.state == "done", job.error
    assert job.result["sentences"]
    page = client.get(f"/api/matching/coverage/{job.result['id']}")
    assert page.headers["content-type"].startswith("text/html") and "<img" in page.text
    gone = client.get("/api/matching/coverage/other")
    assert gone.status_code == 422 and "create it again" in gone.json()["error"]
