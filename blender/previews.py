# SPDX-License-Identifier: GPL-3.0-or-later
"""Small pictures of motions for the sidebar, drawn from the studio's thumbnails with NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SIZE = 128  # side length in pixels
AT_ONCE = 64  # maximum number of thumbnails per request
_POSES = 4  # poses of one picture; earlier ones are fainter
_COLOR = (0.95, 0.62, 0.22)
_MARGIN = 0.08  # share of the picture around a motion
_WIDTH = 1.4  # pixels from the middle of a line to its edge


def drawn(places: np.ndarray, parents: Sequence[int]) -> np.ndarray:
    """Draw a figure in a few frames: floats (SIZE, SIZE, 4), bottom row first.

    `places` (F, P, 2) are pixels of a 256 x 256 square, x to the right, y down.
    """
    alpha = np.zeros((SIZE, SIZE))
    chosen = np.unique(np.linspace(0, len(places) - 1, _POSES).round().astype(int))
    for number, frame in enumerate(chosen):
        points = places[frame].astype(np.float64) * (SIZE / 256.0)
        strength = 0.25 + 0.75 * (number + 1) / len(chosen) if number + 1 < len(chosen) else 1.0
        strength = strength if number + 1 == len(chosen) else 0.45 * strength
        for point, parent in enumerate(parents):
            if parent >= 0:
                _add_line(alpha, points[parent], points[point], strength)
    picture = np.empty((SIZE, SIZE, 4))
    picture[..., :3] = _COLOR
    picture[..., 3] = alpha
    return picture[::-1]


def pictured(points: np.ndarray, parents: Sequence[int]) -> np.ndarray:
    """Draw a motion in place from points (T, P, 3) of the studio's space, the first its root."""
    x, y, z = np.moveaxis(np.asarray(points, np.float64), -1, 0)
    x, z = x - x[:, :1], z - z[:, :1]
    flat = np.stack([(x - z) * np.sqrt(0.5), -y], axis=-1)
    low, high = flat.min(axis=(0, 1)), flat.max(axis=(0, 1))
    scale = 256.0 * (1.0 - 2.0 * _MARGIN) / max(float(np.max(high - low)), 1e-6)
    return drawn(128.0 + scale * (flat - (low + high) / 2.0), parents)


def store(preview, picture: np.ndarray) -> None:
    """Store a picture from `drawn` in a preview of Blender."""
    pixels = picture.astype(np.float32).ravel()
    for kind in ("icon", "image"):
        setattr(preview, f"{kind}_size", (SIZE, SIZE))
        getattr(preview, f"{kind}_pixels_float").foreach_set(pixels)


def _add_line(alpha: np.ndarray, a: np.ndarray, b: np.ndarray, strength: float) -> None:
    """Draw a line with soft edges from `a` to `b` (x, y)."""
    low = np.maximum(np.floor(np.minimum(a, b) - 3.0).astype(int), 0)
    high = np.minimum(np.ceil(np.maximum(a, b) + 4.0).astype(int), SIZE)
    if np.any(low >= high):
        return
    x, y = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]))
    step = b - a
    length = max(float(step @ step), 1e-9)
    along = np.clip(((x - a[0]) * step[0] + (y - a[1]) * step[1]) / length, 0.0, 1.0)
    away = np.hypot(x - a[0] - along * step[0], y - a[1] - along * step[1])
    shade = strength * np.clip(_WIDTH + 0.5 - away, 0.0, 1.0)
    part = alpha[low[1] : high[1], low[0] : high[0]]
    np.maximum(part, shade, out=part)


class Pictures:
    """Pictures of motions by name, as Blender icons; created when Blender first needs them."""

    def __init__(self) -> None:
        self._collection = None
        self._names: set[str] = set()  # also read by other threads

    def icon(self, name: str) -> int:
        """Number of the icon of a motion; 0 if there is none yet."""
        if self._collection is None or name not in self._collection:
            return 0
        return self._collection[name].icon_id

    def missing(self, names: Sequence[str]) -> list[str]:
        """Names without a picture, each once."""
        return [name for name in dict.fromkeys(names) if name not in self._names]

    def add(self, name: str, picture: np.ndarray) -> None:
        """Store a picture from `drawn`."""
        import bpy.utils.previews

        if self._collection is None:
            self._collection = bpy.utils.previews.new()
        if name in self._names:
            return
        self._names.add(name)
        store(self._collection.new(name), picture)

    def clear(self) -> None:
        """Discard all pictures."""
        if self._collection is not None:
            import bpy.utils.previews

            bpy.utils.previews.remove(self._collection)
            self._collection = None
            self._names = set()


def asked(studio, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Request pictures of motions from the studio; motions that it cannot show are skipped."""
    from urllib.parse import urlencode

    pictures = {}
    for first in range(0, len(names), AT_ONCE):
        some = list(names[first : first + AT_ONCE])
        words = urlencode({"names": some}, doseq=True)
        head, arrays = studio.arrays("GET", f"/api/thumbnails?{words}")
        for index, row in enumerate(head["motions"]):
            if str(index) in arrays:
                pictures[row["name"]] = drawn(arrays[str(index)], row["parents"])
    return pictures
