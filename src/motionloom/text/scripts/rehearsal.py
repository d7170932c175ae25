"""Synthesis from scripts: turn a plan into one motion, and check it before returning it.

Segments are joined by motion graph transitions (`motionloom.blending.transitions`), and feet are
locked. The result is then captioned. If the captions do not show a phrase, or if a seam is rough,
segments are chosen again without the segment that caused the problem. After a few attempts, the
best result is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.examples import conform
from motionloom.blending.transitions import Window, transition
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion, Provenance, Source
from motionloom.motion.diagnostics.quality import quality_report
from motionloom.motion.feet.clean import clean_feet
from motionloom.motion.feet.contacts import FOOT_PARTS
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.store.store import Store
from motionloom.text.captions import Event, events, predicates
from motionloom.text.scripts.candidates import SEAM, played_take
from motionloom.text.scripts.layers import with_arms
from motionloom.text.scripts.plan import (
    Chosen,
    PlannedPhrase,
    Seams,
    Verdicts,
    chosen,
    planned,
    wanted,
)
from motionloom.text.signals import body_signals
from motionloom.text.text_index import TextIndex

ATTEMPTS = 6
_ROUGH = 1.5  # maximum acceleration at a seam, relative to the sources
_BROKEN = 3.0  # twice the limit of the quality report: a result that is not returned
_LEAP = 0.3  # meters that a joint may jump at a seam
_SLIDES = 0.01  # maximum mean foot sliding during a contact, in meters
_AROUND = 0.35  # seconds around a phrase in which its event may occur
_LASTING = frozenset(each.name for each in predicates() if each.state) | {"wave"}
_WORSE = 0.4  # cost of a segment that turned out badly


@dataclass(frozen=True, eq=False)
class ActedScript:
    """A motion created from a script, and the plan it follows."""

    motion: Motion
    plan: tuple[PlannedPhrase, ...]


def act_script(index: TextIndex, library: Store, script: str) -> ActedScript:
    """Turn a script into motion in a few attempts, and return the best; see `Library.act`."""
    asked = wanted(index, library, script)
    seams, verdicts = Seams(library), Verdicts()
    best: tuple[tuple[float, ...], ActedScript] | None = None
    for _ in range(ATTEMPTS):
        line = chosen(asked, verdicts, seams)
        acted = act_plan(library, planned(line, seams), line)
        faults = _faults(acted, line, verdicts)
        if best is None or faults < best[0]:
            best = (faults, acted)
        if not any(faults):
            break
    assert best is not None
    _refuse_broken(best[1])
    return best[1]


def _refuse_broken(acted: ActedScript) -> None:
    """Raise an error if joints jump at a seam, or accelerate far beyond the limit.

    If the script names all segments, they are joined in any case.
    """
    motion, quality = acted.motion, acted.motion.quality
    assert quality is not None
    seams = () if motion.provenance is None else motion.provenance.seams
    broken = (quality.seam_acceleration_ratio or 0.0) > _BROKEN
    for worst in quality.worst:
        near = any(abs(worst.frame - seam) <= _AROUND * motion.fps for seam in seams)
        broken |= worst.measure == "jump" and worst.value > _LEAP and near
    if broken and any(row.text != row.phrase for row in acted.plan):
        segments = ", ".join(dict.fromkeys(map(str, acted.plan)))
        raise InvalidInput(
            f"no segments of this library fit together ({quality.line()}). The best are "
            f"{segments}. Use other words or durations, add takes, or name segments in the script"
        )


def act_plan(library: Store, plan: Sequence[PlannedPhrase], line: Sequence[Chosen]) -> ActedScript:
    """Create the motion for a plan."""
    seam = {each.motion: round(SEAM * library.entry(each.motion).fps) for each in plan}
    parts, offsets = [], []
    for n, each in enumerate(plan):
        frames, half = len(played_take(library, each.motion)), seam[each.motion]
        a, b = max(each.start_frame - half, 0), min(each.end_frame + half, frames)
        take = line[n].candidate.frames(library, a, b)
        parts.append(replace(take, name=f"part_{n}", provenance=None))
        offsets.append((each.start_frame - a, each.end_frame - a, a))
    rates = [part.fps for part in parts]
    arms = {n: choice.arms for n, choice in enumerate(line) if choice.arms is not None}
    for n, part in arms.items():
        take = part.frames(library, part.lead_in, part.lead_out)
        parts.append(replace(take, name=f"arms_{n}", provenance=None))
    ready = conform(parts)
    fps = ready[0].fps
    layers: list[tuple[int, Source]] = []
    for (n, part), upper in zip(arms.items(), ready[len(plan) :], strict=True):
        first, last = (round(fps / rates[n] * value) for value in offsets[n][:2])
        made = with_arms(ready[n], upper, first, last, side=part.side, times=line[n].repeats)
        ready[n] = replace(made.motion, name=f"part_{n}")
        name = " and ".join(f"{side} arm" for side in made.sides)
        skipped = part.lead_in + made.skipped * library.entry(part.motion).fps / fps
        source = Source(part.motion, skipped, part.lead_out, made.start - first,
                        made.end - first, part=name, mirrored=part.mirrored)  # fmt: skip
        layers.append((n, source))
    joined, places = _joined(ready[: len(plan)], plan, offsets, rates, round(SEAM * fps))
    if layers:
        made_of = joined.provenance
        assert made_of is not None
        more = [source.moved(places[n][0]) for n, source in layers]
        entries = [frame for each in more for frame in (each.start, each.end)]
        # The layered arms start and end there, so the quality report treats these points like
        # seams.
        entries = [frame for frame in entries if 0 < frame < len(joined) - 1]
        joined = replace(
            joined,
            provenance=Provenance(
                (*made_of.sources, *more), tuple(sorted({*made_of.seams, *entries}))
            ),
        )
    locked = clean_feet(joined)[0]
    result = replace(joined, rotations=locked.rotations, root=locked.root)
    result = result.with_quality(quality_report(result, sources=ready))
    events = _captions(result)
    timed = tuple(
        replace(
            each, start=start / fps, end=end / fps,
            shown=(
                None
                if events is None
                else _shown(result, choice, start / fps, end / fps, events)
            ),
        )
        for each, choice, (start, end) in zip(plan, line, places, strict=True)
    )  # fmt: skip
    return ActedScript(result, timed)


def _captions(motion: Motion) -> list[Event] | None:
    try:
        return events(body_signals(motion))
    except RoleError:
        return None


def _shown(
    motion: Motion, choice: Chosen, start: float, end: float, events: Sequence[Event]
) -> bool | None:
    """Return whether a phrase occurs in its time span, or None if captions cannot express it.

    For events with a duration, such as a walk, only this time span is captioned. In captions of the
    whole motion, a walk would continue through a turn, and a walk forward followed by a walk
    backward would be a single walk.
    """
    asked = [choice.candidate] if choice.arms is None else [choice.candidate, choice.arms]
    if choice.bridge or not any(each.name for each in asked):
        return None
    for each in asked:
        times = choice.repeats if each is choice.arms else each.count
        there: Sequence[Event]
        if each.name in _LASTING:
            a, b = (round(value * motion.fps) for value in (start, end))
            there = _captions(motion[max(a, 0) : b]) or ()
            least = 0.5 * (end - start) if each is not choice.arms else 0.0
        else:
            there, least = events, 0.0
        right = [
            event
            for event in there
            if event.name == each.name
            and event.side == each.side
            and (there is not events or start - _AROUND <= event.moment <= end + _AROUND)
        ]
        if each.name and sum(event.end - event.start for event in right) <= least:
            return False
        if each.name not in _LASTING and len(right) < times:
            return False
    return True


def _faults(acted: ActedScript, line: Sequence[Chosen], verdicts: Verdicts) -> tuple[float, ...]:
    """Return the faults of an attempt, worst first, and record their causes in `verdicts`."""

    def blame(choice: Chosen) -> None:
        for each in (choice.candidate, choice.arms):
            if each is not None:
                verdicts.of[each] = verdicts.of.get(each, 0.0) + _WORSE

    missing = 0
    for choice, row in zip(line, acted.plan, strict=True):
        if row.shown is False:
            missing += 1
            blame(choice)
    for n in _unasked(acted, line):
        missing += 1
        blame(line[n])
    quality = acted.motion.quality
    assert quality is not None
    rough = max((quality.seam_acceleration_ratio or 0.0) - _ROUGH, 0.0)
    if rough and quality.worst_seam is not None:
        at = quality.worst_seam.frame / acted.motion.fps
        n = max((k for k, row in enumerate(acted.plan) if row.start <= at + 0.1), default=0)
        if line[n].arms is not None and at > acted.plan[n].start + 0.1:
            blame(line[n])
        elif n:
            pair = (line[n - 1].candidate, line[n].candidate)
            verdicts.between[pair] = verdicts.between.get(pair, 0.0) + _WORSE
    slides = max((quality.foot_slide_m or 0.0) - _SLIDES, 0.0)
    return (float(missing), round(rough, 2), round(100.0 * slides, 1))


def _unasked(acted: ActedScript, line: Sequence[Chosen]) -> list[int]:
    """Return phrases whose time span shows another phrase's action or too many repetitions."""
    left: list[tuple[str, str, int]] = []
    for n, choice in enumerate(line):
        for each in (choice.candidate, choice.arms):
            if each is not None and each.name:
                left += [(each.name, each.side, n)] * max(each.count, choice.repeats)
    kinds = {name for name, _, _ in left} - _LASTING
    blamed = []
    for event in _captions(acted.motion) or ():
        if event.name not in kinds:
            continue
        near = [
            each
            for each in left
            if each[:2] == (event.name, event.side)
            and acted.plan[each[2]].start - _AROUND <= event.moment
            and event.moment <= acted.plan[each[2]].end + _AROUND
        ]
        if near:
            left.remove(near[0])
        else:
            within = [n for n, row in enumerate(acted.plan) if row.start <= event.moment <= row.end]
            blamed += within[:1]
    return blamed


def _joined(
    ready: Sequence[Motion],
    plan: Sequence[PlannedPhrase],
    offsets: Sequence[tuple[int, int, int]],
    rates: Sequence[float],
    half: int,
) -> tuple[Motion, list[tuple[int, int]]]:
    """Join parts with transitions; return the motion and the frame range of each part."""
    skeleton, fps = ready[0].skeleton, ready[0].fps
    rotations: list[NDArray] = []
    roots: list[NDArray] = []
    sources, seams, places = [], [], []
    place = PlanarTransform(0.0, 0.0, 0.0)
    at = 0
    pending: tuple[NDArray, NDArray] | None = None  # the transition into the next part
    for n, (part, each) in enumerate(zip(ready, plan, strict=True)):
        scale = fps / rates[n]
        first, last = (round(scale * value) for value in offsets[n][:2])
        last = min(max(last, first + 1), len(part))
        start = first
        begin = at
        if pending is not None:
            rotations.append(pending[0])
            roots.append(pending[1])
            begin = at + len(pending[0]) // 2  # in the middle of the transition
            seams.append(begin)
            at += len(pending[0])
            start = first + half
        window = None
        if n + 1 < len(ready):
            after = ready[n + 1]
            next_first = round(fps / rates[n + 1] * offsets[n + 1][0])
            reach = min(half, last - start - 1, len(part) - last, next_first,
                        len(after) - next_first)  # fmt: skip
            reach = max(reach, 1)
            window = (_window(part, last - reach, last + reach),
                      _window(after, next_first - reach, next_first + reach))  # fmt: skip
            stop = last - reach
        else:
            stop = last
        q, p = place.apply_to_poses(part.rotations[start:stop], part.root[start:stop])
        rotations.append(q)
        roots.append(p)
        at += max(stop - start, 0)
        if window is not None:
            crossing = transition(skeleton, *window)
            q, p = place.apply_to_poses(crossing.rotations, crossing.root)
            pending = (q, p)
            place = place @ crossing.transform
            half = len(q) // 2
        end = at + (half if window is not None else 0)
        offset = offsets[n][2]
        sources.append(
            Source(
                each.motion,
                offset + first / scale,
                offset + last / scale,
                begin,
                end,
                mirrored=each.mirrored,
            )
        )
        places.append((begin, end))
    motion = Motion(
        skeleton, np.concatenate(rotations), np.concatenate(roots), fps, name="act",
        provenance=Provenance(tuple(sources), tuple(seams)),
    )  # fmt: skip
    return motion, places


def _window(motion: Motion, start: int, end: int) -> Window:
    contacts = motion.contacts()
    planted = np.zeros((len(motion), len(FOOT_PARTS)), bool)
    for k, part in enumerate(FOOT_PARTS):
        for a, b in contacts.intervals(part):
            planted[a:b, k] = True
    return Window(motion.rotations[start:end], motion.root[start:end], planted[start:end])
