"""Artifacts of a received library with right checksums and wrong values: one clear error each."""

from __future__ import annotations

import json
import zlib
from contextlib import suppress

import numpy as np
import pytest

import motionloom as ml
from motionloom.checked_arrays import open_array, open_arrays
from motionloom.dance.choreography_file import choreography_from
from motionloom.errors import LibraryError, MotionFormatError, MotionloomError
from motionloom.search import open_index
from motionloom.store.artifacts.folders import _verified, write_checks


@pytest.fixture
def lib(tmp_path):
    with ml.Library.create(tmp_path / "takes.loom") as library:
        yield library


def rewrite(library, pattern, change):
    """Change a file of an artifact and compute its checksums again."""
    (path,) = library.path.glob(f"derived/{pattern}")
    change(path)
    write_checks(path.parent)
    _verified.clear()


@pytest.mark.parametrize(
    "takes",
    [
        None,
        [],
        {"walk": 3},
        {"walk": {"bpm": "fast"}},
        {"walk": {"bpm": -4}},
        {"walk": {"first_beat": [1]}},
        {"walk": {"partners": 3}},
        {"walk": {"partners": [[1]]}},
        {"walk": {"times": 3}},
        {"walk": {"times": [1, 0]}},
    ],
)
def test_damaged_beats_are_one_error(lib, takes):
    lib.artifacts.save("beats", "given", {"takes": takes} if takes is not None else {})
    with pytest.raises(LibraryError, match="the saved beats .*damaged"):
        lib.beats.manual()


def test_a_choreography_with_numbers_that_overflow_is_one_error(lib):
    lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
    lib.choreographies["c"] = lib.choreography(meter=4)
    about = lib.artifacts.about("choreography", "c")
    assert lib.choreographies["c"]
    cut = about["cuts"][0]
    for change in (
        {"beat_frames": np.inf},
        {"runs": [np.inf]},
        {"fps": 10**400},
        {"cuts": [{**cut, "lead": 10**400}]},
        {"weights": {lib["groove"].skeleton.names[0]: 10**400}},
    ):
        with pytest.raises(MotionFormatError, match="takes.loom: |must"):
            choreography_from({**about, **change}, lib.__getitem__, lib.path)


def test_statistics_of_clips_that_are_not_finite_are_recomputed(lib):
    for performer in range(3):
        clip = ml.demo.clip("kick_front_high_right", performer=performer)[:40]
        lib.add_motion(clip, name=f"kick_{performer}")
    wanted = lib.search("kick_0", method="statistics", max=3).to_json()

    def spoil(path):
        statistics = np.load(path)
        statistics[1, 2], statistics[2] = np.inf, 1e300
        np.save(path, statistics)

    rewrite(lib, "clip-statistics.*/statistics.npy", spoil)
    with ml.Library(lib.path) as again:
        assert again.search("kick_0", method="statistics", max=3).to_json() == wanted


def test_arrays_are_read_in_the_order_that_kernels_expect(tmp_path, rng):
    table = rng.normal(size=(5, 4)).astype(np.float32)
    np.save(tmp_path / "a.npy", np.asfortranarray(table))
    np.savez(tmp_path / "a.npz", a=np.asfortranarray(table))
    for array in (open_array(tmp_path / "a.npy"), open_arrays(tmp_path / "a.npz")["a"]):
        assert array.flags.c_contiguous and np.array_equal(array, table)
    content = (tmp_path / "a.npy").read_bytes()
    header = len(content) - table.nbytes
    odd = content[:8] + (header - 10 + 1).to_bytes(2, "little") + b" " + content[10:]
    (tmp_path / "odd.npy").write_bytes(odd)
    array = open_array(tmp_path / "odd.npy")
    assert array.flags.aligned and np.array_equal(array, table)


@pytest.mark.parametrize("dtype", [">f4", "f2", "g", "c8", "M8[s]"])
def test_numbers_that_kernels_cannot_read_are_refused(tmp_path, dtype):
    array = np.ones((2, 2)).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", a=array)
    for read, name in ((open_array, "a.npy"), (open_arrays, "a.npz")):
        with pytest.raises(LibraryError, match="expected numbers, found"):
            read(tmp_path / name)


def test_a_parametric_motion_in_another_order_gives_the_same_motion(lib):
    for performer in range(3):
        clip = ml.demo.clip("kick_front_high_right", performer=performer)
        lib.add_motion(clip, name=f"kick_{performer}")
    made = lib.parametrize(lib.names, by="right_ankle@20", samples=4, name="kick")
    target = made.accessible.mean(axis=0)
    wanted = made(target).root

    def reorder(path):
        with np.load(path) as stored:
            arrays = {key: np.asfortranarray(stored[key]) for key in stored.files}
        np.savez(path, **arrays)

    rewrite(lib, "parametric.kick.*/arrays.npz", reorder)
    with ml.Library(lib.path) as again:
        assert np.array_equal(again.parametric["kick"](target).root, wanted)


@pytest.mark.parametrize("about", ["[]", "{", '{"a": ' + "[" * 3000 + "]" * 3000 + "}", "\ud800"])
def test_a_description_that_is_not_an_object_is_one_error(lib, about):
    lib.artifacts.save("choreography", "c", {"a": 1})

    def spoil(path):
        path.write_text(about, encoding="utf-8", errors="surrogatepass")

    rewrite(lib, "choreography.c.*/about.json", spoil)
    with pytest.raises(MotionloomError, match="damaged or missing"):
        lib.artifacts.about("choreography", "c")
    assert json.dumps(lib.artifacts.names("choreography")) == '["c"]'


def test_captions_whose_names_are_not_strings_are_recomputed(lib):
    lib.add_motion(ml.demo.clip("walk")[:40], name="walk")
    assert lib.find("walk").motions == ("walk",)

    def spoil(path):
        content = json.loads(zlib.decompress(path.read_bytes()))
        content["names"] = [{}]
        path.write_bytes(zlib.compress(json.dumps(content).encode()))

    rewrite(lib, "captions.*/captions.json.z", spoil)
    with ml.Library(lib.path) as again:
        again.add_motion(ml.demo.clip("jog")[:40], name="jog")  # from the damaged version
        assert "jog" in again.find("jog").motions


@pytest.mark.parametrize("kind", ["bucket", "shards"])
@pytest.mark.parametrize("how", ["shape", "infinite"])
def test_axes_of_an_index_that_do_not_fit_are_one_error(lib, kind, how):
    lib.add_motion(ml.demo.clip("walk")[:40], name="walk")
    features = lib.features("e15")
    open_index(lib.store, features, kind).nearest(features.rows[:3], features.rows, k=2)

    def spoil(path):
        axes = np.load(path)
        np.save(path, axes.reshape(-1) if how == "shape" else axes * np.inf)

    pattern = "shards.*/*/axes.npy" if kind == "shards" else "bucket.*/axes.npy"
    for path in lib.path.glob(f"derived/{pattern}"):
        spoil(path)
        write_checks(path.parents[kind == "shards"])
    _verified.clear()
    with ml.Library(lib.path) as again, suppress(LibraryError):
        features = again.features("e15")
        index = open_index(again.store, features, kind)
        index.nearest(features.rows[:3], features.rows, k=2)
