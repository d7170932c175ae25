"""Animation curves of glTF: keys at their own times, sampled at a steady rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.formats.frame_rate import nominal_rate
from motionloom.formats.gltf_file import GltfFile
from motionloom.motion import rotations as rot

_USUAL_RATE = 30.0
_SLOWEST, _FASTEST = 10.0, 1000.0  # frames per second; other key spacings are no frame rate
_STEADY = 0.02  # of a frame: keys this near a frame lie on it (times are single precision)
_KINDS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}


@dataclass(frozen=True)
class Curve:
    """Keys of one node's translation, rotation (``wxyz``) or scale.

    Attributes
    ----------
    times : ndarray, shape (K,)
        Seconds, rising.
    values : ndarray, shape (K, 3) or (K, 4)
    tangents : ndarray, shape (K, 2, 3) or (K, 2, 4), or None
        In and out, of cubic splines.
    step : bool
        A key holds until the next.
    """

    times: NDArray[np.float64]
    values: NDArray[np.float64]
    tangents: NDArray[np.float64] | None
    step: bool

    def at(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values at times (T,), shape (T, 3) or (T, 4); the first and last key hold outside."""
        keys = self.times
        if len(keys) == 1:
            return np.repeat(self.values, len(times), axis=0)
        before = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, len(keys) - 2)
        span = keys[before + 1] - keys[before]
        share = np.clip((times - keys[before]) / span, 0.0, 1.0)
        if self.step:
            return self.values[np.where(share >= 1.0, before + 1, before)]
        a, b = self.values[before], self.values[before + 1]
        if self.tangents is not None:
            out = self.tangents[before, 1] * span[:, None]
            into = self.tangents[before + 1, 0] * span[:, None]
            return self._hermite(a, out, b, into, share[:, None])
        if self.values.shape[1] == 4:
            return rot.slerp(a, b, share)
        return a + share[:, None] * (b - a)

    def _hermite(self, a, out, b, into, s) -> NDArray[np.float64]:
        values = (
            (2 * s**3 - 3 * s**2 + 1) * a
            + (s**3 - 2 * s**2 + s) * out
            + (3 * s**2 - 2 * s**3) * b
            + (s**3 - s**2) * into
        )
        return rot.normalize(values) if values.shape[1] == 4 else values


def read_curves(file: GltfFile, animation: dict, wanted: set[int]) -> dict[tuple[int, str], Curve]:
    """Curves of the nodes in `wanted`, by (node, "translation" | "rotation" | "scale")."""
    channels, samplers = animation.get("channels"), animation.get("samplers")
    if not isinstance(channels, list) or not isinstance(samplers, list):
        file.refuse("an animation must have channels and samplers")
    curves: dict[tuple[int, str], Curve] = {}
    for channel in channels:
        target = channel.get("target") if isinstance(channel, dict) else None
        if not isinstance(target, dict):
            file.refuse("a channel of the animation has no target")
        node, way = target.get("node"), target.get("path")
        if way not in _KINDS or not isinstance(node, int) or node not in wanted:
            continue
        sampler = samplers[file.index("samplers", channel.get("sampler"), len(samplers))]
        if not isinstance(sampler, dict):
            file.refuse("a sampler of the animation is no object")
        if (node, way) in curves:
            file.refuse(f"two channels for the {way} of node {node}")
        curves[node, way] = _curve(file, sampler, way)
    return curves


def steady_times(
    curves: dict[tuple[int, str], Curve], fps: float | None, told: float | None
) -> tuple[NDArray[np.float64], float]:
    """Times of all frames from the first key to the last, and the rate.

    Parameters
    ----------
    curves : dict
    fps : float or None
        The user's rate.
    told : float or None
        The rate a file notes beside its skin, as ours do; for motions of one frame.
    """
    if not curves:
        return np.zeros(1), fps or told or _USUAL_RATE
    start, end, finest = _extent(curves)
    if fps is None:
        fps = _key_rate(finest) or told or _USUAL_RATE
    count = int(np.floor((end - start) * fps + _STEADY)) + 1
    times = start + np.arange(count) / fps
    # Frames that lie on a key but for rounding take the key itself.
    nearest = np.clip(np.searchsorted(finest, times - 0.5 / fps), 0, len(finest) - 1)
    close = np.abs(finest[nearest] - times) * fps < _STEADY
    return np.where(close, finest[nearest], times), fps


def frame_count(curves: dict[tuple[int, str], Curve], fps: float | None) -> float:
    """About how many frames `steady_times` would give."""
    if not curves:
        return 1.0
    start, end, finest = _extent(curves)
    return (end - start) * (fps or _key_rate(finest) or _USUAL_RATE) + 1.0


def _extent(curves: dict[tuple[int, str], Curve]) -> tuple[float, float, NDArray[np.float64]]:
    """First and last time of any key, and the times of the curve with most."""
    times = [curve.times for curve in curves.values()]
    return min(float(t[0]) for t in times), max(float(t[-1]) for t in times), max(times, key=len)


def _key_rate(times: NDArray[np.float64]) -> float | None:
    """Rate of evenly spaced keys; that of the usual spacing where some are left out."""
    if len(times) < 2:
        return None
    spacing = float(np.median(np.diff(times)))
    even = (times[-1] - times[0]) / (len(times) - 1)
    if np.abs(np.diff(times) - even).max() < _STEADY * even + 1e-4 * spacing:
        spacing = even
    rate = nominal_rate(1.0 / spacing)
    return rate if _SLOWEST <= rate <= _FASTEST else None


def _curve(file: GltfFile, sampler: dict, way: str) -> Curve:
    times = file.accessor(sampler.get("input"), "SCALAR")[:, 0]
    values = file.accessor(sampler.get("output"), _KINDS[way])
    how = sampler.get("interpolation", "LINEAR")
    if how not in ("LINEAR", "STEP", "CUBICSPLINE"):
        file.refuse(f"interpolation must be LINEAR, STEP or CUBICSPLINE, found {str(how)[:20]!r}")
    keys = 3 if how == "CUBICSPLINE" else 1
    if len(values) != keys * len(times):
        file.refuse(f"a {way} has {len(times)} times and {len(values)} values")
    if np.any(np.diff(times) <= 0.0):
        file.refuse(f"the times of a {way} do not rise")
    if way == "rotation":
        values = values[:, [3, 0, 1, 2]]
    tangents = None
    if how == "CUBICSPLINE":
        triples = values.reshape(len(times), 3, values.shape[1])
        tangents, values = triples[:, [0, 2]], triples[:, 1]
    if way == "rotation":
        length = np.linalg.norm(values, axis=1, keepdims=True)
        if np.any(length < 1e-6):
            file.refuse("a rotation is the zero quaternion")
        if tangents is None:
            values = values / length
    return Curve(times, values, tangents, how == "STEP")
