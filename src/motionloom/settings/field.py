"""One field of a settings class: its description, its type and its limits."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.settings.settings_class import Settings

WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}


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
    >>> from motionloom.settings import Settings
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


def check_value(name: str, value: Any, kind: Any, about: Setting) -> None:
    """Raise `InvalidInput` if a value has the wrong type or is out of range.

    Only numbers, strings, flags and ``Literal`` types are checked. Functions that use other types
    check those.
    """
    choices = choices_of(kind)
    members = members_of(kind)
    simple = [each for each in members if each in (int, float, bool, str, type(None))]
    if choices is not None:
        is_choice = isinstance(value, str | int | float) and value in choices
        if not is_choice and not (value is None and type(None) in members):
            listed = ", ".join(str(each) for each in choices)
            raise InvalidInput(f"{name} must be one of {listed}; got {value!r}")
        return
    if len(simple) == len(members) and not any(_is(value, each) for each in simple):
        wanted = " or ".join(WORDS[each] for each in simple if each is not type(None))
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


def choices_of(kind: Any) -> tuple[Any, ...] | None:
    """Return the values of a (possibly optional) ``Literal`` type, or None for other types."""
    members = [each for each in members_of(kind) if each is not type(None)]
    if members and all(get_origin(each) is Literal for each in members):
        return tuple(dict.fromkeys(value for each in members for value in get_args(each)))
    return None


def members_of(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself if it is not a union."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _is(value: Any, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, bool)
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    return isinstance(value, kind)


def shortened(value: Any) -> str:
    """Return a value as text of at most 80 characters, for messages."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
