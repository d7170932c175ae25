"""Kovar & Gleicher 2004, sections 4.2 to 4.4, as written: sampling, interpolation, redundancy."""

import math

import numpy as np


def distance(a, b):
    """D of equation 3: the Euclidean distance."""
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def is_valid(weights, delta, slack=1e-9):
    """Equation 1."""
    inside = all(-delta - slack <= w <= 1.0 + delta + slack for w in weights)
    return inside and abs(sum(weights) - 1.0) < slack


def random_valid_weights(count, delta, random):
    """The procedure below equation 1."""
    weights, total = [None] * count, 0.0
    unassigned = list(random.permutation(count))  # one after the other, in random order
    while unassigned:
        w = unassigned.pop(0)
        if not unassigned:
            weights[w] = 1.0 - total
        else:
            low, high = max(-delta, -delta - total), min(1.0 + delta, 1.0 + delta - total)
            weights[w] = random.uniform(low, high)
            total += weights[w]
    return weights


def sampled(examples, f, blends, delta, threshold, random, expand=0.2):
    """Section 4.2: parameters and weights of the examples, and of random blends of neighbors."""
    count, d = len(examples), len(examples[0])
    samples = []
    for i in range(count):
        samples.append((list(examples[i]), [1.0 if j == i else 0.0 for j in range(count)]))
    low, high = [], []
    for axis in range(d):
        column = [example[axis] for example in examples]
        center, size = (min(column) + max(column)) / 2, max(column) - min(column)
        low.append(center - (1.0 + expand) * size / 2)
        high.append(center + (1.0 + expand) * size / 2)
    for _ in range(blends):
        point = random.uniform(low, high)
        order = sorted(range(count), key=lambda i: distance(examples[i], point))
        w = [0.0] * count
        neighbors = order[: d + 1]
        chosen = random_valid_weights(len(neighbors), delta, random)
        for i, weight in zip(neighbors, chosen, strict=True):
            w[i] = weight
        p = f(np.array(w))
        if min(distance(p, other) for other, _ in samples) >= threshold:
            samples.append((list(p), w))
    return samples


def interpolated_weights(target, parameters, weights, k):
    """Equations 2 and 3 over samples with dense weights."""
    gaps = [distance(p, target) for p in parameters]
    order = sorted(range(len(gaps)), key=lambda i: gaps[i])[:k]
    if gaps[order[0]] == 0.0:  # the limit of equation 3
        return np.asarray(weights[order[0]], float)
    last = gaps[order[-1]]
    alphas = [1.0 / gaps[i] - 1.0 / last for i in order]
    total = sum(alphas)
    result = np.zeros(len(weights[0]))
    for alpha, i in zip(alphas, order, strict=True):
        result += alpha / total * np.asarray(weights[i])
    return result


def needed_examples(examples, f, tolerance, k):
    """Section 4.4: discard each example that interpolating nearby ones reproduces."""
    kept = list(range(len(examples)))
    identity = np.eye(len(examples))
    for i in range(len(examples)):
        others = [j for j in kept if j != i]
        if len(others) < 2:
            continue
        w = interpolated_weights(
            examples[i], [examples[j] for j in others], [identity[j] for j in others], k
        )
        if distance(f(w), examples[i]) <= tolerance:
            kept = others
    return kept
