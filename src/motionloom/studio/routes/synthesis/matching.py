"""Motion matching: databases, what their takes cover, and what was played.

The character itself is steered over the websocket (`motionloom.studio.live`). What it plays is
recorded here, so that it can be kept as a take or downloaded.
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

_MAX_FRAMES = 400_000  # of the takes of one database
_RECORDED_SECONDS = 300.0  # of what was played


class MatchingRequest(RequestModel):
    """A matching database."""

    settings: Served[MatchingSettings] = MatchingSettings()


class PlayedSubject(BaseModel):
    """What was played by a character of a matching database."""

    id: Name

    def motions(self, state: AppState) -> list[Motion]:
        """The frames that were played, at most the last five minutes."""
        return [played_of(state, self.id).motion()]


class Recording:
    """Frames that a player has produced, the latest ones."""

    def __init__(self, skeleton: Skeleton, fps: float) -> None:
        self.skeleton, self.fps = skeleton, fps
        self._blocks: deque[FrameBlock] = deque()
        self._frames = 0
        self._lock = Lock()

    def add(self, block: FrameBlock) -> None:
        """Record a block, and forget what is too long ago."""
        with self._lock:
            self._blocks.append(block)
            self._frames += len(block)
            most = _RECORDED_SECONDS * self.fps
            while len(self._blocks) > 1 and self._frames - len(self._blocks[0]) >= most:
                self._frames -= len(self._blocks.popleft())

    def motion(self) -> Motion:
        """The recorded frames as a motion, with provenance."""
        with self._lock:
            if self._frames < 2:
                raise InvalidInput("nothing was played yet; steer the character first")
            joined = FrameBlock.joined(list(self._blocks))
        return joined.to_motion(self.skeleton, self.fps, name="played")


class MatchingInfo(TypedDict):
    """A matching database.

    `tags` are the seconds of each gait and label, `speeds` the slowest and fastest, m/s; `made`
    says whether standing poses were made, because no take has any.
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
    """Id of the page of a coverage report, and its sentences."""

    id: str
    sentences: list[str]


@router.post("")
def build(request: MatchingRequest, state: State) -> JobStatus[MatchingInfo]:
    """Build a matching database, as a job, or open the one that is stored."""
    settings = request.settings
    takes = _check(settings, state)  # at once, not within the job

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

    return state.jobs.start("building the controller", work, total=takes).status()


@router.post("/coverage")
def coverage(request: MatchingRequest, state: State) -> JobStatus[CoverageResult]:
    """What the takes cover, as a job; its result has the ``id`` of the page, and ``sentences``."""
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

    return state.jobs.start("measuring what the takes cover", work).status()


@router.get("/coverage/{key}", response_class=Response)
def coverage_page(key: str, state: State) -> Response:
    """The page of a coverage report."""

    def missing() -> str:
        raise InvalidInput("this report is not here any more; make it again")

    return Response(state.cached(("coverage", key), missing), media_type="text/html")


def matching_of(
    state: AppState, settings: MatchingSettings, progress: Progress | None = None
) -> MatchingDatabase:
    """The database of some takes: cached, stored, or built; `progress` as of `motion_matching`."""
    _check(settings, state)
    return state.cached(
        ("matching", settings_key(settings)),
        lambda: state.library.motion_matching(settings, progress=progress),
    )


def _lines(library: Path, settings: MatchingSettings) -> CodeLines:
    command = ["match", str(library), "build"]
    return code_lines(library, command, "database", "motion_matching(", settings)


def record(state: AppState, database: MatchingDatabase) -> tuple[str, Recording]:
    """A new recording and its id."""
    key = secrets.token_hex(8)
    made = Recording(database.skeleton, database.fps)
    return key, state.cached(("played", key), lambda: made)


def played_of(state: AppState, key: str) -> Recording:
    """The recording of an id, among the latest few."""

    def missing() -> Recording:
        raise InvalidInput("what was played is not here any more; play it again")

    return state.cached(("played", key), missing)


def _check(settings: MatchingSettings, state: AppState) -> int:
    """Number of takes of a database; raises if they are too long for the page."""
    library = state.library
    chosen = library.select(**motion_choice(settings))
    frames = sum(library.store.entry(name).frames for name in chosen)
    if frames > _MAX_FRAMES:
        raise InvalidInput(
            f"a controller on the page has at most {_MAX_FRAMES:,} frames; these takes "
            f"have {frames:,}: choose a label or names of takes that walk, run, turn and stop"
        )
    return len(chosen)
