"""The page loads, and shows a take where its joints are."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browser import drawn_joints, go, in_address, joint_pixels, open_take

expect = pytest.importorskip("playwright.sync_api").expect


def test_the_page_shows_the_library_and_opens_a_take(page):
    expect(page.locator("loom-library-view")).to_contain_text("cartwheel_left_p0")
    open_take(page, "kick_front_high_right_p0")
    assert page.evaluate("studio.stage.characters.length") == 1
    in_address(page, "take=kick_front_high_right_p0")


def test_every_view_opens(page):
    """Each has tests of its own, most of them slow; that none is empty or fails is seen here."""
    open_take(page, "walk_p0")
    titles = set()
    views = page.evaluate("[...studio.views]")
    assert len(views) == 12
    for view in views:
        go(page, view)
        shown = page.locator(f"loom-{view}-view")
        expect(shown).to_be_visible()
        expect(shown).to_contain_text(re.compile(r"\w{3}"))
        titles.add(page.title())
    assert len(titles) == len(views)
    go(page, "search", query="walk_p0:10-40", max=6)
    expect(page.locator("loom-search-view .card").first).to_be_visible()


def test_joints_are_drawn_where_they_are(page):
    open_take(page, "kick_front_high_right_p0")
    for moment in (0.2, 0.8):
        page.evaluate("time => studio.stage.freeze(time)", moment)
        assert drawn_joints(page).mean() > 0.9


def test_a_frozen_stage_follows_the_motion(page):
    open_take(page, "walk_p0")
    page.evaluate("studio.stage.freeze(0)")
    before = joint_pixels(page)
    page.evaluate("studio.stage.freeze(0.7)")
    assert np.abs(joint_pixels(page) - before).max() > 5.0


def test_joints_of_a_skeleton_that_is_not_drawn_do_not_count(page):
    """The helper itself can fail: all joints are in their places, but nothing is painted."""
    open_take(page, "walk_p0")
    page.evaluate("studio.stage.freeze(0.3)")
    page.evaluate("studio.stage.scene.clear(); studio.stage.draw()")
    assert not drawn_joints(page).any()
