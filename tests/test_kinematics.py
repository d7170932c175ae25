import numpy as np
import pytest
from naive import kinematics as naive

from motionloom.errors import InvalidInput
from motionloom.motion.kinematics.forward import global_rotations, joint_positions
from motionloom.motion.rotations import quaternions as rot


def random_body(rng, frames, joints, ends=0):
    """Rotations, root, parents, offsets of a random tree; end sites' parents and offsets."""
    parents = np.array([-1, *(rng.integers(0, j) for j in range(1, joints))])
    rotations = rot.normalize(rng.normal(size=(frames, joints, 4)))
    root = rng.normal(size=(frames, 3))
    offsets = rng.normal(scale=0.3, size=(joints, 3))
    return (
        rotations,
        root,
        parents,
        offsets,
        rng.integers(0, joints, ends),
        rng.normal(size=(ends, 3)),
    )


def naive_positions(rotations, root, parents, offsets):
    """`offsets` (P, 3), or (T, P, 3) where bones change their length."""
    frames = len(rotations)
    offsets = np.broadcast_to(offsets, (frames, len(parents), 3))
    return np.array(
        [
            [
                naive.point_position(t, p, parents, offsets[t], rotations, root)
                for p in range(len(parents))
            ]
            for t in range(frames)
        ]
    ).reshape(frames, len(parents), 3)


# The kernel works in blocks of frames: sizes on both sides of one, two and four blocks.
@pytest.mark.parametrize("frames", [0, 1, 2, 31, 32, 33, 63, 64, 65, 129])
def test_positions_match_the_recursion(rng, frames):
    q, root, parents, offsets, *_ = random_body(rng, frames, 9)
    positions = joint_positions(q, root, parents, offsets)
    assert positions.shape == (frames, 9, 3)
    assert positions.dtype == np.float32
    np.testing.assert_allclose(positions, naive_positions(q, root, parents, offsets), atol=3e-6)


@pytest.mark.parametrize("joints", [1, 2, 5, 40])
@pytest.mark.parametrize("ends", [0, 1, 7])
def test_end_sites_follow_the_joints(rng, joints, ends):
    q, root, parents, offsets, end_parents, end_offsets = random_body(rng, 5, joints, ends)
    positions = joint_positions(
        q, root, parents, offsets, end_parents=end_parents, end_offsets=end_offsets
    )
    expected = naive_positions(
        q, root, np.concatenate([parents, end_parents]), np.concatenate([offsets, end_offsets])
    )
    np.testing.assert_allclose(positions, expected, atol=1e-5)
    np.testing.assert_array_equal(positions[:, :joints], joint_positions(q, root, parents, offsets))


@pytest.mark.parametrize("frames", [1, 40])
def test_bones_may_change_their_length(rng, frames):
    q, root, parents, offsets, end_parents, end_offsets = random_body(rng, frames, 6, 2)
    moved = rng.normal(size=(frames, 6, 3))
    positions = joint_positions(
        q, root, parents, offsets,
        translations=moved, end_parents=end_parents, end_offsets=end_offsets,
    )  # fmt: skip
    everything = np.concatenate([moved, np.broadcast_to(end_offsets, (frames, 2, 3))], axis=1)
    expected = naive_positions(q, root, np.concatenate([parents, end_parents]), everything)
    np.testing.assert_allclose(positions, expected, atol=1e-5)


def test_the_root_path_replaces_the_root_offset(rng):
    q, root, parents, offsets, *_ = random_body(rng, 4, 3)
    elsewhere = offsets.copy()
    elsewhere[0] += 100.0
    np.testing.assert_array_equal(
        joint_positions(q, root, parents, offsets), joint_positions(q, root, parents, elsewhere)
    )


def test_single_precision_is_micrometers_on_a_human_sized_tree(rng):
    """31 joints, a chain of twelve, meters from the origin's neighborhood."""
    q, root, parents, offsets, *_ = random_body(rng, 20, 31)
    offsets *= 0.25 / np.linalg.norm(offsets, axis=1, keepdims=True)
    q, offsets = q.astype(np.float32), offsets.astype(np.float32)
    root = root.astype(np.float32)
    positions = joint_positions(q, root, parents, offsets)
    assert np.abs(positions - naive_positions(q, root, parents, offsets)).max() < 3e-6


@pytest.mark.parametrize("frames", [0, 1, 33])
def test_global_rotations_match_the_recursion(rng, frames):
    q, _, parents, *_ = random_body(rng, frames, 8)
    result = global_rotations(q, parents)
    assert result.shape == q.shape
    expected = [[naive.global_matrix(t, j, parents, q) for j in range(8)] for t in range(frames)]
    np.testing.assert_allclose(
        rot.to_matrix(result), np.array(expected).reshape(frames, 8, 3, 3), atol=3e-6
    )


def test_any_layout_and_precision_is_accepted(rng):
    q, root, parents, offsets, *_ = random_body(rng, 10, 4)
    expected = joint_positions(q, root, parents, offsets)
    frozen = q.astype(np.float32)
    frozen.setflags(write=False)
    for form in (q.astype(np.float32), np.asfortranarray(q), q[::-1][::-1], q.tolist(), frozen):
        np.testing.assert_array_equal(
            joint_positions(form, root, parents.tolist(), offsets), expected
        )


def test_inputs_are_not_changed(rng):
    body = [np.ascontiguousarray(a, np.float32) for a in random_body(rng, 40, 5)[:2]]
    kept = [array.copy() for array in body]
    parents, offsets = np.array([-1, 0, 1, 2, 3], np.int32), np.ones((5, 3), np.float32)
    joint_positions(*body, parents, offsets)
    global_rotations(body[0], parents)
    for array, before in zip(body, kept, strict=True):
        np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(offsets, 1.0)


GOOD = dict(
    rotations=np.tile([1.0, 0, 0, 0], (4, 2, 1)),
    root=np.zeros((4, 3)),
    parents=[-1, 0],
    offsets=np.zeros((2, 3)),
)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rotations": np.zeros((4, 2, 3))}, r"rotations must have shape \(frames, joints, 4\)"),
        ({"rotations": np.zeros((4, 0, 4))}, r"rotations must have shape \(frames, joints, 4\)"),
        ({"root": np.zeros((3, 3))}, r"root must have shape \(4, 3\); got \(3, 3\)"),
        ({"parents": [-1, 0, 1]}, r"parents must have shape \(2,\); got \(3,\)"),
        ({"parents": [-1, 1]}, r"an earlier joint for every other joint; got \[-1, 1\]"),
        ({"parents": [-1, -1]}, r"parents must be -1 for joint 0"),
        ({"parents": [0, 0]}, r"parents must be -1 for joint 0"),
        ({"offsets": np.zeros((1, 3))}, r"offsets must have shape \(2, 3\)"),
        ({"translations": np.zeros((4, 3, 3))}, r"translations must have shape \(4, 2, 3\)"),
        ({"end_parents": [2], "end_offsets": [[0, 0, 0]]}, r"end_parents must lie in 0\.\.1"),
        ({"end_parents": [1], "end_offsets": [[0, 0]]}, r"end_offsets must have shape \(1, 3\)"),
    ],
)
def test_reports_invalid_input(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        joint_positions(**{**GOOD, **wrong})


def test_global_rotations_report_invalid_input():
    with pytest.raises(InvalidInput, match=r"rotations must have shape \(frames, joints, 4\)"):
        global_rotations(np.zeros((4, 4)), [-1])
    with pytest.raises(InvalidInput, match=r"parents must have shape \(2,\)"):
        global_rotations(np.zeros((4, 2, 4)), [-1])
