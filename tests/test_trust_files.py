"""Files that are odd or hostile: one clear error each, and no other."""

from __future__ import annotations

import json
import os
import re
import struct
import sys
import threading
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import ran
from waiting import wait_until

import motionloom as ml
from motionloom.checked_arrays import check_offsets, check_shapes, open_array, open_arrays
from motionloom.errors import InvalidInput, LibraryError, MissingExtra, MotionFormatError
from motionloom.files import below, file_stem, parse_json, parse_toml, plain_name
from motionloom.search.match_web.encoding import decoded, encoded

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and devices")


def test_an_output_that_cannot_be_written_is_named_as_requested(tmp_path, monkeypatch):
    def denied(**options):
        raise PermissionError(13, "Permission denied", f"{options['dir']}/.walk-1234.part.bvh")

    monkeypatch.setattr("motionloom.files.tempfile.mkstemp", denied)
    with pytest.raises(PermissionError) as info:
        ml.demo.clip("walk")[:5].save(tmp_path / "walk.bvh")
    assert info.value.filename == str(tmp_path / "walk.bvh")


@posix
def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.bvh")
    (tmp_path / "zero.bvh").symlink_to("/dev/zero")
    (tmp_path / "folder.bvh").mkdir()
    for name, kind in (("pipe", "a pipe"), ("zero", "a device"), ("folder", "a folder")):
        with pytest.raises(MotionFormatError, match=f"expected a file; found {kind}"):
            ml.load(tmp_path / f"{name}.bvh")
    os.rmdir(tmp_path / "folder.bvh")
    ml.demo.clip("walk")[:20].save(tmp_path / "walk.bvh")
    report = ml.Library.create(tmp_path / "takes.loom").add(tmp_path, workers=1)
    assert report.added == 1
    assert sorted(bad.reason for bad in report.failed) == [
        "expected a file; found a device",
        "expected a file; found a pipe",
    ]


def test_rates_that_no_motion_has_are_refused(tmp_path):
    """A file of 28 kB claims to last 11 hours: every verb would resample it to a million frames."""
    walk = ml.demo.clip("walk")[:40]
    text = walk.save(tmp_path / "walk.bvh").read_text()
    for seconds in ("1000", "1.01", "1e-6"):
        changed = re.sub(r"Frame Time: \S+", f"Frame Time: {seconds}", text)
        (tmp_path / "walk.bvh").write_text(changed)
        with pytest.raises(MotionFormatError, match="set the rate with fps"):
            ml.load(tmp_path / "walk.bvh")
    assert ml.load(tmp_path / "walk.bvh", fps=30).fps == 30.0
    library = ml.Library.create(tmp_path / "takes.loom")
    (failure,) = library.add(tmp_path / "walk.bvh", workers=1).failed
    assert "set the rate with fps" in failure.reason
    for rate in (0.5, 20_000):
        with pytest.raises(InvalidInput, match="fps must be from 1 to 10000"):
            library.add_motion(replace(walk, fps=rate), name="walk")
        with pytest.raises(InvalidInput, match="fps must be from 1 to 10000"):
            ml.Library.create(tmp_path / "other.loom", fps=rate)
    marks = ml.Markers(["a"], np.zeros((9, 1, 3)), 0.01)
    marks.save(tmp_path / "marks.c3d")
    with pytest.raises(MotionFormatError, match="fps must be from 1 to 10000"):
        ml.load_markers(tmp_path / "marks.c3d")
    with pytest.raises(InvalidInput, match="at most 250 frames can be made of one"):
        replace(walk, fps=1.0).resample(300)


@pytest.mark.parametrize("name", ["", "..", "/x", "a//b", "a/../b", "C:x", "a\\b", "\x1bx", "a\0b"])
def test_names_that_are_not_plain_are_refused(tmp_path, name):
    with pytest.raises(LibraryError, match="library files must have plain names"):
        plain_name(name)
    with pytest.raises(LibraryError, match="plain name"):
        below(tmp_path, name)


@pytest.mark.parametrize(
    "text", ['{"a": 1' + "0" * 30 + "}", "[" * 100_000, "-" + "9" * 5000, "{", "nul"]
)
def test_json_is_valid_bounded_and_shallow(text):
    with pytest.raises(ValueError, match="digits|deep|Expecting"):
        parse_json(text)
    for half in ('{"a": "\\ud800"}', b'["\\uDFFF"]', '{"\\ud83d": 1}'):
        with pytest.raises(ValueError, match="half a character"):
            parse_json(half)
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"
    with pytest.raises(ValueError, match="NaN is not a number"):
        parse_json('{"id": NaN}', finite=True)
    with pytest.raises(ValueError, match="too many digits"):
        parse_toml(f"a = {'9' * 40}")


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("weights.json", '[["a", "b", 1' + "0" * 400 + "]]", "features.joint_weights:load_weights"),
        ("rules.json", "[1" + "0" * 400 + "]", "dance.transitions.rules:load_rules"),
        (
            "graph.json",
            '{"nodes": [{"name": "a", "movements": [1' + "0" * 400 + ']}], "edges": []}',
            "dance.transitions.movement_graph:load_graph",
        ),
        ("crowd.json", '{"couples": 1' + "0" * 400 + "}", "crowd.settings:load_crowd_settings"),
        ("roles.toml", "hips = 1" + "0" * 400, "motion.roles.assignment:load_role_map"),
    ],
)
def test_huge_numbers_in_settings_files_are_refused(tmp_path, name, text, read):
    from importlib import import_module

    module, _, function = read.partition(":")
    (tmp_path / name).write_text(text)
    with pytest.raises(ml.MotionloomError, match=name):
        getattr(import_module(f"motionloom.{module}"), function)(tmp_path / name)


def test_amass_arrays_without_dimensions_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    for broken in ({"trans": np.array(1.0)}, {"poses": np.array(2.0)}, {"trans": np.ones(3)}):
        arrays = {"poses": np.zeros((5, 156)), "trans": np.zeros((5, 3)), **broken}
        np.savez(path, mocap_framerate=60.0, **arrays)
        with pytest.raises(MotionFormatError, match="a.npz: "):
            ml.load(path)


def npy(path, descr, shape, body=b"\0" * 64):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body)


@pytest.mark.parametrize(
    ("descr", "shape"),
    [
        ("<f4", (1 << 40,)),
        ("|O", (2,)),
        ("<f4", (-1, 4)),
        ("<f4", (1 << 62, 1 << 62)),
        ("x", (2,)),
        ("|V0", (1 << 60,)),
    ],
)
def test_arrays_are_not_larger_than_their_files_and_never_objects(tmp_path, descr, shape):
    npy(tmp_path / "a.npy", descr, shape)
    with pytest.raises(LibraryError, match="a.npy: damaged: "):
        open_array(tmp_path / "a.npy")


def test_an_archive_of_arrays_does_not_unpack_to_anything(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1 << 20, np.uint8))
    with pytest.raises(LibraryError, match="the limit is 1000"):
        open_arrays(tmp_path / "a.npz", largest=1000)
    np.savez(tmp_path / "b.npz", a=np.array([{}], dtype=object))
    with pytest.raises(LibraryError, match="damaged"):
        open_arrays(tmp_path / "b.npz")


@pytest.mark.parametrize(
    "offsets", [[1, 2], [0, 3, 2], [0, 9], [0, -1, 2], [], [0.0, 2.0], [[0, 2]]]
)
def test_offsets_that_would_lead_a_kernel_astray_are_refused(offsets):
    with pytest.raises(LibraryError, match="damaged starts"):
        check_offsets(offsets, 2, "starts")


def test_shapes_must_fit_together():
    arrays = {"a": np.zeros((3, 4)), "b": np.zeros(2, int)}
    assert check_shapes(arrays, {"a": ("float", ("N", 4)), "b": ("int", ("N-1",))}) == {"N": 3}
    for wrong in ({"a": ("float", (4, "N"))}, {"a": ("int", ("N", 4))}, {"c": ("int", ())}):
        with pytest.raises(LibraryError, match="damaged: "):
            check_shapes(arrays, wrong)
    arrays["a"][0, 0] = np.nan
    with pytest.raises(LibraryError, match="not finite"):
        check_shapes(arrays, {"a": ("float", ("N", 4))})


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    from motionloom.search.match_web.store import WebStore

    library = ml.Library.create(tmp_path_factory.mktemp("web") / "takes.loom")
    library.add_motion(ml.demo.clip("walk")[:60], name="walk")
    library.add_motion(ml.demo.clip("walk_fast")[:60], name="walk_fast")
    store = WebStore(library.store)
    store.build(workers=1)
    return encoded(store.web("walk", "walk_fast"), {"name": "a"})


def test_mutated_webs_are_refused_or_whole(web):
    """In 0.1 the kernel read and wrote beyond its arrays: the process died."""
    import random

    from fuzz.mutations import mutated_web

    refused = 0
    for seed in range(400):
        data = mutated_web(web, random.Random(seed))
        try:
            made = decoded(data)
        except LibraryError:
            refused += 1
            continue
        assert not len(made.cells) or made.cells.min() >= 0
        assert made.offsets[-1] == len(made.cells) == len(made.values)
    assert refused > 200


def test_descriptions_of_webs_that_do_not_fit_the_motions_are_refused(tmp_path):
    """Chains and bridges would be looked for beyond the end of the arrays."""
    from motionloom.search.match_web.encoding import described
    from motionloom.search.match_web.store import WebStore

    library = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "walk_fast", "jog"):
        library.add_motion(ml.demo.clip(name)[:60], name=name)
    store = WebStore(library.store)
    store.build(workers=1)
    path = max(
        store.files.path.glob("*.web"), key=lambda path: len(described(path)["about"]["columns"])
    )
    whole, header = path.read_bytes(), described(path)
    size = len(whole) - sum(header["sizes"])
    about, ends, sizes = header["about"], header["ends"], header["sizes"]
    assert len(ends) > 1
    wrong = [
        {"about": {**about, "columns": 3}},
        {"about": {**about, "columns": about["columns"][1:]}},
        {"about": {**about, "columns": [3 for _ in ends]}},
        {"about": {"row": about["row"]}},
        {"ends": [-1, *ends[1:]]},
        {"ends": [ends[0] + 7, *ends[1:]]},
        {"ends": [*ends[:-1], ends[-1] + 40], "shape": [60, ends[-1] + 40]},
        {"ends": [*ends[:-1], 1 << 40]},
        {"ends": ["a" for _ in ends]},
        {"ends": ends[::-1]},
        {"sizes": sizes[1:]},
        {"shape": [59, ends[-1]]},
        {"widths": [0] * 6},
        {"widths": [2]},
        {"rate": 0.0},
    ]
    for item in wrong:
        front = zlib.compress(json.dumps({**header, **item}).encode())
        path.write_bytes(whole[:12] + struct.pack("<I", len(front)) + front + whole[size:])
        with pytest.raises(LibraryError, match="the web .* is damaged: .*rebuild the web"):
            list(WebStore(library.store).pieces())
    path.write_bytes(whole)
    assert list(WebStore(library.store).pieces())


def test_an_exchanged_index_query_is_refused():
    from motionloom.search.index.bucket_index import BucketIndex

    rows = np.random.default_rng(0).normal(size=(500, 6)).astype(np.float32)
    index = BucketIndex.build(rows)
    with pytest.raises(InvalidInput, match="rows must have at least 500 rows"):
        index.nearest(rows, rows[:5], k=3)
    with pytest.raises(InvalidInput, match="k must not be negative"):
        index.nearest(rows[:5], rows, k=-1)


def test_control_characters_of_names_do_not_reach_the_terminal(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    clip = ml.demo.clip("walk")[:20]
    clip.save(tmp_path / "files" / "a\x1b]0;owned\x07.bvh")
    (tmp_path / "files" / "b\x1b[2J.bvh").write_text("nothing")
    library.close()
    done = ran("import", tmp_path / "takes.loom", tmp_path / "files")
    done2 = ran("find", tmp_path / "takes.loom", "a")
    for text in (done.stdout, done.stderr, done2.stdout, done2.stderr):
        assert "\x1b" not in text and "\x07" not in text
    assert "\\x1b" in done.stderr


def test_file_names_of_long_and_reserved_names():
    assert len(file_stem("é" * 240).encode()) <= 150
    assert file_stem("CON") == "_CON" and file_stem("..") == "_.." and file_stem("") == "_"
    from motionloom.search.match import Match
    from motionloom.studio.state.uploads import checked_name

    assert len(Match("é" * 240, 0, 9, 0.0, 1.0, 0.1).file_name(1).encode()) < 200
    with pytest.raises(InvalidInput, match="reserved for a device on Windows"):
        checked_name("CON.bvh")


def test_the_studio_says_that_uvicorn_is_missing(tmp_path, monkeypatch):
    from motionloom.studio import serve

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"needs uvicorn; install it with: pip install"):
        serve(tmp_path / "takes.loom")


def test_a_folder_cannot_name_a_function(tmp_path, monkeypatch):
    """A parametric motion names functions of the user's; a received one is not imported."""
    (tmp_path / "owned.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef f(motion):\n    return 1.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    library = ml.Library.create(tmp_path / "takes.loom")
    names = ["kick_front_mid_right", "kick_front_high_right"]
    for name in names:
        library.add_motion(ml.demo.clip(name), name=name)
    family = library.family(names[0], only=names, expansion=ml.Expansion(join_distance=9.0))
    library.parametrize(family, by="right_ankle@20", samples=4, name="kick")
    saved = library.artifacts.load("parametric", "kick")
    row = {"text": "f", "axes": ["x", "y", "z"], "ready": False, "reference": "owned:f"}
    library.artifacts.save("parametric", "kick", {**saved.about, "parameters": [row]}, saved.arrays)
    with pytest.raises(InvalidInput, match="the function owned:f .* not trusted on this machine"):
        library.parametric["kick"]
    assert not (tmp_path / "ran").exists()
    assert ml.library.trust_library(library.path) == ["function owned:f"]


def test_a_full_description_of_a_json_artifact_is_an_object(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.artifacts.save("parametric", "kick", {"by": "turn"}, {})
    about = next(library.path.glob("derived/*/about.json"))
    about.write_text(json.dumps([1]))
    (about.parent / "checks.json").unlink()
    with pytest.raises(LibraryError, match="damaged"):
        library.artifacts.about("parametric", "kick")


def test_reading_is_bounded_in_time_for_a_writer_of_a_pipe(tmp_path):
    """A pipe with a writer that never writes is not waited for either."""
    if os.name != "posix":
        pytest.skip("pipes")
    pipe = tmp_path / "motionloom.toml"
    os.mkfifo(pipe)
    done = threading.Event()

    def read() -> None:
        from motionloom.configuration import section

        with pytest.raises(InvalidInput, match="found a pipe"):
            section("engine", pipe)
        done.set()

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    wait_until(done.is_set, "the pipe is refused")


@pytest.mark.slow
def test_sound_that_decodes_to_gigabytes_is_refused(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    pytest.importorskip("librosa")
    path = tmp_path / "bomb.flac"
    with soundfile.SoundFile(path, "w", samplerate=96_000, channels=8, format="FLAC") as out:
        for _ in range(200):
            out.write(np.zeros((96_000, 8), np.int16))
    assert path.stat().st_size < 1_000_000
    from motionloom.dance.music import read_audio

    with pytest.raises(
        MotionFormatError, match="at most 512 MB of sound; this file decodes to 586 MB .8 channels"
    ):
        read_audio(path)


# --- text and tables ------------------------------------------------------------------------

TEXTS = {
    "weights.json": "features.joint_weights:load_weights",
    "rules.json": "dance.transitions.rules:load_rules",
    "graph.json": "dance.transitions.movement_graph:load_graph",
    "graph.graphml": "dance.transitions.movement_graph:load_graph",
    "graph.mogra": "motion_graph.mogra:read_mogra",
    "crowd.toml": "crowd.settings:load_crowd_settings",
    "roles.json": "motion.roles.assignment:load_role_map",
    "labels.csv": "text.label_files:read_labels",
    "labels.eaf": "text.label_files:read_labels",
    "labels.json": "text.label_files:read_labels",
    "scores.csv": "parametric.parameter:read_scores",
    "table.csv": "store.ingest.labels:_table_rows",
    "leg.asf": "formats.acclaim:read",
    "walk.gltf": "formats.gltf:read",
    "walk.fbx": "formats.fbx:read",
}


def read_text(name, path):
    from importlib import import_module

    module, _, function = TEXTS[name].partition(":")
    if name == "leg.asf":
        path.with_suffix(".amc").write_text(":FULLY-SPECIFIED\n1\nroot 0 0 0 0 0 0\n")
        path = path.with_suffix(".amc")
    more = [None] if name == "table.csv" else []
    return getattr(import_module(f"motionloom.{module}"), function)(path, *more)


@posix
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", TEXTS)
def test_no_reader_waits_for_a_pipe_or_reads_a_device(tmp_path, name, kind):
    if name == "walk.fbx":
        pytest.importorskip("ufbx")
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(ml.MotionloomError, match=f"expected a file; found a {kind}|no such file"):
        read_text(name, path)


@pytest.mark.parametrize("name", [name for name in TEXTS if name.endswith(".csv")])
def test_tables_that_the_csv_module_refuses_are_refused(tmp_path, name):
    header = "motion,start,end,label\n" if name == "labels.csv" else "file,label\n"
    (tmp_path / name).write_text(header + "walk," + "x" * 200_000 + "\n")
    with pytest.raises(ml.MotionloomError, match=rf"{name}.*cannot be read.*field larger"):
        read_text(name, tmp_path / name)


@pytest.mark.parametrize(
    ("suffix", "text", "message"),
    [
        (".eaf", '<!DOCTYPE a [<!ENTITY b "bbb">]><a>&b;</a>', "must not have a DOCTYPE"),
        (".eaf", "<a>" * 50_000, "not an ELAN file"),
        (".eaf", "<ANNOTATION_DOCUMENT>&b;</ANNOTATION_DOCUMENT>", "undefined entity"),
        (".json", "[" * 100_000, "nested too deeply"),
        (".json", '{"a": 1' + "0" * 400 + "}", "too many digits"),
        (".json", '{"a": {"frame_ann": {"labels": 3}}}', ""),
        (".json", '{"a": {"seq_ann": {"labels": [{"raw_label": []}]}}}', "must have proc_label"),
        (".csv", "motion,start,end,label\na,1e999,2,x\n", "expected a number"),
        (".csv", "motion,start,end,label\na,1,0,x\n", "must be before the end"),
        (".csv", "motion,start,end,label\na\n", ""),
    ],
)
def test_label_files_are_read_or_refused_in_one_line(tmp_path, suffix, text, message):
    from motionloom.text.label_files import read_labels

    path = tmp_path / f"labels{suffix}"
    path.write_text(text)
    if not message:
        assert read_labels(path) == []
        return
    with pytest.raises(InvalidInput, match=message) as refused:
        read_labels(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("rows", ["many rows", "many columns"])
def test_parquet_files_that_unpack_to_gigabytes_are_refused(tmp_path, rows):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    if rows == "many rows":  # repeated values, so that some bytes stand for gigabytes
        runs = pyarrow.array(np.zeros(20_000_000))
        table = pyarrow.table({name: runs for name in ("time", "a.x", "a.y", "a.z")})
    else:
        table = pyarrow.table({f"m{n}.{axis}": [0.0] for n in range(7000) for axis in "xyz"})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(MotionFormatError, match="columns are too many for a file"):
        ml.load_markers(tmp_path / "a.parquet")


def test_thousands_of_labels_are_one_change(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("walk"), name="walk")
    rows = [f"walk,{n % 3},{n % 3 + 1},label {n}" for n in range(5000)] + ["walk,,,calm"]
    (tmp_path / "a.csv").write_text("motion,start,end,label\n" + "\n".join(rows))
    report = library.labels.read(tmp_path / "a.csv")
    assert report == {"labels": 5001, "motions": 1, "unmatched": 0}
    assert len(library.labels.segments("walk")) == 5000 and library.labels["walk"] == ("calm",)
    assert [change.what for change in library.history()] == ["label", "add"]
    library.undo()
    assert library.labels.segments("walk") == [] and library.labels["walk"] == ()


@pytest.mark.parametrize("label", ["\x1b[31mred", "a\0b", "x" * 1001])
def test_labels_are_printable(tmp_path, label):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("walk"), name="walk")
    (tmp_path / "a.csv").write_text(f"motion,start,end,label\nwalk,0,1,{label}\n")
    for add in (
        lambda: library.labels.add("walk", label),
        lambda: library.labels.add("walk:3-9", label),
        lambda: library.labels.read(tmp_path / "a.csv"),
    ):
        with pytest.raises(InvalidInput, match="a label must be at most 1000 printable"):
            add()


# --- words ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def captioned(tmp_path_factory):
    """A library with captions and a text index, and its files as they were."""
    library = ml.Library.create(tmp_path_factory.mktemp("words") / "takes.loom")
    for name in ("walk", "kick_front_high_right"):
        library.add_motion(ml.demo.clip(name), name=name, labels=[name.split("_")[0]])
    assert library.find("kick")[0].motion == "kick_front_high_right"
    library.close()
    return library.path


@pytest.fixture
def words(captioned, tmp_path):
    import shutil

    shutil.copytree(captioned, tmp_path / "takes.loom")
    for checks in (tmp_path / "takes.loom").rglob("checks.json"):
        checks.unlink()
    return tmp_path / "takes.loom"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM takes",
        "UPDATE takes SET fps = 0",
        "UPDATE takes SET frames = 100000",
        "UPDATE events SET end_frame = 1 << 60",
        "UPDATE events SET start_frame = -5",
        "UPDATE events SET start_frame = 'x'",
        "UPDATE events SET words = NULL",
        "UPDATE vocabulary SET takes = 'many'",
        "CREATE VIEW v AS SELECT 1",
        "DROP TABLE events; CREATE VIEW events AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
        "SELECT i FROM n) SELECT i AS take, 0 AS start_frame, 1 AS end_frame, '' AS text, "
        "'' AS words, '' AS source FROM n",
        "UPDATE named_data SET block = x'00'",
        "UPDATE named_data SET block = zeroblob(4000)",
        "DELETE FROM named_docsize",
        "UPDATE named_docsize SET sz = x'ffffffffffffffffff7f'",
        "DELETE FROM named_content",
        "UPDATE captioned_idx SET pgno = 1 << 40",
    ],
)
def test_a_text_index_that_was_changed_is_refused_or_answers(captioned, words, statement):
    import sqlite3

    with sqlite3.connect(next(words.glob("derived/text-index*/index.sqlite"))) as index:
        index.executescript("PRAGMA writable_schema = ON;" + statement)
    index.close()
    library = ml.Library(words)
    hidden = "named_" in statement or "captioned_" in statement  # shadow tables of FTS5
    try:
        matches = [str(match) for match in library.find("kick")]
        library.find("walk forward, then kick")
        library.act("walk")
    except LibraryError as error:
        assert hidden and "the text index is damaged" in str(error)
    else:  # it was rebuilt
        assert hidden or matches == [str(match) for match in ml.Library(captioned).find("kick")]


@pytest.mark.parametrize("name", ["captions.json.z", "learned.json", "statistics.npy"])
def test_other_files_of_words_are_checked_before_use(words, name):
    import zlib

    bad = {
        "captions.json.z": [zlib.compress(b"[]"), zlib.compress(b"{}"), b"x", zlib.compress(b"[")],
        "learned.json": [b"[]", b'{"idf": [NaN]}', b'{"vocabulary": [1], "idf": [1.0]}', b"["],
        "statistics.npy": [b"", b"\x93NUMPY\x01\x00"],
    }
    path = next(words.glob(f"derived/*/{name}"))
    before = [str(event) for event in ml.Library(words).captions["walk"]]
    for content in bad[name]:
        path.write_bytes(content)  # it is rebuilt
        assert [str(event) for event in ml.Library(words).captions["walk"]] == before
        kicks = [match for match in ml.Library(words).find("kick") if match.sources]
        assert len(kicks) == 1


def test_scripts_have_an_end(captioned):
    with ml.Library(captioned) as library:
        with pytest.raises(InvalidInput, match="must last at most 600 seconds in total; got 720"):
            library.act(", ".join(["walk 120 s"] * 6))


def test_what_unpacks_to_anything_is_refused():
    import zlib

    from motionloom.files import unpacked_bytes

    assert unpacked_bytes(zlib.compress(b"a" * 100), 100) == b"a" * 100
    for data in (zlib.compress(b"a" * 101), b"x", zlib.compress(b"a" * 50)[:-5]):
        with pytest.raises(ValueError, match="cut off|header|incomplete"):
            unpacked_bytes(data, 100)


@posix
def test_synonyms_of_a_library_are_a_file_of_its_own(words):
    (words / "synonyms.txt").symlink_to("/dev/zero")
    with pytest.raises(
        LibraryError, match="this is a symbolic link, but library files must be in the"
    ):
        ml.Library(words).find("kick")
    (words / "synonyms.txt").unlink()
    os.mkfifo(words / "synonyms.txt")
    with pytest.raises(ml.MotionloomError, match="found a pipe"):
        ml.Library(words).find("kick")


@pytest.mark.parametrize(
    "query",
    ['"', "kick\" OR words : *", "NEAR(kick walk, 2)", "kick*", "-kick", "'; DROP TABLE takes; --",
     "{named} : kick", "^kick", "\x00kick", "kick\ud800", " ".join(f"w{n}" for n in range(400)),
     "k " * 999, "kick AND " * 200, "(" * 1900],
)  # fmt: skip
def test_queries_are_words_whatever_is_in_them(captioned, query):
    with ml.Library(captioned) as library:
        for ask in (library.find, library.act):
            try:
                ask(query)
            except InvalidInput:
                pass


def test_artifacts_are_flushed_before_they_are_renamed(tmp_path, monkeypatch):
    """In 0.1 a kept motion could be empty after a power cut."""
    library = ml.Library.create(tmp_path / "takes.loom")
    done = []
    fsync, rename = os.fsync, os.rename
    monkeypatch.setattr(os, "fsync", lambda handle: done.append("fsync") or fsync(handle))
    monkeypatch.setattr(os, "rename", lambda a, b: done.append(Path(b).name) or rename(a, b))
    library.artifacts.save("parametric", "kick", {"by": "turn"}, {"weights": np.eye(3)})
    at = next(n for n, what in enumerate(done) if what.startswith("parametric.kick."))
    assert done[:at].count("fsync") >= 3  # about.json, arrays.npz, checks.json
    assert "fsync" in done[at:]  # the rename itself


@pytest.mark.parametrize(
    "channel", [[], None, {"sampler": "x"}, {"sampler": 0, "target": {"node": 0, "path": []}}]
)
def test_curves_of_gltf_files_that_are_none_are_refused(tmp_path, channel):
    from motionloom.formats import gltf

    path = ml.demo.clip("walk")[:10].save(tmp_path / "a.gltf", mesh="none")
    document = json.loads(path.read_text())
    for key in ("channels", "samplers"):
        if key == "samplers" and isinstance(channel, dict):
            continue  # a sampler without input and output is one of a bone that does not move
        changed = json.loads(json.dumps(document))
        changed["animations"][0][key][0] = channel
        path.write_text(json.dumps(changed))
        with pytest.raises(MotionFormatError, match="a.gltf: "):
            gltf.read(path)


def test_names_of_parquet_columns_that_are_not_strings_are_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from motionloom.formats import tables

    path = tmp_path / "a.parquet"
    columns = {name: [0.0, 1.0] for name in ("time", "a.x", "a.y", "a.z")}
    parquet.write_table(pyarrow.table(columns), path)
    path.write_bytes(path.read_bytes().replace(b"a.x", b"\xff.x"))
    with pytest.raises(MotionFormatError, match="a.parquet: cannot read the table"):
        tables.read(path)
