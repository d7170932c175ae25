"""Searching a match web, straight from Kovar & Gleicher (2004), section 3.3.

"Each match sequence is a time alignment": it is also non-degenerate (section 3.1) across
junctions.

A web is plain data: `chains` and `bridges` are lists of paths, a path is a list of (row, column,
value). ``bridges[b] = (chain, position, cells, other chain, other position)``: it leaves a chain
at a position, passes over its own cells and arrives at another chain.
"""


def match_sequences(chains, bridges, a, b):
    """All match sequences from row `a` to row `b`, both included, as lists of cells."""
    result = []
    for c, cells in enumerate(chains):
        k = next((k for k, cell in enumerate(cells) if cell[0] == a), None)
        if k is not None:
            _walk_chain(chains, bridges, c, k, a, b, [], result)
    for bridge in bridges:
        _, _, cells, _, _ = bridge
        k = next((k for k, cell in enumerate(cells) if cell[0] == a), None)
        if k is not None:
            _walk_bridge(chains, bridges, bridge, k, a, b, [], result)
    return result


def _walk_chain(chains, bridges, c, k, a, b, so_far, result):
    rest = chains[c][k:]
    if any(cell[0] == b for cell in rest):
        last = max(i for i, cell in enumerate(rest) if cell[0] == b)
        result.append(so_far + rest[: last + 1])
    for i, cell in enumerate(rest):
        if cell[0] == b:
            break
        for bridge in bridges:
            if bridge[0] == c and bridge[1] == k + i:
                _walk_bridge(chains, bridges, bridge, 0, a, b, so_far + rest[: i + 1], result)


def _walk_bridge(chains, bridges, bridge, k, a, b, so_far, result):
    _, _, own, other, position = bridge
    rest = own[k:] + [chains[other][position]]
    if any(cell[0] == b for cell in rest):
        last = max(i for i, cell in enumerate(rest) if cell[0] == b)
        result.append(so_far + rest[: last + 1])
    else:
        _walk_chain(chains, bridges, other, position, a, b, so_far + rest[:-1], result)


def is_non_degenerate(cells, max_slope):
    """At most `max_slope` frames of one motion are mapped to a single frame of the other."""
    for axis in (0, 1):
        frames = [cell[axis] for cell in cells]
        if any(
            len(set(frames[n : n + max_slope + 1])) == 1 for n in range(len(frames) - max_slope)
        ):
            return False
    return True


def web_matches(chains, bridges, a, b, threshold, overlap, max_slope):
    """Matches of rows `a` to `b`: (first column, last column, mean, cells), the best first."""
    ranked = []
    for cells in match_sequences(chains, bridges, a, b):
        if not is_non_degenerate(cells, max_slope):
            continue
        mean = sum(cell[2] for cell in cells) / len(cells)
        if mean <= threshold:
            ranked.append((mean, cells[0][1], cells[-1][1], cells))
    ranked.sort(key=lambda item: item[:3])
    kept = []
    while ranked:
        mean, first, last, cells = ranked.pop(0)
        kept.append((first, last, mean, cells))
        ranked = [item for item in ranked if _overlap(first, last, item[1], item[2]) <= overlap]
    return kept


def _overlap(a, b, c, d):
    shared = min(b, d) - max(a, c) + 1
    return max(shared, 0) / min(b - a + 1, d - c + 1)
