"""Find beats and meter of takes, and cut them into runs of movements.

Takes with a rhythm are cut into movements of one meter and one beat period. Movements with uneven
beats are dropped, so a take becomes one or more *runs* of consecutive movements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from motionloom.dance.motion_beats.beats import Beats
from motionloom.dance.motion_beats.landings import landing_fit
from motionloom.dance.motion_beats.meter import downbeat, usual_meter
from motionloom.dance.movements import Movement, cut_movements
from motionloom.dance.settings import BeatSettings, ChoreographySettings
from motionloom.errors import InvalidInput
from motionloom.kernels import expect_calls
from motionloom.motion import Motion
from motionloom.motion.diagnostics.issues import grave_fault
from motionloom.motion.diagnostics.quality import reasons_text, usual_acceleration
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion.retargeting.retarget import conformed
from motionloom.settings import named_takes

Takes = Sequence[Motion | Sequence[Motion]]
Run = tuple[list[Movement], bool]  # consecutive movements; True at the start of a take

_CALLS = 20  # kernels called to analyze a take
_UNEVEN = 0.25  # maximum deviation of the beats of a movement from its period, as a fraction
# The same for beats that were moved to landings, where quick, quick, slow steps are uneven.
_UNEVEN_LANDINGS = 1.0
_SHORTEST = 1.0  # seconds: shorter movements get twice the beats if the meter is estimated
_LANDED = 0.85  # minimum share of the landings of a movement that are on its beats


def usual_accelerations(
    movements: Sequence[Movement], takes: Iterable[tuple[Sequence[Motion], Any, Any]]
) -> tuple[float, ...]:
    """Return each character's `usual_acceleration` in the takes that movements were cut from."""
    used = {movement.source for movement in movements}
    together = [
        motions for motions, *_ in takes if tuple(motion.name for motion in motions) in used
    ]
    return tuple(usual_acceleration(body) for body in zip(*together, strict=True))


def analyzed_takes(
    takes: Takes,
    settings: ChoreographySettings,
    beats_of: Callable[[Sequence[Motion], BeatSettings], Beats],
    progress: Callable[[int], None] | None,
) -> tuple[list, dict[str, str]]:
    """Return (motions, beats, mirrored) of every rhythmic take, and why others were skipped."""
    out: list[tuple[list[Motion], Beats, bool]] = []
    left_out: dict[str, str] = {}
    used = named_takes(settings)
    expect_calls(_CALLS * len(takes))
    for take in takes:
        motions = [hips_as_root(m) for m in ([take] if isinstance(take, Motion) else take)]
        name = next((motion.name for motion in motions if motion.name), "a take")
        fault = _fault([motion for motion in motions if motion.name not in used])
        if fault is not None:
            left_out[name] = fault
            if progress is not None:
                progress(1)
            continue
        try:
            beats = beats_of(motions, settings.beats)
            if settings.movements.align == "landings":
                beats = beats.on_landings()
            if beats.confidence >= settings.movements.min_confidence and len(beats):
                if out:
                    motions = _like_first(motions, out[0][0])
                out.append((motions, beats, False))
                if settings.movements.mirror:
                    out.append(([m.mirror() for m in motions], beats, True))
            else:
                left_out[name] = (
                    f"no rhythm (confidence {beats.confidence:.2f} < "
                    f"{settings.movements.min_confidence:g})"
                )
        except InvalidInput as error:
            left_out[name] = str(error)
        if progress is not None:
            progress(1)
    if not out:
        raise InvalidInput(f"no take has a rhythm ({reasons_text(left_out) or 'no takes'})")
    return out, left_out


def _fault(motions: Sequence[Motion]) -> str | None:
    """Return the first grave fault of a take's characters, or None."""
    faults = ((motion.name, grave_fault(motion)) for motion in motions)
    return next((f"{name}: {fault}" for name, fault in faults if fault), None)


def movement_runs(
    analyzed: list, settings: ChoreographySettings, left_out: dict[str, str]
) -> tuple[list[Movement], list[Run]]:
    """Cut takes; return all movements, and the runs of consecutive movements."""
    meter = settings.meter
    if meter is None:
        meter = usual_meter([(motions, beats) for motions, beats, _ in analyzed])
        period = float(np.median([beats.period for _, beats, _ in analyzed]))
        while meter * period < _SHORTEST:
            meter *= 2
    rate = analyzed[0][0][0].fps
    beat_frames = max(round(float(np.median([b.period for _, b, _ in analyzed])) * rate), 2)
    runs: list[Run] = []
    for motions, beats, mirrored in analyzed:
        try:
            accented = settings.movements.downbeat == "accent"
            cut = cut_movements(
                motions, beats, meter=meter, first_beat=downbeat(beats, meter) if accented else 0,
                beat_frames=beat_frames, mirrored=mirrored,
            )  # fmt: skip
            even = _even_runs(cut, beats, settings) if settings.movements.even else [(cut, True)]
            if not any(run for run, _ in even):
                left_out[motions[0].name] = f"no {meter} even beats in a row on which feet land"
            runs += even
        except InvalidInput as error:
            left_out[motions[0].name] = str(error)
    movements = [movement for run, _ in runs for movement in run]
    if not movements:
        raise InvalidInput(reasons_text(left_out))
    return movements, runs


def _like_first(motions: list[Motion], first: list[Motion]) -> list[Motion]:
    """Convert motions to the frame rate and the skeletons of the first take."""
    if len(motions) != len(first):
        raise InvalidInput(
            "all takes of a choreography must have the same number of characters; "
            f"{first[0].name or 'the first take'} has {len(first)}, this take has {len(motions)}"
        )
    return [conformed(m, like.skeleton, like.fps) for m, like in zip(motions, first, strict=True)]


def _even_runs(
    movements: list[Movement], beats: Beats, settings: ChoreographySettings
) -> list[Run]:
    """Return runs of movements with even beats on which feet land; all runs if these are too few.

    An uneven beat is more often a detection error than part of the dance, and the movement would
    then not match the music.
    """
    landed = settings.movements.align == "landings"
    most = _UNEVEN_LANDINGS if landed else _UNEVEN
    period = beats.period * beats.fps
    even = [bool(np.all(np.abs(np.diff(m.beats) / period - 1.0) < most)) for m in movements]
    if landed:
        fits = [
            landing_fit(beats.candidates.landings, m.beats / beats.fps, fps=beats.fps)
            for m in movements
        ]
        on_beat = [
            keeps and (not fit.total or fit.share >= _LANDED)
            for keeps, fit in zip(even, fits, strict=True)
        ]
        even = on_beat if 4 * sum(on_beat) >= len(on_beat) else even
    elif 2 * sum(even) < len(even):
        return [(movements, True)]
    runs: list[Run] = [([], True)]
    for movement, keeps_time in zip(movements, even, strict=True):
        if keeps_time:
            runs[-1][0].append(movement)
        else:
            runs.append(([], False))
    return [run for run in runs if run[0]]
