"""``motionloom doctor`` as a user meets it."""

import json
import re
import sys
from functools import partial
from pathlib import Path

import pytest
import seeded_issues as issues
from commands import invoked

import motionloom as ml
from motionloom import cli
from motionloom.cli.command import command
from motionloom.cli.library.doctor import doctor
from motionloom.errors import InvalidInput, MotionFormatError

run = partial(invoked, command("doctor", doctor))

# Keys that programs outside this repository read.
CONTRACT = {
    "joints", "frames", "fps", "seconds", "unit_m", "height_m", "up", "facing", "tpose_frame",
    "roles", "missing_roles", "repairs", "warnings",
}  # fmt: skip


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doctor") / "takes"
    (folder / "ill").mkdir(parents=True)
    walk = ml.demo.clip("walk")
    walk.save(folder / "walk.bvh")
    issues.raised(issues.flipped(walk, 40, 42), 0.3).save(folder / "ill" / "walk.bvh")
    return folder


def test_a_healthy_file_gets_a_table_of_its_interpretation(clinic):
    done = run(clinic / "walk.bvh")
    assert done.exit_code == 0
    for word in (
        "healthy",
        "unit",
        "up y",
        "foot on the ground",
        "positions",
        "joints: names by",
        "confidence",
    ):
        assert word in done.stdout, word


def test_errors_are_printed_with_advice(clinic):
    text = " ".join(run(clinic / "ill" / "walk.bvh").stdout.split())
    assert "error the body jumps or flips (hips) at frame 40, 42" in text
    assert "error the ground is 3" in text
    assert "motionloom clean" in text
    assert "healthy" not in text


def test_json_keeps_the_contract(clinic):
    facts = json.loads(run(clinic / "walk.bvh", "--json").stdout)
    assert facts.keys() >= CONTRACT
    assert facts["healthy"] is True
    assert facts["findings"] == facts["warnings"] == []
    assert facts["contacts"]["left"]["contacts"] >= 3
    assert facts["role_confidence"].keys() == facts["roles"].keys()


def test_json_of_an_ill_file_names_frames_and_warns(clinic):
    facts = json.loads(run(clinic / "ill" / "walk.bvh", "--json").stdout)
    assert facts["jump_frames"] == [40, 42]
    assert facts["healthy"] is False
    assert len(facts["warnings"]) == 2
    assert {finding["code"] for finding in facts["findings"]} >= {"jumps", "floor"}


def test_a_folder_is_checked_as_a_whole(clinic):
    done = run(clinic, "--json")
    facts = json.loads(done.stdout)
    assert done.exit_code == 0
    assert [report["healthy"] for report in facts["files"]] == [False, True]
    assert facts["failed"] == []
    assert "2 files, 1 healthy, 1 with issues" in run(clinic).stdout


def test_a_library_is_checked_as_a_whole(clinic, tmp_path):
    ml.Library.create(tmp_path / "takes.loom").add(clinic)
    facts = json.loads(run(tmp_path / "takes.loom", "--json").stdout)
    assert len(facts["files"]) == 2


def test_a_bad_file_in_a_folder_is_named_and_the_rest_goes_on(clinic, tmp_path):
    (tmp_path / "bad.bvh").write_text("HIERARCHY\nROOT hips\n{\n")
    (tmp_path / "walk.bvh").write_bytes((clinic / "walk.bvh").read_bytes())
    done = run(tmp_path, "--json")
    assert done.exit_code == 1
    facts = json.loads(done.stdout)
    assert len(facts["files"]) == 1
    assert "bad.bvh:" in facts["failed"][0]["reason"]


def test_a_single_bad_file_ends_with_one_line_and_code_2(tmp_path, monkeypatch, capsys):
    (tmp_path / "bad.bvh").write_text("HIERARCHY\nROOT hips\n{\n")
    with pytest.raises(MotionFormatError, match=r"bad\.bvh"):
        run(tmp_path / "bad.bvh")
    monkeypatch.setattr(sys, "argv", ["motionloom", "doctor", str(tmp_path / "bad.bvh"), "--json"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("motionloom: ") and err.count("\n") == 1


def test_an_empty_folder_is_reported(tmp_path):
    with pytest.raises(InvalidInput, match="no motion files"):
        run(tmp_path)


def test_options_overrule_the_file(clinic):
    facts = json.loads(run(clinic / "walk.bvh", "--json", "--fps", 60, "--unit", "inch").stdout)
    assert facts["fps"] == 60.0
    assert facts["unit_m"] == 0.0254
    assert any("m tall" in warning for warning in facts["warnings"])


def test_fix_writes_a_file_that_is_healthy(clinic, tmp_path):
    facts = json.loads(
        run(clinic / "ill" / "walk.bvh", "--fix", tmp_path / "well.bvh", "--json").stdout
    )
    assert len(facts["fixed"]["done"]) == 2
    again = json.loads(run(tmp_path / "well.bvh", "--json").stdout)
    assert again["healthy"] is True
    assert again["frames"] == facts["frames"]


def test_fix_of_a_folder_keeps_its_shape(clinic, tmp_path):
    done = run(clinic, "--fix", tmp_path / "well")
    assert "flips: 2.0 to 0.0 jumps" in " ".join(done.stdout.split())
    assert "nothing to repair" in " ".join(done.stdout.split())
    facts = json.loads(run(tmp_path / "well", "--json").stdout)
    assert [report["healthy"] for report in facts["files"]] == [True, True]


def test_the_page_is_one_file_and_needs_no_other(clinic, tmp_path):
    run(clinic, "--html", tmp_path / "page.html", "--json")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)|@import|url\(|https?://""", page)
    assert page.count("</motionloom-player>") == 2
    assert page.index("ill/walk.bvh") < page.index(f"<h2>{clinic}/walk.bvh")  # the worst first
    for word in ("2 motions: 1 with errors", "contacts", "jumps", "sure", "position channels"):
        assert word in page


def test_names_from_a_file_cannot_break_the_page(clinic, tmp_path):
    evil = '<script>alert("x")</script>'
    text = (clinic / "walk.bvh").read_text()
    name = re.search(r"JOINT (\S+)", text).group(1)
    (tmp_path / "<b>.bvh").write_text(text.replace(f"JOINT {name}\n", f"JOINT {evil}{name}\n"))
    (tmp_path / "bad<i>.bvh").write_text("nonsense")
    run(tmp_path, "--html", tmp_path / "page.html", "--json")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "alert(&quot;x&quot;)" in page or "alert" not in page
    assert "<script>alert" not in page
    assert "<b>.bvh" not in page and "&lt;b&gt;.bvh" in page
    assert "bad<i>" not in page


def test_a_take_that_floats_is_found_by_comparison_with_others_of_its_rig(tmp_path):
    for name in ("walk", "walk_slow", "walk_fast"):
        ml.demo.clip(name).save(tmp_path / f"{name}.bvh")
    ml.demo.clip("walk").transform(shift=(0, 0.03, 0)).save(tmp_path / "floats.bvh")
    reports = json.loads(run(tmp_path, "--json").stdout)["files"]
    floor = {
        Path(report["file"]).stem: finding["message"]
        for report in reports
        for finding in report["findings"]
        if finding["code"] == "floor"
    }
    assert floor == {"floats": "the body floats 3 cm above the floor"}
