"""Routes for the subject on the stage: download it as a file or video, or keep it as a take.

A subject is a segment of a take, a walk, a dance, a parametric motion at a target, a crowd, an
acted script, a recorded controller, or poses from another program.
"""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from motionloom.errors import InvalidInput
from motionloom.plots import write_gif, write_mp4
from motionloom.studio.requests import Name
from motionloom.studio.responses import FileFormat, ResultId, file_response, scene_file_response
from motionloom.studio.routes.dancing.crowd import crowd_of
from motionloom.studio.routes.dancing.dance import DanceRequest, dance_of
from motionloom.studio.routes.stage.skeletons import PosesSubject
from motionloom.studio.routes.synthesis.acting import ScriptRequest, acted_of
from motionloom.studio.routes.synthesis.graph import WalkRequest, walk_of
from motionloom.studio.routes.synthesis.matching import PlayedSubject
from motionloom.studio.routes.synthesis.parametric import parametric_of
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motionloom.motion import Motion

router = APIRouter(prefix="/subjects", tags=["subjects"])

_MAX_KEPT = 64  # characters per subject
_FILM_SECONDS = 60.0  # maximum length; the caption says if the motion is longer
_FILMS = {"gif": ("image/gif", 20.0), "mp4": ("video/mp4", 30.0)}  # type, frames per second


class SegmentSubject(BaseModel):
    """A take, or a segment of it."""

    kind: Literal["segment"]
    motion: Name
    start_frame: int = Field(0, ge=0)
    end_frame: int | None = Field(None, ge=1)

    def motions(self, state: AppState) -> Sequence[Motion]:
        """Return the frames ``[start_frame, end_frame)`` of the take."""
        take = state.library[self.motion]
        end = len(take) if self.end_frame is None else self.end_frame
        if not self.start_frame < end <= len(take):
            raise InvalidInput(
                f"{self.motion}: the range must be within the motion's {len(take)} frames; "
                f"got {self.start_frame} to {end}"
            )
        return [take[self.start_frame : end]]


class WalkSubject(WalkRequest):
    """A walk through a motion graph."""

    kind: Literal["walk"]

    def motions(self, state: AppState) -> Sequence[Motion]:
        """Return the motion of the walk."""
        return [walk_of(state, self)]


class DanceSubject(DanceRequest):
    """A dance."""

    kind: Literal["dance"]

    def motions(self, state: AppState) -> Sequence[Motion]:
        """Return the motion of each dancer."""
        return dance_of(self, state).motions


class ParametricSubject(BaseModel):
    """A parametric motion at a target."""

    kind: Literal["parametric"]
    name: Name
    target: list[float] = Field(max_length=100)

    def motions(self, state: AppState) -> Sequence[Motion]:
        """Return the blend that reaches the target."""
        return [parametric_of(state, self.name).reach(self.target).motion]


class CrowdSubject(BaseModel):
    """A crowd created by an earlier request."""

    kind: Literal["crowd"]
    id: Name

    def motions(self, state: AppState) -> Sequence[Motion]:
        """Return the motion of each character."""
        return crowd_of(state, self.id).scene.motions


class ActedSubject(ScriptRequest):
    """The motion of a script."""

    kind: Literal["act"]

    def motions(self, state: AppState) -> Sequence[Motion]:
        """Return the motion of the script."""
        return [acted_of(state, self.script).motion]


class ControlledSubject(PlayedSubject):
    """Recording of a motion matching character."""

    kind: Literal["played"]


Subject = Annotated[
    SegmentSubject
    | WalkSubject
    | DanceSubject
    | ParametricSubject
    | CrowdSubject
    | PosesSubject
    | ActedSubject
    | ControlledSubject,
    Field(discriminator="kind"),
]


class SubjectFileRequest(BaseModel):
    """A subject, and the format of the file."""

    subject: Subject
    suffix: FileFormat = "bvh"


class KeepRequest(BaseModel):
    """A subject, and the name of the new take."""

    subject: Subject
    name: Name = Field(min_length=1)
    labels: list[Name] = Field([], max_length=100)


class KeptTakes(BaseModel):
    """Names of the new takes, one per character."""

    names: list[str]


@router.post("/file", response_class=Response)
def save(request: SubjectFileRequest, state: State) -> Response:
    """Return the subject as a file; several characters are written to one file."""
    motions = request.subject.motions(state)
    if len(motions) == 1:
        return file_response(motions[0], request.suffix)
    if request.suffix == "bvh":
        raise InvalidInput(
            f"a BVH file can have only one character; this subject has {len(motions)}. Choose "
            f"GLB, FBX or USD, or save the characters as takes and download each of them"
        )
    return scene_file_response(motions, request.suffix, compact=request.subject.kind == "crowd")


class FilmRequest(BaseModel):
    """A subject with one character, and the file format of its video."""

    subject: Subject
    suffix: Literal["gif", "mp4"] = "gif"


@router.post("/films")
def film(request: FilmRequest, state: State) -> JobStatus[ResultId]:
    """Start a job that renders a video of the subject; its result has the video's ``id``."""
    motions = request.subject.motions(state)
    if len(motions) != 1:
        raise InvalidInput(
            f"a film can have only one character; this subject has {len(motions)}. Record the "
            f"stage instead"
        )
    write = write_gif if request.suffix == "gif" else write_mp4
    kind, fps = _FILMS[request.suffix]
    fps = min(fps, motions[0].fps)
    total = max(1, round(min(motions[0].duration, _FILM_SECONDS) * fps))

    def work(job: Job) -> ResultId:
        with tempfile.TemporaryDirectory() as folder:
            path = write(
                motions[0], Path(folder) / f"film.{request.suffix}", fps=fps,
                seconds=_FILM_SECONDS, progress=job.advance,
            )  # fmt: skip
            content = path.read_bytes()
        job.advance(0)  # raises if the job was stopped
        key = secrets.token_urlsafe(9)
        state.cached(("film", key), lambda: (content, kind))
        return {"id": key}

    return state.jobs.start("drawing a film", work, total=total).status()


@router.get("/films/{id}", response_class=Response)
def film_file(id: str, state: State) -> Response:
    """Return a video that a job has rendered."""

    def missing() -> tuple[bytes, str]:
        raise InvalidInput("this film is no longer available; draw it again")

    content, kind = state.cached(("film", id), missing)
    return Response(content, media_type=kind)


@router.post("/keep")
def keep(request: KeepRequest, state: State) -> KeptTakes:
    """Add the subject to the library as NAME, or as NAME_1, NAME_2, ... for several characters."""
    motions = request.subject.motions(state)
    if len(motions) > _MAX_KEPT:
        raise InvalidInput(
            f"at most {_MAX_KEPT} characters can be saved at once; got {len(motions)}"
        )
    base = request.name.strip()
    names = [base if len(motions) == 1 else f"{base}_{k}" for k in range(1, len(motions) + 1)]
    if taken := [name for name in names if name in state.library]:
        raise InvalidInput(f"{taken[0]} already exists in this library; choose another name")
    with state.library.store.change("keep"):
        for motion, name in zip(motions, names, strict=True):
            state.library.add_motion(motion, name=name, labels=request.labels)
    state.notify("motions")
    return KeptTakes(names=names)
