"""Routes for searches and families, and for the match webs they require."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import APIRouter, Response
from pydantic import BaseModel
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library import DISTANCES, FEATURES, prepare_search, segment_query
from motionloom.library.settings import (
    LAZY_K,
    METHODS,
    ClipMethod,
    Dtw,
    MatchWeb,
    SearchSettings,
    WebOptions,
    WebSettings,
)
from motionloom.plots.match_graph import TIER_COLORS, family_distances, graph_layout
from motionloom.settings import described, motion_choice
from motionloom.studio.requests import CodeLines, settings_key
from motionloom.studio.responses import ArrayResponse, MatchRow, array_response
from motionloom.studio.routes.search.queries import (
    FamilyRequest,
    SearchRequest,
    corresponding_frames,
    family_of,
)
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import Family, Library

router = APIRouter(tags=["search"])

MAX_QUICK_FRAMES = 150_000  # features of this many frames take a second or two
_NODE_SIZE = (1.0, 1.2)  # size of the layout of a family; the page scales it
_WIDEN = 1.6  # aspect ratio; pages and names are wide


class SearchMethod(BaseModel):
    """Properties of a search method that are not in the settings schema.

    `unit` is null if the unit of the features applies; `mirrors` is true if the method supports
    mirrored queries.
    """

    name: str
    unit: str | None
    whole_clips: bool
    mirrors: bool
    threshold_filters: bool


class NamedUnit(BaseModel):
    """A feature set or frame distance and its unit."""

    name: str
    unit: str


class LabelCount(BaseModel):
    """A label, and the number of motions that have it."""

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
    """Match webs that a search needs but that are not built yet."""

    what: str
    pairs: int
    words: str


class Preparation(BaseModel):
    """Prerequisites of a search: webs that the user must request, or a running job."""

    lacking: MissingWebs | None
    job: JobStatus[None] | None


class BuiltWebs(TypedDict):
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
    """Matches in order of rank; `seconds` is the computation time."""

    query: QuerySegment
    unit: str
    seconds: float
    matches: list[MatchRow]
    lines: CodeLines


class FamilyNode(BaseModel):
    """A family member; `frames` has the member's frame for each query frame."""

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

    `way` is true if the edge is on a shortest path to the query; `cuts_off` is the number of nodes
    that can be reached only through this edge.
    """

    a: int
    b: int
    cost: float
    way: bool
    cuts_off: int


class FamilySizes(BaseModel):
    """Family sizes at the join distances where they change, and the chosen plateau."""

    proposed: float
    plateau: tuple[float, float]
    ended: bool
    limits: list[float]
    sizes: list[int]


class FamilyGraph(BaseModel):
    """A family with positions for its nodes."""

    id: str
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
    tier_colors: list[str]


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
    """Return search methods with their units, feature sets, frame distances, and labels."""
    labels = state.library.labels.counts()
    return SearchMenu(
        methods=[_method(name) for name in METHODS],
        features=[NamedUnit(name=name, unit=kind.unit) for name, kind in FEATURES.items()],
        distances=[NamedUnit(name=name, unit=kind.unit) for name, kind in DISTANCES.items()],
        labels=[LabelCount(name=name, count=count) for name, count in labels.items()],
        defaults={"k": LAZY_K},
    )


def _method(name: str) -> SearchMethod:
    """Return the menu entry of a search method."""
    method = METHODS[name]()
    whole_clips = isinstance(method, ClipMethod)
    return SearchMethod(
        name=name,
        unit=method.unit() if whole_clips else None,
        whole_clips=whole_clips,
        # A match web covers only the takes of the library, not mirrored queries.
        mirrors=not isinstance(method, MatchWeb),
        # With dtw, the page filters matches by the threshold; other methods search again.
        threshold_filters=whole_clips or isinstance(method, Dtw),
    )


@router.post("/search/prepare")
def prepare(request: SearchRequest, state: State) -> Preparation:
    """Return the prerequisites of a search: ``lacking`` webs to build, or a running ``job``."""
    method = request.settings.method
    lacking = _missing_webs(state.library, request.settings)
    prepared = state.cached(("prepared",), set)
    what = (method.NAME, settings_key(method))
    frames = sum(entry.frames for entry in state.library.entries())
    if lacking is not None or frames < MAX_QUICK_FRAMES or what in prepared:
        return Preparation(lacking=lacking, job=None)

    def work(job: Job) -> None:
        prepare_search(state.library, request.settings, progress=job.advance)
        state.cached(("prepared",), set).add(what)

    job = state.jobs.start(
        f"preparing {method.NAME}",
        work,
        total=len(state.library),
        request=("prepare", request.model_dump_json()),
    )
    return Preparation(lacking=None, job=job.status())


@router.post("/search/web")
def build_web(request: SearchRequest, state: State) -> JobStatus[BuiltWebs]:
    """Start a job that builds the match webs for a search; its progress counts take pairs."""
    lacking = _missing_webs(state.library, request.settings)
    settings = _web_settings(request.settings)

    def work(job: Job) -> BuiltWebs:
        report = state.library.webs.build(settings, workers=1, progress=job.advance)
        return {"pairs": report.pairs, "built": report.built, "seconds": report.seconds}

    total = lacking.pairs if lacking else 0
    return state.jobs.start(
        "building match webs", work, total=total, request=("web", request.model_dump_json())
    ).status()


def _web_settings(settings: SearchSettings) -> WebSettings:
    """Derive the settings of the webs that a search needs from its method's options."""
    method = settings.method
    if not isinstance(method, MatchWeb):
        raise InvalidInput(f"method {method.NAME} does not use match webs")
    options = {name: getattr(method, name) for name in described(WebOptions)}
    choice = {
        **motion_choice(settings),
        "exclude": None,
    }  # exclusions apply to the search, not to the webs
    return WebSettings(web=WebOptions(**options), **choice)


def _missing_webs(library: Library, settings: SearchSettings) -> MissingWebs | None:
    """Return the webs that a search needs but that are not built, or None if all are built."""
    if not isinstance(settings.method, MatchWeb):
        return None
    pairs = library.webs.missing(_web_settings(settings)).pairs
    if not pairs:
        return None
    return MissingWebs(
        what="web", pairs=pairs, words=f"{pairs:,} pairs of takes have no match web yet"
    )


@router.post("/search", response_model=SearchHead, response_class=ArrayResponse)
def search(request: SearchRequest, state: State) -> Response:
    """Return matches in order of rank, as packed arrays.

    The header has ``matches`` (as in ``motionloom search --json``), ``unit``, ``seconds`` (the
    computation time), ``query`` and ``lines``. ``frames`` (matches, query frames) has the frame of
    each match that corresponds to each frame of the query.
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
    """Return a search as a command line and as Python code, without searching."""
    return request.lines(state.library.path)


@router.post("/families")
def families(request: FamilyRequest, state: State) -> FamilyGraph:
    """Return a family, from the cache if possible: its id, nodes with positions, edges, code."""
    return _family_graph(request, state)


@router.post("/families/grow")
def grow(request: FamilyRequest, state: State) -> JobStatus[GrownFamily]:
    """Start a job that computes a family; its progress counts the members searched so far."""
    segment_query(state.library, request.query)  # raises immediately, not within the job
    state.library.select(**motion_choice(request.settings))

    def work(job: Job) -> GrownFamily:
        family = state.cached(
            ("family", request.id), lambda: request.family(state.library, job.advance)
        )
        return {"id": request.id, "nodes": len(family.nodes)}

    return state.jobs.start(
        "growing a family", work, total=None, request=("family", request.model_dump_json())
    ).status()


@router.post("/families/lines")
def family_lines(request: FamilyRequest, state: State) -> FamilyLines:
    """Return the id and the code of a family, without computing the family."""
    return FamilyLines(id=request.id, lines=request.lines(state.library.path))


@router.get("/families/{id}")
def family(id: str, state: State) -> FamilyGraph:
    """Return the family with an id; recompute it if it is not cached."""
    return _family_graph(FamilyRequest.from_id(id), state)


def _family_graph(request: FamilyRequest, state: AppState) -> FamilyGraph:
    began = time.perf_counter()
    family = family_of(state, request.id)
    query = segment_query(state.library, request.query)
    # Square roots bring distant members closer, so that figures can be larger.
    places = graph_layout(np.sqrt(family_distances(family)), _NODE_SIZE) * (_WIDEN, 1.0)
    return FamilyGraph(
        id=request.id,
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
        tier_colors=list(TIER_COLORS),
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
    shortest = {frozenset(pair) for route in routes for pair in zip(route, route[1:], strict=False)}
    return [
        FamilyEdge(
            a=edge.a,
            b=edge.b,
            cost=float(edge.cost),
            way=frozenset((edge.a, edge.b)) in shortest,
            cuts_off=edge.cuts_off,
        )
        for edge in family.edges
    ]
