"""Parametric motions on other bodies: the positions that a joint reaches there, and how to aim it.

A kick that reaches a point on the performer reaches another point on a character with longer legs,
and retargeting is not linear, so the region of the examples cannot simply be scaled. The samples of
the parametric motion are therefore retargeted, and the position of the joint in each of them is a
sample of the region on the character. A target is then approached exactly as on the performer, by
refining the weights of the samples around it, except that every blend is retargeted before it is
measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.parallel import Progress
from motionloom.parametric.parameter_space import ParameterSpace, checked_target
from motionloom.parametric.weight_refinement import SAMPLES as AROUND
from motionloom.parametric.weight_refinement import refined_weights

if TYPE_CHECKING:
    from motionloom.parametric.parametric_motion import ParametricMotion

SAMPLES = 300  # retargeted blends; each takes about 20 ms
TOLERANCE = 0.002  # meters; a smaller error is not visible


@dataclass(frozen=True, eq=False)
class AimedMotion:
    """A parametric motion on a skeleton, aimed at a target.

    Attributes
    ----------
    motion : Motion
        It starts at the origin and faces the way the rest pose of the skeleton does.
    reached : ndarray, shape (3,)
        Position of the joint at `frame`.
    error : float
        Distance between the target and `reached`, in meters.
    frame : int
    """

    motion: Motion
    reached: NDArray[np.float64]
    error: float
    frame: int


class ArmatureReach:
    """The reachable region of a parametric motion on another skeleton.

    Made by `ParametricMotion.on`.

    Attributes
    ----------
    joint : str
        Joint of the skeleton that is aimed.
    """

    def __init__(
        self,
        motion: ParametricMotion,
        skeleton: Skeleton,
        *,
        samples: int = SAMPLES,
        progress: Progress | None = None,
    ) -> None:
        self._motion, self._skeleton = motion, skeleton
        self._role = aimed_role(motion, skeleton)
        self.joint = skeleton.roles[self._role]
        space = motion.space
        some = min(len(space), max(samples, len(space.examples)))
        reached = np.empty((some, 3))
        for sample, weights in enumerate(space.dense(np.arange(some))):
            reached[sample] = self._placed(weights)[1]
            if progress is not None:
                progress(1)
        self._space = ParameterSpace(
            reached[: len(space.examples)],
            reached,
            space.members[:some],
            space.weights[:some],
            space.delta,
            space.tried,
            space.shortfall,
        )

    @property
    def accessible(self) -> NDArray[np.float64]:
        """Sampled positions (S, 3) that the joint reaches, in meters.

        They are relative to the origin, where the motion starts, facing the way the rest pose of
        the skeleton does.
        """
        return self._space.parameters

    def reach(self, target: ArrayLike) -> AimedMotion:
        """Return the motion whose joint reaches a target (3,), or the nearest position to it."""
        wanted = checked_target(target, 3)
        around = self._space.around(wanted, samples=AROUND)
        weights = refined_weights(
            around, wanted, lambda some: self._placed(some)[1], tolerance=TOLERANCE
        ).weights
        moved, reached, frame = self._placed(weights)
        return AimedMotion(moved, reached, float(np.linalg.norm(reached - wanted)), frame)

    def _placed(self, weights: NDArray[np.float64]) -> tuple[Motion, NDArray[np.float64], int]:
        """Return the retargeted blend, the position of its joint, and the frame of the position."""
        blend, (frame,) = self._motion.measured_blend(weights)
        moved = facing_as_rest(blend.retarget(self._skeleton))
        assert frame is not None
        reached = moved[frame : frame + 1].role_positions([self._role])[0, 0]
        return moved, np.asarray(reached, np.float64), frame


def aimed_role(motion: ParametricMotion, skeleton: Skeleton) -> str:
    """Return the role of the joint whose position is the only parameter of a motion."""
    measured = [parameter.text for parameter in motion.parameters]
    role = measured[0].partition("@")[0]
    middle = np.full(len(motion.examples), 1.0 / len(motion.examples))
    if (
        len(measured) != 1
        or role not in skeleton.roles
        or motion.measured_blend(middle)[1] == (None,)
    ):
        raise InvalidInput(
            f"{motion.name} cannot be aimed, because it is parametrized by {', '.join(measured)}; "
            f"aim needs the position of one joint that the armature has, such as right_ankle@33"
        )
    return role


def facing_as_rest(moved: Motion) -> Motion:
    """Move a motion so that it starts at the origin and faces the way the rest pose does."""
    heading = PlanarTransform(0.0, 0.0, float(moved.rest_pose().headings()[0]))
    return (heading @ PlanarTransform.to_origin(moved)).apply_to_motion(moved)


def on_whole_frame(moved: Motion, frame: int, fps: float) -> tuple[Motion, int]:
    """Resample a motion so that a frame of it is also a frame of the result; return both.

    A kick reaches its target in a single frame, and the frames around it may be centimeters away.
    The motion is played up to a few percent faster or slower, so that no frame is cut off.
    """
    exact = frame * fps / moved.fps
    nearest = round(exact)
    if frame == 0 or nearest == 0:
        return moved.resample(fps), nearest
    return replace(moved, fps=moved.fps * exact / nearest).resample(fps), nearest
