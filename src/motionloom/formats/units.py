"""How long a unit is, when a file does not say.

BVH has no unit. A person stands 1.4 to 2.1 m tall, and the units in use are far enough
apart that at most one of them makes a skeleton that tall.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.motion import Skeleton
from motionloom.motion.kinematics.body import body_height

UNITS = {
    "m": 1.0,
    "dm": 0.1,
    "cm": 0.01,
    "mm": 0.001,
    "inch": 0.0254,
    "foot": 0.3048,
    "cmu": 0.0254 / 0.45,  # the CMU database: 1 unit = 1/0.45 inch = 5.6444 cm
}
_PERSON = (1.4, 2.1)
_CHILD = 0.8
_TYPICAL = 1.72


@dataclass(frozen=True)
class Unit:
    """Metres per unit, and how we know."""

    metres: float
    reason: str
    warning: str = ""


def unit_from(value: str | float) -> float:
    """Metres per unit from a name (``"cm"``, ``"inch"``, ``"cmu"``, ...) or a number.

    Examples
    --------
    >>> unit_from("cm"), unit_from("0.3048")
    (0.01, 0.3048)
    """
    if isinstance(value, str) and value.lower() in UNITS:
        return UNITS[value.lower()]
    try:
        metres = float(value)
    except (TypeError, ValueError):
        metres = float("nan")
    if not (np.isfinite(metres) and metres > 0.0):
        raise InvalidInput(
            f"unit must be one of {', '.join(UNITS)} or metres per unit; got {value!r}"
        )
    return metres


@lru_cache(maxsize=64)  # many motions share one skeleton
def infer_unit(skeleton: Skeleton) -> Unit:
    """Unit that makes a skeleton with offsets in file units the size of a person.

    Examples
    --------
    >>> import motionloom as ml
    >>> infer_unit(ml.demo.clip("walk").skeleton.scaled(100.0)).metres
    0.01
    """
    height = body_height(skeleton)
    if height is not None and height > 0.0:
        for name, metres in UNITS.items():
            if _PERSON[0] <= height * metres <= _PERSON[1]:
                return Unit(
                    metres, f"{name}: the skeleton then stands {height * metres:.2f} m tall"
                )
        name = _nearest(height)
        metres = UNITS[name]
        return Unit(
            metres,
            f"{name}: nearest to a person, {height * metres:.2f} m tall",
            f"no usual unit makes this skeleton 1.4 to 2.1 m tall; taken as {name} "
            f"({height * metres:.2f} m). Overrule with unit=",
        )
    return _by_extent(skeleton)


def _nearest(height: float) -> str:
    """A child in a unit of everyday rather than a giant in inches; else nearest to a person."""
    for name in ("m", "cm", "mm"):
        if _CHILD <= height * UNITS[name] < _PERSON[0]:
            return name
    return min(UNITS, key=lambda unit: abs(np.log(height * UNITS[unit] / _TYPICAL)))


def _by_extent(skeleton: Skeleton) -> Unit:
    """No person: metres, centimetres or millimetres by the order of magnitude."""
    reach = np.zeros((len(skeleton), 3))
    for joint in range(1, len(skeleton)):
        reach[joint] = reach[skeleton.parents[joint]] + skeleton.offsets[joint]
    tips = reach[skeleton.end_parents] + skeleton.end_offsets
    points = np.concatenate([reach, tips])
    extent = float(np.ptp(points, axis=0).max())
    name = "m" if extent < 10.0 else "cm" if extent < 1000.0 else "mm"
    return Unit(
        UNITS[name],
        f"{name}: guessed from the skeleton's extent, {extent * UNITS[name]:.2f} m",
        f"not a skeleton of a person: unit guessed as {name} from its extent. Overrule with unit=",
    )
