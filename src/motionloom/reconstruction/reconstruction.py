"""Reconstruction of a motion from markers, with its confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import quality_report
from motionloom.motion.kinematics.root_carrier import body_skeleton
from motionloom.motion.markers import Markers
from motionloom.motion.rotations import quaternions as rot
from motionloom.parallel import Progress, one_thread
from motionloom.reconstruction.confidence import confidence
from motionloom.reconstruction.control_signal import ControlSignal, control_signal
from motionloom.reconstruction.offline import solve_sequence
from motionloom.reconstruction.online import Stream, solve_frames
from motionloom.reconstruction.performer import FittedSkeleton, check_skeleton, fitted_skeleton
from motionloom.reconstruction.prior import Prior
from motionloom.reconstruction.settings import ReconstructSettings
from motionloom.store.store import Store


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction(Motion):
    """A reconstructed motion, with its confidence.

    Attributes
    ----------
    confidence : ndarray, shape (T,), or None
        From 0 to 1 per frame: near 1 where the library has similar poses and no marker is missing;
        one half where an error of 5 cm is expected. None if the frames are no longer those
        reconstructed.
    expected_error : ndarray, shape (T,), or None
        Expected error in metres of the joints without markers.
    markers : dict of str to str
        Roles that were tracked, and the labels of their markers.
    lost : tuple of str
        Roles whose markers never appear.

    Examples
    --------
    >>> body = lib.reconstruct(ml.demo.clip("walk", performer=1)[:10])
    >>> body.confidence.shape, list(body.markers)[:2], body.lost
    ((10,), ['hips', 'left_wrist'], ())
    """

    confidence: NDArray[Any] | None = None
    expected_error: NDArray[Any] | None = None
    markers: Mapping[str, str] | None = None
    lost: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("confidence", "expected_error"):
            known = getattr(self, name)
            if known is not None and len(known) != len(self.rotations):
                object.__setattr__(self, name, None)

    def __getitem__(self, frames: slice | int) -> Motion:
        cut = super().__getitem__(frames)
        part = frames if isinstance(frames, slice) else slice(frames, frames + 1 or None)
        kept = {name: getattr(self, name) for name in ("confidence", "expected_error")}
        kept = {name: known[part] for name, known in kept.items() if known is not None}
        return replace(cut, **kept) if kept else cut


def reconstruct(
    library: Store,
    markers: Markers | Motion,
    settings: ReconstructSettings | None = None,
    *,
    progress: Progress | None = None,
) -> Reconstruction:
    """A whole body from a few markers; see `motionloom.Library.reconstruct`.

    Examples
    --------
    >>> from motionloom.reconstruction import ReconstructSettings, reconstruct, tracked
    >>> six = tracked(ml.demo.clip("walk", performer=1)[:10])
    >>> reconstruct(lib, six, ReconstructSettings(mode="online"))
    Reconstruction('walk_p1', 10 frames at 30 fps = 0.33 s, 21 joints)
    """
    settings = settings or ReconstructSettings()
    signal = control_signal(markers, settings.roles)
    performer = _performer(library, signal, settings.skeleton)
    prior = Prior(library, performer.skeleton, searched_roles(signal), settings)
    with one_thread():  # of matrices this small a second thread makes ten times the work
        if settings.mode == "offline":
            found = solve_sequence(prior, signal, progress=progress)
        else:
            stream = _stream(prior, signal.roles, signal.fps)
            found = solve_frames(stream, signal, progress=progress)
    seen = np.isfinite(signal.points[..., 0]).mean(axis=1)
    errors = np.hypot(found.errors, performer.error)
    return Reconstruction(
        performer.skeleton,
        rot.unroll(rot.normalize(found.rotations)),
        found.root,
        signal.fps,
        name=signal.name,
        confidence=confidence(errors, seen),
        expected_error=errors,
        markers=dict(zip(signal.roles, signal.labels, strict=True)),
        lost=signal.lost,
    ).with_quality(quality_report)


def reconstruction_stream(
    library: Store,
    roles: tuple[str, ...],
    skeleton: Skeleton,
    *,
    fps: float,
    settings: ReconstructSettings | None = None,
) -> Stream:
    """A body that follows markers as they arrive: ``stream.step(points)``.

    Parameters
    ----------
    library : Library
    roles : tuple of str
        Roles of the markers, at least three; the hips first if tracked.
    skeleton : Skeleton
        The performer's.
    fps : float
        Frame rate of the markers.
    settings : ReconstructSettings, optional
        Features, neighbours and motions of the prior.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> from motionloom.reconstruction import SIX, reconstruction_stream, tracked
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
        raise InvalidInput(f"roles must have at least 3 markers; got {len(roles)}")
    skeleton.role_assignment.require(roles)
    prior = Prior(library, body_skeleton(skeleton), tuple(roles), settings or ReconstructSettings())
    return _stream(prior, tuple(roles), fps)


def _stream(prior: Prior, roles: tuple[str, ...], fps: float) -> Stream:
    if prior.by_pose is not None:
        raise InvalidInput(
            f"online, features must be joint positions of one frame; {prior.by_pose.name} are "
            "not. Use e15, or the mode offline"
        )
    return Stream(prior, roles, fps)


def _performer(library: Store, signal: ControlSignal, skeleton: Any) -> FittedSkeleton:
    if skeleton is None:
        return fitted_skeleton(library, signal)
    if isinstance(skeleton, Motion):
        skeleton = skeleton.skeleton
    check_skeleton(skeleton, signal)
    return FittedSkeleton(body_skeleton(skeleton))


def searched_roles(signal: ControlSignal) -> tuple[str, ...]:
    """Roles to search by: those present most of the time, or all if these are too few."""
    steady = signal.steady
    return steady if len([role for role in steady if role != "hips"]) >= 2 else signal.roles
