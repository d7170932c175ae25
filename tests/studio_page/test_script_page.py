"""Scripts in the page: acted, changed, kept."""

from __future__ import annotations

import shutil

import pytest
from browser import go, in_address, settled
from studio_takes import StudioServer

import motionloom as ml

expect = pytest.importorskip("playwright.sync_api").expect

SCRIPT = "walk 2 s, kick with the right foot"


@pytest.fixture
def page(windows, studio_library, tmp_path):
    with StudioServer(shutil.copytree(studio_library, tmp_path / "own.loom")) as server:
        yield windows(f"{server.address}#/script")


def on_stage(page) -> int:
    page.wait_for_function("() => studio.subject?.title === 'acted script'")
    settled(page)
    return page.evaluate("studio.stage.characters[0].motion.frames")


def test_a_script_is_acted_changed_and_kept(page, tmp_path):
    page.locator("loom-script-view #script").fill(SCRIPT)
    page.keyboard.press("Control+Enter")
    frames = on_stage(page)
    in_address(page, "script=walk")
    rows = page.locator("loom-script-view #plan li:not(.bridge)")
    expect(rows.first.locator("b")).to_have_text("walk 2 s")
    expect(rows.last.locator("b")).to_have_text("kick with the right foot")

    chosen = rows.last.locator("option").nth(2).get_attribute("value")
    rows.last.locator("select").select_option(chosen)
    in_address(page, "instead=")
    settled(page)
    expect(rows.last.locator("select")).to_have_value(chosen)
    expect(page.locator("loom-script-view loom-code")).to_contain_text(chosen)

    rows.last.get_by_role("button").click()
    start = page.evaluate(
        """() => document.querySelector('loom-app').renderRoot.querySelector('loom-script-view')
            .acted.plan.at(-1).start"""
    )
    assert page.evaluate("studio.stage.clock.time") >= start
    frames = on_stage(page)
    bar = page.locator("loom-subject-bar")
    bar.locator("#keep").click()
    bar.locator("form input").fill("my scene")
    page.keyboard.press("Enter")
    expect(bar).to_contain_text("saved as my scene")
    with ml.Library(tmp_path / "own.loom") as library:
        assert len(library["my scene"]) == frames


def test_phrases_that_nothing_shows_are_named_and_replaced(page):
    go(page, "script", script="walk 2 s, kick the moon with a violin")
    missing = page.locator("loom-script-view li.missing")
    go(page, "script", script="walk 2 s, juggle")
    settled(page)
    expect(missing).to_contain_text("No motion in this library shows this")
    expect(missing.locator("b")).to_have_text("juggle")
    assert page.evaluate("studio.stage.characters.length") == 0
    page.locator("loom-script-view #script").fill(SCRIPT)
    page.locator("loom-script-view #act").click()
    on_stage(page)
    expect(missing).to_have_count(0)


def test_a_reload_acts_the_script_again(page):
    go(page, "script", script=SCRIPT)
    frames = on_stage(page)
    page.reload()
    page.wait_for_function("() => window.studio?.subject?.title === 'acted script'")
    assert on_stage(page) == frames
    expect(page.locator("loom-script-view #script")).to_have_value(SCRIPT)


def test_phrases_are_moved_trimmed_and_exchanged_on_the_timeline(page):
    go(page, "script", script=SCRIPT)
    on_stage(page)
    blocks = page.locator("loom-timeline loom-block-lane .block:not(.bridge)")
    expect(blocks).to_have_count(2)
    expect(blocks.first).to_have_text("walk 2 s")

    # Trim by dragging the right edge: the duration in the script changes.
    edge = blocks.first.locator("i.right").bounding_box()
    width = blocks.first.bounding_box()["width"]
    y = edge["y"] + edge["height"] / 2
    page.mouse.move(edge["x"] + 3, y)
    page.mouse.down()
    page.mouse.move(edge["x"] + 3 - width / 3, y, steps=5)
    page.mouse.up()
    page.wait_for_function("() => /^walk 1\\.\\d s, kick/.test(studio.route.query.script)")
    on_stage(page)

    # Exchange: a click shows the other segments, and another click chooses one.
    blocks.last.click()
    options = page.locator("loom-block-lane .options button")
    chosen = options.nth(1).inner_text().split(": ")[0]
    options.nth(1).click()
    in_address(page, "instead=")
    on_stage(page)
    assert chosen in page.evaluate("studio.route.query.instead")

    # Move by dragging, with the chosen segment.
    box, first = blocks.last.bounding_box(), blocks.first.bounding_box()
    middle = box["x"] + box["width"] / 2
    page.mouse.move(middle, y)
    page.mouse.down()
    page.mouse.move(first["x"] + 4, y, steps=5)
    page.mouse.up()
    page.wait_for_function("() => studio.route.query.script.startsWith('kick')")
    on_stage(page)
    expect(blocks.first).to_contain_text("kick")
    assert list(page.evaluate("JSON.parse(studio.route.query.instead)")) == ["0"]
