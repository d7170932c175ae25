"""A crowd from above as a page that plays in any browser, in one file."""

from __future__ import annotations

import base64
import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motionloom.plots.player import page_part
from motionloom.whole_file import whole_file

if TYPE_CHECKING:
    from motionloom.plots.top_view import TopView

_RATE = 10.0  # places a second; the page draws what is between
_CENTIMETRE, _MILLIRADIAN = 100.0, 1000.0


def write_page(view: TopView, path: str | Path) -> Path:
    """Write the page; places are kept to a centimetre and headings to a milliradian."""
    from motionloom.plots.top_view import COLOURS, OUTLINE, TRAIL

    path = Path(path)
    count = view.bodies.shape[2]
    rate = min(_RATE, view.fps)
    frames = np.minimum(
        np.rint(np.arange(int((count - 1) / view.fps * rate) + 1) * view.fps / rate), count - 1
    ).astype(np.intp)
    shown = view.bodies[:, :, frames]
    yaws = (np.unwrap(shown[..., 2], axis=2) + np.pi) % (2.0 * np.pi) - np.pi
    packed = np.stack(
        [_CENTIMETRE * shown[..., 0], _CENTIMETRE * shown[..., 1], _MILLIRADIAN * yaws], axis=-1
    )
    low, high = view.extent
    line = np.zeros((0, 2)) if view.line is None else np.asarray(view.line)[::10]
    scene = {
        "agents": shown.shape[0],
        "bodies": shown.shape[1],
        "frames": len(frames),
        "rate": rate,
        "places": base64.b64encode(np.rint(packed).astype("<i4").tobytes()).decode(),
        "radius": view.radius,
        "room": None if view.room is None else list(view.room),
        "columns": [list(column) for column in view.columns],
        "line": np.round(line, 2).tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "colours": COLOURS,
        "outline": OUTLINE.tolist(),
        "trail": TRAIL,
    }
    with whole_file(path) as scratch:
        scratch.write_text(
            '<!doctype html>\n<html lang="en"><meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width">\n'
            f"<title>{escape(path.stem)}</title>\n"
            f"<style>{page_part('top_view.css')}</style>\n"
            '<canvas></canvas><p><button type="button">pause</button>'
            '<input type="range" min="0" max="1" step="any" value="0"><output></output></p>\n'
            f'<script type="application/json">{json.dumps(scene, separators=(",", ":"))}</script>\n'
            f"<script>{page_part('top_view.js')}</script>\n</html>\n",
            encoding="utf-8",
        )
    return path
