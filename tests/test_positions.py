"""Motions solved from joint positions, and the layouts of the points."""

import numpy as np
import pytest

import motionloom as ml
from benchmarks.reduced import corrupted, reduced, rotation_error
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.positions.layouts import (
    LAYOUTS,
    NEEDED,
    labeled_layout,
    landmarks_in,
    layout_named,
    recognize,
)
from motionloom.motion.positions.solver import solve_positions

LIMBS = [f"{side}_{part}" for side in ("left", "right") for part in ("shoulder", "hip", "knee")]


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


@pytest.fixture(scope="module")
def takes(walk):
    return [walk, *(ml.demo.clip(name) for name in ("jog", "kick_front_low_left_p0"))]


def _solve(points, name, fps, **options):
    layout = LAYOUTS[name]
    landmarks = layout.landmark_positions(points)
    return solve_positions(landmarks, fps=fps, anatomical=layout.anatomical, **options)


def _errors(solved, points, name):
    places = solved.positions(end_sites=True)
    names = list(solved.skeleton.point_names)
    # A layout without a chest marks the base of the neck, where the collars branch off.
    other = {} if LAYOUTS[name].anatomical else {"neck": "chest"}
    return {
        key: float(np.linalg.norm(places[:, names.index(other.get(key, key))] - path, axis=1).max())
        for key, path in LAYOUTS[name].landmark_positions(points).items()
        if other.get(key, key) in names
    }


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_point_is_reached_within_a_millimeter(takes, name):
    for motion in takes:
        points = reduced(motion, name)
        errors = _errors(_solve(points, name, motion.fps), points, name)
        assert set(NEEDED) <= errors.keys()
        assert max(errors.values()) < 1e-3, errors


def test_rotations_of_limbs_are_those_of_the_original(takes):
    for motion in takes:
        solved = _solve(reduced(motion, "humanml3d"), "humanml3d", motion.fps)
        worst = {role: np.percentile(rotation_error(motion, solved, role), 95) for role in LIMBS}
        assert max(worst.values()) < 2.0, (motion.name, worst)


@pytest.mark.parametrize(("name", "roles"), [
    ("mediapipe", ["left_wrist", "right_wrist", "left_ankle", "right_ankle", "head"]),
    ("openpose", ["left_ankle", "right_ankle", "head"]),
])  # fmt: skip
def test_points_on_hands_feet_and_face_show_how_they_are_turned(takes, name, roles):
    for motion in takes:
        solved = _solve(reduced(motion, name), name, motion.fps)
        for role in roles:
            assert np.percentile(rotation_error(motion, solved, role), 95) < 5.0, role


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_solved_body_has_all_roles_and_the_right_height(walk, name):
    solved = _solve(reduced(walk, name), name, walk.fps)
    needed = {"hips", "spine", "chest", "neck", "head", "left_collar", "left_foot", *NEEDED}
    assert needed <= solved.skeleton.roles.keys()
    assert body_height(solved.skeleton) == pytest.approx(body_height(walk.skeleton), rel=0.1)
    assert solved.translations is None


def test_a_solved_motion_can_be_retargeted(walk):
    solved = _solve(reduced(walk, "coco"), "coco", walk.fps)
    moved = solved.retarget(walk.skeleton)
    apart = moved.role_positions(NEEDED) - walk.role_positions(NEEDED)
    assert np.median(np.linalg.norm(apart, axis=2)) < 0.05


def _straight_then_bent(frames=90, flip=()):
    """A take whose left arm hangs straight, and bends in the middle third."""
    walk = ml.demo.clip("walk")[:1]
    paths = {k: np.repeat(walk.role_positions([k])[:, 0].astype(float), frames, 0) for k in NEEDED}
    shoulder = paths["left_shoulder"]
    angle = np.zeros(frames)
    angle[30:60] = np.radians(80.0) * np.sin(np.pi * np.arange(30) / 30)
    for frame in flip:
        angle[frame] = np.radians(-3.0)  # hyperextended
    paths["left_elbow"] = shoulder + [0.0, -0.3, 0.0]
    bend = np.stack([0.0 * angle, -np.cos(angle), np.sin(angle)], axis=1)
    paths["left_wrist"] = paths["left_elbow"] + 0.25 * bend
    return paths


@pytest.mark.parametrize("flip", [(), (5, 6, 80)])
def test_the_twist_of_a_straight_arm_is_that_of_the_bent_frames(flip):
    solved = solve_positions(_straight_then_bent(flip=flip), fps=30.0)
    joint = solved.skeleton.point("left_shoulder")
    upper = solved.global_rotations()[:, joint]
    dots = np.abs((upper * upper[45]).sum(axis=1))
    assert np.degrees(2.0 * np.arccos(dots.clip(0.0, 1.0))).max() < 1.0


def test_one_frame_and_missing_landmarks_are_handled(walk):
    paths = {role: walk.role_positions([role])[:1, 0].astype(float) for role in NEEDED}
    assert len(solve_positions(paths, fps=30.0)) == 1
    with pytest.raises(InvalidInput, match="the positions lack left_knee"):
        solve_positions({k: v for k, v in paths.items() if k != "left_knee"}, fps=30.0)
    with pytest.raises(InvalidInput, match="left_knee has gaps"):
        solve_positions(paths | {"left_knee": np.full((1, 3), np.nan)}, fps=30.0)
    with pytest.raises(InvalidInput, match="there is no landmark 'tail'"):
        solve_positions(paths | {"tail": paths["left_knee"]}, fps=30.0)


# --- layouts ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_are_recognized_by_number_and_shape(takes, name):
    for motion in takes:
        result = recognize(reduced(motion, name))
        assert result.layout.name == name and not result.warning


def test_an_ambiguous_layout_is_reported():
    points = np.random.default_rng(0).normal(size=(50, 17, 3))
    assert "may be" in recognize(points).warning
    assert recognize(points[:, :7]) is None


def test_labels_name_landmarks():
    hik = ["Hips", "LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand", "LeftUpLeg", "LeftLeg"]
    assert landmarks_in(hik)["left_wrist"] == ("LeftHand",)
    assert landmarks_in(hik)["left_knee"] == ("LeftLeg",)
    assert landmarks_in(["Head", "Nose", "LBigToe"]) == {
        "nose": ("Nose",), "left_toe": ("LBigToe",), "head_top": ("Head",)
    }  # fmt: skip
    assert labeled_layout(["HipLeft", "KneeLeft"]) is None


def test_a_layout_can_be_given_as_a_file(walk, tmp_path):
    points = reduced(walk, "coco")
    order = np.random.default_rng(1).permutation(17)
    file = tmp_path / "mine.toml"
    places = {
        name: int(np.flatnonzero(order == k)[0]) for k, name in enumerate(LAYOUTS["coco"].points)
    }
    lines = [f"{name} = {place}" for name, place in places.items()]
    hips = f"hips = [{places['left_hip']}, {places['right_hip']}]"
    file.write_text(
        "\n".join(["points = 17", 'unit = "m"', "fps = 30", "[landmarks]", hips, *lines])
    )
    np.save(tmp_path / "walk.npy", points[:, order])
    motion = ml.load(tmp_path / "walk.npy", layout=file)
    assert np.abs(motion.role_positions(NEEDED) - walk.role_positions(NEEDED)).max() < 1e-3
    again = layout_named(layout_named(file).to_json())
    assert again.landmarks == layout_named(file).landmarks


@pytest.mark.parametrize(("entries", "message"), [
    ({}, "must have a table 'landmarks'"),
    ({"points": 3, "landmarks": {"tail": 1}}, "there is no landmark 'tail'"),
    ({"points": 3, "landmarks": {"left_hip": 7}}, "does not exist; the layout has 3 points"),
    ({"points": 3, "landmarks": {"left_hip": 1}}, "the layout lacks left_shoulder"),
    ({"points": -3, "landmarks": {}}, "points must be their number"),
])  # fmt: skip
def test_a_wrong_layout_is_refused(entries, message):
    with pytest.raises(InvalidInput, match=message):
        layout_named(entries)
    with pytest.raises(InvalidInput, match="layout must be one of humanml3d"):
        layout_named("handmade")


# --- files --------------------------------------------------------------------------------


def _check(motion, walk, tolerance=2e-3):
    apart = motion.role_positions(NEEDED) - walk.role_positions(NEEDED)
    assert np.linalg.norm(apart, axis=2).max() < tolerance


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_are_read_in_any_unit_and_axis(walk, tmp_path, name):
    points = reduced(walk, name)
    np.save(tmp_path / "meters.npy", points.astype(np.float32))
    _check(ml.load(tmp_path / "meters.npy"), walk)
    if LAYOUTS[name].unit is None:  # z up, in millimeters
        np.save(tmp_path / "mm.npy", 1000.0 * points[:, :, [0, 2, 1]] * [1.0, -1.0, 1.0])
        motion = ml.load(tmp_path / "mm.npy")
        assert (motion.origin.up, motion.origin.unit_m) == ("z", 0.001)
        _check(motion, walk)


def test_facts_that_were_inferred_are_reported(walk, tmp_path):
    np.save(tmp_path / "walk.npy", reduced(walk, "coco"))
    origin = ml.load(tmp_path / "walk.npy").origin
    assert origin.layout.startswith("coco: in this order, limbs vary by 0 %")
    assert any("states no rate; 30 fps are assumed" in text for text in origin.warnings)
    assert ml.load(tmp_path / "walk.npy", fps=60).fps == 60.0
    assert ml.load(tmp_path / "walk.npy", layout="coco").origin.layout == "coco: given"


def test_noise_gaps_and_outliers_are_reported_and_removed(walk, tmp_path, rng):
    points = reduced(walk, "h36m")
    seen, _, _ = corrupted(points, rng, 0.01, walk.fps)
    np.save(tmp_path / "walk.npy", seen)
    motion = ml.load(tmp_path / "walk.npy", fps=walk.fps)
    apart = np.linalg.norm(motion.role_positions(NEEDED) - walk.role_positions(NEEDED), axis=2)
    assert apart.mean() < 0.015
    assert [text.split()[0] for text in motion.repairs][:1] == ["gaps,"]
    assert any("noise of" in text for text in motion.repairs)
    raw = ml.load(tmp_path / "walk.npy", fps=walk.fps, smooth=False)
    assert not any("noise of" in text for text in raw.repairs)


def test_a_figure_in_camera_coordinates_is_put_on_the_floor(walk, tmp_path):
    points = reduced(walk, "mediapipe") * [1.0, -1.0, -1.0] + [0.0, 0.4, 3.0]
    np.save(tmp_path / "walk.npy", points)
    motion = ml.load(tmp_path / "walk.npy")
    assert motion.origin.up == "-y"
    assert any("moved by" in text for text in motion.repairs)
    feet = motion.role_positions(["left_toe", "right_toe"])[:, :, 1]
    assert abs(np.quantile(feet.min(axis=1), 0.02)) < 0.03


def test_exchanged_sides_are_reported(walk, tmp_path):
    np.save(tmp_path / "walk.npy", reduced(walk, "openpose") * [-1.0, 1.0, 1.0])
    assert any("left and right" in text for text in ml.load(tmp_path / "walk.npy").origin.warnings)


def test_positions_relative_to_the_hips_stay_in_place_and_it_is_said(walk, tmp_path):
    points = reduced(walk, "h36m")
    np.save(tmp_path / "walk.npy", points - points[:, :1])
    assert any("stays in place" in text for text in ml.load(tmp_path / "walk.npy").origin.warnings)


def _one_infinite_point():
    points = reduced(ml.demo.clip("walk"), "humanml3d")
    points[3, 4] = np.inf
    return points


def test_noise_does_not_change_the_height(walk, rng):
    points = reduced(walk, "humanml3d")
    noisy = points + rng.normal(0.0, 0.005, points.shape)
    heights = [body_height(_solve(p, "humanml3d", 30.0).skeleton) for p in (points, noisy)]
    assert heights[0] == pytest.approx(heights[1], abs=0.03)


@pytest.mark.parametrize(("array", "message"), [
    (np.zeros((30, 5)), r"no joint positions: expected .* found .* \(30, 5\)"),
    (np.zeros((30, 17, 2)), "two dimensions"),
    (np.full((30, 22, 3), np.nan), "every position is missing"),
    (np.ones((1, 22, 3)), "at least two frames"),
    (np.ones((30, 19, 3)), "no layout has 19 points; layouts are 22 .humanml3d."),
    (np.ones((30, 22, 3)), "do not form a body"),
    (np.zeros((0, 22, 3)), "the array is empty"),
    (np.full((30, 263), np.inf), "not finite"),
    (_one_infinite_point(), "reach inf m from the origin"),
    (np.array(["a", "b"]), "no joint positions"),
])  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_bad_arrays_are_refused_in_one_line(tmp_path, array, message):
    np.save(tmp_path / "bad.npy", array)
    with pytest.raises(MotionFormatError, match=message) as info:
        ml.load(tmp_path / "bad.npy")
    assert "\n" not in str(info.value) and "bad.npy" in str(info.value)


def test_ten_million_frames_are_refused_before_they_are_read(tmp_path):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (10000000, 22, 3), }"
    text = header.encode().ljust(117) + b"\n"
    (tmp_path / "long.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    )
    with pytest.raises(MotionFormatError, match="needs 2640000000 bytes of data, but only 0"):
        ml.load(tmp_path / "long.npy")
    np.save(tmp_path / "deep.npy", np.zeros((2_000_001, 5, 3), np.int8))
    with pytest.raises(MotionFormatError, match="2000001 frames; at most 2000000 are read"):
        ml.load(tmp_path / "deep.npy")


def test_json_is_read_in_several_forms(walk, tmp_path):
    import json

    points = reduced(walk, "coco")
    names = LAYOUTS["coco"].points
    named = [dict(zip(names, ({"x": x, "y": y, "z": z} for x, y, z in frame), strict=True))
             for frame in points.tolist()]  # fmt: skip
    forms = {
        "object": {"fps": 30, "positions": points.tolist()},
        "list": points.tolist(),
        "named": {"frames": named, "fps": 30},
        "landmarks": [{"landmarks": list(frame.values())} for frame in named],
    }
    for form, content in forms.items():
        (tmp_path / f"{form}.json").write_text(json.dumps(content))
        _check(ml.load(tmp_path / f"{form}.json"), walk)
    for bad in ("{}", "[]", '{"positions": [[1, 2], [3]]}', "[[[1, 2, 3]], [[1, 2]]]", "nonsense"):
        (tmp_path / "bad.json").write_text(bad)
        with pytest.raises(MotionFormatError, match=r"bad\.json"):
            ml.load(tmp_path / "bad.json")


def test_tables_of_freemocap_are_read(walk, tmp_path):
    points = 1000.0 * reduced(walk, "mediapipe")[:, :, [0, 2, 1]] * [1.0, -1.0, 1.0]
    names = LAYOUTS["mediapipe"].points
    rows = ["frame,keypoint,x,y,z,model,trajectory,reprojection_error"]
    for frame, places in enumerate(points):
        for kind in ("3d_xyz", "rigid_3d_xyz"):
            rows += [f"{frame},{n},{x:.3f},{y:.3f},{z:.3f},mediapipe.body,{kind},0.5"
                     for n, (x, y, z) in zip(names, places, strict=True)]  # fmt: skip
    (tmp_path / "freemocap_data_by_frame.csv").write_text("\n".join(rows))
    _check(ml.load(tmp_path / "freemocap_data_by_frame.csv"), walk)
    wide = ",".join(f"{name}_{axis}" for name in names for axis in "xyz")
    np.savetxt(tmp_path / "wide.csv", points.reshape(len(points), -1), delimiter=",",
               header=wide, comments="")  # fmt: skip
    _check(ml.load(tmp_path / "wide.csv"), walk)


@pytest.mark.parametrize("suffix", [".trc", ".csv", ".c3d"])
def test_marker_files_with_joints_are_motions(walk, tmp_path, suffix):
    path = walk.save(tmp_path / f"walk{suffix}")
    _check(ml.load(path), walk)
    assert isinstance(ml.load_markers(path), ml.Markers)


# --- several people -----------------------------------------------------------------------


def test_several_people_are_takes_of_one_scene(walk, tmp_path):
    points = reduced(walk, "coco")
    both = np.stack([points, points + [1.0, 0.0, 0.0]], axis=1)
    np.save(tmp_path / "two.npy", both)
    first = ml.load(tmp_path / "two.npy")
    assert any("2 recordings; person0 was read" in text for text in first.origin.warnings)
    second = ml.load(tmp_path / "two.npy/person1")
    assert second.origin.scene == first.origin.scene == "two.npy"
    assert np.median(second.root[:, 0] - first.root[:, 0]) == pytest.approx(1.0, abs=1e-3)
    lib = ml.Library.create(tmp_path / "lib.loom")
    lib.add(tmp_path / "two.npy")
    scene = lib.scene("two.npy/person1")
    assert scene.names == ("two.npy/person0", "two.npy/person1")


def test_subjects_of_a_c3d_file_are_takes_of_one_scene(walk, tmp_path):
    pair = ml.Scene([walk, walk.mirror()], names=["Ann", "Bob"])
    ml.save(pair, tmp_path / "pair.c3d")
    lib = ml.Library.create(tmp_path / "lib.loom")
    lib.add(tmp_path / "pair.c3d")
    assert lib.names == ("pair.c3d/Ann", "pair.c3d/Bob")
    _check(lib.scene("pair.c3d/Ann")[0], walk)
    lib.add_motion(walk, name="alone")
    with pytest.raises(InvalidInput, match="alone was recorded alone"):
        lib.scene("alone")


# --- samples of generators ----------------------------------------------------------------


def test_the_samples_of_mdm_are_read_without_unpickling(walk, tmp_path, monkeypatch):
    import pickle

    points = reduced(walk, "humanml3d")[:60].transpose(1, 2, 0).astype(np.float32)
    content = {"motion": np.stack([points, points]), "text": ["a person walks", "again"],
               "lengths": np.array([60, 40]), "num_samples": 2, "num_repetitions": 1}  # fmt: skip
    np.save(tmp_path / "results.npy", content)

    def refuse(*_, **__):
        raise AssertionError("a pickle was loaded")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    takes = dict(ml.formats.load_takes(tmp_path / "results.npy"))
    assert list(takes) == ["sample0 a person walks", "sample1 again"]
    assert [len(motion) for motion in takes.values()] == [60, 40]
    _check(takes["sample0 a person walks"], walk[:60])


def test_pickles_that_call_anything_are_refused(tmp_path):
    import os

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    for number, content in enumerate((Evil(), {"motion": Evil()}, [1, 2], {"motion": {1, 2}})):
        np.save(tmp_path / f"{number}.npy", np.array(content, dtype=object), allow_pickle=True)
        with pytest.raises(MotionFormatError, match="is a pickle, which is not loaded"):
            ml.load(tmp_path / f"{number}.npy")
    assert not (tmp_path / "made").exists()


def test_references_in_a_pickle_cannot_repeat_its_data_without_limit():
    """Lists of lists of the same list: 20 levels of ten would be 10 ** 20 objects."""
    import pickle

    from motionloom.formats.positions.pickled_arrays import pickled_dictionary

    inner = [0.0] * 10
    for _ in range(15):
        inner = [inner] * 10
    with pytest.raises(ValueError, match="repeats its data too often"):
        pickled_dictionary(pickle.dumps({"motion": inner}, protocol=2))


@pytest.mark.parametrize("empty", ["[]", "{}"])
def test_gaps_in_json_do_not_multiply(tmp_path, empty):
    points = ",".join(f'"p{k}": [0, 0, 0]' for k in range(2000))
    first = "{" + points + "}" if empty == "{}" else "[" + "[0,0,0]," * 1999 + "[0,0,0]]"
    path = tmp_path / "a.json"
    path.write_text(f"[{first}" + f",{empty}" * 2000 + "]")
    with pytest.raises(MotionFormatError, match="2001 frames of 2000 points are too many"):
        ml.load(path)


def test_a_pipe_is_not_waited_for(tmp_path, lib):
    import os

    if not hasattr(os, "mkfifo"):
        pytest.skip("pipes")
    for name in ("a.npy", "b.npz", "c.json", "d.csv", "e.trc"):
        os.mkfifo(tmp_path / name)
    report = lib.add(tmp_path)
    assert report.added == 0
