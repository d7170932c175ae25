"""Whole bodies from full marker sets."""

import numpy as np
import pytest
from synthetic_markers import SETS, marker, markers

import motionloom as ml
from motionloom.errors import MotionFormatError
from motionloom.motion.positions.marker_sets import joint_centers, marker_set

JOINTS = [
    f"{side}_{part}"
    for side in ("left", "right")
    for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")
]


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")[:60]


def errors(motion, wanted):
    """Distances (T, 12) of the joints."""
    return np.linalg.norm(motion.role_positions(JOINTS) - wanted.role_positions(JOINTS), axis=2)


def check(motion, wanted, loose=(), pair=True):
    away = errors(motion, wanted)
    assert away.mean() < 0.02
    assert dict(zip(JOINTS, away.mean(axis=0).round(4), strict=True)) == {
        joint: pytest.approx(0.0, abs=0.045 if joint in loose else 0.03) for joint in JOINTS
    }
    for side, other in (("left", "right"), ("right", "left")):
        for part in ("knee", "ankle"):  # legs are never exchanged
            here = motion.role_positions([f"{side}_{part}"])[:, 0]
            own, wrong = (wanted.role_positions([f"{s}_{part}"])[:, 0] for s in (side, other))
            near = np.linalg.norm(here - own, axis=1)
            far = np.linalg.norm(here - wrong, axis=1)
            assert (near < np.maximum(far, 0.05)).all()
        if pair:
            middle = 0.5 * (marker(wanted, "thumb_side", side) + marker(wanted, "pinky_side", side))
            wrist = motion.role_positions([f"{side}_wrist"])[:, 0]
            assert np.linalg.norm(wrist - middle, axis=1).mean() < 0.015


@pytest.mark.parametrize("name", SETS)
def test_a_marker_set_becomes_a_motion(walk, name, tmp_path):
    path = markers(walk, name).save(tmp_path / "trial.c3d")  # millimeters, z up
    motion = ml.load(path)
    check(motion, walk, pair=name != "Helen Hayes")
    assert motion.origin.layout.startswith(f"{name}: joint centers from ")
    assert any(f"{name} markers" in text for text in motion.origin.warnings)
    assert motion.origin.unit_m == 0.001 and motion.origin.up == "z"
    assert isinstance(ml.load_markers(path), ml.Markers)


@pytest.mark.parametrize("clip", ["kick_front_high_right_p0", "dance_sway"])
@pytest.mark.parametrize("name", ["Plug-in Gait", "Rizzoli"])
def test_other_motions(name, clip, tmp_path):
    wanted = ml.demo.clip(clip)[:80]
    check(ml.load(markers(wanted, name).save(tmp_path / "trial.c3d")), wanted)


@pytest.mark.parametrize("suffix", [".c3d", ".trc", ".csv"])
def test_gaps_prefixes_and_missing_markers(walk, suffix, tmp_path):
    full = markers(walk, "Plug-in Gait", prefix="Anna_7:" if suffix == ".c3d" else "P01_")
    points, rng = full.positions.astype(float), np.random.default_rng(1)
    for column in range(points.shape[1]):  # gaps of up to 0.2 s
        while np.isnan(points[:, column, 0]).mean() < 0.05:
            start = rng.integers(2, len(points) - 8)
            points[start : start + rng.integers(1, 6), column] = np.nan
    kept = [k for k, label in enumerate(full.labels) if label[-4:] not in ("LPSI", "RWRB")]
    part = ml.Markers([full.labels[k] for k in kept], points[:, kept], full.fps)
    motion = ml.load(part.save(tmp_path / f"trial{suffix}"))
    check(motion, walk, loose=["right_wrist"], pair=False)
    assert any("gaps" in text for text in motion.repairs)
    warning = next(text for text in motion.origin.warnings if "Guesses" in text)
    assert "left_hip" in warning and "right_wrist" in warning


def test_the_gap_of_a_rigid_part_follows_the_other_markers(walk):
    full = markers(walk, "Plug-in Gait", noise=0.0)
    points = full.positions.astype(float)
    hidden = points.copy()
    hidden[5:50, full.labels.index("RASI")] = np.nan  # 1.5 s
    hidden[5:50, full.labels.index("LFHD")] = 0.0  # a gap in some files
    body_markers = marker_set(full.labels)
    paths = [
        joint_centers(body_markers, p, fps=30.0, meters=1.0).landmarks for p in (points, hidden)
    ]
    for landmark in ("right_hip", "left_ear"):
        assert np.abs(paths[0][landmark] - paths[1][landmark]).max() < 0.002


def test_a_hinge_has_its_center_next_to_a_lateral_marker(walk):
    """A leg with a known axis bends from straight to a right angle."""
    labels = list(markers(walk, "Plug-in Gait").labels)
    points = np.zeros((60, len(labels), 3))
    at = {label: points[:, k] for k, label in enumerate(labels)}
    centers = {}
    for letter, x in (("L", 1.0), ("R", -1.0)):
        at[f"{letter}ASI"][:] = (0.12 * x, 1.0, 0.1)
        at[f"{letter}PSI"][:] = (0.05 * x, 1.0, -0.05)
        at[f"{letter}SHO"][:] = (0.2 * x, 1.5, 0.0)
        bend = np.linspace(0.0, np.pi / 2, 60)[:, None]
        hip = np.array([(0.33 * 0.24 + 0.0073) * x, 1.0 - 0.3 * 0.24 - 0.0109, 0.0541])
        knee = hip + 0.42 * np.array([0.0, -1.0, 0.0])
        ankle = knee + 0.4 * (np.cos(bend) * [0.0, -1.0, 0.0] + np.sin(bend) * [0.0, 0.0, -1.0])
        offset = 0.16 * np.hypot(0.42, 0.068)
        at[f"{letter}KNE"][:] = knee + [offset * x, 0.0, 0.0]
        at[f"{letter}ANK"][:] = ankle + [0.12 * 0.4 * x, 0.0, 0.0]
        for label, y in (("ELB", 1.2), ("WRA", 1.0), ("WRB", 1.0)):
            at[f"{letter}{label}"][:] = (0.25 * x, y, 0.03 if label == "WRA" else 0.0)
        centers[letter] = knee
    body = joint_centers(marker_set(labels), points, fps=60.0, meters=1.0).landmarks
    for letter, side in (("L", "left"), ("R", "right")):
        away = np.linalg.norm(body[f"{side}_knee"] - centers[letter], axis=1)
        assert away.max() < 0.004
    assert {"left_knee", "right_elbow"} <= set(
        joint_centers(marker_set(labels), points, fps=60.0, meters=1.0).guesses
    )


def test_joint_centers_in_the_file_are_preferred(walk, tmp_path):
    full = markers(walk, "Plug-in Gait")
    codes = {"hip": "FEP", "knee": "FEO", "ankle": "TIO", "shoulder": "HUP", "elbow": "HUO",
             "wrist": "RAO"}  # fmt: skip
    labels = [f"{joint[0].upper()}{codes[joint.rpartition('_')[2]]}" for joint in JOINTS]
    points = np.concatenate([full.positions, walk.role_positions(JOINTS)], axis=1)
    both = ml.Markers([*full.labels, *labels], points, walk.fps)
    motion = ml.load(both.save(tmp_path / "trial.c3d"))
    assert errors(motion, walk).max() < 0.002
    assert not any("Guesses" in text for text in motion.origin.warnings)


@pytest.mark.parametrize(
    "names",
    [
        "hip knee ankle acromial elbow radius_hand",
        "femur tibia talus humerus ulna hand",
        "HJC KJC AJC SJC EJC WJC",
    ],
)
def test_joint_centers_of_opensim_are_recognized(walk, names, tmp_path):
    parts = dict(zip("hip knee ankle shoulder elbow wrist".split(), names.split(), strict=True))
    labels = [
        f"{joint[0].upper()}{parts[joint.rpartition('_')[2]]}"
        if names.isupper() or "HJC" in names
        else f"{parts[joint.rpartition('_')[2]]}_{joint[0]}"
        for joint in JOINTS
    ]
    path = ml.Markers(labels, walk.role_positions(JOINTS), walk.fps).save(tmp_path / "ik.trc")
    assert errors(ml.load(path), walk).max() < 0.002


def test_several_people_and_a_prop(walk, tmp_path):
    people = [
        markers(walk, "Plug-in Gait", prefix="Ann:"),
        markers(walk.mirror(), "CMU", prefix="Bob:"),
    ]
    stick = ml.Markers(["Stick:1", "Stick:2"], people[0].positions[:, :2], walk.fps)
    every = [*people, stick]
    labels = [label for each in every for label in each.labels]
    points = np.concatenate([each.positions for each in every], axis=1)
    path = ml.Markers(labels, points, walk.fps).save(tmp_path / "pair.c3d")
    lib = ml.Library.create(tmp_path / "lib.loom")
    lib.add(tmp_path)
    assert lib.names == ("pair.c3d/Ann", "pair.c3d/Bob")
    check(ml.load(f"{path}/Bob"), walk.mirror())
    assert any("Stick do not form a body" in text for text in ml.load(path).origin.warnings)


def test_markers_of_a_part_of_the_body_stay_markers(walk, tmp_path):
    full = markers(walk, "Plug-in Gait")
    arms = ("SHO", "ELB", "WRA", "WRB")
    legs = [k for k, label in enumerate(full.labels) if label[1:] not in arms]
    part = ml.Markers([full.labels[k] for k in legs], full.positions[:, legs], walk.fps)
    path = part.save(tmp_path / "legs.c3d")
    with pytest.raises(MotionFormatError, match="without a skeleton.*none for left_shoulder"):
        ml.load(path)
    hidden = full.positions.astype(float)
    hidden[:, full.labels.index("LANK")] = np.nan
    path = ml.Markers(full.labels, hidden, walk.fps).save(tmp_path / "hidden.c3d")
    with pytest.raises(MotionFormatError, match="the markers of left_ankle are visible in less"):
        ml.load(path)
