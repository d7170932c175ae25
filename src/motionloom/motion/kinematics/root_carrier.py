"""Carrier joints: joints above the hips that are not part of the body.

Many rigs have one or more joints above the hips: ``joint_Root`` (Bandai-Namco), ``root`` (Unreal),
``Armature`` (Blender, Mixamo), ``Reference`` (MotionBuilder, Xsens). Such a carrier stands still at
the origin, travels on the floor below the body, or moves with the hips, depending on the program
that wrote the file. To hide these differences, `hips_as_root` composes the carrier's motion into
the hips and stores the carrier in ``motion.origin.carrier``. `with_carrier` is the inverse, for
files that need the joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.roles.joint_names import labels_of
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import BodyTree, Skeleton

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]

_STILL = 1e-5  # meters, and units of quaternion components: smaller changes are rounding errors
_UPRIGHT = 0.999  # cosine: a carrier with another up axis than y rotates by 90 degrees


@dataclass(frozen=True)
class Carrier:
    """Joints above the hips in the source file of a motion.

    Attributes
    ----------
    names : tuple of str, length C
        The joints from the top down; the last one is the parent of the hips.
    moves : bool
        True if the last of these joints moves in the world.
    placement : tuple of 7 floats, length C, or None
        Position (meters) and rotation ``wxyz`` of each joint, in the world if the carrier stands
        still, or in the frame of the hips if it moves with them. None if it is not constant in
        either frame.
    path : ndarray, shape (T, C, 7), or None
        Position and rotation of each joint relative to the hips in every frame, if not constant.
        Libraries do not store this path. Without it, the carrier is placed on the floor below the
        hips.
    left_out : tuple of str
        Points below the carrier that are not below the hips, such as IK targets, props and cameras.
        They are not part of the motion.

    Examples
    --------
    >>> Carrier(("joint_Root",), placement=((0, 0, 0, 1, 0, 0, 0),)).text("Hips")
    "'joint_Root' above 'Hips' stands still"
    """

    names: tuple[str, ...]
    moves: bool = False
    placement: tuple[tuple[float, ...], ...] | None = None
    path: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    left_out: tuple[str, ...] = ()

    def text(self, hips: str) -> str:
        """Describe the carrier in one sentence."""
        names = ", ".join(map(repr, self.names))
        how = "stands still"
        if self.moves:
            how = "follows a separate path" if self.placement is None else "moves with it"
        out = ""
        if self.left_out:
            shown = ", ".join(self.left_out[:5]) + (", ..." if len(self.left_out) > 5 else "")
            out = f"; {shown} skipped, not part of the body"
        return f"{names} above {hips!r} {how}{out}"

    def frames(self, chosen: slice) -> Carrier:
        """Return the carrier for the selected frames of the motion."""
        return self if self.path is None else replace(self, path=self.path[chosen])

    def resampled(self, before: NDArray, after: NDArray, share: Array) -> Carrier:
        """Interpolate the carrier between frames `before` and `after` with weight `share`."""
        if self.path is None or not len(self.path):
            return self
        a, b = self.path[before].astype(np.float64), self.path[after].astype(np.float64)
        mixed = a + share[:, None, None] * (b - a)
        mixed[..., 3:] = rot.slerp(a[..., 3:], b[..., 3:], share[:, None])
        return replace(self, path=mixed.astype(np.float32))

    def to_json(self) -> dict[str, Any]:
        """Return the carrier as JSON-compatible data, without its path."""
        return {
            "names": list(self.names),
            "moves": self.moves,
            "placement": None if self.placement is None else [list(p) for p in self.placement],
            "left_out": list(self.left_out),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Carrier:
        """Create a carrier from the output of `to_json`."""
        placement = data["placement"]
        return cls(
            tuple(data["names"]),
            bool(data["moves"]),
            None if placement is None else tuple(tuple(map(float, p)) for p in placement),
            left_out=tuple(data["left_out"]),
        )


@lru_cache(maxsize=256)
def body_root(skeleton: Skeleton) -> int:
    """Return the root joint of the body, at or below which all joints with a role are.

    It is 0 if no joint is above the body, if no joint has the role ``hips``, or if limbs are not
    attached below the hips.

    Examples
    --------
    >>> rig = Skeleton(["root", "pelvis", "thigh_l", "calf_l", "foot_l"], [-1, 0, 1, 2, 3],
    ...                [[0, 0, 0], [0, 1, 0], [0.1, 0, 0], [0, -0.4, 0], [0, -0.4, 0]])
    >>> body_root(rig)
    1
    """
    roles = skeleton.roles
    if roles.get("hips") not in skeleton.names:
        return 0
    tree = BodyTree(skeleton)
    places = [skeleton.point(role) for role in roles]
    root = places[0]
    for point in places[1:]:
        root = tree.meeting(root, point)
    if root >= len(skeleton):
        return 0
    body, above = {root, *tree.below(root)}, set(tree.path_up(root))
    elsewhere = [point for point in range(len(tree.parents)) if point not in body | above]
    # If more points lie outside the body than in it, the roles do not describe the whole figure.
    # If a limb lies outside (feet of rigs that pull the legs toward them), it would be lost.
    labels = labels_of(skeleton.names)
    limbs = [labels[joint] for joint in elsewhere if joint < len(skeleton)]
    if any(label.part and not (label.aside or label.tip) for label in limbs):
        return 0
    return root if len(body) >= len(elsewhere) else 0


def body_skeleton(skeleton: Skeleton) -> Skeleton:
    """Return the skeleton from `body_root` down, as in `hips_as_root` with an unrotated carrier.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.formats.presets import add_ground_root
    >>> walk = ml.demo.clip("walk")
    >>> len(body_skeleton(add_ground_root(walk).skeleton)) == len(walk.skeleton)
    True
    """
    root = body_root(skeleton)
    return skeleton if root == 0 else _below(skeleton, root, None)[0]


def hips_as_root(motion: Motion) -> Motion:
    """Return the same motion with the hips as root; the joints above become its carrier.

    The translation and rotation of the joints above are composed into the hips. Points below those
    joints that are not part of the body are dropped and listed in the carrier. A motion whose root
    is already the hips is returned unchanged.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.formats.presets import add_ground_root
    >>> walk = ml.demo.clip("walk")
    >>> on_root = add_ground_root(walk)
    >>> on_root.skeleton.names[0], hips_as_root(on_root).skeleton.names[0]
    ('root', 'Hips')
    >>> hips_as_root(walk) is walk
    True
    """
    skeleton = motion.skeleton
    root = body_root(skeleton)
    if root == 0:
        return motion
    tree = BodyTree(skeleton)
    chain = tree.path_up(root)[::-1]
    places, turns = _world(motion, chain)
    carrier = _carrier(skeleton, chain, places, turns)
    still = None if carrier.moves else turns[0, -2]
    smaller, kept = _below(skeleton, root, still)
    rotations = motion.rotations[:, kept].copy()
    rotations[:, 0] = turns[:, -1]
    moved = motion.translations
    if moved is not None:
        moved = moved[:, kept].copy()
        moved[:, 0] = 0.0
        if np.abs(moved[:, 1:] - smaller.offsets[1:]).max(initial=0.0) < 1e-6:
            moved = None
    return replace(
        motion,
        skeleton=smaller,
        rotations=rotations,
        root=places[:, -1],
        translations=moved,
        origin=replace(motion.origin, carrier=carrier),
    )


def with_carrier(motion: Motion, carrier: Carrier | None = None) -> Motion:
    """Return the same motion with its carrier above the root; the inverse of `hips_as_root`.

    Parameters
    ----------
    motion : Motion
    carrier : Carrier, optional
        Default: the carrier in ``motion.origin``; if there is none, the motion is returned
        unchanged. A moving carrier without a known path is placed on the floor below the root and
        faces the same way as the body.

    Examples
    --------
    >>> import motionloom as ml
    >>> with_carrier(ml.demo.clip("walk"), Carrier(("Armature",), moves=True)).skeleton.names[:2]
    ('Armature', 'Hips')
    """
    carrier = motion.origin.carrier if carrier is None else carrier
    if carrier is None:
        return motion
    places, turns = _carrier_in_world(motion, carrier)
    count, skeleton = len(carrier.names), motion.skeleton
    places = np.concatenate([places, motion.root[:, None].astype(np.float64)], axis=1)
    turns = np.concatenate([turns, motion.rotations[:, :1].astype(np.float64)], axis=1)
    back = rot.inverse(turns[:, :-1])
    steps = rot.rotate(back, places[:, 1:] - places[:, :-1])  # (T, C, 3)
    local = np.concatenate([turns[:, :1], rot.multiply(back, turns[:, 1:])], axis=1)
    first = np.median(steps, axis=0) if len(motion) else np.zeros((count, 3))
    offsets = np.concatenate([np.zeros((1, 3)), first, skeleton.offsets[1:]])
    moved = motion.translations
    if moved is not None or np.abs(steps - first).max(initial=0.0) > 1e-6:
        below = skeleton.offsets[1:] if moved is None else moved[:, 1:]
        below = np.broadcast_to(below, (len(motion), len(skeleton) - 1, 3))
        moved = np.concatenate([np.zeros((len(motion), 1, 3)), steps, below], axis=1)
    grown = Skeleton(
        (*_free_names(carrier.names, skeleton.point_names), *skeleton.names),
        np.concatenate([np.arange(-1, count - 1), skeleton.parents[:1] + count,
                        skeleton.parents[1:] + count]),
        offsets,
        skeleton.end_names,
        skeleton.end_parents + count,
        skeleton.end_offsets,
        _grown_rest(skeleton, carrier, local),
        dict(skeleton.roles),
    )  # fmt: skip
    return replace(
        motion,
        skeleton=grown,
        rotations=np.concatenate([local, motion.rotations[:, 1:]], axis=1),
        root=places[:, 0],
        translations=moved,
        origin=replace(motion.origin, carrier=None),
    )


def _world(motion: Motion, chain: Sequence[int]) -> tuple[Array, Array]:
    """Return world positions (T, N, 3) and rotations (T, N, 4) of the joints from the root down."""
    places = np.empty((len(motion), len(chain), 3))
    turns = np.empty((len(motion), len(chain), 4))
    for number, joint in enumerate(chain):
        local = motion.rotations[:, joint].astype(np.float64)
        if number == 0:
            places[:, 0], turns[:, 0] = motion.root, local
            continue
        moved = motion.translations
        offset = motion.skeleton.offsets[joint] if moved is None else moved[:, joint]
        places[:, number] = places[:, number - 1] + rot.rotate(
            turns[:, number - 1], np.asarray(offset, np.float64)
        )
        turns[:, number] = rot.multiply(turns[:, number - 1], local)
    return places, turns


def _carrier(skeleton: Skeleton, chain: Sequence[int], places: Array, turns: Array) -> Carrier:
    names = tuple(skeleton.names[joint] for joint in chain[:-1])
    tree = BodyTree(skeleton)
    body = {*chain, *tree.below(chain[-1])}
    points = skeleton.point_names
    left_out = tuple(points[point] for point in range(len(points)) if point not in body)
    if not len(places):
        return Carrier(names, left_out=left_out)
    world = np.concatenate([places[:, :-1], turns[:, :-1]], axis=2)
    if _is_constant(world):
        return Carrier(names, placement=_tuples(world[0]), left_out=left_out)
    back = rot.inverse(turns[:, -1:])
    local = np.concatenate(
        [rot.rotate(back, places[:, :-1] - places[:, -1:]), rot.multiply(back, turns[:, :-1])],
        axis=2,
    )
    if _is_constant(local):
        return Carrier(names, True, _tuples(local[0]), left_out=left_out)
    return Carrier(names, True, path=local.astype(np.float32), left_out=left_out)


def _is_constant(transforms: Array) -> bool:
    """Return whether transforms (T, C, 7) are the same in every frame."""
    turns = transforms[..., 3:]
    sign = np.where(np.sum(turns * turns[:1], axis=2, keepdims=True) < 0.0, -1.0, 1.0)
    away = np.abs(transforms[..., :3] - transforms[:1, :, :3]).max(initial=0.0)
    turned = np.abs(sign * turns - turns[:1]).max(initial=0.0)
    return bool(away < _STILL and turned < _STILL)


def _tuples(transforms: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in transforms)


def _below(skeleton: Skeleton, root: int, still: Array | None) -> tuple[Skeleton, NDArray[np.intp]]:
    """Return the skeleton from a joint down, and the indices of its joints.

    `still` is the rotation ``wxyz`` of a stationary carrier.
    """
    turn = None if still is None else _axis_turn(still)
    tilt = (0, 0, 0) if turn is None else tuple(int(v) for v in turn)
    return _cached_below(skeleton, root, tilt)


def _axis_turn(still: Array) -> NDArray[np.int64] | None:
    """Return the body axis (3,) that a static carrier rotates to +Y, or None if it is +Y."""
    up = rot.rotate(rot.inverse(still), np.array([0.0, 1.0, 0.0]))
    axis = np.rint(up).astype(np.int64)
    if up @ axis < _UPRIGHT or axis[1] == 1:
        return None
    return axis


@lru_cache(maxsize=256)
def _cached_below(
    skeleton: Skeleton, root: int, tilt: tuple[int, ...]
) -> tuple[Skeleton, NDArray[np.intp]]:
    tree = BodyTree(skeleton)
    body = {root, *tree.below(root)}
    kept = np.array([joint for joint in range(len(skeleton)) if joint in body], np.intp)
    ends = [end for end in range(len(skeleton.end_names)) if len(skeleton) + end in body]
    number = np.full(len(skeleton) + 1, -1)
    number[kept] = np.arange(len(kept))
    offsets = skeleton.offsets[kept].copy()
    offsets[0] = 0.0
    parents = number[skeleton.parents[kept]]
    parents[0] = -1
    rest = _smaller_rest(skeleton, tree.path_up(root)[::-1], kept, tilt)
    smaller = Skeleton(
        tuple(skeleton.names[joint] for joint in kept),
        parents,
        offsets,
        tuple(skeleton.end_names[end] for end in ends),
        number[skeleton.end_parents[ends]],
        skeleton.end_offsets[ends],
        rest,
        skeleton.role_map,
    )
    if smaller.roles != skeleton.roles:  # roles were found with the help of names above the hips
        smaller = replace(smaller, role_map=dict(skeleton.roles))
    return _shared(_ByKey(smaller)).skeleton, kept


def _smaller_rest(
    skeleton: Skeleton, chain: Sequence[int], kept: NDArray[np.intp], tilt: tuple[int, ...]
) -> Array | None:
    if skeleton.rest is None:
        if not any(tilt) or not _rests_along(skeleton, tilt):
            return None
        # The file's rest pose lies along `tilt`, and the carrier always rotates it upright.
        rest = np.tile(rot.IDENTITY, (len(kept), 1))
        rest[0] = rot.between(np.array(tilt, np.float64), np.array([0.0, 1.0, 0.0]))
        return rest
    rest = skeleton.rest[kept].copy()
    turn = rot.IDENTITY
    for joint in chain:
        turn = rot.multiply(turn, skeleton.rest[joint])
    rest[0] = turn
    return rest


def _rests_along(skeleton: Skeleton, axis: tuple[int, ...]) -> bool:
    """Return whether the direction from hips to head in the rest pose is along this axis."""
    if "head" not in skeleton.roles:
        return False
    places = BodyTree(skeleton).rest_positions()
    hips, head = skeleton.points(["hips", "head"])
    up = places[head] - places[hips]
    return bool(up @ np.array(axis) > 0.8 * np.linalg.norm(up))


class _ByKey:
    """Wrapper that hashes and compares a skeleton by its key."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton

    def __hash__(self) -> int:
        return hash(self.skeleton.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByKey) and other.skeleton.key == self.skeleton.key


@lru_cache(maxsize=64)
def _shared(skeleton: _ByKey) -> _ByKey:
    """Return one shared object for equal skeletons, so that a performer's motions share roles."""
    return skeleton


def _carrier_in_world(motion: Motion, carrier: Carrier) -> tuple[Array, Array]:
    """Return world positions (T, C, 3) and rotations (T, C, 4) of the carrier's joints."""
    frames, count = len(motion), len(carrier.names)
    path = carrier.path
    if carrier.placement is not None:
        local = np.broadcast_to(np.array(carrier.placement), (frames, count, 7))
        if not carrier.moves:
            return local[..., :3], local[..., 3:]
    elif path is not None and len(path) == frames:
        local = path.astype(np.float64)
    else:
        below = motion.root[:, None].astype(np.float64) * [1.0, 0.0, 1.0]
        facing = rot.yaw(motion.headings())[:, None]
        shape = (frames, count)
        return np.broadcast_to(below, (*shape, 3)), np.broadcast_to(facing, (*shape, 4))
    turn = motion.rotations[:, :1].astype(np.float64)
    places = motion.root[:, None] + rot.rotate(turn, local[..., :3])
    return places, rot.multiply(turn, local[..., 3:])


def _grown_rest(skeleton: Skeleton, carrier: Carrier, local: Array) -> Array | None:
    """Return the rest pose with the carrier added; only a static carrier keeps its rotation."""
    above = np.tile(rot.IDENTITY, (len(carrier.names), 1))
    if not carrier.moves and len(local):
        above = local[0, :-1].copy()
    rest = np.concatenate([above, skeleton.rest_rotations])
    turn = rot.IDENTITY
    for rotation in above:
        turn = rot.multiply(turn, rotation)
    rest[len(above)] = rot.multiply(rot.inverse(turn), rest[len(above)])
    plain = np.abs(np.abs(rest[:, 0]) - 1.0).max() < 1e-7
    return None if plain and skeleton.rest is None else rest


def _free_names(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    used, free = set(taken), []
    for name in names:
        candidate, number = name, 1
        while candidate in used:
            number += 1
            candidate = f"{name}_{number}"
        used.add(candidate)
        free.append(candidate)
    return free
