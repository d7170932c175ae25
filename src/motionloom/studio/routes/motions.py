"""One motion: its frames, its strip of contacts, speed and beats, and its thumbnail."""

from __future__ import annotations

from fastapi import APIRouter, Response

from motionloom.studio.asking import Shop
from motionloom.studio.moving import motion_answer

router = APIRouter(tags=["motions"])


@router.get("/motions/{name:path}/frames", response_class=Response)
def frames(name: str, shop: Shop) -> Response:
    """The whole motion as packed arrays: positions (T, P, 3) and contacts (T, 4)."""
    return motion_answer(shop.library[name])
