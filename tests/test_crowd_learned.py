"""Crowds on learned graphs, as in Kim, Park and Shin 2003; where leaders face; the preset."""

from dataclasses import replace

import numpy as np
import pytest

from motionloom.crowd.ballroom import _Floor, ballroom
from motionloom.crowd.built_in import march_steps, waltz_cuts, waltz_steps
from motionloom.crowd.learned import Cut, learned_steps
from motionloom.crowd.march import march
from motionloom.crowd.settings import STREET, Ballfloor, BallroomSettings, Formation, MarchSettings
from motionloom.errors import InvalidInput
from motionloom.library.crowd_plan import CrowdPlan


@pytest.fixture(scope="module")
def waltz():
    return waltz_steps(graph="learned")


@pytest.fixture(scope="module")
def strides():
    return march_steps(graph="learned")


def leads(choreography):
    """Foot that each bar of the built-in waltz begins with: bars alternate."""
    starts = [movement.beats[0] for movement in choreography.movements]
    return np.argsort(np.argsort(starts)) % 2


def facing_error(made, degrees):
    """Mean angle between where leaders face and where they should, while they travel."""
    off = []
    for agent, center in zip(made.motions, made.centers, strict=True):
        way = center[60:] - center[:-60]
        wished = np.arctan2(way[:, 0], way[:, 1]) + np.deg2rad(degrees)
        away = agent[0].headings()[30:-30] - wished
        off.append(np.abs((away + np.pi) % (2 * np.pi) - np.pi)[np.hypot(*way.T) > 0.3])
    return float(np.rad2deg(np.concatenate(off)).mean())


def test_the_waltz_has_five_nodes_of_about_six_bars_that_alternate_feet(waltz):
    graph = waltz.graph
    assert len(waltz.movements) == 30 and len(graph) == 5 and graph.movements_per_node == 6.0
    feet = leads(waltz)
    assert all(len(set(feet[list(group)])) == 1 for group in graph.members)
    node_feet = np.array([feet[group[0]] for group in graph.members])
    for i, j in np.argwhere(graph.transitions > 0):
        assert node_feet[i] != node_feet[j]


def test_nodes_travel_forward_or_backward(waltz):
    # The paper: movements with a backward step are rarely used for moving forward.
    ahead = [node.travel[:, 1] for node in waltz.dance_nodes]
    within = np.mean([np.std(rows) for rows in ahead])
    assert within < 0.6 * np.std(np.concatenate(ahead))


def test_strides_of_the_two_feet_are_two_nodes(strides):
    assert sorted(strides.graph.names) == ["left", "right"]
    assert [len(group) for group in strides.graph.members] == [24, 24]
    np.testing.assert_array_equal(strides.graph.transitions, np.eye(2))
    for name, group in zip(strides.graph.names, strides.graph.members, strict=True):
        assert {strides.movements[k].mirrored for k in group} == {name == "right"}


def test_movements_on_the_other_foot_change_their_group():
    cuts = waltz_cuts()
    named = [replace(cut, lead=("left", "right")[k % 2]) for k, cut in enumerate(cuts)]
    # Three bars are said to begin with the other foot: they are moved, and blended with no other.
    named[4:7] = [replace(cut, lead="right" if cut.lead == "left" else "left")
                  for cut in named[4:7]]  # fmt: skip
    made = learned_steps(named, 20, groups=2)
    lead = {float(cut.beats[0]): cut.lead for cut in named}
    for group in made.graph.members:
        assert len({lead[float(made.movements[k].beats[0])] for k in group}) == 1
    assert len(made.movements) == 30
    # Without the rule, they stay in the group of similar poses.
    plain = learned_steps(named, 20, groups=2, same_lead=False)
    mixed = [{lead[float(plain.movements[k].beats[0])] for k in group}
             for group in plain.graph.members]  # fmt: skip
    assert max(map(len, mixed)) == 2 and len(plain.movements) == 30


@pytest.mark.slow
def test_our_weights_alone_prevent_edges_onto_the_wrong_foot(waltz):
    def wrong_edges(**options):
        made = learned_steps(waltz_cuts(), 20, groups=5, **options)
        feet = leads(made)
        of_node = [feet[group[0]] for group in made.graph.members]
        edges = np.argwhere(made.graph.transitions > 0)
        return sum(of_node[i] == of_node[j] for i, j in edges), len(edges)

    assert wrong_edges() == (0, 12)
    # The paper leaves both to the user.
    for options in ({"behavior": 0.5}, {"min_likelihood": 0.05}):
        wrong, edges = wrong_edges(**options)
        assert wrong > 0 and edges > 12
    assert wrong_edges(min_likelihood=0.0)[1] == 25  # all of them


def test_movements_end_between_beats_where_no_foot_sinks():
    """A seam continues velocities: on the beat, it would push a landing foot into the floor."""
    sinking = {}
    for phase in (None, 0.0):
        made = learned_steps(waltz_cuts(), 20, groups=5, transition_phase=phase)
        heights = [body.role_positions(["left_ankle", "right_ankle"])[-2:, :, 1]
                   for movement in made.movements for body in movement.bodies]  # fmt: skip
        sinking[phase] = -made.fps * min(np.diff(height, axis=0).min() for height in heights)
    assert sinking[None] < 0.1 * sinking[0.0]  # measured: 0.003 and 0.33 m/s


def test_the_next_node_is_drawn_by_likelihood_and_by_travel(waltz):
    settings = BallroomSettings(couples=1, tempo_bpm=90.0, seconds=10.0)
    node = int(np.argmax((waltz.graph.transitions > 0).sum(axis=1)))
    after = np.flatnonzero(waltz.graph.transitions[node])
    travel = [dance_node.travel[:, :2].mean(axis=0) for dance_node in waltz.dance_nodes]
    target = np.array([*travel[after[-1]], 0.0])
    able = np.ones(len(waltz.movements), bool)
    shares = {}
    for by_travel in (True, False):
        floor = _Floor(settings, waltz, by_travel=by_travel)
        floor._now = np.array([node])
        drawn = [floor._drawn(0, target, able) for _ in range(1500)]
        shares[by_travel] = np.bincount(drawn, minlength=len(waltz.graph)) / len(drawn)
    likely = waltz.graph.transitions[node]
    np.testing.assert_allclose(shares[False], likely / likely.sum(), atol=0.05)
    suits = np.array([dance_node.suits(target) for dance_node in waltz.dance_nodes])
    np.testing.assert_allclose(shares[True], likely * suits / (likely * suits).sum(), atol=0.05)
    assert np.abs(shares[True] - shares[False]).max() > 0.1


def test_movements_that_cannot_be_blended_become_separate_nodes(waltz):
    cuts = waltz_cuts()
    assert len(learned_steps(cuts, 20, groups=3).graph) == 3

    def bent(cut: Cut, size: float) -> Cut:
        leader, follower = cut.motions
        rotations = leader.rotations.copy()
        spin = np.array([np.cos(size), np.sin(size), 0.0, 0.0], np.float32)
        rotations[:, 1:] = spin
        return replace(cut, motions=(replace(leader, rotations=rotations), follower))

    strange = [bent(cut, 0.2 * k) for k, cut in enumerate(cuts[:8])]
    assert len(learned_steps([*strange, *cuts[8:]], 20).graph) > 5 == len(waltz.graph)


def test_marchers_take_one_path_and_stay_in_step(strides):
    settings = MarchSettings(
        points=STREET, tempo_bpm=96.0, seconds=20.0, formation=Formation(ranks=3, files=4)
    )
    made = march(settings, strides)
    assert made.left_feet_in_step() == 1.0
    assert made.misplacement().mean() < 0.1
    total, within = made.beats_on_time()
    assert within == total > 0
    # They step off with the left foot; the graph may say otherwise.
    assert strides.graph.start[strides.graph.node("left")] == 1.0
    right = replace(strides.graph, start=strides.graph.start[::-1])
    other = march(settings, strides.with_graph(right))
    first = [marching.motions[0][0].contacts() for marching in (made, other)]
    lift = [np.argmax(~contacts["left_heel"]) < np.argmax(~contacts["right_heel"])
            for contacts in first]  # fmt: skip
    assert lift[0] != lift[1]


@pytest.mark.parametrize("degrees", [0.0, 180.0])
def test_leaders_face_the_requested_direction(waltz, degrees):
    settings = BallroomSettings(couples=8, tempo_bpm=90.0, seconds=16.0, seed=3)
    free = ballroom(settings, waltz)
    led = ballroom(replace(settings, floor=Ballfloor(facing=degrees)), waltz)
    assert led.clearance() >= 0.0
    assert facing_error(led, degrees) < 32.0
    assert facing_error(led, degrees) < 0.75 * facing_error(free, degrees)


def test_a_learned_ballroom_is_as_good_as_the_built_in_one(waltz):
    settings = BallroomSettings(couples=10, tempo_bpm=90.0, seconds=16.0, seed=1)
    made = ballroom(settings, waltz)
    assert made.clearance() >= 0.0
    total, within = made.beats_on_time()
    assert within == total > 0
    quality = made.quality()
    assert quality.mean.foot_slide_m < 0.005 and quality.mean.seam_acceleration_ratio < 1.4
    assert quality.worst.worst_seam.ratio < 1.5


def test_the_preset_uses_the_settings_of_the_paper():
    ball = BallroomSettings.kp03(tempo_bpm=90.0)
    steps = ball.movements
    assert (steps.graph, steps.groups, ball.couples) == ("learned", 5, 20)
    assert (steps.transition_phase, ball.floor.facing) == (0.0, 0.0)
    assert BallroomSettings.kp03(groups=3, tempo_bpm=90.0).movements.groups == 3
    parade = MarchSettings.kp03(points=STREET, tempo_bpm=96.0)
    steps = parade.movements
    assert (steps.graph, steps.groups, steps.transition_phase) == ("learned", 2, 0.0)
    assert parade.formation.ranks * parade.formation.files == 40
    with pytest.raises(InvalidInput, match="preset must be one of kp03; got 'kg04'"):
        BallroomSettings.from_preset("kg04", tempo_bpm=90.0)
    made = CrowdPlan("ballroom", {"preset": "kp03", "couples": 3, "seconds": 3.0})
    steps = made.choreography()
    assert len(steps.graph) == 5 and steps.transition_phase == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "nodes"), [("ballroom", (5, 2)), ("march", (2, 1))])
def test_the_graph_is_chosen_by_name(kind, nodes):
    every = {"max_seam": None}  # with a limit, nodes that no movement can follow are dropped
    for graph, count in zip(("learned", "built-in"), nodes, strict=True):
        assert len(CrowdPlan(kind, {"graph": graph, **every}).choreography().graph) == count
    assert len(CrowdPlan(kind, every).choreography().graph) == nodes[0]
    with pytest.raises(InvalidInput, match="graph must be one of learned, built-in; got 'own'"):
        CrowdPlan(kind, {"graph": "own"})


@pytest.mark.parametrize("kind", ["ballroom", "march"])
def test_a_generated_tune_has_the_usual_tempo_of_its_crowd(kind):
    """A tune at the tempo of a waltz would be too slow for soldiers."""
    plan = CrowdPlan(kind, {"music": "tune", "seconds": 3.0})
    steps = plan.choreography()
    music = plan.fitted(steps).loaded_music(steps.meter)
    assert music.bpm == pytest.approx(CrowdPlan(kind, {}).settings.tempo)


def test_a_limit_keeps_the_strides_with_which_a_march_starts():
    """A march starts with the left foot, and its strides lead to no stride of the right foot."""
    graphs = [CrowdPlan("march", {"max_seam": m}).choreography().graph for m in (None, 1.5)]
    assert [graph.names for graph in graphs] == [("right", "left"), ("left",)]
    assert graphs[1].members[0] == graphs[0].members[1]


def test_built_in_takes_also_avoid_rough_transitions():
    """Steering makes some seams rougher; with a limit, the crowd is played again without them."""
    worst = []
    for limit in (None, 1.5):
        given = {"couples": 20, "seconds": 8.0, "seed": 1, "max_seam": limit}
        plan = CrowdPlan("ballroom", given)
        made = plan.run(plan.choreography())
        worst.append(max(motion.quality.seam_acceleration_ratio for motion in made.scene.motions))
    assert worst[1] <= 1.5
    assert worst[1] < worst[0]
