"""Panels are resized, the stage is split, cameras follow where the character faces."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from browser import as_at_first, drawn_joints, joint_pixels, open_take, settled, stage_pixels
from PIL import Image, ImageSequence

expect = pytest.importorskip("playwright.sync_api").expect

KICK, WALK = "kick_front_high_right_p0", "walk_p0"


@pytest.fixture(scope="module")
def window(shared_windows, studio_address):
    return shared_windows(studio_address, width=1000, height=640)


@pytest.fixture
def page(window):
    return as_at_first(window)


def separator(page, name: str):
    return page.get_by_role("separator", name=name)


def width(page) -> float:
    return page.locator("loom-app aside").bounding_box()["width"]


def drag(page, handle, dx: float, dy: float) -> None:
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y + dy / 2)
    page.mouse.move(x + dx, y + dy)
    page.mouse.up()
    settled(page)


def test_borders_are_dragged_remembered_and_reset(page):
    border = separator(page, "Width of the panel")
    first = width(page)
    drag(page, border, 90, 0)
    assert width(page) == pytest.approx(first + 90, abs=2)
    page.wait_for_function(
        "size => studio.stage.canvas.clientWidth === size", arg=1000 - round(first) - 90
    )
    expect(border).to_have_attribute("aria-valuenow", str(round(first) + 90))
    page.reload()
    page.wait_for_function("() => window.studio?.library?.name")
    settled(page)
    assert width(page) == pytest.approx(first + 90, abs=2)
    border.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    assert width(page) == pytest.approx(first + 90 - 16 - 96, abs=2)
    page.keyboard.press("Home")
    assert width(page) == 320
    page.keyboard.press("End")
    assert width(page) == 1000 - 320
    border.dblclick()
    assert width(page) == pytest.approx(first, abs=2)


def test_the_timeline_grows_with_its_strips(page):
    open_take(page, WALK)
    heights = """() => { const line = document.querySelector('loom-app').renderRoot
        .querySelector('loom-timeline').renderRoot;
        return line.querySelector('#strips').clientHeight; }"""
    before = page.evaluate(heights)
    border = separator(page, "Height of the timeline")
    drag(page, border, 0, -80)
    assert page.evaluate(heights) == pytest.approx(before + 80, abs=3)
    border.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"before => ({heights})() === before", arg=before)


def test_a_phone_has_no_borders_to_drag(windows, studio_address):
    page = windows(studio_address, width=390, height=700)
    expect(separator(page, "Width of the panel")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def seen_from(page) -> np.ndarray:
    """Direction from the character to the camera, against where it faces: forwards, left, up."""
    return np.array(
        page.evaluate("""() => {
        const { camera, controls } = studio.stage;
        const { points, motion: { roles } } = studio.lead;
        const at = role => [0, 1, 2].map(k => points[3 * roles[role] + k]);
        const [left, right] = [at("left_hip"), at("right_hip")];
        const across = [left[0] - right[0], left[2] - right[2]];
        const long = Math.hypot(...across);
        const side = across.map(value => value / long), ahead = [-side[1], side[0]];
        const from = camera.position.clone().sub(controls.target).normalize();
        return [from.x * ahead[0] + from.z * ahead[1], from.x * side[0] + from.z * side[1],
            from.y]; }""")
    )


def test_views_are_those_of_the_character_or_of_the_world(page):
    open_take(page, "walk_left_p0")
    page.evaluate("() => studio.stage.freeze(studio.lead.end - 0.1)")  # it faces elsewhere by now
    for key, forwards, left in [
        ("1", 1, 0),
        ("Control+1", -1, 0),
        ("3", 0, -1),
        ("Control+3", 0, 1),
    ]:
        page.keyboard.press(key)
        direction = seen_from(page)
        assert direction[:2] == pytest.approx([forwards, left], abs=0.35), (
            key
        )  # shoulders count too
        assert abs(direction[2]) < 0.1
    page.keyboard.press("7")
    assert seen_from(page)[2] > 0.99
    page.keyboard.press("w")
    page.keyboard.press("1")
    away = page.evaluate(
        "() => studio.stage.camera.position.clone().sub(studio.stage.controls.target).toArray()"
    )
    assert abs(away[0]) < 1e-3 and away[2] > 1.0  # along +Z, whatever it faces
    page.keyboard.press("w")


def test_the_camera_stays_behind_a_character_that_turns(page):
    open_take(page, "walk_left_p0")
    page.evaluate("() => studio.stage.freeze(0)")
    page.keyboard.press("0")
    page.evaluate("() => studio.stage.freeze(0)")
    assert seen_from(page)[0] < -0.9
    page.evaluate("() => { const { stage, lead } = studio;"
                  " for (let t = 0; t < lead.end; t += 0.05) stage.freeze(t); }")  # fmt: skip
    assert seen_from(page)[0] < -0.9
    page.keyboard.press("0")
    assert page.evaluate("() => studio.stage.display.turn") is False


def test_two_views_show_the_character_from_two_sides(page):
    open_take(page, KICK)
    page.evaluate("() => studio.stage.set({ path: false })")
    page.keyboard.press("1")
    page.keyboard.press("v")
    page.evaluate("() => studio.stage.freeze(0.8)")
    assert page.evaluate("() => studio.stage.panes.length") == 2
    assert drawn_joints(page).mean() > 0.9  # in the first view
    shown = stage_pixels(page).astype(int)
    page.evaluate("() => { studio.lead.visible = false; studio.stage.draw(); }")
    changed = np.abs(shown - stage_pixels(page)).sum(axis=2) > 60
    page.evaluate("() => { studio.lead.visible = true; }")
    half = changed.shape[1] // 2
    left, right = changed[:, :half], changed[:, half:]
    assert left.sum() > 200 and right.sum() > 200
    columns = [np.ptp(np.flatnonzero(each.any(axis=0))) for each in (left, right)]
    assert columns[1] > 1.3 * columns[0]  # a kick to the front is longer from the side
    assert joint_pixels(page)[:, 0].max() < half
    page.evaluate("() => studio.stage.set({ split: 'one' })")


def test_each_of_two_takes_is_shown_by_itself(page):
    page.evaluate("([a, b]) => studio.open(a, [b])", [WALK, KICK])
    settled(page)
    page.evaluate(
        "() => { studio.stage.set({ path: false, split: 'each' }); studio.stage.freeze(0.5); }"
    )
    assert page.evaluate("() => studio.stage.panes.map(one => one.title)") == [WALK, KICK]
    near = page.evaluate("studio.stage.rig.distance")
    page.evaluate("""() => { const { stage } = studio; stage.characters[1].group.position.x += 8;
        stage.freeze(0.5); stage.frame(); }""")
    assert page.evaluate("studio.stage.rig.distance") == pytest.approx(near, rel=0.05)
    page.evaluate("studio.stage.set({ split: 'one' })")
    assert page.evaluate("studio.stage.rig.distance") > 1.5 * near  # both in one picture
    page.evaluate("studio.stage.set({ split: 'each' })")
    page.evaluate("""() => { const { stage } = studio; stage.characters[1].group.position.x -= 8;
        stage.freeze(0.5); stage.frame(); }""")
    page.evaluate("() => studio.stage.set({ follow: false })")  # the camera stays where it is
    both = stage_pixels(page).astype(int)
    half = both.shape[1] // 2
    hide = """([one, seen]) => {
        studio.stage.characters[one].visible = seen; studio.stage.draw(); }"""
    for character, (here, there) in enumerate([("left", "right"), ("right", "left")]):
        page.evaluate(hide, [character, False])
        gone = np.abs(stage_pixels(page) - both).sum(axis=-1) > 30
        page.evaluate(hide, [character, True])
        drawn = {"left": gone[:, :half].sum(), "right": gone[:, half:].sum()}
        assert drawn[here] > 200 and drawn[there] < 20, (character, drawn)
    page.evaluate("() => studio.stage.set({ follow: true })")
    page.evaluate("() => studio.stage.set({ split: 'one' })")


def test_the_camera_stays_if_it_already_sees_the_characters(page):
    open_take(page, WALK)
    page.evaluate("() => { studio.stage.freeze(0); studio.stage.view('right'); }")
    before = page.evaluate("studio.stage.rig.distance")
    open_take(page, KICK)
    assert page.evaluate("studio.stage.rig.touched")
    assert page.evaluate("studio.stage.rig.distance") == pytest.approx(before)


def downloaded(page, entry: str) -> bytes:
    page.locator("loom-subject-bar summary", has_text="Download").click()
    with page.expect_download() as caught:
        page.get_by_role("button", name=entry).click()
    return Path(caught.value.path()).read_bytes()


def test_films_of_the_stage_have_every_frame(page):
    """Drawn one by one, however slow: pictures are counted, not seconds."""
    open_take(page, KICK)
    page.evaluate("name => studio.select({ motion: name, start: 10, end: 16 })", KICK)
    page.evaluate("() => { studio.stage.set({ path: false }); studio.stage.clock.pause(); }")
    at = page.evaluate("() => studio.stage.clock.time")
    gif = Image.open(io.BytesIO(downloaded(page, "small (GIF)")))
    assert gif.format == "GIF" and gif.n_frames == 4 and gif.info["duration"] == 50
    pictures = [np.asarray(each.convert("RGB")).astype(int) for each in ImageSequence.Iterator(gif)]
    assert np.abs(pictures[3] - pictures[0]).max() > 60  # it moves
    film = downloaded(page, "every frame (MP4)")
    assert film[4:8] == b"ftyp"
    samples = film.index(b"stsz") + 4  # version and flags, common size, number of pictures
    assert int.from_bytes(film[samples + 8 : samples + 12], "big") == 6
    assert page.evaluate("() => studio.stage.clock.time") == pytest.approx(at)
    assert not page.evaluate("() => studio.stage.clock.playing || studio.stage.filming")
