"""Links, pipes and devices in a received library: nothing outside is read, written or removed."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import motionloom as ml
from motionloom.errors import LibraryError, MotionloomError
from motionloom.search.match_web.store import WebStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need rights there")


def snapshot(folder: Path) -> dict:
    """Names, types, contents and times of everything in a folder."""
    entries = {}
    for path in sorted([folder, *folder.rglob("*")]):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        entries[str(path)] = (status.st_mode, status.st_mtime_ns, content)
    return entries


class Watch:
    """Files outside that this process opens, lists, changes or removes."""

    active: Watch | None = None

    def __init__(self, outside: Path) -> None:
        self.outside = os.path.realpath(outside)
        self.seen: list[str] = []

    def look(self, event: str, values: tuple) -> None:
        for value in values[: 2 if event == "os.rename" else 1]:
            if not isinstance(value, str | bytes | os.PathLike):
                continue
            path = os.fsdecode(value).removeprefix("file://").partition("?")[0]
            if event == "open" and (values[2] or 0) & os.O_NOFOLLOW and os.path.islink(path):
                continue  # refused by the operating system
            if event in ("os.rename", "os.remove", "os.rmdir", "os.symlink"):  # the link itself
                real = os.path.join(os.path.realpath(os.path.dirname(path)), "x")
            else:
                real = os.path.realpath(path)
            if f"{real}/".startswith(f"{self.outside}/"):
                self.seen.append(f"{event} {path}")


def _audit(event: str, values: tuple) -> None:
    watch = Watch.active
    if watch is not None and (event in ("open", "sqlite3.connect") or event.startswith("os.")):
        Watch.active = None
        try:
            watch.look(event, values)
        finally:
            Watch.active = watch


@pytest.fixture(scope="session")
def audited():
    sys.addaudithook(_audit)  # cannot be removed


@contextmanager
def unharmed(outside: Path):
    """Fail if anything in `outside` is read or changed."""
    before, watch = snapshot(outside), Watch(outside)
    Watch.active = watch
    try:
        yield
    finally:
        Watch.active = None
    assert watch.seen == []
    assert snapshot(outside) == before


@pytest.mark.parametrize("verb", ["build", "search", "sweep", "verify", "repair"])
def test_a_link_in_place_of_webs_is_refused(tmp_path, audited, verb):
    """Release 0.2 deleted the webs of the library that the link names."""
    for name in ("victim", "evil"):
        with ml.Library.create(tmp_path / f"{name}.loom") as lib:
            lib.add_motion(ml.demo.clip("walk")[:40], name=f"walk of {name}")
    with ml.Library(tmp_path / "victim.loom") as victim:
        assert WebStore(victim.store).build(workers=1).built == 1
        folder = WebStore(victim.store).folder
    (folder / ".a.part.web").write_bytes(b"a file that is being written")
    evil = ml.Library(tmp_path / "evil.loom")
    (evil.path / "derived").mkdir(exist_ok=True)
    (evil.path / "derived" / folder.name).symlink_to(folder)
    with unharmed(tmp_path / "victim.loom"):
        if verb == "build":
            with pytest.raises(LibraryError, match="this is a symbolic link"):
                evil.webs.build(workers=1)
        elif verb == "search":
            with pytest.raises(LibraryError, match="this is a symbolic link"):
                evil.search("walk of evil:0-20", method="web")
        elif verb == "sweep":
            with pytest.raises(LibraryError, match="this is a symbolic link"):
                WebStore(evil.store).files.sweep()
        elif verb == "verify":
            assert "this is a symbolic link" in evil.verify().problems[0]
        else:
            assert "moved to the trash" in evil.verify(repair=True).repaired[0]
            assert evil.webs.build(workers=1).built == 1


def test_a_dangling_link_in_place_of_checksums_is_not_written_through(tmp_path, audited):
    outside = tmp_path / "outside"
    outside.mkdir()
    with ml.Library.create(tmp_path / "takes.loom") as lib:
        lib.artifacts.save("parametric", "kick", {"by": "turn"})
        (checks,) = lib.path.glob("derived/*/checks.json")
        checks.unlink()
        checks.symlink_to(outside / "new.json")
        with unharmed(outside):
            assert "a link, a pipe or a device" in lib.verify().problems[0]
            lib.verify(repair=True)
            with pytest.raises(LibraryError, match="damaged or missing"):
                lib.artifacts.about("parametric", "kick")


# --- every place and every verb -------------------------------------------------------------


@pytest.fixture(scope="module")
def seed(tmp_path_factory):
    """A library with every kind of artifact, and with files in its trash."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from fuzz.targets import seed_library

    folder = tmp_path_factory.mktemp("links")
    path = seed_library(folder)
    with ml.Library(path) as lib:
        lib.beats.set("dance_groove", bpm=100)
        lib.add_motion(ml.demo.clip("jog")[:40], name="jog")
        lib.find("a slow walk")
        lib.remove("jog")
        lib.search("walk:0-30", max=3)
    return path


PLACES = (
    "", "catalogue.sqlite", "catalogue.sqlite-journal", "lock", "queue", "synonyms.txt", "frames",
    "frames/*", "trash", "trash/*", "trash/*/*", "trash/*/*/*", "derived", "derived/.part-x",
    "derived/*", "derived/*/*", "derived/*/*/*",
)  # fmt: skip


def places(path: Path) -> list[str]:
    """One name per place of a library and per kind of artifact."""
    entries: dict[str, str] = {}
    for pattern in PLACES[1:]:
        matches = sorted(path.glob(pattern)) if "*" in pattern else [path / pattern]
        for match in matches:
            name = match.relative_to(path).as_posix()
            entries.setdefault(re.sub(r"[0-9a-f]{8,}|\d{4}-.*?Z|-\d+", "", name), name)
    return sorted(entries.values())


def put(place: Path, kind: str, outside: Path) -> None:
    """Put a link, a pipe or a device in a place of a library."""
    shutil.rmtree(outside, ignore_errors=True)
    outside.mkdir()
    (outside / "thesis.txt").write_text("years of work")
    target = outside / place.name
    if place.is_dir():
        shutil.copytree(place, target)
        shutil.rmtree(place)
    elif place.exists():
        shutil.copy2(place, target)
        place.unlink()
    if kind == "link":
        place.symlink_to(target)  # dangling if there was nothing
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        os.mknod(place, 0o666 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero


def verbs(folder: Path):
    """Every verb that uses a library, by name."""
    clip = ml.demo.clip("jog")[:40]
    return {
        "add": lambda lib: lib.add(folder / "files", workers=1),
        "add_motion": lambda lib: lib.add_motion(clip, name="added"),
        "read": lambda lib: [lib[name].root.sum() for name in lib.names],
        "labels": lambda lib: (lib.labels.counts(), lib.labels.add("walk", "calm")),
        "search": lambda lib: lib.search("walk:0-30", max=3),
        "lazy": lambda lib: lib.search("walk:0-30", method="lazy", max=3),
        "statistics": lambda lib: lib.search("walk", method="statistics", max=3),
        "web": lambda lib: lib.search("walk:0-30", method="web", max=3),
        "build": lambda lib: lib.webs.build(workers=1),
        "find": lambda lib: lib.find("a slow walk, then a kick"),
        "graph": lambda lib: lib.motion_graph(only=["walk", "walk_fast"]).walk(seconds=1.0),
        "match": lambda lib: lib.motion_matching(only=["walk", "walk_fast"]),
        "parametric": lambda lib: (lib.parametric.about(), lib.parametric["kick"]),
        "choreography": lambda lib: [lib.choreographies[name] for name in lib.choreographies],
        "beats": lambda lib: lib.beats.set("walk", bpm=90),
        "list": lambda lib: lib.artifacts.list(),
        "family": lambda lib: lib.family("walk:0-30"),
        "clusters": lambda lib: [len(cluster) for cluster in lib.clusters(workers=1)],
        "act": lambda lib: lib.act("walk, kick").plan,
        "captions": lambda lib: [lib.captions[name] for name in lib.names],
        "edit": lambda lib: (lib.graphs.settings, lib.graphs.edit("lock", "walk:30,walk_fast:12")),
        "parametrize": lambda lib: lib.parametrize(
            ["kick_front_high_right", "kick_front_mid_right"],
            by="right_ankle@20",
            samples=3,
            name="new",
        ),
        "delete": lambda lib: lib.parametric.__delitem__("kick"),
        "forget": lambda lib: lib.choreographies.__delitem__("groove"),
        "missing": lambda lib: lib.webs.missing(),
        "verify": lambda lib: lib.verify(),
        "undo": lambda lib: (lib.undo(), lib.undo(), lib.redo()),
        "rename": lambda lib: lib.rename("walk", "stroll"),
        "export": lambda lib: lib.export(folder / "out"),
        "repair": lambda lib: lib.verify(repair=True),
        "remove": lambda lib: lib.remove("walk_fast"),
        "empty": lambda lib: lib.store.empty_trash(),
    }


def check_place(seed: Path, folder: Path, name: str, kind: str) -> None:
    path, outside = folder / "takes.loom", folder / "outside"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(seed, path)
    try:
        put(path / name, kind, outside)
    except PermissionError:
        pytest.skip("devices need rights")
    from fuzz.targets import forget_verified

    with unharmed(outside):
        for verb, use in verbs(folder).items():
            forget_verified()
            with suppress(MotionloomError, FileNotFoundError):
                lib = ml.Library(path)
                with lib:
                    use(lib)
            assert Watch.active is None or Watch.active.seen == [], (name, kind, verb)
            shutil.rmtree(folder / "out", ignore_errors=True)
        with suppress(MotionloomError):
            ml.Library.recover(path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_nothing_outside_is_touched_whatever_is_in_a_library(seed, tmp_path, audited, kind):
    ml.demo.clip("jog")[:40].save(tmp_path / "files" / "jog.bvh")
    for name in places(seed):
        check_place(seed, tmp_path, name, kind)
