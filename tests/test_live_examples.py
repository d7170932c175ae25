"""Live examples of the documentation: each is on its page, and written from the built-in corpus."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from packed_clips import clips_of, positions_of, read_clip

import motionloom as ml

ROOT = Path(__file__).parents[1]
FRAME = re.compile(r'<iframe class="live" src="../../live/(\w+).html" title="([^"]+)"')


@pytest.fixture(scope="module")
def live():
    spec = importlib.util.spec_from_file_location("live", ROOT / "docs" / "live_examples.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_job_shows_its_own_example(live):
    for job in live.EXAMPLES:
        page = (ROOT / "docs" / "tutorials" / f"{job}.md").read_text(encoding="utf-8")
        assert [name for name, _ in FRAME.findall(page)] == [job]
    others = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    assert len(FRAME.findall(others)) == others.count("<iframe") == len(live.EXAMPLES)
    assert "docs/live_examples.py" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_walks_are_along_the_paths_that_are_drawn(live, tmp_path, monkeypatch):
    name, path = next(iter(live.paths().items()))
    monkeypatch.setattr(live, "paths", lambda: {name: path, "a line": path * [0.0, 0.5]})
    takes = ml.demo.write(tmp_path / "takes", only=live.WALKS)
    place = tmp_path / "walks.loom"
    ml.Library.create(place).add(takes)
    live.walk(place, tmp_path / "walk.html")
    text = (tmp_path / "walk.html").read_text(encoding="utf-8")
    (coded,) = re.findall(r' clip="([^"]+)"', text)
    clips = [read_clip(text) for text in coded.split()]
    assert [clip["name"] for clip in clips] == [f"walk along {name}" for name in live.paths()]
    for clip in clips:
        hips = positions_of(clip)[:, clip["anchor"], ::2]
        line = np.array(clip["line"])
        away = np.linalg.norm(hips[:, None] - line, axis=-1).min(axis=1)
        assert away.max() < 0.4 and np.linalg.norm(hips[-1] - line[-1]) < 0.3


@pytest.mark.slow
def test_all_examples_are_written_by_commands_of_the_tutorials(live):
    pages = live.pages()
    assert set(pages) == {f"live/{job}.html" for job in live.EXAMPLES}
    assert len(clips_of(pages["live/find.html"])) == 30
    (kick,) = clips_of(pages["live/aim.html"])
    assert kick["kind"] == "aim" and len(kick["samples"]) > 100
    (dance,) = clips_of(pages["live/dance.html"])
    assert len(dance["notes"]) > 100
    assert 'id="controller"' in pages["live/play.html"]
    assert max(map(len, pages.values())) < 1_000_000
