"""The start page, another library from within the page, and the tour of the first visit."""

from __future__ import annotations

import pytest
from browser import settled
from playwright.sync_api import expect
from studio_takes import StudioServer
from test_subjects_page import serious_findings

import motionloom as ml
from motionloom import demo


@pytest.fixture
def started(tmp_path, monkeypatch):
    """A studio without a library, in a folder that has two."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    home = tmp_path / "home"
    home.mkdir()
    for name in ("walks", "jogs"):
        with ml.Library.create(home / f"{name}.loom") as library:
            library.add_motion(demo.clip(name[:-1]), name=name[:-1])
    monkeypatch.chdir(home)
    with StudioServer(None, "--own-token") as server:
        yield server, home


def opened(page, name: str):
    page.wait_for_function(
        "name => window.studio?.library.name === name && studio.live.connected", arg=name
    )
    return settled(page)


def test_a_library_is_opened_and_left_and_all_windows_follow(started, windows):
    server, home = started
    page, other = (windows(server.address, library=False) for _ in range(2))
    expect(page.locator("loom-start")).to_contain_text("Open a library")
    assert page.title() == "Libraries · motionloom studio"
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert serious_findings(page) == []
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator("loom-start [data-library=walks]").click()
    for window in (opened(page, "walks"), opened(other, "walks")):
        assert window.evaluate("studio.library.motions.map((row) => row.name)") == ["walk"]
    page.evaluate("studio.go('library', { take: 'walk' })")
    page.locator("loom-take-labels input").fill("calm")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("calm")

    # By keyboard, in the other window: the menu, the start page, the other library.
    other.locator("loom-library-menu summary").focus()
    other.keyboard.press("Enter")
    expect(other.locator("loom-library-menu #open-another")).to_be_visible()
    assert serious_findings(other) == []
    other.keyboard.press("Tab")
    other.keyboard.press("Enter")
    other.locator("loom-start [data-library=jogs]").focus()
    other.keyboard.press("Enter")
    for window in (opened(other, "jogs"), opened(page, "jogs")):
        assert window.evaluate("location.hash") == "#/library"
        assert window.evaluate("studio.library.motions.map((row) => row.name)") == ["jog"]

    # Back, through the list of recent libraries; changes can still be undone.
    page.locator("loom-library-menu summary").click()
    page.locator("loom-library-menu [data-library=walks]").click()
    opened(page, "walks")
    page.keyboard.press("Control+z")
    expect(page.locator(".notice")).to_contain_text("Undone: label walk")
    with ml.Library(home / "walks.loom") as library:
        assert library.labels["walk"] == ()
    opened(other, "walks")


def test_a_library_is_made_by_name_or_with_samples(started, windows):
    server, home = started
    page = windows(server.address, library=False)
    name = page.locator("loom-start #new-name")
    name.fill("../outside")
    page.expected += ["api/libraries", "status of 4"]
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("use letters, digits")
    name.fill("day 1")
    page.keyboard.press("Enter")
    opened(page, "day 1")
    expect(page.locator("loom-library-view")).to_contain_text("This library is empty")
    assert (home / "day 1.loom").is_dir() and not (home.parent / "outside.loom").exists()

    page.locator("loom-library-menu summary").click()
    page.locator("loom-library-menu #open-another").click()
    page.locator("loom-start #samples").click()
    opened(page, "samples")
    page.wait_for_function("() => studio.library.motions.length === 16")
    assert "samples=" not in page.url


def test_the_tour_is_shown_once_and_by_keyboard(windows, studio_address):
    page = windows(studio_address, tour=True)
    tour = page.locator("loom-tour")
    expect(tour).to_contain_text("Takes")
    expect(tour.locator("#tour-next")).to_be_focused()
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        assert serious_findings(page) == []
    for step in ("The stage", "The timeline", "Jobs", "Nothing is lost"):
        page.keyboard.press("Enter")
        expect(tour).to_contain_text(step)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")  # back
    expect(tour).to_contain_text("Jobs")
    page.keyboard.press("Escape")
    expect(tour).to_have_count(0)
    page.reload()
    opened(page, "small")
    expect(tour).to_have_count(0)
    page.locator("loom-library-menu summary").click()
    page.locator("loom-library-menu #show-tour").click()
    expect(tour).to_contain_text("1 of 5")


def test_a_server_for_others_opens_no_other_library(windows, studio_address):
    page = windows(studio_address)  # without a token: every user of the machine
    page.locator("loom-library-menu summary").click()
    expect(page.locator("loom-library-menu #show-tour")).to_be_visible()
    assert page.locator("loom-library-menu #open-another").count() == 0


DROP = """([name, text]) => {
    const held = new DataTransfer();
    held.items.add(new File([text], name));
    for (const kind of ["dragover", "drop"])
        dispatchEvent(new DragEvent(kind, { dataTransfer: held, cancelable: true })); }"""


def test_takes_dropped_on_the_start_page_become_a_library_that_plays(started, windows):
    server, home = started
    page = windows(server.address, library=False)
    expect(page.locator("loom-start")).to_contain_text("Open a library")
    file = demo.clip("jog").save(home / "evening jog.bvh")
    page.evaluate(DROP, [file.name, file.read_text()])
    opened(page, "evening jog")
    page.wait_for_function("() => studio.take === 'evening jog' && studio.stage.clock.playing")
    with ml.Library(home / "evening jog.loom") as library:
        assert library.names == ("evening jog",)
    settled(page)  # of the take that plays, nothing is asked anymore
    # Again, on the start page: another library, not an error.
    page.evaluate("studio.go('start')")
    expect(page.locator("loom-start")).to_be_visible()
    page.evaluate(DROP, [file.name, file.read_text()])
    opened(page, "evening jog 2")


def test_the_first_take_plays_at_once_and_the_stage_says_what_it_is(started, windows):
    server, _ = started
    page = windows(server.address, library=False)
    page.locator("loom-start [data-library=walks]").click()
    opened(page, "walks")
    page.wait_for_function("() => studio.take === 'walk' && studio.stage.clock.playing")
    expect(page.locator("#subject")).to_have_text("walk")
