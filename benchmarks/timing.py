"""Fair timing of several implementations of one task.

All contestants run in one process, in rounds. Each round starts with a different contestant, so
none of them always runs on a warm or a busy machine. Each contestant runs once without timing
before the first round. The result is the median over the rounds, of wall time and of processor
time. Fast contestants are called several times per round, because the clock has a finite
resolution; very slow ones run in fewer rounds.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from motionloom.errors import InvalidInput

Log = Callable[[str], None]

_COMPILING_S = 60.0  # no kernel takes longer to compile: a slower contestant runs only once
_LEAST_S = 0.02  # shortest timed interval: 10,000 ticks of the clock


@dataclass(frozen=True)
class Contestant:
    """A name and the call to be timed; `note` is copied into the results."""

    name: str
    run: Callable[[], Any]
    note: str = ""


@dataclass(frozen=True)
class Missing:
    """A rival that cannot run, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True)
class Timing:
    """Median seconds per call, over `rounds` rounds."""

    wall_s: float
    cpu_s: float
    rounds: int


@dataclass(frozen=True)
class Result:
    """One row: motionloom and one rival. Values are None if there is nothing to compare with."""

    what: str
    ours_s: float | None
    rival: str
    rival_s: float | None
    ratio: float | None
    note: str
    ours_cpu_s: float | None = None
    rival_cpu_s: float | None = None
    cpu_ratio: float | None = None
    rounds: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The row as a dict, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Clocks:
    """Clocks in seconds: wall time, and processor time of this process and its children."""

    wall: Callable[[], float]
    cpu: Callable[[], float]


def _cpu_seconds() -> float:
    try:
        import resource
    except ImportError:  # Windows: child processes are not counted
        return time.process_time()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


CLOCKS = Clocks(time.perf_counter, _cpu_seconds)


def timings(
    contestants: Sequence[Contestant],
    *,
    rounds: int = 7,
    budget_s: float = 60.0,
    clocks: Clocks = CLOCKS,
    log: Log = lambda text: None,
) -> list[Timing]:
    """Median time of each contestant, in the given order.

    Parameters
    ----------
    contestants : sequence of Contestant
    rounds : int
        At least 1. Round `r` starts with contestant ``r % len(contestants)``.
    budget_s : float
        Time limit in seconds for all rounds of a contestant. Slower ones run in as many rounds as
        fit; if not even two fit, the trial run is reported.
    clocks : Clocks
    log : callable
        Called with a line that names the running contestant.

    Examples
    --------
    >>> quick, slow = timings([Contestant("a", lambda: sum(range(10))),
    ...                        Contestant("b", lambda: sum(range(50_000)))], rounds=3)
    >>> quick.wall_s < slow.wall_s, quick.rounds
    (True, 3)
    """
    if rounds < 1:
        raise InvalidInput(f"rounds must be at least 1; got {rounds}")
    calls, turns = [], []
    samples: list[list[tuple[float, float]]] = [[] for _ in contestants]
    for contestant, taken in zip(contestants, samples, strict=True):
        log(f"warming up {contestant.name}")
        trial = _timed(contestant.run, 1, clocks)  # compile and fill caches
        if trial[0] < max(budget_s, _COMPILING_S):
            trial = _timed(contestant.run, 1, clocks)
        calls.append(max(1, round(_LEAST_S / max(trial[0], 1e-7))))
        fit = int(budget_s / max(trial[0], _LEAST_S))
        turns.append(min(rounds, fit) if fit > 1 else 0)
        if fit < 2:  # report the trial run
            taken.append(trial)
    for number in range(rounds):
        for position in range(len(contestants)):
            who = (number + position) % len(contestants)
            if number < turns[who]:
                log(f"round {number + 1} of {rounds}: {contestants[who].name}")
                samples[who].append(_timed(contestants[who].run, calls[who], clocks))
    return [
        Timing(median(wall for wall, _ in taken), median(cpu for _, cpu in taken), len(taken))
        for taken in samples
    ]


def compare(
    what: str,
    ours: Contestant,
    rivals: Sequence[Contestant | Missing],
    *,
    rounds: int = 7,
    budget_s: float = 60.0,
    clocks: Clocks = CLOCKS,
    log: Log = lambda text: None,
) -> list[Result]:
    """One row per rival: its time, ours, and the ratio of the two.

    A missing rival also has a row, with `ratio` None and the reason as its note.
    """
    present = [rival for rival in rivals if isinstance(rival, Contestant)]
    taken = timings(
        [ours, *present],
        rounds=rounds,
        budget_s=budget_s,
        clocks=clocks,
        log=lambda text: log(f"{what}: {text}"),
    )
    own = taken[0]
    by_name = dict(zip((rival.name for rival in present), taken[1:], strict=True))
    rows = []
    for rival in rivals:
        if isinstance(rival, Missing):
            rows.append(Result(what, own.wall_s, rival.name, None, None, rival.reason, own.cpu_s))
            continue
        theirs = by_name[rival.name]
        rows.append(
            Result(
                what,
                own.wall_s,
                rival.name,
                theirs.wall_s,
                theirs.wall_s / own.wall_s,
                _joined(ours.note, rival.note),
                own.cpu_s,
                theirs.cpu_s,
                theirs.cpu_s / own.cpu_s if own.cpu_s > 0.0 else None,
                theirs.rounds,
            )
        )
    return rows


def _timed(run: Callable[[], Any], calls: int, clocks: Clocks) -> tuple[float, float]:
    """Wall and processor seconds per call, with the garbage collector switched off."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        wall, cpu = clocks.wall(), clocks.cpu()
        for _ in range(calls):
            run()
        return (clocks.wall() - wall) / calls, (clocks.cpu() - cpu) / calls
    finally:
        if collecting:
            gc.enable()


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
