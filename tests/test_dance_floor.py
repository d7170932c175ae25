"""A dance floor: many characters, none in another's way."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.crowd.dance_floor import (
    dance_floor,
    dance_takes,
    floor_points,
    footprint,
    least_distance,
)
from motionloom.crowd.settings import DanceFloorSettings
from motionloom.errors import InvalidInput


@pytest.fixture(scope="module")
def dances():
    return [ml.demo.clip("dance_groove", performer=p) for p in (0, 1)]


@pytest.fixture(scope="module")
def floor(dances):
    return dance_floor(dances, DanceFloorSettings(count=5, seconds=8, seed=3))


def brute_least_distance(motions):
    """Every joint against every joint, in every frame."""
    nearest = np.inf
    for a in range(len(motions)):
        for b in range(a):
            p, q = (motions[k].positions(end_sites=True)[..., [0, 2]] for k in (a, b))
            nearest = min(nearest, np.linalg.norm(p[:, :, None] - q[:, None], axis=-1).min())
    return nearest


def test_no_two_bodies_come_closer_than_a_body_width(floor):
    assert floor.least_distance == pytest.approx(brute_least_distance(floor.motions), abs=1e-6)
    assert floor.least_distance >= 0.5


def test_footprints_of_bodies_never_overlap(floor):
    from scipy.spatial import cKDTree

    trees = [cKDTree(floor_points(motion).reshape(-1, 2)) for motion in floor.motions]
    for a, tree in enumerate(trees):
        for other in trees[:a]:
            assert tree.query(other.data)[0].min() >= 0.5


def test_the_same_seed_gives_the_same_floor_and_another_seed_another_floor(dances, floor):
    again = dance_floor(dances, DanceFloorSettings(count=5, seconds=8, seed=3))
    other = dance_floor(dances, DanceFloorSettings(count=5, seconds=8, seed=4))
    for a, b in zip(floor.motions, again.motions, strict=True):
        assert np.array_equal(a.rotations, b.rotations)
        assert np.array_equal(a.root, b.root)
    assert not np.array_equal(floor.motions[0].rotations, other.motions[0].rotations)


def test_characters_dance_different_dances(floor):
    poses = [motion.rotations for motion in floor.motions]
    assert all(not np.array_equal(a, b) for k, a in enumerate(poses) for b in poses[:k])


@pytest.mark.slow
def test_takes_without_a_rhythm_become_a_motion_graph():
    made = dance_floor(
        [ml.demo.clip("take_locomotion")], DanceFloorSettings(count=3, seconds=10, method="graph")
    )
    assert made.method == "graph"
    assert made.least_distance >= 0.5
    assert made.quality().seam_acceleration_ratio < 1.5


def test_characters_stay_on_the_floor(dances):
    made = dance_floor(dances, DanceFloorSettings(count=4, seconds=5, floor=(8.0, 7.0), seed=1))
    points = np.concatenate([floor_points(m).reshape(-1, 2) for m in made.motions])
    assert np.all(np.abs(points) <= [4.0 - 0.25 + 1e-3, 3.5 - 0.25 + 1e-3])


def test_a_floor_that_is_too_small_reports_how_many_fit(dances):
    with pytest.raises(InvalidInput, match="9 characters do not fit on a floor of 4 by 3 m; there"):
        dance_floor(dances, DanceFloorSettings(count=9, seconds=5, floor=(4.0, 3.0)))
    with pytest.raises(InvalidInput, match="floor must be a positive width and depth"):
        DanceFloorSettings(floor=(0.0, 3.0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"count": 0}, "count must be at least 1; got 0"),
        ({"method": "ballet"}, "method must be one of auto, choreography, graph; got 'ballet'"),
        ({"width": -1.0}, "width must be greater than 0"),
        ({"seconds": 0.0}, "at least one frame"),
    ],
)
def test_invalid_settings_are_rejected(dances, wrong, message):
    with pytest.raises(InvalidInput, match=message):
        dance_floor(dances, DanceFloorSettings(**{"count": 2, "seconds": 2.0, **wrong}))


def test_takes_without_a_cycle_do_not_allow_an_endless_dance():
    with pytest.raises(InvalidInput, match="no transitions were found|no cycle"):
        dance_floor([ml.demo.clip("kick_front_mid_right")], DanceFloorSettings(count=2, seconds=5))
    with pytest.raises(InvalidInput, match="got none"):
        dance_floor([], DanceFloorSettings(count=2))


def test_footprints_contain_every_point_of_random_clouds():
    rng = np.random.default_rng(0)
    for _ in range(20):
        points = rng.normal(size=(rng.integers(1, 50), 2)) * 2.0
        cells, corner = footprint(points, 0.25)
        where = np.floor(points / 0.25).astype(int) - corner
        assert cells[where[:, 0], where[:, 1]].all()
        assert cells.sum() == len(np.unique(where, axis=0))


def test_least_distance_of_one_character_is_infinite(dances):
    assert least_distance(dances[:1]) == np.inf


def test_dances_are_selected_by_label_if_there_are_any():
    labels = {"a": ("walk",), "b": ("Dance",), "c": ()}
    assert dance_takes(["a", "b", "c"], labels.get) == ["b"]
    assert dance_takes(["a", "c"], labels.get) == ["a", "c"]


def test_the_command_writes_one_file_with_all_characters(dances, tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    for number, dance in enumerate(dances):
        lib.add_motion(dance, name=f"dance_{number}")
    glb, top = tmp_path / "floor.glb", tmp_path / "top.png"
    command = ["dancefloor", str(lib.path), "--count", "3", "--seconds", "4", "-o", str(glb)]
    result = CliRunner().invoke(app, [*command, "--top-view", str(top), "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert {"file", "frames", "fps", "quality", "sources", "characters"} <= set(answer)
    assert answer["frames"] == 120
    assert len(answer["characters"]) == 3
    assert answer["least_distance_m"] >= 0.5
    assert {source["motion"] for source in answer["sources"]} <= {"dance_0", "dance_1"}
    assert top.stat().st_size > 1000
    data = glb.read_bytes()
    document = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    assert len(document["skins"]) == 3


def test_the_command_rejects_invalid_options(dances, tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add_motion(dances[0], name="dance")
    run = CliRunner().invoke
    command = ["dancefloor", str(lib.path), "--count", "2", "--seconds", "3"]
    for extra, message in (
        (["-o", "floor.bvh"], "must be one of .glb, .gltf; got '.bvh'"),
        (["-o", "floor.glb", "--floor", "wide"], "WIDTHxDEPTH in meters"),
        (["-o", "floor.glb", "--floor", "1x1"], "do not fit on a floor of 1 by 1 m"),
    ):
        with pytest.raises(InvalidInput, match=message):
            run(app, [*command, *extra], catch_exceptions=False)
