# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sidebar shows and remembers: preferences, results, the studio that was started here."""

from __future__ import annotations

import re
import shlex
import subprocess
import threading

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from .previews import Pictures
from .studio_client import DEFAULT_ADDRESS, Studio, StudioError

PICTURES = Pictures()
_START_SECONDS = 120.0  # for a studio to print its address


class MotionloomPreferences(bpy.types.AddonPreferences):
    """Address of the studio, and how to start one."""

    bl_idname = __package__

    address: StringProperty(
        name="Studio",
        description="Address of a running studio, as motionloom studio prints it",
        default=DEFAULT_ADDRESS,
    )
    token: StringProperty(
        name="Token",
        description="Empty: the token in the address, or your own on this machine",
        subtype="PASSWORD",
    )
    command: StringProperty(
        name="Command",
        description="Command that starts motionloom, with its folder if Blender does not find it",
        default="motionloom",
    )
    library: StringProperty(
        name="Library", description="Library to open when a studio is started", subtype="DIR_PATH"
    )

    def draw(self, context: bpy.types.Context) -> None:
        for name in ("address", "token", "command", "library"):
            self.layout.prop(self, name)


class MotionloomRow(bpy.types.PropertyGroup):
    """One segment in the list."""

    motion: StringProperty()
    start_frame: IntProperty()
    end_frame: IntProperty()
    start: FloatProperty()
    end: FloatProperty()
    note: StringProperty()

    @property
    def query(self) -> str:
        """The segment as a query of the studio."""
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"


class MotionloomName(bpy.types.PropertyGroup):
    """A name of the library: a parametric motion, with its parameters as a note."""

    note: StringProperty()


class MotionloomSession(bpy.types.PropertyGroup):
    """State of the sidebar, of this run of Blender."""

    status: StringProperty(default="not connected")
    library: StringProperty()
    words: StringProperty(
        name="Words",
        description="What the motion shows; empty: all takes",
        options={"TEXTEDIT_UPDATE"},
    )
    rows: CollectionProperty(type=MotionloomRow)
    active: IntProperty(name="Motion")
    parametric: CollectionProperty(type=MotionloomName)
    labels: CollectionProperty(type=MotionloomName)
    busy: StringProperty()


class MotionloomScene(bpy.types.PropertyGroup):
    """Choices that belong to a scene and are saved with it."""

    armature: PointerProperty(
        type=bpy.types.Object,
        name="Armature",
        description="Armature that motion is brought to; the active one if empty",
        poll=lambda self, thing: thing.type == "ARMATURE",
    )
    target: PointerProperty(
        type=bpy.types.Object,
        name="Target",
        description="Where a parametric motion is aimed: drag this object",
    )
    path: PointerProperty(
        type=bpy.types.Object,
        name="Path",
        description="Curve that a walk follows; empty: a random walk",
        poll=lambda self, thing: thing.type == "CURVE",
    )
    parametric: StringProperty(name="Motion", description="Parametric motion of the library")
    label: StringProperty(name="Label", description="Takes that walks and dances are made of")
    place: EnumProperty(
        name="Place",
        items=[
            ("HERE", "At the armature", "Begin over the armature's origin, facing as it does"),
            ("TAKE", "As captured", "Keep the place and heading of the take"),
        ],
    )
    take_rate: BoolProperty(
        name="Take's rate",
        description="Set the frame rate of the scene to that of the motion instead of resampling",
    )
    seconds: FloatProperty(name="Seconds", default=10.0, min=1.0, max=300.0)
    seed: IntProperty(name="Seed", min=0)
    tempo: FloatProperty(name="Tempo", default=120.0, min=40.0, max=240.0)
    music: StringProperty(
        name="Music", description="MIDI or audio file; empty: a generated tune", subtype="FILE_PATH"
    )
    take_name: StringProperty(
        name="Name", description="Name of a take that is added; empty: that of the action"
    )
    take_labels: StringProperty(
        name="Labels", description="Labels of a take that is added, separated by commas"
    )
    aimed: StringProperty(description="Action that aiming writes")


CLASSES = (
    MotionloomPreferences,
    MotionloomRow,
    MotionloomName,
    MotionloomSession,
    MotionloomScene,
)


def preferences(context: bpy.types.Context) -> MotionloomPreferences:
    """Preferences of this extension."""
    return context.preferences.addons[__package__].preferences


def studio(context: bpy.types.Context) -> Studio:
    """The studio of the preferences."""
    chosen = preferences(context)
    found = Studio(chosen.address, chosen.token)
    if not found.is_local and not bpy.app.online_access:
        raise StudioError(
            f"{found.address} is another machine: allow online access in Preferences > System"
        )
    return found


class StartedStudio:
    """The studio that was started from Blender; it ends with Blender."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None

    @property
    def runs(self) -> bool:
        """Whether it is running."""
        return self._process is not None and self._process.poll() is None

    def start(self, command: str, library: str) -> str:
        """Start a studio of a library and return its address; the one before is stopped."""
        self.stop()
        words = [*shlex.split(command), "studio", library, "--port", "0", "--no-browser"]
        try:
            self._process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
        except (OSError, ValueError) as error:
            raise StudioError(
                f"{words[0] if words else command} cannot be started ({error}); "
                "set Command in the preferences of this extension"
            ) from None
        process, address, said = self._process, [], []
        ready = threading.Event()

        def read() -> None:  # for as long as the studio runs, so that it never waits for us
            for line in process.stdout or ():
                if found := re.search(r"motionloom studio: (http\S+)", line):
                    address.append(found[1])
                    ready.set()
                elif not address:
                    said.append(line.strip())
            ready.set()

        threading.Thread(target=read, name="motionloom studio", daemon=True).start()
        ready.wait(_START_SECONDS)
        if not address:
            self.stop()
            raise StudioError(next((line for line in reversed(said) if line), "no studio started"))
        return address[0]

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._process = None


STARTED = StartedStudio()
