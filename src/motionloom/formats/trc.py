"""TRC files: marker trajectories as text, for OpenSim and pose2sim.

The first line names the file, the next two hold the rate, the number of frames and markers and the
unit, and the fourth the labels. Each further row is a frame: its number, its time in seconds and
three coordinates per marker, separated by tabs. Empty cells are gaps.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import atomic_write
from motionloom.formats.conventions import file_bytes, labeled_points, nominal_rate, started
from motionloom.formats.inference import (
    UNITS,
    Unit,
    infer_marker_up,
    positions_to_y_up,
    unit_from,
)
from motionloom.motion import Markers, Motion

_MOST_MARKERS = 10_000
_MOST_FRAMES = 2_000_000
_ROWS = 4_096  # frames that are formatted at a time


def read(
    path: str | Path,
    *,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    strict: bool = False,
) -> Markers:
    """Read the markers of a TRC file; see `motionloom.load_markers` for the options.

    The unit is the one in the file. The up axis is y, unless the markers on head and feet show
    another one.
    """
    repairs = started(path, up=up, fps=fps, strict=strict)
    path = repairs.path
    lines = file_bytes(path, "a TRC file").decode("latin-1").splitlines()
    facts, labels, first = _head(lines, path)
    values = _rows(lines, first, len(labels), path)
    if not len(values):
        raise MotionFormatError("the file has no frames", path=path)
    given = facts.get("units", "mm").strip().lower()
    if unit is None and given not in UNITS:
        raise MotionFormatError(f"the unit {given[:20]!r} is unknown; set unit", path=path)
    meters = UNITS[given] if unit is None else unit_from(unit)
    rate = _rate(facts, values, path) if fps is None else float(fps)
    raw = values[:, 2:].reshape(len(values), len(labels), 3)
    if up is None:
        up = infer_marker_up(labels, raw, "+Y")[0]
    stated = facts.get("numframes", "")
    if stated.isdigit() and int(stated) != len(values):
        repairs.add(f"the file states {stated[:12]} frames but has {len(values)}")
    reason = "given" if unit is not None else f"{given}: stated in the file"
    origin = repairs.origin("trc", Unit(meters, reason), up=up, frame_time=1.0 / rate, warnings=())
    positions = positions_to_y_up(raw * meters, up)
    return Markers(tuple(labels), positions, nominal_rate(rate), path.stem, origin=origin)


def labels_of(path: Path) -> list[str]:
    """Return the labels of a file without reading its frames."""
    with path.open("rb") as file:
        start = file.read(1 << 20).decode("latin-1").splitlines()
    return _head(start, path)[1]


def _head(lines: list[str], path: Path) -> tuple[dict[str, str], list[str], int]:
    """Return the facts in the header, the labels, and the index of the first row."""
    if len(lines) < 5 or not lines[0].startswith("PathFileType"):
        raise MotionFormatError("a TRC file must start with PathFileType", path=path, line=1)
    names = [name.strip().lower() for name in lines[1].split("\t")]
    facts = dict(zip(names, (value.strip() for value in lines[2].split("\t")), strict=False))
    cells = [cell.strip() for cell in lines[3].rstrip().split("\t")]
    labels = [cell for cell in cells[2:] if cell]
    if not labels or cells[0].lower() not in ("frame#", "frame"):
        raise MotionFormatError("the fourth line must list the markers", path=path, line=4)
    if len(labels) > _MOST_MARKERS:
        raise MotionFormatError(f"the file has {len(labels)} markers", path=path, line=4)
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise MotionFormatError(f"the marker {twice[:40]!r} occurs twice", path=path, line=4)
    return facts, labels, 5


def _rows(lines: list[str], first: int, markers: int, path: Path) -> NDArray[np.float64]:
    width = 2 + 3 * markers
    rows = [(number, line) for number, line in enumerate(lines[first:], first + 1) if line.strip()]
    if len(rows) > _MOST_FRAMES:
        raise MotionFormatError(f"the file has {len(rows)} frames", path=path)
    values = np.full((len(rows), width), np.nan)
    for row, (number, line) in enumerate(rows):
        cells = line.rstrip("\r\n").split("\t")
        while len(cells) > width and not cells[-1].strip():
            cells.pop()  # many programs end rows with a tab
        if len(cells) > width:
            raise MotionFormatError(
                f"expected at most {width} cells, three per marker; got {len(cells)}",
                path=path,
                line=number,
            )
        for column, cell in enumerate(cells):
            if cell.strip():
                values[row, column] = _number(cell, path, number)
    values[~np.isfinite(values)] = np.nan
    return values


def _number(cell: str, path: Path, line: int) -> float:
    try:
        return float(cell)
    except ValueError:
        raise MotionFormatError(
            f"{cell.strip()[:40]!r} is not a number", path=path, line=line
        ) from None


def _rate(facts: dict[str, str], values: NDArray[np.float64], path: Path) -> float:
    for name in ("datarate", "camerarate"):
        try:
            rate = float(facts[name])
        except (KeyError, ValueError):
            continue
        if 1e-3 <= rate <= 1e6:
            return rate
    steps = np.diff(values[:, 1])
    steps = steps[np.isfinite(steps) & (steps > 0.0)]
    if not len(steps):
        raise MotionFormatError("the file states no rate; set fps", path=path, line=3)
    return float(np.round(1.0 / np.median(steps), 4))


def write(motion: Motion | Markers, path: str | Path, *, unit: str | float | None = None) -> None:
    """Write positions of joints and end sites, or of markers; y is up, as OpenSim expects.

    The default unit is meters.
    """
    path = Path(path)
    names, positions = labeled_points(motion)
    word = "m" if unit is None else str(unit)
    if word not in ("m", "cm", "mm"):
        raise InvalidInput(f"the unit of a TRC file must be m, cm or mm; got {unit!r}")
    labels = [name.replace("\t", " ").replace(" ", "_") for name in names]
    rate, frames = f"{motion.fps:g}", len(positions)
    columns = "\t".join(f"{label}\t\t" for label in labels)
    axes = "\t".join(f"X{n}\tY{n}\tZ{n}" for n in range(1, len(labels) + 1))
    head = (
        f"PathFileType\t4\t(X/Y/Z)\t{path.name}\n"
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\t"
        "OrigNumFrames\n"
        f"{rate}\t{rate}\t{frames}\t{len(labels)}\t{word}\t{rate}\t1\t{frames}\n"
        f"Frame#\tTime\t{columns}\n\t\t{axes}\n"
    )
    with atomic_write(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
        file.write(head)
        for start in range(0, frames, _ROWS):
            part = positions[start : start + _ROWS].astype(np.float64) / UNITS[word]
            numbers = np.arange(start, start + len(part))
            flat = np.round(part.reshape(len(part), -1), 6) + 0.0
            rows = np.column_stack([numbers + 1, numbers / motion.fps, flat])
            text = io.StringIO()
            np.savetxt(text, rows, fmt=["%d", "%.6f", *["%.6f"] * flat.shape[1]], delimiter="\t")
            lines = text.getvalue()
            file.write(lines.replace("nan", "") if np.isnan(part).any() else lines)
