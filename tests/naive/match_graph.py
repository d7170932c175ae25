"""Match graphs from their definitions: nodes reached without an edge, or below a limit."""


def reached(count, edges, limit=float("inf"), without=None):
    """Nodes reached from node 0 by edges (a, b, cost) up to a limit."""
    there = {0}
    grows = True
    while grows:
        grows = False
        for number, (a, b, cost) in enumerate(edges):
            if number == without or cost > limit:
                continue
            if (a in there) != (b in there):
                there |= {a, b}
                grows = True
    return there


def cut_off(count, edges):
    """For each edge, how many nodes are not reached without it."""
    whole = len(reached(count, edges))
    return [whole - len(reached(count, edges, without=number)) for number in range(len(edges))]


def family_size(count, edges, limit):
    """Number of nodes besides node 0 that are reached by edges up to a limit."""
    return len(reached(count, edges, limit)) - 1
