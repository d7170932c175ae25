"""The movement transition graph that movements of takes give: groups, and what may follow what.

After Kim, Park and Shin (2003), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.movements import (
    Movement,
    MovementComparison,
    movement_differences,
    transition_differences,
)
from motionloom.dance.settings import ChoreographySettings
from motionloom.dance.transitions.graph import TransitionGraph, combined_graph
from motionloom.dance.transitions.learning import (
    Groups,
    baum_welch,
    k_medoids,
    kinematic_continuity,
    memberships,
    subtractive,
)
from motionloom.ragged import Ragged

Array = NDArray[np.float64]


def grouped_movements(
    movements: Sequence[Movement], settings: ChoreographySettings
) -> tuple[Array, Groups]:
    """Differences (N, N) of movements, equation (15), and their groups, section 4.1."""
    how = MovementComparison.of(movements, settings.weights, settings.velocity_weight)
    apart = movement_differences(movements, how)
    if settings.groups is not None:
        return apart, k_medoids(apart, settings.groups, seed=settings.seed)
    return apart, subtractive(apart, radius=settings.radius)


def learnt_graph(
    movements: Sequence[Movement],
    lengths: Sequence[int],
    apart: Array,
    groups: Groups,
    settings: ChoreographySettings,
    *,
    starts: Sequence[bool] | None = None,
) -> TransitionGraph:
    """The movement transition graph of groups of movements, section 4.2.

    Parameters
    ----------
    movements : sequence of Movement
        In the order of the takes.
    lengths : sequence of int
        Movements of each sequence in which they follow one another; they sum to N.
    apart : ndarray, shape (N, N)
        Differences of the movements.
    groups : Groups
    settings : ChoreographySettings
    starts : sequence of bool, optional
        Whether each sequence begins with the start of its take. Default: all do.
    """
    how = MovementComparison.of(movements, settings.weights, settings.velocity_weight)
    gaps = transition_differences(movements, how)
    smooth = kinematic_continuity(gaps, groups.labels, sigma=settings.sigma)
    seen = memberships(apart, groups, radius=settings.radius)
    learnt = baum_welch(Ragged.from_lengths(seen, list(lengths)).rows, starts=starts)
    members = []
    for group, centre in enumerate(groups.centres):
        others = [k for k in groups.members(group) if k != centre]
        nearest = sorted(others, key=lambda k: apart[centre, k])
        members.append([int(centre), *map(int, nearest)])
    return combined_graph(
        smooth, learnt.transitions, learnt.start, members,
        behaviour=settings.behaviour, min_likelihood=settings.min_likelihood,
    )  # fmt: skip
