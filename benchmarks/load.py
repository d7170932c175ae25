"""``python -m benchmarks load``: from a BVH file to joint positions, and the steps in between.

All contestants read the same files. The positions of a rival are compared with ours before timing
starts; its note gives the largest difference.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.rivals import absence, label
from benchmarks.rivals.numpy_kinematics import by_components, by_matrices
from benchmarks.rivals.readers import OURS, RIVALS, Reader
from benchmarks.takes import Takes, takes
from benchmarks.timing import Contestant, Log, Missing, Result, compare
from motionloom.formats import load
from motionloom.formats.bvh.hierarchy import read_hierarchy
from motionloom.formats.bvh.layout import Layout, plain_layout
from motionloom.formats.bvh.text import read_rows, split_bvh
from motionloom.formats.conventions import Repairs
from motionloom.motion import Motion
from motionloom.motion.kinematics.forward import joint_positions

SUMMARY = "reading BVH and forward kinematics"
PACKAGES = tuple(RIVALS)
_TOLERANCE_MM = 1.0


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    with tempfile.TemporaryDirectory() as scratch:
        chosen = takes(settings, Path(scratch), log=log)
        motions = [load(path) for path in chosen.paths]
        measure = partial(compare, rounds=settings.rounds, budget_s=settings.budget_s, log=log)
        readers = {package: _reader(package, make) for package, make in RIVALS.items()}
        results = [
            *_files_to_positions(chosen, motions, readers, measure, settings.budget_s, log),
            *_parsing(chosen, readers, measure),
            *_kinematics(chosen, motions, readers, measure),
            *_one_frame(motions, measure),
            *_first_result(chosen, readers, partial(measure, rounds=min(3, settings.rounds))),
        ]
    frames = sum(len(motion) for motion in motions)
    return {
        "data": f"{len(motions)} files ({chosen.source}), {chosen.megabytes:.1f} MB, "
        f"{frames} frames",
        "credit": chosen.credit,
        "results": [row.as_dict() for row in results],
    }


Readers = dict[Any, Reader | Missing]
Measure = Callable[[str, Contestant, Sequence[Contestant | Missing]], list[Result]]


def _reader(package, make: Callable[[], Reader]) -> Reader | Missing:
    return absence(package, "load") or make()


def _files_to_positions(
    chosen: Takes,
    motions: list[Motion],
    readers: Readers,
    measure: Measure,
    budget_s: float,
    log: Log,
) -> list[Result]:
    rivals: list[Contestant | Missing] = []
    for package, reader in readers.items():
        if isinstance(reader, Missing):
            rivals.append(reader)
            continue
        log(f"comparing the positions of {package.name} with ours")
        try:
            notes = [_agreement(chosen.paths, motions, reader, budget_s), reader.positions_note]
        except Exception as error:  # a rival may raise anything
            rivals.append(Missing(label(package), f"{type(error).__name__}: {error}"))
            continue
        rivals.append(
            Contestant(
                label(package),
                partial(_each, reader.positions, chosen.paths),
                "; ".join(filter(None, notes)),
            )
        )
    ours = Contestant(OURS, partial(_each, lambda p: load(p).positions(), chosen.paths))
    rows = measure("file to joint positions", ours, rivals)
    times = {row.rival: row.rival_s for row in rows if row.rival_s is not None}
    best = min(times, key=times.__getitem__, default=None)
    quickest = [rival for rival in rivals if best in (rival.name, None)]
    uncached = Contestant(OURS, partial(_each, _uncached, chosen.paths))
    what = "file to joint positions, first file of a performer"
    return [*rows, *measure(what, uncached, quickest)]


def _uncached(path: Path) -> None:
    """Read a file without the cached layout of an earlier take of its performer."""
    plain_layout.cache_clear()
    load(path).positions()


def _agreement(
    paths: Sequence[Path], motions: Sequence[Motion], reader: Reader, budget_s: float
) -> str:
    """Largest distance between the positions of a rival and ours; slow readers read fewer files."""
    worst, compared = 0.0, 0
    started = time.perf_counter()
    for path, motion in zip(paths, motions, strict=True):
        theirs = np.asarray(reader.positions(path)) * motion.origin.unit_m
        ours = motion.positions()
        if motion.origin.tpose_frame == 0 and len(theirs) == len(ours) + 1:
            theirs = theirs[1:]  # our reader keeps the added T-pose as the rest pose
        if theirs.shape != ours.shape:
            return f"differs: positions have shape {theirs.shape}, ours have {ours.shape}"
        worst = max(worst, 1e3 * float(np.max(np.abs(theirs - ours), initial=0.0)))
        compared += 1
        if time.perf_counter() - started > budget_s:
            break
    part = "" if compared == len(paths) else f", on {compared} of the files"
    return _within(worst) + part


def _within(gap_mm: float) -> str:
    verb = "agrees" if gap_mm <= _TOLERANCE_MM else "differs"
    return f"{verb}: within {gap_mm:.2g} mm of ours"


def _parsing(chosen: Takes, readers: Readers, measure: Measure) -> list[Result]:
    rivals = [
        reader
        if isinstance(reader, Missing)
        else Contestant(
            label(package), partial(_each, reader.parse, chosen.paths), reader.parse_note
        )
        for package, reader in readers.items()
    ]
    ours = Contestant(OURS, partial(_each, _channel_table, chosen.paths))
    return measure("file to channel values", ours, rivals)


def _channel_table(path: Path) -> NDArray[np.float64]:
    """Read a file with our reader, up to the table of channel values (T, C)."""
    repairs = Repairs(path, strict=False)
    text = split_bvh(path.read_bytes(), path, repairs)
    layout = plain_layout(text.hierarchy)
    columns = (layout or Layout(read_hierarchy(text.hierarchy, 1, path, repairs))).channel_names
    return read_rows(text, columns, path, repairs)


def _kinematics(
    chosen: Takes, motions: list[Motion], readers: Readers, measure: Measure
) -> list[Result]:
    rivals: list[Contestant | Missing] = _numpy_rivals(motions)
    for package, reader in readers.items():
        if isinstance(reader, Missing):
            rivals.append(reader)
        elif reader.kinematics is not None:
            calls = [reader.kinematics(path) for path in chosen.paths]
            rivals.append(
                Contestant(label(package), partial(_call_all, calls), reader.kinematics_note)
            )
    ours = Contestant(OURS, partial(_each, Motion.positions, motions))
    return measure("forward kinematics of all files", ours, rivals)


def _one_frame(motions: list[Motion], measure: Measure) -> list[Result]:
    frame = motions[0][:1]
    ours = Contestant(OURS, frame.positions)
    return measure("forward kinematics of one frame", ours, _numpy_rivals([frame]))


def _numpy_rivals(motions: list[Motion]) -> list[Contestant | Missing]:
    rivals: list[Contestant | Missing] = []
    for way in (by_components, by_matrices):
        for kind in (np.float32, np.float64):
            inputs = [_plain(motion, kind) for motion in motions]
            gap = max(float(np.max(np.abs(way(*x) - joint_positions(*x)))) for x in inputs)
            rivals.append(
                Contestant(
                    f"NumPy {np.__version__}, {way.__name__.replace('_', ' ')}, {kind.__name__}",
                    partial(_star_all, way, inputs),
                    _within(1e3 * gap),
                )
            )
    return rivals


def _plain(motion: Motion, kind: type) -> tuple[Any, ...]:
    skeleton = motion.skeleton
    return (
        motion.rotations.astype(kind),
        motion.root.astype(kind),
        skeleton.parents.tolist(),
        skeleton.offsets.astype(kind),
    )


def _first_result(chosen: Takes, readers: Readers, measure: Measure) -> list[Result]:
    """Time of a new process that imports the library and reads one file."""
    path = chosen.paths[len(chosen.paths) // 2]

    def fresh(name: str) -> Callable[[], Any]:
        command = [sys.executable, "-m", "benchmarks.rivals.readers", name, str(path)]
        return partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL)

    rivals = [
        reader if isinstance(reader, Missing) else Contestant(label(package), fresh(package.name))
        for package, reader in readers.items()
    ]
    ours = Contestant(OURS, fresh(OURS), "including interpreter and imports; kernels cached")
    command = [sys.executable, "-c", "from motionloom.cli import main; main()", "info", str(path)]
    info = Contestant(
        "motionloom info",
        partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL),
        "the whole command, compared with reading the file to positions",
    )
    return [
        *measure("first file in a new process", ours, rivals),
        *measure("motionloom info FILE", info, rivals[:1]),
    ]


def _each(act: Callable[[Any], Any], things: Sequence[Any]) -> None:
    for thing in things:
        act(thing)


def _call_all(calls: Sequence[Callable[[], Any]]) -> None:
    for call in calls:
        call()


def _star_all(act: Callable[..., Any], inputs: Sequence[tuple[Any, ...]]) -> None:
    for given in inputs:
        act(*given)
