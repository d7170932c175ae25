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


def angular_velocities(rotations, fps):
    """Equation (1) for one joint: 2 log(p^-1 q) / h of successive unit quaternions."""
    out = []
    for (w0, x0, y0, z0), (w, x, y, z) in zip(rotations[:-1], rotations[1:], strict=True):
        real = w0 * w + x0 * x + y0 * y + z0 * z
        axis = (
            w0 * x - x0 * w - y0 * z + z0 * y,
            w0 * y - y0 * w - z0 * x + x0 * z,
            w0 * z - z0 * w - x0 * y + y0 * x,
        )
        if real < 0.0:
            real, axis = -real, tuple(-a for a in axis)
        length = math.sqrt(sum(a * a for a in axis))
        angle = 2.0 * math.atan2(length, real)
        out.append([angle * fps * a / length if length > 1e-15 else 0.0 for a in axis])
    return out


def candidate_beats(rotations, fps, derivative=1):
    """Section 3.1 for one joint: moments in seconds at which each component changes sign.

    Derivative 1 is the angular velocity, equation (1), which changes sign where the joint changes
    direction, as the text says. Derivative 2 is the angular acceleration, equation (2).
    """
    values = angular_velocities(rotations, fps)
    first = 0.5  # the velocity of equation (1) is that half way between two frames
    if derivative == 2:
        values = [
            [y - x for x, y in zip(a, b, strict=True)]
            for a, b in zip(values[:-1], values[1:], strict=True)
        ]
        first = 1.0
    result = [[], [], []]
    for component in range(3):
        for k in range(len(values) - 1):
            here, after = values[k][component], values[k + 1][component]
            if here * after < 0.0:
                result[component].append((k + first + here / (here - after)) / fps)
    return result


def motion_beats(joints, fps, seconds, shortest, longest, bend):
    """Section 3 for rotations of several joints, each (T, 4): period and motion beats.

    Each component of the orientation of a joint is a motion signal with its own candidates.
    Equation (7) as printed correlates the signal with itself and is largest at phase 0; the phase
    here is that of the cosine of the dominant period that correlates most with the signal.
    """
    candidates = [crests for rotations in joints for crests in candidate_beats(rotations, fps)]
    rate = 2.0 * fps
    moments = [k / rate for k in range(int(seconds * rate) + 1)]
    signal = [0.0] * len(moments)
    for crests in candidates:
        if len(crests) > 1:
            for k, t in enumerate(moments):
                signal[k] += piecewise_cosine(crests, t)
    steps = 400
    ratio = math.log(longest / shortest)
    tried = [shortest * math.exp(ratio * k / steps) for k in range(steps + 1)]
    period = max(tried, key=lambda seconds: power(signal, rate, 1.0 / seconds))

    def fit(phase):
        return sum(
            value * math.cos(2.0 * math.pi * (t - phase) / period)
            for value, t in zip(signal, moments, strict=True)
        )

    phase = max((period * k / 60.0 for k in range(60)), key=fit)
    every = sorted(t for crests in candidates for t in crests)
    beats = []
    while phase <= seconds:
        near = [t for t in every if phase - period / 2 <= t <= phase + period / 2]
        beats.append(huber_location(near, [1.0] * len(near), bend * period) if near else phase)
        phase += period
    return period, beats


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


def baum_welch(sequences, groups, starts, rounds):
    """Equations (25) and (26), starting from equal probabilities, by `expected_counts`.

    The likelihood of a movement in a group is 1 if it was assigned to the group, otherwise 0.
    """
    start = [1.0 / groups] * groups
    step = [[1.0 / groups] * groups for _ in range(groups)]
    for _ in range(rounds):
        first = [0.0] * groups
        moves = [[0.0] * groups for _ in range(groups)]
        for sequence, begins in zip(sequences, starts, strict=True):
            likely = [[float(group == k) for k in range(groups)] for group in sequence]
            equal = [1.0 / groups] * groups
            begin, pairs = expected_counts(likely, start if begins else equal, step)
            for i in range(groups):
                first[i] += begin[i] * begins
                for j in range(groups):
                    moves[i][j] += pairs[i][j]
        start = [count / sum(first) for count in first]
        step = [[c / sum(row) if sum(row) else 0.0 for c in row] for row in moves]
    return start, step


def bits_per_transition(sequences, step):
    """Mean information of the transitions of sequences of groups, in bits."""
    bits = [
        -math.log2(step[a][b])
        for sequence in sequences
        for a, b in zip(sequence[:-1], sequence[1:], strict=True)
    ]
    return sum(bits) / len(bits)


def subtractive_centers(apart, radius, squash, threshold):
    """Equations (18) and (19)."""
    n = len(apart)
    potential = [sum(math.exp(-apart[i][j] / radius**2) for j in range(n)) for i in range(n)]
    least = threshold * max(potential)
    centers = []
    while len(centers) < n:
        best = max(range(n), key=lambda i: potential[i])
        if potential[best] <= least or best in centers:
            break
        centers.append(best)
        height = potential[best]
        for i in range(n):
            potential[i] -= height * math.exp(-apart[i][best] / (squash * radius**2))
    return centers


def silhouette(distances, labels):
    """Mean silhouette (Rousseeuw 1987); 0 for a movement that is alone in its group."""
    total = 0.0
    for i, own in enumerate(labels):
        means = {}
        for group in set(labels):
            others = [distances[i][j] for j, k in enumerate(labels) if k == group and j != i]
            if others:
                means[group] = sum(others) / len(others)
        if own in means:
            nearest = min(mean for group, mean in means.items() if group != own)
            total += (nearest - means[own]) / max(nearest, means[own])
    return total / len(labels)


def step_period(period, feet, *, longest=2.0, shortest=0.3, near=0.2, bend=0.05, change=0.08):
    """Huber's regression of intervals of one foot on their numbers of beats, interval by interval.

    None if there are fewer than six, or if the period would change too much.
    """
    intervals = []
    for sides in feet:
        for landings in sides:
            for a in landings:
                for b in landings:
                    if 0.0 < b - a <= longest and b - a > shortest * period:
                        intervals.append(b - a)
    best = period
    for _ in range(5):
        top = bottom = 0.0
        count = 0
        for interval in intervals:
            beats = round(interval / best)
            off = abs(interval / best - beats)
            if beats < 1 or off >= near:
                continue
            weight = min(1.0, bend / max(off, 1e-9))
            top += weight * interval * beats
            bottom += weight * beats * beats
            count += 1
        if count < 6:
            return None
        best = top / bottom
        if abs(math.log(best / period)) > change:
            return None
    return best
