"""Motions sent as VMC arrive as they are, on the bones of a receiver."""

import socket

import numpy as np
import pytest
from commands import run
from naive import osc
from scipy.spatial.transform import Rotation

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.formats.vmc import LiveStream, VmcSender, address


@pytest.fixture
def receiver():
    """A socket that receives packets, and the address of its stream."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        opened.settimeout(60)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        yield opened


def place(receiver):
    return f"vmc://127.0.0.1:{receiver.getsockname()[1]}"


def frame(receiver):
    """Root and bones of the next frame: name -> (position, quaternion xyzw)."""
    bones, root = {}, None
    while "RightHand" not in bones or "Head" not in bones or len(bones) < 20:
        packet = receiver.recv(65536)
        assert len(packet) <= 1500
        for name, values in osc.messages(packet):
            if name == "/VMC/Ext/Bone/Pos":
                bones[values[0]] = values[1:4], values[4:]
            elif name == "/VMC/Ext/Root/Pos":
                root = values
    return root, bones


# Bones of Unity's humanoid, and the bone above each.
PARENTS = {
    "Hips": None, "Spine": "Hips", "Chest": "Spine", "Neck": "Chest", "Head": "Neck",
    **{
        f"{side}{bone}": (above if above in ("Hips", "Chest") else f"{side}{above}")
        for side in ("Left", "Right")
        for bone, above in [
            ("UpperLeg", "Hips"), ("LowerLeg", "UpperLeg"), ("Foot", "LowerLeg"),
            ("Toes", "Foot"), ("Shoulder", "Chest"), ("UpperArm", "Shoulder"),
            ("LowerArm", "UpperArm"), ("Hand", "LowerArm"),
        ]
    },
}  # fmt: skip


def posed(bones):
    """World positions of a receiver's bones, by walking up the tree, in Unity's axes."""
    world = {}

    def at(name):
        if name not in world:
            position, turn = np.array(bones[name][0]), Rotation.from_quat(bones[name][1])
            above = PARENTS[name]
            while above is not None and above not in bones:
                above = PARENTS[above]
            if above is not None:
                start, turned = at(above)
                position, turn = start + turned.apply(position), turned * turn
            world[name] = position, turn
        return world[name]

    return {name: at(name)[0] for name in bones if name in PARENTS}


def test_a_receiver_sees_the_pose_mirrored_into_left_handed_axes(receiver):
    motion = ml.demo.clip("kick_front_high_right")
    sender = VmcSender(motion.skeleton, place(receiver), motion)
    kick = int(np.argmax(motion.role_positions(["right_ankle"])[:, 0, 1]))
    sender.send(motion.rotations[kick], motion.root[kick], 1.5)
    root, bones = frame(receiver)
    sender.close()
    assert root == ["root", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    seen = posed(bones)
    for role, bone in [
        ("hips", "Hips"), ("head", "Head"), ("left_wrist", "LeftHand"),
        ("right_wrist", "RightHand"), ("left_ankle", "LeftFoot"), ("right_ankle", "RightFoot"),
        ("right_knee", "RightLowerLeg"),
    ]:  # fmt: skip
        ours = motion.role_positions([role])[kick, 0] * [-1, 1, 1]
        assert seen[bone] == pytest.approx(ours, abs=1e-4), bone
    # A right foot is on the receiver's right: at a larger x, if the character faces +Z.
    assert seen["RightFoot"][1] > 0.5


def test_a_t_pose_has_no_rotations(receiver):
    from motionloom.character import t_pose

    skeleton = ml.demo.clip("walk").skeleton
    sender = VmcSender(skeleton, place(receiver))
    sender.send(t_pose(skeleton), np.zeros(3), 0.0)
    _, bones = frame(receiver)
    sender.close()
    for name, (_, turn) in bones.items():
        assert turn == pytest.approx([0, 0, 0, 1], abs=1e-5), name


def test_convert_and_save_play_into_a_stream(receiver, tmp_path):
    file = ml.demo.clip("walk")[:3].save(tmp_path / "walk.bvh")
    run("convert", str(file), place(receiver))
    for _ in range(3):
        assert frame(receiver)[1]["Hips"][0][1] == pytest.approx(
            ml.load(file).positions()[0, 0, 1], abs=0.05
        )


def test_a_live_stream_sends_frames_without_waiting(receiver):
    motion = ml.demo.clip("walk")[:6]
    stream = LiveStream(place(receiver))
    stream.play(motion.skeleton, motion.rotations, motion.root, motion.fps)
    heights = [frame(receiver)[1]["Hips"][0][1] for _ in range(6)]
    stream.close()
    assert heights == pytest.approx(motion.role_positions(["hips"])[:, 0, 1].tolist(), abs=1e-4)


def test_the_studio_streams_its_players(receiver, tmp_path):
    from fastapi.testclient import TestClient

    from motionloom.studio import create_app

    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("take_locomotion"))
    stream = LiveStream(place(receiver))
    app = create_app(library, stream=stream)
    with TestClient(app, base_url="http://localhost") as client:
        with client.websocket_connect("ws://localhost/api/live") as live:
            live.send_json({"id": 1, "kind": "graph/start", "graph": {}, "seed": 1})
            live.receive_bytes()
            live.send_json({"id": 2, "kind": "player/read", "player": 1, "count": 2})
            live.receive_bytes()
        assert "Hips" in frame(receiver)[1]
    stream.close()


@pytest.mark.parametrize(
    "wrong", ["vmc://a:b", "vmc://x:0", "vmc://x:70000", "vmc://a b", "vmc:///etc/x"]
)
def test_a_wrong_address_is_one_line(wrong):
    with pytest.raises(InvalidInput, match="a stream must be vmc://HOST:PORT"):
        address(wrong)
    with pytest.raises(InvalidInput, match="a stream must be vmc://HOST:PORT"):
        ml.demo.clip("walk")[:2].save(wrong)


def test_a_scene_cannot_be_streamed():
    walk = ml.demo.clip("walk")[:2]
    with pytest.raises(InvalidInput, match="a VMC stream has one character"):
        ml.save(ml.Scene([walk, walk]), "vmc://")


def test_a_skeleton_without_hips_cannot_be_streamed(receiver):
    from motionloom.motion import Skeleton

    with pytest.raises(InvalidInput, match="needs a skeleton with hips"):
        VmcSender(Skeleton(["box"], [-1], [[0, 0, 0]]), place(receiver))
