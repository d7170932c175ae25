"""Root motion on the floor: the path of a smoothed point under the body, and where it faces.

Engines call it the simulation bone: it is what a game moves, and the pose is relative to it. The
hips sway with every step and twist with every stride, so that both are smoothed over about half a
stride. Beyond the ends of a take the hips go on as they moved there; held still, as filters do, a
walk would seem to stop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.rotations.planar_transform import PlanarTransform, floor_complex
from motionloom.motion.smoothing import gaussian_smooth

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_PLACE_SECONDS = 0.15  # standard deviation of the smoothing of places ...
_FACING_SECONDS = 0.2  # ... and of facing
_END_SECONDS = 0.3  # over which velocity at an end is measured


@dataclass(frozen=True, eq=False)
class RootMotion:
    """Root motion of T frames.

    Attributes
    ----------
    floor : ndarray of complex, shape (T,)
        Place ``z + ix`` in metres.
    facing : ndarray, shape (T,)
        Radians from +Z towards +X, unwrapped.

    Examples
    --------
    >>> import motionloom as ml
    >>> root = RootMotion.of(ml.demo.clip("walk"))
    >>> bool(abs(root.facing).max() < 0.2), bool(root.floor[-1].real > 2.0)
    (True, True)
    """

    floor: Complex
    facing: Array

    def __len__(self) -> int:
        return len(self.floor)

    @classmethod
    def of(cls, motion: Motion) -> RootMotion:
        """Root motion by the roles hips and, for the facing, hips and shoulders of both sides."""
        hips = floor_complex(motion.role_positions(["hips"])[:, 0].astype(np.float64))
        heading = motion.headings()
        floor = _smoothed(hips, motion.fps, _PLACE_SECONDS)
        return cls(floor, _smoothed(heading, motion.fps, _FACING_SECONDS))

    def transforms(self) -> PlanarTransform:
        """The transform of each frame from the root to the world."""
        return PlanarTransform.from_complex(self.floor, self.facing)


def _smoothed(values: NDArray, fps: float, seconds: float) -> NDArray:
    """Values (T,) smoothed; beyond the ends they go on with their velocity there."""
    width = seconds * fps
    reach = int(4.0 * width + 1.5)
    last = min(max(round(_END_SECONDS * fps), 1), len(values) - 1)
    if last < 1:
        return values.copy()
    steps = np.arange(1, reach + 1)
    before = values[0] - steps[::-1] * (values[last] - values[0]) / last
    after = values[-1] + steps * (values[-1] - values[-1 - last]) / last
    return gaussian_smooth(np.concatenate([before, values, after]), width)[reach:-reach]
