"""Parser for ASF files: the sections, bones and hierarchy of a skeleton.

An ASF file describes bones, not joints. A bone has a direction (in world axes, in the rest
pose), a length, an `axis` (Euler angles that orient its rotation axes) and `dof`, its degrees of
freedom. After parsing, angles are in radians and lengths in the unit of the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import Repairs
from motionloom.motion.rotations import quaternions as rot

_MOST_BONES = 2_000
_TURNS = ("rx", "ry", "rz")
_DOF = ("rx", "ry", "rz", "tx", "ty", "tz", "l")


@dataclass
class Bone:
    """A bone, with its direction at rest and its rotation axes.

    Attributes
    ----------
    tip : ndarray, shape (3,)
        Vector from the start to the end of the bone in the rest pose, in world axes.
    frame : ndarray, shape (4,)
        Rotation ``wxyz`` from the axes of the bone to world axes.
    dof : tuple of str
        Names of the values on this bone's lines in an AMC file, in order. Possible names
        are ``rx ry rz tx ty tz l``.
    """

    name: str
    line: int
    tip: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    frame: NDArray[np.float64] = field(default_factory=lambda: rot.IDENTITY.copy())
    dof: tuple[str, ...] = ()


@dataclass
class AcclaimSkeleton:
    """Bones of a skeleton, parents first. Bone 0 is the root, and its `tip` is its position.

    Attributes
    ----------
    length_unit : float
        Value of ``length`` in the section ``:units``. In the CMU database, it is 0.45.
    degrees : bool
        True if angles are in degrees.
    """

    bones: list[Bone]
    parents: list[int]
    length_unit: float
    degrees: bool


def read_skeleton(data: bytes, path: Path, repairs: Repairs) -> AcclaimSkeleton:
    """Parse the skeleton in an ASF file."""
    return _AsfReader(data, path, repairs).skeleton()


class _AsfReader:
    """Parser state: the words of each line, grouped into sections by ``:keywords``."""

    def __init__(self, data: bytes, path: Path, repairs: Repairs) -> None:
        self.path, self.repairs = path, repairs
        self.sections: dict[str, list[tuple[int, list[str]]]] = {}
        section: list[tuple[int, list[str]]] | None = None
        text = data.decode("utf-8", "replace").lstrip("\ufeff")
        for number, raw in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
            words = re.sub(r"[(),]", " ", raw.split("#", 1)[0]).split()
            if not words:
                continue
            if words[0].startswith(":") and len(words[0]) > 1:
                name = words[0][1:].lower()
                if name in self.sections and name != "documentation":
                    self.refuse(f"the section :{name} occurs twice", number)
                section = self.sections[name] = [(number, words[1:])]
            elif section is None:
                self.refuse(f"expected a section such as :version, found {words[0][:40]!r}", number)
            else:
                section.append((number, words))

    def refuse(self, problem: str, line: int | None = None) -> NoReturn:
        raise MotionFormatError(problem, path=self.path, line=line)

    def skeleton(self) -> AcclaimSkeleton:
        missing = [name for name in ("root", "bonedata", "hierarchy") if name not in self.sections]
        if missing:
            self.refuse(f"this is not an ASF skeleton, because it has no section :{missing[0]}")
        units = self.keyed("units")
        length_unit = self.positive(units, "length", 1.0)
        angle = units.get("angle", (0, ["deg"]))
        if not angle[1] or angle[1][0].lower()[:3] not in ("deg", "rad"):
            self.refuse(f"angle must be deg or rad, found {' '.join(angle[1])[:40]!r}", angle[0])
        degrees = angle[1][0].lower().startswith("deg")
        bones = {"root": self.root(degrees)}
        for bone in self.bones(degrees):
            if bone.name in bones:
                self.refuse(f"two bones are called {bone.name!r}", bone.line)
            bones[bone.name] = bone
        order, parents = self.hierarchy(bones)
        return AcclaimSkeleton([bones[name] for name in order], parents, length_unit, degrees)

    # --- sections ---------------------------------------------------------------------------

    def keyed(self, section: str) -> dict[str, tuple[int, list[str]]]:
        """Map the first word of each line to its line number and its other words."""
        lines = self.sections.get(section, [])
        return {words[0].lower(): (line, words[1:]) for line, words in lines if words}

    def root(self, degrees: bool) -> Bone:
        entries = self.keyed("root")
        line = self.sections["root"][0][0]
        at, words = entries.get("order", (line, "TX TY TZ RX RY RZ".split()))
        dof = tuple(word.lower() for word in words)
        self.check_dof(dof, at, "root")
        at, axis = entries.get("axis", (line, ["XYZ"]))
        order = self.axis_order(axis[-1] if axis else "", at)
        angles = self.numbers(entries.get("orientation", (line, ["0"] * 3)), 3, "orientation")
        tip = self.numbers(entries.get("position", (line, ["0"] * 3)), 3, "position")
        return Bone("root", line, tip, _frame(angles, order, degrees), dof)

    def bones(self, degrees: bool) -> list[Bone]:
        bones: list[Bone] = []
        entries: dict[str, tuple[int, list[str]]] | None = None
        start = 0
        for line, words in self.sections["bonedata"]:
            key = words[0].lower() if words else ""
            if key == "begin":
                if entries is not None:
                    self.repairs.add("the previous bone has no 'end'", line=line)
                    bones.append(self.bone(entries, start, degrees))
                entries, start = {}, line
            elif key == "end" and entries is not None:
                bones.append(self.bone(entries, start, degrees))
                entries = None
            elif entries is not None and key[:1].isalpha() and key not in ("inf", "nan"):
                # Otherwise the line holds further limits, one pair per line.
                if key in entries:
                    self.refuse(f"{key[:40]!r} occurs twice in one bone", line)
                entries[key] = (line, words[1:])
            if len(bones) > _MOST_BONES:
                self.refuse(
                    f"the file has more than {_MOST_BONES} bones, so it is not a skeleton", line
                )
        if entries is not None:
            self.refuse("the file ends inside a bone, because the bone has no 'end'", start)
        return bones

    def bone(self, entries: dict[str, tuple[int, list[str]]], line: int, degrees: bool) -> Bone:
        if "name" not in entries or not entries["name"][1]:
            self.refuse("a bone has no name", line)
        name = " ".join(entries["name"][1])
        if "direction" not in entries or "length" not in entries:
            self.refuse(f"bone {name!r} has no direction or no length", line)
        direction = self.numbers(entries["direction"], 3, "direction")
        length = float(self.numbers(entries["length"], 1, "length")[0])
        size = float(np.linalg.norm(direction))
        if size > 0.0 and abs(size - 1.0) > 1e-3:
            self.repairs.add("directions that were not unit vectors were normalized", line=line)
        if length < 0.0 or (size == 0.0 and length > 0.0):
            self.refuse(f"bone {name!r} has no valid direction and length", line)
        axis_line, axis = entries.get("axis", (line, ["0", "0", "0", "XYZ"]))
        if len(axis) == 3:
            self.repairs.add("an axis without a rotation order was read as XYZ", line=axis_line)
            axis = [*axis, "XYZ"]
        if len(axis) != 4:
            self.refuse(
                f"expected three angles and a rotation order, found {' '.join(axis)!r}", axis_line
            )
        angles = self.numbers((axis_line, axis[:3]), 3, "axis")
        dof_line, words = entries.get("dof", (line, []))
        dof = tuple(word.lower() for word in words)
        self.check_dof(dof, dof_line, name)
        frame = _frame(angles, self.axis_order(axis[3], axis_line), degrees)
        return Bone(name, line, direction / (size or 1.0) * length, frame, dof)

    def hierarchy(self, bones: dict[str, Bone]) -> tuple[list[str], list[int]]:
        """Return the names in depth-first order, and their parents."""
        children: dict[str, list[str]] = {}
        parent_of: dict[str, str] = {}
        for line, words in self.sections["hierarchy"]:
            if not words or words[0].lower() in ("begin", "end"):
                continue
            for name in words:
                if name not in bones:
                    self.refuse(
                        f"the hierarchy names the bone {name[:40]!r}, which does not exist", line
                    )
            for child in words[1:]:
                if child in parent_of or child == "root":
                    self.refuse(f"{child!r} has two parents, or is the root", line)
                parent_of[child] = words[0]
                children.setdefault(words[0], []).append(child)
        order: list[str] = []
        parents: list[int] = []
        stack = [("root", -1)]
        while stack:
            name, parent = stack.pop()
            stack.extend((child, len(order)) for child in reversed(children.get(name, [])))
            order.append(name)
            parents.append(parent)
        hanging = set(order)
        loose = [name for name in bones if name not in hanging]
        if loose:
            self.refuse(
                f"bone {loose[0]!r} is not connected to the root in :hierarchy",
                bones[loose[0]].line,
            )
        return order, parents

    # --- words ------------------------------------------------------------------------------

    def numbers(self, entry: tuple[int, list[str]], count: int, what: str) -> NDArray[np.float64]:
        line, words = entry
        try:
            values = np.array([float(word) for word in words])
        except ValueError:
            values = np.zeros(0)
        if len(values) != count or not np.all(np.abs(values) < 1e7):
            text = " ".join(words)[:40]
            self.refuse(f"expected {count} numbers for {what}, found {text!r}", line)
        return values

    def positive(self, entries: dict[str, tuple[int, list[str]]], key: str, usual: float) -> float:
        if key not in entries:
            return usual
        value = float(self.numbers(entries[key], 1, key)[0])
        if value <= 0.0:
            self.refuse(f"{key} must be positive, found {value:g}", entries[key][0])
        return value

    def check_dof(self, dof: tuple[str, ...], line: int, name: str) -> None:
        for word in dof:
            if word not in _DOF:
                self.refuse(
                    f"a degree of freedom of {name!r} must be one of {' '.join(_DOF)}; "
                    f"found {word!r}",
                    line,
                )
        if len(set(dof)) < len(dof):
            self.refuse(f"a degree of freedom of {name!r} is listed twice", line)

    def axis_order(self, word: str, line: int) -> str:
        order = word.upper()
        if sorted(order) != ["X", "Y", "Z"]:
            self.refuse(f"expected a rotation order such as XYZ, found {word[:40]!r}", line)
        return order


def _frame(angles: NDArray[np.float64], order: str, degrees: bool) -> NDArray[np.float64]:
    """Return the rotation for Acclaim angles. ``XYZ`` rotates about x, then y, then z.

    The axes are fixed, so the product is Rz Ry Rx. motionloom writes products from left to right,
    so the letters are reversed.
    """
    radians = np.radians(angles) if degrees else angles
    letters = order[::-1]
    return rot.from_euler([radians["XYZ".index(letter)] for letter in letters], letters)


def rotation_order(dof: tuple[str, ...]) -> tuple[list[int], str]:
    """Return the rotation columns among `dof` and their axes, in left-to-right product order."""
    turns = [(column, word[1].upper()) for column, word in enumerate(dof) if word in _TURNS][::-1]
    return [column for column, _ in turns], "".join(axis for _, axis in turns)
