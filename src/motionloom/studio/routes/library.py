"""What is in the library, and how far long work is."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from motionloom.studio.asking import Shop

router = APIRouter(tags=["library"])


@router.get("/library")
def library(shop: Shop) -> dict[str, Any]:
    """Name, rate, and one row per motion: name, frames, fps, seconds, labels."""
    held = shop.library
    labels = held.catalogue.labels()
    motions = [
        {
            "name": entry.name,
            "frames": entry.frames,
            "fps": entry.fps,
            "seconds": entry.seconds,
            "labels": list(labels.get(entry.name, ())),
        }
        for entry in held.entries()
    ]
    return {"name": held.path.stem, "path": str(held.path), "fps": held.fps, "motions": motions}


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
