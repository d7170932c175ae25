"""``python -m benchmarks reconstruct``: whole-body reconstruction from six tracked joints.

Takes are drawn at random, one per performer, and reconstructed from a library without that
performer. The rival is inverse kinematics from the same markers, with joint limits from the poses
of the library. Times are per take; notes give frames per second of processor time and errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import Settings
from benchmarks.rivals.marker_ik import marker_ik
from benchmarks.takes import whole_library
from benchmarks.timing import Contestant, Log, Result, compare
from motionloom.evaluation.reconstruction import (
    NOISE,
    ReconstructionTest,
    evaluate_reconstruction,
    joint_errors,
    varied_motions,
)
from motionloom.reconstruction import tracked
from motionloom.reconstruction.control_signal import control_signal
from motionloom.reconstruction.offline import solve_sequence
from motionloom.reconstruction.online import Stream
from motionloom.reconstruction.prior import Prior
from motionloom.reconstruction.settings import ReconstructSettings
from motionloom.store.store import Store

SUMMARY = "whole-body reconstruction from six tracked points"
PACKAGES = ()
_TAKES = 4
_LEAST_FRAMES = 300


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    with whole_library(settings, log=log) as place:
        lib = place.library
        names = varied_motions(lib.store, _TAKES, seed=settings.seed, least=_LEAST_FRAMES)
        results = []
        for name in names:
            log(f"preparing {name}")
            results += _take(lib.store, name, settings, log)
        data, credit = place.data, place.credit
    return {"data": data, "credit": credit, "results": [row.as_dict() for row in results]}


def _take(store: Store, name: str, settings: Settings, log: Log) -> list[Result]:
    motion = store[name]
    signal = control_signal(tracked(motion, noise=NOISE, seed=settings.seed))
    errors = {
        mode: evaluate_reconstruction(
            store, name, ReconstructionTest(without_subject=True, mode=mode, seed=settings.seed)
        )
        for mode in ("offline", "online")
    }
    prior = Prior(
        store,
        motion.skeleton,
        signal.roles,
        ReconstructSettings(exclude=tuple(errors["offline"].left_out)),
    )
    limits = prior.limits()
    rival = partial(marker_ik, signal, motion.skeleton, prior.joints, limits)
    theirs = float(joint_errors(motion, rival())[0].mean())
    ways: dict[str, Callable[[], Any]] = {
        "offline": partial(solve_sequence, prior, signal),
        "online": partial(_online, prior, signal),
    }
    rows = []
    for mode, way in ways.items():
        mine = errors[mode].mean_cm
        begun = time.process_time()
        way()
        rate = len(motion) / max(time.process_time() - begun, 1e-9)
        ours = Contestant(
            "motionloom",
            way,
            f"{rate:.0f} frames per second; error {mine:.2f} cm, inverse kinematics "
            f"{theirs:.2f} cm ({theirs / mine:.1f} times as large)",
        )
        rows += compare(
            f"{name}, {len(motion)} frames, {mode}",
            ours,
            [Contestant("inverse kinematics alone", rival)],
            rounds=min(settings.rounds, 3),
            budget_s=settings.budget_s,
            log=log,
        )
    return rows


def _online(prior: Prior, signal) -> np.ndarray:
    stream = Stream(prior, signal.roles, signal.fps)
    return np.array([stream.step(points)[1] for points in signal.points])
