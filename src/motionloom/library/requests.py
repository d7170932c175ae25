"""Settings in requests from clients: the studio's page, other programs, and agents.

The settings classes check all values. This module adds limits for values from outside: they are
limited in size and cannot refer to files of this computer, to Python objects, or to processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from motionloom.dance.settings import TUNE
from motionloom.errors import InvalidInput
from motionloom.settings import Settings

S = TypeVar("S", bound=Settings)

LONGEST_TEXT = 300  # characters
MOST_VALUES = 1000  # per list
_DEEPEST = 5  # levels: settings, a group or method, a list of rows
_LARGEST = 1e9

# Maximum values in requests from the network, for settings that otherwise allow larger values.
MOST: Mapping[str, float] = {
    "max": 1000, "k": 100_000, "tiers": 100, "per_minute": 10_000, "blend_seconds": 5.0,
    "samples": 20_000, "seconds": 600.0, "seed": 2**31, "couples": 200, "ranks": 50, "files": 12,
    "meter": 32, "fineness": 100.0, "corrections": 20, "phrases": 20, "groups": 1000, "fps": 240.0,
}  # fmt: skip
_BOUNDED = ("max",)  # None would mean no limit
_MEASURES = ("distance", "features")  # a name; a file with weights is not allowed
# Settings that refer to files of the server or to Python objects, or that start processes.
_FILES = ("transitions", "path", "library", "takes", "skeleton", "follow", "workers")


def from_network(cls: type[S], values: Any) -> S:
    """Build settings from a request.

    Raises
    ------
    InvalidInput
        If the values are too large, refer to a file, or are invalid for the class.

    Examples
    --------
    >>> from motionloom.library.settings import SearchSettings
    >>> from_network(SearchSettings, {"method": {"name": "lazy", "k": 64}}).method.k
    64
    >>> from_network(SearchSettings, {"max": 100_000})
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: max must be at most 1000; got 100000
    """
    if isinstance(values, cls):
        return values
    check_size(cls.__name__, values)
    return cls.from_json(values)


def check_size(name: str, value: Any, depth: int = _DEEPEST) -> None:
    """Raise `InvalidInput` if a JSON value is too large or refers to a file."""
    if isinstance(value, Mapping | list | tuple):
        if len(value) > MOST_VALUES:
            raise InvalidInput(f"{name} may have at most {MOST_VALUES} values; got {len(value)}")
        if not depth:
            raise InvalidInput(
                f"{name} has too many levels of nested values; at most {_DEEPEST} are allowed"
            )
    if isinstance(value, Mapping):
        for key, item in value.items():
            check_size(str(key), item, depth - 1)
    elif name in _FILES and value not in (None, (), []):
        raise InvalidInput(f"{name} cannot be set in a request")
    elif name == "music" and value not in (None, TUNE):
        raise InvalidInput(f"music in a request must be {TUNE} or null; got {str(value)[:80]!r}")
    elif isinstance(value, list | tuple):
        for item in value:
            check_size(name, item, depth - 1)
    elif isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise InvalidInput(
                f"{name} may have at most {LONGEST_TEXT} characters; got {len(value)}"
            )
        if name in _MEASURES and any(mark in value for mark in "/\\."):
            raise InvalidInput(f"{name} must be the name of a distance; got {value[:80]!r}")
    elif isinstance(value, int | float):
        most = MOST.get(name, _LARGEST)
        if not -_LARGEST <= value <= most:
            raise InvalidInput(f"{name} must be at most {most:.10g}; got {value}")
    elif value is None and name in _BOUNDED:
        raise InvalidInput(f"{name} must be at most {MOST[name]:g}; got null")


def served_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a settings class, with the limits that apply to requests."""
    schema["properties"] = {
        name: _served_field(name, field)
        for name, field in schema["properties"].items()
        if name not in _FILES or "properties" in field
    }
    return schema


def _served_field(name: str, field: dict[str, Any]) -> dict[str, Any]:
    if "properties" in field:
        return served_schema(field)
    if "oneOf" in field:
        return {**field, "oneOf": [served_schema(option) for option in field["oneOf"]]}
    if "type" not in field and "enum" not in field:  # Python objects cannot be sent
        usual = field.get("default")
        field = {**field, "type": _TYPES.get(type(usual), ["string", "null"])}
    if name in MOST:
        field = {**field, "maximum": min(field.get("maximum", MOST[name]), MOST[name])}
    return field


_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number"}
