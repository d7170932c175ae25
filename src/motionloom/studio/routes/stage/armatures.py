"""Armatures of other programs: a subject retargeted to one, and poses of one as a query."""

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

_MAX_ROTATIONS = 8_000_000  # frames times joints of one response: 128 MB
_AIMED = 0.002  # meters: nearer than this is not seen
_MAX_AIMS = 8  # corrections of a target, each a blend and a retargeting


class RetargetRequest(BaseModel):
    """A subject, and the armature that it is brought to."""

    subject: Subject
    skeleton: SkeletonModel
    character: int = Field(0, ge=0, description="Which of several dancers or soldiers.")
    fps: Rate | None = Field(None, description="Rate of the result; default: that of the subject.")
    at_origin: bool = Field(
        False, description="Begin over the origin, facing as the armature does at rest."
    )
    aim: Place | None = Field(
        None,
        description="Where the joint of a parametric motion arrives on the armature, instead of "
        "the target of the subject; the motion begins over the origin.",
    )


class ArmatureHead(NamedBones):
    """A motion on an armature; `reached`, `error` and `joint` are those of an aim."""

    fps: float
    quality: Quality | None
    reached: NotRequired[list[float]]
    error: NotRequired[float]
    joint: NotRequired[int]


class QueryResult(BaseModel):
    """Matches of a subject, as ``motionloom search --json`` prints them."""

    unit: str
    matches: list[MatchRow]


class SubjectSearchRequest(BaseModel):
    """A subject as the query of a search."""

    subject: Subject
    settings: Served[SearchSettings] = SearchSettings()


@router.post("/retarget", response_model=ArmatureHead, response_class=ArrayResponse)
def on_armature(request: RetargetRequest, state: State) -> Response:
    """The subject on an armature: ``rotations`` (T, J, 4) and ``root`` (T, 3).

    Rotations are local, ``wxyz``, relative to the rest pose with the axes of the world; those of
    the first joint, the hips, are in the world. The head has the ``joints`` at and below the hips,
    their ``parents``, ``fps``, ``roles`` and ``quality``, and for ``aim`` what was ``reached``.
    """
    skeleton = request.skeleton.body()
    head: dict[str, Any] = {}
    if request.aim is not None:
        if not isinstance(request.subject, ParametricSubject):
            raise InvalidInput("only a parametric motion can be aimed")
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
    """Everything in the library that resembles the subject, nearest first."""
    motions = request.subject.motions(state)
    if len(motions) > 1:
        raise InvalidInput(f"a query has one character; this has {len(motions)}")
    found = state.library.search(motions[0], request.settings)
    rows: Any = found.to_json()
    return QueryResult(unit=found.unit, matches=rows)


def _retargeted(motion: Motion, skeleton: Skeleton) -> Motion:
    _check_size(len(motion), skeleton)
    return motion.retarget(skeleton)


def _check_size(frames: int, skeleton: Skeleton) -> None:
    if frames * len(skeleton) > _MAX_ROTATIONS:
        raise InvalidInput(
            f"at most {_MAX_ROTATIONS // len(skeleton):,} frames are brought to an armature of "
            f"{len(skeleton)} joints at once; got {frames:,}"
        )


def _facing_as_rest(moved: Motion) -> Motion:
    """The motion with its first frame over the origin, facing as the rest pose does."""
    return (_rest_heading(moved) @ PlanarTransform.to_origin(moved)).apply_to_motion(moved)


def _rest_heading(motion: Motion) -> PlanarTransform:
    return PlanarTransform(0.0, 0.0, float(motion.rest_pose().headings()[0]))


def _aimed(
    subject: ParametricSubject, skeleton: Skeleton, aim: np.ndarray, state: AppState
) -> tuple[Motion, dict[str, Any]]:
    """The motion whose joint arrives at `aim` on the armature, and what was reached.

    The limbs of the armature have other proportions, so the target of the blend is corrected by
    what the armature misses; the best of all attempts is kept.
    """
    shared = parametric_of(state, subject.name)
    texts = [one.text for one in shared.motion.parameters]
    role = texts[0].partition("@")[0]
    result = shared.reach(shared.motion.space.examples.mean(axis=0).tolist())
    if len(texts) != 1 or role not in skeleton.roles or result.frames[0] is None:
        raise InvalidInput(
            f"{subject.name} cannot be aimed: it is parametrized by {', '.join(texts)}; only the "
            "position of one joint that the armature has, such as right_ankle@33, can be"
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
