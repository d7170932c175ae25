"""Transitions that people rule out or insist on."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.errors import InvalidInput, LibraryError, MotionloomError
from motionloom.features import frame_distance
from motionloom.motion_graph import GraphSettings
from motionloom.motion_graph.components import endless
from motionloom.motion_graph.edits import (
    EditedGraph,
    Edits,
    TransitionKey,
    edit,
    library_edits,
    with_edits,
)


@pytest.fixture
def lib(tmp_path):
    with ml.Library.create(tmp_path / "walks.loom") as library:
        for name in ("walk", "walk_left", "walk_right"):
            library.add_motion(ml.demo.clip(name), name=name, labels=["walk"])
        yield library


def candidates(graph):
    rows = zip(graph.transitions.source, graph.transitions.target, strict=True)
    return {
        TransitionKey(graph.names[a], int(i), graph.names[b], int(j)) for (a, i), (b, j) in rows
    }


def answer(edited):
    return {edited.key(k): EditedGraph.STATES[s] for k, s in enumerate(edited.states)}


def whole(lib, **options):
    return lib.graphs.edited(GraphSettings.of(options))


def test_a_removed_transition_is_in_no_graph_until_it_is_restored(lib):
    before = lib.motion_graph()
    gone = sorted(candidates(before))[3]
    edit(lib.store, "remove", gone)
    after = lib.motion_graph()
    assert gone not in candidates(after) and candidates(after) < candidates(before)
    assert after.removed.by_hand == 1
    assert gone not in candidates(lib.motion_graph(per_minute=80.0))
    edit(lib.store, "restore", gone.text)
    assert candidates(lib.motion_graph()) == candidates(before)
    np.testing.assert_array_equal(
        lib.motion_graph().transitions.transforms, before.transitions.transforms
    )


def test_motions_cut_off_by_a_removal_are_dropped_and_reported(lib):
    before = lib.motion_graph()
    name = before.names[0]
    into = [
        candidate
        for candidate in candidates(before)
        if candidate.target == name != candidate.source
    ]
    if not into:
        pytest.skip("nothing leads into the first motion")
    for candidate in into:
        edit(lib.store, "remove", candidate)
    edited = whole(lib)
    states = answer(edited)
    assert all(states[candidate] == "removed" for candidate in into)
    played = {candidate for candidate, state in states.items() if state in ("played", "locked")}
    assert played == candidates(edited.graph)
    assert "cut off" in states.values() or name in edited.graph.names
    leave, enter = edited.graph.transitions.leave, edited.graph.transitions.enter
    assert endless(leave, enter).all()


@pytest.mark.slow
def test_a_locked_transition_is_kept_at_any_threshold(lib):
    many, few = lib.motion_graph(per_minute=120.0), lib.motion_graph(per_minute=20.0)
    both = set(few.names)
    extra = [s for s in sorted(candidates(many) - candidates(few)) if {s.source, s.target} <= both]
    edit(lib.store, "lock", extra[0])
    edited = whole(lib, per_minute=20.0)
    assert answer(edited)[extra[0]] == "locked"
    assert extra[0] in candidates(edited.graph)
    assert candidates(few) <= candidates(edited.graph)
    k = [edited.key(n) for n in range(len(edited.transitions))].index(extra[0])
    there = many.transitions.errors[
        [s == extra[0] for s in (_candidate(many, n) for n in range(len(many)))]
    ]
    assert edited.transitions.errors[k] == pytest.approx(there[0])
    assert edited.graph.walk(seconds=5.0, seed=1).duration == 5.0


def _candidate(graph, k):
    (a, i), (b, j) = graph.transitions.source[k], graph.transitions.target[k]
    return TransitionKey(graph.names[a], int(i), graph.names[b], int(j))


def test_all_transitions_can_be_viewed_including_removed_ones(lib):
    gone = sorted(candidates(lib.motion_graph()))[0]
    edit(lib.store, "remove", gone)
    edited = whole(lib)
    number = [edited.key(k) for k in range(len(edited.transitions))].index(gone)
    assert len(edited.full_graph.transition_frames(number)) == edited.transitions.blend


def test_removing_everything_is_rejected_with_a_message(lib):
    graph = lib.motion_graph()
    edits = Edits(frozenset(candidates(graph)), frozenset())
    with pytest.raises(InvalidInput, match="removed by hand.*Restore some"):
        with_edits(graph, edits, graph.motions, frame_distance("jrd"))


def test_edits_persist_and_do_not_overwrite_each_other(lib):
    rows = [TransitionKey("walk", 20 + k, "walk_left", 30) for k in range(8)]
    threads = [threading.Thread(target=edit, args=(lib.store, "remove", row)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ml.Library(lib.path) as again:
        assert library_edits(again).removed == frozenset(rows)


def test_edits_of_missing_motions_are_ignored(lib):
    before = candidates(lib.motion_graph(only=["walk", "walk_left"]))
    edit(lib.store, "lock", "walk_right:30,somebody:20")
    edit(lib.store, "lock", "walk:0,walk_left:30")  # too near to the beginning to be blended
    assert candidates(lib.motion_graph(only=["walk", "walk_left"])) == before


def test_mistakes_are_reported(lib):
    with pytest.raises(InvalidInput, match="NAME:FRAME,NAME:FRAME; got 'walk'"):
        edit(lib.store, "remove", "walk")
    with pytest.raises(InvalidInput, match="remove, lock, restore; got 'burn'"):
        edit(lib.store, "burn", "walk:30,walk:90")
    lib.artifacts.save("motion-graph-edits", "edits", {})
    with pytest.raises(LibraryError, match="cannot read the motion graph edits"):
        lib.motion_graph()


def test_the_command_line_edits_the_same(lib):
    gone = sorted(candidates(lib.motion_graph()))[2]
    line = ["graph", str(lib.path), "remove", "--transition", gone.text, "--json"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["removed"]["by_hand"] == 1
    assert gone not in candidates(lib.motion_graph())
    assert "removed by hand: 1" in CliRunner().invoke(app, ["graph", str(lib.path), "info"]).stdout
    for words, message in (
        (["remove"], "needs --transition"),
        (["lock", "--transition", "walk:9999,walk:30"], "has frames 0 to"),
        (["lock", "--transition", "nobody:1,walk:30"], "nobody"),
    ):
        wrong = CliRunner().invoke(app, ["graph", str(lib.path), *words])
        assert isinstance(wrong.exception, MotionloomError) and message in str(wrong.exception)
