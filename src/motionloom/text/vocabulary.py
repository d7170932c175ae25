"""Conversion of text to words: splitting, stemming, stop words and synonyms.

Names, labels, descriptions, captions and queries are all treated the same way. For example,
``kick_front_1`` and "He is kicking to the front" have the words kick and forward in common.
Synonyms are in a plain text file (``synonyms.txt``), and each library can add its own file.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from motionloom.errors import InvalidInput
from motionloom.files import below, read_regular_text

_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")
_ENDINGS = ("ingly", "edly", "ings", "ing", "ies", "ied", "es", "ed", "s", "ly")
_FULL = frozenset(
    "his this is was as its always across towards bus yes less pass cross dress guess miss toss "
    "press class glass process ring thing bring king sing spring string wing swing during".split()
)
# Stop words, which say nothing about the motion.
STOP = frozenset(
    "a an the this that these those i it its he she they his her him their them himself herself "
    "itself themselves is are was were be been being am do does did doing done has have "
    "had having of to and or on in at for from with without by as into onto out off so very much "
    "while when where who whom which what than then again also but if not no like seems seem some "
    "something someone somebody thing things anything person persons people human humans man woman "
    "boy girl guy subject actor performer character body somebody perform performs "
    "performing performed make makes making made use uses using used start "
    "starts starting begin begins move moves moving movement movements motion action act acts kind "
    "way bit approximately about meter meters metre metres cm centimeters m there here get gets "
    "getting other each both all any degree degrees".split()
)
# Words for direction, amount and manner rather than for an action.
MODIFIERS = frozenset(
    "left right forward backward up down side sidestep high low slow fast straight far big small "
    "hand leg foot head floor around 1 2 3 4 5 6 7 8 9 10 45 90 135 180 225 270 315 360".split()
)
# Words of which a motion shows only one, unless it shows them one after the other.
OPPOSITES = {
    "left": "right", "right": "left", "high": "low", "low": "high",
    "forward": "backward", "backward": "forward", "up": "down", "down": "up",
}  # fmt: skip
_COUNTERCLOCKWISE = re.compile(r"\b(?:counter|anti)[\s-]*clockwise")
_OWN = "synonyms.txt"
_LARGEST = 1 << 20  # maximum size of that file, in bytes
RELATED = 0.5  # weight of related words


@dataclass(frozen=True)
class Synonyms:
    """Synonyms, which are replaced by another word, and related words.

    `forms` maps stems to the spelling in the file, such as ``danc`` to ``dance``.
    """

    same: Mapping[str, str]
    related: Mapping[str, tuple[str, ...]]
    forms: Mapping[str, str] = field(default_factory=dict)


def words(text: str, synonyms: Synonyms | None = None) -> list[str]:
    """Return the stemmed words of a string, each replaced by its first synonym.

    Examples
    --------
    >>> words("A person is kicking_2 twice, while walking backwards")
    ['kick', '2', '2', 'walk', 'backward']
    """
    return [word for _, word in spelled_words(text, synonyms)]


def spelled_words(text: str, synonyms: Synonyms | None = None) -> list[tuple[str, str]]:
    """Return the words of a string, each as spelled and as returned by `words`.

    Examples
    --------
    >>> spelled_words("Dances counter-clockwise")
    [('dances', 'danc'), ('counterclockwise', 'left')]
    """
    table = synonyms or built_in_synonyms()
    plain = unicodedata.normalize("NFKC", text).casefold()
    result = []
    for word in _WORD.findall(_COUNTERCLOCKWISE.sub("counterclockwise", plain)):
        if word not in STOP:
            short = table.same.get(word) or stem(word)
            result.append((word, table.same.get(short, short)))
    return result


def word_forms(texts: Iterable[str], synonyms: Synonyms | None = None) -> dict[str, str]:
    """Return a spelling to show for each word: that of the synonyms, or the shortest one.

    Examples
    --------
    >>> word_forms(["dancing, juggling", "juggles", "jumps"])
    {'danc': 'dance', 'juggl': 'juggle', 'jump': 'jump'}
    """
    table = synonyms or built_in_synonyms()
    forms: dict[str, str] = {}
    for text in texts:
        for spelled, word in spelled_words(text, table):
            if spelled == f"{word}es" and not word.endswith(("s", "x", "z", "ch", "sh")):
                spelled = f"{word}e"
            elif spelled in (f"{word}s", f"{word}es"):
                spelled = word
            form = forms.get(word, table.forms.get(word))
            if form is None and stem(spelled) == word:
                form = spelled
            elif form is None:  # a synonym
                form = word
            better = len(spelled) < len(form) and stem(spelled) == word
            forms[word] = spelled if better else form
    return forms


def word_spans(
    text: str, asked: Collection[str], synonyms: Synonyms | None = None
) -> tuple[tuple[int, int], ...]:
    """Return the character ranges ``[start, end)`` of words or their synonyms in a string.

    Examples
    --------
    >>> text = "kicks forward, twice"
    >>> [text[start:end] for start, end in word_spans(text, ["kick", "2"])]
    ['kicks', 'twice']
    """
    return tuple(
        match.span() for match in _WORD.finditer(text) if {*words(match[0], synonyms)} & {*asked}
    )


def check_text(text: str, what: str, longest: int, advice: str) -> None:
    r"""Raise `InvalidInput` if a string is too long or has control characters.

    Examples
    --------
    >>> check_text("walk" + chr(0), "text", 2000, "describe one motion")
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: text must not have control characters; got '\x00'
    """
    if len(text) > longest:
        raise InvalidInput(
            f"{what} must have at most {longest} characters; got {len(text)}; {advice}"
        )
    strange = [c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\r\t"]
    if strange:
        raise InvalidInput(f"{what} must not have control characters; got {strange[0]!r}")


def stem(word: str) -> str:
    """Return a word without its ending.

    Examples
    --------
    >>> [stem(word) for word in ("walks", "running", "carried", "jumped", "kneeling", "dance")]
    ['walk', 'run', 'carry', 'jump', 'kneel', 'danc']
    """
    if word in _FULL:
        return word
    for ending in _ENDINGS:
        rest = word[: len(word) - len(ending)]
        if word.endswith(ending) and len(rest) >= 3:
            if ending in ("ies", "ied"):
                return f"{rest}y"
            if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz":
                rest = rest[:-1]
            return rest[:-1] if rest.endswith("e") and len(rest) > 3 else rest
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def expanded(query: Iterable[str], synonyms: Synonyms | None = None) -> dict[str, float]:
    """Return the words in a query with their weights, and related words with half the weight."""
    table = synonyms or built_in_synonyms()
    weights: dict[str, float] = {}
    for word in query:
        weights[word] = 1.0
    for word in list(weights):
        for other in table.related.get(word, ()):
            weights.setdefault(other, RELATED)
    return weights


def nearest(word: str, vocabulary: Iterable[str]) -> str | None:
    """Return the word in a vocabulary whose spelling is closest to `word`, or None.

    Examples
    --------
    >>> nearest("cartwel", ["walk", "cartwheel"])
    'cartwheel'
    """
    close = similar(word, vocabulary, most=1, least=0.8)
    return close[0] if close else None


def similar(
    word: str, vocabulary: Iterable[str], *, most: int = 3, least: float = 0.7
) -> tuple[str, ...]:
    """Return words in a vocabulary that are spelled similarly, closest first.

    Examples
    --------
    >>> similar("danse", ["walk", "dance", "cartwheel"])
    ('dance',)
    """
    if len(word) < 4:
        return ()
    return tuple(difflib.get_close_matches(word, vocabulary, n=most, cutoff=least))


@cache
def built_in_synonyms() -> Synonyms:
    """Return the synonyms that come with motionloom."""
    text = resources.files("motionloom.text").joinpath("synonyms.txt").read_text("utf-8")
    return parse_synonyms(text, "synonyms.txt")


def own_synonyms(folder: Path) -> str:
    """Return the contents of ``synonyms.txt`` in a library, or an empty string if there is none."""
    try:
        return read_regular_text(below(folder, _OWN), largest=_LARGEST)
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{folder / _OWN}: the file must be UTF-8 text: {error}") from None


def library_synonyms(folder: Path) -> Synonyms:
    """Return the built-in synonyms and those in the library's ``synonyms.txt``, if any."""
    base = built_in_synonyms()
    text = own_synonyms(folder)
    if not text:
        return base
    added = parse_synonyms(text, str(folder / _OWN))
    return Synonyms(
        {**base.same, **added.same},
        {**base.related, **added.related},
        {**base.forms, **added.forms},
    )


def parse_synonyms(text: str, where: str) -> Synonyms:
    """Parse synonyms, one entry per line; raise `InvalidInput` for an invalid line.

    Examples
    --------
    >>> parse_synonyms("run: sprint", "example").same
    {'sprint': 'run'}
    """
    same: dict[str, str] = {}
    related: dict[str, tuple[str, ...]] = {}
    forms: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip().casefold()
        if not line:
            continue
        match = re.fullmatch(r"(\w+)\s*([:~])\s*(.+)", line)
        if match is None:
            raise InvalidInput(
                f"{where}: line {number}: expected WORD: SYNONYM ... or WORD ~ RELATED ...; "
                f"got {line!r}"
            )
        head, others = stem(match[1]), match[3].split()
        forms.setdefault(head, match[1])
        if match[2] == ":":
            for other in others:
                for form in (other, stem(other)):
                    if form != head:
                        same[form] = head
        else:
            related[head] = (*related.get(head, ()), *(stem(other) for other in others))
    return Synonyms(same, related, forms)
