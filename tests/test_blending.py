"""Weighted blends: exact at their corners, and plausible in between."""

import numpy as np
import pytest
from naive import blending as naive

import motionloom as ml
from motionloom.blending import Blend, register
from motionloom.blending.registration_curve import RegistrationCurve, at_times
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality import foot_slide, joint_accelerations, quality_report
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.rotations.planar_transform import PlanarTransform

KINDS = ("front_mid", "front_high", "outside_mid", "side_mid")
FAMILIES = {
    "kick": [f"kick_{kind}_right" for kind in KINDS],
    "punch": [f"punch_{kind}_right" for kind in ("mid", "low", "high", "cross")],
    "reach": [
        f"reach_{kind}_right" for kind in ("front_mid", "front_high", "side_low", "side_mid")
    ],
    "sit": ["sit_stand", "sit_stand_low"],
    "cartwheel": ["cartwheel_left_p0", "cartwheel_left_p1", "cartwheel_left_p2"],
    "step up": ["step_up_left_p0", "step_up_left_p1"],
}


@pytest.fixture(scope="module")
def families():
    made = {}

    def family(name):
        if name not in made:
            made[name] = Blend(register([ml.demo.clip(clip) for clip in FAMILIES[name]]))
        return made[name]

    return family


def walk_of(name, strides=2, lead=None):
    """A walk from one landing of the left foot to another: what a search would find."""
    motion = ml.demo.clip(name)
    landings = [start for start, _ in motion.contacts().intervals("left_ball")]
    return motion[landings[1] : landings[1 + strides]]


@pytest.fixture(scope="module")
def walks():
    return Blend(register([walk_of(n) for n in ("walk", "walk_left", "walk_right", "walk_slow")]))


def test_weight_one_gives_the_example(families, walks):
    for blend in (families("kick"), walks):
        for n in range(len(blend)):
            made, example = blend(np.eye(len(blend))[n]), blend.registration.placed(n)
            assert len(made) == len(example)
            assert np.abs(made.positions() - example.positions()).max() < 1e-3


def test_lengths_are_weighted_means(families):
    blend = families("kick")
    lengths = np.array([len(example) for example in blend.registration.examples])
    for weights in np.random.default_rng(0).dirichlet(np.ones(4), 20):
        expected = weights @ (lengths - 1) + 1
        assert abs(len(blend(weights, lock_feet=False)) - expected) <= 0.5


def test_times_and_contacts_are_weighted_means(families):
    blend = families("kick")
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    hits = blend.registration.frames_at(33.0)
    assert blend.frame_at(33.0, weights) == pytest.approx(weights @ hits, abs=0.6)
    landing = blend.contacts(weights).intervals("right_ball")[-1][0]
    each = [
        example.contacts.intervals("right_ball")[-1][0] for example in blend.registration.examples
    ]
    assert landing == pytest.approx(weights @ each, abs=1.5)


def test_paths_bend_as_the_definition_says(rng):
    turns = np.cumsum(rng.normal(size=(3, 6, 3)) * [0.3, 0.3, 0.4], axis=1)
    turns[1:] += turns[:1, :1] - turns[1:, :1]  # begin together
    places = turns.transpose(1, 0, 2)
    times = np.stack([np.arange(6.0)] * 3, axis=1)
    curve = RegistrationCurve.through(times, np.ones((6, 3)), places)
    for weights in ([0.5, 0.3, 0.2], [0.7, -0.1, 0.4], [0.0, 1.0, 0.0]):
        track = curve.track(np.arange(3), np.array(weights))
        np.testing.assert_allclose(track.place, naive.blended_path(turns, weights), atol=2e-5)


def test_a_walk_ahead_and_a_walk_to_the_left_make_a_wider_curve(walks):
    """Turn and way are means; a mean of positions would cut the corner."""
    weights = np.array([0.5, 0.5, 0.0, 0.0])
    made = walks(weights)
    parts = [walks.registration.placed(n) for n in (0, 1)]
    turn = [float(np.diff(part.headings()[[0, -1]])[0]) for part in (made, *parts)]
    assert turn[0] == pytest.approx(np.mean(turn[1:]), abs=0.06)
    way = [
        float(np.linalg.norm(np.diff(m.root[:, [0, 2]], axis=0), axis=1).sum())
        for m in (made, *parts)
    ]
    assert way[0] == pytest.approx(np.mean(way[1:]), rel=0.03)


def test_left_and_right_together_go_straight_on(walks):
    made = walks([0.0, 0.5, 0.5, 0.0])
    ahead = made.root[-1, [0, 2]] - made.root[0, [0, 2]]
    facing = made.headings()[[0, -1]].mean()
    direction = np.arctan2(ahead[0], ahead[1])
    assert abs(np.angle(np.exp(1j * (direction - facing)))) < 0.12
    reached = [
        np.linalg.norm(np.diff(walks.registration.placed(n).root[[0, -1]], axis=0)) for n in (1, 2)
    ]
    assert np.linalg.norm(ahead) > np.mean(reached)  # not shortened, as a mean of paths is


@pytest.mark.parametrize("name", FAMILIES)
def test_blends_have_no_visible_flaws(families, name):
    blend = families(name)
    check_quality(blend, np.random.default_rng(1).dirichlet(np.full(len(blend), 0.7), 10))


def test_blended_walks_have_no_visible_flaws(walks):
    check_quality(walks, np.random.default_rng(1).dirichlet(np.full(len(walks), 0.7), 10))


def check_quality(blend, some_weights, *, sunk=0.01):
    most = max(joint_accelerations(e.motion).max() for e in blend.registration.examples)
    slides = []
    for weights in some_weights:
        made, contacts = blend(weights), blend.contacts(weights)
        report = quality_report(made, contacts)
        slides.append(report.foot_slide_m)
        assert report.floor_penetration_m < sunk
        assert joint_accelerations(made).max() < 1.5 * most
        low = made.role_positions(["left_foot", "right_foot"])[..., 1].min()
        lowest = min(
            e.motion.role_positions(["left_foot", "right_foot"])[..., 1].min()
            for e in blend.registration.examples
        )
        assert low > min(lowest, contacts.floor) - sunk
    assert np.mean(slides) < 0.01


def test_the_foot_lock_removes_sliding(families):
    blend, weights = families("kick"), [0.25, 0.0, 0.0, 0.75]
    contacts = blend.contacts(weights)
    raw = foot_slide(blend(weights, lock_feet=False), contacts).per_contact_m
    assert raw > 0.005
    assert foot_slide(blend(weights), contacts).per_contact_m < 0.1 * raw


def test_feet_that_stand_in_both_examples_coincide(walks):
    """Where two walks are put on each other, the foot that stands counts most."""
    registration = walks.registration
    apart = []
    for n in (1, 2):
        seen = []
        for k in (0, n):
            example, times = registration.examples[k], registration.curve.times[:, k]
            ball = example.motion.role_positions(["left_foot"])[:, 0].astype(float)
            back = PlanarTransform.from_array(registration.curve.transforms[:, k]).inverse()
            stands = example.contacts["left_ball"][np.rint(times).astype(int)]
            seen.append((back.apply(at_times(ball, times)), stands))
        both = seen[0][1] & seen[1][1]
        apart.append(np.linalg.norm((seen[0][0] - seen[1][0])[both][:, [0, 2]], axis=1).mean())
    assert max(apart) < 0.035  # 0.05 if all joints counted alike


def test_balls_in_contact_are_lowered_to_the_floor():
    walk = ml.demo.clip("walk")
    contacts = walk.contacts()
    standing = contacts.standing_parts()
    level = np.median([p.height for p in contacts.plants["left_ball"]])
    for lift in (0.02, -0.02):
        root = walk.root + np.float32([0.0, lift, 0.0])
        turned, moved = StreamingFootLock(walk.skeleton, walk.fps).lock(
            walk.rotations, root, standing, ground_heights=np.full((len(walk), 2), level)
        )
        locked = ml.Motion(walk.skeleton, turned, moved, walk.fps)
        ball = locked.role_positions(["left_foot"])[:, 0, 1]
        assert np.abs(ball[contacts["left_ball"]] - level).mean() < 0.01
        assert ball.min() > level - 0.004
    with pytest.raises(InvalidInput, match="ground_heights must have shape"):
        StreamingFootLock(walk.skeleton, 30).lock(
            walk.rotations, walk.root, standing, ground_heights=[0.0]
        )


def test_small_changes_of_weights_are_small_changes_of_poses(families):
    blend = families("kick")
    base = np.array([0.5, 0.2, 0.2, 0.1])
    other = base + [0.001, -0.001, 0.0, 0.0]
    points = np.linspace(0, 70, 40)
    a, b = (blend.poses(weights, points) for weights in (base, other))
    assert np.abs(a[0] - b[0]).max() < 0.01 and np.abs(a[1] - b[1]).max() < 0.01


def test_a_window_and_a_frame_are_parts_of_the_whole(families):
    blend, weights = families("kick"), [0.4, 0.3, 0.3, 0.0]
    whole = blend(weights, lock_feet=False)
    part = blend.window(weights, 20, 35)
    np.testing.assert_allclose(part.root, whole.root[20:35], atol=1e-6)
    assert part.provenance.sources[0].start_frame == pytest.approx(
        whole.provenance.cut(20, 35).sources[0].start_frame, abs=1.0
    )
    point = blend.points(weights)[27]
    pose = blend.frame(point, weights)
    np.testing.assert_allclose(pose.root, whole.root[27], atol=1e-6)
    np.testing.assert_allclose(pose.rotations, whole.rotations[27], atol=1e-5)


def test_examples_without_weight_have_no_effect(families):
    blend = families("kick")
    only = Blend(blend.registration.only([0, 1]))
    np.testing.assert_allclose(
        blend([0.3, 0.7, 0.0, 0.0]).positions(), only([0.3, 0.7]).positions(), atol=1e-5
    )


def test_every_blend_has_its_provenance(families):
    blend = families("kick")
    made = blend([0.5, 0.0, 0.5, 0.0], name="half")
    assert made.name == "half"
    assert [(s.motion, s.weight) for s in made.provenance.sources] == [
        ("kick_front_mid_right_p0", 0.5),
        ("kick_outside_mid_right_p0", 0.5),
    ]
    for source, n in zip(made.provenance.sources, (0, 2), strict=True):
        example = blend.registration.examples[n]
        assert (source.start_frame, source.end_frame) == (0.0, len(example))
        assert (source.start, source.end) == (0, len(made))


def test_slightly_negative_weights_extrapolate(families):
    blend = families("kick")

    def height(weights):
        return blend(weights).role_positions(["right_ankle"])[:, 0, 1].max()

    assert height([-0.1, 1.1, 0.0, 0.0]) > height([0.0, 1.0, 0.0, 0.0]) > height([0.5, 0.5, 0, 0])


def test_a_blend_starts_where_the_query_starts(families):
    blend = families("kick")
    start = blend.registration.examples[0].motion.root[0]
    for weights in np.eye(4):
        assert np.linalg.norm((blend(weights).root[0] - start)[[0, 2]]) < 0.05
    place = blend.registration.curve.transforms[0, 0]
    np.testing.assert_allclose(place[:2], start[[0, 2]], atol=1e-6)


def test_keys_fall_on_whole_frames(families):
    registration = families("kick").registration
    blend = Blend(registration, keys=[33.0])
    for weights in np.random.default_rng(2).dirichlet(np.ones(4), 5):
        frame = blend.frame_at(33.0, weights)
        assert frame == pytest.approx(round(frame), abs=1e-9)
        assert blend.points(weights)[round(frame)] == pytest.approx(33.0, abs=1e-6)
    with pytest.raises(InvalidInput, match="keys must be query frames from 0 to 72"):
        Blend(registration, keys=[99.0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.5], r"weights must have shape \(4,\), one per example; got \(2,\)"),
        ([0.5, 0.5, 0.5, 0.0], r"sum to 1; they sum to 1\.5"),
        ([np.nan, 1.0, 0.0, 0.0], "must be finite and sum to 1"),
        ([0.0, 0.0, 0.0, 0.0], "they sum to 0"),
    ],
)
def test_invalid_weights_are_rejected(families, weights, message):
    with pytest.raises(InvalidInput, match=message):
        families("kick")(weights)


def test_points_that_are_not_frames_are_rejected(families):
    with pytest.raises(InvalidInput, match=r"points must be finite query frames; got \[nan\]"):
        families("kick").frame(np.nan, [1.0, 0.0, 0.0, 0.0])


def test_invalid_windows_are_rejected(families):
    with pytest.raises(InvalidInput, match="within the blend's 73 frames; got 70 to 90"):
        families("kick").window([1.0, 0.0, 0.0, 0.0], 70, 90)
