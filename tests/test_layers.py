"""The architecture, as a test: data flows one way, imports point against the flow."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "motionloom"

# A folder imports from itself and from those before it.
LAYERS = [
    "errors", "lazy_names", "ragged", "settings", "files", "checked_arrays",
    "configuration", "kernel_cache", "kernels", "parallel", "motion", "character", "formats",
    "demo", "store", "features", "alignment", "search", "blending", "text", "parametric",
    "motion_graph", "fat_graph", "motion_matching", "dance", "crowd", "reconstruction",
    "evaluation", "library", "plots", "studio", "agents", "cli", "__main__",
]  # fmt: skip

# The doors that look ahead: (file, function) -> what it may import. `Motion.save` and
# `Motion._repr_html_` are the design's two; `Markers.save` is the first of them once more,
# for what C3D files hold, and `Motion.retarget` reads a character. There are no others.
DOORS = {
    ("motion/motion.py", "save"): "formats",
    ("motion/motion.py", "retarget"): "formats",
    ("motion/motion.py", "_repr_html_"): "plots",
    ("motion/markers.py", "save"): "formats",
}

# The terminal and the browser call Library and nothing beneath it, with settings of any package;
# commands for the corpus, for clusters and for scores may also use these packages.
FRONT = {
    "errors",
    "lazy_names",
    "settings",
    "configuration",
    "files",
    "motion",
    "character",
    "formats",
    "library",
    "plots",
}
ABOUT = {"demo", "parallel", "evaluation", "kernels"}

# The built-in corpus is made from code and files alone; it knows no library and no search.
DEMO_USES = {"errors", "files", "parallel", "motion", "formats", "demo"}


def imports(path):
    """(layer, function around it or None, line) of every import of ours in a file."""
    for module, function, line in imported_modules(path):
        yield module if module.startswith(".") else module.partition(".")[0], function, line


def imported_modules(path):
    """(module below ours, function around it or None, line) of every import in a file."""
    for node, function in _statements(ast.parse(path.read_text(encoding="utf-8")), None):
        for target in _targets(node):
            yield target, function, node.lineno


def _statements(parent, function):
    """Every statement below `parent` with the innermost function around it; no expressions."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(parent, name, ()):
            yield node, function
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _statements(node, node.name if is_function else function)


def _targets(node):
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module == "motionloom":
        names = [f"motionloom.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = ["." * node.level + (node.module or "")]
    else:
        return
    for name in names:
        if name.startswith("."):
            yield name
        elif name == "motionloom":
            yield "motionloom"
        elif name.startswith("motionloom."):
            yield name.removeprefix("motionloom.")


def sources():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent != PACKAGE or path.name != "__init__.py":
            yield path


def layer_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_every_folder_has_its_place_in_the_flow():
    assert {layer_of(path) for path in sources()} <= set(LAYERS)


def test_imports_point_one_way():
    wrong = []
    for path in sources():
        here = LAYERS.index(layer_of(path))
        file = path.relative_to(PACKAGE).as_posix()
        for target, function, line in imports(path):
            if target == "__version__" or DOORS.get((file, function)) == target:
                continue
            if target not in LAYERS or LAYERS.index(target) > here:
                wrong.append(f"{file}:{line} imports {target}")
    assert wrong == []


def test_late_imports_are_where_they_are_listed():
    late = {
        (path.relative_to(PACKAGE).as_posix(), function): target
        for path in sources()
        if layer_of(path) == "motion"
        for target, function, _ in imports(path)
        if target in LAYERS and LAYERS.index(target) > LAYERS.index("motion")
    }
    assert late == DOORS


@pytest.mark.parametrize("front", ["agents", "cli", "studio"])
def test_the_fronts_call_the_library_and_nothing_beneath(front):
    called = {"agents", "studio"} if front == "cli" else set()
    allowed = FRONT | ABOUT | {front, "__version__"} | called
    wrong = [
        f"{path.relative_to(PACKAGE).as_posix()}:{line} imports {target}"
        for path in sources()
        if layer_of(path) == front
        for target, _, line in imported_modules(path)
        if target.partition(".")[0] not in allowed and not is_settings(target)
    ]
    assert wrong == []


def is_settings(module):
    """Whether a module holds settings alone, which the fronts build and pass on."""
    return module.endswith(".settings") or f"{module}.".startswith("search.methods.")


def test_the_built_in_corpus_needs_motions_and_files_only():
    for path in sources():
        if layer_of(path) == "demo":
            assert {target for target, _, _ in imports(path)} <= DEMO_USES, path.name


def test_naive_code_stands_alone():
    for path in (ROOT / "tests" / "naive").rglob("*.py"):
        assert list(imports(path)) == [], path.name


@pytest.mark.parametrize("heavy", ["numpy", "numba", "scipy", "matplotlib", "rich"])
def test_importing_the_package_loads_nothing_heavy(heavy):
    code = f"import sys, motionloom; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent).returncode == 0


def test_a_wrong_import_would_be_seen(tmp_path):
    file = tmp_path / "a.py"
    file.write_text(
        "import motionloom.plots\n"
        "from motionloom import cli, errors\n"
        "import numpy\n"
        "def save():\n"
        "    from motionloom.formats import save\n"
        "from .b import c\n"
    )
    assert sorted(imports(file), key=lambda row: row[2]) == [
        ("plots", None, 1),
        ("cli", None, 2),
        ("errors", None, 2),
        ("formats", "save", 5),
        (".b", None, 6),
    ]


def test_every_folder_says_what_it_is_for():
    """In the docstring of its package or in a README; folders of the page are listed in theirs."""
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split()}
    for folder in ROOT.iterdir():
        if folder.is_dir() and folder.name[0] != "." and folder.name not in {*ignored, "src"}:
            about = [folder / name for name in ("README.md", "index.md", "__init__.py")]
            assert any(path.exists() and path.read_text("utf-8").strip() for path in about), folder
    for folder, listed in (("studio/src", "studio"), ("tests", "tests")):
        text = (ROOT / listed / "README.md").read_text(encoding="utf-8")
        names = {path.name for path in (ROOT / folder).iterdir() if path.is_dir()}
        assert {name for name in names if f"`{name}`" not in text} <= {"__pycache__"}
