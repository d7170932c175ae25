"""A dance floor: many characters, each with an endless dance of its own, none in another's way.

Takes that have a rhythm are danced as a choreography, all on one beat, each character about a
place of its own. Takes that have none are walked through as a motion graph; of a few walks
that one is taken which keeps most to its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.player import frame_count
from motionloom.crowd.packing import BODY_WIDTH, floor_points, footprint, least_distance, packed
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import QualityReport, quality_report, usual_acceleration
from motionloom.motion_graph import motion_graph
from motionloom.rhythm import choreography

KINDS = ("auto", "choreography", "graph")
_TRIES = 4  # walks of which the one that keeps most to its place is taken
_MOST_MINUTES = 20.0  # of takes; every frame of a graph is compared with every other


@dataclass(frozen=True, eq=False)
class DanceFloor:
    """Characters that dance next to each other.

    Attributes
    ----------
    motions : tuple of Motion
        One per character, where it dances.
    kind : {"choreography", "graph"}
        What they are made from.
    takes : tuple of Motion
        What they were made from, on their skeleton.
    least_distance : float
        How near two bodies come in any frame, joint to joint over the floor, in metres.
    """

    motions: tuple[Motion, ...]
    kind: str
    takes: tuple[Motion, ...]
    least_distance: float

    def __len__(self) -> int:
        return len(self.motions)

    @property
    def size(self) -> tuple[float, float]:
        """Metres in x and in z that they take up altogether."""
        points = np.concatenate([floor_points(m).reshape(-1, 2) for m in self.motions])
        wide, deep = np.ptp(points, axis=0) + BODY_WIDTH
        return float(wide), float(deep)

    def quality(self) -> QualityReport:
        """The worst that any of the characters shows."""
        usual = usual_acceleration(self.takes)
        return QualityReport.worst_of(
            [quality_report(motion, usual=usual) for motion in self.motions]
        )


def dance_floor(
    takes: Sequence[Motion],
    count: int = 12,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    kind: str = "auto",
    floor: tuple[float, float] | None = None,
    width: float = BODY_WIDTH,
) -> DanceFloor:
    """Let characters dance next to each other, each at random.

    Parameters
    ----------
    takes : sequence of Motion
        What they dance. All dance on the body of the first.
    count : int
        How many characters.
    seconds : float
    seed : int
        The same seed, the same dance.
    kind : {"auto", "choreography", "graph"}
        ``auto``: a choreography if any take has a rhythm.
    floor : (float, float), optional
        Width and depth of the floor, metres. Default: as large as needed.
    width : float
        Least distance of two bodies, metres.

    Raises
    ------
    InvalidInput
        If the takes give no endless motion, or the characters do not fit on the floor.

    Examples
    --------
    >>> import motionloom as ml
    >>> floor = dance_floor([ml.demo.clip("dance_groove")], 3, seconds=4, seed=1)
    >>> len(floor), floor.kind, floor.least_distance > 0.5
    (3, 'choreography', True)
    """
    if count < 1:
        raise InvalidInput(f"a dance floor needs at least one character; got {count}")
    if kind not in KINDS:
        raise InvalidInput(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    if not (np.isfinite(width) and width > 0.0):
        raise InvalidInput(f"width must be a distance in metres above zero; got {width}")
    if not takes:
        raise InvalidInput("a dance floor needs takes to dance; got none")
    frame_count(seconds, None, takes[0].fps)  # complains before the work
    seeds = np.random.SeedSequence(seed).spawn(count + 1)
    found, parts, dances = _dances(takes, kind, seconds, seeds[1:])
    moves = packed(dances, floor=floor, width=width, seed=np.random.default_rng(seeds[0]))
    placed = tuple(
        replace(motion.transform(yaw=float(yaw), shift=(x, 0.0, z)), name=f"dancer_{n + 1}")
        for n, (motion, (x, z, yaw)) in enumerate(zip(dances, moves, strict=True))
    )
    return DanceFloor(placed, found, parts, least_distance(placed))


def dance_takes(names: Sequence[str], labels: Any) -> list[str]:
    """Of a library's motions those labelled as dances (``dance...``); all if there are none.

    Parameters
    ----------
    names : sequence of str
    labels : callable
        Labels of a motion, by name.

    Examples
    --------
    >>> dance_takes(["a", "b"], {"a": ("walk",), "b": ("dance_sway",)}.get)
    ['b']
    """
    dances = [n for n in names if any(label.lower().startswith("dance") for label in labels(n))]
    return dances or list(names)


def _dances(
    takes: Sequence[Motion], kind: str, seconds: float, seeds: Iterable[Any]
) -> tuple[str, tuple[Motion, ...], list[Motion]]:
    """How and of what they are made, and one motion for each seed, about the origin."""
    if kind != "graph":
        try:
            steps = choreography(takes)
        except InvalidInput:
            if kind == "choreography":
                raise
        else:
            parts = tuple(movement.motion for movement in steps.movements)
            return "choreography", parts, [_danced(steps, seconds, seed) for seed in seeds]
    minutes = sum(take.duration for take in takes) / 60.0
    if minutes > _MOST_MINUTES:
        raise InvalidInput(
            f"{len(takes)} takes of {minutes:.0f} minutes are too many for one motion graph; "
            f"choose up to {_MOST_MINUTES:.0f} minutes of them by label or by name"
        )
    graph = motion_graph(takes)
    return "graph", graph.motions, [_walked(graph, seconds, seed) for seed in seeds]


def _danced(steps, seconds: float, seed) -> Motion:
    player = steps.player(60.0 / steps.period, seed=np.random.default_rng(seed))
    player.steer(target=(0.0, 0.0))
    return player.record(seconds=seconds)


def _walked(graph, seconds: float, seed) -> Motion:
    walks = [graph.walk(seconds, np.random.default_rng(s)) for s in seed.spawn(_TRIES)]
    return walks[int(np.argmin([_room(walk) for walk in walks]))]


def _room(motion: Motion) -> int:
    """Squares of the floor that a motion takes up."""
    cells: NDArray[np.bool_] = footprint(floor_points(motion))[0]
    return int(cells.sum())
