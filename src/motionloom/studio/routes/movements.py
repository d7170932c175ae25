"""Movement transition graphs of dances: made, kept by name, looked at, and refined by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from motionloom.errors import InvalidInput
from motionloom.search.filters import labelled
from motionloom.studio.app_state import Workshop
from motionloom.studio.dependencies import Shop
from motionloom.studio.jobs import Job
from motionloom.studio.motion_response import motion_answer

if TYPE_CHECKING:
    from motionloom.rhythm.choreography import Choreography
    from motionloom.rhythm.transition_graph import TransitionGraph

router = APIRouter(prefix="/movements", tags=["movements"])


class Cutting(BaseModel):
    """Takes to be cut into movements at their beats."""

    name: str = Field(description="Kept under this name, instead of what was.")
    within: list[str] = Field(min_length=1, description="Labels of the takes.")
    meter: int | None = Field(None, ge=1, le=16, description="Beats per movement; estimated.")


class Refined(BaseModel):
    """A change by hand (Kim, Park & Shin 2003, section 4.3)."""

    action: Literal["connect", "remove", "rename"]
    source: str
    target: str = Field("", description="The other node; of rename the new name.")
    likelihood: float = Field(0.5, gt=0.0, le=1.0, description="Of connect: how likely.")


class Shown(BaseModel):
    """One node to be danced, or two, one after the other."""

    nodes: list[str] = Field(min_length=1, max_length=2)


@router.get("")
def kept(shop: Shop) -> list[str]:
    """Names of the choreographies that the library keeps."""
    from motionloom.rhythm.choreography_file import KIND

    return list(shop.library.artifacts.names(KIND))


@router.post("")
def make(cutting: Cutting, shop: Shop) -> dict[str, Any]:
    """Begin to cut takes into movements and learn what follows what; kept by name."""
    names = {name for label in cutting.within for name in labelled(shop.library, label)}

    def work(job: Job) -> dict[str, Any]:
        made = shop.library.choreography(
            meter=cutting.meter, label=cutting.within, progress=job.advance
        )
        _keep(shop, made, cutting.name)
        return {"name": cutting.name, "left_out": dict(made.left_out or {})}

    return shop.jobs.start("cutting movements at their beats", work, total=len(names)).told()


@router.get("/{name}")
def opened(name: str, shop: Shop) -> dict[str, Any]:
    """Nodes with their movements, and edges with how likely they are."""
    made = _opened(shop, name)
    texts = [movement.text for movement in made.movements]
    graph = made.graph
    return {
        "name": name,
        "kind": made.kind,
        "meter": made.meter,
        "seconds": made.period * made.meter,
        "nodes": [
            {"name": node, "start": float(start), "members": [texts[k] for k in group]}
            for node, group, start in zip(graph.names, graph.members, graph.start, strict=True)
        ],
        "edges": [{"from": a, "to": b, "likelihood": p} for a, b, p in graph.edges],
        "dead_ends": list(graph.dead_ends),
    }


@router.post("/{name}/edits")
def refine(name: str, refined: Refined, shop: Shop) -> dict[str, Any]:
    """Connect two nodes, or change how likely that is; remove an edge; rename a node."""
    made = _opened(shop, name)
    graph = made.graph
    if refined.action == "connect":
        graph = graph.with_edge(refined.source, refined.target, refined.likelihood)
    elif refined.action == "remove":
        graph = graph.without_edge(refined.source, refined.target)
        if graph.dead_ends:
            raise InvalidInput(
                f"{refined.source} would be a dead end: connect it to another node first"
            )
    else:
        graph = graph.renamed({refined.source: _new_name(refined.target)})
    _keep(shop, made.with_graph(graph), name)
    return opened(name, shop)


@router.post("/{name}/dance", response_class=Response)
def dance(name: str, shown: Shown, shop: Shop) -> Response:
    """A node danced, or one after another, as a motion of the first character."""
    made = _opened(shop, name)
    part = made.with_graph(_only(made.graph, shown.nodes))
    frames = len(shown.nodes) * made.meter * made.beat_frames
    motion = part.player(seed=0).record(frames=frames, name=" → ".join(shown.nodes))
    return motion_answer(motion, seam=made.meter * made.beat_frames)


def _only(graph: TransitionGraph, names: list[str]) -> TransitionGraph:
    """A graph that goes from the first node to the last and round again."""
    from motionloom.rhythm.transition_graph import TransitionGraph

    chosen = list(dict.fromkeys(names))
    ring = np.roll(np.eye(len(chosen)), 1, axis=1)
    members = tuple(graph.members[graph.node(name)] for name in chosen)
    return TransitionGraph(tuple(chosen), members, np.eye(len(chosen))[0], ring)


def _new_name(text: str) -> str:
    name = text.strip()
    if not name or len(name) > 60:
        raise InvalidInput(f"a node's name has 1 to 60 characters; got {text!r}")
    return name


def _opened(shop: Workshop, name: str) -> Choreography:
    from motionloom.rhythm.choreography_file import open_choreography

    library = shop.library
    return shop.once(
        ("movements", name), lambda: open_choreography(library, name, library.__getitem__)
    )


def _keep(shop: Workshop, made: Choreography, name: str) -> None:
    """Keep it instead of what was kept under the name, and tell the windows."""
    from motionloom.rhythm.choreography_file import save_choreography

    save_choreography(shop.library, made, name)
    shop.rekept(("movements", name))
