"""Choreographies of takes with known beats, and of the built-in waltz and marches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motionloom.crowd.strides import best_transition_phase
from motionloom.demo.crowd_takes import march_takes, waltz_take
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.rhythm.choreography import Choreography
from motionloom.rhythm.motion_beats.beats import huber_beats
from motionloom.rhythm.motion_beats.candidates import candidate_beats
from motionloom.rhythm.movements import warped_movement
from motionloom.rhythm.transition_graph import TransitionGraph

_LARGEST_SHIFT = 0.2  # beats between a known beat and the detected one


class Take(Protocol):
    """Motions of characters that move together, and their beats in seconds, a downbeat first."""

    @property
    def motions(self) -> tuple[Motion, ...]:
        """One per body, the leader first."""

    @property
    def beats(self) -> NDArray[np.float64]:
        """Seconds."""


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
        Each with `motions` and `beats`.
    meter : int
        Beats per movement.
    nodes : int
        Nodes that alternate: 2 where the leading foot changes.
    most : int, optional
        Use only the first movements of each take.
    kind : str
    transition_phase : float, optional
        Beats in [0, 1) after their first beat at which movements begin. Default: where they hand
        over best (`motionloom.crowd.strides.best_transition_phase`.

    Examples
    --------
    >>> from motionloom.demo.crowd_takes import waltz_take
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
    fps = takes[0].motions[0].fps
    gaps = np.concatenate([np.diff(take.beats) for take in takes])
    every = max(round(float(np.median(gaps)) * fps), 2)
    cuts: list[tuple[Take, NDArray[np.float64], int]] = []
    for take in takes:
        # One additional beat, for movements that end after the last one.
        known = detected_beats(take)
        beats = np.append(known, 2.0 * known[-1] - known[-2]) * fps
        starts = range(0, len(take.beats) - meter, meter)[:most]
        cuts += [(take, beats[start : start + meter + 2], k) for k, start in enumerate(starts)]
    phase = _phase(cuts, nodes) if transition_phase is None else transition_phase
    movements = [
        warped_movement(
            take.motions, tuple(motion.name for motion in take.motions),
            beats if phase > 0.0 else beats[:-1], every, transition_phase=phase,
        )
        for take, beats, _ in cuts
    ]  # fmt: skip
    groups = [[n for n, cut in enumerate(cuts) if cut[2] % nodes == k] for k in range(nodes)]
    graph = TransitionGraph(
        tuple(f"lead {k + 1}" for k in range(nodes)),
        tuple(map(tuple, groups)),
        np.eye(nodes)[0],
        np.roll(np.eye(nodes), 1, axis=1),
    )
    return Choreography(tuple(movements), graph, kind)


def detected_beats(take: Take) -> NDArray[np.float64]:
    """The beats of a take as detected in its motions, near the known ones.

    A foot that is put down softly comes to rest later than its detected landing. Movements are
    cut at detected beats, as `motionloom.beats` finds them, so that these meet the music.
    """
    known = np.asarray(take.beats, np.float64)
    seen = huber_beats(candidate_beats(take.motions), known)
    most = _LARGEST_SHIFT * np.gradient(known)
    off = np.clip(seen - known, -most, most)
    # The first and the last beat have motion on one side only.
    off[[0, -1]] = np.median(off[1:-1]) if len(off) > 2 else 0.0
    return np.asarray(known + off)


def _phase(cuts: Sequence[tuple[Take, NDArray[np.float64], int]], nodes: int) -> float:
    """The phase at which ends of movements and starts of their successors are most similar."""
    seams: list[list[tuple[tuple[Motion, ...], NDArray[np.float64]]]] = [[] for _ in range(nodes)]
    for take, beats, k in cuts:
        seams[k % nodes].append((take.motions, beats[:2]))
        seams[(k + 1) % nodes].append((take.motions, beats[-2:]))
    return best_transition_phase(seams)


@lru_cache(maxsize=4)
def waltz_steps(fps: float = 30.0) -> Choreography:
    """The built-in waltz: bars that start with the left and the right foot in turn.

    Examples
    --------
    >>> waltz_steps().meter, len(waltz_steps().movements)
    (3, 30)
    """
    return cut_at_beats([waltz_take(fps=fps)], meter=3, nodes=2, kind="waltz")


@lru_cache(maxsize=4)
def march_steps(fps: float = 30.0) -> Choreography:
    """The built-in marches: one stride of each.

    Examples
    --------
    >>> march_steps().meter, len(march_steps().movements)
    (2, 12)
    """
    return cut_at_beats(march_takes(fps=fps), meter=2, most=1, kind="march")
