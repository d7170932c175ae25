"""Compare foot landings with beats, and move beats to landings.

If detected motion beats are compared with the music, the result mostly shows how well the analysis
agrees with itself, whereas an audience sees when feet land. `landing_fit` compares landings with
beats from another source. Reports detect landings with `toe_landings`, which is independent of the
contacts (`foot_landings`) to which beats and clocks are aligned. `landed_beats` moves the beats of
a take to its landings, so that a movement warped to music lands on its beats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import RoleError
from motionloom.motion.feet.contacts import SIDES, landings

if TYPE_CHECKING:
    from motionloom.motion import Motion

Array = NDArray[np.float64]

# A landing is on a beat if it is within a tenth of a beat or one frame, whichever is more. At 120
# beats per minute, this is 0.05 s, about the deviation that listeners start to notice. A fifth of
# random landings are on a beat.
NEAR = 0.1
# m/s: a toe swings if it is faster than the first speed, and rests if it is slower than the second.
# At 0.3 m/s, toes of CMU's salsas come to rest within 0.1 frames of the detected contacts on
# average, so that neither detector is early.
_SWING, _REST = 0.6, 0.3
# Seconds: a shorter rest is part of a step. In a walk, the toe is slow when the heel strikes, and
# again when the sole is down.
_BRIEF = 0.15
# Landings of two feet or two dancers within this time (seconds) count as one event.
_SAME = 0.1  # seconds
# Maximum distance in beats from a landing to the beat that is moved to it, and the range of the
# local speed. Beats are not moved to landings beyond these limits. With these values, 80 to 99 % of
# the landings of CMU's dances (05, 49, 60, 61, 93, 94, 120, 131) are on beats. With 0.45 and half
# the cost of a miss, 66 to 93 % are, and 19 of 20 speeds are the same.
_REACH = 0.75
_SPEEDS = (0.5, 2.0)
_MISSED = 1.0  # cost of a landing that is not on a beat
_STIFF = 1.0  # cost of the squared logarithm of the local speed, per beat
# Minimum number of landings and minimum coherence for a common phase.
_FEWEST, _COMMON = 6, 0.5
_ENOUGH = 0.9  # if this share of landings is on beats, nothing is moved
_SKIP = 8  # maximum number of interpolated beats in a row; after more, speeds start over


@dataclass(frozen=True)
class LandingFit:
    """Comparison of foot landings with beats.

    Attributes
    ----------
    total : int
        Number of landings between the first and the last beat.
    on_beat : int
        Number of landings within a tenth of a beat, or within one frame, of a beat.
    on_half_beat : int
        Number of landings near the middle between two beats.
    beats, beats_met : int
        Number of beats, and number of beats on which a foot lands. For characters who dance
        together, a beat counts once and is met if any of them lands a foot on it (`group_fit`).
    coherence : float
        Length of the mean of ``exp(2 pi i phase)`` over all landings, 0 to 1, where the phase is
        the position between two beats. It is 1 if all landings have the same phase.
    noise : float
        Expected coherence of the same number of random landings, ``sqrt(pi / total) / 2``.
    half_coherence : float
        Coherence with half beats. It is higher than the coherence with beats for dancers who also
        step between beats.
    """

    total: int
    on_beat: int
    on_half_beat: int
    beats: int
    beats_met: int
    coherence: float
    noise: float
    half_coherence: float = 0.0

    @property
    def share(self) -> float:
        """Share of landings on a beat; 0 if there are no landings."""
        return self.on_beat / self.total if self.total else 0.0

    @property
    def text(self) -> str:
        """One-line summary of the comparison."""
        if not self.total:
            return "no foot landings"
        return (
            f"{self.on_beat} of {self.total} foot landings on a beat, {self.on_half_beat} on a "
            f"half beat; {self.beats_met} of {self.beats} beats with a landing; coherence "
            f"{self.coherence:.2f}, with half beats {self.half_coherence:.2f} (noise "
            f"{self.noise:.2f})"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the report as a dict for JSON."""
        return {
            "landings_total": self.total,
            "landings_on_beat": self.on_beat,
            "landings_on_half_beat": self.on_half_beat,
            "beats_total": self.beats,
            "beats_with_landing": self.beats_met,
            "landing_coherence": self.coherence,
            "landing_half_coherence": self.half_coherence,
            "landing_noise": self.noise,
        }

    @classmethod
    def total_of(cls, fits: Sequence[LandingFit]) -> LandingFit:
        """Combine characters: sum their counts, and average their coherences over all landings."""
        total = sum(fit.total for fit in fits)
        mean, half = (
            sum(fit.total * getattr(fit, name) for fit in fits) / max(total, 1)
            for name in ("coherence", "half_coherence")
        )
        return cls(
            total,
            sum(fit.on_beat for fit in fits),
            sum(fit.on_half_beat for fit in fits),
            sum(fit.beats for fit in fits),
            sum(fit.beats_met for fit in fits),
            float(mean),
            _noise(total),
            float(half),
        )


def landing_fit(landed: ArrayLike, beats: ArrayLike, *, fps: float = 30.0) -> LandingFit:
    """Compare landings with beats, both in seconds.

    Parameters
    ----------
    landed : array_like, shape (N,)
        Landings, as returned by `foot_landings`. Landings before the first or after the last beat
        do not count.
    beats : array_like, shape (K,)
        Beats, for example of the music.
    fps : float
        Frames per second of the motion; the tolerance is at least one frame.

    Examples
    --------
    >>> fit = landing_fit([0.0, 0.52, 1.25, 2.0], [0.0, 0.5, 1.0, 1.5, 2.0])
    >>> fit.on_beat, fit.on_half_beat, fit.beats_met, round(fit.coherence, 2)
    (3, 1, 3, 0.5)
    """
    grid = np.sort(np.asarray(beats, np.float64))
    times = np.sort(np.asarray(landed, np.float64))
    if len(grid) < 2:
        return LandingFit(0, 0, 0, len(grid), 0, 0.0, 0.0)
    frame = 1.0 / fps + 1e-6
    times = times[(times >= grid[0] - frame) & (times <= grid[-1] + frame)]
    if not len(times):
        return LandingFit(0, 0, 0, len(grid), 0, 0.0, 0.0)
    gaps = np.diff(grid)
    place = np.clip(np.searchsorted(grid, times, side="right") - 1, 0, len(gaps) - 1)
    phase = (times - grid[place]) / gaps[place]
    within = np.maximum(NEAR, frame / gaps[place])
    near = np.abs(phase - np.rint(phase)) <= within
    half = ~near & (np.abs(phase - 0.5) <= within)
    met = np.unique(place[near] + np.rint(phase[near]).astype(int))
    return LandingFit(
        len(times), int(near.sum()), int(half.sum()), len(grid), len(met),
        _coherence(phase), _noise(len(times)), _coherence(2.0 * phase),
    )  # fmt: skip


def group_fit(
    landed: Sequence[ArrayLike], beats: ArrayLike, inner: ArrayLike, *, fps: float = 30.0
) -> LandingFit:
    """Compare landings of characters who dance together with beats.

    Landings and coherence include all characters. Only the beats in `inner` count, which are far
    enough from both ends for a landing to be detected. Each of them counts once and is met if any
    character lands a foot on it, because partners need not step at the same time.

    Examples
    --------
    >>> fit = group_fit([[0.0, 2.0], [1.0, 3.5]], np.arange(5.0), [1.0, 2.0, 3.0])
    >>> fit.total, fit.on_beat, fit.beats, fit.beats_met
    (4, 3, 3, 2)
    """
    every = LandingFit.total_of([landing_fit(times, beats, fps=fps) for times in landed])
    together = landing_fit(np.concatenate([np.asarray(times) for times in landed]), inner, fps=fps)
    return replace(every, beats=together.beats, beats_met=together.beats_met)


def foot_landings(motion: Motion) -> Array:
    """Return the sorted landings of both feet, in seconds; empty if the skeleton has no feet.

    Examples
    --------
    >>> import motionloom as ml
    >>> len(foot_landings(ml.demo.clip("walk"))) > 4
    True
    """
    return np.sort(np.concatenate(side_landings(motion)))


def side_landings(motion: Motion) -> tuple[Array, Array]:
    """Return the landings of the left and of the right foot, in seconds."""
    try:
        contacts = motion.contacts()
    except RoleError:
        return np.zeros(0), np.zeros(0)
    left, right = (landings(contacts.standing(side)) / motion.fps for side in SIDES)
    return left, right


def toe_landings(motion: Motion) -> Array:
    """Return the times in seconds at which toes come to rest after a swing, sorted.

    Unlike `foot_landings`, this uses only the speed of the balls of the feet, not heights, ankles
    or drift, and times lie between frames. Reports use it, so that landings are not judged by the
    detector that moved them to the beats.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> len(toe_landings(walk)) == len(foot_landings(walk))
    True
    """
    try:
        places = motion.role_positions(["left_foot", "right_foot"]).astype(np.float64)
    except RoleError:
        return np.zeros(0)
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=-1).T * motion.fps
    rests = []
    for speed in speeds:
        times: list[float] = []
        swings = False
        for k in range(1, len(speed)):
            before, now = speed[k - 1 : k + 1]
            swings = swings or now >= _SWING
            if swings and now < _REST <= before:
                # Speed k is that between frames k and k + 1.
                times.append((k - 0.5 + (before - _REST) / (before - now)) / motion.fps)
                swings = False
        rests.append([a for a, b in pairwise([*times, np.inf]) if b - a > _BRIEF])
    return np.sort(np.concatenate([np.asarray(side, np.float64) for side in rests]))


def landing_events(landed: ArrayLike) -> Array:
    """Merge landings less than a tenth of a second apart, and return the mean time of each group.

    Examples
    --------
    >>> landing_events([1.0, 0.5, 0.54])
    array([0.52, 1.  ])
    """
    times = np.sort(np.asarray(landed, np.float64))
    if not len(times):
        return times
    groups: list[list[float]] = [[float(times[0])]]
    for time in times[1:]:
        if time - groups[-1][0] < _SAME:
            groups[-1].append(float(time))
        else:
            groups.append([float(time)])
    return np.array([np.mean(group) for group in groups])


def landed_beats(times: Array, landed: ArrayLike, *, seconds: float = np.inf) -> Array:
    """Move beats (K,) to landings where that hardly changes the speed.

    If most landings have the same offset from the beats, all beats are first shifted by this
    offset. (For example, the body of a marching soldier changes direction half a beat after the
    foot lands.)

    Each beat has at most one landing and each landing at most one beat. Dynamic programming finds
    the assignment with the lowest cost: a landing without a beat costs `_MISSED`, and a change of
    speed costs its squared logarithm. Beats without a landing are interpolated. If nine of ten
    landings are already on beats, nothing is moved, because motion beats are more precise than
    landings, which are whole frames.

    Examples
    --------
    >>> landed_beats(np.arange(5.0), [0.1, 1.0, 2.2, 4.0]).round(2)
    array([0.1, 1. , 2.2, 3.1, 4. ])
    """
    events = landing_events(landed)
    if len(times) < 3 or not len(events) or landing_fit(events, times).share >= _ENOUGH:
        return times.copy()
    times = _shifted(times, events, seconds)
    count = np.arange(len(times), dtype=np.float64)
    place = _extended(events, times)
    pairs = [
        (beat, number)
        for number, at in enumerate(place)
        for beat in range(int(np.floor(at)), int(np.floor(at)) + 2)
        if 0 <= beat < len(times) and abs(at - beat) <= _REACH
    ]
    chosen = _cheapest(pairs, place)
    if not chosen:
        return times.copy()
    beat_of = np.array([beat for beat, _ in chosen], np.float64)
    shift = np.array([events[number] for _, number in chosen]) - np.interp(beat_of, count, times)
    moved: Array = np.clip(times + np.interp(count, beat_of, shift), 0.0, seconds)
    return moved


def _shifted(times: Array, events: Array, seconds: float) -> Array:
    """Shift beats by the common phase of the landings, if they have one."""
    phase = _extended(events, times)
    mean = np.mean(np.exp(2j * np.pi * phase))
    if len(events) < _FEWEST or np.abs(mean) < max(_COMMON, 2.0 * _noise(len(events))):
        return times
    shift = float(np.angle(mean) / (2.0 * np.pi))
    count = np.arange(len(times), dtype=np.float64)
    gaps = np.diff(times)
    wide = np.concatenate([[times[0] - gaps[0]], times, [times[-1] + gaps[-1]]])
    moved = np.interp(count + shift, np.arange(-1.0, len(times) + 1.0), wide)
    # After the shift, the first or the last beat may lie outside the motion.
    return moved[(moved >= 0.0) & (moved <= seconds)]


def _extended(events: Array, times: Array) -> Array:
    """Convert event times to positions in beats, extrapolated at a constant rate at both ends."""
    gaps = np.diff(times)
    wide = np.concatenate([[times[0] - gaps[0]], times, [times[-1] + gaps[-1]]])
    return np.interp(events, wide, np.arange(-1.0, len(times) + 1.0))


def _cheapest(pairs: list[tuple[int, int]], place: Array) -> list[tuple[int, int]]:
    """Return the sequence of pairs (beat, landing) with the lowest cost."""
    best = np.full(len(pairs), np.inf)
    back = np.full(len(pairs), -1)
    for k, (beat, number) in enumerate(pairs):
        best[k] = _MISSED * number + _STIFF * (place[number] - beat) ** 2
        for j in range(k - 1, -1, -1):
            before, earlier = pairs[j]
            if beat - before > _SKIP:
                break
            if before >= beat or earlier >= number:
                continue
            speed = (place[number] - place[earlier]) / (beat - before)
            if not _SPEEDS[0] <= speed <= _SPEEDS[1]:
                continue
            cost = (
                best[j]
                + _MISSED * (number - earlier - 1)
                + _STIFF * (beat - before) * np.log(speed) ** 2
            )
            if cost < best[k]:
                best[k], back[k] = cost, j
    if not len(pairs):
        return []
    rest = np.array([_MISSED * (len(place) - 1 - number) for _, number in pairs])
    k = int(np.argmin(best + rest))
    chosen = []
    while k >= 0:
        chosen.append(pairs[k])
        k = int(back[k])
    return chosen[::-1]


def _coherence(phase: Array) -> float:
    return float(np.abs(np.mean(np.exp(2j * np.pi * phase))))


def _noise(count: int) -> float:
    return float(0.5 * np.sqrt(np.pi / count)) if count else 0.0
