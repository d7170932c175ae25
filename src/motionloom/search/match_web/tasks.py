"""The work of building webs: which pairs of motions are missing, and who does which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from motionloom import parallel
from motionloom.distance import FrameDistance
from motionloom.distance.feature_table import at_rate
from motionloom.parallel import one_thread
from motionloom.ragged import offsets_of
from motionloom.search.match_web.build import Frames, motion_web, web_frames
from motionloom.search.match_web.encoding import encoded
from motionloom.search.match_web.web import WebLimits
from motionloom.store.artifacts.collection import Collection, WrittenFile
from motionloom.store.records import Entry, text_digest
from motionloom.store.store import Store

_GROUP_FRAMES = 40_000  # of the columns of one file, and of what a worker holds
MAX_TASK_CELLS = 1_000_000_000  # of the matrices of one task, at most: ten seconds to a minute
MIN_TASK_CELLS = 5_000_000  # of one task, so that handing it out costs little beside it
_TASKS_PER_WORKER = 8  # at least, if there is so much work: all workers end at about the same time


def missing_pairs(
    entries: Sequence[Entry], keys: dict[str, str], covered: set[tuple[str, str]]
) -> dict[str, list[str]]:
    """Row motion -> columns still to be built; each pair once, in as few rows as possible."""
    names = [entry.name for entry in entries]
    wanted: dict[str, list[str]] = {name: [] for name in names}
    for n, a in enumerate(names):
        for b in names[n:]:
            pair = (keys[a], keys[b])
            if pair not in covered and pair[::-1] not in covered:
                wanted[a].append(b)
                if a != b:
                    wanted[b].append(a)
    # A motion that is new has many partners, the others it alone: it makes the row.
    rank = {name: (-len(wanted[name]), name) for name in names}
    return {
        a: [b for b in partners if rank[a] <= rank[b]] for a, partners in wanted.items() if partners
    }


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
    held: dict[str, Frames] = {}
    written: list[WrittenFile] = []
    library.fetch({name for row, columns in task for name in (row, *columns)})

    def frames(name: str) -> Frames:
        if name not in held:
            held[name] = web_frames(at_rate(library[name], rate), distance, limits)
        return held[name]

    with one_thread():
        for row, columns in task:
            others = [frames(name) for name in columns]
            web = motion_web(
                frames(row),
                others,
                rate=rate,
                itself=columns.index(row) if row in columns else None,
                limits=limits,
            )
            ends = offsets_of([len(other) for other in others]).tolist()
            named = zip((keys[name] for name in columns), ends[:-1], ends[1:], strict=True)
            about = {"row": keys[row], "columns": [list(one) for one in named]}
            target = f"{keys[row]}-{text_digest(*(keys[name] for name in columns))}.web"
            written.append(files.write(target, encoded(web, about), about))
    return written


def web_key(entry: Entry) -> str:
    """Fingerprint of a motion under its name: copies are motions of their own."""
    return text_digest(entry.key, entry.name)
