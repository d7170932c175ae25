"""Routes that create, save, show and edit the movement transition graphs of dances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library.settings import ChoreographySettings
from motionloom.settings import motion_choice
from motionloom.studio.requests import Name, RequestModel, Served
from motionloom.studio.responses import ArrayResponse, MotionHead
from motionloom.studio.routes.stage.characters import Worn, made_response
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import Choreography

router = APIRouter(prefix="/movements", tags=["movements"])


class MovementsRequest(RequestModel):
    """Takes to cut into movements at their beats."""

    name: Name = Field(
        description="Name of the saved choreography; one with the same name is replaced."
    )
    settings: Served[ChoreographySettings]


class MovementGraphEdit(BaseModel):
    """A manual edit of a choreography (Kim, Park & Shin 2003, section 4.3)."""

    action: Literal["connect", "remove", "rename"]
    source: str
    target: str = Field("", description="The other node; for rename, the new name.")
    likelihood: float = Field(
        0.5, gt=0.0, le=1.0, description="For connect: likelihood of the transition, up to 1."
    )


class NodeSelection(BaseModel):
    """One node to play, or two nodes in sequence."""

    nodes: list[str] = Field(min_length=1, max_length=2)


class MovementNode(BaseModel):
    """A group of similar movements; `start` is the probability that a dance begins with it."""

    name: str
    start: float
    members: list[str]


class MovementEdge(BaseModel):
    """A transition between two nodes."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    likelihood: float


class MovementGraph(BaseModel):
    """A saved choreography as a graph."""

    name: str
    kind: str
    meter: int
    seconds: float
    nodes: list[MovementNode]
    edges: list[MovementEdge]
    dead_ends: list[str]


class StoredMovements(TypedDict):
    """A saved choreography; `left_out` has the reason for each skipped take."""

    name: str
    left_out: dict[str, str]


@router.get("")
def stored(state: State) -> list[str]:
    """List the names of the saved choreographies."""
    return list(state.library.choreographies)


@router.post("")
def create(request: MovementsRequest, state: State) -> JobStatus[StoredMovements]:
    """Start a job that cuts takes into movements, learns transitions and saves both."""
    if not request.settings.label:
        raise InvalidInput("no takes selected; choose a label")
    total = len(state.library.select(**motion_choice(request.settings)))

    def work(job: Job) -> StoredMovements:
        choreography = state.library.choreography(request.settings, progress=job.advance)
        _store(state, choreography, request.name)
        return {"name": request.name, "left_out": dict(choreography.left_out or {})}

    return state.jobs.start(
        "cutting movements at their beats",
        work,
        total=total,
        request=("movements", request.model_dump_json()),
    ).status()


@router.get("/{name}")
def load(name: str, state: State) -> MovementGraph:
    """Return the nodes with their movements, and the edges with their likelihoods."""
    choreography = _load(state, name)
    texts = [movement.text for movement in choreography.movements]
    graph = choreography.graph
    return MovementGraph(
        name=name,
        kind=choreography.kind,
        meter=choreography.meter,
        seconds=choreography.period * choreography.meter,
        nodes=[
            MovementNode(name=node, start=float(start), members=[texts[k] for k in group])
            for node, group, start in zip(graph.names, graph.members, graph.start, strict=True)
        ],
        edges=[
            MovementEdge.model_validate({"from": a, "to": b, "likelihood": p})
            for a, b, p in graph.edges
        ],
        dead_ends=list(graph.dead_ends),
    )


@router.post("/{name}/edits")
def edit(name: str, request: MovementGraphEdit, state: State) -> MovementGraph:
    """Add or remove an edge, change its likelihood, or rename a node."""
    choreography = _load(state, name)
    graph = choreography.graph
    if request.action == "connect":
        graph = graph.with_edge(request.source, request.target, request.likelihood)
    elif request.action == "remove":
        graph = graph.without_edge(request.source, request.target)
        if graph.dead_ends:
            raise InvalidInput(
                f"{request.source} would become a dead end; connect it to another node first"
            )
    else:
        graph = graph.renamed({request.source: _new_name(request.target)})
    _store(state, choreography.with_graph(graph), name)
    return load(name, state)


@router.post("/{name}/dance", response_model=MotionHead, response_class=ArrayResponse)
def dance(name: str, request: NodeSelection, state: State, own: Worn) -> Response:
    """Return one node, or two in sequence, as a motion of the first character."""
    choreography = _load(state, name)
    cycle = choreography.with_graph(choreography.graph.cycle(request.nodes))
    movement_frames = choreography.meter * choreography.beat_frames
    motion = cycle.player(seed=0).record(
        frames=len(request.nodes) * movement_frames, name=" → ".join(request.nodes)
    )
    return made_response(motion, own, seam=movement_frames)


def _new_name(text: str) -> str:
    name = text.strip()
    if not name or len(name) > 60:
        raise InvalidInput(f"a node's name must have 1 to 60 characters; got {text!r}")
    return name


def _load(state: AppState, name: str) -> Choreography:
    return state.cached(("movements", name), lambda: state.library.choreographies[name])


def _store(state: AppState, choreography: Choreography, name: str) -> None:
    state.library.choreographies[name] = choreography
    state.artifact_changed(("movements", name))
