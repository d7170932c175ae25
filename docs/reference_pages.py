"""Pages of the reference that MkDocs builds with the site: commands, and the Python interface.

They are written from the commands' help and the docstrings and are not kept in the repository.
``python docs/reference_pages.py FOLDER`` writes them to a folder, without MkDocs.
"""

import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path

from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import COMMANDS, app
from motionloom.settings import Settings, described_fields, presets_of

PACKAGES = (
    "motion", "character", "formats", "store", "features", "alignment", "search", "blending",
    "text", "parametric", "motion_graph", "fat_graph", "motion_matching", "dance", "crowd",
    "reconstruction", "evaluation",
    "library", "plots", "demo",
)  # fmt: skip
# Results of the verbs of a library: module, class.
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


def pages() -> dict[str, str]:
    """Path of each generated page below docs, with its text in Markdown."""
    return {
        "reference/commands.md": _commands(),
        "reference/python.md": _interface(),
        "reference/settings.md": _settings_page(),
        "reference/results.md": _results(),
        "reference/packages.md": _packages(),
    }


def on_files(files, config):
    """Add the pages to the site: a hook of MkDocs."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def _commands() -> str:
    """Complete help of every command, by job, in the order of `motionloom --help`."""
    parts = [
        "# Commands\n",
        "This page shows the complete help of each command, as `motionloom COMMAND --help-all` "
        "prints it. `--help` shows the options that most people need, and `--method NAME --help` "
        "adds the options of one method. Commands that return data accept `--json`. Invalid input "
        "ends with a one-line message and exit code 2. If some of several files could not be read, "
        "the exit code is 1.\n",
    ]
    for command in COMMANDS:
        text = CliRunner().invoke(app, [command, "--help-all"]).output.strip()
        parts.append(f"## motionloom {command}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def _public() -> list[tuple[str, object]]:
    names = [name for name in ml.__all__ if name not in PACKAGES and name != "__version__"]
    return [(f"ml.{name}", getattr(ml, name)) for name in sorted(names, key=str.casefold)]


def _is_settings(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Settings)


def _interface() -> str:
    """Functions and objects of `motionloom`."""
    return "\n".join([
        "# Python interface\n",
        "After `import motionloom as ml`, every name on this page is available as `ml.NAME`. "
        "Shapes are written with `T` for frames and `J` for joints; see "
        "[conventions](conventions.md). `help(ml.Library.search)` shows the same text in a "
        "terminal. [Settings](settings.md) lists the settings classes, [results](results.md) the "
        "collections of a library and the objects that its methods return, and "
        "[packages](packages.md) the names that each package exports.\n",
        *(_entry(title, value, level=2) for title, value in _public() if not _is_settings(value)),
    ])  # fmt: skip


def _settings_page() -> str:
    """Settings classes and search methods."""
    return "\n".join([
        "# Settings\n",
        "Methods such as `Library.search` accept a settings object, its fields as keyword "
        "arguments, or both; an explicit argument always takes precedence. The options of the "
        "command line have the same names and defaults.\n",
        *(_entry(title, value, level=2) for title, value in _public() if _is_settings(value)),
    ])  # fmt: skip


def _results() -> str:
    """Collections of a library, and the objects that its methods return."""
    collections = [
        getattr(importlib.import_module(f"motionloom.library.{module}"), name)
        for module, name in COLLECTIONS
    ]
    results = [
        getattr(importlib.import_module(f"motionloom.{module}"), name) for module, name in RESULTS
    ]
    return "\n".join([
        "# Collections and results\n",
        "The collections are attributes of a library, such as `lib.labels`. The results are "
        "returned by its methods.\n",
        *(_entry(kind.__name__, kind, level=2) for kind in (*collections, *results)),
    ])  # fmt: skip


def _packages() -> str:
    """Names that each package exports."""
    modules = [importlib.import_module(f"motionloom.{package}") for package in PACKAGES]
    return "\n".join([
        "# Packages\n",
        "Public names of each package, with the first line of their documentation.\n",
        *map(_package, modules),
    ])  # fmt: skip


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
    """Public methods and properties by name, inherited ones included."""
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


def _package(module) -> str:
    """Names that a package exports, each with the first line of its documentation."""
    summary = (inspect.getdoc(module) or "").partition("\n")[0]
    rows = []
    for name in sorted(_exported(module), key=str.casefold):
        value = getattr(module, name)
        doc = inspect.getdoc(value) if callable(value) or inspect.ismodule(value) else None
        line = (doc or "").partition("\n")[0] or _plain(value)
        rows.append(f"| `{name}` | {line.replace('|', chr(92) + '|')} |")
    table = ["| name | |", "|---|---|", *rows, ""] if rows else []
    return "\n".join([f"## {module.__name__}\n", f"{summary}\n", *table])


def _exported(module) -> list[str]:
    """Names in ``__all__`` of a package, or the functions that it defines itself."""
    defined = [name for name, value in vars(module).items()
               if not name.startswith("_") and inspect.isfunction(value)
               and value.__module__ == module.__name__]  # fmt: skip
    return list(getattr(module, "__all__", defined))


def _plain(value: object) -> str:
    """A constant in a few words."""
    if isinstance(value, dict):
        return f"by name: {', '.join(map(str, value))}"
    if isinstance(value, (tuple, list)) and all(
        isinstance(item, (str, int, float)) for item in value
    ):
        return ", ".join(map(str, value))
    return type(value).__name__


if __name__ == "__main__":
    for path, text in pages().items():
        target = Path(sys.argv[1]) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
