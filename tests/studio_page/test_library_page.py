"""Library view in the browser: filter, open, overlay, label, import."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from browser import as_at_first, go, in_address, open_take, settled
from studio_takes import StudioServer

import motionloom as ml

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="module")
def window(shared_windows, studio_address):
    return shared_windows(studio_address, width=1000, height=640)  # fewer pixels to draw


@pytest.fixture
def page(window):
    return as_at_first(window)


@pytest.fixture(scope="module")
def own_server(studio_library, tmp_path_factory):
    """A studio whose library may be written to."""
    path = tmp_path_factory.mktemp("own") / "own.loom"
    with StudioServer(shutil.copytree(studio_library, path)) as server:
        yield server


def shown_takes(page) -> list[str]:
    cards = page.locator("loom-cards button.card")
    return cards.evaluate_all("all => all.map(one => one.dataset.place)")


def test_takes_are_found_by_name_and_label(page):
    expect(page.locator("#count")).to_contain_text("34 takes")
    page.locator("#find").fill("kick high")
    expect(page.locator("#count")).to_contain_text("3 takes and")
    shown = shown_takes(page)
    assert all("kick" in name and "high" in name for name in shown[:3])
    # Then the segments that answer the words, as the same cards.
    assert len(shown) > 3 and all(":" in name for name in shown[3:])
    in_address(page, "find=kick+high")
    page.locator("#find").fill("")
    labels = page.evaluate(
        "() => studio.library.motions.find(row => row.name === 'march_p0').labels"
    )
    page.locator("#label").select_option(labels[0])
    expect(page.locator("#count")).to_contain_text("2 takes")
    assert shown_takes(page) == ["march_p0", "march_p1"]
    page.locator("#find").fill("no such take")
    expect(page.locator("loom-library-view")).to_contain_text("No take or segment matches")


def test_a_link_finds_sorts_and_opens(page):
    go(page, "library", take="dance_groove_p0", find="p0", sort="long", range="30-90")
    page.wait_for_function("() => studio.take === 'dance_groove_p0' && studio.selection")
    assert page.evaluate("() => studio.selection") == {
        "motion": "dance_groove_p0", "start": 30, "end": 90,
    }  # fmt: skip
    rows = page.evaluate("() => studio.library.motions")
    seconds = {row["name"]: row["seconds"] for row in rows}
    durations = [seconds[name] for name in shown_takes(page)]
    assert durations == sorted(durations, reverse=True)
    expect(page.locator("#subject")).to_contain_text("dance_groove_p0:30-90")


def test_a_click_opens_and_a_click_with_shift_lays_over(page):
    page.locator("#find").fill("walk")
    page.locator("button.card[data-place=walk_p0]").click()
    page.wait_for_function("() => studio.take === 'walk_p0'")
    page.locator("button.card[data-place=walk_p1]").click(modifiers=["Shift"])
    page.wait_for_function("() => studio.stage.characters.length === 2")
    assert page.evaluate("() => studio.stage.characters.map(one => one.motion.name)") == [
        "walk_p0", "walk_p1",
    ]  # fmt: skip
    in_address(page, "with=walk_p1")
    expect(page.locator("button.card[aria-pressed=true]")).to_have_count(2)
    page.locator("button.card[data-place=walk_p1]").click(modifiers=["Shift"])
    page.wait_for_function("() => studio.stage.characters.length === 1")
    page.go_back()
    page.wait_for_function("() => studio.stage.characters.length === 2")


CARD = """document.querySelector('loom-app').renderRoot.querySelector('loom-library-view')
    .renderRoot.querySelector('loom-cards').renderRoot.querySelector('canvas')"""
PAINTED = f"""() => {{ const one = {CARD};
    const {{ data }} = one.getContext('2d').getImageData(0, 0, one.width, one.height);
    return data.filter((value, k) => k % 4 === 3 && value > 0).length > 300; }}"""


def test_cards_show_moving_figures(page):
    page.locator("#find").fill("jog_p0")
    canvas = page.locator("button.card[data-place=jog_p0] canvas")
    expect(canvas).to_be_visible()
    page.wait_for_function(PAINTED)
    first = canvas.evaluate("one => one.toDataURL()")
    page.wait_for_function(f"first => {CARD}.toDataURL() !== first", arg=first)


def test_only_cards_in_sight_exist(page):
    expect(page.locator("loom-cards button.card").first).to_be_visible()
    assert len(shown_takes(page)) < 34
    last = page.evaluate("() => studio.library.motions.at(-1).name")
    assert last not in shown_takes(page)
    page.locator("loom-cards").evaluate("one => { one.scrollTop = one.scrollHeight; }")
    expect(page.locator(f"button.card[data-place={last}]")).to_be_visible()


def test_labels_are_changed(own_server, windows):
    page = windows(own_server.address, width=1000, height=640)
    open_take(page, "jog_p0")
    page.get_by_label("Add a label").fill("warm up")
    page.get_by_label("Add a label").press("Enter")
    expect(page.locator("loom-take-labels")).to_contain_text("warm up")
    settled(page)  # also sent to the library
    assert "warm up" in ml.Library(own_server.library).labels["jog_p0"]
    page.get_by_label("Remove the label warm up").click()
    expect(page.locator("loom-take-labels")).not_to_contain_text("warm up")
    settled(page)
    assert "warm up" not in ml.Library(own_server.library).labels["jog_p0"]


def test_files_are_imported_and_failures_are_reported(own_server, windows, tmp_path):
    page = windows(own_server.address, width=1000, height=640)
    ml.demo.clip("hop_left", seed=3).save(tmp_path / "hop_new.bvh")
    (tmp_path / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\n")
    page.locator("loom-import-panel #files").set_input_files(
        [tmp_path / "hop_new.bvh", tmp_path / "broken.bvh"]
    )
    expect(page.locator("loom-import-panel")).to_contain_text("1 added, 1 failed")
    expect(page.locator("loom-import-panel")).to_contain_text("broken.bvh")
    # The report stays until it is closed, so it must not cover the tools of the timeline.
    report = page.locator("loom-import-panel .panel").bounding_box()
    timeline = page.locator("loom-timeline").bounding_box()
    assert report["y"] + report["height"] <= timeline["y"]
    page.wait_for_function("() => studio.take === 'hop_new'")
    expect(page.locator("#count")).to_contain_text("35 takes")
    shown = page.evaluate("() => { studio.stage.freeze(0.3); return [...studio.lead.points]; }")
    imported = ml.Library(own_server.library)["hop_new"]
    frame = page.evaluate("() => studio.lead.frame")
    np.testing.assert_allclose(
        np.reshape(shown, (-1, 3)), imported.positions(end_sites=True)[frame], atol=1e-3
    )


def test_files_dropped_on_the_page_are_imported(own_server, windows, tmp_path):
    page = windows(own_server.address, width=1000, height=640)
    go(page, "dance")  # anywhere: not only where the library is shown
    file = ml.demo.clip("jump_up", seed=2).save(tmp_path / "jump_dropped.bvh")
    page.evaluate(
        """text => {
            const held = new DataTransfer();
            held.items.add(new File([text], "jump_dropped.bvh"));
            for (const kind of ["dragover", "drop"])
                dispatchEvent(new DragEvent(kind, { dataTransfer: held, cancelable: true })); }""",
        file.read_text(),
    )
    expect(page.locator("loom-import-panel")).to_contain_text("1 added")
    page.wait_for_function("() => studio.take === 'jump_dropped'")
    assert "jump_dropped" in ml.Library(own_server.library)


def test_the_python_line_returns_the_shown_motion(page):
    open_take(page, "walk_p0")
    page.evaluate("() => studio.select({ motion: 'walk_p0', start: 10, end: 40 })")
    line = page.evaluate("() => studio.subject.python")  # what Copy > Python copies
    assert "[10:40]" in line
    motion = eval(line.partition("; ")[2], {"ml": ml})
    frames = page.evaluate(
        "() => [...studio.lead.motion.positions.slice(10 * 26 * 3, 40 * 26 * 3)]"
    )
    np.testing.assert_allclose(motion.positions(end_sites=True).ravel(), frames, atol=1e-6)
