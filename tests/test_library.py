from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_takes import contents, small_motion
from waiting import LIMIT, wait_until

from motionloom import Library, LibraryError
from motionloom.errors import InvalidInput
from motionloom.motion.motion import Origin
from motionloom.store import stored_motions
from motionloom.store.frames import open_frames
from motionloom.store.lock import writer_lock


@pytest.fixture
def lib(tmp_path):
    return Library.create(tmp_path / "takes.loom")


def frame_files(lib) -> list[str]:
    return sorted(file.name for file in (lib.path / "frames").iterdir())


def test_a_motion_comes_back_as_it_was(lib):
    origin = Origin(
        format="bvh",
        unit_m=0.01,
        unit_reason="cm",
        up="z",
        frame_time=0.0333333,
        tpose_frame=0,
        euler_order="ZYX",
        repairs=("a comma was taken for a point",),
        warnings=("thin", "short"),
    )
    motion = small_motion(1, origin=origin, name="sway")
    motion = replace(motion, skeleton=motion.skeleton.with_roles({"left_knee": "knee"}))
    lib.add_motion(motion)
    again = Library(lib.path)["sway"]
    np.testing.assert_array_equal(again.rotations, motion.rotations)
    np.testing.assert_array_equal(again.root, motion.root)
    assert again.translations is None
    assert (again.name, again.fps, again.origin) == ("sway", 30.0, origin)
    assert again.skeleton.key == motion.skeleton.key
    assert again.skeleton.role_map == {"left_knee": "knee"}
    np.testing.assert_array_equal(again.skeleton.offsets, motion.skeleton.offsets)


def test_bones_that_change_length_are_kept(lib):
    motion = small_motion(2, stretching=True)
    lib.add_motion(motion, name="stretch")
    np.testing.assert_array_equal(lib["stretch"].translations, motion.translations)
    np.testing.assert_array_equal(lib["stretch"].positions(), motion.positions())


def test_frames_are_views_of_the_file(lib):
    lib.add_motion(small_motion(3, stretching=True), name="m")
    motion = lib["m"]
    for array in (motion.rotations, motion.root, motion.translations, motion[5:9].root):
        while isinstance(array.base, np.ndarray):
            array = array.base
            assert not array.flags.writeable
        assert isinstance(array, np.memmap)


def test_equal_skeletons_are_stored_and_opened_once(lib):
    for seed in range(3):
        lib.add_motion(small_motion(seed), name=f"m{seed}")
    assert len(lib.store.catalogue.rows("SELECT key FROM skeletons")) == 1
    assert lib["m0"].skeleton is lib["m2"].skeleton


def test_behaves_like_a_collection_of_names(lib):
    assert lib.names == () and len(lib) == 0 and lib.store.frames == 0 and lib.store.seconds == 0.0
    for name in ("b", "a", "c/d"):
        lib.add_motion(small_motion(), name=name)
    assert lib.names == tuple(lib) == ("a", "b", "c/d")
    assert len(lib) == 3 and "a" in lib and "x" not in lib and 3 not in lib
    assert lib.store.frames == 60 and lib.store.seconds == 2.0
    assert lib.store.entry("a").frames == 20 and lib.store.entry("a").seconds == pytest.approx(
        2 / 3
    )
    assert [entry.name for entry in lib.entries()] == ["a", "b", "c/d"]
    assert repr(lib) == f"Library({str(lib.path)!r}, 3 motions)"
    lib.remove("b")
    assert lib.names == ("a", "c/d") and len(frame_files(lib)) == 2


def test_labels_are_sorted_and_looked_up_both_ways(lib):
    lib.add_motion(small_motion(1), name="a", labels=["walk", " slow ", "walk", ""])
    lib.add_motion(small_motion(2), name="b", labels=["walk"])
    lib.add_motion(small_motion(3), name="c")
    assert lib.labels["a"] == ("slow", "walk") and lib.labels["c"] == ()
    assert lib.labels.motions("walk") == ("a", "b") and lib.labels.motions("none") == ()
    assert lib.labels.counts() == {"slow": 1, "walk": 2}
    lib.labels["a"] = ["run"]
    assert lib.labels["a"] == ("run",) and lib.labels.motions("walk") == ("b",)
    lib.remove("b")
    assert lib.labels.counts() == {"run": 1}
    with pytest.raises(
        InvalidInput, match=r"labels must be a sequence of strings, as in \['run'\]"
    ):
        lib.labels["a"] = "run"
    with pytest.raises(LibraryError, match="no motion 'x'"):
        lib.labels["x"] = ["run"]


def test_an_unknown_name_brings_the_nearest_ones(lib):
    with pytest.raises(LibraryError, match="no motion 'walk': the library is empty"):
        lib["walk"]
    for name in ("a/walk", "b/walk", "86_01", "86_02"):
        lib.add_motion(small_motion(), name=name)
    with pytest.raises(LibraryError, match="no motion 'walk'; did you mean a/walk, b/walk\\?"):
        lib["walk"]
    with pytest.raises(LibraryError, match="no motion '86_03'; did you mean 86_01, 86_02"):
        lib.labels["86_03"]
    with pytest.raises(LibraryError, match=r"no motion '\?\?\?'; this library contains 86_01"):
        lib.remove("???")


def test_another_motion_of_the_same_name_is_refused_unless_requested(lib):
    lib.add_motion(small_motion(1), name="m", labels=["a"])
    lib.add_motion(small_motion(1), name="m", labels=["b"])  # the same: only labels change
    assert lib.labels["m"] == ("b",)
    with pytest.raises(LibraryError, match="another motion called 'm'.*replace it"):
        lib.add_motion(small_motion(2), name="m")
    open_motion = lib["m"]
    before = open_motion.root.copy()
    lib.add_motion(small_motion(2), name="m", replace=True)
    np.testing.assert_array_equal(lib["m"].root, small_motion(2).root)
    np.testing.assert_array_equal(open_motion.root, before)  # a reader keeps what it has
    assert len(frame_files(lib)) == 1
    assert lib.labels["m"] == ("b",)


@pytest.mark.parametrize(
    ("motion", "name", "message"),
    [
        (small_motion(), None, "name must be a printable string; got ''"),
        (small_motion(), "a\nb", "name must be a printable string"),
        (small_motion()[:0], "m", "motion 'm' has no frames"),
    ],
)
def test_an_invalid_motion_is_reported(lib, motion, name, message):
    with pytest.raises(InvalidInput, match=message):
        lib.add_motion(motion, name=name)
    assert len(lib) == 0 and frame_files(lib) == []


def test_a_library_of_one_rate_resamples_what_comes_in(tmp_path):
    lib = Library.create(tmp_path / "l.loom", fps=15)
    lib.add_motion(small_motion(frames=21), name="m")
    assert lib.store.fps == 15.0 and lib["m"].fps == 15.0 and len(lib["m"]) == 11
    np.testing.assert_array_equal(lib["m"].root, small_motion(frames=21).root[::2])
    with pytest.raises(InvalidInput, match="fps must be positive; got 0"):
        Library.create(tmp_path / "other.loom", fps=0)


def test_the_digest_depends_on_content_not_history(tmp_path):
    first, other = (Library.create(tmp_path / f"{x}.loom") for x in "ab")
    for seed in range(4):
        first.add_motion(small_motion(seed), name=f"m{seed}", labels=["x", "y"])
    other.add_motion(small_motion(9), name="gone")
    other.add_motion(small_motion(8), name="m0")
    for seed in reversed(range(4)):
        other.add_motion(small_motion(seed), name=f"m{seed}", labels=["y", "x"], replace=True)
    assert first.store.digest() != other.store.digest()
    other.remove("gone")
    assert first.store.digest() == other.store.digest()
    assert contents(first.path) == contents(other.path)
    other.labels["m1"] = ["x"]
    assert first.store.digest() != other.store.digest()


def test_create_does_not_take_over_an_existing_folder(tmp_path):
    Library.create(tmp_path / "l.loom")
    with pytest.raises(LibraryError, match="this library already exists; open it"):
        Library.create(tmp_path / "l.loom")
    assert Library.create(tmp_path / "l.loom", exist_ok=True).names == ()
    (tmp_path / "file").write_text("x")
    with pytest.raises(LibraryError, match="this is a file, but a library must be a folder"):
        Library.create(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/thesis.tex").write_text("x")
    with pytest.raises(LibraryError, match=r"contains other files \(thesis.tex\)"):
        Library.create(tmp_path / "folder")
    (tmp_path / "empty").mkdir()
    assert Library.create(tmp_path / "empty").names == ()


def test_a_library_whose_creation_was_interrupted_is_created_again(tmp_path):
    path = tmp_path / "l.loom"
    (path / "frames").mkdir(parents=True)
    (path / "lock").touch()
    (path / "catalogue.sqlite").touch()
    with pytest.raises(LibraryError, match="was interrupted; create it again"):
        Library(path)
    assert Library.create(path).names == ()


def test_says_why_a_library_cannot_be_opened(tmp_path):
    with pytest.raises(LibraryError, match="no such library; create it with `motionloom import`"):
        Library(tmp_path / "nowhere")
    with pytest.raises(LibraryError, match="not a motionloom library: it has no catalogue"):
        Library(tmp_path)
    for name in ("foreign", "newer", "garbage", "bones", "cut"):
        Library.create(tmp_path / name).add_motion(small_motion(), name="m")
    files = {path.name: path / "catalogue.sqlite" for path in tmp_path.iterdir()}
    files["foreign"].unlink()
    connection = sqlite3.connect(files["foreign"])
    connection.execute("CREATE TABLE meta (key, value)")
    connection.close()
    with pytest.raises(LibraryError, match="catalogue.sqlite belongs to another application"):
        Library(tmp_path / "foreign")
    connection = sqlite3.connect(files["newer"])
    connection.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    connection.commit()
    connection.close()
    with pytest.raises(LibraryError, match="written by a newer motionloom .format 99; .* up to 4"):
        Library(tmp_path / "newer")
    files["garbage"].write_bytes(b"this is not a database " * 400)
    with pytest.raises(LibraryError, match="the catalogue is damaged"):
        Library(tmp_path / "garbage")
    connection = sqlite3.connect(files["bones"])
    connection.execute("UPDATE skeletons SET data = '{}'")
    connection.commit()
    connection.close()
    with pytest.raises(LibraryError, match="damaged: skeleton .* does not match its key"):
        Library(tmp_path / "bones")["m"]
    data = files["cut"].read_bytes()
    files["cut"].write_bytes(data[: len(data) // 2])
    with pytest.raises(LibraryError, match="the catalogue is damaged"):
        Library(tmp_path / "cut").names  # noqa: B018


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("SQLITE_CORRUPT_INDEX", "the catalogue is damaged .disk trouble.; restore it, or list"),
        ("SQLITE_FULL", "the disk is full; committed changes are safe"),
        (
            "SQLITE_READONLY_ROLLBACK",
            "an import was killed while writing, .* open the library once with write access",
        ),
        ("SQLITE_READONLY_DIRECTORY", "cannot open the catalogue: disk trouble"),
        (
            "SQLITE_BUSY",
            "the catalogue is locked by another process; run the same command again later",
        ),
        ("SQLITE_IOERR", "the catalogue cannot be used: disk trouble"),
    ],
)
def test_says_why_the_catalogue_cannot_be_used(lib, monkeypatch, code, message):
    trouble = sqlite3.OperationalError("disk trouble")
    trouble.sqlite_errorname = code

    def connection(**_):
        raise trouble

    monkeypatch.setattr(lib.store.catalogue, "connection", connection)
    with pytest.raises(LibraryError, match=f"takes.loom: {message}"):
        lib.names  # noqa: B018


def test_damaged_frames_are_distinguished_from_good_ones(lib):
    for seed, name in enumerate(["cut", "flipped", "gone", "good", "other"]):
        lib.add_motion(small_motion(seed), name=name)
    paths = {name: lib.path / "frames" / lib.store.entry(name).file for name in lib}
    paths["cut"].write_bytes(paths["cut"].read_bytes()[:-8])
    data = bytearray(paths["flipped"].read_bytes())
    data[-1] ^= 1
    paths["flipped"].write_bytes(data)
    paths["gone"].unlink()
    np.save(paths["other"], np.zeros((20, 7), np.float32))
    with pytest.raises(LibraryError, match="damaged frames"):
        lib["cut"]
    with pytest.raises(LibraryError, match="the frames of 'gone' are missing; import the motion"):
        lib["gone"]
    with pytest.raises(LibraryError, match=r"expected float32 of shape \(20, 15\), found"):
        lib["other"]
    issues = [issue.split(":")[0] for issue in lib.store.damage()]
    assert issues == ["cut", "flipped", "gone", "other"]


def test_travels_to_other_processes_and_threads(lib, monkeypatch):
    lib.add_motion(small_motion(4), name="m")
    expected = small_motion(4).root
    monkeypatch.chdir(lib.path.parent)
    traveled = pickle.loads(pickle.dumps(Library("takes.loom")))
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(traveled["m"].root, expected)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_names_and_frames, [lib]) == (("m",), 20)
    results = []
    thread = threading.Thread(target=lambda: results.append(lib["m"].root.copy()))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(results[0], expected)


def _names_and_frames(lib):
    return lib.names, lib.store.frames


def test_a_closed_library_opens_again_when_it_is_used(lib):
    with lib:
        lib.add_motion(small_motion(), name="m")
    assert lib.names == ("m",)


class SimulatedTime:
    """The module `time`, for one who waits alone: only sleeping takes time."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_a_second_writer_waits_and_then_gives_up(lib, caplog, monkeypatch):
    clock = SimulatedTime()
    monkeypatch.setattr("motionloom.store.lock.time", clock)
    patient = Library(lib.path, timeout=1.3)
    with writer_lock(lib.path, timeout=0.0):
        with pytest.raises(LibraryError, match="another process has been writing .* for 1 s"):
            patient.add_motion(small_motion(), name="m")
        assert lib.names == ()  # reading needs no lock
    assert clock.now == pytest.approx(1.3)
    assert "waiting for another process" in caplog.text
    patient.add_motion(small_motion(), name="m")
    assert lib.names == ("m",)


def _is_free(file):
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(file, fcntl.LOCK_UN)
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="looks at the lock as Linux has it")
def test_a_writer_that_starts_again_at_once_does_not_starve_others(lib):
    order = []

    def other() -> None:
        with writer_lock(lib.path, timeout=60.0):
            order.append("the waiting writer")

    thread = threading.Thread(target=other)
    with writer_lock(lib.path, timeout=60.0), open(lib.path / "queue", "ab") as queue:
        thread.start()
        wait_until(lambda: not _is_free(queue), "the other writer waits")
    with writer_lock(lib.path, timeout=60.0):
        order.append("the writer that starts again")
    thread.join()
    assert order == ["the waiting writer", "the writer that starts again"]


def test_the_writer_lock_dies_with_its_process_even_if_workers_live_on(lib):
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from motionloom.store.lock import writer_lock\n"
        "with writer_lock(Path(sys.argv[1]), timeout=5):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        sys.stdin.read()\n"
        "        os._exit(0)\n"
        "    print(child, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, lib.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    child = int(holder.stdout.readline())
    with pytest.raises(LibraryError, match="another process has been writing"):
        Library(lib.path, timeout=0.1).add_motion(small_motion(), name="m")
    holder.kill()
    holder.wait()
    try:
        Library(lib.path, timeout=LIMIT).add_motion(small_motion(), name="m")
    finally:
        os.kill(child, 9)
        holder.stdin.close()
        holder.stdout.close()
    assert lib.names == ("m",)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_library_in_a_read_only_folder_can_be_read():
    script = (
        "import os\n"
        "from motionloom import Library, LibraryError\n"
        "from small_takes import small_motion\n"
        "lib = Library.create('takes.loom')\n"
        "lib.add_motion(small_motion(6), name='m', labels=['x'])\n"
        "lib['m'], lib.close()\n"
        "for folder, _, files in os.walk('takes.loom', topdown=False):\n"
        "    for file in files:\n"
        "        os.chmod(f'{folder}/{file}', 0o444)\n"
        "    os.chmod(folder, 0o555)\n"
        "if os.geteuid() == 0:\n"  # root may write everywhere
        "    os.setgid(65534), os.setuid(65534)\n"
        "lib = Library('takes.loom')\n"
        "print(lib.names, lib.labels['m'], float(lib['m'].root.sum()))\n"
        "try:\n"
        "    lib.add_motion(small_motion(1), name='n')\n"
        "except LibraryError as error:\n"
        "    print(error)\n"
    )
    with tempfile.TemporaryDirectory() as folder:  # one that any user may enter
        os.chmod(folder, 0o755)
        done = _python(script, cwd=Path(folder))
        for place in ("takes.loom", "takes.loom/frames"):
            os.chmod(f"{folder}/{place}", 0o755)
    first, second = done.stdout.splitlines()
    assert first == f"('m',) ('x',) {float(small_motion(6).root.sum())}"
    assert second == "takes.loom: cannot write to this library: Permission denied"


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits")
def test_a_full_disk_leaves_the_library_whole(lib):
    lib.add_motion(small_motion(1), name="m")
    before = contents(lib.path)
    script = (
        "import resource\n"
        "from motionloom import Library, LibraryError\n"
        "from small_takes import small_motion\n"
        "lib = Library('takes.loom')\n"
        "motion = small_motion(2, frames=5000)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    lib.add_motion(motion, name='n')\n"
        "except LibraryError as error:\n"
        "    print(error)\n"
    )
    done = _python(script, cwd=lib.path.parent)
    assert done.stdout == "takes.loom: cannot write to this library: File too large\n"
    assert contents(lib.path) == before


def test_a_reader_undoes_what_a_killed_writer_left_in_mid_transaction(lib, tmp_path):
    for number in range(200):
        lib.add_motion(small_motion(number, frames=2), name=f"m{number}", labels=["x"])
    writer = sqlite3.connect(lib.path / "catalogue.sqlite", isolation_level=None)
    writer.execute("PRAGMA cache_size = 1")  # changes reach the file before the commit
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE motions SET digest = 'half', origin = origin || origin")
    left = tmp_path / "left.loom"
    shutil.copytree(lib.path, left)  # as a kill at this moment would leave it
    writer.close()
    assert (left / "catalogue.sqlite-journal").stat().st_size > 0
    assert b"half" in (left / "catalogue.sqlite").read_bytes()
    assert Library(left).store.digest() == lib.store.digest()
    assert not (left / "catalogue.sqlite-journal").exists()


def test_a_reader_that_loses_the_race_with_a_writer_looks_again(lib, monkeypatch):
    lib.add_motion(small_motion(1), name="m")
    calls = []

    def replaced_meanwhile(path, **sizes):
        if not calls:
            Library(lib.path).add_motion(small_motion(2), name="m", replace=True)
        calls.append(path)
        return open_frames(path, **sizes)

    monkeypatch.setattr(stored_motions, "open_frames", replaced_meanwhile)
    np.testing.assert_array_equal(lib["m"].root, small_motion(2).root)
    assert len(calls) == 2


def test_names_that_look_alike_in_the_file_system_stay_apart(lib):
    names = ["a/b", "a_b", "A_b", "a b", "x" * 300, "x" * 301]
    for name in names:
        lib.add_motion(small_motion(1), name=name)
    assert len({file.lower() for file in frame_files(lib)}) == len(names)
    lib.remove("a/b")
    assert lib.store.damage() == [] and len(lib) == len(names) - 1


def test_two_libraries_share_nothing(tmp_path):
    first = Library.create(tmp_path / "one.loom")
    first.add_motion(small_motion(1), name="m")
    shutil.copytree(first.path, tmp_path / "two.loom")
    two = Library(tmp_path / "two.loom")
    first.remove("m")
    np.testing.assert_array_equal(two["m"].root, small_motion(1).root)


def _python(script: str, cwd: Path) -> subprocess.CompletedProcess:
    root = Path(__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root / 'tests'}",
        "NUMBA_CACHE_DIR": str(cwd),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_library_keeps_its_identifier_when_moved_and_a_new_one_has_another(tmp_path):
    made = Library.create(tmp_path / "a.loom")
    identifier = made.store.id
    made.close()
    (tmp_path / "a.loom").rename(tmp_path / "b.loom")
    assert Library(tmp_path / "b.loom").store.id == identifier
    assert Library.create(tmp_path / "a.loom").store.id != identifier
