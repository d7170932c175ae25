"""Libraries that cannot be trusted: lost, exchanged, damaged and hostile ones."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import LibraryError
from motionloom.store.catalogue import Catalogue
from motionloom.store.catalogue_file import is_unused
from motionloom.store.lock import writer_lock
from motionloom.studio.state.app_state import AppState

MOTIONS = ("walk", "jog", "kick_front_high_right")


@pytest.fixture
def takes(tmp_path):
    """Three files, imported into a library with labels."""
    for name in MOTIONS:
        ml.demo.clip(name).save(tmp_path / "files" / f"{name}.bvh")
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add(tmp_path / "files", workers=1, labels={name: [name[:4]] for name in MOTIONS})
    return library


def frames(library):
    return sorted(os.listdir(library.path / "frames"))


def change(library, statement, *values):
    """Change the catalogue behind the back of motionloom."""
    library.close()
    with sqlite3.connect(library.path / "catalogue.sqlite") as catalogue:
        catalogue.execute(statement, values)
    catalogue.close()


# --- nothing is lost ------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["rows deleted", "file emptied", "file missing"])
def test_an_import_after_the_catalogue_is_lost_keeps_all_frames(takes, tmp_path, how):
    before = frames(takes)
    catalogue = takes.path / "catalogue.sqlite"
    if how == "rows deleted":
        change(takes, "DELETE FROM motions")
    elif how == "file emptied":
        catalogue.write_bytes(b"")
    else:
        catalogue.unlink()
    done = ran("import", takes.path, tmp_path / "files" / "jog.bvh")
    assert done.returncode == 2
    assert "frames of 3 motions that are not listed" in done.stderr and "--repair" in done.stderr
    assert frames(takes) == before

    assert ran("verify", takes.path, "--repair").returncode == 0
    again = ml.Library(takes.path)
    assert again.names == tuple(sorted(MOTIONS))
    assert again.store.damage() == []
    assert np.array_equal(again["jog"].rotations, takes["jog"].rotations)
    assert again.store.entry("walk").source.endswith("walk.bvh")


def test_a_damaged_catalogue_is_rebuilt_from_the_frames(takes):
    takes.close()
    path = takes.path / "catalogue.sqlite"
    path.write_bytes(b"no database at all" * 500)
    with pytest.raises(LibraryError, match="verify LIB --repair"):
        ml.Library(takes.path)
    done = ran("verify", takes.path, "--repair")
    assert done.returncode == 0 and "3 motions listed; its labels are lost" in done.stderr
    assert ml.Library(takes.path).names == tuple(sorted(MOTIONS))


def test_a_library_that_is_replaced_while_it_is_open_loses_nothing(takes, tmp_path):
    opened = ml.Library(takes.path)
    assert len(opened) == 3
    other = ml.Library.create(tmp_path / "other.loom")
    for name in ("walk_fast", "dance_groove"):
        other.add_motion(ml.demo.clip(name), name=name)
    other.close()
    there = frames(other)
    shutil.rmtree(takes.path)
    os.rename(tmp_path / "other.loom", takes.path)
    opened.add(tmp_path / "files" / "jog.bvh", workers=1)
    assert set(there) <= set(frames(takes))
    assert opened.names == ("dance_groove", "jog", "walk_fast")


def test_a_killed_import_is_swept_into_the_trash(takes):
    orphan = takes.path / "frames" / "left.0123456789ab.npy"
    shutil.copy(takes.path / "frames" / frames(takes)[0], orphan)
    takes.add(takes.path.parent / "files", workers=1)
    assert orphan.exists()  # nothing says that an import was interrupted
    killed_writer(takes)
    takes.add(takes.path.parent / "files", workers=1)
    assert not orphan.exists()
    assert [path.name for path in takes.path.glob("trash/*/frames/*")] == [orphan.name]
    assert not (takes.path / "lock").read_bytes()


def killed_writer(library) -> None:
    """Leave the writer lock as a killed process does."""
    with library.store.writing():
        text = (library.path / "lock").read_bytes()
    assert text
    (library.path / "lock").write_bytes(text)


@pytest.mark.parametrize("how", ["an older catalogue", "rows deleted"])
def test_a_catalogue_that_does_not_list_everything_keeps_all_frames_after_a_kill(takes, how):
    older = (takes.path / "catalogue.sqlite").read_bytes()
    takes.add_motion(ml.demo.clip("jog"), name="later")
    there = frames(takes)
    killed_writer(takes)
    takes.close()
    if how == "rows deleted":
        change(takes, "DELETE FROM motions WHERE name = 'later'")
    else:
        (takes.path / "catalogue.sqlite").write_bytes(older)
    library = ml.Library(takes.path)
    library.labels.add("walk", "calm")
    assert frames(takes) == there
    library.verify(repair=True)
    assert "later" in library.names and library.verify().problems == ()


def test_what_a_worker_left_is_in_the_trash_after_the_import(takes):
    left = takes.path / "frames" / "left.0123456789ab.npy"

    def killed(steps):
        shutil.copy(takes.path / "frames" / takes.store.entry("walk").file, left)

    takes.add(takes.path.parent / "files", workers=1, force=True, progress=killed)
    assert not left.exists() and len(frames(takes)) == 3
    assert left.name in [path.name for path in takes.path.glob("trash/*/frames/*")]


@pytest.mark.parametrize("fails", [False, True])
def test_an_import_under_an_exchanged_catalogue_keeps_what_it_wrote(
    takes, tmp_path, monkeypatch, fails
):
    """A backup of the catalogue is put in its place: it does not list later imports."""
    from motionloom.store.ingest import importing

    monkeypatch.setattr(importing, "BATCH_ROWS", 1)
    for name in ("walk_fast", "walk_slow"):
        ml.demo.clip(name).save(tmp_path / "more" / f"{name}.bvh")
    catalogue, backup = takes.path / "catalogue.sqlite", tmp_path / "backup.sqlite"
    shutil.copy(catalogue, backup)
    written = []

    def restored(steps):
        written.append(frames(takes))
        if len(written) == 2:
            os.replace(backup, catalogue)
            if fails:
                raise LibraryError("the disk is full")

    with pytest.raises(LibraryError, match="disk is full") if fails else nullcontext():
        takes.add(tmp_path / "more", workers=1, progress=restored)
    assert len(written[-1]) == 5 and frames(takes) == written[-1]
    assert takes.verify(repair=True).problems == () and len(takes) == 5


def test_a_removed_motion_is_in_the_trash_until_it_is_emptied(takes):
    takes.remove("jog")
    assert len(list(takes.path.glob("trash/*/frames/jog*.npy"))) == 1
    assert any("the trash contains 1 files" in note for note in takes.verify().notes)
    assert "deleted  1 file from the trash" in ran("verify", takes.path, "--empty-trash").stderr
    assert not (takes.path / "trash").exists()


# --- names that lead out of the library --------------------------------------------------------


@pytest.mark.parametrize("name", ["../../victim/thesis.txt", "/etc/passwd", "a/../../x", "C:\\x"])
def test_a_frame_file_is_below_the_library(takes, tmp_path, name):
    victim = tmp_path / "victim" / "thesis.txt"
    victim.parent.mkdir()
    victim.write_text("years of work")
    change(takes, "UPDATE motions SET file = ? WHERE name = 'jog'", name)
    library = ml.Library(takes.path)
    for attempt in (lambda: library.remove("jog"), lambda: library["jog"], library.entries):
        with pytest.raises(LibraryError, match="not a plain name.*verify"):
            attempt()
    library.verify(repair=True)
    assert victim.read_text() == "years of work"
    assert ml.Library(takes.path).store.damage() == []


def test_a_catalogue_with_right_checksums_is_not_believed_either(takes, tmp_path):
    victim = tmp_path / "thesis.txt"
    victim.write_text("years of work")
    change(takes, "UPDATE motions SET file = '../../thesis.txt' WHERE name = 'jog'")
    takes.store.catalogue.put_checks()
    with pytest.raises(LibraryError, match="not a plain name"):
        ml.Library(takes.path).remove("jog")
    assert victim.exists()


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("name", ["frames", "derived", "trash", "lock", "catalogue.sqlite-journal"])
def test_a_link_in_a_library_is_not_followed(takes, tmp_path, name):
    takes.search("walk", max=1)
    takes.close()
    victim = tmp_path / "victim"
    path = takes.path / name
    if name in ("frames", "derived", "trash"):
        if path.exists():
            shutil.move(path, victim)
        else:
            victim.mkdir()
    else:
        victim.write_text("years of work")
        path.unlink(missing_ok=True)
    path.symlink_to(victim)
    before = victim.read_text() if victim.is_file() else sorted(os.listdir(victim))
    try:
        library = ml.Library(takes.path)
        library.remove("jog")
        library.add_motion(ml.demo.clip("walk_fast"))
        library.search("walk", max=1)
    except LibraryError:
        pass
    else:
        assert name == "trash"  # removed files stay where they are
    after = victim.read_text() if victim.is_file() else sorted(os.listdir(victim))
    assert after == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON labels BEGIN DELETE FROM motions; END",
        "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
        "SELECT i FROM n",
        "CREATE INDEX labels_by_name ON labels (name)",
        "ALTER TABLE meta ADD COLUMN x TEXT AS (printf('%.*c', 1000000000, 'x'))",
    ],
)
def test_a_schema_with_more_than_tables_is_refused(takes, statement):
    change(takes, statement)
    with pytest.raises(LibraryError, match="damaged or not trustworthy: expected .*tables"):
        ml.Library(takes.path)


@pytest.mark.parametrize(
    "columns",
    ["printf('%.*c', 100000000, label)", "label || zeroblob(100000000)", "abs(label)", "label, -1"],
)
def test_an_expression_in_an_index_of_the_catalogue_is_refused(takes, columns):
    change(takes, "DROP INDEX labels_by_label")
    change(takes, "DELETE FROM labels")
    change(takes, f"CREATE INDEX labels_by_label ON labels ({columns})")
    with pytest.raises(LibraryError, match="found the index 'labels_by_label'"):
        ml.Library(takes.path)


def test_a_label_missing_from_the_index_is_noticed_and_repaired(takes):
    """Release 0.2 did not compare the labels with their index, so ``label=`` missed motions."""
    takes.labels.add("walk", "findme")
    takes.close()
    path = takes.path / "catalogue.sqlite"
    content = path.read_bytes()
    (root,) = sqlite3.connect(path).execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'labels_by_label'"
    ).fetchone()  # fmt: skip
    page = slice((root - 1) * 4096, root * 4096)
    assert content[page].count(b"findme") == 1
    path.write_bytes(
        content[: page.start] + content[page].replace(b"findme", b"findne") + content[page.stop :]
    )
    library = ml.Library(takes.path)
    assert not library.labels.motions("findme")
    assert any("labels_by_label" in problem for problem in library.verify().problems)
    assert "rebuilt its indices" in library.verify(repair=True).repaired[0]
    assert library.labels.motions("findme") == ("walk",) and not library.verify().problems


def test_a_writer_does_not_look_like_damage(takes, monkeypatch):
    """Motions, labels and artifacts that change while a library is verified."""
    whole, changes = Catalogue._labels_sum, []

    def meanwhile(catalogue, name):
        changes.append(name)
        if len(changes) == 5:  # between reading the checksums and reading the labels
            with ml.Library(takes.path) as other:
                other.labels.add("walk", "calm")
                other.remove("jog")
                other.rename("walk", "stroll")
                other.add_motion(ml.demo.clip("jog")[:30], name="new")
        return whole(catalogue, name)

    monkeypatch.setattr(Catalogue, "_labels_sum", meanwhile)
    report = takes.verify()
    assert len(changes) > 5 and {"new", "stroll"} < set(takes.names)
    assert report.problems == () and all("trash" in note for note in report.notes)


def test_a_view_in_place_of_a_table_is_refused(takes):
    change(takes, "DROP TABLE labels")
    change(takes, "CREATE VIEW labels AS SELECT name, name AS label FROM motions")
    with pytest.raises(LibraryError, match="found the view 'labels'"):
        ml.Library(takes.path)


def test_a_journal_that_names_another_file_is_refused(takes, tmp_path):
    # SQLite deletes the file that the end of a journal names as the journal of several databases.
    victim = tmp_path / "thesis.txt"
    victim.write_text("years of work")
    name = str(victim).encode()
    mark = bytes.fromhex("d9d505f920a163d7")
    front = mark + (1).to_bytes(4, "big") + bytes(4) + (1).to_bytes(4, "big")
    front += (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    tail = (sum(name) & 0xFFFFFFFF).to_bytes(4, "big")
    journal = front.ljust(512, b"\0") + bytes(4 + 4096 + 4)
    journal += (0x40000000 // 4096 + 1).to_bytes(4, "big") + name
    journal += len(name).to_bytes(4, "big") + tail + mark
    takes.close()
    (takes.path / "catalogue.sqlite-journal").write_bytes(journal)
    with pytest.raises(LibraryError, match="names another file, which SQLite would delete"):
        ml.Library(takes.path)
    assert victim.exists()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("frames", -3, "has -3 frames"),
        ("frames", "many", "has 'many' frames"),
        ("frames", 1 << 62, "frames"),
        ("fps", 0.0, "has 0.0 frames per second"),
        ("fps", float("inf"), "frames per second"),
        ("fps", 0.001, "has 0.001 frames per second, not 1 to 10000"),  # 40 frames: 11 hours
        ("fps", "x", "has 'x' frames per second"),
        ("digest", b"\0", "has a digest that is not a string"),
    ],
)
def test_values_that_cannot_be_are_refused(takes, column, value, message):
    change(takes, f"UPDATE motions SET {column} = ? WHERE name = 'jog'", value)
    library = ml.Library(takes.path)
    for attempt in (lambda: library.store.entry("jog"), library.entries, lambda: library["jog"]):
        with pytest.raises(LibraryError, match=message):
            attempt()
    report = library.verify(repair=True)
    assert report.problems == () and "restored from its frame file" in report.repaired[0]
    assert len(library["jog"]) == library.store.entry("jog").frames


@pytest.mark.parametrize("table", ["labels", "segment_labels"])
def test_labels_that_are_not_strings_are_refused(takes, table):
    takes.labels["jog"] = ["run"]
    takes.labels.add("jog:0-10", "start")
    change(takes, f"UPDATE {table} SET label = ? WHERE name = 'jog'", b"r\xffn")
    library = ml.Library(takes.path)
    with pytest.raises(LibraryError, match="the catalogue is damaged"):
        library.find("run")
    report = library.verify()
    assert any("jog" in problem for problem in report.problems)
    library.verify(repair=True)
    assert library.find("run") is not None


# --- an address in a library ---------------------------------------------------------------------


def test_a_store_is_confirmed_where_it_was_not_chosen(takes, tmp_path, monkeypatch):
    victim = tmp_path / "victim" / "frames"
    victim.mkdir(parents=True)
    (victim / "thesis.npy").write_text("years of work")
    change(takes, "INSERT INTO meta VALUES ('store', ?)", f"file://{tmp_path}/victim")
    takes.store.catalogue.put_checks()
    library = ml.Library(takes.path)
    with pytest.raises(LibraryError, match=r"not chosen on this machine.*motionloom trust"):
        library.add(tmp_path / "files", workers=1)
    assert (victim / "thesis.npy").exists()

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    done = ran("trust", takes.path)
    assert done.returncode == 0 and "file:///" in done.stderr
    assert ml.Library(takes.path).store.files.remote


@pytest.mark.parametrize(
    "address", ["github://o:r@", "simplecache::file:///x", "zip://x", "http://a/b"]
)
def test_only_file_systems_for_storage_are_opened(takes, address):
    takes.store.catalogue.set_meta("store", address)
    with pytest.raises(ml.MotionloomError, match="with one of file, local"):
        _ = ml.Library(takes.path).store.files


# --- silent corruption -------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9, 0.995])
def test_a_flipped_byte_in_a_frame_file_is_noticed(takes, place):
    file = takes.path / "frames" / takes.store.entry("jog").file
    data = bytearray(file.read_bytes())
    data[int(place * len(data))] ^= 0x10
    file.write_bytes(data)
    with pytest.raises(LibraryError, match="damaged frames"):
        _ = ml.Library(takes.path)["jog"]
    done = ran("verify", takes.path)
    assert done.returncode == 1 and "problem  jog: " in done.stderr
    done = ran("verify", takes.path, "--repair")
    assert done.returncode == 0 and "jog.bvh again" in done.stderr
    assert ml.Library(takes.path).store.damage() == []


def test_a_changed_rate_and_a_changed_label_are_noticed(takes):
    change(takes, "UPDATE motions SET fps = fps / 2 WHERE name = 'jog'")
    change(takes, "UPDATE labels SET label = 'stand' WHERE name = 'walk'")
    library = ml.Library(takes.path)
    with pytest.raises(LibraryError, match="'jog': its entry has a wrong checksum"):
        _ = library["jog"]
    with pytest.raises(LibraryError, match="'walk': its labels have a wrong checksum"):
        library.labels["walk"]
    assert [line.split(":")[0] for line in library.store.damage()] == ["jog", "walk"]
    report = library.verify(repair=True)
    assert report.problems == () and len(report.repaired) == 2
    assert library["jog"].fps == pytest.approx(ml.demo.clip("jog").fps)
    assert library.labels["walk"] == ("stand",)  # nobody knows what it was


def test_a_changed_setting_of_the_library_is_noticed(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom", fps=30)
    change(library, "UPDATE meta SET value = '15.0' WHERE key = 'fps'")
    with pytest.raises(LibraryError, match="settings of the library have a wrong checksum"):
        _ = ml.Library(library.path).store.fps


def test_a_renamed_row_is_restored(takes):
    change(takes, "UPDATE motions SET name = 'jig' WHERE name = 'jog'")
    report = ml.Library(takes.path).verify(repair=True)
    assert report.problems == ()
    assert ml.Library(takes.path).names == tuple(sorted(MOTIONS))


def test_a_damaged_artifact_is_noticed(takes):
    takes.search("walk", max=1)
    takes.artifacts.save("parametric", "kick", {"by": "turn"}, {"weights": np.eye(20)})
    rows = next(takes.path.glob("derived/*/rows.npy"))
    kept = next(takes.path.glob("derived/parametric.kick.*/arrays.npz"))
    for file in (rows, kept):
        data = bytearray(file.read_bytes())
        data[-300] ^= 1
        file.write_bytes(data)
    library = ml.Library(takes.path)
    # Another process would notice; this one has verified the folder before.
    from motionloom.store.artifacts import folders

    folders._verified.clear()
    with pytest.raises(LibraryError, match="the parametric 'kick' is damaged"):
        library.artifacts.load("parametric", "kick")
    assert len(library.store.damage()) == 2
    report = library.verify(repair=True)
    assert len(report.repaired) == 1 and "rebuilt when it is needed" in report.repaired[0]
    assert len(report.problems) == 1 and "create it again" in report.problems[0]
    assert len(library.search("walk", max=1)) == 1


def test_a_verified_artifact_is_not_read_again_for_a_day(takes, tmp_path, monkeypatch):
    from motionloom.store.artifacts import folders

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    read: list[str] = []
    checksum, pages = folders.file_checksum, folders.page_checksum
    monkeypatch.setattr(
        folders, "file_checksum", lambda path: read.append(f"all of {path}") or checksum(path)
    )
    monkeypatch.setattr(
        folders,
        "page_checksum",
        lambda path, keep: read.append(path.name) or pages(path, keep=keep),
    )

    def reads():
        folders._verified.clear()  # as another process
        read.clear()
        takes.artifacts.load("parametric", "kick")
        return len(read)

    with monkeypatch.context() as unread:
        unread.setattr(folders, "page_checksum", pages)
        takes.artifacts.save("parametric", "kick", {}, {"weights": np.ones(1 << 20)})
    assert reads() == reads() == 2  # written just now: it could still change unnoticed
    monkeypatch.setattr(folders, "_SETTLED", -1.0)
    assert [reads(), reads(), reads()] == [2, 0, 0]
    (stamp,) = (tmp_path / "cache/motionloom/verified").iterdir()
    os.utime(stamp, (1e9, 1e9))
    assert [reads(), reads()] == [2, 0]  # the day is over
    assert takes.store.damage() == [] and any(name.startswith("all of") for name in read)  # verify

    file = next(takes.path.glob("derived/parametric.kick.*/arrays.npz"))
    data = bytearray(file.read_bytes())
    data[-300] ^= 1
    file.write_bytes(data)
    with pytest.raises(LibraryError, match="the parametric 'kick' is damaged"):
        reads()


@pytest.mark.parametrize("earlier", [False, True])
def test_every_flipped_byte_is_noticed_when_an_artifact_is_first_read(tmp_path, rng, earlier):
    """Also for artifacts of earlier releases, which have no page checksums."""
    from motionloom.store.artifacts import folders

    file = tmp_path / "rows.npy"
    np.save(file, rng.normal(size=2600))  # five pages and a part
    folders.write_checks(tmp_path)
    if earlier:
        checks = json.loads((tmp_path / "checks.json").read_text())
        (tmp_path / "checks.json").write_text(
            json.dumps({name: check[:2] for name, check in checks.items()})
        )
    data = file.read_bytes()

    def check(changed, whole=False):
        folders._verified.clear()
        file.write_bytes(changed)
        folders.check_folder(tmp_path, whole=whole)

    check(data)
    check(data, whole=True)
    for place in [*range(0, len(data), 61), 4095, 4096, len(data) - 1]:
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        with pytest.raises(LibraryError, match="rows.npy: damaged: wrong checksum"):
            check(changed)
    page = slice(4096, 8192), slice(8192, 12288)
    exchanged = bytearray(data)
    exchanged[page[0]], exchanged[page[1]] = data[page[1]], data[page[0]]
    for changed in (exchanged, data[:-1], data + b"\0", data[:4096] + bytes(4096) + data[8192:]):
        with pytest.raises(LibraryError, match="rows.npy: damaged: wrong checksum"):
            check(changed)
    # Words that are exchanged within a page have the same sum; all of the file has another CRC.
    words = bytearray(data)
    words[4096:4104], words[4104:4112] = data[4104:4112], data[4096:4104]
    with pytest.raises(LibraryError, match="rows.npy: damaged: wrong checksum"):
        check(words, whole=True)
    if not earlier:
        check(words)


def test_an_array_that_was_verified_is_opened_once_and_as_it_was_then(tmp_path, rng):
    from motionloom import checked_arrays
    from motionloom.checked_arrays import open_array
    from motionloom.store.artifacts import folders

    file, rows = tmp_path / "rows.npy", rng.normal(size=(80_000, 15)).astype(np.float32)
    for table in (rows, np.asfortranarray(rows)):
        np.save(file, table)
        folders.write_checks(tmp_path)
        assert not checked_arrays._mapped
        folders._verified.clear()
        folders.check_folder(tmp_path)
        assert list(checked_arrays._mapped) == [str(file)]
        opened = open_array(file)
        assert not checked_arrays._mapped and np.array_equal(opened, rows)
        if table is rows:  # another order is copied, because kernels read rows
            assert opened._mmap is not None and not opened.flags.writeable
        assert opened.flags.c_contiguous
        assert np.array_equal(open_array(file), rows)
    # One that is damaged does not stay mapped.
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    folders._verified.clear()
    with pytest.raises(LibraryError, match="damaged"):
        folders.check_folder(tmp_path)
    assert not checked_arrays._mapped
    file.write_bytes(data)
    # Another file of that name is not taken for it.
    folders._verified.clear()
    folders.check_folder(tmp_path)
    np.save(tmp_path / "new.npy", rows[:50_000] + 1.0)
    os.replace(tmp_path / "new.npy", file)
    assert np.array_equal(open_array(file), rows[:50_000] + 1.0)


def test_verify_names_a_file_that_the_disk_cannot_read(takes, monkeypatch):
    """It is read before it is mapped, which would end the process."""
    from motionloom.store.artifacts import folders

    takes.artifacts.save("parametric", "kick", {"by": "turn"}, {"weights": np.eye(2)})
    mapped = []

    def unreadable(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(folders, "file_checksum", unreadable)
    monkeypatch.setattr(folders, "page_checksum", lambda path, keep=False: mapped.append(path))
    (problem,) = takes.store.damage()
    assert "Input/output error" in problem and "parametric.kick" in problem and not mapped


def test_an_emptied_artifact_is_noticed(takes):
    takes.artifacts.save("parametric", "kick", {"by": "turn"}, {"weights": np.eye(2)})
    np.savez(next(takes.path.glob("derived/parametric.kick.*/arrays.npz")))
    assert len(takes.store.damage()) == 1


def test_files_without_checksums_are_read_and_gain_them(takes):
    for name in MOTIONS:
        file = takes.path / "frames" / takes.store.entry(name).file
        np.save(file, np.load(file))  # as earlier releases wrote it
    takes.search("walk", max=1)
    next(takes.path.glob("derived/*/checks.json")).unlink()
    library = ml.Library(takes.path)
    assert library["jog"].fps > 0 and library.labels["walk"] == ("walk",)
    report = library.verify()
    assert report.problems == () and len(report.notes) == 2
    report = library.verify(repair=True)
    assert report.problems == () and len(report.repaired) == 2
    assert library.verify().notes == ()
    (takes.path / "catalogue.sqlite").unlink()
    assert ml.Library.recover(takes.path) == 3


def test_a_pipe_in_place_of_frames_is_not_waited_for(takes):
    file = takes.path / "frames" / takes.store.entry("jog").file
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(LibraryError, match="expected a file; found a pipe"):
        _ = takes["jog"]
    assert len(takes.store.damage()) == 1


# --- origins and history ----------------------------------------------------------------------


def _changed_catalogue(path, *statement):
    with sqlite3.connect(path / "catalogue.sqlite") as catalogue:
        catalogue.execute("DELETE FROM checks")
        catalogue.execute(*statement)


@pytest.mark.parametrize(
    "origin",
    ["x", "[]", '{"repairs": 5}', '{"unit_m": "a"}', '{"carrier": {"names": 3}}', "[" * 9000],
)
def test_a_damaged_origin_is_one_error_and_is_repaired(tmp_path, origin):
    with ml.Library.create(tmp_path / "takes.loom") as made:
        made.add_motion(ml.demo.clip("walk")[:20], name="walk")
    _changed_catalogue(made.path, "UPDATE motions SET origin = ?", (origin,))
    with ml.Library(made.path) as library:
        with pytest.raises(LibraryError, match="the origin of 'walk' is damaged"):
            library["walk"]
        assert "walk: its origin is damaged" in library.verify().problems
        library.verify(repair=True)
        assert len(library["walk"]) == 20


def test_a_library_names_no_file_of_this_machine_as_a_character(tmp_path, monkeypatch):
    """Saving a motion would have written that file's meshes and textures into the result."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    hero = ml.demo.clip("walk")[:3].save(tmp_path / "hero.glb", mesh="low")
    with ml.Library.create(tmp_path / "takes.loom") as made:
        made.add_motion(ml.demo.clip("walk")[:20], name="walk")
        made.add_motion(ml.demo.clip("walk")[:20].retarget(hero), name="own")
        assert made["own"].origin.character == str(hero)  # chosen here
        made.rename("own", "mine")
        assert made["mine"].origin.character == str(hero)
    elsewhere = tmp_path / "secret.glb"
    _changed_catalogue(
        made.path,
        "UPDATE motions SET origin = json_set(origin, '$.character', ?) WHERE name = 'walk'",
        (str(elsewhere),),
    )
    with ml.Library(made.path) as library:
        assert library["walk"].origin.character is None
        ml.library.trust_library(made.path)
        assert library["walk"].origin.character == str(elsewhere)


def test_a_history_names_artifacts_as_strings(tmp_path):
    with ml.Library.create(tmp_path / "takes.loom") as made:
        made.add_motion(ml.demo.clip("dance_groove"), name="groove")
        made.choreographies["groove"] = made.choreography(takes=["groove"], meter=4)
    _changed_catalogue(made.path, "UPDATE history_artifacts SET stem = ?", (b"\xff\0",))
    with ml.Library(made.path) as library, pytest.raises(LibraryError, match="history is damaged"):
        library.undo()


@pytest.mark.parametrize("shape", [(1, 5, 2), (1, 5), (5,)])
def test_damaged_statistics_of_captions_are_recomputed(tmp_path, shape):
    with ml.Library.create(tmp_path / "takes.loom") as made:
        made.add_motion(ml.demo.clip("walk")[:40], name="walk")
        made.captions.describe(workers=1)
    (place,) = (made.path / "derived").glob("captions.*")
    (place / "checks.json").unlink()
    np.save(place / "statistics.npy", np.zeros(shape, np.float32))
    with ml.Library(made.path) as library:
        library.add_motion(ml.demo.clip("jog")[:40], name="jog")  # rows of walk are reused
        library.captions.describe(workers=1)
        (place,) = (made.path / "derived").glob("captions.*")
        statistics = np.load(place / "statistics.npy")
        assert statistics.shape[0] == 2 and statistics.shape[1] > 5 and statistics.any(axis=1).all()


def test_a_motion_whose_name_is_not_a_string_is_damage(takes):
    change(takes, "UPDATE motions SET name = x'00ff' WHERE name = ?", takes.names[0])
    with pytest.raises(LibraryError, match="the catalogue is damaged: a motion has no name"):
        ml.Library(takes.path).labels.add("nobody", "calm")


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_the_locks_of_sqlite_are_kept(takes):
    """Opening and closing the catalogue outside SQLite releases the locks of its readers.

    Another process could then write while they read.
    """
    writer = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None); "
        "c.execute('BEGIN EXCLUSIVE')"
    )
    file = str(takes.path / "catalogue.sqlite")

    def other_process_may_write() -> bool:
        done = subprocess.run([sys.executable, "-c", writer, file], capture_output=True, text=True)
        assert done.returncode == 0 or "locked" in done.stderr, done.stderr
        return done.returncode == 0

    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM motions").fetchone()
    assert not other_process_may_write()
    state = AppState(takes)
    state.stamp()
    with writer_lock(takes.path, timeout=10.0, mark=True):
        pass
    assert not is_unused(takes.path)
    assert not other_process_may_write()
    reader.close()
    assert other_process_may_write()
