"""The `Motion` type: a skeleton with local rotations, a root path and a frame rate.

A `Motion` is immutable. Slices share memory with the original; every other operation returns a new
motion. Positions are computed on demand by forward kinematics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.kinematics.root_carrier import Carrier
from motionloom.motion.provenance import Provenance, Source, joined_provenance
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import frame_slice, positive_rate
from motionloom.motion.skeleton import FrozenArrays, Skeleton

if TYPE_CHECKING:
    from motionloom.motion.diagnostics.quality.report import QualityReport
    from motionloom.motion.feet.contacts import FootContacts


@dataclass(frozen=True)
class Origin:
    """Source file of a motion, with the facts that the reader inferred and the repairs it made.

    `carrier` describes joints above the hips that exist in the file but not in the motion (see
    `motionloom.motion.kinematics.root_carrier`). `character` is the file of the character to which
    a motion was retargeted (see `motionloom.formats.own_character`). `layout` is the order of the
    points from which a motion was solved, with the evidence for it. `scene` is shared by the people
    in one recording. `expected_error` is the expected error of a joint in each frame of a film, in
    meters (see `motionloom.formats.video`).

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.demo.clip("walk").origin.unit_m
    1.0
    """

    path: str = ""
    format: str = ""
    unit_m: float = 1.0
    unit_reason: str = ""
    up: str = "y"
    frame_time: float | None = None
    tpose_frame: int | None = None
    euler_order: str | None = None
    repairs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    carrier: Carrier | None = None
    character: str | None = None
    layout: str = ""
    scene: str = ""
    expected_error: tuple[float, ...] = ()


class TimeSeries(FrozenArrays):
    """Base class of motions and markers: frames at a frame rate, with a name and an origin."""

    fps: float
    name: str
    origin: Origin

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def duration(self) -> float:
        """Duration in seconds, which is the number of frames divided by the frame rate."""
        return len(self) / self.fps

    @property
    def repairs(self) -> tuple[str, ...]:
        """Repairs made by the reader, one sentence each."""
        return self.origin.repairs

    def described(self, contents: str) -> str:
        """Return a one-line description: type, name, frames, rate, duration and `contents`."""
        name = f"{self.name!r}, " if self.name else ""
        return (
            f"{type(self).__name__}({name}{len(self)} frames at {self.fps:g} fps = "
            f"{self.duration:.2f} s, {contents})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Motion(TimeSeries):
    """An immutable motion: a skeleton, its rotations over time, and its path.

    Parameters
    ----------
    skeleton : Skeleton
        Skeleton with J joints.
    rotations : array_like, shape (T, J, 4)
        Local rotations, unit quaternions ``wxyz``; stored as float32.
    root : array_like, shape (T, 3)
        Path of the root joint in meters, y up; stored as float32.
    fps : float
        Frames per second.
    name : str
        The file name without its extension, or the name in a library.
    translations : array_like, shape (T, J, 3), optional
        Offset of every joint in every frame; needed only if bone lengths vary.
    origin : Origin
        The file from which the motion was read.
    provenance : Provenance, optional
        The captured frames from which the motion was synthesized; None for captured motion.

    Examples
    --------
    >>> skeleton = Skeleton(["hips", "knee"], [-1, 0], [[0, 0, 0], [0, -0.4, 0]])
    >>> still = Motion(skeleton, np.tile([1.0, 0, 0, 0], (60, 2, 1)), np.zeros((60, 3)), 30)
    >>> len(still), still.duration, still.positions().shape
    (60, 2.0, (60, 2, 3))
    >>> still[15:45].duration
    1.0
    """

    skeleton: Skeleton
    rotations: NDArray[Any]
    root: NDArray[Any]
    fps: float
    name: str = ""
    translations: NDArray[Any] | None = None
    origin: Origin = field(default_factory=Origin)
    provenance: Provenance | None = None
    # Not a constructor argument, because `replace` must drop it: it describes these frames only.
    _quality: QualityReport | Callable[[Motion], QualityReport] | None = field(
        default=None, init=False
    )

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        joints = len(self.skeleton)
        put("rotations", _frozen("rotations", self.rotations, (joints, 4)))
        put("root", _frozen("root", self.root, (3,)))
        if self.translations is not None:
            put("translations", _frozen("translations", self.translations, (joints, 3)))
        for name in ("root", "translations"):
            array = getattr(self, name)
            if array is not None and len(array) != len(self.rotations):
                raise InvalidInput(
                    f"{name} must have one row per frame; got {len(array)} rows "
                    f"for {len(self.rotations)} frames"
                )
        put("fps", positive_rate(self.fps))

    # --- size and parts -----------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rotations)

    def __repr__(self) -> str:
        return self.described(f"{len(self.skeleton)} joints")

    @property
    def sources(self) -> tuple[Source, ...]:
        """Captured segments from which the motion was synthesized; empty for captured motion.

        Examples
        --------
        >>> import motionloom as ml
        >>> ml.demo.clip("walk").sources
        ()
        >>> walked = lib.motion_graph().walk(seconds=2, seed=1)
        >>> walked.sources[0].motion in lib.names
        True
        """
        return () if self.provenance is None else self.provenance.sources

    @property
    def quality(self) -> QualityReport | None:
        """Quality report of a synthesized motion, computed on first access.

        None for captured motion, and for motion that was edited after its synthesis; see
        `motionloom.motion.diagnostics.quality.quality_report`.

        Examples
        --------
        >>> walked = lib.motion_graph().walk(seconds=2, seed=1)
        >>> walked.quality.foot_slide_m < 0.05, walked[10:].quality
        (True, None)
        """
        report = self._quality
        if callable(report):
            report = report(self)
            object.__setattr__(self, "_quality", report)
        return report

    def with_quality(
        self, quality: QualityReport | Callable[[Motion], QualityReport] | None
    ) -> Self:
        """Attach a quality report, or a function that computes it from the motion.

        Examples
        --------
        >>> import motionloom as ml
        >>> from motionloom.motion.diagnostics.quality import quality_report
        >>> ml.demo.clip("walk").with_quality(quality_report).quality.seam_acceleration_ratio
        """
        same = replace(self)
        object.__setattr__(same, "_quality", quality)
        return same

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_quality": self.quality}

    def __getitem__(self, frames: slice | int) -> Motion:
        """Return the selected frames as a motion that shares memory; an index selects one frame."""
        part = frame_slice(frames, len(self), "motion")
        moved = None if self.translations is None else self.translations[part]
        made_of, carrier = self.provenance, self.origin.carrier
        cut = self.origin
        if carrier is not None and carrier.path is not None:
            cut = replace(cut, carrier=carrier.frames(part))
        if len(cut.expected_error) == len(self):
            cut = replace(cut, expected_error=cut.expected_error[part])
        return replace(
            self,
            rotations=self.rotations[part],
            root=self.root[part],
            translations=moved,
            fps=self.fps / part.step,
            origin=cut,
            provenance=None if made_of is None else made_of.cut(part.start, part.stop, part.step),
        )

    # --- kinematics ---------------------------------------------------------------------

    def positions(self, *, end_sites: bool = False) -> NDArray[np.float32]:
        """World positions of the joints in meters.

        Parameters
        ----------
        end_sites : bool
            Append the end sites after the joints.

        Returns
        -------
        positions : ndarray of float32, shape (T, J, 3), or (T, J + E, 3) with end sites

        Examples
        --------
        >>> import motionloom as ml
        >>> walk = ml.demo.clip("walk")
        >>> walk.positions().shape == (len(walk), len(walk.skeleton), 3)
        True
        """
        from motionloom.motion.kinematics.recent_positions import recent_positions

        places = recent_positions(self)
        return (places if end_sites else places[:, : len(self.skeleton)]).copy()

    def role_positions(self, roles: Sequence[str]) -> NDArray[np.float32]:
        """World positions of the points with the given roles, shape (T, len(roles), 3).

        Examples
        --------
        >>> import motionloom as ml
        >>> ml.demo.clip("walk").role_positions(["head", "left_wrist"]).shape
        (138, 2, 3)
        """
        from motionloom.motion.kinematics.recent_positions import recent_positions

        return recent_positions(self)[:, self.skeleton.points(roles)]

    def global_rotations(self) -> NDArray[np.float32]:
        """World rotations of the joints ``wxyz``, shape (T, J, 4).

        Examples
        --------
        >>> import motionloom as ml
        >>> walk = ml.demo.clip("walk")
        >>> walk.global_rotations().shape
        (138, 21, 4)
        """
        from motionloom.motion.kinematics.forward import global_rotations

        return global_rotations(self.rotations, self.skeleton.parents)

    def velocities(self, *, end_sites: bool = False) -> NDArray[np.float64]:
        """World velocities of the joints in m/s, shape (T, J, 3), by central differences.

        Examples
        --------
        >>> import motionloom as ml
        >>> walk = ml.demo.clip("walk")
        >>> walk.velocities().shape == walk.positions().shape
        True
        """
        return _derivative(self.positions(end_sites=end_sites).astype(np.float64), self.fps)

    def angular_velocities(self) -> NDArray[np.float64]:
        """Angular velocities of the local rotations in rad/s, shape (T, J, 3).

        They are in the parent's frame, computed by central differences of rotation vectors.

        Examples
        --------
        >>> import motionloom as ml
        >>> walk = ml.demo.clip("walk")
        >>> walk.angular_velocities().shape == (len(walk), len(walk.skeleton), 3)
        True
        """
        if len(self) < 2:
            return np.zeros((len(self), len(self.skeleton), 3))
        q = self.rotations.astype(np.float64)
        between = rot.log(rot.multiply(q[1:], rot.inverse(q[:-1]))) * self.fps
        out = np.empty((len(q), *between.shape[1:]))
        out[0], out[-1] = between[0], between[-1]
        out[1:-1] = 0.5 * (between[1:] + between[:-1])
        return out

    def headings(self) -> NDArray[np.float64]:
        """Direction in which the body faces, shape (T,): unwrapped angles about +Y in radians.

        Zero faces +Z, and +pi/2 faces +X, to the character's left. The heading is perpendicular to
        the line from the right to the left hip and shoulder. If the skeleton lacks these roles, the
        heading follows the rotation of the root.

        Examples
        --------
        >>> import motionloom as ml, numpy as np
        >>> walk = ml.demo.clip("walk")
        >>> bool(np.abs(walk.headings()).max() < 0.3)  # it walks along z
        True
        """
        from motionloom.motion.kinematics.body import headings

        return headings(self)

    # --- new motions from this one ------------------------------------------------------

    def transform(self, *, yaw: float = 0.0, shift: ArrayLike = (0.0, 0.0, 0.0)) -> Motion:
        """Rotate by `yaw` radians about the vertical through the origin, then translate by `shift`.

        Examples
        --------
        >>> skeleton = Skeleton(["hips"], [-1], [[0, 0, 0]])
        >>> m = Motion(skeleton, [[[1.0, 0, 0, 0]]], [[0, 1, 2]], 30)
        >>> m.transform(yaw=np.pi / 2, shift=(0, 0, 5)).root.round(5) + 0
        array([[2., 1., 5.]], dtype=float32)
        """
        turn = rot.yaw(yaw)
        rotations = self.rotations.astype(np.float64)
        rotations[:, 0] = rot.multiply(turn, rotations[:, 0])
        root = rot.rotate(turn, self.root.astype(np.float64)) + np.asarray(shift, np.float64)
        return replace(self, rotations=rotations, root=root)

    def without_heading(self) -> Motion:
        """Return the same poses, moved over the origin and rotated to face +Z in every frame.

        Examples
        --------
        >>> import motionloom as ml, numpy as np
        >>> bool(np.abs(ml.demo.clip("walk_left").without_heading().headings()).max() < 1e-3)
        True
        """
        turn = rot.yaw(-self.headings())
        rotations = self.rotations.astype(np.float64)
        rotations[:, 0] = rot.multiply(turn, rotations[:, 0])
        from motionloom.motion.kinematics.body import hips_path

        hips = hips_path(self).astype(np.float64) * [1.0, 0.0, 1.0]
        root = rot.rotate(turn, self.root.astype(np.float64) - hips)
        return replace(self, rotations=rotations, root=root)

    def starting_at_origin(self) -> Motion:
        """Transform the whole motion so that the first frame is over the origin and faces +Z.

        Examples
        --------
        >>> import motionloom as ml, numpy as np
        >>> away = ml.demo.clip("walk").transform(shift=(3, 0, 1))
        >>> bool(np.allclose(away.starting_at_origin().root[0, [0, 2]], 0.0, atol=1e-6))
        True
        """
        from motionloom.motion.kinematics.body import hips_path

        first = replace(self, provenance=None)[0]
        turn = -float(first.headings()[0])
        start = rot.rotate(rot.yaw(turn), hips_path(first)[0].astype(np.float64))
        return self.transform(yaw=turn, shift=(-start[0], 0.0, -start[2]))

    def resample(self, fps: float) -> Motion:
        """Return the motion at another frame rate.

        Rotations are interpolated with slerp and positions linearly. Frame k is at ``k / fps``
        seconds, and the last frame is not later than the last frame of the original.

        Examples
        --------
        >>> import motionloom as ml
        >>> ml.demo.clip("walk").resample(60)
        Motion('walk_p0', 275 frames at 60 fps = 4.58 s, 21 joints)
        """
        from motionloom.motion.resampling import resample

        return resample(self, fps)

    def mirror(self) -> Motion:
        """Mirror the motion in the plane x = 0, which swaps left and right.

        Examples
        --------
        >>> import motionloom as ml, numpy as np
        >>> walk = ml.demo.clip("walk")
        >>> twice = walk.mirror().mirror()
        >>> bool(np.allclose(twice.positions(), walk.positions(), atol=1e-4))
        True
        """
        from motionloom.motion.mirroring import mirror

        return mirror(self)

    def contacts(self, **thresholds: float) -> FootContacts:
        """Find the ground contacts of the heel and ball of each foot.

        See `motionloom.motion.feet.contacts.foot_contacts` for the thresholds: ``slow, fast, rise,
        above_floor, shortest, gap, skate``.

        Examples
        --------
        >>> import motionloom as ml
        >>> walk = ml.demo.clip("walk")
        >>> walk.contacts().intervals("left_ball")[:2]
        ((0, 9), (23, 39))
        """
        from motionloom.motion.feet.contacts import foot_contacts

        return foot_contacts(self, **thresholds)

    def clean(self, *, repairs: Sequence[str] | None = None, skip: Sequence[str] = ()) -> Motion:
        """Repair the faults of a take: swapped sides, gaps, flips, twisted joints, jitter, ...

        Each repair is made only if the take has the fault, so a clean take is returned as it is.
        `motionloom.motion.repairs.clean.clean` also returns a report.

        Parameters
        ----------
        repairs : sequence of str, optional
            Repairs to make even if the take hardly needs them: ``sides, gaps, flips, range,
            jitter, drift, floor, feet``. Default: the repairs that the take needs.
        skip : sequence of str
            Repairs to skip.

        Examples
        --------
        >>> import motionloom as ml
        >>> walk = ml.demo.clip("walk")
        >>> sunk = walk.transform(shift=(0, -0.3, 0))
        >>> bool(abs(sunk.clean().root - walk.root).max() < 0.01)
        True
        """
        from motionloom.motion.repairs.clean import clean

        return clean(self, repairs=repairs, skip=skip)[0]

    def clean_feet(self, *, contacts: FootContacts | None = None, ease: float = 0.25) -> Motion:
        """Remove foot skate; feet in contact do not slide in the returned motion.

        `motionloom.motion.feet.clean.clean_feet` also returns a report.

        Examples
        --------
        >>> import motionloom as ml
        >>> ml.demo.clip("walk").clean_feet()
        Motion('walk_p0', ... frames at 30 fps = ... s, 21 joints)
        """
        from motionloom.motion.feet.clean import clean_feet

        return clean_feet(self, contacts=contacts, ease=ease)[0]

    def retarget(
        self,
        skeleton: Skeleton | Motion | str | Path,
        *,
        importance: Mapping[str, ArrayLike] | None = None,
        keep_contacts: bool = True,
        contacts: FootContacts | None = None,
    ) -> Motion:
        """Transfer the motion to another skeleton, to another motion's skeleton, or to a character.

        A character is the path of a skinned mesh in a glTF or FBX file, or of a robot model
        (``.xml``, ``.urdf``); `save` then writes its meshes or, for a robot, robot files. See
        `motionloom.motion.retargeting.retarget.retarget` for the parameters.

        Examples
        --------
        >>> import motionloom as ml
        >>> walk = ml.demo.clip("walk")
        >>> child = walk.retarget(walk.skeleton.scaled(0.6))
        >>> bool(child.root[:, 1].mean() < 0.65 * walk.root[:, 1].mean())
        True
        """
        from motionloom.motion.retargeting.retarget import retarget

        if isinstance(skeleton, str | Path):
            from motionloom.formats.own_character import load_character

            skeleton = load_character(skeleton)
        if isinstance(skeleton, Motion) and skeleton.origin.format == "robot":
            from motionloom.formats.robot import load_robot, retarget_to_robot

            target = skeleton.origin.character or skeleton.origin.path
            robot = load_robot(target, roles=skeleton.skeleton.role_map)
            return retarget_to_robot(self, robot, contacts=contacts)
        moved = retarget(
            self,
            skeleton,
            importance=importance,
            keep_contacts=keep_contacts,
            contacts=contacts,
        )
        character = skeleton.origin.character if isinstance(skeleton, Motion) else None
        if character == moved.origin.character:
            return moved
        shown = replace(moved, origin=replace(moved.origin, character=character))
        return shown.with_quality(lambda _: moved.quality)  # type: ignore[arg-type, return-value]

    def __add__(self, other: Motion) -> Motion:
        """Append `other` without alignment."""
        return concatenate([self, other])

    def rest_pose(self) -> Motion:
        """Return a single frame in the skeleton's rest pose, standing at the origin.

        Examples
        --------
        >>> import motionloom as ml
        >>> len(ml.demo.clip("walk").rest_pose())
        1
        """
        skeleton = self.skeleton
        rest = skeleton.rest_rotations[None]
        pose = Motion(skeleton, rest, np.zeros((1, 3)), self.fps, name=f"{self.name} (rest)")
        lowest = float(pose.positions(end_sites=True)[0, :, 1].min())
        return replace(pose, root=np.array([[0.0, -lowest, 0.0]]))

    # --- files and notebooks ------------------------------------------------------------

    def save(self, path: str | Path, settings: Any = None, **options: Any) -> Path:
        """Write to a file, in the format given by its extension; see `motionloom.save` for options.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = ml.demo.clip("walk").save(f"{folder}/walk.bvh")
        ...     print(len(ml.load(path)) == len(ml.demo.clip("walk")))
        True
        """
        from motionloom.formats import save

        return save(self, path, settings, **options)

    def _repr_html_(self) -> str:
        from motionloom.plots.pages.player import player_html

        return player_html(self)


def concatenate(motions: Sequence[Motion]) -> Motion:
    """Concatenate motions of the same skeleton and rate without alignment or blending.

    Raises
    ------
    InvalidInput
        If there are no motions, or if skeletons or rates differ.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> ml.concatenate([walk, walk[:10]])
    Motion('walk_p0', 148 frames at 30 fps = 4.93 s, 21 joints)
    """
    if not motions:
        raise InvalidInput("concatenate needs at least one motion; got none")
    first = motions[0]
    for other in motions[1:]:
        if not other.skeleton.is_same_body(first.skeleton):
            raise InvalidInput(
                f"motions to concatenate must share one skeleton; {other!r} and {first!r} differ. "
                f"Retarget one onto the other first"
            )
        if abs(other.fps - first.fps) > 1e-6 * first.fps:
            raise InvalidInput(
                f"motions to concatenate must share one rate; got {first.fps:g} and "
                f"{other.fps:g} fps. Resample first: motion.resample({first.fps:g})"
            )
    moved = None
    if any(m.translations is not None for m in motions):
        moved = np.concatenate([_all_translations(m) for m in motions])
    return replace(
        first,
        rotations=np.concatenate([m.rotations for m in motions]),
        root=np.concatenate([m.root for m in motions]),
        translations=moved,
        provenance=joined_provenance([(m.provenance, len(m)) for m in motions]),
    )


def _all_translations(motion: Motion) -> NDArray[np.float32]:
    if motion.translations is not None:
        return motion.translations
    offsets = motion.skeleton.offsets.astype(np.float32)
    return np.broadcast_to(offsets, (len(motion), *offsets.shape))


def _derivative(values: NDArray[np.float64], fps: float) -> NDArray[np.float64]:
    if len(values) < 2:
        return np.zeros_like(values)
    return np.gradient(values, 1.0 / fps, axis=0)


def _frozen(name: str, value: ArrayLike, tail: tuple[int, ...]) -> NDArray[np.float32]:
    array = np.asarray(value, dtype=np.float32)
    if array.ndim != 1 + len(tail) or array.shape[1:] != tail:
        shape = ", ".join(map(str, tail))
        raise InvalidInput(f"{name} must have shape (frames, {shape}); got {array.shape}")
    array = array.view()
    array.setflags(write=False)
    return array
