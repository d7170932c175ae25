"""Films of one person (``.mp4``, ``.mov``, ``.webm`` and others) as motions.

Films need the extra ``video``: PyAV decodes them, and LiteRT runs the networks of MediaPipe Pose,
whose weights are part of the studio's page. Both run in a separate process; see
`motionloom.formats.child_process.video`. `landmark_motion` turns the landmarks of a film, or of the
studio's camera, into a motion:

1. *Place.* The network gives the body around its hips in meters, and where its landmarks are in
   the picture. The place of the hips is the one from which an ordinary lens shows them there.
2. *Depth.* The distance from the camera is a guess of the network, so it is smoothed more than the
   two axes of the picture. No smoothing delays the motion.
3. *Body.* The solver for joint positions does the rest: bones of constant length, rotations, floor.

The motion faces the camera if the person does (+Z), and stands on the floor. The expected error of
every frame follows from the visibility of the joints and from the angle to the camera.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MissingExtra, MotionFormatError
from motionloom.formats.child_process import child_result
from motionloom.formats.child_process import video as script
from motionloom.formats.conventions import Repairs, refuse_folder, started
from motionloom.formats.positions.point_files import Points
from motionloom.formats.positions.solving import solved
from motionloom.motion import Motion
from motionloom.motion.smoothing import gaussian_smooth

Array = NDArray[np.float64]

MODELS = Path(__file__).parents[1] / "studio" / "static" / "pose"  # built with the studio's page
DETECTOR, LANDMARKS = "pose_solution_packed_assets.data", "pose_landmark_lite.tflite"
POINTS = 33
USE = "a film is good for search and blocking, not for final animation"
_VIEW = 1.05  # radians; angle of view of a phone or webcam across the longer side of the picture
_DEPTH_SECONDS = 0.05  # of the body's depth, deviation of the Gaussian
_WAY_SECONDS = 0.25  # of the hips' distance from the camera
_LEAST_SEEN = 0.05  # confidence
_JOINTS = np.array([11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28])  # shoulders to ankles


def read(
    path: str | Path,
    *,
    fps: float | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    partial: bool = False,
    strict: bool = False,
    smooth: bool | None = None,
) -> Motion:
    """Read the motion of the largest person in a film; see `motionloom.load` for the options.

    `fps` overrides the rate of the film. With `partial`, only the first minutes of a long film are
    read.
    """
    repairs = started(path, up=None, fps=fps, strict=strict)
    refuse_folder(repairs.path, "a film")
    require_extra()
    request = {
        "detector": str(MODELS / DETECTOR), "landmarks": str(MODELS / LANDMARKS), "fps": fps,
        "partial": partial,
    }  # fmt: skip
    facts, arrays = child_result(script.__file__, repairs.path, request, library="PyAV and LiteRT")
    warnings: tuple[str, ...] = ()
    if facts["people"] > 1:
        warnings = (f"the film shows {facts['people']} people; the largest one was followed",)
    if facts.get("broken"):
        repairs.add(f"{facts['broken']} damaged parts of the film were skipped")
    return landmark_motion(
        arrays["world"], arrays["image"], arrays["visibility"], fps=facts["fps"], repairs=repairs,
        warnings=warnings, roles=roles, smooth=smooth,
    )  # fmt: skip


def require_extra() -> None:
    """Raise `MissingExtra` if a package or the networks of the extra ``video`` are missing."""
    if find_spec("av") is None or find_spec("ai_edge_litert") is None:
        raise MissingExtra(
            "films need PyAV and LiteRT. Install them with: pip install 'motionloom[video]'"
        )
    if not all((MODELS / name).is_file() for name in (DETECTOR, LANDMARKS)):
        raise MissingExtra(
            "films need the networks that are built with the studio's page. Install motionloom "
            "from a wheel, or run python build_page.py in a clone"
        )


def landmark_motion(
    world: Array,
    image: Array,
    visibility: Array,
    *,
    fps: float,
    repairs: Repairs,
    warnings: tuple[str, ...] = (),
    roles: Any = None,
    smooth: bool | None = None,
) -> Motion:
    """Return the motion of MediaPipe's landmarks.

    Parameters
    ----------
    world : ndarray, shape (T, 33, 3)
        Landmarks around the hips in meters: x to the right of the picture, y down, z away from the
        camera. NaN in frames without a person.
    image : ndarray, shape (T, 33, 2)
        Landmarks in the picture, from its center, in units of its longer side.
    visibility : ndarray, shape (T, 33)
        Between 0 and 1.
    fps : float
    repairs : Repairs
        Receives the changes made.

    Raises
    ------
    MotionFormatError
        If a person is visible in too few frames.
    """
    world, image = np.asarray(world, np.float64), np.asarray(image, np.float64)
    seen = np.asarray(np.isfinite(world).all(axis=(1, 2)) & np.isfinite(image).all(axis=(1, 2)))
    if world.shape != (len(world), POINTS, 3) or image.shape != (len(world), POINTS, 2):
        raise InvalidInput(f"landmarks must have shape (T, {POINTS}, 3); got {world.shape}")
    if seen.sum() < 2:
        raise MotionFormatError("a person is visible in fewer than two frames", path=repairs.path)
    first, last = np.flatnonzero(seen)[[0, -1]]
    chance = np.where(seen[:, None], np.nan_to_num(np.asarray(visibility, np.float64)), 0.0)
    part = slice(first, last + 1)
    if last + 1 - first < len(world):
        repairs.add(
            f"{len(world) - (last + 1 - first)} frames without a person at the start or end were "
            "cut off"
        )
    world, image, chance, seen = world[part], image[part], chance[part], seen[part]
    place = _places(world, image, chance, seen, fps)
    body = _with_quiet_depth(world, seen, fps)
    positions = (body + place[:, None]) * (1.0, -1.0, -1.0)
    positions[~seen] = np.nan
    points = Points(
        positions, confidence=np.clip(chance, _LEAST_SEEN, 1.0), fps=fps, layout="mediapipe",
        unit="m", up="y", warnings=(*warnings, USE), soles=0.02,
    )  # fmt: skip
    motion = solved(points, repairs, roles=roles, smooth=smooth)
    origin = replace(motion.origin, format="video", layout="mediapipe: landmarks of a film")
    error = tuple(round(float(value), 4) for value in expected_error(chance))
    return replace(motion, origin=replace(origin, expected_error=error))


def _places(
    world: Array, image: Array, chance: Array, seen: NDArray[np.bool_], fps: float
) -> Array:
    """Return the place of the hips in each frame, in the camera's axes (T, 3).

    A landmark at X + t is seen at f (X + t)xy / (X + t)z, which is linear in t. The distance is
    smoothed, and the other two axes follow from it again.
    """
    focal = 0.5 / np.tan(0.5 * _VIEW)
    weight = np.where(seen[:, None], np.maximum(chance, 0.01), 0.0)[:, _JOINTS]
    where, u = np.nan_to_num(world)[:, _JOINTS], np.nan_to_num(image)[:, _JOINTS]
    rest = u * where[..., 2:] - focal * where[..., :2]  # (T, P, 2)
    total = weight.sum(axis=1) + 1e-9
    mean = (weight[..., None] * u).sum(axis=1) / total[:, None]
    mean_rest = (weight[..., None] * rest).sum(axis=1) / total[:, None]
    off, off_rest = u - mean[:, None], rest - mean_rest[:, None]
    spread = (weight[..., None] * off**2).sum(axis=(1, 2))
    away = -(weight[..., None] * off * off_rest).sum(axis=(1, 2)) / np.maximum(spread, 1e-9)
    away = np.clip(away, 0.3, 100.0)
    away = _smoothed(np.log(away)[:, None], seen, _WAY_SECONDS * fps)[:, 0]
    away = np.exp(away)
    flat = (mean_rest + mean * away[:, None]) / focal
    return np.column_stack([flat, away])


def _with_quiet_depth(world: Array, seen: NDArray[np.bool_], fps: float) -> Array:
    """Return the body with smoothed depth."""
    body = world.copy()
    body[..., 2] = _smoothed(body[..., 2], seen, _DEPTH_SECONDS * fps)
    return body


def _smoothed(values: Array, seen: NDArray[np.bool_], frames: float) -> Array:
    """Smooth rows (T, D) that were seen, without delay; interpolate the others."""
    times, frames_seen = np.arange(len(values)), np.flatnonzero(seen)
    filled = np.column_stack(
        [np.interp(times, frames_seen, column[frames_seen]) for column in values.T]
    )
    return gaussian_smooth(filled, frames) if frames > 0.3 else filled


def expected_error(chance: Array) -> Array:
    """Return the expected error of a joint in each frame, in meters (T,)."""
    hidden = 1.0 - chance[:, _JOINTS]
    return 0.10 + 0.08 * hidden.mean(axis=1)
