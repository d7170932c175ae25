"""Dance view in the browser: in time with the sound, after the pointer, at a tempo."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
import wave

import numpy as np
import pytest
from browser import drawn_joints, go, open_take, settled
from waiting import wait_until

PLAYED = "#/dance?label=dance_groove&music=tune&seed=1"

VIEW = "document.querySelector('loom-app').shadowRoot.querySelector('loom-dance-view')"
# The audible time, the time of a frame drawn now, and the audible time again. The sound goes on
# in a thread of its own, so the frame is in time if it lies between the two, however long the
# page was kept from its processor. Then the time of the sound card, the one clock used here.
HEARD = f"""() => {{
    const {{ clock }} = studio.stage, {{ context }} = {VIEW}.track;
    const before = clock.master();
    clock.advance(0);
    return [before, clock.time, clock.master(), context.currentTime]; }}"""
LATENCY = 1 / 60  # seconds: the browser estimates the audio latency again


def danced(windows, studio_address):
    page = windows(studio_address + PLAYED)
    page.wait_for_selector("#on-time")
    page.wait_for_function("() => studio.stage.clock.playing && studio.stage.clock.time > 0.5")
    return page


def test_the_stage_is_in_time_with_the_sound(windows, studio_address):
    page = danced(windows, studio_address)
    page.evaluate("studio.stage.clock.seek(0.1)")  # far from the end, where it begins again
    for _ in range(5):
        shown = in_time(page)[0]
        page.wait_for_function("shown => studio.stage.clock.time > shown + 0.15", arg=shown)
    sought = page.evaluate(f"(studio.stage.clock.seek(6.0), {VIEW}.track.context.currentTime)")
    page.wait_for_function("() => studio.stage.clock.time > 6.1")
    shown, now = in_time(page)
    assert 6.0 < shown <= 6.0 + now - sought + LATENCY  # it has played since, and from there
    pausing_stops_the_sound_and_playing_goes_on_there(page)


def in_time(page) -> tuple[float, float]:
    """Assert that a frame is drawn in time with the sound; its time and that of the sound card."""
    before, shown, after, now = page.evaluate(HEARD)
    assert before - LATENCY <= shown <= after + LATENCY
    return shown, now


def test_beats_are_heard_when_they_are_danced(windows, studio_address, tmp_path):
    page = danced(windows, studio_address)
    strip = page.evaluate(
        "(({ music, motion, tolerance }) => ({ music, motion, tolerance }))(studio.subject.score)"
    )
    music, motion = np.array(strip["music"]), np.array(strip["motion"])
    inner = music[2:-2]
    off = np.abs(motion[None] - inner[:, None]).min(axis=1)
    assert np.mean(off <= strip["tolerance"] + 1e-6) >= 0.95
    key = page.evaluate(
        "document.querySelector('loom-app').shadowRoot.querySelector('loom-dance-view').music.id"
    )
    sound = page.request.get(f"{studio_address}api/dance/music/{key}/sound").body()
    loud = _loudness(sound)
    for beat in inner:
        before, after = loud(beat - 0.02), loud(beat + 0.005)
        assert after > 1.5 * before
    page.evaluate("studio.stage.freeze(3.0)")
    assert drawn_joints(page, 0).mean() > 0.8
    the_command_shown_makes_the_same_dance(page, tmp_path)


def the_command_shown_makes_the_same_dance(page, folder):
    command = page.locator("loom-dance-view loom-code").get_attribute("cli")
    danced = page.evaluate(
        "document.querySelector('loom-app').shadowRoot.querySelector('loom-dance-view').dance"
    )
    words = shlex.split(command.replace("dance.glb", str(folder / "dance.glb")))
    assert words.pop(0) == "motionloom"
    run = [sys.executable, "-c", "from motionloom.cli import main; main()", *words, "--json"]
    printed = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    assert printed["nodes"] == danced["nodes"]
    assert printed["beats_within_one_frame"] == danced["beats_within_one_frame"]


def pausing_stops_the_sound_and_playing_goes_on_there(page):
    page.evaluate("studio.stage.clock.pause()")
    paused = page.evaluate("studio.stage.clock.time")
    assert page.evaluate("studio.stage.clock.master()") is None
    page.evaluate("studio.stage.clock.play()")
    page.wait_for_function(f"() => studio.stage.clock.time > {paused} + 0.2")
    assert page.evaluate("studio.stage.clock.master()") > paused


def test_the_live_dance_follows_the_pointer_and_the_slider(windows, studio_address):
    page = windows(studio_address + "#/dance?label=dance_groove")
    page.click("#follow:not([disabled])")
    page.wait_for_function("() => studio.stage.characters.length && studio.stage.clock.time > 0.5")
    box = page.locator("#stage canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.7)
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] * 0.75)
    aim = page.evaluate(
        "(() => { const v = document.querySelector('loom-app').shadowRoot"
        ".querySelector('loom-dance-view'); return v.live.target; })()"
    )
    assert len(aim) == 2
    page.evaluate(
        "document.querySelector('loom-app').shadowRoot.querySelector('loom-dance-view')"
        ".live.tempo = 150"
    )
    frames = page.evaluate("studio.stage.characters[0].spec.motion.frames")
    page.wait_for_function(f"() => studio.stage.characters[0].spec.motion.frames > {frames} + 60")
    page.click("#follow")
    assert page.evaluate("studio.stage.clock.playing") is False


@pytest.mark.parametrize("awaited", ["**/api/dance/performances", "**/api/dance/music/*/sound"])
def test_a_dance_that_is_no_longer_wanted_stays_away(windows, studio_address, awaited):
    page, delayed, ended = windows(studio_address), [], []
    for event in ("requestfinished", "requestfailed"):  # the page gives it up, or drops its answer
        page.on(event, lambda request: ended.append(request))
    page.route(awaited, lambda route: delayed.append(route))
    with page.expect_request(awaited):
        go(page, "dance", wait=False, label="dance_groove", music="tune", seed="2")
    wait_until(lambda: page.evaluate("1") and delayed, "the request is held")
    open_take(page, "walk_p0", wait=False)  # before the answer comes
    delayed[0].continue_()
    wait_until(lambda: page.evaluate("1") and delayed[0].request in ended, "the request has ended")
    settled(page)
    assert page.evaluate("[studio.take, studio.stage.clock.master]") == ["walk_p0", None]
    assert page.evaluate("studio.stage.characters.map((one) => one.motion.name)") == ["walk_p0"]


def _loudness(sound: bytes):
    with wave.open(io.BytesIO(sound)) as file:
        rate = file.getframerate()
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float64)

    def around(seconds: float) -> float:
        first = max(round(seconds * rate), 0)
        part = samples[first : first + round(0.012 * rate)]
        return float(np.sqrt(np.mean(part**2))) + 1.0

    return around
