"""No name in the package uses a word that docs/reference/glossary.md avoids."""

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
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| .* \|(.*)\|$", page, re.M)
    words = {word.strip() for row in rows[1:] for word in row.split(",")}
    return {word for word in words if word and word not in ("not", "---")}


@pytest.fixture(scope="module")
def definitions():
    """Keyword (indented, unless at module level) and name of every class and function."""
    pattern = re.compile(r"^( *(?:async )?(?:class|def)) (\w+)", re.M)
    return [
        definition
        for path in sorted(PACKAGE.rglob("*.py"))
        for definition in pattern.findall(path.read_text(encoding="utf-8"))
    ]


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


def test_no_name_uses_a_word_that_the_glossary_avoids(definitions):
    names = {path.stem.capitalize() for path in PACKAGE.rglob("*.py")}
    names |= {name for _, name in definitions}
    wrong = {f"{name} ({word})" for word in banned() for name in names if uses(name, word)}
    assert wrong == set()


def test_no_class_name_stands_for_two_things(definitions):
    classes = Counter(
        name for kind, name in definitions if kind == "class" and not name.startswith("_")
    )
    assert [name for name, count in classes.items() if count > 1] == []


VERBS = {"stretch_only"}  # uniform scaling stretches clips: no noun for a segment


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_option_uses_a_word_that_the_glossary_avoids(command):
    from motionloom.cli import app

    for option in app.get_command(None, command).params:
        if not getattr(option, "hidden", False):
            name = option.name.removeprefix("field__").replace("-", "_")
            for word in banned():
                assert name in VERBS or not uses(name, word)
