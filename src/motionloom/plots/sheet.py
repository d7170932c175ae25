"""Contact sheets: hundreds of clips as small live figures on one self-contained page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

from motionloom.atomic_write import atomic_write
from motionloom.motion import Motion
from motionloom.plots.player import Budget, clip_attribute, clip_data, page_part

# 12 frames a second with a curve through them look smooth at this size; six seconds of
# them are about 20 kB.
SHEET_BUDGET = Budget(fps=12.0, frames=72, seconds=6.0, points=40)


class SheetClip(NamedTuple):
    """One clip of a sheet: what to call it, its motion, and labels to find it by.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.plots import SheetClip
    >>> SheetClip("a walk", ml.demo.clip("walk"), "walk, calm").title
    'a walk'
    """

    title: str
    motion: Motion
    labels: Sequence[str] | str = ()  # as text: separated by commas


@dataclass(frozen=True)
class Sheet:
    """A sheet that was written: where, how many clips, how large, how many were cut."""

    path: Path
    clips: int
    bytes: int
    cut: int


def contact_sheet(
    clips: Iterable[SheetClip | tuple[str, Motion, Sequence[str] | str] | Motion],
    path: str | Path,
    *,
    title: str = "Motions",
    seconds: float = SHEET_BUDGET.seconds,
    fps: float = SHEET_BUDGET.fps,
) -> Sheet:
    """Write one HTML page with a small live figure for every clip.

    The page needs no server and no internet. Clips are taken one at a time, so the
    iterable may be far larger than memory.

    Parameters
    ----------
    clips : iterable of Motion, or of (title, motion, labels)
        In the order shown.
    path : str or Path
        Where to; written under a temporary name and renamed.
    title : str
    seconds : float
        Longer clips show their beginning only, and say so.
    fps : float
        Frames kept per second; the page draws a smooth curve through them.

    Returns
    -------
    sheet : Sheet
        Path, number of clips, size in bytes, number of clips that were cut.

    Raises
    ------
    InvalidInput
        If a clip has no frames, or `seconds` or `fps` is not positive.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sheet = contact_sheet([ml.demo.clip("walk")], f"{folder}/sheet.html")
    ...     sheet.clips, sheet.bytes < 100_000
    (1, True)
    """
    budget = Budget(
        fps=fps, frames=max(int(fps * seconds), 2), seconds=seconds, points=SHEET_BUDGET.points
    )
    before, after = _page(title, budget)
    count = cut = 0
    with atomic_write(path) as scratch:
        # Names may hold bytes of a file name that are no text.
        with scratch.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(before)
            for clip in clips:
                card = SheetClip("", clip) if isinstance(clip, Motion) else SheetClip(*clip)
                file.write(_card(card, budget))
                count += 1
                cut += card.motion.duration > budget.seconds + 1e-6
            file.write(after)
        size = scratch.stat().st_size
    return Sheet(Path(path), count, size, cut)


def _page(title: str, budget: Budget) -> tuple[str, str]:
    """The page before and after the clips."""
    note = (
        f"Clips longer than {budget.seconds:g} s show their beginning. "
        "Click one to turn and scrub it."
    )
    parts = {
        "title": escape(title),
        "note": escape(note),
        **{name: page_part(name) for name in ("player.css", "sheet.css", "player.js", "sheet.js")},
    }
    before, after = page_part("sheet.html").split("{{clips}}")
    return _filled(before, parts), _filled(after, parts)


def _filled(template: str, parts: dict[str, str]) -> str:
    """All placeholders at once, so that a title that looks like one stays a title."""
    return re.sub(r"\{\{([a-z.]+)\}\}", lambda found: parts[found[1]], template)


def _card(clip: SheetClip, budget: Budget) -> str:
    title = clip.title or clip.motion.name or "motion"
    data = clip_data(clip.motion, budget, name=title)
    labels = clip.labels
    if isinstance(labels, str):
        labels = [label.strip() for label in labels.split(",") if label.strip()]
    chips = "".join(f'<span class="chip">{escape(str(label))}</span>' for label in labels)
    seconds = f"{clip.motion.duration:.1f} s"
    if clip.motion.duration > budget.seconds + 1e-6:
        seconds = f"first {budget.seconds:g} of {seconds}"
    return (
        f'<article class="clip" tabindex="0" data-clip="{clip_attribute(data)}"><canvas></canvas>'
        f'<div class="words"><h2 title="{escape(title)}">{escape(title)}</h2>'
        f"<p>{seconds}</p>{chips}</div></article>\n"
    )
