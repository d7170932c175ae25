"""Keep the transitions after which feet land on the beats.

At a seam, the offset between two movements fades out and moves the feet, so that they may land
early, late or once more than in the takes. Each transition of a choreography is therefore played
once, without steering, and landings off the beat are counted in the movement after it. Transitions
with the fewest of these landings are kept, as long as enough movements can follow each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from motionloom.crowd.crowd_player import CrowdPlayer
from motionloom.dance.choreography import Choreography
from motionloom.dance.motion_beats.landings import NEAR, foot_landings
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.motion import Motion

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]

# Minimum number of nodes that remain, and minimum share of the nodes.
_FEWEST, _LEAST = 8, 0.2
_TOGETHER = 200  # transitions that are played at once; limits memory


def landing_on_beats(choreography: Choreography) -> Choreography:
    """Return the choreography with only the transitions after which feet land on beats.

    Examples
    --------
    >>> from motionloom.crowd.built_in import waltz_steps
    >>> len(landing_on_beats(waltz_steps()).graph)  # feet land on beats after every transition
    2
    """
    graph = choreography.graph
    pairs = _pairs(choreography)
    if not len(pairs):
        return choreography
    off = np.concatenate(
        [
            landings_off_beat(choreography, pairs[k : k + _TOGETHER])
            for k in range(0, len(pairs), _TOGETHER)
        ]
    )
    node = np.empty(len(choreography.movements), np.int64)
    for number, group in enumerate(graph.members):
        node[list(group)] = number
    wanted = min(len(graph), max(_FEWEST, _LEAST * len(graph)))
    for most in np.unique(off):
        kept = np.zeros(graph.transitions.shape, bool)
        kept[tuple(node[pairs[off <= most]].T)] = True
        count, part = connected_components(kept, connection="strong")
        inside = part == np.bincount(part, minlength=count).argmax()
        if inside.sum() >= wanted:
            break
    if inside.all() and kept[graph.transitions > 0.0].all():
        return choreography
    keep = np.flatnonzero(inside)
    start = graph.start[keep]
    return choreography.with_graph(
        TransitionGraph(
            tuple(graph.names[k] for k in keep),
            tuple(graph.members[k] for k in keep),
            start if start.any() else np.ones(len(keep)),
            np.where(kept, graph.transitions, 0.0)[np.ix_(keep, keep)],
        )
    )


def landings_off_beat(choreography: Choreography, pairs: Pairs) -> Array:
    """Count landings off the beat in the second movement of each pair (P, 2) of movements."""
    graph, phase = choreography.graph, choreography.transition_phase
    place = {k: (number, m) for number, group in enumerate(graph.members)
             for m, k in enumerate(group)}  # fmt: skip
    player = CrowdPlayer(choreography, np.zeros((len(pairs), 3)))
    length = choreography.meter * choreography.beat_frames
    blocks = []
    for column in pairs.T:
        chosen = np.array([place[k][0] for k in column])
        weights = [np.eye(len(graph.members[place[k][0]]))[place[k][1]] for k in column]
        blocks.append(player.block(chosen, weights, np.arange(float(length)), _in_place))
    near = max(NEAR, 1.0 / choreography.beat_frames + 1e-6)
    off = np.zeros(len(pairs))
    for body, skeleton in enumerate(player.skeletons):
        rotations = np.concatenate([block.rotations[body] for block in blocks], axis=1)
        root = np.concatenate([block.root[body] for block in blocks], axis=1)
        for n in range(len(pairs)):
            motion = Motion(skeleton, rotations[n], root[n], choreography.fps)
            frames = foot_landings(motion) * choreography.fps - length
            beats = frames[frames >= 0.0] / choreography.beat_frames + phase
            off[n] += np.sum(np.abs(beats - np.rint(beats)) > near)
    return off


def _pairs(choreography: Choreography) -> Pairs:
    """Return the pairs (P, 2) of movements that the graph and the seams allow."""
    graph, table = choreography.graph, choreography.seams()
    pairs = [
        (i, j)
        for a, b in np.argwhere(graph.transitions > 0.0)
        for i in graph.members[a]
        for j in graph.members[b]
        if table is None or table.allowed[i, j]
    ]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _in_place(natural: Array, headings: Array) -> tuple[Array, Array]:
    """Do not steer."""
    return natural, np.zeros(headings.shape)
