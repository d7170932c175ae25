"""Gait detection: standing, walking, jogging or running in each frame.

Take labels are coarse: a take called "run" begins and ends with walking steps. The gait is
determined from the motion of the body, with thresholds from biomechanics that hold for any body
size:

- speed is expressed as the Froude number ``v^2 / (g L)`` with the leg length L (Alexander 1989);
- a walker vaults over a stiff leg: the hips are highest where the feet pass each other. A runner
  bounces: the hips are lowest where the feet pass each other and highest in the flight phase, with
  the feet far apart (Cavagna, Heglund and Taylor 1977). This criterion does not require foot
  contacts. Detected contacts are often too short to recognize a flight phase: with the criterion of
  a duty factor below 0.5, a quarter of the CMU walks would be classified as runs;
- people prefer to walk at a Froude number of 0.25, change to running near 0.5, and cannot walk
  above 1, where the body would leave the ground (Hreljac 1995; Kram, Domingo and Ferris 1997).

A run at a Froude number below 1, at which walking is still possible, is called a jog. With a leg
length of 0.9 m, this is a run below 3 m/s.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import SIDES, FootContacts
from motionloom.motion.kinematics.body import GRAVITY, leg_length
from motionloom.motion.segment import intervals
from motionloom.motion.smoothing import gaussian_smooth

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

GAITS = ("stand", "walk", "jog", "run")

_NEEDED = ("hips", *(f"{side}_{part}" for side in SIDES for part in ("hip", "ankle", "foot")))
_HIP_HEIGHT = 1.08  # height of the hip joint divided by its distance from the ankle (Winter 2009)
_PREFERRED, _LIMIT = 0.25, 1.0  # Froude numbers: preferred walking speed, limit of walking
_STAND = 0.1  # fraction of the preferred walking speed
_STRIDE = 1.0  # seconds over which hips and feet are compared: a stride of a walk
# Fractions of a stride with a foot on the ground; below them, a standing or walking body is
# jumping.
_STANDING, _WALKING = 0.9, 0.5
_SHORTEST = 0.4  # seconds: shorter changes of gait are ignored
_WORDS = {
    "stand": ("stand",), "standing": ("stand",), "idle": ("stand",),
    "walk": ("walk",), "walks": ("walk",), "walking": ("walk",),
    "jog": ("jog", "run"), "jogs": ("jog", "run"), "jogging": ("jog", "run"),
    "run": ("jog", "run"), "runs": ("jog", "run"), "running": ("jog", "run"),
    "sprint": ("run",), "sprinting": ("run",),
}  # fmt: skip


def gaits(motion: Motion, contacts: FootContacts | None = None) -> NDArray[np.str_]:
    """Return the gait in each frame: ``stand``, ``walk``, ``jog``, ``run``, or an empty string.

    Parameters
    ----------
    motion : Motion
        If the skeleton lacks hips, legs or feet, no frame has a gait.
    contacts : FootContacts, optional
        The contacts of the feet, if they are already computed.

    Returns
    -------
    gaits : ndarray of str, shape (T,)

    Examples
    --------
    >>> import motionloom as ml
    >>> set(gaits(ml.demo.clip("walk")).tolist())
    {'walk'}
    """
    names = np.array(["", *GAITS])
    none = names[np.zeros(len(motion), np.int64)]
    if len(motion) < 3 or not set(_NEEDED) <= set(motion.skeleton.roles):
        return none
    legs = _HIP_HEIGHT * leg_length(motion.skeleton)
    if legs <= 0.0:
        return none
    hips = motion.role_positions(["hips"])[:, 0].astype(np.float64)
    smooth = gaussian_smooth(hips[:, [0, 2]], 0.25 * motion.fps)
    speed = np.linalg.norm(np.gradient(smooth, axis=0), axis=1) * motion.fps
    froude = speed**2 / (GRAVITY * legs)
    running = (froude >= _PREFERRED) & (_bounce(motion, hips[:, 1]) > 0.0) | (froude >= _LIMIT)
    still = froude < _STAND**2 * _PREFERRED
    codes = np.where(running, np.where(froude < _LIMIT, 3, 4), np.where(still, 1, 2))
    codes[~running & (_grounded(motion, contacts) < np.where(still, _STANDING, _WALKING))] = 0
    return names[_without_short(codes, round(_SHORTEST * motion.fps))]


def gait_segments(motion: Motion) -> list[tuple[str, int, int]]:
    """Return the gait, start frame and end frame (exclusive) of each segment that has a gait.

    Examples
    --------
    >>> import motionloom as ml
    >>> [gait for gait, _, _ in gait_segments(ml.demo.clip("walk"))]
    ['walk']
    """
    gait = gaits(motion)
    parts = [(g, a, b) for g in GAITS for a, b in intervals(gait == g)]
    return sorted(parts, key=lambda part: part[1])


def label_gaits(label: str) -> tuple[str, ...]:
    """Return the gaits that a label denotes, or () if it does not name a single kind of gait.

    Examples
    --------
    >>> label_gaits("run/jog"), label_gaits("slow walk"), label_gaits("walk, run")
    (('jog', 'run'), ('walk',), ())
    """
    meant = {_WORDS[word] for word in re.findall(r"[a-z]+", label.casefold()) if word in _WORDS}
    return meant.pop() if len(meant) == 1 else ()


def _bounce(motion: Motion, height: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance of hip height and foot distance over a stride around each frame."""
    ankles = motion.role_positions(["left_ankle", "right_ankle"]).astype(np.float64)[..., [0, 2]]
    apart = np.linalg.norm(ankles[:, 0] - ankles[:, 1], axis=1)
    width = max(round(_STRIDE * motion.fps), 2)
    mean = _mean_around(height * apart, width)
    return mean - _mean_around(height, width) * _mean_around(apart, width)


def _grounded(motion: Motion, contacts: FootContacts | None) -> NDArray[np.float64]:
    """Return the fraction of each stride with a foot on the ground; 1 if contacts are unknown."""
    contacts = motion.contacts() if contacts is None else contacts
    feet = np.any([contacts.standing(side) for side in SIDES], axis=0)
    if not feet.any():
        return np.ones(len(motion))
    return _mean_around(feet, max(round(_STRIDE * motion.fps), 1))


def _mean_around(values: NDArray, width: int) -> NDArray[np.float64]:
    """Return the mean over `width` frames around each frame, or fewer at the ends."""
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    frames = np.arange(len(values))
    low, high = np.maximum(frames - width // 2, 0), np.minimum(frames + width // 2 + 1, len(values))
    return (sums[high] - sums[low]) / (high - low)


def _without_short(codes: NDArray[np.int64], shortest: int) -> NDArray[np.int64]:
    """Replace each gait that is too short with the previous one, or with the next at the start."""
    ends = [*(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    tidy, start, previous = codes.copy(), 0, None
    for end in ends:
        if end - start < shortest and (previous is not None or end < len(codes)):
            tidy[start:end] = codes[end] if previous is None else previous
        previous = int(tidy[end - 1])
        start = end
    return tidy
