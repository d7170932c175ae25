"""Public names of a package that are imported on first use.

The command line imports the settings of many packages each time it starts. Everything else in these
packages is imported when it is needed. A package declares its names once, as imports below ``if
TYPE_CHECKING:``, where type checkers and editors also read them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def imported_on_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__``, which also provides ``__all__``, and its ``__dir__``.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.

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
    """Return the module of each name that a package imports under ``if TYPE_CHECKING:``."""
    import ast  # imported here, so that importing the package stays fast

    spec: Any = sys.modules[package].__spec__
    blocks = [
        block
        for block in ast.parse(spec.loader.get_data(spec.origin)).body
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
    ]
    imports = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    homes = {alias.name: line.module or "" for line in imports for alias in line.names}
    return dict(sorted(homes.items()))
