"""Texts of parameters: ``right_ankle@33``, ``maximum(angular_velocity(right_knee))@10-40``.

`parameter` knows the built-in parameters only, and is what the studio uses for texts from a
browser. `as_parameters` takes all that `Library.parametrize` takes: also functions, references to
functions, and files of scores.
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
"""Kinds of built-in parameters by name; `register_parameter` adds to them.

Each is a function of a joint and a frame, of one of them, or of neither.
"""
_OVER_FRAMES: dict[str, Callable[..., Parameter]] = {
    "minimum": parameters.minimum,
    "maximum": parameters.maximum,
    "mean": parameters.mean,
}
_NAMED = re.compile(r"^(?P<name>[^@()]+)(\((?P<inner>.+)\))?$")
_JOINT = re.compile(r"^[^@()]+$")
_MOMENTS = (
    "FRAME may be highest(JOINT), lowest(JOINT), fastest(JOINT) or farthest(JOINT); minimum(S), "
    "maximum(S) or mean(S), with @START-END for some frames, where S is position(JOINT) or one of "
    "those above without @FRAME"
)


def forms() -> str:
    """Texts of the built-in parameters, for messages and help.

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
    """Add a kind of parameter; use it as a decorator of a function that makes the parameter.

    The function takes ``joint``, ``frame``, both in this order, or nothing. Its name is the first
    word of the text of the parameter: ``NAME(JOINT)@FRAME``.

    Raises
    ------
    InvalidInput
        If another kind has the name, or the function takes something else.

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
            f"a kind of parameter takes joint, frame, both or nothing; {make.__name__} takes "
            f"{', '.join(_wanted(make))}"
        )
    if make.__name__ in _OVER_FRAMES or KINDS.setdefault(make.__name__, make) is not make:
        raise InvalidInput(f"a kind of parameter is already called {make.__name__!r}")
    return make


def _wanted(make: Callable[..., Parameter]) -> list[str]:
    return list(inspect.signature(make).parameters)


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
    """The kinds of built-in parameters with at most one joint and one frame, for a menu.

    Examples
    --------
    >>> [kind.name for kind in parameter_kinds() if kind.joint and kind.frame]
    ['at', 'height', 'joint_speed', 'angular_velocity', 'curvature']
    """
    kinds = []
    any_value: dict[str, Any] = {"joint": "hips", "frame": 0}
    for name, make in KINDS.items():
        wanted = _wanted(make)
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
    """Parameters from parameters, their texts, functions, scores, or several of them.

    A text may also be a CSV file of scores (``styles.csv``, or ``styles.csv:mood,age`` for some
    columns) and a reference to a function (``MODULE:FUNCTION``). A function is called once on
    `example`, for the number of its values.
    """
    several = by if isinstance(by, Sequence) and not isinstance(by, str) else [by]
    if not several:
        raise InvalidInput("by must hold at least one parameter; got none")
    return tuple(_as_parameter(one, example) for one in several)


def _as_parameter(one: Any, example: Motion) -> Parameter:
    if isinstance(one, Parameter):
        return one
    if isinstance(one, Mapping | Scores | Path):
        return parameters.scores(one)
    if isinstance(one, str):
        path, suffix, columns = one.rpartition(".csv")
        if suffix and (not columns or columns.startswith(":")):
            return parameters.scores(
                f"{path}.csv", *(name.strip() for name in columns[1:].split(",") if name)
            )
        return parameters.own(one, example) if is_reference(one) else parameter(one)
    if not callable(one):
        raise InvalidInput(
            f"by must be a parameter, its text ({forms()}), a function of a motion or scores per "
            f"example; got {one!r}"
        )
    return parameters.own(one, example)


def _split(text: str) -> tuple[str, str | None]:
    """Text before and after the last @ outside parentheses."""
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
