"""Find, cut, blend, endlessly recombine and set to music what is in a folder of motion capture.

>>> import motionloom as ml
>>> m = ml.demo.clip("walk")
>>> m.fps
30.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

__version__ = "0.2.0"

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

__getattr__, __dir__ = imported_on_use(__name__)
