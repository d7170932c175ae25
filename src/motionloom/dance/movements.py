"""Cut takes into basic movements, which last from one downbeat to the next.

A take is cut at every `meter`-th motion beat. The movements are warped to one beat period and
moved to the origin, facing +Z (Kim, Park and Shin 2003, section 4.1). Movements are compared by the
postures and velocities at their beats, equations (12) to (15).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.motion_beats.beats import Beats
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion.retargeting.retarget import conformed
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

# Joints with weight 1; all others have weight 0. The paper does not list its weights, so these are
# taken from the measure that it cites (Lee, Chai, Reitsma, Hodgins and Pollard 2002). With equal
# weights, a single thumb made up 21 to 26 % of the difference of salsa movements. Joints between
# hips and chest are the spine.
IMPORTANT = ("hips", "spine", "chest", *(f"{side}_{part}" for side in ("left", "right")
             for part in ("shoulder", "elbow", "hip", "knee")))  # fmt: skip
# Limits of the weight of velocities (nu in the paper) if it is chosen from the data. Equal shares
# give 0.007 for walks and 0.02 to 0.07 for captured dances. The built-in dance stands still on its
# beats, so equal shares (3.6) would amplify noise.
_VELOCITY_RANGE = (0.001, 0.1)


@dataclass(frozen=True, eq=False)
class Movement:
    """Basic movement of one character, or of several that move together.

    Attributes
    ----------
    source : tuple of str
        Names of the takes that the movement was cut from, one per character.
    start_frame, end_frame : int
        Frames ``[start_frame, end_frame)`` of the takes. The next movement starts with the last
        beat of this one.
    beats : ndarray, shape (B,)
        Positions of the beats in frames of the take: ``meter + 1`` beats, including the first and
        the last, and one more if `transition_phase` is not 0.
    bodies : tuple of Motion
        Warped motions, the leader first. Beat k is at frame
        ``(k - transition_phase) * beat_frames``.
    beat_frames : int
        Frames between beats.
    mirrored : bool
        True if left and right were exchanged.
    transition_phase : float
        Number of beats by which the movement starts after its first beat and ends after its last
        one. Transitions may be smoother between beats than on a beat, where a foot lands.

    Examples
    --------
    >>> steps = lib.choreography(label="dance", meter=4)
    >>> steps.movements[0].source, steps.movements[0].meter
    (('dance_groove',), 4)
    """

    source: tuple[str, ...]
    start_frame: int
    end_frame: int
    beats: Array
    bodies: tuple[Motion, ...]
    beat_frames: int
    mirrored: bool = False
    transition_phase: float = 0.0

    @property
    def motion(self) -> Motion:
        """Motion of the leader, the first character."""
        return self.bodies[0]

    @property
    def meter(self) -> int:
        """Length of the movement in beats."""
        return len(self.beats) - 1 - (self.transition_phase > 0.0)

    @property
    def clock(self) -> Array:
        """Frames (B,) of the beats in the movement, negative for beats before its start."""
        beats = np.arange(len(self.beats), dtype=np.float64)
        clock: Array = (beats - self.transition_phase) * float(self.beat_frames)
        return clock

    def source_frames(self, frames: Array) -> Array:
        """Convert frames of the movement to frames of the take."""
        return np.interp(frames, self.clock, self.beats)

    def onto(self, skeletons: Sequence[Skeleton]) -> Movement:
        """Return the movement retargeted to one skeleton per character."""
        bodies = zip(self.bodies, skeletons, strict=True)
        return replace(
            self, bodies=tuple(conformed(motion, body, motion.fps) for motion, body in bodies)
        )

    @property
    def text(self) -> str:
        """Text ``NAME:START-END``, as on the command line, followed by ``~`` if mirrored."""
        return f"{self.source[0]}:{self.start_frame}-{self.end_frame}{'~' * self.mirrored}"


def cut_movements(
    motions: Motion | Sequence[Motion],
    beats: Beats,
    *,
    meter: int,
    first_beat: int = 0,
    beat_frames: int | None = None,
    mirrored: bool = False,
) -> list[Movement]:
    """Cut a take into movements, in order of time.

    Parameters
    ----------
    motions : Motion, or several that move together
    beats : Beats
        Beats of these motions.
    meter : int
        Beats per movement.
    first_beat : int
        Index of the first downbeat.
    beat_frames : int, optional
        Beat period of the movements, in frames. Default: the period of the take, rounded.
    mirrored : bool
        True if `motions` are mirrored; stored in the movements.

    Raises
    ------
    InvalidInput
        If the take has fewer beats than one movement needs.

    Examples
    --------
    >>> import motionloom as ml
    >>> dance = ml.demo.clip("dance_groove")
    >>> pieces = cut_movements(dance, ml.beats(dance), meter=4)
    >>> len(pieces[0].beats), pieces[0].motion.root[0, [0, 2]].round(3) + 0
    (5, array([0., 0.], dtype=float32))
    """
    together = (motions,) if isinstance(motions, Motion) else tuple(motions)
    if meter < 1:
        raise InvalidInput(f"meter must be at least 1 beat; got {meter}")
    frames = np.clip(beats.frames, 0.0, len(together[0]) - 1.0)
    usable = len(frames) - first_beat - 1
    if usable < meter:
        name = together[0].name or "the motion"
        raise InvalidInput(
            f"a movement of {meter} beats needs {meter + 1} beats; {name} has "
            f"{max(usable + 1, 0)} after its first downbeat ({len(beats)} in total)"
        )
    every = beat_frames or max(round(beats.period * together[0].fps), 2)
    names = tuple(motion.name for motion in together)
    pieces = []
    for start in range(first_beat, len(frames) - meter, meter):
        at = frames[start : start + meter + 1]
        pieces.append(warped_movement(together, names, at, every, mirrored))
    return pieces


def warped_movement(
    motions: tuple[Motion, ...],
    names: tuple[str, ...],
    beats: Array,
    beat_frames: int,
    mirrored: bool = False,
    *,
    transition_phase: float = 0.0,
) -> Movement:
    """Return the movement between beats (B,), in frames, warped to a constant beat period.

    If `transition_phase` is not 0, the movement starts and ends later by this number of beats, and
    `beats` must have one more entry.
    """
    count = (len(beats) - 1 - (transition_phase > 0.0)) * beat_frames + 1
    place = np.interp(
        np.arange(count) / beat_frames + transition_phase, np.arange(len(beats)), beats
    )
    return Movement(
        source=names,
        start_frame=round(float(place[0])),
        end_frame=round(float(place[-1])) + 1,
        beats=beats,
        bodies=_warped(motions, place),
        beat_frames=beat_frames,
        mirrored=mirrored,
        transition_phase=transition_phase,
    )


def _warped(motions: tuple[Motion, ...], place: Array) -> tuple[Motion, ...]:
    """Sample motions at fractional frames, and move the start of the leader to the origin."""
    taken = [sampled(hips_as_root(motion), place) for motion in motions]
    turn = -float(taken[0][0].headings()[0])
    shift = rot.rotate(rot.yaw(turn), taken[0].root[0].astype(np.float64))
    return tuple(motion.transform(yaw=turn, shift=(-shift[0], 0.0, -shift[2])) for motion in taken)


def sampled(motion: Motion, frames: Array) -> Motion:
    """Sample a motion at fractional frames; the frame rate stays the same."""
    before = np.clip(np.floor(frames).astype(np.intp), 0, len(motion) - 1)
    after = np.minimum(before + 1, len(motion) - 1)
    share = frames - before
    rotations = rot.slerp(motion.rotations[before], motion.rotations[after], share[:, None])

    def mixed(values):
        a, b = values[before].astype(np.float64), values[after].astype(np.float64)
        return a + share.reshape(-1, *[1] * (a.ndim - 1)) * (b - a)

    moved = None if motion.translations is None else mixed(motion.translations)
    return replace(motion, rotations=rotations, root=mixed(motion.root), translations=moved)


@dataclass(frozen=True, eq=False)
class Postures:
    """Postures and velocities of N movements at B beats.

    Attributes
    ----------
    roots : ndarray, shape (N, B, 3 C)
        Root positions of the C characters.
    rotations : ndarray, shape (N, B, J, 4)
        Local rotations of all joints of all characters.
    velocities : ndarray, shape (N, B, C + J, 3)
        Velocities of the roots, then angular velocities of the joints.
    weights : ndarray, shape (J,)
        Weights of the joints in all comparisons, w and v in the paper.
    """

    roots: Array
    rotations: Array
    velocities: Array
    weights: Array


def postures(movements: Sequence[Movement], *, weights: Array | None = None) -> Postures:
    """Return the postures at all beats of all movements, for equations (13) and (14).

    Parameters
    ----------
    movements : sequence of Movement
        Movements with one meter, one beat period and one skeleton.
    weights : array_like, shape (J,), optional
        Weights of the joints of one character. Default: see `joint_weights`.
    """
    _check_alike(movements)
    first = movements[0]
    at = np.arange(first.meter + 1) * first.beat_frames
    return _gathered(movements, [_states(movement.bodies, at) for movement in movements], weights)


def end_postures(
    movements: Sequence[Movement], *, last: bool, weights: Array | None = None
) -> Postures:
    """Return the postures at the first or last frame, moved to the origin to face +Z.

    Position and heading do not count, because a movement starts where the previous one ends.
    """
    _check_alike(movements)
    rows = []
    for movement in movements:
        frame = len(movement.motion) - 1 if last else 0
        low, high = max(frame - 1, 0), frame + 2
        turn = -float(movement.motion[frame].headings()[0])
        place = rot.rotate(rot.yaw(turn), movement.motion.root[frame].astype(np.float64))
        shift = (-place[0], 0.0, -place[2])
        bodies = tuple(body[low:high].transform(yaw=turn, shift=shift) for body in movement.bodies)
        rows.append(_states(bodies, np.array([frame - low])))
    return _gathered(movements, rows, weights)


def differences(a: Postures, b: Postures, *, velocity_weight: float) -> Array:
    """Return the differences (N, M) between all movements of `a` and `b`, equation (15)."""
    total = np.zeros((len(a.roots), len(b.roots)))
    bodies = a.roots.shape[2] // 3
    scale = np.sqrt(np.concatenate([np.ones(bodies), a.weights]))[:, None]
    for k in range(a.roots.shape[1]):
        total += _squared(a.roots[:, k], b.roots[:, k])
        # |log(p^-1 q)| is half the angle of the rotation from p to q.
        dots = np.abs(np.einsum("njc,mjc->nmj", a.rotations[:, k], b.rotations[:, k]))
        total += np.arccos(np.minimum(dots, 1.0)) ** 2 @ a.weights
        va = (a.velocities[:, k] * scale).reshape(len(a.roots), -1)
        vb = (b.velocities[:, k] * scale).reshape(len(b.roots), -1)
        total += velocity_weight * _squared(va, vb)
    return total


def joint_weights(skeleton: Skeleton, weights: Mapping[str, float] | str = "important") -> Array:
    """Return the weight (J,) of every joint in equations (13) and (14).

    Parameters
    ----------
    skeleton : Skeleton
    weights : {"important", "all"} or mapping of str to float
        ``"important"`` gives weight 1 to pelvis, spine, shoulders, elbows, hips and knees and 0 to
        the other joints; ``"all"`` gives weight 1 to all joints. A mapping from roles or joint
        names to weights changes the weights of ``"important"``. If a skeleton has none of the
        important joints, all joints have weight 1.

    Raises
    ------
    InvalidInput
        If a weight is negative or not finite, or all are 0.

    Examples
    --------
    >>> import motionloom as ml
    >>> body = ml.demo.clip("walk").skeleton
    >>> int(joint_weights(body).sum()), int(joint_weights(body, {"head": 1.0}).sum())
    (11, 12)
    """
    if weights == "all":
        return np.ones(len(skeleton))
    given = {} if weights == "important" else weights
    if not isinstance(given, Mapping):
        raise InvalidInput(f"weights must be 'important', 'all' or a mapping; got {weights!r}")
    out = np.zeros(len(skeleton))
    roles = skeleton.roles
    out[[skeleton.joint(roles[role]) for role in IMPORTANT if role in roles]] = 1.0
    if "hips" in roles and "chest" in roles:
        joint, hips = skeleton.joint(roles["chest"]), skeleton.joint(roles["hips"])
        while joint > hips:
            out[joint] = 1.0
            joint = int(skeleton.parents[joint])
    if not out.any():
        out[:] = 1.0
    for name, weight in given.items():
        if not (np.isfinite(weight) and weight >= 0.0):
            raise InvalidInput(f"weights must be at least 0; got {weight} for {name!r}")
        out[skeleton.joint(roles.get(name, name))] = weight
    if not out.any():
        raise InvalidInput("weights must not all be 0")
    return out


@dataclass(frozen=True, eq=False)
class MovementComparison:
    """Weights used to compare movements.

    Attributes
    ----------
    weights : ndarray, shape (J,)
        Weights of the joints of one character, w and v in the paper.
    velocity_weight : float
        Weight of velocities, nu in the paper, in seconds squared.
    """

    weights: Array
    velocity_weight: float

    @classmethod
    def of(
        cls,
        movements: Sequence[Movement],
        weights: Mapping[str, float] | str = "important",
        velocity_weight: float | None = None,
    ) -> MovementComparison:
        """Choose weights for comparing these movements; for `weights`, see `joint_weights`.

        By default, velocities and postures contribute equally, within limits, to the difference of
        a typical pair of movements.
        """
        each = joint_weights(movements[0].motion.skeleton, weights)
        if velocity_weight is None:
            states = postures(movements, weights=each)
            pairs = np.triu_indices(len(movements), 1)
            still = differences(states, states, velocity_weight=0.0)[pairs]
            moving = differences(states, states, velocity_weight=1.0)[pairs] - still
            posed, moved = (float(np.median(x)) if len(x) else 0.0 for x in (still, moving))
            equal = posed / moved if moved > 0.0 else _VELOCITY_RANGE[1]
            velocity_weight = float(np.clip(equal, *_VELOCITY_RANGE))
        return cls(each, float(velocity_weight))


def movement_differences(movements: Sequence[Movement], how: MovementComparison) -> Array:
    """Return the differences (N, N) between all movements, equation (15)."""
    states = postures(movements, weights=how.weights)
    return differences(states, states, velocity_weight=how.velocity_weight)


def transition_differences(
    movements: Sequence[Movement], how: MovementComparison | None = None
) -> Array:
    """Return the differences (N, N) between the last posture of movement i and the first of j."""
    how = how or MovementComparison.of(movements)
    last, first = (end_postures(movements, last=end, weights=how.weights) for end in (True, False))
    return differences(last, first, velocity_weight=how.velocity_weight)


def _states(bodies: tuple[Motion, ...], frames: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """Return roots (B, 3 C), rotations (B, J, 4) and velocities (B, C + J, 3) at `frames`."""
    roots = np.concatenate([body.root[frames] for body in bodies], axis=1)
    rotations = np.concatenate([body.rotations[frames] for body in bodies], axis=1)
    moving = [
        np.gradient(body.root.astype(np.float64), 1.0 / body.fps, axis=0)[frames] for body in bodies
    ]
    turning = [body.angular_velocities()[frames] for body in bodies]
    velocities = np.concatenate([np.stack(moving, axis=1), *turning], axis=1)
    return roots.astype(np.float64), rotations.astype(np.float64), velocities


def _gathered(movements, rows, weights) -> Postures:
    skeleton = movements[0].motion.skeleton
    each = joint_weights(skeleton) if weights is None else np.asarray(weights, np.float64)
    if each.shape != (len(skeleton),) or np.any(each < 0.0):
        raise InvalidInput(
            f"weights must have shape ({len(skeleton)},), one per joint, and not be negative; "
            f"got shape {each.shape}"
        )
    roots, rotations, velocities = (np.stack(part) for part in zip(*rows, strict=True))
    return Postures(roots, rotations, velocities, np.tile(each, len(movements[0].bodies)))


def _check_alike(movements: Sequence[Movement]) -> None:
    if not movements:
        raise InvalidInput("movements must not be empty")
    first = movements[0]
    for other in movements:
        if (other.meter, other.beat_frames, len(other.bodies)) != (
            first.meter, first.beat_frames, len(first.bodies),
        ):  # fmt: skip
            raise InvalidInput(
                "movements must have the same meter, beat period and number of characters; "
                f"{other.text} differs from {first.text}"
            )
        for a, b in zip(other.bodies, first.bodies, strict=True):
            if a.skeleton.names != b.skeleton.names:
                raise InvalidInput(
                    f"movements must have the same joints; {other.text} and {first.text} differ. "
                    "Retarget the takes to one skeleton first"
                )


def _squared(a: Array, b: Array) -> Array:
    """Return the squared distances (N, M) between the rows of (N, D) and (M, D)."""
    from scipy.spatial.distance import cdist

    return cdist(a, b, "sqeuclidean")
