"""Reference features and distances, straight from the definitions in the papers."""

import math

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation


def point_cloud_distance(p, q, weights):
    """Kovar et al. (2002), equation 1, by searching angle and shift numerically."""

    def cost(guess):
        angle, x0, z0 = guess
        total = 0.0
        for w, (px, py, pz), (qx, qy, qz) in zip(weights, p, q, strict=True):
            x = math.cos(angle) * qx + math.sin(angle) * qz + x0
            z = -math.sin(angle) * qx + math.cos(angle) * qz + z0
            total += w * ((px - x) ** 2 + (py - qy) ** 2 + (pz - z) ** 2)
        return total

    angles = np.linspace(0.0, 2.0 * np.pi, 6, endpoint=False)
    return math.sqrt(min(minimize(cost, (angle, 0.0, 0.0)).fun for angle in angles))


def window_cloud(places, frame, fps, times, weights):
    """Points and weights of the window around `frame`; `places` (T, P, 3) in the world."""
    points, point_weights = [], []
    for time, weight in zip(times, weights, strict=True):
        for point in at_time(places, frame, fps, time):
            points.append(tuple(point))
            point_weights.append(weight / len(places[0]))
    return points, point_weights


def at_time(values, frame, fps, seconds):
    """Value at a time before or after a frame, interpolated linearly."""
    place = min(max(frame + seconds * fps, 0.0), len(values) - 1.0)
    if abs(place - round(place)) < 1e-6:
        return values[round(place)]
    before = math.floor(place)
    share = place - before
    return (1.0 - share) * values[before] + share * values[before + 1]


def heading(left_hip, right_hip, left_shoulder, right_shoulder):
    """Angle about the vertical from +Z to the direction that a body with these joints faces."""
    across = (left_hip - right_hip) + (left_shoulder - right_shoulder)
    forward = np.cross(across, [0.0, 1.0, 0.0])
    return math.atan2(forward[0], forward[2])


def root_frame(points, root, turn):
    """Points of one frame without position and orientation of the root (`turn`: wxyz).

    Krüger et al. (2010), section 3.2: "normalized root positions and orientations".
    """
    w, x, y, z = turn
    return Rotation.from_quat([x, y, z, w]).inv().apply(np.asarray(points) - root)


def body_frame(points, hips, angle):
    """Points of one frame with the hips over the origin, rotated by minus `angle`."""
    out = []
    for x, y, z in points:
        x, z = x - hips[0], z - hips[2]
        out.append(
            (
                math.cos(angle) * x - math.sin(angle) * z,
                y,
                math.sin(angle) * x + math.cos(angle) * z,
            )
        )
    return np.array(out)


def root_mean_square(a, b):
    """Root mean square distance of points (P, 3) and (P, 3)."""
    return math.sqrt(sum(float(np.sum((p - q) ** 2)) for p, q in zip(a, b, strict=True)) / len(a))


def global_rotation(local, parents, joint):
    """World rotation of one joint in one frame, computed by climbing up to the root."""
    turn = Rotation.identity()
    while joint >= 0:
        turn = Rotation.from_quat(local[joint], scalar_first=True) * turn
        joint = parents[joint]
    return turn


def from_rest(local, rest, parents, joint):
    """World rotation from the rest pose to a frame."""
    return global_rotation(local, parents, joint) * global_rotation(rest, parents, joint).inv()


def quaternion_distance(turns_a, turns_b):
    """Root mean square of chords 2 sin(angle / 2) of joints' rotations."""
    chords = [
        2.0 * math.sin((a.inv() * b).magnitude() / 2.0)
        for a, b in zip(turns_a, turns_b, strict=True)
    ]
    return math.sqrt(sum(chord**2 for chord in chords) / len(chords))


def euler_distance(turns_a, turns_b, order):
    """Root mean square over the joints of chords of three Euler angles."""
    total = 0.0
    for a, b in zip(turns_a, turns_b, strict=True):
        for alpha, beta in zip(a.as_euler(order), b.as_euler(order), strict=True):
            total += (2.0 * math.sin((alpha - beta) / 2.0)) ** 2
    return math.sqrt(total / len(turns_a))


def angular_velocity(before, here, after, fps):
    """Mean of the angular velocities to and from a frame."""
    first = (here * before.inv()).as_rotvec() * fps
    second = (after * here.inv()).as_rotvec() * fps
    return (first + second) / 2.0


def transition_cost(a, b, weights, velocity_weight):
    """Lee et al. (2002): a and b are dicts of height, velocity, turns and spins (by joint)."""
    cost = (a["height"] - b["height"]) ** 2
    cost += velocity_weight * float(np.sum((a["velocity"] - b["velocity"]) ** 2))
    for joint, weight in weights.items():
        cost += weight * (a["turns"][joint].inv() * b["turns"][joint]).magnitude() ** 2
        spin = a["spins"][joint] - b["spins"][joint]
        cost += velocity_weight * weight * float(np.sum(spin**2))
    return cost


def principal_components(rows, count):
    """Coordinates along the first directions, by singular values of the centered table."""
    centered = rows - np.mean(rows, axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    return centered @ directions[:count].T


def spearman(x, y):
    """Rank correlation by its definition: correlation of ranks, ties at their mean rank."""
    ranks = []
    for values in (x, y):
        ranks.append(
            [
                sum(other < value for other in values)
                + (sum(other == value for other in values) + 1) / 2.0
                for value in values
            ]
        )
    first, second = np.array(ranks[0]), np.array(ranks[1])
    first, second = first - first.mean(), second - second.mean()
    return float(np.sum(first * second) / math.sqrt(np.sum(first**2) * np.sum(second**2)))


def dtw(matrix):
    """Cost of the best warping path through a matrix, steps right, down and both, per cell."""
    rows, columns = len(matrix), len(matrix[0])
    best = {}
    for i in range(rows):
        for j in range(columns):
            before = [best[p] for p in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if p in best]
            best[i, j] = matrix[i][j] + (min(before) if before else 0.0)
    return best[rows - 1, columns - 1]
