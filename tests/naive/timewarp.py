"""A monotone curve through points, by its definition, one number at a time."""


def rational_quadratic(t, x, y, d):
    """Delbourgo & Gregory (1983), equation 2.3, between the two knots around `t`."""
    k = max(i for i in range(len(x) - 1) if x[i] <= t)
    h = x[k + 1] - x[k]
    slope = (y[k + 1] - y[k]) / h
    a, b = (x[k + 1] - t) / h, (t - x[k]) / h
    above = slope * y[k + 1] * b * b + (y[k] * d[k + 1] + y[k + 1] * d[k]) * a * b
    above += slope * y[k] * a * a
    return above / (slope * b * b + (d[k + 1] + d[k]) * a * b + slope * a * a)


def solved(value, curve, low, high):
    """Position at which an increasing `curve` has `value`, by bisection."""
    for _ in range(80):
        middle = 0.5 * (low + high)
        if curve(middle) < value:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
