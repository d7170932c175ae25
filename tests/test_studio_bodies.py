"""Bodies over HTTP: the page's skinning agrees with that of the library."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from studio_takes import studio_client

import motionloom as ml
from motionloom.character import body_mesh
from motionloom.motion import Motion, Skeleton
from motionloom.studio import messages


@pytest.fixture
def client(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add_motion(ml.demo.clip("walk"), name="walk")
    pole = Skeleton(["pole", "top"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    still = np.tile([1.0, 0, 0, 0], (3, 2, 1))
    lib.add_motion(Motion(pole, still, np.zeros((3, 3)), 30.0), name="pole")
    with studio_client(lib) as client:
        yield client


def frames(client, name):
    return messages.unpack(client.get(f"/api/motions/{name}/frames").content)


def matrices(orientations, positions, parents):
    """World matrices (P, 3, 4) of joints and end sites, by the formula of unit quaternions."""
    w, x, y, z = np.moveaxis(orientations.astype(float), -1, 0)
    turns = np.stack([
        np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
        np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
        np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
    ], -2)  # fmt: skip
    ends = [turns[parents[point]] for point in range(len(turns), len(positions))]
    return np.concatenate([np.concatenate([turns, ends]), positions[:, :, None]], axis=2)


def test_the_sent_mesh_moves_with_the_sent_frames(client):
    head, arrays = frames(client, "walk")
    answer = client.get(f"/api/bodies/{head['body']}", params={"detail": "low"})
    _, mesh = messages.unpack(answer.content)
    joints, weights = mesh["joints"], mesh["weights"]
    assert joints.max() < len(head["parents"]) and np.allclose(weights.sum(axis=1), 1.0)

    walk, frame = ml.demo.clip("walk"), 20
    world = matrices(arrays["orientations"][frame], arrays["positions"][frame], head["parents"])
    unbind = np.concatenate([mesh["unbind"], np.tile([[[0, 0, 0, 1.0]]], (len(world), 1, 1))], 1)
    bones = world @ unbind
    points = np.concatenate([mesh["vertices"], np.ones((len(joints), 1))], axis=1)
    moved = np.einsum("vk,vkij,vj->vi", weights, bones[joints], points)
    own = body_mesh(walk.skeleton, detail="low").posed(walk, frame)
    np.testing.assert_allclose(moved, own, atol=1e-4)


def test_a_skeleton_without_limbs_has_no_body(client):
    assert frames(client, "pole")[0]["body"] is None


def test_an_unknown_body_is_refused(client):
    answer = client.get("/api/bodies/nothing")
    assert answer.status_code == 422
    assert "this skeleton is no longer available; load its motion again" in answer.json()["error"]
