"""Artifacts of libraries with unusual rigs can be read again."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from commands import ran
from plain_motions import ball, snake
from rig_variants import KINDS, on_rig

import motionloom as ml
from motionloom.blending.examples import without_body
from motionloom.errors import LibraryError
from motionloom.motion import Skeleton
from motionloom.motion_matching import MatchingSettings, matching_database
from motionloom.motion_matching.artifact import open_database, save_database
from motionloom.store.records import skeleton_from, skeleton_json

SKELETONS = {kind: on_rig(ml.demo.clip("walk")[:2], kind).skeleton for kind in KINDS} | {
    "one joint": ball().skeleton,
    "one joint with an end": Skeleton(["a"], [-1], [[0, 0, 0]], ["tip"], [0], [[0, 1, 0]]),
}


@pytest.mark.parametrize("kind", SKELETONS)
def test_a_skeleton_is_stored_exactly(kind):
    skeleton = SKELETONS[kind]
    again = skeleton_from(skeleton_json(skeleton))
    assert again is not None
    assert skeleton_json(again) == skeleton_json(skeleton) and again.roles == skeleton.roles
    assert again.end_offsets.shape == (len(skeleton.end_names), 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_matching_database_is_read_as_it_was_written(kind, tmp_path):
    walk = on_rig(ml.demo.clip("walk"), kind)
    made = matching_database([walk], MatchingSettings(mirror=False))
    save_database(made, tmp_path)
    read = open_database(tmp_path, MatchingSettings(mirror=False))
    assert read.skeleton.roles == made.skeleton.roles
    np.testing.assert_array_equal(read.skeleton.end_offsets, made.skeleton.end_offsets)
    np.testing.assert_array_equal(read.features, made.features)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_everything_derived_from_a_library_is_read_again(kind, lib):
    for take in ("walk", "walk_fast", "kick_front_mid_right", "kick_front_high_right"):
        lib.add_motion(on_rig(ml.demo.clip(take), kind))
    lib.webs.build()
    kick = "kick_front_mid_right_p0"
    family = [f"{kick}", "kick_front_high_right_p0"]
    lib.parametrize(family, by="highest(right_ankle)", name="kick", samples=20)
    walks = []
    for _ in range(2):
        opened = ml.Library(lib.path)
        for method in ("dtw", "lazy", "web", "emd"):
            assert opened.search(f"{kick}:10-40", method=method)
        assert opened.find("walk")
        graph = opened.motion_graph()
        walks.append((opened.motion_matching().walk(seconds=1), graph.walk(seconds=1, seed=1)))
        assert len(opened.parametric["kick"].examples) == 2
    for first, again in zip(*walks, strict=True):
        np.testing.assert_array_equal(first.root, again.root)


def test_an_artifact_that_cannot_be_read_says_why_and_is_built_once(lib):
    builds = []

    def build(folder, previous):
        builds.append(folder)
        (folder / "rows.txt").write_text("1")

    def read(folder):
        raise ValueError("end_offsets must have shape (0, 3)")

    with pytest.raises(LibraryError, match=r"cannot be read after it was built: .*shape \(0, 3\)"):
        lib.artifacts.derive("rows", {"version": 1}, build=build, read=read)
    assert len(builds) == 1


def test_a_prop_take_is_excluded_and_named(lib):
    """``chair`` is first by name, and has no joint with a role."""
    for take in ("walk", "walk_fast"):
        lib.add_motion(ml.demo.clip(take))
    lib.add_motion(ball(), name="chair")
    matching = lib.motion_matching()
    assert list(matching.skipped) == ["chair"]
    assert "no joint has the role hips or 6 more" in matching.skipped["chair"]
    with pytest.warns(UserWarning, match="excluded chair: it has no body"):
        graph = lib.motion_graph()
    assert "chair" not in graph.names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.motion_graph()  # it is stored


@pytest.mark.slow
def test_a_fat_graph_excludes_and_names_a_prop(lib):
    for take in ("walk", "walk_fast", "walk_left", "walk_right"):
        lib.add_motion(ml.demo.clip(take))
    lib.add_motion(ball(), name="chair")
    assert list(lib.fat_graph(examples=4).skipped) == ["chair"]
    assert "excluded chair: it has no body" in ran("fat-graph", str(lib.path)).stderr


def test_takes_of_one_rig_without_roles_are_all_used():
    a, b = snake(), snake()
    assert not without_body({"a": a.skeleton, "b": b.skeleton})
    assert not without_body({"a": a.skeleton, "b": snake(2.0).skeleton})


def test_an_import_reports_tiny_figures(lib, tmp_path):
    walk = ml.demo.clip("walk")[:9]
    tiny = replace(walk, skeleton=walk.skeleton.scaled(0.025), root=walk.root * 0.025)
    tiny.save(tmp_path / "tiny.glb", mesh="none")
    walk.save(tmp_path / "walk.glb", mesh="none")
    done = ran("import", str(lib.path), str(tmp_path))
    assert "height   0.044 m in 1 motion (tiny): if that is wrong" in done.stderr
    assert "walk" not in done.stderr.partition("height")[2].splitlines()[0]
