"""Settings classes: a frozen dataclass for each operation and for each of its methods.

A settings class is the interface of its operation. A settings object is created once, where a
request enters (a Python call, a command line, an HTTP request, a file), and is then passed on
unchanged. Each field has a default, a sentence that explains it, a unit and limits. The signature
and documentation of the Python method, the options and help of the command, the schema of the HTTP
interface and the forms of the page are all derived from the class.

There are three kinds of fields:

- a plain value: ``max=20``;
- a *method*: the settings of one of several algorithms, chosen by name or passed as an object.
  ``method="lazy"`` is short for ``method=LazyGraph()``, whose arguments are the options;
- a *group*: settings that are rarely changed, such as ``expansion=Expansion(join_distance=0.1)``.

A preset is a constructor that starts with the values used in a paper (`preset`). In
``SearchSettings.kg04(max=20)``, explicit arguments replace the paper's values, even if they equal
the defaults.

Commands and presets cannot take objects. They take *flat* options (`Settings.of`), in which the
options of the chosen method and of the groups are at the same level as the fields.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from motionloom.errors import InvalidInput

PLANNED = 100  # steps of progress if the amount of work is not known: hundredths of the plan

S = TypeVar("S", bound="Settings")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Setting:
    """Description of a settings field, without its name, type and default.

    Attributes
    ----------
    help : str
        One sentence that describes the field.
    unit : str
        Unit of the value, for example ``"m"``. Empty if the value has no unit.
    least, greatest : float, optional
        Inclusive limits.
    above : float, optional
        Exclusive lower limit.
    option : str
        Name on the command line if it differs from the field name, for example ``"--tempo"``.
    metavar : str
        Placeholder for the value in the help, for example ``"LABEL"``.
    commas : bool
        Whether the command line accepts several values separated by commas.
    label : str
        Name in a form. Default: the field name, with spaces instead of underscores.
    command : bool
        Whether the field is available on the command line.
    expert : bool
        Whether the field is hidden in the default help of a command and in forms.
    methods : mapping of str to settings class
        Methods that the field can select. Empty if the field does not select a method.
    adapt : callable, optional
        Function that turns an object of the user into a method, and returns others unchanged.
    """

    help: str
    unit: str = ""
    least: float | None = None
    greatest: float | None = None
    above: float | None = None
    option: str = ""
    metavar: str = ""
    commas: bool = False
    label: str = ""
    command: bool = True
    expert: bool = False
    methods: Mapping[str, type[Settings]] = field(default_factory=dict)
    adapt: Callable[[Any], Any] | None = None


LABEL = Setting("Use only motions with this label. Can be repeated.", metavar="LABEL")
ONLY = Setting("Use only these motions; * stands for any text.", metavar="NAME,...", commas=True)
EXCLUDE = Setting("Exclude these motions; * stands for any text.", metavar="NAME,...", commas=True)
"""Settings shared by all operations that select motions."""

Names = str | tuple[str, ...] | None
"""Type of a field that selects motions: one name, several names, or None for all motions."""


def setting(default: Any, help: str | Setting, **details: Any) -> Any:
    """Define a field of a settings class.

    Parameters
    ----------
    default
        Default value.
    help : str or Setting
        One sentence that describes the field, or a `Setting` shared by several operations.
    **details
        Other attributes of `Setting`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Lazy(Settings):
    ...     k: int = setting(256, "Neighbors per query frame.", least=1)
    >>> Lazy(k=64).k
    64
    >>> Lazy(k=0)
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: k must be at least 1; got 0
    """
    about = replace(help, **details) if isinstance(help, Setting) else Setting(help, **details)
    return field(default=default, metadata={"setting": about})


class PaperPreset(Generic[S]):
    """A constructor that starts with the values used in a paper. See `preset`."""

    def __init__(self, values: Callable[[type[S]], S]) -> None:
        self.values = values
        self.__doc__ = values.__doc__

    def __get__(self, _: S | None, cls: type[S]) -> Callable[..., S]:
        """Return the constructor. It accepts flat options, which replace the paper's values."""
        return lambda **explicit: cls.of(explicit, start=self.values(cls))


def preset(values: Callable[[Any], S]) -> PaperPreset[S]:
    """Turn a method that returns a paper's settings into a constructor with options.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Graph(Settings):
    ...     tiers: int = setting(1, "Rounds of query expansion.")
    ...
    ...     @preset
    ...     def kg04(cls: Any):
    ...         return cls(tiers=9)
    >>> Graph.kg04().tiers, Graph.kg04(tiers=1).tiers
    (9, 1)
    """
    return PaperPreset(values)


def presets_of(cls: type[Settings]) -> tuple[str, ...]:
    """Return the names of a settings class's presets."""
    mro = reversed(cls.__mro__)
    return tuple(
        dict.fromkeys(
            n for base in mro for n, v in vars(base).items() if isinstance(v, PaperPreset)
        )
    )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base class of all settings. It checks the types and limits of the fields on creation."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is each.default and (value is None or value is False or value is True):
                continue  # defaults are valid; files are read by the thousand
            kind, about = described(type(self))[each.name]
            value = _normalized(getattr(self, each.name), each, kind, about)
            object.__setattr__(self, each.name, value)
            if not isinstance(value, Settings):
                check_value(each.name, value, kind, about)
        self.check()

    def check(self) -> None:
        """Raise `InvalidInput` if a condition that involves several fields is violated."""

    @classmethod
    def given(cls, settings: Self | None, options: Mapping[str, Any]) -> Self:
        """Return the settings for a call from a settings object, options, or both.

        Options replace fields of the object, or of one of its groups.

        Examples
        --------
        >>> MotionChoice.given(None, {"only": ["walk", "jog"]}).only
        ('walk', 'jog')
        >>> MotionChoice.given(MotionChoice(only="walk"), {"label": "calm"})
        MotionChoice(label='calm', only='walk', exclude=None)
        >>> MotionChoice.given(None, {"within": "walk"})
        Traceback (most recent call last):
            ...
        motionloom.errors.InvalidInput: MotionChoice has no within; its fields are label, only,
        exclude
        """
        if settings is not None and not isinstance(settings, cls):
            raise InvalidInput(
                f"settings must be a {cls.__name__} object; got {type(settings).__name__}"
            )
        start = settings if settings is not None else cls()
        chosen: dict[str, Any] = {}
        for name, value in options.items():
            group = name if name in described(cls) else _group_with(cls, name)
            if group is None:
                raise InvalidInput(_unknown(cls, name))
            if group != name:
                value = replace(chosen.get(group, getattr(start, group)), **{name: value})
            chosen[group] = value
        return replace(settings, **chosen) if settings is not None else cls(**chosen)

    @classmethod
    def from_preset(cls, name: str, **explicit: Any) -> Self:
        """Return the settings of the preset called `name`. Explicit options take precedence."""
        if name not in presets_of(cls):
            raise InvalidInput(f"preset must be one of {', '.join(presets_of(cls))}; got {name!r}")
        return getattr(cls, name)(**explicit)

    @classmethod
    def of(cls, options: Mapping[str, Any], *, start: Self | None = None) -> Self:
        """Create settings from flat options, which include those of the method and the groups.

        Parameters
        ----------
        options : mapping
            Values by option name. They take precedence over `start`.
        start : settings, optional
            Settings that provide all other values. Default: the default settings.

        Raises
        ------
        InvalidInput
            If an option does not belong to the settings, to the chosen method or to a group.

        Examples
        --------
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Lazy(Settings):
        ...     NAME = "lazy"
        ...     k: int = setting(256, "Neighbors per query frame.", least=1)
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Web(Settings):
        ...     NAME = "web"
        ...     alpha: float = setting(0.15, "Width of the valid region.")
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Search(Settings):
        ...     method: Any = setting(Lazy(), "", methods={"lazy": Lazy, "web": Web})
        >>> Search.of({"k": 64}).method
        Lazy(k=64)
        >>> Search.of({"method": "web", "k": 64})
        Traceback (most recent call last):
            ...
        motionloom.errors.InvalidInput: k is not an option of method web, whose options are alpha
        """
        start = cls() if start is None else start
        own = {name: value for name, value in options.items() if name in described(cls)}
        rest = {name: value for name, value in options.items() if name not in own}
        for each in fields(cls):
            inner = getattr(start, each.name)
            if not isinstance(each.default, Settings):
                continue
            if each.name in own:
                picked = _normalized(own[each.name], each, *described(cls)[each.name])
                # If the name is that of the method in `start`, the options in `start` stay.
                inner = inner if own[each.name] == name_of(inner) else picked
            if not isinstance(inner, Settings):
                continue
            taken = {name: rest.pop(name) for name in list(rest) if name in described(type(inner))}
            if taken or each.name in own:
                own[each.name] = replace(inner, **taken)
        if rest:
            chosen = {
                each.name: own.get(each.name, getattr(start, each.name)) for each in fields(cls)
            }
            raise InvalidInput(_not_taken(cls, next(iter(rest)), chosen))
        return replace(start, **own)

    def changed(self, start: Self | None = None) -> dict[str, Any]:
        """Return the fields that differ from `start`, by default from the default settings."""
        kind: Any = type(self)
        start = _default(kind) if start is None else start
        if self is start:
            return {}
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in own.items() if value != getattr(start, name)}

    def to_json(self, start: Self | None = None) -> dict[str, Any]:
        """Return the fields that differ from `start` (default: the default settings) as JSON.

        A method is a JSON object with its ``name`` and options.

        Examples
        --------
        >>> MotionChoice(only=("walk", "jog")).to_json()
        {'only': ['walk', 'jog']}
        """
        defaults = {each.name: each.default for each in fields(self)}
        return {
            name: _json_value(value, None if name_of(value) else defaults[name])
            for name, value in self.changed(start).items()
        }

    @classmethod
    def from_json(cls, values: Any, start: Self | None = None) -> Self:
        """Read settings written by `to_json`. A method may also be just a name.

        Examples
        --------
        >>> MotionChoice.from_json({"only": ["walk", "jog"]}).only
        ('walk', 'jog')
        """
        if isinstance(values, cls):
            return values
        if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
            raise InvalidInput(f"{cls.__name__} must be a JSON object; got {_shortened(values)}")
        given: dict[str, Any] = {}
        for name, value in values.items():
            if name not in described(cls):
                raise InvalidInput(_unknown(cls, name))
            about = described(cls)[name][1]
            default = next(each.default for each in fields(cls) if each.name == name)
            if about.methods and isinstance(value, Mapping):
                options = dict(value)
                kind = method_class(name, options.pop("name", name_of(default)), about.methods)
                value = kind.from_json(options)
            elif isinstance(default, Settings) and not about.methods:
                value = type(default).from_json(value, default)
            given[name] = value
        try:
            return cls(**given) if start is None else replace(start, **given)
        except InvalidInput:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, OSError) as error:
            # A value from outside, such as a number in place of a list.
            raise InvalidInput(
                f"{cls.__name__}: a value of {_shortened(dict(values))} has the wrong type or size "
                f"({str(error)[:80]})"
            ) from None


@dataclass(frozen=True, kw_only=True)
class MotionChoice(Settings):
    """Selection of motions for an operation."""

    label: Names = setting(None, LABEL)
    only: Names = setting(None, ONLY)
    exclude: Names = setting(None, EXCLUDE)


def named_takes(settings: MotionChoice) -> set[str]:
    """Return the takes that `only` names in full, without ``*``; they are used even if faulty.

    Examples
    --------
    >>> sorted(named_takes(MotionChoice(only=("60_06+61_06", "16_*"))))
    ['16_*', '60_06', '61_06']
    """
    only = settings.only or ()
    texts = [only] if isinstance(only, str) else list(only)
    return {name for text in texts for name in re.split("[,+]", text)}


def motion_choice(settings: Settings) -> dict[str, Any]:
    """Return `label`, `only` and `exclude` as keyword arguments, with None if empty."""
    return {name: getattr(settings, name, None) or None for name in ("label", "only", "exclude")}


def _group_with(cls: type[Settings], name: str) -> str | None:
    """Return the field of a settings class that holds a group with this field."""
    for each in fields(cls):
        group, about = each.default, each.metadata.get("setting")
        if isinstance(group, Settings) and not (about and about.methods):
            if name in described(type(group)):
                return each.name
    return None


def described(cls: type[Settings]) -> dict[str, tuple[Any, Setting]]:
    """Return a mapping from each field name of a settings class to its type and `Setting`."""
    if cls not in _DESCRIBED:
        hints = get_type_hints(cls)
        _DESCRIBED[cls] = {
            each.name: (hints[each.name], each.metadata.get("setting") or Setting(""))
            for each in fields(cls)
        }
    return _DESCRIBED[cls]


_DESCRIBED: dict[type, dict[str, tuple[Any, Setting]]] = {}


def name_of(method: Any) -> str:
    """Return the name of a method, or an empty string for other values."""
    return str(getattr(method, "NAME", "")) if isinstance(method, Settings) else ""


@cache
def _default(cls: Any) -> Any:
    """Return the default settings of a class, which are immutable."""
    return cls()


def method_class(what: str, name: Any, methods: Mapping[str, type[Settings]]) -> type[Settings]:
    """Return the settings class of a method. Raise `InvalidInput` if the name is unknown."""
    if not isinstance(name, str) or name not in methods:
        raise InvalidInput(f"{what} must be one of {', '.join(methods)}; got {_shortened(name)}")
    return methods[name]


def check_value(name: str, value: Any, kind: Any, about: Setting) -> None:
    """Raise `InvalidInput` if a value has the wrong type or is out of range.

    Only numbers, strings, flags and ``Literal`` types are checked. Functions that use other types
    check those.
    """
    choices = choices_of(kind)
    members = _members(kind)
    simple = [each for each in members if each in (int, float, bool, str, type(None))]
    if choices is not None:
        is_choice = isinstance(value, str | int | float) and value in choices
        if not is_choice and not (value is None and type(None) in members):
            listed = ", ".join(str(each) for each in choices)
            raise InvalidInput(f"{name} must be one of {listed}; got {value!r}")
        return
    if len(simple) == len(members) and not any(_is(value, each) for each in simple):
        wanted = " or ".join(_WORDS[each] for each in simple if each is not type(None))
        raise InvalidInput(f"{name} must be {wanted}; got {value!r}")
    if not isinstance(value, Real) or isinstance(value, bool):
        return
    try:
        number = float(value)
    except OverflowError:
        raise InvalidInput(f"{name} must be a number of at most 308 digits") from None
    if about.least is not None and not number >= about.least:
        raise InvalidInput(f"{name} must be at least {about.least:g}; got {value}")
    if about.above is not None and not number > about.above:
        raise InvalidInput(f"{name} must be greater than {about.above:g}; got {value}")
    if about.greatest is not None and not number <= about.greatest:
        raise InvalidInput(f"{name} must be at most {about.greatest:g}; got {value}")


def parsed_value(cls: type[Settings], name: str, text: str) -> Any:
    """Parse the value of a field from a string on the command line or in a file.

    List items are separated by commas, pairs are written ``KEY=VALUE,...``, and flags are true or
    false.

    Examples
    --------
    >>> parsed_value(MotionChoice, "only", "walk, jog")
    ('walk', 'jog')
    """
    if name not in described(cls):
        raise InvalidInput(_unknown(cls, name))
    kind, about = described(cls)[name]
    members = _members(kind)
    if choices_of(kind) is not None:
        return text
    if any(get_origin(each) is tuple and get_args(each)[:2] == (float, float) for each in members):
        try:
            return tuple(float(part) for part in text.split(","))
        except ValueError:
            raise InvalidInput(
                f"{name} must be a list of numbers separated by commas; got {text!r}"
            ) from None
    if about.commas:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    for plain, convert in ((bool, _flag), (int, int), (float, float)):
        if plain in members:
            try:
                return convert(text)
            except ValueError:
                continue
    is_number = int in members or float in members
    if str in members or Path in members or (Any in members and not is_number):
        return text
    wanted = " or ".join(_WORDS[each] for each in members if each in _WORDS)
    raise InvalidInput(f"{name} must be {wanted}; got {text!r}")


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false", "yes", "no", "1", "0", "on", "off"):
        raise ValueError(text)
    return text.lower() in ("true", "yes", "1", "on")


def takes(cls: type[Settings]) -> Callable[[F], F]:
    """Give a method the signature and the parameter documentation of its settings class.

    The method is written as ``def search(self, query, settings=None, **options)``, but the help,
    notebooks and the documentation show every field with its default and description.
    """

    def wrap(verb: F) -> F:
        own = inspect.signature(verb)
        plain = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        shown = [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=each.type,
            )
            for each in fields(cls)
        ]
        runtime = [each for each in plain if each.kind is each.KEYWORD_ONLY]
        data = [each for each in plain if each.kind is not each.KEYWORD_ONLY]
        verb.__signature__ = own.replace(parameters=[*data, *shown, *runtime])  # type: ignore[attr-defined]
        verb.__doc__ = _with_fields(verb.__doc__ or "", cls)
        verb.settings_class = cls  # type: ignore[attr-defined]
        return verb

    return wrap


def described_fields(cls: type[Settings]) -> list[tuple[str, str]]:
    """Return ``name : type`` and the description of each field, for documentation."""
    rows = []
    for each in fields(cls):
        kind, about = described(cls)[each.name]
        text = about.help
        if about.unit:
            text = f"{text.removesuffix('.')} ({about.unit})."
        if about.methods:
            text += (
                " Methods: "
                + ", ".join(
                    f"``{name}`` (`{method.__name__}`)" for name, method in about.methods.items()
                )
                + "."
            )
        rows.append((f"{each.name} : {_type_text(kind, each, about)}", text))
    return rows


def json_schema(cls: type[Settings]) -> dict[str, Any]:
    """Return the JSON schema of a settings class, for the HTTP interface and forms.

    A field that selects a method becomes ``oneOf`` with one variant per method, identified by its
    ``name``. ``x-unit`` is the unit of a field, and ``x-expert`` marks fields that a form shows
    only on request.
    """
    properties: dict[str, Any] = {}
    for each in fields(cls):
        kind, about = described(cls)[each.name]
        row: dict[str, Any]
        if about.methods:
            default = name_of(each.default) or None
            row = {
                "oneOf": [_variant(name, method) for name, method in about.methods.items()],
                "discriminator": {"propertyName": "name"},
                "default": {"name": default},
            }
        elif isinstance(each.default, Settings):
            row = json_schema(type(each.default))
            row["default"] = each.default.to_json()
        else:
            row = _value_schema(kind, about)
            if each.default is not MISSING:
                row["default"] = _json_value(each.default)
        row["title"] = about.label or each.name.replace("_", " ").capitalize()
        row["description"] = about.help
        if about.unit:
            row["x-unit"] = about.unit
        if about.expert:
            row["x-expert"] = True
        properties[each.name] = row
    return {
        "type": "object",
        "title": cls.__name__,
        "description": (cls.__doc__ or "").partition("\n")[0],
        "properties": properties,
        "additionalProperties": False,
    }


def _variant(name: str, method: type[Settings]) -> dict[str, Any]:
    schema = json_schema(method)
    schema["properties"] = {"name": {"type": "string", "const": name}, **schema["properties"]}
    schema["required"] = ["name"]
    return schema


def _value_schema(kind: Any, about: Setting) -> dict[str, Any]:
    """Return the JSON schema of a plain value: its type, choices and limits."""
    choices = choices_of(kind)
    members = [each for each in _members(kind) if each is not type(None)]
    if choices is not None:
        row: dict[str, Any] = {"type": "string", "enum": list(choices)}
    elif kind == Names:
        return {"type": ["array", "null"], "items": {"type": "string"}}
    elif any(get_origin(each) is tuple for each in members):
        several = next(each for each in members if get_origin(each) is tuple)
        inner = [each for each in get_args(several) if each is not Ellipsis]
        row = {"type": "array", "items": _value_schema(inner[0], Setting("")) if inner else {}}
        if Ellipsis not in get_args(several):
            row |= {"minItems": len(inner), "maxItems": len(inner)}
    else:
        types_ = [_JSON_TYPES[each] for each in members if each in _JSON_TYPES]
        row = (
            {}
            if Any in members or not types_
            else {"type": types_[0] if len(types_) == 1 else types_}
        )
    limits = {"minimum": about.least, "maximum": about.greatest, "exclusiveMinimum": about.above}
    row |= {name: limit for name, limit in limits.items() if limit is not None}
    if len(members) < len(_members(kind)) and "type" in row:
        listed = row["type"] if isinstance(row["type"], list) else [row["type"]]
        row["type"] = [*listed, "null"]
        if "enum" in row:
            row["enum"] = [*row["enum"], None]
    return row


def choices_of(kind: Any) -> tuple[Any, ...] | None:
    """Return the values of a (possibly optional) ``Literal`` type, or None for other types."""
    members = [each for each in _members(kind) if each is not type(None)]
    if members and all(get_origin(each) is Literal for each in members):
        return tuple(dict.fromkeys(value for each in members for value in get_args(each)))
    return None


_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
_JSON_TYPES: dict[Any, str] = {
    bool: "boolean", int: "integer", float: "number", str: "string", Path: "string",
}  # fmt: skip


def _normalized(value: Any, each: Field[Any], kind: Any, about: Setting) -> Any:
    """Convert a value to its field's type: a method name to settings, or a list to a tuple."""
    if about.methods:
        own = value if about.adapt is None else about.adapt(value)
        if own is not value:  # an object of the user
            return own
        if isinstance(value, str):
            return method_class(each.name, value, about.methods)()
        if type(value) not in about.methods.values() and not getattr(value, "OWN", False):
            raise InvalidInput(
                f"{each.name} must be one of {', '.join(about.methods)} or the settings object "
                "of one "
                f"of these methods; got {_shortened(value)}"
            )
        return value
    if isinstance(each.default, Settings):
        if not isinstance(value, type(each.default)):
            wanted = type(each.default).__name__
            raise InvalidInput(f"{each.name} must be a {wanted} object; got {_shortened(value)}")
        return value
    if kind == Names and value is not None and not isinstance(value, str):
        names = tuple(value) if isinstance(value, Iterable) else (None,)
        if not all(isinstance(name, str) for name in names):
            raise InvalidInput(f"{each.name} must be one or several names; got {_shortened(value)}")
        return names
    value = _frozen(value)
    if get_origin(kind) is tuple and get_args(kind) == (float, float):
        try:
            low, high = (float(bound) for bound in value)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"{each.name} must be two numbers; got {_shortened(value)}"
            ) from None
        return low, high
    return value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


def _json_value(value: Any, default: Any = None) -> Any:
    """Return a value as JSON. For a group, include only the fields that differ from the default."""
    if isinstance(value, Settings):
        inner = value.to_json(default if isinstance(default, Settings) else None)
        return {"name": name_of(value), **inner} if name_of(value) else inner
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    if value is None or isinstance(value, str | bool | Mapping):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if isfinite(float(value)) else str(float(value))
    return str(value)


def _unknown(cls: type[Settings], name: str) -> str:
    """Return the message for an unknown field, with a hint if a method or group has that field."""
    for each in fields(cls):
        about = described(cls)[each.name][1]
        inner = about.methods.values() if about.methods else [type(each.default)]
        for kind in inner:
            if isinstance(kind, type) and issubclass(kind, Settings) and name in described(kind):
                return (
                    f"{name} is an option of {kind.__name__}, so write "
                    f"{each.name}={kind.__name__}({name}=...)"
                )
    return f"{cls.__name__} has no {name}; its fields are {', '.join(described(cls))}"


def _not_taken(cls: type[Settings], name: str, chosen: Mapping[str, Any]) -> str:
    """Return the message for a flat option that neither the chosen method nor a group has."""
    for each in fields(cls):
        about = described(cls)[each.name][1]
        if any(name in described(kind) for kind in about.methods.values()):
            method = chosen[each.name]
            if isinstance(method, str):
                method = about.methods[method]()
            options = ", ".join(described(type(method)))
            hint = f"whose options are {options}" if options else "which has no options"
            return f"{name} is not an option of {each.name} {name_of(method)}, {hint}"
    return _unknown(cls, name)


def _with_fields(text: str, cls: type[Settings]) -> str:
    """Return a docstring with the fields of a settings class appended to its parameters."""
    text = inspect.cleandoc(text)
    rows = [f"{head}\n    {about}" for head, about in described_fields(cls)]
    listed = "\n".join(rows)
    head, heading, tail = text.partition("\nParameters\n----------\n")
    for section in ("Returns", "Raises", "Examples", "Notes"):
        mark = f"\n{section}\n{'-' * len(section)}\n"
        part = tail if heading else head
        at = part.find(mark)
        if at >= 0:
            before, after = part[:at].rstrip("\n"), part[at:]
            break
    else:
        before, after = (tail if heading else head).rstrip("\n"), ""
    if heading:
        return f"{head}{heading}{before}\n{listed}\n{after}"
    return f"{before}\n\nParameters\n----------\n{listed}\n{after}"


def _type_text(kind: Any, each: Field[Any], about: Setting) -> str:
    choices = choices_of(kind)
    if about.methods:
        text = "str or settings"
    elif isinstance(each.default, Settings):
        text = type(each.default).__name__
    elif choices is not None:
        text = "{" + ", ".join(repr(choice) for choice in choices) + "}"
    elif kind == Names:
        text = "str or several str"
    else:
        names = [getattr(m, "__name__", str(m)) for m in _members(kind) if m is not type(None)]
        text = " or ".join(name for name in names if name != "Any") or "object"
    is_optional = type(None) in _members(kind) or (each.default is None)
    return f"{text}, optional" if is_optional else text


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _is(value: Any, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, bool)
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    return isinstance(value, kind)


def _members(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself if it is not a union."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
