"""The controller in the page: built from takes, steered by keys, gamepad and pointer, kept."""

from __future__ import annotations

import shutil

import pytest
from browser import settled
from studio_takes import StudioServer

import motionloom as ml

expect = pytest.importorskip("playwright.sync_api").expect

VIEW = "document.querySelector('loom-app').renderRoot.querySelector('loom-play-view')"
PILOT = f"{VIEW}.pilot"
TAKES = "walk_p0,walk_left_p0,walk_right_p0"

# Browsers have no simulated gamepads: the page asks this one instead.
_PAD = """() => { window.pad = { connected: true, axes: [0, 0, 0, 0],
    buttons: Array.from({ length: 17 }, () => ({ value: 0, pressed: false })) };
    navigator.getGamepads = () => [window.pad]; }"""


@pytest.fixture
def page(windows, studio_library, tmp_path):
    with StudioServer(shutil.copytree(studio_library, tmp_path / "own.loom")) as server:
        # A small window: software draws it often enough to steer in.
        page = windows(f"{server.address}#/play?only={TAKES}", width=960, height=420)
        page.locator("loom-play-view #play").click()
        page.wait_for_function(f"() => {PILOT}?.moments.length > 0 && studio.stage.clock.playing")
        yield page


def moves(page, direction: str) -> None:
    """Wait until the character travels in a direction, as a condition on its velocity [x, z]."""
    page.wait_for_function(
        f"() => {{ const [x, z] = {PILOT}.shown.state.velocity; return {direction}; }}"
    )


def test_the_keyboard_steers_and_the_recording_is_saved(page, tmp_path):
    # The camera looks along some direction; W is that one.
    page.evaluate(f"{VIEW}.behind = false")
    yaw = page.evaluate(f"{PILOT}.yaw")
    page.keyboard.down("w")
    moves(page, f"x * Math.sin({yaw}) + z * Math.cos({yaw}) > 0.6")
    page.wait_for_function(f"() => {PILOT}.latency !== null")
    page.keyboard.down("ArrowRight")
    moves(page, f"-x * Math.cos({yaw}) + z * Math.sin({yaw}) > 0.3")
    page.keyboard.up("w")
    page.keyboard.up("ArrowRight")
    moves(page, "Math.hypot(x, z) < 0.25")

    assert (
        page.evaluate("studio.stage.characters[0].spec.title") == "controller"
    )  # not a frame step
    expect(page.locator("loom-play-view #matched")).to_contain_text("frame")
    expect(page.locator("loom-play-view #latency")).to_contain_text("ms from key")
    assert page.evaluate(f"{VIEW}.renderRoot.querySelectorAll('#cost .going').length") == 1

    bar = page.locator("loom-subject-bar")
    bar.locator("#keep").click()
    bar.locator("form input").fill("steered")
    page.keyboard.press("Enter")
    expect(bar).to_contain_text("saved as steered")
    with ml.Library(tmp_path / "own.loom") as library:
        kept = library["steered"]
    assert len(kept) > 30 and kept.fps == 30.0


def test_a_gamepad_steers_and_turns_the_camera(page):
    page.evaluate(_PAD)
    page.evaluate(f"{VIEW}.behind = false")
    yaw = page.evaluate(f"{PILOT}.yaw")
    page.evaluate("window.pad.axes = [0, -1, 0, 0]")  # away from the camera
    moves(page, f"x * Math.sin({yaw}) + z * Math.cos({yaw}) > 0.6")
    page.evaluate("window.pad.axes = [0, 0, 1, 0]")
    page.wait_for_function(f"yaw => Math.abs({PILOT}.yaw - yaw) > 0.3", arg=yaw)
    page.evaluate("window.pad.axes = [0, 0, 0, 0]")
    moves(page, "Math.hypot(x, z) < 0.25")


def test_the_camera_comes_behind_and_the_marks_go_with_the_character(page):
    page.keyboard.down("d")  # as the camera comes behind, it walks on a circle
    page.wait_for_function(
        f"""() => {{ const {{ place }} = {PILOT}.shown.state;
        const off = studio.stage.camera.position.clone().sub(studio.stage.controls.target);
        const cos = off.x * Math.sin(place[2]) + off.z * Math.cos(place[2]);
        return {PILOT}.shown.state.jumps >= 0 && cos / Math.hypot(off.x, off.z) < 0.3
            && Math.hypot(...{PILOT}.shown.state.velocity) > 0.5; }}"""
    )
    page.keyboard.up("d")
    arrows = page.evaluate(f"{PILOT}.marks.points.length")
    assert arrows == 3
    page.locator("loom-play-view #play").click()  # stop
    page.wait_for_function(f"() => {PILOT} === null")
    assert not page.evaluate("studio.stage.clock.playing")
    assert page.evaluate("studio.subject.title") == "played by the controller"


def test_it_walks_to_the_pointer_and_gait_and_strafe_are_switched(page):
    page.locator("loom-play-view #follow").check()
    page.locator("loom-play-view #strafe").check()
    page.locator("loom-play-view #gait").select_option("walk")
    page.wait_for_function(f"() => {PILOT}.sent.strafe && {PILOT}.sent.gait === 'walk'")
    box = page.locator("#stage canvas").first.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.45 * box["height"])
    page.wait_for_function(f"() => {PILOT}.target !== null")
    page.wait_for_function(
        f"""() => {{ const {{ place, velocity }} = {PILOT}.shown.state, {{ target }} = {PILOT};
        const way = [target[0] - place[0], target[1] - place[1]], far = Math.hypot(...way);
        return (way[0] * velocity[0] + way[1] * velocity[1]) / far > 0.4; }}"""
    )


def test_takes_in_which_nobody_travels_are_refused_with_the_reason(page):
    picker = page.locator("loom-play-view loom-take-picker")
    if picker.locator("#none").count():
        picker.locator("#none").click()
    picker.locator("#choose").click()
    picker.locator("#find").fill("kick front mid right")
    picker.locator("#found").select_option("kick_front_mid_right_p0")
    picker.locator("#found").press("Enter")
    expect(picker.locator(".chip")).to_have_text("kick_front_mid_right_p0×")
    page.locator("loom-play-view #use-chosen").click()
    expect(page.locator(".notice")).to_contain_text("takes that walk or run")


def test_the_coverage_report_opens_in_a_window(page):
    page.locator("loom-play-view #play").click()
    page.locator("loom-play-view .expert summary").click()
    page.locator("loom-play-view #coverage").click()
    link = page.locator("loom-play-view #report")
    expect(link).to_be_visible()
    with page.context.expect_page() as opened:
        link.click()
    expect(opened.value.locator("img").first).to_be_visible()
    settled(page)
