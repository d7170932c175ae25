"""Eight jobs on twelve kinds of libraries: no crash, no silent loss, true reports."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from commands import ran
from library_kinds import KINDS, TAKES, many_takes, originals

import motionloom as ml
from motionloom.formats import takes_in
from motionloom.motion.kinematics.body import leg_length

PAGE = Path(__file__).parents[1] / "docs/evidence/kinds-of-libraries.md"
JOBS = ("import", "info", "doctor", "retarget", "graph", "match", "act", "dance")


def outcomes(kind, folder):
    """The outcome of each job on one kind of library: "yes", or the message."""
    if "FBX" in kind:
        pytest.importorskip("ufbx", reason="the extra fbx is not installed")
    files, lib, hero = folder / "takes", folder / "a.loom", folder / "hero.glb"
    files.mkdir()
    KINDS[kind](files)
    ml.demo.clip("jog", performer=2).save(hero)
    done = {"import": ran("import", lib, files, "--json")}
    names = ml.Library(lib).names if lib.exists() else ()
    first = next((name for name in names if "dance" not in name), "none")
    out = folder / "out"
    done["info"] = ran("info", lib, "--json")
    done["doctor"] = ran("doctor", files, "--json")
    done["retarget"] = ran(
        "convert", f"{lib}:{first}", out.with_suffix(".glb"), "--character", hero, "--json"
    )
    done["graph"] = ran("walk", lib, "--seconds", 4, "-o", out.with_suffix(".bvh"), "--json")
    done["match"] = ran("match", lib, "build", "--json")
    done["act"] = ran("act", lib, "walk 2 s", "-o", folder / "act.bvh", "--json")
    done["dance"] = ran(
        "dance", lib, "tune", "--seconds", 6, "--takes", "*dance*", "-o", folder / "dance.bvh",
        "--json",
    )  # fmt: skip
    return done, names


def verdict(done):
    """ "yes", or "no: " and the first line of the message."""
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1, 2), done.stderr
    if done.returncode == 0:
        return "yes"
    message = re.sub(r"\S*/pytest\S*/", "", done.stderr.strip().splitlines()[-1])
    assert message.startswith("motionloom: ") or done.returncode == 1, done.stderr
    return "no"


def table():
    """The outcomes in the documentation, by kind and job."""
    rows = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in KINDS:
            rows[cells[0]] = dict(zip(JOBS, cells[1:], strict=True))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_job_works_on_every_kind_of_library(kind, tmp_path):
    done, names = outcomes(kind, tmp_path)
    assert {job: verdict(done[job]) for job in JOBS} == table()[kind]
    report = json.loads(done["import"].stdout)
    assert report["added"] == len(TAKES) == len(names)  # nothing is lost
    walk = next(name for name in names if re.search(r"walk(_p0)?(_poses)?$", name))
    there = ml.Library(tmp_path / "a.loom")[walk]
    wanted = ml.demo.clip("walk")
    # The same walk: as long, and as far relative to the legs.
    assert len(there) == pytest.approx(len(wanted), abs=1)
    ways = []
    for motion in (there, wanted):
        hips = motion.role_positions(["left_hip", "right_hip"]).mean(axis=1)[:, [0, 2]]
        ways.append(np.linalg.norm(hips[-1] - hips[0]) / leg_length(motion.skeleton))
    assert ways[0] == pytest.approx(ways[1], rel=0.08)  # hip joints differ
    walked = json.loads(done["graph"].stdout)
    assert walked["quality"]["foot_slide_m"] < 0.05


def test_the_table_of_kinds_is_complete():
    assert {kind: tuple(row) for kind, row in table().items()} == dict.fromkeys(KINDS, JOBS)
    assert {cell for row in table().values() for cell in row.values()} <= {"yes", "no"}


def test_a_pack_of_takes_is_read_take_by_take(tmp_path):
    takes = originals()[:3]
    file = many_takes(tmp_path / "pack.glb", takes)
    assert [take.name for take in takes_in(file)] == [take.name for take in takes]
    again = ml.load(f"{file}/{takes[1].name}")
    assert np.abs(again.positions() - takes[1].positions()).max() < 1e-4
