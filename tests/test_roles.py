from dataclasses import replace

import numpy as np
import pytest
from people import PERSON, person
from rigs import RIGS, rig, skeleton_of
from scipy.spatial.transform import Rotation

from motionloom.errors import MotionFormatError, RoleError
from motionloom.motion import Skeleton
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.roles.assignment import ROLES, assign_roles, load_role_map, save_role_map
from motionloom.motion.roles.joint_names import labels_of


def nameless(skeleton):
    return replace(skeleton, names=[f"joint{number}" for number in range(len(skeleton))])


def role_points(skeleton):
    return {role: skeleton.point_names.index(name) for role, name in skeleton.roles.items()}


# --- by name ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RIGS)
def test_every_common_rig_is_understood(name):
    skeleton, expected = rig(name)
    assert skeleton.roles == expected


RESPELLED = (
    lambda name: f"Actor01:{name}",
    lambda name: f"Hero_{name}",
    lambda name: f"|group|{name}",
    lambda name: f"{name}_bn",
    lambda name: f"{name}_12",
    lambda name: name.replace(" ", "_").replace(".", "_").replace(":", "_"),
    lambda name: name.replace("_", "-").replace(" ", "-"),
)


@pytest.mark.parametrize("name", RIGS)
def test_prefixes_signs_and_case_do_not_matter(name):
    skeleton, expected = rig(name)
    cases = () if name in {"poser", "daz"} else (str.lower, str.upper)  # LMID1 is beyond us
    for respelled in (*RESPELLED, *cases):
        new = {old: respelled(old) for old in skeleton.names}
        again = replace(skeleton, names=[new[old] for old in skeleton.names])
        wanted = {role: new.get(point, point) for role, point in expected.items()}
        assert again.roles == wanted, respelled(name)


@pytest.mark.parametrize("name", ["cmu", "acclaim", "humanik", "mixamo", "lafan1", "smpl", "biped",
    "perception neuron", "rokoko", "xsens", "bandai-namco", "rigify", "daz", "unreal", "unity",
    "vrm", "openpose", "makehuman", "second life"])  # fmt: skip
def test_the_scheme_is_reported(name):
    assert rig(name)[0].role_assignment.scheme == name


def test_order_of_joints_does_not_matter():
    skeleton, expected = rig("humanik")
    # Children in reverse order, still parents first.
    order = sorted(range(len(skeleton)), key=lambda j: (depth(skeleton, j), -j))
    place = {old: new for new, old in enumerate(order)}
    shuffled = Skeleton(
        [skeleton.names[j] for j in order],
        [place.get(int(skeleton.parents[j]), -1) for j in order],
        skeleton.offsets[order],
        end_names=skeleton.end_names,
        end_parents=[place[int(j)] for j in skeleton.end_parents],
        end_offsets=skeleton.end_offsets,
    )
    assert shuffled.roles == expected


def depth(skeleton, joint):
    return 0 if joint == 0 else 1 + depth(skeleton, int(skeleton.parents[joint]))


def test_a_shoulder_is_the_collar_only_where_an_arm_hangs_below():
    with_arm, _ = skeleton_of("Chest\n  {S}Shoulder\n    {S}Arm\n      {S}ForeArm")
    without, _ = skeleton_of("Chest\n  {S}Shoulder\n    {S}Elbow\n      {S}Wrist")
    assert with_arm.roles["left_collar"] == "LeftShoulder"
    assert with_arm.roles["left_shoulder"] == "LeftArm"
    assert without.roles["left_shoulder"] == "LeftShoulder"
    assert "left_collar" in without.role_assignment.missing


def test_a_foot_is_the_ankle_unless_there_is_one():
    leg, _ = skeleton_of("Hips\n  {S}Hip\n    {S}Knee\n      {S}Foot")
    ankle, _ = skeleton_of("Hips\n  {S}Hip\n    {S}Knee\n      {S}Ankle\n        {S}Foot")
    assert leg.roles["right_ankle"] == "RightFoot"
    assert "right_foot" not in leg.roles
    assert (ankle.roles["right_ankle"], ankle.roles["right_foot"]) == ("RightAnkle", "RightFoot")


def test_a_joint_at_a_distinct_position_is_preferred():
    skeleton, _ = rig("cmu")
    assert skeleton.roles["neck"] == "Neck1"  # Neck lies in Spine1
    assert skeleton.roles["left_hand"] == "LeftHandIndex1"  # LeftFingerBase lies in LeftHand


def test_knuckles_lie_away_from_the_wrist():
    arm = "Chest\n  {S}Arm\n    {S}ForeArm\n      {S}Hand\n        {S}Middle0 @0\n"
    skeleton, _ = skeleton_of(arm + "          {S}Middle1\n")
    assert skeleton.roles["left_hand"] == "LeftMiddle1"
    skeleton, _ = skeleton_of(arm + "          *\n        {S}Thumb1\n")
    assert skeleton.roles["left_hand"] == skeleton.end_names[0]


def test_a_skeleton_without_any_lengths_is_read_by_names_alone():
    skeleton, expected = rig("lafan1")
    flat = replace(
        skeleton, offsets=np.zeros((len(skeleton), 3)), end_offsets=skeleton.end_offsets * 0
    )
    assert flat.roles == expected


def test_shared_roles_are_less_certain_than_named_ones():
    result = rig("perception neuron")[0].role_assignment
    assert result.roles["left_foot"] == result.roles["left_toe"]
    assert result.confidence["left_foot"] < result.confidence["left_knee"]
    assert all(0.0 < sure <= 1.0 for sure in result.confidence.values())
    assert result.confidence.keys() == result.roles.keys()
    assert 0.8 < result.overall <= 1.0


@pytest.mark.parametrize(
    ("name", "side", "part"),
    [
        ("LeftUpLeg", "left", "thigh"),
        ("lfemur", "left", "thigh"),
        ("Bip01 R Calf", "right", "shin"),
        ("upper_arm.L.001", "left", "upperarm"),
        ("m_avg_R_Hip", "right", "hip"),
        ("ORG-shin.R", "right", "shin"),
        ("LEFTFOREARM", "left", "forearm"),
        ("HandTipRight", "right", "hand"),
        ("LeftForeArmRoll", "left", None),
        ("LeftFootTop", "left", "foot"),
        ("ChestTop", None, "chest"),
        ("Head_Top", None, "head"),  # the tip of a head
        ("lTorso_Clavicle", "left", "collar"),
        ("pelvis_lowerback", None, "spine"),
        ("l_hip_knee", "left", None),  # a thigh or a shin
        ("root", None, None),
        ("lowerback", None, "spine"),
        ("leg", None, None),  # a leg without a side is nobody's
        ("", None, None),
        ("!?", None, None),
    ],
)
def test_labels_of_single_names(name, side, part):
    (label,) = labels_of([name])
    assert (label.side, label.part) == (side, part)


# --- by shape -----------------------------------------------------------------------------


Z_UP = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
FACING_BACK = np.diag([-1.0, 1.0, -1.0])


@pytest.mark.parametrize("turn", [np.eye(3), Z_UP, FACING_BACK], ids=["y up", "z up", "back"])
def test_meaningless_names_fall_back_to_the_shape(turn):
    skeleton = nameless(person(turn=turn))
    assert skeleton.role_assignment.scheme == "shape"
    assert role_points(skeleton) == role_points(person())
    assert skeleton.role_assignment.missing == ()


def test_shape_works_without_end_sites():
    skeleton = nameless(person(end_sites=False))
    expected = role_points(person(end_sites=False))
    assert role_points(skeleton) == expected
    assert skeleton.role_assignment.missing == ("head_top", "left_hand", "right_hand")


def test_shape_is_never_as_sure_as_names():
    shape, names = nameless(person()).role_assignment, person().role_assignment
    assert shape.overall < 0.7 < names.overall


def test_shape_reads_the_rest_pose():
    """Joints with arbitrary axes: only the rest rotations put the bones where they belong."""
    upright = person()
    turns = Rotation.random(len(upright), rng=np.random.default_rng(1))
    turns = Rotation.concatenate([Rotation.identity(), turns[1:]])
    parents = np.maximum(upright.parents, 0)
    local = turns[parents].inv() * turns
    turned = replace(
        nameless(upright),
        offsets=turns[parents].inv().apply(upright.offsets.copy()),
        end_offsets=turns[upright.end_parents].inv().apply(upright.end_offsets.copy()),
        rest=local.as_quat(scalar_first=True),
    )
    assert role_points(turned) == role_points(upright)


def test_foreign_names_with_side_letters_keep_their_sides():
    """Names win over places: here the toes point the wrong way."""
    joints = [(n, p, (x, y, -z)) for n, p, (x, y, z) in PERSON]
    words = dict(
        pelvis="medence", thigh="comb", shin="labszar", foot="labfej", toe="ujj",
        spine="gerinc", chest="mellkas", neck="nyak", head="fej", collar="kulcs",
        upperarm="felkar", forearm="alkar", hand="kez",
    )  # fmt: skip
    names = ["_".join(words.get(word, word) for word in n.split("_")) for n, _, _ in PERSON]
    skeleton = person(joints=joints, names=names, end_sites=False)
    assert skeleton.roles["left_knee"] == "labszar_L"
    assert skeleton.roles["right_elbow"] == "alkar_R"
    assert skeleton.role_assignment.scheme == "shape"


def test_shape_fills_in_roles_that_names_miss():
    skeleton = person()
    names = [n.replace("shin", "x1").replace("forearm", "x2").replace("thigh", "x3")
             for n in skeleton.names]  # fmt: skip
    assert role_points(replace(skeleton, names=names)) == role_points(skeleton)


# --- other creatures ----------------------------------------------------------------------


def quadruped(names=None):
    joints = [
        ("body", None, (0.0, 0.6, -0.4)),
        *(
            row
            for side, x in (("a", 0.1), ("b", -0.1))
            for row in (
                (f"hind1{side}", "body", (x, 0.58, -0.4)),
                (f"hind2{side}", f"hind1{side}", (x, 0.3, -0.35)),
                (f"hind3{side}", f"hind2{side}", (x, 0.05, -0.45)),
                (f"hind4{side}", f"hind3{side}", (x, 0.0, -0.35)),
            )
        ),
        ("back", "body", (0.0, 0.6, 0.0)),
        ("withers", "back", (0.0, 0.62, 0.4)),
        ("nape", "withers", (0.0, 0.8, 0.6)),
        ("snout", "nape", (0.0, 0.85, 0.8)),
        *(
            row
            for side, x in (("a", 0.1), ("b", -0.1))
            for row in (
                (f"fore1{side}", "withers", (x, 0.55, 0.4)),
                (f"fore2{side}", f"fore1{side}", (x, 0.3, 0.35)),
                (f"fore3{side}", f"fore2{side}", (x, 0.05, 0.4)),
                (f"fore4{side}", f"fore3{side}", (x, 0.0, 0.5)),
            )
        ),
    ]
    return person(joints=joints, end_sites=False, names=names)


def three_legged():
    """A person with one leg more, as like the others as they are to each other."""
    extra = [(n.replace("_L", "_M"), p.replace("_L", "_M"), (x, y, z - 0.1))
             for n, p, (x, y, z) in PERSON[1:5]]  # fmt: skip
    return nameless(person(joints=[*PERSON, *extra], end_sites=False))


def chain(length):
    offsets = np.tile([0.0, 0.1, 0.0], (length, 1))
    return Skeleton([f"link{i}" for i in range(length)], np.arange(length) - 1, offsets)


def spider():
    outline = "Body\n  Head\n" + "".join(
        f"  Leg_{{S}}{n}\n    Leg_{{S}}{n}_b\n      Leg_{{S}}{n}_c\n" for n in "1234"
    )
    return skeleton_of(outline, ("L", "R"))[0]


@pytest.mark.parametrize(
    "skeleton",
    [quadruped(), three_legged(), chain(1), chain(20)],
    ids=["dog", "three legs", "cube", "chain"],
)
def test_no_roles_where_there_is_no_person(skeleton):
    assert skeleton.roles == {}
    assert skeleton.role_assignment.scheme == "none"
    assert skeleton.role_assignment.missing == ROLES
    assert body_height(skeleton) is None


def test_roles_of_animals_have_low_confidence():
    dog, _ = skeleton_of(RIGS["lafan1"][1] + "  Tail\n    Tail1\n")
    assert dog.role_assignment.overall < 0.5
    assert max(spider().role_assignment.confidence.values(), default=0.0) <= 0.5


@pytest.mark.parametrize("joints", [1, 2, 3, 7, 30])
def test_any_tree_gets_an_assignment(rng, joints):
    for _ in range(20):
        parents = [-1, *(int(rng.integers(0, j)) for j in range(1, joints))]
        names = [f"{rng.choice(['L', 'R', ''])}{rng.choice(['Arm', 'Leg', 'Hip', 'x'])}{j}"
                 for j in range(joints)]  # fmt: skip
        tree = Skeleton(names, parents, rng.normal(size=(joints, 3)) * rng.integers(0, 2))
        assert set(tree.roles.values()) <= set(tree.point_names)
        body_height(tree)


# --- errors and mapping files -------------------------------------------------------------


def test_missing_roles_are_reported_with_the_existing_joints():
    with pytest.raises(
        RoleError,
        match=r"has the role left_hip, right_hip\. The skeleton has: link0, link1",
    ):
        chain(2).role_assignment.require(["left_hip", "right_hip"])
    with pytest.raises(RoleError, match=r'mapping file, for example \{"hips": "link0"\}'):
        chain(2).point("hips")
    with pytest.raises(RoleError, match="link39 and 30 more"):
        chain(70).points(["hips"])


def test_a_role_that_does_not_exist_is_corrected():
    with pytest.raises(RoleError, match="there is no role 'left_hips'; did you mean left_hip"):
        chain(2).role_assignment.require(["left_hips"])
    with pytest.raises(RoleError, match="there is no role 'zzz'; roles are hips, spine"):
        chain(2).with_roles({"zzz": "link0"})


def test_requiring_nothing_is_not_an_error():
    chain(2).role_assignment.require([])


def test_the_users_roles_override_inferred_roles():
    skeleton, _ = rig("cmu")
    mapped = skeleton.with_roles({"chest": "Spine", "head_top": None, "neck": ""})
    assert mapped.roles["chest"] == "Spine"
    assert {"head_top", "neck"} <= set(mapped.role_assignment.missing)
    assert mapped.roles["left_knee"] == "LeftLeg"
    assert mapped.role_assignment.scheme == "cmu + map"
    assert mapped.role_assignment.confidence["chest"] == 1.0
    assert chain(2).with_roles({"hips": "link1"}).role_assignment.scheme == "map"


def test_an_end_site_can_be_mapped():
    skeleton = person().with_roles({"left_wrist": "tip3"})
    assert skeleton.point("left_wrist") == len(skeleton) + 3


def test_a_mapped_joint_that_does_not_exist_is_named():
    skeleton, _ = rig("cmu")
    with pytest.raises(
        RoleError, match="left_knee is mapped to 'LeftLge', .* similar names: LeftLeg"
    ):
        skeleton.with_roles({"left_knee": "LeftLge"})
    with pytest.raises(
        RoleError, match="'Qqq', which is not in the skeleton; its points are: Hips"
    ):
        skeleton.with_roles({"left_knee": "Qqq"})


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_role_maps_come_back_from_files(tmp_path, suffix):
    skeleton, expected = rig("mixamo")
    path = save_role_map(skeleton.role_assignment, tmp_path / f"roles{suffix}")
    assert load_role_map(path) == expected
    assert skeleton.with_roles(load_role_map(path)).roles == expected
    names = {"hips": 'Becken "unten" \\ 腰', "head": None}
    path = save_role_map(names, tmp_path / f"odd{suffix}")
    assert load_role_map(path) == names
    assert [file.name for file in tmp_path.glob(".*")] == []


def test_a_saved_assignment_lists_the_missing_roles_to_fill_in(tmp_path):
    path = save_role_map(chain(2).role_assignment, tmp_path / "roles.toml")
    assert 'left_knee = ""\n' in path.read_text()
    assert chain(2).with_roles(load_role_map(path)).roles == {}


def test_toml_maps_may_hold_comments_and_a_table(tmp_path):
    path = tmp_path / "roles.toml"
    path.write_text('# ours\n[roles]\nhips = "Becken" # the pelvis\n')
    assert load_role_map(path) == {"hips": "Becken"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"hips": "x",\n "hips" }', r"a.json:2: Expecting ':' delimiter"),
        ("a.json", "[1, 2]", r"a.json: a role map must be an object .* got list"),
        ("a.json", '{"hipps": "x"}', r"a.json: there is no role 'hipps'; did you mean hips"),
        ("a.json", '{"hips": 3}', r"a.json: hips must be mapped to the name of a joint; got 3"),
        ("a.toml", "# ours\nhips = x", r"a.toml:2: Invalid value"),
        ("a.toml", "hips = ", r"a.toml: Invalid value"),
        ("a.yaml", "hips: x", r"a.yaml: the file name of a role map must end in .json or .toml"),
        ("a.json", None, r"a.json: cannot read the role map: No such file"),
        ("a.json", b"\xff\xfe{}", r"a.json: a role map must be UTF-8 text"),
    ],
)
def test_bad_role_maps_are_refused(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(MotionFormatError, match=message):
        load_role_map(tmp_path / name)


# --- stature ------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [np.eye(3), Z_UP], ids=["y up", "z up"])
def test_the_height_follows_from_the_bones(turn):
    assert body_height(person(turn=turn)) == pytest.approx(1.70, abs=0.04)
    assert body_height(person(turn=turn).scaled(100.0)) == pytest.approx(170, abs=4)


def test_without_a_top_of_the_head_a_share_is_added():
    assert body_height(person(end_sites=False)) == pytest.approx(1.70, abs=0.06)


@pytest.mark.parametrize("missing", [("head",), ("head", "neck"), ("head", "neck", "hips")])
def test_the_height_of_a_rig_without_a_head_follows_from_trunk_and_legs(missing):
    skeleton = person().with_roles(dict.fromkeys(missing))
    assert body_height(skeleton) == pytest.approx(1.70, abs=0.15)


def test_height_needs_a_leg():
    skeleton = person()
    trunk = Skeleton(["Hips", "Spine", "Head"], [-1, 0, 1], [[0, 0, 0], [0, 0.3, 0], [0, 0.3, 0]])
    assert body_height(trunk) is None
    assert body_height(skeleton.with_roles({"left_knee": None})) is not None
    assert body_height(skeleton.with_roles({"left_knee": None, "right_hip": ""})) is None
    assert body_height(skeleton.scaled(0.0)) is None


def test_a_neck_in_the_chest_stands_for_a_bone_that_was_dropped():
    """The same person as CMU's conversion would write it: neck and collars at the chest's place."""
    joints = [
        (n, p, (x, y - 0.2, z) if n in ("neck", "neck2", "head") else (x, y, z))
        for n, p, (x, y, z) in [*PERSON[:12], ("neck2", "neck", (0.0, 1.48, 0.0)), *PERSON[12:]]
    ]
    chest = (0.0, 1.25, 0.0)
    joints = [(n, p, chest if n.startswith("collar") else where) for n, p, where in joints]
    joints = [(n, "neck2" if n == "head" else p, where) for n, p, where in joints]
    crushed = person(joints=joints, end_sites=False)
    assert crushed.roles["neck"] == "neck2"
    whole = body_height(person(end_sites=False))
    assert body_height(crushed) == pytest.approx(whole, abs=0.08)


def test_a_spine_that_comes_back_adds_nothing():
    """As Second Life's, whose extra bones lead up and back to where they started."""
    detour = [("up", "pelvis", (0.0, 1.2, 0.0)), ("back", "up", PERSON[0][2])]
    rest = [(n, "back" if n == "spine" else parent, where) for n, parent, where in PERSON[1:]]
    folded = person(joints=[PERSON[0], *detour, *rest])
    assert folded.roles["chest"] == "chest"
    assert body_height(folded) == pytest.approx(body_height(person()), abs=1e-3)


# --- real data ----------------------------------------------------------------------------


def hierarchy(path):
    """Skeleton of a BVH file in its own unit: a few lines for well-formed files."""
    names, parents, offsets, ends, stack, last = [], [], [], [], [], None
    with path.open(encoding="utf-8") as lines:
        for words in map(str.split, lines):
            if words[:1] in (["ROOT"], ["JOINT"]):
                names.append(words[1])
                parents.append(stack[-1] if stack else -1)
                last = len(names) - 1
            elif words[:1] == ["End"]:
                last = -stack[-1] - 1
            elif words == ["{"]:
                stack.append(last)
            elif words == ["}"]:
                stack.pop()
            elif words[:1] == ["OFFSET"]:
                place = [float(word) for word in words[1:]]
                if last < 0:
                    ends.append((-last - 1, place))
                else:
                    offsets.append(place)
            elif words == ["MOTION"]:
                break
    return Skeleton(
        names,
        parents,
        offsets,
        end_names=[f"{names[p]} end" for p, _ in ends],
        end_parents=[p for p, _ in ends],
        end_offsets=[place for _, place in ends],
    )


@pytest.mark.cmu
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_cmu_has_all_roles_and_human_heights(cmu30, cmu_raw, every):
    files = [*sorted(cmu30.glob("*/*.bvh")), *sorted(cmu_raw.glob("*.bvh"))]
    heights = []
    for path in files[::every]:
        skeleton = hierarchy(path)
        assert skeleton.role_assignment.missing == (), path.name
        heights.append(body_height(skeleton) * 0.056444)
    human = [1.4 < height < 2.1 for height in heights]
    assert len(human) > 2400 // every
    assert np.mean(human) >= 0.99


@pytest.mark.cmu
def test_cmu_without_names_gets_the_same_roles(cmu30):
    for path in sorted(cmu30.glob("*/*.bvh"))[::100]:
        skeleton = hierarchy(path)
        assert role_points(nameless(skeleton)) == role_points(skeleton), path.name


def test_assigning_again_gives_the_same():
    skeleton, _ = rig("unreal")
    assert assign_roles(skeleton) == assign_roles(replace(skeleton))
