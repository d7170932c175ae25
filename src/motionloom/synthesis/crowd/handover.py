"""Where in the beat one movement hands over to the next: where the body is calm.

On the beat itself a foot lands. A seam there, which carries velocities on, would carry the
foot into the floor. Movements may as well hand over a little later, as long as all do at the
same moment: where their poses are most alike and least is about to change. Waltzing couples do
so while both feet stand, marching soldiers while one leg passes the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion import rotations as rot

Array = NDArray[np.float64]

_AHEAD = 0.1  # seconds over which a seam carries on what was before
_TRIED = 20  # moments within a beat


def calm_lead(cuts: Sequence[Sequence[tuple[tuple[Motion, ...], Array]]]) -> float:
    """Beats, in [0, 1), after the first one of a movement at which it had better begin.

    Parameters
    ----------
    cuts : sequence of groups
        Moments that follow or precede each other, whichever movement they belong to: for each
        the motions, and the beat and the next one in frames, shape (2,).

    Returns
    -------
    lead : float
        Where root mean square differences of joints' places and velocities between the moments
        of a group, and the joints' accelerations, make the least of a gap in `_AHEAD` seconds.
    """
    leads = np.arange(_TRIED) / _TRIED
    gaps = np.zeros(_TRIED)
    for group in cuts:
        states = [_state(motions, beats[0] + leads * (beats[1] - beats[0]))
                  for motions, beats in group]  # fmt: skip
        places, speeds, pushes = (np.stack(part) for part in zip(*states, strict=True))
        gaps += _spread(places) + _AHEAD * _spread(speeds)
        gaps += _AHEAD**2 * np.linalg.norm(pushes, axis=-1).mean(axis=(0, 2))
    return float(leads[int(gaps.argmin())])


def _spread(values: Array) -> Array:
    """Deviation (L,) of values (N, L, P, 3) from their means over N."""
    return np.asarray(np.sqrt(values.var(axis=0).sum(axis=-1).mean(axis=-1)))


def _state(motions: tuple[Motion, ...], frames: Array) -> tuple[Array, Array, Array]:
    """Joints' places, velocities, accelerations (L, P, 3) over the floor, seen by the leader."""
    leader, fps = motions[0], motions[0].fps
    here = np.clip(np.rint(frames).astype(np.intp), 1, len(leader) - 2)
    turn = rot.yaw(-leader.headings()[here])[:, None]
    origin = leader.root[here, None].astype(np.float64) * [1.0, 0.0, 1.0]
    before, now, after = (
        rot.rotate(
            turn,
            np.concatenate([motion.positions()[here + k] for motion in motions], axis=1) - origin,
        )
        for k in (-1, 0, 1)
    )
    return now, 0.5 * fps * (after - before), fps**2 * (after - 2.0 * now + before)
