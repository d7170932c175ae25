"""Ground truth for the corpus: actions, contacts, flights and beats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.demo.balance import loose, planned_feet
from motionloom.demo.performers import SIDES
from motionloom.demo.plan import MotionPlan, PlannedAction
from motionloom.motion.segment import intervals


@dataclass(frozen=True)
class Action:
    """A single action in a motion.

    Attributes
    ----------
    action : str
        ``walk``, ``kick``, ``reach``, ...
    start_frame, end_frame : int
        Frames ``[start_frame, end_frame)``.
    parameters : dict
        Values in meters, seconds and radians. ``target`` is the world position of the
        skeleton's point ``point`` at the frame ``hit_frame``.
    beats : tuple of float
        Beat times, in seconds from the start of the motion; may be empty.
    tempo_bpm : float or None
        Beats per minute.

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.demo.annotated("kick_front_mid_right").truth.actions[0].action
    'kick'
    """

    action: str
    start_frame: int
    end_frame: int
    parameters: dict[str, Any] = field(default_factory=dict)
    beats: tuple[float, ...] = ()
    tempo_bpm: float | None = None


@dataclass(frozen=True)
class Truth:
    """Ground truth for a motion.

    Attributes
    ----------
    actions : tuple of Action
        Actions in chronological order: one for a clip, several for a take.
    contacts : dict
        Frame ranges ``[start, end)`` in which a part of a foot is at rest on the floor:
        ``left``, ``right`` for the ball of the foot and the toes, ``left_heel``,
        ``right_heel`` for the whole sole and the ankle.
    flights : tuple
        Frame ranges ``[start, end)`` in which no foot touches the floor.
    performer : str
        ``p0``, ``p1``, ...

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.demo.annotated("walk").truth.performer
    'p0'
    """

    actions: tuple[Action, ...]
    contacts: dict[str, tuple[tuple[int, int], ...]]
    flights: tuple[tuple[int, int], ...]
    performer: str

    @property
    def action(self) -> str:
        """Name of the first action, which is the label of a clip."""
        return self.actions[0].action

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the first action."""
        return self.actions[0].parameters

    @property
    def beats(self) -> tuple[float, ...]:
        """Beat times of all actions, in seconds."""
        return tuple(beat for action in self.actions for beat in action.beats)

    @property
    def tempo_bpm(self) -> float | None:
        """Tempo of the first action."""
        return self.actions[0].tempo_bpm


def truth_of(plan: MotionPlan, times: NDArray[np.float64], fps: float) -> Truth:
    """Return the ground truth of a solved plan, for frames at `times`."""
    contacts = {}
    feet = planned_feet(plan, times)
    for side in SIDES:
        planted = loose(plan, side, times) < 1e-9
        contacts[side] = tuple(intervals(feet[side].ball_still & planted))
        contacts[f"{side}_heel"] = tuple(intervals(feet[side].heel_still & planted))
    actions = tuple(
        _action(row, float(times[0]), len(times), fps)
        for row in plan.actions
        if row.end > times[0] + 1e-6 and row.start < times[-1] - 1e-6
    )
    flights = tuple(intervals(feet["left"].airborne & feet["right"].airborne))
    return Truth(actions, contacts, flights, plan.performer.name)


def _action(row: PlannedAction, start: float, frames: int, fps: float) -> Action:
    def frame(moment: float) -> int:
        return int(np.clip(round((moment - start) * fps), 0, frames))

    parameters: dict[str, Any] = {}
    for key, value in row.parameters.items():
        if key.endswith("_time"):  # convert times to frames of this motion
            parameters[key.removesuffix("_time") + "_frame"] = frame(value)
        elif key.endswith("_times"):
            parameters[key.removesuffix("_times") + "_frames"] = [frame(v) for v in value]
        elif isinstance(value, (float, np.floating)):
            parameters[key] = round(float(value), 4)
        else:
            parameters[key] = value
    return Action(
        row.action,
        frame(row.start),
        frame(row.end),
        parameters,
        tuple(
            round(beat - start, 6)
            for beat in row.beats
            if 0.0 <= beat - start <= (frames - 1) / fps + 1e-9
        ),
        row.tempo_bpm,
    )
