"""Public names of a package that are imported on first use.

The command line imports the settings of many packages at every start; what else these packages
hold is imported when it is needed. A package states its names once, as imports below
``if TYPE_CHECKING:``, where type checkers and editors read them, too.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def imported_on_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__``, which also knows ``__all__``, and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.

    Examples
    --------
    >>> get, names = imported_on_use("motionloom.search")
    >>> get("Match").__module__
    'motionloom.search.match'
    >>> "Match" in names()
    True
    """

    def value_of(name: str) -> Any:
        homes = _stated(package)
        if name == "__all__":
            return list(homes)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        if home != package and hasattr(module := import_module(home), name):
            return getattr(module, name)
        return import_module(f"{home}.{name}")

    return value_of, lambda: list(_stated(package))


@functools.cache
def _stated(package: str) -> dict[str, str]:
    """Module of every name that the source of a package imports below ``if TYPE_CHECKING:``."""
    import ast  # not before a name is used: importing the package stays quick

    spec: Any = sys.modules[package].__spec__
    blocks = [
        block
        for block in ast.parse(spec.loader.get_data(spec.origin)).body
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
    ]
    imports = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    homes = {alias.name: line.module or "" for line in imports for alias in line.names}
    return dict(sorted(homes.items()))
