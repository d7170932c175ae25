"""Krüger et al. 2010, section 3: feature sets and nearest frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from motionloom.evaluation.rank_correlation import warped_distances
from motionloom.evaluation.retrieval import ranked_precision
from motionloom.features import feature_set
from motionloom.features.body_frame import body_positions
from motionloom.features.feature_table import LibraryFeatures
from motionloom.library import Library
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.search.index.neighbors import KDTree, open_index
from reproduction.claims import Claim, Data, not_tested

SETS = ("pca8", "pca16", "pca25", "e15", "e30", "e39", "e15x3", "e15x5", "e30x3")  # as in table 1
SINGLE, WINDOWS = SETS[:6], SETS[6:]
NEEDS_CMU = "needs the CMU database"
# The paper normalizes "root positions and orientations, as is the standard technique", and cites
# Kovar and Gleicher (2004), who remove the heading and the position on the floor. The other reading
# removes the whole transform of the root.
NORMALIZE, OTHER = "heading", "full"

# Milliseconds for the 16 and 256 nearest neighbors among the 1,038,388 frames of CMU, in the order
# of SETS, and for 256 among the 380,813 frames of HDM05.
PAPER_16 = (0.25, 2.15, 5.37, 1.65, 6.37, 8.71, 20.62, 37.08, 55.59)
PAPER_256 = (1.35, 8.97, 18.10, 7.36, 24.12, 31.68, 60.23, 96.55, 136.29)
PAPER_256_SMALL = (1.03, 4.99, 8.68, 4.53, 12.50, 16.37, 23.70, 36.22, 46.71)
SMALL = 380_813

ENDS = ("left_wrist", "right_wrist", "left_ankle", "right_ankle", "head")
COLORS = ["#2f7ed8", "#e8672c", "#7db3ec", "#f2a57e", "#3d4653"]
CHAINS = (
    ("hips", "chest", "head"),
    *(("chest", f"{s}_shoulder", f"{s}_elbow", f"{s}_wrist") for s in ("left", "right")),
    *(("hips", f"{s}_hip", f"{s}_knee", f"{s}_ankle") for s in ("left", "right")),
)
# Take and frame of nine poses: walk, jog, knee raise, kick, punch, swim, climb, cartwheel, golf.
POSES = (
    ("35_01", 40), ("14_06", 195), ("13_29", 802), ("144_06", 232), ("14_02", 58),
    ("125_01", 450), ("01_01", 300), ("49_06", 60), ("64_01", 60),
)  # fmt: skip


def processor_ms(act: Callable[[], object], *, rounds: int = 3) -> float:
    """Shortest processor time of several rounds, in milliseconds."""
    least = np.inf
    for _ in range(rounds):
        start = time.process_time()
        act()
        least = min(least, time.process_time() - start)
    return 1e3 * least


def random_frames(features: LibraryFeatures, count: int, seed: int) -> NDArray[np.int64]:
    """Indices of random feature vectors without missing values."""
    drawn = np.random.default_rng(seed).integers(0, len(features), 2 * count)
    return drawn[np.isfinite(features.rows[drawn]).all(axis=1)][:count]


# --- figure 1 ---------------------------------------------------------------------------------


def figure_1(data: Data) -> Iterator[Claim]:
    """Find the 256 nearest neighbors of nine poses, and measure the time for each."""
    statement = "The 256 nearest neighbors of a pose are found in a few milliseconds."
    if data.cmu is None:
        yield not_tested("Figure 1", statement, NEEDS_CMU)
        return
    features = data.cmu.features("e15", normalize=NORMALIZE)
    index = open_index(data.cmu.store, features, "bucket")
    near, times = [], []
    for name, frame in POSES:
        query = features.rows[features.motion_rows(name)][frame : frame + 1]
        near.append(index.nearest(query, features.rows, k=256)[1:])
        times.append(
            processor_ms(lambda q=query: index.nearest(q, features.rows, k=256))  # type: ignore
        )
    _draw_neighbors(data.cmu, features, near, data)
    yield Claim(
        place="Figure 1",
        statement=statement,
        paper="a few milliseconds, 750 min of motion",
        ours={"largest_ms": round(max(times), 2), "mean_ms": round(float(np.mean(times)), 2)},
        rule="largest_ms <= 10",
        data=f"CMU, {len(features):,} frames; 9 poses, `e15`",
        note=(
            'We read "a few" as ten. The number above each pose is the distance of its 256th '
            "neighbor."
        ),
        picture="papers-kt10-neighbors.png",
    )


def _draw_neighbors(library: Library, features: LibraryFeatures, near: list, data: Data) -> None:
    import matplotlib.pyplot as plt

    from motionloom.plots.figures.drawing import Camera

    camera = Camera(view="three-quarter")

    def seen(name: str, roles: Sequence[str], frames: slice | list[int]) -> NDArray:
        places = body_positions(library[name], roles, normalize=NORMALIZE)
        return camera.project(places[frames])

    figure, panels = plt.subplots(1, len(POSES), figsize=(14, 2.6), sharey=True)
    ends = cache(lambda name: seen(name, ENDS, slice(None)))
    for axes, (name, frame), (rows, gaps) in zip(panels, POSES, near, strict=True):
        for row, gap in zip(rows[::-1], gaps[::-1], strict=True):  # draw the nearest ones last
            motion, at = features.locate(int(row))
            dots = ends(motion)[min(int(at), len(ends(motion)) - 1)]
            faded = 0.05 + 0.4 * (1.0 - gap / gaps[-1])
            axes.scatter(dots[:, 0], dots[:, 1], s=7, c=COLORS, alpha=faded, lw=0)
        for chain in CHAINS:
            line = seen(name, chain, [frame])[0]
            axes.plot(line[:, 0], line[:, 1], color="#3d4653", lw=1.6, solid_capstyle="round")
        axes.set(xlim=(-1.0, 1.0), ylim=(-0.1, 1.9), aspect="equal")
        far = 100 * features.feature_set.scale * gaps[-1]
        axes.set_title(f"{far:.0f} cm", fontsize=9, color="#66707d")
        axes.set_axis_off()
    figure.subplots_adjust(0, 0, 1, 0.93, wspace=0)
    figure.savefig(data.figure("papers-kt10-neighbors.png"), dpi=85)
    plt.close(figure)


# --- section 3.2 ------------------------------------------------------------------------------


def section_3_2(data: Data) -> Iterator[Claim]:
    """Compare the two readings of the normalization of the root, which have no parameters to fit.

    Clips: each clip is compared by DTW with the clips of other performers (CMU) or other styles
    (Bandai); the figure is the average precision of ranking clips of the same class first.
    Exercises: labels cover a tenth of a second, and the 16 nearest frames of each frame are
    searched in the takes of the other performer.
    """
    statement = (
        'Root positions and orientations are normalized by "the standard technique", that of '
        "Kovar and Gleicher (2004), which removes only heading and floor position."
    )
    if data.cmu is None or data.clips is None or data.bandai is None:
        yield not_tested("Section 3.2", statement, NEEDS_CMU)
        return
    figures, rows = {}, []
    for key, what, of in (
        ("clips", "CMU clips, 5 actions, other performers",
         _clip_precision(data.clips, _cmu_group)),
        ("bandai", "Bandai clips, 10 contents, other styles",
         _clip_precision(data.bandai, _bandai_group)),
        ("exercises", "CMU exercises, 12 kinds, other performer", _exercise_precision(data)),
    ):  # fmt: skip
        rows.append([what, round(of[NORMALIZE], 3), round(of[OTHER], 3)])
        figures |= {f"{each}_{key}": round(of[each], 3) for each in (NORMALIZE, OTHER)}
    tables = [data.cmu.features("e15", normalize=each) for each in (NORMALIZE, OTHER)]
    frames = random_frames(tables[0], 200, seed=2)
    shared = _overlap(
        *(
            open_index(data.cmu.store, each, "bucket").nearest(each.rows[frames], each.rows, k=256)[
                1
            ]
            for each in tables
        )
    )
    yield Claim(
        place="Section 3.2",
        statement=statement,
        ours=figures,
        rule="heading_clips >= full_clips and heading_bandai >= full_bandai "
        "and heading_exercises >= full_exercises",
        data="115 CMU clips, 280 Bandai clips, 3 labeled CMU takes",
        note=(
            "The text does not say how much of the root is removed; the rule, which is ours, "
            "decides between the two readings. Values are the mean average precision of clips and "
            "the share of correct labels of exercises, with `e15` and without fitting. The two "
            f"readings share {shared:.0%} of the 256 nearest frames of a CMU frame. In an earlier "
            "version of this page, `full` was taken for the paper's reading, and this row did not "
            "hold. All other rows use `heading`; notes report `full` where it changes a figure."
        ),
        table=(["data", NORMALIZE, OTHER], rows),
    )


def _cmu_group(name: str) -> tuple[str, str]:
    return name.split("_")[0], name.split("_")[-2]


def _bandai_group(name: str) -> tuple[str, str]:
    content, style, _ = name.rsplit("_", 2)
    return content, style


def _clip_precision(library: Library, group: Callable) -> dict[str, float]:
    """Mean average precision by `normalize`; `group` gives the class and the set to exclude."""
    names = list(library.names)
    classes, sets = (np.array(each) for each in zip(*map(group, names), strict=True))
    motions = [library[name].resample(30.0) for name in names]
    out = {}
    for normalize in (NORMALIZE, OTHER):
        measure = feature_set("e15", normalize=normalize)
        tables = [measure.prepare(motion) for motion in motions]
        lengths = np.array([len(table) for table in tables])
        costs = warped_distances(measure, np.concatenate(tables), lengths)
        costs /= lengths[:, None] + lengths
        scores = []
        for n in range(len(names)):
            others = sets != sets[n]
            right = classes[others] == classes[n]
            if right.any():
                scores.append(ranked_precision(costs[n, others], right))
        out[normalize] = float(np.mean(scores))
    return out


def _exercise_precision(data: Data) -> dict[str, float]:
    """Share of the 16 nearest frames with the same label, in takes of the other performer."""
    assert data.folder is not None and data.cmu is not None
    labels = {
        path.stem: np.array(path.read_text().split(), int)
        for path in sorted((data.folder / "exercises").glob("*.txt"))
    }
    out = {}
    for normalize in (NORMALIZE, OTHER):
        features = data.cmu.features("e15", normalize=normalize)
        rows, kinds = {}, {}
        for name, cells in labels.items():
            table = features.rows[features.motion_rows(name)]
            cell = np.minimum(np.arange(len(table)) // 3, len(cells) - 1)
            labeled = cells[cell] > 0
            rows[name], kinds[name] = np.ascontiguousarray(table[labeled]), cells[cell][labeled]
        shares = []
        for query, of_query in kinds.items():
            others = [name for name in kinds if name.split("_")[0] != query.split("_")[0]]
            table = np.concatenate([rows[name] for name in others])
            of_table = np.concatenate([kinds[name] for name in others])
            near = BucketIndex.build(table).nearest(rows[query], table, k=16)[1].reshape(-1, 16)
            possible = np.isin(of_query, of_table)
            shares.append((of_table[near] == of_query[:, None])[possible].mean(axis=1))
        out[normalize] = float(np.concatenate(shares).mean())
    return out


def _overlap(first: NDArray, second: NDArray, k: int = 256) -> float:
    pairs = zip(first.reshape(-1, k), second.reshape(-1, k), strict=True)
    return float(np.mean([len(np.intersect1d(a, b)) / k for a, b in pairs]))


# --- table 1 ----------------------------------------------------------------------------------


def table_1(data: Data) -> Iterator[Claim]:
    """Processor time for the 16 and 256 nearest neighbors of random frames, for nine feature sets.

    The index is ours; windows and single frames are also compared with a kd-tree, as in the paper.
    The smaller database is the first 380,813 frames of CMU, the size of HDM05.
    """
    if data.cmu is None:
        yield not_tested("Table 1", "Nearest neighbors are found in milliseconds.", NEEDS_CMU)
        return
    few, many, small, tree = {}, {}, {}, {}
    for name in SETS:
        data.log(f"  {name}")
        features = data.cmu.features(name, normalize=NORMALIZE)
        frames = random_frames(features, 64, seed=1)
        queries = np.ascontiguousarray(features.rows[frames])
        for rows, index, times, k in (
            (features.rows, (whole := open_index(data.cmu.store, features, "bucket")), few, 16),
            (features.rows, whole, many, 256),
            (part := features.rows[:SMALL], BucketIndex.build(part), small, 256),
        ):
            act = lambda: index.nearest(queries, rows, k=k)  # noqa: B023, E731
            times[name] = processor_ms(act, rounds=6) / len(queries)
        if name.removesuffix("x3") in ("e15", "e30"):
            rows = np.ascontiguousarray(features.rows)
            kdtree = KDTree.build(rows)
            act = lambda: kdtree.nearest(queries[:24], rows, k=256)  # noqa: B023, E731
            tree[name] = processor_ms(act, rounds=1)
            del kdtree
    everything = dict(zip(SETS, zip(PAPER_16, PAPER_256, strict=True), strict=True))
    table = (
        ["set", "16 nearest, ms", "paper", "256 nearest, ms", "paper"],
        [
            [
                name,
                f"{few[name]:.2f}",
                everything[name][0],
                f"{many[name]:.2f}",
                everything[name][1],
            ]
            for name in SETS
        ],
    )
    size = f"CMU, {len(features):,} frames; 64 random frames; our bucket index, one processor core"
    yield Claim(
        place="Table 1",
        statement="Sets of single frames (15 to 39 dimensions) can be searched in milliseconds.",
        paper={"largest_ms": max(PAPER_256[:6])},
        ours={"largest_ms": round(max(many[name] for name in SINGLE), 2)},
        rule="largest_ms <= paper_largest_ms",
        data=size,
        note="The paper used another machine and another index: compare ratios, not times.",
        table=table,
    )
    windows = [many[f"{name}x3"] / many[name] for name in ("e15", "e30")]
    yield Claim(
        place="Table 1",
        statement="Windows of three frames take about ten times as long as single frames.",
        paper={"e15": 8.2, "e30": 5.7},
        ours={name: round(tree[f"{name}x3"] / tree[name], 1) for name in ("e15", "e30")},
        rule="3 <= e15 <= 30 and 3 <= e30 <= 30",
        data=f"CMU, {len(features):,} frames; 24 random frames; SciPy's kd-tree",
        note=(
            'We read "about ten times" as three to thirty times. The statement is about kd-trees, '
            "so this row uses one. Our bucket index, which the row was measured with before, "
            f"depends less on the dimension ({windows[0]:.1f} and {windows[1]:.1f} times)."
        ),
    )
    order = sorted(("e15", "e30", "e39", "e15x3", "e15x5", "e30x3"), key=many.__getitem__)
    growth = {name: many[name] / small[name] for name in SETS}
    frames_ratio = len(features) / SMALL
    yield Claim(
        place="Table 1",
        statement=("Sets with more dimensions take longer, for positions and for principal "
            "components."),
        ours={
            "pca8": round(many["pca8"], 4), "pca16": round(many["pca16"], 4),
            "pca25": round(many["pca25"], 4), "e15": round(many["e15"], 4),
            "e30": round(many["e30"], 4), "e39": round(many["e39"], 4),
            "e15x3": round(many["e15x3"], 4), "e15x5": round(many["e15x5"], 4),
            "e30x3": round(many["e30x3"], 4),
        },
        rule="pca8 < pca16 < pca25 and e15 < e30 < e39 < e15x3 < e15x5 < e30x3",
        data=size,
        note=f"The order, fastest first, is {', '.join(order)}.",
    )  # fmt: skip
    yield Claim(
        place="Section 3.3",
        statement=(
            "From 380,813 to a million frames, the time grows less than the size of the database."
        ),
        paper={
            "least": round(min(np.divide(PAPER_256, PAPER_256_SMALL)), 2),
            "largest": round(max(np.divide(PAPER_256, PAPER_256_SMALL)), 2),
        },
        ours={
            "least": round(min(growth.values()), 2),
            "largest": round(max(growth.values()), 2),
            "frames": round(frames_ratio, 2),
        },
        rule="largest < frames",
        data=f"CMU, {SMALL:,} and {len(features):,} frames; 256 nearest; all nine sets",
        note=(
            "The paper compares two databases; here one is part of the other. In the paper, "
            "the ratio of frames is 2.73, and two sets grow more than that."
        ),
    )
