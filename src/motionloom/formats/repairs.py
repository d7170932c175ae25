"""What a reader mends, and remembers; or refuses, when it was asked to be strict."""

from __future__ import annotations

from pathlib import Path

from motionloom.errors import MotionFormatError


class Repairs:
    """Collects repairs as sentences; in strict mode the first one is an error instead."""

    def __init__(self, path: str | Path, *, strict: bool = False) -> None:
        self.path = path
        self.strict = strict
        self._told: dict[str, tuple[int | None, int]] = {}

    def add(self, sentence: str, *, line: int | None = None) -> None:
        """Record one repair; the same sentence again only counts up."""
        if self.strict:
            raise MotionFormatError(f"strict reading: {sentence}", path=self.path, line=line)
        first, count = self._told.get(sentence, (line, 0))
        self._told[sentence] = (first, count + 1)

    def sentences(self) -> tuple[str, ...]:
        """All repairs in the order they were made, with the first line and how often."""
        out = []
        for sentence, (line, count) in self._told.items():
            place = f"line {line}: " if line is not None else ""
            often = f" ({count} times)" if count > 1 else ""
            out.append(f"{place}{sentence}{often}")
        return tuple(out)
