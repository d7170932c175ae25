"""Walks along paths: corners are rounded where the motions cannot turn, and no laps are made."""

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import PathFit
from motionloom.motion_graph import motion_graph
from motionloom.motion_graph.walks.paths import distances, hips_path, rounded, sampled_path

SQUARE = [(0.0, 0.0), (0.0, 6.0), (6.0, 6.0), (6.0, 0.0), (0.0, 0.0)]
CORNER = [(0.0, 0.0), (0.0, 5.0), (5.0, 5.0), (5.0, 1.0)]
AHEAD = [(0.0, 0.0), (0.5, 4.0)]
ZIGZAG = [(0.0, 0.0), (2.8, 2.8), (0.0, 5.6), (2.8, 8.4)]


@pytest.fixture(scope="module")
def straight():
    """A graph of motions that walk straight ahead."""
    return motion_graph([ml.demo.clip("walk"), ml.demo.clip("walk_fast")])


@pytest.mark.slow
@pytest.mark.parametrize(
    "corners",
    [
        pytest.param(CORNER, id="two corners"),
        pytest.param(SQUARE, id="square"),
        pytest.param(ZIGZAG, id="zigzag"),
    ],
)
def test_corners_are_rounded_and_no_laps_are_made(straight, corners):
    walk = straight.walk(path=corners, seed=1)
    fit = walk.quality.path
    assert fit.length_m < 1.1 * fit.path_length_m
    assert fit.mean_m < 0.25 and fit.worst_m < 0.8 and fit.goal_m < 0.5
    assert distances(sampled_path(corners), hips_path(walk)).max() < 0.8
    assert walk.quality.foot_slide_m < 0.015
    said = " ".join(walk.quality.warnings)
    assert f"{len(corners) - 2} corners of the path at" in said and "rounded to a radius of" in said
    assert "the body is turned by up to" in said and "(mirror)" in said
    rate = np.abs(np.convolve(np.diff(walk.headings()), np.ones(15) / 15, "valid")) * walk.fps
    assert rate.max() < 1.3  # rad/s: the body is never spun round


@pytest.mark.slow
def test_a_goal_behind_the_walker_is_reached_by_turning(straight):
    walk = straight.walk(goal=(0.0, -5.0), seconds=8.0, seed=1)
    report = walk.quality
    assert report.path.goal_m < 0.25  # without turning 8.7 m
    assert report.foot_slide_m < 0.015
    assert "to reach the goal, with the feet held in place" in " ".join(report.warnings)
    ahead = straight.walk(goal=(0.0, 8.0), seconds=7.0, seed=1).quality
    assert ahead.path.goal_m < 0.25 and "to reach the goal" not in " ".join(ahead.warnings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "worst"),
    [
        ([(0.0, 0.0), (0.0, 6.0), (1.0, 6.0), (1.0, 0.0)], 0.8),  # 2.1 m with turns of 0.8 rad/s
        ([(0.0, 0.0), (0.0, 6.0), (3.0, 1.0)], 1.0),  # 2.0 m
        ([(0.0, 0.0), (0.0, 6.0), (0.0, 0.0)], 1.7),  # no route: as wide as the turn
    ],
    ids=["lane", "sharp corner", "back along the line"],
)
def test_hairpins_are_turned_within_a_few_steps(straight, path, worst):
    walk = straight.walk(path=path, seed=1)
    fit = walk.quality.path
    assert fit.worst_m < worst and fit.mean_m < 0.45 and fit.length_m < 1.2 * fit.path_length_m
    assert distances(sampled_path(path), hips_path(walk)).max() < 1.1
    assert "degrees per second" in " ".join(walk.quality.warnings)
    assert walk.quality.foot_slide_m < 0.02 and walk.quality.jumps == 0


@pytest.mark.slow
def test_the_hips_follow_the_path_below_a_joint_that_stands_still(straight):
    """A carrier above the hips must not be taken for the body."""
    path = [(0.0, 0.0), (0.0, 3.0), (3.0, 3.0)]
    carried = motion_graph([_carried(motion) for motion in straight.motions])
    walk = carried.walk(path=path, seed=1)
    fit = walk.quality.path
    assert fit.mean_m < 0.3 and fit.length_m < 1.2 * fit.path_length_m


def _carried(motion):
    """`motion` below a carrier joint that moves next to the body, 1 m to its left."""
    skeleton = motion.skeleton
    names = ("carrier", *skeleton.names)
    parents = [-1, *(parent + 1 for parent in skeleton.parents)]
    offsets = np.concatenate([[[0.0, 0.0, 0.0]], skeleton.offsets])
    offsets[1] = [1.0, 0.0, 0.0]
    still = np.zeros((len(motion), 1, 4), np.float32)
    still[..., 0] = 1.0
    rotations = np.concatenate([still, motion.rotations], axis=1)
    ends = skeleton.end_names, skeleton.end_parents + 1, skeleton.end_offsets
    body = Skeleton(names, parents, offsets, *ends)
    assert body.roles["hips"] != "carrier"
    root = motion.root - np.float32([1.0, 0.0, 0.0])
    return Motion(body, rotations, root, motion.fps, name=motion.name)


def test_a_rounded_corner_is_an_arc_of_that_radius():
    corner = sampled_path([(0.0, 0.0), (0.0, 5.0), (5.0, 5.0)])
    for radius in (0.5, 1.0, 2.0):
        path = rounded(corner, radius)
        assert path[0] == corner[0] and path[-1] == corner[-1]
        steps = np.diff(path)
        bends = np.abs(np.angle(steps[1:] / steps[:-1])) / np.abs(steps[1:])
        assert bends.max() < 1.25 / radius
        cut = np.abs(path - 5.0).min()
        assert cut == pytest.approx(radius * (np.sqrt(2.0) - 1.0), rel=0.1)


def test_a_path_without_tight_bends_is_unchanged():
    turn = np.linspace(0.0, np.pi, 200)
    circle = sampled_path(np.stack([4.0 * np.cos(turn), 4.0 * np.sin(turn)], axis=1))
    np.testing.assert_allclose(rounded(circle, 3.0), circle, atol=1e-6)


def test_distances_match_the_definition(rng):
    path = sampled_path([(0.0, 0.0), (0.0, 4.0)])
    walked = np.linspace(0.0, 4.4, 50) + 1j * rng.normal(scale=0.2, size=50)
    away = np.hypot(walked.imag, np.maximum(walked.real - 4.0, 0.0))
    np.testing.assert_allclose(distances(walked, path), away, atol=6e-3)
    fit = PathFit.of(np.column_stack([walked.imag, walked.real]), path=[(0.0, 0.0), (0.0, 4.0)])
    assert fit.mean_m == pytest.approx(distances(walked, path).mean(), rel=0.02)


def test_a_path_that_cannot_be_walked_gives_a_reason(straight):
    still = replace(straight.motions[0], root=straight.motions[0].root * np.float32([0, 1, 0]))
    with pytest.raises(
        InvalidInput, match=r"its motion does not cover 8.0 m or.*Add walking motions"
    ):
        motion_graph([still]).walk(path=[(0.0, 0.0), (0.0, 8.0)])


def test_mirrored_takes_turn_to_both_sides(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add_motion(ml.demo.clip("walk"), name="ahead", labels=["walk"])
    lib.add_motion(ml.demo.clip("walk_left"), name="left", labels=["walk"])
    lib.labels.add("left:10-40", "bend")
    both = lib.motion_graph(mirror=True, only=["ahead", "left"])
    assert set(both.names) == {"ahead", "left", "ahead_mirrored", "left_mirrored"}
    assert both.labels["left_mirrored"] == ("walk",)
    here, there = both.names.index("left"), both.names.index("left_mirrored")
    assert both.label_frames("bend")[there][10:40].all()
    left, right = both.motions[here], both.motions[there]
    np.testing.assert_allclose(right.root, left.root * [-1, 1, 1], atol=1e-5)
    assert set(lib.motion_graph(only=["ahead", "left"]).names) == {"ahead", "left"}


def test_workers_find_mirrored_motions_by_number(tmp_path):
    from motionloom.motion_graph.transitions.pair_candidates import LibraryMotions

    lib = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "walk_left"):
        lib.add_motion(ml.demo.clip(name)[:40], name=name)
    motions = LibraryMotions(lib.store, ("walk", "walk_left")).motions([1, 2, 3])
    assert [motions[n].name for n in (1, 2, 3)] == [
        "walk_left",
        "walk_mirrored",
        "walk_left_mirrored",
    ]
    np.testing.assert_allclose(motions[3].root, motions[1].root * [-1, 1, 1], atol=1e-6)


@pytest.mark.slow
def test_a_goal_out_of_reach_is_reported_with_the_time_it_takes(straight):
    said = " ".join(straight.walk(goal=(0.0, 60.0), seconds=4.0).quality.warnings)
    assert "the goal is 60.0 m away" in said and "Set seconds to more than 4" in said
    said = " ".join(straight.walk(goal=(0.0, 4.0), seconds=4.0).quality.warnings)
    assert "give more than" not in said


@pytest.mark.parametrize(
    ("rows", "message"),
    [(None, "no such file. A path must be a CSV file"), ("", "at least two rows.*are none"),
     ("x,z\n1,2\n", "at least two rows.*is one")],
)  # fmt: skip
def test_files_of_paths_are_checked(straight, tmp_path, rows, message):
    file = tmp_path / "path.csv"
    if rows is not None:
        file.write_text(rows)
    with pytest.raises(ml.MotionloomError, match=message):
        straight.walk(path=file)


def test_a_first_walk_comes_early_and_does_not_change_the_last(straight):
    steps, first = [], []
    walk = straight.walk(
        path=AHEAD,
        seed=1,
        progress=steps.append,
        approximate=lambda m: first.append((m, steps[:])),
    )
    ((early, before),) = first
    assert sum(before) == 0  # before the search that is counted
    assert distances(sampled_path(AHEAD), hips_path(early)).max() < 1.0
    alone = straight.walk(path=AHEAD, seed=1)
    np.testing.assert_array_equal(walk.root, alone.root)
    assert 0 < sum(steps) <= 100 and min(steps) >= 0
