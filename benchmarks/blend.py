"""``python -m benchmarks blend``: blend poses of twelve examples, and whole motions.

The first rows need no data: smooth random rotations of 31 joints take the same time as captured
ones. Whole motions are kicks of the built-in corpus.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.rivals import numpy_blending as plain
from benchmarks.rivals.numpy_kinematics import by_components
from benchmarks.timing import Contestant, Log, Result, compare
from motionloom.blending import Blend, register
from motionloom.blending.poses import ClipPoses, blend_kernel, blend_poses
from motionloom.demo import clip
from motionloom.motion import Motion, Skeleton
from motionloom.motion.feet.clean import lock_feet
from motionloom.motion.kinematics.forward import joint_positions
from motionloom.motion.rotations import quaternions as rot

SUMMARY = "pose blending of many examples, with forward kinematics"
PACKAGES = ()
_FRAMES, _EXAMPLES, _JOINTS = 60, 12, 31
_KICKS = ("front_mid", "front_high", "front_low", "outside_mid", "side_mid", "side_high")


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    measure = partial(compare, rounds=settings.rounds, budget_s=settings.budget_s, log=log)
    results: list[Result] = []
    work = _work(_EXAMPLES, settings.seed)
    gap = float(np.max(np.abs(_ours(work) - _plain(work))))
    what = f"{_FRAMES} frames of {_EXAMPLES} examples, {_JOINTS} joints, with kinematics"
    results += measure(
        what,
        Contestant("motionloom", partial(_ours, work)),
        [
            Contestant(
                "NumPy, vectorized", partial(_plain, work), f"agrees: within {gap:.1g} m of ours"
            ),
            Contestant(
                "scipy Rotation.mean",
                partial(_by_scipy, work),
                "eigenvector average, joint by joint",
            ),
        ],
    )
    single = work.cut(1)
    results += measure(
        f"one frame of {_EXAMPLES} examples, {_JOINTS} joints, poses only",
        Contestant("motionloom, kernel", _kernel(single)),
        [
            Contestant(
                "NumPy, vectorized",
                partial(
                    plain.mixed,
                    single.clips,
                    single.weights,
                    single.times,
                    single.transforms,
                    single.place,
                ),
            )
        ],
    )
    many = _work(1000, settings.seed)
    results += measure(
        f"{_FRAMES} frames of {_EXAMPLES} of {_EXAMPLES} examples, with kinematics",
        Contestant("motionloom", partial(_ours, work)),
        [Contestant(f"motionloom, {_EXAMPLES} of 1,000 examples", partial(_ours, many))],
    )
    log("registering kicks of the built-in corpus")
    blend = Blend(register([clip(f"kick_{kind}_right") for kind in _KICKS]))
    weights = np.full(len(blend), 1.0 / len(blend))
    results += measure(
        f"a whole kick of {len(blend)} examples, {blend.frames(weights)} frames, with foot lock",
        Contestant("motionloom", partial(blend, weights)),
        [
            Contestant(
                "motionloom, feet cleaned on the whole motion",
                lambda: lock_feet(blend(weights, lock_feet=False), blend.contacts(weights)),
            ),
            Contestant(
                "motionloom, without foot lock",
                partial(blend, weights, lock_feet=False),
                "does less work",
            ),
        ],
    )
    return {
        "data": "smooth random rotations; kicks of the built-in corpus",
        "credit": "",
        "results": [row.as_dict() for row in results],
    }


@dataclass(frozen=True, eq=False)
class _Work:
    """Input of a blend: the first twelve clips, their weights and times."""

    clips: ClipPoses
    weights: NDArray[np.float64]
    times: NDArray[np.float64]
    transforms: NDArray[np.float64]
    place: NDArray[np.float64]

    def cut(self, frames: int) -> _Work:
        return _Work(
            self.clips,
            self.weights,
            self.times[:frames],
            self.transforms[:frames],
            self.place[:frames],
        )


def _work(examples: int, seed: int) -> _Work:
    rng = np.random.default_rng(seed)
    frames = _FRAMES + 10
    # Slow sine waves with random phases give unit quaternions within about a radian of rest.
    phase = rng.uniform(0.0, 2.0 * np.pi, (examples, 1, _JOINTS, 3))
    turns = 0.6 * np.sin(0.15 * np.arange(frames)[None, :, None, None] + phase)
    parents = np.array([-1, *(rng.integers(max(j - 4, 0), j) for j in range(1, _JOINTS))])
    names = tuple(f"joint_{j}" for j in range(_JOINTS))
    tree = Skeleton(names, parents, rng.normal(0.0, 0.15, (_JOINTS, 3)))
    motions = [Motion(tree, rot.exp(turn), rng.normal(size=(frames, 3)), 30.0) for turn in turns]
    warped = np.linspace(0.0, frames - 1.0, _FRAMES)[:, None]
    times = np.clip(warped + rng.uniform(-0.4, 0.4, (_FRAMES, _EXAMPLES)), 0.0, frames - 1.0)
    return _Work(
        ClipPoses.of(motions),
        rng.dirichlet(np.ones(_EXAMPLES)),
        times,
        rng.normal(0.0, 0.3, (_FRAMES, _EXAMPLES, 3)),
        rng.normal(0.0, 0.3, (_FRAMES, 3)),
    )


def _ours(work: _Work):
    active = np.arange(_EXAMPLES)
    rotations, root = blend_poses(
        work.clips, active, work.weights, work.times, transforms=work.transforms, place=work.place
    )
    tree = work.clips.skeleton
    return joint_positions(rotations, root, tree.parents, tree.offsets)


def _plain(work: _Work):
    rotations, root = plain.mixed(work.clips, work.weights, work.times, work.transforms, work.place)
    tree = work.clips.skeleton
    return by_components(rotations, root, tree.parents.tolist(), tree.offsets)


def _by_scipy(work: _Work):
    from scipy.spatial.transform import Rotation

    sampled = plain.sampled(work.clips, work.times)[..., [1, 2, 3, 0]]
    means = np.empty((len(work.times), _JOINTS, 4))
    for t in range(len(work.times)):
        for j in range(_JOINTS):
            means[t, j] = Rotation.from_quat(sampled[t, :, j]).mean(work.weights).as_quat()
    tree = work.clips.skeleton
    root = np.zeros((len(work.times), 3))
    return by_components(means[..., [3, 0, 1, 2]], root, tree.parents.tolist(), tree.offsets)


def _kernel(work: _Work):
    """Call the kernel alone, as a player does for one frame."""
    clips = work.clips
    rotations = np.empty((len(work.times), _JOINTS, 4), np.float32)
    root = np.empty((len(work.times), 3), np.float32)
    shares = np.ascontiguousarray(np.broadcast_to(work.weights, work.times.shape))
    given = (clips.rotations, clips.root, clips.offsets, np.arange(_EXAMPLES), shares)
    return partial(blend_kernel, *given, work.times, work.transforms, work.place, rotations, root)
