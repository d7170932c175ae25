"""English of code and documentation: habits that must not return.

``python tests/test_english.py PATH...`` lists every occurrence, ``--count`` only how many.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "src",
    "docs",
    "tests",
    "studio/src",
    "blender",
    "benchmarks",
    "reproduction",
    "fuzz",
    "benchmark",
)
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
SUFFIXES = {".py", ".md", ".toml", ".ts", ".html", ".css", ".ipynb"}
SKIPPED = ("/static/", "/generated/", "/node_modules/", "/golden/", "tests/test_english.py")

# habit: (pattern, what to write instead)
HABITS = {
    "what is": (r"\bwhat (?:is|was|are|were|the|they)\b(?![^.!]*\?)", "a noun: the result"),
    "What at the start": (r"^What (?![^.]*\?)", "a noun phrase or an imperative"),
    "leave out": (r"\b(?:leave|leaves|leaving|left)(?: \w+)? out\b", "exclude, skip, omit, drop"),
    "is no": (r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer|more|less)", "is not a"),
    "a text": (r"\ba text\b(?! (?:file|field|box|index|search|editor))|\btexts\b", "a string"),
    "beside": (r"\bbeside\b", "next to, compared with, in addition to"),
    "tell": (r"\b(?:tell|tells|told|telling)\b", "report, show, print, indicate"),
    ", too": (r", too\b(?! \w)", "also, before the verb"),
    ", else": (r", else\b", "otherwise"),
    "Of at the start": (r"(?:^|[.:;] )Of (?:the|all|its|our|these|those|each|both|every|\d+|one|two"
                        r"|three|four|five|six|seven|eight|nine|ten)\b", "the subject first"),
    "mend": (r"\bmend(?:s|ed|ing)?\b", "fix, repair"),
    "made again": (r"\b(?:made|makes?|built|builds?) (?:again|anew)\b|\banew\b", "rebuilt, again"),
    "dear": (r"\b(?:dear|dearer|dearest|cheap|cheaper|cheapest|cheaply)\b", "slow, fast"),
    "for ever": (r"\bfor ever\b|\bwhom\b", "indefinitely, who"),
    "every how many": (r"\b[Ee]very how many\b", "frame step"),
    "machine alone": (r"\bmachine alone\b|\bquiet machine\b", "an idle machine"),
    "British spelling": (
        r"(?<!nearest_)neighbour(?!\w*\")|colour|behaviour|favour|honour|centre(?!\w*\")|labelled(?!by)"
        r"|labelling|travell|\bmetres?\b|analyse[ds]?\b(?<!analyses)|\blicence|\bgrey|\btowards\b"
        r"|\blearnt\b|\bspelt\b|programme\b|\bartefact|\bwhilst\b"
        r"|(?:normal|recogn|synchron|quant|vector|organ|optim|minim|maxim|initial|visual|summar)"
        r"is(?:e|ing|ation)",
        "the American spelling",
    ),
}  # fmt: skip
NAMES = {"found", "one", "known", "told", "held"}  # of variables: say what they hold

# (path ends with, part of the line): reason
ALLOWED: dict[tuple[str, str], str] = {
    ("", "set to music what is in it"): "the sentence that says what motionloom is",
    ("text/vocabulary.py", "meter meters metre"): "words that users write",
    ("text/vocabulary.py", "across towards"): "words that users write",
    ("text/vocabulary.py", "who whom which"): "words that users write",
    ("text/text_search.py", "while|whilst"): "words that users write",
    ("text/scripts/script.py", "while|whilst"): "words that users write",
    ("roles/joint_names.py", "centre"): "names of joints in files",
    ("c3d/reader.py", "metre"): "units in files",
    ("test_trust_files.py", "learnt.json"): "names of files in libraries of release 0.2",
    ("store/upgrade.py", '"centred"'): "a setting of release 0.2",
    ("", "nearest_neighbour"): "a key of the JSON that programs read",
}
_PATTERNS = {name: re.compile(pattern, re.MULTILINE) for name, (pattern, _) in HABITS.items()}
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern, _ in HABITS.values()), re.MULTILINE)
# Most files contain nothing that looks like a habit. Only the others are taken apart.
_LOOKS_LIKE = re.compile("|".join(f"(?:{each})" for each, _ in HABITS.values()).replace("^", ""))
_STORED = re.compile(rf"\b(?:{'|'.join(sorted(NAMES))})\s*(?:[=:,)\]]| in\b|$)", re.MULTILINE)


def files(paths=None):
    """Files to examine: all of the repository, or those below `paths`."""
    roots = [Path(path).resolve() for path in paths] if paths else [
        *(ROOT / folder for folder in FOLDERS), *(ROOT / page for page in PAGES)
    ]  # fmt: skip
    for root in roots:
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            name = path.as_posix()
            if path.suffix in SUFFIXES and not any(part in name for part in SKIPPED):
                yield path


def sentences(path, source):
    """Pieces of English with the number of their line: docstrings, strings and comments of Python,
    names of its tests, everything in other files."""
    if path.suffix != ".py":
        yield from enumerate(source.splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or "STRING" in tokenize.tok_name[token.type]:
            text = token.string.lstrip("rbfRBF\"'# ")
            for number, line in enumerate(text.splitlines()):
                yield token.start[0] + number, line.strip()
        elif token.type == tokenize.NAME and token.string.startswith("test_"):
            yield token.start[0], token.string.replace("_", " ")


def variables(source):
    """Names of variables and parameters that say nothing, with the number of their line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NAMES:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg) and node.arg in NAMES:
            yield node.lineno, node.arg


def habits(paths=None):
    """Occurrences of habits: (file, line number, habit, line)."""
    for path in files(paths):
        source = path.read_text(encoding="utf-8")
        name = path.as_posix()
        suspect = _LOOKS_LIKE.search(source.replace("_", " "))
        for number, line in sentences(path, source) if suspect else ():
            for habit, pattern in _PATTERNS.items() if _ANY.search(line) else ():
                if pattern.search(line) and not any(
                    name.endswith(end) and part in line for end, part in ALLOWED
                ):
                    yield name, number, habit, line
        if path.suffix == ".py" and _STORED.search(source):
            for number, variable in variables(source):
                yield name, number, f"variable {variable}", variable


def test_no_habit_returns():
    occurrences = [
        f"{name}:{number}: {habit!r} (write {HABITS[habit][1]}): {line}"
        if habit in HABITS
        else f"{name}:{number}: {habit}: say what it holds"
        for name, number, habit, line in habits()
    ]
    assert not occurrences, "\n".join(occurrences[:40])


def test_the_patterns_find_what_they_are_for():
    for habit, line in {
        "what is": "Return what is in the file.",
        "What at the start": "What the file contains.",
        "leave out": "two takes were left out",
        "is no": "it is no number",
        "a text": "a text or a number",
        "beside": "beside the other",
        "tell": "it tells the user",
        ", too": "and glTF, too.",
        ", else": "a number, else None",
        "Of at the start": "Of 173 captions 113 were right.",
        "mend": "mended files",
        "made again": "figures, made again",
        "dear": "the dearest tests",
        "for ever": "whom to trust",
        "every how many": "Every how many frames",
        "machine alone": "on a quiet machine",
        "British spelling": "the colour of its neighbours",
    }.items():
        assert _PATTERNS[habit].search(line), habit
    assert not _PATTERNS["is no"].search("There is no file.")
    assert not _PATTERNS["what is"].search("What is a take? A motion as it was captured.")


if __name__ == "__main__":
    counted = Counter()
    for name, number, habit, line in habits([arg for arg in sys.argv[1:] if arg != "--count"]):
        counted[habit] += 1
        if "--count" not in sys.argv:
            print(f"{name}:{number}: {habit}: {line[:120]}")
    for habit, count in counted.most_common():
        print(f"{count:6d} {habit}", file=sys.stderr)
    print(f"{sum(counted.values()):6d} in all", file=sys.stderr)
