"""A waltz for two dancers in closed hold, in one world frame and time base.

The couple's coordinate frame moves and turns from beat to beat. The leader's feet are placed
behind its origin, and the follower's in front of it, facing back. When the leader steps with the
left foot, the follower steps with the right.

For crowds, there are takes of a traveling waltz and of marches at several speeds and turn rates. A
foot lands exactly on every beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.balance import Balance, Torso
from motionloom.demo.body import assemble, frame_times, solve_motion
from motionloom.demo.dances import beat_times
from motionloom.demo.gait import walk
from motionloom.demo.performers import Performer, performer
from motionloom.demo.plan import OTHER, SIGN, MotionPlan
from motionloom.motion import Motion

Array = NDArray[np.float64]

_APART = 0.46  # distance between the partners, meters
_BESIDE = 0.05  # offset of each partner to the left, meters


@dataclass(frozen=True)
class Footwork:
    """Step style; times are fractions of a beat interval.

    Attributes
    ----------
    lift : float
        Time of lift-off after the previous beat.
    late : float
        Time after the beat at which the foot comes to rest; a step is heard slightly earlier.
    clearance : float
        Height of the foot's swing, in meters.
    heel : float
        Angle of the raised heel before lift-off, in radians.
    push : float
        Acceleration at both ends of a step; see `ControlCurve.ease`.
    levels : tuple of float
        Lowering of the body on the first, second and third step, in meters.
    lilt : float
        Rise of the body between beats, in meters.
    """

    lift: float = 0.30
    late: float = 0.0
    clearance: float = 0.03
    heel: float = 0.45
    push: float = 0.0
    levels: tuple[float, float, float] = (0.055, 0.022, 0.012)  # fall, rise, rise
    lilt: float = 0.0


@dataclass(frozen=True)
class Couple:
    """The synchronized plans and motions of a leader and a follower."""

    leader_plan: MotionPlan
    follower_plan: MotionPlan
    leader: Motion
    follower: Motion
    times: Array


_SOFT = Footwork()


def waltz(
    leader: Performer,
    follower: Performer,
    seed: int | np.random.Generator,
    *,
    fps: float = 30.0,
    tempo_bpm: float = 87.0,
    bars: int = 8,
    turn: float = 0.5,
    figures: Sequence[tuple[float, float, float]] | None = None,
    footwork: Footwork = _SOFT,
    names: tuple[str, str] = ("waltz_leader", "waltz_follower"),
) -> Couple:
    """Create a waltz of `bars` three-beat bars, with box steps that turn to the left.

    Parameters
    ----------
    leader, follower : Performer
    seed : int or numpy.random.Generator
    fps, tempo_bpm : float
    bars : int
    turn : float
        Rotation of the couple per bar, in radians.
    figures : sequence of (ahead, aside, turn), optional
        One figure per bar instead of box steps: meters ahead on the first beat and to the left
        on the second (for legs of 0.85 m), and the turn in radians. The leading foot alternates
        from bar to bar, left first.
    footwork : Footwork
        Step style; soft by default.
    names : pair of str
        Names of the two motions.
    """
    rng = np.random.default_rng(seed)
    first = 1.2
    if figures is None:
        figures = [(0.36 * (-1) ** bar, -0.34 * (-1) ** bar, turn) for bar in range(bars)]
    bars = len(figures)
    beats = beat_times(first, 3 * bars + 1, tempo_bpm)
    plans = {
        "leader": MotionPlan(leader, rng, position=_stand(np.zeros(2), 0.0, 1.0), heading=0.0),
        "follower": MotionPlan(
            follower, rng, position=_stand(np.zeros(2), 0.0, -1.0), heading=np.pi
        ),
    }
    middle, heading = np.zeros(2), 0.0
    size = 0.5 * (leader.leg + follower.leg) / 0.85
    for k in range(1, len(beats)):
        bar, count = divmod(k - 1, 3)
        forth, sideways, around = figures[bar]
        ahead = np.array([np.sin(heading), np.cos(heading)])
        aside = np.array([np.cos(heading), -np.sin(heading)])
        foot = "left" if (bar % 2 == 0) == (count != 1) else "right"
        if count == 0:
            middle = middle + size * forth * ahead
            heading += 0.5 * around
        elif count == 1:
            middle = middle + size * sideways * aside
            heading += 0.5 * around
        span = float(beats[k - 1]), float(beats[k])
        _step_both(plans, foot, span, middle, heading, count, footwork)
    end = float(beats[-1]) + 0.9
    parameters = {"turn": sum(figure[2] for figure in figures), "bars": bars, "meter": 3}
    for role, plan in plans.items():
        _carriage(plan, first)
        plan.balance(float(beats[-1]) + 0.02, float(beats[-1]) + 0.5)
        plan.add_action(
            "waltz", 0.0, end, beats=[float(b) for b in beats], tempo_bpm=tempo_bpm,
            role=role, **parameters,
        )  # fmt: skip
    times = frame_times(0.0, end, fps)
    bodies = {role: Balance(plan).torso(plan, times) for role, plan in plans.items()}
    hands = _hold(bodies["leader"], bodies["follower"])
    made = {
        role: assemble(plans[role], bodies[role], fps, name, hands[role])
        for role, name in zip(("leader", "follower"), names, strict=True)
    }
    return Couple(plans["leader"], plans["follower"], made["leader"], made["follower"], times)


def _stand(middle: Array, heading: float, role: float) -> tuple[float, float]:
    """Return a partner's position (x, z): leader (1) behind `middle`, follower (-1) in front."""
    ahead = np.array([np.sin(heading), np.cos(heading)])
    aside = np.array([np.cos(heading), -np.sin(heading)])
    place = middle - role * (0.5 * _APART * ahead - _BESIDE * aside)
    return float(place[0]), float(place[1])


def _step_both(plans, foot, span, middle, heading, count, footwork) -> None:
    before, now = span
    gap = now - before
    lift = footwork.lift * gap
    for role, sign in (("leader", 1.0), ("follower", -1.0)):
        plan = plans[role]
        side = foot if role == "leader" else OTHER[foot]
        facing = heading if role == "leader" else heading + np.pi
        width = 0.9 * plan.performer.stance_width
        spot, yaw = plan.slot(side, _stand(middle, heading, sign), facing, width=width)
        plan.step(
            side, before + lift, now + footwork.late * gap, spot, yaw,
            clearance=footwork.clearance, shift=lift, heel=footwork.heel,
            heel_time=lift - 0.02 * gap, push=footwork.push,
        )  # fmt: skip
        start, level = before, -footwork.levels[count]
        if footwork.lilt > 0.0:
            start += 0.5 * gap
            between = 0.5 * (level - footwork.levels[count - 1])
            plan.ease("height", before, start, between + 0.5 * footwork.lilt)
            level -= 0.5 * footwork.lilt
        plan.ease("height", start, now, level)
        plan.ease("chest_side", before, now, SIGN[side] * 0.05 * (count == 1))


def _carriage(plan: MotionPlan, first: float) -> None:
    """Set an upright posture that looks past the partner's shoulder."""
    plan.ease("look_yaw", 0.2, first, 0.45)
    plan.ease("chest_bend", 0.2, first, -0.06)
    plan.ease("left_elbow", -1.0, -0.5, 0.25)
    plan.ease("right_elbow", -1.0, -0.5, 0.25)


def _hold(leader: Torso, follower: Torso) -> dict[str, dict[str, Array]]:
    """Return the positions (T, 3) of the four hands, by role and side."""
    tall, short = leader.performer.height / 1.75, follower.performer.height / 1.75
    # Joined hands are at the mean of the positions that are comfortable for each dancer.
    ours = leader.on_chest([0.50 * tall, 0.13 * tall, 0.26 * tall])
    theirs = follower.on_chest([-0.50 * short, 0.13 * short, 0.26 * short])
    joined = 0.5 * (ours + theirs)
    back = follower.on_chest([0.09 * short, 0.10 * short, -0.11 * short])
    arm = leader.on_chest([-0.21 * tall, 0.13 * tall, 0.05 * tall])
    return {
        "leader": {"left": joined, "right": back},
        "follower": {"right": joined, "left": arm},
    }


# Bars of a traveling waltz: meters ahead, radians to the left; the side step is toward the
# stepping foot.
_FIGURES = tuple(
    (ahead, turn) for ahead in (-0.35, -0.1, 0.15, 0.4, 0.65) for turn in (-0.6, 0.0, 0.6)
)
_ASIDE = 0.28
# Crisp steps make the beat visible in a crowd: the body rises and falls, and feet land on the
# beat.
_CRISP = Footwork(
    lift=0.43,
    late=0.03,
    clearance=0.08,
    heel=0.1,
    push=5.0,
    levels=(0.045, 0.045, 0.045),
    lilt=0.08,
)
# Marches: m/s, and radians to the left per second; all at the same cadence.
_MARCHES = tuple((speed, turn) for speed in (0.3, 0.75, 1.15, 1.5) for turn in (-0.4, 0.0, 0.4))
_STEPS = 7


@dataclass(frozen=True, eq=False)
class CrowdTake:
    """Motions of characters that move together, with their beats.

    Attributes
    ----------
    motions : tuple of Motion
    beats : ndarray, shape (B,)
        Beat times, in seconds; the first is a downbeat.
    """

    motions: tuple[Motion, ...]
    beats: Array


def waltz_take(seed: int = 0, fps: float = 30.0) -> CrowdTake:
    """Create a waltz take whose bars travel and turn in all directions, led by either foot.

    Examples
    --------
    >>> take = waltz_take()
    >>> len(take.motions), (len(take.beats) - 1) % 3
    (2, 0)
    """
    rng = np.random.default_rng([seed, 3])
    order = [_FIGURES[i] for i in rng.permutation(len(_FIGURES))]
    figures = []
    for left, right in zip(order, order[::-1], strict=True):
        figures += [(left[0], -_ASIDE, left[1]), (right[0], _ASIDE, right[1])]
    made = waltz(
        performer(0), performer(1), rng, fps=fps, tempo_bpm=90.0, figures=figures, footwork=_CRISP,
        names=("ballroom_leader", "ballroom_follower"),
    )  # fmt: skip
    return CrowdTake((made.leader, made.follower), np.array(made.leader_plan.actions[0].beats))


def march_takes(seed: int = 0, fps: float = 30.0, *, steps: int = _STEPS) -> list[CrowdTake]:
    """Create marches by one performer at four speeds and three turn rates.

    Examples
    --------
    >>> len(march_takes())
    12
    """
    takes = []
    for k, (speed, turn) in enumerate(_MARCHES):
        plan = MotionPlan(performer(0), np.random.default_rng([seed, 2, k]))
        walk(
            plan, speed=speed, steps=steps, curvature=turn / speed, lead="left", march=True,
            action="march",
        )  # fmt: skip
        lands = [[step.land for step in plan.steps[side]] for side in ("left", "right")]
        # Drop the first step, which is half as long, and the last step, which closes the feet.
        left, right = lands[0][1:-1], lands[1][1:-1]
        beats = np.array(sorted([*left, *right]))
        beats = beats[np.searchsorted(beats, left[0]) :]
        name = f"march_{speed:g}_{'left' if turn > 0 else 'right' if turn else 'straight'}"
        takes.append(
            CrowdTake((solve_motion(plan, fps, start=0.0, end=plan.time, name=name),), beats)
        )
    return takes
