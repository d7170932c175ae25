"""Predicates: the table of what bodies do (``predicates.toml``), read and checked.

A predicate is a set of conditions on body signals. Its events are the longest runs of frames in
which they hold, joined over short gaps, and kept if their duration and the conditions on the whole
event are right. The file explains the fields.
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.text.signals import RATE

Array = NDArray[np.float64]
Curves = Mapping[str, Array]

_MEASURES = "max|min|mean|change|total|travel|count|share|ratio|start|end|before|after"
_CONDITION = re.compile(rf"(?:({_MEASURES}):)?(\w*)\s*(>=|<=|>|<)\s*(-?[\d.]+)")
_SOON = round(0.6 * RATE)  # frames before and after an event
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le,
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A comparison of a signal, or of a number about a whole event, with a limit.

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
        """The condition that a text states; raises `InvalidInput`."""
        found = _CONDITION.fullmatch(text.strip())
        if found is None:
            raise InvalidInput(
                f"a condition is SIGNAL > NUMBER or MEASURE:SIGNAL < NUMBER; got {text!r}"
            )
        return cls(found[1] or "", found[2], found[3], float(found[4]))

    def frames(self, curves: Curves, side: str) -> NDArray[np.bool_]:
        """Where it holds, shape (T,)."""
        return _COMPARE[self.compare](curves[_sided(self.signal, side)], self.limit)

    def holds(self, curves: Curves, side: str, start: int, end: int, moment: int) -> bool:
        """Whether it holds for an event; without a measure, at its moment."""
        value = measured(self.measure, self.signal, curves, side, start, end, moment)
        return bool(_COMPARE[self.compare](value, self.limit))


def measured(
    measure: str, signal: str, curves: Curves, side: str, start: int, end: int, moment: int
) -> float:
    """A number about the frames ``[start, end)`` of a signal."""
    if measure == "travel":  # metres from where it starts to where it ends
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
    if measure == "count":  # how often it becomes true
        return float(np.sum(np.diff(part > 0.5, prepend=False) & (part > 0.5)))
    if measure == "share":
        return float(np.mean(part > 0.5))
    if measure == "ratio":  # of the speed
        return float(np.mean(part) / max(float(np.mean(curves["speed"][start:end])), 1e-6))
    if measure in ("start", "end"):
        return float(part[0] if measure == "start" else part[-1])
    if measure == "mean":
        return float(np.mean(part))
    return float(np.max(part) if measure == "max" else np.min(part))


@dataclass(frozen=True)
class Choice:
    """One word of a table, and when it is said."""

    say: str
    when: tuple[Condition, ...]


@dataclass(frozen=True)
class Predicate:
    """One row of the table; ``predicates.toml`` explains the fields."""

    name: str
    text: str
    all: tuple[Condition, ...]
    once: tuple[Condition, ...] = ()
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
    """All predicates, in the order in which they are looked for.

    Examples
    --------
    >>> [each.name for each in predicates()][:3]
    ['flip', 'cartwheel', 'roll']
    """
    text = resources.files("motionloom.text").joinpath("predicates.toml").read_text("utf-8")
    held = tomllib.loads(text)
    shared = {name: _choices(rows) for name, rows in held.get("words", {}).items()}
    return tuple(_predicate(row, shared) for row in held["predicate"])


def _predicate(row: dict[str, Any], shared: Mapping[str, tuple[Choice, ...]]) -> Predicate:
    own = {name: _choices(rows) for name, rows in row.pop("words", {}).items()}
    for name in ("all", "once"):
        row[name] = tuple(Condition.parse(each) for each in row.get(name, ()))
    for name in ("seconds", "widen", "unless"):
        if name in row:
            row[name] = tuple(row[name])
    found = Predicate(**row, words={**shared, **own})
    for name in re.findall(r"{(\w+)}", found.text):
        if name != "side" and name not in found.words:
            raise InvalidInput(f"predicate {found.name}: no table of words is called {name!r}")
    return found


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
