"""The usual scenes: what a ballroom and a march are where nobody says otherwise.

The built-in takes for crowds as choreographies, each made once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from motionloom.crowd.couples import couple_radius
from motionloom.crowd.description import MarchScene
from motionloom.crowd.known_beats import cut_at_beats
from motionloom.crowd.marches import pace
from motionloom.demo.crowd_takes import march_takes, waltz_take
from motionloom.errors import InvalidInput
from motionloom.rhythm.choreography import Choreography

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
    scene: MarchScene, steps: Choreography, *, speed_given: bool, street_given: bool
) -> MarchScene:
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
