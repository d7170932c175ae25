"""Signatures and parameter documentation of methods, from their settings class."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any, TypeVar

from motionloom.settings.field import Names, Setting, choices_of, members_of
from motionloom.settings.settings_class import Settings, described

F = TypeVar("F", bound=Callable[..., Any])


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
        names = [getattr(m, "__name__", str(m)) for m in members_of(kind) if m is not type(None)]
        text = " or ".join(name for name in names if name != "Any") or "object"
    is_optional = type(None) in members_of(kind) or (each.default is None)
    return f"{text}, optional" if is_optional else text
