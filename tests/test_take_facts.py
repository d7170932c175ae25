"""Facts about takes are found once, kept with the library, and found again if damaged."""

import commands
import pytest
from test_loops import cycle

import motionloom as ml
from motionloom.dance.settings import BeatSettings
from motionloom.motion_graph import artifact
from motionloom.motion_graph.settings import GraphSettings
from motionloom.store import Store
from motionloom.store.take_facts import TakeFacts

LENGTHS = TakeFacts("lengths", 1, lambda fact: type(fact) is int)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "takes.loom"
    with ml.Library.create(path) as lib:
        for name in ("walk", "walk_fast"):
            lib.add_motion(ml.demo.clip(name), name=name)
        lib.add_motion(cycle("walk"), name="cycle")
    return path


@pytest.fixture
def read(monkeypatch):
    """Names of the takes that were read."""
    names, get = [], Store.__getitem__

    def getitem(store, name):
        names.append(name)
        return get(store, name)

    monkeypatch.setattr(Store, "__getitem__", getitem)
    return names


def test_no_take_is_read_to_say_that_there_is_no_graph(path, read):
    out = commands.ran("graph", path, "info").stdout
    assert "3 motions" in out and "not built yet" in out
    assert not read


def test_takes_are_examined_once_for_a_graph(path, monkeypatch):
    examined = []

    def counted(function):
        return lambda motion: (examined.append((function.__name__, motion.name)), function(motion))[
            1
        ]

    monkeypatch.setattr(artifact, "grave_fault", counted(artifact.grave_fault))
    monkeypatch.setattr(artifact, "loop_range", counted(artifact.loop_range))
    settings = GraphSettings(max_distance=1.0)
    for _ in range(2):
        with ml.Library(path) as lib:
            lib.graphs.edited(settings, workers=1)
            assert lib.graphs.is_built(settings)
    faults = [("grave_fault", name) for name in ("cycle", "walk", "walk_fast")]
    assert sorted(examined) == [*faults, ("loop_range", "cycle")]


def test_facts_follow_the_frames_of_a_take(path):
    with ml.Library(path) as lib:
        store, examined = lib.store, []

        def find(name):
            examined.append(name)
            return len(lib[name])

        def lengths():
            keys = {entry.name: entry.key for entry in store.entries()}
            return LENGTHS.values(store, keys, find)

        assert lengths() == lengths() == {name: len(lib[name]) for name in lib.names}
        assert examined == list(lib.names)
        walk = lib["walk"]
        lib.remove("walk")
        lib.add_motion(walk, name="renamed")
        lib.add_motion(walk[:60], name="walk")
        assert lengths()["walk"] == 60 and lengths()["renamed"] == len(walk)
        assert examined[3:] == ["walk"]  # the renamed take keeps its fact
        lib.artifacts.save("lengths", "detected", {"version": 1, "lengths": {"a": "long"}})
        assert LENGTHS.stored(store) == {}
        assert lengths()["walk"] == 60  # found again


def test_facts_of_a_library_that_cannot_be_written_are_kept_for_the_process(path, monkeypatch):
    facts, examined = TakeFacts("lengths", 1, lambda fact: type(fact) is int), []
    with ml.Library(path) as lib:

        def refuse(*_):
            raise OSError("read-only")

        monkeypatch.setattr(lib.store.artifacts, "save", refuse)
        for _ in range(2):
            facts.values(lib.store, {"walk": "k"}, lambda name: examined.append(name) or 7)
        assert facts.known(lib.store, {"walk": "k", "walk_fast": "other"}) == {"walk": 7}
        assert examined == ["walk"]


def test_a_choreography_skips_takes_that_are_known_to_have_no_rhythm(tmp_path, monkeypatch):
    from motionloom.dance.motion_beats import manual_beats

    analyzed, analyze = [], manual_beats.analyze_beats

    def counted(motions, settings):
        analyzed.append(motions[0].name)
        return analyze(motions, settings)

    monkeypatch.setattr(manual_beats, "analyze_beats", counted)
    with ml.Library.create(tmp_path / "takes.loom") as lib:
        for name in ("dance_groove", "sit_stand"):
            lib.add_motion(ml.demo.clip(name), name=name)
        steps = []
        first = lib.choreography(meter=4, progress=steps.append)
        assert "no rhythm (confidence 0." in first.left_out["sit_stand"]
        again = lib.choreography(meter=4, progress=steps.append)
        assert analyzed == ["dance_groove", "sit_stand", "dance_groove"]
        assert sum(steps) == 4 and again.left_out == first.left_out
        assert len(again.movements) == len(first.movements)
        assert lib.beats.tempos()["sit_stand"] is None
        with pytest.raises(ml.errors.InvalidInput, match="no take has a rhythm .*confidence"):
            lib.choreography(only=["sit_stand"])
        assert len(analyzed) == 3
        # With other settings of the beats, the take is analyzed again.
        lib.choreography(meter=4, beats=BeatSettings(tempo_bpm=(40.0, 200.0)))
        assert analyzed[3:] == ["dance_groove", "sit_stand"]
