# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators. Each collects its input, sends a request in a thread, and applies the response.

In the user interface, an operator is modal: a timer checks for the response, so that Blender does
not freeze. In a script (`execute`), it waits. Between request and response, only names of Blender
objects are kept, because undo replaces the objects.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from urllib.parse import quote

import bpy
import numpy as np
from bpy.props import BoolProperty, IntProperty, StringProperty

from . import armatures, environment, previews, reach, rigify
from .poses import Placement, UnusableArmature
from .session import PICTURES, STARTED, own_folder, preferences, studio
from .studio_client import Call, Studio, StudioError, base64_floats

_SHOWN = 200  # maximum rows of the list
_HIT = "target"  # marker at which a motion reaches its target
LENGTHS: dict[str, int] = {}  # frames of each take of the library
LABELS: dict[str, list[str]] = {}  # labels of each take of the library
SAMPLED: set[str] = set()  # requests for regions that a studio has sampled
_TIMER = 0.1  # seconds between checks of a running request


class _StudioOperator:
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


# --- studio and list ------------------------------------------------------------------------


class MOTIONLOOM_OT_connect(_StudioOperator, bpy.types.Operator):
    """Connect to the studio in the preferences and show its library"""

    bl_idname = "motionloom.connect"
    bl_label = "Connect"

    @staticmethod
    def ask(service, given, stop):
        return _overview(service)

    def apply(self, context, given, answer):
        PICTURES.clear()
        return _show_library(context, answer)


class MOTIONLOOM_OT_start(_StudioOperator, bpy.types.Operator):
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
        overview = _overview(started)
        if given["generated"] and not overview["library"]["motions"]:
            started.finished(started.post("/api/library/samples"), stop=stop)
            overview = _overview(started)
        return overview

    def apply(self, context, given, overview):
        chosen = preferences(context)
        chosen.address = chosen.token = ""  # not saved: the next start has another token
        PICTURES.clear()
        return _show_library(context, overview)


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


class MOTIONLOOM_OT_find(_StudioOperator, bpy.types.Operator):
    """Find motions by words; without words, list all takes"""

    bl_idname = "motionloom.find"
    bl_label = "Find"

    def collect(self, context):
        return {"text": context.window_manager.motionloom.words.strip()}

    @staticmethod
    def ask(service, given, stop):
        if not given["text"]:
            return _overview(service)
        job = service.post("/api/find/prepare")["job"]
        if job is not None:
            service.finished(job, stop=stop)
        response = service.post("/api/find", {"text": given["text"], "settings": {"max": 50}})
        return response, previews.asked(
            service, _fresh(row["motion"] for row in response["matches"])
        )

    def apply(self, context, given, answer):
        if not given["text"]:
            return _show_library(context, answer)
        response, pictures = answer
        _show(context, response["matches"], pictures, lambda row: row["text"])
        unknown = ", ".join(response["unknown"])
        count = len(response["matches"])
        return f"{count} found" + (f"; unknown words: {unknown}" if unknown else "")


class MOTIONLOOM_OT_find_like(_StudioOperator, bpy.types.Operator):
    """Find motions similar to that of the armature in the frame range of the scene"""

    bl_idname = "motionloom.find_like"
    bl_label = "Find similar to armature"

    def collect(self, context):
        return {"subject": _armature_subject(context, *_frame_range(context.scene))}

    @staticmethod
    def ask(service, given, stop):
        body = {"subject": given["subject"], "settings": {"max": 30}}
        response = service.post("/api/subjects/search", body)
        fresh = _fresh(row["motion"] for row in response["matches"])
        return response, previews.asked(service, fresh)

    def apply(self, context, given, answer):
        return _show_matches(context, *answer)


class MOTIONLOOM_OT_find_similar(_StudioOperator, bpy.types.Operator):
    """Find motions similar to the selected one"""

    bl_idname = "motionloom.find_similar"
    bl_label = "Find similar"

    def collect(self, context):
        return {"subject": _segment(_active_row(context))}

    ask = staticmethod(MOTIONLOOM_OT_find_like.ask)

    def apply(self, context, given, answer):
        return _show_matches(context, *answer)


# --- motion onto the armature ---------------------------------------------------------------


class _BringOperator(_StudioOperator):
    """Base class of operators that return motion for the armature."""

    previous = ""
    has_strips = True  # imports, walks and dances can go to NLA strips

    def target(self, context) -> dict:
        """Armature of a request, and how to write to it."""
        scene, chosen = context.scene, context.scene.motionloom
        figure = _armature(context)
        chosen.armature = figure
        rest = armatures.rest_pose(figure)
        body = {
            "skeleton": rigify.as_studio(rest.skeleton()),
            "at_origin": chosen.place == "HERE",
            "fps": None if chosen.take_rate else _rate(scene),
        }
        return {"figure": figure.name, "frame": scene.frame_current, "body": body}

    def apply(self, context, given, answer):
        head, arrays = answer
        figure = bpy.data.objects.get(given["figure"])
        if figure is None or figure.type != "ARMATURE":
            raise UnusableArmature(f"{given['figure']} no longer exists")
        if context.scene.motionloom.take_rate:
            _set_rate(context.scene, head["fps"])
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


class MOTIONLOOM_OT_import(_BringOperator, bpy.types.Operator):
    """Apply the selected motion to the armature, as a new action starting at the current frame"""

    bl_idname = "motionloom.import_motion"
    bl_label = "Import"
    bl_options = {"UNDO"}  # noqa: RUF012 (Blender's way)

    def collect(self, context):
        given = self.target(context)
        row = _active_row(context)
        subject, given["match"] = _with_handles(row, context.scene.motionloom.handles)
        given["body"]["subject"] = subject
        given["tags"] = row.labels.split("\n") if row.labels else []
        given["source"] = f"{context.window_manager.motionloom.library}: {row.query}"
        return given

    @staticmethod
    def ask(service, given, stop):
        return service.arrays("POST", "/api/subjects/retarget", given["body"])

    def apply(self, context, given, answer):
        line = _BringOperator.apply(self, context, given, answer)
        if given["match"] is None:
            return line
        markers = bpy.data.actions[self.action].pose_markers
        for name, seconds in zip(("match", "match end"), given["match"], strict=True):
            markers.new(name).frame = given["frame"] + round(seconds * answer[0]["fps"])
        return f"{line}; the match is marked"


class MOTIONLOOM_OT_walk(_BringOperator, bpy.types.Operator):
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
                np.array(_armature(context).matrix_world), given["figure"]
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


class MOTIONLOOM_OT_dance(_BringOperator, bpy.types.Operator):
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


class MOTIONLOOM_OT_show_reach(_StudioOperator, bpy.types.Operator):
    """Show where the parametric motion can be aimed, and snap the target to these positions"""

    bl_idname = "motionloom.show_reach"
    bl_label = "Show reach"
    bl_options = {"UNDO"}  # noqa: RUF012

    def collect(self, context):
        chosen = context.scene.motionloom
        if not chosen.parametric:
            raise StudioError("choose a parametric motion of the library")
        figure = chosen.armature = _armature(context)
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


class MOTIONLOOM_OT_aim(_BringOperator, bpy.types.Operator):
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
            np.array(_armature(context).matrix_world), given["figure"]
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
        if given["sampled"] not in SAMPLED:  # the first time, which takes a few seconds
            _sampled(service, given["body"], stop)
        return service.arrays("POST", "/api/subjects/retarget", given["body"])

    def apply(self, context, given, answer):
        _BringOperator.apply(self, context, given, answer)
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
            return _BringOperator.modal(self, context, event)
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


# --- back to the library --------------------------------------------------------------------


class MOTIONLOOM_OT_push(_StudioOperator, bpy.types.Operator):
    """Add the action of the armature to the library as a take"""

    bl_idname = "motionloom.push"
    bl_label = "Add to library"

    name: StringProperty(
        name="Name", description="Name of the take; if empty, the name of the action"
    )
    labels: StringProperty(name="Labels", description="Labels of the take, separated by commas")

    def collect(self, context):
        figure = _armature(context)
        action = figure.animation_data.action if figure.animation_data else None
        if action is None:
            raise StudioError(f"{figure.name} has no action")
        first, last = action.frame_range
        chosen = context.scene.motionloom
        name = (self.name or chosen.take_name).strip() or action.name
        words = (self.labels or chosen.take_labels).split(",")
        labels = [label.strip() for label in words if label.strip()]
        subject = _armature_subject(context, round(first), round(last))
        return {"subject": {**subject, "name": name}, "name": name, "labels": labels}

    @staticmethod
    def ask(service, given, stop):
        service.post("/api/subjects/keep", given)
        return _overview(service)

    def apply(self, context, given, answer):
        _show_library(context, answer)
        return f"{given['name']} is in the library"


CLASSES = (
    MOTIONLOOM_OT_connect,
    MOTIONLOOM_OT_start,
    MOTIONLOOM_OT_stop,
    MOTIONLOOM_OT_find,
    MOTIONLOOM_OT_find_like,
    MOTIONLOOM_OT_find_similar,
    MOTIONLOOM_OT_import,
    MOTIONLOOM_OT_walk,
    MOTIONLOOM_OT_dance,
    MOTIONLOOM_OT_show_reach,
    MOTIONLOOM_OT_aim,
    MOTIONLOOM_OT_push,
)


# --- shared functions -----------------------------------------------------------------------


def _overview(service) -> dict:
    """Load the library, parametric motions and pictures of the first takes."""
    library = service.get("/api/library")
    names = [row["name"] for row in library["motions"][: previews.AT_ONCE]]
    return {
        "library": library,
        "parametric": service.get("/api/parametric"),
        "pictures": previews.asked(service, _fresh(names)),
    }


def _fresh(names) -> list[str]:
    """Names without a picture yet."""
    return PICTURES.missing(list(names))


def _show_library(context, overview: dict) -> str:
    session, library = context.window_manager.motionloom, overview["library"]
    session.library = library["name"]
    rows = [
        {"motion": row["name"], "start_frame": 0, "end_frame": row["frames"], "start": 0.0,
         "end": row["seconds"], "labels": row["labels"]}
        for row in library["motions"]
    ]  # fmt: skip
    LENGTHS.clear()
    LENGTHS.update((row["name"], row["frames"]) for row in library["motions"])
    LABELS.clear()
    LABELS.update((row["name"], row["labels"]) for row in library["motions"])
    session.labels.clear()
    for label in sorted({label for row in rows for label in row["labels"]}):
        session.labels.add().name = label
    session.parametric.clear()
    for row in overview["parametric"]:
        item = session.parametric.add()
        item.name, item.note = row["name"], ", ".join(row["by"])
    _show(context, rows, overview["pictures"], lambda row: ", ".join(row["labels"]))
    more = f", only the first {_SHOWN} are listed" if len(rows) > _SHOWN else ""
    return f"{library['name']}: {len(rows)} takes{more}"


def _show_matches(context, response: dict, pictures: dict) -> str:
    unit = response["unit"]
    _show(context, response["matches"], pictures, lambda row: f"{row['distance']:.3g} {unit}")
    return f"{len(response['matches'])} matches"


def _show(context, rows, pictures, note) -> None:
    session = context.window_manager.motionloom
    for name, picture in pictures.items():
        PICTURES.add(name, picture)
    session.rows.clear()
    for row in rows[:_SHOWN]:
        item = session.rows.add()
        item.name = item.motion = row["motion"]
        item.start_frame, item.end_frame = row["start_frame"], row["end_frame"]
        item.start, item.end = row["start"], row["end"]
        item.labels = "\n".join(LABELS.get(row["motion"], ()))
        item.note = note(row)
    session.active = 0


def _active_row(context):
    session = context.window_manager.motionloom
    if not 0 <= session.active < len(session.rows):
        raise StudioError("select a motion in the list; use Connect or Find to fill the list")
    return session.rows[session.active]


def _segment(row) -> dict:
    return {
        "kind": "segment",
        "motion": row.motion,
        "start_frame": row.start_frame,
        "end_frame": row.end_frame,
    }


def _with_handles(row, seconds: float) -> tuple[dict, tuple[float, float] | None]:
    """Segment of a row with handles before and after, and the seconds of the match in it."""
    segment, length = _segment(row), LENGTHS.get(row.motion, 0)
    frames = row.end_frame - row.start_frame
    if seconds <= 0.0 or row.end <= row.start or frames < 1:
        return segment, None
    fps = frames / (row.end - row.start)
    first = max(row.start_frame - round(seconds * fps), 0)
    last = max(min(row.end_frame + round(seconds * fps), length), row.end_frame)
    if (first, last) == (row.start_frame, row.end_frame):
        return segment, None
    marks = ((row.start_frame - first) / fps, (row.end_frame - 1 - first) / fps)
    return {**segment, "start_frame": first, "end_frame": last}, marks


def _armature(context) -> bpy.types.Object:
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


def _armature_subject(context, first: int, last: int) -> dict:
    """Motion of an armature from frame `first` to `last`, inclusive, as a subject."""
    figure = _armature(context)
    if last <= first:
        raise StudioError(f"at least two frames are needed; got {first} to {last}")
    rest = armatures.rest_pose(figure)
    turns, root = armatures.sampled(context, figure, rest, range(first, last + 1))
    return {
        "kind": "poses",
        "skeleton": rigify.as_studio(rest.skeleton()),
        "fps": _rate(context.scene),
        "rotations": base64_floats(turns),
        "root": base64_floats(root),
    }


def _frame_range(scene) -> tuple[int, int]:
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end


def _rate(scene) -> float:
    return scene.render.fps / scene.render.fps_base


def _set_rate(scene, fps: float) -> None:
    scene.render.fps = max(1, round(fps))
    scene.render.fps_base = scene.render.fps / fps


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
    seconds = (strip.frame_final_end - strip.frame_start) / _rate(scene)
    return file.name, data, seconds, round(strip.frame_start)


def _contents(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StudioError(f"{file}: cannot be read: {error.strerror}") from None


def _sampled(service, body: dict, stop) -> dict:
    """Have the studio sample the reachable region of a request, which it then keeps."""
    asked = {"subject": body["subject"], "skeleton": body["skeleton"]}
    answer = service.finished(service.post("/api/subjects/reach", asked), stop=stop)
    SAMPLED.add(_region(service, body))
    return answer


def _region(service, body: dict) -> str:
    return json.dumps([service.address, body["subject"]["name"], body["skeleton"]])


def _curve_points(context, thing) -> np.ndarray:
    """Points (n, 3) of a curve in world space."""
    shown = thing.evaluated_get(context.evaluated_depsgraph_get())
    mesh = shown.to_mesh()
    points = np.array([thing.matrix_world @ vertex.co for vertex in mesh.vertices], np.float64)
    shown.to_mesh_clear()
    if len(points) < 2:
        raise StudioError(f"{thing.name} has no length")
    return points


def _redraw(context) -> None:
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            area.tag_redraw()
