"""Access to the corpus clips and takes, with ground truth, by name or as files.

A take is a long, unsegmented sequence of many actions, as recorded in a capture session.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path

import numpy as np

from motionloom import parallel
from motionloom.demo.body import frame_times, solve_motion
from motionloom.demo.catalogue import CLIPS, Recipe
from motionloom.demo.gait import walk
from motionloom.demo.performers import PERFORMERS
from motionloom.demo.performers import performer as numbered
from motionloom.demo.plan import MotionPlan, on_grid
from motionloom.demo.truth import Truth, truth_of
from motionloom.demo.waltz import waltz
from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.motion import Motion
from motionloom.motion.segment import positive_rate

_LOCOMOTION = (
    "walk", "jog_left", "step_up_left", "walk_right", "jump_forward", "march", "walk_left_tight",
    "hop_right", "spiral_walk", "jog_right", "jump_turn_left", "walk_fast", "cartwheel_left",
    "sit_stand", "walk_slow",
)  # fmt: skip


def _locomotion(plan: MotionPlan) -> None:
    _sequence(plan, _LOCOMOTION)


def _strikes(plan: MotionPlan) -> None:
    kicks = _sample_names(plan, "kick_", 12)
    punches = _sample_names(plan, "punch_", 6)
    for k, name in enumerate(kicks):
        _sequence(plan, [name])
        if k % 2 == 1:
            _sequence(plan, punches[k // 2 : k // 2 + 1])
        if k % 4 == 3:
            _stroll(plan)


def _reaches(plan: MotionPlan) -> None:
    names = _sample_names(plan, "reach_", 16)
    for k in range(0, len(names), 4):
        _stroll(plan)
        _sequence(plan, names[k : k + 4])
    _sequence(plan, ["sit_stand_low"])


def _dances(plan: MotionPlan) -> None:
    _stroll(plan)
    _sequence(plan, ["dance_groove"])
    _stroll(plan)
    _sequence(plan, ["dance_sway", "jump_up", "walk_left_tight"])


def _sequence(plan: MotionPlan, names: Sequence[str]) -> None:
    for name in names:
        CLIPS[name](plan)
        plan.time += plan.rng.uniform(0.0, 0.35)


def _sample_names(plan: MotionPlan, prefix: str, count: int) -> list[str]:
    """Return the names of `count` random clips whose names start with `prefix`."""
    names = [name for name in CLIPS if name.startswith(prefix)]
    return [names[k] for k in plan.rng.permutation(len(names))[:count]]


def _stroll(plan: MotionPlan) -> None:
    """Walk a few steps along a curve."""
    rng = plan.rng
    speed, curvature = rng.uniform(0.9, 1.3), rng.uniform(0.5, 1.0) * rng.choice([-1.0, 1.0])
    walk(
        plan, speed=speed, steps=int(rng.integers(4, 8)), curvature=curvature,
        turn=speed * curvature,
    )  # fmt: skip
    plan.time += rng.uniform(0.0, 0.3)


TAKES: dict[str, Recipe] = {
    "take_locomotion": _locomotion,
    "take_strikes": _strikes,
    "take_reaches": _reaches,
    "take_dances": _dances,
}


_WALTZ = ("waltz_leader", "waltz_follower")


@dataclass(frozen=True)
class AnnotatedMotion:
    """A corpus motion with its ground truth.

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.demo.annotated("walk_slow").truth.action
    'walk'
    """

    name: str
    motion: Motion
    truth: Truth


def names() -> tuple[str, ...]:
    """Return the names of all clips and then all takes, with performer suffixes.

    Examples
    --------
    >>> "walk_slow_p0" in names()
    True
    """
    return tuple(f"{base}_{who.name}" for base in _bases() for who in PERFORMERS)


def clip(name: str, performer: int = 0, seed: int = 0, fps: float = 30.0) -> Motion:
    """Return a motion from the corpus.

    Parameters
    ----------
    name : str
        One of `names`, with or without the performer's suffix: ``"walk"``,
        ``"kick_front_high_right_p1"``.
    performer : int
        Index of the performer, 0 to 3; a suffix in the name takes precedence.
    seed : int
        Random seed, which varies speeds, targets and involuntary movements slightly.
    fps : float
        Frames per second; any rate is exact, because motions are functions of continuous time.

    Returns
    -------
    motion : Motion

    Examples
    --------
    >>> clip("walk", performer=2)
    Motion('walk_p2', ... frames at 30 fps = ... s, 21 joints)
    """
    return annotated(name, performer=performer, seed=seed, fps=fps).motion


def annotated(name: str, performer: int = 0, seed: int = 0, fps: float = 30.0) -> AnnotatedMotion:
    """Return a motion from the corpus with its ground truth; see `clip`.

    Examples
    --------
    >>> annotated("kick_front_high_right").truth.parameters["leg"]
    'right'
    """
    base, number = _parse(name, performer)
    positive_rate(fps)
    _check_seed(seed)
    return _performed(base, number, int(seed), float(fps))


@lru_cache(maxsize=128)
def _performed(base: str, number: int, seed: int, fps: float) -> AnnotatedMotion:
    """Return `annotated` for checked arguments; cached motions are immutable and can be shared."""
    if base in _WALTZ:
        return _couple(number, seed, fps, base)[_WALTZ.index(base)]
    who = numbered(number)
    full = f"{base}_{who.name}"
    plan = MotionPlan(who, _generator(seed, number, base))
    (TAKES | CLIPS)[base](plan)
    window = plan.actions[-1].window if base in CLIPS else None
    start, end = (on_grid(moment) for moment in window or (0.0, plan.time))
    motion = solve_motion(plan, fps, start=start, end=end, name=full)
    return AnnotatedMotion(full, motion, truth_of(plan, frame_times(start, end, fps), fps))


def couple(
    performer: int = 0, seed: int = 0, fps: float = 30.0
) -> tuple[AnnotatedMotion, AnnotatedMotion]:
    """Return the leader and follower of a waltz, in one world frame and time base.

    Performer 0 dances with 1, and 2 with 3. `performer` is the leader.

    Examples
    --------
    >>> leader, follower = couple()
    >>> leader.name, follower.name, len(leader.motion) == len(follower.motion)
    ('waltz_leader_p0', 'waltz_follower_p1', True)
    """
    _check_seed(seed)
    return _couple(performer, int(seed), float(positive_rate(fps)), _WALTZ[0])


def clips(seed: int = 0, fps: float = 30.0) -> Iterator[AnnotatedMotion]:
    """Yield all clips in the corpus, with one action each, in the order of `names`.

    Examples
    --------
    >>> import motionloom as ml
    >>> next(iter(ml.demo.clips())).name
    'walk_p0'
    """
    for name in names():
        if not name.startswith("take_"):
            yield annotated(name, seed=seed, fps=fps)


def takes(seed: int = 0, fps: float = 30.0) -> Iterator[AnnotatedMotion]:
    """Yield all takes in the corpus, with many actions each, in the order of `names`.

    Examples
    --------
    >>> import motionloom as ml
    >>> take = next(iter(ml.demo.takes()))
    >>> len(take.truth.actions) > 1
    True
    """
    for name in names():
        if name.startswith("take_"):
            yield annotated(name, seed=seed, fps=fps)


def _bases() -> tuple[str, ...]:
    return (*CLIPS, *_WALTZ, *TAKES)


def _check_seed(seed: int) -> None:
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"seed must be a whole number, zero or more; got {seed!r}")


def _generator(seed: int, number: int, base: str) -> np.random.Generator:
    return np.random.default_rng([seed, number, zlib.crc32(base.encode())])


@lru_cache(maxsize=16)
def _couple(
    number: int, seed: int, fps: float, base: str
) -> tuple[AnnotatedMotion, AnnotatedMotion]:
    """Return the couple in which performer `number` dances the role `base`."""
    numbered(number)
    pair = (number, number ^ 1) if base == _WALTZ[0] else (number ^ 1, number)
    dancers = (numbered(pair[0]), numbered(pair[1]))
    rng = _generator(seed, pair[0], "waltz")
    full = [f"{part}_{who.name}" for part, who in zip(_WALTZ, dancers, strict=True)]
    tempo = float(round(87.0 * rng.uniform(0.95, 1.05)))
    made = waltz(dancers[0], dancers[1], rng, fps=fps, tempo_bpm=tempo, names=(full[0], full[1]))
    parts = (
        (full[0], made.leader, made.leader_plan, full[1]),
        (full[1], made.follower, made.follower_plan, full[0]),
    )
    out = []
    for name, motion, plan, partner in parts:
        plan.actions[0].parameters["partner"] = partner
        out.append(AnnotatedMotion(name, motion, truth_of(plan, made.times, fps)))
    return out[0], out[1]


def _parse(name: str, performer: int) -> tuple[str, int]:
    """Split a name into its base name and the index of the performer."""
    suffixed = re.fullmatch(r"(.+)_p(\d+)", name)
    base, number = (suffixed[1], int(suffixed[2])) if suffixed else (name, performer)
    if base not in _bases():
        near = difflib.get_close_matches(base, _bases(), n=5)
        hint = f"did you mean {', '.join(near)}?" if near else "demo.names() lists all motions"
        raise InvalidInput(f"the corpus has no motion called {name!r}; {hint}")
    return base, number


def write(
    folder: str | Path,
    fps: float = 30.0,
    seed: int = 0,
    *,
    only: Sequence[str] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Path:
    """Write the corpus to `folder`: motions, ground truth, contacts and labels.

    Parameters
    ----------
    folder : str or Path
        Created if it does not exist. Writes are atomic.
    fps : float
    seed : int
    only : sequence of str, optional
        Names of the motions to write. Default: all.
    progress : callable, optional
        Called with the name of each motion after it is written.

    Returns
    -------
    folder : Path
        Contains ``NAME.bvh`` for every motion; ``truth.csv``, one row per action (file,
        action, start_frame, end_frame, performer, tempo_bpm, parameters and beats as
        JSON); ``contacts.csv``, the frame ranges in which each foot is at rest;
        ``labels.csv`` with the columns file and label.

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
    tables: dict[str, _TableRows] = {}
    work = partial(_write_one, folder=folder, fps=fps, seed=seed)
    # Start with the long takes, which take the most time.
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
class _TableRows:
    """Table rows for one motion."""

    truth: list[list[object]]
    contacts: list[list[object]]
    label: list[object]


def _write_one(name: str, *, folder: Path, fps: float, seed: int) -> _TableRows:
    made = annotated(name, seed=seed, fps=fps)
    file = f"{made.name}.bvh"
    made.motion.save(folder / file)
    return _TableRows(
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


def _truth_rows(made: AnnotatedMotion) -> Iterable[list[object]]:
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
