"""Files that are odd or hostile: one clear error each, and no other."""

from __future__ import annotations

import json
import os
import sys
import threading

import numpy as np
import pytest
from commands import ran
from waiting import wait_until

import motionloom as ml
from motionloom.checked_arrays import check_offsets, check_shapes, open_array, open_arrays
from motionloom.checked_files import below, file_stem, parse_json, parse_toml, plain_name
from motionloom.errors import InvalidInput, LibraryError, MissingExtra, MotionFormatError
from motionloom.search.match_web.encoding import decoded, encoded

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and devices")


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


@pytest.mark.parametrize("name", ["", "..", "/x", "a//b", "a/../b", "C:x", "a\\b", "\x1bx", "a\0b"])
def test_names_that_are_not_plain_are_refused(tmp_path, name):
    with pytest.raises(LibraryError, match="a file of a library has a plain name"):
        plain_name(name)
    with pytest.raises(LibraryError, match="plain name"):
        below(tmp_path, name)


@pytest.mark.parametrize(
    "text", ['{"a": 1' + "0" * 30 + "}", "[" * 100_000, "-" + "9" * 5000, "{", "nul"]
)
def test_json_is_valid_bounded_and_shallow(text):
    with pytest.raises(ValueError, match="digits|deep|Expecting"):
        parse_json(text)
    with pytest.raises(ValueError, match="NaN is no number"):
        parse_json('{"id": NaN}', finite=True)
    with pytest.raises(ValueError, match="too many digits"):
        parse_toml(f"a = {'9' * 40}")


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("weights.json", '[["a", "b", 1' + "0" * 400 + "]]", "distance.joint_weights:load_weights"),
        ("rules.json", "[1" + "0" * 400 + "]", "rhythm.rules:load_rules"),
        (
            "graph.json",
            '{"nodes": [{"name": "a", "movements": [1' + "0" * 400 + ']}], "edges": []}',
            "rhythm.transition_graph:load_graph",
        ),
        ("crowd.json", '{"couples": 1' + "0" * 400 + "}", "crowd.settings:load_crowd_settings"),
        ("roles.toml", "hips = 1" + "0" * 400, "motion.roles.role_map:load_role_map"),
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
    with pytest.raises(LibraryError, match="at most 1000 are read"):
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
    store = WebStore(library)
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
    from motionloom.studio.uploads import checked_name

    assert len(Match("é" * 240, 0, 9, 0.0, 1.0, 0.1).file_name(1).encode()) < 200
    with pytest.raises(InvalidInput, match="name of a device on Windows"):
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
    family = library.family(names[0], max_distance=9.0, only=names)
    library.parametrize(family, by="right_ankle@20", samples=4, name="kick")
    saved = library.artifacts.load("parametric", "kick")
    row = {"text": "f", "axes": ["x", "y", "z"], "ready": False, "reference": "owned:f"}
    library.artifacts.save("parametric", "kick", {**saved.about, "parameters": [row]}, saved.arrays)
    with pytest.raises(InvalidInput, match="the function owned:f, .* not chosen on this machine"):
        library.parametric("kick")
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


def test_sound_that_decodes_to_gigabytes_is_refused(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    pytest.importorskip("librosa")
    path = tmp_path / "bomb.flac"
    with soundfile.SoundFile(path, "w", samplerate=96_000, channels=8, format="FLAC") as out:
        for _ in range(200):
            out.write(np.zeros((96_000, 8), np.int16))
    assert path.stat().st_size < 1_000_000
    from motionloom.rhythm.music.audio import read_audio

    with pytest.raises(MotionFormatError, match="at most 512 MB decoded; found 586: 8 channels"):
        read_audio(path)
