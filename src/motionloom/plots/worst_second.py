"""The worst second of a synthesized motion: a film strip with the worst frame marked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import QualityReport
from motionloom.plots.figures.filmstrip import film_strip
from motionloom.plots.pages.page import checked_picture_path, write_figure

_FIGURES = 9

_TITLES = {
    "slide": "feet slide {cm:.1f} cm per contact",
    "floor": "feet {cm:.1f} cm below the floor",
    "seam": "seam accelerates {value:.2f} times as much as the takes",
    "steps": "{percent:.0f} % of the steps repeat a foot",
    "jump": "jump of {cm:.0f} cm in one frame",
    "limbs": "limbs overlap {cm:.1f} cm",
    "balance": "{cm:.1f} cm out of balance",
}


def write_worst_second(
    motion: Motion, path: str | Path, *, quality: QualityReport | None = None
) -> Path:
    """Draw the second around the worst frame of a motion to a .png, .svg or .pdf file.

    The worst frame is that of the measure farthest beyond its limit, or nearest to it, on a red
    stage. The title says which measure it is, where on the body, and from which take.

    Parameters
    ----------
    motion : Motion
    path : str or Path
    quality : QualityReport, optional
        Default: that of the motion.

    Raises
    ------
    InvalidInput
        If nothing was measured, or the suffix is not one of a picture.

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
        raise InvalidInput(f"nothing was measured on {motion.name or 'the motion'}")
    worst = report.worst[0]
    half = max(1, round(0.5 * motion.fps))
    frame = min(worst.frame, len(motion) - 1)
    first = max(min(frame - half, len(motion) - 2 * half - 1), 0)
    last = min(first + 2 * half + 1, len(motion))
    title = _TITLES[worst.measure].format(
        value=worst.value, cm=100 * worst.value, percent=100 * worst.value
    )
    take = f"take {worst.take}" if worst.take and worst.measure != "seam" else ""
    about = ", ".join(filter(None, (worst.detail, take)))
    verdict = "limit passed" if worst.passed else "within its limit"
    whose = f"{motion.name}: " if motion.name else ""
    text = f"{whose}{title} ({verdict}){'; ' if about else ''}{about}"
    named = replace(motion[first:last], name=text)
    strip = film_strip(
        named, frames=_FIGURES, layout="stages", first_frame=first, mark=frame - first
    )
    return write_figure(strip, path)
