"""Command-line commands, built from functions.

The parameters of the function define the arguments and options::

    def search(
        library: Annotated[Path, LIB],
        query: Annotated[str, Argument("NAME:START-END.", metavar="QUERY")],
        settings: SearchSettings,
        *,
        sheet: Annotated[Path | None, Option("Write a contact sheet.", metavar="FILE")] = None,
    ) -> None:

A parameter annotated with a settings class becomes one option per field, including the fields of
its methods and groups. Only options given on the command line are passed to `Settings.of`, so that
they override a preset even if they equal a default. `Annotated[SearchSettings, Fields(...)]` drops
fields or chooses the fields that the short help shows. A parameter ``Annotated[dict,
GraphSettings]`` receives only the options given on the command line, as a dictionary keyed by field
name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import click

from motionloom.errors import InvalidInput
from motionloom.settings import (
    Names,
    Setting,
    Settings,
    choices_of,
    described,
    parsed_value,
    presets_of,
)


@dataclass(frozen=True)
class Argument:
    """A positional argument, with its help text and its name in the usage line."""

    help: str = ""
    metavar: str = ""


Check = Callable[[Any], None]


@dataclass(frozen=True)
class Option:
    """A command option that is not a field of the settings.

    Attributes
    ----------
    help : str
        Description, in one sentence.
    names : str
        Names separated by spaces, such as ``"-o --output"``. Default: the name of the parameter.
    metavar : str
        Placeholder for the value.
    min, max : float, optional
        Inclusive limits.
    envvar : str, optional
        Environment variable that provides the value.
    expert : bool
        Show the option only in the complete help.
    check : callable, optional
        Function that raises an error if a value is invalid. It is called for each value before the
        command starts, so that a wrong file name does not cost the time of the work.
    """

    help: str
    names: str = ""
    metavar: str = ""
    min: float | None = None
    max: float | None = None
    envvar: str | None = None
    expert: bool = False
    check: Check | None = None


@dataclass(frozen=True)
class Fields:
    """The fields of a settings class that a command accepts.

    Attributes
    ----------
    show : tuple of str
        Fields in groups that the short help also shows.
    hide : tuple of str
        Fields that only the complete help shows.
    without : tuple of str
        Fields that the command does not accept.
    preset : bool
        True if ``--preset`` also applies to this class.
    """

    show: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    preset: bool = True


@dataclass(frozen=True)
class Row:
    """One option in the help text, its section, and whether the short help shows it.

    If the option belongs to a method, `method` is a pair: the option that selects it, and its name.
    """

    parameter: click.Parameter
    section: str = ""
    short: bool = True
    method: tuple[str, str] | None = None
    default: Any = None
    help: str = ""


@dataclass(frozen=True)
class Flat:
    """One option of a settings class, whose field is in the class, a group or a method."""

    name: str
    cls: type[Settings]
    default: Any
    group: str = ""
    method: tuple[str, str] | None = None


@dataclass(frozen=True)
class Part:
    """A parameter of a command that receives settings."""

    cls: type[Settings]
    fields: Fields
    only_typed: bool

    def options(self) -> Iterator[Flat]:
        """Yield all options, in field order."""
        for each in fields(self.cls):
            _, about = described(self.cls)[each.name]
            if each.name in self.fields.without or not about.command:
                continue
            if about.methods or not isinstance(each.default, Settings):
                yield Flat(each.name, self.cls, each.default)
            for method, kind in about.methods.items():
                chosen = (option_name(each.name, about), method)
                yield from (Flat(f.name, kind, f.default, method=chosen) for f in fields(kind))
            if isinstance(each.default, Settings) and not about.methods:
                group, heading = each.default, about.help.rstrip(".")
                for f in fields(group):
                    yield Flat(f.name, type(group), getattr(group, f.name), group=heading)

    def values(self, words: dict[str, Any], preset: str | None) -> Any:
        """Return the settings, or only the values given on the command line, as a dictionary."""
        own = {flat.name: words[flat.name] for flat in self.options() if flat.name in words}
        takes_preset = self.fields.preset and preset in presets_of(self.cls)
        start = self.cls.from_preset(preset) if preset and takes_preset else self.cls()
        typed = {name: _value(self._class_of(name, start, words), name, own[name]) for name in own}
        if self.only_typed:
            return {"preset": preset, **typed} if takes_preset else typed
        return self.cls.of(typed, start=start)

    def _class_of(self, name: str, start: Settings, words: dict[str, Any]) -> type[Settings]:
        """Return the class that defines an option; the selected method has precedence."""
        candidates = [flat for flat in self.options() if flat.name == name]
        for each in fields(self.cls):
            methods = described(self.cls)[each.name][1].methods
            chosen = methods.get(words.get(each.name, ""), type(getattr(start, each.name)))
            for flat in candidates:
                if flat.method is not None and flat.cls is chosen:
                    return flat.cls
        return candidates[0].cls


class Command(click.Command):
    """A command whose help fits on one screen; see `motionloom.cli.help`."""

    rows: list[Row]
    parts: dict[str, Part]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, or print the help with the options of the selected method."""
        typed = args[: args.index("--")] if "--" in args else args
        if any(word in ("-h", "--help", "--help-all") for word in typed):
            from motionloom.cli.help import command_help

            chosen = {
                row.method[0]: _typed(row.method[0], typed) for row in self.rows if row.method
            }
            click.echo(command_help(self, ctx.command_path, chosen, complete="--help-all" in typed))
            ctx.exit()
        return super().parse_args(ctx, args)


def command(name: str, function: Callable[..., None]) -> Command:
    """Build a command from a function."""
    rows: dict[str, Row] = {}
    parts: dict[str, Part] = {}
    checks: dict[str, Check] = {}
    listed: list[Row] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind, *details = (
            get_args(parameter.annotation)
            if get_origin(parameter.annotation) is Annotated
            else (parameter.annotation,)
        )
        part = _part(kind, details)
        if part is None:
            listed.append(_own_row(parameter, kind, details[0]))
            if isinstance(details[0], Option) and details[0].check is not None:
                checks[parameter.name] = details[0].check
            continue
        parts[parameter.name] = part
        for row in _rows(part):
            key = f"{row.parameter.name} {row.method}"
            if key not in rows:
                rows[key] = row
                listed.append(row)
    names = dict.fromkeys(n for p in parts.values() if p.fields.preset for n in presets_of(p.cls))
    if names:
        listed.append(_preset_row(tuple(names)))

    def run(**given: Any) -> None:
        # Without settings that have presets, --preset is an option of the function itself.
        preset: str | None = given.pop("preset", None) if names else None
        words = {
            key.removeprefix(_FIELD): value
            for key, value in given.items()
            if key.startswith(_FIELD) and value is not None and value != ()
        }
        if preset is not None and preset not in names:
            raise InvalidInput(f"preset must be one of {', '.join(names)}; got {preset!r}")
        own = {key: _plain(value) for key, value in given.items() if not key.startswith(_FIELD)}
        own |= {key: part.values(words, preset) for key, part in parts.items()}
        for key, check in checks.items():
            values = own[key] if isinstance(own[key], list) else [own[key]]
            for value in values:
                if value is not None:
                    check(value)
        function(**own)

    parameters: dict[str | None, click.Parameter] = {}
    for row in listed:
        parameters.setdefault(row.parameter.name, row.parameter)
    made = Command(
        name,
        callback=run,
        params=list(parameters.values()),
        help=inspect.getdoc(function),
        add_help_option=False,
    )
    made.rows, made.parts = listed, parts
    return made


_FIELD = "field__"


def option_name(name: str, about: Setting) -> str:
    """Return the option name for a field, such as ``--max-distance``."""
    return about.option or f"--{name.replace('_', '-')}"


def settings_of(cls: type[Settings], typed: Mapping[str, Any]) -> Any:
    """Build a parameter's settings from the options given on the command line."""
    options = dict(typed)
    preset = options.pop("preset", None)
    return cls.of(options) if preset is None else cls.from_preset(preset, **options)


def _typed(option: str, words: list[str]) -> str | None:
    """Return the value of an option on a possibly incomplete command line, or None."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == option:
            return following
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _part(kind: Any, details: list[Any]) -> Part | None:
    """Describe the settings that a parameter receives; None if it does not receive settings."""
    chosen = next((each for each in details if isinstance(each, Fields)), Fields())
    inner = [each for each in details if isinstance(each, type) and issubclass(each, Settings)]
    if inner:
        return Part(inner[0], chosen, only_typed=True)
    if isinstance(kind, type) and issubclass(kind, Settings):
        return Part(kind, chosen, only_typed=False)
    return None


def _rows(part: Part) -> Iterator[Row]:
    """Yield help rows for the options of a settings class."""
    for flat in part.options():
        kind, about = described(flat.cls)[flat.name]
        if not about.command or flat.name in part.fields.without:
            continue
        usual = not (about.expert or flat.group or flat.method or flat.name in part.fields.hide)
        sentence, bracket, rest = about.help.partition(" [")
        if about.unit:
            sentence = f"{sentence.removesuffix('.')} ({about.unit})."
        yield Row(
            _field_option(flat.name, kind, about),
            flat.group,
            usual or flat.name in part.fields.show,
            flat.method,
            flat.default,
            sentence + bracket + rest,
        )


def _field_option(name: str, kind: Any, about: Setting) -> click.Option:
    """Build the option for a field; its value remains a string for `parsed_value` to parse."""
    shown, members = option_name(name, about), _members(kind)
    if bool in members and str not in members:
        return click.Option([f"{shown}/{_opposite(shown)}", f"{_FIELD}{name}"], default=None)
    several = about.commas or kind == Names or any(Ellipsis in get_args(each) for each in members)
    metavar = about.metavar or "|".join(about.methods) or "|".join(choices_of(kind) or ())
    metavar = metavar or _metavar(members)
    return click.Option([shown, f"{_FIELD}{name}"], multiple=several, metavar=metavar, type=str)


def _metavar(members: tuple[Any, ...]) -> str:
    """Return the placeholder for a value of these types."""
    if any(get_origin(each) is tuple for each in members):
        return "LEAST,MOST"
    if int in members:
        return "N"
    return "X" if float in members else "TEXT"


def _members(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself as a tuple."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _opposite(option: str) -> str:
    return f"--no-{option.removeprefix('--')}"


def _preset_row(names: tuple[str, ...]) -> Row:
    text = "Start from the settings used in a paper."
    option = click.Option(["--preset", "preset"], metavar="|".join(names), type=str)
    return Row(option, help=text)


def _own_row(parameter: inspect.Parameter, kind: Any, about: Argument | Option) -> Row:
    """Build the argument or option of a parameter that is not a setting."""
    default = parameter.default
    required = default is inspect.Parameter.empty
    plain = next(each for each in _members(kind) if each is not type(None))
    several = get_origin(plain) is list
    plain = get_args(plain)[0] if several else plain
    shared: dict[str, Any] = {} if required or default is None else {"default": default}
    shared["required"] = required
    if isinstance(about, Argument):
        metavar = about.metavar or parameter.name.upper()
        argument = click.Argument(
            [parameter.name],
            type=_click_type(plain, None, None),
            metavar=metavar,
            nargs=-1 if several else 1,
            **shared,
        )
        return Row(argument, help=about.help)
    names = about.names.split() or [f"--{parameter.name.replace('_', '-')}"]
    default = None if required else default
    short = not about.expert
    if plain is bool:
        longest = max(names, key=len)
        flags = f"{longest}/{_opposite(longest)}"
        option = click.Option([flags, parameter.name], default=default)
        return Row(option, short=short, default=default, help=about.help)
    option = click.Option(
        [*names, parameter.name],
        type=_click_type(plain, about.min, about.max),
        metavar=about.metavar or {int: "N", float: "X"}.get(plain, "TEXT"),
        multiple=several,
        envvar=about.envvar,
        **shared,
    )
    return Row(option, short=short, default=default, help=about.help)


def _click_type(plain: Any, low: float | None, high: float | None) -> Any:
    if plain is Path:
        return click.Path(path_type=Path)
    if plain is int and (low is not None or high is not None):
        return click.IntRange(low, high)  # type: ignore[arg-type]
    if plain is float and (low is not None or high is not None):
        return click.FloatRange(low, high)
    return plain


def _plain(value: Any) -> Any:
    """Convert repeated values to a list, and an empty tuple to None."""
    return (list(value) or None) if isinstance(value, tuple) else value


def _value(cls: type[Settings], name: str, given: Any) -> Any:
    """Parse a field's value, as given on the command line."""
    about = described(cls)[name][1]
    if isinstance(given, bool) or about.methods:
        return given
    if not isinstance(given, tuple):
        return parsed_value(cls, name, given)
    if about.commas:
        return tuple(part for text in given for part in parsed_value(cls, name, text))
    return given
