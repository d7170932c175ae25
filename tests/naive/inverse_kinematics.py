"""Two-bone inverse kinematics by search: walk around the circle of possible knees."""

import math


def middle_joint(start, target, pole, upper, lower, *, steps=20_000):
    """Position of the middle joint that lies farthest toward the pole.

    Every point at distance `upper` from the start and `lower` from the target lies on a
    circle; it is walked in small steps. The target must be within reach.
    """
    line = [t - s for s, t in zip(start, target, strict=True)]
    distance = math.sqrt(sum(c * c for c in line))
    axis = [c / distance for c in line]
    # Distance from the start to the circle's plane, found by bisection on its radius.
    low, high = -upper, upper
    for _ in range(200):
        along = (low + high) / 2
        radius_squared = upper * upper - along * along
        if radius_squared + (distance - along) ** 2 > lower * lower:
            low = along
        else:
            high = along
    radius = math.sqrt(max(upper * upper - along * along, 0.0))
    spare = [1.0, 0.0, 0.0] if abs(axis[0]) < 0.8 else [0.0, 1.0, 0.0]
    first = _cross(axis, spare)
    length = math.sqrt(sum(c * c for c in first))
    first = [c / length for c in first]
    second = _cross(axis, first)
    best, best_score = None, -math.inf
    for k in range(steps):
        angle = 2.0 * math.pi * k / steps
        point = [
            s + along * a + radius * (math.cos(angle) * f + math.sin(angle) * g)
            for s, a, f, g in zip(start, axis, first, second, strict=True)
        ]
        score = sum((p - s) * c for p, s, c in zip(point, start, pole, strict=True))
        if score > best_score:
            best, best_score = point, score
    return best


def _cross(a, b):
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
