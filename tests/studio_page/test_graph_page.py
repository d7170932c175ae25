"""The transitions of a motion graph in the Lab: an edge is edited, movements are refined."""

from __future__ import annotations

import shutil

import pytest
from browser import drawn_joints, in_address, settled
from studio_takes import StudioServer

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
