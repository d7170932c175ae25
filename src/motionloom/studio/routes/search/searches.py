"""Searches and families, and what must be computed before them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel
from typing_extensions import TypedDict

import motionloom as ml
from motionloom.library import segment_query
from motionloom.library.settings import LAZY_K, SEARCH_METHODS, Dtw, MatchWeb
from motionloom.plots.match_graph import TIER_COLOURS, family_distances, graph_layout
from motionloom.settings import described
from motionloom.studio.requests.models import ARGUMENTS, CodeLines
from motionloom.studio.requests.searches import (
    FamilyRequest,
    SearchRequest,
    corresponding_frames,
    family_of,
)
from motionloom.studio.responses import ArrayResponse, MatchRow, array_response
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import Family, Library

router = APIRouter(tags=["search"])

MAX_QUICK_FRAMES = 150_000  # frames whose features take a second or two
_NODE_SIZE = (1.0, 1.2)  # of the layout of a family; the page scales it
_WIDEN = 1.6  # pages are wide, and so are names


class SearchMethod(BaseModel):
    """A search method of the menu; `unit` is null where that of the features applies."""

    name: str
    about: str
    unit: str | None
    whole_clips: bool
    options: list[str]
    threshold_filters: bool


class NamedUnit(BaseModel):
    """A feature set or frame distance and its unit."""

    name: str
    unit: str


class LabelCount(BaseModel):
    """A label and its number of motions."""

    name: str
    count: int


class SearchMenu(BaseModel):
    """Choices and defaults of the search form."""

    methods: list[SearchMethod]
    features: list[NamedUnit]
    distances: list[NamedUnit]
    labels: list[LabelCount]
    defaults: dict[str, int]


class MissingWebs(BaseModel):
    """Match webs that a search needs and that are not built yet."""

    what: str
    pairs: int
    words: str


class Preparation(BaseModel):
    """What a search needs first: missing webs, to be built on request, or a running job."""

    lacking: MissingWebs | None
    job: JobStatus[None] | None


class WebReport(TypedDict):
    """Match webs that a job has built."""

    pairs: int
    built: int
    seconds: float


class QuerySegment(TypedDict):
    """The query of a search."""

    motion: str
    start_frame: int
    end_frame: int
    fps: float


class SearchHead(TypedDict):
    """Matches in order of rank; `seconds` of computation."""

    query: QuerySegment
    unit: str
    seconds: float
    matches: list[MatchRow]
    lines: CodeLines


class FamilyNode(BaseModel):
    """A member of a family; `frames` correspond to those of the query."""

    motion: str
    start_frame: int
    end_frame: int
    distance_to_query: float
    tier: int
    label: str | None
    place: tuple[float, float]
    frames: list[int]


class FamilyEdge(BaseModel):
    """An edge of a match graph.

    `way`: on a cheapest path to the query; `cuts_off`: nodes that are reached by this edge only.
    """

    a: int
    b: int
    cost: float
    way: bool
    cuts_off: int


class FamilySizes(BaseModel):
    """Sizes of a family where they change with the join distance, and the plateau chosen."""

    proposed: float
    plateau: tuple[float, float]
    ended: bool
    limits: list[float]
    sizes: list[int]


class FamilyGraph(BaseModel):
    """A family with positions for its nodes."""

    id: str
    settings: dict[str, Any]
    seconds: float
    lines: CodeLines
    query: str
    fps: float
    unit: str
    join_distance: float | None
    sweep: FamilySizes | None
    nodes: list[FamilyNode]
    edges: list[FamilyEdge]
    box: tuple[float, float]
    tier_colours: list[str]


class GrownFamily(TypedDict):
    """Id of a family, and its number of members."""

    id: str
    nodes: int


class FamilyLines(BaseModel):
    """Id of a family, and the code that computes it."""

    id: str
    lines: CodeLines


@router.get("/search/menu")
def menu(state: State) -> SearchMenu:
    """Methods with their options and units, features, distances, labels."""
    library = state.library
    return SearchMenu(
        methods=[_method(library, name) for name in SEARCH_METHODS],
        features=[NamedUnit(name=n, unit=one.unit) for n, one in library.feature_sets().items()],
        distances=[
            NamedUnit(name=n, unit=one.unit) for n, one in library.frame_distances().items()
        ],
        labels=[LabelCount(name=n, count=count) for n, count in library.label_counts().items()],
        defaults={"k": LAZY_K},
    )


def _method(library: Library, name: str) -> SearchMethod:
    """Menu entry of a search method, from its settings class."""
    cls = SEARCH_METHODS[name]
    measure = library.clip_measures().get(name)
    shown = [_FIELDS.get(option, option) for option in described(cls)]
    options = [option for option in shown if option in SearchRequest.model_fields]
    return SearchMethod(
        name=name,
        about=(cls.__doc__ or "").partition("\n")[0].rstrip("."),
        unit=None if measure is None else measure.unit,
        whole_clips=measure is not None,
        options=[*([] if measure else options), *_COMMON_OPTIONS, *_mirror(cls)],
        # dtw ranks by movement and then filters; lazy and web search within the threshold.
        threshold_filters=measure is not None or cls is Dtw,
    )


def _mirror(cls: type) -> tuple[str, ...]:
    """A match web knows the takes of the library alone, and has no mirrored query."""
    return () if cls is MatchWeb else ("mirror",)


_FIELDS = {argument: field for field, argument in ARGUMENTS.items()}
_COMMON_OPTIONS = (
    "max", "max_distance", "within", "only", "without", "exclude_query", "accept", "reject",
)  # fmt: skip


@router.post("/search/prepare")
def prepare(request: SearchRequest, state: State) -> Preparation:
    """What a search needs first: ``lacking`` must be built on request, ``job`` is running."""
    lacking = _missing_webs(state.library, request)
    prepared = state.cached(("prepared",), set)
    what = (request.method, request.features)
    frames = sum(entry.frames for entry in state.library.entries())
    if lacking is not None or frames < MAX_QUICK_FRAMES or what in prepared:
        return Preparation(lacking=lacking, job=None)

    def work(job: Job) -> None:
        state.library.prepare_search(
            method=request.method, features=request.features, progress=job.advance
        )
        state.cached(("prepared",), set).add(what)

    job = state.jobs.start(f"preparing {request.method}", work, total=len(state.library))
    return Preparation(lacking=None, job=job.status())


@router.post("/search/web")
def build_web(request: SearchRequest, state: State) -> JobStatus[WebReport]:
    """Build the match webs that a search needs, as a job; its progress counts pairs of takes."""
    lacking = _missing_webs(state.library, request.model_copy(update={"method": "web"}))

    def work(job: Job) -> WebReport:
        report = state.library.webs.build(
            label=request.within or None,
            only=request.only or None,
            workers=1,
            progress=job.advance,
            web=ml.WebOptions(distance=request.distance),
        )
        return {"pairs": report.pairs, "built": report.built, "seconds": report.seconds}

    total = lacking.pairs if lacking else 0
    return state.jobs.start("building match webs", work, total=total).status()


def _missing_webs(library: Library, request: SearchRequest) -> MissingWebs | None:
    """Webs that are missing for a search and take too long to be built without asking."""
    if request.method != "web":
        return None
    pairs = library.webs.missing(
        label=request.within or None,
        only=request.only or None,
        web=ml.WebOptions(distance=request.distance),
    ).pairs
    if not pairs:
        return None
    return MissingWebs(
        what="web", pairs=pairs, words=f"{pairs:,} pairs of takes have no match web yet"
    )


@router.post("/search", response_model=SearchHead, response_class=ArrayResponse)
def search(request: SearchRequest, state: State) -> Response:
    """Matches in order of rank, as packed arrays.

    The head holds ``matches`` (as ``motionloom search --json`` prints them), ``unit``,
    ``seconds`` of computation, ``query`` and ``lines``. ``frames`` (matches, query frames) has
    the frame of each match that corresponds to each frame of the query.
    """
    began = time.perf_counter()
    query = segment_query(state.library, request.query)
    matches = request.matches(state.library)
    seconds = time.perf_counter() - began
    rows: Any = matches.to_json()
    head: SearchHead = {
        "query": {
            "motion": str(query.name),
            "start_frame": query.start_frame,
            "end_frame": query.end_frame,
            "fps": query.motion.fps,
        },
        "unit": matches.unit,
        "seconds": round(seconds, 4),
        "matches": rows,
        "lines": request.lines(state.library.path),
    }
    length = query.end_frame - query.start_frame
    return array_response(head, frames=corresponding_frames(matches, length))


@router.post("/search/lines")
def lines(request: SearchRequest, state: State) -> CodeLines:
    """A search as a command line and as Python code, without searching."""
    return request.lines(state.library.path)


@router.post("/families")
def families(request: FamilyRequest, state: State) -> FamilyGraph:
    """A family, computed or cached: id, nodes with positions, edges, code."""
    return _family_graph(request, state)


@router.post("/families/grow")
def grow(request: FamilyRequest, state: State) -> JobStatus[GrownFamily]:
    """The same as a job, whose progress counts the members that have been searched from."""

    def work(job: Job) -> GrownFamily:
        family = state.cached(
            ("family", request.id), lambda: request.family(state.library, job.advance)
        )
        return {"id": request.id, "nodes": len(family.nodes)}

    return state.jobs.start("searching a family", work, total=None).status()


@router.post("/families/lines")
def family_lines(request: FamilyRequest, state: State) -> FamilyLines:
    """Id and code of a family, without computing it."""
    return FamilyLines(id=request.id, lines=request.lines(state.library.path))


@router.get("/families/{id}")
def family(id: str, state: State) -> FamilyGraph:
    """The family of an id, computed again if it is not cached."""
    return _family_graph(FamilyRequest.from_id(id), state)


def _family_graph(request: FamilyRequest, state: AppState) -> FamilyGraph:
    began = time.perf_counter()
    family = family_of(state, request.id)
    query = segment_query(state.library, request.query)
    # Square roots: distant members come nearer, so that figures can be larger.
    places = graph_layout(np.sqrt(family_distances(family)), _NODE_SIZE) * (_WIDEN, 1.0)
    return FamilyGraph(
        id=request.id,
        settings=request.model_dump(mode="json", exclude_defaults=True),
        seconds=round(time.perf_counter() - began, 4),
        lines=request.lines(state.library.path),
        query=family.query,
        fps=query.motion.fps,
        unit=family.matches.unit,
        join_distance=family.join_distance,
        sweep=None if family.sweep is None else FamilySizes(**family.sweep.to_json()),
        nodes=_nodes(family, places),
        edges=_edges(family),
        box=(_WIDEN * _NODE_SIZE[0], _NODE_SIZE[1]),
        tier_colours=list(TIER_COLOURS),
    )


def _nodes(family: Family, places: np.ndarray) -> list[FamilyNode]:
    query = family.nodes[0]
    aligned = corresponding_frames(family.matches, query.end_frame - query.start_frame)
    frames = {m.text: row.tolist() for m, row in zip(family.matches, aligned, strict=True)}
    frames[query.text] = list(range(query.start_frame, query.end_frame))
    labels = {match.text: match.label for match in family.matches}
    rows = zip(family.to_json()["nodes"], places, family.nodes, strict=True)
    return [
        FamilyNode(
            **row,
            place=(round(float(place[0]), 4), round(float(place[1]), 4)),
            frames=frames[node.text],
            label=labels.get(node.text),
        )
        for row, place, node in rows
    ]


def _edges(family: Family) -> list[FamilyEdge]:
    routes = (family.path_to_query(number) for number in range(1, len(family.nodes)))
    cheapest = {frozenset(pair) for route in routes for pair in zip(route, route[1:], strict=False)}
    return [
        FamilyEdge(
            a=edge.a,
            b=edge.b,
            cost=float(edge.cost),
            way=frozenset((edge.a, edge.b)) in cheapest,
            cuts_off=edge.cuts_off,
        )
        for edge in family.edges
    ]
