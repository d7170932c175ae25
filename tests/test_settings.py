"""One settings class per verb: its fields and the signature of the method agree."""

import inspect
import re
from dataclasses import fields

import pytest

import motionloom as ml
from motionloom.blending import BlendSettings
from motionloom.crowd import BallroomSettings, DanceFloorSettings, MarchSettings
from motionloom.crowd.settings import CrowdSettings
from motionloom.dance import BeatSettings, Choreography, ChoreographySettings, DanceSettings
from motionloom.evaluation.settings import EvaluateSettings, StudySettings
from motionloom.fat_graph import FatGraphSettings
from motionloom.formats.presets import convert
from motionloom.formats.settings import (
    CleanSettings,
    ConvertSettings,
    LoadMarkersSettings,
    LoadSettings,
    SaveSettings,
)
from motionloom.motion.feet.contacts import foot_contacts
from motionloom.motion_graph import GraphSettings, MotionGraph, WalkSettings
from motionloom.motion_matching import MatchingSettings
from motionloom.parametric.parametric_motion import ParametricMotion
from motionloom.parametric.settings import ParametrizeSettings, SynthesisSettings
from motionloom.reconstruction import ReconstructSettings
from motionloom.search.settings import (
    FamilySettings,
    NeighbourSettings,
    SearchSettings,
    WebSettings,
)
from motionloom.settings import Settings, described, form, methods_of
from motionloom.store.settings import ImportSettings

# Verb, settings, and names that only one of the two has.
VERBS = [
    (ml.load, LoadSettings, set()),
    (ml.load_markers, LoadMarkersSettings, set()),
    (ml.save, SaveSettings, set()),
    (ml.Motion.save, SaveSettings, set()),
    (convert, ConvertSettings, {"unit", "up", "roles", "to"}),
    (foot_contacts, CleanSettings, {"ease", "shortest", "gap"}),
    (
        ml.Motion.clean_feet,
        CleanSettings,
        {"contacts", "slow", "fast", "rise", "above_floor", "skate"},
    ),
    (ml.Library.add, ImportSettings, set()),
    (ml.Library.search, SearchSettings, {"weights"}),  # None means equal weights
    (ml.Library.family, FamilySettings, {"weights"}),
    (ml.Library.neighbours, NeighbourSettings, set()),
    (ml.Library.build_web, WebSettings, {"workers"}),
    (ml.Library.missing_webs, WebSettings, set()),
    (ml.Library.evaluate, EvaluateSettings, {"workers"}),
    (ml.Library.study, StudySettings, set()),
    (ml.beats, BeatSettings, set()),
    (ml.Library.beats, BeatSettings, set()),
    (ml.Library.choreography, ChoreographySettings, {"takes"}),
    (ml.Library.ballroom, BallroomSettings, {"library"}),
    (ml.Library.march, MarchSettings, {"library"}),
    (ml.Library.dance_floor, DanceFloorSettings, set()),
    (Choreography.dance, DanceSettings, set()),
    (Choreography.dance_to, DanceSettings, set()),
    (ml.Library.blend, BlendSettings, set()),
    (ml.Library.parametrize, ParametrizeSettings, {"name"}),
    (ParametricMotion.reach, SynthesisSettings, {"name"}),
    (ml.Library.motion_graph, GraphSettings, {"workers"}),
    (MotionGraph.walk, WalkSettings, set()),
    (ml.Library.fat_graph, FatGraphSettings, set()),
    (ml.Library.motion_matching, MatchingSettings, set()),
    (ml.Library.reconstruct, ReconstructSettings, set()),
]
NOT_SETTINGS = {"self", "progress"}


@pytest.mark.parametrize(
    ("verb", "settings", "besides"), VERBS, ids=lambda one: getattr(one, "__name__", "")
)
def test_signature_and_settings_agree(verb, settings, besides):
    declared = {}
    for one in fields(settings):
        declared[one.name] = one.default
        if isinstance(one.default, Settings):  # a method: its name, and its options if given
            methods = methods_of(settings, one.name)
            declared[one.name] = next(k for k, kind in methods.items() if kind is type(one.default))
            declared |= {name: None for kind in methods.values() for name in described(kind)}
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


@pytest.mark.parametrize("settings", {cls.__name__: cls for _, cls, _ in VERBS}.values())
def test_every_field_is_explained(settings):
    """A sentence, and the default in brackets after it where the value does not say it."""
    for row in form(settings):
        methods = row.get("methods", {}).values()
        assert row["label"] and all(method["help"] for method in methods), row["name"]
        for each in [row, *(field for method in methods for field in method["fields"])]:
            sentence = re.fullmatch(r"[A-Za-z].*[.]( \[[^\[\]]+\])?", each["help"])
            assert sentence, (each["name"], each["help"])


def test_arguments_of_release_0_1_are_accepted_with_a_warning(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "jog"):
        lib.add_motion(ml.demo.clip(name), name=name, labels=[name])
    with pytest.warns(DeprecationWarning, match=r"search\(within=...\) is now label="):
        old = lib.search("walk:5-40", within="jog", max=2)
    assert [hit.text for hit in old] == [
        hit.text for hit in lib.search("walk:5-40", label="jog", max=2)
    ]
    with pytest.raises(TypeError, match="nonsense"):
        lib.search("walk:5-40", nonsense=1)


def test_a_preset_takes_the_place_of_the_defaults():
    assert SearchSettings(preset="kt10").method == SearchSettings.PRESETS["kt10"]["method"]
    assert SearchSettings.of("dtw", {}, preset="kt10").method.NAME == "lazy"
    refined = SearchSettings.of("dtw", {"k": 64}, preset="kt10").method
    assert (refined.k, refined.bridge, refined.steps) == (64, 0, "classic")
    assert SearchSettings.of("web", {}, preset="kt10").method.NAME == "web"
    with pytest.raises(ml.InvalidInput, match="preset must be one of kg04, kt10, tz07; got 'x'"):
        SearchSettings(preset="x")
    with pytest.raises(ml.InvalidInput, match="weights is not an option of method lazy"):
        SearchSettings.of("dtw", {"weights": "equal"}, preset="kt10")


@pytest.mark.parametrize(
    "settings",
    dict.fromkeys(each for _, each, _ in VERBS if each.PRESETS),
    ids=lambda one: one.__name__,
)
def test_presets_name_fields_and_are_valid(settings):
    for preset, values in settings.PRESETS.items():
        assert "preset" in described(settings)
        assert set(values) <= set(described(settings)), preset
        needed = {}
        if issubclass(settings, CrowdSettings):
            crowd = {"tempo_bpm": 96.0, "points": ((0, 0), (0, 30))}
            needed = {name: crowd[name] for name in crowd if name in described(settings)}
        settings(preset=preset, **needed)
