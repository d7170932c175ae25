"""Moving pictures: a motion as an animated GIF or as an MP4 film.

A GIF plays everywhere and grows quickly; a film is small and needs the program ffmpeg.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.errors import InvalidInput, MissingExtra, MotionloomError
from motionloom.motion import Motion
from motionloom.motion.frames import positive_rate
from motionloom.plots.film import film_of, palette
from motionloom.whole_file import whole_file

if TYPE_CHECKING:
    from PIL.Image import Image

GIF_SECONDS = 20.0  # about 3 MB; a GIF of minutes is no use to anyone


def write_gif(
    motion: Motion,
    path: str | Path,
    *,
    width: int = 480,
    fps: float = 20.0,
    seconds: float | None = GIF_SECONDS,
    view: str = "three-quarter",
) -> Path:
    """Write an animated GIF that loops.

    Parameters
    ----------
    motion : Motion
    path : str or Path
        Where to; written under a temporary name and renamed.
    width : int
        Pixels. The height follows from the motion.
    fps : float
        Frames per second, at most the motion's own. A GIF counts hundredths of a second, so
        the nearest rate it can show is taken; the motion keeps its speed.
    seconds : float or None
        Leave out what comes later, and say so in the picture; None shows all.
    view : str
        As for `motionloom.plots.film_strip`.

    Returns
    -------
    path : Path

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

    hundredths = max(round(100.0 / min(fps, motion.fps)), 2)  # viewers slow down below 2
    film = film_of(motion, width, 100.0 / hundredths, seconds, view)
    colours = palette()
    frames = (image.quantize(palette=colours, dither=Dither.NONE) for image in film.pictures())
    return looped(frames, path, hundredths)


def write_mp4(
    motion: Motion,
    path: str | Path,
    *,
    width: int = 720,
    fps: float = 30.0,
    seconds: float | None = None,
    view: str = "three-quarter",
    sound: str | Path | None = None,
) -> Path:
    """Write an MP4 film (H.264) with the program ``ffmpeg``; options as for `write_gif`.

    `sound` is a sound file to play along, from the first frame on; what is longer of the two
    is cut.

    Raises
    ------
    MissingExtra
        If there is no ffmpeg on this machine.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.plots import write_mp4
    >>> write_mp4(ml.demo.clip("walk"), "walk.mp4", seconds=2.0).name    # doctest: +SKIP
    'walk.mp4'
    """
    _check(width, fps, seconds)
    ffmpeg()
    film = film_of(motion, width, min(fps, motion.fps), seconds, view)
    pictures = (picture.tobytes() for picture in film.pictures())
    return encoded(pictures, path, (film.width, film.height), film.fps, sound=sound)


def looped(pictures: Iterator[Image], path: str | Path, hundredths: int) -> Path:
    """Write pictures, at least one, as a GIF that loops; each stays `hundredths` of a second."""
    with whole_file(path) as scratch:
        next(pictures).save(
            scratch, format="GIF", save_all=True, append_images=pictures,
            duration=10 * hundredths, loop=0, disposal=1,
        )  # fmt: skip
    return Path(path)


def encoded(
    pictures: Iterable[bytes],
    path: str | Path,
    size: tuple[int, int],
    fps: float,
    *,
    sound: str | Path | None = None,
) -> Path:
    """Write pictures, bytes of RGB of an even width and height, as an MP4 film (H.264).

    Raises
    ------
    MissingExtra
        If there is no ffmpeg on this machine.
    """
    program = ffmpeg()
    with whole_file(path) as scratch:
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
            pass  # ffmpeg gave up; its own words follow
        except BaseException:
            work.kill()
            raise
        words = work.stderr.read().decode(errors="replace").strip()
        if work.wait() != 0:
            raise MotionloomError(f"{path}: ffmpeg failed: {words or 'it gave no reason'}")
    return Path(path)


def ffmpeg() -> str:
    """Path of the program ffmpeg, from the PATH or from the package imageio-ffmpeg.

    Raises
    ------
    MissingExtra
        If there is none; the message says how to get it.
    """
    program = shutil.which("ffmpeg")
    if program:
        return program
    try:
        import imageio_ffmpeg  # type: ignore[import-not-found,unused-ignore]

        return imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise MissingExtra(
            "an MP4 needs the program ffmpeg, and there is none on the PATH; install it "
            "(apt install ffmpeg, brew install ffmpeg, winget install ffmpeg, or "
            "pip install imageio-ffmpeg), or write a GIF instead"
        ) from None


def _check(width: int, fps: float, seconds: float | None) -> None:
    if not 64 <= width <= 4096:
        raise InvalidInput(f"width must be 64 to 4096 pixels; got {width}")
    positive_rate(fps)
    if seconds is not None and not seconds > 0.0:
        raise InvalidInput(f"seconds must be positive; got {seconds}")
