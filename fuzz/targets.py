"""Targets of the fuzzers: every file reader, and a small library with every kind of artifact."""

from __future__ import annotations

import contextlib
import importlib
import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import motionloom as ml
from fuzz.mutations import mutated_file
from motionloom.dance.transitions.movement_graph import load_graph
from motionloom.errors import MotionloomError
from motionloom.formats import FORMATS, load_takes
from motionloom.formats.positions import marker_joints
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion_graph import GraphSettings
from motionloom.store import history
from motionloom.store.artifacts.folders import write_checks
from motionloom.store.catalogue import Catalogue

_SEVERAL = ("pair", "avatar", "duet", "people", "results")  # files with several takes
ALLOWED = (MotionloomError, FileNotFoundError)
CHILDREN = (".fbx", ".usd", ".usda", ".usdc")  # are read in a process of its own, which takes long
_SMALL: dict[str, dict[str, Any]] = {
    suffix: {"mesh": "none"}
    for suffix in (".glb", ".gltf", ".vrma", *CHILDREN)
    if suffix != ".vrma"
}
_ELAN = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="a" DATE="2020-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0">
<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"><MEDIA_DESCRIPTOR MEDIA_URL="walk.mp4"
MIME_TYPE="video/mp4"/></HEADER><TIME_ORDER><TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="500"/>
<TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="1500"/></TIME_ORDER><TIER TIER_ID="labels"
LINGUISTIC_TYPE_REF="default"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1"
TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2"><ANNOTATION_VALUE>calm</ANNOTATION_VALUE>
</ALIGNABLE_ANNOTATION></ANNOTATION></TIER></ANNOTATION_DOCUMENT>
"""
_PEOPLE = "".join(
    f"""<subject label="{label}" frameRate="60" segmentCount="3"><segments>
<segment label="Pelvis"><points><point><pos_b>0 0 0</pos_b></point></points></segment>
<segment label="L5"><points><point><pos_b>0 0 0.1</pos_b></point></points></segment>
<segment label="Head"><points><point><pos_b>0 0 0.2</pos_b></point></points></segment></segments>
<joints><joint><connector1>Pelvis/a</connector1><connector2>L5/a</connector2></joint>
<joint><connector1>L5/b</connector1><connector2>Head/b</connector2></joint></joints><frames>"""
    + "".join(
        f"""<frame time="{n}" index="{n}" type="normal"><orientation>1 0 0 0 0.8 0.6 0 0 0.6 0 0.8 0
</orientation><position>0 0.{n} 1 0 0 1.2 0 0 1.6</position></frame>"""
        for n in range(1, 9)
    )
    + "</frames></subject>"
    for label in ("Anna", "Bob")
)
_HINGE = '<joint axis="{}" range="-2 2"/><geom type="{}" size="0.04 0.05 0.06" pos="0 0 -0.1"/>'


def _limb(name: str, place: str, bones: int) -> str:
    """A limb of a robot model: bodies with one hinge each."""
    body = ""
    for number in reversed(range(bones)):
        hinge = _HINGE.format(("0 1 0", "1 0 0")[number % 2], ("capsule", "box")[number > 2])
        pos = place if number == 0 else f"0 0 -{0.15 + 0.05 * number:g}"
        body = f'<body name="{name}{number}" pos="{pos}">{hinge}{body}</body>'
    return body


_ROBOT = (
    '<mujoco model="r"><compiler angle="radian"/><default><geom rgba="1 0 0 1"/></default>'
    '<worldbody><body name="pelvis" pos="0 0 0.8"><freejoint/>'
    '<geom type="box" size="0.08 0.1 0.06"/>'
    + _limb("left_leg", "0 0.1 0", 4)
    + _limb("right_leg", "0 -0.1 0", 4)
    + f'<body name="torso" pos="0 0 0.1">{_HINGE.format("0 0 1", "box")}'
    + _limb("left_arm", "0 0.2 0.3", 3)
    + _limb("right_arm", "0 -0.2 0.3", 3)
    + '<body name="head" pos="0 0 0.4"><geom size="0.1"/></body></body></body></worldbody></mujoco>'
)
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
    for suffix in FORMATS:
        with contextlib.suppress(MotionloomError):
            made.append(walk.save(folder / f"walk{suffix}", **_SMALL.get(suffix, {})))
    for suffix in (".glb", ".gltf", ".fbx"):
        made.append(walk[:3].save(folder / f"hero{suffix}", mesh="low"))
    for path in sorted(folder.glob("walk*")):
        if path.suffix in (".asf", ".bin") and path not in made:
            made.append(path)
    pair = ml.Scene([replace(walk, name="Anna"), replace(walk[5:30], name="Bob")])
    for suffix in FORMATS:  # files with several takes
        with contextlib.suppress(MotionloomError):
            made.append(ml.save(pair, folder / f"pair{suffix}", **_SMALL.get(suffix, {})))
    avatar = json.loads((folder / "hero.gltf").read_text())
    bones = {bone: {"node": node} for node, bone in enumerate(("hips", "spine", "chest", "neck"))}
    avatar["extensions"] = {"VRMC_vrm": {"specVersion": "1.0", "humanoid": {"humanBones": bones}}}
    avatar["animations"] = [{**avatar["animations"][0], "name": name} for name in "ab"]
    (folder / "avatar.vrm").write_text(json.dumps(avatar), encoding="utf-8")
    made.append(folder / "avatar.vrm")
    (folder / "duet.mvnx").write_text(
        f'<?xml version="1.0"?><mvnx version="4">{_PEOPLE}</mvnx>', encoding="utf-8"
    )
    made.append(folder / "duet.mvnx")
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
    made += _joint_files(walk, folder)
    texts = {
        "layout.toml": 'points = 17\nunit = "m"\n[landmarks]\nhips = [11, 12]\nleft_hip = 11\n',
        "layout.json": '{"points": ["a", "b"], "landmarks": {"left_hip": "a", "hips": [0, 1]}}',
        "weights.json": '[["a", "b", 1.0], ["b", "c", 0.5]]',
        "rules.json": '[{"from": "a", "to": "b", "likelihood": 0.5}, {"rename": {"a": "c"}}]',
        "graph.json": '{"nodes": [{"name": "a", "movements": [0], "start": 1.0}, {"name": "b", '
        '"movements": [1, 2]}], "edges": [{"from": "a", "to": "b", "likelihood": 1.0}, '
        '{"from": "b", "to": "a", "likelihood": 1.0}]}',
        "roles.json": '{"hips": "Hips", "left_knee": "LeftLeg"}',
        "roles.toml": 'hips = "Hips"\nleft_knee = "LeftLeg"\n',
        "crowd.json": '{"kind": "ballroom", "couples": 3, "seconds": 4, "tempo_bpm": 90}',
        "crowd.toml": 'kind = "march"\nranks = 2\nfiles = 2\nseconds = 3\n',
        "labels.csv": "motion,start,end,label\nwalk,0.5,1.5,calm\nwalk_fast,,,quick\n",
        "labels.json": '{"1": {"feat_p": "a/walk_poses.npz", "dur": 4, "seq_ann": {"labels": '
        '[{"raw_label": "walk", "proc_label": "walk"}]}, "frame_ann": {"labels": [{"raw_label": '
        '"turn", "start_t": 0.5, "end_t": 1.5}]}}}',
        "labels.eaf": _ELAN,
        "table.csv": "file,label\nwalk.bvh,calm\nwalk_fast.bvh,quick\n",
        "synonyms.txt": "# own words\nwalk: stroll amble saunter\nkick ~ leg strike\n",
        "query.txt": "kicks high with the right leg, then turns left while waving twice",
        "script.txt": "walk forward 2 s, kick twice with the right leg, wave while walking, 3 x",
        "graph.mogra": "Transitions: 2 0 1\n10 20\n30 40\nTransitions: 1 1 0\n35 5\n",
        "scores.csv": "motion,mood,age\nwalk,0.2,31\nwalk_fast,0.9,24\n",
        "route.csv": "x,z\n0,0\n0,2\n1,4\n",
        "robot.xml": _ROBOT,
        "tags.csv": "walk:3,walk_fast:4,1\nwalk:9,kick_front_high_right:20,0\n",
        "sentences.csv": "take,sentence\nwalk,a person walks\nwalk_fast,someone is quick\n",
        "trusted.json": '["file 00 /tmp/motionloom.toml", "store s3://bucket"]',
        "motionloom.toml": '[engine]\ncluster = "tcp://127.0.0.1:1"\n[store]\ncache_gb = 3\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        made.append(folder / name)
    load_graph(folder / "graph.json").save(folder / "graph.graphml")
    made.append(folder / "graph.graphml")
    midi = folder / "tune.mid"
    midi.write_bytes(
        b"MThd\0\0\0\6\0\0\0\1\0\x60MTrk\0\0\0\x1b\0\xff\x51\3\7\xa1\x20"
        b"\0\x90\x3c\x40\x60\x80\x3c\0\0\x90\x3e\x40\x60\x80\x3e\0\0\xff\x2f\0"
    )
    made.append(midi)
    return made


def _joint_files(walk: ml.Motion, folder: Path) -> list[Path]:
    """Small files with the positions of joints, one for each form that is read."""
    sides = [f"{s}_{p}" for p in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")
             for s in ("left", "right")]  # fmt: skip
    coco = np.repeat(walk.role_positions(["head", *sides]), [5, *[1] * 12], axis=1)
    joints = walk.role_positions(["hips", "spine", *sides])[:, np.arange(22) % 14]
    made = [walk.save(folder / "features.npy", layout="humanml3d-263")]
    arrays = {
        "points": coco,
        "people": np.stack([coco, coco + 1.0], axis=1),
        "sample": joints.transpose(1, 2, 0),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array.astype(np.float32))
        made.append(folder / f"{name}.npy")
    samples = {"motion": np.stack([joints] * 2).transpose(0, 2, 3, 1), "text": ["a", "b"],
               "lengths": np.array([40, 30]), "num_samples": 2}  # fmt: skip
    np.save(folder / "results.npy", np.array(samples, dtype=object), allow_pickle=True)
    np.savez_compressed(folder / "points.npz", positions=coco, fps=30.0)
    content = {"fps": 30, "positions": coco[:12].round(3).tolist()}
    (folder / "points.json").write_text(json.dumps(content))
    rows = [f"{t},{name},{x:.3f},{y:.3f},{z:.3f}" for t, frame in enumerate(coco[:12])
            for name, (x, y, z) in zip(["nose", *"abcd", *sides], frame, strict=True)]  # fmt: skip
    (folder / "joints.csv").write_text("\n".join(["frame,keypoint,x,y,z", *rows]))
    made += [folder / name for name in ("results.npy", "points.npz", "points.json", "joints.csv")]
    made += [walk.save(folder / f"joints{suffix}") for suffix in (".trc", ".c3d")]
    return made


def read_content(
    chosen: Path, content: bytes, scratch: Path, library: ml.Library, rng: random.Random
) -> None:
    """Read `content` as the file `chosen`, with its companion files unchanged."""
    folder = scratch / "file"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for companion in chosen.parent.glob(f"{chosen.stem}.*"):
        if companion.suffix in (".asf", ".amc", ".bin"):
            shutil.copy(companion, folder)
    path = folder / chosen.name
    path.write_bytes(content)
    if path.suffix == ".bin":
        shutil.copy(chosen.with_suffix(".gltf"), folder)
        path = path.with_suffix(".gltf")
    read_file(path, library, rng)


def read_file(path: Path, library: ml.Library, rng: random.Random) -> None:
    """Read a file according to its name, below the functions that hide errors of readers."""
    reader = _text_readers(library).get(path.stem)
    if reader is not None:
        reader(path)
        return
    path = path.with_suffix(".amc") if path.suffix == ".asf" else path
    read = importlib.import_module(FORMATS[path.suffix].module).read
    if path.stem == "joints":
        read = marker_joints.read
    try:
        loaded = read(path)
        if isinstance(loaded, ml.Motion):
            loaded = hips_as_root(loaded)
            np.asarray(loaded.rotations).sum() + loaded.positions().sum()
        if isinstance(loaded, ml.Motion) and path.stem in _SEVERAL:
            for _, take in load_takes(path):
                if isinstance(take, MotionloomError):
                    _look_through(take)
        if path.stem.startswith("hero"):
            worn = ml.demo.clip("walk")[:5].retarget(path)
            worn.save(path.with_name(f"worn{rng.choice(['.glb', '.fbx', '.gltf'])}"))
    except MotionloomError as error:
        _look_through(error)
        raise


def _text_readers(library: ml.Library) -> dict[str, Callable[[Path], object]]:
    """Readers of settings, tables and text, by the stem of the file."""
    from motionloom.configuration import is_trusted, section, trust_settings, user_settings
    from motionloom.crowd.settings import load_crowd_settings
    from motionloom.dance.transitions.movement_graph import TransitionGraph
    from motionloom.dance.transitions.rules import load_rules, with_rules
    from motionloom.evaluation.settings import SentenceSettings
    from motionloom.features.joint_weights import load_weights, read_tags
    from motionloom.formats.robot import load_robot
    from motionloom.library import evaluate_sentences, load_music
    from motionloom.motion.positions.layouts import layout_named
    from motionloom.motion.roles.assignment import load_role_map
    from motionloom.motion_graph.mogra import read_mogra
    from motionloom.motion_graph.settings import WalkSettings
    from motionloom.parametric.parameter import read_scores
    from motionloom.store.ingest.labels import labeling
    from motionloom.store.ingest.sources import SourceFile
    from motionloom.text.vocabulary import parse_synonyms, words

    def text_of(path: Path) -> str:
        return path.read_text(encoding="utf-8", errors="replace")

    def trusted(path: Path) -> None:
        place = user_settings().with_name("trusted.json")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
        is_trusted("file 00 /tmp/motionloom.toml")
        place.unlink()

    def settings(path: Path) -> None:
        trust_settings(path)
        section("engine", path)
        user_settings().with_name("trusted.json").unlink(missing_ok=True)

    def rules(path: Path) -> None:
        graph = TransitionGraph(("a", "b"), ((0,), (1,)), np.ones(2) / 2, np.ones((2, 2)) / 2)
        with_rules(graph, load_rules(path))

    labeled = ml.Library(library.path.with_name("labeled.loom"))
    walk = SourceFile("/takes/walk.bvh", "takes/walk.bvh", ())
    return {
        "weights": load_weights,
        "rules": rules,
        "graph": lambda path: (read_mogra if path.suffix == ".mogra" else load_graph)(path),
        "roles": load_role_map,
        "layout": layout_named,
        "crowd": load_crowd_settings,
        "tune": load_music,
        "labels": labeled.labels.read,
        "table": lambda path: labeling(path, [walk]),
        "synonyms": lambda path: words("he strolls", parse_synonyms(text_of(path), str(path))),
        "query": lambda path: library.find(text_of(path)),
        "script": lambda path: library.act(text_of(path)).plan,
        "scores": read_scores,
        "robot": load_robot,
        "route": lambda path: WalkSettings(path=path).floor_path(),
        "tags": lambda path: read_tags(path, library.store),
        "sentences": lambda path: evaluate_sentences(library, path, SentenceSettings(workers=1)),
        "trusted": trusted,
        "motionloom": settings,
    }


def _look_through(error: MotionloomError) -> None:
    """Raise an error if a reading process failed in an unexpected way."""
    text = str(error)
    if re.search(r"[( ](Index|Key|Type|Attribute|ZeroDivision|Assertion|Name)Error: ", text):
        raise AssertionError(text)
    if "took longer than the limit" in text:
        raise AssertionError(text)


KINDS = {  # every kind of artifact; see `motionloom.store.artifacts`
    "e15", "pca25", "basis", "bucket", "shards", "boxes", "clips-statistics", "clip-statistics",
    "clips-emd", "clip-signatures", "clip-scales", "clips-dtw-clip", "web", "motion-graph",
    "graph-settings", "motion-graph-edits", "motion-matching", "parametric", "choreography",
    "beats", "captions", "text-index",
}  # fmt: skip


def seed_library(folder: Path) -> Path:
    """A library with every kind of artifact, a history, and files in the trash."""
    path = folder / "seed.loom"
    lib = ml.Library.create(path)
    names = ("walk", "walk_fast", "kick_front_high_right", "kick_front_mid_right", "dance_groove")
    for name in names:
        lib.add_motion(ml.demo.clip(name)[:120], name=name, labels=[name.split("_")[0]])
    lib.labels.add("walk:10-60", "stroll")
    lib.rename("dance_groove", "groove")
    lib.rename("groove", "dance_groove")
    lib.undo()
    lib.redo()
    use_library(path, full=True)
    family = lib.family("kick_front_high_right", expansion=ml.Expansion(join_distance=0.5))
    lib.parametrize(family, by="right_ankle@20", samples=10, name="kick")
    lib.choreographies["groove"] = lib.choreography(takes=["dance_groove"], meter=4)
    lib.beats.set("dance_groove", bpm=100, first_beat=0.5)
    lib.beats.edit("walk", times=[0.2, 0.9, 1.7])
    lib.graphs.keep(GraphSettings(only=("walk", "walk_fast"), per_minute=9))
    lib.graphs.edit("lock", "walk:30,walk_fast:12")
    use_library(path, full=True)  # features and webs of the final motions
    missing = KINDS - {artifact.kind for artifact in lib.artifacts.list()}
    if missing:
        raise AssertionError(f"the seed library has no {', '.join(sorted(missing))}")
    lib.close()
    return path


def own_library(seed: Path, folder: Path) -> ml.Library:
    """Copy a library twice: one copy for reading files, and one to which labels are added."""
    shutil.copytree(seed, folder / "labeled.loom")
    shutil.copytree(seed, folder / "own.loom")
    return ml.Library(folder / "own.loom")


def use_library(path: Path, *, full: bool = False, rng: random.Random | None = None) -> None:
    """Use everything in a library."""
    from motionloom.search import open_index
    from motionloom.search.clips.retrieval import clip_scales, clip_table
    from motionloom.search.match_web.store import WebStore
    from motionloom.search.methods import ClipStatistics
    from motionloom.search.subsequence.dtw import run_bounds
    from motionloom.search.subsequence.lower_bounds import BoundedPass
    from motionloom.search.subsequence.run_boxes import RunBoxes

    rng = rng or random.Random(0)
    lib = ml.Library(path)

    def neighbors() -> object:
        features = lib.features("e15")
        for kind in ("bucket", "shards"):
            index = open_index(lib.store, features, kind)
            index.nearest(features.rows[:3], features.rows, k=3)
        boxes = run_bounds(lib.store, features)  # otherwise only large libraries have them
        assert isinstance(boxes, RunBoxes)
        BoundedPass(features.rows[:40], features.rows, features.starts, boxes).costs(5.0)
        return lib.features("pca25")

    def scales() -> object:  # otherwise only large libraries have them
        return clip_scales(lib.store, clip_table(lib.store, ClipStatistics().measure()))

    def webs() -> None:
        store = WebStore(lib.store)
        if full:
            store.build(workers=1)
        for name in store.files.names():
            from motionloom.search.match_web.encoding import decoded

            store.files.about([name])
            store.files.read(name, decoded)

    def parametric() -> None:
        for name in tuple(lib.parametric):
            motion = lib.parametric[name]
            motion.reach(motion.accessible.mean(axis=0))

    def matching() -> None:
        database = lib.motion_matching(only=["walk", "walk_fast"])
        database.player(velocity=(0.0, 1.0)).record(seconds=0.5)

    def graph() -> None:
        lib.motion_graph(only=["walk", "walk_fast"]).walk(seconds=1.0)

    uses: list[Callable[[], object]] = [
        lambda: [lib[name].positions().sum() for name in lib.names],
        lambda: [lib.labels[name] for name in lib],
        lambda: (lib.labels.counts(), lib.store.digest(), lib.store.seconds, lib.entries()),
        lambda: lib.search("walk:0-30", max=3),
        neighbors,
        webs,
        graph,
        parametric,
        lambda: [lib.choreographies[name] for name in tuple(lib.choreographies)],
        lambda: lib.find("a slow walk, then a kick"),
        lambda: (lib.act("walk, kick").plan, [lib.captions[name] for name in lib.names]),
        lambda: (
            lib.motion_matching(only=["walk", "walk_fast"])
            .player(velocity=(0.0, 1.0))
            .record(seconds=0.5)
        ),
        *(
            lambda method=method: lib.search("walk", method=method, max=3)
            for method in ("statistics", "emd", "dtw-clip")
        ),
        *(
            lambda method=method: lib.search("walk:0-30", method=method, max=3)
            for method in ("dtw", "lazy")
        ),
        scales,
        lambda: [len(cluster) for cluster in lib.clusters(workers=1)],
        lambda: (lib.beats.manual(), lib.beats["dance_groove"]),
        lambda: (lib.graphs.settings, lib.graphs.edits, lib.graphs.edited(_edited(lib), workers=1)),
        lambda: lib.search("walk:0-30", method="web", max=3),
        lambda: (lib.artifacts.list(), lib.parametric.about()),
        lambda: lib.verify(),
        lambda: (lib.history(), lib.undo(), lib.redo()),
        lambda: [lib.undo(), lib.undo()],
        lambda: lib.rename("walk", "stroll"),
        lambda: lib.labels.add("walk", "calm"),
        lambda: lib.verify(repair=True),
        lambda: lib.remove("walk"),
    ]
    chosen = uses if full else rng.sample(uses, 5)
    try:
        for use in chosen[: -7 if full else None]:
            try:
                use()
            except ALLOWED:
                if full:
                    raise
    finally:
        lib.close()


def _edited(lib: ml.Library) -> GraphSettings:
    return lib.graphs.settings or GraphSettings(only=("walk", "walk_fast"))


def mutated_library(seed: Path, folder: Path, rng: random.Random) -> Path:
    """Copy a library and change one or two files; in nine of ten cases with right checksums."""
    path = _copied(seed, folder)
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "lock")
    kinds = sorted({kind_of(path, file) for file in files})
    for _ in range(rng.choice([1, 1, 1, 2])):
        kind = rng.choice(kinds)  # a kind with many files is not more likely
        chosen = rng.choice([file for file in files if kind_of(path, file) == kind])
        if rng.random() < 0.05:
            chosen.unlink(missing_ok=True)
        elif chosen.exists():
            chosen.write_bytes(mutated_file(chosen, chosen.read_bytes(), rng, folder))
    if rng.random() < 0.9:  # otherwise only the checksums would detect it
        update_checksums(path)
    return path


def kind_of(library: Path, file: Path) -> str:
    """Return the kind of artifact that a file belongs to, and the name of the file."""
    parts = file.relative_to(library).parts
    if parts[0] != "derived":
        return parts[0]
    return f"{parts[1].partition('.')[0]} {re.sub('[0-9a-f]{8,}', '', parts[-1])}"


def use_changed(seed: Path, name: Path, content: bytes, folder: Path, rng: random.Random) -> None:
    """Use a copy of a library with different content in the file `name` and right checksums."""
    forget_verified()
    path = _copied(seed, folder)
    (path / name).write_bytes(content)
    update_checksums(path)
    use_library(path, rng=rng)


def _copied(seed: Path, folder: Path) -> Path:
    path = folder / "takes.loom"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(seed, path)
    return path


def update_checksums(path: Path) -> None:
    """Compute all checksums of a library again, as far as its files can be read."""
    for folder in (path / "derived").iterdir():
        if (folder / "checks.json").exists():
            with contextlib.suppress(OSError, MotionloomError):
                write_checks(folder)
    with contextlib.suppress(sqlite3.Error, MotionloomError, UnicodeError, ValueError):
        catalogue = Catalogue(path)
        catalogue.put_checks()
        with catalogue.transaction() as connection:
            history.put_checksums(connection)
        catalogue.close()


def forget_verified() -> None:
    """Forget which files this process has verified."""
    from motionloom.store import frames
    from motionloom.store.artifacts import folders

    frames._verified.clear()
    folders._verified.clear()
