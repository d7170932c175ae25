"""Registration: by way of the in-betweens, in time, on the floor and by the feet."""

from dataclasses import replace

import numpy as np
import pytest
from carriers import under_a_carrier
from naive import alignment as naive_alignment

import motionloom as ml
from motionloom.alignment import Timewarp
from motionloom.blending import Blend, register
from motionloom.blending.contact_matching import matched_contacts, unmatched_feet
from motionloom.blending.poses import ClipPoses, blend_poses
from motionloom.errors import InvalidInput
from motionloom.features import distance_matrix
from motionloom.motion.feet.contacts import FOOT_PARTS, FootContacts, Plant
from motionloom.search import Edge, Family, Matches, Node

HOLD = 6  # frames that a reach of the corpus stays at its target


def retimed(motion, hit, go, back):
    """A reach with another timing: its way there and its way back slower or faster."""
    last, leave = len(motion) - 1, hit + HOLD
    at = round(hit * go)
    end = at + HOLD + round((last - leave) * back)
    warp = Timewarp([0, at, at + HOLD, end], [0, hit, leave, last])
    rotations, root = blend_poses(
        ClipPoses.of([motion]), [0], [1.0], warp(np.arange(end + 1))[:, None]
    )
    return replace(motion, rotations=rotations, root=root), at


def reaches(seed):
    """Fifteen reaches of one performer, all around, each with a timing of its own."""
    rng = np.random.default_rng(seed)
    motions, apexes = {}, {}
    for name in ml.demo.names():
        if name.startswith("reach") and name.endswith("right_p0"):
            made = ml.demo.annotated(name)
            hit = made.truth.parameters["hit_frame"]
            kind = name.removeprefix("reach_").removesuffix("_right_p0")
            motions[kind], apexes[kind] = retimed(made.motion, hit, *rng.uniform(0.75, 1.35, 2))
    return motions, apexes


def missed(frame, apex):
    """Frames by which a hold of the apex, [apex, apex + HOLD], is missed."""
    return max(apex - frame, frame - apex - HOLD, 0.0)


def apex_errors(registration, kinds, apexes):
    frames = registration.frames_at(apexes[kinds[0]] + HOLD / 2)
    return [missed(frame, apexes[kind]) for frame, kind in zip(frames, kinds, strict=True)]


@pytest.mark.parametrize(
    ("seed", "near", "opposite"),
    [
        (1, "across_low", "behind_high"),
        pytest.param(6, "across_high", "behind_low", marks=pytest.mark.slow),
    ],
)
def test_opposite_reaches_meet_at_the_apex_by_way_of_those_in_between(seed, near, opposite):
    motions, apexes = reaches(seed)
    direct = register([motions[near], motions[opposite]])
    assert apex_errors(direct, [near, opposite], apexes)[1] > 3.0
    kinds = [near, opposite, *(kind for kind in motions if kind not in (near, opposite))]
    tree = register([motions[kind] for kind in kinds])
    errors = apex_errors(tree, kinds, apexes)
    assert errors[1] <= 2.0
    assert tree.parents[1] != 0
    assert np.mean(errors) < 1.0


def kicks(*kinds, performer=0):
    return [ml.demo.clip(f"kick_{kind}_right", performer=performer) for kind in kinds]


@pytest.fixture(scope="module")
def registered():
    return register(kicks("front_mid", "front_high", "outside_mid", "side_mid"))


def test_both_ends_and_everything_between_correspond(registered):
    times = registered.curve.times
    assert np.all(times[0] == 0.0)
    np.testing.assert_array_equal(times[-1], [len(e) - 1 for e in registered.examples])
    assert np.all(np.diff(times, axis=0) > 0.0)
    np.testing.assert_allclose(times[:, 0], np.arange(len(times)))


def test_kicks_hit_at_the_same_point_of_the_curve(registered):
    hits = [
        ml.demo.annotated(f"kick_{kind}_right").truth.parameters["hit_frame"]
        for kind in ("front_mid", "front_high", "outside_mid", "side_mid")
    ]
    assert np.max(np.abs(registered.frames_at(hits[0]) - hits)) < 2.0


def test_members_of_a_family_are_registered_along_its_shortest_paths(registered):
    clips = kicks("front_mid", "front_high", "outside_mid")
    whole = {clip.name: clip for clip in clips}
    nodes = tuple(Node(c.name, 5, len(c) - 5, k) for k, c in enumerate(clips))
    none = np.empty((0, 2), np.int64)
    edges = (Edge(0, 1, 0.1, none), Edge(1, 2, 0.1, none), Edge(0, 2, 0.3, none))
    family = Family(nodes[0].text, nodes, edges, Matches([]))
    chain = register(whole, family)
    assert chain.parents == (-1, 0, 1)
    assert chain.names == tuple(node.text for node in nodes)
    direct = Family(family.query, nodes, (edges[0], Edge(0, 2, 0.15, none)), family.matches)
    assert register(whole, direct).parents == (-1, 0, 0)


def test_a_left_and_a_right_punch_hit_at_the_same_point_of_the_curve():
    """The lowest-cost alignment within the valid region is ten frames off here."""
    made = [ml.demo.annotated(f"punch_low_{side}", performer=3) for side in ("right", "left")]
    nodes = tuple(Node(each.motion.name, 1, 56, k) for k, each in enumerate(made))
    edges = (Edge(0, 1, 0.1, np.empty((0, 2), np.int64)),)
    family = Family(nodes[0].text, nodes, edges, Matches([]))
    registration = register({each.motion.name: each.motion for each in made}, family)
    hits = [each.truth.parameters["hit_frame"] - 1 for each in made]
    assert np.max(np.abs(registration.frames_at(hits[0]) - hits)) < 1.0


@pytest.mark.parametrize("power", [1, 2])
def test_an_edge_is_aligned_at_the_lowest_sum_of_distances_or_of_their_squares(power):
    """Compared with the time alignment of the paper, searched without shared code."""
    first, other = kicks("front_mid")[0][20:50], kicks("outside_mid", performer=2)[0][18:52]
    registration = register([first, other], align_squares=power == 2, drop_unmatched=True)
    matrix = distance_matrix(*(example.motion for example in registration.examples), "pc11")
    ends = {"start": (0, 0), "end": (len(matrix) - 1, matrix.shape[1] - 1)}
    every = np.ones(matrix.shape, bool)
    path = naive_alignment.time_alignment(matrix**power, every, max_slope=3, **ends)[1]
    expected = Timewarp.along(path)(np.arange(len(matrix)))
    np.testing.assert_allclose(registration.curve.times[:, 1], expected, atol=1e-6)


def test_the_family_decides_whether_frames_correspond_clearly_and_are_squared():
    names = ("reach_front_mid_right", "reach_across_mid_right", "reach_behind_high_right")
    clips = [ml.demo.clip(name, performer=k) for k, name in enumerate(names)]
    whole = {clip.name: clip for clip in clips}
    nodes = tuple(Node(c.name, 1, len(c) - 1, min(k, 1)) for k, c in enumerate(clips))
    none = np.empty((0, 2), np.int64)
    edges = (Edge(0, 1, 0.1, none), Edge(2, 0, 0.1, none, clear=False))
    family = Family(nodes[0].text, nodes, edges, Matches([]))
    registration = register(whole, family)
    assert registration.unclear == (nodes[2].text,)
    squared = register(whole, replace(family, squares=True)).curve.times
    np.testing.assert_array_equal(register(whole, family, align_squares=True).curve.times, squared)
    assert np.abs(squared - registration.curve.times).max() > 0.1


def test_other_performers_get_the_skeleton_and_rate_of_the_query():
    first, other = (ml.demo.clip("punch_mid_right", performer=p) for p in (0, 2))
    registration = register([first.resample(60), other])
    assert registration.skeleton.key == first.skeleton.key
    assert registration.fps == 60.0
    assert all(example.motion.fps == 60.0 for example in registration.examples)
    assert abs(len(registration.examples[1]) - 2 * len(other)) <= 2


def test_bones_get_a_constant_length():
    first, other = (ml.demo.clip("punch_mid_right", performer=p) for p in (0, 1))
    breathing = 1.0 + 0.01 * np.sin(np.arange(len(other)) / 5.0)
    soft = replace(other, translations=breathing[:, None, None] * other.skeleton.offsets)
    registration = register([first, soft])
    firm = registration.examples[1].motion
    assert firm.translations is None and firm.skeleton.key == first.skeleton.key
    without = register([first, other]).examples[1].motion
    assert np.abs(firm.positions() - without.positions()).max() < 0.03


def test_motions_meet_on_the_floor_wherever_they_were_captured(registered):
    """Moved and turned examples are put where the unmoved ones are."""
    clips = kicks("front_mid", "front_high")
    moved = register([clips[0], clips[1].transform(yaw=2.0, shift=(3.0, 0.0, 1.0))])
    still = register(clips)
    np.testing.assert_allclose(moved.placed(1).root, still.placed(1).root, atol=1e-4)
    np.testing.assert_allclose(still.placed(0).positions(), clips[0].positions(), atol=1e-5)


def test_contacts_are_matched_across_the_family(registered):
    contacts = registered.contacts
    assert contacts.present.all()
    # The standing foot throughout; the kicking one before and after, heel and ball.
    assert contacts.parts.tolist() == [0, 1, 2, 2, 3, 3]
    landing = contacts.spans[-1, :, 0]
    truth = [
        ml.demo.annotated(f"kick_{kind}_right").truth.contacts["right"][-1][0]
        for kind in ("front_mid", "front_high", "outside_mid", "side_mid")
    ]
    assert np.max(np.abs(landing - truth)) < 4.0


def contacts_of(frames, **plants):
    given = {part: tuple(Plant(a, b, 0.02) for a, b in spans) for part, spans in plants.items()}
    return FootContacts(given, 0.02, frames, 30.0)


def candidates_of(contacts, step=0.0):
    """Spots of all plants, each `step` meters from the one before."""
    return [
        {part: np.arange(len(plants))[:, None] * [step, 0.0] for part, plants in c.plants.items()}
        for c in contacts
    ]


def test_a_plant_that_one_example_has_twice_is_one_plant():
    two = [
        contacts_of(30, left_ball=[(0, 20)]),
        contacts_of(30, left_ball=[(0, 8), (10, 20)]),
    ]
    times = np.stack([np.arange(30.0)] * 2, axis=1)
    matches = matched_contacts(two, candidates_of(two), times, [0, 1])
    assert matches.present.tolist() == [[True, True]]
    np.testing.assert_allclose(matches.spans[0], [[0, 19], [0, 19]])
    apart = matched_contacts(two, candidates_of(two, step=0.1), times, [0, 1])
    assert apart.present.tolist() == [[True, True], [False, True]]


def test_a_heel_that_is_lifted_in_one_example_is_lifted_by_its_weight():
    stays = contacts_of(30, left_heel=[(0, 30)])
    lifts = contacts_of(30, left_heel=[(0, 8), (20, 30)])
    pair = [stays, lifts]
    times = np.stack([np.arange(30.0)] * 2, axis=1)
    clock = (np.array([0.0, 30.0]), np.array([0.0, 30.0]))
    matches = matched_contacts(pair, candidates_of(pair), times, [0, 1])
    assert matches.lifts.tolist() == [False, True]
    for share in (0.0, 0.4, 0.6, 1.0):
        weights = np.array([1.0 - share, share])
        made = matches.blended(np.arange(2), weights, frames=30, clock=clock, fps=30.0)
        answer = ((0, 8), (20, 30)) if share > 0.5 else ((0, 30),)
        assert made.intervals("left_heel") == answer
        for frame in (4, 14, 25):
            standing = matches.standing(np.arange(2), weights, np.full(2, float(frame)))
            heel = standing[FOOT_PARTS.index("left_heel")]
            assert heel == any(low <= frame < high for low, high in answer)


def test_a_step_in_one_and_none_in_the_other_cannot_be_matched():
    stays = contacts_of(30, left_ball=[(0, 30)], right_ball=[(0, 30)])
    steps = contacts_of(30, left_ball=[(0, 8), (14, 30)], right_ball=[(0, 30)])
    times = np.stack([np.arange(30.0)] * 2, axis=1)
    for pair in ([stays, steps], [steps, stays]):
        assert unmatched_feet(pair, candidates_of(pair, step=0.4), times) == {1: ("left", 11.0)}
        assert unmatched_feet(pair, candidates_of(pair, step=0.05), times) == {}
    both = [steps, steps]
    assert unmatched_feet(both, candidates_of(both, step=0.4), times) == {}


def test_a_plant_that_one_example_lacks_lasts_as_long_as_its_weight():
    two = [contacts_of(30, left_ball=[(0, 9), (15, 25)]), contacts_of(60, left_ball=[(0, 18)])]
    times = np.stack([np.arange(30.0), np.linspace(0, 59, 30)], axis=1)
    matches = matched_contacts(two, candidates_of(two, step=0.5), times, [0, 1])
    clock = (np.array([0.0, 100.0]), np.array([0.0, 100.0]))

    def blended(*weights):
        chosen = np.array(weights)
        return matches.blended(np.arange(2), chosen, frames=60, clock=clock, fps=30.0)

    assert blended(1.0, 0.0).intervals("left_ball") == ((0, 9), (15, 25))
    assert blended(0.0, 1.0).intervals("left_ball") == ((0, 18),)
    assert len(blended(0.6, 0.4).intervals("left_ball")) == 2
    assert len(blended(0.4, 0.6).intervals("left_ball")) == 1
    ((_, end), _) = blended(0.6, 0.4).intervals("left_ball")
    assert end == pytest.approx(0.6 * 9 + 0.4 * 18, abs=1.0)


def test_the_wrong_foot_is_reported_and_dropped_on_request():
    """A kick with the left foot among kicks with the right."""
    clips = [*kicks("front_mid", "front_high"), ml.demo.clip("kick_front_mid_left")]
    with pytest.raises(InvalidInput, match=r"1 of 3 .*kick_front_mid_left_p0:0-\d+ \(\w+ foot"):
        register(clips)
    with pytest.raises(InvalidInput, match="Set drop_unmatched to drop them"):
        register(clips)
    registration = register(clips, drop_unmatched=True)
    assert len(registration) == 2
    assert [text.split(":")[0] for text in registration.left_out] == ["kick_front_mid_left_p0"]


def test_short_contacts_do_not_make_examples_unmatchable():
    times = np.stack([np.arange(40.0)] * 2, axis=1)
    long = contacts_of(40, left_ball=[(0, 30)], right_ball=[(35, 40)])
    without = contacts_of(40, left_ball=[(0, 28)])
    pair = [long, without]
    assert unmatched_feet(pair, candidates_of(pair), times) == {}
    wrong = contacts_of(40, right_ball=[(0, 30)])
    pair = [long, wrong]
    assert unmatched_feet(pair, candidates_of(pair), times) == {1: ("left", 15.0)}


def test_some_of_the_examples_keep_their_registration(registered):
    some = registered.only([0, 2, 3])
    np.testing.assert_array_equal(some.curve.times, registered.curve.times[:, [0, 2, 3]])
    assert some.names == tuple(registered.names[n] for n in (0, 2, 3))
    with pytest.raises(InvalidInput, match="start with 0, which is the query"):
        registered.only([1, 2])


def test_invalid_input_is_rejected():
    walk = ml.demo.clip("walk")
    with pytest.raises(InvalidInput, match="at least two examples; the sequence of motions has 1"):
        register([walk])
    alone = Family("walk", (Node("walk", 0, 30, 0),), (), Matches([]))
    with pytest.raises(
        InvalidInput, match=r"the family of walk has 1\. Use a larger join_distance"
    ):
        register({"walk": walk}, alone)
    with pytest.raises(InvalidInput, match="is too short to blend: it has 1 frame"):
        register([walk, walk[:1]])
    with pytest.raises(InvalidInput, match="motions must be a sequence"):
        register({"walk": walk})
    apart = Family("a", (Node("a", 0, 30, 0), Node("b", 0, 30, 1)), (), Matches([]))
    with pytest.raises(InvalidInput, match="the motions do not contain 'b'"):
        register({"a": walk}, apart)
    with pytest.raises(InvalidInput, match="it is not connected to the query"):
        register({"a": walk, "b": walk}, apart)
    long = Family("a", (Node("a", 0, 9999, 0), Node("b", 0, 30, 1)), (), Matches([]))
    with pytest.raises(InvalidInput, match="a:0-9999 is out of range: a has"):
        register({"a": walk, "b": walk}, long)


def test_an_example_with_missing_values_is_named():
    whole = ml.demo.clip("kick_front_mid_right")
    root = whole.root.copy()
    root[5] = np.nan
    with pytest.raises(InvalidInput, match=r"holes:0-\d+ has values that are not finite"):
        register([whole, replace(whole, root=root, name="holes")])


def test_examples_without_a_clear_alignment_are_reported_and_can_be_dropped():
    """A punch and a jump do not correspond; two punches do."""
    names = ("punch_mid_right", "punch_high_right", "jump_up")
    clips = [ml.demo.clip(name) for name in names]
    registration = register(clips, drop_unmatched=True)
    assert [name.split(":")[0] for name in registration.unclear] == [clips[2].name]
    assert clips[2].name in " ".join(registration.names)
    fewer = register(clips, drop_unmatched=True, drop_unclear=True)
    assert len(fewer) == 2 and clips[2].name in " ".join(fewer.left_out)
    assert fewer.unclear == registration.unclear


def test_a_root_that_is_not_the_hips_follows_the_body():
    walk = ml.demo.clip("walk")[9:40]
    there, back = (under_a_carrier(walk.transform(yaw=yaw), "fixed") for yaw in (0.0, np.pi))
    blend = Blend(register([there, back]))([0.5, 0.5])
    hips = blend.role_positions(["hips"])[:, 0].astype(float)
    hips += walk.root[0] - hips[0]
    assert np.abs(hips - walk.root).max() < 0.02
