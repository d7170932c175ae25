"""Parametric motions by way of the studio's server."""

import json

import numpy as np
import pytest

pytest.importorskip("fastapi")

from click.testing import CliRunner
from studio_takes import corpus_library, studio_client

import motionloom as ml
from motionloom.cli import app
from motionloom.studio import messages

KICKS = tuple(f"kick_{side}_right_p0" for side in (
    "front_mid", "front_high", "front_low", "inside_mid", "outside_mid",
))  # fmt: skip
QUERY = {
    "takes": "kick_front_mid_right_p0",
    "search": {"label": ["kick"]},
    "by": ["right_ankle@33"],
}


def sampled(count):
    return {"settings": {"samples": count, "examples": {"drop_unmatched": True}}}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("parametric") / "kicks.loom"
    with corpus_library(path, (*KICKS, "kick_front_mid_left_p0", "walk_p0")) as lib:
        yield lib


@pytest.fixture(scope="module")
def client(library):
    with studio_client(library) as client:
        job = make(client, {**QUERY, "name": "kick", **sampled(120)})
        assert job["state"] == "done", job
        yield client


def make(client, body):
    job = client.post("/api/parametric", json=body).json()
    return client.app.state.studio.jobs.wait(job["id"]).model_dump()


def drag(client, **message):
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_text(json.dumps({"id": 7, "kind": "parametric/reach", **message}))
        return messages.unpack(socket.receive_bytes())


def test_the_menu_shows_which_kinds_need_a_joint_and_a_frame(client):
    kinds = {kind["name"]: kind for kind in client.get("/api/parametric/kinds").json()}
    assert kinds["at"]["joint"] and kinds["at"]["frame"] and kinds["at"]["axes"] == ["x", "y", "z"]
    assert not kinds["turn"]["joint"] and not kinds["turn"]["frame"]


def test_learning_from_whole_takes_excludes_the_other_leg(client):
    job = make(client, {**QUERY, "name": "again", **sampled(20)})
    assert job["result"]["examples"] == len(KICKS)
    assert job["result"]["left_out"] == ["kick_front_mid_left_p0:0-73"]
    assert job["done"] == job["total"] == 20
    assert {"name": "again", "by": ["right_ankle@33"], "examples": 5} in client.get(
        "/api/parametric"
    ).json()
    assert client.delete("/api/parametric/again").json() == {"name": "again"}
    assert client.get("/api/parametric/again").status_code == 404


def test_the_family_of_a_query_makes_one(client, library):
    search = {"expansion": {"join_distance": 0.12}, "label": ["kick"]}
    query = {"query": "kick_front_mid_right_p0:0-70", "search": search}
    job = make(client, {**query, "by": ["lowest(hips)"], "name": "low", **sampled(10)})
    assert job["state"] == "done", job["error"]
    assert library.parametric["low"].axes == ("y",)


def test_a_family_that_was_grown_makes_one(client):
    query, settings = "kick_front_mid_right_p0:0-70", {"expansion": {"join_distance": 0.12}}
    grown = client.post("/api/families", json={"query": query, "settings": settings}).json()
    body = {"family": grown["id"], "by": ["turn"], "name": "turned", **sampled(5)}
    assert make(client, body)["result"]["examples"] == len(grown["nodes"])
    gone = make(client, {**body, "family": "xyz"})
    assert gone["state"] == "failed" and "is not the id of a family" in gone["error"]


def test_the_opened_motion_is_that_of_the_library(client, library):
    meta, arrays = messages.unpack(client.get("/api/parametric/kick").content)
    kick = library.parametric["kick"]
    np.testing.assert_allclose(arrays["accessible"], kick.accessible, atol=1e-6)
    np.testing.assert_allclose(arrays["examples"], kick.space.examples, atol=1e-6)
    assert meta["examples"] == list(kick.examples) and meta["axes"] == ["x", "y", "z"]
    assert meta["frames"] == [33] and "right_ankle" in meta["roles"]


def test_a_dragged_target_is_where_the_joint_arrives(client, library):
    kick = library.parametric["kick"]
    target = kick.accessible[-1].tolist()
    meta, arrays = drag(client, name="kick", target=target)
    assert meta["id"] == 7 and not meta["outside"] and meta["off"] < 0.01
    ankle = kick.registration.skeleton.point("right_ankle")
    there = arrays["positions"][meta["keys"][0], ankle]
    assert np.linalg.norm(there - target) < 0.01
    assert arrays["positions"].shape[0] == arrays["contacts"].shape[0] == meta["frames"]
    assert arrays["weights"].sum() == pytest.approx(1.0, abs=1e-5)
    assert meta["milliseconds"] > 0.0


def test_a_target_out_of_reach_is_brought_to_the_nearest_that_is(client, library):
    meta, _ = drag(client, name="kick", target=[0.0, 0.8, 5.0])
    assert meta["outside"]
    kick = library.parametric["kick"]
    nearest = np.linalg.norm(kick.accessible - [0.0, 0.8, 5.0], axis=1).min()
    assert meta["off"] <= nearest + 0.02
    assert meta["off"] == pytest.approx(np.linalg.norm(np.subtract(meta["reached"], [0, 0.8, 5])))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"name": "kick", "target": [0.0, 1.0]}, "3 finite numbers"),
        ({"name": "kick", "target": "here"}, "list of numbers"),
        ({"name": "kick", "target": [0.0, 1.0, True]}, "list of numbers"),
        ({"name": "punch", "target": [0.0, 1.0, 1.0]}, "no parametric motion is called 'punch'"),
        ({"target": [0.0, 1.0, 1.0]}, "name must be"),
    ],
)
def test_bad_drags_are_answered_in_words(client, message, words):
    meta, arrays = drag(client, **message)
    assert words in meta["error"] and meta["id"] == 7 and not arrays


def test_a_drag_to_infinity_is_not_json(client):
    meta, arrays = drag(client, name="kick", target=[0.0, 1.0, 1e400])
    assert "Infinity is not a number" in meta["error"] and not arrays


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"by": ["turn"], "name": "x"}, "needs exactly one of family, query and takes"),
        (
            {"takes": "a", "query": "b:0-9", "by": ["turn"], "name": "x"},
            "needs exactly one of family, query and takes",
        ),
    ],
)
def test_bad_makings_are_refused(client, body, words):
    answer = client.post("/api/parametric", json=body)
    assert answer.status_code == 422 and words in answer.json()["error"]


def test_mistakes_in_the_work_are_reported_by_the_job(client):
    wrong = {**QUERY, "by": ["elbow@3"], "name": "wrong", **sampled(1000)}  # no such joint
    answer = client.post("/api/parametric", json=wrong)
    assert answer.status_code == 422 and "elbow" in answer.json()["error"]
    assert make(client, {**QUERY, "name": "../up", **sampled(20)})["state"] == "failed"


def test_the_file_is_the_one_that_the_shown_lines_write(client, library, tmp_path):
    target = [round(float(x), 3) for x in library.parametric["kick"].accessible[20]]
    at = ",".join(f"{x:.3f}" for x in target)
    for suffix in ("bvh", "glb"):
        subject = {"kind": "parametric", "name": "kick", "target": target}
        got = client.post("/api/subjects/file", json={"subject": subject, "suffix": suffix}).content
        out = tmp_path / f"kick.{suffix}"
        line = ["synthesize", str(library.path), "kick", f"--at={at}", "-o", str(out)]
        assert CliRunner().invoke(app, line).exit_code == 0
        (tmp_path / f"got.{suffix}").write_bytes(got)
        line, page = ml.load(out), ml.load(tmp_path / f"got.{suffix}")
        np.testing.assert_allclose(page.positions(), line.positions(), atol=1e-5)


def test_whole_takes_on_the_command_line_make_the_same(client, library):
    line = ["parametrize", str(library.path), "kick_front_mid_right_p0", "--whole", "--label",
            "kick", "--by", "right_ankle@33", "--drop-unmatched", "--samples", "120",
            "--name", "typed"]  # fmt: skip
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    typed, clicked = library.parametric["typed"], library.parametric["kick"]
    np.testing.assert_array_equal(typed.accessible, clicked.accessible)


def test_a_query_is_a_name_of_the_library_and_never_a_file(client, tmp_path):
    import motionloom as ml

    secret = ml.demo.clip("kick_front_mid_right").save(tmp_path / "secret.bvh")
    answer = client.post(
        "/api/parametric", json={"query": str(secret), "by": ["turn"], "name": "stolen"}
    )
    assert answer.status_code == 404 and "no motion" in answer.json()["error"]


@pytest.mark.parametrize("by", ["secret.csv", "/a/secret.csv:mood", "os:system", "gaits:stride"])
def test_a_parameter_names_no_file_and_no_function(client, by):
    answer = client.post("/api/parametric", json={**QUERY, "by": [by], "name": "stolen"})
    assert answer.status_code == 422 and "is unknown; use one of JOINT@" in answer.json()["error"]
