"""Examples of a blend: segments of a library, with one skeleton and one frame rate.

A family has members of many performers; blending needs one skeleton, that of the query. Foot
contacts and corresponding frames are found together with some frames before and after a segment,
without which contacts and minima of distances at its ends cannot be detected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from motionloom.errors import InvalidInput, RoleError
from motionloom.features.joint_weights import Motions
from motionloom.motion import Motion, Skeleton, Source
from motionloom.motion.feet.contacts import FOOT_PARTS, FootContacts, Plant
from motionloom.motion.kinematics.root_carrier import body_skeleton, hips_as_root
from motionloom.motion.retargeting.retarget import on_skeleton
from motionloom.search.match_graph.members import Family

_MARGIN = 0.5  # seconds around a segment, to detect contacts and minima at its ends


@dataclass(frozen=True, eq=False)
class Example:
    """One segment of a motion, ready to be blended.

    Attributes
    ----------
    motion : Motion
        With the skeleton and frame rate of all examples.
    contacts : FootContacts
        Of its frames; without plants if the skeleton has no feet.
    source : str
        Name of the motion that it is cut from.
    start_frame, end_frame : int
        Frames of that motion, as stored.
    around : Motion, optional
        The segment with up to half a second before and after it; not stored.
    lead : int
        Frames of `around` before the segment.
    """

    motion: Motion
    contacts: FootContacts
    source: str
    start_frame: int
    end_frame: int
    around: Motion | None = None
    lead: int = 0

    def __len__(self) -> int:
        return len(self.motion)

    @property
    def text(self) -> str:
        """``NAME:START-END``."""
        return f"{self.source}:{self.start_frame}-{self.end_frame}"

    def played(self, first: float, last: float, start: int, end: int, weight: float) -> Source:
        """Provenance of frames of a result that play part of this segment.

        Parameters
        ----------
        first, last : float
            Frames of this segment; the last one is included.
        start, end : int
            Frames ``[start, end)`` of the result.
        weight : float
        """
        low, high = self.source_frame(first), self.source_frame(last) + 1.0
        return Source(self.source, low, high, start, end, float(weight))

    def source_frame(self, frame: float) -> float:
        """Frame of the motion that it is cut from, as stored, for a frame of this segment."""
        steps = max(len(self.motion) - 1, 1)
        return self.start_frame + frame * (self.end_frame - 1 - self.start_frame) / steps


def family_examples(
    motions: Motions,
    family: Family,
    *,
    query: Motion | None = None,
    skeleton: Skeleton | None = None,
    fps: float | None = None,
) -> list[Example]:
    """The members of a family, node 0 first.

    Parameters
    ----------
    motions : Library or mapping
        Motions by name.
    family : Family
    query : Motion, optional
        The whole motion that node 0 is cut from, if it is not among `motions`.
    skeleton : Skeleton, optional
        Default: that of the query.
    fps : float, optional
        Default: the rate of the query.
    """
    first = hips_as_root(query if query is not None else _motion(motions, family.nodes[0].motion))
    skeleton = first.skeleton if skeleton is None else skeleton
    fps = first.fps if fps is None else float(fps)
    examples = []
    for number, node in enumerate(family.nodes):
        whole = first if number == 0 else _motion(motions, node.motion)
        examples.append(
            example(whole, node.motion, node.start_frame, node.end_frame, skeleton, fps)
        )
    return examples


def clip_examples(clips: Sequence[Motion], *, fps: float | None = None) -> list[Example]:
    """Whole motions as examples, with the skeleton and frame rate of the first."""
    if not clips:
        raise InvalidInput("motions must not be empty")
    clips = [hips_as_root(clip) for clip in clips]
    skeleton, rate = clips[0].skeleton, clips[0].fps if fps is None else float(fps)
    return [
        example(clip, clip.name or f"motion {k}", 0, len(clip), skeleton, rate)
        for k, clip in enumerate(clips)
    ]


def example(
    whole: Motion, name: str, start: int, end: int, skeleton: Skeleton, fps: float
) -> Example:
    """Frames ``[start, end)`` of a motion called `name`, with `skeleton` and `fps`."""
    if not 0 <= start < end <= len(whole):
        raise InvalidInput(
            f"{name}:{start}-{end} is not a segment of {name}, which has {len(whole)} frames"
        )
    margin = round(_MARGIN * whole.fps)
    early, late = max(start - margin, 0), min(end + margin, len(whole))
    around, skeleton = hips_as_root(whole[early:late]), body_skeleton(skeleton)
    if around.translations is None:
        around = on_skeleton(around, skeleton)
    else:  # blending needs constant bone lengths
        around = around.retarget(skeleton)
    head, tail = around[start - early :].resample(fps), around[start - early : end - early]
    count = len(tail.resample(fps))
    if count < 2:
        raise InvalidInput(
            f"{name}:{start}-{end} is too short to blend: it has {count} frame at {fps:g} fps"
        )
    motion = head[:count]
    if not (np.isfinite(motion.rotations).all() and np.isfinite(motion.root).all()):
        raise InvalidInput(
            f"{name}:{start}-{end} has values that are not finite; repair it first (motionloom "
            "clean), or leave it out"
        )
    before = around[: start - early].resample(fps) if start > early else None
    lead = 0 if before is None else len(before)
    seen = head if before is None else before + head
    return Example(motion, _contacts(seen, lead, count), name, start, end, seen, lead)


def _contacts(seen: Motion, lead: int, count: int) -> FootContacts:
    """Contacts of frames ``[lead, lead + count)``."""
    try:
        contacts = seen.contacts()
    except RoleError:
        return FootContacts({}, 0.0, count, seen.fps)
    plants = {}
    for part in FOOT_PARTS:
        cut = (
            (max(p.start_frame - lead, 0), min(p.end_frame - lead, count), p.height)
            for p in contacts.plants.get(part, ())
        )
        plants[part] = tuple(Plant(a, b, height) for a, b, height in cut if b > a)
    return FootContacts(plants, contacts.floor, count, seen.fps)


def _motion(motions: Motions, name: str) -> Motion:
    try:
        return motions[name]
    except KeyError:
        raise InvalidInput(
            f"the family's motion {name!r} is not among the motions given; "
            "pass the library it was found in (or a query, for the query itself)"
        ) from None


def conform(motions: Sequence[Motion]) -> list[Motion]:
    """Motions with the skeleton and frame rate of the first, the hips as root, and unique names."""
    if not motions:
        raise InvalidInput("a motion graph needs at least one motion; got none")
    first = hips_as_root(motions[0])
    ready, names = [], set()
    for number, motion in enumerate(map(hips_as_root, motions)):
        motion = on_skeleton(motion, first.skeleton)
        if abs(motion.fps - first.fps) > 1e-6 * first.fps:
            motion = motion.resample(first.fps)
        name = motion.name or f"motion_{number}"
        if name in names:
            raise InvalidInput(
                f"motions of a graph must have different names; {name!r} occurs twice"
            )
        names.add(name)
        ready.append(motion if name == motion.name else replace(motion, name=name))
    return ready
