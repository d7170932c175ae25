"""Quality of the match web in the built-in corpus; run with -s to see the tables.

As in Kovar & Gleicher (2004), section 3.4: for each action a threshold is sought that finds
all logically similar segments and nothing else, first within a category, then everywhere.
"""

from dataclasses import dataclass

import pytest

import motionloom as ml
from motionloom.evaluation.retrieval import read_tasks, score
from motionloom.search.match_web.store import WebStore

CATEGORIES = {
    "kick": "fighting", "punch": "fighting", "take_strikes": "fighting",
    "walk": "locomotion", "jog": "locomotion", "march": "locomotion", "spiral": "locomotion",
    "step": "locomotion", "take_locomotion": "locomotion",
    "jump": "jumping", "hop": "jumping", "sit": "sitting",
}  # fmt: skip
THRESHOLDS = (0.05, 0.08, 0.1)


@dataclass(frozen=True)
class Case:
    """A query, the category that is searched, and which actions of the truth it should find."""

    query: str
    within: str
    action: str
    side: tuple[str, str] | None = None

    def is_like(self, act):
        same = act.action == self.action or (self.action == "walk" and act.action == "spiral_walk")
        return same and (self.side is None or act.parameters[self.side[0]] == self.side[1])


CASES = {
    "walk": Case("walk_p0:40-70", "locomotion", "walk"),
    "jog": Case("jog_p0:20-41", "locomotion", "jog"),
    "step": Case("step_up_left_p0:22-126", "locomotion", "step_up", ("lead", "left")),
    "jump": Case("jump_up_p0:11-61", "jumping", "jump"),
    "hop": Case("hop_left_p0:30-52", "jumping", "hop", ("leg", "left")),
    "sit and stand": Case("sit_stand_p0:18-101", "sitting", "sit_stand"),
    "kick": Case("kick_front_mid_right_p0:11-61", "fighting", "kick", ("leg", "right")),
    "punch": Case("punch_mid_right_p0:8-48", "fighting", "punch"),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """One performer's kicks, punches, gaits, jumps, chairs; two takes; with their truth."""
    lib = ml.Library.create(tmp_path_factory.mktemp("quality") / "p0.loom")
    truths = {}
    for name in ml.demo.names():
        kind = next((kind for kind in CATEGORIES if name.startswith(kind)), None)
        if kind is not None and name.endswith("_p0"):
            performed = ml.demo.annotated(name)
            lib.add_motion(performed.motion)
            lib.labels[name] = [CATEGORIES[kind]]
            truths[name] = performed.truth.actions
    WebStore(lib.store).build(workers=1)
    return lib, truths


def outcome(lib, truths, case, threshold, *, within, tiers="all"):
    """How many true segments were found, how many there are, and what else was found."""
    family = lib.family(
        case.query,
        method="web",
        label=within,
        expansion=ml.Expansion(tiers=tiers, join_distance=threshold),
    )
    names = lib.names if within is None else lib.labels.motions(within)
    true = [
        (name, act.start_frame, act.end_frame)
        for name in names
        for act in truths[name]
        if case.is_like(act)
    ]
    hit, wrong = set(), []
    for node in family.nodes:
        here = [
            k
            for k, (name, start, end) in enumerate(true)
            if name == node.motion
            and min(end, node.end_frame) - max(start, node.start_frame)
            > 0.5 * min(end - start, node.end_frame - node.start_frame)
        ]
        hit.update(here)
        if not here:
            wrong.append(node.text)
    return len(hit), len(true), wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_there_is_a_threshold_that_finds_all_and_nothing_else(corpus, name):
    lib, truths = corpus
    for within in (CASES[name].within, None):
        for threshold in THRESHOLDS:
            result, there, wrong = outcome(lib, truths, CASES[name], threshold, within=within)
            print(
                f"\n{name} within {within or 'everything'} at {threshold:g} m: "
                f"{result} of {there}, {len(wrong)} wrong"
            )
            if result == there and not wrong:
                break
        assert (result, wrong) == (there, [])


LOW, LEAP = "kick_front_low_right_p0:10-60", "kick_leap_front_right_p0"


@pytest.mark.slow
def test_a_kick_twice_as_high_is_found_by_steps_alone(corpus):
    """Any threshold that finds it at once finds other things before; by steps, one finds all."""
    lib, truths = corpus
    heights = [truths[name][0].parameters["target"][1] for name in (LOW.split(":")[0], LEAP)]
    assert heights[1] > 2.0 * heights[0]
    case = Case(LOW, "fighting", "kick", ("leg", "right"))
    method = ml.MatchWeb(rank="distance")
    hits = lib.search(LOW, method=method, max_distance=1.0, max=None)
    leap = min(hit.distance for hit in hits if hit.motion == LEAP)
    wrong = [hit.distance for hit in hits if not any(map(case.is_like, truths[hit.motion]))]
    print(f"\nin one step: the leap at {leap:.3f} m, something else at {min(wrong):.3f} m")
    assert min(wrong) < leap
    family = lib.family(LOW, method="web", expansion=ml.Expansion(join_distance=0.1))
    tiers = {node.motion: node.tier for node in family.nodes}
    assert tiers[LEAP] >= 2
    result, there, others = outcome(lib, truths, case, 0.1, within=None)
    assert (result, others) == (there, [])


@pytest.mark.cmu
@pytest.mark.slow
def test_captured_actions_are_found_within_their_take(cmu_data, cmu30, tmp_path):
    """The tasks of tests/test_search_quality.py: every method finds what `dtw` finds."""
    tasks = read_tasks(cmu_data / "queries" / "dev.csv")
    names = {task.motion for task in tasks}
    lib = ml.Library.create(tmp_path / "tasks.loom")
    lib.add(*(path for path in cmu30.rglob("*.bvh") if path.stem in names))
    for name in names:
        WebStore(lib.store).build(only=name, workers=1)
    ways = {"dtw": "dtw", "lazy": "lazy", "web": "web"}
    precisions = {way: [] for way in ways}
    print()
    for task in tasks:
        query = f"{task.motion}:{round(task.start * 30)}-{round(task.end * 30)}"
        for way, method in ways.items():
            hits = lib.search(query, only=task.motion, max=None, method=method)
            result = score([(hit.start, hit.end) for hit in hits], task.occurrences, task.optional)
            precisions[way].append(result.average_precision)
        print(task.action, {way: f"{values[-1]:.2f}" for way, values in precisions.items()})
    assert [value > 0.99 for value in precisions["dtw"]].count(True) >= 5
    assert precisions["lazy"] == precisions["web"] == pytest.approx(precisions["dtw"])
