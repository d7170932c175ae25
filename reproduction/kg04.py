"""Kovar & Gleicher 2004: match webs, search and parameterized motions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import motionloom as ml
from motionloom.alignment import (
    align_in_region,
    clear_alignment,
    matrix_minima,
    valid_region,
    warp,
)
from motionloom.features import distance_matrix
from motionloom.features.matrix import prepared_frames
from motionloom.library import Library
from motionloom.search.match_web.build import motion_web
from motionloom.search.match_web.web import Web, WebLimits
from motionloom.search.methods import WebOptions
from reproduction import kg04_parametric, kg04_search
from reproduction.claims import Claim, Data, Paper
from reproduction.kg04_search import WHO, cases, searchable

PAPER = Paper(
    key="kg04",
    slug="kovar-gleicher-2004",
    name="Kovar & Gleicher 2004",
    title="Automated extraction and parameterization of motions in large data sets. SIGGRAPH.",
    summary=(
        "The paper finds all motions that are logically similar to an example and turns them "
        "into a parameterized motion. A match web stores every pair of segments that can be "
        "aligned; query expansion collects similar motions in a match graph; sampling makes "
        "the parameters accurate. Most statements about parameterization and speed hold. "
        "Three kinds do not: with the settings of the paper, a single threshold separates "
        "fewer queries than it reports; some motions of our corpus have too little variation "
        "for a thousand samples; and its rule removes fewer redundant examples here than it "
        "does in the paper."
    ),
    pages=(
        "explanation/match-webs.md",
        "explanation/families.md",
        "explanation/parametric-motion.md",
    ),
)
WALKS = ("walk", "walk_slow", "walk_fast", "walk_left", "walk_right")
KICKS = ("front_low", "front_mid", "front_high", "inside_mid", "outside_mid", "side_mid")
_FIGURE_7_RATE = 30.0
Array = NDArray[np.float64]


def _cycle(library: Library, name: str) -> str:
    frames = len(library[name])
    return f"{name}:{frames // 3}-{frames // 3 + 32}"


def _matrix(library: Library, a: str, b: str) -> Array:
    return distance_matrix(library.clip(a), library.clip(b))


def figure_4(data: Data) -> Iterator[Claim]:
    """Share of one-dimensional minima among aligned cells, for walk cycles and kicks."""
    library = data.corpus
    cycles = [_cycle(library, f"{name}_{WHO}") for name in WALKS]
    kicks = [f"kick_{name}_right_{WHO}" for name in KICKS]
    # Walk cycles must begin at the same phase, so the second is shifted to where it aligns best.
    walks = [_same_phase(library, a, b) for a, b in combinations(cycles, 2)]
    kicked = [(a, b) for a, b in combinations(kicks, 2)]
    shares = {}
    for action, pairs in (("walk", walks), ("kick", kicked)):
        samples = [_on_minima(_matrix(library, a, b)) for a, b in pairs]
        shares[action] = np.mean(samples, axis=0)
    name = "papers-kg04-minima.png"
    _draw_minima(library, walks[0], kicked[1], data.figure(name))
    data_text = f"built-in corpus, performer {WHO[1:]}: {len(walks)} and {len(kicked)} pairs"
    yield Claim(
        place="Figure 4",
        statement=(
            "Nearly every cell of the time alignment of two walk cycles is a minimum of its "
            "row or column."
        ),
        ours={"share": round(float(shares["walk"][0]), 3)},
        rule="share >= 0.9",
        data=data_text,
        picture=name,
    )
    yield Claim(
        place="Figure 4",
        statement="For two kicks, about 60 % of the cells are minima, and the rest are close to "
                "a minimum.",
        paper={"share": 0.6},
        ours={"share": round(float(shares["kick"][0]), 3),
              "within_a_cell": round(float(shares["kick"][1]), 3)},
        rule="abs(share - paper_share) <= 0.1 and within_a_cell >= 0.9",
        data=data_text,
    )  # fmt: skip
    yield Claim(
        place="Figure 4",
        statement=(
            "Corresponding frames of the kicks are on average about 5 times as far from each "
            "other as those of the walk cycles."
        ),
        paper={"ratio": 5.0},
        ours={"ratio": round(float(shares["kick"][2] / shares["walk"][2]), 1)},
        rule="2.5 <= ratio <= 10",
        data=data_text,
        note='Distances are squared, as in the paper. "About 5" is read as 2.5 to 10.',
    )


def _same_phase(library: Library, a: str, b: str) -> tuple[str, str]:
    """Shift segment `b` of a walk to the phase of segment `a`."""
    name = b.partition(":")[0]
    hit = library.search(
        a, only=name, max=1, method=ml.Dtw(features="pc11", weights="equal", rank="distance")
    )[0]
    return a, f"{name}:{hit.start_frame}-{hit.end_frame}"


def _on_minima(matrix: Array) -> tuple[float, float, float]:
    """Shares of aligned cells on a minimum and within a cell of one, and the mean square."""
    alignment = align_in_region(matrix**2)
    path = alignment.path if alignment is not None else warp(matrix**2).path
    minima = matrix_minima(matrix, edges=True) > 0
    near = minima.copy()
    near[1:] |= minima[:-1]
    near[:-1] |= minima[1:]
    near[:, 1:] |= minima[:, :-1]
    near[:, :-1] |= minima[:, 1:]
    at = tuple(path.T)
    return float(minima[at].mean()), float(near[at].mean()), float((matrix[at] ** 2).mean())


def _draw_minima(library: Library, walks, kicks, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10.0, 6.4), layout="constrained")
    for row, (title, pair) in zip(axes, (("walk", walks), ("kick", kicks)), strict=True):
        matrix = _matrix(library, *pair)
        alignment = align_in_region(matrix**2)
        minima = matrix_minima(matrix, edges=True)
        for each, what in zip(row, ("time alignment", "minima", "valid region"), strict=True):
            each.imshow(matrix, cmap="gray", origin="lower")
            each.set_title(f"{title}: {what}", fontsize=9)
            each.set_xticks([])
            each.set_yticks([])
        if alignment is not None:
            row[0].plot(alignment.path[:, 1], alignment.path[:, 0], color="magenta", lw=2.0)
        row[1].imshow(np.where(minima > 0, 1.0, np.nan), cmap="spring_r", origin="lower", vmin=0)
        region = valid_region(matrix, minima=minima)
        layer = np.full((*matrix.shape, 4), np.nan)
        layer[region] = (1.0, 0.85, 0.0, 0.8)
        layer[minima > 0] = (1.0, 0.0, 1.0, 0.9)
        row[2].imshow(layer, origin="lower")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def figure_5(data: Data) -> Iterator[Claim]:
    """The valid region, and the pairs of motions that have a time alignment within it."""
    library = data.corpus
    takes = {"strikes and strikes": ("take_strikes_p0", "take_strikes_p2"),
             "kick and walk": (f"kick_front_mid_right_{WHO}", f"walk_{WHO}")}  # fmt: skip
    shares = {}
    for name, (a, b) in takes.items():
        matrix = _matrix(library, a, b)
        squares = valid_region(matrix).mean()
        roots = valid_region(matrix, alpha=1.15**2 - 1.0).mean()  # 15 % of the distance in meters
        shares[name] = (round(float(squares), 3), round(float(roots), 3))
    kicks = [f"kick_{name}_right_{WHO}" for name in KICKS]
    others = [f"{name}_{WHO}" for name in ("jump_up", "punch_mid_left", "reach_behind_low_left")]
    same = [_is_clear(library, a, b) for a, b in combinations(kicks, 2)]
    different = [_is_clear(library, a, b) for a in kicks for b in others]
    yield Claim(
        place="Figure 5",
        statement=("Similar motions have a time alignment within the valid region; dissimilar "
            "motions do not (criterion 2)."),
        ours={"kick_pairs": round(float(np.mean(same)), 3),
              "other_pairs": round(float(np.mean(different)), 3)},
        rule="kick_pairs > other_pairs",
        data=f"built-in corpus, performer {WHO[1:]}: {len(same)} and {len(different)} pairs",
        note=("Values are the share of pairs of whole clips that have an alignment from "
                "their first frames to their last. The table shows the share of a matrix that "
                "is valid if alpha is 15 % of the squared distance (as in the paper) or of its "
                "root."),
        table=(
            ("matrix", "of squared distances", "of distances"),
            [(name, *values) for name, values in shares.items()],
        ),
    )  # fmt: skip


def _is_clear(library: Library, a: str, b: str) -> bool:
    return clear_alignment(_matrix(library, a, b), margin=3) is not None


def figure_7(data: Data) -> Iterator[Claim]:
    """A web built at 10 Hz and refined, compared with one built at the full rate."""
    names = [f"kick_front_mid_right_{WHO}", f"kick_side_mid_right_{WHO}", f"walk_{WHO}"]
    frames = [prepared_frames(data.corpus[name].resample(_FIGURE_7_RATE)) for name in names]
    limits = WebLimits.of(WebOptions.kg04())
    covered, cells, least = [], [0, 0], []
    for a in frames[:2]:
        webs = [
            motion_web(a, frames[1:], rate=60.0, limits=limits, direct=d) for d in (False, True)
        ]
        covered += _covered(*webs)
        cells = [n + len(web.cells) for n, web in zip(cells, webs, strict=True)]
        least.append(webs[0].bridge_count > 0)
    name = "papers-kg04-web.png"
    _draw_web(data, names[:2], data.figure(name))
    yield Claim(
        place="Figures 7 and 8",
        statement=(
            "A match web that was built at a low resolution can be refined at a higher one."
        ),
        ours={"covered": round(float(np.mean(covered)), 3), "chains": len(covered)},
        rule="covered >= 0.9",
        data=f"built-in corpus, performer {WHO[1:]} at 30 Hz: two kicks and a walk",
        note=(
            "The value is the share of cells that lie within two frames of the refined "
            "web. The cells are those of chains of at least half a second and below "
            "0.1 m, in a web built at 30 Hz."
        ),
        picture=name,
    )


def _covered(fine: Web, direct: Web) -> list[float]:
    reached = np.zeros(fine.shape, bool)
    for i, j in fine.cells.tolist():
        reached[max(i - 2, 0) : i + 3, max(j - 2, 0) : j + 3] = True
    shares = []
    for c in range(direct.chain_count):
        path = direct.path(c)
        value = direct.values[direct.offsets[c] : direct.offsets[c + 1]].mean()
        if len(path) >= 0.5 * _FIGURE_7_RATE and value < 0.1:
            shares.append(float(reached[tuple(path.T)].mean()))
    return shares


def _draw_web(data: Data, names: list[str], path: Path) -> None:
    from motionloom.plots.distance_matrix import write_match_web

    pair = data.corpus.compare(*names, options=WebOptions.kg04())
    write_match_web(pair.matrix(), pair.web(), path, names=(names[0], names[1]))


def figure_10(data: Data) -> Iterator[Claim]:
    """The match graph of a front kick."""
    from motionloom.plots.match_graph import write_match_graph

    library, acts = searchable(data.corpus_files, data.scratch)
    case = next(case for case in cases(acts) if case.name == "kick")
    tried = kg04_search.outcomes(data.corpus_files, data.scratch, "kick", "paper", True)
    best = max(
        (outcome for outcome in tried if not outcome.wrong), key=lambda outcome: outcome.right
    )
    family = best.family
    gaps = dict(
        zip((node.motion for node in family.nodes), family.distance_to_query(), strict=True)
    )
    kinds = {kind: [gap for name, gap in gaps.items() if f"kick_{kind}" in name]
             for kind in ("front", "side", "leap")}  # fmt: skip
    name = "papers-kg04-graph.png"
    clips = [library[n.motion][n.start_frame : n.end_frame] for n in family.nodes]
    write_match_graph(family, clips, data.figure(name))
    middle = {kind: round(float(np.median(distances)), 3) if distances else 99.0
              for kind, distances in kinds.items()}  # fmt: skip
    yield Claim(
        place="Figure 10",
        statement="The match graph of a front kick leads from front kicks to standing side kicks "
        "to leaping kicks.",
        ours={**middle, "members": len(family.nodes), "largest_tier": max(
            node.tier for node in family.nodes), "threshold_m": best.threshold},
        rule="front < side and front < leap < 99 and largest_tier > 1",
        data=f"built-in corpus, performer {WHO[1:]}, query {case.query}",
        note=("Values are median distances to the query in the graph, in meters; 99 means "
                "that there is no match of that kind."),
        picture=name,
    )  # fmt: skip


PARTS = (
    figure_4,
    figure_5,
    figure_7,
    figure_10,
    *kg04_search.PARTS,
    *kg04_parametric.PARTS,
)
