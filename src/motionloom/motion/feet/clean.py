"""Foot-skate cleanup of whole motions.

During every contact, the ball of the foot is held at one point. While the heel is also down, the
foot keeps one orientation, so that neither part slides. Within contacts, the correction that holds
the captured foot in place is known. Between contacts, the correction follows the curve of least
bending through the known values, and it vanishes a short time away from any contact. The foot thus
eases in and out, and the rest of its path stays as captured.

Legs do not stretch. A straight leg would have to bend its knee by many degrees to move its ankle by
a few millimeters. The root therefore follows the locked feet first [1]_, and it is lowered where a
foot is still out of reach; both changes are smooth. Two-bone inverse kinematics then moves the
ankles to their targets.

References
----------
.. [1] L. Kovar, J. Schreiner, M. Gleicher. Footskate cleanup for motion capture editing.
   Symposium on Computer Animation, 2002.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality import foot_slide
from motionloom.motion.feet.contacts import (
    FOOT_PARTS,
    SIDES,
    FootContacts,
    foot_contacts,
    part_path,
)
from motionloom.motion.feet.foot_lock import (
    MAX_RISE,
    ball_targets,
    foot_of,
    ground_under,
    locked_path,
    locked_sole,
    raise_toes,
    relax_knee,
)
from motionloom.motion.feet.skating import drift_shift
from motionloom.motion.kinematics.body import hips_path
from motionloom.motion.kinematics.two_bone import (
    MAX_EXTENSION,
    Limb,
    reach_target,
    with_global_rotations,
)
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import running_maximum

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion


Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Weight of the root's acceleration against its displacement and the lengths of the legs. Measured
# on 50 CMU walks: a value ten times as large bends the knees, and one ten times as small shakes
# the root.
_ROOT_SMOOTHNESS = 2e-6
_JITTER_SECONDS = 0.05  # accelerations that change faster are noise
_ENVELOPE_SECONDS = 0.12


def root_shift(
    limbs: Sequence[Limb], ankles: Sequence[Array], root: Array, standing: Mask, fps: float
) -> Array:
    """Return the root displacement that adapts the body to new ankle positions.

    This is a least-squares solution over all frames: the distances from hip to ankle change little,
    weighted by how far the knee would have to bend, and the root moves little and smoothly. While a
    foot is in contact, jitter of the captured root is removed, because the locked foot no longer
    has this jitter and the knee would otherwise have to compensate for it.

    Parameters
    ----------
    limbs : sequence of Limb
        The legs as captured, T frames.
    ankles : sequence of ndarray, shape (T, 3)
        Target positions of the ankles, one array per leg.
    root : ndarray, shape (T, 3)
        Path of the hips.
    standing : ndarray of bool, shape (T,)
        True where any foot is in contact.
    fps : float

    Returns
    -------
    shift : ndarray, shape (T, 3)
    """
    from scipy.linalg import solveh_banded

    frames = len(root)
    band = np.zeros((7, frames, 3))  # upper diagonals of a (3 T, 3 T) matrix
    band[6] = 1.0
    right = np.zeros((frames, 3))
    for limb, ankle in zip(limbs, ankles, strict=True):
        line = limb.end - limb.start
        along = line / np.maximum(np.linalg.norm(line, axis=-1, keepdims=True), 1e-9)
        stiff = _stiffness(limb)
        wanted = np.sum((ankle - limb.end) * along, axis=-1)
        right += (stiff * wanted)[:, None] * along
        for row in range(3):
            for column in range(row, 3):
                part = stiff * along[:, row] * along[:, column]
                band[6 - (column - row), :, column] += part
    if frames >= 3:
        _add_smoothness(band, right, _jitter(root, standing, fps), fps)
    if not (np.isfinite(band).all() and np.isfinite(right).all()):
        raise InvalidInput("feet cannot be locked: some frames have missing or infinite values")
    shift = solveh_banded(band.reshape(7, 3 * frames), right.ravel()).reshape(frames, 3)
    return _lowered(limbs, ankles, shift, fps)


def _lowered(limbs: Sequence[Limb], ankles: Sequence[Array], shift: Array, fps: float) -> Array:
    """Return the displacement (T, 3) of the root, lowered where a leg does not reach its ankle."""
    drop = np.zeros(len(shift))
    for limb, ankle in zip(limbs, ankles, strict=True):
        drop = np.maximum(drop, _lowering(limb, ankle, shift))
    shift[:, 1] -= _envelope(drop, max(round(_ENVELOPE_SECONDS * fps), 1))
    return shift


def _add_smoothness(band: Array, right: Array, jitter: Array, fps: float) -> None:
    """Add the squared difference between the shift's second differences and `jitter` (T - 2, 3)."""
    weight = _ROOT_SMOOTHNESS * fps**4
    second = (1.0, -2.0, 1.0)
    inner = len(jitter)
    for k, c in enumerate(second):
        right[k : k + inner] -= weight * c * jitter
        for j, d in enumerate(second[k:], start=k):
            band[6 - 3 * (j - k), j : j + inner] += weight * c * d


def _jitter(root: Array, standing: Mask, fps: float) -> Array:
    """Return the high-frequency part (T - 2, 3) of the root's second differences during contact."""
    from scipy.ndimage import gaussian_filter1d

    bend = np.diff(root, 2, axis=0)
    bend -= gaussian_filter1d(bend, _JITTER_SECONDS * fps, axis=0)
    return bend * standing[1:-1, None]


def _stiffness(limb: Limb) -> Array:
    """Return the squared knee rotation (T,) per change in hip-ankle distance; large if straight."""
    span = np.linalg.norm(limb.end - limb.start, axis=-1)
    straight = np.clip(span / limb.length, 0.0, 1.0)
    return 1.0 / np.maximum(1.0 - straight**2, 2e-3)


def _lowering(limb: Limb, ankle: Array, shift: Array) -> Array:
    """Return how far the hip must drop (T,) for the leg to reach its ankle."""
    length = limb.length
    before = np.linalg.norm(limb.end - limb.start, axis=-1)
    longest = np.maximum(MAX_EXTENSION * length, np.minimum(before, length))
    line = limb.start + shift - ankle
    across = np.sum(line[:, [0, 2]] ** 2, axis=-1)
    return np.maximum(line[:, 1] - np.sqrt(np.maximum(longest**2 - across, 0.0)), 0.0)


def _envelope(values: Array, width: int) -> Array:
    """Return a smooth upper envelope of `values` (T,), by maximum filtering and smoothing."""
    if not np.any(values > 0.0):
        return values
    above = running_maximum(values, 2 * width + 1)
    window = np.hanning(2 * width + 3)[1:-1]
    padded = np.pad(above, width, mode="edge")
    return np.convolve(padded, window / window.sum(), mode="valid")


@dataclass(frozen=True)
class CleanReport:
    """Statistics of a foot-skate cleanup.

    Attributes
    ----------
    slide_before_m, slide_after_m : float or None
        Mean horizontal travel per contact in meters, before and after the cleanup. Both use the
        contacts of the original motion, and both are None if there are no contacts.
    speed_before_m_s, speed_after_m_s : float or None
        Median horizontal speed in m/s of heels and balls in contact, before and after the cleanup.
    frames_changed : int
        Frames in which a joint was rotated by more than 0.1 degrees or the root moved by more
        than 1 mm.
    mean_angle_change, max_angle_change : float
        Root mean square and largest change of the legs' joint angles, in radians.
    contacts : FootContacts
        The contacts that were locked.
    """

    slide_before_m: float | None
    slide_after_m: float | None
    speed_before_m_s: float | None
    speed_after_m_s: float | None
    frames_changed: int
    mean_angle_change: float
    max_angle_change: float
    contacts: FootContacts


def clean_feet(
    motion: Motion,
    *,
    contacts: FootContacts | None = None,
    ease: float = 0.25,
    follow: bool = True,
) -> tuple[Motion, CleanReport]:
    """Remove foot skate; return a motion whose feet do not slide during contacts, and a report.

    Parameters
    ----------
    motion : Motion
        Needs hips, knees, ankles and feet on both sides.
    contacts : FootContacts, optional
        Default: the contacts that `foot_contacts` finds.
    ease : float
        Seconds before and after a contact over which the foot leaves and rejoins its captured
        path.
    follow : bool
        If a foot slides far, move the whole body along with the contacts; see `lock_feet`.

    Returns
    -------
    cleaned : Motion
    report : CleanReport

    Examples
    --------
    >>> import motionloom as ml
    >>> cleaned, report = clean_feet(ml.demo.clip("walk"))
    >>> report.slide_after_m < 0.001
    True
    """
    if contacts is None:
        contacts = foot_contacts(motion)
    before = foot_slide(motion, contacts)  # also checks the contacts' length
    cleaned = lock_feet(motion, contacts, ease=ease, follow=follow)
    change = _angle_changes(motion, cleaned)
    moved = np.linalg.norm(cleaned.root - motion.root, axis=-1) > 1e-3
    report = CleanReport(
        slide_before_m=before.per_contact_m,
        slide_after_m=foot_slide(cleaned, contacts).per_contact_m,
        speed_before_m_s=contact_speed(motion, contacts),
        speed_after_m_s=contact_speed(cleaned, contacts),
        frames_changed=int(np.sum(moved | (change.max(axis=1) > np.radians(0.1)))),
        mean_angle_change=float(np.sqrt(np.mean(change**2))) if change.size else 0.0,
        max_angle_change=float(change.max()) if change.size else 0.0,
        contacts=contacts,
    )
    return cleaned, report


def contact_speed(motion: Motion, contacts: FootContacts) -> float | None:
    """Return the median horizontal speed of heels and balls in contact in m/s, or None.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> contact_speed(walk, walk.contacts()) < 0.03
    True
    """
    speeds = []
    for part in FOOT_PARTS:
        path = part_path(motion, part)[:, [0, 2]]
        step = np.linalg.norm(np.diff(path, axis=0), axis=-1) * motion.fps
        speeds += [step[start : end - 1] for start, end in contacts.intervals(part)]
    return float(np.median(np.concatenate(speeds))) if speeds else None


def lock_feet(
    motion: Motion,
    contacts: FootContacts,
    *,
    ease: float = 0.25,
    heights: Mapping[str, Array] | None = None,
    follow: bool = True,
) -> Motion:
    """Return `motion` with its feet locked during `contacts`; see `clean_feet`.

    Parameters
    ----------
    motion : Motion
    contacts : FootContacts
    ease : float
        Seconds before and after a contact over which the foot leaves and rejoins its path.
    heights : mapping, optional
        Height in meters of the ground under each contact, for ``left_ball`` and ``right_ball``. By
        default, feet keep the captured height.
    follow : bool
        If a foot slides far, move the whole body along with the contacts. Otherwise, the legs
        change, and the hips are lowered only where a leg does not reach the ground.
    """
    if not ease > 0.0:
        raise InvalidInput(f"ease must be a positive time in seconds; got {ease}")
    if not len(motion) or not any(contacts.plants.values()):
        return motion
    if follow:
        motion = replace(motion, root=motion.root + drift_shift(motion, contacts))
    feet = {side: foot_of(motion, side, contacts) for side in SIDES}
    reach = max(ease * motion.fps, 1.0)
    frames = len(motion)
    paths, targets, grounds = {}, {}, {}
    for side, foot in feet.items():
        plants = contacts.plants.get(f"{side}_ball", ())
        captured = np.array([plant.height for plant in plants])
        given = captured if heights is None else np.asarray(heights[f"{side}_ball"], np.float64)
        targets[side] = ball_targets(
            foot, plants, given, most=None if heights is None else MAX_RISE
        )
        paths[side] = locked_path(foot, locked_sole(foot, reach, motion.fps), targets[side], reach)
        grounds[side] = (
            ground_under(plants, captured, frames),
            ground_under(plants, given, frames),
        )
    limbs = [foot.limb for foot in feet.values()]
    ankles = [path.ankle for path in paths.values()]
    if follow:
        stands = contacts.standing("left") | contacts.standing("right")
        hips = hips_path(motion).astype(np.float64)
        shift = root_shift(limbs, ankles, hips, stands, motion.fps)
    else:
        shift = _lowered(limbs, ankles, np.zeros((frames, 3)), motion.fps)
    for side, foot in feet.items():
        paths[side] = relax_knee(
            foot, paths[side], targets[side], shift, grounds[side], reach, motion.fps
        )
    q = motion.rotations.astype(np.float64)
    for side, foot in feet.items():
        leg = reach_target(foot.limb, foot.limb.start + shift, paths[side].ankle)
        turned = (leg.upper, leg.lower, paths[side].sole)
        q = with_global_rotations(q, motion.skeleton, dict(zip(foot.joints, turned, strict=True)))
    locked = replace(motion, rotations=q, root=motion.root + shift)
    for side in SIDES:
        locked = replace(locked, rotations=raise_toes(motion, locked, side, grounds[side]))
    return replace(locked, rotations=rot.unroll(locked.rotations))


def _angle_changes(before: Motion, after: Motion) -> Array:
    """Return the change in hip, knee and ankle rotations of both legs in radians, shape (T, 6)."""
    roles = [f"{side}_{joint}" for side in SIDES for joint in ("hip", "knee", "ankle")]
    joints = before.skeleton.points(roles)
    return rot.angle_between(before.rotations[:, joints], after.rotations[:, joints])
