"""Choreography: the movements of some takes and the graph that says what may follow what.

From takes to graph in one call: beats, meter, movements, groups, transitions. A choreography is
saved as one JSON file: the graph, and where each movement was cut, so that nothing is analysed
twice and the file can be edited by hand (`motionloom.rhythm.choreography_file`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.atomic_write import atomic_write
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.retargeting.retarget import conformed
from motionloom.ragged import Ragged
from motionloom.rhythm.beats.motion_beats import RHYTHMIC, Beats, beats
from motionloom.rhythm.dance_nodes import DanceNode
from motionloom.rhythm.meter import downbeat, usual_meter
from motionloom.rhythm.movements import (
    Movement,
    cut_movements,
    differences,
    handover_gaps,
    postures,
)
from motionloom.rhythm.music.beat_clock import BeatClock, TempoClock
from motionloom.rhythm.rules import load_rules, with_rules
from motionloom.rhythm.transition_graph import TransitionGraph, combined_graph
from motionloom.rhythm.transition_learning import (
    Groups,
    baum_welch,
    k_medoids,
    kinematic_continuity,
    subtractive,
)

if TYPE_CHECKING:
    from motionloom.rhythm.dance_player import DancePlayer
    from motionloom.rhythm.music.music import Music

Array = NDArray[np.float64]
Takes = Sequence[Motion | Sequence[Motion]]

_UNEVEN = 0.25  # of a period: gaps between the beats of a movement stray by less


@dataclass(frozen=True, eq=False)
class Choreography:
    """Movements and their transition graph.

    Attributes
    ----------
    movements : tuple of Movement
        All of one meter and one beat period; neighbours of one take follow one another.
    graph : TransitionGraph
        Its `members` are numbers of `movements`.
    kind : str
        What is danced ("waltz"); chooses the graph for a piece of music.
    left_out : dict of str to str
        Takes that gave no movements, and why.

    Examples
    --------
    >>> steps = lib.choreography(within="dance", meter=4)
    >>> steps.meter, len(steps.graph) <= len(steps.movements)
    (4, True)
    """

    movements: tuple[Movement, ...]
    graph: TransitionGraph
    kind: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def meter(self) -> int:
        """Beats per movement."""
        return self.movements[0].meter

    @property
    def beat_frames(self) -> int:
        """Frames between the beats of all movements."""
        return self.movements[0].beat_frames

    @property
    def fps(self) -> float:
        """Frames per second of the movements."""
        return self.movements[0].motion.fps

    @property
    def period(self) -> float:
        """Seconds between the beats of all movements."""
        return self.beat_frames / self.fps

    @property
    def lead(self) -> float:
        """Beats after a downbeat at which all movements begin."""
        return self.movements[0].lead

    def with_graph(self, graph: TransitionGraph) -> Choreography:
        """The same movements under another graph."""
        known = range(len(self.movements))
        for name, group in zip(graph.names, graph.members, strict=True):
            strange = [k for k in group if k not in known]
            if strange or not group:
                raise InvalidInput(
                    f"node {name} must hold some of the {len(self.movements)} movements; "
                    f"got {list(group)}"
                )
        return replace(self, graph=graph)

    def with_rules(self, rules: str | Path | Sequence[Mapping[str, Any]]) -> Choreography:
        """After choreographic rules, given as a list or a file."""
        loaded = load_rules(rules) if isinstance(rules, str | Path) else rules
        return self.with_graph(with_rules(self.graph, loaded))

    @cached_property
    def dance_nodes(self) -> tuple[DanceNode, ...]:
        """Nodes of the graph, ready to be danced."""
        return tuple(
            DanceNode.of([self.movements[k] for k in group]) for group in self.graph.members
        )

    @cached_property
    def ease(self) -> Array:
        """How smoothly movement j goes on from movement i, 0 to 1, shape (N, N)."""
        gaps = handover_gaps(self.movements)
        usual = float(np.median(np.percentile(gaps, 25.0, axis=1)))
        return np.exp(-((gaps / max(usual, 1e-9)) ** 2))

    def onto(self, skeleton: Skeleton | Sequence[Skeleton]) -> Choreography:
        """The same movements, danced by other bodies."""
        count = len(self.movements[0].bodies)
        given = [skeleton] * count if isinstance(skeleton, Skeleton) else list(skeleton)
        if len(given) != count:
            raise InvalidInput(f"{count} characters dance; got {len(given)} skeletons")
        return replace(self, movements=tuple(one.onto(given) for one in self.movements))

    def player(self, clock: BeatClock | float | None = None, **options: Any) -> DancePlayer:
        """Frames one by one, steered between them: see `DancePlayer`.

        `clock` may be a tempo in beats per minute, which ``steer(tempo=...)`` changes.
        """
        from motionloom.rhythm.dance_player import DancePlayer

        return DancePlayer(
            self, TempoClock(clock) if isinstance(clock, int | float) else clock, **options
        )

    def dance(self, music: Music | str | Path, **options: Any) -> Motion | tuple[Motion, ...]:
        """Dance to a piece of music; several characters give several motions.

        `options` are those of `motionloom.rhythm.dance.dance`, which also tells
        the way through the graph.

        Examples
        --------
        >>> import motionloom as ml
        >>> from motionloom.rhythm.music.music import Music
        >>> song = Music(np.arange(0.25, 12.0, 0.5), 4, np.arange(0, 24, 4), 12.0)
        >>> steps = choreography([ml.demo.clip("dance_groove")], meter=4)
        >>> steps.dance(song, seed=1).duration
        12.0
        """
        from motionloom.rhythm.dance import dance

        made = dance(self, music, **options).motions
        return made[0] if len(made) == 1 else made

    def as_dict(self) -> dict[str, Any]:
        """Plain data: the graph and where every movement comes from."""
        texts = [movement.text for movement in self.movements]
        return {
            **self.graph.as_dict(texts),
            "kind": self.kind,
            "meter": self.meter,
            "beat_frames": self.beat_frames,
            "fps": self.fps,
            "cuts": [
                {
                    "source": list(movement.source),
                    "beats": [round(float(beat), 4) for beat in movement.beats],
                    "mirrored": movement.mirrored,
                    "lead": movement.lead,
                }
                for movement in self.movements
            ],
        }

    def save(self, path: str | Path) -> Path:
        """Write it as JSON (the graph alone as ``.graphml``)."""
        path = Path(path)
        if path.suffix.lower() != ".json":
            return self.graph.save(path, [movement.text for movement in self.movements])
        with atomic_write(path) as scratch:
            scratch.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")
        return path


def choreography(
    takes: Takes,
    *,
    meter: int | None = None,
    groups: int | None = None,
    radius: float | None = None,
    mirror: bool = False,
    behaviour: float = 0.5,
    sigma: float | None = None,
    threshold: float = 0.05,
    confidence: float = RHYTHMIC,
    kind: str = "",
    seed: int | np.random.Generator = 0,
    progress: Callable[[int], None] | None = None,
) -> Choreography:
    """Movements and transition graph of some takes.

    Parameters
    ----------
    takes : sequence of Motion, or of sequences of Motion
        A sequence of motions is danced by several characters together.
    meter : int, optional
        Beats per movement. Default: what most takes seem to be in.
    groups : int, optional
        Number of groups (K-means with medoids). Default: found by subtractive clustering.
    radius : float, optional
        How alike the movements of a group are, for subtractive clustering.
    mirror : bool
        Use every take mirrored, too: twice the movements.
    behaviour : float
        0: transitions that go smoothly; 1: transitions that the takes show.
    sigma, threshold : float
        Of equation (22); and least likelihood of an edge.
    confidence : float
        Takes whose beats are less sure than this are left out.
    kind : str
        What is danced.
    seed : int or numpy.random.Generator
        Of the clustering.
    progress : callable, optional
        Called with 1 for every take analysed.

    Raises
    ------
    InvalidInput
        If no take gives a movement, or every way through the graph ends.

    Examples
    --------
    >>> import motionloom as ml
    >>> dances = [ml.demo.clip("dance_groove", performer=0, seed=seed) for seed in (0, 1)]
    >>> made = choreography(dances, meter=4)
    >>> made.meter, len(made.graph) <= len(made.movements)
    (4, True)
    """
    analysed, left_out = _analysed(takes, mirror, confidence, progress)
    if not analysed:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise InvalidInput(f"no take has a rhythm to cut it by ({reasons or 'no takes'})")
    if meter is None:
        meter = usual_meter([(motions, found) for motions, found, _ in analysed])
    rate = analysed[0][0][0].fps
    beat_frames = max(round(float(np.median([b.period for _, b, _ in analysed])) * rate), 2)
    sequences: list[list[Movement]] = []
    for motions, found, mirrored in analysed:
        try:
            cut = cut_movements(
                motions, found, meter=meter, first_beat=downbeat(found, meter),
                beat_frames=beat_frames, mirrored=mirrored,
            )  # fmt: skip
            sequences += _even_runs(cut, found.period * motions[0].fps)
        except InvalidInput as error:
            left_out[motions[0].name] = str(error)
    movements = [movement for sequence in sequences for movement in sequence]
    if not movements:
        raise InvalidInput("; ".join(left_out.values()))
    apart = differences(postures(movements), postures(movements))
    if groups is not None:
        found_groups = k_medoids(apart, groups, seed=seed)
    else:
        found_groups = subtractive(apart, radius=radius)
    graph = _graph(movements, sequences, apart, found_groups, behaviour, sigma, threshold)
    return Choreography(tuple(movements), graph.without_dead_ends(), kind, left_out)


def _analysed(
    takes: Takes, mirror: bool, confidence: float, progress
) -> tuple[list, dict[str, str]]:
    """(motions, beats, mirrored) of every take with a rhythm, all on the first one's skeleton."""
    out: list[tuple[list[Motion], Beats, bool]] = []
    left_out: dict[str, str] = {}
    for take in takes:
        motions = [take] if isinstance(take, Motion) else list(take)
        name = next((motion.name for motion in motions if motion.name), "a take")
        try:
            found = beats(motions)
            if found.confidence >= confidence and len(found):
                if out:
                    motions = _like_first(motions, out[0][0])
                out.append((motions, found, False))
                if mirror:
                    out.append(([m.mirror() for m in motions], found, True))
            else:
                left_out[name] = f"no rhythm (confidence {found.confidence:.2f} < {confidence:g})"
        except InvalidInput as error:
            left_out[name] = str(error)
        if progress is not None:
            progress(1)
    return out, left_out


def _like_first(motions: list[Motion], first: list[Motion]) -> list[Motion]:
    """At the rate and on the skeletons of the first take."""
    if len(motions) != len(first):
        raise InvalidInput(
            f"takes of one choreography need as many characters; {first[0].name or 'the first'} "
            f"has {len(first)}, this one {len(motions)}"
        )
    return [conformed(m, like.skeleton, like.fps) for m, like in zip(motions, first, strict=True)]


def _even_runs(movements: list[Movement], period: float) -> list[list[Movement]]:
    """Stretches of movements whose beats are even; all, if hardly any are.

    A beat that comes far too early or late is one that was not heard, more often than one that
    was danced, and would be danced off the music.
    """
    even = [bool(np.all(np.abs(np.diff(m.beats) / period - 1.0) < _UNEVEN)) for m in movements]
    if 2 * sum(even) < len(even):
        return [movements]
    runs: list[list[Movement]] = [[]]
    for movement, keeps_time in zip(movements, even, strict=True):
        if keeps_time:
            runs[-1].append(movement)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _graph(
    movements: Sequence[Movement],
    sequences: Sequence[Sequence[Movement]],
    apart: Array,
    groups: Groups,
    behaviour: float,
    sigma: float | None,
    threshold: float,
) -> TransitionGraph:
    gaps = handover_gaps(movements)
    smooth = kinematic_continuity(gaps, groups.labels, sigma=sigma)
    seen = np.eye(len(groups))[groups.labels]
    learnt = baum_welch(Ragged.from_lengths(seen, [len(one) for one in sequences]).rows)
    members = []
    for group, centre in enumerate(groups.centres):
        others = [k for k in groups.members(group) if k != centre]
        nearest = sorted(others, key=lambda k: apart[centre, k])
        members.append([int(centre), *map(int, nearest)])
    return combined_graph(
        smooth, learnt.transitions, learnt.start, members,
        behaviour=behaviour, threshold=threshold,
    )  # fmt: skip


def for_music(
    choreographies: Sequence[Choreography], *, kind: str | None = None, meter: int | None = None
) -> Choreography:
    """The choreography for a piece of music: of its kind, else of its meter.

    Raises
    ------
    InvalidInput
        If none fits; the message lists what there is.

    Examples
    --------
    >>> from motionloom.rhythm import for_music
    >>> steps = lib.choreography(within="dance", meter=4, kind="groove")
    >>> for_music([steps], kind="groove") is steps
    True
    """
    if kind:
        for one in choreographies:
            if one.kind.lower() == kind.lower():
                return one
    elif meter:
        for one in choreographies:
            if meter % one.meter == 0 or one.meter % meter == 0:
                return one
    elif choreographies:
        return choreographies[0]
    known = ", ".join(f"{one.kind or '?'} ({one.meter} beats)" for one in choreographies)
    wanted = kind or f"{meter} beats a bar"
    raise InvalidInput(f"no choreography for {wanted}; there are: {known or 'none'}")
