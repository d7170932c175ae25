"""Write the manifests from the labeled sets of motionloom. Others do not need this program.

    python make_manifests.py DATA KEEP

DATA is the folder that ``motionloom evaluate --data`` reads, and KEEP the folder of its libraries.
Files are cut with `retrieval_bench.data`, as everybody cuts them, and only their hashes are kept.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from retrieval_bench.data import bvh_frames, cut, joined, sha256

from benchmarks import Settings
from benchmarks.video import action, cases, description_words
from motionloom.evaluation import captions
from motionloom.evaluation.labeled_sets import CLIP_SETS, DataFolder, clip_set, runs
from motionloom.evaluation.protocol_run import QUERY_SETS, MarkedQuery, bandai_sessions

HERE = Path(__file__).parent / "manifests"
FOLDS = 5
FPS = 30.0  # of all files with marked segments
_BANDAI = "dataset/Bandai-Namco-Research-Motiondataset-2/data/data/dataset-2_{}.bvh"
_LEAST = 2  # takes in which an exercise must occur


class Files:
    """Rows of ``files.csv``: how every file of the benchmark is made, and its hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, dict[str, Any]] = {}

    def add(self, file: str, made_from: str, rows: str, content: bytes, frames: int, fps: float):
        """Add a file, and write it to the folder."""
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.rows[file] = {
            "file": file, "made_from": made_from, "rows": rows, "frames": frames,
            "fps": f"{fps:g}", "sha256": sha256(content),
        }  # fmt: skip

    def write(self) -> None:
        """Write ``files.csv``."""
        _write("files.csv", [self.rows[name] for name in sorted(self.rows)])


def main(data: str, keep: str) -> None:
    """Write all manifests."""
    folder = DataFolder(data, keep)
    files = Files(Path(keep) / "prepared")
    cmu = {r["file"]: r for r in folder.table("cmu30-metadata.csv")}
    for name, path in sorted(folder.takes().items()):
        row = cmu[name]
        source = f"cmu/{path.parent.name}/{name}.bvh"
        step = int(row["decimation"])
        content = path.read_bytes()
        files.add(f"cmu30/{name}.bvh", source, f"1::{step}", content, bvh_frames(content), 30.0)
    _clip_sets(folder, files)
    _segment_sets(folder, files)
    files.write()
    _sentences(folder, cmu)
    _films(folder, cmu)
    _folds(cmu)


def _clip_sets(folder: DataFolder, files: Files) -> None:
    clips = folder.folder("cmu-clips")
    for row in folder.table("cmu-clips-labels.csv"):
        take = row["source_file"]
        content = (clips / row["clip"]).read_bytes()
        subject = (
            files.rows[f"cmu30/{take}.bvh"]["made_from"]
            if (f"cmu30/{take}.bvh" in files.rows)
            else f"cmu/{int(take.split('_')[0]):03d}/{take}.bvh"
        )
        files.add(f"cmu-groups/{row['clip']}", subject, f"{row['start']}:{row['end']}:2",
                  content, bvh_frames(content), 60.0)  # fmt: skip
    for row in folder.table("bandai/labels.csv"):
        content = (folder.folder("bandai") / f"{row['clip']}.bvh").read_bytes()
        files.add(f"bandai/{row['clip']}.bvh", "bandai/" + _BANDAI.format(row["clip"]), "",
                  content, bvh_frames(content), 30.0)  # fmt: skip
    for name in CLIP_SETS:
        if name != "corpus":
            _clip_set(name, folder, files)


def _clip_set(name: str, folder: DataFolder, files: Files) -> None:
    labeled = clip_set(name, folder)
    rows = []
    for clip, label, performer in zip(
        labeled.clips, labeled.labels, labeled.performers, strict=True
    ):
        animation, motion = "", labeled.library[clip]
        performer = performer.removeprefix("performer:")
        if name == "cmu-groups":
            file = f"cmu-groups/{clip}.bvh"
        elif name in ("cmu-kinds", "cmu-directions"):
            file = f"cmu30/{clip}.bvh"
        elif name == "exercises":
            take, first = clip.rsplit("_", 1)
            start = 3 * int(first)
            file = f"exercises/{clip}.bvh"
            source = (folder.takes()[take]).read_bytes()
            stop = start + len(motion)
            content = cut(source, start, stop, 1)
            made_from = f"made/cmu30/{take}.bvh"
            files.add(file, made_from, f"{start}:{stop}", content, len(motion), 30.0)
        elif name.startswith("bandai"):
            file = f"bandai/{clip}.bvh"
        elif name == "kaykit":
            file, animation, performer = f"kaykit/{performer}.glb", _kaykit(clip, folder), ""
            content = (folder.folder("kaykit") / file.split("/")[1]).read_bytes()
            files.add(file, "kaykit/res/anim/" + file.split("/")[1], "", content, 0, 0.0)
        else:
            file = f"sword-shield/RL_Avatar_{clip}_Motion.npy"
            content = (folder.folder("sword-shield") / file.split("/")[1]).read_bytes()
            made_from = "ase/ase/data/motions/reallusion_sword_shield/" + file.split("/")[1]
            files.add(file, made_from, "", content, len(motion), motion.fps)
        rows.append({
            "name": clip, "file": file, "animation": animation, "frames": len(motion),
            "fps": f"{motion.fps:g}", "label": label, "performer": performer,
        })  # fmt: skip
    order = np.random.default_rng(0).permutation(len(rows))
    _write(f"clips/{name}.csv", [rows[k] for k in order])


def _kaykit(clip: str, folder: DataFolder) -> str:
    from motionloom.evaluation.labeled_sets import animation_names

    for path in folder.files("kaykit", "*.glb"):
        for name in animation_names(path):
            if name.rsplit("|", 1)[-1] == clip:
                return name
    raise KeyError(clip)


def _segment_sets(folder: DataFolder, files: Files) -> None:
    for name in ("cmu-queries", "cmu-marks"):
        queries = QUERY_SETS[name](folder)[1]
        _segment_set(name, queries, "cmu30", files)
    queries = bandai_sessions(folder)[1]
    rng = np.random.default_rng(0)  # the order of the clips, as in bandai_sessions
    by_style: dict[str, list[str]] = {}
    for row in folder.table("bandai/labels.csv"):
        by_style.setdefault(row["style"], []).append(row["clip"])
    for style, clips in sorted(by_style.items()):
        parts = [f"bandai/{clips[k]}.bvh" for k in rng.permutation(len(clips))]
        content = joined([(files.folder / part).read_bytes() for part in parts])
        files.add(f"bandai-sessions/{style}.bvh", ";".join(f"made/{part}" for part in parts), "",
                  content, bvh_frames(content), 30.0)  # fmt: skip
    _segment_set("bandai-sessions", queries, "bandai-sessions", files)
    bouts = [
        (take, 0.1 * a, 0.1 * b, str(cells[a]))
        for take, cells in folder.exercises().items()
        for a, b in runs(cells)
    ]
    queries = []
    for take, a, b, label in bouts:
        alike = tuple(each[:3] for each in bouts if each[3] == label)
        if len({each[0] for each in alike}) >= _LEAST:
            performer = take.split("_")[0]
            queries.append(MarkedQuery((take, a, b), label, performer, alike))
    _segment_set("exercise-bouts", queries, "cmu30", files)


def _segment_set(name: str, queries: list[MarkedQuery], folder: str, files: Files) -> None:
    """Write the queries of a set, and the marked segments by label."""

    def file_of(take: str) -> str:
        return f"{folder}/{take}.bvh"

    rows: list[dict[str, Any]] = []
    marks: dict[tuple, dict[str, Any]] = {}
    for number, query in enumerate(queries):
        take, start, end = query.place
        rows.append({
            "name": f"q{number:03d}", "file": file_of(take),
            "start_frame": round(start * FPS),
            "end_frame": min(round(end * FPS), files.rows[file_of(take)]["frames"]),
            "label": query.action, "performer": query.performer,
        })  # fmt: skip
        for places, optional in ((query.occurrences, ""), (query.optional, "yes")):
            for take, start, end in places:
                marks[query.action, optional, take, start] = {
                    "label": query.action, "file": file_of(take), "start": f"{start:.7g}",
                    "end": f"{end:.7g}", "optional": optional,
                }  # fmt: skip
    _write(f"segments/{name}.csv", rows)
    _write(f"segments/{name}-marks.csv", marks.values())


def _sentences(folder: DataFolder, cmu: dict[str, dict[str, str]]) -> None:
    """Write the hash of each sentence, its take, its performer and its fold."""
    assert folder.path is not None
    asked = captions._table(folder.path / "sentences" / "dev.csv", ("take", "sentence"))
    names = sorted(folder.takes())
    original = {name: cmu[name]["duplicate_of"] or name for name in names}
    asked = [(take, text) for take, text in asked if take in original]
    who = {name: name.split("_")[0] for name in names}
    fold_of = {
        performer: number
        for number, chosen in enumerate(captions._folds(asked, original, who, 2, 0))
        for performer in chosen
    }
    rows = [
        {"name": f"s{number:03d}", "sha256": sha256(text.strip().encode()), "take": original[take],
         "performer": who[take], "fold": fold_of[who[take]]}
        for number, (take, text) in enumerate(asked)
    ]  # fmt: skip
    _write("sentences/kit-cmu.csv", rows)
    ranked = {
        (original[name], fold_of[who[name]])
        for name in names
        if who[name] in fold_of and original[name] in original
    }
    _write("sentences/takes.csv", [
        {"name": name, "file": f"cmu30/{name}.bvh", "fold": fold} for name, fold in sorted(ranked)
    ])  # fmt: skip


def _films(folder: DataFolder, cmu: dict[str, dict[str, str]]) -> None:
    assert folder.path is not None
    settings = Settings(data=folder.path)
    rows = []
    for number, case in enumerate(cases(folder.path, settings, lambda _: None)):
        cmu_take = case.take in cmu
        shot = {
            key: list(value) if isinstance(value, tuple) else
            round(value, 12) if isinstance(value, float) else value
            for key, value in vars(case.shot).items()
        }  # fmt: skip
        take = (cmu[case.take]["duplicate_of"] or case.take) if cmu_take else case.take
        rows.append({
            "name": f"f{number:03d}",
            "file": f"{'cmu30' if cmu_take else 'bandai'}/{case.take}.bvh",
            "start_frame": case.start, "end_frame": case.start + case.frames, "take": take,
            "label": action(case.description), "camera": case.camera,
            "performer": cmu[case.take]["subject"] if cmu_take else case.take.split("_")[1],
            **{key: json.dumps(value) for key, value in shot.items() if key != "detail"},
        })  # fmt: skip
    _write("video/films.csv", rows)
    takes = [
        {"name": name, "file": f"cmu30/{name}.bvh",
         "original": cmu[name]["duplicate_of"] or name,
         "label": action(description_words(cmu[name]["description"]))}
        for name in sorted(folder.takes())
    ]  # fmt: skip
    takes += [
        {"name": row["clip"], "file": f"bandai/{row['clip']}.bvh", "original": row["clip"],
         "label": action(row["content"])}
        for row in folder.table("bandai/labels.csv")
    ]  # fmt: skip
    _write("video/takes.csv", takes)


def _folds(cmu: dict[str, dict[str, str]]) -> None:
    """Write a fold for each CMU performer: by a hash, so that it never depends on the set."""
    rows = []
    for performer in sorted({row["subject"] for row in cmu.values()}, key=int):
        digest = hashlib.sha256(f"cmu performer {performer}".encode()).digest()
        rows.append({"performer": performer, "fold": digest[0] % FOLDS})
    _write("cmu-performers.csv", rows)


def _write(name: str, rows: Iterable[dict[str, Any]]) -> None:
    rows = list(rows)
    path = HERE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    print(name, len(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
