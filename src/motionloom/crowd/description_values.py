"""Values of a scene: numbers that are numbers, names that are names, each within its range.

A scene comes from a file that people write by hand, so every value may be of any type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from motionloom.errors import InvalidInput


def number(name: str, value: Any, low: float, high: float, unit: str = "") -> float:
    """`value` if it is a number from `low` to `high`.

    Examples
    --------
    >>> number("speed", 0.3, 0.0, 0.6, "m/s")
    0.3
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"{name} must be a number; got {value!r}")
    if not low <= value <= high:
        unit = f" {unit}" if unit else ""
        raise InvalidInput(f"{name} must lie in {low:g} to {high:g}{unit}; got {value:g}")
    return float(value)


def whole(name: str, value: Any, low: int, high: int) -> int:
    """`value` if it is a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number; got {value!r}")
    if value < low:
        raise InvalidInput(f"{name} must be at least {low}; got {value}")
    if value > high:
        raise InvalidInput(f"{name} must be at most {high}; got {value}")
    return value


def row(name: str, value: Any, parts: str, count: int) -> tuple[float, ...]:
    """`value` if it is `count` finite numbers; `parts` says what they are."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != count:
        raise InvalidInput(f"{name} must be {parts}; got {value!r}")
    return tuple(number(f"{name}: {parts}", one, -1e6, 1e6) for one in value)


def rows(name: str, value: Any, parts: str, count: int) -> tuple[tuple[float, ...], ...]:
    """`value` if it is a list of rows of `count` finite numbers."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{name} must be a list of {parts}; got {value!r}")
    return tuple(row(f"{name}[{k}]", one, parts, count) for k, one in enumerate(value))


def words(name: str, value: Any) -> tuple[str, ...]:
    """`value` if it is a list of words; one word is a list of one."""
    if isinstance(value, str):
        value = (value,)
    if not isinstance(value, Sequence) or not all(isinstance(one, str) and one for one in value):
        raise InvalidInput(f"{name} must be a list of names; got {value!r}")
    return tuple(value)
