"""Words in the page: finding by description, captions under the timeline, labeled segments."""

from __future__ import annotations

import shutil

import pytest
from browser import as_at_first, go, in_address, open_take, settled
from studio_takes import StudioServer

import motionloom as ml

expect = pytest.importorskip("playwright.sync_api").expect

SIT = "sit_stand_p0"


@pytest.fixture(scope="module")
def shared(shared_windows, studio_address):
    return shared_windows(studio_address)


@pytest.fixture
def page(shared):
    shared.set_viewport_size({"width": 1280, "height": 800})
    return as_at_first(shared)


def typed(page, text: str) -> None:
    box = page.locator("loom-search-view #query")
    box.fill(text)
    box.press("Enter")
    settled(page)


def test_one_box_takes_words_or_a_segment(page):
    go(page, "search")
    typed(page, "kicks high with the right foot")
    in_address(page, "words=")
    rows = page.locator("loom-word-results li")
    expect(rows.first).to_have_attribute("data-segment", "kick_front_high_right_p1:21-48")
    assert "kicks" in rows.first.locator("mark").all_inner_texts()
    rows.nth(1).locator(".open").click()
    page.wait_for_function("() => studio.take === 'kick_front_high_right_p0'")
    settled(page)
    assert page.evaluate("studio.selection") == {
        "motion": "kick_front_high_right_p0", "start": 23, "end": 50,
    }  # fmt: skip
    assert rows.count() > 2  # selecting a result does not start a new query

    typed(page, "kick_front_high_right_p0:10-60")
    in_address(page, "query=kick_front")
    expect(page.locator("loom-search-view .card").first).to_be_visible()
    assert not rows.count()


def test_a_drawn_segment_replaces_the_words(page):
    go(page, "search", words="sit down")
    page.locator("loom-word-results li .open").first.click()
    settled(page)
    page.evaluate("studio.select({ motion: studio.take, start: 3, end: 40 })")
    settled(page)
    in_address(page, "query=")
    assert not page.locator("loom-word-results").count()


def test_results_are_walked_through_by_arrow_keys(page):
    go(page, "search", words="walks")
    rows = page.locator("loom-word-results li")
    rows.first.locator(".open").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    settled(page)
    expect(rows.nth(1)).to_have_class("chosen")
    assert page.evaluate("studio.take") == rows.nth(1).get_attribute("data-segment").split(":")[0]


def test_words_that_nothing_is_described_by_are_named(page):
    go(page, "search", words="zebra")
    expect(page.locator("loom-word-results .unknown")).to_contain_text("“zebra”")
    expect(page.locator("loom-word-results .empty")).to_be_visible()


def test_a_caption_is_played_becomes_a_query_and_a_label(windows, studio_library, tmp_path):
    with StudioServer(shutil.copytree(studio_library, tmp_path / "own.loom")) as server:
        page = windows(server.address)
        open_take(page, SIT)
        captions = page.locator("loom-caption-lanes button.caption")
        caption = captions.filter(has_text="sits down").first
        text = caption.inner_text()
        caption.click()
        settled(page)
        chosen = page.evaluate("[studio.selection.start, studio.selection.end]")
        with ml.Library(tmp_path / "own.loom") as library:
            event = next(each for each in library.captions[SIT] if each.text == text)
            fps = library[SIT].fps
        assert chosen == [round(event.start * fps), round(event.end * fps)]
        page.evaluate("studio.stage.clock.pause()")

        # The caption is offered as the label; another text may be typed.
        field = page.locator("loom-timeline #segment-label")
        expect(field).to_have_value(text)
        field.fill("takes a seat")
        field.press("Enter")
        label = page.locator("loom-caption-lanes button.label")
        expect(label).to_have_text("takes a seat")
        with ml.Library(tmp_path / "own.loom") as library:
            [(part, said)] = library.labels.segments(SIT)
        assert [part.start_frame, part.end_frame, said] == [*chosen, "takes a seat"]

        label.click()
        page.locator("loom-timeline #find-words").click()
        in_address(page, "words=takes")
        settled(page)
        expect(page.locator("loom-word-results li").first).to_have_attribute(
            "data-segment", f"{SIT}:{chosen[0]}-{chosen[1]}"
        )
        page.locator("loom-caption-lanes button.label").click()
        page.locator("loom-timeline #remove-label").click()
        expect(page.locator("loom-caption-lanes button.label")).to_have_count(0)


def test_captions_keep_to_the_time_axis_and_the_keyboard(page):
    open_take(page, SIT)
    boxes = "loom-caption-lanes button.caption"
    assert page.locator(f"{boxes}[tabindex='0']").count() == 1
    page.locator(f"{boxes}[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    settled(page)
    expect(page.locator(f"{boxes}.chosen")).to_have_count(1)
    at = page.evaluate(
        """() => { const it = document.querySelector('loom-app').renderRoot
            .querySelector('loom-timeline'); const { selection, lead } = studio;
            return [it.headCanvas.getBoundingClientRect().left
                + it.axis.x(lead.timeOf(selection.start), it.width)]; }"""
    )
    chosen = page.locator(f"{boxes}.chosen").bounding_box()
    assert chosen["x"] == pytest.approx(at[0], abs=1.5)


def test_a_segment_is_drawn_and_a_label_typed(windows, studio_library, tmp_path):
    with StudioServer(shutil.copytree(studio_library, tmp_path / "own.loom")) as server:
        page = windows(server.address)
        open_take(page, "walk_p0")
        box = page.locator("loom-timeline #head").bounding_box()
        page.mouse.move(box["x"] + 200, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + 420, box["y"] + 60)
        page.mouse.up()
        drawn = page.evaluate("[studio.selection.start, studio.selection.end]")
        page.locator("loom-timeline #segment-label").fill("two steps")
        page.keyboard.press("Enter")
        expect(page.locator("loom-caption-lanes button.label")).to_have_text("two steps")
        with ml.Library(tmp_path / "own.loom") as library:
            [(part, _)] = library.labels.segments("walk_p0")
        assert [part.start_frame, part.end_frame] == drawn
