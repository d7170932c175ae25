"""``motionloom beats`` and ``movements``: motion beats, and movement transition graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.arguments import is_library, motion_from
from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, check_picture, open_library
from motionloom.cli.terminal import print_json, remark
from motionloom.dance.settings import RHYTHMIC, BeatSettings
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.library import Beats
    from motionloom.motion import Motion

_OFF_TEMPO = 0.1  # relative deviation of the detected tempo from one set by hand


def beats(
    motions: Annotated[
        list[str],
        Argument(
            "A motion, or several that were danced together; also LIB:NAME+NAME.",
            metavar="FILE|LIB:NAME...",
        ),
    ],
    *,
    save: Annotated[
        bool,
        Option(
            "Save --bpm, --first-beat and partners in the library, where all commands use them; "
            "LIB:60_*+61_* pairs many takes. Without --bpm and --first-beat, delete the saved "
            "values.",
            "--save",
        ),
    ] = False,
    move: Annotated[
        list[str] | None,
        Option(
            "Move beat K of LIB:NAME (the first is 0) and save it; may be repeated.",
            metavar="K:SECONDS",
        ),
    ] = None,
    add: Annotated[
        list[float] | None,
        Option("Add a beat to LIB:NAME and save it.", metavar="SECONDS"),
    ] = None,
    remove: Annotated[
        list[int] | None,
        Option("Remove beat K of LIB:NAME (the first is 0) permanently.", metavar="K"),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "Draw the beats: .png, .svg or .pdf.",
            "-o --output",
            metavar="FILE",
            check=check_picture,
        ),
    ] = None,
    settings: BeatSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find the beats of a motion and their confidence.

    Several motions with the same frame rate and length, such as a couple, are analyzed together.
    """
    if save:
        _save_beats(motions, settings, json=json)
        return
    if move or add or remove:
        _edit_beats(motions, move or [], add or [], remove or [])
    loaded, analysis = _analyzed(motions, settings)
    if output is not None:
        from motionloom.plots.rhythm import write_beats

        write_beats(loaded, analysis, output)
    if json:
        print_json({**analysis.as_dict(), "picture": str(output) if output else None})
        return
    _print_beats(analysis)
    if output is not None:
        print(output)


def _analyzed(texts: list[str], settings: BeatSettings) -> tuple[list[Motion], Beats]:
    """Return the motions and their beats; for library takes, the beats saved in the library."""
    from motionloom.library import beats as beats_of

    place, names = _in_library(texts)
    if place is not None and not any(":" in name for name in names):
        lib = open_library(place)
        return [lib[name] for name in names], lib.beats.of(names, settings)
    loaded = [motion_from(text) for text in texts]
    return loaded, beats_of(loaded, settings)


def _in_library(texts: list[str]) -> tuple[Path | None, list[str]]:
    """Return the library and the take names if all arguments name takes in one library."""
    parts = [text.partition(":") for text in texts if not Path(text).exists()]
    places = {place for place, _, _ in parts}
    if len(parts) != len(texts) or len(places) != 1 or not is_library(place := places.pop()):
        return None, []
    names = [name for _, _, rest in parts for name in rest.split("+")]
    return Path(place), names


def _save_beats(takes: list[str], settings: BeatSettings, *, json: bool) -> None:
    place, names = _in_library(takes)
    if place is None:
        raise InvalidInput(
            f"--save stores beats in a library, so takes must be written LIB:NAME; got "
            f"{' '.join(takes)}"
        )
    changed = open_library(place).beats.set(
        "+".join(names), bpm=settings.bpm, first_beat=settings.first_beat
    )
    if json:
        print_json({"takes": list(changed), "bpm": settings.bpm, "first_beat": settings.first_beat})
    else:
        remark(f"beats of {len(changed)} takes saved in {place}: {', '.join(changed[:8])}")


def _edit_beats(takes: list[str], move: list[str], add: list[float], remove: list[int]) -> None:
    place, names = _in_library(takes)
    if place is None or len(names) != 1:
        raise InvalidInput(
            "--move, --add and --remove change the beats of one take of a library, LIB:NAME; "
            f"got {' '.join(takes)}"
        )
    moved = {}
    for text in move:
        number, _, seconds = text.partition(":")
        try:
            moved[int(number)] = float(seconds)
        except ValueError:
            raise InvalidInput(f"--move must be K:SECONDS, as in 3:1.25; got {text}") from None
    open_library(place).beats.edit(names[0], move=moved, add=add, remove=remove)


def _print_beats(beats: Beats) -> None:
    sure = "set by hand" if beats.given else f"confidence {beats.confidence:.2f}"
    if not beats.rhythmic:
        print(f"no rhythm: confidence {beats.confidence:.2f} is below {RHYTHMIC:g}")
    if not len(beats):
        return
    counted = (
        f"{len(beats)} beats, one every {beats.period:.3f} s ({beats.bpm:.1f} per minute), "
        f"the first at {beats.times[0]:.2f} s"
    )
    if beats.rhythmic:
        print(f"{counted}; {sure}")
    else:
        remark(f"best estimate: {counted}")
    remark(f"  {beats.landings.text}")
    if beats.given:
        _check_given(beats)
    for other in beats.alternatives[:3]:
        ratio = f", {other.ratio} of the period" if other.ratio else ""
        remark(
            f"  alternatively, one every {other.seconds:.3f} s ({60 / other.seconds:.1f} per "
            f"minute{ratio}), relative strength {other.strength:.2f}"
        )


def _check_given(beats: Beats) -> None:
    """Warn if the motion does not agree with a tempo or first beat set by hand."""
    import numpy as np

    interval = float(np.median(np.diff(beats.times))) if len(beats) > 1 else beats.period
    if abs(interval / beats.period - 1.0) > _OFF_TEMPO:
        remark(
            f"warning: the motion does not follow this tempo: its beats come every "
            f"{interval:.3f} s, not every {beats.period:.3f} s. Check --bpm, or also set "
            f"--first-beat"
        )
    elif beats.landings.total and beats.landings.coherence < beats.landings.noise:
        remark("warning: the feet do not land on these beats. Check --bpm and --first-beat")
