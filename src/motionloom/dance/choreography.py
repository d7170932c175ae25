"""Choreographies: movements cut from takes, and their transition graph.

`Choreography.from_takes` finds beats and meter, cuts movements, groups them and learns the
transitions. A choreography is saved as one JSON file, which contains the graph and the cuts of the
movements and can be edited by hand (`motionloom.dance.choreography_file`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.beat_clock import BeatClock, TempoClock
from motionloom.dance.dancing.nodes import DanceNode
from motionloom.dance.dancing.phrases import Phrases
from motionloom.dance.motion_beats.beats import Beats, analyze_beats
from motionloom.dance.movement_runs import (
    Takes,
    analyzed_takes,
    movement_runs,
    usual_accelerations,
)
from motionloom.dance.movements import (
    Movement,
    MovementComparison,
    transition_differences,
)
from motionloom.dance.settings import TUNE, BeatSettings, ChoreographySettings, DanceSettings
from motionloom.dance.transitions.learning import grouped_movements, learned_graph
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.dance.transitions.rules import load_rules, with_rules
from motionloom.dance.transitions.seams import SeamTable, smooth_graph
from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import (
    QualityReport,
    SourceStatistics,
    TakesUsed,
    quality_report,
    usual_acceleration,
)
from motionloom.settings import takes

if TYPE_CHECKING:
    from motionloom.dance.dancing.dance import Dance
    from motionloom.dance.dancing.dance_player import DancePlayer
    from motionloom.dance.music import Music
    from motionloom.motion.scene import Scene

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Choreography:
    """Movements and their transition graph.

    Attributes
    ----------
    movements : tuple of Movement
        Movements in the order of the takes. All have the same meter and beat period.
    graph : TransitionGraph
        Transition graph whose `members` are indices into `movements`.
    kind : str
        Name of the dance (``"waltz"``), used by `for_music`.
    left_out : dict of str to str
        Reason for each take that has no movements.
    comparison : MovementComparison, optional
        Weights used to compare the movements. Default: chosen by `MovementComparison.of`.
    runs : tuple of int
        Number of movements in each run of consecutive movements in the takes; empty if unknown.
    max_seam : float, optional
        Maximum acceleration at a transition, relative to `usual`; see
        `motionloom.dance.transitions.seams`. Default: transitions are not checked.
    usual : tuple of float
        Usual accelerations in the takes, in m/s^2, one per character; see `usual_acceleration`. If
        empty, those of the movements are used.

    Examples
    --------
    >>> steps = lib.choreography(label="dance", meter=4)
    >>> steps.meter, len(steps.graph) <= len(steps.movements)
    (4, True)
    """

    movements: tuple[Movement, ...]
    graph: TransitionGraph
    kind: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    comparison: MovementComparison | None = None
    runs: tuple[int, ...] = ()
    max_seam: float | None = None
    usual: tuple[float, ...] = ()

    @property
    def meter(self) -> int:
        """Beats per movement."""
        return self.movements[0].meter

    @property
    def beat_frames(self) -> int:
        """Number of frames between two beats, the same in all movements."""
        return self.movements[0].beat_frames

    @property
    def fps(self) -> float:
        """Frames per second of the movements."""
        return self.movements[0].motion.fps

    @property
    def period(self) -> float:
        """Seconds between two beats, the same in all movements."""
        return self.beat_frames / self.fps

    @property
    def transition_phase(self) -> float:
        """Time from a downbeat to the start of a movement, in beats, the same for all movements."""
        return self.movements[0].transition_phase

    @classmethod
    def from_takes(
        cls,
        takes: Takes,
        settings: ChoreographySettings | None = None,
        *,
        beats_of: Callable[[Sequence[Motion], BeatSettings], Beats] = analyze_beats,
        progress: Callable[[int], None] | None = None,
    ) -> Choreography:
        """Learn a choreography from takes.

        Parameters
        ----------
        takes : sequence of Motion, or of sequences of Motion
            Takes to learn from. An inner sequence contains the motions of characters that dance
            together.
        settings : ChoreographySettings, optional
        beats_of : callable, optional
            Function that finds the beats of a take. Default: `analyze_beats`. A library passes a
            function that also uses beats set by hand.
        progress : callable, optional
            Called with 1 for every analyzed take.

        Raises
        ------
        InvalidInput
            If no movement can be cut from the takes, or the graph has no cycle, so that every dance
            would end.

        Examples
        --------
        >>> import motionloom as ml
        >>> dances = [ml.demo.clip("dance_groove", performer=0, seed=seed) for seed in (0, 1)]
        >>> made = Choreography.from_takes(dances, ChoreographySettings(meter=4))
        >>> made.meter, len(made.graph) <= len(made.movements)
        (4, True)
        """
        chosen = settings or ChoreographySettings()
        analyzed, left_out = analyzed_takes(takes, chosen, beats_of, progress)
        movements, runs = movement_runs(analyzed, chosen, left_out)
        apart, groups = grouped_movements(movements, chosen)
        lengths = tuple(len(run) for run, _ in runs)
        starts = [begins for _, begins in runs]
        graph = learned_graph(movements, lengths, apart, groups, chosen, starts=starts)
        how = MovementComparison.of(
            movements, chosen.grouping.joint_weights, chosen.grouping.velocity_weight
        )
        max_seam = chosen.transitions.max_seam
        return cls(
            tuple(movements), graph if max_seam else graph.without_dead_ends(), chosen.kind,
            left_out, how, lengths, usual=usual_accelerations(movements, analyzed),
        ).with_smooth_transitions(max_seam)  # fmt: skip

    def with_smooth_transitions(self, max_seam: float | None) -> Choreography:
        """Return the choreography with smooth transitions only, or with all transitions for None.

        See `motionloom.dance.transitions.seams`.

        Raises
        ------
        InvalidInput
            If no dance with only smooth transitions can continue indefinitely.
        """
        if max_seam is None:
            return replace(self, max_seam=None)
        checked = replace(self, max_seam=max_seam)
        table = checked.seams()
        assert table is not None  # noqa: S101 - there is a limit
        made = replace(checked, graph=smooth_graph(self.graph, table))
        made.__dict__["_seams"] = {1.0: table}
        return made

    def seams(self, speed: float = 1.0) -> SeamTable | None:
        """Return the smooth transitions at a speed, or None if transitions are not checked."""
        if self.max_seam is None:
            return None
        speed = float(2.0 ** (round(8.0 * np.log2(speed)) / 8.0))  # steps of 9 %: few tables
        if speed not in self._seams:
            self._seams[speed] = SeamTable.of(
                self.movements, max_seam=self.max_seam, usual=self.accelerations, speed=speed
            )
        return self._seams[speed]

    @cached_property
    def _seams(self) -> dict[float, SeamTable]:
        return {}

    def with_graph(self, graph: TransitionGraph) -> Choreography:
        """Return a choreography with the same movements and another graph."""
        numbers = range(len(self.movements))
        for name, group in zip(graph.names, graph.members, strict=True):
            strange = [k for k in group if k not in numbers]
            if strange or not group:
                raise InvalidInput(
                    f"node {name} must contain some of the {len(self.movements)} movements; "
                    f"got {list(group)}"
                )
        return replace(self, graph=graph)

    def with_rules(self, rules: str | Path | Sequence[Mapping[str, Any]]) -> Choreography:
        """Apply choreographic rules from a list or a file."""
        loaded = load_rules(rules) if isinstance(rules, str | Path) else rules
        return self.with_graph(with_rules(self.graph, loaded))

    @cached_property
    def dance_nodes(self) -> tuple[DanceNode, ...]:
        """Movements of each node of the graph, prepared for blending."""
        return tuple(
            DanceNode.of([self.movements[k] for k in group]) for group in self.graph.members
        )

    @cached_property
    def smoothness(self) -> Array:
        """Smoothness of the transition from movement i to movement j, 0 to 1, shape (N, N)."""
        gaps = transition_differences(self.movements, self.comparison)
        typical = float(np.median(np.percentile(gaps, 25.0, axis=1)))
        return np.exp(-((gaps / max(typical, 1e-9)) ** 2))

    @cached_property
    def energies(self) -> Array:
        """Mean squared speed of the joints of each movement, in (m/s)^2, shape (N,)."""
        return np.array([
            np.mean([np.mean(np.sum(np.diff(body.positions(), axis=0) ** 2, axis=2)) * body.fps**2
                     for body in movement.bodies])
            for movement in self.movements
        ])  # fmt: skip

    @cached_property
    def node_sequences(self) -> list[list[int]]:
        """Sequences of nodes as they occur in the takes; a removed node splits a sequence."""
        node_of = {k: node for node, group in enumerate(self.graph.members) for k in group}
        out: list[list[int]] = []
        first = 0
        for length in self.runs:
            out.append([])
            for k in range(first, first + length):
                if k in node_of:
                    out[-1].append(node_of[k])
                elif out[-1]:
                    out.append([])
            first += length
        return [sequence for sequence in out if sequence]

    def phrases(self, order: int) -> Phrases:
        """Return a model that predicts the next node from up to `order` previous nodes."""
        return Phrases.of(self.node_sequences, self.graph.transitions, order)

    @cached_property
    def statistics(self) -> tuple[SourceStatistics, ...]:
        """Statistics of each character's movements, with which dances are compared."""
        return tuple(
            replace(
                SourceStatistics.of(
                    (movement.bodies[c] for movement in self.movements), whole_takes=False
                ),
                acceleration=usual,
            )
            for c, usual in enumerate(self.accelerations)
        )

    @cached_property
    def accelerations(self) -> tuple[float, ...]:
        """Usual acceleration per character: `usual`, or that of the movements if it is empty."""
        bodies = zip(*(movement.bodies for movement in self.movements), strict=True)
        return self.usual or tuple(usual_acceleration(body) for body in bodies)

    def quality(self, motion: Motion, body: int = 0) -> QualityReport:
        """Return the quality of one character's dance, compared with that character's movements."""
        offered = {
            movement.source[body]: "without a smooth transition" for movement in self.movements
        }
        used = {k for group in self.graph.members for k in group}
        offered |= {self.movements[k].source[body]: "not needed" for k in used}
        takes = TakesUsed.of(motion.sources, motion.fps, {**self.left_out, **offered})
        return quality_report(motion, usual=self.statistics[body]).with_parts(takes=takes)

    def onto(self, skeleton: Skeleton | Sequence[Skeleton]) -> Choreography:
        """Return the choreography retargeted to other skeletons."""
        count = len(self.movements[0].bodies)
        given = [skeleton] * count if isinstance(skeleton, Skeleton) else list(skeleton)
        if len(given) != count:
            raise InvalidInput(f"expected {count} skeletons, one per character; got {len(given)}")
        moved = tuple(movement.onto(given) for movement in self.movements)
        made = replace(self, movements=moved, usual=())
        made.__dict__["smoothness"] = self.smoothness  # found with the takes' skeletons
        made.__dict__["_seams"] = self._seams
        return made

    def player(
        self,
        clock: BeatClock | float | None = None,
        *,
        seed: int | np.random.Generator = 0,
        first_beat: int = 0,
        place: tuple[float, float, float] = (0.0, 0.0, 0.0),
        lock_feet: bool = True,
        phrases: int = 1,
        blend: Literal["least_squares", "cardinal"] = "least_squares",
        bend: bool = True,
    ) -> DancePlayer:
        """Return a player whose dance can be steered while it plays; see `DancePlayer`.

        If `clock` is a number, it is the tempo in beats per minute, which ``steer(tempo=...)`` can
        change.
        """
        from motionloom.dance.dancing.dance_player import DancePlayer

        running = TempoClock(clock) if isinstance(clock, int | float) else clock
        return DancePlayer(
            self, running, seed=seed, first_beat=first_beat, place=place, lock_feet=lock_feet,
            phrases=phrases, blend=blend, bend=bend,
        )  # fmt: skip

    def music(
        self,
        song: str | Path,
        *,
        meter: int | None = None,
        tempo_bpm: float | None = None,
        seconds: float | None = None,
    ) -> Music:
        """Load music to dance to: a MIDI or audio file, or ``"tune"`` for a generated tune.

        Parameters
        ----------
        song : str or Path
        meter : int, optional
            Beats per bar of a music file. Default: as specified in the file, or 4.
        tempo_bpm : float, optional
            Tempo of a generated tune in beats per minute. Default: the tempo of the takes, limited
            to the range 40 to 200.
        seconds : float, optional
            Duration of a generated tune. Default: 16 bars.
        """
        from motionloom.dance.music import load_music, tune

        if str(song) != TUNE or Path(song).exists():
            return load_music(song, meter=meter)
        if tempo_bpm is None:
            tempo_bpm = min(max(60.0 / self.period, 40.0), 200.0)
        return tune(meter=self.meter, tempo_bpm=tempo_bpm, seconds=seconds)

    @takes(DanceSettings)
    def dance(
        self, music: Music | str | Path, settings: DanceSettings | None = None, **options: Any
    ) -> Motion | Scene:
        """Dance to a piece of music, and return a `Motion`, or a `Scene` for several dancers.

        `dance_to` also returns the music and the path through the graph.

        Parameters
        ----------
        music : Music, path of a MIDI or audio file, or ``"tune"``
        settings : DanceSettings, optional

        Examples
        --------
        >>> import motionloom as ml
        >>> from motionloom.dance.music import Music
        >>> song = Music(np.arange(0.25, 12.0, 0.5), 4, np.arange(0, 24, 4), 12.0)
        >>> steps = Choreography.from_takes([ml.demo.clip("dance_groove")])
        >>> steps.dance(song, seed=1).duration
        12.0
        """
        made = self.dance_to(music, settings, **options)
        return made.motions[0] if len(made.motions) == 1 else made.scene

    @takes(DanceSettings)
    def dance_to(
        self,
        music: Music | str | Path,
        settings: DanceSettings | None = None,
        *,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> Dance:
        """Dance to a piece of music from its start to its end.

        Parameters
        ----------
        music : Music, path of a MIDI or audio file, or ``"tune"``
            A generated tune is as long as the dance.
        settings : DanceSettings, optional
        progress : callable, optional
            Called with the number of hundredths done since the last call, 100 in total. A dance is
            generated again until its landings agree with the music, so progress may jump at the
            end. If the function raises an exception, generation stops.

        Raises
        ------
        InvalidInput
            If the music has fewer than two beats, or `follow` is not a valid path.
        """
        from motionloom.dance.dancing.dance import dance

        given = DanceSettings.given(settings, options)
        return dance(self, music, given, progress=progress)

    def as_dict(self) -> dict[str, Any]:
        """Return the graph and the cuts of the movements as plain data for JSON."""
        texts = [movement.text for movement in self.movements]
        return {
            **self.graph.as_dict(texts),
            "kind": self.kind,
            "meter": self.meter,
            "beat_frames": self.beat_frames,
            "fps": self.fps,
            **self._comparison_as_dict(),
            "runs": list(self.runs),
            **({} if self.max_seam is None else {"max_seam": self.max_seam}),
            **({"usual": list(self.usual)} if self.usual else {}),
            "cuts": [
                {
                    "source": list(movement.source),
                    "beats": [round(float(beat), 4) for beat in movement.beats],
                    "mirrored": movement.mirrored,
                    "lead": movement.transition_phase,
                }
                for movement in self.movements
            ],
        }

    def _comparison_as_dict(self) -> dict[str, Any]:
        if self.comparison is None:
            return {}
        joints = self.movements[0].motion.skeleton.names
        return {
            "weights": dict(zip(joints, self.comparison.weights.tolist(), strict=True)),
            "velocity_weight": self.comparison.velocity_weight,
        }

    def save(self, path: str | Path) -> Path:
        """Write the choreography as ``.json``, or only its graph as ``.graphml``."""
        path = Path(path)
        if path.suffix.lower() != ".json":
            return self.graph.save(path, [movement.text for movement in self.movements])
        with atomic_write(path) as scratch:
            scratch.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")
        return path


def for_music(
    choreographies: Sequence[Choreography], *, kind: str | None = None, meter: int | None = None
) -> Choreography:
    """Return the first choreography with this kind or, if no kind is given, with this meter.

    Raises
    ------
    InvalidInput
        If there is no such choreography. The message lists the available ones.

    Examples
    --------
    >>> from motionloom.dance.choreography import for_music
    >>> steps = lib.choreography(label="dance", meter=4, kind="groove")
    >>> for_music([steps], kind="groove") is steps
    True
    """
    if kind:
        for choreography in choreographies:
            if choreography.kind.lower() == kind.lower():
                return choreography
    elif meter:
        for choreography in choreographies:
            if meter % choreography.meter == 0 or choreography.meter % meter == 0:
                return choreography
    elif choreographies:
        return choreographies[0]
    kinds = ", ".join(
        f"{choreography.kind or '?'} ({choreography.meter} beats)"
        for choreography in choreographies
    )
    wanted = kind or f"{meter} beats per bar"
    raise InvalidInput(f"no choreography for {wanted}; available choreographies: {kinds or 'none'}")
