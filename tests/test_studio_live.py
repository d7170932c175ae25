"""Websocket of the studio: requests, errors, notification of all windows."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")

from studio_takes import studio_client

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.studio import messages
from motionloom.studio.live import BrowserWindow


@pytest.fixture
def client(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("walk"), name="walk", labels=["gait"])
    with studio_client(library) as client:
        yield client


def window(client):
    return client.websocket_connect("ws://localhost/api/live")


def heard(socket):
    return messages.unpack(socket.receive_bytes())[0]


def test_every_window_is_reported_what_has_changed(client, tmp_path):
    with window(client) as first, window(client) as other:
        client.put("/api/library/labels/walk", json={"labels": ["stroll"]})
        assert [heard(first), heard(other)] == [{"changed": "labels"}] * 2
        ml.demo.clip("walk").save(tmp_path / "new.bvh")
        client.put("/api/uploads/new.bvh", content=(tmp_path / "new.bvh").read_bytes())
        assert [heard(first), heard(other)] == [{"changed": "motions"}] * 2
        first.send_text('{"id": 7, "kind": "ping"}')  # and it answers as before
        assert heard(first) == {"id": 7}
    client.put("/api/library/labels/walk", json={"labels": []})  # nobody is there to hear
    assert client.app.state.studio.listener_count == 0


def test_a_request_that_is_refused_changes_nothing(client):
    with window(client) as socket:
        client.put("/api/library/labels/nobody", json={"labels": ["stroll"]})
        socket.send_text('{"id": 1, "kind": "ping"}')
        assert heard(socket) == {"id": 1}


@pytest.mark.parametrize(
    ("text", "number", "words"),
    [
        ("hello", None, "a live request must be JSON"),
        ("[1]", None, "a live request must be a JSON object"),
        ('{"id": 3, "kind": "fly"}', 3, "no live request 'fly'; choose one of dance/read, "),
        (
            '{"id": "' + "a" * (1 << 20) + '"}',
            None,
            "a message may have at most 1048576 characters; got 1048586",
        ),
        ('{"id": 4, "kind": "player/read", "player": 1}', 4, "no player 1 in this window"),
    ],
)
def test_mistakes_are_reported_and_the_line_stays_open(client, text, number, words):
    with window(client) as socket:
        socket.send_text(text)
        answer = heard(socket)
        assert answer["id"] == number and words in answer["error"]
        socket.send_text('{"id": 9, "kind": "ping"}')
        assert heard(socket) == {"id": 9}


def test_a_window_has_only_so_many_players(client):
    players = BrowserWindow(client.app.state.studio)
    for _ in range(64):
        players.add(object())
    with pytest.raises(
        InvalidInput, match="this window already runs 64 players, the maximum; close some of them"
    ):
        players.add(object())
    players.remove(1)
    assert players.add(object()) == 65
