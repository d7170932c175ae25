"""Other libraries in the page: which may be opened, who may open them, and their names."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient  # noqa: E402
from studio_takes import studio_client  # noqa: E402

import motionloom as ml  # noqa: E402
from motionloom.configuration import user_settings  # noqa: E402
from motionloom.errors import InvalidInput  # noqa: E402
from motionloom.studio import create_app, messages, serve  # noqa: E402
from motionloom.studio.state.library_choice import (  # noqa: E402
    FILE,
    MOST_RECENT,
    LibraryChoice,
    recent_libraries,
    remember,
)


@pytest.fixture(autouse=True)
def own_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def client(home):
    with TestClient(
        create_app(None, choice=LibraryChoice(home)), base_url="http://localhost"
    ) as it:
        yield it


def names(client) -> list[str]:
    return [row["name"] for row in client.get("/api/libraries").json()["libraries"]]


def test_a_studio_without_a_library_says_so_and_makes_one(client, home):
    assert client.get("/api/library").json()["name"] == ""
    answer = client.get("/api/motions/walk/frames")
    assert answer.status_code == 404 and "choose one on the start page" in answer.json()["error"]
    assert client.post("/api/uploads").status_code == 404
    made = client.post("/api/libraries", json={"name": "day 1"})
    assert made.status_code == 200 and made.json()["name"] == "day 1"
    assert client.get("/api/library").json()["name"] == "day 1"
    assert (home / "day 1.loom" / "catalogue.sqlite").is_file()
    assert recent_libraries() == [home / "day 1.loom"]


def test_a_library_of_the_list_is_opened_and_its_changes_are_undone_later(client, home):
    for name in ("a", "b"):
        with ml.Library.create(home / f"{name}.loom") as library:
            library.add_motion(ml.demo.clip("walk"), name="walk")
    assert names(client) == ["a", "b"]
    rows = {row["name"]: row for row in client.get("/api/libraries").json()["libraries"]}
    assert all(row["place"] == "folder" and not row["open"] for row in rows.values())
    client.post("/api/libraries/open", json={"id": rows["a"]["id"]})
    client.put("/api/library/labels/walk", json={"labels": ["calm"]})
    client.post("/api/libraries/open", json={"id": rows["b"]["id"]})
    assert client.get("/api/library").json()["motions"][0]["labels"] == []
    client.post("/api/libraries/open", json={"id": rows["a"]["id"]})
    assert client.get("/api/library").json()["motions"][0]["labels"] == ["calm"]
    assert "label" in client.post("/api/library/undo").json()["text"]
    assert client.get("/api/library").json()["motions"][0]["labels"] == []
    shown = client.get("/api/libraries").json()["libraries"]
    assert [(row["name"], row["place"], row["open"]) for row in shown] == [
        ("a", "recent", True),
        ("b", "recent", False),
    ]


def test_open_windows_are_notified_and_their_connection_ends(client, home):
    ml.Library.create(home / "a.loom").close()
    (row,) = client.get("/api/libraries").json()["libraries"]
    with client.websocket_connect("ws://localhost/api/live") as window:
        assert client.post("/api/libraries/open", json={"id": row["id"]}).status_code == 200
        head, _ = messages.unpack(window.receive_bytes())
        assert head["changed"] == "library"
        assert window.receive()["type"] == "websocket.close"


def test_jobs_of_the_library_that_is_left_are_stopped(client, home):
    client.post("/api/libraries", json={"name": "a"})
    jobs = client.app.state.studio.jobs
    started = jobs.start("long", lambda job: job._stop.wait() and job.advance())
    client.post("/api/libraries", json={"name": "b"})
    assert jobs.wait(started.id).state == "stopped"
    assert client.get("/api/jobs").json() == []


@pytest.mark.parametrize(
    "name",
    ["../out", "a/b", "a\\b", "..", ".hidden", "CON", "nul.loom", "x:y", "a\x00b", "a\n", "   ",
     "a" * 90, "dot."],
)  # fmt: skip
def test_a_new_library_has_a_plain_name(client, home, name):
    before = sorted(home.parent.rglob("*.sqlite"))
    answer = client.post("/api/libraries", json={"name": name})
    if name == "a\n":  # spaces at the ends are dropped
        assert answer.status_code == 200
        return
    assert answer.status_code == 422, answer.text
    assert sorted(home.parent.rglob("*.sqlite")) == before


def test_a_taken_name_and_an_unknown_id_are_refused(client, home, tmp_path):
    ml.Library.create(tmp_path / "elsewhere.loom").close()
    client.post("/api/libraries", json={"name": "day 1"})
    answer = client.post("/api/libraries", json={"name": "day 1"})
    assert answer.status_code == 422 and "choose another name" in answer.json()["error"]
    for key in ("../elsewhere.loom", "0" * 24):
        answer = client.post("/api/libraries/open", json={"id": key})
        assert answer.status_code == 404 and "not in the list" in answer.json()["error"]
    long = {"id": str(tmp_path / "elsewhere.loom").ljust(80, "m")}
    assert client.post("/api/libraries/open", json=long).status_code == 422
    (home / "link.loom").symlink_to(tmp_path / "elsewhere.loom")
    assert names(client) == ["day 1"]


def test_a_server_that_others_may_use_opens_nothing_else(tmp_path):
    library = ml.Library.create(tmp_path / "a.loom")
    with studio_client(library) as client:
        listed = client.get("/api/libraries").json()
        assert listed == {"allowed": False, "folder": "", "libraries": []}
        for path, body in (("libraries", {"name": "b"}), ("libraries/open", {"id": "0"})):
            answer = client.post(f"/api/{path}", json=body)
            assert answer.status_code == 422 and "shows only one library" in answer.json()["error"]
    for options in ({"host": "0.0.0.0"}, {"token": False}, {"names": ("studio.example.org",)}):
        with pytest.raises(InvalidInput, match="LIB is required if others can connect"):
            serve(port=0, open_browser=False, **options)


def test_the_list_of_recent_libraries_survives_nonsense_and_stays_short(tmp_path):
    for number in range(MOST_RECENT + 5):
        remember(tmp_path / f"{number}.loom")
    recent = recent_libraries()
    assert len(recent) == MOST_RECENT and recent[0].name == f"{MOST_RECENT + 4}.loom"
    remember(recent[3])
    assert recent_libraries()[0] == recent[3] and len(recent_libraries()) == MOST_RECENT
    place = user_settings().with_name(FILE)
    for text in ("{", '[1, null, "relative.loom"]', json.dumps({"a": 1}), '["/a\\u0000b"]'):
        place.write_text(text, "utf-8")
        assert recent_libraries() == []
