"""Hand holds between partners, detected in movements and restored by inverse kinematics.

In a closed hold, a hand lies on the back of the partner, or two hands hold each other. The hand
then hardly moves relative to a joint of the partner, so holds can be detected automatically. Foot
locking shifts the partners relative to each other, so two-bone inverse kinematics of the arms moves
the hands back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.kernels import kernel
from motionloom.motion import Motion, Skeleton
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.kinematics.forward import global_rotations
from motionloom.motion.kinematics.two_bone import set_global_rotation, solve_two_bone
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.quaternions import multiply_into, rotate_into

Array = NDArray[np.float64]

_STEADY = 0.03  # meters: maximum deviation of a holding hand relative to the held joint
_NEAR = 0.35  # meters: maximum distance between a hand and the held joint


@dataclass(frozen=True, eq=False)
class Holds:
    """Hand holds between two bodies.

    Attributes
    ----------
    arms : ndarray of int, shape (H, 5)
        Body (0 or 1), shoulder, elbow, wrist, and held joint of the partner.
    tips : ndarray, shape (H, 3)
        Offset of the hand from the wrist, in meters.
    anchors : ndarray, shape (H, 3)
        Offset of the held point from the held joint, in meters.
    mates : ndarray of int, shape (H,)
        Index of the other hold if two hands hold each other, otherwise -1.
    """

    arms: NDArray[np.int64]
    tips: Array
    anchors: Array
    mates: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.arms)

    @classmethod
    def of(cls, pairs: Sequence[tuple[Motion, ...]]) -> Holds:
        """Detect the holds in movements of two dancers; there are none if the number is not two.

        Examples
        --------
        >>> import motionloom as ml
        >>> from motionloom.demo.waltz import waltz_take
        >>> Holds.of([waltz_take().motions]).mates
        array([ 3, -1, -1,  0])
        """
        arms, tips, anchors = [], [], []
        hands = [(body, side) for body in (0, 1) for side in SIDES]
        for body, side in hands if pairs and len(pairs[0]) == 2 else []:
            own, other = ([pair[k] for pair in pairs] for k in (body, 1 - body))
            hold = _hold(own, other, side)
            if hold is not None:
                arms.append([body, *hold[0]])
                tips.append(hold[1])
                anchors.append(hold[2])
        rows = np.array(arms, np.int64).reshape(-1, 5)
        mates = np.full(len(rows), -1, np.int64)
        for n, row in enumerate(rows):
            for m, mate in enumerate(rows):
                if row[0] != mate[0] and row[4] == mate[3] and mate[4] == row[3]:
                    mates[n] = m
        return cls(rows, np.array(tips).reshape(-1, 3), np.array(anchors).reshape(-1, 3), mates)

    def keep(
        self,
        skeletons: Sequence[Skeleton],
        rotations: Sequence[NDArray[np.float32]],
        root: Sequence[NDArray[np.float32]],
    ) -> None:
        """Restore the holds of A couples; changes rotations (A, n, J, 4) in place, not root."""
        if len(self):
            parents = [skeleton.parents.astype(np.int64) for skeleton in skeletons]
            chains = [self._chain(body, parents[body]) for body in (0, 1)]
            _keep(
                rotations[0], root[0], rotations[1], root[1], parents[0], skeletons[0].offsets,
                chains[0], parents[1], skeletons[1].offsets, chains[1], self.arms, self.tips,
                self.anchors, self.mates,
            )  # fmt: skip

    def _chain(self, body: int, parents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the joints of a body that are part of a hold, and their ancestors."""
        own = self.arms[:, 0] == body
        chain: set[int] = set()
        for joint in [*self.arms[own, 3], *self.arms[~own, 4]]:
            while joint >= 0:
                chain.add(int(joint))
                joint = parents[joint]
        return np.array(sorted(chain), np.int64)


def _hold(
    own: list[Motion], other: list[Motion], side: str
) -> tuple[list[int], Array, Array] | None:
    """Return arm and held joint, tip and anchor of the hand on `side`; None if it holds nothing."""
    skeleton = own[0].skeleton
    try:
        arm = skeleton.points([f"{side}_{part}" for part in ("shoulder", "elbow", "wrist")])
    except RoleError:
        return None
    if np.any(arm >= len(skeleton)):
        return None
    tip = _tip(skeleton, side, int(arm[2]))
    hand = np.concatenate([_at(motion, int(arm[2]), tip) for motion in own])
    places = np.concatenate([motion.positions() for motion in other]).astype(np.float64)
    world = np.concatenate(
        [global_rotations(motion.rotations, motion.skeleton.parents) for motion in other]
    ).astype(np.float64)
    seen = rot.rotate(rot.inverse(world), hand[:, None] - places)  # (T, J, 3)
    spread = np.sqrt(seen.var(axis=0).sum(axis=-1))
    far = np.linalg.norm(seen.mean(axis=0), axis=-1)
    # If two hands hold each other, the anchor is the hand of the partner.
    for partner_side in SIDES:
        try:
            wrist = int(other[0].skeleton.points([f"{partner_side}_wrist"])[0])
        except RoleError:
            continue
        reached = _tip(other[0].skeleton, partner_side, wrist)
        mate = np.concatenate([_at(motion, wrist, reached) for motion in other])
        if np.linalg.norm(mate - hand, axis=-1).mean() < _STEADY:
            return [*map(int, arm), wrist], tip, reached
    steady = np.flatnonzero(far < _NEAR)
    if not len(steady):
        return None
    joint = int(steady[np.argmin(spread[steady])])
    if spread[joint] > _STEADY:
        return None
    return [*map(int, arm), joint], tip, seen[:, joint].mean(axis=0)


def _tip(skeleton: Skeleton, side: str, wrist: int) -> Array:
    """Return the offset from the wrist to the hand; zero for a skeleton without hands."""
    try:
        hand = int(skeleton.points([f"{side}_hand"])[0])
    except RoleError:
        return np.zeros(3)
    if skeleton.point_parents[hand] != wrist:
        return np.zeros(3)
    return np.asarray(skeleton.point_offsets[hand], np.float64)


def _at(motion: Motion, joint: int, offset: Array) -> Array:
    """Return the world path (T, 3) of a point attached to a joint."""
    world = global_rotations(motion.rotations, motion.skeleton.parents)[:, joint]
    place = motion.positions()[:, joint].astype(np.float64)
    return np.asarray(place + rot.rotate(world.astype(np.float64), offset), np.float64)


@kernel
def _keep(
    q0, root0, q1, root1, parents0, offsets0, chain0, parents1, offsets1, chain1, arms, tips,
    anchors, mates,
):  # fmt: skip
    """Kernel of `Holds.keep`; changes the rotations of both bodies in place.

    Each body has rotations (A, n, J, 4), root (A, n, 3), parents (J,), offsets (J, 3), and the
    joints (M,) of its `chain`, parents first. The H holds have arms (H, 5) as body, shoulder,
    elbow, wrist and held joint of the partner; tips and anchors (H, 3); mates (H,).
    """
    joints = max(q0.shape[2], q1.shape[2])
    turn, place = np.zeros((2, joints, 4)), np.zeros((2, joints, 3))
    goals, bone, local = np.zeros((len(arms), 3)), np.zeros(3), np.zeros(4)
    scratch = np.zeros((4, 4))
    for a in range(q0.shape[0]):
        for t in range(q0.shape[1]):
            _pose(q0[a], root0[a], t, parents0, offsets0, chain0, turn[0], place[0], local, bone)
            _pose(q1[a], root1[a], t, parents1, offsets1, chain1, turn[1], place[1], local, bone)
            # All goals are computed from the unchanged poses, so that two hands meet halfway.
            for h in range(len(arms)):
                other = 1 - arms[h, 0]
                rotate_into(turn[other, arms[h, 4]], anchors[h], bone)
                goals[h] = place[other, arms[h, 4]] + bone
                if mates[h] >= 0:
                    own = arms[h, 0]
                    rotate_into(turn[own, arms[h, 3]], tips[h], bone)
                    goals[h] = 0.5 * (goals[h] + place[own, arms[h, 3]] + bone)
            for h in range(len(arms)):
                if arms[h, 0] == 0:
                    _bring(q0[a], t, parents0, turn[0], place[0], arms[h], tips[h], goals[h],
                           scratch)  # fmt: skip
                else:
                    _bring(q1[a], t, parents1, turn[1], place[1], arms[h], tips[h], goals[h],
                           scratch)  # fmt: skip


@kernel
def _pose(q, root, t, parents, offsets, chain, turn, place, local, bone):
    """Compute global rotations (J, 4) and positions (J, 3) of a chain's joints at frame t.

    `local` (4,) and `bone` (3,) are scratch memory: rotations are float32, products float64.
    """
    for j in chain:
        for c in range(4):
            local[c] = q[t, j, c]
        if parents[j] < 0:
            turn[j] = local
            for c in range(3):
                place[j, c] = root[t, c]
        else:
            multiply_into(turn[parents[j]], local, turn[j])
            rotate_into(turn[parents[j]], offsets[j], bone)
            for c in range(3):
                place[j, c] = place[parents[j], c] + bone[c]


@kernel
def _bring(q, t, parents, turn, place, arm, tip, goal, scratch):
    """Rotate shoulder and elbow so that the tip reaches the goal; the hand keeps its orientation.

    Changes the rotations `q` (n, J, 4) at frame t. `turn` (J, 4) and `place` (J, 3) are the global
    pose before, `arm` is a row of `Holds.arms`, tip and goal have shape (3,), and `scratch` has
    shape (4, 4).
    """
    shoulder, elbow, wrist = arm[1], arm[2], arm[3]
    upper, lower, around, world = scratch[0], scratch[1], scratch[2], scratch[3]
    bone = np.zeros(3)
    rotate_into(turn[wrist], tip, bone)
    solve_two_bone(
        place[shoulder], place[elbow], place[wrist], goal - bone, np.zeros(3), upper, lower
    )
    still = np.array([1.0, 0.0, 0.0, 0.0])
    set_global_rotation(q, t, shoulder, turn, parents, upper, still, around, world)
    set_global_rotation(q, t, elbow, turn, parents, lower, upper, around, world)
    set_global_rotation(q, t, wrist, turn, parents, still, lower, around, world)
