"""Foot contacts: the frames in which the heel or ball of a foot is planted on the ground.

A foot in contact is slow and low. *Slow* is decided with two thresholds, which keep noise from
splitting a contact: a contact contains frames below the lower threshold and extends on both sides
to where the speed exceeds the higher one. *Low* is relative to the ground under each contact,
because captured floors tilt by centimeters and people climb stairs. The height of the slow frames
defines the local ground, and frames well above it are not part of the contact.

If neither foot is slow, the supporting foot may be skating; see `motionloom.motion.feet.skating`.

A foot may also be held still in the air. Still feet far above the floor count as contacts only
while the other foot moves, since one foot has to carry the body.

The *ball* is the joint with the role ``foot``; the *heel* is represented by the ankle, which is
still for exactly as long as the whole sole is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.segment import intervals
from motionloom.motion.smoothing import gaussian_smooth

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIDES = ("left", "right")
PARTS = ("heel", "ball")
# Foot part -> role.
FOOT_ROLES = {
    "left_heel": "left_ankle",
    "left_ball": "left_foot",
    "right_heel": "right_ankle",
    "right_ball": "right_foot",
}
FOOT_PARTS = tuple(FOOT_ROLES)

# Seconds of smoothing before speeds are computed: 2 mm of marker noise at 120 Hz would add 0.17
# m/s. At 30 Hz the smoothing has almost no effect.
_SMOOTHING = 0.017
# A level of the ground has at least this fraction of the slow frames.
_LEVEL_SHARE = 0.15
_LEVEL_BAND = 0.05
# The ankle leaves and reaches its position slowly, rotating about heel or ball; its thresholds are
# this fraction of `fast` and `rise`. Chosen on the demo corpus, whose contacts are known.
_HEEL_SHARE = 0.4
# Contacts of skating feet, relative to the drift: thresholds divided by those of standing feet,
# and the minimum fraction of a contact in which no foot is slow enough to stand.
_SKATE_SLOW = 2.0
_SKATE_FAST = 1.25
_BARE_SHARE = 0.3

# Contacts by motion and thresholds. Motions are immutable, and many analyses need their contacts.
_CONTACTS: WeakKeyDictionary[Motion, dict[Any, FootContacts]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Plant:
    """A single contact: frames ``[start_frame, end_frame)`` and the point's height in meters.

    If `skating` is True, the foot moves, but it is still relative to the drift of the body.
    """

    start_frame: int
    end_frame: int
    height: float
    skating: bool = False


@dataclass(frozen=True, eq=False)
class FootContacts:
    """Contacts of both feet over T frames.

    Attributes
    ----------
    plants : dict of str to tuple of Plant
        Contacts of ``left_heel``, ``left_ball``, ``right_heel`` and ``right_ball``, each in order
        of time.
    floor : float
        Height in meters at which the balls of the feet stand on the main floor.
    frames : int
        Number of frames, T.
    fps : float

    Examples
    --------
    >>> from motionloom.motion.feet.contacts import FootContacts, Plant
    >>> plants = {"left_ball": (Plant(2, 5, 0.03),), "right_ball": ()}
    >>> contacts = FootContacts(plants, floor=0.03, frames=6, fps=30.0)
    >>> contacts["left_ball"].astype(int), contacts.intervals("left_ball")
    (array([0, 0, 1, 1, 1, 0]), ((2, 5),))
    >>> contacts.standing_parts()[1:3].astype(int)
    array([[0, 0, 0, 0],
           [0, 1, 0, 0]])
    """

    plants: dict[str, tuple[Plant, ...]]
    floor: float
    frames: int
    fps: float

    def __getitem__(self, part: str) -> Mask:
        """Return a mask of frames with `part` (``"left_ball"``, ...) in contact, shape (T,)."""
        mask = np.zeros(self.frames, dtype=bool)
        for plant in self._plants(part):
            mask[plant.start_frame : plant.end_frame] = True
        return mask

    def intervals(self, part: str) -> tuple[tuple[int, int], ...]:
        """Return the half-open frame ranges in which `part` is in contact."""
        return tuple((plant.start_frame, plant.end_frame) for plant in self._plants(part))

    def standing(self, side: str) -> Mask:
        """Return a mask (T,) of frames in which the heel or ball on one side is in contact."""
        return self[f"{side}_heel"] | self[f"{side}_ball"]

    def standing_parts(self) -> Mask:
        """Return masks for all `FOOT_PARTS`, in that order, shape (T, 4)."""
        return np.stack([self[part] for part in FOOT_PARTS], axis=1)

    def _plants(self, part: str) -> tuple[Plant, ...]:
        if part not in FOOT_PARTS:
            raise InvalidInput(f"a foot part must be one of {', '.join(FOOT_PARTS)}; got {part!r}")
        return self.plants.get(part, ())


def foot_contacts(
    motion: Motion,
    *,
    slow: float = 0.15,
    fast: float = 0.40,
    rise: float = 0.025,
    above_floor: float = 0.07,
    shortest: float = 0.08,
    gap: float = 0.05,
    skate: float = 1.2,
) -> FootContacts:
    """Find the ground contacts of the heel and ball of each foot.

    Parameters
    ----------
    motion : Motion
        Needs the roles ``ankle`` and ``foot`` on both sides. Any frame rate.
    slow, fast : float
        Speeds in m/s. A contact contains a frame slower than `slow` and ends where the point
        becomes faster than `fast`. In CMU walks, a planted ball moves at 0.02 to 0.10 m/s and
        exceeds 0.4 m/s within two frames (at 30 fps) when it lifts off.
    rise : float
        Maximum height in meters of the point above the local ground.
    above_floor : float
        Maximum height in meters of the local ground above the floor (CMU floors tilt by up to 5 cm
        within a take). Higher contacts, such as on stairs, count only while the other foot moves.
    shortest, gap : float
        Times in seconds. Contacts shorter than `shortest` are dropped, and gaps between contacts
        shorter than `gap` are closed.
    skate : float
        Highest speed in m/s of a skating foot. If neither foot is slow enough, a foot that moves
        steadily below the hips and more slowly than the other foot is also in contact. Use zero for
        glides, moonwalks and skateboards, where feet are meant to slide.

    Returns
    -------
    contacts : FootContacts

    Raises
    ------
    RoleError
        If a foot lacks an ankle or a ball.

    Examples
    --------
    >>> import motionloom as ml
    >>> contacts = foot_contacts(ml.demo.clip("walk"))
    >>> len(contacts.intervals("left_ball")) >= 2
    True
    """
    if not 0.0 < slow <= fast:
        raise InvalidInput(
            f"slow must be positive and at most fast; got slow {slow} and fast {fast} m/s"
        )
    for name, value in (("rise", rise), ("above_floor", above_floor)):
        if not value > 0.0:
            raise InvalidInput(f"{name} must be a positive height in meters; got {value}")
    for name, value in (("shortest", shortest), ("gap", gap)):
        if not value >= 0.0:
            raise InvalidInput(f"{name} must be a time in seconds, zero or more; got {value}")
    if not skate >= 0.0:
        raise InvalidInput(f"skate must be a speed in m/s, zero or more; got {skate}")
    limits = _Limits(slow, fast, rise, above_floor, shortest * motion.fps, gap * motion.fps)
    detected = _CONTACTS.setdefault(motion, {})
    if (limits, skate) not in detected:
        detected[limits, skate] = _detected(motion, limits, skate)
    return detected[limits, skate]


def _detected(motion: Motion, limits: _Limits, skate: float) -> FootContacts:
    """Find contacts as in `foot_contacts`."""
    places = _smooth_places(motion)
    speeds = {part: _speeds(place, motion.fps) for part, place in places.items()}
    floor = _floors(places, speeds, limits.slow)
    standing = _still_and_low(places, speeds, floor, motion.fps, limits)
    skating = _skating(motion, places, standing, floor, limits, skate)
    plants = {}
    for part in FOOT_PARTS:
        extra = skating.get(part, [])
        runs = standing[part]
        if extra:
            runs = _tidy(sorted(runs + extra), limits.gap, limits.shortest)
        plants[part] = tuple(
            Plant(
                start,
                end,
                height=_median(places[part][start:end, 1]),
                skating=any(start < b and a < end for a, b in extra),
            )
            for start, end in runs
        )
    return FootContacts(plants, floor["ball"], len(motion), motion.fps)


def landings(stands: Mask) -> NDArray[np.int64]:
    """Return the frames at which a contact begins, given a contact mask (T,).

    Examples
    --------
    >>> landings(np.array([True, False, False, True, True, False, True]))
    array([3, 6])
    """
    return np.flatnonzero(stands[1:] & ~stands[:-1]) + 1


def part_path(motion: Motion, part: str) -> Array:
    """Return the world path (T, 3) of a foot part: ``left_heel`` (the ankle), ``left_ball``, ...

    Examples
    --------
    >>> import motionloom as ml
    >>> part_path(ml.demo.clip("walk"), "left_heel").shape
    (138, 3)
    """
    return motion.role_positions([FOOT_ROLES[part]])[:, 0].astype(np.float64)


def _smooth_places(motion: Motion) -> dict[str, Array]:
    """Return the lightly smoothed path (T, 3) of each foot part."""
    places = motion.role_positions(list(FOOT_ROLES.values())).astype(np.float64)
    if len(motion) > 1:
        places = gaussian_smooth(places, _SMOOTHING * motion.fps)
    return {part: places[:, k] for k, part in enumerate(FOOT_PARTS)}


def _speeds(places: Array, fps: float) -> Array:
    if len(places) < 2:
        return np.zeros(len(places))
    return np.linalg.norm(np.gradient(places, 1.0 / fps, axis=0), axis=-1)


@dataclass(frozen=True)
class _Limits:
    """Thresholds of `foot_contacts`, with times in frames."""

    slow: float
    fast: float
    rise: float
    above_floor: float
    shortest: float
    gap: float


def _still_and_low(
    places: dict[str, Array],
    speed: dict[str, Array],
    floor: dict[str, float],
    fps: float,
    limits: _Limits,
) -> dict[str, list[tuple[int, int]]]:
    """Find the contacts of each part: runs in which it is slow and low."""
    contacts = {}
    for part in FOOT_PARTS:
        side, kind = part.split("_")
        other = "right" if side == "left" else "left"
        other_moves = np.minimum(speed[f"{other}_ball"], speed[f"{other}_heel"]) > limits.fast
        share = _HEEL_SHARE if kind == "heel" else 1.0
        height = places[part][:, 1]
        runs = []
        for start, end in _still(speed[part], limits.slow, max(share * limits.fast, limits.slow)):
            run = slice(start, end)
            ground = _median(height[run][speed[part][run] < limits.slow])
            raised = ground > floor[kind] + limits.above_floor
            if raised and np.sum(other_moves[run]) < max(0.1 * fps, 1.0):
                continue
            ceiling = ground + share * limits.rise
            runs += _low_part(height, speed[part], start, end, ceiling, limits.slow)
        contacts[part] = _tidy(runs, limits.gap, limits.shortest)
    return contacts


def _skating(
    motion: Motion,
    places: dict[str, Array],
    standing: dict[str, list[tuple[int, int]]],
    floor: dict[str, float],
    limits: _Limits,
    skate: float,
) -> dict[str, list[tuple[int, int]]]:
    """Find additional contacts of feet that move with the drift of the body.

    Only frames in which neither foot is slow enough for an ordinary contact are considered.
    """
    from motionloom.motion.feet.skating import ground_drift

    bare = np.ones(len(motion), dtype=bool)
    for contacts in standing.values():
        for start, end in contacts:
            bare[start:end] = False
    if skate == 0.0 or len(motion) < 3 or not bare.any():
        return {}
    velocity = np.stack([places[part] for part in FOOT_PARTS], axis=1)
    velocity = np.gradient(velocity, 1.0 / motion.fps, axis=0)
    drift, certain = ground_drift(motion, velocity[:, :, [0, 2]], limit=skate)
    velocity[:, :, [0, 2]] -= drift[:, None]
    speed = np.where(certain[:, None], np.linalg.norm(velocity, axis=-1), np.inf)
    speeds = dict(zip(FOOT_PARTS, speed.T, strict=True))
    wider = replace(
        limits, slow=_SKATE_SLOW * limits.slow, fast=_SKATE_FAST * limits.fast, rise=2 * limits.rise
    )
    runs = _still_and_low(places, speeds, floor, motion.fps, wider)
    least = 0.1 * motion.fps
    skating = {}
    for side in SIDES:
        parts = [f"{side}_{kind}" for kind in PARTS]
        fills = [
            (a, b)
            for part in parts
            for a, b in runs[part]
            if bare[a:b].sum() > max(_BARE_SHARE * (b - a), least)
        ]
        for part in parts:  # heel and ball of one foot go together
            skating[part] = [
                (a, b) for a, b in runs[part] if any(a < d and c < b for c, d in fills)
            ]
    return skating


def _floors(places: dict[str, Array], speed: dict[str, Array], slow: float) -> dict[str, float]:
    """Return the floor height under the heels and under the balls."""
    return {
        kind: _floor(
            [(places[f"{side}_{kind}"][:, 1], speed[f"{side}_{kind}"]) for side in SIDES], slow
        )
        for kind in PARTS
    }


def _floor(feet: list[tuple[Array, Array]], slow: float) -> float:
    """Return the lowest level that supports a sufficient fraction of the slow frames."""
    still = np.sort(np.concatenate([height[speed < slow] for height, speed in feet]))
    if not len(still):  # never slow: only the lowest heights are usable
        heights = np.concatenate([height for height, _ in feet])
        return float(np.percentile(heights, 5.0)) if len(heights) else 0.0
    inside = np.searchsorted(still, still + _LEVEL_BAND) - np.arange(len(still))
    dense = np.flatnonzero(inside >= min(_LEVEL_SHARE * len(still), inside.max()))
    # Start at the lowest dense band and move up to its fullest neighbor, the middle of that level.
    near = dense[still[dense] <= still[dense[0]] + _LEVEL_BAND]
    best = near[np.argmax(inside[near])]
    return float(np.median(still[best : best + inside[best]]))


def _still(speed: Array, slow: float, fast: float) -> list[tuple[int, int]]:
    """Return the runs slower than `fast` that contain a frame slower than `slow`."""
    return [(a, b) for a, b in intervals(speed < fast) if np.any(speed[a:b] < slow)]


def _low_part(
    height: Array, speed: Array, start: int, end: int, ceiling: float, slow: float
) -> list[tuple[int, int]]:
    """Return the parts of a still run that are below `ceiling` and contain a slow frame."""
    low = [(start + a, start + b) for a, b in intervals(height[start:end] < ceiling)]
    return [(a, b) for a, b in low if np.any(speed[a:b] < slow)]


def _median(values: Array) -> float:
    """Return the median of finite values; `np.median` takes longer for a few values than this."""
    ordered = np.sort(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[middle])
    return float(0.5 * (ordered[middle - 1] + ordered[middle])) if len(ordered) else float("nan")


def _tidy(runs: list[tuple[int, int]], gap: float, shortest: float) -> list[tuple[int, int]]:
    """Close gaps shorter than `gap` frames, and drop contacts shorter than `shortest`."""
    joined: list[tuple[int, int]] = []
    for start, end in runs:
        if joined and start - joined[-1][1] < gap:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return [(start, end) for start, end in joined if end - start >= shortest]
