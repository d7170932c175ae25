"""Feet that stay where they stand, while the motion is still being made.

`Motion.clean_feet` sees the whole motion and eases each foot towards where it will stand. A
player cannot: it knows only what it has played. Here a foot is held at the place where its
contact begins, and what was added to hold it there is given back after the contact, by a
critically damped spring, so that nothing jumps. The root goes along with the feet that are
held, as far and as fast as another spring lets it, and is lowered where a leg is too short.

The state is two dozen numbers per character; it does not grow with what is played.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.motion.easing import critically_damped_spring
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.kinematics.two_bone_kernels import (
    STRAIGHT,
    least_turn,
    set_world,
    solve_limb,
)
from motionloom.motion.rotations.kernels import turned, turned_vector
from motionloom.motion.skeleton import Skeleton

_GIVE_BACK = 12.0  # 1/s: a correction is gone about 0.4 s after its contact
_FOLLOW = 9.0  # 1/s: the root goes along with held feet
_SHARE = 0.7  # of what is added to held feet that the root takes over
_LOWER = 18.0  # 1/s: the root is lowered for legs that cannot reach
_SETTLE = _LOWER  # 1/s: a ball that stands comes down to its ground, and the root with it
_FIRM = 0.04  # metres of rise within which a ball in contact is all but held down
_LIFT_ONSET = 0.003  # metres of depth over which a ball in the ground begins to be lifted
_LOWEST = 0.08  # metres by which the root is lowered at most
_FARTHEST = 0.35  # metres: a foot that would be held farther from its path is let go

# Rows of the state: per foot ankle and ball (place and speed of the correction, the spot, held
# or not), then the root's correction.
_POINTS = 4
_STATE = (_POINTS + 1, 10)


class FootPlanter:
    """Holds the feet of one character, or of many of one skeleton, block by block.

    Parameters
    ----------
    skeleton : Skeleton
        Needs hips' joints, knees, ankles and balls of the feet (role ``foot``).
    fps : float
        Frames per second.
    floor : float, optional
        Height in metres below which no ball may go. Default: none.
    characters : int
        How many there are, for `plant_all`.
    leash : float, optional
        Metres over the floor by which the root goes along at most. Default: no limit.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> contacts = walk.contacts()
    >>> standing = contacts.standing_parts()
    >>> slow = 0.9 * walk.root  # slides: shorter way, same steps
    >>> rotations, root = FootPlanter(walk.skeleton, walk.fps).plant(walk.rotations, slow, standing)
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
        leash: float | None = None,
    ) -> None:
        legs, balls = [], []
        for side in SIDES:
            joints = skeleton.points([f"{side}_hip", f"{side}_knee", f"{side}_ankle"])
            if np.any(joints >= len(skeleton)):
                raise RoleError(
                    f"a {side} hip, knee or ankle is played by an end site, which cannot turn; "
                    "joints are needed. Say which in a mapping file"
                )
            legs.append(joints)
            balls.append(skeleton.point(f"{side}_foot"))
        self.skeleton = skeleton
        self._legs = np.array(legs, np.int64)
        self._ball_parents = skeleton.point_parents[balls].astype(np.int64)
        self._ball_offsets = skeleton.point_offsets[balls]
        self._floor = -np.inf if floor is None else float(floor)
        self._chain = _ancestors(skeleton, self._ball_parents)
        self._fps = float(fps)
        self._leash = np.inf if leash is None else float(leash)
        self._state = np.zeros((characters, *_STATE))

    def forget(self) -> None:
        """Start anew: the next frame stands somewhere else."""
        self._state[:] = 0.0

    def plant(
        self,
        rotations: ArrayLike,
        root: ArrayLike,
        contacts: ArrayLike,
        *,
        grounds: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The next frames, with their feet held.

        Parameters
        ----------
        rotations : array_like, shape (n, J, 4)
        root : array_like, shape (n, 3)
        contacts : array_like of bool, shape (n, 4)
            Which foot parts should stand, in the order of
            `motionloom.motion.feet.contacts.FOOT_PARTS`.
        grounds : array_like, shape (n, 2), optional
            Height in metres at which the left and the right ball stand, where that is known
            (not NaN): a ball in contact comes down to it, and none goes below.

        Returns
        -------
        rotations : ndarray of float32, shape (n, J, 4)
        root : ndarray of float32, shape (n, 3)
        """
        levels = None if grounds is None else np.asarray(grounds)[None]
        turned, moved = self.plant_all(
            np.asarray(rotations)[None], np.asarray(root)[None], np.asarray(contacts)[None],
            grounds=levels,
        )  # fmt: skip
        return turned[0], moved[0]

    def plant_all(
        self,
        rotations: ArrayLike,
        root: ArrayLike,
        contacts: ArrayLike,
        *,
        grounds: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The same for all characters at once; arrays have one more axis, the first."""
        turned = np.array(rotations, np.float32, order="C")
        moved = np.array(root, np.float32, order="C")
        standing = np.ascontiguousarray(contacts, np.bool_)
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
        if grounds is not None:
            levels = np.ascontiguousarray(grounds, np.float64)
            if levels.shape != (count, size, 2):
                raise InvalidInput(
                    f"grounds must have shape ({size}, 2) for each character, one height per "
                    f"ball; got {levels.shape}"
                )
        _plant_all(
            turned,
            moved,
            standing,
            levels,
            self.skeleton.parents.astype(np.int64),
            self.skeleton.offsets.astype(np.float64),
            self._chain,
            self._legs,
            self._ball_parents,
            self._ball_offsets,
            self._floor,
            self._leash,
            1.0 / self._fps,
            self._state,
        )
        return turned, moved


def _ancestors(skeleton: Skeleton, joints: NDArray[np.int64]) -> NDArray[np.int64]:
    """The joints and all above them, from the root on."""
    found: set[int] = set()
    for start in joints:
        joint = int(start)
        while joint >= 0:
            found.add(joint)
            joint = int(skeleton.parents[joint])
    return np.array(sorted(found), np.int64)


@njit(cache=True)
def _sprung(state, c, target, rate, dt):
    """One frame of a spring: place in column c, speed in column 3 + c."""
    away, speed = critically_damped_spring(state[c] - target, state[3 + c], rate, dt)
    state[c], state[3 + c] = target + away, speed


@njit(cache=True)
def _hold(state, place, stands, other, other_held, dt):
    """Move one point's correction on by a frame.

    Columns: 0-2 correction, 3-5 its speed, 6-8 the spot, 9 whether the point is held (1),
    free (0), or let go until the contact ends (2).
    """
    if stands and state[9] == 0.0:
        state[9] = 1.0
        state[6], state[8] = place[0] + state[0], place[2] + state[2]
    elif not stands:
        state[9] = 0.0
    if state[9] == 1.0:
        far = math.hypot(state[6] - place[0], state[8] - place[2])
        if far > _FARTHEST:
            state[9] = 2.0
    for c in (0, 2):
        if state[9] == 1.0:
            held = state[6 + c] - place[c]
            state[3 + c] = (held - state[c]) / dt
            state[c] = held
        else:
            _sprung(state, c, other[c] if other_held else 0.0, _GIVE_BACK, dt)


@njit(cache=True)
def _settle(state, rise, stands, first, dt):
    """Move a ball's vertical correction on: down to its ground in contact, never below it.

    A ball that rises off its ground in contact is held down firmly at first and gives way
    later, so that it can roll off over the toes.
    """
    target = rise * abs(rise) / (abs(rise) + _FIRM) - rise if stands else 0.0
    before = state[1]
    if first:
        state[1] = target
    else:
        _sprung(state, 1, target, _SETTLE if stands else _GIVE_BACK, dt)
    deep = -(rise + state[1])
    if deep > 0.0:
        state[1] += deep * deep / (deep + _LIFT_ONSET)
        state[4] = 0.0 if first else (state[1] - before) / dt


@njit(cache=True, nogil=True)
def _plant_all(
    q, root, contacts, grounds, parents, offsets, chain, legs, ball_parents, ball_offsets, floor,
    leash, dt, states,
):  # fmt: skip
    for n in range(len(q)):
        _plant(
            q[n], root[n], contacts[n], grounds[n], parents, offsets, chain, legs, ball_parents,
            ball_offsets, floor, leash, dt, states[n],
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _plant(
    q, root, contacts, grounds, parents, offsets, chain, legs, ball_parents, ball_offsets, floor,
    leash, dt, state,
):  # fmt: skip
    joints = q.shape[1]
    turn, place = np.zeros((joints, 4)), np.zeros((joints, 3))
    balls, goals = np.zeros((2, 3)), np.zeros((2, 3))
    bone, local, world, around = np.zeros(3), np.zeros(4), np.zeros(4), np.zeros(4)
    upper, lower, sole = np.zeros(4), np.zeros(4), np.zeros(4)
    pelvis = state[_POINTS]
    for t in range(q.shape[0]):
        for j in chain:
            for c in range(4):
                local[c] = q[t, j, c]
            if parents[j] < 0:
                turn[j] = local
                place[j] = root[t]
            else:
                turned(turn[parents[j]], local, turn[j])
                turned_vector(turn[parents[j]], offsets[j], bone)
                place[j] = place[parents[j]] + bone
        # Where ankles and balls should be.
        first = pelvis[9] == 0.0
        held, down, wanted = 0, 0, np.zeros(3)
        for side in range(2):
            ankle = place[legs[side, 2]]
            turned_vector(turn[ball_parents[side]], ball_offsets[side], bone)
            balls[side] = place[ball_parents[side]] + bone
            heel_state, ball_state = state[2 * side], state[2 * side + 1]
            heel_stands, ball_stands = contacts[t, 2 * side], contacts[t, 2 * side + 1]
            _hold(ball_state, balls[side], ball_stands, heel_state, heel_state[9] == 1.0, dt)
            _hold(heel_state, ankle, heel_stands, ball_state, ball_state[9] == 1.0, dt)
            if math.isnan(grounds[t, side]):
                ball_state[1] = max(0.0, floor - balls[side, 1])
            else:
                rise = balls[side, 1] - grounds[t, side]
                _settle(ball_state, rise, ball_stands, first, dt)
                if ball_stands:
                    down += 1
                    wanted[1] += ball_state[1]
            heel_state[1] = ball_state[1]
            for point in (heel_state, ball_state):
                if point[9] == 1.0:
                    held += 1
                    wanted[0] += point[0]
                    wanted[2] += point[2]
            # The foot keeps its length; the ball has the first word.
            lever = balls[side] - ankle
            aim = (balls[side] + ball_state[:3]) - (ankle + heel_state[:3])
            aim *= math.sqrt((lever @ lever) / max(aim @ aim, 1e-12))
            goals[side] = balls[side] + ball_state[:3] - aim
        # The root goes along.
        share = _SHARE / held if held > 0 else 0.0
        for c in (0, 2):
            _sprung(pelvis, c, share * wanted[c], _FOLLOW if held > 0 else _GIVE_BACK, dt)
        far = math.hypot(pelvis[0], pelvis[2])
        if far > leash:
            for c in (0, 2):
                pelvis[c] *= leash / far
                pelvis[3 + c] = 0.0
        short = 0.0
        for side in range(2):
            hip = place[legs[side, 0]] + pelvis[:3]
            hip[1] -= pelvis[1]
            thigh = place[legs[side, 1]] - place[legs[side, 0]]
            shank = place[legs[side, 2]] - place[legs[side, 1]]
            line = place[legs[side, 2]] - place[legs[side, 0]]
            length = STRAIGHT * (math.sqrt(thigh @ thigh) + math.sqrt(shank @ shank))
            length = max(length, math.sqrt(line @ line))
            aside = (goals[side, 0] - hip[0]) ** 2 + (goals[side, 2] - hip[2]) ** 2
            if aside < length * length:
                most = goals[side, 1] + math.sqrt(length * length - aside)
                short = min(short, most - hip[1])
        if down > 0:  # a straight leg cannot go down to its ground alone
            short = min(short, wanted[1] / down)
        if first:
            pelvis[1] = max(short, -_LOWEST)
        else:
            _sprung(pelvis, 1, max(short, -_LOWEST), _LOWER, dt)
        pelvis[9] = 1.0  # the first frame is over
        for c in range(3):
            root[t, c] += pelvis[c]
        # Legs.
        for side in range(2):
            h, k, f = legs[side, 0], legs[side, 1], legs[side, 2]
            shifted = pelvis[:3]
            nothing = np.abs(shifted).max() < 1e-7
            if nothing and np.abs(goals[side] - place[f]).max() < 1e-7:
                continue
            ahead = balls[side] - place[f]
            ahead /= math.sqrt(ahead @ ahead) + 1e-12
            arrived = solve_limb(
                place[h] + shifted, place[k] + shifted, place[f] + shifted, goals[side], ahead,
                upper, lower,
            )  # fmt: skip
            target = balls[side] + state[2 * side + 1, :3]
            least_turn(balls[side] - place[f], target - arrived, sole)
            set_world(q, t, h, turn, parents, upper, np.array([1.0, 0.0, 0.0, 0.0]), around, world)
            set_world(q, t, k, turn, parents, lower, upper, around, world)
            set_world(q, t, f, turn, parents, sole, lower, around, world)
