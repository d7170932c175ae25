"""Robots: models are read safely, any take becomes feasible, and robot files come back."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from commands import run
from naive import robot as naive
from robots import real_robot, small_humanoid
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

import motionloom as ml
from motionloom.character.robot.kernels import _bounded_step, segment_distance
from motionloom.character.robot.report import floor_depths, robot_fit
from motionloom.character.robot.retarget import retarget_to_robot
from motionloom.character.robot.solver import Poses
from motionloom.character.robot.surface import surface
from motionloom.character.robot.targets import find_targets
from motionloom.formats.own_character import character_meshes
from motionloom.formats.robot import load_robot
from motionloom.formats.robot.files import body_arrays, is_robot_file
from motionloom.motion.rotations import quaternions as rot


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return small_humanoid(tmp_path_factory.mktemp("robot"))


@pytest.fixture(scope="module")
def robot(model):
    return load_robot(model)


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


@pytest.fixture(scope="module")
def moved(walk, model):
    return walk.retarget(model)


def poses_of(robot, motion):
    root, base, angles = robot.poses(motion)
    return Poses(root, np.ascontiguousarray(rot.to_matrix(base)), angles)


def mujoco_bodies(path, motion, robot):
    """Positions (T, B, 3) of MuJoCo's bodies in the poses of a robot's motion, z up."""
    mujoco = pytest.importorskip("mujoco")
    machine = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(machine)
    rows = np.loadtxt(motion, delimiter=",")
    places = []
    for row in rows:
        data.qpos[:3], data.qpos[3], data.qpos[4:7] = row[:3], row[6], row[3:6]
        data.qpos[7:] = row[7:]
        mujoco.mj_kinematics(machine, data)
        ids = [machine.body(name).id for name in robot.body_names]
        places.append(data.xpos[ids].copy())
    return np.array(places)


# --- models -------------------------------------------------------------------------------


def test_anatomy_comes_from_the_tree_and_not_from_names(robot, tmp_path):
    roles = {role: name for role, name in robot.anatomy.roles.items() if name}
    assert roles["hips"] == "pelvis"
    assert roles["chest"] == "torso"
    assert roles["left_knee"] == "left_knee_link"
    assert roles["right_elbow"] == "right_elbow_link"
    assert roles["left_hip"] == "left_hip_yaw_link"  # three hinges at one place: the last
    assert roles["left_wrist"] == "left_wrist_pitch_link"
    text = Path(robot.path).read_text()
    for number, name in enumerate(robot.body_names):
        text = text.replace(f'name="{name}"', f'name="part{number}"')
    plain = tmp_path / "plain.xml"
    plain.write_text(text)
    other = load_robot(plain)
    places = [
        other.names.index(name) for role, name in other.anatomy.roles.items() if name in other.names
    ]
    assert places == [
        robot.names.index(n) for n in robot.anatomy.roles.values() if n in robot.names
    ]


def test_urdf_and_mjcf_give_the_same_robot(robot, tmp_path):
    other = load_robot(small_humanoid(tmp_path, "urdf", velocity=7.0))
    assert sorted(other.joint_names) == sorted(robot.joint_names)
    assert np.allclose(other.velocity, 7.0)
    order = [other.joint_names.index(name) for name in robot.joint_names]
    angles = np.linspace(-0.3, 0.3, len(order))
    there = np.empty(len(order))
    there[order] = angles
    ends = ["left_ankle_roll_link", "right_wrist_pitch_link", "torso"]
    ours, theirs = robot.zero_frames(angles)[1], other.zero_frames(there)[1]
    for end in ends:
        assert np.allclose(ours[robot.names.index(end)], theirs[other.names.index(end)], atol=1e-9)


def test_a_mapping_file_overrides_roles(model, tmp_path):
    copy = tmp_path / "mine.xml"
    copy.write_text(Path(model).read_text())
    (tmp_path / "mine.roles.json").write_text('{"left_hip": "left_hip_pitch_link"}')
    mine = load_robot(copy)
    assert mine.skeleton.roles["left_hip"] == "left_hip_pitch_link"
    assert mine.anatomy.legs[0].root == mine.names.index("left_hip_pitch_link")
    other = load_robot(copy, roles={"left_knee": "left_hip_roll_link"})
    assert other.anatomy.legs[0].middle == other.names.index("left_hip_roll_link")
    with pytest.raises(ml.RoleError, match="no_such_link"):
        load_robot(copy, roles={"left_knee": "no_such_link"})


BROKEN = {
    "not XML": ("<mujoco><worldbody>", "XML cannot be read"),
    "another document": ("<html></html>", "starts with <mujoco> or <robot>"),
    "entities": (
        '<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><mujoco model="&b;"/>',
        "entities",
    ),
    "no bodies": ("<mujoco><worldbody/></mujoco>", "no bodies"),
    "a path outside": (
        '<mujoco><asset><mesh file="../../etc/secret.stl"/></asset>'
        "<worldbody><body><freejoint/></body></worldbody></mujoco>",
        "out of the folder",
    ),
    "an include outside": ('<mujoco><include file="/etc/passwd"/></mujoco>', "out of the folder"),
    "no numbers": (
        '<mujoco><worldbody><body pos="1 2"><freejoint/></body></worldbody></mujoco>',
        "must be 3 numbers",
    ),
    "an arm": (
        '<mujoco><worldbody><body name="base"><body name="a" pos="0 0 .3"><joint axis="0 1 0"/>'
        '<geom size=".1"/></body></body></worldbody></mujoco>',
        "no pair of limbs",
    ),
    "two parents": (
        '<robot name="r"><link name="a"/><link name="b"/>'
        '<joint name="i" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint></robot>',
        "two parents",
    ),
    "a cycle": (
        '<robot name="r"><link name="a"/><link name="b"/>'
        '<joint name="i" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<joint name="j" type="fixed"><parent link="b"/><child link="a"/></joint></robot>',
        "one tree",
    ),
    "many elements": ("<mujoco>" + "<a/>" * 200_001 + "</mujoco>", "more than 200000"),
    "many classes": (
        "<mujoco><default>"
        + "".join(f'<default class="c{number}"/>' for number in range(1001))
        + "</default></mujoco>",
        "more than 1000 default classes",
    ),
    "a line without a width": (
        '<mujoco><worldbody><body><freejoint/><geom type="capsule" fromto="0 0 0 0 0 1"/></body>'
        "</worldbody></mujoco>",
        "has no size",
    ),
    "a long name": (
        f'<mujoco><asset><mesh name="m" file="{"a" * 3000}.stl"/></asset><worldbody><body>'
        '<freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>',
        "no hinges",
    ),
    "too deep": ("<mujoco>" + "<default>" * 300 + "</default>" * 300 + "</mujoco>", "nested"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_wrong_models_give_one_clear_line(case, tmp_path):
    text, expected = BROKEN[case]
    path = tmp_path / "wrong.xml"
    path.write_text(text)
    with pytest.raises(ml.MotionloomError, match=expected) as error:
        load_robot(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_a_mesh_that_is_used_often_counts_often(model, tmp_path, monkeypatch):
    (tmp_path / "a.stl").write_bytes(bytes(100_000))
    geom = '<geom type="mesh" mesh="a"/>'
    text = model.read_text().replace(
        "<worldbody>", '<asset><mesh file="a.stl"/></asset><worldbody>'
    )
    path = tmp_path / "many.xml"
    path.write_text(text.replace("<freejoint/>", "<freejoint/>" + geom * 50, 1))
    monkeypatch.setattr("motionloom.formats.robot.draft._LARGEST_MESHES", 4_000_000)
    with pytest.raises(ml.MotionFormatError, match="the meshes have more than"):
        load_robot(path)


def test_a_quadruped_is_refused(tmp_path):
    legs = ""
    for x in (0.2, -0.2):
        for y in (0.1, -0.1):
            legs += (
                f'<body name="l{x}{y}" pos="{x} {y} 0"><joint axis="0 1 0"/>'
                '<body pos="0 0 -0.2"><joint axis="0 1 0"/><body pos="0 0 -0.2">'
                '<joint axis="0 1 0"/><geom type="box" size=".05 .03 .01"/></body></body></body>'
            )
    path = tmp_path / "dog.xml"
    path.write_text(
        f'<mujoco><worldbody><body name="b"><freejoint/>{legs}</body></worldbody></mujoco>'
    )
    with pytest.raises(ml.MotionFormatError, match="as in an animal"):
        load_robot(path)


def test_missing_meshes_are_a_warning_and_missing_feet_an_error(model, tmp_path):
    text = (
        Path(model)
        .read_text()
        .replace(
            "<worldbody>",
            '<asset><mesh name="shell" file="shell.stl"/></asset><worldbody>',
        )
    )
    shown = text.replace(
        '<geom type="sphere" size="0.08"/>',
        '<geom type="sphere" size="0.08"/><geom type="mesh" mesh="shell" contype="0" '
        'conaffinity="0"/>',
    )
    path = tmp_path / "shown.xml"
    path.write_text(shown)
    assert "shell.stl does not exist" in load_robot(path).warnings[0]
    import re

    bare = tmp_path / "bare.xml"
    bare.write_text(re.sub(r'<geom type="box"[^>]*>', '<geom type="mesh" mesh="shell"/>', text))
    with pytest.raises(ml.MotionFormatError, match="foot .* has no shape"):
        load_robot(bare)


# --- kernels against references -----------------------------------------------------------


def test_forward_kinematics_equals_the_naive_one(robot):
    rng = np.random.default_rng(1)
    model = [
        {
            "parent": int(robot.parents[n]),
            "offset": robot.offsets[n],
            "rest": robot.rest[n],
            "axis": robot.axes[n],
            "hinge": int(robot.node_hinges[n]) if robot.node_hinges[n] >= 0 else None,
        }
        for n in range(len(robot.names))
    ]
    angles = rng.uniform(robot.lower, robot.upper)
    base = rot.normalize(rng.normal(size=4))
    root = rng.normal(size=3)
    turns, places = naive.body_frames(model, root, base, angles)
    ours = Poses(root[None], rot.to_matrix(base)[None], angles[None]).frames(robot)
    assert np.allclose(ours[1][0], places, atol=1e-12)
    assert np.allclose(ours[0][0], [turn.as_matrix() for turn in turns], atol=1e-12)
    motion = robot.motion(root[None], base[None], angles[None], 30.0)
    assert np.allclose(motion.positions()[0], places, atol=1e-5)


def test_segment_distance_equals_the_naive_one():
    rng = np.random.default_rng(2)
    near = np.zeros(6)
    for _ in range(40):
        p, q, r, s = rng.normal(size=(4, 3))
        ours = segment_distance(p, q, r, s, near)
        assert ours == pytest.approx(naive.segment_distance(p, q, r, s), abs=0.02)
        assert np.linalg.norm(near[:3] - near[3:]) == pytest.approx(ours, abs=1e-12)


def test_bounded_steps_equal_bounded_least_squares():
    rng = np.random.default_rng(3)
    worse = 0
    for _ in range(30):
        a, b = rng.normal(size=(20, 8)), rng.normal(size=20)
        low, high = -rng.uniform(0.0, 0.2, 8), rng.uniform(0.0, 0.2, 8)
        normal, gradient = a.T @ a + 1e-9 * np.eye(8), a.T @ b
        step, work = np.zeros(8), np.zeros(8)
        _bounded_step(normal, gradient, low, high, step, np.zeros(8, bool), np.zeros((8, 8)), work)
        assert (step >= low).all() and (step <= high).all()
        best = lsq_linear(a, b, (low, high)).x
        reached, least = (float(np.sum((a @ x - b) ** 2)) for x in (step, best))
        assert reached < float(np.sum(b * b))
        worse += reached > 1.001 * least
    assert worse <= 1


# --- retargeting --------------------------------------------------------------------------


def test_a_walk_becomes_feasible(robot, moved, walk):
    fit = moved.quality.robot
    assert fit.verdict == "feasible", fit.verdict
    assert fit.penetration_duration == 0.0
    assert fit.sliding_duration <= 0.01
    assert fit.contact_preservation >= 0.99
    assert fit.hand_error_m < 0.03 and fit.foot_error_m < 0.03
    assert "feasible" in moved.quality.line()
    assert moved.fps == walk.fps and len(moved) == len(walk)


@pytest.mark.parametrize("clip", ["kick_front_high_left", "jump_up", "pick_up_low"])
def test_limits_are_never_passed(robot, clip):
    motion = ml.demo.clip(clip)
    result = retarget_to_robot(motion, robot)
    angles = robot.poses(result)[2]
    assert (angles >= robot.lower).all() and (angles <= robot.upper).all()
    speed = np.abs(np.diff(angles, axis=0)) * motion.fps
    assert (speed <= robot.velocity * (1 + 1e-4)).all()
    assert result.quality.robot.velocity_ratio <= 1.0 + 1e-6
    assert result.quality.robot.limit_margin_rad >= 0.0
    turns, places = poses_of(robot, result).frames(robot)
    assert floor_depths(robot, turns, places).max() < 0.01


def test_slow_hinges_stay_within_their_speed(tmp_path):
    slow = load_robot(small_humanoid(tmp_path, "urdf", velocity=1.5))
    motion = ml.demo.clip("kick_front_high_left")
    angles = slow.poses(retarget_to_robot(motion, slow))[2]
    assert np.abs(np.diff(angles, axis=0)).max() * motion.fps <= 1.5 * (1 + 1e-4)


def test_feet_are_flat_and_locked_in_contact(robot, walk, moved):
    contacts = find_targets(walk, robot).contacts
    turns, places = poses_of(robot, moved).frames(robot)
    for side, leg in zip(("left", "right"), robot.anatomy.legs, strict=True):
        up = turns[:, leg.last, :, 1] @ np.array([0.0, 1.0, 0.0])
        flat = contacts[f"{side}_heel"] & contacts[f"{side}_ball"]
        assert np.degrees(np.arccos(up[flat])).max() < 3.0
        toe = places[:, leg.last] + turns[:, leg.last] @ leg.tip
        for start, end in contacts.intervals(f"{side}_ball"):
            assert np.ptp(toe[start:end], axis=0).max() < 0.01


def test_any_skeleton_is_a_source(robot, walk):
    stranger = walk.retarget(walk.skeleton.scaled(0.6))
    fit = retarget_to_robot(stranger, robot).quality.robot
    assert fit.verdict == "feasible", fit.verdict


def test_a_robots_own_take_is_not_changed_and_a_blend_is_solved_again(robot, moved, model):
    same = moved.retarget(model)
    assert np.array_equal(same.rotations, moved.rotations)
    bent = moved.rotations.copy()
    knee = robot.skeleton.joint("left_knee_link")
    bent[:, knee] = rot.multiply(bent[:, knee], rot.from_axis_angle([0, 1, 0], 0.2))
    from dataclasses import replace

    blend = replace(moved, rotations=bent)
    assert not robot.is_mine(blend)
    assert robot.is_mine(blend.retarget(model))


def test_the_report_equals_the_naive_measures(robot, walk, moved):
    rng = np.random.default_rng(4)
    exact = poses_of(robot, moved)
    shaken = exact.root + rng.normal(scale=0.02, size=exact.root.shape)  # slides and sinks
    poses = Poses(shaken, exact.base, exact.angles)
    contacts = find_targets(walk, robot).contacts
    fit = robot_fit(walk, robot, poses, contacts)
    turns, places = poses.frames(robot)
    depths = floor_depths(robot, turns, places)
    duration, depth = naive.penetration(depths.max(axis=1).tolist())
    assert (fit.penetration_duration, fit.penetration_depth_m) == pytest.approx((duration, depth))
    assert fit.penetration_duration > 0.1
    from motionloom.motion.kinematics.body import leg_length

    scale = leg_length(robot.skeleton) / leg_length(walk.skeleton)
    ball = walk.role_positions(["left_foot", "right_foot"]).astype(float)
    toes = np.stack(
        [places[:, leg.last] + turns[:, leg.last] @ leg.tip for leg in robot.anatomy.legs], axis=1
    )
    duration, step = naive.sliding(list(scale * ball), list(toes))
    assert fit.sliding_duration == pytest.approx(duration) and duration > 0.1
    assert fit.sliding_speed_m_s == pytest.approx(step * walk.fps)
    feet = [surface(robot).floor_nodes == leg.last for leg in robot.anatomy.legs]
    heights = np.stack([-depths[:, foot].max(axis=1) for foot in feet], axis=1)
    kept = naive.contact_preservation(scale * (ball[:, :, 1] - contacts.floor), heights)
    assert fit.contact_preservation == pytest.approx(kept) and kept < 1.0


# --- files --------------------------------------------------------------------------------


def test_exported_csv_replays_in_mujoco(robot, moved, model, tmp_path):
    path = moved.save(tmp_path / "walk.csv")
    theirs = mujoco_bodies(model, path, robot)
    arrays = body_arrays(robot, *robot.poses(moved), moved.fps)
    assert np.abs(arrays["body_pos_w"] - theirs).max() < 1e-3


@pytest.mark.parametrize("name", ["walk.csv", "walk.npz"])
def test_robot_files_come_back(robot, moved, model, tmp_path, name):
    path = moved.save(tmp_path / name)
    assert is_robot_file(path)
    again = ml.load(path, skeleton=model)
    assert again.skeleton.key == moved.skeleton.key
    assert np.abs(again.positions() - moved.positions()).max() < 1e-4
    assert again.fps == moved.fps
    assert ml.load(moved.save(tmp_path / "60.csv"), skeleton=model, fps=60.0).fps == 60.0


def test_bones_seed_layout(robot, moved, model, tmp_path):
    path = moved.save(tmp_path / "bones.csv", layout="bones-seed")
    head, first = path.read_text().splitlines()[:2]
    assert head.startswith("Frame,root_translateX,root_translateY,root_translateZ,root_rotateX")
    assert head.endswith("_dof")
    values = [float(cell) for cell in first.split(",")]
    root, base, _ = robot.poses(moved)
    assert values[3] == pytest.approx(100 * root[0, 1], abs=1e-3)  # z up, in centimeters
    w, x, y, z = base[0]
    turn = Rotation.from_euler("xyz", values[4:7], degrees=True).as_quat()
    assert abs(turn @ [z, x, y, w]) == pytest.approx(1.0, abs=1e-7)
    again = ml.load(path, skeleton=model, fps=moved.fps)
    assert np.abs(again.positions() - moved.positions()).max() < 1e-4
    assert ml.load(path, skeleton=model).fps == 120.0


def test_gmrs_pickle_is_written_and_never_read(moved, model, tmp_path):
    path = moved.save(tmp_path / "walk.pkl")
    content = pickle.loads(path.read_bytes())
    assert set(content) >= {"fps", "root_pos", "root_rot", "dof_pos"}
    assert content["dof_pos"].shape == (len(moved), 25)
    assert np.allclose(np.linalg.norm(content["root_rot"], axis=1), 1.0)
    assert content["root_pos"][0, 2] == pytest.approx(moved.root[0, 1], abs=1e-6)
    with pytest.raises(ml.MotionFormatError, match="can run code"):
        ml.load(path, skeleton=model)


def test_velocities_in_npz_are_derivatives(robot, moved):
    arrays = body_arrays(robot, *robot.poses(moved), moved.fps)
    t, dt = 40, 1.0 / moved.fps
    step = (arrays["body_pos_w"][t + 1] - arrays["body_pos_w"][t - 1]) / (2 * dt)
    assert np.allclose(arrays["body_lin_vel_w"][t], step, atol=1e-4)
    a, b = (Rotation.from_quat(arrays["body_quat_w"][k][:, [1, 2, 3, 0]]) for k in (t - 1, t + 1))
    assert np.allclose(arrays["body_ang_vel_w"][t], (b * a.inv()).as_rotvec() / (2 * dt), atol=1e-3)


def test_a_table_needs_its_robot(moved, model, tmp_path, robot):
    path = moved.save(tmp_path / "walk.csv")
    with pytest.raises(ml.MotionFormatError, match="does not contain its robot"):
        ml.load(path)
    (tmp_path / "small.xml").write_text(Path(model).read_text())
    assert len(ml.load(path)) == len(moved)  # the model next to the file
    rows = path.read_text().splitlines()
    path.write_text("\n".join(row.rsplit(",", 1)[0] for row in rows) + "\n")
    with pytest.raises(ml.MotionFormatError, match="expected 32 columns"):
        ml.load(path)
    path.write_text(rows[0] + "\n" + "nan" + rows[1][rows[1].index(",") :] + "\n")
    with pytest.raises(ml.MotionFormatError, match="cannot be read|finite"):
        ml.load(path, skeleton=model)


def test_the_robots_shape_follows_its_motion(robot, moved):
    (mesh,) = character_meshes(moved)
    assert mesh.volume() > 0.01
    frame = 50
    shown = mesh.posed(moved, frame)
    turns, places = poses_of(robot, moved).frames(robot)
    depth = floor_depths(robot, turns, places)[frame].max()
    assert shown[:, 1].min() == pytest.approx(-depth, abs=0.005)


# --- the whole way ------------------------------------------------------------------------


def test_command_line(model, tmp_path):
    source = ml.demo.clip("walk")[:40].save(tmp_path / "walk.bvh")
    out = tmp_path / "walk.csv"
    done = run("convert", source, out, "--character", model, "--inspect", tmp_path / "worst.png")
    assert done.exit_code == 0, done.output
    assert "frame rate: 30 fps, which CSV files of robots do not state" in done.stderr
    assert out.is_file() and (tmp_path / "worst.png").stat().st_size > 1000
    for suffix in ("npz", "pkl", "glb"):
        assert run("convert", source, tmp_path / f"w.{suffix}", "--character", model).exit_code == 0
    report = run("convert", source, out, "--character", model, "--json")
    assert '"penetration_duration"' in report.stdout
    wrong = run("convert", source, out, "--layout", "bones-seed")
    assert wrong.exit_code != 0 and "--character" in str(wrong.exception)


@pytest.mark.parametrize("rate", ["-5", "0", "nan", "inf", "fast"])
def test_the_rate_of_robot_files_must_be_positive(model, tmp_path, rate):
    take = ml.demo.clip("walk")[:20].save(tmp_path / "walk.bvh")
    wrong = run("import", tmp_path / "new.loom", take, "--character", f"{model}@{rate}")
    assert "the rate after @ must be a positive number" in str(wrong.exception)
    assert not (tmp_path / "new.loom").exists()


def test_robot_takes_are_imported_searched_and_joined(model, tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "small.xml").write_text(Path(model).read_text())
    for clip in ("walk", "walk_left"):
        ml.demo.clip(clip).retarget(model).save(folder / f"{clip}.csv")
    library = ml.Library.create(tmp_path / "robot.loom")
    library.add(folder)
    assert sorted(library.names) == ["walk", "walk_left"]
    hits = library.search("walk:20-60", method="dtw", max=5)
    assert {hit.motion for hit in hits} == {"walk", "walk_left"}
    made = library.motion_graph().walk(seconds=4, seed=1)
    robot = load_robot(model)
    result = made.retarget(model)
    assert robot.is_mine(result)
    result.save(tmp_path / "made.csv")


# --- real robots --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["g1", "g1.urdf", "t1", "t1.urdf", "h1.urdf"])
def test_real_robots_work_from_their_files(name, walk, tmp_path):
    path = real_robot(name)
    robot = load_robot(path)
    result = walk.retarget(path)
    fit = result.quality.robot
    assert fit.limit_margin_rad >= 0.0 and fit.velocity_ratio <= 1.0
    assert fit.penetration_duration == 0.0 and fit.sliding_duration < 0.02
    assert fit.foot_error_m < 0.06 and fit.hand_error_m < 0.08, str(fit)
    if path.suffix == ".xml":
        file = result.save(tmp_path / "walk.csv")
        ours = body_arrays(robot, *robot.poses(result), result.fps)["body_pos_w"]
        assert np.abs(ours - mujoco_bodies(path, file, robot)).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arm", "quadruped"])
def test_real_machines_without_a_human_shape_are_refused(name):
    with pytest.raises(ml.MotionFormatError, match="must be a humanoid"):
        load_robot(real_robot(name))
