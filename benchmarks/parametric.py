"""``python -m benchmarks parametric``: from target parameters to a motion.

The rival is the older method, cardinal radial basis functions over all examples. Notes give the
errors of both for random targets inside the accessible region.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.table_one import ROWS, corpus_library, parametric_row, random_targets
from benchmarks.timing import Contestant, Log, Result, compare, timings
from motionloom.blending import Registration
from motionloom.blending.poses import ClipPoses
from motionloom.blending.registration_curve import RegistrationCurve
from motionloom.parametric.parameter_space import sampled_space
from motionloom.parametric.parametric_motion import ParametricMotion, parametrize
from motionloom.parametric.settings import ParametrizeSettings

SUMMARY = "parametric motions: accuracy and speed for given targets"
PACKAGES = ()
_TIMED = 10
_SIZES = (10, 100, 1000)


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    results: list[Result] = []
    with corpus_library(tuple({row.label for row in ROWS})) as library:
        for row in ROWS:
            log(f"building {row.name}")
            start = time.process_time()
            motion = parametric_row(library, row)
            made_s = time.process_time() - start
            results += _accuracy(motion, made_s, settings, log)
            if row.name == "walk":
                results += _sampling(motion, settings)
                results += _scaling(motion, settings, log)
    return {"data": "the built-in corpus", "results": [each.as_dict() for each in results]}


def _accuracy(
    motion: ParametricMotion, made_s: float, settings: Settings, log: Log
) -> list[Result]:
    targets = random_targets(motion, 200, settings.seed)
    log(f"{motion.name}: 200 targets")
    refined = [motion.reach(target).error for target in targets]
    plain = [motion.reach(target, refine=False).error for target in targets]
    alone = parametrize(
        motion.registration, list(motion.parameters), ParametrizeSettings(samples=0)
    )
    few = [alone.reach(target, refine=False).error for target in targets]
    cardinal = [motion.reach(target, scheme="cardinal").error for target in targets]
    note = (
        f"{len(motion.examples)} examples, parameter {motion.parameters[0].text}; error "
        f"(median / 95th percentile): refined {_percentiles(refined)}, samples "
        f"{_percentiles(plain)}, examples alone {_percentiles(few)}, cardinal "
        f"{_percentiles(cardinal)}; building takes {made_s:.1f} s of processor time"
    )
    several = targets[:_TIMED]
    return compare(
        f"{motion.name}: motions for {_TIMED} targets",
        Contestant("motionloom, refined", partial(_each, motion, several, {}), note),
        [
            Contestant("without refinement", partial(_each, motion, several, {"refine": False})),
            Contestant(
                "cardinal functions", partial(_each, motion, several, {"scheme": "cardinal"})
            ),
        ],
        rounds=settings.rounds, budget_s=settings.budget_s, log=log,
    )  # fmt: skip


def _sampling(motion: ParametricMotion, settings: Settings) -> list[Result]:
    values = motion.space.examples
    sample = partial(sampled_space, values, motion.measure, samples=1000, spacing=0.0, seed=1)
    (own,) = timings([Contestant("motionloom", sample)], rounds=3, budget_s=settings.budget_s)
    note = "1.7 to 6.7 s in the paper (2004)"
    what = f"1,000 samples of {len(values)} walks"
    return [Result(what, own.wall_s, "", None, None, note, own.cpu_s, rounds=own.rounds)]


def _scaling(motion: ParametricMotion, settings: Settings, log: Log) -> list[Result]:
    results: list[Result] = []
    for size in _SIZES:
        many = _with_examples(motion, size)
        targets = many.accessible[-_TIMED:]
        results += compare(
            f"motions for {_TIMED} targets, {size} examples, without refinement",
            Contestant("motionloom, samples", partial(_each, many, targets, {"refine": False})),
            [
                Contestant(
                    "cardinal functions", partial(_each, many, targets, {"scheme": "cardinal"})
                )
            ],
            rounds=settings.rounds, budget_s=settings.budget_s, log=log,
        )  # fmt: skip
    return results


def _with_examples(motion: ParametricMotion, count: int) -> ParametricMotion:
    """The same motion with `count` examples, drawn with replacement."""
    random = np.random.default_rng(0)
    whole = motion.registration
    rows = np.concatenate([[0], random.integers(0, len(whole), count - 1)])
    registration = _repeated(whole, rows)
    # Copies get different parameters, because cardinal functions require distinct examples.
    values = motion.space.examples[rows] + random.normal(0.0, 0.02, (count, len(motion.axes)))
    space = sampled_space(
        values, lambda weights: weights @ values, samples=1000, spacing=0.0, seed=1
    )
    return ParametricMotion(registration, motion.parameters, space)


def _repeated(whole: Registration, rows: NDArray[np.int64]) -> Registration:
    curve = whole.curve
    clips: ClipPoses = whole.clips.only([int(n) for n in rows])
    columns = ("times", "speeds", "transforms", "twists")
    return replace(
        whole,
        examples=tuple(whole.examples[n] for n in rows),
        parents=(-1, *[0] * (len(rows) - 1)),
        curve=RegistrationCurve(
            *(np.ascontiguousarray(getattr(curve, name)[:, rows]) for name in columns)
        ),
        clips=clips,
        contacts=whole.contacts.only([int(n) for n in rows]),
    )


def _each(motion: ParametricMotion, targets, options: dict[str, Any]) -> None:
    for target in targets:
        motion(target, **options)


def _percentiles(errors: list[float]) -> str:
    middle, most = np.percentile(errors, [50, 95])
    return f"{100 * middle:.2f} / {100 * most:.2f} cm"
