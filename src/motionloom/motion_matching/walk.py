"""Walks of a matching database: recorded as the settings ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motionloom.blending.player import FrameBlock
from motionloom.motion import Motion
from motionloom.motion_matching.player import WALKING_SPEED, MatchingPlayer
from motionloom.motion_matching.settings import MatchingWalkSettings

if TYPE_CHECKING:
    from motionloom.motion_matching.database import MatchingDatabase


def matched_walk(database: MatchingDatabase, settings: MatchingWalkSettings) -> Motion:
    """Walk as asked, with provenance and quality; see `MatchingDatabase.walk`."""
    speed = WALKING_SPEED if settings.speed is None else settings.speed
    facing = None if settings.facing is None else float(np.radians(settings.facing))
    path = settings.floor_path()
    player = MatchingPlayer(
        database,
        velocity=_desired(speed, float(np.radians(settings.direction)))
        if path is None
        else (0.0, 0.0),
        facing=facing,
        gait=settings.gait or None,
        path=path,
        speed=speed,
        dynamics=settings.dynamics,
    )
    seconds = settings.seconds
    if path is not None:
        length = float(np.linalg.norm(np.diff(np.asarray(path, np.float64), axis=0), axis=1).sum())
        most = seconds or 2.0 * length / max(speed, 0.1) + 6.0
        blocks, left = [], max(round(most * player.fps), 1)
        while left > 0 and not (player.done and seconds is None):
            blocks.append(player.read(1))
            left -= 1
        if seconds is None:
            blocks.append(player.read(round(0.5 * player.fps)))
    else:
        blocks = []
        until = round((seconds or 10.0) * player.fps)
        for second, direction, new_speed in [*settings.changes(), (np.inf, 0.0, None)]:
            frames = int(min(round(second * player.fps) if np.isfinite(second) else until, until))
            blocks.append(player.read(max(frames - player.played, 0)))
            speed = speed if new_speed is None else new_speed
            player.steer(velocity=_desired(speed, direction))
    played = FrameBlock.joined(blocks)
    return played.to_motion(player.skeleton, player.fps, "walk").with_quality(player.quality)


def _desired(speed: float, direction: float) -> tuple[float, float]:
    return speed * float(np.sin(direction)), speed * float(np.cos(direction))
