"""Animations of a motion, as GIF or MP4 (H.264) files.

GIF files play everywhere but become large quickly. MP4 files are small, but writing them requires
the program ffmpeg. Each frame, which shows a figure on a floor with its path, is painted with
Pillow. The camera follows characters that travel, and otherwise stays still.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MissingExtra, MotionloomError
from motionloom.files import atomic_write
from motionloom.motion import Motion
from motionloom.motion.segment import positive_rate
from motionloom.motion.smoothing import gaussian_smooth
from motionloom.parallel import Progress
from motionloom.plots.figures import drawing as ink
from motionloom.plots.figures.drawing import BodyFigure, Camera, body_figure, camera_for
from motionloom.plots.figures.stick_figure import COLORS, PATH_COLOR, StickFigure, stick_figure

if TYPE_CHECKING:
    from PIL.Image import Image


_SMOOTH = 3  # supersampling factor along each edge
_TEXT, _FAINT = "#2b323c", "#7b8494"
_MARGIN = 0.1  # margin around the figure, as a fraction of its size


@dataclass(frozen=True)
class Film:
    """Animation of one motion, with one image per frame."""

    motion: Motion  # at the frame rate of the film
    figure: StickFigure
    camera: Camera
    path: NDArray[np.float64]  # (T, 3) of the anchor
    centers: NDArray[np.float64]  # (T, 3) floor points that the camera looks at
    caption: str
    fps: float
    width: int
    height: int
    scale: float  # pixels per meter
    middle: NDArray[np.float64]  # (2,) image center relative to the projected center, meters
    body: BodyFigure | None = None  # drawn instead of the stick figure

    def pictures(self, progress: Progress | None = None) -> Iterator[Image]:
        """Yield the images of all frames, in order; `progress` is called before each image."""
        for frame in range(len(self.motion)):
            if progress is not None:
                progress(1)
            yield self.picture(frame)

    def picture(self, frame: int) -> Image:
        """Draw one frame as an image, supersampled for smooth edges."""
        from PIL import Image, ImageDraw

        figure, camera, center = self.figure, self.camera, self.centers[frame]
        scale = self.scale * _SMOOTH
        size = (self.width * _SMOOTH, self.height * _SMOOTH)
        image = Image.new("RGB", size, ink.PAPER)
        draw = ImageDraw.Draw(image)
        origin = camera.project(center)[:2] + self.middle
        corner = np.array(size) / 2.0
        place = lambda p: corner + (p - origin) * [scale, -scale]  # noqa: E731

        radius = 0.62 * self.width / self.scale
        rim = place(ink.disc(figure, camera, center, radius))
        draw.polygon([tuple(p) for p in rim], fill=ink.FLOOR)
        step = ink.grid_step(figure.size)
        pose = figure.positions(self.motion[frame])[0].astype(np.float64)
        first = max(frame - round(4.0 * self.fps), 0)
        trail = ink.path_strokes(figure, self.path[first : frame + 1], camera)
        strokes = ink.grid_strokes(figure, camera, center, radius, step=step)
        strokes += ink.shadow_strokes(figure, pose, camera) + trail
        if self.body is None:
            strokes += ink.figure_strokes(figure, pose, camera)
        _paint(draw, place(strokes.ends), strokes.widths * scale, strokes.colors)
        if self.body is not None:
            seen = self.body.triangles(self.motion, frame, camera)
            _paint_triangles(draw, place(seen.corners), seen.colors)
        image = image.reduce(_SMOOTH)
        self._write(ImageDraw.Draw(image), frame)
        return image

    def _write(self, draw, frame: int) -> None:
        from PIL import ImageFont

        large = ImageFont.load_default(max(round(self.width / 32), 9))
        small = ImageFont.load_default(max(round(self.width / 40), 8))
        gap = round(self.width / 40)
        room = self.width - 2 * gap
        time = f"{frame / self.fps:.2f} s"
        draw.text((gap, gap), _fitted(self.caption, large, room), fill=_TEXT, font=large)
        at = (self.width - gap, self.height - gap)
        draw.text(at, time, fill=_FAINT, font=small, anchor="rs")


def film_for(
    motion: Motion, width: int, fps: float, seconds: float | None, view: str, body: bool = False
) -> Film:
    """Create an animation that is `width` pixels wide and lasts at most `seconds`."""
    figure = stick_figure(motion)
    caption = motion.name or "motion"
    if seconds is not None and motion.duration > seconds:
        caption += f" (first {seconds:g} of {motion.duration:.1f} s)"
        motion = motion[: max(round(seconds * motion.fps), 1)]
    motion = motion.resample(fps)
    path = np.concatenate(
        [
            figure.positions(motion[b : b + 4096])[:, figure.anchor]
            for b in range(0, len(motion), 4096)
        ]
    ).astype(np.float64)
    camera = camera_for(motion, figure, path, view=view)
    centers = _followed(path, figure, fps)
    low, high = _extent(motion, figure, camera, centers)
    low[0] = min(low[0], -0.45 * figure.size)
    high[0] = max(high[0], 0.45 * figure.size)
    low[1] = min(low[1], -0.12 * figure.size)
    low, high = low - _MARGIN * figure.size, high + _MARGIN * figure.size
    band = round(width / 16)  # room for the name above the figure
    scale = width / float(high[0] - low[0])
    height = round((high[1] - low[1]) * scale) + band
    if height > 1.25 * width:
        scale *= (1.25 * width - band) / (height - band)
        height = round(1.25 * width)
    height, width = height + height % 2, width + width % 2  # H.264 requires even sizes
    middle = 0.5 * (low + high) + [0.0, 0.5 * band / scale]
    shown = body_figure(motion, detail="low" if width < 600 else "high") if body else None
    return Film(
        motion, figure, camera, path, centers, caption, fps, width, height, scale, middle, shown
    )


def _followed(path: NDArray, figure: StickFigure, fps: float) -> NDArray[np.float64]:
    """Return camera targets (T, 3): the smoothed path, or its middle if it is short."""
    path = np.nan_to_num(path, posinf=0.0, neginf=0.0)
    floor = path * [1.0, 0.0, 1.0] + [0.0, figure.ground, 0.0]
    if np.ptp(floor, axis=0).max() < 0.6 * figure.size:
        return np.tile(0.5 * (floor.min(axis=0) + floor.max(axis=0)), (len(floor), 1))
    return gaussian_smooth(floor, 0.35 * fps)


def _extent(motion: Motion, figure: StickFigure, camera: Camera, centers: NDArray):
    """Return the lower left and upper right corner (2,) of the figure relative to its centers."""
    low, high = np.zeros(2), np.zeros(2)
    for start in range(0, len(motion), 4096):
        block = slice(start, start + 4096)
        poses = figure.positions(motion[block]) - centers[block, None]
        seen = camera.project(poses)[..., :2]
        seen = seen[np.isfinite(seen).all(axis=-1)]
        if len(seen):
            low, high = np.minimum(low, seen.min(axis=0)), np.maximum(high, seen.max(axis=0))
    return low, high


def _paint(draw, ends, widths, colors) -> None:
    """Draw lines with round ends, each as a box and two discs."""
    inks = [tuple(c) for c in np.rint(255 * colors).astype(int)]
    radii = 0.5 * np.maximum(widths, 1.0)
    for (a, b), r, fill in zip(ends, radii, inks, strict=True):
        along = b - a
        length = float(np.hypot(*along))
        if length > 0.0:
            side = np.array([-along[1], along[0]]) * (r / length)
            draw.polygon([tuple(p) for p in (a + side, b + side, b - side, a - side)], fill=fill)
        if r > 1.0:
            for p in (a, b):  # Pillow includes the pixels of both edges
                draw.ellipse((*(p - r), *(p + r - 1.0)), fill=fill)


def _paint_triangles(draw, corners, colors) -> None:
    inks = [tuple(c) for c in np.rint(255 * colors).astype(int)]
    for corner, fill in zip(corners.reshape(len(corners), 6).tolist(), inks, strict=True):
        draw.polygon(corner, fill=fill, outline=fill)  # the outline closes the gaps


def palette() -> Image:
    """Return a palette for all frames, with stroke colors, their haze and their blended edges."""
    from PIL import Image

    solid = [ink.rgb(c) for c in (ink.PAPER, ink.FLOOR, ink.GRID, ink.SHADOW)]
    inks = [ink.rgb(c) for c in (*COLORS.values(), PATH_COLOR)]
    hazes = [(1.0 - h) * color + h * solid[0] for color in inks for h in (0.0, 0.13, 0.26, 0.38)]
    edges = [
        (1.0 - e) * color + e * behind
        for color in (*hazes, *solid[2:], ink.rgb(_TEXT), ink.rgb(_FAINT))
        for behind in solid[:2]
        for e in (0.25, 0.5, 0.75)
    ]
    crossings = [0.5 * a + 0.5 * b for a in inks for b in inks if a is not b]
    colors = np.unique(np.rint(255 * np.array(solid + hazes + edges + crossings)), axis=0)
    table = Image.new("P", (1, 1))
    table.putpalette(colors.astype(np.uint8)[:256].tobytes())
    return table


def _fitted(text: str, font, room: float) -> str:
    """Return `text`, shortened in the middle until it fits into `room` pixels."""
    text = "".join(c if c.isprintable() else " " for c in text)
    if font.getlength(text) <= room:
        return text
    keep = len(text) - 1
    while keep > 2 and font.getlength(_cut(text, keep)) > room:
        keep -= 1
    return _cut(text, keep)


def _cut(text: str, keep: int) -> str:
    return text[: keep - keep // 2] + "…" + text[len(text) - keep // 2 :]


GIF_SECONDS = 20.0  # about 3 MB


def write_gif(
    motion: Motion,
    path: str | Path,
    *,
    width: int = 480,
    fps: float = 20.0,
    seconds: float | None = GIF_SECONDS,
    view: str = "three-quarter",
    body: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write a looping animated GIF.

    Parameters
    ----------
    motion : Motion
    path : str or Path
        Output file, written atomically.
    width : int
        Width of the image in pixels. The height depends on the motion.
    fps : float
        Frames per second, at most the motion's frame rate. GIF frame times are multiples of 0.01 s,
        so the nearest possible rate is used; the playback speed is unchanged.
    seconds : float or None
        Maximum length in seconds, or None for no limit. If the motion is cut, the caption says so.
    view, body
        As in `motionloom.plots.film_strip`.
    progress : callable, optional
        Called with 1 before every image. If it raises an exception, drawing stops and no file is
        written.

    Raises
    ------
    InvalidInput
        If the motion is empty or an option is out of range.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> from motionloom.plots import write_gif
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_gif(ml.demo.clip("walk")[:6], f"{folder}/walk.gif").name)
    walk.gif
    """
    _check(width, fps, seconds)
    from PIL.Image import Dither

    hundredths = max(
        round(100.0 / min(fps, motion.fps)), 2
    )  # viewers slow down shorter frame times
    film = film_for(motion, width, 100.0 / hundredths, seconds, view, body)
    colors = palette() if film.body is None else film.picture(len(film.motion) // 2).quantize(256)
    drawn = film.pictures(progress)
    frames = (image.quantize(palette=colors, dither=Dither.NONE) for image in drawn)
    return write_looping_gif(frames, path, hundredths)


def write_mp4(
    motion: Motion,
    path: str | Path,
    *,
    width: int = 720,
    fps: float = 30.0,
    seconds: float | None = None,
    view: str = "three-quarter",
    body: bool = False,
    sound: str | Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write an MP4 file (H.264) with the program ``ffmpeg``; for the options, see `write_gif`.

    `sound` is an audio file that starts at the first frame. The longer of the two is cut to the
    length of the shorter.

    Raises
    ------
    MissingExtra
        If ffmpeg is not installed.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.plots import write_mp4
    >>> write_mp4(ml.demo.clip("walk"), "walk.mp4", seconds=2.0).name    # doctest: +SKIP
    'walk.mp4'
    """
    _check(width, fps, seconds)
    ffmpeg()
    film = film_for(motion, width, min(fps, motion.fps), seconds, view, body)
    pictures = (picture.tobytes() for picture in film.pictures(progress))
    return write_frames_mp4(pictures, path, (film.width, film.height), film.fps, sound=sound)


def write_looping_gif(pictures: Iterator[Image], path: str | Path, hundredths: int) -> Path:
    """Write images (at least one) as a looping GIF, each shown for `hundredths` of a second."""
    with atomic_write(path) as scratch:
        next(pictures).save(
            scratch, format="GIF", save_all=True, append_images=pictures,
            duration=10 * hundredths, loop=0, disposal=1,
        )  # fmt: skip
    return Path(path)


def write_frames_mp4(
    pictures: Iterable[bytes],
    path: str | Path,
    size: tuple[int, int],
    fps: float,
    *,
    sound: str | Path | None = None,
) -> Path:
    """Write images (RGB bytes, even width and height) as an MP4 file (H.264).

    Raises
    ------
    MissingExtra
        If ffmpeg is not installed.
    """
    program = ffmpeg()
    with atomic_write(path) as scratch:
        heard = ["-an"] if sound is None else ["-i", str(sound), "-c:a", "aac", "-shortest"]
        command = [
            program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
            "-s", f"{size[0]}x{size[1]}", "-r", f"{fps:.6f}", "-i", "-", *heard,
            "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20",
            "-movflags", "+faststart", "-f", "mp4", str(scratch),
        ]  # fmt: skip
        work = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert work.stdin is not None and work.stderr is not None
        try:
            for picture in pictures:
                work.stdin.write(picture)
            work.stdin.close()
        except BrokenPipeError:
            pass  # ffmpeg failed; its message is read below
        except BaseException:
            work.kill()
            work.communicate()
            raise
        words = work.stderr.read().decode(errors="replace").strip()
        if work.wait() != 0:
            raise MotionloomError(f"{path}: ffmpeg failed: {words or 'no reason was given'}")
    return Path(path)


def ffmpeg() -> str:
    """Return the path of ffmpeg, from ``PATH`` or from the package imageio-ffmpeg.

    Raises
    ------
    MissingExtra
        If ffmpeg is not found. The message explains how to install it.
    """
    program = shutil.which("ffmpeg")
    if program:
        return program
    try:
        import imageio_ffmpeg  # type: ignore[import-not-found,unused-ignore]

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise MissingExtra(
            "writing MP4 files requires the program ffmpeg, which is not on the PATH; install it "
            "(apt install ffmpeg, brew install ffmpeg, winget install ffmpeg, or "
            "pip install imageio-ffmpeg), or write a GIF instead"
        ) from None


def _check(width: int, fps: float, seconds: float | None) -> None:
    if not 64 <= width <= 4096:
        raise InvalidInput(f"width must be between 64 and 4096 pixels; got {width}")
    positive_rate(fps)
    if seconds is not None and not seconds > 0.0:
        raise InvalidInput(f"seconds must be positive; got {seconds}")
