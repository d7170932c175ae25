"""The built documentation in a real browser: readers play with the examples on its pages."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
from browser import MILLISECONDS

ROOT = Path(__file__).parents[2]
_PLAYER = "document.querySelector('motionloom-player:not([mini])')"
# A condition that becomes true only when the example of a job runs.
_RUNS = {
    "find": "() => document.querySelector('.clip > *').time > 0.2",
    "aim": f"() => {_PLAYER}.time > 0.2 && {_PLAYER}.scene.header.cells.length > 100",
    "walk": f"() => {_PLAYER}.time > 0.2 && {_PLAYER}.choice.length === 3",
    "play": "() => Math.hypot(...motionloom.player.position.slice(0, 2)) > 0.7",
    "dance": f"() => {_PLAYER}.time > 0.3 && {_PLAYER}.sound.time > 0.3",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A static server that prints nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return folder


@pytest.fixture(scope="module", params=["http", "file"])
def address(request, site):
    if request.param == "file":
        yield site.as_uri(), "index.html"
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", ""
    server.shutdown()


@pytest.mark.parametrize("job", _RUNS)
def test_the_example_on_a_page_runs_without_a_server(address, browser, job):
    base, index = address
    context = browser.new_context(viewport={"width": 1100, "height": 720})
    page = context.new_page()
    page.set_default_timeout(MILLISECONDS)
    requests, faults = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{base}/tutorials/{job}/{index}")
    frame = page.locator("iframe.live")
    frame.scroll_into_view_if_needed()
    shown = frame.element_handle().content_frame()
    if job == "play":
        shown.wait_for_selector("html[data-ready]")
        frame.click(position={"x": 300, "y": 150})
        page.keyboard.down("KeyW")
    else:
        shown.wait_for_function("() => document.querySelector('motionloom-player').shadowRoot")
    if job == "dance":
        shown.get_by_role("button", name="Play").click()
    shown.wait_for_function(_RUNS[job])
    context.close()
    elsewhere = [url for url in requests if not url.startswith((base, "blob:", "data:"))]
    assert elsewhere == []
    # From disk, the search of MkDocs cannot start its worker; that is not ours.
    assert [fault for fault in faults if "search_index.js" not in fault] == []
