"""``python benchmarks/clicks.py``: clicks, first picture and CPU time of seven jobs in the studio.

Each job is done once by mouse in Chromium, on the built-in corpus, with a studio that was just
started. A click, a drag, a choice in a menu and a typed text count as one action each. The first
picture is the time from the last action until the stage or the download has a result; without a
graphics card, most of it is Chromium's. CPU is the processor time of the studio's server.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "studio_page")]

_MOST = 5  # actions per job
_LOADED = "() => window.studio && studio.live.connected && studio.library.motions.length"
_QUIET = """localStorage.setItem("motionloom.tour", "seen");
    localStorage.setItem("motionloom.stage", JSON.stringify({ body: false }));"""
_MADE = "() => studio.take === null && studio.stage.characters.length > 0"


class Hand:
    """Counts what a user does in a page."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = self.typed = 0

    def click(self, selector: str) -> None:
        """Click an element."""
        self.page.locator(selector).first.click()
        self.clicks += 1

    def choose(self, selector: str, *, label: str | None = None, value: str | None = None) -> None:
        """Choose an entry of a menu."""
        self.page.locator(selector).first.select_option(label=label, value=value)
        self.clicks += 1

    def type(self, selector: str, text: str) -> None:
        """Click into an input and type."""
        self.click(selector)
        self.page.keyboard.type(text)
        self.typed += 1

    def draw(self, *points: tuple[float, float]) -> None:
        """Drag along points of the stage, as fractions of its size."""
        box = self.page.locator("loom-app #stage canvas").first.bounding_box()
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=8)
        self.page.mouse.up()
        self.clicks += 1


def kicks_as_fbx(hand: Hand) -> Callable[[], Any]:
    """Find the kicks and download them as FBX."""
    hand.type("loom-library-view input", "kick")
    hand.page.wait_for_timeout(500)
    if hand.page.locator("#select-all").count():
        hand.click("#select-all")
        hand.click("#export-all")
        hand.choose("#format", label="FBX")
        return _download(hand, lambda: hand.click("#export"))
    hand.page.locator("[data-card]").first.click(modifiers=["Control"])
    hand.clicks += 1
    hand.page.keyboard.press("Control+a")
    return _download(hand, lambda: hand.choose("loom-selection-bar #download", value="fbx"))


def walk(hand: Hand) -> Callable[[], Any]:
    """Walk along a drawn path."""
    hand.click("nav >> text=Walk")
    hand.page.wait_for_selector("loom-walk-view #draw:not([disabled])")
    hand.page.wait_for_function("() => studio.idle")
    hand.click("loom-walk-view #draw")
    hand.draw((0.35, 0.6), (0.5, 0.5), (0.65, 0.45))
    return lambda: hand.page.wait_for_function(_MADE)


def dance(hand: Hand) -> Callable[[], Any]:
    """Dance to a tune."""
    hand.click("nav >> text=Dance")
    hand.choose("loom-dance-view #label", value="dance_groove")
    hand.page.wait_for_selector("loom-dance-view #dance:not([disabled])")
    hand.click("loom-dance-view #dance")
    return lambda: hand.page.wait_for_function(_MADE)


def script(hand: Hand) -> Callable[[], Any]:
    """Act out a script."""
    hand.click("nav >> text=Script")
    hand.type("loom-script-view textarea", "walk 2 s, kick with the right foot")
    hand.page.keyboard.press("Control+Enter")
    return lambda: hand.page.wait_for_function(_MADE)


def controller(hand: Hand) -> Callable[[], Any]:
    """Steer a character."""
    hand.click("nav >> text=Play")
    hand.click("loom-play-view #play")
    return lambda: hand.page.wait_for_function(_MADE)


def aim(hand: Hand) -> Callable[[], Any]:
    """Make a kick that lands elsewhere, from whole takes with a label."""
    hand.click("nav >> text=Aim")
    hand.click("loom-aim-form >> text=whole takes with a label")
    hand.choose("loom-aim-form #label", value="kick")
    hand.click("loom-aim-form #build")
    return lambda: hand.page.wait_for_function(_MADE)


def label_a_cluster(hand: Hand) -> Callable[[], Any]:
    """Label a group of similar takes."""
    hand.page.evaluate("studio.go('library', { show: 'groups' })")
    if not hand.page.locator("#groups").count():
        hand.page.evaluate("studio.go('library', { show: 'clusters' })")
    button = "button[aria-label^='Label all'], .card button:has-text('Label')"
    hand.page.wait_for_selector(button)
    before = hand.page.evaluate("studio.changedAt")
    hand.click(button)
    with suppress(Exception):  # a name may be proposed in a form
        hand.page.locator("loom-selection-bar form button.main").click(timeout=500)
        hand.clicks += 1
    return lambda: hand.page.wait_for_function("then => studio.changedAt > then", arg=before)


JOBS = (kicks_as_fbx, walk, dance, script, controller, aim, label_a_cluster)


def _download(hand: Hand, act: Callable[[], None]) -> Callable[[], Any]:
    with hand.page.expect_download() as begun:
        act()
    return lambda: begun.value


def _seconds(process: int) -> float:
    """Processor time of a process and its children, from /proc."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / 100.0


def measure(job: Callable[[Hand], Callable[[], Any]]) -> tuple[Hand, float, float]:
    """Do a job in a new studio; return its hand, seconds to the first picture, and CPU seconds."""
    from browser import FLAGS, chromium
    from playwright.sync_api import sync_playwright
    from studio_takes import StudioServer, corpus_library

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "corpus.loom"
        corpus_library(path).close()
        with StudioServer(path) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(300_000)
            page.add_init_script(_QUIET)
            page.goto(server.address)
            page.wait_for_function(_LOADED)
            page.wait_for_timeout(1000)
            hand = Hand(page)
            before = _seconds(server.process.pid)
            wait = job(hand)
            began = time.perf_counter()
            wait()
            seconds = time.perf_counter() - began
            used = _seconds(server.process.pid) - before
            browser.close()
    return hand, seconds, used


def main(names: list[str]) -> None:
    """Measure all jobs, or those that are named, and print a table."""
    print(f"{'job':<18}{'actions':>8}{'typed':>7}{'picture s':>11}{'CPU s':>8}")
    for job in JOBS:
        if names and job.__name__ not in names:
            continue
        hand, seconds, used = measure(job)
        over = "" if hand.clicks <= _MOST else f"  more than {_MOST}"
        print(
            f"{job.__name__:<18}{hand.clicks:>8}{hand.typed:>7}{seconds:>11.1f}{used:>8.1f}{over}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
