"""The stage in a notebook: contents, two-way traits, and JupyterLab itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from waiting import LIMIT

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.studio import messages, notebook

STATIC = Path(ml.__file__).parent / "studio" / "static"
needs_widget = pytest.mark.skipif(
    find_spec("anywidget") is None or not (STATIC / "widget.js").is_file(),
    reason="the widget needs anywidget and the built page (python build_page.py)",
)


@pytest.fixture(scope="module")
def kicks(tmp_path_factory):
    library = ml.Library.create(tmp_path_factory.mktemp("notebook") / "kicks.loom")
    for name in ("kick_front_mid_right", "kick_front_high_right", "kick_front_mid_left", "walk"):
        for performer in range(3 if name.endswith("right") else 1):
            motion = ml.demo.clip(name, performer=performer)
            library.add_motion(motion, name=f"{name}_p{performer}", labels=[name.split("_")[0]])
    return library


@pytest.fixture(scope="module")
def kick(kicks):
    names = [name for name in kicks.names if name.startswith("kick") and "right" in name]
    return kicks.parametrize(names, ml.at("right_ankle", frame=30), samples=40)


def scene(view):
    return messages.unpack(view._scene)


@needs_widget
def test_a_motion_is_sent_with_its_positions_and_rotations():
    walk = ml.demo.clip("walk")
    head, arrays = scene(ml.view(walk))
    assert head["characters"][0]["frames"] == len(walk)
    np.testing.assert_allclose(arrays["positions_0"], walk.positions(end_sites=True), atol=1e-5)
    np.testing.assert_allclose(arrays["orientations_0"], walk.global_rotations(), atol=1e-6)


@needs_widget
def test_a_scene_and_a_list_of_motions_are_shown_together():
    walk = ml.demo.clip("walk")
    for several in (ml.Scene([walk, walk.mirror()]), [walk, walk.resample(60)]):
        head, arrays = scene(ml.view(several))
        assert len(head["characters"]) == 2
        assert len(arrays["positions_1"]) == head["characters"][1]["frames"]


@needs_widget
def test_a_match_lies_on_its_query_in_the_query_s_time(kicks):
    hits = kicks.search("kick_front_mid_right_p0:10-40", max=4)
    view = ml.view(hits, library=kicks)
    view.choice = 1
    head, arrays = scene(view)
    query, match = head["characters"]
    assert query["frames"] == match["frames"] == 30
    assert query["opacity"] < 1 and hits[1].motion in match["title"]
    assert view.motion.name == hits[1].motion
    ankles = [arrays[f"positions_{k}"][:, each["roles"]["right_ankle"]] for k, each in
              enumerate(head["characters"])]  # fmt: skip
    apart = np.linalg.norm(ankles[0] - ankles[1], axis=1)
    unaligned = kicks[hits[1].motion].role_positions(["right_ankle"])[10:40, 0]
    assert (
        apart.mean() < 0.35 and apart.mean() < np.linalg.norm(ankles[0] - unaligned, axis=1).mean()
    )


@needs_widget
def test_the_members_of_a_family_are_its_choices(kicks):
    family = kicks.family("kick_front_mid_right_p0:10-40", max=4)
    view = ml.view(family, library=kicks)
    assert len(view._choices) == len(family.matches)


@needs_widget
def test_a_target_moves_the_motion_and_its_reach_is_reported(kick):
    view = ml.view(kick)
    goal = tuple(np.mean(kick.space.examples, axis=0))
    view.target = goal
    head, arrays = scene(view)
    assert head["reached"] == pytest.approx(goal, abs=0.05) and not head["outside"]
    assert head["key"] is not None and len(arrays["positions_0"]) == len(view.motion)
    view.target = (9.0, 1.0, 9.0)
    assert scene(view)[0]["outside"]
    region, clouds = messages.unpack(view._region)
    assert region["axes"] == ["x", "y", "z"]
    assert clouds["examples"].shape == (len(kick.examples), 3)


@needs_widget
def test_traits_explain_their_valid_values(kick):
    from traitlets import TraitError

    view = ml.view(kick)
    with pytest.raises(
        TraitError, match=r"target must be 3 numbers, one per parameter; got \(1,\)"
    ):
        view.target = (1,)
    with pytest.raises(TraitError, match="target must be 3 numbers"):
        view.target = (10**400, 0, 0)
    with pytest.raises(TraitError, match=r"selection must be frames \(start, end\) with 0 <="):
        view.selection = (5, 5)
    with pytest.raises(TraitError, match="choice must be 0 to 0; got 3"):
        view.choice = 3
    view.frame = -4
    assert view.frame == 0


@needs_widget
def test_the_body_is_sent_when_it_is_asked_for():
    walk = ml.demo.clip("walk")
    view, sent = ml.view(walk), []
    view.send = lambda content, buffers=None: sent.append((content, buffers))
    view._answer(view, {"kind": "body", "key": walk.skeleton.key, "detail": "low"}, [])
    view._answer(view, {"kind": "body", "key": "no such skeleton", "detail": "low"}, [])
    view._answer(view, {"kind": "else"}, [])
    mesh = messages.unpack(sent[0][1][0])[1]
    assert len(mesh["vertices"]) == len(mesh["weights"]) > 1000
    assert "no longer available" in sent[1][0]["error"] and len(sent) == 2


def test_objects_that_cannot_be_shown_are_named(kicks):
    hits = kicks.search("walk_p0:10-40", max=2)
    with pytest.raises(InvalidInput, match=r"pass it as ml.view\(matches, library=lib\)"):
        ml.view(hits)
    with pytest.raises(InvalidInput, match="there are no matches of 'walk_p0:10-40' to show"):
        ml.view(hits[:0], library=kicks)
    with pytest.raises(InvalidInput, match="a ParametricMotion; got int"):
        ml.view(7)
    with pytest.raises(InvalidInput, match="a motion without frames cannot be shown"):
        ml.view(ml.demo.clip("walk")[:0])
    with pytest.raises(InvalidInput, match="height must be 100 to 4000 pixels; got 7"):
        ml.view(ml.demo.clip("walk"), height=7)


def test_a_motion_too_long_for_a_cell_is_refused(monkeypatch):
    monkeypatch.setattr(notebook, "_MAX_NUMBERS", 1000)
    with pytest.raises(InvalidInput, match="5 s are too long for a cell; show a part, such as"):
        ml.view(ml.demo.clip("walk"))


def test_without_anywidget_the_small_figure_is_shown(monkeypatch):
    monkeypatch.delitem(sys.modules, "motionloom.studio.widget", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    figure = ml.view(ml.demo.clip("walk"))
    assert "motionloom-player" in figure._repr_html_()
    assert "pip install &#x27;motionloom[notebook]&#x27;" in figure._repr_html_()


def test_a_page_that_was_not_built_is_said_so(monkeypatch, tmp_path):
    widget = pytest.importorskip("motionloom.studio.widget")
    monkeypatch.setattr(widget, "_SCRIPT", tmp_path / "widget.js")
    with pytest.raises(InvalidInput, match="the stage is not built in this installation; run"):
        ml.view(ml.demo.clip("walk"))


BOOK = """
import numpy as np
import motionloom as ml
lib = ml.Library({library!r})
names = [name for name in lib.names if name.startswith("kick") and "right" in name]
kick = lib.parametrize(names, ml.at("right_ankle", frame=30), samples=40)
view = ml.view(kick)
view
"""
READ = """import json
key = kick.reach(view.target).frames[0]
print("TRAITS", json.dumps([view.frame, view.selection, list(view.target), key]))"""


@pytest.fixture
def jupyter(tmp_path, kicks):
    """Address of a JupyterLab with one notebook, a cell that shows a parametric motion."""
    import nbformat

    cells = [nbformat.v4.new_code_cell(BOOK.format(library=str(kicks.path)).strip())]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), tmp_path / "kick.ipynb")
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces"),
        "PYTHONPATH": os.pathsep.join([str(Path(ml.__file__).parents[1])]),
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        "--ServerApp.port_retries=50", "--IdentityProvider.token=sesame",
        f"--notebook-dir={tmp_path}",
        "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    server = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        for line in server.stdout:
            address = re.search(r"http://127\.0\.0\.1:(\d+)/lab", line)
            if address:
                break
        else:
            raise AssertionError("JupyterLab did not start")
        yield f"http://127.0.0.1:{address[1]}/lab/tree/kick.ipynb?token=sesame"
    finally:
        server.terminate()
        server.wait(LIMIT)


@needs_widget
@pytest.mark.slow
def test_the_stage_in_jupyterlab(jupyter):
    """Drag, select and seek in the browser; the kernel sees it, and the page sees the kernel."""
    browser = pytest.importorskip("browser")
    playwright = pytest.importorskip("playwright.sync_api")
    pytest.importorskip("jupyterlab")
    if browser.chromium() is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    with playwright.sync_playwright() as started:
        window = started.chromium.launch(
            executable_path=browser.chromium(), args=browser.FLAGS
        ).new_page(viewport={"width": 1280, "height": 1000})
        window.set_default_timeout(browser.MILLISECONDS)
        outside = []
        here = re.compile(r"(http|ws)://127\.0\.0\.1:|blob:|data:")
        window.on("request", lambda request: here.match(request.url) or outside.append(request.url))
        window.goto(jupyter)
        window.wait_for_selector("text=/ipykernel.*Idle/")  # the kernel runs
        window.locator(".jp-Notebook-cell .cm-content").first.click()
        window.keyboard.press("Shift+Enter")
        window.wait_for_selector(".loom canvas")
        cell = "document.querySelector('.loom').parentElement.loom"
        window.wait_for_function(f"() => {cell}?.stage.characters[0]?.frame > 0")
        shot = os.environ.get("MOTIONLOOM_SHOT")
        if shot:
            groups = f"{cell}.stage.bodies.groups"
            window.wait_for_function(
                f"() => {groups}.size && [...{groups}.values()].every(Boolean)"
            )
            window.evaluate(f"() => {cell}.stage.draw()")
            window.locator(".loom").screenshot(path=shot)
        # The page to the kernel: a selection by mouse, a frame by keyboard, a target by its slider.
        box = window.locator(".loom-track").bounding_box()
        y = box["y"] + box["height"] / 2
        window.mouse.move(box["x"] + 0.25 * box["width"], y)
        window.mouse.down()
        window.mouse.move(box["x"] + 0.5 * box["width"], y, steps=4)
        window.mouse.up()
        window.locator(".loom-track").press("Home")
        window.locator(".loom-track").press("ArrowRight")
        window.locator(".loom-track").press("ArrowRight")
        window.wait_for_function(f"() => {cell}.model.get('frame') === 2")  # reported when drawn
        number = window.get_by_label("Target y (number)")
        number.fill("0.9")
        frames = window.evaluate(f"() => {cell}.track.frames")
        frame, selection, target, key = _asked(window)
        assert frame in (2, key)  # a motion that stands shows its key frame when it is replaced
        assert selection[0] == pytest.approx(0.25 * frames, abs=2)
        assert selection[1] == pytest.approx(0.5 * frames, abs=2)
        assert target[1] == pytest.approx(0.9)
        # The kernel to the page.
        _run(
            window,
            "view.target = tuple(np.mean(kick.space.examples, axis=0)); view.selection = (3, 9)",
        )
        window.wait_for_function(f"() => String({cell}.track.selection) === '3,9'")
        want = window.evaluate(f"() => {cell}.model.get('target')")
        window.wait_for_function(
            f"""() => {{ const aim = {cell}.aim.place, want = {cell}.model.get('target');
                return Math.hypot(...aim.map((one, k) => one - want[k])) < 1e-3; }}"""
        )
        _run(window, "view.frame = 7")
        window.wait_for_function(f"() => {cell}.frame === 7 && !{cell}.stage.clock.playing")
        # The joint is where the target is, at its key frame.
        *_, key = _asked(window)
        ankle = window.evaluate(f"""() => {{ const one = {cell}.stage.characters[0];
            one.pose({key}); return one.world(one.motion.roles.right_ankle).toArray(); }}""")
        assert np.linalg.norm(np.subtract(ankle, want)) < 0.05
        assert outside == []


def _run(window, code: str) -> None:
    """Run code in a new cell at the end, and wait until it has run."""
    window.evaluate("() => document.activeElement?.blur()")
    window.locator(".jp-Notebook-footer").click()
    last = window.locator(".jp-Notebook-cell").last
    last.locator(".cm-content").fill(code)
    last.locator(".cm-content").press("Control+Enter")
    window.wait_for_function(
        """() => { const all = document.querySelectorAll('.jp-Notebook-cell .jp-InputPrompt');
            return /\\[\\d+\\]/.test(all[all.length - 1].textContent); }"""
    )


def _asked(window) -> list:
    import json

    _run(window, READ)
    text = (
        window.locator(".jp-Notebook-cell").last.locator(".jp-OutputArea-output").first.inner_text()
    )
    return json.loads(text.split("TRAITS")[1])
