# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar of the 3D viewport: N, then motionloom."""

from __future__ import annotations

import bpy

from . import environment
from .session import PICTURES, STARTED, own_folder, preferences


class MOTIONLOOM_UL_rows(bpy.types.UIList):
    """List of motions with pictures."""

    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index=0):
        row = layout.row(align=True)
        row.label(text=item.motion, icon_value=PICTURES.icon(item.motion))
        row.label(text=f"{item.start:.1f}-{item.end:.1f} s")


class _Sidebar:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "motionloom"


class MOTIONLOOM_PT_library(_Sidebar, bpy.types.Panel):
    """Studio, search and list."""

    bl_idname = "MOTIONLOOM_PT_library"
    bl_label = "motionloom"

    def draw(self, context):
        layout, session = self.layout, context.window_manager.motionloom
        row = layout.row(align=True)
        row.operator("motionloom.connect", icon="LINKED")
        if STARTED.runs:
            row.operator("motionloom.stop", icon="CANCEL")
        else:
            installed = environment.command(preferences(context).command, own_folder("environment"))
            text = "Start studio" if installed else "Install and start"
            row.operator("motionloom.start", text=text, icon="PLAY")
        layout.prop(preferences(context), "address", text="")
        layout.label(text=session.busy and f"{session.busy} ..." or session.status)
        row = layout.row(align=True)
        row.prop(session, "words", text="", icon="VIEWZOOM")
        row.operator("motionloom.find", text="Find")
        layout.template_list("MOTIONLOOM_UL_rows", "", session, "rows", session, "active", rows=6)
        if 0 <= session.active < len(session.rows):
            chosen = session.rows[session.active]
            layout.template_icon(icon_value=PICTURES.icon(chosen.motion), scale=8.0)
            layout.label(text=f"{chosen.query}  {chosen.note}")
        row = layout.row(align=True)
        row.operator("motionloom.find_similar", icon="DUPLICATE")
        row.operator("motionloom.find_like", icon="ARMATURE_DATA")


class MOTIONLOOM_PT_armature(_Sidebar, bpy.types.Panel):
    """Transfer of motion to and from the armature."""

    bl_idname = "MOTIONLOOM_PT_armature"
    bl_label = "Armature"

    def draw(self, context):
        layout, chosen = self.layout, context.scene.motionloom
        layout.prop(chosen, "armature")
        layout.prop(chosen, "place")
        layout.prop(chosen, "take_rate")
        layout.prop(chosen, "handles")
        row = layout.row(align=True)
        row.prop(chosen, "asset")
        row.prop(chosen, "strip")
        layout.operator("motionloom.import_motion", icon="IMPORT")
        row = layout.row(align=True)
        row.prop(chosen, "take_name", text="")
        row.prop(chosen, "take_labels", text="")
        layout.operator("motionloom.push", icon="EXPORT")


class MOTIONLOOM_PT_aim(_Sidebar, bpy.types.Panel):
    """Parametric motion aimed at an object."""

    bl_idname = "MOTIONLOOM_PT_aim"
    bl_label = "Aim"
    bl_options = {"DEFAULT_CLOSED"}  # noqa: RUF012 (Blender's way)

    def draw(self, context):
        layout, chosen = self.layout, context.scene.motionloom
        session = context.window_manager.motionloom
        layout.prop_search(chosen, "parametric", session, "parametric")
        layout.operator("motionloom.show_reach", icon="POINTCLOUD_DATA")
        layout.prop(chosen, "target")
        layout.prop(chosen, "snap")
        row = layout.row(align=True)
        row.operator("motionloom.aim", icon="PIVOT_CURSOR").live = False
        row.operator("motionloom.aim", text="Follow", icon="REC").live = True


class MOTIONLOOM_PT_synthesis(_Sidebar, bpy.types.Panel):
    """Walks and dances."""

    bl_idname = "MOTIONLOOM_PT_synthesis"
    bl_label = "Walk and dance"
    bl_options = {"DEFAULT_CLOSED"}  # noqa: RUF012

    def draw(self, context):
        layout, chosen = self.layout, context.scene.motionloom
        layout.prop_search(chosen, "label", context.window_manager.motionloom, "labels")
        row = layout.row(align=True)
        row.prop(chosen, "seconds")
        row.prop(chosen, "seed")
        layout.prop(chosen, "path")
        layout.operator("motionloom.walk", icon="CURVE_PATH")
        layout.prop(chosen, "music")
        if context.scene.sequence_editor is not None:
            kind = "strips_all" if bpy.app.version >= (4, 4) else "sequences_all"
            layout.prop_search(chosen, "sound", context.scene.sequence_editor, kind)
        layout.prop(chosen, "tempo")
        layout.operator("motionloom.dance", icon="SOUND")


CLASSES = (
    MOTIONLOOM_UL_rows,
    MOTIONLOOM_PT_library,
    MOTIONLOOM_PT_armature,
    MOTIONLOOM_PT_aim,
    MOTIONLOOM_PT_synthesis,
)
