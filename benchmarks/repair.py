"""``python -m benchmarks repair``: faults inserted into clean takes, found and repaired.

Thresholds of `doctor` and `clean` were chosen on CMU's performers with even numbers. This benchmark
scores CMU's performers with odd numbers, Bandai-Namco's clips, and any folders of BVH files below
``--data``. A take is clean if it is on its feet, does not jump and is not reported by a simple
check of its own; see `_is_clean`. Only its usual heights come from motionloom. Faults are those of
`benchmarks.corruptions`.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import motionloom as ml
from benchmarks import Settings
from benchmarks.corruptions import CORRUPTIONS
from benchmarks.takes import CREDIT, data_folder, unpacked
from benchmarks.timing import Log, Result
from motionloom.errors import MotionloomError
from motionloom.motion import Motion
from motionloom.motion.diagnostics.issues import find_issues
from motionloom.motion.diagnostics.measurements import BallHeights, Measurements
from motionloom.motion.repairs.clean import clean

SUMMARY = "faults inserted into takes: found, and repaired"
PACKAGES = ()
_FRAMES = (60, 900)
_CODES = frozenset().union(*(codes for _, codes in CORRUPTIONS.values()))
_LEVEL = 0.01  # meters by which a clean take stands off the usual height of its performer


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    rows, sets = [], []
    for name, motions in _sets(settings, log):
        log(f"{name}: {len(motions)} takes")
        heights = BallHeights()
        for motion in motions:
            heights.add(Measurements(motion))
        chosen = [motion for motion in motions if _is_clean(motion, heights)][: 4 * settings.files]
        rows += _score(name, chosen, heights, settings, log)
        sets.append(f"{name} ({len(chosen)} takes)")
    return {"data": ", ".join(sets), "credit": CREDIT, "results": rows}


def _score(
    name: str, motions: list[Motion], heights: BallHeights, settings: Settings, log: Log
) -> list[dict[str, Any]]:
    rows = []
    begun = time.process_time()
    alarms, kept = [], []
    for motion in motions:
        alarms.append(bool(_codes(motion, heights) & _CODES))
        repaired, _ = clean(motion, ball_height=heights.of(motion))
        kept.append(float(np.mean(_distances(motion, repaired) < 0.002)))
    rows.append(
        _row(
            f"{name}: clean takes",
            len(motions),
            time.process_time() - begun,
            f"false alarms {_percent(alarms)}; {100 * np.mean(kept):.1f} % of joints within 2 mm "
            "after clean",
        )
    )
    for fault, (corrupt, codes) in CORRUPTIONS.items():
        rng = np.random.default_rng(settings.seed)
        begun = time.process_time()
        detected, alone, before, after = [], [], [], []
        for motion in motions:
            if fault == "rising ground" and motion.duration < 8.0:
                continue
            bad = corrupt(motion, rng)
            detected.append(bool(_codes(bad, heights) & codes))
            alone.append(bool(_codes(bad, None) & codes))
            repaired, _ = clean(bad, ball_height=heights.of(motion))
            before.append(float(_distances(motion, bad).mean()))
            after.append(float(_distances(motion, repaired).mean()))
        log(f"{name}: {fault}")
        near = np.mean(np.array(after) <= 0.01) if after else np.nan
        rows.append(
            _row(
                f"{name}: {fault}",
                len(detected),
                time.process_time() - begun,
                f"found {_percent(detected)} ({_percent(alone)} without other takes); error "
                f"{100 * np.median(before):.1f} -> {100 * np.median(after):.1f} cm, "
                f"{100 * near:.0f} % within 1 cm",
            )
        )
    return rows


def _row(what: str, takes: int, seconds: float, note: str) -> dict[str, Any]:
    each = seconds / max(takes, 1)
    row = Result(what, None, "", None, None, f"{takes} takes: {note}", ours_cpu_s=each)
    return row.as_dict()


def _percent(values: list[bool]) -> str:
    return f"{100 * np.mean(values):.1f} %" if values else "-"


def _codes(motion: Motion, heights: BallHeights | None) -> set[str]:
    measured = Measurements(motion, ball_height=heights.of(motion) if heights else None)
    return {issue.code for issue in find_issues(motion, measured=measured)}


def _distances(a: Motion, b: Motion) -> np.ndarray:
    """Return the distances (T, points) between joints; a shift over the floor does not count."""
    there, here = a.positions(end_sites=True), b.positions(end_sites=True)
    apart = here - there
    # Where on the floor a take is centered is arbitrary, unless every frame is where it was.
    shift = np.median(apart, axis=(0, 1)) * [1.0, 0.0, 1.0]
    return np.linalg.norm(apart - shift, axis=-1)


def _is_clean(motion: Motion, heights: BallHeights) -> bool:
    """Return whether a take is on its feet, level, and free of jumps, by simple measures."""
    if not _FRAMES[0] <= len(motion) <= _FRAMES[1]:
        return False
    roles = motion.skeleton.roles
    needed = ["hips", "head", *(f"{s}_{p}" for s in ("left", "right") for p in ("ankle", "foot"))]
    if not all(role in roles for role in needed):
        return False
    places = motion.role_positions(needed).astype(np.float64)
    hips, head, feet = places[:, 0, 1], places[:, 1, 1], places[:, 2:, 1].min(axis=1)
    upright = np.mean((hips - feet > 0.6) & (head - hips > 0.3))
    if upright < 0.95 or np.abs(np.diff(places, axis=0)).max() * motion.fps > 12.0:
        return False
    # Level: the slowest tenth of the frames of each ball is at the usual height.
    usual = heights.of(motion)
    if usual is None:
        return False
    for foot in (3, 5):
        speed = np.linalg.norm(np.gradient(places[:, foot], axis=0), axis=1)
        slow = places[speed <= np.quantile(speed, 0.1), foot, 1]
        if abs(np.median(slow) - usual) > _LEVEL:
            return False
    return True


def _sets(settings: Settings, log: Log) -> Iterator[tuple[str, list[Motion]]]:
    """Yield the sets that chose no threshold, each with its motions in a random order."""
    rng = np.random.default_rng(settings.seed)
    folder = settings.data or data_folder()
    if folder is not None and (folder / "cmu30.tar.xz").exists():
        with (folder / "cmu30-metadata.csv").open(encoding="utf-8") as file:
            repeats = {row["file"] for row in csv.DictReader(file) if row["duplicate_of"]}
        cmu = unpacked(folder / "cmu30.tar.xz", log)
        files = [
            file
            for file in sorted(cmu.rglob("*.bvh"))
            if file.stem not in repeats and int(file.stem.split("_")[0]) % 2 == 1
        ]
        yield "CMU, odd performers", _loaded(files, rng, 20 * settings.files)
        if (folder / "bandai.tar.xz").exists():
            files = sorted(unpacked(folder / "bandai.tar.xz", log).rglob("*.bvh"))
            yield "Bandai-Namco", _loaded(files, rng, 10 * settings.files)
    elif folder is not None:
        yield folder.name, _loaded(sorted(folder.rglob("*.bvh")), rng, 10 * settings.files)
    for extra in os.environ.get("MOTIONLOOM_REPAIR_SETS", "").split(os.pathsep):
        if extra:
            files = [f for f in sorted(Path(extra).rglob("*")) if f.suffix in (".bvh", ".fbx")]
            yield Path(extra).name, _loaded(files, rng, 10 * settings.files)


def _loaded(files: list[Path], rng: np.random.Generator, most: int) -> list[Motion]:
    motions = []
    for k in rng.permutation(len(files))[:most]:
        try:
            motions.append(ml.load(files[k]))
        except MotionloomError:
            continue
    return motions
