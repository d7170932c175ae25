"""Captions against the ground truth of the built-in corpus, and their grammar."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from caption_truth import CLIPS, acted, corpus, everything, scores
from commands import ran

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.text.captions import (
    LEAST_CONFIDENCE,
    Condition,
    Event,
    captions,
    clock,
    counted,
    events,
    predicates,
)
from motionloom.text.signals import NEEDED, body_signals

# Predicates of events that do not occur in the corpus: none of them may be found in it.
ABSENT = ("flip", "roll", "lie", "crawl", "kneel", "sit_floor", "clap", "hands_on_hips")


@pytest.fixture(scope="module")
def clips():
    return list(corpus(f"{name}_p1" for name in CLIPS))


def check(motions, least):
    result = scores(motions)
    for name, score in result.items():
        assert score.precision >= least and score.recall >= least, (name, score)
    return result


def test_events_are_where_the_corpus_has_them(clips):
    result = check(clips, 1.0)
    assert {"kick", "punch", "reach", "jump", "hop", "cartwheel", "sit", "sit_down", "stand_up",
            "walk", "jog", "march", "step_up", "step_down", "step", "turn_left",
            "turn_right"} <= set(result)  # fmt: skip
    for motion in clips:
        assert not {event.name for event in motion.events} & set(ABSENT), motion.name


def test_events_of_procedural_motions_are_found():
    result = check(acted([0]), 1.0)
    assert sum(score.true for score in result.values()) > 45


@pytest.mark.slow
def test_every_predicate_has_truth_and_finds_it():
    result = check(everything(), 0.95)
    assert {each.name for each in predicates()} - set(result) == {"leap"}  # it is seen in captures


def test_turns_have_their_side_and_size(clips):
    by_name = {motion.name: motion.events for motion in clips}
    turn = [e for e in by_name["walk_left_tight_p1"] if e.name.startswith("turn")]
    assert {event.name for event in turn} == {"turn_left"}
    assert not [e for e in by_name["walk_p1"] if e.name.startswith("turn")]
    texts = [event.text for event in by_name["jump_turn_left_p1"] if event.name == "jump"]
    assert texts == ["jumps up with a turn to the left by 135 degrees"]


def test_steps_up_and_down_have_their_height(clips):
    shown = next(motion for motion in clips if motion.name == "step_up_left_p1")
    up = [event for event in shown.events if event.name in ("step_up", "step_down")]
    assert [event.name for event in up] == ["step_up", "step_down"]
    assert "m high" in up[0].text


def test_captions_do_not_depend_on_size_rate_or_place():
    kick = ml.demo.clip("kick_front_high_right", fps=60.0)
    large = ml.Motion(
        kick.skeleton.scaled(1.3), kick.rotations, kick.root * 1.3 + [5.0, 0.0, -2.0], kick.fps
    )
    for motion in (kick, large, ml.demo.clip("kick_front_high_right")):
        row = [event for event in captions(motion) if event.name == "kick"]
        assert [event.text for event in row] == ["kicks forward with the right foot, high"]


def test_mirrored_motions_have_the_other_side():
    mirrored = ml.demo.clip("punch_mid_left").mirror()
    texts = [event.text for event in captions(mirrored, least_confidence=0.0)]
    assert "punches forward with the right hand" in texts


def test_repetitions_are_counted():
    hop = Event("hop", 0.0, 0.3, 0.1, "hops on the left leg", "left")
    again = Event("hop", 0.8, 1.1, 0.9, "hops on the left leg", "left")
    late = Event("hop", 5.0, 5.3, 5.1, "hops on the left leg", "left")
    result = counted([hop, again, late])
    assert [(event.text, event.count) for event in result] == [
        ("hops on the left leg twice", 2), ("hops on the left leg", 1),
    ]  # fmt: skip
    assert str(result[0]) == "00:00.0-00:01.1 hops on the left leg twice (100%)"
    assert clock(125.04) == "02:05.0"


def test_every_condition_names_a_signal_that_exists():
    curves = body_signals(ml.demo.clip("walk")[:40]).curves
    for predicate in predicates():
        said = [choice.when for rows in predicate.words.values() for choice in rows]
        rules = [*predicate.all, *predicate.once, *predicate.clear]
        for condition in [*rules, *(c for when in said for c in when)]:
            if condition.measure != "travel":
                name = condition.signal.replace("S_", "left_").replace("O_", "left_")
                assert name in curves, (predicate.name, condition)


def test_captions_of_low_confidence_are_omitted():
    """Few of the claps and waves that the rules see in captured takes are claps and waves."""
    clear = Event("kick", 0.0, 0.5, 0.2, "kicks", "left", confidence=0.8)
    unclear = replace(clear, start=0.9, end=1.4, confidence=0.4)
    assert counted([clear, unclear])[0].confidence == pytest.approx(0.6)
    motion = ml.demo.clip("kick_front_mid_right")
    every = captions(motion, least_confidence=0.0)
    assert {event.confidence for event in every} <= {c for p in predicates() for c in p.confidence}
    shown = captions(motion)
    assert "kick" in {event.name for event in shown}
    assert shown == [event for event in every if event.confidence >= 0.5]
    assert captions(motion, least_confidence=1.0) == []
    assert all(0.0 < low <= high < 1.0 for low, high in (p.confidence for p in predicates()))


def test_a_kick_in_passing_is_less_certain_than_one_while_standing():
    signals = body_signals(ml.demo.clip("kick_front_mid_right"))
    moving = {**signals.curves, "speed": signals["speed"] + 2.0}
    kicks = [
        next(event for event in events(replace(signals, curves=curves)) if event.name == "kick")
        for curves in (signals.curves, moving)
    ]
    assert kicks[0].confidence > 0.5 > kicks[1].confidence


def test_a_wrong_condition_is_refused():
    with pytest.raises(InvalidInput, match="a condition must be SIGNAL > NUMBER"):
        Condition.parse("level is low")


def test_a_skeleton_without_arms_is_reported():
    first = ml.Skeleton(["hips"], [-1], [[0, 0, 0]])
    still = ml.Motion(first, np.tile([1.0, 0, 0, 0], (9, 1, 1)), np.zeros((9, 3)), 30, name="dot")
    with pytest.raises(RoleError, match="captions require the joints .* of 'dot' lacks"):
        captions(still)
    assert len(NEEDED) == 16


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_the_shortest_motions_have_captions(frames):
    assert isinstance(captions(ml.demo.clip("walk")[:frames]), list)


def test_captions_are_compared_with_labels(tmp_path):
    kept = ml.Library.create(tmp_path / "sets" / "bandai.loom")
    for clip, label in (("walk", "walk"), ("jog", "run"), ("walk", "run"), ("sit_stand", "walk")):
        name = f"{clip}_{label}"
        kept.add_motion(ml.demo.clip(clip), name=name, labels=[label, "performer:a"])
    options = ["--sets", "bandai", "--keep", tmp_path / "sets"]
    page = tmp_path / "page.md"
    rows = json.loads(ran("evaluate-captions", *options, "--json").stdout)["classes"]
    assert [(r["label"], r["clips"], r["recall"], r["precision"]) for r in rows] == [
        ("walk", 2, 0.5, 0.5), ("run", 2, 0.5, 1.0),
    ]  # fmt: skip
    assert ran("evaluate-captions", *options, "-o", page).returncode == 0
    assert "| bandai | walk | 2 | walk or march | 0.50 | 0.50 |" in page.read_text()
    for wrong, message in (
        (
            ["--sets", "odd"],
            "captions can only be scored on the sets exercises, cmu-groups, cmu-kinds, bandai",
        ),
        ([*options, "-o", "page.txt"], "the suffix must be .md"),
        (["--sets", "exercises", "--keep", tmp_path], "set its folder with --data"),
    ):
        done = ran("evaluate-captions", *wrong)
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.cmu
@pytest.mark.slow
def test_captions_of_captured_moments_that_were_looked_at(cmu30):
    """Captions of CMU, drawn at random and looked at as film strips; most wrong ones are unsure."""
    table = Path(__file__).parent / "golden" / "caption_moments.csv"
    with table.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    result: dict[str, list[Event]] = {}
    again = {"0": [], "1": []}
    for row in rows:
        take = row["take"]
        if take not in result:
            path = next(cmu30.rglob(f"{take}.bvh"))
            result[take] = events(body_signals(ml.load(path)))
        again[row["right"]].append(
            any(
                event.name == row["predicate"]
                and event.side == row["side"]
                and abs(event.moment - float(row["second"])) <= 0.5
                and event.confidence >= LEAST_CONFIDENCE
                for event in result[take]
            )
        )
    shown = sum(again["1"]) / (sum(again["0"]) + sum(again["1"]))
    assert shown >= 0.8  # of 0.67 that were drawn
    assert np.mean(again["1"]) >= 0.75  # most right ones are shown
