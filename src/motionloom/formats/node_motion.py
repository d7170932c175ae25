"""A motion from nodes of a scene: each with a translation, a rotation and a scale of its own.

Scene formats (glTF, USD) hang a skeleton under other nodes, which may be turned, scaled
and animated, too. Scales have no place in a skeleton: they become lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.formats.conventions import Repairs
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

_STILL = 1e-5  # of the largest offset: bones that change less keep their length
_EVEN = 0.01  # scales that differ by less are one
_FARTHEST = 1e7  # file units


@dataclass(frozen=True)
class NodeCourse:
    """What one node does in its parent's frame; N is the number of frames, or 1.

    Attributes
    ----------
    steps : ndarray, shape (N, 3)
    spins : ndarray, shape (N, 4)
        Rotations ``wxyz``.
    scales : ndarray, shape (N,)
    rest : ndarray, shape (4,)
        Its rotation in the rest pose.
    """

    steps: NDArray[np.float64]
    spins: NDArray[np.float64]
    scales: NDArray[np.float64]
    rest: NDArray[np.float64]


def one_scale(scales: NDArray[np.float64], repairs: Repairs) -> NDArray[np.float64]:
    """One scale (...) for each three (..., 3), one per axis: a skeleton has no other."""
    mean = scales.mean(axis=-1)
    if np.abs(scales - mean[..., None]).max() > _EVEN * mean.max():
        repairs.add("scales that differ between the axes, read as their mean")
    return mean


def node_motion(
    above: Sequence[NodeCourse],
    joints: Iterable[NodeCourse],
    *,
    names: Sequence[str],
    parents: Sequence[int],
    end_names: Sequence[str],
    end_parents: Sequence[int],
    end_steps: Sequence[NDArray[np.float64]],
    frames: int,
    fps: float,
    refuse: Callable[[str], NoReturn],
) -> Motion:
    """A motion of J joints (parents first) and E end sites, in the file's unit.

    Parameters
    ----------
    above : sequence of NodeCourse
        Nodes above the root, topmost first; they become part of the root's path.
    joints : iterable of NodeCourse, length J
    names, parents, end_names, end_parents : sequences
    end_steps : sequence of ndarray, shape (3,)
        Translation of each end site.
    frames : int
    fps : float
    refuse : callable
        Called with a problem; raises.
    """
    place, turn, size = np.zeros((1, 3)), rot.IDENTITY[None], np.ones(1)
    rest_turn = rot.IDENTITY
    for node in above:
        place = place + rot.rotate(turn, size[:, None] * node.steps)
        turn, size = rot.multiply(turn, node.spins), size * node.scales
        rest_turn = rot.multiply(rest_turn, node.rest)
    rotations = np.empty((frames, len(names), 4), np.float32)
    offsets = np.zeros((frames, len(names), 3), np.float32)
    rests = np.empty((len(names), 4))
    root = np.zeros((frames, 3))
    sizes: list[NDArray[np.float64]] = []
    for joint, node in enumerate(joints):
        outer = size if joint == 0 else sizes[parents[joint]]
        steps = outer[:, None] * node.steps
        if not np.all(np.abs(steps) < _FARTHEST):
            refuse(f"a joint lies farther than {_FARTHEST:g} units away")
        if joint == 0:
            root[:] = place + rot.rotate(turn, steps)
            rotations[:, 0] = rot.multiply(turn, node.spins)
            rests[0] = rot.multiply(rest_turn, node.rest)
        else:
            offsets[:, joint] = steps
            rotations[:, joint] = node.spins
            rests[joint] = node.rest
        sizes.append(outer * node.scales)
    tips = np.zeros((len(end_names), 3))
    for end, step in enumerate(end_steps):
        tips[end] = float(np.median(sizes[end_parents[end]])) * step
    for lengths in (root, tips):
        if not np.all(np.abs(lengths) < _FARTHEST):
            refuse(f"a joint lies farther than {_FARTHEST:g} units away")
    steady = np.median(offsets, axis=0).astype(np.float64)
    wobble = float(np.abs(offsets - steady).max(initial=0.0))
    bends = wobble > _STILL * max(float(np.abs(steady).max()), 1e-6)
    is_plain = np.abs(np.abs(rests[:, 0]) - 1.0).max() < 1e-7
    skeleton = Skeleton(
        tuple(names),
        np.array(parents),
        steady,
        tuple(end_names),
        np.array(end_parents, np.int32),
        tips,
        None if is_plain else rests,
    )
    return Motion(skeleton, rotations, root, fps, "", offsets if bends else None)
