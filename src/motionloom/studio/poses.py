"""Stretches of several takes, brought together: one place, one heading, one time.

All are moved along the floor so that, at a moment of each, they stand as near as can be to
one pose; that pose stands at the origin and faces +Z. Which frames are shown is said frame by
frame, so that a match can be played in the time of its query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import facing
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.plots.stick_figure import StickFigure, stick_figure
from motionloom.studio.app_state import Workshop
from motionloom.studio.motion_response import bones, standing

MOST_FRAMES = 60_000  # of all stretches of one request
_POINTS = 22  # of the small figures: fingers are left out
_AROUND = 15  # frames before and after a stretch that its foot contacts are judged with
_FIGURES = 512  # skeletons whose figures are remembered

Frame = Annotated[int, Field(ge=0)]


class Moment(BaseModel):
    """One frame of a take."""

    model_config = ConfigDict(extra="forbid")
    motion: str = Field(max_length=300)
    frame: Frame


class Stretch(BaseModel):
    """Frames of a take, in the order they are shown, and which of them is aligned."""

    model_config = ConfigDict(extra="forbid")
    motion: str = Field(max_length=300)
    frames: list[Frame] = Field(min_length=1, max_length=MOST_FRAMES)
    anchor: int = Field(0, ge=0, description="Index into frames: what is brought to the pose.")


class Together(BaseModel):
    """What to bring together, and how much of each body to send."""

    model_config = ConfigDict(extra="forbid")
    onto: Moment
    clips: list[Stretch] = Field(min_length=1, max_length=500)
    small: bool = Field(False, description="Figures for cards: few points and no contacts.")


Answer = tuple[dict[str, Any], dict[str, Any]]


def together(shop: Workshop, asked: Together) -> Answer:
    """Head and arrays of the answer: all points of all stretches, one after the other.

    ``clips`` of the head has for each stretch its name, rate, frames and the number of its
    body among ``bodies``; ``positions`` is flat, (frames, points, 3) of the first stretch,
    then of the second, and so on. ``contacts`` are rows of four, unless the figures are small.
    """
    total = sum(len(clip.frames) for clip in asked.clips)
    if total > MOST_FRAMES:
        raise InvalidInput(f"{total} frames at once; at most {MOST_FRAMES}")
    home = _picked(shop.library[asked.onto.motion], [asked.onto.frame], asked.onto.motion)
    to_origin = _home(home)
    bodies: list[dict[str, Any]] = []
    numbers: dict[Any, int] = {}
    clips, places, contacts = [], [], []
    for clip in asked.clips:
        take = shop.library[clip.motion]
        motion = _picked(take, clip.frames, clip.motion)
        if clip.anchor >= len(motion):
            raise InvalidInput(f"anchor must be below {len(motion)}; got {clip.anchor}")
        transform = to_origin @ _onto(home, motion[clip.anchor])
        points = motion.positions(end_sites=True)
        if asked.small:
            figure = _figure(shop, take, shop.library.entry(clip.motion).skeleton)
            points, body = points[:, figure.points], _drawn(figure)
        else:
            body = bones(take.skeleton)
            contacts.append(_standing(take, clip.frames))
        places.append(transform.apply(points).astype(np.float32).ravel())
        key = shop.library.entry(clip.motion).skeleton
        if key not in numbers:
            numbers[key] = len(bodies)
            bodies.append(body)
        clips.append(
            {
                "name": clip.motion,
                "fps": take.fps,
                "frames": len(motion),
                "points": points.shape[1],
                "body": numbers[key],
            }
        )
    arrays: dict[str, Any] = {"positions": np.concatenate(places)}
    if not asked.small:
        arrays["contacts"] = np.concatenate(contacts)
    return {"clips": clips, "bodies": bodies}, arrays


def _picked(take: Motion, frames: Sequence[int], name: str) -> Motion:
    """A motion of these frames, in this order."""
    chosen = np.asarray(frames, np.int64)
    if chosen.max() >= len(take):
        raise InvalidInput(f"{name} has frames 0 to {len(take) - 1}; got {chosen.max()}")
    moved = None if take.translations is None else take.translations[chosen]
    return replace(
        take,
        rotations=take.rotations[chosen],
        root=take.root[chosen],
        translations=moved,
        provenance=None,
    )


def _home(pose: Motion) -> PlanarTransform:
    """The transform that takes a pose to the origin, facing +Z."""
    points = pose.positions(end_sites=True)
    where = pose.skeleton.points(["hips"])[0] if "hips" in pose.skeleton.roles else 0
    place, heading = points[0, where], np.angle(facing(pose, points)[0])
    here = PlanarTransform(place[0], place[2], heading)
    return here.inverse() if np.isfinite(here.to_array()).all() else PlanarTransform.identity()


def _onto(home: Motion, pose: Motion) -> PlanarTransform:
    """The transform that aligns a pose with another, by the joints that both bodies have."""
    roles = [role for role in home.skeleton.roles if role in pose.skeleton.roles]
    a, b = (one.role_positions(roles)[0] for one in (home, pose)) if roles else (None, None)
    if a is not None and b is not None:
        known = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
        if known.sum() >= 3:
            return PlanarTransform.aligning(a[known], b[known])
    return PlanarTransform.between(_home(home), _home(pose))


def _standing(take: Motion, frames: Sequence[int]) -> NDArray[np.bool_]:
    low = max(min(frames) - _AROUND, 0)
    around = standing(take[low : max(frames) + 1 + _AROUND])
    return around[np.asarray(frames) - low]


def _figure(shop: Workshop, take: Motion, skeleton: str) -> StickFigure:
    """The figure of a skeleton; looking for one takes longer than drawing it."""
    known: dict[str, StickFigure] = shop.once(("figures",), dict)
    if skeleton not in known:
        if len(known) >= _FIGURES:
            known.clear()
        known[skeleton] = stick_figure(take, max_points=_POINTS)
    return known[skeleton]


def _drawn(figure: StickFigure) -> dict[str, Any]:
    return {
        "bones": figure.bones.tolist(),
        "sides": figure.sides.tolist(),
        "widths": figure.widths.round(4).tolist(),
        "head": None if figure.head is None else list(figure.head),
        "anchor": figure.anchor,
    }
