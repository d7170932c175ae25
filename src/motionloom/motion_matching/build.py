"""Build a matching database: retarget and mirror takes, compute features, build an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.examples import conform, without_body, without_faults
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality.measures import joint_accelerations
from motionloom.motion.feet.gait import GAITS, gaits
from motionloom.motion.feet.skating import supported_parts
from motionloom.motion.loops import unrolled
from motionloom.motion_matching.database import (
    ARRAYS,
    MIRRORED,
    MatchingDatabase,
    Range,
    searchable_frames,
)
from motionloom.motion_matching.features import (
    Normalization,
    RootMotion,
    check_roles,
    matching_features,
)
from motionloom.motion_matching.generated_takes import (
    gait_changes,
    is_made,
    needs_gait_changes,
    needs_standing,
    standing_motions,
)
from motionloom.motion_matching.settings import MatchingSettings
from motionloom.parallel import Progress
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.settings import named_takes

# Minimum duration of a take in seconds; shorter takes are skipped, unless they are loops.
_LEAST_SECONDS = 0.7
_STANDS = 0.2  # m/s: generated frames without a gait count as standing if the root is slower
_LOCOMOTION = 0.5  # m/s: if all takes are slower, they are rejected because none walks


def matching_database(
    motions: Sequence[Motion],
    settings: MatchingSettings,
    *,
    labels: Mapping[str, Sequence[tuple[int, int, str]]] | None = None,
    progress: Progress | None = None,
) -> MatchingDatabase:
    """Build a matching database from motions.

    Parameters
    ----------
    motions : sequence of Motion
        Takes to use. The character gets the skeleton of the first.
    settings : MatchingSettings
    labels : mapping, optional
        Maps the name of a motion to its labeled segments, each a first frame, an end frame
        (excluded) and a label.
    progress : callable, optional
        Called as ``progress(1)`` after every motion.

    Raises
    ------
    RoleError
        If a motion has no hips or feet.
    InvalidInput
        If no motion is long enough, or no motion moves over the floor.
    """
    if not motions:
        raise InvalidInput("motion matching needs at least one motion, but no motions are selected")
    skipped = without_body({motion.name: motion.skeleton for motion in motions})
    bodies = [motion for motion in motions if motion.name not in skipped]
    skipped |= without_faults(bodies, used=named_takes(settings))
    motions = [motion for motion in motions if motion.name not in skipped]
    for motion in motions:
        check_roles(motion)
    rate = float(settings.fps or motions[0].fps)
    stored = {motion.name: motion.fps for motion in motions}
    motions = [unrolled(motion) for motion in motions]
    skipped |= {
        motion.name: f"too short ({motion.duration:.2f} s; at least {_LEAST_SECONDS} s is needed, "
        "or a loop)"
        for motion in motions
        if motion.duration < _LEAST_SECONDS
    }
    long = [motion for motion in motions if motion.name not in skipped]
    if not long:
        raise InvalidInput(
            f"motion matching needs takes that last at least {_LEAST_SECONDS} s; the longest of "
            f"the {len(motions)} takes lasts {max(motion.duration for motion in motions):.2f} s"
        )
    long = [long[0].resample(rate), *long[1:]]
    ready = conform(long, skipped=skipped)
    contacts = [motion.contacts() for motion in ready]
    floor = contacts[0].floor
    parts = _Parts()
    for motion, own in zip(ready, contacts, strict=True):
        level = replace(motion, root=motion.root + [0.0, floor - own.floor, 0.0])
        parts.add(level, supported_parts(level, own), mirror=settings.mirror)
        if progress is not None:
            progress(1)
    parts.check(len(ready))
    if needs_standing(parts.joined("gaits"), rate):
        for made in standing_motions(parts.walking(ready[0]), parts.walks(ready[0]), floor):
            still = np.linalg.norm(np.gradient(made.root[:, [0, 2]], axis=0), axis=1) * rate < 0.05
            standing = supported_parts(made, made.contacts()) | still[:, None]
            parts.add(made, standing, mirror=settings.mirror, made=True)
    takes = parts.takes(ready[0])
    if needs_gait_changes([gaits for _, gaits in takes], rate):
        kinds = [
            [take for take, gaits in takes if np.isin(gaits, wanted).mean() > 0.8]
            for wanted in ((2,), (3, 4))
        ]
        for made in gait_changes(*kinds):
            standing = supported_parts(made, made.contacts())
            parts.add(made, standing, mirror=settings.mirror, made=True)
    ranges = tuple(parts.ranges)
    arrays = parts.arrays()
    rows = Normalization.of(arrays["features"], settings).apply(arrays["features"])
    kept = np.where(
        searchable_frames(ranges, arrays["rough"], rate)[:, None], rows, np.float32(np.nan)
    )
    return MatchingDatabase(
        ready[0].skeleton,
        rate,
        ranges,
        **arrays,
        index=BucketIndex.build(kept),
        settings=settings,
        labels=_labeled(ranges, labels or {}, stored, rate),
        skipped=skipped,
        acceleration=parts.acceleration,
    )


class _Parts:
    """Collects the arrays of all ranges."""

    def __init__(self) -> None:
        self.ranges: list[Range] = []
        self._held: dict[str, list[NDArray]] = {name: [] for name in ARRAYS}
        self._jerks: list[NDArray] = []
        self.acceleration = 0.0
        self._made = False

    def add(
        self, motion: Motion, contacts: NDArray[np.bool_], *, mirror: bool, made: bool = False
    ) -> None:
        """Add a take and, with `mirror`, a mirrored copy; with `made`, every frame gets a gait."""
        self._made = made
        self._add(motion, contacts, mirrored=False)
        if mirror:
            twin = replace(motion.mirror(), name=motion.name + MIRRORED)
            self._add(twin, contacts[:, [2, 3, 0, 1]], mirrored=True)

    def check(self, takes: int) -> None:
        """Raise `InvalidInput` if names are not unique, or no take moves."""
        names = [part.name for part in self.ranges]
        if len(set(names)) < len(names):
            raise InvalidInput(
                f"mirrored copies are named with the ending {MIRRORED}, but some takes already "
                "have such names. Exclude those takes, or turn mirror off"
            )
        ahead = self.joined("features")[:, 19:21]  # position of the root one second ahead
        fastest = float(np.percentile(np.hypot(ahead[:, 0], ahead[:, 1]), 99.5))
        if fastest < _LOCOMOTION:
            stay = "the take stays" if takes == 1 else f"all {takes} takes stay"
            raise InvalidInput(
                f"motion matching needs takes that walk or run, but {stay} in place (moving at "
                f"most {fastest:.2f} m per second)"
            )

    def walking(self, like: Motion) -> Motion:
        """Return the walking frames as one motion, or all moving frames if no take walks."""
        gaits = self.joined("gaits")
        rows = gaits == 2
        rows = rows if rows.any() else gaits >= 0
        return Motion(
            like.skeleton, self.joined("rotations")[rows], self.joined("root")[rows], like.fps
        )

    def takes(self, like: Motion) -> list[tuple[Motion, NDArray[np.int8]]]:
        """Return the captured takes and their gaits, without mirrored copies."""
        arrays = self._held
        return [
            (
                Motion(
                    like.skeleton,
                    arrays["rotations"][k],
                    arrays["root"][k],
                    like.fps,
                    name=part.name,
                ),
                arrays["gaits"][k],
            )
            for k, part in enumerate(self.ranges)
            if not part.mirrored and not is_made(part.name)
        ]

    def walks(self, like: Motion) -> list[Motion]:
        """Return the takes that are mostly walking, or all takes if there are none.

        Mirrored copies are excluded.
        """
        shares = []
        for number, part in enumerate(self.ranges):
            rotations, root = self._held["rotations"][number], self._held["root"][number]
            share = float(np.mean(self._held["gaits"][number] == 2))
            if not part.mirrored:
                shares.append((share, Motion(like.skeleton, rotations, root, like.fps)))
        walking = [motion for share, motion in shares if share > 0.8]
        return walking or [motion for _, motion in shares]

    def joined(self, name: str) -> NDArray:
        """Concatenate an array over all ranges."""
        return np.concatenate(self._held[name])

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the database, by name."""
        own = [part for part in self._jerks if len(part)]
        usual = float(np.percentile(np.concatenate(own), 99.9)) if own else 0.0
        self.acceleration = usual
        self._held["rough"] = [jerks.max(axis=1, initial=0.0) > usual for jerks in self._jerks]
        return {name: self.joined(name) for name in ARRAYS}

    def _add(self, motion: Motion, contacts: NDArray[np.bool_], *, mirrored: bool) -> None:
        start = self.ranges[-1].stop if self.ranges else 0
        self.ranges.append(Range(motion.name, start, start + len(motion), mirrored))
        root = RootMotion.of(motion)
        names = np.array(["", *GAITS])
        gait = gaits(motion)
        arrays = self._held
        self._jerks.append(_accelerations(motion))
        arrays["rotations"].append(motion.rotations)
        arrays["root"].append(motion.root)
        arrays["contacts"].append(contacts)
        kinds = np.argmax(gait[:, None] == names, axis=1)
        if self._made:
            walks = np.abs(np.gradient(root.floor)) * motion.fps > _STANDS
            kinds = np.where(kinds > 0, kinds, np.where(walks, 2, 1))
        arrays["gaits"].append(kinds.astype(np.int8))
        arrays["places"].append(np.column_stack([root.floor.imag, root.floor.real, root.facing]))
        arrays["features"].append(matching_features(motion, root).astype(np.float32))


def _accelerations(motion: Motion) -> NDArray[np.float64]:
    """Return the accelerations (T, J) of all joints; zero in the first and last frame."""
    out = np.zeros((len(motion), len(motion.skeleton)))
    if len(motion) > 2:
        out[1:-1] = joint_accelerations(motion)
    return out


def _labeled(
    ranges: Sequence[Range],
    labels: Mapping[str, Sequence[tuple[int, int, str]]],
    stored: Mapping[str, float],
    fps: float,
) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the frame ranges of each label in the database."""
    labeled: dict[str, list[tuple[int, int]]] = {}
    for part in ranges:
        scale = fps / stored.get(part.take, fps)
        for start, stop, label in labels.get(part.take, ()):
            first = part.start + min(round(start * scale), part.stop - part.start)
            last = part.start + min(round(stop * scale), part.stop - part.start)
            if first < last:
                labeled.setdefault(label, []).append((first, last))
    return {label: tuple(parts) for label, parts in sorted(labeled.items())}
