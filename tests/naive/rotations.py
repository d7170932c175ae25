"""Rotations as textbook 3 x 3 matrices, one at a time, in plain Python."""

import math


def axis_matrix(axis, angle):
    """Right-handed turn about X, Y or Z."""
    c, s = math.cos(angle), math.sin(angle)
    return {
        "X": [[1, 0, 0], [0, c, -s], [0, s, c]],
        "Y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
        "Z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
    }[axis]


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def applied(matrix, vector):
    return [sum(matrix[i][k] * vector[k] for k in range(3)) for i in range(3)]


def euler_matrix(angles, order):
    """Product of the single turns from left to right."""
    matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    for angle, axis in zip(angles, order, strict=True):
        matrix = product(matrix, axis_matrix(axis, angle))
    return matrix


def quaternion_matrix(q):
    """Rodrigues' formula on the axis and angle hidden in (w, x, y, z)."""
    w, *vector = (float(value) for value in q)
    length = math.sqrt(sum(value * value for value in vector))
    if length == 0.0:
        return [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    angle = 2.0 * math.atan2(length, w)
    x, y, z = (value / length for value in vector)
    c, s = math.cos(angle), math.sin(angle)
    skew = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    axis = [x, y, z]
    return [
        [(c if i == j else 0.0) + s * skew[i][j] + (1 - c) * axis[i] * axis[j] for j in range(3)]
        for i in range(3)
    ]
