"""Build choreographies from takes with known beats, such as the built-in waltz and marches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motionloom.crowd.learned import Cut, best_transition_phase, learned_steps
from motionloom.crowd.strides import starting_left
from motionloom.dance.choreography import Choreography
from motionloom.dance.motion_beats.beats import huber_beats
from motionloom.dance.motion_beats.candidates import candidate_beats
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.demo.waltz import march_takes, waltz_take
from motionloom.errors import InvalidInput
from motionloom.motion import Motion

_STEPS = 9  # number of steps used from each march: two strides, 48 in total with mirrored ones
_LARGEST_SHIFT = 0.2  # maximum difference between a known and a detected beat, in beats


class Take(Protocol):
    """Protocol for takes with known beats: motions of characters that move together, and beats."""

    @property
    def motions(self) -> tuple[Motion, ...]:
        """One motion per character, the leader first."""

    @property
    def beats(self) -> NDArray[np.float64]:
        """Times of the beats in seconds; the first is a downbeat."""


def cut_at_beats(
    takes: Sequence[Take],
    *,
    meter: int,
    nodes: int = 1,
    most: int | None = None,
    kind: str = "",
    transition_phase: float | None = None,
) -> Choreography:
    """Cut takes at their beats; movement k of a take belongs to node ``k % nodes``.

    Parameters
    ----------
    takes : sequence
        Takes with `motions` and `beats`.
    meter : int
        Beats per movement.
    nodes : int
        Number of alternating nodes; 2 if the leading foot changes.
    most : int, optional
        Maximum number of movements used from each take. Default: all.
    kind : str
    transition_phase : float, optional
        Time from the first beat of a movement to its start, in beats, in [0, 1). Default: the phase
        at which transitions are smoothest (`motionloom.crowd.learned.best_transition_phase`).

    Examples
    --------
    >>> from motionloom.demo.waltz import waltz_take
    >>> made = cut_at_beats([waltz_take()], meter=3, nodes=2)
    >>> made.meter, [len(group) for group in made.graph.members]
    (3, [15, 15])
    """
    if not takes:
        raise InvalidInput("takes must not be empty")
    for name, value in (("meter", meter), ("nodes", nodes), ("most", most)):
        if value is not None and value < 1:
            raise InvalidInput(f"{name} must be at least 1; got {value}")
    for take in takes:
        if len(take.beats) <= meter:
            raise InvalidInput(
                f"a movement of {meter} beats needs {meter + 1} beats; "
                f"{take.motions[0].name or 'a take'} has {len(take.beats)}"
            )
    if transition_phase is not None and not 0.0 <= transition_phase < 1.0:
        raise InvalidInput(
            f"transition_phase must be at least 0 and below 1 beat; got {transition_phase:g}"
        )
    cuts, number = [], []
    for take in takes:
        bars = _cuts(take, meter)[:most]
        cuts += bars
        number += [k % nodes for k in range(len(bars))]
    every = _beat_frames(takes)
    phase = _phase(cuts, number, nodes) if transition_phase is None else transition_phase
    movements = [cut.movement(every, phase) for cut in cuts]
    groups = [[n for n, node in enumerate(number) if node == k] for k in range(nodes)]
    graph = TransitionGraph(
        tuple(f"lead {k + 1}" for k in range(nodes)),
        tuple(map(tuple, groups)),
        np.eye(nodes)[0],
        np.roll(np.eye(nodes), 1, axis=1),
    )
    return Choreography(tuple(movements), graph, kind)


def detected_beats(take: Take) -> NDArray[np.float64]:
    """Return the beats that are detected in a take near its known beats, in seconds.

    Known and detected beats differ, because a foot that is put down softly comes to rest later than
    its detected landing. Movements are cut at beats detected as in `motionloom.beats`, so that the
    detected beats of the result match the music.
    """
    beats = np.asarray(take.beats, np.float64)
    seen = huber_beats(candidate_beats(take.motions), beats)
    most = _LARGEST_SHIFT * np.gradient(beats)
    off = np.clip(seen - beats, -most, most)
    # The first and the last beat have motion on one side only, so they are not detected reliably.
    off[[0, -1]] = np.median(off[1:-1]) if len(off) > 2 else 0.0
    return np.asarray(beats + off)


def _cuts(take: Take, meter: int) -> list[Cut]:
    """Return all movements of a take, in order."""
    fps, detected = take.motions[0].fps, detected_beats(take)
    # An extra beat is needed for movements that end after the last beat.
    beats = np.append(detected, 2.0 * detected[-1] - detected[-2]) * fps
    return [
        Cut(take.motions, beats[start : start + meter + 2], follows=start > 0)
        for start in range(0, len(detected) - meter, meter)
    ]


def _beat_frames(takes: Sequence[Take]) -> int:
    gaps = np.concatenate([np.diff(take.beats) for take in takes])
    return max(round(float(np.median(gaps)) * takes[0].motions[0].fps), 2)


def _phase(cuts: Sequence[Cut], number: Sequence[int], nodes: int) -> float:
    """Return the phase at which the ends of movements are most similar to the next starts."""
    seams: list[list[tuple[tuple[Motion, ...], NDArray[np.float64]]]] = [[] for _ in range(nodes)]
    for cut, k in zip(cuts, number, strict=True):
        seams[k].append((cut.motions, cut.beats[:2]))
        seams[(k + 1) % nodes].append((cut.motions, cut.beats[-2:]))
    return best_transition_phase(seams)


def waltz_cuts(fps: float = 30.0, *, seed: int = 0) -> list[Cut]:
    """Return the 30 bars of the built-in waltz.

    Examples
    --------
    >>> len(waltz_cuts())
    30
    """
    return _cuts(waltz_take(seed, fps), 3)


@lru_cache(maxsize=4)
def waltz_steps(
    fps: float = 30.0,
    *,
    graph: str = "built-in",
    groups: int | None = None,
    transition_phase: float | None = None,
) -> Choreography:
    """Return the choreography of the built-in waltz.

    Parameters
    ----------
    fps : float
    graph : {"built-in", "learned"}
        ``"built-in"`` has two nodes that alternate between the left and the right foot;
        ``"learned"`` is learned from the movements.
    groups : int, optional
        Number of nodes of the learned graph.
    transition_phase : float, optional
        As in `cut_at_beats`.

    Examples
    --------
    >>> waltz_steps().meter, len(waltz_steps().movements)
    (3, 30)
    >>> [len(group) for group in waltz_steps(graph="learned").graph.members]
    [9, 3, 6, 6, 6]
    """
    take = waltz_take(fps=fps)
    if graph == "built-in":
        return cut_at_beats(
            [take], meter=3, nodes=2, kind="waltz", transition_phase=transition_phase
        )
    return learned_steps(
        _cuts(take, 3),
        _beat_frames([take]),
        groups=groups,
        transition_phase=transition_phase,
        kind="waltz",
    )


@lru_cache(maxsize=4)
def march_steps(
    fps: float = 30.0,
    *,
    graph: str = "built-in",
    groups: int = 2,
    transition_phase: float | None = None,
) -> Choreography:
    """Return the choreography of the built-in marches.

    Parameters
    ----------
    fps : float
    graph : {"built-in", "learned"}
        ``"built-in"`` has one node with a stride of each march; ``"learned"`` is learned from all
        strides and their mirrored copies.
    groups : int
        Number of nodes of the learned graph.
    transition_phase : float, optional
        As in `cut_at_beats`.

    Examples
    --------
    >>> march_steps().meter, len(march_steps().movements)
    (2, 12)
    >>> march_steps(graph="learned").graph.names
    ('right', 'left')
    """
    if graph == "built-in":
        return cut_at_beats(
            march_takes(fps=fps), meter=2, most=1, kind="march", transition_phase=transition_phase
        )
    takes = march_takes(fps=fps, steps=_STEPS)
    cuts = []
    for take in takes:
        strides = [replace(cut, lead="left") for cut in _cuts(take, 2)]
        mirrored = tuple(motion.mirror() for motion in take.motions)
        cuts += strides
        cuts += [replace(cut, motions=mirrored, mirrored=True, lead="right") for cut in strides]
    made = learned_steps(
        cuts,
        _beat_frames(takes),
        groups=groups,
        connected=False,
        kind="march",
        transition_phase=transition_phase,
    )
    return replace(made, graph=starting_left(made.graph))
