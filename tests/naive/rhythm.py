"""Rhythm straight from the paper (Kim, Park and Shin 2003): loops, no tricks."""

import math


def piecewise_cosine(crests, t):
    """Equation (4); zero before the first and after the last crest."""
    for a, b in zip(crests[:-1], crests[1:], strict=True):
        if a <= t < b:
            return math.cos(2 * math.pi * (t - a) / (b - a))
    return 0.0


def power(signal, rate, frequency):
    """Equation (5), of the signal without its mean."""
    mean = sum(signal) / len(signal)
    real = imaginary = 0.0
    for j, value in enumerate(signal):
        angle = 2 * math.pi * frequency * j / rate
        real += (value - mean) * math.cos(angle)
        imaginary += (value - mean) * math.sin(angle)
    return (real * real + imaginary * imaginary) / len(signal)


def huber_location(times, weights, bend):
    """Equations (9) and (10): the place of least Huber loss, by golden section."""

    def loss(place):
        total = 0.0
        for time, weight in zip(times, weights, strict=True):
            off = abs(time - place)
            total += weight * (off * off / 2 if off <= bend else bend * (off - bend / 2))
        return total

    low, high = min(times), max(times)
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return (low + high) / 2


def half_angle(p, q):
    """Length of log(p^-1 q), unit quaternions."""
    w = sum(a * b for a, b in zip(p, q, strict=True))
    return math.acos(min(1.0, abs(w)))


def movement_difference(a, b, weights, velocity_weight):
    """Equations (12) to (15); `a` and `b` are lists of beats (root, rotations, v, omegas)."""
    total = 0.0
    for (p1, q1, v1, w1), (p2, q2, v2, w2) in zip(a, b, strict=True):
        pose = sum((x - y) ** 2 for x, y in zip(p1, p2, strict=True))
        speed = sum((x - y) ** 2 for x, y in zip(v1, v2, strict=True))
        for j, weight in enumerate(weights):
            pose += weight * half_angle(q1[j], q2[j]) ** 2
            speed += weight * sum((x - y) ** 2 for x, y in zip(w1[j], w2[j], strict=True))
        total += pose + velocity_weight * speed
    return total


def group_distance(gaps, first, second):
    """Equation (21)."""
    total = sum(gaps[a][b] ** 2 for a in first for b in second)
    return math.sqrt(total / (len(first) * len(second)))


def counted_transitions(sequences, groups, starts):
    """Start and transition probabilities of sequences of known groups, by counting."""
    start = [0.0] * groups
    moves = [[0.0] * groups for _ in range(groups)]
    for sequence, begins in zip(sequences, starts, strict=True):
        start[sequence[0]] += begins
        for a, b in zip(sequence[:-1], sequence[1:], strict=True):
            moves[a][b] += 1
    start = [count / sum(start) for count in start]
    moves = [[c / sum(row) if sum(row) else 0.0 for c in row] for row in moves]
    return start, moves


def expected_counts(likely, start, step):
    """Expected first states and transitions of one short sequence, over all state paths."""
    import itertools

    length, groups = len(likely), len(start)
    first = [0.0] * groups
    moves = [[0.0] * groups for _ in range(groups)]
    whole = 0.0
    for path in itertools.product(range(groups), repeat=length):
        chance = start[path[0]] * likely[0][path[0]]
        for t in range(1, length):
            chance *= step[path[t - 1]][path[t]] * likely[t][path[t]]
        whole += chance
        first[path[0]] += chance
        for a, b in zip(path[:-1], path[1:], strict=True):
            moves[a][b] += chance
    return [c / whole for c in first], [[c / whole for c in row] for row in moves]


def influence(apart, centres, radius):
    """Equation (20): the influence of every centre over every movement."""
    return [[math.exp(-row[centre] / radius**2) for centre in centres] for row in apart]


def subtractive_centres(apart, radius, squash, threshold):
    """Equations (18) and (19)."""
    n = len(apart)
    potential = [sum(math.exp(-apart[i][j] / radius**2) for j in range(n)) for i in range(n)]
    least = threshold * max(potential)
    centres = []
    while len(centres) < n:
        best = max(range(n), key=lambda i: potential[i])
        if potential[best] <= least or best in centres:
            break
        centres.append(best)
        height = potential[best]
        for i in range(n):
            potential[i] -= height * math.exp(-apart[i][best] / (squash * radius**2))
    return centres
