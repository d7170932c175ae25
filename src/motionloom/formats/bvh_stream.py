"""Writing BVH while the motion is still being made: hours of it in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import ArrayLike

from motionloom.errors import InvalidInput
from motionloom.formats.bvh_writer import (
    DEFAULT_ORDER,
    DEFAULT_UNIT,
    bvh_file,
    depth_first,
    frame_time,
    head,
    rows,
)
from motionloom.motion import Skeleton
from motionloom.motion import rotations as rot


class BvhStream:
    """A BVH file that is being written; `bvh_stream` opens one."""

    def __init__(self, file: TextIO, skeleton: Skeleton) -> None:
        self._file, self._visit = file, depth_first(skeleton)
        self._last: np.ndarray | None = None
        self.frames = 0

    def write(self, rotations: ArrayLike, root: ArrayLike) -> None:
        """Add frames: rotations (n, J, 4) ``wxyz`` and root (n, 3) in metres."""
        turned = np.asarray(rotations, np.float64)
        if not len(turned):
            return
        if not (np.isfinite(turned).all() and np.isfinite(root).all()):
            raise InvalidInput(
                f"frames from {self.frames} on hold NaN or infinite values; mend them first"
            )
        angles = rot.to_euler(turned, DEFAULT_ORDER)
        # Angles go on from those of the frame before, without jumps of a whole turn.
        before = angles[:1] if self._last is None else self._last
        angles = np.unwrap(np.concatenate([before, angles]), axis=0)[1:]
        self._last = angles[-1:]
        places = np.asarray(root, np.float64) / DEFAULT_UNIT
        flat = np.degrees(angles)[:, self._visit].reshape(len(turned), -1)
        table = np.round(np.concatenate([places, flat], axis=1), 6) + 0.0
        self._file.writelines(rows(table))
        self.frames += len(turned)


@contextmanager
def bvh_stream(
    path: str | Path, skeleton: Skeleton, *, frames: int, fps: float
) -> Iterator[BvhStream]:
    """Open a BVH file to be written block by block; it appears when it is complete.

    Parameters
    ----------
    path : str or Path
    skeleton : Skeleton
        J joints.
    frames : int
        How many there will be: the file says so before the first of them.
    fps : float

    Raises
    ------
    InvalidInput
        If other than `frames` frames were written; no file is left then.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> walk = ml.demo.clip("walk")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with bvh_stream(f"{folder}/walk.bvh", walk.skeleton, frames=40, fps=30) as out:
    ...         out.write(walk.rotations[:25], walk.root[:25])
    ...         out.write(walk.rotations[25:40], walk.root[25:40])
    ...     len(ml.load(f"{folder}/walk.bvh"))
    40
    """
    if frames < 1:
        raise InvalidInput(f"{path}: a BVH file needs at least one frame; got {frames}")
    still = np.zeros(len(skeleton), bool)
    seconds = frame_time(fps)
    with bvh_file(path) as file:
        file.writelines(head(skeleton, still, DEFAULT_ORDER, DEFAULT_UNIT, frames, seconds))
        stream = BvhStream(file, skeleton)
        yield stream
        if stream.frames != frames:
            raise InvalidInput(
                f"{path}: {frames} frames were announced, {stream.frames} were written"
            )
