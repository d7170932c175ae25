"""Motion graphs by way of the studio's server."""

import json
import shlex

import numpy as np
import pytest

pytest.importorskip("fastapi")

from click.testing import CliRunner
from studio_takes import corpus_library, studio_client
from waiting import LIMIT, wait_until

import motionloom as ml
from motionloom.cli import app
from motionloom.studio import messages

WALKS = ("walk_p0", "walk_left_p0", "walk_right_p0")
GRAPH = {"label": ["walk"], "per_minute": 90.0}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs") / "walks.loom"
    with corpus_library(path, (*WALKS, "kick_front_mid_right_p0")) as lib:
        yield lib


@pytest.fixture(scope="module")
def client(library):
    with studio_client(library) as client:
        yield client


def draw(client, settings=GRAPH):
    return messages.unpack(client.post("/api/graphs/drawn", json={"settings": settings}).content)


def texts(meta, arrays):
    names = meta["names"]
    rows = zip(arrays["source"], arrays["target"], strict=True)
    return [f"{names[a]}:{i},{names[b]}:{j}" for (a, i), (b, j) in rows]


def test_a_graph_is_built_as_a_job_and_reported_as_on_the_command_line(client, library):
    job = client.post("/api/graphs", json={"settings": GRAPH}).json()
    assert job["total"] == 6
    done = client.app.state.studio.jobs.wait(job["id"]).model_dump()
    assert done["state"] == "done", done["error"]
    line = shlex.split(draw(client)[0]["lines"]["cli"])
    typed = CliRunner().invoke(app, [*line[1:], "--json"])
    assert json.loads(typed.stdout) == done["result"]
    # Without options the command line means the graph that the page built last.
    plain = CliRunner().invoke(app, ["graph", str(library.path), "info", "--json"])
    assert json.loads(plain.stdout) == done["result"]


def test_the_drawn_transitions_are_those_of_the_graph(client, library):
    meta, arrays = draw(client)
    there = {"ml": ml}
    exec(meta["lines"]["python"], there)
    graph = there["graph"]
    assert meta["info"] == json.loads(json.dumps(graph.info()))
    assert set(meta["playable"]) == set(graph.names) <= set(meta["names"]) == set(WALKS)
    assert meta["frames"] == [len(library[name]) for name in meta["names"]]
    assert len(arrays["source"]) == len(graph)
    np.testing.assert_allclose(np.sort(arrays["errors"]), np.sort(graph.transitions.errors), 1e-5)


def test_a_transition_can_be_watched(client, library):
    meta, arrays = draw(client)
    text = texts(meta, arrays)[0]
    head, motion = messages.unpack(
        client.post("/api/graphs/transition", json={"graph": GRAPH, "transition": text}).content
    )
    assert motion["positions"].shape[0] == head["frames"] > head["blend"]
    # Before the blend the pose is that of the source.
    name, frame = text.split(",")[0].rsplit(":", 1)
    leave = int(frame) - head["blend"] // 2
    first = head["seam"] - head["blend"] // 2 - 1
    hips = library[name].positions(end_sites=True)[leave - 1]
    here = motion["positions"][first]
    np.testing.assert_allclose(_sizes(here), _sizes(hips), atol=3e-3)  # feet are planted
    wrong = client.post(
        "/api/graphs/transition", json={"graph": GRAPH, "transition": "walk_p0:1,walk_p0:2"}
    )
    assert wrong.status_code == 422 and "no transition walk_p0:1,walk_p0:2" in wrong.json()["error"]


def _sizes(points):
    """Distances between points: the same wherever a body stands and faces."""
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def test_edits_are_drawn_kept_and_taken_back(client, library):
    meta, arrays = draw(client)
    text = texts(meta, arrays)[5]
    received = client.post(
        "/api/graphs/edits", json={"action": "remove", "transition": text}
    ).json()
    assert received == {"removed": 1, "locked": 0}
    after, edited = draw(client)
    state = dict(zip(texts(after, edited), edited["states"], strict=True))
    assert after["states"][state[text]] == "removed"
    assert after["info"]["removed"]["by_hand"] == 1
    with ml.Library(library.path) as again:  # as after a restart
        assert again.motion_graph(label=GRAPH["label"], per_minute=90.0).removed.by_hand == 1
    watched = client.post("/api/graphs/transition", json={"graph": GRAPH, "transition": text})
    assert watched.status_code == 200
    client.post("/api/graphs/edits", json={"action": "lock", "transition": text})
    after, edited = draw(client)
    state = dict(zip(texts(after, edited), edited["states"], strict=True))
    assert after["states"][state[text]] == "locked"
    client.post("/api/graphs/edits", json={"action": "restore", "transition": text})
    assert draw(client)[0]["info"] == meta["info"]


def test_a_path_is_walked_along(client):
    path = [[0.0, 0.0], [0.0, 2.5]]
    body = {"graph": GRAPH, "path": path, "settings": {"seed": 1}}
    meta, arrays = messages.unpack(client.post("/api/graphs/walk", json=body).content)
    root = arrays["positions"][:, meta["parents"].index(-1)]
    assert np.abs(root[:, 0]).max() < 0.4 and root[-1, 2] > 2.2
    assert meta["sources"] and meta["frames"] == len(root)
    assert meta["quality"]["path"]["mean_m"] < 0.5 and "path" in meta["quality"]["line"]


def test_a_steered_walk_is_saved_as_it_was_seen(client, tmp_path):
    seen, steered = [], []
    with client.websocket_connect("ws://localhost/api/live") as socket:

        def ask(**message):
            socket.send_text(json.dumps({"id": 1, **message}))
            return messages.unpack(socket.receive_bytes())

        begun, _ = ask(kind="graph/start", graph=GRAPH, seed=3)
        for block in range(20):
            controls = {"transition": True} if block in (4, 11) else {}
            if controls:
                steered.append({"frame": 7 * block, "controls": controls})
            meta, arrays = ask(
                kind="player/read", player=begun["player"], count=7, controls=controls
            )
            assert meta["start"] == 7 * block and meta["sources"]
            seen.append(arrays["positions"])
    seen = np.concatenate(seen)
    seconds = len(seen) / begun["fps"]
    settings = {"seed": 3, "seconds": seconds}
    body = {"graph": GRAPH, "settings": settings, "steered": steered}
    _, whole = messages.unpack(client.post("/api/graphs/walk", json=body).content)
    np.testing.assert_allclose(whole["positions"], seen, atol=1e-5)
    path = tmp_path / "walk.bvh"
    path.write_bytes(walk_file(client, body))
    np.testing.assert_allclose(ml.load(path).positions(end_sites=True), seen, atol=2e-3)


def walk_file(client, body) -> bytes:
    """The walk of a request as a BVH file."""
    return client.post("/api/subjects/file", json={"subject": {"kind": "walk", **body}}).content


def test_the_shown_line_walks_the_same(client, library, tmp_path):
    body = {"graph": GRAPH, "settings": {"seed": 2, "seconds": 4.0}}
    got = tmp_path / "got.bvh"
    got.write_bytes(walk_file(client, body))
    flags = draw(client)[0]["flags"]
    out = tmp_path / "typed.bvh"
    line = ["walk", str(library.path), "--seconds", "4", "--seed", "2", *flags, "-o", str(out)]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(ml.load(got).positions(), ml.load(out).positions(), atol=1e-4)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"graph": {"distance": "none"}}, "none"),
        ({"graph": {"per_minute": -1}}, "per_minute"),
        ({"graph": {"color": 1}}, "color"),
        ({"graph": GRAPH, "seed": "x"}, "seed must be"),
        ({"graph": GRAPH, "start": "nobody:3"}, "has no motion 'nobody'"),
        ({"graph": {"label": ["nothing"]}}, "nothing"),
        ({"graph": {"distance": "/etc/a.json"}}, "distance must be the name of a distance"),
        ({"graph": {"transitions": "/etc/a.mogra"}}, "transitions cannot be set"),
    ],
)
def test_bad_starts_are_answered_in_words(client, message, words):
    with client.websocket_connect("ws://localhost/api/live") as socket:
        socket.send_text(json.dumps({"id": 1, "kind": "graph/start", **message}))
        assert words in messages.unpack(socket.receive_bytes())[0]["error"]


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("walk", {"graph": GRAPH}, "a walk needs a duration or a path"),
        ("walk", {"graph": GRAPH, "settings": {"path": "/etc/a.csv"}}, "path cannot be set"),
        ("walk", {"graph": GRAPH, "path": [[0, 0]]}, "at least two floor positions"),
        ("edits", {"action": "remove", "transition": "walk"}, "NAME:FRAME,NAME:FRAME"),
        ("edits", {"action": "remove", "transition": "nobody:1,walk_p0:3"}, "nobody"),
    ],
)
def test_bad_requests_are_answered_in_words(client, path, body, words):
    answer = client.post(f"/api/graphs/{path}", json=body)
    assert answer.status_code in (404, 422) and words in answer.json()["error"]


def test_the_menu_has_distances_and_labels(client):
    menu = client.get("/api/graphs/menu").json()
    assert "jrd" in menu["distances"] and menu["labels"] == {"kick": 1, "walk": 3}


def test_a_first_walk_can_be_requested_while_a_better_one_is_searched(client, monkeypatch):
    from threading import Event

    from motionloom.motion_graph.walks import routes

    searched, go_on = [], Event()
    attempt = routes._Search.attempt

    def waiting(self, number, count):
        searched.append(number)
        assert go_on.wait(LIMIT)
        return attempt(self, number, count)

    monkeypatch.setattr(routes._Search, "attempt", waiting)
    body = {"graph": GRAPH, "path": [[0, 0], [0, 4], [3, 6]], "settings": {"seed": 2}}
    job = client.post("/api/graphs/walks", json=body).json()
    jobs = client.app.state.studio.jobs
    wait_until(lambda: searched, "the search starts")
    assert jobs[job["id"]].state == "running"
    frames = client.get(f"/api/jobs/{job['id']}").json()["result"]["frames"]
    early = client.post("/api/graphs/walk", json={**body, "approximate": True}).content
    assert messages.unpack(early)[0]["frames"] == frames
    go_on.set()
    done = jobs.wait(job["id"])
    assert done.state == "done" and done.total == 100
    last = client.post("/api/graphs/walk", json=body).content
    assert messages.unpack(last)[0]["frames"] == done.result["frames"]
