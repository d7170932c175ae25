"""Crowds: discs, forces, scenes, a ballroom and a march."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from motionloom.crowd.ballroom import ballroom
from motionloom.crowd.built_in import cut_at_beats
from motionloom.crowd.settings import (
    Ballfloor,
    BallroomSettings,
    MarchSettings,
    load_crowd_settings,
    settings_from,
)
from motionloom.crowd.steering import contact_time, moved_discs, near_pairs
from motionloom.dance.dancing.nodes import travel_weights
from motionloom.demo.waltz import waltz_take
from motionloom.errors import InvalidInput
from tests.naive.discs import first_contact

CORNERS = ((0, 0), (0, 8), (0, 16), (0, 24), (8, 24), (16, 24), (24, 24), (24, 32), (24, 40),
           (24, 48))  # fmt: skip
COLUMNS = ((-2.5, 0.0, 0.4), (2.5, 0.0, 0.4))


@pytest.fixture(scope="module")
def waltz():
    return cut_at_beats([waltz_take()], meter=3, nodes=2, kind="waltz")


def gaps(places, radii):
    away = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    return (away - radii[:, None] - radii[None])[np.triu_indices(len(places), 1)]


def test_predicted_contacts_match_a_simulation_with_tiny_steps(rng):
    hits = 0
    for _ in range(12):
        a, b = rng.uniform(-2, 2, (2, 2))
        va, vb = rng.uniform(-3, 3, (2, 2))
        if np.hypot(*(a - b)) < 0.8:
            continue
        slow = first_contact(a, va, b, vb, 0.8, steps=20_000)
        ours = contact_time(*(b - a), *(vb - va), 0.8)
        assert (slow is None) == (ours > 1.0)
        if slow is not None:
            hits += 1
            assert ours == pytest.approx(slow, abs=1e-4)
    assert hits


@pytest.mark.parametrize("size", [0.05, 1.0, 30.0])
def test_nothing_passes_through_anything_at_any_step(rng, size):
    candidates = np.stack(np.meshgrid(np.arange(-4, 5), np.arange(-3, 4)), axis=-1).reshape(-1, 2)
    places = candidates[np.hypot(*candidates.T) > 1.2][:40].astype(float)
    radii = rng.uniform(0.2, 0.45, len(places))
    columns = np.array([[0.0, 0.0, 0.5]])
    for _ in range(60):
        moves = rng.normal(0.0, size, places.shape)
        places = moved_discs(places, moves, radii, room=(10.0, 8.0), columns=columns)
        assert gaps(places, radii).min() >= 0.0
        assert np.all(np.abs(places) + radii[:, None] <= [5.0, 4.0])
        assert np.all(np.hypot(*places.T) >= radii + 0.5)


def test_a_bullet_stops_at_a_wall_of_discs_and_free_discs_go_where_they_would():
    wall = [[5.0, float(z)] for z in range(-2, 3)]
    out = moved_discs([[0.0, 0.1], *wall], [[1e4, 0.0], *[[0.0, 0.0]] * 5], [0.5] * 6)
    assert gaps(out, np.full(6, 0.5)).min() >= 0.0
    alone = moved_discs([[0.0, 0.0], [9.0, 9.0]], [[1.0, 2.0], [-1.0, 0.0]], [0.5, 0.5])
    np.testing.assert_allclose(alone, [[1.0, 2.0], [8.0, 9.0]])


def test_near_pairs_are_those_of_all_pairs(rng):
    places = rng.uniform(-5, 5, (60, 2))
    away = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    want = {(i, j) for i, j in np.argwhere(away <= 1.3) if i < j}
    assert {tuple(pair) for pair in near_pairs(places, 1.3)} == want


def test_weights_travel_as_requested_within_reach(waltz, rng):
    node = waltz.dance_nodes[0]
    for _ in range(10):
        share = rng.dirichlet(np.ones(len(node)))
        target = share @ node.travel
        weights = travel_weights(node.travel, [target])[0]
        assert weights.min() >= 0.0 and weights.sum() == pytest.approx(1.0)
        assert np.abs(weights @ node.travel - target).max() < 0.06


@pytest.mark.parametrize("seed", range(4))
def test_couples_never_collide_and_never_leave_the_room(waltz, seed):
    scene = BallroomSettings(
        couples=20, tempo_bpm=90.0, seconds=24.0, seed=seed, floor=Ballfloor(columns=COLUMNS)
    )
    made = ballroom(scene, waltz)
    assert made.clearance() >= 0.0
    around = np.unwrap(np.arctan2(made.centers[..., 0], made.centers[..., 1]), axis=1)
    assert np.median(around[:, -1] - around[:, 0]) > 0.5  # counterclockwise


def test_the_same_seed_dances_the_same(waltz):
    scene = BallroomSettings(couples=4, tempo_bpm=100.0, seconds=6.0, seed=5)
    a, b = ballroom(scene, waltz), ballroom(scene, waltz)
    assert all(np.array_equal(x.root, y.root) for x, y in zip(a.scene, b.scene, strict=True))
    other = ballroom(BallroomSettings(couples=4, tempo_bpm=100.0, seconds=6.0, seed=6), waltz)
    assert not np.array_equal(a.centers, other.centers)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BallroomSettings(couples=500, tempo_bpm=90), "500 couples .* do not fit"),
        (lambda: settings_from("ballroom", {"couples": 2}, "ball.toml"), "has no music"),
        (lambda: BallroomSettings(couples=0, tempo_bpm=90), "couples must be at least 1"),
        (lambda: BallroomSettings(couples=1, floor=Ballfloor(room=(0.5, 9.0))), "do not fit"),
        (lambda: Ballfloor(columns=((0, 0, -1),)), "radius of a column"),
        (lambda: BallroomSettings(tempo_bpm=900), "tempo_bpm must be at most 240"),
        (lambda: settings_from("march", {"points": CORNERS}, "a.toml"), "has no music"),
        (lambda: MarchSettings(points=((0, 0),), tempo_bpm=96), "must have at least two rows"),
        (lambda: MarchSettings(points=((0, 0), (0, 5)), tempo_bpm=96), "the street is too short"),
        (
            lambda: MarchSettings(points=((0, 0), (0, 20), (1, 20), (1, 0)), tempo_bpm=96),
            "folds on itself",
        ),
        (
            lambda: MarchSettings(
                points=((0, 0), (0, 40), (20, 40), (20, 20), (-20, 20)), tempo_bpm=96
            ),
            "folds on itself",
        ),
    ],
)  # fmt: skip
def test_impossible_crowds_are_rejected_before_any_work(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_crowd_descriptions_are_read_from_toml_and_json(tmp_path):
    toml = tmp_path / "ball.toml"
    toml.write_text('kind = "ballroom"\ncouples = 3\ntempo_bpm = 90\ncolumns = [[0, 0, 0.4]]\n')
    assert load_crowd_settings(toml) == BallroomSettings(
        couples=3, tempo_bpm=90, floor=Ballfloor(columns=((0, 0, 0.4),))
    )
    street = tmp_path / "street.json"
    street.write_text(json.dumps({"kind": "march", "points": CORNERS, "tempo_bpm": 96}))
    assert load_crowd_settings(street).street.length > 40.0
    street.write_text('{"kind": "march", "color": 3}')
    with pytest.raises(InvalidInput, match="unknown keys for a march: color"):
        load_crowd_settings(street)
    street.write_text('{"kind": "parade"}')
    with pytest.raises(InvalidInput, match="kind must be one of ballroom, march"):
        load_crowd_settings(street)


def test_the_commands_write_all_characters_and_report_quality(tmp_path):
    from motionloom.cli import app

    place = tmp_path / "ball.glb"
    out = CliRunner().invoke(
        app,
        ["ballroom", "--couples", "3", "--seconds", "4", "-o", str(place), "--json",
         "--bvh", str(tmp_path / "each"), "--top-view", str(tmp_path / "top.gif")],
    )  # fmt: skip
    assert out.exit_code == 0, out.output
    answer = json.loads(out.stdout)
    assert answer["frames"] == 120 and answer["characters"] == 6 and answer["clearance_m"] >= 0.0
    assert {"beats_total", "beats_within_one_frame", "quality", "sources"} <= set(answer)
    assert place.stat().st_size > 10_000 and len(list((tmp_path / "each").iterdir())) == 6
    assert (tmp_path / "top.gif").read_bytes()[:3] == b"GIF"
    street = tmp_path / "street.toml"
    street.write_text('kind = "march"\npoints = [[0, 0], [0, 9]]\nranks = 2\ntempo_bpm = 96\n')
    goes = ["march", str(street), "--seconds", "4", "-o", str(tmp_path / "m.glb"), "--json"]
    answer = json.loads(CliRunner().invoke(app, goes).stdout)
    assert answer["soldiers"] == 8 and answer["misplacement_m"] < 0.25
