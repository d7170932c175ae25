"""Crowds: couples in a ballroom, soldiers on a street."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library import CrowdPlan
from motionloom.library.settings import DEFAULT_TEMPO, BallroomSettings, MarchSettings
from motionloom.studio.messages import scene_arrays
from motionloom.studio.requests.models import from_setting
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
    from motionloom.library import Ballroom, Library, March

router = APIRouter(prefix="/crowds", tags=["crowds"])

_ROOM = BallroomSettings.room or (14.0, 10.0)
_MAX_FRAMES = 150_000  # of all characters together: 50 MB for the page


class CrowdRequest(BaseModel):
    """A crowd; the same settings as ``motionloom ballroom`` and ``motionloom march``."""

    kind: Literal["ballroom", "march"] = "ballroom"
    couples: int = from_setting(BallroomSettings, "couples", ge=1, le=200)
    width: float = Field(_ROOM[0], gt=0.0, le=100.0, description="Of the ballroom, metres.")
    depth: float = Field(_ROOM[1], gt=0.0, le=100.0, description="Of the ballroom, metres.")
    ranks: int = from_setting(MarchSettings, "ranks", ge=1, le=50)
    files: int = from_setting(MarchSettings, "files", ge=1, le=12)
    tempo: float = from_setting(BallroomSettings, "tempo_bpm", DEFAULT_TEMPO)
    seconds: float = Field(20.0, ge=1.0, le=120.0)
    seed: int = from_setting(BallroomSettings, "seed", ge=0, le=2**31)
    within: str | None = Field(
        None, max_length=300, description="Label of the takes to learn from; default: built-in."
    )

    @property
    def characters(self) -> int:
        """Number of characters."""
        return 2 * self.couples if self.kind == "ballroom" else self.ranks * self.files

    def arguments(self) -> dict[str, Any]:
        """Settings of the crowd by name."""
        if self.kind == "ballroom":
            given = {"couples": self.couples, "room": (self.width, self.depth)}
        else:
            given = {"ranks": self.ranks, "files": self.files}
        return given | {
            "music": "tune", "tempo_bpm": self.tempo, "seconds": self.seconds, "seed": self.seed,
        }  # fmt: skip

    def key(self, library: Library) -> str:
        """Key of these settings, and of the state of the library if its takes are used."""
        text = self.model_dump_json() + (library.store.digest() if self.within is not None else "")
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def cli(self, library: Path) -> str:
        """The crowd as a command line."""
        words = [self.kind] if self.within is None else [self.kind, str(library)]
        if self.kind == "ballroom":
            words += ["--couples", f"{self.couples}"]
            words += ["--room", f"{self.width:g}x{self.depth:g}"]
        else:
            words += ["--ranks", f"{self.ranks}", "--files", f"{self.files}"]
        words += ["--music", "tune", "--tempo", f"{self.tempo:g}", "--seconds", f"{self.seconds:g}"]
        words += ["--seed", f"{self.seed}"]
        if self.within is not None:
            words += ["--label", self.within]
        return shlex.join(["motionloom", *words, "-o", f"{self.kind}.glb"])

    def python(self) -> str:
        """The crowd as Python code, with the built-in takes; empty for takes of a library."""
        if self.within is not None:
            return ""
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments().items())
        return (
            "from motionloom.library import CrowdPlan\n"
            f'plan = CrowdPlan("{self.kind}", dict({given}))\n'
            "crowd = plan.run(plan.choreography())"
        )


class CrowdResult(TypedDict):
    """A crowd, its measures of quality, and the code that makes it."""

    id: str
    characters: int
    beats_total: int
    beats_within_one_frame: int
    quality: Quality | None
    cli: str
    python: str
    clearance_m: NotRequired[float]
    radius_m: NotRequired[float]
    left_feet_in_step: NotRequired[float]
    misplacement_m: NotRequired[float]


class CrowdHead(SceneHead):
    """All characters; `bodies` is the number of characters of one dancer or couple."""

    bodies: int
    room: tuple[float, float] | None


@router.post("")
def create(request: CrowdRequest, state: State) -> JobStatus[CrowdResult]:
    """Create a crowd as a job; its result has the ``id`` and measures of quality."""
    frames = round(request.characters * request.seconds * 30.0)
    if frames > _MAX_FRAMES:
        raise InvalidInput(
            f"the page shows at most {_MAX_FRAMES:,} frames; {request.characters} characters for "
            f"{request.seconds:g} s are {frames:,}. Choose fewer seconds or characters, or use a "
            f"terminal: {request.cli(state.library.path)}"
        )

    def work(job: Job) -> CrowdResult:
        key = request.key(state.library)
        crowd = state.cached(("crowd", key), lambda: _run(request, state, job))
        return _summary(key, request, crowd, state)

    return state.jobs.start(f"moving {request.characters} characters", work).status()


@router.get("/{id}", response_model=CrowdHead, response_class=ArrayResponse)
def crowd(id: str, state: State) -> Response:
    """All characters: ``positions_K`` (T, P, 3), ``contacts_K`` (T, 4), and the room or street."""
    crowd = crowd_of(state, id)
    motions = crowd.scene.motions
    characters, arrays = scene_arrays(motions)
    head: CrowdHead = {
        "fps": motions[0].fps,
        "frames": len(motions[0]),
        "characters": characters,
        "bodies": len(crowd.motions[0]),
        "room": getattr(crowd.settings, "room", None),
    }
    street = getattr(crowd.settings, "street", None)
    if street is not None:
        arrays["street"] = street.places
    return array_response(head, **arrays)


@router.get("/{id}/sound", response_class=Response)
def sound(id: str, state: State) -> Response:
    """The music of the crowd as a WAV file."""
    return Response(wav_bytes(crowd_of(state, id).music), media_type="audio/wav")


def crowd_of(state: AppState, key: str) -> Ballroom | March:
    """A cached crowd; the page requests it again where it was dropped."""

    def missing() -> Ballroom | March:
        raise InvalidInput("this crowd is not open; make it again")

    return state.cached(("crowd", key), missing)


def _run(request: CrowdRequest, state: AppState, job: Job) -> Ballroom | March:
    given, source = request.arguments(), None
    if request.within is not None:
        given |= {"library": str(state.library.path), "label": (request.within,)}
        source = (request.within, state.library.store.digest())
    plan = CrowdPlan(request.kind, given, library=state.library)
    choreography = state.cached(("crowd-steps", request.kind, source), plan.choreography)
    job.advance(0)  # raises if the job was stopped
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
        "cli": request.cli(state.library.path),
        "python": request.python(),
    }
    if request.kind == "ballroom":
        summary["clearance_m"] = float(crowd.clearance())  # type: ignore[union-attr]
        summary["radius_m"] = crowd.settings.disc_radius  # type: ignore[union-attr]
    else:
        summary["left_feet_in_step"] = float(crowd.left_feet_in_step())  # type: ignore[union-attr]
        summary["misplacement_m"] = float(crowd.misplacement().mean())  # type: ignore[union-attr]
    return summary
