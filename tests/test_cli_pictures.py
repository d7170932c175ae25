"""``motionloom show`` and ``motionloom sheet``."""

from __future__ import annotations

import json
import re
import sys

import pytest
from packed_clips import clips_of
from PIL import Image
from plain_motions import walker

from motionloom import cli


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run the command line in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["motionloom", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return call


@pytest.fixture
def walk(tmp_path):
    return walker().save(tmp_path / "walk.bvh")


def test_show_writes_a_strip_called_like_the_motion(run, walk, tmp_path):
    code, out, _ = run("show", "walk.bvh")
    assert (code, out) == (0, "walk.png\n")
    assert Image.open(tmp_path / "walk.png").format == "PNG"


def test_show_counts_frames_of_the_whole_motion(run, walk, tmp_path):
    code, _, _ = run("show", "walk.bvh:20-30", "-o", "part.svg", "--frames", 2)
    drawn = (tmp_path / "part.svg").read_text()
    assert code == 0 and "<!-- frame 20 -->" in drawn and "<!-- frame 29 -->" in drawn


def test_show_also_writes_a_gif_and_creates_the_folder(run, walk, tmp_path):
    code, out, _ = run("show", "walk.bvh:0-30", "-o", "out/w.png", "--gif", "--width", 80, "--json")
    assert code == 0
    assert json.loads(out) == {"files": ["out/w.png", "out/w.gif"]}
    assert Image.open(tmp_path / "out/w.gif").n_frames == 20
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["w.gif", "w.png"]


def test_show_writes_the_format_of_the_suffix(run, walk, tmp_path):
    for name in ("w.svg", "w.pdf", "w.gif"):
        code, out, _ = run("show", "walk.bvh:0-9", "-o", name, "--frames", 2, "--width", 80)
        assert (code, out) == (0, f"{name}\n")
    assert not (tmp_path / "w.png").exists()


def test_show_says_when_a_gif_is_cut(run, tmp_path):
    motion = walker(speed=0.0, frames=30 * 21)
    motion.save(tmp_path / "long.bvh")
    code, _, err = run("show", "long.bvh", "-o", "long.gif", "--width", 64, "--fps", 2)
    assert code == 0
    assert "long.gif shows the first 20 of 21.0 s; --seconds 21 draws all of it" in err


def test_show_takes_a_motion_from_a_library(run, walk, tmp_path):
    assert run("import", "takes.loom", "walk.bvh")[0] == 0
    code, out, _ = run("show", "takes.loom:walk", "--view", "side")
    assert (code, out) == (0, "walk.png\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["walk.bvh", "-o", "w.jpg"], "cannot draw to w.jpg: the suffix must be one of .png, .svg"),
        (["walk.bvh", "--view", "under"], "view must be one of three-quarter, side"),
        (["walk.bvh", "--layout", "heap"], "layout must be one of auto, world, stages"),
        (["walk.bvh:50-500"], "the range must lie within the motion's 90 frames"),
        (["nothing.bvh"], "nothing.bvh"),
    ],
)
def test_show_ends_with_one_clear_line(run, walk, tmp_path, arguments, message):
    code, out, err = run("show", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("motionloom: ")
    assert message in err
    assert [p.name for p in tmp_path.iterdir()] == ["walk.bvh"]


def test_show_without_ffmpeg_stops_before_it_draws(run, walk, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    code, _, err = run("show", "walk.bvh", "--mp4")
    assert code == 2
    assert "requires the program ffmpeg" in err
    assert [p.name for p in tmp_path.iterdir()] == ["walk.bvh"]


@pytest.fixture
def folder(tmp_path):
    """Three takes in two folders, two of one name."""
    for place in ("jog/a.bvh", "walk/a.bvh", "walk/b.bvh"):
        (tmp_path / "takes" / place).parent.mkdir(parents=True, exist_ok=True)
        walker(frames=12).save(tmp_path / "takes" / place)
    return tmp_path / "takes"


def test_show_writes_a_page_that_plays_the_motion(run, folder, tmp_path):
    take = sorted(folder.rglob("*.bvh"))[0]
    assert run("show", take, "-o", "out/walk.html")[0] == 0
    page = (tmp_path / "out" / "walk.html").read_text(encoding="utf-8")
    (clip,) = clips_of(page)
    assert clip["frames"] > 1 and clip["name"] == take.stem
    assert "default-src 'none'" in page and len(page) < 40_000


def test_sheet_of_a_folder_names_and_labels_its_files(run, folder, tmp_path):
    code, out, _ = run("sheet", "takes")
    assert code == 0
    assert out.startswith("sheet.html: 3 clips, ")
    page = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "<h1>takes</h1>" in page
    titles = ["jog/a", "walk/a", "b"]
    places = [page.index(f'<h2 title="{title}">') for title in titles]
    assert places == sorted(places)
    assert page.count('class="chip">walk</button>') == 2


def test_sheet_reports_bad_files_and_draws_the_others(run, folder, tmp_path):
    (folder / "walk" / "bad.bvh").write_text("HIERARCHY\nROOT x\n")
    code, out, err = run("sheet", "takes", "-o", "out/s.html", "--json")
    answer = json.loads(out)
    assert code == 1
    assert (answer["file"], answer["clips"]) == ("out/s.html", 3)
    assert answer["bytes"] == (tmp_path / "out/s.html").stat().st_size
    assert [failure["file"] for failure in answer["failed"]] == ["takes/walk/bad.bvh"]
    assert answer["failed"][0]["reason"]
    assert "takes/walk/bad.bvh" in err


def test_sheet_of_a_library_shows_its_labels(run, folder, tmp_path):
    assert run("import", "takes.loom", "takes", "--labels", "folder")[0] == 0
    code, out, _ = run("sheet", "takes.loom", "--title", "My takes", "--max", 2)
    assert code == 0
    assert "2 clips" in out
    assert re.search(r"\b1 more .*--max 2", out)
    page = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "<h1>My takes</h1>" in page
    assert 'class="chip">jog</button>' in page


def test_sheet_draws_the_chosen_motions_of_a_library(run, folder, tmp_path):
    run("import", "lib.loom", "takes", "--labels", "folder")
    for choice, clips in ((("--label", "walk"), 2), (("--only", "b"), 1), (("--exclude", "b"), 2)):
        code, out, _ = run("sheet", "lib.loom", *choice, "--json")
        assert (code, json.loads(out)["clips"]) == (0, clips)
    code, _, err = run("sheet", "takes", "--label", "walk")
    assert code == 2 and "need a library; takes is a folder" in err


def test_sheet_cuts_long_clips(run, folder):
    code, out, _ = run("sheet", "takes", "--seconds", 0.2)
    assert code == 0
    assert re.search(r"\b3 clips\b.*\b3 .*\b0\.2 s", out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such library or folder"),
        (["takes", "-o", "sheet.png"], "cannot write sheet.png: the suffix must be one of .html"),
        (["empty"], "empty: no motion files"),
    ],
)
def test_sheet_ends_with_one_clear_line(run, folder, tmp_path, arguments, message):
    (tmp_path / "empty").mkdir()
    code, out, err = run("sheet", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "sheet.html").exists()
