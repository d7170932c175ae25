"""Kernels of inverse kinematics: forward kinematics, distances and one pose at a time.

The pose of a robot is the position and rotation of its base and one angle per hinge. A step changes
6 + D numbers: the base's position, a small rotation of the base in the world, and the angles. Rows
of the Jacobian touch only the hinges between a point and the base, so the normal equations are
summed sparsely. Limits of the angles are kept exactly: angles that a step would carry beyond their
limit stop there, and the others are solved again.
"""

from __future__ import annotations

import numpy as np

from motionloom.kernels import kernel

_MOST_SOLVES = 8  # times that a step is solved again because angles reach their limits


@kernel
def forward(parents, offsets, rest, axes, hinges, root, base, angles, turns, places):
    """Fill rotation matrices (N, 3, 3) and positions (N, 3) of all nodes in one pose."""
    for node in range(len(parents)):
        if node == 0:
            turns[0] = base
            places[0] = root
            continue
        above = parents[node]
        hinge = hinges[node]
        for row in range(3):
            place = places[above, row]
            for k in range(3):
                place += turns[above, row, k] * offsets[node, k]
            places[node, row] = place
        if hinge < 0:
            for row in range(3):
                for column in range(3):
                    total = 0.0
                    for k in range(3):
                        total += turns[above, row, k] * rest[node, k, column]
                    turns[node, row, column] = total
            continue
        x, y, z = axes[node, 0], axes[node, 1], axes[node, 2]
        c, s = np.cos(angles[hinge]), np.sin(angles[hinge])
        v = 1.0 - c
        m00, m01, m02 = c + x * x * v, x * y * v - z * s, x * z * v + y * s
        m10, m11, m12 = y * x * v + z * s, c + y * y * v, y * z * v - x * s
        m20, m21, m22 = z * x * v - y * s, z * y * v + x * s, c + z * z * v
        for row in range(3):
            a, b, d = 0.0, 0.0, 0.0
            for k in range(3):
                a += turns[above, row, k] * rest[node, k, 0]
                b += turns[above, row, k] * rest[node, k, 1]
                d += turns[above, row, k] * rest[node, k, 2]
            turns[node, row, 0] = a * m00 + b * m10 + d * m20
            turns[node, row, 1] = a * m01 + b * m11 + d * m21
            turns[node, row, 2] = a * m02 + b * m12 + d * m22


@kernel
def forward_frames(parents, offsets, rest, axes, hinges, roots, bases, angles, turns, places):
    """Fill rotations (T, N, 3, 3) and positions (T, N, 3) of all nodes in T poses."""
    for t in range(len(roots)):
        forward(
            parents, offsets, rest, axes, hinges, roots[t], bases[t], angles[t], turns[t], places[t]
        )


@kernel
def rotation_vector(m, out):
    """Fill `out` (3,) with the rotation vector of a rotation matrix."""
    cosine = min(max(0.5 * (m[0, 0] + m[1, 1] + m[2, 2] - 1.0), -1.0), 1.0)
    angle = np.arccos(cosine)
    x, y, z = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    sine = np.sqrt(x * x + y * y + z * z)
    scale = 0.5 if sine < 1e-9 else angle / sine
    out[0], out[1], out[2] = scale * x, scale * y, scale * z


@kernel
def turned(v, m, out):
    """Fill `out` with the rotation by the vector `v` times the matrix `m`."""
    angle = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if angle < 1e-12:
        out[:] = m
        return
    x, y, z = v[0] / angle, v[1] / angle, v[2] / angle
    c, s = np.cos(angle), np.sin(angle)
    w = 1.0 - c
    for column in range(3):
        a, b, d = m[0, column], m[1, column], m[2, column]
        out[0, column] = (c + x * x * w) * a + (x * y * w - z * s) * b + (x * z * w + y * s) * d
        out[1, column] = (y * x * w + z * s) * a + (c + y * y * w) * b + (y * z * w - x * s) * d
        out[2, column] = (z * x * w - y * s) * a + (z * y * w + x * s) * b + (c + z * z * w) * d


@kernel
def segment_distance(p, q, r, s, out):
    """Return the distance of the segments ``p q`` and ``r s``; `out` (6,) gets nearest points."""
    ux, uy, uz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    vx, vy, vz = s[0] - r[0], s[1] - r[1], s[2] - r[2]
    wx, wy, wz = p[0] - r[0], p[1] - r[1], p[2] - r[2]
    a = ux * ux + uy * uy + uz * uz
    b = ux * vx + uy * vy + uz * vz
    c = vx * vx + vy * vy + vz * vz
    d = ux * wx + uy * wy + uz * wz
    e = vx * wx + vy * wy + vz * wz
    det = a * c - b * b
    i = 0.0
    if det > 1e-12 and a > 1e-12:
        i = min(max((b * e - c * d) / det, 0.0), 1.0)
    j = (b * i + e) / c if c > 1e-12 else 0.0
    if j < 0.0 or j > 1.0:
        j = min(max(j, 0.0), 1.0)
        if a > 1e-12:
            i = min(max((b * j - d) / a, 0.0), 1.0)
    elif c <= 1e-12 and a > 1e-12:
        i = min(max(-d / a, 0.0), 1.0)
    out[0], out[1], out[2] = p[0] + i * ux, p[1] + i * uy, p[2] + i * uz
    out[3], out[4], out[5] = r[0] + j * vx, r[1] + j * vy, r[2] + j * vz
    x, y, z = out[0] - out[3], out[1] - out[4], out[2] - out[5]
    return np.sqrt(x * x + y * y + z * z)


@kernel
def place_point(turns, places, node, local, out):
    """Fill `out` with the world position of a point of a node."""
    for row in range(3):
        out[row] = places[node, row] + (
            turns[node, row, 0] * local[0]
            + turns[node, row, 1] * local[1]
            + turns[node, row, 2] * local[2]
        )


@kernel
def _columns(parents, hinges, axes, turns, places, node, point, columns, rows):
    """List the columns that move a point and fill ``rows`` (3, columns); return their number."""
    for k in range(3):
        columns[k] = k
        columns[3 + k] = 3 + k
        for row in range(3):
            rows[row, k] = 1.0 if row == k else 0.0
    x, y, z = point[0] - places[0, 0], point[1] - places[0, 1], point[2] - places[0, 2]
    rows[0, 3], rows[1, 3], rows[2, 3] = 0.0, -z, y
    rows[0, 4], rows[1, 4], rows[2, 4] = z, 0.0, -x
    rows[0, 5], rows[1, 5], rows[2, 5] = -y, x, 0.0
    count = 6
    while node > 0:
        hinge = hinges[node]
        if hinge >= 0:
            a, b, c = 0.0, 0.0, 0.0
            for k in range(3):
                a += turns[node, 0, k] * axes[node, k]
                b += turns[node, 1, k] * axes[node, k]
                c += turns[node, 2, k] * axes[node, k]
            x, y, z = (
                point[0] - places[node, 0],
                point[1] - places[node, 1],
                point[2] - places[node, 2],
            )
            columns[count] = 6 + hinge
            rows[0, count] = b * z - c * y
            rows[1, count] = c * x - a * z
            rows[2, count] = a * y - b * x
            count += 1
        node = parents[node]
    return count


@kernel
def _turn_columns(parents, hinges, axes, turns, node, columns, rows):
    """List the columns that rotate a node and fill ``rows`` (3, columns); return their number."""
    for k in range(3):
        columns[k] = 3 + k
        for row in range(3):
            rows[row, k] = 1.0 if row == k else 0.0
    count = 3
    while node > 0:
        hinge = hinges[node]
        if hinge >= 0:
            columns[count] = 6 + hinge
            for row in range(3):
                total = 0.0
                for k in range(3):
                    total += turns[node, row, k] * axes[node, k]
                rows[row, count] = total
            count += 1
        node = parents[node]
    return count


@kernel
def _add_row(normal, gradient, columns, row, count, weight, error):
    """Add one weighted row of the least squares problem to the normal equations."""
    square = weight * weight
    for i in range(count):
        a = square * row[i]
        if a == 0.0:
            continue
        gradient[columns[i]] += a * error
        for j in range(count):
            normal[columns[i], columns[j]] += a * row[j]


@kernel
def _bounded_step(normal, gradient, low, high, step, fixed, factor, rhs):
    """Solve the normal equations for `step` within ``low`` and ``high``."""
    size = len(gradient)
    for i in range(size):
        fixed[i] = False
        step[i] = 0.0
        at_low = low[i] >= -1e-12 and gradient[i] < 0.0
        at_high = high[i] <= 1e-12 and gradient[i] > 0.0
        if at_low or at_high:
            fixed[i] = True
    for _ in range(_MOST_SOLVES):
        for i in range(size):
            if fixed[i]:
                for j in range(i + 1):
                    factor[i, j] = 0.0
                factor[i, i] = 1.0
                rhs[i] = 0.0
                continue
            total = gradient[i]
            for j in range(size):
                if fixed[j]:
                    total -= normal[i, j] * step[j]
            rhs[i] = total
            for j in range(i + 1):
                factor[i, j] = 0.0 if fixed[j] else normal[i, j]
        for i in range(size):  # Cholesky factorization in place
            if fixed[i]:
                continue
            for j in range(i + 1):
                if fixed[j]:
                    continue
                total = factor[i, j]
                for k in range(j):
                    total -= factor[i, k] * factor[j, k]
                if i == j:
                    factor[i, i] = np.sqrt(max(total, 1e-12))
                else:
                    factor[i, j] = total / factor[j, j]
        for i in range(size):
            if fixed[i]:
                continue
            total = rhs[i]
            for k in range(i):
                total -= factor[i, k] * rhs[k]
            rhs[i] = total / factor[i, i]
        for i in range(size - 1, -1, -1):
            if fixed[i]:
                continue
            total = rhs[i]
            for k in range(i + 1, size):
                if not fixed[k]:
                    total -= factor[k, i] * rhs[k]
            rhs[i] = total / factor[i, i]
        stopped = False
        for i in range(size):
            if fixed[i]:
                continue
            if rhs[i] < low[i]:
                fixed[i] = True
                step[i] = low[i]
                stopped = True
            elif rhs[i] > high[i]:
                fixed[i] = True
                step[i] = high[i]
                stopped = True
        for i in range(size):
            if not fixed[i]:
                step[i] = min(max(rhs[i], low[i]), high[i])
        if stopped:
            continue
        freed = False
        for i in range(size):  # variables that would now leave their limit inward
            if not fixed[i]:
                continue
            total = gradient[i]
            for j in range(size):
                total -= normal[i, j] * step[j]
            if (total > 1e-9 and step[i] < high[i]) or (total < -1e-9 and step[i] > low[i]):
                fixed[i] = False
                freed = True
        if not freed:
            break
