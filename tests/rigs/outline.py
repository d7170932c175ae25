"""From an outline of a skeleton to the skeleton, and the role each joint should get."""

from __future__ import annotations

import re

import numpy as np

from motionloom.motion import Skeleton


def skeleton_of(outline: str, sides=("Left", "Right")) -> tuple[Skeleton, dict[str, str]]:
    joints, ends, roles = [], [], {}
    _grow(_parsed(outline), None, sides, None, joints, ends, roles)
    offsets = np.random.default_rng(7).uniform(0.05, 0.3, (len(joints), 3))
    offsets[[still for _, _, still in joints]] = 0.0
    index = {name: number for number, (name, _, _) in enumerate(joints)}
    skeleton = Skeleton(
        [name for name, _, _ in joints],
        [-1 if parent is None else index[parent] for _, parent, _ in joints],
        offsets,
        end_names=[name for name, _ in ends],
        end_parents=[index[parent] for _, parent in ends],
        end_offsets=np.full((len(ends), 3), 0.04),
    )
    return skeleton, roles


def _parsed(outline):
    """Nested [line, children] of an outline."""
    root: list = []
    levels = [(-1, root)]
    for line in outline.strip("\n").splitlines():
        depth = len(line) - len(line.lstrip())
        while levels[-1][0] >= depth:
            levels.pop()
        node: tuple = (line.strip(), [])
        levels[-1][1].append(node)
        levels.append((depth, node[1]))
    return root


def _grow(nodes, parent, sides, side, joints, ends, roles):
    for line, children in nodes:
        if side is None and "{S" in line:
            for choice in (0, 1):
                _grow([(line, children)], parent, sides, choice, joints, ends, roles)
            continue
        name, _, wanted = re.sub(" @0$", "", line).partition(" = ")
        if side is not None:
            name = name.replace("{S}", sides[side]).replace("{S1}", sides[side][0])
        if name == "*":
            name = f"{parent}_site{len(ends)}"
            ends.append((name, parent))
        else:
            joints.append((name, parent, line.endswith("@0")))
        for role in filter(None, wanted.split(", ")):
            prefix = "" if side is None else ("left_", "right_")[side]
            assert prefix + role not in roles, f"{prefix + role} given twice"
            roles[prefix + role] = name
        _grow(children, name, sides, side, joints, ends, roles)
