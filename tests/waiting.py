"""Waiting for conditions, never for seconds: a loaded machine may take its time.

The limit is there for hangs only. To see a hang sooner, set MOTIONLOOM_TEST_LIMIT (seconds).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")

LIMIT = float(os.environ.get("MOTIONLOOM_TEST_LIMIT", 600.0))


def wait_until(condition: Callable[[], Result], what: str) -> Result:
    """The first true result of `condition`; fails after `LIMIT` seconds, saying `what`."""
    end = time.monotonic() + LIMIT
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < end, f"not within {LIMIT:g} s: {what}"
        time.sleep(0.01)


def random_pause(rng: random.Random | np.random.Generator, most: float) -> None:
    """Let a random part of `most` seconds pass, to meet another process in any moment of its work.

    Nothing may depend on how long it takes.
    """
    time.sleep(rng.uniform(0.0, most))
