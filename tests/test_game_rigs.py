"""Characters of games: wrong bind poses, nodes in another pose, no toes, loose feet."""

import json
from dataclasses import replace

import numpy as np
import pytest
from commands import ran
from fewer_joints import without_joints
from game_rigs import KAYKIT, QUATERNIUS, rerigged

import motionloom as ml
from motionloom.character import body_mesh
from motionloom.errors import InvalidInput
from motionloom.formats import fbx, gltf
from motionloom.formats.fbx.writer import _Draft
from motionloom.formats.gltf.container import GltfFile, glb_bytes
from motionloom.motion.kinematics.missing_feet import MARK, assume_balls, with_feet
from motionloom.motion.rotations import quaternions as rot

WALK = ml.demo.clip("walk")
HERO = ml.demo.clip("jog", performer=2)
SUIT = body_mesh(HERO.skeleton, detail="low")


def resting_as_bound(motion, mesh):
    """The motion on a skeleton that rests in the pose of its mesh, as characters do."""
    skeleton = motion.skeleton
    world = rot.from_matrix(mesh.bind[: len(skeleton), :3, :3])
    above = np.concatenate([[rot.IDENTITY], world[skeleton.parents[1:]]])
    return replace(motion, skeleton=replace(skeleton, rest=rot.multiply(rot.inverse(above), world)))


HERO = resting_as_bound(HERO, SUIT)


def angles(a, b):
    return np.degrees(2 * np.arccos(np.clip(np.abs(np.sum(a * b, axis=-1)), 0, 1)))


def turned(matrix, degrees):
    out = np.array(matrix, np.float64)
    out[:3, :3] = rot.to_matrix(rot.yaw(np.radians(degrees))) @ out[:3, :3]
    return out


@pytest.mark.parametrize(
    "wrong",
    [
        "bind pose",
        pytest.param("skin and bind pose", marks=pytest.mark.slow),
        pytest.param("", marks=pytest.mark.slow),
    ],
)
def test_a_bind_pose_that_disagrees_with_the_skin_is_ignored(tmp_path, monkeypatch, wrong):
    """unity-chan's has every bone rotated in another way; skin and nodes are right."""
    pytest.importorskip("ufbx", reason="the extra fbx is not installed")
    write = _Draft._bind_pose

    def scrambled(draft, name, poses):
        shift = 40.0 if "bind pose" in wrong else 0.0
        poses = [(model, turned(m, shift * (k + 1))) for k, (model, m) in enumerate(poses)]
        write(draft, name, poses)

    monkeypatch.setattr(_Draft, "_bind_pose", scrambled)
    path = tmp_path / "hero.fbx"
    still = HERO.rest_pose()
    posed = still if wrong != "skin and bind pose" else HERO[5:6]  # nodes in another pose
    fbx.writer.write_meshes(posed, path, [SUIT])
    # motionloom trusts the nodes of its own files.
    path.write_bytes(path.read_bytes().replace(b"motionloom", b"othertools"))
    hero = ml.load(path)
    order = [hero.skeleton.names.index(name) for name in HERO.skeleton.names]
    rests = hero.skeleton.rest_rotations[order], HERO.skeleton.rest_rotations
    assert angles(*rests).max() < 0.2
    assert any("disagrees with the mesh" in text for text in hero.origin.warnings) == bool(wrong)
    (mesh,) = fbx.reader.meshes(path, hero.skeleton)
    moved = WALK.retarget(path)
    plain = WALK.retarget(HERO.skeleton)
    gaps = mesh.posed(moved, 30)[:, None] - SUIT.posed(plain, 30)[None, ::29]
    assert np.linalg.norm(gaps, axis=2).min(axis=0).max() < 0.01


def test_the_rest_pose_of_a_gltf_character_is_that_of_its_skin(tmp_path):
    """The nodes hold a pose of a run; 15 of 68 characters differ by more than 5 degrees."""
    path = tmp_path / "hero.glb"
    gltf.writer.write_meshes(HERO[:1], path, [SUIT])
    file = GltfFile(path)
    document = file.document
    document["asset"]["generator"] = "another program"
    document.pop("animations")
    names = {node.get("name"): node for node in document["nodes"]}
    for joint, name in enumerate(HERO.skeleton.names):
        if joint:
            names[name]["rotation"] = HERO.rotations[6, joint, [1, 2, 3, 0]].astype(float).tolist()
    path.write_bytes(glb_bytes(document, bytes(file.buffer(0))))
    hero = ml.load(path)
    order = [hero.skeleton.names.index(name) for name in HERO.skeleton.names]
    assert angles(HERO.rotations[6, 1:], HERO.skeleton.rest_rotations[1:]).max() > 30
    assert angles(hero.skeleton.rest_rotations[order], HERO.skeleton.rest_rotations).max() < 0.2
    assert any("that of the mesh" in text for text in hero.origin.warnings)
    moved = WALK.retarget(path)
    knees = ["left_knee", "right_knee", "left_ankle", "right_ankle"]
    wanted = WALK.retarget(HERO.skeleton)
    assert np.abs(moved.role_positions(knees) - wanted.role_positions(knees)).max() < 0.02


def test_a_character_without_toes_walks_on_the_floor(tmp_path):
    bare = without_joints(HERO, "left_foot", "right_foot")
    assert "left_foot" not in bare.skeleton.roles
    path = bare.save(tmp_path / "hero.glb")
    moved = WALK.retarget(path)
    assert "left_ankle" in moved.skeleton.roles and not moved.quality.warnings
    ankles = moved.role_positions(["left_ankle", "right_ankle"])
    full = WALK.retarget(HERO.skeleton).role_positions(["left_ankle", "right_ankle"])
    assert np.abs(ankles - full).max() < 0.05
    # A skeleton that was not read from a file stays as it is.
    onto = WALK.retarget(bare.skeleton)
    assert onto.skeleton.key == bare.skeleton.key
    source = without_joints(WALK, "left_foot", "right_foot")
    back = source.retarget(HERO.skeleton)
    assert np.abs(back.role_positions(["left_ankle"]) - full[:, :1]).max() < 0.05


def test_feet_below_the_root_are_attached_to_the_legs(tmp_path):
    """Quaternius' characters have no ankles below their knees, and no toes."""
    rigged = rerigged(WALK, QUATERNIUS)
    path = rigged.save(tmp_path / "guy.glb", mesh="none")
    guy = ml.load(path)
    roles = guy.skeleton.roles
    assert (roles["hips"], roles["left_ankle"]) == ("Body", "Foot.L")
    assert roles["left_foot"] == f"Foot.L{MARK}"
    assert guy.skeleton.names[guy.skeleton.parents[guy.skeleton.joint("Foot.L")]] == "LowerLeg.L"
    ours = guy.role_positions(["left_ankle", "right_ankle", "hips"])
    assert np.abs(ours - WALK.role_positions(["left_ankle", "right_ankle", "hips"])).max() < 1e-4
    assert any("attached" in text for text in guy.origin.warnings)
    tall = guy.retarget(HERO.skeleton).quality
    assert tall.retarget.limb_angle_deg < 10 and tall.foot_slide_m < 0.01


def test_feet_below_the_root_move_in_the_file_of_the_character(tmp_path):
    still = rerigged(WALK, QUATERNIUS)[:1]
    bind = np.tile(np.eye(4), (len(still.skeleton), 1, 1))
    path = tmp_path / "guy.glb"
    coat = replace(SUIT, joints=np.zeros_like(SUIT.joints), bind=bind)
    gltf.writer.write_meshes(still, path, [coat])
    moved = HERO.retarget(path)
    out = moved.save(tmp_path / "out.glb")
    parents = {
        child: node["name"]
        for node in GltfFile(out).document["nodes"]
        for child in node.get("children", [])
    }
    nodes = [node.get("name") for node in GltfFile(out).document["nodes"]]
    assert parents[nodes.index("Foot.L")] == "Bone"  # as in the file of the character
    again = ml.load(out)
    roles = ["left_ankle", "right_ankle", "left_knee", "head"]
    assert np.abs(again.role_positions(roles) - moved.role_positions(roles)).max() < 1e-4
    assert np.ptp(again.role_positions(["left_ankle"])[:, 0, 2]) > 0.3


def test_rigs_with_toes_stay_as_they_are():
    assert with_feet(WALK) is WALK
    kay = rerigged(WALK, KAYKIT)
    assert with_feet(kay) is kay
    chosen = WALK.skeleton.with_roles({"left_foot": None})
    assert assume_balls(chosen) is chosen


def test_roles_can_be_given_for_the_target(tmp_path):
    names = [f"bone{k}" for k in range(len(HERO.skeleton))]
    shuffled = replace(HERO.skeleton, names=tuple(names), end_names=tuple("abcde"))
    hero = replace(HERO.rest_pose(), skeleton=shuffled).save(tmp_path / "hero.glb")
    roles = {
        role: names[HERO.skeleton.names.index(joint)]
        for role, joint in HERO.skeleton.roles.items()
        if joint in HERO.skeleton.names
    }
    (tmp_path / "roles.json").write_text(json.dumps(roles))
    walk = WALK.save(tmp_path / "walk.bvh")
    for option in ("--character", "--onto"):
        out = tmp_path / f"out{option}.glb"
        done = ran("convert", walk, out, option, hero, "--target-roles", tmp_path / "roles.json")
        assert done.returncode == 0, done.stderr
        assert np.ptp(ml.load(out).root[:, 2]) > 0.5
    alone = ran("convert", walk, out, "--target-roles", tmp_path / "roles.json")
    assert alone.returncode == 2 and "needs --onto" in alone.stderr


def with_fingers(motion, names, bend):
    """The motion with two fingers of three joints on each hand, bent by an angle in degrees."""
    skeleton, turns = motion.skeleton, [motion.rotations.astype(np.float64)]
    joints, parents, offsets = [], [], []
    for side in ("left", "right"):
        wrist = skeleton.names.index(skeleton.roles[f"{side}_wrist"])
        for finger in names:
            above = wrist
            for number in range(4):
                joints.append(f"{side.title()}Hand{finger}{number + 1}")
                parents.append(above)
                offsets.append([0.03 if side == "left" else -0.03, 0.0, 0.0])
                above = len(skeleton) + len(joints) - 1
                angle = np.radians(bend if number < 3 else 0.0)
                turns.append(np.tile(rot.from_axis_angle([0.0, 0, 1], angle), (len(motion), 1, 1)))
    body = ml.Skeleton(
        [*skeleton.names, *joints], [*skeleton.parents, *parents],
        np.concatenate([skeleton.offsets, offsets]),
    )  # fmt: skip
    return ml.Motion(body, np.concatenate(turns, axis=1), motion.root, motion.fps, motion.name)


def test_the_report_names_fingers_that_are_lost():
    fist = with_fingers(WALK, ("Index", "Ring"), 70)
    named = with_fingers(HERO, ("Index", "Ring"), 0)
    other = replace(
        named.skeleton,
        names=tuple(name.replace("Hand", "_hand_digit_") if "Index" in name or "Ring" in name
                    else name for name in named.skeleton.names),
    )  # fmt: skip
    kept, lost = fist.retarget(named).quality, fist.retarget(other).quality
    assert kept.retarget.lost == ()
    if "left_index_1" in other.roles:
        pytest.skip("fingers have roles, which these names give them")
    assert lost.retarget.lost == ("left fingers", "right fingers")
    assert "fingers lost" in str(lost) and any("move in the source" in w for w in lost.warnings)
    open_hands = with_fingers(WALK, ("Index", "Ring"), 3)
    assert open_hands.retarget(other).quality.retarget.lost == ()


def test_four_legs_are_not_two():
    """An elephant has named arms and legs, all of which stand on the floor."""
    names = ["Hips", "Spine", "Spine1", "Neck", "Head"]
    parents, offsets = [-1, 0, 1, 2, 3], [[0, 1, 0], *[[0, 0.05, 0.4]] * 4]
    for side, x in (("Left", 0.3), ("Right", -0.3)):
        for limb, chest in (
            (("UpLeg", "Leg", "Foot", "ToeBase"), 0),
            (("Arm", "ForeArm", "Hand"), 2),
        ):
            above = chest
            for part in limb:
                names.append(side + part)
                parents.append(above)
                first = part in ("UpLeg", "Arm")
                toes = part == "ToeBase"
                offsets.append([x, 0, 0] if first else [0, 0, 0.1] if toes else [0, -0.45, 0])
                above = len(names) - 1
    elephant = ml.Skeleton(names, parents, offsets)
    with pytest.raises(InvalidInput, match="the target stands on four legs and the source on two"):
        WALK.retarget(elephant)
