"""Short looping clips of games: they are detected, unrolled and used."""

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality.measures import joint_accelerations
from motionloom.motion.loops import LEAST, loop_range, unrolled
from motionloom.motion.rotations import quaternions as rot


def cycle(name, *, twice=True):
    """One cycle of a walk or run, closed over its last frames as an animator does it.

    With `twice`, the first pose occurs at both ends, as in most game clips.
    """
    take = ml.demo.clip(name)
    poses = take.positions() - take.root[:, None] * [1.0, 0.0, 1.0]
    start = len(take) // 3
    ends = np.arange(start + 12, start + 42)
    end = int(ends[np.argmin(np.linalg.norm(poses[ends] - poses[start], axis=-1).mean(axis=1))])
    q, root = (
        take.rotations[start : end + 1].astype(float),
        take.root[start : end + 1].astype(float),
    )
    share = np.linspace(0.0, 1.0, len(q))[:, None, None] ** 2
    q = rot.slerp(q, rot.multiply(q, rot.multiply(rot.inverse(q[-1]), q[0])), share[..., 0])
    root[:, 1] += share[:, 0, 0] * (root[0, 1] - root[-1, 1])
    clip = ml.Motion(take.skeleton, q, root, take.fps, f"{name}_loop")
    return clip if twice else clip[:-1]


WALK, RUN = cycle("walk"), cycle("jog")


@pytest.mark.parametrize("clip", [WALK, RUN, cycle("walk", twice=False)], ids=str)
def test_a_cycle_is_a_loop_and_goes_on(clip):
    start, frames = loop_range(clip)
    assert (start, frames) in ((0, len(clip)), (0, len(clip) - 1))
    long = unrolled(clip)
    assert long.duration >= LEAST and long.name == clip.name
    # It travels on at the same speed, and no seam is rougher than the clip.
    speed = np.linalg.norm(np.diff(clip.root[:, [0, 2]], axis=0), axis=1).mean()
    steps = np.linalg.norm(np.diff(long.root[:, [0, 2]], axis=0), axis=1)
    assert steps.mean() == pytest.approx(speed, rel=0.05)
    assert joint_accelerations(long).max() < 1.5 * joint_accelerations(clip).max()
    assert unrolled(long) is long


def test_a_clip_in_place_stays_in_place():
    still = replace(WALK, root=WALK.root * [0.0, 1.0, 0.0])
    assert np.abs(unrolled(still).root[:, [0, 2]]).max() < 0.02


def test_a_t_pose_in_the_first_frame_is_not_part_of_the_loop():
    posed = WALK.rest_pose()
    first = replace(posed, root=WALK.root[:1], fps=WALK.fps, translations=None)
    clip = ml.Motion(
        WALK.skeleton, np.concatenate([first.rotations, WALK.rotations]),
        np.concatenate([first.root, WALK.root]), WALK.fps, "walk",
    )  # fmt: skip
    start, _ = loop_range(clip)
    assert start == 1
    wrists = unrolled(clip).role_positions(["left_wrist", "left_shoulder"])
    assert (wrists[:, 0, 1] < wrists[:, 1, 1]).all()


@pytest.mark.parametrize("name", ["walk", "kick_front_high_right", "sit_stand_low"])
def test_other_clips_are_not_loops(name):
    take = ml.demo.clip(name)
    part = take[: round(0.8 * take.fps)]
    assert loop_range(part) is None
    assert unrolled(part) is part


def test_short_loops_are_used_by_graphs_and_controllers(lib):
    """Clips below 0.7 s, or shorter than two transitions, had no place in either."""
    for clip in (RUN, WALK):
        assert clip.duration < 1.3
        lib.add_motion(clip)
    graph = lib.motion_graph()
    assert [motion.duration >= LEAST for motion in graph.motions] == [True] * len(graph.motions)
    assert len(graph.walk(seconds=6, seed=1)) == pytest.approx(6 * graph.fps, abs=1)
    again = lib.motion_graph()  # read from the library
    assert len(again) == len(graph)
    database = lib.motion_matching(mirror=False)
    assert not database.skipped
    lengths = {part.name: part.stop - part.start for part in database.ranges}
    assert min(lengths[clip.name] for clip in (RUN, WALK)) >= LEAST * WALK.fps
    with pytest.raises(InvalidInput, match="no transitions|form no cycle"):
        lib.motion_graph(rules=ml.TransitionRules(unroll=False))
