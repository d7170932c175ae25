"""The command palette: verbs, takes, labels and settings by typing; and an empty stage."""

from __future__ import annotations

import pytest
from browser import settled
from test_subjects_page import serious_findings

expect = pytest.importorskip("playwright.sync_api").expect

FOCUSED = """() => { let one = document.activeElement;
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
    return one?.id; }"""


def typed(page, text: str):
    """Open the palette and type; returns the first entry."""
    page.keyboard.press("Control+k")
    expect(page.locator("loom-palette input")).to_be_focused()
    page.keyboard.type(text)
    first = page.locator("loom-palette li").first
    expect(first).to_have_attribute("aria-selected", "true")
    return first


def test_takes_views_settings_and_verbs_are_found_by_typing(page):
    expect(typed(page, "kick front high")).to_contain_text("kick_front_high_right_p0")
    page.keyboard.press("Enter")
    page.wait_for_function("() => studio.take === 'kick_front_high_right_p0'")

    typed(page, "search max distance")
    assert serious_findings(page) == []
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => ({FOCUSED})() === 'max_distance'")
    assert page.evaluate("studio.route.view") == "search"

    contacts = page.evaluate("studio.stage.display.contacts")
    expect(typed(page, "contacts")).to_contain_text("Contacts")  # also from an input
    page.keyboard.press("Enter")
    assert page.evaluate("studio.stage.display.contacts") is not contacts

    expect(typed(page, "walk view")).to_contain_text("Walk")
    page.keyboard.press("Enter")
    page.wait_for_function("() => studio.route.view === 'walk'")

    with page.expect_download() as saved:
        expect(typed(page, "download fbx")).to_contain_text("Download: FBX")
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename.endswith(".fbx")


def test_the_palette_closes_and_returns_the_focus(page):
    page.locator("loom-library-view #find").focus()
    typed(page, "no such thing anywhere".split()[0])
    page.keyboard.press("Escape")
    expect(page.locator("loom-palette input")).to_have_count(0)
    assert page.evaluate(FOCUSED) == "find"
    page.locator("#commands").click()
    page.mouse.click(5, 500)  # outside
    expect(page.locator("loom-palette input")).to_have_count(0)


def test_menus_close_on_a_click_elsewhere(page):
    page.evaluate("studio.go('library', { take: 'walk_p0' })")
    page.wait_for_function("() => studio.take === 'walk_p0'")
    settled(page)
    places = [("loom-stage-bar", "View"), ("loom-stage-bar", "Split"), ("loom-stage-bar", "Trails"),
              ("loom-subject-bar", "Download"), ("loom-timeline", "Curves")]  # fmt: skip
    for tag, name in places:
        page.locator(f"{tag} summary", has_text=name).click()
        expect(page.locator(f"{tag} details[open]")).to_have_count(1)
        page.locator("header h1").click()
        expect(page.locator(f"{tag} details[open]")).to_have_count(0)


def test_time_stands_still_on_an_empty_stage(page):
    page.evaluate("studio.show([])")
    page.evaluate("studio.stage.clock.play()")
    before = page.evaluate("studio.stage.clock.time")
    page.evaluate("""() => new Promise((done) => { let left = 20;
        const next = () => (left-- ? requestAnimationFrame(next) : done()); next(); })""")
    assert page.evaluate("studio.stage.clock.time") == before
    expect(page.locator("loom-timeline .where")).to_have_text("")
