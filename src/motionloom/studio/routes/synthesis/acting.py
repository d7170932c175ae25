"""Routes that turn a script into motion: the plan, its alternatives, and the result."""

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
_STEPS = 2  # steps of a job after describing the motions: find segments, synthesize


class ScriptRequest(BaseModel):
    """A script, whose phrases are acted one after another."""

    script: str = Field(max_length=MAX_TEXT)


class ActRequest(ScriptRequest):
    """A script, and segments chosen by the user for some of its phrases."""

    instead: dict[int, Name] = Field(
        {},
        max_length=100,
        description="Segment TAKE:START-END by the index of its phrase, which starts at 0.",
    )


class PhraseOption(TypedDict):
    """A segment that shows a phrase."""

    segment: str
    text: str
    match: float


class ScriptPhrase(TypedDict):
    """A phrase and its segments, best first; without segments, `near` has similar phrases."""

    text: str
    near: list[str]
    options: list[PhraseOption]


class PlannedSegment(TypedDict):
    """A segment of an acted script; `start` and `end` are times in the result, in seconds.

    `number` is the index of its phrase, or -1 for a bridge.
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
    """An acted script, with the segments chosen by hand."""

    script: str
    phrases: list[ScriptPhrase]
    plan: list[PlannedSegment]
    quality: Quality | None
    lines: CodeLines


@router.post("")
def act(request: ActRequest, state: State) -> JobStatus[ActResult]:
    """Start a job that acts a script.

    Its result has ``phrases``, each with ``options`` (segments) or similar phrases in ``near``;
    ``script``, with the chosen segments, for ``/api/act/motion``; the ``plan``; ``quality`` and
    ``lines``. If no segment shows one of the phrases, ``plan`` is empty.
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
            return answer  # `phrases` reports the ones without segments
        job.advance()
        answer["plan"] = _plan(acted.plan, script, state.library)
        answer["quality"] = quality_head(acted.motion.quality)
        return answer

    return state.jobs.start(
        "acting",
        work,
        total=len(state.library) + _STEPS,
        request=("act", request.model_dump_json()),
    ).status()


@router.post("/motion", response_model=MotionHead, response_class=ArrayResponse)
def motion(request: ScriptRequest, state: State, own: Worn) -> Response:
    """Return the motion of an acted script as packed arrays."""
    return made_response(acted_of(state, request.script).motion, own)


def acted_of(state: AppState, script: str) -> ActedScript:
    """Return the motion of a script, from the cache if possible."""
    return state.cached(("acted", script), lambda: state.library.act(script, workers=1))


def _chosen(options: Sequence[PhraseOptions], instead: dict[int, str]) -> str:
    """Replace phrases of the script with the segments chosen by the user."""
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
    """Return the rows of the plan, each with the index of its phrase, or -1 for a bridge."""
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
