"""Streaming foot lock, which holds feet in contact one block of frames at a time.

`Motion.clean_feet` sees the whole motion and eases each foot toward the position where it will
stand. A player knows only the frames played so far. Here, a foot is therefore held where its
contact begins. After the contact, a critically damped spring releases the correction, so that the
foot does not jump. The root follows the held feet through another spring and is lowered where a leg
is too short.

The state consists of eighty numbers per character and does not grow with time.
"""

from __future__ import annotations

import math
from copy import copy

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.kernels import kernel
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.feet.foot_lock import LIFT_ONSET
from motionloom.motion.kinematics.two_bone import (
    MAX_EXTENSION,
    bend_for_goal,
    bend_two_bone,
    set_global_rotation,
    shortest_rotation_into,
)
from motionloom.motion.rotations.quaternions import multiply_into, rotate_into
from motionloom.motion.skeleton import Skeleton
from motionloom.motion.smoothing import critically_damped_spring

_RELEASE_RATE = 12.0  # 1/s: a correction is gone about 0.4 s after its contact
# Maximum acceleration, in m/s^2, with which a foot is pulled back to its path after a contact.
# Without a limit, a foot held 0.1 m from its path is pulled as hard as the swing itself
# accelerates: the worst of 576 seams of the built-in waltz is 1.75. With limits of 8, 10, 12 and
# 14 it is 1.41, 1.44, 1.50 and 1.56. Walks and marches hold their feet closer to the path and do
# not change.
_RELEASE_PULL = 10.0
_FOLLOW_RATE = 9.0  # 1/s: rate at which the root follows held feet
_ROOT_SHARE = 0.7  # fraction of the correction of held feet that the root takes over
_LOWER_RATE = 18.0  # 1/s: rate at which the root is lowered for legs that cannot reach
_SETTLE_RATE = _LOWER_RATE  # 1/s: rate at which a ball in contact comes down to the ground
# Meters of rise up to which a ball in contact is held down. This is four times the value for whole
# motions (`foot_lock`), because the height of the contact is not known in advance.
_FIRM_RISE_STREAMING = 0.04
_MAX_LOWERING = 0.08  # meters: maximum lowering of the root
_MAX_CORRECTION = 0.35  # meters: a foot that would be held farther from its path is released
_LEAST_LEFT = 0.05  # meters: minimum distance over which a released foot turns around
_CAUGHT_AGAIN = 0.1  # meters from its path at which a released foot may be held again
# After a seam, a foot may stand in the next motion while it is still on its way there. Held at
# once, it would stop from 3 m/s within one frame. A foot is therefore held only once it is slow or
# no longer slows down: a skating foot has a steady speed.
_CATCH_SPEED = 0.6  # m/s: slower feet are held at once
_SKATE_SPEED = 1.5  # m/s: faster feet do not skate, they travel
_SLOWS = 0.95  # a foot slower than this fraction of its last speed slows down
_RISES = 0.3  # m/s: feet that rise faster are not held, ...
_RISEN = 0.6  # ... and held feet that rise faster are released

# In a nearly straight leg, a millimeter between hip and ankle moves the knee by centimeters, and
# the ankle hardly depends on the bend. There a spring moves the bend toward the value that the
# goal needs; the more the knee is bent, the stiffer the spring.
_KNEE_RATE = 20.0  # 1/s for a straight knee
_KNEE_BENT = 0.25  # radians at which the rate is twice as high

# Rows of the state: ankle and ball of each foot (correction, its velocity, held position, phase),
# then the correction of the root. An ankle also has the correction of its knee's bend.
_POINTS = 4
_STATE = (_POINTS + 1, 16)


class StreamingFootLock:
    """Block-by-block foot lock for one or more characters that share a skeleton.

    Parameters
    ----------
    skeleton : Skeleton
        Needs the roles ``hip``, ``knee``, ``ankle`` and ``foot`` (the ball) on both sides.
    fps : float
        Frames per second.
    floor : float, optional
        Minimum height of the balls of the feet, in meters. Default: no limit.
    characters : int
        Number of characters, for `lock_all`.
    max_root_shift : float, optional
        Maximum horizontal shift of the root in meters. Default: no limit.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> contacts = walk.contacts()
    >>> standing = contacts.standing_parts()
    >>> slow = 0.9 * walk.root  # the feet slide: a shorter path, the same steps
    >>> foot_lock = StreamingFootLock(walk.skeleton, walk.fps)
    >>> rotations, root = foot_lock.lock(walk.rotations, slow, standing)
    >>> rotations.shape == walk.rotations.shape
    True
    """

    def __init__(
        self,
        skeleton: Skeleton,
        fps: float,
        *,
        floor: float | None = None,
        characters: int = 1,
        max_root_shift: float | None = None,
    ) -> None:
        legs, balls = [], []
        for side in SIDES:
            joints = skeleton.points([f"{side}_hip", f"{side}_knee", f"{side}_ankle"])
            if np.any(joints >= len(skeleton)):
                raise RoleError(
                    f"roles {side}_hip, {side}_knee and {side}_ankle must be joints, but one is "
                    f"an end site, which has no rotation. Assign joints in a mapping file"
                )
            legs.append(joints)
            balls.append(skeleton.point(f"{side}_foot"))
        self.skeleton = skeleton
        ball_parents = skeleton.point_parents[balls].astype(np.int64)
        # A plain tuple, because the list of compiled signatures cannot name a tuple's fields.
        self._tree = (
            skeleton.parents.astype(np.int64),
            skeleton.offsets.astype(np.float64),
            _ancestors(skeleton, ball_parents),
            np.array(legs, np.int64),
            ball_parents,
            skeleton.point_offsets[balls],
        )
        self._floor = -np.inf if floor is None else float(floor)
        self._fps = float(fps)
        self._max_root_shift = np.inf if max_root_shift is None else float(max_root_shift)
        self._state = np.zeros((characters, *_STATE))

    def reset(self) -> None:
        """Reset the state so that the next frame does not continue from the last one."""
        self._state[:] = 0.0

    def copy(self) -> StreamingFootLock:
        """Return a copy of the foot lock in the same state."""
        other = copy(self)
        other._state = self._state.copy()
        return other

    def rebase(self) -> NDArray[np.float64]:
        """Return the root shift (characters, 3), with y = 0, and subtract it from the state.

        Add the shift to the root of all later frames, so that no visible movement results. From
        then on, the root is where the held feet have carried it, and a free leg needs no correction
        for a root that follows the other foot. Such a correction would move a nearly straight knee
        by centimeters.

        Examples
        --------
        >>> import motionloom as ml
        >>> walk = ml.demo.clip("walk")
        >>> foot_lock = StreamingFootLock(walk.skeleton, walk.fps)
        >>> foot_lock.rebase()
        array([[0., 0., 0.]])
        """
        shift = self._state[:, _POINTS, :3] * [1.0, 0.0, 1.0]
        self._state[:, :, :3] -= shift[:, None]
        return shift

    def lock(
        self,
        rotations: ArrayLike,
        root: ArrayLike,
        contacts: ArrayLike,
        *,
        ground_heights: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the next frames with locked feet.

        Parameters
        ----------
        rotations : array_like, shape (n, J, 4)
        root : array_like, shape (n, 3)
        contacts : array_like of bool, shape (n, 4)
            True for foot parts in contact, in the order of
            `motionloom.motion.feet.contacts.FOOT_PARTS`.
        ground_heights : array_like, shape (n, 2), optional
            Height of the ground in meters under the left and the right ball; NaN where unknown. A
            ball in contact comes down to the ground, and no ball goes below it.

        Returns
        -------
        rotations : ndarray of float32, shape (n, J, 4)
        root : ndarray of float32, shape (n, 3)
        """
        levels = None if ground_heights is None else np.asarray(ground_heights)[None]
        turned, moved = self.lock_all(
            np.asarray(rotations)[None], np.asarray(root)[None], np.asarray(contacts)[None],
            ground_heights=levels,
        )  # fmt: skip
        return turned[0], moved[0]

    def lock_all(
        self,
        rotations: ArrayLike,
        root: ArrayLike,
        contacts: ArrayLike,
        *,
        ground_heights: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Lock the feet of all characters at once; arrays have an additional leading axis."""
        turned = np.array(rotations, np.float32, order="C")
        moved = np.array(root, np.float32, order="C")
        standing = np.array(contacts, np.bool_, order="C")
        count, size = turned.shape[:2] if turned.ndim > 1 else (0, 0)
        if turned.shape[2:] != (len(self.skeleton), 4) or count != len(self._state):
            raise InvalidInput(
                f"rotations must have shape (frames, {len(self.skeleton)}, 4) for each of "
                f"{len(self._state)} characters; got {turned.shape}"
            )
        if moved.shape != (count, size, 3) or standing.shape != (count, size, 4):
            raise InvalidInput(
                f"root and contacts must have shapes ({size}, 3) and ({size}, 4) for each "
                f"character; got {moved.shape} and {standing.shape}"
            )
        levels = np.full((count, size, 2), np.nan)
        if ground_heights is not None:
            levels = np.ascontiguousarray(ground_heights, np.float64)
            if levels.shape != (count, size, 2):
                raise InvalidInput(
                    f"ground_heights must have shape ({size}, 2) for each character, one height "
                    f"per ball; got {levels.shape}"
                )
        limits = self._floor, self._max_root_shift, 1.0 / self._fps
        _lock_all(turned, moved, standing, levels, self._tree, limits, self._state)
        return turned, moved


def _ancestors(skeleton: Skeleton, joints: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the given joints and all their ancestors, root first."""
    chain: set[int] = set()
    for start in joints:
        joint = int(start)
        while joint >= 0:
            chain.add(joint)
            joint = int(skeleton.parents[joint])
    return np.array(sorted(chain), np.int64)


@kernel
def _spring_step(state, c, target, rate, dt):
    """Advance a spring by one frame: position in column c of `state` (16,), velocity in 3 + c."""
    away, speed = critically_damped_spring(state[c] - target, state[3 + c], rate, dt)
    state[c], state[3 + c] = target + away, speed


@kernel
def _release_rate(state):
    """Return the rate, in 1/s, of the spring that releases the correction in `state` (16,).

    The acceleration along a correction c of velocity v is ``r**2 c + 2 r v`` for a rate r. The
    rate is reduced where this exceeds `_RELEASE_PULL`, unless the foot would then lag behind by
    more than `_MAX_CORRECTION`.
    """
    away = math.hypot(state[0], state[2])
    if away < 1e-6:
        return _RELEASE_RATE
    speed = (state[0] * state[3] + state[2] * state[5]) / away
    gentle = (math.sqrt(speed * speed + _RELEASE_PULL * away) - speed) / away
    # A foot that a run leaves behind at speed v lags by another v / (e r).
    left = max(_MAX_CORRECTION - away, _LEAST_LEFT)
    return min(_RELEASE_RATE, max(gentle, speed / (math.e * left)))


@kernel
def _hold_point(state, place, stands, other, other_held, first, dt):
    """Advance the correction `state` (16,) of a point at `place` (3,) in the motion by one frame.

    `other` (16,) is the state of the other point of the foot. Columns: 0-2 correction, 3-5 its
    velocity, 6-8 held position, 9 phase: held (1), free (0), or released until it is near its path
    or the contact ends (2); 10-11 last position on the floor, 12 last speed, 15 last height.
    """
    # The speed includes the correction; the rise is that of the motion itself.
    here, there = place[0] + state[0], place[2] + state[2]
    speed = 0.0 if first else math.hypot(here - state[10], there - state[11]) / dt
    travels = speed > _SKATE_SPEED or (speed > _CATCH_SPEED and speed < _SLOWS * state[12])
    rises = 0.0 if first else (place[1] - state[15]) / dt
    travels = travels or rises > _RISES
    if stands and not travels and state[9] == 0.0:
        state[9] = 1.0
        state[6], state[8] = here, there
    elif not stands or (state[9] == 2.0 and math.hypot(state[0], state[2]) < _CAUGHT_AGAIN):
        state[9] = 0.0
    if state[9] == 1.0:
        far = math.hypot(state[6] - place[0], state[8] - place[2])
        if far > _MAX_CORRECTION or rises > _RISEN:
            state[9] = 2.0
    rate = _RELEASE_RATE if other_held else _release_rate(state)
    for c in (0, 2):
        if state[9] == 1.0:
            # The velocity is updated so that the spring takes over without a jerk.
            correction = state[6 + c] - place[c]
            state[3 + c] = (correction - state[c]) / dt
            state[c] = correction
        else:
            # A free heel follows the held ball, and a free ball follows the held heel: the foot
            # moves as one. If neither is held, the correction fades to zero.
            _spring_step(state, c, other[c] if other_held else 0.0, rate, dt)
    state[10], state[11], state[12] = place[0] + state[0], place[2] + state[2], speed
    state[15] = place[1]


@kernel
def _settle_ball(state, rise, stands, first, dt):
    """Advance the vertical correction of a ball: down to the ground in contact, never below it.

    `state` is (16,), and `rise` is the height of the ball above its ground in meters. A ball that
    rises in contact is held down firmly at first and then released gradually, so that it can roll
    off over the toes.
    """
    target = rise * abs(rise) / (abs(rise) + _FIRM_RISE_STREAMING) - rise if stands else 0.0
    before = state[1]
    if first:
        state[1] = target
    else:
        _spring_step(state, 1, target, _SETTLE_RATE if stands else _RELEASE_RATE, dt)
    # Below the ground the lift grows smoothly from zero: first quadratically, then linearly with
    # `deep`.
    deep = -(rise + state[1])
    if deep > 0.0:
        state[1] += deep * deep / (deep + LIFT_ONSET)
        state[4] = 0.0 if first else (state[1] - before) / dt


@kernel
def _bend_knee(state, more, bend, first, dt):
    """Advance the knee-bend correction (column 13; velocity in column 14) toward `more`."""
    if first:
        state[13] = more
        return
    # The rate grows with the bend, because a bent knee moves little for the same travel of the
    # ankle.
    rate = _KNEE_RATE * (1.0 + (bend / _KNEE_BENT) ** 2)
    away, speed = critically_damped_spring(state[13] - more, state[14], rate, dt)
    state[13], state[14] = more + away, speed


@kernel
def _lock_all(q, root, contacts, levels, tree, limits, states):
    """Run `_lock` for N characters; all arrays except the ones in `tree` have a leading axis N."""
    for n in range(len(q)):
        _lock(q[n], root[n], contacts[n], levels[n], tree, limits, states[n])


@kernel
def _lock(q, root, contacts, levels, tree, limits, state):
    """Lock the feet of one character in T frames, in place.

    q (T, J, 4) and root (T, 3): float32, changed. contacts (T, 4): heel and ball of each side.
    levels (T, 2): ground under the balls, NaN where unknown. tree: parents (J,), offsets (J, 3),
    chain (C,), the ankles' and balls' joints with all ancestors, parents first; legs (2, 3), hip,
    knee and ankle; ball_parents (2,) and ball_offsets (2, 3). limits: height of the floor (or
    -inf), maximum root shift (or inf), seconds per frame. state (5, 16): see `_STATE`.

    Frames are processed in order, because each continues the springs of the last. Within a frame,
    the steps are forward kinematics of the legs, the goals of ankles and balls, the root, and
    finally the rotations of the legs. Everything is computed in float64; only the results are
    rounded to float32.
    """
    parents, offsets, chain, legs, ball_parents, ball_offsets = tree
    floor, max_root_shift, dt = limits
    joints = q.shape[1]
    turn, place = np.zeros((joints, 4)), np.zeros((joints, 3))
    balls, goals = np.zeros((2, 3)), np.zeros((2, 3))
    bone, local, world, around = np.zeros(3), np.zeros(4), np.zeros(4), np.zeros(4)
    upper, lower, sole = np.zeros(4), np.zeros(4), np.zeros(4)
    pelvis = state[_POINTS]
    for t in range(q.shape[0]):
        # Forward kinematics of the joints above the feet only.
        for j in chain:
            for c in range(4):
                local[c] = q[t, j, c]
            if parents[j] < 0:
                turn[j] = local
                place[j] = root[t]
            else:
                multiply_into(turn[parents[j]], local, turn[j])
                rotate_into(turn[parents[j]], offsets[j], bone)
                place[j] = place[parents[j]] + bone
        # Targets of ankles and balls.
        first = pelvis[9] == 0.0
        held_points, down, wanted = 0, 0, np.zeros(3)
        for side in range(2):
            ankle = place[legs[side, 2]]
            rotate_into(turn[ball_parents[side]], ball_offsets[side], bone)
            balls[side] = place[ball_parents[side]] + bone
            heel_state, ball_state = state[2 * side], state[2 * side + 1]
            heel_stands, ball_stands = contacts[t, 2 * side], contacts[t, 2 * side + 1]
            # The ball comes first: a free heel then follows it in the same frame.
            fixed = heel_state[9] == 1.0
            _hold_point(ball_state, balls[side], ball_stands, heel_state, fixed, first, dt)
            fixed = ball_state[9] == 1.0
            _hold_point(heel_state, ankle, heel_stands, ball_state, fixed, first, dt)
            if math.isnan(levels[t, side]):  # unknown ground: only stay above the floor
                ball_state[1] = max(0.0, floor - balls[side, 1])
            else:
                rise = balls[side, 1] - levels[t, side]
                _settle_ball(ball_state, rise, ball_stands, first, dt)
                if ball_stands:
                    down += 1
                    wanted[1] += ball_state[1]
            heel_state[1] = ball_state[1]
            for point in (heel_state, ball_state):
                if point[9] == 1.0:
                    held_points += 1
                    wanted[0] += point[0]
                    wanted[2] += point[2]
            # The foot keeps its length; the ball takes precedence unless the heel alone is held.
            lever = balls[side] - ankle
            aim = (balls[side] + ball_state[:3]) - (ankle + heel_state[:3])
            aim *= math.sqrt((lever @ lever) / max(aim @ aim, 1e-12))
            if heel_state[9] == 1.0 and ball_state[9] != 1.0:
                for c in (0, 2):
                    ball_state[c] = ankle[c] + heel_state[c] + aim[c] - balls[side, c]
                    ball_state[10 + c // 2] = balls[side, c] + ball_state[c]
            goals[side] = balls[side] + ball_state[:3] - aim
            if heel_state[9] != 1.0:  # a heel that is held next is held at its visible position
                for c in (0, 2):
                    heel_state[c] = goals[side, c] - ankle[c]
                    heel_state[10 + c // 2] = goals[side, c]
        # The root follows the mean correction of the held points only partly; the legs take the
        # rest.
        share = _ROOT_SHARE / held_points if held_points > 0 else 0.0
        for c in (0, 2):
            _spring_step(
                pelvis, c, share * wanted[c], _FOLLOW_RATE if held_points > 0 else _RELEASE_RATE, dt
            )
        far = math.hypot(pelvis[0], pelvis[2])
        if far > max_root_shift:
            for c in (0, 2):
                pelvis[c] *= max_root_shift / far
                pelvis[3 + c] = 0.0
        # Lowering of the root at which both legs reach their goals. A leg that the motion itself
        # stretches beyond MAX_EXTENSION may keep its length.
        short = 0.0
        for side in range(2):
            hip = place[legs[side, 0]] + pelvis[:3]
            hip[1] -= pelvis[1]  # without the lowering of the last frame
            thigh = place[legs[side, 1]] - place[legs[side, 0]]
            shank = place[legs[side, 2]] - place[legs[side, 1]]
            line = place[legs[side, 2]] - place[legs[side, 0]]
            length = MAX_EXTENSION * (math.sqrt(thigh @ thigh) + math.sqrt(shank @ shank))
            length = max(length, math.sqrt(line @ line))
            aside = (goals[side, 0] - hip[0]) ** 2 + (goals[side, 2] - hip[2]) ** 2
            if aside < length * length:
                most = goals[side, 1] + math.sqrt(length * length - aside)
                short = min(short, most - hip[1])
        if down > 0:  # a straight leg cannot reach its ground without the root
            short = min(short, wanted[1] / down)
        if first:
            pelvis[1] = max(short, -_MAX_LOWERING)
        else:
            _spring_step(pelvis, 1, max(short, -_MAX_LOWERING), _LOWER_RATE, dt)
        pelvis[9] = 1.0  # the first frame is over
        for c in range(3):
            root[t, c] += pelvis[c]
        # Legs: thigh, shank, then foot, each compensated for the change of its parent.
        for side in range(2):
            h, k, f = legs[side, 0], legs[side, 1], legs[side, 2]
            shifted = pelvis[:3]
            hip, knee, ankle = place[h] + shifted, place[k] + shifted, place[f] + shifted
            more, bend = bend_for_goal(hip, knee, ankle, goals[side])
            _bend_knee(state[2 * side], more, bend, first, dt)
            # A leg that needs no change keeps its rotations bit for bit.
            nothing = max(np.abs(shifted).max(), abs(state[2 * side, 13])) < 1e-7
            if nothing and np.abs(goals[side] - place[f]).max() < 1e-7:
                continue
            ahead = balls[side] - place[f]
            ahead /= math.sqrt(ahead @ ahead) + 1e-12
            arrived = bend_two_bone(
                hip, knee, ankle, goals[side], ahead, state[2 * side, 13], upper, lower
            )
            target = balls[side] + state[2 * side + 1, :3]
            shortest_rotation_into(balls[side] - place[f], target - arrived, sole)
            still = np.array([1.0, 0.0, 0.0, 0.0])
            set_global_rotation(q, t, h, turn, parents, upper, still, around, world)
            set_global_rotation(q, t, k, turn, parents, lower, upper, around, world)
            set_global_rotation(q, t, f, turn, parents, sole, lower, around, world)
