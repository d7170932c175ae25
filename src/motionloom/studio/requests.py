"""Request models, and the equivalent command lines and Python code.

A request model has data (a query, names, ids) and ``settings``, an instance of a settings class::

    class FindRequest(RequestModel):
        text: Name
        settings: Served[FindSettings] = FindSettings()

The settings class checks the values and describes them in the OpenAPI document. `Served` adds
checks for values from the network: they are limited in size and cannot refer to files on the
server.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import core_schema

from motionloom.errors import InvalidInput
from motionloom.library.settings import TUNE
from motionloom.settings import Settings, described, json_schema, name_of

S = TypeVar("S", bound=Settings)

LONGEST_TEXT = 300  # characters
MOST_VALUES = 1000  # per list
_DEEPEST = 5  # levels: settings, a group or method, a list of rows
_LARGEST = 1e9

Name = Annotated[str, Field(max_length=LONGEST_TEXT)]

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


class RequestModel(BaseModel):
    """Base class of all requests; rejects unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _FromNetwork:
    """Make pydantic validate settings with `from_network`, and refer to their schema by name."""

    def __get_pydantic_core_schema__(self, source: type[Settings], handler: Any) -> Any:
        schema = core_schema.no_info_plain_validator_function(
            partial(from_network, source),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda settings: settings.to_json()
            ),
        )
        schema["metadata"] = {"pydantic_js_functions": [lambda _, __: {_MARK: _named(source)}]}
        return schema


Served = Annotated[S, _FromNetwork()]
"""Type of a request field that contains settings."""

_MARK = "x-settings"
_named_settings: dict[str, type[Settings]] = {}


def _named(cls: type[Settings]) -> str:
    _named_settings[cls.__name__] = cls
    return cls.__name__


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
    _check_size(cls.__name__, values, _DEEPEST)
    return cls.from_json(values)


def _check_size(name: str, value: Any, depth: int) -> None:
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
            _check_size(str(key), item, depth - 1)
    elif name in _FILES and value not in (None, (), []):
        raise InvalidInput(f"{name} cannot be set in a request")
    elif name == "music" and value not in (None, TUNE):
        raise InvalidInput(f"music in a request must be {TUNE} or null; got {str(value)[:80]!r}")
    elif isinstance(value, list | tuple):
        for item in value:
            _check_size(name, item, depth - 1)
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


# --- the OpenAPI document -------------------------------------------------------------------


def with_named_settings(document: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI document with each settings class as a named component."""
    used_names: set[str] = set()

    def replaced(part: Any) -> Any:
        if isinstance(part, dict):
            if _MARK in part:
                used_names.add(part[_MARK])
                return {"$ref": f"#/components/schemas/{part[_MARK]}"}
            return {key: replaced(item) for key, item in part.items()}
        return [replaced(item) for item in part] if isinstance(part, list) else part

    document = replaced(document)
    schemas = document["components"]["schemas"]
    schemas |= {
        name: _served_schema(json_schema(_named_settings[name])) for name in sorted(used_names)
    }
    return document


def _served_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a settings class, with the limits that apply to requests."""
    schema["properties"] = {
        name: _served_field(name, field)
        for name, field in schema["properties"].items()
        if name not in _FILES or "properties" in field
    }
    return schema


def _served_field(name: str, field: dict[str, Any]) -> dict[str, Any]:
    if "properties" in field:
        return _served_schema(field)
    if "oneOf" in field:
        return {**field, "oneOf": [_served_schema(option) for option in field["oneOf"]]}
    if "type" not in field and "enum" not in field:  # Python objects cannot be sent
        usual = field.get("default")
        field = {**field, "type": _TYPES.get(type(usual), ["string", "null"])}
    if name in MOST:
        field = {**field, "maximum": min(field.get("maximum", MOST[name]), MOST[name])}
    return field


_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number"}


# --- the same as code -----------------------------------------------------------------------


class CodeLines(BaseModel):
    """A request as a command line and as Python code."""

    cli: str
    python: str


def code_lines(
    library: Path, command: Sequence[str], result: str, call: str, settings: Settings
) -> CodeLines:
    """Format a request as a command line and as Python code.

    Parameters
    ----------
    library : Path
    command : sequence of str
        The command and its arguments.
    result : str
        Name of the variable for the result.
    call : str
        Start of the method call with its data, such as ``"search('walk:0-30'"``.
    settings : Settings
        Settings that differ from their defaults are shown.

    Examples
    --------
    >>> from motionloom.library.settings import LazyGraph, SearchSettings
    >>> settings = SearchSettings(method=LazyGraph(k=64), max=20, label=("kick",))
    >>> words = ["search", "a.loom", "b"]
    >>> lines = code_lines(Path("a.loom"), words, "found", "search('b'", settings)
    >>> lines.cli
    'motionloom search a.loom b --label kick --method lazy --k 64 --max 20'
    >>> lines.python.partition("; ")[2]
    "found = ml.Library('a.loom').search('b', label=['kick'], method=ml.LazyGraph(k=64), max=20)"
    """
    given = python_arguments(settings)
    comma = ", " if given and not call.endswith("(") else ""
    python = f"import motionloom as ml; {result} = ml.Library({str(library)!r}).{call}"
    cli = shlex.join(["motionloom", *command, *flags(settings)])
    return CodeLines(cli=cli, python=f"{python}{comma}{given})")


def flags(settings: Settings, start: Settings | None = None) -> list[str]:
    """Return command-line options for settings that differ from `start`, or from the defaults."""
    words: list[str] = []
    usual: dict[str, Any] = {each.name: each.default for each in fields(settings)}
    for name, value in settings.changed(start).items():
        about = described(type(settings))[name][1]
        option = about.option or f"--{name.replace('_', '-')}"
        if isinstance(value, Settings):
            if about.methods and name_of(value) != name_of(usual[name]):
                words += [option, name_of(value)]
            words += flags(value, None if about.methods else usual[name])
        elif isinstance(value, bool):
            words.append(option if value else f"--no-{option.removeprefix('--')}")
        elif about.command and value is not None:
            several = value if isinstance(value, tuple) else (value,)
            texts = [_typed(item) for item in several]
            is_list = about.commas or not isinstance(several[0], str)
            texts = [",".join(texts)] if is_list else texts
            words += [word for text in texts for word in (option, text)]
    return words


def _typed(value: Any) -> str:
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)


def python_arguments(settings: Settings) -> str:
    """Return Python keyword arguments for the settings that differ from their defaults."""
    return ", ".join(f"{name}={_source(value)}" for name, value in settings.changed().items())


def _source(value: Any) -> str:
    if isinstance(value, Settings):
        inner = python_arguments(value)
        return (
            f"ml.{type(value).__name__}({inner})"
            if inner or not name_of(value)
            else repr(name_of(value))
        )
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def settings_key(settings: Settings) -> str:
    """Return the cache key of settings; equal settings have equal keys."""
    return json.dumps(settings.to_json(), sort_keys=True)
