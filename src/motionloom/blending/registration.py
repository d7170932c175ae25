"""Registration, which finds the corresponding frames of all members of a family.

Very different motions have no obvious time correspondence. Two reaches to opposite sides differ
most at the apex, and a direct alignment of the two avoids matching those frames. Distant motions
are therefore registered by way of the motions between them (Kovar & Gleicher 2004, section 4.1).
Dijkstra's algorithm (1959) finds the shortest path from the query to every member of the match
graph. The edges of these paths connect only similar motions. Along each edge, dynamic programming
computes the time alignment with the lowest cost, and a strictly increasing timewarp is fitted to
it. The composition of the timewarps along a path gives the member's frame for every query frame.
This map is the registration curve.

Criterion 2 of the paper (frames correspond clearly) decides which motions are similar. It is tested
once, when the family is grown, on the bodies as captured; `Registration.unclear` repeats its
result. Registration does not restrict alignments to the valid region: between the frames at which a
strike extends and retracts, this region can exclude the alignment with the lowest cost.

Members are aligned on the floor along the same edges, and their foot contacts are matched.

References
----------
.. [1] L. Kovar, M. Gleicher. Automated extraction and parameterization of motions in large
   data sets. SIGGRAPH 2004, section 4.1.
.. [2] L. Kovar, M. Gleicher. Flexible automatic motion blending with registration curves.
   Symposium on Computer Animation 2003.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.alignment import Timewarp, align_in_region, clear_alignment, warp
from motionloom.blending.contact_matching import (
    MatchedContacts,
    matched_contacts,
    plant_positions,
    unmatched_feet,
)
from motionloom.blending.examples import Example, Motions, clip_examples, family_examples
from motionloom.blending.poses import ClipPoses
from motionloom.blending.registration_curve import RegistrationCurve, edge_transforms
from motionloom.blending.settings import BlendSettings
from motionloom.errors import InvalidInput
from motionloom.features.frame_distances import FrameDistance, frame_distance
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import (
    QualityReport,
    SourceStatistics,
    TakesUsed,
    quality_report,
)
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.search.match_graph.family import MARGIN_SECONDS
from motionloom.search.match_graph.members import Edge, Family, shortest_paths
from motionloom.settings import takes

Array = NDArray[np.float64]

_SUM = 1e-6  # tolerance of the sum of weights


@dataclass(frozen=True, eq=False)
class Registration:
    """Corresponding frames of N examples.

    Attributes
    ----------
    examples : tuple of Example
        All examples; the first is the query.
    parents : tuple of int
        Index of the example through which each example is registered; -1 for the query.
    curve : RegistrationCurve
        Times and planar transforms of all examples; its points are the frames of the query.
    clips : ClipPoses
        Poses of all examples, ready for averaging.
    contacts : MatchedContacts
    left_out : tuple of str
        Examples that were dropped because their foot contacts cannot be matched or their alignment
        is unclear.
    unclear : tuple of str
        Examples whose frames do not correspond clearly to those of their parent: the family marks
        their edge as unclear or, without a family, no time alignment lies in the valid region of
        the distances (`motionloom.alignment.clear_alignment`). They may also be in `left_out`.

    Examples
    --------
    >>> kicks = lib.family("kick_front_mid_right:5-40", expansion=ml.Expansion(join_distance=0.3))
    >>> made = lib.blend(kicks)
    >>> len(made.registration.examples) == len(kicks.nodes)
    True
    """

    examples: tuple[Example, ...]
    parents: tuple[int, ...]
    curve: RegistrationCurve
    clips: ClipPoses
    contacts: MatchedContacts
    left_out: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def skeleton(self) -> Skeleton:
        """Skeleton that all examples share."""
        return self.clips.skeleton

    @property
    def fps(self) -> float:
        """Frame rate that all examples share."""
        return self.clips.fps

    @property
    def names(self) -> tuple[str, ...]:
        """``NAME:START-END`` of each example."""
        return tuple(example.text for example in self.examples)

    @cached_property
    def statistics(self) -> SourceStatistics:
        """Statistics of the examples, to which blends are compared."""
        motions = (example.motion for example in self.examples)
        return SourceStatistics.of(motions, whole_takes=False)

    def quality(self, motion: Motion) -> QualityReport:
        """Return the quality of a blend, compared with the examples."""
        offered = dict.fromkeys((example.source for example in self.examples), "weight zero")
        takes = TakesUsed.of(motion.sources, motion.fps, offered)
        return quality_report(motion, usual=self.statistics).with_parts(takes=takes)

    def checked_weights(self, weights: ArrayLike) -> Array:
        """Check blend weights and return them as an array (N,).

        Raises
        ------
        InvalidInput
            If there is not exactly one weight per example, or the weights are not finite or do not
            sum to 1.
        """
        try:
            given = np.asarray(weights, np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"weights must contain one number per example; got {weights!r}"
            ) from None
        if given.shape != (len(self),):
            raise InvalidInput(
                f"weights must have shape ({len(self)},), one per example; got {given.shape}"
            )
        with np.errstate(invalid="ignore"):  # inf - inf
            total = float(given.sum())
        if not abs(total - 1.0) <= _SUM:  # also catches NaN
            raise InvalidInput(f"weights must be finite and sum to 1; they sum to {total:g}")
        return given

    def frames_at(self, point: float) -> Array:
        """Return the frames (N,) of all examples that correspond to query frame `point`.

        Examples
        --------
        >>> import motionloom as ml
        >>> clips = [ml.demo.clip("punch_mid_right", performer=p) for p in (0, 1)]
        >>> bool(register(clips).frames_at(0.0).max() == 0.0)
        True
        """
        every = np.arange(len(self), dtype=np.int64)
        track = self.curve.track(every, np.full(len(self), 1.0 / len(self)))
        return track.states(np.array([point]))[0][0]

    def only(self, numbers: Sequence[int]) -> Registration:
        """Return the registration of only the examples in `numbers`, which must start with 0."""
        chosen = list(numbers)
        if not chosen or chosen[0] != 0 or len(set(chosen)) < len(chosen):
            raise InvalidInput(f"numbers must start with 0, which is the query; got {chosen}")
        number = {n: k for k, n in enumerate(chosen)}
        return Registration(
            tuple(self.examples[n] for n in chosen),
            tuple(number.get(self.parents[n], 0) if n else -1 for n in chosen),
            self.curve.only(chosen),
            self.clips.only(chosen),
            self.contacts.only(chosen),
            self.left_out,
            self.unclear,
        )

    def keyed(self, points: Sequence[float]) -> Registration:
        """Return a registration whose `points` fall on whole frames of every example.

        A parameter that is measured at one frame, such as the apex of a kick, is then measured on
        a captured frame of every example. Times change by at most half a frame.
        """
        curve, last = self.curve, len(self.curve) - 1
        keys = np.array([0.0, *sorted(point for point in points if 0.0 < point < last), last])
        transforms = np.zeros((len(keys), len(self)))
        for k, point in enumerate(keys[1:-1], 1):
            now = self.frames_at(float(point))
            transforms[k] = np.rint(now) - now
        knots = np.arange(len(curve), dtype=np.float64)
        shifts = np.stack([np.interp(knots, keys, column) for column in transforms.T], axis=1)
        slopes = np.gradient(shifts, axis=0)
        times = curve.times + shifts
        if np.any(np.diff(times, axis=0) <= 0.0):
            return self  # two keys are within a frame or two, so the times stay unchanged
        moved = RegistrationCurve.through(
            times, np.maximum(curve.speeds + slopes, 1e-3), curve.transforms
        )
        return replace(self, curve=moved)

    def placed(self, number: int) -> Motion:
        """Return example `number`, moved to the query's start position, like a blend."""
        places = PlanarTransform.from_array(self.curve.transforms[0, [0, number]])
        return (places[0] @ places[1].inverse()).apply_to_motion(self.examples[number].motion)


@takes(BlendSettings)
def register(
    motions: Motions | Sequence[Motion],
    family: Family | None = None,
    settings: BlendSettings | None = None,
    **options: Any,
) -> Registration:
    """Register the members of a family in time and on the floor.

    Parameters
    ----------
    motions : Library, mapping, or sequence of Motion
        The motions of the family by name. Without a family, pass a sequence of motions that starts
        with the query; each motion is then registered through its nearest neighbor.
    family : Family, optional
        Family, as returned by `Library.family`.
    settings : BlendSettings, optional

    Returns
    -------
    registration : Registration

    Raises
    ------
    InvalidInput
        If there are fewer than two examples, an example is too short, or feet cannot be matched.

    Examples
    --------
    >>> import motionloom as ml
    >>> kicks = [ml.demo.clip(f"kick_{kind}_right") for kind in ("front_mid", "front_high")]
    >>> registration = register(kicks)
    >>> len(registration), registration.parents
    (2, (-1, 0))
    """
    given = BlendSettings.given(settings, options)
    skeleton, fps = given.skeleton, given.fps
    if family is not None:
        _at_least_two(len(family.nodes), f"the family of {family.query}")
        examples = family_examples(
            motions,  # type: ignore[arg-type]
            family,
            query=given.query,
            skeleton=skeleton,
            fps=fps,
        )
    else:
        if not isinstance(motions, Sequence):
            raise InvalidInput("without a family, motions must be a sequence of motions")
        _at_least_two(len(motions), "the sequence of motions")
        clips = list(motions) if skeleton is None else [m.retarget(skeleton) for m in motions]
        examples = clip_examples(clips, fps=fps)
    measure = frame_distance(given.distance)
    prepared = [measure.prepare(example.around or example.motion) for example in examples]
    if family is not None:
        edges = list(family.edges)
    else:  # examples are whole motions, so there are no frames around them
        margin = max(1, round(MARGIN_SECONDS * examples[0].motion.fps))
        edges = _nearest_tree(measure, prepared, margin)
    squares = family is not None and family.squares
    parents = _tree(len(examples), edges, examples, squares)
    clear = {frozenset((edge.a, edge.b)): edge.clear for edge in edges}
    unclear = {n for n, parent in enumerate(parents) if n and not clear[frozenset((n, parent))]}
    power = 2 if (squares if given.align_squares is None else given.align_squares) else 1
    warps = [
        _edge_warp(
            measure.matrix(prepared[parent], prepared[n]) ** power, examples[parent], examples[n]
        )
        if parent >= 0
        else None
        for n, parent in enumerate(parents)
    ]
    order = _outwards(parents)
    times, speeds = _times(examples, parents, order, warps)
    unmatched = unmatched_feet(
        [example.contacts for example in examples],
        [plant_positions(example.motion, example.contacts) for example in examples],
        times,
    )
    if unmatched and not given.drop_unmatched:
        raise InvalidInput(_wrong_foot(examples, unmatched))
    transforms = _transforms(examples, parents, order, times)
    dropped = set(unmatched) | (unclear if given.drop_unclear else set())
    kept = [n for n in range(len(examples)) if n not in dropped]
    _at_least_two(len(kept), "the family without its dropped examples")
    whole = _registered(examples, parents, order, times, speeds, transforms, kept)
    return replace(
        whole,
        left_out=tuple(examples[n].text for n in sorted(dropped)),
        unclear=tuple(examples[n].text for n in sorted(unclear)),
    )


def _registered(examples, parents, order, times, speeds, transforms, kept) -> Registration:
    """Return the registration of the examples `kept`, renumbered."""
    number = {n: k for k, n in enumerate(kept)}
    start = examples[0].motion.root[:, [0, 2]].astype(np.float64)
    place = PlanarTransform(start[:, 0], start[:, 1], 0.0)
    placed = [transforms[n].inverse() @ place for n in kept]
    places = PlanarTransform.stack(placed, axis=1).to_array()
    curve = RegistrationCurve.through(times[:, kept], speeds[:, kept], places)
    chosen = [examples[n] for n in kept]
    clips = ClipPoses.of([example.motion for example in chosen])
    return Registration(
        tuple(chosen),
        # An example whose parent was dropped keeps its times, which refer to the query.
        tuple(number.get(parents[n], 0) if n else -1 for n in kept),
        curve,
        clips.in_one_hemisphere(curve.times, -places[..., 2]),
        matched_contacts(
            [example.contacts for example in chosen],
            [plant_positions(example.motion, example.contacts) for example in chosen],
            curve.times,
            [number[n] for n in order if n in number],
        ),
    )


def _edge_warp(matrix: Array, a: Example, b: Example) -> Timewarp:
    """Return the timewarp along the lowest-cost alignment of two examples.

    `matrix` holds the distances between all their frames. If the lengths of the examples differ by
    more than the slope limit allows, the alignment has no slope limit.
    """
    own = matrix[a.lead : a.lead + len(a), b.lead : b.lead + len(b)]
    return Timewarp.along((align_in_region(own) or warp(own)).path)


def _times(examples, parents, order, warps) -> tuple[Array, Array]:
    """Return the corresponding frames (K, N), chained along the tree, and their speeds."""
    points = np.arange(len(examples[0]), dtype=np.float64)
    times, speeds = np.empty((2, len(points), len(examples)))
    chained: dict[int, Timewarp] = {}
    for n in order:
        if parents[n] < 0:
            times[:, n], speeds[:, n] = points, 1.0
            continue
        whole = warps[n] if parents[n] == 0 else chained[parents[n]].then(warps[n])
        chained[n] = whole
        times[:, n], speeds[:, n] = whole(points), whole.speed(points)
        times[0, n], times[-1, n] = 0.0, len(examples[n]) - 1.0  # exactly
    return times, speeds


def _transforms(examples, parents, order, times) -> dict[int, PlanarTransform]:
    """Return the K planar transforms from each example to the query, chained along the tree."""
    transforms = {0: PlanarTransform.identity(len(times))}
    for n in order:
        parent = parents[n]
        if parent >= 0:
            step = edge_transforms(examples[parent], examples[n], times[:, parent], times[:, n])
            transforms[n] = transforms[parent] @ step
    return transforms


def _tree(
    count: int, edges: Sequence[Edge], examples: Sequence[Example], squares: bool
) -> tuple[int, ...]:
    """Return the parent of each example on the shortest paths from the query."""
    gaps, before = shortest_paths(count, edges, squares)
    lost = np.flatnonzero(~np.isfinite(gaps))
    if len(lost):
        raise InvalidInput(
            f"{examples[lost[0]].text} cannot be registered: it is not connected to the query in "
            "the match graph"
        )
    return tuple(int(before[n]) if n else -1 for n in range(count))


def _nearest_tree(measure: FrameDistance, prepared: Sequence, margin: int) -> list[Edge]:
    """Return the minimum spanning tree over the costs of all pairwise alignments.

    The path between any two motions in this tree minimizes the largest step along the path. At both
    ends of an alignment, `margin` frames need not be in the valid region.
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    count = len(prepared)
    costs = np.zeros((count, count))
    for a in range(count):
        for b in range(a + 1, count):
            matrix = measure.matrix(prepared[a], prepared[b])
            costs[a, b] = max((align_in_region(matrix) or warp(matrix)).mean_cost, 1e-12)
    tree = minimum_spanning_tree(costs).tocoo()
    none = np.empty((0, 2), np.int64)
    edges = []
    for a, b, cost in zip(tree.row.tolist(), tree.col.tolist(), tree.data.tolist(), strict=True):
        matrix = measure.matrix(prepared[a], prepared[b])
        is_clear = clear_alignment(matrix, margin=margin) is not None
        edges.append(Edge(a, b, cost, none, is_clear))
    return edges


def _outwards(parents: Sequence[int]) -> list[int]:
    """Order the examples so that parents come before children."""
    order, rest = [0], set(range(1, len(parents)))
    while rest:
        ready = sorted(n for n in rest if parents[n] not in rest)
        order += ready
        rest -= set(ready)
    return order


def _at_least_two(count: int, what: str) -> None:
    if count < 2:
        raise InvalidInput(
            f"a blend needs at least two examples; {what} has {count}. Use a larger "
            "join_distance or another search method"
        )


def _wrong_foot(examples: Sequence[Example], unmatched: dict[int, tuple[str, float]]) -> str:
    rows = [
        f"{examples[n].text} ({side} foot at the query's frame {examples[0].source_frame(at):.0f})"
        for n, (side, at) in sorted(unmatched.items())
    ]
    shown = ", ".join(rows[:5]) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
    return (
        f"{len(rows)} of {len(examples)} examples cannot be blended with {examples[0].text}, "
        f"because their foot contacts do not match: {shown}. Set drop_unmatched to drop them"
    )
