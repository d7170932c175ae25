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
from browser import drawn_joints, go, open_take

PLAYED = "#/dance?within=dance_groove&music=tune&seed=1"

# Clock and sound at one moment: the time of a frame drawn now, and the audible time.
BOTH = "(studio.stage.clock.advance(0), [studio.stage.clock.time, studio.stage.clock.master()])"


def danced(windows, studio_address):
    page = windows(studio_address + PLAYED)
    page.wait_for_selector("#on-time")
    page.wait_for_function("() => studio.stage.clock.playing && studio.stage.clock.time > 0.5")
    return page


def test_the_stage_is_in_time_with_the_sound(windows, studio_address):
    page = danced(windows, studio_address)
    for _ in range(5):
        shown, audible = page.evaluate(BOTH)
        assert abs(shown - audible) < 1 / 60
        page.wait_for_timeout(150)
    later, _ = page.evaluate(BOTH)
    assert later > shown
    page.evaluate("studio.stage.clock.seek(6.0)")
    page.wait_for_function("() => studio.stage.clock.time > 6.1")
    shown, audible = page.evaluate(BOTH)
    assert 6.0 < audible < 20.0
    assert abs(shown - audible) < 1 / 60
    pausing_stops_the_sound_and_playing_goes_on_there(page)


def test_beats_are_heard_when_they_are_danced(windows, studio_address, tmp_path):
    page = danced(windows, studio_address)
    strip = page.evaluate(
        "(() => { const s = document.querySelector('loom-app').shadowRoot"
        ".querySelector('loom-dance-view').shadowRoot.querySelector('loom-beats');"
        " return {music: s.music, motion: s.motion, tolerance: s.tolerance}; })()"
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
    page = windows(studio_address + "#/dance?within=dance_groove")
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
    page, held = windows(studio_address), []
    page.route(awaited, lambda route: held.append(route))
    go(page, "dance", within="dance_groove", music="tune", seed="2")
    while not held:
        page.wait_for_timeout(50)
    open_take(page, "walk_p0")  # before the answer comes
    with page.expect_event("requestfinished", lambda request: request == held[0].request):
        held[0].continue_()
    page.wait_for_timeout(300)
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
