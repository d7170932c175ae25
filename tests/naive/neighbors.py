"""Nearest neighbors by exhaustive search."""

import math


def nearest(query, rows, k, radius=math.inf, allowed=None):
    """[(distance, row)] of the k nearest, ties by row, straight from the definition."""
    result = []
    for number, row in enumerate(rows):
        if allowed is not None and not allowed[number]:
            continue
        square = math.fsum((float(a) - float(b)) ** 2 for a, b in zip(query, row, strict=True))
        if not math.isnan(square) and math.sqrt(square) <= radius:
            result.append((math.sqrt(square), number))
    return sorted(result)[:k]
