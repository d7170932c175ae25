"""Joint roles: the position of a joint in the body, independent of its name.

Algorithms use roles, never joint names:

=========================== ==========================================================
``hips``                    the pelvis, where the legs meet
``spine``                   the first joint of the spine above the hips
``chest``                   where the collar bones (or arms) and the neck branch off
``neck``, ``head``          base of the neck, base of the skull
``head_top``                the top of the head
``*_collar``                clavicle (HumanIK ``LeftShoulder``, others ``LeftCollar``)
``*_shoulder``              the upper arm's joint (``LeftArm``, ``LeftUpperArm``)
``*_elbow``, ``*_wrist``    ``LeftForeArm``, ``LeftHand`` in HumanIK's words
``*_hand``                  the knuckles: base of a finger, or the hand's end site
``*_hip``, ``*_knee``       ``LeftUpLeg``, ``LeftLeg``
``*_ankle``, ``*_foot``     ``LeftFoot``; the ball of the foot, ``LeftToeBase``
``*_toe``                   the tip of the toes
=========================== ==========================================================

An end site may have a role. In a coarse skeleton two roles may share one point (a foot without a
toe joint: its end site is both ``foot`` and ``toe``; a trunk of one joint is both ``spine`` and
``chest``); shared roles have a lower confidence. Where several joints coincide, as in CMU's
conversion, a joint at a distinct position is preferred. Roles of joints that a skeleton does not
have (collar bones, hands) are missing.

The naming scheme (the tool or data set that named the joints) is for information, shown by
``info`` and ``doctor``, and for export presets: roles do not depend on it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from motionloom.errors import RoleError
from motionloom.motion.roles.body_tree import BodyTree
from motionloom.motion.roles.from_names import RolePoints, named_roles
from motionloom.motion.roles.from_shape import shape_roles
from motionloom.motion.roles.joint_names import Label, labels_of
from motionloom.motion.roles.role_map import apply_role_map, load_role_map, save_role_map

if TYPE_CHECKING:
    from motionloom.motion.skeleton import Skeleton


# Scheme -> names that must all be present, without namespaces; the first scheme that matches
# wins. A pattern in slashes must match one name, namespace included.
_SCHEMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("mixamo", ("/^mixamorig/",)),
    ("vrm", ("/^J_Bip_C_/",)),
    ("biped", ("/Bip\\d+/",)),
    ("cmu", ("LHipJoint", "LowerBack", "LeftUpLeg")),
    ("acclaim", ("/^[lL]femur$/", "/^[lL]tibia$/")),
    ("bandai-namco", ("Shoulder_L", "UpperArm_L", "UpperLeg_L", "Toes_L")),
    ("second life", ("mPelvis", "mHipLeft")),
    ("smpl", ("/(^|avg_)pelvis$/i", "/(^|_)l(eft)?_?hip$/i", "/(^|_)l(eft)?_?ankle$/i")),
    ("unreal", ("pelvis", "thigh_l", "calf_l")),
    ("rigify", ("/thigh\\.L$/", "/shin\\.L$/", "/upper_arm\\.L$/")),
    ("makehuman", ("/^upperleg01[._]L$/",)),
    ("makehuman", ("/^UpLeg[._]L$/i", "/^LoLeg[._]L$/i")),
    ("daz", ("/^lThigh/", "/^lShldr/")),
    ("xsens", ("L5", "L3", "T12", "T8")),
    ("kinect", ("/^HipLeft$|^HIP_LEFT$/", "/^KneeLeft$|^KNEE_LEFT$/")),
    ("openpose", ("/^MidHip$/", "/^LKnee$/")),
    ("rokoko", ("LeftThigh", "LeftShin", "LeftArm")),
    ("mocopi", ("torso_1", "l_up_leg")),
    ("perception neuron", ("/(^|_)LeftInHandIndex$/", "/(^|_)LeftUpLeg$/")),
    ("perception neuron", ("/^Robot_Hips$/",)),
    ("lafan1", ("Spine2", "LeftUpLeg", "LeftToe", "LeftForeArm")),
    ("humanik", ("/LeftUpLeg$/", "/LeftForeArm$/")),
    ("xsens", ("Chest2", "LeftCollar", "LeftHip")),
    ("biovision", ("LeftCollar", "LeftHip", "LeftKnee")),
    ("unity", ("LeftUpperLeg", "LeftLowerLeg")),
)


def scheme_of(names: Sequence[str]) -> str:
    """Name of the naming scheme, or ``"names"`` if it is unknown.

    Examples
    --------
    >>> scheme_of(["mixamorig:Hips", "mixamorig:LeftUpLeg"]), scheme_of(["a", "b"])
    ('mixamo', 'names')
    """
    return _scheme(tuple(names))


@lru_cache(maxsize=256)  # a library holds thousands of files of a few schemes
def _scheme(names: tuple[str, ...]) -> str:
    bare = {re.split("[:|]", name)[-1] for name in names}
    lines = "\n".join([*names, *bare])
    for scheme, patterns in _SCHEMES:
        if all(_matches(pattern, bare, lines) for pattern in patterns):
            return scheme
    return "names"


def _matches(pattern: str, bare: set[str], lines: str) -> bool:
    if not pattern.startswith("/"):
        return pattern in bare
    pattern, _, flags = pattern[1:].rpartition("/")
    options = re.MULTILINE | (re.IGNORECASE if "i" in flags else 0)
    return re.search(pattern, lines, options) is not None


__all__ = ["ROLES", "RoleAssignment", "assign_roles", "load_role_map", "save_role_map"]

_SIDES = ("left", "right")
_LIMBS = ("collar", "shoulder", "elbow", "wrist", "hand", "hip", "knee", "ankle", "foot", "toe")
ROLES: tuple[str, ...] = (
    "hips", "spine", "chest", "neck", "head", "head_top",
    *(f"{side}_{limb}" for side in _SIDES for limb in _LIMBS),
)  # fmt: skip

# Names alone are trusted if they give this many of the roles that every person has.
_CORE = (
    "hips", "head",
    *(f"{side}_{part}" for side in _SIDES
      for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")),
)  # fmt: skip
_ENOUGH = 12


@dataclass(frozen=True)
class RoleAssignment:
    """Roles of the points of a skeleton, and how they were found.

    Attributes
    ----------
    roles : dict of str to str
        Role to point name.
    scheme : str
        The naming scheme (``"cmu"``, ``"mixamo"``, ...), ``"names"`` for names of no
        known scheme, ``"shape"`` for the tree's shape, ``"map"`` for the user's mapping,
        ``"none"`` if nothing was found; several are joined by ``" + "``.
    confidence : mapping of str to float
        For each role found, from 0 (a guess) to 1 (its name and the tree agree).
    point_names : tuple of str
        All joints and end sites of the skeleton.
    """

    roles: dict[str, str]
    scheme: str = "none"
    confidence: Mapping[str, float] = field(default_factory=dict)
    point_names: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Roles without a point."""
        return tuple(role for role in ROLES if role not in self.roles)

    @property
    def overall(self) -> float:
        """Mean confidence over all roles, 0 to 1; a missing role counts as zero."""
        return sum(self.confidence.get(role, 0.0) for role in ROLES) / len(ROLES)

    def require(self, roles: Sequence[str]) -> None:
        """Raise `RoleError` if any of `roles` is missing."""
        unknown = [role for role in roles if role not in ROLES]
        if unknown:
            raise RoleError(unknown_role(unknown[0]))
        absent = [role for role in roles if role not in self.roles]
        if absent:
            raise RoleError(
                f"no joint has the role {_listed(absent, 8)}. The skeleton has: "
                f"{_listed(self.point_names, 40)}.\nGive the roles of joints in a mapping "
                f'file, for example {{"{absent[0]}": "{_example(self.point_names)}"}} in '
                "roles.json, and give roles.json as roles"
            )


def assign_roles(skeleton: Skeleton) -> RoleAssignment:
    """Roles of a skeleton's joints and end sites.

    From names and tree, from the shape of the tree where names do not help; the user's
    ``skeleton.role_map`` overrides both.

    Raises
    ------
    RoleError
        If the user's mapping names a role or a point that does not exist.

    Examples
    --------
    >>> from motionloom.motion import Skeleton
    >>> leg = Skeleton(["pelvis", "thigh_l", "calf_l", "foot_l"], [-1, 0, 1, 2],
    ...                [[0, 1, 0], [0.1, 0, 0], [0, -0.4, 0], [0, -0.4, 0]])
    >>> assign_roles(leg).roles["left_knee"]
    'calf_l'
    """
    tree = BodyTree(skeleton)
    labels = labels_of(skeleton.names)
    found = named_roles(tree, labels)
    scheme = scheme_of(skeleton.names) if found else "none"
    if sum(role in found for role in _CORE) < _ENOUGH:
        shape = shape_roles(tree, labels)
        if shape and _agree(found, shape):
            scheme = f"{scheme} + shape" if found else "shape"
            found = {**shape, **found}
        elif shape:
            scheme, found = "shape", shape
    found = _discounted(found, labels)
    names = skeleton.point_names
    roles = {role: names[found[role][0]] for role in ROLES if role in found}
    confidence = {role: found[role][1] for role in roles}
    assignment = RoleAssignment(roles, scheme, confidence, names)
    if skeleton.role_map:
        assignment = apply_role_map(assignment, skeleton.role_map)
    return assignment


def _agree(named: RolePoints, shape: RolePoints) -> bool:
    """Whether roles from names and roles from shape agree."""
    shared = [role for role in named if role in shape]
    same = sum(named[role][0] == shape[role][0] for role in shared)
    return same >= 0.7 * len(shared)


def _discounted(found: RolePoints, labels: Sequence[Label]) -> RolePoints:
    """Halve the confidence where the body is not a person: no pair of limbs, or a tail."""
    legs = all(f"{side}_{part}" in found for side in _SIDES for part in ("hip", "knee"))
    arms = all(f"{side}_{part}" in found for side in _SIDES for part in ("shoulder", "elbow"))
    if (legs or arms) and not any(label.tail for label in labels):
        return found
    return {role: (point, 0.5 * sure) for role, (point, sure) in found.items()}


def unknown_role(role: str) -> str:
    """Message for a role that does not exist."""
    near = difflib.get_close_matches(role, ROLES, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; roles are {', '.join(ROLES)}"
    return f"there is no role {role!r}{hint}"


def _listed(names: Sequence[str], most: int) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _example(names: Sequence[str]) -> str:
    return names[0] if names else "joint name"
