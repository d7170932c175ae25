"""Find, cut, blend, endlessly recombine and set to music what is in a folder of mocap.

>>> import motionloom as ml
>>> m = ml.demo.clip("walk")
>>> m.fps
30.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Public name -> module that holds it. Loaded on first use: `import motionloom` stays quick.
_HOMES = {
    "InvalidInput": "motionloom.errors",
    "Library": "motionloom.loom",
    "LibraryError": "motionloom.errors",
    "Markers": "motionloom.motion",
    "Motion": "motionloom.motion",
    "MotionFormatError": "motionloom.errors",
    "MotionloomError": "motionloom.errors",
    "RoleError": "motionloom.errors",
    "Skeleton": "motionloom.motion",
    "at": "motionloom.synthesis.parameters",
    "average_speed": "motionloom.synthesis.parameters",
    "centre_of_mass": "motionloom.synthesis.parameters",
    "beats": "motionloom.synthesis.rhythm",
    "concatenate": "motionloom.motion",
    "final_root_position": "motionloom.synthesis.parameters",
    "highest": "motionloom.synthesis.parameters",
    "joint_speed": "motionloom.synthesis.parameters",
    "load": "motionloom.formats",
    "lowest": "motionloom.synthesis.parameters",
    "save": "motionloom.formats",
    "turn": "motionloom.synthesis.parameters",
}
_MODULES = (
    "alignment",
    "blend",
    "demo",
    "distance",
    "formats",
    "library",
    "motion",
    "plots",
    "search",
    "synthesis",
)

__all__ = ["__version__", *sorted(_HOMES), *_MODULES]


def __getattr__(name: str):
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"motionloom.{name}")
    else:
        raise AttributeError(f"module 'motionloom' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from motionloom import alignment as alignment
    from motionloom import blend as blend
    from motionloom import demo as demo
    from motionloom import distance as distance
    from motionloom import formats as formats
    from motionloom import library as library
    from motionloom import motion as motion
    from motionloom import plots as plots
    from motionloom import search as search
    from motionloom import synthesis as synthesis
    from motionloom.errors import InvalidInput as InvalidInput
    from motionloom.errors import LibraryError as LibraryError
    from motionloom.errors import MotionFormatError as MotionFormatError
    from motionloom.errors import MotionloomError as MotionloomError
    from motionloom.errors import RoleError as RoleError
    from motionloom.formats import load as load
    from motionloom.formats import save as save
    from motionloom.loom import Library as Library
    from motionloom.motion import Markers as Markers
    from motionloom.motion import Motion as Motion
    from motionloom.motion import Skeleton as Skeleton
    from motionloom.motion import concatenate as concatenate
    from motionloom.synthesis.parameters import at as at
    from motionloom.synthesis.parameters import average_speed as average_speed
    from motionloom.synthesis.parameters import centre_of_mass as centre_of_mass
    from motionloom.synthesis.parameters import final_root_position as final_root_position
    from motionloom.synthesis.parameters import highest as highest
    from motionloom.synthesis.parameters import joint_speed as joint_speed
    from motionloom.synthesis.parameters import lowest as lowest
    from motionloom.synthesis.parameters import turn as turn
    from motionloom.synthesis.rhythm import beats as beats
