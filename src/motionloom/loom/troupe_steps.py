"""The built-in takes for crowds as choreographies, each made once."""

from __future__ import annotations

from functools import lru_cache

from motionloom.demo.troupes import march_takes, waltz_take
from motionloom.synthesis.crowd.known_beats import cut_at_beats
from motionloom.synthesis.rhythm.choreography import Choreography


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
