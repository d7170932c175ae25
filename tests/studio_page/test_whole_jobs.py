"""Three whole jobs, from a folder of takes without labels to files, by mouse or keyboard alone.

Nothing is typed but a path by keyboard, in meters; names and labels are proposed.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest
from browser import MILLISECONDS, settled
from playwright.sync_api import expect
from studio_takes import StudioServer

import motionloom as ml
from motionloom import demo
from motionloom.demo.tunes import write_tune

CORPUS = (
    "walk_p0", "walk_p1", "walk_left_p0", "walk_right_p0", "kick_front_high_right_p0",
    "kick_front_high_right_p1", "kick_front_mid_right_p0", "kick_front_mid_right_p1",
    "dance_groove_p0", "dance_groove_p1",
)  # fmt: skip
CMU = (
    "74_03", "74_04", "74_05", "74_06", "07_01", "07_02", "07_03", "08_01", "08_02", "60_01",
    "60_02", "61_01", "61_02",
)  # fmt: skip
DROP = """bytes => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], "song.mid"));
    document.querySelector("loom-app").renderRoot.querySelector("main").dispatchEvent(
        new DragEvent("drop", { dataTransfer: data, bubbles: true, composed: true })); }"""
WALK = "document.querySelector('loom-app').renderRoot.querySelector('loom-walk-view')"
MOST_TABS = 250


class Hand:
    """One way to work: every action is done by it alone."""

    def __init__(self, page, keyboard: bool) -> None:
        self.page, self.keyboard = page, keyboard

    def press(self, button) -> None:
        """Press a button, or follow a link."""
        if self.keyboard:
            self.reach(button)
            self.page.keyboard.press("Enter")
        else:
            button.click()

    def reach(self, element, key: str = "Tab") -> None:
        """Move the focus to an element with the Tab key, or between cards with another key."""
        expect(element).to_be_attached()
        for _ in range(MOST_TABS):
            if element.evaluate("one => one.getRootNode().activeElement === one"):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"{element} is not reached with the key {key}")

    def choose_files(self, button, path: Path) -> None:
        """Choose a file or a folder in the dialog that a button opens."""
        with self.page.expect_file_chooser() as asked:
            self.press(button)
        asked.value.set_files(path)

    def open_cluster(self, word: str) -> None:
        card = self.page.locator(f"loom-cards .card[data-group*={word}]").first
        if self.keyboard:  # one card is a tab stop
            self.reach(self.page.locator("loom-cards .card[tabindex='0']"))
            self.page.keyboard.press("Home")
            self.reach(card, "ArrowRight")
        self.press(card)
        expect(self.page.locator("loom-selection-bar #picked")).to_be_visible()
        settled(self.page)


@pytest.fixture(params=["corpus", pytest.param("cmu", marks=pytest.mark.cmu)])
def folder(request, tmp_path):
    """A folder of takes whose names say nothing."""
    place = tmp_path / "day 1"
    place.mkdir()
    if request.param == "cmu":
        cmu30 = request.getfixturevalue("cmu30")
        for name in CMU:
            shutil.copy(next(cmu30.rglob(f"{name}.bvh")), place)
    else:
        for number, name in enumerate(CORPUS):
            demo.clip(name).save(place / f"take_{number:02}.bvh")
    return place


@pytest.fixture(params=["mouse", "keyboard"])
def begun(request, windows, folder, tmp_path):
    """The page of a new library into which the folder was imported; the clusters are there."""
    ml.Library.create(tmp_path / "new.loom").close()
    with StudioServer(tmp_path / "new.loom") as server:
        page = windows(server.address)
        hand = Hand(page, request.param == "keyboard")
        hand.choose_files(page.get_by_role("button", name="Import a folder"), folder)
        expect(page.locator("loom-import-panel")).to_contain_text("added", timeout=MILLISECONDS)
        hand.press(page.locator("loom-import-panel").get_by_role("button", name="close"))
        settled(page)
        hand.press(page.locator("loom-library-view #groups"))
        expect(page.locator("loom-cards .group").first).to_be_visible()
        yield hand, ml.Library(tmp_path / "new.loom")


def saved(page, act) -> Path:
    with page.expect_download() as begun:
        act()
    return Path(begun.value.path())


def test_kicks_are_exported(begun, tmp_path):
    hand, library = begun
    page = hand.page
    hand.open_cluster("kick")
    kicks = set(page.evaluate("[...studio.picked]"))
    page.evaluate("studio.stage.clock.pause()")
    timeline = page.locator("loom-timeline #head")
    if hand.keyboard:  # a segment in the middle of the take
        hand.reach(timeline)
        page.keyboard.press("ArrowUp")
        for _ in range(2):
            page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("i")
        for _ in range(4):
            page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("o")
    else:
        box = timeline.bounding_box()
        y = box["y"] + 0.6 * box["height"]
        page.mouse.move(box["x"] + 0.3 * box["width"], y)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.8 * box["width"], y, steps=4)
        page.mouse.up()
    hand.press(page.locator("loom-subject-bar #like"))
    cards = page.locator("loom-search-view .card")
    expect(cards.nth(1)).to_be_visible()
    settled(page)
    hand.press(page.locator("loom-search-view #accept-all"))
    hand.press(page.locator("loom-search-view #export-all"))
    file = saved(page, lambda: hand.press(page.locator("loom-search-view #export")))
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if name.endswith(".bvh")]
        archive.extract(names[0], tmp_path)
    assert len(ml.load(tmp_path / names[0])) > 10
    results = page.evaluate(
        "[...new Set(JSON.parse(Object.entries(localStorage).find(([key]) => "
        "key.includes('verdicts'))[1])[studio.route.query.query].accepted"
        ".map((one) => one.motion))]"
    )
    assert len(kicks & set(results)) >= 0.5 * len(kicks)
    assert library.names  # nothing was changed by it


def test_a_walk_along_a_drawn_path_is_kept_as_a_take(begun):
    hand, library = begun
    page = hand.page
    hand.open_cluster("walk")
    hand.press(page.locator("loom-selection-bar #walk-these"))
    page.wait_for_function(f"() => {WALK}?.drawn && !{WALK}?.busy")
    settled(page)
    if hand.keyboard:
        hand.reach(page.locator("loom-walk-view #points"))
        page.keyboard.type("0,0 1.5,0 1.5,1")
        page.keyboard.press("Enter")
    else:
        page.locator("loom-walk-view #draw").click()
        box = page.locator("loom-app #stage canvas").bounding_box()
        x, y = box["x"] + 0.4 * box["width"], box["y"] + 0.8 * box["height"]
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(1, 9):
            page.mouse.move(x + 25 * step, y - 4 * step)
        page.mouse.up()
    page.wait_for_function(f"() => {WALK}.pathError !== null && !{WALK}.busy")
    count = len(library)
    hand.press(page.locator("loom-subject-bar #keep"))
    hand.press(page.locator("loom-subject-bar form button"))
    expect(page.locator(".notice")).to_contain_text("Saved as walk 1")
    assert len(library) == count + 1 and len(library["walk 1"]) > 10
    page.keyboard.press("Control+z")
    expect(page.locator(".notice")).to_contain_text("Undone: keep walk 1")
    assert "walk 1" not in library


def test_a_dance_to_a_song_is_downloaded_as_fbx(begun, tmp_path):
    hand, _ = begun
    page = hand.page
    song = write_tune(tmp_path / "song.mid", bars=6, meter=4, tempo_bpm=100)
    hand.press(page.locator("loom-cards .group .card", has_text="rhythm").first)
    settled(page)
    hand.press(page.locator("loom-selection-bar #dance-these"))
    expect(page.locator("loom-dance-view #song")).to_be_visible()
    settled(page)
    if hand.keyboard:
        hand.choose_files(page.locator("loom-dance-view #song"), song)
    else:
        page.evaluate(DROP, list(song.read_bytes()))
    expect(page.locator("loom-dance-view #on-time")).to_be_visible()
    settled(page)
    bar = page.locator("loom-subject-bar")
    hand.press(bar.locator("summary", has_text="Download"))
    file = saved(page, lambda: hand.press(bar.get_by_role("button", name="FBX")))
    dance = ml.load(shutil.copy(file, tmp_path / "dance.fbx"))
    assert dance.duration == pytest.approx(page.evaluate("studio.stage.clock.end"), abs=0.2)
