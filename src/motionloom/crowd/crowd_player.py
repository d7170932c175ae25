"""A troupe: many who dance one choreography to one clock, each movement begun together.

All start on the same downbeats, so a movement of everybody is one block of frames: movements
of a node are blended for all who dance it in one call of the kernel, seams fade for each
(`motionloom.blending.inertialization`), whoever steers says where each is carried, and feet are
held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.inertialization import Stitch
from motionloom.blending.poses import mix
from motionloom.crowd.description import SWAY
from motionloom.crowd.holds import Holds
from motionloom.motion.feet.streaming import FootPlanter
from motionloom.motion.rotations import quaternions as rot
from motionloom.rhythm.choreography import Choreography
from motionloom.rhythm.dance_nodes import DanceNode, between

Array = NDArray[np.float64]
# Natural centres (A, n, 2) and headings (A, n) of a movement -> where centres are carried
# (A, n, 2) and by how much each is turned (A, n).
Carry = Callable[[Array, Array], tuple[Array, Array]]

# Held feet carry bodies off their discs by no more than discs are wider for; less than rounding.
_LEASH = 0.999 * SWAY


@dataclass(frozen=True, eq=False)
class Block:
    """Some frames of A agents of C bodies each.

    Attributes
    ----------
    rotations : list of ndarray, C of shape (A, n, J, 4)
    root : list of ndarray, C of shape (A, n, 3)
    contacts : list of ndarray of bool, C of shape (A, n, 4)
    centres : ndarray, shape (A, n, 2)
    chosen : ndarray of int, shape (A,)
        Node that each danced.
    weights : list of ndarray
        Of its movements.
    frames : ndarray, shape (n,)
        Frames of the movements that were shown.
    """

    rotations: list[NDArray[np.float32]]
    root: list[NDArray[np.float32]]
    contacts: list[NDArray[np.bool_]]
    centres: Array
    chosen: NDArray[np.int64]
    weights: list[Array]
    frames: Array


class Troupe:
    """A agents of one choreography.

    Parameters
    ----------
    choreography : Choreography
    places : array_like, shape (A, 3)
        Where each starts, ``x, z, yaw`` of the leader.
    """

    def __init__(self, choreography: Choreography, places: Array) -> None:
        self.choreography = choreography
        self.nodes = choreography.dance_nodes
        self.skeletons = tuple(clips.skeleton for clips in self.nodes[0].clips)
        self.places = np.array(places, np.float64)
        agents, fps = len(self.places), choreography.fps
        self._stitches = [Stitch(agents * len(skeleton), fps) for skeleton in self.skeletons]
        self._planters = [
            FootPlanter(skeleton, fps, characters=agents, leash=_LEASH)
            for skeleton in self.skeletons
        ]
        self._grounds = [[_grounds(node, body) for body in range(len(self.skeletons))]
                         for node in self.nodes]  # fmt: skip
        self._holds = Holds.of([movement.bodies for movement in choreography.movements])
        self._begun = False

    def __len__(self) -> int:
        return len(self.places)

    def block(
        self, chosen: NDArray[np.int64], weights: list[Array], frames: Array, carry: Carry
    ) -> Block:
        """Everybody's next movement.

        Parameters
        ----------
        chosen : ndarray of int, shape (A,)
            Node that each dances.
        weights : list of ndarray
            Of the movements of that node, per agent.
        frames : ndarray, shape (n,)
            Frames of the movement that are due, between frames too.
        carry : callable
            Where that takes everybody.
        """
        agents, bodies = len(self), len(self.skeletons)
        # Three frames for the seam, then those to be shown.
        times = np.concatenate([[0.0, 1.0, 2.0], frames])
        size = len(times)
        turned = [np.empty((agents, size, len(s), 4), np.float32) for s in self.skeletons]
        moved = [np.empty((agents, size, 3), np.float32) for _ in range(bodies)]
        stands = [np.empty((agents, size, 4), bool) for _ in range(bodies)]
        grounds = [np.empty((agents, len(frames), 2)) for _ in range(bodies)]
        headings = np.empty((agents, size))
        for number in np.unique(chosen):
            who = np.flatnonzero(chosen == number)
            node = self.nodes[number]
            shares = np.stack([weights[i] for i in who])
            at = node.places(shares, self.places[who])
            here = between(at.swapaxes(0, 1), times).swapaxes(0, 1)
            headings[who] = here[..., 2]
            for body in range(bodies):
                rotations, root = _mixed(node, body, shares, times, here)
                turned[body][who], moved[body][who] = rotations, root
                nearest = np.rint(times).astype(np.int64)
                standing = np.einsum("an,nfp->afp", shares, node.contacts[body][:, nearest])
                stands[body][who] = standing > 0.5
                grounds[body][who] = (shares @ self._grounds[number][body])[:, None]
            self.places[who] = at[:, -1]
        for body, stitch in enumerate(self._stitches):
            poses = turned[body].transpose(1, 0, 2, 3).reshape(size, -1, 4)
            path = moved[body].transpose(1, 0, 2).reshape(size, -1)
            if self._begun:
                stitch.seam(poses[:3], path[:3])
            poses[3:], path[3:] = stitch.added(poses[3:], path[3:])
            turned[body] = poses.reshape(size, agents, -1, 4).transpose(1, 0, 2, 3)
            moved[body] = path.reshape(size, agents, 3).transpose(1, 0, 2)
        self._begun = True
        natural = np.asarray(
            np.mean([one[:, 3:, [0, 2]] for one in moved], axis=0, dtype=np.float64)
        )
        centres, yaws = carry(natural, headings[:, 3:])
        out: list[tuple] = []
        for body in range(bodies):
            rotations, root = _carried(turned[body][:, 3:], moved[body][:, 3:], natural,
                                       centres, yaws)  # fmt: skip
            standing = stands[body][:, 3:]
            rotations, root = self._planters[body].plant_all(
                rotations, root, standing, grounds=grounds[body]
            )
            out.append((rotations, root, standing))
        rows = [list(part) for part in zip(*out, strict=True)]
        self._holds.keep(self.skeletons, rows[0], rows[1])
        return Block(rows[0], rows[1], rows[2], centres, chosen, weights, frames)


def _grounds(node: DanceNode, body: int) -> Array:
    """Heights (n, 2) at which the balls of the feet stand in each movement; NaN: never."""
    out = np.full((len(node), 2), np.nan)
    for n, movement in enumerate(node.movements):
        heights = movement.bodies[body].role_positions(["left_foot", "right_foot"])[..., 1]
        for side in range(2):
            stands = node.contacts[body][n][:, 2 * side + 1]
            if stands.any():
                out[n, side] = np.median(heights[stands, side])
    usual = np.nanmedian(out) if np.isfinite(out).any() else np.nan
    return np.where(np.isfinite(out), out, usual)


def _mixed(node: DanceNode, body: int, shares: Array, times: Array, places: Array):
    """Poses of one body of all agents of a node, in one call of the kernel."""
    agents, size, count = len(shares), len(times), len(node)
    clips = node.clips[body]
    grounds = between(node.grounds, times)
    rows = agents * size
    rotations = np.empty((rows, *clips.rotations.shape[1:]), np.float32)
    root = np.empty((rows, 3), np.float32)
    mix(
        clips.rotations, clips.root, clips.starts, np.arange(count, dtype=np.int64),
        np.repeat(shares, size, axis=0),
        np.tile(np.repeat(times[:, None], count, axis=1), (agents, 1)),
        np.tile(grounds, (agents, 1, 1)), places.reshape(rows, 3), rotations, root,
    )  # fmt: skip
    return rotations.reshape(agents, size, -1, 4), root.reshape(agents, size, 3)


def _carried(rotations, root, natural: Array, centres: Array, yaws: Array):
    """Poses turned by `yaws` about their natural centres and put where centres are carried."""
    turned, moved = np.array(rotations), np.array(root)
    turned[:, :, 0] = rot.multiply(rot.yaw(yaws), rotations[:, :, 0].astype(np.float64))
    floor = root[..., 2] - natural[..., 1] + 1j * (root[..., 0] - natural[..., 0])
    floor = floor * np.exp(1j * yaws)
    moved[..., 0] = centres[..., 0] + floor.imag
    moved[..., 2] = centres[..., 1] + floor.real
    return turned, moved
