"""Base poses the plain way: all distances, then the pose with most neighbours, again and again."""

import math


def base_pose_rows(rows, starts, radius, apart, most, least):
    """Rows of base poses, as Shin and Oh (2006) find them, with time set aside around passes."""
    count = len(rows)
    motion = [max(m for m, s in enumerate(starts[:-1]) if s <= n) for n in range(count)]
    near = [
        [m for m in range(count) if math.dist(rows[n], rows[m]) <= radius] for n in range(count)
    ]
    spread = [
        sum(math.dist(rows[n], rows[m]) for m in near[n]) / len(near[n]) for n in range(count)
    ]
    free, chosen = set(range(count)), []
    while free and len(chosen) < most:
        best = min(free, key=lambda n: (-len(near[n]), spread[n]))
        if len(near[best]) < least:
            break
        for member in near[best]:
            free -= {
                n
                for n in range(member - apart, member + apart + 1)
                if 0 <= n < count and motion[n] == motion[member]
            }
        if passes(near[best], motion, apart) >= least:
            chosen.append(best)
    return chosen


def passes(members, motion, apart):
    """Number of contiguous segments of the members of a pose."""
    segments = 1
    for a, b in zip(members[:-1], members[1:], strict=True):
        if b - a > max(apart // 2, 1) or motion[a] != motion[b]:
            segments += 1
    return segments
