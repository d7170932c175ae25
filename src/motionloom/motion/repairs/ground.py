"""Repair of the ground: bodies that float, sink or drift.

All corrections are the same in every frame, or grow steadily with time. Steps, stairs and jumps
therefore keep their heights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motionloom.motion.diagnostics.measurements import Measurements
from motionloom.motion.motion import Motion


def on_the_floor(motion: Motion, measured: Measurements) -> Motion:
    """Return `motion` moved up or down, so that its feet stand on the floor.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> floating = walk.transform(shift=(0, 0.3, 0))
    >>> lowered = on_the_floor(floating, Measurements(floating))
    >>> bool(abs(lowered.root - walk.root).max() < 0.01)
    True
    """
    error = measured.ground_offset
    if error is None:
        error = measured.height_error
    return motion if error is None else motion.transform(shift=(0.0, -error, 0.0))


def without_drift(motion: Motion, measured: Measurements) -> Motion:
    """Return `motion` without a steady drift of the ground or of the body over it.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> without_drift(walk, Measurements(walk)) is walk
    True
    """
    velocity = np.zeros(3)
    if measured.ground_drift is not None:
        velocity[1] = measured.ground_drift * motion.fps / len(motion)
    if measured.floor_velocity is not None:
        velocity += measured.floor_velocity
    if not velocity.any():
        return motion
    # The middle of the take keeps its place, so that neither end moves far.
    times = (np.arange(len(motion)) - 0.5 * (len(motion) - 1)) / motion.fps
    return replace(motion, root=motion.root - times[:, None] * velocity)
