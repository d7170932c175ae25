"""Words in the page: finding by description, captions under the timeline, labeled segments."""

from __future__ import annotations

import json
import shutil
import zipfile

import pytest
from browser import as_at_first, go, in_address, open_take, settled
from studio_takes import StudioServer
from test_subjects_page import serious_findings

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
    box = page.locator("#find")
    box.fill(text)
    box.press("Enter")
    settled(page)


def places(page) -> list[str]:
    cards = page.locator("loom-cards .card")
    return cards.evaluate_all("all => all.map((one) => one.dataset.place)")


def test_one_box_takes_words_or_a_segment(page):
    go(page, "library")
    typed(page, "kicks high with the right foot")
    in_address(page, "find=")
    expect(page.locator("loom-cards mark").first).to_be_visible()
    assert places(page)[0] == "kick_front_high_right_p1:21-48"
    assert "kicks" in page.locator("loom-cards .card").first.locator("mark").all_inner_texts()
    page.locator("loom-cards .card").nth(1).click()
    page.wait_for_function("() => studio.take === 'kick_front_high_right_p0'")
    settled(page)
    assert page.evaluate("studio.selection") == {
        "motion": "kick_front_high_right_p0", "start": 23, "end": 50,
    }  # fmt: skip
    assert len(places(page)) > 2  # showing a result does not start a new query

    typed(page, "kick_front_high_right_p0:10-60")
    in_address(page, "query=kick_front")
    expect(page.locator("loom-search-view .card").first).to_be_visible()


def test_every_segment_of_a_take_that_answers_is_a_card(page):
    typed(page, "steps")
    takes = [place.partition(":")[0] for place in places(page)]
    assert len(takes) > len(set(takes))


def test_the_other_foot_comes_last(page):
    typed(page, "kicks with the left foot")
    texts = page.locator("loom-cards .card .text").all_inner_texts()
    wrong = ["differs" in text for text in texts]
    assert "left" in texts[0] and wrong == sorted(wrong)


def test_found_segments_are_ticked_labeled_kept_and_exported(windows, studio_library, tmp_path):
    with StudioServer(shutil.copytree(studio_library, tmp_path / "own.loom")) as server:
        page = windows(server.address)
        typed(page, "kicks high with the right foot")
        expect(page.locator("#select-segments")).to_be_visible()
        first, second = places(page)[:2]
        bar = page.locator("loom-selection-bar")
        for card in (0, 1):
            page.locator("loom-cards .mark").nth(card).click(force=True)
        expect(bar.locator("#picked")).to_have_text("2 segments selected")
        assert serious_findings(page) == []
        bar.locator("#label-all").click()
        page.keyboard.type("high kick")
        page.keyboard.press("Enter")
        expect(page.locator(".notice")).to_contain_text("Labeled 2 segments: high kick")
        bar.locator("#keep").click()
        page.keyboard.type("my kick")
        page.keyboard.press("Enter")
        expect(page.locator(".notice")).to_contain_text("Saved 2 takes as my kick")
        with ml.Library(tmp_path / "own.loom") as library:
            place = f"{first.partition(':')[0]}"
            [(part, said)] = library.labels.segments(place)
            assert f"{place}:{part.start_frame}-{part.end_frame}" == first and said == "high kick"
            assert len(library["my kick 1"]) == part.end_frame - part.start_frame
        bar.locator("#export-all").click()
        bar.locator("#padding").fill("0.2")
        bar.locator("#padding").press("Tab")
        bar.locator("#rate").select_option("60 fps")
        with page.expect_download() as begun:
            bar.locator("#export").click()
        with zipfile.ZipFile(begun.value.path()) as packed:
            rows = json.loads(packed.read("matches.json"))["matches"]
        length = [int(end) - int(start) for start, end in
                  (text.partition(":")[2].split("-") for text in (first, second))]  # fmt: skip
        assert [row["end_frame"] - row["start_frame"] for row in rows] == [n + 12 for n in length]


def test_results_are_walked_through_by_arrow_keys(page):
    typed(page, "walks")
    cards = page.locator("loom-cards .card")
    cards.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    settled(page)
    second = cards.nth(1).get_attribute("data-place")
    assert page.evaluate("studio.take") == second.partition(":")[0]


def test_words_that_nothing_is_described_by_are_named(page):
    typed(page, "zebra")
    expect(page.locator("loom-library-view .unknown")).to_contain_text("“zebra”")
    expect(page.locator("loom-library-view .empty")).to_be_visible()


def test_a_query_that_cannot_be_answered_says_why_in_the_panel(page):
    page.expected += ["api/search", "status of 4"]
    typed(page, "nothing:1-5")
    expect(page.locator("loom-search-view .empty").first).to_contain_text("nothing")


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
        in_address(page, "find=takes")
        settled(page)
        assert f"{SIT}:{chosen[0]}-{chosen[1]}" in places(page)
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
