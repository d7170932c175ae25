"""The library over HTTP: rows, labels, frames, strips, beats and thumbnails."""

import shlex
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("fastapi")

from studio_takes import studio_client

import motionloom as ml
from motionloom.motion import Motion, Skeleton
from motionloom.studio import messages
from motionloom.studio.routes.library.contents import SAMPLES
from motionloom.studio.routes.library.motions import most_active_segment, thumbnail


@pytest.fixture
def library(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add_motion(ml.demo.clip("walk"), name="walk", labels=["gait"])
    lib.add_motion(ml.demo.clip("dance_groove"), name="day 1/groove", labels=["dance", "groove"])
    return lib


@pytest.fixture
def client(library):
    with studio_client(library) as client:
        yield client


def test_every_motion_has_a_row(client, library):
    received = client.get("/api/library").json()
    assert received["name"] == "takes"
    assert [row["name"] for row in received["motions"]] == list(library.names)
    row = received["motions"][1]
    walk = library["walk"]
    assert (row["frames"], row["fps"], row["labels"]) == (len(walk), walk.fps, ["gait"])
    assert row["seconds"] == pytest.approx(len(walk) / walk.fps, abs=1e-4)


def test_labels_are_replaced(client, library):
    received = client.put("/api/library/labels/day 1/groove", json={"labels": ["party", "dance "]})
    assert received.json() == {"labels": ["dance", "party"]}
    assert library.labels["day 1/groove"] == ("dance", "party")


@pytest.mark.parametrize(
    ("name", "labels", "code", "words"),
    [
        ("nothing", ["a"], 404, "nothing"),
        ("walk", "gait", 422, "valid list"),
        ("walk", ["a"] * 101, 422, "100 items"),
    ],
)
def test_labels_that_cannot_be_given_are_refused(client, library, name, labels, code, words):
    answer = client.put(f"/api/library/labels/{name}", json={"labels": labels})
    assert answer.status_code == code
    assert words in answer.text
    assert library.labels["walk"] == ("gait",)


def test_frames_are_those_of_the_library(client, library):
    meta, arrays = messages.unpack(client.get("/api/motions/day 1/groove/frames").content)
    motion = library["day 1/groove"]
    np.testing.assert_array_equal(arrays["positions"], motion.positions(end_sites=True))
    np.testing.assert_array_equal(arrays["contacts"], motion.contacts().standing_parts())
    assert meta["name"] == "day 1/groove" and meta["frames"] == len(motion)


def test_strips_show_speed_and_foot_contacts(client, library):
    meta, arrays = messages.unpack(client.get("/api/motions/walk/strips").content)
    motion = library["walk"]
    steps = np.linalg.norm(np.diff(motion.positions(), axis=0), axis=-1) * motion.fps
    middle = (arrays["speed"][1:] + arrays["speed"][:-1]) / 2.0
    np.testing.assert_allclose(middle[1:-1], steps.mean(axis=1)[1:-1], rtol=0.1, atol=0.05)
    assert arrays["root_speed"].mean() == pytest.approx(steps[:, 0].mean(), rel=0.05)
    np.testing.assert_array_equal(arrays["contacts"], motion.contacts().standing_parts())
    assert meta["fps"] == motion.fps


def test_beats_are_those_of_the_command_line(client, library):
    received = client.get("/api/motions/day 1/groove/beats").json()
    assert received == ml.beats(library["day 1/groove"]).as_dict()


def test_a_motion_that_is_not_there_is_not_found(client):
    for part in ("frames", "strips", "beats"):
        answer = client.get(f"/api/motions/../walk/{part}")
        assert answer.status_code == 404
        answer = client.get(f"/api/motions/run/{part}")
        assert answer.status_code == 404 and "run" in answer.json()["error"]


def test_thumbnails_come_together(client):
    names = ["walk", "gone", "day 1/groove"]
    meta, arrays = messages.unpack(client.get("/api/thumbnails", params={"names": names}).content)
    assert [row["name"] for row in meta["motions"]] == names
    assert "gone" in meta["motions"][1]["error"]
    assert set(arrays) == {"0", "2"}
    assert len(meta["motions"][0]["parents"]) == arrays["0"].shape[1]


def test_too_many_thumbnails_at_once_are_refused(client):
    answer = client.get("/api/thumbnails", params={"names": ["walk"] * 65})
    assert answer.status_code == 422
    assert client.get("/api/thumbnails").status_code == 422


def test_a_thumbnail_stands_upright_and_in_the_middle():
    small = thumbnail(ml.demo.clip("walk"))
    x, y = small.places[..., 0].astype(float), small.places[..., 1].astype(float)
    hips, head, toes = 0, 3, (10, 17)
    assert np.all(y[:, head] < y[:, hips] - 40)
    assert np.all(y[:, hips] < y[:, toes].max(axis=1) - 40)
    assert np.all(np.abs(x[:, hips] - 127.5) < 3)
    assert y[:, toes].max() == pytest.approx(236, abs=12)  # the nearer foot is lower


def test_a_thumbnail_shows_the_same_wherever_the_take_was_recorded():
    walk = ml.demo.clip("walk")
    moved = walk.transform(yaw=2.0, shift=[30.0, 1.5, -8.0])
    difference = thumbnail(walk).places.astype(int) - thumbnail(moved).places
    assert np.abs(difference).max() <= 1


def test_the_liveliest_segment_is_shown():
    still = ml.demo.clip("walk")[:1]
    motion = ml.concatenate([*[still] * 200, ml.demo.clip("walk")[:60], *[still] * 200])
    places = thumbnail(motion).places.astype(float)
    assert np.abs(np.diff(places, axis=0)).max(axis=(1, 2)).mean() > 3
    points = np.zeros((50, 2, 3))
    points[30:35, 0, 2] = np.arange(1, 6)
    points[35:, 0, 2] = 5
    start, end = most_active_segment(points, 8)
    assert start <= 29 and end >= 35 and end - start == 8


def test_a_creature_without_roles_has_a_thumbnail_too():
    arm = Skeleton(["base", "upper", "lower"], [-1, 0, 1], [[0, 0, 0], [0, 1, 0], [0, 1, 0]])
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (5, 3, 1))
    small = thumbnail(Motion(arm, rotations=turns, root=np.zeros((5, 3)), fps=30.0))
    assert small.parents == (-1, 0, 1)
    assert small.places.shape[1:] == (3, 2)


def test_the_code_line_of_a_take_runs(library, tmp_path):
    """``motionloom show LIB:NAME:START-END``, as the page writes it."""
    line = f"motionloom show {library.path}:walk:10-40"
    command = [sys.executable, "-c", "from motionloom.cli import main; main()"]
    done = subprocess.run(
        [*command, *shlex.split(line)[1:], "-o", str(tmp_path / "walk.png")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "walk.png").stat().st_size > 1000


def test_samples_are_added_as_one_change(tmp_path):
    empty = ml.Library.create(tmp_path / "empty.loom")
    with studio_client(empty) as client:
        job = client.post("/api/library/samples").json()
        client.app.state.studio.jobs.wait(job["id"])
        assert client.get(f"/api/jobs/{job['id']}").json()["result"] == {"added": len(SAMPLES)}
        assert set(empty.names) == set(SAMPLES)
        client.post("/api/library/undo")
        assert empty.names == ()
