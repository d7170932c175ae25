"""Body signals: named curves over time that describe the movement of each body part.

Captions and motion statistics are computed only from these curves. The curves depend neither on the
skeleton nor on the size of the body: lengths are in meters for a body scaled to `HEIGHT`, angles
are in degrees, and positions of hands and feet are relative to the body and its heading. All curves
are sampled at `RATE`.

=========================  =======================================================================
signal                     meaning
=========================  =======================================================================
``level``                  height of the hip joints above the floor, 1 in standing; ``head_height``
``speed``                  speed of the hips on the floor, m/s; ``forward``, ``leftward`` parts
``rise``                   vertical speed of the hips, m/s
``heading``, ``turning``   degrees to the left; degrees per second; ``feet_heading`` of both feet
``tilt``                   tilt of the trunk; ``bow`` is its forward part, ``lean`` its left part
``twist``                  rotation of the shoulders relative to the hips, to the left
``look``, ``nod``          rotation of the head relative to the chest: to the left, down
``S_hand_height``          height of the hand above the floor; S is left or right
``S_hand_forward, _out``   hand relative to its shoulder: forward, outward; also ``_up``
``S_hand_reach``           distance from the shoulder, 1 for a straight arm
``S_hand_speed``           speed relative to the hips, m/s; ``S_hand_push``: away from shoulder
``S_hand_moving``          speed of the hand in world space, m/s
``S_hand_to_head``         distance; also ``_to_hips``, ``_to_knee``, ``_to_foot``, ``hands_apart``
``S_elbow``, ``S_knee``    flexion, 0 for a straight limb
``S_foot_height``          height of the ankle above its standing height; ``S_knee_height``
``S_foot_forward, _out``   ankle relative to its hip joint: forward, outward
``S_foot_reach``           distance from the hip joint, 1 for a straight leg
``S_foot_speed``           speed relative to the hips, m/s; ``feet_apart``
``S_stands``               1 while the foot is in contact with the ground; ``grounded``: either
``ground``                 height of the ground below the body, 0 for the main floor
``weight``                 vertical acceleration of the center of mass, in g: -1 in free fall
``air``                    1 in free flight, without a foot on the ground
``walking``                1 from the first to the last step; also ``jogging``, ``running``
``S_step``                 1 while the foot moves to another place on the ground; ``any_step``
``S_kick_speed``           speed of the foot beyond that of a step
``steps``                  ``total:steps`` is the number of steps of both feet that start
``S_step_forward, _out``   extent of that step in meters; also ``S_step_length``
``S_knee_up``              1 while the trunk is upright and the knee almost as high as the hip
``S_arm``                  angle of the arm: 0 hanging straight down, 90 horizontal, 180 up
``S_above_head``           height of the hand above the top of the head
``seated``                 1 while hips are low, knees bent and both feet in front of the hips
``low``                    1 while the hips are low
``ground_rate``            rate of ``ground``, m/s; ``hands_rate``: of ``hands_apart``
``S_swing``                half the width of quick back-and-forth hand movements, meters
``S_reversal``             1 where such a movement reverses
``belly``                  1 while the front of the trunk faces up, -1 while it faces down
``S_foot_away``            horizontal distance between the ankle and its hip joint
=========================  =======================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion import Motion
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.feet.gait import gaits
from motionloom.motion.kinematics.body import (
    GRAVITY,
    body_height,
    center_of_mass,
    facing,
    leg_length,
)
from motionloom.motion.resampling import resample
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import intervals
from motionloom.motion.smoothing import gaussian_smooth

Array = NDArray[np.float64]

RATE = 30.0  # frames per second of all signals
HEIGHT = 1.75  # height in meters to which all bodies are scaled
_LEGS = 0.505  # leg length relative to body height, used if no other bone gives it
_SHORTEST_STEP, _LONGEST_STEP = 0.12, 2.0  # meters, seconds
_STANCE = 0.45  # maximum seconds with both feet on the ground between two steps of one walk
_ON_GROUND = 0.7  # seconds around the start and end of a contact in which the ground rises or falls
_TOGETHER = 0.1  # maximum seconds between two feet that leave the ground or land together
_STEPPING = 3.6  # m/s by which a stepping foot is faster than a foot that is only raised
_AROUND_FLIGHT = 0.15  # seconds before and after a jump that do not belong to a gait
_SHORTEST_GAIT = 0.8  # seconds; shorter changes of gait are ignored
_REVERSAL = 0.06  # meters, minimum width of a back-and-forth movement
_STANDING = 0.92  # height of the hip joints above the floor when standing, in meters
_SKULL = 0.12  # height of the top of the head above the head joint, in meters
_ANKLE = 0.039  # ankle height relative to body height (Winter 2009)
NEEDED = (
    "hips", "head",
    *(f"{s}_{part}" for s in SIDES for part in ("shoulder", "elbow", "wrist")),
    *(f"{s}_{part}" for s in SIDES for part in ("hip", "knee", "ankle", "foot")),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class BodySignals:
    """Named curves of a motion, each of shape (T,), sampled at `RATE`.

    Attributes
    ----------
    curves : dict of str to ndarray
    frames : int
        Number of frames T at `RATE`.
    scale : float
        Meters of the scaled body per meter of the motion.
    """

    curves: Mapping[str, Array]
    frames: int
    scale: float

    def __getitem__(self, name: str) -> Array:
        return self.curves[name]


def missing_roles(motion: Motion) -> list[str]:
    """Return the roles that signals require but the skeleton lacks."""
    return [role for role in NEEDED if role not in motion.skeleton.roles]


def body_signals(motion: Motion) -> BodySignals:
    """Compute the signals of a motion.

    Raises
    ------
    RoleError
        If the skeleton lacks a joint of the trunk, the arms or the legs.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = body_signals(ml.demo.clip("walk"))
    >>> bool(1.0 < walk["speed"].mean() < 1.5), bool(0.9 < walk["level"].mean() < 1.0)
    (True, True)
    """
    missing = missing_roles(motion)
    if missing:
        raise RoleError(
            f"captions require the joints of the trunk, the arms and the legs; the skeleton of "
            f"{motion.name!r} lacks {', '.join(missing)}"
        )
    if motion.fps != RATE:
        motion = resample(motion, RATE)
    height = body_height(motion.skeleton) or leg_length(motion.skeleton) / _LEGS
    scale = HEIGHT / height
    contacts = motion.contacts()
    points = motion.positions(end_sites=True).astype(np.float64)
    face = facing(motion, points.astype(np.float32))
    face = face / np.where(np.abs(face) > 0.0, np.abs(face), 1.0)
    roles = motion.skeleton.roles
    ankles = [points[:, motion.skeleton.point(f"{side}_ankle"), 1] for side in SIDES]
    floor = _floor(contacts, ankles, height)

    def at(role: str) -> Array:
        place = scale * points[:, motion.skeleton.point(role)]
        place[:, 1] -= scale * floor
        return place

    body = {role: at(role) for role in NEEDED}
    body["neck"] = (
        at("neck") if "neck" in roles else 0.5 * (body["left_shoulder"] + body["right_shoulder"])
    )
    for side in SIDES:
        hand = f"{side}_hand"
        body[hand] = at(hand) if hand in roles else body[f"{side}_wrist"]
    curves = _trunk(body, face)
    curves |= _head(motion)
    for side in SIDES:
        curves |= _arm(body, face, side) | _leg(body, face, side)
        curves[f"{side}_stands"] = contacts.standing(side).astype(np.float64)
    curves["feet_heading"] = _feet_heading(body)
    curves["hands_apart"] = _length(body["left_hand"] - body["right_hand"])
    curves["feet_apart"] = _length(body["left_ankle"] - body["right_ankle"])
    curves["grounded"] = np.maximum(curves["left_stands"], curves["right_stands"])
    curves["ground"] = scale * _ground(contacts, len(motion))
    fall = gaussian_smooth(scale * center_of_mass(motion)[:, 1], 0.035 * RATE)
    curves["weight"] = _rate(_rate(fall)) / (GRAVITY * scale)
    curves["air"] = _flights(curves)
    for side in SIDES:
        curves |= _steps(body[f"{side}_ankle"], curves[f"{side}_stands"] > 0.5, face, side)
    curves["any_step"] = np.maximum(curves["left_step"], curves["right_step"])
    curves["steps"] = np.zeros(len(motion))
    for side in SIDES:
        for start, _ in intervals(curves[f"{side}_step"] > 0.5):
            curves["steps"][start] += RATE
        # A kicking foot often lands in another place, but a foot that only steps is never that
        # fast.
        kick = curves[f"{side}_foot_speed"] - _STEPPING * curves[f"{side}_step"]
        curves[f"{side}_kick_speed"] = kick
    curves |= _gaits(gaits(motion, contacts), curves["any_step"] > 0.5, _jumps(curves))
    curves |= _poses(curves)
    return BodySignals(curves, len(motion), float(scale))


def _floor(contacts, ankles: list[Array], height: float) -> float:
    """Return the floor height, which is the ankle height minus its typical value when standing."""
    heel = [
        plant.height
        for side in SIDES
        for plant in contacts.plants[f"{side}_heel"]
        for _ in range(max(1, (plant.end_frame - plant.start_frame) // 5))
    ]
    level = np.percentile(heel, 20.0) if heel else min(np.percentile(a, 2.0) for a in ankles)
    return float(level) - _ANKLE * height


def _ground(contacts, frames: int) -> Array:
    """Return the ground height (T,): that of the standing foot's ball above the main floor."""
    plants = sorted(
        (plant.start_frame, plant.end_frame, plant.height)
        for side in SIDES
        for plant in contacts.plants[f"{side}_ball"]
    )
    if not plants:
        return np.zeros(frames)
    knots = [
        (time, height - contacts.floor)
        for start, end, height in plants
        for inside in [min(0.5 * (end - start), _ON_GROUND * RATE)]
        for time in (start + inside, end - inside)
    ]
    times, heights = zip(*sorted(knots), strict=True)
    return np.interp(np.arange(frames), times, heights)


def _flights(curves: dict[str, Array]) -> Array:
    """Return a curve that is 1 from takeoff until landing."""
    bare = curves["grounded"] < 0.5
    falling = bare & (curves["weight"] < -0.4)
    air = np.zeros(len(bare))
    for start, end in intervals(bare):
        fallen = np.flatnonzero(falling[start:end])
        if len(fallen) >= 2:
            air[start + fallen[0] : start + fallen[-1] + 1] = 1.0
    return air


def _steps(
    ankle: Array, stands: NDArray[np.bool_], face: NDArray[np.complex128], side: str
) -> dict[str, Array]:
    """Return curves for a foot's steps from one place on the ground to another."""
    sign = 1.0 if side == "left" else -1.0
    curves = np.zeros((4, len(ankle)))
    for start, end in intervals(~stands):
        first, last = max(start - 1, 0), min(end, len(ankle) - 1)
        moved = ankle[last] - ankle[first]
        ahead = (moved[2] + 1j * moved[0]) * np.conj(face[first])
        whole = start > 0 and end < len(ankle)  # otherwise, the motion starts or ends during a step
        least = _SHORTEST_STEP if whole else 0.3 * _SHORTEST_STEP
        if end - start < _LONGEST_STEP * RATE and abs(ahead) > least:
            values = (1.0, ahead.real, sign * ahead.imag, abs(ahead))
            curves[:, start:end] = np.array(values)[:, None]
    names = ("step", "step_forward", "step_out", "step_length")
    return {f"{side}_{name}": curve for name, curve in zip(names, curves, strict=True)}


def _poses(curves: dict[str, Array]) -> dict[str, Array]:
    """Return curves for body postures, derived from other curves."""
    ahead = np.minimum(curves["left_foot_forward"], curves["right_foot_forward"])
    bent = np.minimum(curves["left_knee"], curves["right_knee"])
    combined = {
        "low": curves["level"] < 0.76,
        "seated": (curves["level"] < 0.76) & (ahead > 0.17) & (bent > 40.0),
        "side_lean": np.abs(curves["lean"]),
        "ground_rate": _rate(curves["ground"]),
        "hands_rate": _rate(gaussian_smooth(curves["hands_apart"], 0.03 * RATE)),
    }
    hips = curves["level"] * _STANDING
    for side in SIDES:
        high = (hips - curves[f"{side}_knee_height"] < 0.24) & (curves["tilt"] < 45.0)
        combined[f"{side}_knee_up"] = high & (curves["level"] > 0.8)
        above = curves[f"{side}_hand_height"] - curves["head_height"]
        combined[f"{side}_above_head"] = above - _SKULL
    return {name: np.asarray(curve, np.float64) for name, curve in combined.items()}


def _jumps(curves: dict[str, Array]) -> NDArray[np.bool_]:
    """Return where the body jumps or hops, excluding the flight phases of a gait."""
    is_jump = np.zeros(len(curves["air"]), bool)
    around = round(_AROUND_FLIGHT * RATE)
    for start, end in intervals(curves["air"] > 0.5):
        lifts, lands = [], []
        for side in SIDES:
            stands = curves[f"{side}_stands"] > 0.5
            before, after = np.flatnonzero(stands[:start]), np.flatnonzero(stands[end:])
            lifts.append(before[-1] if len(before) else -np.inf)
            lands.append(after[0] if len(after) else np.inf)
        if np.isinf(max(lifts)) or np.isinf(min(lands)):
            continue  # the motion starts or ends in the air
        together = min(abs(lifts[0] - lifts[1]), abs(lands[0] - lands[1])) <= _TOGETHER * RATE
        if together or (lifts[0] > lifts[1]) == (lands[0] < lands[1]):
            is_jump[max(start - around, 0) : end + around] = True
    return is_jump


def _gaits(
    measured: NDArray[np.str_], stepping: NDArray[np.bool_], jumps: NDArray[np.bool_]
) -> dict[str, Array]:
    """Return curves for walking, jogging and running, from the gait and the steps of both feet."""
    kinds = np.select([measured == "jog", measured == "run"], [2, 3], 1)
    runs: list[tuple[int, int]] = []
    for start, end in intervals(stepping):
        if runs and start - runs[-1][1] <= _STANCE * RATE:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    gaits = np.zeros(len(kinds), np.int64)
    for start, end in runs:
        gaits[start:end] = _without_short(kinds[start:end], round(_SHORTEST_GAIT * RATE))
    gaits[jumps] = 0
    names = ("walking", "jogging", "running")
    return {name: (gaits == kind).astype(np.float64) for kind, name in enumerate(names, 1)}


def _without_short(kinds: NDArray[np.int64], shortest: int) -> NDArray[np.int64]:
    """Replace each gait phase that is too short with the longer of its two neighbors."""
    tidy = kinds.copy()
    while True:
        edges = [0, *(np.flatnonzero(np.diff(tidy)) + 1).tolist(), len(tidy)]
        lengths = np.diff(edges)
        if len(lengths) < 2 or lengths.min() >= shortest:
            return tidy
        k = int(np.argmin(lengths))
        near = [n for n in (k - 1, k + 1) if 0 <= n < len(lengths)]
        best = max(near, key=lambda n: int(lengths[n]))
        tidy[edges[k] : edges[k + 1]] = tidy[edges[best]]


def _trunk(body: dict[str, Array], face: NDArray[np.complex128]) -> dict[str, Array]:
    hips = body["hips"]
    path = gaussian_smooth(hips[:, [0, 2]], 0.2 * RATE)
    moving = np.gradient(path, axis=0) * RATE if len(path) > 1 else np.zeros_like(path)
    ahead = gaussian_smooth(np.column_stack([face.real, face.imag]), 0.1 * RATE)
    steady = ahead[:, 0] + 1j * ahead[:, 1]
    steady = steady / np.maximum(np.abs(steady), 1e-9)
    # Velocity as a complex number in the heading frame: forward + i * leftward.
    velocity = (moving[:, 1] + 1j * moving[:, 0]) * np.conj(steady)
    heading = np.degrees(np.unwrap(np.angle(steady)))
    spine = body["neck"] - hips
    up = np.clip(spine[:, 1] / np.maximum(_length(spine), 1e-9), -1.0, 1.0)
    lying = (spine[:, 2] + 1j * spine[:, 0]) * np.conj(face)
    across = {part: body[f"left_{part}"] - body[f"right_{part}"] for part in ("hip", "shoulder")}
    turned = [a[:, 0] - 1j * a[:, 2] for a in across.values()]
    front = np.cross(across["shoulder"], spine)
    standing = _ANKLE * HEIGHT + 0.5 * sum(
        _bone(body[f"{s}_hip"], body[f"{s}_knee"]) + _bone(body[f"{s}_knee"], body[f"{s}_ankle"])
        for s in SIDES
    )
    return {
        "level": 0.5 * (body["left_hip"][:, 1] + body["right_hip"][:, 1]) / standing,
        "head_height": body["head"][:, 1],
        "speed": np.abs(velocity),
        "forward": velocity.real,
        "leftward": velocity.imag,
        "rise": _rate(gaussian_smooth(hips[:, 1], 0.1 * RATE)),
        "heading": heading,
        "turning": _rate(gaussian_smooth(heading, 0.15 * RATE)),
        "tilt": np.degrees(np.arccos(up)),
        "bow": np.degrees(np.arctan2(lying.real, spine[:, 1])),
        "lean": np.degrees(np.arctan2(lying.imag, spine[:, 1])),
        "twist": np.degrees(np.angle(turned[1] * np.conj(turned[0]))),
        "belly": front[:, 1] / np.maximum(_length(front), 1e-9),
    }


def _head(motion: Motion) -> dict[str, Array]:
    """Return the yaw and pitch of the head relative to the chest, measured from the rest pose."""
    roles, skeleton = motion.skeleton.roles, motion.skeleton
    below = next(role for role in ("chest", "spine", "hips") if role in roles)
    every = motion.global_rotations().astype(np.float64)
    try:
        head, chest = (every[:, skeleton.joint(roles[role])] for role in ("head", below))
    except (KeyError, ValueError, RoleError):
        return {"look": np.zeros(len(motion)), "nod": np.zeros(len(motion))}
    turned = rot.multiply(rot.inverse(chest), head)
    usual = turned[len(turned) // 2]
    signs = np.where(np.sum(turned * usual, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
    mean = np.mean(signs * turned, axis=0)
    mean /= max(float(np.linalg.norm(mean)), 1e-9)
    # Angles are relative to the mean, in the axes of the chest.
    away = rot.log(rot.multiply(signs * turned, rot.inverse(mean)))
    return {"look": np.degrees(away[:, 1]), "nod": np.degrees(away[:, 0])}


def _arm(body: dict[str, Array], face: NDArray[np.complex128], side: str) -> dict[str, Array]:
    sign = 1.0 if side == "left" else -1.0
    shoulder, elbow, hand = (body[f"{side}_{part}"] for part in ("shoulder", "elbow", "hand"))
    wrist = body[f"{side}_wrist"]
    reach = hand - shoulder
    arm = _bone(shoulder, elbow) + _bone(elbow, wrist) + _bone(wrist, hand)
    away = _length(reach) / max(arm, 1e-6)
    ahead = (reach[:, 2] + 1j * reach[:, 0]) * np.conj(face)
    foot = 0.5 * (body["left_foot"] + body["right_foot"])
    knees = np.minimum(*(_length(hand - body[f"{s}_knee"]) for s in SIDES))
    name = f"{side}_hand"
    return {
        f"{name}_height": hand[:, 1],
        f"{name}_up": reach[:, 1],
        f"{name}_forward": ahead.real,
        f"{name}_out": sign * ahead.imag,
        f"{name}_reach": away,
        f"{name}_push": _rate(gaussian_smooth(away * arm, 0.03 * RATE)),
        f"{name}_speed": _local_speed(hand, body["hips"], face),
        f"{name}_moving": _speed(hand),
        f"{name}_to_head": _length(hand - body["head"]),
        f"{name}_to_hips": _length(hand - body[f"{side}_hip"]),
        f"{name}_to_knee": knees,
        f"{name}_to_foot": _length(hand - foot),
        f"{side}_elbow": _flexion(shoulder, elbow, wrist),
        f"{side}_arm": np.degrees(np.arctan2(np.abs(ahead), -reach[:, 1])),
        f"{side}_swing": _swing(np.column_stack([ahead.imag, reach[:, 1]])),
        f"{side}_reversal": np.maximum(_reversals(ahead.imag), _reversals(reach[:, 1])),
    }


def _leg(body: dict[str, Array], face: NDArray[np.complex128], side: str) -> dict[str, Array]:
    sign = 1.0 if side == "left" else -1.0
    hip, knee, ankle = (body[f"{side}_{part}"] for part in ("hip", "knee", "ankle"))
    reach = ankle - hip
    leg = _bone(hip, knee) + _bone(knee, ankle)
    ahead = (reach[:, 2] + 1j * reach[:, 0]) * np.conj(face)
    name = f"{side}_foot"
    return {
        f"{name}_height": ankle[:, 1] - _ANKLE * HEIGHT,
        f"{name}_forward": ahead.real,
        f"{name}_out": sign * ahead.imag,
        f"{name}_away": np.abs(ahead),
        f"{name}_reach": _length(reach) / max(leg, 1e-6),
        f"{name}_speed": _local_speed(ankle, body["hips"], face),
        f"{side}_knee": _flexion(hip, knee, ankle),
        f"{side}_knee_height": knee[:, 1],
    }


def _feet_heading(body: dict[str, Array]) -> Array:
    """Return the mean floor direction of both feet, in degrees to the left, unwrapped."""
    ahead = np.zeros((len(body["hips"]), 2))
    for side in SIDES:
        ahead += (body[f"{side}_foot"] - body[f"{side}_ankle"])[:, [2, 0]]
    ahead = gaussian_smooth(ahead, 0.1 * RATE)
    return np.degrees(np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0])))


def _local_speed(point: Array, hips: Array, face: NDArray[np.complex128]) -> Array:
    """Return the speed of a point relative to the hips and heading, in m/s."""
    away = point - hips
    turned = (away[:, 2] + 1j * away[:, 0]) * np.conj(face)
    return _speed(np.column_stack([turned.real, away[:, 1], turned.imag]))


def _speed(place: Array) -> Array:
    """Return the speed of a point, in m/s."""
    if len(place) < 2:
        return np.zeros(len(place))
    return _length(np.gradient(gaussian_smooth(place, 0.03 * RATE), axis=0)) * RATE


def _swing(places: Array) -> Array:
    """Return the amplitude of back-and-forth movement above about 1 Hz, shape (T,)."""
    quick = places - gaussian_smooth(places, 0.25 * RATE)
    power = gaussian_smooth(np.sum(quick**2, axis=1), 0.25 * RATE)
    return np.sqrt(2.0 * power)


def _reversals(place: Array) -> Array:
    """Return 1 where a coordinate reverses between movements of `_REVERSAL`, shape (T,)."""
    turns = np.zeros(len(place))
    lowest = highest = 0
    going = 0
    for k, value in enumerate(place.tolist()):
        if value < place[lowest]:
            lowest = k
        if value > place[highest]:
            highest = k
        if going >= 0 and value < place[highest] - _REVERSAL:
            turns[highest] = float(going)
            going, lowest = -1, k
        elif going <= 0 and value > place[lowest] + _REVERSAL:
            turns[lowest] = float(-going)
            going, highest = 1, k
        if going > 0 and value >= place[highest]:
            highest = k
        elif going < 0 and value <= place[lowest]:
            lowest = k
    return turns


def _flexion(a: Array, b: Array, c: Array) -> Array:
    """Return the bend of the limb a-b-c at b, in degrees."""
    upper, lower = b - a, c - b
    cosine = np.sum(upper * lower, axis=1) / np.maximum(_length(upper) * _length(lower), 1e-9)
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


def _bone(a: Array, b: Array) -> float:
    return float(np.median(_length(a - b)))


def _length(vectors: Array) -> Array:
    return np.sqrt(np.sum(vectors * vectors, axis=-1))


def _rate(values: Array) -> Array:
    return np.gradient(values) * RATE if len(values) > 1 else np.zeros(len(values))
