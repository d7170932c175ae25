"""Verbs of a library for motion matching."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from motionloom.settings import names
from motionloom.store import Store

if TYPE_CHECKING:
    from motionloom.motion_matching import MatchingDatabase


class MatchingVerbs(Store):
    """Verbs of motion matching."""

    def motion_matching(
        self,
        *,
        mirror: bool = True,
        fps: float | None = None,
        foot_position: float = 1.5,
        foot_velocity: float = 0.4,
        hip_velocity: float = 0.6,
        trajectory_position: float = 1.0,
        trajectory_facing: float = 1.5,
        normalize: Literal["metres", "spread"] = "metres",
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
    ) -> MatchingDatabase:
        """Build a motion matching database, once, and store it.

        Parameters
        ----------
        mirror : bool
            Also use each take mirrored.
        fps : float, optional
            Frames per second. Default: that of the first take.
        foot_position, foot_velocity, hip_velocity : float
            Weights of the pose: metres that 1 m of a foot, 1 m/s of a foot, 1 m/s of the hips
            count.
        trajectory_position, trajectory_facing : float
            Weights of the trajectory: metres that 1 m, and 1 radian, count.
        normalize : {"metres", "spread"}
            Compare features in metres, or divided by the standard deviation of their group.
        label, only, exclude : str or several, optional
            Labels and names that choose the motions; as in `search`. Best: everything that walks,
            runs, turns, starts and stops.

        Returns
        -------
        database : MatchingDatabase
            ``database.player(...)`` is a character that follows controls, ``database.walk(...)`` a
            motion.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for kind in ("walk", "walk_left", "walk_right"):
        ...     lib.add_motion(ml.demo.clip(kind))
        >>> player = lib.motion_matching().player(velocity=(0.0, 1.2))
        >>> player.record(seconds=3).duration
        3.0
        """
        from motionloom.motion_matching import MatchingSettings
        from motionloom.motion_matching.artifact import library_database

        settings = MatchingSettings(
            mirror=mirror,
            fps=fps,
            foot_position=foot_position,
            foot_velocity=foot_velocity,
            hip_velocity=hip_velocity,
            trajectory_position=trajectory_position,
            trajectory_facing=trajectory_facing,
            normalize=normalize,
            label=names(label),
            only=names(only),
            exclude=names(exclude),
        )
        return library_database(self, settings)
