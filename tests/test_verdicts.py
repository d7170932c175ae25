"""Searches with verdicts: accepted and rejected matches."""

import json

import numpy as np
import pytest
from commands import error_lines, ran
from naive.verdicts import distance

import motionloom as ml
from motionloom.errors import InvalidInput, LibraryError
from motionloom.search.feedback import CONTRAST, combined_distances

QUERY = "kick_front_mid_right_p0:10-40"


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("verdicts") / "takes.loom")
    for action in ("kick_front_mid_right", "kick_side_high_right", "punch_mid_left", "walk"):
        for performer in (0, 1):
            lib.add_motion(ml.demo.clip(action, performer=performer))
    return lib


def test_distances_are_those_of_the_definition(rng):
    wanted, unwanted = rng.uniform(0.01, 1.0, (3, 20)), rng.uniform(0.01, 1.0, (2, 20))
    for far in (unwanted, unwanted[:0]):
        expected = [distance(wanted[:, k], list(far[:, k]), CONTRAST) for k in range(20)]
        assert combined_distances(wanted, far) == pytest.approx(expected)


def test_one_example_alone_changes_nothing(rng):
    wanted = rng.uniform(0.01, 1.0, (1, 5))
    assert combined_distances(wanted, wanted[:0]) == pytest.approx(wanted[0])


@pytest.mark.parametrize(("query", "method"), [(QUERY, "dtw"), (QUERY, "lazy"), ("walk_p0", "emd")])
def test_rejected_matches_are_excluded_and_accepted_ones_come_first(lib, query, method):
    hits = lib.search(query, method=method, max=8)
    right, wrong = hits[1], hits[4]
    again = lib.search(
        query, method=method, max=8, feedback=ml.Feedback(accept=right, reject=[wrong.text])
    )
    assert {hit.motion for hit in again[:2]} == {hits[0].motion, right.motion}
    assert [hit.distance for hit in again] == sorted(hit.distance for hit in again)
    assert again[0].distance == pytest.approx(0.0, abs=1e-6)
    for hit in again:
        shared = min(hit.end_frame, wrong.end_frame) - max(hit.start_frame, wrong.start_frame)
        shorter = min(hit.end_frame - hit.start_frame, wrong.end_frame - wrong.start_frame)
        assert hit.motion != wrong.motion or 2 * shared <= shorter


def test_matches_similar_to_a_rejected_one_go_down(lib):
    hits = lib.search(QUERY, max=None)
    ranks = {hit.motion: rank for rank, hit in reversed(list(enumerate(hits)))}
    wrong = next(hit for hit in hits if hit.motion == "kick_side_high_right_p0")
    again = lib.search(QUERY, max=None, feedback=ml.Feedback(reject=wrong))
    after = {hit.motion: rank for rank, hit in reversed(list(enumerate(again)))}
    assert after["kick_front_mid_right_p1"] <= ranks["kick_front_mid_right_p1"]
    factor = {
        name: next(hit.distance for hit in again if hit.motion == name)
        / next(hit.distance for hit in hits if hit.motion == name)
        for name in ("kick_front_mid_right_p1", "kick_side_high_right_p1")
    }
    assert factor["kick_side_high_right_p1"] > factor["kick_front_mid_right_p1"]


def test_matches_of_an_accepted_one_are_aligned_with_the_query(lib):
    hits = lib.search(QUERY, max=8)
    again = lib.search(QUERY, max=8, feedback=ml.Feedback(accept=hits[1]))
    for hit in again:
        assert len(hit.alignment) and hit.alignment[0, 0] == 0 and hit.alignment[-1, 0] == 29
        assert (np.diff(hit.alignment, axis=0) >= 0).all()
        assert hit.start_frame <= hit.alignment[0, 1] <= hit.alignment[-1, 1] < hit.end_frame
    assert (
        lib.search(QUERY, max=8, exclude_query=True, feedback=ml.Feedback(accept=hits[1]))[0].text
        != QUERY
    )


def test_the_number_of_clips_limits_only_the_results(lib):
    few = lib.search("walk_p0", method=ml.Emd(k=2), feedback=ml.Feedback(reject="walk_p1"))
    many = lib.search("walk_p0", method="emd", max=None, feedback=ml.Feedback(reject="walk_p1"))
    assert len(few) == 2 and [hit.text for hit in few] == [hit.text for hit in many[:2]]


def test_verdicts_go_with_query_expansion(lib):
    wrong = lib.search(QUERY, max=4)[3]
    more = lib.search(
        QUERY, max=20, expansion=ml.Expansion(tiers="all"), feedback=ml.Feedback(reject=wrong)
    )
    assert all(hit.text != wrong.text for hit in more) and len(more) > 2


def test_the_command_takes_verdicts(lib):
    hits = lib.search(QUERY, max=6)
    words = ["--accept", hits[1].text, "--reject", f"{hits[4].text},{hits[5].text}"]
    report = json.loads(ran("search", lib.path, QUERY, "--max", 6, *words, "--json").stdout)
    again = lib.search(QUERY, max=6, feedback=ml.Feedback(accept=[hits[1]], reject=hits[4:6]))
    assert [(row["motion"], row["start_frame"]) for row in report] == [
        (hit.motion, hit.start_frame) for hit in again
    ]


def test_invalid_input_is_reported(lib):
    with pytest.raises(LibraryError, match="no motion 'nobody'"):
        lib.search(QUERY, feedback=ml.Feedback(reject="nobody:0-30"))
    with pytest.raises(InvalidInput, match="walk_p0:0-30 is both accepted and rejected"):
        lib.search(QUERY, feedback=ml.Feedback(accept="walk_p0:0-30", reject="walk_p0:0-30"))
    done = ran("search", lib.path, QUERY, "--reject", "nobody:0-30")
    assert done.returncode == 2 and len(error_lines(done.stderr)) == 1
