"""Cut strides from captured walks, for marches.

The beats of a march are footfalls, and a stride has two of them. A walk is cut at every second
footfall, starting from its first footfall with either foot. The two nodes of the learned graph are
then the strides that start with the left foot and those that start with the right foot. In the
built-in graph, a stride lasts from one landing of the left foot to the next. Each node keeps a few
strides that differ in speed and turn, and blends them so that each soldier reaches its next
position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.crowd.learned import Cut, best_transition_phase, compact_steps, learned_steps
from motionloom.dance.choreography import Choreography
from motionloom.dance.motion_beats.beats import analyze_beats
from motionloom.dance.movements import Movement, transition_differences
from motionloom.dance.settings import MAX_SEAM, BeatSettings
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.feet.contacts import SIDES, landings
from motionloom.motion.kinematics.body import hips_path
from motionloom.motion.retargeting.retarget import conformed
from motionloom.motion.rotations.planar_transform import PlanarTransform

Array = NDArray[np.float64]

METER = 2  # left, right
_SHORTEST, _LONGEST = 0.28, 1.2  # shortest and longest time from footfall to footfall, in seconds
_UNEVEN = 0.2  # maximum difference between the two steps of a stride, as a fraction of the stride
_LEAST_WAY = 0.15  # meters: minimum forward length of a stride
_SIDEWAYS = 0.5  # maximum sideways travel, as a fraction of the forward travel
_ODD = 2.5  # strides whose median difference exceeds this multiple of the smallest one are dropped
_SAME_TRAVEL = 0.02  # meters and radians: smaller differences count as the same travel
_MOST = 16  # number of strides kept in the built-in graph


@dataclass(frozen=True, kw_only=True)
class StrideRules:
    """Rules for learned marches that are not in the paper.

    docs/explanation/crowds.md explains why they differ from the paper.

    Attributes
    ----------
    footfalls : bool
        True to use footfalls as beats, False to use motion beats.
    off_tempo : float, optional
        Maximum deviation of a stride from the median tempo, as a fraction. None allows any.
    same_lead : bool
        Move a stride to another node if it starts with the other foot than its node.
    most : int, optional
        Number of strides to keep in each node, selected to differ most in travel. None keeps all
        strides, including those that start or end unlike the others.
    start_left : bool
        True to start marches with the left foot, False to start them like the takes.
    """

    footfalls: bool = True
    off_tempo: float | None = 0.2
    same_lead: bool = True
    most: int | None = 22  # as in the paper
    start_left: bool = True


_OUR_RULES = StrideRules()


def marching_steps(
    walks: Sequence[Motion],
    *,
    fps: float = 30.0,
    mirror: bool = True,
    graph: str = "learned",
    groups: int = 2,
    transition_phase: float | None = None,
    max_seam: float | None = MAX_SEAM,
    kind: str = "march",
    rules: StrideRules = _OUR_RULES,
    progress: Callable[[int], None] | None = None,
) -> Choreography:
    """Learn a choreography for a march from captured walks.

    Parameters
    ----------
    walks : sequence of Motion
        Takes with walks or marches. Other parts of the takes are ignored.
    fps : float
        Frames per second of the choreography.
    mirror : bool
        Also use a mirrored copy of every walk, for turns to both sides.
    graph : {"learned", "built-in"}
        ``"learned"`` is learned from the strides; ``"built-in"`` has one node, with strides that
        start with the left foot.
    groups : int
        Number of nodes of a learned graph. With two nodes, each contains the strides of one foot.
    transition_phase : float, optional
        Offset of the start of movements from their first beat, in beats, in [0, 1). Default: where
        transitions are smoothest.
    max_seam : float, optional
        Drop transitions in which joints accelerate more than this multiple of the usual maximum in
        the takes, or in which a standing foot moves. If None, transitions are not checked.
    kind : str
    rules : StrideRules
        Rules for a learned graph that are not in the paper.
    progress : callable, optional
        Called with 1 for every analyzed walk.

    Returns
    -------
    choreography : Choreography
        Strides of two beats each, starting with the left foot.

    Raises
    ------
    InvalidInput
        If there are fewer than two usable strides.

    Examples
    --------
    >>> import motionloom as ml
    >>> steps = marching_steps([ml.demo.clip("walk"), ml.demo.clip("walk", performer=1)])
    >>> steps.meter, steps.graph.names
    (2, ('right', 'left'))
    """
    cuts: list[Cut] = []
    like: Motion | None = None
    counts: dict[str, int] = {}
    for walk in walks:
        walk = conformed(walk, None if like is None else like.skeleton, fps)
        like = like or walk
        lead = "left" if graph == "built-in" else None
        shown = [(walk, False), (walk.mirror(), True)] if mirror else [(walk, False)]
        strides = [
            cut
            for motion, mirrored in shown
            for cut in (
                stride_cuts(motion, mirrored=mirrored, lead=lead)
                if rules.footfalls
                else beat_cuts(motion, mirrored=mirrored)
            )
        ]
        counts[walk.name] = len(strides)
        cuts += strides
        if progress is not None:
            progress(1)
    if len(cuts) < 2:
        counted = ", ".join(f"{name}: {count}" for name, count in list(counts.items())[:8])
        raise InvalidInput(
            "a march needs at least two strides (left, right, left) that go forward at an even "
            f"pace; usable strides per take: {counted or 'none'}"
        )
    left_out = {name: "no even stride forward" for name, count in counts.items() if not count}
    every = max(round(float(np.median([np.diff(cut.beats).mean() for cut in cuts]))), 2)
    if graph == "learned":
        most, widest = rules.most, np.inf if rules.off_tempo is None else rules.off_tempo
        cuts = [cut for cut in cuts if abs(np.diff(cut.beats).mean() / every - 1.0) < widest]
        kept = {cut.motions[0].name for cut in cuts}
        others = [name for name in counts if name not in kept and name not in left_out]
        left_out |= dict.fromkeys(others, "strides slower or faster than most")
        made = learned_steps(
            cuts, every, groups=groups, transition_phase=transition_phase, kind=kind,
            left_out=left_out, connected=False, same_lead=rules.same_lead,
            choose=None if most is None else lambda movements, k: _chosen(movements, k, most),
        )  # fmt: skip
        made = replace(made, max_seam=max_seam)
        return replace(made, graph=starting_left(made.graph)) if rules.start_left else made
    phase = transition_phase
    if phase is None:
        few = cuts[:: max(len(cuts) // 40, 1)]
        phase = best_transition_phase(
            [[(cut.motions, cut.beats[k : k + 2]) for cut in few for k in (0, METER)]]
        )
    movements = [cut.movement(every, phase) for cut in cuts]
    chosen = _chosen(movements, list(range(len(movements))), _MOST)
    single = TransitionGraph(("stride",), (tuple(chosen),), np.ones(1), np.ones((1, 1)))
    return replace(compact_steps(movements, single, kind, left_out), max_seam=max_seam)


def starting_left(graph: TransitionGraph) -> TransitionGraph:
    """Return a graph that starts with strides of the left foot, as in drill, if there are any."""
    if "left" not in graph.names:
        return graph
    return replace(graph, start=np.eye(len(graph))[graph.node("left")])


def pace(choreography: Choreography, bpm: float) -> tuple[float, float]:
    """Return the lowest and highest speed that all nodes allow at a tempo, in m/s."""
    seconds = choreography.meter * 60.0 / bpm
    speeds = [np.hypot(*node.travel[:, :2].T) / seconds for node in choreography.dance_nodes]
    return (
        max(float(speed.min()) for speed in speeds),
        min(float(speed.max()) for speed in speeds),
    )


def stride_cuts(walk: Motion, *, mirrored: bool = False, lead: str | None = None) -> list[Cut]:
    """Cut a walk into even forward strides, at every second footfall.

    Parameters
    ----------
    walk : Motion
    mirrored : bool
        True if the walk is mirrored; stored in the cuts.
    lead : {"left", "right"}, optional
        Return only strides that start with this foot. Default: both.

    Examples
    --------
    >>> import motionloom as ml
    >>> [(cut.lead, cut.follows) for cut in stride_cuts(ml.demo.clip("walk"))][:2]
    [('right', False), ('right', True)]
    """
    contacts = walk.contacts()
    falls = sorted((frame, side) for side in SIDES for frame in landings(contacts.standing(side)))
    frames = np.array([frame for frame, _ in falls], np.float64)
    cuts: list[Cut] = []
    k, last = 0, -1
    while k + METER + 1 < len(falls):
        sides = [side for _, side in falls[k : k + METER + 2]]
        at = frames[k : k + METER + 2]
        alternate = sides[0] == sides[2] != sides[1] == sides[3]
        if alternate and lead in (None, sides[0]) and _is_stride(walk, at):
            cuts.append(Cut((walk,), at, mirrored, last == k - METER and k > 0, sides[0]))
            last, k = k, k + METER
        else:
            k += 1
    return cuts


def beat_cuts(walk: Motion, *, mirrored: bool = False) -> list[Cut]:
    """Cut movements of two motion beats each, starting on either foot, as in the paper.

    Examples
    --------
    >>> import motionloom as ml
    >>> [(cut.lead, cut.follows) for cut in beat_cuts(ml.demo.clip("walk"))][:2]
    [('', False), ('', True)]
    """
    frames = np.clip(analyze_beats([walk], BeatSettings()).frames, 0.0, len(walk) - 1.0)
    return [
        Cut((walk,), frames[k : k + METER + 2], mirrored, k > 0)
        for k in range(0, len(frames) - METER - 1, METER)
    ]


def _is_stride(walk: Motion, at: Array) -> bool:
    """Return whether four footfalls are evenly spaced and lead forward."""
    steps = np.diff(at) / walk.fps
    even = np.ptp(steps) < _UNEVEN * 2.0 * steps.mean()
    if not even or steps.min() <= _SHORTEST or steps.max() >= _LONGEST:
        return False
    x, z, turn = _travel(walk, int(at[0]), int(at[METER]))
    return bool(z > _LEAST_WAY and abs(x) < _SIDEWAYS * z and abs(turn) < 0.5 * np.pi)


def _travel(walk: Motion, start: int, stop: int) -> Array:
    """Return the travel (x, z, turn) of a stride relative to its start."""
    hips, headings = hips_path(walk).astype(np.float64), walk.headings()
    first, last = (PlanarTransform(hips[k, 0], hips[k, 2], headings[k]) for k in (start, stop))
    return PlanarTransform.between(first, last).to_array()


def _chosen(movements: Sequence[Movement], group: list[int], most: int) -> list[int]:
    """Select strides of a group that have typical starts and ends and differ most in travel."""
    gaps = transition_differences([movements[k] for k in group])
    medians = 0.5 * (np.median(gaps, axis=0) + np.median(gaps, axis=1))
    alike = np.array(group)[medians <= _ODD * medians.min()]
    ways = np.array([_travel(movements[k].motion, 0, len(movements[k].motion) - 1) for k in alike])
    # Farthest-point sampling, starting from the middle.
    middle = int(np.linalg.norm(ways - np.median(ways, axis=0), axis=1).argmin())
    taken = [middle]
    nearest = np.linalg.norm(ways - ways[middle], axis=1)
    while len(taken) < min(most, len(alike)) and nearest.max() > _SAME_TRAVEL:
        taken.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(ways - ways[taken[-1]], axis=1))
    return sorted(int(alike[k]) for k in taken)
