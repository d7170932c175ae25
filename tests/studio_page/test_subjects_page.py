"""Stage and panel agree: each view shows its own subject, and nothing of another query or view."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from browser import as_at_first, drawn_joints, go, in_address, open_take, settled
from studio_takes import StudioServer

import motionloom as ml

expect = pytest.importorskip("playwright.sync_api").expect

KICK = "kick_front_high_right_p0"
WALK = "walk_p0"
VIEW = "document.querySelector('loom-app').renderRoot.querySelector('loom-{}-view')"
WALKING = VIEW.format("walk")
VIEWS = [
    "library", "search", "aim", "walk", "play", "dance", "crowd", "script", "family", "grid",
    "graph",
]  # fmt: skip
TIMELINE = "document.querySelector('loom-app').renderRoot.querySelector('loom-timeline')"
AXE = Path(__file__).parents[2] / "studio" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def shared(shared_windows, studio_address):
    return shared_windows(studio_address)


@pytest.fixture
def page(shared):
    shared.evaluate("localStorage.clear()")
    shared.set_viewport_size({"width": 1280, "height": 800})
    return as_at_first(shared)


def searched(page, query: str, **settings):
    go(page, "search", query=query, max=12, **settings)
    cards = page.locator("loom-search-view .card")
    expect(cards.first).to_be_visible()
    return cards


def characters(page) -> int:
    return page.evaluate("studio.stage.characters.length")


def test_verdicts_belong_to_a_query(page, tmp_path):
    cards = searched(page, f"{KICK}:10-60")
    for card in (0, 1):
        cards.nth(card).locator(".yes").click()
    bar = page.locator("loom-verdict-counts")
    expect(bar).to_contain_text("2 accepted")

    page.locator("loom-search-view #find").fill(f"{WALK}:10-60")
    page.locator("loom-search-view #find").press("Enter")
    expect(bar).to_contain_text("0 accepted")
    settled(page)
    cards.nth(0).locator(".yes").click()
    page.locator("#export-all").click()
    with page.expect_download() as begun:
        page.locator("#export").click()
    assert begun.value.suggested_filename == f"like_{WALK}_10-60.zip"
    with zipfile.ZipFile(begun.value.path()) as packed:
        listed = json.loads(packed.read("matches.json"))
    assert [each["motion"] for each in listed["matches"]] == [WALK]

    searched(page, f"{KICK}:10-60")
    expect(bar).to_contain_text("2 accepted")


def test_a_new_query_replaces_the_match_on_the_stage(page):
    cards = searched(page, f"{KICK}:10-60")
    cards.nth(2).locator(".open").click()
    page.wait_for_function("() => studio.stage.characters.length === 2")
    in_address(page, "match=")

    page.locator("loom-search-view #find").fill(f"{WALK}:20-80")
    page.locator("loom-search-view #find").press("Enter")
    page.wait_for_function("name => studio.take === name", arg=WALK)
    settled(page)
    assert not page.locator("loom-search-view .card.chosen").count()
    assert page.evaluate("studio.selection") == {"motion": WALK, "start": 20, "end": 80}

    cards.nth(1).locator(".open").click()
    page.wait_for_function("() => studio.stage.characters.length === 2")
    page.expected.append("api/search")
    page.expected.append("status of 4")
    page.locator("loom-search-view #find").fill("nothing:1-5")
    page.locator("loom-search-view #find").press("Enter")
    page.locator(".notice").wait_for()
    settled(page)
    assert (cards.count(), characters(page)) == (0, 0)
    page.locator(".notice button").click()
    expect(page.locator(".notice")).to_have_count(0)


def test_a_reload_shows_the_chosen_match_again(page):
    cards = searched(page, f"{KICK}:10-60")
    cards.nth(2).locator(".open").click()
    page.wait_for_function("() => studio.stage.characters.length === 2")
    name = page.evaluate("studio.stage.characters[1].motion.name")
    page.reload()
    page.wait_for_function("() => window.studio?.stage?.characters.length === 2")
    assert page.evaluate("studio.stage.characters[1].motion.name") == name
    expect(cards.nth(2)).to_have_class(re.compile("chosen"))


def test_the_first_reject_moves_nothing(page):
    cards = searched(page, f"{KICK}:10-60")
    before = cards.nth(5).bounding_box()
    cards.nth(1).locator(".no").click(force=True)
    expect(page.locator("loom-verdict-counts")).to_contain_text("1 rejected")
    settled(page)
    assert cards.nth(5).bounding_box() == before


def test_the_subject_stays_with_its_timeline_until_a_view_shows_its_own(page):
    for view in ("search", "grid", "graph", "dance", "crowd", "family"):
        open_take(page, KICK)
        go(page, view)
        assert page.evaluate("studio.take") == KICK
        assert characters(page) == 1, view
        assert page.evaluate(f"{TIMELINE}.strips.motion.name") == KICK
    assert KICK in page.locator("header a", has_text="Library").get_attribute("href")


def test_the_window_title_names_subject_view_and_library(page):
    open_take(page, WALK)
    assert page.title() == f"{WALK} · Library · small"
    go(page, "crowd")
    assert page.title() == f"{WALK} · Dance: Crowd · small"


def test_another_take_is_framed_although_the_camera_was_moved(page):
    open_take(page, WALK)
    page.evaluate("""() => { const { rig } = studio.stage; rig.touched = true;
        rig.camera.position.multiplyScalar(6); rig.controls.update(); }""")
    far = page.evaluate("studio.stage.rig.distance")
    open_take(page, WALK)  # the same again: the camera stays
    assert page.evaluate("studio.stage.rig.distance") == pytest.approx(far, rel=0.2)
    open_take(page, KICK)
    assert page.evaluate("studio.stage.rig.distance") < 0.5 * far


def test_the_follow_button_is_correct_during_and_after_dragging_a_target(page):
    follow = page.locator("[data-display=follow]")
    go(page, "aim")
    expect(follow).to_be_disabled()
    expect(follow).to_have_attribute("aria-pressed", "false")
    go(page, "library")
    expect(follow).to_be_enabled()
    expect(follow).to_have_attribute("aria-pressed", "true")


def test_escape_closes_a_menu_before_it_clears_the_selection(page):
    open_take(page, WALK)
    page.evaluate("studio.select({ motion: 'walk_p0', start: 5, end: 30 })")
    page.locator("loom-stage-bar summary", has_text="Trails").click()
    page.keyboard.press("Escape")
    assert not page.locator("loom-stage-bar details[open]").count()
    assert page.evaluate("studio.selection !== null")
    page.keyboard.press("Escape")
    assert page.evaluate("studio.selection === null")


def test_transitions_of_all_takes_need_no_label(page):
    go(page, "graph")
    page.locator("loom-graph-form #build").click()
    in_address(page, "all=1")


def test_a_path_is_drawn_on_a_stage_that_stands_still(page):
    go(page, "walk", only="walk_p0,walk_left_p0,walk_right_p0", per_minute=90)
    page.wait_for_function(f"() => {WALKING}?.drawn")
    page.locator("loom-walk-view #walk").click()
    page.wait_for_function(f"() => {WALKING}.walker?.motion?.frames > 2")
    in_address(page, "walk=1")
    page.locator("loom-walk-view #draw").click()
    assert page.evaluate(
        f"[{WALKING}.walker, studio.stage.clock.playing, studio.stage.follows]"
    ) == [
        None,
        False,
        False,
    ]
    page.keyboard.press("Escape")
    assert page.evaluate(f"[{WALKING}.drawing, studio.stage.follows]") == [False, True]

    points = page.locator("loom-walk-view #points")  # a path without a pointer
    points.fill("0,0 1.5,0 1.5,1")
    points.press("Enter")
    page.wait_for_function(f"() => {WALKING}.pathError !== null && !{WALKING}.busy")
    in_address(page, "path=")
    page.reload()
    page.wait_for_function(f"() => {WALKING}?.pathError !== null && {WALKING}?.path.length === 3")


def test_a_song_dropped_on_the_stage_is_danced_to_and_not_imported(page):
    page.evaluate("""() => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array([1, 2, 3])], "song.mid"));
        window.imported = 0;
        const send = window.fetch;
        window.fetch = (url, ...rest) => {
            if (String(url).includes("/uploads")) window.imported++;
            return send(url, ...rest); };
        document.querySelector("loom-app").renderRoot.querySelector("main").dispatchEvent(
            new DragEvent("drop", { dataTransfer: data, bubbles: true, composed: true })); }""")
    page.expected += ["dance/music", "status of 4"]
    page.locator(".notice").wait_for()
    assert page.evaluate("[studio.route.view, window.imported]") == ["dance", 0]
    said = page.locator(".notice").inner_text()
    assert "song.mid" in said and "tmp" not in said


def test_takes_are_one_tab_stop_and_arrows_move_between_them(page):
    cards = page.locator("loom-cards .card")
    expect(cards.first).to_be_visible()
    assert page.locator("loom-cards .card[tabindex='0']").count() == 1
    page.locator("loom-cards .card[tabindex='0']").focus()
    page.keyboard.press("End")
    last = page.evaluate("studio.library.motions.at(-1).name")
    page.wait_for_function(
        """name => document.querySelector("loom-app").renderRoot.querySelector("loom-library-view")
            .renderRoot.querySelector("loom-cards").renderRoot.activeElement
            ?.dataset.place === name""",
        arg=last,
    )
    page.keyboard.press("Enter")
    page.wait_for_function("name => studio.take === name", arg=last)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_fits_a_phone_and_a_zoomed_window(page, view):
    open_take(page, WALK)
    go(page, view)
    for width, height in ((390, 844), (720, 450), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        settled(page)
        wide = page.evaluate("document.documentElement.scrollWidth")
        panel = page.evaluate("""() => {
            const aside = document.querySelector("loom-app").renderRoot.querySelector("aside");
            return aside.scrollWidth - aside.clientWidth; }""")
        assert wide <= width and panel <= 0, (view, width, wide, panel)
        parts = page.evaluate("""() => ["aside", "#stage canvas"].map((part) => {
            const box = document.querySelector("loom-app").renderRoot.querySelector(part)
                .getBoundingClientRect();
            return [box.left, box.right]; })""")
        assert all(left >= 0 and right < width + 1 for left, right in parts), (view, width, parts)
        if width == 390:  # each has the whole width: neither is squeezed by the other
            assert all(right - left > 0.9 * width for left, right in parts), (view, parts)


@pytest.mark.parametrize("view", ["walk", "dance", "play", "script"])
def test_the_content_of_a_view_is_on_the_first_screen_of_a_phone(windows, studio_address, view):
    page = windows(f"{studio_address}#/{view}", width=390, height=844)
    panel = page.locator("loom-app aside").bounding_box()
    assert panel["y"] < 0.2 * 844  # not below an empty stage and a timeline without frames


def test_takes_stay_in_reach_in_a_zoomed_window(page):
    page.set_viewport_size({"width": 720, "height": 450})
    open_take(page, WALK)
    card = page.locator("loom-cards .card").first
    card.scroll_into_view_if_needed()
    expect(card).to_be_in_viewport(ratio=0.5)


def serious_findings(page) -> list:
    """Rules of axe-core that the page breaks seriously, with the elements."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (npm ci in studio/)")
    page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
    return page.evaluate("""async () => (await axe.run(document, { resultTypes: ["violations"] }))
        .violations.filter((one) => ["serious", "critical"].includes(one.impact))
        .map((one) => [one.id, one.nodes.slice(0, 4).map((node) => node.html.slice(0, 160)
            + " | " + node.failureSummary.slice(0, 300))])""")


def test_axe_looks_into_the_views(page):
    page.evaluate("""() => {
        const { renderRoot } = document.querySelector("loom-app").renderRoot
            .querySelector("loom-library-view");
        const picture = Object.assign(document.createElement("img"), { id: "bad", width: 9 });
        renderRoot.append(picture); }""")
    results = serious_findings(page)
    page.evaluate("""() => document.querySelector("loom-app").renderRoot
        .querySelector("loom-library-view").renderRoot.querySelector("#bad").remove()""")
    assert [rule for rule, _ in results] == ["image-alt"]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_no_view_has_a_serious_finding_of_axe(page, view, scheme):
    page.emulate_media(color_scheme=scheme)
    open_take(page, KICK)
    page.evaluate("studio.stage.clock.pause()")
    if view == "search":
        cards = searched(page, f"{KICK}:10-60")
        cards.nth(1).locator(".no").click(force=True)
        cards.nth(2).locator(".open").click()
    else:
        go(page, view)
    for width, height in ((1280, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        settled(page)
        results = serious_findings(page)
        assert not results, (width, json.dumps(results, indent=1))


_OPENED = """() => {
    const opened = [];
    const visit = (root) => {
        for (const one of root.querySelectorAll("*")) {
            if (one.localName === "details") { one.open = true; opened.push(one); }
            if (one.shadowRoot) visit(one.shadowRoot);
        }
    };
    visit(document);
    return opened.length; }"""


@pytest.mark.parametrize("view", ["library", "search"])
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_nothing_that_is_opened_has_a_serious_finding_of_axe(page, view, scheme):
    """Menus, curves of joints, several views at once, and the list of keys."""
    page.emulate_media(color_scheme=scheme)
    open_take(page, KICK)
    page.evaluate("studio.stage.clock.pause()")
    go(page, view)
    page.locator("#curves summary").click()
    page.locator("#curve-of").select_option("pair:ankle")
    page.locator("#curve-kind").select_option("height")
    page.locator("#add-curve").click()
    page.evaluate("studio.stage.set({ split: 'four' })")
    assert page.evaluate("studio.stage.panes.length") == 4
    assert page.evaluate(_OPENED) >= 6
    settled(page)
    results = serious_findings(page)
    assert not results, json.dumps(results, indent=1)
    page.evaluate("studio.showHelp(true)")
    settled(page)
    results = serious_findings(page)
    assert not results, json.dumps(results, indent=1)


def test_one_bar_finds_labels_saves_and_downloads_the_subject(page, tmp_path):
    open_take(page, WALK)
    bar = page.locator("loom-subject-bar")
    expect(bar.locator("#subject")).to_have_text(WALK)
    page.evaluate("studio.select({ motion: 'walk_p0', start: 20, end: 60 })")
    expect(bar.locator("#subject")).to_have_text("walk_p0:20-60")
    bar.get_by_text("Download").click()
    with page.expect_download() as begun:
        bar.get_by_role("button", name="BVH").click()
    assert begun.value.suggested_filename == "walk_p0_20-60.bvh"
    begun.value.save_as(tmp_path / "part.bvh")
    assert len(ml.load(tmp_path / "part.bvh")) == 40

    bar.get_by_text("Find like this").click()
    in_address(page, "query=walk_p0%3A20-60")
    cards = page.locator("loom-search-view .card")
    cards.nth(1).locator(".open").click()
    page.wait_for_function("() => studio.stage.characters.length === 2")
    match = page.evaluate("studio.subject.title")
    expect(bar.locator("#subject")).to_have_text(match)
    assert re.fullmatch(r"\w+:\d+-\d+", match)


def test_a_walk_is_kept_as_a_take_without_typing_more_than_its_name(
    windows, studio_library, tmp_path
):
    with StudioServer(shutil.copytree(studio_library, tmp_path / "own.loom")) as server:
        page = windows(
            f"{server.address}#/walk?only=walk_p0,walk_left_p0,walk_right_p0&per_minute=90"
            "&path=0,0 1.5,0 1.5,1"
        )
        page.wait_for_function(f"() => {WALKING}?.pathError !== null && !{WALKING}?.busy")
        bar = page.locator("loom-subject-bar")
        bar.locator("#keep").click()
        bar.locator("form input").fill("round the corner")
        page.keyboard.press("Enter")
        expect(page.locator(".notice")).to_contain_text("Saved as round the corner")
        frames = page.evaluate("studio.stage.characters[0].motion.frames")
        go(page, "library", take="round the corner")
        bar.locator("#label-it").click()
        bar.locator("form input").fill("kept walk")
        page.keyboard.press("Enter")
        expect(page.locator(".notice")).to_contain_text("Labeled round the corner: kept walk")
        with ml.Library(tmp_path / "own.loom") as library:
            assert len(library["round the corner"]) == frames
            assert library.labels["round the corner"] == ("kept walk",)


def test_a_body_is_drawn_for_all_characters_of_a_skeleton_at_once(page):
    open_take(page, WALK)
    page.evaluate("studio.stage.set({ body: true })")
    page.wait_for_function("() => studio.stage.bodies.group.children.length === 1")
    single = page.evaluate("(studio.stage.draw(), studio.stage.renderer.info.render.calls)")
    page.evaluate("""() => { const { motion } = studio.stage.characters[0];
        studio.show([0, 1, 2].map((at) => ({ motion, at: 0,
            transform: { yaw: 0, translation: [at, 0, 0] } })));
        studio.stage.set({ path: false }); }""")
    three = page.evaluate("(studio.stage.draw(), studio.stage.renderer.info.render.calls)")
    assert three <= single
    page.evaluate("(studio.stage.home(), studio.stage.freeze(0.5))")
    assert drawn_joints(page, 1).mean() > 0.8


def test_beats_are_dragged_added_and_kept(windows, studio_library, tmp_path):
    with StudioServer(shutil.copytree(studio_library, tmp_path / "own.loom")) as server:
        page = windows(f"{server.address}#/library?take=dance_groove_p0")
        timeline = "document.querySelector('loom-app').renderRoot.querySelector('loom-timeline')"
        page.wait_for_function(f"() => {timeline}.strips?.beats.length > 3")
        page.locator("loom-timeline #edit-beats").click()
        before = page.evaluate(f"[...{timeline}.strips.beats]")
        at = page.evaluate(
            f"""() => {{ const it = {timeline}; const box = it.headCanvas.getBoundingClientRect();
            const x = it.axis.x(it.strips.timeOf(0) + it.strips.beats[2], it.width);
            return [box.left + x, box.top + box.height - 12]; }}"""
        )
        page.mouse.move(*at)
        page.mouse.down()
        page.mouse.move(at[0] + 15, at[1])
        with page.expect_response(lambda each: each.request.method == "PUT"):
            page.mouse.up()
        settled(page)
        after = page.evaluate(f"{timeline}.strips.beats")
        assert len(after) == len(before) and after[2] > before[2] + 0.01
        with ml.Library(tmp_path / "own.loom") as library:
            assert library.beats["dance_groove_p0"].times[2] == pytest.approx(after[2], abs=1e-3)
