"""Captions against the ground truth of the built-in corpus, and their grammar."""

import numpy as np
import pytest
from caption_truth import GAITS, WITHIN, gait_limits, moments, scores

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.words.captions import Event, captions, clock, counted, events
from motionloom.words.predicates import Condition, predicates
from motionloom.words.signals import NEEDED, body_signals

MOMENTS = ("kick", "punch", "reach", "jump", "hop", "cartwheel", "sit", "sit_down", "stand_up")
# Predicates of what the corpus does not show: none of them may be found in it.
ABSENT = ("flip", "roll", "lie", "crawl", "kneel", "sit_floor", "clap", "hands_on_hips")
CLIPS = (
    "walk", "walk_left_tight", "jog", "march", "step_up_left", "kick_front_low_right",
    "kick_side_high_left", "kick_leap_front_right", "punch_mid_left", "punch_low_right",
    "reach_front_low_right", "reach_side_mid_left", "pick_up_mid", "sit_stand", "jump_turn_left",
    "hop_right", "cartwheel_left",
)  # fmt: skip


def annotated(names):
    for name in names:
        made = ml.demo.annotated(name)
        yield made, events(body_signals(made.motion))


@pytest.fixture(scope="module")
def clips():
    return list(annotated(f"{name}_p1" for name in CLIPS))


def check_moments(pairs, least):
    rows = [(made.name, moments(made), found) for made, found in pairs]
    for name, (right, found, true, wrong) in scores(rows, MOMENTS).items():
        assert right >= least * found and right >= least * true, (name, right, found, true, wrong)


def check_gaits(pairs, least):
    right, true, found = {}, {}, {}
    for made, every in pairs:
        limits = gait_limits(made)
        dances = [a for a in made.truth.actions if "dance" in a.action or a.action == "waltz"]
        for name, start, end in limits:
            true[name] = true.get(name, 0) + 1
            hit = any(
                _gait(event) == name
                and abs(event.start - start) <= WITHIN
                and abs(event.end - end) <= WITHIN
                for event in every
            )
            right[name] = right.get(name, 0) + hit
        for event in every:
            dancing = any(a.start_frame <= event.moment * 30 < a.end_frame for a in dances)
            if _gait(event) in GAITS and not dancing:
                found[_gait(event)] = found.get(_gait(event), 0) + 1
    for name, count in true.items():
        assert right[name] >= least * count, (name, "recall", right[name], count)
        assert right[name] >= least * found[name], (name, "precision", right[name], found[name])


def _gait(event):
    return "jog" if event.name == "run" else event.name  # the fastest jogs of the corpus


def test_events_are_where_the_corpus_has_them(clips):
    check_moments(clips, 1.0)
    check_gaits(clips, 1.0)


@pytest.mark.slow
def test_precision_and_recall_on_the_whole_corpus():
    pairs = list(annotated(ml.demo.names()))
    check_moments(pairs, 0.95)
    check_gaits(pairs, 0.95)
    for made, found in pairs:
        assert not {event.name for event in found} & set(ABSENT), made.name


def test_what_the_corpus_does_not_show_is_not_found(clips):
    for made, found in clips:
        assert not {event.name for event in found} & set(ABSENT), made.name


def test_turns_have_their_side_and_size(clips):
    by_name = {made.name: found for made, found in clips}
    turn = [e for e in by_name["walk_left_tight_p1"] if e.name.startswith("turn")]
    assert {event.name for event in turn} == {"turn_left"}
    assert not [e for e in by_name["walk_p1"] if e.name.startswith("turn")]
    texts = [event.text for event in by_name["jump_turn_left_p1"] if event.name == "jump"]
    assert texts == ["jumps up with a turn to the left by 135 degrees"]


def test_steps_up_and_down_have_their_height(clips):
    made, found = next(pair for pair in clips if pair[0].name == "step_up_left_p1")
    up = [event for event in found if event.name in ("step_up", "step_down")]
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
    texts = [event.text for event in captions(ml.demo.clip("punch_mid_left").mirror())]
    assert "punches forward with the right hand" in texts


def test_repetitions_are_counted():
    hop = Event("hop", 0.0, 0.3, 0.1, "hops on the left leg", "left")
    again = Event("hop", 0.8, 1.1, 0.9, "hops on the left leg", "left")
    late = Event("hop", 5.0, 5.3, 5.1, "hops on the left leg", "left")
    found = counted([hop, again, late])
    assert [(event.text, event.count) for event in found] == [
        ("hops on the left leg twice", 2), ("hops on the left leg", 1),
    ]  # fmt: skip
    assert str(found[0]) == "00:00.0-00:01.1 hops on the left leg twice"
    assert clock(125.04) == "02:05.0"


def test_every_condition_names_a_signal_that_exists():
    curves = body_signals(ml.demo.clip("walk")[:40]).curves
    for predicate in predicates():
        said = [choice.when for rows in predicate.words.values() for choice in rows]
        for condition in [*predicate.all, *predicate.once, *(c for when in said for c in when)]:
            if condition.measure != "travel":
                name = condition.signal.replace("S_", "left_").replace("O_", "left_")
                assert name in curves, (predicate.name, condition)


def test_a_wrong_condition_is_refused():
    with pytest.raises(InvalidInput, match="a condition is SIGNAL > NUMBER"):
        Condition.parse("level is low")


def test_a_skeleton_without_arms_is_told():
    one = ml.Skeleton(["hips"], [-1], [[0, 0, 0]])
    still = ml.Motion(one, np.tile([1.0, 0, 0, 0], (9, 1, 1)), np.zeros((9, 3)), 30, name="dot")
    with pytest.raises(RoleError, match="captions need the joints .* of 'dot' lacks"):
        captions(still)
    assert len(NEEDED) == 16


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_the_shortest_motions_have_captions(frames):
    assert isinstance(captions(ml.demo.clip("walk")[:frames]), list)
