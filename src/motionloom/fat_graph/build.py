"""Build a fat graph: find base poses, group the clips between them into edges, drop dead ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.blending import register
from motionloom.blending.examples import conform, without_faults
from motionloom.errors import InvalidInput
from motionloom.fat_graph.base_pose_search import BasePoses, base_poses
from motionloom.fat_graph.gait_transitions import Strides, gait_transition
from motionloom.fat_graph.graph import FatEdge, FatGraph
from motionloom.fat_graph.settings import FatGraphSettings
from motionloom.features.feature_sets import feature_set
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality.measures import joint_accelerations, usual_acceleration
from motionloom.motion.feet.gait import gaits
from motionloom.motion.loops import unrolled
from motionloom.motion.segment import Segment
from motionloom.parametric.parameters import average_speed, turn
from motionloom.parametric.parametric_motion import parametrize
from motionloom.parametric.settings import ParametrizeSettings
from motionloom.ragged import Ragged
from motionloom.settings import named_takes

Array = NDArray[np.float64]

_APART = 0.3  # minimum time between base poses, in seconds
_LONGEST = 2.5  # maximum time between base poses, in seconds
_DURATIONS = 1.4  # maximum ratio of a clip's duration to the median duration of its edge
_SAMPLES = 60  # number of samples of an edge
_SPACING = 0.005  # minimum distance between samples, in radians and m/s
_FAST = ("jog", "run")
_PASSES = 1.5  # no more base poses are added above this mean number of passes per fast motion
_FAST_RADIUS = 1.5  # neighbor radius of fast poses, as a multiple of the general radius
_BRIDGE_CLIPS = 5  # number of takes per gait used for transitions, and of transitions to keep
_ROUGHEST = 1.0  # maximum acceleration of a transition, as a multiple of that of its takes
_WAY = 0.3  # m/s; a slower body has no clear direction of travel


def fat_graph(motions: Sequence[Motion], settings: FatGraphSettings | None = None) -> FatGraph:
    """Build a fat graph from motions.

    Parameters
    ----------
    motions : sequence of Motion
        Walks, runs and turns with any skeletons and frame rates. They are converted to the skeleton
        and frame rate of the first motion.
    settings : FatGraphSettings, optional
        Default: ``FatGraphSettings()``.

    Raises
    ------
    InvalidInput
        If no pose occurs often enough, or no route leads back to a base pose.

    Examples
    --------
    >>> import motionloom as ml
    >>> kinds = ("walk", "walk_fast", "walk_left", "walk_right")
    >>> graph = fat_graph([ml.demo.clip(kind) for kind in kinds])
    >>> player = graph.player(direction=0.0, speed=1.2)
    >>> ahead = player.record(seconds=2)
    >>> player.steer(direction=1.5, speed=1.5)
    >>> len(player.record(seconds=4))
    120
    """
    settings = settings or FatGraphSettings()
    skipped = without_faults(motions, used=named_takes(settings))
    motions = [motion for motion in motions if motion.name not in skipped]
    ready = conform([unrolled(motion) for motion in motions], skipped=skipped)
    chosen = feature_set(settings.features, normalize=settings.normalize)
    rows = Ragged.from_rows(chosen.prepare(motion) for motion in ready)
    apart = max(round(_APART * ready[0].fps), 1)
    bases = base_poses(
        rows, radius=settings.radius / chosen.scale, apart=apart, k=settings.k, most=settings.poses
    )
    if settings.bridge:
        bases = _with_fast_poses(ready, rows, bases, settings, chosen.scale, apart)
    if not len(bases):
        raise InvalidInput(
            f"no pose occurs more than three times in the {len(ready)} motions (radius "
            f"{settings.radius:g} m). Add repetitive motions, such as walks, or increase radius"
        )
    edges, removed = _fat_edges(ready, bases, rows, settings.examples, settings.seed)
    made: list[Motion] = []
    if settings.bridge:
        made, bridges = _bridges(ready, bases, rows, edges, settings)
        edges = [*edges, *bridges]
    kept, connected = _connected(len(bases), edges)
    if not connected:
        raise InvalidInput(
            f"no route leads from any of the {len(bases)} base poses back to itself. A fat graph "
            "needs repetitive motions, such as walks, in several variations"
        )
    removed["base_poses"] = len(bases) - len(kept)
    removed["edges"] = len(edges) - len(connected)
    places = [_place(row, rows) for row in bases.rows[kept]]
    return FatGraph(
        tuple(ready),
        tuple((ready[m].name, frame) for m, frame in places),
        _offsets(ready, bases, rows)[kept],
        tuple(
            replace(edge, source=kept.index(edge.source), target=kept.index(edge.target))
            for edge in connected
        ),
        removed,
        tuple(made),
        skipped,
    )


def _with_fast_poses(
    motions: Sequence[Motion],
    rows: Ragged,
    bases: BasePoses,
    settings: FatGraphSettings,
    scale: float,
    apart: int,
) -> BasePoses:
    """Add base poses for jogs and runs that pass through too few of the base poses.

    If most motions are walks, the most frequent poses are walking poses. Poses of fast motions
    change more from frame to frame, so a larger radius is used for their neighbors.
    """
    fast = [k for k, motion in enumerate(motions) if np.isin(gaits(motion), _FAST).mean() > 0.5]
    passed = np.isin(rows.row_of(bases.passes[:, 0]), fast) if len(bases) else np.zeros(0, bool)
    if len(fast) < 2 or np.count_nonzero(passed) >= _PASSES * len(fast):
        return bases
    own = Ragged.from_rows(rows.values[rows.offsets[k] : rows.offsets[k + 1]] for k in fast)
    shifts = rows.offsets[fast] - own.offsets[:-1]
    more = base_poses(
        own,
        radius=_FAST_RADIUS * settings.radius / scale,
        apart=apart,
        k=settings.k,
        most=settings.poses,
    )
    if not len(more):
        return bases
    kept = bases.passes[~passed]
    poses = more.rows + shifts[own.row_of(more.rows)]
    passes = more.passes + [0, len(bases)]
    passes[:, 0] += shifts[own.row_of(more.passes[:, 0])]
    together = np.concatenate([kept, passes])
    return BasePoses(
        np.concatenate([bases.rows, poses]),
        np.concatenate([bases.counts, more.counts]),
        together[np.argsort(together[:, 0], kind="stable")],
    )


def _bridges(
    motions: Sequence[Motion],
    bases: BasePoses,
    rows: Ragged,
    edges: Sequence[FatEdge],
    settings: FatGraphSettings,
) -> tuple[list[Motion], list[FatEdge]]:
    """Return transitions between the largest component and the others, and their edges."""
    parts = _components(len(bases), edges)
    strides = {
        k: steps for k, motion in enumerate(motions) if (steps := Strides.of(motion)) is not None
    }
    made: list[Motion] = []
    bridges: list[FatEdge] = []
    for part in parts[1:]:
        both = [
            _bridge(motions, bases, rows, strides, ends, settings, len(made) + number)
            for number, ends in enumerate(((parts[0], part), (part, parts[0])))
        ]
        if all(bridge is not None for bridge in both):
            made += [motion for bridge in both if bridge is not None for motion in bridge[0]]
            bridges += [bridge[1] for bridge in both if bridge is not None]
    return made, bridges


def _bridge(
    motions: Sequence[Motion],
    bases: BasePoses,
    rows: Ragged,
    strides: Mapping[int, Strides],
    ends: tuple[Sequence[int], Sequence[int]],
    settings: FatGraphSettings,
    number: int,
) -> tuple[list[Motion], FatEdge] | None:
    """Build transitions from a base pose of one component to one of another, as a fat edge."""
    best: list[list[tuple[int, int]]] = []
    poses: list[int] = []
    for part in ends:
        passes = {pose: _places(bases, rows, pose, strides) for pose in part}
        pose = max(passes, key=lambda base: len({motion for motion, _ in passes[base]}))
        poses.append(int(pose))
        best.append(_distinct(passes[pose], _BRIDGE_CLIPS))
    usual = usual_acceleration([motions[k] for k in {place[0] for part in best for place in part}])
    made: list[tuple[float, Motion]] = []
    for a, start in best[0]:
        for b, end in best[1]:
            name = f"{motions[a].name} to {motions[b].name} (made {number})"
            change = gait_transition(strides[a], start, strides[b], end, name=name)
            made.append((float(joint_accelerations(change).max(initial=0.0)) / usual, change))
    smooth = [clip for rough, clip in sorted(made, key=lambda pair: pair[0]) if rough < _ROUGHEST]
    group = [(k, 0, len(clip) - 1) for k, clip in enumerate(smooth)]
    edge = _fat_edge(smooth, group, poses[0], poses[1], _BRIDGE_CLIPS, settings.seed)
    if edge is None:
        return None
    used = {clip.motion for clip in edge[0].clips}
    return [clip for clip in smooth if clip.name in used], replace(edge[0], bridge=True)


def _places(
    bases: BasePoses, rows: Ragged, pose: int, strides: Mapping[int, Strides]
) -> list[tuple[int, int]]:
    """Return the motions and frames that pass through a base pose and have detected steps."""
    passes = bases.passes[bases.passes[:, 1] == pose, 0]
    places = (_place(int(row), rows) for row in passes)
    return [place for place in places if place[0] in strides]


def _distinct(places: Sequence[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Return one place per motion, evenly chosen from all places."""
    own = list({motion: (motion, frame) for motion, frame in places}.values())
    chosen = np.unique(np.linspace(0, len(own) - 1, min(count, len(own))).round().astype(int))
    return [own[k] for k in chosen]


def _place(row: int, rows: Ragged) -> tuple[int, int]:
    motion = int(rows.row_of(row))
    return motion, int(row - rows.offsets[motion])


def _fat_edges(
    motions: Sequence[Motion],
    bases: BasePoses,
    rows: Ragged,
    examples: int,
    seed: int,
) -> tuple[list[FatEdge], dict[str, int]]:
    """Return all edges with two or more clips, and the number of dropped clips."""
    groups: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for (row, pose), (next_row, target) in zip(bases.passes[:-1], bases.passes[1:], strict=True):
        (motion, first), (other, last) = _place(row, rows), _place(next_row, rows)
        if motion == other and (last - first) / motions[0].fps <= _LONGEST:
            groups.setdefault((int(pose), int(target)), []).append((motion, first, last))
    edges, alone, unmatched = [], 0, 0
    for (source, target), clips in sorted(groups.items()):
        for group in _of_like_duration(clips):
            made = _fat_edge(motions, group, source, target, examples, seed)
            if made is None:
                alone += len(group)
                continue
            edges.append(made[0])
            unmatched += made[1]
    return edges, {"single_clips": alone, "unmatched_clips": unmatched}


def _of_like_duration(
    clips: Sequence[tuple[int, int, int]],
) -> list[list[tuple[int, int, int]]]:
    """Group clips of similar duration, the largest group first."""
    left, groups = list(clips), []
    while left:
        lengths = np.array([last - first for _, first, last in left], np.float64)
        middle = float(np.median(lengths))
        like = (lengths <= middle * _DURATIONS) & (lengths >= middle / _DURATIONS)
        if not like.any():
            middle = float(lengths[0])
            like = (lengths <= middle * _DURATIONS) & (lengths >= middle / _DURATIONS)
        groups.append([clip for clip, yes in zip(left, like, strict=True) if yes])
        left = [clip for clip, yes in zip(left, like, strict=True) if not yes]
    return groups


def _fat_edge(
    motions: Sequence[Motion],
    group: Sequence[tuple[int, int, int]],
    source: int,
    target: int,
    examples: int,
    seed: int,
) -> tuple[FatEdge, int] | None:
    """Return the edge that blends a group of clips, or None, and the number of unmatched clips."""
    if len(group) < 2:
        return None
    values = np.array([_turn_and_speed(motions[m][a : b + 1]) for m, a, b in group])
    spread = [group[n] for n in _spread_out(values, examples)]
    clips = [Segment(motions[m].name, a, b + 1, motions[m].fps) for m, a, b in spread]
    cut = [
        replace(motions[m][a : b + 1], name=str(clip), provenance=None)
        for (m, a, b), clip in zip(spread, clips, strict=True)
    ]
    try:
        registration = register(cut, drop_unmatched=True)
    except InvalidInput:
        return None
    parametric = parametrize(
        registration,
        [turn(), average_speed()],
        ParametrizeSettings(samples=_SAMPLES, spacing=_SPACING, seed=seed),
    )
    by_name = {str(clip): clip for clip in clips}
    kept = tuple(by_name[example.source] for example in registration.examples)
    return FatEdge(source, target, kept, len(group), parametric), len(clips) - len(kept)


def _turn_and_speed(clip: Motion) -> Array:
    return np.concatenate([turn()(clip), average_speed()(clip)])


def _spread_out(values: Array, count: int) -> list[int]:
    """Return the numbers of `count` rows that are far from each other, the central row first."""
    scaled = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-6)
    chosen = [int(np.argmin((scaled**2).sum(axis=1)))]
    gaps = np.linalg.norm(scaled - scaled[chosen[0]], axis=1)
    while len(chosen) < min(count, len(values)):
        chosen.append(int(np.argmax(gaps)))
        gaps = np.minimum(gaps, np.linalg.norm(scaled - scaled[chosen[-1]], axis=1))
        gaps[chosen] = -1.0
    return chosen


def _components(count: int, edges: Sequence[FatEdge]) -> list[list[int]]:
    """Return strongly connected components with an edge inside, by descending clip count."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if not edges:
        return []
    ends = np.array([(edge.source, edge.target) for edge in edges])
    links = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    part = connected_components(links, connection="strong")[1]
    sizes: dict[int, int] = {}
    for edge in edges:
        if part[edge.source] == part[edge.target]:
            sizes[int(part[edge.source])] = sizes.get(int(part[edge.source]), 0) + edge.members
    order = sorted(sizes, key=lambda number: (-sizes[number], number))
    return [[pose for pose in range(count) if part[pose] == number] for number in order]


def _connected(count: int, edges: Sequence[FatEdge]) -> tuple[list[int], list[FatEdge]]:
    """Return the base poses and edges of the largest strongly connected component."""
    parts = _components(count, edges)
    if not parts:
        return [], []
    kept = set(parts[0])
    return parts[0], [edge for edge in edges if edge.source in kept and edge.target in kept]


def _offsets(motions: Sequence[Motion], bases: BasePoses, rows: Ragged) -> Array:
    """Return the mean angle (B,) between heading and direction of travel in each base pose."""
    sums = np.zeros(len(bases), np.complex128)
    headings = [motion.headings() for motion in motions]
    half = max(round(0.5 * motions[0].fps), 1)
    for row, pose in bases.passes:
        m, frame = _place(int(row), rows)
        root = motions[m].root
        first, last = max(frame - half, 0), min(frame + half, len(root) - 1)
        x, _, z = (root[last] - root[first]).astype(np.float64)
        if np.hypot(x, z) >= _WAY * (last - first) / (2 * half):
            sums[pose] += np.exp(1j * (np.arctan2(x, z) - headings[m][frame]))
    return np.where(np.abs(sums) > 0.0, np.angle(sums), 0.0)
