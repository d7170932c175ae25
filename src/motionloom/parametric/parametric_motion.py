"""Parametric motions: families of motions controlled by parameters.

For example, ``kick([0.4, 1.1, 0.6])`` is a kick that lands at this position. Parameters are
functions of a motion (`motionloom.parametric.parameters`). The map from parameters to blend weights
is learned from sampled blends (`motionloom.parametric.parameter_space`), and a few optimization
steps remove the remaining error of a few centimeters (`motionloom.parametric.weight_refinement`).
Per-example scores, such as mood, can also be parameters; the score of a blend is the weighted mean.

Every blend starts at the origin and faces +Z. Frames at which parameters are measured fall on
whole frames of every blend, so that the measured pose is actually in the saved motion.

References
----------
.. [1] L. Kovar, M. Gleicher. Automated extraction and parameterization of motions in large
   data sets. SIGGRAPH 2004, section 4.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending import Blend, BlendPlayer, Registration
from motionloom.blending.blends import EASE
from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.motion import Motion, Skeleton
from motionloom.motion.feet.contacts import FootContacts
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.parallel import Progress
from motionloom.parametric.armature_reach import SAMPLES as ARMATURE_SAMPLES
from motionloom.parametric.armature_reach import ArmatureReach
from motionloom.parametric.parameter import Moment, Parameter
from motionloom.parametric.parameter_space import (
    CardinalBasis,
    ParameterSpace,
    checked_target,
    sampled_space,
)
from motionloom.parametric.parameter_text import as_parameters
from motionloom.parametric.parameter_text import parameter as named_parameter
from motionloom.parametric.parameters import APEX, joint_of
from motionloom.parametric.settings import ParametrizeSettings, SynthesisSettings
from motionloom.parametric.signals import away
from motionloom.parametric.weight_refinement import (
    SAMPLES,
    TOLERANCE,
    needed_examples,
    refined_weights,
)
from motionloom.search.query import Query
from motionloom.settings import takes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SynthesisResult:
    """Motion synthesized for a target, with the parameters it reaches.

    Attributes
    ----------
    motion : Motion
    target, reached : ndarray, shape (d,)
        The target and the parameters that the motion reaches.
    error : float
        Distance between `target` and `reached`, in the unit of the parameters.
    weights : ndarray, shape (N,)
    frames : tuple of (int or None)
        Frame of the motion at which each parameter is measured; None for a parameter that is not
        measured at a query frame.
    tolerance : float
        Largest `error` at which the target counts as reached.
    """

    motion: Motion
    target: Array
    reached: Array
    error: float
    weights: Array
    frames: tuple[int | None, ...]
    tolerance: float = TOLERANCE

    @property
    def within_tolerance(self) -> bool:
        """True if the target was reached; if False, it lies outside the parameter space."""
        return self.error <= self.tolerance


class _MeasuredBlends:
    """Blends of registered examples together with their measured parameters."""

    def __init__(
        self,
        registration: Registration,
        parameters: Sequence[Parameter],
        *,
        whole_frames: bool = True,
        lock_feet: bool = True,
    ) -> None:
        self.parameters = tuple(parameters)
        self._whole_frames, self._lock_feet = whole_frames, lock_feet
        self._points = [_curve_points(registration, each) for each in self.parameters]
        keys = sorted({points[0] for points in self._points if len(points) == 1})
        self.blend = Blend(registration, keys=keys if whole_frames else ())
        examples = [(example.text, example.source) for example in registration.examples]
        self._scores = {
            each: each.scores.of(examples) for each in self.parameters if each.scores is not None
        }

    def made(self, weights: ArrayLike, name: str) -> tuple[Motion, tuple[Moment | float, ...]]:
        """Return the blend with weights (N,), and when in the blend each parameter is measured."""
        motion = self.blend(weights, lock_feet=self._lock_feet, name=name).starting_at_origin()
        motion = motion.with_quality(self.blend.registration.quality)
        return motion, tuple(self._moment(points, weights) for points in self._points)

    def measured(
        self, weights: ArrayLike, motion: Motion, moments: tuple[Moment | float, ...]
    ) -> Array:
        """Measure the parameters (d,) of a blend."""
        pairs = zip(self.parameters, moments, strict=True)
        return np.concatenate(
            [
                np.asarray(weights) @ self._scores[each]
                if each in self._scores
                else _measured_at(each, motion, moment)
                for each, moment in pairs
            ]
        )

    def measure(self, weights: ArrayLike) -> Array:
        """Return the parameters (d,) of the blend with weights (N,)."""
        if len(self._scores) == len(self.parameters):  # no blend is needed
            return np.concatenate([np.asarray(weights) @ self._scores[p] for p in self.parameters])
        return self.measured(weights, *self.made(weights, "blend"))

    def _moment(self, points: tuple[float, ...], weights: ArrayLike) -> Moment | float:
        times = [self.blend.frame_at(point, weights) for point in points]
        if len(times) == 1 and not self._whole_frames:
            return float(times[0])
        frames = [round(time) for time in times]
        if len(frames) == 2:
            return slice(frames[0], frames[1] + 1)
        return frames[0] if frames else None


def _measured_frames(moments: tuple[Moment | float, ...]) -> tuple[int | None, ...]:
    return tuple(round(each) if isinstance(each, int | float) else None for each in moments)


def _measured_at(parameter: Parameter, motion: Motion, moment: Moment | float) -> Array:
    """Measure a parameter; between two frames, interpolate its values linearly."""
    if not isinstance(moment, float):
        return parameter(motion, moment)
    before = min(int(moment), len(motion) - 1)
    after = min(before + 1, len(motion) - 1)
    share = moment - before
    return (1.0 - share) * parameter(motion, before) + share * parameter(motion, after)


class ParametricMotion:
    """Family of motions controlled by parameters, as returned by `parametrize`.

    Parameters
    ----------
    registration : Registration
        Registration of N examples.
    parameters : sequence of Parameter
        Parameters with d values in total.
    space : ParameterSpace
    name : str
    whole_frames, lock_feet : bool
        See `motionloom.BlendRules`.
    """

    def __init__(
        self,
        registration: Registration,
        parameters: Sequence[Parameter],
        space: ParameterSpace,
        *,
        name: str = "",
        whole_frames: bool = True,
        lock_feet: bool = True,
    ) -> None:
        self.registration = registration
        self.parameters = tuple(parameters)
        self.space = space
        self.name = name
        self.whole_frames, self.lock_feet = whole_frames, lock_feet
        self._blends = _MeasuredBlends(
            registration, self.parameters, whole_frames=whole_frames, lock_feet=lock_feet
        )

    def __repr__(self) -> str:
        steered = ", ".join(parameter.text for parameter in self.parameters)
        return f"ParametricMotion({self.name!r}, {len(self.examples)} examples, by {steered})"

    @property
    def examples(self) -> tuple[str, ...]:
        """``NAME:START-END`` of each example."""
        return self.registration.names

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the d parameters."""
        return tuple(axis for parameter in self.parameters for axis in parameter.axes)

    @property
    def accessible(self) -> Array:
        """Parameters (S, d) reached while sampling; the examples come first."""
        return self.space.parameters

    @cached_property
    def cardinal(self) -> CardinalBasis:
        """Mapping from parameters to weights with cardinal basis functions."""
        return CardinalBasis.of(self.space.examples)

    @takes(SynthesisSettings)
    def __call__(
        self,
        target: ArrayLike,
        settings: SynthesisSettings | None = None,
        *,
        name: str | None = None,
        **options: Any,
    ) -> Motion:
        """Return the motion for a target; see `reach`."""
        return self.reach(target, settings, name=name, **options).motion

    @takes(SynthesisSettings)
    def reach(
        self,
        target: ArrayLike,
        settings: SynthesisSettings | None = None,
        *,
        name: str | None = None,
        **options: Any,
    ) -> SynthesisResult:
        """Return the motion for a target, and the distance between its parameters and the target.

        Parameters
        ----------
        target : array_like, shape (d,)
            Target parameters. A target out of reach is approached as closely as possible.
        settings : SynthesisSettings, optional
        name : str, optional
            Name of the motion.
        """
        given = SynthesisSettings.given(settings, options)
        wanted = checked_target(target, len(self.axes))
        if given.scheme == "cardinal":
            weights = self.cardinal.weights_for(wanted)
        elif given.refine:
            weights = self._refined(wanted, given.tolerance)
        else:
            weights = self.space.weights_for(wanted)
        title = name if name is not None else self.name or "blend"
        motion, moments = self._blends.made(weights, title)
        reached = self._blends.measured(weights, motion, moments)
        error = float(np.linalg.norm(reached - wanted))
        frames = _measured_frames(moments)
        return SynthesisResult(motion, wanted, reached, error, weights, frames, given.tolerance)

    def on(
        self,
        skeleton: Skeleton,
        *,
        samples: int = ARMATURE_SAMPLES,
        progress: Progress | None = None,
    ) -> ArmatureReach:
        """Return the reachable region on another skeleton, where the motion can then be aimed.

        The motion must have the position of one joint as its parameter, such as ``right_ankle@33``.

        Parameters
        ----------
        skeleton : Skeleton
        samples : int
            Maximum number of samples to retarget; examples are always retargeted.
        progress : callable, optional
            Called with the number of new samples since the last call.

        Raises
        ------
        InvalidInput
            If the motion has other parameters, or the skeleton lacks the joint.

        Examples
        --------
        >>> import motionloom as ml
        >>> from motionloom.blending import register
        >>> sides = ("front_mid", "front_high", "outside_mid")
        >>> kicks = register([ml.demo.clip(f"kick_{side}_right") for side in sides])
        >>> kick = parametrize(kicks, "right_ankle@33", ParametrizeSettings(samples=20))
        >>> child = kick.on(kick.registration.skeleton.scaled(0.7))
        >>> aimed = child.reach(child.accessible[5])
        >>> child.joint, aimed.error < 0.01
        ('RightFoot', True)
        """
        return ArmatureReach(self, skeleton, samples=samples, progress=progress)

    def player(
        self,
        target: ArrayLike,
        *,
        ease: float = EASE,
        lock_feet: bool = True,
        place: ArrayLike | None = None,
    ) -> ParametricPlayer:
        """Return a player that generates frames for a target, which may change between frames.

        Parameters
        ----------
        target : array_like, shape (d,)
        ease, lock_feet, place
            As in `motionloom.blending.BlendPlayer`; the default place is the origin, facing +Z.

        Examples
        --------
        >>> import motionloom as ml
        >>> from motionloom.blending import register
        >>> sides = ("front_mid", "front_high", "outside_mid")
        >>> kicks = register([ml.demo.clip(f"kick_{side}_right") for side in sides])
        >>> kick = parametrize(kicks, "right_ankle@33", ParametrizeSettings(samples=20))
        >>> player = kick.player(kick.accessible[0])
        >>> for number, pose in enumerate(player.frames()):
        ...     if number == 10:
        ...         player.steer(target=kick.accessible[1])
        >>> number > 60
        True
        """
        return ParametricPlayer(self, target, ease=ease, lock_feet=lock_feet, place=place)

    def weights_for(self, target: ArrayLike, *, tolerance: float = TOLERANCE) -> Array:
        """Return refined weights (N,) for a target (d,)."""
        wanted = checked_target(target, len(self.axes))
        return self._refined(wanted, tolerance)

    def blend(self, weights: ArrayLike, *, name: str | None = None) -> Motion:
        """Return the motion with the given blend weights (N,)."""
        return self._blends.made(weights, name or self.name or "blend")[0]

    def measured_blend(self, weights: ArrayLike) -> tuple[Motion, tuple[int | None, ...]]:
        """Return the blend with weights (N,), and `SynthesisResult.frames` of it."""
        motion, moments = self._blends.made(weights, self.name or "blend")
        return motion, _measured_frames(moments)

    def contacts(self, weights: ArrayLike) -> FootContacts:
        """Return the foot contacts of the blend with the given weights (N,)."""
        return self._blends.blend.contacts(weights)

    def measure(self, weights: ArrayLike) -> Array:
        """Measure the parameters (d,) of the blend with the given weights (N,)."""
        return self._blends.measure(weights)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, the examples and the reachable range as plain data."""
        accessible = self.accessible
        return {
            "name": self.name,
            "by": [parameter.text for parameter in self.parameters],
            "axes": list(self.axes),
            "examples": [
                {"example": text, "parameters": values.tolist()}
                for text, values in zip(self.examples, self.space.examples, strict=True)
            ],
            "left_out": list(self.registration.left_out),
            "unclear": list(self.registration.unclear),
            "samples": len(accessible),
            "tried": self.space.tried,
            "shortfall": self.space.shortfall,
            "delta": self.space.delta,
            "low": accessible.min(axis=0).tolist(),
            "high": accessible.max(axis=0).tolist(),
        }

    def save_description(self, path: str | Path) -> None:
        """Write the result of `to_dict` to a JSON file."""
        with atomic_write(path) as scratch:
            scratch.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    def _refined(self, target: Array, tolerance: float) -> Array:
        around = self.space.around(target, samples=SAMPLES)
        return refined_weights(around, target, self.measure, tolerance=tolerance).weights


class ParametricPlayer(BlendPlayer):
    """Player that plays a parametric motion once; its target may change during playback.

    The player starts at the origin and faces +Z, like every blend.
    """

    controls = ("target",)

    def __init__(
        self,
        motion: ParametricMotion,
        target: ArrayLike,
        *,
        ease: float = EASE,
        lock_feet: bool = True,
        place: ArrayLike | None = None,
    ) -> None:
        self._parametric = motion
        weights = motion.weights_for(target)
        if place is None:
            start = motion.registration.placed(0)[:1]
            there = PlanarTransform.from_array(motion.registration.curve.transforms[0, 0])
            place = (PlanarTransform.to_origin(start) @ there).to_array()
        super().__init__(motion.registration, weights, ease=ease, lock_feet=lock_feet, place=place)

    def _steer(self, **controls: Any) -> None:
        super()._steer(weights=self._parametric.weights_for(controls["target"]))


def parametrize(
    registration: Registration,
    by: Any,
    settings: ParametrizeSettings | None = None,
    *,
    name: str = "",
    progress: Progress | None = None,
) -> ParametricMotion:
    """Learn a parametric motion from registered examples.

    Parameters
    ----------
    registration : Registration
        Registered examples, as returned by `motionloom.blending.register`.
    by : Parameter, str, callable, mapping, or several
        The parameters that control the motion; see `motionloom.Library.parametrize`.
    settings : ParametrizeSettings, optional
        Default: ``ParametrizeSettings()``.
    name : str
    progress : callable, optional
        Called with the number of new samples since the last call.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.blending import register
    >>> sides = ("front_mid", "front_high", "inside_mid", "outside_mid")
    >>> kicks = [ml.demo.clip(f"kick_{side}_right") for side in sides]
    >>> apex = int(kicks[0].role_positions(["right_ankle"])[:, 0, 1].argmax())
    >>> kick = parametrize(register(kicks), f"right_ankle@{apex}", ParametrizeSettings(samples=40))
    >>> kick.reach(kick.accessible[20]).error < 0.01
    True
    """
    settings = settings or ParametrizeSettings()
    parameters = tuple(
        _at_apex(each, registration) for each in as_parameters(by, registration.placed(0))
    )
    query = registration.examples[0]
    for parameter in parameters:
        _check_frames(parameter, query.start_frame, query.end_frame, query.text)
    chosen = settings.blends
    rules = {"whole_frames": chosen.whole_frames, "lock_feet": chosen.lock_feet}
    if chosen.whole_frames:
        points = [_curve_points(registration, parameter) for parameter in parameters]
        registration = registration.keyed([point[0] for point in points if len(point) == 1])
    blends = _MeasuredBlends(registration, parameters, **rules)
    values = np.array([blends.measure(row) for row in np.eye(len(registration))])
    redundant = settings.examples.redundant
    if redundant is not None:
        kept = needed_examples(
            values, blends.measure, redundant, rule=settings.examples.redundant_by
        )
        if len(kept) < len(registration):
            registration, values = registration.only(kept), values[kept]
            blends = _MeasuredBlends(registration, parameters, **rules)
    scored = all(parameter.scores is not None for parameter in parameters)
    space = sampled_space(
        values, blends.measure, samples=0 if scored else settings.samples, delta=settings.delta,
        spacing=settings.spacing, sampling=settings.sampling, counted=chosen.counted,
        seed=settings.seed, progress=progress,
    )  # fmt: skip
    if scored and settings.samples:
        why = "0 samples: scores are interpolated directly from the examples"
        space = replace(space, shortfall=why)
    return ParametricMotion(registration, parameters, space, name=name, **rules)


def _at_apex(parameter: Parameter, registration: Registration) -> Parameter:
    """Return a parameter with the query frame of the apex, if it is measured ``@apex``.

    Each example votes with the query frame that corresponds to its own apex; the median wins, so a
    query that was cropped early or late does not matter.
    """
    head, _, moment = parameter.text.rpartition("@")
    if moment != APEX:
        return parameter
    joint = joint_of(parameter.text)
    votes = []
    for example, times in zip(registration.examples, registration.curve.times.T, strict=True):
        rows = np.rint(times).astype(int).clip(0, len(example.motion) - 1)
        votes.append(int(away(example.motion, joint)[rows].argmax()))
    query = registration.examples[0]
    frame = query.start_frame + round(float(np.median(votes)) / _points_per_frame(registration))
    return named_parameter(f"{head}@{frame}")


def _curve_points(registration: Registration, parameter: Parameter) -> tuple[float, ...]:
    """Return the points (at most two) of the curve at which a parameter is measured."""
    scale = _points_per_frame(registration)
    start = registration.examples[0].start_frame
    return tuple((frame - start) * scale for frame in _frames(parameter))


def _points_per_frame(registration: Registration) -> float:
    """Points of the curve per stored frame of the query, which may be at another rate."""
    query = registration.examples[0]
    return (len(query) - 1) / max(query.end_frame - 1 - query.start_frame, 1)


def _frames(parameter: Parameter) -> tuple[int, ...]:
    """Return the query frame of a parameter, or the first and last frame of its interval."""
    if parameter.interval is not None:
        return parameter.interval[0], parameter.interval[1] - 1
    return () if parameter.frame is None else (parameter.frame,)


def check_parameters(by: Any, query: Query) -> None:
    """Raise an error if a parameter cannot be measured on the query.

    A wrong name, joint or frame is then reported before the slow search for similar motions.

    Parameters
    ----------
    by : Parameter, str, callable, mapping, or several
        The parameters; see `motionloom.Library.parametrize`.
    query : Query
    """
    clip = query.clip.starting_at_origin()
    for parameter in as_parameters(by, clip):
        _check_frames(parameter, query.start_frame, query.end_frame, query.text)
        if parameter.scores is None:
            frames = [frame - query.start_frame for frame in _frames(parameter)]
            moment = slice(frames[0], frames[1] + 1) if len(frames) == 2 else (*frames, None)[0]
            parameter(clip, moment)


def _check_frames(parameter: Parameter, start: int, end: int, query: str) -> None:
    for frame in _frames(parameter):
        if not start <= frame < end:
            raise InvalidInput(
                f"{parameter.text} must be measured at a frame of the query {query}; "
                f"got frame {frame}"
            )
