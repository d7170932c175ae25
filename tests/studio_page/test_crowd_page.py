"""Crowds on the page: sliders, everybody on the stage, export, the address."""

from __future__ import annotations

import numpy as np
import pytest
from browser import drawn_joints, go, in_address, save

expect = pytest.importorskip("playwright.sync_api").expect

MADE = "count => studio.stage.characters.length === count && studio.stage.clock.playing"


def test_a_ballroom_is_on_the_stage(page):
    view = page.locator("loom-crowd-view")
    go(page, "crowd", kind="ballroom", couples=1, **{"floor.room": "4,4"}, seconds=2, seed=2)
    page.wait_for_function(MADE, arg=2)
    expect(view.locator("#figures")).to_contain_text("smallest distance between couples")
    page.evaluate("studio.stage.freeze(1)")
    assert np.mean([drawn_joints(page, number).mean() for number in (0, 1)]) > 0.5


def test_a_ballroom_and_a_march_are_on_the_stage(page):
    view = page.locator("loom-crowd-view")
    go(page, "crowd", kind="ballroom", couples=4, **{"floor.room": "8,7"}, seconds=5, seed=2)
    page.wait_for_function(MADE, arg=8)
    expect(view.locator("#figures")).to_contain_text("smallest distance between couples")
    expect(view.locator("loom-code")).to_contain_text("--couples 4 --room 8x7")
    page.evaluate("studio.stage.freeze(2)")
    seen = np.mean([drawn_joints(page, number).mean() for number in (0, 3, 7)])
    assert seen > 0.5  # some stand behind others
    assert save(page, "GLB").read_bytes()[:4] == b"glTF"
    # A setting creates another crowd, which the address identifies.
    view.locator("#couples").focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_function(MADE, arg=10)
    in_address(page, "couples=5")
    # A crowd that does not fit is refused, and the last one stays.
    page.expected.append("api/crowds")
    go(page, "crowd", kind="ballroom", couples=30, **{"floor.room": "5,5"}, seconds=5)
    expect(page.locator("loom-app [role=alert]")).to_contain_text("do not fit into the room")
    view.locator("#march").click()
    page.wait_for_function(MADE, arg=40)
    expect(view.locator("#figures")).to_contain_text("of left footsteps are in step")
    go(page, "library")
    expect(view).to_have_count(0)
