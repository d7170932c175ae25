# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a motion of the list onto the armature, or add the armature's action to the library."""

from __future__ import annotations

import bpy
from bpy.props import StringProperty

from ..studio_client import StudioError
from .armature import armature_subject, selected_armature
from .bring_operator import BringOperator
from .motion_list import active_row, load_overview, show_library, with_handles
from .studio_operator import StudioOperator


class MOTIONLOOM_OT_import(BringOperator, bpy.types.Operator):
    """Apply the selected motion to the armature, as a new action starting at the current frame"""

    bl_idname = "motionloom.import_motion"
    bl_label = "Import"
    bl_options = {"UNDO"}  # noqa: RUF012 (Blender's way)

    def collect(self, context):
        given = self.target(context)
        row = active_row(context)
        subject, given["match"] = with_handles(row, context.scene.motionloom.handles)
        given["body"]["subject"] = subject
        given["tags"] = row.labels.split("\n") if row.labels else []
        given["source"] = f"{context.window_manager.motionloom.library}: {row.query}"
        return given

    @staticmethod
    def ask(service, given, stop):
        return service.arrays("POST", "/api/subjects/retarget", given["body"])

    def apply(self, context, given, answer):
        line = BringOperator.apply(self, context, given, answer)
        if given["match"] is None:
            return line
        markers = bpy.data.actions[self.action].pose_markers
        for name, seconds in zip(("match", "match end"), given["match"], strict=True):
            markers.new(name).frame = given["frame"] + round(seconds * answer[0]["fps"])
        return f"{line}; the match is marked"


class MOTIONLOOM_OT_push(StudioOperator, bpy.types.Operator):
    """Add the action of the armature to the library as a take"""

    bl_idname = "motionloom.push"
    bl_label = "Add to library"

    name: StringProperty(
        name="Name", description="Name of the take; if empty, the name of the action"
    )
    labels: StringProperty(name="Labels", description="Labels of the take, separated by commas")

    def collect(self, context):
        figure = selected_armature(context)
        action = figure.animation_data.action if figure.animation_data else None
        if action is None:
            raise StudioError(f"{figure.name} has no action")
        first, last = action.frame_range
        chosen = context.scene.motionloom
        name = (self.name or chosen.take_name).strip() or action.name
        words = (self.labels or chosen.take_labels).split(",")
        labels = [label.strip() for label in words if label.strip()]
        subject = armature_subject(context, round(first), round(last))
        return {"subject": {**subject, "name": name}, "name": name, "labels": labels}

    @staticmethod
    def ask(service, given, stop):
        service.post("/api/subjects/keep", given)
        return load_overview(service)

    def apply(self, context, given, answer):
        show_library(context, answer)
        return f"{given['name']} is in the library"
