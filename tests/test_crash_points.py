"""A process killed before or after each rename, removal and commit: all of a change, or nothing.

The state before and the state after are compared with the state that a new process finds, including
the history. Then the library verifies clean, the next writer tidies up without changing anything,
and the change can be undone.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import motionloom as ml

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")
resource = pytest.importorskip("resource")  # not on Windows
KICKS = ["kick_a", "kick_b", "kick_c"]
SAVED = ["beats", "choreography", "parametric", "graph-settings"]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A library with labels, beats and a choreography."""
    folder = tmp_path_factory.mktemp("crash")
    files = folder / "files"
    ml.demo.clip("jog")[:50].save(files / "jog.bvh")
    ml.demo.clip("walk")[:70].save(files / "walk.bvh")
    with ml.Library.create(folder / "takes.loom") as lib:
        lib.add(files / "walk.bvh", workers=1)
        for name, performer in zip(KICKS, (0, 1, 2), strict=True):
            lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer), name=name)
        lib.add_motion(ml.demo.clip("walk_fast")[:70], name="fast")
        lib.labels.add("walk", "calm")
        lib.labels.add("walk:5-20", "part")
        lib.beats.set("walk", bpm=100)
        lib.beats.set("kick_a", bpm=60)
        with lib.store.change("save choreography c"):
            lib.artifacts.save("choreography", "c", {"number": 1})
        lib.graphs.keep(graph_settings(8))
    return folder


@pytest.fixture(scope="module")
def whole_template(template):
    """The same library with a parametric motion."""
    with ml.Library(template / "takes.loom") as lib:
        lib.parametrize(KICKS, by="right_ankle@20", samples=4, name="kick")
    return template


def graph_settings(per_minute):
    from motionloom.motion_graph import GraphSettings

    return GraphSettings(only=("walk", "fast"), per_minute=per_minute)


def renamed(lib, folder):
    lib.rename("walk", "stroll")


def undone(lib, folder):
    lib.undo()


def mixed(lib, folder):
    with lib.store.change("mixed"):
        lib.add_motion(ml.demo.clip("jog")[:30], name="own", labels=["x"])
        lib.labels.remove("walk", "calm")
        lib.beats.set("walk", bpm=90)
        lib.remove("kick_b")


def saved_again(lib, folder):
    with lib.store.change("save choreography c"):
        lib.artifacts.save("choreography", "c", {"number": 2})


def deleted(lib, folder):
    del lib.parametric["kick"]


def imported(lib, folder):
    lib.add(folder / "files", workers=1, labels={"jog": "quick"})


def imported_again(lib, folder):
    lib.add(folder / "files" / "walk.bvh", workers=1, force=True, unit="m")


def replaced(lib, folder):
    lib.add_motion(ml.demo.clip("walk")[:20], name="walk", replace=True)


def read_labels(lib, folder):
    table = "motion,start,end,label\nwalk,,,quick\nwalk,0.1,0.5,turn\nkick_a,,,high\n"
    (folder / "labels.csv").write_text(table)
    lib.labels.read(folder / "labels.csv")


def repaired(lib, folder):
    assert lib.verify(repair=True).problems == ()


Change = Callable[[ml.Library, Path], object]
# Each change, with the changes made before it.
CHANGES: dict[str, tuple[list[Change], Change]] = {
    "import": ([], imported),
    "import again": ([], imported_again),
    "add": ([], replaced),
    "label": ([], lambda lib, folder: lib.labels.add("walk", "tired")),
    "label a part": ([], lambda lib, folder: lib.labels.add("walk:3-9", "step")),
    "rename": ([], renamed),
    "remove": ([], lambda lib, folder: lib.remove("walk", "kick_b")),
    "beats": ([], lambda lib, folder: lib.beats.set("kick_b", bpm=120)),
    "edit beats": ([], lambda lib, folder: lib.beats.edit("walk", times=[0.2, 0.9, 1.7])),
    "read labels": ([], read_labels),
    "save": ([], saved_again),
    "delete": ([], deleted),
    "several": ([], mixed),
    "undo rename": ([renamed], undone),
    "redo rename": ([renamed, undone], lambda lib, folder: lib.redo()),
    "undo several": ([mixed], undone),
    "redo several": ([mixed, undone], lambda lib, folder: lib.redo()),
    "redo save": ([saved_again, undone], lambda lib, folder: lib.redo()),
    "web": ([], lambda lib, folder: lib.webs.build(only=["walk", "kick_a"], workers=1)),
    "graph": ([], lambda lib, folder: lib.graphs.edited(graph_settings(9), workers=1)),
    "graph settings": ([], lambda lib, folder: lib.graphs.keep(graph_settings(9))),
    "edit graph": ([], lambda lib, folder: lib.graphs.edit("lock", "walk:30,fast:12")),
    "match": ([], lambda lib, folder: lib.motion_matching(only=["walk", "kick_a"])),
    "parametrize": (
        [],
        lambda lib, folder: lib.parametrize(KICKS, by="right_ankle@25", samples=3, name="kick"),
    ),
    "repair": ([lambda lib, folder: damage(lib)], repaired),
}
SOME = ["rename", "undo several", "save"]  # were neither whole nor absent in release 0.2


def damage(lib) -> None:
    """Lose a frame file that can be read from its source again, and an entry."""
    os.unlink(lib.path / "frames" / lib.store.entry("walk").file)
    lib.close()
    with sqlite3.connect(lib.path / "catalogue.sqlite") as catalogue:
        catalogue.execute("UPDATE motions SET fps = 7.0 WHERE name = 'kick_b'")


def state(path) -> dict:
    """Everything that a user made, as a new process finds it."""
    with ml.Library(path) as lib:
        saved = [(kind, name) for kind in SAVED for name in lib.artifacts.names(kind)]
        return {
            "motions": [(e.name, e.digest, e.fps) for e in lib.store.catalogue.raw_entries()],
            "labels": lib.store.catalogue.labels(),
            "segments": sorted(lib.store.catalogue.segment_labels()),
            "artifacts": {each: lib.artifacts.about(*each) for each in saved},
            "history": lib.history(),
            "read": [lib[name].root.sum() for name in lib.names],
        }


def run(work: Callable[[], object], crash: int | None = None) -> int:
    """Run `work` in a process that is killed at a crash point; return the number of points."""
    receiver, sender = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(receiver)
        code = 1
        with suppress(BaseException):
            points = _count_points(crash)
            work()
            os.write(sender, struct.pack("i", len(points)))
            code = 0
        os._exit(code)
    os.close(sender)
    with os.fdopen(receiver, "rb") as answer:
        content = answer.read()
    _, status = os.waitpid(pid, 0)
    if crash is not None:
        assert os.WIFSIGNALED(status)
        return crash
    assert status == 0
    return struct.unpack("i", content)[0]


def _count_points(crash: int | None) -> list[int]:
    """Kill this process at the crash point of that number."""
    points: list[int] = []

    def point() -> None:
        if len(points) == crash:
            os.kill(os.getpid(), signal.SIGKILL)
        points.append(1)

    def watched(function):
        def call(*args, **options):
            point()
            result = function(*args, **options)
            point()
            return result

        return call

    for name in ("rename", "replace", "unlink", "rmdir", "ftruncate"):
        setattr(os, name, watched(getattr(os, name)))

    class Connection(sqlite3.Connection):
        def execute(self, statement, *values):
            execute = super().execute
            return (watched(execute) if statement == "COMMIT" else execute)(statement, *values)

    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **options: connect(*args, factory=Connection, **options)
    return points


def check_change(template, folder, name, every: int = 1) -> int:
    """Kill the change at each crash point; return their number."""
    before_it, change = CHANGES[name]
    start, path = folder / "start.loom", folder / "takes.loom"
    shutil.copytree(template / "takes.loom", start)
    with ml.Library(start) as lib:
        for earlier in before_it:
            earlier(lib, template)

    def work() -> None:
        with ml.Library(path) as lib:
            change(lib, template)

    def again() -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(start, path)

    again()
    clean = state(path) if name != "repair" else {}
    count = run(work)
    after = state(path)
    whole = [clean, after]
    for crash in range(0, count, every):
        again()
        run(work, crash)
        if name == "repair":  # each problem is repaired by itself
            with ml.Library(path) as lib:
                repaired(lib, template)
                assert lib.verify().problems == ()
            assert state(path)["motions"] == after["motions"]
            continue
        left = state(path)
        assert left in whole, f"{name}, crash point {crash} of {count}"
        with ml.Library(path) as lib:
            assert lib.verify().problems == ()
            with lib.store.writing():
                pass  # the next writer tidies up
            assert all("trash" in note for note in lib.verify().notes)
            lib.verify(repair=True)
        assert state(path) == left
        if left == after != clean and len(after["history"]) == len(clean["history"]) + 1:
            with ml.Library(path) as lib:
                lib.undo()
            back = state(path)
            assert {**back, "history": 0} == {**clean, "history": 0}
    return count


@pytest.mark.parametrize("name", SOME)
def test_a_killed_change_is_whole_or_absent(template, tmp_path, name):
    assert check_change(template, tmp_path, name, every=7) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_whole_or_absent_at_every_crash_point(whole_template, tmp_path, name):
    count = check_change(whole_template, tmp_path, name)
    print(f"{name}: {count} crash points")


BUILDS: dict[str, Change] = {
    "find": lambda lib, folder: lib.find("a person walks, then kicks"),
    "search": lambda lib, folder: lib.search("walk:0-30", method="lazy"),
    **{name: CHANGES[name][1] for name in ("graph", "match", "parametrize", "web", "import")},
}


def check_full_disk(template, folder, name, limits) -> None:
    """Run a command on a disk that takes no file beyond a size: it works or ends in one error."""
    for limit in limits:
        path = folder / f"takes-{limit}.loom"
        shutil.copytree(template / "takes.loom", path)
        before = state(path)

        def work(path=path, limit=limit) -> None:
            sys.dont_write_bytecode = True  # Python does not notice that it is cut off
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            with ml.Library(path) as lib, suppress(ml.MotionloomError):
                BUILDS[name](lib, template)

        run(work)  # fails if there is any other exception
        left = state(path)
        assert left == before or name in ("import", "parametrize")
        with ml.Library(path) as lib:
            assert lib.verify().problems == ()


@pytest.mark.parametrize("name", ["find"])
def test_a_full_disk_is_one_error(template, tmp_path, name):
    check_full_disk(template, tmp_path, name, [1 << 15])


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDS)
def test_a_full_disk_is_one_error_at_every_size(whole_template, tmp_path, name):
    check_full_disk(whole_template, tmp_path, name, [0, *(1 << power for power in range(8, 20))])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["bvh", "parquet"])
def test_a_killed_export_is_whole_or_absent_and_the_next_removes_what_it_left(
    template, tmp_path, suffix
):
    with ml.Library(template / "takes.loom") as lib:
        lib.export(tmp_path / "whole", to=suffix)
    whole = {path.name for path in (tmp_path / "whole").rglob("*")}

    def work() -> None:
        with ml.Library(template / "takes.loom") as lib:
            lib.export(tmp_path / "out" / "takes", to=suffix)

    count = run(work)
    for crash in range(count):
        shutil.rmtree(tmp_path / "out")
        run(work, crash)
        out = tmp_path / "out" / "takes"
        if not out.exists():
            work()
        assert {path.name for path in out.rglob("*")} == whole
        if crash < count - 10:
            assert [path.name for path in out.parent.iterdir()] == ["takes"]
