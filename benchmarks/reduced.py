"""Motions reduced to the points of a layout, as a pose estimator would return them."""

import numpy as np

from motionloom.motion.positions.layouts import LAYOUTS
from motionloom.motion.retargeting.neutral_pose import global_rest_rotations, neutral_pose
from motionloom.motion.rotations import quaternions as rot

# Joint that carries a point without a role, and its position on the left side in the neutral pose.
_CARRIED = {
    "nose": ("head", (0.0, 0.05, 0.12)), "ear": ("head", (0.07, 0.05, 0.0)),
    "eye": ("head", (0.03, 0.08, 0.09)), "eye_inner": ("head", (0.02, 0.08, 0.09)),
    "eye_outer": ("head", (0.05, 0.08, 0.08)), "mouth": ("head", (0.02, 0.0, 0.1)),
    "head_top": ("head", (0.0, 0.18, 0.0)), "index": ("wrist", (0.09, 0.0, 0.03)),
    "pinky": ("wrist", (0.08, 0.0, -0.03)), "thumb": ("wrist", (0.04, -0.01, 0.05)),
    "hand": ("wrist", (0.09, 0.0, 0.0)), "hand_tip": ("wrist", (0.18, 0.0, 0.0)),
    "heel": ("ankle", (0.0, -0.06, -0.05)), "toe": ("ankle", (0.02, -0.07, 0.2)),
    "small_toe": ("ankle", (0.07, -0.07, 0.15)), "foot": ("ankle", (0.01, -0.06, 0.13)),
}  # fmt: skip


def reduced(motion, name):
    """Positions (T, J, 3) of the points of a layout. All points are rigid with a joint."""
    body = _Body(motion)
    layout = LAYOUTS[name]
    return np.stack([body.point(point, layout) for point in layout.points], axis=1)


class _Body:
    def __init__(self, motion):
        self.motion, self.skeleton = motion, motion.skeleton
        self.places = motion.positions(end_sites=True).astype(np.float64)
        self.world = motion.global_rotations().astype(np.float64)
        self.rest = global_rest_rotations(motion.skeleton)
        self.turns = neutral_pose(motion.skeleton).turns
        end = self.skeleton.point("chest" if "chest" in self.skeleton.roles else "spine")
        self.spine = [end]
        while self.spine[-1] != self.skeleton.point("hips"):
            self.spine.append(int(self.skeleton.parents[self.spine[-1]]))
        self.spine.reverse()

    def role(self, role):
        return self.places[:, self.skeleton.point(role)]

    def point(self, name, layout):
        side, _, part = name.partition("_")
        if side in ("left", "right"):
            if part == "collar":
                return self.role(name if name in self.skeleton.roles else "chest")
            if part not in _CARRIED:
                return self.role(name)
            joint, (x, y, z) = _CARRIED[part]
            joint = joint if joint == "head" else f"{side}_{joint}"
            return self.carried(joint, (x if side == "left" else -x, y, z))
        shoulders = 0.5 * (self.role("left_shoulder") + self.role("right_shoulder"))
        if name == "hips":
            hips = 0.5 * (self.role("left_hip") + self.role("right_hip"))
            return self.role("hips") if layout.anatomical else hips
        if name in ("spine", "spine1", "chest"):
            share = {"spine": 1 / 3 if layout.anatomical else 0.5, "spine1": 2 / 3, "chest": 1.0}
            return self.along_spine(share[name])
        if name == "neck":
            return shoulders if layout.name in ("openpose", "halpe") else self.role("neck")
        if name in ("neck_mid", "head"):
            return self.role(name.removesuffix("_mid"))
        return self.carried(*_CARRIED[name])

    def along_spine(self, share):
        """Point on the spine; on a bone, so that its distance to the next joint is constant."""
        place = share * (len(self.spine) - 1)
        below = min(int(place), len(self.spine) - 2)
        a, b = (self.places[:, self.spine[below + k]] for k in (0, 1))
        return a + (place - below) * (b - a)

    def carried(self, role, offset):
        joint = self.skeleton.point(role)
        if joint >= len(self.skeleton):
            joint = int(self.skeleton.end_parents[joint - len(self.skeleton)])
        neutral = rot.multiply(self.turns.get(role, rot.IDENTITY), self.rest[joint])
        own = rot.rotate(rot.inverse(neutral), np.array(offset))
        return self.places[:, joint] + rot.rotate(self.world[:, joint], own[None])


def corrupted(points, rng, noise, fps, *, gaps=0.10, outliers=0.02):
    """Add noise, outliers of 10 to 50 cm, and gaps of up to 0.4 s. Returns the points and masks."""
    frames, count, _ = points.shape
    seen = points + rng.normal(0.0, noise, points.shape)
    wild = rng.random((frames, count)) < outliers
    away = rng.normal(size=points.shape)
    away *= rng.uniform(0.1, 0.5, (frames, count, 1)) / np.linalg.norm(away, axis=2, keepdims=True)
    seen = seen + np.where(wild[:, :, None], away, 0.0)
    missing = np.zeros((frames, count), bool)
    for point in range(count):
        while missing[:, point].mean() < gaps:
            length = int(rng.integers(1, max(2, round(0.4 * fps)) + 1))
            start = int(rng.integers(0, max(1, frames - length + 1)))
            missing[start : start + length, point] = True
    return np.where(missing[:, :, None], np.nan, seen), wild & ~missing, missing


def rotation_error(truth, solved, role):
    """Angle in degrees (T,) between world rotations of a joint, after the best constant turn.

    Rest poses and joint axes differ, so only rotations relative to a constant one can be compared.
    """
    worlds = []
    for motion in (truth, solved):
        joint = motion.skeleton.point(role)
        worlds.append(motion.global_rotations()[:, joint].astype(np.float64))
    apart = rot.multiply(rot.inverse(worlds[1]), worlds[0])
    _, vectors = np.linalg.eigh(np.einsum("ti,tj->ij", apart, apart))
    turned = rot.multiply(worlds[1], np.broadcast_to(vectors[:, -1], worlds[1].shape))
    return np.degrees(rot.angle_between(worlds[0], turned))
