"""What is in the library, its labels, and how far long work is."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from motionloom.studio.dependencies import Shop

router = APIRouter(tags=["library"])


class Row(BaseModel):
    """One motion of the library."""

    name: str
    frames: int
    fps: float
    seconds: float
    labels: list[str]


class LibraryRows(BaseModel):
    """The library and all its motions, sorted by name."""

    name: str
    path: str
    fps: float | None
    motions: list[Row]


class Labels(BaseModel):
    """The labels that a motion is to have."""

    labels: list[str] = Field(max_length=100)


@router.get("/library", response_model=LibraryRows)
def library(shop: Shop) -> JSONResponse:
    """Name, rate, and one row per motion: name, frames, fps, seconds, labels."""
    held = shop.library
    labels = held.catalogue.labels()
    motions = [
        {
            "name": entry.name,
            "frames": entry.frames,
            "fps": entry.fps,
            "seconds": round(entry.seconds, 4),
            "labels": labels.get(entry.name, ()),
        }
        for entry in held.entries()
    ]
    # Thousands of rows: they go out as they are, the model is for the document only.
    return JSONResponse(
        {"name": held.path.stem, "path": str(held.path), "fps": held.fps, "motions": motions}
    )


@router.put("/library/labels/{name:path}")
def set_labels(name: str, given: Labels, shop: Shop) -> Labels:
    """Give a motion these labels instead of those it has."""
    shop.library.set_labels(name, given.labels)
    shop.changed("labels")
    return Labels(labels=list(shop.library.labels(name)))


@router.get("/jobs")
def jobs(shop: Shop) -> list[dict[str, Any]]:
    """All long work, the latest last."""
    return shop.jobs.all()


@router.get("/jobs/{number}")
def job(number: int, shop: Shop) -> dict[str, Any]:
    """One piece of long work: ``state`` is running, done, failed or stopped."""
    return shop.jobs[number].told()


@router.delete("/jobs/{number}")
def stop_job(number: int, shop: Shop) -> dict[str, Any]:
    """Ask a piece of long work to stop."""
    shop.jobs[number].stop()
    return shop.jobs[number].told()
