"""The corpus as files: motions as BVH, and what is true of them as tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from motionloom import parallel
from motionloom.atomic_write import atomic_write
from motionloom.demo.corpus import Performance, names, performance


def write(
    folder: str | Path,
    fps: float = 30.0,
    seed: int = 0,
    *,
    only: Sequence[str] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Path:
    """Write the corpus into `folder`: motions, truth, contacts and labels.

    Parameters
    ----------
    folder : str or Path
        Made if it is not there. Every file appears whole or not at all.
    fps : float
    seed : int
    only : sequence of str, optional
        Names of motions. Default: all.
    progress : callable, optional
        Called with the name of each motion once it is written.

    Returns
    -------
    folder : Path
        It holds ``NAME.bvh`` for every motion; ``truth.csv``, one row per action (file,
        action, start_frame, end_frame, performer, tempo_bpm, parameters and beats as
        JSON); ``contacts.csv``, the frames in which each foot stands still; ``labels.csv``
        with the columns file and label.

    Examples
    --------
    >>> import tempfile
    >>> from motionloom import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in demo.write(folder, only=["jump_up_p0"]).iterdir())
    ['contacts.csv', 'jump_up_p0.bvh', 'labels.csv', 'truth.csv']
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tables: dict[str, _Rows] = {}
    work = partial(_write_one, folder=folder, fps=fps, seed=seed)
    # The long takes last the longest to make: begin with them.
    chosen = names() if only is None else tuple(only)
    everything = sorted(chosen, key=lambda name: not name.startswith("take_"))
    with parallel.executor(tasks=len(everything)) as pool:
        for done in parallel.completed(work, everything, pool):
            if done.error is not None:
                raise done.error
            assert done.result is not None
            tables[done.item] = done.result
            if progress is not None:
                progress(done.item)
    rows = [tables[name] for name in chosen]
    _table(folder / "truth.csv", ["file", *_TRUTH_COLUMNS], chain(*(row.truth for row in rows)))
    _table(
        folder / "contacts.csv",
        ["file", "foot", "start_frame", "end_frame"],
        chain(*(row.contacts for row in rows)),
    )
    _table(folder / "labels.csv", ["file", "label"], [row.label for row in rows])
    return folder


@dataclass(frozen=True)
class _Rows:
    """What one motion adds to the tables."""

    truth: list[list[object]]
    contacts: list[list[object]]
    label: list[object]


def _write_one(name: str, *, folder: Path, fps: float, seed: int) -> _Rows:
    made = performance(name, seed=seed, fps=fps)
    file = f"{made.name}.bvh"
    made.motion.save(folder / file)
    return _Rows(
        truth=[[file, *row] for row in _truth_rows(made)],
        contacts=[
            [file, foot, start, end]
            for foot, ranges in made.truth.contacts.items()
            for start, end in ranges
        ],
        label=[file, "take" if made.name.startswith("take_") else made.truth.action],
    )


_TRUTH_COLUMNS = (
    "action", "start_frame", "end_frame", "performer", "tempo_bpm", "parameters", "beats",
)  # fmt: skip


def _truth_rows(made: Performance) -> Iterable[list[object]]:
    for action in made.truth.actions:
        yield [
            action.action,
            action.start_frame,
            action.end_frame,
            made.truth.performer,
            "" if action.tempo_bpm is None else action.tempo_bpm,
            json.dumps(action.parameters, sort_keys=True),
            json.dumps(list(action.beats)),
        ]


def _table(path: Path, columns: list[str], rows: Iterable[list[object]]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows(rows)
    with atomic_write(path) as scratch:
        scratch.write_text(text.getvalue(), encoding="utf-8")
