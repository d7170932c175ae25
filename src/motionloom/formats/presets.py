"""What a program expects of a file: unit, up axis, joint names, where the root moves.

- *blender*: metres, y up (its importers turn it), joint names as they are;
- *unreal*: centimetres, z up, the Mannequin's names (pelvis, spine_01, thigh_l ...), and a
  bone ``root`` on the floor that carries the way;
- *unity*: metres, y up, the names of Unity's human bones (Hips, LeftUpperLeg ...);
- *maya*: centimetres, y up, HumanIK's names (Hips, LeftUpLeg ...).

A preset also sets the take down: on the floor, the first frame over the origin and facing
forward. GLB files are always in metres with y up, as glTF says; importers know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.formats.conventions import free_names
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

_TRUNK = ("hips", "spine", "chest", "neck", "head")
_LIMBS = ("collar", "shoulder", "elbow", "wrist", "hip", "knee", "ankle", "foot")


def _names(trunk: str, limbs: str, *, left: str, right: str) -> dict[str, str]:
    """Role to joint name, from the names in the order of `_TRUNK` and `_LIMBS`.

    `left` and `right` are patterns that put the side to a limb's name.
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
    """What one program expects.

    Attributes
    ----------
    unit : str
        For formats that leave it open (BVH, USD).
    up : str
        Likewise.
    names : mapping of role to joint name
        Joints that play a role are renamed; all others keep their names.
    ground_root : bool
        Whether a bone on the floor carries the way, and the hips move in its frame.
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
}


def preset(name: str) -> Preset:
    """The preset called `name`; the error lists those there are."""
    if name not in PRESETS:
        raise InvalidInput(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]


def prepared(motion: Motion, name: str) -> Motion:
    """`motion` as the program of preset `name` wants it: set down, renamed, with its root.

    Examples
    --------
    >>> import motionloom as ml
    >>> prepared(ml.demo.clip("walk"), "unreal").skeleton.names[:3]
    ('root', 'pelvis', 'spine_01')
    """
    wanted = preset(name)
    if not len(motion):
        raise InvalidInput(f"{motion.name or 'the motion'} has no frames to prepare")
    motion = renamed(set_down(motion), wanted.names)
    return with_ground_root(motion) if wanted.ground_root else motion


def set_down(motion: Motion) -> Motion:
    """On the floor, the first frame over the origin and facing +Z."""
    roles = motion.skeleton.roles
    feet = [role for role in ("left_toe", "right_toe", "left_foot", "right_foot") if role in roles]
    if feet:
        heights = motion.role_positions(feet)[:, :, 1].min(axis=1)
    else:
        heights = motion.positions(end_sites=True)[:, :, 1].min(axis=1)
    # Not the very lowest frame, which may be a glitch, but what the feet come down to.
    drop = float(np.percentile(heights, 5.0))
    return motion.transform(shift=(0.0, -drop, 0.0)).starting_at_origin()


def renamed(motion: Motion, names: Mapping[str, str]) -> Motion:
    """`motion` with the joints that play a role called by `names` (role to name).

    Examples
    --------
    >>> import motionloom as ml
    >>> renamed(ml.demo.clip("walk"), {"head": "Skull"}).skeleton.roles["head"]
    'Skull'
    """
    skeleton = motion.skeleton
    new: dict[str, str] = {}
    for role, name in names.items():
        if role in skeleton.roles:
            new.setdefault(skeleton.roles[role], name)  # a joint of two roles has one name
    others = [name for name in skeleton.point_names if name not in new]
    # A joint without a role must not steal a name.
    new.update(zip(others, free_names(others, taken=new.values()), strict=True))
    changed = replace(
        skeleton,
        names=tuple(new[name] for name in skeleton.names),
        end_names=tuple(new[name] for name in skeleton.end_names),
        role_map={role: new[point] for role, point in skeleton.roles.items()},
    )
    return replace(motion, skeleton=changed)


def with_ground_root(motion: Motion, *, name: str = "root") -> Motion:
    """`motion` with a new root on the floor below the hips, which travels and turns.

    A skeleton whose root is called so already, and is not the hips, has one.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = with_ground_root(ml.demo.clip("walk"))
    >>> walk.skeleton.names[0], float(abs(walk.root[:, 1]).max())
    ('root', 0.0)
    """
    skeleton = motion.skeleton
    if skeleton.names[0] == name and skeleton.roles.get("hips") != name:
        return motion
    (name,) = free_names([name], taken=skeleton.point_names)
    heading = motion.headings()
    turn = rot.yaw(heading)
    way = motion.root.astype(np.float64) * [1.0, 0.0, 1.0]
    rotations = np.concatenate([turn[:, None], motion.rotations.astype(np.float64)], axis=1)
    rotations[:, 1] = rot.multiply(rot.inverse(turn), rotations[:, 1])
    moved = motion.translations
    if moved is None:
        moved = np.broadcast_to(skeleton.offsets, (len(motion), len(skeleton), 3))
    moved = np.concatenate([np.zeros((len(motion), 1, 3)), moved], axis=1)
    moved[:, 1] = rot.rotate(rot.inverse(turn), motion.root.astype(np.float64) - way)
    offsets = np.concatenate([np.zeros((1, 3)), skeleton.offsets])
    offsets[1] = moved[:, 1].mean(axis=0)
    rest = skeleton.rest
    grown = Skeleton(
        (name, *skeleton.names),
        np.concatenate([[-1], skeleton.parents + 1]),
        offsets,
        skeleton.end_names,
        skeleton.end_parents + 1,
        skeleton.end_offsets,
        None if rest is None else np.concatenate([rot.IDENTITY[None], rest]),
        dict(skeleton.roles),
    )
    return replace(motion, skeleton=grown, rotations=rotations, root=way, translations=moved)
