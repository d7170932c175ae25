"""One motion: its frames, its strip of contacts, speed and beats, and its thumbnail."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response

from motionloom.errors import MotionloomError
from motionloom.studio.dependencies import Shop, arrays
from motionloom.studio.motion_response import motion_answer, standing
from motionloom.studio.thumbnails import thumbnail

router = APIRouter(tags=["motions"])

_SHEET = 64  # thumbnails of one answer

Names = Annotated[list[str], Query(min_length=1, max_length=_SHEET, description="Names of motions")]


@router.get("/motions/{name:path}/frames", response_class=Response)
def frames(name: str, shop: Shop) -> Response:
    """The whole motion as packed arrays: positions (T, P, 3) and contacts (T, 4)."""
    return motion_answer(shop.library[name])


@router.get("/motions/{name:path}/strips", response_class=Response)
def strips(name: str, shop: Shop) -> Response:
    """What the timeline draws: speed (T,), root_speed (T,) and contacts (T, 4).

    Speeds are in metres a second; that of the body is the mean over its joints.
    """
    motion = shop.library[name]
    speeds = np.linalg.norm(np.nan_to_num(motion.velocities()), axis=-1)
    head = {"name": name, "fps": motion.fps, "frames": len(motion)}
    return arrays(
        head, speed=speeds.mean(axis=1), root_speed=speeds[:, 0], contacts=standing(motion)
    )


@router.get("/motions/{name:path}/beats")
def motion_beats(name: str, shop: Shop) -> dict[str, Any]:
    """The motion's beats in seconds and how sure they are, as ``motionloom beats --json``."""
    from motionloom.rhythm.motion_beats.beats import beats

    entry = shop.library.entry(name)
    return shop.once(("beats", name, entry.digest), lambda: beats(shop.library[name]).as_dict())


@router.get("/thumbnails", response_class=Response)
def thumbnails(names: Names, shop: Shop) -> Response:
    """Small moving pictures: one array (F, P, 2) of bytes per motion, called by its index.

    A motion that cannot be read has ``error`` in its row instead of an array.
    """
    rows: list[dict[str, Any]] = []
    places = {}
    for index, name in enumerate(names):
        try:
            small = thumbnail(shop.library[name])
        except MotionloomError as error:
            rows.append({"name": name, "error": str(error)})
            continue
        rows.append({"name": name, "fps": small.fps, "parents": small.parents})
        places[str(index)] = small.places
    return arrays({"motions": rows}, **places)
