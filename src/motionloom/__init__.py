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
    "Library": "motionloom.library",
    "LibraryError": "motionloom.errors",
    "Markers": "motionloom.motion",
    "Motion": "motionloom.motion",
    "MotionFormatError": "motionloom.errors",
    "MotionloomError": "motionloom.errors",
    "RoleError": "motionloom.errors",
    "Skeleton": "motionloom.motion",
    "at": "motionloom.parametric.parameters",
    "average_speed": "motionloom.parametric.parameters",
    "centre_of_mass": "motionloom.parametric.parameters",
    "beats": "motionloom.rhythm",
    "concatenate": "motionloom.motion",
    "final_root_position": "motionloom.parametric.parameters",
    "highest": "motionloom.parametric.parameters",
    "joint_speed": "motionloom.parametric.parameters",
    "load": "motionloom.formats",
    "lowest": "motionloom.parametric.parameters",
    "save": "motionloom.formats",
    "turn": "motionloom.parametric.parameters",
}
_MODULES = (
    "alignment",
    "blending",
    "crowd",
    "demo",
    "distance",
    "evaluation",
    "fat_graph",
    "formats",
    "library",
    "motion",
    "motion_graph",
    "parametric",
    "plots",
    "reconstruction",
    "rhythm",
    "search",
    "store",
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
    from motionloom import blending as blending
    from motionloom import crowd as crowd
    from motionloom import demo as demo
    from motionloom import distance as distance
    from motionloom import evaluation as evaluation
    from motionloom import fat_graph as fat_graph
    from motionloom import formats as formats
    from motionloom import library as library
    from motionloom import motion as motion
    from motionloom import motion_graph as motion_graph
    from motionloom import parametric as parametric
    from motionloom import plots as plots
    from motionloom import reconstruction as reconstruction
    from motionloom import rhythm as rhythm
    from motionloom import search as search
    from motionloom import store as store
    from motionloom.errors import InvalidInput as InvalidInput
    from motionloom.errors import LibraryError as LibraryError
    from motionloom.errors import MotionFormatError as MotionFormatError
    from motionloom.errors import MotionloomError as MotionloomError
    from motionloom.errors import RoleError as RoleError
    from motionloom.formats import load as load
    from motionloom.formats import save as save
    from motionloom.library import Library as Library
    from motionloom.motion import Markers as Markers
    from motionloom.motion import Motion as Motion
    from motionloom.motion import Skeleton as Skeleton
    from motionloom.motion import concatenate as concatenate
    from motionloom.parametric.parameters import at as at
    from motionloom.parametric.parameters import average_speed as average_speed
    from motionloom.parametric.parameters import centre_of_mass as centre_of_mass
    from motionloom.parametric.parameters import final_root_position as final_root_position
    from motionloom.parametric.parameters import highest as highest
    from motionloom.parametric.parameters import joint_speed as joint_speed
    from motionloom.parametric.parameters import lowest as lowest
    from motionloom.parametric.parameters import turn as turn
    from motionloom.rhythm import beats as beats
