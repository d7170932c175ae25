"""Settings for reading and writing files: `load`, `load_markers` and `save`.

Each class lists the options of all formats. The registry raises an error for options that the
chosen format does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from motionloom.settings import Setting, Settings, setting

UNIT = Setting("Unit of the file: m, cm, mm, inch, foot, cmu, or meters per unit. [inferred]")
UP = Setting("Up axis of the file: y, z, x, -y ... [inferred]")
FPS = Setting("Override the frame rate of the file.")
ROLES = Setting("Role map (JSON or TOML) for joints with unknown names.", metavar="MAP")
PARTIAL = Setting("Read the complete frames of a truncated file.")
STRICT = Setting("Raise an error for every deviation from the specification.")


@dataclass(frozen=True, kw_only=True)
class FormatOptions(Settings):
    """Rarely needed options of individual formats."""

    tpose: bool | None = setting(
        None, "BVH: whether frame 0 is an added T-pose. [inferred]", command=False
    )
    max_gap: float | None = setting(None, "Acclaim: longest gap to interpolate. [0.5]", unit="s")


@dataclass(frozen=True, kw_only=True)
class LoadSettings(Settings):
    """Settings for reading a motion; see `motionloom.load`."""

    unit: str | float | None = setting(None, UNIT)
    fps: float | None = setting(None, FPS)
    up: str | None = setting(None, UP)
    roles: str | Path | Mapping[str, str] | None = setting(None, ROLES)
    partial: bool = setting(False, PARTIAL)
    strict: bool = setting(False, STRICT)
    keep_carrier: bool = setting(
        False, "Keep joints above the hips; by default the hips become the root."
    )
    format: FormatOptions = setting(FormatOptions(), "Options of individual formats.")
    animation: str | int | None = setting(
        None, "glTF, FBX: name or number of the animation to read. [first]"
    )
    skeleton: str | int | Path | None = setting(
        None,
        "Which figure of the file to read: name of the ROOT (BVH), name or number of the skin "
        "(glTF), path or root of the skeleton (USD, FBX); the .asf file of an Acclaim motion. "
        "[first]",
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

    unit: str | float | None = setting(None, "BVH, C3D, FBX: unit of the written file.")
    up: str | None = setting(None, "BVH, C3D, FBX: up axis of the written file.")
    order: str | None = setting(None, "BVH: order of the rotation channels.")
    rest_frame: bool = setting(False, "BVH: write the rest pose as a first frame.")
    mesh: bool | str = setting(
        "body", "glTF, USD, FBX: figure that shows the motion: body, low, sticks or none."
    )
    compact: bool = setting(
        False, "glTF: 16-bit rotations, and a single key for joints that never rotate."
    )
    decimals: int = setting(6, "CSV: digits after the decimal point.")


@dataclass(frozen=True, kw_only=True)
class ConvertSettings(Settings):
    """Settings for converting files; see `motionloom.formats.presets.convert`."""

    preset: str | None = setting(
        None,
        "Conventions of a program: blender, unreal, unity, maya, motionbuilder or mixamo "
        "(unit, axis, names, root).",
    )
    fps: float | None = setting(None, "Resample to this rate.")
    unit: str | None = setting(None, "Unit of the written file.")
    up: str | None = setting(None, "Up axis of the written file: y or z.")
    roles: str | None = setting(None, ROLES.help, metavar="MAP")
    onto: str | None = setting(None, "Retarget onto the skeleton of this file.", metavar="SKELETON")
    character: str | None = setting(
        None,
        "Retarget onto this character, a skinned GLB or FBX file, and keep its meshes.",
        metavar="FILE",
    )
    to: str | None = setting(
        None,
        "Format of the files when OUT is a folder: glb, bvh, ...",
        metavar="SUFFIX",
    )
    clean: bool = setting(False, "Remove foot skate first.")


@dataclass(frozen=True, kw_only=True)
class CleanSettings(Settings):
    """Settings for removing foot skate; see `Motion.contacts` and `Motion.clean_feet`."""

    slow: float = setting(0.15, "A contact contains a frame slower than this.", unit="m/s")
    fast: float = setting(0.40, "A contact ends where the foot is faster than this.", unit="m/s")
    rise: float = setting(0.025, "Maximum height of a standing foot above its ground.", unit="m")
    above_floor: float = setting(
        0.07, "Maximum height of the ground above the floor; stairs may be higher.", unit="m"
    )
    skate: float = setting(
        1.2,
        "Maximum speed of a standing foot that skates; 0 ignores sliding feet.",
        unit="m/s",
    )
    ease: float = setting(0.25, "Time to blend into and out of a contact.", unit="s")
