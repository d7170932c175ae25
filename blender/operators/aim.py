# SPDX-License-Identifier: GPL-3.0-or-later
"""Aim a parametric motion at an object, and show the positions that it can reach."""

from __future__ import annotations

import json

import bpy
import numpy as np
from bpy.props import BoolProperty

from .. import armatures, reach, rigify
from ..poses import Placement, UnusableArmature
from ..session import studio
from ..studio_client import Call, StudioError
from .armature import selected_armature
from .bring_operator import BringOperator
from .studio_operator import StudioOperator

_HIT = "target"  # marker at which a motion reaches its target
_SAMPLED: set[str] = set()  # requests for regions that a studio has sampled


class MOTIONLOOM_OT_show_reach(StudioOperator, bpy.types.Operator):
    """Show where the parametric motion can be aimed, and snap the target to these positions"""

    bl_idname = "motionloom.show_reach"
    bl_label = "Show reach"
    bl_options = {"UNDO"}  # noqa: RUF012

    def collect(self, context):
        chosen = context.scene.motionloom
        if not chosen.parametric:
            raise StudioError("choose a parametric motion of the library")
        figure = chosen.armature = selected_armature(context)
        body = {
            "subject": {"kind": "parametric", "name": chosen.parametric, "target": []},
            "skeleton": rigify.as_studio(armatures.rest_pose(figure).skeleton()),
        }
        return {"figure": figure.name, "name": chosen.parametric, "body": body}

    @staticmethod
    def ask(service, given, stop):
        return _sampled(service, given["body"], stop)

    def apply(self, context, given, answer):
        figure = bpy.data.objects.get(given["figure"])
        if figure is None:
            raise UnusableArmature(f"{given['figure']} no longer exists")
        points = np.array(answer["accessible"], np.float64)
        cloud = reach.show(context, figure, given["name"], points)
        chosen = context.scene.motionloom
        if chosen.target is None:
            target = bpy.data.objects.new("target", None)
            target.empty_display_type, target.empty_display_size = "SPHERE", 0.05
            figure.users_collection[0].objects.link(target)
            target.location = reach.middle(cloud)
            chosen.target = target
        reach.snap(context.scene)
        return f"{answer['joint']} reaches {len(points)} positions around {figure.name}"


class MOTIONLOOM_OT_aim(BringOperator, bpy.types.Operator):
    """Aim the parametric motion at the target object; Live follows it while you drag it"""

    bl_idname = "motionloom.aim"
    bl_label = "Aim"
    bl_options = {"UNDO"}  # noqa: RUF012

    live: BoolProperty(name="Live", description="Follow the target until Esc is pressed")
    has_strips = False  # the next aim changes the active action

    def collect(self, context):
        chosen = context.scene.motionloom
        if not chosen.parametric:
            raise StudioError("choose a parametric motion of the library")
        if chosen.target is None:
            raise StudioError("choose the object to aim at, for example an empty")
        given = self.target(context)
        placement = Placement.from_matrix(
            np.array(selected_armature(context).matrix_world), given["figure"]
        )
        aim = placement.world_to_studio(np.array(chosen.target.matrix_world.translation))
        given["body"]["subject"] = {"kind": "parametric", "name": chosen.parametric, "target": []}
        given["body"]["aim"] = aim.tolist()
        given["sampled"] = _region(studio(context), given["body"])
        given["tags"] = ["synthesized", chosen.parametric]
        given["source"] = (
            f"{context.window_manager.motionloom.library}: {chosen.parametric} aimed at "
            f"{chosen.target.name}"
        )
        current = bpy.data.objects[given["figure"]].animation_data
        active = current.action.name if current and current.action else ""
        self.previous = active if active and active == chosen.aimed else ""
        return given

    @staticmethod
    def ask(service, given, stop):
        if given["sampled"] not in _SAMPLED:  # the first time, which takes a few seconds
            _sampled(service, given["body"], stop)
        return service.arrays("POST", "/api/subjects/retarget", given["body"])

    def apply(self, context, given, answer):
        BringOperator.apply(self, context, given, answer)
        context.scene.motionloom.aimed = self.action
        head = answer[0]
        markers = bpy.data.actions[self.action].pose_markers
        mark = markers.get(_HIT) or markers.new(_HIT)
        mark.frame = given["frame"] + head["moment"]
        missed = f"{100.0 * head['error']:.1f} cm"
        if head["error"] > 0.01:
            return f"{head['joint']} misses the target by {missed}; the target is out of reach"
        return f"{head['joint']} reaches the target within {missed}"

    def modal(self, context, event):
        if not self.live:
            return BringOperator.modal(self, context, event)
        if event.type == "ESC":
            self.cancel(context)
            return {"FINISHED"}  # the result so far remains, as one undo step
        if event.type != "TIMER" or not self._call.done:
            return {"PASS_THROUGH"}
        try:
            if self._answered is not self._call:
                self._answered = self._call
                self._applied(context, self._given, self._call.outcome())
            frame, given = self._given["frame"], self.collect(context)
            given["frame"] = frame
            if given["body"]["aim"] != self._given["body"]["aim"]:
                self._given, service, ask = given, studio(context), self.ask
                self._call = Call(lambda stop: ask(service, given, stop))
        except (StudioError, UnusableArmature) as error:
            self._ended(context)
            return self._failed(context, error)
        return {"PASS_THROUGH"}

    _answered = None


def _sampled(service, body: dict, stop) -> dict:
    """Have the studio sample the reachable region of a request, which it then keeps."""
    asked = {"subject": body["subject"], "skeleton": body["skeleton"]}
    answer = service.finished(service.post("/api/subjects/reach", asked), stop=stop)
    _SAMPLED.add(_region(service, body))
    return answer


def _region(service, body: dict) -> str:
    return json.dumps([service.address, body["subject"]["name"], body["skeleton"]])
