"""Check the seams between movements, and decide which movements may follow each other.

A transition graph defines which groups of movements follow each other, based on average postures. A
pair of movements from two groups may still not fit: the dancer stands on the other foot, the body
is lower, or an arm must cross half a circle before the next beat. Every candidate transition is
therefore played once, as the player does it (`motionloom.blending.inertialization`), and kept only
under these conditions:

* *acceleration*: no joint accelerates, within 0.25 s of the seam, more than 1.5 times the 99.9th
  percentile of the takes (`motionloom.motion.diagnostics.quality`). If both movements are calmer
  than the takes, the limit is based on their largest acceleration instead, so that one wild take
  does not allow rough transitions everywhere;
* *joint steps*: no joint moves much farther in a frame than it does in the two movements; *
*limbs*: no arm or leg is bent much more than in the two movements; * *feet*: a foot that stands
before or after the seam has nearly the same position and velocity in both movements, unless no foot
stands on either side; * *center of mass*: its height and velocity hardly change.

A transition that is too abrupt is tried again with a longer fade. If few movements can follow each
other, feet and center of mass may differ up to twice as much. Movements that follow each other in
a take are not checked for feet and center of mass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from motionloom.blending.inertialization import FADE, led_on, turning
from motionloom.dance.movements import Movement, sampled
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.errors import InvalidInput, RoleError
from motionloom.kernels import kernel
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import usual_acceleration
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.kinematics.body import center_of_mass
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion.rotations.quaternions import exp_into, log_into, multiply_into, rotate_into
from motionloom.motion.smoothing import critically_damped_spring

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FADES = (FADE, 0.6 * FADE, 0.4 * FADE)  # 1/s: the usual fade, and longer ones if needed
_REACH = 0.25  # seconds on either side that belong to a seam
_MARGIN = 0.85  # share of the limit, because locked feet and other tempos add acceleration later
_CALM = 20.0  # m/s^2: acceleration allowed for every pair, times the limit
_FASTER = 1.25  # allowed multiple of the largest step of a joint in the two movements
_STEP = 2.5  # m/s: allowed speed of every joint
_BENT = 0.75  # share of the shortest hip-ankle or shoulder-wrist distance in both movements
_SLIDE = 0.2  # maximum displacement of a standing foot by a seam, in meters
_AHEAD = 0.1  # seconds: weight of the velocity of a foot relative to its position
_DROP = 0.15  # maximum difference in the height of the center of mass, in meters
_PUSH = 1.0  # maximum difference in the velocity of the center of mass, in m/s
# Factors on the last four limits that are tried until half of the movements can follow each other.
# For example, modern dance (CMU 05) has 10 movements of four beats, and with the unscaled limits a
# dance repeats only two of them.
_TOLERANCES = (1.0, 1.5, 2.0)
_MOST = 0.5
_STANCE = 0.15  # seconds before and after a seam in which a standing foot counts
_BLENDED = 0.2  # minimum weight of a movement that counts in a blend
_REACHED = 0.8  # minimum share of the movements that can be reached at all


@dataclass(frozen=True, eq=False)
class SeamTable:
    """Result of checking all transitions between N movements.

    Attributes
    ----------
    ratio : ndarray, shape (N, N)
        Largest acceleration at the seam from movement i to movement j, relative to the 99.9th
        percentile of the takes.
    allowed : ndarray of bool, shape (N, N)
        True if j may follow i.
    fades : ndarray, shape (N, N)
        Decay rate of the offset at the seam, per second.
    """

    ratio: Array
    allowed: Mask
    fades: Array

    @property
    def reached(self) -> int:
        """Number of movements that have an allowed successor."""
        return int(self.allowed.any(axis=1).sum())

    @classmethod
    def of(
        cls,
        movements: Sequence[Movement],
        *,
        max_seam: float,
        usual: Sequence[float] = (),
        speed: float = 1.0,
    ) -> SeamTable:
        """Play every transition between movements once.

        Parameters
        ----------
        movements : sequence of Movement
            Movements with one meter, one beat period and one skeleton per character.
        max_seam : float
            Maximum allowed ratio.
        usual : sequence of float, optional
            Usual acceleration of each character in the takes, in m/s^2. Default: computed from the
            movements.
        speed : float
            Speed at which the movements are played; 1 means as captured.
        """
        bodies = [
            [movement.bodies[c] for movement in movements] for c in range(len(movements[0].bodies))
        ]
        levels = usual or [usual_acceleration(body) for body in bodies]
        ends = [_Ends.of(movements, c, speed) for c in range(len(bodies))]
        consecutive = _consecutive(movements)
        for tolerance in _TOLERANCES:
            fitting = np.all([body.fitting(tolerance) for body in ends], axis=0) | consecutive
            made = cls._played(ends, fitting, levels, max_seam)
            count, part = connected_components(made.allowed, connection="strong")
            if np.bincount(part, minlength=count).max() >= _MOST * len(movements):
                break
        return made

    @classmethod
    def _played(
        cls, ends: Sequence[_Ends], fitting: Mask, usual: Sequence[float], max_seam: float
    ) -> SeamTable:
        """Play the `fitting` transitions (N, N); keep the smooth ones with their shortest fades."""
        ratio, allowed = np.full(fitting.shape, np.inf), np.zeros(fitting.shape, bool)
        fades = np.full(fitting.shape, FADES[0])
        for fade in FADES:
            open_pairs = np.ascontiguousarray(np.argwhere(fitting & ~allowed))
            if not len(open_pairs):
                break
            rough, good = np.zeros(len(open_pairs)), np.ones(len(open_pairs), bool)
            for body, level in zip(ends, usual, strict=True):
                pushes, steps, unbent = body.played(open_pairs, fade)
                own = body.own_push[open_pairs].max(axis=1)
                level = max(float(level), 1e-9)
                limit = _MARGIN * max_seam * np.clip(own, min(_CALM, level), level)
                rough = np.maximum(rough, pushes / level)
                fast = np.maximum(_FASTER * body.own_step[open_pairs].max(axis=1), _STEP / body.fps)
                good &= (pushes <= limit) & (steps <= fast) & unbent
            i, j = open_pairs.T
            better = good | (rough < ratio[i, j])
            ratio[i[better], j[better]] = rough[better]
            fades[i[better], j[better]] = fade
            allowed[i[good], j[good]] = True
        return cls(ratio, allowed, fades)

    def after(self, movements: Sequence[int], weights: Array) -> Mask:
        """Return the mask (N,) of movements that may follow a blend; all True if none may.

        A movement may follow a blend if it may follow every movement with a considerable weight. If
        no movement can, only the movement with the largest weight counts.
        """
        weights = np.asarray(weights)
        blended = np.asarray(movements)[weights > _BLENDED]
        smooth = np.all(self.allowed[blended], axis=0)
        if not smooth.any():
            smooth = self.allowed[movements[int(weights.argmax())]]
        return smooth if smooth.any() else np.ones(len(smooth), bool)

    def without(self, pairs: Iterable[tuple[int, int]]) -> SeamTable:
        """Remove the transitions between the given pairs of movements."""
        allowed = self.allowed.copy()
        for pair in pairs:
            allowed[pair] = False
        return replace(self, allowed=allowed)

    def within(self, graph: TransitionGraph) -> SeamTable | None:
        """Keep the transitions of a graph with which a dance can continue indefinitely.

        These form the strongly connected component with the most movements. Returns None if there
        is none.
        """
        node = np.full(len(self.allowed), -1)
        for number, group in enumerate(graph.members):
            node[list(group)] = number
        in_graph = (node >= 0)[:, None] & (node >= 0)[None]
        able = self.allowed & in_graph & (graph.transitions[node[:, None], node[None]] > 0.0)
        count, part = connected_components(able, connection="strong")
        inside = part[:, None] == part[None]
        alive = np.array([np.any(able & inside & (part == c)) for c in range(count)])
        if not alive.any():
            return None
        best = int(np.argmax(np.where(alive, np.bincount(part, minlength=count), -1)))
        return replace(self, allowed=able & inside & (part == best))


def smooth_graph(graph: TransitionGraph, table: SeamTable) -> TransitionGraph:
    """Return the graph with only allowed transitions; each movement has a successor.

    If the smooth edges of the graph reach fewer than four fifths of the movements that could be
    reached with any edges, edges between other nodes are added where movements fit.

    Raises
    ------
    InvalidInput
        If every dance would end.
    """
    likely = graph.transitions
    least = float(likely[likely > 0.0].min(initial=1.0))
    others = np.maximum(likely, 0.1 * least * ~np.eye(len(likely), dtype=bool))
    every = replace(graph, transitions=others)  # new edges never lead back to the same node
    smooth, most = table.within(graph), table.within(every)
    if most is None:
        best = float(np.min(table.ratio, initial=np.inf))
        raise InvalidInput(
            "no movement can follow another smoothly: every transition moves a standing foot, "
            "drops the body, or accelerates too much"
            + (
                f" (even the smoothest one, {best:.1f} times as much as the takes)"
                if np.isfinite(best)
                else ""
            )
            + ". Add takes, or allow rougher transitions with a larger max_seam"
        )
    if smooth is None or smooth.reached < _REACHED * most.reached:
        smooth, graph = most, every
    used = np.asarray(smooth.allowed.any(axis=1))
    keep = [k for k, group in enumerate(graph.members) if used[list(group)].any()]
    members = tuple(tuple(m for m in graph.members[k] if used[m]) for k in keep)
    likely = graph.transitions[np.ix_(keep, keep)].copy()
    for i, before in enumerate(members):
        for j, after in enumerate(members):
            likely[i, j] *= smooth.allowed[np.ix_(before, after)].any()
    start = graph.start[keep]
    return TransitionGraph(
        tuple(graph.names[k] for k in keep),
        members,
        start if start.any() else np.ones(len(keep)),
        likely,
    )


def _consecutive(movements: Sequence[Movement]) -> Mask:
    """Return the mask (N, N) of pairs of movements that are consecutive in a take."""
    take = {key: n for n, key in enumerate({(m.source, m.mirrored) for m in movements})}
    number = np.array([take[m.source, m.mirrored] for m in movements])
    first = np.array([m.beats[0] for m in movements])
    last = np.array([m.beats[m.meter] for m in movements])
    return (number[:, None] == number) & (np.abs(last[:, None] - first) < 0.5)


@dataclass(frozen=True, eq=False)
class _Ends:
    """Last and first frames of N movements of one body, relative to the seam.

    Attributes
    ----------
    tails : ndarray, shape (N, W, J, 3)
        Joint positions before the end of each movement.
    heads, head_roots : ndarray, shapes (N, F, J, 4) and (N, F, 3)
        Rotations and root positions after the start of each movement.
    ahead, ahead_root : ndarray, shapes (N, J, 4) and (N, 3)
        Extrapolated rotations and root one frame after the end of each movement.
    steps : ndarray, shape (N, 2, J + 1, 3)
        Change per frame at the end and at the start of each movement: rotation vectors of the
        joints, then the root.
    """

    skeleton_parents: NDArray[np.int64]
    offsets: Array
    limbs: NDArray[np.int64]
    fps: float
    tails: Array
    heads: Array
    head_roots: Array
    ahead: Array
    ahead_root: Array
    steps: Array
    tail_push: Array
    own_push: Array
    own_step: Array
    own_limbs: Array
    stands: Mask
    feet: Array
    mass: Array

    @classmethod
    def of(cls, movements: Sequence[Movement], body: int, speed: float) -> _Ends:
        """Return the ends of all movements of one body, relative to the leader at the seam."""
        first = movements[0].bodies[body]
        fps, last = first.fps, len(first) - 1
        reach = max(1, min(round(_REACH * fps), int(last / speed) - 1))
        before = last - speed * np.arange(reach + 1, 0, -1.0)
        after = speed * np.arange(reach + 2.0)
        limbs, rows = _limbs(first), []
        for movement in movements:
            leader, own = movement.motion, movement.bodies[body]
            end = [_seen(sampled(own, np.clip(frames, 0.0, last)), leader, at)
                   for frames, at in ((before, last), (after, 0))]  # fmt: skip
            rows.append((*_prepared(*end), *_own(own, speed, limbs), *_support(own, end)))
        columns = [np.stack(column) for column in zip(*rows, strict=True)]
        skeleton = first.skeleton
        parents = skeleton.parents.astype(np.int64)
        return cls(parents, skeleton.offsets.astype(np.float64), limbs, fps, *columns)

    def fitting(self, tolerance: float) -> Mask:
        """Return the mask (N, N) of pairs whose feet and centers of mass fit within the limits."""
        # Contacts are uncertain at the ends of a cut, so a contact on one side is sufficient.
        stands = self.stands[:, None, 0] | self.stands[None, :, 1]
        away = np.linalg.norm(self.feet[:, None, 0] - self.feet[None, :, 1], axis=-1)
        near = away[..., 0] + _AHEAD * away[..., 1] < tolerance * _SLIDE
        stays = np.any(stands & near, axis=2) | ~stands.any(axis=2)
        change = self.mass[:, None, 0] - self.mass[None, :, 1]
        level = np.abs(change[..., 0, 1]) < tolerance * _DROP
        return stays & level & (np.linalg.norm(change[..., 1, :], axis=-1) < tolerance * _PUSH)

    def played(self, pairs: NDArray[np.int64], fade: float) -> tuple[Array, Array, Mask]:
        """Play pairs (P, 2); return the largest accelerations and steps, and if limbs are valid."""
        out = np.empty((len(pairs), 2 + len(self.limbs)))
        _play(
            np.ascontiguousarray(pairs), self.tails, self.heads, self.head_roots, self.ahead,
            self.ahead_root, self.steps, self.skeleton_parents, self.offsets, self.limbs, fade,
            1.0 / self.fps, out,
        )  # fmt: skip
        unbent = np.all(out[:, 2:] >= _BENT * self.own_limbs[pairs].min(axis=1), axis=1)
        return np.maximum(out[:, 0], self.tail_push[pairs[:, 0]]), out[:, 1], unbent


def _seen(part: Motion, leader: Motion, at: int) -> Motion:
    """Return a part of a movement relative to the position of the leader at a frame."""
    place = PlanarTransform(
        float(leader.root[at, 0]), float(leader.root[at, 2]), float(leader.headings()[at])
    )
    return place.inverse().apply_to_motion(part)


def _prepared(tail: Motion, head: Motion) -> tuple:
    """Return the input of `Inertializer.seam` for two consecutive movements."""
    ending, starting = (m.rotations.astype(np.float64) for m in (tail[-3:], head[:3]))
    paths = [m.root.astype(np.float64) for m in (tail[-3:], head[:3])]
    step, start = led_on(*turning(ending)), led_on(*turning(starting)[::-1])
    step_root = led_on(*np.diff(paths[0], axis=0))
    start_root = led_on(*np.diff(paths[1], axis=0)[::-1])
    steps = np.stack([np.vstack([step, step_root]), np.vstack([start, start_root])])
    places = tail.positions().astype(np.float64)
    pushes = np.linalg.norm(np.diff(places, n=2, axis=0), axis=-1) * tail.fps**2
    return (
        places, head.rotations.astype(np.float64), head.root.astype(np.float64),
        rot.multiply(rot.exp(step), ending[-1]), paths[0][-1] + step_root,
        steps, np.float64(pushes.max(initial=0.0)),
    )  # fmt: skip


def _limbs(body: Motion) -> NDArray[np.int64]:
    """Return the first and last joints (L, 2) of the legs and arms."""
    roles = body.skeleton.roles
    limbs = [
        [body.skeleton.joint(roles[f"{side}_{part}"]) for part in limb]
        for limb in (("hip", "ankle"), ("shoulder", "wrist"))
        for side in SIDES
        if all(roles.get(f"{side}_{part}") in body.skeleton.names for part in limb)
    ]
    return np.array(limbs, np.int64).reshape(-1, 2)


def _own(
    body: Motion, speed: float, limbs: NDArray[np.int64]
) -> tuple[np.float64, np.float64, Array]:
    """Return the largest acceleration and step of a movement, and its shortest limb lengths."""
    places = body.positions().astype(np.float64)
    steps, pushes = (
        np.linalg.norm(np.diff(places, n=n, axis=0), axis=-1).max(initial=0.0) for n in (1, 2)
    )
    lengths = np.linalg.norm(places[:, limbs[:, 0]] - places[:, limbs[:, 1]], axis=-1)
    return (
        np.float64(pushes * (speed * body.fps) ** 2),
        np.float64(steps * speed),
        lengths.min(axis=0),
    )


def _support(body: Motion, ends: Sequence[Motion]) -> tuple[Mask, Array, Array]:
    """Return the foot support at the end and at the start of a movement.

    Returns standing feet (2, 2), positions and velocities of the feet (2, 2, 2, 3) and of the
    center of mass (2, 2, 3).
    """
    feet, mass = np.zeros((2, 2, 2, 3)), np.zeros((2, 2, 3))
    stands = np.zeros((2, 2), bool)
    for k, part in enumerate(ends):
        mass[k] = _state(center_of_mass(part), part.fps, end=k == 0)
        try:
            ankles = part.role_positions([f"{side}_ankle" for side in SIDES]).astype(np.float64)
        except RoleError:
            continue
        feet[k] = _state(ankles, part.fps, end=k == 0).swapaxes(0, 1)
    try:
        contacts = body.contacts()
    except RoleError:
        return stands, feet, mass
    size = max(1, round(_STANCE * body.fps))
    for n, side in enumerate(SIDES):
        standing = contacts.standing(side)
        stands[:, n] = standing[-size:].any(), standing[:size].any()
    return stands, feet, mass


def _state(path: Array, fps: float, *, end: bool) -> Array:
    """Return position and velocity (2, ...) at the end or start of a path (T, ...)."""
    step = path[-1] - path[-2] if end else path[1] - path[0]
    return np.stack([path[-1] + step if end else path[0], step * fps])


@kernel
def _play(
    pairs, tails, heads, head_roots, ahead, ahead_root, steps, parents, offsets, limbs, fade, dt,
    out,
):  # fmt: skip
    """Compute the largest acceleration (m/s^2), largest step (m) and limb lengths (m) of pairs.

    `pairs` (P, 2) are pairs of movements; the arrays of the N movements are those of `_Ends`. The
    skeleton has `parents` (J,), parents first, and `offsets` (J, 3); `limbs` (L, 2) are first and
    last joints. Fills `out` (P, 2 + L). The seam is played as in
    `motionloom.blending.inertialization`.
    """
    joints, frames, width = heads.shape[2], heads.shape[1], tails.shape[1]
    turns, spins = np.empty((joints, 3)), np.empty((joints, 3))
    turn, world = np.empty(4), np.empty((joints, 4))
    local, bone, vector, back = np.empty(4), np.empty(3), np.empty(3), np.empty(4)
    places = np.empty((frames + 2, joints, 3))
    # Scratch memory is allocated once: a table has thousands of pairs of a few dozen frames each.
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        # Start two frames before the seam, so that second differences give accelerations across it.
        places[0], places[1] = tails[a, width - 2], tails[a, width - 1]
        for j in range(joints):
            back[0] = heads[b, 0, j, 0]
            back[1], back[2], back[3] = -heads[b, 0, j, 1], -heads[b, 0, j, 2], -heads[b, 0, j, 3]
            multiply_into(ahead[a, j], back, turn)
            log_into(turn, turns[j])
            for c in range(3):
                spins[j, c] = (steps[a, 0, j, c] - steps[b, 1, j, c]) / dt
        for n in range(frames):
            time = n * dt
            for j in range(joints):
                for c in range(3):
                    vector[c] = critically_damped_spring(turns[j, c], spins[j, c], fade, time)[0]
                exp_into(vector, turn)
                multiply_into(turn, heads[b, n, j], local)
                if parents[j] < 0:
                    world[j] = local
                    for c in range(3):
                        away = ahead_root[a, c] - head_roots[b, 0, c]
                        speed = (steps[a, 0, joints, c] - steps[b, 1, joints, c]) / dt
                        left = critically_damped_spring(away, speed, fade, time)[0]
                        places[n + 2, j, c] = head_roots[b, n, c] + left
                else:
                    multiply_into(world[parents[j]], local, world[j])
                    rotate_into(world[parents[j]], offsets[j], bone)
                    for c in range(3):
                        places[n + 2, j, c] = places[n + 2, parents[j], c] + bone[c]
        push = step = 0.0  # these are squares, so that one square root per pair is sufficient
        for n in range(1, frames + 2):
            for j in range(joints):
                square = bend = 0.0
                for c in range(3):
                    moved = places[n, j, c] - places[n - 1, j, c]
                    square += moved * moved
                    if n > 1:
                        change = moved - places[n - 1, j, c] + places[n - 2, j, c]
                        bend += change * change
                step, push = max(step, square), max(push, bend)
        out[p, 0], out[p, 1] = np.sqrt(push) / (dt * dt), np.sqrt(step)
        for n in range(len(limbs)):
            least = np.inf
            for k in range(2, frames + 2):
                square = 0.0
                for c in range(3):
                    square += (places[k, limbs[n, 0], c] - places[k, limbs[n, 1], c]) ** 2
                least = min(least, square)
            out[p, 2 + n] = np.sqrt(least)
