"""Routes that build, draw and edit motion graphs, and synthesize walks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library import DISTANCES, FEATURES, FrameBlock, Player, named_frame
from motionloom.library.settings import GraphSettings, WalkSettings
from motionloom.parallel import Progress
from motionloom.settings import PLANNED
from motionloom.studio.requests import (
    CodeLines,
    RequestModel,
    Served,
    code_lines,
    flags,
    settings_key,
)
from motionloom.studio.responses import (
    ArrayResponse,
    FrameCount,
    MotionHead,
    Quality,
    SourceRow,
    array_response,
    quality_head,
)
from motionloom.studio.routes.stage.characters import Worn, made_response
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import EditedGraph, MotionGraph
    from motionloom.motion import Motion
    from motionloom.motion.diagnostics.quality import QualityReport

router = APIRouter(prefix="/graphs", tags=["graphs"])

_MAX_MOTIONS = 300  # per graph; the page cannot draw more
_MAX_POINTS = 5_000  # per path

Coordinate = Annotated[float, Field(ge=-1e4, le=1e4)]


class GraphRequest(RequestModel):
    """Request for a motion graph."""

    settings: Served[GraphSettings] = GraphSettings()


class SteeringEvent(BaseModel):
    """Controls of a player, and the frame before which they take effect."""

    frame: int = Field(ge=0)
    controls: dict[Literal["transition", "automatic"], bool]


class WalkRequest(BaseModel):
    """Request for a walk through a graph: along a path, or random with recorded steering."""

    graph: Served[GraphSettings]
    settings: Served[WalkSettings] = WalkSettings()
    path: list[tuple[Coordinate, Coordinate]] | None = Field(None, max_length=_MAX_POINTS)
    steered: list[SteeringEvent] = Field([], max_length=10_000)
    approximate: bool = Field(
        False, description="Return the first walk along a path, while a better one is searched."
    )

    def motion(
        self,
        graph: MotionGraph,
        progress: Progress | None = None,
        approximate: Callable[[Motion], None] | None = None,
    ) -> Motion:
        """Compute the walk as a motion."""
        if self.path is not None:
            settings = replace(self.settings, path=self.path, seconds=None)
            return graph.walk(settings, progress=progress, approximate=approximate)
        if self.settings.seconds is None:
            raise InvalidInput("a walk needs a duration or a path")
        if not self.settings.random:
            return graph.walk(self.settings, progress=progress)
        player = graph.player(self.settings.seed, start=self.settings.start)
        replayed = ReplayPlayer(player, self.steered)
        return replayed.record(seconds=self.settings.seconds, name="walk")


class TransitionRequest(BaseModel):
    """One transition of a graph."""

    graph: Served[GraphSettings]
    transition: str = Field(description="NAME:FRAME,NAME:FRAME")
    seconds: float = Field(
        1.0,
        ge=0.0,
        le=10.0,
        description="Time to show before and after the transition, in seconds.",
    )


class TransitionEdit(BaseModel):
    """A change to one transition."""

    action: Literal["remove", "lock", "restore"]
    transition: str = Field(description="NAME:FRAME,NAME:FRAME")


class EditCounts(BaseModel):
    """Number of removed and locked transitions in the library."""

    removed: int
    locked: int


class GraphMenu(BaseModel):
    """Frame distances with their units, and labels with their number of motions."""

    distances: dict[str, str]
    labels: dict[str, int]


class RemovedTransitions(TypedDict):
    """Motions and transitions removed from a graph, by reason."""

    motions: list[str]
    transitions: int
    footing: int
    abrupt: int
    frames: int
    by_hand: int
    reasons: NotRequired[dict[str, str]]


class GraphInfo(TypedDict):
    """The result of ``motionloom graph info --json``."""

    motions: int
    frames: int
    transitions: int
    nodes: int
    edges: int
    removed: RemovedTransitions
    transitions_per_minute: float
    fps: float
    blend: int
    distance: str
    threshold: float
    names: list[str]


class GraphHead(TypedDict):
    """A graph to draw: takes with their lengths, possible transition states, and code."""

    names: list[str]
    frames: list[int]
    playable: list[str]
    fps: float
    blend: int
    states: list[str]
    info: GraphInfo
    lines: CodeLines
    flags: list[str]


class WalkHead(MotionHead):
    """A walk, with its sources and the frames of its seams."""

    sources: list[SourceRow]
    seams: list[int]
    quality: Quality | None


class ReplayPlayer(Player):
    """A player that replays recorded steering at the same frames.

    Parameters
    ----------
    player : Player
        New player with the same seed as the recorded one.
    events : sequence of SteeringEvent
    """

    def __init__(self, player: Player, events: Sequence[SteeringEvent]) -> None:
        self.skeleton, self.fps = player.skeleton, player.fps
        self._player = player
        self._events = sorted(events, key=lambda event: event.frame)
        self._played = 0

    def quality(self, motion: Motion) -> QualityReport:
        """Return the quality of recorded frames."""
        return self._player.quality(motion)

    def _read(self, count: int) -> FrameBlock:
        blocks = [FrameBlock.empty(len(self.skeleton), self._played)]
        while count > 0:
            while self._events and self._events[0].frame <= self._played:
                self._player.steer(**self._events.pop(0).controls)
            until = self._events[0].frame - self._played if self._events else count
            block = self._player.read(min(count, until))
            if not len(block):
                break
            blocks.append(block)
            count -= len(block)
            self._played += len(block)
        return FrameBlock.joined(blocks)


@router.get("/menu")
def menu(state: State) -> GraphMenu:
    """Return frame distances with their units, and labels with their number of takes."""
    units = {name: kind.unit for name, kind in (FEATURES | DISTANCES).items()}
    return GraphMenu(distances=units, labels=state.library.labels.counts())


@router.post("")
def build(request: GraphRequest, state: State) -> JobStatus[GraphInfo]:
    """Start a job that builds a graph; its result is the output of ``motionloom graph info``."""
    settings = request.settings
    count = _checked_count(state, settings)

    def work(job: Job) -> Any:
        edited = graph_of(state, settings, job.advance)
        state.library.graphs.keep(settings)  # becomes the default graph of motionloom walk
        return edited.graph.info()

    total = count * (count + 1) // 2
    return state.jobs.start(
        "comparing takes", work, total=total, request=("graph", request.model_dump_json())
    ).status()


@router.post("/drawn", response_model=GraphHead, response_class=ArrayResponse)
def drawn(request: GraphRequest, state: State) -> Response:
    """Return the graph's takes, with their lengths, and its transitions.

    The arrays are ``source`` and ``target`` (n, 2), with take index and frame; ``errors`` (n,); and
    ``states`` (n,), indices into ``states`` in the header.
    """
    settings, library = request.settings, state.library.path
    edited = graph_of(state, settings)
    transitions = edited.transitions
    info: Any = edited.graph.info()
    head: GraphHead = {
        "names": [motion.name for motion in edited.motions],
        "frames": [len(motion) for motion in edited.motions],
        "playable": list(edited.graph.names),
        "fps": edited.graph.fps,
        "blend": transitions.blend,
        "states": list(edited.STATES),
        "info": info,
        "lines": code_lines(
            library, ["graph", str(library), "build"], "graph", "motion_graph(", settings
        ),
        "flags": flags(settings),
    }
    return array_response(
        head,
        source=transitions.source.astype(np.int32),
        target=transitions.target.astype(np.int32),
        errors=transitions.errors,
        states=edited.states,
    )


@router.post("/transition", response_model=MotionHead, response_class=ArrayResponse)
def transition(request: TransitionRequest, state: State, own: Worn) -> Response:
    """Return a transition as a motion, with some frames before and after.

    The header has ``seam``, the frame in the middle of the blend, and ``blend``, its length.
    """
    edited = graph_of(state, request.graph)
    motion, seam = edited.transition_clip(request.transition, seconds=request.seconds)
    return made_response(motion, own, seam=seam, blend=edited.transitions.blend)


@router.post("/edits")
def edit(request: TransitionEdit, state: State) -> EditCounts:
    """Remove, lock or restore a transition in all motion graphs of the library."""
    edits = state.library.graphs.edit(request.action, request.transition)
    state.invalidate(lambda key: key[0] in ("graph", "walk", "first-walk"))
    return EditCounts(removed=len(edits.removed), locked=len(edits.locked))


@router.post("/walks")
def plan_walk(request: WalkRequest, state: State) -> JobStatus[FrameCount]:
    """Start a job that plans a walk; a later request for the same walk is then fast."""
    for place in (request.settings.start, request.settings.end):
        if place is not None:
            state.library.store.entry(named_frame(place)[0])  # raises before the job
    if request.path is None and request.settings.seconds is None:
        raise InvalidInput("a walk needs a duration or a path")
    _checked_count(state, request.graph)

    def work(job: Job) -> FrameCount:
        def show(motion: Motion) -> None:
            key = ("first-walk", _walk_key(request))
            state.invalidate(lambda other: other == key)
            state.cached(key, lambda: motion)
            job.result = {"frames": len(motion)}  # the page can already request this walk

        return {"frames": len(walk_of(state, request, job.advance, show))}

    return state.jobs.start(
        "planning a walk", work, total=PLANNED, request=("walk", request.model_dump_json())
    ).status()


def _walk_key(request: WalkRequest) -> str:
    fields = {*WalkRequest.model_fields} - {"approximate"}
    return request.model_dump_json(include=fields)


def walk_of(
    state: AppState,
    request: WalkRequest,
    progress: Progress | None = None,
    approximate: Callable[[Motion], None] | None = None,
) -> Motion:
    """Return the requested walk, from the cache if possible."""
    first = ("first-walk", _walk_key(request))
    if request.approximate and first in state.cached_keys:
        return state.cached(first, lambda: None)
    graph = graph_of(state, request.graph).graph
    key = ("walk", _walk_key(request))
    return state.cached(key, lambda: request.motion(graph, progress, approximate))


@router.post("/walk", response_model=WalkHead, response_class=ArrayResponse)
def walk(request: WalkRequest, state: State, own: Worn) -> Response:
    """Return a walk as a motion; the header has its ``sources``, ``seams`` and ``quality``."""
    motion = walk_of(state, request)
    made_of = motion.provenance
    return made_response(
        motion,
        own,
        sources=[] if made_of is None else [source.as_dict() for source in made_of.sources],
        seams=[] if made_of is None else list(made_of.seams),
        quality=quality_head(motion.quality),
    )


def graph_of(
    state: AppState, settings: GraphSettings, progress: Progress | None = None
) -> EditedGraph:
    """Return the graph with these settings, from the cache or the library, or build it.

    Raises
    ------
    InvalidInput
        If the graph has too many motions.
    """

    def made() -> EditedGraph:
        _checked_count(state, settings)
        # One process only: forking a process with many threads is unsafe.
        return state.library.graphs.edited(settings, workers=1, progress=progress)

    return state.cached(("graph", settings_key(settings)), made)


def _checked_count(state: AppState, settings: GraphSettings) -> int:
    """Return the number of motions in a graph; raise if there are too many for the page."""
    settings.frame_distance()  # raises if there is none
    count = len(state.library.graphs.motions(settings, examine=False))
    if count > _MAX_MOTIONS:
        raise InvalidInput(
            f"a graph in the studio may have at most {_MAX_MOTIONS} motions; got {count}. "
            "Choose a label or individual motions"
        )
    return count
