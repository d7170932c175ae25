"""Public names of a package that are imported on first use.

The command line imports the settings of many packages at every start; what else these packages
hold is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        Public name to the module that holds it, relative to the package.

    Examples
    --------
    >>> of_search = lazy_names("motionloom.search", {"Match": "match"})
    >>> of_search("Match").__module__
    'motionloom.search.match'
    """

    def value_of(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{homes[name]}", package), name)

    return value_of
