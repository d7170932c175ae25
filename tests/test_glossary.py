"""The words of docs/glossary.md: no name in the package uses a word of its last column."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from motionloom.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "motionloom"
# Words with other, ordinary meanings: only modules and classes named so count.
ORDINARY = {"found", "place", "spot", "blocks", "account", "performance", "storage", "loom", "heap"}


def banned():
    rows = re.findall(r"^\| .* \| .* \|(.*)\|$", (ROOT / "docs/glossary.md").read_text(), re.M)
    words = {word.strip() for row in rows[1:] for word in row.split(",")}
    return {word for word in words if word and word not in ("not", "---")}


def defined_names():
    """(file, name) of every module, class and function of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        yield file, path.stem.capitalize()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield file, node.name


def words_of(name):
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name)]


def uses(name, word):
    words = words_of(name)
    wanted = word.lower().split()
    if word in ORDINARY:
        return words == wanted and name[0].isupper()
    return any(
        [stem(each) for each in words[k : k + len(wanted)]] == [stem(each) for each in wanted]
        for k in range(len(words))
    )


def stem(word):
    return word.rstrip("s")


def test_the_glossary_lists_words_to_avoid():
    assert {"keepsake", "sweet spot", "troupe", "stretch"} <= banned()


def test_no_name_uses_a_word_that_the_glossary_avoids():
    avoided = banned()
    wrong = [
        f"{file}: {name} ({word})"
        for file, name in defined_names()
        for word in avoided
        if uses(name, word)
    ]
    assert wrong == []


def test_no_class_name_stands_for_two_things():
    classes = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in classes.items() if count > 1] == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_option_uses_a_word_that_the_glossary_avoids(command):
    import typer

    from motionloom.cli import app

    group = typer.main.get_command(app)
    for option in group.commands[command].params:
        if not getattr(option, "hidden", False):
            for word in banned():
                assert not uses(option.name.replace("-", "_"), word), option.name
