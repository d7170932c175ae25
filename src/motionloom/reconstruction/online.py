"""Online reconstruction, which solves each frame from past frames only.

In place of the smoothed motion of offline mode, the last pose is extrapolated with its velocity.
The extrapolated pose predicts the next pose, the heading, and missing markers. A foot whose ankle
does not move counts as in contact, and its ball is held in place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.planar_transform import floor_complex
from motionloom.parallel import Progress
from motionloom.reconstruction.control_signal import ControlSignal
from motionloom.reconstruction.heading import body_rows
from motionloom.reconstruction.local_model import expected_error
from motionloom.reconstruction.offline import (
    FOOT_SPREAD,
    FREE,
    GUESSED_HEADING,
    MARKER_SPREAD,
    OUR_RULES,
    SolvedSequence,
)
from motionloom.reconstruction.pose_solver import Body, Expectation, map_pose
from motionloom.reconstruction.prior import Prior
from motionloom.reconstruction.settings import ReconstructionRules

Array = NDArray[np.float64]

_HEADING_SECONDS = 0.2  # time constant of the running mean of headings, in seconds
_SMOOTH_SPREAD = 0.1  # radians; standard deviation from the extrapolated pose, at 30 fps
# A foot is in contact if its ankle is slower than `_STILL` (m/s) and at most `_LOW` (meters) above
# its lowest position.
_STILL = 0.12
_LOW = 0.05


def solve_frames(
    stream: Stream, signal: ControlSignal, *, progress: Progress | None = None
) -> SolvedSequence:
    """Solve every frame of a sequence from the frames before it.

    Frames before the first marker appears have the first solved pose.
    """
    first = int(np.argmax(np.isfinite(signal.points[..., 0]).any(axis=1)))
    frames = []
    for points in signal.points[first:]:
        rotations, root, _ = stream.step(points)
        frames.append((rotations, root, stream.expected_error))
        if progress is not None:
            progress(1 if len(frames) > 1 else first + 1)
    solved = [np.array(part) for part in zip(*(first * frames[:1] + frames), strict=True)]
    return SolvedSequence(*solved)


class Stream:
    """Reconstruction of a body from markers, frame by frame.

    Parameters
    ----------
    prior : Prior
        Prior with the performer's skeleton.
    roles : tuple of str, length M
        Roles of the markers; the hips come first if they are tracked.
    fps : float
        Frame rate of the markers.
    rules : ReconstructionRules
        Rules that are not in the papers.

    Attributes
    ----------
    expected_error : float
        Expected error of the joints without markers in the last frame, in meters.
    """

    def __init__(
        self,
        prior: Prior,
        roles: tuple[str, ...],
        fps: float,
        *,
        rules: ReconstructionRules = OUR_RULES,
    ) -> None:
        self._prior, self._fps, self._rules = prior, fps, rules
        self._has_hips = "hips" in roles
        self._searched = [roles.index(role) for role in prior.searched]
        framed = (["hips"] if prior.frame.has_hips else []) + list(prior.searched)
        self._framed = [roles.index(role) for role in framed]
        skeleton = prior.skeleton
        self._markers = skeleton.points(roles)
        feet = [f"{side}_foot" for side in SIDES]
        ankles = [f"{side}_ankle" for side in SIDES]
        self._feet = (
            [roles.index(a) for a in ankles]
            if rules.hold_feet
            and all(r in skeleton.roles for r in feet)
            and all(a in roles for a in ankles)
            else []
        )
        self._balls = skeleton.points(feet) if self._feet else np.zeros(0, np.intp)
        points = np.concatenate([self._markers, self._balls])
        limits = prior.limits() if rules.joint_limits else prior.no_limits()
        self._body = Body.of(skeleton, prior.joints, points, limits)
        self._lowest = np.full(len(self._feet), np.inf)
        self._last: _State | None = None
        self.expected_error = np.inf

    @property
    def skeleton(self) -> Skeleton:
        """Skeleton of the performer."""
        return self._prior.skeleton

    def step(self, points: Array) -> tuple[Array, Array, float]:
        """Solve the pose of one frame.

        Parameters
        ----------
        points : ndarray, shape (M, 3)
            Positions in meters; NaN if a marker is missing.

        Returns
        -------
        rotations : ndarray, shape (J, 4)
            Local rotations ``wxyz``.
        root : ndarray, shape (3,)
        distance : float
            Median distance to the neighbors in the library, in meters.

        Raises
        ------
        InvalidInput
            If the shape is wrong, or no marker is present in the first frame.
        """
        last = self._last
        points = np.asarray(points, np.float64)
        if points.shape != (len(self._markers), 3):
            raise InvalidInput(
                f"points must have shape ({len(self._markers)}, 3), one row per marker; got "
                f"{points.shape}"
            )
        seen = np.asarray(np.isfinite(points).all(axis=1))
        if last is None:
            if not seen.any():
                raise InvalidInput(
                    "the first frame must have at least one visible marker; it has none"
                )
            filled = np.where(seen[:, None], points, points[seen].mean(axis=0))
        else:
            carried = last.markers + self._rules.damping * last.drift
            off = (points - carried)[seen].mean(axis=0) if seen.any() else np.zeros(3)
            filled = np.where(seen[:, None], points, carried + off)
        hips, facing, heading_spread = self._facing(filled)
        rows = body_rows(filled[None, self._searched], hips, facing)
        radius = np.inf
        if last is not None:
            # By the triangle inequality, the k-th neighbor is not farther away than this.
            radius = last.radius + self._prior.row_distance(rows[0], last.rows) + 1e-6
        near, gaps = self._prior.near_markers(rows, radius=radius)
        model, pose = self._prior.model(near[0], gaps[0], near_weights=self._rules.near_weights)
        goals, spreads = self._goals(points, seen, filled)
        if last is None:
            start = filled[0] if self._has_hips else filled.mean(axis=0)
            toward = Expectation(model.mean, np.inf, start, FREE)
        else:
            toward = self._ahead(last)
        solved = map_pose(
            self._body, model, float(np.angle(facing[0])), goals, spreads, toward,
            heading_variance=heading_spread**2, slacks=self._rules.slacks,
        )  # fmt: skip
        pose[self._prior.joints] = solved.turns
        self.expected_error = expected_error(gaps[0], model, solved.turns)
        self._remember(pose, solved.root, facing, rows[0], float(gaps[0, -1]))
        return pose, solved.root, float(np.median(gaps[0]))

    def _facing(self, filled: Array):
        hips, facing = self._prior.frame(filled[None, self._framed])
        if self._last is None:
            return hips, facing, GUESSED_HEADING
        if not self._has_hips:
            hips = floor_complex(self._last.hips[None])
        share = min(1.0, 1.0 / (_HEADING_SECONDS * self._fps))
        mean = (1.0 - share) * self._last.facing + share * facing[0]
        return hips, np.array([mean / max(abs(mean), 1e-9)]), GUESSED_HEADING

    def _goals(self, points: Array, seen: NDArray[np.bool_], filled: Array):
        count = len(points)
        goals = np.zeros((count + len(self._balls), 3))
        spreads = np.full(len(goals), np.inf)
        goals[:count][seen] = points[seen]
        spreads[:count][seen] = MARKER_SPREAD**2
        for f, ankle in enumerate(self._feet):
            height = filled[ankle, 1]
            self._lowest[f] = min(self._lowest[f], height)
            if self._last is None:
                continue
            speed = np.linalg.norm(filled[ankle] - self._last.markers[ankle]) * self._fps
            if speed < _STILL and height < self._lowest[f] + _LOW:
                goals[count + f] = self._last.balls[f]
                spreads[count + f] = FOOT_SPREAD**2
        return goals, spreads

    def _ahead(self, last: _State) -> Expectation:
        joints = self._prior.joints
        share = self._rules.damping
        on = rot.multiply(last.pose[joints], rot.exp(share * last.turning[joints]))
        spread = _SMOOTH_SPREAD * np.sqrt(30.0 / self._fps)
        return Expectation(rot.normalize(on), spread**2, last.root + share * last.moving, FREE)

    def _remember(self, pose, root, facing, rows, radius) -> None:
        motion = Motion(self.skeleton, pose[None], root[None], self._fps)
        places = motion.positions(end_sites=True)[0].astype(np.float64)
        last = self._last
        turn = np.exp(1j * motion.headings()[0])
        share = min(1.0, 3.0 / (_HEADING_SECONDS * self._fps))
        mean = turn if last is None else (1.0 - share) * facing[0] + share * turn
        self._last = _State(
            pose=pose,
            turning=np.zeros((len(pose), 3))
            if last is None
            else rot.log(rot.multiply(rot.inverse(last.pose), pose)),
            root=root,
            moving=np.zeros(3) if last is None else root - last.root,
            markers=places[self._markers],
            drift=np.zeros((len(self._markers), 3))
            if last is None
            else places[self._markers] - last.markers,
            balls=places[self._balls],
            hips=places[self.skeleton.point("hips")],
            facing=mean / max(abs(mean), 1e-9),
            rows=rows,
            radius=radius,
        )


@dataclass(frozen=True)
class _State:
    """State after a frame: the pose and its velocity, and the marker positions and velocities."""

    pose: Array
    turning: Array
    root: Array
    moving: Array
    markers: Array
    drift: Array
    balls: Array
    hips: Array
    facing: complex
    rows: Array
    radius: float
