"""Skinning and closed meshes, straight from their definitions."""

from __future__ import annotations


def matrix_product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(4)) for j in range(4)] for i in range(4)]


def rigid_inverse(m):
    """The inverse of a rotation and a translation."""
    turned = [[m[j][i] for j in range(3)] for i in range(3)]
    back = [-sum(turned[i][j] * m[j][3] for j in range(3)) for i in range(3)]
    return [[*turned[i], back[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]]


def skinned_vertex(vertex, joints, weights, bind, world):
    """Position of a vertex after each joint moved from `bind` to `world` (4 x 4 matrices)."""
    out = [0.0, 0.0, 0.0]
    for joint, weight in zip(joints, weights, strict=True):
        since = matrix_product(world[joint], rigid_inverse(bind[joint]))
        for axis in range(3):
            place = sum(since[axis][k] * vertex[k] for k in range(3)) + since[axis][3]
            out[axis] += weight * place
    return out


def edge_counts(triangles):
    """Number of occurrences of each directed edge."""
    counts = {}
    for a, b, c in triangles:
        for edge in ((a, b), (b, c), (c, a)):
            counts[edge] = counts.get(edge, 0) + 1
    return counts


def enclosed_volume(vertices, triangles):
    """Sum of the signed volumes of tetrahedra from the origin."""
    total = 0.0
    for a, b, c in triangles:
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = vertices[a], vertices[b], vertices[c]
        total += ax * (by * cz - bz * cy) - ay * (bx * cz - bz * cx) + az * (bx * cy - by * cx)
    return total / 6.0
