"""Kovar & Gleicher 2004, section 4: parameterized motions, of the built-in corpus and of CMU.

The parts of `reproduction.kg04` about parameterization: Table 1, Figure 14, sampling, accuracy,
redundant examples, speed. *The paper's way* is ``preset="kg04"``: examples nearest to a random
point, interpolated weights. Ours also blends the examples around a point, and refines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.table_one import ROWS, Row, random_targets
from motionloom.blending import Blend, Registration, register
from motionloom.library import Library, ParametricMotion
from motionloom.parametric.parametric_motion import parametrize
from motionloom.parametric.settings import ParametrizeSettings
from reproduction.claims import Claim, Data, not_made

Array = NDArray[np.float64]

CORPUS = "built-in corpus"
PAPER_EXAMPLES = {"reach": 6, "walk": 96, "kick": 4, "sit": 2, "step up": 4, "punch": 7, "hop": 4,
                  "cartwheel": 11}  # fmt: skip
TARGETS = 100
HALF_INCH, QUARTER_INCH = 0.0127, 0.00635
CMU_WALK, CMU_SUBJECTS = "35_01:23-60", ("07", "08", "12", "16", "35")
RADII = "The radii of the families were chosen on this corpus."


@dataclass(frozen=True)
class Made:
    """A parametric motion by the paper's way and by ours, and the time to sample it."""

    row: Row
    paper: ParametricMotion
    ours: ParametricMotion
    alone: ParametricMotion
    seconds: float


def table_1(data: Data) -> Iterator[Claim]:
    """The eight parameterized motions: how many examples, samples, their time and space."""
    eight = _eight(data.corpus.path)
    rows = [
        (
            made.row.name, made.row.by, PAPER_EXAMPLES[made.row.name], len(made.paper.examples),
            _kept(made.paper), made.paper.space.tried, _kept(made.ours),
        )
        for made in eight
    ]  # fmt: skip
    whole = [made for made in eight if _kept(made.paper) > 0]
    yield Claim(
        place="Table 1",
        statement="Eight families, from reaches to cartwheels, become parameterized motions.",
        paper={"motions": 8},
        ours={"motions": len(whole)},
        rule="motions == paper_motions",
        data=CORPUS,
        note=f"Step up is by the height of the heel (the ankle joint) on the platform. {RADII}",
        table=(
            ("motion", "parameter", "examples in the paper", "examples", "samples, paper's way",
             "blends tried", "samples, ours"),
            rows,
        ),
    )  # fmt: skip
    full = [made for made in eight if _kept(made.paper) == 1000]
    yield Claim(
        place="Section 4.4",
        statement="A thousand samples are generated for every motion.",
        paper={"samples": 1000},
        ours={"motions": 8, "with_1000": len(full), "fewest": min(_kept(m.paper) for m in eight)},
        rule="with_1000 == motions",
        data=CORPUS,
        note="The others stop when 100 blends in a row lie within half an inch of another sample: "
        + "; ".join(f"{m.row.name} {_range(m.paper)}" for m in eight if m not in full)
        + ". The paper may count samples before it eliminates redundant ones.",
    )
    seconds = [1000 * made.seconds / made.paper.space.tried for made in eight]
    yield Claim(
        place="Section 4.4",
        statement="A thousand samples take 1.7 to 6.7 seconds.",
        paper={"least_s": 1.7, "most_s": 6.7},
        ours={"least_s": round(min(seconds), 2), "most_s": round(max(seconds), 2)},
        rule="most_s <= paper_most_s",
        data=CORPUS,
        note="Seconds of one processor core for a thousand blends and their parameters, kept or "
        "not.",
    )
    shares = [_storage(made.paper) for made in eight]
    yield Claim(
        place="Section 4.4",
        statement="Samples take little space: 8.2 % of the example motions at most, 3.2 % on "
        "average.",
        paper={"most": 0.082, "mean": 0.032},
        ours={"most": round(max(shares), 3), "mean": round(float(np.mean(shares)), 3)},
        rule="most <= paper_most and mean <= paper_mean",
        data=CORPUS,
        note="Parameters and weights as 4-byte numbers, members as 2-byte ones, beside rotations "
        "and root of the examples as 4-byte numbers at 30 frames a second.",
    )


def sections_4_2_and_4_3(data: Data) -> Iterator[Claim]:
    """Distances from random targets within reach, not themselves samples or examples."""
    eight = _eight(data.corpus.path)
    errors = {made.row.name: _errors(made, seed=11) for made in eight}
    table = (
        ("motion", "examples alone", "paper's way", "samples around too", "refined",
         "cardinal functions"),
        [(name, *(_percentiles(each) for each in found.values()))
         for name, found in errors.items()],
    )  # fmt: skip
    better = [name for name, found in errors.items()
              if np.median(found["paper"]) < np.median(found["alone"])]  # fmt: skip
    yield Claim(
        place="Section 4.2, Figure 2",
        statement="With samples a target is met more accurately than by interpolating the examples "
        "alone.",
        paper="all",
        ours={"motions": len(errors), "more_accurate": len(better)},
        rule="more_accurate == motions",
        data=f"{CORPUS}, {TARGETS} random targets a motion",
        note="Distance in cm, median / 95th percentile. Targets are random blends of neighbouring "
        "examples; none is an example.",
        table=table,
    )
    for name, words, note in (
        ("paper", "", "By interpolation alone, as in the paper."),
        (
            "refined",
            " (refined weights)",
            "Ours. The 48 samples that a refinement uses were chosen on other targets of these "
            "motions.",
        ),
    ):
        within = [float(np.mean(found[name] <= HALF_INCH)) for found in errors.values()]
        yield Claim(
            place="Section 4.4",
            statement=f"Targets within reach are met within visual tolerance{words}.",
            paper="all",
            ours={
                "motions": len(within),
                "motions_95_percent_within": sum(share >= 0.95 for share in within),
                "worst_share_within": round(min(within), 2),
            },
            rule="motions_95_percent_within == motions",
            data=f"{CORPUS}, {TARGETS} random targets a motion",
            note=f"The paper gives no figure: half an inch, below which it holds two samples for "
            f"the same. {note}",
        )


def weights(data: Data) -> Iterator[Claim]:
    """Weights for targets anywhere: in the bounding box of the examples, and far outside."""
    random = np.random.default_rng(3)
    counts = {"targets": 0, "valid": 0, "valid_refined": 0}
    above, most, cardinal = -1000, 0, 0.0
    shares: list[float] = []
    for made in _eight(data.corpus.path):
        motion = made.ours
        values, delta = motion.space.examples, motion.space.delta
        middle, size = values.mean(axis=0), np.ptp(values, axis=0)
        for target in middle + random.uniform(-1.5, 1.5, (25, values.shape[1])) * size:
            plain, refined = motion.space.weights_for(target), motion.weights_for(target)
            counts["targets"] += 1
            counts["valid"] += _valid(plain, delta)
            counts["valid_refined"] += _valid(refined, delta)
            cardinal = min(cardinal, float(motion.cardinal.weights_for(target).min()))
            used, bound = int(np.count_nonzero(plain)), 12 * (values.shape[1] + 1)
            above, most = max(above, used - bound), max(most, used)
            shares.append(used / bound)
    yield Claim(
        place="Section 4.3",
        statement="Whatever is asked for, blend weights are valid; radial basis functions give "
        "large negative ones.",
        paper="all",
        ours={**counts, "least_cardinal_weight": round(cardinal, 2)},
        rule="valid == targets and valid_refined == targets and least_cardinal_weight < -0.1",
        data=f"{CORPUS}, targets in three times the range of the examples",
        note="Valid: every weight between -0.1 and 1.1, summing to 1. Refined weights are convex "
        "combinations of the weights of samples, too.",
    )
    yield Claim(
        place="Section 4.3",
        statement="At most k (d + 1) weights are not zero, in practice fewer.",
        paper="k = 12",
        ours={
            "most": most,
            "most_above_bound": above,
            "mean_share_of_bound": round(float(np.mean(shares)), 2),
        },
        rule="most_above_bound <= 0 and mean_share_of_bound < 1",
        data=f"{CORPUS}, the same targets",
    )


def figure_14(data: Data) -> Iterator[Claim]:
    """Samples fill the accessible region: fresh blends lie near one."""
    made = {each.row.name: each for each in _eight(data.corpus.path)}
    shown = [made[name].paper for name in ("kick", "reach", "walk")]
    near, rows = [], []
    for motion in shown:
        targets = random_targets(motion, TARGETS, seed=21)
        gaps = {
            key: np.array([np.linalg.norm(points - t, axis=1).min() for t in targets])
            for key, points in (("sample", motion.accessible), ("example", motion.space.examples))
        }
        near.append(float(np.mean(gaps["sample"] <= 2 * HALF_INCH)))
        rows.append((motion.name, len(motion.examples), _kept(motion),
                     _percentiles(gaps["example"]), _percentiles(gaps["sample"])))  # fmt: skip
    _draw_accessible(shown, data.figure("papers-kg04-accessible.png"))
    yield Claim(
        place="Figure 14",
        statement="Samples show the region that a kick, a reach and a walk can reach.",
        paper="picture",
        ours={"least_share_within_an_inch": round(min(near), 2)},
        rule="least_share_within_an_inch >= 0.95",
        data=f"{CORPUS}, {TARGETS} random blends a motion",
        note="Red: examples, grey: samples. The share of fresh blends of neighbouring examples "
        "that lie within an inch of a sample.",
        table=(
            ("motion", "examples", "samples", "nearest example, cm", "nearest sample, cm"),
            rows,
        ),
        picture="papers-kg04-accessible.png",
    )


def redundant_examples(data: Data) -> Iterator[Claim]:
    """How many walks stay, by the paper's rule and by ours."""
    statement = (
        "Of 96 walks, 46 stay when those are dropped whose final root position interpolating "
        "nearby ones reproduces within a quarter of an inch."
    )
    walks = {CORPUS: next(m.alone.registration for m in _eight(data.corpus.path)
                          if m.row.name == "walk")}  # fmt: skip
    if data.cmu is not None:
        walks["CMU"] = _cmu_walks(data.cmu)
    else:
        yield not_made("Section 4.4", statement, "needs CMU")
    for name, registration in walks.items():
        found = {rule: _without_redundant(registration, rule) for rule in RULES}
        words = f"{name}, {len(registration)} walks by their final root position"
        for rule, note in RULES.items():
            kept, missed = len(found[rule].examples), _unreached(registration, found[rule])
            yield Claim(
                place="Section 4.4",
                statement=statement
                if rule == "interpolated"
                else "The same by our rule: any blend of nearby examples that reproduces it.",
                paper={"examples": 96, "kept": 46},
                ours={"examples": len(registration), "kept": kept, "dropped_not_reached": missed},
                rule="kept / examples <= 1.1 * paper_kept / paper_examples",
                data=words,
                note=f"{note} Dropped ones that the others, sampled and refined, then miss by more "
                "than the tolerance are counted.",
            )


def speed(data: Data) -> Iterator[Claim]:
    """Seconds of one processor core, of interleaved runs."""
    walk = next(m.ours for m in _eight(data.corpus.path) if m.row.name == "walk")
    kept = list(range(46))
    fewer = parametrize(walk.registration.only(kept), list(walk.parameters), _settings(seed=1))
    targets = random_targets(fewer, 10, seed=5)
    every = np.full(len(kept), 1.0 / len(kept))
    near = [fewer.space.weights_for(target) for target in targets]
    mixed = Blend(fewer.registration)
    points = np.arange(len(fewer.registration.curve))
    ours, all_of_them, poses, all_poses = _cpu(
        lambda: [fewer.blend(row) for row in near],
        lambda: [fewer.blend(every) for _ in near],
        lambda: [mixed.poses(row, points) for row in near],
        lambda: [mixed.poses(every, points) for _ in near],
    )
    yield Claim(
        place="Section 4.4",
        statement="To include all 46 examples in a blend takes an order of magnitude longer.",
        paper={"times": 10},
        ours={"times": round(all_of_them / ours, 1),
              "times_averaging": round(all_poses / poses, 1),
              "examples_in_a_blend": round(float(np.mean([np.count_nonzero(w) for w in near])), 1)},
        rule="times >= paper_times",
        data=f"{CORPUS}, 46 walks, 10 targets",
        note="The average of the poses alone is the part that grows with the number of examples.",
    )  # fmt: skip
    slowest = 0.0
    for made in _eight(data.corpus.path):
        targets = random_targets(made.ours, 5, seed=6)
        start = time.process_time()
        lengths = [made.ours(target).duration for target in targets]
        slowest = max(slowest, (time.process_time() - start) / sum(lengths))
    yield Claim(
        place="Section 4.4",
        statement="New motions are synthesized in real time.",
        paper="all",
        ours={"slowest_seconds_per_second": round(slowest, 3)},
        rule="slowest_seconds_per_second < 1",
        data=f"{CORPUS}, 5 targets a motion, refined",
    )


def cartwheels(data: Data) -> Iterator[Claim]:
    """From a few cartwheels to a parameterized one: web, search, samples."""
    lib = Library.create(data.scratch / "cartwheels.loom")
    for name in data.corpus.select(label="cartwheel"):
        lib.add_motion(data.corpus[name], labels=["cartwheel"], name=name)
    start = time.process_time()
    lib.build_web()
    family = lib.family("cartwheel_left_p0:20-115", method="web", max_distance=0.15)
    registration = register(lib, family, leave_out_unmatched=True)
    motion = parametrize(registration, "final_root_position", _settings())
    spent = time.process_time() - start
    yield Claim(
        place="Section 4.4",
        statement="From 34 s of cartwheels, web, search and samples take less than thirty seconds.",
        paper={"data_s": 34, "most_s": 30},
        ours={
            "data_s": round(sum(lib[name].duration for name in lib.names), 1),
            "seconds": round(spent, 1),
            "examples": len(motion.examples),
        },
        rule="seconds < paper_most_s and examples >= 2",
        data=f"{CORPUS}, {len(lib)} cartwheels",
        note="Seconds of one processor core, kernels compiled before.",
    )


def scores(data: Data) -> Iterator[Claim]:
    """A score per example, instead of a measured parameter: slow, usual and fast walks."""
    lib, vigour = data.corpus, {"walk_slow": 0.0, "walk": 0.5, "walk_fast": 1.0}
    given = {f"{name}_p{n}": score for name, score in vigour.items() for n in range(4)}
    family = lib.family("walk_p0:9-40", only=list(given), max_distance=0.12, max=100)
    motion = lib.parametrize(family, by=given, leave_out_unmatched=True)
    asked = np.linspace(0.1, 0.9, 9)
    found = [motion.reach([score], tolerance=0.01) for score in asked]
    paces = [_pace(each.motion) for each in found]
    yield Claim(
        place="Section 5",
        statement="Abstract properties like mood are parameters too, without sampling.",
        paper="proposed",
        ours={
            "examples": len(motion.examples),
            "asked": len(asked),
            "met": sum(each.within_tolerance for each in found),
            "valid": sum(_valid(each.weights, 0.0) for each in found),
            "slow_m_s": round(paces[0], 2),
            "middle_m_s": round(paces[4], 2),
            "fast_m_s": round(paces[-1], 2),
        },
        rule="met == asked and valid == asked and slow_m_s < middle_m_s < fast_m_s",
        data=f"{CORPUS}, {len(motion.examples)} walk cycles",
        note="Slow walks are scored 0, usual ones 0.5, fast ones 1; scores from 0.1 to 0.9 are "
        "asked for. The speed follows, though nothing but the scores says so.",
    )


PARTS = (
    table_1, sections_4_2_and_4_3, weights, figure_14, redundant_examples, speed, cartwheels,
    scores,
)  # fmt: skip
RULES = {
    "interpolated": "Equations 2 and 3 with k = 12, examples tried in turn.",
    "refined": "Refined shares of the 12 nearest examples.",
}


@cache
def _eight(corpus: Path) -> tuple[Made, ...]:
    """The eight motions of table 1, made once for all parts."""
    library = Library(corpus)
    return tuple(_made(library, row) for row in ROWS)


def _made(library: Library, row: Row) -> Made:
    family = library.family(row.query, label=row.label, max_distance=row.max_distance, max=100)
    registration = register(library, family, leave_out_unmatched=True)
    start = time.process_time()
    paper = parametrize(registration, row.by, _settings(preset="kg04"), name=row.name)
    seconds = time.process_time() - start
    ours = parametrize(registration, row.by, _settings(), name=row.name)
    alone = parametrize(registration, row.by, _settings(samples=0), name=row.name)
    return Made(row, paper, ours, alone, seconds)


def _settings(**options) -> ParametrizeSettings:
    return ParametrizeSettings(**{"seed": 1, **options})


def _cmu_walks(library: Library) -> Registration:
    only = [name for name in library.names if name.split("_")[0] in CMU_SUBJECTS]
    family = library.family(CMU_WALK, only=only, max_distance=0.06, max=95)  # and the query: 96
    return register(library, family, leave_out_unmatched=True)


def _without_redundant(registration: Registration, rule: str) -> ParametricMotion:
    settings = _settings(redundant=QUARTER_INCH, redundant_by=rule)
    return parametrize(registration, "final_root_position", settings)


def _unreached(registration: Registration, motion: ParametricMotion) -> int:
    """Dropped examples whose parameters the motion misses by more than a quarter of an inch."""
    whole = parametrize(registration, "final_root_position", _settings(samples=0))
    dropped = [n for n, name in enumerate(whole.examples) if name not in motion.examples]
    wanted = whole.space.examples[dropped]
    return sum(not motion.reach(one, tolerance=QUARTER_INCH).within_tolerance for one in wanted)


def _errors(made: Made, seed: int) -> dict[str, Array]:
    """Distances from targets that the paper's samples surround, by each way."""
    targets = random_targets(made.paper, TARGETS, seed)
    ways: dict[str, Callable[[Array], float]] = {
        "alone": lambda t: made.alone.reach(t, refine=False).error,
        "paper": lambda t: made.paper.reach(t, preset="kg04").error,
        "around": lambda t: made.ours.reach(t, refine=False).error,
        "refined": lambda t: made.ours.reach(t).error,
        "cardinal": lambda t: made.ours.reach(t, scheme="cardinal").error,
    }
    return {name: np.array([way(target) for target in targets]) for name, way in ways.items()}


def _kept(motion: ParametricMotion) -> int:
    return len(motion.accessible) - len(motion.examples)


def _range(motion: ParametricMotion) -> str:
    """Number of samples, and the range of the parameters of the examples."""
    size = np.linalg.norm(np.ptp(motion.space.examples, axis=0))
    return f"{_kept(motion)} in {100 * size:.0f} cm"


def _storage(motion: ParametricMotion) -> float:
    """Space of the samples by that of the examples."""
    numbers = motion.accessible.size + motion.space.weights.size
    clips = motion.registration.clips
    frames = int(clips.offsets[-1]) * (4 * len(motion.registration.skeleton) + 3)
    return (4 * numbers + 2 * motion.space.members.size) / (4 * frames)


def _valid(row: Array, delta: float) -> bool:
    inside = np.all((row >= -delta - 1e-9) & (row <= 1.0 + delta + 1e-9))
    return bool(inside and abs(row.sum() - 1.0) < 1e-9)


def _percentiles(errors: Array) -> str:
    return f"{100 * np.median(errors):.2f} / {100 * np.percentile(errors, 95):.2f}"


def _pace(motion) -> float:
    steps = np.diff(motion.root[:, [0, 2]], axis=0)
    return float(np.linalg.norm(steps, axis=1).sum() / motion.duration)


def _cpu(*runs: Callable[[], object], rounds: int = 5) -> list[float]:
    """Least seconds of one processor core of each, interleaved."""
    best = [np.inf] * len(runs)
    for _ in range(rounds):
        for n, run in enumerate(runs):
            start = time.process_time()
            run()
            best[n] = min(best[n], time.process_time() - start)
    return best


def _draw_accessible(motions: list[ParametricMotion], path: Path) -> None:
    """Examples and samples of each: side view of kick and reach, walk from above."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    for axes, motion in zip(figure.subplots(1, len(motions)), motions, strict=True):
        across, up = (0, 1) if len(motion.axes) == 2 else (2, 1)
        axes.scatter(*motion.accessible[:, [across, up]].T, s=5, color="#9aa3b0", linewidths=0)
        axes.scatter(*motion.space.examples[:, [across, up]].T, s=30, marker="s", color="#d3222a")
        words = "from above" if len(motion.axes) == 2 else "from the side"
        axes.set(title=f"{motion.name}, {motion.parameters[0].text}, {words}", aspect="equal",
                 xlabel=f"{motion.axes[across]} (m)", ylabel=f"{motion.axes[up]} (m)")  # fmt: skip
    figure.savefig(path, dpi=100)
