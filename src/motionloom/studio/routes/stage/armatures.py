"""Armatures from other programs: retarget subjects to them, and search for their poses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library import facing_as_rest, on_whole_frame
from motionloom.library.settings import SearchSettings
from motionloom.studio.requests import Served
from motionloom.studio.responses import (
    ArrayResponse,
    MatchRow,
    NamedBones,
    Quality,
    array_response,
    quality_head,
)
from motionloom.studio.routes.stage.skeletons import Place, Rate, SkeletonModel
from motionloom.studio.routes.stage.subjects import ParametricSubject, Subject
from motionloom.studio.routes.synthesis.parametric import SharedParametricMotion, parametric_of
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.motion import Motion, Skeleton

router = APIRouter(prefix="/subjects", tags=["armatures"])

_MAX_ROTATIONS = 8_000_000  # frames times joints per response: 128 MB


class RetargetRequest(BaseModel):
    """A subject, and the armature to retarget it to."""

    subject: Subject
    skeleton: SkeletonModel
    character: int = Field(
        0, ge=0, description="Index of the character, for several dancers or soldiers."
    )
    fps: Rate | None = Field(
        None, description="Frame rate of the result; default: that of the subject."
    )
    at_origin: bool = Field(
        False, description="Start at the origin, with the facing direction of the rest pose."
    )
    aim: Place | None = Field(
        None,
        description="Position that the joint of a parametric motion should reach on the armature. "
        "It replaces the target of the subject, and the motion starts at the origin.",
    )


class ArmatureHead(NamedBones):
    """A motion on an armature.

    With an aim, the joint called `joint` is at `reached` in frame `moment`, `error` meters from it.
    """

    fps: float
    quality: Quality | None
    reached: NotRequired[list[float]]
    error: NotRequired[float]
    joint: NotRequired[str]
    moment: NotRequired[int]


class ReachRequest(BaseModel):
    """A parametric motion, and the armature on which it will be aimed."""

    subject: Subject
    skeleton: SkeletonModel


class ReachResult(TypedDict):
    """Sampled positions that a joint of an armature reaches, relative to its start."""

    joint: str
    accessible: list[list[float]]


class QueryResult(BaseModel):
    """Matches for a subject, as in ``motionloom search --json``."""

    unit: str
    matches: list[MatchRow]


class SubjectSearchRequest(BaseModel):
    """A subject as the query of a search."""

    subject: Subject
    settings: Served[SearchSettings] = SearchSettings()


@router.post("/retarget", response_model=ArmatureHead, response_class=ArrayResponse)
def retarget(request: RetargetRequest, state: State) -> Response:
    """Retarget a subject to an armature: ``rotations`` (T, J, 4) and ``root`` (T, 3).

    Rotations are local, ``wxyz``, relative to the rest pose with world axes. The rotations of the
    first joint, the hips, are in world space. The header has the ``joints`` at and below the hips,
    their ``parents``, ``fps``, ``roles`` and ``quality``, and, with ``aim``, the point ``reached``.
    """
    skeleton = request.skeleton.body()
    head: dict[str, Any] = {}
    if request.aim is not None:
        aimed, joint = _shared(request.subject, skeleton, state).aim(skeleton, request.aim)
        moved = aimed.motion
        head = {
            "reached": aimed.reached.tolist(),
            "error": aimed.error,
            "joint": joint,
            "moment": aimed.frame,
        }
    else:
        motions = request.subject.motions(state)
        if request.character >= len(motions):
            raise InvalidInput(
                f"character must be less than {len(motions)}, the number of characters; "
                f"got {request.character}"
            )
        moved = _retargeted(motions[request.character], skeleton)
    quality = quality_head(moved.quality)
    if request.at_origin and request.aim is None:
        moved = facing_as_rest(moved)
    if request.fps is not None and abs(request.fps - moved.fps) > 1e-6 * moved.fps:
        _check_size(round(len(moved) * request.fps / moved.fps), skeleton)
        if request.aim is not None:
            moved, head["moment"] = on_whole_frame(moved, aimed.frame, request.fps)
        else:
            moved = moved.resample(request.fps)
    head |= {
        "name": moved.name,
        "fps": moved.fps,
        "joints": list(skeleton.names),
        "parents": skeleton.parents.tolist(),
        "roles": skeleton.roles,
        "quality": quality,
    }
    return array_response(head, rotations=moved.rotations, root=moved.root)


@router.post("/reach")
def reach(request: ReachRequest, state: State) -> JobStatus[ReachResult]:
    """Start a job that samples where a parametric motion can be aimed on an armature.

    The motion starts at the origin and faces as the armature's rest pose does. A later request with
    ``aim`` is fast.
    """
    skeleton = request.skeleton.body()
    shared = _shared(request.subject, skeleton, state)

    def work(job: Job) -> ReachResult:
        sampled = shared.accessible(skeleton, job.advance)
        return {"joint": sampled.joint, "accessible": sampled.accessible.tolist()}

    return state.jobs.start("sampling the reachable region", work).status()


@router.post("/search")
def similar(request: SubjectSearchRequest, state: State) -> QueryResult:
    """Find all motion in the library that is similar to the subject, nearest first."""
    motions = request.subject.motions(state)
    if len(motions) > 1:
        raise InvalidInput(f"a query must have one character; this subject has {len(motions)}")
    hits = state.library.search(motions[0], request.settings)
    rows: Any = hits.to_json()
    return QueryResult(unit=hits.unit, matches=rows)


def _retargeted(motion: Motion, skeleton: Skeleton) -> Motion:
    _check_size(len(motion), skeleton)
    return motion.retarget(skeleton)


def _check_size(frames: int, skeleton: Skeleton) -> None:
    if frames * len(skeleton) > _MAX_ROTATIONS:
        raise InvalidInput(
            f"at most {_MAX_ROTATIONS // len(skeleton):,} frames can be retargeted to an "
            f"armature of {len(skeleton)} joints in one request; got {frames:,}"
        )


def _shared(subject: Subject, skeleton: Skeleton, state: AppState) -> SharedParametricMotion:
    if not isinstance(subject, ParametricSubject):
        raise InvalidInput("aim is only available for parametric motions")
    shared = parametric_of(state, subject.name)
    _check_size(int(np.diff(shared.motion.registration.clips.offsets).max()), skeleton)
    return shared
