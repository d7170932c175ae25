"""The import of one file, as a task for a worker.

The task hashes the file, stops if the library already has it, and otherwise reads, resamples and
writes the frames of all takes in the file. Problems with the file are returned, not raised. The
catalogue is written by the process that holds the writer lock.

Skeletons that differ only by rounding are stored once (`StoredSkeletons`). Programs write the bones
of a performer to every take with different rounding, so the offsets differ by fractions of a
millimeter. A take whose skeleton differs only in this way is stored with the existing skeleton of
the library, and its frames do not change.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from motionloom.errors import MotionFormatError, MotionloomError
from motionloom.files import check_regular
from motionloom.formats import load_takes
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import body_height
from motionloom.store.catalogue import Catalogue
from motionloom.store.frames import (
    FOLDER,
    FrameDescription,
    FrameFile,
    is_whole,
    write_frames,
)
from motionloom.store.ingest.sources import SourceFile, companions
from motionloom.store.records import Entry, skeleton_from, skeleton_json
from motionloom.store.remote.object_store import FileStore, ObjectStoreError


@dataclass(frozen=True)
class ImportTask:
    """A file, the name of its motion, and the library's entries for the file."""

    source: SourceFile
    name: str
    existing: tuple[Entry, ...] = ()
    folder: str = ""  # folder that the path is relative to
    missing: bool = False  # whether an entry has no frames: read again

    @property
    def file(self) -> str:
        """Absolute path, because the task may run in another folder."""
        return os.path.join(self.folder, self.source.shown)

    def take_name(self, take: str) -> str:
        """Return the name of a take's motion; `take` is empty if the file has only one."""
        for entry in self.existing:
            if take_of(entry) == take:
                return entry.name
        return f"{self.name}{Path(self.source.path).suffix}/{take}" if take else self.name


@dataclass(frozen=True)
class Outcome:
    """Result of a task: new entries, no change, or a failure."""

    entries: tuple[tuple[Entry, str], ...] = ()  # with skeletons as JSON; empty: unchanged
    failure: str = ""
    failed_takes: tuple[tuple[str, str], ...] = ()  # takes that cannot be read, and why
    write_error: str = ""  # reason why the library cannot be written to


def take_of(entry: Entry) -> str:
    """Return which take of its file an entry was read from, or "" if the file has one."""
    return str(_options(entry).get("take", ""))


def entries_by_file(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Group entries by the name of their file: their own name, or, for takes, without the take.

    A take that was renamed stays with the other takes of its file.
    """
    groups: dict[str, list[Entry]] = {}
    renamed, names = [], {}
    for entry in entries:
        take = take_of(entry)
        if take and not entry.name.endswith(f"/{take}"):
            renamed.append(entry)
            continue
        name = entry.name
        if take:
            name = name.removesuffix(f"/{take}").removesuffix(Path(entry.source).suffix)
            names[entry.source] = name
        groups.setdefault(name, []).append(entry)
    for entry in renamed:
        name = names.get(entry.source, Path(entry.source).stem)
        groups.setdefault(name, []).append(entry)
    return groups


def _options(entry: Entry) -> dict:
    try:
        options = json.loads(entry.options)
    except ValueError:
        options = None
    return options if isinstance(options, dict) else {}


def _is_unchanged(entries: tuple[Entry, ...], content: str, options: dict) -> bool:
    """Return whether a file has these entries, all of them, if it is read with these options."""
    own = [_options(entry) for entry in entries]
    plain = [{k: v for k, v in each.items() if k not in ("take", "takes")} for each in own]
    return (
        all(entry.source_hash == content for entry in entries)
        and all(each == options for each in plain)
        and all(each.get("takes", 1) == len(entries) for each in own)
    )


def ingest(
    task: ImportTask,
    *,
    files: FileStore,
    fps: float | None,
    reader: dict,
    options: str,
    force: bool,
) -> Outcome:
    """Run the task. The result depends only on the file and on `options` (JSON)."""
    source, existing, file = task.source, task.existing, task.file
    try:
        before = _state(file)
        content = content_hash(file)
        if existing and not force and not task.missing:
            same = _is_unchanged(existing, content, json.loads(options))
            if same and all(_is_there(entry, files) for entry in existing):
                return Outcome()
        read = {name: value for name, value in reader.items() if name != "clean"}
        takes = list(load_takes(file, **_options_for(file, read)))
        if _state(file) != before:
            return Outcome(failure="the file changed while it was being read; import it again")
    except Exception as error:
        return Outcome(failure=failure_reason(error))
    entries, failed = [], []
    for take, motion in takes:
        try:
            if isinstance(motion, Exception):
                raise motion
            if len(motion) == 0:
                raise MotionFormatError("the file has no frames", path=file)
            if reader.get("clean"):
                motion = _cleaned(motion)
            if fps is not None:
                motion = motion.resample(fps)
        except Exception as error:
            failed.append((take, failure_reason(error)))
            continue
        about = json.loads(options) | ({"take": take, "takes": len(takes)} if take else {})
        try:
            entries.append(
                new_entry(
                    motion,
                    task.take_name(take),
                    files,
                    source=source.path,
                    source_hash=content,
                    options=json.dumps(about, sort_keys=True),
                )
            )
        except ObjectStoreError as error:
            return Outcome(write_error=str(error))
        except OSError as error:
            return Outcome(write_error=error.strerror or str(error))
    if not entries and len(failed) == 1:
        return Outcome(failure=failed[0][1])
    return Outcome(tuple(entries), failed_takes=tuple(failed))


def _cleaned(motion: Motion) -> Motion:
    """Return the motion with its faults repaired, and the repairs in its origin."""
    from motionloom.motion.repairs.clean import clean

    repaired, report = clean(motion)
    repairs = (*motion.origin.repairs, *report.lines())
    return replace(repaired, origin=replace(repaired.origin, repairs=repairs))


def new_entry(
    motion: Motion, name: str, files: FileStore, *, source: str, source_hash: str, options: str
) -> tuple[Entry, str]:
    """Write the frames of a motion. Return its entry and its skeleton as JSON."""
    description = FrameDescription.of(
        motion, name, source=source, source_hash=source_hash, options=options
    )
    stored = write_frames(motion, description, files)
    return described_entry(description, stored, motion.skeleton.key), description.skeleton


def described_entry(description: FrameDescription, stored: FrameFile, skeleton: str) -> Entry:
    """Return the entry of the motion described by a frame file."""
    return Entry(
        name=description.name,
        file=stored.file,
        digest=stored.digest,
        source=description.source,
        source_hash=description.source_hash,
        options=description.options,
        frames=description.frames,
        fps=description.fps,
        skeleton=skeleton,
        origin=description.origin,
    )


def _is_there(entry: Entry, files: FileStore) -> bool:
    # Objects in a store were listed before the tasks were submitted.
    return files.remote or is_whole(files.local(f"{FOLDER}/{entry.file}"), frames=entry.frames)


def failure_reason(error: Exception | None) -> str:
    """Return the message for a file whose import raised `error`."""
    if isinstance(error, MotionFormatError):
        return error.problem if error.line is None else f"line {error.line}: {error.problem}"
    if isinstance(error, MotionloomError):
        return str(error)
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, MemoryError):
        return "the file is too large for the memory of this machine"
    return f"unexpected {type(error).__name__}: {error}"


def content_hash(path: str) -> str:
    """Return a digest of the bytes of a file and its companion files."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (Path(path), *companions(path)):
        check_regular(part)
        with open(part, "rb") as file:
            digest.update(hashlib.file_digest(file, hashlib.blake2b).digest())
    return digest.hexdigest()


def _state(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


class StoredSkeletons:
    """Skeletons of a library, by key, while motions are added to it."""

    def __init__(self, catalogue: Catalogue) -> None:
        rows = catalogue.rows("SELECT key, data FROM skeletons ORDER BY key")
        skeletons = {key: skeleton_from(data) for key, data in rows}
        self._stored = {
            key: skeleton for key, skeleton in skeletons.items() if skeleton is not None
        }
        self._same: dict[
            str, str
        ] = {}  # key of a skeleton to the key of the skeleton stored for it
        self._heights: dict[str, float | None] = {}

    def height(self, key: str) -> float | None:
        """Return the height of the body with this skeleton, or None if it is not a body."""
        if key not in self._heights:
            skeleton = self._stored.get(key)
            self._heights[key] = None if skeleton is None else body_height(skeleton)
        return self._heights[key]

    def adopt(self, entry: Entry, data: str) -> tuple[Entry, str]:
        """Return the entry with the stored skeleton of the same body, if any, and its JSON."""
        key = self._same.get(entry.skeleton)
        if key is None:
            skeleton = self._stored.get(entry.skeleton) or skeleton_from(data)
            if skeleton is None:
                return entry, data
            self._stored.setdefault(entry.skeleton, skeleton)
            # A library may contain several skeletons of one body; the first one is used.
            stored = self._stored.items()
            key = next(key for key, other in stored if other.is_same_body(skeleton))
            self._same[entry.skeleton] = key
        if key == entry.skeleton:
            return entry, data
        return replace(entry, skeleton=key), skeleton_json(self._stored[key])


def _options_for(file: str | Path, reader: dict) -> dict:
    """Return the reader options of one file. The model and rate of robots are for robot files."""
    options = {key: value for key, value in reader.items() if not key.startswith("robot")}
    if len(options) == len(reader):
        return options
    from motionloom.formats.robot.files import is_robot_file

    if not is_robot_file(file):
        return options
    names = {"robot": "skeleton", "robot_fps": "fps", "roles": "roles"}
    return {names[key]: value for key, value in reader.items() if key in names}
