"""Browser helpers for tests of the studio page: open views, read pixels at joints.

Counting colored pixels proves little: it passes with the skeleton deleted. These helpers look
at the pixels where joints must be, once with the character and once without it.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import numpy as np
from PIL import Image
from waiting import LIMIT

MILLISECONDS = 1e3 * LIMIT  # Playwright's unit; for everything that waits
FLAGS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--autoplay-policy=no-user-gesture-required",  # else no sound without a real click
]  # fmt: skip
_CHANGED = 40  # of 765, summed over the three colors: more than any shading of the floor


def chromium() -> str | None:
    """Path of Chromium or Chrome, None if not installed."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        program = shutil.which(name)
        if program:
            return program
    return None


_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def settled(page):
    """Wait until all requests are answered and the changes are laid out and drawn."""
    while True:
        page.wait_for_function("() => studio.idle")
        page.evaluate(_FRAMES)  # in two frames sizes have been observed, and drawn after it
        if page.evaluate("studio.idle"):
            return page


def in_address(page, text: str) -> None:
    """Wait until the address contains a string."""
    page.wait_for_function("text => location.hash.includes(text)", arg=text)


def wheel(page, pixels: float, times: int = 1) -> None:
    """Turn the wheel under the mouse, and wait until the page has seen every turn of it."""
    page.evaluate("""() => {
        if (window.turns === undefined) addEventListener("wheel", () => { window.turns += 1; },
            { capture: true, passive: true });
        window.turns = 0; }""")
    for turn in range(1, times + 1):
        page.mouse.wheel(0, pixels)
        page.wait_for_function("turn => window.turns === turn", arg=turn)


_AT_FIRST = """() => {
    let focused = document.activeElement;
    while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
    focused?.blur();
    const { stage } = studio;
    studio.showHelp(false);
    studio.select(null);
    studio.show([]);
    stage.set({ body: false, contacts: true, ghosts: false, path: true, trails: [], shadows: true,
        follow: true, turn: false, worldViews: false, split: "one" });
    stage.clock.set({ speed: 1, loop: true });
    stage.clock.play();
    stage.rig.home([]);
    studio.go("library"); }"""


def as_at_first(page):
    """Reset a page that other tests have used: empty stage, library view."""
    page.evaluate(_AT_FIRST)
    return settled(page)


def go(page, view: str, *, wait: bool = True, **query) -> None:
    """Follow a deep link within the open page: ``go(page, "library", take="walk_p0")``.

    Returns when everything that the link asks for is there, or at once without `wait`.
    """
    page.evaluate("([view, query]) => window.studio.go(view, query)", [view, query])
    if wait:
        settled(page)


def open_take(page, name: str, *, wait: bool = True) -> None:
    """Open a take from the library and wait until it is on the stage."""
    go(page, "library", wait=False, take=name)
    page.wait_for_function(
        "name => studio.take === name && studio.stage.characters.length > 0", arg=name
    )
    if wait:
        settled(page)


def save(page, entry: str) -> Path:
    """Download the subject on the stage by its menu; returns the path of the file."""
    bar = page.locator("loom-subject-bar")
    bar.locator("summary", has_text="Download").click()
    with page.expect_download() as begun:
        bar.get_by_role("button", name=entry, exact=True).click()
    return Path(begun.value.path())


def stage_pixels(page) -> np.ndarray:
    """Pixels of the stage, uint8 of shape (height, width, 3); one per CSS pixel."""
    shot = page.locator("loom-app #stage canvas").first.screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"))


def joint_pixels(page, character: int = 0) -> np.ndarray:
    """Positions of the joints of a character on the canvas, (P, 2) pixels x, y."""
    places = page.evaluate(
        """character => studio.stage.characters[character].spec.motion.parents.map(
            (_, joint) => studio.stage.project(character, joint))""",
        character,
    )
    return np.array([[place["x"], place["y"]] for place in places])


def drawn_joints(page, character: int = 0) -> np.ndarray:
    """Whether each joint of a character is drawn at its position, (P,) bool.

    A joint is drawn if the pixel there changes when the character is hidden. Freeze the stage
    first: ``page.evaluate("studio.stage.freeze(0.5)")``.
    """
    # Who is hidden is not followed: the camera would move between the two pictures.
    follow = page.evaluate("""() => { const { stage } = studio, { follow } = stage.display;
        stage.display = { ...stage.display, follow: false }; stage.draw(); return follow; }""")
    places = np.rint(joint_pixels(page, character)).astype(int)
    shown = stage_pixels(page)
    hide = """([character, visible]) => {
        studio.stage.characters[character].visible = visible; studio.stage.draw(); }"""
    page.evaluate(hide, [character, False])
    hidden = stage_pixels(page)
    page.evaluate(hide, [character, True])
    page.evaluate("follow => { Object.assign(studio.stage.display, { follow }); }", follow)
    height, width = shown.shape[:2]
    inside = (places >= 0).all(axis=1) & (places < [width, height]).all(axis=1)
    x, y = np.where(inside[:, None], places, 0).T
    change = np.abs(shown[y, x].astype(int) - hidden[y, x].astype(int)).sum(axis=1)
    return inside & (change > _CHANGED)
