"""The server as a process: address, access control, and shutdown."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from functools import partial

import pytest
from studio_takes import StudioServer, corpus_library
from waiting import LIMIT, wait_until

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
websockets = pytest.importorskip("websockets")
connect = partial(
    pytest.importorskip("websockets.sync.client").connect,
    open_timeout=LIMIT,
    ping_timeout=LIMIT,
)

import motionloom as ml  # noqa: E402
from motionloom.errors import InvalidInput  # noqa: E402
from motionloom.library import Library  # noqa: E402
from motionloom.studio import serve  # noqa: E402


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("serving") / "small.loom"
    corpus_library(path, ["walk_p0", "kick_front_high_right_p0"]).close()
    return path


@pytest.fixture(scope="module")
def server(library):
    running = StudioServer(library)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def open_server(library):
    """A server that listens on every address of this machine."""
    running = StudioServer(library, "--host", "0.0.0.0", "--name", "studio.example.org")
    yield running
    running.stop()


def ask(server, path="/api/library", method="GET", body=None, **headers):
    """Status, headers and body; raw, so that the headers are the ones given."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    received = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return received


def token_of(server) -> str:
    return server.address.partition("token=")[2]


def test_it_listens_only_on_this_machine(server):
    assert server.address == f"http://127.0.0.1:{server.port}/"
    elsewhere = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)]
    for address in {each for each in elsewhere if not each.startswith("127.") and ":" not in each}:
        with pytest.raises(OSError, match="refused|unreachable|timed out"):
            socket.create_connection((address, server.port), timeout=3)


def test_a_foreign_name_for_this_machine_is_not_answered(server):
    """DNS rebinding: evil.example is pointed at 127.0.0.1 and the browser asks in its name."""
    for host in ("evil.example", f"evil.example:{server.port}", "localhost.evil.example", ""):
        status, _, body = ask(server, Host=host)
        assert status in (400, 403), host
        assert b"motions" not in body
    for host in ("localhost", f"127.0.0.1:{server.port}", f"LocalHost:{server.port}", "[::1]:1"):
        assert ask(server, Host=host)[0] == 200


def test_the_host_adds_nothing_to_the_content_policy(server):
    own = f"127.0.0.1:{server.port}"
    policy = ask(server, Host=own)[1]["content-security-policy"]
    assert f"connect-src 'self' ws://{own} wss://{own};" in policy
    for host in (f"{own}; script-src *", "127.0.0.1:1 *", "localhost:80; x", "[::1]x", "[::1]:a"):
        status, headers, _ = ask(server, Host=host)
        assert status in (400, 403)
        assert "script-src" not in headers.get("content-security-policy", "")


def test_other_sites_are_not_answered(server):
    own = f"127.0.0.1:{server.port}"
    assert ask(server, Host=own, Origin=f"http://{own}")[0] == 200
    for origin in (
        "http://evil.example",
        "null",
        "",
        f"http://127.0.0.1:{server.port + 1}",
        f"http://localhost:{server.port}",
        f"http://{own}.evil.example",
        f"http://evil.example/{own}",
        f"http://{own}@evil.example",
    ):
        status, headers, body = ask(server, Host=own, Origin=origin)
        assert (status, b"motions" in body) == (403, False), origin
        assert not [name for name in headers if name.lower().startswith("access-control")]
    for asker, code in (("cross-site", 403), ("same-site", 403), ("same-origin", 200)):
        assert ask(server, Host=own, Sec_Fetch_Site=asker)[0] == code
    visit = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert ask(server, "/", Host=own, **visit)[0] == 200  # a link to the page


def test_no_page_elsewhere_gets_leave_to_ask(server):
    """The answer to a browser's question before a request: never yes."""
    status, headers, _ = ask(
        server,
        "/api/uploads/a.bvh",
        "OPTIONS",
        Origin="http://evil.example",
        Access_Control_Request_Method="PUT",
    )
    assert status == 403
    assert "access-control-allow-origin" not in {name.lower() for name in headers}


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_what_a_plain_form_can_send_is_not_taken(server, kind):
    status, _, body = ask(server, "/api/uploads", "POST", b'{"a": 1}', Content_Type=kind)
    assert (status, body) == (403, b"forms are not accepted; send application/json")


def test_the_live_line_has_the_same_access_check(server):
    own = f"127.0.0.1:{server.port}"
    with connect(f"ws://{own}/api/live", origin=f"http://{own}") as line:
        line.send(json.dumps({"id": 7, "kind": "ping"}))
        assert b'"id":7' in line.recv()
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}):
        with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
            connect(f"ws://{own}/api/live", additional_headers=headers)
    sent = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT)
    sent.sendall(
        b"GET /api/live HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        b"Sec-WebSocket-Version: 13\r\n\r\n"
    )
    assert b" 403 " in sent.recv(200)
    sent.close()


def test_two_names_in_one_request_are_not_answered(server):
    sent = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT)
    sent.sendall(b"GET /api/library HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
    assert b" 40" in sent.recv(100)[:16]
    sent.close()


def test_response_headers_keep_other_sites_out(server):
    for path in ("/", "/api/library", "/nothing"):
        headers = {name.lower(): value for name, value in ask(server, path)[1].items()}
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        scripts = re.search("script-src ([^;]*)", policy)
        if path == "/":  # WebAssembly that the studio serves, and nothing else
            assert scripts is not None and scripts[1] == "'self' 'wasm-unsafe-eval'"
        else:
            assert scripts is None and "eval" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


def test_beyond_this_machine_every_request_needs_the_token(open_server):
    token = token_of(open_server)
    assert len(token) >= 32
    for path in ("/", "/api/library", "/openapi.json", "/assets/x.js"):
        status, _, body = ask(open_server, path)
        assert status == 403
        assert b"a token is required" in body
    for path in (f"/api/library?token={token[:-1]}", "/api/library?token="):
        assert ask(open_server, path)[0] == 403
    assert ask(open_server, f"/api/library?token={token}")[0] == 200
    assert ask(open_server, Authorization=f"Bearer {token}")[0] == 200
    with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
        connect(f"ws://127.0.0.1:{open_server.port}/api/live")


def test_the_token_moves_from_the_address_to_a_cookie(open_server):
    host = f"127.0.0.1:{open_server.port}"
    status, headers, _ = ask(open_server, f"/?token={token_of(open_server)}", Host=host)
    headers = {name.lower(): value for name, value in headers.items()}
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    kept = cookie.partition(";")[0]
    assert ask(open_server, Host=host, Cookie=kept)[0] == 200
    own = {"Cookie": kept, "Origin": f"http://{host}"}
    with connect(f"ws://{host}/api/live", additional_headers=own) as line:
        line.send(json.dumps({"id": 1, "kind": "ping"}))
        assert line.recv()
    foreign = {"Cookie": kept, "Origin": "http://evil.example"}
    with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
        connect(f"ws://{host}/api/live", additional_headers=foreign)


def test_with_a_token_the_server_has_more_names_but_not_all(open_server):
    given = {"Authorization": f"Bearer {token_of(open_server)}"}
    for host in ("192.168.7.7:80", socket.gethostname(), "studio.example.org", "[fe80::1]:80"):
        assert ask(open_server, Host=host, **given)[0] == 200, host
    assert ask(open_server, Host="evil.example", **given)[0] == 403


def test_a_port_in_use_is_reported(server, library):
    words = f"^cannot listen on 127.0.0.1:{server.port}: Address already in use; choose another"
    with pytest.raises(InvalidInput, match=words):
        serve(library, port=server.port)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"token": ""}, "token must consist of letters, digits"),
        ({"token": "a b"}, "token must consist of letters, digits"),
        ({"host": "no.such.host.invalid"}, "cannot listen on no.such.host.invalid:8765: .*--host"),
        ({"port": 70_000}, "cannot listen on 127.0.0.1:70000: .*0-65535"),
    ],
)
def test_wrong_options_are_reported(library, options, words):
    with pytest.raises(InvalidInput, match=words):
        serve(library, **options)


def test_a_library_that_is_not_there_is_one_clear_line(tmp_path):
    with pytest.raises(RuntimeError, match="nothing: no such library") as refused:
        StudioServer(tmp_path / "nothing")
    assert str(refused.value).strip().count("\n") == 0


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal")
def test_ctrl_c_ends_it_at_once_whatever_is_open(library):
    """A window is open, a request has been begun and not ended, a batch is half sent."""
    running = StudioServer(library)
    begun = json.loads(ask(running, "/api/uploads", "POST")[2])["id"]
    path = f"/api/uploads/{begun}/files/a.bvh"
    assert ask(running, path, "PUT", b"HIERARCHY")[0] == 200
    assert (library / "incoming").is_dir()
    half = socket.create_connection(("127.0.0.1", running.port), timeout=LIMIT)
    half.sendall(
        b"PUT /api/uploads/b.bvh HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n"
    )
    with connect(f"ws://127.0.0.1:{running.port}/api/live") as line:
        line.send(json.dumps({"id": 1, "kind": "ping"}))
        line.recv()
        running.process.send_signal(signal.SIGINT)
        out, err = running.process.communicate(timeout=LIMIT)
    half.close()
    assert running.process.returncode in (0, 130)
    assert "Traceback" not in err
    assert not (library / "incoming").exists()  # nothing half-sent stays


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal")
def test_ctrl_c_does_not_wait_for_long_work(tmp_path):
    """A job that steps, and an answer that takes forever."""
    script = """
import sys, threading, time
seconds = float(sys.argv[2])
sys.argv = ["motionloom", "studio", sys.argv[1], "--no-browser", "--no-token", "--port", "0"]
from motionloom.studio.routes.library import contents
from motionloom.studio.state.app_state import State

@contents.router.get("/forever")
def forever(state: State):
    def work(job):
        while True:
            job.advance()
            time.sleep(0.05)
    state.jobs.start("counting", work)
    print("asked", flush=True)
    time.sleep(seconds)

from motionloom.cli import main
main()
"""
    import motionloom as ml

    ml.Library.create(tmp_path / "a.loom").close()
    running = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "a.loom"), str(100 * LIMIT)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    port = int(running.stdout.readline().rsplit(":", 1)[1].strip("/\n"))
    asking = threading.Thread(target=_ask_quietly, args=(port,), daemon=True)
    asking.start()
    assert "asked\n" in iter(running.stdout.readline, "")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=LIMIT)  # not a hundred times that
    assert running.returncode in (0, 130)
    assert "Traceback" not in err


def _ask_quietly(port: int) -> None:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/api/forever")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        pass


def test_without_its_packages_the_command_says_what_to_install(library):
    script = (
        "import sys; sys.modules['fastapi'] = None; sys.argv = ['motionloom', 'studio', "
        f"{str(library)!r}]; from motionloom.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        "motionloom: the studio needs fastapi; install it with: pip install 'motionloom[studio]'\n"
    )


def test_without_the_page_the_command_says_how_to_get_it(tmp_path, monkeypatch):
    from fastapi.testclient import TestClient

    import motionloom as ml
    from motionloom.studio.server import app

    monkeypatch.setattr(app, "PAGE", tmp_path)
    library = ml.Library.create(tmp_path / "a.loom")
    assert "python build_page.py" in app.missing_page()
    with TestClient(app.create_app(library), base_url="http://localhost") as client:
        assert "pip install --force-reinstall 'motionloom[studio]'" in client.get("/").text
        assert client.get("/api/library").json()["motions"] == []


def test_a_new_library_is_made_and_anything_else_that_is_missing_is_named(tmp_path):
    with StudioServer(tmp_path / "new.loom"):
        assert Library(tmp_path / "new.loom").names == ()
    with pytest.raises(RuntimeError, match="no such library"):
        StudioServer(tmp_path / "nowhere")


def test_a_folder_of_takes_becomes_a_library_next_to_it(tmp_path):
    takes = tmp_path / "session 7"
    (takes / "kicks").mkdir(parents=True)
    ml.demo.clip("walk").save(takes / "walk.bvh")
    ml.demo.clip("kick_front_high_right").save(takes / "kicks" / "first.bvh")
    with StudioServer(takes) as server:

        def names():
            return [row["name"] for row in json.loads(ask(server)[2])["motions"]]

        wait_until(lambda: len(names()) == 2, "both takes are imported")
        assert json.loads(ask(server)[2])["name"] == "session 7"
    with Library(tmp_path / "session 7.loom") as library:
        assert library.labels.counts() == {"kicks": 1}
    with StudioServer(takes) as server:  # again: nothing is imported twice
        assert len(json.loads(ask(server)[2])["motions"]) == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(RuntimeError, match="empty: no motion files"):
        StudioServer(empty)
