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
    "Motion": "motionloom.motion",
    "MotionFormatError": "motionloom.errors",
    "MotionloomError": "motionloom.errors",
    "RoleError": "motionloom.errors",
    "Skeleton": "motionloom.motion",
    "concatenate": "motionloom.motion",
    "load": "motionloom.formats",
    "save": "motionloom.formats",
}
_MODULES = ("demo", "formats", "library", "motion", "plots")

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
    from motionloom import demo, formats, library, motion, plots
    from motionloom.errors import (
        InvalidInput,
        LibraryError,
        MotionFormatError,
        MotionloomError,
        RoleError,
    )
    from motionloom.formats import load, save
    from motionloom.loom import Library
    from motionloom.motion import Motion, Skeleton, concatenate
