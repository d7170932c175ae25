"""Retargeting from every rig to every rig: a walk and a reach, checked by positions alone.

The rigs have other names, trees, proportions, joint axes and zero poses; `rigs.bodies` makes their
motions without retargeting. What must hold, in every frame:

- shoulders and hips are as wide as in the target's own motion, within 5 %;
- upper arms, forearms, thighs and shanks point as in the source, seen from the trunk, within 5
  degrees; the trunk is the line from the middle of the hip joints to the neck, and the mean
  direction from right to left of hips and shoulders;
- balls of the feet in contact are within 5 mm of the source's floor, scaled like the legs;
- wrists are within 3 cm of where arms of the target's length in the source's directions end, and
  within 3 cm of the source's place, scaled like the legs, if that is asked for and in reach.
"""

import numpy as np
import pytest
from rigs.bodies import BODIES, performed

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.rotations import quaternions as rot

CLIPS = ("walk", "reach_front_high_right")
NAMED = [
    "cmu", "lafan1", "bandai", "mixamo", "smpl", "motionbuilder", "rokoko", "xsens",
    "perception neuron", "biped", "rigify", "makehuman",
]  # fmt: skip
BONES = [
    (f"{side}_{first}", f"{side}_{second}")
    for side in SIDES
    for first, second in (
        ("shoulder", "elbow"),
        ("elbow", "wrist"),
        ("hip", "knee"),
        ("knee", "ankle"),
    )  # fmt: skip
]


class Places:
    """World positions (T, 3) of the roles of a motion."""

    def __init__(self, motion):
        roles = list(motion.skeleton.roles)
        places = motion.role_positions(roles).astype(float).swapaxes(0, 1)
        self.of = dict(zip(roles, places, strict=True))

    def width(self, part):
        return np.linalg.norm(self.of[f"left_{part}"] - self.of[f"right_{part}"], axis=-1)

    def bone(self, first, second):
        return self.of[second] - self.of[first]

    def leg(self):
        bones = [bone for bone in BONES if "hip" in bone[0] or "knee" in bone[0]]
        return 0.5 * sum(np.linalg.norm(self.bone(*bone)[0]) for bone in bones)

    def trunk(self):
        """Rotation matrices (T, 3, 3): left, up and ahead of the trunk."""
        up = unit(self.of["neck"] - 0.5 * (self.of["left_hip"] + self.of["right_hip"]))
        across = sum(
            unit(self.bone(f"right_{part}", f"left_{part}")) for part in ("hip", "shoulder")
        )
        left = unit(across - np.sum(across * up, axis=-1, keepdims=True) * up)
        return np.stack([left, up, np.cross(left, up)], axis=-1)

    def seen(self, bone):
        """Direction of a bone (T, 3) in the axes of the trunk."""
        return np.einsum("tij,ti->tj", self.trunk(), unit(self.bone(*bone)))


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def angles(a, b):
    return np.degrees(np.arccos(np.clip(np.sum(a * b, axis=-1), -1.0, 1.0)))


def check(clip, source, target):
    """Retarget a clip from one body to another and compare positions."""
    motion, own = performed(clip, source), performed(clip, target)
    moved = motion.retarget(own.skeleton)
    there, here, usual = Places(motion), Places(moved), Places(own)
    for part in ("shoulder", "hip"):
        assert here.width(part) == pytest.approx(usual.width(part).mean(), rel=0.05), part
    for bone in BONES:
        assert angles(there.seen(bone), here.seen(bone)).max() < 5.0, bone
    scale = usual.leg() / there.leg()
    contacts = motion.contacts()
    for side in SIDES:
        height = here.of[f"{side}_foot"][contacts[f"{side}_ball"], 1]
        assert np.abs(height - scale * contacts.floor).max() < 0.005
        arm = [bone for bone in BONES if bone[0] in (f"{side}_shoulder", f"{side}_elbow")]
        expected = sum(
            np.linalg.norm(usual.bone(*bone)[0]) * unit(there.bone(*bone)) for bone in arm
        )
        reached = here.of[f"{side}_wrist"] - here.of[f"{side}_shoulder"]
        assert np.linalg.norm(reached - expected, axis=-1).max() < 0.03
    return motion, own, scale


def check_held_hand(motion, own, scale):
    """The right hand held at its place in the world, where the arm reaches."""
    placed = Places(motion.retarget(own.skeleton, importance={"right_hand": 1.0}))
    there, usual = Places(motion), Places(own)
    hand = "right_hand" if all("right_hand" in p.of for p in (there, usual)) else "right_wrist"
    goal = scale * there.of[hand]
    wrist = goal + placed.of["right_wrist"] - placed.of[hand]
    reach = sum(
        np.linalg.norm(usual.bone(*bone)[0]) for bone in BONES if bone[0].startswith("right") and (
            "shoulder" in bone[0] or "elbow" in bone[0])
    )  # fmt: skip
    near = np.linalg.norm(wrist - placed.of["right_shoulder"], axis=-1) < 0.97 * reach
    assert np.linalg.norm(placed.of[hand] - goal, axis=-1)[near].max(initial=0.0) < 0.03


@pytest.mark.parametrize("target", ["cmu", "lafan1", "bandai", "mixamo"])
@pytest.mark.parametrize("source", ["cmu", "lafan1", "bandai", "mixamo"])
def test_a_walk_and_a_reach_between_the_most_common_rigs(source, target):
    check("walk", source, target)
    check_held_hand(*check("reach_front_high_right", source, target))


@pytest.mark.parametrize("other", [body for body in BODIES if body not in NAMED[:4]])
def test_every_other_rig_is_a_source_and_a_target(other):
    check("walk", other, "bandai")
    check("reach_front_high_right", "lafan1", other)


@pytest.mark.slow
@pytest.mark.parametrize("target", BODIES)
@pytest.mark.parametrize("source", BODIES)
@pytest.mark.parametrize("clip", CLIPS)
def test_all_pairs(clip, source, target):
    check_held_hand(*check(clip, source, target))


# --- rotations, report, refusal ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target"),
    [("cmu", "biped"), ("biped", "cmu"), ("rokoko", "bandai"), ("bandai", "makehuman"),
     ("smpl", "lafan1"), ("lafan1", "smpl"), ("odd axes", "motionbuilder")],
)  # fmt: skip
def test_bones_have_the_twist_of_the_target_s_own_motion(source, target):
    """Both have the same performer, so the target's own motion is the answer."""
    motion, own = performed("walk", source), performed("walk", target)
    assert BODIES[source].performer == BODIES[target].performer
    moved = motion.retarget(own)
    for role in ("chest", "head", "shoulder", "elbow", "wrist", "hip", "knee", "ankle"):
        for name in (role, f"left_{role}", f"right_{role}"):
            joint = own.skeleton.names.index(own.skeleton.roles[name]) if (
                name in own.skeleton.roles) else None  # fmt: skip
            if joint is not None:
                turned = [m.global_rotations()[:, joint] for m in (moved, own)]
                assert np.degrees(rot.angle_between(*turned)).mean() < 10.0, name


def test_a_skeleton_without_a_usable_rest_pose_causes_a_warning_and_a_motion_avoids_it():
    motion, own = performed("walk", "cmu"), performed("walk", "lafan1")
    report = motion.retarget(own.skeleton).quality
    assert report.retarget.assumed == ("shoulders", "arms", "legs", "feet")
    assert any("pass a motion of the target" in warning for warning in report.warnings)
    assert motion.retarget(own).quality.warnings == ()
    assert motion.retarget(performed("walk", "mixamo").skeleton).quality.warnings == ()


@pytest.mark.parametrize("target", ["cmu", "bandai"])
def test_the_report_has_the_figures_of_the_positions(target):
    motion, own = performed("walk", "lafan1"), performed("walk", target)
    moved = motion.retarget(own)
    fit = moved.quality.retarget
    for part, width in (("shoulder", fit.shoulder_width), ("hip", fit.hip_width)):
        ratio = np.median(Places(moved).width(part)) / np.median(Places(own).width(part))
        assert width == pytest.approx(ratio, rel=1e-3)
    assert fit.limb_angle_deg < 5.0
    assert fit.height == pytest.approx(1.0, abs=0.05)
    assert fit.foot_height_m < 0.005


def test_takes_of_one_rig_share_the_twist_that_its_rest_pose_does_not_show():
    """Another size of the same rig: local rotations are the same, no warning."""
    motion = performed("walk", "bandai")
    moved = motion.retarget(motion.skeleton.scaled(1.2))
    arms = [motion.skeleton.names.index(motion.skeleton.roles[f"{side}_{part}"])
            for side in SIDES for part in ("collar", "shoulder", "elbow", "wrist")]  # fmt: skip
    turned = [m.rotations[:, arms] for m in (motion, moved)]
    assert np.degrees(rot.angle_between(*turned)).max() < 1.0
    assert moved.quality.warnings == ()


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (("left_elbow", "right_elbow"), "shoulder would be [0-9]+ degrees off its direction"),
        (("left_collar", "right_collar"), "shoulders would be [0-9]+ % as wide"),
    ],
)
def test_a_result_that_is_not_a_body_is_refused(roles, message):
    walk = ml.demo.clip("walk")
    given = walk.skeleton.roles
    wrong = walk.skeleton.with_roles({roles[0]: given[roles[1]], roles[1]: given[roles[0]]})
    with pytest.raises(InvalidInput, match=message):
        walk.retarget(wrong)
