"""Functions shared by glTF, USD and FBX: motions from scene nodes, and figure colors.

In a scene, a skeleton is a child of other nodes, which may also be rotated, scaled and animated. A
`Skeleton` has no scales, so scales are converted to lengths.
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

_STILL = 1e-5  # fraction of the largest offset; smaller changes of bone length are ignored
_EVEN = 0.01  # scales that differ by less count as uniform
_FARTHEST = 1e7  # file units


@dataclass(frozen=True)
class NodeTrajectory:
    """Local transforms of a node over N frames, where N may be 1.

    Attributes
    ----------
    translations : ndarray, shape (N, 3)
        Translations relative to the parent.
    rotations : ndarray, shape (N, 4)
        Rotations ``wxyz``.
    scales : ndarray, shape (N,)
        Uniform scales.
    rest : ndarray, shape (4,)
        Rotation in the rest pose.
    """

    translations: NDArray[np.float64]
    rotations: NDArray[np.float64]
    scales: NDArray[np.float64]
    rest: NDArray[np.float64]


def uniform_scale(scales: NDArray[np.float64], repairs: Repairs) -> NDArray[np.float64]:
    """Return uniform scales (...) from per-axis scales (..., 3)."""
    mean = scales.mean(axis=-1)
    if np.abs(scales - mean[..., None]).max() > _EVEN * mean.max():
        repairs.add("scales that differ between axes were replaced by their mean")
    return mean


def motion_from_nodes(
    above: Sequence[NodeTrajectory],
    joints: Iterable[NodeTrajectory],
    *,
    names: Sequence[str],
    parents: Sequence[int],
    end_names: Sequence[str],
    end_parents: Sequence[int],
    end_offsets: Sequence[NDArray[np.float64]],
    frames: int,
    fps: float,
    refuse: Callable[[str], NoReturn],
) -> Motion:
    """Build a motion with J joints (parents first) and E end sites, in the file's unit.

    Parameters
    ----------
    above : sequence of NodeTrajectory
        Nodes above the root, topmost first. They become part of the root path.
    joints : iterable of NodeTrajectory, length J
        Joints, parents first.
    names, parents, end_names, end_parents : sequences
        Names and parents of the joints and of the end sites.
    end_offsets : sequence of ndarray, shape (3,)
        Translation of each end site.
    frames : int
        Number of frames.
    fps : float
        Frame rate.
    refuse : callable
        Function that raises an error with a description of the problem.
    """
    place, turn, size = np.zeros((1, 3)), rot.IDENTITY[None], np.ones(1)
    rest_turn = rot.IDENTITY
    for node in above:
        place = place + rot.rotate(turn, size[:, None] * node.translations)
        turn, size = rot.multiply(turn, node.rotations), size * node.scales
        rest_turn = rot.multiply(rest_turn, node.rest)
    rotations = np.empty((frames, len(names), 4), np.float32)
    offsets = np.zeros((frames, len(names), 3), np.float32)
    rests = np.empty((len(names), 4))
    root = np.zeros((frames, 3))
    sizes: list[NDArray[np.float64]] = []
    for joint, node in enumerate(joints):
        outer = size if joint == 0 else sizes[parents[joint]]
        translations = outer[:, None] * node.translations
        if not np.all(np.abs(translations) < _FARTHEST):
            refuse(f"a joint lies farther than {_FARTHEST:g} units away")
        if joint == 0:
            root[:] = place + rot.rotate(turn, translations)
            rotations[:, 0] = rot.multiply(turn, node.rotations)
            rests[0] = rot.multiply(rest_turn, node.rest)
        else:
            offsets[:, joint] = translations
            rotations[:, joint] = node.rotations
            rests[joint] = node.rest
        sizes.append(outer * node.scales)
    tips = np.zeros((len(end_names), 3))
    for end, step in enumerate(end_offsets):
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


COLORS = [  # character colors: the colorblind-safe palette of Okabe and Ito
    (0.9, 0.6, 0.0), (0.35, 0.7, 0.9), (0.0, 0.6, 0.5), (0.95, 0.9, 0.25),
    (0.0, 0.45, 0.7), (0.8, 0.4, 0.0), (0.8, 0.6, 0.7),
]  # fmt: skip


def figure_kind(mesh: bool | str) -> str:
    """Return the figure kind (see `motionloom.character.figure_mesh`) for the option `mesh`."""
    return mesh if isinstance(mesh, str) else "body" if mesh else "none"
