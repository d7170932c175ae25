"""Finding by words, learned words, synonyms, and labels in files."""

import hashlib
import itertools
import json
import sqlite3
import threading
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import InvalidInput, LibraryError
from motionloom.evaluation.settings import SentenceSettings
from motionloom.library import evaluate_sentences
from motionloom.text import caption_table, text_search, vocabulary
from motionloom.text import learned_words as learned
from motionloom.text.caption_table import KIND as CAPTIONS
from motionloom.text.caption_table import caption_table as open_table
from motionloom.text.described_takes import FILE, described_takes, read_described_takes
from motionloom.text.label_files import read_labels
from motionloom.text.text_index import KIND as INDEX
from motionloom.text.text_index import (
    IndexedEvent,
    IndexedTake,
    TextIndex,
    open_index,
    write_takes,
)
from motionloom.text.text_search import find, locate, query_parts

CLIPS = (
    "walk", "jog", "kick_front_high_right", "kick_side_high_left", "punch_mid_left", "sit_stand",
    "jump_turn_left", "cartwheel_left", "reach_front_high_right", "walk_left_tight",
)  # fmt: skip


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    library = ml.Library.create(tmp_path_factory.mktemp("words") / "takes.loom")
    for n, name in enumerate(CLIPS):  # names say nothing
        library.add_motion(ml.demo.clip(name), name=f"take_{n}")
    return library


def named(result):
    return [CLIPS[int(name.removeprefix("take_"))] for name in result.motions]


@pytest.mark.parametrize(
    ("text", "clip"),
    [
        ("right foot kicks high", "kick_front_high_right"),
        ("somebody kicking sideways with his left leg", "kick_side_high_left"),
        ("boxing with the left fist", "punch_mid_left"),
        ("a person sits down on a chair, then stands up", "sit_stand"),
        ("jumps and turns left in the air", "jump_turn_left"),
        ("handstand", "cartwheel_left"),
        ("jogging", "jog"),
        ("walking in a circle", "walk_left_tight"),
        ("raises the right hand above the head", "reach_front_high_right"),
    ],
)
def test_a_motion_is_found_by_what_it_shows(lib, text, clip):
    assert named(lib.find(text))[0] == clip


def test_the_segment_the_words_and_the_order_are_reported(lib):
    best = lib.find("sits down, then stands up")[0]
    assert best.text == "sits down; stands up" and best.start_frame < best.end_frame
    assert set(best.words) == {"sit", "down", "stand", "up"} and "caption" in best.sources
    assert 0.2 < best.start < best.end <= lib["take_5"].duration and not best.whole
    # The other way round no take has it, so that only one of the events is named.
    assert "; " not in lib.find("stands up, then sits down")[0].text


def test_every_kick_of_a_long_take_is_found(tmp_path, monkeypatch):
    performed = ml.demo.annotated("take_strikes")
    library = ml.Library.create(tmp_path / "long.loom")
    library.add_motion(performed.motion, name="long")
    library.add_motion(ml.demo.clip("walk"), name="walk")
    kicks = [act for act in performed.truth.actions if act.action == "kick"]
    matches = [each for each in library.find("kicks", max=None, every=True) if not each.whole]
    assert len(library.find("kicks", max=None)) < len(matches)
    there = [
        sum(
            each.start_frame < act.end_frame and act.start_frame < each.end_frame
            for each in matches
        )
        for act in kicks
    ]
    assert len(kicks) >= 8 and there.count(1) >= 0.8 * len(kicks) and max(there) == 1
    ends = sorted((each.start_frame, each.end_frame) for each in matches)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))
    # No more segments are looked for than are wanted.
    looked = []
    monkeypatch.setattr(
        text_search, "locate", lambda *given: looked.append(given) or locate(*given)
    )
    few = library.find("kicks", max=3, every=True)
    assert list(few) == list(library.find("kicks", max=None, every=True))[:3]
    assert len(list(few)) == 3 and len(looked) >= len(matches)
    looked.clear()
    library.find("kicks", max=3, every=True)
    assert len(looked) <= 3 * len(library)
    # A motion without a matching event has no clip, even if its name contains some of the words.
    done = ran("find", library.path, "kick with the right leg", "--every", "--export",
               tmp_path / "clips")  # fmt: skip
    assert done.returncode == 0, done.stderr
    files = {path.name for path in (tmp_path / "clips").iterdir()}
    assert len(files) >= 4 and all("_long_" in name for name in files)


def test_events_are_taken_in_the_order_of_the_query():
    kick, turn = (
        IndexedEvent(a, a + 10, text, frozenset(vocabulary.words(text)), "caption")
        for a, text in ((10, "kicks"), (40, "turns left"))
    )
    wave = IndexedEvent(5, 30, "waves", frozenset({"wave"}), "caption")
    events = [wave, kick, turn]

    def located(text):
        parts = query_parts(text, vocabulary.words)
        score, chosen = locate(events, parts, lambda word: 1.0)
        return round(score, 2), [event.text for event, _ in chosen]

    assert located("kick, then turn left") == (1.0, ["kicks", "turns left"])
    assert located("turn left, then kick")[0] < 1.0
    assert located("wave while kicking") == (1.0, ["waves", "kicks"])
    assert located("wave while turning left")[0] < 1.0


def test_the_other_side_comes_last_and_is_marked(lib):
    for text, right, wrong, word in (
        ("kicks with the right foot", "kick_front_high_right", "kick_side_high_left", "left"),
        ("kicks with the left foot", "kick_side_high_left", "kick_front_high_right", "right"),
    ):
        matches = lib.find(text, max=None)
        names = [CLIPS[int(each.motion.removeprefix("take_"))] for each in matches]
        assert names[0] == right and matches[0].differs == ()
        marked = matches[names.index(wrong)]
        assert marked.differs == (word,) and f"(differs: {word})" in marked.marked_text
        after = matches[names.index(wrong) + 1 :]
        assert all(each.differs for each in after)
    done = ran("find", lib.path, "kicks with the right foot", "--max", "99")
    assert "(differs: left)" in done.stdout
    assert lib.find("turns counter-clockwise")[0].differs == ()
    assert all(not each.differs for each in lib.find("kicks with the left and the right foot"))


def test_numbers_are_respected():
    index = memory_index({
        "one": ["jumps up"], "two": ["jumps up twice"], "apart": ["jumps up", "jumps forward"],
        "three": ["jumps up three times"], "left": ["turns left by 90 degrees"],
        "far": ["turns left by 180 degrees"],
    })  # fmt: skip
    assert set(find(index, "jumps twice").motions[:2]) == {"two", "apart"}
    assert find(index, "three jumps").motions[0] == "three"
    assert find(index, "turns 90 degrees to the left").motions[0] == "left"
    assert find(index, "turns 180 degrees").motions[0] == "far"


def test_order_is_respected_even_if_names_contain_the_words():
    index = memory_index(
        {"a": ["kicks", "punches"], "b": ["punches", "kicks"], "kick": ["kicks"]}
        | {f"punch_{n}": ["punches"] for n in range(8)}
        | {f"walk_{n}": ["walks"] for n in range(12)},
        named=True,
    )
    assert find(index, "kicks, then punches").motions[0] == "a"
    assert find(index, "punches, then kicks").motions[0] == "b"


def test_names_show_the_side_if_captions_do_not():
    names = ("cartwheel_right", "cartwheel_left", "unknown")
    index = memory_index({name: ["does a cartwheel"] for name in names}, named=True)
    matches = find(index, "cartwheel to the left")
    assert matches.motions == ("cartwheel_left", "unknown", "cartwheel_right")
    assert matches[2].differs == ("right",)


def test_walking_there_and_back_is_not_walking_backwards():
    index = memory_index({"return": ["walks forward around to the left and back"],
                          "backwards": ["walks backwards straight"]})  # fmt: skip
    matches = find(index, "walks backwards")
    assert matches.motions == ("backwards", "return") and matches[1].differs == ("forward",)
    assert find(index, "walks back").motions[0] == "return"


def memory_index(captions, *, named=False):
    takes = []
    for name in sorted(captions):
        events = [
            IndexedEvent(30 * k, 30 * k + 20, text, frozenset(vocabulary.words(text)), "caption",
                         text.split()[0])
            for k, text in enumerate(captions[name])
        ]  # fmt: skip
        said = [word for event in events for word in vocabulary.words(event.text)]
        own = vocabulary.words(name) if named else []
        takes.append(IndexedTake(name, 30.0, 300, own, said, events))
    connection = sqlite3.connect(":memory:")
    write_takes(connection, takes)
    return TextIndex(connection, None, vocabulary.built_in_synonyms())


def test_unknown_words_are_ignored_with_a_note(lib):
    matches = lib.find("kicks a blorp")
    assert named(matches)[0].startswith("kick") and matches.unknown == {"blorp": ""}
    done = ran("find", lib.path, "kicks a blorp")
    assert done.returncode == 0
    assert "no motion is described by 'blorp'; the word was ignored" in done.stderr
    assert lib.find("kicks a baskitbol").suggestions["baskitbol"][0] == "basketball"


def test_words_are_shown_as_people_spell_them(lib):
    index = open_index(lib.store)
    stems = ("danc", "balanc", "walk")
    assert [index.shown(word) for word in stems] == ["dance", "balance", "walk"]
    shown = {word for m in range(len(CLIPS)) for word, _ in lib.captions.words(f"take_{m}", 50)}
    assert "balance" in shown and "balanc" not in shown
    assert lib.find("danze").unknown == {"danze": "dance"}


def test_filters_and_numbers_of_results(lib):
    assert len(lib.find("walk", max=1)) == 1
    assert lib.find("kick", exclude="take_2").motions[0] == "take_3"
    with pytest.raises(InvalidInput, match="max must be at least 1"):
        lib.find("walk", max=0)


def test_invalid_queries_are_reported_in_one_clear_line(lib):
    for text, message in (
        ("", "text must contain at least one word"),
        ("the a of", "at least one meaningful word"),
        ("kick " * 2000, "at most 2000 characters; got 10000"),
    ):
        with pytest.raises(InvalidInput, match=message):
            lib.find(text)
    for text, message in (
        ("プリンをたべる", "no motion is described by 'プリンをたべる'"),
        ("прыжок вверх", "no motion is described by"),
        ("xyzzyq", "no motion is described by 'xyzzyq'; use English words, or words from your"),
        ("baskitbol", "no motion is described by 'baskitbol'; did you mean basketball?"),
        ("kick\x1b[31m", r"text must not have control characters; got '\x1b'"),
        ("kick\x00", r"text must not have control characters; got '\x00'"),
        ("", "text must contain at least one word"),
        ("kick " * 2000, "at most 2000 characters"),
    ):
        done = ran("find", lib.path, text)
        assert done.returncode == 2 and done.stdout == "", text
        assert message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not lib.find("プリンをたべる") and "プリンをたべる" in lib.find("プリンをたべる").unknown
    assert len(lib.find('"; DROP TABLE takes --', max=3)) <= 3
    assert lib.find("cartwhel").unknown == {"cartwhel": "cartwheel"}
    assert named(lib.find("cartwhel"))[0] == "cartwheel_left"


def test_results_are_exported_without_motions_that_show_nothing_of_the_text(lib, tmp_path):
    done = ran("find", lib.path, "cartwheel", "--export", tmp_path / "out", "--to", "glb")
    listed = [line.split("  ")[0] for line in done.stdout.splitlines()]
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert done.returncode == 0 and len(files) == len(listed) < len(lib)
    assert all(name.startswith(f"{k:03d}_") for k, name in enumerate(files, 1))
    assert {name.rsplit(".")[-1] for name in files} == {"glb"}
    wrong = ran("find", lib.path, "cartwheel", "--export", tmp_path / "no", "--to", "xyz")
    assert wrong.returncode == 2 and "motions cannot be written as 'xyz'" in wrong.stderr
    assert not (tmp_path / "no").exists()


def test_labels_are_found_at_once_and_change_the_index(lib):
    lib.labels.add("take_0:10-40", "moonwalk")
    matches = lib.find("moonwalk")
    assert str(matches[0]) == "take_0:10-40" and matches[0].sources == ("label",)
    lib.labels.remove("take_0:10-40", "moonwalk")
    assert len(lib.find("moonwalk")) == 0
    assert len([item for item in lib.artifacts.list() if item.kind == INDEX]) == 1


def test_takes_that_are_added_meanwhile_do_not_stop_a_search(tmp_path, monkeypatch):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("walk"), name="walk")
    whole = caption_table.caption_table

    def add() -> None:
        with suppress(LibraryError):  # another process waits until the index is built
            other = ml.Library(library.path, timeout=0.1)
            other.add_motion(ml.demo.clip("jog"), name="jog")
            other.labels.add("walk", "stroll")

    def captioned(*args, **options):
        captions = whole(*args, **options)
        thread = threading.Thread(target=add)
        thread.start()
        thread.join()
        return captions

    monkeypatch.setattr(caption_table, "caption_table", captioned)
    assert library.find("walk").motions[0] == "walk"
    add()
    assert set(library.find("stroll or jog").motions) == {"jog", "walk"}


def test_an_index_with_impossible_counts_is_rebuilt(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("walk"), name="walk")
    wanted = library.find("walks forward")[0]
    (index,) = library.path.glob("derived/text-index.*/index.sqlite")
    with sqlite3.connect(index) as connection:
        connection.execute("UPDATE vocabulary SET takes = 1 << 60")
    (index.parent / "checks.json").unlink()
    assert ml.Library(library.path).find("walks forward")[0] == wanted


def test_own_synonyms_are_used(lib):
    own = lib.path / "synonyms.txt"
    own.write_text("kick: zonk  # ours\n", encoding="utf-8")
    try:
        assert named(lib.find("zonk with the left foot"))[0] == "kick_side_high_left"
        own.write_text("kick zonk\n", encoding="utf-8")
        with pytest.raises(InvalidInput, match=r"line 1: expected WORD: SYNONYM"):
            lib.find("zonk")
    finally:
        own.unlink()


def test_damaged_artifacts_are_rebuilt(lib):
    index = open_index(lib.store)
    index.connection.close()
    folder = lib.path / "derived"
    for path in folder.glob(f"{INDEX}.*/index.sqlite"):
        path.write_bytes(b"no database")
    for path in folder.glob(f"{CAPTIONS}.*/captions.json.z"):
        path.write_bytes(b"no captions")
    assert named(lib.find("handstand"))[0] == "cartwheel_left"


def test_a_label_without_meaning_does_not_lower_the_rank(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    for name, label in (("walk", "walk, calm"), ("jump_up", "clean"), ("sit_stand", "a jump cut")):
        library.add_motion(ml.demo.clip(name), name=f"m_{name[0]}", labels=[label])
    index = open_index(library.store)
    assert dict(zip(index.names, index.descriptive, strict=True)) == {
        "m_j": False, "m_s": True, "m_w": True,
    }  # fmt: skip
    # By label only the seated one would be found; by what it shows, the one labeled "clean".
    assert set(library.find("jumps up").motions[:2]) == {"m_j", "m_s"}


# --- words ------------------------------------------------------------------------------------


def test_words_of_all_forms_are_the_same():
    same = vocabulary.words("He was running and kicks backwards; JUMPED, sitting down!")
    assert same == ["run", "kick", "backward", "jump", "sit", "down"]
    assert vocabulary.words("kick_front-2") == ["kick", "forward", "2"]
    assert vocabulary.expanded(["jog"]) == {"jog": 1.0, "run": 0.5}


def test_every_synonym_has_one_meaning():
    text = (vocabulary.resources.files("motionloom.text") / "synonyms.txt").read_text("utf-8")
    rows = [line.partition("#")[0] for line in text.splitlines()]
    heads = Counter(word for row in rows if ":" in row for word in row.partition(":")[2].split())
    assert [word for word, count in heads.items() if count > 1] == []


def test_words_of_motions_without_descriptions_are_those_of_their_kind():
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    statistics = 3.0 * np.eye(3)[kind] + 0.1 * rng.normal(size=(60, 3))
    said = [["walk"], ["run", "fast"], ["sit"]]
    texts = [(m, said[kind[m]]) for m in range(0, 60, 2)]
    result = learned.learn_words(statistics, texts)
    for m in range(1, 60, 2):  # motions without a description
        best, share = result.words_of(m, 1)[0]
        assert best in said[kind[m]] and share > 0.5
    assert result.scores(["unheard"]).max() == 0.0
    assert learned.learn_words(statistics, texts[:5]) is None


def test_predictions_without_a_performer_are_exact():
    rng = np.random.default_rng(1)
    x, y, weights = rng.normal(size=(30, 4)), rng.normal(size=(30, 2)), rng.uniform(0.5, 2.0, 30)
    groups = np.arange(30) // 7
    _, left_out = learned.ridge_regression(x, y, weights, [str(g) for g in groups])
    for g in range(5):
        rest, own = groups != g, groups == g
        part, _ = learned.ridge_regression(x[rest], y[rest], weights[rest], ["all"] * rest.sum())
        np.testing.assert_allclose(left_out[own], x[own] @ part, atol=1e-10)


def test_a_library_without_labels_has_words(lib):
    takes = described_takes()
    assert open_index(lib.store).learned.descriptions > 1000
    assert FILE.stat().st_size <= 2_000_000
    assert takes.scores.shape[1] == open_table(lib.store).statistics.shape[1]
    for name, word in (("walk", "walk"), ("jog", "run"), ("jump_turn_left", "jump")):
        assert lib.captions.words(f"take_{CLIPS.index(name)}")[0][0] == word
    assert named(lib.find("acrobatics"))[0] == "cartwheel_left"
    others = takes.without(lambda name: name.startswith("01_"))
    assert len(others) < len(takes) and "01_01" not in others.names


def test_damaged_described_takes_are_refused(tmp_path):
    copy = tmp_path / FILE.name
    data = FILE.read_bytes()
    copy.write_bytes(data)
    copy.with_suffix(".sha256").write_bytes(FILE.with_suffix(".sha256").read_bytes())
    assert len(read_described_takes(copy)) == len(described_takes())
    copy.write_bytes(data[:-9] + b"!" + data[-8:])
    with pytest.raises(LibraryError, match="checksum differs; install motionloom again"):
        read_described_takes(copy)
    copy.write_bytes(b"nothing")
    copy.with_suffix(".sha256").write_text(hashlib.sha256(b"nothing").hexdigest())
    with pytest.raises(LibraryError, match="the described takes are damaged"):
        read_described_takes(copy)
    copy.unlink()
    with pytest.raises(LibraryError, match="the described takes are damaged"):
        read_described_takes(copy)


@pytest.mark.slow
def test_words_are_learned_from_labels(tmp_path):
    library = ml.Library.create(tmp_path / "learn.loom")
    for n in range(24):
        name = ("walk", "kick_front_mid_right")[n % 2]
        motion = ml.demo.clip(name, performer=n % 4, seed=n)
        labels = [("florp", "grault")[n % 2]] if n < 22 else []
        library.add_motion(motion, name=f"take_{n}", labels=labels)
    assert library.captions.words("take_22")[0][0] == "florp"
    assert library.find("grault", exclude=[f"take_{n}" for n in range(22)]).motions[0] == "take_23"
    assert library.labels["take_22"] == ()  # labels of people are never written
    words = dict(library.captions.words("take_23"))
    assert words["grault"] > 0.5 and all(0.0 <= share <= 1.0 for share in words.values())


# --- label files --------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".json", ".eaf"])
def test_labels_go_to_a_file_and_back(tmp_path, suffix):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("walk"), name="walk")
    library.labels.add("walk:30-60", "calm, slow <&>")
    library.labels.add("walk:45-90", "über")
    file = tmp_path / f"walk{suffix}"
    assert library.labels.write(file) == 2
    before = library.labels.segments("walk")
    for part, text in before:
        library.labels.remove(str(part), text)
    assert library.labels.read(file) == {"labels": 2, "motions": 1, "unmatched": 0}
    assert library.labels.segments("walk") == before


def test_whole_motions_keep_their_labels_in_files(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("walk"), name="walk", labels=["stroll"])
    for suffix in (".csv", ".json"):
        library.labels.write(tmp_path / f"all{suffix}")
        library.labels["walk"] = []
        library.labels.read(tmp_path / f"all{suffix}")
        assert library.labels["walk"] == ("stroll",)


def test_labels_as_babel_writes_them(tmp_path):
    content = {
        "1234": {
            "feat_p": "CMU/CMU/01/walk_poses.npz",
            "seq_ann": {"labels": [{"raw_label": "walks", "proc_label": "walk"}]},
            "frame_ann": {
                "labels": [{"raw_label": "turn", "proc_label": "", "start_t": 1.0, "end_t": 2.5}]
            },
        }
    }
    (tmp_path / "babel.json").write_text(json.dumps(content))
    rows = read_labels(tmp_path / "babel.json")
    assert [(row.motion, row.label, row.start) for row in rows] == [
        ("CMU/CMU/01/walk", "walk", None), ("CMU/CMU/01/walk", "turn", 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "x", "label files must be .csv, .eaf, .json"),
        ("a.csv", "file,start\nwalk,1\n", "expected the columns motion, start, end, label"),
        ("a.csv", "motion,start,end,label\nwalk,x,2,a\n", "line 2: expected a number, found 'x'"),
        ("a.csv", "motion,start,end,label\nwalk,1,,a\n", "start and end must both be given"),
        ("a.csv", "motion,start,end,label\nwalk,3,2,a\n", "must be before the end"),
        ("a.csv", "motion,start,end,label\nwalk,99,100,a\n", "starts at frame 2970, but"),
        (
            "a.csv",
            "motion,start,end,label\nrun,1,2,a\n",
            "no label in this file refers to",
        ),
        ("a.json", "{", "not a valid JSON file"),
        ("a.json", "[]", "expected a JSON object with one entry per motion"),
        (
            "a.json",
            '{"walk": {"frame_ann": {"labels": [{"raw_label": "a"}]}}}',
            "must have start_t",
        ),
        ("a.eaf", "<a>", "not an ELAN file"),
        ("a.eaf", "<a/>", "must be ANNOTATION_DOCUMENT; got a"),
        ("a.eaf", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "must not have a DOCTYPE"),
    ],
)
def test_damaged_label_files_are_refused(tmp_path, name, content, message):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("walk")[:60], name="walk")
    (tmp_path / name).write_text(content)
    done = ran("label", library.path, "--import", tmp_path / name)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
    assert library.labels["walk"] == () and library.labels.segments("walk") == []


def test_the_commands_for_labels_and_captions(lib, tmp_path):
    ran("label", lib.path, "take_0:5-20", "first steps")
    done = ran("label", lib.path, "--export", tmp_path / "labels.csv")
    assert "1 label written to" in done.stderr
    assert "take_0,0.1667,0.6667,first steps" in (tmp_path / "labels.csv").read_text()
    ran("label", lib.path, "take_0:5-20", "first steps", "--remove")
    shown = ran("label", lib.path, "take_5", "--captions").stdout
    assert "sits down" in shown and "stands up" in shown
    report = json.loads(ran("label", lib.path, "take_5", "--captions", "--json").stdout)
    assert {"sit_down", "sit", "stand_up"} <= {each["event"] for each in report["captions"]}
    assert ran("label", lib.path).returncode == 2
    with pytest.raises(InvalidInput, match="there are no labels to write"):
        lib.labels.write(tmp_path / "none.csv")


def test_sqlite_has_full_text_search():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(a)")
    assert issubclass(LibraryError, ValueError)


# --- sentences ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_sentences_are_scored_without_the_performer_asked_about(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    clips = ("walk", "jump_up", "kick_front_mid_right", "sit_stand")
    said = ("walks on", "jumps up", "kicks a ball", "sits down on a chair")
    rows = ["take,sentence"]
    for p in range(4):
        for name, text in zip(clips, said, strict=True):
            take = f"{p}_{name.split('_')[0]}"
            library.add_motion(ml.demo.clip(name, performer=p), name=take, labels=[f"label {name}"])
            rows.append(f"{take},{text}")
    (tmp_path / "said.csv").write_text("\n".join(rows) + "\n")
    scores = evaluate_sentences(library, tmp_path / "said.csv", SentenceSettings())
    assert scores.sentences == 16 and scores.takes == (8, 8) and scores.chance == 1.0
    assert scores.motion == 1.0 and scores.learned_from == (16, 16)
    done = ran("evaluate-sentences", library.path, tmp_path / "said.csv", "--json")
    assert json.loads(done.stdout)["sentences"] == 16
    with pytest.raises(InvalidInput, match="does not exist or is not UTF-8 text"):
        evaluate_sentences(library, tmp_path / "none.csv", SentenceSettings())
    (tmp_path / "bad.csv").write_text("a,b\n")
    with pytest.raises(InvalidInput, match="expected the columns take, sentence"):
        evaluate_sentences(library, tmp_path / "bad.csv", SentenceSettings())
