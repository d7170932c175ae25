# SPDX-License-Identifier: GPL-3.0-or-later
"""The selected armature, its motion as a request sends it, and the frames of the scene."""

from __future__ import annotations

import bpy

from .. import armatures, rigify
from ..poses import UnusableArmature
from ..studio_client import StudioError, base64_floats


def selected_armature(context) -> bpy.types.Object:
    """Selected armature: the active object, or the armature in the scene settings."""
    active = context.view_layer.objects.active
    chosen = active if active is not None and active.type == "ARMATURE" else None
    chosen = chosen or context.scene.motionloom.armature
    if chosen is None or chosen.name not in context.view_layer.objects:
        raise UnusableArmature("no armature; make an armature the active object")
    if chosen.mode == "EDIT":
        raise UnusableArmature(f"{chosen.name} is in edit mode; leave edit mode first")
    if chosen.library is not None:
        raise UnusableArmature(f"{chosen.name} is linked; make a library override first")
    return chosen


def armature_subject(context, first: int, last: int) -> dict:
    """Motion of an armature from frame `first` to `last`, inclusive, as a subject."""
    figure = selected_armature(context)
    if last <= first:
        raise StudioError(f"at least two frames are needed; got {first} to {last}")
    rest = armatures.rest_pose(figure)
    turns, root = armatures.sampled(context, figure, rest, range(first, last + 1))
    return {
        "kind": "poses",
        "skeleton": rigify.as_studio(rest.skeleton()),
        "fps": frame_rate(context.scene),
        "rotations": base64_floats(turns),
        "root": base64_floats(root),
    }


def frame_range(scene) -> tuple[int, int]:
    """First and last frame of a scene, or of its preview range."""
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end


def frame_rate(scene) -> float:
    """Frames per second of a scene."""
    return scene.render.fps / scene.render.fps_base


def set_frame_rate(scene, fps: float) -> None:
    """Set the frames per second of a scene, also to a fraction."""
    scene.render.fps = max(1, round(fps))
    scene.render.fps_base = scene.render.fps / fps
