"""Similarity of the movement of two aligned motions, straight from the definition."""

import math


def movement_distance(pairs, query, motion, query_speed, motion_speed, weights, options):
    """Mean over the pairs of the difference after removing most of its constant part.

    `options` contains seconds, stance and still (in the unit of the rows).
    """
    seconds, stance, still = options
    numbers = range(len(weights))

    def size(rows, speeds):
        total = 0.0
        for d in numbers:
            values = [row[d] for row in rows]
            mean = sum(values) / len(values)
            total += weights[d] ** 2 * sum((v - mean) ** 2 for v in values) / len(values)
            total += (seconds * weights[d]) ** 2 * sum(s[d] ** 2 for s in speeds) / len(speeds)
        return total

    own = size(query, query_speed)
    other = size([motion[j] for _, j in pairs], [motion_speed[j] for _, j in pairs])
    counts = stance + (1.0 - stance) * still**2 / (own + still**2)
    total = 0.0
    offset = [sum(query[i][d] - motion[j][d] for i, j in pairs) / len(pairs) for d in numbers]
    for i, j in pairs:
        square = 0.0
        for d in numbers:
            place = query[i][d] - motion[j][d] - (1.0 - counts) * offset[d]
            speed = seconds * (query_speed[i][d] - motion_speed[j][d])
            square += weights[d] ** 2 * (place**2 + speed**2)
        total += math.sqrt(square)
    factor = math.sqrt((own + still**2) / (0.5 * (own + min(other, own)) + still**2))
    return total / len(pairs) * factor
