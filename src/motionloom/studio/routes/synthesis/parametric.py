"""Routes that learn, list, load and delete parametric motions."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library import ParameterKind, parameter, segment_query
from motionloom.library.settings import FamilySettings, ParametrizeSettings
from motionloom.settings import motion_choice
from motionloom.studio.requests import Name, RequestModel, Served
from motionloom.studio.responses import ArrayResponse, NamedBones, array_response
from motionloom.studio.routes.search.queries import family_of
from motionloom.studio.routes.stage.characters import Worn, shown_head
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motionloom.library import (
        AimedMotion,
        ArmatureReach,
        Family,
        ParametricMotion,
        SynthesisResult,
    )
    from motionloom.motion import Skeleton
    from motionloom.parallel import Progress

router = APIRouter(prefix="/parametric", tags=["parametric"])

_REGIONS = 8  # skeletons whose reachable regions are kept, for each parametric motion


class ParametrizeRequest(RequestModel):
    """Request to learn a parametric motion from `family`, `query` or `takes`."""

    family: str | None = Field(None, description="Id of a family computed by this server.")
    query: Name | None = Field(None, description="Query NAME:START-END, whose family is searched.")
    takes: Name | None = Field(
        None,
        description="Name of a take. It and the motions that `search` selects become the examples, "
        "each as a whole.",
    )
    search: Served[FamilySettings] = FamilySettings()
    name: Name = Field(description="Name of the saved motion; one with the same name is replaced.")
    by: list[Name] = Field(
        min_length=1, max_length=20, description="Parameters, such as right_ankle@33 or turn."
    )
    settings: Served[ParametrizeSettings] = ParametrizeSettings()


class ParametricRow(BaseModel):
    """A saved parametric motion, with its parameters and number of examples."""

    name: str
    by: list[str]
    examples: int


class ArtifactName(BaseModel):
    """Name of a saved artifact."""

    name: str


class ParametrizeResult(TypedDict):
    """A new parametric motion and the skipped examples."""

    name: str
    examples: int
    left_out: list[str]


class ParametricHead(NamedBones):
    """A parametric motion: its parameters' names, axes, dimensions and frames, and its examples."""

    by: list[str]
    axes: list[str]
    numbers: list[int]
    frames: list[int | None]
    examples: list[str]
    left_out: list[str]
    fps: float


@dataclass
class SharedParametricMotion:
    """A parametric motion that windows use one at a time, because foot locking keeps state."""

    motion: ParametricMotion
    lock: threading.Lock = field(default_factory=threading.Lock)
    regions: dict[str, ArmatureReach] = field(default_factory=dict)  # by skeleton, oldest first

    def accessible(self, skeleton: Skeleton, progress: Progress | None = None) -> ArmatureReach:
        """Return the reachable region on a skeleton, which is sampled once for all windows."""
        with self.lock:
            if skeleton.key not in self.regions:
                self.regions[skeleton.key] = self.motion.on(skeleton, progress=progress)
            while len(self.regions) > _REGIONS:
                del self.regions[next(iter(self.regions))]
            return self.regions[skeleton.key]

    def aim(self, skeleton: Skeleton, target: Sequence[float]) -> tuple[AimedMotion, str]:
        """Return the motion on a skeleton whose joint reaches a target, and the joint."""
        region = self.accessible(skeleton)
        with self.lock:
            return region.reach(target), region.joint

    def reach(self, target: list[float]) -> SynthesisResult:
        """Call `ParametricMotion.reach` when no other window is calling it."""
        with self.lock:
            return self.motion.reach(target)


@router.get("/kinds")
def kinds(state: State) -> list[ParameterKind]:
    """List the parameter kinds: name, description, and whether joint and frame apply."""
    return list(state.library.parametric.kinds())


@router.get("")
def stored(state: State) -> list[ParametricRow]:
    """List the saved parametric motions: name, parameters, number of examples."""
    return [ParametricRow(**row) for row in state.library.parametric.about()]


@router.post("")
def create(request: ParametrizeRequest, state: State) -> JobStatus[ParametrizeResult]:
    """Start a job that learns a parametric motion; its result has the name and example count."""
    if sum(map(bool, (request.family, request.query, request.takes))) != 1:
        raise InvalidInput("a parametric motion needs exactly one of family, query and takes")

    # Built-in parameters only: a string from a browser must not refer to files or functions.
    by = [parameter(text) for text in request.by]

    if query := request.query or request.takes:
        state.library.parametric.check(segment_query(state.library, query), by)

    def work(job: Job) -> ParametrizeResult:
        members = _members(request, state)
        job.total, job.title = request.settings.samples, f"sampling blends for {request.name}"
        motion = state.library.parametrize(
            members,
            by,
            request.settings,
            name=request.name,
            progress=job.advance,
        )
        state.artifact_changed(("parametric", request.name))
        return {
            "name": request.name,
            "examples": len(motion.examples),
            "left_out": list(motion.registration.left_out),
        }

    title = "searching the family" if request.query else "registering the examples"
    return state.jobs.start(title, work, request=("parametric", request.model_dump_json())).status()


@router.get("/{name}", response_model=ParametricHead, response_class=ArrayResponse)
def load(name: str, state: State, own: Worn) -> Response:
    """Return a saved parametric motion: skeleton, ``accessible`` (S, d), ``examples`` (N, d)."""
    motion = parametric_of(state, name).motion
    head: ParametricHead = {
        "name": name,
        "by": [parameter.text for parameter in motion.parameters],
        "axes": list(motion.axes),
        "numbers": [len(parameter) for parameter in motion.parameters],
        "frames": [parameter.frame for parameter in motion.parameters],
        "examples": list(motion.examples),
        "left_out": list(motion.registration.left_out),
        "fps": motion.registration.fps,
        **shown_head(motion.registration.skeleton, own),
    }
    return array_response(head, accessible=motion.accessible, examples=motion.space.examples)


@router.delete("/{name}")
def delete(name: str, state: State) -> ArtifactName:
    """Delete a saved parametric motion."""
    parametric_of(state, name)  # raises if it does not exist
    del state.library.parametric[name]
    state.artifact_changed(("parametric", name))
    return ArtifactName(name=name)


def parametric_of(state: AppState, name: str) -> SharedParametricMotion:
    """Return a saved parametric motion, loaded once for all windows."""
    return state.cached(
        ("parametric", name), lambda: SharedParametricMotion(state.library.parametric[name])
    )


def _members(request: ParametrizeRequest, state: AppState) -> Family | list[str]:
    library = state.library
    if request.takes:
        return library.select(first=request.takes, **motion_choice(request.search))
    if request.family:
        return family_of(state, request.family)
    assert request.query is not None
    return library.family(segment_query(library, request.query), request.search)
