"""Which files an import finds, and what their motions are called."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from small_takes import contents, needs_fork, write_take

from motionloom import Library
from motionloom.store.ingest.sources import SourceFile, assign_names, find_sources


def test_each_file_is_found_once_whatever_the_way(tmp_path, monkeypatch):
    takes = tmp_path / "takes"
    write_take(takes / "a/one.bvh")
    write_take(takes / "a/Two.BVH")
    write_take(takes / ".hidden/three.bvh")
    write_take(takes / ".four.bvh")
    (takes / "a/loop").symlink_to(takes)
    (takes / "again").symlink_to(takes / "a")
    Library.create(takes / "inside.loom")
    monkeypatch.chdir(tmp_path)
    given = ["takes", "takes/a/../a/one.bvh", takes / "a", "takes/again/one.bvh"]
    for seed in range(5):
        sources, unreadable = find_sources(random.Random(seed).sample(given, len(given)))
        assert [Path(source.path).name for source in sources] == ["Two.BVH", "one.bvh"]
        assert [source.folders for source in sources] == [("a",), ("a",)]
        assert unreadable == []


def test_rerunning_from_elsewhere_or_in_parts_changes_nothing(takes, lib, monkeypatch):
    monkeypatch.chdir(takes.parent)
    lib.add("takes")
    before = contents(lib.path)
    monkeypatch.chdir(takes)
    assert lib.add(".", "walk", "run/run_001.bvh").skipped == 12
    assert contents(lib.path) == before


def _sources(*paths):
    return [SourceFile(path, path, ()) for path in paths]


@pytest.mark.parametrize(
    ("paths", "stored", "names"),
    [
        (["/t/a/walk.bvh", "/t/run.bvh"], {}, ["walk", "run"]),
        (["/t/a/walk.bvh", "/t/b/walk.bvh"], {}, ["a/walk", "b/walk"]),
        (
            ["/x/a/walk.bvh", "/y/a/walk.bvh", "/y/b/walk.bvh"],
            {},
            ["x/a/walk", "y/a/walk", "b/walk"],
        ),
        (["/t/walk.bvh", "/t/walk.glb"], {}, ["walk.bvh", "walk.glb"]),
        (["/walk.bvh", "/t/walk.bvh"], {}, ["/walk", "t/walk"]),
        (["/t/a/walk.bvh"], {"walk": "/t/b/walk.bvh"}, ["a/walk"]),
        (["/t/a/walk.bvh"], {"walk": ""}, ["a/walk"]),
        (["/t/a/walk.bvh", "/t/b/walk.bvh"], {"walk": "/t/b/walk.bvh"}, ["a/walk", "walk"]),
        (["/a/walk.bvh"], {"walk": "/b", "a/walk": "/c"}, ["/a/walk"]),
        (
            ["/walk.bvh"],
            {"walk": "/b", "/walk": "/c", "walk.bvh": "/d", "/walk.bvh": "/e"},
            ["/walk.bvh (2)"],
        ),
    ],
)
def test_names_are_as_short_as_possible_but_distinct(paths, stored, names):
    for seed in range(4):
        order = random.Random(seed).sample(paths, len(paths))
        result = assign_names(_sources(*order), stored)
        assert [result[path] for path in paths] == names


def test_names_given_so_far_do_not_change_those_still_to_come():
    rng = random.Random(0)
    for _ in range(200):
        paths = {
            "/" + "/".join(rng.choices("ab", k=rng.randint(1, 3))) + f"/{rng.choice('xy')}.bvh"
            for _ in range(6)
        }
        stored = {name: f"/other/{name}" for name in rng.sample(["x", "a/x", "y", "b/a/y"], 2)}
        sources = _sources(*paths)
        whole = assign_names(sources, stored)
        assert len(set(whole.values())) == len(paths) and not set(whole.values()) & set(stored)
        done = rng.sample(sorted(paths), rng.randint(0, len(paths)))
        assert assign_names(sources, {**stored, **{whole[p]: p for p in done}}) == whole


def test_a_folder_that_has_moved_is_recognized(takes, lib, tmp_path):
    lib.add(takes, labels="folder")
    digest = lib.store.digest()
    takes.rename(tmp_path / "moved")
    report = lib.add(tmp_path / "moved")
    assert (report.added, report.skipped) == (0, 12)
    assert lib.store.digest() == digest
    write_take(tmp_path / "moved/run/run_001.bvh", seed=99)  # from now on it is the source
    assert lib.add(tmp_path / "moved").replaced == 1
    assert len(lib) == 12


def test_another_file_of_the_same_name_does_not_replace_the_first(tmp_path, lib):
    lib.add(write_take(tmp_path / "monday/walk.bvh", seed=1))
    lib.add(write_take(tmp_path / "tuesday/walk.bvh", seed=2))
    assert lib.names == ("tuesday/walk", "walk")
    assert lib.add(tmp_path / "monday", tmp_path / "tuesday").skipped == 2


@needs_fork
def test_file_names_of_any_bytes_are_taken(tmp_path, lib):
    write_take(tmp_path / "takes/ok.bvh")
    odd = os.fsencode(tmp_path / "takes") + b"/caf\xe9 100% [x].bvh"
    Path(os.fsdecode(odd)).write_bytes((tmp_path / "takes/ok.bvh").read_bytes())
    (tmp_path / "takes/\u6b69\u304f.bvh").write_bytes((tmp_path / "takes/ok.bvh").read_bytes())
    lib.add(tmp_path / "takes", labels="folder")
    assert lib.names == ("caf\\udce9 100% [x]", "ok", "\u6b69\u304f")
    assert all(len(lib[name]) == 40 for name in lib)
    assert lib.add(tmp_path / "takes").skipped == 3
