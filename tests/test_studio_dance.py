"""Dances over HTTP: movements, music, performances; and the live dance behind the pointer."""

import io
import json
import wave

import numpy as np
import pytest

pytest.importorskip("fastapi")

from studio_takes import studio_client

import motionloom as ml
from motionloom.demo.tunes import write_tune
from motionloom.studio import messages


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("dance") / "dance.loom")
    for seed in (0, 1):
        lib.add_motion(
            ml.demo.clip("dance_groove", seed=seed), name=f"groove_{seed}", labels=["groove"]
        )
    return lib


@pytest.fixture(scope="module")
def client(library):
    with studio_client(library) as client:
        yield client


@pytest.fixture(scope="module")
def steps(client):
    body = {"settings": {"label": ["groove"], "meter": 4}}
    job = client.post("/api/dance/choreographies", json=body).json()
    ended = client.app.state.studio.jobs.wait(job["id"]).model_dump()
    assert ended["state"] == "done", ended
    return ended["result"]


def _live(client):
    return client.websocket_connect("ws://localhost/api/live")


def _ask(socket, kind, **message):
    socket.send_text(json.dumps({"id": 1, "kind": kind, **message}))
    return messages.unpack(socket.receive_bytes())


def test_a_choreography_reports_its_movements_and_its_graph(steps, library):
    made = library.choreography(label="groove", meter=4)
    assert steps["meter"] == 4
    assert steps["movements"] == len(made.movements)
    assert [node["name"] for node in steps["nodes"]] == list(made.graph.names)
    assert steps["nodes"][0]["members"][0].startswith("groove_")


def test_a_rehearsal_has_a_percentage(client, steps):
    music = client.post("/api/dance/tunes", json={"meter": 4, "tempo_bpm": 110, "bars": 4}).json()
    request = {"choreography": steps["id"], "music": music["id"], "settings": {"seed": 3}}
    begun = client.post("/api/dance/rehearsals", json=request).json()
    ended = client.app.state.studio.jobs.wait(begun["id"])
    assert (ended.state, ended.done, ended.total) == ("done", 100, 100)


def test_a_performance_is_the_same_dance_as_in_python(client, steps, library):
    from motionloom.dance.music import tune

    music = client.post("/api/dance/tunes", json={"meter": 4, "tempo_bpm": 110, "bars": 4}).json()
    request = {"choreography": steps["id"], "music": music["id"], "settings": {"seed": 3}}
    meta, arrays = messages.unpack(client.post("/api/dance/performances", json=request).content)
    made = library.choreography(label="groove", meter=4).dance(
        tune(bars=4, meter=4, tempo_bpm=110.0), seed=3
    )
    np.testing.assert_array_equal(arrays["positions_0"], made.positions(end_sites=True))
    assert meta["frames"] == len(made)
    assert meta["beats_within_one_frame"] <= meta["beats_total"]
    assert "slide" in meta["quality"]["line"] and meta["quality"]["jumps"] == 0
    assert meta["music_beats"] == pytest.approx(music["beats"], abs=1e-3)
    assert len(meta["characters"][0]["joints"]) == arrays["positions_0"].shape[1]


def test_a_dance_is_exported_as_glb(client, steps):
    subject = {"kind": "dance", "choreography": steps["id"], "music": "tune-4-100-4-0"}
    request = {"subject": subject, "suffix": "glb"}
    answer = client.post("/api/subjects/file", json=request)
    assert answer.content[:4] == b"glTF"


def test_music_is_sent_as_a_file_and_heard_with_its_beats(client, tmp_path):
    file = write_tune(tmp_path / "song.mid", bars=3, meter=3, tempo_bpm=90)
    received = client.put("/api/dance/music/my%20song.mid", content=file.read_bytes()).json()
    assert (received["name"], received["meter"], len(received["beats"])) == ("my song", 3, 9)
    assert received["bpm"] == pytest.approx(90)
    assert client.get(f"/api/dance/music/{received['id']}").json() == received
    sound = client.get(f"/api/dance/music/{received['id']}/sound")
    with wave.open(io.BytesIO(sound.content)) as heard:
        assert heard.getnframes() / heard.getframerate() == pytest.approx(
            received["seconds"], abs=0.01
        )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("song.exe", b"MZ", "a music file must be one of .mid"),
        ("song", b"", "got no suffix"),
        ("song.mid", b"not music at all", "mid"),
        ("..%2F..%2Fetc%2Fpasswd.mid", b"", "mid"),
    ],
)
def test_invalid_music_is_refused_with_a_message(client, name, content, words):
    answer = client.put(f"/api/dance/music/{name}", content=content)
    assert answer.status_code in (404, 405, 422)
    if answer.status_code == 422:
        assert words in answer.json()["error"]


def test_music_that_is_too_long_is_not_read_to_its_end(client, monkeypatch):
    from motionloom.studio.routes.dancing import dance

    monkeypatch.setattr(dance, "MAX_MUSIC", 1 << 20)
    given = []

    def endless():
        while len(given) < 64:
            given.append(1)
            yield b"\0" * (1 << 18)

    answer = client.put("/api/dance/music/long.mid", content=endless())
    assert answer.status_code == 422
    assert "may have at most 1 MB" in answer.json()["error"]


def test_without_takes_there_is_no_dance(client):
    answer = client.post("/api/dance/choreographies", json={"settings": {"label": ["nothing"]}})
    assert answer.status_code in (404, 422)
    assert "nothing" in answer.json()["error"] or "no take" in answer.json()["error"]


def test_expired_results_are_reported(client, steps):
    request = {"choreography": "unknown", "music": "tune-4-100-4-0"}
    assert "create it again" in client.post("/api/dance/performances", json=request).json()["error"]
    request = {"choreography": steps["id"], "music": "unknown"}
    assert "load it again" in client.post("/api/dance/performances", json=request).json()["error"]


def test_the_live_dance_goes_after_the_pointer(client, steps):
    with _live(client) as socket:
        begun, _ = _ask(socket, "dance/start", choreography=steps["id"], tempo_bpm=110)
        where = {}
        for target in ([3.0, 0.0], [-3.0, 0.0]):
            for _ in range(20):
                meta, arrays = _ask(
                    socket, "dance/read", player=begun["player"], count=30, target=target
                )
            where[target[0]] = arrays["positions_0"][-1, 0, 0]
        assert meta["frames"] == 30
        assert where[3.0] > where[-3.0] + 1.0


def test_the_live_dance_counts_at_the_tempo_it_is_reported(client, steps):
    with _live(client) as socket:
        begun, _ = _ask(socket, "dance/start", choreography=steps["id"], tempo_bpm=100)
        for tempo in (100, 140):
            for _ in range(3):
                _, arrays = _ask(
                    socket, "dance/read", player=begun["player"], count=60, tempo_bpm=tempo
                )
            beats = arrays["beats"]
            per_minute = (beats[-1] - beats[0]) / (59 / begun["fps"]) * 60.0
            assert per_minute == pytest.approx(tempo, rel=0.01)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"player": 99}, "no player 99"),
        ({"player": 1, "count": 100_000}, "count must be 1 to"),
        ({"player": 1, "count": "many"}, "count must be a number"),
        ({"player": 1, "tempo_bpm": 1e9}, "tempo must be 20 to 400"),
        ({"player": 1, "target": [1.0]}, "target must be 2 finite"),
        ({"player": 1, "target": "here"}, "target must be"),
    ],
)
def test_a_live_request_that_makes_no_sense_is_refused_in_words(client, steps, message, words):
    with _live(client) as socket:
        _ask(socket, "dance/start", choreography=steps["id"])
        meta, _ = _ask(socket, "dance/read", **message)
        assert words in meta["error"]
