"""Functions of the user's as parameters, stored by reference: ``MODULE:FUNCTION``.

A library stores where a function is, never its code. It is imported again when the parametric
motion is loaded: only a plain function that its module defines under that name, and none of the
standard library's, so that a library from elsewhere cannot call what it likes.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any

from motionloom.errors import InvalidInput

_REFERENCE = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")


def is_reference(text: str) -> bool:
    """Whether a text is a reference to a function.

    Examples
    --------
    >>> is_reference("gaits.measures:stride"), is_reference("right_ankle@33")
    (True, False)
    """
    return bool(_REFERENCE.match(text))


def reference_of(function: Any) -> str:
    """``MODULE:FUNCTION``, or an empty text if it cannot be imported again from there.

    Examples
    --------
    >>> reference_of(reference_of)
    'motionloom.parametric.own_functions:reference_of'
    >>> reference_of(lambda motion: 1.0)
    ''
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    text = f"{module}:{name}"
    if module in (None, "__main__") or not is_reference(text):
        return ""
    try:
        return text if imported_function(text) is function else ""
    except InvalidInput:
        return ""


def imported_function(reference: str) -> Callable[..., Any]:
    """The function that a reference names.

    Raises
    ------
    InvalidInput
        If its module cannot be imported, or defines no such function.
    """
    module, _, name = reference.partition(":")
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise InvalidInput(f"{reference}: functions of the standard library are no parameters")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the module does when it is imported
        raise InvalidInput(
            f"{reference} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    code = getattr(found, "__code__", None)
    if code is None or (found.__module__, found.__qualname__) != (module, name):
        raise InvalidInput(f"{reference} must be a function that {module} defines")
    return found
