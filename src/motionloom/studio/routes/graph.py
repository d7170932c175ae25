"""Motion graphs: built, looked at, edited, and walked in."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from motionloom.errors import InvalidInput
from motionloom.motion_graph.edits import STATES, EditedGraph, TransitionKey
from motionloom.studio.dependencies import Shop, Suffix, arrays, file_answer
from motionloom.studio.graphs import GraphSettings, Walk, graph_of, library_settings
from motionloom.studio.jobs import Job
from motionloom.studio.motion_response import motion_answer

router = APIRouter(prefix="/graphs", tags=["graphs"])

_MOST = 300  # motions of one graph on the page: more than can be drawn


class Looked(BaseModel):
    """One transition of a graph."""

    graph: GraphSettings
    transition: str = Field(description="NAME:FRAME,NAME:FRAME")
    seconds: float = Field(1.0, ge=0.0, le=10.0, description="Shown before and after.")


class Edited(BaseModel):
    """A change to one transition."""

    action: Literal["remove", "lock", "restore"]
    transition: str = Field(description="NAME:FRAME,NAME:FRAME")


class WalkFile(Walk):
    """A walk, and the file that is wanted."""

    suffix: Suffix = "bvh"


@router.get("/menu")
def menu(shop: Shop) -> dict[str, Any]:
    """Distances to compare frames by, and labels with how many takes have them."""
    from motionloom.distance import DISTANCES

    units = {name: distance.unit for name, distance in DISTANCES.items()}
    return {"distances": units, "labels": shop.library.label_counts()}


@router.post("")
def build(settings: GraphSettings, shop: Shop) -> dict[str, Any]:
    """Begin to find the transitions; the job's result is what ``motionloom graph info`` tells."""
    chosen = library_settings(settings)
    count = len(shop.library.motion_graph_names(chosen))
    if count > _MOST:
        raise InvalidInput(
            f"{count} motions are too many to draw; choose a label or names, {_MOST} at most"
        )

    def work(job: Job) -> dict[str, Any]:
        made = graph_of(shop, settings, job.advance)
        shop.library.save_graph_settings(chosen)  # `motionloom walk` uses this one now
        return made.graph.info()

    return shop.jobs.start("comparing takes", work, total=count * (count + 1) // 2).told()


@router.post("/drawn", response_class=Response)
def drawn(settings: GraphSettings, shop: Shop) -> Response:
    """All there is to draw: takes with their lengths, and transitions.

    Arrays: ``source`` and ``target`` (n, 2), number of take and frame; ``errors`` (n,);
    ``states`` (n,), numbers in the head's ``states``.
    """
    return _packed(graph_of(shop, settings), settings, shop)


@router.post("/transition", response_class=Response)
def transition(looked: Looked, shop: Shop) -> Response:
    """One transition as a motion, with some of what comes before and after.

    The head has ``seam``, the frame in the middle of it, and ``blend``, its length.
    """
    from motionloom.motion.rotations.planar_transform import PlanarTransform
    from motionloom.motion_graph.player import GraphPlayer
    from motionloom.motion_graph.routes import Route

    held = graph_of(shop, looked.graph)
    number = _number(held, TransitionKey.of(looked.transition))
    graph = held.full_graph
    (a, leave), (b, enter) = graph.transitions.leave[number], graph.transitions.enter[number]
    around = round(looked.seconds * graph.fps)
    first = max(int(leave) - around, 0)
    last = min(int(enter) + around, len(graph.motions[b]))
    frames = int(leave) - first + graph.transitions.blend + last - int(enter)
    home = PlanarTransform.to_origin(graph.motions[a][first])
    route = Route((int(a), first), home, (number,), last, frames)
    motion = GraphPlayer(graph, route=route).record(frames=frames, name=looked.transition)
    blend = graph.transitions.blend
    return motion_answer(motion, seam=int(leave) - first + blend // 2, blend=blend)


@router.post("/edits")
def edit(edited: Edited, shop: Shop) -> dict[str, Any]:
    """Remove, lock or restore a transition, in all graphs of the library; kept with it."""
    edits = shop.library.edit_motion_graph(edited.action, edited.transition)
    shop.forget(lambda key: key[0] == "graph")
    return {"removed": len(edits.removed), "locked": len(edits.locked)}


@router.post("/walk", response_class=Response)
def walk(asked: Walk, shop: Shop) -> Response:
    """A walk as a motion; the head tells its ``sources`` and ``seams``."""
    motion = asked.motion(graph_of(shop, asked.graph).graph)
    made_of = motion.provenance
    return motion_answer(
        motion,
        sources=[] if made_of is None else [one.as_dict() for one in made_of.sources],
        seams=[] if made_of is None else list(made_of.seams),
    )


@router.post("/walk/file", response_class=Response)
def save(asked: WalkFile, shop: Shop) -> Response:
    """The same walk as a file, steered as it was."""
    return file_answer(asked.motion(graph_of(shop, asked.graph).graph), asked.suffix)


def _packed(held: EditedGraph, settings: GraphSettings, shop: Shop) -> Response:
    transitions = held.transitions
    meta = {
        "names": [motion.name for motion in held.motions],
        "frames": [len(motion) for motion in held.motions],
        "playable": list(held.graph.names),
        "fps": held.graph.fps,
        "blend": transitions.blend,
        "states": list(STATES),
        "info": held.graph.info(),
        "lines": settings.lines(shop.library.path),
        "flags": settings.flags(),
    }
    return arrays(
        meta,
        source=transitions.source.astype(np.int32),
        target=transitions.target.astype(np.int32),
        errors=transitions.errors,
        states=held.states,
    )


def _number(held: EditedGraph, spot: TransitionKey) -> int:
    for number in range(len(held.transitions)):
        if held.key(number) == spot:
            return number
    raise InvalidInput(f"the graph has no transition {spot.text}; it may have been built anew")
