"""Settings of a verb: frozen dataclasses whose fields are typed, documented and checked.

Each verb of `motionloom.Library` has one settings class. A field carries its default, the
sentence that explains it, its unit and its limits; the options and the help of the command, the
form in the studio and its TypeScript type are derived from these fields.

Options that belong to one method only live in a settings class of that method, which is chosen by
name: ``method="lazy", k=64`` is short for ``method=LazyGraph(k=64)``. An option that the chosen
method does not have is refused by name.

A field called ``preset`` names the settings of a paper, listed in the attribute ``PRESETS`` of the
class: they take the place of the defaults.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from motionloom.errors import InvalidInput


@dataclass(frozen=True)
class Setting:
    """What a field of a settings class says besides its name, type and default.

    Attributes
    ----------
    help : str
        One sentence: what it does.
    unit : str
        Unit of the value, for example ``"m"``; empty where there is none.
    least, greatest : float, optional
        Inclusive limits.
    above : float, optional
        Exclusive lower limit.
    option : str
        Name on the command line where it differs from the field's, for example ``"--max"``.
    old_options : tuple of str
        Earlier names on the command line, accepted and not shown.
    metavar : str
        What the help shows for the value, for example ``"LABEL"``.
    commas : bool
        Whether the command line takes several values in one text, separated by commas.
    label : str
        Name in a form; default: the field's, with spaces.
    command : bool
        Whether the command line has it.
    """

    help: str
    unit: str = ""
    least: float | None = None
    greatest: float | None = None
    above: float | None = None
    option: str = ""
    old_options: tuple[str, ...] = ()
    metavar: str = ""
    commas: bool = False
    label: str = ""
    command: bool = True


LABEL = Setting(
    "Only motions with this label; may be repeated.", metavar="LABEL", old_options=("--within",)
)
ONLY = Setting("Only these motions.", metavar="NAME,...", commas=True)
EXCLUDE = Setting(
    "Leave out these motions.", metavar="NAME,...", commas=True, old_options=("--without",)
)
"""Settings that choose motions, for every verb that takes ``label``, ``only`` and ``exclude``."""

PRESET = Setting(
    "Settings as in a paper, by its initials and year; other options win where they differ from "
    "their defaults.",
)
"""Setting of every verb that has presets; the papers are those of `docs/papers.md`."""

Names = str | tuple[str, ...] | None
"""Type of such a field: one name, several, or None for no choice."""


def names(given: str | Iterable[str] | None) -> Names:
    """One name or several as the value of a field of type `Names`."""
    return given if given is None or isinstance(given, str) else tuple(given)


def setting(default: Any, help: str | Setting, **details: Any) -> Any:
    """A field of a settings class.

    Parameters
    ----------
    default
        Value where none is given.
    help : str or Setting
        One sentence: what it does; or a ready-made `Setting`, shared by several verbs.
    **details
        Further attributes of `Setting`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Lazy(Settings):
    ...     k: int = setting(256, "Neighbours per query frame.", least=1)
    >>> Lazy(k=64).k
    64
    >>> Lazy(k=0)
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: k must be at least 1; got 0
    """
    about = help if isinstance(help, Setting) else Setting(help, **details)
    return field(default=default, metadata={"setting": about})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all settings classes: checks types and limits of the fields when made."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __post_init__(self) -> None:
        values = preset_values(type(self), getattr(self, "preset", None)) if self.PRESETS else {}
        for each in fields(self):
            if each.name in values and getattr(self, each.name) == each.default:
                object.__setattr__(self, each.name, values[each.name])
        for name, (kind, about) in described(type(self)).items():
            check_value(name, getattr(self, name), kind, about)
        self.check()

    def check(self) -> None:
        """Check what depends on several fields; raises `InvalidInput`."""

    def arguments(self) -> dict[str, Any]:
        """Field name to value, as keyword arguments of the verb.

        Examples
        --------
        >>> Settings().arguments()
        {}
        """
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any], **others: Any) -> Self:
        """Settings from the arguments of a verb: those named as fields, or as options of methods.

        Parameters
        ----------
        arguments : mapping
            Argument name to value, the ``locals()`` of the verb. An option of a method that is
            None is not given.
        **others
            Values that take the place of arguments.

        Examples
        --------
        >>> def verb(*, label=None, only=None, exclude=None, progress=None):
        ...     return MotionChoice.from_arguments(locals())
        >>> verb(only=["walk", "jog"]).only
        ('walk', 'jog')
        """
        own = {name: arguments[name] for name in described(cls) if name not in others} | others
        own |= {name: names(own[name]) for name in described(MotionChoice) if name in own}
        for what in [each.name for each in fields(cls) if isinstance(each.default, Settings)]:
            methods = methods_of(cls, what).values()
            options = {name: arguments[name] for method in methods for name in described(method)}
            own[what] = chosen_of(cls, what, own[what], options, own.get("preset"))
        return cls(**own)


@dataclass(frozen=True, kw_only=True)
class MotionChoice(Settings):
    """Which motions of a library a command takes."""

    label: Names = setting(None, LABEL)
    only: Names = setting(None, ONLY)
    exclude: Names = setting(None, EXCLUDE)


def motion_choice(settings: Any) -> dict[str, Any]:
    """The fields `label`, `only` and `exclude` of settings as keyword arguments; None if empty."""
    return {name: getattr(settings, name) or None for name in ("label", "only", "exclude")}


def described(cls: type[Settings]) -> dict[str, tuple[Any, Setting]]:
    """Name to type and `Setting` of every field of a settings class, in order."""
    if cls not in _DESCRIBED:
        hints = get_type_hints(cls)
        _DESCRIBED[cls] = {
            each.name: (hints[each.name], each.metadata.get("setting") or Setting(""))
            for each in fields(cls)
        }
    return _DESCRIBED[cls]


_DESCRIBED: dict[type, dict[str, tuple[Any, Setting]]] = {}


def check_value(name: str, value: Any, kind: Any, about: Setting) -> None:
    """Raise `InvalidInput` if a value has the wrong type or is beyond its limits.

    Only numbers, texts, flags and ``Literal`` types are checked; other types are left to the
    functions that use them.
    """
    choices = choices_of(kind)
    simple = [each for each in _members(kind) if each in (int, float, bool, str, type(None))]
    if choices is not None:
        if value not in choices and not (value is None and type(None) in _members(kind)):
            named = ", ".join(str(each) for each in choices)
            raise InvalidInput(f"{name} must be one of {named}; got {value!r}")
        return
    if len(simple) == len(_members(kind)) and not any(_is(value, each) for each in simple):
        wanted = " or ".join(_WORDS[each] for each in simple if each is not type(None))
        raise InvalidInput(f"{name} must be {wanted}; got {value!r}")
    if not isinstance(value, Real) or isinstance(value, bool):
        return
    number = float(value)
    if about.least is not None and not number >= about.least:
        raise InvalidInput(f"{name} must be at least {about.least:g}; got {value}")
    if about.above is not None and not number > about.above:
        raise InvalidInput(f"{name} must be greater than {about.above:g}; got {value}")
    if about.greatest is not None and not number <= about.greatest:
        raise InvalidInput(f"{name} must be at most {about.greatest:g}; got {value}")


def preset_values(cls: type[Settings], preset: str | None) -> Mapping[str, Any]:
    """Field name to value of a preset; empty for None.

    Raises
    ------
    InvalidInput
        If the class has no such preset.
    """
    if preset is None:
        return {}
    if preset not in cls.PRESETS:
        raise InvalidInput(f"preset must be one of {', '.join(cls.PRESETS)}; got {preset!r}")
    return cls.PRESETS[preset]


def chosen_of(
    cls: type[Settings],
    what: str,
    choice: str | Settings,
    options: dict[str, Any],
    preset: str | None = None,
) -> Settings:
    """The method that the field `what` of a settings class chooses; see `chosen`.

    Where the method of the preset, or the default one, is chosen, the options refine the method
    of the preset.
    """
    methods = methods_of(cls, what)
    start = preset_values(cls, preset).get(what)
    default = next(each.default for each in fields(cls) if each.name == what)
    if start is None or methods.get(str(choice)) not in (type(start), type(default)):
        return chosen(what, choice, methods, options)
    name = next(key for key, each in methods.items() if type(start) is each)
    given = {option: value for option, value in options.items() if value is not None}
    chosen(what, name, methods, given)  # refuses options that the method does not have
    return replace(start, **given)


def chosen(
    what: str, choice: str | Settings, kinds: Mapping[str, type[Settings]], options: dict[str, Any]
) -> Settings:
    """The settings of a method, chosen by name and refined by options.

    Parameters
    ----------
    what : str
        Name of the argument, for messages: ``"method"``.
    choice : str or Settings
        A name in `kinds`, or ready-made settings (then no further options may be given).
    kinds : mapping of str to settings class
        The methods there are.
    options : dict
        Option name to value; None means not given.

    Raises
    ------
    InvalidInput
        If there is no such method, or the method has no such option.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Lazy(Settings):
    ...     k: int = setting(256, "Neighbours per query frame.", least=1)
    >>> chosen("method", "lazy", {"lazy": Lazy}, {"k": 64}).k
    64
    >>> chosen("method", "lazy", {"lazy": Lazy}, {"steps": "classic"})
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: steps is not an option of method lazy, which has k
    """
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(choice, str):
        if choice not in kinds:
            known = ", ".join(kinds)
            raise InvalidInput(f"{what} must be one of {known}; got {choice!r}")
        cls = kinds[choice]
        for name in given:
            if name not in described(cls):
                has = ", ".join(described(cls)) or "no options"
                raise InvalidInput(f"{name} is not an option of {what} {choice}, which has {has}")
        return cls(**given)
    if given:
        names = ", ".join(given)
        raise InvalidInput(f"{names}: set on the {what} itself, {type(choice).__name__}(...)")
    return choice


def form(cls: type[Settings]) -> list[dict[str, Any]]:
    """The fields of a settings class as plain data, for the form of a page.

    A field that chooses a method has the methods' names as ``choices``, and under ``methods``
    what each is and the fields that it has.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Lazy(Settings):
    ...     k: int = setting(256, "Neighbours per query frame.", least=1)
    >>> form(Lazy)[0]["name"], form(Lazy)[0]["type"], form(Lazy)[0]["default"]
    ('k', 'integer', 256)
    """
    defaults = {each.name: each.default for each in fields(cls)}
    rows = []
    for name, (kind, about) in described(cls).items():
        default = defaults[name]
        row = {
            "name": name,
            "label": about.label or name.replace("_", " ").capitalize(),
            "type": _json_type(kind),
            "default": None if default is MISSING else default,
            "choices": choices_of(kind),
            "help": about.help,
            "unit": about.unit,
            "least": about.least,
            "greatest": about.greatest,
        }
        if isinstance(default, Settings):
            methods = methods_of(cls, name)
            row |= {
                "type": "string",
                "default": next(key for key, each in methods.items() if type(default) is each),
                "choices": tuple(methods),
                "methods": {
                    key: {"help": (each.__doc__ or "").partition("\n")[0], "fields": form(each)}
                    for key, each in methods.items()
                },
            }
        rows.append(row)
    return rows


def methods_of(cls: type[Settings], name: str) -> Mapping[str, type[Settings]]:
    """The methods that the field `name` of a settings class chooses among.

    They stand in an attribute of the class: those of ``method`` in ``METHODS``.
    """
    # Interned: CPython's cache of attributes keeps every text it was asked by.
    return getattr(cls, sys.intern(f"{name.upper()}S"))


_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _is(value: Any, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, bool)
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    return isinstance(value, kind)


def _members(kind: Any) -> tuple[Any, ...]:
    """Types of a union; the type itself where it is none."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def choices_of(kind: Any) -> tuple[Any, ...] | None:
    """Values of a ``Literal``, also within an optional; None for other types."""
    members = [each for each in _members(kind) if each is not type(None)]
    if members and all(get_origin(each) is Literal for each in members):
        return tuple(dict.fromkeys(value for each in members for value in get_args(each)))
    return None


def _json_type(kind: Any) -> str:
    if choices_of(kind) is not None:
        return "string"
    members = set(_members(kind)) - {type(None)}
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return names.get(next(iter(members)), "any") if len(members) == 1 else "any"
