"""Retrieval quality of clip measures, with every labeled clip used once as the query.

A clip is *relevant* to a query if it has the same label. The query is excluded from its results. If
a label has only one clip, this clip is part of every result list but is not used as a query.

The interpolated precision at a recall level is the best precision at that recall or higher. It is
computed at eleven levels and averaged over the queries. Ties are ranked in the order of the clips.

Distances are corrected for hubs (`motionloom.search.clips.hubs`) as in a search, here with all
clips as reference clips. The score without the correction is also reported.

Distance matrices are computed in parallel: each worker opens the clip features and computes some
rows. The results are bit-identical, no matter where the work runs.
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom import parallel
from motionloom.errors import InvalidInput, LibraryError, MissingExtra, MotionloomError
from motionloom.evaluation.retrieval import ranked_precision
from motionloom.evaluation.settings import EvaluateSettings
from motionloom.parallel import Progress, one_thread
from motionloom.search.clips.hubs import corrected
from motionloom.search.clips.measures import ClipMeasure, mirrored
from motionloom.search.clips.retrieval import ClipTable, clip_table, gaps_in
from motionloom.search.methods.own import OwnDistance
from motionloom.store.ingest.labels import labeling
from motionloom.store.ingest.sources import SourceFile
from motionloom.store.store import Store

_TASKS_PER_WORKER = 8
_WORTH_A_POOL = 3.0  # seconds; shorter jobs take less time than starting processes

Portion = tuple[int, int]
_Compared = tuple[Any, tuple[str, ...], dict[str, tuple[str, ...]]]  # measure, joints, missing


def clip_matrix(
    library: Store,
    table: ClipTable,
    chosen: NDArray[np.int64],
    *,
    workers: int | None = None,
) -> tuple[NDArray[np.float64], float]:
    """Compute distances between the `chosen` clips in a table, and measure the processor time.

    Parameters
    ----------
    library : Store
    table : ClipTable
        All clips of the library.
    chosen : ndarray of int64, shape (C,)
        Indices of the clips to compare, in the order of the result.
    workers : int, optional
        Number of processes. Default: one per core, or only this process for small tasks.

    Returns
    -------
    distances : ndarray, shape (C, C)
        Distance from each clip (row) to each clip (column).
    seconds : float
        Processor time for computing all distances on one thread.
    """
    measure, count = table.measure, len(chosen)
    work = _ClipRows(library, table.measure, chosen, table.some(chosen))
    if workers is None and not parallel.is_on_cluster():
        workers = 1 if work.estimated_seconds() < _WORTH_A_POOL else None
    shares = _TASKS_PER_WORKER * (1 if workers == 1 else parallel.available_workers())
    portions = _portions(count, shares, symmetric=measure.symmetric)
    out = np.full((count, count), np.nan)
    seconds = 0.0
    with parallel.executor(library.files.workers(workers), tasks=len(portions)) as pool:
        # This process already has the clips open, whereas other processes must open them again.
        here = isinstance(pool, parallel.SerialExecutor)
        task = work if here else replace(work, table=None)
        for done in parallel.completed(task, portions, pool):
            if done.error is not None or done.result is None:
                raise done.error or LibraryError(f"{library.path}: the clips could not be compared")
            rows, taken = done.result
            out[done.item[0] : done.item[1]] = rows
            seconds += taken
    return (mirrored(out) if measure.symmetric else out), seconds


@dataclass(eq=False)
class _ClipRows:
    """Task that computes rows of the distance matrix and opens the clips only once."""

    library: Store
    measure: ClipMeasure
    chosen: NDArray[np.int64]
    table: ClipTable | None = None
    warm: bool = field(default=False, init=False)

    def __call__(self, portion: Portion) -> tuple[NDArray[np.float64], float]:
        with one_thread():
            table = self._opened()
            begun = time.process_time()
            rows = table.measure.matrix_rows(table.clips, *portion)
            return rows, time.process_time() - begun

    def estimated_seconds(self) -> float:
        """Estimate the processor time of the whole matrix from its last and longest row."""
        count = len(self.chosen)
        _, seconds = self((count - 1, count))
        symmetric = self._opened().measure.symmetric
        return seconds * count / (2 if symmetric else 1)

    def _opened(self) -> ClipTable:
        if self.table is None:
            self.table = clip_table(self.library, self.measure).some(self.chosen)
        if not self.warm:
            few = self.table.some(np.arange(min(2, len(self.chosen)))).clips
            self.table.measure.matrix_rows(few, 0, len(few))  # compiles
            self.warm = True
        return self.table


def _portions(count: int, shares: int, *, symmetric: bool) -> list[Portion]:
    """Divide the rows into about `shares` portions with equal numbers of pairs.

    Examples
    --------
    >>> _portions(8, 2, symmetric=False)
    [(0, 4), (4, 8)]
    >>> _portions(8, 2, symmetric=True)
    [(0, 6), (6, 8)]
    """
    share = np.linspace(0.0, 1.0, min(shares, count) + 1)
    ends = np.unique(np.rint(count * (np.sqrt(share) if symmetric else share)).astype(int))
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


RECALLS = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True, eq=False)
class MethodScore:
    """Scores of one measure.

    Attributes
    ----------
    measure : ClipMeasure
    mean_average_precision, nearest_neighbour : float
        Scores over all queries. `nearest_neighbour` is the fraction of queries whose nearest clip
        has the same label.
    uncorrected : float
        Mean average precision without the correction for hubs.
    precision_at_recall : ndarray, shape (11,)
    by_label : dict of str to (float, ndarray)
        Mean average precision and precision at recall over the queries with each label.
    seconds : float
        Processor time for all distances on one thread. `prepare_seconds` is the time for computing
        clip features, which is near zero if they were saved before.
    pairs : int
        Number of computed distances.
    distances : ndarray, shape (C, C)
        Distance from each clip (row) to each clip (column), corrected for hubs if the method does.
    joints : tuple of str
        Joints that are compared.
    joints_missing : dict of str to tuple of str
        Joints that are not compared, each with the clips that lack it.
    """

    measure: ClipMeasure | OwnMeasure
    mean_average_precision: float
    nearest_neighbour: float
    uncorrected: float
    precision_at_recall: NDArray[np.float64]
    by_label: dict[str, tuple[float, NDArray[np.float64]]]
    seconds: float
    prepare_seconds: float
    pairs: int
    distances: NDArray[np.float64]
    joints: tuple[str, ...]
    joints_missing: dict[str, tuple[str, ...]]

    @property
    def seconds_per_pair(self) -> float:
        """Processor time per distance, in seconds."""
        return self.seconds / max(1, self.pairs)

    def to_json(self) -> dict[str, Any]:
        """Return the score as plain data, without the distances."""
        return {
            "map": self.mean_average_precision,
            "nearest_neighbour": self.nearest_neighbour,
            "map_uncorrected": self.uncorrected,
            "precision_at_recall": self.precision_at_recall,
            "seconds": self.seconds,
            "seconds_per_pair": self.seconds_per_pair,
            "prepare_seconds": self.prepare_seconds,
            "measure": self.measure.name,
            "unit": self.measure.unit,
            "labels": {
                label: {"map": value, "precision_at_recall": points}
                for label, (value, points) in self.by_label.items()
            },
            "joints": self.joints,
            "joints_missing": self.joints_missing,
        }


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of several measures.

    Attributes
    ----------
    clips, labels : tuple of str, length C
        Names and labels of the clips, ordered by label and then by name.
    methods : dict of str to MethodScore
        Scores by method name.
    left_out : dict of str to str
        Labeled clips that could not be compared, with the reason.
    unlabeled : int
        Number of library motions without a label.
    unmatched : tuple of str
        Rows of the CSV file that do not match any motion in the library.
    """

    clips: tuple[str, ...]
    labels: tuple[str, ...]
    methods: dict[str, MethodScore]
    left_out: dict[str, str]
    unlabeled: int
    unmatched: tuple[str, ...]

    @property
    def best(self) -> str:
        """Name of the method with the highest mean average precision."""
        return max(self.methods, key=lambda name: self.methods[name].mean_average_precision)

    @property
    def label_counts(self) -> dict[str, int]:
        """Number of clips with each label."""
        return {label: self.labels.count(label) for label in dict.fromkeys(self.labels)}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per method, as plain values."""
        return [
            {
                "method": name,
                "map": score.mean_average_precision,
                "map_uncorrected": score.uncorrected,
                "nearest_neighbor": score.nearest_neighbour,
                "seconds_per_pair": score.seconds_per_pair,
                **{f"map_{label}": value for label, (value, _) in score.by_label.items()},
            }
            for name, score in self.methods.items()
        ]

    def to_frame(self) -> Any:
        """Return the scores as a pandas DataFrame, with one row per method."""
        try:
            import pandas  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise MissingExtra("a DataFrame needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.rows()).set_index("method")

    def to_latex(self) -> str:
        """Return the scores as a LaTeX table in the style of ``booktabs``; the best are bold."""
        columns = ("map", "nearest_neighbor")
        rows = self.rows()
        best = {key: max((row[key] for row in rows), default=0.0) for key in columns}
        lines = [
            r"\begin{tabular}{lrrr}",
            r"\toprule",
            r"Method & MAP & Nearest neighbor & Time per pair (\textmu s) \\",
            r"\midrule",
        ]
        for row in rows:
            cells = [
                rf"\textbf{{{row[key]:.3f}}}" if row[key] == best[key] else f"{row[key]:.3f}"
                for key in columns
            ]
            name = "".join(f"\\{c}" if c in "_%&#$" else c for c in row["method"])
            cells = [name, *cells, f"{1e6 * row['seconds_per_pair']:.3g}"]
            lines.append(" & ".join(cells) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])

    def to_json(self) -> dict[str, Any]:
        """Return all scores as plain data, without the distances."""
        return {
            "methods": {name: score.to_json() for name, score in self.methods.items()},
            "best": self.best,
            "clips": len(self.clips),
            "labels": self.label_counts,
            "left_out": self.left_out,
            "unlabeled": self.unlabeled,
            "unmatched": self.unmatched,
        }


def evaluate_clips(
    library: Store,
    settings: EvaluateSettings,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Score clip measures on the labeled motions of a library; see `Library.evaluate`.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> for action in ("walk", "kick_front_high_right"):
    ...     for performer in (0, 1):
    ...         motion = ml.demo.clip(action, performer=performer)
    ...         lib.add_motion(motion, labels=[action.split("_")[0]])
    >>> found = evaluate_clips(lib.store, EvaluateSettings(methods=("dtw-clip",)))
    >>> found.methods["dtw-clip"].mean_average_precision
    1.0
    """
    methods = settings.clip_methods()
    own = {name: each for name, each in methods.items() if isinstance(each, OwnDistance)}
    measures = {name: each.measure() for name, each in methods.items() if name not in own}
    by_name, unmatched = motion_labels(library, settings.labels, settings.label_column)
    tables, prepared = {}, {}
    for name, measure in measures.items():
        begun = time.process_time()
        tables[name] = clip_table(library, measure)
        prepared[name] = time.process_time() - begun
    left_out = _left_out(by_name, tables)
    clips = sorted((label, name) for name, label in by_name.items() if name not in left_out)
    truth = np.array([label for label, _ in clips])
    if len(set(truth.tolist())) == len(truth):
        raise InvalidInput(
            f"an evaluation requires at least two clips with the same label, but the {len(clips)} "
            f"labeled clips of {library.path} have {len(set(truth.tolist()))} different labels. "
            f"Label more clips (motionloom label), or set labels to a CSV file with the columns "
            f"clip and label"
        )
    names = [clip for _, clip in clips]
    performers = _performers(names, settings.performer)
    scores = {}
    for name, method in methods.items():
        if name in own:
            distances, seconds, prepared[name] = own_matrix(library, own[name], names)
            about = OwnMeasure(name, method.unit(), "a function of two motions")
            compared: _Compared = (about, (), {})
        else:
            table = tables[name]
            numbers = {clip: c for c, clip in enumerate(table.names)}
            chosen = np.array([numbers[clip] for clip in names])
            distances, seconds = clip_matrix(library, table, chosen, workers=workers)
            compared = (table.measure, table.clips.joints, table.joints_missing)
        scores[name] = _score(
            compared, truth, performers, distances, seconds, prepared[name],
            correct=method.hub_correction,
        )  # fmt: skip
        if progress is not None:
            progress(1)
    return Evaluation(
        tuple(clip for _, clip in clips),
        tuple(truth.tolist()),
        scores,
        left_out,
        len(library) - len(by_name),
        unmatched,
    )


def precision_at_recalls(distances: ArrayLike, relevant: ArrayLike) -> NDArray[np.float64]:
    """Return the interpolated precision (11,) at eleven recall levels for ranked items.

    Examples
    --------
    >>> precision_at_recalls([0.1, 0.3, 0.2], [True, True, False])[[0, 5, 6, 10]].round(2)
    array([1.  , 1.  , 0.67, 0.67])
    """
    order = np.argsort(np.asarray(distances), kind="stable")
    right = np.asarray(relevant, dtype=bool)[order]
    if not right.any():
        raise InvalidInput("relevant must contain at least one True")
    hits = np.cumsum(right)
    precision = hits / np.arange(1, len(hits) + 1)
    recall = hits / hits[-1]
    best_from = np.maximum.accumulate(precision[::-1])[::-1]
    return best_from[np.searchsorted(recall, RECALLS - 1e-12)]


@dataclass(frozen=True)
class OwnMeasure:
    """Name, unit and description of a user's method."""

    name: str
    unit: str
    about: str


def own_matrix(
    library: Store, method: OwnDistance, names: Sequence[str]
) -> tuple[NDArray[np.float64], float, float]:
    """Return the distances (C, C) of a user's method, and its processor times.

    The times are those of all distances, and of preparing the motions. The distance of a motion to
    itself is not used, and is 0.
    """
    begun = time.process_time()
    motions = [_called(method, (name,), method.prepared, library[name]) for name in names]
    ready = time.process_time()
    out = np.zeros((len(names), len(names)))
    for i, a in enumerate(motions):
        for j, b in enumerate(motions[:i] if method.symmetric else motions):
            if i != j:
                out[i, j] = _called(method, (names[i], names[j]), method.between, a, b)
                if method.symmetric:
                    out[j, i] = out[i, j]
    return out, time.process_time() - ready, ready - begun


def _called(method: OwnDistance, names: Sequence[str], call: Callable[..., Any], *args: Any) -> Any:
    """Call a user's method; an error names the motions and the line that raised it."""
    try:
        return call(*args)
    except MotionloomError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        # A wrong number of arguments is raised by the call, not in the method.
        place = "" if last.name == call.__name__ else f" in {last.filename}:{last.lineno}"
        raise InvalidInput(
            f"the method {method.title!r} failed for {' and '.join(names)}{place}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _performers(names: Sequence[str], pattern: str | None) -> NDArray[np.str_] | None:
    """Return the performer of each clip, or None if performers are not distinguished."""
    if pattern is None:
        return None
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise InvalidInput(
            f"performer must be a regular expression; got {pattern!r}: {error}"
        ) from None
    groups = [compiled.search(name) for name in names]
    missing = [name for name, match in zip(names, groups, strict=True) if match is None]
    if missing:
        raise InvalidInput(
            f"performer must match the name of every clip; {pattern!r} does not match {missing[0]}"
        )
    return np.array([(match.groups() or (match.group(),))[0] or "" for match in groups if match])


def _score(
    compared: _Compared,
    truth: NDArray,
    performers: NDArray[np.str_] | None,
    distances: NDArray[np.float64],
    seconds: float,
    prepare_seconds: float,
    *,
    correct: bool,
) -> MethodScore:
    count = len(truth)
    symmetric = bool(np.array_equal(distances, distances.T))
    plain, distances = distances, corrected(distances) if correct else distances
    precisions, points, right, queried, uncorrected = [], [], [], [], []
    for q in range(count):
        kept = np.arange(count) != q
        if performers is not None:
            kept &= performers != performers[q]
        others = np.flatnonzero(kept)
        relevant = truth[others] == truth[q]
        if relevant.any():
            queried.append(truth[q])
            gaps = distances[q, others]
            precisions.append(ranked_precision(gaps, relevant))
            uncorrected.append(ranked_precision(plain[q, others], relevant))
            points.append(precision_at_recalls(gaps, relevant))
            right.append(bool(relevant[np.argmin(gaps)]))
    if not queried:
        raise InvalidInput("no clip has a clip with the same label by another performer")
    by_label = {}
    for label in dict.fromkeys(queried):
        own = [k for k, other in enumerate(queried) if other == label]
        by_label[str(label)] = (
            float(np.mean([precisions[k] for k in own])),
            np.mean([points[k] for k in own], axis=0),
        )
    return MethodScore(
        compared[0],
        float(np.mean(precisions)),
        float(np.mean(right)),
        float(np.mean(uncorrected)),
        np.mean(points, axis=0),
        by_label,
        seconds,
        prepare_seconds,
        count * (count - 1) // (2 if symmetric else 1),
        distances,
        *compared[1:],
    )


def motion_labels(
    library: Store, labels: str | Path | Mapping[str, str] | None, column: str | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the label of each motion, and the CSV rows that do not match any motion."""
    if labels is None:
        by_motion = {name: library.labels(name) for name in library.names}
        return {name: ", ".join(some) for name, some in by_motion.items() if some}, ()
    if not isinstance(labels, Mapping) and not Path(labels).is_file():
        raise InvalidInput(f"labels must be a CSV file, but there is no file {str(labels)!r}")
    # A row may contain the name of the motion or the name of its source file.
    names = {f"/{name}": name for name in library.names}
    files = {entry.source: entry.name for entry in library.entries() if entry.source}
    sources = [SourceFile(path, path, ()) for path in (*names, *files)]
    matched = labeling(labels, sources, columns=column)
    by_name: dict[str, str] = {}
    for path, some in matched.by_path.items():
        by_name.setdefault((names | files)[path], ", ".join(some))
    return by_name, matched.unmatched


def _left_out(by_name: dict[str, str], tables: dict[str, ClipTable]) -> dict[str, str]:
    """Return the clips that at least one method cannot compare, which all methods exclude."""
    out: dict[str, str] = {}
    for method, table in tables.items():
        for name, reason in table.left_out.items():
            if name in by_name:
                out.setdefault(name, f"{method}: {reason}")
        for name in gaps_in(table):
            if name in by_name:
                out.setdefault(name, f"{method}: it has missing values")
    return out
