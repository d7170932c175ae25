# SPDX-License-Identifier: GPL-3.0-or-later
"""Connect to a studio, or start and stop one."""

from __future__ import annotations

import sys

import bpy

from .. import environment
from ..session import PICTURES, STARTED, own_folder, preferences
from ..studio_client import Studio, StudioError
from .motion_list import load_overview, show_library
from .studio_operator import StudioOperator


class MOTIONLOOM_OT_connect(StudioOperator, bpy.types.Operator):
    """Connect to the studio in the preferences and show its library"""

    bl_idname = "motionloom.connect"
    bl_label = "Connect"

    @staticmethod
    def ask(service, given, stop):
        return load_overview(service)

    def apply(self, context, given, answer):
        PICTURES.clear()
        return show_library(context, answer)


class MOTIONLOOM_OT_start(StudioOperator, bpy.types.Operator):
    """Start a studio with the library in the preferences; install motionloom first if necessary"""

    bl_idname = "motionloom.start"
    bl_label = "Start studio"
    _service = staticmethod(lambda context: None)  # none may be running yet

    def collect(self, context):
        chosen = preferences(context)
        folder = own_folder("environment")
        command = environment.command(chosen.command, folder)
        if command is None and not bpy.app.online_access:
            raise StudioError(
                f"{chosen.command} was not found and cannot be installed; set Command in the "
                "preferences of this extension, or allow online access in Preferences > System"
            )
        library = bpy.path.abspath(chosen.library).rstrip("/\\")
        return {
            "command": command,
            "folder": folder,
            "package": bpy.path.abspath(chosen.package),
            "library": library or str(own_folder("libraries") / "generated takes.loom"),
            "generated": not library,
        }

    @staticmethod
    def ask(service, given, stop):
        command, folder = given["command"], given["folder"]
        if command is None:
            environment.install(folder, sys.executable, given["package"], stop=stop)
            command = environment.command("", folder)
        started = Studio(STARTED.start(command, given["library"]))
        overview = load_overview(started)
        if given["generated"] and not overview["library"]["motions"]:
            started.finished(started.post("/api/library/samples"), stop=stop)
            overview = load_overview(started)
        return overview

    def apply(self, context, given, overview):
        chosen = preferences(context)
        chosen.address = chosen.token = ""  # not saved: the next start has another token
        PICTURES.clear()
        return show_library(context, overview)


class MOTIONLOOM_OT_stop(bpy.types.Operator):
    """Stop the studio that was started from Blender"""

    bl_idname = "motionloom.stop"
    bl_label = "Stop studio"

    @classmethod
    def poll(cls, context):
        return STARTED.runs

    def execute(self, context):
        STARTED.stop()
        context.window_manager.motionloom.status = "the studio is stopped"
        return {"FINISHED"}
