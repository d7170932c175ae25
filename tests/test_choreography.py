"""From beats to movements, groups and the transition graph; rules and files."""

import json
from dataclasses import replace

import numpy as np
import pytest
from naive import rhythm as naive

import motionloom as ml
from motionloom.dance.choreography import Choreography, for_music
from motionloom.dance.choreography_file import load_choreography
from motionloom.dance.motion_beats.meter import downbeat, estimated_meter
from motionloom.dance.movements import (
    MovementComparison,
    cut_movements,
    differences,
    joint_weights,
    movement_differences,
    postures,
    transition_differences,
)
from motionloom.dance.settings import (
    BeatSettings,
    ChoreographySettings,
    GroupingSettings,
    LikelihoodSettings,
    MovementSettings,
)
from motionloom.dance.transitions import movement_graph as transition_graph
from motionloom.dance.transitions.learning import (
    baum_welch,
    k_medoids,
    kinematic_continuity,
    silhouette,
    subtractive,
)
from motionloom.dance.transitions.movement_graph import TransitionGraph, combined_graph, load_graph
from motionloom.dance.transitions.rules import load_rules, with_rules
from motionloom.demo.dances import beat_study
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.motion.rotations import quaternions as rot


@pytest.fixture(scope="module")
def dances():
    return [ml.demo.clip("dance_groove", performer=p, seed=s) for p in (0, 1) for s in (0, 1)]


@pytest.fixture(scope="module")
def made(dances):
    return Choreography.from_takes(dances, ChoreographySettings(meter=4, kind="groove"))


@pytest.fixture(scope="module")
def pieces(dances):
    return cut_movements(dances[0], ml.beats(dances[0]), meter=4)


# --- movements --------------------------------------------------------------------------


def test_movements_start_at_the_origin_with_beats_on_a_common_clock(pieces, dances):
    for piece in pieces:
        assert piece.meter == 4 and len(piece.motion) == 4 * piece.beat_frames + 1
        np.testing.assert_allclose(piece.motion.root[0, [0, 2]], 0.0, atol=1e-5)
        assert abs(piece.motion[0].headings()[0]) < 1e-4
        middle = round(piece.beats[2])
        pose = piece.motion.rotations[2 * piece.beat_frames, 5]
        assert abs(float(pose @ dances[0].rotations[middle, 5])) > 0.995
    assert pieces[0].end_frame - 1 == pieces[1].start_frame


def test_differences_are_those_of_the_paper(pieces):
    states = postures(pieces[:4], weights=np.linspace(0.5, 2.0, 21))
    fast = differences(states, states, velocity_weight=0.02)

    def beats_of(n):
        return [
            (states.roots[n, k], states.rotations[n, k], states.velocities[n, k, 0],
             states.velocities[n, k, 1:])
            for k in range(5)
        ]  # fmt: skip

    for i in range(4):
        for j in range(4):
            slow = naive.movement_difference(beats_of(i), beats_of(j), states.weights, 0.02)
            assert fast[i, j] == pytest.approx(slow, rel=1e-5, abs=1e-3)


def test_important_joints_have_weight_one_and_others_zero(pieces):
    body = pieces[0].motion.skeleton
    weights = dict(zip(body.names, joint_weights(body), strict=True))
    heavy = {name for name, weight in weights.items() if weight == 1.0}
    assert heavy == {"Hips", "Spine", "Spine1", "LeftArm", "LeftForeArm", "RightArm",
                     "RightForeArm", "LeftUpLeg", "LeftLeg", "RightUpLeg", "RightLeg"}  # fmt: skip
    assert set(weights.values()) == {0.0, 1.0}
    np.testing.assert_array_equal(joint_weights(body, "all"), 1.0)
    head = joint_weights(body, {"head": 2.0, "Spine1": 0.0})
    assert head[body.joint("Head")] == 2.0 and head[body.joint("Spine1")] == 0.0
    assert head[body.joint("LeftArm")] == 1.0
    rod = ml.Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(joint_weights(rod), 1.0)
    for wrong, words in (
        ("some", "weights must be 'important', 'all' or a mapping; got 'some'"),
        ({"head": -1.0}, "weights must be at least 0; got -1.0 for 'head'"),
        (dict.fromkeys(heavy, 0.0), "weights must not all be 0"),
    ):
        with pytest.raises(InvalidInput, match=words):
            joint_weights(body, wrong)


def test_hands_do_not_change_the_difference_unless_they_have_weight(pieces):
    def waved(movement):
        motion = movement.motion
        rotations = motion.rotations.copy()
        rotations[:, motion.skeleton.joint("LeftHand")] = [0.0, 1.0, 0.0, 0.0]
        return replace(movement, bodies=(replace(motion, rotations=rotations),))

    plain, other = list(pieces[:4]), [pieces[0], *map(waved, pieces[1:4])]
    for weights, same in (("important", True), ("all", False), ({"left_wrist": 1.0}, False)):
        how = MovementComparison.of(plain, weights, 0.01)
        gap = movement_differences(plain, how) - movement_differences(other, how)
        assert (np.abs(gap).max() < 1e-6) == same


def test_velocities_are_half_of_the_difference_by_default():
    takes = [ml.demo.clip("walk", performer=p) for p in range(3)]
    made = Choreography.from_takes(takes, ChoreographySettings(meter=2))
    how = MovementComparison.of(made.movements)
    pairs = np.triu_indices(len(made.movements), 1)
    whole = movement_differences(made.movements, how)[pairs]
    posed = movement_differences(made.movements, MovementComparison(how.weights, 0.0))[pairs]
    assert np.median(posed) / np.median(whole - posed) == pytest.approx(1.0, rel=0.02)
    assert made.comparison.velocity_weight == how.velocity_weight
    fixed = Choreography.from_takes(
        takes, ChoreographySettings(meter=2, grouping=GroupingSettings(velocity_weight=0.5))
    )
    assert fixed.comparison.velocity_weight == 0.5
    alone = MovementComparison.of(made.movements[:1])
    assert 0.001 <= alone.velocity_weight <= 0.1


def test_consecutive_movements_of_a_take_have_no_gap(pieces):
    gaps = transition_differences(pieces)
    follows = np.array([gaps[k, k + 1] for k in range(len(pieces) - 1)])
    others = gaps[~np.eye(len(pieces), k=1, dtype=bool)]
    assert follows.max() < np.median(others)


def test_meter_is_estimated():
    leader, follower = ml.demo.couple(performer=2)
    pair = [leader.motion, follower.motion]
    assert estimated_meter(pair, ml.beats(pair)).beats == 3
    march = ml.demo.clip("march")
    assert estimated_meter(march, ml.beats(march)).beats == 2
    groove = ml.demo.clip("dance_groove")
    assert estimated_meter(groove, ml.beats(groove)).beats == 4


def barred(meter, *, bars=8, period=0.5, seed=0, fps=30.0):
    """A bar of random poses, one per beat, repeated with small variations."""
    rng = np.random.default_rng(seed)
    body = ml.demo.clip("walk").skeleton
    roles = ("left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "chest", "left_hip")
    joints = [body.joint(body.roles[role]) for role in roles]
    bar = rng.normal(0.0, 0.5, (meter, len(joints), 3))
    beats = bars * meter + 1
    poses = bar[np.arange(beats) % meter] + 0.08 * rng.normal(size=(beats, len(joints), 3))
    at = np.arange(int((beats - 1) * period * fps) + 1) / fps / period
    k = np.minimum(at.astype(int), beats - 2)
    share = (at - k)[:, None, None]
    turn = poses[k] + share**2 * (3.0 - 2.0 * share) * (poses[k + 1] - poses[k])
    rotations = np.tile(rot.IDENTITY, (len(at), len(body), 1))
    rotations[:, joints] = rot.exp(turn)
    return ml.Motion(body, rotations, np.tile([0.0, 0.95, 0.0], (len(at), 1)), fps)


@pytest.mark.parametrize("meter", range(2, 9))
def test_meters_of_two_to_eight_beats_are_distinguished(meter):
    take = barred(meter, seed=meter)
    detected = ml.beats(take, tempo_bpm=(100.0, 140.0))
    assert estimated_meter(take, detected).beats == meter
    settings = ChoreographySettings(
        only=("bars",),  # named, because random poses bend elbows more than people can
        beats=BeatSettings(tempo_bpm=(100.0, 140.0)),
        movements=MovementSettings(min_confidence=0.0),
    )
    named = replace(take, name="bars")
    assert Choreography.from_takes([named], settings).meter == meter


def test_a_mirrored_second_half_is_another_bar_and_a_walk_has_two_beats():
    leader, follower = ml.demo.couple(performer=1)
    pair = [leader.motion, follower.motion]
    assert estimated_meter(pair, ml.beats(pair)).beats == 3  # repeats after six, mirrored
    walk = ml.demo.clip("walk", performer=1)
    assert estimated_meter(walk, ml.beats(walk)).beats == 2


def test_tempo_range_steadiness_and_level_can_be_set(dances):
    plain, half, quick = (
        Choreography.from_takes(dances[:1], ChoreographySettings.of({"meter": 4, **options}))
        for options in ({}, {"level": 2.0}, {"tempo_bpm": (150.0, 300.0)})
    )
    assert half.period == pytest.approx(2.0 * plain.period, rel=0.05)
    assert quick.period == pytest.approx(0.5 * plain.period, rel=0.05)
    steady = ChoreographySettings(meter=4, beats=BeatSettings(steady=True)).beats
    assert steady.steady and not ChoreographySettings().beats.steady
    with pytest.raises(InvalidInput, match="two tempos, the slower one first"):
        ChoreographySettings(beats=BeatSettings(tempo_bpm=(120.0, 60.0)))


def test_the_preset_uses_all_takes_and_beats_as_in_the_paper(dances):
    chosen = ChoreographySettings.kp03(meter=4)
    assert chosen.beats == BeatSettings.kp03() and chosen.movements == MovementSettings.kp03()
    assert not chosen.movements.even and chosen.movements.min_confidence == 0.0
    sitting = ml.demo.clip("sit_stand")
    made = Choreography.from_takes([dances[0], sitting], chosen)
    assert "no rhythm" not in made.left_out.get(sitting.name, "")


def test_movements_start_at_the_accents_or_at_the_first_beat(dances):
    starts = {}
    for where in ("accent", "first"):
        options = {"meter": 4, "align": "beats", "even": False, "downbeat": where}
        settings = ChoreographySettings.of(options | {"max_seam": None})
        starts[where] = Choreography.from_takes(dances[:2], settings).movements[0].beats[0]
    detected = ml.beats(dances[0])
    assert starts["first"] == pytest.approx(detected.frames[0])
    assert starts["accent"] == pytest.approx(detected.frames[downbeat(detected, 4)])


@pytest.mark.parametrize(("align", "factor"), [("beats", 1.6), ("landings", 1.9)])
def test_movements_with_uneven_beats_are_dropped_unless_requested(align, factor):
    """One beat of a groove takes longer than the others."""
    take = ml.demo.annotated("dance_groove")
    start, end = np.array(take.truth.beats[9:11]) * take.motion.fps
    longer = round((factor - 1.0) * (end - start))
    frames = np.arange(len(take.motion) + longer, dtype=np.float64)
    within = start + (frames - start) / factor
    source = np.where(
        frames < start, frames, np.where(frames < end + longer, within, frames - longer)
    )
    source = np.clip(np.rint(source), 0, len(take.motion) - 1).astype(int)
    slow = replace(
        take.motion, rotations=take.motion.rotations[source], root=take.motion.root[source]
    )
    counts = [
        len(Choreography.from_takes([slow], ChoreographySettings(
            meter=4,
            movements=MovementSettings(even=even, align=align),
            grouping=GroupingSettings(groups=3),
            transitions=LikelihoodSettings(max_seam=None, min_likelihood=0.0),
        )).movements)
        for even in (True, False)
    ]  # fmt: skip
    assert counts[0] == counts[1] - 1


@pytest.mark.slow
def test_unlikely_transitions_are_dropped_unless_requested(dances):
    def likelihoods(least):
        settings = ChoreographySettings(
            meter=4,
            grouping=GroupingSettings(groups=6),
            transitions=LikelihoodSettings(min_likelihood=least, max_seam=None),
        )
        graph = Choreography.from_takes(dances, settings).graph
        return graph.transitions[graph.transitions > 0]

    assert len(likelihoods(0.0)) == 36 and likelihoods(0.0).min() < 0.01
    assert len(likelihoods(None)) < 36 and likelihoods(None).min() > 0.05


def test_a_meter_longer_than_the_take_is_reported(dances):
    detected = ml.beats(dances[0])
    with pytest.raises(InvalidInput, match=r"a movement of 64 beats needs 65 beats; dance_groove"):
        cut_movements(dances[0], detected, meter=64)
    with pytest.raises(InvalidInput, match="meter must be at least 1"):
        cut_movements(dances[0], detected, meter=0)
    with pytest.raises(InvalidInput, match="a movement of 64 beats"):
        Choreography.from_takes(dances[:1], ChoreographySettings(meter=64))


def test_movements_that_cannot_be_compared_are_named(pieces, dances):
    other = cut_movements(dances[0], ml.beats(dances[0]), meter=3)
    with pytest.raises(InvalidInput, match="the same meter, beat period"):
        postures([pieces[0], other[0]])
    with pytest.raises(InvalidInput, match="weights must have shape"):
        postures(pieces, weights=[1.0, 2.0])
    with pytest.raises(InvalidInput, match="movements must not be empty"):
        postures([])


# --- groups -----------------------------------------------------------------------------


@pytest.fixture
def clumps(rng):
    places = np.concatenate([rng.normal(c, 0.2, size=(n, 2)) for c, n in ((0, 7), (4, 5), (9, 3))])
    return ((places[:, None] - places[None]) ** 2).sum(axis=2)


def test_k_medoids_finds_clumps_and_the_best_centers(clumps):
    groups = k_medoids(clumps, 3, seed=1)
    assert list(groups.labels) == [0] * 7 + [1] * 5 + [2] * 3
    for group, center in enumerate(groups.centers):
        members = groups.members(group)
        inner = clumps[np.ix_(members, members)].sum(axis=0)
        assert center == members[np.argmin(inner)]
    assert groups.cost == pytest.approx(sum(clumps[k, groups.centers[g]]
                                           for k, g in enumerate(groups.labels)))  # fmt: skip


def test_every_group_has_a_member_and_seeds_repeat(rng):
    apart = np.abs(np.subtract.outer(*[rng.normal(size=30)] * 2))
    for groups in (1, 7, 30):
        result = k_medoids(apart, groups, seed=3, restarts=5)
        assert len(set(result.labels)) == groups
        np.testing.assert_array_equal(result.labels, k_medoids(apart, groups, seed=3,
                                                              restarts=5).labels)  # fmt: skip
    twins = np.zeros((4, 4))
    assert len(set(k_medoids(twins, 3).labels)) == 3


def test_subtractive_clustering_is_that_of_the_paper(clumps, rng):
    for radius in (0.4, 1.0, 3.0):
        groups = subtractive(clumps, radius=radius, squash=1.5, threshold=0.15)
        centers = naive.subtractive_centers(clumps.tolist(), radius, 1.5, 0.15)
        assert sorted(groups.centers) == sorted(centers)
    assert list(subtractive(clumps, radius=1.0).labels) == [0] * 7 + [1] * 5 + [2] * 3


def test_silhouettes_are_those_of_their_definition(clumps):
    groups = k_medoids(clumps, 3, seed=1)
    labels = groups.labels.tolist()
    expected = naive.silhouette(np.sqrt(clumps).tolist(), labels)
    assert silhouette(clumps, groups) == pytest.approx(expected)
    assert silhouette(clumps, groups) > 0.5 > 0.2 > silhouette(clumps, k_medoids(clumps, 14))
    assert silhouette(clumps, k_medoids(clumps, 1)) == 0.0


def test_invalid_clustering_options_are_rejected(clumps):
    with pytest.raises(InvalidInput, match="between 1 and the number of movements, 15; got 16"):
        k_medoids(clumps, 16)
    with pytest.raises(InvalidInput, match="restarts must be at least 1"):
        k_medoids(clumps, 2, restarts=0)
    with pytest.raises(InvalidInput, match="must be a square array"):
        subtractive(clumps[:3])
    with pytest.raises(InvalidInput, match="finite and not negative"):
        subtractive(-clumps)
    with pytest.raises(InvalidInput, match="squash greater than 1"):
        subtractive(clumps, squash=1.0)


# --- transitions ------------------------------------------------------------------------


def test_groups_observed_with_certainty_are_counted(rng):
    sequences = [rng.integers(4, size=n) for n in (12, 5, 1, 9)]
    learned = baum_welch([np.eye(4)[sequence] for sequence in sequences])
    start, moves = naive.counted_transitions([list(s) for s in sequences], 4, [1] * 4)
    np.testing.assert_allclose(learned.start, start, atol=1e-12)
    np.testing.assert_allclose(learned.transitions, moves, atol=1e-12)
    assert learned.rounds <= 2


def test_a_sequence_after_a_dropped_movement_is_not_a_start(rng):
    sequences = [rng.integers(3, size=n) for n in (6, 5, 7)]
    seen = [np.eye(3)[sequence] for sequence in sequences]
    for starts in ([True, False, True], [False, True, False]):
        learned = baum_welch(seen, starts=starts)
        start, moves = naive.counted_transitions([list(s) for s in sequences], 3, starts)
        np.testing.assert_allclose(learned.start, start, atol=1e-12)
        np.testing.assert_allclose(learned.transitions, moves, atol=1e-12)
    every = baum_welch(seen, starts=[False] * 3)  # no start is known: all count
    np.testing.assert_allclose(every.start, baum_welch(seen).start)


def test_counting_is_the_fixed_point_of_the_iteration_of_the_paper():
    """With observed groups, equations (25) and (26) give relative frequencies in one iteration."""
    sequences, starts = [[0, 1, 2, 0, 1], [2, 2, 0, 1], [1, 0]], [True, False, True]
    counted = naive.counted_transitions(sequences, 3, starts)
    for rounds in (1, 3):
        start, step = naive.baum_welch(sequences, 3, starts, rounds)
        np.testing.assert_allclose(start, counted[0], atol=1e-12)
        np.testing.assert_allclose(step, counted[1], atol=1e-12)


def test_the_graph_predicts_its_own_takes_better_than_chance(dances):
    """Behavioral continuity needs as few bits per transition as counting."""
    settings = ChoreographySettings(
        meter=4,
        movements=MovementSettings(align="beats"),
        grouping=GroupingSettings(groups=8),
        transitions=LikelihoodSettings(behavior=1.0, max_seam=None, min_likelihood=0.0),
    )
    made = Choreography.from_takes(dances, settings)
    sequences = made.node_sequences
    _, counted = naive.counted_transitions(sequences, len(made.graph), [1] * len(sequences))
    bits = naive.bits_per_transition(sequences, made.graph.transitions)
    assert bits < np.log2(len(made.graph))
    assert bits <= naive.bits_per_transition(sequences, counted) + 1e-9


def test_a_take_with_a_dropped_movement_starts_once(dances, monkeypatch):
    from motionloom.dance import movement_runs
    from motionloom.dance.transitions import learning

    seen = {}

    def recorded(sequences, *, starts):
        seen["lengths"], seen["starts"] = [len(sequence) for sequence in sequences], list(starts)
        return baum_welch(sequences, starts=starts)

    cut = cut_movements

    def uneven(*args, **options):
        pieces = cut(*args, **options)
        broken = pieces[2].beats.copy()
        broken[1] += 0.4 * (broken[2] - broken[1])
        pieces[2] = replace(pieces[2], beats=broken)
        return pieces

    monkeypatch.setattr(learning, "baum_welch", recorded)
    monkeypatch.setattr(movement_runs, "cut_movements", uneven)
    Choreography.from_takes(
        dances[:2], ChoreographySettings(meter=4, movements=MovementSettings(align="beats"))
    )
    assert seen["starts"] == [True, False, True, False] and seen["lengths"][0] == 2


def test_uncertain_groups_are_re_estimated_by_baum_welch(rng):
    likely = [rng.dirichlet(np.ones(3), size=n) for n in (5, 4)]
    learned = baum_welch(likely, rounds=1)
    first, moves = np.zeros(3), np.zeros((3, 3))
    for sequence in likely:
        begin, pairs = naive.expected_counts(sequence.tolist(), [1 / 3] * 3, [[1 / 3] * 3] * 3)
        first += begin
        moves += pairs
    np.testing.assert_allclose(learned.start, first / first.sum(), atol=1e-10)
    np.testing.assert_allclose(learned.transitions, moves / moves.sum(axis=1, keepdims=True),
                               atol=1e-10)  # fmt: skip


def test_smoothness_follows_the_paper(rng):
    gaps = rng.uniform(0.1, 3.0, size=(6, 6))
    labels = np.array([0, 0, 1, 2, 2, 2])
    likelihoods = kinematic_continuity(gaps, labels, sigma=0.7)
    members = [[0, 1], [2], [3, 4, 5]]
    for i in range(3):
        row = [np.exp(-naive.group_distance(gaps, members[i], members[j]) / 0.7) for j in range(3)]
        np.testing.assert_allclose(likelihoods[i], np.array(row) / sum(row), atol=1e-10)
    with pytest.raises(InvalidInput, match="sigma must be positive"):
        kinematic_continuity(gaps, labels, sigma=-1.0)


def test_both_continuities_are_weighted_cut_and_scaled():
    smooth, usual = [[0.5, 0.46, 0.04]] * 3, [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    graph = combined_graph(smooth, usual, [1, 0, 0], [[0], [1], [2]], behavior=0.5)
    np.testing.assert_allclose(graph.transitions[0], np.array([0.25, 0.73, 0.0]) / 0.98)
    np.testing.assert_allclose(graph.transitions[2], np.array([0.5, 0.46, 0.0]) / 0.96)
    with pytest.raises(InvalidInput, match="behavior must be between 0 and 1"):
        combined_graph(smooth, usual, [1, 0, 0], [[0], [1], [2]], behavior=2.0)
    with pytest.raises(InvalidInput, match="min_likelihood must be at least 0"):
        combined_graph(smooth, usual, [1, 0, 0], [[0], [1], [2]], min_likelihood=1.0)


# --- graphs -----------------------------------------------------------------------------


def small():
    steps = [[0.5, 0.5, 0.0], [0.8, 0.0, 0.2], [0.0, 0.0, 0.0]]
    return TransitionGraph(("a", "b", "c"), ((0, 3), (1,), (2,)), np.array([1.0, 0, 1]), steps)


def test_dead_ends_are_found_and_removed():
    graph = small()
    assert graph.dead_ends == ("c",)
    alive = graph.without_dead_ends()
    assert alive.names == ("a", "b") and alive.dead_ends == ()
    np.testing.assert_allclose(alive.transitions[1], [1.0, 0.0])
    np.testing.assert_allclose(alive.start, [1.0, 0.0])
    one_way = TransitionGraph(("a", "b"), ((0,), (1,)), [1, 0], [[0, 1], [0, 0]])
    with pytest.raises(InvalidInput, match="every path through this graph ends"):
        one_way.without_dead_ends()


def test_edits_return_a_new_graph():
    graph = small()
    assert graph.with_edge("c", "a", 1.0).dead_ends == ()
    assert ("a", "b", 0.5) in graph.edges and ("a", "b", 0.5) not in (
        graph.without_edge("a", "b").edges
    )
    np.testing.assert_allclose(graph.reweighted("a", "b", 3.0).transitions[0, :2], [0.25, 0.75])
    assert graph.renamed({"a": "box step"}).names[0] == "box step"
    for wrong, words in (
        (lambda: graph.with_edge("x", "a"), "the graph has no node 'x'; its nodes are a, b, c"),
        (lambda: graph.with_edge("a", "b", 0.0), "likelihood must be greater than 0"),
        (lambda: graph.without_edge("c", "a"), "no edge from c to a"),
        (lambda: graph.reweighted("c", "a", 2.0), "no edge from c to a"),
        (lambda: graph.reweighted("a", "b", -2.0), "factor must be positive"),
        (lambda: graph.without_nodes("abc"), "at least one node"),
        (lambda: graph.renamed({"a": "b"}), "names must be unique"),
    ):
        with pytest.raises(InvalidInput, match=words):
            wrong()
    with pytest.raises(InvalidInput, match="must not be negative"):
        TransitionGraph(("a",), ((0,),), [1.0], [[-1.0]])
    with pytest.raises(InvalidInput, match="start must have shape"):
        TransitionGraph(("a",), ((0,),), [1.0, 0.0], [[1.0]])


@pytest.mark.parametrize("suffix", [".json", ".graphml"])
def test_graphs_survive_a_round_trip_through_files(tmp_path, suffix):
    graph = small()
    back = load_graph(graph.save(tmp_path / f"graph{suffix}"))
    assert back.names == graph.names and back.members == graph.members
    np.testing.assert_array_equal(back.transitions, graph.transitions)
    np.testing.assert_array_equal(back.start, graph.start)


def test_graphml_is_readable_by_networkx(tmp_path):
    networkx = pytest.importorskip("networkx")
    read = networkx.read_graphml(small().save(tmp_path / "graph.graphml"))
    assert read["b"]["a"]["weight"] == pytest.approx(0.8)
    networkx.write_graphml(read, tmp_path / "again.graphml")
    np.testing.assert_allclose(
        load_graph(tmp_path / "again.graphml").transitions, small().transitions
    )


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("g.json", "{", "not a movement transition graph"),
        ("g.json", "{}", "'nodes' is missing"),
        ("g.json", '{"nodes": [], "edges": [{"from": "a", "to": "b"}]}', "'likelihood' is missing"),
        ("g.json", "[1]", "graph: expected a JSON object, got list"),
        ("g.json", '{"nodes": [7], "edges": []}', "not a movement transition graph"),
        (
            "g.json",
            '{"nodes": [{"name": "a", "movements": [1e999]}], "edges": []}',
            "not a movement transition graph: cannot convert float infinity",
        ),
        ("g.json", '{"nodes": [{"name": "a", "movements": [0]}], "edges": [3]}', "not a movement"),
        ("g.graphml", "<graph", "not a movement transition graph"),
        (
            "g.graphml",
            "<!DOCTYPE x [<!ENTITY a 'b'>]><x/>",
            "document type declaration is not accepted",
        ),
    ],
)
def test_damaged_graph_files_are_reported(tmp_path, monkeypatch, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(MotionFormatError, match=words):
        load_graph(tmp_path / name)
    monkeypatch.setattr(transition_graph, "MAX_FILE_BYTES", len(text) - 1)
    with pytest.raises(MotionFormatError, match="a graph file may have at most"):
        load_graph(tmp_path / name)
    with pytest.raises(InvalidInput, match=r"must be written to .json or .graphml"):
        small().save(tmp_path / "graph.txt")


def test_rules_are_applied_in_order(tmp_path):
    rules = [
        {"from": "c", "to": "a", "likelihood": 1.0},
        {"from": "*", "to": "a", "factor": 0.5},
        {"from": "b", "to": "c", "forbid": True},
        {"start": {"b": 1.0}},
        {"rename": {"a": "left"}},
    ]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    graph = with_rules(small(), load_rules(tmp_path / "rules.json"))
    assert graph.names == ("left", "b", "c")
    np.testing.assert_allclose(graph.transitions, [[1 / 3, 2 / 3, 0], [1, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(graph.start, [0, 1, 0])


def test_wrong_rules_are_reported_by_number(tmp_path):
    good = {"from": "a", "to": "b", "factor": 2.0}
    for rule, words in (
        ({"from": "a"}, "rule 2: a rule must have the keys from, to and one of"),
        ({"from": "a", "to": "z", "factor": 1.0}, "rule 2: the graph has no node 'z'"),
        ({"from": "a", "to": "b", "factor": "much"}, "rule 2: factor must be a number"),
        ("a", "rule 2: a rule must be an object"),
        ({"rename": ["a"]}, "rule 2: rename must be an object that maps names to names"),
        ({"rename": {"a": 5}}, "rule 2: rename must be an object that maps names to names"),
        ({"start": 1.0}, "rule 2: start must be an object that maps names to numbers"),
        ({"start": {"a": "most"}}, "rule 2: start must be an object that maps names to numbers"),
    ):
        with pytest.raises(InvalidInput, match=words):
            with_rules(small(), [good, rule])
    with pytest.raises(InvalidInput, match="rules must be a list"):
        with_rules(small(), "none")
    (tmp_path / "r.json").write_text("[\n{,")
    with pytest.raises(MotionFormatError, match=r"r.json:2: the rules file is not valid JSON"):
        load_rules(tmp_path / "r.json")
    (tmp_path / "r.json").write_text("{}")
    with pytest.raises(MotionFormatError, match="a rules file must contain a list"):
        load_rules(tmp_path / "r.json")


# --- choreographies ---------------------------------------------------------------------


def test_a_choreography_continues_indefinitely(made):
    assert made.graph.dead_ends == () and made.kind == "groove"
    assert sorted(k for group in made.graph.members for k in group)[-1] < len(made.movements)
    np.testing.assert_allclose(made.graph.transitions.sum(axis=1), 1.0)
    assert len({movement.motion.skeleton.key for movement in made.movements}) == 1


def test_a_choreography_survives_a_round_trip_through_a_file(made, dances, tmp_path):
    takes = {dance.name: dance for dance in (dances[0], dances[2])}
    made = Choreography.from_takes(
        [dances[0], dances[2]],
        ChoreographySettings(meter=4, movements=MovementSettings(mirror=True)),
    )
    path = made.save(tmp_path / "dance.json")
    back = load_choreography(path, takes.__getitem__)
    assert [m.text for m in back.movements] == [m.text for m in made.movements]
    for a, b in zip(back.movements, made.movements, strict=True):
        np.testing.assert_allclose(a.motion.root, b.motion.root, atol=1e-3)
    data = json.loads(path.read_text())
    assert back.comparison.velocity_weight == made.comparison.velocity_weight
    np.testing.assert_array_equal(back.comparison.weights, made.comparison.weights)
    old = {
        name: value for name, value in data.items() if name not in ("weights", "velocity_weight")
    }
    path.write_text(json.dumps(old))  # as release 0.1 wrote it
    first = load_choreography(path, takes.__getitem__)
    assert first.comparison.velocity_weight == 0.01 and np.all(first.comparison.weights == 1.0)
    path.write_text(json.dumps(data | {"weights": {"Hips": "heavy"}}))
    with pytest.raises(MotionFormatError, match="weights must map joint names to numbers"):
        load_choreography(path, takes.__getitem__)
    data["cuts"][0]["beats"][-1] = 1e6
    path.write_text(json.dumps(data))
    with pytest.raises(MotionFormatError, match="movement 0: beats must increase"):
        load_choreography(path, takes.__getitem__)
    small().save(path)
    with pytest.raises(MotionFormatError, match="no movement cuts"):
        load_choreography(path, takes.__getitem__)
    with pytest.raises(InvalidInput, match=r"node c must contain some of the"):
        made.with_graph(TransitionGraph(("c",), ((999,),), [1.0], [[1.0]]))


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda data: data.pop("fps"), "must have fps, beat_frames and cuts.*KeyError 'fps'"),
        (lambda data: data.update(fps=0), "fps must be from 1 to 10000.*; got fps 0"),
        (
            lambda data: data.update(beat_frames=1),
            "a beat must have 2 frames and last at most 60 s; got fps 30 and beat_frames 1",
        ),
        (lambda data: data.update(beat_frames=1e999), "OverflowError cannot convert"),
        (lambda data: data.update(beat_frames=1801), "got fps 30 and beat_frames 1801"),
        (
            lambda data: data.update(cuts=500 * data["cuts"][:1], beat_frames=1500),
            "which are too many for takes with",
        ),
        (lambda data: data.update(cuts=[]), "the choreography has no movements"),
        (lambda data: data.update(cuts=[7]), "every cut must have source and beats: TypeError"),
        (lambda data: data["cuts"][1].pop("source"), "KeyError 'source'"),
        (lambda data: data["cuts"][1].update(beats=["a"]), "ValueError could not convert"),
        (lambda data: data["cuts"][1]["beats"].__setitem__(1, float("nan")), "1: beats must"),
        (lambda data: data["cuts"][1].update(beats=[3.0]), "movement 1: beats must increase"),
        (lambda data: data["cuts"][1].update(lead=1.5), "movement 1: lead must be at least 0"),
        (
            lambda data: data["cuts"][1].update(source=[]),
            "must name 1 takes, as in the other movements; got 0",
        ),
        (
            lambda data: data["cuts"][1].update(source=["a", "b"]),
            "in the other movements; got 2",
        ),
        (
            lambda data: data["cuts"][0].update(source=[]),
            "must name some takes, as in the other movements; got 0",
        ),
    ],
)
def test_damaged_choreographies_are_reported(made, dances, tmp_path, change, words):
    path = made.save(tmp_path / "dance.json")
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    takes = {dance.name: dance for dance in dances}
    with pytest.raises(MotionFormatError, match=words):
        load_choreography(path, takes.__getitem__)


def test_a_graph_without_cuts_is_not_a_choreography(made, tmp_path):
    path = made.save(tmp_path / "dance.graphml")
    with pytest.raises(MotionFormatError, match="no movement cuts"):
        load_choreography(path, {}.__getitem__)


def test_takes_with_another_number_of_dancers_are_skipped(dances):
    pair = [dancer.motion for dancer in ml.demo.couple()]
    made = Choreography.from_takes([dances[0], pair], ChoreographySettings(meter=4))
    assert (
        "same number of characters; dance_groove_p0 has 1, this take has 2"
        in made.left_out[pair[0].name]
    )


def test_mirrored_takes_double_the_movements(dances):
    plain, both = (
        Choreography.from_takes(
            dances[:1], ChoreographySettings(meter=4, movements=MovementSettings(mirror=m))
        )
        for m in (False, True)
    )
    assert len(both.movements) == 2 * len(plain.movements)
    assert both.movements[-1].mirrored and both.movements[-1].text.endswith("~")


def test_takes_without_rhythm_are_skipped_with_a_reason(dances):
    sitting = ml.demo.clip("sit_stand")
    made = Choreography.from_takes([dances[0], sitting], ChoreographySettings(meter=4))
    assert "no rhythm (confidence 0." in made.left_out[sitting.name]
    with pytest.raises(InvalidInput, match="no take has a rhythm"):
        Choreography.from_takes([sitting], ChoreographySettings(meter=4))
    assert Choreography.from_takes([dances[0], []], ChoreographySettings(meter=4)).left_out == {
        "a take": "motion must be one or more motions; got an empty list"
    }
    with pytest.raises(InvalidInput, match="meter must be at least 1; got 0"):
        Choreography.from_takes(dances[:1], ChoreographySettings(meter=0))


def test_couples_move_together():
    pairs = [[p.motion for p in ml.demo.couple(seed=s)] for s in (0, 1)]
    made = Choreography.from_takes(pairs, ChoreographySettings(meter=3, kind="waltz"))
    for movement in made.movements:
        leader, follower = movement.bodies
        apart = np.linalg.norm((leader.root - follower.root)[:, [0, 2]], axis=1)
        assert np.all(apart < 0.8) and len(movement.source) == 2


def test_music_chooses_its_choreography(made):
    assert for_music([made], kind="Groove") is made
    assert for_music([made], meter=4) is made and for_music([made]) is made
    with pytest.raises(
        InvalidInput, match=r"no choreography for tango; available choreographies: groove \(4"
    ):
        for_music([made], kind="tango")
    with pytest.raises(InvalidInput, match="for 3 beats per bar"):
        for_music([made], meter=3)


def test_the_data_sets_of_the_paper_have_the_published_size():
    quick, _ = beat_study("dance", seconds=39.6)
    slow, _ = beat_study("dance", seconds=42.9, period=13 / 30, seed=1)
    made = Choreography.from_takes(
        [quick, slow], ChoreographySettings(meter=4, grouping=GroupingSettings(groups=37))
    )
    assert 44 <= len(made.movements) <= 49
    assert 1 <= made.graph.movements_per_node <= 2.0


def test_a_graph_has_a_limit_on_nodes(tmp_path):
    """A file of 1.3 MB with 30,000 nodes: its table of transitions would have 7 GB."""
    nodes = [{"name": str(k), "movements": [0]} for k in range(30_000)]
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": []}))
    with pytest.raises(MotionFormatError, match="at most 2000 nodes; got 30000"):
        load_graph(path)
