"""Photographs the studio for the docs: ``python docs/pictures/studio.py [LIBRARY] [VIEW...]``.

Makes studio-library.png, studio-stage.png and one studio-VIEW.png for every other view, in a
headless Chromium over the built-in corpus (or over LIBRARY, where the corpus lies already).
Each function photographs one view; `PICTURES` lists them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import motionloom as ml

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-c", "from motionloom.cli import main; main()"]
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
COLOURS = 200  # of the palette; keeps a picture near 100 kB


def library(page):
    go(page, "#/library?take=dance_groove_p0&range=150-270")
    on_stage(page, 1)
    page.wait_for_timeout(4000)  # the beats are counted, and the thumbnails come
    freeze(page, 6.3)


def stage(page):
    go(page, "#/library?take=kick_front_high_right_p0&with=kick_side_high_right_p2")
    on_stage(page, 2)
    look = {"body": True, "ghosts": True, "trails": ["right_toe", "left_toe"]}
    page.evaluate("look => studio.stage.set(look)", look)
    page.evaluate("studio.stage.characters[1].group.position.x += 1.2")
    freeze(page, 1.0)
    page.evaluate("studio.stage.home()")


def dance(page):
    go(page, "#/dance?within=dance_groove&music=tune&seed=1")
    page.wait_for_selector("#on-time")
    on_stage(page, 1)
    page.wait_for_timeout(1000)
    page.evaluate("studio.stage.set({ body: true, path: false })")
    freeze(page, 5.2)


PICTURES = {"library": library, "stage": stage, "dance": dance}


def go(page, address):
    """Follow a deep link, with everything as at the first visit."""
    page.evaluate("address => { localStorage.clear(); location.hash = address; }", address)
    page.reload()
    page.wait_for_function("() => window.studio && studio.library.name && studio.live.connected")


def on_stage(page, characters):
    """Wait until so many are on the stage."""
    page.wait_for_function("count => studio.stage.characters.length === count", arg=characters)


def freeze(page, seconds):
    """Stop at a time, so that the picture is the same every time it is made."""
    page.evaluate("seconds => studio.stage.freeze(seconds)", seconds)
    page.wait_for_timeout(400)


def photograph(page, name):
    PICTURES[name](page)
    file = HERE / f"studio-{name}.png"
    page.screenshot(path=file)
    small = Image.open(file).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(file, optimize=True)
    print(file)


def main(*given):
    places = [Path(one) for one in given if one not in PICTURES]
    names = [one for one in given if one in PICTURES] or list(PICTURES)
    with tempfile.TemporaryDirectory() as folder:
        corpus = places[0] if places else corpus_library(Path(folder))
        server = subprocess.Popen(
            [*COMMAND, "studio", corpus.name, "--port", "0", "--no-browser"],
            stdout=subprocess.PIPE, text=True, cwd=corpus.parent,
        )  # fmt: skip
        try:
            chromium = os.environ.get("BROWSER") or shutil.which("chromium")
            address = re.search(r"http://\S+", server.stdout.readline()).group()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.set_default_timeout(120_000)
                page.goto(address)
                for name in names:
                    photograph(page, name)
                browser.close()
        finally:
            server.terminate()


def corpus_library(folder):
    """The built-in corpus as a library."""
    library = ml.Library.create(folder / "corpus.loom", fps=30.0)
    for name in ml.demo.names():
        made = ml.demo.performance(name)
        library.add_motion(made.motion, labels=[made.truth.action])
    return library.path


if __name__ == "__main__":
    main(*sys.argv[1:])
