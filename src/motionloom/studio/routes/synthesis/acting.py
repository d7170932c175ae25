"""Scripts acted by the library: the plan with its alternatives, and the motion."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library import phrase_options
from motionloom.studio.requests import CodeLines, Name
from motionloom.studio.responses import ArrayResponse, MotionHead, Quality, quality_head
from motionloom.studio.routes.library.words import MAX_TEXT, described
from motionloom.studio.routes.stage.characters import Worn, made_response
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motionloom.library import ActedScript, Library, PhraseOptions, PlannedPhrase

router = APIRouter(prefix="/act", tags=["act"])

_BRIDGE = "(bridge)"
_STEPS = 2  # of a job, after the motions are described: the options, the motion


class ScriptRequest(BaseModel):
    """A script: phrases to be acted one after the other."""

    script: str = Field(max_length=MAX_TEXT)


class ActRequest(ScriptRequest):
    """A script, and segments of the user's choice instead of some of its phrases."""

    instead: dict[int, Name] = Field(
        {}, max_length=100, description="Number of a phrase, from 0: the segment TAKE:START-END."
    )


class PhraseOption(TypedDict):
    """A segment that shows a phrase."""

    segment: str
    text: str
    match: float


class ScriptPhrase(TypedDict):
    """A phrase of a script, the segments that show it, best first, or what comes near."""

    text: str
    near: list[str]
    options: list[PhraseOption]


class PlannedSegment(TypedDict):
    """A segment of an acted script, `start` to `end` in seconds of the result.

    `number` is that of its phrase, -1 for a bridge.
    """

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # of `PlannedPhrase`
    number: int
    segment: str
    text: str
    match: float
    seam: float
    start: float
    end: float


class ActResult(TypedDict):
    """An acted script, with the segments that were chosen by hand."""

    script: str
    phrases: list[ScriptPhrase]
    plan: list[PlannedSegment]
    quality: Quality | None
    lines: CodeLines


@router.post("")
def act(request: ActRequest, state: State) -> JobStatus[ActResult]:
    """Act a script, as a job.

    Its result has ``phrases``, each with its ``options`` (segments) or what comes ``near``;
    ``script``, with the segments that were chosen, for ``/api/act/motion``; the ``plan``;
    ``quality`` and ``lines``. Where a phrase is shown by nothing, ``plan`` is empty.
    """

    def work(job: Job) -> ActResult:
        described(state, job)
        job.done = len(state.library)
        options = phrase_options(state.library, request.script, workers=1)
        job.advance()
        script = _chosen(options, request.instead)
        answer: ActResult = {
            "script": script,
            "phrases": [_phrase(each) for each in options],
            "plan": [],
            "quality": None,
            "lines": _lines(state.library, script),
        }
        state.invalidate(lambda key: key == ("acted", script))
        try:
            acted = acted_of(state, script)
        except InvalidInput:
            if all(each.candidates for each in options):
                raise
            return answer  # the phrases say which of them nothing shows
        job.advance()
        answer["plan"] = _plan(acted.plan, script, state.library)
        answer["quality"] = quality_head(acted.motion.quality)
        return answer

    return state.jobs.start("acting", work, total=len(state.library) + _STEPS).status()


@router.post("/motion", response_model=MotionHead, response_class=ArrayResponse)
def motion(request: ScriptRequest, state: State, own: Worn) -> Response:
    """The motion of a script that was acted, as packed arrays."""
    return made_response(acted_of(state, request.script).motion, own)


def acted_of(state: AppState, script: str) -> ActedScript:
    """A script that was acted, cached."""
    return state.cached(("acted", script), lambda: state.library.act(script, workers=1))


def _chosen(options: Sequence[PhraseOptions], instead: dict[int, str]) -> str:
    """The script with the user's segments instead of phrases."""
    if beyond := [number for number in instead if not 0 <= number < len(options)]:
        raise InvalidInput(f"there is no phrase {beyond[0]}; the script has {len(options)}")
    return ", ".join(instead.get(number, each.phrase) for number, each in enumerate(options))


def _phrase(options: PhraseOptions) -> ScriptPhrase:
    return {
        "text": options.phrase,
        "near": list(options.near),
        "options": [
            {"segment": str(each), "text": each.text, "match": round(each.match, 3)}
            for each in options.candidates
        ],
    }


def _plan(plan: Sequence[PlannedPhrase], script: str, library: Library) -> list[PlannedSegment]:
    """Rows of the plan, each with the number of its phrase; -1 for a bridge."""
    texts = [each.phrase for each in phrase_options(library, script, workers=1)]
    rows: list[Any] = []
    number = 0
    for each in plan:
        bridge = each.phrase == _BRIDGE
        if not bridge and each.phrase != texts[number] and each.phrase in texts[number:]:
            number = texts.index(each.phrase, number)
        rows.append({**asdict(each), "segment": str(each), "number": -1 if bridge else number})
    return rows


def _lines(library: Library, script: str) -> CodeLines:
    words = ["motionloom", "act", str(library.path), script, "-o", "acted.bvh"]
    python = f"import motionloom as ml; acted = ml.Library({str(library.path)!r}).act({script!r})"
    return CodeLines(cli=shlex.join(words), python=python)
