"""What a file of markers does not say: which way is up, and how long a unit is."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.formats.posture import UP_AXES, turn_upright
from motionloom.formats.units import UNITS, Unit
from motionloom.motion import rotations as rot

# Plug-in Gait and Helen Hayes (LFHD, LHEE, LTOE, LANK), and plain words.
_HEAD = re.compile(r"HD$|HEAD|ARIEL|TEMPLE|VERTEX")
_FOOT = re.compile(r"TOE|HEE|ANK|MT[1-6]|MTP|FOOT|FT$|MALL")
_CLEAR = 0.8  # cosine: head above feet within 37 degrees of an axis
_LIKELY_EXTENT = 1.5  # metres between the highest and the lowest marker on a person


def infer_marker_up(
    labels: Sequence[str], positions: NDArray[np.float64], screen: str
) -> tuple[str, str]:
    """Up axis of a take of markers, and how we know.

    Parameters
    ----------
    labels : sequence of str, length M
    positions : ndarray, shape (T, M, 3)
        In the file's axes; NaN in gaps.
    screen : str
        POINT:Y_SCREEN of the file, the axis that points up on a screen; may be empty.
    """
    bare = [label.rpartition(":")[2].upper() for label in labels]
    head = [k for k, label in enumerate(bare) if _HEAD.search(label)]
    feet = [k for k, label in enumerate(bare) if _FOOT.search(label) and k not in head]
    if head and feet:
        with warnings.catch_warnings():  # frames in which all of them are hidden
            warnings.simplefilter("ignore", RuntimeWarning)
            upward = np.nanmedian(
                np.nanmean(positions[:, head], axis=1) - np.nanmean(positions[:, feet], axis=1),
                axis=0,
            )
        length = np.linalg.norm(upward)
        if np.isfinite(length) and length > 0.0:
            for name, axis in UP_AXES.items():
                if upward @ axis > _CLEAR * length:
                    return name, "the markers of the head are above those of the feet"
    told = screen.strip().lower().lstrip("+")
    if told in UP_AXES:
        return told, "POINT:Y_SCREEN says so"
    return "z", "as in most C3D files; nothing in this one tells"


def infer_marker_unit(positions: NDArray[np.float64], up: str) -> Unit:
    """Unit by the height of the cloud of markers: metres, centimetres or millimetres."""
    height = positions @ UP_AXES[up]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        extent = float(np.nanmedian(np.nanmax(height, axis=1) - np.nanmin(height, axis=1)))
    if not (np.isfinite(extent) and extent > 0.0):
        return Unit(0.001, "mm: as in most C3D files; nothing in this one tells")
    name = min(
        ("m", "cm", "mm"), key=lambda unit: abs(np.log(extent * UNITS[unit] / _LIKELY_EXTENT))
    )
    return Unit(
        UNITS[name],
        f"{name}: the markers then span {extent * UNITS[name]:.2f} m from top to bottom",
        f"POINT:UNITS is missing; taken as {name}. Overrule with unit=",
    )


def with_y_up(positions: NDArray[np.float64], up: str) -> NDArray[np.float64]:
    """Positions (..., 3) turned so that `up` becomes +Y, exactly: axes swapped and negated."""
    return _turned(positions, np.rint(rot.rotate(turn_upright(up), np.eye(3)).T))


def with_up(positions: NDArray[np.float64], up: str) -> NDArray[np.float64]:
    """The inverse of `with_y_up`: +Y becomes `up`."""
    return _turned(positions, np.rint(rot.rotate(turn_upright(up), np.eye(3))))


def _turned(positions: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of a signed permutation pick one axis each, so no digit is lost."""
    source = np.argmax(np.abs(matrix), axis=1)
    return positions[..., source] * matrix[np.arange(3), source]
