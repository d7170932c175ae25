"""Routes for motion that is acted in front of a camera.

The page estimates landmarks in the browser. Pictures never leave it. Landmarks are sent here,
become a motion, and are compared with the library. ``POST /api/shown/keep`` alone stores anything.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, Field

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.conventions import Repairs
from motionloom.formats.video import POINTS, USE, landmark_motion
from motionloom.library import prepare_film_search
from motionloom.library.settings import SearchSettings
from motionloom.motion import Motion
from motionloom.studio.requests import CodeLines, Name, RequestModel, code_lines
from motionloom.studio.responses import MatchRow
from motionloom.studio.state.app_state import State
from motionloom.studio.state.jobs import Job, JobStatus

router = APIRouter(tags=["search"])

MOST_FRAMES = 1800
_MOST = 50  # matches
_LABELS = 20

Coordinate = Annotated[float, Field(ge=-100.0, le=100.0)]
_PER_FRAME = {"world": 3 * POINTS, "image": 2 * POINTS, "visibility": POINTS}


class ShownLandmarks(RequestModel):
    """Landmarks of a person, frame by frame; null in frames without a person.

    See `motionloom.formats.video.landmark_motion` for the axes and units.
    """

    fps: float = Field(ge=1.0, le=240.0)
    world: list[Coordinate | None] = Field(max_length=MOST_FRAMES * 3 * POINTS)
    image: list[Coordinate | None] = Field(max_length=MOST_FRAMES * 2 * POINTS)
    visibility: list[Coordinate | None] = Field(max_length=MOST_FRAMES * POINTS)
    mirror: bool = Field(False, description="Also search for the mirrored motion.")

    def motion(self, name: str) -> Motion:
        """Return the motion of the landmarks."""
        given = {key: np.array(getattr(self, key), np.float64) for key in _PER_FRAME}
        frames = len(given["visibility"]) // POINTS
        for key, width in _PER_FRAME.items():
            if len(given[key]) != frames * width:
                raise InvalidInput(
                    f"{key} must have {width} numbers for each of {frames} frames; got "
                    f"{len(given[key])}"
                )
        if frames < 2:
            raise InvalidInput(f"at least two frames are needed; got {frames}")
        motion = landmark_motion(
            given["world"].reshape(-1, POINTS, 3),
            given["image"].reshape(-1, POINTS, 2),
            given["visibility"].reshape(-1, POINTS),
            fps=self.fps,
            repairs=Repairs(Path(name)),
        )
        return replace(motion, name=name)


class ShownMatches(BaseModel):
    """The matches of an acted motion; `expected_error_m` is that of a joint."""

    matches: list[MatchRow]
    unit: str
    seconds: float
    frames: int
    fps: float
    expected_error_m: float
    use: str
    lines: CodeLines


class KeepLandmarks(RequestModel):
    """Landmarks to keep as a take."""

    landmarks: ShownLandmarks
    name: Name
    labels: Annotated[tuple[Name, ...], Field(max_length=_LABELS)] = ()


class KeptTake(BaseModel):
    """Name of the new take."""

    name: str


@router.post("/shown/prepare")
def prepare_shown(state: State) -> JobStatus[None] | None:
    """Prepare the library for films; returns a job, or null if there is nothing to do."""
    prepared = state.cached(("films",), set)
    if "prepared" in prepared:
        return None

    def work(job: Job) -> None:
        prepare_film_search(state.library, progress=job.advance)
        state.cached(("films",), set).add("prepared")

    return state.jobs.start("preparing the search for films", work, total=None).status()


@router.post("/shown")
def shown(request: ShownLandmarks, state: State) -> ShownMatches:
    """Return the matches of an acted motion, nearest first; nothing is stored."""
    began = time.perf_counter()
    motion = _solved(request, "camera")
    settings = SearchSettings(max=_MOST, mirror=request.mirror)
    matches = state.library.search(motion, settings)
    rows: Any = matches.to_json()
    path = state.library.path
    command = ["search", str(path), "clip.mp4"]
    return ShownMatches(
        matches=rows,
        unit=matches.unit,
        seconds=round(time.perf_counter() - began, 4),
        frames=len(motion),
        fps=motion.fps,
        expected_error_m=float(np.median(motion.origin.expected_error or [0.0])),
        use=USE,
        lines=code_lines(path, command, "matches", "search('clip.mp4'", settings),
    )


@router.post("/shown/keep")
def keep(request: KeepLandmarks, state: State) -> KeptTake:
    """Add an acted motion to the library as a take."""
    name = request.name.strip()
    if name in state.library:
        raise InvalidInput(f"{name} already exists in this library; choose another name")
    motion = _solved(request.landmarks, name)
    with state.library.store.change("keep"):
        state.library.add_motion(motion, name=name, labels=request.labels)
    state.notify("motions")
    return KeptTake(name=name)


def _solved(landmarks: ShownLandmarks, name: str) -> Motion:
    try:
        return landmarks.motion(name)
    except MotionFormatError as error:
        raise InvalidInput(f"nothing to search for: {error.problem}") from None
