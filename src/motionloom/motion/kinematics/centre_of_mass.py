"""Where the weight of a body is.

Segment masses as shares of the whole, and where each segment's own centre lies between its
two ends, after de Leva (1996), mean of women and men; hands go with the forearms and feet
with the ankles where a skeleton has none.

References
----------
P. de Leva. Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters. Journal of
Biomechanics 29(9), 1996.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

# Share of the mass, where the centre lies from the first end to the second, and the ends: each
# the first of some roles that the skeleton has.
_SEGMENTS = (
    (0.068, 0.60, ("neck", "head"), ("head_top", "head")),
    (0.430, 0.55, ("hips",), ("neck", "chest", "spine", "head")),
    *(
        segment
        for side in ("left", "right")
        for segment in (
            (0.026, 0.58, (f"{side}_shoulder",), (f"{side}_elbow",)),
            (0.015, 0.46, (f"{side}_elbow",), (f"{side}_wrist", f"{side}_hand")),
            (0.006, 0.75, (f"{side}_wrist",), (f"{side}_hand", f"{side}_wrist")),
            (0.145, 0.38, (f"{side}_hip",), (f"{side}_knee",)),
            (0.046, 0.44, (f"{side}_knee",), (f"{side}_ankle",)),
            (0.013, 0.42, (f"{side}_ankle",), (f"{side}_toe", f"{side}_foot", f"{side}_ankle")),
        )
    ),
)
_NEEDED = 0.8  # of the mass: with less the centre would be a guess


def centre_of_mass(motion: Motion) -> NDArray[np.float64]:
    """Centre of mass of the body in every frame.

    Parameters
    ----------
    motion : Motion
        Segments whose roles the skeleton lacks are left out.

    Returns
    -------
    centre : ndarray, shape (T, 3)
        Metres.

    Raises
    ------
    RoleError
        If what is left would be less than four fifths of the body.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> bool(np.all(abs(centre_of_mass(walk) - walk.root) < 0.25))
    True
    """
    roles = motion.skeleton.roles
    places = motion.positions(end_sites=True).astype(np.float64)
    total = np.zeros((len(motion), 3))
    mass = 0.0
    for share, part, *ends in _SEGMENTS:
        found = [next((role for role in names if role in roles), None) for names in ends]
        if None in found:
            continue
        first, second = (places[:, motion.skeleton.point(str(role))] for role in found)
        total += share * (first + part * (second - first))
        mass += share
    if mass < _NEEDED:
        raise RoleError(
            f"the centre of mass needs the joints of trunk, arms and legs; the skeleton has "
            f"roles for {100 * mass:.0f} % of the body only: {', '.join(roles) or 'none'}"
        )
    return total / mass
