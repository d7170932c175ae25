"""Motions and labels of the library, clusters of takes, what can be undone, jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from motionloom import demo
from motionloom.errors import MotionloomError
from motionloom.library import Cluster
from motionloom.library.settings import ClusterSettings
from motionloom.studio.requests import Name, RequestModel, Served
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import Change

Place = Annotated[str, Field(max_length=400, description="NAME or NAME:START-END")]

router = APIRouter(tags=["library"])

SAMPLES = (
    "walk_p0", "walk_p1", "walk_left_p0", "walk_right_p0", "jog_p0", "kick_front_high_right_p0",
    "kick_front_mid_right_p0", "kick_side_mid_right_p0", "kick_front_high_right_p1",
    "punch_mid_right_p0", "punch_high_right_p0", "sit_stand_p0", "jump_up_p0", "dance_groove_p0",
    "dance_sway_p0", "dance_groove_p1",
)  # fmt: skip


class MotionRow(BaseModel):
    """One motion of the library."""

    name: str
    frames: int
    fps: float
    seconds: float
    labels: list[str]


class LibraryContents(BaseModel):
    """The library and all its motions, sorted by name; without a name if none is open."""

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
    if not state.is_open:
        return JSONResponse({"id": "", "name": "", "path": "", "fps": None, "motions": []})
    library = state.library
    labels = library.labels.labeled()
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
            "id": library.store.id,
            "name": library.path.stem,
            "path": str(library.path),
            "fps": library.store.fps,
            "motions": motions,
        }
    )


@router.put("/library/labels/{name:path}")
def set_labels(name: str, given: Labels, state: State) -> Labels:
    """Replace the labels of a motion."""
    state.library.labels[name] = given.labels
    state.notify("labels")
    return Labels(labels=list(state.library.labels[name]))


class PlaceLabel(BaseModel):
    """A label of takes or of segments of them."""

    places: list[Place] = Field(min_length=1, max_length=20_000)
    label: str = Field(min_length=1, max_length=200)
    remove: bool = False


class LabeledTakes(BaseModel):
    """All labels of each take."""

    labels: dict[str, list[str]]


@router.post("/library/labels")
def label_places(given: PlaceLabel, state: State) -> LabeledTakes:
    """Add a label to takes or segments, or remove it, as one change; the labels of these takes."""
    library = state.library
    with library.store.change("label"):
        for place in given.places:
            if given.remove:
                library.labels.remove(place, given.label)
            else:
                library.labels.add(place, given.label)
    state.notify("labels")
    names = {one if one in library else one.rpartition(":")[0] for one in given.places}
    return LabeledTakes(labels={name: list(library.labels[name]) for name in sorted(names)})


class AddedCount(TypedDict):
    """Number of takes that were added."""

    added: int


@router.post("/library/samples")
def samples(state: State) -> JobStatus[AddedCount]:
    """Add a few takes that are made by code, as a job: something to try the studio with."""

    def work(job: Job) -> AddedCount:
        count = 0
        try:
            with state.library.store.change("add samples"):
                for name in SAMPLES:
                    if name not in state.library:
                        state.library.add_motion(demo.clip(name), name=name)
                        count += 1
                    job.advance()
        finally:
            state.notify("motions")
        return {"added": count}

    return state.jobs.start("adding samples", work, total=len(SAMPLES)).status()


class Renaming(BaseModel):
    """A take and its new name."""

    name: Name
    new: Name = Field(min_length=1)


@router.post("/library/rename")
def rename(given: Renaming, state: State) -> dict[str, None]:
    """Give a take another name."""
    state.library.rename(given.name, given.new.strip())
    state.all_changed()
    return {}


class TakeNames(BaseModel):
    """Names of takes."""

    names: list[Name] = Field(min_length=1, max_length=20_000)


@router.post("/library/remove")
def remove(given: TakeNames, state: State) -> dict[str, None]:
    """Remove takes; their frames go to the trash of the library."""
    state.library.remove(*given.names)
    state.all_changed()
    return {}


class LibraryChange(BaseModel):
    """One change of the library, in words."""

    text: str
    undone: bool


@router.get("/library/history")
def history(state: State) -> list[LibraryChange]:
    """What can be undone and redone, the latest first."""
    return [LibraryChange(text=str(one), undone=one.undone) for one in state.library.history()]


@router.post("/library/undo")
def undo(state: State) -> LibraryChange:
    """Undo the latest change of the library, whoever made it."""
    return _exchanged(state, state.library.undo())


@router.post("/library/redo")
def redo(state: State) -> LibraryChange:
    """Do the change again that was undone last."""
    return _exchanged(state, state.library.redo())


def _exchanged(state: AppState, change: Change) -> LibraryChange:
    state.all_changed()
    return LibraryChange(text=str(change), undone=change.undone)


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


# --- a first look at takes without labels -----------------------------------------------------


class ClusterRequest(RequestModel):
    """How takes are put into clusters."""

    settings: Served[ClusterSettings] = ClusterSettings()


@router.post("/clusters")
def clusters(request: ClusterRequest, state: State) -> JobStatus[list[Cluster]]:
    """Put takes into clusters, as a job; its result has the clusters, the largest first."""
    library = state.library

    def work(job: Job) -> list[Cluster]:
        found = library.clusters(request.settings, workers=1, progress=job.advance)
        return [
            replace(one, seconds=round(one.seconds, 2), spread=round(one.spread, 3))
            for one in found
        ]

    return state.jobs.start("sorting takes into clusters", work, total=len(library)).status()


@router.post("/rhythms")
def rhythms(state: State) -> JobStatus[dict[str, float]]:
    """Which takes have a rhythm, as a job; its result has the tempo of each, beats per minute."""
    library = state.library
    entries = library.entries()

    def work(job: Job) -> dict[str, float]:
        found = {}
        known: dict[str, float | None] = state.cached(("rhythms",), dict)
        for entry in entries:
            if entry.digest not in known:
                try:
                    beats = library.beats[entry.name]
                    known[entry.digest] = 60.0 / beats.period if beats.rhythmic else None
                except MotionloomError:  # too short, or without feet
                    known[entry.digest] = None
            tempo = known[entry.digest]
            if tempo is not None:
                found[entry.name] = round(tempo, 1)
            job.advance()
        return found

    return state.jobs.start("looking for rhythm", work, total=len(entries)).status()
