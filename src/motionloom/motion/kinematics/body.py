"""Body measurements: heading, height, leg length and center of mass.

Heights are sums of bone lengths along the leg and trunk and do not depend on the rest pose or on
the axes of the file. Parts that no bone covers (below the ankle, and above the head joint if no
end site marks the top) are a fixed fraction of the height.

Segment masses as fractions of the whole, and the position of each segment's center between its
ends, are the mean of women and men in [1]_. If a skeleton has no hands or feet, their masses are
added to the forearms and ankles.

References
----------
.. [1] P. de Leva. Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters. Journal of
   Biomechanics 29(9), 1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion.roles.joint_names import split_words
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import BodyTree, Skeleton

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion


GRAVITY = 9.81  # m/s^2
_SIDES = ("hip", "shoulder")


def headings(motion: Motion) -> NDArray[np.float64]:
    """Facing direction of every frame, shape (T,); see `Motion.headings`."""
    return np.unwrap(np.angle(facing(motion)))


def facing(motion: Motion, points: NDArray[np.float32] | None = None) -> NDArray[np.complex128]:
    """Facing direction of every frame as a unit complex number, shape (T,).

    Parameters
    ----------
    motion : Motion
    points : ndarray, shape (T, J + E, 3), optional
        ``motion.positions(end_sites=True)``, if already computed.

    Returns
    -------
    facing : ndarray of complex, shape (T,)
        ``cos(h) + i sin(h)`` of the heading `h`: 1 faces +Z, ``1j`` faces +X; NaN in frames
        with missing values.
    """
    roles = motion.skeleton.roles
    sides = [side for side in _SIDES if f"left_{side}" in roles and f"right_{side}" in roles]
    if not sides:
        hips = roles.get("hips")
        turned = motion.rotations[:, 0]
        if hips in motion.skeleton.names[1:]:
            turned = motion.global_rotations()[:, motion.skeleton.joint(hips)]
        return np.exp(1j * rot.yaw_angle(turned))
    if points is None:
        points = motion.positions(end_sites=True)
    across = np.zeros((len(points), 3))
    for side in sides:
        across += points[:, motion.skeleton.point(f"left_{side}")]
        across -= points[:, motion.skeleton.point(f"right_{side}")]
    # Perpendicular to the line from right to left, on the floor: across x up.
    direction = across[:, 0] - 1j * across[:, 2]
    length = np.abs(direction)
    upright = length > 0.0
    return np.where(
        upright | np.isnan(length), direction / np.where(upright, length, 1.0), 1.0 + 0.0j
    )


def hips_path(motion: Motion) -> NDArray[np.float32]:
    """World positions (T, 3) of the hips, or of the root if no joint has this role.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> bool(np.array_equal(hips_path(walk), walk.root))  # its root is the hips
    True
    """
    name = motion.skeleton.roles.get("hips")
    if name is None or name == motion.skeleton.names[0]:
        return motion.root
    return motion.role_positions(["hips"])[:, 0]


# Fractions of the height. The ankle joint's height above the sole is from Winter, Biomechanics
# and Motor Control of Human Movement (2009), figure 4.1; skull base to crown as in SMPL's mean.
_BELOW_ANKLE = 0.039
_ABOVE_HEAD = 0.10
# For rigs without a head: medians over 60 rigs from 14 naming schemes. The first is between 0.77
# and 0.86 for all of them, the second between 0.47 and 0.54 for all but one.
_ANKLE_TO_NECK = 0.82
_HIP_TO_ANKLE = 0.505


def body_height(skeleton: Skeleton) -> float | None:
    """Standing height in the unit of the skeleton, or None if roles are missing.

    Needs one complete leg. Without hips or head, the height is estimated from the leg and, if
    there is one, from the trunk up to the neck.

    Examples
    --------
    >>> from motionloom.motion import Skeleton
    >>> names = ["Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "Spine", "Neck", "Head"]
    >>> bones = [[0, 0, 0], [9, -8, 0], [0, -42, 0], [0, -43, 0], [0, 20, 0], [0, 30, 0], [0, 9, 0]]
    >>> round(body_height(Skeleton(names, [-1, 0, 1, 2, 0, 4, 5], bones)))
    177
    """
    roles = skeleton.roles
    point = {name: index for index, name in enumerate(skeleton.point_names)}
    at = {role: point[name] for role, name in roles.items()}
    tree = BodyTree(skeleton)
    legs = [
        tree.length(at[f"{side}_hip"], at[f"{side}_ankle"])
        for side in ("left", "right")
        if {f"{side}_hip", f"{side}_knee", f"{side}_ankle"} <= at.keys()
    ]
    if not legs:
        return None
    leg = sum(legs) / len(legs)
    end = next((role for role in ("head", "neck") if role in at), None)
    if end is None or "hips" not in at:
        return leg / _HIP_TO_ANKLE if leg > 0.0 else None
    measured = leg + _trunk(skeleton, tree, at, end)
    measured += _hip_drop(skeleton, tree, at, end) + _dropped_chest(skeleton, tree, at, end)
    if measured <= 0.0:
        return None
    if end == "neck":
        return float(measured / _ANKLE_TO_NECK)
    top = tree.length(at["head"], at["head_top"]) if "head_top" in at else 0.0
    unmeasured = _BELOW_ANKLE
    if 0.03 * measured < top < 0.25 * measured:
        measured += top
    else:  # no end site on the head, or one without a meaningful length
        unmeasured += _ABOVE_HEAD
    return float(measured / (1.0 - unmeasured))


def leg_length(skeleton: Skeleton) -> float:
    """Return the length of the legs from hip to ankle along the bones, averaged over both sides.

    Raises
    ------
    RoleError
        If a hip or an ankle is missing.

    Examples
    --------
    >>> import motionloom as ml
    >>> skeleton = ml.demo.clip("walk").skeleton
    >>> round(leg_length(skeleton.scaled(2.0)) / leg_length(skeleton), 6)
    2.0
    """
    tree = BodyTree(skeleton)
    legs = [skeleton.points([f"{side}_hip", f"{side}_ankle"]) for side in ("left", "right")]
    return float(np.mean([tree.length(int(hip), int(ankle)) for hip, ankle in legs]))


@dataclass(frozen=True)
class BodyProportions:
    """Proportions of a skeleton that stands upright, in leg lengths.

    Attributes
    ----------
    leg : float
        Leg length from hip to ankle, in the unit of the skeleton.
    hips, head : float
        Heights of the hips (the pelvis joint) and of the head above the hip joints.
    hip_width : float
        Distance between the hip joints.
    up : ndarray, shape (3,)
        Unit vector along the trunk, pointing up, in the frame of the hips.
    """

    leg: float
    hips: float
    head: float
    hip_width: float
    up: NDArray[np.float64]


def body_proportions(skeleton: Skeleton) -> BodyProportions | None:
    """Positions of hips and head relative to the legs, or None if roles are missing.

    Examples
    --------
    >>> import motionloom as ml
    >>> own = body_proportions(ml.demo.clip("walk").skeleton)
    >>> 0.0 < own.hips < 0.15, 0.6 < own.head < 0.8
    (True, True)
    """
    needed = ("hips", "head", "left_hip", "right_hip", "left_ankle", "right_ankle")
    if any(role not in skeleton.roles for role in needed):
        return None
    point = {name: index for index, name in enumerate(skeleton.point_names)}
    at = {role: point[name] for role, name in skeleton.roles.items()}
    tree = BodyTree(skeleton)
    leg = leg_length(skeleton)
    left, right = (_offset(skeleton, tree, at["hips"], at[f"{s}_hip"]) for s in ("left", "right"))
    spine = _offset(skeleton, tree, at["hips"], at.get("spine", at["head"]))
    if np.linalg.norm(spine) <= tree.near:
        spine = _offset(skeleton, tree, at["hips"], at["head"])
    length = float(np.linalg.norm(spine))
    if leg <= tree.near or length <= tree.near:
        return None
    hips = _hip_drop(skeleton, tree, at, "head") / leg
    return BodyProportions(
        leg=leg,
        hips=hips,
        head=_trunk(skeleton, tree, at, "head") / leg + hips,
        hip_width=float(np.linalg.norm(left - right)) / leg,
        up=spine / length,
    )


def _trunk(skeleton: Skeleton, tree: BodyTree, at: dict[str, int], end: str) -> float:
    """Return the length along the bones from the hips to the joint `end`, excluding detours.

    This matters for Second Life, whose spine goes up and comes back twice to hold bones that older
    bodies do not have.
    """
    places, lengths = [np.zeros(3)], [0.0]
    for point in tree.between(at["hips"], at[end]):
        offset = skeleton.point_offsets[point]
        place, length = places[-1] + offset, lengths[-1] + float(np.linalg.norm(offset))
        back = [n for n, old in enumerate(places) if np.linalg.norm(place - old) <= tree.near]
        if back:
            del places[back[0] + 1 :], lengths[back[0] + 1 :]
        else:
            places.append(place)
            lengths.append(length)
    return lengths[-1] or tree.length(at["hips"], at[end])


def _hip_drop(skeleton: Skeleton, tree: BodyTree, at: dict[str, int], end: str) -> float:
    """Return how far the hip joints are below the hips, measured against the spine direction."""
    hips = at["hips"]
    spine = _offset(skeleton, tree, hips, at.get("spine", at[end]))
    if np.linalg.norm(spine) <= tree.near:
        spine = _offset(skeleton, tree, hips, at[end])
    length = float(np.linalg.norm(spine))
    sides = [at[role] for role in ("left_hip", "right_hip") if role in at]
    if length <= tree.near:
        return 0.0
    middle = np.mean([_offset(skeleton, tree, hips, joint) for joint in sides], axis=0)
    return float(-(middle @ spine) / length)


def _dropped_chest(skeleton: Skeleton, tree: BodyTree, at: dict[str, int], end: str) -> float:
    """Return the length of the chest for files that place the neck at the chest.

    The converted CMU files lack the thorax bone, which is as long as each of the spine bones below
    it: for subject 1, these bones are 2.065, 2.050 and 2.045 units long in the Acclaim original.
    """
    if "chest" not in at:
        return 0.0
    above = tree.between(at["chest"], at[end])[: None if end == "neck" else -1]
    if not above or tree.apart(at["chest"], above[0]):
        return 0.0
    if "neck" not in split_words(skeleton.point_names[above[0]]):
        return 0.0
    collars = [at[role] for role in ("left_collar", "right_collar") if role in at]
    if any(tree.apart(at["chest"], collar) for collar in collars):
        return 0.0  # the chest reaches up to the collars: it has its length
    way = tree.between(at["hips"], at["chest"])
    bones = [tree.reach[p] - tree.reach[tree.parents[p]] for p in way]
    bones = [bone for bone in bones if bone > tree.near]
    return sum(bones) / len(bones) if bones else 0.0


def _offset(skeleton: Skeleton, tree: BodyTree, top: int, bottom: int):
    """Return the offset between two points, with bones laid end to end in their local frames."""
    return sum((skeleton.point_offsets[p] for p in tree.between(top, bottom)), np.zeros(3))


# Fraction of the mass, position of the center from the first end to the second, and both ends: the
# first of the listed roles that the skeleton has.
_SEGMENTS = (
    (0.068, 0.60, ("neck", "head"), ("head_top", "head")),
    (0.430, 0.55, ("hips",), ("neck", "chest", "spine", "head")),
    *(
        segment
        for side in ("left", "right")
        for segment in (
            (0.026, 0.58, (f"{side}_shoulder",), (f"{side}_elbow",)),
            (0.015, 0.46, (f"{side}_elbow",), (f"{side}_wrist", f"{side}_hand")),
            (0.006, 0.75, (f"{side}_wrist",), (f"{side}_hand", f"{side}_wrist")),
            (0.145, 0.38, (f"{side}_hip",), (f"{side}_knee",)),
            (0.046, 0.44, (f"{side}_knee",), (f"{side}_ankle",)),
            (0.013, 0.42, (f"{side}_ankle",), (f"{side}_toe", f"{side}_foot", f"{side}_ankle")),
        )
    ),
)
_NEEDED = 0.8  # fraction of the mass that must be known


def center_of_mass(motion: Motion) -> NDArray[np.float64]:
    """Center of mass of the body in every frame.

    Parameters
    ----------
    motion : Motion
        Body segments whose roles the skeleton lacks are skipped.

    Returns
    -------
    center : ndarray, shape (T, 3)
        Position in meters.

    Raises
    ------
    RoleError
        If less than 80 % of the body's mass is known.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> bool(np.all(abs(center_of_mass(walk) - walk.root) < 0.25))
    True
    """
    roles = motion.skeleton.roles
    places = motion.positions(end_sites=True).astype(np.float64)
    total = np.zeros((len(motion), 3))
    mass = 0.0
    for share, part, *ends in _SEGMENTS:
        chosen = [next((role for role in names if role in roles), None) for names in ends]
        if None in chosen:
            continue
        first, second = (places[:, motion.skeleton.point(str(role))] for role in chosen)
        total += share * (first + part * (second - first))
        mass += share
    if mass < _NEEDED:
        raise RoleError(
            f"the center of mass needs the joints of the trunk, arms and legs; the skeleton only "
            f"has roles for {100 * mass:.0f} % of the body: {', '.join(roles) or 'none'}"
        )
    return total / mass
