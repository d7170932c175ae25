"""Parameters of parametric motions."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion.kinematics.body import center_of_mass as centers
from motionloom.parametric.parameter_text import as_parameters, parameter, parameter_kinds
from motionloom.parametric.parameters import (
    angular_velocity,
    at,
    average_curvature,
    average_speed,
    center_of_mass,
    curvature,
    final_root_position,
    height,
    highest,
    joint_speed,
    lowest,
    maximum,
    mean,
    minimum,
    scores,
    turn,
)
from motionloom.parametric.signals import floor_curvature


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk_left").starting_at_origin()


def test_parameters_measure_the_documented_values(walk):
    ankle = walk.role_positions(["right_ankle"])[:, 0].astype(float)
    np.testing.assert_allclose(at("right_ankle", 12)(walk, 20), ankle[20])
    np.testing.assert_allclose(final_root_position()(walk), walk.root[-1, [0, 2]])
    assert lowest("right_ankle")(walk) == ankle[:, 1].min()
    assert highest("right_ankle")(walk) == ankle[:, 1].max()
    way = np.linalg.norm(np.diff(walk.root[:, [0, 2]].astype(float), axis=0), axis=1).sum()
    assert average_speed()(walk)[0] == pytest.approx(way / ((len(walk) - 1) / walk.fps))
    assert turn()(walk)[0] > 0.3
    speed = np.linalg.norm(ankle[21] - ankle[19]) * walk.fps / 2
    assert joint_speed("right_ankle", 5)(walk, 20)[0] == pytest.approx(speed)
    np.testing.assert_allclose(center_of_mass(3)(walk, 20), centers(walk)[20], atol=1e-6)


def test_a_joint_can_be_given_by_name(walk):
    name = walk.skeleton.roles["right_ankle"]
    np.testing.assert_array_equal(at(name, 3)(walk, 4), at("right_ankle", 3)(walk, 4))
    with pytest.raises(RoleError, match="no role 'tail'"):
        at("tail", 3)(walk, 4)


@pytest.mark.parametrize(
    "made",
    [
        at("right_ankle", 1545),
        final_root_position(),
        lowest("hips"),
        highest("left_wrist"),
        average_speed(),
        turn(),
        joint_speed("left_wrist", 7),
        center_of_mass(8),
        at("left_wrist", "highest(right_ankle)"),
        height("left_ankle", "fastest(left_wrist)"),
        angular_velocity("right_knee", 12),
        curvature("hips", 12),
        average_curvature(),
        minimum("height(hips)"),
        maximum("angular_velocity(right_knee)", 10, 40),
        mean("center_of_mass", 3, 9),
    ],
    ids=lambda made: made.text,
)
def test_every_ready_parameter_is_recreated_from_its_string(made):
    again = parameter(made.text)
    assert (again.text, again.axes, again.frame) == (made.text, made.axes, made.frame)
    assert again.interval == made.interval


@pytest.mark.parametrize(
    "text",
    [
        "", "ankle", "lowest", "turn(hips)", "joint_speed@3", "a(b)@3", "mean(height(hips))@9",
        "lowest(hips)@3", "height(hips)", "center_of_mass(hips)@3", "mean", "hips@", "@3",
    ],
)  # fmt: skip
def test_a_string_that_is_not_a_parameter_is_rejected_with_a_list(text):
    with pytest.raises(InvalidInput, match=r"JOINT@FRAME, final_root_position"):
        parameter(text)


def test_functions_and_several_parameters_are_accepted(walk):
    def reach(motion):
        return motion.root[-1]

    named, own, text = as_parameters([turn(), reach, "lowest(hips)"], walk)
    assert named.text == "turn" and text.text == "lowest(hips)"
    assert own.axes == ("reach[0]", "reach[1]", "reach[2]") and not own.ready
    np.testing.assert_allclose(own(walk), walk.root[-1])
    assert as_parameters(lambda motion: len(motion), walk)[0](walk).tolist() == [len(walk)]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ([], "by must contain at least one parameter"),
        (3, "by must be a parameter"),
        (lambda motion: "far", "must return numbers"),
        (lambda motion: np.zeros((2, 2)), "a number or a row"),
        (lambda motion: [], "a number or a row"),
    ],
)
def test_invalid_parameters_are_rejected(by, message, walk):
    with pytest.raises(InvalidInput, match=message):
        as_parameters(by, walk)


def test_a_function_must_give_finite_numbers_of_one_shape(walk):
    changing = as_parameters(lambda motion: motion.root[-1, : 1 + len(motion) % 3], walk)[0]
    with pytest.raises(InvalidInput, match="numbers on every motion; got shape"):
        changing(walk[: len(walk) - 1])
    nan = as_parameters(lambda motion: np.nan, walk)[0]
    with pytest.raises(InvalidInput, match="must be finite on every motion; got \\[nan\\]"):
        nan(walk)


def test_the_center_of_mass_lies_in_the_trunk_and_rises_with_the_arms():
    reach = ml.demo.clip("reach_front_high_right")
    center = centers(reach)
    assert np.abs(center[:, [0, 2]] - reach.root[:, [0, 2]]).max() < 0.3
    wrist = reach.role_positions(["right_wrist"])[:, 0, 1]
    above = center[:, 1] - reach.root[:, 1]
    assert above[wrist.argmax()] > above[wrist.argmin()] + 0.005


def test_the_center_of_mass_needs_a_body():
    stick = ml.Skeleton(
        ["Hips", "Spine", "Head"], [-1, 0, 1], [[0, 0, 0], [0, 0.5, 0], [0, 0.3, 0]]
    )
    still = ml.Motion(stick, np.tile([1.0, 0, 0, 0], (2, 3, 1)), np.zeros((2, 3)), 30)
    with pytest.raises(
        RoleError, match="center of mass needs the joints of the trunk, arms and legs"
    ):
        centers(still)


def test_every_kind_on_the_menu_creates_its_parameter():
    for kind in parameter_kinds():
        text = "right_ankle" if kind.name == "at" else kind.name
        text += "(right_ankle)" if kind.joint and kind.name != "at" else ""
        text += "@12" if kind.frame else ""
        made = parameter(text)
        assert made.text == text and made.axes == kind.axes
        assert kind.words


@pytest.mark.parametrize("frame", [-1, 10_000])
def test_a_frame_outside_the_motion_is_reported(walk, frame):
    for measured in (at("hips", 3), joint_speed("hips", 3), center_of_mass(3)):
        with pytest.raises(
            InvalidInput, match=rf"lie within the motion, from 0 to \d+; got {frame}"
        ):
            measured(walk, frame)


def test_a_motion_without_frames_cannot_be_measured(walk):
    with pytest.raises(
        InvalidInput, match="parameter turn cannot be measured on a motion without frames"
    ):
        turn()(walk[:0])


def test_angles_heights_and_paths_match_their_definitions(walk):
    knee = walk.skeleton.roles["right_knee"]
    turned = walk.rotations[:, walk.skeleton.names.index(knee)].astype(float)
    dot = np.abs(np.sum(turned[1:] * turned[:-1], axis=1)).clip(max=1.0)
    rates = 2.0 * np.arccos(dot) * walk.fps  # angle from frame to frame
    measured = angular_velocity("right_knee", 5)(walk, 20)[0]
    assert measured == pytest.approx((rates[19] + rates[20]) / 2, rel=0.02)
    ankle = walk.role_positions(["right_ankle"])[:, 0].astype(float)
    assert height("right_ankle", 5)(walk, 20)[0] == ankle[20, 1]
    highest_frame = int(ankle[:, 1].argmax())
    wrist = walk.role_positions(["left_wrist"])[:, 0].astype(float)
    measured = at("left_wrist", "highest(right_ankle)")(walk)
    np.testing.assert_allclose(measured, wrist[highest_frame])
    away = np.linalg.norm(wrist - walk.root, axis=1).argmax()
    np.testing.assert_allclose(at("left_wrist", "farthest(left_wrist)")(walk), wrist[away])
    assert minimum("height(right_ankle)")(walk)[0] == ankle[:, 1].min()
    over = slice(10, 31)
    assert maximum("height(right_ankle)", 3, 9)(walk, over)[0] == ankle[over, 1].max()
    np.testing.assert_allclose(mean("position(left_wrist)")(walk), wrist.mean(axis=0))


def circling(radius, seconds=2.0, fps=60.0, sway=0.0):
    """A stick that travels on a circle to the left at 1 m/s, with a sway twice a second."""
    stick = ml.Skeleton(["Hips", "Head"], [-1, 0], [[0, 0, 0], [0, 0.5, 0]])
    t = np.arange(0.0, seconds, 1.0 / fps)
    angle, away = t / radius, radius + sway * np.sin(4.0 * np.pi * t)
    root = np.stack([radius - away * np.cos(angle), np.ones_like(t), away * np.sin(angle)], axis=1)
    return ml.Motion(stick, np.tile([1.0, 0, 0, 0], (len(t), 2, 1)), root, fps)


def test_the_curvature_of_a_circle_is_one_over_its_radius():
    for radius in (0.8, 2.0, 5.0):
        motion = circling(radius)
        assert average_curvature()(motion)[0] == pytest.approx(1.0 / radius, rel=1e-3)
        assert curvature("Head", 60)(motion, 60)[0] == pytest.approx(1.0 / radius, rel=1e-2)
    swaying = circling(2.0, sway=0.02)
    assert average_curvature()(swaying)[0] == pytest.approx(0.5, abs=0.03)
    assert floor_curvature(circling(2.0)[:1]) == 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: at("hips", "tallest(hips)"), "frame must be a number, or one of highest, lowest"),
        (lambda: at("hips", "highest"), "with a joint, such as highest"),
        (lambda: mean("speed(hips)"), r"mean must measure position\(JOINT\), height\(JOINT\)"),
        (lambda: mean("center_of_mass(hips)"), "or center_of_mass; got"),
        (lambda: mean("height(hips)", 9, 9), "with START before END, or neither; got 9-9"),
        (lambda: mean("height(hips)", 9), "with START before END, or neither; got 9-None"),
    ],
)
def test_parameters_that_cannot_be_created_are_rejected(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_an_end_site_does_not_rotate(walk):
    with pytest.raises(InvalidInput, match="head_top is an end site, which does not rotate"):
        angular_velocity("head_top", 3)(walk, 3)
    with pytest.raises(RoleError, match="no role 'tail'"):
        angular_velocity("tail", 3)(walk, 3)


@pytest.mark.parametrize(
    "error", [KeyError("hips"), AttributeError("no such thing"), ZeroDivisionError("division")]
)
def test_a_function_that_fails_is_named_with_its_error(walk, error):
    def stride(motion):
        raise error

    message = f"parameter stride failed on walk_left_p0: {type(error).__name__}"
    with pytest.raises(InvalidInput, match=message) as raised:
        as_parameters(stride, walk)
    assert raised.value.__cause__ is error
    calls = []

    def later(motion):
        calls.append(motion)
        return 1.0 if len(calls) == 1 else motion.nothing

    (parameter,) = as_parameters(later, walk)
    with pytest.raises(
        InvalidInput, match="parameter later failed on walk_left_p0: AttributeError"
    ):
        parameter(walk)


# --- scores -----------------------------------------------------------------------------------


def test_scores_are_looked_up_by_segment_and_by_motion():
    given = scores({"walk": 0.2, "run": 0.9, "walk:5-30": 0.4})
    assert given.axes == ("score",) and not given.ready
    rows = given.scores.of([("walk:0-40", "walk"), ("walk:5-30", "walk"), ("run:0-9", "run")])
    np.testing.assert_allclose(rows[:, 0], [0.2, 0.4, 0.9])
    both = scores({"mood": {"a": 0.1, "b": 0.2}, "age": {"a": 31, "b": 24}})
    assert both.axes == ("mood", "age") and both.text == "mood, age"
    np.testing.assert_allclose(both.scores.of([("b:0-9", "b")]), [[0.2, 24.0]])
    assert scores({"a": (1.0, 2.0)}).axes == ("score[0]", "score[1]")


def test_scores_are_read_from_a_file(tmp_path, walk):
    path = tmp_path / "styles.csv"
    path.write_text("motion, mood ,age,remark\nwalk,0.2,31,slow\n\nrun,0.9,24,\n")
    whole = scores(path, "mood", "age")
    assert whole.axes == ("mood", "age") and whole.scores.values["run"] == (0.9, 24.0)
    (parameter,) = as_parameters(f"{path}:age", walk)
    assert parameter.axes == ("age",) and parameter.scores.values == {
        "walk": (31.0,),
        "run": (24.0,),
    }
    with pytest.raises(InvalidInput, match=r"styles.csv:2: the scores mood, age, remark of walk"):
        as_parameters(path, walk)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("motion\nwalk\n", "needs a header"),
        ("motion,mood\n", "one line per motion"),
        ("motion,age\nwalk,3\n", "there is no column mood; the columns are age"),
        ("motion,mood\nwalk,3\nwalk,4\n", "styles.csv:3: the motion walk already has scores"),
        ("motion,mood\nwalk,\n", "must be finite numbers; got ''"),
        ("motion,mood\nwalk,nan\n", "must be finite numbers; got 'nan'"),
    ],
)
def test_invalid_score_files_are_rejected(tmp_path, text, message):
    path = tmp_path / "styles.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        scores(path, "mood")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "at least one example"),
        (
            {"walk": "happy"},
            "score of walk must be a finite number or a row of finite numbers; got 'happy'",
        ),
        ({"walk": np.nan}, "must be a finite number"),
        ({"walk": 1.0, "run": (1.0, 2.0)}, "same number of values for every example"),
        ({"walk": 1.0, "mood": {"run": 2.0}}, "got a mix of both"),
        ({"mood": {"a": 1}, "age": {"b": 1}}, "there is none for b"),
    ],
)
def test_invalid_scores_are_rejected(values, message, walk):
    with pytest.raises(InvalidInput, match=message):
        as_parameters(values, walk)


def test_a_missing_file_is_reported(tmp_path, walk):
    with pytest.raises(InvalidInput, match=r"none.csv: cannot read the scores"):
        as_parameters(str(tmp_path / "none.csv"), walk)


def test_scores_cannot_be_measured(walk):
    with pytest.raises(InvalidInput, match="a score set by hand and cannot be measured"):
        scores({"walk": 1.0})(walk)
    with pytest.raises(InvalidInput, match="score for every example; there is none for run"):
        scores({"walk": 1.0}).scores.of([("walk:0-9", "walk"), ("run:0-9", "run")])


# --- functions by reference --------------------------------------------------------------------


def test_a_function_of_a_module_is_stored_by_reference(tmp_path, monkeypatch, walk):
    (tmp_path / "gaits.py").write_text(
        "def stride(motion):\n    return motion.root[-1]\n\nlimit = 3\nother = print\n"
    )
    (tmp_path / "broken_gaits.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    (parameter,) = as_parameters("gaits:stride", walk)
    assert parameter.reference == "gaits:stride" and parameter.axes == (
        "stride[0]",
        "stride[1]",
        "stride[2]",
    )
    np.testing.assert_allclose(parameter(walk), walk.root[-1])
    for text, message in (
        ("gaits:pace", "gaits:pace cannot be imported: AttributeError"),
        ("broken_gaits:pace", "broken_gaits:pace cannot be imported: ModuleNotFoundError"),
        ("gaits:limit", "must be a function defined in gaits"),
        ("gaits:other", "must be a function defined in gaits"),
        ("os:system", "functions from the standard library cannot be parameters"),
    ):
        with pytest.raises(InvalidInput, match=message):
            as_parameters(text, walk)


def test_a_function_without_a_name_in_a_module_has_no_reference(walk):
    def local(motion):
        return 1.0

    assert as_parameters(local, walk)[0].reference == ""
    assert as_parameters(lambda motion: 1.0, walk)[0].reference == ""
