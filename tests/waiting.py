"""Waiting for conditions, never for seconds: a loaded machine may take its time.

The limit is there for hangs only. To see a hang sooner, set MOTIONLOOM_TEST_LIMIT (seconds).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

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
