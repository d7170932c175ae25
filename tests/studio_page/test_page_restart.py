"""The server goes and comes back; two windows look at one library."""

from __future__ import annotations

import shutil

import pytest
from browser import drawn_joints, go, open_take
from studio_takes import StudioServer

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture
def own_server(studio_library, tmp_path):
    """A server of this test's own, which may be killed."""
    with StudioServer(shutil.copytree(studio_library, tmp_path / "own.loom")) as server:
        yield server


def test_nothing_is_lost_when_the_server_restarts(own_server, windows):
    page = windows(own_server.address)
    # The browser logs every attempt, which this test expects.
    page.expected += ["WebSocket", "ERR_CONNECTION_REFUSED", "Failed to load", "request:"]
    clip = {"motion": "walk_p0", "start_frame": 5, "end_frame": 45}
    open_take(page, "walk_p0")
    page.evaluate("studio.select({motion: 'walk_p0', start: 10, end: 40})")
    page.evaluate(
        "clip => localStorage.setItem('motionloom:verdicts:' + studio.library.id,"
        "JSON.stringify({'walk_p0:10-40': {accepted: [clip], rejected: []}}))",
        clip,
    )
    page.evaluate("studio.stage.set({follow: false})")  # the camera stays where it is
    page.evaluate("studio.stage.freeze(0.5); studio.stage.frame()")
    address = page.url
    own_server.kill()
    status = page.locator("loom-app header [role=status]")
    expect(status).to_contain_text("Connection to the server lost")
    # While it is away: the take still plays, and a request is refused in words.
    assert drawn_joints(page).mean() > 0.8
    page.evaluate("studio.open('jog_p0')")
    expect(page.locator("loom-app [role=alert]")).to_contain_text("cannot be reached")
    page.evaluate("studio.notify('')")
    own_server.restart()
    page.wait_for_function("() => studio.live.connected")
    expect(status).not_to_contain_text("Connection to the server lost")
    assert page.url == address
    assert page.evaluate("studio.selection") == {"motion": "walk_p0", "start": 10, "end": 40}
    assert page.evaluate("studio.take") == "walk_p0"
    assert page.evaluate("studio.library.motions.length") == 34
    open_take(page, "jog_p0")  # it answers again
    go(page, "search", query="walk_p0:10-40")
    expect(page.locator("loom-search-view loom-verdict-counts")).to_contain_text("1 accepted")


def test_two_windows_see_one_library(own_server, windows):
    """Each has its own take, selection and view; a change to the library reaches both."""
    first, second = (
        windows(own_server.address),
        windows(own_server.address),
    )
    open_take(first, "walk_p0")
    open_take(second, "jog_p0")
    first.evaluate("studio.select({motion: 'walk_p0', start: 1, end: 9})")
    assert second.evaluate("studio.selection") is None
    assert first.evaluate("studio.take") == "walk_p0"
    for page in (first, second):
        page.evaluate("studio.stage.set({follow: false})")
        page.evaluate("studio.stage.freeze(0.2); studio.stage.frame()")
        assert drawn_joints(page).mean() > 0.8
    # Both send many requests at once; each window gets its own answers.
    ping = "async () => studio.live.request('ping')"
    counts = f"async () => (await Promise.all([...Array(50)].map({ping}))).length"
    assert [page.evaluate(counts) for page in (first, second)] == [50, 50]
    first.evaluate(
        """async () => { await fetch('api/library/labels/walk_p0', {method: 'PUT',
        headers: {'Content-Type': 'application/json'}, body: '{"labels": ["seen by both"]}'}); }"""
    )
    second.wait_for_function(
        "() => studio.library.motions.some((row) => row.labels.includes('seen by both'))"
    )


def test_a_new_token_is_reported(windows, studio_library, tmp_path):
    """Without --token each start makes its own: the page says what to do."""
    server = StudioServer(studio_library, "--host", "0.0.0.0", "--name", "localhost")
    local = server.address.replace(server.address.split("/")[2], f"127.0.0.1:{server.port}")
    page = windows(local, width=900, height=600)
    assert "token" not in page.url
    page.expected += ["WebSocket", "ERR_CONNECTION_REFUSED", "Failed to load", "request:", "403"]
    server.kill()
    server.restart()
    expect(page.locator("loom-app [role=alert]")).to_contain_text(
        "open the address that motionloom studio printed"
    )
    server.stop()


def test_the_private_file_opens_the_page(windows, studio_library, tmp_path, monkeypatch):
    """The browser opens a private file, which leads to the page and its cookie."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with StudioServer(studio_library, "--own-token") as server:
        (file,) = (tmp_path / "motionloom" / "studios").glob("*/open.html")
        page = windows(file.as_uri(), width=900, height=600)
        assert page.url.startswith(f"http://127.0.0.1:{server.port}/") and "token" not in page.url
        assert page.evaluate("studio.library.motions.length") == 34
    assert not file.exists()
