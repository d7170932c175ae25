"""The timeline: scrubbed, selected and zoomed with a real mouse."""

from __future__ import annotations

import pytest
from browser import as_at_first, in_address, open_take, wheel

expect = pytest.importorskip("playwright.sync_api").expect

GUTTER = 58  # pixels of names before the strips begin


@pytest.fixture(scope="module")
def window(shared_windows, studio_address):
    return shared_windows(studio_address, width=1000, height=640)  # fewer pixels to draw


@pytest.fixture
def page(window):
    page = as_at_first(window)
    open_take(page, "dance_groove_p0")
    page.evaluate("() => studio.stage.freeze(0)")
    return page


def place(page, seconds: float, row: float) -> tuple[float, float]:
    """Where on the page a time of the whole take lies, `row` pixels down the strips."""
    box = page.locator("loom-timeline #head").bounding_box()
    end = page.evaluate("() => studio.stage.clock.end")
    x = box["x"] + GUTTER + seconds / end * (box["width"] - GUTTER)
    return x, box["y"] + row


def drag(page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, end[1])
    page.mouse.move(*end)
    page.mouse.up()


def selection(page) -> list[int]:
    selected = page.evaluate("() => studio.selection")
    assert selected["motion"] == "dance_groove_p0"
    return [selected["start"], selected["end"]]


def test_the_ruler_scrubs(page):
    drag(page, place(page, 1.0, 8), place(page, 7.0, 8))
    assert page.evaluate("() => studio.stage.clock.time") == pytest.approx(7.0, abs=0.05)
    assert page.evaluate("() => studio.selection") is None
    page.evaluate("() => studio.stage.draw()")
    assert page.evaluate("() => studio.lead.frame") == pytest.approx(210, abs=2)


def test_a_range_is_selected_adjusted_copied_and_cleared(page):
    drag(page, place(page, 4.0, 60), place(page, 6.0, 60))
    assert selection(page) == pytest.approx([120, 180], abs=1)
    start, end = selection(page)
    expect(page.locator("#segment")).to_have_text(f"dance_groove_p0:{start}-{end}")
    in_address(page, f"range={start}-{end}")
    drag(page, place(page, end / 30, 60), place(page, 8.0, 60))  # its right handle
    assert selection(page) == pytest.approx([start, 240], abs=1)
    drag(page, place(page, start / 30, 60), place(page, 5.0, 60))  # its left handle
    assert selection(page) == pytest.approx([150, 240], abs=1)
    page.mouse.dblclick(*place(page, 12.0, 60))
    assert page.evaluate("() => studio.selection") is None


def test_dragging_backwards_selects_too(page):
    drag(page, place(page, 9.0, 40), place(page, 3.0, 40))
    assert selection(page) == pytest.approx([90, 270], abs=1)


def test_a_click_on_the_strips_goes_there(page):
    page.mouse.click(*place(page, 5.0, 60))
    assert page.evaluate("() => studio.stage.clock.time") == pytest.approx(5.0, abs=0.05)
    assert page.evaluate("() => studio.selection") is None


def test_keys_mark_in_and_out(page):
    for frame, key in ((60, "i"), (99, "o")):
        page.evaluate("time => studio.stage.freeze(time)", frame / 30)
        page.keyboard.press(key)
    assert selection(page) == [60, 100]
    page.keyboard.press("Escape")
    assert page.evaluate("() => studio.selection") is None


def test_a_selected_range_is_repeated(page):
    page.evaluate("() => studio.select({ motion: 'dance_groove_p0', start: 60, end: 66 })")
    page.evaluate("() => { studio.stage.clock.seek(2.0); studio.stage.clock.play(); }")
    times = page.evaluate("""() => Array.from({ length: 40 }, () => {
        studio.stage.clock.advance(0.031); return studio.stage.clock.time; })""")
    assert all(2.0 <= time < 2.2 for time in times)
    assert len({round(time, 3) for time in times}) > 20


def test_the_wheel_zooms_around_the_mouse(page):
    x, y = place(page, 10.0, 60)
    page.mouse.move(x, y)
    wheel(page, -300, times=5)
    expect(page.get_by_role("button", name="Whole")).to_be_visible()
    page.mouse.click(x, y)
    assert page.evaluate("() => studio.stage.clock.time") == pytest.approx(10.0, abs=0.05)
    page.mouse.click(x + 100, y)  # nearer than it was: the strips are stretched
    near = page.evaluate("() => studio.stage.clock.time") - 10.0
    page.get_by_role("button", name="Whole").click()
    page.mouse.click(x + 100, y)
    far = page.evaluate("() => studio.stage.clock.time") - 10.0
    assert 0 < near < far / 3


def test_feet_speed_and_beats_are_drawn(page):
    ink = """color => {
        const canvas = document.querySelector('loom-app').renderRoot.querySelector('loom-timeline')
            .renderRoot.querySelector('#strips');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let k = 0; k < data.length; k += 4)
            count += color.every((value, part) => Math.abs(data[k + part] - value) < 12) ? 1 : 0;
        return count; }"""
    blue, orange, green = (theme_color(page, name) for name in ("cool", "accent", "good"))
    assert page.evaluate(ink, blue) > 2000
    page.wait_for_function(f"() => ({ink})({orange}) > 200")
    page.wait_for_function(f"() => ({ink})({green}) > 100")


def theme_color(page, name: str) -> list[int]:
    text = page.evaluate(
        "name => document.documentElement.style.getPropertyValue(name)", f"--{name}"
    )
    return [int(text[k : k + 2], 16) for k in (1, 3, 5)]


def test_speed_and_loop_are_set(page):
    page.locator("#speed").fill("-1")
    assert page.evaluate("() => studio.stage.clock.speed") == pytest.approx(0.5)
    page.locator("#loop").click()
    page.evaluate(
        "() => { const { clock } = studio.stage; clock.seek(clock.end - 0.1); clock.play(); }"
    )
    page.wait_for_function("() => !studio.stage.clock.playing")
    assert page.evaluate("() => studio.stage.clock.time === studio.stage.clock.end")


def readings(page) -> list[str]:
    page.evaluate("() => studio.stage.draw()")
    return page.locator("loom-curve-tracks .value i").all_text_contents()


def test_curves_of_joints_are_added_read_and_removed(page):
    page.locator("#curves summary").click()
    page.locator("#curve-of").select_option("pair:ankle")
    page.locator("#curve-kind").select_option("height")
    page.locator("#add-curve").click()
    page.locator("#curve-of").select_option("role:left_knee")
    page.locator("#curve-kind").select_option("bend")
    page.locator("#add-curve").click()
    page.keyboard.press("Escape")
    track = page.locator("loom-curve-tracks .track")
    expect(track).to_have_count(2)
    page.evaluate("() => studio.stage.freeze(3.0)")
    heights = page.evaluate("""() => { const { motion, frame } = studio.lead;
        return ["left_ankle", "right_ankle"].map(role =>
            motion.positions[(frame * motion.parents.length + motion.roles[role]) * 3 + 1]); }""")
    results = readings(page)
    assert results[:2] == [f"{side} {y:.2f} m" for side, y in zip("LR", heights, strict=True)]
    assert results[2].endswith("°")
    page.evaluate("() => studio.stage.freeze(5.0)")
    assert readings(page) != results
    box = track.first.locator("canvas").bounding_box()
    page.mouse.click(box["x"] + GUTTER + 0.5 * (box["width"] - GUTTER), box["y"] + 20)
    end = page.evaluate("() => studio.stage.clock.end")
    assert page.evaluate("() => studio.stage.clock.time") == pytest.approx(end / 2, rel=0.02)
    page.get_by_role("button", name="Remove the track: left knee, bend").click()
    expect(track).to_have_count(1)
    page.locator("#curves summary").click()
    page.locator("#no-curves").click()
    expect(track).to_have_count(0)
    page.keyboard.press("Escape")


@pytest.mark.parametrize(
    ("unit", "typed", "frame", "shown"),
    [
        ("frames", "123", 123, "123"),
        ("seconds", "2.5", 75, "2.50 s"),
        ("time code", "00:04:03", 123, "00:04:03"),
        ("frames", "1:01", 1830, None),  # past the end: the last frame
    ],
)
def test_a_typed_time_is_gone_to(page, unit, typed, frame, shown):
    page.locator("#time-unit").select_option(unit)
    page.locator("#now").fill(typed)
    page.locator("#now").press("Enter")
    page.evaluate("() => studio.stage.draw()")
    last = page.evaluate("() => studio.lead.endFrame - 1")
    assert page.evaluate("() => studio.lead.frame") == min(frame, last)
    if shown:
        expect(page.locator("#now")).to_have_value(shown)


def test_an_invalid_time_is_reported(page):
    page.locator("#now").fill("soon")
    page.locator("#now").press("Enter")
    expect(page.locator(".notice")).to_contain_text("soon is not a valid time")
    page.locator("#now").press("Escape")
