"""Retargeting: sizes, proportions, joints, axes and rest poses."""

from dataclasses import replace

import numpy as np
import pytest
from people import PERSON, person
from test_clean_feet import cmu_walks

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import foot_slide
from motionloom.motion.feet.clean import clean_feet
from motionloom.motion.feet.contacts import SIDES, foot_contacts, part_path
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.kinematics.two_bone import limb_of, reach_target, with_global_rotations
from motionloom.motion.retargeting.end_effectors import hand_importance
from motionloom.motion.retargeting.neutral_pose import neutral_pose
from motionloom.motion.retargeting.retarget import retarget
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import BodyTree

LIMBS = [
    (f"{side}_{a}", f"{side}_{b}")
    for side in SIDES
    for a, b in (("shoulder", "elbow"), ("elbow", "wrist"), ("hip", "knee"), ("knee", "ankle"))
]


def stretched(skeleton, **factors):
    """The skeleton with the bones that end in some roles made longer, on both sides."""
    offsets, ends = skeleton.offsets.copy(), skeleton.end_offsets.copy()
    for role, factor in factors.items():
        for name in (role, f"left_{role}", f"right_{role}"):
            if name in skeleton.roles:
                point = skeleton.point(name)
                if point < len(skeleton):
                    offsets[point] *= factor
                else:
                    ends[point - len(skeleton)] *= factor
    return replace(skeleton, offsets=offsets, end_offsets=ends)


def other_proportions(skeleton):
    """Longer arms, shorter legs, longer feet, wider hips, a longer chest."""
    return stretched(
        skeleton, elbow=1.25, wrist=1.2, knee=0.85, ankle=0.82, foot=1.1, hip=1.2, chest=1.15
    )


def with_other_axes(skeleton, seed=1):
    """The same body at rest, every joint with local axes of its own."""
    axes = rot.normalize(np.random.default_rng(seed).normal(size=(len(skeleton), 4)))
    points, joints = BodyTree(skeleton).rest_positions(), len(skeleton)
    offsets, ends, rest = np.zeros((joints, 3)), skeleton.end_offsets.copy(), axes.copy()
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            into = rot.inverse(axes[parent])
            offsets[joint] = rot.rotate(into, points[joint] - points[parent])
            rest[joint] = rot.multiply(into, axes[joint])
    for end, parent in enumerate(skeleton.end_parents):
        ends[end] = rot.rotate(rot.inverse(axes[parent]), points[joints + end] - points[parent])
    return replace(skeleton, offsets=offsets, end_offsets=ends, rest=rest)


def in_a_pose(skeleton, angle=0.8):
    """The same skeleton, its arms hanging obliquely at rest."""
    rest = np.tile(rot.IDENTITY, (len(skeleton), 1))
    for side, sign in (("left", -1.0), ("right", 1.0)):
        rest[skeleton.point(f"{side}_shoulder")] = rot.from_axis_angle([0, 0, 1], sign * angle)
    return replace(skeleton, rest=rest)


def directions(motion, bones=LIMBS):
    ends = [motion.role_positions([bone[k] for bone in bones]).astype(float) for k in (0, 1)]
    line = ends[1] - ends[0]
    return line / np.linalg.norm(line, axis=-1, keepdims=True)


def by_angles(motion, skeleton):
    """Retargeted by joint angles alone."""
    return retarget(
        motion, skeleton, keep_contacts=False, importance={"left_hand": 0, "right_hand": 0}
    )


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


@pytest.fixture(scope="module")
def kick():
    return ml.demo.clip("kick_front_high_right")


# --- angles -----------------------------------------------------------------------------------


def test_its_own_skeleton_gives_the_motion_back(kick):
    back = by_angles(kick, kick.skeleton)
    assert np.degrees(rot.angle_between(back.rotations, kick.rotations)).max() < 0.05
    assert np.abs(back.root - kick.root).max() < 1e-5


def test_local_axes_do_not_matter(kick):
    plain = retarget(kick, person())
    turned = retarget(kick, with_other_axes(person()))
    assert np.abs(plain.positions() - turned.positions()).max() < 1e-4


def test_local_axes_of_the_source_do_not_matter(kick):
    source = by_angles(kick, with_other_axes(kick.skeleton, seed=7))
    assert np.abs(source.positions() - kick.positions()).max() < 1e-4


def test_the_rest_pose_does_not_matter_to_where_limbs_point(kick):
    for target in (person(), in_a_pose(person()), with_other_axes(in_a_pose(person()))):
        moved = by_angles(kick, target)
        assert np.abs(directions(moved) - directions(kick)).max() < 1e-4


def test_a_skeleton_at_rest_facing_elsewhere_faces_as_the_source_does(kick):
    turn = rot.to_matrix(rot.yaw(2.0))
    moved = by_angles(kick, person(turn=turn))
    assert np.abs(directions(moved) - directions(kick)).max() < 1e-4
    assert np.abs(moved.headings() - kick.headings()).max() < 0.05


def test_a_skeleton_that_lies_at_rest_stands_up(kick):
    turn = rot.to_matrix(rot.from_axis_angle([1, 0, 0], -np.pi / 2))
    moved = by_angles(kick, person(turn=turn))
    assert np.abs(directions(moved) - directions(kick)).max() < 1e-4
    assert np.all(moved.role_positions(["head"])[:, 0, 1] > 1.0)


def test_feet_that_rest_turned_out_point_as_the_source_s_do(kick):
    skeleton = person()
    out = skeleton.offsets.copy()
    for side, sign in (("left", 1.0), ("right", -1.0)):
        toe = skeleton.point(f"{side}_foot")
        out[toe] = rot.rotate(rot.yaw(0.5 * sign), out[toe])
    moved = by_angles(kick, replace(skeleton, offsets=out))
    plain = by_angles(kick, skeleton)
    feet = [(f"{side}_ankle", f"{side}_foot") for side in SIDES]
    assert np.abs(directions(moved, feet) - directions(plain, feet)).max() < 1e-4


def test_the_head_turns_the_same_over_a_spine_of_any_number_of_joints(walk):
    names = [name for name, _, _ in PERSON]
    cut = names.index("chest")
    more = [
        *PERSON[:cut],
        ("spine_2", "spine", (0.0, 1.12, 0.0)),
        ("spine_3", "spine_2", (0.0, 1.19, 0.0)),
        ("chest", "spine_3", (0.0, 1.25, 0.0)),
        *PERSON[cut + 1 :],
    ]
    short, long = by_angles(walk, person()), by_angles(walk, person(joints=more))
    index = [long.skeleton.names.index(name) for name in short.skeleton.names]
    assert np.abs(short.positions() - long.positions()[:, index]).max() < 0.02
    world = long.global_rotations()
    angles = [
        rot.angle_between(world[:, a], world[:, b]).mean()
        for a, b in (
            [long.skeleton.joint(n) for n in pair]
            for pair in (("spine", "chest"), ("spine", "spine_2"), ("spine_3", "chest"))
        )
    ]
    assert angles[0] > angles[1] > 0  # the turn is shared out over the joints between
    assert angles[0] > angles[2]
    assert (
        np.abs(
            short.global_rotations()[:, short.skeleton.joint("head")]
            - world[:, long.skeleton.joint("head")]
        ).max()
        < 1e-5
    )


def test_a_joint_above_the_hips_goes_with_them(walk):
    plain = person()
    above = Skeleton(
        ["mover", *plain.names],
        [-1, *(plain.parents + 1)],
        np.concatenate([np.zeros((1, 3)), plain.offsets]),
        end_names=plain.end_names,
        end_parents=plain.end_parents + 1,
        end_offsets=plain.end_offsets,
        role_map={"hips": "pelvis"},
    )
    moved, simple = retarget(walk, above), retarget(walk, plain)
    assert np.abs(moved.positions()[:, 1:] - simple.positions()).max() < 1e-3


def test_fingers_are_copied_by_name_and_unknown_joints_keep_their_rest(kick):
    plain = kick.skeleton
    wrist = plain.point("left_wrist")

    def fingered(names):
        return Skeleton(
            [*plain.names, *names],
            [*plain.parents, wrist, wrist],
            np.concatenate([plain.offsets, [[0.08, 0, 0.02], [0.05, 0, 0.05]]]),
            end_names=plain.end_names,
            end_parents=plain.end_parents,
            end_offsets=plain.end_offsets,
            role_map=plain.roles,
        )

    curl = rot.from_axis_angle([0, 0, 1], np.linspace(0, 1, len(kick)))
    turned = np.concatenate([kick.rotations, np.stack([curl, curl], axis=1)], axis=1)
    source = Motion(fingered(["LeftPinky", "LeftRing"]), turned, kick.root, kick.fps)
    moved = by_angles(source, fingered(["LeftPinky", "LeftOther"]))
    assert np.degrees(rot.angle_between(moved.rotations[:, -2], curl)).max() < 0.1
    assert np.degrees(rot.angle_between(moved.rotations[:, -1], rot.IDENTITY)).max() < 0.1


def test_given_roles_are_respected(walk):
    plain = person()
    odd = person(names=[f"bone_{number}" for number in range(len(plain))])
    roles = {
        role: odd.point_names[plain.point_names.index(name)] for role, name in plain.roles.items()
    }
    moved = retarget(walk, odd.with_roles(roles))
    assert np.abs(moved.positions() - retarget(walk, plain).positions()).max() < 1e-5
    crossed = {
        role.replace("left", "*").replace("right", "left").replace("*", "right"): name
        for role, name in roles.items()
    }
    swapped = retarget(walk, odd.with_roles(crossed))
    assert np.abs(swapped.positions() - moved.positions()).max() > 0.1


# --- feet -------------------------------------------------------------------------------------


def stands_well(source, moved, contacts, scale):
    """Contact feet on the ground, no slide, the same steps at the same time."""
    grounds = []
    for part in ("left_ball", "right_ball"):
        height = part_path(moved, part)[:, 1]
        grounds += [height[start:end] for start, end in contacts.intervals(part)]
    level = np.median(np.concatenate(grounds))
    assert max(np.abs(ground - level).max() for ground in grounds) < 0.005
    assert level == pytest.approx(scale * contacts.floor, abs=0.005)
    slide = foot_slide(moved, contacts)
    assert slide.per_contact_m < 0.005
    assert slide.worst_m < 0.01
    # Thresholds are speeds and heights of a grown body: they scale with it.
    again = foot_contacts(moved, slow=0.15 * scale, fast=0.4 * scale, rise=0.025 * scale)
    for part in ("left_ball", "right_ball"):
        old, new = np.array(contacts.intervals(part)), np.array(again.intervals(part))
        assert old.shape == new.shape
        assert np.abs(old - new).max() <= 3
        assert np.abs(old - new).mean() <= 1
    assert len(moved) == len(source)
    assert moved.fps == source.fps


BODIES = {
    "0.8 times the size": lambda skeleton: skeleton.scaled(0.8),
    "1.25 times the size": lambda skeleton: skeleton.scaled(1.25),
    "other proportions": other_proportions,
    "another person": lambda _: with_other_axes(in_a_pose(person())),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ["walk_p0", "walk_left_p1"])
def test_feet_stand_on_the_ground_at_the_same_times(body, name):
    source = ml.demo.clip(name)
    target = BODIES[body](source.skeleton)
    contacts = source.contacts()
    scale = leg_length(target) / leg_length(source.skeleton)
    stands_well(source, source.retarget(target), contacts, scale)


def test_the_path_is_as_long_as_the_legs_make_it(walk):
    for factor in (0.5, 2.0):
        moved = walk.retarget(walk.skeleton.scaled(factor))
        ways = [np.linalg.norm(m.root[-1] - m.root[0]) for m in (walk, moved)]
        assert ways[1] == pytest.approx(factor * ways[0], rel=0.02)


def test_bones_have_the_target_s_lengths(walk):
    target = other_proportions(walk.skeleton)
    place = walk.retarget(target).positions().astype(float)
    for joint, parent in enumerate(target.parents):
        if parent >= 0:
            length = np.linalg.norm(place[:, joint] - place[:, parent], axis=-1)
            assert length == pytest.approx(np.linalg.norm(target.offsets[joint]), abs=1e-5)


def test_longer_feet_lift_the_hips_not_the_knees(walk):
    """A foot whose ankle is 5 cm higher above the ball carries the body 5 cm higher."""
    skeleton = walk.skeleton
    offsets = skeleton.offsets.copy()
    for side in SIDES:
        offsets[skeleton.point(f"{side}_foot"), 1] -= 0.05
    moved = walk.retarget(replace(skeleton, offsets=offsets))
    assert np.median(moved.root[:, 1] - walk.root[:, 1]) == pytest.approx(0.05, abs=0.01)
    # Even before the feet are planted the ball is on the ground.
    unplanted = walk.retarget(moved.skeleton, keep_contacts=False)
    heights = part_path(unplanted, "left_ball")[:, 1][walk.contacts()["left_ball"]]
    assert np.abs(heights - walk.contacts().floor).max() < 0.03


def test_a_tilted_floor_becomes_level_and_the_knees_do_not_change(walk):
    slope = 0.012 * walk.root[:, 2]
    uphill = replace(walk, root=walk.root + slope[:, None] * [0.0, 1.0, 0.0])
    heights = [plant.height for plant in uphill.contacts().plants["left_ball"]]
    assert np.ptp(heights) > 0.03
    moved = uphill.retarget(walk.skeleton)
    level = [plant.height for plant in moved.contacts().plants["left_ball"]]
    assert np.ptp(level) < 0.003
    unplanted = uphill.retarget(walk.skeleton, keep_contacts=False)
    heights = part_path(unplanted, "left_ball")[:, 1][uphill.contacts()["left_ball"]]
    assert np.ptp(heights) < 0.025


def test_stairs_keep_their_treads(walk):
    climb = np.cumsum(np.full(len(walk), 0.004))
    up = replace(walk, root=walk.root + climb[:, None] * [0.0, 1.0, 0.0])
    up, _ = clean_feet(up, contacts=walk.contacts())
    moved = up.retarget(walk.skeleton.scaled(0.5))
    heights = [[p.height for p in m.contacts(slow=0.1).plants["left_ball"]] for m in (up, moved)]
    assert np.ptp(heights[0]) > 0.2
    assert np.ptp(heights[1]) == pytest.approx(0.5 * np.ptp(heights[0]), abs=0.02)


# --- hands ------------------------------------------------------------------------------------


def touching(motion, role, *, side="left", offset=(0.05, 0.02, 0.05)):
    """`motion` with a hand held near a body part, and that place (T, 3)."""
    roles = (f"{side}_shoulder", f"{side}_elbow", f"{side}_wrist")
    joints, arm = limb_of(motion, roles)
    hand = motion.role_positions([f"{side}_hand"])[:, 0].astype(float)
    place = motion.role_positions([role])[:, 0].astype(float) + offset
    moved = reach_target(arm, arm.start, arm.end + place - hand)
    wrist = motion.global_rotations()[:, joints[2]].astype(float)
    turned = dict(zip(joints, (moved.upper, moved.lower, wrist), strict=True))
    q = with_global_rotations(motion.rotations.astype(float), motion.skeleton, turned)
    return replace(motion, rotations=q)


def apart(motion, a, b):
    places = motion.role_positions([a, b]).astype(float)
    return np.linalg.norm(places[:, 0] - places[:, 1], axis=-1)


def test_a_hand_on_the_head_stays_there_with_longer_arms(walk):
    source = touching(walk, "head")
    target = stretched(walk.skeleton, elbow=1.3, wrist=1.25)
    before = apart(source, "left_hand", "head")
    assert before.max() < 0.1
    kept = source.retarget(target)
    loose = source.retarget(target, importance={"left_hand": 0.0})
    assert np.abs(apart(kept, "left_hand", "head") - before).max() < 0.02
    assert apart(loose, "left_hand", "head").mean() > 1.4 * before.mean()


def test_hands_that_touch_keep_touching(walk):
    source = touching(walk, "chest", side="left", offset=(0.0, 0.0, 0.30))
    source = touching(source, "left_hand", side="right", offset=(-0.03, 0.0, 0.0))
    moved = source.retarget(stretched(walk.skeleton, elbow=1.25, wrist=1.25))
    assert apart(moved, "left_hand", "right_hand").max() < 0.06


def test_hands_that_swing_keep_the_angles_of_their_arms(walk):
    target = stretched(walk.skeleton, elbow=1.2, wrist=1.2)
    arms = [bone for bone in LIMBS if "shoulder" in bone[0] or "elbow" in bone[0]]
    moved = walk.retarget(target)
    # The trunk may be carried by the feet; arms against it turn as they did.
    assert np.abs(directions(moved, arms) - directions(walk, arms)).max() < 0.02


def test_an_important_hand_keeps_its_place_in_the_world(walk):
    target = stretched(walk.skeleton, elbow=1.2, wrist=1.2)
    placed = walk.retarget(target, importance={"right_hand": 1.0})
    places = [m.role_positions(["right_hand"])[:, 0] for m in (walk, placed)]
    assert np.abs(places[1] - places[0]).max() < 0.01
    half = walk.retarget(target, importance={"right_hand": np.linspace(0, 1, len(walk))})
    places.append(half.role_positions(["right_hand"])[:, 0])
    assert np.abs(places[2][-1] - places[0][-1]).max() < 0.01
    assert np.abs(places[2][0] - places[0][0]).max() > 0.03


def test_importance_falls_with_distance():
    distance = np.linspace(0.0, 0.4, 200)
    importance = hand_importance(distance, 1e-6)
    assert importance[0] == 1.0
    assert importance[-1] == 0.0
    assert np.all(np.diff(importance) <= 0)


# --- errors -----------------------------------------------------------------------------------


def test_names_the_roles_that_are_missing(walk):
    bare = Skeleton(["Hips", "Spine", "Head"], [-1, 0, 1], [[0, 0, 0], [0, 0.3, 0], [0, 0.3, 0]])
    with pytest.raises(
        RoleError, match="cannot retarget: in the target skeleton, no joint has the role left_hip"
    ):
        walk.retarget(bare)
    still = Motion(bare, np.tile(rot.IDENTITY, (4, 3, 1)), np.zeros((4, 3)), 30)
    with pytest.raises(RoleError, match="in the motion's skeleton, no joint has the role left_hip"):
        still.retarget(walk.skeleton)


def test_feet_are_needed_only_to_be_planted(walk):
    footless = walk.skeleton.with_roles(
        {f"{side}_{r}": None for side in SIDES for r in ("foot", "toe")}
    )
    with pytest.raises(RoleError, match="left_foot"):
        walk.retarget(footless)
    assert len(walk.retarget(footless, keep_contacts=False)) == len(walk)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"importance": {"left_foot": 1.0}},
            "importance keys must be left_hand or right_hand; got",
        ),
        ({"importance": {"left_hand": 1.5}}, "left_hand must lie between 0 and 1"),
        ({"importance": {"left_hand": [0.0, 1.0]}}, "one number, or one number for each"),
    ],
)
def test_reports_errors_in_an_importance(walk, options, message):
    with pytest.raises(InvalidInput, match=message):
        walk.retarget(walk.skeleton, **options)


def test_other_wrong_input_is_reported(walk):
    with pytest.raises(InvalidInput, match="without frames"):
        walk[:0].retarget(walk.skeleton)
    with pytest.raises(InvalidInput, match="got 10"):
        walk.retarget(walk.skeleton, contacts=walk[:10].contacts())
    with pytest.raises(InvalidInput, match="the legs of the target skeleton have no length"):
        walk.retarget(walk.skeleton.scaled(0.0))


def test_a_t_pose_needs_hardly_a_turn():
    turns = neutral_pose(person()).turns
    for role, turn in turns.items():
        leg = any(part in role for part in ("hip", "knee")) and role != "hips"
        assert np.degrees(rot.angle_between(turn, rot.IDENTITY)) < (3.0 if leg else 1e-3)


# --- real takes -------------------------------------------------------------------------------


@pytest.mark.cmu
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("take", ["02_01", "16_13", "39_02"])
def test_captured_walks_stand_on_other_bodies(cmu30, take, body):
    source = ml.load(cmu30 / take.split("_")[0].zfill(3) / f"{take}.bvh")
    target = BODIES[body](source.skeleton)
    contacts = source.contacts()
    scale = leg_length(target) / leg_length(source.skeleton)
    stands_well(source, source.retarget(target), contacts, scale)


@pytest.mark.cmu
@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES)
def test_fifty_captured_walks_stand_on_other_bodies(cmu_data, cmu30, body):
    slides, moves = [], []
    for path in cmu_walks(cmu_data, cmu30, 50):
        source = ml.load(path)
        target = BODIES[body](source.skeleton)
        contacts = source.contacts()
        moved = source.retarget(target, contacts=contacts)
        scale = leg_length(target) / leg_length(source.skeleton)
        plants = [p for side in SIDES for p in contacts.plants[f"{side}_ball"]]
        level = np.ptp([p.height for p in plants]) < 0.1  # no stairs, no rough ground
        for part in ("left_ball", "right_ball"):
            height = part_path(moved, part)[:, 1]
            for start, end in contacts.intervals(part):
                ground = scale * contacts.floor if level else np.median(height[start:end])
                assert np.abs(height[start:end] - ground).max() < 0.005 + (not level) * 0.003
        slides.append(foot_slide(moved, contacts).per_contact_m)
        again = foot_contacts(moved, slow=0.15 * scale, fast=0.4 * scale, rise=0.025 * scale)
        for part in ("left_ball", "right_ball"):
            old, new = np.array(contacts.intervals(part)), np.array(again.intervals(part))
            if old.shape == new.shape:
                moves += list(np.abs(old - new).ravel())
    assert len(slides) == 50
    assert max(slides) < 0.01
    assert np.median(moves) <= 1
    assert np.percentile(moves, 95) <= 3
