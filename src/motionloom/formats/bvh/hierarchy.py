"""Parser for the hierarchy of a BVH file, from the word HIERARCHY to the word MOTION.

The parser scans statements instead of calling itself, so the nesting depth is not limited. Names
extend to the end of their line, because 3ds Max writes ``JOINT Bip01 L Thigh``. Everything else is
separated by white space.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import Repairs

MAX_JOINTS = 4096  # the largest rigs, with faces and cloth, have a few hundred joints
MAX_NAME = 1000  # full paths in a Maya scene can be long
_WORD = re.compile(r"[{}]|[^\s{}]+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_CHANNEL = re.compile(r"([xyz])(position|rotation|scale)", re.IGNORECASE)
_KEYWORDS = {"HIERARCHY", "ROOT", "JOINT", "END", "ENDSITE", "OFFSET", "CHANNELS", "{", "}"}


@dataclass
class BvhNode:
    """A ROOT, JOINT or End Site in a file."""

    kind: str  # "root", "joint" or "end"
    name: str
    parent: int  # index of the parent node; -1 for a root
    line: int
    offset: tuple[float, float, float] | None = None
    channels: list[str] = field(default_factory=list)  # "Xposition", "Zrotation", ...
    has_channels: bool = False


def read_hierarchy(text: str, first_line: int, path: str | Path, repairs: Repairs) -> list[BvhNode]:
    r"""Return the nodes of the hierarchy in file order.

    Parameters
    ----------
    text : str
        Everything before the word MOTION, with ``\n`` as line end.
    first_line : int
        Line number in the file of the first line of the text.
    path : str or Path
        Path of the file, for messages.
    repairs : Repairs
        Object to which repairs are added.
    """
    return _Scanner(text, first_line, path, repairs).nodes()


class _Scanner:
    def __init__(self, text: str, first_line: int, path: str | Path, repairs: Repairs) -> None:
        self.text = text
        self.path = path
        self.repairs = repairs
        self.position = 0  # after the last word
        self._word_start = 0
        self._words = _WORD.finditer(text)
        self._ahead: re.Match[str] | None = None
        self._first_line = first_line
        self._line_ends = [match.start() for match in re.finditer("\n", text)]
        self._nodes: list[BvhNode] = []
        self._open: list[int] = []  # nodes whose brace is open, outermost first
        self._pending: int | None = None  # node whose opening brace is expected next

    def nodes(self) -> list[BvhNode]:
        started = False
        while (word := self._next()) is not None:
            keyword = self._keyword(word)
            if keyword == "HIERARCHY" and not started:
                started = True
                continue
            if not started:
                if keyword not in ("ROOT", "JOINT"):
                    self._fail(f"this is not a BVH file: expected HIERARCHY, found {_short(word)}")
                self.repairs.add("the word HIERARCHY was missing", line=self.line)
                started = True
            self._statement(keyword, word)
        if self._pending is not None or self._open:
            index = self._pending if self._pending is not None else self._open[-1]
            missing = len(self._open) + (self._pending is not None)
            node = self._nodes[index]
            self._fail(
                f"the hierarchy lacks {missing} closing brace(s); the innermost open brace belongs "
                f"to {node.name!r} in line {node.line}"
            )
        if not started:
            self._fail("expected HIERARCHY and a ROOT before MOTION, found nothing")
        if not self._nodes:
            self._fail("the hierarchy has no ROOT")
        return self._nodes

    # --- statements ---------------------------------------------------------------------

    def _statement(self, keyword: str, word: str) -> None:
        if keyword in ("ROOT", "JOINT", "END", "ENDSITE"):
            self._begin_node(keyword)
        elif keyword == "{":
            if self._pending is None:
                self._fail("an opening brace must follow ROOT, JOINT or End Site")
            self._open.append(self._pending)
            self._pending = None
        elif keyword == "}":
            if self._pending is not None:
                self._fail(f"{self._nodes[self._pending].name!r} has no opening brace")
            if not self._open:
                self._fail("unexpected closing brace")
            self._close(self._nodes[self._open.pop()])
        elif keyword == "OFFSET":
            self._read_offset(self._current("OFFSET"))
        elif keyword == "CHANNELS":
            self._read_channels(self._current("CHANNELS"))
        else:
            self._fail(
                "expected ROOT, JOINT, End Site, OFFSET, CHANNELS, a brace or MOTION; "
                f"found {_short(word)}"
            )

    def _begin_node(self, keyword: str) -> None:
        line = self.line
        if self._pending is not None:
            self._fail(f"{self._nodes[self._pending].name!r} has no opening brace")
        if len(self._nodes) >= MAX_JOINTS:
            self._fail(f"more than {MAX_JOINTS} joints and end sites; this is not a skeleton")
        parent = self._open[-1] if self._open else -1
        if parent >= 0 and self._nodes[parent].kind == "end":
            self._fail("an End Site cannot contain joints")
        kind = {"ROOT": "root", "JOINT": "joint"}.get(keyword, "end")
        name = self._rest_of_line()
        if kind == "end":
            site, _, name = name.partition(" ") if keyword == "END" else ("Site", "", name)
            if site.lower() != "site":  # `End LeftToe`: the word Site is missing
                name = f"{site} {name}".strip()
                self.repairs.add("an end site lacked the word Site", line=line)
            elif keyword == "END" and site != "Site":
                self.repairs.add("keywords had unusual capitalization", line=line)
            if site.lower() == "site" and name:
                self.repairs.add(f"an end site had a name: {_short(name)}", line=line)
        elif not name:
            name = f"joint_{len(self._nodes)}"
            self.repairs.add(f"a joint without a name was called {name}", line=line)
        if kind == "root" and parent >= 0:
            self._fail(f"ROOT {name!r} is inside {self._nodes[parent].name!r}; expected JOINT")
        if kind != "root" and parent < 0:
            if kind == "end" or self._nodes:
                self._fail(f"{keyword} {name!r} lies outside the ROOT's braces")
            self.repairs.add("the first joint was declared as a JOINT instead of a ROOT", line=line)
            kind = "root"
        self._nodes.append(BvhNode(kind, name.strip(), parent, line))
        self._pending = len(self._nodes) - 1

    def _close(self, node: BvhNode) -> None:
        if node.offset is None:
            if node.kind == "joint" and not any("position" in c for c in node.channels):
                self._fail(f"{node.name!r} in line {node.line} has no OFFSET")
            self.repairs.add("a missing OFFSET was set to zero", line=node.line)
            node.offset = (0.0, 0.0, 0.0)
        if node.kind != "end" and not node.has_channels:
            self.repairs.add(
                f"{node.name!r} has no CHANNELS and was read without any", line=node.line
            )

    def _read_offset(self, node: BvhNode) -> None:
        line = self.line
        if node.offset is not None:
            self._fail(f"{node.name!r} has two OFFSET statements")
        numbers: list[float] = []
        while len(numbers) < 3:
            word = self._peek()
            if word is None or word.upper() in _KEYWORDS:
                self._fail(f"OFFSET needs 3 numbers, found {len(numbers)}", line=line)
            self._next()
            numbers += self._numbers_in(word)
        while (extra := self._peek()) is not None and self._numbers_in(extra, report=False):
            self._next()
            numbers += self._numbers_in(extra)
        if len(numbers) == 6:
            self.repairs.add(
                "OFFSET has six numbers; the last three, which are rest pose angles, were ignored",
                line=line,
            )
        elif len(numbers) > 3:
            self._fail(f"OFFSET needs 3 numbers, found {len(numbers)}", line=line)
        x, y, z = numbers[:3]
        if not all(abs(value) < 1e9 for value in (x, y, z)):  # also rejects infinity
            self._fail(f"OFFSET {x:g} {y:g} {z:g} is not a position", line=line)
        node.offset = (x, y, z)

    def _numbers_in(self, word: str, *, report: bool = True) -> list[float]:
        """Return the one or two numbers in a word. `0.0-7.509` is two numbers, `1,5` is 1.5."""
        if len(word) > 1 and word[-1] == ",":
            word = word[:-1]
            if report:
                self.repairs.add("values were separated by commas", line=self.line)
        if _NUMBER.fullmatch(word):
            return [float(word)]
        parts = _NUMBER.findall(word)
        if parts and "".join(parts) == word and all(p[0] in "+-" for p in parts[1:]):
            if report:
                self.repairs.add(
                    "numbers without a space between them were split at the sign", line=self.line
                )
            return [float(part) for part in parts]
        if re.fullmatch(r"[+-]?[0-9]*,[0-9]+", word):
            if report:
                self.repairs.add("decimal commas were read as decimal points", line=self.line)
            return [float(word.replace(",", "."))]
        if report:
            self._fail(f"expected a number, found {_short(word)}")
        return []

    def _read_channels(self, node: BvhNode) -> None:
        line = self.line
        if node.kind == "end" and self._peek() == "0":
            self._next()
            self.repairs.add("an End Site had CHANNELS 0", line=line)
            return
        if node.kind == "end":
            self._fail("an End Site must not have CHANNELS")
        if self._nodes[-1] is not node:
            self._fail(
                f"the CHANNELS of {node.name!r} come after its children, so their columns are "
                "ambiguous"
            )
        if node.has_channels:
            self._fail(f"{node.name!r} has two CHANNELS statements")
        word = self._next()
        if word is None or not re.fullmatch("[0-9]{1,9}", word):
            self._fail(f"expected the number of channels, found {_short(word or 'nothing')}")
        names: list[str] = []
        while (word_ahead := self._peek()) is not None and word_ahead.upper() not in _KEYWORDS:
            if word_ahead[-1] == "," and len(names) + 1 < int(word):
                word_ahead = word_ahead[:-1]
                self.repairs.add("values were separated by commas", line=line)
            match = _CHANNEL.fullmatch(word_ahead)
            if match is None:
                if len(names) == int(word):
                    break  # the next statement
                self._next()
                self._fail(
                    f"unknown channel {_short(word_ahead)}; expected Xposition, Yposition, "
                    "Zposition, Xrotation, Yrotation or Zrotation"
                )
            name = match[1].upper() + match[2].lower()
            if name != word_ahead:
                self.repairs.add("channel names had unusual capitalization", line=self.line)
            names.append(name)
            self._next()
        if len(names) != int(word):
            # If the list is also wrong, the check of the row lengths fails.
            self.repairs.add(
                f"CHANNELS states {_short(word)} but lists {len(names)} names; the list was used",
                line=line,
            )
        if len(names) > 9:
            self._fail(f"{node.name!r} has {len(names)} channels; the maximum is 9", line=line)
        positions = [name for name in names if not name.endswith("rotation")]
        turns = [name[0] for name in names if name.endswith("rotation")]
        if len(set(positions)) < len(positions) or len(turns) > 3:
            self._fail(f"channels of {node.name!r} repeat: {' '.join(names)}", line=line)
        if any(a == b for a, b in zip(turns, turns[1:], strict=False)):
            self._fail(f"channels of {node.name!r} repeat: {' '.join(names)}", line=line)
        if len(set(turns)) < len(turns):
            self.repairs.add(
                f"{node.name!r} rotates twice about one axis; its angles were read as proper "
                "Euler angles",
                line=line,
            )
        node.channels, node.has_channels = names, True

    def _current(self, keyword: str) -> BvhNode:
        if self._pending is not None:
            self._fail(f"{self._nodes[self._pending].name!r} has no opening brace")
        if not self._open:
            self._fail(f"{keyword} occurs outside of ROOT and JOINT")
        return self._nodes[self._open[-1]]

    # --- words --------------------------------------------------------------------------

    @property
    def line(self) -> int:
        """Line number of the last word."""
        return self._first_line + bisect_right(self._line_ends, max(self._word_start, 0) - 1)

    def _next(self) -> str | None:
        match = self._ahead or self._pull()
        self._ahead = None
        if match is None:
            self._word_start = max(len(self.text.rstrip()) - 1, 0)
            return None
        self._word_start, self.position = match.span()
        return match[0]

    def _peek(self) -> str | None:
        if self._ahead is None:
            self._ahead = self._pull()
        return self._ahead[0] if self._ahead else None

    def _pull(self) -> re.Match[str] | None:
        """Return the next word that is not part of a name or comment."""
        for match in self._words:
            if match.start() < self.position:
                continue
            if match[0][0] != "#" and not match[0].startswith("//"):
                return match
            self._word_start = match.start()
            self.repairs.add("comments skipped", line=self.line)
            end = self.text.find("\n", match.end())
            self.position = len(self.text) if end < 0 else end
        return None

    def _keyword(self, word: str) -> str:
        upper = word.upper()
        if upper in _KEYWORDS and word != upper and word not in ("End", "EndSite"):
            self.repairs.add("keywords had unusual capitalization", line=self.line)
        return upper

    def _rest_of_line(self) -> str:
        end = self.text.find("\n", self.position)
        end = len(self.text) if end < 0 else end
        brace = self.text.find("{", self.position, end)
        end = brace if brace >= 0 else end
        if end - self.position > 10 * MAX_NAME:
            self._fail(f"a joint's name is longer than {MAX_NAME} characters")
        name = " ".join(self.text[self.position : end].split())
        self.position = end
        if len(name) > MAX_NAME:
            self._fail(f"a joint's name is longer than {MAX_NAME} characters")
        return name

    def _fail(self, problem: str, *, line: int | None = None) -> NoReturn:
        raise MotionFormatError(problem, path=self.path, line=line or self.line)


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:37] + "...")
