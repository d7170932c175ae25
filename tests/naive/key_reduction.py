"""Key reduction, straight from its definition."""

import numpy as np
from scipy.spatial.transform import Rotation, Slerp


def greedy(frames, fits, holds):
    """Kept frames: from each, try ever longer steps by doubling, then bisection."""
    if holds():
        return [0]
    kept, start = [0], 0
    while start < frames - 1:
        reached, failed, step = start + 1, None, 2
        while start + step < frames:
            if not fits(start, start + step):
                failed = start + step
                break
            reached, step = start + step, 2 * step
        if failed is None:
            failed = frames
            if reached < frames - 1 and fits(start, frames - 1):
                reached = frames - 1
        while reached < frames - 1 and failed - reached > 1:
            middle = (reached + failed) // 2
            if fits(start, middle):
                reached = middle
            else:
                failed = middle
        kept.append(reached)
        start = reached
    return kept


def linear_keys(values, limit):
    def fits(first, last):
        share = np.linspace(0.0, 1.0, last - first + 1)[:, None]
        line = (1.0 - share) * values[first] + share * values[last]
        return np.linalg.norm(line - values[first : last + 1], axis=1).max() <= limit

    def holds():
        return np.linalg.norm(values - values[0], axis=1).max() <= limit

    return greedy(len(values), fits, holds)


def rotation_keys(turns, limit):
    """Both interpolations of unit quaternions must be within the limit (the chord is half)."""

    def gaps(values, wanted):
        return 2.0 * np.linalg.norm(values - wanted, axis=1).max()

    def fits(first, last):
        a, b = turns[first], turns[last]
        share = np.linspace(0.0, 1.0, last - first + 1)[:, None]
        arc = np.arccos(np.clip(a @ b, -1.0, 1.0))
        straight = (1.0 - share) * a + share * b
        straight /= np.linalg.norm(straight, axis=1, keepdims=True)
        along = straight
        if arc > 1e-6:
            along = (np.sin((1.0 - share) * arc) * a + np.sin(share * arc) * b) / np.sin(arc)
        wanted = turns[first : last + 1]
        return max(gaps(straight, wanted), gaps(along, wanted)) <= limit

    return greedy(len(turns), fits, lambda: gaps(turns[:1], turns) <= limit)


def played(motion, rotations, turns, steps):
    """World positions of all points if only the kept keys are known, by SciPy's interpolation."""
    skeleton, frames = motion.skeleton, np.arange(len(motion))
    local, places = [], []
    for joint in range(len(skeleton)):
        keys = turns[joint]
        own = Rotation.from_quat(rotations[keys, joint][:, [1, 2, 3, 0]])
        if len(keys) == 1:
            local.append(Rotation.concatenate([own] * len(frames)))
        else:
            local.append(Slerp(keys, own)(frames))
        keys = steps[joint]
        path = motion.root if joint == 0 else motion.translations[:, joint]
        if len(keys):
            moved = [np.interp(frames, keys, path[keys, axis]) for axis in range(3)]
            places.append(np.stack(moved, axis=1))
        else:
            places.append(np.tile(skeleton.offsets[joint], (len(frames), 1)))
    world, at = [], []
    for joint, parent in enumerate(skeleton.parents):
        if parent < 0:
            world.append(local[joint])
            at.append(places[joint])
        else:
            world.append(world[parent] * local[joint])
            at.append(at[parent] + world[parent].apply(places[joint]))
    for end, parent in enumerate(skeleton.end_parents):
        at.append(at[parent] + world[parent].apply(np.array(skeleton.end_offsets[end])))
    return np.stack(at, axis=1)
