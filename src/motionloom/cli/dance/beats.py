"""``motionloom beats`` and ``movements``: motion beats, and movement transition graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.arguments import is_library, motion_from
from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, open_library
from motionloom.cli.terminal import print_json, remark
from motionloom.dance.settings import RHYTHMIC, BeatSettings
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.library import Beats
    from motionloom.motion import Motion

_OFF_TEMPO = 0.1  # of beats found, from a tempo by hand


def beats(
    motions: Annotated[
        list[str],
        Argument(
            "One motion, or several that were danced together, also as LIB:NAME+NAME.",
            metavar="FILE|LIB:NAME...",
        ),
    ],
    *,
    save: Annotated[
        bool,
        Option(
            "Keep --bpm, --first-beat and who danced together with the library, for all "
            "commands; LIB:60_*+61_* pairs many takes. With neither: forget them.",
            "--save",
        ),
    ] = False,
    move: Annotated[
        list[str] | None,
        Option(
            "Move beat K of LIB:NAME, counted from 0, and keep it; may be repeated.",
            metavar="K:SECONDS",
        ),
    ] = None,
    add: Annotated[
        list[float] | None,
        Option("Add a beat to LIB:NAME and keep it.", metavar="SECONDS"),
    ] = None,
    remove: Annotated[
        list[int] | None,
        Option("Remove beat K of LIB:NAME, counted from 0, for good.", metavar="K"),
    ] = None,
    output: Annotated[
        Path | None,
        Option("Draw the beats: .png, .svg or .pdf.", "-o --output", metavar="FILE"),
    ] = None,
    settings: BeatSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find the beats of a motion, with a confidence.

    Several motions of one frame rate and length (a couple) are analyzed together.
    """
    if save:
        _save_beats(motions, settings, json=json)
        return
    if move or add or remove:
        _edit_beats(motions, move or [], add or [], remove or [])
    loaded, found = _analyzed(motions, settings)
    if output is not None:
        from motionloom.plots.rhythm import write_beats

        write_beats(loaded, found, output)
    if json:
        print_json({**found.as_dict(), "picture": str(output) if output else None})
        return
    _print_beats(found)
    if output is not None:
        print(output)


def _analyzed(texts: list[str], settings: BeatSettings) -> tuple[list[Motion], Beats]:
    """Motions and their beats; those of a library as it knows them."""
    from motionloom.library import beats as beats_of

    place, names = _in_library(texts)
    if place is not None and not any(":" in name for name in names):
        lib = open_library(place)
        return [lib[name] for name in names], lib.beats.of(names, settings)
    loaded = [motion_from(text) for text in texts]
    return loaded, beats_of(loaded, settings)


def _in_library(texts: list[str]) -> tuple[Path | None, list[str]]:
    """The library and the names, if all texts are ``LIB:NAME`` or ``LIB:NAME+NAME`` of one."""
    parts = [text.partition(":") for text in texts if not Path(text).exists()]
    places = {place for place, _, _ in parts}
    if len(parts) != len(texts) or len(places) != 1 or not is_library(place := places.pop()):
        return None, []
    names = [name for _, _, rest in parts for name in rest.split("+")]
    return Path(place), names


def _save_beats(texts: list[str], settings: BeatSettings, *, json: bool) -> None:
    place, names = _in_library(texts)
    if place is None:
        raise InvalidInput(
            f"--save keeps beats with a library; name takes as LIB:NAME, got {' '.join(texts)}"
        )
    changed = open_library(place).beats.set(
        "+".join(names), bpm=settings.bpm, first_beat=settings.first_beat
    )
    if json:
        print_json({"takes": list(changed), "bpm": settings.bpm, "first_beat": settings.first_beat})
    else:
        remark(f"beats of {len(changed)} takes kept with {place}: {', '.join(changed[:8])}")


def _edit_beats(texts: list[str], move: list[str], add: list[float], remove: list[int]) -> None:
    place, names = _in_library(texts)
    if place is None or len(names) != 1:
        raise InvalidInput(
            "--move, --add and --remove change the beats of one take of a library, LIB:NAME; "
            f"got {' '.join(texts)}"
        )
    moved = {}
    for text in move:
        number, _, seconds = text.partition(":")
        try:
            moved[int(number)] = float(seconds)
        except ValueError:
            raise InvalidInput(f"--move must be K:SECONDS, as in 3:1.25; got {text}") from None
    open_library(place).beats.edit(names[0], move=moved, add=add, remove=remove)


def _print_beats(found: Beats) -> None:
    sure = "as given" if found.given else f"confidence {found.confidence:.2f}"
    if not found.rhythmic:
        print(f"no rhythm: {sure}, below {RHYTHMIC:g}")
    if not len(found):
        return
    counted = (
        f"{len(found)} beats, one every {found.period:.3f} s ({found.bpm:.1f} per minute), "
        f"the first at {found.times[0]:.2f} s"
    )
    if found.rhythmic:
        print(f"{counted}; {sure}")
    else:
        remark(f"best estimate: {counted}")
    remark(f"  {found.landings.text}")
    if found.given:
        _check_given(found)
    for other in found.alternatives[:3]:
        ratio = f", {other.ratio} of the period" if other.ratio else ""
        remark(
            f"  or one every {other.seconds:.3f} s ({60 / other.seconds:.1f} per minute{ratio}), "
            f"relative strength {other.strength:.2f}"
        )


def _check_given(found: Beats) -> None:
    """Tell where the motion does not agree with a tempo or first beat by hand."""
    import numpy as np

    apart = float(np.median(np.diff(found.times))) if len(found) > 1 else found.period
    if abs(apart / found.period - 1.0) > _OFF_TEMPO:
        remark(
            f"warning: the motion does not keep this tempo: its beats, near a grid of "
            f"{found.period:.3f} s, are {apart:.3f} s apart. Check --bpm, or give --first-beat, too"
        )
    elif found.landings.total and found.landings.coherence < found.landings.noise:
        remark("warning: feet do not land on these beats: check --bpm and --first-beat")
