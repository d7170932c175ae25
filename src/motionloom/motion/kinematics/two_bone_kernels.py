"""Legs and arms brought to another place, in kernels: one limb of one frame at a time.

The limb is turned as a whole towards its goal, and its middle joint opens or closes until the
tip is there; `motionloom.motion.kinematics.limbs` does the same for whole motions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from motionloom.motion.rotations.kernels import turned

_HAIR = 0.03  # share of a limb's length by which its middle joint is out when all but straight
_BENT = 0.045  # ... by which it is out when it is bent, and no longer asks where ahead is
_TOES_AHEAD = 0.3  # of unit length square to the limb: less does not tell where ahead is
STRAIGHT = 0.995  # of its length, how far a limb reaches


@njit(cache=True)
def least_turn(a, b, out):
    """The least rotation that turns a into the direction of b."""
    size = math.sqrt((a @ a) * (b @ b))
    if size < 1e-12:
        out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
        return
    w = size + a @ b
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if norm < 1e-9 * size:  # opposite; does not happen to limbs
        out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
        return
    out[0], out[1], out[2], out[3] = w / norm, x / norm, y / norm, z / norm


@njit(cache=True)
def _reach(wished, natural, length):
    """How far a limb goes that should go `wished` and went `natural`: never quite straight."""
    most = max(STRAIGHT * length, min(natural, 0.9999 * length))
    soft = 0.97 * length
    if wished <= natural or wished <= soft:
        return wished
    start = max(soft, natural)
    room = most - start
    if room < 1e-9:
        return most
    return start + room * (1.0 - math.exp(-(wished - start) / room))


@njit(cache=True)
def solve_limb(hip, knee, ankle, goal, ahead, upper, lower):
    """World turns of thigh and shank that bring the ankle towards `goal`; where it arrives.

    Knees go `ahead`; of an elbow, which may go anywhere, say zeros. `ahead` is a unit vector.
    """
    thigh, shank = knee - hip, ankle - knee
    a, b = math.sqrt(thigh @ thigh), math.sqrt(shank @ shank)
    line = ankle - hip
    natural = math.sqrt(line @ line)
    wish = goal - hip
    wished = math.sqrt(wish @ wish)
    far = max(_reach(wished, natural, a + b), 1.02 * abs(a - b) + 1e-6)
    along = line / natural
    aside = thigh - (thigh @ along) * along
    # A straight knee may be bent the wrong way by a hair, and must not flip: what it is bent
    # towards the toes stays positive. A bent one knows better than toes that point down behind.
    toes = ahead - (ahead @ along) * along
    size = math.sqrt(toes @ toes)
    if size > 1e-6:
        toes /= size
        part = aside @ toes
        kept = 0.5 * (part + math.hypot(part, _HAIR * (a + b)))
        doubt = 1.0 / (1.0 + ((aside @ aside) / (_BENT * (a + b)) ** 2) ** 2)
        aside += doubt * (kept - part) * min(1.0, size / _TOES_AHEAD) * toes
    aside /= math.sqrt(aside @ aside) + 1e-12
    cosine = min(1.0, max(-1.0, (a * a + far * far - b * b) / (2.0 * a * far)))
    bent = a * (cosine * along + math.sqrt(1.0 - cosine * cosine) * aside)
    swing, turn = np.empty(4), np.empty(4)
    least_turn(line, wish, swing)
    least_turn(thigh, bent, turn)
    turned(swing, turn, upper)
    least_turn(shank, far * along - bent, turn)
    turned(swing, turn, lower)
    return hip + wish * (far / wished)


@njit(cache=True)
def set_world(q, t, joint, turn, parents, change, parent_change, around, world):
    """Local rotation of a joint turned by `change` whose parent was turned by another."""
    turned(change, turn[joint], world)
    if parents[joint] >= 0:
        turned(parent_change, turn[parents[joint]], around)
        _inverse_product(around, world, world)
    sign = 1.0 if (world * q[t, joint]).sum() >= 0.0 else -1.0
    for c in range(4):
        q[t, joint, c] = sign * world[c]


@njit(cache=True)
def _inverse_product(a, b, out):
    """The product inverse(a) b."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1]
    z = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]
    out[0], out[1], out[2], out[3] = w, x, y, z
