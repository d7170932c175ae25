"""Dragging a target, and the joint that follows it."""

from __future__ import annotations

import shlex
import shutil

import numpy as np
import pytest
from browser import drawn_joints, go, in_address, settled
from click.testing import CliRunner
from studio_takes import StudioServer

import motionloom as ml
from motionloom.cli import app

expect = pytest.importorskip("playwright.sync_api").expect

VIEW = "document.querySelector('loom-app').renderRoot.querySelector('loom-aim-view')"
READY = f"() => {VIEW}?.answer && studio.stage.characters.length === 1"


@pytest.fixture(scope="module")
def kicks(studio_library, tmp_path_factory):
    """A studio over a library that keeps a parametric kick."""
    path = tmp_path_factory.mktemp("parametric") / "kicks.loom"
    shutil.copytree(studio_library, path)
    with ml.Library(path) as lib:
        names = [n for n in lib.names if n.startswith("kick_") and n.endswith("_right_p0")]
        first = "kick_front_mid_right_p0"
        takes = [first, *(n for n in names if n != first)]
        lib.parametrize(takes, by="right_ankle@33", samples=150, name="kick")
        lib.parametrize(takes, by="highest(right_ankle)", samples=40, name="height")
    with StudioServer(path) as server:
        yield server


@pytest.fixture
def kick(windows, kicks):
    page = windows(kicks.address + "#/aim?name=kick")
    page.wait_for_function(READY)
    return settled(page)


def ball(page) -> tuple[float, float]:
    """Where the target is on the page."""
    x, y = page.evaluate(f"""() => {{
        const at = {VIEW}.aim.ball.position.clone().project(studio.stage.camera);
        const box = studio.stage.renderer.domElement.getBoundingClientRect();
        return [box.left + (at.x + 1) / 2 * box.width, box.top + (1 - at.y) / 2 * box.height];
    }}""")
    return x, y


def drag(page, dx: float, dy: float) -> None:
    x, y = ball(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=12)


def within_reach(page) -> tuple[float, float]:
    """The way on the page from the target to an accessible one that is 10 to 25 cm away.

    Dragging moves the target at its distance from the camera, so of those that are that far the
    one which is nearest to that distance.
    """
    dx, dy = page.evaluate(f"""() => {{
        const {{ camera, renderer }} = studio.stage;
        const ball = {VIEW}.aim.ball.position, samples = {VIEW}.accessible;
        const ahead = ball.clone().set(0, 0, -1).applyQuaternion(camera.quaternion);
        const seen = (point) => point.clone().project(camera);
        let best = Infinity, way = null;
        for (let at = 0; at < samples.length; at += 3) {{
            const step = ball.clone().fromArray(samples, at).sub(ball);
            const off = step.dot(ahead);
            step.addScaledVector(ahead, -off);
            if (step.length() < 0.1 || step.length() > 0.25 || Math.abs(off) >= best) continue;
            best = Math.abs(off);
            way = seen(step.add(ball)).sub(seen(ball));
        }}
        const box = renderer.domElement.getBoundingClientRect();
        return [way.x / 2 * box.width, -way.y / 2 * box.height];
    }}""")
    return dx, dy


def finished(page) -> None:
    """Wait until the last dragged target is answered and drawn."""
    page.evaluate(f"{VIEW}.drag.whenDone()")
    page.evaluate("studio.stage.draw()")


def ankle(page) -> np.ndarray:
    """Where the right ankle stands on the stage, meters."""
    return np.array(
        page.evaluate("""() => {
        const one = studio.stage.characters[0];
        return one.world(one.motion.roles.right_ankle).toArray();
    }""")
    )


def test_the_joint_arrives_where_the_target_is_dragged_to(kick):
    first = ankle(kick)
    drag(kick, *within_reach(kick))
    finished(kick)
    target = np.array(kick.evaluate(f"{VIEW}.target"))
    assert np.linalg.norm(target - first) > 0.08, "the target was not dragged"
    assert not kick.evaluate(f"{VIEW}.answer.outside")
    assert np.linalg.norm(ankle(kick) - target) < 0.02
    # On the screen too: the ankle is drawn there, and where it was there is nothing now.
    joint = kick.evaluate("studio.stage.characters[0].motion.roles.right_ankle")
    kick.evaluate(f"{VIEW}.aim.dispose(); {VIEW}.region.visible = false")
    assert drawn_joints(kick)[joint]
    drawn = kick.evaluate("joint => studio.stage.project(0, joint)", joint)
    x, y = ball(kick)
    box = kick.evaluate("studio.stage.renderer.domElement.getBoundingClientRect().toJSON()")
    pixels = kick.evaluate("""() => {  // that two centimeters have there
        const { camera, characters, renderer } = studio.stage;
        const far = camera.position.distanceTo(characters[0].world(0));
        const seen = 2 * far * Math.tan(camera.fov / 2 * Math.PI / 180);
        return 0.02 / seen * renderer.domElement.clientHeight;
    }""")
    assert np.hypot(drawn["x"] - (x - box["left"]), drawn["y"] - (y - box["top"])) < pixels
    kick.mouse.up()


def test_a_target_out_of_reach_is_reported_and_brought_back(kick):
    drag(kick, -420, 0)
    finished(kick)
    assert kick.evaluate(f"{VIEW}.answer.outside")
    view = kick.locator("loom-aim-view")
    expect(view).to_contain_text("out of reach")
    far = np.array(kick.evaluate(f"{VIEW}.target"))
    kick.mouse.up()
    kick.wait_for_function(f"() => !{VIEW}.answer.outside")
    brought = np.array(kick.evaluate(f"{VIEW}.target"))
    assert np.linalg.norm(brought - far) > 0.05
    assert np.linalg.norm(ankle(kick) - brought) < 0.02
    expect(view).to_contain_text("from the target")


def test_a_dragged_kick_can_be_linked_to_and_saved(kick, windows, kicks, tmp_path):
    drag(kick, *within_reach(kick))
    finished(kick)
    kick.mouse.up()
    in_address(kick, "target=")
    settled(kick)
    target = kick.evaluate(f"{VIEW}.target")
    again = windows(kick.url)
    again.wait_for_function(READY)
    np.testing.assert_allclose(again.evaluate(f"{VIEW}.target"), target, atol=6e-4)
    with again.expect_download() as saved:
        again.locator("loom-aim-view #bvh").click()
    path = tmp_path / "kick.bvh"
    saved.value.save_as(path)
    made, key = ml.load(path), again.evaluate(f"{VIEW}.answer.keys[0]")
    there = made.role_positions(["right_ankle"])[key, 0]
    assert np.linalg.norm(there - target) < 0.02
    line = shlex.split(again.locator("loom-aim-view loom-code").get_attribute("cli"))
    line[-1] = str(tmp_path / "typed.bvh")
    assert CliRunner().invoke(app, line[1:]).exit_code == 0
    np.testing.assert_allclose(ml.load(line[-1]).positions(), made.positions(), atol=1e-4)


def test_it_plays_when_it_is_not_held(kick):
    assert not kick.evaluate("studio.stage.clock.playing")
    kick.locator("loom-aim-view #hold").uncheck()
    kick.wait_for_function("() => studio.stage.clock.playing && studio.stage.clock.time > 0")
    in_address(kick, "hold=no")
    settled(kick)
    kick.locator("loom-aim-view #hold").check()
    kick.wait_for_function("() => !studio.stage.clock.playing")
    key = kick.evaluate(f"{VIEW}.answer.keys[0] / {VIEW}.opened.fps")
    assert kick.evaluate("studio.stage.clock.time") == pytest.approx(key)


def test_one_number_is_set_by_a_slider(windows, kicks):
    page = windows(kicks.address + "#/aim?name=height")
    page.wait_for_function(READY)
    settled(page)
    page.get_by_label("Target y", exact=True).fill("0.8")
    finished(page)
    heights = page.evaluate("""() => {
        const { positions, parents, frames, roles } = studio.stage.characters[0].motion;
        const height = (at) => positions[(at * parents.length + roles.right_ankle) * 3 + 1];
        return Array.from({ length: frames }, (_, at) => height(at));
    }""")
    assert max(heights) == pytest.approx(0.8, abs=0.02)


def test_the_selection_makes_one_at_its_apex_and_a_second_keeps_the_first(windows, kicks):
    page = windows(kicks.address + "#/library?take=kick_front_mid_right_p0")
    page.wait_for_function("() => studio.take === 'kick_front_mid_right_p0'")
    settled(page)
    page.evaluate("studio.select({ motion: 'kick_front_mid_right_p0', start: 0, end: 70 })")
    go(page, "aim")
    form = page.locator("loom-aim-form")
    form.get_by_label("maximum distance").fill("0.12")
    form.get_by_label("samples").fill("60")
    form.get_by_label("samples").press("Tab")
    page.evaluate("studio.stage.clock.pause(); studio.stage.clock.seek(20 / 30)")  # too early
    settled(page)
    form.locator("#build").click()
    page.wait_for_function(READY)
    by = page.evaluate(f"{VIEW}.opened.by")
    assert len(by) == 1
    joint, frame = by[0].split("@")
    assert joint == "right_ankle"
    assert abs(int(frame) - 33) <= 2
    # The parameter is where the kick is, not where the playhead was: a meter is in reach.
    samples = np.array(page.evaluate(f"[...{VIEW}.accessible]")).reshape(-1, 3)
    assert np.linalg.norm(np.ptp(samples, axis=0)) > 0.6
    first = page.evaluate(f"{VIEW}.opened.name")
    in_address(page, f"name={first}")

    page.get_by_role("button", name="make new").click()
    form.get_by_label("samples").fill("30")
    form.get_by_label("samples").press("Tab")
    form.locator("#moment").select_option("frame")  # the one on the stage
    form.locator("#frame").fill("31")
    form.locator("#frame").press("Tab")
    expect(form.locator("#build")).to_have_text("Make")
    form.locator("#build").click()
    page.wait_for_function(f"first => {VIEW}.opened && {VIEW}.opened.name !== first", arg=first)
    assert page.evaluate(f"{VIEW}.opened.by") == ["right_ankle@31"]
    names = page.evaluate(f"{VIEW}.saved.map((one) => one.name)")
    assert first in names  # the second one did not replace the first
    page.get_by_role("button", name="make new").click()
    form.locator("#name").fill(first)
    expect(form.locator("#build")).to_have_text(f"Replace {first}")


def test_a_pad_aims_by_pointer_and_by_keys_and_reports_targets_out_of_reach(kick):
    pad = kick.locator("loom-aim-view loom-scatter svg")
    pad.scroll_into_view_if_needed()
    before = kick.evaluate(f"[...{VIEW}.target]")
    pad.focus()
    kick.keyboard.press("ArrowRight")
    finished(kick)
    settled(kick)
    after = kick.evaluate(f"[...{VIEW}.target]")
    assert after[0] > before[0] and after[1:] == pytest.approx(before[1:], abs=0.01)

    box = pad.bounding_box()
    kick.mouse.move(box["x"] + 4, box["y"] + 4)  # a corner that no example is near
    kick.mouse.down()
    kick.mouse.move(box["x"] + 3, box["y"] + 3)
    finished(kick)
    assert kick.evaluate(f"{VIEW}.answer.outside")
    expect(pad).to_have_class("outside")
    kick.mouse.up()
    finished(kick)
    settled(kick)
    # The target is brought back, and it is said where it was.
    expect(kick.locator("loom-aim-view #refused")).to_contain_text("is out of reach by")
    asked, brought = kick.evaluate(f"[{VIEW}.refused.target, {VIEW}.target]")
    assert np.linalg.norm(np.subtract(asked, brought)) > 0.02
    assert kick.locator("loom-aim-view loom-scatter .refused").count() == 1

    # Other parameters can be chosen for the pad.
    kick.get_by_label("Parameter upwards").select_option(label="z")
    settled(kick)
    assert kick.evaluate(f"{VIEW}.pad") == [0, 2]
    pad.focus()
    before = kick.evaluate(f"[...{VIEW}.target]")
    kick.keyboard.press("ArrowUp")
    finished(kick)
    assert kick.evaluate(f"{VIEW}.target[2]") != pytest.approx(before[2], abs=1e-4)
