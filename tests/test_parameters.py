"""Parameters of parametric motions."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion.kinematics.body import centre_of_mass as centres
from motionloom.parametric.parameters import (
    as_parameters,
    at,
    average_speed,
    centre_of_mass,
    final_root_position,
    highest,
    joint_speed,
    lowest,
    parameter,
    parameter_kinds,
    turn,
)


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk_left").starting_at_origin()


def test_parameters_measure_what_they_say(walk):
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
    np.testing.assert_allclose(centre_of_mass(3)(walk, 20), centres(walk)[20], atol=1e-6)


def test_a_joint_may_be_called_by_its_name_too(walk):
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
        centre_of_mass(8),
    ],
    ids=lambda made: made.text,
)
def test_every_ready_parameter_is_made_again_from_its_text(made):
    again = parameter(made.text)
    assert (again.text, again.axes, again.frame) == (made.text, made.axes, made.frame)


@pytest.mark.parametrize("text", ["", "ankle", "lowest", "turn(hips)", "joint_speed@3", "a(b)@3"])
def test_a_text_that_is_no_parameter_is_refused_with_those_there_are(text):
    with pytest.raises(InvalidInput, match=r"JOINT@FRAME, final_root_position"):
        parameter(text)


def test_functions_and_several_at_once_will_do(walk):
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
        ([], "by must hold at least one parameter"),
        (3, "by must be a parameter"),
        (lambda motion: "far", "must return numbers"),
        (lambda motion: np.zeros((2, 2)), "one number or a row"),
        (lambda motion: [], "one number or a row"),
    ],
)
def test_what_cannot_steer_is_refused(by, message, walk):
    with pytest.raises(InvalidInput, match=message):
        as_parameters(by, walk)


def test_a_function_must_give_finite_numbers_of_one_shape(walk):
    changing = as_parameters(lambda motion: motion.root[-1, : 1 + len(motion) % 3], walk)[0]
    with pytest.raises(InvalidInput, match="numbers on every motion; got shape"):
        changing(walk[: len(walk) - 1])
    nan = as_parameters(lambda motion: np.nan, walk)[0]
    with pytest.raises(InvalidInput, match="must be finite on every motion; got \\[nan\\]"):
        nan(walk)


def test_the_centre_of_mass_lies_in_the_trunk_and_rises_with_the_arms():
    reach = ml.demo.clip("reach_front_high_right")
    centre = centres(reach)
    assert np.abs(centre[:, [0, 2]] - reach.root[:, [0, 2]]).max() < 0.3
    wrist = reach.role_positions(["right_wrist"])[:, 0, 1]
    above = centre[:, 1] - reach.root[:, 1]
    assert above[wrist.argmax()] > above[wrist.argmin()] + 0.005


def test_the_centre_of_mass_needs_a_body():
    stick = ml.Skeleton(
        ["Hips", "Spine", "Head"], [-1, 0, 1], [[0, 0, 0], [0, 0.5, 0], [0, 0.3, 0]]
    )
    still = ml.Motion(stick, np.tile([1.0, 0, 0, 0], (2, 3, 1)), np.zeros((2, 3)), 30)
    with pytest.raises(RoleError, match="centre of mass needs the joints of trunk, arms and legs"):
        centres(still)


def test_every_kind_on_the_menu_makes_the_parameter_it_says():
    for kind in parameter_kinds():
        text = "right_ankle" if kind.name == "at" else kind.name
        text += "(right_ankle)" if kind.joint and kind.name != "at" else ""
        text += "@12" if kind.frame else ""
        made = parameter(text)
        assert made.text == text and made.axes == kind.axes
        assert kind.words


@pytest.mark.parametrize("frame", [-1, 10_000])
def test_a_frame_that_the_motion_has_not_is_reported(walk, frame):
    for one in (at("hips", 3), joint_speed("hips", 3), centre_of_mass(3)):
        with pytest.raises(InvalidInput, match=rf"a frame of the motion, 0 to \d+; got {frame}"):
            one(walk, frame)


def test_nothing_is_measured_on_no_frames(walk):
    with pytest.raises(InvalidInput, match="parameter turn needs a motion with frames"):
        turn()(walk[:0])
