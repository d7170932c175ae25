"""Figures of the quality report, computed again from the file that was written.

The file is read by the plain reader of `tests/naive/bvh.py`, sources likewise; path, slide and
seams are computed with plain loops. Nothing of motionloom but the contacts' frames is used.
"""

import json
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.motion.diagnostics.quality import quality_report
from tests.naive import bvh
from tests.naive import quality as naive

S_CURVE = np.stack([np.sin(np.linspace(0, 2 * np.pi, 40)), np.linspace(0, 7, 40)], axis=1)
FEET = {"heel": "ankle", "ball": "foot"}


def positions(file):
    """World positions in meters (T, J, 3) by joint name."""
    read = bvh.read(file.read_text(encoding="utf-8"))
    unit = ml.load(file).origin.unit_m
    return dict(zip(read.names, unit * read.positions.transpose(1, 0, 2), strict=True)), read.fps


def corpus_takes(folder):
    return [ml.demo.clip(kind).save(folder / f"{kind}.bvh") for kind in ("walk", "walk_left",
            "walk_right", "walk_fast")]  # fmt: skip


DATA = ["corpus", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cmu", "bandai"))]


def cmu_takes(request):
    return sorted(request.getfixturevalue("cmu30").rglob("08_0*.bvh"))[:6]


def bandai_takes(request, *, of="walk", style="normal", every=1, count=8):
    files = sorted(request.getfixturevalue("bandai").rglob("*.bvh"))
    return [file for file in files if of in file.name and style in file.name][::every][:count]


@pytest.mark.slow
@pytest.mark.parametrize("data", DATA)
def test_path_slide_and_seams_of_a_written_walk_agree_with_the_report(data, request, tmp_path):
    (tmp_path / "in").mkdir()
    if data == "corpus":
        files = corpus_takes(tmp_path / "in")
    else:
        files = cmu_takes(request) if data == "cmu" else bandai_takes(request)
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add(*files)
    np.savetxt(tmp_path / "path.csv", S_CURVE, delimiter=",")
    out = tmp_path / "walk.bvh"
    run = CliRunner().invoke(
        app,
        ["walk", str(lib.path), "--path", str(tmp_path / "path.csv"), "-o", str(out), "--log",
         str(tmp_path / "log.csv"), "--json"],
        catch_exceptions=False,
    )  # fmt: skip
    quality = json.loads(run.stdout)["quality"]
    joints, fps = positions(out)
    skeleton = ml.load(out).skeleton

    hips = joints[skeleton.roles["hips"]][:, [0, 2]]
    off = [naive.distance_from_line(place, S_CURVE) for place in hips[::3]]
    assert quality["path"]["mean_m"] == pytest.approx(np.mean(off), rel=0.1, abs=2e-3)
    assert quality["path"]["worst_m"] == pytest.approx(max(off), rel=0.1, abs=2e-3)
    steps = np.linalg.norm(np.diff(hips, axis=0), axis=1)
    assert quality["path"]["length_m"] == pytest.approx(steps.sum(), rel=0.01)

    contacts = ml.load(out).contacts()
    ways = []
    for side in ("left", "right"):
        for part, role in FEET.items():
            path = joints[skeleton.roles[f"{side}_{role}"]]
            ways += naive.slide_per_contact(path, contacts.intervals(f"{side}_{part}"))
    assert quality["foot_slide_m"] == pytest.approx(np.mean(ways), rel=0.1, abs=5e-4)

    with (tmp_path / "log.csv").open() as log:
        seams = [int(line.split(",")[0]) for line in list(log)[1:]]
    usual = usual_of(lib)
    every = np.stack(list(joints.values()), axis=1)
    reach = round(0.25 * fps)
    ratios = {
        seam: naive.largest_acceleration(every, fps, range(seam - reach, seam + reach + 1)) / usual
        for seam in seams
    }
    worst = max(ratios.values(), default=None)
    assert quality["seam_acceleration_ratio"] == pytest.approx(worst, rel=0.1)
    assert ratios[quality["worst_seam"]["frame"]] == pytest.approx(worst, rel=0.05)


@pytest.mark.parametrize("data", DATA)
def test_captured_takes_rarely_exceed_a_limit(data, request):
    if data == "corpus":
        takes = [ml.demo.clip(name) for name in ml.demo.names()[::12]]
    elif data == "cmu":
        files = sorted(request.getfixturevalue("cmu30").rglob("*.bvh"))[::8]
        takes = (ml.load(file) for file in files)
    else:
        files = bandai_takes(request, of="", style="", every=8, count=35)
        takes = (ml.load(file) for file in files)
    passed, alarms, count = Counter(), 0, 0
    for take in takes:
        beyond = {entry.measure for entry in quality_report(take).worst if entry.passed}
        passed.update(beyond)
        alarms += bool(beyond - {"jump"})
        count += 1
    if data != "cmu":
        assert alarms < 0.03 * count and not passed["jump"]
        return
    # In one of twenty of CMU's takes a joint does jump: swapped markers. Others have twisted heads
    # or overextended knees, so each limit is tested alone; most were set on these takes.
    for measure, times in passed.items():
        assert times <= (0.07 if measure == "jump" else 0.03) * count, measure


def usual_of(lib):
    """99.9th percentile of the accelerations of all joints and frames of the graph's takes."""
    sizes = []
    for motion in lib.motion_graph().motions:
        places = motion.positions().astype(float)
        second = places[2:] - 2.0 * places[1:-1] + places[:-2]
        sizes.append(np.linalg.norm(second, axis=-1).ravel() * motion.fps**2)
    return float(np.percentile(np.concatenate(sizes), 99.9))
