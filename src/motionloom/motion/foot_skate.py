"""Feet that stay where they stand.

During every contact the ball of the foot is held at one point, and while the heel is down
too the foot keeps one orientation, so that neither slides. What is added to the captured
foot to hold it there is a correction that is known inside the contacts; between them it
follows the least bent curve through what is known, and is gone a short time away from any
contact. So the foot eases in and out, and everything else of its path is kept.

Legs do not stretch. A leg that stands straight would have to bend by many degrees for a few
millimetres, so the root goes along with the planted feet first (Kovar, Schreiner and
Gleicher 2002 move the root for the same reason), and is lowered where a foot is still out
of reach. Both are smooth. The rest is done by the knee, in closed form.

References
----------
L. Kovar, J. Schreiner, M. Gleicher. Footskate cleanup for motion capture editing. Symposium
on Computer Animation, 2002.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded
from scipy.ndimage import maximum_filter1d

from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import rotations as rot
from motionloom.motion.contacts import SIDES, FootContacts, foot_contacts, intervals
from motionloom.motion.kinematics import global_rotations
from motionloom.motion.quality import foot_slide
from motionloom.motion.reaching import Limb, reaching

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion
    from motionloom.motion.skeleton import Skeleton

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_LONGEST = 0.995  # share of its length to which a leg may be pulled that was not so straight
_FIRM = 0.01  # metres of rise within which a ball in contact is all but held down
_FLAT = 0.004  # metres by which it may rise at most where its height is prescribed
# Weight of the root's acceleration: half a metre per second squared, a tenth of what walking
# has, is as bad as one degree of the knee.
_STEADY = 2e-4
_MOST_PITCH = np.radians(8.0)  # a foot on its ball gives way by no more than this
_FIXED = 1e7  # weight of a known correction against the bending of the curve


@dataclass(frozen=True)
class CleanReport:
    """What a clean-up did.

    Attributes
    ----------
    slide_before_m, slide_after_m : float
        Mean horizontal travel per contact, in the contacts of the original.
    frames_changed : int
        Frames in which a joint turned by more than 0.1 degrees or the root moved by more
        than 1 mm.
    mean_angle_change, max_angle_change : float
        Root mean square and largest change of the legs' joint angles, radians.
    contacts : FootContacts
        The contacts that were held.
    """

    slide_before_m: float
    slide_after_m: float
    frames_changed: int
    mean_angle_change: float
    max_angle_change: float
    contacts: FootContacts


@dataclass(frozen=True)
class _Foot:
    """One leg of a motion: its joints, where they are, and when its foot stands."""

    joints: tuple[int, int, int]
    limb: Limb
    sole: Array  # world rotation of the ankle joint, (T, 4)
    lever: Array  # from ankle to ball in the ankle's frame, (T, 3)
    ball: Mask
    heel: Mask


@dataclass(frozen=True)
class _Path:
    """Where an ankle should be (T, 3) and how its joint should be turned (T, 4)."""

    ankle: Array
    sole: Array


def clean_feet(
    motion: Motion, *, contacts: FootContacts | None = None, ease: float = 0.25
) -> tuple[Motion, CleanReport]:
    """The motion with feet that do not slide while they stand, and what was done.

    Parameters
    ----------
    motion : Motion
        Needs hips, knees, ankles and feet on both sides.
    contacts : FootContacts, optional
        When the feet stand. Default: `foot_contacts` of the motion.
    ease : float
        Seconds before and after a contact over which the foot comes from and returns to
        its own path.

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
    before = foot_slide(motion, contacts).per_contact_m  # also checks the contacts' length
    cleaned = planted(motion, contacts, ease=ease)
    change = _angle_changes(motion, cleaned)
    moved = np.linalg.norm(cleaned.root - motion.root, axis=-1) > 1e-3
    report = CleanReport(
        slide_before_m=before,
        slide_after_m=foot_slide(cleaned, contacts).per_contact_m,
        frames_changed=int(np.sum(moved | (change.max(axis=1) > np.radians(0.1)))),
        mean_angle_change=float(np.sqrt(np.mean(change**2))) if change.size else 0.0,
        max_angle_change=float(change.max()) if change.size else 0.0,
        contacts=contacts,
    )
    return cleaned, report


def planted(
    motion: Motion,
    contacts: FootContacts,
    *,
    ease: float = 0.25,
    heights: Mapping[str, Array] | None = None,
) -> Motion:
    """`motion` with its feet held in `contacts`; see `clean_feet`.

    Parameters
    ----------
    motion : Motion
    contacts : FootContacts
    ease : float
        Seconds.
    heights : mapping, optional
        For ``left_ball`` and ``right_ball`` the height in metres for each contact. Default:
        the height the ball has in it.
    """
    if not ease > 0.0:
        raise InvalidInput(f"ease must be a time in seconds above zero; got {ease}")
    if not len(motion) or not any(contacts.plants.values()):
        return motion
    feet = {side: _foot(motion, side, contacts) for side in SIDES}
    reach = max(ease * motion.fps, 1.0)
    paths, spots = {}, {}
    for side, foot in feet.items():
        plants = contacts.plants.get(f"{side}_ball", ())
        grounds = np.array([plant.height for plant in plants])
        given = None if heights is None else heights.get(f"{side}_ball")
        if given is None:
            spots[side] = _spots(foot, grounds, grounds, None)
        else:
            spots[side] = _spots(foot, grounds, np.asarray(given, np.float64), _FLAT)
        paths[side] = _held_path(foot, _held_sole(foot, reach), spots[side], reach)
    shift = _root_shift(list(feet.values()), list(paths.values()), motion.fps)
    for side, foot in feet.items():
        paths[side] = _relieved(foot, paths[side], spots[side], shift, reach)
    q = motion.rotations.astype(np.float64)
    for side, foot in feet.items():
        leg = reaching(foot.limb, foot.limb.start + shift, paths[side].ankle)
        turned = (leg.upper, leg.lower, paths[side].sole)
        q = with_world_rotations(q, motion.skeleton, dict(zip(foot.joints, turned, strict=True)))
    return replace(motion, rotations=rot.unroll(q), root=motion.root + shift)


def with_world_rotations(q: Array, skeleton: Skeleton, turned: Mapping[int, Array]) -> Array:
    """Local rotations (T, J, 4) after some joints were given world rotations (T, 4).

    Joints are set from the root outwards; joints in between and beyond keep their local
    rotations.
    """
    q = q.copy()
    for joint in sorted(turned):
        parent = skeleton.parents[joint]
        if parent < 0:
            q[:, joint] = turned[joint]
            continue
        way = _chain(skeleton, int(parent))
        world = q[:, way[0]]
        for step in way[1:]:
            world = rot.multiply(world, q[:, step])
        q[:, joint] = rot.normalize(rot.multiply(rot.inverse(world), turned[joint]))
    return q


def _chain(skeleton: Skeleton, joint: int) -> list[int]:
    """Joints from the root to `joint`."""
    way = [joint]
    while skeleton.parents[way[-1]] >= 0:
        way.append(int(skeleton.parents[way[-1]]))
    return way[::-1]


def limb_of(motion: Motion, roles: tuple[str, str, str]) -> tuple[tuple[int, int, int], Limb]:
    """Joints and `Limb` of three roles, for example hip, knee and ankle."""
    points = motion.skeleton.points(roles)
    ends = [role for role, p in zip(roles, points, strict=True) if p >= len(motion.skeleton)]
    if ends:
        raise RoleError(
            f"{ends[0]} is played by the end site {motion.skeleton.roles[ends[0]]!r}, which "
            "cannot turn; a joint is needed. Say which one in a mapping file"
        )
    place = motion.positions().astype(np.float64)
    world = global_rotations(motion.rotations, motion.skeleton.parents).astype(np.float64)
    a, b, c = (int(p) for p in points)
    return (a, b, c), Limb(world[:, a], world[:, b], place[:, a], place[:, b], place[:, c])


def _foot(motion: Motion, side: str, contacts: FootContacts) -> _Foot:
    joints, limb = limb_of(motion, (f"{side}_hip", f"{side}_knee", f"{side}_ankle"))
    world = global_rotations(motion.rotations, motion.skeleton.parents).astype(np.float64)
    sole = world[:, joints[2]]
    ball = motion.role_positions([f"{side}_foot"])[:, 0].astype(np.float64)
    return _Foot(
        joints=joints,
        limb=limb,
        sole=sole,
        lever=rot.rotate(rot.inverse(sole), ball - limb.end),
        ball=contacts[f"{side}_ball"],
        heel=contacts[f"{side}_heel"],
    )


def _held_path(foot: _Foot, sole: Array, spots: Array, reach: float) -> _Path:
    """Ankle of a foot turned by `sole` (T, 4) whose ball stands at `spots` (T, 3)."""
    hold = spots - rot.rotate(sole, foot.lever)
    for start, end in intervals(foot.heel):
        down = np.arange(start, end)
        both = down[foot.ball[down]]
        only = down[~foot.ball[down]]
        if len(both):  # the heel stays where it is once the whole sole is down
            hold[only] = hold[both[np.argmin(np.abs(only[:, None] - both), axis=1)]]
        else:
            hold[only] = np.median(foot.limb.end[only], axis=0)
    return _Path(foot.limb.end + eased(hold - foot.limb.end, reach), sole)


def _spots(foot: _Foot, grounds: Array, levels: Array, most: float | None) -> Array:
    """Where the ball stands (T, 3); NaN where it does not."""
    ball = foot.limb.end + rot.rotate(foot.sole, foot.lever)
    spots = np.full_like(ball, np.nan)
    for (start, end), ground, level in zip(intervals(foot.ball), grounds, levels, strict=True):
        spots[start:end] = np.median(ball[start:end], axis=0)
        spots[start:end, 1] = level + _given_way(ball[start:end, 1] - ground, most)
    return spots


def _relieved(foot: _Foot, path: _Path, spots: Array, shift: Array, reach: float) -> _Path:
    """`path` with what would turn the knee left to the foot, wherever it is free to.

    While the heel is up the ankle can go round the ball, and in the air it can go anywhere:
    there the distance from hip to ankle becomes what it was, but for what is left over from
    the nearest frames with the heel down.
    """
    hip = foot.limb.start + shift
    before = np.linalg.norm(foot.limb.end - foot.limb.start, axis=-1)
    excess = np.linalg.norm(path.ankle - hip, axis=-1) - before
    span = before + eased(np.where(foot.heel, excess, np.nan)[:, None], reach)[:, 0]
    span = np.minimum(span, foot.limb.length)

    free = foot.ball & ~foot.heel
    lever = rot.rotate(path.sole, -foot.lever)
    lateral = np.cross([0.0, 1.0, 0.0], lever)
    lateral /= np.maximum(np.linalg.norm(lateral, axis=-1, keepdims=True), 1e-9)
    pitch = _turn_to_span(lever, lateral, hip - np.where(free[:, None], spots, 0.0), span)
    known = np.where(foot.heel & foot.ball, 0.0, np.where(free, pitch, np.nan))
    turn = rot.from_axis_angle(lateral, eased(known[:, None], reach)[:, 0])
    path = _held_path(foot, rot.multiply(turn, path.sole), spots, reach)

    line = path.ankle - hip
    length = np.maximum(np.linalg.norm(line, axis=-1), 1e-9)
    loose = ~(foot.ball | foot.heel)
    return replace(
        path, ankle=np.where(loose[:, None], hip + line * (span / length)[:, None], path.ankle)
    )


def _turn_to_span(lever: Array, axis: Array, hip: Array, span: Array) -> Array:
    """Angle (T,) to turn `lever` about `axis` so that its tip is at distance `span` of `hip`.

    All (T, 3) and relative to the ball. |hip - lever|^2 is a sine of the angle; of the two
    solutions the smaller is taken, and where there is none, the nearest there is.
    """
    square = np.cross(axis, lever)
    level = np.sum(hip**2, axis=-1) + np.sum(lever**2, axis=-1) - span**2
    a, b = 2.0 * np.sum(hip * lever, axis=-1), 2.0 * np.sum(hip * square, axis=-1)
    size, phase = np.hypot(a, b), np.arctan2(b, a)
    open_ = np.arccos(np.clip(level / np.maximum(size, 1e-12), -1.0, 1.0))
    angles = np.stack([phase + open_, phase - open_])
    angles = (angles + np.pi) % (2.0 * np.pi) - np.pi
    smaller = np.where(np.abs(angles[0]) < np.abs(angles[1]), angles[0], angles[1])
    return _MOST_PITCH * np.tanh(smaller / _MOST_PITCH)


def _held_sole(foot: _Foot, reach: float) -> Array:
    """World rotation (T, 4) of the ankle joint, constant while the whole sole is down."""
    turn = np.full((len(foot.sole), 3), np.nan)
    for start, end in intervals(foot.ball & foot.heel):
        here = rot.unroll(foot.sole[start:end])
        mean = rot.normalize(here.mean(axis=0))
        ahead = rot.rotate(mean, foot.lever[start:end].mean(axis=0))
        held = rot.multiply(rot.exp(_slow_pitch(here, mean, ahead)), mean)
        turn[start:end] = rot.log(rot.multiply(held, rot.inverse(here)))
    return rot.multiply(rot.exp(eased(turn, reach)), foot.sole)


def _slow_pitch(sole: Array, mean: Array, ahead: Array) -> Array:
    """Turn (T, 3) from `mean` about the foot's lateral axis alone, without its noise.

    A sole that is down may rock slowly from heel to ball, but not turn or tilt sideways.
    """
    lateral = np.cross([0.0, 1.0, 0.0], ahead)
    lateral = lateral / max(float(np.linalg.norm(lateral)), 1e-9)
    pitch = rot.log(rot.multiply(sole, rot.inverse(mean))) @ lateral
    times = np.linspace(-1.0, 1.0, len(pitch))
    degree = min(2, len(pitch) - 1)
    slow = np.polynomial.polynomial.polyval(
        times, np.polynomial.polynomial.polyfit(times, pitch, degree)
    )
    return slow[:, None] * lateral


def _given_way(rise: Array, most: float | None) -> Array:
    """How high (T,) a ball may be above its ground that was captured `rise` above it.

    Nothing below, little at first, all but a few millimetres later: the ball stands firm and
    still rolls off over the toes. With `most` it never gets higher than that.
    """
    rise = np.maximum(rise, 0.0)
    way = rise**2 / (rise + _FIRM)
    return way if most is None else most * (1.0 - np.exp(-way / most))


def eased(known: Array, reach: float) -> Array:
    """The least bent curve through the known rows, zero at a distance from them.

    Parameters
    ----------
    known : ndarray, shape (T, D)
        NaN in rows that are not known.
    reach : float
        Frames beyond which, from any known row, the curve is zero.

    Returns
    -------
    curve : ndarray, shape (T, D)
        Minimises the sum of squared second differences.

    Examples
    --------
    >>> eased(np.array([[np.nan]] * 4 + [[1.0]] * 3 + [[np.nan]] * 4), 3).round(2).ravel() + 0.0
    array([0. , 0. , 0.3, 0.7, 1. , 1. , 1. , 0.7, 0.3, 0. , 0. ])
    """
    frames = len(known)
    given = np.isfinite(known).all(axis=1)
    if not given.any():
        return np.zeros_like(known)
    where = np.flatnonzero(given)
    times = np.arange(frames)
    after = where[np.clip(np.searchsorted(where, times), 0, len(where) - 1)]
    before = where[np.clip(np.searchsorted(where, times, side="right") - 1, 0, len(where) - 1)]
    distance = np.minimum(np.abs(times - after), np.abs(times - before))
    fixed = given | (distance >= reach)
    values = np.where(given[:, None], np.nan_to_num(known), 0.0)
    if frames < 3 or fixed.all():
        return values
    # Second differences squared make a matrix of five diagonals; known rows weigh heavily.
    band = np.zeros((3, frames))
    for k, c in enumerate((1.0, -2.0, 1.0)):
        for j, d in enumerate((1.0, -2.0, 1.0)):
            if j >= k:
                band[2 - (j - k), j : j + frames - 2] += c * d
    band[2] += np.where(fixed, _FIXED, 1e-9)
    # Level at both ends of the motion: beyond the last contact a slope would run away.
    for a in (0, frames - 2):
        band[2, a : a + 2] += 1.0
        band[1, a + 1] -= 1.0
    curve = solveh_banded(band, _FIXED * np.where(fixed[:, None], values, 0.0))
    return np.where(fixed[:, None], values, curve)


def _root_shift(feet: list[_Foot], paths: list[_Path], fps: float) -> Array:
    """How far the root moves (T, 3): along with straight legs, down to what is out of reach.

    Least squares over all frames: the legs' lengths from hip to ankle change little, weighed
    by how far the knee would turn for it; the root moves little and is not shaken.
    """
    frames = len(feet[0].sole)
    band = np.zeros((7, frames, 3))  # upper diagonals of a (3 T, 3 T) matrix
    band[6] = 1.0
    right = np.zeros((frames, 3))
    for foot, path in zip(feet, paths, strict=True):
        line = foot.limb.end - foot.limb.start
        along = line / np.maximum(np.linalg.norm(line, axis=-1, keepdims=True), 1e-9)
        stiff = _stiffness(foot)
        wanted = np.sum((path.ankle - foot.limb.end) * along, axis=-1)
        right += (stiff * wanted)[:, None] * along
        for row in range(3):
            for column in range(row, 3):
                part = stiff * along[:, row] * along[:, column]
                band[6 - (column - row), :, column] += part
    steady = _STEADY * fps**4
    for k, c in enumerate((1.0, -2.0, 1.0)):
        for j, d in enumerate((1.0, -2.0, 1.0)):
            if j >= k and frames >= 3:
                band[6 - 3 * (j - k), j : j + frames - 2] += steady * c * d
    shift = solveh_banded(band.reshape(7, 3 * frames), right.ravel()).reshape(frames, 3)
    drop = np.zeros(frames)
    for foot, path in zip(feet, paths, strict=True):
        drop = np.maximum(drop, _lowering(foot, path, shift))
    shift[:, 1] -= _envelope(drop, max(round(0.12 * fps), 1))
    return shift


def _stiffness(foot: _Foot) -> Array:
    """Square (T,) of the knee's turn per change of distance: the straighter, the stiffer."""
    span = np.linalg.norm(foot.limb.end - foot.limb.start, axis=-1)
    straight = np.clip(span / foot.limb.length, 0.0, 1.0)
    return 1.0 / np.maximum(1.0 - straight**2, 2e-3)


def _lowering(foot: _Foot, path: _Path, shift: Array) -> Array:
    """How far (T,) the hip must come down for the leg to reach its ankle."""
    length = foot.limb.length
    before = np.linalg.norm(foot.limb.end - foot.limb.start, axis=-1)
    longest = np.maximum(_LONGEST * length, np.minimum(before, length))
    line = foot.limb.start + shift - path.ankle
    across = np.sum(line[:, [0, 2]] ** 2, axis=-1)
    return np.maximum(line[:, 1] - np.sqrt(np.maximum(longest**2 - across, 0.0)), 0.0)


def _envelope(values: Array, width: int) -> Array:
    """A smooth curve nowhere below `values` (T,): greatest of the neighbours, then smoothed."""
    if not np.any(values > 0.0):
        return values
    above = maximum_filter1d(values, 2 * width + 1, mode="nearest")
    window = np.hanning(2 * width + 3)[1:-1]
    padded = np.pad(above, width, mode="edge")
    return np.convolve(padded, window / window.sum(), mode="valid")


def _angle_changes(before: Motion, after: Motion) -> Array:
    """Change (T, 6) in radians of hip, knee and ankle rotations of both legs."""
    roles = [f"{side}_{joint}" for side in SIDES for joint in ("hip", "knee", "ankle")]
    joints = before.skeleton.points(roles)
    return rot.angle_between(before.rotations[:, joints], after.rotations[:, joints])
