"""Clusters of a library: similar takes are together, and named after their events."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import LibraryError
from motionloom.text.captions import Event
from motionloom.text.clusters import clusters_of

KINDS = {
    "kick": ["kick_front_high_right", "kick_front_mid_right", "kick_side_mid_right"],
    "walk": ["walk", "walk_slow", "walk_fast"],
    "dance": ["dance_groove", "dance_sway"],
    "sit": ["sit_stand"],
}


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    made = ml.Library.create(tmp_path_factory.mktemp("clusters") / "takes.loom")
    for name in sum(KINDS.values(), []):
        made.add_motion(ml.demo.clip(name), name=name)
    return made


def test_takes_without_labels_fall_into_clusters_with_names(lib):
    clusters = lib.clusters(workers=1)
    at = {name: k for k, cluster in enumerate(clusters) for name in cluster.motions}
    assert sorted(at) == sorted(lib.names)
    kicks, walks = ({at[name] for name in KINDS[kind]} for kind in ("kick", "walk"))
    assert not kicks & walks
    assert all(clusters[k].name == "kick right" for k in kicks)
    assert all((clusters[k].name, clusters[k].kind) == ("walk", "locomotion") for k in walks)
    assert clusters[at["sit_stand"]].kind == "action" and not clusters[at["sit_stand"]].rhythmic
    assert clusters[at["dance_groove"]].rhythmic


def test_more_fineness_makes_fewer_clusters_until_there_is_one(lib):
    counts = [len(lib.clusters(fineness=item, workers=1)) for item in (0.01, 0.7, 9.0)]
    assert counts[0] == len(lib) and counts[0] > counts[1] > counts[2] == 1


def test_clusters_without_names_are_the_same_groups_and_caption_no_take(tmp_path, monkeypatch):
    library = ml.Library.create(tmp_path / "takes.loom")
    for name in (*KINDS["kick"], *KINDS["walk"]):
        library.add_motion(ml.demo.clip(name), name=name)
    steps = []
    with monkeypatch.context() as patch:
        for slow in ("text.clusters.caption_table", "dance.motion_beats.beats.analyze_beats"):
            patch.setattr(f"motionloom.{slow}", None)
        quick = library.clusters(names=False, workers=1, progress=steps.append)
    assert sum(steps) == len(library)
    assert {(each.name, each.kind, each.rhythmic) for each in quick} == {("", "", False)}
    named = library.clusters(workers=1)
    assert [each.motions for each in quick] == [each.motions for each in named]
    assert {"kick right", "walk"} == {each.name for each in named}


def test_only_chosen_takes_are_put_into_clusters(lib):
    clusters = lib.clusters(only=KINDS["walk"], workers=1)
    assert sorted(name for cluster in clusters for name in cluster.motions) == sorted(KINDS["walk"])


def test_an_empty_library_is_named(tmp_path):
    with pytest.raises(LibraryError, match="the library is empty; import motions first"):
        ml.Library.create(tmp_path / "empty.loom").clusters()


def test_within_a_cluster_no_two_takes_are_farther_apart_than_the_limit(rng):
    points = rng.normal(size=(40, 3))
    far = np.linalg.norm(points[:, None] - points[None], axis=2)
    names = [f"m{k}" for k in range(40)]
    median = np.median(far[np.triu_indices(40, 1)])
    for cluster in clusters_of(names, far, {}, dict.fromkeys(names, 1.0), fineness=0.6):
        own = [names.index(name) for name in cluster.motions]
        assert far[np.ix_(own, own)].max() <= 0.6 * median + 1e-9
        assert far[own[0], own].sum() == pytest.approx(far[np.ix_(own, own)].sum(axis=1).min())


def test_a_name_has_a_side_only_if_the_other_is_not_usual():
    def kick(side):
        return Event("kick", 0.0, 1.0, 0.5, "kicks", side)

    names = ["a", "b", "c", "d"]
    far = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0.0]])
    events = {
        "a": [kick("left")], "b": [kick("left")],
        "c": [kick("left"), kick("right")], "d": [kick("left"), kick("right")],
    }  # fmt: skip
    clusters = clusters_of(names, far, events, dict.fromkeys(names, 2.0), fineness=0.3)
    assert [cluster.name for cluster in clusters] == ["kick left", "kick"]


def test_the_command_prints_clusters(lib):
    done = ran("clusters", lib.path, "--workers", "1", "--json")
    rows = json.loads(done.stdout)
    assert {"name", "kind", "motions", "seconds", "spread", "rhythmic"} == set(rows[0])
    said = ran("clusters", lib.path, "--workers", "1")
    assert "kick right" in said.stdout and "clusters of 9 motions" in said.stderr


def test_progress_counts_three_steps_per_take_also_if_everything_is_stored(lib):
    for _ in range(2):
        steps = []
        lib.clusters(workers=1, progress=steps.append)
        assert sum(steps) == 3 * len(lib)


def test_each_pair_of_takes_is_compared_once(tmp_path, monkeypatch):
    from motionloom.search.clips.statistics import StatisticsMeasure

    names = sum(KINDS.values(), [])
    grown = ml.Library.create(tmp_path / "grown.loom")
    for name in names[:-2]:
        grown.add_motion(ml.demo.clip(name), name=name)
    compared = []
    rows = StatisticsMeasure.matrix_rows

    def counting(self, clips, first, last):
        compared.append(last - first)
        return rows(self, clips, first, last)

    monkeypatch.setattr(StatisticsMeasure, "matrix_rows", counting)
    grown.clusters(workers=1)
    grown.clusters(workers=1, fineness=0.3)
    assert sum(compared) == len(names) - 2
    grown.remove(names[1])
    for name in names[-2:]:
        grown.add_motion(ml.demo.clip(name), name=name)
    again = grown.clusters(workers=1)
    assert sum(compared) == len(names)
    fresh = ml.Library.create(tmp_path / "fresh.loom")
    for name in grown.names:
        fresh.add_motion(ml.demo.clip(name), name=name)
    assert again == fresh.clusters(workers=1)


def test_the_rhythm_of_a_take_is_detected_once(tmp_path, monkeypatch):
    from motionloom.dance.motion_beats import manual_beats

    analyzed = []
    analyze = manual_beats.analyze_beats

    def counting(motions, settings):
        analyzed.extend(motion.name for motion in motions)
        return analyze(motions, settings)

    monkeypatch.setattr(manual_beats, "analyze_beats", counting)
    path = tmp_path / "takes.loom"
    with ml.Library.create(path) as lib:
        for name in ("walk", "dance_groove", "sit_stand"):
            lib.add_motion(ml.demo.clip(name), name=name)
        first = lib.beats.tempos()
    with ml.Library(path) as lib:
        assert lib.beats.tempos() == first
        assert lib.beats.is_rhythmic("dance_groove") and not lib.beats.is_rhythmic("sit_stand")
        lib.clusters(workers=1)
        assert sorted(analyzed) == sorted(lib.names)
        assert first["dance_groove"] == pytest.approx(lib.beats["dance_groove"].bpm)
        lib.beats.set("walk", bpm=50.0)
        assert lib.beats.tempos(["walk"])["walk"] == pytest.approx(50.0)


def test_tempos_are_kept_if_the_search_is_stopped(tmp_path, monkeypatch):
    from motionloom.dance.motion_beats.stored_rhythms import RHYTHMS

    lib = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "dance_groove"):
        lib.add_motion(ml.demo.clip(name), name=name)

    def stop(steps):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lib.beats.tempos(progress=stop)
    assert len(RHYTHMS.stored(lib.store)) == 1
    lib.artifacts.save("rhythms", "detected", {"version": 1, "rhythms": {"a": 3}})
    assert RHYTHMS.stored(lib.store) == {}  # damaged: detected again
