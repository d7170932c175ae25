"""Routes for the library's motions and labels, clusters of takes, undo history, and jobs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from motionloom import demo
from motionloom.library import Cluster
from motionloom.library.settings import ClusterSettings
from motionloom.settings import motion_choice
from motionloom.studio.requests import Name, RequestModel, Served
from motionloom.studio.routes.library.words import describing
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
    """A motion in the library."""

    name: str
    frames: int
    fps: float
    seconds: float
    labels: list[str]


class LibraryContents(BaseModel):
    """The open library and its motions, sorted by name; empty if no library is open."""

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
    """Return the library's name and frame rate, and one row per motion, with its labels."""
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
    """A label to add to takes or segments, or to remove."""

    places: list[Place] = Field(min_length=1, max_length=20_000)
    label: str = Field(min_length=1, max_length=200)
    remove: bool = False


class LabeledTakes(BaseModel):
    """All labels of each take."""

    labels: dict[str, list[str]]


@router.post("/library/labels")
def label_places(given: PlaceLabel, state: State) -> LabeledTakes:
    """Add or remove a label on takes or segments, as one undo step; return the takes' labels."""
    library = state.library
    with library.store.change("label"):
        for place in given.places:
            if given.remove:
                library.labels.remove(place, given.label)
            else:
                library.labels.add(place, given.label)
    state.notify("labels")
    names = {
        segment if segment in library else segment.rpartition(":")[0] for segment in given.places
    }
    return LabeledTakes(labels={name: list(library.labels[name]) for name in sorted(names)})


class AddedCount(TypedDict):
    """Number of added takes."""

    added: int


@router.post("/library/samples")
def samples(state: State) -> JobStatus[AddedCount]:
    """Start a job that adds a few generated takes with which to try the studio."""

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

    return state.jobs.start("adding samples", work, total=len(SAMPLES), view="library").status()


class Renaming(BaseModel):
    """A take and its new name."""

    name: Name
    new: Name = Field(min_length=1)


@router.post("/library/rename")
def rename(given: Renaming, state: State) -> dict[str, None]:
    """Rename a take."""
    state.library.rename(given.name, given.new.strip())
    state.all_changed()
    return {}


class TakeNames(BaseModel):
    """Names of takes."""

    names: list[Name] = Field(min_length=1, max_length=20_000)


@router.post("/library/remove")
def remove(given: TakeNames, state: State) -> dict[str, None]:
    """Remove takes; their frames are moved to the library's trash."""
    state.library.remove(*given.names)
    state.all_changed()
    return {}


class LibraryChange(BaseModel):
    """One change to the library, with a description."""

    text: str
    undone: bool


@router.get("/library/history")
def history(state: State) -> list[LibraryChange]:
    """List the changes that can be undone or redone, latest first."""
    return [
        LibraryChange(text=str(change), undone=change.undone) for change in state.library.history()
    ]


@router.post("/library/undo")
def undo(state: State) -> LibraryChange:
    """Undo the latest change to the library, even if it was made outside the studio."""
    return _exchanged(state, state.library.undo())


@router.post("/library/redo")
def redo(state: State) -> LibraryChange:
    """Redo the change that was undone last."""
    return _exchanged(state, state.library.redo())


def _exchanged(state: AppState, change: Change) -> LibraryChange:
    state.all_changed()
    return LibraryChange(text=str(change), undone=change.undone)


@router.get("/jobs")
def jobs(state: State) -> list[JobStatus]:
    """List all remembered jobs, latest last."""
    return state.jobs.all()


@router.get("/jobs/{number}")
def job(number: int, state: State) -> JobStatus:
    """Return a job; ``state`` is running, done, failed or stopped."""
    return state.jobs[number].status()


@router.delete("/jobs/{number}")
def stop_job(number: int, state: State, replaced: bool = False) -> JobStatus:
    """Ask a job to stop.

    With `replaced`, only the one who asks does not need it anymore: it goes on for the others who
    have asked for the same.
    """
    return (state.jobs.give_up if replaced else state.jobs.stop)(number).status()


# --- a first look at takes without labels -----------------------------------------------------


class ClusterRequest(RequestModel):
    """Settings for clusters of takes."""

    settings: Served[ClusterSettings] = ClusterSettings()


@router.post("/clusters")
def clusters(request: ClusterRequest, state: State) -> JobStatus[list[Cluster]]:
    """Start a job that groups takes into clusters; its result has the clusters, largest first.

    The same takes and settings give the job that was started before.
    """
    state.library.select(**motion_choice(request.settings))  # raises immediately, not in the job
    return _grouping(state, request.settings).status()


def _grouping(
    state: AppState, settings: ClusterSettings, *, background: bool = False
) -> Job[list[Cluster]]:
    library = state.library

    def work(job: Job) -> list[Cluster]:
        if settings.names:
            with state.jobs.holding(state.describing):
                library.captions.describe(workers=1, progress=job.advance)
        described = job.done

        def advance(steps: int) -> None:
            nonlocal described  # steps that are counted again, because captions are stored now
            again = min(described, steps)
            described -= again
            job.advance(steps - again)

        groups = library.clusters(settings, workers=1, progress=advance)
        return [
            replace(cluster, seconds=round(cluster.seconds, 2), spread=round(cluster.spread, 3))
            for cluster in groups
        ]

    # Labels matter only if they choose the takes.
    chosen = library.store.digest() if settings.label else ""
    return state.jobs.start(
        "grouping takes into clusters",
        work,
        total=settings.steps * len(library),
        key=("clusters", state.motions_key(), chosen, json.dumps(settings.to_json(), default=str)),
        background=background,
        view="library?show=groups",
    )


@router.post("/rhythms")
def rhythms(state: State) -> JobStatus[dict[str, float]]:
    """Start a job that finds rhythmic takes; its result has their tempos in beats per minute."""
    return _detecting(state).status()


def _detecting(state: AppState, *, background: bool = False) -> Job[dict[str, float]]:
    library = state.library

    def work(job: Job) -> dict[str, float]:
        tempos = library.beats.tempos(progress=job.advance)
        return {name: round(tempo, 1) for name, tempo in tempos.items() if tempo is not None}

    return state.jobs.start(
        "detecting rhythm",
        work,
        total=len(library),
        key=("rhythm", state.motions_key()),
        background=background,
    )


@router.post("/library/analysis")
def analysis(request: ClusterRequest, state: State) -> list[JobStatus]:
    """Start the background jobs that describe, group and time all takes, once for these takes.

    They run one after the other. A job that was stopped is not started again.
    """
    if not state.is_open or not len(state.library):
        return []
    jobs: list[Job] = [
        describing(state, background=True),
        _grouping(state, request.settings, background=True),
        _detecting(state, background=True),
    ]
    return [job.status() for job in jobs]
