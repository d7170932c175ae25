"""A small live player for notebooks and web pages: drag to turn, scrub, zoom.

A motion as the browser's player wants it: few frames, few points, 16 bits a number.

Positions are resampled to a low rate (the player draws a smooth curve through them),
rounded to a 65,534th of the space the clip moves in, and written as base64. Five metres
of walking are kept to a tenth of a millimetre.
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
from motionloom.plots.camera import camera_for
from motionloom.plots.stick_figure import stick_figure
from motionloom.plots.strokes import grid_step

MISSING = -32768  # a coordinate that is not known
_LOWEST_FPS = 10.0  # below that, the curve through the frames cuts corners you can see
_YAW = np.radians(32.0)  # three-quarter view


@dataclass(frozen=True)
class Budget:
    """How much of a motion a page may carry.

    Parameters
    ----------
    fps : float
        Frames per second, if the motion has as many.
    frames : int
        Frames at most: a longer motion gets fewer per second, down to ten, then is cut.
    seconds : float
        Length at most.
    points : int
        Points at most: fingers go first.

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
    """What the player needs to show `motion`, ready for JSON.

    Parameters
    ----------
    motion : Motion
        At least one frame.
    budget : Budget
    name : str, optional
        What to call it; else the motion's name.

    Returns
    -------
    clip : dict
        ``data`` holds frames x points x 3 little-endian 16-bit integers in base64; times
        ``scale`` plus ``origin`` they are metres. ``note`` says what was left out.

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
    codes, origin, scale = quantised(positions)
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


def quantised(
    positions: NDArray[np.floating],
) -> tuple[NDArray[np.int16], NDArray[np.float64], float]:
    """Codes (T, P, 3), origin (3,) and scale: positions are codes times scale plus origin.

    Off by half of `scale` at most; NaN becomes `MISSING`.
    """
    values = np.asarray(positions, dtype=np.float64)
    known = values[np.isfinite(values).all(axis=-1)]
    low = known.min(axis=0) if len(known) else np.zeros(3)
    high = known.max(axis=0) if len(known) else np.zeros(3)
    origin = np.array([_short(value) for value in 0.5 * (low + high)])
    reach = float(max(np.abs(high - origin).max(), np.abs(low - origin).max()))
    scale = reach / 32766.0 or 1.0
    codes = np.rint((values - origin) / scale)
    return np.where(np.isfinite(codes), codes, MISSING).astype(np.int16), origin, scale


def _within(motion: Motion, budget: Budget) -> tuple[Motion, str]:
    """The part and the rate of `motion` that the budget allows, and what that left out."""
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
    """Six digits are plenty in a picture, and short in a file."""
    return float(f"{float(value):.6g}")


def player_html(motion: Motion, *, budget: Budget | None = None) -> str:
    """HTML that shows `motion` as a live stick figure; what notebooks display.

    Parameters
    ----------
    motion : Motion
    budget : Budget, optional
        How much of a long motion to carry. By default at most 900 frames: 30 s in full,
        longer ones with fewer frames per second, 90 s at most. The caption says so.

    Returns
    -------
    html : str
        A fragment without outside references: one element, its style and its script.
        Several of them can stand on one page.

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
        f"<style>{page_part('player.css')}</style>\n"
        f"<script>(function () {{\n{page_part('player.js')}\n"
        "const script = document.currentScript;\n"
        "MotionloomPlayer.mountAll(script ? script.getRootNode() : document);\n"
        "})();</script>"
    )


def clip_attribute(clip: dict) -> str:
    """A clip as the value of an HTML attribute in double quotes."""
    return escape(json.dumps(clip, separators=(",", ":")), quote=True)


@cache
def page_part(name: str) -> str:
    """A script or style sheet of this package."""
    return files("motionloom.plots").joinpath(name).read_text(encoding="utf-8")
