"""Measurements of a motion, used to check it for issues.

They cover the positions of roles, foot contacts, the acceleration of the center of mass, frames in
which a joint rotates impossibly fast, and the height of the ground relative to y = 0.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion.feet.contacts import SIDES, FootContacts, foot_contacts, part_path
from motionloom.motion.feet.stances import Stances, stance
from motionloom.motion.kinematics.body import GRAVITY, body_height, center_of_mass, leg_length
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion.motion import Motion
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import Skeleton
from motionloom.motion.smoothing import second_derivative

Array = NDArray[np.float64]

_TORSO = ("hips", "spine", "chest", "neck", "head")
_LIMBS = tuple(
    f"{side}_{part}" for side in ("left", "right") for part in ("shoulder", "elbow", "hip", "knee")
)
_FEET = ("left_ankle", "right_ankle", "left_foot", "right_foot")

# Meters, set on the CMU database: in 98 % of its takes the balls of the feet stand between 0.5 and
# 17 cm above y = 0, and the lower quartile of the lowest points is at most 9 cm deep.
_BALLS_ABOVE, _BALLS_BELOW, _SUNK = 0.195, -0.06, -0.13
_ANY_LOW = 0.08  # a body that comes this low has touched the floor
# Feet that never come lower than this float, if their balls are also this high: 6 of 1,095 takes of
# CMU and Bandai-Namco do, all of two performers.
_FLOATS, _BALLS_FLOAT = 0.06, 0.13
_STEADY = 0.13  # spread of the lowest point of a lying or sitting body
_BALL_HEIGHT = 0.02  # from the sole to the joint at the ball of the foot

AIRBORNE = 0.04  # meters: rise of the lowest foot point above its standing height
_FLIGHT_FRAMES = 4
_FASTEST_FALLS = 85.0  # percentile
_LEAST_FALL = 0.4  # g; a slower fall is a lifted foot or a hanging body

# Jitter in meters. The largest of CMU's even-numbered performers and Bandai-Namco is 1.6 mm.
_NOISE = 0.0025
# A ground that drifts, in meters over the take. On stairs, the ground changes between contacts but
# not during them. The two agree within these factors for a drift.
_DRIFT, _DRIFTS_ALIKE = 0.10, (0.4, 2.5)
_LONG_STANCES = 5.0  # seconds in contact that show a drift if there are few contacts
_DRIFT_UNEXPLAINED = 0.3  # share of the variance of the levels that a steady drift does not explain
# Drift over the floor in m/s, mean and median over stances, and in standard errors. Feet that roll
# move by 2 to 4 cm/s.
_DRIFT_SPEED, _DRIFT_SIGNIFICANT = (0.043, 0.036), 1.5
_DRIFT_DISTANCE = 0.18  # meters over the whole take
# Height of the balls of standing feet above the floor, divided by the body's height: the median of
# CMU and of Bandai-Namco (4.3 and 4.2 cm), and the range over rigs.
_BALL_SHARE, _BALL_RANGE = 0.025, (0.0, 0.043)
_STANDS_OFF = 0.018  # meters above or below the usual height of the rig
_LEAST_TAKES = 3  # of a rig, to know its usual height
_ON_FEET = 0.6  # height of the hips above the lower ankle, in leg lengths
_RANGE_SHARE = 0.01  # of the frames beyond a joint's range

_VISIBLE_LEAP = 0.20  # meters in one frame, in excess of the steps before and after


def height_error(balls: float, usual: float) -> float | None:
    """Return by how much balls of feet stand too high, in meters, or None if it is little."""
    error = balls - usual
    return error if _STANDS_OFF < abs(error) < _BALLS_FLOAT else None


class Measurements:
    """Measurements of a motion with T frames, each computed on first use.

    They describe only the body, so joints above the hips are excluded. `ball_height` is the usual
    height of the balls of standing feet above the floor in other takes of the rig, in meters; see
    `BallHeights`.
    """

    def __init__(self, motion: Motion, *, ball_height: float | None = None) -> None:
        self._ball_height = ball_height
        self.motion = hips_as_root(motion)
        self.roles = self.motion.skeleton.roles

    def has(self, *roles: str) -> bool:
        """Return whether the skeleton has all the given roles."""
        return all(role in self.roles for role in roles)

    def position(self, role: str) -> Array:
        """Return the world positions of the joint with this role, shape (T, 3)."""
        return self._points[:, self.motion.skeleton.point(role)].astype(np.float64)

    @cached_property
    def _points(self) -> NDArray[np.float32]:
        return self.motion.positions(end_sites=True)

    @cached_property
    def lowest(self) -> Array:
        """Height of the lowest point of the body in meters, shape (T,)."""
        return self._points[:, :, 1].min(axis=1).astype(np.float64)

    @cached_property
    def contacts(self) -> FootContacts | None:
        """Foot contacts, or None if the skeleton has no feet."""
        return foot_contacts(self.motion) if self.has(*_FEET) and len(self.motion) else None

    # --- the ground ---------------------------------------------------------------------

    @cached_property
    def ground_offset(self) -> float | None:
        """Height of the ground above y = 0 in meters, or None if it is close to zero."""
        if not len(self.motion):
            return None
        low, quarter, high = np.percentile(self.lowest, [5.0, 25.0, 75.0])
        if self.contacts is not None:
            balls = self.contacts.floor
            on_feet = np.median(self.lowest) > balls - 0.2
            upright = not self.has("head") or np.median(self.position("head")[:, 1]) > balls + 0.8
            rests = (on_feet and upright) or high - low < _STEADY
            if balls > _BALLS_ABOVE and low > _ANY_LOW and rests:
                return balls - _BALL_HEIGHT
            if balls < _BALLS_BELOW and on_feet:
                return balls - _BALL_HEIGHT
            if balls > _BALLS_FLOAT and low > _FLOATS and on_feet and upright:
                return balls - _BALL_HEIGHT
        return float(quarter) if quarter < _SUNK else None

    @cached_property
    def height_error(self) -> float | None:
        """Height in meters at which an upright body stands above the floor; negative below.

        The balls of standing feet are compared with their usual height in other takes of the rig.
        If that is unknown, only feet below the floor and feet far above it are errors, because
        rigs put the ball of the foot between 1 and 6 cm above the sole. The result is None if the
        body does not stand on its feet, or if the error is small.
        """
        if self.contacts is None or self.stances is None:
            return None
        balls, height = self.ball_level, body_height(self.motion.skeleton) or 1.7
        if self._ball_height is not None:
            return height_error(balls, self._ball_height)
        if _BALL_RANGE[1] * height < balls < _BALLS_FLOAT:
            return balls - _BALL_SHARE * height
        return balls if _BALLS_BELOW < balls < _BALL_RANGE[0] * height else None

    @cached_property
    def ball_level(self) -> float:
        """Height in meters at which the balls of the feet stand on the main floor."""
        assert self.contacts is not None
        floor = self.contacts.floor
        return floor if self.stances is None else self.stances.level(floor)

    @cached_property
    def on_feet(self) -> bool:
        """Whether the body stands, walks or runs on its feet in most of the frames."""
        if self.contacts is None or not self.has("hips", "left_ankle", "right_ankle"):
            return False
        leg = leg_length(self.motion.skeleton)
        ankles = [self.position(f"{side}_ankle")[:, 1] for side in SIDES]
        hips = self.position("hips")[:, 1]
        upright = hips - np.minimum(*ankles) > _ON_FEET * leg
        stands = [self.contacts.standing(side) for side in SIDES]
        lowest = self.lowest > np.minimum(*ankles) - 0.2
        return bool(np.mean(upright & lowest) > 0.7 and np.mean(np.logical_or(*stands)) > 0.2)

    @cached_property
    def stances(self) -> Stances | None:
        """Movement of the feet while they stand, or None if the body does not stand on its feet."""
        if self.contacts is None or not self.on_feet:
            return None
        rows = []
        for side in SIDES:
            ball = part_path(self.motion, f"{side}_ball")
            flat = self.contacts[f"{side}_ball"] & self.contacts[f"{side}_heel"]
            for start, end in self.contacts.intervals(f"{side}_ball"):
                row = stance(ball, flat, start, end, self.motion.fps)
                if row is not None:
                    rows.append(row)
        enough = len(rows) >= 2 or (rows and rows[0][-1] > self.motion.fps)
        return Stances(np.array(rows)) if enough else None

    @cached_property
    def ground_drift(self) -> float | None:
        """Rise of the ground in meters from the start to the end, or None if it stays level.

        A ground that drifts also rises while a foot stands on it.
        """
        if self.stances is None:
            return None
        seconds = len(self.motion) / self.motion.fps
        during = self.stances.median(1) * seconds
        line, unexplained = self.stances.slope(self.motion.fps)
        if line is None and self.stances.rows[:, 6].sum() < _LONG_STANCES * self.motion.fps:
            return None
        between = during if line is None else line * seconds
        if abs(between) < _DRIFT or not _DRIFTS_ALIKE[0] < during / between < _DRIFTS_ALIKE[1]:
            return None
        return between if unexplained < _DRIFT_UNEXPLAINED else None

    @cached_property
    def floor_velocity(self) -> Array | None:
        """Velocity (3,) in m/s at which the body drifts over the floor, or None if it does not.

        Feet that stand move at this velocity, wherever the body walks.
        """
        if self.stances is None:
            return None
        mean, error = self.stances.mean()
        middle = np.array([self.stances.median(0), 0.0, self.stances.median(2)])
        speed = float(np.hypot(mean[0], mean[2]))
        least = max(_DRIFT_SPEED[0], _DRIFT_DISTANCE * self.motion.fps / len(self.motion))
        if speed < least or speed < _DRIFT_SIGNIFICANT * error:
            return None
        return middle if np.linalg.norm(middle) > _DRIFT_SPEED[1] else None

    @cached_property
    def slip(self) -> float | None:
        """Distance in meters that a standing foot moves in half of the contacts; None if unknown.

        Unlike `foot_slide`, only steady movement counts, so a foot may roll and tremble.
        """
        return None if self.stances is None else self.stances.slip(self.motion.fps)

    @cached_property
    def jitter(self) -> float | None:
        """Noise of the body points in meters (standard deviation), or None if they move smoothly.

        Fourth differences of a smooth motion are small, also if it is played too fast.
        """
        if len(self.motion) < 8:
            return None
        change = np.diff(self._points.astype(np.float64), n=4, axis=0)
        noise = float(np.median(np.abs(change))) / 0.6745 / np.sqrt(70.0)
        return noise if noise > _NOISE else None

    # --- joint ranges -------------------------------------------------------------------

    @cached_property
    def beyond_range(self) -> dict[str, NDArray[np.bool_]]:
        """Masks (T,) of the frames in which a joint is beyond its range, keyed by role."""
        from motionloom.motion.diagnostics.anatomy import joint_angles

        if not len(self.motion) or not self.has("hips", "chest"):
            return {}
        masks: dict[str, NDArray[np.bool_]] = {}
        for angles in joint_angles(self.motion):
            beyond = angles.excess > 0.0
            if beyond.sum() >= max(_RANGE_SHARE * len(beyond), 2.0):
                role = angles.limits.role
                masks[role] = masks.get(role, np.zeros(len(beyond), bool)) | beyond
        return masks

    # --- jumps and flips ----------------------------------------------------------------

    @cached_property
    def turns(self) -> dict[str, NDArray[np.intp]]:
        """Frames at which a joint rotates (or the root moves) implausibly fast, keyed by role."""
        motion = self.motion
        turns: dict[str, NDArray[np.intp]] = {}
        if len(motion) < 2:
            return turns
        for role in (*_TORSO, *_LIMBS):
            name = self.roles.get(role)
            if name not in motion.skeleton.names:
                continue
            turn = motion.rotations[:, motion.skeleton.joint(name)]
            steps = np.degrees(rot.angle_between(turn[1:], turn[:-1]))
            limit = 20.0 + 900.0 / motion.fps if role in _TORSO else 30.0 + 2000.0 / motion.fps
            frames = np.flatnonzero(steps > limit) + 1
            if len(frames):
                turns[role] = frames
        leaps = np.linalg.norm(np.diff(motion.root.astype(np.float64), axis=0), axis=1)
        frames = np.flatnonzero(leaps > 0.15 + 12.0 / motion.fps) + 1
        if len(frames):
            turns["root path"] = frames
        return turns

    @cached_property
    def turn_frames(self) -> NDArray[np.intp]:
        """Frames of all `turns`, sorted."""
        if not self.turns:
            return np.zeros(0, np.intp)
        return np.unique(np.concatenate(list(self.turns.values())))

    @cached_property
    def jump_frames(self) -> NDArray[np.intp]:
        """Frames among `turn_frames` in which a body point visibly jumps.

        The step of the point must exceed its steps in the nearest regular frames before and after,
        because a point that moves fast for several frames does not jump.
        """
        if not len(self.turn_frames):
            return self.turn_frames
        steps = np.linalg.norm(np.diff(self._points.astype(np.float64), axis=0), axis=2)
        sound = np.setdiff1d(np.arange(len(steps)), self.turn_frames - 1)
        after = np.searchsorted(sound, self.turn_frames - 1)
        seen = []
        for frame, k in zip(self.turn_frames, after, strict=True):
            around = steps[sound[max(k - 1, 0) : k + 1]]
            usual = around.max(axis=0) if len(around) else 0.0
            seen.append((steps[frame - 1] - usual).max() > _VISIBLE_LEAP)
        return self.turn_frames[np.array(seen)]

    # --- the center of mass -------------------------------------------------------------

    @cached_property
    def acceleration(self) -> Array | None:
        """Acceleration of the center of mass in g, shape (T, 3).

        The acceleration is measured in windows of a tenth of a second. It is NaN at both ends and
        around jumps, which are reported separately. The result is None if the skeleton has too few
        roles or the motion has too few frames.
        """
        motion = self.motion
        window = max(5, round(0.1 * motion.fps) | 1)
        if len(motion) < window + 4:
            return None
        try:
            center = center_of_mass(motion)
        except RoleError:
            return None
        curve = second_derivative(center, window, 1.0 / motion.fps) / GRAVITY
        for frame in self.turn_frames:
            curve[max(0, frame - window) : frame + window] = np.nan
        return curve if np.isfinite(curve[:, 0]).sum() > 4 else None

    @cached_property
    def flight_gravity(self) -> float | None:
        """Downward acceleration of the center of mass while the body is in the air, in g.

        The value is a high percentile over the flight phases, in which both feet are well above the
        ground and nothing pushes the body sideways (a body that sits down with lifted feet falls
        more slowly). It is None if the motion has no flight phases.
        """
        if self.acceleration is None or not self.has(*_FEET):
            return None
        toes = [role for role in ("left_toe", "right_toe") if role in self.roles]
        low = np.min([self.position(role)[:, 1] for role in (*_FEET, *toes)], axis=0)
        finite = np.isfinite(self.acceleration[:, 0])
        airborne = (low > np.percentile(low, 5.0) + AIRBORNE) & finite
        edges = np.flatnonzero(np.diff(airborne, prepend=False, append=False))
        falls: list[float] = []
        for start, end in edges.reshape(-1, 2):
            if end - start < _FLIGHT_FRAMES:
                continue
            inside = self.acceleration[start + 1 : end - 1]
            fall = float(np.median(-inside[:, 1]))
            push = float(np.median(np.hypot(inside[:, 0], inside[:, 2])))
            if fall > _LEAST_FALL and push < 0.5 * fall:
                falls += [fall] * int(end - start)
        return float(np.percentile(falls, _FASTEST_FALLS)) if falls else None


class BallHeights:
    """Usual heights of the balls of standing feet, collected from takes.

    Takes of one performer share a skeleton, and those of one rig its joint names. The height of a
    performer is used if it is known from enough takes, otherwise that of the rig in relation to the
    body height.

    Examples
    --------
    >>> import motionloom as ml
    >>> heights = BallHeights()
    >>> for name in ("walk", "walk_slow", "walk_fast"):
    ...     heights.add(Measurements(ml.demo.clip(name)))
    >>> floating = ml.demo.clip("walk").transform(shift=(0, 0.03, 0))
    >>> round(Measurements(floating, ball_height=heights.of(floating)).height_error, 2)
    0.03
    """

    def __init__(self) -> None:
        self._heights: dict[object, list[float]] = {}

    def add(self, measured: Measurements) -> None:
        """Add a take, unless it does not stand on its feet."""
        if measured.contacts is None or not measured.on_feet:
            return
        balls, skeleton = measured.ball_level, measured.motion.skeleton
        height = body_height(skeleton) or 1.7
        if -0.1 < balls < _BALLS_ABOVE:
            self._heights.setdefault(_performer(skeleton), []).append(balls)
            self._heights.setdefault(skeleton.names, []).append(balls / height)

    def of(self, motion: Motion) -> float | None:
        """Return the usual height for the skeleton of a motion in meters, or None if unknown."""
        skeleton = hips_as_root(motion).skeleton
        own = self._heights.get(_performer(skeleton), [])
        if len(own) >= _LEAST_TAKES:
            return float(np.median(own))
        rig = self._heights.get(skeleton.names, [])
        if len(rig) < _LEAST_TAKES:
            return None
        return float(np.median(rig)) * (body_height(skeleton) or 1.7)


def _performer(skeleton: Skeleton) -> tuple[tuple[str, ...], bytes]:
    return skeleton.names, np.round(skeleton.offsets, 3).tobytes()
