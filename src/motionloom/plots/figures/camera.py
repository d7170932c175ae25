"""Orthographic camera: the same scale everywhere in the image.

The camera is oriented relative to one floor direction (the direction of travel) and does not
move, so that all figures of an image are seen from the same side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.plots.figures.stick_figure import StickFigure

# View -> angle of the direction of travel, from the right of the image towards the viewer, and
# downward tilt of the camera; degrees.
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
        Floor direction that `view` is relative to: radians about +Y, 0 is +Z.
    view : str
        One of `VIEWS`.

    Examples
    --------
    Seen from the side, what lies ahead lies to the right:

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
        """Right, up and towards the viewer, as rows, shape (3, 3)."""
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
        """Right, up and nearness (..., 3) in metres of world `points` (..., 3)."""
        return np.asarray(points, dtype=np.float64) @ self.axes.T


def floor_direction(angle: float) -> NDArray[np.float64]:
    """Unit vector (3,) on the floor at `angle` radians about +Y from +Z."""
    return np.array([np.sin(angle), 0.0, np.cos(angle)])


def camera_for(
    motion: Motion, figure: StickFigure, path: NDArray[np.floating], *, view: str
) -> Camera:
    """Camera relative to the direction of travel, or to the facing direction if there is none.

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
    # A kick to the side would point straight at the viewer: then view more from the front.
    frontal = Camera(camera.direction + _FRONTAL, view)
    poses = figure.positions(sample).astype(np.float64)
    poses -= poses[:, figure.anchor, None]
    return frontal if _sweep(frontal, poses) > 1.3 * _sweep(camera, poses) else camera


def _sweep(camera: Camera, poses: NDArray[np.float64]) -> float:
    """Horizontal standard deviation, in the image, of the point that moves most."""
    poses = poses[np.isfinite(poses).all(axis=(1, 2))]
    if not len(poses):
        return 0.0
    most_active = int(poses.var(axis=0).sum(axis=1).argmax())
    return float(camera.project(poses[:, most_active])[:, 0].std())
