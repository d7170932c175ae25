"""Searches, the figures of what they find, families, and what must be built for them."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Response

from motionloom.search.query import library_query
from motionloom.studio import search_menu
from motionloom.studio.dependencies import Shop, arrays
from motionloom.studio.family_picture import family_answer
from motionloom.studio.poses import Together, together
from motionloom.studio.search_settings import (
    FamilySettings,
    SearchSettings,
    corresponding_frames,
    family_of,
)

router = APIRouter(tags=["search"])


@router.get("/search/menu")
def menu(shop: Shop) -> dict[str, Any]:
    """Methods with their options and units, features, distances, labels."""
    return search_menu.menu(shop.library)


@router.post("/search/prepare")
def prepare(settings: SearchSettings, shop: Shop) -> dict[str, Any]:
    """What a search needs first: ``job`` makes it, ``lacking`` must be asked for, or neither."""
    lacking = search_menu.lacking(shop.library, settings)
    if lacking is not None or search_menu.is_quick(shop, settings):
        return {"lacking": lacking, "job": None}

    def work(job):
        made = search_menu.prepare(shop.library, settings, job)
        search_menu.was_prepared(shop, settings)
        return made

    title = f"getting ready for {settings.method}"
    return {"lacking": None, "job": shop.jobs.start(title, work, total=len(shop.library)).told()}


@router.post("/search/web")
def build_web(settings: SearchSettings, shop: Shop) -> dict[str, Any]:
    """Build the match webs that a search needs, as a job; its progress counts pairs of takes."""
    lacking = search_menu.lacking(shop.library, settings.model_copy(update={"method": "web"}))
    pairs = lacking["pairs"] if lacking else 0

    def work(job):
        return search_menu.build_web(shop.library, settings, job)

    return shop.jobs.start("building match webs", work, total=pairs).told()


@router.post("/search", response_class=Response)
def search(settings: SearchSettings, shop: Shop) -> Response:
    """Matches in order of rank, as packed arrays.

    The head holds ``matches`` (as ``motionloom search --json`` prints them), ``unit``,
    ``seconds`` that it took, ``query`` and ``lines``. ``frames`` (matches, query frames) has
    the frame of each match that stands for each frame of the query.
    """
    began = time.perf_counter()
    query = library_query(shop.library, settings.query)
    matches = settings.matches(shop.library)
    seconds = time.perf_counter() - began
    length = query.end_frame - query.start_frame
    head = {
        "query": {
            "motion": query.name,
            "start_frame": query.start_frame,
            "end_frame": query.end_frame,
            "fps": query.motion.fps,
        },
        "unit": matches.unit,
        "seconds": round(seconds, 4),
        "matches": matches.to_json(),
        "lines": settings.lines(shop.library.path),
    }
    return arrays(head, frames=corresponding_frames(matches, length))


@router.post("/search/lines")
def lines(settings: SearchSettings, shop: Shop) -> dict[str, str]:
    """The same search for a terminal and for Python, without searching."""
    return settings.lines(shop.library.path)


@router.post("/poses", response_class=Response)
def poses(asked: Together, shop: Shop) -> Response:
    """Stretches of takes, brought to one place and heading; see `motionloom.studio.poses`."""
    meta, values = together(shop, asked)
    return arrays(meta, **values)


@router.post("/families")
def families(settings: FamilySettings, shop: Shop) -> dict[str, Any]:
    """Grow a family (or take the one that is kept): id, nodes with places, edges, lines."""
    return _told(settings, shop)


@router.post("/families/grow")
def grow(settings: FamilySettings, shop: Shop) -> dict[str, Any]:
    """The same as a job, which counts the members that have been searched from."""

    def work(job):
        made = shop.once(
            ("family", settings.id), lambda: settings.family(shop.library, job.advance)
        )
        return {"id": settings.id, "nodes": len(made.nodes)}

    return shop.jobs.start("growing a family", work, total=None).told()


@router.post("/families/lines")
def family_lines(settings: FamilySettings, shop: Shop) -> dict[str, Any]:
    """Id and lines of a family, without growing it."""
    return {"id": settings.id, "lines": settings.lines(shop.library.path)}


@router.get("/families/{id}")
def family(id: str, shop: Shop) -> dict[str, Any]:
    """The family of an id, grown again if need be."""
    return _told(FamilySettings.of(id), shop)


def _told(settings: FamilySettings, shop: Shop) -> dict[str, Any]:
    began = time.perf_counter()
    family = family_of(shop, settings.id)
    query = library_query(shop.library, settings.query)
    return {
        "id": settings.id,
        "settings": settings.model_dump(mode="json", exclude_defaults=True),
        "seconds": round(time.perf_counter() - began, 4),
        "lines": settings.lines(shop.library.path),
        **family_answer(family, query.motion.fps),
    }
