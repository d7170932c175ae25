"""Request models, and the equivalent command lines and Python code.

A request model has data (a query, names, ids) and ``settings``, an instance of a settings class::

    class FindRequest(RequestModel):
        text: Name
        settings: Served[FindSettings] = FindSettings()

The settings class checks the values and describes them in the OpenAPI document. `Served` adds the
limits of `motionloom.library.requests`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import core_schema

from motionloom.library.requests import LONGEST_TEXT, from_network, served_schema
from motionloom.settings import Settings, described, json_schema, name_of

S = TypeVar("S", bound=Settings)

Name = Annotated[str, Field(max_length=LONGEST_TEXT)]


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
        name: served_schema(json_schema(_named_settings[name])) for name in sorted(used_names)
    }
    return document


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
