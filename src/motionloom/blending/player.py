"""Players, which generate motion while it is played.

Parametric motions, motion graphs, fat graphs, dances and crowds share one protocol. A player
yields frames and accepts new controls between them. Its memory does not grow with time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Provenance, Skeleton, Source
from motionloom.motion.diagnostics.quality import QualityReport, quality_report
from motionloom.motion.provenance import merged
from motionloom.motion.scene import Scene

_BLOCK = 1024  # frames read at once


class Pose(NamedTuple):
    """One frame: local rotations ``wxyz`` of shape (J, 4) and the root position (3,).

    Examples
    --------
    >>> import numpy as np
    >>> from motionloom.blending import Pose
    >>> Pose(np.zeros((21, 4)), np.zeros(3)).root.shape
    (3,)
    """

    rotations: NDArray[np.float32]
    root: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class FrameBlock:
    """A block of n consecutive frames from a player.

    Attributes
    ----------
    rotations : ndarray of float32, shape (n, J, 4)
    root : ndarray of float32, shape (n, 3)
    contacts : ndarray of bool, shape (n, 4)
        Foot contacts in the order of `motionloom.motion.feet.contacts.FOOT_PARTS`.
    start : int
        Index of the first frame, counted from the first frame that the player generated.
    sources : tuple of Source
        Provenance of the frames; `start` and `end` are counted like the block's `start`.
    seams : tuple of int
        Middle frames of transitions, counted like `start`.

    Examples
    --------
    >>> import numpy as np
    >>> from motionloom.blending import FrameBlock
    >>> FrameBlock(np.zeros((8, 21, 4)), np.zeros((8, 3)), np.zeros((8, 4), bool)).start
    0
    """

    rotations: NDArray[np.float32]
    root: NDArray[np.float32]
    contacts: NDArray[np.bool_]
    start: int = 0
    sources: tuple[Source, ...] = ()
    seams: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.rotations)

    @classmethod
    def empty(cls, joints: int, start: int = 0) -> FrameBlock:
        """Return a block without frames."""
        poses = np.empty((0, joints, 4), np.float32), np.empty((0, 3), np.float32)
        return cls(*poses, np.empty((0, 4), bool), start)

    @classmethod
    def joined(cls, parts: Sequence[FrameBlock]) -> FrameBlock:
        """Join one or more consecutive blocks into one."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.rotations for part in parts]),
            np.concatenate([part.root for part in parts]),
            np.concatenate([part.contacts for part in parts]),
            parts[0].start,
            tuple(source for part in parts for source in part.sources),
            tuple(seam for part in parts for seam in part.seams),
        )

    def tail(self, frames: int) -> FrameBlock:
        """Return the last `frames` frames, or all if the block is shorter."""
        end = self.start + len(self)
        return self.cut(max(end - frames, self.start), end)

    def cut(self, start: int, end: int) -> FrameBlock:
        """Return the frames in ``[start, end)``, counted like the block's `start`."""
        first = max(start, self.start)
        last = max(min(end, self.start + len(self)), first)
        rows = slice(first - self.start, last - self.start)
        kept = (source.cut(first, last) for source in self.sources)
        return FrameBlock(
            self.rotations[rows],
            self.root[rows],
            self.contacts[rows],
            first,
            tuple(source for source in kept if source is not None),
            tuple(seam for seam in self.seams if first <= seam < last),
        )

    def to_motion(self, skeleton: Skeleton, fps: float, name: str = "") -> Motion:
        """Return the frames as a motion, whose provenance counts from its first frame."""
        sources = merged(source.moved(-self.start) for source in self.sources)
        made_of = Provenance(sources, tuple(seam - self.start for seam in self.seams))
        return Motion(
            skeleton,
            self.rotations,
            self.root,
            fps,
            name=name,
            provenance=made_of if sources else None,
        )


class Steered:
    """Base class of players whose named controls can change between frames.

    A subclass lists the names of its controls in `controls` and, if it has any, defines `_steer`.
    """

    controls: ClassVar[tuple[str, ...]] = ()

    def steer(self, /, **controls: Any) -> None:
        """Change controls, starting with the next frame.

        Raises
        ------
        InvalidInput
            If the player has no such control.
        """
        for name in controls:
            if name not in self.controls:
                names = ", ".join(self.controls) or "none"
                raise InvalidInput(
                    f"{type(self).__name__} has no control {name!r}; its controls are: {names}"
                )
        if controls:
            self._steer(**controls)

    def _steer(self, **controls: Any) -> None:
        """Apply controls; if a value is invalid, raise an error without changing any control."""


class Player(Steered, ABC):
    """Base class of players that generate frames one after another.

    A subclass defines `skeleton`, `fps`, `_read`, the names of its `controls`, and, if it has any,
    `_steer`.

    Examples
    --------
    >>> class Statue(Player):
    ...     skeleton, fps = Skeleton(["hips"], [-1], [[0, 0, 0]]), 30.0
    ...     def _read(self, count):
    ...         pose = np.tile(np.float32([1, 0, 0, 0]), (count, 1, 1))
    ...         return FrameBlock(pose, np.zeros((count, 3)), np.ones((count, 4), bool))
    >>> Statue().record(seconds=2, name="statue")
    Motion('statue', 60 frames at 30 fps = 2.00 s, 1 joints)
    """

    skeleton: Skeleton
    fps: float

    def read(self, count: int) -> FrameBlock:
        """Return the next `count` frames, or fewer at the end of the motion."""
        if count < 0:
            raise InvalidInput(f"count must be zero or more; got {count}")
        return self._read(count)

    @abstractmethod
    def _read(self, count: int) -> FrameBlock:
        """Implement `read`; `count` has been checked and may be zero."""

    def frames(self) -> Iterator[Pose]:
        """Yield poses one by one; `steer` may be called between them."""
        while True:
            block = self.read(1)
            if not len(block):
                return
            yield Pose(block.rotations[0], block.root[0])

    def blocks(self, frames: int | None = None) -> Iterator[FrameBlock]:
        """Yield the next `frames` frames in blocks of bounded size, or all frames if None."""
        left = frames
        while left is None or left > 0:
            block = self.read(_BLOCK if left is None else min(_BLOCK, left))
            if not len(block):
                return
            left = None if left is None else left - len(block)
            yield block

    def record(
        self, *, seconds: float | None = None, frames: int | None = None, name: str = ""
    ) -> Motion:
        """Return the next frames as a motion with provenance and quality.

        Parameters
        ----------
        seconds, frames : optional
            Duration in seconds or in frames. Pass exactly one of the two.
        name : str
        """
        count = frame_count(seconds, frames, self.fps)
        played = FrameBlock.joined(
            list(self.blocks(count)) or [FrameBlock.empty(len(self.skeleton))]
        )
        return played.to_motion(self.skeleton, self.fps, name).with_quality(self.quality)

    def quality(self, motion: Motion) -> QualityReport:
        """Return the quality of recorded frames, compared with the sources if they are known."""
        return quality_report(motion)


class ScenePlayer(Steered, ABC):
    """Base class of players for several characters; `Player` is for a single character.

    A subclass defines `skeletons` and `names`, one per character, and `fps`, `_read` and controls
    like a `Player`. All crowds (ballrooms, marches, dance floors) are scene players. Every
    character in a recorded scene is a motion with provenance and quality.

    Examples
    --------
    >>> from motionloom.crowd.ballroom import BallroomPlayer
    >>> from motionloom.crowd.built_in import waltz_steps
    >>> from motionloom.crowd.settings import BallroomSettings
    >>> settings = BallroomSettings(couples=2, tempo_bpm=90, seconds=4)
    >>> player = BallroomPlayer(settings, waltz_steps())
    >>> player.names[:2], [len(block) for block in player.read(10)]
    (('couple 1 leader', 'couple 1 follower'), [10, 10, 10, 10])
    >>> player.record(seconds=2)
    Scene(4 characters, 60 frames at 30 fps = 2.00 s)
    """

    skeletons: tuple[Skeleton, ...]
    names: tuple[str, ...]
    fps: float

    def read(self, count: int) -> tuple[FrameBlock, ...]:
        """Return the next `count` frames of every character, or fewer at the end."""
        if count < 0:
            raise InvalidInput(f"count must be zero or more; got {count}")
        return self._read(count)

    @abstractmethod
    def _read(self, count: int) -> tuple[FrameBlock, ...]:
        """Implement `read`; `count` has been checked and may be zero."""

    def record(self, *, seconds: float | None = None, frames: int | None = None) -> Scene:
        """Return the next frames as a scene; pass either `seconds` or `frames`."""
        played = self.read(frame_count(seconds, frames, self.fps))
        motions = [
            block.to_motion(skeleton, self.fps, name).with_quality(partial(self.quality, n))
            for n, (block, skeleton, name) in enumerate(
                zip(played, self.skeletons, self.names, strict=True)
            )
        ]
        return Scene(motions, self.names)

    def quality(self, character: int, motion: Motion) -> QualityReport:
        """Return the quality of the frames recorded for the character with index `character`."""
        return quality_report(motion)


def frame_count(seconds: float | None, frames: int | None, fps: float) -> int:
    """Return a duration in frames, from either `seconds` or `frames`.

    Examples
    --------
    >>> frame_count(2.0, None, 30.0), frame_count(None, 7, 30.0)
    (60, 7)
    """
    if (seconds is None) == (frames is None):
        raise InvalidInput("pass either seconds or frames, not both or neither")
    count = frames if seconds is None else seconds * fps
    if count is None or not np.isfinite(count) or round(count) < 1:
        given = f"{frames} frames" if seconds is None else f"{seconds} seconds"
        raise InvalidInput(f"the duration must be at least one frame; got {given}")
    return round(count)
