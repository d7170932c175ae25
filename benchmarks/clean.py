"""``python -m benchmarks clean``: joint positions solved, and noise removed from them.

Takes of CMU and Bandai-Namco, ten times ``--files``, are reduced to the points of each layout, as a
pose estimator would return them, and solved again. Points on head, hands and feet that the takes do
not have are attached rigidly to their joints. Then noise, gaps (10 %, up to 0.4 s) and outliers
(2 %, 10 to 50 cm) are added. The rivals use the setting with the smallest error on every fifth
take, with or without a Hampel filter before them; motionloom has no setting. The constants of the
smoother were chosen on random takes of the same two data sets, some of which are scored here. Use
``--data`` with other files for a score that is independent of them.

Rotations are compared frame by frame. A take counts as within a limit if 95 % of its frames are.
The twist of a forearm is not visible in any layout, but is listed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import motionloom as ml
from benchmarks import Settings
from benchmarks.reduced import corrupted, reduced, rotation_error
from benchmarks.rivals import Package, absence
from benchmarks.rivals.filters import FILTERS, filled
from benchmarks.takes import CREDIT, data_folder, unpacked
from benchmarks.timing import Log, Result
from motionloom.errors import MotionloomError
from motionloom.motion import Motion
from motionloom.motion.denoising import denoise_positions
from motionloom.motion.positions.layouts import LAYOUTS
from motionloom.motion.positions.solver import solve_positions

SUMMARY = "joint positions: solved again, and noise removed"
PACKAGES = (Package("filterpy", "filterpy.kalman"),)
_FRAMES = (60, 600)
_NOISE = (0.005, 0.015)
_LAYOUT = "humanml3d"  # for noise
_TUNED = 5  # every fifth take chooses the settings of the rivals
_ROTATIONS = {
    "upper arms": ("left_shoulder", "right_shoulder"),
    "forearms": ("left_elbow", "right_elbow"),
    "thighs": ("left_hip", "right_hip"),
    "shins": ("left_knee", "right_knee"),
    "hands": ("left_wrist", "right_wrist"),
    "feet": ("left_ankle", "right_ankle"),
}
_SHOWS = {"hands": "left_index", "feet": "left_heel"}  # landmark without which a part is unknown


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    motions, data = _motions(settings, log)
    rows = [_round_trip(name, motions, log) for name in LAYOUTS]
    rows.append(_spectrum(motions))
    for noise in _NOISE:
        rows += _noisy(motions, noise, settings.seed, log)
    return {"data": data, "credit": CREDIT, "results": [row.as_dict() for row in rows]}


def _motions(settings: Settings, log: Log) -> tuple[list[Motion], str]:
    rng = np.random.default_rng(settings.seed)
    place = settings.data or data_folder()
    if place is None:
        names = rng.permutation(ml.demo.names())[: settings.files]
        return [ml.demo.clip(str(name)) for name in names], "the built-in corpus"
    archives = [place / name for name in ("cmu30.tar.xz", "bandai.tar.xz")]
    folders = [unpacked(a, log) for a in archives if a.exists()] or [place]
    motions: list[Motion] = []
    for folder in folders:
        files = sorted(folder.rglob("*.bvh"))
        motions += _loaded(
            [files[k] for k in rng.permutation(len(files))], 10 * settings.files // len(folders)
        )
    return motions, f"{len(motions)} takes of CMU and Bandai-Namco"


def _loaded(files: list[Path], count: int) -> list[Motion]:
    motions: list[Motion] = []
    for file in files:
        if len(motions) == count:
            break
        try:
            motion = ml.load(file)
        except MotionloomError:
            continue
        if len(motion) >= _FRAMES[0] and "chest" in motion.skeleton.roles:
            motions.append(motion[: _FRAMES[1]])
    return motions


def _round_trip(name: str, motions: list[Motion], log: Log) -> Result:
    """Reduce to a layout without noise, solve, and compare positions and rotations."""
    log(f"round trip: {name}")
    layout = LAYOUTS[name]
    worst: list[float] = []
    angles: dict[str, list[float]] = {part: [] for part in _ROTATIONS}
    used = 0.0
    for motion in motions:
        landmarks = layout.landmark_positions(reduced(motion, name))
        begun = time.process_time()
        solved = solve_positions(landmarks, fps=motion.fps, anatomical=layout.anatomical)
        used += time.process_time() - begun
        worst.append(1000.0 * _largest_error(solved, landmarks, layout.anatomical))
        for part, roles in _ROTATIONS.items():
            if part not in _SHOWS or _SHOWS[part] in landmarks:
                errors = [rotation_error(motion, solved, role) for role in roles]
                angles[part].append(float(np.percentile(errors, 95)))
    exact = float(np.mean(np.array(worst) <= 1.0))
    turned = ", ".join(_turned(part, values) for part, values in angles.items() if values)
    note = (
        f"largest error of a point: median {np.median(worst):.3f} mm, worst {max(worst):.2f} mm, "
        f"{exact:.1%} of the takes within 1 mm; rotations in degrees, 95th percentile of a take, "
        f"median over takes: {turned}"
    )
    return Result(f"round trip, {name}", used / len(motions), "", None, None, note, rounds=1)


def _turned(part: str, values: list[float]) -> str:
    limit = 5.0 if part in _SHOWS else 2.0
    share = float(np.mean(np.array(values) <= limit))
    within = f"{share:.0%} of the takes within {limit:g}"
    return f"{part} {np.median(values):.2f} ({within}, worst {max(values):.0f})"


def _largest_error(solved: Motion, landmarks: dict[str, np.ndarray], anatomical: bool) -> float:
    places = solved.positions(end_sites=True)
    names = list(solved.skeleton.point_names)
    other = {} if anatomical else {"neck": "chest"}
    return max(
        float(np.linalg.norm(places[:, names.index(other.get(key, key))] - path, axis=1).max())
        for key, path in landmarks.items()
        if other.get(key, key) in names
    )


def _spectrum(motions: list[Motion]) -> Result:
    """Change of the acceleration spectrum of takes without noise."""
    changes = []
    for motion in motions:
        points = reduced(motion, _LAYOUT)
        clean = denoise_positions(points, fps=motion.fps).positions
        before, after = _power(points), _power(clean)
        changes.append(float(np.abs(after - before).sum() / before.sum()))
    below = float(np.mean(np.array(changes) < 0.03))
    note = (
        f"change of the acceleration spectrum: median {np.median(changes):.2%}, {below:.1%} of the "
        f"takes below 3 %, worst {max(changes):.1%}"
    )
    return Result("takes without noise", None, "", None, None, note, rounds=1)


def _power(points: np.ndarray) -> np.ndarray:
    acceleration = np.diff(points, n=2, axis=0)
    return (np.abs(np.fft.rfft(acceleration, axis=0)) ** 2).sum(axis=(1, 2))


def _noisy(motions: list[Motion], noise: float, seed: int, log: Log) -> list[Result]:
    """Rows for one level of noise: motionloom's smoother, and with the solver, against filters."""
    log(f"noise of {1000 * noise:g} mm")
    truth = [reduced(motion, _LAYOUT) for motion in motions]
    seen = [
        corrupted(points, np.random.default_rng([seed, k]), noise, motions[k].fps)[0]
        for k, points in enumerate(truth)
    ]
    begun = time.process_time()
    clean = [denoise_positions(p, fps=m.fps).positions for p, m in zip(seen, motions, strict=True)]
    ours_s = (time.process_time() - begun) / len(motions)
    ours = _error(clean, truth)
    solved = _error([_solved(p, m.fps) for p, m in zip(clean, motions, strict=True)], truth)
    rows, what = [], f"noise of {1000 * noise:g} mm, 10 % gaps, 2 % outliers"
    for name, (function, grid) in FILTERS.items():
        missing = absence(PACKAGES[0], "clean") if "FilterPy" in name else None
        if missing is not None:
            rows.append(Result(what, ours_s, name, None, None, missing.reason, rounds=1))
            continue
        log(f"  {name}")
        best = min(
            (
                _error(
                    _filtered(function, seen[::_TUNED], motions[::_TUNED], noise, hampel, setting),
                    truth[::_TUNED],
                ),
                hampel,
                setting,
            )
            for hampel in (True, False)
            for setting in grid
        )
        begun = time.process_time()
        theirs = _error(_filtered(function, seen, motions, noise, *best[1:]), truth)
        rival_s = (time.process_time() - begun) / len(motions)
        note = (
            f"mean error {ours:.2f} mm ({solved:.2f} mm after the solver), {name} {theirs:.2f} mm "
            f"at {', '.join(f'{v:g}' for v in best[2])}{' after Hampel' if best[1] else ''}"
        )
        rows.append(Result(what, ours_s, name, rival_s, rival_s / ours_s, note, rounds=1))
    return rows


def _filtered(
    function: Callable[..., Any], seen: list[np.ndarray], motions: list[Motion], noise: float,
    hampel: bool, setting: tuple[float, ...],
) -> list[np.ndarray]:  # fmt: skip
    return [
        function(filled(points, hampel=hampel), motion.fps, noise, *setting).reshape(points.shape)
        for points, motion in zip(seen, motions, strict=True)
    ]


def _solved(points: np.ndarray, fps: float) -> np.ndarray:
    layout = LAYOUTS[_LAYOUT]
    solved = solve_positions(
        layout.landmark_positions(points), fps=fps, anatomical=True, noise=0.005
    )
    names = list(solved.skeleton.point_names)
    places = solved.positions(end_sites=True)
    return np.stack([places[:, names.index(name)] for name in layout.points], axis=1)


def _error(results: list[np.ndarray], truth: list[np.ndarray]) -> float:
    """Mean distance in millimeters, averaged over takes."""
    errors = [np.linalg.norm(a - b, axis=2).mean() for a, b in zip(results, truth, strict=True)]
    return 1000.0 * float(np.mean(errors))
