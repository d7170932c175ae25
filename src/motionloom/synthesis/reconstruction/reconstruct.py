"""From markers to a motion: the way in and out of reconstruction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import FeatureSet
from motionloom.errors import InvalidInput
from motionloom.library.importing import Progress
from motionloom.library.shelf import Shelf
from motionloom.motion import Motion, Skeleton
from motionloom.motion import rotations as rot
from motionloom.motion.markers import Markers
from motionloom.synthesis.reconstruction.control_signal import ControlSignal, control_signal
from motionloom.synthesis.reconstruction.offline import solve_sequence
from motionloom.synthesis.reconstruction.online import Stream, solve_frames
from motionloom.synthesis.reconstruction.performer import check_skeleton, fitted_skeleton
from motionloom.synthesis.reconstruction.prior import NEIGHBOURS, Prior

# Neighbours so many metres away make a frame half as sure. A choice, not a calibration.
_HALF_SURE = 0.20


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction(Motion):
    """A motion that was inferred, and how sure it is.

    Attributes
    ----------
    confidence : ndarray, shape (T,), or None
        From 0 to 1 per frame: near 1 where the library holds poses like the tracked one and
        every point was seen. None once the frames are others than those inferred.
    markers : dict of str to str
        Roles that were tracked, and what the markers were called.
    lost : tuple of str
        Roles whose markers were never seen.

    Examples
    --------
    >>> body = lib.reconstruct(ml.demo.clip("walk", performer=1)[:10])
    >>> body.confidence.shape, list(body.markers)[:2], body.lost
    ((10,), ['hips', 'left_wrist'], ())
    """

    confidence: NDArray[Any] | None = None
    markers: Mapping[str, str] | None = None
    lost: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.confidence is not None and len(self.confidence) != len(self.rotations):
            object.__setattr__(self, "confidence", None)

    def __getitem__(self, frames: slice | int) -> Motion:
        cut = super().__getitem__(frames)
        if self.confidence is None:
            return cut
        part = frames if isinstance(frames, slice) else slice(frames, frames + 1 or None)
        return replace(cut, confidence=self.confidence[part])  # type: ignore[call-arg]


def reconstruct(
    library: Shelf,
    markers: Markers | Motion,
    *,
    skeleton: Skeleton | Motion | None = None,
    roles: Mapping[str, str] | None = None,
    mode: Literal["offline", "online"] = "offline",
    features: str | FeatureSet = "e15",
    neighbours: int = NEIGHBOURS,
    within: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    without: str | Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Reconstruction:
    """A whole body from a few tracked points; see `motionloom.Library.reconstruct`.

    Examples
    --------
    >>> from motionloom.synthesis.reconstruction import reconstruct, tracked
    >>> reconstruct(lib, tracked(ml.demo.clip("walk", performer=1)[:10]), mode="online")
    Motion('walk_p1', 10 frames at 30 fps = 0.33 s, 21 joints)
    """
    if mode not in ("offline", "online"):
        raise InvalidInput(f'mode must be "offline" or "online"; got {mode!r}')
    signal = control_signal(markers, roles)
    performer = _performer(library, signal, skeleton)
    prior = Prior(
        library,
        performer,
        searched_roles(signal),
        features=features,
        neighbours=neighbours,
        within=within,
        only=only,
        without=without,
    )
    if mode == "offline":
        found = solve_sequence(prior, signal, progress=progress)
    else:
        stream = _stream(prior, signal.roles, signal.fps)
        found = solve_frames(stream, signal, progress=progress)
    seen = np.isfinite(signal.points[..., 0]).mean(axis=1)
    return Reconstruction(
        performer,
        rot.unroll(rot.normalize(found.rotations)),
        found.root,
        signal.fps,
        name=signal.name,
        confidence=seen / (1.0 + (found.distances / _HALF_SURE) ** 2),
        markers=dict(zip(signal.roles, signal.labels, strict=True)),
        lost=signal.lost,
    )


def reconstruction_stream(
    library: Shelf,
    roles: tuple[str, ...],
    skeleton: Skeleton,
    *,
    fps: float,
    features: str | FeatureSet = "e15",
    neighbours: int = NEIGHBOURS,
    within: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    without: str | Iterable[str] | None = None,
) -> Stream:
    """A body that follows tracked points as they come: ``stream.step(points)``.

    Parameters
    ----------
    library : Library
    roles : tuple of str
        What will be tracked, at least three; the hips first where they are.
    skeleton : Skeleton
        The performer's.
    fps : float
        Frames per second that will come.
    features, neighbours, within, only, without : optional
        As in `Library.reconstruct`.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> from motionloom.synthesis.reconstruction import SIX, reconstruction_stream, tracked
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> lib.add_motion(ml.demo.clip("walk"))
    >>> walk = ml.demo.clip("walk", performer=1)
    >>> stream = reconstruction_stream(lib, SIX, walk.skeleton, fps=30)
    >>> rotations, root, distance = stream.step(tracked(walk).positions[0])
    >>> rotations.shape == (len(walk.skeleton), 4)
    True
    """
    if len(roles) < 3:
        raise InvalidInput(f"a body needs at least 3 tracked points; got {len(roles)}")
    skeleton.role_assignment.require(roles)
    prior = Prior(
        library,
        skeleton,
        tuple(roles),
        features=features,
        neighbours=neighbours,
        within=within,
        only=only,
        without=without,
    )
    return _stream(prior, tuple(roles), fps)


def _stream(prior: Prior, roles: tuple[str, ...], fps: float) -> Stream:
    if prior.by_pose is not None:
        raise InvalidInput(
            f"on-line, neighbours are found by tracked joints of one frame; "
            f"{prior.by_pose.name} needs more. Use e15, or mode='offline'"
        )
    return Stream(prior, roles, fps)


def _performer(
    library: Shelf, signal: ControlSignal, skeleton: Skeleton | Motion | None
) -> Skeleton:
    if skeleton is None:
        return fitted_skeleton(library, signal)
    if isinstance(skeleton, Motion):
        skeleton = skeleton.skeleton
    check_skeleton(skeleton, signal)
    return skeleton


def searched_roles(signal: ControlSignal) -> tuple[str, ...]:
    """Roles to search by: those seen most of the time, or all where these are too few."""
    steady = signal.steady
    return steady if len([role for role in steady if role != "hips"]) >= 2 else signal.roles
