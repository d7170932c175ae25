"""A real server, a real browser. Skipped, saying why, where either cannot be had."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from browser import FLAGS, MILLISECONDS, chromium, settled
from studio_takes import StudioServer, corpus_library

import build_page
import motionloom

PAGE = Path(motionloom.__file__).parent / "studio" / "static" / "index.html"
HERE = Path(__file__).parent
ROOT = HERE.parents[1]


# Software rendering of bodies is slow, so every window starts with bones.
BONES = """if (!localStorage.getItem("motionloom.stage"))
    localStorage.setItem("motionloom.stage", JSON.stringify({ body: false }));"""
TOUR = """localStorage.setItem("motionloom.tour", "seen");"""

# Every view once, and one whole job; software draws slowly, so everything finer is a slow test.
QUICK = {
    "test_the_page_shows_the_library_and_opens_a_take",
    "test_every_view_opens",
    "test_joints_are_drawn_where_they_are",
    "test_select_search_accept_export",
    "test_a_page_plays_from_disk_and_from_a_server[file]",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items) -> None:
    """Tests that are not in `QUICK` are slow."""
    for item in items:
        if HERE in item.path.parents and item.name not in QUICK:
            item.add_marker(pytest.mark.slow)


def _missing() -> str | None:
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        return "the studio's packages are not here: pip install 'motionloom[studio]'"
    if find_spec("playwright") is None:
        return "playwright is not here: pip install playwright"
    if chromium() is None:
        return "no Chromium is installed (apt-get install chromium)"
    if not PAGE.is_file():
        return "the studio's page is not built (python build_page.py)"
    if ROOT in PAGE.parents and not build_page.is_current(ROOT):
        return "the studio's page is older than its sources (python build_page.py)"
    return None


@pytest.fixture(scope="session", autouse=True)
def browser_is_here() -> None:
    """Skip the whole folder where something is missing."""
    missing = _missing()
    if missing:
        pytest.skip(missing)


@pytest.fixture(scope="session")
def studio_library(tmp_path_factory) -> Path:
    """A library of 34 motions of the corpus. Copy it if a test writes into it."""
    path = tmp_path_factory.mktemp("studio") / "small.loom"
    corpus_library(path).close()
    return path


@pytest.fixture(scope="session")
def studio_address(studio_library):
    """Address of a running studio, ending in a slash; all tests share it."""
    with StudioServer(studio_library) as server:
        yield server.address


@pytest.fixture(scope="module")
def browser(browser_is_here):
    """Chromium, per module instead of per session, because its event loop would block others."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=MILLISECONDS)
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(
            executable_path=chromium(), args=FLAGS, timeout=MILLISECONDS
        )
        yield chrome
        chrome.close()


@pytest.fixture
def windows(browser):
    """Opens pages: ``windows(address)``. Asserts at the end that nothing went wrong in them.

    Declare expected failures first: ``page.expected.append("api/motions/nothing")`` -
    a part of the console's words or of the address.
    """
    yield from _windows(browser)


@pytest.fixture(scope="module")
def shared_windows(browser):
    """The same for pages that all tests of a module share: opening one is most of the work."""
    yield from _windows(browser)


def _windows(browser):
    opened = []

    def open_window(
        address: str,
        *,
        width: int = 1280,
        height: int = 800,
        wait: bool = True,
        library: bool = True,
        tour: bool = False,
    ):
        context = browser.new_context(viewport={"width": width, "height": height})
        context.set_default_timeout(MILLISECONDS)
        context.add_init_script(BONES if tour else BONES + TOUR)
        page = context.new_page()
        page.expected, page.problems = [], []
        page.on("pageerror", lambda error: page.problems.append(f"uncaught: {error}"))
        page.on("console", lambda said: _listen(page, said))
        page.on("requestfailed", lambda request: _failed(page, request))
        page.on("response", lambda got: _answered(page, got))
        opened.append((context, page))
        page.goto(address)
        page.wait_for_function(
            "named => window.studio && studio.live.connected && (!named || studio.library.name)",
            arg=library,
        )  # a function: the page forbids strings that become code
        return settled(page) if wait else page

    yield open_window
    problems = []
    for context, page in opened:
        problems += [
            problem
            for problem in page.problems
            if not any(part in problem for part in page.expected)
        ]
        context.close()
    assert not problems, problems


@pytest.fixture
def page(windows, studio_address):
    """The studio's page, open and connected; console errors and failed requests fail the test."""
    return windows(studio_address)


def _listen(page, said) -> None:
    if said.type == "error":
        page.problems.append(f"console: {said.text} ({said.location.get('url', '')})")


def _failed(page, request) -> None:
    if "ERR_ABORTED" not in (request.failure or ""):  # aborted by the page for a newer one
        page.problems.append(f"request: {request.method} {request.url} {request.failure}")


def _answered(page, got) -> None:
    if got.status >= 400:
        page.problems.append(f"answer: {got.status} {got.request.method} {got.url}")
