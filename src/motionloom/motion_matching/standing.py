"""Standing, starting and stopping for takes in which nobody stands.

Many takes are cut to the steps alone; a character made of them could neither stop nor start. Over
whole strides the limbs swing about the pose in which one stands, so that the mean rotations of
walking frames stand upright with the feet side by side; mirrored frames make it even. In the
middle of a stance a walker passes through nearly that pose: there a walk can be slowed down to
nothing while its pose becomes the mean one, and the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion_matching.root_motion import RootMotion

Array = NDArray[np.float64]

STANDING, STARTING, STOPPING = "standing (made)", "starting (made)", "stopping (made)"
MADE = (STANDING, STARTING, STOPPING)
_LEAST_STANDING = 0.5  # seconds of standing frames with which none are made
_STAND_SECONDS = 2.0
_RAMP_SECONDS = 0.7  # in which a walk is slowed down to nothing
_REST_SECONDS = 0.6  # of standing before a start and after a stop
_STEPS_SECONDS = 0.8  # of walking that a start and a stop have at least


def needs_standing(gaits: NDArray[np.int8], fps: float) -> bool:
    """Whether there are too few frames (N,) in which someone stands (gait 1)."""
    return bool(np.count_nonzero(gaits == 1) < _LEAST_STANDING * fps)


def standing_motions(frames: Motion, takes: Sequence[Motion], floor: float) -> list[Motion]:
    """Motions that stand, start and stop; only the first if no take walks long enough.

    Parameters
    ----------
    frames : Motion
        Walking frames, not necessarily successive, of which the mean pose is taken.
    takes : sequence of Motion
        Takes of which starts and stops are made.
    floor : float
        Height at which the balls of the feet stand, metres.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> made = standing_motions(walk, [walk], walk.contacts().floor)
    >>> [motion.name for motion in made]
    ['standing (made)', 'starting (made)', 'stopping (made)']
    """
    still = _standing(frames, floor)
    made = [_held(still, _STAND_SECONDS, STANDING)]
    found = _middle_stance(takes)
    if found is None:
        return made
    walk, frame = found
    walk = _straight(walk)
    return [*made, _start(still, walk, frame), _stop(still, walk, frame)]


def _straight(walk: Motion) -> Motion:
    """A walk whose root goes along +Z and faces there; turns are undone about the root."""
    root = RootMotion.of(walk)
    steps = np.abs(np.diff(root.floor))
    along = np.concatenate([[0.0], np.cumsum(steps)]).astype(np.complex128)
    there = PlanarTransform.from_complex(along, np.zeros(len(along)))
    moved = there @ root.transforms().inverse()
    rotations, places = moved.apply_to_poses(walk.rotations, walk.root)
    return replace(walk, rotations=rotations, root=places)


def _standing(frames: Motion, floor: float) -> Motion:
    """One frame of the mean pose at the origin, facing +Z."""
    ahead = frames.without_heading()
    mean = _mean_rotations(ahead.rotations.astype(np.float64))
    height = float(np.mean(frames.root[:, 1], dtype=np.float64))
    one = Motion(frames.skeleton, mean[None], np.array([[0.0, height, 0.0]]), frames.fps)
    balls = one.role_positions(["left_foot", "right_foot"])[0, :, 1]
    return replace(one, root=one.root + [0.0, floor - float(balls.min()), 0.0])


def _held(still: Motion, seconds: float, name: str = "") -> Motion:
    count = max(round(seconds * still.fps), 3)
    return replace(
        still,
        rotations=np.repeat(still.rotations, count, axis=0),
        root=np.repeat(still.root, count, axis=0),
        name=name,
    )


def _middle_stance(takes: Sequence[Motion]) -> tuple[Motion, int] | None:
    """The take with the longest walk before and after a frame in which the ankles pass."""
    best: tuple[float, Motion, int] | None = None
    for take in takes:
        ankles = take.role_positions(["left_ankle", "right_ankle"]).astype(np.float64)
        facing = RootMotion.of(take).facing
        gap = ankles[:, 0] - ankles[:, 1]
        ahead = gap[:, 2] * np.cos(facing) + gap[:, 0] * np.sin(facing)
        for frame in np.flatnonzero(np.sign(ahead[1:]) * np.sign(ahead[:-1]) < 0):
            around = min(frame, len(take) - 1 - frame) / take.fps
            if around >= _STEPS_SECONDS and (best is None or around > best[0]):
                best = around, take, int(frame)
    return None if best is None else best[1:]


def _start(still: Motion, walk: Motion, frame: int) -> Motion:
    """Standing, then the walk from a frame on, faster and faster."""
    ramp = max(round(_RAMP_SECONDS * walk.fps), 2)
    rest = max(round(_REST_SECONDS * walk.fps), 1)
    share = np.arange(ramp) / ramp
    times = frame + 0.5 * ramp * share**2
    after = np.arange(times[-1] + 1.0, len(walk) - 1.0)
    times = np.concatenate([np.full(rest, float(frame)), times, after])
    weight = np.concatenate([np.zeros(rest), share, np.ones(len(after))])
    return _mixed(still, walk, times, weight, STARTING)


def _stop(still: Motion, walk: Motion, frame: int) -> Motion:
    """The walk up to a frame, slower and slower, then standing."""
    ramp = max(round(_RAMP_SECONDS * walk.fps), 2)
    rest = max(round(_REST_SECONDS * walk.fps), 1)
    share = 1.0 - np.arange(1, ramp + 1) / ramp
    times = frame - 0.5 * ramp * share**2
    before = np.arange(times[0] - 1.0, 0.0, -1.0)[::-1]
    times = np.concatenate([before, times, np.full(rest, float(frame))])
    weight = np.concatenate([np.ones(len(before)), share, np.zeros(rest)])
    return _mixed(still, walk, times, weight, STOPPING)


def _mixed(still: Motion, walk: Motion, times: Array, weight: Array, name: str) -> Motion:
    """Frames of the walk at some times, mixed with the standing pose; feet do not slide."""
    low = np.minimum(np.floor(times).astype(np.int64), len(walk) - 2)
    share = (times - low)[:, None]
    poses = walk.rotations.astype(np.float64)
    walking = rot.slerp(poses[low], poses[low + 1], share)
    places = walk.root.astype(np.float64)
    way = (1.0 - share) * places[low] + share * places[low + 1]
    # The body stays over its root; height and pose become those of standing.
    smooth = weight * weight * (3.0 - 2.0 * weight)
    root = RootMotion.of(walk)
    floor = np.interp(times, np.arange(len(walk)), root.floor.real)
    aside = np.interp(times, np.arange(len(walk)), root.floor.imag)
    facing = np.interp(times, np.arange(len(walk)), root.facing)
    standing = np.broadcast_to(still.rotations.astype(np.float64), walking.shape).copy()
    standing[:, 0] = rot.multiply(rot.yaw(facing), standing[:, 0])
    under = np.column_stack([aside, np.full(len(times), still.root[0, 1]), floor])
    rotations = rot.slerp(standing, walking, smooth[:, None])
    mixed = (1.0 - smooth[:, None]) * under + smooth[:, None] * way
    return Motion(walk.skeleton, rot.unroll(rotations), mixed, walk.fps, name=name).clean_feet()


def _mean_rotations(rotations: Array) -> Array:
    """Mean quaternions (J, 4) of (T, J, 4): the largest eigenvector of the sum of q q^T."""
    sums = np.einsum("tja,tjb->jab", rotations, rotations)
    mean = np.linalg.eigh(sums)[1][:, :, -1]
    return mean * np.where(mean[:, :1] < 0.0, -1.0, 1.0)
