"""Reading live requests: what every kind of them looks for in a message."""

from __future__ import annotations

from typing import Any

import numpy as np

from motionloom.errors import InvalidInput

# What goes into the head of the answer, and its arrays.
Answer = tuple[dict[str, Any], dict[str, Any]]

_MOST = 600  # frames of one answer


def number(message: dict[str, Any], name: str, default: float) -> float:
    """A finite number of the message.

    >>> number({"tempo": 96}, "tempo", 120.0)
    96.0
    """
    value = message.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise InvalidInput(f"{name} must be a number; got {value!r}")
    return float(value)


def seed(message: dict[str, Any]) -> int:
    """The seed of the message; 0 if it says none."""
    value = message.get("seed", 0)
    if type(value) is not int or value < 0:
        raise InvalidInput(f"seed must be a number, zero or more; got {value!r}")
    return value


def frame_count(message: dict[str, Any]) -> int:
    """How many frames are wanted."""
    count = number(message, "count", 30)
    if count != round(count) or not 1 <= count <= _MOST:
        raise InvalidInput(f"count must be 1 to {_MOST} frames; got {message.get('count')!r}")
    return round(count)
