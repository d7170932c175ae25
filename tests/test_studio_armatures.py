"""Armatures of other programs: motion brought to them, and their poses as queries and takes."""

import base64

import numpy as np
import pytest

pytest.importorskip("fastapi")

from studio_takes import studio_client

import motionloom as ml
from motionloom.studio import messages

SEGMENT = {"kind": "segment", "motion": "walk", "start_frame": 10, "end_frame": 40}


@pytest.fixture
def library(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add_motion(ml.demo.clip("walk"), name="walk", labels=["gait"])
    return lib


@pytest.fixture
def client(library):
    with studio_client(library) as client:
        yield client


def armature(skeleton, lift=0.0):
    """A skeleton without rest rotations, as a request has it."""
    offsets = np.array(skeleton.offsets, float)
    offsets[0] += [0.0, lift, 0.0]
    return {
        "names": list(skeleton.names),
        "parents": skeleton.parents.tolist(),
        "offsets": offsets.tolist(),
        "end_names": list(skeleton.end_names),
        "end_parents": skeleton.end_parents.tolist(),
        "end_offsets": skeleton.end_offsets.tolist(),
    }


def floats(values):
    return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()


def poses(motion, **changes):
    return {
        "kind": "poses",
        "skeleton": armature(motion.skeleton),
        "fps": motion.fps,
        "rotations": floats(motion.rotations),
        "root": floats(motion.root),
        **changes,
    }


def test_a_segment_on_an_armature(client, library):
    child = ml.demo.clip("walk").skeleton.scaled(0.7)
    request = {"subject": SEGMENT, "skeleton": armature(child)}
    head, arrays = messages.unpack(client.post("/api/subjects/retarget", json=request).content)
    wanted = library["walk"][10:40].retarget(child)
    np.testing.assert_allclose(arrays["rotations"], wanted.rotations, atol=1e-6)
    np.testing.assert_allclose(arrays["root"], wanted.root, atol=1e-6)
    assert head["joints"] == list(child.names) and head["fps"] == wanted.fps
    assert head["roles"]["hips"] == "Hips" and head["quality"]["line"]


def test_an_armature_with_a_root_bone_that_faces_elsewhere(client):
    """Bones above the hips are dropped; the motion starts at the origin, facing like the rest
    pose."""
    skeleton = ml.demo.clip("walk").skeleton
    turned = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]).T  # faces +X
    given = armature(skeleton)
    for key in ("offsets", "end_offsets"):
        given[key] = (np.array(given[key]) @ turned).tolist()
    given["names"] = ["root", *given["names"]]
    given["parents"] = [-1, *(parent + 1 for parent in given["parents"])]
    given["offsets"] = [[0.0, 0.0, 0.0], [0.0, 0.95, 0.0], *given["offsets"][1:]]
    given["end_parents"] = [parent + 1 for parent in given["end_parents"]]
    request = {"subject": SEGMENT, "skeleton": given, "at_origin": True, "fps": 24.0}
    head, arrays = messages.unpack(client.post("/api/subjects/retarget", json=request).content)
    assert head["joints"][0] == "Hips" and head["parents"][0] == -1 and head["fps"] == 24.0
    np.testing.assert_allclose(arrays["root"][0, [0, 2]], 0.0, atol=1e-6)
    traveled = arrays["root"][-1] - arrays["root"][0]
    assert traveled[0] > 0.5 and abs(traveled[2]) < 0.2  # toward +X


def test_poses_of_another_program_are_found_and_kept(client, library):
    walk = library["walk"][20:60]
    body = {"subject": poses(walk), "settings": {"max": 3}}
    results = client.post("/api/subjects/search", json=body).json()
    best = results["matches"][0]
    assert (
        best["motion"] == "walk" and abs(best["start_frame"] - 20) <= 1 and results["unit"] == "m"
    )
    request = {"subject": poses(walk), "name": "sent", "labels": ["blender"]}
    assert client.post("/api/subjects/keep", json=request).json() == {"names": ["sent"]}
    np.testing.assert_allclose(library["sent"].positions(), walk.positions(), atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"root": "not base64"}, "root must be float32 numbers in base64"),
        ({"root": floats(np.zeros(4))}, "root must have 12 bytes per frame; got 16"),
        ({"root": floats(np.zeros((2, 3)))}, "must have the same number of frames"),
        ({"root": "", "rotations": ""}, "at least one; rotations has 0, root has 0"),
        ({"root": floats(np.full((40, 3), np.nan))}, "root must contain only finite numbers"),
        ({"rotations": floats(np.zeros((40, 21, 4)))}, "must be unit quaternions"),
        ({"fps": 0.0}, "greater than or equal to 1"),
        ({"extra": 1}, "extra"),
    ],
)
def test_wrong_poses_are_refused(client, library, changes, message):
    given = poses(library["walk"][20:60], **changes)
    answer = client.post("/api/subjects/search", json={"subject": given})
    assert answer.status_code == 422 and message in answer.text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parents": [5] * 21}, "parents must be -1 for joint 0"),
        ({"parents": [10**30] * 21}, "parents"),
        ({"names": ["a"]}, "parents must have shape"),
        ({"offsets": [[1e9, 0, 0]] * 21}, "less than or equal to 10000"),
        ({"roles": {"hips": "nobody"}}, "nobody"),
        ({"names": [f"bone {k}" for k in range(21)], "offsets": [[0.0, 0.1, 0.0]] * 21},
         "no joint has the role"),
    ],
)  # fmt: skip
def test_wrong_armatures_are_refused(client, library, changes, message):
    given = {**armature(library["walk"].skeleton), **changes}
    answer = client.post("/api/subjects/retarget", json={"subject": SEGMENT, "skeleton": given})
    assert answer.status_code == 422 and message in answer.text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"character": 1}, "character must be less than 1, the number of characters; got 1"),
        ({"aim": [0.0, 1.0, 0.5]}, "aim is only available for parametric motions"),
        ({"fps": 5000.0}, "less than or equal to 1000"),
    ],
)
def test_wrong_retargetings_are_refused(client, library, changes, message):
    request = {"subject": SEGMENT, "skeleton": armature(library["walk"].skeleton), **changes}
    answer = client.post("/api/subjects/retarget", json=request)
    assert answer.status_code == 422 and message in answer.text


def test_large_answers_are_refused(client, library, monkeypatch):
    monkeypatch.setattr("motionloom.studio.routes.stage.armatures._MAX_ROTATIONS", 21 * 29)
    request = {"subject": SEGMENT, "skeleton": armature(library["walk"].skeleton)}
    answer = client.post("/api/subjects/retarget", json=request)
    assert (
        "at most 29 frames can be retargeted to an armature of 21 joints" in answer.json()["error"]
    )


@pytest.fixture
def kick(library):
    names = [f"kick_front_{height}_right" for height in ("low", "mid", "high")]
    for name in names:
        library.add_motion(ml.demo.clip(name), name=name)
    return library.parametrize(names, ml.at("right_ankle", frame=33), samples=60, name="kick")


def sampled(client, request):
    job = client.post("/api/subjects/reach", json=request).json()
    while job["state"] == "running":
        job = client.get(f"/api/jobs/{job['id']}").json()
    assert job["state"] == "done", job
    return job["result"]


@pytest.mark.slow
def test_targets_inside_the_region_of_an_armature_are_reached(client, library, kick, rng):
    """The armature is larger than the examples; the sampled region is that of the armature."""
    tall = library["walk"].skeleton.scaled(1.3)
    subject = {"kind": "parametric", "name": "kick", "target": []}
    request = {"subject": subject, "skeleton": armature(tall)}
    region = sampled(client, request)
    accessible = np.array(region["accessible"])
    assert region["joint"] == "RightFoot" and len(accessible) > 40
    assert 1.2 < accessible[:, 1].max() / kick.accessible[:, 1].max() < 1.4

    def aimed(aim, **changes):
        body = {**request, "aim": aim, **changes}
        return messages.unpack(client.post("/api/subjects/retarget", json=body).content)

    for sample in rng.choice(len(accessible), 5, replace=False):
        near = np.argsort(np.linalg.norm(accessible - accessible[sample], axis=1))[:2]
        wanted = accessible[near].mean(axis=0)  # between two samples
        # At 24 fps as well, the ankle is there in a whole frame.
        for fps in (30.0, 24.0):
            head, arrays = aimed(wanted.tolist(), fps=fps)
            assert head["error"] < 0.01 and head["joint"] == "RightFoot" and head["fps"] == fps
            moved = ml.Motion(tall, arrays["rotations"], arrays["root"], fps)
            ankle = moved.role_positions(["right_ankle"])[head["moment"], 0]
            assert np.linalg.norm(ankle - head["reached"]) < 1e-3
            assert np.linalg.norm(ankle - wanted) < 0.01
    assert aimed([0.0, 5.0, 0.0])[0]["error"] > 2.0  # out of reach: as near as it gets


def test_only_motions_with_the_position_of_a_joint_have_a_region(client, library, kick):
    library.parametrize(
        [text.partition(":")[0] for text in kick.examples], "turn", samples=5, name="turning"
    )
    request = {"skeleton": armature(library["walk"].skeleton)}
    turning = {"kind": "parametric", "name": "turning", "target": []}
    body = {**request, "subject": turning}
    answer = client.post("/api/subjects/retarget", json={**body, "aim": [0.0, 1.0, 0.0]})
    message = "turning cannot be aimed, because it is parametrized by turn;"
    assert message in answer.json()["error"]
    job = client.post("/api/subjects/reach", json=body).json()
    while job["state"] == "running":
        job = client.get(f"/api/jobs/{job['id']}").json()
    assert message in job["error"]
    answer = client.post("/api/subjects/reach", json={**request, "subject": SEGMENT})
    assert "aim is only available for parametric motions" in answer.text


def test_a_region_is_sampled_once_for_each_armature(client, library, kick, monkeypatch):
    from motionloom.library import ParametricMotion

    made, on = [], ParametricMotion.on
    monkeypatch.setattr(
        ParametricMotion, "on",
        lambda self, skeleton, **_: made.append(1) or on(self, skeleton, samples=5),
    )  # fmt: skip
    subject = {"kind": "parametric", "name": "kick", "target": []}
    for scale in (1.0, 1.1, 1.0):
        given = armature(library["walk"].skeleton.scaled(scale))
        region = sampled(client, {"subject": subject, "skeleton": given})
        assert len(region["accessible"]) == 5
    assert len(made) == 2
