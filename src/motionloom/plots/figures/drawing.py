"""Drawing primitives for film strips and animations: camera, strokes, and body triangles.

The camera is orthographic, with the same scale everywhere in the image. It is oriented relative to
one floor direction (the direction of travel) and does not move, so that all figures in an image are
seen from the same side. Strokes are lines with round ends in the image plane, in painting order;
lengths are meters in the image plane. The neutral body is drawn as shaded triangles, the farthest
first. Film strips are painted with Matplotlib, animations with Pillow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.character import body_mesh, has_body
from motionloom.errors import InvalidInput
from motionloom.formats.own_character import character_meshes
from motionloom.motion import Motion
from motionloom.plots.figures.stick_figure import (
    COLORS,
    LEFT,
    MIDDLE,
    PATH_COLOR,
    RIGHT,
    StickFigure,
)

if TYPE_CHECKING:
    from motionloom.character import SkinnedMesh

# For each view: the angle of the direction of travel, measured from the right of the image toward
# the viewer, and the downward tilt of the camera, both in degrees.
VIEWS = {
    "three-quarter": (32.0, 12.0),
    "side": (0.0, 8.0),
    "front": (90.0, 8.0),
    "back": (-90.0, 8.0),
    "top": (0.0, 89.9),
}

_FRONTAL = np.radians(32.0)


@dataclass(frozen=True)
class Camera:
    """An orthographic camera.

    Parameters
    ----------
    direction : float
        Floor direction to which `view` is relative, in radians about +Y; 0 is +Z.
    view : str
        One of `VIEWS`.

    Examples
    --------
    Seen from the side, points ahead of the character are on the right:

    >>> camera = Camera(direction=0.0, view="side")
    >>> camera.project([[0.0, 0.0, 2.0]])[0].round(6) + 0.0
    array([2., 0., 0.])
    """

    direction: float = 0.0
    view: str = "three-quarter"

    def __post_init__(self) -> None:
        if self.view not in VIEWS:
            raise InvalidInput(f"view must be one of {', '.join(VIEWS)}; got {self.view!r}")

    @property
    def axes(self) -> NDArray[np.float64]:
        """Directions to the right, up and toward the viewer, as rows, shape (3, 3)."""
        aside, down = np.radians(VIEWS[self.view])
        right = floor_direction(self.direction + aside)
        near = floor_direction(self.direction + aside - np.pi / 2)
        above = np.array([0.0, 1.0, 0.0])
        return np.stack(
            [
                right,
                np.cos(down) * above - np.sin(down) * near,
                np.cos(down) * near + np.sin(down) * above,
            ]
        )

    def project(self, points: ArrayLike) -> NDArray[np.float64]:
        """Project world `points` (..., 3) to right, up and nearness (..., 3), in meters."""
        return np.asarray(points, dtype=np.float64) @ self.axes.T


def floor_direction(angle: float) -> NDArray[np.float64]:
    """Return the unit vector (3,) on the floor at `angle` radians about +Y from +Z."""
    return np.array([np.sin(angle), 0.0, np.cos(angle)])


def camera_for(
    motion: Motion, figure: StickFigure, path: NDArray[np.floating], *, view: str
) -> Camera:
    """Return a camera oriented by the direction of travel or, for motion in place, by the facing.

    Parameters
    ----------
    motion : Motion
    figure : StickFigure
    path : ndarray, shape (T, 3)
        Path of the figure's anchor.
    view : str
        One of `VIEWS`.
    """
    seen = np.flatnonzero(np.isfinite(path).all(axis=1))
    if len(seen):
        gone = path[seen[-1]].astype(np.float64) - path[seen[0]]
        if np.hypot(gone[0], gone[2]) > 0.8 * figure.size:
            return Camera(float(np.arctan2(gone[0], gone[2])), view)
    sample = motion[:: max(len(motion) // 100, 1)]
    facing = sample.headings()
    mean = np.nanmean(np.exp(1j * facing)) if np.isfinite(facing).any() else 1.0
    camera = Camera(float(np.angle(mean)), view)
    if view != "three-quarter":
        return camera
    # A kick to the side would point straight at the viewer, so use a view closer to the front.
    frontal = Camera(camera.direction + _FRONTAL, view)
    poses = figure.positions(sample).astype(np.float64)
    poses -= poses[:, figure.anchor, None]
    return frontal if _sweep(frontal, poses) > 1.3 * _sweep(camera, poses) else camera


def _sweep(camera: Camera, poses: NDArray[np.float64]) -> float:
    """Return the horizontal standard deviation, in the image, of the point that moves the most."""
    poses = poses[np.isfinite(poses).all(axis=(1, 2))]
    if not len(poses):
        return 0.0
    most_active = int(poses.var(axis=0).sum(axis=1).argmax())
    return float(camera.project(poses[:, most_active])[:, 0].std())


PAPER = "#ffffff"
FLOOR = "#f3f4f7"
GRID = "#d0d5dd"
SHADOW = "#d7dbe2"

_HAZE = 0.38  # fraction of background color in the farthest bone of a pose


@dataclass(frozen=True)
class Strokes:
    """N lines with round ends: `ends` (N, 2, 2), `widths` (N,), `colors` (N, 3) in 0..1."""

    ends: NDArray[np.float64]
    widths: NDArray[np.float64]
    colors: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.widths)

    def shifted(self, by: ArrayLike) -> Strokes:
        """Return the strokes, translated by `by` (2,)."""
        return Strokes(self.ends + np.asarray(by, np.float64), self.widths, self.colors)

    def __add__(self, other: Strokes) -> Strokes:
        """Return these strokes with `other` painted over them."""
        return Strokes(
            np.concatenate([self.ends, other.ends]),
            np.concatenate([self.widths, other.widths]),
            np.concatenate([self.colors, other.colors]),
        )


NOTHING = Strokes(np.zeros((0, 2, 2)), np.zeros(0), np.zeros((0, 3)))


def figure_strokes(figure: StickFigure, pose: ArrayLike, camera: Camera) -> Strokes:
    """Return strokes for the bones of a pose (P, 3), farthest first, each with an outline.

    The outline separates a limb from the parts behind it. Bones with a missing end are omitted.
    """
    seen = camera.project(pose)
    a, b = seen[figure.bones[:, 0]], seen[figure.bones[:, 1]]
    widths, sides = figure.widths, figure.sides
    if figure.head is not None:
        base, top = seen[figure.head[0]], seen[figure.head[1]]
        length = float(np.linalg.norm(np.subtract(*(np.asarray(pose)[i] for i in figure.head))))
        middle = base + 0.55 * (top - base)
        a, b = np.vstack([a, middle]), np.vstack([b, middle + 0.12 * (top - base)])
        widths = np.append(widths, max(0.85 * length, figure.head_width))
        sides = np.append(sides, 0)
    nearness = 0.5 * (a[:, 2] + b[:, 2])
    whole = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
    order = np.flatnonzero(whole)[np.argsort(nearness[whole], kind="stable")]
    a, b, widths, sides = a[order], b[order], widths[order], sides[order]
    ends = np.stack([a[:, :2], b[:, :2]], axis=1)
    edge = 0.008 * figure.size
    strokes = np.repeat(ends, 2, axis=0)
    strokes[0::2] = _shortened(ends, 0.5 * widths + edge)
    both = np.repeat(widths, 2)
    both[0::2] += 2.0 * edge
    colors = np.ones((2 * len(order), 3)) * rgb(PAPER)
    colors[1::2] = _hazed(sides, nearness[order], figure.size)
    return Strokes(strokes, both, colors)


def shadow_strokes(figure: StickFigure, pose: ArrayLike, camera: Camera) -> Strokes:
    """Return strokes for the shadow of a pose on the floor, lit from straight above."""
    flat = np.array(pose, dtype=np.float64)
    flat[:, 1] = figure.ground
    seen = camera.project(flat)[:, :2]
    ends = seen[figure.bones]
    whole = np.isfinite(ends).all(axis=(1, 2))
    return _plain(ends[whole], 0.8 * figure.widths[whole], SHADOW)


def path_strokes(
    figure: StickFigure, path: NDArray[np.floating], camera: Camera, *, now: int | None = None
) -> Strokes:
    """Return strokes for a path (T, 3) projected to the floor, fading toward its start.

    If `now` is set, the part of the path after that frame is thin and pale.
    """
    if len(path) < 2:
        return NOTHING
    floor = np.array(path, dtype=np.float64)
    floor[:, 1] = figure.ground
    seen = camera.project(floor)[:, :2]
    ends = np.stack([seen[:-1], seen[1:]], axis=1)
    until = len(ends) if now is None else now
    age = np.clip(1.0 - np.arange(len(ends)) / max(until, 1), 0.0, 1.0)
    fade = 0.75 * age
    fade[until:] = 0.68
    widths = np.full(len(ends), 0.016 * figure.size)
    widths[until:] *= 0.45
    colors = mix(PATH_COLOR, FLOOR, fade)
    whole = np.isfinite(ends).all(axis=(1, 2))
    return Strokes(ends[whole], widths[whole], colors[whole])


def grid_strokes(
    figure: StickFigure, camera: Camera, center: ArrayLike, radius: float, *, step: float
) -> Strokes:
    """Return strokes for grid lines every `step` meters on a floor disc around `center` (3,)."""
    center = np.asarray(center, dtype=np.float64)
    axes = camera.axes
    along = floor_direction(camera.direction)
    across = np.array([along[2], 0.0, -along[0]])
    lines = []
    for axis, cross_axis in ((along, across), (across, along)):
        at = float(center @ axis)
        first, last = np.ceil((at - radius) / step), np.floor((at + radius) / step)
        for place in step * np.arange(first, last + 1):
            reach = np.sqrt(max(radius**2 - (place - at) ** 2, 0.0))
            middle = axis * place + cross_axis * float(center @ cross_axis)
            middle[1] = figure.ground
            lines.append([middle - reach * cross_axis, middle + reach * cross_axis])
    if not lines:
        return NOTHING
    ends = (np.array(lines) @ axes.T)[..., :2]
    return _plain(ends, np.full(len(ends), 0.005 * figure.size), GRID)


def disc(figure: StickFigure, camera: Camera, center: ArrayLike, radius: float):
    """Return the outline (72, 2) in the image of a floor disc around `center` (3,)."""
    angle = np.linspace(0.0, 2.0 * np.pi, 72, endpoint=False)
    ring = np.stack([np.sin(angle), np.zeros(72), np.cos(angle)], axis=1) * radius
    ring += np.asarray(center, dtype=np.float64)
    ring[:, 1] = figure.ground
    return camera.project(ring)[:, :2]


def grid_step(size: float) -> float:
    """Return a grid step of 1, 2 or 5 times a power of ten, in meters; 0.5 for a person."""
    power = 10.0 ** np.floor(np.log10(0.45 * size))
    return float(max(f * power for f in (1.0, 2.0, 5.0) if f * power <= 0.45 * size))


def rgb(color: str) -> NDArray[np.float64]:
    """Convert ``#rrggbb`` to three numbers in 0..1."""
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0


def mix(color: str, other: str, share: ArrayLike) -> NDArray[np.float64]:
    """Mix colors (N, 3), with a fraction `share` (N,) of `other` and the rest of `color`."""
    part = np.asarray(share, dtype=np.float64)[:, None]
    return (1.0 - part) * rgb(color) + part * rgb(other)


def _hazed(sides, nearness, size):
    own = np.stack([rgb(COLORS[int(side)]) for side in sides]) if len(sides) else np.zeros((0, 3))
    if not len(own):
        return own
    haze = _HAZE * np.clip((nearness.max() - nearness) / (0.5 * size), 0.0, 1.0)[:, None]
    return (1.0 - haze) * own + haze * rgb(PAPER)


def _shortened(ends, by):
    """Shorten lines by `by` (N,) at both ends; lines that are too short for this become points."""
    line = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(line, axis=1)
    share = np.minimum(by / np.maximum(length, 1e-12), 0.5)[:, None]
    return np.stack([ends[:, 0] + share * line, ends[:, 1] - share * line], axis=1)


def _plain(ends, widths, color: str) -> Strokes:
    return Strokes(ends, widths, np.tile(rgb(color), (len(ends), 1)))


_LIGHT = np.array([-0.35, 0.6, 0.72]) / np.linalg.norm([-0.35, 0.6, 0.72])  # right, up, near
_AMBIENT = 0.42  # brightness of a triangle that the light does not reach
_PALE = 0.45  # fraction of white added to the colors of the sides, so that shading is visible


@dataclass(frozen=True)
class Triangles:
    """N triangles in painting order: `corners` (N, 3, 2) in meters, `colors` (N, 3) in 0..1."""

    corners: NDArray[np.float64]
    colors: NDArray[np.float64]

    def shifted(self, by: ArrayLike) -> Triangles:
        """Return the triangles, translated by `by` (2,)."""
        return Triangles(self.corners + np.asarray(by, np.float64), self.colors)


@dataclass(frozen=True, eq=False)
class BodyFigure:
    """A skeleton's neutral body, with a blue left side and an orange right side.

    Attributes
    ----------
    mesh : SkinnedMesh
    colors : ndarray, shape (F, 3)
        Color of each triangle before shading.
    """

    mesh: SkinnedMesh
    colors: NDArray[np.float64]

    def triangles(self, motion: Motion, frame: int, camera: Camera) -> Triangles:
        """Return the shaded triangles that face the camera in one frame, farthest first."""
        corners = camera.project(self.mesh.posed(motion, frame))[self.mesh.triangles]
        return shaded_triangles(corners, self.colors)


def shaded_triangles(corners: NDArray[np.float64], colors: NDArray[np.float64]) -> Triangles:
    """Return the triangles that face the camera with shaded colors, the farthest first.

    Parameters
    ----------
    corners : ndarray, shape (F, 3, 3)
        Corners in camera axes: right, up, near.
    colors : ndarray, shape (F, 3)
        Color of each triangle before shading.
    """
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    seen = np.flatnonzero((normals[:, 2] > 0.0) & np.isfinite(corners).all(axis=(1, 2)))
    seen = seen[np.argsort(corners[seen, :, 2].mean(axis=1), kind="stable")]
    shade = _AMBIENT + (1.0 - _AMBIENT) * np.clip(normals[seen] @ _LIGHT, 0.0, 1.0)
    return Triangles(corners[seen, :, :2], shade[:, None] * colors[seen])


def body_figure(motion: Motion, *, detail: str = "high") -> BodyFigure | None:
    """Return the body for a motion: its robot, or the neutral body.

    None if its skeleton has too few roles.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> seen = body_figure(walk, detail="low").triangles(walk, 0, Camera(view="side"))
    >>> seen.corners.shape[1:], bool((seen.colors <= 1.0).all())
    ((3, 2), True)
    """
    skeleton = motion.skeleton
    if parts := character_meshes(motion):
        return _robot_figure(parts)
    if not has_body(skeleton):
        return None
    mesh = body_mesh(skeleton, detail=detail, example=motion)
    side = np.full(len(skeleton.parents) + len(skeleton.end_parents), MIDDLE)
    for role in skeleton.roles:
        if role.startswith(("left_", "right_")):
            side[skeleton.points([role])[0]] = LEFT if role.startswith("left_") else RIGHT
    parents = np.concatenate([skeleton.parents, skeleton.end_parents])
    for point, parent in enumerate(parents):  # joints without a role get the color of their parent
        if side[point] == MIDDLE and parent >= 0:
            side[point] = side[parent]
    tones = {part: (1.0 - _PALE) * rgb(COLORS[part]) + _PALE for part in (LEFT, MIDDLE, RIGHT)}
    of_joint = np.array([tones[int(part)] for part in side])
    of_vertex = np.einsum("vk,vkc->vc", mesh.weights, of_joint[mesh.joints])
    return BodyFigure(mesh, of_vertex[mesh.triangles].mean(axis=1))


def _robot_figure(parts: list[SkinnedMesh]) -> BodyFigure:
    """Return the meshes of a robot, in their own colors, as one figure."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    colors = [
        np.tile(part.material.color if part.material else (0.6, 0.6, 0.6), (len(part.triangles), 1))
        for part in parts
    ]
    mesh = replace(
        parts[0],
        vertices=np.concatenate([part.vertices for part in parts]),
        normals=np.concatenate([part.normals for part in parts]),
        triangles=np.concatenate(
            [part.triangles + start for part, start in zip(parts, starts, strict=False)]
        ).astype(np.uint32),
        joints=np.concatenate([part.joints for part in parts]),
        weights=np.concatenate([part.weights for part in parts]),
    )
    return BodyFigure(mesh, np.concatenate(colors))
