"""A query and its matches, one film strip below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.plots.filmstrip import film_strip
from motionloom.whole_file import whole_file

_KINDS = (".png", ".pdf")
_DOTS = 80  # per inch: a row of eight figures is about 900 pixels wide


def write_match_strip(
    clips: Sequence[tuple[str, Motion]],
    path: str | Path,
    *,
    frames: int = 8,
    view: str = "three-quarter",
) -> Path:
    """Draw clips as film strips, one per row, into a .png or .pdf file.

    Parameters
    ----------
    clips : sequence of (title, Motion)
    path : str or Path
        Written under a temporary name and renamed.
    frames : int
        Figures per row.
    view : str
        As in `motionloom.plots.film_strip`.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> walk = ml.demo.clip("walk")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_match_strip([("one", walk), ("two", walk)], f"{folder}/two.png").name
    'two.png'
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    path = Path(path)
    if path.suffix.lower() not in _KINDS:
        raise InvalidInput(f"cannot draw to {path}: the suffix must be .png or .pdf")
    if not clips:
        raise InvalidInput("a strip of matches needs at least one clip; got none")
    rows = []
    for title, clip in clips:
        figure = film_strip(replace(clip, name=title), frames=frames, view=view, layout="stages")
        figure.set_dpi(_DOTS)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        rows.append(np.asarray(canvas.buffer_rgba())[..., :3])
    width = max(row.shape[1] for row in rows)
    padded = [
        np.pad(row, ((0, 0), (0, width - row.shape[1]), (0, 0)), constant_values=255)
        for row in rows
    ]
    with whole_file(path) as scratch:
        Image.fromarray(np.concatenate(padded)).save(scratch)
    return path
