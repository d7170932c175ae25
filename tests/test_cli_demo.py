"""The tour: it runs, it leaves what it says, and it can be run again."""

import json
import re

import pytest
from click.testing import CliRunner
from commands import invoked

from motionloom.cli import app
from motionloom.cli.tools.demo.steps import STEPS
from motionloom.demo import corpus
from motionloom.errors import InvalidInput


def test_the_tour_refuses_a_file_as_its_folder(tmp_path):
    (tmp_path / "notes.txt").write_text("walks, kicks")
    with pytest.raises(InvalidInput, match="is a file; the tour needs a folder"):
        invoked(app, "demo", tmp_path / "notes.txt")


SOME = (
    "walk_p0", "walk_p3", "kick_leap_front_right_p0", "dance_groove_p1", "jump_up_p0",
    "kick_front_low_right_p0", "kick_front_mid_right_p0", "kick_front_high_right_p0",
    "kick_front_mid_right_p1",
)  # fmt: skip


@pytest.fixture
def some(monkeypatch):
    """The tour on a few motions of the corpus."""
    monkeypatch.setattr(corpus, "names", lambda: SOME)
    monkeypatch.setattr("motionloom.demo.names", lambda: SOME)


def told(text, *figures):
    for figure in figures:
        assert re.search(figure, text), figure


def test_the_tour_leaves_what_it_names(demo_folder):
    left = json.loads(demo_folder.output)
    assert left["motions"] == len(corpus.names())
    assert left["cluster"]["answers"] > 500 and left["cluster"]["differ"] == 0
    made = ("sheet", "glb", "family", "kick", "walk", "beats", "choreography", "body", "floor",
            "floor_picture", "ballroom", "ballroom_page", "region", "index")  # fmt: skip
    for file in (*left["pictures"], *(left[name] for name in made)):
        assert (demo_folder.path / file).stat().st_size > 1000
    told(
        demo_folder.log,
        r"kick_leap_front_right_p0\b.* 0\.33 .* 2\.00 .* 0\.000 m",  # the query finds itself
        r"\b60 fps\b",  # the issue of the take
        r"\b\d+ \w+ between 6 \w+",  # transitions, walks
        r" slide 0\.\d+ cm",
        r"\bjump_up_p0: 0\.000 m",
        r" 0\.9\d*",  # confidence of the beats
        r"\b\d+ of \d+ ",  # beats on time
    )
    page = (demo_folder.path / "index.html").read_text(encoding="utf-8")
    for name in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert (demo_folder.path / name).exists(), name
    assert page.count("<h2>") == len(STEPS) and page.count("</motionloom-player>") >= 8
    assert "$ motionloom search" in page and "http" not in page


@pytest.mark.slow
def test_the_tour_goes_on_when_run_again(tmp_path, some):
    for _ in range(2):
        run = CliRunner().invoke(app, ["demo", str(tmp_path / "tour")])
        assert run.exit_code == 0, run.output
    told(
        run.stderr,
        rf"\b0 \w+, {len(SOME)} \w+",  # nothing added, all unchanged
        r"\b15 .* 0 ",  # pairs of the web, none rebuilt
    )
    assert "index.html" in run.stdout
