"""Walks: steered, saved, and along a path that is drawn from above."""

from __future__ import annotations

import shlex
import shutil

import numpy as np
import pytest
from browser import save, settled, wheel
from click.testing import CliRunner
from studio_takes import StudioServer

import motionloom as ml
from motionloom.cli import app

expect = pytest.importorskip("playwright.sync_api").expect

VIEW = "document.querySelector('loom-app').renderRoot.querySelector('loom-walk-view')"
TAKES = "walk_p0,walk_left_p0,walk_right_p0"


@pytest.fixture(scope="module")
def walks(studio_library, tmp_path_factory):
    """A studio over its own library."""
    path = tmp_path_factory.mktemp("walk") / "walks.loom"
    with StudioServer(shutil.copytree(studio_library, path)) as server:
        yield server


@pytest.fixture
def walk(windows, walks):
    page = windows(f"{walks.address}#/walk?only={TAKES}&per_minute=90")
    page.wait_for_function(f"() => {VIEW}?.drawn")
    page.locator("loom-walk-view #expert summary").first.click()
    return settled(page)


def walking(page, seed: int = 1) -> None:
    page.locator("loom-walk-view #seed").fill(str(seed))
    page.locator("loom-walk-view #seed").press("Tab")
    settled(page)
    page.locator("loom-walk-view #walk").click()
    # Paused as soon as it runs: how many frames are played does not depend on who is slow.
    page.wait_for_function(f"""() => {VIEW}.walker?.motion?.frames > 12
        && studio.stage.characters.length === 1 && (studio.stage.clock.pause(), true)""")


def played(page, frames: int) -> np.ndarray:
    """Hips of the first frames of a walk that runs, meters."""
    # In the moment when they are there: a walk that runs on writes over its first frames.
    rows = page.wait_for_function(
        f"""frames => {{
        const {{ positions, parents, frames: there }} = {VIEW}.walker.motion;
        studio.stage.clock.play();
        if (there < frames) return null;
        studio.stage.clock.pause();
        const root = parents.indexOf(-1);
        const hips = (at) => (at * parents.length + root) * 3;
        const row = (_, at) => Array.from(positions.slice(hips(at), hips(at) + 3));
        return Array.from({{ length: frames }}, row);
    }}""",
        arg=frames,
    )
    return np.array(rows.json_value())


def test_a_transition_now_changes_the_course_and_is_saved(walk, tmp_path):
    walking(walk)
    first = played(walk, 150)
    walk.locator("loom-walk-view #walk").click()  # stop
    walking(walk)
    walk.locator("loom-walk-view #now").click()
    walk.evaluate("studio.stage.clock.play()")
    walk.wait_for_function(f"() => {VIEW}.walker.steered.length === 1")
    steered = walk.evaluate(f"{VIEW}.walker.steered[0].frame")
    second = played(walk, 150)
    np.testing.assert_allclose(second[:steered], first[:steered], atol=1e-6)  # same seed
    assert np.abs(second - first).max() > 0.05
    walk.evaluate("studio.stage.clock.play()")
    walk.wait_for_function(f"() => {VIEW}.walker.shownFrame >= 90")
    expect(walk.locator("loom-walk-view #seen")).to_contain_text("transitions so far")
    walk.locator("loom-walk-view #walk").click()
    shutil.copy(save(walk, "BVH"), tmp_path / "walk.bvh")
    root = ml.load(tmp_path / "walk.bvh").root
    assert len(root) >= 90
    np.testing.assert_allclose(root[:150], second[: len(root)][:150], atol=5e-3)


def test_the_shown_line_writes_the_same_walk(walk, tmp_path):
    walking(walk)
    seen = played(walk, 150)
    shown = walk.locator("loom-walk-view loom-code").last
    line = shlex.split(shown.get_attribute("cli"))
    line[-1] = str(tmp_path / "typed.bvh")
    assert CliRunner().invoke(app, line[1:]).exit_code == 0
    made = {}
    exec(shown.get_attribute("python").split("; graph.walk")[0], made)
    for motion in (ml.load(line[-1]), made["graph"].walk(seconds=20, seed=1)):
        np.testing.assert_allclose(motion.root[:150], seen, atol=5e-3)


def test_a_path_drawn_from_above_is_followed(walk):
    walk.evaluate("studio.stage.set({ follow: false })")
    walk.locator("loom-walk-view #draw").click()
    away = "studio.stage.camera.position.clone().sub(studio.stage.controls.target)"
    assert walk.evaluate(f"{away}.normalize().y") > 0.999  # seen from above
    scale = walk.locator("loom-app .scale")
    expect(scale).to_have_text("2 m")
    box = walk.locator("loom-app #stage canvas").bounding_box()
    walk.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    far = walk.evaluate("studio.stage.rig.distance")
    wheel(walk, -240, times=4)
    walk.wait_for_function("far => studio.stage.rig.distance < 0.8 * far", arg=far)
    expect(scale).to_have_text("1 m")
    places = [(0.0, -1.2), (0.15, -0.4), (0.4, 0.4), (0.8, 1.2)]
    pixels = walk.evaluate(
        """places => places.map(([x, z]) => {
        const at = studio.stage.controls.target.clone().set(x, 0, z).project(studio.stage.camera);
        const box = studio.stage.renderer.domElement.getBoundingClientRect();
        return [box.left + (at.x + 1) / 2 * box.width, box.top + (1 - at.y) / 2 * box.height];
    })""",
        [list(place) for place in places],
    )
    walk.mouse.move(*pixels[0])
    walk.mouse.down()
    for pixel in pixels[1:]:
        walk.mouse.move(*pixel, steps=6)
    walk.mouse.up()
    walk.wait_for_function(f"() => {VIEW}.pathError !== null && !{VIEW}.busy")
    expect(scale).to_be_hidden()
    assert walk.evaluate(f"{away}.normalize().y") < 0.9  # the camera is back
    drawn = np.array(walk.evaluate(f"{VIEW}.path"))
    assert np.linalg.norm(drawn[[0, -1]] - np.array(places)[[0, -1]], axis=1).max() < 0.1
    assert walk.evaluate(f"{VIEW}.pathError") < 0.3
    root = walk.evaluate("""() => {
        const { positions, parents, frames } = studio.stage.characters[0].motion;
        const at = ((frames - 1) * parents.length + parents.indexOf(-1)) * 3;
        return [positions[at], positions[at + 2]];
    }""")
    assert np.linalg.norm(np.array(root) - places[-1]) < 0.5
