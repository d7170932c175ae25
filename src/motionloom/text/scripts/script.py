"""Scripts: phrases that are acted out one after the other.

"walk forward 3 s, sit down, wave twice with the right hand, stand up" has four phrases. A phrase
may have a duration (``3 s``, ``for 2 seconds``) or a distance (``4 m``), a number of repetitions
(``twice``, ``3 times``), and a simultaneous action (``wave while walking``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from motionloom.errors import InvalidInput
from motionloom.text.vocabulary import check_text

LONGEST, MOST = 2000, 40  # maximum number of characters and phrases in a script
_SPLIT = re.compile(
    r"\s*(?:[,;\n]+(?!\d)|\.+(?=\s|$)|\b(?:and\s+)?then\b|\bafterwards\b|->|→)\s*", re.IGNORECASE
)
_SECONDS = re.compile(r"\b(?:for\s+)?(\d+(?:\.\d+)?)\s*(?:s|secs?|seconds?)\b", re.IGNORECASE)
_METERS = re.compile(r"\b(?:for\s+)?(\d+(?:\.\d+)?)\s*(?:m|met(?:er|re)s?)\b", re.IGNORECASE)
_NUMBERS = {
    "once": 1, "twice": 2, "thrice": 3, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_TIMES = re.compile(
    rf"\b(?:(once|twice|thrice)|(\d+|{'|'.join(_NUMBERS)})\s*(?:times|x))\b", re.IGNORECASE
)
_WHILE = re.compile(r"\s*\b(?:while|whilst|during)\b\s*", re.IGNORECASE)
_WHOLE = 600.0  # maximum total duration of all phrases, in seconds
_MOST_TIMES, _SECONDS_LIMITS, _METERS_LIMITS = 20, (0.2, 120.0), (0.3, 100.0)


@dataclass(frozen=True)
class Phrase:
    """One phrase of a script.

    Attributes
    ----------
    text : str
        The phrase as written.
    action : str
        Text without duration, distance and repetitions.
    seconds, meters : float or None
    times : int
    along : str
        Simultaneous action; empty if there is none.
    """

    text: str
    action: str
    seconds: float | None = None
    times: int = 1
    along: str = ""
    meters: float | None = None


def parse_script(script: str) -> list[Phrase]:
    """Parse the phrases of a script, in order.

    Raises
    ------
    InvalidInput
        If the script is empty or too long, or a number in it is out of range.

    Examples
    --------
    >>> for phrase in parse_script("walk 3 s, wave twice with the right hand"):
    ...     print(phrase.action, phrase.seconds, phrase.times)
    walk 3.0 1
    wave with the right hand None 2
    """
    check_text(script, "a script", LONGEST, "act the script in parts")
    parts = [text.strip() for text in _SPLIT.split(script)]
    parts = [re.sub(r"^and\s+", "", text, flags=re.IGNORECASE) for text in parts if text]
    if not parts:
        raise InvalidInput(
            "a script must have at least one phrase, for example 'walk 3 s, sit down'"
        )
    if len(parts) > MOST:
        raise InvalidInput(f"a script must have at most {MOST} phrases; got {len(parts)}")
    phrases = [_phrase(text) for text in parts]
    length = sum(phrase.seconds or 0.0 for phrase in phrases)
    if length > _WHOLE:
        raise InvalidInput(
            f"the phrases of a script must last at most {_WHOLE:g} seconds in total; got {length:g}"
        )
    return phrases


def _phrase(text: str) -> Phrase:
    action, *rest = _WHILE.split(text, 1)
    along = rest[0] if rest else ""
    times = _TIMES.search(action)
    count = 1
    if times is not None:
        word = (times[1] or times[2]).lower()
        count = _NUMBERS.get(word) or int(word)
    if not 1 <= count <= _MOST_TIMES:
        raise InvalidInput(
            f"{text!r}: the number of repetitions must be between 1 and {_MOST_TIMES}; got {count}"
        )
    seconds = _number(text, _SECONDS, "a duration", "seconds", _SECONDS_LIMITS)
    meters = _number(text, _METERS, "a distance", "meters", _METERS_LIMITS)
    if seconds is not None and meters is not None:
        raise InvalidInput(f"{text!r}: a phrase must not have both a duration and a distance")
    plain = []
    for part in (action, along):
        for numbers in (_SECONDS, _METERS, _TIMES):
            part = numbers.sub(" ", part)
        plain.append(" ".join(part.split()))
    if not plain[0]:
        raise InvalidInput(f"{text!r}: a phrase must contain an action")
    return Phrase(text, plain[0], seconds, count, plain[1], meters)


def _number(
    text: str, pattern: re.Pattern[str], what: str, unit: str, limits: tuple[float, float]
) -> float | None:
    match = pattern.search(text)
    if match is None:
        return None
    value = float(match[1])
    if not limits[0] <= value <= limits[1]:
        raise InvalidInput(
            f"{text!r}: {what} must be between {limits[0]:g} and {limits[1]:g} {unit}; got "
            f"{value:g}"
        )
    return value
