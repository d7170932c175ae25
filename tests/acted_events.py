"""Small procedural motions whose events are known, for predicates that the corpus does not show.

Each motion lists what it shows (`shows`: predicate, side, start and end in seconds) and what may
be said of it besides (`also`). Standing bodies are plans of the built-in corpus; bodies on the
floor and in the air are a few key poses, with the lowest point of the body on the floor, and the
center of mass on its parabola in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from motionloom.demo.balance import Balance
from motionloom.demo.body import assemble, frame_times
from motionloom.demo.gait import jog
from motionloom.demo.performers import performer as numbered
from motionloom.demo.plan import HANGING_LEG, OTHER, MotionPlan
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import center_of_mass
from motionloom.motion.rotations import quaternions as rot

FPS = 30.0
GRAVITY = 9.81
PERFORMERS = 4


@dataclass(frozen=True)
class Shown:
    """An event that a motion shows: its middle, or its limits, must be found."""

    name: str
    side: str
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class ActedEvents:
    """A motion and its events; `also` are predicates that may or may not be found in it."""

    name: str
    motion: Motion
    shows: tuple[Shown, ...]
    also: frozenset[str] = field(default_factory=frozenset)


def acted_events(performers: Sequence[int] = range(PERFORMERS)) -> Iterator[ActedEvents]:
    """All motions of some performers of the corpus."""
    for number in performers:
        for make in _MOTIONS:
            yield from make(number)


# --- standing bodies, by plans of the corpus --------------------------------------------------


class _Standing:
    """A plan of one performer, in which poses are held between two seconds."""

    def __init__(self, number: int, seconds: float = 5.0, ease: float = 0.4) -> None:
        self.plan = MotionPlan(numbered(number), np.random.default_rng([7, number]))
        self.seconds, self.ease = seconds, ease
        self.size = self.plan.performer.leg / 0.86  # of lengths that are given for one body
        self.hands: list[tuple[str, str, float, float, np.ndarray]] = []

    def hold(self, curve: str, start: float, end: float, value, back=0.0) -> None:
        """Move to a value so that the middle of the movement is at `start`, and back at `end`."""
        half = 0.5 * self.ease
        self.plan.ease(curve, start - half, start + half, value)
        self.plan.ease(curve, end - half, end + half, back)

    def arm(self, side: str, start: float, end: float, value) -> None:
        from motionloom.demo.plan import REST_ARM

        self.hold(f"{side}_arm", start, end, value, REST_ARM)

    def hand_at(self, side: str, role: str, start: float, end: float, offset) -> None:
        """Hold a hand at a joint, with an offset (left, up, forward), meters."""
        self.hands.append((side, role, start, end, np.asarray(offset, float)))

    def lift_leg(self, side: str, start: float, end: float, angles) -> None:
        """Stand on the other leg, with the foot of `side` in the air."""
        plan, half = self.plan, 0.5 * self.ease
        lift, land = start - half, end + half
        home = plan.curves[f"{side}_place"].last
        yaw = float(plan.curves[f"{side}_yaw"].last)
        plan.step(side, lift, land, home, yaw, clearance=0.05, shift=0.6, heel=0.3)
        plan.ease(f"{side}_free", lift, start + half, 1.0)
        plan.ease(f"{side}_free_leg", lift, start + half, angles)
        plan.ease(f"{side}_free_leg", end - half, land, HANGING_LEG)
        plan.ease(f"{side}_free", end - half, land, 0.0)
        plan.balance(land, land + 0.5)

    def solved(self, name: str) -> Motion:
        self.plan.add_action("gesture", 0.0, self.seconds)
        body = Balance(self.plan).torso(self.plan, frame_times(0.0, self.seconds, FPS))
        free = assemble(self.plan, body, FPS, name)
        if not self.hands:
            return free
        times = np.arange(len(free)) / FPS
        places = free.positions(end_sites=True)
        stored = {}
        for side in ("left", "right"):
            tip = free.skeleton.point_names.index(f"{side.title()}Hand_End")
            at = places[:, tip].astype(float)
            for _, role, start, end, offset in (row for row in self.hands if row[0] == side):
                goal = places[:, free.skeleton.point(role)] + offset
                half = 0.5 * self.ease
                weight = _eased(times, start - half, start + half)
                weight = weight * (1.0 - _eased(times, end - half, end + half))
                at = at + weight[:, None] * (goal - at)
            stored[side] = at
        return assemble(self.plan, body, FPS, name, stored)


def _eased(times, start: float, end: float):
    u = np.clip((times - start) / (end - start), 0.0, 1.0)
    return u**3 * (10 - 15 * u + 6 * u**2)


def _gesture(number: int, name: str, fill: Callable[[_Standing], None], rows, also=(), **kw):
    made = _Standing(number, **kw)
    fill(made)
    shows = tuple(Shown(*row) for row in rows)
    yield ActedEvents(f"{name}_p{number}", made.solved(name), shows, frozenset(also))


def _arms(number: int) -> Iterator[ActedEvents]:
    s, e = 1.2, 3.4
    for side in ("left", "right"):

        def raised(b: _Standing, side=side) -> None:
            b.arm(side, s, e, (2.95, 0.1, 0.15))

        yield from _gesture(
            number,
            f"raise_hand_{side}",
            raised,
            [("raise_hand", side, s + 0.1, e - 0.1)],
            ["reach", "lean_side"],
        )

        def waving(b: _Standing, side=side) -> None:
            arm = b.plan.curves[f"{side}_arm"]
            arm.ease(s - 0.6, s, (1.9, 0.4, 1.4))
            for k in range(7):
                arm.ease(s + 0.3 * k, s + 0.3 * (k + 1), (1.9, 0.1 if k % 2 else 0.7, 1.4))
            b.plan.relax(s + 2.2, s + 2.9)

        yield from _gesture(
            number,
            f"wave_{side}",
            waving,
            [("wave", side, s, s + 2.1)],
            ["raise_hand", "hand_to_head", "lean_side"],
        )

    def both(b: _Standing) -> None:
        for side in ("left", "right"):
            b.arm(side, s, e, (2.95, 0.1, 0.15))

    yield from _gesture(
        number, "arms_up", both, [("arms_up", "", s + 0.1, e - 0.1)], ["swing_arms"]
    )

    def out(b: _Standing) -> None:
        for side in ("left", "right"):
            b.arm(side, s, e, (0.0, 1.5, 0.1))

    yield from _gesture(number, "arms_out", out, [("arms_out", "", s, e)], ["swing_arms"])

    def forward(b: _Standing) -> None:
        for side in ("left", "right"):
            b.arm(side, s, e, (1.5, 0.0, 0.1))

    yield from _gesture(
        number,
        "arms_forward",
        forward,
        [("arms_forward", "", s, e)],
        ["swing_arms", "hands_together"],
    )

    def swung(b: _Standing) -> None:
        for side in ("left", "right"):
            arm = b.plan.curves[f"{side}_arm"]
            arm.ease(1.5, 1.8, (-0.5, 0.3, 0.3))
            arm.ease(2.5, 2.85, (2.2, 0.3, 0.3))
            arm.ease(3.4, 4.4, (0.06, 0.16, 0.30))

    yield from _gesture(
        number,
        "swing_arms",
        swung,
        [("swing_arms", "", 2.55, 2.8)],
        ["arms_up", "arms_forward", "reach"],
    )


def _hands(number: int) -> Iterator[ActedEvents]:
    s, e = 1.3, 3.3
    for side in ("left", "right"):
        sign = 1.0 if side == "left" else -1.0

        def to_head(b: _Standing, side=side, sign=sign) -> None:
            b.hand_at(side, "head", s, e, (0.1 * sign, 0.05, 0.1))

        yield from _gesture(
            number,
            f"hand_to_head_{side}",
            to_head,
            [("hand_to_head", side, s + 0.1, e - 0.1)],
            ["raise_hand", "reach"],
        )

        def to_floor(b: _Standing, side=side, sign=sign) -> None:
            b.hold("height", s, e, -0.35 * b.size)
            b.hold("tilt", s, e, 0.9)
            b.hold("chest_bend", s, e, 0.5)
            b.hand_at(side, f"{side}_toe", s, e, (0.1 * sign, 0.05, 0.15))
            b.hand_at(OTHER[side], f"{OTHER[side]}_knee", s, e, (0.0, 0.12, 0.05))

        yield from _gesture(
            number,
            f"touch_floor_{side}",
            to_floor,
            [("touch_floor", side, s, e)],
            ["bend", "crouch", "reach", "hand_to_knee", "sit"],
        )

    def akimbo(b: _Standing) -> None:
        for side, sign in (("left", 1.0), ("right", -1.0)):
            b.hand_at(side, f"{side}_hip", s, e, (0.1 * sign, 0.1, 0.05))

    yield from _gesture(number, "hands_on_hips", akimbo, [("hands_on_hips", "", s + 0.1, e - 0.1)])

    def together(b: _Standing) -> None:
        for side, sign in (("left", 1.0), ("right", -1.0)):
            b.hand_at(side, "hips", s, e, (0.04 * sign, 0.25, 0.4))

    yield from _gesture(
        number,
        "hands_together",
        together,
        [("hands_together", "", s + 0.1, e - 0.1)],
        ["clap", "arms_forward"],
    )

    def claps(b: _Standing) -> None:
        b.ease = 0.2
        for side, sign in (("left", 1.0), ("right", -1.0)):
            b.hand_at(side, "chest", 1.0, 3.8, (0.25 * sign, 0.0, 0.45))
            for t in (1.5, 2.3, 3.1):
                b.hand_at(side, "chest", t - 0.1, t + 0.1, (0.02 * sign, 0.0, 0.45))

    yield from _gesture(
        number,
        "clap",
        claps,
        [("clap", "", t - 0.1, t + 0.1) for t in (1.5, 2.3, 3.1)],
        ["arms_forward", "hands_together", "swing_arms"],
    )

    def on_knees(b: _Standing) -> None:
        b.hold("height", s, e, -0.15 * b.size)
        b.hold("tilt", s, e, 0.8)
        b.hold("chest_bend", s, e, 0.5)
        for side in ("left", "right"):
            b.hand_at(side, f"{side}_knee", s, e, (0.0, 0.08, 0.08))

    yield from _gesture(
        number,
        "hands_on_knees",
        on_knees,
        [("hands_on_knees", "", s + 0.1, e - 0.1)],
        ["bend", "crouch"],
    )


def _trunk(number: int) -> Iterator[ActedEvents]:
    s, e = 1.2, 3.2

    def bow(b: _Standing) -> None:
        b.hold("tilt", s, e, 0.9)
        b.hold("chest_bend", s, e, 0.5)

    yield from _gesture(number, "bend", bow, [("bend", "", s, e)])
    for way, sign in (("left", 1.0), ("right", -1.0)):

        def lean(b: _Standing, sign=sign) -> None:
            b.hold("roll", s, e, -0.25 * sign)
            b.hold("chest_side", s, e, -0.4 * sign)

        yield from _gesture(number, f"lean_{way}", lean, [("lean_side", "", s, e)])

        def look(b: _Standing, sign=sign) -> None:
            b.hold("look_yaw", s, e, 0.95 * sign)

        yield from _gesture(number, f"look_{way}", look, [(f"look_{way}", "", s, e)])

    def squat(b: _Standing) -> None:
        b.hold("height", s, e, -0.38 * b.size)
        b.hold("tilt", s, e, 0.5)
        for side in ("left", "right"):
            b.arm(side, s, e, (1.3, 0.1, 1.4))

    yield from _gesture(number, "squat", squat, [("crouch", "", s, e)], ["bend"])
    yield from _gesture(number, "stand", lambda b: None, [("stand", "", 0.0, 5.0)])


def _legs(number: int) -> Iterator[ActedEvents]:
    for side in ("left", "right"):

        def knee(b: _Standing, side=side) -> None:
            b.lift_leg(side, 1.6, 2.4, (1.65, 0.05, 1.7))

        yield from _gesture(
            number, f"raise_knee_{side}", knee, [("raise_knee", side, 1.6, 2.4)], ["one_leg"]
        )

        def balance(b: _Standing, side=side) -> None:
            b.lift_leg(side, 1.5, 4.0, (0.9, 0.1, 1.5))

        yield from _gesture(
            number,
            f"one_leg_{side}",
            balance,
            [("one_leg", OTHER[side], 1.4, 4.1)],
            ["raise_knee"],
            seconds=5.5,
        )

        def steps(b: _Standing, side=side) -> None:
            ahead = b.plan.forward(0.35)
            for k, foot in enumerate((side, OTHER[side])):
                place, yaw = b.plan.slot(foot, ahead, 0.0)
                b.plan.step(foot, 1.5 + 1.2 * k, 1.95 + 1.2 * k, place, yaw)
            b.plan.balance(3.2, 3.6)

        yield from _gesture(
            number,
            f"step_{side}",
            steps,
            [("step", side, 1.5, 1.95), ("step", OTHER[side], 2.7, 3.15)],
        )
    for way, sign in (("left", 1.0), ("right", -1.0)):

        def turn(b: _Standing, way=way, sign=sign) -> None:
            plan, heading = b.plan, 0.0
            for k, foot in enumerate((way, OTHER[way]) * 2):
                heading = sign * (np.pi / 4.0) * (k // 2 + 1)
                place, yaw = plan.slot(foot, (0.0, 0.0), heading)
                plan.step(foot, 1.0 + 0.36 * k, 1.3 + 0.36 * k, place, yaw, shift=0.06)
            plan.balance(2.4, 2.8)

        yield from _gesture(
            number, f"turn_{way}", turn, [(f"turn_{way}", "", 1.05, 2.35)], ["step", "walk"]
        )
    plan = MotionPlan(numbered(number), np.random.default_rng([9, number]))
    jog(plan, speed=3.3 + 0.05 * number, steps=12)
    body = Balance(plan).torso(plan, frame_times(0.0, plan.time, FPS))
    run = assemble(plan, body, FPS, "run")[48:-45]  # without the first and last steps
    yield ActedEvents(
        f"run_p{number}",
        run,
        (Shown("run", "", 0.0, len(run) / FPS),),
        frozenset({"walk", "step", "jog", "look_left", "look_right", "march"}),
    )


# --- bodies on the floor and in the air, by key poses -----------------------------------------

Pose = dict[str, tuple[float, ...]]
_STAND: Pose = {}
_SIDES = ("left", "right")


def _both(role: str, *value: float) -> Pose:
    return {f"{side}_{role}": value for side in _SIDES}


_SUPINE: Pose = {"hips": (-90.0,), **_both("arm", 0.2, -1.0, 0.1)}
_PRONE: Pose = {"hips": (88.0,), **_both("arm", 0.2, -1.0, 0.0)}
_FLOOR: Pose = {
    "hips": (-8.0,),
    **_both("hip", -82.0),
    **_both("knee", 12.0),
    **_both("arm", 0.3, -1.0, 0.2),
}
_TUCK: Pose = {
    "hips": (30.0,),
    "spine": (50.0,),
    "chest": (50.0,),
    "neck": (60.0,),
    **_both("hip", -125.0),
    **_both("knee", 140.0),
    **_both("arm", 0.1, -0.6, 0.8),
}
_LOW: Pose = {
    "hips": (25.0,),
    **_both("hip", -75.0),
    **_both("knee", 95.0),
    **_both("ankle", -40.0),
    **_both("arm", 0.2, -1.0, 0.3),
}
_PLANK: Pose = {"hips": (76.0,), **_both("arm", 0.1, 0.0, 1.0)}
_FOURS: Pose = {
    "hips": (80.0,),
    **_both("hip", -80.0),
    **_both("knee", 92.0),
    **_both("arm", 0.0, 0.1, 1.0),
}


def _knelt(side: str) -> Pose:
    other = OTHER[side]
    return {
        f"{side}_hip": (0.0,),
        f"{side}_knee": (88.0,),
        f"{side}_ankle": (40.0,),
        f"{other}_hip": (-88.0,),
        f"{other}_knee": (88.0,),
        **_both("arm", 0.2, -1.0, 0.1),
    }


def _posed(number: int, keys, *, flight: tuple[float, float] | None = None) -> Motion:
    """A motion through key poses (second, pose, meters forward), eased between them."""
    skeleton = numbered(number).skeleton
    times = np.arange(round(keys[-1][0] * FPS) + 1) / FPS
    pitch = {role: np.zeros(len(times)) for role in ("hips", "spine", "chest", "neck")}
    roles = [f"{side}_{part}" for side in _SIDES for part in ("hip", "knee", "ankle")]
    pitch |= {role: np.zeros(len(times)) for role in roles}
    arms = {side: np.zeros((len(times), 3)) for side in _SIDES}
    travel = np.zeros(len(times))
    for (t0, p0, z0), (t1, p1, z1) in zip(keys[:-1], keys[1:], strict=True):
        part = (times >= t0) & (times <= t1)
        share = _eased(times[part], t0, t1)
        for role, curve in pitch.items():
            a, b = p0.get(role, (0.0,))[0], p1.get(role, (0.0,))[0]
            curve[part] = a + share * (b - a)
        for side in _SIDES:
            a, b = (np.array(p.get(f"{side}_arm", (0.15, -1.0, 0.0))) for p in (p0, p1))
            arms[side][part] = a + share[:, None] * (b - a)
        travel[part] = z0 + share * (z1 - z0)
    q = np.tile([1.0, 0.0, 0.0, 0.0], (len(times), len(skeleton), 1))
    for role, curve in pitch.items():
        q[:, skeleton.joint(skeleton.roles[role])] = rot.from_axis_angle(
            [1.0, 0.0, 0.0], np.radians(curve)
        )
    for side, sign in (("left", 1.0), ("right", -1.0)):
        along = arms[side] * [sign, 1.0, 1.0]
        along = along / np.linalg.norm(along, axis=1, keepdims=True)
        rest = np.tile([sign, 0.0, 0.0], (len(times), 1))
        q[:, skeleton.joint(skeleton.roles[f"{side}_shoulder"])] = rot.between(rest, along)
    root = np.zeros((len(times), 3))
    root[:, 2] = travel
    motion = Motion(skeleton, q, root, FPS)
    lowest = motion.positions(end_sites=True)[..., 1].min(axis=1)
    root[:, 1] = 0.02 - lowest
    if flight is not None:
        off, on = (round(each * FPS) for each in flight)
        mass = center_of_mass(motion)[:, 1]
        t = np.arange(on - off + 1) / FPS
        a, b = root[off, 1] + mass[off], root[on, 1] + mass[on]
        rise = (b - a) / t[-1] + 0.5 * GRAVITY * t[-1]
        root[off : on + 1, 1] = a + rise * t - 0.5 * GRAVITY * t**2 - mass[off : on + 1]
    return Motion(skeleton, q, root, FPS)


def _turned(pose: Pose, degrees: float) -> Pose:
    return {**pose, "hips": (pose.get("hips", (0.0,))[0] + degrees,)}


def _ground(number: int) -> Iterator[ActedEvents]:
    def made(name, keys, rows, also=(), **kw):
        shows = tuple(Shown(*row) for row in rows)
        return ActedEvents(f"{name}_p{number}", _posed(number, keys, **kw), shows, frozenset(also))

    rest = {
        "stand",
        "get_up",
        "crouch",
        "bend",
        "touch_floor",
        "hands_on_floor",
        "sit_down",
        "stand_up",
        "sit",
        "reach",
        "step",
    }
    for name, pose, up in (("back", _SUPINE, (5.3, 6.9)), ("front", _PRONE, (5.1, 6.5))):
        keys = [(0, _STAND, 0), (1, _STAND, 0), (3, pose, 0), (5, pose, 0), (7.2, _STAND, 0),
                (8, _STAND, 0)]  # fmt: skip
        yield made(
            f"lie_{name}",
            keys,
            [("lie", "", 2.5, 5.6), ("get_up", "", *up)],
            rest - {"get_up"} | {"sit_floor"},
        )
    keys = [(0, _STAND, 0), (0.6, _STAND, 0), (2, _FLOOR, 0), (4, _FLOOR, 0), (5.6, _STAND, 0),
            (6.2, _STAND, 0)]  # fmt: skip
    yield made(
        "sit_floor",
        keys,
        [("sit_floor", "", 1.7, 4.3), ("get_up", "", 4.3, 5.4)],
        rest - {"get_up"},
    )
    for side in _SIDES:
        keys = [(0, _STAND, 0), (0.6, _STAND, 0), (2.2, _knelt(side), 0), (3.8, _knelt(side), 0),
                (5.4, _STAND, 0), (6, _STAND, 0)]  # fmt: skip
        yield made(f"kneel_{side}", keys, [("kneel", side, 1.75, 4.25)], rest | {"raise_knee"})
    keys = [(0, _STAND, 0), (0.5, _STAND, 0), (1.5, _PLANK, 0), (4.0, _PLANK, 0), (5, _STAND, 0),
            (5.5, _STAND, 0)]  # fmt: skip
    yield made("push_up", keys, [("hands_on_floor", "", 1.25, 4.25)], rest | {"lie"})
    keys = [(0, _FOURS, 0.0), (0.5, _FOURS, 0.0)]
    for k in range(6):
        side = _SIDES[k % 2]
        step = {**_FOURS, f"{side}_hip": (-98.0,), f"{OTHER[side]}_arm": (0.0, 0.3, 1.0)}
        keys.append((0.5 + 0.6 * (k + 1), step, 0.25 * (k + 1)))
    yield made("crawl", keys, [("crawl", "", 0.0, 4.1)], {"hands_on_floor", "step", "walk"})
    roll = [(0, _STAND, 0), (0.8, _LOW, 0)]
    for k, degrees in enumerate((60, 150, 240, 330)):
        roll.append((1.2 + 0.35 * k, _turned(_TUCK, degrees), 0.25 * (k + 1)))
    roll += [(2.9, _turned(_LOW, 360), 1.2), (3.6, _turned(_STAND, 360), 1.2),
             (4.2, _turned(_STAND, 360), 1.2)]  # fmt: skip
    yield made("roll", roll, [("roll", "", 1.0, 1.9)], rest | {"sit_floor", "lie"})
    flip = [(0, _STAND, 0), (0.5, _STAND, 0), (1.0, _LOW, 0), (1.25, _STAND, 0)]
    flip += [(1.42, _turned(_TUCK, -120), 0), (1.75, _turned(_TUCK, -270), 0),
             (1.95, _turned(_STAND, -360), 0), (2.3, _turned(_LOW, -360), 0),
             (2.9, _turned(_STAND, -360), 0), (3.4, _turned(_STAND, -360), 0)]  # fmt: skip
    yield made("flip", flip, [("flip", "", 1.5, 1.87)], rest | {"jump"}, flight=(1.25, 1.95))


_MOTIONS = (_arms, _hands, _trunk, _legs, _ground)
