"""Settings as options of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flags(told: Mapping[str, Any], names: Mapping[str, str] | None = None) -> list[str]:
    """Words of a command for settings that differ from what is taken anyway.

    Labels (``within``) are options of their own, names of takes stand behind one another with
    commas, and what is True needs no value. `names` are options that are called another way.

    Examples
    --------
    >>> flags({"within": ["kick", "punch"], "only": ["a", "b"], "max_distance": 0.25})
    ['--within', 'kick', '--within', 'punch', '--only', 'a,b', '--max-distance', '0.25']
    """
    words: list[str] = []
    for name, value in told.items():
        flag = f"--{(names or {}).get(name, name).replace('_', '-')}"
        if name == "within":
            words += [word for label in value for word in (flag, label)]
        elif name in ("only", "without"):
            words += [flag, ",".join(value)]
        elif value is True:
            words.append(flag)
        else:
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    return words
