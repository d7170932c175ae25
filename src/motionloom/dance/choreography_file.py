"""Save and load choreographies as files and as artifacts of a library.

The saved data contain the movement transition graph, including edits, and for each movement the
takes and frames that it was cut from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.choreography import Choreography
from motionloom.dance.movements import Movement, MovementComparison, warped_movement
from motionloom.dance.transitions.movement_graph import graph_data, graph_from
from motionloom.errors import LibraryError, MotionFormatError, MotionloomError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.retargeting.retarget import conformed
from motionloom.motion.segment import FASTEST, SLOWEST
from motionloom.store.store import Store

MotionOf = Callable[[str], Motion]

_VELOCITY_WEIGHT_0_1 = 0.01

_LONGEST_BEAT = 60.0  # seconds
# Frames of all movements; of long takes, this many times as many as they have.
_MOST_FRAMES, _MOST_PER_FRAME = 100_000, 30


def load_choreography(path: str | Path, motion_of: MotionOf) -> Choreography:
    """Read a choreography from a file; `motion_of` returns the take with a given name.

    Raises
    ------
    MotionFormatError
        If the file is not a choreography, or a cut is outside its take.

    Examples
    --------
    >>> import tempfile
    >>> from motionloom.dance.choreography_file import load_choreography
    >>> steps = lib.choreography(label="dance", meter=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_choreography(steps.save(f"{folder}/groove.json"), lib.__getitem__)
    ...     print(again.graph.names == steps.graph.names)
    True
    """
    return choreography_from(graph_data(path), motion_of, Path(path))


def choreography_from(data: Mapping[str, Any], motion_of: MotionOf, path: Path) -> Choreography:
    """Build a choreography from plain data (see `Choreography.as_dict`); errors mention `path`."""
    graph = graph_from(data, path)
    if "cuts" not in data:
        raise MotionFormatError(
            "the file contains a graph but no movement cuts (the key cuts is missing). "
            "Use a file written by `motionloom movements`",
            path=path,
        )
    try:
        cuts = [_Cut.of(cut) for cut in data["cuts"]]
        beat_frames, fps = int(data["beat_frames"]), float(data["fps"])
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise MotionFormatError(
            "a choreography must have fps, beat_frames and cuts, and every cut must have source "
"and beats: "
            f"{type(error).__name__} {error}", path=path,
        ) from None  # fmt: skip
    if not (SLOWEST <= fps <= FASTEST and 2 <= beat_frames <= _LONGEST_BEAT * fps):
        raise MotionFormatError(
            f"fps must be from {SLOWEST:g} to {FASTEST:g}, and a beat must have 2 frames and last "
            f"at most {_LONGEST_BEAT:g} s; got fps {fps:g} and beat_frames {beat_frames}",
            path=path,
        )
    if not cuts:
        raise MotionFormatError("the choreography has no movements", path=path)
    takes = _Takes(motion_of, fps)
    movements = []
    for number, cut in enumerate(cuts):
        try:
            movements.append(takes.movement(cut, beat_frames))
        except (LibraryError, ValueError) as error:
            raise MotionFormatError(f"movement {number}: {error}", path=path) from None
    try:
        made = Choreography(
            tuple(movements), graph, str(data.get("kind", "")),
            comparison=_comparison(data, movements), runs=_runs(data, len(movements)),
            max_seam=_max_seam(data), usual=tuple(map(float, data.get("usual", ()))),
        )  # fmt: skip
        return made.with_graph(graph)
    except MotionloomError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise MotionFormatError(
            f"not a choreography: {type(error).__name__}: {error}", path=path
        ) from None


def _comparison(data: Mapping[str, Any], movements: Sequence[Movement]) -> MovementComparison:
    """Return the comparison weights in a file; in version 0.1 files, all joints have weight 1."""
    joints = movements[0].motion.skeleton.names
    try:
        weights = data.get("weights") or {}
        each = [float(weights.get(joint, 0.0 if weights else 1.0)) for joint in joints]
        return MovementComparison(
            np.array(each), float(data.get("velocity_weight", _VELOCITY_WEIGHT_0_1))
        )
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise MotionFormatError(f"weights must map joint names to numbers: {error}") from None


def _max_seam(data: Mapping[str, Any]) -> float | None:
    """Return the maximum seam acceleration in a file, or None for files of version 0.1."""
    given = data.get("max_seam")
    if given is not None and not (isinstance(given, int | float) and given > 0.0):
        raise MotionFormatError(f"max_seam must be positive; got {given!r}")
    return None if given is None else float(given)


def _runs(data: Mapping[str, Any], count: int) -> tuple[int, ...]:
    """Return the run lengths in a file; empty for files of version 0.1."""
    try:
        runs = tuple(int(length) for length in data.get("runs", ()))
    except (TypeError, ValueError, OverflowError):
        runs = (-1,)
    if runs and (min(runs) < 1 or sum(runs) != count):
        raise MotionFormatError(
            f"runs must be positive lengths that sum to {count}, the number of movements; "
            f"got {data['runs']!r}"
        )
    return runs


@dataclass(frozen=True, eq=False)
class _Cut:
    """Where a movement was cut: the names of its takes, one per character, and its beats."""

    source: tuple[str, ...]
    beats: NDArray[np.float64]
    mirrored: bool
    transition_phase: float

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> _Cut:
        return cls(
            tuple(str(name) for name in data["source"]),
            np.asarray(data["beats"], dtype=np.float64),
            bool(data.get("mirrored", False)),
            float(data.get("lead", 0.0)),
        )


class _Takes:
    """Cache of the takes that are cut, converted to the skeletons of the first cut."""

    def __init__(self, motion_of: MotionOf, fps: float) -> None:
        self._motion_of, self._fps = motion_of, fps
        self._read: dict[tuple, tuple[Motion, ...]] = {}
        self._like: tuple[Skeleton, ...] = ()
        self._made = 0  # frames of all movements

    def movement(self, cut: _Cut, beat_frames: int) -> Movement:
        """Return the movement of a cut.

        Raises
        ------
        ValueError
            If the beats are outside the takes, or the number of takes differs from that of other
            cuts.
        """
        bodies, at = self._bodies(cut), cut.beats
        last = len(bodies[0]) - 1
        rises = (
            at.ndim == 1
            and len(at) >= 2 + (cut.transition_phase > 0.0)
            and bool(np.all(np.diff(at) > 0.0))
        )
        if not (rises and at[0] >= 0.0 and at[-1] <= last):
            raise ValueError(
                f"beats must increase and lie within the {last + 1} frames of {cut.source[0]}"
            )
        if not 0.0 <= cut.transition_phase < 1.0:
            raise ValueError(
                f"lead must be at least 0 and below 1 beat; got {cut.transition_phase:g}"
            )
        self._made += len(bodies) * len(at) * beat_frames
        cut_from = sum(len(body) for each in self._read.values() for body in each)
        if self._made > max(_MOST_FRAMES, _MOST_PER_FRAME * cut_from):
            raise ValueError(
                f"the movements have more than {self._made} frames, which are too many for takes "
                f"with {cut_from} frames"
            )
        return warped_movement(
            bodies, cut.source, at, beat_frames, cut.mirrored, transition_phase=cut.transition_phase
        )

    def _bodies(self, cut: _Cut) -> tuple[Motion, ...]:
        if not cut.source or len(cut.source) != len(self._like or cut.source):
            raise ValueError(
                f"source must name {len(self._like) or 'some'} takes, as in the other movements; "
                f"got {len(cut.source)}"
            )
        key = cut.source, cut.mirrored
        if key not in self._read:
            likes: Sequence[Skeleton | None] = self._like or [None] * len(cut.source)
            bodies = tuple(
                conformed(self._motion_of(name), like, self._fps)
                for name, like in zip(cut.source, likes, strict=True)
            )
            self._like = self._like or tuple(body.skeleton for body in bodies)
            self._read[key] = tuple(b.mirror() if cut.mirrored else b for b in bodies)
        return self._read[key]


KIND = "choreography"


def save_choreography(library: Store, made: Choreography, name: str) -> None:
    """Save a choreography in the library of its takes; one with the same name is replaced.

    If the choreography has no kind, its name becomes its kind.

    Examples
    --------
    >>> import tempfile, motionloom as ml
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
    >>> save_choreography(lib.store, lib.choreography(meter=4), "disco")
    >>> [steps.kind for steps in saved_choreographies(lib.store, lib.__getitem__)]
    ['disco']
    """
    with library.change(f"save choreography {name}"):
        library.artifacts.save(KIND, name, replace(made, kind=made.kind or name).as_dict())


def open_choreography(library: Store, name: str, motion_of: MotionOf) -> Choreography:
    """Load a saved choreography; `motion_of` returns the take with a given name."""
    return choreography_from(library.artifacts.about(KIND, name), motion_of, library.path)


def saved_choreographies(library: Store, motion_of: MotionOf) -> tuple[Choreography, ...]:
    """Load all saved choreographies, sorted by name; see `open_choreography`."""
    names = library.artifacts.names(KIND)
    return tuple(open_choreography(library, name, motion_of) for name in names)
