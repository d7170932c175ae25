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
