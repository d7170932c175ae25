"""A whole body from a few tracked points, with a library that knows how people move.

Krüger, Tautges, Weber and Zinke (2010), section 5.2, after Chai and Hodgins (2005):

- `control_signal`: which tracked point is which joint; gaps
- `performer`: a skeleton for the performer where none is given
- `marker_frame`: where the body stands and faces, from the points alone
- `prior`: neighbours in the library, as poses of the performer (`neighbour_poses`)
- `local_model`: how those poses vary
- `pose_solver`: the likeliest pose that meets the points
- `offline`, `online`: a sequence at once, or frame after frame
"""

from motionloom.reconstruction.control_signal import SIX, tracked
from motionloom.reconstruction.reconstruct import Reconstruction, reconstruct, reconstruction_stream

__all__ = [
    "SIX",
    "Reconstruction",
    "reconstruct",
    "reconstruction_stream",
    "tracked",
]
