"""One settings class per verb: its fields and the signature of the method agree."""

import inspect
from dataclasses import fields

import pytest

import motionloom as ml
from motionloom.crowd import BallroomSettings, DanceFloorSettings, MarchSettings
from motionloom.rhythm import BeatSettings, Choreography, ChoreographySettings, DanceSettings
from motionloom.store.settings import ImportSettings

# Verb, settings, and names that only one of the two has.
VERBS = [
    (ml.Library.add, ImportSettings, set()),
    (ml.beats, BeatSettings, set()),
    (ml.Library.beats, BeatSettings, set()),
    (ml.Library.choreography, ChoreographySettings, {"takes"}),
    (ml.Library.ballroom, BallroomSettings, {"library"}),
    (ml.Library.march, MarchSettings, {"library"}),
    (ml.Library.dance_floor, DanceFloorSettings, set()),
    (Choreography.dance, DanceSettings, set()),
    (Choreography.dance_to, DanceSettings, set()),
]
NOT_SETTINGS = {"self", "progress"}


@pytest.mark.parametrize(
    ("verb", "settings", "besides"), VERBS, ids=lambda one: getattr(one, "__name__", "")
)
def test_signature_and_settings_agree(verb, settings, besides):
    declared = {one.name: one.default for one in fields(settings)}
    parameters = inspect.signature(verb).parameters.values()
    options = {
        one.name: one.default
        for one in parameters
        if one.name not in NOT_SETTINGS and (one.kind is one.KEYWORD_ONLY or one.name in declared)
    }
    assert {name: value for name, value in options.items() if name not in besides} == {
        name: value for name, value in declared.items() if name not in besides
    }
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters)
