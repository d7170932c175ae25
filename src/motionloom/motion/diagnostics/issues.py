"""Checks that find issues in a motion, based on anatomy and physics.

Files lie about their unit, their axes, their rate and their sides. Bodies do not: a person is
between 1.4 and 2.1 m tall, and toes point forward. The ground can push but not pull, which means
that nobody falls faster than 9.81 m/s^2. Nobody turns halfway around in a thirtieth of a second.
Each issue reports a measurement and the advice that follows from it.

Issues that have only one solution can be repaired; see `motionloom.motion.repairs.clean`. Units,
axes and rates are for the user to decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.diagnostics.measurements import Measurements
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.motion import Motion
from motionloom.motion.rotations import quaternions as rot

# Limits on the acceleration of the center of mass, in g, set on the CMU database: 5 of its 2,425
# takes exceed them at their true rate, and all 224 takes with a flight phase exceed them at twice
# their rate.
_FALL_LIMIT = 1.7  # downward, 99th percentile
_PUSH_LIMIT = 0.95  # along the floor, 95th percentile; shoes slip at 0.8
# Downward while a foot stands, 95th percentile. The ground does not pull, but a bouncing walk
# comes close (12 of Bandai-Namco's 280 clips exceed 0.7, none exceeds 1.0). At twice their rate, a
# limit of 1.0 finds 40.0 % of these clips and 36.5 % of 200 CMU takes; 0.7 finds
# 40.7 % and 41.5 %.
_DIP_LIMIT = 1.0
# Gravity measured in flight, in g: 0.7 to 1.3 in nearly all of 139 takes with a flight phase from
# CMU, Bandai-Namco and others, and above 2.6 in 95 % of CMU's runs and jumps at twice their rate.
_FLIES = (0.7, 1.5)
_TOO_FAST = 2.6
_FACTORS = (2.0, 3.0, 4.0)  # factors by which a stated rate may be too high
# Median distance between the ankles along the hip line, beyond that of the hips, in leg lengths.
_SPLAYED = 0.8
_LEG = ("hip", "knee", "ankle", "foot")
_SLIP_LIMIT = 0.07  # meters per contact; 2 % of the takes that set it slide farther
_GRAVE = 0.1  # share of the frames with a joint beyond its range
_FLOATING = 0.175  # meters; a body that is higher above the floor is an error
Array = NDArray[np.float64]
_LONGEST_FLIP = 0.2  # seconds; a longer flip hides too much motion to interpolate


@dataclass(frozen=True)
class Issue:
    """An issue found in a motion.

    Attributes
    ----------
    code : str
        Kind of issue: ``unit, up, tpose, rate, gaps, jitter, sides, jumps, twists, range, floor,
        drift, roles, carrier, bones, slide, reader``.
    severity : {"error", "warning", "info"}
        An error needs a repair and a warning needs a second look; info is for reference.
    message : str
        The measurement in words.
    advice : str
        Suggested remedy.
    """

    code: str
    severity: str
    message: str
    advice: str = ""


def find_issues(motion: Motion, *, measured: Measurements | None = None) -> tuple[Issue, ...]:
    """Return the issues found in a motion, errors first.

    Parameters
    ----------
    motion : Motion
        T frames. Checks that need roles the skeleton lacks are skipped, and the missing roles are
        reported.
    measured : Measurements, optional
        The measurements of the motion, if already computed.

    Examples
    --------
    A jump whose file states twice the true rate falls faster than gravity allows:

    >>> import motionloom as ml
    >>> from dataclasses import replace
    >>> walk = ml.demo.clip("walk")
    >>> [issue.code for issue in find_issues(walk)]
    []
    >>> hasty = replace(ml.demo.clip("jump_up"), fps=60.0)
    >>> [issue.code for issue in find_issues(hasty)]
    ['rate']
    """
    measured = measured or Measurements(motion)
    issues = [issue for check in _CHECKS for issue in [check(measured)] if issue is not None]
    rank = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(issues, key=lambda issue: rank[issue.severity]))


def grave_fault(motion: Motion) -> str | None:
    """Return the fault for which a take is not used in graphs, dances and controllers, or None.

    These are swapped sides, jitter, and joints beyond their range in more than a tenth of the
    frames, such as a head that is upside down.

    Examples
    --------
    >>> import motionloom as ml
    >>> grave_fault(ml.demo.clip("walk"))
    """
    measured = Measurements(motion)
    if not len(motion) or not np.isfinite(motion.rotations).all():
        return None  # other checks report it
    for check in (_sides, _jitter, _range):
        issue = check(measured)
        if issue is not None and (check is not _range or _range_share(measured) > _GRAVE):
            return f"{issue.message}: repair it with motionloom clean"
    return None


def _range_share(measured: Measurements) -> float:
    return float(np.mean(np.logical_or.reduce(list(measured.beyond_range.values()))))


# --- the checks ---------------------------------------------------------------------------


def _unit(measured: Measurements) -> Issue | None:
    height = body_height(measured.motion.skeleton)
    if height is None or 1.4 <= height <= 2.1:
        return None
    unit = measured.motion.origin.unit_m
    return Issue(
        "unit",
        "error" if not 1.0 <= height <= 2.5 else "warning",
        f"the figure is {height:.2f} m tall if one unit is {unit:g} m",
        "if the figure is not a child or a creature, set the unit with --unit: cm, mm, inch, "
        "or meters per unit",
    )


def _up(measured: Measurements) -> Issue | None:
    origin = measured.motion.origin
    if origin.up != "y":
        return Issue(
            "up", "info", f"the file's up axis is {origin.up}; the motion was rotated upright"
        )
    for warning in origin.warnings:
        if "up axis" in warning:
            return Issue("up", "warning", warning, "rotate the motion upright with --up z")
    return None


def _tpose(measured: Measurements) -> Issue | None:
    if measured.motion.origin.tpose_frame is None:
        return None
    return Issue(
        "tpose",
        "info",
        "frame 0 of the file is a T-pose; it is used only as the rest pose",
    )


def _rate(measured: Measurements) -> Issue | None:
    """Check the frame rate; a body in flight falls at 1 g, or at 4 g if played at double speed.

    Without a flight phase, the evidence is weaker: the ground can push but not pull, which limits
    downward and sideways accelerations. Mild jitter also exceeds these limits, so in this case the
    issue is only a warning and suggests no other rate.
    """
    if measured.acceleration is None or measured.jitter is not None:
        return None  # the accelerations of a body that jitters say nothing about the rate
    fps, flight = measured.motion.fps, measured.flight_gravity or 0.0
    if _FLIES[0] < flight < _FLIES[1]:
        return None  # the body falls at about 1 g: the rate is right
    if flight > _TOO_FAST:
        factor = min(_FACTORS, key=lambda each: abs(np.log(each * each / flight)))
        return Issue(
            "rate",
            "error",
            f"at {fps:g} fps the body falls at {flight:.1f} g, which is impossible. The take is "
            f"too fast",
            f"it was probably captured at {fps / factor:g} fps: set the rate with --fps "
            f"{fps / factor:g}",
        )
    finite = np.isfinite(measured.acceleration[:, 0])
    fall, push, dip = (
        _percentile(-measured.acceleration[finite, 1], 99.0),
        _percentile(np.hypot(*measured.acceleration[finite][:, [0, 2]].T), 95.0),
        _percentile(-measured.acceleration[finite & _standing(measured), 1], 95.0),
    )
    if max(fall, flight) > _FALL_LIMIT:
        what = f"the body drops at {max(fall, flight):.1f} g"
    elif push > _PUSH_LIMIT:
        what = f"the body accelerates along the floor at {push:.1f} g, more than shoes can grip"
    elif dip > _DIP_LIMIT:
        what = f"the body drops at {dip:.1f} g while a foot stands on the ground"
    else:
        return None
    return Issue(
        "rate",
        "warning",
        f"at {fps:g} fps {what}: the take is too fast, or it jitters",
        "play the take; if it looks too fast, set its true rate with --fps",
    )


def _jitter(measured: Measurements) -> Issue | None:
    if measured.jitter is None:
        return None
    return Issue(
        "jitter",
        "warning",
        f"the joints shake by {1000 * measured.jitter:.0f} mm from frame to frame",
        "motionloom clean smooths it and keeps impacts",
    )


def _standing(measured: Measurements) -> NDArray[np.bool_]:
    """Return a mask of the frames in which a foot is planted, shape (T,)."""
    if measured.contacts is None:
        return np.zeros(len(measured.motion), np.bool_)
    return measured.contacts.standing("left") | measured.contacts.standing("right")


def _percentile(values: NDArray[np.float64], share: float) -> float:
    return float(np.percentile(values, share)) if len(values) > 4 else 0.0


def _sides(measured: Measurements) -> Issue | None:
    what = swapped_sides(measured)
    if what is None:
        return None
    return Issue(
        "sides",
        "error",
        f"{what}: left and right seem to be swapped",
        "motionloom clean swaps them back; or supply a role map with --roles",
    )


def swapped_sides(measured: Measurements) -> str | None:
    """Return why left and right seem to be swapped, or None if they do not.

    Toes point forward, perpendicular to the line between the hips.
    """
    needed = [f"{side}_{part}" for side in ("left", "right") for part in _LEG]
    if not measured.has(*needed) or not len(measured.motion):
        return None
    rest = Measurements(measured.motion.rest_pose())
    if _legs_down(rest) and _toes_ahead(rest) < -0.3:
        return "the toes point backward in the rest pose"
    if not _legs_down(rest) and _toes_ahead(measured) < -0.3:
        return "the toes point backward in half of the frames"
    if (apart := _ankles_apart(measured)) > _SPLAYED:
        return (
            f"the ankles are {apart:.1f} leg lengths farther apart than the hips in half of the "
            "frames"
        )
    return "the legs point up" if _legs_up(measured) else None


def _legs_up(measured: Measurements) -> bool:
    """Return whether the ankles are above the hips although the head is as well.

    This happens if the joints of one side have mirrored axes and the rotations of the other side.
    """
    hips = 0.5 * (measured.position("left_hip")[:, 1] + measured.position("right_hip")[:, 1])
    ankles = np.minimum(*(measured.position(f"{side}_ankle")[:, 1] for side in ("left", "right")))
    if not measured.has("head"):
        return False
    head = measured.position("head")[:, 1]
    above = (ankles > hips + 0.3 * _leg_length(measured)) & (head > hips)
    return bool(np.mean(above) > 0.9)


def _legs_down(rest: Measurements) -> bool:
    """Return whether the rest pose stands upright.

    In LAFAN1, for example, it does not, because every bone points along X.
    """
    for side in ("left", "right"):
        leg = rest.position(f"{side}_hip")[0] - rest.position(f"{side}_ankle")[0]
        if leg[1] < 0.7 * np.linalg.norm(leg):
            return False
    return True


def _toes_ahead(measured: Measurements) -> float:
    """Return the median cosine of the angle between the lower foot's toes and the heading.

    The other foot may point anywhere: a sprinter's swinging foot points backward.
    """
    heading = measured.motion.headings()
    ahead, height = [], []
    for side in ("left", "right"):
        ankle = measured.position(f"{side}_ankle")
        toes = measured.position(f"{side}_foot") - ankle
        length = np.maximum(np.hypot(toes[:, 0], toes[:, 2]), 1e-6)
        ahead.append((toes[:, 0] * np.sin(heading) + toes[:, 2] * np.cos(heading)) / length)
        height.append(ankle[:, 1])
    lower = np.where(height[0] < height[1], ahead[0], ahead[1])
    return _median(lower[_upright(measured)])


def _upright(measured: Measurements) -> NDArray[np.bool_]:
    """Return a mask of the frames in which the hips are well above the lower ankle.

    Cartwheels, splits and swimming do not provide any information about sides.
    """
    hips = 0.5 * (measured.position("left_hip")[:, 1] + measured.position("right_hip")[:, 1])
    ankles = [measured.position(f"{side}_ankle")[:, 1] for side in ("left", "right")]
    return hips - np.minimum(*ankles) > 0.6 * _leg_length(measured)


def _leg_length(measured: Measurements) -> float:
    chain = [measured.position(f"left_{part}")[0] for part in _LEG[:3]]
    return sum(float(np.linalg.norm(b - a)) for a, b in pairwise(chain))


def _ankles_apart(measured: Measurements) -> float:
    """Return how much farther the ankles are apart than the hips, along the hip line.

    The result is a median over the frames, in leg lengths. Stylized characters with short legs
    stand with their ankles, and their hips, more than a leg length apart.
    """
    apart = (_apart(measured, "ankle") - _apart(measured, "hip"))[_upright(measured)]
    return _median(apart) / max(_leg_length(measured), 1e-6)


def _apart(measured: Measurements, part: str) -> NDArray[np.float64]:
    """Return the distance from a right joint to the left one along the hip line, shape (T,)."""
    across = measured.position("left_hip") - measured.position("right_hip")
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-6)
    return np.sum(
        (measured.position(f"left_{part}") - measured.position(f"right_{part}")) * across, axis=1
    )


def _median(values: NDArray[np.float64]) -> float:
    """Return the median, or 0 (no evidence) for an empty array."""
    return float(np.median(values)) if len(values) else 0.0


def _jumps(measured: Measurements) -> Issue | None:
    if not measured.turns:
        return None
    if not len(measured.jump_frames):
        shown = _some(measured.turn_frames)
        return Issue("twists", "info", f"joints flip around their bone at frame {shown}")
    return Issue(
        "jumps",
        "error",
        f"the body jumps or flips ({', '.join(measured.turns)}) "
        f"at frame {_some(measured.jump_frames)}",
        "check these frames; motionloom clean replaces short flips by interpolating between their "
        "neighbors",
    )


def _some(frames: NDArray[np.intp]) -> str:
    return ", ".join(str(frame) for frame in frames[:5]) + (", ..." if len(frames) > 5 else "")


def _range(measured: Measurements) -> Issue | None:
    """Check joint angles; the head may be upside down, or a knee bent the wrong way."""
    beyond = measured.beyond_range
    if not beyond:
        return None
    share = 100.0 * _range_share(measured)
    return Issue(
        "range",
        "warning",
        f"{', '.join(role.replace('_', ' ') for role in beyond)}: beyond the range of a human in "
        f"{share:.0f} % of the frames",
        "motionloom clean undoes half turns and moves other frames into the range",
    )


def _floor(measured: Measurements) -> Issue | None:
    ground, mild = measured.ground_offset, measured.height_error
    if ground is None:
        return None if mild is None else off_the_floor(mild)
    floats = 0.0 < ground < _FLOATING
    return Issue(
        "floor",
        "warning" if floats else "error",
        f"the ground is {100 * abs(ground):.0f} cm {'above' if ground > 0 else 'below'} y = 0",
        "motionloom clean moves the ground to y = 0; skip this if the take uses a beam, a ball or "
        "a ledge",
    )


def off_the_floor(error: float) -> Issue:
    """Return the issue of a body that floats, or sinks, by a few centimeters."""
    return Issue(
        "floor",
        "info",
        f"the body {'floats' if error > 0 else 'sinks'} {100 * abs(error):.0f} cm "
        f"{'above' if error > 0 else 'into'} the floor",
        "motionloom clean moves it onto the floor",
    )


def _drift(measured: Measurements) -> Issue | None:
    drift, velocity = measured.ground_drift, measured.floor_velocity
    if drift is not None:
        way = "rises" if drift > 0 else "sinks"
        what = (
            f"the ground {way} by {100 * abs(drift):.0f} cm from the first frame to the last, also "
            "while feet stand on it"
        )
    elif velocity is not None:
        speed = 100.0 * float(np.linalg.norm(velocity))
        what = f"the body drifts over the floor at {speed:.0f} cm/s, also while feet stand"
    else:
        return None
    return Issue(
        "drift", "warning" if drift is not None else "info", what,
        "motionloom clean removes a steady drift",
    )  # fmt: skip


def _roles(measured: Measurements) -> Issue | None:
    assignment = measured.motion.skeleton.role_assignment
    if not assignment.missing:
        return None
    limbs = [role for role in assignment.missing if not role.endswith(("collar", "_top", "toe"))]
    return Issue(
        "roles",
        "warning" if limbs else "info",
        f"no joint was found for {', '.join(assignment.missing)}",
        "name the joints in a mapping file, and pass the file with --roles",
    )


def _bones(measured: Measurements) -> Issue | None:
    if measured.motion.translations is None:
        return None
    return Issue("bones", "info", "some bones change their length during the motion")


def _carrier(measured: Measurements) -> Issue | None:
    carrier = measured.motion.origin.carrier
    if carrier is None:
        return None
    sentence = carrier.text(measured.motion.skeleton.names[0])
    return Issue("carrier", "info", f"{sentence}; its motion was merged into the body")


def _slide(measured: Measurements) -> Issue | None:
    if measured.slip is None or measured.slip <= _SLIP_LIMIT:
        return None
    return Issue(
        "slide",
        "info",
        f"the feet slide {100 * measured.slip:.1f} cm per contact",
        "lock the feet with motionloom clean",
    )


def _reader(measured: Measurements) -> Issue | None:
    repairs = measured.motion.origin.repairs
    if not repairs:
        return None
    return Issue("reader", "info", f"repaired while reading: {'; '.join(repairs)}")


_CHECKS: tuple[Callable[[Measurements], Issue | None], ...] = (
    _unit, _up, _tpose, _rate, _jitter, _sides, _jumps, _range, _floor, _drift, _roles, _carrier,
    _bones, _slide, _reader,
)  # fmt: skip


def without_flips(motion: Motion, measured: Measurements) -> Motion:
    """Return `motion` with short flips replaced by interpolating between the frames around them."""
    skeleton = motion.skeleton
    rotations = motion.rotations.astype(np.float64)
    root = motion.root.astype(np.float64)
    longest = max(1, round(_LONGEST_FLIP * motion.fps))
    changed = False
    for role, frames in measured.turns.items():
        for start, end in _flips(frames, longest, len(motion)):
            if not np.isin([start, end], measured.jump_frames).any():
                continue  # invisible: a joint further down rotates back
            changed = True
            if role == "root path":
                root[start:end] = _between(
                    root, start, end, lambda a, b, share: a + share[:, None] * (b - a)
                )
            else:
                joint = skeleton.joint(measured.roles[role])
                rotations[start:end, joint] = _between(rotations[:, joint], start, end, rot.slerp)
    return replace(motion, rotations=rotations, root=root) if changed else motion


def _flips(frames: NDArray[np.intp], longest: int, total: int) -> list[tuple[int, int]]:
    """Return ranges [start, end) from a jump to the jump that soon reverses it.

    Both ends of the motion count as jumps, because a take may begin or end with a bad frame.
    """
    marks = [0, *(int(frame) for frame in frames), total]
    ranges: list[tuple[int, int]] = []
    # A short range at the start is bad only if a long one follows; otherwise the next one is the
    # flip.
    k = 0 if marks[2] - marks[1] > longest else 1
    while k + 1 < len(marks):
        start, end = marks[k], marks[k + 1]
        if end - start <= longest:
            ranges.append((start, end))
            k += 2
        else:
            k += 1
    return ranges


def _between(values: Array, start: int, end: int, mix: Callable[..., Array]) -> Array:
    """Interpolate from frame ``start - 1`` to `end`; if one of them is missing, hold the other."""
    before = values[start - 1] if start > 0 else values[end]
    after = values[end] if end < len(values) else before
    share = (np.arange(start, end) - (start - 1)) / (end - start + 1)
    return mix(before, after, share)
