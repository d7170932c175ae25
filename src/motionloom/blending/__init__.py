"""Blending: registration, weighted blends, transitions, inertialization, and players."""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.blending.blends import Blend as Blend
    from motionloom.blending.blends import BlendPlayer as BlendPlayer
    from motionloom.blending.blends import blend as blend
    from motionloom.blending.player import FrameBlock as FrameBlock
    from motionloom.blending.player import Player as Player
    from motionloom.blending.player import Pose as Pose
    from motionloom.blending.registration import Registration as Registration
    from motionloom.blending.registration import register as register
    from motionloom.blending.settings import BlendSettings as BlendSettings
    from motionloom.blending.transitions import Transition as Transition
    from motionloom.blending.transitions import Window as Window
    from motionloom.blending.transitions import transition as transition

__getattr__, __dir__ = imported_on_use(__name__)
