"""Armatures from other programs: retarget subjects to them, and search for their poses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from motionloom.errors import InvalidInput
from motionloom.library.settings import SearchSettings
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.rotations.planar_transform import PlanarTransform
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
from motionloom.studio.routes.synthesis.parametric import parametric_of
from motionloom.studio.state.app_state import AppState, State

if TYPE_CHECKING:
    from motionloom.motion import Motion, Skeleton

router = APIRouter(prefix="/subjects", tags=["armatures"])

_MAX_ROTATIONS = 8_000_000  # frames times joints per response: 128 MB
_AIMED = 0.002  # meters; a smaller error is not visible
_MAX_AIMS = 8  # corrections of a target, each with a blend and a retargeting


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
    """A motion on an armature; `reached`, `error` and `joint` are set if there is an aim."""

    fps: float
    quality: Quality | None
    reached: NotRequired[list[float]]
    error: NotRequired[float]
    joint: NotRequired[int]


class QueryResult(BaseModel):
    """Matches for a subject, as in ``motionloom search --json``."""

    unit: str
    matches: list[MatchRow]


class SubjectSearchRequest(BaseModel):
    """A subject as the query of a search."""

    subject: Subject
    settings: Served[SearchSettings] = SearchSettings()


@router.post("/retarget", response_model=ArmatureHead, response_class=ArrayResponse)
def on_armature(request: RetargetRequest, state: State) -> Response:
    """Retarget a subject to an armature: ``rotations`` (T, J, 4) and ``root`` (T, 3).

    Rotations are local, ``wxyz``, relative to the rest pose with world axes. The rotations of the
    first joint, the hips, are in world space. The header has the ``joints`` at and below the hips,
    their ``parents``, ``fps``, ``roles`` and ``quality``, and, with ``aim``, the point ``reached``.
    """
    skeleton = request.skeleton.body()
    head: dict[str, Any] = {}
    if request.aim is not None:
        if not isinstance(request.subject, ParametricSubject):
            raise InvalidInput("aim is only available for parametric motions")
        moved, head = _aimed(request.subject, skeleton, np.array(request.aim), state)
    else:
        motions = request.subject.motions(state)
        if request.character >= len(motions):
            raise InvalidInput(
                f"character must be less than {len(motions)}, the number of characters; "
                f"got {request.character}"
            )
        moved = _retargeted(motions[request.character], skeleton)
    quality = quality_head(moved.quality)
    if request.at_origin or request.aim is not None:
        moved = _facing_as_rest(moved)
    if request.fps is not None and abs(request.fps - moved.fps) > 1e-6 * moved.fps:
        _check_size(round(len(moved) * request.fps / moved.fps), skeleton)
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


def _facing_as_rest(moved: Motion) -> Motion:
    """Move a motion so that it starts at the origin and faces the way the rest pose does."""
    return (_rest_heading(moved) @ PlanarTransform.to_origin(moved)).apply_to_motion(moved)


def _rest_heading(motion: Motion) -> PlanarTransform:
    return PlanarTransform(0.0, 0.0, float(motion.rest_pose().headings()[0]))


def _aimed(
    subject: ParametricSubject, skeleton: Skeleton, aim: np.ndarray, state: AppState
) -> tuple[Motion, dict[str, Any]]:
    """Synthesize the motion whose joint reaches `aim` on the armature; return the point reached.

    The armature's limbs have different proportions, so the target of the blend is repeatedly
    corrected by the remaining error; the best attempt is returned.
    """
    shared = parametric_of(state, subject.name)
    measured = [parameter.text for parameter in shared.motion.parameters]
    role = measured[0].partition("@")[0]
    result = shared.reach(shared.motion.space.examples.mean(axis=0).tolist())
    if len(measured) != 1 or role not in skeleton.roles or result.frames[0] is None:
        raise InvalidInput(
            f"{subject.name} cannot be aimed, because it is parametrized by {', '.join(measured)}; "
            f"aim needs the position of one joint that the armature has, such as right_ankle@33"
        )
    scale = leg_length(skeleton) / leg_length(shared.motion.registration.skeleton)
    missed, target, best = aim, np.zeros(3), (np.inf, result.motion, aim)
    for _ in range(_MAX_AIMS):
        target = target + missed / scale
        result = shared.reach(target.tolist())
        moved = _retargeted(result.motion, skeleton)
        moment = result.frames[0] or 0
        reached = _facing_as_rest(moved).role_positions([role])[moment, 0].astype(np.float64)
        error = float(np.linalg.norm(aim - reached))
        best = min(best, (error, moved, reached), key=lambda attempt: attempt[0])
        if error < _AIMED:
            break
        missed = _rest_heading(moved).inverse().apply(aim - reached)
    error, moved, reached = best
    return moved, {"reached": reached.tolist(), "error": error, "joint": skeleton.roles[role]}
