"""The quick way through a hierarchy in which nothing is odd.

Nearly every file is written by a program, one block like the next. Such a hierarchy is
read here block by block with one pattern, ten times faster than word by word. The first
thing that does not fit the pattern, or that would be a repair, ends the attempt: what is
odd is left to `motionloom.formats.bvh_hierarchy`, which knows what to say about it.
"""

from __future__ import annotations

import re

from motionloom.formats.bvh_hierarchy import MAX_JOINTS, MAX_NAME, Node

_NUMBER = r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_OFFSET = rf"\s*\{{\s*OFFSET\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}"
_HEAD = re.compile(r"\s*HIERARCHY(?=\s)")
_BLOCK = re.compile(
    rf"\s*(?:(ROOT|JOINT)[ \t]+([^\s{{}}]{{1,{MAX_NAME}}}){_OFFSET}"
    r"\s+CHANNELS\s+([0-9])((?:\s+[XYZ](?:position|rotation)){1,6})(?=\s)"
    rf"|(End)[ \t]+Site{_OFFSET}\s*\}}|\}})"
)


def plain_nodes(text: str, first_line: int) -> list[Node] | None:
    r"""Nodes of a hierarchy without any oddity, or None.

    Parameters
    ----------
    text : str
        Everything before the word MOTION, line ends as ``\n``.
    first_line : int
        Number of the text's first line in the file.

    Examples
    --------
    >>> head = '''HIERARCHY
    ... ROOT Hips
    ... {
    ...   OFFSET 0 0 0
    ...   CHANNELS 3 Zrotation Xrotation Yrotation
    ... }
    ... '''
    >>> plain_nodes(head, 1)[0].channels
    ['Zrotation', 'Xrotation', 'Yrotation']
    >>> plain_nodes(head.replace("ROOT", "Root"), 1) is None
    True
    """
    match = _HEAD.match(text)
    if match is None:
        return None
    nodes: list[Node] = []
    open_nodes: list[int] = []  # whose brace is open, outermost first
    counted, line, tail = 0, first_line, 0
    while match := _BLOCK.match(text, match.end()):
        keyword, name, x, y, z, count, listed, end, *tip = match.groups()
        if not (keyword or end):
            if not open_nodes:
                return None
            open_nodes.pop()
            continue
        # The first block is the one ROOT; all others lie within its braces.
        if (keyword == "ROOT") == bool(nodes) or bool(nodes) != bool(open_nodes):
            return None
        start, tail = match.start(1 if keyword else 8), match.end()
        line += text.count("\n", counted, start)
        counted = start
        parent = open_nodes[-1] if nodes else -1
        if keyword:
            channels = listed.split()
            if len(channels) != int(count) or len(set(channels)) != len(channels):
                return None
            place = (float(x), float(y), float(z))
            kind = "joint" if nodes else "root"
            open_nodes.append(len(nodes))
            nodes.append(Node(kind, name, parent, line, place, channels, True))
        else:
            place = (float(tip[0]), float(tip[1]), float(tip[2]))
            nodes.append(Node("end", "", parent, line, place))
        if not max(map(abs, place)) < 1e9:
            return None
    if open_nodes or not 0 < len(nodes) <= MAX_JOINTS:
        return None
    return nodes if _only_closes(text, tail) else None


def _only_closes(text: str, start: int) -> bool:
    """Whether nothing but closing braces follows the last block."""
    return not text[start:].replace("}", "").strip()
