"""Discs that move in tiny steps and stop before they touch: slow, and shares nothing with ours."""

import math


def first_contact(a, va, b, vb, apart, steps=200_000):
    """When two points, moving straight for one unit of time, come within `apart`; or None."""
    for k in range(steps + 1):
        t = k / steps
        x = b[0] + t * vb[0] - a[0] - t * va[0]
        z = b[1] + t * vb[1] - a[1] - t * va[1]
        if math.sqrt(x * x + z * z) <= apart:
            return t
    return None
