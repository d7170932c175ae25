"""Pages with the player in a real browser: from disk and from a static server, keys and fingers."""

from __future__ import annotations

import http.server
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from browser import MILLISECONDS
from packed_clips import clips_of, positions_of

import motionloom as ml
from motionloom.blending import register
from motionloom.motion_matching import MatchingSettings, matching_database
from motionloom.parametric.parametric_motion import parametrize
from motionloom.parametric.settings import ParametrizeSettings
from motionloom.plots import contact_sheet
from motionloom.plots.figures.top_view import write_top_view
from motionloom.plots.matching_coverage import write_coverage
from motionloom.plots.pages.aim_page import write_aim_page
from motionloom.plots.pages.html_pages import write_clip_page, write_player_page
from motionloom.plots.pages.player import Budget, packed_motion

AXE = Path(__file__).parents[2] / "studio" / "node_modules" / "axe-core" / "axe.min.js"
HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\' {{clips}}'
PLAYER = "document.querySelector('motionloom-player:not([mini])')"
_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A static server that prints nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def make_motion(path: Path) -> None:
    write_player_page(ml.demo.clip("walk"), path)


def make_sheet(path: Path) -> None:
    kinds = {"walk": "walk", "jog": "jog", "jump": "jump_up", "kick": "kick_side_high_right"}
    takes = {label: ml.demo.clip(name) for label, name in kinds.items()}
    clips = [(f"{label} {k}", takes[label], label) for k in range(15) for label in kinds]
    contact_sheet([*clips, (HOSTILE, ml.demo.clip("walk"), [HOSTILE])], path, title=HOSTILE)


def make_hundreds(path: Path) -> None:
    walk = ml.demo.clip("walk")
    contact_sheet(((f"walk {k}", walk, "walk") for k in range(600)), path)


def make_top(path: Path) -> None:
    walk = ml.demo.clip("walk")
    pair = [walk, walk.transform(shift=(0.0, 0.0, 0.8))]
    write_top_view([pair], path, room=(9.0, 7.0), radius=0.6)


def make_coverage(path: Path) -> None:
    clips = [ml.demo.clip(kind) for kind in ("walk", "walk_left")]
    write_coverage(matching_database(clips, MatchingSettings()).coverage(), path)


def make_aim(path: Path) -> None:
    kicks = [
        ml.demo.clip(f"kick_{side}_{height}_right")
        for side in ("front", "inside", "outside")
        for height in ("low", "mid", "high")
    ]
    kick = parametrize(register(kicks), "right_ankle@32", ParametrizeSettings(samples=60))
    write_aim_page(kick, path)


def make_song(path: Path) -> None:
    notes = [(0.1 * k, 0.2, 60 + k % 12 if k % 3 else 0, 0.8) for k in range(40)]
    write_player_page(ml.demo.clip("walk"), path, notes=notes)


def make_choice(path: Path) -> None:
    clips = [
        packed_motion(ml.demo.clip(kind), Budget(), name=kind, line=[(0, 0), (0, 3)])
        for kind in ("walk", "jog")
    ]
    write_clip_page(" ".join(clips), "two motions", path)


PAGES = {"aim": make_aim, "song": make_song, "choice": make_choice, "motion": make_motion,
         "sheet": make_sheet, "hundreds": make_hundreds, "top": make_top,
         "coverage": make_coverage}  # fmt: skip


@pytest.fixture(scope="module")
def served(folder):
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def window(folder, served, browser):
    """Opens pages; asserts that they ask for nothing and report no error."""
    opened = []

    def open_page(name: str, *, place: str = "file", **options):
        if not (folder / name).exists():
            PAGES[Path(name).stem](folder / name)
        context = browser.new_context(
            **{"viewport": {"width": 900, "height": 640}, "has_touch": True, **options}
        )
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        requests, faults = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        address = (folder / name).as_uri() if place == "file" else f"{served}/{name}"
        opened.append((context, address, requests, faults))
        page.goto(address)
        page.locator("motionloom-player[clip]").first.scroll_into_view_if_needed()
        page.wait_for_function(
            "() => document.querySelector('motionloom-player[clip]')?.duration > 0"
        )
        return page

    yield open_page
    for context, address, requests, faults in opened:
        context.close()
        assert [url for url in requests if not url.startswith(("blob:", "data:"))] == [address]
        assert faults == []


def drawn(page, selector: str = "motionloom-player") -> int:
    """Number of pixels in which the canvas of a player is not empty."""
    return page.evaluate(
        """(selector) => { const { canvas } = document.querySelector(selector);
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.filter((value, k) => k % 4 === 3 && value > 0).length; }""",
        selector,
    )


@pytest.mark.parametrize("place", ["file", "http"])
def test_a_page_plays_from_disk_and_from_a_server(window, folder, place):
    page = window("motion.html", place=place)
    page.wait_for_function(f"() => {PLAYER}.time > 0.2")
    assert drawn(page) > 10_000
    (clip,) = clips_of((folder / "motion.html").read_text(encoding="utf-8"))
    figure = page.evaluate(f"Array.from({PLAYER}.scene.figure.positions)")
    np.testing.assert_allclose(figure, positions_of(clip).ravel(), atol=1e-5)


def test_keys_play_step_turn_zoom_and_change_the_speed(window):
    page = window("motion.html")
    page.wait_for_function(f"() => {PLAYER}.playing")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.wait_for_function(f"() => !{PLAYER}.playing")
    before = page.evaluate(f"{PLAYER}.time")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(f"{PLAYER}.time") == pytest.approx(before + 1 / 30, abs=1e-6)
    page.keyboard.press("End")
    assert page.evaluate(f"{PLAYER}.time") == page.evaluate(f"{PLAYER}.duration")
    yaw = page.evaluate(f"{PLAYER}.scene.yaw")
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate(f"{PLAYER}.scene.yaw") != yaw
    page.keyboard.press("+")
    assert page.evaluate(f"{PLAYER}.scene.zoom") > 1.1
    page.keyboard.press("0")
    assert page.evaluate(f"[{PLAYER}.scene.zoom, {PLAYER}.scene.yaw]") == [1, yaw]
    page.keyboard.press("<")
    assert page.evaluate(f"{PLAYER}.speed") == 0.5
    names = []
    for _ in range(3):
        page.keyboard.press("Tab")
        names.append(page.evaluate(f"{PLAYER}.shadowRoot.activeElement.ariaLabel"))
    assert names == ["Play", "Time", "Speed ½×"]


def test_fingers_turn_zoom_and_scrub(window):
    page = window("motion.html")
    touch = page.context.new_cdp_session(page)

    def fingers(kind, *places):
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    yaw = page.evaluate(f"{PLAYER}.scene.yaw")
    fingers("touchStart", (300, 300))
    fingers("touchMove", (340, 300))
    fingers("touchMove", (400, 300))
    fingers("touchEnd")
    assert abs(page.evaluate(f"{PLAYER}.scene.yaw") - yaw) > 0.3
    fingers("touchStart", (300, 300), (400, 300))
    fingers("touchMove", (260, 300), (440, 300))
    fingers("touchMove", (200, 300), (500, 300))
    fingers("touchEnd")
    assert page.evaluate(f"{PLAYER}.scene.zoom") > 1.5
    box = page.locator("motionloom-player input").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(f"() => !{PLAYER}.playing")
    half = page.evaluate(f"{PLAYER}.time / {PLAYER}.duration")
    assert half == pytest.approx(0.5, abs=0.05)


def test_a_sheet_draws_visible_clips_filters_and_enlarges(window):
    page = window("sheet.html", place="http")
    page.wait_for_function("() => document.querySelectorAll('.clip')[3].firstChild.time > 0.3")
    assert page.evaluate("document.querySelector('h1').textContent") == HOSTILE
    sized = "[...document.querySelectorAll('.clip > *')].filter(e => e.canvas?.width > 0).length"
    assert 0 < page.evaluate(sized) < 40  # of 61
    page.keyboard.press("/")
    page.keyboard.type("jump 9")
    assert page.locator("#count").inner_text() == "1 of 61 clips"
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.locator("#labels button", has_text="jump 15").click()
    assert page.locator("#count").inner_text() == "15 of 61 clips"
    page.locator(".clip:not([hidden]) .open").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('player').duration > 0")
    page.wait_for_function("() => document.getElementById('player').time > 0.1")
    assert drawn(page, "#player") > 10_000
    assert page.evaluate("document.getElementById('large').ariaLabel") == "jump 0"
    page.keyboard.press("PageDown")
    page.wait_for_function("() => document.getElementById('large').ariaLabel === 'jump 1'")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.getElementById('large').open")
    assert page.evaluate("document.activeElement.className") == "open"


def test_a_sheet_of_hundreds_draws_a_screenful(window):
    page = window("hundreds.html")
    sized = "[...document.querySelectorAll('.clip > *')].filter(e => e.canvas?.width > 0).length"
    for _ in range(5):
        page.mouse.move(400, 400)
        page.mouse.wheel(0, 4000)
        page.evaluate(_FRAMES)
    page.wait_for_function(f"() => {sized} > 0")
    assert page.evaluate(sized) < 60  # pictures out of sight are released


def test_still_pictures_for_those_who_prefer_them(window):
    page = window("sheet.html", reduced_motion="reduce")
    page.wait_for_function("() => document.querySelector('.clip > *').time > 0")
    first = page.evaluate("document.querySelector('.clip > *').time")
    page.evaluate(_FRAMES)
    assert page.evaluate("document.querySelector('.clip > *').time") == first
    assert drawn(page) > 500


def test_dark_pages_have_light_figures(window):
    paper = {}
    for scheme in ("light", "dark"):
        page = window("motion.html", color_scheme=scheme)
        paper[scheme] = page.evaluate(f"getComputedStyle({PLAYER}).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 29)"}


_RING = f"""() => {{ const {{ scene, canvas }} = {PLAYER}, box = canvas.getBoundingClientRect();
    const [x, y] = scene.see(...scene.inSpace(scene.target)), share = box.width / canvas.width;
    return [box.left + x * share, box.top + y * share]; }}"""
_ANKLE = f"""() => {{ const {{ scene }} = {PLAYER}, {{ pose }} = scene, place = scene.reached.place;
    const far = (p) => Math.hypot(...place.map((value, c) => value - pose[3 * p + c]));
    return Math.min(...Array.from({{ length: pose.length / 3 }}, (_, p) => far(p))); }}"""


@pytest.mark.parametrize("place", ["file", "http"])
def test_a_kick_is_aimed_by_dragging_its_target(window, place):
    page = window("aim.html", place=place)
    before = page.evaluate(f"{PLAYER}.scene.target")
    x, y = page.evaluate(_RING)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 10, y - 60, steps=4)
    assert not page.evaluate(f"{PLAYER}.playing")  # it shows the moment of the kick
    target = page.evaluate(f"{PLAYER}.scene.target")
    assert target[1] > before[1] + 0.1
    assert page.evaluate(_ANKLE) < 0.005  # the ankle is where the page says
    ring = page.evaluate(_RING)
    assert np.hypot(ring[0] - x + 10, ring[1] - y + 60) < 3  # the ring follows the mouse
    page.mouse.up()
    page.wait_for_function(f"() => {PLAYER}.playing")
    yaw = page.evaluate(f"{PLAYER}.scene.yaw")
    page.mouse.move(120, 160)
    page.mouse.down()
    page.mouse.move(220, 160)
    page.mouse.up()
    assert page.evaluate(f"{PLAYER}.scene.yaw") != yaw  # elsewhere, dragging turns the view
    assert page.evaluate(f"{PLAYER}.scene.target") == target


def test_a_kick_is_aimed_with_a_finger_and_with_keys(window):
    page = window("aim.html")
    x, y = page.evaluate(_RING)
    before = page.evaluate(f"{PLAYER}.scene.target")
    touch = page.context.new_cdp_session(page)
    for kind, dy in (("touchStart", 0), ("touchMove", -20), ("touchMove", -50)):
        points = [{"x": x, "y": y + dy, "id": 1}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(f"high => {PLAYER}.scene.target[1] > high + 0.08", arg=before[1])
    height = page.get_by_label("y", exact=True)
    height.focus()
    page.keyboard.press("Home")
    low = page.evaluate(f"{PLAYER}.scene.low[1]")
    assert page.evaluate(f"{PLAYER}.scene.target[1]") == pytest.approx(low)
    assert page.evaluate(_ANKLE) < 0.005
    page.get_by_label("x", exact=True).press("End")
    page.get_by_label("z", exact=True).press("End")
    note = page.locator("motionloom-player").get_by_text("Out of reach").inner_text()
    away = page.evaluate(f"{PLAYER}.scene.reached.distance")
    assert note == f"Out of reach: the motion ends {100 * away:.0f} cm from the target."


def test_notes_sound_and_lead_the_picture(window):
    page = window("song.html")
    assert not page.evaluate(f"{PLAYER}.playing")  # sound waits for the reader
    page.evaluate("""() => { window.peak = 0; const { createGain } = AudioContext.prototype;
        AudioContext.prototype.createGain = function () { const gain = createGain.call(this);
            if (window.meter) return gain;
            window.meter = this.createAnalyser(); gain.connect(window.meter);
            setInterval(() => { const heard = new Float32Array(2048);
                window.meter.getFloatTimeDomainData(heard);
                window.peak = Math.max(window.peak, ...heard.map(Math.abs)); }, 20);
            return gain; }; }""")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => window.peak > 0.02")
    page.wait_for_function(f"() => {PLAYER}.time > 0.4")
    assert abs(page.evaluate(f"{PLAYER}.time - {PLAYER}.sound.time")) < 0.25
    page.get_by_role("button", name="Pause").click()
    assert page.evaluate(f"{PLAYER}.sound.time") is None


def test_a_menu_chooses_one_of_several_motions(window):
    page = window("choice.html")
    page.wait_for_function(f"() => {PLAYER}.choice.length === 2")
    page.get_by_label("Motion", exact=True).select_option("jog")
    page.wait_for_function(f"() => {PLAYER}.header.name === 'jog' && {PLAYER}.time > 0.1")
    assert page.evaluate(f"{PLAYER}.scene.figure.line") == [[0, 0], [0, 3]]


def test_a_crowd_moves_as_seen_from_above(window):
    page = window("top.html", place="http")
    page.wait_for_function(f"() => {PLAYER}.time > 0.2")
    assert drawn(page) > 500
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert not page.evaluate(f"{PLAYER}.playing")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["motion", "sheet", "top", "coverage", "aim", "choice"])
def test_axe_finds_nothing_serious(window, name, scheme):
    page = window(f"{name}.html", color_scheme=scheme)
    if name == "sheet":
        _axe(page)
        page.locator(".open").first.click()
        page.wait_for_function("() => document.getElementById('player').duration > 0")
    _axe(page)


def _axe(page):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (npm ci in studio/)")
    report = page.evaluate(f"() => {{ {AXE.read_text(encoding='utf-8')}; return axe.run(); }}")
    broken = {
        rule["id"]: [node["html"][:120] for node in rule["nodes"]]
        for rule in report["violations"]
        if rule["impact"] in ("moderate", "serious", "critical")
    }
    assert broken == {}


def test_sound_leads_the_picture(window, folder):
    from motionloom.plots.pages.player import Budget, packed_motion, page_html, player_element

    silence = _silent_wave(3.0)
    clip = packed_motion(replace(ml.demo.clip("walk"), name="dance"), Budget())
    body = player_element(clip, f'<audio src="data:audio/wav;base64,{silence}"></audio>')
    page_text = page_html("dance", f"<main><h1>dance</h1>{body}</main>", "")
    page_text = page_text.replace("default-src 'none'", "default-src 'none'; media-src data:")
    (folder / "dance.html").write_text(page_text, encoding="utf-8")
    page = window("dance.html")
    assert not page.evaluate(f"{PLAYER}.playing")  # sound waits for the user
    page.evaluate(f"{PLAYER}.play()")
    page.wait_for_function(f"() => {PLAYER}.time > 0.3")
    apart = f"Math.abs({PLAYER}.time - document.querySelector('audio').currentTime)"
    assert page.evaluate(apart) < 0.25
    page.evaluate(f"{PLAYER}.pause()")
    page.wait_for_function("() => document.querySelector('audio').paused")


def _silent_wave(seconds: float) -> str:
    import base64
    import io
    import wave

    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(8000)
        file.writeframes(b"\x80" * int(8000 * seconds))
    return base64.b64encode(made.getvalue()).decode()
