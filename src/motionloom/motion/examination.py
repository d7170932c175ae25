"""What may be wrong with a motion: an examination by anatomy and by physics.

Files lie about their unit, their axes, their rate and their sides, and say nothing of it.
Bodies do not: a person is between 1.4 and 2.1 m tall, toes point forward, the ground can push
but not pull, so nobody falls faster than 9.81 m/s^2, and nobody turns half around in a
thirtieth of a second. Each check states what it saw and what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from motionloom.motion import rotations as rot
from motionloom.motion.contacts import FootContacts, foot_contacts
from motionloom.motion.motion import Motion
from motionloom.motion.stature import standing_height

Array = NDArray[np.float64]

GRAVITY = 9.81
# Shares of body mass by role, rounded from the segment tables of biomechanics: trunk and head
# two thirds, each leg a sixth.
_MASS = {
    "head": 0.08, "neck": 0.05, "chest": 0.25, "hips": 0.20,
    "left_elbow": 0.03, "right_elbow": 0.03, "left_wrist": 0.03, "right_wrist": 0.03,
    "left_knee": 0.10, "right_knee": 0.10, "left_ankle": 0.05, "right_ankle": 0.05,
}  # fmt: skip
_TORSO = ("hips", "spine", "chest", "neck", "head")
_LIMBS = tuple(
    f"{side}_{part}" for side in ("left", "right") for part in ("shoulder", "elbow", "hip", "knee")
)
# All limits below were set on the CMU database: beyond what 98 % of its takes show, and short
# of what a planted fault makes of them.
_FALL_LIMIT = 1.5  # g, 99th percentile of the downward acceleration of the centre of mass
_PUSH_LIMIT = 0.95  # g, 95th percentile of its acceleration along the floor; shoes slip at 0.8
_FLOOR_ABOVE, _FLOOR_BELOW = 0.17, -0.08  # metres; balls of feet stand 1 to 10 cm above it
_VISIBLE_LEAP = 0.15  # metres in one frame, beyond the steps before and after
_SPLAYED = 0.85  # metres between the ankles, along the line of the hips, half of the time
_SLIDE_LIMIT = 0.08  # metres per contact


@dataclass(frozen=True)
class Finding:
    """One thing that was seen.

    Attributes
    ----------
    code : str
        What kind: ``unit, up, tpose, rate, sides, jumps, twists, floor, roles, bones,
        slide, reader``.
    severity : {"fault", "doubt", "note"}
        A fault needs mending, a doubt a second look, a note is good to know.
    message : str
        What was seen.
    advice : str
        What to do about it.
    """

    code: str
    severity: str
    message: str
    advice: str = ""


def examine(motion: Motion) -> tuple[Finding, ...]:
    """Everything that looks wrong, or should be known, about a motion; faults first.

    Parameters
    ----------
    motion : Motion
        T frames; checks that need roles the skeleton lacks are left out, and that is told.

    Examples
    --------
    A walk whose file claims twice the true rate falls faster than gravity allows, or steps
    faster than legs can:

    >>> import motionloom as ml
    >>> from dataclasses import replace
    >>> walk = ml.demo.clip("walk")
    >>> [finding.code for finding in examine(walk)]
    []
    >>> hasty = replace(ml.demo.clip("jump_up"), fps=60.0)
    >>> [finding.code for finding in examine(hasty)]
    ['rate']
    """
    body = Body(motion)
    found = [finding for check in _CHECKS for finding in [check(body)] if finding is not None]
    rank = {"fault": 0, "doubt": 1, "note": 2}
    return tuple(sorted(found, key=lambda finding: rank[finding.severity]))


class Body:
    """A motion with what several checks need of it, each computed once."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        self.roles = motion.skeleton.roles

    def has(self, *roles: str) -> bool:
        """Whether the skeleton has all these roles."""
        return all(role in self.roles for role in roles)

    @cached_property
    def _points(self) -> NDArray[np.float32]:
        return self.motion.positions(end_sites=True)

    def place(self, role: str) -> Array:
        """World positions of a role, shape (T, 3)."""
        return self._points[:, self.motion.skeleton.point(role)].astype(np.float64)

    @cached_property
    def contacts(self) -> FootContacts | None:
        """When the feet stand; None without feet."""
        if not self.has("left_ankle", "right_ankle", "left_foot", "right_foot"):
            return None
        return foot_contacts(self.motion)

    @cached_property
    def acceleration(self) -> Array | None:
        """Acceleration of the centre of mass in g, shape (T', 3), over a tenth of a second."""
        if not self.has(*_MASS):
            return None
        centre = sum(share * self.place(role) for role, share in _MASS.items()) / sum(
            _MASS.values()
        )
        window = max(5, round(0.1 * self.motion.fps) | 1)
        if len(centre) < window + 4:
            return None
        curve = savgol_filter(centre, window, 3, deriv=2, delta=1.0 / self.motion.fps, axis=0)
        # A jump is a fault of its own; what it does to its neighbours says nothing here.
        sound = np.ones(len(centre), np.bool_)
        for frames in self.jump_frames.values():
            for frame in frames:
                sound[max(0, frame - window) : frame + window] = False
        sound[: window // 2] = sound[len(sound) - window // 2 :] = False
        return curve[sound] / GRAVITY if sound.sum() > 4 else None

    @cached_property
    def jump_frames(self) -> dict[str, NDArray[np.intp]]:
        """Role -> frames at which its joint turns, or the root travels, as no body can."""
        motion, found = self.motion, {}
        if len(motion) < 2:
            return {}
        for role in (*_TORSO, *_LIMBS):
            name = self.roles.get(role)
            if name not in motion.skeleton.names:
                continue
            turn = motion.rotations[:, motion.skeleton.joint(name)]
            steps = np.degrees(rot.angle_between(turn[1:], turn[:-1]))
            limit = 20.0 + 900.0 / motion.fps if role in _TORSO else 30.0 + 2000.0 / motion.fps
            frames = np.flatnonzero(steps > limit) + 1
            if len(frames):
                found[role] = frames
        leaps = np.linalg.norm(np.diff(motion.root.astype(np.float64), axis=0), axis=1)
        frames = np.flatnonzero(leaps > 0.15 + 12.0 / motion.fps) + 1
        if len(frames):
            found["root path"] = frames
        return found

    @cached_property
    def lowest(self) -> Array:
        """Height of the body's lowest point in metres, shape (T,)."""
        return self._points[:, :, 1].min(axis=1).astype(np.float64)

    @cached_property
    def point_leaps(self) -> Array:
        """The largest leap of any point in each frame, in metres, shape (T,).

        Beyond its steps before and after: what moves fast for several frames does not leap.
        """
        steps = np.linalg.norm(np.diff(self._points.astype(np.float64), axis=0), axis=2)
        padded = np.pad(steps, ((2, 2), (0, 0)), mode="edge")
        around = np.maximum(padded[:-4], padded[4:])  # two frames away: past a one-frame flip
        leaps = (steps - around).max(axis=1)
        return np.concatenate([[0.0], leaps])


# --- the checks ---------------------------------------------------------------------------


def _unit(body: Body) -> Finding | None:
    height = standing_height(body.motion.skeleton)
    if height is None or 1.4 <= height <= 2.1:
        return None
    unit = body.motion.origin.unit_m
    return Finding(
        "unit",
        "fault" if not 1.0 <= height <= 2.5 else "doubt",
        f"the figure stands {height:.2f} m tall with 1 unit = {unit:g} m",
        "a child or a creature? If not, give the unit: --unit cm, mm, inch, or metres per unit",
    )


def _up(body: Body) -> Finding | None:
    up = body.motion.origin.up
    if up != "y":
        return Finding("up", "note", f"the file's up axis is {up}; it was turned to stand on y")
    for warning in body.motion.origin.warnings:
        if "lies along" in warning:
            # Someone who lies stays at one height; with another axis up, y is a way to walk.
            steady = float(np.std(body.lowest)) < 0.1
            return Finding("up", "note" if steady else "doubt", warning, "--up z turns it")
    return None


def _tpose(body: Body) -> Finding | None:
    if body.motion.origin.tpose_frame is None:
        return None
    return Finding(
        "tpose", "note", "frame 0 of the file is a T-pose; it became the rest pose, not motion"
    )


def _rate(body: Body) -> Finding | None:
    """Ground pushes, it does not pull: the body cannot fall, nor dart, faster than that."""
    if body.acceleration is None:
        return None
    fall = float(np.percentile(-body.acceleration[:, 1], 99.0))
    push = float(np.percentile(np.hypot(body.acceleration[:, 0], body.acceleration[:, 2]), 95.0))
    fps = body.motion.fps
    if fall > _FALL_LIMIT:
        what = f"the body falls with {fall:.1f} g"
    elif push > _PUSH_LIMIT:
        what = f"the body darts along the floor with {push:.1f} g, more than shoes can hold"
    else:
        return None
    return Finding(
        "rate",
        "fault",
        f"at {fps:g} fps {what}; nobody does. The take is too fast",
        f"probably captured at {fps / 2:g} fps: give the rate, --fps {fps / 2:g}",
    )


def _sides(body: Body) -> Finding | None:
    """Toes point forward; forward is square to the line from right hip to left hip."""
    needed = ("left_hip", "right_hip", "left_ankle", "right_ankle", "left_foot", "right_foot")
    if not body.has(*needed):
        return None
    if _toes_ahead(Body(body.motion.rest_pose())) < -0.3:
        what = "at rest the toes point backwards"
    elif (apart := _ankles_apart(body)) > _SPLAYED:
        what = f"the ankles are {100 * apart:.0f} cm apart half of the time"
    else:
        return None
    return Finding(
        "sides",
        "fault",
        f"{what}: left and right seem to be swapped",
        "exchange the names of left and right joints, or give a role map: --roles",
    )


def _toes_ahead(body: Body) -> float:
    """Cosine between where the toes point and where the body faces, in the first frame."""
    heading = float(body.motion.headings()[0])
    toes = sum(body.place(f"{s}_foot")[0] - body.place(f"{s}_ankle")[0] for s in ("left", "right"))
    length = max(float(np.hypot(toes[0], toes[2])), 1e-6)
    return float(toes[0] * np.sin(heading) + toes[2] * np.cos(heading)) / length


def _ankles_apart(body: Body) -> float:
    """Median distance in metres from right to left ankle along the line of the hips."""
    across = body.place("left_hip") - body.place("right_hip")
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-6)
    ankles = body.place("left_ankle") - body.place("right_ankle")
    return float(np.median(np.sum(ankles * across, axis=1)))


def _jumps(body: Body) -> Finding | None:
    if not body.jump_frames:
        return None
    frames = np.unique(np.concatenate(list(body.jump_frames.values())))
    seen = frames[body.point_leaps[frames] > _VISIBLE_LEAP]
    if not len(seen):
        shown = _some(frames)
        return Finding("twists", "note", f"joints flip about their own bone at frame {shown}")
    return Finding(
        "jumps",
        "fault",
        f"the body jumps or flips ({', '.join(body.jump_frames)}) at frame {_some(seen)}",
        "look at these frames; --fix replaces short flips by what lies between their neighbours",
    )


def _some(frames: NDArray[np.intp]) -> str:
    return ", ".join(str(frame) for frame in frames[:5]) + (", ..." if len(frames) > 5 else "")


def _floor(body: Body) -> Finding | None:
    if body.contacts is None:
        return None
    floor = body.contacts.floor
    if _FLOOR_BELOW <= floor <= _FLOOR_ABOVE or not _stands_there(body, floor):
        return None
    where = "above" if floor > 0 else "below"
    return Finding(
        "floor",
        "fault",
        f"the feet stand {100 * abs(floor):.0f} cm {where} the floor (y = 0)",
        "--fix sets them down on it",
    )


def _stands_there(body: Body, floor: float) -> bool:
    """Whether the figure stands on that floor at all, and most of its steps are there."""
    assert body.contacts is not None
    plants = [
        plant
        for part in ("left_ball", "right_ball")
        for plant in body.contacts.plants.get(part, ())
    ]
    standing = sum(plant.end_frame - plant.start_frame for plant in plants)
    there = sum(
        plant.end_frame - plant.start_frame for plant in plants if abs(plant.height - floor) < 0.08
    )
    feet_lowest = np.median(body.lowest) > floor - 0.2
    upright = not body.has("head") or np.median(body.place("head")[:, 1]) > floor + 0.8
    return bool(feet_lowest and upright and there > 0.3 * standing)


def _roles(body: Body) -> Finding | None:
    assignment = body.motion.skeleton.role_assignment
    if not assignment.missing:
        return None
    limbs = [role for role in assignment.missing if not role.endswith(("collar", "_top", "toe"))]
    return Finding(
        "roles",
        "doubt" if limbs else "note",
        f"no joint found for {', '.join(assignment.missing)}",
        "give them with a mapping file: --roles",
    )


def _bones(body: Body) -> Finding | None:
    if body.motion.translations is None:
        return None
    return Finding("bones", "note", "bones change their length, or a still root carries the figure")


def _slide(body: Body) -> Finding | None:
    if body.contacts is None or len(body.motion) < 2:
        return None
    from motionloom.motion.quality import foot_slide

    slide = foot_slide(body.motion, body.contacts)
    if slide.per_contact_m <= _SLIDE_LIMIT:
        return None
    return Finding(
        "slide",
        "note",
        f"the feet slide {100 * slide.per_contact_m:.1f} cm per contact",
        "motionloom clean plants them",
    )


def _reader(body: Body) -> Finding | None:
    repairs = body.motion.origin.repairs
    if not repairs:
        return None
    return Finding("reader", "note", f"repaired while reading: {'; '.join(repairs)}")


_CHECKS: tuple[Callable[[Body], Finding | None], ...] = (
    _unit, _up, _tpose, _rate, _sides, _jumps, _floor, _roles, _bones, _slide, _reader,
)  # fmt: skip
