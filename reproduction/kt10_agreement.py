"""Krüger et al. 2010, figure 2 and section 3.3: agreement of feature sets and distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.dtw import warp
from motionloom.evaluation.rank_correlation import mean_correlations
from motionloom.features import FeatureSet, feature_set, frame_distance
from motionloom.features.euclidean import euclidean_matrix
from motionloom.features.feature_table import LibraryFeatures, principal_components
from motionloom.library import Library
from motionloom.search.candidates import Candidate, Limits
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.search.index.neighbors import open_index
from motionloom.search.subsequence.lazy_graph import lazy_matches
from reproduction.claims import Claim, Data, not_tested
from reproduction.kt10_poses import (
    NEEDS_CMU,
    NORMALIZE,
    OTHER,
    SETS,
    WINDOWS,
    random_frames,
)

VERY_HIGH, HIGH, RATHER_HIGH = 0.9, 0.8, 0.7  # our thresholds for the words that the paper uses
LARGE = "Section 3.3, large database"
CLOUDS = ("pc1", "pc11")
SAMPLES = 64  # random frames of the large database
MEASURES = (*SETS, *CLOUDS, "quat", "euler", "wb")
Correlations = dict[str, Callable[[str, str], float]]  # by `normalize`


def figure_2(data: Data) -> Iterator[Claim]:
    """Rank correlations on 76 clips and on all of CMU, for frames and for clips compared by DTW.

    The root is normalized by heading, as in point clouds. The note of a claim reports its outcome
    if the whole transform of the root is removed.
    """
    if data.clips is None or data.cmu is None:
        yield not_tested("Figure 2", "Distance measures agree on near neighbors.", NEEDS_CMU)
        return
    from motionloom.plots.pages.evaluation_report import write_rank_correlations

    others = [name for name in MEASURES if name not in SETS]
    small, studies = {}, {}
    for normalize in (NORMALIZE, OTHER):
        measures = [*(_fitted(name, normalize, data.cmu) for name in SETS), *others]
        study = data.clips.study(measures=measures, clips=76, seconds=60.0, seed=0)
        studies[normalize] = study
        small[normalize] = _named(study.measures, study.poses)
    study = studies[NORMALIZE]
    write_rank_correlations(study, data.figure("papers-kt10-study.png"))
    place = f"{len(study.clips)} CMU clips, {study.frames:,} frames at 30 Hz"
    segments = {key: _named(each.measures, each.segments) for key, each in studies.items()}
    yield from _agreements("Figure 2", small, place, ("pca16", "pca25"), "papers-kt10-study.png")
    yield from _small_database(small, segments, place, _foreign_components(data))
    # Features of the whole database are computed only for the planar normalization.
    small, large = (
        dict.fromkeys((NORMALIZE, OTHER), of) for of in (small[NORMALIZE], _large(data))
    )
    place = f"CMU, {data.cmu.store.frames:,} frames; 256 nearest of {SAMPLES} random frames"
    thin = _thinned(data)
    yield from _agreements(LARGE, large, place, ("e15x3", "e30x3"), why=thin)
    yield _claim(
        LARGE,
        "Windows are highly correlated with `pc11`.",
        lambda key: {f"{name}_pc11": large[key](name, "pc11") for name in WINDOWS},
        f"min(e15x3_pc11, e15x5_pc11, e30x3_pc11) >= {HIGH}",
        place,
        thin,
    )
    yield _claim(
        LARGE,
        "Single frames are rather highly correlated with `pc1`.",
        lambda key: {f"{name}_pc1": large[key](name, "pc1") for name in ("e15", "e30", "e39")},
        f"min(e15_pc1, e30_pc1, e39_pc1) >= {RATHER_HIGH}",
        place,
        thin,
    )
    yield _claim(
        LARGE,
        "Correlations with `pca16`, and correlations of single frames with windows, are "
        "lower than on 76 clips.",
        lambda key: {
            f"{a}_{b}_{what}": of[key](a, b)
            for a, b in (("e15", "pca16"), ("e15", "e15x3"), ("e30", "e30x3"))
            for what, of in (("small", small), ("large", large))
        },
        "e15_pca16_large < e15_pca16_small and e15_e15x3_large < e15_e15x3_small "
        "and e30_e30x3_large < e30_e30x3_small",
        place,
    )


def _agreements(
    where: str,
    of: Correlations,
    place: str,
    also: tuple[str, str],
    picture: str | None = None,
    why: str = "",
) -> Iterator[Claim]:
    """Statements that the paper makes about both the small and the large database."""
    very = (("e30", "e39"), ("e15x3", "e15x5"), also)
    named = ", ".join(f"`{a}` and `{b}`" for a, b in very)
    yield _claim(
        where,
        f"The following pairs are very highly correlated: {named}.",
        lambda key: {f"{a}_{b}": of[key](a, b) for a, b in very},
        " and ".join(f"{a}_{b} >= {VERY_HIGH}" for a, b in very),
        place,
        f'We read "very high" as {VERY_HIGH}, "high" as {HIGH} and "rather high" as {RATHER_HIGH}. '
        + why,
        picture,
    )
    yield _claim(
        where,
        "`e15` is highly correlated with `e30`.",
        lambda key: {"e15_e30": of[key]("e15", "e30")},
        f"e15_e30 >= {HIGH}",
        place,
        why,
    )


def _small_database(
    poses: Correlations, segments: Correlations, place: str, foreign: tuple[str, str]
) -> Iterator[Claim]:
    """Statements that the paper makes about the small database only, and about segments."""
    pairs = (("e15", "e15x3"), ("e15", "e15x5"), ("e30", "e30x3"))
    yield _claim(
        "Figure 2",
        "Windows rank single frames better than single frames rank windows.",
        lambda key: (
            {f"{b}_{a}": poses[key](b, a) for a, b in pairs}
            | {f"{a}_{b}": poses[key](a, b) for a, b in pairs}
        ),
        " and ".join(f"{b}_{a} > {a}_{b}" for a, b in pairs),
        place,
    )
    yield _claim(
        "Figure 2",
        "Single frames and their windows are rather highly correlated.",
        lambda key: {f"{a}_{b}": poses[key](a, b) for a, b in pairs},
        " and ".join(f"{a}_{b} >= {RATHER_HIGH}" for a, b in pairs),
        place,
    )
    yield _claim(
        "Figure 2",
        "`pc1` and `pc11` are rather highly correlated.",
        lambda key: {"pc1_pc11": poses[key]("pc1", "pc11"), "pc11_pc1": poses[key]("pc11", "pc1")},
        f"min(pc1_pc11, pc11_pc1) >= {RATHER_HIGH}",
        place,
    )
    yield _claim(
        "Figure 2",
        "Distances of Euler angles rank quaternions better than the reverse.",
        lambda key: {
            "euler_quat": poses[key]("euler", "quat"), "quat_euler": poses[key]("quat", "euler")
        },
        "euler_quat > quat_euler",
        place,
    )  # fmt: skip
    yield _claim(
        "Figure 2",
        "Eight components lose a lot of information: other measures agree less with `pca8` "
        "than with `pca16`.",
        lambda key: {
            name: float(np.mean([poses[key](o, name) for o in ("e15", "e30", "e39", "pc1")]))
            for name in ("pca8", "pca16")
        },
        "pca16 - pca8 >= 0.1",
        place,
        'We read "a lot" as a difference of 0.1.',
    )
    larger = ("e30", "e39", *CLOUDS)
    yield _claim(
        "Section 3.3",
        "`e15` agrees better with larger sets and with point clouds than `pca16` does.",
        lambda key: {
            f"{name}_{o}": poses[key](name, o) for o in larger for name in ("e15", "pca16")
        },
        " and ".join(f"e15_{o} > pca16_{o}" for o in larger),
        place,
        "Components are fitted on 17 joints, which include all joints of `e39`, and on all of CMU. "
        + foreign[0],
    )
    both = (("e15", "e15x3"), ("e30", "e30x3"))
    yield _claim(
        "Section 3.3",
        "Single frames and windows agree better on segments than on frames.",
        lambda key: (
            {f"{a}_poses": poses[key](a, b) for a, b in both}
            | {f"{a}_segments": segments[key](a, b) for a, b in both}
        ),
        "e15_segments > e15_poses and e30_segments > e30_poses",
        place,
    )
    others = [name for name in MEASURES if name != "wb"]
    yield _claim(
        "Section 3.3",
        "`wb` agrees better with almost all other measures on segments than on frames.",
        lambda key: {
            "higher": sum(segments[key]("wb", o) > poses[key]("wb", o) for o in others),
            "measures": len(others),
        },
        "higher >= 0.8 * measures",
        place,
        'We read "almost all" as four fifths.',
    )
    yield _claim(
        "Section 3.3",
        "Correlations of principal components are lower on segments than on frames.",
        lambda key: {
            what: float(np.mean([of[key](o, p) for o in ("e15", "e30", "pc1") for p in SETS[:3]]))
            for what, of in (("poses", poses), ("segments", segments))
        },
        "segments < poses",
        place,
        foreign[1],
    )


def _large(data: Data) -> Callable[[str, str], float]:
    """Correlations on all of CMU; the index finds the neighbors, and all measures rank them."""
    assert data.cmu is not None
    tables = {name: data.cmu.features(name, normalize=NORMALIZE) for name in SETS}
    frames = random_frames(tables["e30x3"], SAMPLES, seed=5)
    near = {
        name: open_index(data.cmu.store, table, "bucket")
        .nearest(np.ascontiguousarray(table.rows[frames]), table.rows, k=257)[1]
        .reshape(-1, 257)[:, 1:]  # the first neighbor is the frame itself or an identical one
        for name, table in tables.items()
    }
    wanted = np.unique(np.concatenate([frames, *(each.ravel() for each in near.values())]))
    clouds = {name: _prepared(data.cmu, tables["e15"], wanted, name) for name in CLOUDS}
    correlations = np.empty((len(SETS), len(SETS) + len(CLOUDS)))

    def distances(name: str, by: str) -> NDArray:
        if name in SETS:
            measure, table, at = tables[name].feature_set, tables[name].rows, lambda rows: rows
        else:
            measure, table = frame_distance(name), clouds[name]
            at = lambda rows: np.searchsorted(wanted, rows)  # noqa: E731
        return np.concatenate(
            [
                measure.matrix(table[at([q])], table[at(rows)])
                for q, rows in zip(frames, near[by], strict=True)
            ]
        )

    for number, by in enumerate(SETS):
        matrices = [distances(name, by) for name in (*SETS, *CLOUDS)]
        correlations[number] = mean_correlations(matrices, 256)[number]
    return _named((*SETS, *CLOUDS), correlations)


def _foreign_components(data: Data) -> tuple[str, str]:
    """Repeat two comparisons with components of the built-in corpus, as sentences."""
    assert data.clips is not None
    own = feature_set("pca16", normalize=NORMALIZE)
    foreign = feature_set(own, basis=principal_components(data.corpus.store, own))
    names = ("e15", "e30", "e39", *CLOUDS)
    others = [*(feature_set(name, normalize=NORMALIZE) for name in names[:3]), *CLOUDS]
    study = data.clips.study(
        measures=[foreign, *others], clips=76, seconds=60.0, queries=256, seed=0
    )
    poses, segments = (_named(study.measures, each) for each in (study.poses, study.segments))
    listed = ", ".join(f"{o} {poses('pca16', o):.3f}" for o in names[1:])
    means = [
        float(np.mean([of(o, "pca16") for o in ("e15", "e30", "pc1")])) for of in (poses, segments)
    ]
    return (
        "The data that they are fitted on do not matter: with components of the built-in corpus, "
        f"the correlations of `pca16` are {listed}.",
        "With components of the built-in corpus, the correlation with `pca16` is "
        f"{means[0]:.3f} on frames and {means[1]:.3f} on segments.",
    )


def _thinned(data: Data, step: int = 64) -> str:
    """Repeat some correlations with every `step`-th frame of the database, as a sentence."""
    assert data.cmu is not None
    names = ("e15", "e30", "e15x3", "e30x3")
    tables = {name: data.cmu.features(name, normalize=NORMALIZE) for name in names}
    frames = random_frames(tables["e30x3"], SAMPLES, seed=5)
    sparse = {name: np.ascontiguousarray(table.rows[::step]) for name, table in tables.items()}
    values = {}
    for by, other in (("e15", "e30"), ("e15x3", "e30x3")):
        near = BucketIndex.build(sparse[by]).nearest(tables[by].rows[frames], sparse[by], k=257)[1]
        rows = near.reshape(-1, 257)[:, 1:]
        matrices = [
            np.stack(
                [np.linalg.norm(sparse[n][r] - tables[n].rows[q], axis=1) for q, r in zip(
                    frames, rows, strict=True)]
            )
            for n in (by, other)
        ]  # fmt: skip
        values[f"{by}_{other}"] = mean_correlations(matrices, 256)[0, 1]
    listed = ", ".join(f"{name} {value:.3f}" for name, value in values.items())
    return (
        "Correlations grow with the number of similar frames in the database: with only every "
        f"{step}th frame of CMU, the values are {listed}. The database of the paper repeats every "
        "motion several times, which few takes of CMU do."
    )


# --- segments of the large database -----------------------------------------------------------

SEGMENT_SETS = (*SETS[:6], "e15x3", "e30x3")


def section_3_3_segments(data: Data) -> Iterator[Claim]:
    """Rank correlations of segments that the lazy graph finds in all of CMU.

    For each random query of 1 s and each set, the graph of the paper finds the eight nearest
    segments. Their DTW distances by this set and by every other set are correlated, as on the 76
    clips.
    """
    statement = (
        "On segments of a large database, correlations with principal components are higher than "
        "on the small one."
    )
    if data.clips is None or data.cmu is None:
        yield not_tested("Section 3.3", statement, NEEDS_CMU)
        return
    measures = [_fitted(name, NORMALIZE, data.cmu) for name in SEGMENT_SETS]
    study = data.clips.study(measures=measures, clips=76, seconds=60.0, queries=8, seed=0)
    small = _named(study.measures, study.segments)
    large = _named(SEGMENT_SETS, _segment_correlations(data.cmu))
    place = f"76 CMU clips, and CMU, {data.cmu.store.frames:,} frames; 24 random queries of 1 s"
    others = [name for name in SEGMENT_SETS if not name.startswith("pca")]
    means = {
        f"{kind}_{what}": round(float(np.mean([of(o, p) for o in others for p in to])), 3)
        for kind, to in (("pca", SETS[:3]), ("e", ("e15", "e30", "e39")))
        for what, of in (("small", small), ("large", large))
    }
    yield Claim(
        place="Section 3.3",
        statement=statement,
        ours=means,
        rule="pca_large > pca_small",
        data=place,
        note=(
            "Values are means over the sets of positions that select the segments; `e` is the "
            "mean correlation with `e15`, `e30` and `e39` for comparison, which also decreases. "
            "Both databases use components fitted on all of CMU, so the explanation that the paper "
            "suggests, components fitted on the large database, does not apply here. The eight "
            "nearest of 76 clips differ far more than the eight nearest segments of CMU."
        ),
    )
    yield Claim(
        place="Section 3.3",
        statement=(
            "On segments of a large database, correlations are otherwise similar: single frames "
            "still agree with their windows and with larger sets."
        ),
        ours={
            f"{a}_{b}": round(large(a, b), 3)
            for a, b in (("e15", "e30"), ("e30", "e39"), ("e15", "e15x3"), ("e30", "e30x3"))
        },
        rule=f"min(e15_e30, e30_e39, e15_e15x3, e30_e30x3) >= {RATHER_HIGH}",
        data=place,
        note=f'We read "agree" as rather highly correlated, {RATHER_HIGH}.',
    )


def _segment_correlations(library: Library, count: int = 24, length: int = 30) -> NDArray:
    """Mean rank correlations of eight segments each; the set of the row selects the segments."""
    tables = {name: library.features(name, normalize=NORMALIZE) for name in SEGMENT_SETS}
    queries = _query_rows(tables["e30x3"], count, length)
    out = np.zeros((len(SEGMENT_SETS), len(SEGMENT_SETS)))
    for number, by in enumerate(SEGMENT_SETS):
        table = tables[by]
        index, starts = open_index(library.store, table, "bucket"), np.asarray(table.starts)
        totals, used = np.zeros(len(SEGMENT_SETS)), 0
        for first in queries:
            near = index.nearest(table.rows[first : first + length], table.rows, k=1024)
            matches = lazy_matches(
                *near, starts, steps="classic", per_cell=False, limits=Limits(max_matches=12)
            )
            apart = [m for m in matches if m.end <= first or m.start >= first + length][:8]
            if len(apart) < 8:
                continue
            distances = np.array(
                [
                    [_warped(tables[name].rows, first, length, m) for m in apart]
                    for name in SEGMENT_SETS
                ]
            )
            ranks = distances.argsort(axis=1).argsort(axis=1)
            totals += np.corrcoef(ranks)[number]
            used += 1
        out[number] = totals / used
    return out


def _warped(rows: NDArray, first: int, length: int, match: Candidate) -> float:
    """Cost of the best warping path between a query and a match, both given by rows."""
    return warp(euclidean_matrix(rows[first : first + length], rows[match.start : match.end])).cost


def _query_rows(features: LibraryFeatures, count: int, length: int) -> list[int]:
    """First rows of random segments that lie within a motion and have no missing values."""
    rng, rows = np.random.default_rng(9), []
    ends = np.asarray(features.starts[1:])
    while len(rows) < count:
        first = int(rng.integers(len(features) - length))
        inside = ends[np.searchsorted(ends, first, side="right")] >= first + length
        if inside and np.isfinite(features.rows[first : first + length]).all():
            rows.append(first)
    return rows


def _fitted(name: str, normalize: str, library: Library) -> FeatureSet:
    """A feature set; principal components are those of the library."""
    chosen = feature_set(name, normalize=normalize)
    if chosen.components is None:
        return chosen
    return feature_set(chosen, basis=principal_components(library.store, chosen))


def _named(names: Sequence[str], matrix: NDArray) -> Callable[[str, str], float]:
    """Correlations by the names of two measures; the first one selects the neighbors."""
    at = {name: number for number, name in enumerate(names)}
    return lambda a, b: float(matrix[at[a], at[b]])


def _claim(
    place: str,
    statement: str,
    figures: Callable[[str], dict[str, float]],
    rule: str,
    data: str,
    note: str = "",
    picture: str | None = None,
) -> Claim:
    """A claim about the planar normalization, with a note about the other reading."""
    planar, full = (
        Claim(
            place=place,
            statement=statement,
            ours={name: round(value, 3) for name, value in figures(key).items()},
            rule=rule,
            data=data,
            picture=picture,
        )
        for key in (NORMALIZE, OTHER)
    )
    listed = ", ".join(f"{name} {value:g}" for name, value in full.ours.items())
    other = f"With `{OTHER}`, the statement {full.outcome} ({listed})."
    if planar.ours == full.ours:
        other = ""
    return replace(planar, note=" ".join(filter(None, [note, other])))


def _prepared(
    library: Library, features: LibraryFeatures, rows: NDArray[np.int64], name: str
) -> NDArray:
    """Prepare frames of a library for a measure; frames are given by their sorted row numbers."""
    measure = frame_distance(name)
    motion_of = np.searchsorted(features.starts, rows, side="right") - 1
    parts = []
    for number in np.unique(motion_of):
        motion = library[features.names[number]].resample(features.rate)
        inside = rows[motion_of == number] - features.starts[number]
        prepared = measure.prepare(motion)
        parts.append(prepared[np.minimum(inside, len(prepared) - 1)])
    return np.concatenate(parts)
