"""One motion: skeleton, rotations, kinematics, joint roles, and what changes a motion.

Meters, seconds, radians; y up, right-handed, a character at rest faces +Z; quaternions
``wxyz``.
"""

from motionloom.motion.markers import Markers
from motionloom.motion.motion import Motion, Origin, concatenate
from motionloom.motion.provenance import Provenance, Source
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion.scene import Scene
from motionloom.motion.segment import Segment
from motionloom.motion.skeleton import Skeleton

__all__ = [
    "Markers",
    "Motion",
    "Origin",
    "PlanarTransform",
    "Provenance",
    "Scene",
    "Segment",
    "Skeleton",
    "Source",
    "concatenate",
]
