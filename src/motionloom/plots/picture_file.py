"""Picture files: a Matplotlib figure, written whole, the same bytes for the same picture."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.errors import InvalidInput
from motionloom.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Kinds of picture, with what to leave out so that the same picture gives the same bytes.
_LEFT_OUT: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def picture_path(path: str | Path) -> Path:
    """The path of a picture; asked for before anything is drawn.

    Raises
    ------
    InvalidInput
        If its suffix is none that a picture is written to.

    Examples
    --------
    >>> picture_path("walk.PNG").name
    'walk.PNG'
    """
    path = Path(path)
    if path.suffix.lower() not in _LEFT_OUT:
        known = ", ".join(_LEFT_OUT)
        raise InvalidInput(f"cannot draw to {path}: the suffix must be one of {known}")
    return path


def write_picture(figure: Figure, path: str | Path, *, dpi: float | None = None) -> Path:
    """Write a figure to a ``.png``, ``.svg`` or ``.pdf`` file, which appears whole or not at all.

    Parameters
    ----------
    figure : matplotlib Figure
    path : str or Path
    dpi : float, optional
        Dots per inch of a PNG. Default: the figure's own.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_picture(Figure(), f"{folder}/empty.svg").name
    'empty.svg'
    """
    path = picture_path(path)
    kind = path.suffix.lower()
    with whole_file(path) as scratch, warnings.catch_warnings():
        # A letter that the font lacks becomes a box, and people see that.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        figure.savefig(scratch, format=kind[1:], dpi=dpi or "figure", metadata=_LEFT_OUT[kind])
    return path
