"""Dances: choreographies performed to a piece of music."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.player import FrameBlock, frame_count
from motionloom.dance.beat_clock import MusicClock
from motionloom.dance.dancing.dance_player import DancePlayer
from motionloom.dance.motion_beats.beats import beats
from motionloom.dance.motion_beats.landings import (
    NEAR,
    LandingFit,
    foot_landings,
    group_fit,
    landing_events,
    toe_landings,
)
from motionloom.dance.motion_beats.scores import BeatScore, beat_score
from motionloom.dance.music import Music, audible
from motionloom.dance.settings import DanceSettings
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Provenance
from motionloom.motion.diagnostics.quality import BeatFit, QualityReport, seam_accelerations
from motionloom.motion.diagnostics.quality.parts import FEWEST_LANDINGS
from motionloom.motion.provenance import merged
from motionloom.motion.scene import Scene
from motionloom.parallel import Share

if TYPE_CHECKING:
    from motionloom.dance.choreography import Choreography

Array = NDArray[np.float64]

_STEER_FRAMES = 5  # number of frames between updates of the target
_LARGEST_CORRECTION = 0.2  # beats
_ENOUGH = 0.95  # no other path is tried if at least this share of landings is on beats
_ROUNDS = 10  # attempts to avoid transitions that turned out rough or off the beat
_DRAWS = 4  # paths through the graph that are tried if landings miss the beats
_AGREE = 0.8  # landings and motion beats agree above this share on beats and this F-measure


@dataclass(frozen=True, eq=False)
class Dance:
    """A dance to a piece of music.

    Attributes
    ----------
    motions : tuple of Motion
        One motion per character, the leader first.
    music : Music
    path : tuple of int
        Nodes of the transition graph, in the order in which they were danced.
    choreography : Choreography
        Choreography with the skeletons of the motions.
    """

    motions: tuple[Motion, ...]
    music: Music
    path: tuple[int, ...]
    choreography: Choreography

    def __post_init__(self) -> None:
        motions = (
            motion.with_quality(partial(self._quality, n)) for n, motion in enumerate(self.motions)
        )
        object.__setattr__(self, "motions", tuple(motions))

    @property
    def scene(self) -> Scene:
        """Scene that contains all characters."""
        return Scene(self.motions)

    def found_beats(self) -> Array:
        """Return the beats of the dance in seconds, detected from the motion only."""
        return self._found_beats

    @cached_property
    def _found_beats(self) -> Array:
        return found_beats(self.motions, self.music)

    def beats_on_time(self, *, detected: Array | None = None) -> tuple[int, int]:
        """Return the number of beats in the music and the number that the dance hits."""
        return beats_on_time(self.motions, self.music, detected=detected)

    def score(self, *, detected: Array | None = None) -> BeatScore:
        """Score the beats of the motion against those of the music; extra beats lower the score."""
        motion = self.motions[0]
        there = self.found_beats() if detected is None else detected
        return beat_score(self.music.inner_beats(motion.duration), there, fps=motion.fps)

    def landings(self) -> LandingFit:
        """Compare the foot landings of all characters with the beats of the music.

        Landings are times at which toes come to rest. The clock of the dance is corrected with
        other events, the contacts of the feet.
        """
        return self._landings

    @cached_property
    def _landings(self) -> LandingFit:
        return music_landings(self.motions, self.music)

    @cached_property
    def contact_landings(self) -> LandingFit:
        """Comparison of the starts of foot contacts with the beats, which corrects the clock."""
        return music_landings(self.motions, self.music, detect=foot_landings)

    def sound(self, path: Path) -> Path:
        """Return the path of the music as audio; a MIDI score is written to `path` as tones."""
        return audible(self.music, path, self.motions[0].duration)

    def quality(self) -> QualityReport:
        """Return the worst value of each measure over all characters, and the fit to the music."""
        reports = (motion.quality for motion in self.motions)
        return QualityReport.worst_of([report for report in reports if report is not None])

    def _quality(self, body: int, motion: Motion) -> QualityReport:
        report = self.choreography.quality(motion, body)
        if body:
            return report
        score, landed = self.score(), self.landings()
        return report.with_parts(
            beats=BeatFit(
                score.expected, score.matched, landed.on_beat, landed.total, landed.coherence
            )
        )


def dance(
    choreography: Choreography,
    music: Music | str | Path,
    settings: DanceSettings | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Dance:
    """Dance to a piece of music; see `Choreography.dance_to`.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.dance.choreography import Choreography
    >>> steps = Choreography.from_takes([ml.demo.clip("dance_groove")])
    >>> song = Music(np.arange(0.25, 12.0, 0.5), 4, np.arange(0, 24, 4), 12.0)
    >>> dance(steps, song).motions[0]
    Motion('dance', 360 frames at 30 fps = 12.00 s, 21 joints)
    """
    chosen = settings or DanceSettings()
    piece = music if isinstance(music, Music) else choreography.music(music, seconds=chosen.seconds)
    steps = choreography if chosen.skeleton is None else choreography.onto(chosen.skeleton)
    path = None if chosen.follow is None else _checked_path(chosen.follow)
    seconds = piece.seconds if chosen.seconds is None else chosen.seconds
    first = int(piece.downbeats[0]) if len(piece.downbeats) else 0

    rough: set[tuple[int, int]] = set()  # pairs of movements with a rough seam
    stumbles: set[tuple[int, int]] = set()  # pairs of movements with landings off the beat

    def danced(clock: MusicClock | None, part: Share) -> tuple[Dance, bool]:
        """Return a dance that avoids the transitions rejected so far, and whether it is smooth."""
        best, least, kept = None, (np.inf, 0.0), set(stumbles)
        landed = landing = clock is not None and chosen.clock.align == "landings"
        for left, attempt in zip(range(_ROUNDS, 0, -1), part.attempts(_ROUNDS), strict=True):
            player = DancePlayer(
                steps, clock, seed=seed, first_beat=first, phrases=chosen.phrases,
                loudness=piece.loudness, dynamics=chosen.dynamics, blend=chosen.path.blend,
                bend=chosen.path.bend, prefer=chosen.path.prefer, avoid=rough | stumbles,
                inertialize=chosen.path.inertialize, one_movement=chosen.path.one_movement,
            )  # fmt: skip
            frames = frame_count(seconds, None, player.fps)
            motions, nodes, movements = _recorded(player, frames, path, attempt)
            made = Dance(motions, piece, nodes, steps)
            worst, bad = _rough_seams(motions, movements, steps)
            share = made.contact_landings.share if landed else 0.0
            score = (max(worst, steps.max_seam or 0.0), -share)
            if best is None or score < least:
                best, least, kept = made, score, set(stumbles)
            if bad:
                # If too few transitions remain, smooth seams matter more than landings.
                give_up = bool(stumbles) and (left <= _ROUNDS // 2 or not bad - rough)
                if not give_up and not bad - rough:
                    break
                rough.update(bad)
                if give_up:
                    stumbles.clear()
                    landing = False
                continue
            more = _stumbles(motions, movements, piece)
            if not landing or share >= _ENOUGH or not more - stumbles:
                break
            stumbles.update(more)
        stumbles.clear()
        stumbles.update(kept)  # the dances with a corrected clock start with this path
        assert best is not None  # noqa: S101 - there is at least one round
        part.at(1.0)
        return best, least[0] <= (steps.max_seam or 0.0)

    whole = Share(progress)
    seed: int | np.random.Generator = chosen.seed
    clock = MusicClock(piece)
    if not chosen.synced:
        return danced(None, whole)[0]
    first_draw, *others = whole.attempts(_DRAWS)
    best = _corrected(danced, piece, clock, chosen, first_draw)
    for draw, part in enumerate(others, 1):
        if chosen.clock.align != "landings" or _lands(best) >= _AGREE:
            break
        # Some paths through the graph land between beats with any clock.
        stumbles.clear()
        seed = np.random.default_rng([chosen.seed, draw])
        made = _corrected(danced, piece, clock, chosen, part)
        if (_is_smooth(made), _lands(made, few=0.0)) > (_is_smooth(best), _lands(best)):
            best = made
    whole.at(1.0)
    return best


def _lands(made: Dance, few: float = 1.0) -> float:
    """Return the share of landings that are on beats, or `few` if there are too few landings."""
    landed = made.contact_landings
    return landed.share if landed.total >= FEWEST_LANDINGS else few


def _is_smooth(made: Dance) -> bool:
    """Return whether all seams are within the limit of the choreography."""
    limit = made.choreography.max_seam
    levels = zip(made.motions, made.choreography.accelerations, strict=True)
    return limit is None or all(
        seam_accelerations(motion).max(initial=0.0) <= limit * level for motion, level in levels
    )


def _rough_seams(
    motions: Sequence[Motion], movements: Sequence[int], steps: Choreography
) -> tuple[float, set[tuple[int, int]]]:
    """Return the ratio of the worst seam, and the pairs of movements with a seam above the limit.

    Foot locking and tempo changes can make a seam rougher than it was when transitions were
    checked.
    """
    if steps.max_seam is None:
        return 0.0, set()
    ratios = np.max(
        [seam_accelerations(motion) / max(level, 1e-9)
         for motion, level in zip(motions, steps.accelerations, strict=True)], axis=0,
    )  # fmt: skip
    pairs = list(zip(movements, movements[1:], strict=False))
    rough = {pair for pair, ratio in zip(pairs, ratios, strict=False) if ratio > steps.max_seam}
    return float(ratios.max(initial=0.0)), rough


def _stumbles(
    motions: Sequence[Motion], movements: Sequence[int], music: Music
) -> set[tuple[int, int]]:
    """Return pairs of movements where a foot lands off the beat within one beat after the seam."""
    count = np.arange(len(music.beats), dtype=np.float64)
    pairs = list(zip(movements, movements[1:], strict=False))
    stumbles = set()
    for motion in motions:
        place = np.interp(foot_landings(motion), music.beats, count)
        off = place[np.abs(place - np.rint(place)) > NEAR]
        seams = () if motion.provenance is None else motion.provenance.seams
        at = np.interp(np.array(seams) / motion.fps, music.beats, count)
        stumbles |= {
            pair for pair, seam in zip(pairs, at, strict=False)
            if np.any((off > seam) & (off < seam + 1.0))
        }  # fmt: skip
    return stumbles


def _recorded(
    player: DancePlayer,
    frames: int,
    path: Array | None,
    share: Share,
) -> tuple[tuple[Motion, ...], tuple[int, ...], list[int]]:
    """Play a whole dance; return its motions and the nodes and movements that were played."""
    parts: list[tuple[FrameBlock, ...]] = []
    nodes: list[int] = []
    movements: list[int] = []
    done = 0
    while done < frames:
        if path is not None:
            now = done / player.fps + 0.5 * player.movement_seconds
            player.steer(target=[np.interp(now, path[:, 0], path[:, c]) for c in (1, 2)])
        size = min(frames - done, 1024 if path is None else _STEER_FRAMES)
        seen = len(player.path)
        parts.append(player.read_all(size))
        nodes += player.path[seen:]
        movements += player.movements_played[seen:]
        done += size
        share.at(done / frames)
    motions = tuple(
        _motion(number, FrameBlock.joined(body), player)
        for number, body in enumerate(zip(*parts, strict=True))
    )
    return motions, tuple(nodes), movements


def _corrected(
    danced: Callable[[MusicClock, Share], tuple[Dance, bool]],
    music: Music,
    clock: MusicClock,
    settings: DanceSettings,
    share: Share,
) -> Dance:
    """Correct the clock of a dance until its landings or motion beats match the music.

    Transitions, foot locking and blending shift the landings and beats of a movement slightly.
    They are therefore detected in the generated dance, the clock is corrected, and the dance is
    generated again, several times. The best dance with smooth seams is returned.
    """
    count = settings.clock.corrections + 1
    shares = (share.part(k / count, (k + 1) / count) for k in range(count))
    made, smooth = danced(clock, next(shares))
    if not settings.clock.corrections:
        return made
    landed = _landings_decide(made, settings)
    best, most = made, (False, -1.0)
    positions = np.arange(len(music.beats), dtype=np.float64)
    for left in range(settings.clock.corrections, -1, -1):
        if landed:
            events, score = _landing_events(made.motions), made.contact_landings.share
        else:
            events = found_beats(made.motions, music)
            score = made.score(detected=events).f_measure
        if (smooth, score) > most:
            best, most = made, (smooth, score)
        if not left or (smooth and score == 1.0) or not len(events):
            break
        positions = _positions(clock, music, events, positions)
        clock = MusicClock(music, positions)
        made, smooth = danced(clock, next(shares))
    return best


def _landings_decide(made: Dance, settings: DanceSettings) -> bool:
    """Return whether the clock is corrected by landings rather than by motion beats.

    If feet land on the motion beats anyway, motion beats are used because they are more precise.
    """
    if settings.clock.align != "landings":
        return False
    landings = made.contact_landings
    agree = landings.share >= _AGREE and made.score().f_measure >= _AGREE
    return landings.total >= FEWEST_LANDINGS and not agree


def _landing_events(motions: Sequence[Motion]) -> Array:
    return landing_events(np.concatenate([foot_landings(motion) for motion in motions]))


def _positions(clock: MusicClock, music: Music, events: Array, positions: Array) -> Array:
    """Return corrected dance positions at the beats of the music, from the detected `events`."""
    gaps = np.gradient(music.beats)
    nearest = events[np.abs(events[None] - music.beats[:, None]).argmin(axis=1)]
    near = np.abs(nearest - music.beats) < 0.3 * gaps
    there = np.where(near, clock.beats_at_times(nearest), positions)
    counted = np.arange(len(music.beats), dtype=np.float64)
    return np.asarray(counted + np.clip(there - counted, -_LARGEST_CORRECTION, _LARGEST_CORRECTION))


def _motion(number: int, played: FrameBlock, player: DancePlayer) -> Motion:
    return Motion(
        player.skeletons[number],
        played.rotations,
        played.root,
        player.fps,
        name="dance" if number == 0 else f"dance {number + 1}",
        provenance=Provenance(merged(played.sources), played.seams),
    )


def beats_on_time(
    motions: Sequence[Motion], music: Music, *, detected: Array | None = None
) -> tuple[int, int]:
    """Count the beats of the music, and those with a motion beat within one frame.

    The beats of the motion are detected from the motion only, at tempos from three quarters of the
    slowest to four thirds of the fastest tempo of the music (a waltz can also be counted in bars).
    The first and last half second do not count, because a beat there has motion on one side only.
    To avoid detecting the beats twice, pass the result of `found_beats` as `detected`.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.dance.choreography import Choreography
    >>> song = Music(np.arange(0.25, 20.0, 0.5), 4, np.arange(0, 40, 4), 20.0)
    >>> made = dance(Choreography.from_takes([ml.demo.clip("dance_groove")]), song)
    >>> total, within = beats_on_time(made.motions, song)
    >>> total > 30 and within > 0.9 * total
    True
    """
    expected = music.inner_beats(motions[0].duration)
    there = found_beats(motions, music) if detected is None else detected
    return len(expected), beat_score(expected, there, fps=motions[0].fps).matched


def music_landings(
    motions: Sequence[Motion],
    music: Music,
    *,
    detect: Callable[[Motion], Array] = toe_landings,
) -> LandingFit:
    """Compare the foot landings that `detect` finds with the beats of the music.

    Unlike `beats_on_time`, this does not depend on the analysis of motion beats. A beat counts
    once for all characters. Beats in the first and last half second do not count.
    """
    seconds, fps = motions[0].duration, motions[0].fps
    beats = music.beats[(music.beats >= 0.0) & (music.beats <= seconds)]
    landed = [detect(motion) for motion in motions]
    return group_fit(landed, beats, music.inner_beats(seconds), fps=fps)


def found_beats(motions: Sequence[Motion], music: Music) -> Array:
    """Detect the beats of a dance at tempos near that of the music, and return them in seconds."""
    gaps = np.diff(music.beats)
    tempos = (45.0 / float(np.percentile(gaps, 95)), 80.0 / float(np.percentile(gaps, 5)))
    return beats(list(motions), tempo_bpm=tempos).times


def _checked_path(follow: ArrayLike) -> Array:
    path = np.asarray(follow, np.float64)
    if path.ndim != 2 or path.shape[1] != 3 or not len(path) or not np.all(np.isfinite(path)):
        raise InvalidInput(
            f"follow must be an array of finite rows (seconds, x, z); got shape {path.shape}"
        )
    if np.any(np.diff(path[:, 0]) < 0.0):
        raise InvalidInput("the times in follow (first column) must not decrease")
    return path
