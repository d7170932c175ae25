"""AMASS: poses of SMPL, SMPL-H and SMPL-X on a neutral skeleton; hostile archives."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motionloom as ml
from motionloom.errors import MotionFormatError
from motionloom.formats import amass
from motionloom.formats.amass import MODELS, PELVIS, smpl_skeleton
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.rotations import quaternions as rot

STANDING = np.array([np.pi / 2, 0.0, 0.0])  # from the model's y up to the world's z up


def arrays(frames=5, width=156, **more):
    poses = np.zeros((frames, width))
    poses[:, :3] = STANDING
    trans = np.tile([1.0, 2.0, 0.95], (frames, 1))
    return {"poses": poses, "trans": trans, "mocap_framerate": np.array(120.0), **more}


@pytest.fixture
def file(tmp_path):
    def written(**content):
        path = tmp_path / "walk_poses.npz"
        np.savez_compressed(path, **content)
        return path

    return written


@pytest.mark.parametrize("joints", MODELS)
def test_the_neutral_skeleton_is_a_person(joints):
    skeleton = smpl_skeleton(joints)
    assert len(skeleton) == joints
    assert 1.6 < body_height(skeleton) < 1.8
    assert len(skeleton.roles) >= 24
    points = ml.Motion(skeleton, np.tile(rot.IDENTITY, (1, joints, 1)), np.zeros((1, 3)), 1)
    places = dict(zip(skeleton.point_names, points.positions(end_sites=True)[0], strict=True))
    for name, place in places.items():
        if name.startswith("left_"):
            np.testing.assert_allclose(
                places[name.replace("left", "right")], place * [-1, 1, 1], atol=1e-6
            )


@pytest.mark.parametrize(("width", "joints"), [(66, 22), (72, 24), (156, 52), (165, 55)])
def test_all_models_stand_upright(file, width, joints):
    motion = ml.load(file(**arrays(width=width, betas=np.zeros(16), gender=np.array("neutral"))))
    assert (len(motion), len(motion.skeleton), motion.fps) == (5, joints, 120.0)
    points = motion.role_positions(["head", "left_ankle", "right_ankle", "hips"])[0]
    assert points[0, 1] - points[1, 1] > 1.3
    assert points[1, 0] > points[2, 0]  # the left is at +x
    # `trans` moves the model's pelvis, which does not lie in its origin; world z is our y.
    x, y, z = np.array([1.0, 2.0, 0.95]) + PELVIS
    np.testing.assert_allclose(points[3], [x, z, -y], atol=1e-6)
    assert motion.origin.up == "z"
    assert "betas" in motion.origin.warnings[0]


def test_rotations_are_the_files_own(file, rng):
    content = arrays()
    content["poses"][:, 3:] = rng.normal(scale=0.5, size=(5, 153))
    motion = ml.load(file(**content))
    for joint in (1, 17, 40):
        vectors = content["poses"][:, 3 * joint : 3 * joint + 3]
        assert rot.angle_between(motion.rotations[:, joint], rot.exp(vectors)).max() < 1e-5


def test_a_turn_in_the_world_is_a_turn_of_the_body(file):
    content = arrays()
    spin = rot.multiply(rot.from_axis_angle([0, 0, 1], 0.7), rot.exp(STANDING))
    content["poses"][:, :3] = rot.log(spin)
    motion = ml.load(file(**content))
    np.testing.assert_allclose(motion.headings(), 0.7, atol=1e-5)


def test_names_of_the_rate(file):
    content = arrays()
    del content["mocap_framerate"]
    assert ml.load(file(**content, mocap_frame_rate=np.float32(59.94))).fps == 59.94
    assert ml.load(file(**content), fps=25).fps == 25.0
    assumed = ml.load(file(**content))
    assert assumed.fps == 30.0 and "30 fps are assumed" in assumed.origin.warnings[1]
    with pytest.raises(MotionFormatError, match="mocap_framerate must be a single positive number"):
        ml.load(file(**content, mocap_framerate=np.zeros(1)))


def test_a_pose_in_parts(file):
    parts = {"root_orient": np.tile(STANDING, (4, 1)), "pose_body": np.zeros((4, 63))}
    more = {"trans": np.zeros((4, 3)), "mocap_frame_rate": np.array(30.0)}
    assert len(ml.load(file(**parts, **more)).skeleton) == 22
    face = {"pose_jaw": np.zeros((4, 3)), "pose_eye": np.zeros((4, 6))}
    whole = ml.load(file(**parts, **face, pose_hand=np.zeros((4, 90)), **more))
    assert len(whole.skeleton) == 55
    with pytest.raises(MotionFormatError, match=r"pose_body \(T, 63\) or \(T, 69\)"):
        ml.load(file(**{**parts, "pose_body": np.zeros((4, 60))}, **more))


def test_y_up_by_option_and_a_warning_by_default(file):
    content = arrays()
    content["poses"][:] = 0.0  # stands still
    content["trans"][:] = [0, 0.95, 0]
    path = file(**content)
    assert any("If z is not the up axis" in text for text in ml.load(path).origin.warnings)
    motion = ml.load(path, up="y")
    assert motion.role_positions(["head"])[0, 0, 1] > 1.2


def test_without_trans_the_figure_stays(file):
    content = arrays()
    del content["trans"]
    motion = ml.load(file(**content))
    assert motion.repairs == ("the file has no root path (trans), so the figure stays in place",)
    with pytest.raises(MotionFormatError, match="strict mode: the file has no root path"):
        ml.load(file(**content), strict=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"poses": np.zeros((5, 100))}, r"poses must have shape \(T, N\) .* found \(5, 100\)"),
        ({"poses": np.zeros(72)}, "poses must have shape"),
        ({"poses": np.zeros((0, 72)), "trans": np.zeros((0, 3))}, "the file has no frames"),
        ({"trans": np.zeros((4, 3))}, r"trans must have shape \(5, 3\), found \(4, 3\)"),
        (
            {"poses": np.full((5, 72), np.nan)},
            "poses contains the implausible value nan in frame 0",
        ),
        (
            {"trans": np.full((5, 3), 1e30)},
            r"trans contains the implausible value 1e\+30 in frame 0",
        ),
        ({"poses": np.array(["a"])}, "poses must hold numbers"),
        (
            {"poses": np.array([{}], dtype=object)},
            "poses cannot be unpacked .expected numbers, found object",
        ),
    ],
)
def test_reports_invalid_input(file, change, message):
    path = file(**{**arrays(), **change})
    with pytest.raises(MotionFormatError, match=message) as caught:
        ml.load(path)
    assert str(caught.value).startswith(str(path))


def test_a_shape_file_is_not_a_motion(file):
    with pytest.raises(
        MotionFormatError,
        match="does not contain a motion: it has no poses .*, only betas .16,., gender",
    ):
        ml.load(file(betas=np.zeros(16), gender=np.array("male")))


def npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def archive(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as zipped:
        for name, data in members.items():
            zipped.writestr(f"{name}.npy", data)
    return path


def test_a_bomb_is_not_unpacked(tmp_path):
    zeros = npy(np.zeros((100_000, 72), np.float32))  # 29 MB of nothing, 30 kB on disk
    path = archive(tmp_path / "bomb.npz", {"poses": zeros, "mocap_framerate": npy(60.0)})
    del zeros
    tracemalloc.start()
    with pytest.raises(MotionFormatError, match="poses would unpack to 28800128 bytes"):
        ml.load(path)
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_a_header_is_not_trusted(tmp_path):
    honest = npy(np.zeros((4, 72)))
    lying = honest.replace(b"(4, 72)", b"(9999999, 72)", 1).replace(b"      \n", b"\n", 1)
    lying = lying[:8] + (len(honest[10:128])).to_bytes(2, "little") + lying[10:]
    path = archive(tmp_path / "liar.npz", {"poses": lying, "mocap_framerate": npy(60.0)})
    with pytest.raises(MotionFormatError, match="less data than its shape .9999999, 72. needs"):
        ml.load(path)


@pytest.mark.parametrize(
    "shape", ["(0,9e8)", "(0, 1152921504606846976, 72)", "(-1, 72)", "(1,) * 65"]
)
def test_an_impossible_shape_is_refused(tmp_path, shape):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    odd = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(8)
    path = archive(tmp_path / "odd.npz", {"poses": odd, "mocap_framerate": npy(60.0)})
    with pytest.raises(MotionFormatError, match="poses cannot be unpacked"):
        amass.read(path)  # beneath the reader that turns any exception into a format error


def test_a_damaged_header_is_reported(tmp_path):
    damaged = npy(np.zeros((4, 72))).replace(b"(4, 72)", b"(4, 72(")
    path = archive(tmp_path / "a.npz", {"poses": damaged, "mocap_framerate": npy(60.0)})
    with pytest.raises(MotionFormatError, match="poses cannot be unpacked"):
        ml.load(path)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\x80\x04\x95pickle", b"\x93NUMPY"])
def test_files_that_are_not_archives_are_refused(tmp_path, data):
    path = tmp_path / "a.npz"
    path.write_bytes(data)
    with pytest.raises(MotionFormatError, match="not an .npz file"):
        ml.load(path)


@settings(
    max_examples=300, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_mutated_archives_are_read_or_refused(tmp_path, data):
    small = {k: npy(v) for k, v in arrays(frames=2, width=66).items()}
    kind = data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]))
    path = archive(tmp_path / "a.npz", small, kind)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        if data.draw(st.integers(0, 3)):
            raw[place] = data.draw(st.integers(0, 255))
        else:
            del raw[place : place + data.draw(st.integers(0, 9))]
    path.write_bytes(raw)
    try:
        motion = ml.load(path)
    except MotionFormatError as error:
        assert str(error).startswith(str(path))
    else:
        assert np.isfinite(motion.positions()).all()


def test_names_and_shapes_of_other_programs(file, rng):
    """As written by programs for SMPL-X, and by estimates from video, seen by a camera (y down)."""
    down = np.array([np.pi, 0.0, 0.0])
    root = np.tile(down, (4, 1))
    body = rng.normal(scale=0.1, size=(4, 69))
    expected = ml.load(file(poses=np.concatenate([root, body], axis=1), fps=30.0), up="-y")
    turns = np.concatenate([root, body], axis=1).reshape(4, 24, 3)
    variants = [
        {"global_orient": root, "body_pose": body, "transl": np.zeros((4, 3))},
        {"pose": np.concatenate([root, body], axis=1), "trans": np.zeros((4, 3))},
        {"smpl_poses": turns},
        {"poses": rot.to_matrix(rot.exp(turns))},
        {"global_orient": rot.to_matrix(rot.exp(turns[:, :1])), "body_pose": turns[:, 1:]},
        {"global_orient": root[None], "body_pose": body[None]},
    ]
    for content in variants:
        motion = ml.load(file(**content))
        assert motion.origin.up == "-y", sorted(content)
        np.testing.assert_allclose(motion.positions(), expected.positions(), atol=1e-5)
        assert any("up axis is assumed to be -y" in text for text in motion.origin.warnings)


def test_hands_of_smplh_and_smplx_parts_are_kept(file):
    parts = {"root_orient": np.tile(STANDING, (4, 1)), "pose_body": np.zeros((4, 63))}
    hands = {f"{side}_hand_pose": np.full((4, 45), 0.1) for side in ("left", "right")}
    motion = ml.load(file(**parts, **hands))
    assert len(motion.skeleton) == 52
    assert np.abs(motion.rotations[:, 22:, 1:]).min() > 0.04
    few = {name: values[:, :12] for name, values in hands.items()}
    assert (
        "left_hand_pose has shape (4, 24), so it was not read"
        in ml.load(file(**parts, **few)).repairs[0]
    )


def test_other_archives_are_refused_with_their_contents(file):
    with pytest.raises(MotionFormatError, match=r"no joint positions, only joints \(4, 2, 3\)"):
        ml.load(file(joints=np.zeros((4, 2, 3))))
    pickled = np.array({"poses": 1}, dtype=object)
    with pytest.raises(MotionFormatError, match="data .unreadable: expected numbers, found object"):
        ml.load(file(data=pickled))


def test_numbers_are_limited_by_the_size_of_the_file(tmp_path):
    """An archive of 1 MB with zeros in single bytes took 4.9 GB."""
    path = tmp_path / "a.npz"
    np.savez_compressed(path, poses=np.zeros((20_000, 156), np.uint8), fps=np.array(60.0))
    assert path.stat().st_size < 10_000
    with pytest.raises(MotionFormatError, match="poses has too many numbers"):
        ml.load(path)
