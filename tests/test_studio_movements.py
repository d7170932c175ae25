"""Movement transition graphs by way of the studio's server."""

import shutil

import numpy as np
import pytest

pytest.importorskip("fastapi")

from click.testing import CliRunner
from studio_takes import corpus_library, studio_client

import motionloom as ml
from motionloom.cli import app
from motionloom.studio import messages


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("movements") / "dances.loom"
    with corpus_library(path, ("dance_groove_p0", "dance_groove_p1", "walk_p0")) as lib:
        yield lib


@pytest.fixture(scope="module")
def client(library):
    with studio_client(library) as client:
        body = {"name": "disco", "settings": {"label": ["dance_groove"], "meter": 4}}
        job = client.post("/api/movements", json=body).json()
        done = client.app.state.studio.jobs.wait(job["id"]).model_dump()
        assert done["state"] == "done", done["error"]
        yield client


def look(client):
    return client.get("/api/movements/disco").json()


def likelihoods(received):
    return {(edge["from"], edge["to"]): edge["likelihood"] for edge in received["edges"]}


def test_saved_choreographies_are_listed(client):
    assert client.get("/api/movements").json() == ["disco"]
    received = look(client)
    assert received["meter"] == 4 and received["kind"] == "disco" and not received["dead_ends"]
    assert all(node["members"] for node in received["nodes"])
    for node in received["nodes"]:
        out = sum(p for (a, _), p in likelihoods(received).items() if a == node["name"])
        assert out == pytest.approx(1.0)


def test_edges_are_refined_as_on_the_command_line_and_kept(client, library, tmp_path):
    copy = tmp_path / "copy.loom"
    shutil.copytree(library.path, copy)
    first, last = look(client)["nodes"][0]["name"], look(client)["nodes"][-1]["name"]
    body = {"action": "connect", "source": first, "target": last, "likelihood": 0.75}
    received = client.post("/api/movements/disco/edits", json=body).json()
    assert likelihoods(received)[first, last] == pytest.approx(0.75)
    line = ["movements", str(copy), "--saved", "disco", "--add", f"{first}:{last}:0.75",
            "--name", "disco"]  # fmt: skip
    assert CliRunner().invoke(app, line).exit_code == 0
    for path in (library.path, copy):  # as after a restart
        with (
            ml.Library(path) as again,
            studio_client(again) as other,
        ):
            assert likelihoods(look(other)) == pytest.approx(likelihoods(received))


def test_a_removed_edge_can_be_connected_again(client):
    received = look(client)
    source = next(
        a for a, _ in likelihoods(received) if sum(x == a for x, _ in likelihoods(received)) > 1
    )
    target = next(b for a, b in likelihoods(received) if a == source)
    body = {"source": source, "target": target}
    after = client.post("/api/movements/disco/edits", json={**body, "action": "remove"}).json()
    assert (source, target) not in likelihoods(after)
    again = {**body, "action": "connect", "likelihood": likelihoods(received)[source, target]}
    after = client.post("/api/movements/disco/edits", json=again).json()
    assert likelihoods(after) == pytest.approx(likelihoods(received))


def test_no_dead_end_is_made(client):
    received = look(client)
    source = received["nodes"][0]["name"]
    ways = [b for a, b in likelihoods(received) if a == source]
    answers = [
        client.post(
            "/api/movements/disco/edits",
            json={"action": "remove", "source": source, "target": target},
        )
        for target in ways
    ]
    assert [answer.status_code for answer in answers[:-1]] == [200] * (len(ways) - 1)
    assert answers[-1].status_code == 422 and "dead end" in answers[-1].json()["error"]


def test_the_other_windows_hear_of_a_refined_dance(client):
    a, b = next(iter(likelihoods(look(client))))
    change = {"action": "connect", "source": a, "target": b, "likelihood": 0.5}
    with client.websocket_connect("ws://localhost/api/live") as socket:
        client.post("/api/movements/disco/edits", json=change)
        assert messages.unpack(socket.receive_bytes())[0] == {"changed": "kept"}


def test_a_node_can_be_renamed_and_danced(client):
    name = look(client)["nodes"][0]["name"]
    received = client.post(
        "/api/movements/disco/edits",
        json={"action": "rename", "source": name, "target": "box step"},
    ).json()
    assert received["nodes"][0]["name"] == "box step"
    other = received["nodes"][-1]["name"]
    for nodes in (["box step"], ["box step", other], [other, other]):
        meta, arrays = messages.unpack(
            client.post("/api/movements/disco/dance", json={"nodes": nodes}).content
        )
        assert meta["frames"] == round(len(nodes) * received["seconds"] * meta["fps"])
        assert np.isfinite(arrays["positions"]).all()


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("tango/edits", {"action": "remove", "source": "a", "target": "b"}, "tango"),
        (
            "disco/edits",
            {"action": "remove", "source": "a", "target": "b"},
            "the graph has no node",
        ),
        ("disco/edits", {"action": "rename", "source": "m2", "target": " "}, "1 to 60 characters"),
        ("disco/dance", {"nodes": ["nobody"]}, "the graph has no node 'nobody'"),
        ("", {"name": "x", "settings": {"label": ["nothing"]}}, "nothing"),
    ],
)
def test_mistakes_are_answered_in_words(client, path, body, words):
    answer = client.post(f"/api/movements/{path}".rstrip("/"), json=body)
    assert answer.status_code in (404, 422) and words in answer.json()["error"]
