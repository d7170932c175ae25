"""Artifacts of a library: saved by name, or derived from its motions when they are needed."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, LibraryError


@pytest.fixture(params=["folder", "object store"])
def lib(request, tmp_path, monkeypatch):
    monkeypatch.setenv("MOTIONLOOM_CACHE", str(tmp_path / "cache"))
    store = None
    if request.param == "object store":
        pytest.importorskip("fsspec")
        store = f"file://{tmp_path}/store"
    return ml.Library.create(tmp_path / "takes.loom", store=store)


def files(lib):
    """All files of artifacts but their checksums, wherever they are."""
    root = lib.path.parent / "store" if lib.store.files.remote else lib.path
    every = [path for path in (root / "derived").rglob("*") if path.is_file()]
    return sorted(path for path in every if not path.name.startswith("checks"))


def test_a_saved_artifact_is_the_same_in_another_process(lib):
    arrays = {
        "weights": np.random.default_rng(1).normal(size=(4, 3)),
        "names": np.array(["a", "b"]),
    }
    about = {"by": ["turn"], "delta": 0.1}
    lib.artifacts.save("parametric", "kick", about, arrays)
    again = ml.Library(lib.path).artifacts
    assert again.about("parametric", "kick") == about
    result = again.load("parametric", "kick")
    assert result.about == about
    assert result.arrays.keys() == arrays.keys()
    np.testing.assert_array_equal(result.arrays["weights"], arrays["weights"])


def test_saving_a_name_again_replaces_it(lib):
    lib.artifacts.save("parametric", "kick", {"try": 1}, {"x": np.zeros(3)})
    lib.artifacts.save("parametric", "kick", {"try": 2}, {"x": np.ones(3)})
    assert lib.artifacts.load("parametric", "kick").about == {"try": 2}
    assert len(files(lib)) == 2


def test_kinds_and_names_do_not_interfere(lib):
    for kind, name in [
        ("parametric", "kick"),
        ("parametric", "kick.low"),
        ("choreography", "kick"),
    ]:
        lib.artifacts.save(kind, name, {})
    lib.artifacts.delete("choreography", "kick")
    assert lib.artifacts.names("parametric") == ("kick", "kick.low")
    assert lib.artifacts.names("choreography") == ()
    lib.artifacts.delete("parametric", "kick")
    assert lib.artifacts.names("parametric") == ("kick.low",)
    assert len(files(lib)) == 2


def test_named_artifacts_remain_and_are_stale_when_motions_change(lib):
    lib.artifacts.save("parametric", "kick", {"a": 1}, {"x": np.zeros(3)})
    assert not lib.artifacts.stale("parametric", "kick")
    lib.add_motion(ml.demo.clip("walk"), name="walk")
    assert lib.artifacts.stale("parametric", "kick")
    assert lib.artifacts.load("parametric", "kick").about == {"a": 1}


def test_derived_artifacts_are_replaced_when_motions_change(lib):
    built = []

    def build(folder, previous):
        before = (previous / "names.txt").read_text() if previous is not None else ""
        (folder / "names.txt").write_text(f"{before}+{','.join(lib.names)}")
        built.append(lib.names)

    def derive(key):
        return lib.artifacts.derive(
            "list",
            {"key": key},
            build=build,
            read=lambda folder: (folder / "names.txt").read_text(),
        )

    assert lib.artifacts.stale("list", {"key": 1})
    assert [derive(1), derive(1), derive(2)] == ["+", "+", "+"]
    assert not lib.artifacts.stale("list", {"key": 1})
    lib.add_motion(ml.demo.clip("walk"), name="walk")
    assert lib.artifacts.stale("list", {"key": 1})
    assert derive(1) == "++walk"
    assert len(built) == 3 and len(files(lib)) == 2


def test_all_artifacts_are_listed(lib):
    lib.add_motion(ml.demo.clip("walk"), name="walk")
    lib.artifacts.save("parametric", "kick", {})
    lib.features("e15")
    kinds = {(item.kind, item.is_stale) for item in lib.artifacts.list()}
    assert kinds == {("parametric", False), ("e15", False)}
    assert all(item.bytes > 0 for item in lib.artifacts.list())
    lib.remove("walk")
    assert all(item.is_stale for item in lib.artifacts.list())


def test_an_interrupted_save_leaves_the_artifact_as_it_was(lib):
    lib.artifacts.save("parametric", "kick", {"try": 1})

    class Interrupt:
        def __array__(self, *args, **kwargs):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lib.artifacts.save("parametric", "kick", {"try": 2}, {"x": Interrupt()})
    assert lib.artifacts.about("parametric", "kick") == {"try": 1}
    assert len(files(lib)) == 2


KILLED = """
import os, signal, sys
import motionloom as ml

class Killed:
    def __array__(self, *args, **kwargs):
        os.kill(os.getpid(), signal.SIGKILL)

ml.Library(sys.argv[1]).artifacts.save("parametric", "kick", {"try": 2}, {"x": Killed()})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_save_leaves_the_artifact_as_it_was(lib):
    lib.artifacts.save("parametric", "kick", {"try": 1})
    done = subprocess.run([sys.executable, "-c", KILLED, str(lib.path)])
    assert done.returncode == -9
    assert lib.artifacts.about("parametric", "kick") == {"try": 1}
    lib.artifacts.save("parametric", "kick", {"try": 3})
    assert lib.artifacts.about("parametric", "kick") == {"try": 3}
    assert len(files(lib)) == 2  # nothing is left of the killed one


def test_readers_see_one_version_or_another_while_it_is_replaced(lib):
    def save(number):
        lib.artifacts.save("parametric", "kick", {"try": number}, {"x": np.full(3, number)})

    save(0)
    writer = threading.Thread(target=lambda: [save(number) for number in range(1, 20)])
    writer.start()
    reader, seen = ml.Library(lib.path), []
    while writer.is_alive():
        result = reader.artifacts.load("parametric", "kick")
        assert result.arrays["x"].tolist() == [result.about["try"]] * 3
        seen.append(result.about["try"])
    writer.join()
    assert seen == sorted(seen)
    assert reader.artifacts.about("parametric", "kick") == {"try": 19}


def test_a_missing_name_is_reported_with_those_there_are(lib):
    with pytest.raises(
        LibraryError, match="no parametric motion is called 'punch'; this library has none"
    ):
        lib.artifacts.load("parametric", "punch")
    lib.artifacts.save("parametric", "kick", {})
    with pytest.raises(
        LibraryError, match="no parametric motion is called 'punch'; this library has kick"
    ):
        lib.artifacts.load("parametric", "punch")
    lib.artifacts.delete("parametric", "punch")


def test_a_damaged_file_is_reported_and_saving_again_repairs_it(lib, tmp_path, monkeypatch):
    lib.artifacts.save("parametric", "kick", {}, {"x": np.zeros(300)})
    (path,) = [path for path in files(lib) if path.suffix == ".npz"]
    path.write_bytes(path.read_bytes()[:100])
    monkeypatch.setenv("MOTIONLOOM_CACHE", str(tmp_path / "another"))
    with pytest.raises(LibraryError, match="the parametric 'kick' is damaged or missing"):
        ml.Library(lib.path).artifacts.load("parametric", "kick")
    path.unlink()
    with pytest.raises(LibraryError, match="damaged or missing"):
        ml.Library(lib.path).artifacts.load("parametric", "kick")
    lib.artifacts.save("parametric", "kick", {}, {"x": np.zeros(300)})
    assert lib.artifacts.load("parametric", "kick").arrays["x"].shape == (300,)


@pytest.mark.parametrize("name", ["", "../kick", "a/b", ".hidden", "kick\n", "x" * 81])
def test_a_name_that_is_not_a_file_name_is_refused(lib, name):
    with pytest.raises(InvalidInput, match="the name of an artifact must"):
        lib.artifacts.save("parametric", name, {})
