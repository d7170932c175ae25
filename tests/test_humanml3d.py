"""The representation of HumanML3D, AMASS archives, and TRC files for OpenSim."""

from functools import partial

import numpy as np
import pytest
from commands import invoked
from naive import humanml3d as naive

import motionloom as ml
from benchmarks.reduced import reduced
from motionloom.cli.command import command
from motionloom.cli.library.convert import convert
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.positions.humanml3d import (
    features,
    humanml3d_positions,
    placed,
    positions_from,
)
from motionloom.motion.positions.layouts import NEEDED

run = partial(invoked, command("convert", convert))


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


@pytest.mark.parametrize("name", ["walk", "jog", "kick_front_low_left_p0"])
def test_features_are_those_of_the_data_set(name):
    points = reduced(ml.demo.clip(name), "humanml3d")[::2] + [3.0, 0.4, -2.0]
    np.testing.assert_allclose(placed(points), naive.placed(points), atol=1e-9)
    np.testing.assert_allclose(
        features(placed(points)), naive.features(naive.placed(points)), atol=1e-6
    )


def test_positions_are_on_the_floor_over_the_origin_and_face_forward(walk):
    points = humanml3d_positions(walk.transform(shift=(2.0, 0.5, 1.0)))
    assert points.shape == (round(walk.duration * 20), 22, 3)
    assert points[:, :, 1].min() == pytest.approx(0.0, abs=1e-9)
    assert np.abs(points[0, 0, [0, 2]]).max() < 1e-9
    across = points[0, 1] - points[0, 2]
    assert across[0] > 0.05 and abs(across[2]) < 0.3 * across[0]


def test_positions_come_back_from_the_features_up_to_a_turn(walk):
    points = humanml3d_positions(walk)
    again = positions_from(features(points))
    for frame in (0, 40, 90):
        for pair in ((0, 15), (20, 11), (4, 18)):
            lengths = [
                np.linalg.norm(p[frame, pair[0]] - p[frame, pair[1]]) for p in (points, again)
            ]
            assert lengths[0] == pytest.approx(lengths[1], abs=1e-6)
    path = [np.linalg.norm(np.diff(p[:90, 0], axis=0), axis=1) for p in (points, again)]
    np.testing.assert_allclose(*path, atol=1e-6)


def test_convert_writes_positions_and_features(walk, tmp_path):
    walk.save(tmp_path / "walk.bvh")
    out = tmp_path / "out.npy"
    run(tmp_path / "walk.bvh", out, "--to", "humanml3d")
    joints, vectors = np.load(out), np.load(tmp_path / "out_263.npy")
    assert joints.shape == (91, 22, 3) and vectors.shape == (91, 263)
    np.testing.assert_allclose(positions_from(vectors.astype(np.float64)), joints, atol=1e-4)
    for file in (out, tmp_path / "out_263.npy"):
        motion = ml.load(file)
        assert motion.fps == 20.0
        names = [f"{side}_{part}" for side in ("left", "right") for part in ("hip", "ankle")]
        expected = joints[:, [1, 7, 2, 8]]
        assert np.abs(motion.role_positions(names) - expected).max() < 2e-3


def test_a_target_has_its_own_suffix(walk, tmp_path):
    walk.save(tmp_path / "walk.bvh")
    with pytest.raises(InvalidInput, match="--to humanml3d writes .npy files"):
        run(tmp_path / "walk.bvh", tmp_path / "out.bvh", "--to", "humanml3d")
    with pytest.raises(InvalidInput, match="layout must be one of humanml3d, humanml3d-263"):
        walk.save(tmp_path / "walk.npy", layout="coco")
    with pytest.raises(InvalidInput, match="needs two frames"):
        walk[:1].save(tmp_path / "walk.npy")


def test_normalized_features_are_refused(walk, tmp_path, rng):
    np.save(tmp_path / "normal.npy", rng.normal(size=(60, 263)))
    with pytest.raises(MotionFormatError, match="features are normalized"):
        ml.load(tmp_path / "normal.npy")


def test_amass_archives_hold_rotations_of_the_body(walk, tmp_path):
    path = walk.save(tmp_path / "walk.npz")
    with np.load(path, allow_pickle=False) as content:
        assert content["poses"].shape == (len(walk), 66)
        assert content["trans"].shape == (len(walk), 3)
        assert content["mocap_framerate"] == walk.fps
    again = ml.load(path)
    assert again.fps == walk.fps and again.origin.up == "z"
    neutral = walk.retarget(again.skeleton)
    assert np.abs(again.positions() - neutral.positions()).max() < 1e-3
    assert path.read_bytes() == walk.save(tmp_path / "again.npz").read_bytes()


def test_archives_may_hold_positions(walk, tmp_path):
    points = reduced(walk, "coco")
    np.savez(tmp_path / "a.npz", keypoints_3d=points, fps=60, scores=np.ones(points.shape[:2]))
    motion = ml.load(tmp_path / "a.npz")
    assert motion.fps == 60.0
    assert np.abs(motion.role_positions(NEEDED) - walk.role_positions(NEEDED)).max() < 1e-3


def test_an_archive_with_a_bad_rate_is_refused(walk, tmp_path):
    np.savez(tmp_path / "a.npz", positions=reduced(walk, "coco"), fps=np.zeros(0))
    with pytest.raises(MotionFormatError, match="the rate must be a single number|no poses"):
        ml.load(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", positions=reduced(walk, "coco"), fps=1e9)
    with pytest.raises(MotionFormatError, match="set the rate with fps"):
        ml.load(tmp_path / "b.npz")


# --- TRC ----------------------------------------------------------------------------------


def test_trc_files_round_trip(walk, tmp_path):
    path = walk.save(tmp_path / "walk.trc", unit="mm")
    lines = path.read_text().splitlines()
    assert lines[0].startswith("PathFileType\t4\t(X/Y/Z)")
    assert lines[2].split("\t")[:5] == ["30", "30", str(len(walk)), "26", "mm"]
    markers = ml.load_markers(path)
    assert np.abs(markers.positions - walk.positions(end_sites=True)).max() < 1e-6
    assert markers.origin.unit_m == 0.001


def test_gaps_in_trc_files_are_empty_cells(tmp_path):
    points = np.ones((3, 2, 3))
    points[1, 0] = np.nan
    path = ml.Markers(["A", "B"], points, 100.0).save(tmp_path / "a.trc")
    assert path.read_text().splitlines()[6].startswith("2\t0.010000\t\t\t\t1.0")
    assert np.isnan(ml.load_markers(path).positions[1, 0]).all()


@pytest.mark.parametrize(("change", "message"), [
    (lambda text: text.replace("PathFileType", "Nonsense"), "must start with PathFileType"),
    (lambda text: text.replace("\tm\t", "\tparsec\t"), "the unit 'parsec' is unknown"),
    (lambda text: text.replace("A\t\t\tB", "A\t\t\tA"), "occurs twice"),
    (lambda text: text.replace("1.000000\n", "1.0\t5.0\n"), "expected at most 8 cells"),
    (lambda text: text.replace("1.000000\n", "one\n"), "'one' is not a number"),
    (lambda text: "\n".join(text.splitlines()[:5]), "the file has no frames"),
    (lambda text: text.replace("100\t", "x\t").replace("0.010", "0.0").replace("0.020", "0.0"),
     "states no rate"),
])  # fmt: skip
def test_bad_trc_files_are_refused(tmp_path, change, message):
    path = ml.Markers(["A", "B"], np.ones((3, 2, 3)), 100.0).save(tmp_path / "a.trc")
    path.write_text(change(path.read_text()))
    with pytest.raises(MotionFormatError, match=message):
        ml.load_markers(path)
