"""The work of building webs: which pairs of motions are missing, and who does which."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.features import FrameDistance
from motionloom.features.feature_table import at_rate
from motionloom.features.frame_distances import distance_key
from motionloom.parallel import one_thread
from motionloom.ragged import offsets_of
from motionloom.search.match_web.build import Frames, motion_web, web_frames
from motionloom.search.match_web.encoding import description, encoded
from motionloom.search.match_web.web import WebLimits
from motionloom.store.artifacts.collection import Collection, WrittenFile
from motionloom.store.records import Entry, text_digest
from motionloom.store.store import Store

_GROUP_FRAMES = 80_000  # of the columns of one file
_HELD_FRAMES = 160_000  # that a process holds from task to task: 320 MB for near cells
MAX_TASK_CELLS = 1_000_000_000  # of the matrices of one task, at most: ten seconds to a minute
MIN_TASK_CELLS = 5_000_000  # of one task, so that handing it out costs little beside it
_TASKS_PER_WORKER = 8  # at least, if there is so much work: all workers end at about the same time
_COPY = "copy-"  # before the key of a motion: another motion with the same frames

_held: OrderedDict[tuple, Frames] = OrderedDict()  # frames of the last tasks of this process


def release_frames() -> None:
    """Forget the frames of the last tasks, when a build in this process ends."""
    _held.clear()


def web_key(entry: Entry) -> str:
    """Fingerprint of the frames of a motion; motions with the same frames share their webs."""
    return entry.key


def copy_key(key: str) -> str:
    """Key of another motion with the same frames, in the columns of a web of the two."""
    return _COPY + key


def web_keys(entries: Iterable[Entry]) -> dict[str, str]:
    """Keys of the motions that webs are built of, by name.

    Of motions with the same frames the first stands for all. The second is there for the web of
    such motions with each other, which is not that of a motion with itself.
    """
    keys: dict[str, str] = {}
    known: set[str] = set()
    for entry in entries:
        key = web_key(entry)
        key = copy_key(key) if key in known else key
        if key not in known:
            known.add(key)
            keys[entry.name] = key
    return keys


def missing_pairs(keys: dict[str, str], covered: NDArray[np.bool_]) -> dict[str, list[str]]:
    """Row motion -> columns still to be built; each pair once, in as few rows as possible.

    Parameters
    ----------
    keys : dict of str to str
        As from `web_keys`; N motions.
    covered : ndarray of bool, shape (N, N)
        Pairs that are built, in either order.
    """
    names, number = list(keys), {key: n for n, key in enumerate(keys.values())}
    wanted = ~(covered | covered.T)
    for key, copy in number.items():
        if key.startswith(_COPY):
            first = number[key.removeprefix(_COPY)]
            both = wanted[first, copy]
            wanted[copy], wanted[:, copy] = False, False
            wanted[first, copy] = both
    # A motion that is new has many partners, the others it alone: it makes the row.
    counts = wanted.sum(axis=1)
    order = sorted(range(len(names)), key=lambda n: (-counts[n], names[n]))
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    found = {}
    for n, name in enumerate(names):
        columns = np.flatnonzero(wanted[n] & (rank[n] <= rank))
        if len(columns):
            found[name] = [names[k] for k in columns.tolist()]
    return found


Task = tuple[tuple[str, tuple[str, ...]], ...]


def web_tasks(missing: dict[str, list[str]], lengths: dict[str, int]) -> list[Task]:
    """Rows with their columns, in portions that one worker does at a time."""
    groups: dict[int, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for row, columns in missing.items():
        number, frames = 0, 0
        part: list[str] = []
        for name in sorted(columns):
            if part and frames + lengths[name] > _GROUP_FRAMES:
                groups[number].append((row, tuple(part)))
                number, frames, part = number + 1, 0, []
            part.append(name)
            frames += lengths[name]
        if part:
            groups[number].append((row, tuple(part)))
    every = sum(lengths[a] * sum(lengths[b] for b in columns) for a, columns in missing.items())
    portion = max(every // (_TASKS_PER_WORKER * parallel.available_workers()), MIN_TASK_CELLS)
    portion = min(portion, MAX_TASK_CELLS)
    tasks: list[Task] = []
    for number in sorted(groups):
        task: list[tuple[str, tuple[str, ...]]] = []
        cells = 0
        for one in groups[number]:
            task.append(one)
            cells += lengths[one[0]] * sum(lengths[name] for name in one[1])
            if cells > portion:
                tasks.append(tuple(task))
                task, cells = [], 0
        if task:
            tasks.append(tuple(task))
    return tasks


def built_webs(
    task: Task,
    library: Store,
    files: Collection,
    distance: FrameDistance,
    rate: float,
    limits: WebLimits,
    keys: dict[str, str],
) -> list[WrittenFile]:
    """Build the webs of a task and write them, row by row."""
    written: list[WrittenFile] = []
    library.fetch({name for row, columns in task for name in (row, *columns)})

    def frames(name: str) -> Frames:
        which = (keys[name].removeprefix(_COPY), distance_key(distance), rate, limits.is_near)
        if which not in _held:
            _held[which] = web_frames(at_rate(library[name], rate), distance, limits)
        _held.move_to_end(which)
        return _held[which]

    with one_thread():
        for row, columns in task:
            own, others = frames(row), [frames(name) for name in columns]
            web = motion_web(
                own,
                others,
                rate=rate,
                itself=columns.index(row) if row in columns else None,
                limits=limits,
            )
            about = {"row": keys[row], "columns": [keys[name] for name in columns]}
            ends = offsets_of([len(other) for other in others])[1:].tolist()
            target = f"{keys[row]}-{text_digest(*about['columns'])}.web"
            content = encoded(web, about, ends=ends)
            written.append(files.write(target, content, description(content)))
            while len(_held) > 1 and sum(map(len, _held.values())) > _HELD_FRAMES:
                _held.popitem(last=False)
    return written
