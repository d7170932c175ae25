"""Faults of the first edition with a page of their own: libraries, sound, counts, dots, jobs."""

from __future__ import annotations

import shutil

from browser import go, settled
from playwright.sync_api import expect
from studio_takes import StudioServer, corpus_library
from test_subjects_page import serious_findings

from motionloom.demo.tunes import write_tune

QUERY = "kick_front_high_right_p0:10-60"
DANCE = "document.querySelector('loom-app').shadowRoot.querySelector('loom-dance-view')"


def test_a_recreated_library_at_the_same_path_has_no_verdicts(windows, studio_library, tmp_path):
    path = shutil.copytree(studio_library, tmp_path / "own.loom")
    with StudioServer(path) as server:
        page = windows(server.address)
        go(page, "search", query=QUERY)
        page.locator("loom-search-view .card").nth(1).locator(".yes").click(force=True)
        expect(page.locator("loom-verdict-counts b")).to_have_text("1")
        server.stop()
        shutil.rmtree(path)
        corpus_library(path, [QUERY.partition(":")[0], "kick_front_mid_right_p0"]).close()
        page.expected += ["ERR_CONNECTION", "WebSocket", "api/"]
        server.restart()
        page.reload()
        page.wait_for_function("() => window.studio && studio.library.motions.length === 2")
        expect(page.locator("loom-search-view .card").first).to_be_visible()
        expect(page.locator("loom-verdict-counts b")).to_have_text("0")


def test_error_notices_go_away_by_themselves(windows, studio_address):
    page = windows(studio_address)
    page.evaluate("""() => { const real = window.setTimeout; window.held = [];
        window.setTimeout = (call, wait, ...more) =>
            wait >= 1000 ? window.held.push(call) : real(call, wait, ...more); }""")
    page.expected += ["api/search", "status of 4"]
    go(page, "search", query="nothing:1-5")
    expect(page.locator(".notice")).to_contain_text("nothing")
    page.evaluate("window.held.splice(0).forEach((call) => call())")  # as if time had passed
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
    assert page.locator(".notice").count() == 0


def test_sound_is_silent_while_the_dance_plays_backwards(windows, studio_address):
    page = windows(f"{studio_address}#/dance?label=dance_groove&music=tune&seed=1")
    page.wait_for_function(f"() => {DANCE}?.track && studio.stage.clock.time > 0.3")
    assert page.evaluate(f"{DANCE}.track.source !== undefined")
    page.keyboard.press("j")
    page.wait_for_function(
        "() => studio.stage.clock.direction === -1 && studio.stage.clock.playing"
    )
    assert page.evaluate(f"{DANCE}.track.source === undefined")
    page.keyboard.press("l")
    page.wait_for_function(f"() => {DANCE}.track.source !== undefined")


def test_the_command_of_a_dance_names_the_song_after_a_reload(windows, studio_address, tmp_path):
    song = write_tune(tmp_path / "my song.mid", bars=3, meter=4, tempo_bpm=100)
    page = windows(f"{studio_address}#/dance?label=dance_groove")
    page.locator("loom-dance-view #song").set_input_files(song)
    code = page.locator("loom-dance-view loom-code").first
    expect(code).to_contain_text("'my song.mid'")
    settled(page)
    page.reload()
    expect(page.locator("loom-dance-view loom-code").first).to_contain_text("'my song.mid'")


def test_counts_and_durations_are_said_as_people_say_them(windows, studio_address):
    page = windows(f"{studio_address}#/library?find=cartwheel")
    expect(page.locator("loom-library-view #count")).to_contain_text("1 take")
    page.evaluate("""() => { const { library } = studio;
        const motions = library.motions.map((row) => ({ ...row, seconds: 31260 }));
        studio.set({ library: { ...library, motions } }); }""")
    page.evaluate("studio.go('library', { find: 'waltz_leader_p0' })")
    expect(page.locator("loom-library-view #count")).to_have_text("1 take, 8 h 41 min")


def test_dots_stay_while_a_target_is_dragged(windows, studio_address):
    page = windows(studio_address, wait=False)
    kept = page.evaluate("""async () => {
        const plot = document.createElement("loom-scatter");
        await customElements.whenDefined("loom-scatter");
        let reads = 0;
        const values = Float32Array.from({ length: 400 }, (_, k) => Math.sin(k));
        const samples = new Proxy(values, { get: (all, key) => {
            if (typeof key === "string" && /^[0-9]+$/.test(key)) reads++;
            const value = Reflect.get(all, key, all);
            return typeof value === "function" ? value.bind(all) : value; } });
        Object.assign(plot, { names: ["x", "y"], columns: [0, 1], samples,
            examples: values.slice(0, 4), target: [0, 0], reached: [] });
        document.body.append(plot);
        await plot.updateComplete;
        const dots = [...plot.renderRoot.querySelectorAll(".sample")];
        const first = reads;
        for (let k = 0; k < 5; k++) { plot.target = [k / 9, 0]; await plot.updateComplete; }
        const now = [...plot.renderRoot.querySelectorAll(".sample")];
        const same = now.every((dot, k) => dot === dots[k]);
        plot.remove();
        return [dots.length, first, reads - first, same]; }""")
    count, first, more, same = kept
    assert (
        count == 200 and first <= 5 * 400
    )  # a pass per axis and one for the dots, not one per dot
    assert more == 0 and same


def test_jobs_of_all_windows_are_in_one_list(windows, studio_address):
    first, second = windows(studio_address), windows(studio_address)
    go(first, "library", show="groups")
    expect(first.locator("loom-cards .group").first).to_be_visible()
    summary = second.locator("loom-jobs summary")
    expect(summary).to_be_visible()
    summary.click()
    job = second.locator("loom-jobs li", has_text="grouping takes into clusters").first
    expect(job).to_contain_text("grouping takes into clusters: done")
    assert serious_findings(second) == []
    job.get_by_role("link", name="show the result").click()
    expect(second.locator("loom-cards .group").first).to_be_visible()
    summary.click()
    second.keyboard.press("Escape")
    expect(second.locator("loom-jobs ul")).to_be_hidden()
