"""Motions of the built-in corpus on the rigs: bodies of other shapes, axes and zero poses.

A rig says which joints there are; the corpus says how a body moves. Here joints with a role take
their place in the T-pose of a performer, the others lie in between, and every joint rotates with
the body part that it belongs to. So the positions of a motion are the same on every rig, whatever
its joint axes are: a reference that owes nothing to retargeting.

`axes` are the world axes of each joint in the T-pose, as columns. A BVH file has no other rest
pose than its zero pose, so its bones point along these axes: in the world's for a T-pose, all
along x for data sets that were written in the joint axes of an animation program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import motionloom as ml
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import BodyTree
from rigs import rig

Array = NDArray[np.float64]
Axes = Callable[[str, Array, float], Array]  # (role, direction of its bone, side) -> (3, 3)

LEFT, UP, AHEAD = np.eye(3)
_ARM = ("collar", "shoulder", "elbow", "wrist", "hand")
_LEG = ("hip", "knee", "ankle", "foot", "toe")
_TRUNK = ("hips", "spine", "chest", "neck", "head", "head_top")


@dataclass(frozen=True)
class Body:
    """A rig, the performer whose body it has, changes of that body, and joint axes.

    `shape` displaces roles in the T-pose (meters, for the left side; ``x`` is mirrored on the
    right): collars, chest and neck, never the limbs, so that feet stay where they stand.
    """

    rig: str
    performer: int = 0
    shape: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    axes: Axes = lambda *_: np.eye(3)
    carrier: bool = False

    def __hash__(self) -> int:
        return hash((self.rig, self.performer, self.carrier))


def _frame(**axes: Array) -> Array:
    """Rotation matrix with two axes given by name, the first exactly."""
    (single, first), (two, second) = (("xyz".index(name), axis) for name, axis in axes.items())
    first = first / np.linalg.norm(first)
    second = second - (second @ first) * first
    second = second / np.linalg.norm(second)
    columns = {single: first, two: second}
    third = 3 - single - two
    columns[third] = np.cross(columns[(third + 1) % 3], columns[(third + 2) % 3])
    return np.stack([columns[k] for k in range(3)], axis=-1)


def _part(role: str) -> str:
    return role.removeprefix("left_").removeprefix("right_")


def a_pose(role: str, bone: Array, side: float) -> Array:
    """Arms that hang by 50 degrees in the zero pose, legs that are spread by 8."""
    angle = {**dict.fromkeys(_ARM[1:], 50.0), **dict.fromkeys(_LEG[:2], -8.0)}.get(_part(role), 0.0)
    return rot.to_matrix(rot.from_axis_angle(AHEAD, side * np.radians(angle)))


def legs_apart(role: str, bone: Array, side: float) -> Array:
    """Legs spread by 20 degrees in the zero pose, as in CMU's conversion."""
    angle = -20.0 if _part(role) in _LEG[:2] else 0.0
    return rot.to_matrix(rot.from_axis_angle(AHEAD, side * np.radians(angle)))


def arms_down(role: str, bone: Array, side: float) -> Array:
    """Arms that hang straight down in the zero pose."""
    angle = 88.0 if _part(role) in _ARM[1:] else 0.0
    return rot.to_matrix(rot.from_axis_angle(AHEAD, side * np.radians(angle)))


def lying(role: str, bone: Array, side: float) -> Array:
    """A body that lies on its back in the zero pose."""
    return rot.to_matrix(rot.from_axis_angle(LEFT, np.pi / 2))


def facing_back(role: str, bone: Array, side: float) -> Array:
    """A body that faces -z in the zero pose."""
    return rot.to_matrix(rot.yaw(np.pi))


def along_x(role: str, bone: Array, side: float) -> Array:
    """All bones along +x, as in LAFAN1."""
    part = _part(role)
    if part in _TRUNK:
        return _frame(x=UP, y=AHEAD)
    if part in _ARM:
        return _frame(x=bone, y=-AHEAD)
    return _frame(x=bone, z=-LEFT)


def along_both_x(role: str, bone: Array, side: float) -> Array:
    """Bones of the left along +x, of the right along -x, pelvis and chest a quarter turn apart.

    As in the Bandai-Namco Research Motion Dataset.
    """
    part = _part(role)
    if part == "hips":
        return _frame(x=UP, y=-LEFT)
    if part in _TRUNK:
        return _frame(x=UP, z=LEFT)
    if part in _ARM:
        return _frame(x=side * bone, y=side * UP + 0.01 * AHEAD)
    return _frame(x=side * bone, y=LEFT)


def along_y(role: str, bone: Array, side: float) -> Array:
    """All bones along +y, z ahead or up, as Blender's bones."""
    part = _part(role)
    if part in _TRUNK:
        return _frame(y=UP, z=AHEAD)
    if part in _ARM:
        return _frame(y=bone, z=UP + 0.01 * AHEAD)
    return _frame(y=bone, x=LEFT)


def spine_to_the_side(role: str, bone: Array, side: float) -> Array:
    """World axes for the pelvis, all other bones along +x, as Rokoko writes them."""
    return np.eye(3) if role == "hips" else along_x(role, bone, side)


def along_minus_z(role: str, bone: Array, side: float) -> Array:
    """All bones along -z, with axes that no program would choose."""
    part = _part(role)
    if part in _TRUNK:
        return _frame(z=-UP, x=LEFT + AHEAD)
    return _frame(z=-bone, y=AHEAD + 0.3 * UP + 0.2 * LEFT)


NARROW = {"collar": (-0.015, -0.04, 0.02)}
ONE_PLACE = {"collar": (-0.03, -0.04, 0.02)}
SHORT_COLLARS = {"collar": (0.02, -0.005, 0.01), "shoulder": (-0.06, -0.01, -0.01)}
ON_THE_NECK = {"collar": (-0.025, 0.03, 0.0)}
LEANING = {"chest": (0, 0, -0.03), "neck": (0, 0, -0.05), "collar": (0, 0, -0.03),
           "shoulder": (0, 0, -0.03), "hips": (0, 0.02, 0.01)}  # fmt: skip
WIDE = {"collar": (0.01, 0.0, 0.01), "shoulder": (0.02, -0.02, 0.0), "spine": (0, 0.01, 0.02)}

BODIES: dict[str, Body] = {
    "cmu": Body("cmu", 0, ON_THE_NECK, legs_apart),
    "lafan1": Body("lafan1", 2, {}, along_x),
    "bandai": Body("bandai-namco", 3, SHORT_COLLARS, along_both_x, carrier=True),
    "mixamo": Body("mixamo", 1, LEANING),
    "smpl": Body("smpl", 2, LEANING),
    "motionbuilder": Body("humanik", 0, WIDE, carrier=True),
    "rokoko": Body("rokoko", 3, WIDE, a_pose),
    "xsens": Body("xsens", 1, NARROW, facing_back),
    "perception neuron": Body("perception neuron", 2, ON_THE_NECK),
    "biped": Body("biped", 0, {}, along_x, carrier=True),
    "rigify": Body("rigify", 1, LEANING, along_y),
    "makehuman": Body("makehuman", 3, WIDE, a_pose),
    "arms down": Body("lower case", 1, {}, arms_down),
    "lying": Body("soma", 2, NARROW, lying, carrier=True),
    "spine to the side": Body("rokoko", 2, WIDE, spine_to_the_side),
    "odd axes": Body("capitals", 0, NARROW, along_minus_z),
    "one place for both collars": Body("z up with hand ends", 3, ONE_PLACE, along_both_x),
}


@lru_cache(maxsize=64)
def performed(name: str, body: str) -> Motion:
    """A motion of the corpus on one of `BODIES`."""
    first = BODIES[body]
    source = ml.demo.clip(name, performer=first.performer)
    return on_body(source, first)


def on_body(source: Motion, body: Body) -> Motion:
    """A motion of the corpus, whose zero pose is a T-pose in world axes, on a body."""
    outline, roles = rig(body.rig)
    places, part_of = _places(outline, roles, source.skeleton, body.shape)
    joints = len(outline)
    bones = [_bone(outline, places, part_of, j) for j in range(joints)]
    axes = np.stack([
        rot.from_matrix(body.axes(part_of[j], bones[j], _side(part_of[j]))) for j in range(joints)
    ])  # fmt: skip
    parents = outline.parents
    offsets = np.zeros((joints, 3))
    for j in range(1, joints):
        offsets[j] = rot.rotate(rot.inverse(axes[parents[j]]), places[j] - places[parents[j]])
    ends = np.array([
        rot.rotate(rot.inverse(axes[p]), places[joints + e] - places[p])
        for e, p in enumerate(outline.end_parents)
    ]).reshape(-1, 3)  # fmt: skip
    skeleton = Skeleton(
        outline.names, parents, offsets, outline.end_names, outline.end_parents, ends
    )
    turned = source.global_rotations().astype(np.float64)
    tree = BodyTree(skeleton)
    hips = skeleton.names.index(roles["hips"])
    above = tree.path_up(hips)[1:]
    world = np.empty((len(source), joints, 4))
    for j in range(joints):
        point = source.skeleton.point(part_of[j])
        at = (
            point
            if point < len(source.skeleton)
            else source.skeleton.end_parents[point - len(source.skeleton)]
        )
        world[:, j] = rot.multiply(turned[:, at], axes[j])
    for j in above:
        world[:, j] = axes[j]
    local = world.copy()
    for j in range(1, joints):
        local[:, j] = rot.multiply(rot.inverse(world[:, parents[j]]), world[:, j])
    pelvis = source.skeleton.point("hips")
    place = source.positions()[:, pelvis].astype(np.float64)
    moved = np.asarray(body.shape.get("hips", (0.0, 0.0, 0.0)))
    place += rot.rotate(turned[:, pelvis], moved)
    translations = None
    root = place
    if above:  # a carrier that stands still, below the first place of the hips
        root = np.zeros_like(place)
        translations = np.broadcast_to(offsets, (len(source), joints, 3)).copy()
        for j in above[:-1]:
            translations[:, j] = 0.0
        translations[:, hips] = rot.rotate(rot.inverse(axes[parents[hips]]), place)
    return Motion(
        skeleton, rot.unroll(local), root, source.fps, translations=translations,
        name=f"{source.name} on {body.rig}",
    )  # fmt: skip


def _places(outline: Skeleton, roles, body: Skeleton, shape) -> tuple[Array, list[str]]:
    """T-pose places (J + E, 3) of the points of a rig, and the role each rotates with."""
    rest = BodyTree(body).rest_positions()
    at = {role: rest[body.point(role)].copy() for role in body.roles}
    for role, place in at.items():
        place += np.asarray(shape.get(_part(role), (0, 0, 0))) * [_side(role), 1.0, 1.0]
    names = outline.point_names
    role_of: dict[str, str] = {}
    for role, name in roles.items():
        role_of.setdefault(name, role)
    tree = BodyTree(outline)
    places = np.full((len(names), 3), np.nan)
    part_of = [""] * len(names)
    for point, name in enumerate(names):
        if name in role_of:
            places[point], part_of[point] = at[role_of[name]], role_of[name]
    for point in range(len(names)):
        if part_of[point]:
            continue
        parent = tree.parents[point]
        if parent < 0 or point in tree.path_up(names.index(roles["hips"])):
            places[point], part_of[point] = [0.0, 0.0, 0.0], "hips"
            continue
        part_of[point] = part_of[parent]
        below = [p for p in tree.below(point) if names[p] in role_of]
        if below and np.linalg.norm(outline.point_offsets[point]) > 0.0:
            # As far along as its place in the chain says.
            steps = len(tree.between(parent, below[0]))
            places[point] = places[parent] + (places[below[0]] - places[parent]) / steps
        elif below or point < len(outline) and not np.any(outline.offsets[point]):
            places[point] = places[parent]
        else:
            places[point] = places[parent] + [0.01 * _side(part_of[point]), 0.02, 0.01]
    return places, part_of


def _bone(outline: Skeleton, places: Array, part_of: list[str], joint: int) -> Array:
    """Direction of the bone of a joint: to the next joint of its limb."""
    tree = BodyTree(outline)
    part = _part(part_of[joint])
    limb = next(chain for chain in (_ARM, _LEG, _TRUNK) if part in chain)
    for point in tree.below(joint):
        if _part(part_of[point]) in limb[limb.index(part) + 1 :]:
            line = places[point] - places[joint]
            if np.linalg.norm(line) > 1e-3:
                return line / np.linalg.norm(line)
    parent = tree.parents[joint]
    line = places[joint] - places[parent] if parent >= 0 else UP
    return line / max(float(np.linalg.norm(line)), 1e-9) if np.linalg.norm(line) > 1e-3 else UP


def _side(role: str) -> float:
    return -1.0 if role.startswith("right_") else 1.0
