"""Posture of the body: overlapping limbs, balance while standing, alternating steps, and flight.

*Overlap* is the depth by which body parts, modeled as capsules, penetrate each other. A capsule is
the set of points within a radius of a line segment. The radii are fractions of the body's height
and slightly smaller than a real body's, because skin gives way and markers sit on top of it. Parts
connected by a joint (upper arm and forearm, thigh and trunk) always overlap and are not compared.

*Balance* and *alternation* are based on foot contacts. Balance is the distance over the floor from
the center of mass to the area between the feet in contact. It is measured only while the body
stands upright and still, since a body that walks, turns or jumps may be anywhere. Alternation
checks that the feet take turns, because two steps in a row with the same foot are typical of a bad
seam.

*Flight* follows the laws of physics only if the center of mass falls at 1 g. Averages of jumps need
not: Kovar & Gleicher (2004, section 5) discarded a blended leap for this reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.diagnostics.measurements import AIRBORNE
from motionloom.motion.feet.contacts import SIDES, FootContacts, landings, part_path
from motionloom.motion.kinematics.body import GRAVITY, body_height, center_of_mass, leg_length
from motionloom.motion.segment import intervals
from motionloom.motion.smoothing import running_maximum

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion
    from motionloom.motion.skeleton import Skeleton

Array = NDArray[np.float64]

_HAND_STAND = 0.3  # meters: hands below this height may carry the body, as in a cartwheel
_FLIGHT_SECONDS = 0.2  # shorter flights do not determine an acceleration
_LEGS = 0.49  # leg length, hip to ankle, divided by height

# Name, roles of both ends (the first that the skeleton has), radius divided by height. The trunk's
# radius follows its depth and not its width, because arms hang at its sides.
_PARTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...], float], ...] = (
    ("trunk", ("spine", "hips"), ("chest", "neck"), 0.055),
    ("head", ("head", "neck"), ("head_top", "head"), 0.040),
    *(
        part
        for side in SIDES
        for part in (
            (f"{side} upper arm", (f"{side}_shoulder",), (f"{side}_elbow",), 0.022),
            (f"{side} forearm", (f"{side}_elbow",), (f"{side}_wrist", f"{side}_hand"), 0.018),
            (f"{side} thigh", (f"{side}_hip",), (f"{side}_knee",), 0.034),
            (f"{side} shin", (f"{side}_knee",), (f"{side}_ankle",), 0.024),
            (f"{side} foot", (f"{side}_ankle",), (f"{side}_toe", f"{side}_foot"), 0.018),
        )
    ),
)
# Parts that meet at a joint, in addition to consecutive parts of one arm or leg.
_JOINED = {
    frozenset(pair)
    for side in SIDES
    for pair in (
        ("trunk", f"{side} upper arm"),
        ("head", f"{side} upper arm"),
        ("trunk", f"{side} thigh"),
        (f"{side} upper arm", f"{side} forearm"),
        (f"{side} thigh", f"{side} shin"),
        (f"{side} shin", f"{side} foot"),
    )
} | {frozenset(("trunk", "head")), frozenset(("left thigh", "right thigh"))}
# Upper arms and thighs overlap when a body crouches, by 0.09 m in CMU's takes.
_JOINED |= {frozenset((f"{a} upper arm", f"{b} thigh")) for a in SIDES for b in SIDES}
_STILL = 0.15  # m/s: maximum horizontal speed of the center of mass of a standing body
_STILL_SECONDS = 0.5  # minimum time for which a standing body is this slow
_UPRIGHT = 0.9  # height of the hips above the standing foot in leg lengths: not sitting
_BESIDE = 0.06  # meters: a foot no higher than this above the standing one also carries weight
_FOOT_MARGIN = 0.06  # meters around ankle, ball and toes that belong to the sole
_DIRECTIONS = 48
_LIFTED = 0.2  # seconds off the ground in a step
_STEP = 0.06  # of the leg length: minimum travel of a foot in a step, 5 cm for an adult


@dataclass(frozen=True)
class Capsules:
    """Capsules for a skeleton's body parts, and the pairs to compare.

    Attributes
    ----------
    names : tuple of str
    ends : tuple of (int, int)
        Skeleton points at the two ends of each capsule.
    radii : tuple of float
        Radius of each capsule in meters.
    pairs : tuple of (int, int)
        Pairs of parts to compare, which are the parts not connected by a joint.

    Examples
    --------
    >>> import motionloom as ml
    >>> capsules = Capsules.of(ml.demo.clip("walk").skeleton)
    >>> capsules.names[:2], len(capsules.pairs)
    (('trunk', 'head'), 48)
    """

    names: tuple[str, ...]
    ends: tuple[tuple[int, int], ...]
    radii: tuple[float, ...]
    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, skeleton: Skeleton) -> Capsules:
        """Return capsules for the parts whose roles the skeleton has."""
        roles = skeleton.roles
        height = _height(skeleton)
        parts = []
        for name, first, second, radius in _PARTS:
            a = next((role for role in first if role in roles), None)
            b = next((role for role in second if role in roles), None)
            if a is not None and b is not None:
                ends = skeleton.point(a), skeleton.point(b)
                if ends[0] != ends[1]:
                    parts.append((name, ends, radius * height))
        names = tuple(name for name, _, _ in parts)
        pairs = tuple(
            (a, b)
            for a, b in combinations(range(len(parts)), 2)
            if frozenset((names[a], names[b])) not in _JOINED
        )
        return cls(names, tuple(ends for _, ends, _ in parts), tuple(r for *_, r in parts), pairs)

    def pair_name(self, pair: int) -> str:
        """Return the names of the two parts in a pair."""
        a, b = self.pairs[pair]
        return f"{self.names[a]} and {self.names[b]}"


def limb_overlaps(motion: Motion) -> Array:
    """Return the depth in meters by which body parts overlap, shape (T, pairs of `Capsules.of`).

    The depth is zero where the parts do not touch.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> depth = limb_overlaps(walk)
    >>> depth.shape, float(depth.max()) < 0.02
    ((138, 48), True)
    """
    capsules = Capsules.of(motion.skeleton)
    if not capsules.pairs:
        return np.zeros((len(motion), 0))
    points = motion.positions(end_sites=True).astype(np.float64)
    ends = np.array(capsules.ends)
    starts, stops = points[:, ends[:, 0]], points[:, ends[:, 1]]
    radii = np.array(capsules.radii)
    first, second = np.array(capsules.pairs).T
    # Only parts whose bounding spheres touch, about one in ten.
    middles, halves = 0.5 * (starts + stops), 0.5 * np.linalg.norm(stops - starts, axis=-1)
    spheres = halves + radii
    gaps = middles[:, first] - middles[:, second]
    frames, pairs = np.nonzero(_dot(gaps, gaps) < (spheres[:, first] + spheres[:, second]) ** 2)
    a, b = first[pairs], second[pairs]
    apart = segment_distances(
        starts[frames, a], stops[frames, a], starts[frames, b], stops[frames, b]
    )
    depth = np.zeros((len(motion), len(first)))
    depth[frames, pairs] = np.maximum(radii[a] + radii[b] - apart, 0.0)
    return depth


def segment_distances(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the distances (...) between line segments a-b and c-d, given as (..., 3) arrays."""
    u, v, w = b - a, d - c, a - c
    uu, uv, vv = _dot(u, u), _dot(u, v), _dot(v, v)
    uw, vw = _dot(u, w), _dot(v, w)
    tiny = 1e-12
    # The nearest points of the two lines, clamped to the first segment, then to the second, then
    # the first again for the clamped point (Ericson, Real-Time Collision Detection, 5.1.9).
    across = uu * vv - uv * uv
    s = np.where(
        across > tiny, np.clip((uv * vw - vv * uw) / np.maximum(across, tiny), 0.0, 1.0), 0.0
    )
    t = np.clip((uv * s + vw) / np.maximum(vv, tiny), 0.0, 1.0)
    s = np.clip((uv * t - uw) / np.maximum(uu, tiny), 0.0, 1.0)
    gap = w + s[..., None] * u - t[..., None] * v
    return np.sqrt(_dot(gap, gap))


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)


def _height(skeleton: Skeleton) -> float:
    """Return the body height, estimated from the legs if there is no head; 1.7 m by default."""
    height = body_height(skeleton)
    if height is not None:
        return height
    legs = {f"{side}_{joint}" for side in SIDES for joint in ("hip", "ankle")}
    return leg_length(skeleton) / _LEGS if legs <= skeleton.roles.keys() else 1.7


def imbalance(motion: Motion, contacts: FootContacts) -> Array:
    """Return how far the center of mass is outside the support, in meters, shape (T,).

    The support is the convex hull of ankles, balls and toes of the feet in contact, with a margin
    for the width of the feet. The result is NaN in frames where the body does not stand upright and
    still.

    Examples
    --------
    >>> import motionloom as ml
    >>> reach = ml.demo.clip("reach_side_high_left")
    >>> float(np.nanmax(imbalance(reach, reach.contacts()))) < 0.02
    True
    """
    out = np.full(len(motion), np.nan)
    standing = np.stack([contacts.standing(side) for side in SIDES], axis=1)
    ankles = motion.role_positions([f"{side}_ankle" for side in SIDES])[..., 1]
    ground = np.where(standing, ankles, np.inf).min(axis=1)
    carries = standing | (ankles < ground[:, None] + _BESIDE) & np.isfinite(ground)[:, None]
    stands = np.flatnonzero(_stands_still(motion, ground))
    if not len(stands):
        return out
    roles = motion.skeleton.roles
    ends = [
        [r for r in (f"{side}_ankle", f"{side}_foot", f"{side}_toe") if r in roles]
        for side in SIDES
    ]
    points = [
        motion.role_positions(names)[stands][..., [0, 2]].astype(np.float64) for names in ends
    ]
    center = center_of_mass(motion)[stands][:, [0, 2]]
    angles = np.linspace(0.0, 2.0 * np.pi, _DIRECTIONS, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)])  # (2, D)
    # Outside a convex set, the distance is the maximum over all directions of how much farther the
    # point lies than the set.
    reach = np.full((len(stands), _DIRECTIONS), -np.inf)
    for side, feet in enumerate(points):
        far = (feet @ directions).max(axis=1)
        reach = np.where(carries[stands, side, None], np.maximum(reach, far), reach)
    out[stands] = np.maximum((center @ directions - reach).max(axis=1) - _FOOT_MARGIN, 0.0)
    return out


def _stands_still(motion: Motion, ground: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return a mask of frames in which the body stands upright on the ankle at height `ground`."""
    if len(motion) < 2:
        return np.zeros(len(motion), bool)
    center = center_of_mass(motion)[:, [0, 2]]
    speed = np.linalg.norm(np.gradient(center, 1.0 / motion.fps, axis=0), axis=1)
    size = max(3, round(_STILL_SECONDS * motion.fps) | 1)
    # Near the first and last frames it is unknown whether the body has stopped.
    still = running_maximum(speed, size, beyond=np.inf) < _STILL
    hips = motion.role_positions(["hips"])[:, 0, 1]
    return still & (hips - ground > _UPRIGHT * leg_length(motion.skeleton))


def flight_errors(motion: Motion) -> list[tuple[int, int, float]]:
    """Return the flights of a motion: first frame, frame after the last, and error in g.

    The error is the distance between the acceleration of the center of mass, fitted to the whole
    flight, and gravity. In flight, both feet are at least 4 cm above their standing height, and the
    hands are not near the floor.

    Examples
    --------
    >>> import motionloom as ml
    >>> [(start, end, error)] = flight_errors(ml.demo.clip("jump_far"))
    >>> end - start > 8, error < 0.2
    (True, True)
    """
    if not len(motion):
        return []
    roles = [f"{side}_{part}" for side in SIDES for part in ("ankle", "toe")]
    feet = motion.role_positions([role for role in roles if role in motion.skeleton.roles])
    low = feet[..., 1].min(axis=1).astype(np.float64)
    floor = np.percentile(low, 5.0)
    airborne = low > floor + AIRBORNE
    hands = [f"{side}_wrist" for side in SIDES if f"{side}_wrist" in motion.skeleton.roles]
    if hands:
        airborne &= (motion.role_positions(hands)[..., 1] > floor + _HAND_STAND).all(axis=1)
    least = max(4, round(_FLIGHT_SECONDS * motion.fps))
    flights = [(a, b) for a, b in intervals(airborne) if b - a >= least]
    if not flights:
        return []
    center = center_of_mass(motion)
    errors = []
    for start, end in flights:
        # Free fall is quadratic in time; a fit over the whole flight averages the noise.
        times = (np.arange(end - start) - (end - start - 1) / 2) / motion.fps
        powers = np.stack([np.ones_like(times), times, 0.5 * times**2], axis=1)
        acceleration = np.linalg.lstsq(powers, center[start:end], rcond=None)[0][2]
        gap = acceleration + [0.0, GRAVITY, 0.0]
        errors.append((int(start), int(end), float(np.linalg.norm(gap)) / GRAVITY))
    return errors


def steps(motion: Motion, contacts: FootContacts) -> list[tuple[int, str]]:
    """Return the frame and side of each step, where a foot lifts off and lands elsewhere.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> [side for _, side in steps(walk, walk.contacts())][:4]
    ['right', 'left', 'right', 'left']
    """
    least = _STEP * leg_length(motion.skeleton)
    landed = []
    for side in SIDES:
        ball = part_path(motion, f"{side}_ball")[:, [0, 2]]
        stands = contacts.standing(side)
        for frame in landings(stands):
            before = np.flatnonzero(stands[:frame])
            if not len(before):
                landed.append((int(frame), side))
            elif frame - before[-1] > _LIFTED * motion.fps:
                if np.linalg.norm(ball[frame] - ball[before[-1]]) > least:
                    landed.append((int(frame), side))
    return sorted(landed)


def repeated_steps(motion: Motion, contacts: FootContacts) -> NDArray[np.int64]:
    """Return the frames of steps taken with the same foot as the previous step."""
    made = steps(motion, contacts)
    return np.array(
        [frame for (_, last), (frame, side) in zip(made[:-1], made[1:], strict=True)
         if side == last],
        np.int64,
    )  # fmt: skip
