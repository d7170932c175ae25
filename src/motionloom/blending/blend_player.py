"""A blend played frame by frame, whose weights may change on the way.

The player goes along the registration curve at the weighted mean of the examples' speeds,
and over the floor by the weighted mean of their steps and turns, both added up as they come:
so weights may change in any frame without a jump. They do not change at once, but run after
what is wanted as a critically damped spring does; what is between two sets of valid weights
is valid too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.player import FrameBlock, Player
from motionloom.blending.poses import mixed_poses
from motionloom.blending.registration import Registration
from motionloom.errors import InvalidInput
from motionloom.motion import Source
from motionloom.motion.easing import critically_damped_spring
from motionloom.motion.feet.streaming import FootPlanter
from motionloom.motion.rotations.planar_transform import composed, travelled

Array = NDArray[np.float64]

EASE = 0.25  # seconds in which most of a change of weights is made
_GONE = 1e-4  # a weight this small, and wanted to be zero, is zero


class _Frame(NamedTuple):
    """One frame: its pose, which foot parts stand, and which frames of which examples it is."""

    rotations: NDArray[np.float32]
    root: NDArray[np.float32]
    contacts: NDArray[np.bool_]
    active: NDArray[np.int64]
    weights: Array
    times: Array


class BlendPlayer(Player):
    """Plays a blend once, from its first frame to its last.

    Parameters
    ----------
    registration : Registration
        N examples.
    weights : array_like, shape (N,)
        Sum up to 1.
    ease : float
        Seconds in which most of a change of weights is made.
    plant : bool
        Hold the feet where they stand.
    place : array_like, shape (3,)
        Where the first frame stands on the floor: ``x, z`` of the root, and the yaw by which
        the query is turned. Default: where the query begins.

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
        plant: bool = True,
        place: ArrayLike | None = None,
    ) -> None:
        if not ease > 0.0:
            raise InvalidInput(f"ease must be a time in seconds above zero; got {ease}")
        self.registration = registration
        self.skeleton = registration.skeleton
        self.fps = registration.fps
        self._wanted = registration.checked_weights(weights)
        self._weights = self._wanted.copy()
        self._change = np.zeros(len(registration))
        self._rate = 4.0 / (ease * self.fps)  # per frame
        stands = len(registration.contacts.parts) > 0
        self._planter = FootPlanter(self.skeleton, self.fps) if plant and stands else None
        start = registration.curve.grounds[0, 0] if place is None else place
        self._place = np.array(start, np.float64)
        if self._place.shape != (3,) or not np.isfinite(self._place).all():
            raise InvalidInput(f"place must be x, z, yaw, three finite numbers; got {place!r}")
        self._point: float | None = 0.0
        self._frame = 0

    def _read(self, count: int) -> FrameBlock:
        made = [frame for frame in (self._step() for _ in range(count)) if frame is not None]
        start = self._frame - len(made)
        if not made:
            return FrameBlock.none(len(self.skeleton), start)
        rotations = np.array([frame.rotations for frame in made], np.float32)
        root = np.array([frame.root for frame in made], np.float32)
        contacts = np.array([frame.contacts for frame in made], np.bool_)
        if self._planter is not None:
            rotations, root = self._planter.plant(rotations, root, contacts)
        return FrameBlock(rotations, root, contacts, start, self._sources(made, start))

    def _steer(self, **controls: Any) -> None:
        self._wanted = self.registration.checked_weights(controls["weights"])

    def _step(self) -> _Frame | None:
        """The next frame; None after the last."""
        if self._point is None:
            return None
        curve = self.registration.curve
        last = len(curve) - 1.0
        point = min(self._point, last)
        active = np.flatnonzero(self._weights)
        shares = self._weights[active]
        k = min(int(point), len(curve) - 2)
        share = point - k
        times, grounds = curve.at(active, point)
        rotations, root = mixed_poses(
            self.registration.clips, active, shares, times[None],
            grounds=grounds[None], place=self._place[None],
        )  # fmt: skip
        standing = self.registration.contacts.standing(active, shares, times)
        made = _Frame(rotations[0], root[0], standing, active, shares, times)
        # On to the next frame: as far along the curve as one frame of time is.
        speed = (1.0 - share) * curve.speeds[k] + share * curve.speeds[k + 1]
        step = 1.0 / max(float(speed[active] @ shares), 0.1)
        moved = travelled(step * (shares @ curve.twists[k, active]))
        self._place = composed(self._place, moved)
        self._point = None if point >= last else self._point + step
        if self._point is not None and self._point > last + 0.5 * step:
            self._point = None
        self._follow()
        self._frame += 1
        return made

    def _follow(self) -> None:
        """Move the weights on by a frame, as a critically damped spring towards the wanted."""
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
