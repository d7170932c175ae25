"""Player for notebooks and web pages, in which you can rotate, zoom and scrub a motion.

The script is built from ``studio/src/player`` by ``build_page.py``; it defines the element
``<motionloom-player>``. Positions are resampled to a low rate (the player interpolates smoothly),
rounded to a fraction of a millimeter, and packed: differences along bones and time, deflated, in
base64.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.plots.figures.drawing import camera_for, grid_step
from motionloom.plots.figures.stick_figure import StickFigure, stick_figure

_LOWEST_FPS = 10.0  # at lower rates, the interpolated curve visibly cuts corners
_YAW = np.radians(32.0)  # three-quarter view
_STEP = 2.5e-4  # rounding relative to the figure: 0.4 mm for a person, a tenth of a pixel
_FINEST = 1e-6  # rounding relative to the extent, so that differences fit into 32 bits


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


def packed_motion(
    motion: Motion,
    budget: Budget,
    *,
    name: str = "",
    line: ArrayLike = (),
    notes: ArrayLike = (),
) -> str:
    """Pack a motion for the attribute ``clip`` of a player.

    Parameters
    ----------
    motion : Motion
        At least one frame.
    budget : Budget
    name : str, optional
        Title. Default: the name of the motion.
    line : array_like, shape (S, 2)
        Path to draw on the floor: x and z in meters.
    notes : array_like, shape (N, 4)
        Notes to play with the motion, as in `motionloom.dance.Music`.

    Returns
    -------
    clip : str
        Letters of the base64 alphabet; about 3 kB per second at 12 frames per second.

    Examples
    --------
    >>> import motionloom as ml
    >>> len(packed_motion(ml.demo.clip("walk"), Budget(fps=12))) < 12_000
    True
    """
    figure = stick_figure(motion, max_points=budget.points)
    shown, note = _within(motion, budget)
    positions = np.where(np.isfinite(p := figure.positions(shown)), p, np.nan)
    codes, origin, scale = quantize_positions(positions, figure.size)
    missing = np.asarray(~np.isfinite(positions).all(axis=-1))
    path, played = np.asarray(line, np.float64), np.asarray(notes, np.float64)
    header = {
        **figure_header(shown, figure, positions),
        "name": name or motion.name or "motion",
        "facts": motion_facts(motion),
        "note": note,
        "fps": round(shown.fps, 6),
        "origin": [_short(value) for value in origin],
        "scale": scale,
    }
    if len(path):
        header["line"] = np.round(path, 2).tolist()
    if len(played):
        header["notes"] = np.round(played[played[:, 0] < shown.duration], 3).tolist()
    series = np.moveaxis(along_bones(codes, figure), 0, -1).reshape(-1, len(codes))
    return packed_clip(header, series, missing if missing.any() else None)


def figure_header(
    motion: Motion, figure: StickFigure, positions: NDArray[np.floating]
) -> dict[str, Any]:
    """Return the part of a clip's header that describes the body and the camera."""
    camera = camera_for(motion, figure, positions[:, figure.anchor], view="three-quarter")
    head = None
    if figure.head is not None:
        base, top = figure.head
        length = np.nan_to_num(
            np.nanmean(np.linalg.norm(positions[:, top] - positions[:, base], axis=1))
        )
        head = [base, top, round(max(0.85 * float(length), figure.head_width), 5)]
    bones = zip(figure.bones.tolist(), figure.sides.tolist(), figure.widths, strict=True)
    return {
        "kind": "figure",
        "points": len(figure.points),
        "bones": [[a, b, side, _short(width)] for (a, b), side, width in bones],
        "head": head,
        "anchor": figure.anchor,
        "size": _short(figure.size),
        "ground": _short(figure.ground),
        "grid": grid_step(figure.size),
        "yaw": round(float(camera.direction + _YAW), 4),
    }


def motion_facts(motion: Motion) -> str:
    """Describe the length and rate of a motion, as in ``90 frames at 30 fps · 3.00 s``."""
    frames = "1 frame" if len(motion) == 1 else f"{len(motion):,} frames"
    return f"{frames} at {motion.fps:.5g} fps · {motion.duration:.2f} s"


def quantize_positions(
    positions: NDArray[np.floating], size: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """Round positions to codes (T, P, 3), where positions are codes times scale plus origin.

    The error is at most half of `scale`, a small fraction of the figure's `size`. A missing
    coordinate repeats the code before it.
    """
    values = np.asarray(positions, dtype=np.float64)
    finite = values[np.isfinite(values).all(axis=-1)]
    low = finite.min(axis=0) if len(finite) else np.zeros(3)
    high = finite.max(axis=0) if len(finite) else np.zeros(3)
    origin = np.array([_short(value) for value in 0.5 * (low + high)])
    scale = _short(max(_STEP * size, _FINEST * float((high - low).max()), 1e-12))
    present = np.asarray(np.isfinite(values).all(axis=-1))
    last = np.maximum.accumulate(np.where(present, np.arange(len(values))[:, None], 0), axis=0)
    codes = np.rint((values - origin) / scale)
    codes = np.take_along_axis(np.where(present[..., None], codes, 0.0), last[..., None], axis=0)
    return codes.astype(np.int64), origin, scale


def along_bones(codes: NDArray[np.int64], figure: StickFigure) -> NDArray[np.int64]:
    """Return points (..., P, 3) relative to the upper end of their bones, if that comes first."""
    upper = {int(b): int(a) for a, b in figure.bones if a < b}
    relative = codes.copy()
    for point, above in upper.items():
        relative[..., point, :] -= codes[..., above, :]
    return relative


def packed_clip(
    header: dict[str, Any],
    series: NDArray[np.integer],
    missing: NDArray[np.bool_] | None = None,
) -> str:
    """Pack a clip as ``studio/src/player/packed.ts`` describes: base64 of deflated bytes.

    Parameters
    ----------
    header : dict
        Serializable as JSON.
    series : ndarray of int, shape (S, T)
        Numbers that change smoothly along the second axis.
    missing : ndarray of bool, shape (T, P), optional
        Points without a position.
    """
    values = np.asarray(series, dtype=np.int64)
    coded = values.copy()
    coded[:, 1:] = np.diff(values, axis=1)
    coded[:, 2:] = np.diff(values, n=2, axis=1)
    header = {**header, "frames": values.shape[1], "series": len(values)}
    tail = b""
    if missing is not None:
        header["gaps"] = True
        tail = missing.astype(np.uint8).tobytes()
    # JSON escapes line feeds in strings, so the first one ends the header.
    text = json.dumps(header, separators=(",", ":")).encode()
    return _base64(_deflated(text + b"\n" + _variable_length(coded.ravel()) + tail))


def _variable_length(values: NDArray[np.int64]) -> bytes:
    """Code integers in groups of seven bits, lowest first; zigzag puts the sign in the last bit."""
    zigzag = np.where(values < 0, -2 * values - 1, 2 * values)
    if len(zigzag) and zigzag.max() >= 2**32:
        raise InvalidInput("the positions are too far apart to be shown in a page")
    shifts = 7 * np.arange(5)
    groups = (zigzag[:, None] >> shifts) & 127
    count = 1 + (zigzag[:, None] >= (1 << shifts[1:])).sum(axis=1)
    place = np.arange(5)
    groups |= np.where(place < count[:, None] - 1, 128, 0)
    return groups[place < count[:, None]].astype(np.uint8).tobytes()


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return packer.compress(data) + packer.flush()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


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
        HTML fragment without external references: an element and its script. A page can contain
        several fragments.

    Examples
    --------
    >>> import motionloom as ml
    >>> "http" in player_html(ml.demo.clip("walk"))
    False
    """
    if len(motion) == 0:
        return f"<p>{escape(repr(motion))}</p>"
    clip = packed_motion(motion, budget or Budget())
    words = f"{escape(repr(motion))}. To see it move, trust this notebook or run the cell."
    return f"{player_element(clip, words)}\n<script>{player_script()}</script>"


def player_element(clip: str, fallback: str = "", attributes: str = "") -> str:
    """Return the element that plays a packed clip; it needs `player_script` once in its page.

    Parameters
    ----------
    clip : str
        From `packed_motion` or `packed_clip`.
    fallback : str
        HTML shown where scripts do not run, such as a still picture.
    attributes : str
        ``mini``, ``fill`` or ``still``; see ``studio/src/player/player.ts``.
    """
    space = " " if attributes else ""
    return f'<motionloom-player{space}{attributes} clip="{clip}">{fallback}</motionloom-player>'


@cache
def player_script() -> str:
    """Return the script of the player, which unpacks itself; it contains no ``<``."""
    packed = _base64(_deflated(_player().encode()))
    return (
        'customElements.get("motionloom-player")||(async()=>{'
        f'const b=Uint8Array.from(atob("{packed}"),c=>c.charCodeAt(0)),'
        's=document.createElement("script");'
        "s.textContent=await new Response(new Blob([b]).stream().pipeThrough("
        'new DecompressionStream("deflate-raw"))).text();document.head.append(s)})()'
    )


def page_html(title: str, body: str, style: str) -> str:
    """Return a complete page with the player, which may run no other script and load nothing.

    Parameters
    ----------
    title : str
        Plain text.
    body : str
        HTML with elements of `player_element`; without ``style`` attributes.
    style : str
        CSS of the page.
    """
    before, after = page_parts(title, style)
    return before + body + after


def page_parts(title: str, style: str) -> tuple[str, str]:
    """Return the HTML of a page before and after its body; see `page_html`."""
    before = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
    return before, f"\n<script>{player_script()}</script>\n</body>\n</html>\n"


def _policy(style: str) -> str:
    """Return a content security policy that allows the player, the style and embedded pictures."""
    scripts, styles = _hashes([player_script(), _player()]), _hashes([style])
    rest = "img-src data:; base-uri 'none'"
    return f"default-src 'none'; script-src {scripts}; style-src {styles}; {rest}"


def _hashes(texts: Sequence[str]) -> str:
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{_base64(digest)}'" for digest in digests)


@cache
def _player() -> str:
    """Return the built script, without its first line, which names its sources."""
    built = files("motionloom.plots.pages").joinpath("built", "player.js")
    return built.read_text(encoding="utf-8").split("\n", 1)[1]


@cache
def asset_text(name: str) -> str:
    """Return the text of a style sheet or template in the ``assets`` folder."""
    return files("motionloom.plots.pages").joinpath("assets", name).read_text(encoding="utf-8")
