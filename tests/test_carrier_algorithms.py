"""Joints above the hips change no result: libraries of release 0.1, and motions made in Python."""

from dataclasses import replace

import numpy as np
import pytest
from carriers import under_a_carrier

import motionloom as ml
from motionloom.blending import Blend, register
from motionloom.crowd.couples import found_couples
from motionloom.crowd.dance_floor import dance_floor
from motionloom.crowd.settings import DanceFloorSettings
from motionloom.crowd.strides import marching_steps
from motionloom.dance import Choreography
from motionloom.features.feature_sets import frame_features
from motionloom.motion.diagnostics.issues import find_issues
from motionloom.motion.diagnostics.quality import joint_accelerations
from motionloom.motion.kinematics.body import hips_path
from motionloom.motion_graph import motion_graph
from motionloom.parametric.signals import EXTREMES, floor_curvature, floor_steps
from motionloom.plots.figures.stick_figure import stick_figure

KINDS = ("fixed", "traveling")
# Takes of Bandai-Namco, in test_bandai.py, have a fixed carrier.
DEFAULT = [pytest.param("fixed", marks=pytest.mark.slow), "traveling"]
WALKS = ("walk", "walk_left", "walk_right", "walk_slow")


@pytest.fixture(scope="module")
def takes():
    clips = [ml.demo.clip(name, performer=0) for name in WALKS]
    clips += [ml.demo.clip("kick_front_high_right", performer=k) for k in (0, 0, 0)]
    clips[-2] = clips[-2].transform(yaw=1.0, shift=(1.0, 0.0, 2.0))
    clips[-1] = ml.demo.clip("kick_front_mid_right", performer=0)
    clips += [ml.demo.clip("dance_groove", performer=0, seed=seed) for seed in (0, 1)]
    return [replace(clip, name=f"{k}_{clip.name}") for k, clip in enumerate(clips)]


@pytest.fixture(scope="module")
def libraries(takes, tmp_path_factory):
    """Libraries of the same takes: plain, and recorded below a carrier."""
    made = {}
    for kind in ("plain", *KINDS):
        lib = ml.Library.create(tmp_path_factory.mktemp("carriers") / f"{kind}.loom")
        for take in takes:
            lib.add_motion(take if kind == "plain" else under_a_carrier(take, kind))
        made[kind] = lib
    key = made["fixed"].entries()[0].skeleton
    assert made["fixed"].store.skeleton(key).names[0] == "Hips"
    yield made
    for lib in made.values():
        lib.close()


def same(a, b, atol=2e-3):
    assert a.skeleton.names == b.skeleton.names
    assert len(a) == len(b)
    np.testing.assert_allclose(a.positions(), b.positions(), atol=atol)


@pytest.fixture(scope="module", params=DEFAULT)
def pair(request, libraries):
    """A plain library, and one of takes below a carrier."""
    return libraries["plain"], libraries[request.param]


def test_motions_of_a_library_have_the_hips_as_root(pair):
    plain, carried = pair
    for name in plain.names:
        same(carried[name], plain[name], atol=1e-5)


def test_search_and_family(pair):
    result = [lib.search("4_kick_front_high_right_p0:5-40") for lib in pair]
    rows = [[(m.motion, m.start_frame, m.end_frame) for m in matches] for matches in result]
    assert rows[0] == rows[1] and len(rows[0]) >= 3
    np.testing.assert_allclose(
        [m.distance for m in result[0]], [m.distance for m in result[1]], atol=1e-4
    )
    families = [
        lib.family("4_kick_front_high_right_p0:5-40", expansion=ml.Expansion(join_distance=0.2))
        for lib in pair
    ]
    assert [node.motion for node in families[0].nodes] == [n.motion for n in families[1].nodes]


def test_parametric_motions(pair):
    names = [name for name in pair[0].names if "kick" in name]
    made = []
    for lib in pair:
        kick = lib.parametrize(names, by="highest(right_ankle)", samples=50)
        made.append(kick([float(np.mean(kick.accessible))]))
    same(*made)


def test_a_walk_along_a_path(pair):
    names = [name for name in pair[0].names if "walk" in name]
    line = np.column_stack([0.3 * np.sin(np.linspace(0, 3, 20)), np.linspace(0, 4, 20)])
    made = [lib.motion_graph(only=names).walk(path=line, seed=1) for lib in pair]
    same(*made)
    hips = hips_path(made[1])[:, [0, 2]]
    away = np.linalg.norm(hips[:, None] - line[None], axis=2).min(axis=1)
    assert away.mean() < 0.3


def test_a_dance_and_a_dance_floor(pair):
    names = [name for name in pair[0].names if "dance" in name]
    steps = [lib.choreography(only=names, meter=4) for lib in pair]
    same(*(step.dance(step.music("tune"), seconds=6, seed=2) for step in steps))
    floors = [lib.dance_floor(count=2, seconds=4.0, only=names) for lib in pair]
    for a, b in zip(floors[0].motions, floors[1].motions, strict=True):
        same(a, b)


def test_a_march(pair):
    names = [name for name in pair[0].names if "walk" in name]
    made = [
        lib.march(
            seconds=4.0,
            movements=ml.CrowdMovements(takes=tuple(names)),
            formation=ml.Formation(ranks=1, files=2),
        )
        for lib in pair
    ]
    for a, b in zip(made[0].scene.motions, made[1].scene.motions, strict=True):
        same(a, b)


def test_a_reconstruction(pair):
    markers = ml.demo.clip("walk", performer=1)[:20]
    same(*(lib.reconstruct(markers) for lib in pair), atol=5e-3)


# --- motions made in Python -----------------------------------------------------------------


@pytest.mark.parametrize("kind", (*KINDS, "tilted", "rigid"))
def test_speed_and_curvature_follow_the_hips(kind):
    walk = ml.demo.clip("walk_left")
    carried = under_a_carrier(walk, kind)
    np.testing.assert_allclose(floor_steps(carried), floor_steps(walk), atol=1e-5)
    assert floor_curvature(carried) == pytest.approx(floor_curvature(walk), abs=1e-3)
    for name in ("average_speed", "average_curvature", "final_root_position"):
        measure = getattr(ml.parameters, name)()
        np.testing.assert_allclose(measure(carried), measure(walk), atol=1e-3)
    assert EXTREMES["farthest"](carried, "left_wrist") == EXTREMES["farthest"](walk, "left_wrist")


@pytest.mark.parametrize("kind", (*KINDS, "tilted", "rigid"))
def test_places_and_headings_are_those_of_the_body(kind):
    walk = ml.demo.clip("walk_left").transform(yaw=0.7, shift=(3.0, 0.0, -2.0))
    carried = under_a_carrier(walk, kind)
    body = slice(1, None)
    for make in (ml.Motion.starting_at_origin, ml.Motion.without_heading):
        np.testing.assert_allclose(
            make(carried).positions()[:, body], make(walk).positions(), atol=1e-4
        )
    moved = ml.motion.PlanarTransform.to_origin(carried).to_array()
    np.testing.assert_allclose(
        moved, ml.motion.PlanarTransform.to_origin(walk).to_array(), atol=1e-4
    )
    np.testing.assert_allclose(carried.headings(), walk.headings(), atol=1e-4)
    np.testing.assert_allclose(
        frame_features(carried, "e39"), frame_features(walk, "e39"), atol=1e-4
    )
    cleaned = carried.clean_feet(contacts=walk.contacts())
    np.testing.assert_allclose(
        cleaned.positions()[:, body], walk.clean_feet().positions(), atol=2e-3
    )


@pytest.mark.parametrize("kind", (*KINDS, "tilted", "rigid"))
def test_issues_and_drawings_are_those_of_the_body(kind):
    walk = ml.demo.clip("walk")
    carried = under_a_carrier(walk, kind, props=True)
    assert not [issue for issue in find_issues(carried) if issue.code != "carrier"]
    np.testing.assert_allclose(joint_accelerations(carried), joint_accelerations(walk), atol=0.2)
    figure, expected = stick_figure(carried), stick_figure(walk)
    assert len(figure.points) == len(expected.points)
    assert figure.size == pytest.approx(expected.size, rel=1e-3)


@pytest.mark.parametrize("kind", DEFAULT)
def test_blends_graphs_dances_and_crowds_of_takes(kind, takes):
    carried = [under_a_carrier(take, kind) for take in takes]
    kicks = [register(clips[4:7], drop_unmatched=True) for clips in (takes, carried)]
    same(*(Blend(step)([0.4, 0.3, 0.3]) for step in kicks))
    same(*(motion_graph(clips[:4]).walk(seconds=4.0, seed=3) for clips in (takes, carried)))
    steps = [Choreography.from_takes(clips[7:]) for clips in (takes, carried)]
    same(*(step.dance(step.music("tune"), seconds=4) for step in steps))
    settings = DanceFloorSettings(count=2, seconds=3.0)
    floors = [dance_floor(clips[7:], settings).motions for clips in (takes, carried)]
    for a, b in zip(*floors, strict=True):
        same(a, b)
    strides = [marching_steps(clips[:4]) for clips in (takes, carried)]
    assert len(strides[0].movements) == len(strides[1].movements)
    same(strides[0].movements[0].motion, strides[1].movements[0].motion)


@pytest.mark.parametrize("kind", KINDS)
def test_couples_are_found(kind):
    leader, follower = (dancer.motion for dancer in ml.demo.couple())
    couple = [under_a_carrier(item, kind) for item in (leader, follower)]
    assert [(a.name, b.name) for a, b in found_couples(couple)] == [(leader.name, follower.name)]
