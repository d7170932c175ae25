"""Find, cut, blend, endlessly recombine and set to music what is in a folder of motion capture.

>>> import motionloom as ml
>>> m = ml.demo.clip("walk")
>>> m.fps
30.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.2.0"

# Public name -> module that holds it. Loaded on first use: `import motionloom` stays quick.
_HOMES = {
    "Family": "motionloom.search",
    "InvalidInput": "motionloom.errors",
    "Library": "motionloom.library",
    "LibraryError": "motionloom.errors",
    "Markers": "motionloom.motion",
    "Match": "motionloom.search",
    "Motion": "motionloom.motion",
    "MotionFormatError": "motionloom.errors",
    "MotionloomError": "motionloom.errors",
    "RoleError": "motionloom.errors",
    "Segment": "motionloom.motion.segment",
    "Scene": "motionloom.motion.scene",
    "Skeleton": "motionloom.motion",
    "at": "motionloom.parametric.parameters",
    "beats": "motionloom.dance.motion_beats.beats",
    "blend": "motionloom.blending",
    "concatenate": "motionloom.motion",
    "load": "motionloom.formats",
    "load_markers": "motionloom.formats",
    "retarget": "motionloom.motion.retargeting.retarget",
    "save": "motionloom.formats",
    "view": "motionloom.studio.notebook",
}
_MODULES = {"demo": "motionloom.demo", "parameters": "motionloom.parametric.parameters"}
# Names of release 0.1, accepted for one release: they moved to `ml.parameters`.
_MOVED = {
    "average_speed", "centre_of_mass", "final_root_position", "highest", "joint_speed", "lowest",
    "turn",
}  # fmt: skip

__all__ = ["__version__", *sorted([*_HOMES, *_MODULES])]


def __getattr__(name: str):
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    elif name in _MOVED:
        import warnings

        warnings.warn(
            f"ml.{name} is now ml.parameters.{name}; the old name goes with release 0.3",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(importlib.import_module(_MODULES["parameters"]), name)
    else:
        raise AttributeError(f"module 'motionloom' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from motionloom import demo as demo
    from motionloom.blending import blend as blend
    from motionloom.dance.motion_beats.beats import beats as beats
    from motionloom.errors import InvalidInput as InvalidInput
    from motionloom.errors import LibraryError as LibraryError
    from motionloom.errors import MotionFormatError as MotionFormatError
    from motionloom.errors import MotionloomError as MotionloomError
    from motionloom.errors import RoleError as RoleError
    from motionloom.formats import load as load
    from motionloom.formats import load_markers as load_markers
    from motionloom.formats import save as save
    from motionloom.library import Library as Library
    from motionloom.motion import Markers as Markers
    from motionloom.motion import Motion as Motion
    from motionloom.motion import Skeleton as Skeleton
    from motionloom.motion import concatenate as concatenate
    from motionloom.motion.retargeting.retarget import retarget as retarget
    from motionloom.motion.scene import Scene as Scene
    from motionloom.motion.segment import Segment as Segment
    from motionloom.parametric import parameters as parameters
    from motionloom.parametric.parameters import at as at
    from motionloom.search import Family as Family
    from motionloom.search import Match as Match
    from motionloom.studio.notebook import view as view
