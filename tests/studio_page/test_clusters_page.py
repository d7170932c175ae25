"""Groups of similar takes, and actions on several takes."""

from __future__ import annotations

import pytest
from browser import go, in_address, settled
from playwright.sync_api import expect
from studio_takes import StudioServer
from test_subjects_page import serious_findings
from waiting import wait_until

import motionloom as ml
from motionloom import demo

NAMES = (
    "walk_p0", "walk_p1", "walk_left_p0", "walk_right_p0", "kick_front_high_right_p0",
    "kick_front_high_right_p1", "kick_front_mid_right_p0", "dance_groove_p0",
)  # fmt: skip


@pytest.fixture
def unlabeled(windows, tmp_path):
    """A page of a library without labels, and the library."""
    library = ml.Library.create(tmp_path / "clusters.loom", fps=30.0)
    for name in NAMES:
        library.add_motion(demo.clip(name), name=name)
    with StudioServer(library.path) as server:
        yield windows(server.address), library


def groups(page, word: str):
    return page.locator(f"loom-cards .card[data-group*={word}]")


def test_unlabeled_takes_are_grouped_by_themselves_and_labeled_at_once(unlabeled):
    page, library = unlabeled
    expect(page.locator("#count")).to_contain_text("takes")  # takes at first, without waiting
    kicks = groups(page, "kick").first
    expect(kicks).to_contain_text("3 takes")
    assert serious_findings(page) == []
    page.get_by_role("button", name="Label all: kick right, 3 takes").click()
    expect(page.locator(".notice")).to_contain_text("Labeled 3 takes: kick right")
    assert len(library.labels.motions("kick right")) == 3
    page.keyboard.press("Control+z")
    expect(page.locator(".notice")).to_contain_text("Undone: label")
    assert library.labels.counts() == {}


def test_groups_are_shown_before_their_names_are_known(unlabeled):
    page, _ = unlabeled
    expect(groups(page, "kick").first).to_be_visible()
    stopped = []
    page.route(  # the names do not come until the test lets them
        "**/api/clusters",
        lambda route: route.continue_() if '"names":false' in route.request.post_data
        else stopped.append(route),
    )  # fmt: skip
    page.locator("#groups").click()
    page.locator("#size").select_option("coarser")
    expect(page.locator("#count")).to_contain_text("their names follow")
    expect(groups(page, "kick")).to_have_count(0)
    # Events of the page, such as this request, are handled only while a call of it runs.
    wait_until(lambda: page.evaluate("1") and stopped, "a request for the names")
    stopped[0].continue_()
    expect(page.locator("#count")).not_to_contain_text("their names follow")


def test_groups_come_back_when_their_size_is_changed_twice(unlabeled):
    page, _ = unlabeled
    expect(groups(page, "kick").first).to_be_visible()
    page.locator("#groups").click()
    before = page.locator("loom-cards .card").count()
    stopped = []
    page.route(  # the names of the coarser groups do not come
        "**/api/clusters",
        lambda route: route.continue_() if '"names":false' in route.request.post_data
        or '"fineness"' not in route.request.post_data else stopped.append(route),
    )  # fmt: skip
    page.locator("#size").select_option("coarser")
    expect(page.locator("#count")).to_contain_text("their names follow")
    wait_until(lambda: page.evaluate("1") and stopped, "a request for the names")
    page.locator("#size").select_option("usual")
    expect(groups(page, "kick").first).to_be_visible()
    expect(page.locator("#count")).not_to_contain_text("their names follow")
    assert page.locator("loom-cards .card").count() == before


def test_visits_of_groups_start_one_job_and_keep_their_size(unlabeled):
    page, _ = unlabeled
    jobs = "async () => (await (await fetch('api/jobs')).json()).map((job) => job.title)"
    expect(groups(page, "kick").first).to_be_visible()
    page.locator("#groups").click()
    page.locator("#size").select_option("coarser")
    settled(page)
    expect(page.locator("#count")).not_to_contain_text("their names follow")
    count = page.evaluate(jobs).count("grouping takes into clusters")
    for _ in range(3):
        go(page, "aim")
        page.locator("nav a", has_text="Library").click()
        expect(page.locator("loom-cards .group").first).to_be_visible()
        settled(page)
    expect(page.locator("#size")).to_have_value("coarser")
    assert page.evaluate(jobs).count("grouping takes into clusters") == count <= 4


def test_an_opened_group_filters_the_list(unlabeled):
    page, _ = unlabeled
    groups(page, "kick").first.click()
    expect(page.locator("#count")).to_contain_text("3 takes")
    cards = page.locator("loom-cards .card")
    expect(cards).to_have_count(3)
    assert all(
        "kick" in name for name in cards.evaluate_all("all => all.map(o => o.dataset.place)")
    )
    page.wait_for_function("() => studio.take?.startsWith('kick')")
    page.locator("#all-groups").click()
    expect(page.locator("loom-cards .group").first).to_be_visible()


def test_groups_are_renamed_merged_and_split(unlabeled):
    page, library = unlabeled
    expect(groups(page, "kick").first).to_be_visible()
    name = page.get_by_label("Name of 3 takes").first
    expect(name).to_have_value("kick right")
    name.fill("high kick")
    name.press("Enter")
    renamed = page.locator("loom-cards .card[data-group='high kick']")
    expect(renamed.first).to_be_visible()
    before = page.locator("loom-cards .group").count()
    for card in (renamed.first, groups(page, "walk").first):
        card.click(modifiers=["Control"])
    page.locator("#merge").click()
    expect(page.locator("loom-cards .group")).to_have_count(before - 1)
    merged = page.locator("loom-cards .card", has_text="takes,").first
    page.locator("#unpick").click()
    merged.hover()
    page.locator("loom-cards .slot:hover .split").click()
    settled(page)
    assert page.locator("loom-cards .group").count() >= before
    assert library.labels.counts() == {}


def test_several_takes_are_labeled_renamed_deleted_and_restored_by_keyboard(unlabeled):
    page, library = unlabeled
    # The timeline may ask for the take on the stage at the moment of its renaming.
    page.expected += ["/strips", "/words", "/beats"]
    page.locator("#takes").click()
    expect(page.locator("loom-cards .card")).to_have_count(len(NAMES))
    page.locator("loom-cards .card[tabindex='0']").focus()
    page.keyboard.press("Home")
    page.keyboard.press("x")
    bar = page.locator("loom-selection-bar")
    expect(bar.locator("#picked")).to_have_text("1 take selected")
    assert serious_findings(page) == []
    first = page.evaluate("[...studio.picked][0]")
    bar.locator("#rename").focus()
    page.keyboard.press("Enter")
    expect(bar.locator("form input")).to_be_focused()
    page.keyboard.type("the first")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text(f"Renamed {first} to the first")
    assert "the first" in library and first not in library
    page.locator("loom-cards .card[tabindex='0']").focus()
    page.keyboard.press("Control+a")
    expect(bar.locator("#picked")).to_have_text("8 takes selected")
    bar.locator("#delete").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("Deleted 8 takes")
    assert library.names == ()
    page.keyboard.press("Control+z")
    expect(page.locator(".notice")).to_contain_text("Undone: remove")
    settled(page)
    page.keyboard.press("Control+z")
    expect(page.locator(".notice")).to_contain_text("Undone: rename")
    assert library.names == tuple(sorted(NAMES))


def test_walk_dance_and_parametrize_begin_with_the_selected_takes(unlabeled):
    page, _ = unlabeled
    groups(page, "kick").first.click()
    bar = page.locator("loom-selection-bar")
    expect(bar.locator("#picked")).to_have_text("3 takes selected")
    picked = page.evaluate("[...studio.picked]")
    bar.locator("#parametrize-these").click()
    in_address(page, "takes=")
    form = page.locator("loom-aim-form")
    expect(form).to_contain_text("3 selected takes")
    expect(form).to_contain_text(f"{picked[0]} is the first example")
    page.go_back()
    expect(bar.locator("#picked")).to_have_text("3 takes selected")
    bar.locator("#export-all").click()
    bar.locator("#format").select_option("FBX")
    with page.expect_download() as begun:
        bar.locator("#export").click()
    assert begun.value.suggested_filename == "kick_right.zip"


def test_a_controller_is_made_of_a_pile_and_of_a_selection(unlabeled):
    page, _ = unlabeled
    walks = groups(page, "walk").first
    expect(walks).to_be_visible()
    walks.click(modifiers=["Control"])
    assert serious_findings(page) == []
    page.locator("#controller-of-these").click()
    in_address(page, "play?only=")
    picked = page.evaluate("[...studio.picked]")
    assert picked and all(name.startswith("walk") for name in picked)
    picker = page.locator("loom-play-view loom-take-picker")
    expect(picker.locator(".chip")).to_have_count(len(picked))
    expect(page.locator("loom-play-view #play")).to_be_visible()
    assert page.evaluate("studio.route.query.only").split(",") == picked
    page.go_back()
    bar = page.locator("loom-selection-bar")
    expect(bar.locator("#picked")).to_have_text(f"{len(picked)} takes selected")
    bar.locator("#controller-of-these").click()
    in_address(page, "play?only=")


@pytest.mark.parametrize("view", ["graph", "walk", "dance", "play"])
def test_takes_are_chosen_by_mouse_or_keyboard_and_not_typed(unlabeled, view):
    page, _ = unlabeled
    page.evaluate("view => studio.go(view)", view)
    picker = page.locator(f"loom-{view}-view loom-take-picker")
    picker.locator("#choose").focus()
    page.keyboard.press("Enter")
    expect(picker.locator("#find")).to_be_focused()
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "Enter", "Enter"):
        page.keyboard.press(key)
    expect(picker.locator(".chip")).to_have_count(2)
    picker.locator("#found option").last.click()
    expect(picker.locator(".chip")).to_have_count(3)
    assert serious_findings(page) == []
    picker.locator(".chip button").first.click()
    expect(picker.locator(".chip")).to_have_count(2)
    chosen = [text.strip("×\n ") for text in picker.locator(".chip").all_inner_texts()]
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    button = "#build" if view == "graph" else "#use-chosen"
    page.expected += ["status of 4", "api/", "jobs"]  # any two takes need not dance
    page.locator(f"loom-{view}-view {button}").click()
    names = page.evaluate("decodeURIComponent(location.hash)").replace("+", " ")
    assert ",".join(chosen) in names
