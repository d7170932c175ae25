"""Joint roles: the position of a joint in the body, independent of its name.

Algorithms use roles, never joint names:

===========================  ==================================================================
``hips``                     the pelvis, where the legs meet
``spine``                    the first joint of the spine above the hips
``chest``                    where the collar bones (or arms) and the neck branch off
``neck``, ``head``           base of the neck, base of the skull
``head_top``                 the top of the head
``*_collar``                 clavicle (HumanIK ``LeftShoulder``, others ``LeftCollar``)
``*_shoulder``               the upper arm's joint (``LeftArm``, ``LeftUpperArm``)
``*_elbow``, ``*_wrist``     ``LeftForeArm``, ``LeftHand`` in HumanIK
``*_hand``                   the knuckles: base of a finger, or the hand's end site
``*_hip``, ``*_knee``        ``LeftUpLeg``, ``LeftLeg``
``*_ankle``, ``*_foot``      ``LeftFoot``; the ball of the foot, ``LeftToeBase``
``*_toe``                    the tip of the toes
===========================  ==================================================================

An end site may have a role. In a coarse skeleton, two roles may share one point: the end site of a
foot without a toe joint is both ``foot`` and ``toe``, and a single trunk joint is both ``spine``
and ``chest``. Shared roles have a lower confidence. If several joints coincide, as in CMU's
conversion, a joint at a distinct position is preferred. Roles of joints that a skeleton does not
have (collar bones, hands) are missing.

The naming scheme (the tool or data set that named the joints) is shown by ``info`` and ``doctor``
and used by export presets. Roles do not depend on it.

Users assign roles in a JSON or TOML file, with one line per role::

    # roles.toml
    left_hip = "Oberschenkel_links"
    head_top = ""          # no joint

Roles in the file override those found by name; other roles do not change. An empty name (or
``null`` in JSON) removes a role.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from motionloom.errors import MotionFormatError, RoleError
from motionloom.files import atomic_write, parse_json, parse_toml, read_regular_text
from motionloom.motion.roles.from_names import RolePoints, named_roles
from motionloom.motion.roles.from_shape import shape_roles
from motionloom.motion.roles.joint_names import Label, labels_of
from motionloom.motion.skeleton import BodyTree, Skeleton

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
__all__ = ["ROLES", "RoleAssignment", "assign_roles", "load_role_map", "save_role_map"]
_SIDES = ("left", "right")
_LIMBS = ("collar", "shoulder", "elbow", "wrist", "hand", "hip", "knee", "ankle", "foot", "toe")
ROLES: tuple[str, ...] = (
    "hips", "spine", "chest", "neck", "head", "head_top",
    *(f"{side}_{limb}" for side in _SIDES for limb in _LIMBS),
)  # fmt: skip
# Names alone are trusted if they yield at least this many of the roles that every person has.
_CORE = (
    "hips", "head",
    *(f"{side}_{part}" for side in _SIDES
      for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")),
)  # fmt: skip
_ENOUGH = 12


def scheme_of(names: Sequence[str]) -> str:
    """Return the name of the naming scheme, or ``"names"`` if it is unknown.

    Examples
    --------
    >>> scheme_of(["mixamorig:Hips", "mixamorig:LeftUpLeg"]), scheme_of(["a", "b"])
    ('mixamo', 'names')
    """
    return _scheme(tuple(names))


@lru_cache(maxsize=256)  # a library contains thousands of files in a few schemes
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


@dataclass(frozen=True)
class RoleAssignment:
    """The roles of a skeleton's points, and how they were found.

    Attributes
    ----------
    roles : dict of str to str
        Mapping from role to point name.
    scheme : str
        The naming scheme (``"cmu"``, ``"mixamo"``, ...), ``"names"`` for names that follow no
        known scheme, ``"shape"`` for the tree's shape, ``"map"`` for the user's mapping,
        ``"none"`` if nothing was found; several are joined by ``" + "``.
    confidence : mapping of str to float
        Confidence of each role that has a point, from 0 (a guess) to 1 (the name and the tree
        agree).
    point_names : tuple of str
        All joints and end sites of the skeleton.
    """

    roles: dict[str, str]
    scheme: str = "none"
    confidence: Mapping[str, float] = field(default_factory=dict)
    point_names: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Roles that the skeleton lacks."""
        return tuple(role for role in ROLES if role not in self.roles)

    @property
    def overall(self) -> float:
        """Mean confidence over all roles, from 0 to 1; a missing role counts as 0."""
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
                f"{_listed(self.point_names, 40)}.\nAssign the missing roles in a mapping "
                f'file, for example {{"{absent[0]}": "{_example(self.point_names)}"}} in '
                "roles.json, and pass roles.json as roles"
            )


def assign_roles(skeleton: Skeleton) -> RoleAssignment:
    """Assign roles to a skeleton's joints and end sites.

    Roles come from the names and the tree, or from the shape of the tree alone if the names do not
    help. The user's ``skeleton.role_map`` overrides both.

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
    points = named_roles(tree, labels)
    scheme = scheme_of(skeleton.names) if points else "none"
    if sum(role in points for role in _CORE) < _ENOUGH:
        shape = shape_roles(tree, labels)
        if shape and _agree(points, shape):
            scheme = f"{scheme} + shape" if points else "shape"
            points = {**shape, **points}
        elif shape:
            scheme, points = "shape", shape
    points = _discounted(points, labels)
    names = skeleton.point_names
    roles = {role: names[points[role][0]] for role in ROLES if role in points}
    confidence = {role: points[role][1] for role in roles}
    assignment = RoleAssignment(roles, scheme, confidence, names)
    if skeleton.role_map:
        assignment = apply_role_map(assignment, skeleton.role_map)
    return assignment


def _agree(named: RolePoints, shape: RolePoints) -> bool:
    """Return whether roles from names and roles from shape agree."""
    shared = [role for role in named if role in shape]
    same = sum(named[role][0] == shape[role][0] for role in shared)
    return same >= 0.7 * len(shared)


def _discounted(points: RolePoints, labels: Sequence[Label]) -> RolePoints:
    """Halve the confidence for a nonhuman body, which lacks a pair of limbs or has a tail."""
    legs = all(f"{side}_{part}" in points for side in _SIDES for part in ("hip", "knee"))
    arms = all(f"{side}_{part}" in points for side in _SIDES for part in ("shoulder", "elbow"))
    if (legs or arms) and not any(label.tail for label in labels):
        return points
    return {role: (point, 0.5 * sure) for role, (point, sure) in points.items()}


def unknown_role(role: str) -> str:
    """Return the error message for a role that does not exist."""
    near = difflib.get_close_matches(role, ROLES, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; roles are {', '.join(ROLES)}"
    return f"there is no role {role!r}{hint}"


def _listed(names: Sequence[str], most: int) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _example(names: Sequence[str]) -> str:
    return names[0] if names else "joint name"


def load_role_map(path: str | Path) -> dict[str, str | None]:
    """Read a mapping file, ``.json`` or ``.toml``.

    Returns
    -------
    role_map : dict of str to str or None
        Mapping from role to point name for `Skeleton.with_roles`; None removes a role.

    Raises
    ------
    MotionFormatError
        If the file is missing, cannot be parsed or names a role that does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_role_map({"hips": "Becken"}, f"{folder}/roles.json")
    ...     load_role_map(file)
    {'hips': 'Becken'}
    """
    path = Path(path)
    try:
        text = read_regular_text(path, encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise MotionFormatError(f"cannot read the role map: {reason}", path=path) from None
    except UnicodeDecodeError:
        raise MotionFormatError("a role map must be UTF-8 text", path=path) from None
    entries = _parsed(text, path)
    if not isinstance(entries, dict):
        raise MotionFormatError(
            'a role map must be an object such as {"hips": "Hips"}; '
            f"got {type(entries).__name__}",
            path=path,
        )
    entries = entries["roles"] if isinstance(entries.get("roles"), dict) else entries
    return {role: _entry(role, name, path) for role, name in entries.items()}


def save_role_map(roles: RoleAssignment | Mapping[str, str | None], path: str | Path) -> Path:
    """Write roles to a ``.json`` or ``.toml`` file atomically and return the path.

    Parameters
    ----------
    roles : RoleAssignment or mapping of role to point name
        For example ``skeleton.role_assignment``. Missing roles are written with empty names, for
        the user to fill in.
    path : str or Path
    """
    path = Path(path)
    entries: dict[str, str | None]
    if isinstance(roles, Mapping):
        entries = dict(roles)
    else:
        entries = {**roles.roles, **dict.fromkeys(roles.missing, "")}
    if _is_toml(path):
        text = "".join(
            f"{role} = {json.dumps(name or '', ensure_ascii=False)}\n"
            for role, name in entries.items()
        )
    else:
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
    with atomic_write(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
    return path


def apply_role_map(
    assignment: RoleAssignment, role_map: Mapping[str, str | None]
) -> RoleAssignment:
    """Override `assignment` with the roles given by the user.

    Raises
    ------
    RoleError
        If the mapping names a role or a point that does not exist.
    """
    given: dict[str, str] = {}
    for role, name in role_map.items():
        if role not in ROLES:
            raise RoleError(unknown_role(role))
        if not name:
            continue
        if name not in assignment.point_names:
            raise RoleError(_unknown_point(role, name, assignment.point_names))
        given[role] = name
    kept = {role: name for role, name in assignment.roles.items() if role not in role_map}
    roles = {role: {**kept, **given}[role] for role in ROLES if role in kept or role in given}
    return RoleAssignment(
        roles,
        "map" if not kept else f"{assignment.scheme} + map",
        {role: 1.0 if role in given else assignment.confidence[role] for role in roles},
        assignment.point_names,
    )


def _is_toml(path: Path) -> bool:
    if path.suffix.lower() not in (".json", ".toml"):
        raise MotionFormatError("the file name of a role map must end in .json or .toml", path=path)
    return path.suffix.lower() == ".toml"


def _parsed(text: str, path: Path):
    try:
        return parse_toml(text) if _is_toml(path) else parse_json(text)
    except json.JSONDecodeError as error:
        raise MotionFormatError(error.msg, path=path, line=error.lineno) from None
    except ValueError as error:  # from TOML, or numbers that are too large
        place = re.search(r"\(at line (\d+)", str(error))
        line = int(place[1]) if place else None
        raise MotionFormatError(str(error), path=path, line=line) from None


def _entry(role: str, name: object, path: Path) -> str | None:
    if role not in ROLES:
        raise MotionFormatError(unknown_role(role), path=path)
    if name is not None and not isinstance(name, str):
        raise MotionFormatError(
            f"{role} must be mapped to the name of a joint; got {name!r}", path=path
        )
    return name or None


def _unknown_point(role: str, name: str, points: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, points, n=3, cutoff=0.5)
    if not near:
        lower = name.lower()
        near = [point for point in points if lower in point.lower()][:3]
    if near:
        return (
            f"{role} is mapped to {name!r}, which is not in the skeleton; similar names: "
            f"{', '.join(near)}"
        )
    shown = ", ".join(points[:40]) + (f" and {len(points) - 40} more" if len(points) > 40 else "")
    return f"{role} is mapped to {name!r}, which is not in the skeleton; its points are: {shown}"
