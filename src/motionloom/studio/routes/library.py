"""Motions and labels of the library, and the status of jobs."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from motionloom.studio.app_state import State
from motionloom.studio.jobs import JobStatus

router = APIRouter(tags=["library"])


class MotionRow(BaseModel):
    """One motion of the library."""

    name: str
    frames: int
    fps: float
    seconds: float
    labels: list[str]


class LibraryContents(BaseModel):
    """The library and all its motions, sorted by name."""

    id: str
    name: str
    path: str
    fps: float | None
    motions: list[MotionRow]


class Labels(BaseModel):
    """All labels of a motion."""

    labels: list[str] = Field(max_length=100)


@router.get("/library", response_model=LibraryContents)
def library(state: State) -> JSONResponse:
    """Name, rate, and one row per motion: name, frames, fps, seconds, labels."""
    library = state.library
    labels = library.all_labels()
    motions = [
        {
            "name": entry.name,
            "frames": entry.frames,
            "fps": entry.fps,
            "seconds": round(entry.seconds, 4),
            "labels": labels.get(entry.name, ()),
        }
        for entry in library.entries()
    ]
    # Thousands of rows are sent without validation; the model only documents them.
    return JSONResponse(
        {
            "id": library.id,
            "name": library.path.stem,
            "path": str(library.path),
            "fps": library.fps,
            "motions": motions,
        }
    )


@router.put("/library/labels/{name:path}")
def set_labels(name: str, given: Labels, state: State) -> Labels:
    """Replace the labels of a motion."""
    state.library.set_labels(name, given.labels)
    state.notify("labels")
    return Labels(labels=list(state.library.labels(name)))


class PlaceLabel(BaseModel):
    """A label of a take or of a segment of it."""

    place: str = Field(max_length=400, description="NAME or NAME:START-END")
    label: str = Field(min_length=1, max_length=200)
    remove: bool = False


@router.post("/library/labels")
def label_place(given: PlaceLabel, state: State) -> Labels:
    """Add a label to a take or a segment, or remove it; the answer has the labels of the take."""
    state.library.label(given.place, given.label, remove=given.remove)
    state.notify("labels")
    name = given.place if given.place in state.library else given.place.rpartition(":")[0]
    return Labels(labels=list(state.library.labels(name)))


@router.get("/jobs")
def jobs(state: State) -> list[JobStatus]:
    """All remembered jobs, the latest last."""
    return state.jobs.all()


@router.get("/jobs/{number}")
def job(number: int, state: State) -> JobStatus:
    """One job: ``state`` is running, done, failed or stopped."""
    return state.jobs[number].status()


@router.delete("/jobs/{number}")
def stop_job(number: int, state: State) -> JobStatus:
    """Ask a job to stop."""
    return state.jobs.stop(number).status()
