"""Select, search, accept, export; the family as a graph; the distance grid."""

from __future__ import annotations

import io
import json
import re
import zipfile

import numpy as np
import pytest
from browser import drawn_joints, go, in_address, open_take, settled
from PIL import Image
from test_subjects_page import serious_findings
from waiting import wait_until

import motionloom as ml

expect = pytest.importorskip("playwright.sync_api").expect

KICK = "kick_front_high_right_p0"
QUERY = f"{KICK}:10-60"
OTHER = "kick_front_high_right_p1"
VIEW = "document.querySelector('loom-app').renderRoot.querySelector('loom-{}-view')"
SEARCH, FAMILY, GRID = (VIEW.format(name) for name in ("search", "family", "grid"))


def _searched(page, **query):
    go(page, "search", query=QUERY, **query)
    cards = page.locator("loom-search-view .card")
    expect(cards.first).to_be_visible()
    return cards


def _wait(page, condition: str) -> None:
    page.wait_for_function(f"() => {condition}")  # the page forbids strings that become code


def _two(page, name: str) -> None:
    """Wait for two characters, the second of them of this take."""
    _wait(page, f"studio.stage.characters[1]?.motion.name === {name!r}")


def _pixels(card) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(card.screenshot())).convert("L"), int)


def _gap(page, joint: str, time: float) -> float:
    """How far the two characters' joints of a role are apart at a time, meters."""
    return page.evaluate(
        """([role, time]) => {
            studio.stage.freeze(time);
            const [a, b] = studio.stage.characters;
            return a.world(a.motion.roles[role]).distanceTo(b.world(b.motion.roles[role])); }""",
        [joint, time],
    )


# --- search -------------------------------------------------------------------------------------


def test_select_search_accept_export(page, studio_library, tmp_path):
    open_take(page, KICK)
    strip = page.locator("loom-timeline #head").bounding_box()
    y = strip["y"] + strip["height"] * 0.6
    page.mouse.move(strip["x"] + strip["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(strip["x"] + strip["width"] * 0.8, y, steps=4)
    page.mouse.up()
    chosen = page.evaluate("studio.selection")
    assert chosen["motion"] == KICK and chosen["end"] - chosen["start"] > 20
    page.locator("loom-subject-bar #like").click()
    cards = page.locator("loom-search-view .card")
    expect(cards.first).to_be_visible()
    query = f"{KICK}:{chosen['start']}-{chosen['end']}"
    assert page.locator("loom-search-view #find").input_value() == query
    matches = page.evaluate(f"{SEARCH}.results.matches")
    assert (matches[0]["motion"], matches[0]["distance"]) == (KICK, 0.0)

    cards.nth(0).locator(".yes").click()
    cards.nth(1).click()
    page.keyboard.press("a")  # accepts, and goes on to the next
    page.keyboard.press("r")
    expect(page.locator("loom-verdict-counts")).to_contain_text("2 accepted, 1 rejected")
    expect(cards.nth(2)).to_have_class("card rejected")
    expect(cards.nth(3)).to_have_class(re.compile("chosen"))

    page.reload()  # nothing of it is lost
    expect(cards.first).to_be_visible()
    expect(page.locator("loom-verdict-counts")).to_contain_text("2 accepted, 1 rejected")
    expect(cards.nth(0)).to_have_class("card accepted")
    page.locator("#export-all").click()
    with page.expect_download() as begun:
        page.locator("#export").click()
    assert begun.value.suggested_filename == f"like_{query.replace(':', '_')}.zip"
    with zipfile.ZipFile(begun.value.path()) as packed:
        packed.extractall(tmp_path)
        files = [name for name in packed.namelist() if name.endswith(".bvh")]
    listed = json.loads((tmp_path / "matches.json").read_text())
    assert [row["file"] for row in listed["matches"]] == files and len(files) == 2
    assert listed["search"]["query"] == query
    with ml.Library(studio_library) as library:
        for row, match in zip(listed["matches"], matches, strict=False):
            assert (row["motion"], row["start_frame"]) == (match["motion"], match["start_frame"])
            take = library[row["motion"]][row["start_frame"] : row["end_frame"]]
            made = ml.load(tmp_path / row["file"])
            gap = made.role_positions(["right_ankle"]) - take.role_positions(["right_ankle"])
            assert np.abs(gap).max() < 2e-3


def test_cards_answer_to_sliders_clicks_and_arrows(page):
    cards = _searched(page, max=20)
    before, requests = cards.count(), []
    page.on("request", lambda each: requests.append(each.url))
    slider = page.locator("loom-search-form #max_distance")
    slider.evaluate("(it) => { it.value = 0.6 * it.max; it.dispatchEvent(new Event('input')); }")
    expect(page.locator("#count")).not_to_have_text(str(before))
    limit = page.evaluate(f"{SEARCH}.settings.max_distance")
    far = page.evaluate(f"{SEARCH}.results.matches.map((one) => one.distance)")
    assert 1 < cards.count() == sum(each <= limit for each in far) < before
    line = page.locator("loom-search-view loom-code code").first
    expect(line).to_contain_text(f"--max-distance {limit:g}")
    assert not [url for url in requests if url.endswith("/api/search")]  # filtered in the page

    number = page.evaluate(f"{SEARCH}.results.matches.map((one) => one.motion)").index(OTHER)
    cards.nth(number).click()
    _two(page, OTHER)
    for moment in (0.0, 0.8, 1.6):  # in the middle of the kick: also aligned in time
        assert _gap(page, "right_ankle", moment) < 0.25
    # Alone: aligned as they are, the query stands before many of its joints.
    page.evaluate("studio.stage.characters[0].visible = false; studio.stage.freeze(0.8)")
    assert drawn_joints(page, 1).mean() > 0.8
    page.evaluate("studio.stage.characters[0].visible = true")
    page.get_by_role("button", name="side by side").click()
    _wait(page, "studio.stage.characters[1].group.position.x > 1")

    cards.nth(0).click()
    page.keyboard.press("ArrowRight")
    expect(cards.nth(1)).to_have_class(re.compile("chosen"))
    page.keyboard.press("ArrowDown")
    expect(cards.nth(1)).not_to_have_class(re.compile("chosen"))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    expect(cards.nth(0)).to_have_class(re.compile("chosen"))

    _wait(page, f"{SEARCH}.figures.size >= 4")
    settled(page)
    first = _pixels(cards.nth(1))
    wait_until(lambda: np.abs(_pixels(cards.nth(1)) - first).max() > 40, "figures move")


def test_methods_bring_their_settings_and_errors_are_shown(page):
    cards = _searched(page, max=5)
    form = page.locator("loom-search-form")
    expect(form.locator("#radius")).to_have_count(0)
    form.locator("#method").select_option("lazy")
    expect(form.locator("#radius")).to_be_visible()
    form.locator("#method").select_option("emd")
    expect(cards.first.locator(".far")).to_contain_text("°")
    expect(form.locator("#features")).to_have_count(0)
    form.locator("#method").select_option("web")
    expect(page.locator("#build")).to_contain_text("595 webs")
    in_address(page, "method=web")
    page.expected += ["api/search", "404"]
    go(page, "search", query="nobody:0-30")
    expect(page.get_by_role("alert")).to_contain_text("no motion 'nobody'")


# --- family -------------------------------------------------------------------------------------


def test_nodes_of_the_family_are_played_excluded_and_passed_on(page):
    page.expected.append("api/parametric")
    go(page, "family", query=QUERY, **{"expansion.join_distance": 0.12})
    nodes = page.locator("loom-family-graph .node")
    expect(nodes.nth(3)).to_be_visible()
    expect(page.locator("loom-family-graph line.way").first).to_be_attached()
    count = nodes.count()
    nodes.nth(2).click()
    name = page.evaluate(f"{FAMILY}.family.nodes[2].motion")
    _two(page, name)
    assert _gap(page, "hips", 0.0) < 0.15
    expect(page.locator("loom-family-graph .caption")).to_contain_text(f"{name}:")

    page.locator("loom-family-view #leave-out").click()
    expect(nodes.nth(2)).to_have_class("node current out")
    expect(page.locator("loom-family-view #count")).to_have_text(str(count - 2))
    expect(page.locator("loom-family-view loom-code")).to_contain_text(".only([0, 1")
    with page.expect_download() as begun:
        page.locator("loom-family-view #export").click()
    with zipfile.ZipFile(begun.value.path()) as packed:
        assert len(packed.namelist()) == count  # without the one, with the list
        assert "family" in json.loads(packed.read("matches.json"))["command"]
    page.locator("#parametrize").click()
    _wait(page, "studio.route.view === 'aim' && studio.route.query.family")
    id = page.evaluate("studio.route.query.family")
    family = page.evaluate("id => fetch(`api/families/${id}`).then((one) => one.json())", id)
    assert len(family["nodes"]) == count - 1


# --- distance grid ------------------------------------------------------------------------------


def _cell(page, row: int, column: int):
    """Where a cell is drawn on the page."""
    box = page.locator("loom-grid-map").bounding_box()
    place = page.evaluate(
        f"([row, column]) => {GRID}.map.positionOf({{ row, column }})", [row, column]
    )
    return box["x"] + place["x"], box["y"] + place["y"]


def _cells(page) -> np.ndarray:
    data = f"{GRID}.data"
    grid = page.evaluate(f"[Array.from({data}.cells), {data}.rows, {data}.columns]")
    return np.array(grid[0]).reshape(grid[1], grid[2])


def test_a_click_on_the_grid_shows_both_poses(windows, studio_address):
    page = windows(f"{studio_address}#/grid?a={QUERY}&b={OTHER}&at=25,33")
    _wait(page, f"{GRID}?.data && {GRID}.dtw && {GRID}.web")
    settled(page)
    _two(page, OTHER)  # the address determines the match
    assert page.evaluate("studio.stage.characters[1].spec.title") == f"{OTHER} 33"
    cells = _cells(page)
    row, column = 25, int(np.argmin(cells[25]))
    page.mouse.click(*_cell(page, row, column))
    _wait(page, f"studio.stage.characters[1].spec.title === '{OTHER} {column}'")
    assert page.evaluate("[studio.stage.clock.time, studio.stage.clock.playing]") == [0, False]
    query = page.evaluate("(([one]) => [one.spec.title, one.frameAt(0)])(studio.stage.characters)")
    assert query == [f"{KICK} 35", 15]  # fifteen frames before it are there to be played
    near = _gap(page, "right_ankle", 0.0)
    assert near < 0.2 and drawn_joints(page, 0).mean() > 0.5
    far = int(np.argmax(cells[25]))
    page.mouse.click(*_cell(page, row, far))
    _wait(page, f"studio.stage.characters[1].spec.title === '{OTHER} {far}'")
    assert _gap(page, "right_ankle", 0.0) > 2 * near
    in_address(page, f"at=25%2C{far}")
    page.locator("loom-grid-view .chips button").first.click()  # the best path, played
    _wait(page, "studio.stage.characters[0].motion.frames === 50")
    assert _gap(page, "right_ankle", 0.8) < 0.25


def test_the_grid_is_painted_zoomed_and_moved(page):
    go(page, "grid", a=QUERY, b=OTHER, layers="none", max_distance="any")
    _wait(page, f"{GRID}?.data")
    assert page.evaluate(f"{GRID}.web") is None  # layers are loaded when they are shown
    high = page.evaluate(f"{GRID}.data.high")
    line = page.locator("loom-grid-view loom-code code").first
    expect(line).to_contain_text(f"--max-distance {high:g}")  # any: as far as one looks
    page.mouse.move(5, 5)
    settled(page)
    grid = page.locator("loom-grid-map")
    shot = np.asarray(Image.open(io.BytesIO(grid.screenshot())).convert("RGB"), int)
    cells, box = _cells(page), grid.bounding_box()
    values, shown = [], []
    for row in range(5, 50, 9):
        for column in range(5, cells.shape[1] - 20, 13):
            x, y = _cell(page, row, column)
            values.append(cells[row, column])
            shown.append(shot[int(y - box["y"]), int(x - box["x"])].sum())
    assert np.corrcoef(values, shown)[0, 1] < -0.9  # near cells glow
    x, y = _cell(page, 20, 30)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -900)
    _wait(page, f"{GRID}.map.seen.columns < 40")
    seen = page.evaluate(f"{GRID}.map.seen")
    under = page.evaluate(f"([x, y]) => {GRID}.map.cellAt(x, y)", [x, y])
    assert under == {"row": 20, "column": 30}
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=3)
    page.mouse.up()
    assert page.evaluate(f"{GRID}.map.seen.column") < seen["column"]
    assert page.evaluate(f"{GRID}.chosen") is None  # a drag is not a click
    page.mouse.dblclick(x, y)
    _wait(page, f"{GRID}.map.seen.column === 0")
    for layer, part in (("chains", "web"), ("minima", "marks"), ("path", "dtw")):
        page.locator(f"[data-layer={layer}]").click()
        _wait(page, f"{GRID}.{part}")
    in_address(page, "layers=chains.minima.path")


def _choose(picker, name: str) -> None:
    picker.locator("#choose").click()
    picker.locator("#find").fill(name)
    picker.locator("#found").select_option(name)
    picker.locator("#found").press("Enter")


def test_takes_of_the_grid_are_chosen_from_a_list(page):
    go(page, "grid")
    pickers = page.locator("loom-grid-view loom-take-picker")
    _choose(pickers.nth(0), KICK)
    in_address(page, f"a={KICK}&")  # the columns keep the take that was on the stage
    _choose(pickers.nth(1), OTHER)
    in_address(page, f"b={OTHER}")
    _wait(page, f"{GRID}.data?.sides.columns.motion === {OTHER!r}")
    expect(page.locator("loom-grid-view #b")).to_have_value(OTHER)
    page.locator("loom-grid-view #distance").select_option("jrd")
    in_address(page, "distance=jrd")
    settled(page)
    chosen = page.locator("loom-grid-view #distance option:checked")
    expect(chosen).to_have_text("distances between joints (jrd)")
    assert serious_findings(page) == []


def test_takes_of_a_family_are_chosen_from_a_list(page):
    go(page, "family")
    view = page.locator("loom-family-view")
    view.locator("loom-search-form summary", has_text="more settings").click()
    only = view.locator("loom-search-form loom-take-picker").first
    _choose(only, KICK)
    only.locator("#find").fill(OTHER)  # the list stays open for the next
    only.locator("#found").select_option(OTHER)
    only.locator("#found").press("Enter")
    in_address(page, "only=")
    _choose(view.locator("loom-take-picker[one]"), KICK)
    frames = page.evaluate(
        "name => studio.library.motions.find(row => row.name === name).frames", KICK
    )
    expect(view.locator("#query")).to_have_value(f"{KICK}:0-{frames}")
    _wait(page, f"{FAMILY}.family")
    members = page.evaluate(f"[...new Set({FAMILY}.family.nodes.map(one => one.motion))]")
    assert set(members) <= {KICK, OTHER}
    assert serious_findings(page) == []


def test_mirrored_matches_are_found_and_marked(page):
    go(page, "search", query="kick_front_mid_right_p0:20-50", max=12)
    cards = page.locator("loom-search-view .card")
    expect(cards.first).to_be_visible()
    assert not cards.filter(has_text="mirrored").count()
    page.locator("loom-search-form #mirror").check()
    in_address(page, "mirror=1")
    settled(page)
    left = page.locator("loom-search-view .card[title^='kick_front_mid_left_p0']")
    expect(left.first).to_contain_text("mirrored")
    expect(page.locator("loom-search-view loom-code")).to_contain_text("--mirror")
    page.locator("loom-search-form #method").select_option("web")
    expect(page.locator("loom-search-form #mirror")).to_have_count(0)
