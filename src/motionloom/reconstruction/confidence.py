"""Expected error and confidence of a reconstructed frame.

Two figures tell how far the library is from a pose: the distance of the markers from those of the
nearest poses of the library, and the departure of the pose found from the mean of its neighbours,
which is large where markers force a pose that the library does not have. The error of the joints
without markers grows with a power of each. A skeleton that is fitted to the markers adds its own.

The powers were fitted by least squares to 3,700 frames of 40 takes with the performers' skeletons:
CMU with each performer left out; takes of Bandai-Namco, two public rigs and the demo corpus from
CMU; CMU from Bandai-Namco. Fitted without one of these sets and tested on it, the rank correlation
with the true error of its frames is 0.83 (CMU), 0.50 (Bandai-Namco), 0.78 (rigs and corpus) and
0.64 (CMU from Bandai-Namco). Over all, with and without the performers' skeletons (7,300 frames),
it is 0.83, and 80 % of the errors are 0.65 to 1.52 times the expected one; with the distance of 512
neighbours alone, as in release 0.1, it was 0.61.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.rotations import quaternions as rot
from motionloom.reconstruction.local_model import LocalModel

Array = NDArray[np.float64]

_NEAREST = 8  # neighbours whose distance counts
_ONE = 0.116  # metres: error at a distance of one metre and a departure of one radian
_DISTANCE_POWER, _DEPARTURE_POWER = 0.40, 0.30
_LEAST = 1e-4  # metres and radians: nothing is nearer
_HALF = 0.05  # metres: expected error at a confidence of one half


def expected_error(distances: Array, model: LocalModel, turns: Array) -> float:
    """Expected error in metres of the joints without markers.

    Parameters
    ----------
    distances : ndarray, shape (K,)
        Distances in metres of the neighbours in the library, the nearest first.
    model : LocalModel
        Model of the neighbours, A joints.
    turns : ndarray, shape (A, 4)
        Rotations found; the first is that of the root, whose heading is not the model's.
    """
    vectors = rot.log(rot.multiply(rot.inverse(model.mean[1:]), turns[1:]))
    departure = float(np.sqrt(np.sum(vectors**2) / len(turns)))
    distance = float(np.mean(distances[:_NEAREST]))
    return (
        _ONE * max(distance, _LEAST) ** _DISTANCE_POWER * max(departure, _LEAST) ** _DEPARTURE_POWER
    )


def confidence(errors: Array, present: Array) -> Array:
    """Confidence (T,) from 0 to 1, of expected errors and the fraction of markers present."""
    return present / (1.0 + (errors / _HALF) ** 2)
