"""Discs that move in tiny steps and stop before they touch: slow, with no code from motionloom."""

import math


def first_contact(a, va, b, vb, apart, steps=200_000):
    """Time at which two points, moving straight for one unit, come within `apart`, or None."""
    for k in range(steps + 1):
        t = k / steps
        x = b[0] + t * vb[0] - a[0] - t * va[0]
        z = b[1] + t * vb[1] - a[1] - t * va[1]
        if math.sqrt(x * x + z * z) <= apart:
            return t
    return None
