"""Find, cut, blend, endlessly recombine and set to music what is in a folder of mocap.

>>> import motionloom as ml
>>> m = ml.demo.clip("walk")
>>> m.fps
30.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

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
    "concatenate": "motionloom.motion",
    "load": "motionloom.formats",
    "save": "motionloom.formats",
}
_MODULES = ("alignment", "demo", "distance", "formats", "library", "motion", "plots", "search")

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
    from motionloom import demo as demo
    from motionloom import distance as distance
    from motionloom import formats as formats
    from motionloom import library as library
    from motionloom import motion as motion
    from motionloom import plots as plots
    from motionloom import search as search
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
