# SPDX-License-Identifier: GPL-3.0-or-later
"""State of the sidebar: preferences, results, and the studio started from Blender."""

from __future__ import annotations

import re
import subprocess
import threading
from pathlib import Path

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

from . import environment, reach
from .previews import Pictures
from .studio_client import Studio, StudioError

PICTURES = Pictures()
_START_SECONDS = 120.0  # timeout for a studio to print its address


def _snap(chosen: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
    reach.snap(chosen.id_data)


class MotionloomPreferences(bpy.types.AddonPreferences):
    """Address of the studio, and how to start one."""

    bl_idname = __package__

    address: StringProperty(
        name="Studio",
        description=(
            "Address of a running studio, as motionloom studio prints it. If empty, the studio "
            "started here, or the one you started last on this machine"
        ),
    )
    token: StringProperty(
        name="Token",
        description="If empty, the token in the address is used, or that of your studio there",
        subtype="PASSWORD",
    )
    command: StringProperty(
        name="Command",
        description=(
            "Command that starts motionloom. If it does not exist, motionloom is installed into an "
            "environment of this extension"
        ),
        default="motionloom",
    )
    package: StringProperty(
        name="Package",
        description="Package to install: its name on PyPI, or the path of a wheel",
        default=environment.PACKAGE,
    )
    library: StringProperty(
        name="Library",
        description="Library to open when a studio is started; if empty, one with generated takes",
        subtype="DIR_PATH",
    )

    def draw(self, context: bpy.types.Context) -> None:
        for name in ("address", "token", "command", "package", "library"):
            self.layout.prop(self, name)


class MotionloomRow(bpy.types.PropertyGroup):
    """One segment in the list."""

    motion: StringProperty()
    start_frame: IntProperty()
    end_frame: IntProperty()
    start: FloatProperty()
    end: FloatProperty()
    labels: StringProperty(description="Labels of the take, separated by line breaks")
    note: StringProperty()

    @property
    def query(self) -> str:
        """The segment as a query for the studio."""
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"


class MotionloomName(bpy.types.PropertyGroup):
    """Name of a parametric motion, with its parameters as a note."""

    note: StringProperty()


class MotionloomSession(bpy.types.PropertyGroup):
    """State of the sidebar, not saved with the file."""

    status: StringProperty(default="not connected")
    library: StringProperty()
    words: StringProperty(
        name="Words",
        description="Description of the motion; if empty, all takes are listed",
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
        description="Armature that receives the motion; if empty, the active one",
        poll=lambda self, thing: thing.type == "ARMATURE",
    )
    target: PointerProperty(
        type=bpy.types.Object,
        name="Target",
        description="Object that a parametric motion is aimed at; drag it to move the target",
        update=_snap,
    )
    cloud: PointerProperty(type=bpy.types.Object, description="Positions that can be reached")
    snap: BoolProperty(
        name="Snap to reach",
        description="Keep the target on the nearest position of the shown reach",
        default=True,
        update=_snap,
    )
    path: PointerProperty(
        type=bpy.types.Object,
        name="Path",
        description="Curve that a walk follows; if empty, the walk is random",
        poll=lambda self, thing: thing.type == "CURVE",
    )
    parametric: StringProperty(name="Motion", description="Parametric motion of the library")
    label: StringProperty(name="Label", description="Label of the takes for walks and dances")
    place: EnumProperty(
        name="Place",
        items=[
            ("HERE", "At the armature", "Start at the armature's origin, in its facing direction"),
            ("TAKE", "As captured", "Keep the position and heading of the take"),
        ],
    )
    take_rate: BoolProperty(
        name="Take's rate",
        description="Set the frame rate of the scene to that of the motion instead of resampling",
    )
    handles: FloatProperty(
        name="Handles",
        description="Seconds of the take to keep before and after a match, which is then marked",
        default=0.5,
        min=0.0,
        max=10.0,
    )
    asset: BoolProperty(
        name="Asset",
        description="Show new actions in the asset browser, with tags and a picture",
        default=True,
    )
    strip: BoolProperty(
        name="NLA strip",
        description="Put imported motions, walks and dances on NLA strips, one after the other",
    )
    seconds: FloatProperty(name="Seconds", default=10.0, min=1.0, max=300.0)
    seed: IntProperty(name="Seed", min=0)
    tempo: FloatProperty(name="Tempo", default=120.0, min=40.0, max=240.0)
    music: StringProperty(
        name="Music",
        description="MIDI or audio file; if empty, a tune is generated",
        subtype="FILE_PATH",
    )
    sound: StringProperty(
        name="Sound strip",
        description="Sound strip of the video sequencer to dance to, instead of a file",
    )
    take_name: StringProperty(
        name="Name", description="Name of the new take; if empty, the name of the action"
    )
    take_labels: StringProperty(
        name="Labels", description="Labels of the new take, separated by commas"
    )
    aimed: StringProperty(description="Action written by Aim")


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


def own_folder(name: str) -> Path:
    """A folder of this extension for files that it creates; it survives updates."""
    return Path(bpy.utils.extension_path_user(__package__, path=name, create=True))


def studio(context: bpy.types.Context) -> Studio:
    """Return the studio in the preferences."""
    chosen = preferences(context)
    client = Studio(chosen.address or STARTED.address, chosen.token)
    if not client.is_local and not bpy.app.online_access:
        raise StudioError(
            f"{client.address} is another machine; allow online access in Preferences > System"
        )
    return client


class StartedStudio:
    """The studio started from Blender; it stops when Blender exits."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self.address = ""  # with the token; empty if none was started

    @property
    def runs(self) -> bool:
        """True if the studio is running."""
        return self._process is not None and self._process.poll() is None

    def start(self, command: list[str], library: str) -> str:
        """Start a studio with a library and return its address; stop the previous one."""
        self.stop()
        words = [*command, "studio", library, "--port", "0", "--no-browser"]
        try:
            self._process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
        except (OSError, ValueError) as error:
            raise StudioError(
                f"{words[0]} cannot be started ({error}); "
                "set Command in the preferences of this extension"
            ) from None
        process, address, said = self._process, [], []
        ready = threading.Event()

        def read() -> None:  # read all output while the studio runs, so that it never blocks
            for line in process.stdout or ():
                if match := re.search(r"motionloom studio: (http\S+)", line):
                    address.append(match[1])
                    ready.set()
                elif not address:
                    said.append(line.strip())
            ready.set()

        threading.Thread(target=read, name="motionloom studio", daemon=True).start()
        ready.wait(_START_SECONDS)
        if not address:
            self.stop()
            raise StudioError(
                next((line for line in reversed(said) if line), "the studio did not start")
            )
        self.address = address[0]
        return self.address

    def stop(self) -> None:
        """Stop the studio, if it is running."""
        self.address = ""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
            self._process = None


STARTED = StartedStudio()
