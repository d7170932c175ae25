"""The first search by words: first results, and captions that survive an interruption."""

import pytest
from commands import ran

import motionloom as ml
from motionloom.store.artifacts import row_table
from motionloom.text import caption_table

TAKES = ("walk", "jog", "kick_front_high_right", "punch_mid_left")
SO_FAR = caption_table._SO_FAR


class Stopped(Exception):
    pass


@pytest.fixture
def lib(tmp_path, monkeypatch):
    """A library in which four motions are many, described one at a time in this process."""
    monkeypatch.setattr(caption_table, "MANY", 2)
    monkeypatch.setattr(row_table, "BATCH_FRAMES", 1)
    library = ml.Library.create(tmp_path / "takes.loom")
    for name in TAKES:
        library.add_motion(ml.demo.clip(name), name=name)
    return library


@pytest.fixture
def described(monkeypatch):
    """Names of the motions that were described."""
    names, describe = [], caption_table.described

    def spy(motion):
        names.append(motion.name)
        return describe(motion)

    monkeypatch.setattr(caption_table, "described", spy)
    return names


def stop_after(described, count=1):
    """Progress that stops the search when `count` motions are described."""

    def progress(_steps):
        if len(described) >= count:
            raise Stopped

    return progress


def test_captions_survive_an_interruption(lib, described):
    with pytest.raises(Stopped):
        lib.find("kick", progress=stop_after(described))
    kept = len(SO_FAR.stored(lib.store))
    assert 1 <= kept <= len(described) < len(TAKES)
    described.clear()
    results = lib.find("kick")
    assert len(described) == len(TAKES) - kept, "the other motions are described"
    assert not lib.artifacts.names("captions-so-far")
    other = ml.Library.create(lib.path.parent / "other.loom")
    for name in TAKES:
        other.add_motion(ml.demo.clip(name), name=name)
    assert [*other.find("kick")] == [*results]


def test_damaged_captions_of_an_interrupted_search_are_described_again(lib, described):
    with pytest.raises(Stopped):
        lib.find("kick", progress=stop_after(described))
    (key, row), = SO_FAR.stored(lib.store).items()  # fmt: skip
    SO_FAR.keep(lib.store, {key: [row[0], [1.0, 2.0], row[2]]})  # too few statistics
    assert lib.find("kick").motions[0] == "kick_front_high_right"
    for wrong in ([[], None], [[["a"]], None, ""], [[], [float("nan")], ""], [[], None, 3], 7):
        assert not caption_table._is_row(wrong)


def test_first_results_come_before_the_motions_are_described(lib, described):
    seen = []
    lib.find("kick", so_far=lambda results: seen.append((results.motions, len(described))))
    assert seen == [(("kick_front_high_right",), 0)]
    lib.find("kick", so_far=lambda _: pytest.fail("everything is described"))
    lib.add_motion(ml.demo.clip("walk_left"), name="walk_left")
    lib.find("kick", so_far=lambda _: pytest.fail("one motion is not many"))


def test_first_results_use_the_captions_of_an_interrupted_search(lib, described):
    with pytest.raises(Stopped):
        lib.find("kick", progress=stop_after(described))
    seen = []
    lib.find("forward", so_far=seen.append)
    assert "caption" in {source for each in seen[0] for source in each.sources}


def test_the_command_prints_first_results(lib, monkeypatch):
    shown = ran("find", lib.path, "punch")
    assert "first results, from names, labels" in shown.stderr
    assert "  punch_mid_left" in shown.stderr and "first results" not in shown.stdout
    assert "first results" not in ran("find", lib.path, "punch").stderr
