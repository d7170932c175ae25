"""Parsing of parameters such as ``right_ankle@33`` or ``maximum(joint_speed(hips))@10-40``.

`parameter` accepts only built-in parameters, so the studio uses it for strings from a browser.
`as_parameters` accepts everything that `Library.parametrize` accepts, including functions,
references to functions, and score files.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.motion import Motion
from motionloom.parametric import parameters
from motionloom.parametric.parameter import Parameter, Scores, is_reference

KINDS: dict[str, Callable[..., Parameter]] = {
    make.__name__: make
    for make in (
        parameters.at,
        parameters.height,
        parameters.joint_speed,
        parameters.angular_velocity,
        parameters.curvature,
        parameters.center_of_mass,
        parameters.final_root_position,
        parameters.lowest,
        parameters.highest,
        parameters.average_speed,
        parameters.average_curvature,
        parameters.turn,
    )
}
"""Built-in parameters by name; `register_parameter` adds new ones.

Each is created by a function that takes a joint, a frame, both or neither.
"""
_OVER_FRAMES: dict[str, Callable[..., Parameter]] = {
    "minimum": parameters.minimum,
    "maximum": parameters.maximum,
    "mean": parameters.mean,
}
_NAMED = re.compile(r"^(?P<name>[^@()]+)(\((?P<inner>.+)\))?$")
_JOINT = re.compile(r"^[^@()]+$")
_MOMENTS = (
    "minimum(S), maximum(S) or mean(S), optionally with @START-END. FRAME may also be "
    "highest(JOINT), lowest(JOINT), fastest(JOINT), farthest(JOINT), apex(JOINT), or apex for the "
    "apex of the same joint over all examples. S is position(JOINT) or one "
    "of the parameters above without @FRAME"
)


def forms() -> str:
    """Return the syntax of the built-in parameters, for messages and help.

    Examples
    --------
    >>> forms()[:57]
    'JOINT@FRAME, final_root_position, lowest(JOINT), highest('
    """
    over_all: list[str] = []
    at_a_frame: list[str] = []
    for name, make in KINDS.items():
        wanted = _wanted(make)
        text = name + "(JOINT)" * ("joint" in wanted)
        if name != "at":
            (at_a_frame if "frame" in wanted else over_all).append(
                text + "@FRAME" * ("frame" in wanted)
            )
    return f"{', '.join(['JOINT@FRAME', *over_all, *at_a_frame])}; {_MOMENTS}"


def register_parameter(make: Callable[..., Parameter]) -> Callable[..., Parameter]:
    """Register a new parameter kind; use this to decorate the function that creates it.

    The function takes ``joint``, ``frame``, both in this order, or nothing. Its name is the first
    word of the parameter, as in ``NAME(JOINT)@FRAME``.

    Raises
    ------
    InvalidInput
        If another kind has the same name, or the function takes other arguments.

    Examples
    --------
    >>> import motionloom as ml
    >>> @register_parameter
    ... def frames() -> Parameter:
    ...     '''Number of frames.'''
    ...     return Parameter("frames", ("n",), lambda motion, _: [len(motion)])
    >>> parameter("frames")(ml.demo.clip("walk")[:40])
    array([40.])
    >>> del KINDS["frames"]
    """
    if _wanted(make) not in ([], ["joint"], ["frame"], ["joint", "frame"]):
        raise InvalidInput(
            f"a kind of parameter must take joint, frame, both or no argument; {make.__name__} "
            f"takes {', '.join(_wanted(make))}"
        )
    if make.__name__ in _OVER_FRAMES or KINDS.setdefault(make.__name__, make) is not make:
        raise InvalidInput(f"a kind of parameter named {make.__name__!r} already exists")
    return make


def _wanted(make: Callable[..., Parameter]) -> list[str]:
    return list(inspect.signature(make).parameters)


@dataclass(frozen=True)
class ParameterKind:
    """A kind of built-in parameter, without its joint and frame.

    Attributes
    ----------
    name : str
        First word of the parameter string, except for ``at``, whose string starts with the joint.
    words : str
        Description of the parameter.
    joint, frame : bool
        True if the kind needs a joint or a frame.
    axes : tuple of str
    """

    name: str
    words: str
    joint: bool
    frame: bool
    axes: tuple[str, ...]


def parameter_kinds() -> tuple[ParameterKind, ...]:
    """Return the built-in parameter kinds that take at most one joint and one frame.

    Examples
    --------
    >>> [kind.name for kind in parameter_kinds() if kind.joint and kind.frame]
    ['at', 'height', 'joint_speed', 'angular_velocity', 'curvature']
    """
    kinds = []
    any_value: dict[str, Any] = {"joint": "hips", "frame": 0}
    for name, make in KINDS.items():
        wanted = _wanted(make)
        example = make(*(any_value[argument] for argument in wanted))
        words = (inspect.getdoc(make) or "").splitlines()[0].rstrip(".")
        kinds.append(ParameterKind(name, words, "joint" in wanted, "frame" in wanted, example.axes))
    return tuple(kinds)


def parameter(text: str) -> Parameter:
    """Parse a built-in parameter; see `Parameter.text`.

    Examples
    --------
    >>> parameter("right_ankle@1545").frame, parameter("lowest(hips)").axes
    (1545, ('y',))
    >>> parameter("mean(joint_speed(right_wrist))@10-40").interval
    (10, 40)
    """
    unknown = InvalidInput(f"parameter {text!r} is unknown; use one of {forms()}")
    head, where = _split(text.strip())
    named = _NAMED.match(head)
    if named is None or where == "":
        raise unknown
    name, inner = named["name"].strip(), named["inner"]
    try:
        if name in _OVER_FRAMES and inner is not None:
            return _OVER_FRAMES[name](inner, *_interval(where))
        if inner is not None and not _JOINT.match(inner):
            raise unknown
        arguments: list[Any] = [] if inner is None else [inner]
        make = KINDS.get(name) if name != "at" else None
        if make is None:
            if inner is None and where is not None:
                return parameters.at(name, _moment(where))
        elif ("frame" in _wanted(make)) == (where is not None):
            return make(*arguments, *([] if where is None else [_moment(where)]))
    except (TypeError, ValueError) as error:
        if isinstance(error, MotionloomError):
            raise
    raise unknown


def as_parameters(by: Any, example: Motion) -> tuple[Parameter, ...]:
    """Convert one or more parameters, strings, functions or scores to parameters.

    A string may also be a CSV file of scores (``styles.csv``, or ``styles.csv:mood,age`` for some
    columns) or a reference to a function (``MODULE:FUNCTION``). A function is called once on
    `example` to find out how many values it returns.
    """
    several = by if isinstance(by, Sequence) and not isinstance(by, str) else [by]
    if not several:
        raise InvalidInput("by must contain at least one parameter; got none")
    return tuple(_as_parameter(source, example) for source in several)


def _as_parameter(source: Any, example: Motion) -> Parameter:
    if isinstance(source, Parameter):
        return source
    if isinstance(source, Mapping | Scores | Path):
        return parameters.scores(source)
    if isinstance(source, str):
        path, suffix, columns = source.rpartition(".csv")
        if suffix and (not columns or columns.startswith(":")):
            return parameters.scores(
                f"{path}.csv", *(name.strip() for name in columns[1:].split(",") if name)
            )
        return parameters.own(source, example) if is_reference(source) else parameter(source)
    if not callable(source):
        raise InvalidInput(
            f"by must be a parameter, a string ({forms()}), a function of a motion or scores per "
            f"example; got {source!r}"
        )
    return parameters.own(source, example)


def _split(text: str) -> tuple[str, str | None]:
    """Split a string at the last @ outside parentheses."""
    depth = 0
    for k in range(len(text) - 1, -1, -1):
        depth += (text[k] == ")") - (text[k] == "(")
        if text[k] == "@" and depth == 0:
            return text[:k], text[k + 1 :]
    return text, None


def _moment(where: str) -> int | str:
    return int(where) if where.isdigit() else where


def _interval(where: str | None) -> tuple[int | None, int | None]:
    if where is None:
        return None, None
    start, _, end = where.partition("-")
    return int(start), int(end)
