"""Kinematics and measures of robots, restated one frame and one part at a time.

The measures are those of OmniRetarget's evaluator (holosoma-retargeting, eval_retargeting.py):

- A frame penetrates if a shape is more than 1 cm below the floor; the duration is the fraction of
  such frames, and the depth is the mean over them of the largest depth.
- A foot sticks in a frame if the source's toe moved at most 1 cm horizontally since the frame
  before; it slides if it sticks and the robot's toe moved more than 1 cm. The duration is the
  number of frames with a sliding foot divided by the number of frames with a sticking foot; the
  speed is the mean over the sliding frames of the faster sliding toe.
- A contact is preserved if the robot's part is within 2 cm of the surface wherever the source's is.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation


def body_frames(model, root, base_wxyz, angles):
    """World rotations and positions of all nodes, from nested dictionaries; y up.

    `model` is a list of dicts with parent, offset, rest (wxyz), axis and hinge (or None).
    """
    turns, places = [], []
    for node in model:
        w, x, y, z = node["rest"]
        local = Rotation.from_quat([x, y, z, w])
        if node["hinge"] is not None:
            local = local * Rotation.from_rotvec(np.array(node["axis"]) * angles[node["hinge"]])
        if node["parent"] < 0:
            w, x, y, z = base_wxyz
            turns.append(Rotation.from_quat([x, y, z, w]))
            places.append(np.array(root, float))
        else:
            above = turns[node["parent"]]
            turns.append(above * local)
            places.append(places[node["parent"]] + above.apply(node["offset"]))
    return turns, places


def penetration(depths, tolerance=0.01):
    """Duration and mean depth, from the largest depth below the floor in each frame."""
    deep = [depth for depth in depths if depth > tolerance]
    return len(deep) / len(depths), sum(deep) / len(deep) if deep else 0.0


def sliding(source_toes, robot_toes, threshold=0.01):
    """Duration and mean step in m per frame; toes are lists of (left, right) positions, y up."""

    def steps(toes):
        rows = [[0.0, 0.0]]
        for before, after in zip(toes, toes[1:], strict=False):
            rows.append(
                [
                    float(np.hypot(b[0] - a[0], b[2] - a[2]))
                    for a, b in zip(before, after, strict=True)
                ]
            )
        return rows

    sticking, fastest = 0, []
    for frame, (ours, theirs) in enumerate(zip(steps(robot_toes), steps(source_toes), strict=True)):
        stuck = [frame > 0 and step <= threshold for step in theirs]
        sticking += any(stuck)
        slid = [step for step, holds in zip(ours, stuck, strict=True) if holds and step > threshold]
        if slid:
            fastest.append(max(slid))
    return len(fastest) / max(sticking, 1), sum(fastest) / len(fastest) if fastest else 0.0


def contact_preservation(source_heights, robot_heights, threshold=0.02):
    """Fraction of the frames with a contact in which the robot has all contacts of the source."""
    kept, total = 0, 0
    for source, robot in zip(source_heights, robot_heights, strict=True):
        touching = [side for side, height in enumerate(source) if height <= threshold]
        if touching:
            total += 1
            kept += all(robot[side] <= threshold for side in touching)
    return kept / total if total else 1.0


def segment_distance(p, q, r, s, steps=200):
    """Distance of two segments by trying many points of one of them."""
    best = np.inf
    for share in np.linspace(0.0, 1.0, steps):
        point = p + share * (q - p)
        line = s - r
        length = float(line @ line)
        along = 0.0 if length == 0.0 else float(np.clip((point - r) @ line / length, 0.0, 1.0))
        best = min(best, float(np.linalg.norm(point - r - along * line)))
    return best
