"""A first look at takes without labels: clusters of takes that are alike, takes with a rhythm."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter
from pydantic import BaseModel

from motionloom.errors import MotionloomError
from motionloom.library import Cluster
from motionloom.library.settings import ClusterSettings
from motionloom.studio.requests.models import Names, from_setting
from motionloom.studio.state.app_state import State
from motionloom.studio.state.jobs import Job, JobStatus

router = APIRouter(tags=["clusters"])


class ClusterRequest(BaseModel):
    """How takes are put into clusters."""

    fineness: float = from_setting(ClusterSettings, "fineness", le=100.0)
    only: Names = ()


@router.post("/clusters")
def clusters(request: ClusterRequest, state: State) -> JobStatus[list[Cluster]]:
    """Put takes into clusters, as a job; its result has the clusters, the largest first."""
    library = state.library

    def work(job: Job) -> list[Cluster]:
        found = library.clusters(
            fineness=request.fineness, only=request.only or None, workers=1, progress=job.advance
        )
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
