"""Exported pages in a real browser: from disk and from a static server, with keys and fingers."""

from __future__ import annotations

import http.server
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from browser import MILLISECONDS

import motionloom as ml
from motionloom.motion_matching import MatchingSettings, matching_database

AXE = Path(__file__).parents[2] / "studio" / "node_modules" / "axe-core" / "axe.min.js"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A static server that prints nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    clips = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
    matching_database(clips, MatchingSettings()).export(folder, "web", mesh="low")
    return folder


@pytest.fixture(scope="module", params=["file", "http"])
def address(request, exported):
    if request.param == "file":
        yield (exported / "index.html").as_uri()
        return
    handler = partial(Quiet, directory=str(exported))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()


@pytest.fixture
def opened(address, browser):
    context = browser.new_context(viewport={"width": 640, "height": 420}, has_touch=True)
    page = context.new_page()
    page.set_default_timeout(MILLISECONDS)
    requests, faults = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    yield page
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert [url for url in requests if not url.startswith(("blob:", "data:"))] == [address]
    assert faults == []
    context.close()


def place(page):
    return np.array(page.evaluate("motionloom.player.position"))[:2]


_STANDS = "() => motionloom.player.gait === 'stand'"
_GONE = "far => Math.hypot(...motionloom.player.position.slice(0, 2)) > far"


def test_keys_move_the_character(opened):
    assert np.abs(place(opened)).max() < 0.05
    opened.keyboard.down("KeyW")
    opened.wait_for_function(_GONE, arg=1.0)
    opened.keyboard.up("KeyW")
    assert place(opened)[1] > 0.8  # away from the camera
    opened.wait_for_function(_STANDS)


def test_a_finger_moves_the_character(opened):
    box = opened.locator("#pad").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 8
    touch = opened.context.new_cdp_session(opened)
    points = [{"x": x, "y": y, "id": 1}]
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points})
    opened.wait_for_function(_GONE, arg=0.7)
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    opened.wait_for_function(_STANDS)


def test_axe_finds_nothing_serious(opened):
    report = opened.evaluate(f"() => {{ {AXE.read_text(encoding='utf-8')}; return axe.run(); }}")
    serious = [
        rule["id"] for rule in report["violations"] if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []
