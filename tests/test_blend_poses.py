"""Mixing poses: the kernel against its definition, and what an average must be."""

import numpy as np
import pytest
from naive import blending as naive
from smooth_motions import smooth_motion

from motionloom.blending.poses import ClipPoses, blend_poses, slerp_poses
from motionloom.errors import InvalidInput
from motionloom.motion.rotations import quaternions as rot


def clips_of(rng, count=4, frames=12):
    motions = [smooth_motion(rng, frames=frames + n, spread=0.8) for n in range(count)]
    times = np.linspace(0, frames - 1, 20)[:, None] * np.ones(count)
    return motions, ClipPoses.of(motions).in_one_hemisphere(times)


def angles(a, b):
    return rot.angle_between(np.asarray(a, float), np.asarray(b, float))


def test_blends_match_the_definition(rng):
    _, clips = clips_of(rng)
    parts = [slice(a, b) for a, b in zip(clips.offsets[:-1], clips.offsets[1:], strict=True)]
    weights = np.array([0.5, -0.1, 0.35, 0.25])
    times = rng.uniform(-1.0, 16.0, (30, 4))
    times[:5] = np.rint(times[:5])
    transforms, place = rng.normal(size=(30, 4, 3)), rng.normal(size=(30, 3))
    transforms[..., 2] *= 0.1
    rotations, root = blend_poses(
        clips, np.arange(4), weights, times, transforms=transforms, place=place
    )
    for t in range(30):
        expected, where = naive.mixed_pose(
            [clips.rotations[part] for part in parts],
            [clips.root[part] for part in parts],
            weights,
            times[t],
            transforms[t],
            place[t],
        )
        np.testing.assert_allclose(root[t], where, atol=1e-5)
        assert np.max(angles(rotations[t], expected)) < 1e-3


def test_agrees_with_the_eigenvector_average_of_near_rotations(rng):
    """To third order in how far the rotations are apart."""
    base = rot.normalize(rng.normal(size=4))
    weights = rng.dirichlet(np.ones(6))
    for spread, tolerance in ((0.05, 2e-5), (0.2, 1e-3), (0.5, 0.02)):
        q = rot.multiply(base, rot.exp(rng.normal(size=(6, 3)) * spread / 2))
        ours = naive.chordal_mean(q, weights)
        assert angles(ours, naive.eigenvector_mean(q, weights)) < tolerance


def test_weight_one_gives_the_frame_itself(rng):
    motions, clips = clips_of(rng)
    rotations, root = blend_poses(clips, [2], [1.0], np.arange(len(motions[2]))[:, None])
    assert np.max(angles(rotations, motions[2].rotations)) < 1e-3
    np.testing.assert_allclose(root, motions[2].root, atol=1e-6)


def test_zero_weights_change_nothing(rng):
    _, clips = clips_of(rng)
    times = rng.uniform(0, 11, (9, 4))
    some = blend_poses(clips, [1, 3], [0.4, 0.6], times[:, [1, 3]])
    all_ = blend_poses(clips, [0, 1, 2, 3], [0.0, 0.4, 0.0, 0.6], times)
    np.testing.assert_array_equal(some[0], all_[0])
    np.testing.assert_array_equal(some[1], all_[1])


def test_signs_of_the_files_make_no_difference(rng):
    """q and -q are one rotation, whatever frames a file writes them in."""
    motions, clips = clips_of(rng)
    flipped = []
    for motion in motions:
        signs = rng.choice([-1.0, 1.0], size=(*motion.rotations.shape[:2], 1))
        flipped.append(type(motion)(motion.skeleton, motion.rotations * signs, motion.root, 30))
    times = np.linspace(0, 11, 20)[:, None] * np.ones(4)
    other = ClipPoses.of(flipped).in_one_hemisphere(times)
    weights = [0.25, 0.25, 0.3, 0.2]
    a, _ = blend_poses(clips, np.arange(4), weights, times)
    b, _ = blend_poses(other, np.arange(4), weights, times)
    assert np.max(angles(a, b)) < 1e-3


def test_between_frames_a_clip_has_no_corners(rng):
    """Played four times slower, the joints' steps change gently from one to the next."""
    motion = smooth_motion(rng, frames=20)
    times = np.arange(4.0, 15.0, 0.25)[:, None]
    rotations, _ = blend_poses(ClipPoses.of([motion]), [0], [1.0], times)
    steps = np.diff(rot.unroll(rotations).astype(float), axis=0)
    linear = np.diff(motion.rotations[4:15].astype(float), axis=0) / 4.0
    jumps = np.abs(np.diff(steps, axis=0)).max(axis=(1, 2))
    corners = np.abs(np.diff(linear, axis=0)).max()
    assert jumps.max() < 0.75 * corners


def test_arcs_are_followed_as_by_slerp(rng):
    a, b = rot.normalize(rng.normal(size=(2, 7, 5, 4))).astype(np.float32)
    b[:, 0] = a[:, 0]
    b[:, 1] = -a[:, 1]
    shares = rng.uniform(size=7)
    expected = rot.slerp(a, b, shares[:, None])
    assert np.max(angles(slerp_poses(a, b, shares), expected)) < 1e-3


def test_motions_that_cannot_be_blended_are_rejected(rng):
    motion = smooth_motion(rng, frames=5)
    with pytest.raises(InvalidInput, match="at least one motion; got none"):
        ClipPoses.of([])
    with pytest.raises(InvalidInput, match="share one rate; got 30 and 60 fps.*resample"):
        ClipPoses.of([motion, motion.resample(60)])
    with pytest.raises(InvalidInput, match="share one skeleton.*retarget"):
        ClipPoses.of(
            [motion, type(motion)(motion.skeleton.scaled(2.0), motion.rotations, motion.root, 30)]
        )
    with pytest.raises(InvalidInput, match="motion 1 .* has no frames"):
        ClipPoses.of([motion, motion[:0]])
