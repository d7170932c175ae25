"""Film strips, which show a motion as a row of figures on the ground, with its path.

A motion that travels is drawn in world coordinates on a lane with meter marks. A motion that stays
in place, turns back or goes very far is drawn as a row of small stages, all seen by the same
camera. If the path is long enough, a plan view of it is added.

The worst second of a synthesized motion is drawn as a film strip in which the worst frame is
marked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import QualityReport
from motionloom.plots.figures import drawing as ink
from motionloom.plots.figures.drawing import (
    BodyFigure,
    Camera,
    body_figure,
    camera_for,
    floor_direction,
)
from motionloom.plots.figures.stick_figure import PATH_COLOR, StickFigure, stick_figure
from motionloom.plots.pages.page import (
    FAINT,
    checked_picture_path,
    floor_lines,
    meters,
    page,
    paint,
    paint_triangles,
    scale_bar,
    time_label,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAYOUTS = ("auto", "world", "stages")

MARK = "#d0342c"

_PER_ROW = 10
_TRAIL_SECONDS = 2.0


def film_strip(
    motion: Motion,
    *,
    frames: int = 8,
    view: str = "three-quarter",
    layout: str = "auto",
    first_frame: int = 0,
    mark: int | None = None,
    body: bool = False,
) -> Figure:
    """Draw a motion as a film strip of figures.

    Parameters
    ----------
    motion : Motion
        Motion with any skeleton and at least one frame.
    frames : int
        Number of poses, evenly spaced in time from the first frame to the last.
    view : str
        ``three-quarter``, ``side``, ``front``, ``back`` or ``top``, relative to the direction of
        travel or, if the motion stays in place, to the facing direction.
    layout : str
        ``world`` draws all figures at their positions, ``stages`` draws each figure on a separate
        piece of floor, ``auto`` selects ``world`` if the figures do not overlap.
    first_frame : int
        Number with which frame labels start, for a motion that was cut from a longer motion.
    mark : int, optional
        Frame that is always drawn, on a red stage.
    body : bool
        Draw the neutral body instead of a stick figure, if the skeleton has the required roles.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure, which is not registered with pyplot. Save it with
        ``figure.savefig("strip.png")``.

    Raises
    ------
    InvalidInput
        If the motion is empty or an option is unknown.

    Examples
    --------
    >>> import motionloom as ml
    >>> strip = film_strip(ml.demo.clip("walk"), frames=6, view="side")
    >>> strip.savefig("walk.png")                                   # doctest: +SKIP
    """
    if frames < 1:
        raise InvalidInput(f"frames must be at least 1; got {frames}")
    if layout not in LAYOUTS:
        raise InvalidInput(f"layout must be one of {', '.join(LAYOUTS)}; got {layout!r}")
    if mark is not None and not 0 <= mark < len(motion):
        raise InvalidInput(f"mark must be a frame between 0 and {len(motion) - 1}; got {mark}")
    strip = _strip(motion, frames, view, first_frame, mark, body_figure(motion) if body else None)
    if mark is None and (layout == "world" or (layout == "auto" and _travels(strip))):
        return _draw_world(strip)
    return _draw_stages(strip)


def write_strip(
    motion: Motion,
    path: str | Path,
    *,
    frames: int = 8,
    view: str = "three-quarter",
    layout: str = "auto",
    first_frame: int = 0,
    body: bool = False,
) -> Path:
    """Write a film strip to a .png, .svg or .pdf file; for the options, see `film_strip`.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> from motionloom.plots import write_strip
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_strip(ml.demo.clip("walk"), f"{folder}/walk.png").name)
    walk.png
    """
    path = checked_picture_path(path)
    strip = film_strip(
        motion, frames=frames, view=view, layout=layout, first_frame=first_frame, body=body
    )
    return write_figure(strip, path)


@dataclass(frozen=True)
class _Strip:
    """Poses, path and camera of a strip."""

    motion: Motion
    figure: StickFigure
    camera: Camera
    path: NDArray[np.float32]  # (T, 3) of the anchor
    shown: NDArray[np.intp]  # (K,) frames
    poses: NDArray[np.float64]  # (K, P, 3)
    first_frame: int  # number of frame 0 in the labels
    mark: int | None = None  # frame on a red stage
    body: BodyFigure | None = None  # drawn instead of the stick figure

    def draw_figure(self, axes: Axes, k: int, scale: float, shift: ArrayLike = (0.0, 0.0)) -> None:
        """Draw figure `k`, moved by `shift` in the image."""
        if self.body is None:
            bones = ink.figure_strokes(self.figure, self.poses[k], self.camera)
            paint(axes, bones.shifted(shift), scale, zorder=4)
        else:
            seen = self.body.triangles(self.motion, int(self.shown[k]), self.camera)
            paint_triangles(axes, seen.shifted(shift), zorder=4)

    @property
    def boxes(self) -> NDArray[np.float64]:
        """Left, bottom, right, top (K, 4) of the figures in the image plane."""
        seen = self.camera.project(self.poses)[..., :2]
        seen = np.where(np.isfinite(seen), seen, np.nan)
        edge = 0.5 * max(self.figure.widths.max(), self.figure.head_width)
        boxes = []
        for pose in seen:
            pose = pose[np.isfinite(pose).all(axis=1)]
            pose = pose if len(pose) else np.zeros((1, 2))
            boxes.append([*(pose.min(axis=0) - edge), *(pose.max(axis=0) + edge)])
        return np.array(boxes)

    def number(self, k: int) -> int:
        """Return the frame number in the label of figure `k`."""
        return self.first_frame + int(self.shown[k])

    def on_floor(self, point) -> NDArray[np.float64]:
        """Return `point` (3,), projected to the floor."""
        return np.array([point[0], self.figure.ground, point[2]], dtype=np.float64)


def _strip(
    motion: Motion,
    frames: int,
    view: str,
    first_frame: int,
    mark: int | None,
    body: BodyFigure | None,
) -> _Strip:
    figure = stick_figure(motion)
    shown = np.unique(np.rint(np.linspace(0, len(motion) - 1, frames)).astype(np.intp))
    if mark is not None:  # replaces the figure nearest to it
        shown[np.argmin(np.abs(shown - mark))] = mark
    anchor = int(figure.points[figure.anchor])
    path = _point_path(motion, anchor)
    poses = np.stack([figure.positions(motion[int(f)])[0] for f in shown]).astype(np.float64)
    poses[~np.isfinite(poses).all(axis=-1)] = np.nan
    camera = camera_for(motion, figure, path, view=view)
    return _Strip(motion, figure, camera, path, shown, poses, first_frame, mark, body)


def _point_path(motion: Motion, point: int) -> NDArray[np.float32]:
    """Return the path (T, 3) of one point, computed in blocks of frames."""
    if point == 0:
        return motion.root
    blocks = range(0, len(motion), 4096)
    return np.concatenate([motion[b : b + 4096].positions()[:, point] for b in blocks])


def _travels(strip: _Strip) -> bool:
    """Return whether the motion travels so far that the figures do not overlap horizontally."""
    if len(strip.shown) < 2:
        return False
    boxes, size = strip.boxes, strip.figure.size
    middle = strip.camera.project(strip.path[strip.shown])[:, 0]
    gaps = np.diff(middle)
    width = float(np.median(boxes[:, 2] - boxes[:, 0]))
    span = boxes[:, 2].max() - boxes[:, 0].min()
    return bool(gaps.min() > max(0.5 * width, 0.2 * size) and span < 13.0 * size)


# --- layout "world" -------------------------------------------------------------------


def _draw_world(strip: _Strip) -> Figure:
    figure, camera, size = strip.figure, strip.camera, strip.figure.size
    ahead = floor_direction(camera.direction)
    aside = np.array([ahead[2], 0.0, -ahead[0]])
    start = strip.on_floor(strip.path[strip.shown[0]])
    floor = strip.poses.reshape(-1, 3) - start
    floor = floor[np.isfinite(floor).all(axis=1)]
    step = 2.0 * ink.grid_step(size)
    along, across = floor @ ahead, floor @ aside
    near, far = along.min() - 0.2 * size, along.max() + 0.2 * size
    side = max(np.abs(across).max() + 0.1 * size, 0.4 * size)
    place = lambda x, z: camera.project(start + x * ahead + z * aside)[:2]  # noqa: E731
    # `aside` is the character's left, away from the viewer in a side view.
    front = side if (camera.project(aside)[2] > 0) else -side

    lane = np.array([place(near, -side), place(far, -side), place(far, side), place(near, side)])
    boxes = strip.boxes
    low, high = lane[:, 1].min(), max(boxes[:, 3].max(), lane[:, 1].max())
    extent = (
        min(lane[:, 0].min(), boxes[:, 0].min()),
        low - 0.36 * size,
        max(lane[:, 0].max(), boxes[:, 2].max()),
        high + 0.06 * size,
    )
    sheet, axes, scale = page(strip.motion, strip.figure, extent)
    axes.fill(*lane.T, color=ink.FLOOR, lw=0, zorder=1)
    marks = np.arange(math.ceil(near / step), math.floor(far / step) + 1) * step
    ties = np.array([[place(x, -side), place(x, side)] for x in marks]).reshape(-1, 2, 2)
    rails = np.array([[place(near, z), place(far, z)] for z in (-side, 0.0, side)])
    paint(axes, floor_lines(np.concatenate([ties, rails]), 0.004 * size), scale, zorder=2)
    for x in marks:
        label, at = meters(x + 0.0), place(x, front)
        axes.text(at[0], at[1] - 0.03 * size, label, size=7, color=FAINT, ha="center", va="top")
    trail = ink.path_strokes(figure, strip.path, camera)
    shadows = [ink.shadow_strokes(figure, pose, camera) for pose in strip.poses]
    paint(axes, sum(shadows, ink.NOTHING) + trail, scale, zorder=3)
    nearness = camera.project(strip.path[strip.shown])[:, 2]
    for k in np.argsort(np.nan_to_num(nearness), kind="stable"):
        strip.draw_figure(axes, k, scale)
        x = camera.project(strip.path[strip.shown[k]])[0]
        time_label(axes, strip.number(k), strip.motion.fps, (x, low - 0.16 * size), size)
    return sheet


# --- layout "stages" ------------------------------------------------------------------


def _draw_stages(strip: _Strip) -> Figure:
    figure, camera, size = strip.figure, strip.camera, strip.figure.size
    centers = _stage_centers(strip)
    at = camera.project(centers)[:, :2]
    boxes = strip.boxes - np.tile(at, 2)
    radius = 0.42 * size
    rim = np.array([ink.disc(figure, camera, c, radius) for c in centers[:1]])[0] - at[0]
    left = min(boxes[:, 0].min(), rim[:, 0].min()) - 0.03 * size
    right = max(boxes[:, 2].max(), rim[:, 0].max()) + 0.03 * size
    bottom = min(boxes[:, 1].min(), rim[:, 1].min()) - 0.26 * size
    top = max(boxes[:, 3].max(), rim[:, 1].max()) + 0.06 * size
    count = len(strip.shown)
    plan = _path_extent(strip) > 0.35 * size
    cells = count + (1 if plan else 0)
    columns = min(cells, _PER_ROW) if count > _PER_ROW else cells
    rows = math.ceil(cells / columns)
    wide, tall = right - left, top - bottom
    sheet, axes, scale = page(strip.motion, strip.figure, (0.0, -rows * tall, columns * wide, 0.0))
    for k in range(count):
        row, column = divmod(k, columns)
        shift = np.array([column * wide - left, -row * tall - top]) - at[k]
        _draw_stage(axes, strip, k, centers[k], shift, radius, scale)
        x, y = at[k] + shift + [0.0, bottom + 0.2 * size]
        time_label(axes, strip.number(k), strip.motion.fps, (x, y), size)
    if plan:
        row, column = divmod(count, columns)
        _draw_plan(axes, strip, (column * wide, -(row + 1) * tall, wide, tall), scale)
    return sheet


def _stage_centers(strip: _Strip) -> NDArray[np.float64]:
    """Return the center of each stage on the floor; all are equal if the motion stays in place."""
    path = np.where(np.isfinite(strip.path), strip.path, np.nan).astype(np.float64)
    own = np.array([strip.on_floor(p) for p in np.nan_to_num(path[strip.shown])])
    if _path_extent(strip) > 0.35 * strip.figure.size:
        return own
    return np.tile(strip.on_floor(np.nan_to_num(np.nanmedian(path, axis=0))), (len(own), 1))


def _path_extent(strip: _Strip) -> float:
    path = strip.path[np.isfinite(strip.path).all(axis=1)][:, [0, 2]]
    return float(np.ptp(path, axis=0).max()) if len(path) else 0.0


def _draw_stage(axes, strip: _Strip, k: int, center, shift, radius: float, scale: float) -> None:
    figure, camera, now = strip.figure, strip.camera, int(strip.shown[k])
    rim = ink.disc(figure, camera, center, radius) + shift
    marked = now == strip.mark
    axes.fill(*rim.T, color=ink.FLOOR, lw=0, zorder=1)
    if marked:
        axes.plot(*np.append(rim, rim[:1], axis=0).T, color=MARK, lw=2.0, zorder=3)
    step = ink.grid_step(figure.size)
    grid = ink.grid_strokes(figure, camera, center, radius, step=step)
    paint(axes, grid.shifted(shift), scale, zorder=2)
    # Draw only the trail around this frame; the whole path of a long dance would be unreadable.
    first = max(now - int(_TRAIL_SECONDS * strip.motion.fps), 0)
    path = strip.path[first : now + int(0.5 * _TRAIL_SECONDS * strip.motion.fps) + 1]
    near = np.linalg.norm((path - center)[:, [0, 2]], axis=1) < radius
    path = np.where(near[:, None], path, np.nan)
    trail = ink.path_strokes(figure, path, camera, now=now - first)
    shadow = ink.shadow_strokes(figure, strip.poses[k], camera)
    paint(axes, (shadow + trail).shifted(shift), scale, zorder=3)
    strip.draw_figure(axes, k, scale, shift)


def _draw_plan(axes: Axes, strip: _Strip, box, scale: float) -> None:
    """Draw the whole path from above, with a dot for every figure and a scale bar."""
    left, bottom, wide, tall = box
    size = strip.figure.size
    above = Camera(strip.camera.direction, "top")
    path = above.project(strip.path)[:, :2]
    finite = path[np.isfinite(path).all(axis=1)]
    low, extent = finite.min(axis=0), np.maximum(np.ptp(finite, axis=0), 1e-9)
    room = np.array([0.78 * wide, 0.52 * tall])
    zoom = float((room / extent).min())
    corner = np.array([left + 0.5 * wide, bottom + 0.52 * tall]) - 0.5 * zoom * extent
    place = lambda p: corner + zoom * (p - low)  # noqa: E731
    axes.text(left + 0.5 * wide, bottom + 0.92 * tall, "path from above",
              size=7.5, color=FAINT, ha="center", va="top")  # fmt: skip
    line = place(path)
    ends = np.stack([line[:-1], line[1:]], axis=1)
    whole = np.isfinite(ends).all(axis=(1, 2))
    age = 1.0 - np.arange(len(ends)) / max(len(ends) - 1, 1)
    colors = ink.mix(PATH_COLOR, ink.PAPER, 0.7 * age)
    windings = np.nansum(np.linalg.norm(np.diff(line, axis=0), axis=1)) / wide
    widths = np.full(len(ends), 0.018 * size / max(1.0, windings / 2.0) ** 0.5)
    paint(axes, ink.Strokes(ends[whole], widths[whole], colors[whole]), scale, zorder=3)
    dots = place(path[strip.shown])
    axes.scatter(
        dots[:, 0], dots[:, 1], s=14, color=PATH_COLOR, edgecolors=ink.PAPER, lw=0.7, zorder=5
    )
    scale_bar(axes, (left + 0.5 * wide, bottom + 0.13 * tall), zoom, 0.6 * wide, size)


_KINDS = (".png", ".pdf")
_DPI = 80  # a row of eight figures is about 900 pixels wide


def write_match_strip(
    clips: Sequence[tuple[str, Motion]],
    path: str | Path,
    *,
    frames: int = 8,
    view: str = "three-quarter",
) -> Path:
    """Write film strips of several clips (a query and its matches), one per row.

    Parameters
    ----------
    clips : sequence of (title, Motion)
    path : str or Path
        ``.png`` or ``.pdf``.
    frames : int
        Number of figures per row.
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
        raise InvalidInput("a film strip of matches must have at least one clip")
    rows = []
    for title, clip in clips:
        figure = film_strip(replace(clip, name=title), frames=frames, view=view, layout="stages")
        figure.set_dpi(_DPI)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        rows.append(np.asarray(canvas.buffer_rgba())[..., :3])
    width = max(row.shape[1] for row in rows)
    padded = [
        np.pad(row, ((0, 0), (0, width - row.shape[1]), (0, 0)), constant_values=255)
        for row in rows
    ]
    with atomic_write(path) as scratch:
        Image.fromarray(np.concatenate(padded)).save(scratch)
    return path


_FIGURES = 9

_TITLES = {
    "robot": "feasibility for the robot",
    "slide": "feet slide {cm:.1f} cm per contact",
    "floor": "feet {cm:.1f} cm below the floor",
    "seam": "seam accelerates {value:.2f} times as much as the takes",
    "steps": "{percent:.0f} % of the steps repeat a foot",
    "jump": "jump of {cm:.0f} cm in one frame",
    "limbs": "limbs overlap {cm:.1f} cm",
    "balance": "{cm:.1f} cm out of balance",
    "drag": "toes drag {cm:.0f} cm",
    "range": "a joint is {value:.0f} degrees beyond its range",
    "turn": "a joint turns {value:.1f} times as fast as in the takes",
    "height": "{cm:.1f} cm off the height of the takes",
}


def write_worst_second(
    motion: Motion, path: str | Path, *, quality: QualityReport | None = None
) -> Path:
    """Draw the second around the worst frame of a motion, as a .png, .svg or .pdf file.

    The worst frame, drawn on a red stage, is that of the measurement that exceeds its limit the
    most or, if none does, comes closest to its limit. The title names the measurement, the body
    part, and the source take.

    Parameters
    ----------
    motion : Motion
    path : str or Path
    quality : QualityReport, optional
        Quality report. Default: the report of the motion.

    Raises
    ------
    InvalidInput
        If the motion has no quality measurements, or if the suffix is not a picture format.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> from motionloom.motion_graph import motion_graph
    >>> walk = motion_graph([ml.demo.clip("take_locomotion")]).walk(seconds=4, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_worst_second(walk, f"{folder}/worst.png").name)
    worst.png
    """
    path = checked_picture_path(path)
    report = motion.quality if quality is None else quality
    if report is None or not report.worst:
        raise InvalidInput(
            f"cannot draw the worst second, because there are no quality measurements of "
            f"{motion.name or 'the motion'}"
        )
    worst = report.worst[0]
    half = max(1, round(0.5 * motion.fps))
    frame = min(worst.frame, len(motion) - 1)
    first = max(min(frame - half, len(motion) - 2 * half - 1), 0)
    last = min(first + 2 * half + 1, len(motion))
    title = _TITLES.get(worst.measure, worst.measure).format(
        value=worst.value, cm=100 * worst.value, percent=100 * worst.value
    )
    take = f"take {worst.take}" if worst.take and worst.measure != "seam" else ""
    about = ", ".join(filter(None, (worst.detail, take)))
    verdict = "limit passed" if worst.passed else "within its limit"
    whose = f"{motion.name}: " if motion.name else ""
    text = f"{whose}{title} ({verdict}){'; ' if about else ''}{about}"
    named = replace(motion[first:last], name=text)
    strip = film_strip(
        named, frames=_FIGURES, layout="stages", first_frame=first, mark=frame - first,
        body=report.robot is not None,
    )  # fmt: skip
    return write_figure(strip, path)
