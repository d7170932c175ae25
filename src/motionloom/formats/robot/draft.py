"""Parts shared by the readers of robot models: safe XML, numbers, paths, and a tree being built.

A model is untrusted. XML with a document type or entities is refused, every file is read with a
limit, and every path that a model names must lie in the folder of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.model import DEFAULT_VELOCITY, Robot, Shape, fixed_names
from motionloom.errors import MotionFormatError
from motionloom.files import read_regular
from motionloom.formats.robot.meshes import mesh_problem, read_mesh
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]
Element = ElementTree.Element

_LARGEST = 16_000_000  # bytes of a model file
_DEEPEST = 200  # levels of XML elements
_MOST_NODES = 2_000
_MOST_ELEMENTS = 200_000  # XML elements of all files of a model
_MOST_SHAPES = 1_000
_MOST_FILES = 32
_LARGEST_MESHES = 1 << 29  # bytes of all meshes; one that is used twice counts twice
_PORTION = 1 << 16  # bytes parsed at a time
_FARTHEST = 100.0  # meters: no part of a robot is farther from its parent


@dataclass
class Draft:
    """A robot that is being read."""

    path: Path
    name: str = "robot"
    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[Array] = field(default_factory=list)
    rest: list[Array] = field(default_factory=list)
    axes: list[Array] = field(default_factory=list)
    joint_names: list[str] = field(default_factory=list)
    joint_nodes: list[int] = field(default_factory=list)
    limits: list[tuple[float, float, float]] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    immobile: list[str] = field(default_factory=list)
    files: int = 0
    elements: int = 0
    mesh_bytes: int = 0

    @property
    def folder(self) -> Path:
        """Folder that contains the model and everything it may name."""
        return self.path.parent.resolve()

    def refuse(self, problem: str) -> NoReturn:
        """Raise an error about this file."""
        raise MotionFormatError(problem, path=self.path)

    def parsed(self, path: Path) -> Element:
        """Parse an XML file of the model."""
        self.files += 1
        if self.files > _MOST_FILES:
            self.refuse(f"the model consists of more than {_MOST_FILES} files")
        data = read_regular(path, largest=_LARGEST)
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\x00" in data:
            raise MotionFormatError("XML with entities or in UTF-16 is not read", path=path)
        parser: Any = ElementTree.XMLPullParser(events=("start", "end"))
        depth = 0
        root: Element | None = None
        try:
            for place in range(0, len(data) + 1, _PORTION):
                parser.feed(data[place : place + _PORTION])
                for event, element in parser.read_events():
                    root = element if root is None else root
                    depth += 1 if event == "start" else -1
                    self.elements += event == "start"
                    if depth > _DEEPEST or self.elements > _MOST_ELEMENTS:
                        raise MotionFormatError(
                            f"elements are nested more than {_DEEPEST} deep, or there are more "
                            f"than {_MOST_ELEMENTS}",
                            path=path,
                        )
            parser.close()
        except ElementTree.ParseError as error:
            line = error.position[0]
            raise MotionFormatError(
                f"the XML cannot be read ({error})", path=path, line=line
            ) from None
        if root is None:
            raise MotionFormatError("the file contains no XML", path=path)
        return root

    def file(self, name: str, *folders: str) -> Path:
        """Return the path of a file that the model names, which must lie in the model's folder."""
        text = name.strip().replace("\\", "/")
        for prefix in ("package://", "model://", "file://"):
            text = text.removeprefix(prefix)
        path = Path(self.folder, *folders, text)
        resolved = path.resolve()
        if not resolved.is_relative_to(self.folder):
            self.refuse(
                f"the path {name.strip()[:80]!r} leads out of the folder of the model; put the "
                "model and its files into one folder"
            )
        if name.strip().startswith(("package://", "model://")) and not resolved.is_file():
            inner = Path(self.folder, *folders, *Path(text).parts[1:]).resolve()
            if inner.is_relative_to(self.folder) and inner.is_file():
                return inner
        return resolved

    def add_node(
        self, name: str, parent: int, offset: Array, turn: Array, axis: Array | None = None
    ) -> int:
        """Add a node and return its number. Arguments are in motionloom's coordinates."""
        if len(self.names) >= _MOST_NODES:
            self.refuse(f"the model has more than {_MOST_NODES} bodies and joints")
        if not np.abs(offset).max() <= _FARTHEST:
            self.refuse(f"{name!r} is more than {_FARTHEST:.0f} m from its parent")
        self.names.append(name)
        self.parents.append(parent)
        self.offsets.append(np.asarray(offset, np.float64))
        self.rest.append(rot.normalize(turn))
        self.axes.append(np.zeros(3) if axis is None else axis)
        return len(self.names) - 1

    def add_hinge(self, name: str, node: int, lower: float, upper: float, speed: float) -> None:
        """Record a hinge of a node, with its limits."""
        if not lower <= upper:
            self.refuse(f"the range of joint {name!r} is empty: {lower} to {upper}")
        self.joint_names.append(name)
        self.joint_nodes.append(node)
        speed = speed if np.isfinite(speed) and speed > 0.0 else DEFAULT_VELOCITY
        self.limits.append((max(lower, -4.0 * np.pi), min(upper, 4.0 * np.pi), speed))

    def add_shape(
        self,
        node: int,
        kind: str,
        size: tuple[float, ...],
        position: Array,
        rotation: Array,
        *,
        mesh: tuple[Path, Array] | None = None,
        visual: bool,
        collides: bool,
        color: tuple[float, float, float],
    ) -> None:
        """Add a shape to a node; a mesh that cannot be read is recorded as missing."""
        if len(self.shapes) >= _MOST_SHAPES:
            self.refuse(f"the model has more than {_MOST_SHAPES} shapes")
        read = None
        if mesh is not None:
            if reason := mesh_problem(mesh[0]):
                self.missing.append(reason)
                return
            self.mesh_bytes += mesh[0].stat().st_size
            if self.mesh_bytes > _LARGEST_MESHES:
                self.refuse(f"the meshes have more than {_LARGEST_MESHES >> 20} MB")
            read = partial(read_mesh, *mesh)
        elif not (size and all(0.0 < s <= _FARTHEST for s in size)):
            self.refuse(f"a {kind} of {self.names[node]!r} has no size")
        self.shapes.append(
            Shape(node, kind, size, position, rotation, read, visual, collides, color)
        )

    def finished(self) -> Robot:
        """Return the robot."""
        if not self.joint_names:
            self.refuse("the model has no hinges; a robot needs driven joints")
        warnings = []
        if self.missing:
            more = f" and {len(self.missing) - 1} more" if len(self.missing) > 1 else ""
            warnings.append(
                f"meshes are missing: {self.missing[0]}{more}. Plain shapes are used instead"
            )
        if self.immobile:
            warnings.append(
                f"joints that are not hinges do not move: {', '.join(self.immobile[:8])}"
            )
        lower, upper, velocity = np.array(self.limits).T
        return Robot(
            self.name,
            str(self.path),
            fixed_names(self.names),
            np.array(self.parents, np.int32),
            np.array(self.offsets),
            np.array(self.rest),
            np.array(self.axes),
            fixed_names(self.joint_names),
            np.array(self.joint_nodes, np.int32),
            lower,
            upper,
            velocity,
            np.array(self.bodies, np.int32),
            tuple(self.shapes),
            warnings=tuple(warnings),
        )


def numbers(text: str | None, count: int, what: str, draft: Draft) -> Array | None:
    """Parse `count` finite numbers; None if there is no text."""
    if text is None:
        return None
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if len(values) != count or not np.isfinite(values).all():
        draft.refuse(f"{what} must be {count} numbers; got {text.strip()[:60]!r}")
    return values


def color_of(text: str | None) -> tuple[float, float, float] | None:
    """Return the color of an ``rgba`` attribute, or None."""
    try:
        values = [min(max(float(word), 0.0), 1.0) for word in (text or "").split()]
    except ValueError:
        return None
    return (values[0], values[1], values[2]) if len(values) in (3, 4) else None
