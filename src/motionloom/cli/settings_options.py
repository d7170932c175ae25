"""Options of a command, made from the settings of the verb it calls.

A command names its settings class once, as the annotation of a parameter::

    @settings_options
    def search(library: Annotated[Path, LIB], query: str, settings: SearchSettings) -> None:
        matches = open_library(library).search(query, **settings.arguments())

Typer then sees one option per field, with the field's help, unit, limits and default. Where the
settings may also come from a file, ``given: Annotated[dict[str, Any], SearchSettings]`` holds only
what was typed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from motionloom.errors import InvalidInput
from motionloom.settings import (
    Setting,
    Settings,
    choices_of,
    chosen_of,
    described,
    methods_of,
)

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose settings parameters are replaced by one option per field.

    A field whose default is itself a `Settings` is a choice of method: its class must have an
    attribute ``METHODS``, name to settings class. It becomes one option for the name, and one for
    each option of any of the methods.
    """
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    groups = {
        name: kind
        for name, kind in hints.items()
        if isinstance(kind, type) and issubclass(kind, Settings) and name in signature.parameters
    }
    partial = {name: cls for name in hints if (cls := _annotated_settings(hints[name])) is not None}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        elif name in partial:
            parameters += _optional_parameters(partial[name])
        else:
            parameters.append(parameter.replace(annotation=hints.get(name, parameter.annotation)))
    parameters.sort(key=lambda each: each.kind is _KEYWORD)

    @wraps(command)
    def run(*args: Any, **given: Any) -> None:
        for name, cls in groups.items():
            given[name] = _settings(cls, given)
        for name, cls in partial.items():
            given[name] = _typed(cls, given)
        command(*args, **given)

    # Typer reads both.
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameters(cls: type[Settings]) -> list[inspect.Parameter]:
    """One keyword parameter per option of a settings class."""
    defaults = {each.name: each.default for each in fields(cls)}
    found = []
    for name, (kind, about) in described(cls).items():
        if not about.command:
            continue
        default = defaults[name]
        if isinstance(default, Settings):
            methods = methods_of(cls, name)
            first = next(key for key, each in methods.items() if type(default) is each)
            shown = "|".join(methods) if len(methods) <= 4 else "NAME"
            found += _options(name, str, replace(about, metavar=about.metavar or shown), first)
            options: dict[str, tuple[Any, Setting, list[str]]] = {}
            for method, each in methods.items():
                own = {item.name: item.default for item in fields(each)}
                for option, (type_, detail) in described(each).items():
                    known = options.setdefault(option, (type_, detail, []))
                    known[2].append(method + _default_shown(own[option]))
                    options[option] = (known[0] | type_, *known[1:])  # its choices may be more
            for option, (type_, detail, users) in options.items():
                if detail.command:
                    found += _options(option, type_, detail, None, f"for {', '.join(users)}")
        else:
            found += _options(name, kind, about, default)
    return found


def _annotated_settings(hint: Any) -> type[Settings] | None:
    """The settings class in ``Annotated[dict, Class]``; None for other annotations."""
    found = getattr(hint, "__metadata__", (None,))[0]
    return found if isinstance(found, type) and issubclass(found, Settings) else None


def _optional_parameters(cls: type[Settings]) -> list[inspect.Parameter]:
    """One keyword parameter per option, None if it was not typed; the help shows the default."""
    found: list[inspect.Parameter] = []
    for each in fields(cls):
        kind, about = described(cls)[each.name]
        if about.command:
            shown = _default_shown(each.default)
            found += _options(each.name, kind, replace(about, help=about.help + shown), None)
    return found


def _typed(cls: type[Settings], given: dict[str, Any]) -> dict[str, Any]:
    """Field name to value of the options that were typed; takes them out of `given`."""
    named = [name for name, (_, about) in described(cls).items() if about.command]
    values = {name: _parsed(_taken(name, given), *described(cls)[name], name) for name in named}
    return {name: value for name, value in values.items() if value is not None}


def _default_shown(value: Any) -> str:
    """A default as the help shows it, `` [0.5]``; nothing for None, False and no values."""
    if value is None or value is False or value == ():
        return ""
    if value is True:
        return " [on]"
    if isinstance(value, tuple):
        return f" [{','.join(f'{each:g}' for each in value)}]"
    return f" [{value:g}]" if isinstance(value, int | float) else f" [{value}]"


def _options(
    name: str, kind: Any, about: Setting, default: Any, users: str = ""
) -> list[inspect.Parameter]:
    """The parameter of one option, and a hidden one for each of its old names.

    `users` are the methods that have the option, for the help.
    """
    metavar = about.metavar or "|".join(map(str, choices_of(kind) or ()))
    if _is_range(kind):
        metavar = "LEAST,MOST"
        default = None if default is None else ",".join(f"{bound:g}" for bound in default)
    type_ = _option_type(kind, optional=default is None)
    names = [about.option or f"--{name.replace('_', '-')}"]
    if (type_ is bool and default is True) or type_ == bool | None:
        names = [f"{names[0]}/--no-{names[0][2:]}"]
    sentence, bracket, shown_default = about.help.partition(" [")
    if about.unit:
        sentence = f"{sentence.removesuffix('.')} ({about.unit})."
    if users:
        ended = sentence if sentence.endswith("...") else sentence.removesuffix(".")
        sentence = f"{ended}; {users}."
    text = sentence + bracket + shown_default
    least = about.least if type_ in (int, float, int | None, float | None) else None
    greatest = about.greatest if type_ in (int, float, int | None, float | None) else None
    shown = typer.Option(*names, help=text, metavar=metavar or None, min=least, max=greatest)
    found = [inspect.Parameter(name, _KEYWORD, default=default, annotation=Annotated[type_, shown])]
    for number, old in enumerate(about.old_options):
        hidden = typer.Option(old, hidden=True, metavar=about.metavar or None)
        kind_ = _option_type(kind, optional=True)
        found.append(
            inspect.Parameter(
                f"{name}__old{number}", _KEYWORD, default=None, annotation=Annotated[kind_, hidden]
            )
        )
    return found


def _option_type(kind: Any, *, optional: bool) -> Any:
    """The type that Typer parses: text for choices and open types, a list for repeated ones."""
    if _is_range(kind):
        return str | None if optional else str
    several = get_origin(kind) in (tuple, list)
    members = [
        each for each in (() if several else get_args(kind)) or (kind,) if each is not type(None)
    ]
    if get_origin(kind) is Literal or any(get_origin(each) is Literal for each in members):
        plain: Any = str
    elif any(get_origin(each) in (tuple, list) for each in members):
        plain = list[str]
    else:
        plain = next((each for each in (str, bool, float, int) if each in members), str)
    return plain | None if optional else plain


def _settings(cls: type[Settings], given: dict[str, Any]) -> Settings:
    """The settings object of what was typed; takes its options out of `given`."""
    values: dict[str, Any] = {}
    for each in fields(cls):
        kind, about = described(cls)[each.name]
        if not about.command:
            continue
        if isinstance(each.default, Settings):
            methods = methods_of(cls, each.name)
            choice = _taken(each.name, given)
            about_options = {
                option: detail
                for kind in methods.values()
                for option, detail in described(kind).items()
            }
            options = {
                option: _range(_taken(option, given), option)
                if _is_range(kind)
                else _taken(option, given)
                for option, (kind, _) in about_options.items()
                if option in given
            }
            values[each.name] = chosen_of(cls, each.name, choice, options, given.get("preset"))
        else:
            values[each.name] = _parsed(_taken(each.name, given), kind, about, each.name)
    return cls(**values)


def _taken(name: str, given: dict[str, Any]) -> Any:
    """The value of an option or of one of its old names, taken out of `given`."""
    value = given.pop(name)
    for key in [key for key in given if key.startswith(f"{name}__old")]:
        old = given.pop(key)
        value = value if old is None or old == [] else old
    return value or None if isinstance(value, list) else value


def _is_range(kind: Any) -> bool:
    """Whether a field holds a least and a greatest number."""
    return get_origin(kind) is tuple and get_args(kind) == (float, float)


def _range(value: str | None, name: str) -> tuple[float, float] | None:
    """Two numbers of ``LEAST,MOST``; ``inf`` is none."""
    if value is None:
        return None
    try:
        least, most = (float(part) for part in value.split(","))
    except ValueError:
        raise InvalidInput(f"{name} must be two numbers, LEAST,MOST; got {value!r}") from None
    return least, most


def _parsed(value: Any, kind: Any, about: Setting, name: str = "") -> Any:
    """A range as two numbers; a repeated option as a tuple, split at commas if it should be."""
    if _is_range(kind):
        return _range(value, name)
    if not isinstance(value, list):
        return value
    parts = [part.split(",") if about.commas else [part] for part in value]
    return tuple(name.strip() for part in parts for name in part if name.strip())
