"""Parameters of parametric motions: functions of joint positions and orientations.

A parameter is measured on a motion that starts at the origin and faces +Z, so that *the ankle at
the apex of a kick* is relative to the performer. Some parameters are measured at one frame of the
query, which registration maps to every other example and every blend; others over the whole
motion. Any function of a motion can be a parameter, too.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import centre_of_mass as centres_of_mass

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Parameter:
    """A named function of a motion.

    Attributes
    ----------
    text : str
        As on the command line: ``right_ankle@1545``, ``lowest(hips)``, ``turn``.
    axes : tuple of str
        Names of its numbers.
    function : callable
        ``function(motion, frame)`` returns them. `frame` is the frame that corresponds to the
        query's `frame`, or None.
    frame : int or None
        The frame of the query at which it is measured, as stored in the library.
    ready : bool
        Whether `parameter` can make it again from `text`.
    """

    text: str
    axes: tuple[str, ...]
    function: Callable[[Motion, int | None], ArrayLike]
    frame: int | None = None
    ready: bool = True

    def __len__(self) -> int:
        return len(self.axes)

    def __call__(self, motion: Motion, frame: int | None = None) -> Array:
        """Its value on a motion, shape (len(self),).

        Raises
        ------
        InvalidInput
            If the function does not return that many finite numbers.
        """
        if not len(motion):
            raise InvalidInput(f"parameter {self.text} needs a motion with frames; it has none")
        try:
            value = np.atleast_1d(np.asarray(self.function(motion, frame), np.float64))
        except MotionloomError:
            raise
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"parameter {self.text} must return numbers: {error}") from None
        if value.shape != (len(self),):
            raise InvalidInput(
                f"parameter {self.text} must return {len(self)} numbers on every motion; "
                f"got shape {value.shape} on {motion.name or 'a blend'}"
            )
        if not np.all(np.isfinite(value)):
            raise InvalidInput(
                f"parameter {self.text} must be finite on every motion; "
                f"got {value.tolist()} on {motion.name or 'a blend'}"
            )
        return value


def at(joint: str, frame: int) -> Parameter:
    """Position of a joint at a frame of the query: x, y, z in metres.

    Parameters
    ----------
    joint : str
        A role (``right_ankle``) or the name of a joint.
    frame : int
        Frame of the query's motion, as stored.

    Examples
    --------
    >>> import motionloom as ml
    >>> at("right_ankle", frame=12)(ml.demo.clip("kick_front_low_right"), 12).shape
    (3,)
    """
    return Parameter(
        f"{joint}@{frame}",
        ("x", "y", "z"),
        lambda motion, now: _path(motion, joint)[_known(motion, now)],
        frame=int(frame),
    )


def final_root_position() -> Parameter:
    """Final position of the root on the floor: x, z in metres.

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.parameters.final_root_position()(ml.demo.clip("walk")).shape
    (2,)
    """
    return Parameter("final_root_position", ("x", "z"), lambda motion, _: motion.root[-1, [0, 2]])


def lowest(joint: str) -> Parameter:
    """Least height of a joint, in metres.

    Examples
    --------
    >>> import motionloom as ml
    >>> lowest("hips")(ml.demo.clip("sit_stand")) < highest("hips")(ml.demo.clip("sit_stand"))
    array([ True])
    """
    return Parameter(f"lowest({joint})", ("y",), lambda motion, _: _path(motion, joint)[:, 1].min())


def highest(joint: str) -> Parameter:
    """Greatest height of a joint, in metres.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> bool(ml.parameters.highest("right_ankle")(kick) > ml.parameters.lowest("right_ankle")(kick))
    True
    """
    return Parameter(
        f"highest({joint})", ("y",), lambda motion, _: _path(motion, joint)[:, 1].max()
    )


def average_speed() -> Parameter:
    """Path length of the root on the floor divided by time, in m/s.

    Examples
    --------
    >>> import motionloom as ml
    >>> round(float(ml.parameters.average_speed()(ml.demo.clip("walk_fast"))[0]), 1)
    1.6
    """

    def speed(motion: Motion, _: int | None) -> float:
        steps = np.diff(motion.root[:, [0, 2]].astype(np.float64), axis=0)
        return float(np.linalg.norm(steps, axis=1).sum() * motion.fps / max(len(steps), 1))

    return Parameter("average_speed", ("m/s",), speed)


def turn() -> Parameter:
    """Rotation of the body from its first frame to its last, in radians, positive to the left.

    Examples
    --------
    >>> import motionloom as ml
    >>> turned = float(ml.parameters.turn()(ml.demo.clip("walk_left"))[0])
    >>> turned > 0.5  # radians, to the left
    True
    """

    def turned(motion: Motion, _: int | None) -> float:
        headings = motion.headings()
        return float(headings[-1] - headings[0])

    return Parameter("turn", ("rad",), turned)


def joint_speed(joint: str, frame: int) -> Parameter:
    """Speed of a joint at a frame of the query, in m/s.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> float(ml.parameters.joint_speed("right_ankle", 20)(kick, 20)[0]) > 0.0
    True
    """

    def speed(motion: Motion, now: int | None) -> float:
        path = _path(motion, joint)
        k = _known(motion, now)
        low, high = max(k - 1, 0), min(k + 1, len(path) - 1)
        return float(np.linalg.norm(path[high] - path[low]) * motion.fps / max(high - low, 1))

    return Parameter(f"joint_speed({joint})@{frame}", ("m/s",), speed, frame=int(frame))


def centre_of_mass(frame: int) -> Parameter:
    """Position of the centre of mass at a frame of the query: x, y, z in metres.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> ml.parameters.centre_of_mass(10)(kick, 10).shape
    (3,)
    """
    return Parameter(
        f"centre_of_mass@{frame}",
        ("x", "y", "z"),
        lambda motion, now: centres_of_mass(motion[_known(motion, now)])[0],
        frame=int(frame),
    )


_BY_NAME: dict[str, Callable[..., Parameter]] = {
    "final_root_position": final_root_position,
    "lowest": lowest,
    "highest": highest,
    "average_speed": average_speed,
    "turn": turn,
    "joint_speed": joint_speed,
    "centre_of_mass": centre_of_mass,
}
_WRITTEN = re.compile(r"^(?P<name>[^@()]+)(\((?P<joint>[^()]+)\))?(@(?P<frame>\d+))?$")
_FORMS = (
    "JOINT@FRAME, final_root_position, lowest(JOINT), highest(JOINT), average_speed, turn, "
    "joint_speed(JOINT)@FRAME, centre_of_mass@FRAME"
)


@dataclass(frozen=True)
class ParameterKind:
    """A kind of built-in parameter, without joint and frame.

    Attributes
    ----------
    name : str
        First word of its text; ``at`` is written as its joint alone.
    words : str
        Description.
    joint, frame : bool
        Whether it needs one.
    axes : tuple of str
    """

    name: str
    words: str
    joint: bool
    frame: bool
    axes: tuple[str, ...]


def parameter_kinds() -> tuple[ParameterKind, ...]:
    """The kinds of built-in parameters, for a menu.

    Examples
    --------
    >>> [kind.name for kind in parameter_kinds() if kind.joint and kind.frame]
    ['at', 'joint_speed']
    """
    kinds = []
    any_value: dict[str, Any] = {"joint": "hips", "frame": 0}
    for name, make in {"at": at, **_BY_NAME}.items():
        wanted = list(inspect.signature(make).parameters)
        example = make(*(any_value[one] for one in wanted))
        words = (inspect.getdoc(make) or "").splitlines()[0].rstrip(".")
        kinds.append(ParameterKind(name, words, "joint" in wanted, "frame" in wanted, example.axes))
    return tuple(kinds)


def parameter(text: str) -> Parameter:
    """A built-in parameter from its text; see `Parameter.text`.

    Examples
    --------
    >>> parameter("right_ankle@1545").frame, parameter("lowest(hips)").axes
    (1545, ('y',))
    """
    found = _WRITTEN.match(text.strip())
    if found is None:
        raise InvalidInput(f"parameter {text!r} is unknown; use one of {_FORMS}")
    name, joint, frame = found["name"].strip(), found["joint"], found["frame"]
    arguments: list[Any] = [joint] if joint is not None else []
    if frame is not None:
        arguments.append(int(frame))
    make = _BY_NAME.get(name)
    if make is None:
        if joint is not None or frame is None:
            raise InvalidInput(f"parameter {text!r} is unknown; use one of {_FORMS}")
        return at(name, int(frame))
    try:
        return make(*arguments)
    except TypeError:
        raise InvalidInput(f"parameter {text!r} is unknown; use one of {_FORMS}") from None


def as_parameters(by: Any, example: Motion) -> tuple[Parameter, ...]:
    """Parameters from parameters, their texts, functions, or several of them.

    A function is called once on `example`, for the number of its values.
    """
    several = by if isinstance(by, Sequence) and not isinstance(by, str) else [by]
    if not several:
        raise InvalidInput("by must hold at least one parameter; got none")
    return tuple(_as_parameter(one, example) for one in several)


def _as_parameter(one: Any, example: Motion) -> Parameter:
    if isinstance(one, Parameter):
        return one
    if isinstance(one, str):
        return parameter(one)
    if not callable(one):
        raise InvalidInput(
            f"by must be a parameter, its text ({_FORMS}) or a function of a motion; got {one!r}"
        )
    name = getattr(one, "__name__", type(one).__name__)
    try:
        size = np.atleast_1d(np.asarray(one(example), np.float64)).shape
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"parameter {name} must return numbers: {error}") from None
    if len(size) != 1 or size[0] < 1:
        raise InvalidInput(
            f"parameter {name} must return one number or a row of them; got shape {size}"
        )
    axes = tuple(f"{name}[{k}]" for k in range(size[0])) if size[0] > 1 else (name,)
    return Parameter(name, axes, lambda motion, _: one(motion), ready=False)


def _path(motion: Motion, joint: str) -> Array:
    """World path of a role, or of a joint or end site by name, shape (T, 3)."""
    skeleton = motion.skeleton
    if joint in skeleton.roles:
        point = skeleton.point(joint)
    elif joint in skeleton.point_names:
        point = skeleton.point_names.index(joint)
    else:
        point = skeleton.point(joint)  # raises, listing the joints
    return motion.positions(end_sites=True)[:, point].astype(np.float64)


def _known(motion: Motion, frame: int | None) -> int:
    if frame is None:
        raise InvalidInput("frame must be given: this parameter is measured at a frame")
    if not 0 <= frame < len(motion):
        raise InvalidInput(
            f"frame must be a frame of the motion, 0 to {len(motion) - 1}; got {frame}"
        )
    return int(frame)
