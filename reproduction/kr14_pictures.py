"""Pictures of `reproduction.kr14`: Figures 4.1 to 4.5, 5.2 and 5.3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.features.joint_weights import LearnedWeights
from motionloom.motion import Motion
from motionloom.motion_graph import motion_graph
from motionloom.motion_graph.settings import GraphSettings, WalkSettings
from motionloom.motion_graph.transitions.candidates import error_function
from motionloom.motion_graph.transitions.foot_support import FootSupport
from motionloom.motion_graph.transitions.transitions import blended
from reproduction.claims import Data

_HUE = {"from": np.array([0.10, 0.60, 0.25]), "to": np.array([0.82, 0.15, 0.15])}


def pruning_picture(data: Data, jrd, rows, before, after, threshold: float) -> str:
    """Plot error functions with sectors and their minima, and the transitions after pruning."""
    import matplotlib.pyplot as plt

    name = "papers-kr14-pruning.png"
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 9.4), layout="constrained")
    for line, (b, title) in enumerate(((0, "one dancer"), (1, "two dancers"))):
        cells = error_function(jrd, rows[0], rows[b])[::4, ::4].T
        for column, (points, what) in enumerate(
            ((before[line], "least error of each sector"), (after[line], "after pruning"))
        ):
            each = axes[line, column]
            each.imshow(cells, cmap="gray", extent=(0, 2000, 2000, 0))
            if column:
                below = np.ma.masked_greater(cells, threshold)
                each.imshow(below, cmap="YlOrBr_r", alpha=0.55, extent=(0, 2000, 2000, 0))
            else:
                for at in range(100, 2000, 100):
                    each.axvline(at, color="w", lw=0.3)
                    each.axhline(at, color="w", lw=0.3)
            each.plot(*points.frames.T, ".", color="red", ms=5 if column else 2.5)
            each.set(title=f"{title}: {what} ({len(points)})", xlim=(0, 2000), ylim=(2000, 0))
    figure.savefig(data.figure(name), dpi=72)
    plt.close(figure)
    from PIL import Image

    with Image.open(data.figure(name)) as picture:  # a palette makes the file much smaller
        few = picture.convert("RGB").quantize(
            256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
        )
    few.save(data.figure(name), optimize=True)
    return name


def transition_strip(data: Data, motions, transitions, chosen: int) -> str:
    """Draw one transition as a film strip, colored from one take to the other."""
    import matplotlib.pyplot as plt

    name = "papers-kr14-transition.png"
    supports = {n: FootSupport.of(motion) for n, motion in enumerate(motions)}
    source, target = transitions.source[chosen], transitions.target[chosen]
    blend = transitions.blend
    made = blended(motions, supports, source, target, blend, transitions.root_path)
    (a, leave), (b, enter) = transitions.leave[chosen], transitions.enter[chosen]
    before, after = motions[a], motions[b]
    head = slice(max(0, int(leave) - blend // 2), int(leave))
    tail = slice(int(enter), int(enter) + blend // 2)
    turned, path = made.transform.apply_to_poses(after.rotations[tail], after.root[tail])
    rotations = np.concatenate([before.rotations[head], made.rotations, turned])
    root = np.concatenate([before.root[head], made.root, path])
    clip = Motion(before.skeleton, rotations, root, before.fps)
    lead = head.stop - head.start
    places = clip.positions()[:, : len(clip.skeleton)]
    figure, axes = plt.subplots(figsize=(12.0, 2.9), layout="constrained")
    shown = np.linspace(0, len(clip) - 1, 13).astype(int)
    for k, frame in enumerate(shown):
        share = float(np.clip((frame - lead + 1) / blend, 0.0, 1.0))
        share = 3.0 * share**2 - 2.0 * share**3
        color = (1.0 - share) * _HUE["from"] + share * _HUE["to"]
        _draw_body(axes, clip, frame, color, shift=0.75 * k, places=places)
        axes.text(0.75 * k, -0.16, f"{frame - lead}", ha="center", fontsize=8)
    axes.set(
        aspect="equal", title=f"{before.name} (green) to {after.name} (red); frame of the blend"
    )
    axes.axis("off")
    figure.savefig(data.figure(name), dpi=90)
    plt.close(figure)
    return name


def _draw_body(axes, motion: Motion, frame: int, color, *, shift=0.0, places=None, lw=2.0) -> None:
    """Draw the bones of a pose from the front, with the hips at `shift`."""
    if places is None:
        places = motion.positions()[:, : len(motion.skeleton)]
    points = places[frame] - places[frame, 0] * [1.0, 0.0, 1.0]
    for joint, parent in enumerate(motion.skeleton.parents):
        if parent >= 0:
            ends = points[[joint, parent]]
            axes.plot(ends[:, 0] + shift, ends[:, 1], "-", color=color, lw=lw)


def distance_picture(data: Data, a: Motion, b: Motion, weights, learned: LearnedWeights) -> str:
    """Draw two poses with a symmetric pair of joint pairs, and the magnitude of the weights."""
    import matplotlib.pyplot as plt

    name = "papers-kr14-weights.png"
    figure, (poses, bars) = plt.subplots(1, 2, figsize=(10.0, 3.6), layout="constrained")
    for k, (motion, frame) in enumerate(((a, 60), (b, 300))):
        facing = motion.transform(yaw=-float(motion.headings()[frame]))
        _draw_body(poses, facing, frame, "0.35", shift=1.6 * k)
        for side, color in (("left", "C1"), ("right", "gold")):
            ends = facing.role_positions([f"{side}_wrist", f"{side}_toe", "hips"])[frame]
            ends = ends[:2] - ends[2] * [1.0, 0.0, 1.0]
            poses.plot(ends[:, 0] + 1.6 * k, ends[:, 1], "-o", color=color, ms=4)
    poses.set(aspect="equal", title="a pair of joints and its mirror image, in two poses")
    poses.axis("off")
    own = sorted(np.abs(list(learned.weights.values())), reverse=True)
    bars.bar(np.arange(len(own)) + 1, np.array(own) / own[0], color="0.75", label="learned here")
    bars.plot(np.arange(30) + 1, np.array(weights) / weights[0], "o-", ms=3, label="published")
    bars.set(xlabel="rank", title="magnitude of the weights, relative to the largest")
    bars.legend()
    figure.savefig(data.figure(name), dpi=80)
    plt.close(figure)
    return name


def error_map(data: Data, cells: NDArray, motion: Motion) -> str:
    """Draw the error function of a motion with a pose every 100 frames along its sides."""
    import matplotlib.pyplot as plt

    name = "papers-kr14-error-function.png"
    figure = plt.figure(figsize=(6.2, 6.2))
    grid = figure.add_axes((0.2, 0.02, 0.78, 0.78))
    grid.imshow(cells.T, cmap="gray", extent=(0, 500, 500, 0), aspect="auto")
    grid.axis("off")
    for k in range(5):
        top = figure.add_axes((0.2 + 0.156 * k, 0.82, 0.156, 0.17))
        side = figure.add_axes((0.02, 0.644 - 0.156 * k, 0.17, 0.156))
        for axes in (top, side):
            facing = motion.transform(yaw=-float(motion.headings()[100 * k]))
            _draw_body(axes, facing, 100 * k, "C0", lw=1.5)
            axes.set(aspect="equal", xlim=(-1.0, 1.0), ylim=(-0.05, 1.95))
            axes.axis("off")
            axes.text(-0.95, 1.7, f"{100 * k}", fontsize=8)
    figure.savefig(data.figure(name), dpi=80)
    plt.close(figure)
    return name


def biped_picture(data: Data, jrd, motions: Sequence[Motion]) -> str:
    """Draw a character that walks and jogs through the graph of the preset, from the side."""
    import matplotlib.pyplot as plt

    name = "papers-kr14-biped.png"
    graph = motion_graph(motions, GraphSettings.kr14(distance=jrd))
    walk = max(
        (graph.walk(WalkSettings.kr14(seconds=5.0, seed=seed)) for seed in range(40)),
        key=lambda each: (len({part.motion for part in each.sources}) > 1, len(each)),
    )
    hips = walk.role_positions(["hips"])[:, 0]
    ahead = hips[-1] - hips[0]
    side = walk.transform(yaw=float(np.arctan2(ahead[2], ahead[0])))
    places = side.positions()[:, : len(side.skeleton)]
    names = sorted({part.motion for part in walk.sources})
    figure, axes = plt.subplots(figsize=(12.0, 2.9), layout="constrained")
    for frame in range(0, len(side), 5):
        part = next(each for each in walk.sources if each.start <= frame < each.end)
        hip = float(places[frame, 0, 0] - places[0, 0, 0])
        color = f"C{names.index(part.motion)}"
        _draw_body(axes, side, frame, color, shift=hip, places=places, lw=1.5)
    for k, each in enumerate(names):
        axes.plot([], [], color=f"C{k}", label=each)
    axes.legend(fontsize=8, loc="upper right", ncols=len(names))
    axes.set(aspect="equal", ylim=(-0.1, 2.2))
    axes.axis("off")
    figure.savefig(data.figure(name), dpi=80)
    plt.close(figure)
    return name


def floor_picture(data: Data, walks: Sequence[Motion]) -> str:
    """Draw the characters of a dance floor at random places, in perspective."""
    import matplotlib.pyplot as plt

    name = "papers-kr14-floor.png"
    rng = np.random.default_rng(0)
    figure, axes = plt.subplots(figsize=(9.0, 4.2), layout="constrained")
    places = rng.permutation([(x, z) for x in range(4) for z in range(3)])
    order = np.argsort(-places[:, 1])  # from back to front
    for number in order:
        walk, (x, z) = walks[number], places[number]
        frame = min(300, len(walk) - 1)
        points = walk.positions()[frame, : len(walk.skeleton)].astype(np.float64)
        points -= points[0] * [1.0, 0.0, 1.0]
        points[:, 0] += 2.0 * (x - 1.5) + rng.uniform(-0.4, 0.4)
        depth = 9.0 + 2.5 * z + points[:, 2]
        flat = np.stack([points[:, 0] / depth, (points[:, 1] - 3.2) / depth], axis=1)
        for joint, parent in enumerate(walk.skeleton.parents):
            if parent >= 0:
                ends = flat[[joint, parent]]
                axes.plot(*ends.T, "-", color=f"C{number % 10}", lw=18.0 / depth[0])
    axes.set(aspect="equal")
    axes.axis("off")
    figure.savefig(data.figure(name), dpi=80)
    plt.close(figure)
    return name
