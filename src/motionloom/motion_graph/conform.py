"""Conforming motions: one skeleton and one frame rate for all motions of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from motionloom.errors import InvalidInput
from motionloom.motion import Motion


def conform(motions: Sequence[Motion]) -> list[Motion]:
    """Motions on the skeleton and at the frame rate of the first, with unique names."""
    if not motions:
        raise InvalidInput("a motion graph needs at least one motion; got none")
    first = motions[0]
    ready, names = [], set()
    for number, motion in enumerate(motions):
        if motion.skeleton is not first.skeleton and motion.skeleton.key != first.skeleton.key:
            motion = motion.onto(first.skeleton)
        if abs(motion.fps - first.fps) > 1e-6 * first.fps:
            motion = motion.resample(first.fps)
        name = motion.name or f"motion_{number}"
        if name in names:
            raise InvalidInput(f"motions of a graph need names of their own; {name!r} occurs twice")
        names.add(name)
        ready.append(motion if name == motion.name else replace(motion, name=name))
    return ready
