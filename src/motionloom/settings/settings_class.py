"""The base class of all settings, its presets, and the selection of motions that many share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, fields, replace
from functools import cache
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, get_args, get_origin, get_type_hints

from motionloom.errors import InvalidInput
from motionloom.settings.field import (
    EXCLUDE,
    LABEL,
    ONLY,
    WORDS,
    Names,
    Setting,
    check_value,
    choices_of,
    members_of,
    setting,
    shortened,
)

S = TypeVar("S", bound="Settings")


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
            name: json_value(value, None if name_of(value) else defaults[name])
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
            raise InvalidInput(f"{cls.__name__} must be a JSON object; got {shortened(values)}")
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
                f"{cls.__name__}: a value of {shortened(dict(values))} has the wrong type or size "
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
        raise InvalidInput(f"{what} must be one of {', '.join(methods)}; got {shortened(name)}")
    return methods[name]


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
    members = members_of(kind)
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
    wanted = " or ".join(WORDS[each] for each in members if each in WORDS)
    raise InvalidInput(f"{name} must be {wanted}; got {text!r}")


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false", "yes", "no", "1", "0", "on", "off"):
        raise ValueError(text)
    return text.lower() in ("true", "yes", "1", "on")


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
                f"of these methods; got {shortened(value)}"
            )
        return value
    if isinstance(each.default, Settings):
        if not isinstance(value, type(each.default)):
            wanted = type(each.default).__name__
            raise InvalidInput(f"{each.name} must be a {wanted} object; got {shortened(value)}")
        return value
    if kind == Names and value is not None and not isinstance(value, str):
        names = tuple(value) if isinstance(value, Iterable) else (None,)
        if not all(isinstance(name, str) for name in names):
            raise InvalidInput(f"{each.name} must be one or several names; got {shortened(value)}")
        return names
    value = _frozen(value)
    if get_origin(kind) is tuple and get_args(kind) == (float, float):
        try:
            low, high = (float(bound) for bound in value)
        except (TypeError, ValueError):
            raise InvalidInput(f"{each.name} must be two numbers; got {shortened(value)}") from None
        return low, high
    return value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


def json_value(value: Any, default: Any = None) -> Any:
    """Return a value as JSON. For a group, include only the fields that differ from the default."""
    if isinstance(value, Settings):
        inner = value.to_json(default if isinstance(default, Settings) else None)
        return {"name": name_of(value), **inner} if name_of(value) else inner
    if isinstance(value, tuple):
        return [json_value(each) for each in value]
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
