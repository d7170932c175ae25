"""Frames in a motion graph to which a label applies.

The label of a segment applies to its frames. If the label of a whole take names a gait, it applies
to the frames with that gait (`motionloom.motion.feet.gait`): a take labeled "run" is "run" only
while it runs. Any other label of a take applies to all its frames. If no motion has the label and
it names a gait, the gait is measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.feet.gait import GAITS, label_gaits

if TYPE_CHECKING:
    from motionloom.motion_graph.graph import MotionGraph

Mask = NDArray[np.bool_]

_NAMED = 3  # maximum number of motions named in a message


def label_frames(graph: MotionGraph, label: str) -> tuple[Mask, ...]:
    """Return a mask (frames,) for each motion: True at the frames to which a label applies.

    Raises
    ------
    InvalidInput
        If the label applies nowhere. The message says whether its motions are cut off from the
        graph.

    Examples
    --------
    >>> graph = lib.motion_graph(only=["walk", "walk_fast"])
    >>> [bool(mask.all()) for mask in label_frames(graph, "walk")]
    [True, True]
    """
    masks = [np.zeros(len(motion), bool) for motion in graph.motions]
    whole = []
    for number, name in enumerate(graph.names):
        parts = [(a, b) for a, b, each in graph.segments.get(name, ()) if each == label]
        for start, end in parts:
            masks[number][start:end] = True
        if not parts and label in graph.labels.get(name, ()):
            whole.append(number)
    meant = label_gaits(label)
    for number in whole:
        masks[number][:] = np.isin(graph.gaits[number], meant) if meant else True
    if whole and not any(masks[number].any() for number in whole):
        # None of these motions has the gait, so the label means something else.
        for number in whole:
            masks[number][:] = True
    if not any(mask.any() for mask in masks) and label in GAITS:
        masks = [gait == label for gait in graph.gaits]
    if not any(mask.any() for mask in masks):
        raise InvalidInput(_nowhere(graph, label))
    return tuple(masks)


def graph_labels(graph: MotionGraph) -> list[str]:
    """Return the sorted labels of motions and segments in a graph."""
    labels = {label for name in graph.names for label in graph.labels.get(name, ())}
    labels |= {label for name in graph.names for _, _, label in graph.segments.get(name, ())}
    return sorted(labels)


def _cut_off(graph: MotionGraph, label: str) -> list[str]:
    """Return the motions with a label that are not part of the graph."""
    return [
        name
        for name in graph.removed.motions
        if label in graph.labels.get(name, ())
        or any(label == each for _, _, each in graph.segments.get(name, ()))
    ]


def _nowhere(graph: MotionGraph, label: str) -> str:
    labels = ", ".join(graph_labels(graph)) or "none"
    lost = _cut_off(graph, label)
    if not lost:
        gait = ", and none has that gait" if label in GAITS else ""
        no_motion = f"no motion of the graph has the label {label!r}{gait}"
        return f"{no_motion}. Labels in the graph: {labels}"
    some = ", ".join(lost[:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
    why = graph.removed.reasons.get(
        lost[0], "no smooth transitions connect it to the graph in both directions"
    )
    many = f"the {len(lost)} motions that have it" if len(lost) > 1 else "the motion that has it"
    return (
        f"no motion of the graph has the label {label!r}: {many} ({some}) "
        f"{'are' if len(lost) > 1 else 'is'} cut off ({why}). Add takes that change between "
        f"{label!r} and other motions, connect the parts with bridges (bridge), or build a graph "
        f"of only the motions with this label (label {label}). Labels in the graph: {labels}"
    )
