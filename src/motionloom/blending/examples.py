"""Blend examples: library segments, converted to one skeleton and one frame rate.

The members of a family come from many performers, but blending needs a single skeleton, so all are
converted to the query's skeleton. Some frames before and after each segment are kept, because foot
contacts and minima of the frame distance at the ends of a segment cannot be detected without them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from motionloom.errors import InvalidInput, RoleError
from motionloom.features.joint_weights import Motions
from motionloom.kernels import expect_calls
from motionloom.motion import Motion, Skeleton, Source
from motionloom.motion.diagnostics.issues import grave_fault
from motionloom.motion.feet.contacts import FOOT_PARTS, FootContacts, Plant
from motionloom.motion.kinematics.root_carrier import body_skeleton, hips_as_root
from motionloom.motion.retargeting.retarget import LEGS, on_skeleton
from motionloom.search.match_graph.members import Family

_CALLS = 20  # kernels called for a motion on another skeleton
_MARGIN = 0.5  # seconds kept before and after a segment, to detect contacts and minima at its ends


@dataclass(frozen=True, eq=False)
class Example:
    """A segment of a motion, prepared for blending.

    Attributes
    ----------
    motion : Motion
        The segment, with the skeleton and frame rate shared by all examples.
    contacts : FootContacts
        Foot contacts of the segment; empty if the skeleton has no feet.
    source : str
        Name of the motion from which the segment was cut.
    start_frame, end_frame : int
        First frame of the segment in the stored motion, and the frame after its last.
    around : Motion, optional
        The segment with up to half a second before and after it. It is not stored.
    lead : int
        Number of frames of `around` before the segment.
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
        """Return the provenance of result frames that play part of this segment.

        Parameters
        ----------
        first, last : float
            First and last played frame of this segment, both included.
        start, end : int
            Frames ``[start, end)`` of the result.
        weight : float
        """
        low, high = self.source_frame(first), self.source_frame(last) + 1.0
        return Source(self.source, low, high, start, end, float(weight))

    def source_frame(self, frame: float) -> float:
        """Convert a frame of this segment to a frame of the stored motion."""
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
    """Return the members of a family as examples, node 0 first.

    Parameters
    ----------
    motions : Library or mapping
        Motions by name.
    family : Family
    query : Motion, optional
        The whole motion from which node 0 is cut, if `motions` does not contain it.
    skeleton : Skeleton, optional
        Skeleton of all examples. Default: the query's skeleton.
    fps : float, optional
        Frame rate of all examples. Default: the query's rate.
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
    """Return whole motions as examples, with the skeleton and frame rate of the first."""
    if not clips:
        raise InvalidInput("motions must contain at least one motion; got none")
    clips = [hips_as_root(clip) for clip in clips]
    skeleton, rate = clips[0].skeleton, clips[0].fps if fps is None else float(fps)
    return [
        example(clip, clip.name or f"motion {k}", 0, len(clip), skeleton, rate)
        for k, clip in enumerate(clips)
    ]


def example(
    whole: Motion, name: str, start: int, end: int, skeleton: Skeleton, fps: float
) -> Example:
    """Return frames ``[start, end)`` of the motion `name`, converted to `skeleton` and `fps`."""
    if not 0 <= start < end <= len(whole):
        raise InvalidInput(f"{name}:{start}-{end} is out of range: {name} has {len(whole)} frames")
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
            f"{name}:{start}-{end} has values that are not finite. Repair it first (motionloom "
            "clean), or exclude it"
        )
    before = around[: start - early].resample(fps) if start > early else None
    lead = 0 if before is None else len(before)
    seen = head if before is None else before + head
    return Example(motion, _contacts(seen, lead, count), name, start, end, seen, lead)


def _contacts(seen: Motion, lead: int, count: int) -> FootContacts:
    """Return the foot contacts within frames ``[lead, lead + count)``, renumbered from 0."""
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
            f"the motions do not contain {name!r}, which is a member of the family. Pass the "
            "library the family was found in. If it is the motion of the query, pass it as query"
        ) from None


def without_body(skeletons: Mapping[str, Skeleton]) -> dict[str, str]:
    """Return the takes, such as props, that lack roles of the others, and the reason for each.

    Parameters
    ----------
    skeletons : mapping of str to Skeleton
        Skeleton of each take.

    Returns
    -------
    reasons : dict of str to str
        Empty if all takes share a skeleton, or if none of them has legs.

    Examples
    --------
    >>> import motionloom as ml
    >>> chair = ml.Skeleton(["chair"], [-1], [[0, 0, 0]])
    >>> without_body({"walk": ml.demo.clip("walk").skeleton, "chair": chair})["chair"][:28]
    'it has no body: no joint has'
    """
    if len({skeleton.key for skeleton in skeletons.values()}) < 2:
        return {}
    lacking = {
        name: [role for role in LEGS if role not in skeleton.roles]
        for name, skeleton in skeletons.items()
    }
    if all(lacking.values()):
        return {}
    return {
        name: f"it has no body: no joint has the role {roles[0]}"
        + (f" or {len(roles) - 1} more" if len(roles) > 1 else "")
        for name, roles in lacking.items()
        if roles
    }


def without_faults(motions: Sequence[Motion], *, used: Collection[str] = ()) -> dict[str, str]:
    """Return the takes with grave faults and the reason for each, unless all takes have them.

    Takes in `used` are not checked.

    Examples
    --------
    >>> import motionloom as ml
    >>> without_faults([ml.demo.clip("walk"), ml.demo.clip("jog")])
    {}
    """
    judged = [motion for motion in motions if motion.name not in used]
    reasons = {m.name: fault for m in judged if (fault := grave_fault(m)) is not None}
    return reasons if len(reasons) < len(motions) else {}


def conform(motions: Sequence[Motion], *, skipped: dict[str, str] | None = None) -> list[Motion]:
    """Convert motions to the skeleton and frame rate of the first, with the hips as root.

    With `skipped`, takes that cannot be converted are skipped and recorded there, each with the
    reason, unless none remains. Raises `InvalidInput` if two motions share a name.
    """
    if skipped is not None:
        skipped |= without_body({motion.name: motion.skeleton for motion in motions})
        motions = [motion for motion in motions if motion.name not in skipped]
    if not motions:
        raise InvalidInput("a motion graph needs at least one motion; got none")
    expect_calls(_CALLS * len(motions))
    first = hips_as_root(motions[0])
    ready, names = [], set()
    for number, motion in enumerate(map(hips_as_root, motions)):
        try:
            motion = on_skeleton(motion, first.skeleton)
        except (InvalidInput, RoleError) as error:
            if skipped is None:
                raise
            skipped[motion.name] = str(error).splitlines()[0]
            continue
        if abs(motion.fps - first.fps) > 1e-6 * first.fps:
            motion = motion.resample(first.fps)
        name = motion.name or f"motion_{number}"
        if name in names:
            raise InvalidInput(f"motions of a graph must have unique names; {name!r} occurs twice")
        names.add(name)
        ready.append(motion if name == motion.name else replace(motion, name=name))
    return ready
