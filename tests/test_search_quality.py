"""How good the searches are, on motions whose truth is known; run with -s to see the tables."""

from collections import defaultdict

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.search.evaluation import (
    least_distances,
    ranked_precision,
    read_tasks,
    score,
)


def test_a_perfect_list_scores_one():
    truth = [(0.0, 1.0), (2.0, 3.0)]
    found = score([(2.0, 3.1), (0.1, 1.0)], truth)
    assert (found.average_precision, found.recall, found.on_time) == (1.0, 1.0, 1.0)
    assert found.precision_at_full_recall == 1.0


def test_misses_false_alarms_and_late_ends_cost():
    truth = [(0.0, 1.0), (2.0, 3.0)]
    found = score([(5.0, 6.0), (0.0, 1.2)], truth)
    assert found.average_precision == pytest.approx(0.25)
    assert (found.recall, found.on_time, found.precision_at_full_recall) == (0.5, 0.0, 0.0)


def test_optional_and_repeated_hits_count_neither_way():
    found = score([(8.0, 9.0), (0.0, 1.0), (0.0, 1.1)], [(0.0, 1.0)], optional=[(8.0, 9.0)])
    assert found.average_precision == 1.0


def test_cells_of_time_take_the_least_distance():
    cells = least_distances(6, 0.5, [(0.0, 1.0, 0.3), (0.5, 2.0, 0.2)])
    assert cells.tolist() == [0.3, 0.2, 0.2, 0.2, np.inf, np.inf]


def test_says_what_is_wrong():
    with pytest.raises(InvalidInput, match="at least one true occurrence"):
        score([], [])
    with pytest.raises(InvalidInput, match="at least one True"):
        ranked_precision([1.0], [False])


# --- the built-in corpus ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def strikes(tmp_path_factory):
    """Two performers' takes of kicks and punches, and the truth about them."""
    lib = ml.Library.create(tmp_path_factory.mktemp("strikes") / "takes.loom")
    truths = {}
    for performer in (0, 1):
        performed = ml.demo.performance("take_strikes", performer=performer)
        lib.add_motion(performed.motion)
        truths[performed.name] = performed.truth.actions
    return lib, truths


def test_kicks_and_punches_are_found_within_their_take(strikes):
    """A kick with the same leg is a hit; one with the other leg counts neither way."""
    lib, truths = strikes
    table = defaultdict(list)
    for name, actions in truths.items():
        fps = lib.entry(name).fps
        for side, key in (("leg", "kick"), ("hand", "punch")):
            acts = [a for a in actions if a.action == key]
            for act in acts[:3]:
                which = act.parameters.get(side) or act.parameters.get("arm")
                same = [
                    a for a in acts if which in (a.parameters.get(side), a.parameters.get("arm"))
                ]
                if len(same) < 2:
                    continue
                hits = lib.search(f"{name}:{act.start_frame}-{act.end_frame}", only=name)
                ranges = [(hit.start, hit.end) for hit in hits]
                true = [(a.start_frame / fps, a.end_frame / fps) for a in same]
                other = [(a.start_frame / fps, a.end_frame / fps) for a in acts if a not in same]
                table[key].append(score(ranges, true, other))
    for key, scores in table.items():
        mean = np.mean([s.average_precision for s in scores])
        print(f"{key}: {len(scores)} queries, mean average precision {mean:.3f}")
        assert mean > 0.8
    assert table["kick"]


# --- captured takes --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exercise_library(cmu_data, cmu30, tmp_path_factory):
    tasks = read_tasks(cmu_data / "queries" / "dev.csv")
    lib = ml.Library.create(tmp_path_factory.mktemp("tasks") / "tasks.loom")
    labelled = sorted((cmu_data / "exercises").glob("*.txt"))
    names = {task.motion for task in tasks} | {path.stem for path in labelled}
    lib.add(*(path for path in cmu30.rglob("*.bvh") if path.stem in names))
    labels = {path.stem: np.array(path.read_text().split(), int) for path in labelled}
    return lib, tasks, labels


@pytest.mark.cmu
def test_captured_actions_are_found_within_their_take(exercise_library):
    lib, tasks, _ = exercise_library
    found = {}
    for task in tasks:
        query = f"{task.motion}:{round(task.start * 30)}-{round(task.end * 30)}"
        for name, options in (("default", {}), ("plain", {"weights": None, "steps": "classic"})):
            hits = lib.search(query, only=task.motion, max=None, **options)
            found[task.name, name] = score(
                [(hit.start, hit.end) for hit in hits], task.occurrences, task.optional
            )
    print()
    for task in tasks:
        best, plain = found[task.name, "default"], found[task.name, "plain"]
        print(
            f"{task.name} {task.action:30s} AP {best.average_precision:.2f} "
            f"(plain {plain.average_precision:.2f}) recall {best.recall:.2f} "
            f"on time {best.on_time:.2f}"
        )
    mean = np.mean([found[task.name, "default"].average_precision for task in tasks])
    print(f"mean average precision {mean:.3f}")
    assert mean > 0.94
    for task in tasks:
        wanted = 0.7 if "punch" in task.action else 0.999
        assert found[task.name, "default"].average_precision > wanted, task


@pytest.mark.cmu
def test_exercises_are_told_apart(exercise_library):
    """A 2.4 s stretch of each labelled exercise as query; labels of 0.1 s in three takes."""
    lib, _, labels = exercise_library
    precisions = defaultdict(list)
    for name, given in labels.items():
        edges = np.flatnonzero(np.diff(np.concatenate([[-1], given, [-1]])))
        for first, last in zip(edges[:-1], edges[1:], strict=True):
            if last - first < 24 or given[first] < 1:
                continue
            start = (first + last) // 2 - 12
            hits = lib.search(f"{name}:{3 * start}-{3 * (start + 24)}", only=list(labels), max=None)
            gaps, right = [], []
            for other, cells in labels.items():
                here = [(h.start, h.end, h.distance) for h in hits if h.motion == other]
                gaps.append(least_distances(len(cells), 0.1, here))
                right.append(cells)
            known = np.concatenate(right) > 0
            precisions[int(given[first])].append(
                ranked_precision(
                    np.concatenate(gaps)[known], np.concatenate(right)[known] == given[first]
                )
            )
    print()
    for label, values in sorted(precisions.items()):
        print(f"exercise {label:2d}: {len(values)} stretches, AP {np.mean(values):.2f}")
    mean = np.mean([value for values in precisions.values() for value in values])
    print(f"mean {mean:.3f}")
    assert mean > 0.5
