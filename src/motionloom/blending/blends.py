"""Weighted blends of registered motions, as a whole or frame by frame.

Time advances at the weighted mean of the examples' speeds. Poses are averaged after each example
has been moved to a common position and heading. The path on the floor follows the weighted mean of
the examples' turns and steps, and heights are averaged separately. Foot contacts are merged by
weight, and a foot lock holds the feet in place during contacts (`motionloom.motion.feet`).

Only examples with nonzero weight require computation. If a single example has all the weight, the
blend is that example, moved to the query's start, with its feet as captured.

`BlendPlayer` accumulates time and path frame by frame, so weights may change at any frame without a
jump. Weights follow their targets like critically damped springs. They stay valid on the way,
because the mean of two valid sets of weights is also valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.player import FrameBlock, Player, Pose
from motionloom.blending.poses import blend_poses
from motionloom.blending.registration import Registration, register
from motionloom.blending.registration_curve import Track
from motionloom.errors import InvalidInput
from motionloom.features.frame_distances import FrameDistance
from motionloom.motion import Motion, Provenance, Source
from motionloom.motion.diagnostics.quality import QualityReport
from motionloom.motion.feet.contacts import SIDES, FootContacts
from motionloom.motion.feet.foot_lock import ground_under
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion.smoothing import critically_damped_spring


class Blend:
    """Weighted blends of the examples in a registration.

    Parameters
    ----------
    registration : Registration
        N examples, as returned by `motionloom.blending.register`.
    keys : sequence of float
        Points of the registration curve (query frames) that must fall on whole frames of every
        blend. Times between them shift by less than half a frame.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.blending import register
    >>> kicks = [ml.demo.clip(f"kick_{kind}_right") for kind in ("front_mid", "front_high")]
    >>> blend = Blend(register(kicks))
    >>> between = blend([0.5, 0.5], name="between")
    >>> between
    Motion('between', 75 frames at 30 fps = 2.50 s, 21 joints)
    >>> [(source.motion, source.weight) for source in between.provenance.sources]
    [('kick_front_mid_right_p0', 0.5), ('kick_front_high_right_p0', 0.5)]
    """

    def __init__(self, registration: Registration, *, keys: Sequence[float] = ()) -> None:
        last = len(registration.curve) - 1
        if not all(0.0 <= key <= last for key in keys):
            raise InvalidInput(f"keys must be query frames from 0 to {last}; got {list(keys)}")
        self.registration = registration
        self._keys = np.array(sorted(set(keys)), np.float64)

    @cached_property
    def _foot_lock(self) -> StreamingFootLock:
        return StreamingFootLock(self.registration.skeleton, self.registration.fps)

    def __len__(self) -> int:
        return len(self.registration)

    def __call__(
        self, weights: ArrayLike, *, lock_feet: bool = True, name: str = "blend"
    ) -> Motion:
        """Return the whole blend as a motion.

        Parameters
        ----------
        weights : array_like, shape (N,)
            Weights that sum to 1; slightly negative weights extrapolate.
        lock_feet : bool
            Keep feet in place while they are in contact. If False, return the averaged poses
            unchanged.
        name : str

        Returns
        -------
        motion : Motion
            The blend, with its quality and its provenance (example frames and weights).

        Raises
        ------
        InvalidInput
            If there is not exactly one weight per example, or the weights are not finite or do
            not sum to 1.
        """
        made = self._whole(weights, lock_feet=lock_feet, name=name)
        return made.with_quality(self.registration.quality)

    def _whole(self, weights: ArrayLike, *, lock_feet: bool, name: str) -> Motion:
        track = self._track(weights)
        frames = self._frames(track)
        motion = self._motion(track, 0, frames, name)
        if not lock_feet or len(track.active) == 1:
            return motion
        contacts = self._contacts(track, frames)
        if not any(contacts.plants.values()):
            return motion
        standing = contacts.standing_parts()
        grounds = _grounds(contacts)
        self._foot_lock.reset()
        rotations, root = self._foot_lock.lock(
            motion.rotations, motion.root, standing, ground_heights=grounds
        )
        return replace(motion, rotations=rotations, root=root)

    def window(
        self, weights: ArrayLike, start_frame: int, end_frame: int, *, name: str = "blend"
    ) -> Motion:
        """Return frames ``[start_frame, end_frame)`` of a blend, without foot lock."""
        track = self._track(weights)
        frames = self._frames(track)
        if not 0 <= start_frame < end_frame <= frames:
            raise InvalidInput(
                f"a window must lie within the blend's {frames} frames; got {start_frame} to "
                f"{end_frame}"
            )
        return self._motion(track, start_frame, end_frame, name)

    def frame(self, point: float, weights: ArrayLike) -> Pose:
        """Return the pose at one point of the registration curve, without foot lock.

        Parameters
        ----------
        point : float
            Query frame, which may be fractional.
        weights : array_like, shape (N,)
        """
        rotations, root = self.poses(weights, [point])
        return Pose(rotations[0], root[0])

    def poses(
        self, weights: ArrayLike, points: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return rotations (F, J, 4) and roots (F, 3) at curve points (F,), without foot lock."""
        at = np.asarray(points, np.float64)
        if not np.isfinite(at).all():
            raise InvalidInput(f"points must be finite query frames; got {points!r}")
        return self._mixed(self._track(weights), at)

    def frames(self, weights: ArrayLike) -> int:
        """Return the number of frames in a blend: the rounded weighted mean over its examples."""
        return self._frames(self._track(weights))

    def points(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the registration curve point for each frame of a blend."""
        track = self._track(weights)
        return self._points(track, 0, self._frames(track))

    def frame_at(self, point: float, weights: ArrayLike) -> float:
        """Return the fractional frame of the blend that corresponds to query frame `point`."""
        track = self._track(weights)
        return float(np.interp(track.moments(np.array([point]))[0], *self._clock(track)))

    def contacts(self, weights: ArrayLike) -> FootContacts:
        """Return the foot contacts of a blend."""
        track = self._track(weights)
        return self._contacts(track, self._frames(track))

    def _track(self, weights: ArrayLike) -> Track:
        given = self.registration.checked_weights(weights)
        active = np.flatnonzero(given)
        return self.registration.curve.track(active, given[active])

    def _frames(self, track: Track) -> int:
        return max(round(track.time[-1]), 1) + 1

    def _clock(self, track: Track) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the unrounded times of both ends and all keys, and their whole blend frames."""
        last = self._frames(track) - 1
        moments, frames = [0.0], [0.0]
        for moment in track.moments(self._keys):
            frame = min(max(round(moment * last / track.time[-1]), 0), last)
            if frame > frames[-1] and moment > moments[-1] and frame < last:
                moments.append(moment)
                frames.append(frame)
        return np.array([*moments, track.time[-1]]), np.array([*frames, last], np.float64)

    def _points(self, track: Track, start: int, end: int) -> NDArray[np.float64]:
        moments, frames = self._clock(track)
        return track.points(np.interp(np.arange(start, end), frames, moments))

    def _mixed(self, track: Track, points: NDArray[np.float64]):
        times, transforms, place = track.states(points)
        return blend_poses(
            self.registration.clips,
            track.active,
            track.weights,
            times,
            transforms=transforms,
            place=place,
        )

    def _motion(self, track: Track, start: int, end: int, name: str) -> Motion:
        points = self._points(track, start, end)
        rotations, root = self._mixed(track, points)
        ends = track.states(points[[0, -1]])[0]
        sources = tuple(
            self.registration.examples[n].played(first, last, 0, end - start, weight)
            for n, weight, (first, last) in zip(track.active, track.weights, ends.T, strict=True)
        )
        return Motion(
            self.registration.skeleton,
            rotations,
            root,
            self.registration.fps,
            name=name,
            provenance=Provenance(sources),
        )

    def _contacts(self, track: Track, frames: int) -> FootContacts:
        return self.registration.contacts.blended(
            track.active,
            track.weights,
            frames=frames,
            clock=self._clock(track),
            fps=self.registration.fps,
        )


def _grounds(contacts: FootContacts) -> NDArray[np.float64]:
    """Return the floor height (T, 2) under each ball of the foot, linear between contacts."""
    heights = np.full((contacts.frames, 2), np.nan)
    for k, side in enumerate(SIDES):
        plants = contacts.plants.get(f"{side}_ball", ())
        if plants:
            levels = np.array([plant.height for plant in plants])
            heights[:, k] = ground_under(plants, levels, contacts.frames)
    return heights


Array = NDArray[np.float64]

EASE = 0.25  # seconds in which weights nearly reach new targets
_GONE = 1e-4  # smaller weights whose target is zero are set to zero


class _Frame(NamedTuple):
    """One frame of a blend: pose, foot contacts, and the examples' indices, weights and frames."""

    rotations: NDArray[np.float32]
    root: NDArray[np.float32]
    contacts: NDArray[np.bool_]
    active: NDArray[np.int64]
    weights: Array
    times: Array


class BlendPlayer(Player):
    """Player that plays a blend once, from the first frame to the last.

    Parameters
    ----------
    registration : Registration
        N examples.
    weights : array_like, shape (N,)
        Weights that sum to 1.
    ease : float
        Time in seconds in which weights nearly reach new targets.
    lock_feet : bool
        Hold feet that are in contact in place.
    place : array_like, shape (3,)
        Planar transform ``x, z, yaw`` of the first frame. Default: the query's first frame.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.blending import register
    >>> kicks = [ml.demo.clip(f"kick_{kind}_right") for kind in ("front_mid", "front_high")]
    >>> player = BlendPlayer(register(kicks), [1.0, 0.0])
    >>> first = player.record(frames=20)
    >>> player.steer(weights=[0.0, 1.0])
    >>> len(first), len(player.record(frames=500)) > 40
    (20, True)
    """

    controls = ("weights",)

    def __init__(
        self,
        registration: Registration,
        weights: ArrayLike,
        *,
        ease: float = EASE,
        lock_feet: bool = True,
        place: ArrayLike | None = None,
    ) -> None:
        if not ease > 0.0:
            raise InvalidInput(f"ease must be a positive time in seconds; got {ease}")
        self.registration = registration
        self.skeleton = registration.skeleton
        self.fps = registration.fps
        self._wanted = registration.checked_weights(weights)
        self._weights = self._wanted.copy()
        self._change = np.zeros(len(registration))
        self._rate = 4.0 / (ease * self.fps)  # per frame
        stands = len(registration.contacts.parts) > 0
        self._foot_lock = (
            StreamingFootLock(self.skeleton, self.fps) if lock_feet and stands else None
        )
        start = registration.curve.transforms[0, 0] if place is None else place
        start = np.asarray(start, np.float64)
        if start.shape != (3,) or not np.isfinite(start).all():
            raise InvalidInput(f"place must be three finite numbers (x, z, yaw); got {place!r}")
        self._place = PlanarTransform.from_array(start)
        self._point: float | None = 0.0
        self._frame = 0

    def quality(self, motion: Motion) -> QualityReport:
        """Return the quality of recorded frames, compared with the examples."""
        return self.registration.quality(motion)

    @property
    def weights(self) -> Array:
        """Current blend weights, shape (N,), which approach the most recently set weights."""
        return self._weights.copy()

    def _read(self, count: int) -> FrameBlock:
        made = [frame for frame in (self._step() for _ in range(count)) if frame is not None]
        start = self._frame - len(made)
        if not made:
            return FrameBlock.empty(len(self.skeleton), start)
        rotations = np.array([frame.rotations for frame in made], np.float32)
        root = np.array([frame.root for frame in made], np.float32)
        contacts = np.array([frame.contacts for frame in made], np.bool_)
        if self._foot_lock is not None:
            rotations, root = self._foot_lock.lock(rotations, root, contacts)
        return FrameBlock(rotations, root, contacts, start, self._sources(made, start))

    def _steer(self, **controls: Any) -> None:
        self._wanted = self.registration.checked_weights(controls["weights"])

    def _step(self) -> _Frame | None:
        """Return the next frame, or None after the last."""
        if self._point is None:
            return None
        curve = self.registration.curve
        last = len(curve) - 1.0
        point = min(self._point, last)
        active = np.flatnonzero(self._weights)
        shares = self._weights[active]
        k = min(int(point), len(curve) - 2)
        share = point - k
        times, transforms = curve.at(active, point)
        rotations, root = blend_poses(
            self.registration.clips, active, shares, times[None],
            transforms=transforms[None], place=self._place.to_array()[None],
        )  # fmt: skip
        standing = self.registration.contacts.standing(active, shares, times)
        made = _Frame(rotations[0], root[0], standing, active, shares, times)
        # Advance along the curve by one frame of time.
        speed = (1.0 - share) * curve.speeds[k] + share * curve.speeds[k + 1]
        step = 1.0 / max(float(speed[active] @ shares), 0.1)
        moved = PlanarTransform.from_twist(step * (shares @ curve.twists[k, active]))
        self._place = self._place @ moved
        self._point = None if point >= last else self._point + step
        if self._point is not None and self._point > last + 0.5 * step:
            self._point = None
        self._follow()
        self._frame += 1
        return made

    def _follow(self) -> None:
        """Move the weights one frame closer to their targets, like critically damped springs."""
        away, self._change = critically_damped_spring(
            self._weights - self._wanted, self._change, self._rate, 1.0
        )
        self._weights = self._wanted + away
        gone = (np.abs(self._weights) < _GONE) & (self._wanted == 0.0)
        self._weights[gone] = self._change[gone] = 0.0
        self._weights /= self._weights.sum()

    def _sources(self, made: list[_Frame], start: int) -> tuple[Source, ...]:
        sums = np.zeros(len(self.registration))
        times: dict[int, list[float]] = {}
        for frame in made:
            for n, weight, time in zip(frame.active, frame.weights, frame.times, strict=True):
                sums[n] += weight
                times.setdefault(int(n), []).append(float(time))
        end, means = start + len(made), sums / len(made)
        return tuple(
            self.registration.examples[n].played(played[0], played[-1], start, end, means[n])
            for n, played in sorted(times.items())
        )


def blend(
    motions: Sequence[Motion],
    weights: ArrayLike,
    *,
    distance: str | FrameDistance = "pc11",
    lock_feet: bool = True,
    name: str = "blend",
) -> Motion:
    """Blend motions by registering them in time and on the floor and then averaging them.

    Parameters
    ----------
    motions : sequence of Motion, length N
        At least two motions. The result has the skeleton, frame rate and start position of the
        first motion.
    weights : array_like, shape (N,)
        Weights that sum to 1; slightly negative weights extrapolate.
    distance : str or FrameDistance
        Frame distance used for the time alignment.
    lock_feet : bool
        Hold feet that are in contact in place.
    name : str
        Name of the result.

    Returns
    -------
    motion : Motion
        The blend, with its provenance (source frames and weights).

    Raises
    ------
    InvalidInput
        If there is not exactly one weight per motion, if the weights are not finite or do not sum
        to 1, or if foot contacts cannot be matched.

    Examples
    --------
    >>> import motionloom as ml
    >>> kicks = [ml.demo.clip(f"kick_{kind}_right") for kind in ("front_mid", "front_high")]
    >>> ml.blend(kicks, [0.5, 0.5])
    Motion('blend', 75 frames at 30 fps = 2.50 s, 21 joints)
    """
    return Blend(register(motions, distance=distance))(weights, lock_feet=lock_feet, name=name)
