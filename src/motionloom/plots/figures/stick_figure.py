"""Stick figures: the bones of a skeleton to draw, their thickness and color.

Thickness follows the pipe model: it is proportional to the square root of the total bone length
below a bone. On any skeleton, human or not, thighs are therefore thicker than shins, and spines are
thicker than necks. Sides come from joint roles or, without roles, from joint names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.root_carrier import body_root
from motionloom.motion.skeleton import BodyTree

LEFT, MIDDLE, RIGHT = 1, 0, -1

# Left and right differ in hue and in lightness: distinguishable in grayscale and to color-blind
# readers.
COLORS = {LEFT: "#2f7ed8", MIDDLE: "#3d4653", RIGHT: "#e8672c"}
PATH_COLOR = "#12946f"

_PROBES = 48  # frames sampled for bone lengths, size and floor
_THICKEST = 0.062  # thickness of a bone above the whole tree, relative to the figure
_THINNEST = 0.009


@dataclass(frozen=True)
class StickFigure:
    """Drawable bones of a skeleton; created by `stick_figure`.

    Attributes
    ----------
    points : ndarray of int, shape (P,)
        Indices of the points to draw (joints, then end sites).
    bones : ndarray of int, shape (B, 2)
        Upper and lower end of each bone, as indices into `points`.
    sides : ndarray of int, shape (B,)
        `LEFT`, `MIDDLE` or `RIGHT`.
    widths : ndarray, shape (B,)
        Thickness in meters.
    anchor : int
        Point whose path is drawn (the hips, or the root), as an index into `points`.
    head : tuple of int or None
        Two ends of the head, as indices into `points`.
    size : float
        Typical extent of a pose in meters, about the height of a standing person.
    ground : float
        Height of the floor in meters.
    """

    points: NDArray[np.intp]
    bones: NDArray[np.intp]
    sides: NDArray[np.int8]
    widths: NDArray[np.float64]
    anchor: int
    head: tuple[int, int] | None
    size: float
    ground: float

    def positions(self, motion: Motion) -> NDArray[np.float32]:
        """Return the world positions of the drawn points in meters, shape (T, P, 3)."""
        return motion.positions(end_sites=True)[:, self.points]

    @property
    def head_width(self) -> float:
        """Minimum diameter of the head in meters; 0 if there is no head."""
        return 0.085 * self.size if self.head is not None else 0.0


def stick_figure(motion: Motion, *, max_points: int | None = None) -> StickFigure:
    """Create the stick figure of a motion.

    Parameters
    ----------
    motion : Motion
        At least one frame.
    max_points : int, optional
        Maximum number of points. If there are more, the thinnest tips (such as fingers) are
        dropped.

    Raises
    ------
    InvalidInput
        If the motion has no frames.

    Examples
    --------
    >>> arm = Skeleton(["shoulder", "elbow"], [-1, 0], [[0, 0, 0], [0.3, 0, 0]],
    ...                end_names=["fist"], end_parents=[1], end_offsets=[[0.25, 0, 0]])
    >>> motion = Motion(arm, [[[1, 0, 0, 0], [1, 0, 0, 0]]], [[0, 1, 0]], 30)
    >>> stick_figure(motion).bones
    array([[0, 1],
           [1, 2]])
    """
    if len(motion) == 0:
        raise InvalidInput(f"cannot draw {motion.name or 'the motion'}, because it has no frames")
    skeleton = motion.skeleton
    poses = _probe(motion)
    parents = skeleton.point_parents.astype(np.intp)
    hips, hidden = _anchor(skeleton)
    shown = ~hidden
    size = _size(poses[:, shown])
    length = np.zeros(len(parents))
    length[1:] = _middle(np.linalg.norm(poses[:, 1:] - poses[:, parents[1:]], axis=-1))
    # A joint that coincides with its parent does not form a bone; its children start at the parent.
    stands_for = np.arange(len(parents))
    drawn = np.zeros(len(parents), dtype=bool)
    for point in range(1, len(parents)):
        if length[point] > 2e-3 * size and shown[point] and shown[parents[point]]:
            drawn[point] = True
        elif shown[parents[point]]:
            stands_for[point] = stands_for[parents[point]]
    carried = _carried(parents, length * drawn)
    if max_points is not None:
        drawn = _thinned(drawn, carried, max_points)
    children = np.flatnonzero(drawn)
    ends = np.stack([stands_for[parents[children]], children], axis=1)
    anchor = int(stands_for[hips])
    points = np.unique(np.append(ends, anchor))
    place = np.full(len(parents), -1)
    place[points] = np.arange(len(points))
    total = max(float(carried[anchor]), float(carried.max()), 1e-12)
    widths = size * np.clip(_THICKEST * np.sqrt(carried[children] / total), _THINNEST, None)
    # A limb starts at the shoulder or hip joint; clavicles and pelvis belong to the trunk.
    of_point = _sides(skeleton)
    sides = np.where(of_point[ends[:, 0]] == MIDDLE, MIDDLE, of_point[children])
    sides = sides.astype(np.int8)
    bones = place[ends]
    if not len(children):  # a single point: drawn as a ball
        bones, widths = np.array([[place[anchor]] * 2]), np.array([0.06 * size])
        sides = np.zeros(1, np.int8)
    return StickFigure(
        points=points,
        bones=bones,
        sides=sides,
        widths=widths,
        anchor=int(place[anchor]),
        head=_head(skeleton, stands_for, place),
        size=size,
        ground=_ground(poses[:, shown], size),
    )


def _probe(motion: Motion) -> NDArray[np.float64]:
    """Return poses (S, points, 3) sampled over the motion; missing coordinates are NaN."""
    step = max(len(motion) // _PROBES, 1)
    poses = motion[::step].positions(end_sites=True).astype(np.float64)
    return np.where(np.isfinite(poses), poses, np.nan)


def _anchor(skeleton: Skeleton) -> tuple[int, NDArray[np.bool_]]:
    """Return the hips (or the root), and the points above or next to them that are not drawn.

    In many rigs, the parent of the hips stays on the floor. The line from there to the hips is not
    part of the body, and neither are props and IK targets.
    """
    hidden = np.zeros(len(skeleton.point_names), dtype=bool)
    name = skeleton.roles.get("hips")
    if name not in skeleton.names:
        return 0, hidden
    hips = skeleton.names.index(name)
    root = body_root(skeleton)
    if root > 0:
        tree = BodyTree(skeleton)
        hidden[:] = True
        hidden[[root, *tree.below(root)]] = False
    return hips, hidden


def _size(poses: NDArray[np.float64]) -> float:
    """Return the median over time of the bounding box's longest edge; 1 for a single point."""
    extent = _quietly(np.nanmax, poses) - _quietly(np.nanmin, poses)
    longest = _middle(extent.max(axis=1)[:, None])[0]
    return float(longest) if longest > 1e-9 else 1.0


def _ground(poses: NDArray[np.float64], size: float) -> float:
    """Return 0 if the figure moves on or slightly above y = 0; otherwise its lowest height."""
    lowest = _quietly(np.nanmin, poses)[:, 1]
    lowest = lowest[np.isfinite(lowest)]
    low = float(np.quantile(lowest, 0.02)) if len(lowest) else 0.0
    return 0.0 if -0.1 * size < low < size else low


def _middle(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median over the first axis, ignoring NaN; 0 where all values are NaN."""
    return np.nan_to_num(_quietly(np.nanmedian, values, axis=0))


def _quietly(function, values, axis=1):
    import warnings

    with warnings.catch_warnings():  # "All-NaN slice": NaN is the intended result
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(values, axis=axis)


def _carried(parents: NDArray[np.intp], length: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the total length of each point's bone and all bones below it in the tree."""
    carried = length.copy()
    # End sites come after all joints, joints after their parents.
    for point in range(len(parents) - 1, 0, -1):
        carried[parents[point]] += carried[point]
    return carried


def _thinned(drawn, carried, max_points):
    """Return `drawn` without the thinnest tips, so that `max_points` - 1 bones remain."""
    drawn = drawn.copy()
    # A child carries less than its parent, so children are dropped before their parents.
    order = sorted(np.flatnonzero(drawn), key=lambda point: (carried[point], -point))
    for point in order[: max(drawn.sum() - max_points + 1, 0)]:
        drawn[point] = False
    return drawn


def _sides(skeleton: Skeleton) -> NDArray[np.int8]:
    """Return the side of every point, taken from its role, its name, or its parent."""
    names = skeleton.point_names
    by_role = {
        name: LEFT if role.startswith("left_") else RIGHT
        for role, name in skeleton.roles.items()
        if role.startswith(("left_", "right_"))
    }
    sides = np.zeros(len(names), dtype=np.int8)
    for point, parent in enumerate(skeleton.point_parents):
        side = by_role.get(names[point]) or _named_side(names[point], names)
        sides[point] = side or (sides[parent] if parent >= 0 else MIDDLE)
    return sides


def _named_side(name: str, names: Sequence[str]) -> int:
    """Return the side in a joint name; a single letter counts only if the mirrored name exists."""
    word = re.search(r"left|right", name, re.IGNORECASE)
    if word:
        return LEFT if word[0].lower() == "left" else RIGHT
    letter = re.search(r"(?:^|(?<=[^A-Za-z0-9]))[LRlr](?=[^a-z0-9]|$)", name)
    if letter is None:
        return MIDDLE
    twin = letter[0].translate(str.maketrans("LRlr", "RLrl"))
    if name[: letter.start()] + twin + name[letter.end() :] not in names:
        return MIDDLE
    return LEFT if letter[0] in "Ll" else RIGHT


def _head(skeleton: Skeleton, stands_for, place) -> tuple[int, int] | None:
    """Return the base and top of the drawn head; if the top is unknown, return the base twice."""
    ends = [skeleton.roles.get(role) for role in ("head", "head_top")]
    names = skeleton.point_names
    base, top = (
        int(place[stands_for[names.index(name)]]) if name in names else -1 for name in ends
    )
    if base < 0:
        return None
    return (base, top if top >= 0 else base)
