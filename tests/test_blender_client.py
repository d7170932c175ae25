"""The Blender extension without Blender: its client of the studio, its bones, its pictures."""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
import threading
import types
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import build_extension
import motionloom as ml
from motionloom.motion.rotations import quaternions as rot
from motionloom.studio.messages import pack

SOURCES = Path(__file__).parents[1] / "blender"


@pytest.fixture(scope="module")
def part():
    """Modules of the extension that need no Blender, as parts of a package."""
    package = types.ModuleType("motionloom_blender")
    package.__path__ = [str(SOURCES)]
    sys.modules["motionloom_blender"] = package
    yield lambda name: importlib.import_module(f"motionloom_blender.{name}")
    for name in [name for name in sys.modules if name.startswith("motionloom_blender")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def client(part):
    return part("studio_client")


@pytest.fixture(scope="module")
def poses(part):
    return part("poses")


class Answers(BaseHTTPRequestHandler):
    """A server with scripted responses that records its requests."""

    given: dict = {}
    asked: list = []

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        self.asked.append((self.command, self.path, self.headers.get("Authorization"), body))
        code, content, *more = self.given.get(path, (404, b"{}"))
        self.send_response(code)
        for name, value in more:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(Answers, "given", {})
    monkeypatch.setattr(Answers, "asked", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        server.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield server
        server.shutdown()


def answers(path: str, code: int, content: object, *headers: tuple[str, str]) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    Answers.given[path] = (code, data, *headers)


# --- client ---------------------------------------------------------------------------------


def test_requests_carry_the_token(client, server):
    answers("/api/library", 200, {"name": "takes"})
    studio = client.Studio(f"{server.address}/?token=from-the-address")
    assert studio.get("/api/library") == {"name": "takes"}
    assert client.Studio(server.address, "given").get("/api/library", names=["a", "b"])
    assert [row[2] for row in Answers.asked] == ["Bearer from-the-address", "Bearer given"]
    assert Answers.asked[1][1] == "/api/library?names=a&names=b"


def test_a_token_goes_only_to_the_studio_it_belongs_to(client, server, tmp_path, monkeypatch):
    """Whoever listens on a usual port, or on the port of a crashed studio, gets no token."""
    from motionloom.studio.server.announcement import announced

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "motionloom").mkdir()
    (tmp_path / "motionloom" / "studio-token").write_text("of-earlier-releases")
    with pytest.raises(client.StudioError, match="no studio is running on this machine"):
        client.Studio()
    answers("/api/library", 200, {"name": "takes"})
    with announced("http://127.0.0.1:9", "of-another-port"):
        assert client.Studio(server.address).get("/api/library")
        with announced(server.address, "of-this-studio"):
            assert client.running_studios()[0] == (server.address, "of-this-studio")
            assert client.Studio().get("/api/library")
            local = server.address.replace("127.0.0.1", "localhost")
            assert client.Studio(local).get("/api/library")
            folder = max((tmp_path / "motionloom" / "studios").iterdir(), key=os.path.getmtime)
        folder.mkdir(mode=0o700)  # as after a crash: the files are there, and nobody has the lock
        (folder / "lock").touch()
        (folder / "studio.json").write_text(
            json.dumps({"address": server.address, "token": "of-the-dead", "started": 9e9})
        )
        assert client.Studio(server.address).get("/api/library")
        assert client.Studio().address == "http://127.0.0.1:9"
    sent = [row[2] for row in Answers.asked]
    assert sent == [None, "Bearer of-this-studio", "Bearer of-this-studio", None]
    assert client.Studio("http://example.org:8765")._token == ""
    assert client.Studio("localhost:8765").address == "http://localhost:8765"


def test_a_redirection_is_not_followed(client, server):
    answers("/api/library", 302, b"", ("Location", f"{server.address}/elsewhere"))
    with pytest.raises(client.StudioError, match="the studio answered 302"):
        client.Studio(server.address, "secret").get("/api/library")
    assert [row[1] for row in Answers.asked] == ["/api/library"]


@pytest.mark.parametrize(
    ("code", "content", "message"),
    [
        (422, {"error": "walk: no such motion"}, "walk: no such motion"),
        (404, {"error": "there is no motion x"}, "there is no motion x"),
        (422, {"detail": [{"loc": ["body", "max"], "msg": "too large"}]}, "max: too large"),
        (404, {"detail": "Not Found"}, "does not support /api/x; is it older"),
        (403, b"a token is needed: open the address", "rejected this token"),
        (403, b"requests from x are not allowed", "answered 403: requests from x"),
        (500, b"Internal\nServer Error", "the studio answered 500: Internal Server Error"),
        (200, b"<html>", "the response is not from a studio"),
    ],
)
def test_refusals_are_one_line(client, server, code, content, message):
    answers("/api/x", code, content)
    with pytest.raises(client.StudioError, match=message) as raised:
        client.Studio(server.address).get("/api/x")
    assert "\n" not in str(raised.value)


def test_a_missing_studio_is_reported(client):
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as closed:
        address = f"http://127.0.0.1:{closed.server_address[1]}"
    with pytest.raises(client.StudioError, match=f"no studio is running at {address} .*start one"):
        client.Studio(address).get("/api/library")


@pytest.mark.parametrize("address", ["a studio", "ftp://host", "http://", "http://host:port"])
def test_an_invalid_address_is_reported(client, address):
    with pytest.raises(client.StudioError, match="is not the address of a studio, such as http"):
        client.Studio(address)


def test_too_large_requests_are_not_sent(client, server):
    with pytest.raises(client.StudioError, match="exceed the limit of the studio"):
        client.Studio(server.address).post("/api/x", {"root": "0" * (9 << 20)})
    assert not Answers.asked


def test_packed_arrays_are_those_of_the_studio(client, server):
    sent = np.arange(12.0, dtype=np.float32).reshape(2, 2, 3)
    answers("/api/x", 200, pack({"fps": 30.0}, root=sent, used=np.array([True, False])))
    head, arrays = client.Studio(server.address).arrays("POST", "/api/x", {})
    assert head == {"fps": 30.0}
    np.testing.assert_array_equal(arrays["root"], sent)
    np.testing.assert_array_equal(arrays["used"], [1, 0])
    odd = [
        {"arrays": [1], "meta": {}},
        {"arrays": {"a": {"shape": [10**30], "type": "uint8", "at": 0}}, "meta": {}},
        {"arrays": {"a": {"shape": [1 << 62, 8], "type": "uint8", "at": 0}}, "meta": {}},
        {"arrays": {"a": {"shape": [1], "type": "uint8", "at": 10**30}}, "meta": {}},
        {"arrays": {"a": [1]}, "meta": {}},
    ]
    heads = [*(json.dumps(each).encode() for each in odd), b"[" * 100_000]
    packed = [len(head).to_bytes(4, "little") + head + bytes(8) for head in heads]
    for bad in (b"", b"\xff\xff\xff\xff{}", pack({}, root=sent)[:-8], *packed):
        with pytest.raises(client.StudioError, match="not from a studio"):
            client.unpack(bad)


def test_jobs_are_waited_for(client, server, monkeypatch):
    monkeypatch.setattr(client, "_POLL_SECONDS", 0.0)
    job = {"id": 3, "title": "comparing", "state": "running", "error": "", "result": None}
    answers("/api/jobs/3", 200, {**job, "state": "done", "result": {"pairs": 4}})
    studio = client.Studio(server.address)
    assert studio.finished(job) == {"pairs": 4}
    answers("/api/jobs/3", 200, {**job, "state": "failed", "error": "too few takes"})
    with pytest.raises(client.StudioError, match="too few takes"):
        studio.finished(job)
    stop = threading.Event()
    stop.set()
    with pytest.raises(client.StudioError, match="stopped"):
        studio.finished(job, stop=stop)
    assert Answers.asked[-1][:2] == ("DELETE", "/api/jobs/3")


def test_a_call_runs_in_the_background(client):
    begun, go = threading.Event(), threading.Event()

    def work(stop):
        begun.set()
        go.wait()
        return "answer"

    call = client.Call(work)
    begun.wait()
    assert not call.done
    go.set()
    assert call.wait() and call.outcome() == "answer"
    failed = client.Call(lambda stop: 1 / 0)
    failed.wait()
    with pytest.raises(client.StudioError, match="ZeroDivisionError: division by zero"):
        failed.outcome()


# --- bones ----------------------------------------------------------------------------------


def placement(poses, scale=0.01):
    """Of an object as Blender imports Mixamo's FBX, moved and turned: y up, in centimeters."""
    turn = rot.multiply(
        rot.from_axis_angle([0, 0, 1.0], 0.7), rot.from_axis_angle([1.0, 0, 0], np.pi / 2)
    )
    matrix = np.eye(4)
    matrix[:3, :3] = scale * rot.to_matrix(turn)
    matrix[:3, 3] = (1.0, 2.0, 0.5)
    return poses.Placement.from_matrix(matrix, "hero")


def rest_pose(poses, walk, rng):
    """The rest pose of a motion's skeleton as bones with random axes, in that object."""
    there, places = placement(poses), walk.rest_pose().positions()[0].astype(float)
    heads = there.points_from_studio(places)
    axes = rng.normal(size=(len(heads), 4))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    return poses.RestPose(
        walk.skeleton.names, walk.skeleton.parents, heads, heads + [0.0, 5.0, 0.0], axes, there
    )


def test_the_armature_is_sent_as_the_studio_has_it(poses, rng):
    walk = ml.demo.clip("walk")
    skeleton = rest_pose(poses, walk, rng).skeleton()
    assert skeleton["names"] == list(walk.skeleton.names)
    np.testing.assert_allclose(skeleton["offsets"][1:], walk.skeleton.offsets[1:], atol=1e-6)
    # An object that stands on end has its y axis up.
    np.testing.assert_allclose(
        skeleton["end_offsets"], np.tile([0.0, 0.05, 0.0], (5, 1)), atol=1e-6
    )


def test_bones_go_where_joints_are(poses, rng):
    """Forward kinematics of the keys, as Blender does it, gives the positions of the motion."""
    walk = ml.demo.clip("walk")[:20]
    rest = rest_pose(poses, walk, rng)
    names, parents = list(walk.skeleton.names), walk.skeleton.parents.tolist()
    turns, heads = rest.bone_poses(names, parents, walk.rotations, walk.root)
    bases = poses.pose_bases(turns, rest.rotations, parents, [False] * len(names))
    posed = np.empty_like(bases)
    places = np.empty((len(walk), len(names), 3))
    for joint, parent in enumerate(parents):
        local = rest.rotations[joint]
        if parent < 0:
            posed[:, joint] = rot.multiply(local, bases[:, joint])
            places[:, joint] = heads
            continue
        back = rot.inverse(rest.rotations[parent])
        step = rot.rotate(back, rest.heads[joint] - rest.heads[parent])
        places[:, joint] = places[:, parent] + rot.rotate(posed[:, parent], step)
        posed[:, joint] = rot.multiply(
            posed[:, parent], rot.multiply(rot.multiply(back, local), bases[:, joint])
        )
    np.testing.assert_allclose(rest.placement.points_to_studio(places), walk.positions(), atol=1e-5)
    # Neighboring keys have the same sign, so that Blender interpolates the short way.
    assert (np.sum(bases[1:] * bases[:-1], axis=-1) > 0.0).all()


def test_poses_come_back_as_they_went(poses, rng):
    walk = ml.demo.clip("walk")[:20]
    rest = rest_pose(poses, walk, rng)
    names, parents = list(walk.skeleton.names), walk.skeleton.parents.tolist()
    turns, root = rest.studio_poses(*rest.bone_poses(names, parents, walk.rotations, walk.root))
    np.testing.assert_allclose(root, walk.root, atol=1e-6)
    same = np.abs(np.sum(turns * walk.rotations, axis=-1))
    np.testing.assert_allclose(same, 1.0, atol=1e-6)


def test_a_bone_that_does_not_inherit_rotation(poses, rng):
    turns = rot.normalize(rng.normal(size=(5, 2, 4)))
    rest = rot.normalize(rng.normal(size=(2, 4)))
    bases = poses.pose_bases(turns, rest, [-1, 0], [False, True])
    back = rot.multiply(rest[1], bases[:, 1])
    np.testing.assert_allclose(np.abs(np.sum(back * turns[:, 1], axis=-1)), 1.0, atol=1e-9)


def test_a_character_moves_from_where_it_was_put(poses):
    there = placement(poses)
    np.testing.assert_allclose(there.world_to_studio([1.0, 2.0, 0.5]), 0.0, atol=1e-9)
    # 0.7 radians from -Y: that is ahead.
    ahead = np.array([1.0 + np.sin(0.7), 2.0 - np.cos(0.7), 0.5])
    np.testing.assert_allclose(there.world_to_studio(ahead), [0.0, 0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("scales", [(1.0, 2.0, 1.0), (1.0, 1.0, -1.0), (0.0, 0.0, 0.0)])
def test_objects_that_bones_cannot_follow_are_refused(poses, scales):
    with pytest.raises(poses.UnusableArmature, match=r"hero is scaled unevenly.*apply its scale"):
        poses.Placement.from_matrix(np.diag([*scales, 1.0]), "hero")


def test_quaternions_are_those_of_motionloom(poses, rng):
    turns = rot.normalize(rng.normal(size=(50, 4)))
    quaternions = np.array([poses.quaternion(matrix) for matrix in rot.to_matrix(turns)])
    np.testing.assert_allclose(np.abs(np.sum(quaternions * turns, axis=1)), 1.0, atol=1e-12)
    points = rng.normal(size=(50, 3))
    np.testing.assert_allclose(poses.rotate(turns, points), rot.rotate(turns, points), atol=1e-12)


# --- pictures and package -------------------------------------------------------------------


def test_a_picture_shows_the_figure(part):
    from motionloom.studio.routes.library.motions import thumbnail

    previews = part("previews")
    small = thumbnail(ml.demo.clip("kick_front_high_right"))
    picture = previews.drawn(small.places, small.parents)
    assert picture.shape == (128, 128, 4) and 0.0 <= picture.min() <= picture.max() <= 1.0
    rows, columns = np.nonzero(picture[..., 3] > 0.5)
    # Bottom row first: the feet stand below, the head is above.
    assert rows.min() < 30 and rows.max() > 100 and 300 < len(rows) < 5000
    last = small.places[-1].astype(float) / 2.0
    for x, y in last:
        assert picture[127 - int(np.clip(y, 0, 127)), int(x), 3] > 0.5


def test_the_extension_is_built(tmp_path):
    output = build_extension.build(tmp_path)
    assert output.name == f"motionloom-blender-{ml.__version__.partition('.dev')[0]}.zip"
    with zipfile.ZipFile(output) as archive:
        names = archive.namelist()
        assert {"blender_manifest.toml", "__init__.py", "LICENSE", "operators/aim.py"} <= set(names)
        assert not [name for name in names if "__pycache__" in name]
        for name in names:
            if name.endswith(".py"):
                text = archive.read(name).decode()
                assert text.startswith("# SPDX-License-Identifier: GPL-3.0-or-later")
                assert "import motionloom" not in text  # bpy needs NumPy below 2, motionloom 2
    again = build_extension.build(tmp_path / "again")
    assert again.read_bytes() == output.read_bytes()


def test_a_studio_that_does_not_answer_in_time_is_not_reported_as_stopped(client, monkeypatch):
    monkeypatch.setattr(client, "_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # connections are accepted, but nobody answers
        studio = client.Studio(f"http://127.0.0.1:{silent.getsockname()[1]}", "token")
        with pytest.raises(client.StudioError, match="did not answer within 0 s"):
            studio.get("/api/library")


def wheel(folder, said="hello"):
    """A small wheel called motionloom, whose command prints a line."""
    path = folder / "motionloom-9.9-py3-none-any.whl"
    about = "motionloom-9.9.dist-info"
    files = {
        "motionloom/__init__.py": "",
        "motionloom/__main__.py": f"print({said!r})",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: motionloom\nVersion: 9.9\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.mark.slow
def test_motionloom_is_installed_into_an_environment_of_its_own(part, tmp_path, monkeypatch):
    environment = part("environment")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = tmp_path / "environment"
    folder.mkdir()
    (folder / "left over").write_text("of an interrupted installation")
    assert environment.command("no-such-motionloom", folder) is None
    environment.install(folder, sys.executable, str(wheel(tmp_path)))
    command = environment.command("no-such-motionloom", folder)
    assert subprocess.run(command, capture_output=True, text=True).stdout == "hello\n"
    assert not (folder / "left over").exists()


@pytest.mark.slow
def test_a_failed_installation_is_reported_in_one_line_and_never_used(part, tmp_path, monkeypatch):
    environment, client = part("environment"), part("studio_client")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = tmp_path / "environment"
    with pytest.raises(client.StudioError) as error:
        environment.install(folder, sys.executable, "motionloom-that-nobody-has-written")
    assert str(error.value).startswith("motionloom could not be installed: ERROR: ")
    assert "\n" not in str(error.value)
    assert environment.command("no-such-motionloom", folder) is None


@pytest.mark.parametrize("package", ["", "  ", "--target=/", "-r requirements.txt"])
def test_only_packages_are_installed(part, tmp_path, package):
    with pytest.raises(part("studio_client").StudioError, match="is not the name of a package"):
        part("environment").install(tmp_path / "new", sys.executable, package)
    assert not (tmp_path / "new").exists()


def test_an_installation_can_be_stopped(part, tmp_path):
    environment, client = part("environment"), part("studio_client")
    stop = threading.Event()
    stop.set()
    with pytest.raises(client.StudioError, match="stopped"):
        environment.install(tmp_path / "new", sys.executable, "motionloom", stop=stop)
    assert environment.command("no-such-motionloom", tmp_path / "new") is None


def test_the_chosen_command_comes_first(part, tmp_path):
    command = part("environment").command
    assert command(f"{sys.executable} -m motionloom", tmp_path)[1:] == ["-m", "motionloom"]
    with pytest.raises(part("studio_client").StudioError, match="is not a command"):
        command('"unfinished', tmp_path)


def test_points_of_a_retargeted_motion_are_where_its_joints_are(poses):
    """For pictures of actions; on an armature that is turned, scaled and moved."""
    skeleton = ml.demo.clip("walk").skeleton
    walk = ml.demo.clip("walk")[:20]
    at_rest = walk.rest_pose().positions()[0].astype(float)
    upright = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])  # y up below a turned object
    placement = poses.Placement(np.array([3.0, 1.0, 2.0]), upright, 0.01)
    heads = placement.points_from_studio(at_rest)
    tails = heads + placement.points_from_studio(np.array([0.0, 0.1, 0.0]))
    count = len(skeleton.names)
    rest = poses.RestPose(
        skeleton.names,
        skeleton.parents,
        heads,
        tails,
        np.tile([1.0, 0, 0, 0], (count, 1)),
        placement,
    )
    order = list(range(count))
    points, parents = rest.points(
        skeleton.names, skeleton.parents.tolist(), walk.rotations, walk.root
    )
    np.testing.assert_allclose(points[:, order], walk.positions(), atol=1e-5)
    lengths = np.linalg.norm(points[:, count:] - points[:, parents[count:]], axis=-1)
    np.testing.assert_allclose(lengths, 0.1, atol=1e-6)


def test_pictures_of_motions_fill_the_square(part):
    walk = ml.demo.clip("walk")
    points = walk.positions(end_sites=True)
    picture = part("previews").pictured(points, walk.skeleton.point_parents.tolist())
    drawn = np.argwhere(picture[..., 3] > 0.5)
    assert picture.shape == (128, 128, 4) and 200 < len(drawn) < 6000
    assert np.ptp(drawn, axis=0).max() > 90 and drawn.min() > 2 and drawn.max() < 125
