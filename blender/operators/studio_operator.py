# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that collect their input, send a request in a thread, and apply the response.

In the user interface, an operator is modal: a timer checks for the response, so that Blender does
not freeze. In a script (`execute`), it waits. Between request and response, only names of Blender
objects are kept, because undo replaces the objects.
"""

from __future__ import annotations

import bpy

from ..poses import UnusableArmature
from ..session import studio
from ..studio_client import Call, StudioError

_TIMER = 0.1  # seconds between checks of a running request


class StudioOperator:
    """Base class of operators: `collect`, then `ask` in a thread, then `apply`."""

    _call = _timer = None
    _service = staticmethod(studio)  # the studio that `ask` gets

    def collect(self, context: bpy.types.Context) -> dict:
        """Collect the input of the request from Blender, without Blender objects."""
        return {}

    @staticmethod
    def ask(service, given: dict, stop):
        """Send the request and return the response; runs in a thread without access to Blender."""
        raise NotImplementedError

    def apply(self, context: bpy.types.Context, given: dict, answer) -> str:
        """Show the response and return a message for the user."""
        raise NotImplementedError

    def execute(self, context):
        try:
            given = self.collect(context)
            answer = self.ask(self._service(context), given, None)
            return self._applied(context, given, answer)
        except (StudioError, UnusableArmature) as error:
            return self._failed(context, error)

    def invoke(self, context, event):
        if bpy.app.background or context.window is None:  # without a window, no timer would run
            return self.execute(context)
        session = context.window_manager.motionloom
        if session.busy:
            self.report({"WARNING"}, f"{session.busy} is still running")
            return {"CANCELLED"}
        try:
            self._given = self.collect(context)
            service, given, ask = self._service(context), self._given, self.ask
        except (StudioError, UnusableArmature) as error:
            return self._failed(context, error)
        self._call = Call(lambda stop: ask(service, given, stop))
        session.busy = self.bl_label
        self._timer = context.window_manager.event_timer_add(_TIMER, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC":
            self.cancel(context)
            context.window_manager.motionloom.status = f"{self.bl_label}: stopped"
            return {"CANCELLED"}
        if event.type != "TIMER" or not self._call.done:
            return {"PASS_THROUGH"}
        self._ended(context)
        try:
            return self._applied(context, self._given, self._call.outcome())
        except (StudioError, UnusableArmature) as error:
            return self._failed(context, error)

    def cancel(self, context) -> None:
        """Called by Blender, for example when another file is opened."""
        self._call.stop.set()
        self._ended(context)

    def _ended(self, context) -> None:
        context.window_manager.motionloom.busy = ""
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)

    def _applied(self, context, given, answer):
        line = self.apply(context, given, answer)
        context.window_manager.motionloom.status = line
        self.report({"INFO"}, line)
        _redraw(context)
        return {"FINISHED"}

    def _failed(self, context, error):
        line = " ".join(str(error).split())
        context.window_manager.motionloom.status = line
        self.report({"ERROR"}, line)
        _redraw(context)
        return {"CANCELLED"}


def _redraw(context) -> None:
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            area.tag_redraw()
