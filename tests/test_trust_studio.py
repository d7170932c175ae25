"""The studio under requests that exhaust it, and without the token."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import tracemalloc
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from studio_takes import StudioServer, studio_client
from waiting import LIMIT, wait_until

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.settings import PLANNED
from motionloom.studio import create_app
from motionloom.studio.server import limits, security
from motionloom.studio.state.jobs import AT_ONCE, MOST, Job, Jobs


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = ml.Library.create(tmp_path_factory.mktemp("studio") / "takes.loom")
    for name in ("walk", "jog"):
        made.add_motion(ml.demo.clip(name)[:60], name=name)
    return made


@pytest.fixture
def client(library):
    with studio_client(library) as opened:
        yield opened


# --- jobs -----------------------------------------------------------------------------------


def test_jobs_wait_in_one_queue_with_an_end():
    jobs, go = Jobs(), threading.Event()
    started = [jobs.start("waiting", lambda job: go.wait()) for _ in range(MOST)]
    with pytest.raises(InvalidInput, match=f"{MOST} jobs are running or waiting"):
        jobs.start("one more", lambda job: None)
    assert sum("jobs" in thread.name for thread in threading.enumerate()) <= AT_ONCE
    stopped = jobs.stop(started[-1].id)  # it has not begun: it ends at once
    assert stopped.state == "stopped"
    go.set()
    assert [jobs.wait(job.id).state for job in started[:-1]] == ["done"] * (MOST - 1)
    assert jobs.wait(jobs.start("again", lambda job: 3).id).result == 3


def test_a_stopped_crowd_ends_at_its_next_movement(library):
    from motionloom.library.settings import BallroomSettings
    from motionloom.studio.routes.dancing.crowd import BallroomRequest, _run

    jobs, reports = Jobs(), []
    state = create_app(library).state.studio
    request = BallroomRequest(settings=BallroomSettings(couples=2, seconds=20))

    def work(job):
        def advance(steps=1):
            reports.append(job.done)
            Job.advance(job, steps)
            if job.done > PLANNED:  # the takes are analyzed, the couples dance
                job.stop()

        job.advance = advance
        return _run(request, state, job)

    job = jobs.start("dancing", work, total=2 * PLANNED)
    wait_until(lambda: job.state != "running", "the job ends")
    assert job.state == "stopped" and PLANNED < job.done < 2 * PLANNED
    assert reports.count(job.done) == 1  # it ended at the first report after it was stopped


@pytest.mark.parametrize("suffix", ["gif", "mp4"])
def test_a_stopped_film_ends_at_its_next_picture(client, monkeypatch, tmp_path, suffix):
    from motionloom.plots.figures import animation
    from motionloom.plots.figures.animation import Film

    encoder = tmp_path / "ffmpeg"
    encoder.write_text("#!/bin/sh\nexec cat > /dev/null\n")
    encoder.chmod(0o700)
    monkeypatch.setattr(animation, "ffmpeg", lambda: str(encoder))
    begun, go, drawn = threading.Event(), threading.Event(), []
    picture = Film.picture

    def slowly(film, frame):
        drawn.append(frame)
        if len(drawn) == 3:
            begun.set()
            go.wait(LIMIT)
        return picture(film, frame)

    monkeypatch.setattr(Film, "picture", slowly)
    subject = {"kind": "segment", "motion": "walk"}
    job = client.post("/api/subjects/films", json={"subject": subject, "suffix": suffix}).json()
    assert begun.wait(LIMIT) and job["total"] > 9
    client.delete(f"/api/jobs/{job['id']}")
    go.set()
    ended = client.app.state.studio.jobs.wait(job["id"], LIMIT)
    assert ended.state == "stopped" and len(drawn) == 3


# --- limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["drawn", "walk", "transition"])
def test_every_request_of_a_graph_has_the_limit_of_motions(client, monkeypatch, route):
    monkeypatch.setattr("motionloom.studio.routes.synthesis.graph._MAX_MOTIONS", 1)
    graph = {"only": ["walk", "jog"]}
    walk = {"graph": graph, "settings": {"seconds": 1}}
    bodies = {"drawn": {"settings": graph}, "walk": walk}
    body = bodies.get(route, {"graph": graph, "transition": "a:1,b:1"})
    answer = client.post(f"/api/graphs/{route}", json=body)
    assert answer.status_code == 422 and "at most 1 motions; got 2" in answer.json()["error"]


@pytest.mark.parametrize(
    "kind", ["application/json", "application/JSON", "application/vnd.api+json", "x/y"]
)
def test_a_body_is_limited_whatever_its_type(client, kind):
    answer = client.post(
        "/api/search", content=b" " * (security.LARGEST_JSON + 1), headers={"Content-Type": kind}
    )
    assert answer.status_code == 413


def test_a_score_of_a_few_bytes_does_not_become_hours_of_sound(client):
    track = b"\0\xff\x51\x03\xff\xff\xff\0\x90\x3c\x40\x83\x28\x80\x3c\x40\0\xff\x2f\0"
    data = b"MThd\0\0\0\6\0\0\0\1\0\1MTrk" + len(track).to_bytes(4, "big") + track
    tracemalloc.start()
    sent = client.put("/api/dance/music/long.mid", content=data).json()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(data) < 50 and sent["seconds"] > 1.9 * 3600.0
    sound = client.get(f"/api/dance/music/{sent['id']}/sound").content
    assert len(sound) < 30e6 and peak < 150e6


@pytest.mark.parametrize(
    ("tune", "words"),
    [
        ({"bars": 200, "meter": 12, "tempo_bpm": 40}, "a tune may last at most 600 s"),
        ({"seed": -1}, "greater than or equal to 0"),
    ],
)
def test_a_tune_has_an_end_and_a_seed(client, tune, words):
    answer = client.post("/api/dance/tunes", json=tune)
    assert answer.status_code == 422 and words in answer.text


def test_answers_are_computed_again_if_the_library_changes_meanwhile(library):
    """A motion that a search has found may be removed by another process before it is read."""
    calls = []

    def failing(times: int, kind: str) -> list[str]:
        calls.append(kind)
        if len(calls) > times:
            return calls
        if kind != "unchanged":
            with ml.Library(library.path) as other:
                other.labels["walk"] = [f"{kind} {len(calls)}"]
        if kind == "KeyError":
            raise KeyError("third")
        return library["third"]

    app = create_app(library)
    app.add_api_route("/api/failing", failing)
    app.router.routes.insert(0, app.router.routes.pop())
    with TestClient(app, base_url="http://localhost") as client:
        for times, kind, status, tries in (
            (1, "removed", 200, 2),
            (3, "KeyError", 200, 4),
            (9, "removed", 503, 4),
            (9, "unchanged", 404, 1),
        ):
            calls.clear()
            answer = client.get("/api/failing", params={"times": times, "kind": kind})
            assert (answer.status_code, len(calls)) == (status, tries), kind
        assert "keep changing" not in answer.text
        library.labels["walk"] = []


def test_work_is_limited_and_the_rest_is_answered(library, monkeypatch):
    app = create_app(library)
    going, most, go = [], [], threading.Event()

    def slow() -> None:
        going.append(1)
        most.append(len(going))
        go.wait(LIMIT)
        going.pop()

    app.router.routes.insert(0, APIRoute("/api/slow", slow, methods=["POST"]))

    with TestClient(app, base_url="http://localhost") as client:
        asked = [threading.Thread(target=client.post, args=["/api/slow"]) for _ in range(12)]
        for each in asked:
            each.start()
        wait_until(lambda: len(going) == limits.AT_ONCE, "some requests are under way")
        assert client.get("/api/library").status_code == 200
        monkeypatch.setattr(limits, "WAITING", 1)
        wait_until(lambda: app.state.studio.limiter.waiting == 8, "the others wait")
        assert client.post("/api/slow").status_code == 503
        go.set()
        for each in asked:
            each.join()
    assert max(most) <= limits.AT_ONCE


def test_bodies_that_do_not_end_keep_nobody_from_computing(library):
    """In front of the turns: 60 such requests blocked all searches for minutes."""
    library.close()
    with StudioServer(library.path) as server:
        head = (
            f"POST /api/find HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"text": '
        )
        slow = []
        for _ in range(limits.WAITING + 2 * limits.AT_ONCE):
            slow.append(socket.create_connection(("127.0.0.1", server.port)))
            slow[-1].sendall(head.encode())
        asked = urllib.request.Request(
            f"{server.address}api/poses", b'{"poses": []}', {"Content-Type": "application/json"}
        )
        try:
            code = urllib.request.urlopen(asked, timeout=LIMIT).status
        except urllib.error.HTTPError as error:
            code = error.code
        assert code in (200, 422)  # answered, while all others are still being sent
        for each in slow:
            each.close()


def test_a_request_is_received_whole_in_some_time_and_space(client, monkeypatch):
    from starlette.exceptions import HTTPException

    async def nothing():
        await asyncio.Event().wait()

    async def wait():
        await limits._Body().receive(nothing, limits.Limiter())

    with monkeypatch.context() as less:
        less.setattr(limits, "BODY_SECONDS", 0.01)
        with pytest.raises(
            HTTPException, match="408: a request must arrive completely within 0.01 s"
        ):
            asyncio.run(wait())
    monkeypatch.setattr(limits, "RECEIVED", 5)
    answer = client.post("/api/find", json={"text": "walk"})
    assert (
        answer.status_code == 503
        and "the server is receiving too much data" in answer.json()["error"]
    )
    monkeypatch.setattr(limits, "RECEIVED", 50)
    for _ in range(9):  # the received bytes are subtracted again
        assert client.post("/api/find", json={"text": ""}).status_code == 422


def test_requests_that_read_motions_leave_threads_for_others(library, monkeypatch):
    app = create_app(library)
    going, go = [], threading.Event()

    def slow() -> None:
        going.append(1)
        go.wait(LIMIT)

    app.router.routes.insert(0, APIRoute("/api/motions/slow", slow, methods=["GET"]))
    with TestClient(app, base_url="http://localhost") as client:
        asked = [threading.Thread(target=client.get, args=["/api/motions/slow"]) for _ in range(45)]
        for each in asked:
            each.start()
        most = limits.READ_AT_ONCE
        wait_until(lambda: len(going) + app.state.studio.limiter.waiting == 45, "all are there")
        assert len(going) == most
        assert client.get("/api/library").status_code == 200
        go.set()
        for each in asked:
            each.join()
    assert len(going) == 45


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "http://evil.example"])
def test_foreign_and_broken_origins_are_refused(client, origin):
    assert client.get("/api/library", headers={"Origin": origin}).status_code == 403


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("/api/search/lines", '{"query": "\\ud800", "settings": []}'),
        ("/api/crowds", '{"kind": NaN}'),
        ("/api/search", '{"query": "\\ud800"}'),
        ("/api/search", '{"query": [' + "[1]," * 20_000 + "1]}"),
    ],
)
def test_errors_that_quote_the_request_can_be_encoded(client, address, body):
    """NaN and half a character in a request were answered with status 500."""
    answer = client.post(address, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (404, 422) and answer.json()["error"]
    assert len(answer.content) < 100_000


def test_odd_messages_on_the_socket_are_answered(client):
    from motionloom.studio.messages import unpack

    with client.websocket_connect("ws://localhost/api/live") as line:
        odd = [
            '{"id": NaN, "kind": "ping"}',
            "[" * 100_000,
            '{"id": [1], "kind": "ping"}',
            '{"kind": ["ping"]}',
            '{"kind": {}}',
            '{"kind": "player/read", "player": []}',
            '{"kind": "match/read", "player": {"a": 1}}',
        ]
        for message in odd:
            line.send_text(message)
            head, _ = unpack(line.receive_bytes())
            assert head["error"] and "Error: " not in head["error"]  # foreign ones name their type
        line.send_text('{"id": 7, "kind": "player/close", "player": []}')
        assert unpack(line.receive_bytes())[0] == {"id": 7}
        line.send_bytes(b"\x00\xff")
        assert "must be JSON" in unpack(line.receive_bytes())[0]["error"]
        line.send_text('{"id": 1, "kind": "ping"}')
        assert unpack(line.receive_bytes())[0]["id"] == 1


# --- the server -------------------------------------------------------------------------------


def test_without_a_token_nothing_is_answered(library, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    library.close()
    with StudioServer(library.path, "--own-token") as server:
        assert "?token=" in server.address
        place = f"http://127.0.0.1:{server.port}/api/library"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(place)
        token = server.address.partition("?token=")[2]
        asked = urllib.request.Request(place, headers={"Authorization": f"Bearer {token}"})
        assert len(json.load(urllib.request.urlopen(asked))["motions"]) == 2
        server.kill()
        server.restart()
        assert token not in server.address  # each start has its own
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(asked)
        token = server.address.partition("?token=")[2]
        asked = urllib.request.Request(place, headers={"Authorization": f"Bearer {token}"})
        # Connections that send nothing do not keep others out.
        silent = [
            socket.create_connection(("127.0.0.1", server.port)) for _ in range(limits.SILENT + 60)
        ]
        silent[-1].sendall(b"GET / HTTP/1.1\r\nHost: loc")
        urllib.request.urlopen(asked, timeout=60)
        silent[0].settimeout(60)
        try:
            assert silent[0].recv(1) == b""  # closed: it was the oldest
        except ConnectionResetError:
            pass
        for each in silent:
            each.close()


def test_no_token_is_for_this_machine_only(library):
    from motionloom.studio import serve

    with pytest.raises(
        InvalidInput, match="a token is required, because other machines can connect"
    ):
        serve(library.path, host="0.0.0.0", token=False)


def test_the_token_is_on_no_command_line(library, tmp_path, monkeypatch):
    """The browser's command line, which every user can read, names a private file instead."""
    import webbrowser

    import uvicorn

    from motionloom.studio import running_studios, serve

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "motionloom"
    folder.mkdir()
    (folder / "studio-token").write_text("the token of earlier releases, for every start")
    opened, printed, seen = threading.Event(), [], []
    monkeypatch.setattr(webbrowser, "open", lambda place: (seen.append(place), opened.set()))

    def run(self, sockets):
        assert opened.wait(LIMIT)
        page = urllib.parse.unquote(urllib.parse.urlsplit(seen[0]).path)
        seen.append((os.stat(page).st_mode & 0o77, Path(page).read_text(), running_studios()))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    serve(library.path, port=0, report=printed.append)
    token = printed[0].partition("?token=")[2]
    place, (mode, page, running) = seen
    assert len(token) >= 32 and place.startswith("file:") and token not in place
    assert mode == 0 and f"/?token={token}" in page
    assert [(f"motionloom studio: {each.address}/?token={each.token}") for each in running] == [
        printed[0]
    ]
    assert running_studios() == [] and os.listdir(folder / "studios") == []
    assert not (folder / "studio-token").exists()


def test_programs_use_only_running_studios_of_this_user(tmp_path, monkeypatch):
    """After a crash, any user may listen on the port of the studio."""
    from motionloom.studio import running_studios
    from motionloom.studio.server.announcement import announced

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with announced("http://127.0.0.1:1", "first"), announced("http://127.0.0.1:2", "second"):
        tokens = [studio.token for studio in running_studios()]
        assert tokens == ["second", "first"]
        folder = tmp_path / "motionloom" / "studios"
        (crashed := folder / "crashed").mkdir(mode=0o700)
        (crashed / "studio.json").write_text(
            json.dumps({"address": "http://127.0.0.1:3", "token": "third", "started": 1e12})
        )
        assert [studio.token for studio in running_studios()] == tokens
        os.utime(crashed, (1, 1))
        with announced("http://127.0.0.1:4", "fourth"):
            assert not crashed.exists()
        os.chmod(folder, 0o777)
        assert running_studios() == []
        with announced("http://127.0.0.1:4", "fourth") as page:  # private again
            assert page is not None and len(running_studios()) == 3
    (tmp_path / "nowhere").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    with announced("http://127.0.0.1:1", "first") as page:
        assert page is None and running_studios() == []


@pytest.fixture
def served(library):
    """A server in a thread, and its port."""
    import uvicorn

    app = create_app(library)
    config = uvicorn.Config(app, port=0, log_level="error", http=limits.timed_protocol())
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, "the server runs")
    yield server, server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    wait_until(lambda: not thread.is_alive(), "the server ends")


def test_a_head_that_does_not_end_is_not_waited_for(served, monkeypatch):
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.2)
    slow = socket.create_connection(("127.0.0.1", served[1]))
    slow.sendall(b"GET / HTTP/1.1\r\nX: ")
    slow.settimeout(LIMIT)
    try:
        ended = slow.recv(100) == b""
    except ConnectionResetError:
        ended = True
    assert ended


def test_a_request_that_is_not_yet_read_is_not_taken_for_silence(served):
    """A hundred silent connections, accepted before it was read, had it closed."""
    server, port = served
    go = threading.Event()
    server.servers[0].get_loop().call_soon_threadsafe(go.wait, LIMIT)  # the server is busy
    asking = socket.create_connection(("127.0.0.1", port))
    asking.sendall(b"GET /api/library HTTP/1.1\r\nHost: localhost\r\n\r\n")
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(limits.SILENT + 20)]
    go.set()
    asking.settimeout(LIMIT)
    assert asking.recv(100).startswith(b"HTTP/1.1 200")
    silent[0].settimeout(LIMIT)  # the oldest of the others is closed
    try:
        assert silent[0].recv(1) == b""
    except ConnectionResetError:
        pass
    for each in (asking, *silent):
        each.close()
