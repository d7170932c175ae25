"""Top views of crowds (image, GIF, MP4 or HTML page), and dance floor plans."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.dance.music import Music, audible
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import hips_path
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.plots.figures.animation import GIF_SECONDS, write_frames_mp4, write_looping_gif
from motionloom.plots.pages.html_pages import write_clip_page
from motionloom.plots.pages.page import FAINT, TEXT, checked_picture_path, write_figure
from motionloom.plots.pages.player import packed_clip

Array = NDArray[np.float64]

SUFFIXES = (".png", ".svg", ".pdf", ".gif", ".mp4", ".html")
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
TRAIL = 4.0  # length of the visible path, in seconds
_SIZE = 7.2  # longer side of the page, in inches
_DPI, _FILM_DPI = 110, 80
_LINE_POINTS = 200  # of the center line on a page
_GIF_RATE, _FILM_RATE = 10.0, 25.0
# Outline of a body seen from above, facing +z, in meters: shoulders and nose.
OUTLINE = np.array([
    (0.0, 0.2), (-0.07, 0.11), (-0.17, 0.09), (-0.22, 0.0), (-0.17, -0.09), (0.0, -0.11),
    (0.17, -0.09), (0.22, 0.0), (0.17, 0.09), (0.07, 0.11),
])  # fmt: skip


@dataclass(frozen=True, eq=False)
class TopView:
    """Floor positions of a crowd and its surroundings; see `write_top_view`."""

    bodies: Array  # (A, C, T, 3): x, z, yaw of the C bodies of A agents
    fps: float
    radius: float
    room: Sequence[float] | None = None
    columns: Sequence[Sequence[float]] = ()
    line: ArrayLike | None = None

    @property
    def centers(self) -> Array:
        """Centers of the agents, (A, T, 2)."""
        return np.asarray(self.bodies[..., :2].mean(axis=1))

    @property
    def extent(self) -> tuple[Array, Array]:
        """Minimum and maximum x and z of the view."""
        if self.room is not None:
            half = 0.5 * np.asarray(self.room, np.float64) + 0.3
            return -half, half
        shown = [self.centers.reshape(-1, 2)]
        if self.line is not None:
            shown.append(np.asarray(self.line, np.float64))
        every = np.concatenate(shown)
        return every.min(axis=0) - 1.0, every.max(axis=0) + 1.0


def write_top_view(
    agents: Sequence[Sequence[Motion]],
    path: str | Path,
    *,
    radius: float = 0.3,
    room: Sequence[float] | None = None,
    columns: Sequence[Sequence[float]] = (),
    line: ArrayLike | None = None,
    music: Music | None = None,
    seconds: float | None = None,
) -> Path:
    """Draw a crowd from above: the last frame (PNG, SVG, PDF) or an animation (GIF, MP4, HTML).

    Parameters
    ----------
    agents : sequence of sequences of Motion
        Motions of each agent: two for a couple, or one for a soldier.
    path : str or Path
    radius : float
        Radius of the discs around agents, in meters.
    room : (width, depth), optional
    columns : sequence of (x, z, radius)
    line : array_like, shape (S, 2), optional
        Center line of a street.
    music : Music, optional
        Sound track of an MP4 file.
    seconds : float, optional
        Maximum length of an animation, in seconds. Default: 20 s for a GIF, no limit otherwise.

    Raises
    ------
    MissingExtra
        If an MP4 file is requested and ffmpeg is not installed.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise InvalidInput(
            f"cannot write a top view to {path}: the suffix must be one of {', '.join(SUFFIXES)}"
        )
    view = TopView(floor_bodies(agents), agents[0][0].fps, radius, room, columns, line)
    if kind == ".html":
        return write_clip_page(packed_view(view, name=path.stem), path.stem, path)
    canvas = _Canvas(view, _FILM_DPI if kind in (".gif", ".mp4") else _DPI)
    if kind == ".gif":
        return _gif(canvas, path, GIF_SECONDS if seconds is None else seconds)
    if kind == ".mp4":
        return _mp4(canvas, path, seconds, music)
    canvas.show(view.bodies.shape[2] - 1)
    return write_figure(canvas.figure, path)


def floor_bodies(agents: Sequence[Sequence[Motion]]) -> Array:
    """Return x, z and yaw (A, C, T, 3) of the C bodies of A agents."""
    if not agents or not agents[0] or not len(agents[0][0]):
        raise InvalidInput("a top view requires at least one agent with at least one frame")
    return np.stack(
        [
            np.stack([np.column_stack([*hips_path(body)[:, [0, 2]].T, body.headings()])
                      for body in agent])
            for agent in agents
        ]
    ).astype(np.float64)  # fmt: skip


class _Canvas:
    """A Matplotlib page that is updated from frame to frame."""

    def __init__(self, view: TopView, dpi: float) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.colors import to_rgba
        from matplotlib.figure import Figure

        self.view, (low, high) = view, view.extent
        wide, deep = high - low
        scale = _SIZE / max(wide, deep)
        # MP4 files require an even number of pixels in both directions.
        sides = [2.0 * max(round(0.5 * scale * side * dpi), 50) / dpi for side in (wide, deep)]
        self.figure = Figure(figsize=(sides[0], sides[1]), dpi=dpi, facecolor="white")
        self.canvas = FigureCanvasAgg(self.figure)
        axes = self.figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        # Seen from above with x to the right, z points down the page.
        axes.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), aspect="equal")
        _draw_floor(axes, view)
        agents, bodies = view.bodies.shape[:2]
        colors = [COLORS[i % len(COLORS)] for i in range(agents)]
        self._trails = LineCollection([], colors=colors, linewidths=1.2, alpha=0.55)
        self._discs = PolyCollection([], facecolors=[to_rgba(c, 0.18) for c in colors],
                                     edgecolors=colors, linewidths=0.8)  # fmt: skip
        # The leader is dark, and the follower is light.
        shades = [to_rgba(c, 1.0 if k == 0 else 0.55) for c in colors for k in range(bodies)]
        self._figures = PolyCollection([], facecolors=shades, edgecolors="white", linewidths=0.4)
        for artist in (self._trails, self._discs, self._figures):
            axes.add_collection(artist, autolim=False)
        self._clock = axes.text(0.965, 0.05, "", transform=axes.transAxes, ha="right", va="bottom",
                                size=8, color=FAINT)  # fmt: skip
        around = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
        self._ring = view.radius * np.column_stack([np.cos(around), np.sin(around)])
        self._centers = view.centers

    def show(self, frame: int) -> None:
        """Move all bodies to their positions in a frame."""
        first = max(0, frame - round(TRAIL * self.view.fps))
        self._trails.set_segments(list(self._centers[:, first : frame + 1]))
        self._discs.set_verts(list(self._ring + self._centers[:, None, frame]))
        x, z, yaw = self.view.bodies[:, :, frame].reshape(-1, 3).T[..., None]
        left, ahead = OUTLINE.T
        outlines = np.stack(
            [x + np.cos(yaw) * left + np.sin(yaw) * ahead,
             z - np.sin(yaw) * left + np.cos(yaw) * ahead], axis=-1,
        )  # fmt: skip
        self._figures.set_verts(list(outlines))
        self._clock.set_text(f"{frame / self.view.fps:.1f} s")

    def pictures(self, rate: float, seconds: float | None) -> Iterator[NDArray[np.uint8]]:
        """Yield RGB images (H, W, 3) at `rate` for at most `seconds`."""
        count, fps = self.view.bodies.shape[2], self.view.fps
        if seconds is not None:
            count = min(count, max(round(seconds * fps), 1))
        for k in range(max(int(count / fps * rate), 1)):
            self.show(min(round(k * fps / rate), count - 1))
            self.canvas.draw()
            yield np.asarray(self.canvas.buffer_rgba())[..., :3]


def _gif(canvas: _Canvas, path: Path, seconds: float) -> Path:
    from PIL import Image

    frames = (
        Image.fromarray(np.ascontiguousarray(picture)).quantize(64)
        for picture in canvas.pictures(_GIF_RATE, seconds)
    )
    return write_looping_gif(frames, path, round(100.0 / _GIF_RATE))


def _mp4(canvas: _Canvas, path: Path, seconds: float | None, music: Music | None) -> Path:
    rate = min(_FILM_RATE, canvas.view.fps)
    width, height = canvas.canvas.get_width_height()
    pictures = (picture.tobytes() for picture in canvas.pictures(rate, seconds))
    with tempfile.TemporaryDirectory() as folder:
        length = canvas.view.bodies.shape[2] / canvas.view.fps
        sound = None if music is None else audible(music, Path(folder) / "music.wav", length)
        return write_frames_mp4(pictures, path, (width, height), rate, sound=sound)


def _draw_floor(axes, view: TopView) -> None:
    from matplotlib.patches import Circle, Rectangle

    if view.room is not None:
        wide, deep = view.room
        corner = (-0.5 * wide, -0.5 * deep)
        axes.add_patch(Rectangle(corner, wide, deep, fill=False, lw=2, ec="0.3"))
    for x, z, size in view.columns:
        axes.add_patch(Circle((x, z), size, fc="0.55", ec="0.3"))
    if view.line is not None:
        axes.plot(*np.asarray(view.line).T, color="0.8", lw=1, ls="--")


_RATE = 10.0  # samples per second; the page interpolates between them
_CENTIMETER, _MILLIRADIAN = 100.0, 1000.0


def packed_view(
    view: TopView, *, name: str, trail: float = TRAIL, marks: Sequence[int] = ()
) -> str:
    """Pack a view for a player, with positions in centimeters and headings in milliradians.

    Parameters
    ----------
    view : TopView
    name : str
        Title.
    trail : float
        Length of the visible path in seconds; 0 shows all of it.
    marks : sequence of int
        Frames to mark on the path.
    """
    count = view.bodies.shape[2]
    rate = min(_RATE, view.fps)
    frames = np.minimum(
        np.rint(np.arange(int((count - 1) / view.fps * rate) + 1) * view.fps / rate), count - 1
    ).astype(np.intp)
    shown = view.bodies[:, :, frames]
    yaws = np.unwrap(shown[..., 2], axis=2)
    packed = np.stack(
        [_CENTIMETER * shown[..., 0], _CENTIMETER * shown[..., 1], _MILLIRADIAN * yaws], axis=2
    )
    low, high = view.extent
    line = np.zeros((0, 2)) if view.line is None else np.asarray(view.line)
    line = line[:: max(len(line) // _LINE_POINTS, 1)]
    header = {
        "kind": "floor",
        "name": name,
        "facts": "",
        "note": "",
        "fps": rate,
        "agents": shown.shape[0],
        "bodies": shown.shape[1],
        "radius": view.radius,
        "room": None if view.room is None else list(view.room),
        "columns": [list(column) for column in view.columns],
        "line": np.round(line, 2).tolist(),
        "low": np.round(low, 2).tolist(),
        "high": np.round(high, 2).tolist(),
        "colors": COLORS,
        "outline": OUTLINE.tolist(),
        "trail": trail,
        "marks": [round(mark * rate / view.fps, 1) for mark in marks],
    }
    return packed_clip(header, np.rint(packed).astype(np.int64).reshape(-1, len(frames)))


_COLORS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7a6a00", "#555555",
)  # fmt: skip
_MARGIN = 0.6  # meters


def write_floor_plan(
    motions: Sequence[Motion], path: str | Path, *, frame: int = 0, dpi: float = 110
) -> Path:
    """Write a floor plan: the area each character covers, its path, and one pose.

    Parameters
    ----------
    motions : sequence of Motion
        Motions in world coordinates.
    path : str or Path
        ``.png``, ``.svg`` or ``.pdf``.
    frame : int
        Frame in which the poses are drawn. The area that a character covers in any frame is tinted.
    dpi : float
    """
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    path = checked_picture_path(path)
    motions = [hips_as_root(motion) for motion in motions]
    places = [motion.positions(end_sites=True)[..., [0, 2]] for motion in motions]
    every = np.concatenate([place.reshape(-1, 2) for place in places])
    low, high = every.min(axis=0) - _MARGIN, every.max(axis=0) + _MARGIN
    wide, deep = high - low
    inches = 8.0 / max(wide, deep)
    sheet = Figure(figsize=(wide * inches, deep * inches), dpi=dpi, facecolor="white")
    axes = sheet.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), aspect="equal")
    axes.set_axis_off()
    for number, (motion, place) in enumerate(zip(motions, places, strict=True)):
        color = _COLORS[number % len(_COLORS)]
        seen = np.unique(np.round(place.reshape(-1, 2), 2), axis=0)
        axes.plot(*seen.T, ",", color=color, alpha=0.25, zorder=1, rasterized=True)
        root = motion.root[:, [0, 2]]
        axes.plot(*root.T, color=color, linewidth=0.8, alpha=0.8, zorder=2)
        now = min(max(frame, 0), len(motion) - 1)
        parents = motion.skeleton.parents
        bones = [place[now, [j, p]] for j, p in enumerate(parents) if p >= 0]
        axes.add_collection(LineCollection(bones, colors=TEXT, linewidths=2.0, zorder=3))
        x, z = place[now, 0]
        axes.text(x, z, f"  {number + 1}", color=color, size=11, weight="bold", zorder=4)
    axes.plot([low[0] + 0.2, low[0] + 1.2], [high[1] - 0.15] * 2, color=FAINT, linewidth=2)
    axes.text(low[0] + 0.7, high[1] - 0.2, "1 m", color=FAINT, size=9, ha="center")
    return write_figure(sheet, path)
