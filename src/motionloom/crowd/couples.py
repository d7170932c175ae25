"""Detect couples in takes, and learn choreographies of captured couples.

By default, the transition graph is learned: similar movements form one node and are blended. In
the built-in graph, every movement is a node with edges to the movements with the most similar
start, and the choice among them steers the couples. This suits figures that cannot be blended,
such as an underarm turn and a side step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.crowd.footfalls import landing_on_beats
from motionloom.crowd.learned import (
    Cut,
    best_transition_phase,
    compact_steps,
    learned_steps,
    usual_of_cuts,
)
from motionloom.dance.choreography import Choreography
from motionloom.dance.motion_beats.beats import RHYTHMIC, Beats, analyze_beats
from motionloom.dance.motion_beats.landings import foot_landings, landing_fit
from motionloom.dance.motion_beats.meter import downbeat, usual_meter
from motionloom.dance.movements import Movement, sampled, transition_differences
from motionloom.dance.settings import MAX_SEAM, BeatSettings
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import reasons_text
from motionloom.motion.kinematics.body import hips_path
from motionloom.motion.retargeting.retarget import conformed

Array = NDArray[np.float64]
Couple = tuple[Motion, Motion]

_TOGETHER = (0.25, 1.2)  # meters between partners: 10th percentile above, median below
_FACING = 0.4  # minimum median cosine between heading and direction to the partner
_HANDS = 0.3  # meters: maximum distance between wrists whose hands are together
_HELD = 0.25  # minimum fraction of the time during which hands are together
_HOLD = 1.6  # meters: partners farther apart have let go
_UNEVEN = 0.25  # maximum deviation of the beats of a movement from its period, as a fraction
_UNEVEN_LANDINGS = 0.6  # the same for beats that were moved to landings
_SAME_STEP = 0.1  # seconds between the landings of partners who step together
_ENOUGH = 60  # if there are fewer movements, those with more landings off the beat are also used
_FOLLOWERS = 6  # successors of each movement, in addition to the next one in its take
_GUESSED = 200  # maximum number of takes to search for couples; among more, some match by chance
_BODY = 0.25  # meters of space that a body needs around its root


def found_couples(motions: Sequence[Motion]) -> list[Couple]:
    """Find pairs of motions of the same length in which dancers face and hold each other.

    The first of each pair is the leader. Among hundreds of takes, some pairs match by chance.

    Examples
    --------
    >>> import motionloom as ml
    >>> leader, follower = (dancer.motion for dancer in ml.demo.couple())
    >>> [(a.name, b.name) for a, b in found_couples([leader, ml.demo.clip("walk"), follower])]
    [('waltz_leader_p0', 'waltz_follower_p1')]
    """
    pairs = sorted(
        (-share, i, j)
        for i, motion in enumerate(motions)
        for j, other in enumerate(motions[i + 1 :], i + 1)
        if _equal_length(motion, other, 1.5 / motion.fps)
        and (share := _held(motion, other)) > _HELD
    )
    couples: list[tuple[int, int]] = []
    for _, i, j in pairs:
        if not {i, j} & {k for couple in couples for k in couple}:
            couples.append((i, j))
    return [(motions[i], motions[j]) for i, j in sorted(couples)]


def guessed_couples(
    names: Sequence[str], motion_of: Callable[[str], Motion], *, among: str
) -> list[Couple]:
    """Find couples among named takes; if there are too many, raise before reading any.

    Parameters
    ----------
    names : sequence of str
    motion_of : callable
        Function that returns the take with a given name.
    among : str
        Description of the takes for error messages, such as ``"12 takes"``.

    Raises
    ------
    InvalidInput
        If there are more than 200 takes, or no two of them form a couple.

    Examples
    --------
    >>> import motionloom as ml
    >>> pair = ("waltz_leader_p0", "waltz_follower_p1")
    >>> [(a.name, b.name) for a, b in guessed_couples(pair, ml.demo.clip, among="2 takes")]
    [('waltz_leader_p0', 'waltz_follower_p1')]
    """
    if len(names) > _GUESSED:
        raise InvalidInput(
            f"couples can be detected among at most {_GUESSED} takes; got {len(names)}. Name the "
            "couples (--takes LEADER+FOLLOWER,... or 60_*+61_*), or select a label (--label)"
        )
    couples = found_couples([motion_of(name) for name in names])
    if not couples:
        raise InvalidInput(
            f"no couple was detected among {among}, because no two takes have the same length and "
            "show dancers who face and hold each other. Name the couples (--takes "
            "LEADER+FOLLOWER,...)"
        )
    return couples


def couple_steps(
    couples: Sequence[Couple],
    *,
    fps: float = 30.0,
    meter: int | None = None,
    graph: str = "learned",
    groups: int | None = None,
    transition_phase: float | None = None,
    max_seam: float | None = MAX_SEAM,
    align: str = "landings",
    kind: str = "",
    beats_of: Callable[[Sequence[Motion], BeatSettings], Beats] = analyze_beats,
    progress: Callable[[int], None] | None = None,
) -> Choreography:
    """Learn a choreography for a ballroom from captured couples.

    Parameters
    ----------
    couples : sequence of (leader, follower)
    fps : float
        Frames per second of the choreography.
    meter : int, optional
        Beats per movement. Default: estimated.
    graph : {"learned", "built-in"}
        ``"learned"`` groups similar movements into nodes; ``"built-in"`` has one node per movement.
    groups : int, optional
        Number of nodes of a learned graph. Default: 5, or more if movements differ too much to be
        blended.
    transition_phase : float, optional
        Time from the first beat of a movement to its start, in beats, in [0, 1). Default: the phase
        at which transitions are smoothest.
    max_seam : float, optional
        Drop transitions in which joints accelerate more than this multiple of the usual maximum in
        the takes; see `motionloom.dance.transitions.seams`. If None, transitions are not checked.
    align : {"landings", "beats"}
        Events that are aligned with the beats of the music: foot landings or motion beats. With
        landings, each partner is moved to the common beats, movements with landings off the beat
        are avoided, and so are transitions that cause them (`motionloom.crowd.footfalls`).
    kind : str
    beats_of : callable, optional
        Function that finds the beats of a couple. A library passes a function that also uses beats
        set by hand.
    progress : callable, optional
        Called with 1 for every analyzed couple.

    Raises
    ------
    InvalidInput
        If the takes of partners differ in length, no take has a rhythm, or fewer than four
        movements are usable.

    Examples
    --------
    >>> import motionloom as ml
    >>> leader, follower = (dancer.motion for dancer in ml.demo.couple())
    >>> steps = couple_steps([(leader, follower)], meter=3)
    >>> steps.meter, len(steps.movements[0].bodies)
    (3, 2)
    """
    analyzed: list[tuple[Couple, Beats]] = []
    left_out: dict[str, str] = {}
    for couple in couples:
        together = _alike(couple, analyzed[0][0] if analyzed else None, fps)
        title = "+".join(motion.name for motion in couple)
        rhythm = beats_of(together, BeatSettings())
        if align == "landings":
            rhythm = rhythm.on_landings()
        if rhythm.confidence < RHYTHMIC or len(rhythm) < 3:
            left_out[title] = f"no rhythm (confidence {rhythm.confidence:.2f} < {RHYTHMIC:g})"
        else:
            analyzed.append((together, rhythm))
        if progress is not None:
            progress(1)
    if not analyzed:
        raise InvalidInput(f"no couple has a rhythm ({reasons_text(left_out) or 'no couples'})")
    if meter is None:
        meter = usual_meter(analyzed)
    if align == "landings":
        analyzed = [(_in_step(couple, rhythm), rhythm) for couple, rhythm in analyzed]
    if meter < 1:
        raise InvalidInput(f"meter must be at least 1; got {meter}")
    cuts = _cuts(analyzed, meter, fps, landed=align == "landings")
    cut = {id(movement.motions[0]) for movement in cuts}
    for couple, _ in analyzed:
        if id(couple[0]) not in cut:
            title = "+".join(motion.name for motion in couple)
            left_out[title] = f"no {meter} even beats in a row in hold"
    if (usable := _apart(cuts)) < 4:
        raise InvalidInput(
            "a ballroom needs at least 4 movements in which partners hold each other and step on "
            f"the beat; the takes ({', '.join(couple[0].name for couple, _ in analyzed)}) have "
            f"{usable} such movements of {meter} beats. Use more takes or another meter"
        )
    every = max(round(float(np.median([rhythm.period for _, rhythm in analyzed])) * fps), 2)
    if graph == "learned":
        steps = learned_steps(
            cuts, every, groups=groups, transition_phase=transition_phase, kind=kind,
            left_out=left_out, max_seam=max_seam, landed=align == "landings",
        )  # fmt: skip
        return landing_on_beats(steps) if align == "landings" else steps
    phase = transition_phase
    if phase is None:
        phase = best_transition_phase(
            [[(cut.motions, cut.beats[k : k + 2]) for cut in cuts for k in (0, meter)]],
            landed=align == "landings",
        )
    movements = [cut.movement(every, phase) for cut in cuts]
    steps = compact_steps(
        movements, _graph(movements, cuts), kind, left_out, max_seam=max_seam,
        usual=usual_of_cuts(cuts),
    )  # fmt: skip
    return landing_on_beats(steps) if align == "landings" else steps


def couple_radius(choreography: Choreography) -> float:
    """Return the radius in meters of the disc that a couple occupies around its center."""
    apart = np.concatenate(
        [_distances(movement.bodies[0], movement.bodies[-1]) for movement in choreography.movements]
    )
    return float(np.percentile(0.5 * apart, 95.0)) + _BODY


def _cuts(
    analyzed: Sequence[tuple[Couple, Beats]], meter: int, fps: float, *, landed: bool
) -> list[Cut]:
    """Return movements in hold and on the beat, and prefer those with all landings on beats."""
    candidates: list[tuple[int, bool, Cut]] = []
    for couple, rhythm in analyzed:
        frames = np.clip(rhythm.frames, 0.0, len(couple[0]) - 1.0)
        apart, period = _distances(*couple), rhythm.period * fps
        feet = [foot_landings(motion) for motion in couple] if landed else []
        first = downbeat(rhythm, meter)
        # If feet land on all beats, a movement may start on any of them.
        for offset in range(first, first + meter) if landed else (first,):
            last = -1
            for start in range(offset % meter, len(frames) - meter - 1, meter):
                at = frames[start : start + meter + 2]
                in_hold = apart[int(at[0]) : int(at[-1]) + 1].max() < _HOLD
                uneven = np.abs(np.diff(at) / period - 1.0).max()
                if in_hold and uneven < (_UNEVEN_LANDINGS if landed else _UNEVEN):
                    fits = [landing_fit(times, at / fps, fps=fps) for times in feet]
                    cut = Cut(couple, at, follows=last >= 0 and last == start - meter)
                    off = sum(fit.total - fit.on_beat for fit in fits)
                    candidates.append((off, cut.follows, cut))
                    last = start
    most = 0
    while sum(row[0] <= most for row in candidates) < min(_ENOUGH, len(candidates)):
        most += 1
    cuts, kept_last = [], False
    for count, follows, cut in candidates:
        if count <= most:
            cuts.append(replace(cut, follows=follows and kept_last))
        kept_last = count <= most
    return cuts


def _apart(cuts: Sequence[Cut]) -> int:
    """Return the largest number of cuts that do not overlap."""
    count, ends = 0, dict[str, float]()
    for cut in sorted(cuts, key=lambda cut: float(cut.beats[-2])):
        name = cut.motions[0].name
        if cut.beats[0] >= ends.get(name, -np.inf) - 1.0:  # frames; last beat is shared
            ends[name] = float(cut.beats[-2])
            count += 1
    return count


def _in_step(couple: Couple, rhythm: Beats) -> Couple:
    """Shift each partner in time, by less than a tenth of a second, to land on the common beats.

    Partners who step together land up to three frames apart, so a beat halfway between them would
    be a frame or two from either landing.
    """
    times, fps = rhythm.times, couple[0].fps
    moved = []
    for motion in couple:
        feet = foot_landings(motion)
        off = feet[None] - times[:, None] if len(feet) else np.full((len(times), 1), np.inf)
        nearest = off[np.arange(len(times)), np.abs(off).argmin(axis=1)]
        near = np.abs(nearest) < _SAME_STEP
        if near.any():
            shifts = np.interp(times, times[near], nearest[near])
            kept = np.append(True, np.diff(times + shifts) > _SAME_STEP)  # time never runs back
            frames = np.arange(len(motion))
            at = frames + fps * np.interp(frames / fps, times[kept], shifts[kept])
            motion = replace(sampled(motion, np.clip(at, 0.0, len(motion) - 1.0)), name=motion.name)
        moved.append(motion)
    return moved[0], moved[1]


def _graph(movements: Sequence[Movement], cuts: Sequence[Cut]) -> TransitionGraph:
    """Return a graph of one node per movement, with edges to the most similar starts."""
    count = len(movements)
    gaps = transition_differences(movements)
    np.fill_diagonal(gaps, np.inf)  # no figure follows itself, because that looks mechanical
    typical = float(np.median(np.sort(gaps, axis=1)[:, 0]))
    likely = np.zeros((count, count))
    for k, row in enumerate(gaps):
        best = np.argsort(row)[: min(_FOLLOWERS, count - 1)]
        likely[k, best] = np.exp(-row[best] / max(typical, 1e-9)) + 1e-6
        if k + 1 < count and cuts[k + 1].follows:
            likely[k, k + 1] = 1.0
    names = tuple(f"m{k + 1}" for k in range(count))
    made = TransitionGraph(names, tuple((k,) for k in range(count)), np.ones(count), likely)
    return made.without_dead_ends()


def _alike(couple: Couple, like: Couple | None, fps: float) -> Couple:
    """Resample a couple to `fps` and retarget it to the skeletons of the first couple."""
    leader, follower = couple
    if not _equal_length(leader, follower, 0.1):
        raise InvalidInput(
            f"the takes of a couple must have the same length; {leader.name} lasts "
            f"{leader.duration:.2f} s and {follower.name} lasts {follower.duration:.2f} s"
        )
    first, second = (
        conformed(motion, None if like is None else like[k].skeleton, fps)
        for k, motion in enumerate(couple)
    )
    size = min(len(first), len(second))
    return first[:size], second[:size]


def _equal_length(motion: Motion, other: Motion, most: float) -> bool:
    return abs(motion.duration - other.duration) < most and min(len(motion), len(other)) > 1


def _held(first: Motion, other: Motion) -> float:
    """Return the fraction of time during which hands touch; 0 if the bodies are not a couple."""
    if abs(first.fps - other.fps) > 1e-6 * first.fps:
        other = other.resample(first.fps)
    away = _distances(first, other)
    if np.percentile(away, 10.0) < _TOGETHER[0] or np.median(away) > _TOGETHER[1]:
        return 0.0
    size = len(away)
    between = hips_path(other)[:size].astype(np.float64) - hips_path(first)[:size]
    to = between / np.maximum(away, 1e-9)[:, None]
    for motion, sign in ((first, 1.0), (other, -1.0)):
        yaw = motion.headings()[:size]
        if np.median(sign * (np.sin(yaw) * to[:, 0] + np.cos(yaw) * to[:, 2])) < _FACING:
            return 0.0
    wrists = [
        motion.role_positions(["left_wrist", "right_wrist"])[:size] for motion in (first, other)
    ]
    gaps = np.linalg.norm(wrists[0][:, :, None] - wrists[1][:, None], axis=-1)
    return float(np.mean(gaps.min(axis=(1, 2)) < _HANDS))


def _distances(motion: Motion, other: Motion) -> Array:
    """Return the floor distance between the hips of two bodies in each frame, in meters."""
    size = min(len(motion), len(other))
    away = hips_path(motion)[:size].astype(np.float64) - hips_path(other)[:size]
    return np.hypot(away[:, 0], away[:, 2])
