"""Interactive player for notebooks and web pages, in which you can rotate, zoom and scrub.

Positions are resampled to a low rate (the player interpolates smoothly), quantized to 16 bits over
the extent of the clip, and written as base64. For a five-meter walk, positions are accurate to a
tenth of a millimeter.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.plots.figures.drawing import camera_for, grid_step
from motionloom.plots.figures.stick_figure import stick_figure

MISSING = -32768  # code of a missing coordinate
_LOWEST_FPS = 10.0  # at lower rates, the interpolated curve visibly cuts corners
_YAW = np.radians(32.0)  # three-quarter view


@dataclass(frozen=True)
class Budget:
    """Limits on the size of a motion embedded in a page.

    Parameters
    ----------
    fps : float
        Maximum frames per second.
    frames : int
        Maximum number of frames. A longer motion is shown at a lower rate, down to 10 fps, and then
        cut.
    seconds : float
        Maximum length in seconds.
    points : int
        Maximum number of points; the thinnest tips (fingers) are dropped first.

    Examples
    --------
    >>> from motionloom.plots import Budget
    >>> Budget()
    Budget(fps=30.0, frames=900, seconds=90.0, points=80)
    """

    fps: float = 30.0
    frames: int = 900
    seconds: float = 90.0
    points: int = 80

    def __post_init__(self) -> None:
        for name in ("fps", "frames", "seconds", "points"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise InvalidInput(f"{name} must be positive; got {value}")


def clip_data(motion: Motion, budget: Budget, *, name: str = "") -> dict:
    """Return the data with which the player shows `motion`, serializable as JSON.

    Parameters
    ----------
    motion : Motion
        At least one frame.
    budget : Budget
    name : str, optional
        Title. Default: the name of the motion.

    Returns
    -------
    clip : dict
        ``data`` contains frames x points x 3 little-endian 16-bit integers in base64. Multiply them
        by ``scale`` and add ``origin`` to get meters. ``note`` describes omitted parts.

    Examples
    --------
    >>> import motionloom as ml
    >>> clip = clip_data(ml.demo.clip("walk"), Budget(fps=12))
    >>> clip["fps"], clip["note"]
    (12.0, '')
    """
    figure = stick_figure(motion, max_points=budget.points)
    shown, note = _within(motion, budget)
    positions = np.where(np.isfinite(p := figure.positions(shown)), p, np.nan)
    codes, origin, scale = quantize_positions(positions)
    camera = camera_for(shown, figure, positions[:, figure.anchor], view="three-quarter")
    size = figure.size
    head = None
    if figure.head is not None:
        base, top = figure.head
        length = np.nan_to_num(
            np.nanmean(np.linalg.norm(positions[:, top] - positions[:, base], axis=1))
        )
        head = [base, top, round(max(0.85 * float(length), figure.head_width), 5)]
    bones = zip(figure.bones.tolist(), figure.sides.tolist(), figure.widths, strict=True)
    frames = "1 frame" if len(motion) == 1 else f"{len(motion):,} frames"
    return {
        "name": name or motion.name or "motion",
        "facts": f"{frames} at {motion.fps:.5g} fps · {motion.duration:.2f} s",
        "note": note,
        "start": 0,
        "fps": round(shown.fps, 6),
        "frames": len(shown),
        "points": len(figure.points),
        "bones": [[a, b, side, _short(width)] for (a, b), side, width in bones],
        "head": head,
        "anchor": figure.anchor,
        "size": _short(size),
        "ground": _short(figure.ground),
        "grid": grid_step(size),
        "yaw": round(float(camera.direction + _YAW), 4),
        "origin": [_short(value) for value in origin],
        "scale": scale,
        "data": base64.b64encode(codes.astype("<i2").tobytes()).decode(),
    }


def quantize_positions(
    positions: NDArray[np.floating],
) -> tuple[NDArray[np.int16], NDArray[np.float64], float]:
    """Quantize positions to codes (T, P, 3), where positions are codes times scale plus origin.

    The error is at most half of `scale`; NaN becomes `MISSING`.
    """
    values = np.asarray(positions, dtype=np.float64)
    finite = values[np.isfinite(values).all(axis=-1)]
    low = finite.min(axis=0) if len(finite) else np.zeros(3)
    high = finite.max(axis=0) if len(finite) else np.zeros(3)
    origin = np.array([_short(value) for value in 0.5 * (low + high)])
    reach = float(max(np.abs(high - origin).max(), np.abs(low - origin).max()))
    scale = reach / 32766.0 or 1.0
    codes = np.rint((values - origin) / scale)
    return np.where(np.isfinite(codes), codes, MISSING).astype(np.int16), origin, scale


def _within(motion: Motion, budget: Budget) -> tuple[Motion, str]:
    """Cut and resample `motion` to the budget; also return a note on the omitted parts."""
    seconds = min(budget.seconds, budget.frames / min(budget.fps, _LOWEST_FPS))
    notes = []
    shown = motion
    if motion.duration > seconds + 1e-6:
        shown = motion[: max(int(seconds * motion.fps), 1)]
        notes.append(f"the first {shown.duration:.3g} of {motion.duration:.1f} s")
    wanted = min(budget.fps, motion.fps)
    fps = min(wanted, budget.frames / shown.duration)
    if fps < motion.fps * (1.0 - 1e-6):
        shown = shown.resample(fps)
    if fps < 0.999 * wanted:
        notes.append(f"at {fps:.3g} frames per second")
    return shown, f"Shown here: {', '.join(notes)}." if notes else ""


def _short(value: float) -> float:
    """Round to six digits, which keeps the page small."""
    return float(f"{float(value):.6g}")


def player_html(motion: Motion, *, budget: Budget | None = None) -> str:
    """Return HTML that plays `motion` as a stick figure, for notebooks.

    Parameters
    ----------
    motion : Motion
    budget : Budget, optional
        Limits for long motions. Default: 900 frames, which is 30 s at the full frame rate. Longer
        motions are shown at a lower rate, up to 90 s. The caption states which limits were applied.

    Returns
    -------
    html : str
        HTML fragment without external references: an element, its style and its script. A page can
        contain several fragments.

    Examples
    --------
    >>> import motionloom as ml
    >>> "http" in player_html(ml.demo.clip("walk"))
    False
    """
    if len(motion) == 0:
        return f"<p>{escape(repr(motion))}</p>"
    clip = clip_data(motion, budget or Budget())
    return (
        f'<div class="motionloom-player" data-clip="{clip_attribute(clip)}">'
        f"{escape(repr(motion))}. To see it move, trust this notebook or run the cell.</div>\n"
        f"<style>{asset_text('player.css')}</style>\n"
        f"<script>(function () {{\n{asset_text('player.js')}\n"
        "const script = document.currentScript;\n"
        "MotionloomPlayer.mountAll(script ? script.getRootNode() : document);\n"
        "})();</script>"
    )


def clip_attribute(clip: dict) -> str:
    """Encode a clip as the value of an HTML attribute in double quotes."""
    return escape(json.dumps(clip, separators=(",", ":")), quote=True)


@cache
def asset_text(name: str) -> str:
    """Return the text of a script, style sheet or template in the ``assets`` folder."""
    return files("motionloom.plots.pages").joinpath("assets", name).read_text(encoding="utf-8")
