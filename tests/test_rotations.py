import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from naive import rotations as naive
from scipy.spatial.transform import Rotation, Slerp

from motionloom.errors import InvalidInput
from motionloom.motion.rotations import quaternions as rot

ORDERS = [
    "".join(axes) for axes in itertools.product("XYZ", repeat=3)
    if axes[0] != axes[1] and axes[1] != axes[2]
]  # fmt: skip

components = arrays(np.float64, 4, elements=st.floats(-1.0, 1.0, width=32))
vectors = arrays(np.float64, 3, elements=st.floats(-10.0, 10.0, width=32))
turns = components.filter(lambda q: np.linalg.norm(q) > 0.01).map(rot.normalize)


def scipy_of(q):
    return Rotation.from_quat(np.asarray(q, dtype=float), scalar_first=True)


def random_turns(rng, *shape):
    return rot.normalize(rng.normal(size=(*shape, 4)))


def assert_same_turn(a, b, tolerance=1e-7):
    """q and -q are one turn."""
    assert np.max(rot.angle_between(a, b), initial=0.0) < tolerance


# --- Euler angles -------------------------------------------------------------------------


def test_there_are_twelve_orders():
    assert len(ORDERS) == 12


@pytest.mark.parametrize("order", ORDERS)
def test_euler_to_quaternion_agrees_with_scipy(rng, order):
    angles = rng.uniform(-2 * np.pi, 2 * np.pi, (200, 3))
    expected = Rotation.from_euler(order, angles).as_quat(scalar_first=True)
    assert_same_turn(rot.from_euler(angles, order), expected)


@pytest.mark.parametrize("order", ORDERS)
def test_quaternion_to_euler_agrees_with_scipy(rng, order):
    q = random_turns(rng, 500)
    np.testing.assert_allclose(
        rot.to_euler(q, order), scipy_of(q).as_euler(order), rtol=0, atol=1e-7
    )


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_are_the_product_of_three_turns(rng, order):
    angles = rng.uniform(-np.pi, np.pi, 3)
    expected = naive.euler_matrix(angles, order)
    np.testing.assert_allclose(rot.to_matrix(rot.from_euler(angles, order)), expected, atol=1e-12)


def test_any_number_of_turns_makes_a_rotation():
    quarter = np.pi / 2
    np.testing.assert_allclose(rot.from_euler([quarter], "Y"), rot.yaw(quarter))
    np.testing.assert_allclose(
        rot.from_euler([0.1, 0.2, 0.3, 0.4], "ZZZZ"), rot.from_euler([1.0], "Z"), atol=1e-12
    )
    np.testing.assert_array_equal(
        rot.from_euler(np.zeros((5, 0)), ""), np.tile(rot.IDENTITY, (5, 1))
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_gimbal_lock_gives_angles_of_the_same_turn(rng, order, sign):
    proper = order[0] == order[2]
    locks = [0.0, np.pi] if proper else [np.pi / 2]
    for lock in locks:
        angles = rng.uniform(-np.pi, np.pi, (100, 3))
        angles[:, 1] = sign * lock
        q = rot.from_euler(angles, order)
        result = rot.to_euler(q, order)
        assert_same_turn(rot.from_euler(result, order), q, 1e-6)
        np.testing.assert_array_equal(result[:, 2], 0.0)


@pytest.mark.parametrize("order", ORDERS)
def test_near_gimbal_lock_the_turn_survives(rng, order):
    lock = 0.0 if order[0] == order[2] else np.pi / 2
    distances = np.repeat([1e-12, 1e-9, 3e-8, 1e-7, 3e-7, 1e-5, 1e-3], 100)
    angles = rng.uniform(-np.pi, np.pi, (len(distances), 3))
    angles[:, 1] = lock + distances * rng.choice([-1.0, 1.0], len(distances))
    q = rot.from_euler(angles, order)
    assert_same_turn(rot.from_euler(rot.to_euler(q, order), order), q, 1e-6)


@given(q=turns, order=st.sampled_from(ORDERS))
def test_euler_angles_come_back_as_the_same_turn(q, order):
    angles = rot.to_euler(q, order)
    assert_same_turn(rot.from_euler(angles, order), q, 1e-6)
    low, high = (0.0, np.pi) if order[0] == order[2] else (-np.pi / 2, np.pi / 2)
    assert low - 1e-12 <= angles[1] <= high + 1e-12
    assert np.all(np.abs(angles) <= np.pi)


def test_lower_case_orders_are_the_same():
    angles = [0.1, 0.2, 0.3]
    np.testing.assert_array_equal(rot.from_euler(angles, "zyx"), rot.from_euler(angles, "ZYX"))
    np.testing.assert_array_equal(
        rot.to_euler(rot.yaw(0.5), "zyx"), rot.to_euler(rot.yaw(0.5), "ZYX")
    )


@pytest.mark.parametrize("order", ["XX", "XXY", "XYY", "XYW", "XYZX", ""])
def test_impossible_orders_are_refused(order):
    with pytest.raises(InvalidInput, match="order must be three letters X, Y or Z"):
        rot.to_euler(rot.IDENTITY, order)


@pytest.mark.parametrize(("shape", "order"), [((5, 2), "XYZ"), ((3,), "XYW"), ((), "X")])
def test_angles_must_fit_the_order(shape, order):
    with pytest.raises(
        InvalidInput,
        match=f"angles must have one column for each letter .X, Y or Z. of order '{order}'",
    ):
        rot.from_euler(np.zeros(shape), order)


# --- the group ----------------------------------------------------------------------------


@given(a=turns, b=turns, c=turns, v=vectors)
def test_quaternions_are_a_group_that_turns_vectors(a, b, c, v):
    close = {"rtol": 0, "atol": 1e-9}
    left = rot.multiply(rot.multiply(a, b), c)
    np.testing.assert_allclose(left, rot.multiply(a, rot.multiply(b, c)), **close)
    np.testing.assert_allclose(rot.multiply(a, rot.IDENTITY), a, **close)
    np.testing.assert_allclose(rot.multiply(a, rot.inverse(a)), rot.IDENTITY, **close)
    np.testing.assert_allclose(
        rot.inverse(rot.multiply(a, b)), rot.multiply(rot.inverse(b), rot.inverse(a)), **close
    )
    np.testing.assert_allclose(
        rot.rotate(rot.multiply(a, b), v), rot.rotate(a, rot.rotate(b, v)), rtol=0, atol=1e-7
    )
    assert np.linalg.norm(rot.rotate(a, v)) == pytest.approx(np.linalg.norm(v), abs=1e-9)


@given(q=turns, v=vectors)
def test_turning_a_vector_agrees_with_matrices(q, v):
    matrix = naive.quaternion_matrix(q)
    np.testing.assert_allclose(rot.to_matrix(q), matrix, atol=1e-9)
    np.testing.assert_allclose(rot.rotate(q, v), naive.applied(matrix, v), atol=1e-7)


def test_products_agree_with_scipy(rng):
    a, b = random_turns(rng, 100), random_turns(rng, 100)
    assert_same_turn(rot.multiply(a, b), (scipy_of(a) * scipy_of(b)).as_quat(scalar_first=True))


def test_shapes_broadcast(rng):
    a, b = random_turns(rng, 7, 1), random_turns(rng, 5)
    assert rot.multiply(a, b).shape == (7, 5, 4)
    assert rot.rotate(a, np.ones((5, 3))).shape == (7, 5, 3)
    assert rot.slerp(a, b, np.linspace(0, 1, 5)).shape == (7, 5, 4)
    assert rot.angle_between(a, b).shape == (7, 5)
    assert rot.from_axis_angle([0, 1, 0], np.zeros((7, 5))).shape == (7, 5, 4)
    assert rot.between(np.ones((7, 1, 3)), np.ones((5, 3))).shape == (7, 5, 4)
    assert rot.to_euler(a, "ZYX").shape == (7, 1, 3)
    assert rot.from_matrix(rot.to_matrix(a)).shape == (7, 1, 4)


def test_single_precision_stays_single(rng):
    q = random_turns(rng, 3).astype(np.float32)
    assert rot.multiply(q, q).dtype == rot.inverse(q).dtype == np.float32


def test_normalize_makes_zero_the_identity():
    q = rot.normalize([[0.0, 0, 0, 0], [0, 3, 0, 4], [1e-200, 0, 0, 0]])
    np.testing.assert_allclose(q, [[1, 0, 0, 0], [0, 0.6, 0, 0.8], [1, 0, 0, 0]])


def test_inputs_are_never_changed(rng):
    q = random_turns(rng, 6)
    kept = q.copy()
    for operation in (
        rot.inverse,
        rot.normalize,
        rot.log,
        rot.unroll,
        rot.to_matrix,
        rot.yaw_angle,
    ):
        operation(q)
    rot.slerp(q[:3], -q[3:], 0.5)
    np.testing.assert_array_equal(q, kept)


# --- matrices, axes, logarithms -----------------------------------------------------------


@given(q=turns)
def test_matrices_come_back_as_the_same_turn(q):
    back = rot.from_matrix(rot.to_matrix(q))
    assert_same_turn(back, q, 1e-6)
    assert back[0] >= 0.0


@pytest.mark.parametrize("axis", np.eye(3))
def test_half_turns_survive_the_matrix(axis):
    q = np.concatenate([[0.0], axis])
    assert_same_turn(rot.from_matrix(rot.to_matrix(q)), q)


@given(axis=vectors, angle=st.floats(-7.0, 7.0))
def test_axis_and_angle_agree_with_scipy(axis, angle):
    length = np.linalg.norm(axis)
    assume(length > 0.01)
    expected = Rotation.from_rotvec(axis / length * angle).as_quat(scalar_first=True)
    assert_same_turn(rot.from_axis_angle(axis, angle), expected)


@given(q=turns)
def test_logarithm_and_exponential_undo_each_other(q):
    vector = rot.log(q)
    assert np.linalg.norm(vector) <= np.pi + 1e-9
    np.testing.assert_allclose(
        np.linalg.norm(vector), np.linalg.norm(scipy_of(q).as_rotvec()), atol=1e-7
    )
    assert_same_turn(rot.exp(vector), q)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-9, 1e-6, 3.0, np.pi])
def test_logarithm_of_small_and_large_turns(angle):
    vector = np.array([0.0, angle, 0.0])
    np.testing.assert_allclose(rot.log(rot.exp(vector)), vector, rtol=1e-9, atol=1e-15)


@given(a=vectors, b=vectors)
def test_between_turns_one_direction_onto_the_other(a, b):
    assume(min(np.linalg.norm(a), np.linalg.norm(b)) > 0.01)
    q = rot.between(a, b)
    np.testing.assert_allclose(
        rot.rotate(q, a / np.linalg.norm(a)), b / np.linalg.norm(b), atol=1e-6
    )
    cosine = np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1)
    assert float(rot.angle_between(rot.IDENTITY, q)) == pytest.approx(np.arccos(cosine), abs=1e-5)


@pytest.mark.parametrize("direction", [*np.eye(3), *-np.eye(3), np.array([1.0, 2.0, 3.0])])
def test_opposite_directions_are_half_a_turn_apart(direction):
    q = rot.between(direction, -direction)
    np.testing.assert_allclose(rot.rotate(q, direction), -direction, atol=1e-9)


# --- paths --------------------------------------------------------------------------------


def test_slerp_agrees_with_scipy(rng):
    a, b = random_turns(rng, 50), random_turns(rng, 50)
    for t in (0.0, 0.25, 0.5, 0.9, 1.0):
        expected = [
            Slerp([0, 1], scipy_of([p, q]))(t).as_quat(scalar_first=True)
            for p, q in zip(a, b, strict=True)
        ]
        assert_same_turn(rot.slerp(a, b, t), np.array(expected))


@given(a=turns, axis=vectors, angle=st.floats(0.0, 3.1), t=st.floats(0.0, 1.0))
def test_slerp_goes_at_constant_speed_along_the_shorter_way(a, axis, angle, t):
    assume(np.linalg.norm(axis) > 0.01)
    b = rot.multiply(rot.from_axis_angle(axis, angle), a)
    for end in (b, -b):
        middle = rot.slerp(a, end, t)
        assert np.linalg.norm(middle) == pytest.approx(1.0, abs=1e-12)
        assert float(rot.angle_between(a, middle)) == pytest.approx(t * angle, abs=1e-6)


def test_slerp_between_equal_and_nearly_equal_turns():
    q = rot.from_axis_angle([1, 2, 3], 0.7)
    np.testing.assert_allclose(rot.slerp(q, q, 0.3), q, atol=1e-15)
    np.testing.assert_allclose(rot.slerp(q, -q, 0.3), q, atol=1e-15)
    near = rot.multiply(rot.yaw(1e-9), q)
    assert np.all(np.isfinite(rot.slerp(q, near, [0.0, 0.5, 1.0])))


def test_unroll_flips_signs_only(rng):
    angles = np.linspace(0, 20, 200)
    path = rot.from_axis_angle([0, 1, 0], angles)
    scrambled = path * rng.choice([-1.0, 1.0], (200, 1))
    smooth = rot.unroll(scrambled)
    np.testing.assert_allclose(np.abs(smooth), np.abs(path))
    assert np.all(np.sum(smooth[1:] * smooth[:-1], axis=-1) > 0)
    np.testing.assert_array_equal(smooth[0], scrambled[0])
    assert rot.unroll(scrambled[:1]).shape == (1, 4)
    assert rot.unroll(scrambled[:0]).shape == (0, 4)
    assert rot.unroll(np.stack([scrambled] * 3, axis=1).astype(np.float32)).dtype == np.float32


@given(angle=st.floats(-20.0, 20.0))
def test_yaw_is_read_back_between_minus_and_plus_half_a_turn(angle):
    result = float(rot.yaw_angle(rot.yaw(angle)))
    assert -np.pi <= result <= np.pi
    assert np.cos(result - angle) == pytest.approx(1.0, abs=1e-9)


def test_yaw_ignores_lean():
    lean = rot.from_axis_angle([1, 0, 0], 0.8)
    assert float(rot.yaw_angle(rot.multiply(rot.yaw(1.2), lean))) == pytest.approx(1.2)
