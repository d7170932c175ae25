"""Undo on the page: labels, kept takes, beats, verdicts; by the notice and by Ctrl+Z."""

from __future__ import annotations

import shutil

import pytest
from browser import go, open_take, settled
from playwright.sync_api import expect
from studio_takes import StudioServer

import motionloom as ml


@pytest.fixture
def own(windows, studio_library, tmp_path):
    """A page of a library that may be changed, and the library."""
    path = shutil.copytree(studio_library, tmp_path / "own.loom")
    with StudioServer(path) as server:
        yield windows(server.address), ml.Library(path), server


def test_labels_are_taken_back_by_the_notice_and_by_keys_after_a_restart(own):
    page, library, server = own
    open_take(page, "walk_p0")
    before = library.labels["walk_p0"]
    page.locator("loom-take-labels input").fill("calm")
    page.keyboard.press("Enter")
    page.locator(".notice #undo-notice").click()
    expect(page.locator(".notice")).to_contain_text("Undone: label walk_p0")
    assert library.labels["walk_p0"] == before
    page.locator("loom-app").press("Control+Shift+Z")
    expect(page.locator(".notice")).to_contain_text("Redone: label walk_p0")
    assert "calm" in library.labels["walk_p0"]
    server.stop()
    server.restart()
    page.expected += ["ERR_CONNECTION_REFUSED", "WebSocket", "api/live"]
    page.reload()
    page.wait_for_function("() => window.studio && studio.library.name && studio.live.connected")
    settled(page)
    page.keyboard.press("Control+z")
    expect(page.locator(".notice")).to_contain_text("Undone: label walk_p0")
    assert library.labels["walk_p0"] == before
    page.keyboard.press("Control+z")
    page.wait_for_function("() => studio.state.notice.text.startsWith('Undone: add')")


def test_a_kept_take_and_beats_are_taken_back(own):
    page, library, _ = own
    open_take(page, "dance_groove_p0")
    page.evaluate("studio.select({ motion: 'dance_groove_p0', start: 20, end: 60 })")
    bar = page.locator("loom-subject-bar")
    bar.locator("#keep").click()
    bar.locator("form input").fill("part")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("Saved as part")
    assert "part" in library
    page.keyboard.press("Control+z")
    expect(page.locator(".notice")).to_contain_text("Undone: keep part")
    assert "part" not in library


def test_verdicts_are_taken_back_before_older_changes_of_the_library(own):
    page, library, _ = own
    open_take(page, "walk_p0")
    page.locator("loom-take-labels input").fill("calm")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("calm")
    go(page, "search", query="kick_front_high_right_p0:10-60")
    cards = page.locator("loom-search-view .card")
    expect(cards.nth(2)).to_be_visible()
    cards.nth(1).locator(".yes").click(force=True)
    expect(page.locator("loom-verdict-counts b")).to_have_text("1")
    page.reload()
    page.wait_for_function("() => window.studio && studio.library.name && studio.live.connected")
    settled(page)
    accepted = page.locator("loom-verdict-counts b")
    expect(accepted).to_have_text("1")
    page.keyboard.press("Control+z")
    expect(accepted).to_have_text("0")
    assert "calm" in library.labels["walk_p0"]
    page.keyboard.press("Control+z")
    expect(page.locator(".notice")).to_contain_text("Undone: label walk_p0")
