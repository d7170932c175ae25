"""BVH as in the specification: words, blocks and 4x4 matrices. Odd files raise ValueError."""

from __future__ import annotations

import re

from odd_bvh_model import Bone, Reading, reading


def read(text: str) -> Reading:
    """The only reading that the specification allows, with lengths in the file's unit."""
    head, motion, rest = re.split(r"^[ \t]*(MOTION)\s+", text, maxsplit=1, flags=re.M)
    names: list[str] = []
    # Names may contain anything up to the end of the line or a brace: replace them with numbers.
    numbered = re.sub(
        r"\b(ROOT|JOINT)[ \t]+([^\n{]*)",
        lambda m: f"{m[1]} {names.append(' '.join(m[2].split())) or len(names) - 1}",
        head,
    )
    words = iter(re.findall(r"[{}]|[^\s{}]+", numbered))
    expect(words, "HIERARCHY")
    expect(words, "ROOT")
    root = block(words, names)
    if next(words, None) is not None:
        raise ValueError("more than one tree")
    counted = re.match(r"Frames:\s*(\d+)\s+Frame Time:\s*(\S+)\s*\n", rest)
    if counted is None:
        raise ValueError("no frame count or frame time")
    rows = [list(map(float, line.split())) for line in rest[counted.end() :].split("\n")]
    rows = [row for row in rows if row]
    wanted = reading(root, rows, fps=1.0 / float(counted[2]))
    width = sum(len(bone.channels) for bone in all_bones(root))
    if len(rows) != int(counted[1]) or any(len(row) != width for row in rows):
        raise ValueError("rows do not fit the hierarchy")
    return wanted


def block(words, names: list[str]) -> Bone:
    name = names[int(next(words))]
    expect(words, "{")
    offset, channels, children, end = None, None, [], None
    while (word := next(words)) != "}":
        if word == "OFFSET" and offset is None:
            offset = triple(words)
        elif word == "CHANNELS" and channels is None:
            channels = tuple(next(words) for _ in range(int(next(words))))
            if not all(re.fullmatch("[XYZ](position|rotation)", c) for c in channels):
                raise ValueError(f"channels {channels}")
        elif word == "JOINT":
            children.append(block(words, names))
        elif word == "End" and end is None:
            expect(words, "Site")
            expect(words, "{")
            expect(words, "OFFSET")
            end = triple(words)
            expect(words, "}")
        else:
            raise ValueError(f"{word} in {name}")
    if offset is None or channels is None:
        raise ValueError(f"{name} lacks OFFSET or CHANNELS")
    return Bone(name, offset, channels, tuple(children), end)


def triple(words) -> tuple[float, float, float]:
    return float(next(words)), float(next(words)), float(next(words))


def expect(words, wanted: str) -> None:
    if (word := next(words, None)) != wanted:
        raise ValueError(f"{wanted} expected, found {word}")


def all_bones(bone: Bone) -> list[Bone]:
    return [bone] + [b for child in bone.children for b in all_bones(child)]
