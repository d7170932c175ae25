"""Queries in words: parts in order of time, and what each asks for.

"right foot kicks high, then turns left" has two parts, one after the other; "waves while walking"
has two at the same time. Numbers are words like others: a caption says "jumps up three times".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from motionloom.errors import InvalidInput

LONGEST = 2000  # characters of a query
_THEN = re.compile(
    r"\s*(?:[,;.]+\s*(?:and\s+)?(?:then|afterwards|finally|next|after that)\b|"
    r"\b(?:and\s+)?(?:then|afterwards|followed by|before|after that)\b|[;.](?=\s|$)|->|→)[\s,]*",
    re.IGNORECASE,
)
_WHILE = re.compile(r"\s*\b(?:while|whilst|at the same time(?: as)?|during)\b\s*", re.IGNORECASE)


@dataclass(frozen=True)
class QueryPart:
    """Words that are looked for together.

    `together` says that the part happens at the same time as the one before, not after it.
    """

    text: str
    words: tuple[str, ...]
    together: bool = False


def query_parts(text: str, words: Callable[[str], list[str]]) -> list[QueryPart]:
    """The parts of a query, in order.

    Raises
    ------
    InvalidInput
        If the text has no words, or is too long.

    Examples
    --------
    >>> from motionloom.words.vocabulary import words
    >>> [part.words for part in query_parts("kicks high, then turns left", words)]
    [('kick', 'high'), ('turn', 'left')]
    """
    if len(text) > LONGEST:
        raise InvalidInput(
            f"text must have at most {LONGEST} characters; got {len(text)}: describe one motion"
        )
    parts: list[QueryPart] = []
    for step in _THEN.split(text):
        for n, piece in enumerate(_WHILE.split(step)):
            found = tuple(dict.fromkeys(words(piece)))
            if found:
                parts.append(QueryPart(piece.strip(" ,.;"), found, together=n > 0 and bool(parts)))
    if not parts:
        raise InvalidInput(f"text must have at least one word that says something; got {text!r}")
    return parts
