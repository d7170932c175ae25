"""Write docs/api.md from the public names and their docstrings: python docs/make_api.py.

Public is what ``motionloom.__all__`` lists, the methods of its classes, what the verbs of a library
give back, and what the folders of the package export.
"""

import importlib
import inspect
import re
import textwrap
from pathlib import Path

import motionloom as ml
from motionloom.settings import Settings, described_fields, presets_of

PAGE = Path(__file__).with_name("api.md")
FOLDERS = (
    "motion", "character", "formats", "store", "features", "alignment", "search", "blending",
    "text", "parametric", "motion_graph", "fat_graph", "motion_matching", "dance", "crowd",
    "reconstruction", "evaluation",
    "library", "plots", "demo",
)  # fmt: skip
# What the verbs of a library return: module, class.
RESULTS = (
    ("search", "Match"),
    ("search", "Matches"),
    ("search", "Family"),
    ("blending", "Blend"),
    ("parametric.parametric_motion", "ParametricMotion"),
    ("parametric.parametric_motion", "SynthesisResult"),
    ("motion_graph", "MotionGraph"),
    ("fat_graph", "FatGraph"),
    ("dance", "Beats"),
    ("dance", "Choreography"),
    ("blending", "Player"),
)
COLLECTIONS = (
    ("annotations", "LabelCollection"), ("annotations", "BeatCollection"),
    ("annotations", "CaptionCollection"), ("collections", "ParametricCollection"),
    ("collections", "GraphCollection"), ("collections", "ControllerCollection"),
    ("collections", "ChoreographyCollection"), ("collections", "WebCollection"),
)  # fmt: skip


def page() -> str:
    """The reference: names of the package in full, names of its folders with their first line."""
    parts = [
        "# Python\n",
        "Written from the docstrings. `import motionloom as ml`; everything in the first part is "
        "reached as `ml.NAME`. Shapes: `T` frames, `J` joints (see [conventions](conventions.md)). "
        "`help(ml.Library.search)` says the same in a terminal.\n",
    ]
    names = [name for name in ml.__all__ if name not in FOLDERS and name != "__version__"]
    for name in sorted(names, key=str.casefold):
        parts.append(_entry(f"ml.{name}", getattr(ml, name), level=2))
    parts.append("# Collections of a library\n")
    for module, name in COLLECTIONS:
        kind = getattr(importlib.import_module(f"motionloom.library.{module}"), name)
        parts.append(_entry(name, kind, level=2))
    parts.append("# What comes back\n")
    for module, name in RESULTS:
        kind = getattr(importlib.import_module(f"motionloom.{module}"), name)
        parts.append(_entry(name, kind, level=2))
    parts.append("# By folder\n")
    for folder in FOLDERS:
        parts.append(_folder(importlib.import_module(f"motionloom.{folder}")))
    return "\n".join(parts)


def _entry(title: str, value: object, *, level: int) -> str:
    """One name: how it is called, its docstring, and for a class its members."""
    lines = [f"{'#' * level} {title}\n"]
    if inspect.isclass(value) and issubclass(value, Settings):
        return "\n".join([*lines, _settings(value, title, level)])
    signature = _signature(value)
    if signature:
        lines.append(f"```text\n{title.removeprefix('ml.')}{signature}\n```\n")
    lines.append(_docstring(value))
    if inspect.isclass(value) and not issubclass(value, Exception):
        for name, member in _members(value):
            lines.append(_entry(f"{title.removeprefix('ml.')}.{name}", member, level=level + 1))
    return "\n".join(lines)


def _settings(kind: type[Settings], title: str, level: int) -> str:
    """A settings class: its fields and presets."""
    lines = [_docstring(kind)]
    rows = described_fields(kind)
    if rows:
        lines.append("**Parameters**\n")
        lines += [line for name, text in rows for line in (_field(name), _field(f" {text}"))]
        lines.append("")
    for name in presets_of(kind):
        lines.append(f"{'#' * (level + 1)} {title.removeprefix('ml.')}.{name}\n")
        about = inspect.getdoc(inspect.getattr_static(kind, name).values)
        lines.append(f"A preset; options that are given replace its values. {about}\n")
    return "\n".join(lines)


def _members(kind: type) -> list[tuple[str, object]]:
    """Public methods and properties, those of the bases that are ours included, by name."""
    members = {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("motionloom"):
            continue
        for name, member in vars(base).items():
            member = getattr(member, "__func__", member)
            if not name.startswith("_") and (inspect.isfunction(member) or _is_property(member)):
                members[name] = member
    return sorted(members.items())


def _is_property(member: object) -> bool:
    return isinstance(member, property) or type(member).__name__ == "cached_property"


def _signature(value: object) -> str:
    if not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return ""
    shown = inspect.signature(value)
    plain = [each.replace(default=_brief(each.default)) for each in shown.parameters.values()]
    text = str(shown.replace(parameters=plain))
    text = re.sub(r"<function .*? at 0x[0-9a-f]+>", "...", text)
    text = re.sub(r"<(\w+)[^>]*>", r"\1", text)
    text = re.sub(r"(?:motionloom|numpy|pathlib|collections|typing)(?:\.\w+)*\.(?=\w)", "", text)
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    if len(text) <= 88:
        return text
    return textwrap.fill(text, 92, subsequent_indent="    ", break_long_words=False)


class _Brief:
    """A settings object in a signature: only what differs from the defaults."""

    def __init__(self, settings: Settings) -> None:
        given = ", ".join(f"{name}={value!r}" for name, value in settings.changed().items())
        self.text = f"{type(settings).__name__}({given})"

    def __repr__(self) -> str:
        return self.text


def _brief(default: object) -> object:
    return _Brief(default) if isinstance(default, Settings) else default


def _docstring(value: object) -> str:
    """The docstring as Markdown: sections become bold words, examples become code."""
    text = inspect.getdoc(value) or ""
    out, inside = [], None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if below and set(below) == {"-"} and len(below) >= len(line) > 0:
            if inside == "Examples":
                out.append("```")
            elif inside:
                out.append("")
            inside = line
            out += [f"**{line}**", "", *(["```text"] if line == "Examples" else [])]
        elif set(line) == {"-"} and len(line) > 2:
            continue
        elif inside in ("Parameters", "Returns", "Attributes", "Raises"):
            out.append(_field(line))
        else:
            out.append(line)
    if inside == "Examples":
        out.append("```")
    return "\n".join(out).strip() + "\n"


def _field(line: str) -> str:
    """A line of a list of parameters: its name as an item, what it is beneath it."""
    if line and not line.startswith(" "):
        name, _, kind = line.partition(" : ")
        return f"- `{name}`{': ' + kind if kind else ''}  "
    return f"    {line.strip()}" if line.strip() else ""


def _folder(module) -> str:
    first = (inspect.getdoc(module) or "").partition("\n")[0]
    lines = [f"## {module.__name__}\n", f"{first}\n"]
    rows = []
    for name in sorted(_exported(module), key=str.casefold):
        value = getattr(module, name)
        about = inspect.getdoc(value) if callable(value) or inspect.ismodule(value) else None
        text = (about or "").partition("\n")[0] or _plain(value)
        rows.append(f"| `{name}` | {text.replace('|', chr(92) + '|')} |")
    table = ["| name | |", "|---|---|", *rows, ""] if rows else []
    return "\n".join([*lines, *table])


def _exported(module) -> list[str]:
    """What a folder exports: its list of names, or the functions that it defines itself."""
    defined = [name for name, value in vars(module).items()
               if not name.startswith("_") and inspect.isfunction(value)
               and value.__module__ == module.__name__]  # fmt: skip
    return list(getattr(module, "__all__", defined))


def _plain(value: object) -> str:
    """What a constant is, in a few words."""
    if isinstance(value, dict):
        return f"by name: {', '.join(map(str, value))}"
    if isinstance(value, (tuple, list)) and all(
        isinstance(each, (str, int, float)) for each in value
    ):
        return ", ".join(map(str, value))
    return type(value).__name__


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
