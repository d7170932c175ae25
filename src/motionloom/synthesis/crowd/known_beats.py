"""A choreography of takes whose beats are known: nothing is estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.synthesis.rhythm.choreography import Choreography
from motionloom.synthesis.rhythm.movements import Movement, warped_movement
from motionloom.synthesis.rhythm.transition_graph import TransitionGraph


class Take(Protocol):
    """Motions of those who move together, and their beats in seconds, a downbeat first."""

    @property
    def motions(self) -> tuple[Motion, ...]:
        """One per body, the leader first."""

    @property
    def beats(self) -> NDArray[np.float64]:
        """Seconds."""


def cut_at_beats(
    takes: Sequence[Take], *, meter: int, leads: int = 1, most: int | None = None, kind: str = ""
) -> Choreography:
    """Cut takes at their beats; movement k of a take belongs to node ``k % leads``.

    Parameters
    ----------
    takes : sequence
        Each with `motions` and `beats`.
    meter : int
        Beats per movement.
    leads : int
        Nodes that follow each other in turn: 2 where the leading foot changes.
    most : int, optional
        Movements of each take that are used, the first ones.
    kind : str

    Examples
    --------
    >>> from motionloom.demo.troupes import waltz_take
    >>> made = cut_at_beats([waltz_take()], meter=3, leads=2)
    >>> made.meter, [len(group) for group in made.graph.members]
    (3, [9, 9])
    """
    if not takes or any(len(take.beats) <= meter for take in takes):
        raise InvalidInput(f"takes to cut must be some, of more than {meter} beats each")
    fps = takes[0].motions[0].fps
    gaps = np.concatenate([np.diff(take.beats) for take in takes])
    every = max(round(float(np.median(gaps)) * fps), 2)
    movements: list[Movement] = []
    groups: list[list[int]] = [[] for _ in range(leads)]
    for take in takes:
        names = tuple(motion.name for motion in take.motions)
        starts = range(0, len(take.beats) - meter, meter)[:most]
        for k, start in enumerate(starts):
            groups[k % leads].append(len(movements))
            beats = take.beats[start : start + meter + 1] * fps
            movements.append(warped_movement(take.motions, names, beats, every))
    graph = TransitionGraph(
        tuple(f"lead {k + 1}" for k in range(leads)),
        tuple(map(tuple, groups)),
        np.eye(leads)[0],
        np.roll(np.eye(leads), 1, axis=1),
    )
    return Choreography(tuple(movements), graph, kind)
