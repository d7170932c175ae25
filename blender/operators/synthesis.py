# SPDX-License-Identifier: GPL-3.0-or-later
"""Walks along a curve and dances to music, synthesized from takes with a label."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import bpy
import numpy as np
from bpy.props import IntProperty

from ..poses import Placement
from ..studio_client import StudioError
from .armature import frame_rate, selected_armature
from .bring_operator import BringOperator


class MOTIONLOOM_OT_walk(BringOperator, bpy.types.Operator):
    """Synthesize a walk from takes with the label, at random or along the curve"""

    bl_idname = "motionloom.walk"
    bl_label = "Walk"
    bl_options = {"UNDO"}  # noqa: RUF012

    def collect(self, context):
        given, chosen = self.target(context), context.scene.motionloom
        given["graph"] = {"label": [chosen.label]} if chosen.label else {}
        settings = {"seed": chosen.seed}
        subject = {"kind": "walk", "graph": given["graph"], "settings": settings}
        if chosen.path is not None:
            placement = Placement.from_matrix(
                np.array(selected_armature(context).matrix_world), given["figure"]
            )
            points = placement.world_to_studio(_curve_points(context, chosen.path))
            subject["path"] = [[float(x), float(z)] for x, _, z in points]
            given["body"]["at_origin"] = False
        else:
            settings["seconds"] = chosen.seconds
        given["body"]["subject"] = subject
        given["tags"] = ["synthesized", "walk", *([chosen.label] if chosen.label else [])]
        along = f"along {chosen.path.name}" if chosen.path is not None else f"seed {chosen.seed}"
        given["source"] = f"{context.window_manager.motionloom.library}: a walk, {along}"
        return given

    @staticmethod
    def ask(service, given, stop):
        service.finished(service.post("/api/graphs", {"settings": given["graph"]}), stop=stop)
        return service.arrays("POST", "/api/subjects/retarget", given["body"])


class MOTIONLOOM_OT_dance(BringOperator, bpy.types.Operator):
    """Synthesize a dance from takes with the label, to a music file or a generated tune"""

    bl_idname = "motionloom.dance"
    bl_label = "Dance"
    bl_options = {"UNDO"}  # noqa: RUF012

    dancer: IntProperty(name="Dancer", description="Index of the dancer", min=0)

    def collect(self, context):
        given, chosen = self.target(context), context.scene.motionloom
        if not chosen.label:
            raise StudioError("choose the label of the takes for the dance")
        name, data, seconds, first = _music(context, given["frame"])
        given |= {"label": chosen.label, "music": name, "data": data, "seconds": seconds}
        given |= {"tempo": chosen.tempo, "seed": chosen.seed, "frame": first}
        given["body"]["character"] = self.dancer
        given["tags"] = ["synthesized", "dance", chosen.label]
        given["source"] = (
            f"{context.window_manager.motionloom.library}: a dance to "
            f"{name or f'a tune of {chosen.tempo:g} bpm'}, seed {chosen.seed}"
        )
        return given

    @staticmethod
    def ask(service, given, stop):
        body = {"settings": {"label": [given["label"]]}}
        learned = service.finished(service.post("/api/dance/choreographies", body), stop=stop)
        if given["music"]:
            music = service.put(f"/api/dance/music/{quote(given['music'])}", given["data"])
        else:
            bars = max(2, round(given["seconds"] * given["tempo"] / 60.0 / learned["meter"]))
            tune = {"meter": learned["meter"], "tempo_bpm": given["tempo"], "bars": min(bars, 200)}
            music = service.post("/api/dance/tunes", tune)
        given["body"]["subject"] = {
            "kind": "dance",
            "choreography": learned["id"],
            "music": music["id"],
            "settings": {"seed": given["seed"], "seconds": given["seconds"]},
        }
        return service.arrays("POST", "/api/subjects/retarget", given["body"])


def _curve_points(context, thing) -> np.ndarray:
    """Points (n, 3) of a curve in world space."""
    shown = thing.evaluated_get(context.evaluated_depsgraph_get())
    mesh = shown.to_mesh()
    points = np.array([thing.matrix_world @ vertex.co for vertex in mesh.vertices], np.float64)
    shown.to_mesh_clear()
    if len(points) < 2:
        raise StudioError(f"{thing.name} has no length")
    return points


def _music(context, frame: int) -> tuple[str, bytes, float, int]:
    """Name and data of the music, seconds to dance, and the frame at which the music starts.

    Music comes from a sound strip or a file; an empty name stands for a generated tune.
    """
    scene, chosen = context.scene, context.scene.motionloom
    if not chosen.sound:
        if not chosen.music:
            return "", b"", chosen.seconds, frame
        file = Path(bpy.path.abspath(chosen.music))
        return file.name, _contents(file), chosen.seconds, frame
    editor = scene.sequence_editor
    strips = [] if editor is None else getattr(editor, "strips_all", None)
    strips = editor.sequences_all if strips is None else strips  # before Blender 4.4
    strip = next((each for each in strips if each.name == chosen.sound), None)
    if strip is None or strip.type != "SOUND":
        names = ", ".join(each.name for each in strips if each.type == "SOUND")
        raise StudioError(
            f"no sound strip is named {chosen.sound}; sound strips of the scene: {names or 'none'}"
        )
    if len(getattr(strip, "retiming_keys", ())):
        raise StudioError(f"{strip.name} is retimed; dances follow strips at their original speed")
    sound = strip.sound
    file = Path(bpy.path.abspath(sound.filepath, library=sound.library))
    data = bytes(sound.packed_file.data) if sound.packed_file is not None else _contents(file)
    # The dance starts with the sound, even if the strip shows only a later part of it.
    seconds = (strip.frame_final_end - strip.frame_start) / frame_rate(scene)
    return file.name, data, seconds, round(strip.frame_start)


def _contents(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StudioError(f"{file}: cannot be read: {error.strerror}") from None
