"""Seams between movements: candidate transitions are played once, and rough ones dropped."""

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.crowd.settings import CrowdMovements
from motionloom.dance.choreography import Choreography
from motionloom.dance.choreography_file import load_choreography
from motionloom.dance.movements import cut_movements
from motionloom.dance.settings import ChoreographySettings, ClockSettings, LikelihoodSettings
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.dance.transitions.seams import FADES, SeamTable, smooth_graph
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality import seam_accelerations, usual_acceleration
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.rotations import quaternions as rot


@pytest.fixture(scope="module")
def dances():
    return [replace(ml.demo.clip("dance_groove", seed=seed), name=f"dance_{seed}")
            for seed in (0, 1)]  # fmt: skip


@pytest.fixture(scope="module")
def groove(dances):
    return Choreography.from_takes(
        dances, ChoreographySettings(meter=4, transitions=LikelihoodSettings(max_seam=None))
    )


def strides():
    """Strides of a walk, cut at every step, so that they begin with either foot."""
    walk = ml.demo.clip("walk")
    beats = ml.beats(walk)
    return [movement for first in (1, 2)
            for movement in cut_movements(walk, beats, meter=2, first_beat=first)]  # fmt: skip


@pytest.mark.parametrize("speed", [1.0, 1.25])
def test_seams_are_those_that_the_player_plays(groove, speed):
    table = SeamTable.of(groove.movements, max_seam=1.5, speed=speed)
    usual = usual_acceleration(movement.motion for movement in groove.movements)
    cycle = [0, len(groove.movements) // 2, len(groove.movements) - 1]
    graph = TransitionGraph(
        tuple("abc"), tuple((k,) for k in cycle), [1, 0, 0], np.roll(np.eye(3), 1, axis=1)
    )
    player = groove.with_graph(graph).player(speed * 60.0 / groove.period, lock_feet=False)
    played = player.record(seconds=6.5 * groove.meter * groove.period / speed)
    pairs = [(cycle[k % 3], cycle[(k + 1) % 3]) for k in range(len(played.provenance.seams))]
    expected = [table.ratio[pair] for pair in pairs if np.isfinite(table.ratio[pair])]
    got = [push / usual for pair, push in zip(pairs, seam_accelerations(played), strict=True)
           if np.isfinite(table.ratio[pair])]  # fmt: skip
    assert len(got) >= 3
    # At a rounding error before the end of a movement, its last frame is the next one's first.
    close = np.isclose(got, expected, rtol=1e-3 if speed == 1.0 else 0.15)
    assert close.mean() > 0.8 and np.all(np.array(got) < 1.15 * np.array(expected))


def test_a_stride_is_not_followed_by_one_of_the_other_foot():
    movements = strides()
    half = len(movements) // 2
    allowed = SeamTable.of(movements, max_seam=1.5).allowed
    assert allowed[:half, :half].mean() > 0.5 and allowed[half:, half:].mean() > 0.5
    assert not allowed[:half, half:].any() and not allowed[half:, :half].any()


def test_a_lower_or_farther_pose_does_not_follow(groove):
    first = groove.movements[0]
    sunk = replace(first, bodies=(first.motion.transform(shift=(0.0, -0.4, 0.0)),))
    fitting = SeamTable.of([first, first, sunk], max_seam=1.5).allowed
    assert fitting[0, 1] and fitting[2, 2] and not fitting[0, 2] and not fitting[2, 0]


def test_calm_movements_have_no_rough_seams_despite_a_wild_take(groove):
    """The limit is relative to the two movements, not to the wildest take."""
    still = groove.movements[0].motion[:1]
    turned = still.rotations.copy()
    for side in ("left", "right"):
        shoulder = still.skeleton.joint(still.skeleton.roles[f"{side}_shoulder"])
        half_turn = rot.from_axis_angle([1.0, 0.0, 0.0], 3.0)
        turned[0, shoulder] = rot.multiply(half_turn, turned[0, shoulder])
    raised = replace(still, rotations=turned)
    movements = [
        replace(groove.movements[0], bodies=(ml.Motion(
            pose.skeleton, np.repeat(pose.rotations, 73, axis=0), np.repeat(pose.root, 73, axis=0),
            pose.fps),))
        for pose in (still, raised)
    ]  # fmt: skip
    table = SeamTable.of(movements, max_seam=1.5, usual=[1000.0])
    # At the usual fade the arms start with 120 m/s^2, an eighth of the usual acceleration.
    assert table.fades[0, 1] < FADES[0] and table.fades[0, 0] == FADES[0]
    assert np.all(1000.0 * table.ratio[table.allowed] <= 1.5 * 20.0)


def test_a_choreography_uses_allowed_transitions_only(dances):
    made = Choreography.from_takes(dances, ChoreographySettings(meter=4))
    table = made.seams()
    for seed in range(4):
        player = made.player(60.0 / made.period, seed=seed)
        player.record(seconds=40.0)
        path = player.movements_played
        assert all(table.allowed[pair] for pair in zip(path, path[1:], strict=False))
    dance = made.dance_to(made.music("tune"), seconds=20.0)
    assert seam_accelerations(dance.motions[0]).max() <= 1.5 * made.usual[0]


def test_no_smooth_transition_at_all_is_an_error(groove):
    table = SeamTable.of(groove.movements, max_seam=1e-6)
    with pytest.raises(InvalidInput, match=r"no movement can follow another smoothly.*max_seam"):
        smooth_graph(groove.graph, table)


def test_dead_ends_and_isolated_movements_are_dropped():
    graph = TransitionGraph(("a", "b"), ((0, 1), (2, 3)), [1, 0], [[0.5, 0.5], [1, 0]])
    allowed = np.zeros((4, 4), bool)
    allowed[0, 2] = allowed[2, 0] = allowed[0, 3] = True  # 3 is a dead end, 1 is never reached
    table = SeamTable(np.ones((4, 4)), allowed, np.full((4, 4), 11.0))
    made = smooth_graph(graph, table)
    assert made.members == ((0,), (2,))
    np.testing.assert_array_equal(made.transitions, [[0, 1], [1, 0]])


def test_nodes_follow_each_other_where_the_graph_has_too_few_smooth_edges():
    graph = TransitionGraph(("a", "b"), ((0,), (1,)), [1, 0], [[0, 1], [0, 1]])
    table = SeamTable(np.ones((2, 2)), ~np.eye(2, dtype=bool), np.full((2, 2), 11.0))
    assert smooth_graph(graph, table).transitions.tolist() == [[0, 1], [1, 0]]


def test_files_keep_the_limit(dances, tmp_path):
    made = Choreography.from_takes(dances, ChoreographySettings(meter=4))
    named = {take.name: take for take in dances}
    again = load_choreography(made.save(tmp_path / "groove.json"), named.__getitem__)
    assert again.max_seam == 1.5
    assert again.usual == pytest.approx(made.usual)
    free = replace(made, max_seam=None)
    assert load_choreography(free.save(tmp_path / "free.json"), named.__getitem__).max_seam is None


def test_a_fast_foot_is_not_locked_immediately():
    """A contact that begins while the foot still travels stops it when it is slow."""
    walk = ml.demo.clip("walk")
    count = 40
    still = np.repeat(walk.rotations[:1], count, axis=0)
    travel = np.cumsum(np.interp(np.arange(count), [0, 10, 20], [0.1, 0.1, 0.0]))  # 3 m/s at first
    root = walk.root[:1] + np.column_stack([np.zeros(count), np.zeros(count), travel])
    contacts = np.zeros((count, 4), bool)
    contacts[8:] = True
    rotations, moved = StreamingFootLock(walk.skeleton, 30.0).lock(still, root, contacts)
    ankle = replace(walk, rotations=rotations, root=moved).role_positions(["left_ankle"])[:, 0]
    steps = np.linalg.norm(np.diff(ankle[:, [0, 2]], axis=0), axis=1)
    assert np.abs(np.diff(steps)).max() < 0.025  # held at once: 0.1 m to nothing
    assert steps[20:].max() < 1e-3


@pytest.mark.cmu
@pytest.mark.slow  # of built-in dances: test_a_choreography_uses_allowed_transitions_only
@pytest.mark.parametrize(
    ("subject", "options"), [("05", {"meter": 2, "align": "beats"}), ("61", {})]
)
def test_captured_dances_have_no_rough_seam(cmu30, subject, options):
    """Without the check, modern dance has seams of 6.8 and joints that fly 1.2 m in a frame."""
    takes = [ml.load(file) for file in sorted((cmu30 / f"0{subject}").glob("*.bvh"))]
    worst = {}
    for limit in (None, 1.5):
        settings = ChoreographySettings.of({"max_seam": limit, **options})
        steps = Choreography.from_takes(takes, settings)
        song = steps.music("tune")
        ratios, jumps = [], []
        for seed in range(3):
            motion = steps.dance_to(
                song, seed=seed, seconds=30.0, clock=ClockSettings(corrections=0)
            ).motions[0]
            ratios.append(seam_accelerations(motion).max() / steps.usual[0])
            moved = np.linalg.norm(np.diff(motion.positions(), axis=0), axis=-1).max(axis=1)
            jumps += [moved[max(s - 8, 0) : s + 8].max() for s in motion.provenance.seams]
        worst[limit] = max(ratios), max(jumps)
    assert worst[None][0] > 1.5 and worst[1.5][0] <= 1.5
    assert worst[1.5][1] < 0.25 and worst[1.5][1] <= worst[None][1]


@pytest.mark.cmu
@pytest.mark.slow  # of one dancer: test_landings.py, of built-in couples: test_crowd_motion.py
def test_salsa_couples_land_on_the_beats_with_smooth_seams(cmu30):
    from motionloom.crowd.ballroom import ballroom, fitted_ballroom
    from motionloom.crowd.couples import couple_steps
    from motionloom.crowd.settings import BallroomSettings

    couples = [tuple(ml.load(cmu30 / f"0{who}" / f"{who}_{k:02}.bvh") for who in (60, 61))
               for k in (5, 6, 8, 9, 14, 15)]  # fmt: skip
    shares = {}
    for align, limit in (("beats", None), ("landings", 1.5)):
        steps = couple_steps(couples, align=align, max_seam=limit)
        settings = BallroomSettings(
            couples=4,
            tempo_bpm=60.0 / steps.period,
            seconds=20.0,
            movements=CrowdMovements(library="cmu"),
        )
        made = ballroom(fitted_ballroom(settings, steps), steps)
        total, within = made.beats_on_time()
        worst = max(seam_accelerations(motion).max() / level for agent in made.motions
                    for motion, level in zip(agent, steps.accelerations, strict=True))  # fmt: skip
        landed = made.landings()
        assert landed.beats == total  # both count beats once for a couple
        shares[align] = within / total, worst, landed.beats_met / landed.beats, landed
        apart = [np.linalg.norm((a.root - b.root)[:, [0, 2]], axis=1) for a, b in made.motions]
        assert np.max(apart) < 1.6  # partners stay together
    assert shares["landings"][0] > 0.7 and shares["landings"][1] <= 1.5
    # Dancers pause on every fourth beat.
    assert shares["landings"][2] > 0.65 and shares["landings"][3].share > 0.8
    assert shares["landings"][3].half_coherence > 0.6
    assert shares["beats"][3].share < 0.5 and shares["beats"][1] > 1.5
