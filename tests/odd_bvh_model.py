"""Description of an unusual BVH file: content, expected reading, joint positions.

Shares no code with motionloom: the tree is a plain nested tuple of joints, and positions
come from one 4x4 matrix per channel, multiplied from left to right as the format says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

POSITIONS = ("Xposition", "Yposition", "Zposition")
ZXY = ("Zrotation", "Xrotation", "Yrotation")
FRAME_TIME = 0.0083333


@dataclass(frozen=True)
class Bone:
    """One ROOT or JOINT block."""

    name: str
    offset: tuple[float, float, float]
    channels: tuple[str, ...] = ZXY
    children: tuple[Bone, ...] = ()
    end: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Reading:
    """Result of a correct reading, lengths in the unit of the file."""

    frames: int
    fps: float
    names: (
        tuple[str, ...] | None
    )  # None: the reader may choose (joints without or with equal names)
    parents: tuple[int, ...]
    positions: np.ndarray  # (T, J, 3)
    ends: np.ndarray | None  # (T, E, 3); None: not compared
    compare: tuple[int, ...] | None = None  # frames to compare; None: all
    fps_tolerance: float = 2e-4


@dataclass(frozen=True)
class Odd:
    """One file and its expected result.

    `verdict` is "read" (there is one sensible reading), "refuse" (there is none), or
    "either" (a careful reader may do one or the other, but never in silence).
    `repair` says whether reading must be recorded as a repair and refused when strict:
    True, False, or None where the specification does not say.
    """

    name: str
    data: bytes
    verdict: str
    reading: Reading | None = None
    repair: bool | None = None
    lines: tuple[int, ...] = ()  # a refusal must blame one of these; empty: any or none
    words: tuple[str, ...] = ()  # each must be in the message, in any case
    options: dict = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.name


# --- the plain skeleton that most files start from ------------------------------------------

MAN = Bone(
    "Hips", (0, 0, 0), POSITIONS + ZXY,
    (
        Bone("Spine", (0, 20, -1.5), children=(Bone("Head", (0, 30.25, 1), end=(0, 15, 0)),)),
        Bone("LeftUpLeg", (9.5, -4, 0), children=(
            Bone("LeftLeg", (0, -42, 0.5), end=(0, -40, 12)),)),
        Bone("RightUpLeg", (-9.5, -4, 0), children=(
            Bone("RightLeg", (0, -42, 0.5), end=(0, -40, 12)),)),
    ),
)  # fmt: skip


def with_channels(
    bone: Bone, channels: Sequence[str], *, root: Sequence[str] | None = None
) -> Bone:
    """The same tree, every joint with `channels` (the root with `root`)."""
    children = tuple(with_channels(child, channels) for child in bone.children)
    return replace(bone, channels=tuple(root or channels), children=children)


def bones_of(bone: Bone) -> list[Bone]:
    """All joints, parents first, in the order of the file."""
    return [bone] + [b for child in bone.children for b in bones_of(child)]


def rows_of(bone: Bone, frames: int = 4) -> list[list[float]]:
    """Values for every frame: swinging angles, a root at hip height that walks along +Z.

    Positions of other joints are their offsets. No frame is a T-pose.
    """
    rows = []
    for t in range(frames):
        row = []
        for j, b in enumerate(bones_of(bone)):
            for c, channel in enumerate(b.channels):
                axis = "XYZ".index(channel[0].upper())
                if channel.lower().endswith("rotation"):
                    row.append(round(35 * math.sin(1.3 + 0.9 * j + 2.1 * c + 0.4 * t), 4))
                elif channel.lower().endswith("scale"):
                    row.append(1.0)
                elif j == 0:
                    row.append(round((3.0 + 0.1 * t, 91.5 - 0.3 * t, 2.0 + 1.5 * t)[axis], 4))
                else:
                    row.append(float(b.offset[axis]))
        rows.append(row)
    return rows


# --- text ------------------------------------------------------------------------------------


def number(value: float) -> str:
    return f"{value:.4f}"


def hierarchy_lines(bone: Bone, keyword: str = "ROOT", depth: int = 0) -> list[str]:
    tab = "\t" * depth
    lines = [
        f"{tab}{keyword} {bone.name}",
        tab + "{",
        f"{tab}\tOFFSET " + " ".join(map(number, bone.offset)),
        f"{tab}\tCHANNELS {len(bone.channels)} " + " ".join(bone.channels),
    ]
    for child in bone.children:
        lines += hierarchy_lines(child, "JOINT", depth + 1)
    if bone.end is not None:
        lines += [
            f"{tab}\tEnd Site",
            f"{tab}\t" + "{",
            f"{tab}\t\tOFFSET " + " ".join(map(number, bone.end)),
            f"{tab}\t" + "}",
        ]
    return [*lines, tab + "}"]


def motion_lines(rows, *, frames: int | str | None = None, time: float | str = FRAME_TIME):
    declared = len(rows) if frames is None else frames
    body = [" ".join(map(number, row)) for row in rows]
    return ["MOTION", f"Frames: {declared}", f"Frame Time: {time}", *body]


def bvh_lines(bone: Bone, rows, **options) -> list[str]:
    return ["HIERARCHY", *hierarchy_lines(bone), *motion_lines(rows, **options)]


def encoded(lines: Sequence[str], encoding: str = "utf-8") -> bytes:
    return ("\n".join(lines) + "\n").encode(encoding)


def line_of(lines: Sequence[str], text: str, nth: int = 1) -> int:
    """Number (from 1) of the nth line that contains `text`."""
    result = [i for i, line in enumerate(lines, 1) if text in line]
    return result[nth - 1]


# --- where the joints are ---------------------------------------------------------------------


def shift(x: float, y: float, z: float) -> np.ndarray:
    m = np.eye(4)
    m[:3, 3] = x, y, z
    return m


def turn(axis: str, degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    m = np.eye(4)
    i, j = {"X": (1, 2), "Y": (2, 0), "Z": (0, 1)}[axis]
    m[i, i] = m[j, j] = c
    m[i, j], m[j, i] = -s, s
    return m


def reading(bone: Bone, rows, *, fps: float = 1 / FRAME_TIME, **options) -> Reading:
    """Positions of joints and end sites; position channels replace the offset."""
    bones = bones_of(bone)
    index = {id(b): i for i, b in enumerate(bones)}
    parents = [-1] * len(bones)
    for b in bones:
        for child in b.children:
            parents[index[id(child)]] = index[id(b)]
    joints, ends = [], []
    for row in rows:
        values = iter(row)
        world: list[np.ndarray] = []
        tips = []
        for b, parent in zip(bones, parents, strict=True):
            place, rotation = list(map(float, b.offset)), np.eye(4)
            for channel in b.channels:
                value = next(values)
                kind, axis = channel[1:].lower(), channel[0].upper()
                if kind == "position":
                    place["XYZ".index(axis)] = value
                elif kind == "rotation":
                    rotation = rotation @ turn(axis, value)
            base = np.eye(4) if parent < 0 else world[parent]
            world.append(base @ shift(*place) @ rotation)
            if b.end is not None:
                tips.append((world[-1] @ shift(*b.end))[:3, 3])
        joints.append([m[:3, 3] for m in world])
        ends.append(tips)
    names = options.pop("names", tuple(b.name for b in bones))
    tips_array = np.array(ends, dtype=float).reshape(
        len(rows), sum(b.end is not None for b in bones), 3
    )
    return Reading(
        len(rows), fps, names, tuple(parents),
        np.array(joints, dtype=float).reshape(len(rows), len(bones), 3),
        options.pop("ends", tips_array), **options,
    )  # fmt: skip


# --- the three kinds of expectation ---------------------------------------------------------


def is_read(name: str, data: bytes, wanted: Reading, repair: bool | None = None, **options) -> Odd:
    return Odd(name, data, "read", wanted, repair, options=options)


def is_refused(name: str, data: bytes, *words: str, lines=(), **options) -> Odd:
    lines = (lines,) if isinstance(lines, int) else tuple(lines)
    return Odd(name, data, "refuse", lines=lines, words=words, options=options)


def is_either(
    name: str, data: bytes, wanted: Reading | None, *words: str, lines=(), repair=True, **options
) -> Odd:
    lines = (lines,) if isinstance(lines, int) else tuple(lines)
    return Odd(name, data, "either", wanted, repair, lines, words, options)
