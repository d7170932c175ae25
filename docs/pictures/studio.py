"""Take screenshots of the studio: ``python docs/pictures/studio.py [LIBRARY] [VIEW...]``.

Draws studio-library.png, studio-stage.png and one studio-VIEW.png for every other view, dark and
1440 pixels wide, in a headless Chromium with the built-in corpus, or with LIBRARY, which must
contain it. studio-light.png shows all views in light colors, and studio-phone.png shows them on a
phone, 390 pixels wide. `PICTURES` lists the functions, one per view.
"""

import io
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the package benchmarks

import motionloom as ml
from benchmarks.films import Shot, write_film
from motionloom.character import Material, body_mesh
from motionloom.formats import gltf

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-c", "from motionloom.cli import main; main()"]
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
COLORS = 256  # size of the palette; keeps a picture near 100 kB
WIDE, NARROW = (1440, 900), (390, 844)


def library(page):
    go(page, "#/library?take=dance_groove_p0&range=150-270")
    on_stage(page, 1)
    page.wait_for_timeout(4000)  # wait for beats and thumbnails
    page.locator("loom-jobs .busy").wait_for(state="detached")
    freeze(page, 6.3)


def clusters(page):
    go(page, "#/library?show=groups")
    page.locator("loom-cards .group").nth(5).wait_for()
    page.locator("loom-cards .group .card").nth(1).click()
    on_stage(page, 1)
    page.locator("loom-library-view #groups").click()
    page.locator("loom-cards .group").nth(5).wait_for()
    page.wait_for_timeout(2000)
    freeze(page, 0.9)


def stage(page):
    go(page, "#/library?label=kick&take=kick_front_high_right_p0&with=kick_side_high_right_p2")
    on_stage(page, 2)
    look = {"body": True, "ghosts": True, "trails": ["right_toe", "left_toe"]}
    page.evaluate("look => studio.stage.set(look)", look)
    page.evaluate("studio.stage.characters[1].group.position.x += 1.2")
    freeze(page, 1.0)
    page.evaluate("studio.stage.home()")


def dance(page):
    go(page, "#/dance?label=dance_groove&music=tune&seed=1")
    page.wait_for_selector("#on-time")
    on_stage(page, 1)
    page.wait_for_timeout(1000)
    page.evaluate("studio.stage.set({ body: true, path: false })")
    freeze(page, 5.2)


def search(page):
    go(page, "#/search?query=kick_front_high_right_p0:10-60&max_distance=0.125")
    cards = page.locator("loom-search-view .card")
    cards.nth(9).wait_for()
    for number in (0, 1, 2, 4):
        cards.nth(number).locator(".yes").click()
    cards.nth(7).locator(".no").click()
    cards.nth(4).click()
    page.locator("loom-search-view #find").scroll_into_view_if_needed()
    on_stage(page, 2)
    page.wait_for_timeout(1500)  # wait for all characters and the camera
    freeze(page, 0.83)
    view = "document.querySelector('loom-app').renderRoot.querySelector('loom-search-view')"
    figures = f"{view}.renderRoot.querySelectorAll('loom-figure')"
    page.evaluate(f"{figures}.forEach((one) => one.hold(0.5))")
    page.wait_for_timeout(200)


def family(page):
    go(page, "#/family?query=kick_front_high_right_p0:10-60")
    nodes = page.locator("loom-family-graph .node")
    nodes.nth(20).wait_for()
    page.wait_for_timeout(1500)
    nodes.nth(22).click()
    on_stage(page, 2)
    freeze(page, 0.83)


def grid(page):
    go(page, "#/grid?a=kick_front_high_right_p0:10-60&b=take_strikes_p0&at=25,260")
    on_stage(page, 2)
    page.wait_for_timeout(3000)  # wait for chains and bridges
    page.mouse.move(1270, 400)


def parametric(page):
    settings = {
        "takes": "kick_front_mid_right_p0", "search": {"label": ["kick"]},
        "by": ["right_ankle@33"], "name": "kick",
        "settings": {"samples": 600, "examples": {"drop_unmatched": True}},
    }  # fmt: skip
    work(page, "parametric", settings)
    go(page, "#/aim?name=kick&target=-0.3,0.84,0.72")
    on_stage(page, 1)
    view = "document.querySelector('loom-app').renderRoot.querySelector('loom-aim-view')"
    page.evaluate(  # move to a target between the examples
        f"""() => {{ const far = (at) => Math.hypot(...[-0.3, 0.84, 0.72].map(
            (value, axis) => {view}.accessible[3 * at + axis] - value));
        const all = Array.from({{ length: {view}.accessible.length / 3 }}, (_, at) => at);
        const best = all.slice({view}.opened.examples.length).sort((a, b) => far(a) - far(b))[0];
        {view}.move([...{view}.accessible.slice(3 * best, 3 * best + 3)]);
        return {view}.drag.whenDone(); }}"""
    )
    page.evaluate("studio.stage.set({ body: true, path: false })")
    page.evaluate("studio.stage.home()")
    turn(page, (2.3, 1.5, 3.6), (-0.1, 0.86, 0.2))


def graph(page):
    takes = "walk_p0,walk_p2,walk_slow_p0,walk_left_p1,walk_right_p0,spiral_walk_p0"
    go(page, f"#/graph?only={takes}&per_minute=50")
    view = "document.querySelector('loom-app').renderRoot.querySelector('loom-graph-view')"
    page.wait_for_function(f"() => {view}?.arcs?.lines.length")
    spots = f"{view}.arcs.pairs"
    page.evaluate(f"{view}.pick({spots}[Math.floor({spots}.length / 2)])")
    on_stage(page, 1)
    page.evaluate(f"{view}.edit('lock', Math.max({view}.picked.forward, {view}.picked.backward))")
    page.wait_for_function(f"() => {view}.arcs.stateOf({view}.picked) === 'locked'")
    page.evaluate("studio.stage.set({ body: true })")
    freeze(page, 1.0)
    page.locator("loom-graph-view .directions").scroll_into_view_if_needed()


def walk(page):
    takes = "walk_p0,walk_p2,walk_slow_p0,walk_left_p1,walk_right_p0,spiral_walk_p0"
    points = [
        (round(1.5 * math.sin(0.9 * z), 2), round(z, 2)) for z in (0.25 * k for k in range(18))
    ]
    path = " ".join(f"{x},{z}" for x, z in points)
    go(page, f"#/walk?only={takes}&per_minute=50&path={path}")
    view = "document.querySelector('loom-app').renderRoot.querySelector('loom-walk-view')"
    page.wait_for_function(f"() => {view}?.pathError != null && !{view}.busy")
    page.evaluate("studio.stage.set({ body: true, follow: false })")
    freeze(page, 3.4)
    turn(page, (-4.6, 3.4, -1.2), (0.2, 0.5, 2.0))


def movements(page):
    work(page, "movements", {"name": "groove", "settings": {"label": ["dance_groove"], "meter": 4}})
    go(page, "#/graph?show=movements&steps=groove")
    page.locator("loom-movement-graph .hit").first.wait_for()
    page.locator("loom-movement-graph g.node circle").first.click(force=True)
    on_stage(page, 1)
    page.locator("loom-movement-graph .part").nth(2).evaluate("one => one.scrollIntoView(false)")
    page.evaluate("studio.stage.set({ body: true })")
    freeze(page, 0.9)


def crowd(page):
    go(page, "#/crowd?kind=ballroom&seed=3")
    on_stage(page, 40)
    page.wait_for_function("() => studio.stage.clock.playing")  # wait until the music is loaded
    page.evaluate("studio.stage.set({ body: true, follow: false })")
    freeze(page, 9.0)
    turn(page, (7.6, 5.8, 11.0), (0.2, 0.0, 0.3))


def words(page):
    go(page, "#/library?find=kicks high with the right foot")
    segments = page.locator("loom-cards .card[data-place*=':']")
    segments.nth(3).wait_for()
    segments.first.click()
    page.wait_for_function("() => studio.selection")
    page.mouse.move(720, 880)  # away from the card, which shows buttons under the pointer
    page.evaluate("studio.stage.set({ body: true })")
    page.wait_for_timeout(2500)  # wait for captions, figures and the body
    freeze(page, 1.1)
    page.evaluate("studio.stage.home()")


def act(page):
    go(page, "#/script?script=walk 3 s, sit down, stand up, kick twice with the right foot")
    on_stage(page, 1)
    page.evaluate("studio.stage.set({ body: true })")
    page.wait_for_timeout(2000)
    freeze(page, 4.0)
    page.evaluate("studio.stage.home()")


def controller(page):
    go(
        page,
        "#/play?only=walk_p0,walk_slow_p0,walk_fast_p0,walk_left_p0,walk_right_p0,jog_p0",
    )
    view = "document.querySelector('loom-app').renderRoot.querySelector('loom-play-view')"
    page.locator("loom-play-view #play").click()
    page.wait_for_function(f"() => {view}.pilot?.moments.length > 0")
    # the software renderer draws bones more often
    page.evaluate("studio.stage.set({ body: false })")
    page.keyboard.down("w")
    page.wait_for_function(f"() => Math.hypot(...{view}.pilot.shown.state.velocity) > 0.9")
    page.keyboard.down("d")
    page.locator("loom-play-view details.expert > summary").click()
    page.wait_for_timeout(9000)
    page.locator("loom-play-view #play").evaluate("play => play.scrollIntoView()")
    page.evaluate("studio.stage.clock.pause(); studio.stage.set({ body: true })")
    page.wait_for_timeout(2500)
    page.keyboard.up("w")
    page.keyboard.up("d")


def character(page):
    go(page, "#/library?label=kick&take=kick_front_high_right_p0")
    on_stage(page, 1)
    with tempfile.TemporaryDirectory() as folder:
        hero = dressed_character(Path(folder) / "hero.glb")
        page.locator("loom-stage-bar #character-file").set_input_files(hero)
        page.wait_for_function(
            "() => studio.stage.characters[0]?.motion.body?.startsWith('character-')"
        )
    page.wait_for_timeout(2500)
    freeze(page, 1.0)
    page.evaluate("studio.stage.home()")


def dressed_character(path):
    """A character with clothes of three colors, in place of a character of a user."""
    motion = ml.demo.clip("walk", performer=2)[:1]
    body = body_mesh(motion.skeleton, example=motion)
    skeleton = motion.skeleton
    part = {role: int(skeleton.points([role])[0]) for role in skeleton.roles}
    legs = [part[r] for r in part if re.search("hips|hip$|knee", r)]
    bare = [part[r] for r in part if re.search("neck|head|elbow|wrist|hand", r)]
    owner = np.take_along_axis(body.joints, body.weights.argmax(axis=1)[:, None], 1)[:, 0]
    worn = np.where(np.isin(owner, legs), 0, np.where(np.isin(owner, bare), 1, 2))
    looks = [("jeans", (0.05, 0.1, 0.28)), ("skin", (0.55, 0.3, 0.2)), ("shirt", (0.5, 0.05, 0.06))]
    meshes = [
        replace(
            body,
            name=name,
            triangles=body.triangles[worn[body.triangles[:, 0]] == number],
            material=Material(name, color),
        )
        for number, (name, color) in enumerate(looks)
    ]
    gltf.writer.write_meshes(motion, path, meshes)
    return path


def show(page):
    """A film of a kick, rendered with the neutral body, as a query."""
    go(page, "#/show")
    page.locator("loom-show-view #camera").wait_for()
    with tempfile.TemporaryDirectory() as folder:
        film, web = Path(folder) / "kick.mp4", Path(folder) / "kick.webm"
        kick = ml.demo.clip("kick_front_mid_right").resample(25.0)[:30]
        write_film(kick, Shot(yaw=0.6, fps=25.0, fill=0.8, seed=4), film)
        convert = ["ffmpeg", "-v", "error", "-i", film, "-c:v", "libvpx", "-b:v", "2M", web]
        subprocess.run(convert, check=True)
        page.locator("loom-show-view #film").set_input_files(web)
        page.locator("loom-show-view li").nth(2).wait_for()
    on_stage(page, 1)
    page.wait_for_timeout(3000)
    page.evaluate("studio.stage.set({ body: true })")
    freeze(page, 0.8)


PICTURES = {
    "library": library, "clusters": clusters, "stage": stage, "search": search, "family": family,
    "grid": grid, "dance": dance, "parametric": parametric, "walk": walk, "graph": graph,
    "movements": movements,
    "crowd": crowd, "words": words, "act": act, "controller": controller, "character": character,
    "show": show,
}  # fmt: skip


def go(page, address):
    """Open a deep link with default settings."""
    page.evaluate(
        """address => { localStorage.clear(); sessionStorage.clear();
            localStorage.setItem("motionloom.tour", "seen"); location.hash = address; }""",
        address,
    )
    page.reload()
    page.wait_for_function("() => window.studio && studio.library.name && studio.live.connected")


def on_stage(page, characters):
    """Wait until `characters` characters are on the stage."""
    page.wait_for_function("count => studio.stage.characters.length === count", arg=characters)


def work(page, path, body):
    """Start a job on the server and wait for it."""
    job = page.request.post(f"{page.url.split('#')[0]}api/{path}", data=body).json()
    while job["state"] == "running":
        page.wait_for_timeout(300)
        job = page.request.get(f"{page.url.split('#')[0]}api/jobs/{job['id']}").json()
    if job["state"] != "done":
        raise SystemExit(job["error"])


def turn(page, eye, target):
    """Set position and target of the camera."""
    page.evaluate(
        "([eye, target]) => { const { camera, controls } = studio.stage;"
        " camera.position.set(...eye); controls.target.set(...target); controls.update();"
        " studio.stage.draw(); }",
        [eye, target],
    )
    page.wait_for_timeout(300)


def freeze(page, seconds):
    """Stop at a time, so that the picture is reproducible."""
    page.evaluate("seconds => studio.stage.freeze(seconds)", seconds)
    page.wait_for_timeout(400)


def photograph(page, name):
    """Take the picture of a view; return it in light colors, and on a phone in dark and light."""
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    page.emulate_media(color_scheme="dark")
    PICTURES[name](page)
    keep(shot(page), HERE / f"studio-{name}.png")
    others = []
    for size, scheme in ((WIDE, "light"), (NARROW, "dark"), (NARROW, "light")):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(
            "scheme => document.documentElement.style.colorScheme === scheme", arg=scheme
        )
        page.wait_for_timeout(600)
        page.evaluate("studio.stage.draw()")
        others.append(shot(page))
    return others


def shot(page):
    """Screenshot of the current page."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def keep(picture, file):
    """Save a picture with a small palette."""
    picture.quantize(COLORS, kmeans=6, dither=Image.Dither.NONE).save(file, optimize=True)
    print(file)


def sheet(pictures, columns, width):
    """Arrange pictures of one size in rows, each `width` pixels wide."""
    height = round(width * pictures[0].height / pictures[0].width)
    rows = -(-len(pictures) // columns)
    page = Image.new("RGB", (columns * (width + 8) - 8, rows * (height + 8) - 8), "#808890")
    for k, picture in enumerate(pictures):
        place = (k % columns * (width + 8), k // columns * (height + 8))
        page.paste(picture.resize((width, height), Image.Resampling.LANCZOS), place)
    return page


def main(*given):
    places = [Path(name) for name in given if name not in PICTURES]
    names = [name for name in given if name in PICTURES] or list(PICTURES)
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
                page = browser.new_page(viewport={"width": WIDE[0], "height": WIDE[1]})
                page.set_default_timeout(600_000)
                page.goto(address)
                taken = [photograph(page, name) for name in names]
                browser.close()
            if names == list(PICTURES):
                keep(sheet([shots[0] for shots in taken], 3, 480), HERE / "studio-light.png")
                # alternate dark and light
                phones = [shots[1 + k % 2] for k, shots in enumerate(taken)]
                keep(sheet(phones, 6, 240), HERE / "studio-phone.png")
        finally:
            server.terminate()


def corpus_library(folder):
    """A library of the built-in corpus."""
    library = ml.Library.create(folder / "corpus.loom", fps=30.0)
    for name in ml.demo.names():
        made = ml.demo.annotated(name)
        library.add_motion(made.motion, labels=[made.truth.action])
    return library.path


if __name__ == "__main__":
    main(*sys.argv[1:])
