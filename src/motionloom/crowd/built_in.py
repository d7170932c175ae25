"""A choreography of takes whose beats are known: nothing is estimated.

The usual scenes: what a ballroom and a march are where nobody says otherwise.

The built-in takes for crowds as choreographies, each made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motionloom.crowd.couples import couple_radius
from motionloom.crowd.settings import MarchSettings
from motionloom.crowd.strides import calm_lead, pace
from motionloom.demo.crowd_takes import march_takes, waltz_take
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.rhythm.beats.candidates import candidate_beats
from motionloom.rhythm.beats.motion_beats import huber_beats
from motionloom.rhythm.choreography import Choreography
from motionloom.rhythm.movements import warped_movement
from motionloom.rhythm.transition_graph import TransitionGraph

_EARLY = 0.2  # of a beat, by which feet may be seen to land before or after they do


class Take(Protocol):
    """Motions of those who move together, and their beats in seconds, a downbeat first."""

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
    leads: int = 1,
    most: int | None = None,
    kind: str = "",
    lead: float | None = None,
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
    lead : float, optional
        Beats in [0, 1) after their first beat at which movements begin. Default: where they hand
        over best (`motionloom.crowd.strides`).

    Examples
    --------
    >>> from motionloom.demo.crowd_takes import waltz_take
    >>> made = cut_at_beats([waltz_take()], meter=3, leads=2)
    >>> made.meter, [len(group) for group in made.graph.members]
    (3, [15, 15])
    """
    if not takes:
        raise InvalidInput("there are no takes to cut")
    for name, value in (("meter", meter), ("leads", leads), ("most", most)):
        if value is not None and value < 1:
            raise InvalidInput(f"{name} must be at least 1; got {value}")
    for take in takes:
        if len(take.beats) <= meter:
            raise InvalidInput(
                f"a movement of {meter} beats needs {meter + 1} beats; "
                f"{take.motions[0].name or 'a take'} has {len(take.beats)}"
            )
    if lead is not None and not 0.0 <= lead < 1.0:
        raise InvalidInput(f"lead must lie in 0 to 1 beats, below 1; got {lead:g}")
    fps = takes[0].motions[0].fps
    gaps = np.concatenate([np.diff(take.beats) for take in takes])
    every = max(round(float(np.median(gaps)) * fps), 2)
    cuts: list[tuple[Take, NDArray[np.float64], int]] = []
    for take in takes:
        # One more beat than was danced, for movements that end behind the last one.
        heard = heard_beats(take)
        beats = np.append(heard, 2.0 * heard[-1] - heard[-2]) * fps
        starts = range(0, len(take.beats) - meter, meter)[:most]
        cuts += [(take, beats[start : start + meter + 2], k) for k, start in enumerate(starts)]
    if lead is None:
        lead = _calm(cuts, leads)
    movements = [
        warped_movement(
            take.motions, tuple(motion.name for motion in take.motions),
            beats if lead > 0.0 else beats[:-1], every, lead=lead,
        )
        for take, beats, _ in cuts
    ]  # fmt: skip
    groups = [[n for n, cut in enumerate(cuts) if cut[2] % leads == k] for k in range(leads)]
    graph = TransitionGraph(
        tuple(f"lead {k + 1}" for k in range(leads)),
        tuple(map(tuple, groups)),
        np.eye(leads)[0],
        np.roll(np.eye(leads), 1, axis=1),
    )
    return Choreography(tuple(movements), graph, kind)


def heard_beats(take: Take) -> NDArray[np.float64]:
    """The beats of a take where its motions alone tell them, near those that are known.

    A foot that is put down softly rests later than it is seen to land. Movements are cut where
    the beats are seen (`motionloom.beats`), so that there they are on the music.
    """
    known = np.asarray(take.beats, np.float64)
    seen = huber_beats(candidate_beats(take.motions), known)
    most = _EARLY * np.gradient(known)
    off = np.clip(seen - known, -most, most)
    # The first and the last beat have nothing on one side.
    off[[0, -1]] = np.median(off[1:-1]) if len(off) > 2 else 0.0
    return np.asarray(known + off)


def _calm(cuts: Sequence[tuple[Take, NDArray[np.float64], int]], leads: int) -> float:
    """The lead at which ends of movements and starts of those that follow are most alike."""
    seams: list[list[tuple[tuple[Motion, ...], NDArray[np.float64]]]] = [[] for _ in range(leads)]
    for take, beats, k in cuts:
        seams[k % leads].append((take.motions, beats[:2]))
        seams[(k + 1) % leads].append((take.motions, beats[-2:]))
    return calm_lead(seams)


# Control points of the usual street: two corners, left and right.
ROUND = ((0, 0), (0, 8), (0, 16), (0, 24), (8, 24), (16, 24), (24, 24), (24, 32), (24, 40),
         (24, 48))  # fmt: skip
CADENCE = 96.0  # beats a minute of the usual march
SPEED = 0.9  # m/s at that tempo
_WIDER = (1.0, 1.5, 2.0, 3.0, 4.0)  # times the usual street, until its corners suit the takes
_SPARE = 0.15  # m/s by which outer files may be faster than one's own takes
_AROUND = 0.04  # metres left around a couple
_LEAST = 0.5


def own_radius(steps: Choreography) -> float:
    """Radius in metres of the disc that a couple of one's own takes fills."""
    return max(round(couple_radius(steps) + _AROUND, 1), _LEAST)


def suited(
    scene: MarchSettings, steps: Choreography, *, speed_given: bool, street_given: bool
) -> MarchSettings:
    """The march at a speed and, where nobody drew it, on a street that suits takes and tempo."""
    heard = scene.heard(steps.meter, scene.seconds_on_street)
    slowest, fastest = pace(steps, heard.bpm)
    if not speed_given:
        # Steps stay as long as they are: at another tempo everybody is faster or slower.
        usual = scene.speed if scene.tempo_bpm else scene.speed * heard.bpm / CADENCE
        scene = replace(scene, speed=0.5 * (slowest + fastest) if scene.own else usual)
    for wider in () if street_given else _WIDER:
        points = tuple((wider * x, wider * z) for x, z in scene.points)
        try:
            tried = replace(scene, points=points)
            tried.check_pace(slowest, fastest, spare=_SPARE)
        except InvalidInput:
            continue
        return tried
    scene.check_pace(slowest, fastest, spare=_SPARE)
    return scene


@lru_cache(maxsize=4)
def waltz_steps(fps: float = 30.0) -> Choreography:
    """The choreography of the built-in waltz, for a ballroom: bars led by either foot in turn.

    Examples
    --------
    >>> waltz_steps().meter, len(waltz_steps().movements)
    (3, 30)
    """
    return cut_at_beats([waltz_take(fps=fps)], meter=3, leads=2, kind="waltz")


@lru_cache(maxsize=4)
def march_steps(fps: float = 30.0) -> Choreography:
    """The choreography of the built-in marches, for a march: one stride of each.

    Examples
    --------
    >>> march_steps().meter, len(march_steps().movements)
    (2, 12)
    """
    return cut_at_beats(march_takes(fps=fps), meter=2, most=1, kind="march")
