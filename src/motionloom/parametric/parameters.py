"""Parameters of parametric motions: functions of joint positions and orientations.

A parameter is measured on a motion that starts at the origin and faces +Z, so that a position such
as *the ankle at the apex of a kick* is relative to the performer. Most parameters take a signal
(`motionloom.parametric.signals`) at one frame. This frame can be a query frame, which registration
maps to every other example and every blend. It can also be the frame of each motion where a joint
is highest, lowest, fastest or farthest from the root. Other parameters are the minimum, maximum or
mean of a signal over some or all query frames. Any function of a motion and any per-example scores
can also be parameters (`motionloom.parametric.parameter`).

Every built-in parameter can be written as a string, as on the command line: ``right_ankle@33``,
``right_wrist@highest(left_ankle)``, ``maximum(angular_velocity(right_knee))@10-40``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import hips_path
from motionloom.parametric.parameter import (
    Moment,
    Parameter,
    Scores,
    imported_function,
    read_scores,
    reference_of,
    scores_from,
    value_of,
)
from motionloom.parametric.signals import (
    EXTREMES,
    SIGNALS,
    Signal,
    floor_curvature,
    floor_steps,
    joint_path,
    signal,
)

Array = NDArray[np.float64]
_REDUCTIONS: dict[str, Callable[..., Any]] = {"minimum": np.min, "maximum": np.max, "mean": np.mean}
APEX = "apex"
_NAMED = re.compile(r"^(?P<name>[^@()]+)(\((?P<joint>[^@()]+)\))?$")


def at(joint: str, frame: int | str) -> Parameter:
    """Position (x, y, z) of a joint at a query frame, in meters.

    Parameters
    ----------
    joint : str
        A role (``right_ankle``) or the name of a joint.
    frame : int or str
        Query frame, numbered as in the stored motion. It can also be the frame of each motion where
        a joint is extreme: ``highest(JOINT)``, ``lowest(JOINT)``, ``fastest(JOINT)``,
        ``farthest(JOINT)`` from the hips or ``apex(JOINT)``, where it is farthest from where it
        begins and ends. With ``apex``, `motionloom.Library.parametrize` finds the query frame that
        corresponds to the apex of the joint in most examples.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_low_right")
    >>> at("right_ankle", frame=12)(kick, 12).shape
    (3,)
    >>> at("left_wrist", "highest(right_ankle)")(kick).shape
    (3,)
    """
    return _measured_at(signal("position", joint), frame, text=joint)


def height(joint: str, frame: int | str) -> Parameter:
    """Height of a joint at a query frame, in meters.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> ml.parameters.height("right_ankle", 33)(kick, 33).shape
    (1,)
    """
    return _measured_at(signal("height", joint), frame)


def joint_speed(joint: str, frame: int | str) -> Parameter:
    """Speed of a joint at a query frame, in m/s.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> float(ml.parameters.joint_speed("right_ankle", 20)(kick, 20)[0]) > 0.0
    True
    """
    return _measured_at(signal("joint_speed", joint), frame)


def angular_velocity(joint: str, frame: int | str) -> Parameter:
    """Angular velocity of a joint relative to its parent at a query frame, in rad/s.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> float(ml.parameters.angular_velocity("right_knee", 30)(kick, 30)[0]) > 1.0
    True
    """
    return _measured_at(signal("angular_velocity", joint), frame)


def curvature(joint: str, frame: int | str) -> Parameter:
    """Curvature of a joint's path at a query frame, in 1/m.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> float(ml.parameters.curvature("right_ankle", 20)(kick, 20)[0]) > 0.0
    True
    """
    return _measured_at(signal("curvature", joint), frame)


def center_of_mass(frame: int | str) -> Parameter:
    """Position (x, y, z) of the center of mass at a query frame, in meters.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> ml.parameters.center_of_mass(10)(kick, 10).shape
    (3,)
    """
    return _measured_at(signal("center_of_mass"), frame)


def minimum(of: str, start: int | None = None, end: int | None = None) -> Parameter:
    """Minimum of a signal over query frames ``[start, end)``, or over all frames by default.

    Parameters
    ----------
    of : str
        ``position(JOINT)``, ``height(JOINT)``, ``joint_speed(JOINT)``,
        ``angular_velocity(JOINT)``, ``curvature(JOINT)`` or ``center_of_mass``.
    start, end : int, optional
        Query frames, numbered as in the stored motion.

    Examples
    --------
    >>> import motionloom as ml
    >>> sit = ml.demo.clip("sit_stand")
    >>> low = ml.parameters.minimum("height(hips)")
    >>> low(sit) == ml.parameters.lowest("hips")(sit)
    array([ True])
    """
    return _measured_over("minimum", of, start, end)


def maximum(of: str, start: int | None = None, end: int | None = None) -> Parameter:
    """Maximum of a signal over query frames; see `minimum`.

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.parameters.maximum("angular_velocity(right_knee)", 10, 40).text
    'maximum(angular_velocity(right_knee))@10-40'
    """
    return _measured_over("maximum", of, start, end)


def mean(of: str, start: int | None = None, end: int | None = None) -> Parameter:
    """Mean of a signal over query frames; see `minimum`.

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.parameters.mean("center_of_mass")(ml.demo.clip("walk")).shape
    (3,)
    """
    return _measured_over("mean", of, start, end)


def final_root_position() -> Parameter:
    """Final position (x, z) of the root on the floor, in meters.

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.parameters.final_root_position()(ml.demo.clip("walk")).shape
    (2,)
    """
    return Parameter(
        "final_root_position", ("x", "z"), lambda motion, _: hips_path(motion[-1:])[0, [0, 2]]
    )


def lowest(joint: str) -> Parameter:
    """Minimum height of a joint, in meters.

    Examples
    --------
    >>> import motionloom as ml
    >>> lowest("hips")(ml.demo.clip("sit_stand")) < highest("hips")(ml.demo.clip("sit_stand"))
    array([ True])
    """
    return Parameter(
        f"lowest({joint})", ("y",), lambda motion, _: joint_path(motion, joint)[:, 1].min()
    )


def highest(joint: str) -> Parameter:
    """Maximum height of a joint, in meters.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> bool(ml.parameters.highest("right_ankle")(kick) > ml.parameters.lowest("right_ankle")(kick))
    True
    """
    return Parameter(
        f"highest({joint})", ("y",), lambda motion, _: joint_path(motion, joint)[:, 1].max()
    )


def average_speed() -> Parameter:
    """Path length of the hips on the floor divided by the duration, in m/s.

    Examples
    --------
    >>> import motionloom as ml
    >>> round(float(ml.parameters.average_speed()(ml.demo.clip("walk_fast"))[0]), 1)
    1.6
    """

    def speed(motion: Motion, _: Moment) -> float:
        steps = floor_steps(motion)
        return float(np.linalg.norm(steps, axis=1).sum() * motion.fps / max(len(steps), 1))

    return Parameter("average_speed", ("average speed (m/s)",), speed)


def average_curvature() -> Parameter:
    """Curvature of the path that the hips take on the floor, in 1/m; positive to the left.

    Examples
    --------
    >>> import motionloom as ml
    >>> bool(ml.parameters.average_curvature()(ml.demo.clip("walk_left"))[0] > 0.1)
    True
    """
    return Parameter(
        "average_curvature",
        ("average curvature (1/m)",),
        lambda motion, _: floor_curvature(motion),
    )


def turn() -> Parameter:
    """Rotation of the body from the first frame to the last, in radians; positive to the left.

    Examples
    --------
    >>> import motionloom as ml
    >>> turned = float(ml.parameters.turn()(ml.demo.clip("walk_left"))[0])
    >>> turned > 0.5  # radians, to the left
    True
    """

    def turned(motion: Motion, _: Moment) -> float:
        headings = motion.headings()
        return float(headings[-1] - headings[0])

    return Parameter("turn", ("turn (rad)",), turned)


def scores(values: Mapping[str, Any] | Scores | str | Path, *columns: str) -> Parameter:
    """Per-example scores for qualities such as mood, age or style.

    Parameters
    ----------
    values : mapping, str or Path
        A mapping from motions to one or more numbers, a mapping from score names to such mappings,
        or a CSV file with a header, whose first column names motions.
    *columns : str
        Columns of the file to use. Default: all columns.

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.parameters.scores({"mood": {"walk": 0.2, "walk_fast": 0.9}}).axes
    ('mood',)
    """
    if isinstance(values, Scores):
        made = values
    elif isinstance(values, Mapping):
        made = scores_from(values)
    else:
        made = read_scores(values, columns)

    def not_measured(motion: Motion, _: Moment) -> ArrayLike:
        raise InvalidInput(f"{made.text} is a score set by hand and cannot be measured on a motion")

    return Parameter(made.text, made.axes, not_measured, ready=False, scores=made)


def own(function: Callable[[Motion], ArrayLike] | str, example: Motion) -> Parameter:
    """Create a parameter from a function, which is called once on `example` to find its size.

    Parameters
    ----------
    function : callable or str
        A function of a motion, or a reference to it (``MODULE:FUNCTION``).
    example : Motion

    Raises
    ------
    InvalidInput
        If the function fails, or returns anything but a number or a row of numbers.
    """
    called = imported_function(function) if isinstance(function, str) else function
    name = getattr(called, "__name__", type(called).__name__)
    size = value_of(name, lambda: called(example), example).shape
    if len(size) != 1 or size[0] < 1:
        raise InvalidInput(
            f"parameter {name} must return a number or a row of numbers; got shape {size}"
        )
    axes = tuple(f"{name}[{k}]" for k in range(size[0])) if size[0] > 1 else (name,)
    return Parameter(
        name, axes, lambda motion, _: called(motion), ready=False, reference=reference_of(called)
    )


def joint_of(text: str) -> str:
    """Return the joint whose apex is the moment of a parameter, such as ``height(hips)@apex``."""
    named = _NAMED.match(text.removesuffix(f"@{APEX}"))
    if named is None or (named["joint"] is None and named["name"] in SIGNALS):
        raise InvalidInput(
            f"the apex of a joint needs a joint, such as right_ankle@{APEX}; got {text!r}"
        )
    return named["joint"] or named["name"]


def _measured_at(of: Signal, frame: int | str, *, text: str | None = None) -> Parameter:
    """Create a parameter: a signal at a query frame, or at an extreme frame of each motion."""
    where = f"{text or of.text}@{frame}"
    if frame == APEX:
        joint = joint_of(where)
        return Parameter(
            where, of.axes, lambda motion, _: of.rows(motion)[EXTREMES[APEX](motion, joint)]
        )
    if not isinstance(frame, str):
        return Parameter(
            where,
            of.axes,
            lambda motion, now: of.rows(motion)[_known(motion, now)],
            frame=int(frame),
        )
    named = _NAMED.match(frame.strip())
    if named is None or named["name"] not in EXTREMES or named["joint"] is None:
        raise InvalidInput(
            f"frame must be a number, or one of {', '.join(EXTREMES)} with a joint, such as "
            f"highest(left_ankle); got {frame!r}"
        )
    find, joint = EXTREMES[named["name"]], named["joint"]
    return Parameter(where, of.axes, lambda motion, _: of.rows(motion)[find(motion, joint)])


def _measured_over(name: str, of: str, start: int | None, end: int | None) -> Parameter:
    """Create a parameter that is the minimum, maximum or mean of a signal over query frames."""
    named = _NAMED.match(of.strip())
    whole = named is not None and named["name"] == "center_of_mass"
    if named is None or named["name"] not in SIGNALS or whole != (named["joint"] is None):
        signals = ", ".join(f"{kind}(JOINT)" for kind in SIGNALS if kind != "center_of_mass")
        raise InvalidInput(f"{name} must measure {signals} or center_of_mass; got {of!r}")
    if (start is None) != (end is None) or (start is not None and end is not None and end <= start):
        raise InvalidInput(
            f"{name} needs both START and END, with START before END, or neither; got {start}-{end}"
        )
    measured, reduce = signal(named["name"], named["joint"]), _REDUCTIONS[name]
    text, interval = f"{name}({measured.text})", None
    if start is not None and end is not None:
        text, interval = f"{text}@{start}-{end}", (int(start), int(end))

    def reduced(motion: Motion, moment: Moment) -> Array:
        frames = moment if isinstance(moment, slice) else slice(None)
        rows = measured.rows(motion)[frames]
        if not len(rows):
            raise InvalidInput(
                f"parameter {text} is measured over an interval without frames in "
                f"{motion.name or 'a blend'}"
            )
        return np.asarray(reduce(rows, axis=0), np.float64)

    return Parameter(text, measured.axes, reduced, interval=interval)


def _known(motion: Motion, frame: Moment) -> int:
    if not isinstance(frame, int | np.integer):
        raise InvalidInput("this parameter is measured at a frame; pass the frame number")
    if not 0 <= frame < len(motion):
        raise InvalidInput(
            f"frame must lie within the motion, from 0 to {len(motion) - 1}; got {frame}"
        )
    return int(frame)
