"""Types and operations for motions: skeletons, rotations, kinematics and joint roles.

Units are meters, seconds and radians. The y axis points up, coordinates are right-handed, and a
character at rest faces +Z. Quaternions are ``wxyz``.
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
