"""How good the searches are, on motions whose truth is known; run with -s to see the tables."""

from collections import defaultdict

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.evaluation.retrieval import ranked_precision, read_tasks, score


def test_a_perfect_list_scores_one():
    truth = [(0.0, 1.0), (2.0, 3.0)]
    result = score([(2.0, 3.1), (0.1, 1.0)], truth)
    assert (result.average_precision, result.recall, result.on_time) == (1.0, 1.0, 1.0)
    assert result.precision_at_full_recall == 1.0


def test_misses_false_alarms_and_late_ends_cost():
    truth = [(0.0, 1.0), (2.0, 3.0)]
    result = score([(5.0, 6.0), (0.0, 1.2)], truth)
    assert result.average_precision == pytest.approx(0.25)
    assert (result.recall, result.on_time, result.precision_at_full_recall) == (0.5, 0.0, 0.0)


def test_optional_and_repeated_hits_count_neither_way():
    result = score([(8.0, 9.0), (0.0, 1.0), (0.0, 1.1)], [(0.0, 1.0)], optional=[(8.0, 9.0)])
    assert result.average_precision == 1.0


def least_distances(count, seconds, matches):
    """The least distance of the matches (start, end, distance) that cover each cell of time."""
    out = np.full(count, np.inf)
    for start, end, distance in matches:
        cells = slice(max(0, round(start / seconds)), max(0, round(end / seconds)))
        out[cells] = np.minimum(out[cells], distance)
    return out


def test_cells_of_time_take_the_least_distance():
    cells = least_distances(6, 0.5, [(0.0, 1.0, 0.3), (0.5, 2.0, 0.2)])
    assert cells.tolist() == [0.3, 0.2, 0.2, 0.2, np.inf, np.inf]


def test_invalid_input_is_reported():
    with pytest.raises(InvalidInput, match="at least one true occurrence"):
        score([], [])
    with pytest.raises(InvalidInput, match="at least one True"):
        ranked_precision([1.0], [False])


# --- the built-in corpus ---------------------------------------------------------------------


_TAKES = ("take_locomotion", "take_strikes", "take_reaches", "take_dances")
_LIKE_A_WALK = ("spiral_walk", "march")  # found or not, when a walk is looked for


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    """Two performers' long takes, and the truth about them."""
    lib = ml.Library.create(tmp_path_factory.mktemp("takes") / "takes.loom")
    truths = {}
    for take in _TAKES:
        for performer in (0, 2):
            performed = ml.demo.annotated(take, performer=performer)
            lib.add_motion(performed.motion)
            truths[performed.name] = performed.truth.actions
    return lib, truths


def _limb(action):
    given = action.parameters
    return given.get("leg") or given.get("arm") or given.get("side")


def _is_optional(other, action):
    if action.action == "walk" and other.action in _LIKE_A_WALK:
        return True
    return other.action == action.action and _limb(other) != _limb(action)


def _seconds(actions, fps):
    return [(action.start_frame / fps, action.end_frame / fps) for action in actions]


def test_every_repeated_action_is_found_within_its_take(takes):
    """One with the other leg or arm counts neither way."""
    lib, truths = takes
    table = defaultdict(list)
    for name, actions in truths.items():
        fps = lib.store.entry(name).fps
        for act in actions:
            same = [a for a in actions if a.action == act.action and _limb(a) == _limb(act)]
            if len(same) < 2:
                continue
            hits = lib.search(f"{name}:{act.start_frame}-{act.end_frame}", only=name, max=None)
            optional = [a for a in actions if _is_optional(a, act)]
            result = score(
                [(hit.start, hit.end) for hit in hits],
                _seconds(same, fps),
                _seconds(optional, fps),
            )
            table[act.action].append((result, len(same)))
    print()
    for action, scores in sorted(table.items()):
        precision = np.mean([result.average_precision for result, _ in scores])
        recall = np.mean([result.recall for result, _ in scores])
        full = np.mean([result.precision_at_full_recall for result, _ in scores])
        hits = [result.recall * count for result, count in scores]
        on_time = np.average([result.on_time for result, _ in scores], weights=hits)
        print(
            f"{action:6s} {len(scores):2d} queries: average precision {precision:.3f}, recall "
            f"{recall:.3f}, precision at full recall {full:.3f}, on time {on_time:.2f}"
        )
        if action != "reach":  # other targets are other movements
            assert precision > 0.97 and recall > 0.97 and full > 0.9
        assert on_time > 0.9
    assert {"walk", "kick", "punch", "jump", "jog"} <= set(table)


# --- captured takes --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exercise_library(cmu_data, cmu30, tmp_path_factory):
    tasks = read_tasks(cmu_data / "queries" / "dev.csv")
    lib = ml.Library.create(tmp_path_factory.mktemp("tasks") / "tasks.loom")
    labeled = sorted((cmu_data / "exercises").glob("*.txt"))
    names = {task.motion for task in tasks} | {path.stem for path in labeled}
    lib.add(*(path for path in cmu30.rglob("*.bvh") if path.stem in names))
    labels = {path.stem: np.array(path.read_text().split(), int) for path in labeled}
    return lib, tasks, labels


@pytest.mark.cmu
def test_captured_actions_are_found_within_their_take(exercise_library):
    lib, tasks, _ = exercise_library
    result = {}
    for task in tasks:
        query = f"{task.motion}:{round(task.start * 30)}-{round(task.end * 30)}"
        plain = {"weights": "equal", "steps": "classic", "rank": "distance", "speed_seconds": 0.0}
        for name, options in (("default", {}), ("plain", plain)):
            hits = lib.search(query, only=task.motion, max=None, method=ml.Dtw(**options))
            result[task.name, name] = score(
                [(hit.start, hit.end) for hit in hits], task.occurrences, task.optional
            )
    print()
    for task in tasks:
        best, plain = result[task.name, "default"], result[task.name, "plain"]
        print(
            f"{task.name} {task.action:30s} AP {best.average_precision:.2f} "
            f"(plain {plain.average_precision:.2f}) recall {best.recall:.2f} "
            f"on time {best.on_time:.2f}"
        )
    mean = np.mean([result[task.name, "default"].average_precision for task in tasks])
    print(f"mean average precision {mean:.3f}")
    assert mean > 0.93
    for task in tasks:
        wanted = 0.6 if "punch" in task.action else 0.999
        assert result[task.name, "default"].average_precision > wanted, task


@pytest.mark.slow  # on motions of the corpus: test_more_tiers_reach_farther
@pytest.mark.cmu
def test_query_expansion_never_finds_less(exercise_library):
    """Every match of one tier that hits a true occurrence is also found with all tiers."""
    lib, tasks, _ = exercise_library
    for task in tasks:
        query = f"{task.motion}:{round(task.start * 30)}-{round(task.end * 30)}"
        recalls = []
        for tiers in (1, "all"):
            hits = lib.search(query, only=task.motion, expansion=ml.Expansion(tiers=tiers))
            results = [(hit.start, hit.end) for hit in hits]
            recalls.append(score(results, task.occurrences, task.optional).recall)
        assert recalls[1] >= recalls[0] > 0.65, (task.name, recalls)


@pytest.mark.cmu
@pytest.mark.parametrize(("seconds", "wanted"), [(None, 0.88), (2.4, 0.65)])
def test_exercises_are_distinguished(exercise_library, seconds, wanted):
    """A labeled segment as query, or its middle; labels of 0.1 s in three takes."""
    lib, _, labels = exercise_library
    precisions = defaultdict(list)
    for name, given in labels.items():
        edges = np.flatnonzero(np.diff(np.concatenate([[-1], given, [-1]])))
        for first, last in zip(edges[:-1], edges[1:], strict=True):
            length = last - first if seconds is None else round(10 * seconds)
            if last - first < length or length < 12 or given[first] < 1:
                continue
            start = (first + last - length) // 2
            end = min(3 * (start + length), lib.store.entry(name).frames)
            hits = lib.search(f"{name}:{3 * start}-{end}", only=list(labels), max=None)
            gaps, right = [], []
            for other, cells in labels.items():
                here = [(h.start, h.end, h.distance) for h in hits if h.motion == other]
                gaps.append(least_distances(len(cells), 0.1, here))
                right.append(cells)
            expected = np.concatenate(right) > 0
            precisions[int(given[first])].append(
                ranked_precision(
                    np.concatenate(gaps)[expected], np.concatenate(right)[expected] == given[first]
                )
            )
    print()
    for label, values in sorted(precisions.items()):
        print(f"exercise {label:2d}: {len(values)} segments, AP {np.mean(values):.2f}")
    mean = np.mean([value for values in precisions.values() for value in values])
    print(f"mean {mean:.3f}")
    assert mean > wanted
