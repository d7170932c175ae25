"""What is fuzzed: every reader of files, and a small library with every kind of artifact."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np

import motionloom as ml
from fuzz.mutations import mutated_file
from motionloom.errors import MotionloomError

ALLOWED = (MotionloomError, FileNotFoundError)
_BONE = """  begin
    id {0}
    name {1}
    direction 0 -1 0
    length 8
    axis 0 0 20 XYZ
    dof {2}
    limits {3}
  end
"""
_ASF = (
    ":version 1.10\n:name leg\n:units\n  mass 1.0\n  length 0.45\n  angle deg\n:root\n"
    "  order TX TY TZ RX RY RZ\n  axis XYZ\n  position 0 0 0\n  orientation 0 0 0\n:bonedata\n"
    + _BONE.format(1, "thigh", "rx ry rz", "(-160 20)\n(-70 70)\n(-60 70)")
    + _BONE.format(2, "shin", "rz rx", "(-10 170)\n(-10 10)")
    + ":hierarchy\n  begin\n    root thigh\n    thigh shin\n  end\n"
)


def seed_files(folder: Path) -> list[Path]:
    """One small file of every format that can be written, and of every settings file."""
    walk = ml.demo.clip("walk")[:40]
    made: list[Path] = []
    for suffix in (".bvh", ".glb", ".gltf", ".csv", ".npz", ".amc", ".c3d", ".parquet", ".usda"):
        path = folder / f"walk{suffix}"
        with contextlib.suppress(MotionloomError, ImportError):
            walk.save(path)
            made.append(path)
    for path in sorted(folder.glob("walk*")):
        if path.suffix in (".asf", ".bin") and path not in made:
            made.append(path)
    rng = np.random.default_rng(0)
    np.savez_compressed(
        folder / "amass.npz",
        poses=rng.normal(0.0, 0.2, (30, 156)),
        trans=rng.normal(0.0, 0.1, (30, 3)),
        betas=np.zeros(16),
        mocap_framerate=np.array(60.0),
        gender=np.array("neutral"),
    )
    made.append(folder / "amass.npz")
    (folder / "leg.asf").write_text(_ASF, encoding="utf-8")
    frames = (f"{n}\nroot 0 17 {n} 0 {n} 0\nthigh {n} 0 0\nshin 0 {n}\n" for n in range(1, 20))
    (folder / "leg.amc").write_text(":FULLY-SPECIFIED\n:DEGREES\n" + "".join(frames))
    made += [folder / "leg.asf", folder / "leg.amc"]
    texts = {
        "weights.json": '[["a", "b", 1.0], ["b", "c", 0.5]]',
        "rules.json": '[{"from": "a", "to": "b", "likelihood": 0.5}, {"rename": {"a": "c"}}]',
        "graph.json": '{"nodes": [{"name": "a", "movements": [0], "start": 1.0}, {"name": "b", '
        '"movements": [1, 2]}], "edges": [{"from": "a", "to": "b", "likelihood": 1.0}, '
        '{"from": "b", "to": "a", "likelihood": 1.0}]}',
        "roles.json": '{"hips": "Hips", "left_knee": "LeftLeg"}',
        "roles.toml": 'hips = "Hips"\nleft_knee = "LeftLeg"\n',
        "crowd.json": '{"kind": "ballroom", "couples": 3, "seconds": 4, "tempo_bpm": 90}',
        "crowd.toml": 'kind = "march"\nranks = 2\nfiles = 2\nseconds = 3\n',
        "motionloom.toml": '[engine]\ncluster = "tcp://127.0.0.1:1"\n[store]\ncache_gb = 3\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        made.append(folder / name)
    midi = folder / "tune.mid"
    midi.write_bytes(
        b"MThd\0\0\0\6\0\0\0\1\0\x60MTrk\0\0\0\x1b\0\xff\x51\3\7\xa1\x20"
        b"\0\x90\x3c\x40\x60\x80\x3c\0\0\x90\x3e\x40\x60\x80\x3e\0\0\xff\x2f\0"
    )
    made.append(midi)
    return made


def read_file(path: Path) -> None:
    """Read a file as whatever its name says."""
    from motionloom.configuration import section, trust_settings
    from motionloom.crowd.settings import load_crowd_settings
    from motionloom.distance.joint_weights import load_weights
    from motionloom.library import load_music
    from motionloom.motion.roles.role_map import load_role_map
    from motionloom.rhythm.rules import load_rules
    from motionloom.rhythm.transition_graph import load_graph

    readers: dict[str, Callable[[Path], object]] = {
        "weights": load_weights,
        "rules": load_rules,
        "graph": load_graph,
        "roles": load_role_map,
        "crowd": load_crowd_settings,
        "tune": load_music,
    }
    if path.name == "motionloom.toml":
        trust_settings(path)
        section("engine", path)
    elif path.stem in readers:
        readers[path.stem](path)
    elif path.suffix == ".c3d":
        ml.load_markers(path)
    else:
        motion = ml.load(path.with_suffix(".amc") if path.suffix == ".asf" else path)
        motion.positions()
        np.asarray(motion.rotations).sum()


def seed_library(folder: Path) -> Path:
    """A library with features, an index, webs, a graph, a parametric motion, a choreography."""
    path = folder / "seed.loom"
    lib = ml.Library.create(path)
    names = ("walk", "walk_fast", "kick_front_high_right", "kick_front_mid_right", "dance_groove")
    for name in names:
        lib.add_motion(ml.demo.clip(name)[:120], name=name, labels=[name.split("_")[0]])
    lib.label("walk:10-60", "stroll")
    use_library(path, full=True)
    family = lib.family("kick_front_high_right", max_distance=0.5)
    with contextlib.suppress(MotionloomError):
        lib.parametrize(family, by="right_ankle@20", samples=10, name="kick")
    with contextlib.suppress(MotionloomError):
        lib.save_choreography(lib.choreography(takes=["dance_groove"], meter=4), "groove")
    lib.close()
    return path


def use_library(path: Path, *, full: bool = False, rng: random.Random | None = None) -> None:
    """Use everything in a library."""
    from motionloom.search import open_index
    from motionloom.search.match_web.store import WebStore

    rng = rng or random.Random(0)
    lib = ml.Library(path)

    def neighbours() -> None:
        features = lib.features("e15")
        open_index(lib, features).nearest(features.rows[:3], features.rows, k=3)

    def webs() -> None:
        store = WebStore(lib)
        if full:
            store.build(workers=1)
        for name in store.files.names():
            from motionloom.search.match_web.encoding import decoded

            store.files.about([name])
            store.files.read(name, decoded)

    def parametric() -> None:
        for name in lib.parametric_names:
            motion = lib.parametric(name)
            motion.reach(motion.accessible.mean(axis=0))

    def graph() -> None:
        lib.motion_graph(only=["walk", "walk_fast"], workers=1).walk(seconds=1.0)

    uses: list[Callable[[], object]] = [
        lambda: [lib[name].positions().sum() for name in lib.names],
        lambda: [lib.labels(name) for name in lib],
        lambda: (lib.label_counts(), lib.digest(), lib.seconds, lib.entries()),
        lambda: lib.search("walk:0-30", max=3),
        neighbours,
        webs,
        graph,
        parametric,
        lambda: [lib.saved_choreography(name) for name in lib.choreography_names],
        lambda: (lib.artifacts.list(), lib.parametric_motions()),
        lambda: lib.verify(),
        lambda: lib.label("walk", "calm"),
        lambda: lib.verify(repair=True),
        lambda: lib.remove("walk"),
    ]
    chosen = uses if full else rng.sample(uses, 4)
    try:
        for use in chosen[: 10 if full else None]:
            try:
                use()
            except ALLOWED:
                if full:
                    raise
    finally:
        lib.close()


def mutated_library(seed: Path, folder: Path, rng: random.Random) -> Path:
    """A copy of a library with one or two files changed; its checksums are removed or put right."""
    path = folder / "takes.loom"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(seed, path)
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "lock")
    for _ in range(rng.choice([1, 1, 1, 2])):
        chosen = rng.choice(files)
        if rng.random() < 0.05:
            chosen.unlink(missing_ok=True)
        elif chosen.exists():
            chosen.write_bytes(mutated_file(chosen, chosen.read_bytes(), rng, folder))
    if rng.random() < 0.8:  # else the checksums alone would notice it
        for checks in path.rglob("checks.json"):
            checks.unlink()
        with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
            catalogue = sqlite3.connect(path / "catalogue.sqlite")
            catalogue.execute("DROP TABLE checks")
            catalogue.commit()
            catalogue.close()
    return path


def forget_verified() -> None:
    """Verify again what this process has verified."""
    from motionloom.store import frames
    from motionloom.store.artifacts import folders

    frames._verified.clear()
    folders._verified.clear()
