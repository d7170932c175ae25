"""Search with motions that were estimated from films: one direction of the camera for a match."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from benchmarks.films import Shot, camera_of
from motionloom.motion.positions.layouts import layout_named
from motionloom.search.methods import Dtw
from motionloom.search.query import as_query
from motionloom.search.subsequence import filmed

TAKES = ("walk", "kick_front_mid_right", "jump_up", "reach_front_high_left", "sit_stand")
NEAR = {"eye": "head", "nose": "head", "ear": "head", "mouth": "head", "pinky": "wrist",
        "index": "wrist", "thumb": "wrist", "heel": "ankle", "toe": "foot"}  # fmt: skip


@pytest.fixture
def takes(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    for name in TAKES:
        lib.add_motion(ml.demo.clip(name), name=name)
    return lib


def filmed_motion(motion):
    """The motion, as if it had been estimated from a film."""
    return replace(motion, origin=replace(motion.origin, expected_error=(0.07,) * len(motion)))


def landmarks(motion, shot=None):
    """Exact landmarks of a motion; points that the skeleton lacks are at the nearest joint."""
    camera, roles = camera_of(motion, shot or Shot(yaw=0.8, view=1.05)), []
    for point in layout_named("mediapipe").points:
        side, _, part = point.partition("_")
        part = next((NEAR[word] for word in NEAR if word in point), part)
        roles.append(part if part == "head" else f"{side}_{part}")
    places = camera.seen(motion.role_positions(roles).astype(float))
    hips = camera.seen(motion.role_positions(["left_hip", "right_hip"]).astype(float)).mean(axis=1)
    image = camera.focal / 480.0 * places[..., :2] / places[..., 2:]
    return places - hips[:, None], image, np.ones(places.shape[:2])


def test_distances_are_the_least_over_all_directions_of_the_camera(rng):
    count, length = 40, 7
    points = filmed._POINTS
    rows = rng.normal(size=(count, points, 3)).astype(np.float32)
    film = rng.normal(size=(length, points, 3)).astype(np.float32)
    costs = filmed.distances(rows.reshape(count, -1), [film.reshape(length, -1)])[0]
    stance = 1.0 - filmed._OFF / filmed._WEIGHTS
    for start in range(count - length + 1):
        x, y, z = np.moveaxis(rows[start : start + length].astype(float), 2, 0)
        squares = []
        for turn in filmed._TURNS:
            right = np.cos(turn) * x - np.sin(turn) * z - film[..., 0]
            deep = np.sin(turn) * x + np.cos(turn) * z - film[..., 2]
            total = 0.0
            for weight, off in ((1.0, right), (1.0, y - film[..., 1]), (0.2, deep)):
                mean = off.mean(axis=0)
                varying = ((off - mean) ** 2).sum(axis=0) + stance * length * mean**2
                total += weight * (varying @ filmed._WEIGHTS)
            squares.append(total)
        mean_square = min(squares) / length / filmed._WEIGHTS.sum()
        assert costs[start] == pytest.approx(np.sqrt(mean_square), abs=1e-4)
    assert np.isinf(costs[count - length + 1 :]).all()


@pytest.mark.parametrize("chunk", [5, 64])
def test_distances_do_not_depend_on_the_parts_they_are_computed_in(rng, monkeypatch, chunk):
    rows = rng.normal(size=(90, 3 * filmed._POINTS)).astype(np.float32)
    films = [rows[20:31], rows[5:12]]
    whole = filmed.distances(rows, films)
    monkeypatch.setattr(filmed, "_CHUNK", chunk)
    for a, b in zip(whole, filmed.distances(rows, films), strict=True):
        assert np.allclose(a, b, atol=2e-3)
    assert whole[0].argmin() == 20 and whole[0][20] < 2e-3 and whole[1].argmin() == 5


@pytest.mark.parametrize("tempo", [1.0, 1.35, 0.75])
def test_a_film_finds_its_segment_at_another_tempo(takes, tempo):
    kick = ml.demo.clip("kick_front_mid_right")[6:46]
    slow = replace(kick, fps=kick.fps / tempo)
    match = takes.search(filmed_motion(slow))[0]
    assert match.motion == "kick_front_mid_right"
    assert abs(match.start_frame - 6) <= 6 and abs(match.end_frame - 46) <= 6
    assert match.alignment[0, 0] == 0 and match.alignment[-1, 0] >= len(kick) - 4


def test_the_direction_of_the_camera_does_not_matter(takes):
    best = []
    for yaw in (0.0, 1.0, -2.5):
        jump = ml.demo.clip("jump_up")
        camera = camera_of(jump, Shot(yaw=yaw))
        places = jump.role_positions(filmed._ROLES).astype(float)
        ahead = camera.axes[2] * (1.0, 0.0, 1.0)
        ahead /= np.linalg.norm(ahead)
        axes = np.stack([np.cross(ahead, (0.0, 1.0, 0.0)), (0.0, 1.0, 0.0), -ahead])
        assert np.allclose(axes @ axes.T, np.eye(3), atol=1e-6)
        turned = (places - places[:, :2].mean(axis=1, keepdims=True)) @ axes.T
        rows = filmed.seen_rows(jump).reshape(len(jump), -1, 3)
        size = np.linalg.norm(rows[0, 0]) / np.linalg.norm(turned[0, 0])
        rows = np.concatenate([turned * size, rows[:, -1:] @ axes.T], axis=1)
        table = filmed.prepare(takes.store)
        query = rows[::3].reshape(-1, 3 * filmed._POINTS).astype(np.float32)
        costs = filmed.distances(table.rows, [query])[0]
        best.append((table.locate(int(costs.argmin()))[0], costs.min()))
    assert {name for name, _ in best} == {"jump_up"}
    assert max(cost for _, cost in best) < 0.05


def test_options_of_another_method_are_obeyed(takes):
    query = as_query(takes.store, filmed_motion(ml.demo.clip("walk")[:40]))
    assert filmed.applies(query, Dtw()) and filmed.applies(query, Dtw(max_overlap=0.8))
    assert not filmed.applies(query, Dtw(rank="distance"))
    assert not filmed.applies(as_query(takes.store, ml.demo.clip("walk")), Dtw())


def test_a_film_obeys_filters_and_limits(takes):
    query = filmed_motion(ml.demo.clip("walk")[:40])
    assert {match.motion for match in takes.search(query, exclude="walk")} == set(TAKES) - {"walk"}
    assert len(takes.search(query, max=2)) == 2
    near = takes.search(query, max_distance=0.05)
    assert near and all(match.distance <= 0.05 for match in near)


def test_a_take_half_as_long_as_the_film_is_found(tmp_path):
    lib = ml.Library.create(tmp_path / "short.loom")
    walk = ml.demo.clip("walk")
    lib.add_motion(walk[:42], name="short")
    assert lib.search(filmed_motion(walk[:80]))[0].motion == "short"


# --- the studio -----------------------------------------------------------------------------------


@pytest.fixture
def client(takes):
    pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    from motionloom.studio.server.app import create_app

    with testclient.TestClient(create_app(takes), base_url="http://localhost") as client:
        yield client


def sent(motion, **changes):
    world, image, seen = (values.ravel().tolist() for values in landmarks(motion))
    given = {"fps": motion.fps, "world": world, "image": image, "visibility": seen}
    return given | changes


def test_landmarks_of_the_page_find_the_action_and_nothing_is_stored(client, takes):
    kick = ml.demo.clip("kick_front_mid_right")
    answer = client.post("/api/shown", json=sent(kick[5:50])).json()
    assert answer["matches"][0]["motion"] == "kick_front_mid_right"
    assert 0.01 < answer["expected_error_m"] < 0.3 and "blocking" in answer["use"]
    assert answer["lines"]["cli"].startswith("motionloom search ")
    assert set(takes.names) == set(TAKES)


def test_frames_without_a_person_may_be_missing(client):
    body = sent(ml.demo.clip("kick_front_mid_right")[5:50])
    for key, width in (("world", 99), ("image", 66), ("visibility", 33)):
        body[key][10 * width : 13 * width] = [None] * (3 * width)
    assert client.post("/api/shown", json=body).json()["matches"][0]["motion"].startswith("kick")


def test_a_performance_is_kept_on_request(client, takes):
    body = sent(ml.demo.clip("jump_up"))
    kept = client.post(
        "/api/shown/keep", json={"landmarks": body, "name": "mine", "labels": ["jump"]}
    )
    assert kept.json() == {"name": "mine"}
    assert takes["mine"].origin.expected_error and takes.labels["mine"] == ("jump",)
    again = client.post("/api/shown/keep", json={"landmarks": body, "name": "mine"})
    assert again.status_code == 422 and "mine already exists" in again.text
    takes.undo()
    assert "mine" not in takes


def test_landmarks_are_not_trusted(client):
    body = sent(ml.demo.clip("jump_up"))
    for changes, said in (
        ({"world": body["world"][:-1]}, "world must have 99 numbers"),
        ({"world": [], "image": [], "visibility": []}, "at least two frames"),
        ({"fps": 0.0}, "fps"),
        ({"visibility": [1e9] * len(body["visibility"])}, "visibility"),
        ({"world": [None] * len(body["world"])}, "a person is visible in fewer than two frames"),
    ):
        answer = client.post("/api/shown", json=body | changes)
        assert answer.status_code in (400, 422) and said in answer.text


def test_the_library_is_prepared_once(client):
    job = client.post("/api/shown/prepare").json()
    if job is not None:
        while client.get(f"/api/jobs/{job['id']}").json()["state"] == "running":
            pass
    assert client.post("/api/shown/prepare").json() is None
