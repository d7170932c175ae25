"""The same takes on rigs that differ in what hangs on the body: end sites, fingers, props."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from motionloom.motion import Motion, Skeleton

KINDS = ("end sites", "no end sites", "fingers", "prop")
_IDENTITY = (1.0, 0.0, 0.0, 0.0)


def on_rig(motion: Motion, kind: str) -> Motion:
    """Return the motion on a rig with or without end sites, with fingers, or holding a prop."""
    if kind == "end sites":
        return motion
    bare = without_ends(motion)
    hands = [
        bare.skeleton.joint(bare.skeleton.roles[role]) for role in ("left_wrist", "right_wrist")
    ]
    if kind == "fingers":
        added = []
        for side, hand in zip(("Left", "Right"), hands, strict=True):
            for digit in ("Thumb", "Index"):
                base = len(bare.skeleton) + len(added)
                added += [
                    (f"{side}Hand{digit}{k + 1}", hand if k == 0 else base + k - 1, (0, -0.03, 0))
                    for k in range(3)
                ]
        return with_joints(bare, added)
    if kind == "prop":
        return with_joints(bare, [("Sword", hands[1], (0.0, 0.0, 0.6))])
    return bare


def without_ends(motion: Motion) -> Motion:
    """Return the motion on the same skeleton without end sites, as most FBX and GLB files."""
    tree = motion.skeleton
    bare = Skeleton(tree.names, tree.parents, tree.offsets, rest=tree.rest)
    return replace(motion, skeleton=bare)


def with_joints(motion: Motion, joints: Sequence[tuple[str, int, tuple]]) -> Motion:
    """Return the motion with more joints, each a name, a parent joint and an offset."""
    tree = motion.skeleton
    names, parents, offsets = zip(*joints, strict=True)
    rest = None if tree.rest is None else np.concatenate([tree.rest, [_IDENTITY] * len(names)])
    larger = Skeleton(
        [*tree.names, *names],
        [*tree.parents, *parents],
        np.concatenate([tree.offsets, offsets]),
        tree.end_names,
        tree.end_parents,
        tree.end_offsets,
        rest,
    )
    still = np.tile(np.array(_IDENTITY, np.float32), (len(motion), len(names), 1))
    return replace(
        motion, skeleton=larger, rotations=np.concatenate([motion.rotations, still], axis=1)
    )
