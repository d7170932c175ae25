# SPDX-License-Identifier: GPL-3.0-or-later
"""Find motions by words, by the motion of an armature, or by a row of the list."""

from __future__ import annotations

import bpy

from .. import previews
from .armature import armature_subject, frame_range
from .motion_list import (
    active_row,
    load_overview,
    segment_of,
    show_library,
    show_matches,
    show_rows,
    without_picture,
)
from .studio_operator import StudioOperator


class MOTIONLOOM_OT_find(StudioOperator, bpy.types.Operator):
    """Find motions by words; without words, list all takes"""

    bl_idname = "motionloom.find"
    bl_label = "Find"

    def collect(self, context):
        return {"text": context.window_manager.motionloom.words.strip()}

    @staticmethod
    def ask(service, given, stop):
        if not given["text"]:
            return load_overview(service)
        job = service.post("/api/find/prepare")["job"]
        if job is not None:
            service.finished(job, stop=stop)
        response = service.post("/api/find", {"text": given["text"], "settings": {"max": 50}})
        return response, previews.asked(
            service, without_picture(row["motion"] for row in response["matches"])
        )

    def apply(self, context, given, answer):
        if not given["text"]:
            return show_library(context, answer)
        response, pictures = answer
        show_rows(context, response["matches"], pictures, lambda row: row["text"])
        unknown = ", ".join(response["unknown"])
        count = len(response["matches"])
        return f"{count} found" + (f"; unknown words: {unknown}" if unknown else "")


class MOTIONLOOM_OT_find_like(StudioOperator, bpy.types.Operator):
    """Find motions similar to that of the armature in the frame range of the scene"""

    bl_idname = "motionloom.find_like"
    bl_label = "Find similar to armature"

    def collect(self, context):
        return {"subject": armature_subject(context, *frame_range(context.scene))}

    @staticmethod
    def ask(service, given, stop):
        body = {"subject": given["subject"], "settings": {"max": 30}}
        response = service.post("/api/subjects/search", body)
        fresh = without_picture(row["motion"] for row in response["matches"])
        return response, previews.asked(service, fresh)

    def apply(self, context, given, answer):
        return show_matches(context, *answer)


class MOTIONLOOM_OT_find_similar(StudioOperator, bpy.types.Operator):
    """Find motions similar to the selected one"""

    bl_idname = "motionloom.find_similar"
    bl_label = "Find similar"

    def collect(self, context):
        return {"subject": segment_of(active_row(context))}

    ask = staticmethod(MOTIONLOOM_OT_find_like.ask)

    def apply(self, context, given, answer):
        return show_matches(context, *answer)
