"""A tool: a function of the workspace whose parameters define a JSON schema.

A tool is written as a function::

    @tool(changes=True)
    def label(work: Workspace, place: Annotated[str, PLACE], labels: Annotated[list[str], "..."]):

The parameters after `work` are the arguments; a parameter annotated with a settings class takes its
fields as an object. Values are limited in size and never name files
(`motionloom.library.requests`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from motionloom.agents.workspace import Workspace
from motionloom.errors import InvalidInput
from motionloom.library.requests import from_network, served_schema
from motionloom.settings import Settings, json_schema

_LONGEST_TEXT = 2000  # characters of a script
_MOST_POINTS = 1000  # of a path
_LARGEST = 1e9


@dataclass(frozen=True)
class Answer:
    """The answer to a call: data for JSON, and a picture (PNG) if there is one."""

    data: dict[str, Any]
    picture: bytes | None = None


@dataclass(frozen=True)
class Tool:
    """A tool that an agent can call.

    Attributes
    ----------
    name, description : str
    schema : dict
        JSON schema of the arguments.
    changes : bool
        Whether a call changes the library. `undo` reverts such a change.
    """

    name: str
    description: str
    schema: dict[str, Any]
    changes: bool
    _run: Callable[..., Answer]

    def __call__(self, work: Workspace, arguments: dict[str, Any]) -> Answer:
        """Check the arguments and run the tool.

        Raises
        ------
        MotionloomError
            If an argument is unknown, missing or invalid, or the work cannot be done.
        """
        given: dict[str, Any] = {}
        parameters = _parameters(self._run)
        for name in arguments:
            if name not in parameters:
                raise InvalidInput(
                    f"{self.name} has no argument {name[:40]!r}; it takes "
                    f"{', '.join(parameters) or 'none'}"
                )
        for name, (kind, _, default) in parameters.items():
            value = arguments.get(name)  # null is the same as nothing
            if value is None and default is inspect.Parameter.empty:
                raise InvalidInput(f"{self.name} needs the argument {name}")
            if value is not None:
                given[name] = _value(name, kind, value)
        return self._run(work, **given)


TOOLS: dict[str, Tool] = {}


def tool(*, changes: bool = False) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Register a function as a tool; its docstring is the description."""

    def register(function: Callable[..., Answer]) -> Callable[..., Answer]:
        name = function.__name__
        about = inspect.cleandoc(function.__doc__ or "")
        TOOLS[name] = Tool(name, about, _schema(function), changes, function)
        return function

    return register


def _parameters(function: Callable[..., Answer]) -> dict[str, tuple[Any, str, Any]]:
    """Return the type, description and default of each parameter after the workspace."""
    rows = {}
    for each in list(inspect.signature(function, eval_str=True).parameters.values())[1:]:
        kind, about = each.annotation, ""
        if get_origin(kind) is Annotated:
            kind, about = get_args(kind)
        rows[each.name] = (kind, about, each.default)
    return rows


_POINTS = list[tuple[float, float]]
_KINDS: dict[Any, dict[str, Any]] = {
    str: {"type": "string", "maxLength": _LONGEST_TEXT},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list[str]: {"type": "array", "items": {"type": "string"}, "maxItems": 20},
    list[float]: {"type": "array", "items": {"type": "number"}, "maxItems": 20},
    _POINTS: {
        "type": "array",
        "minItems": 2,
        "maxItems": _MOST_POINTS,
        "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    },
}


def _plain(kind: Any) -> Any:
    """Return the type without None."""
    inner = [each for each in get_args(kind) if each is not type(None)]
    is_optional = type(None) in get_args(kind)
    return inner[0] if is_optional and len(inner) == 1 else kind


def _schema(function: Callable[..., Answer]) -> dict[str, Any]:
    properties, required = {}, []
    for name, (kind, about, default) in _parameters(function).items():
        kind = _plain(kind)
        if isinstance(kind, type) and issubclass(kind, Settings):
            properties[name] = _usual_fields(served_schema(json_schema(kind)))
            continue
        properties[name] = {**_KINDS[kind], "description": about}
        if default is inspect.Parameter.empty:
            required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _usual_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without expert fields; a method is chosen by its name.

    All fields are accepted. The list is short because a model reads it with every request.
    """
    properties = {}
    for name, each in schema["properties"].items():
        if each.get("x-expert"):
            continue
        if "oneOf" in each:
            names = [option["properties"]["name"]["const"] for option in each["oneOf"]]
            each = {"enum": names, "description": each["description"]}
        elif "properties" in each:
            each = _usual_fields(each)
            if not each["properties"]:
                continue
        properties[name] = {
            key: value for key, value in each.items() if not key.startswith("x-") and key != "title"
        }
    return {
        "type": "object",
        "description": schema["description"],
        "properties": properties,
    }


def _value(name: str, kind: Any, value: Any) -> Any:
    """Return a checked argument."""
    kind = _plain(kind)
    if isinstance(kind, type) and issubclass(kind, Settings):
        return from_network(kind, value)
    if kind == _POINTS:
        return checked_points(name, value)
    if kind in (list[str], list[float]):
        (item,) = get_args(kind)
        if not isinstance(value, list) or len(value) > 20:
            raise InvalidInput(f"{name} must be a list of at most 20 values")
        return [_value(name, item, each) for each in value]
    if isinstance(value, int) and not abs(value) <= _LARGEST:  # before it becomes a float
        raise InvalidInput(f"{name} must be a number up to {_LARGEST:g}; got {str(value)[:40]}")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        wanted = _KINDS[kind]["type"]
        raise InvalidInput(f"{name} must be of type {wanted}; got {str(value)[:80]!r}")
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT:
            raise InvalidInput(
                f"{name} may have at most {_LONGEST_TEXT} characters; got {len(value)}"
            )
        if not value.isprintable():
            raise InvalidInput(f"{name} must be printable text on one line")
    elif isinstance(value, float) and not abs(value) <= _LARGEST:
        raise InvalidInput(f"{name} must be a number up to {_LARGEST:g}; got {value}")
    return value


def checked_points(name: str, value: Any) -> Sequence[tuple[float, float]]:
    """Return the points of a path on the floor.

    Raises
    ------
    InvalidInput
        If they are too many, too far away, or not pairs of numbers.
    """
    if not isinstance(value, list) or not 2 <= len(value) <= _MOST_POINTS:
        raise InvalidInput(f"{name} must be a list of 2 to {_MOST_POINTS} points x, z")
    points = []
    for each in value:
        if not isinstance(each, list | tuple) or len(each) != 2:
            raise InvalidInput(f"{name} must consist of points x, z; got {str(each)[:80]!r}")
        x, z = (_value(name, float, number) for number in each)
        if not (abs(x) <= 1e4 and abs(z) <= 1e4):
            raise InvalidInput(f"{name} must lie within 10 km of the origin; got {x:g}, {z:g}")
        points.append((x, z))
    return points
