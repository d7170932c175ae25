"""Reconstruction of a whole body from a few markers, with library poses as a prior.

The method follows Krüger, Tautges, Weber and Zinke (2010), section 5.2, which builds on Chai and
Hodgins (2005). The modules are:

- `control_signal`: the joint, positions and gaps of each marker
- `heading`: position and heading of the body, and the most likely path of headings
- `prior`: neighbors in the library, as poses on the performer's skeleton
- `local_model`: principal components of the neighboring poses
- `pose_solver`: maximum a posteriori pose for the observed markers
- `offline`, `online`: solution of a whole sequence at once, or frame by frame
- `reconstruction`: the whole process from markers to a motion, including the performer's skeleton
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.reconstruction.control_signal import SIX as SIX
    from motionloom.reconstruction.control_signal import tracked as tracked
    from motionloom.reconstruction.reconstruction import Reconstruction as Reconstruction
    from motionloom.reconstruction.reconstruction import reconstruct as reconstruct
    from motionloom.reconstruction.reconstruction import (
        reconstruction_stream as reconstruction_stream,
    )
    from motionloom.reconstruction.settings import ReconstructSettings as ReconstructSettings

__getattr__, __dir__ = imported_on_use(__name__)
