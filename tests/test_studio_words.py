"""Words in the studio over HTTP: finding by description, captions, labeled segments, scripts."""

from __future__ import annotations

import json
import shlex

import pytest
from commands import ran

import motionloom as ml

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient
from fewer_joints import without_joints
from studio_takes import corpus_library, studio_client

from motionloom.studio import create_app, messages
from motionloom.studio.routes.library import words

TAKES = ("walk_p0", "kick_front_high_right_p0", "sit_stand_p0", "jump_up_p0", "punch_mid_left_p0")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    with corpus_library(tmp_path_factory.mktemp("studio") / "takes.loom", TAKES) as takes:
        yield takes


@pytest.fixture(scope="module")
def client(library):
    with studio_client(library) as connected:
        yield connected


def test_found_segments_are_those_of_the_library_with_their_words_marked(client, library):
    body = {"text": "kicks with the right foot", "settings": {"max": 3}}
    answer = client.post("/api/find", json=body).json()
    results = library.find("kicks with the right foot", max=3)
    assert [(row["motion"], row["start_frame"], row["end_frame"]) for row in answer["matches"]] == [
        (each.motion, each.start_frame, each.end_frame) for each in results
    ]
    first = answer["matches"][0]
    assert first["motion"] == "kick_front_high_right_p0"
    marked = [first["text"][start:end] for start, end in first["spans"]]
    assert "kicks" in marked and "right" in marked and "with" not in marked
    assert first["start"] == pytest.approx(first["start_frame"] / first["fps"], abs=1e-3)


def test_the_command_of_a_finding_finds_the_same(client):
    answer = client.post("/api/find", json={"text": "sit down", "settings": {"max": 2}}).json()
    typed = ran(*shlex.split(answer["lines"]["cli"])[1:], "--json")
    assert [row["motion"] for row in json.loads(typed.stdout)] == [
        row["motion"] for row in answer["matches"]
    ]
    assert answer["lines"]["python"].endswith(".find('sit down', max=2)")


def test_unknown_words_are_listed_with_similar_words(client):
    answer = client.post("/api/find", json={"text": "kcik zebra"}).json()
    assert answer["unknown"].get("zebra") == ""
    assert client.post("/api/find", json={"text": "zebra"}).json()["matches"] == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"text": " "}, "text must contain at least one word"),
        ({"text": "kick " * 500}, "text must have at most"),
        ({"text": "kick", "settings": {"max": 0}}, "max must be at least 1"),
        ({"text": "kick", "settings": {"label": ["nowhere"]}}, "nowhere"),
    ],
)
def test_mistakes_in_a_description_are_explained(client, body, said):
    answer = client.post("/api/find", json=body)
    assert answer.status_code in (404, 422) and said in answer.text


def test_captions_and_labeled_segments_of_a_take(client, library):
    library.labels.add("sit_stand_p0:5-20", "waits")
    got = client.get("/api/motions/sit_stand_p0/words").json()
    library.labels.remove("sit_stand_p0:5-20", "waits")
    assert [row["text"] for row in got["captions"]] == [
        event.text for event in library.captions["sit_stand_p0"]
    ]
    frames = library.store.entry("sit_stand_p0").frames
    assert all(0 <= row["start_frame"] < row["end_frame"] <= frames for row in got["captions"])
    assert got["labels"] == [{"start_frame": 5, "end_frame": 20, "text": "waits"}]
    assert got["reason"] == ""


def test_a_take_without_arms_says_why_it_has_no_captions(tmp_path):
    with ml.Library.create(tmp_path / "odd.loom") as library:
        library.add_motion(
            without_joints(ml.demo.clip("walk"), "left_shoulder", "right_shoulder"), name="legs"
        )
        with studio_client(library) as client:
            got = client.get("/api/motions/legs/words").json()
    assert got["captions"] == [] and "lacks left_elbow" in got["reason"]


def test_many_motions_are_described_by_a_job(library, monkeypatch):
    monkeypatch.setattr(words, "_QUICK_FRAMES", 10)
    app = create_app(library)
    with TestClient(app, base_url="http://localhost") as client:
        job = client.post("/api/find/prepare").json()["job"]
        assert app.state.studio.jobs.wait(job["id"]).state == "done"
        assert client.post("/api/find/prepare").json()["job"] is None


# --- scripts --------------------------------------------------------------------------------


def acted(client, **body) -> dict:
    started = client.post("/api/act", json=body)
    assert started.status_code == 200, started.text
    return client.app.state.studio.jobs.wait(started.json()["id"]).model_dump()


def test_a_script_is_acted_with_its_options_and_its_plan(client, library):
    job = acted(client, script="walk 2 s, kick with the right foot")
    assert job["state"] == "done" and job["done"] == job["total"], job["error"]
    result = job["result"]
    expected = library.act("walk 2 s, kick with the right foot")
    phrases = [row["number"] for row in result["plan"] if row["number"] >= 0]
    assert phrases == sorted(phrases) and set(phrases) == {0, 1}
    assert [row["segment"] for row in result["plan"]] == [str(row) for row in expected.plan]
    assert [each["text"] for each in result["phrases"]] == ["walk 2 s", "kick with the right foot"]
    assert result["quality"]["line"]

    head, arrays = messages.unpack(
        client.post("/api/act/motion", json={"script": result["script"]}).content
    )
    assert head["frames"] == len(expected.motion) == len(arrays["positions"])
    kept = client.post(
        "/api/subjects/file",
        json={"subject": {"kind": "act", "script": result["script"]}, "suffix": "bvh"},
    )
    assert kept.content.startswith(b"HIERARCHY")


def test_another_segment_can_stand_for_a_phrase(client):
    first = acted(client, script="kick with the right foot, walk 2 s")["result"]
    other = first["phrases"][0]["options"][-1]["segment"].split(":")[0]
    chosen = f"{other}:10-60"
    result = acted(client, script="kick with the right foot, walk 2 s", instead={"0": chosen})[
        "result"
    ]
    assert result["script"] == f"{chosen}, walk 2 s"
    assert [row["number"] for row in result["plan"] if row["number"] >= 0] == [0, 1]
    assert result["plan"][0]["motion"] == other
    assert chosen in result["lines"]["cli"]


def test_phrases_that_nothing_shows_are_named_with_what_comes_near(client):
    result = acted(client, script="walk 2 s, juggle, kick backwards with the left foot")["result"]
    assert result["plan"] == []
    assert [bool(each["options"]) for each in result["phrases"]][:2] == [True, False]
    assert any("kick" in text for text in result["phrases"][2]["near"] or ["kick"])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"script": " , "}, "at least one phrase"),
        ({"script": "walk " * 500}, "at most 2000 characters"),
        ({"script": "walk", "instead": {"3": "walk_p0:1-9"}}, "there is no phrase 3"),
    ],
)
def test_an_impossible_script_is_explained(client, body, said):
    job = acted(client, **body)
    assert job["state"] == "failed" and said in job["error"]
