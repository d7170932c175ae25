"""Crowd routes: couples in a ballroom, and soldiers on a street."""

from __future__ import annotations

import hashlib
import itertools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired

from fastapi import APIRouter, Response
from pydantic import Field
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library import CrowdPlan
from motionloom.library.settings import BallroomSettings, MarchSettings
from motionloom.parallel import Share
from motionloom.settings import PLANNED
from motionloom.studio.messages import scene_arrays
from motionloom.studio.requests import (
    CodeLines,
    Name,
    RequestModel,
    Served,
    flags,
    python_arguments,
    settings_key,
)
from motionloom.studio.responses import (
    ArrayResponse,
    Quality,
    SceneHead,
    array_response,
    quality_head,
)
from motionloom.studio.routes.dancing.dance import wav_bytes
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import Ballroom, Choreography, Library, March

router = APIRouter(prefix="/crowds", tags=["crowds"])

_MAX_FRAMES = 150_000  # for all characters together: 50 MB for the page
_USUAL_SECONDS = 60.0  # assumed if no length is set


class BallroomRequest(RequestModel):
    """Couples in a ballroom; see ``motionloom ballroom``."""

    kind: Literal["ballroom"] = "ballroom"
    label: Name | None = Field(
        None, description="Label of the takes to learn from; default: built-in takes."
    )
    settings: Served[BallroomSettings] = BallroomSettings()

    @property
    def characters(self) -> int:
        """Number of characters in the crowd."""
        return 2 * self.settings.couples


class MarchRequest(RequestModel):
    """Soldiers on a street; see ``motionloom march``."""

    kind: Literal["march"]
    label: Name | None = Field(
        None, description="Label of the takes to learn from; default: built-in takes."
    )
    settings: Served[MarchSettings] = MarchSettings()

    @property
    def characters(self) -> int:
        """Number of characters in the crowd."""
        return self.settings.formation.ranks * self.settings.formation.files


CrowdRequest = Annotated[BallroomRequest | MarchRequest, Field(discriminator="kind")]


def crowd_lines(request: CrowdRequest, library: Path) -> CodeLines:
    """Format the crowd as a command line and, for built-in takes, as Python code."""
    settings = request.settings
    words = ["motionloom", request.kind, *([] if request.label is None else [str(library)])]
    words += flags(settings)
    if isinstance(settings, BallroomSettings) and "room" in settings.floor.changed():
        room = settings.floor.room
        words += ["--room", "open" if room is None else f"{room[0]:g}x{room[1]:g}"]
    words += [] if request.label is None else ["--label", request.label]
    python = (
        "import motionloom as ml\n"
        "from motionloom.library import CrowdPlan\n"
        f'plan = CrowdPlan("{request.kind}", dict({python_arguments(settings)}))\n'
        "crowd = plan.run(plan.choreography())"
    )
    return CodeLines(
        cli=shlex.join([*words, "-o", f"{request.kind}.glb"]),
        python=python if request.label is None else "",
    )


def _key(request: CrowdRequest, library: Library) -> str:
    """Return a request's cache key; it includes the library state if library takes are used."""
    text = request.model_dump_json() + (library.store.digest() if request.label else "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class CrowdResult(TypedDict):
    """A crowd, its quality measurements, and equivalent code."""

    id: str
    characters: int
    beats_total: int
    beats_within_one_frame: int
    quality: Quality | None
    lines: CodeLines
    clearance_m: NotRequired[float]
    radius_m: NotRequired[float]
    left_feet_in_step: NotRequired[float]
    misplacement_m: NotRequired[float]


class CrowdHead(SceneHead):
    """Message header of all characters; `bodies` is 2 for couples and 1 otherwise."""

    bodies: int
    room: tuple[float, float] | None


@router.post("")
def create(request: CrowdRequest, state: State) -> JobStatus[CrowdResult]:
    """Start a job that creates a crowd; its result has the ``id`` and quality measurements."""
    seconds = request.settings.seconds or _USUAL_SECONDS
    frames = round(request.characters * seconds * request.settings.fps)
    if frames > _MAX_FRAMES:
        raise InvalidInput(
            f"the page can show at most {_MAX_FRAMES:,} frames; {request.characters} characters "
            f"for "
            f"{seconds:g} s make {frames:,}. Reduce the time or the number of characters, or "
            f"run this in a terminal: {crowd_lines(request, state.library.path).cli}"
        )

    if request.label is not None:
        state.library.select(label=request.label)  # raises immediately, not within the job

    def work(job: Job) -> CrowdResult:
        key = _key(request, state.library)
        crowd = state.cached(("crowd", key), lambda: _run(request, state, job))
        return _summary(key, request, crowd, state)

    title = f"moving {request.characters} characters"
    return state.jobs.start(
        title, work, total=2 * PLANNED, request=("crowd", request.model_dump_json())
    ).status()


@router.get("/{id}", response_model=CrowdHead, response_class=ArrayResponse)
def crowd(id: str, state: State) -> Response:
    """Return the room and all characters: ``positions_K`` (T, P, 3) and ``contacts_K`` (T, 4)."""
    crowd = crowd_of(state, id)
    motions = crowd.scene.motions
    characters, arrays = scene_arrays(motions)
    floor = getattr(crowd.settings, "floor", None)
    head: CrowdHead = {
        "fps": motions[0].fps,
        "frames": len(motions[0]),
        "characters": characters,
        "bodies": len(crowd.motions[0]),
        "room": floor.room if floor else None,
    }
    street = getattr(crowd.settings, "street", None)
    if street is not None:
        arrays["street"] = street.places
    return array_response(head, **arrays)


@router.get("/{id}/sound", response_class=Response)
def sound(id: str, state: State) -> Response:
    """Return the music of the crowd as a WAV file."""
    return Response(wav_bytes(crowd_of(state, id).music), media_type="audio/wav")


def crowd_of(state: AppState, key: str) -> Ballroom | March:
    """Return a cached crowd; if it was evicted, the page requests it again."""

    def missing() -> Ballroom | March:
        raise InvalidInput("this crowd is no longer available; create it again")

    return state.cached(("crowd", key), missing)


def _run(request: CrowdRequest, state: AppState, job: Job) -> Ballroom | March:
    given, source = request.settings.changed(), None
    if request.label is not None:
        given |= {"library": str(state.library.path), "label": (request.label,)}
        source = (request.label, state.library.store.digest())
    plan = CrowdPlan(request.kind, given, library=state.library.store)
    movements = settings_key(request.settings.movements)
    key = ("crowd-steps", request.kind, source, request.settings.fps, movements)
    analyzed = Share(job.advance)  # half of the job: the takes; the other half: the crowd

    def learned() -> Choreography:
        takes = plan.takes()
        done = itertools.count(1)
        return plan.choreography(
            takes, progress=lambda steps: analyzed.at(next(done) / max(len(takes), 1))
        )

    choreography = state.cached(key, learned)
    analyzed.at(1.0)  # raises if the job was stopped
    return plan.run(choreography, progress=job.advance)


def _summary(
    key: str, request: CrowdRequest, crowd: Ballroom | March, state: AppState
) -> CrowdResult:
    total, on_time = crowd.beats_on_time()
    summary: CrowdResult = {
        "id": key,
        "characters": len(crowd.scene),
        "beats_total": total,
        "beats_within_one_frame": on_time,
        "quality": quality_head(crowd.quality().worst),
        "lines": crowd_lines(request, state.library.path),
    }
    if request.kind == "ballroom":
        summary["clearance_m"] = float(crowd.clearance())  # type: ignore[union-attr]
        summary["radius_m"] = crowd.settings.floor.disc_radius  # type: ignore[union-attr]
    else:
        summary["left_feet_in_step"] = float(crowd.left_feet_in_step())  # type: ignore[union-attr]
        summary["misplacement_m"] = float(crowd.misplacement().mean())  # type: ignore[union-attr]
    return summary
