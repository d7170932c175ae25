# SPDX-License-Identifier: GPL-3.0-or-later
"""motionloom in Blender: a client of the studio in the sidebar of the 3D viewport."""

from __future__ import annotations

import atexit

import bpy

from . import operators, panel, session

_CLASSES = (*session.CLASSES, *operators.CLASSES, *panel.CLASSES)


def register() -> None:
    """Called by Blender when the extension is enabled."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.WindowManager.motionloom = bpy.props.PointerProperty(type=session.MotionloomSession)
    bpy.types.Scene.motionloom = bpy.props.PointerProperty(type=session.MotionloomScene)
    atexit.register(session.STARTED.stop)


def unregister() -> None:
    """Called by Blender when the extension is disabled."""
    session.STARTED.stop()
    atexit.unregister(session.STARTED.stop)
    session.PICTURES.clear()
    del bpy.types.Scene.motionloom
    del bpy.types.WindowManager.motionloom
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
