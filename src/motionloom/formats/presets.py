"""Conversion for other programs, with presets for unit, up axis, joint names and root bone.

- *blender*: meters, y up (Blender's importers rotate it), unchanged joint names;
- *unreal*: centimeters, z up, the joint names of the Mannequin (pelvis, spine_01, thigh_l ...),
  and a bone ``root`` on the floor that carries the root motion;
- *unity*: meters, y up, the names of Unity's human bones (Hips, LeftUpperLeg ...);
- *maya*, *motionbuilder*: centimeters, y up, the names of HumanIK (Hips, LeftUpLeg ...);
- *mixamo*: centimeters, y up, the names of Mixamo (mixamorig:Hips ...).

If the source has a root bone that travels on the floor, it is preserved. Other joints above the
hips are dropped. A preset also moves the motion onto the floor, with its first frame over the
origin and facing +Z. GLB files are always in meters with y up, as glTF prescribes, and importers
convert them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.formats.conventions import unique_names
from motionloom.formats.registry import writer_options
from motionloom.motion import Markers, Motion, Skeleton
from motionloom.motion.kinematics.root_carrier import Carrier, hips_as_root, with_carrier

_ON_THE_FLOOR = 0.05  # maximum distance of a root bone from the floor, in meters
_TRAVEL_SECONDS = 1.0  # about two steps: the hips sway once to each side
ROOTS = ("bone", "in-place")
_TRUNK = ("hips", "spine", "chest", "neck", "head")
_LIMBS = ("collar", "shoulder", "elbow", "wrist", "hip", "knee", "ankle", "foot")


def _names(trunk: str, limbs: str, *, left: str, right: str) -> dict[str, str]:
    """Map roles to joint names, which must be in the order of `_TRUNK` and `_LIMBS`.

    `left` and `right` are patterns that add the side to the name of a limb.
    """
    names = dict(zip(_TRUNK, trunk.split(), strict=True))
    for side, pattern in (("left", left), ("right", right)):
        for limb, name in zip(_LIMBS, limbs.split(), strict=True):
            names[f"{side}_{limb}"] = pattern.format(name)
    return names


_HUMANIK = _names(
    "Hips Spine Spine1 Neck Head",
    "Shoulder Arm ForeArm Hand UpLeg Leg Foot ToeBase",
    left="Left{}",
    right="Right{}",
)
_MIXAMO = {
    role: f"mixamorig:{'Spine2' if role == 'chest' else name}" for role, name in _HUMANIK.items()
}
_UNITY = _names(
    "Hips Spine Chest Neck Head",
    "Shoulder UpperArm LowerArm Hand UpperLeg LowerLeg Foot Toes",
    left="Left{}",
    right="Right{}",
)
_MANNEQUIN = _names(
    "pelvis spine_01 spine_03 neck_01 head",
    "clavicle upperarm lowerarm hand thigh calf foot ball",
    left="{}_l",
    right="{}_r",
)


@dataclass(frozen=True)
class Preset:
    """File conventions of another program.

    Attributes
    ----------
    unit, up : str
        Unit and up axis, for formats that do not prescribe them (BVH).
    names : mapping of role to joint name
        Names for joints that have a role. All other joints keep their names.
    ground_root : bool
        True if a bone on the floor carries the root motion and the hips move relative to it.
    """

    unit: str
    up: str = "y"
    names: Mapping[str, str] = field(default_factory=dict)
    ground_root: bool = False


PRESETS: dict[str, Preset] = {
    "blender": Preset("m"),
    "unreal": Preset("cm", up="z", names=_MANNEQUIN, ground_root=True),
    "unity": Preset("m", names=_UNITY),
    "maya": Preset("cm", names=_HUMANIK),
    "motionbuilder": Preset("cm", names=_HUMANIK),
    "mixamo": Preset("cm", names=_MIXAMO),
}


def convert(
    motion: Motion | Markers,
    *,
    fps: float | None = None,
    onto: Skeleton | Motion | None = None,
    character: str | None = None,
    clean: bool = False,
    preset: str | None = None,
    root: str | None = None,
) -> Motion | Markers:
    """Prepare a motion for another program by cleaning, retargeting and resampling it.

    Parameters
    ----------
    motion : Motion or Markers
        Motion to convert. Markers can only be resampled.
    fps : float, optional
        Frame rate to resample to.
    onto : Skeleton or Motion, optional
        Skeleton to retarget onto. For a motion, the joints above its hips are included.
    character : str, optional
        glTF or FBX file with a character to retarget onto (see
        `motionloom.formats.own_character`). Passing a motion from `load_character` as `onto` does
        the same.
    clean : bool
        Repair the take and remove foot skate first.
    preset : {"blender", "unreal", "unity", "maya", "motionbuilder", "mixamo"}, optional
        Conventions of the program that will read the file.
    root : {"bone", "in-place"}, optional
        Put the travel over the floor into a root bone (see `add_ground_root`), or remove it (see
        `in_place`).

    Raises
    ------
    InvalidInput
        If `motion` is markers and an option other than `fps` is set.

    Examples
    --------
    >>> import motionloom as ml
    >>> convert(ml.demo.clip("walk"), fps=60, preset="unity").fps
    60.0
    """
    if isinstance(motion, Markers):
        if onto or character or clean or preset or root:
            raise InvalidInput(
                f"{motion.name}: markers have no skeleton, so they can only be resampled"
            )
        return motion if fps is None else motion.resample(fps)
    if character is not None:
        from motionloom.formats.own_character import load_character

        if onto is not None:
            raise InvalidInput("retarget onto either a skeleton or a character, not both")
        onto = load_character(character)
    on_character = isinstance(onto, Motion) and onto.origin.character is not None
    if on_character and preset:
        raise InvalidInput(
            "a character keeps its joint names, so it cannot be combined with a preset"
        )
    if root not in (None, *ROOTS):
        raise InvalidInput(f"root must be one of {', '.join(ROOTS)}; got {root!r}")
    if clean:
        motion = motion.clean().clean_feet()
    quality = None
    if onto is not None:
        motion = motion.retarget(onto)
        quality = motion.quality
        if isinstance(onto, Motion) and not on_character:
            motion = with_carrier(motion, onto.origin.carrier)
    if fps is not None:
        motion = motion.resample(fps)
    if root == "in-place":
        motion = in_place(motion)
    motion = apply_preset(motion, preset) if preset else motion
    if root == "bone":
        motion = add_ground_root(motion)
    return motion if quality is None else motion.with_quality(quality)


def save_options(
    path: Path, *, preset: str | None = None, unit: str | None = None, up: str | None = None
) -> dict[str, Any]:
    """Return the `save` options for a preset. An explicit unit or up axis takes precedence.

    Some formats prescribe the unit and up axis (glTF files are in meters with y up). For such a
    format, the preset's values are ignored, and explicit values raise an error.

    Examples
    --------
    >>> save_options(Path("walk.bvh"), preset="unreal"), save_options(Path("a.glb"), preset="maya")
    ({'unit': 'cm', 'up': 'z'}, {})
    """
    accepted = writer_options(path)
    expected = None if preset is None else preset_named(preset)
    options: dict[str, Any] = {}
    if expected is not None:
        every = {"unit": expected.unit, "up": expected.up}
        options = {key: value for key, value in every.items() if key in accepted}
    for key, value in (("unit", unit), ("up", up)):
        if value is not None:
            if key not in accepted:
                raise InvalidInput(
                    f"--{key} is not available, because {path.suffix} files have a fixed {key}"
                )
            options[key] = value
    return options


def preset_named(name: str) -> Preset:
    """Return the preset named `name`."""
    if name not in PRESETS:
        raise InvalidInput(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]


def apply_preset(motion: Motion, name: str) -> Motion:
    """Place `motion` on the floor, and apply the joint names and root bone of a preset.

    Examples
    --------
    >>> import motionloom as ml
    >>> apply_preset(ml.demo.clip("walk"), "unreal").skeleton.names[:3]
    ('root', 'pelvis', 'spine_01')
    """
    wanted = preset_named(name)
    if not len(motion):
        raise InvalidInput(f"{motion.name or 'the motion'} has no frames")
    motion = place_on_floor(hips_as_root(motion))
    carrier = motion.origin.carrier
    motion = rename_joints(motion, wanted.names)
    motion = replace(motion, origin=replace(motion.origin, carrier=None))
    if carrier is not None and _travels_on_the_floor(motion, carrier):
        name = "root" if wanted.ground_root else carrier.names[-1]
        path = None if carrier.path is None else carrier.path[:, -1:]
        return with_carrier(motion, Carrier((name,), True, None, path))
    return add_ground_root(motion) if wanted.ground_root else motion


def _travels_on_the_floor(motion: Motion, carrier: Carrier) -> bool:
    """Return whether the joint above the hips is a root bone that carries the root motion."""
    if not carrier.moves or carrier.path is None or len(carrier.path) != len(motion):
        return False
    return float(np.abs(with_carrier(motion, carrier).root[:, 1]).max()) < _ON_THE_FLOOR


def place_on_floor(motion: Motion) -> Motion:
    """Place `motion` on the floor, with its first frame over the origin and facing +Z."""
    roles = motion.skeleton.roles
    feet = [role for role in ("left_toe", "right_toe", "left_foot", "right_foot") if role in roles]
    if feet:
        heights = motion.role_positions(feet)[:, :, 1].min(axis=1)
    else:
        heights = motion.positions(end_sites=True)[:, :, 1].min(axis=1)
    # The minimum may be a glitch, so a low percentile is used.
    drop = float(np.percentile(heights, 5.0))
    return motion.transform(shift=(0.0, -drop, 0.0)).starting_at_origin()


def rename_joints(motion: Motion, names: Mapping[str, str]) -> Motion:
    """Rename the joints of `motion` by role. `names` maps roles to names.

    Examples
    --------
    >>> import motionloom as ml
    >>> rename_joints(ml.demo.clip("walk"), {"head": "Skull"}).skeleton.roles["head"]
    'Skull'
    """
    skeleton = motion.skeleton
    new: dict[str, str] = {}
    for role, name in names.items():
        if role in skeleton.roles:
            new.setdefault(skeleton.roles[role], name)  # a joint with two roles has a single name
    others = [name for name in skeleton.point_names if name not in new]
    # A joint without a role must not use one of these names.
    new.update(zip(others, unique_names(others, taken=new.values()), strict=True))
    changed = replace(
        skeleton,
        names=tuple(new[name] for name in skeleton.names),
        end_names=tuple(new[name] for name in skeleton.end_names),
        role_map={role: new[point] for role, point in skeleton.roles.items()},
    )
    return replace(motion, skeleton=changed)


def in_place(motion: Motion) -> Motion:
    """Remove the travel over the floor, and keep the turns of the body and the sway of the hips.

    The travel is the path of the hips, averaged over a second.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = in_place(ml.demo.clip("walk"))
    >>> bool(abs(walk.root[:, [0, 2]]).max() < 0.1)
    True
    """
    motion = hips_as_root(motion)
    root = motion.root.astype(np.float64)
    reach = min(round(0.5 * _TRAVEL_SECONDS * motion.fps), len(root) - 1)
    if reach > 0:
        floor = root[:, [0, 2]]
        padded = np.pad(floor, ((reach, reach), (0, 0)), mode="reflect", reflect_type="odd")
        kernel = np.full(2 * reach + 1, 1.0 / (2 * reach + 1))
        travel = np.stack([np.convolve(column, kernel, "valid") for column in padded.T], axis=1)
        root[:, [0, 2]] = floor - travel
    return replace(motion, root=root, origin=replace(motion.origin, carrier=None))


def add_ground_root(motion: Motion, *, name: str = "root") -> Motion:
    """Add a root bone, on the floor below the hips, that carries the root motion.

    A motion whose root already has this name and is not the hips is returned unchanged.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = add_ground_root(ml.demo.clip("walk"))
    >>> walk.skeleton.names[0], float(abs(walk.root[:, 1]).max())
    ('root', 0.0)
    """
    skeleton = motion.skeleton
    if skeleton.names[0] == name and skeleton.roles.get("hips") != name:
        return motion
    return with_carrier(motion, Carrier((name,), moves=True))
