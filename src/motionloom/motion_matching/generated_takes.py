"""Generated standing, starting and stopping motions, for takes in which nobody stands still.

Many takes contain only steps, so a character built from them could neither stop nor start. Over
whole strides, the limbs swing around the standing pose. The mean rotations of walking frames
therefore give an upright pose with the feet side by side; adding mirrored frames makes it
symmetric. In the middle of a stance, a walker passes through nearly that pose. At this point, a
walk can slow down to a stop while its pose becomes the mean pose. A start is the reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.fat_graph.gait_transitions import Strides, gait_transition
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality.measures import joint_accelerations, usual_acceleration
from motionloom.motion.feet.contacts import FOOT_PARTS, FootContacts, Plant, part_path
from motionloom.motion.kinematics.forward import global_rotations
from motionloom.motion.kinematics.two_bone import limb_of, reach_target, with_global_rotations
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion_matching.features import RootMotion

Array = NDArray[np.float64]

STANDING, STARTING, STOPPING = "standing (made)", "starting (made)", "stopping (made)"
MADE = (STANDING, STARTING, STOPPING)
_LEAST_STANDING = 0.5  # seconds: if the takes stand for longer, no standing is generated
_STAND_SECONDS = 2.0
_RAMP_SECONDS = 0.7  # seconds in which a walk slows down to a stop
_REST_SECONDS = 0.6  # seconds of standing before a start and after a stop
_LEAST_GAIT = 0.3  # minimum duration of a gait in a take to count, in seconds
_LEAD = 0.4  # number of strides before and after a change of gait
_CHANGES = 4  # number of takes of each gait from which changes are generated
_LIFT = 0.06  # extra lift of a foot halfway between standing and walking, in meters
_STEPS_SECONDS = 0.8  # minimum walking time in a start or a stop, in seconds
_AROUND_SECONDS = 1.6  # maximum walking time in a start or a stop, in seconds
_UNUSUAL = 0.3  # cost of a walk that is e times as fast as usual; a walk in place has a cost of 1


def is_made(name: str) -> bool:
    """Return whether a range was generated rather than captured."""
    return name.endswith("(made)")


def needs_gait_changes(gaits: Sequence[NDArray[np.int8]], fps: float) -> bool:
    """Return whether there are walks (gait 2) and jogs or runs (3, 4), but no take has both."""
    least = _LEAST_GAIT * fps
    walks = [np.count_nonzero(take == 2) >= least for take in gaits]
    runs = [np.count_nonzero(take > 2) >= least for take in gaits]
    return any(walks) and any(runs) and not any(a and b for a, b in zip(walks, runs, strict=True))


def gait_changes(walks: Sequence[Motion], runs: Sequence[Motion]) -> list[Motion]:
    """Generate transitions between walks and jogs or runs, in both directions, if they are smooth.

    Examples
    --------
    >>> import motionloom as ml
    >>> made = gait_changes([ml.demo.clip("walk")], [ml.demo.clip("jog")])
    >>> [motion.name for motion in made]
    ['walk_p0 to jog_p0 (made)']

    Here, the change back to a walk is missing because it would have been rougher than the takes.
    """
    both = [
        [strides for motion in _spread(takes) if (strides := Strides.of(motion)) is not None]
        for takes in (walks, runs)
    ]
    usual = usual_acceleration([*walks, *runs])
    made: list[Motion] = []
    for first, second in (both, both[::-1]):
        for a in first:
            for b in second:
                name = f"{a.motion.name} to {b.motion.name} (made)"
                start, end = round(0.6 * len(a.phase)), round(0.4 * len(b.phase))
                change = gait_transition(a, start, b, end, lead=_LEAD, name=name)
                if joint_accelerations(change).max(initial=0.0) < usual:
                    made.append(change)
    return made


def _spread(takes: Sequence[Motion]) -> list[Motion]:
    """Return a few of the takes, spaced evenly by speed."""
    speeds = [
        float(np.linalg.norm(take.root[-1, [0, 2]] - take.root[0, [0, 2]])) / take.duration
        for take in takes
    ]
    order = np.argsort(speeds, kind="stable")
    chosen = np.unique(np.linspace(0, len(order) - 1, min(_CHANGES, len(order))).round())
    return [takes[order[int(k)]] for k in chosen]


def needs_standing(gaits: NDArray[np.int8], fps: float) -> bool:
    """Return whether there are too few standing frames (gait 1)."""
    return bool(np.count_nonzero(gaits == 1) < _LEAST_STANDING * fps)


def standing_motions(frames: Motion, takes: Sequence[Motion], floor: float) -> list[Motion]:
    """Generate standing, starting and stopping motions, or only standing if no walk is long enough.

    Parameters
    ----------
    frames : Motion
        Walking frames, not necessarily consecutive, from which the mean pose is computed.
    takes : sequence of Motion
        Takes from which starts and stops are generated.
    floor : float
        Height of the balls of the feet when they are in contact, in meters.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> made = standing_motions(walk, [walk], walk.contacts().floor)
    >>> [motion.name for motion in made]
    ['standing (made)', 'starting (made)', 'stopping (made)']
    """
    still = _standing(frames, floor)
    made = [_held(still, _STAND_SECONDS, STANDING)]
    stance = _middle_stance(takes)
    if stance is None:
        return made
    walk, frame = stance
    walk = _straight(walk)
    return [*made, _start(still, walk, frame), _stop(still, walk, frame)]


def _straight(walk: Motion) -> Motion:
    """Straighten a walk along +Z by rotating it around its root."""
    root = RootMotion.of(walk)
    steps = np.abs(np.diff(root.floor))
    along = np.concatenate([[0.0], np.cumsum(steps)]).astype(np.complex128)
    there = PlanarTransform.from_complex(along, np.zeros(len(along)))
    moved = there @ root.transforms().inverse()
    rotations, places = moved.apply_to_poses(walk.rotations, walk.root)
    return replace(walk, rotations=rotations, root=places)


def _standing(frames: Motion, floor: float) -> Motion:
    """Return one frame of the mean pose at the origin, facing +Z."""
    ahead = frames.without_heading()
    mean = _mean_rotations(ahead.rotations.astype(np.float64))
    height = float(np.mean(frames.root[:, 1], dtype=np.float64))
    pose = Motion(frames.skeleton, mean[None], np.array([[0.0, height, 0.0]]), frames.fps)
    balls = pose.role_positions(["left_foot", "right_foot"])[0, :, 1]
    return replace(pose, root=pose.root + [0.0, floor - float(balls.min()), 0.0])


def _held(still: Motion, seconds: float, name: str = "") -> Motion:
    count = max(round(seconds * still.fps), 3)
    return replace(
        still,
        rotations=np.repeat(still.rotations, count, axis=0),
        root=np.repeat(still.root, count, axis=0),
        name=name,
    )


def _middle_stance(takes: Sequence[Motion]) -> tuple[Motion, int] | None:
    """Find a segment of straight walking at the median speed, and its middle frame.

    In the middle frame, the ankles pass each other while one foot is planted.
    """
    stances: list[tuple[float, float, Motion, int, int]] = []
    for take in takes:
        ankles = take.role_positions(["left_ankle", "right_ankle"]).astype(np.float64)
        root = RootMotion.of(take)
        gap = ankles[:, 0] - ankles[:, 1]
        ahead = gap[:, 2] * np.cos(root.facing) + gap[:, 0] * np.sin(root.facing)
        stands = take.contacts().standing_parts().any(axis=1)
        passes = (np.sign(ahead[1:]) * np.sign(ahead[:-1]) < 0) & np.asarray(stands)[1:]
        for frame in map(int, np.flatnonzero(passes)):
            around = min(frame, len(take) - 1 - frame, round(_AROUND_SECONDS * take.fps))
            if around < _STEPS_SECONDS * take.fps:
                continue
            steps = np.diff(root.floor[frame - around : frame + around + 1])
            facing = root.facing[frame - around : frame + around]
            way = float(np.abs(steps).sum())
            forward = np.sum(steps * np.exp(-1j * facing)) / max(way, 1e-6)
            straight = min(float(forward.real), abs(steps.sum()) / max(way, 1e-6))
            speed = max(way / (2.0 * around), 1e-6) * take.fps
            stances.append((straight, speed, take, frame, around))
    if not stances:
        return None
    usual = float(np.median([speed for _, speed, *_ in stances]))
    best = max(stances, key=lambda stance: stance[0] - _UNUSUAL * abs(np.log(stance[1] / usual)))
    _, _, take, frame, around = best
    return take[frame - around : frame + around + 1], around


def _start(still: Motion, walk: Motion, frame: int) -> Motion:
    """Return a start: the standing pose, then the walk from a frame on, with increasing speed."""
    ramp = max(round(_RAMP_SECONDS * walk.fps), 2)
    rest = max(round(_REST_SECONDS * walk.fps), 1)
    share = np.arange(ramp) / ramp
    times = frame + 0.5 * ramp * share**2
    after = np.arange(times[-1] + 1.0, len(walk) - 1.0)
    times = np.concatenate([np.full(rest, float(frame)), times, after])
    weight = np.concatenate([np.zeros(rest), share, np.ones(len(after))])
    return _mixed(still, walk, times, weight, STARTING)


def _stop(still: Motion, walk: Motion, frame: int) -> Motion:
    """Return a stop: the walk up to a frame, with decreasing speed, then the standing pose."""
    ramp = max(round(_RAMP_SECONDS * walk.fps), 2)
    rest = max(round(_REST_SECONDS * walk.fps), 1)
    share = 1.0 - np.arange(1, ramp + 1) / ramp
    times = frame - 0.5 * ramp * share**2
    before = np.arange(times[0] - 1.0, 0.0, -1.0)[::-1]
    times = np.concatenate([before, times, np.full(rest, float(frame))])
    weight = np.concatenate([np.ones(len(before)), share, np.zeros(rest)])
    return _mixed(still, walk, times, weight, STOPPING)


def _mixed(still: Motion, walk: Motion, times: Array, weight: Array, name: str) -> Motion:
    """Blend the walk at the given times with the standing pose, without sliding feet."""
    low = np.minimum(np.floor(times).astype(np.int64), len(walk) - 2)
    share = (times - low)[:, None]
    poses = walk.rotations.astype(np.float64)
    walking = rot.slerp(poses[low], poses[low + 1], share)
    places = walk.root.astype(np.float64)
    way = (1.0 - share) * places[low] + share * places[low + 1]
    # The body stays above its root, and its height and pose become those of standing.
    smooth = weight * weight * (3.0 - 2.0 * weight)
    root = RootMotion.of(walk)
    floor = np.interp(times, np.arange(len(walk)), root.floor.real)
    aside = np.interp(times, np.arange(len(walk)), root.floor.imag)
    facing = np.interp(times, np.arange(len(walk)), root.facing)
    standing = np.broadcast_to(still.rotations.astype(np.float64), walking.shape).copy()
    standing[:, 0] = rot.multiply(rot.yaw(facing), standing[:, 0])
    under = np.column_stack([aside, np.full(len(times), still.root[0, 1]), floor])
    rotations = rot.slerp(standing, walking, smooth[:, None])
    mixed = (1.0 - smooth[:, None]) * under + smooth[:, None] * way
    made = Motion(walk.skeleton, rot.unroll(rotations), mixed, walk.fps, name=name)
    slowest = int(times[np.argmin(np.abs(np.gradient(times)))])
    swings = _swing_side(walk, slowest)
    made = _lifted(made, swings, _LIFT * 4.0 * smooth * (1.0 - smooth))
    return made.clean_feet(contacts=_contacts(made, walk, times, weight, swings))


def _contacts(made: Motion, walk: Motion, times: Array, weight: Array, swings: str) -> FootContacts:
    """Return the contacts of a start or stop: those of the walk, and both feet while standing."""
    own = walk.contacts()
    flags = own.standing_parts()[np.round(times).astype(np.int64)]
    ramp = (weight > 0.0) & (weight < 1.0)
    plants: dict[str, tuple[Plant, ...]] = {}
    for number, part in enumerate(FOOT_PARTS):
        side = part.split("_")[0]
        stands = (flags[:, number] & ~(ramp & (side == swings))) | (weight == 0.0)
        edges = np.flatnonzero(np.diff(stands.astype(np.int8), prepend=0, append=0))
        heights = part_path(made, part)[:, 1]
        plants[part] = tuple(
            Plant(int(a), int(b), float(np.median(heights[a:b])))
            for a, b in zip(edges[::2], edges[1::2], strict=True)
            if b - a > 1
        )
    return FootContacts(plants, own.floor, len(made), made.fps)


def _swing_side(walk: Motion, frame: int) -> str:
    """Return the side of the swing foot, which is the faster foot, in a frame of a walk."""
    around = slice(max(frame - 1, 0), frame + 2)
    feet = walk.role_positions(["left_ankle", "right_ankle"])[around][:, :, [0, 2]]
    left, right = np.linalg.norm(feet[-1].astype(np.float64) - feet[0], axis=1)
    return "left" if left > right else "right"


def _lifted(motion: Motion, side: str, rise: Array) -> Motion:
    """Raise one foot of a motion by `rise` (T,) in meters, so that it is not dragged.

    Without this, a foot halfway between walking and standing would be only half as high as in a
    step.
    """
    joints, limb = limb_of(motion, (f"{side}_hip", f"{side}_knee", f"{side}_ankle"))
    target = limb.end + rise[:, None] * [0.0, 1.0, 0.0]
    leg = reach_target(limb, limb.start, target)
    world = global_rotations(motion.rotations, motion.skeleton.parents).astype(np.float64)
    turned = {joints[0]: leg.upper, joints[1]: leg.lower, joints[2]: world[:, joints[2]]}
    rotations = motion.rotations.astype(np.float64)
    rotations = with_global_rotations(rotations, motion.skeleton, turned)
    return replace(motion, rotations=rot.unroll(rotations))


def _mean_rotations(rotations: Array) -> Array:
    """Return mean quaternions (J, 4), which are the principal eigenvectors of the sums of q q^T."""
    sums = np.einsum("tja,tjb->jab", rotations, rotations)
    mean = np.linalg.eigh(sums)[1][:, :, -1]
    return mean * np.where(mean[:, :1] < 0.0, -1.0, 1.0)
