"""Kovar & Gleicher 2004, section 4: parameterized motions on the built-in corpus and on CMU.

Parts of `reproduction.kg04` about parameterization: Table 1, Figure 14, sampling, accuracy,
redundant examples and speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import motionloom as ml
from benchmarks.table_one import random_targets
from motionloom.library import ParametricMotion
from reproduction import kg04_applications as applications
from reproduction.claims import Claim, Data
from reproduction.kg04_eight import CORPUS, Array, Made, eight_motions, kept, percentiles, valid

TARGETS = 100
HALF_INCH = 0.0127
CHOICE = (
    "Reaches, kicks and punches are recorded twice, the others as often as necessary; walks wind "
    "at random speeds. The examples are those nearest to the query in the match graph, as many as "
    "in the paper. With four performers, the d + 1 nearest examples are the same action and span "
    "hardly any space. Several sets of reaches and walks were tried before these."
)


def table_1(data: Data) -> Iterator[Claim]:
    """The eight parameterized motions: number of examples and samples, time and space."""
    eight = eight_motions()
    rows = [
        (
            made.row.name, made.paper.parameters[0].text, made.row.examples,
            len(made.paper.examples), kept(made.paper), made.paper.space.tried, kept(made.ours),
        )
        for made in eight
    ]  # fmt: skip
    whole = [made for made in eight if kept(made.paper) > 0]
    yield Claim(
        place="Table 1",
        statement="Eight families, from reaches to cartwheels, become parameterized motions.",
        paper={"motions": 8},
        ours={"motions": len(whole)},
        rule="motions == paper_motions",
        data=CORPUS,
        note=('"Step up" is parameterized by the height of the heel (the ankle joint) on the '
            f"platform. {CHOICE}"),
        table=(
            ("motion", "parameter", "examples in the paper", "examples",
             "samples left, method of the paper", "blends generated", "samples, our method"),
            rows,
        ),
    )  # fmt: skip
    generated = [made.paper.space.tried for made in eight]
    yield Claim(
        place="Section 4.4",
        statement="A thousand samples are generated for every motion, and redundant ones removed.",
        paper={"samples": 1000},
        ours={
            "motions": len(eight),
            "with_1000": sum(count == 1000 for count in generated),
            "fewest_left": min(kept(made.paper) for made in eight),
            "most_left": max(kept(made.paper) for made in eight),
        },
        rule="with_1000 == motions",
        data=CORPUS,
        note="Samples left are at least half an inch apart. "
        + "; ".join(f"{made.row.name} {_range(made.paper)}" for made in eight)
        + ".",
    )
    seconds = [1000 * made.seconds / made.paper.space.tried for made in eight]
    yield Claim(
        place="Section 4.4",
        statement="A thousand samples take 1.7 to 6.7 seconds.",
        paper={"least_s": 1.7, "most_s": 6.7},
        ours={"least_s": round(min(seconds), 2), "most_s": round(max(seconds), 2)},
        rule="most_s <= paper_most_s",
        data=CORPUS,
        note=(
            "Times are seconds of one processor core for a thousand blends and their "
            "parameters, before redundant ones are removed, as in the paper."
        ),
    )
    shares = [_storage(made.paper) for made in eight]
    yield Claim(
        place="Section 4.4",
        statement=(
            "Samples need little space: at most 8.2 % of the example motions, 3.2 % on average."
        ),
        paper={"most": 0.082, "mean": 0.032},
        ours={"most": round(max(shares), 3), "mean": round(float(np.mean(shares)), 3)},
        rule="most <= paper_most and mean <= paper_mean",
        data=CORPUS,
        note=(
            "Parameters and weights are stored as 4-byte numbers and members as 2-byte "
            "numbers. They are compared with the rotations and root positions of the "
            "examples as 4-byte numbers at 60 frames per second, the rate of the paper."
        ),
    )


def sections_4_2_and_4_3(data: Data) -> Iterator[Claim]:
    """Distances to random targets within reach that are neither samples nor examples."""
    eight = eight_motions()
    errors = {made.row.name: _errors(made, seed=11) for made in eight}
    table = (
        ("motion", "examples alone", "method of the paper", "with samples around each point",
         "refined", "cardinal functions"),
        [(name, *(percentiles(each) for each in distances.values()))
         for name, distances in errors.items()],
    )  # fmt: skip
    better = [name for name, distances in errors.items()
              if np.median(distances["paper"]) < np.median(distances["alone"])]  # fmt: skip
    yield Claim(
        place="Section 4.2, Figure 2",
        statement=(
            "Samples make it possible to meet a target more accurately than interpolating "
            "the examples alone."
        ),
        paper="all",
        ours={"motions": len(errors), "more_accurate": len(better)},
        rule="more_accurate == motions",
        data=f"{CORPUS}, {TARGETS} random targets per motion",
        note=(
            "Values are distances in cm, as median / 95th percentile. Targets are "
            "random blends of neighboring examples; none of them is an example."
        ),
        table=table,
    )
    for name, words, note in (
        ("paper", "", "Weights come from interpolation alone, as in the paper."),
        (
            "refined",
            " (refined weights)",
            (
                "Refined weights are our extension. The number of samples that a "
                "refinement uses (48) was chosen on other targets of these motions."
            ),
        ),
    ):
        within = [float(np.mean(distances[name] <= HALF_INCH)) for distances in errors.values()]
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
            data=f"{CORPUS}, {TARGETS} random targets per motion",
            note=(
                "The paper gives no figure. We use half an inch, the distance below which it "
                f"considers two samples equal. {note}"
            ),
        )


def weights(data: Data) -> Iterator[Claim]:
    """Weights for arbitrary targets, within the bounding box of the examples and far outside."""
    random = np.random.default_rng(3)
    counts = {"targets": 0, "valid": 0, "valid_refined": 0}
    above, most, cardinal = -1000, 0, 0.0
    shares: list[float] = []
    for made in eight_motions():
        motion = made.ours
        values, delta = motion.space.examples, motion.space.delta
        middle, size = values.mean(axis=0), np.ptp(values, axis=0)
        for target in middle + random.uniform(-1.5, 1.5, (25, values.shape[1])) * size:
            plain, refined = motion.space.weights_for(target), motion.weights_for(target)
            counts["targets"] += 1
            counts["valid"] += valid(plain, delta)
            counts["valid_refined"] += valid(refined, delta)
            cardinal = min(cardinal, float(motion.cardinal.weights_for(target).min()))
            used, bound = int(np.count_nonzero(plain)), 12 * (values.shape[1] + 1)
            above, most = max(above, used - bound), max(most, used)
            shares.append(used / bound)
    yield Claim(
        place="Section 4.3",
        statement=(
            "Blend weights are valid for any target, whereas radial basis functions give "
            "large negative weights."
        ),
        paper="all",
        ours={**counts, "least_cardinal_weight": round(cardinal, 2)},
        rule="valid == targets and valid_refined == targets and least_cardinal_weight < -0.1",
        data=f"{CORPUS}, targets within three times the range of the examples",
        note=(
            "Valid weights lie between -0.1 and 1.1 and sum to 1. Refined weights are also "
            "convex combinations of the weights of samples."
        ),
    )
    yield Claim(
        place="Section 4.3",
        statement="At most k (d + 1) weights are nonzero; in practice fewer.",
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
    """Samples fill the accessible region: new blends lie near a sample."""
    made = {each.row.name: each for each in eight_motions()}
    shown = [made[name].paper for name in ("kick", "reach", "walk")]
    near, rows = [], []
    for motion in shown:
        targets = random_targets(motion, TARGETS, seed=21)
        gaps = {
            key: np.array([np.linalg.norm(points - t, axis=1).min() for t in targets])
            for key, points in (("sample", motion.accessible), ("example", motion.space.examples))
        }
        near.append(float(np.mean(gaps["sample"] <= 2 * HALF_INCH)))
        rows.append((motion.name, len(motion.examples), kept(motion),
                     percentiles(gaps["example"]), percentiles(gaps["sample"])))  # fmt: skip
    _draw_accessible(shown, data.figure("papers-kg04-accessible.png"))
    yield Claim(
        place="Figure 14",
        statement="Samples show the region that a kick, a reach and a walk can reach.",
        paper="picture",
        ours={"least_share_within_an_inch": round(min(near), 2)},
        rule="least_share_within_an_inch >= 0.95",
        data=f"{CORPUS}, {TARGETS} random blends per motion",
        note=(
            "Red: examples; gray: samples. The figure is the share of new blends of "
            "neighboring examples that lie within an inch of a sample."
        ),
        table=(
            ("motion", "examples", "samples", "nearest example, cm", "nearest sample, cm"),
            rows,
        ),
        picture="papers-kg04-accessible.png",
    )


PARTS = (table_1, sections_4_2_and_4_3, weights, figure_14, *applications.PARTS)


def _errors(made: Made, seed: int) -> dict[str, Array]:
    """Distances to targets that the samples of the paper surround, for each method."""
    targets = random_targets(made.paper, TARGETS, seed)
    ways: dict[str, Callable[[Array], float]] = {
        "alone": lambda t: made.alone.reach(t, ml.SynthesisSettings.kg04()).error,
        "paper": lambda t: made.paper.reach(t, ml.SynthesisSettings.kg04()).error,
        "around": lambda t: made.ours.reach(t, refine=False).error,
        "refined": lambda t: made.ours.reach(t).error,
        "cardinal": lambda t: made.ours.reach(t, scheme="cardinal").error,
    }
    return {name: np.array([way(target) for target in targets]) for name, way in ways.items()}


def _range(motion: ParametricMotion) -> str:
    """Number of samples, and the parameter range of the examples."""
    size = np.linalg.norm(np.ptp(motion.space.examples, axis=0))
    return f"{kept(motion)} in {100 * size:.0f} cm"


def _storage(motion: ParametricMotion) -> float:
    """Size of the samples relative to the size of the examples."""
    numbers = motion.accessible.size + motion.space.weights.size
    clips = motion.registration.clips
    frames = int(clips.offsets[-1]) * (4 * len(motion.registration.skeleton) + 3)
    return (4 * numbers + 2 * motion.space.members.size) / (4 * frames)


def _draw_accessible(motions: list[ParametricMotion], path: Path) -> None:
    """Plot examples and samples: kick and reach from the side, walk from above."""
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
