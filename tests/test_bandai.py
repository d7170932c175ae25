"""Bandai-Namco's clips: a rig with a joint above the hips and bones along one axis."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.motion.diagnostics.issues import find_issues

pytestmark = pytest.mark.cmu

ALARMS = 0.03  # share of clean clips with an alarm
PATH_ERROR_M = 0.1


@pytest.fixture(scope="module")
def library(bandai, tmp_path_factory):
    with ml.Library.create(tmp_path_factory.mktemp("bandai") / "bandai.loom") as lib:
        lib.add(bandai, labels=str(bandai / "labels.csv"), label_columns=("content", "style"))
        yield lib


def test_one_performer_has_one_skeleton(library):
    assert len(library) == 280
    assert len({entry.skeleton for entry in library.entries()}) == 1
    assert library.store.skeleton(library.entries()[0].skeleton).names[0] == "Hips"


def test_clean_clips_cause_no_alarm(library):
    alarms = {
        name: [issue.message for issue in find_issues(library[name]) if issue.severity != "info"]
        for name in library.names
    }
    output = {name: result for name, result in alarms.items() if result}
    assert len(output) < ALARMS * len(alarms), output


def test_a_rewritten_file_has_the_same_joints_and_positions(bandai, library, tmp_path):
    for file in sorted(bandai.glob("*.bvh"))[::70]:
        whole = ml.load(file, keep_carrier=True)
        for number, motion in enumerate((ml.load(file), library[file.stem])):
            again = ml.load(motion.save(tmp_path / f"{number}.bvh"), keep_carrier=True)
            assert again.skeleton.names == whole.skeleton.names
            np.testing.assert_allclose(again.positions(), whole.positions(), atol=1e-4)


def distances(points, path):
    """Distance of each point (T, 2) from a line through the points of a path (n, 2)."""
    start, step = path[:-1], np.diff(path, axis=0)
    along = np.sum((points[:, None] - start) * step, axis=2) / np.sum(step**2, axis=1)
    nearest = start + np.clip(along, 0.0, 1.0)[..., None] * step
    return np.linalg.norm(points[:, None] - nearest, axis=2).min(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("style", ["normal", "active", "feminine"])
def test_the_body_follows_an_s_curve_and_a_circle(library, style):
    names = [name for name in library.names if name.startswith("walk") and style in name]
    graph = library.motion_graph(only=names)
    t = np.linspace(0.0, 2.0 * np.pi, 200)
    curve = np.column_stack([1.5 * np.sin(t), 8.0 * t / t[-1]])
    circle = 2.0 * np.column_stack([1.0 - np.cos(t), np.sin(t)])
    for path in (curve, circle):
        walk = graph.walk(path=path)
        hips = walk.role_positions(["hips"])[:, 0, [0, 2]].astype(float)
        assert distances(hips, path).mean() < PATH_ERROR_M
        length = np.linalg.norm(np.diff(hips, axis=0), axis=1).sum()
        assert length < 1.3 * np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
