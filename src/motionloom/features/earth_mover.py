"""Earth Mover's Distance, the minimum work that turns one signature into another.

A signature is a set of points with masses. Moving one unit of mass costs the distance it moves.
Both signatures have the same total mass, so all mass is moved, and the minimum cost is a metric.

The method of successive shortest paths finds the exact optimum: it sends mass along one path after
another in the residual graph. Node potentials keep all costs non-negative, and Dijkstra's algorithm
on a dense matrix finds each path.

References
----------
.. [1] Y. Rubner, C. Tomasi, L. Guibas. The Earth Mover's Distance as a metric for image
   retrieval. IJCV 40, 2000.
.. [2] R. Ahuja, T. Magnanti, J. Orlin. Network Flows, section 9.7. Prentice Hall 1993.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.kernels import kernel

_BALANCE = 1e-9  # maximum relative difference between the two totals
_DUST = 1e-13  # fraction of the total below which a mass is a rounding error


def earth_mover_distance(
    points_a: ArrayLike, mass_a: ArrayLike, points_b: ArrayLike, mass_b: ArrayLike
) -> float:
    """Return the minimum work per unit of mass that turns one signature into another.

    Parameters
    ----------
    points_a, points_b : array_like, shapes (n, D), (m, D)
    mass_a, mass_b : array_like, shapes (n,), (m,)
        Positive, with equal totals.

    Returns
    -------
    distance : float
        Distance in the unit of the points.

    Raises
    ------
    InvalidInput
        If shapes do not match, a number is not finite, a mass is not positive, or the totals
        differ.

    Examples
    --------
    >>> earth_mover_distance([[0.0], [4.0]], [1, 1], [[1.0], [4.0]], [1.5, 0.5])
    1.25
    """
    a, b = _signature("a", points_a, mass_a), _signature("b", points_b, mass_b)
    if a[0].shape[1] != b[0].shape[1]:
        raise InvalidInput(
            f"points must have the same number of columns; got {a[0].shape[1]} and {b[0].shape[1]}"
        )
    _check_balance(a[1], b[1])
    return float(signature_distance(*a, *b))


def transport_cost(costs: ArrayLike, supply: ArrayLike, demand: ArrayLike) -> float:
    """Return the minimum total cost of transporting all supply to meet all demand.

    Parameters
    ----------
    costs : array_like, shape (n, m)
        Non-negative cost of moving one unit from each source to each sink.
    supply, demand : array_like, shapes (n,), (m,)
        Positive, with equal totals.

    Examples
    --------
    >>> transport_cost([[0.0, 2.0], [1.0, 0.0]], [3.0, 1.0], [2.0, 2.0])
    2.0
    """
    costs = np.array(costs, dtype=np.float64, ndmin=2)
    supply, demand = _masses("supply", supply), _masses("demand", demand)
    if costs.shape != (len(supply), len(demand)):
        raise InvalidInput(
            f"costs must have shape {(len(supply), len(demand))}, sources by sinks; "
            f"got {costs.shape}"
        )
    if not (np.isfinite(costs).all() and (costs >= 0.0).all()):
        raise InvalidInput("costs must be finite and non-negative")
    _check_balance(supply, demand)
    return float(transport(costs, supply, demand))


def _signature(name: str, points: ArrayLike, mass: ArrayLike):
    points = np.array(points, dtype=np.float64, ndmin=2)
    mass = _masses(f"mass_{name}", mass)
    if points.ndim != 2 or len(points) != len(mass):
        raise InvalidInput(
            f"points_{name} must have shape ({len(mass)}, D), one row per mass; got {points.shape}"
        )
    if not np.isfinite(points).all():
        raise InvalidInput(f"points_{name} must contain only finite numbers")
    return points, mass


def _masses(name: str, mass: ArrayLike) -> NDArray[np.float64]:
    mass = np.array(mass, dtype=np.float64, ndmin=1)
    if mass.ndim != 1 or not len(mass):
        raise InvalidInput(f"{name} must be one-dimensional and not empty; got shape {mass.shape}")
    if not (np.isfinite(mass).all() and (mass > 0.0).all()):
        raise InvalidInput(f"{name} must be positive")
    return mass


def _check_balance(a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    if abs(a.sum() - b.sum()) > _BALANCE * max(a.sum(), b.sum()):
        raise InvalidInput(
            f"both signatures must have the same total mass; got {a.sum():g} and {b.sum():g}"
        )


@kernel
def signature_distance(points_a, mass_a, points_b, mass_b):
    """Compute `earth_mover_distance` for checked arrays with equal totals."""
    n, m = len(mass_a), len(mass_b)
    costs = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            total = 0.0
            for k in range(points_a.shape[1]):
                total += (points_a[i, k] - points_b[j, k]) ** 2
            costs[i, j] = np.sqrt(total)
    return transport(costs, mass_a, mass_b) / mass_a.sum()


@kernel
def transport(costs, supply, demand):
    """Compute `transport_cost` by successive shortest paths on a dense matrix.

    The shapes are `costs` (n, m), `supply` (n,) and `demand` (m,). Sources are emptied one after
    the other. For each path, Dijkstra's algorithm on reduced costs stops at the first sink with
    room. Then the prices of the nodes reached before it are updated, which keeps all reduced costs
    non-negative. Amounts below `_DUST` of the total are treated as zero.
    """
    n, m = costs.shape
    if n == 1 or m == 1:
        total = 0.0
        for i in range(n):
            for j in range(m):
                total += costs[i, j] * (demand[j] if n == 1 else supply[i])
        return total
    left = supply.copy()
    room = demand.copy()
    dust = _DUST * supply.sum()
    flow = np.zeros((n, m))
    # The reduced cost costs[i, j] - price_a[i] - price_b[j] is never negative, and zero where
    # there is flow.
    price_a = np.zeros(n)
    price_b = np.empty(m)
    for j in range(m):
        low = costs[0, j]
        for i in range(1, n):
            low = min(low, costs[i, j])
        price_b[j] = low
    for i in range(n):
        low = np.inf
        for j in range(m):
            low = min(low, costs[i, j] - price_b[j])
        price_a[i] = low
        # First send everything that costs nothing.
        for j in range(m):
            if left[i] > dust and room[j] > dust and costs[i, j] - price_b[j] <= low:
                sent = min(left[i], room[j])
                flow[i, j] += sent
                left[i] -= sent
                room[j] -= sent
    reach_b = np.empty(m)  # length of the shortest path to each sink
    reach_a = np.empty(n)
    from_a = np.empty(m, np.int64)  # the source before each sink on that path
    from_b = np.empty(n, np.int64)
    open_b = np.empty(m, np.int64)  # sinks not yet reached
    done_b = np.empty(m, np.int64)  # sinks reached, in order
    done_a = np.empty(n, np.int64)
    seen_a = np.empty(n, np.bool_)
    for start in range(n):
        while left[start] > dust:
            for j in range(m):
                reach_b[j] = costs[start, j] - price_a[start] - price_b[j]
                from_a[j] = start
                open_b[j] = j
            seen_a[:] = False
            seen_a[start] = True
            reach_a[start] = 0.0
            n_open, n_done_b, n_done_a = m, 0, 0
            done_a[0] = start
            n_done_a = 1
            end = -1
            while True:
                near = 0
                for at in range(1, n_open):
                    if reach_b[open_b[at]] < reach_b[open_b[near]]:
                        near = at
                sink = open_b[near]
                n_open -= 1
                open_b[near] = open_b[n_open]
                if room[sink] > dust or n_open == 0:
                    end = sink
                    break
                done_b[n_done_b] = sink
                n_done_b += 1
                base = reach_b[sink]
                for i in range(n):
                    # Going backward along the flow into this sink has no cost.
                    if seen_a[i] or flow[i, sink] <= 0.0:
                        continue
                    seen_a[i] = True
                    reach_a[i] = base
                    from_b[i] = sink
                    done_a[n_done_a] = i
                    n_done_a += 1
                    offset = base - price_a[i]
                    for at in range(n_open):
                        j = open_b[at]
                        length = offset + costs[i, j] - price_b[j]
                        if length < reach_b[j]:
                            reach_b[j] = length
                            from_a[j] = i
            final = reach_b[end]
            for at in range(n_done_a):
                i = done_a[at]
                price_a[i] += final - reach_a[i]
            for at in range(n_done_b):
                j = done_b[at]
                price_b[j] -= final - reach_b[j]
            sent = min(left[start], room[end]) if room[end] > dust else left[start]
            j = end
            while True:
                i = from_a[j]
                if i == start:
                    break
                j = from_b[i]
                sent = min(sent, flow[i, j])
            j = end
            while True:
                i = from_a[j]
                flow[i, j] += sent
                if i == start:
                    break
                j = from_b[i]
                flow[i, j] -= sent
                if flow[i, j] <= dust:
                    flow[i, j] = 0.0
            left[start] -= sent
            room[end] -= sent
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += flow[i, j] * costs[i, j]
    return total
