"""Draw feet.png, retargeting.png and rest-poses.png: ``python docs/pictures/feet.py``."""

from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import motionloom as ml
from motionloom.motion.diagnostics.quality import part_path
from motionloom.motion.feet.clean import clean_feet
from motionloom.motion.rotations import quaternions as rot

HERE = Path(__file__).parent
BEFORE, AFTER, GROUND = "#e0662f", "#3b82c4", "#8a93a1"


def skating(motion, size=0.02):
    """Motion whose body drifts back and forth by `size` meters, as in badly solved captures."""
    phase = 2 * np.pi * np.arange(len(motion)) / (1.1 * motion.fps)
    drift = np.stack([np.sin(phase), 0 * phase, np.cos(1.3 * phase)], axis=-1)
    return replace(motion, root=motion.root + size * drift)


def draw_feet():
    walk = ml.demo.clip("walk", fps=60)
    skated = skating(walk)
    cleaned, report = clean_feet(skated, contacts=walk.contacts())
    figure, (side, plan) = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=[2, 1])
    for motion, color, name in ((skated, BEFORE, "before"), (cleaned, AFTER, "after")):
        for part, style in (("left_heel", ":"), ("left_ball", "-")):
            path = part_path(motion, part)
            label = f"{name}, {part.split('_')[1]}"
            side.plot(path[:, 2], path[:, 1], style, color=color, lw=1.3, label=label)
        ball = part_path(motion, "left_ball")
        for k, (start, end) in enumerate(report.contacts.intervals("left_ball")[1:3]):
            center = np.median(ball[start:end], axis=0)
            shown = 100 * (ball[start:end] - center)
            plan.plot(shown[:, 0] + 6 * k, shown[:, 2], "o-", color=color, ms=3, lw=0.8)
    side.set(xlabel="along the walk, m", ylabel="height, m")
    side.set_title("left foot from the side", loc="left", fontsize=10)
    side.set_ylim(0.0, 0.26)
    side.legend(frameon=False, fontsize=8, ncols=4, loc="upper right")
    plan.set(xlabel="cm", ylabel="cm")
    plan.set_aspect("equal")
    plan.set_title("the ball in two contacts, from above", loc="left", fontsize=10)
    before, after = 100 * report.slide_before_m, 100 * report.slide_after_m
    figure.suptitle(f"slide per contact: {before:.1f} cm before, {after:.2f} cm after", fontsize=11)
    for axes in (side, plan):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(HERE / "feet.png", dpi=110)


def other_body(skeleton):
    """Skeleton with longer arms and shorter legs."""
    offsets = skeleton.offsets.copy()
    factors = {"elbow": 1.3, "wrist": 1.25, "knee": 0.8, "ankle": 0.8}
    for part, factor in factors.items():
        for side in ("left", "right"):
            offsets[skeleton.point(f"{side}_{part}")] *= factor
    return replace(skeleton, offsets=offsets)


def draw_retargeting():
    walk = ml.demo.clip("walk")
    bodies = {
        "source": walk,
        "0.8 times the size": walk.retarget(walk.skeleton.scaled(0.8)),
        "1.25 times the size": walk.retarget(walk.skeleton.scaled(1.25)),
        "longer arms, shorter legs": walk.retarget(other_body(walk.skeleton)),
    }
    figure, rows = plt.subplots(len(bodies), 1, figsize=(10, 9.6))
    for axes, (name, motion) in zip(rows, bodies.items(), strict=True):
        place = motion.positions(end_sites=True)
        parents = motion.skeleton.point_parents
        for frame in range(0, len(motion), 12):
            for point in range(1, len(parents)):
                pair = place[frame, [point, parents[point]]]
                left = "Left" in motion.skeleton.point_names[point]
                right = "Right" in motion.skeleton.point_names[point]
                color = AFTER if left else BEFORE if right else "#3c4450"
                axes.plot(pair[:, 2], pair[:, 1], color=color, lw=2, solid_capstyle="round")
        axes.axhline(0.0, color=GROUND, lw=0.8, zorder=0)
        axes.set_title(name, loc="left", fontsize=10)
        axes.set_aspect("equal")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set(xlim=(0, 9.2), ylim=(-0.1, 2.35), yticks=[0, 1, 2])
    figure.tight_layout()
    figure.savefig(HERE / "retargeting.png", dpi=80)


def bones_along_x(skeleton):
    """The same body with joint axes along the bones, so that its zero pose is a line."""
    children = {int(p): point for point, p in reversed(list(enumerate(skeleton.point_parents)))}
    axes = np.tile(rot.IDENTITY, (len(skeleton), 1))
    for joint in range(len(skeleton)):
        bone = skeleton.point_offsets[children[joint]]
        axes[joint] = rot.between([1.0, 0.0, 0.0], bone)
    trunk = skeleton.points(["hips", "spine", "chest", "neck", "head"])
    axes[trunk] = rot.from_axis_angle([0, 0, 1], np.pi / 2)
    offsets = rot.rotate(rot.inverse(axes[skeleton.parents]), skeleton.offsets)
    ends = rot.rotate(rot.inverse(axes[skeleton.end_parents]), skeleton.end_offsets)
    return replace(skeleton, offsets=offsets, end_offsets=ends)


def draw_figure(axes, motion, frame, x):
    """Draw the front view of one frame at `x`."""
    place = motion.positions(end_sites=True)[frame]
    place = place - place[motion.skeleton.point("hips")] * [1.0, 0.0, 0.0]
    for point, parent in enumerate(motion.skeleton.point_parents):
        if parent < 0:
            continue
        name = motion.skeleton.point_names[point]
        color = AFTER if "Left" in name else BEFORE if "Right" in name else "#3c4450"
        pair = place[[point, parent]]
        axes.plot(x + pair[:, 0], pair[:, 1], color=color, lw=2, solid_capstyle="round")


def draw_rest_poses():
    reach = ml.demo.clip("reach_side_high_right")
    line = bones_along_x(ml.demo.PERFORMERS[1].skeleton)
    bodies = {
        "source: its zero pose is a T-pose": (reach, reach.rest_pose()),
        "target: its zero pose lays all bones along x": (
            reach.retarget(line),
            replace(reach, skeleton=line).rest_pose(),
        ),
    }
    figure, rows = plt.subplots(2, 1, figsize=(10, 5.6))
    for axes, (name, (motion, rest)) in zip(rows, bodies.items(), strict=True):
        draw_figure(axes, rest, 0, 0.0)
        for column, frame in enumerate(np.linspace(0, len(motion) - 1, 6).astype(int)):
            draw_figure(axes, motion, frame, 2.6 + 1.3 * column)
        axes.axvline(1.75, color=GROUND, lw=0.8)
        axes.axhline(0.0, color=GROUND, lw=0.8, zorder=0)
        axes.set_title(name, loc="left", fontsize=10)
        axes.set_aspect("equal")
        axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
        axes.set(xlim=(-1.1, 10.0), ylim=(-0.1, 2.3), xticks=[], yticks=[0, 1, 2])
    figure.tight_layout()
    figure.savefig(HERE / "rest-poses.png", dpi=80)


if __name__ == "__main__":
    draw_feet()
    draw_retargeting()
    draw_rest_poses()
