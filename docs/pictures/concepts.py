"""Draw the pictures of the explanation pages: ``python docs/pictures/concepts.py [NAME...]``.

concepts-families.png, concepts-fast-search.png, concepts-motion-beats.png,
concepts-whole-clips.png and concepts-motion-graphs.png. Distances, beats, curves and transport are
computed from motions of the built-in corpus; planes of points and graphs are sketches.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle
from PIL import Image
from scipy.optimize import linprog
from scipy.spatial import Delaunay, cKDTree

import motionloom as ml
from motionloom.alignment import align_in_region, matrix_minima, valid_region
from motionloom.dance.motion_beats.candidates import candidate_beats
from motionloom.features import distance_matrix
from motionloom.plots.figures.stick_figure import stick_figure

HERE = Path(__file__).parent
BLUE, RED, GREEN, GRAY, DARK = "#2f7ed8", "#d33a2c", "#12946f", "#8a93a1", "#2b323c"


def families():
    """Match web, search in steps, parameter plane."""
    figure, (grid, steps, aim) = panels(3, [1.15, 1, 1])
    a, b = (ml.demo.clip("kick_front_mid_right", performer=p) for p in (0, 1))
    matrix = distance_matrix(a, b)
    grid.imshow(matrix.T, origin="lower", cmap="Grays_r", vmax=np.quantile(matrix, 0.8))
    rows, columns = np.nonzero(matrix_minima(matrix))
    grid.plot(rows, columns, ".", color=BLUE, ms=2.2)
    alignment = align_in_region(
        matrix, valid_region(matrix), start=(10, 10), end=(len(a) - 8, len(b) - 8)
    )
    if alignment is not None:
        grid.plot(*np.asarray(alignment.path).T, color=RED, lw=2)
    grid.set(xlabel="frame of a kick", ylabel="frame of another kick")
    title(grid, "1  compare every frame with every frame:\na valley of minima is the same action")

    rng = np.random.default_rng(4)
    angle = np.linspace(0.25 * np.pi, 1.15 * np.pi, 13)
    kicks = np.column_stack([np.cos(angle), np.sin(angle)]) * 2.1 + rng.normal(0, 0.05, (13, 2))
    walks = rng.normal([0.75, -0.25], 0.16, (12, 2))
    steps.plot(*walks.T, "s", color=GRAY, ms=5)
    for n, (place, near) in enumerate(zip(kicks, 0.62 * np.ones(13), strict=True)):
        if n % 3 == 0:
            steps.add_patch(Circle(place, near, fill=False, ec=BLUE, lw=1, ls=":"))
    for current, other in zip(kicks[:-1], kicks[1:], strict=True):
        steps.plot(*np.array([current, other]).T, color=BLUE, lw=1)
    steps.plot(*kicks.T, "o", color=BLUE, ms=7)
    steps.plot(*kicks[0], "o", color=RED, ms=9)
    steps.add_patch(Circle(kicks[0], 2.1, fill=False, ec=RED, lw=1, ls="--"))
    steps.annotate("query", kicks[0], (6, 5), textcoords="offset points", color=RED)
    steps.annotate("walks", walks.mean(axis=0), (8, -20), textcoords="offset points", color=GRAY)
    steps.annotate("leaping kicks", kicks[-1], (-8, -16), textcoords="offset points", color=BLUE)
    steps.set(xlim=(-2.9, 3.8), ylim=(-1.5, 3.8), aspect="equal")
    bare(steps)
    title(steps, "2  many small steps reach kicks that one\nlarge step reaches only with walks")

    examples = np.array(
        [[0.1, 0.2], [0.35, 0.85], [0.75, 0.95], [0.95, 0.4], [0.6, 0.1], [0.5, 0.5]]
    )
    blends = [
        examples[current].T @ rng.dirichlet(np.ones(3))
        for current in Delaunay(examples).simplices
        for _ in range(38)
    ]
    aim.plot(*np.array(blends).T, ".", color="#c9ced6", ms=5, label="sampled blends")
    aim.plot(*examples.T, "o", color=RED, ms=8, label="examples")
    target, corners = np.array([0.5, 0.72]), examples[[1, 2, 5]]
    weights = np.linalg.solve(np.vstack([corners.T, np.ones(3)]), [*target, 1.0])
    for corner, weight in zip(corners, weights, strict=True):
        aim.plot(*np.array([corner, target]).T, color=GREEN, lw=0.6 + 6 * weight)
        aim.annotate(f"{weight:.2f}", 0.55 * corner + 0.45 * target, color=DARK, fontsize=8)
    aim.plot(*target, "*", color=GREEN, ms=17, label="target")
    aim.legend(fontsize=7, loc="lower left", frameon=False)
    aim.set(xlim=(-0.05, 1.1), ylim=(-0.25, 1.08))
    bare(aim)
    title(aim, "3  where the foot lands: weights of the\nnearest blends give a kick on target")
    return figure


def fast_search():
    """Boxes of a kd-tree, the lazy graph, reconstruction, fat graph."""
    figure, (tree, lazy, body, fat) = panels(4, [1, 1.15, 1, 1], wide=13.0)
    rng = np.random.default_rng(1)
    points = np.vstack(
        [rng.normal(m, s, (60, 2)) for m, s in (((0.3, 0.35), 0.1), ((0.7, 0.7), 0.12))]
    )
    query, radius = np.array([0.37, 0.42]), 0.1
    _boxes(tree, points, np.array([0.0, 0.0]), np.array([1.0, 1.0]), query, radius)
    near = np.linalg.norm(points - query, axis=1) < radius
    tree.plot(*points[~near].T, ".", color=GRAY, ms=4)
    tree.plot(*points[near].T, ".", color=BLUE, ms=7)
    tree.plot(*query, "o", color=RED, ms=6)
    tree.add_patch(Circle(query, radius, fill=False, ec=RED))
    tree.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    bare(tree)
    title(tree, "1  poses are points; only the\nshaded boxes are opened")

    a, b = ml.demo.clip("kick_front_mid_right"), ml.demo.clip("kick_front_high_right", performer=1)
    rows = [
        motion.role_positions(["left_wrist", "right_wrist", "left_ankle", "right_ankle", "head"])
        - motion.role_positions(["hips"])
        for motion in (a[12:60:2], b[:90:2])
    ]
    q, d = (table.reshape(len(table), -1) for table in rows)
    _, neighbors = cKDTree(d).query(q, k=7)
    for i, row in enumerate(neighbors):
        lazy.plot(np.full(len(row), i), row, "o", color=GRAY, ms=2.8)
        for j in row:
            for di, dj in ((1, 1), (0, 1), (1, 0)):
                if i + di < len(q) and j + dj in neighbors[i + di]:
                    lazy.plot([i, i + di], [j, j + dj], color="#b9c6d8", lw=0.7)
    path = _cheapest(q, d, neighbors)
    lazy.plot(*path.T, color=RED, lw=2)
    lazy.set(xlabel="frame of the query", ylabel="frame of the library")
    title(lazy, "2  neighbors of every query frame,\njoined in order of time; shortest path")

    for n, (name, performer) in enumerate(
        (("walk", 0), ("walk", 1), ("walk_fast", 2), ("walk_slow", 3))
    ):
        motion = ml.demo.clip(name, performer=performer)
        _figure(body, motion, 8 + 3 * n, GRAY, 0.35, lw=1.6)
    walk = ml.demo.clip("walk", performer=0)
    _figure(body, walk, 9, BLUE, 0.9, lw=2.6)
    six = ["left_wrist", "right_wrist", "left_ankle", "right_ankle", "head", "hips"]
    seen = _from_the_side(walk, 9, six)
    body.plot(*seen.T, "o", color=RED, ms=7)
    body.set(aspect="equal", xlim=(-0.75, 0.75))
    bare(body)
    title(body, "3  six markers select poses (gray);\ntheir mean and spread fill in the rest")

    hubs = np.array([[0.15, 0.5], [0.85, 0.5]])
    for start, end, many in ((0, 1, 7), (1, 0, 6)):
        for bend in np.linspace(0.12, 0.62, many):
            fat.add_patch(
                FancyArrowPatch(
                    hubs[start],
                    hubs[end],
                    connectionstyle=f"arc3,rad={bend}",
                    arrowstyle="-|>",
                    mutation_scale=8,
                    color=BLUE if start else GREEN,
                    lw=1,
                    shrinkA=30,
                    shrinkB=32,
                )
            )
    for place, text in zip(hubs, ("left foot\ndown", "right foot\ndown"), strict=True):
        fat.add_patch(Circle(place, 0.12, fc="white", ec=DARK, lw=1.5, zorder=3))
        fat.annotate(text, place, ha="center", va="center", fontsize=7, zorder=4)
    fat.annotate(
        "slow ... fast, left ... right:\nblended as requested",
        (0.5, 0.08),
        ha="center",
        fontsize=8,
    )
    fat.set(xlim=(0, 1), ylim=(0, 1))
    bare(fat)
    title(fat, "4  a fat graph: few poses, and between\ntwo of them a bundle of segments")
    return figure


def motion_beats():
    """Candidates, one wave, beats, movements and their graph."""
    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    spaces = figure.add_gridspec(3, 2, width_ratios=[1.9, 1], height_ratios=[1.5, 1, 0.55])
    top, wave, bars = (figure.add_subplot(spaces[n, 0]) for n in range(3))
    graph = figure.add_subplot(spaces[:, 1])
    dance = ml.demo.clip("dance_groove")[:260]
    beats = ml.beats(dance)
    seconds = np.arange(len(dance)) / dance.fps
    candidates = candidate_beats([dance])
    for n, role in enumerate(("left_wrist", "right_wrist", "left_knee", "right_knee")):
        curve = dance.role_positions([role])[:, 0, 1]
        curve = (curve - curve.mean()) / (np.ptp(curve) + 1e-9)
        top.plot(seconds, curve - 1.1 * n, color=BLUE, lw=1.1)
    for time in candidates.times[candidates.times < seconds[-1]]:
        top.plot([time, time], [-4.1, -3.85], color=GRAY, lw=0.7)
    top.set(xlim=(0, seconds[-1]), xticks=[], yticks=[], ylabel="joints")
    title(top, "1  every moment at which a joint changes direction is a candidate (ticks)")
    shown = beats.times[beats.times < seconds[-1]]
    within = seconds[(seconds >= shown[0]) & (seconds <= shown[-1])]
    phase = np.interp(within, beats.times, np.arange(len(beats.times)))
    wave.plot(within, np.cos(2 * np.pi * phase), color=GREEN, lw=1.4)
    wave.vlines(shown, -1.2, 1.2, color=RED, lw=1.2)
    wave.set(xlim=(0, seconds[-1]), ylim=(-1.25, 1.25), xticks=[], yticks=[], ylabel="rhythm")
    title(
        wave,
        "2  the wave that fits most candidates: beats (red), moved to where candidates gather",
    )
    inks = ("#2f7ed8", "#e8a33d", "#12946f", "#c46bb0")
    for n, first in enumerate(range(0, len(shown) - 4, 4)):
        bars.add_patch(
            Rectangle(
                (shown[first], 0.1),
                shown[first + 4] - shown[first],
                0.8,
                fc=inks[n % 3],
                alpha=0.55,
            )
        )
        bars.annotate(
            "ABC"[n % 3], (0.5 * (shown[first] + shown[first + 4]), 0.5), ha="center", va="center"
        )
    bars.set(xlim=(0, seconds[-1]), ylim=(0, 1), yticks=[], xlabel="seconds")
    title(bars, "3  four beats are a movement; similar movements form a group")
    places = {"A": (0.2, 0.75), "B": (0.8, 0.72), "C": (0.5, 0.2)}
    for node, other, likely in (
        ("A", "B", 0.7),
        ("B", "C", 0.8),
        ("C", "A", 0.6),
        ("A", "C", 0.3),
        ("C", "B", 0.4),
    ):
        graph.add_patch(
            FancyArrowPatch(
                places[node],
                places[other],
                connectionstyle="arc3,rad=0.16",
                arrowstyle="-|>",
                mutation_scale=13,
                lw=4 * likely,
                color=GRAY,
                shrinkA=24,
                shrinkB=24,
            )
        )
    for n, (name, place) in enumerate(places.items()):
        graph.add_patch(Circle(place, 0.1, fc=inks[n], alpha=0.8))
        graph.annotate(name, place, ha="center", va="center", fontsize=13)
    graph.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    bare(graph)
    title(
        graph,
        "4  which group follows which: a dance is a\nwalk on this graph, timed by the music",
    )
    return figure


def whole_clips():
    """Simplified curves, transport between clips."""
    figure, axes = panels(3, [1, 1, 1], wide=11.0, tall=3.3)
    kick, again, other = (
        ml.demo.clip(name, performer=p)
        for name, p in (("kick_front_mid_right", 0), ("kick_front_high_right", 1), ("walk_fast", 0))
    )
    curves = [_hip_angle(motion) for motion in (kick, again, other)]
    corners = [_simplified(curve, 10.0) for curve in curves]
    axes[0].plot(curves[0], color=BLUE, lw=1)
    _heap(axes[0], curves[0], corners[0], BLUE, 0.0)
    axes[0].set(xlabel="frame of 128", ylabel="angle of the right hip, degrees")
    title(
        axes[0],
        "1  a curve becomes a few corners;\nsize: number of frames that a corner represents",
    )
    for axis, n, text in ((axes[1], 1, "another kick"), (axes[2], 2, "a walk")):
        shift = -75.0
        axis.plot(curves[0], color=BLUE, lw=0.8, alpha=0.6)
        axis.plot(curves[n] + shift, color=RED, lw=0.8, alpha=0.6)
        work, flows = _transport(curves[0], corners[0], curves[n], corners[n])
        for i, k, mass in flows:
            axis.plot(
                [corners[0][i], corners[n][k]],
                [curves[0][corners[0][i]], curves[n][corners[n][k]] + shift],
                color=GRAY,
                lw=0.35 + 0.09 * mass,
            )
        _heap(axis, curves[0], corners[0], BLUE, 0.0)
        _heap(axis, curves[n], corners[n], RED, shift)
        axis.set(xlabel="frame of 128", yticks=[])
        title(
            axis, f"{n + 1}  the same kick and {text}:\n{work:.0f} degrees of work per unit of mass"
        )
    return figure


def motion_graphs():
    """Relative distances, the error function with its minima, clips with transitions."""
    figure, (pose, error, graph) = panels(3, [0.8, 1, 1.15], wide=11.0, tall=3.5)
    walk = ml.demo.clip("walk")
    for frame, place, ink, turn in ((12, -0.65, BLUE, 0.0), (12, 0.75, GREEN, 1.1)):
        shown = walk[frame : frame + 1].starting_at_origin().transform(yaw=turn)
        _figure(pose, shown, 0, ink, 0.8, lw=2.2, aside=place)
        roles = [
            ("left_wrist", "right_ankle"),
            ("right_wrist", "left_ankle"),
            ("left_wrist", "head"),
            ("left_ankle", "right_ankle"),
        ]
        for pair in roles:
            ends = _from_the_side(shown, 0, list(pair)) + [place, 0.0]
            pose.plot(*ends.T, color=RED, lw=1.1, ls=":")
    pose.set(aspect="equal", xlim=(-1.15, 1.25))
    bare(pose)
    title(pose, "1  distances between joints do not depend\non the position and heading of a pose")
    clips = [ml.demo.clip(name) for name in ("walk", "walk_left")]
    matrix = distance_matrix(*clips, "jrd")
    error.imshow(matrix.T, origin="lower", cmap="Grays_r", aspect="auto")
    step = 25
    for line in range(0, max(matrix.shape), step):
        error.axvline(line, color="#9fb4cc", lw=0.4)
        error.axhline(line, color="#9fb4cc", lw=0.4)
    limit = np.quantile(matrix, 0.06)
    for i in range(0, matrix.shape[0], step):
        for j in range(0, matrix.shape[1], step):
            part = matrix[i : i + step, j : j + step]
            di, dj = np.unravel_index(part.argmin(), part.shape)
            good = part.min() < limit
            error.plot(i + di, j + dj, "o", color=RED if good else GRAY, ms=5 if good else 2.5)
    error.set(
        xlim=(0, matrix.shape[0] - 1),
        ylim=(0, matrix.shape[1] - 1),
        xlabel="frame of a walk",
        ylabel="frame of a turn",
    )
    title(error, "2  the error function: the minimum of each\nsector, kept (red) below a threshold")
    rng = np.random.default_rng(3)
    heights, lengths = (0.85, 0.55, 0.2), (0.95, 0.8, 0.45)
    for n, (height, length) in enumerate(zip(heights, lengths, strict=True)):
        dead = n == 2
        graph.annotate(
            "",
            (length + 0.02, height),
            (0.03, height),
            arrowprops={"arrowstyle": "-|>", "lw": 5, "color": GRAY if dead else BLUE},
        )
        graph.annotate(
            ("walk", "turn", "sit down: a dead end")[n],
            (0.03, height + 0.05),
            fontsize=8,
            color=DARK,
        )
    for start, end, x, y in (
        (0, 1, 0.25, 0.35),
        (1, 0, 0.55, 0.2),
        (0, 1, 0.7, 0.5),
        (1, 0, 0.75, 0.45),
        (1, 2, 0.15, 0.2),
    ):
        graph.add_patch(
            FancyArrowPatch(
                (x, heights[start]),
                (y, heights[end]),
                arrowstyle="-|>",
                mutation_scale=11,
                connectionstyle=f"arc3,rad={rng.uniform(-0.15, 0.15):.2f}",
                color=GRAY if end == 2 else RED,
                lw=1.5,
            )
        )
    graph.set(xlim=(0, 1.05), ylim=(0, 1))
    bare(graph)
    title(graph, "3  clips and transitions (red) form a graph;\ndead ends are removed")
    return figure


def panels(count, ratios, *, wide=10.5, tall=3.5):
    """A figure with panels side by side."""
    figure = Figure(figsize=(wide, tall), layout="constrained")
    return figure, figure.subplots(1, count, width_ratios=ratios)


def title(axis, text):
    axis.set_title(text, fontsize=9, loc="left", color=DARK)
    axis.tick_params(labelsize=7)
    axis.xaxis.label.set_size(8)
    axis.yaxis.label.set_size(8)


def bare(axis):
    axis.set(xticks=[], yticks=[])
    for side in axis.spines.values():
        side.set_visible(False)


def _boxes(axis, points, low, high, query, radius, depth=0):
    """Boxes of a kd-tree; those that the circle touches are shaded."""
    if len(points) <= 8 or depth > 5:
        nearest = np.clip(query, low, high)
        opened = np.linalg.norm(nearest - query) < radius
        axis.add_patch(
            Rectangle(low, *(high - low), fc="#dcebfb" if opened else "white", ec="#c2c8d0", lw=0.7)
        )
        return
    side = int(np.argmax(np.ptp(points, axis=0)))
    cut = np.median(points[:, side])
    upper, lower = high.copy(), low.copy()
    upper[side] = lower[side] = cut
    _boxes(axis, points[points[:, side] <= cut], low, upper, query, radius, depth + 1)
    _boxes(axis, points[points[:, side] > cut], lower, high, query, radius, depth + 1)


def _cheapest(q, d, neighbors):
    """Shortest path through the lazy graph, as frames (N, 2)."""
    cost, before = {}, {}
    for i, row in enumerate(neighbors):
        for j in sorted(int(cell) for cell in row):
            own = float(np.linalg.norm(q[i] - d[j]))
            options = [
                (cost[i - di, j - dj], (i - di, j - dj))
                for di, dj in ((1, 1), (0, 1), (1, 0))
                if (i - di, j - dj) in cost
            ]
            if i == 0:
                options.append((0.0, None))
            if options:
                least, before[i, j] = min(options, key=lambda cell: cell[0])
                cost[i, j] = least + own
    here = min((cell for cell in cost if cell[0] == len(neighbors) - 1), key=cost.get)
    path = []
    while here is not None:
        path.append(here)
        here = before[here]
    return np.array(path[::-1])


def _from_the_side(motion, frame, roles):
    """Positions (N, 2) of roles seen from the side, relative to the hips on the floor."""
    shown = motion[frame : frame + 1].starting_at_origin() if len(motion) > 1 else motion
    places = shown.role_positions(roles)[0]
    return np.column_stack([places[:, 2] + 0.35 * places[:, 0], places[:, 1]])


def _figure(axis, motion, frame, ink, alpha, *, lw, aside=0.0):
    """Stick figure of a pose, seen from the side."""
    shown = motion[frame : frame + 1].starting_at_origin() if len(motion) > 1 else motion
    sticks = stick_figure(motion)
    points = sticks.positions(shown)[0]
    flat = np.column_stack([points[:, 2] + 0.35 * points[:, 0] + aside, points[:, 1]])
    for a, b in sticks.bones:
        axis.plot(*flat[[a, b]].T, color=ink, alpha=alpha, lw=lw, solid_capstyle="round")


def _hip_angle(motion):
    """Flexion of the right hip in degrees, over 128 frames."""
    hip, knee = motion.role_positions(["right_hip", "right_knee"]).transpose(1, 0, 2)
    facing = motion.headings()
    thigh = knee - hip
    ahead = thigh[:, 0] * np.sin(facing) + thigh[:, 2] * np.cos(facing)
    angle = np.degrees(np.arctan2(ahead, -thigh[:, 1]))
    return np.interp(np.linspace(0, len(angle) - 1, 128), np.arange(len(angle)), angle)


def _simplified(curve, threshold, first=0, last=None):
    """Corners of a curve by the Douglas-Peucker method."""
    last = len(curve) - 1 if last is None else last
    line = np.interp(np.arange(first, last + 1), [first, last], curve[[first, last]])
    off = np.abs(curve[first : last + 1] - line)
    if last - first < 2 or off.max() < threshold:
        return [first, last]
    middle = first + int(off.argmax())
    return _simplified(curve, threshold, first, middle)[:-1] + _simplified(
        curve, threshold, middle, last
    )


def _masses(corners):
    """Frames nearest to each corner."""
    frames = np.arange(128)
    return np.bincount(
        np.abs(frames[:, None] - np.array(corners)).argmin(axis=1), minlength=len(corners)
    )


def _heap(axis, curve, corners, ink, shift):
    sizes = 3.2 * _masses(corners)
    axis.scatter(corners, curve[corners] + shift, s=sizes, color=ink, alpha=0.75, zorder=3)


def _transport(source, supply, other, others):
    """Least work per unit of mass between the corners of two curves, and the flows."""
    a, b = _masses(supply), _masses(others)
    apart = np.hypot(source[supply][:, None] - other[others], np.subtract.outer(supply, others))
    equal = np.vstack(
        [np.kron(np.eye(len(a)), np.ones(len(b))), np.kron(np.ones(len(a)), np.eye(len(b)))]
    )
    done = linprog(apart.ravel(), A_eq=equal, b_eq=np.concatenate([a, b]), method="highs")
    flow = done.x.reshape(apart.shape)
    return done.fun / a.sum(), [(i, k, flow[i, k]) for i, k in np.argwhere(flow > 0.5)]


def main(names):
    drawings = {
        "families": families,
        "fast-search": fast_search,
        "motion-beats": motion_beats,
        "whole-clips": whole_clips,
        "motion-graphs": motion_graphs,
    }
    for name in names or drawings:
        path = HERE / f"concepts-{name}.png"
        drawings[name]().savefig(path, dpi=100)
        with Image.open(path) as drawn:
            small = drawn.convert("RGB").quantize(128, method=Image.Quantize.MEDIANCUT)
        small.save(path, optimize=True)
        print(path.name, round(path.stat().st_size / 1000), "kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
