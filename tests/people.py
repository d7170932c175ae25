"""A symmetric person, and motions of it."""

from dataclasses import replace

import numpy as np
import pytest

from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

# A person 1.7 m tall: (joint, parent, place). Places, not offsets, are easier to read.
PERSON = [
    ("pelvis", None, (0.0, 0.95, 0.0)),
    ("thigh_L", "pelvis", (0.09, 0.90, 0.0)), ("shin_L", "thigh_L", (0.10, 0.49, 0.0)),
    ("foot_L", "shin_L", (0.10, 0.08, -0.02)), ("toe_L", "foot_L", (0.10, 0.02, 0.12)),
    ("thigh_R", "pelvis", (-0.09, 0.90, 0.0)), ("shin_R", "thigh_R", (-0.10, 0.49, 0.0)),
    ("foot_R", "shin_R", (-0.10, 0.08, -0.02)), ("toe_R", "foot_R", (-0.10, 0.02, 0.12)),
    ("spine", "pelvis", (0.0, 1.05, 0.0)), ("chest", "spine", (0.0, 1.25, 0.0)),
    ("neck", "chest", (0.0, 1.45, 0.0)), ("head", "neck", (0.0, 1.53, 0.01)),
    ("collar_L", "chest", (0.03, 1.40, 0.0)), ("upperarm_L", "collar_L", (0.18, 1.40, 0.0)),
    ("forearm_L", "upperarm_L", (0.46, 1.40, 0.0)), ("hand_L", "forearm_L", (0.71, 1.40, 0.0)),
    ("collar_R", "chest", (-0.03, 1.40, 0.0)), ("upperarm_R", "collar_R", (-0.18, 1.40, 0.0)),
    ("forearm_R", "upperarm_R", (-0.46, 1.40, 0.0)), ("hand_R", "forearm_R", (-0.71, 1.40, 0.0)),
]  # fmt: skip
TIPS = [
    ("toe_L", (0.10, 0.02, 0.18)), ("toe_R", (-0.10, 0.02, 0.18)), ("head", (0.0, 1.7, 0.0)),
    ("hand_L", (0.80, 1.40, 0.0)), ("hand_R", (-0.80, 1.40, 0.0)),
]  # fmt: skip


def person(*, end_sites=True, turn=None, names=None, joints=PERSON):
    place = {name: np.array(where) for name, _, where in joints}
    order = [name for name, _, _ in joints]
    parents = [-1 if parent is None else order.index(parent) for _, parent, _ in joints]
    offsets = np.array([place[n] - (place[p] if p else 0.0) for n, p, _ in joints])
    turn = np.eye(3) if turn is None else turn
    ends = TIPS if end_sites else []
    return Skeleton(
        names or order,
        parents,
        offsets @ turn.T,
        end_names=[f"tip{number}" for number in range(len(ends))],
        end_parents=[order.index(parent) for parent, _ in ends],
        end_offsets=np.array([where - place[p] for p, where in ends]).reshape(-1, 3) @ turn.T,
    )


def standing(frames=1, fps=30.0, skeleton=None, **options):
    skeleton = skeleton or person()
    rotations = np.tile(rot.IDENTITY, (frames, len(skeleton), 1))
    root = np.tile([0.0, 0.95, 0.0], (frames, 1))
    return Motion(skeleton, rotations, root, fps, **options)


def random_motion(rng, frames=20, fps=30.0, skeleton=None, **options):
    skeleton = skeleton or person()
    steps = rot.exp(rng.normal(scale=0.05, size=(frames, len(skeleton), 3)))
    rotations = [rot.normalize(rng.normal(size=(len(skeleton), 4)))]
    for step in steps[1:]:
        rotations.append(rot.multiply(step, rotations[-1]))
    root = np.cumsum(rng.normal(scale=0.02, size=(frames, 3)), axis=0)
    return Motion(skeleton, np.array(rotations)[:frames], root[:frames], fps, **options)


def turning(angles, fps=30.0, **options):
    """A standing person turned by `angles` about the vertical axis."""
    motion = standing(len(angles), fps, **options)
    rotations = motion.rotations.copy()
    rotations[:, 0] = rot.yaw(angles)
    return replace(motion, rotations=rotations)


def assert_same_motion(a, b, tolerance=1e-6):
    assert len(a) == len(b)
    assert a.fps == pytest.approx(b.fps)
    np.testing.assert_allclose(a.root, b.root, atol=tolerance)
    # Two float32 quaternions a rounding apart differ by up to a few 1e-4 rad in arccos.
    assert np.max(rot.angle_between(a.rotations, b.rotations), initial=0.0) < 100 * tolerance
