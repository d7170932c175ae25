"""Routes for motion matching databases, coverage reports, and recordings.

The character itself is steered over the websocket (`motionloom.studio.live`). Its frames are
recorded here, so that you can save them as a take or download them.
"""

from __future__ import annotations

import secrets
import tempfile
from collections import deque
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response
from pydantic import BaseModel
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library import FrameBlock
from motionloom.library.settings import MatchingSettings
from motionloom.plots.matching_coverage import write_coverage
from motionloom.settings import motion_choice
from motionloom.studio.requests import (
    CodeLines,
    Name,
    RequestModel,
    Served,
    code_lines,
    settings_key,
)
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import MatchingDatabase
    from motionloom.motion import Motion, Skeleton
    from motionloom.parallel import Progress

router = APIRouter(prefix="/matching", tags=["matching"])

_MAX_FRAMES = 400_000  # per database, for all takes together
_RECORDED_SECONDS = 300.0  # per recording


class MatchingRequest(RequestModel):
    """Request for a matching database."""

    settings: Served[MatchingSettings] = MatchingSettings()


class PlayedSubject(BaseModel):
    """Recording of a motion matching character."""

    id: Name

    def motions(self, state: AppState) -> list[Motion]:
        """Return the recorded frames, up to the last five minutes."""
        return [played_of(state, self.id).motion()]


class Recording:
    """The latest frames of a player."""

    def __init__(self, skeleton: Skeleton, fps: float) -> None:
        self.skeleton, self.fps = skeleton, fps
        self._blocks: deque[FrameBlock] = deque()
        self._frames = 0
        self._lock = Lock()

    def add(self, block: FrameBlock) -> None:
        """Record a block of frames, and drop frames that are too old."""
        with self._lock:
            self._blocks.append(block)
            self._frames += len(block)
            most = _RECORDED_SECONDS * self.fps
            while len(self._blocks) > 1 and self._frames - len(self._blocks[0]) >= most:
                self._frames -= len(self._blocks.popleft())

    def motion(self) -> Motion:
        """Return the recorded frames as a motion with provenance."""
        with self._lock:
            if self._frames < 2:
                raise InvalidInput("there are no recorded frames yet; steer the character first")
            joined = FrameBlock.joined(list(self._blocks))
        return joined.to_motion(self.skeleton, self.fps, name="played")


class MatchingInfo(TypedDict):
    """Description of a matching database.

    `tags` has the duration of each gait and label in seconds, and `speeds` the slowest and fastest
    speed in m/s.
    `made` is true if standing poses were synthesized because no take contains any.
    """

    takes: int
    frames: int
    fps: float
    tags: dict[str, float]
    speeds: tuple[float, float]
    made: bool
    skipped: dict[str, str]
    lines: CodeLines


class CoverageResult(TypedDict):
    """A coverage report: the id of its web page, and its findings as sentences."""

    id: str
    sentences: list[str]


@router.post("")
def build(request: MatchingRequest, state: State) -> JobStatus[MatchingInfo]:
    """Start a job that builds a matching database, or opens the saved one."""
    settings = request.settings
    takes = _check(settings, state)  # raises immediately, not within the job

    def work(job: Job) -> MatchingInfo:
        database = matching_of(state, settings, job.advance)
        low, high = database.speed_range
        info = database.info()
        return {
            "takes": info["takes"],
            "frames": len(database),
            "fps": database.fps,
            "tags": {name: frames / database.fps for name, frames in info["tags"].items()},
            "speeds": (round(low, 3), round(high, 3)),
            "made": bool(info["made"]),
            "skipped": info["skipped"],
            "lines": _lines(state.library.path, settings),
        }

    return state.jobs.start(
        "building the controller",
        work,
        total=takes,
        request=("matching", request.model_dump_json()),
    ).status()


@router.post("/coverage")
def coverage(request: MatchingRequest, state: State) -> JobStatus[CoverageResult]:
    """Start a job that reports the takes' coverage; its result has ``id`` and ``sentences``."""
    settings = request.settings
    _check(settings, state)

    def work(job: Job) -> CoverageResult:
        database = matching_of(state, settings, job.advance)
        job.advance(0)
        report = database.coverage()
        job.advance(0)
        with tempfile.TemporaryDirectory() as folder:
            page = write_coverage(report, Path(folder) / "coverage.html").read_text("utf-8")
        key = secrets.token_hex(8)
        state.cached(("coverage", key), lambda: page)
        return {"id": key, "sentences": report.sentences()}

    return state.jobs.start(
        "measuring the coverage of the takes", work, request=("coverage", request.model_dump_json())
    ).status()


@router.get("/coverage/{key}", response_class=Response)
def coverage_page(key: str, state: State) -> Response:
    """Return a coverage report as a web page."""

    def missing() -> str:
        raise InvalidInput("this report is no longer available; create it again")

    return Response(state.cached(("coverage", key), missing), media_type="text/html")


def matching_of(
    state: AppState, settings: MatchingSettings, progress: Progress | None = None
) -> MatchingDatabase:
    """Return the matching database of the chosen takes: cached, saved, or built with `progress`."""
    _check(settings, state)
    return state.cached(
        ("matching", settings_key(settings)),
        lambda: state.library.motion_matching(settings, progress=progress),
    )


def _lines(library: Path, settings: MatchingSettings) -> CodeLines:
    command = ["match", str(library), "build"]
    return code_lines(library, command, "database", "motion_matching(", settings)


def record(state: AppState, database: MatchingDatabase) -> tuple[str, Recording]:
    """Start a new recording and return it with its id."""
    key = secrets.token_hex(8)
    made = Recording(database.skeleton, database.fps)
    return key, state.cached(("played", key), lambda: made)


def played_of(state: AppState, key: str) -> Recording:
    """Return the recording with an id; only the latest few are kept."""

    def missing() -> Recording:
        raise InvalidInput("this recording is no longer available; record it again")

    return state.cached(("played", key), missing)


def _check(settings: MatchingSettings, state: AppState) -> int:
    """Return the number of takes in a database; raise if they are too long for the page."""
    library = state.library
    chosen = library.select(**motion_choice(settings))
    frames = sum(entry.frames for entry in library.store.entries(chosen))
    if frames > _MAX_FRAMES:
        raise InvalidInput(
            f"a controller in the studio may have at most {_MAX_FRAMES:,} frames; these takes have "
            f"{frames:,}. Choose a label, or names of takes that walk, run, turn and stop"
        )
    return len(chosen)
