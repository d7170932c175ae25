"""Routes for text search, and for a motion's captions and labeled segments."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import BaseModel, Field

from motionloom.errors import MotionloomError
from motionloom.library.settings import FindSettings
from motionloom.studio.requests import CodeLines, RequestModel, Served, code_lines
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import Library, TextMatch

router = APIRouter(tags=["words"])

MAX_TEXT = 10_000  # characters of a description; `Library.find` has a shorter limit
_QUICK_FRAMES = 20_000  # number of frames that can be described in a second or two


class FindRequest(RequestModel):
    """Request to search for motions that match a description."""

    text: str = Field(max_length=MAX_TEXT, description="Description of the motion in English.")
    settings: Served[FindSettings] = FindSettings()


class FoundSegment(BaseModel):
    """A segment that matches a description; see `motionloom find --json`.

    `spans` are the matching characters ``[start, end)`` of `text`; `whole` is true if no event
    narrows the match to a part of the motion.
    """

    motion: str
    start_frame: int
    end_frame: int
    start: float
    end: float
    fps: float
    score: float
    text: str
    spans: list[tuple[int, int]]
    words: list[str]
    sources: list[str]
    labels: list[str]
    whole: bool


class FindResults(BaseModel):
    """Results, best first.

    `unknown` maps each unknown word to a similar known word, or to "".
    """

    matches: list[FoundSegment]
    unknown: dict[str, str]
    seconds: float
    lines: CodeLines


class Description(BaseModel):
    """The running job that captions the motions, or null if that takes only a moment."""

    job: JobStatus[None] | None


class CaptionedSegment(BaseModel):
    """A caption or a labeled segment: frames ``[start_frame, end_frame)`` and its text."""

    start_frame: int
    end_frame: int
    text: str


class MotionWords(BaseModel):
    """Captions and labeled segments of a motion; `reason` explains missing captions."""

    captions: list[CaptionedSegment]
    labels: list[CaptionedSegment]
    reason: str


@router.post("/find/prepare")
def prepare(state: State) -> Description:
    """Start a job that captions and indexes all motions, if that takes more than a moment."""
    frames = sum(entry.frames for entry in state.library.entries())
    if frames < _QUICK_FRAMES or "words" in state.cached(("prepared",), set):
        return Description(job=None)
    return Description(job=describing(state).status())


def describing(state: AppState, *, background: bool = False) -> Job[None]:
    """Start a job that captions and indexes all motions, unless that was already started."""

    def work(job: Job) -> None:
        described(state, job)

    return state.jobs.start(
        "describing motions", work, total=len(state.library),
        key=("words", state.motions_key()), background=background,
    )  # fmt: skip


@router.post("/find")
def find(request: FindRequest, state: State) -> FindResults:
    """Return the segments that match a description, best first, with the matching words."""
    began = time.perf_counter()
    results = state.library.find(request.text, request.settings, workers=1)
    path, text = state.library.path, request.text
    return FindResults(
        matches=[_segment(state.library, each) for each in results],
        unknown=results.unknown,
        seconds=round(time.perf_counter() - began, 4),
        lines=code_lines(
            path, ["find", str(path), text], "found", f"find({text!r}", request.settings
        ),
    )


@router.get("/motions/{name:path}/words")
def words(name: str, state: State) -> MotionWords:
    """Return a motion's captions and labeled segments, in chronological order."""
    library = state.library
    entry = library.store.entry(name)
    captions, reason = state.cached(
        ("captions", name, entry.digest), lambda: _captions(library, name, entry.fps, entry.frames)
    )
    labels = [
        CaptionedSegment(start_frame=part.start_frame, end_frame=part.end_frame, text=label)
        for part, label in library.labels.segments(name)
    ]
    return MotionWords(captions=captions, labels=labels, reason=reason)


def described(state: AppState, job: Job) -> None:
    """Caption and index all motions, and report the progress to a job."""
    with state.jobs.holding(state.describing):
        job.advance(0)  # raises if it was stopped while it waited
        state.library.captions.describe(workers=1, progress=job.advance)
    state.cached(("prepared",), set).add("words")


def _captions(
    library: Library, name: str, fps: float, frames: int
) -> tuple[list[CaptionedSegment], str]:
    try:
        events = library.captions[name]
    except MotionloomError as error:  # such as a skeleton without arms
        return [], str(error)
    segments = []
    for event in events:
        start = min(round(event.start * fps), frames - 1)
        end = min(max(round(event.end * fps), start + 1), frames)
        segments.append(CaptionedSegment(start_frame=start, end_frame=end, text=event.text))
    return segments, ""


def _segment(library: Library, each: TextMatch) -> FoundSegment:
    return FoundSegment(
        motion=each.motion,
        start_frame=each.start_frame,
        end_frame=each.end_frame,
        start=round(each.start, 3),
        end=round(each.end, 3),
        fps=library.store.entry(each.motion).fps,
        score=round(each.score, 3),
        text=each.marked_text,
        spans=list(each.spans),
        words=list(each.words),
        sources=list(each.sources),
        labels=list(library.labels[each.motion]),
        whole=each.whole,
    )
