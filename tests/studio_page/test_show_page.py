"""Show it: the whole job with a fake camera that plays a film, and with films and faults."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest
from browser import FLAGS, MILLISECONDS, chromium, go, settled
from studio_takes import StudioServer

import motionloom as ml

pytest.importorskip("av", reason="the extra video is not installed")
if shutil.which("ffmpeg") is None:
    pytest.skip("ffmpeg is not installed", allow_module_level=True)

from benchmarks.films import Shot, write_film

expect = pytest.importorskip("playwright.sync_api").expect

TAKES = ("walk", "kick_front_mid_right", "jump_up", "reach_front_high_left", "sit_stand")
SLOW = 4  # the camera's film and the takes with its name, for machines that estimate few poses
SHOT = Shot(yaw=0.6, fps=25.0, size=(320, 240), shutter=0.0, fill=0.6, detail="low")
VIEW = "document.querySelector('loom-app').renderRoot.querySelector('loom-show-view')"
DROP = """([name, data]) => {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    const given = new DataTransfer();
    given.items.add(new File([bytes], name));
    const app = document.querySelector("loom-app").renderRoot;
    (app.querySelector("loom-show-view") ?? app.querySelector("main")).dispatchEvent(
        new DragEvent("drop", { dataTransfer: given, bubbles: true, composed: true })); }"""


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """A film of a kick, as WebM to drop, and as MJPEG for the fake camera."""
    folder = tmp_path_factory.mktemp("films")
    kick = ml.demo.clip("kick_front_mid_right").resample(25.0)[:30]
    write_film(kick, SHOT, folder / "kick.mp4")
    run = ["ffmpeg", "-v", "error", "-y", "-i", str(folder / "kick.mp4")]
    subprocess.run([*run, "-c:v", "libvpx", "-b:v", "1M", str(folder / "kick.webm")], check=True)
    slow = ["-filter:v", f"setpts={SLOW}*PTS", "-r", "25", "-c:v", "mjpeg", "-q:v", "3"]
    subprocess.run([*run, *slow, "-pix_fmt", "yuvj420p", str(folder / "kick.mjpeg")], check=True)
    return folder


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("shown") / "takes.loom"
    lib = ml.Library.create(path)
    for name in TAKES:
        clip = ml.demo.clip(name)
        lib.add_motion(clip, name=name)
        lib.add_motion(replace(clip, fps=clip.fps / SLOW), name=f"slow_{name}")
    lib.close()
    with StudioServer(path) as server:
        yield server.address


@pytest.fixture
def opened(films, address):
    """Opens the studio in a browser with a fake camera or none, and records all requests."""
    from playwright.sync_api import sync_playwright

    expect.set_options(timeout=MILLISECONDS)
    with sync_playwright() as playwright:
        browsers = []

        def open_page(*flags: str, camera: bool = True):
            given = [*FLAGS, *flags]
            if camera:
                given += [
                    "--use-fake-device-for-media-stream",
                    f"--use-file-for-fake-video-capture={films / 'kick.mjpeg'}",
                ]
            browser = playwright.chromium.launch(
                executable_path=chromium(), args=given, timeout=MILLISECONDS
            )
            browsers.append(browser)
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            context.set_default_timeout(MILLISECONDS)
            context.add_init_script('localStorage.setItem("motionloom.tour", "seen");')
            page = context.new_page()
            page.requested, page.problems = [], []
            page.on("request", lambda request: page.requested.append(request.url))
            page.on("pageerror", lambda error: page.problems.append(str(error)))
            page.goto(address)
            page.wait_for_function("() => window.studio && studio.live.connected")
            return settled(page)

        yield open_page
        for browser in browsers:
            browser.close()


def to_view(page):
    go(page, "show")
    view = page.locator("loom-show-view")
    expect(view.locator("#camera")).to_be_visible()
    return view


def dropped(page, path, name=None) -> None:
    import base64

    page.evaluate(DROP, [name or path.name, base64.b64encode(path.read_bytes()).decode()])


def problem(view):
    line = view.locator(".problem")
    expect(line).to_be_visible()
    assert "\n" not in line.inner_text()
    return line.inner_text()


def test_an_action_in_front_of_the_camera_is_found(opened, address):
    page = opened("--use-fake-ui-for-media-stream")
    assert not any("/pose/" in url or "show-view" in url for url in page.requested)
    view = to_view(page)
    assert not any("/pose/" in url for url in page.requested)  # nor by the view alone
    view.locator("#camera").click()
    view.locator("#act").click(timeout=MILLISECONDS)
    view.locator("#stop").wait_for()
    page.wait_for_function(f"() => {VIEW}.acted.filter((one) => one.pose).length > 12")
    assert page.evaluate(
        f"""() => {{ const canvas = {VIEW}.canvas;
        return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
            .data.some((value) => value > 0); }}"""
    )  # the skeleton over the picture
    page.wait_for_function(f"() => {VIEW}.acted.at(-1).time > 1.2 * {SLOW}")  # the film repeats
    view.locator("#stop").click()
    first = view.locator("li").first
    expect(first).to_have_attribute("data-motion", "slow_kick_front_mid_right")
    page.wait_for_function("() => studio.take === 'slow_kick_front_mid_right'")
    whole = page.evaluate(f"{VIEW}.found")
    end = float(view.locator("#end").input_value())
    view.locator("#end").fill(str(end - 1.0))
    page.wait_for_function(f"frames => {VIEW}.found.frames < frames - 20", arg=whole["frames"])
    names = page.evaluate("studio.library.motions.map((one) => one.name)")
    assert len(names) == 2 * len(TAKES)  # nothing was stored
    view.locator("#name").fill("mine")
    view.locator("#name").press("Tab")
    view.locator("#keep").click()
    page.wait_for_function("() => studio.take === 'mine'")
    view.locator("#close").click()
    assert page.evaluate(f"{VIEW}.camera === null")
    assert all(url.startswith((address, "blob:", "data:")) for url in page.requested)
    assert not page.problems


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_dropped_film_is_found(opened, films, elsewhere):
    page = opened(camera=False)
    view = page.locator("loom-show-view") if elsewhere else to_view(page)
    dropped(page, films / "kick.webm")
    expect(view.locator("li").first).to_have_attribute("data-motion", "kick_front_mid_right")
    assert not page.problems


def test_a_page_without_a_camera_says_so(opened):
    nothing = "--use-fake-device-for-media-stream=device-count=0"
    page = opened("--use-fake-ui-for-media-stream", nothing, camera=False)
    view = to_view(page)
    view.locator("#camera").click()
    assert "There is no camera" in problem(view)
    expect(view.locator("#camera")).to_be_visible()


def test_a_page_without_permission_says_so(opened):
    page = opened("--deny-permission-prompts")
    view = to_view(page)
    view.locator("#camera").click()
    assert "not allowed to use the camera" in problem(view)


def test_films_without_a_person_or_without_an_end_are_refused_in_one_line(opened, films, tmp_path):
    page = opened(camera=False)
    view = to_view(page)
    gray = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i"]
    short = [*gray, "color=gray:size=160x120:rate=5:duration=1", "-c:v", "libvpx"]
    subprocess.run([*short, str(tmp_path / "gray.webm")], check=True)
    long = [*gray, "color=gray:size=64x48:rate=1/60:duration=7200", "-c:v", "libvpx"]
    subprocess.run([*long, str(tmp_path / "long.webm")], check=True)
    (tmp_path / "empty.webm").write_bytes(b"")
    (tmp_path / "broken.webm").write_bytes((films / "kick.webm").read_bytes()[:300])
    for name, said in (
        ("empty.webm", "cannot decode"),
        ("broken.webm", "cannot decode"),
        ("long.webm", "120 minutes long; at most 60 s"),
        ("gray.webm", "No person was found"),
    ):
        dropped(page, tmp_path / name)
        line = view.locator(".problem", has_text=said)
        expect(line).to_be_visible()
        expect(view.locator("#camera")).to_be_visible()
