"""A user's own character in the studio: sent as a GLB, takes retargeted to it, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient
from fewer_joints import without_joints
from test_own_character import HERO, hero_mesh

import motionloom as ml
from motionloom.formats import gltf
from motionloom.studio import create_app, messages
from motionloom.studio.routes import characters


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("studio") / "takes.loom"
    with ml.Library.create(path) as library:
        library.add_motion(ml.demo.clip("walk")[:40], name="walk")
        with TestClient(create_app(library), base_url="http://localhost") as one:
            yield one


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
    assert body["vertices"].shape == body["normals"].shape == body["colours"].shape
    assert body["triangles"].max() == len(body["vertices"]) - 1
    assert body["joints"].max() < len(body["unbind"]) == arrays["positions"].shape[1]
    np.testing.assert_allclose(body["weights"].sum(axis=1), 1.0, atol=1e-3)
    # The material's colour, times the one pixel of its texture.
    assert np.all(body["colours"] <= np.float32(mesh.material.colour) + 1e-6)
    # In its bind pose the mesh is as in the file.
    np.testing.assert_allclose(body["vertices"][: len(mesh.vertices)], mesh.vertices, atol=1e-4)


def test_takes_are_as_ever_without_a_character(client):
    head, _ = messages.unpack(client.get("/api/motions/walk/frames").content)
    assert not head["body"].startswith("character-")


def written(folder, motion, **options) -> bytes:
    path = folder / "other.glb"
    motion.save(path, **options)
    return path.read_bytes()


def test_what_is_no_character_is_refused_with_the_reason(client, hero, tmp_path):
    for name, data, said in (
        ("hero.fbx", hero, "a character must be a GLB file; got hero.fbx"),
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
    monkeypatch.setattr(characters, "_MAX_VERTICES", 10)
    answer = client.put("/api/characters/hero.glb", content=hero + b"\0")
    assert answer.status_code == 422


def test_a_character_that_is_gone_is_named(client):
    for path in ("characters/nobody", "bodies/character-nobody"):
        answer = client.get(f"/api/{path}")
        assert answer.status_code == 422 and "drop its file again" in answer.json()["error"]
