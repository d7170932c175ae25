"""Skeletons as the tools of the field name them, with the role each joint should get.

An outline: one joint per line, children indented by two spaces, ``name = role``. ``*`` is
an end site. A subtree whose name holds ``{S}`` is written once and stands for both sides;
``{S}`` becomes the rig's words for left and right (``{S1}`` their first letters), and its
roles get ``left_``/``right_``. ``@0`` behind a joint: it lies at its parent's place.
"""

from __future__ import annotations

from motionloom.motion import Skeleton
from rigs import animation_tools, body_models, cameras, capture, game_engines, spellings
from rigs.outline import skeleton_of

__all__ = ["RIGS", "rig", "skeleton_of"]

# rig -> (words for left and right, outline)
RIGS: dict[str, tuple[tuple[str, str], str]] = {
    **capture.RIGS,
    **body_models.RIGS,
    **animation_tools.RIGS,
    **game_engines.RIGS,
    **cameras.RIGS,
    **spellings.RIGS,
}


def rig(name: str) -> tuple[Skeleton, dict[str, str]]:
    """Skeleton of a rig, and the roles it should get."""
    sides, outline = RIGS[name]
    return skeleton_of(outline, sides)
