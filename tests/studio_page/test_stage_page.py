"""The stage in a real browser: drawings are checked at their expected positions."""

from __future__ import annotations

import numpy as np
import pytest
from browser import (
    as_at_first,
    drawn_joints,
    go,
    joint_pixels,
    open_take,
    stage_pixels,
    wheel,
)

expect = pytest.importorskip("playwright.sync_api").expect

KICK = "kick_front_high_right_p0"


@pytest.fixture(scope="module")
def window(shared_windows, studio_address):
    return shared_windows(studio_address, width=1000, height=640)  # fewer pixels to draw


@pytest.fixture
def page(window):
    return as_at_first(window)


def clock(page) -> float:
    return page.evaluate("() => studio.stage.clock.time")


def frame(page) -> int:
    return page.evaluate("() => studio.lead.frame")


def test_a_take_plays_and_space_stops_it(page):
    open_take(page, "walk_p0")
    page.wait_for_function("() => studio.stage.clock.time > 0.3")
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_text("Play")
    stopped, drawn = page.evaluate("[studio.stage.clock.time, studio.stage.drawn]")
    page.wait_for_function("drawn => studio.stage.drawn > drawn", arg=drawn)  # one more frame
    assert clock(page) == stopped
    page.keyboard.press("Space")
    page.wait_for_function("before => studio.stage.clock.time > before + 0.1", arg=stopped)


def test_arrows_go_frame_by_frame(page):
    open_take(page, "walk_p0")
    page.evaluate("() => studio.stage.freeze(1.0)")
    start = frame(page)
    for key, expected in [
        ("ArrowRight", 1), ("ArrowRight", 2), (".", 3), ("ArrowLeft", 2), (",", 1),
        ("Shift+ArrowRight", 11), ("Shift+ArrowLeft", 1),
    ]:  # fmt: skip
        page.keyboard.press(key)
        page.evaluate("() => studio.stage.draw()")
        assert frame(page) == start + expected, key
        assert clock(page) == pytest.approx((start + expected) / 30.0)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.evaluate("() => studio.stage.draw()")
    assert frame(page) == page.evaluate("() => studio.lead.motion.frames") - 1


def test_keys_typed_into_a_field_are_left_alone(page):
    open_take(page, "walk_p0")
    page.evaluate("() => studio.stage.freeze(1.0)")
    page.locator("#find").fill("walk")
    page.keyboard.press("Space")
    page.keyboard.press("b")
    assert page.evaluate("() => [studio.stage.clock.playing, studio.stage.display.body]") == [
        False, False,
    ]  # fmt: skip


def test_bones_and_body_are_drawn_where_the_joints_are(page):
    open_take(page, KICK)
    for body in (False, True):
        page.evaluate("body => studio.stage.set({ body, path: false })", body)
        page.evaluate("() => studio.stage.freeze(0.8)")
        assert drawn_joints(page).mean() > 0.9, f"body: {body}"


def test_nothing_is_drawn_where_the_shapes_are_taken_away(page):
    """The test above can fail: with bones and joints gone no joint counts as drawn."""
    open_take(page, KICK)
    page.evaluate("() => studio.stage.set({ path: false, shadows: false })")
    page.evaluate("() => studio.stage.freeze(0.8)")
    page.evaluate("() => { studio.stage.solid.group.removeFromParent(); studio.stage.draw(); }")
    drawn = drawn_joints(page)
    page.evaluate("() => studio.stage.scene.add(studio.stage.solid.group)")
    assert not drawn.any()


def test_bones_are_drawn_between_joints(page):
    """Half way along thigh and shin, where no joint is."""
    open_take(page, "walk_p0")
    page.evaluate("() => studio.stage.freeze(1.0)")
    roles = page.evaluate("() => studio.lead.motion.roles")
    places = joint_pixels(page)
    ends = [("left_hip", "left_knee"), ("right_hip", "right_knee"), ("left_knee", "left_ankle")]
    middles = [(places[roles[a]] + places[roles[b]]) / 2 for a, b in ends]
    shown = stage_pixels(page)
    page.evaluate("() => { studio.lead.visible = false; studio.stage.draw(); }")
    hidden = stage_pixels(page)
    for x, y in np.rint(middles).astype(int):
        assert np.abs(shown[y, x].astype(int) - hidden[y, x]).sum() > 100


def test_two_takes_are_laid_over_each_other_in_their_own_colors(page):
    go(page, "library", take="walk_p0", **{"with": KICK})
    page.wait_for_function("() => studio.stage.characters.length === 2")
    page.evaluate("""() => {
        const { stage } = studio, [walk, kick] = stage.characters;
        stage.freeze(0.5);
        // Side by side as the camera sees them, not one behind the other.
        kick.group.position.x += walk.points[0] - kick.points[0] + 1.3;
        kick.group.position.z += walk.points[2] - kick.points[2] - 0.65;
        stage.home();
        stage.set({ follow: false });  // who is hidden is not followed: the camera would move
        stage.freeze(0.5); }""")
    for character in (0, 1):
        assert drawn_joints(page, character).mean() > 0.8
    chest = page.evaluate("() => studio.stage.characters.map(one => one.motion.roles.head)")
    shown, colors = stage_pixels(page), []
    for character, joint in enumerate(chest):
        x, y = np.rint(joint_pixels(page, character)[joint]).astype(int)
        colors.append(shown[y, x].astype(int))
    assert np.ptp(colors[0]) < 40  # gray: orange means that something is selected
    assert colors[1][2] > colors[1][0] + 40  # blue


def test_between_two_frames_the_pose_is_between_them(page):
    open_take(page, KICK)
    poses = [
        page.evaluate("time => { studio.stage.freeze(time); return [...studio.lead.points]; }", t)
        for t in (20 / 30, 20.5 / 30, 21 / 30)
    ]
    before, between, after = np.array(poses)
    assert np.abs(after - before).max() > 0.01
    np.testing.assert_allclose(between, (before + after) / 2, atol=2e-4)


def test_feet_turn_blue_while_they_stand(page):
    open_take(page, "walk_p0")
    page.evaluate("() => studio.stage.freeze(1.0)")
    standing = page.evaluate("""() => {
        const { motion, frame } = studio.lead;
        const parts = ["left_ankle", "left_foot", "right_ankle", "right_foot"];
        return parts.filter((_, column) => motion.contacts[frame * 4 + column])
            .map(role => motion.roles[role]); }""")
    assert standing
    lit = stage_pixels(page)
    page.evaluate("() => { studio.stage.set({ contacts: false }); studio.stage.draw(); }")
    plain = stage_pixels(page)
    for x, y in np.rint(joint_pixels(page)[standing]).astype(int):
        blue, before = (each[y, x].astype(int) @ [-1, 0, 1] for each in (lit, plain))
        assert blue > before + 40


def test_ghosts_and_trails_are_drawn_with_the_character(page):
    open_take(page, KICK)
    page.evaluate("() => studio.stage.set({ path: false })")
    page.evaluate("() => studio.stage.freeze(1.0)")
    plain = stage_pixels(page)
    before = page.evaluate("""() => {
        const one = studio.lead, out = one.points.slice();
        one.sample(one.frame - studio.stage.display.spacing, out);
        const keep = one.points; one.points = out;
        const place = studio.stage.project(0, one.motion.roles.right_ankle);
        one.points = keep;
        return [place.x, place.y]; }""")
    page.evaluate("() => { studio.stage.set({ ghosts: true }); studio.stage.draw(); }")
    ghosts = stage_pixels(page)
    x, y = np.rint(before).astype(int)
    around = np.s_[y - 2 : y + 3, x - 2 : x + 3]
    assert np.abs(ghosts[around].astype(int) - plain[around]).sum(axis=-1).max() > 20
    page.evaluate(
        "() => { studio.stage.set({ ghosts: false, trails: ['right_toe'] }); studio.stage.draw(); }"
    )
    assert (np.abs(stage_pixels(page).astype(int) - plain).sum(axis=-1) > 30).sum() > 100


def test_the_camera_frames_follows_and_comes_home(page):
    open_take(page, "walk_p0")
    page.evaluate("() => studio.stage.freeze(0)")
    home = page.evaluate("() => studio.stage.rig.distance")
    first = joint_pixels(page)[0]
    page.evaluate("() => studio.stage.freeze(3.0)")
    assert np.abs(joint_pixels(page)[0] - first).max() < 30  # it has come along
    box = page.locator("loom-app #stage canvas").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wheel(page, 300, times=4)
    page.wait_for_function("home => studio.stage.rig.distance > home * 1.3", arg=home)
    page.keyboard.press("f")
    page.wait_for_function("home => Math.abs(studio.stage.rig.distance - home) < 0.1", arg=home)
    page.keyboard.press("7")
    above = page.evaluate("() => studio.stage.camera.position.y - studio.stage.controls.target.y")
    assert above == pytest.approx(home, rel=0.02)
    page.keyboard.press("Home")
    above = page.evaluate("() => studio.stage.camera.position.y - studio.stage.controls.target.y")
    assert above < home / 2


def test_forty_characters_are_a_handful_of_draws(page):
    names = page.evaluate("() => studio.library.motions.map(row => row.name)")
    many = (names * 2)[:40]
    page.evaluate("([name, over]) => studio.open(name, over)", [many[0], many[1:]])
    page.evaluate("() => studio.stage.freeze(0.5)")
    assert page.evaluate("() => studio.stage.characters.length") == 40
    assert page.evaluate("() => studio.stage.renderer.info.render.calls") <= 4


def test_streamed_motion_plays_as_far_as_it_has_come(page):
    open_take(page, "walk_p0")
    end = page.evaluate("""async () => {
        const { motion } = studio.lead, width = motion.parents.length * 3;
        const Streamed = studio.streamed;
        const grown = new Streamed("made", motion.fps, motion, 2);
        const push = (from, to) => grown.push({ arrays: {
            positions: motion.positions.subarray(from * width, to * width),
            contacts: motion.contacts.subarray(from * 4, to * 4) } });
        window.push = push;
        push(0, 15);
        studio.show([{ motion: grown }]);
        studio.stage.clock.play();
        return studio.stage.clock.end; }""")
    assert end == float("inf")
    page.wait_for_function("() => studio.stage.clock.time === 14 / 30")  # and no farther
    page.evaluate("() => window.push(15, 100)")
    page.wait_for_function("() => studio.stage.clock.time > 1.0")
    page.evaluate("() => studio.stage.freeze(2.5)")
    shown = page.evaluate("() => [studio.lead.frame, studio.lead.motion.first]")
    assert shown == [75, 40]  # the buffer holds two seconds: 60 of 100 frames
    last_point = page.evaluate("() => [...studio.lead.points.slice(0, 3)]")
    open_take(page, "walk_p0")
    page.evaluate("() => studio.stage.freeze(2.5)")
    assert page.evaluate("() => [...studio.lead.points.slice(0, 3)]") == pytest.approx(last_point)


def test_the_keys_are_shown(page):
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("play or pause")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_have_count(0)
