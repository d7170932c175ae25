# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators whose answer is a motion, which becomes a new action of the armature."""

from __future__ import annotations

import bpy

from .. import armatures, previews, rigify
from ..poses import UnusableArmature
from .armature import frame_rate, selected_armature, set_frame_rate
from .studio_operator import StudioOperator


class BringOperator(StudioOperator):
    """Base class of operators that return motion for the armature."""

    previous = ""
    has_strips = True  # imports, walks and dances can go to NLA strips

    def target(self, context) -> dict:
        """Armature of a request, and how to write to it."""
        scene, chosen = context.scene, context.scene.motionloom
        figure = selected_armature(context)
        chosen.armature = figure
        rest = armatures.rest_pose(figure)
        body = {
            "skeleton": rigify.as_studio(rest.skeleton()),
            "at_origin": chosen.place == "HERE",
            "fps": None if chosen.take_rate else frame_rate(scene),
        }
        return {"figure": figure.name, "frame": scene.frame_current, "body": body}

    def apply(self, context, given, answer):
        head, arrays = answer
        figure = bpy.data.objects.get(given["figure"])
        if figure is None or figure.type != "ARMATURE":
            raise UnusableArmature(f"{given['figure']} no longer exists")
        if context.scene.motionloom.take_rate:
            set_frame_rate(context.scene, head["fps"])
        rest = armatures.rest_pose(figure)
        frames, first = len(arrays["root"]), given["frame"]
        head["joints"] = rigify.as_blender(head["joints"], rest.names)
        armatures.check_travels(figure, head["joints"][0])
        action = armatures.new_action(figure, head["name"] or "motion", self.previous)
        curves = armatures.curves_of(figure, action)
        turns, root = arrays["rotations"], arrays["root"]
        if armatures.is_rigify(figure):
            rigify.write_controls(context, figure, curves, rest, head, turns, root, first)
        else:
            armatures.write_poses(figure, curves, rest, head, turns, root, first)
        scene = context.scene
        scene.frame_end = max(scene.frame_end, first + frames - 1)
        self.action = action.name
        if scene.motionloom.asset:
            points, above = rest.points(head["joints"], head["parents"], turns, root)
            armatures.mark_asset(
                action, given["tags"], given["source"], previews.pictured(points, above)
            )
        if scene.motionloom.strip and self.has_strips:
            armatures.to_strip(figure, action)
        scene.frame_set(scene.frame_current)
        warned = (head.get("quality") or {}).get("warnings") or []
        return f"{action.name}: {frames} frames on {figure.name}" + (
            f"; {warned[0]}" if warned else ""
        )
