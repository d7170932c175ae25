"""FBX: what we write, record by record; what ufbx reads; damage."""

from dataclasses import replace

import numpy as np
import pytest
from naive.fbx import NaiveFbx

import motionloom as ml
from motionloom.character import body_mesh
from motionloom.errors import InvalidInput, MissingExtra, MotionFormatError
from motionloom.formats import fbx
from motionloom.formats.fbx import reader
from motionloom.formats.fbx.writer import euler_curves
from motionloom.formats.presets import apply_preset
from motionloom.motion import Scene
from motionloom.motion.rotations import quaternions as rot

WALK = ml.demo.clip("walk")[:40]
PRESETS = {"unreal": ("cm", "z"), "unity": ("m", "y"), "maya": ("cm", "y"),
           "motionbuilder": ("cm", "y"), "mixamo": ("cm", "y")}  # fmt: skip
METERS = {"cm": 0.01, "m": 1.0}


def needs_ufbx():
    return pytest.importorskip("ufbx", reason="the extra fbx is not installed")


def world(places, unit, up):
    """Places of a file in meters, y up."""
    places = np.asarray(places) * METERS[unit]
    return places if up == "y" else places[..., [0, 2, 1]] * [1.0, 1.0, -1.0]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_joint_is_where_it_is_in_the_motion(tmp_path, preset):
    unit, up = PRESETS[preset]
    motion = apply_preset(WALK, preset)
    file = NaiveFbx(motion.save(tmp_path / "a.fbx", unit=unit, up=up, mesh="none"))
    (take,) = file.of("AnimationStack")
    assert file.settings["UnitScaleFactor"] == 100.0 * METERS[unit]
    assert file.settings["UpAxis"] == {"y": 1, "z": 2}[up]
    for frame in (0, 17, 39):
        positions = file.positions(frame / motion.fps, take)
        assert list(positions) == list(motion.skeleton.point_names)
        places = world(list(positions.values()), unit, up)
        assert np.abs(places - motion.positions(end_sites=True)[frame]).max() < 1e-5


def test_a_joint_without_length_gets_a_tip_that_is_not_read_back(tmp_path):
    """Blender would make it a bone of 0.1 mm, whose direction single precision loses."""
    needs_ufbx()
    skeleton = WALK.skeleton
    hand, offsets = skeleton.joint("RightHand"), skeleton.end_offsets.copy()
    offsets[skeleton.end_parents == hand] = 0.0
    wrist = replace(WALK, skeleton=replace(skeleton, end_offsets=offsets))
    path = wrist.save(tmp_path / "a.fbx", mesh="none")
    (take,) = NaiveFbx(path).of("AnimationStack")
    places = NaiveFbx(path).positions(0.0, take)
    assert set(places) - set(skeleton.point_names) == {"RightHand_tip"}
    tip, joint, elbow = (
        np.array(places[name]) for name in ("RightHand_tip", "RightHand", "RightForeArm")
    )
    assert np.linalg.norm(tip - joint) == pytest.approx(6.0)  # centimeters
    again = ml.load(path).skeleton
    assert again.point_names == skeleton.point_names
    rest = ml.load(path).rest_pose().positions()[0]
    ahead = rest[again.joint("RightHand")] - rest[again.joint("RightForeArm")]
    assert np.linalg.norm(joint - elbow) == pytest.approx(100.0 * np.linalg.norm(ahead), rel=1e-3)


def test_a_root_bone_carries_the_root_motion(tmp_path):
    file = NaiveFbx(apply_preset(WALK, "unreal").save(tmp_path / "a.fbx", up="z", mesh="none"))
    (take,) = file.of("AnimationStack")
    roots = np.array([file.positions(k / WALK.fps, take)["root"] for k in (0, 39)])
    hips = np.array([file.positions(k / WALK.fps, take)["pelvis"] for k in (0, 39)])
    assert np.abs(roots[:, 2]).max() < 1e-3  # on the floor
    assert np.linalg.norm(roots[1] - roots[0]) > 50.0  # centimeters
    assert np.abs((hips - roots)[:, :2]).max() < 5.0  # below the hips


def test_the_skin_is_that_of_the_body(tmp_path):
    file = NaiveFbx(WALK.save(tmp_path / "a.fbx", mesh="low"))
    body = body_mesh(WALK.skeleton, detail="low")
    ((_, _, geometry),) = file.of("Geometry").values()
    parts = {name: values[0] for name, values, _ in geometry if values}
    np.testing.assert_allclose(parts["Vertices"].reshape(-1, 3), 100.0 * body.vertices, atol=1e-4)
    corners = parts["PolygonVertexIndex"].reshape(-1, 3).copy()
    assert (corners[:, 2] < 0).all()
    corners[:, 2] = -corners[:, 2] - 1
    np.testing.assert_array_equal(corners, body.triangles)
    total = np.zeros(len(body.vertices))
    for number, (_, _, children) in file.of("Deformer", "Cluster").items():
        stored = {name: values[0] for name, values, _ in children if values}
        np.add.at(total, stored["Indexes"], stored["Weights"])
        (bone,) = file.into(number)
        joint = WALK.skeleton.names.index(file.name(bone))
        link = stored["TransformLink"].reshape(4, 4).T
        np.testing.assert_allclose(link[:3, 3], 100.0 * body.bind[joint, :3, 3], atol=1e-4)
        np.testing.assert_allclose(stored["Transform"].reshape(4, 4).T @ link, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(total, 1.0, atol=1e-6)


def test_several_takes_of_one_skeleton(tmp_path):
    jog = replace(WALK, rotations=WALK.rotations[::-1], name="back")
    fbx.write(WALK, tmp_path / "a.fbx", takes=[jog[:9]], mesh="none")
    file = NaiveFbx(tmp_path / "a.fbx")
    assert file.takes == ["walk_p0", "back"]
    first, second = file.of("AnimationStack")
    hand = WALK.skeleton.end_names[-1]
    for take, motion in ((first, WALK), (second, jog)):
        wanted = motion.positions(end_sites=True)[8, -1]
        positions = file.positions(8 / WALK.fps, take)[hand] * 0.01
        assert np.abs(positions - wanted).max() < 1e-5


def test_euler_angles_continue_where_they_wrap(rng):
    axis = rng.normal(size=(5, 3))
    spins = rot.from_axis_angle(axis, np.linspace(0, 14.0, 200)[:, None])
    angles = euler_curves(spins)
    again = rot.from_euler(np.radians(angles[..., ::-1]), "ZYX")
    assert rot.angle_between(again, spins).max() < 1e-6
    about_x = euler_curves(rot.from_axis_angle(np.eye(3)[:1], np.linspace(0, 14, 200)[:, None]))
    assert np.abs(np.diff(about_x, axis=0)).max() < 5.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"up": "x"}, "up axis of an FBX file must be y or z; got 'x'"),
        ({"takes": [WALK.resample(60)]}, "must have the same rate; got .30.0, 60.0."),
        ({"takes": [ml.demo.clip("walk", performer=2)]}, "'walk_p2' has a different skeleton"),
        ({"takes": [WALK[:0]]}, "each motion at least one frame"),
    ],
)
def test_reports_unsupported_output(tmp_path, options, message):
    with pytest.raises(InvalidInput, match=message):
        fbx.write(WALK, tmp_path / "a.fbx", **options)
    assert not list(tmp_path.iterdir())


def test_several_takes_need_one_character(tmp_path):
    with pytest.raises(InvalidInput, match="several takes can be written only for one character"):
        fbx.write(Scene([WALK, WALK], names=["a", "b"]), tmp_path / "a.fbx", takes=[WALK])


def test_reading_needs_an_extra_and_writing_does_not(tmp_path, monkeypatch):
    path = WALK.save(tmp_path / "a.fbx", mesh="none")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'motionloom\[fbx\]'"):
        ml.load(path)


# --- through ufbx ---------------------------------------------------------------------------


def test_comes_back_with_rest_pose_takes_and_end_sites(tmp_path, rng, monkeypatch):
    needs_ufbx()
    rest = rot.exp(rng.normal(scale=0.4, size=(len(WALK.skeleton), 3)))
    motion = replace(WALK, skeleton=replace(WALK.skeleton, rest=rest))
    fbx.write(motion, tmp_path / "a.fbx", takes=[replace(motion, name="other")[:7]], mesh="none")
    again = ml.load(tmp_path / "a.fbx")
    assert again.skeleton.names == motion.skeleton.names
    assert again.skeleton.end_names == motion.skeleton.end_names
    assert (again.fps, len(again), again.origin.up, again.origin.unit_m) == (30.0, 40, "y", 0.01)
    assert np.abs(again.positions(end_sites=True) - motion.positions(end_sites=True)).max() < 1e-5
    assert rot.angle_between(again.skeleton.rest, rest).max() < 1e-5
    assert "one of 2 takes, 'walk_p0', was read; the others are other" in again.origin.warnings[0]
    other = ml.load(tmp_path / "a.fbx", animation="other")
    assert (len(other), other.name) == (7, "other")
    with pytest.raises(
        MotionFormatError, match="no animation 'jump'. Animations in the file: walk_p0"
    ):
        ml.load(tmp_path / "a.fbx", animation="jump")
    with pytest.raises(
        MotionFormatError, match="no skeleton is called 'Bob'. Skeletons in the file: Hips"
    ):
        ml.load(tmp_path / "a.fbx", skeleton="Bob")
    monkeypatch.setenv("MOTIONLOOM_READ_SECONDS", "0")
    with pytest.raises(
        InvalidInput, match="READ_SECONDS must be a positive number of seconds; got 0"
    ):
        ml.load(tmp_path / "a.fbx")


ASCII = """; FBX 7.4.0 project file
FBXHeaderExtension:  {{
    FBXVersion: 7400
}}
GlobalSettings:  {{
    Properties70:  {{
        P: "UpAxis", "int", "Integer", "",2
        P: "UpAxisSign", "int", "Integer", "",1
        P: "FrontAxis", "int", "Integer", "",1
        P: "FrontAxisSign", "int", "Integer", "",-1
        P: "CoordAxis", "int", "Integer", "",0
        P: "CoordAxisSign", "int", "Integer", "",1
        P: "UnitScaleFactor", "double", "Number", "",2.54
    }}
}}
Objects:  {{
    NodeAttribute: 11, "NodeAttribute::hip", "{kind}" {{
        TypeFlags: "Skeleton"
    }}
    NodeAttribute: 12, "NodeAttribute::knee", "{kind}" {{
        TypeFlags: "Skeleton"
    }}
    Model: 1, "Model::hip", "{kind}" {{
        Properties70:  {{
            P: "RotationActive", "bool", "", "",1
            P: "PreRotation", "Vector3D", "Vector", "",0,0,90
            P: "PostRotation", "Vector3D", "Vector", "",0,0,30
            P: "Lcl Translation", "Lcl Translation", "", "A",0,0,40
        }}
    }}
    Model: 2, "Model::knee", "{kind}" {{
        Properties70:  {{
            P: "Lcl Translation", "Lcl Translation", "", "A",10,0,0
        }}
    }}
}}
Connections:  {{
    C: "OO",1,0
    C: "OO",2,1
    C: "OO",11,1
    C: "OO",12,2
}}
"""


def test_text_files_in_inches_z_up_with_pre_and_post_rotation(tmp_path):
    needs_ufbx()
    (tmp_path / "a.fbx").write_text(ASCII.format(kind="LimbNode"))
    motion = ml.load(tmp_path / "a.fbx")
    assert "no animation moves this skeleton" in motion.origin.warnings[0]
    hip, knee = motion.positions()[0]
    np.testing.assert_allclose(hip, [0.0, 40 * 0.0254, 0.0], atol=1e-6)
    # Pre- minus post-rotation: 60 degrees about z, which is up.
    wanted = 0.254 * np.array([np.cos(np.pi / 3), 0.0, -np.sin(np.pi / 3)])
    np.testing.assert_allclose(knee - hip, wanted, atol=1e-6)
    assert (motion.origin.up, round(motion.origin.unit_m, 4)) == ("z", 0.0254)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "ufbx cannot read this file"),
        (
            b"Kaydara FBX Binary  \x00\x1a\x00\xe8\x1c\x00\x00",
            "ufbx cannot read this file|no skeleton",
        ),
        (b"hello", "ufbx cannot read this file|no skeleton"),
        (ASCII.format(kind="Null").encode(), "no skeleton, because it has no limb node, no skin"),
    ],
)
def test_reports_unreadable_files(tmp_path, content, message):
    needs_ufbx()
    (tmp_path / "a.fbx").write_bytes(content)
    with pytest.raises(MotionFormatError, match=message):
        ml.load(tmp_path / "a.fbx")


def test_a_crash_of_the_library_is_reported(tmp_path, monkeypatch):
    needs_ufbx()
    path = WALK.save(tmp_path / "a.fbx", mesh="none")
    (tmp_path / "crash.py").write_text("import os\nos.abort()\n")
    monkeypatch.setattr(reader.script, "__file__", str(tmp_path / "crash.py"))
    with pytest.raises(
        MotionFormatError, match="the file is damaged: ufbx crashed while reading it .exit code -6"
    ):
        ml.load(path)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 150))]
)
def test_damaged_files_are_refused_or_read(tmp_path, seed, monkeypatch):
    monkeypatch.setenv("MOTIONLOOM_READ_SECONDS", "60")
    needs_ufbx()
    rng = np.random.default_rng(seed)
    path = WALK[:5].save(tmp_path / "a.fbx", mesh="none")
    data = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 8))):
        place = int(rng.integers(0, len(data)))
        data[place : place + int(rng.integers(0, 4))] = rng.bytes(int(rng.integers(0, 4)))
    if seed % 3 == 0:
        data = data[: int(rng.integers(0, len(data)))]
    path.write_bytes(data)
    try:
        motion = ml.load(path)
    except MotionFormatError as error:
        assert str(path) in str(error)
    else:
        assert np.isfinite(motion.positions()).all()
