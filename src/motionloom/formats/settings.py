"""Settings for reading and writing files: `load`, `load_markers` and `save`.

Each class lists the options of all formats. The registry raises an error for options that the
chosen format does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motionloom.settings import Setting, Settings, setting

UNIT = Setting("Unit of the file: m, cm, mm, inch, foot, cmu, or a number of meters. [inferred]")
UP = Setting("Up axis of the file, such as y, z, x or -y. [inferred]")
FPS = Setting("Frame rate, which overrides that of the file.")
GAME_ENGINES = ("godot", "unity", "unreal")  # targets of exports besides file formats
ROLES = Setting("JSON or TOML file that maps roles to joints with unknown names.", metavar="MAP")
PARTIAL = Setting("Read the complete frames of a truncated file.")
LAYOUT = Setting(
    "Order of the points in a file with joint positions: humanml3d, smpl, h36m, coco, openpose, "
    "halpe, kinect, mediapipe, or a JSON or TOML file. For a robot CSV that is written: lafan or "
    "bones-seed. [inferred, lafan]",
    metavar="NAME|FILE",
)
STRICT = Setting("Raise an error for every deviation from the specification.")


@dataclass(frozen=True, kw_only=True)
class FormatOptions(Settings):
    """Rarely needed options of individual formats."""

    tpose: bool | None = setting(
        None,
        "BVH: whether frame 0 is a T-pose that was added before the capture. [inferred]",
        command=False,
    )
    max_gap: float | None = setting(
        None, "Acclaim: maximum length of a gap that is interpolated. [0.5]", unit="s"
    )
    smooth: bool | None = setting(
        None, "Joint positions: whether to remove noise. [if there is noise]"
    )
    strict: bool = setting(False, STRICT)


@dataclass(frozen=True, kw_only=True)
class LoadSettings(Settings):
    """Settings for reading a motion; see `motionloom.load`."""

    unit: str | float | None = setting(None, UNIT)
    fps: float | None = setting(None, FPS)
    up: str | None = setting(None, UP)
    roles: str | Path | Mapping[str, str] | None = setting(None, ROLES)
    layout: str | Path | Mapping[str, Any] | None = setting(None, LAYOUT)
    partial: bool = setting(False, PARTIAL)
    keep_carrier: bool = setting(
        False, "Keep joints above the hips. By default, the hips become the root."
    )
    format: FormatOptions = setting(FormatOptions(), "Options of individual formats.")
    animation: str | int | None = setting(
        None, "glTF, FBX, joint positions: name or number of the animation to read. [first]"
    )
    skeleton: str | int | Path | None = setting(
        None,
        "Figure to read: name of the ROOT (BVH), name or number of the skin (glTF), path or root "
        "of the skeleton (USD, FBX), person (joint positions), the .asf file of an Acclaim motion, "
        "or the model (.xml, .urdf) of a robot's motion. [first, or the file next to the motion]",
    )


@dataclass(frozen=True, kw_only=True)
class LoadMarkersSettings(Settings):
    """Settings for reading markers; see `motionloom.load_markers`."""

    unit: str | float | None = setting(None, UNIT)
    fps: float | None = setting(None, FPS)
    up: str | None = setting(None, UP)
    partial: bool = setting(False, PARTIAL)
    strict: bool = setting(False, STRICT)
    subject: str | None = setting(None, "C3D: read only the markers of this subject.")
    unlabeled: bool = setting(False, "C3D: also read points without a label.")
    zero_gaps: bool = setting(False, "C3D: treat points at exactly (0, 0, 0) as gaps.")


@dataclass(frozen=True, kw_only=True)
class SaveSettings(Settings):
    """Settings for writing a motion, markers or a scene; see `motionloom.save`."""

    unit: str | float | None = setting(None, "BVH, C3D, FBX, TRC: unit of the written file.")
    up: str | None = setting(None, "BVH, C3D, FBX: up axis of the written file.")
    order: str | None = setting(None, "BVH: order of the rotation channels, such as ZXY.")
    rest_frame: bool = setting(False, "BVH: write the rest pose as an additional first frame.")
    mesh: bool | str = setting(
        "body", "glTF, USD, FBX: figure that performs the motion (body, low, sticks or none)."
    )
    compact: bool = setting(
        False, "glTF: store rotations in 16 bits, and a single key for joints that never rotate."
    )
    decimals: int = setting(6, "CSV: number of digits after the decimal point.")
    layout: str | None = setting(
        None,
        "NPY: humanml3d or humanml3d-263. Robot CSV: lafan (meters, quaternion) or bones-seed "
        "(cm, degrees). [humanml3d, lafan]",
    )


@dataclass(frozen=True, kw_only=True)
class ConvertSettings(Settings):
    """Settings for converting files; see `motionloom.formats.presets.convert`."""

    preset: str | None = setting(
        None,
        "Use the unit, up axis, joint names and root bone of a program: blender, unreal, unity, "
        "maya, motionbuilder or mixamo.",
    )
    fps: float | None = setting(None, "Resample to this frame rate.")
    unit: str | None = setting(None, "Unit of the written file.")
    up: str | None = setting(None, "Up axis of the written file: y or z.")
    root: str | None = setting(
        None,
        "Put the travel over the floor into a root bone, or remove it. [in the hips]",
        metavar="bone|in-place",
    )
    from_unit: str | None = setting(None, "Unit of the files that are read. [inferred]")
    roles: str | None = setting(None, ROLES.help, metavar="MAP")
    layout: str | None = setting(None, LAYOUT)
    target_roles: str | None = setting(
        None, "The same for the skeleton of --onto or --character.", metavar="MAP"
    )
    animation: str | None = setting(
        None, "Take to convert if a file has several, or all. [first]", metavar="NAME|all"
    )
    onto: str | None = setting(None, "Retarget onto the skeleton of this file.", metavar="SKELETON")
    character: str | None = setting(
        None,
        "Retarget onto this character: a skinned GLB or FBX file, or a robot (.xml, .urdf).",
        metavar="FILE",
    )
    to: str | None = setting(
        None,
        "Format of the written files if OUT is a folder, such as glb or bvh; or humanml3d "
        "(22 joints at 20 fps, and the 263 features in a second file).",
        metavar="FORMAT",
    )
    clean: bool = setting(False, "Repair the take and remove foot skate before converting.")


@dataclass(frozen=True, kw_only=True)
class GameSettings(Settings):
    """Settings for exports to game engines; see `motionloom.formats.game_assets`."""

    character: str | None = setting(
        None,
        "Engines: use this character, a skinned GLB or FBX file.",
        metavar="FILE",
    )
    mesh: str = setting(
        "body", "Engines: figure if there is no character (body, low, sticks or none)."
    )
    max_error: float = setting(
        0.1, "Engines: drop keys while every joint stays this close.", unit="mm", least=0.0
    )
    separate: bool = setting(False, "Engines: write one file per take instead of one for all.")
    mirrored: bool = setting(False, "Engines: also write mirrored copies of the takes.")


@dataclass(frozen=True, kw_only=True)
class CleanSettings(Settings):
    """Settings for repairing takes; see `Motion.clean`, `Motion.contacts` and `clean_feet`."""

    repairs: str | None = setting(
        None,
        "Repairs to make, even if a take hardly needs them: sides, gaps, flips, range, jitter, "
        "drift, floor, feet. [those that the take needs]",
        metavar="NAME,...",
    )
    skip: str | None = setting(None, "Repairs to skip.", metavar="NAME,...")
    slow: float = setting(
        0.15, "A foot contact must contain a frame slower than this speed.", unit="m/s"
    )
    fast: float = setting(
        0.40, "A foot contact ends where the foot is faster than this speed.", unit="m/s"
    )
    rise: float = setting(
        0.025, "Maximum height of a standing foot above the ground below it.", unit="m"
    )
    above_floor: float = setting(
        0.07, "Maximum height of the ground above the floor. Stairs may be higher.", unit="m"
    )
    skate: float = setting(
        1.2,
        "Maximum speed at which a sliding foot still counts as planted. 0 turns this off.",
        unit="m/s",
    )
    ease: float = setting(0.25, "Time to blend into and out of a foot contact.", unit="s")
