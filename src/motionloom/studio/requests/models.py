"""Request models with the defaults, help texts and limits of a verb's settings.

The same settings as a command line and as Python code are shown beside every result.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from motionloom.settings import Settings, described

Name = Annotated[str, Field(max_length=300)]
Names = Annotated[tuple[Name, ...], Field(max_length=1000)]

# Fields of requests whose arguments in Python and on the command line have other names.
ARGUMENTS = {"within": "label", "without": "exclude", "threshold": "max_distance"}


class CodeLines(BaseModel):
    """A request as a command line and as Python code."""

    cli: str
    python: str


class VerbRequest(BaseModel):
    """Settings of a verb of `Library`, as sent by the page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def arguments(self) -> dict[str, Any]:
        """Arguments of the verb that differ from their defaults."""
        given = self.model_dump(exclude={"query", "members"}, exclude_defaults=True, mode="json")
        return {ARGUMENTS.get(name, name): value for name, value in given.items()}

    def code(self, result: str, library: Path, command: Sequence[str], call: str) -> CodeLines:
        """Command line and Python code, from the words and the call that they begin with."""
        said = ", ".join(f"{name}={value!r}" for name, value in self.arguments().items())
        comma = ", " if said and not call.endswith("(") else ""
        python = f"import motionloom as ml; {result} = ml.Library({str(library)!r}).{call}"
        words = ["motionloom", *command, *self.flags()]
        return CodeLines(cli=shlex.join(words), python=f"{python}{comma}{said})")

    def flags(self) -> list[str]:
        """The arguments as command-line options."""
        return flags(self.arguments())


def from_setting(cls: type[Settings], name: str, default: Any = ..., **limits: Any) -> Any:
    """A field of a request with the default, the help and the limits of a setting.

    Parameters
    ----------
    cls : settings class
    name : str
        Field of `cls`.
    default
        Another default, where that of the setting is not a plain value.
    **limits
        Further limits for requests from the network, as for `pydantic.Field`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from motionloom.settings import setting
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Lazy(Settings):
    ...     k: int = setting(256, "Neighbours per query frame.", least=1)
    >>> class Request(BaseModel):
    ...     k: int = from_setting(Lazy, "k", le=1000)
    >>> Request().k, Request.model_fields["k"].description
    (256, 'Neighbours per query frame.')
    """
    _, about = described(cls)[name]
    if default is ...:
        default = getattr(cls, name)
    known = {"ge": about.least, "le": about.greatest, "gt": about.above}
    checks = {key: value for key, value in {**known, **limits}.items() if value is not None}
    return Field(default, description=about.help, **checks)


def flags(arguments: Mapping[str, Any], options: Mapping[str, str] | None = None) -> list[str]:
    """Command-line options for arguments; `options` are those with another name.

    Examples
    --------
    >>> flags({"label": ["kick", "punch"], "only": ["a", "b"], "max_distance": 0.25})
    ['--label', 'kick', '--label', 'punch', '--only', 'a,b', '--max-distance', '0.25']
    """
    words: list[str] = []
    for name, value in arguments.items():
        flag = f"--{(options or {}).get(name, name).replace('_', '-')}"
        if name == "label":
            words += [word for label in value for word in (flag, label)]
        elif name in ("only", "exclude", "accept", "reject"):
            words += [flag, ",".join(value)]
        elif value is True:
            words.append(flag)
        else:
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    return words
