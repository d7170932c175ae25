"""Settings classes are the interface: written once, and explicit values win over a preset."""

import ast
import importlib
import inspect
import pkgutil
import re
from dataclasses import MISSING, fields, replace
from pathlib import Path

import pytest

import motionloom as ml
from motionloom.blending import BlendSettings, register
from motionloom.crowd import BallroomSettings, DanceFloorSettings, MarchSettings
from motionloom.dance import BeatSettings, Choreography, ChoreographySettings, DanceSettings
from motionloom.evaluation.settings import EvaluateSettings, StudySettings
from motionloom.fat_graph import FatGraphSettings
from motionloom.formats.presets import convert
from motionloom.formats.settings import (
    CleanSettings,
    ConvertSettings,
    GameSettings,
    LoadMarkersSettings,
    LoadSettings,
    SaveSettings,
)
from motionloom.library.annotations import BeatCollection, CaptionCollection, LabelCollection
from motionloom.library.collections import (
    ChoreographyCollection,
    ControllerCollection,
    GraphCollection,
    ParametricCollection,
    WebCollection,
)
from motionloom.motion.feet.contacts import foot_contacts
from motionloom.motion_graph import GraphSettings, MotionGraph, WalkSettings
from motionloom.motion_matching import MatchingDatabase, MatchingSettings, MatchingWalkSettings
from motionloom.parametric.parametric_motion import ParametricMotion
from motionloom.parametric.settings import ParametrizeSettings, SynthesisSettings
from motionloom.reconstruction import ReconstructSettings
from motionloom.search.settings import (
    FamilySettings,
    NeighborSettings,
    SearchSettings,
    WebSettings,
)
from motionloom.settings import Settings, described, json_schema, presets_of
from motionloom.store.settings import ImportSettings
from motionloom.text.settings import ClusterSettings, FindSettings

SRC = Path(ml.__file__).parent
COLLECTIONS = [
    LabelCollection, BeatCollection, CaptionCollection, ParametricCollection, GraphCollection,
    ControllerCollection, ChoreographyCollection, WebCollection,
]  # fmt: skip
VERBS = [
    (ml.load, LoadSettings),
    (ml.load_markers, LoadMarkersSettings),
    (ml.save, SaveSettings),
    (ml.Library.add, ImportSettings),
    (ml.Library.search, SearchSettings),
    (ml.Library.family, FamilySettings),
    (ml.Library.neighbors, NeighborSettings),
    (ml.Library.find, FindSettings),
    (ml.Library.clusters, ClusterSettings),
    (WebCollection.build, WebSettings),
    (WebCollection.missing, WebSettings),
    (ml.Library.evaluate, EvaluateSettings),
    (ml.Library.study, StudySettings),
    (ml.beats, BeatSettings),
    (BeatCollection.of, BeatSettings),
    (ml.Library.choreography, ChoreographySettings),
    (ml.Library.ballroom, BallroomSettings),
    (ml.Library.march, MarchSettings),
    (ml.Library.dance_floor, DanceFloorSettings),
    (Choreography.dance, DanceSettings),
    (Choreography.dance_to, DanceSettings),
    (register, BlendSettings),
    (ml.Library.blend, BlendSettings),
    (ml.Library.parametrize, ParametrizeSettings),
    (ParametricMotion.reach, SynthesisSettings),
    (ml.Library.motion_graph, GraphSettings),
    (MotionGraph.walk, WalkSettings),
    (ml.Library.fat_graph, FatGraphSettings),
    (ml.Library.motion_matching, MatchingSettings),
    (MatchingDatabase.walk, MatchingWalkSettings),
    (MatchingDatabase.export, GameSettings),
    (ml.Library.reconstruct, ReconstructSettings),
]


def settings_classes():
    """Every settings class of the package, by name."""
    for module in sorted(SRC.rglob("settings.py")):
        name = ".".join(("motionloom", *module.relative_to(SRC).with_suffix("").parts))
        importlib.import_module(name)
    for module in pkgutil.iter_modules([str(SRC / "search" / "methods")]):
        importlib.import_module(f"motionloom.search.methods.{module.name}")
    result, left = {}, [Settings]
    while left:
        for each in left.pop().__subclasses__():
            if each.__module__.startswith("motionloom."):
                result[f"{each.__module__}.{each.__qualname__}"] = each
                left.append(each)
    return [result[name] for name in sorted(result)]


CLASSES = settings_classes()


# --- written once ----------------------------------------------------------------------------


@pytest.mark.parametrize(("verb", "settings"), VERBS, ids=lambda value: value.__qualname__)
def test_a_verb_shows_the_fields_of_its_settings_class(verb, settings):
    """The very objects: the signature and the documentation are made from the class."""
    assert verb.settings_class is settings
    shown = inspect.signature(verb).parameters
    for field in fields(settings):
        assert shown[field.name].default is field.default
        assert shown[field.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert re.search(rf"^\s*{field.name} : ", verb.__doc__, re.MULTILINE), field.name
    assert not any(field.kind is field.VAR_KEYWORD for field in shown.values())


def test_every_verb_with_settings_is_known_here():
    """A verb takes settings by `takes`, or is given a whole object, without a default."""
    listed = {verb for verb, _ in VERBS}
    for owner in (ml.Library, *COLLECTIONS):
        for name, verb in public_functions(owner):
            if hasattr(verb, "settings_class"):
                assert verb in listed, name
            elif "settings" in inspect.signature(verb).parameters:
                default = inspect.signature(verb).parameters["settings"].default
                assert default is inspect.Parameter.empty, name


def functions_below(*folders):
    """Every function of the modules in some folders, with the module that it is in."""
    for folder in folders:
        for file in sorted((SRC / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield file, node


def settings_named(node):
    """Settings classes that a function names: by `takes`, or as the type of a parameter."""
    classes = {each.__name__: each for each in CLASSES}
    said = [
        argument for argument in node.decorator_list if ast.unparse(argument).startswith("takes(")
    ]
    said += [
        argument.annotation for argument in all_arguments(node) if argument.annotation is not None
    ]
    words = {word for argument in said for word in re.findall(r"\w+", ast.unparse(argument))}
    return [classes[word] for word in words if word in classes]


def all_arguments(node):
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def options_of(settings, node):
    """Fields that a function takes through a settings class; a command may omit some."""
    notes = [
        ast.unparse(argument.annotation) for argument in all_arguments(node) if argument.annotation
    ]
    (left_out,) = {
        "".join(re.findall(r"without=\([^)]*\)", note))
        for note in notes
        if re.search(rf"\b{settings.__name__}\b", note)
    } or {""}
    return {
        name
        for name, (_, about) in described(settings).items()
        if about.command and f"'{name}'" not in left_out
    }


def test_no_function_of_the_fronts_writes_a_field_again():
    """Default, help and checks of a field are in its class: no `def` declares its name."""
    again, seen = [], 0
    for file, node in functions_below("library", "cli", "studio"):
        for settings in settings_named(node):
            seen += 1
            is_command = file.is_relative_to(SRC / "cli")
            names = options_of(settings, node) if is_command else set(described(settings))
            again += [
                f"{file.relative_to(SRC)}:{node.lineno} {node.name}({argument.arg}) of {settings}"
                for argument in all_arguments(node)
                if argument.arg in names
                and not re.search(r"Settings\b", ast.unparse(argument.annotation))
            ]
    assert seen > 60 and again == []


@pytest.mark.parametrize("settings", CLASSES, ids=lambda value: value.__name__)
def test_every_field_is_explained(settings):
    """A sentence, and the default in brackets after it where the value does not say it."""
    for name, (_, about) in described(settings).items():
        sentence = re.fullmatch(r"[A-Za-z].*[.]( \[[^\[\]]+\])?", about.help)
        assert sentence, (name, about.help)
        assert all(method.__doc__ for method in about.methods.values())
    if all(field.default is not MISSING for field in fields(settings)):
        rows = json_schema(settings)["properties"]
        assert all(row["title"] and row["description"] for row in rows.values())


@pytest.mark.parametrize(
    ("function", "settings", "besides"),
    [
        (
            convert,
            ConvertSettings,
            {"unit", "up", "roles", "target_roles", "to", "animation", "from_unit", "layout"},
        ),
        (foot_contacts, CleanSettings, {"ease", "shortest", "gap", "repairs", "skip"}),
        (
            ml.Motion.clean,
            CleanSettings,
            {"ease", "slow", "fast", "rise", "above_floor", "skate", "skip"},
        ),
        (
            ml.Motion.clean_feet,
            CleanSettings,
            {"contacts", "slow", "fast", "rise", "above_floor", "skate", "repairs", "skip"},
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_commands_on_single_motions_have_the_defaults_of_the_functions(function, settings, besides):
    options = {
        field.name: field.default
        for field in inspect.signature(function).parameters.values()
        if field.kind is field.KEYWORD_ONLY and field.name not in besides
    }
    assert options == {
        field.name: field.default for field in fields(settings) if field.name not in besides
    }


# --- a small surface -------------------------------------------------------------------------


def public_functions(owner):
    """Functions of a class that do not begin with an underscore, by name."""
    for name in dir(owner):
        result = inspect.getattr_static(owner, name)
        result = result.__func__ if isinstance(result, classmethod | staticmethod) else result
        if not name.startswith("_") and inspect.isfunction(result):
            yield f"{owner.__name__}.{name}", result


def test_a_library_has_few_members():
    members = [name for name in dir(ml.Library) if not name.startswith("_")]
    assert 30 < len(members) <= 50, members


def test_no_public_function_has_many_parameters():
    """Functions of the package, of its objects, and of the collections of a library."""
    functions = []
    for name in dir(ml):
        result = getattr(ml, name)
        if name.startswith("_") or inspect.ismodule(result):
            continue
        if inspect.isclass(result):
            functions += public_functions(result)
            if not issubclass(result, Settings | Exception):
                functions.append((name, result.__init__))
        elif callable(result):
            functions.append((name, result))
    for collection in COLLECTIONS:
        functions += public_functions(collection)
    for returned in (Choreography, MotionGraph, MatchingDatabase, ParametricMotion):
        functions += public_functions(returned)
    many = {}
    for name, function in functions:
        count = len(set(inspect.signature(function).parameters) - {"self", "cls"})
        if count > (13 if name == "Library.add" else 12):  # an import reads, repairs and labels
            many[name] = count
    assert len(functions) > 200 and many == {}


def test_a_class_of_settings_is_small():
    assert {item.__name__: len(fields(item)) for item in CLASSES if len(fields(item)) > 14} == {}


# --- objects and fields ----------------------------------------------------------------------


def test_a_verb_takes_fields_an_object_or_both(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "jog"):
        lib.add_motion(ml.demo.clip(name), name=name, labels=[name])
    some = SearchSettings(label="jog", max=2)
    matches = [hit.text for hit in lib.search("walk:5-40", some)]
    assert matches == [hit.text for hit in lib.search("walk:5-40", label="jog", max=2)]
    assert matches[:1] == [hit.text for hit in lib.search("walk:5-40", some, max=1)]
    with pytest.raises(
        ml.InvalidInput, match="SearchSettings has no nonsense; its fields are label"
    ):
        lib.search("walk:5-40", nonsense=1)
    with pytest.raises(ml.InvalidInput, match=r"write method=LazyGraph\(k=\.\.\.\)"):
        lib.search("walk:5-40", k=3)
    with pytest.raises(ml.InvalidInput, match=r"settings must be a SearchSettings object; got"):
        lib.search("walk:5-40", FindSettings())


# --- explicit wins over presets ---------------------------------------------------------------

NEEDED = {"tempo_bpm": 96.0, "points": ((0.0, 0.0), (0.0, 30.0))}  # a crowd has no default
PRESETS = [(cls, name) for cls in CLASSES for name in presets_of(cls)]


def needed_by(cls):
    is_crowd = issubclass(cls, BallroomSettings | MarchSettings)
    return {name: NEEDED[name] for name in NEEDED if is_crowd and name in described(cls)}


def flat(settings):
    """Every flat option of settings, as `Settings.of` takes them: name to owner and value."""
    own = {field.name: getattr(settings, field.name) for field in fields(settings)}
    result = {
        name: (type(settings), value)
        for name, value in own.items()
        if not isinstance(value, Settings)
    }
    for value in own.values():
        if isinstance(value, Settings):
            for field in fields(value):
                if field.name not in own:
                    result.setdefault(field.name, (type(value), getattr(value, field.name)))
    return result


def usual(cls, settings):
    """The flat options of `settings`, each with its default: of its class or of its group."""
    fresh = flat(cls(**needed_by(cls)))
    kinds = flat(settings)
    return {
        name: fresh[name][1]
        if name in fresh and fresh[name][0] is kind
        else next(field.default for field in fields(kind) if field.name == name)
        for name, (kind, _) in kinds.items()
    }


def test_presets_are_found():
    names = {f"{cls.__name__}.{name}" for cls, name in PRESETS}
    assert len(PRESETS) >= 18 and names >= {
        "SearchSettings.kg04", "SearchSettings.kt10", "SearchSettings.tz07", "FamilySettings.kg04",
        "NeighborSettings.kt10", "WebSettings.kg04", "EvaluateSettings.tz07", "BeatSettings.kp03",
        "ChoreographySettings.kp03", "DanceSettings.kp03", "BallroomSettings.kp03",
        "MarchSettings.kp03", "ParametrizeSettings.kg04", "SynthesisSettings.kg04",
        "GraphSettings.kr14", "FatGraphSettings.kt10", "LazyGraph.kt10", "MatchWeb.kg04",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cls", "name"), PRESETS, ids=lambda value: getattr(value, "__name__", value)
)
def test_explicit_values_win_over_a_preset_even_if_they_are_the_default(cls, name):
    """Each option alone, with the value that it has without the preset; all others stay."""
    make, needed = getattr(cls, name), needed_by(cls)
    paper = make(**needed)
    assert type(paper) is cls and cls.from_preset(name, **needed) == paper
    defaults, differ = usual(cls, paper), 0
    for option, (_, value) in flat(paper).items():
        explicit = defaults[option]
        made = make(**{**needed, option: explicit})
        expected = {key: item for key, (_, item) in flat(paper).items()} | {option: explicit}
        assert {key: item for key, (_, item) in flat(made).items()} == expected, option
        assert make(**{**needed, option: value}) == paper, option
        differ += explicit != value
    assert differ >= 1 or name in ("kg04", "kt10", "tz07")


@pytest.mark.parametrize(
    ("cls", "name"), PRESETS, ids=lambda value: getattr(value, "__name__", value)
)
def test_fields_of_a_call_win_over_the_preset_that_it_is_given(cls, name):
    """As in ``lib.search(query, SearchSettings.kg04(), max=100)``: all defaults, one by one."""
    paper, fresh = getattr(cls, name)(**needed_by(cls)), cls(**needed_by(cls))
    for field in fields(cls):
        explicit = getattr(fresh, field.name)
        made = cls.given(paper, {field.name: explicit})
        assert made == replace(paper, **{field.name: explicit})
        assert getattr(made, field.name) == explicit


def test_a_preset_takes_the_place_of_the_defaults():
    kt10 = SearchSettings.kt10()
    assert kt10.method == ml.LazyGraph.kt10() and kt10.method.NAME == "lazy"
    refined = SearchSettings.kt10(k=64).method
    assert (refined.k, refined.bridge, refined.steps) == (64, 0, "classic")
    assert SearchSettings.kt10(method="lazy").method == kt10.method
    assert SearchSettings.kt10(method="web").method == ml.MatchWeb()
    assert SearchSettings.kt10(method=ml.LazyGraph()).method == ml.LazyGraph()
    assert SearchSettings.kg04().expansion.rounds is None
    assert SearchSettings.kg04(tiers=1).expansion == replace(ml.Expansion.kg04(), tiers=1)
    with pytest.raises(ml.InvalidInput, match="preset must be one of kg04, kt10, tz07; got 'x'"):
        SearchSettings.from_preset("x")
    with pytest.raises(ml.InvalidInput, match="weights is not an option of method lazy"):
        SearchSettings.kt10(weights="equal")


@pytest.mark.parametrize(
    ("cls", "name"), PRESETS, ids=lambda value: getattr(value, "__name__", value)
)
def test_presets_are_kept_as_json(cls, name):
    paper = getattr(cls, name)(**needed_by(cls))
    if cls is not EvaluateSettings:  # its methods are objects by name
        assert cls.from_json(paper.to_json()) == paper


@pytest.mark.parametrize("names", [3, [2], ["walk", None], [["walk"]], {1: 2}])
def test_names_are_strings(names):
    """A request with a number among the names failed in the middle of the work."""
    with pytest.raises(ml.InvalidInput, match="only must be one or several names"):
        GraphSettings.from_json({"only": names})


ODD_VALUES = [
    0, -1, 2**70, 10**400, 1e308, float("nan"), True, None, "", "\ud800", "a" * 400, [], [1], [[]],
    [None], {}, {"name": 1}, {"name": []}, [[1, 2], [3]],
]  # fmt: skip


@pytest.mark.parametrize("cls", settings_classes(), ids=lambda cls: cls.__name__)
def test_any_json_value_is_accepted_or_refused_in_one_line(cls):
    """Settings come in requests and in received libraries."""
    for each in fields(cls):
        for value in ODD_VALUES:
            try:
                cls.from_json({each.name: value}).to_json()
            except ml.MotionloomError as error:
                assert "\n" not in str(error) and len(str(error)) < 2000
