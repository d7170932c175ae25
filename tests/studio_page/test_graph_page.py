"""The graph view: an edge is edited, a walk is steered, a path is followed."""

from __future__ import annotations

import shlex
import shutil

import numpy as np
import pytest
from browser import drawn_joints, in_address, settled
from click.testing import CliRunner
from studio_takes import StudioServer

import motionloom as ml
from motionloom.cli import app

expect = pytest.importorskip("playwright.sync_api").expect

VIEW = "document.querySelector('loom-app').renderRoot.querySelector('loom-graph-view')"
TAKES = "walk_p0,walk_left_p0,walk_right_p0"
STATES = f"""() => {VIEW}.arcs.pairs.map((pair) => [pair.forward, pair.backward].map(
    (k) => k < 0 ? null : {VIEW}.drawn.states[{VIEW}.drawn.state[k]]))"""


@pytest.fixture(scope="module")
def walks(studio_library, tmp_path_factory):
    """A studio over its own library, which the tests edit."""
    path = tmp_path_factory.mktemp("graph") / "walks.loom"
    with StudioServer(shutil.copytree(studio_library, path)) as server:
        yield server


@pytest.fixture
def graph(windows, walks):
    page = windows(f"{walks.address}#/graph?only={TAKES}&per_minute=90")
    page.wait_for_function(f"() => {VIEW}?.drawn && {VIEW}.arcs?.lines.length")
    return settled(page)


def pick(page, number: int) -> None:
    """Click the middle of an arc."""
    settled(page)  # or the arcs may move before the click
    page.evaluate(f"{VIEW}.arcs.scrollIntoView({{ block: 'center' }})")
    at = page.evaluate(f"number => {VIEW}.arcs.middleOf({VIEW}.arcs.pairs[number])", number)
    page.mouse.click(at["x"], at["y"])
    page.wait_for_function(f"() => {VIEW}.picked && studio.stage.characters.length === 1")
    settled(page)


def picked(page) -> int:
    return page.evaluate(f"{VIEW}.arcs.pairs.indexOf({VIEW}.picked)")


def walking(page, seed: int = 1) -> None:
    page.locator("loom-graph-view #seed").fill(str(seed))
    page.locator("loom-graph-view #seed").press("Tab")
    settled(page)
    page.locator("loom-graph-view #walk").click()
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


def test_an_edge_is_watched_removed_kept_and_restored(graph, windows, walks):
    pick(graph, 4)
    number = picked(graph)
    graph.evaluate("studio.stage.freeze(0.8)")
    assert drawn_joints(graph).mean() > 0.8  # the transition is on the stage
    text = graph.locator("loom-graph-view .directions b").first.inner_text()
    before = graph.evaluate(f"{VIEW}.head.info.transitions")
    graph.locator("loom-graph-view .directions .remove").first.click()
    graph.wait_for_function(f"() => {VIEW}.head.info.removed.by_hand === 1")
    assert "removed" in graph.evaluate(STATES)[picked(graph)]
    assert picked(graph) == number
    assert graph.evaluate(f"{VIEW}.head.info.transitions") < before
    walks.kill()  # in the middle of it: the edit is in the library already
    graph.expected.extend(["WebSocket", "ERR_CONNECTION", "api/"])
    walks.restart()
    again = windows(graph.url)
    again.wait_for_function(f"() => {VIEW}?.drawn && {VIEW}.arcs?.lines.length")
    assert again.evaluate(f"{VIEW}.head.info.removed.by_hand") == 1
    assert "removed" in again.evaluate(STATES)[number]
    pick(again, number)
    expect(again.locator("loom-graph-view .directions")).to_contain_text(text)
    again.locator("loom-graph-view .directions .restore").first.click()
    again.wait_for_function(f"() => {VIEW}.head.info.removed.by_hand === 0")
    assert again.evaluate(f"{VIEW}.head.info.transitions") == before


def test_an_edge_is_locked_by_keys(graph):
    canvas = graph.locator("loom-graph-view loom-arcs #arcs")
    canvas.focus()
    canvas.press("ArrowRight")
    graph.wait_for_function(f"() => {VIEW}.picked")
    canvas.press("l")
    graph.wait_for_function(f"() => {VIEW}.arcs.stateOf({VIEW}.picked) === 'locked'")
    canvas.press("l")
    graph.wait_for_function(f"() => {VIEW}.arcs.stateOf({VIEW}.picked) === 'played'")


def test_a_transition_now_changes_the_course_and_is_saved(graph, tmp_path):
    walking(graph)
    first = played(graph, 150)
    graph.locator("loom-graph-view #walk").click()  # stop
    walking(graph)
    graph.locator("loom-graph-view #now").click()
    graph.evaluate("studio.stage.clock.play()")
    graph.wait_for_function(f"() => {VIEW}.walker.steered.length === 1")
    steered = graph.evaluate(f"{VIEW}.walker.steered[0].frame")
    second = played(graph, 150)
    np.testing.assert_allclose(second[:steered], first[:steered], atol=1e-6)  # same seed
    assert np.abs(second - first).max() > 0.05
    graph.evaluate("studio.stage.clock.play()")
    graph.wait_for_function(f"() => {VIEW}.walker.shownFrame >= 90")
    expect(graph.locator("loom-graph-view #seen")).to_contain_text("transitions so far")
    graph.locator("loom-graph-view #walk").click()
    with graph.expect_download() as saved:
        graph.locator("loom-graph-view #bvh").click()
    saved.value.save_as(tmp_path / "walk.bvh")
    root = ml.load(tmp_path / "walk.bvh").root
    assert len(root) >= 90
    np.testing.assert_allclose(root[:150], second[: len(root)][:150], atol=5e-3)


def test_the_shown_line_writes_the_saved_file(graph, tmp_path):
    with graph.expect_download() as saved:
        graph.locator("loom-graph-view #bvh").click()
    saved.value.save_as(tmp_path / "saved.bvh")
    shown = graph.locator("loom-graph-view loom-code").last
    line = shlex.split(shown.get_attribute("cli"))
    line[-1] = str(tmp_path / "typed.bvh")
    assert CliRunner().invoke(app, line[1:]).exit_code == 0
    made = {}
    exec(shown.get_attribute("python").split("; graph.walk")[0], made)
    walk = made["graph"].walk(seconds=20, seed=1).positions()
    for name in ("saved", "typed"):
        np.testing.assert_allclose(ml.load(tmp_path / f"{name}.bvh").positions(), walk, atol=2e-3)


def test_a_path_drawn_on_the_floor_is_followed(graph):
    pick(graph, 0)  # show a character
    graph.evaluate("studio.stage.freeze(0)")
    graph.evaluate("studio.stage.set({ follow: false })")  # or the camera turns to the character
    graph.evaluate(
        "studio.stage.camera.position.set(0, 7, 7); studio.stage.controls.target.set(0, 0, 1.5);"
        "studio.stage.controls.update()"
    )
    graph.locator("loom-graph-view #draw").click()
    places = [(0.0, 0.0), (0.15, 0.8), (0.4, 1.6), (0.8, 2.4)]
    pixels = graph.evaluate(
        """places => places.map(([x, z]) => {
        const at = studio.stage.controls.target.clone().set(x, 0, z).project(studio.stage.camera);
        const box = studio.stage.renderer.domElement.getBoundingClientRect();
        return [box.left + (at.x + 1) / 2 * box.width, box.top + (1 - at.y) / 2 * box.height];
    })""",
        [list(place) for place in places],
    )
    graph.mouse.move(*pixels[0])
    graph.mouse.down()
    for pixel in pixels[1:]:
        graph.mouse.move(*pixel, steps=6)
    graph.mouse.up()
    graph.wait_for_function(f"() => {VIEW}.pathError !== null")
    drawn = np.array(graph.evaluate(f"{VIEW}.path"))
    assert np.linalg.norm(drawn[[0, -1]] - np.array(places)[[0, -1]], axis=1).max() < 0.1
    assert graph.evaluate(f"{VIEW}.pathError") < 0.3
    root = graph.evaluate("""() => {
        const { positions, parents, frames } = studio.stage.characters[0].motion;
        const at = ((frames - 1) * parents.length + parents.indexOf(-1)) * 3;
        return [positions[at], positions[at + 2]];
    }""")
    assert np.linalg.norm(np.array(root) - places[-1]) < 0.5


def test_movements_are_cut_danced_and_refined(windows, walks):
    page = windows(f"{walks.address}#/graph?show=movements")
    steps = page.locator("loom-movement-graph")
    steps.locator("#label").select_option("dance_groove")
    steps.get_by_label("Beats per movement").fill("4")
    steps.get_by_label("Name of the choreography").fill("disco")
    steps.get_by_role("button", name="Cut movements").click()
    graph = f"{VIEW}.renderRoot.querySelector('loom-movement-graph').graph"
    page.wait_for_function(f"() => {graph}?.nodes.length")
    in_address(page, "steps=disco")
    settled(page)  # or the nodes may move before the click
    source, target = page.evaluate(f"[{graph}.nodes[0].name, {graph}.nodes.at(-1).name]")
    steps.locator("g.node").first.press("Enter")  # a pointer may miss a node that still moves
    page.wait_for_function("() => studio.stage.characters.length === 1")
    settled(page)
    steps.locator("#other").select_option(target)
    steps.locator("#connect").click()
    page.wait_for_function(f"""() => {graph}.edges.some((edge) => edge.from === '{source}'
        && edge.to === '{target}' && Math.abs(edge.likelihood - 0.25) < 1e-6)""")
    other = windows(page.url)  # and a window that only looks on
    other.wait_for_function(f"() => {graph}?.nodes.length")
    settled(page)
    steps.locator("#rename").click()
    steps.get_by_label("New name of this node").fill("box step")
    page.keyboard.press("Enter")
    for each in (page, other):
        each.wait_for_function(f"() => {graph}.nodes[0].name === 'box step'")
    expect(steps.locator(".box b")).to_have_text("box step")
    expect(steps.locator("#renamed")).to_have_count(0)
