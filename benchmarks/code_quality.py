"""Code metrics: sizes of modules, docstrings of public names, error messages covered by tests.

    python benchmarks/code_quality.py            totals
    python benchmarks/code_quality.py --missing  also list the names and messages that fall short

Public names are those in the ``__all__`` of a package and the methods of `Library`, `Motion` and
`Skeleton`. An error message counts as tested if a part of its fixed text occurs in a string of the
tests. The part must have at least twelve characters, or be the whole text if that is shorter.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "motionloom", ROOT / "tests"
PIECE = 12
ARRAYS = ("NDArray", "ndarray", "ArrayLike", "Array")


def public_names() -> dict[str, object]:
    """Every public function, class and method, by its qualified name."""
    import motionloom as ml

    names: dict[object, str] = {}
    folders = [path.parent for path in sorted(SOURCE.rglob("__init__.py"))]
    for folder in folders:
        place = ".".join(("motionloom", *folder.relative_to(SOURCE).parts))
        module = importlib.import_module(place)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                names.setdefault(value, f"{place}.{name}")
    for kind in (ml.Library, ml.Motion, ml.Skeleton):
        for name, value in inspect.getmembers(kind):
            if not name.startswith("_") and (inspect.isfunction(value) or inspect.ismethod(value)):
                names.setdefault(value, f"{kind.__name__}.{name}")
    return {name: value for value, name in names.items()}


def has_arrays(value: object) -> bool:
    """Return whether a signature, or a field of a class, has an array type."""
    if inspect.isclass(value):
        text = " ".join(str(note) for note in value.__dict__.get("__annotations__", {}).values())
    else:
        text = str(inspect.signature(value))  # type: ignore[arg-type]
    return any(word in text for word in ARRAYS)


def messages() -> list[tuple[str, list[str]]]:
    """Location and fixed text parts of every error message that the package raises."""
    parts_of = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                pieces = _pieces(node.exc.args[0])
                if pieces:
                    parts_of.append((f"{path.relative_to(ROOT)}:{node.lineno}", pieces))
    return parts_of


def _pieces(text: ast.expr) -> list[str]:
    if isinstance(text, ast.Constant) and isinstance(text.value, str):
        return [text.value]
    if isinstance(text, ast.JoinedStr):
        constants = [part.value for part in text.values if isinstance(part, ast.Constant)]
        return [str(value) for value in constants if str(value).strip()]
    return []


def is_tested(pieces: list[str], tested: str) -> bool:
    """Return whether a fixed part of a message occurs in the tests."""
    for piece in map(str.strip, pieces):
        if len(piece) <= PIECE:
            if len(piece) >= PIECE // 2 and piece in tested:
                return True
        elif any(piece[k : k + PIECE] in tested for k in range(len(piece) - PIECE + 1)):
            return True
    return False


def strings_of_tests() -> str:
    """All strings of the tests, with regular expressions unescaped."""
    strings = []
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings.append(node.value.replace("\\", ""))
    return "\n".join(strings)


def main() -> None:
    """Print the metrics."""
    sizes = {p: len(p.read_text("utf-8").splitlines()) for p in SOURCE.rglob("*.py")}
    middle = statistics.median(sizes.values())
    print(f"{len(sizes)} modules, {sum(sizes.values()):,} lines, median {middle:.0f}")
    largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:5]
    print("largest:", ", ".join(f"{p.relative_to(SOURCE)} {sizes[p]}" for p in largest))
    names = public_names()
    texts = {name: inspect.getdoc(value) or "" for name, value in names.items()}
    arrays = [name for name, value in names.items() if has_arrays(value)]
    lacking = {
        "no docstring": [name for name, text in texts.items() if not text],
        "no example": [name for name, text in texts.items() if ">>>" not in text],
        "no shape": [n for n in arrays if "shape" not in texts[n] and "(T" not in texts[n]],
    }
    of = {"no docstring": len(names), "no example": len(names), "no shape": len(arrays)}
    print(f"{len(names)} public names, {len(arrays)} of them with arrays")
    for what, rows in lacking.items():
        print(
            f"  {what}: {len(rows)} of {of[what]}; {_share(of[what] - len(rows), of[what])} "
            "have one"
        )
    raised, tested = messages(), strings_of_tests()
    untested = [place for place, pieces in raised if not is_tested(pieces, tested)]
    share = _share(len(raised) - len(untested), len(raised))
    print(f"{len(raised)} error messages, {share} tested")
    if "--missing" in sys.argv:
        for what, rows in {**lacking, "untested": untested}.items():
            print("\n".join(f"{what:14}{row}" for row in rows))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.0f} %"


if __name__ == "__main__":
    main()
