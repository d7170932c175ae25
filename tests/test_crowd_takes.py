"""Crowds from captured takes: couples, strides of walks, and takes with too few movements."""

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.crowd.ballroom import ballroom
from motionloom.crowd.couples import couple_radius, couple_steps, found_couples, guessed_couples
from motionloom.crowd.march import fitted_march, march
from motionloom.crowd.settings import (
    STREET,
    Ballfloor,
    BallroomSettings,
    CrowdMovements,
    Formation,
    MarchSettings,
)
from motionloom.crowd.strides import StrideRules, marching_steps, pace
from motionloom.errors import InvalidInput
from motionloom.motion.feet.contacts import landings
from motionloom.motion.retargeting.retarget import conformed
from motionloom.search.filters import expanded


@pytest.fixture(scope="module")
def couple():
    return tuple(dancer.motion for dancer in ml.demo.couple())


@pytest.fixture(scope="module")
def waltz(couple):
    return couple_steps([couple], meter=3)


@pytest.fixture(scope="module")
def walks():
    clips = [ml.demo.clip("walk"), ml.demo.clip("walk", performer=1), ml.demo.clip("walk", seed=2)]
    return [replace(clip, name=f"walk_{k}") for k, clip in enumerate(clips)]


@pytest.fixture(scope="module", params=["learned", "built-in"])
def strides(walks, request):
    return marching_steps(walks, graph=request.param)


def test_couples_are_found_in_any_order(couple):
    leader, follower = couple
    others = [ml.demo.clip("walk"), ml.demo.clip("dance_groove")]
    couples = found_couples([follower, *others, leader])
    assert [(a.name, b.name) for a, b in couples] == [(follower.name, leader.name)]
    # As long as each other, but dancing with nobody: far away, back to back, in one place.
    assert found_couples([leader, follower.transform(shift=(3.0, 0.0, 0.0))]) == []
    middle = 0.5 * (leader.root[0] + follower.root[0])
    turned = follower.transform(shift=-middle).transform(yaw=np.pi).transform(shift=middle)
    assert found_couples([leader, turned]) == []
    assert found_couples([leader, replace(leader, name="twin")]) == []
    assert found_couples([]) == []


def test_every_movement_is_a_node_with_successors_in_the_built_in_graph(couple):
    waltz = couple_steps([couple], meter=3, graph="built-in")
    graph = waltz.graph
    assert all(len(group) == 1 for group in graph.members)
    assert len(waltz.movements) == len(graph) >= 4
    assert np.all((graph.transitions > 0).sum(axis=1) >= 1)
    assert np.all(np.diag(graph.transitions) == 0)
    assert {movement.source for movement in waltz.movements} == {
        ("waltz_leader_p0", "waltz_follower_p1")
    }


def test_a_graph_is_learned_from_a_couple(couple, waltz):
    graph = waltz.graph
    # A few movements, some of them alike, in five nodes.
    assert len(graph) == 5 and 6 <= len(waltz.movements) == sum(map(len, graph.members))
    assert not graph.dead_ends
    fewer = couple_steps([couple], meter=3, groups=2).graph
    # Bars begin with the left and the right foot in turn.
    np.testing.assert_array_equal(fewer.transitions, [[0, 1], [1, 0]])
    plain = couple_steps([couple], meter=3, groups=2, transition_phase=0.0)
    assert plain.transition_phase == 0.0 < waltz.transition_phase


@pytest.mark.slow
def test_captured_couples_never_collide(waltz):
    radius = couple_radius(waltz)
    assert 0.4 < radius < 0.8
    scene = BallroomSettings(
        couples=5,
        tempo_bpm=90,
        seconds=10,
        floor=Ballfloor(radius=radius),
        movements=CrowdMovements(library="own"),
    )
    made = ballroom(scene, waltz)
    assert made.clearance() >= 0.0
    quality = made.quality()
    assert quality.mean.foot_slide_m <= quality.worst.foot_slide_m < 0.02
    assert quality.worst.seam_acceleration_ratio > 0.0
    landed, beats = made.landings(), quality.worst.beats
    assert (beats.landings_on_beat, beats.landings_total) == (landed.on_beat, landed.total)
    sources = made.sources()
    assert {source["motion"] for source in sources} == {"waltz_leader_p0", "waltz_follower_p1"}
    assert all(1 <= source["characters"] <= 5 for source in sources)
    shown = sum(s["weight"] * s["characters"] * (s["end"] - s["start"]) for s in sources)
    assert shown == pytest.approx(10 * 300, rel=1e-3)


def test_takes_with_too_few_movements_are_rejected(couple):
    leader, follower = couple
    with pytest.raises(InvalidInput, match="takes of a couple must have the same length"):
        couple_steps([(leader, follower[:-30])])
    still = replace(leader, rotations=np.repeat(leader.rotations[:1], len(leader), axis=0),
                    root=np.repeat(leader.root[:1], len(leader), axis=0))  # fmt: skip
    with pytest.raises(InvalidInput, match="no couple has a rhythm .*no rhythm"):
        couple_steps([(still, still)])
    with pytest.raises(InvalidInput, match="no couple has a rhythm .*no couples"):
        couple_steps([])
    with pytest.raises(InvalidInput, match="meter must be at least 1; got 0"):
        couple_steps([couple], meter=0)
    with pytest.raises(InvalidInput, match="among at most 200 takes; got 201"):
        guessed_couples(["take"] * 201, {}.__getitem__, among="201 takes")
    with pytest.raises(
        InvalidInput,
        match="no couple was detected among 1 take, because no two takes have",
    ):
        guessed_couples(["take"], {"take": leader}.__getitem__, among="1 take")
    with pytest.raises(InvalidInput, match="a ballroom needs at least 4 movements"):
        couple_steps([(leader[:150], follower[:150])], meter=3)
    with pytest.raises(InvalidInput, match="at least two strides .*dance_groove"):
        marching_steps([ml.demo.clip("dance_groove")])
    with pytest.raises(InvalidInput, match="at least two strides .*none"):
        marching_steps([])


def test_walks_march_in_step_and_keep_their_places(strides):
    assert strides.meter == 2 and len(strides.graph) <= 2
    assert all(2 <= len(group) <= 22 for group in strides.graph.members)
    assert any(movement.mirrored for movement in strides.movements)
    bpm = 60.0 / strides.period
    slow, fast = pace(strides, bpm)
    assert 0.5 < slow <= fast < 2.0
    scene = MarchSettings(
        points=((0, 0), (0, 20)),
        tempo_bpm=bpm,
        seconds=8,
        formation=Formation(ranks=2, files=2, speed=0.5 * (slow + fast)),
        movements=CrowdMovements(library="own"),
    )
    scene.check_pace(slow, fast)
    made = march(scene, strides)
    assert made.misplacement().mean() < 0.25
    assert made.left_feet_in_step() > 0.95
    total, within = made.beats_on_time()
    assert within >= 0.95 * total > 0
    with pytest.raises(InvalidInput, match="the takes only allow .* at this tempo"):
        replace(scene, formation=Formation(ranks=2, files=2, speed=3.0)).check_pace(slow, fast)
    with pytest.raises(InvalidInput, match="the takes only allow .* at this tempo"):
        replace(scene, formation=Formation(ranks=2, files=2, speed=0.2)).check_pace(slow, fast)


def test_two_learned_nodes_are_the_strides_of_the_two_feet(walks):
    steps = marching_steps(walks)
    assert sorted(steps.graph.names) == ["left", "right"]
    np.testing.assert_array_equal(steps.graph.transitions, np.eye(2))  # never onto the other foot
    left = steps.graph.node("left")
    assert steps.graph.start[left] == 1.0
    for name, group in zip(steps.graph.names, steps.graph.members, strict=True):
        for movement in (steps.movements[k] for k in group):
            walk = next(walk for walk in walks if walk.name == movement.source[0])
            walk = conformed(walk, walks[0].skeleton, walk.fps)
            walk = walk.mirror() if movement.mirrored else walk
            falls = landings(walk.contacts().standing(name))
            assert np.abs(falls - movement.beats[0]).min() < 0.5
            other = landings(walk.contacts().standing("right" if name == "left" else "left"))
            assert np.abs(other - movement.beats[1]).min() < 0.5
    graph = marching_steps(walks, graph="built-in").graph
    assert len(graph) == 1 and len(graph.members[0]) <= 16


@pytest.mark.slow
def test_each_rule_for_strides_can_be_switched_off(walks):
    ours = marching_steps(walks)

    def from_footfalls(steps):
        """Greatest distance in frames of a first beat from a footfall of its walk."""
        off = []
        for movement in steps.movements:
            walk = next(walk for walk in walks if walk.name == movement.source[0])
            walk = conformed(walk, walks[0].skeleton, walk.fps)
            contacts = (walk.mirror() if movement.mirrored else walk).contacts()
            falls = [
                fall for side in ("left", "right") for fall in landings(contacts.standing(side))
            ]
            off.append(np.abs(np.array(falls) - movement.beats[0]).min())
        return max(off)

    beats = marching_steps(walks, rules=StrideRules(footfalls=False))
    assert from_footfalls(ours) < 0.5 < from_footfalls(beats)
    quick = replace(walks[0], name="quick", fps=1.45 * walks[0].fps)
    for most, used in ((0.2, 0), (None, 1)):
        steps = marching_steps([*walks, quick], rules=StrideRules(off_tempo=most))
        assert any(stride.source[0] == "quick" for stride in steps.movements) == used
    sizes = {
        most: [len(group) for group in
               marching_steps(walks, rules=StrideRules(most=most)).graph.members]
        for most in (3, 22, None)
    }  # fmt: skip
    assert sizes[3] == [3, 3] and max(sizes[22]) <= 22 and min(sizes[None]) > max(sizes[22])
    free = marching_steps(walks, rules=StrideRules(start_left=False))
    assert ours.graph.start[ours.graph.node("left")] == 1.0 > free.graph.start.max()


@pytest.mark.parametrize("fps", [24.0, 60.0])
def test_takes_are_resampled_to_the_requested_rate(couple, fps):
    steps = couple_steps([couple], meter=3, fps=fps)
    assert steps.fps == fps
    assert steps.period == pytest.approx(ml.beats(couple).period, abs=1.0 / fps)


def test_patterns_select_names_and_pairs():
    names = ["60_01", "60_02", "60_10", "61_01", "61_02"]
    assert expanded("60_*+61_*", names) == ["60_01+61_01", "60_02+61_02"]
    assert expanded("60_0*", names) == ["60_01", "60_02"]
    assert expanded("6*_0*", names) == ["60_01", "60_02", "61_01", "61_02"]
    with pytest.raises(InvalidInput, match=r"no motion matches 7\*; the first motions are 60_01"):
        expanded("7*", names)


@pytest.mark.cmu
def test_strides_that_do_not_fit_do_not_follow_each_other(cmu30):
    walks = [ml.load(cmu30 / "007" / f"07_0{k}.bvh") for k in (1, 2, 3, 4)]
    street = MarchSettings(
        points=STREET,
        tempo_bpm=114,
        seconds=20,
        formation=Formation(ranks=3, files=2),
        movements=CrowdMovements(library="07"),
    )
    worst = {}
    for limit in (1.5, None):
        steps = marching_steps(walks, max_seam=limit)
        made = march(fitted_march(street, steps, fit_speed=True, fit_street=True), steps)
        worst[limit] = made.quality().worst.seam_acceleration_ratio, made.landings().share
    assert worst[1.5][0] < 1.5 < worst[None][0]  # 0.91 and 1.81
    assert worst[1.5][1] > 0.95 > worst[None][1]


@pytest.mark.cmu
@pytest.mark.slow
def test_captured_salsa_and_walks_make_crowds(cmu30):
    takes = {name: ml.load(cmu30 / f"0{name[:2]}" / f"{name}.bvh")
             for name in ("60_01", "61_01", "60_06", "61_06", "60_15", "61_15")}  # fmt: skip
    couples = found_couples(list(takes.values()))
    assert [(a.name, b.name) for a, b in couples] == [
        ("60_01", "61_01"), ("60_06", "61_06"), ("60_15", "61_15"),
    ]  # fmt: skip
    steps = couple_steps(couples, meter=4)
    # Figures of salsa differ too much to be blended: nearly every one is a node.
    assert steps.graph.movements_per_node < 1.2
    scene = BallroomSettings(
        couples=6,
        tempo_bpm=120,
        seconds=20,
        floor=Ballfloor(radius=0.9),
        movements=CrowdMovements(library="cmu"),
    )
    made = ballroom(scene, steps)
    assert made.clearance() >= 0.0
    assert made.quality().mean.foot_slide_m < 0.015
    walks = [ml.load(cmu30 / "016" / f"16_{k}.bvh") for k in (15, 16, 17, 18, 21, 22)]
    strides = marching_steps(walks)
    assert sorted(strides.graph.names) == ["left", "right"]
    bpm = 60.0 / strides.period
    scene = MarchSettings(
        points=((0, 0), (0, 20), (0, 40), (20, 40), (40, 40)),
        tempo_bpm=bpm,
        formation=Formation(ranks=3, files=2, speed=sum(pace(strides, bpm)) / 2),
        movements=CrowdMovements(library="cmu"),
    )
    made = march(scene, strides)
    assert made.misplacement().mean() < 0.25
    assert made.left_feet_in_step() > 0.95
    assert made.quality().mean.foot_slide_m < 0.015


def test_every_take_is_used_or_skipped_with_a_reason():
    """Also strides that only another pace excludes."""
    walks = [ml.demo.clip(name) for name in ("walk", "walk_left", "walk_right", "walk_slow")]
    made = marching_steps([*walks, replace(ml.demo.clip("jog"), name="jog")])
    used = {name for movement in made.movements for name in movement.source}
    assert used | set(made.left_out) == {*(walk.name for walk in walks), "jog"}
    assert used.isdisjoint(made.left_out) and all(made.left_out.values())
