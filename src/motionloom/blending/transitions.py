"""Transitions from one motion into another over a window of frames.

The windows are aligned by the planar transform that brings their point clouds closest. The blend
weight eases from the first motion to the second, and rotations follow the great arc between them.

The feet determine the path of the root. A foot that is in contact in both windows should stay in
place. It therefore has the highest weight in the alignment, and root positions are blended. If no
foot is in contact in both windows, blended positions would drag the body from one path to the
other. In that case velocities are blended, and the second motion continues from the resulting
position.

With ``root_path="differences"``, motions are not aligned, as in Kravcevich (2014, section 4.6). The
blended frame-to-frame differences of the root continue the path of the first motion, and rotations
go from the heading of the first motion to that of the second. The dissertation does not say what
happens to heights. They are blended, because differences would slowly lift the body off the floor.

Transitions are plain arrays in the coordinates of the first motion. They are computed once,
stored, and transformed as a whole each time they are played.

References
----------
.. [1] L. Kovar, M. Gleicher, F. Pighin. Motion graphs. SIGGRAPH 2002, section 3.2.
.. [2] A. Kravcevich. Motion synthesis using relative joint distances. 2014, section 4.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.poses import slerp_poses
from motionloom.errors import InvalidInput
from motionloom.motion import Skeleton
from motionloom.motion.feet.contacts import FOOT_PARTS, FOOT_ROLES
from motionloom.motion.kinematics.forward import joint_positions
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion.smoothing import smooth_step

RootPath = Literal["aligned", "differences"]

_HELD = 20.0  # weight of a foot part in contact in both windows; a joint has weight 1


class Window(NamedTuple):
    """Consecutive frames of a motion.

    Attributes
    ----------
    rotations : ndarray of float32, shape (k, J, 4)
    root : ndarray of float32, shape (k, 3)
    contacts : ndarray of bool, shape (k, 4), or None
        Foot contacts, if known, in the order of `motionloom.motion.feet.contacts.FOOT_PARTS`.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.blending import Window
    >>> walk = ml.demo.clip("walk")
    >>> Window(walk.rotations[:5], walk.root[:5]).contacts is None
    True
    """

    rotations: NDArray[np.float32]
    root: NDArray[np.float32]
    contacts: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class Transition:
    """The frames of a transition, and the transform of the second motion after it.

    Attributes
    ----------
    rotations : ndarray of float32, shape (k, J, 4)
    root : ndarray of float32, shape (k, 3)
        Root positions in the coordinates of the first motion.
    contacts : ndarray of bool, shape (k, 4)
        Contacts of the first motion up to the seam, and of the second motion after it.
    shares : ndarray, shape (k,)
        Weight of the second motion in each frame; the last is 1.
    transform : PlanarTransform
        Transform of the second motion after the transition.

    Examples
    --------
    >>> from motionloom.blending import Window, transition
    >>> walk = ml.demo.clip("walk")
    >>> late, early = (Window(m.rotations, m.root) for m in (walk[40:50], walk[6:16]))
    >>> crossing = transition(walk.skeleton, late, early)
    >>> crossing.rotations.shape, crossing.transform.to_array().shape
    ((10, 21, 4), (3,))
    """

    rotations: NDArray[np.float32]
    root: NDArray[np.float32]
    contacts: NDArray[np.bool_]
    shares: NDArray[np.float64]
    transform: PlanarTransform

    def __len__(self) -> int:
        return len(self.shares)

    @property
    def seam(self) -> int:
        """First frame in which the second motion has more weight than the first."""
        return int(np.argmax(self.shares >= 0.5))


def transition(
    skeleton: Skeleton, a: Window, b: Window, *, root_path: RootPath = "aligned"
) -> Transition:
    """Return frames that lead from motion `a` into motion `b`.

    Parameters
    ----------
    skeleton : Skeleton
        Skeleton of both motions, with J joints.
    a, b : Window
        The frames to blend. Both windows must have the same length.
    root_path : {"aligned", "differences"}
        Align `b` with `a` and blend their paths, or keep both headings and blend the differences
        between consecutive root positions.

    Returns
    -------
    transition : Transition
        A transition of the same length. Its last frame is the transformed last frame of `b`.

    Raises
    ------
    InvalidInput
        If the windows differ in length or are empty.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> late, early = walk[40:50], walk[6:16]
    >>> crossing = transition(
    ...     walk.skeleton, Window(late.rotations, late.root), Window(early.rotations, early.root)
    ... )
    >>> len(crossing), crossing.seam, float(crossing.shares[-1])
    (10, 4, 1.0)
    """
    frames = len(a.rotations)
    if frames < 1 or len(b.rotations) != frames:
        raise InvalidInput(
            f"both windows must have the same length and at least one frame; got {frames} and "
            f"{len(b.rotations)} frames"
        )
    both = _standing(a, frames) & _standing(b, frames)
    shares = ease_weights(frames)
    if root_path == "differences":
        turned, path, transform = b.rotations, b.root, PlanarTransform(0.0, 0.0, 0.0)
        steps = shares[1:]
    else:
        transform = aligning_transform(skeleton, a, b)
        turned, path = transform.apply_to_poses(b.rotations, b.root)
        steps = 0.5 * (shares[1:] + shares[:-1])
    root = a.root + shares[:, None] * (path.astype(np.float64) - a.root)
    if root_path == "differences" or not both.any():
        transform, root = _by_velocities(a.root.astype(np.float64), path, root, steps, transform)
    contacts = np.where(shares[:, None] < 0.5, _standing(a, frames), _standing(b, frames))
    return Transition(
        slerp_poses(np.ascontiguousarray(a.rotations), turned, shares),
        root.astype(np.float32),
        contacts,
        shares,
        transform,
    )


def aligning_transform(skeleton: Skeleton, a: Window, b: Window) -> PlanarTransform:
    """Return the planar transform that best aligns window `b` with `a`.

    All joints have the same weight, except for foot parts that are in contact in both windows,
    which have a much higher weight.
    """
    places = [
        joint_positions(w.rotations, w.root, skeleton.parents, skeleton.offsets) for w in (a, b)
    ]
    frames, joints = places[0].shape[:2]
    weights = np.ones((frames, joints))
    both = _standing(a, frames) & _standing(b, frames)
    for k, joint in enumerate(_foot_joints(skeleton) if both.any() else ()):
        if joint < joints:
            weights[both[:, k], joint] = _HELD
    clouds = [place.reshape(-1, 3) for place in places]
    return PlanarTransform.aligning(clouds[0], clouds[1], weights.ravel())


def ease_weights(frames: int) -> NDArray[np.float64]:
    """Return weights (frames,) of the second motion that rise smoothly to 1 in the last frame.

    Examples
    --------
    >>> ease_weights(4)
    array([0.15625, 0.5    , 0.84375, 1.     ])
    """
    x = np.arange(1, frames + 1) / frames
    return smooth_step(x)


def _by_velocities(first, second, mixed, shares, transform):
    """Return a root path (k, 3) with blended velocities and the transform that follows it.

    `shares` (k - 1,) are the weights of the second path. Heights are taken from `mixed`.
    """
    share = shares[:, None]
    steps = (1.0 - share) * np.diff(first, axis=0) + share * np.diff(second, axis=0)
    root = first[0] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    root[:, 1] = mixed[:, 1]
    on = root[-1] - second[-1]
    return PlanarTransform(on[0], on[2], 0.0) @ transform, root


def _standing(window: Window, frames: int) -> NDArray[np.bool_]:
    if window.contacts is None:
        return np.zeros((frames, len(FOOT_PARTS)), bool)
    return np.asarray(window.contacts, bool)


def _foot_joints(skeleton: Skeleton) -> list[int]:
    """Return the skeleton points of the foot parts, in the order of `FOOT_PARTS`."""
    return [int(point) for point in skeleton.points(list(FOOT_ROLES.values()))]
