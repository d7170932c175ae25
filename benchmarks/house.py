"""How the house stands: sizes of modules, docstrings of public names, error messages in tests.

    python benchmarks/house.py            figures
    python benchmarks/house.py --missing  and what each of them lacks

An error message counts as read by a test if a piece of its fixed words, twelve letters or more,
or all of them if they are fewer, stands in a string of the tests.
"""

from __future__ import annotations

import ast
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "motionloom", ROOT / "tests"
PIECE = 12


def modules() -> dict[Path, ast.Module]:
    """Every module of the package, parsed."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def public_names(trees: dict[Path, ast.Module]):
    """(module, name, node) of functions, classes and methods without an underscore."""
    for path, tree in trees.items():
        if path.stem.startswith("_") and path.stem != "__init__":
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                yield path, node.name, node
                if isinstance(node, ast.ClassDef):
                    for part in node.body:
                        if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                            yield path, f"{node.name}.{part.name}", part


def takes_arrays(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether a signature speaks of arrays."""
    if isinstance(node, ast.ClassDef):
        notes = [one.annotation for one in node.body if isinstance(one, ast.AnnAssign)]
    else:
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        notes = [one.annotation for one in given] + [node.returns]
    text = " ".join(ast.unparse(note) for note in notes if note is not None)
    return any(word in text for word in ("NDArray", "ndarray", "ArrayLike", "Array"))


def messages(trees: dict[Path, ast.Module]):
    """(module, line, fixed pieces) of every message of an error raised on purpose."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                pieces = _pieces(node.exc.args[0])
                if pieces:
                    yield path, node.lineno, pieces


def _pieces(text: ast.expr) -> list[str]:
    if isinstance(text, ast.Constant) and isinstance(text.value, str):
        return [text.value]
    if isinstance(text, ast.JoinedStr):
        return [p.value for p in text.values if isinstance(p, ast.Constant) and p.value.strip()]
    return []


def read_by_a_test(pieces: list[str], tested: str) -> bool:
    """Whether some fixed words of a message stand in the tests."""
    for piece in pieces:
        piece = piece.strip()
        if len(piece) <= PIECE:
            if len(piece) >= 6 and piece in tested:
                return True
        elif any(piece[k : k + PIECE] in tested for k in range(len(piece) - PIECE + 1)):
            return True
    return False


def tests_strings() -> str:
    """All strings of the tests, regular expressions unescaped."""
    found = []
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value.replace("\\", ""))
    return "\n".join(found)


def main() -> None:
    """Print the figures."""
    trees, tell = modules(), "--missing" in sys.argv
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in trees}
    largest = sorted(sizes, key=sizes.__getitem__)[-5:]
    print(
        f"{len(sizes)} modules, {sum(sizes.values()):,} lines, median {statistics.median(sizes.values()):.0f}"
    )
    print("largest:", ", ".join(f"{p.relative_to(SOURCE)} {sizes[p]}" for p in reversed(largest)))
    names = list(public_names(trees))
    documented = [ast.get_docstring(node) or "" for _, _, node in names]
    lacking = [(p, n) for (p, n, _), text in zip(names, documented, strict=True) if not text]
    print(
        f"{len(names)} public names, {_share(len(names) - len(lacking), len(names))} with a docstring"
    )
    tops = [(row, text) for row, text in zip(names, documented, strict=True) if "." not in row[1]]
    shown = [row for row, text in tops if ">>>" in text]
    print(f"  of {len(tops)} functions and classes {_share(len(shown), len(tops))} with an example")
    arrays = [(row, text) for row, text in tops if takes_arrays(row[2])]
    shaped = [
        row for row, text in arrays if "(" in text and "shape" in text.lower() or "(T" in text
    ]
    print(
        f"  of {len(arrays)} that take or give arrays {_share(len(shaped), len(arrays))} name a shape"
    )
    told = list(messages(trees))
    tested = tests_strings()
    unread = [row for row in told if not read_by_a_test(row[2], tested)]
    print(
        f"{len(told)} error messages, {_share(len(told) - len(unread), len(told))} read by a test"
    )
    if tell:
        for path, name in lacking:
            print(f"no docstring  {path.relative_to(ROOT)} {name}")
        for (path, name, _), text in tops:
            if ">>>" not in text:
                print(f"no example    {path.relative_to(ROOT)} {name}")
        named = {id(row[2]) for row in shaped}
        for (path, name, node), _ in arrays:
            if id(node) not in named:
                print(f"no shape      {path.relative_to(ROOT)} {name}")
        for path, line, pieces in unread:
            print(f"unread        {path.relative_to(ROOT)}:{line} {' … '.join(pieces)[:90]}")


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(whole, 1):.0f} %)"


if __name__ == "__main__":
    main()
