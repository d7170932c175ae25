"""Route for poses from several takes, aligned with a reference in position, heading and time.

Every clip is moved on the floor so that one of its frames, the anchor, is as close as possible to a
reference pose, which stands at the origin and faces +Z. Frames are listed one by one, so that a
match can be played in sync with its query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Response
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.plots.figures.stick_figure import StickFigure, stick_figure
from motionloom.studio.aligned import alignment, frames_of, to_origin
from motionloom.studio.messages import foot_contacts, skeleton_head
from motionloom.studio.responses import ArrayResponse, Bones, array_response
from motionloom.studio.routes.stage.characters import OwnCharacter, Worn, on_character
from motionloom.studio.state.app_state import AppState, State

router = APIRouter(tags=["search"])

MAX_FRAMES = 60_000  # per request, for all clips together
_POINTS = 22  # per small figure, which has no fingers
_CONTEXT = 15  # frames before and after a clip, for the estimation of foot contacts
_FIGURES = 512  # number of skeletons with cached figures

Frame = Annotated[int, Field(ge=0)]


class FrameReference(BaseModel):
    """One frame of a take."""

    model_config = ConfigDict(extra="forbid")
    motion: str = Field(max_length=300)
    frame: Frame


class FrameSequence(BaseModel):
    """Frames of a take in display order, and the frame to align."""

    model_config = ConfigDict(extra="forbid")
    motion: str = Field(max_length=300)
    frames: list[Frame] = Field(min_length=1, max_length=MAX_FRAMES)
    anchor: int = Field(
        0, ge=0, description="Index in `frames` of the frame to align with the reference pose."
    )


class PosesRequest(BaseModel):
    """Clips to align, the reference pose, and the level of detail."""

    model_config = ConfigDict(extra="forbid")
    onto: FrameReference
    clips: list[FrameSequence] = Field(min_length=1, max_length=500)
    small: bool = Field(
        False, description="Send small figures for cards, which have few points and no contacts."
    )


class FigureBody(TypedDict):
    """Bones between the points of a small figure."""

    bones: list[tuple[int, int]]
    sides: list[int]
    widths: list[float]
    head: tuple[int, int] | None
    anchor: int


class AlignedClip(TypedDict):
    """Size of an aligned clip, and the index of its body."""

    name: str
    fps: float
    frames: int
    points: int
    joints: int
    body: int


class PosesHead(TypedDict):
    """Aligned clips, and their bodies or small figures."""

    clips: list[AlignedClip]
    bodies: list[Bones] | list[FigureBody]


@router.post("/poses", response_model=PosesHead, response_class=ArrayResponse)
def poses(request: PosesRequest, state: State, own: Worn) -> Response:
    """Return the aligned points of all clips, one clip after another.

    In the header, ``clips`` has the name, frame rate and numbers of frames and points of each clip,
    and the index of its body in ``bodies``. ``positions`` is flat, (frames, points, 3) for each
    clip. ``orientations``, (frames, joints, 4) for each clip, and ``contacts``, in rows of four,
    are omitted for small figures. If a character is selected, all clips are retargeted to it.
    """
    total = sum(len(clip.frames) for clip in request.clips)
    if total > MAX_FRAMES:
        raise InvalidInput(f"a request may have at most {MAX_FRAMES} frames; got {total}")
    onto = request.onto
    own = None if request.small else own
    _, reference = _frames(state, own, onto.motion, [onto.frame])
    placed_at_origin = to_origin(reference)
    bodies: list[Any] = []
    body_index: dict[Any, int] = {}
    clips: list[AlignedClip] = []
    positions, orientations, contacts = [], [], []
    for clip in request.clips:
        take, motion = _frames(state, own, clip.motion, clip.frames)
        if clip.anchor >= len(motion):
            raise InvalidInput(
                f"anchor must be less than {len(motion)}, the number of frames; got {clip.anchor}"
            )
        transform = placed_at_origin @ alignment(reference, motion[clip.anchor])
        points = motion.positions(end_sites=True)
        skeleton = own.body if own else state.library.store.entry(clip.motion).skeleton
        if request.small:
            figure = _figure(state, take, skeleton)
            points = points[:, figure.points]
            body: Bones | FigureBody = _figure_head(figure)
        else:
            bones = skeleton_head(take.skeleton, take)
            body = {**bones, "body": own.body} if own else bones
            contacts.append(_contacts(state.library[clip.motion], clip.frames))
            placed = transform.apply_to_motion(motion)
            orientations.append(placed.global_rotations().ravel())
        positions.append(transform.apply(points).astype(np.float32).ravel())
        if skeleton not in body_index:
            body_index[skeleton] = len(bodies)
            bodies.append(body)
        clips.append(
            {
                "name": clip.motion,
                "fps": take.fps,
                "frames": len(motion),
                "points": points.shape[1],
                "joints": len(take.skeleton),
                "body": body_index[skeleton],
            }
        )
    arrays: dict[str, Any] = {"positions": np.concatenate(positions)}
    if not request.small:
        arrays["contacts"] = np.concatenate(contacts)
        arrays["orientations"] = np.concatenate(orientations)
    head: PosesHead = {"clips": clips, "bodies": bodies}
    return array_response(head, **arrays)


def _frames(
    state: AppState, own: OwnCharacter | None, name: str, frames: Sequence[int]
) -> tuple[Motion, Motion]:
    """Return a take and its chosen frames, both retargeted if a character is selected."""
    take = state.library[name]
    motion = frames_of(take, frames, name)
    if own is None:
        return take, motion
    low = max(min(frames) - _CONTEXT, 0)
    moved = on_character(state, own, name, low, min(max(frames) + 1 + _CONTEXT, len(take)))
    return moved, frames_of(moved, [frame - low for frame in frames], name)


def _contacts(take: Motion, frames: Sequence[int]) -> NDArray[np.bool_]:
    low = max(min(frames) - _CONTEXT, 0)
    around = foot_contacts(take[low : max(frames) + 1 + _CONTEXT])
    return around[np.asarray(frames) - low]


def _figure(state: AppState, take: Motion, skeleton: str) -> StickFigure:
    """Return the small figure of a skeleton; cached because it is slow to compute."""
    figures: dict[str, StickFigure] = state.cached(("figures",), dict)
    if skeleton not in figures:
        if len(figures) >= _FIGURES:
            figures.clear()
        figures[skeleton] = stick_figure(take, max_points=_POINTS)
    return figures[skeleton]


def _figure_head(figure: StickFigure) -> FigureBody:
    return {
        "bones": figure.bones.tolist(),
        "sides": figure.sides.tolist(),
        "widths": figure.widths.round(4).tolist(),
        "head": figure.head,
        "anchor": figure.anchor,
    }
