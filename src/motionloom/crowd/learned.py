"""Learn movement transition graphs for crowds from movements with known beats.

In Kim, Park and Shin (2003, section 6.2), couples waltz and soldiers march on learned graphs, with
30 bars of a waltz in 5 nodes and 44 strides in 2 nodes. Movements are compared at their beats and
grouped. Transitions are allowed if they are smooth or were seen in the takes.

The *transition phase* is the time after a beat at which movements start and end. A foot lands on
the beat, so a seam on the beat, which continues velocities, would push the foot into the floor. All
movements may therefore start a little later, where poses are most similar and accelerations are
smallest. In a waltz, both feet are then on the floor; in a march, one leg passes the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.choreography import Choreography
from motionloom.dance.movements import Movement, postures, warped_movement
from motionloom.dance.settings import ChoreographySettings, GroupingSettings, LikelihoodSettings
from motionloom.dance.transitions.learning import (
    Groups,
    grouped_movements,
    k_medoids,
    learned_graph,
)
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import usual_acceleration
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_AHEAD = 0.1  # seconds: weight of velocities; its square is the weight of accelerations
_TRIED = 20  # number of phases tried within a beat
# Minimum time in beats from a landing to a seam, and from a seam to a landing. If landings follow a
# quarter of a beat after the seam, 143 of 330 landings of salsa couples are off the beat, because
# the seam has not faded yet.
_CLEAR = (0.25, 0.45)
_GROUPS = 5  # number of nodes, as in the waltz of the paper
# Maximum root mean square difference per joint and beat between movements that can be blended. The
# bars of the built-in waltz are within 0.16 of the centers of 5 nodes. Figures of captured salsa
# (CMU 60 and 61) are 0.46 from the nearest other figure, and blends of them tremble.
_BLENDABLE = 0.25
# Edges that are less than half as likely as in a uniform graph are dropped: transitions onto the
# wrong foot have a third of that likelihood (waltz 0.07 of 0.2, march 0.13 of 0.5). Less likely
# edges are kept if fewer than 80 % of the movements could be reached without them.
_UNLIKELY = (0.5, 0.25, 0.125, 0.0)
_REACHED = 0.8
_SUCCESSORS = 6  # maximum number of successors of a node, which matters only in large graphs
# Smoothness has as much weight as two seen transitions per node, so the weight of seen transitions
# (w2 in the paper) grows with their number. With equal weights, one or two edges in a graph of five
# nodes lead onto the wrong foot (waltz takes of seeds 0 to 4). With a weight of 0.7, no edges do. A
# waltz of 30 bars has 0.74.
_PRIOR = 2.0


@dataclass(frozen=True, eq=False)
class Cut:
    """Movement to be cut from takes.

    Attributes
    ----------
    motions : tuple of Motion
        One motion per body, the leader first.
    beats : ndarray, shape (meter + 2,)
        Beats of the movement in frames, followed by the first two beats of the next movement.
    mirrored : bool
    follows : bool
        True if the movement directly follows the previous cut of the same take.
    lead : str
        Foot that lands on the first beat, or an empty string if unknown.
    """

    motions: tuple[Motion, ...]
    beats: Array
    mirrored: bool = False
    follows: bool = False
    lead: str = ""

    def movement(self, beat_frames: int, phase: float = 0.0) -> Movement:
        """Return the movement, warped to a constant beat period."""
        names = tuple(motion.name for motion in self.motions)
        beats = self.beats if phase > 0.0 else self.beats[:-1]
        return warped_movement(
            self.motions, names, beats, beat_frames, self.mirrored, transition_phase=phase
        )


def learned_steps(
    cuts: Sequence[Cut],
    beat_frames: int,
    *,
    groups: int | None = None,
    transition_phase: float | None = None,
    connected: bool = True,
    kind: str = "",
    left_out: Mapping[str, str] | None = None,
    choose: Callable[[Sequence[Movement], list[int]], list[int]] | None = None,
    max_seam: float | None = None,
    landed: bool = False,
    same_lead: bool = True,
    behavior: float | None = None,
    min_likelihood: float | None = None,
    seed: int = 0,
) -> Choreography:
    """Learn a choreography, with its transition graph, from cuts.

    Parameters
    ----------
    cuts : sequence of Cut
        Cuts in the order of the takes.
    beat_frames : int
        Frames between beats.
    groups : int, optional
        Number of nodes, at most the number of movements. Default: 5, or more if movements of one
        node would differ too much to be blended.
    transition_phase : float, optional
        Time from the first beat of a movement to its start, in beats, in [0, 1). Default: the phase
        at which transitions are smoothest.
    connected : bool
        If True, keep only the largest strongly connected component of the graph. If False, keep all
        nodes with outgoing edges; marches need this, because strides of the two feet are not
        connected.
    kind : str
    left_out : mapping, optional
        Reason for each take that has no movements.
    choose : callable, optional
        Function that selects the movements to keep in a node. It is called with all movements and
        the indices of those in the node, and returns indices. Default: keep all.
    max_seam : float, optional
        Drop transitions in which joints accelerate more than this multiple of the usual maximum in
        the takes; see `motionloom.dance.transitions.seams`. Default: transitions are not checked.
    landed : bool
        True if feet land on the beats, so that movements should not start there.
    same_lead : bool
        If True, a movement whose `lead` differs from that of most of its group is moved to the
        nearest group with its lead, or dropped if there is none, because movements with different
        leads cannot be blended.
    behavior : float, optional
        Weight of seen transitions, 0 to 1. By default, it grows with their number.
    min_likelihood : float, optional
        Drop edges with a lower likelihood. Default: half the uniform likelihood, or less if more
        than a fifth of the movements would be lost. In any case, only the six most likely edges of
        a node are kept.
    seed : int
        Random seed for the clustering.

    Examples
    --------
    >>> from motionloom.crowd.built_in import waltz_cuts
    >>> steps = learned_steps(waltz_cuts(), 20, groups=5)
    >>> len(steps.movements), len(steps.graph), steps.graph.dead_ends
    (30, 5, ())
    """
    settings = ChoreographySettings(
        grouping=GroupingSettings(groups=min(groups or _GROUPS, len(cuts)), seed=seed),
        transitions=LikelihoodSettings(min_likelihood=min_likelihood),
    )
    plain = [cut.movement(beat_frames) for cut in cuts]
    apart, grouped = grouped_movements(plain, settings)
    if groups is None:
        grouped = _blendable(plain, apart, grouped, seed)
    if same_lead:
        grouped = _by_lead(cuts, apart, grouped)
    phase = transition_phase
    if phase is None:
        phase = best_transition_phase(_seams(cuts, grouped), landed=landed)
    movements = [cut.movement(beat_frames, phase) for cut in cuts] if phase > 0.0 else plain
    graph = _learned(cuts, movements, apart, grouped, settings, connected, behavior)
    leads = [_usual([cuts[k].lead for k in group]) for group in graph.members]
    members = [
        [k for k in group if not same_lead or cuts[k].lead == lead]
        for group, lead in zip(graph.members, leads, strict=True)
    ]
    if choose is not None:
        members = [choose(movements, group) for group in members]
    if all(leads) and len(set(leads)) == len(leads):
        graph = graph.renamed(dict(zip(graph.names, leads, strict=True)))
    graph = replace(graph, members=tuple(map(tuple, members)))
    usual = usual_of_cuts(cuts) if max_seam else ()
    return compact_steps(movements, graph, kind, left_out or {}, max_seam=max_seam, usual=usual)


def usual_of_cuts(cuts: Sequence[Cut]) -> tuple[float, ...]:
    """Return each body's `usual_acceleration` in the takes that cuts were made from."""
    takes = {tuple(map(id, cut.motions)): cut.motions for cut in cuts}.values()
    return tuple(usual_acceleration(body) for body in zip(*takes, strict=True))


def compact_steps(
    movements: Sequence[Movement],
    graph: TransitionGraph,
    kind: str,
    left_out: Mapping[str, str],
    *,
    max_seam: float | None = None,
    usual: tuple[float, ...] = (),
) -> Choreography:
    """Return a choreography with only the movements in the graph and smooth transitions."""
    every = Choreography(tuple(movements), graph, kind, left_out, usual=usual)
    graph = every.with_smooth_transitions(max_seam).graph
    kept = sorted(k for group in graph.members for k in group)
    number = {k: n for n, k in enumerate(kept)}
    members = tuple(tuple(number[k] for k in group) for group in graph.members)
    dropped = {movement.source for movement in movements} - {movements[k].source for k in kept}
    rough = {"+".join(names): "without a smooth transition" for names in sorted(dropped)}
    return Choreography(
        tuple(movements[k] for k in kept), replace(graph, members=members), kind,
        {**left_out, **rough},
        max_seam=max_seam, usual=usual,
    )  # fmt: skip


def _learned(
    cuts: Sequence[Cut],
    movements: Sequence[Movement],
    apart: Array,
    groups: Groups,
    settings: ChoreographySettings,
    connected: bool,
    behavior: float | None,
) -> TransitionGraph:
    """Return the graph with likely edges only, but with enough edges to reach most movements."""
    begins = [n for n, cut in enumerate(cuts) if not cut.follows]
    starts = [n == 0 or cuts[n].motions[0] is not cuts[n - 1].motions[0] for n in begins]
    lengths = np.diff([*begins, len(cuts)]).tolist()
    seen = (len(cuts) - len(begins)) / len(groups)
    given = settings.transitions.min_likelihood
    share = seen / (seen + _PRIOR) if behavior is None else behavior
    likelihood = LikelihoodSettings(min_likelihood=given or 0.0, behavior=share)
    settings = replace(settings, transitions=likelihood)
    every = learned_graph(movements, lengths, apart, groups, settings, starts=starts)
    for unlikely in _UNLIKELY if given is None else (0.0,):
        graph = _with_likely_edges(every, unlikely / len(every)) if given is None else every
        if not connected:
            while graph.dead_ends:
                graph = graph.without_nodes(graph.dead_ends)
            return graph
        graph = graph.without_dead_ends()
        if sum(map(len, graph.members)) >= _REACHED * len(cuts):
            break
    return graph


def _with_likely_edges(graph: TransitionGraph, least: float) -> TransitionGraph:
    """Keep edges above a likelihood, and only the most likely edges of every node."""
    likely = np.where(graph.transitions > least, graph.transitions, 0.0)
    rank = np.argsort(np.argsort(-likely, axis=1, kind="stable"), axis=1)
    likely[rank >= _SUCCESSORS] = 0.0
    return replace(graph, transitions=likely)


def _blendable(movements: Sequence[Movement], apart: Array, groups: Groups, seed: int) -> Groups:
    """Split groups until every movement is near the center of its group."""
    terms = (movements[0].meter + 1) * postures(movements[:1]).weights.sum()
    most = _BLENDABLE**2 * float(terms)
    while apart[np.arange(len(apart)), groups.centers[groups.labels]].max() > most:
        groups = k_medoids(apart, min(len(groups) + len(groups) // 4, len(apart)), seed=seed)
    return groups


def _by_lead(cuts: Sequence[Cut], apart: Array, groups: Groups) -> Groups:
    """Change groups so that each has a single lead, if there is a group for every lead."""
    leads = np.array([cut.lead for cut in cuts])
    usual = np.array([_usual(leads[groups.members(k)].tolist()) for k in range(len(groups))])
    labels = groups.labels.copy()
    for n in np.flatnonzero(leads != usual[labels]):
        same = np.flatnonzero(usual == leads[n])
        if len(same):
            labels[n] = same[int(apart[n, groups.centers[same]].argmin())]
    if np.array_equal(labels, groups.labels):
        return groups
    members = [np.flatnonzero((labels == k) & (leads == usual[k])) for k in range(len(groups))]
    centers = np.array([own[apart[np.ix_(own, own)].sum(axis=0).argmin()] for own in members])
    return Groups(labels, centers, float(apart[np.arange(len(labels)), centers[labels]].sum()))


def _usual(leads: Sequence[str]) -> str:
    return Counter(leads).most_common(1)[0][0]


def _seams(cuts: Sequence[Cut], groups: Groups) -> list[list[tuple[tuple[Motion, ...], Array]]]:
    """Return the starts of each group's movements and the ends of the movements before them."""
    seams: list[list[tuple[tuple[Motion, ...], Array]]] = [[] for _ in range(len(groups))]
    for n, cut in enumerate(cuts):
        seams[groups.labels[n]].append((cut.motions, cut.beats[:2]))
        if cut.follows:
            before = cuts[n - 1]
            seams[groups.labels[n]].append((before.motions, before.beats[-2:]))
    return seams


def best_transition_phase(
    cuts: Sequence[Sequence[tuple[tuple[Motion, ...], Array]]], *, landed: bool = False
) -> float:
    """Return the phase, in [0, 1) beats, at which transitions between movements are smoothest.

    Parameters
    ----------
    cuts : sequence of groups
        Groups of starts and ends of movements between which transitions occur. Each entry has the
        motions, and the frames (2,) of a beat and the next beat.
    landed : bool
        True if feet land on the beats, so that movements should start between them.

    Returns
    -------
    transition_phase : float
        Phase with the smallest sum of three terms, weighted by `_AHEAD`: the deviations of joint
        positions and of velocities within the groups, and the accelerations.
    """
    phases = np.arange(_TRIED) / _TRIED
    gaps = np.zeros(_TRIED)
    for group in cuts:
        states = [_state(motions, beats[0] + phases * (beats[1] - beats[0]))
                  for motions, beats in group]  # fmt: skip
        places, speeds, pushes = (np.stack(part) for part in zip(*states, strict=True))
        gaps += _spread(places) + _AHEAD * _spread(speeds)
        gaps += _AHEAD**2 * np.linalg.norm(pushes, axis=-1).mean(axis=(0, 2))
    if landed:
        gaps[(phases < _CLEAR[0]) | (phases > 1.0 - _CLEAR[1])] = np.inf
    return float(phases[int(gaps.argmin())])


def _spread(values: Array) -> Array:
    """Return the standard deviation (L,) of values (N, L, P, 3) over N."""
    return np.asarray(np.sqrt(values.var(axis=0).sum(axis=-1).mean(axis=-1)))


def _state(motions: tuple[Motion, ...], frames: Array) -> tuple[Array, Array, Array]:
    """Return joint positions, velocities and accelerations (L, P, 3) relative to the leader."""
    leader, fps = motions[0], motions[0].fps
    here = np.clip(np.rint(frames).astype(np.intp), 1, len(leader) - 2)
    turn = rot.yaw(-leader.headings()[here])[:, None]
    origin = leader.role_positions(["hips"])[here].astype(np.float64) * [1.0, 0.0, 1.0]
    before, now, after = (
        rot.rotate(
            turn,
            np.concatenate([motion.positions()[here + k] for motion in motions], axis=1) - origin,
        )
        for k in (-1, 0, 1)
    )
    return now, 0.5 * fps * (after - before), fps**2 * (after - 2.0 * now + before)
