"""Offline reconstruction, which solves a whole sequence at once.

There are two passes. The first pass solves several frames per second independently, along the most
likely path of headings. Its result is smoothed over time and provides headings, foot contacts and
expected poses. The second pass searches again with these headings and biases the solution toward
the expected poses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.feet.contacts import SIDES, foot_contacts
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.planar_transform import floor_complex
from motionloom.motion.smoothing import gaussian_smooth
from motionloom.parallel import Progress
from motionloom.reconstruction.control_signal import ControlSignal
from motionloom.reconstruction.heading import (
    HeadingPath,
    body_rows,
    heading_costs,
    smooth_headings,
)
from motionloom.reconstruction.local_model import expected_error
from motionloom.reconstruction.pose_solver import Body, Expectation, map_pose
from motionloom.reconstruction.prior import Prior
from motionloom.reconstruction.settings import ReconstructionRules

Array = NDArray[np.float64]

MARKER_SPREAD = 0.001  # meters; standard deviation of optical tracking
GUESSED_HEADING = np.radians(10.0)  # standard deviation of a heading estimated from markers only
FOUND_HEADING = np.radians(5.0)  # standard deviation of a smoothed heading estimated from poses
FREE = 1.0  # meters; standard deviation of a root that follows the markers

_FIRST_RATE = 15.0  # frames per second in the first pass
_HEADING_SECONDS = 0.25  # standard deviation of heading smoothing; chosen on 20 CMU takes
_POSE_SECONDS = 0.13  # standard deviation of pose smoothing; chosen on CMU takes 86_01 and 13_17
_SMOOTH_SPREAD = 0.06  # radians; standard deviation from the smoothed motion
_BRIDGED_SPREAD = 0.004  # meters; error of a spline over a short gap
FOOT_SPREAD = 0.01  # meters; standard deviation of a foot in contact


@dataclass(frozen=True)
class SolvedSequence:
    """Solved rotations (T, J, 4), root positions (T, 3) and expected errors (T,) in meters."""

    rotations: Array
    root: Array
    errors: Array


OUR_RULES = ReconstructionRules()


def solve_sequence(
    prior: Prior,
    signal: ControlSignal,
    *,
    rules: ReconstructionRules = OUR_RULES,
    progress: Progress | None = None,
) -> SolvedSequence:
    """Solve the poses for all frames of a control signal."""
    filled = signal.filled()
    # Filled short gaps are accurate to a few millimeters, almost like observations.
    short = signal.short_gaps
    observed = np.where(short[..., None], filled, signal.points)
    spreads = np.where(np.isfinite(signal.points[..., 0]), MARKER_SPREAD, np.inf)
    spreads[short] = _BRIDGED_SPREAD
    points = prior.skeleton.points([*signal.roles, *_feet(prior)])
    limits = prior.limits() if rules.joint_limits else prior.no_limits()
    body = Body.of(prior.skeleton, prior.joints, points, limits)
    searched = [signal.roles.index(role) for role in prior.searched]
    framed = (["hips"] if prior.frame.has_hips else []) + list(prior.searched)
    guide = filled[:, [signal.roles.index(role) for role in framed]]
    hips, guess = prior.frame(guide)
    step = max(1, round(signal.fps / _FIRST_RATE)) if rules.two_passes else 1
    some = np.arange(0, len(filled), step)
    if progress is not None:
        progress = _frames_of(progress, len(filled), len(some) + rules.two_passes * len(filled))
    facing = guess[some]
    if rules.heading_path:
        path = HeadingPath(signal.fps / step)
        for costs in heading_costs(prior, filled[some][:, searched], hips[some], facing):
            path.advance(costs)
        facing = path.best()
    facing = smooth_headings(facing, _HEADING_SECONDS * signal.fps / step)
    rows, gaps = prior.near_markers(body_rows(filled[some][:, searched], hips[some], facing))
    first = _pass(
        prior, body, observed[some], spreads[some], filled[some], rows, gaps, facing,
        GUESSED_HEADING, None, None, rules, progress,
    )  # fmt: skip
    if not rules.two_passes:
        return first
    rough, facing = _between(prior, first, some, signal, upright=rules.upright_smoothing)

    if "hips" not in signal.roles:
        place = rough.role_positions(["hips"])[:, 0].astype(np.float64)
        hips = floor_complex(place)
    completed = np.where(np.isfinite(observed), observed, _seen(rough, signal))
    if prior.by_pose is not None:
        rows, gaps = prior.near_poses(rough)
    else:
        rows, gaps = prior.near_markers(body_rows(completed[:, searched], hips, facing))
    return _pass(
        prior, body, observed, spreads, completed, rows, gaps, facing,
        FOUND_HEADING, rough, _standing(rough, prior) if rules.hold_feet else None, rules, progress,
    )  # fmt: skip


def _pass(
    prior,
    body,
    seen,
    marker_spreads,
    filled,
    rows,
    gaps,
    facing,
    heading_spread,
    rough,
    feet,
    rules,
    progress,
) -> SolvedSequence:
    """Solve every frame independently, biased toward the motion `rough` if there is one."""
    prior.fetch(rows)
    n_frames, n_markers = seen.shape[:2]
    n_feet = len(body.carriers) - n_markers
    goals = np.zeros((n_frames, n_markers + n_feet, 3))
    goals[:, :n_markers] = np.where(np.isfinite(seen), seen, 0.0)
    spreads = np.full((n_frames, n_markers + n_feet), np.inf)
    spreads[:, :n_markers] = marker_spreads**2
    if feet is not None:
        goals[:, n_markers:], spreads[:, n_markers:] = feet
    headings = np.angle(facing)
    rotations = np.empty((n_frames, len(prior.skeleton), 4))
    root, errors = np.empty((n_frames, 3)), np.empty(n_frames)
    expected = None if rough is None else rough.rotations[:, prior.joints].astype(np.float64)
    start = filled[:, 0] if prior.frame.has_hips else filled.mean(axis=1)
    for t in range(n_frames):
        model, pose = prior.model(rows[t], gaps[t], near_weights=rules.near_weights)
        toward = (
            Expectation(model.mean, np.inf, start[t], FREE)
            if expected is None
            else Expectation(expected[t], _SMOOTH_SPREAD**2, rough.root[t].astype(float), FREE)
        )
        solved = map_pose(
            body, model, headings[t], goals[t], spreads[t], toward,
            heading_variance=heading_spread**2, slacks=rules.slacks,
        )  # fmt: skip
        pose[prior.joints] = solved.turns
        rotations[t], root[t] = pose, solved.root
        errors[t] = expected_error(gaps[t], model, solved.turns)
        if progress is not None:
            progress(1)
    return SolvedSequence(rotations, root, errors)


def _frames_of(progress: Progress, frames: int, steps: int) -> Progress:
    """Convert progress over both passes, with `steps` steps in total, to frames of the sequence."""
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        before, done = done * frames // steps, done + count
        progress(done * frames // steps - before)

    return advance


def _between(
    prior: Prior, solved: SolvedSequence, frames: NDArray, signal: ControlSignal, *, upright: bool
) -> tuple[Motion, NDArray[np.complex128]]:
    """Interpolate the first pass to a smooth motion with all frames; also return headings (T,).

    If `upright`, poses are smoothed without their heading, because the mean of poses with
    different headings is not a plausible pose.
    """
    step = int(frames[1] - frames[0]) if len(frames) > 1 else 1
    turn = Motion(prior.skeleton, solved.rotations, solved.root, signal.fps).headings()
    q = solved.rotations.copy()
    if upright:
        q[:, 0] = rot.multiply(rot.yaw(-turn), q[:, 0])
    q = rot.unroll(rot.normalize(q))
    q = rot.normalize(gaussian_smooth(q, _POSE_SECONDS * signal.fps / step))
    facing = smooth_headings(np.exp(1j * turn), _HEADING_SECONDS * signal.fps / step)
    place = np.minimum(np.arange(len(signal.points)) / step, len(frames) - 1.0)
    before = np.minimum(place.astype(int), max(len(frames) - 2, 0))
    after = np.minimum(before + 1, len(frames) - 1)
    share = place - before
    root = solved.root[before] + share[:, None] * (solved.root[after] - solved.root[before])
    heading = np.interp(place, np.arange(len(frames)), np.unwrap(np.angle(facing)))
    turned = rot.slerp(q[before], q[after], share[:, None])
    if upright:
        turned[:, 0] = rot.multiply(rot.yaw(heading), turned[:, 0])
    return Motion(prior.skeleton, turned, root, signal.fps), np.exp(1j * heading)


def _seen(motion: Motion, signal: ControlSignal) -> Array:
    """Return the tracked joints of a motion, shifted to match the observed markers."""
    places = motion.role_positions(signal.roles).astype(np.float64)
    with np.errstate(invalid="ignore"):
        observed = np.isfinite(signal.points[..., :1])
        off = np.where(observed, signal.points - places, 0.0).sum(axis=1)
    return places + (off / np.maximum(observed.sum(axis=1), 1))[:, None]


def _feet(prior: Prior) -> list[str]:
    return [f"{side}_foot" for side in SIDES if f"{side}_foot" in prior.skeleton.roles]


def _standing(motion: Motion, prior: Prior) -> tuple[Array, Array] | None:
    """Return, for each frame, the ball positions of the feet in contact and their variances."""
    feet = _feet(prior)
    if len(feet) < len(SIDES):
        return None
    contacts = foot_contacts(motion, skate=0.0)  # tracked ankles do not skate
    places = motion.role_positions(feet).astype(np.float64)
    goals, spreads = np.zeros_like(places), np.full(places.shape[:2], np.inf)
    for f, side in enumerate(SIDES):
        for start, end in contacts.intervals(f"{side}_ball"):
            goals[start:end, f] = np.median(places[start:end, f], axis=0)
            spreads[start:end, f] = FOOT_SPREAD**2
    return goals, spreads
