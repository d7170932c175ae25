"""Captions: rule-based descriptions of the events in a motion, with start and end times.

The rules are a table of predicates in ``predicates.toml``, which documents its fields. A predicate
is a set of conditions on body signals. Its events are the longest runs of frames in which the
conditions hold, joined over short gaps. An event is accepted if its duration is within limits and
if it meets the conditions for whole events. Each event is described by its predicate's text,
and repetitions are counted: "waves with the right hand 3 times".

Each event has a confidence: the share of such events that were judged correct in captured takes.
Some predicates have conditions for *clear* events, which are correct more often. `captions` omits
events whose confidence is low; text search uses them all.
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.segment import intervals
from motionloom.text.signals import RATE, BodySignals, body_signals

Array = NDArray[np.float64]
Curves = Mapping[str, Array]

_MEASURES = "max|min|mean|change|total|travel|count|share|ratio|start|end|before|after"
_CONDITION = re.compile(rf"(?:({_MEASURES}):)?(\w*)\s*(>=|<=|>|<)\s*(-?[\d.]+)")
_SOON = round(0.6 * RATE)  # frames to look at before and after an event
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le,
}  # fmt: skip
_AROUND = 0.3  # seconds around an event within which a condition must hold at least once
_REPEAT = 1.2  # maximum seconds between the end of one event and the start of its repetition
LEAST_CONFIDENCE = 0.5  # captions are more likely correct than wrong
_OVERLAP = 0.4  # fraction of an event that another event must cover to exclude it
_NUMBERS = ("", "once", "twice", "three times", "four times", "five times", "six times")


@dataclass(frozen=True)
class Event:
    """An event in a motion, such as a kick or a walk.

    Attributes
    ----------
    name : str
        Name of the predicate, such as ``kick``, ``walk`` or ``sit``.
    start, end : float
        Seconds from the start of the motion.
    moment : float
        Characteristic moment in seconds, such as the highest point of a kick.
    text : str
        Description in words, such as "kicks forward with the right foot, to head height".
    side : str
        ``left``, ``right``, or empty.
    more : str
        Additional words for text search.
    count : int
        Number of repetitions.
    confidence : float
        Share of such events that were correct in captured takes.
    """

    name: str
    start: float
    end: float
    moment: float
    text: str
    side: str = ""
    more: str = ""
    count: int = 1
    confidence: float = 1.0

    def __str__(self) -> str:
        return f"{clock(self.start)}-{clock(self.end)} {self.text} ({self.confidence:.0%})"


def captions(motion: Motion, *, least_confidence: float = LEAST_CONFIDENCE) -> list[Event]:
    """Return the events in a motion in chronological order, with repetitions counted.

    Parameters
    ----------
    motion : Motion
    least_confidence : float
        Events with less confidence are omitted.

    Raises
    ------
    RoleError
        If the skeleton lacks a joint of the trunk, the arms or the legs.

    Examples
    --------
    >>> import motionloom as ml
    >>> [event.text for event in captions(ml.demo.clip("sit_stand")) if "sit" in event.name]
    ['sits down', 'sits']
    """
    every = events(body_signals(motion))
    return counted(event for event in every if event.confidence >= least_confidence)


def events(signals: BodySignals) -> list[Event]:
    """Find the events of all predicates in a motion's signals, in chronological order.

    Repetitions are separate events.
    """
    by_predicate: dict[str, list[tuple[Event, int, int]]] = {}
    for predicate in predicates():
        for side in SIDES if predicate.sides else ("",):
            for start, end in _runs(predicate, signals, side):
                if _excluded(start, end, predicate.unless, by_predicate):
                    continue
                event = _event(predicate, signals, side, start, end)
                by_predicate.setdefault(predicate.name, []).append((event, start, end))
    every = [event for row in by_predicate.values() for event, _, _ in row]
    return sorted(every, key=lambda event: (event.start, event.end, event.name))


def counted(single_events: Iterable[Event]) -> list[Event]:
    """Combine repeated events into one event, such as "jumps up three times"."""
    lasting = {each.name for each in predicates() if each.state}
    groups: list[list[Event]] = []
    open_groups: dict[tuple[str, str, str], list[Event]] = {}
    for event in single_events:
        key = (event.name, event.side, event.text)
        group = open_groups.get(key)
        if (
            group is not None
            and event.name not in lasting
            and event.start - group[-1].end <= _REPEAT
        ):
            group.append(event)
        else:
            open_groups[key] = [event]
            groups.append(open_groups[key])
    out = []
    for group in groups:
        n = sum(event.count for event in group)
        text = group[0].text
        if n > 1:
            text += f" {_NUMBERS[n] if n < len(_NUMBERS) else f'{n} times'}"
        confidence = sum(event.confidence for event in group) / len(group)
        out.append(replace(group[0], end=group[-1].end, text=text, count=n, confidence=confidence))
    return out


def clock(seconds: float) -> str:
    """Format seconds as minutes and seconds.

    Examples
    --------
    >>> clock(62.35)
    '01:02.3'
    """
    tenths = int(10.0 * seconds + 1e-6)
    return f"{tenths // 600:02d}:{tenths // 10 % 60:02d}.{tenths % 10}"


def _runs(predicate: Predicate, signals: BodySignals, side: str) -> list[tuple[int, int]]:
    """Return the frame ranges ``[start, end)`` of a predicate's events on one side."""
    curves, frames = signals.curves, signals.frames
    holds = np.ones(frames, bool)
    for condition in predicate.all:
        holds &= condition.frames(curves, side)
    runs = _joined(intervals(holds), predicate.join * RATE)
    around = round(_AROUND * RATE)
    out = []
    for start, end in runs:
        seconds = (end - start) / RATE
        if not predicate.seconds[0] <= seconds <= predicate.seconds[1]:
            continue
        moment = _moment(predicate, curves, side, start, end)
        a, b = max(start - around, 0), min(end + around, frames)
        if all(
            condition.holds(curves, side, start, end, moment)
            if condition.measure
            else bool(np.any(condition.frames(curves, side)[a:b]))
            for condition in predicate.once
        ):
            before, after = (round(each * RATE) for each in predicate.widen)
            out.append((max(start - before, 0), min(end + after, frames)))
    return out


def _joined(runs: list[tuple[int, int]], gap: float) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in runs:
        if out and start - out[-1][1] <= gap:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def _moment(predicate: Predicate, curves, side: str, start: int, end: int) -> int:
    name = predicate.moment.removeprefix("-")
    if not name:
        return (start + end) // 2
    part: NDArray[np.float64] = curves[name.replace("S_", f"{side}_")][start:end]
    best = np.argmin(part) if predicate.moment.startswith("-") else np.argmax(part)
    return start + int(best)


def _excluded(start: int, end: int, unless: tuple[str, ...], by_predicate) -> bool:
    return any(
        sum(max(min(end, b) - max(start, a), 0) for _, a, b in by_predicate.get(name, ()))
        > _OVERLAP * (end - start)
        for name in unless
    )


def _event(predicate: Predicate, signals: BodySignals, side: str, start: int, end: int) -> Event:
    curves = signals.curves
    moment = _moment(predicate, curves, side, start, end)

    def word(match: re.Match[str]) -> str:
        if match[1] == "side":
            return side
        for choice in predicate.words[match[1]]:
            if all(each.holds(curves, side, start, end, moment) for each in choice.when):
                return _filled(choice.say)
        return ""

    def _filled(say: str) -> str:
        def number(match: re.Match[str]) -> str:
            measure, signal, step = match[1], match[2], float(match[3])
            value = abs(measured(measure, signal, curves, side, start, end, moment))
            return f"{step * round(value / step):g}"

        return re.sub(r"<(\w+):(\w*)/([\d.]+)>", number, say).replace("{side}", side)

    text = re.sub(r"{(\w+)}", word, predicate.text)
    more = re.sub(r"{(\w+)}", word, predicate.more)
    is_clear = all(each.holds(curves, side, start, end, moment) for each in predicate.clear)
    return Event(
        predicate.name,
        start / RATE,
        end / RATE,
        moment / RATE,
        " ".join(text.split()),
        side,
        more,
        confidence=predicate.confidence[is_clear],
    )


@dataclass(frozen=True)
class Condition:
    """Comparison of a signal with a limit, in one frame or over a whole event.

    Examples
    --------
    >>> Condition.parse("max:level < 0.8")
    Condition(measure='max', signal='level', compare='<', limit=0.8)
    """

    measure: str  # "" for single frames
    signal: str
    compare: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition; raise `InvalidInput` if it is not valid."""
        match = _CONDITION.fullmatch(text.strip())
        if match is None:
            raise InvalidInput(
                f"a condition must be SIGNAL > NUMBER or MEASURE:SIGNAL < NUMBER; got {text!r}"
            )
        return cls(match[1] or "", match[2], match[3], float(match[4]))

    def frames(self, curves: Curves, side: str) -> NDArray[np.bool_]:
        """Return a mask of frames in which the condition holds, shape (T,)."""
        return _COMPARE[self.compare](curves[_sided(self.signal, side)], self.limit)

    def holds(self, curves: Curves, side: str, start: int, end: int, moment: int) -> bool:
        """Return whether the condition holds for an event or, without a measure, at its moment."""
        value = measured(self.measure, self.signal, curves, side, start, end, moment)
        return bool(_COMPARE[self.compare](value, self.limit))


def measured(
    measure: str, signal: str, curves: Curves, side: str, start: int, end: int, moment: int
) -> float:
    """Return a measure of a signal over the frames ``[start, end)``."""
    if measure == "travel":  # meters from start to end position
        heading = np.radians(curves["heading"][start:end])
        steps = (curves["forward"] + 1j * curves["leftward"])[start:end] * np.exp(1j * heading)
        return float(np.abs(np.sum(steps)) / RATE)
    curve = curves[_sided(signal, side)]
    if not measure:
        return float(curve[moment])
    if measure == "before":
        return float(np.max(curve[max(start - _SOON, 0) : start + 1]))
    if measure == "after":
        return float(np.max(curve[end - 1 : end + _SOON]))
    part = curve[start:end]
    if measure == "change":
        return float(part[-1] - part[0])
    if measure == "total":
        return float(np.sum(part) / RATE)
    if measure == "count":  # how often the signal becomes true
        return float(np.sum(np.diff(part > 0.5, prepend=False) & (part > 0.5)))
    if measure == "share":
        return float(np.mean(part > 0.5))
    if measure == "ratio":  # mean of the speed
        return float(np.mean(part) / max(float(np.mean(curves["speed"][start:end])), 1e-6))
    if measure in ("start", "end"):
        return float(part[0] if measure == "start" else part[-1])
    if measure == "mean":
        return float(np.mean(part))
    return float(np.max(part) if measure == "max" else np.min(part))


@dataclass(frozen=True)
class Choice:
    """A word, and the conditions under which a caption uses it."""

    say: str
    when: tuple[Condition, ...]


@dataclass(frozen=True)
class Predicate:
    """A row of the predicate table; ``predicates.toml`` documents the fields."""

    name: str
    text: str
    all: tuple[Condition, ...]
    confidence: tuple[float, float]  # of events that are not clear, and of clear events
    once: tuple[Condition, ...] = ()
    clear: tuple[Condition, ...] = ()
    sides: bool = False
    seconds: tuple[float, float] = (0.0, float("inf"))
    join: float = 0.0
    widen: tuple[float, float] = (0.0, 0.0)
    moment: str = ""
    unless: tuple[str, ...] = ()
    more: str = ""
    state: bool = False
    arms: bool = False
    words: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)


@cache
def predicates() -> tuple[Predicate, ...]:
    """Return all predicates, in the order in which they are evaluated.

    Examples
    --------
    >>> [each.name for each in predicates()][:3]
    ['flip', 'cartwheel', 'roll']
    """
    text = resources.files("motionloom.text").joinpath("predicates.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    shared = {name: _choices(rows) for name, rows in tables.get("words", {}).items()}
    return tuple(_predicate(row, shared) for row in tables["predicate"])


def _predicate(row: dict[str, Any], shared: Mapping[str, tuple[Choice, ...]]) -> Predicate:
    own = {name: _choices(rows) for name, rows in row.pop("words", {}).items()}
    for name in ("all", "once", "clear"):
        row[name] = tuple(Condition.parse(each) for each in row.get(name, ()))
    for name in ("seconds", "widen", "unless"):
        if name in row:
            row[name] = tuple(row[name])
    given = row["confidence"]
    row["confidence"] = tuple(given) if isinstance(given, list) else (given, given)
    predicate = Predicate(**row, words={**shared, **own})
    for name in re.findall(r"{(\w+)}", predicate.text):
        if name != "side" and name not in predicate.words:
            raise InvalidInput(
                f"predicate {predicate.name} refers to a table of words called {name!r}, which "
                f"does not exist"
            )
    return predicate


def _choices(rows: list[dict[str, Any]]) -> tuple[Choice, ...]:
    return tuple(
        Choice(row["say"], tuple(Condition.parse(each) for each in row.get("when", ())))
        for row in rows
    )


def _sided(signal: str, side: str) -> str:
    if signal.startswith("S_"):
        return f"{side}_{signal[2:]}"
    if signal.startswith("O_"):
        return f"{'left' if side == 'right' else 'right'}_{signal[2:]}"
    return signal
