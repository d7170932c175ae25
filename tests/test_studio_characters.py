"""A user's own character in the studio: sent as a GLB, takes retargeted to it, refusals."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi")

from fewer_joints import without_joints
from robots import small_humanoid
from studio_takes import corpus_library, studio_client
from test_own_character import HERO, hero_mesh

import motionloom as ml
from motionloom.formats import gltf
from motionloom.formats.gltf.container import glb_bytes
from motionloom.library import FrameBlock, Player
from motionloom.motion.kinematics.body import leg_length
from motionloom.studio import live, messages
from motionloom.studio.routes.stage import characters

WALKS = ("walk_p0", "walk_left_p0", "walk_right_p0")
KICKS = tuple(f"kick_{side}_right_p0" for side in ("front_mid", "front_high", "inside_mid"))


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("studio") / "takes.loom"
    with ml.Library.create(path) as library:
        library.add_motion(ml.demo.clip("walk")[:40], name="walk")
        with studio_client(library) as connected:
            yield connected


@pytest.fixture(scope="module")
def hero(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("hero") / "hero.glb"
    gltf.writer.write_meshes(HERO, path, [hero_mesh(), replace(hero_mesh(), name="hat")])
    return path.read_bytes()


def test_a_take_is_shown_on_the_character(client, hero, tmp_path):
    sent = client.put("/api/characters/hero.glb", content=hero)
    assert sent.status_code == 200, sent.text
    info = sent.json()
    mesh = hero_mesh()
    assert info["name"] == "hero" and info["vertices"] == 2 * len(mesh.vertices)
    assert client.get(f"/api/characters/{info['id']}").json() == info

    head, arrays = messages.unpack(
        client.get("/api/motions/walk/frames", params={"character": info["id"]}).content
    )
    (tmp_path / "hero.glb").write_bytes(hero)
    expected = client.app.state.studio.library["walk"].retarget(tmp_path / "hero.glb")
    np.testing.assert_allclose(arrays["positions"], expected.positions(end_sites=True), atol=1e-5)
    assert head["name"] == "walk" and head["body"] == f"character-{info['id']}"

    _, body = messages.unpack(client.get(f"/api/bodies/{head['body']}").content)
    assert body["vertices"].shape == body["normals"].shape == body["colors"].shape
    assert body["triangles"].max() == len(body["vertices"]) - 1
    assert body["joints"].max() < len(body["unbind"]) == arrays["positions"].shape[1]
    np.testing.assert_allclose(body["weights"].sum(axis=1), 1.0, atol=1e-3)
    # The material's color, times the one pixel of its texture.
    assert np.all(body["colors"] <= np.float32(mesh.material.color) + 1e-6)
    # In its bind pose the mesh is as in the file.
    np.testing.assert_allclose(body["vertices"][: len(mesh.vertices)], mesh.vertices, atol=1e-4)


def test_takes_are_as_ever_without_a_character(client):
    head, _ = messages.unpack(client.get("/api/motions/walk/frames").content)
    assert not head["body"].startswith("character-")


def same_body(head, info, performer) -> None:
    """The head of a motion that was made: on the character, at the size of its performer."""
    assert head["body"] == f"character-{info['id']}"
    assert len(head["joints"]) == info["joints"] + len(HERO.skeleton.end_names)
    legs = leg_length(performer) / leg_length(HERO.skeleton)
    assert head["size"] == pytest.approx(legs, rel=1e-4)


def test_matches_are_shown_on_the_character_where_they_are_aligned(client, hero):
    info = client.put("/api/characters/hero.glb", content=hero).json()
    body = {
        "onto": {"motion": "walk", "frame": 5},
        "clips": [{"motion": "walk", "frames": [5, 6, 6, 9]}],
    }
    _, plain = messages.unpack(client.post("/api/poses", json=body).content)
    head, arrays = messages.unpack(
        client.post("/api/poses", json=body, params={"character": info["id"]}).content
    )
    assert head["bodies"][0]["body"] == f"character-{info['id']}"
    assert head["clips"][0]["joints"] == info["joints"]
    points = arrays["positions"].reshape(4, -1, 3)
    np.testing.assert_allclose(points[0, 0, [0, 2]], 0.0, atol=0.05)  # at the origin, as without
    np.testing.assert_array_equal(points[1], points[2])
    np.testing.assert_array_equal(arrays["contacts"], plain["contacts"])
    small, _ = messages.unpack(
        client.post(
            "/api/poses", json={**body, "small": True}, params={"character": info["id"]}
        ).content
    )
    assert "body" not in small["bodies"][0]  # cards keep their small figures


def test_synthesized_motion_is_shown_on_the_character_at_the_performers_size(client, hero):
    info = client.put("/api/characters/hero.glb", content=hero).json()
    state = client.app.state.studio
    made = state.library["walk"]
    response = characters.made_response(made, characters.character_of(state, info["id"]), seam=3)
    head, arrays = messages.unpack(response.body)
    same_body(head, info, made.skeleton)
    assert head["seam"] == 3 and head["name"] == made.name
    hips = head["size"] * arrays["positions"][:, head["roles"]["hips"]]
    there = made.role_positions(["hips"])[:, 0]
    np.testing.assert_allclose(hips[:, [0, 2]], there[:, [0, 2]], atol=0.05)  # on the same path
    gone = client.get("/api/motions/walk/frames", params={"character": "none"})
    assert gone.status_code == 422 and "drop its file again" in gone.json()["error"]


def test_a_stream_is_shown_on_the_character(client, hero):
    info = client.put("/api/characters/hero.glb", content=hero).json()
    state = client.app.state.studio
    window = live.BrowserWindow(state)
    walk = state.library["walk"]
    own = characters.character_of(state, info["id"])
    player = TakePlayer(walk)
    number = window.add(player, live._worn(own, TakePlayer(walk)))
    _, arrays = messages.unpack(
        live.answer(window, json.dumps({"kind": "player/read", "player": number, "count": 5}))
    )
    expected = walk.retarget(own.motion).positions(end_sites=True)[:5]
    # Feet are not locked to the ground while frames are made: within two centimeters.
    assert np.linalg.norm(arrays["positions"] - expected, axis=-1).max() < 0.02
    window.remove(number)
    assert not window._worn
    head, _ = messages.unpack(
        live.answer(window, json.dumps({"kind": "graph/start", "character": 3}))
    )
    assert "character must be the id of a character; got 3" in head["error"]


@pytest.fixture(scope="module")
def made(tmp_path_factory, hero):
    """A client of walks, kicks and dances, and the character that was sent to it."""
    takes = (*WALKS, *KICKS, "dance_groove_p0")
    with (
        corpus_library(tmp_path_factory.mktemp("made") / "takes.loom", takes) as library,
        studio_client(library) as connected,
    ):
        info = connected.put("/api/characters/hero.glb", content=hero).json()
        yield connected, info


def job(client, path: str, body: dict) -> dict:
    started = client.post(f"/api/{path}", json=body).json()
    ended = client.app.state.studio.jobs.wait(started["id"])
    assert ended.state == "done", ended.error
    return ended.result


def both(made, path: str, body: dict) -> tuple:
    """A synthesized motion, original and on the character: two heads with arrays."""
    client, info = made
    answers = [
        client.post(f"/api/{path}", json=body, params=worn)
        for worn in ({}, {"character": info["id"]})
    ]
    assert [answer.status_code for answer in answers] == [200, 200], answers[1].text
    return tuple(messages.unpack(answer.content) for answer in answers)


def same_place(plain: tuple, worn: tuple, info: dict, *, key="positions", limit=0.06) -> None:
    """The character's hips are over the floor where the performer's are, all the way."""
    (head, arrays), (other, moved) = plain, worn
    assert not head["body"].startswith("character-") and "size" not in head
    assert other["body"] == f"character-{info['id']}"
    at = arrays[key][:, head["roles"]["hips"]]
    there = other["size"] * moved[key][:, other["roles"]["hips"]]
    assert there.shape == at.shape
    np.testing.assert_allclose(there[:, [0, 2]], at[:, [0, 2]], atol=limit)


@pytest.mark.slow
def test_a_walk_along_a_path_is_shown_on_the_character(made):
    body = {"graph": {"label": ["walk"], "per_minute": 90.0}, "path": [[0, 0], [0, 2.5]]}
    plain, worn = both(made, "graphs/walk", body)
    same_place(plain, worn, made[1])
    assert worn[0]["seams"] == plain[0]["seams"] and worn[0]["quality"] == plain[0]["quality"]


@pytest.mark.slow
def test_a_parametric_motion_is_shown_on_the_character(made):
    client, info = made
    settings = {
        "takes": KICKS[0],
        "search": {"label": ["kick"]},
        "by": ["right_ankle@33"],
        "settings": {"samples": 60},
    }
    job(client, "parametric", {**settings, "name": "kick"})
    worn = {"character": info["id"]}
    heads, sent = [], []
    with client.websocket_connect("ws://localhost/api/live") as socket:
        for own in ({}, worn):
            head, arrays = messages.unpack(client.get("/api/parametric/kick", params=own).content)
            target = [float(x) for x in arrays["accessible"][-1]]
            reach = {"id": 1, "kind": "parametric/reach", "name": "kick", "target": target}
            socket.send_text(json.dumps({**reach, **own}))
            heads.append(head)
            reply = messages.unpack(socket.receive_bytes())
            while "changed" in reply[0]:  # a message to all windows about the new motion
                reply = messages.unpack(socket.receive_bytes())
            sent.append(reply)
    (plain, at), (moved, there) = sent
    same_place((heads[0], at), (heads[1], there), info, limit=0.08)
    assert moved["reached"] == plain["reached"] and moved["keys"] == plain["keys"]
    np.testing.assert_array_equal(there["weights"], at["weights"])


@pytest.mark.slow
def test_an_acted_script_is_shown_on_the_character(made):
    client, info = made
    script = job(client, "act", {"script": "walk 2 s, kick with the right foot"})["script"]
    plain, worn = both(made, "act/motion", {"script": script})
    same_place(plain, worn, info)


@pytest.mark.slow
def test_a_dance_is_shown_on_the_character(made):
    client, info = made
    steps = job(
        client, "dance/choreographies", {"settings": {"label": ["dance_groove"], "meter": 4}}
    )
    music = client.post("/api/dance/tunes", json={"meter": 4, "tempo_bpm": 110, "bars": 3}).json()
    body = {"choreography": steps["id"], "music": music["id"], "settings": {"seed": 3}}
    (head, arrays), (other, moved) = both(made, "dance/performances", body)
    assert other["motion_beats"] == head["motion_beats"]
    plain, worn = (head["characters"][0], arrays), (other["characters"][0], moved)
    same_place(plain, worn, info, key="positions_0")


class TakePlayer(Player):
    """The frames of a take, as a player."""

    def __init__(self, take):
        self.skeleton, self.fps, self.take, self.at = take.skeleton, take.fps, take, 0

    def _read(self, count):
        part = np.arange(self.at, self.at + count) % len(self.take)
        self.at += count
        standing = np.zeros((count, 4), bool)
        return FrameBlock(self.take.rotations[part], self.take.root[part], standing)


def written(folder, motion, **options) -> bytes:
    path = folder / "other.glb"
    motion.save(path, **options)
    return path.read_bytes()


def test_an_invalid_character_is_refused_with_the_reason(client, hero, tmp_path):
    for name, data, said in (
        ("hero.fbx", hero, "a character must be a GLB file or a robot; got hero.fbx"),
        ("hero.glb", b"not a glb", "hero.glb"),
        ("hero.glb", hero[: len(hero) // 2], "hero.glb"),
        ("bones.glb", written(tmp_path, HERO, mesh="none"), "skin"),
        (
            "bust.glb",
            written(tmp_path, without_joints(HERO, "left_hip", "right_hip")),
            "left_hip",
        ),
    ):
        answer = client.put(f"/api/characters/{name}", content=data)
        assert answer.status_code == 422, name
        assert said in answer.json()["error"] and "/tmp" not in answer.json()["error"]


def test_characters_have_limits(client, hero, monkeypatch):
    monkeypatch.setattr(characters, "_MAX_BYTES", 1 << 20)
    answer = client.put("/api/characters/large.glb", content=b"x" * (1 << 20) + b"x")
    assert "at most 1 MB" in answer.json()["error"]
    monkeypatch.setattr(characters, "_MAX_BYTES", 1 << 26)
    answer = client.put("/api/characters/large.glb", content=bytes(9 << 20))
    assert "not a glTF file" in answer.json()["error"]  # not the limit of other requests
    monkeypatch.setattr(characters, "_MAX_VERTICES", 10)
    answer = client.put("/api/characters/hero.glb", content=hero + b"\0")
    assert answer.status_code == 422 and "at most 10 vertices" in answer.json()["error"]


def test_a_texture_is_decoded_once_and_never_whole_in_numbers(client, hero, monkeypatch):
    """A small GLB: 32 megapixels in one color, which each of its primitives shows."""
    from PIL import Image

    picture, opened = io.BytesIO(), []
    Image.new("P", (8192, 4096)).save(picture, "PNG", bits=1)
    document, binary = _parts(hero)
    document["images"] = [{"bufferView": len(document["bufferViews"]), "mimeType": "image/png"}]
    document["textures"] = [{"source": 0} for _ in document["textures"]]
    document["bufferViews"] += [
        {"buffer": 0, "byteOffset": len(binary), "byteLength": len(picture.getvalue())}
    ]
    binary += picture.getvalue()
    document["buffers"][0]["byteLength"] = len(binary)
    for mesh in document["meshes"]:
        mesh["primitives"] *= 3
    data = glb_bytes(document, binary)
    assert len(data) < 1 << 20
    monkeypatch.setattr(characters, "_image", _noted(characters._image, opened))
    sent = client.put("/api/characters/flat.glb", content=data)
    assert sent.status_code == 200, sent.text
    ((pixels, _),) = opened  # one byte each, and 16 megapixels at most
    assert pixels.nbytes == 3 * 4096**2

    for mesh in document["meshes"]:
        mesh["primitives"] *= 2000
    sent = client.put("/api/characters/many.glb", content=glb_bytes(document, binary))
    assert sent.status_code == 422 and "at most 300,000 vertices" in sent.json()["error"]


def _parts(data: bytes) -> tuple[dict, bytes]:
    length = int.from_bytes(data[12:16], "little")
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def _noted(function, calls):
    def noted(*given, **options):
        calls.append(function(*given, **options))
        return calls[-1]

    return noted


def test_a_character_that_is_gone_is_named(client):
    for path in ("characters/nobody", "bodies/character-nobody"):
        answer = client.get(f"/api/{path}")
        assert answer.status_code == 422 and "drop its file again" in answer.json()["error"]


def test_a_robot_is_a_character(client, tmp_path):
    info = client.put("/api/characters/small.xml", content=small_humanoid(tmp_path).read_bytes())
    info = info.json()
    assert info["joints"] == 26 and info["vertices"] > 100
    asked = {"character": info["id"]}
    answer = client.get("/api/motions/walk/frames", params=asked).content
    head, arrays = messages.unpack(answer)
    assert head["body"] == f"character-{info['id']}"
    _, body = messages.unpack(client.get(f"/api/bodies/{head['body']}").content)
    assert body["joints"].max() < len(body["unbind"]) == arrays["positions"].shape[1]
    wrong = client.put("/api/characters/wrong.xml", content=b"<mujoco><worldbody/></mujoco>")
    assert wrong.status_code == 422
    assert "no bodies" in wrong.json()["error"] and "/tmp" not in wrong.json()["error"]
