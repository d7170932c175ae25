"""Play a crowd, in which all agents dance the same choreography to the same clock.

All agents start their movements on the same downbeats, so the frames are generated in blocks of one
movement of all agents. The movements of a node are blended for all of its agents in one kernel
call. Then seams are inertialized, a steering function moves and turns the agents, and feet are
locked. All blocks together form a `CrowdMotion`, which reports its quality.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.inertialization import Inertializer
from motionloom.blending.player import FrameBlock, ScenePlayer
from motionloom.blending.poses import blend_kernel
from motionloom.crowd.hand_holds import Holds
from motionloom.crowd.settings import SWAY
from motionloom.dance.beat_clock import MusicClock
from motionloom.dance.choreography import Choreography
from motionloom.dance.dancing.dance import beats_on_time, music_landings
from motionloom.dance.dancing.nodes import DanceNode, between
from motionloom.dance.motion_beats.landings import LandingFit
from motionloom.dance.music import Music, beats_met
from motionloom.dance.transitions.seams import SeamTable
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import BeatFit, QualityReport, seam_accelerations
from motionloom.motion.feet.contacts import FOOT_PARTS, landings
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.scene import Scene
from motionloom.parallel import Progress, Share

Array = NDArray[np.float64]
# Maps natural centers (A, n, 2) and headings (A, n) of a movement to steered centers (A, n, 2) and
# additional yaws (A, n).
Steer = Callable[[Array, Array], tuple[Array, Array]]

# Foot locking may move bodies away from their discs by the margin of the discs, minus a rounding
# error.
_LEASH = 0.999 * SWAY
_TOO_SHORT = 5.0  # seconds: no rhythm can be detected in shorter motions
_LOG = 100_000  # number of movements remembered, more than the longest crowd motion has
_ROUNDS = 6  # number of attempts to avoid transitions that turned out to be rough


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive frames of A agents with C bodies each.

    Attributes
    ----------
    rotations : list of ndarray, C of shape (A, n, J, 4)
    root : list of ndarray, C of shape (A, n, 3)
    contacts : list of ndarray of bool, C of shape (A, n, 4)
    centers : ndarray, shape (A, n, 2)
    chosen : ndarray of int, shape (A,)
        Node that each agent plays.
    weights : list of ndarray
        Blend weights of the movements of that node.
    frames : ndarray, shape (n,)
        Frames of the movements.
    """

    rotations: list[NDArray[np.float32]]
    root: list[NDArray[np.float32]]
    contacts: list[NDArray[np.bool_]]
    centers: Array
    chosen: NDArray[np.int64]
    weights: list[Array]
    frames: Array


class CrowdPlayer:
    """Play A agents that dance one choreography.

    Parameters
    ----------
    choreography : Choreography
    places : array_like, shape (A, 3)
        Start position ``x, z, yaw`` of the leader of each agent.
    avoid : iterable of (int, int)
        Pairs of movements; the second must not follow the first.
    """

    def __init__(
        self,
        choreography: Choreography,
        places: Array,
        *,
        avoid: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.choreography = choreography
        self.nodes = choreography.dance_nodes
        self.skeletons = tuple(clips.skeleton for clips in self.nodes[0].clips)
        self.places = np.array(places, np.float64)
        agents, fps = len(self.places), choreography.fps
        self._stitches = [Inertializer(agents * len(skeleton), fps) for skeleton in self.skeletons]
        self._foot_locks = [
            StreamingFootLock(skeleton, fps, characters=agents, max_root_shift=_LEASH)
            for skeleton in self.skeletons
        ]
        self._grounds = [[_grounds(node, body) for body in range(len(self.skeletons))]
                         for node in self.nodes]  # fmt: skip
        self._holds = Holds.of([movement.bodies for movement in choreography.movements])
        self._begun = False
        self._last: tuple[NDArray[np.int64], list[Array]] | None = None
        self._avoid = tuple(avoid)
        self.seams: SeamTable | None = None
        self.set_speed(1.0)

    def set_speed(self, speed: float) -> None:
        """Choose the transitions that are smooth at the playback speed of the movements."""
        self.seams = None
        for tried in (speed, 1.0):  # if no table is usable at `speed`, use the speed of the takes
            table = self.choreography.seams(tried)
            if table is not None and self.seams is None:
                self.seams = table.without(self._avoid).within(self.choreography.graph)

    def able(self, agent: int) -> NDArray[np.bool_]:
        """Return the mask (N,) of movements that may be next for an agent."""
        if self.seams is None:
            return np.ones(len(self.choreography.movements), bool)
        if self._last is None:
            return np.asarray(self.seams.allowed.any(axis=1))
        chosen, weights = self._last
        members = self.choreography.graph.members[chosen[agent]]
        return self.seams.after(members, weights[agent])

    def weights_for(self, number: int, targets: Array, able: NDArray[np.bool_]) -> list[Array]:
        """Return blend weights (n,) per agent for targets (A, 3) and `able` movements (A, N)."""
        node, members = self.nodes[number], list(self.choreography.graph.members[number])
        free = able[:, members]
        free |= ~free.any(axis=1, keepdims=True)
        rows: list[Array] = [np.empty(0)] * len(targets)
        for mask in np.unique(free, axis=0):
            who = np.flatnonzero((free == mask).all(axis=1))
            for i, row in zip(who, node.weights_for(targets[who], among=mask), strict=True):
                rows[i] = row
        return rows

    def _fades(self, chosen: NDArray[np.int64], weights: list[Array]) -> Array | None:
        """Return the decay rates of the seams of all agents."""
        if self.seams is None or self._last is None:
            return None
        members = self.choreography.graph.members
        before, after = (
            [members[node][int(row.argmax())] for node, row in zip(nodes, rows, strict=True)]
            for nodes, rows in (self._last, (chosen, weights))
        )
        return np.asarray(self.seams.fades[before, after])

    def __len__(self) -> int:
        return len(self.places)

    def block(
        self, chosen: NDArray[np.int64], weights: list[Array], frames: Array, steer: Steer
    ) -> Block:
        """Return the next movement of all agents.

        Parameters
        ----------
        chosen : ndarray of int, shape (A,)
            Node that each agent plays.
        weights : list of ndarray
            Blend weights of the movements of that node, per agent.
        frames : ndarray, shape (n,)
            Fractional frames of the movement.
        steer : callable
            Function that moves and turns the agents.
        """
        agents, bodies = len(self), len(self.skeletons)
        # Three frames for the seam, followed by the frames to play.
        speed = frames[1] - frames[0] if len(frames) > 1 else 1.0
        times = np.concatenate([frames[0] + speed * np.arange(3.0), frames])
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
        fades = self._fades(chosen, weights)
        for body, stitch in enumerate(self._stitches):
            poses = turned[body].transpose(1, 0, 2, 3).reshape(size, -1, 4)
            path = moved[body].transpose(1, 0, 2).reshape(size, -1)
            if self._begun:
                stitch.seam(poses[:3], path[:3], fade=fades)
            poses[3:], path[3:] = stitch.apply(poses[3:], path[3:])
            turned[body] = poses.reshape(size, agents, -1, 4).transpose(1, 0, 2, 3)
            moved[body] = path.reshape(size, agents, 3).transpose(1, 0, 2)
        self._begun, self._last = True, (chosen, weights)
        natural = np.asarray(
            np.mean([root[:, 3:, [0, 2]] for root in moved], axis=0, dtype=np.float64)
        )
        centers, yaws = steer(natural, headings[:, 3:])
        out: list[tuple] = []
        for body in range(bodies):
            rotations, root = _steered(turned[body][:, 3:], moved[body][:, 3:], natural,
                                       centers, yaws)  # fmt: skip
            standing = stands[body][:, 3:]
            rotations, root = self._foot_locks[body].lock_all(
                rotations, root, standing, ground_heights=grounds[body]
            )
            out.append((rotations, root, standing))
        rows = [list(part) for part in zip(*out, strict=True)]
        self._holds.keep(self.skeletons, rows[0], rows[1])
        return Block(rows[0], rows[1], rows[2], centers, chosen, weights, frames)


def _grounds(node: DanceNode, body: int) -> Array:
    """Return the heights (n, 2) of the balls of both feet during contact, and NaN otherwise."""
    out = np.full((len(node), 2), np.nan)
    for n, movement in enumerate(node.movements):
        heights = movement.bodies[body].role_positions(["left_foot", "right_foot"])[..., 1]
        for side in range(2):
            stands = node.contacts[body][n][:, 2 * side + 1]
            if stands.any():
                out[n, side] = np.median(heights[stands, side])
    median = np.nanmedian(out) if np.isfinite(out).any() else np.nan
    return np.where(np.isfinite(out), out, median)


def _mixed(node: DanceNode, body: int, shares: Array, times: Array, places: Array):
    """Blend the poses of one body for all agents of a node, in one kernel call."""
    agents, size, count = len(shares), len(times), len(node)
    clips = node.clips[body]
    transforms = between(node.transforms, times)
    rows = agents * size
    rotations = np.empty((rows, *clips.rotations.shape[1:]), np.float32)
    root = np.empty((rows, 3), np.float32)
    blend_kernel(
        clips.rotations, clips.root, clips.offsets, np.arange(count, dtype=np.int64),
        np.repeat(shares, size, axis=0),
        np.tile(np.repeat(times[:, None], count, axis=1), (agents, 1)),
        np.tile(transforms, (agents, 1, 1)), places.reshape(rows, 3), rotations, root,
    )  # fmt: skip
    return rotations.reshape(agents, size, -1, 4), root.reshape(agents, size, 3)


def _steered(rotations, root, natural: Array, centers: Array, yaws: Array):
    """Turn poses by `yaws` around their natural centers and move them to the steered ones."""
    turned, moved = np.array(rotations), np.array(root)
    turned[:, :, 0] = rot.multiply(rot.yaw(yaws), rotations[:, :, 0].astype(np.float64))
    floor = root[..., 2] - natural[..., 1] + 1j * (root[..., 0] - natural[..., 0])
    floor = floor * np.exp(1j * yaws)
    moved[..., 0] = centers[..., 0] + floor.imag
    moved[..., 2] = centers[..., 1] + floor.real
    return turned, moved


@dataclass(frozen=True, eq=False)
class CrowdMotion:
    """The motions of a crowd.

    Attributes
    ----------
    motions : tuple of tuple of Motion
        Motions of each agent, one per body: ``(leader, follower)`` or ``(soldier,)``.
    centers : ndarray, shape (A, T, 2)
        Mean of the roots of each agent, ``x, z``.
    music : Music
    choreography : Choreography
    """

    motions: tuple[tuple[Motion, ...], ...]
    centers: Array
    music: Music
    choreography: Choreography

    @property
    def scene(self) -> Scene:
        """Scene that contains all characters."""
        return Scene([motion for agent in self.motions for motion in agent])

    def beats_on_time(self) -> tuple[int, int]:
        """Count the beats of all agents, and those on which a foot lands within one frame.

        Landings of heels and balls are detected in the final motions, and landings of either
        partner count. `landings` has a wider tolerance, based on what listeners notice.
        """
        return self._beats_on_time

    @cached_property
    def _beats_on_time(self) -> tuple[int, int]:
        fps, frames = self.motions[0][0].fps, self.centers.shape[1]
        beats = self.music.inner_beats((frames - 1) / fps)
        within = 0
        for agent in self.motions:
            contacts = [motion.contacts() for motion in agent]
            landed = np.concatenate(
                [landings(body[part]) for body in contacts for part in FOOT_PARTS]
            )
            within += beats_met(beats, landed / fps, fps)
        return len(beats) * len(self.motions), within

    def landings(self) -> LandingFit:
        """Compare the detected foot landings of all characters with the beats of the music."""
        return self._landings

    @cached_property
    def _landings(self) -> LandingFit:
        return LandingFit.total_of([music_landings(agent, self.music) for agent in self.motions])

    def beats_by_analysis(self) -> tuple[int, int] | None:
        """Count beats with a motion beat of the first agent; None for less than 5 seconds."""
        if self.motions[0][0].duration < _TOO_SHORT:
            return None
        return beats_on_time(self.motions[0], self.music)

    def quality(self) -> CrowdQuality:
        """Return the quality of all characters, each compared with its movements in the takes.

        Leaders are compared with leaders, and followers with followers. A beat counts once for each
        agent and is met if any foot of the agent lands on it.
        """
        every = (motion.quality for agent in self.motions for motion in agent)
        reports = [report for report in every if report is not None]
        total, within = self.beats_on_time()
        landed = self.landings()
        worst = QualityReport.worst_of(reports).with_parts(
            beats=BeatFit(total, within, landed.on_beat, landed.total, landed.coherence)
        )
        return CrowdQuality(worst, QualityReport.mean_of(reports))

    def sources(self) -> list[dict[str, Any]]:
        """List which source frames are shown, when, and by how many characters.

        ``characters`` is the number of characters that show the frames, and ``weight`` is their
        mean blend weight.
        """
        weights: dict[tuple, list[float]] = {}
        for motion in self.scene:
            for source in motion.sources:
                row = source.as_dict()
                weight = row.pop("weight")
                weights.setdefault(tuple(row.items()), []).append(weight)
        rows = [
            {**dict(key), "weight": round(float(np.mean(seen)), 6), "characters": len(seen)}
            for key, seen in weights.items()
        ]
        return sorted(rows, key=lambda row: (row["start"], row["motion"]))


@dataclass(frozen=True)
class CrowdQuality:
    """Quality of a crowd.

    Attributes
    ----------
    worst : QualityReport
        Largest value of each measure over all characters.
    mean : QualityReport
        Means over all characters.
    """

    worst: QualityReport
    mean: QualityReport


def movement_frames(music: Music, choreography: Choreography, frames: int) -> Iterator[Array]:
    """Yield the frames (n,) to play of each movement, so that its beats match the music."""
    meter = choreography.meter
    beats = MusicClock(music).beats_at(0, frames, choreography.fps)
    downbeat = float(music.downbeats[0]) if len(music.downbeats) else 0.0
    first = downbeat + choreography.transition_phase
    # The tolerance includes a frame that lies just before a start only because of rounding.
    bars = np.floor((beats - first) / meter + 1e-9)
    edges = np.flatnonzero(np.diff(bars)) + 1
    for start, stop in zip([0, *edges], [*edges, frames], strict=True):
        due = (beats[start:stop] - first - meter * bars[start]) * choreography.beat_frames
        yield np.clip(due, 0.0, None)


class BlockPlayer(ScenePlayer):
    """Play the blocks of a crowd in constant memory.

    Parameters
    ----------
    blocks : iterator of Block
    choreography : Choreography
    agents : int
    name : str
        Name of an agent, such as ``"couple"``.
    roles : sequence of str
        Names of its bodies.
    music : Music
    seconds : float
        Total duration.
    """

    def __init__(
        self,
        blocks: Iterator[Block],
        choreography: Choreography,
        agents: int,
        name: str,
        roles: Sequence[str],
        *,
        music: Music,
        seconds: float,
    ) -> None:
        self._blocks, self._nodes = blocks, choreography.dance_nodes
        self.choreography, self.music, self.seconds = choreography, music, seconds
        bodies = [clips.skeleton for clips in self._nodes[0].clips]
        self._bodies = len(bodies)
        self._danced: deque[list[int]] = deque(maxlen=_LOG)  # movements of each agent
        self.fps = choreography.fps
        self.skeletons = tuple(bodies) * agents
        self.names = tuple(
            character_name(name, i, role) for i in range(agents) for role in roles[: len(bodies)]
        )
        self._waiting: list[list[FrameBlock]] = []
        self._played = self._made = 0
        self._share = Share(None)

    def _read(self, count: int) -> tuple[FrameBlock, ...]:
        while self._made < self._played + count:
            block = next(self._blocks, None)
            if block is None:
                break
            self._waiting.append(self._frame_blocks(block))
            self._danced.append(self._movements(block))
            self._made += len(block.frames)
            self._share.at(self._made / (self.seconds * self.fps))
        end = min(self._played + count, self._made)
        out = tuple(
            FrameBlock.joined([rows[n].cut(self._played, end) for rows in self._waiting]
                              or [FrameBlock.empty(len(skeleton), self._played)])
            for n, skeleton in enumerate(self.skeletons)
        )  # fmt: skip
        self._waiting = [rows for rows in self._waiting if rows[0].start + len(rows[0]) > end]
        self._played = end
        return out

    def quality(self, character: int, motion: Motion) -> QualityReport:
        """Return the quality of a character, compared with its movements in the takes."""
        return self.choreography.quality(motion, body=character % self._bodies)

    def perform(self, share: Share | None = None) -> CrowdMotion:
        """Play the whole crowd from the first frame to the last.

        No frames may have been read from the player before.

        Progress is reported to `share` after every movement.
        """
        self._share = share or Share(None)
        scene = self.record(seconds=self.seconds)
        bodies = self._bodies
        every = scene.motions
        agents = tuple(every[k : k + bodies] for k in range(0, len(every), bodies))
        # Centers are computed from the final roots, because foot locking moves the bodies.
        centers = np.array(
            [
                np.mean([body.root[:, [0, 2]] for body in agent], axis=0, dtype=np.float64)
                for agent in agents
            ]
        )
        return CrowdMotion(agents, centers, self.music, self.choreography)

    def rough_pairs(self, made: CrowdMotion) -> tuple[float, set[tuple[int, int]]]:
        """Return the worst seam ratio, and the pairs of movements with a seam above the limit."""
        steps, rough, worst = self.choreography, set(), 0.0
        if steps.max_seam is None:
            return 0.0, set()
        for i, agent in enumerate(made.motions):
            path = [danced[i] for danced in self._danced]
            ratios = np.max(
                [seam_accelerations(motion) / max(level, 1e-9)
                 for motion, level in zip(agent, steps.accelerations, strict=True)], axis=0,
            )  # fmt: skip
            pairs = list(zip(path, path[1:], strict=False))
            rough |= {
                pair for pair, ratio in zip(pairs, ratios, strict=True) if ratio > steps.max_seam
            }
            worst = max(worst, float(ratios.max(initial=0.0)))
        return worst, rough

    def _movements(self, block: Block) -> list[int]:
        """Return each agent's movement with the largest blend weight."""
        members = self.choreography.graph.members
        return [
            members[node][int(row.argmax())]
            for node, row in zip(block.chosen, block.weights, strict=True)
        ]

    def _frame_blocks(self, block: Block) -> list[FrameBlock]:
        """Return one block of frames per character."""
        seams = (self._made,) if self._made else ()
        return [
            FrameBlock(
                block.rotations[c][i], block.root[c][i], block.contacts[c][i], self._made,
                tuple(self._nodes[block.chosen[i]].sources(
                    block.weights[i], block.frames, self._made, c)),
                seams,
            )
            for i in range(len(block.chosen)) for c in range(len(block.root))
        ]  # fmt: skip


def character_name(name: str, agent: int, role: str) -> str:
    """Return the name of one body of an agent, such as ``"couple 3 leader"``."""
    return " ".join(filter(None, (name, str(agent + 1), role)))


def smoothest(
    make: Callable[[set[tuple[int, int]]], BlockPlayer], progress: Progress | None = None
) -> CrowdMotion:
    """Play a crowd several times, each time without the rough transitions so far; return the best.

    Steering and foot locking make some seams rougher than they were when transitions were checked.

    Parameters
    ----------
    make : callable
        Function that takes pairs of movements to avoid and returns a player of the crowd.
    progress : callable, optional
        Called after every movement with the number of hundredths since the last call, 100 in total.
        If it raises an exception, playing stops.
    """
    whole = Share(progress)
    avoid: set[tuple[int, int]] = set()
    best, least = None, np.inf
    for attempt in whole.attempts(_ROUNDS):
        player = make(avoid)
        made = player.perform(attempt)
        worst, rough = player.rough_pairs(made)
        if worst < least:
            best, least = made, worst
        if not rough - avoid:
            break
        avoid |= rough
    assert best is not None  # noqa: S101 - the first attempt always has a finite worst seam
    whole.at(1.0)
    return best
